//# Take the number kiln__j of an element along the reduced axes apart; gives kiln__along_*, the offsets
//# that it adds for each input, and kiln__past_*, what it adds to each number.
            long long kiln__rest_j = kiln__j;
//% for a in reduce_inward
            const long long kiln__at_${a.n} = kiln__rest_j % kiln__a.shape_${a.n};
            kiln__rest_j /= kiln__a.shape_${a.n};
//% end
            const long long kiln__at_${reduce_first} = kiln__rest_j;
//% for p in inputs
            const long long kiln__along_${p.name} = 0
//% for a in reduce_axes
                + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for x in numbers
            const long long kiln__past_${x.name} = 0
//% for a in reduce_axes
                + kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
                ;
//% end
