//# One element of a row: load into locals and call the snippet; whoever inserts this stores.
//% for p in registers
            ${p.type} kiln__reg_${p.name};
//% end
//% for p in loaded
            kiln__reg_${p.name} = *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name});
//% end
            kiln__op(
//% if index_strides
                kiln__row_i + kiln__k * kiln__a.stride_i_${last}
//% else
//% if index_natural
                kiln__row_i + kiln__k
//% else
                0
//% end
//% end
//% for p in walking
//% if p.direct
                , *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% else
                , kiln__reg_${p.name}
//% end
//% end
            );
