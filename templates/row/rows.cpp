//# rows.cpp - the cpu: a row a work unit; what a stage has read is in the cache for the next one.
//#
//# Where neighbours in memory are of other rows, tiles of rows are first copied together.
//# The inner loops run along the row's fastest axis with `lanes` accumulators side by side, as in
//# reduce/rows.cpp. Values of rows that are short enough are kept in a buffer.
//% insert reduce/pairwise.cpp
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__first_unit, long long kiln__last_unit)
{
    const kiln__args kiln__a = *kiln__in;
    constexpr int kiln__L = ${lanes};
    [[maybe_unused]] constexpr int kiln__T = 64;
//% insert row/environment.cpp
//% if held
//% for v in values
    alignas(64) ${v.type} kiln__val_${v.name}[${row_bytes} / (${value_bytes})];
//% end
//% end
//% if turned
//% insert row/turned.cpp
//% else
    for (long long kiln__unit = kiln__first_unit; kiln__unit < kiln__last_unit; kiln__unit++) {
        long long kiln__rest = kiln__unit;
//% for a in keep_inward
        [[maybe_unused]] const long long kiln__at_${a.n} = kiln__rest % kiln__a.shape_${a.n};
        kiln__rest /= kiln__a.shape_${a.n};
//% end
        [[maybe_unused]] const long long kiln__at_0 = kiln__rest;
//% for p in walking
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
//% end
}
