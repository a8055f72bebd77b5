//# What the expressions of a scan see by name, and what skeletons make of them.
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
    auto kiln__map = [&](const ptrdiff_t _J
//% for p in inputs
        , const ${p.type} &${p.name}
//% end
    ) -> _type_reduce {
        (void)_J;
        return (_type_reduce)(
${map}
        );
    };
    auto kiln__reduce = [&](const _type_reduce &a, const _type_reduce &b) -> _type_reduce {
        return (_type_reduce)(
${reduce}
        );
    };
    auto kiln__post = [&](const ptrdiff_t _J, const _type_reduce &a
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
    auto kiln__identity = [&]() -> _type_reduce {
        return (_type_reduce)(
${identity}
        );
    };
//% end
    // Continue a running value, or begin it: nothing is ever combined with the identity.
    auto kiln__take = [&](bool &kiln__has, kiln__part &kiln__acc, const kiln__part &kiln__v) {
        kiln__acc = kiln__has ? kiln__reduce(kiln__acc, kiln__v) : kiln__v;
        kiln__has = true;
    };
    // The place along the scanned axis of the sequence's element number kiln__e.
    auto kiln__place = [&](const ${index} kiln__e) -> ptrdiff_t {
//% if reverse
        return (ptrdiff_t)(kiln__a.count - 1 - kiln__e);
//% else
        return (ptrdiff_t)kiln__e;
//% end
    };
    // Where sequences begin. Those that run in reverse begin at their far end, and their strides are
    // turned round.
//% for p in walking
    ${p.const}char *const kiln__base_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% if reverse
        + kiln__a.begin_${p.name}
//% end
        ;
//% end
