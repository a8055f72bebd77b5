//# value(v): the mapped element v of access u, whose inputs are in_p.
//% own V W in_ map part place start u v value
            auto value = [&](const int v) -> part {
                return map(
//% if position
                    place((start + u * W) * V + v)
//% else
                    0
//% end
//% for p in inputs
                    , in_${p.name}[${p.lane}]
//% end
                );
            };
