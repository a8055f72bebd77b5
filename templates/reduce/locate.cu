//# Take the number j of an access along the reduced axes apart; gives along_*, the offsets
//# that it adds for each input, and past_*, what it adds to each number.
//% own a along_ at_ j past_ quot_ rest_j
            ${index} rest_j = j;
//% for a in reduce_divided
            const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest_j);
            const ${index} at_${a.n} = rest_j - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
            rest_j = quot_${a.n};
//% end
            const ${index} at_${reduce_first} = rest_j;
//% for p in inputs
            [[maybe_unused]] const ${index} along_${p.name} = 0
//% for a in reduce_axes
                + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for x in numbers
            [[maybe_unused]] const long long past_${x.name} = 0
//% for a in reduce_axes
                + (long long)at_${a.n} * a.step_${x.name}_${a.n}
//% end
                ;
//% end
