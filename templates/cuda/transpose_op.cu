//# The snippet on element (A, B) = (kiln__tx, kiln__row) with registers number kiln__r.
            kiln__op(
//% if index_strides
                kiln__base_i + kiln__row * kiln__a.stride_i_${tile_b} + kiln__tx * kiln__a.stride_i_${tile_a}
//% else
                0
//% end
//% for p in walking
//% if p.direct
                , kiln__at_${p.name}(kiln__tx, kiln__row)
//% else
                , kiln__reg_${p.name}[kiln__r]
//% end
//% end
            );
