//# Where operand p's run begins, and how far apart its elements are.
            ${p.byte} *const kiln__row_${p.name} = kiln__base_${p.name}
//% for a in reduce_axes
                + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                ;
//% insert cpu/step.cpp
