//# linear.cpp - every operand is contiguous, or has a single element that serves all.
//#
//# unit: ${unit} neighbouring elements; the caller gives each thread a range of units, which is one
//#       long row
//% own a args attempt begin count doubt end first left most row_ row_i step_
//% plain KILN_ATTEMPT kiln__in undef
//% if streams
//% insert cpu/row.cpp:stream

//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const args *kiln__in, long long begin, long long end)
{
    const args a = *kiln__in;
//% if attempts
#undef KILN_ATTEMPT
#define KILN_ATTEMPT attempt, doubt,
    int attempt = 0;
//% if keeps_doubts
    unsigned long long doubt = 0;
//% else
    unsigned int doubt = 0;
//% end
//% end
//% insert kernel.cpp:environment
    {
        const long long first = begin * ${unit};
        const long long left = a.size - first;
        const long long most = (end - begin) * ${unit};
        const long long count = left < most ? left : most;
//% for p in walking
        ${p.const}char *const row_${p.name} = (${p.const}char *)(a.ptr_${p.name} + first);
        [[maybe_unused]] constexpr long long step_${p.name} = sizeof(${p.type});
//% end
//% if index_natural
        const long long row_i = first;
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
