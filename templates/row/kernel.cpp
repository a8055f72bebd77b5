//% own a acc args empty_ fold_ map_ merge_ op out_ p part_ post reduce_ row_ type_ v value_ x y
//% plain set value
// ${title}
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end
//# What stage s reduces to, and what travels between threads: without an identity, whether there is
//# anything yet as well.
//% for s in stages
typedef
${s.type}
type_${s.n};
//% if s.identity
typedef type_${s.n} part_${s.n};
//% else
struct part_${s.n} {
    type_${s.n} value;
    bool set;
};
//% end
static_assert(sizeof(part_${s.n}) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");
//% end

struct args {
${members}
};

//% if cuda
//% insert row/combine.cu
//% if held
//% insert row/held.cu
//% else
//% insert row/reread.cu
//% end
//% else
//% insert row/rows.cpp
//% end

//% part environment
//# What every text of a row program sees by name, whatever the row.
//% plain n
    const ptrdiff_t n = (ptrdiff_t)a.count;
    (void)n;
//% for p in scalars
    const ${p.type} ${p.name} = a.val_${p.name};
//% end
//% for p in raws
    auto &${p.name} = a.raw_${p.name};
//% end
//% for p in ones
    const ${p.type} ${p.name} = *a.ptr_${p.name};
//% end

//% part stage
//# The functions of stage s: one element, two parts, a part that holds nothing, a part and an element.
//% plain a b
    auto map_${s.n} = [&](const int
//% for p in row_sees
        , const ${p.type} &${p.name}
//% end
//% if held
//% for v in values
        , ${v.type} &${v.name}
//% end
//% end
    ) -> type_${s.n} {
//% insert :values
//% if s.prep
${s.prep}
//% end
        return (type_${s.n})(
${s.map}
        );
    };
    auto reduce_${s.n} = [&](const type_${s.n} &a, const type_${s.n} &b) -> type_${s.n} {
        return (type_${s.n})(
${s.reduce}
        );
    };
//% if s.identity
    auto empty_${s.n} = [&]() -> part_${s.n} {
        return (type_${s.n})(
${s.identity}
        );
    };
    auto &merge_${s.n} = reduce_${s.n};
    auto fold_${s.n} = [&](part_${s.n} &acc, const type_${s.n} &v) {
        acc = reduce_${s.n}(acc, v);
    };
    auto value_${s.n} = [&](const part_${s.n} &p) -> type_${s.n} { return p; };
//% else
    auto empty_${s.n} = [&]() -> part_${s.n} {
        part_${s.n} p;
        p.set = false;
        return p;
    };
    auto merge_${s.n} = [&](const part_${s.n} &x, const part_${s.n} &y) -> part_${s.n} {
        if (!y.set)
            return x;
        if (!x.set)
            return y;
        part_${s.n} p;
        p.value = reduce_${s.n}(x.value, y.value);
        p.set = true;
        return p;
    };
    auto fold_${s.n} = [&](part_${s.n} &acc, const type_${s.n} &v) {
        acc.value = acc.set ? reduce_${s.n}(acc.value, v) : v;
        acc.set = true;
    };
    auto value_${s.n} = [&](const part_${s.n} &p) -> type_${s.n} { return p.value; };
//% end

//% part values
//# Where values are not kept: compute them again, as the stages before this one did.
//% if !held
//% for v in values
        [[maybe_unused]] ${v.type} ${v.name};
//% end
//% for r in earlier
//% if r.prep
        {
${r.prep}
        }
//% end
//% end
//% end

//% part op
//# The last pass: outputs of one element, and of one row.
//% if row_elements
    auto op = [&](const int
//% for p in row_sees
        , const ${p.type} &${p.name}
//% end
//% if held
//% for v in values
        , ${v.type} &${v.name}
//% end
//% end
//% for p in row_stores
        , ${p.type} &${p.name}
//% end
    ) {
//% insert :values
        do {
${op}
        } while (0);
    };
//% end
//% if row_outputs
    auto post = [&](const int
//% for p in row_results
        , ${p.type} &${p.name}
//% end
    ) {
        do {
${post}
        } while (0);
    };
//% end

//% part results
//# Outputs of one row; whoever inserts this has made sure that one thread does it.
//% for p in row_results
        ${p.type} out_${p.name};
//% if p.read_first
        out_${p.name} = *(${p.type} *)row_${p.name};
//% end
//% end
        post(0
//% for p in row_results
            , out_${p.name}
//% end
        );
//% for p in row_results
        *(${p.type} *)row_${p.name} = out_${p.name};
//% end
