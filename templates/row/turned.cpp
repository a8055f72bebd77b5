//# Units of up to ${tile} neighbouring rows, whose elements lie apart in memory: copied into a buffer
//# where each row is dense, worked on there, and outputs copied back. Buffers are few: as many as
//# threads, taken and given back by a flag each.
    constexpr long long kiln__R = ${tile};
    const long long kiln__n = kiln__a.length, kiln__columns = kiln__a.shape_${keep_last};
    const long long kiln__tiles = (kiln__columns + kiln__R - 1) / kiln__R;
    long long kiln__slot = 0;
    while (__atomic_exchange_n(&kiln__a.tickets[kiln__slot], 1, __ATOMIC_ACQUIRE) != 0)
        kiln__slot = (kiln__slot + 1) % kiln__a.splits;
    char *kiln__next = kiln__a.parts + kiln__slot * kiln__a.chunk;
//% for p in row_buffers
    ${p.type} *const kiln__buf_${p.name} = (${p.type} *)kiln__next;
    kiln__next += (kiln__R * kiln__n * sizeof(${p.type}) + 63) / 64 * 64;
//% end
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
        const long long kiln__left = kiln__unit % kiln__tiles * kiln__R;
        const long long kiln__rows = kiln__columns - kiln__left < kiln__R ? kiln__columns - kiln__left : kiln__R;
        [[maybe_unused]] long long kiln__rest = kiln__unit / kiln__tiles;
//% for a in keep_outer_inward
        [[maybe_unused]] const long long kiln__at_${a.n} = kiln__rest % kiln__a.shape_${a.n};
        kiln__rest /= kiln__a.shape_${a.n};
//% end
//% for p in row_buffers
        ${p.byte} *const kiln__tile_${p.name} = (${p.byte} *)kiln__a.ptr_${p.name} + kiln__left * kiln__a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% end
//% for p in row_gathers
        for (long long kiln__b = 0; kiln__b < kiln__n; kiln__b += 16) {
            const long long kiln__e = kiln__b + 16 < kiln__n ? kiln__b + 16 : kiln__n;
            for (long long kiln__r = 0; kiln__r < kiln__rows; kiln__r++)
                for (long long kiln__j = kiln__b; kiln__j < kiln__e; kiln__j++)
                    kiln__buf_${p.name}[kiln__r * kiln__n + kiln__j] = *(const ${p.type} *)(kiln__tile_${p.name} + kiln__r * kiln__a.stride_${p.name}_${keep_last} + kiln__j * kiln__a.stride_${p.name}_${last});
        }
//% end
        for (long long kiln__r = 0; kiln__r < kiln__rows; kiln__r++) {
            [[maybe_unused]] const long long kiln__at_${keep_last} = kiln__left + kiln__r;
//% for p in row_buffers
            ${p.byte} *const kiln__base_${p.name} = (${p.byte} *)(kiln__buf_${p.name} + kiln__r * kiln__n);
//% end
//% for p in row_others
            ${p.byte} *const kiln__base_${p.name} = (${p.byte} *)kiln__a.ptr_${p.name}
//% for a in keep_axes
                + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
                ;
//% end
//% for p in row_splat
            const ${p.type} ${p.name} = *(const ${p.type} *)kiln__base_${p.name};
//% end
//% insert row/row.cpp
        }
//% for p in row_stores
        for (long long kiln__b = 0; kiln__b < kiln__n; kiln__b += 16) {
            const long long kiln__e = kiln__b + 16 < kiln__n ? kiln__b + 16 : kiln__n;
            for (long long kiln__j = kiln__b; kiln__j < kiln__e; kiln__j++)
                for (long long kiln__r = 0; kiln__r < kiln__rows; kiln__r++)
                    *(${p.type} *)(kiln__tile_${p.name} + kiln__r * kiln__a.stride_${p.name}_${keep_last} + kiln__j * kiln__a.stride_${p.name}_${last}) = kiln__buf_${p.name}[kiln__r * kiln__n + kiln__j];
        }
//% end
    }
    __atomic_store_n(&kiln__a.tickets[kiln__slot], 0, __ATOMIC_RELEASE);
