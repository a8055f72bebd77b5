//# linear.cpp - every operand lies contiguous, or one element of it serves all.
//#
//# unit: ${unit} neighbouring elements; the caller gives each thread a range of units, which is one
//#       long row
//% if streams
//% insert cpu/stream.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__begin, long long kiln__end)
{
    const kiln__args kiln__a = *kiln__in;
//% insert environment.cpp
    {
        const long long kiln__first = kiln__begin * ${unit};
        const long long kiln__left = kiln__a.size - kiln__first;
        const long long kiln__most = (kiln__end - kiln__begin) * ${unit};
        const long long kiln__count = kiln__left < kiln__most ? kiln__left : kiln__most;
//% for p in walking
        ${p.const}char *const kiln__row_${p.name} = (${p.const}char *)(kiln__a.ptr_${p.name} + kiln__first);
        [[maybe_unused]] constexpr long long kiln__step_${p.name} = sizeof(${p.type});
//% end
//% if index_natural
        const long long kiln__row_i = kiln__first;
//% end
//% insert cpu/row.cpp
    }
//% if streams
    KILN__STREAMED();
//% end
//% if after_loop
${after_loop}
//% end
}
