//# Phase 1 of a tile: its inputs to shared memory, row after row. Every load is issued before the
//# first is waited for, and before the last use of what lies there yet.
//% own A G K V across all along_ at_ begin col e height here i j k length load n pitch place_of
//% own reg_ row rows_left store there v valid
            constexpr int A = (height * K / V + G - 1) / G; // accesses of a thread
//% for p in inputs
//% if p.vector
            ${p.type} reg_${p.name}[A][V];
//% end
//% end
//% if flat
            // The tile is one piece of memory, and kiln__valid elements of it are there.
            const ${index} rows_left = length - begin;
            const int valid = (rows_left < height ? (int)rows_left : height) * pitch;
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int e = (threadIdx.x + k * G) * V;
                if (e + V <= valid) {
//% for p in inputs
//% if p.vector
                    load(reg_${p.name}[k], (const ${p.type} *)(here.row_${p.name} + along_${p.name}(begin)) + e);
//% end
//% end
                } else if (e < height * pitch) {
                    #pragma unroll
                    for (int v = 0; v < V; v++) {
                        const int i = e + v;
                        const int there = i < valid ? i : valid - pitch + i % pitch;
//% for p in inputs
//% if p.vector
                        reg_${p.name}[k][v] = ((const ${p.type} *)(here.row_${p.name} + along_${p.name}(begin)))[there];
//% end
//% end
                    }
                }
            }
            const int all = height * pitch;
//% else
            constexpr int all = height * K, across = K / V;
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int n = threadIdx.x + k * G, row = n / across, e = n % across * V;
                const ${index} j = begin + row < length ? begin + row : length - 1;
                const int col = e < here.width ? e : here.width - V;
                if (n * V < all) {
//% for p in inputs
//% if p.vector
                    load(reg_${p.name}[k], (const ${p.type} *)(here.row_${p.name} + along_${p.name}(j)) + col);
//% end
//% end
                }
            }
//% end
            __syncthreads();
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int e = (threadIdx.x + k * G) * V;
                if (e < all) {
//% for p in inputs
//% if p.vector
                    store((${p.type} *)(place_of + at_${p.name}) + e, reg_${p.name}[k]);
//% end
//% end
                }
            }
