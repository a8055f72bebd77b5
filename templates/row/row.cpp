//# One row of a cpu, from base_*: all stages, then the outputs.
//% own L T a acc_ base_ blocks_ count empty_ fold_ from j k l m map_ merge_ most op out_ pairwise
//% own part_ row_ run step_ stop tile type_ val_ value_
//% for s in stages
//% insert row/stage.cpp
        part_${s.n} acc_${s.n}[L];
        for (int l = 0; l < L; l++)
            acc_${s.n}[l] = empty_${s.n}();
        pairwise<part_${s.n}, L, (L > 1 ? 16 * L : 0)> blocks_${s.n};
        for (long long j = 0; j < a.length;) {
//% insert row/locate.cpp
//% for p in row_sees
//% insert row/along.cpp
//% end
            long long k = 0;
            do {
                const long long from = k;
//% if s.heavy
                // Computed apart, so that the compiler calls the C library for a vector at a time.
                const long long most = blocks_${s.n}.room < T ? blocks_${s.n}.room : T;
                const int count = run - k < most ? (int)(run - k) : (int)most;
                type_${s.n} tile[T];
                KILN_INDEPENDENT
                for (int l = 0; l < count; l++)
                    tile[l] = map_${s.n}(0
//% for p in row_sees
                        , *(const ${p.type} *)(row_${p.name} + (k + l) * step_${p.name})
//% end
//% if held
//% for v in values
                        , val_${v.name}[j + k + l]
//% end
//% end
                    );
                int m = 0;
                for (; m + L <= count; m += L)
                    for (int l = 0; l < L; l++)
                        fold_${s.n}(acc_${s.n}[l], tile[m + l]);
                for (; m < count; m++)
                    fold_${s.n}(acc_${s.n}[0], tile[m]);
                k += count;
//% else
                const long long stop = run - k < blocks_${s.n}.room ? run : k + blocks_${s.n}.room;
                for (; k + L <= stop; k += L) {
                    KILN_INDEPENDENT
                    for (int l = 0; l < L; l++)
                        fold_${s.n}(acc_${s.n}[l], map_${s.n}(0
//% for p in row_sees
                            , *(const ${p.type} *)(row_${p.name} + (k + l) * step_${p.name})
//% end
//% if held
//% for v in values
                            , val_${v.name}[j + k + l]
//% end
//% end
                        ));
                }
                for (; k < stop; k++)
                    fold_${s.n}(acc_${s.n}[0], map_${s.n}(0
//% for p in row_sees
                        , *(const ${p.type} *)(row_${p.name} + k * step_${p.name})
//% end
//% if held
//% for v in values
                        , val_${v.name}[j + k]
//% end
//% end
                    ));
//% end
                blocks_${s.n}.took(k - from, acc_${s.n}, merge_${s.n}, empty_${s.n});
            } while (k < run);
            j += run;
        }
        blocks_${s.n}.whole(acc_${s.n}, merge_${s.n});
        const type_${s.n} ${s.result} = value_${s.n}(acc_${s.n}[0]);
//% if s.post
${s.post}
//% end

//% end
//% insert row/op.cpp
//% if row_elements
        for (long long j = 0; j < a.length;) {
//% insert row/locate.cpp
//% for p in row_sees
//% insert row/along.cpp
//% end
//% for p in row_stores
//% insert row/along.cpp
//% end
            KILN_INDEPENDENT
            for (long long k = 0; k < run; k++) {
//% for p in row_stores
                ${p.type} out_${p.name};
//% end
//% for p in row_loads_first
                out_${p.name} = *(const ${p.type} *)(row_${p.name} + k * step_${p.name});
//% end
                op(0
//% for p in row_sees
                    , *(const ${p.type} *)(row_${p.name} + k * step_${p.name})
//% end
//% if held
//% for v in values
                    , val_${v.name}[j + k]
//% end
//% end
//% for p in row_stores
                    , out_${p.name}
//% end
                );
//% for p in row_stores
                *(${p.type} *)(row_${p.name} + k * step_${p.name}) = out_${p.name};
//% end
            }
            j += run;
        }
//% end
//% if row_outputs
        {
//% for p in row_results
            char *const row_${p.name} = base_${p.name};
//% end
//% insert row/results.cpp
        }
//% end
