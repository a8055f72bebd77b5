//% own acc base_ e has identity map part place post reduce take v
//% insert reduce/kernel.cpp:preface
typedef _type_reduce part;
static_assert(sizeof(part) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");

//% insert arguments.cpp

//% if cuda
//% if chain
//% insert scan/columns_chain.cu
//% else
//% if split
//% insert scan/${layout}_split.cu
//% else
//% insert scan/${layout}.cu
//% end
//% end
//% else
//% insert scan/${layout}.cpp
//% end

//% part environment
//# What the expressions of a scan see by name, and the functions that templates build from them.
//% plain a b kiln__a n
//% if size
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
//% end
//% for p in scalars
    const ${p.type} ${p.name} = kiln__a.val_${p.name};
//% end
//% for p in raws
    auto &${p.name} = kiln__a.raw_${p.name};
//% end
//% for p in ones
    const ${p.type} ${p.name} = *kiln__a.ptr_${p.name};
//% end
    auto map = [&](const ptrdiff_t _J
//% for p in inputs
        , const ${p.type} &${p.name}
//% end
    ) -> _type_reduce {
        (void)_J;
        return (_type_reduce)(
${map}
        );
    };
    auto reduce = [&](const _type_reduce &a, const _type_reduce &b) -> _type_reduce {
        return (_type_reduce)(
${reduce}
        );
    };
    auto post = [&](const ptrdiff_t _J, const _type_reduce &a
//% for p in outputs
        , ${p.type} &${p.name}
//% end
    ) {
        (void)_J;
        do {
${post}
        } while (0);
    };
//% if exclusive
    auto identity = [&]() -> _type_reduce {
        return (_type_reduce)(
${identity}
        );
    };
//% end
    // Continue a running value, or begin it: nothing is ever combined with the identity.
    auto take = [&](bool &has, part &acc, const part &v) {
        acc = has ? reduce(acc, v) : v;
        has = true;
    };
    // The place along the scanned axis of the sequence's element number kiln__e.
    auto place = [&](const ${index} e) -> ptrdiff_t {
//% if reverse
        return (ptrdiff_t)(kiln__a.count - 1 - e);
//% else
        return (ptrdiff_t)e;
//% end
    };
    // Where sequences begin. Those that run in reverse begin at their far end, and their strides are
    // turned round.
//% for p in walking
    ${p.const}char *const base_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% if reverse
        + kiln__a.begin_${p.name}
//% end
        ;
//% end
