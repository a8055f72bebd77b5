//# One element of a row: load into locals and call the snippet; whoever inserts this stores.
//% own a k op reg_ row_ row_i step_
//% for p in registers
            ${p.type} reg_${p.name};
//% end
//% for p in loaded
            reg_${p.name} = *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name});
//% end
            op(
//% if index_strides
                row_i + k * a.stride_i_${last}
//% else
//% if index_natural
                row_i + k
//% else
                0
//% end
//% end
//% for p in walking
//% if p.direct
                , *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name})
//% else
                , reg_${p.name}
//% end
//% end
            );
