//# What reductions along rows and down columns share on the cpu.
//% own a along_ at_ j pairwise past_ rest_j

//% part locate
//# From the number j of an element along the reduced axes: along_*, the offset in each input, and
//# past_*, what is added to each of the numbers.
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

//% part pairwise
//# Pairwise summation on the cpu: L accumulators side by side take `block` elements one after
//# another, and the result of 2^k such blocks waits in level k until the next 2^k are done. The
//# rounding errors of a sum therefore grow with the logarithm of its length, as those of NumPy do.
//# With a `block` of 0 elements are combined in their order.
//% plain E L M P acc b block blocks count empty h k l lanes level merge part room to took whole
template <class P, int L, long long block> struct pairwise {
    union lanes {
        P part[L];
        lanes() {} // most levels are never used
    };
    long long room = block, blocks = 0;
    lanes level[56];
    // `count` more elements are in `acc`, at most as many as there was room for.
    template <class M, class E>
    __attribute__((always_inline)) void took(long long count, P (&acc)[L], const M &merge, const E &empty)
    {
        room -= count;
        if (room != 0)
            return;
        lanes *to = level;
        for (long long b = blocks++; b % 2 != 0; b /= 2, to++)
            for (int l = 0; l < L; l++)
                acc[l] = merge(to->part[l], acc[l]);
        for (int l = 0; l < L; l++) {
            to->part[l] = acc[l];
            acc[l] = empty();
        }
        room = block;
    }
    // Everything to acc[0].
    template <class M> __attribute__((always_inline)) void whole(P (&acc)[L], const M &merge)
    {
        for (int k = 0; blocks >> k != 0; k++)
            if ((blocks >> k) % 2 != 0)
                for (int l = 0; l < L; l++)
                    acc[l] = merge(level[k].part[l], acc[l]);
        for (int h = L / 2; h > 0; h /= 2)
            for (int l = 0; l < h; l++)
                acc[l] = merge(acc[l], acc[l + h]);
    }
};
template <class P, int L> struct pairwise<P, L, 0> {
    static constexpr long long room = 0x7fffffffffffffff;
    template <class M, class E> void took(long long, P (&)[L], const M &, const E &) {}
    template <class M> void whole(P (&)[L], const M &) {}
};
