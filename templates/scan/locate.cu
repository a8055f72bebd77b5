//# kiln__along_p(j): bytes from the beginning of a sequence to its access (rows) or row (columns)
//# number j.
//% for p in walking
    auto kiln__along_${p.name} = [&](const ${index} kiln__j) -> ${index} {
//% if one_axis
//% if p.vector
        return kiln__j * (${index})(${vec} * sizeof(${p.type})); // known to the compiler: offsets fold
//% else
        return kiln__j * (${index})kiln__a.stride_${p.name}_${last};
//% end
//% else
        ${index} kiln__rest_j = kiln__j;
//% for a in reduce_divided
        const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest_j);
        const ${index} kiln__at_${a.n} = kiln__rest_j - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
        kiln__rest_j = kiln__quot_${a.n};
//% end
        const ${index} kiln__at_${reduce_first} = kiln__rest_j;
        return 0
//% for a in reduce_axes
            + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
    };
//% end
