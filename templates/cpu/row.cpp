//# The elements [0, kiln__count) of one row: operand p is at kiln__row_p + k * kiln__step_p.
//#
//# Where outputs may pass the caches, a row is: single elements up to an aligned address, bursts of
//# ${burst} that are computed into registers and stored at once, single elements again. The loop of
//# single elements stands here once, for every instance of the snippet costs compile time.
//% if streams
        long long kiln__head = -1, kiln__at = 0;
//% for p in stored
        if (kiln__head < 0)
            kiln__head = KILN__STREAM_HEAD(kiln__row_${p.name}, sizeof(${p.type}));
//% end
        if (kiln__a.size < ${stream_size} || kiln__head + ${burst} > kiln__count
//% for p in stored
            || KILN__STREAM_HEAD(kiln__row_${p.name} + kiln__head * sizeof(${p.type}), sizeof(${p.type})) != 0
//% end
        )
            kiln__head = kiln__count;
        for (long long kiln__stop = kiln__head;; kiln__stop = kiln__count) {
//% if independent
            KILN_INDEPENDENT
//% end
            for (long long kiln__k = kiln__at; kiln__k < kiln__stop; kiln__k++) {
//% insert cpu/element.cpp
//% for p in stored
                *(${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name}) = kiln__reg_${p.name};
//% end
            }
            if (kiln__stop == kiln__count)
                break;
            for (kiln__at = kiln__stop; kiln__at + ${burst} <= kiln__count; kiln__at += ${burst}) {
//% for p in stored
                alignas(32) ${p.type} kiln__out_${p.name}[${burst}];
//% end
                KILN_INDEPENDENT
                for (int kiln__j = 0; kiln__j < ${burst}; kiln__j++) {
                    const long long kiln__k = kiln__at + kiln__j;
//% insert cpu/element.cpp
//% for p in stored
                    kiln__out_${p.name}[kiln__j] = kiln__reg_${p.name};
//% end
                }
//% for p in stored
                kiln__stream((${p.type} *)kiln__row_${p.name} + kiln__at, kiln__out_${p.name});
//% end
            }
        }
//% else
//% if independent
        KILN_INDEPENDENT
//% end
        for (long long kiln__k = 0; kiln__k < kiln__count; kiln__k++) {
//% insert cpu/element.cpp
//% for p in stored
            *(${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name}) = kiln__reg_${p.name};
//% end
        }
//% end
