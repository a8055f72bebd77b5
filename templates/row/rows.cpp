//# rows.cpp - row programs on the cpu: a row is a work unit, and each stage finds in the cache what
//# the stage before it has read.
//#
//# Where elements of different rows are neighbours in memory, tiles of rows are first copied into
//# buffers. The inner loops run along the row's last axis with `lanes` accumulators side by side,
//# as in reduce/rows.cpp. The values of rows that are short enough are kept in a buffer.
//% own R T a acc_ args at_ at_0 b base_ blocks_ buf_ columns count e empty_ first_unit fold_
//% own from j k l last_unit left m map_ merge_ most n next op out_ pairwise part_ r rest rest_j
//% own row_ rows run slot step_ stop tile tile_ tiles type_ unit val_ value_
//% plain kiln__in
//% insert reduce/common.cpp:pairwise
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
    [[maybe_unused]] constexpr int T = 64;
//% insert row/kernel.cpp:environment
//% if held
//% for v in values
    alignas(64) ${v.type} val_${v.name}[${row_bytes} / (${value_bytes})];
//% end
//% end
//% if turned
//% insert :turned
//% else
    for (long long unit = first_unit; unit < last_unit; unit++) {
        long long rest = unit;
//% for a in keep_inward
        [[maybe_unused]] const long long at_${a.n} = rest % a.shape_${a.n};
        rest /= a.shape_${a.n};
//% end
        [[maybe_unused]] const long long at_0 = rest;
//% for p in walking
        ${p.byte} *const base_${p.name} = (${p.byte} *)a.ptr_${p.name}
//% for a in keep_axes
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for p in row_splat
        const ${p.type} ${p.name} = *(const ${p.type} *)base_${p.name};
//% end
//% insert :row
    }
//% end
}

