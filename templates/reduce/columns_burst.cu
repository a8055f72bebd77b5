//# N rows from number at on, all loaded before the first is used. Of long snippets there is one copy
//# for a row: what was loaded moves up to it.
//% own N R V a acc all_ along_ at base_ base_J index item j k mem_ moves n of past_ past_J reg_
//% own row_ take u v values
//% plain kiln__long
//% for p in inputs
//% if p.direct
            ${p.const}char *mem_${p.name}[N];
//% else
            ${p.type} reg_${p.name}[N][${p.lanes}];
//% end
//% end
//% for x in numbers
            [[maybe_unused]] long long all_${x.name}[N];
//% end
            #pragma unroll
            for (int u = 0; u < N; u++) {
            const ${index} j = at + u * R;
//% insert reduce/locate.cu
//% for x in numbers
                all_${x.name}[u] = base_${x.name} + past_${x.name};
//% end
//% for p in inputs
//% if p.direct
                mem_${p.name}[u] = (${p.const}char *)row_${p.name} + along_${p.name};
//% else
                ${p.load}(reg_${p.name}[u], row_${p.name} + along_${p.name});
//% end
//% end
            }
//% if batched
            #pragma unroll
            for (int v = 0; v < V; v++) {
                auto of = [&](int k) {
                    return item(k
//% for p in inputs
                        , reg_${p.name}[k][${p.lane}]
//% end
                    );
                };
//% if batch_kept
                ${batch_type} values[N];
                #pragma unroll
                for (int k = 0; k < N; k++)
                    values[k] = of(k);
//% end
                ${batch}<N>(
                    acc[v],
//% if batch_kept
                    [&](int k) { return values[k]; },
//% else
                    of,
//% end
                    [&](int k) -> index {
//% if position
                        const ${index} j = at + k * R;
//% insert reduce/locate.cu
                        return (index)(base_J + past_J);
//% else
                        return (index)k;
//% end
                    });
            }
//% else
            #pragma unroll kiln__long ? 1 : N
            for (int u = 0; u < N; u++) {
                constexpr bool moves = kiln__long && N > 1;
                const int n = moves ? 0 : u;
                #pragma unroll
                for (int v = 0; v < V; v++)
                    take(acc[v]
//% for x in numbers
                        , all_${x.name}[n] + v * a.step_${x.name}_${keep_last}
//% end
//% for p in inputs
//% if p.direct
                        , ((${p.const}${p.type} *)mem_${p.name}[n])[${p.lane}]
//% else
                        , reg_${p.name}[n][${p.lane}]
//% end
//% end
                    );
                #pragma unroll
                for (int k = 1; moves && k < N; k++) {
//% for x in numbers
                    all_${x.name}[k - 1] = all_${x.name}[k];
//% end
//% for p in inputs
//% if p.direct
                    mem_${p.name}[k - 1] = mem_${p.name}[k];
//% else
                    #pragma unroll
                    for (int v = 0; v < ${p.lanes}; v++)
                        reg_${p.name}[k - 1][v] = reg_${p.name}[k][v];
//% end
//% end
                }
            }
//% end
