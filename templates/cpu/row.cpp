//# The elements [0, count) of one row: operand p is at row_p + k * step_p.
//#
//# Where outputs may pass the caches, a row is: single elements up to an aligned address, bursts of
//# ${burst} that are computed into registers and stored at once, single elements again. The loop of
//# single elements stands here once, for every instance of the snippet costs compile time.
//% own a at count head j k out_ reg_ row_ step_ stop stream
//% if streams
        long long head = -1, at = 0;
//% for p in stored
        if (head < 0)
            head = KILN__STREAM_HEAD(row_${p.name}, sizeof(${p.type}));
//% end
        if (a.size < ${stream_size} || head + ${burst} > count
//% for p in stored
            || KILN__STREAM_HEAD(row_${p.name} + head * sizeof(${p.type}), sizeof(${p.type})) != 0
//% end
        )
            head = count;
        for (long long stop = head;; stop = count) {
//% if independent
            KILN_INDEPENDENT
//% end
            for (long long k = at; k < stop; k++) {
//% insert cpu/element.cpp
//% for p in stored
                *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
            }
            if (stop == count)
                break;
            for (at = stop; at + ${burst} <= count; at += ${burst}) {
//% for p in stored
                alignas(32) ${p.type} out_${p.name}[${burst}];
//% end
                KILN_INDEPENDENT
                for (int j = 0; j < ${burst}; j++) {
                    const long long k = at + j;
//% insert cpu/element.cpp
//% for p in stored
                    out_${p.name}[j] = reg_${p.name};
//% end
                }
//% for p in stored
                stream((${p.type} *)row_${p.name} + at, out_${p.name});
//% end
            }
        }
//% else
//% if independent
        KILN_INDEPENDENT
//% end
        for (long long k = 0; k < count; k++) {
//% insert cpu/element.cpp
//% for p in stored
            *(${p.type} *)(row_${p.name} + k * step_${p.name}) = reg_${p.name};
//% end
        }
//% end