//% part row
//# One row, whose operands begin at base_*: all stages, then the outputs.
//% for s in stages
//% insert row/kernel.cpp:stage
        part_${s.n} acc_${s.n}[${s.lanes}];
        for (int l = 0; l < ${s.lanes}; l++)
            acc_${s.n}[l] = empty_${s.n}();
        pairwise<part_${s.n}, ${s.lanes}, (${s.lanes} > 1 ? 16 * ${s.lanes} : 0)> blocks_${s.n};
        for (long long j = 0; j < a.length;) {
//% insert :locate
//% for p in row_sees
//% insert :along
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
//% if position
                    tile[l] = map_${s.n}((ptrdiff_t)(j + k + l)
//% else
                    tile[l] = map_${s.n}(0
//% end
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
                for (; m + ${s.lanes} <= count; m += ${s.lanes})
                    for (int l = 0; l < ${s.lanes}; l++)
                        fold_${s.n}(acc_${s.n}[l], tile[m + l]);
                for (; m < count; m++)
                    fold_${s.n}(acc_${s.n}[0], tile[m]);
                k += count;
//% else
                const long long stop = run - k < blocks_${s.n}.room ? run : k + blocks_${s.n}.room;
                for (; k + ${s.lanes} <= stop; k += ${s.lanes}) {
                    KILN_INDEPENDENT
                    for (int l = 0; l < ${s.lanes}; l++)
//% if position
                        fold_${s.n}(acc_${s.n}[l], map_${s.n}((ptrdiff_t)(j + k + l)
//% else
                        fold_${s.n}(acc_${s.n}[l], map_${s.n}(0
//% end
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
//% if position
                    fold_${s.n}(acc_${s.n}[0], map_${s.n}((ptrdiff_t)(j + k)
//% else
                    fold_${s.n}(acc_${s.n}[0], map_${s.n}(0
//% end
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
//% insert row/kernel.cpp:op
//% if row_elements
        for (long long j = 0; j < a.length;) {
//% insert :locate
//% for p in row_sees
//% insert :along
//% end
//% for p in row_stores
//% insert :along
//% end
            KILN_INDEPENDENT
            for (long long k = 0; k < run; k++) {
//% for p in row_stores
                ${p.type} out_${p.name};
//% end
//% for p in row_loads_first
                out_${p.name} = *(const ${p.type} *)(row_${p.name} + k * step_${p.name});
//% end
//% if position
                op((ptrdiff_t)(j + k)
//% else
                op(0
//% end
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
//% insert row/kernel.cpp:results
        }
//% end

//% part turned
//# A unit is up to ${tile} neighbouring rows whose elements are not neighbours in memory: they are
//# copied into a buffer in which each row is contiguous, processed there, and the outputs are
//# copied back. There are as many buffers as threads; a thread takes one by setting its flag, and
//# clears the flag when it is done.
    constexpr long long R = ${tile};
    const long long n = a.length, columns = a.shape_${keep_last};
    const long long tiles = (columns + R - 1) / R;
    long long slot = 0;
    while (__atomic_exchange_n(&a.tickets[slot], 1, __ATOMIC_ACQUIRE) != 0)
        slot = (slot + 1) % a.splits;
    char *next = a.parts + slot * a.chunk;
//% for p in row_buffers
    ${p.type} *const buf_${p.name} = (${p.type} *)next;
    next += (R * n * sizeof(${p.type}) + 63) / 64 * 64;
//% end
    for (long long unit = first_unit; unit < last_unit; unit++) {
        const long long left = unit % tiles * R;
        const long long rows = columns - left < R ? columns - left : R;
        [[maybe_unused]] long long rest = unit / tiles;
//% for a in keep_outer_inward
        [[maybe_unused]] const long long at_${a.n} = rest % a.shape_${a.n};
        rest /= a.shape_${a.n};
//% end
//% for p in row_buffers
        ${p.byte} *const tile_${p.name} = (${p.byte} *)a.ptr_${p.name} + left * a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for p in row_gathers
        for (long long b = 0; b < n; b += 16) {
            const long long e = b + 16 < n ? b + 16 : n;
            for (long long r = 0; r < rows; r++)
                for (long long j = b; j < e; j++)
                    buf_${p.name}[r * n + j] = *(const ${p.type} *)(tile_${p.name} + r * a.stride_${p.name}_${keep_last} + j * a.stride_${p.name}_${last});
        }
//% end
        for (long long r = 0; r < rows; r++) {
            [[maybe_unused]] const long long at_${keep_last} = left + r;
//% for p in row_buffers
            ${p.byte} *const base_${p.name} = (${p.byte} *)(buf_${p.name} + r * n);
//% end
//% for p in row_others
            ${p.byte} *const base_${p.name} = (${p.byte} *)a.ptr_${p.name}
//% for a in keep_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for p in row_splat
            const ${p.type} ${p.name} = *(const ${p.type} *)base_${p.name};
//% end
//% insert :row
        }
//% for p in row_stores
        for (long long b = 0; b < n; b += 16) {
            const long long e = b + 16 < n ? b + 16 : n;
            for (long long j = b; j < e; j++)
                for (long long r = 0; r < rows; r++)
                    *(${p.type} *)(tile_${p.name} + r * a.stride_${p.name}_${keep_last} + j * a.stride_${p.name}_${last}) = buf_${p.name}[r * n + j];
        }
//% end
    }
    __atomic_store_n(&a.tickets[slot], 0, __ATOMIC_RELEASE);

//% part locate
//# The coordinates of the element number j of the row, and `run`: how many elements from there on
//# differ in the last coordinate only.
            long long rest_j = j;
//% for a in reduce_inward
            [[maybe_unused]] const long long at_${a.n} = rest_j % a.shape_${a.n};
            rest_j /= a.shape_${a.n};
//% end
            [[maybe_unused]] const long long at_${reduce_first} = rest_j;
            const long long run = a.shape_${last} - at_${last};

//% part along
//# The beginning of operand p's run, and the distance of its elements.
            ${p.byte} *const row_${p.name} = base_${p.name}
//% if p.buffered
                + at_${last} * (long long)sizeof(${p.type})
//% else
//% for a in reduce_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
//% end
                ;
//% insert cpu/row.cpp:step
