//# Bytes from the beginning of operand p's row to the located access.
            const ${index} kiln__along_${p.name} = 0
//% for a in reduce_axes
                + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
                ;
