//# Phase 1 of a tile: its inputs to shared memory, row after row. Every load is issued before the
//# first is waited for, and before the last use of what lies there yet.
            constexpr int kiln__A = (kiln__height * kiln__K / kiln__V + kiln__G - 1) / kiln__G; // accesses of a thread
//% for p in inputs
//% if p.vector
            ${p.type} kiln__reg_${p.name}[kiln__A][kiln__V];
//% end
//% end
//% if flat
            // The tile is one piece of memory, and kiln__valid elements of it are there.
            const ${index} kiln__rows_left = kiln__length - kiln__begin;
            const int kiln__valid = (kiln__rows_left < kiln__height ? (int)kiln__rows_left : kiln__height) * kiln__pitch;
            #pragma unroll
            for (int kiln__k = 0; kiln__k < kiln__A; kiln__k++) {
                const int kiln__e = (threadIdx.x + kiln__k * kiln__G) * kiln__V;
                if (kiln__e + kiln__V <= kiln__valid) {
//% for p in inputs
//% if p.vector
                    kiln__load(kiln__reg_${p.name}[kiln__k], (const ${p.type} *)(kiln__here.row_${p.name} + kiln__along_${p.name}(kiln__begin)) + kiln__e);
//% end
//% end
                } else if (kiln__e < kiln__height * kiln__pitch) {
                    #pragma unroll
                    for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++) {
                        const int kiln__i = kiln__e + kiln__v;
                        const int kiln__there = kiln__i < kiln__valid ? kiln__i : kiln__valid - kiln__pitch + kiln__i % kiln__pitch;
//% for p in inputs
//% if p.vector
                        kiln__reg_${p.name}[kiln__k][kiln__v] = ((const ${p.type} *)(kiln__here.row_${p.name} + kiln__along_${p.name}(kiln__begin)))[kiln__there];
//% end
//% end
                    }
                }
            }
            const int kiln__all = kiln__height * kiln__pitch;
//% else
            constexpr int kiln__all = kiln__height * kiln__K, kiln__across = kiln__K / kiln__V;
            #pragma unroll
            for (int kiln__k = 0; kiln__k < kiln__A; kiln__k++) {
                const int kiln__n = threadIdx.x + kiln__k * kiln__G, kiln__row = kiln__n / kiln__across, kiln__e = kiln__n % kiln__across * kiln__V;
                const ${index} kiln__j = kiln__begin + kiln__row < kiln__length ? kiln__begin + kiln__row : kiln__length - 1;
                const int kiln__col = kiln__e < kiln__here.width ? kiln__e : kiln__here.width - kiln__V;
                if (kiln__n * kiln__V < kiln__all) {
//% for p in inputs
//% if p.vector
                    kiln__load(kiln__reg_${p.name}[kiln__k], (const ${p.type} *)(kiln__here.row_${p.name} + kiln__along_${p.name}(kiln__j)) + kiln__col);
//% end
//% end
                }
            }
//% end
            __syncthreads();
            #pragma unroll
            for (int kiln__k = 0; kiln__k < kiln__A; kiln__k++) {
                const int kiln__e = (threadIdx.x + kiln__k * kiln__G) * kiln__V;
                if (kiln__e < kiln__all) {
//% for p in inputs
//% if p.vector
                    kiln__store((${p.type} *)(kiln__place_of + kiln__at_${p.name}) + kiln__e, kiln__reg_${p.name}[kiln__k]);
//% end
//% end
                }
            }
