//# N accesses of every segment from number at on, all loaded before the first is used. Of long snippets
//# there is one copy for an access: what was loaded moves up to it.
//% own G L M N S a acc all_ along_ at b base_ base_J index item j k mem_ moves n of past_ past_J
//% own reg_ row_ s take u v values
//% plain kiln__long
//% for p in inputs
//% if p.direct
        ${p.const}char *mem_${p.name}[S][N];
//% else
        ${p.type} reg_${p.name}[S][N][${p.lanes}];
//% end
//% end
//% for x in numbers
        [[maybe_unused]] long long all_${x.name}[N];
//% end
        #pragma unroll
        for (int u = 0; u < N; u++) {
            const ${index} j = at + u * G;
//% insert reduce/locate.cu
//% for x in numbers
            all_${x.name}[u] = past_${x.name};
//% end
            #pragma unroll
            for (int s = 0; s < S; s++) {
//% for p in inputs
//% if p.direct
                mem_${p.name}[s][u] = (${p.const}char *)row_${p.name}[s] + along_${p.name};
//% else
                ${p.load}(reg_${p.name}[s][u], row_${p.name}[s] + along_${p.name});
//% end
//% end
            }
        }
//% if batch_bytes
        #pragma unroll
        for (int s = 0; s < S; s++)
//% for p in inputs
            kiln_batch_sum_bytes(acc[s][0], reg_${p.name}[s]);
//% end
//% else
//% if batched
        // So many accesses that a batch's values have room in registers.
        constexpr int M = N * ${vec} <= ${batch_most} ? N : ${vec} < ${batch_most} ? ${batch_most} / ${vec} : 1;
        #pragma unroll
        for (int s = 0; s < S; s++)
        #pragma unroll
        for (int b = 0; b < N; b += M) {
            auto of = [&](int k) {
                [[maybe_unused]] const int v = k % ${vec};
                return item(k
//% for p in inputs
                    , reg_${p.name}[s][b + k / ${vec}][${p.lane}]
//% end
                );
            };
//% if batch_kept
            ${batch_type} values[M * ${vec}];
            #pragma unroll
            for (int k = 0; k < M * ${vec}; k++)
                values[k] = of(k);
//% end
            ${batch}<M * ${vec}>(
                acc[s][0],
//% if batch_kept
                [&](int k) { return values[k]; },
//% else
                of,
//% end
                [&](int k) -> index {
//% if position
                    const ${index} j = at + (b + k / ${vec}) * G;
//% insert reduce/locate.cu
                    return (index)(base_J[s] + past_J) + k % ${vec} * (index)(a.step_J_${last} / ${vec});
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
            for (int s = 0; s < S; s++) {
                #pragma unroll
                for (int v = 0; v < ${vec}; v++)
                    take(acc[s][v % L]
//% for x in numbers
                        , base_${x.name}[s] + all_${x.name}[n] + v * (a.step_${x.name}_${last} / ${vec})
//% end
//% for p in inputs
//% if p.direct
                        , ((${p.const}${p.type} *)mem_${p.name}[s][n])[${p.lane}]
//% else
                        , reg_${p.name}[s][n][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int k = 1; moves && k < N; k++) {
//% for x in numbers
                all_${x.name}[k - 1] = all_${x.name}[k];
//% end
                #pragma unroll
                for (int s = 0; s < S; s++) {
//% for p in inputs
//% if p.direct
                    mem_${p.name}[s][k - 1] = mem_${p.name}[s][k];
//% else
                    #pragma unroll
                    for (int v = 0; v < ${p.lanes}; v++)
                        reg_${p.name}[s][k - 1][v] = reg_${p.name}[s][k][v];
//% end
//% end
                }
            }
        }
//% end
//% end
