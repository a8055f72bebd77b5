//# Where operand p's run begins, and how far apart its elements are.
            ${p.byte} *const kiln__row_${p.name} = kiln__base_${p.name}
//% if p.buffered
                + kiln__at_${last} * (long long)sizeof(${p.type})
//% else
//% for a in reduce_axes
                + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
//% end
                ;
//% insert cpu/step.cpp
