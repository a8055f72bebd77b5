//# strided.cpp - the walk over several axes: layouts "inner" and "general".
//#
//# unit: up to ${unit} elements of one row (the last axis); the coordinates of the next row are
//#       counted up from those of the last, so that only the first unit of a range needs divisions
//% own a args at_ begin column count end left rest row_ row_i row_number unit
//% plain kiln__in
//% if streams
//% insert cpu/row.cpp:stream

//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long begin, long long end)
{
    const args a = *kiln__in;
//% insert kernel.cpp:environment
    long long rest = begin;
//% for a in axes_inward
    long long at_${a.n} = rest % a.walk_${a.n};
    rest /= a.walk_${a.n};
//% end
    for (long long unit = begin; unit < end; unit++) {
        const long long column = at_${last} * ${unit};
        const long long left = a.extent_${last} - column;
        const long long count = left < ${unit} ? left : ${unit};
//% for p in walking
        ${p.const}char *const row_${p.name} = (${p.const}char *)a.ptr_${p.name}
            + column * a.stride_${p.name}_${last}
//% for a in axes_outer
            + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
            ;
//% insert cpu/row.cpp:step
//% end
//% if index_strides
        const long long row_i = column * a.stride_i_${last}
//% for a in axes_outer
            + at_${a.n} * a.stride_i_${a.n}
//% end
            ;
//% end
//% if index_natural
        long long row_number = 0;
//% for a in axes_outer
        row_number = row_number * a.walk_${a.n} + at_${a.n};
//% end
        const long long row_i = row_number * a.extent_${last} + column;
//% end
//% insert cpu/row.cpp
//% for a in axes_inward
        if (++at_${a.n} < a.walk_${a.n})
            continue;
        at_${a.n} = 0;
//% end
    }
//% if streams
    KILN__STREAMED();
//% end
//% if after_loop
${after_loop}
//% end
}
