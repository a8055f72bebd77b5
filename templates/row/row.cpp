//# One row of a cpu, from kiln__base_*: all stages, then the outputs.
//% for s in stages
//% insert row/stage.cpp
        kiln__part_${s.n} kiln__acc_${s.n}[kiln__L];
        for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
            kiln__acc_${s.n}[kiln__l] = kiln__empty_${s.n}();
        kiln__pairwise<kiln__part_${s.n}, kiln__L, (kiln__L > 1 ? 16 * kiln__L : 0)> kiln__blocks_${s.n};
        for (long long kiln__j = 0; kiln__j < kiln__a.length;) {
//% insert row/locate.cpp
//% for p in row_sees
//% insert row/along.cpp
//% end
            long long kiln__k = 0;
            do {
                const long long kiln__from = kiln__k;
//% if s.heavy
                // Computed apart, so that the compiler calls the C library for a vector at a time.
                const long long kiln__most = kiln__blocks_${s.n}.room < kiln__T ? kiln__blocks_${s.n}.room : kiln__T;
                const int kiln__count = kiln__run - kiln__k < kiln__most ? (int)(kiln__run - kiln__k) : (int)kiln__most;
                kiln__type_${s.n} kiln__tile[kiln__T];
                KILN_INDEPENDENT
                for (int kiln__l = 0; kiln__l < kiln__count; kiln__l++)
                    kiln__tile[kiln__l] = kiln__map_${s.n}(0
//% for p in row_sees
                        , *(const ${p.type} *)(kiln__row_${p.name} + (kiln__k + kiln__l) * kiln__step_${p.name})
//% end
//% if held
//% for v in values
                        , kiln__val_${v.name}[kiln__j + kiln__k + kiln__l]
//% end
//% end
                    );
                int kiln__m = 0;
                for (; kiln__m + kiln__L <= kiln__count; kiln__m += kiln__L)
                    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                        kiln__fold_${s.n}(kiln__acc_${s.n}[kiln__l], kiln__tile[kiln__m + kiln__l]);
                for (; kiln__m < kiln__count; kiln__m++)
                    kiln__fold_${s.n}(kiln__acc_${s.n}[0], kiln__tile[kiln__m]);
                kiln__k += kiln__count;
//% else
                const long long kiln__stop = kiln__run - kiln__k < kiln__blocks_${s.n}.room ? kiln__run : kiln__k + kiln__blocks_${s.n}.room;
                for (; kiln__k + kiln__L <= kiln__stop; kiln__k += kiln__L) {
                    KILN_INDEPENDENT
                    for (int kiln__l = 0; kiln__l < kiln__L; kiln__l++)
                        kiln__fold_${s.n}(kiln__acc_${s.n}[kiln__l], kiln__map_${s.n}(0
//% for p in row_sees
                            , *(const ${p.type} *)(kiln__row_${p.name} + (kiln__k + kiln__l) * kiln__step_${p.name})
//% end
//% if held
//% for v in values
                            , kiln__val_${v.name}[kiln__j + kiln__k + kiln__l]
//% end
//% end
                        ));
                }
                for (; kiln__k < kiln__stop; kiln__k++)
                    kiln__fold_${s.n}(kiln__acc_${s.n}[0], kiln__map_${s.n}(0
//% for p in row_sees
                        , *(const ${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% end
//% if held
//% for v in values
                        , kiln__val_${v.name}[kiln__j + kiln__k]
//% end
//% end
                    ));
//% end
                kiln__blocks_${s.n}.took(kiln__k - kiln__from, kiln__acc_${s.n}, kiln__merge_${s.n}, kiln__empty_${s.n});
            } while (kiln__k < kiln__run);
            kiln__j += kiln__run;
        }
        kiln__blocks_${s.n}.whole(kiln__acc_${s.n}, kiln__merge_${s.n});
        const kiln__type_${s.n} ${s.result} = kiln__value_${s.n}(kiln__acc_${s.n}[0]);
//% if s.post
${s.post}
//% end

//% end
//% insert row/op.cpp
//% if row_elements
        for (long long kiln__j = 0; kiln__j < kiln__a.length;) {
//% insert row/locate.cpp
//% for p in row_sees
//% insert row/along.cpp
//% end
//% for p in row_stores
//% insert row/along.cpp
//% end
            KILN_INDEPENDENT
            for (long long kiln__k = 0; kiln__k < kiln__run; kiln__k++) {
//% for p in row_stores
                ${p.type} kiln__out_${p.name};
//% end
//% for p in row_loads_first
                kiln__out_${p.name} = *(const ${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name});
//% end
                kiln__op(0
//% for p in row_sees
                    , *(const ${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% end
//% if held
//% for v in values
                    , kiln__val_${v.name}[kiln__j + kiln__k]
//% end
//% end
//% for p in row_stores
                    , kiln__out_${p.name}
//% end
                );
//% for p in row_stores
                *(${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name}) = kiln__out_${p.name};
//% end
            }
            kiln__j += kiln__run;
        }
//% end
//% if row_outputs
        {
//% for p in row_results
            char *const kiln__row_${p.name} = kiln__base_${p.name};
//% end
//% insert row/results.cpp
        }
//% end
