//# Take the number kiln__j of an access along the reduced axes apart; gives kiln__along_*, the offsets
//# that it adds for each input, and kiln__past_*, what it adds to each number.
            ${index} kiln__rest_j = kiln__j;
//% for a in reduce_divided
            const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest_j);
            const ${index} kiln__at_${a.n} = kiln__rest_j - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
            kiln__rest_j = kiln__quot_${a.n};
//% end
            const ${index} kiln__at_${reduce_first} = kiln__rest_j;
//% for p in inputs
            [[maybe_unused]] const ${index} kiln__along_${p.name} = 0
//% for a in reduce_axes
                + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for x in numbers
            [[maybe_unused]] const long long kiln__past_${x.name} = 0
//% for a in reduce_axes
                + (long long)kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
                ;
//% end
