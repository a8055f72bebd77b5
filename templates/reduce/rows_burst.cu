//# kiln__N accesses of every segment from number kiln__at on, all loaded before the first is used. Of long snippets
//# there is one copy for an access: what was loaded moves up to it.
//% for p in inputs
//% if p.direct
        ${p.const}char *kiln__mem_${p.name}[kiln__S][kiln__N];
//% else
        ${p.type} kiln__reg_${p.name}[kiln__S][kiln__N][${p.lanes}];
//% end
//% end
//% for x in numbers
        [[maybe_unused]] long long kiln__all_${x.name}[kiln__N];
//% end
        #pragma unroll
        for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
            const ${index} kiln__j = kiln__at + kiln__u * kiln__G;
//% insert reduce/locate.cu
//% for x in numbers
            kiln__all_${x.name}[kiln__u] = kiln__past_${x.name};
//% end
            #pragma unroll
            for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
//% for p in inputs
//% if p.direct
                kiln__mem_${p.name}[kiln__s][kiln__u] = (${p.const}char *)kiln__row_${p.name}[kiln__s] + kiln__along_${p.name};
//% else
                ${p.load}(kiln__reg_${p.name}[kiln__s][kiln__u], kiln__row_${p.name}[kiln__s] + kiln__along_${p.name});
//% end
//% end
            }
        }
//% if batch_bytes
        #pragma unroll
        for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++)
//% for p in inputs
            kiln_batch_sum_bytes(kiln__acc[kiln__s][0], kiln__reg_${p.name}[kiln__s]);
//% end
//% else
//% if batched
        // So many accesses that a batch's values have room in registers.
        constexpr int kiln__M = kiln__N * ${vec} <= ${batch_most} ? kiln__N : ${vec} < ${batch_most} ? ${batch_most} / ${vec} : 1;
        #pragma unroll
        for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++)
        #pragma unroll
        for (int kiln__b = 0; kiln__b < kiln__N; kiln__b += kiln__M) {
            auto kiln__of = [&](int kiln__k) {
                [[maybe_unused]] const int kiln__v = kiln__k % ${vec};
                return kiln__item(kiln__k
//% for p in inputs
                    , kiln__reg_${p.name}[kiln__s][kiln__b + kiln__k / ${vec}][${p.lane}]
//% end
                );
            };
//% if batch_kept
            ${batch_type} kiln__values[kiln__M * ${vec}];
            #pragma unroll
            for (int kiln__k = 0; kiln__k < kiln__M * ${vec}; kiln__k++)
                kiln__values[kiln__k] = kiln__of(kiln__k);
//% end
            ${batch}<kiln__M * ${vec}>(
                kiln__acc[kiln__s][0],
//% if batch_kept
                [&](int kiln__k) { return kiln__values[kiln__k]; },
//% else
                kiln__of,
//% end
                [&](int kiln__k) -> kiln__index {
//% if position
                    const ${index} kiln__j = kiln__at + (kiln__b + kiln__k / ${vec}) * kiln__G;
//% insert reduce/locate.cu
                    return (kiln__index)(kiln__base_J[kiln__s] + kiln__past_J) + kiln__k % ${vec} * (kiln__index)(kiln__a.step_J_${last} / ${vec});
//% else
                    return (kiln__index)kiln__k;
//% end
                });
        }
//% else
        #pragma unroll kiln__long ? 1 : kiln__N
        for (int kiln__u = 0; kiln__u < kiln__N; kiln__u++) {
            constexpr bool kiln__moves = kiln__long && kiln__N > 1;
            const int kiln__n = kiln__moves ? 0 : kiln__u;
            #pragma unroll
            for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
                #pragma unroll
                for (int kiln__v = 0; kiln__v < ${vec}; kiln__v++)
                    kiln__take(kiln__acc[kiln__s][kiln__v % kiln__L]
//% for x in numbers
                        , kiln__base_${x.name}[kiln__s] + kiln__all_${x.name}[kiln__n] + kiln__v * (kiln__a.step_${x.name}_${last} / ${vec})
//% end
//% for p in inputs
//% if p.direct
                        , ((${p.const}${p.type} *)kiln__mem_${p.name}[kiln__s][kiln__n])[${p.lane}]
//% else
                        , kiln__reg_${p.name}[kiln__s][kiln__n][${p.lane}]
//% end
//% end
                    );
            }
            #pragma unroll
            for (int kiln__k = 1; kiln__moves && kiln__k < kiln__N; kiln__k++) {
//% for x in numbers
                kiln__all_${x.name}[kiln__k - 1] = kiln__all_${x.name}[kiln__k];
//% end
                #pragma unroll
                for (int kiln__s = 0; kiln__s < kiln__S; kiln__s++) {
//% for p in inputs
//% if p.direct
                    kiln__mem_${p.name}[kiln__s][kiln__k - 1] = kiln__mem_${p.name}[kiln__s][kiln__k];
//% else
                    #pragma unroll
                    for (int kiln__v = 0; kiln__v < ${p.lanes}; kiln__v++)
                        kiln__reg_${p.name}[kiln__s][kiln__k - 1][kiln__v] = kiln__reg_${p.name}[kiln__s][kiln__k][kiln__v];
//% end
//% end
                }
            }
        }
//% end
//% end
