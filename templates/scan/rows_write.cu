//# Phase 4: over the thread's runs, from what stands before each, and store. A tile that was put
//# aside comes back from there and is summed on the way.
//% own U V W acc all_fits along_ aside_ at_ base based before before_run begin count e fits has
//% own identity in_ j lane load mine out_ part place post r reg_ start store take told u v value
//% own whole
        const bool whole = all_fits(begin);
//% if split
        #pragma unroll 2
//% else
        #pragma unroll
//% end
        for (int u = 0; u < U; u++) {
            const ${index} j = start + u * W;
//% for p in inputs
//% if split
            ${p.type} in_${p.name}[${p.lanes}];
            load(in_${p.name}, aside_${p.name}[u][threadIdx.x]);
//% else
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
//% end
//% if split
//% insert scan/rows_run.cu
//% insert scan/rows_before.cu
//% else
//% insert scan/rows_value.cu
            const part &before_run = before[u];
//% end
            part acc = base;
            bool has = based;
            if (u > 0 || lane > 0)
                take(has, acc, before_run);
//% for p in outputs
            ${p.type} out_${p.name}[V];
//% if p.read_first
            #pragma unroll
            for (int v = 0; v < V; v++) {
                const ${index} e = j * V + v;
                out_${p.name}[v] = *at_${p.name}(r, e < count ? e : count - 1);
            }
//% end
//% end
            #pragma unroll
            for (int v = 0; v < V; v++) {
//% if exclusive
                const part told = has ? acc : identity();
                take(has, acc, value(v));
//% else
                take(has, acc, value(v));
                const part &told = acc;
//% end
                post(place(j * V + v), told
//% for p in outputs
                    , out_${p.name}[v]
//% end
                );
            }
            if (mine && (whole || fits(j))) {
//% for p in outputs
                store(r.row_${p.name} + along_${p.name}(j), out_${p.name});
//% end
            } else if (mine) {
                #pragma unroll
                for (int v = 0; v < V; v++) {
                    const ${index} e = j * V + v;
                    if (e >= count)
                        break;
//% for p in outputs
                    *at_${p.name}(r, e) = out_${p.name}[v];
//% end
                }
            }
        }
