//# Take the number j of an element along the reduced axes apart; gives along_*, the offsets
//# that it adds for each input, and past_*, what it adds to each number.
//% own a along_ at_ j past_ rest_j
            long long rest_j = j;
//% for a in reduce_inward
            const long long at_${a.n} = rest_j % a.shape_${a.n};
            rest_j /= a.shape_${a.n};
//% end
            const long long at_${reduce_first} = rest_j;
//% for p in inputs
            const long long along_${p.name} = 0
//% for a in reduce_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for x in numbers
            const long long past_${x.name} = 0
//% for a in reduce_axes
                + at_${a.n} * a.step_${x.name}_${a.n}
//% end
                ;
//% end
