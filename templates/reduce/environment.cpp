//# What the expressions of a reduction see by name. Numbers (of an element and of its result, see
//# kiln__number) come as arguments where a snippet uses them. kiln__part is what travels between threads: the
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
//% if p.direct
    ${p.const}${p.type} &${p.name} = *kiln__a.ptr_${p.name};
//% else
    const ${p.type} ${p.name} = *kiln__a.ptr_${p.name};
//% end
//% end
//% if in_indexer
    [[maybe_unused]] const auto _in_ind = kiln__a.in_indexer.walker();
//% end
//% if out_indexer
    [[maybe_unused]] const auto _out_ind = kiln__a.out_indexer.walker();
//% end
    auto kiln__reduce = [&](const _type_reduce &a, const _type_reduce &b) -> _type_reduce {
        return (_type_reduce)(
${reduce}
        );
    };
    auto kiln__post = [&](const _type_reduce &a
//% if out_number
        , [[maybe_unused]] const ptrdiff_t _i
//% end
//% for p in late
        , const ${p.type} &${p.name}
//% end
//% for p in outputs
        , ${p.type} &${p.name}
//% end
    ) {
//% if out_index
        auto _out_ind = kiln__a.out_indexer.walker();
        _out_ind.set(_i);
//% end
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
//% if !batched
    auto kiln__fold = [&](kiln__part &kiln__acc, const _type_reduce &kiln__v) {
        kiln__acc = kiln__reduce(kiln__acc, kiln__v);
    };
//% end
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
//% if !batched
    auto kiln__fold = [&](kiln__part &kiln__acc, const _type_reduce &kiln__v) {
        kiln__acc.value = kiln__acc.set ? kiln__reduce(kiln__acc.value, kiln__v) : kiln__v;
        kiln__acc.set = true;
    };
//% end
    auto kiln__value = [&](const kiln__part &kiln__p) -> const _type_reduce & { return kiln__p.value; };
//% end
//% if batched
    // Element kiln__k of a batch.
    [[maybe_unused]] auto kiln__item = [&]([[maybe_unused]] const int kiln__k
//% for p in inputs
        , const ${p.type} &${p.name}
//% end
    ) -> ${batch_type} {
//% if position
        [[maybe_unused]] constexpr kiln__index _J = 0; // of the batch's best only
//% end
        return (${batch_type})(
${map}
        )${batch_member};
    };
//% else
    // One element into an accumulator.
    auto kiln__take = [&](kiln__part &kiln__acc
//% for x in numbers
        , [[maybe_unused]] const ptrdiff_t kiln__number_${x.name}
//% end
//% for p in inputs
        , ${p.const}${p.type} &${p.name}
//% end
    ) {
//% if masked
        if (!kiln__where)
            return;
//% end
//% if position
        [[maybe_unused]] const ptrdiff_t _J = kiln__number_J;
//% end
//% if out_number
        [[maybe_unused]] const ptrdiff_t _i = kiln__number_O;
//% end
//% if in_number
        [[maybe_unused]] const ptrdiff_t _j = _J * (ptrdiff_t)kiln__a.outputs + _i;
//% end
//% if in_index
        auto _in_ind = kiln__a.in_indexer.walker();
        _in_ind.set(kiln__number_I);
//% end
//% if out_index
        auto _out_ind = kiln__a.out_indexer.walker();
        _out_ind.set(_i);
//% end
        kiln__fold(kiln__acc, (_type_reduce)(
${map}
        ));
    };
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
//% if !p.direct
        ${p.type} kiln__reg_${p.name};
//% if p.read_first
        kiln__reg_${p.name} = kiln__out_${p.name};
//% end
//% end
//% end
//% if initial
        kiln__part kiln__first;
//% if identity
        kiln__first = (_type_reduce)(kiln__initial);
//% else
        kiln__first.value = (_type_reduce)(kiln__initial);
        kiln__first.set = true;
//% end
        kiln__post(kiln__value(kiln__merge(kiln__first, kiln__p))
//% else
        kiln__post(kiln__value(kiln__p)
//% end
//% if out_number
            , 0
//% for a in keep_axes
            + kiln__at_${a.n} * kiln__a.step_O_${a.n}
//% end
//% end
//% for p in late
            , *(const ${p.type} *)((const char *)kiln__a.ptr_${p.name}
//% for a in keep_axes
                + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
                )
//% end
//% for p in outputs
//% if p.direct
            , kiln__out_${p.name}
//% else
            , kiln__reg_${p.name}
//% end
//% end
        );
//% for p in outputs
//% if !p.direct
        kiln__out_${p.name} = kiln__reg_${p.name};
//% end
//% end
    };
