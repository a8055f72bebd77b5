//# columns.cu - neighbouring threads take neighbours along a kept axis, and walk down the rows.
//#
//# block:  `group` threads along the kept axis, each with `vec` columns, by block / group rows
//# grid:   column tiles x outer kept indices; when split, `splits` blocks share a tile's rows, and
//#         the last to arrive combines the parts in their fixed order
//# shared: one part for each thread
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
    constexpr int kiln__X = ${group}, kiln__R = ${block} / kiln__X, kiln__U = ${unroll}, kiln__V = ${vec};
    __shared__ alignas(16) unsigned char kiln__bytes[kiln__R * kiln__X * sizeof(kiln__part)];
    kiln__part (*kiln__parts)[kiln__X] = (kiln__part(*)[kiln__X])kiln__bytes;
//% insert reduce/environment.cpp
    const int kiln__tx = threadIdx.x % kiln__X, kiln__ty = threadIdx.x / kiln__X;
//% if split
    const ${index} kiln__tile = kiln__a.by_splits.quotient((${index})blockIdx.x);
    const ${index} kiln__split = (${index})blockIdx.x - kiln__tile * (${index})kiln__a.splits;
    const ${index} kiln__begin = kiln__split * (${index})kiln__a.chunk;
    const ${index} kiln__stop = kiln__begin + (${index})kiln__a.chunk;
    const ${index} kiln__end = kiln__stop < (${index})kiln__a.length ? kiln__stop : (${index})kiln__a.length;
//% else
    const ${index} kiln__tile = (${index})blockIdx.x;
    const ${index} kiln__begin = 0, kiln__end = (${index})kiln__a.length;
//% end
    // The tile's place among the kept axes; its last coordinate counts tiles.
    ${index} kiln__rest = kiln__tile;
//% for a in keep_divided
    const ${index} kiln__quot_${a.n} = kiln__a.walk_${a.n}.quotient(kiln__rest);
    const ${index} kiln__at_${a.n} = kiln__rest - kiln__quot_${a.n} * (${index})kiln__a.walk_${a.n}.divisor;
    kiln__rest = kiln__quot_${a.n};
//% end
    const ${index} kiln__at_0 = kiln__rest;
    const ${index} kiln__columns = (${index})kiln__a.shape_${keep_last} / kiln__V;
    const ${index} kiln__column = kiln__at_${keep_last} * kiln__X + kiln__tx;
    const bool kiln__inside = kiln__column < kiln__columns;
    ${index} kiln__outer = 0;
//% for a in keep_outer
    kiln__outer = kiln__outer * (${index})kiln__a.shape_${a.n} + kiln__at_${a.n};
//% end
//% for p in inputs
    const char *const kiln__row_${p.name} = (const char *)kiln__a.ptr_${p.name}
        + (kiln__inside ? kiln__column : 0) * (${index})kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
        + kiln__at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
        ;
//% end
//% for x in numbers
    const long long kiln__base_${x.name} = (long long)kiln__column * kiln__V * kiln__a.step_${x.name}_${keep_last}
//% for a in keep_outer
        + (long long)kiln__at_${a.n} * kiln__a.step_${x.name}_${a.n}
//% end
        ;
//% end
    kiln__part kiln__acc[kiln__V];
    #pragma unroll
    for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
        kiln__acc[kiln__v] = kiln__empty();

    if (kiln__inside) {
        ${index} kiln__at = kiln__begin + kiln__ty;
        for (; kiln__at + (kiln__U - 1) * kiln__R < kiln__end; kiln__at += kiln__U * kiln__R) {
            constexpr int kiln__N = kiln__U;
//% insert reduce/columns_burst.cu
        }
        #pragma unroll 1
        for (; kiln__at < kiln__end; kiln__at += kiln__R) {
            constexpr int kiln__N = 1;
//% insert reduce/columns_burst.cu
        }
    }

    // Rows of the block into one, halving; the order depends on nothing but the block's shape.
    auto kiln__down = [&]() {
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
            kiln__parts[kiln__ty][kiln__tx] = kiln__acc[kiln__v];
            #pragma unroll 1 // the halves are few; written out, they would take most of a compile
            for (int kiln__h = kiln__R / 2; kiln__h > 0; kiln__h /= 2) {
                __syncthreads();
                if (kiln__ty < kiln__h) {
                    kiln__acc[kiln__v] = kiln__merge(kiln__acc[kiln__v], kiln__parts[kiln__ty + kiln__h][kiln__tx]);
                    kiln__parts[kiln__ty][kiln__tx] = kiln__acc[kiln__v];
                }
            }
            __syncthreads();
        }
    };
    kiln__down();
    const ${index} kiln__first = (kiln__outer * kiln__columns + kiln__column) * kiln__V;
//% if split
    __shared__ bool kiln__last;
    if (kiln__ty == 0 && kiln__inside) {
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
            kiln__a.parts[kiln__split * (${index})kiln__a.outputs + kiln__first + kiln__v] = kiln__acc[kiln__v];
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        kiln__last = atomicAdd(&kiln__a.tickets[kiln__tile], 1) == (int)kiln__a.splits - 1;
    __syncthreads();
    if (!kiln__last)
        return;
    __threadfence();
    #pragma unroll
    for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
        kiln__acc[kiln__v] = kiln__empty();
    if (kiln__inside) {
        #pragma unroll 4
        for (${index} kiln__k = kiln__ty; kiln__k < (${index})kiln__a.splits; kiln__k += kiln__R) {
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__acc[kiln__v] = kiln__merge(kiln__acc[kiln__v], kiln__a.parts[kiln__k * (${index})kiln__a.outputs + kiln__first + kiln__v]);
        }
    }
    kiln__down();
    if (threadIdx.x == 0)
        kiln__a.tickets[kiln__tile] = 0;
//% end
    if (kiln__ty == 0 && kiln__inside) {
        #pragma unroll
        for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
            kiln__finish(kiln__first + kiln__v, kiln__acc[kiln__v]);
    }
}
