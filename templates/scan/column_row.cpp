//# Row number kiln__j of a tile: the mapped element of column kiln__k, and storing there.
            long long kiln__rest_j = kiln__j;
//% for a in reduce_inward
            const long long kiln__at_${a.n} = kiln__rest_j % kiln__a.shape_${a.n};
            kiln__rest_j /= kiln__a.shape_${a.n};
//% end
            const long long kiln__at_${reduce_first} = kiln__rest_j;
//% for p in walking
            ${p.const}char *const kiln__row_${p.name} = kiln__tile_${p.name}
//% for a in reduce_axes
                + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                ;
//% insert cpu/step.cpp
//% end
            auto kiln__value = [&](const int kiln__k) -> kiln__part {
                return kiln__map(
//% if position
                    kiln__place(kiln__j)
//% else
                    0
//% end
//% for p in inputs
                    , *(const ${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% end
                );
            };
            [[maybe_unused]] auto kiln__put = [&](const int kiln__k, const kiln__part &kiln__p) {
//% for p in outputs
                ${p.type} *const kiln__to_${p.name} = (${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name});
                ${p.type} kiln__out_${p.name};
//% if p.read_first
                kiln__out_${p.name} = *kiln__to_${p.name};
//% end
//% end
                kiln__post(kiln__place(kiln__j), kiln__p
//% for p in outputs
                    , kiln__out_${p.name}
//% end
                );
//% for p in outputs
                *kiln__to_${p.name} = kiln__out_${p.name};
//% end
            };
