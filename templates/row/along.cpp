//# Where operand p's run begins, and how far apart its elements are.
//% own a at_ base_ row_
            ${p.byte} *const row_${p.name} = base_${p.name}
//% if p.buffered
                + at_${last} * (long long)sizeof(${p.type})
//% else
//% for a in reduce_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
//% end
                ;
//% insert cpu/step.cpp
