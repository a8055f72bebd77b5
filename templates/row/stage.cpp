//# The functions of stage s: one element, two parts, a part that holds nothing, a part and an element.
    auto kiln__map_${s.n} = [&](const int
//% for p in row_sees
        , const ${p.type} &${p.name}
//% end
//% if held
//% for v in values
        , ${v.type} &${v.name}
//% end
//% end
    ) -> kiln__type_${s.n} {
//% insert row/values.cpp
//% if s.prep
${s.prep}
//% end
        return (kiln__type_${s.n})(
${s.map}
        );
    };
    auto kiln__reduce_${s.n} = [&](const kiln__type_${s.n} &a, const kiln__type_${s.n} &b) -> kiln__type_${s.n} {
        return (kiln__type_${s.n})(
${s.reduce}
        );
    };
//% if s.identity
    auto kiln__empty_${s.n} = [&]() -> kiln__part_${s.n} {
        return (kiln__type_${s.n})(
${s.identity}
        );
    };
    auto &kiln__merge_${s.n} = kiln__reduce_${s.n};
    auto kiln__fold_${s.n} = [&](kiln__part_${s.n} &kiln__acc, const kiln__type_${s.n} &kiln__v) {
        kiln__acc = kiln__reduce_${s.n}(kiln__acc, kiln__v);
    };
    auto kiln__value_${s.n} = [&](const kiln__part_${s.n} &kiln__p) -> kiln__type_${s.n} { return kiln__p; };
//% else
    auto kiln__empty_${s.n} = [&]() -> kiln__part_${s.n} {
        kiln__part_${s.n} kiln__p;
        kiln__p.set = false;
        return kiln__p;
    };
    auto kiln__merge_${s.n} = [&](const kiln__part_${s.n} &kiln__x, const kiln__part_${s.n} &kiln__y) -> kiln__part_${s.n} {
        if (!kiln__y.set)
            return kiln__x;
        if (!kiln__x.set)
            return kiln__y;
        kiln__part_${s.n} kiln__p;
        kiln__p.value = kiln__reduce_${s.n}(kiln__x.value, kiln__y.value);
        kiln__p.set = true;
        return kiln__p;
    };
    auto kiln__fold_${s.n} = [&](kiln__part_${s.n} &kiln__acc, const kiln__type_${s.n} &kiln__v) {
        kiln__acc.value = kiln__acc.set ? kiln__reduce_${s.n}(kiln__acc.value, kiln__v) : kiln__v;
        kiln__acc.set = true;
    };
    auto kiln__value_${s.n} = [&](const kiln__part_${s.n} &kiln__p) -> kiln__type_${s.n} { return kiln__p.value; };
//% end
