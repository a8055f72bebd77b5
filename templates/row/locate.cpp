//# Take the number kiln__j of an element along the row apart; kiln__run neighbours follow it.
            long long kiln__rest_j = kiln__j;
//% for a in reduce_inward
            [[maybe_unused]] const long long kiln__at_${a.n} = kiln__rest_j % kiln__a.shape_${a.n};
            kiln__rest_j /= kiln__a.shape_${a.n};
//% end
            [[maybe_unused]] const long long kiln__at_${reduce_first} = kiln__rest_j;
            const long long kiln__run = kiln__a.shape_${last} - kiln__at_${last};
