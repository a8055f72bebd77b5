//# linear.cpp - every operand lies contiguous, or one element of it serves all.
//#
//# unit: ${unit} neighbouring elements; the caller gives each thread a range of units
//# The loop keeps the form that compilers vectorise: load into locals, call, store.
//% if streams
//% insert cpu/stream.cpp
//% end
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__begin, long long kiln__end)
{
    const kiln__args kiln__a = *kiln__in;
//% insert environment.cpp
    const long long kiln__first = kiln__begin * ${unit};
    const long long kiln__last = kiln__end * ${unit} < kiln__a.size ? kiln__end * ${unit} : kiln__a.size;
//% for p in walking
    ${p.const}${p.type} *const kiln__ptr_${p.name} = kiln__a.ptr_${p.name};
//% end
    long long kiln__at = kiln__first;
//% if streams
    if (kiln__a.size >= ${stream_size}
//% for p in stored
        && KILN__STREAMS(kiln__ptr_${p.name} + kiln__first)
//% end
    ) {
        for (; kiln__at + ${burst} <= kiln__last; kiln__at += ${burst}) {
//% for p in stored
            alignas(32) ${p.type} kiln__out_${p.name}[${burst}];
//% end
            KILN_INDEPENDENT
            for (int kiln__j = 0; kiln__j < ${burst}; kiln__j++) {
//% for p in registers
                ${p.type} kiln__reg_${p.name};
//% end
//% for p in loaded
                kiln__reg_${p.name} = kiln__ptr_${p.name}[kiln__at + kiln__j];
//% end
                kiln__op(kiln__at + kiln__j
//% for p in walking
                    , kiln__reg_${p.name}
//% end
                );
//% for p in stored
                kiln__out_${p.name}[kiln__j] = kiln__reg_${p.name};
//% end
            }
//% for p in stored
            kiln__stream(kiln__ptr_${p.name} + kiln__at, kiln__out_${p.name});
//% end
        }
        KILN__STREAMED();
    }
//% end
//% if independent
    KILN_INDEPENDENT
//% end
    for (long long kiln__k = kiln__at; kiln__k < kiln__last; kiln__k++) {
//% for p in registers
        ${p.type} kiln__reg_${p.name};
//% end
//% for p in loaded
        kiln__reg_${p.name} = kiln__ptr_${p.name}[kiln__k];
//% end
        kiln__op(kiln__k
//% for p in walking
//% if p.direct
            , kiln__ptr_${p.name}[kiln__k]
//% else
            , kiln__reg_${p.name}
//% end
//% end
        );
//% for p in stored
        kiln__ptr_${p.name}[kiln__k] = kiln__reg_${p.name};
//% end
    }
//% if after_loop
${after_loop}
//% end
}
