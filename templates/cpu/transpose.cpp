//# transpose.cpp - operands disagree on the fastest axis: tiles of ${tile} x ${tile} elements.
//#
//# unit: one tile of axes A = rank - 1 and B = rank - 2 at one index of the outer axes
//# Operands that are dense on B pass through a buffer of the tile, where A is the fast axis: memory
//# is walked along B, in whole lines, and the loop over A finds neighbours everywhere. (Reading
//# memory across its rows would find every row of a large power-of-two extent in one cache set.)
//% insert cpu/turn.cpp
//% if streams
//% insert cpu/stream.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__begin, long long kiln__end)
{
    const kiln__args kiln__a = *kiln__in;
//% insert environment.cpp
//% for p in tiles
    alignas(32) ${p.type} kiln__tile_${p.name}[${tile}][${tile}];
//% end
    for (long long kiln__unit = kiln__begin; kiln__unit < kiln__end; kiln__unit++) {
        long long kiln__rest = kiln__unit;
//% for a in axes_inward
        long long kiln__at_${a.n} = kiln__rest % kiln__a.walk_${a.n};
        kiln__rest /= kiln__a.walk_${a.n};
//% end
//% for a in tile_axes
        kiln__at_${a.n} *= ${tile};
        const long long kiln__left_${a.n} = kiln__a.extent_${a.n} - kiln__at_${a.n};
        const int kiln__count_${a.n} = kiln__left_${a.n} < ${tile} ? (int)kiln__left_${a.n} : ${tile};
//% end
//% for p in walking
        ${p.const}char *const kiln__base_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% for a in axes
            + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for p in plain
//% insert cpu/step.cpp
//% end
//% if streams
        const bool kiln__streams = kiln__a.size >= ${stream_size} && kiln__count_${tile_a} == ${tile};
//% end
//% if index_strides
        const long long kiln__tile_i = 0
//% for a in axes
            + kiln__at_${a.n} * kiln__a.stride_i_${a.n}
//% end
            ;
//% end
//% for p in tiled_loads
        kiln__turn<sizeof(${p.type})>((char *)kiln__tile_${p.name}, sizeof kiln__tile_${p.name}[0], kiln__base_${p.name},
            kiln__a.stride_${p.name}_${tile_a}, kiln__count_${tile_a}, kiln__count_${tile_b});
//% end
        for (int kiln__b = 0; kiln__b < kiln__count_${tile_b}; kiln__b++) {
//% for p in plain
            ${p.const}char *const kiln__row_${p.name} = kiln__base_${p.name} + kiln__b * kiln__a.stride_${p.name}_${tile_b};
//% end
            // The next tile's lines, row by row with this one's, for no prefetcher can guess them.
//% for p in tiled_loads
            kiln__fetch<sizeof kiln__tile_${p.name}[0]>(kiln__base_${p.name} + (${tile} + kiln__b) * kiln__a.stride_${p.name}_${tile_a});
//% end
//% for p in plain_loads
            kiln__fetch<sizeof(${p.type}) * ${tile}>(kiln__row_${p.name} + ${tile} * kiln__step_${p.name});
//% end
//% if streams
//% for p in plain_stores
            alignas(32) ${p.type} kiln__out_${p.name}[${tile}];
//% end
//% end
//% if independent
            KILN_INDEPENDENT
//% end
            for (int kiln__k = 0; kiln__k < kiln__count_${tile_a}; kiln__k++) {
//% for p in registers
                ${p.type} kiln__reg_${p.name};
//% end
//% for p in tiled_loads
                kiln__reg_${p.name} = kiln__tile_${p.name}[kiln__b][kiln__k];
//% end
//% for p in plain_loads
                kiln__reg_${p.name} = *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name});
//% end
                kiln__op(
//% if index_strides
                    kiln__tile_i + kiln__b * kiln__a.stride_i_${tile_b} + kiln__k * kiln__a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% else
                    , kiln__reg_${p.name}
//% end
//% end
                );
//% for p in tiled_stores
                kiln__tile_${p.name}[kiln__b][kiln__k] = kiln__reg_${p.name};
//% end
//% for p in plain_stores
//% if streams
                kiln__out_${p.name}[kiln__k] = kiln__reg_${p.name};
//% else
                *(${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name}) = kiln__reg_${p.name};
//% end
//% end
            }
//% if streams
//% for p in plain_stores
            if (kiln__streams && KILN__STREAM_HEAD(kiln__row_${p.name}, sizeof(${p.type})) == 0)
                kiln__stream((${p.type} *)kiln__row_${p.name}, kiln__out_${p.name});
            else
                __builtin_memcpy(kiln__row_${p.name}, kiln__out_${p.name}, kiln__count_${tile_a} * sizeof(${p.type}));
//% end
//% end
        }
//% for p in tiled_stores
        kiln__turn<sizeof(${p.type})>(kiln__base_${p.name}, kiln__a.stride_${p.name}_${tile_a}, (const char *)kiln__tile_${p.name},
            sizeof kiln__tile_${p.name}[0], kiln__count_${tile_b}, kiln__count_${tile_a});
//% end
    }
//% if streams
    KILN__STREAMED();
//% end
//% if after_loop
${after_loop}
//% end
}
