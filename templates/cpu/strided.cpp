//# strided.cpp - the walk over several axes: layouts "inner" and "general".
//#
//# unit: up to ${unit} elements of one row (the last axis); rows are walked by an odometer, so that
//#       only the first unit of a range pays for divisions
//% if streams
//% insert cpu/stream.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__begin, long long kiln__end)
{
    const kiln__args kiln__a = *kiln__in;
//% insert environment.cpp
    long long kiln__rest = kiln__begin;
//% for a in axes_inward
    long long kiln__at_${a.n} = kiln__rest % kiln__a.walk_${a.n};
    kiln__rest /= kiln__a.walk_${a.n};
//% end
    for (long long kiln__unit = kiln__begin; kiln__unit < kiln__end; kiln__unit++) {
        const long long kiln__column = kiln__at_${last} * ${unit};
        const long long kiln__left = kiln__a.extent_${last} - kiln__column;
        const long long kiln__count = kiln__left < ${unit} ? kiln__left : ${unit};
//% for p in walking
        ${p.const}char *const kiln__row_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
            + kiln__column * kiln__a.stride_${p.name}_${last}
//% for a in axes_outer
            + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% insert cpu/step.cpp
//% end
//% if index_strides
        const long long kiln__row_i = kiln__column * kiln__a.stride_i_${last}
//% for a in axes_outer
            + kiln__at_${a.n} * kiln__a.stride_i_${a.n}
//% end
            ;
//% end
//% if index_natural
        long long kiln__row_number = 0;
//% for a in axes_outer
        kiln__row_number = kiln__row_number * kiln__a.walk_${a.n} + kiln__at_${a.n};
//% end
        const long long kiln__row_i = kiln__row_number * kiln__a.extent_${last} + kiln__column;
//% end
//% insert cpu/row.cpp
//% for a in axes_inward
        if (++kiln__at_${a.n} < kiln__a.walk_${a.n})
            continue;
        kiln__at_${a.n} = 0;
//% end
    }
//% if streams
    KILN__STREAMED();
//% end
//% if after_loop
${after_loop}
//% end
}
