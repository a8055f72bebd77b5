//# What the expressions of a reduction see by name. kiln__part is what travels between threads: the
//# accumulator itself, or, without an identity, the accumulator and whether it holds anything yet.
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
    auto kiln__post = [&](const _type_reduce &a
//% for p in outputs
        , ${p.type} &${p.name}
//% end
    ) {
        do {
${post}
        } while (0);
    };
//% if identity
    auto kiln__empty = [&]() -> kiln__part {
        return (_type_reduce)(
${identity}
        );
    };
    auto kiln__merge = [&](const kiln__part &kiln__x, const kiln__part &kiln__y) -> kiln__part {
        return kiln__reduce(kiln__x, kiln__y);
    };
    auto kiln__fold = [&](kiln__part &kiln__acc, const _type_reduce &kiln__v) {
        kiln__acc = kiln__reduce(kiln__acc, kiln__v);
    };
    auto kiln__value = [&](const kiln__part &kiln__p) -> const _type_reduce & { return kiln__p; };
//% else
    auto kiln__empty = [&]() -> kiln__part {
        kiln__part kiln__p;
        kiln__p.set = false;
        return kiln__p;
    };
    auto kiln__merge = [&](const kiln__part &kiln__x, const kiln__part &kiln__y) -> kiln__part {
        if (!kiln__y.set)
            return kiln__x;
        if (!kiln__x.set)
            return kiln__y;
        kiln__part kiln__p;
        kiln__p.value = kiln__reduce(kiln__x.value, kiln__y.value);
        kiln__p.set = true;
        return kiln__p;
    };
    auto kiln__fold = [&](kiln__part &kiln__acc, const _type_reduce &kiln__v) {
        kiln__acc.value = kiln__acc.set ? kiln__reduce(kiln__acc.value, kiln__v) : kiln__v;
        kiln__acc.set = true;
    };
    auto kiln__value = [&](const kiln__part &kiln__p) -> const _type_reduce & { return kiln__p.value; };
//% end
    // Result number kiln__k (C-order of the walk's kept axes) from its reduced value.
    auto kiln__finish = [&](const ${index} kiln__k, const kiln__part &kiln__p) {
        ${index} kiln__rest = kiln__k;
//% for a in keep_inward
        const ${index} kiln__at_${a.n} = kiln__rest % (${index})kiln__a.shape_${a.n};
        kiln__rest /= (${index})kiln__a.shape_${a.n};
//% end
        const ${index} kiln__at_0 = kiln__rest;
//% for p in outputs
        ${p.type} &kiln__out_${p.name} = *(${p.type} *)((char *)kiln__a.ptr_${p.name}
//% for a in keep_axes
            + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            );
        ${p.type} kiln__reg_${p.name};
//% if p.read_first
        kiln__reg_${p.name} = kiln__out_${p.name};
//% end
//% end
        kiln__post(kiln__value(kiln__p)
//% for p in outputs
            , kiln__reg_${p.name}
//% end
        );
//% for p in outputs
        kiln__out_${p.name} = kiln__reg_${p.name};
//% end
    };
