//# rows.cpp - the cpu: a row a work unit; what a stage has read is in the cache for the next one.
//#
//# Where neighbours in memory are of other rows, tiles of rows are first copied together.
//# The inner loops run along the row's fastest axis with `lanes` accumulators side by side, as in
//# reduce/rows.cpp. Values of rows that are short enough are kept in a buffer.
//% own L T a args at_ at_0 base_ first_unit last_unit rest unit val_
//% plain kiln__in
//% insert reduce/pairwise.cpp
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long first_unit, long long last_unit)
{
    const args a = *kiln__in;
    constexpr int L = ${lanes};
    [[maybe_unused]] constexpr int T = 64;
//% insert row/environment.cpp
//% if held
//% for v in values
    alignas(64) ${v.type} val_${v.name}[${row_bytes} / (${value_bytes})];
//% end
//% end
//% if turned
//% insert row/turned.cpp
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
//% insert row/row.cpp
    }
//% end
}
