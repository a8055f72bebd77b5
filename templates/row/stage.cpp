//# The functions of stage s: one element, two parts, a part that holds nothing, a part and an element.
//% own acc empty_ fold_ map_ merge_ p part_ reduce_ type_ v value_ x y
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
//% insert row/values.cpp
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
