//# kiln__value(v): the mapped element v of access kiln__u, whose inputs are kiln__in_p.
            auto kiln__value = [&](const int kiln__v) -> kiln__part {
                return kiln__map(
//% if position
                    kiln__place((kiln__start + kiln__u * kiln__W) * kiln__V + kiln__v)
//% else
                    0
//% end
//% for p in inputs
                    , kiln__in_${p.name}[${p.lane}]
//% end
                );
            };
