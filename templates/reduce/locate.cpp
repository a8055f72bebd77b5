//# Take the number kiln__j of an element along the reduced axes apart.
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
//% if position
            const long long kiln__along_J = 0
//% for a in reduce_axes
                + kiln__at_${a.n} * kiln__a.stride_J_${a.n}
//% end
                ;
//% end
