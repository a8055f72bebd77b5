//# transpose.cpp - operands disagree on the fastest axis: tiles of ${tile} x ${tile} elements.
//#
//# unit: one tile of axes A = rank - 1 and B = rank - 2 at one index of the outer axes
//# Operands that are dense on B pass through a buffer of the tile, where A is the fast axis: memory
//# is walked along B, in whole lines, and the loop over A finds neighbours everywhere. (Reading
//# memory across its rows would find every row of a large power-of-two extent in one cache set.)
//% own a args at_ b base_ begin count_ end fetch k left_ op out_ reg_ rest row_ step_ stream
//% own streams tile_ tile_i turn unit
//% plain kiln__in
//% insert cpu/turn.cpp
//% if streams
//% insert cpu/stream.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long begin, long long end)
{
    const args a = *kiln__in;
//% insert environment.cpp
//% for p in tiles
    alignas(32) ${p.type} tile_${p.name}[${tile}][${tile}];
//% end
    for (long long unit = begin; unit < end; unit++) {
        long long rest = unit;
//% for a in axes_inward
        long long at_${a.n} = rest % a.walk_${a.n};
        rest /= a.walk_${a.n};
//% end
//% for a in tile_axes
        at_${a.n} *= ${tile};
        const long long left_${a.n} = a.extent_${a.n} - at_${a.n};
        const int count_${a.n} = left_${a.n} < ${tile} ? (int)left_${a.n} : ${tile};
//% end
//% for p in walking
        ${p.const}char *const base_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for p in plain
//% insert cpu/step.cpp
//% end
//% if streams
        const bool streams = a.size >= ${stream_size} && count_${tile_a} == ${tile};
//% end
//% if index_strides
        const long long tile_i = 0
//% for a in axes
            + at_${a.n} * a.stride_i_${a.n}
//% end
            ;
//% end
//% for p in tiled_loads
        turn<sizeof(${p.type})>((char *)tile_${p.name}, sizeof tile_${p.name}[0], base_${p.name},
            a.stride_${p.name}_${tile_a}, count_${tile_a}, count_${tile_b});
//% end
        for (int b = 0; b < count_${tile_b}; b++) {
//% for p in plain
            ${p.const}char *const row_${p.name} = base_${p.name} + b * a.stride_${p.name}_${tile_b};
//% end
            // The next tile's lines, row by row with this one's, for no prefetcher can guess them.
//% for p in tiled_loads
            fetch<sizeof tile_${p.name}[0]>(base_${p.name} + (${tile} + b) * a.stride_${p.name}_${tile_a});
//% end
//% for p in plain_loads
            fetch<sizeof(${p.type}) * ${tile}>(row_${p.name} + ${tile} * step_${p.name});
//% end
//% if streams
//% for p in plain_stores
            alignas(32) ${p.type} out_${p.name}[${tile}];
//% end
//% end
//% if independent
            KILN_INDEPENDENT
//% end
            for (int k = 0; k < count_${tile_a}; k++) {
//% for p in registers
                ${p.type} reg_${p.name};
//% end
//% for p in tiled_loads
                reg_${p.name} = tile_${p.name}[b][k];
//% end
//% for p in plain_loads
                reg_${p.name} = *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name});
//% end
                op(
//% if index_strides
                    tile_i + b * a.stride_i_${tile_b} + k * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , *(${p.const}${p.type} *)(row_${p.name} + k * step_${p.name})
//% else
                    , reg_${p.name}
//% end
//% end
                );
//% for p in tiled_stores
                tile_${p.name}[b][k] = reg_${p.name};
//% end
//% for p in plain_stores
//% if streams
                out_${p.name}[k] = reg_${p.name};
//% else
                *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
//% end
            }
//% if streams
//% for p in plain_stores
            if (streams && KILN__STREAM_HEAD(row_${p.name}, sizeof(${p.type})) == 0)
                stream((${p.type} *)row_${p.name}, out_${p.name});
            else
                __builtin_memcpy(row_${p.name}, out_${p.name}, count_${tile_a} * sizeof(${p.type}));
//% end
//% end
        }
//% for p in tiled_stores
        turn<sizeof(${p.type})>(base_${p.name}, a.stride_${p.name}_${tile_a}, (const char *)tile_${p.name},
            sizeof tile_${p.name}[0], count_${tile_b}, count_${tile_a});
//% end
    }
//% if streams
    KILN__STREAMED();
//% end
//% if after_loop
${after_loop}
//% end
}
