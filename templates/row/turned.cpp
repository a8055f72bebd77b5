//# Units of up to ${tile} neighbouring rows, whose elements lie apart in memory: copied into a buffer
//# where each row is dense, worked on there, and outputs copied back. Buffers are few: as many as
//# threads, taken and given back by a flag each.
//% own R a at_ b base_ buf_ columns e first_unit j last_unit left n next r rest rows slot tile_
//% own tiles unit
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
//% insert row/row.cpp
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
