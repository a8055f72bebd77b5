//% own a acc empty_ fold_ index map_ merge_ op out_ p part_ post quotients reduce_ row_ type_ v value_ x y
//% plain kiln_row_quotient set value
// ${title}
//% if position
typedef ${index} index; // wide enough for every place in a row
//% end
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end
//# The type that stage s reduces to, and the type that threads exchange: without an identity, the
//# second one also tells whether there is a value yet.
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

//% insert arguments.cpp

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
//# What all texts of a row program see by name, the same for every row.
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
//% if loop_prep
${loop_prep}
//% end

//% part stage
//# The functions of stage s: `map` of one element (with its place in the row, where a text asks for it), `reduce` and `merge` of two values and two
//# parts, `empty`, `fold` of an element into a part, and `value` of a part.
//% plain a b
//% if s.packed
    [[maybe_unused]]
//% end
    auto map_${s.n} = [&](
//% if s.quotients
    quotients &kiln_row_quotient,
//% end
//% if position
    [[maybe_unused]] const ptrdiff_t _J
//% else
    const int
//% end
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
//% if s.batched
    [[maybe_unused]]
//% end
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
//# Where values are not kept, they are computed again as in the stages before this one.
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
//# The functions of the last pass: they assign the outputs of one element, and those of one row.
//% if row_elements
//% if quotients
    auto op = [&](quotients &kiln_row_quotient,
//% else
    auto op = [&](
//% end
//% if position
    [[maybe_unused]] const ptrdiff_t _J
//% else
    const int
//% end
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
//# The outputs of one row. The template that inserts this part sees to it that only one thread runs
//# it.
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
