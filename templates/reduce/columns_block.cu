//# A tile's rows of threads into one, by halving; the order depends on nothing but the block's shape. When
//# split, that is the block's part of its tile. Blocks combine in two steps where they are many: the last of
//# `together` neighbours makes one of theirs, and the last to do so one of those. Each step is a turn of the same
//# loop; few copies of `reduce` make it quick to compile.
//% own F K N R V W X a acc arrive bytes c columns corner empty finish first from h inside k last
//% own merge mine n out outer part parts row some split splits step teams ticket tile to together
//% own tx ty v whole
    constexpr int K = together(V, sizeof(part)), W = X * K;
    __shared__ alignas(16) unsigned char bytes[R * W * sizeof(part)];
    part *const parts = (part *)bytes;
    const ${index} first = (outer * columns + corner) * V;
//% if split
    constexpr int F = 32;
    __shared__ bool last;
    const ${index} splits = (${index})a.splits;
    const ${index} teams = splits > 4 * R ? (splits + F - 1) / F : 0;
    // The parts to combine next: rows kiln__from to kiln__to by kiln__step, counted by kiln__ticket.
    ${index} mine = split, step = 1, from = 0, to = splits;
    int *ticket = a.tickets + tile * (1 + teams);
    if (teams > 0) {
        from = split / F * F;
        to = from + F < splits ? from + F : splits;
        ticket += 1 + split / F;
    }
    bool whole = false;
    #pragma unroll 1
    for (;;) {
//% end
        #pragma unroll 1
        for (int c = 0; c < V; c += K) {
            #pragma unroll
            for (int v = 0; v < V; v++)
                if (v / K * K == c)
                    parts[(ty * X + tx) * K + v % K] = acc[v];
            __syncthreads();
            #pragma unroll 1
            for (int h = R / 2; h > 0; h /= 2) {
                #pragma unroll 1
                for (int k = threadIdx.x; k < h * W; k += ${block})
                    parts[k] = merge(parts[k], parts[k + h * W]);
                __syncthreads();
            }
            #pragma unroll 1
            for (int k = threadIdx.x; k < W; k += ${block}) {
                const ${index} out = first + k / K * V + c + k % K;
                if (corner + k / K >= columns)
                    break;
//% if split
                if (!whole)
                    a.parts[mine * (${index})a.outputs + out] = parts[k];
                else
//% end
                finish(out, parts[k]);
            }
            __syncthreads();
        }
//% if split
        if (whole)
            break;
        if (threadIdx.x == 0)
            last = arrive(ticket) == (int)((to - from + step - 1) / step) - 1;
        __syncthreads();
        if (!last)
            return;
        if (threadIdx.x == 0)
            *ticket = 0;
        constexpr int N = V * sizeof(part) <= 16 ? 4 : 1;
        #pragma unroll
        for (int v = 0; v < V; v++)
            acc[v] = empty();
        #pragma unroll 1
        for (${index} k = from + ty * step; inside && k < to; k += N * R * step) {
            part some[N][V];
            #pragma unroll
            for (int n = 0; n < N; n++) {
                const ${index} row = k + n * R * step;
                #pragma unroll
                for (int v = 0; v < V; v++)
                    some[n][v] = row < to ? a.parts[row * (${index})a.outputs + first + tx * V + v] : empty();
            }
            #pragma unroll
            for (int n = 0; n < N; n++) {
                #pragma unroll
                for (int v = 0; v < V; v++)
                    acc[v] = merge(acc[v], some[n][v]);
            }
        }
        whole = teams == 0 || step > 1;
        mine = from;
        from = 0;
        to = splits;
        step = F;
        ticket = a.tickets + tile * (1 + teams);
    }
//% end
