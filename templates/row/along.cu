//# Bytes from the beginning of operand p's row to the located access.
//% own a along_ at_
            const ${index} along_${p.name} = 0
//% for a in reduce_axes
                + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
                ;
