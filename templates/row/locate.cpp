//# Take the number j of an element along the row apart; run neighbours follow it.
//% own a at_ j rest_j run
            long long rest_j = j;
//% for a in reduce_inward
            [[maybe_unused]] const long long at_${a.n} = rest_j % a.shape_${a.n};
            rest_j /= a.shape_${a.n};
//% end
            [[maybe_unused]] const long long at_${reduce_first} = rest_j;
            const long long run = a.shape_${last} - at_${last};
