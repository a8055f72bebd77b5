//# along_p(j): bytes from the beginning of a sequence to its access (rows) or row (columns)
//# number j.
//% own a along_ at_ j quot_ rest_j
//% for p in walking
    auto along_${p.name} = [&](const ${index} j) -> ${index} {
//% if one_axis
//% if p.vector
        return j * (${index})(${vec} * sizeof(${p.type})); // known to the compiler: offsets fold
//% else
        return j * (${index})a.stride_${p.name}_${last};
//% end
//% else
        ${index} rest_j = j;
//% for a in reduce_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
        const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest_j = quot_${a.n};
//% end
        const ${index} at_${reduce_first} = rest_j;
        return 0
//% for a in reduce_axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
    };
//% end
