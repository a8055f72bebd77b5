//# transpose.cpp - operands disagree on the fastest axis: tiles of ${tile} x ${tile} elements keep
//# the lines of every operand in the first-level cache until they are used up.
//#
//# unit: one tile of axes A = rank - 1 and B = rank - 2 at one index of the outer axes
extern "C" __attribute__((visibility("default"))) void ${entry}(const kiln__args *kiln__in, long long kiln__begin, long long kiln__end)
{
    const kiln__args kiln__a = *kiln__in;
//% insert environment.cpp
    for (long long kiln__unit = kiln__begin; kiln__unit < kiln__end; kiln__unit++) {
        long long kiln__rest = kiln__unit;
//% for a in axes_inward
        long long kiln__at_${a.n} = kiln__rest % kiln__a.walk_${a.n};
        kiln__rest /= kiln__a.walk_${a.n};
//% end
//% for a in tile_axes
        kiln__at_${a.n} *= ${tile};
        const long long kiln__left_${a.n} = kiln__a.extent_${a.n} - kiln__at_${a.n};
        const long long kiln__count_${a.n} = kiln__left_${a.n} < ${tile} ? kiln__left_${a.n} : ${tile};
//% end
//% for p in walking
        ${p.const}char *const kiln__tile_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name}
//% for a in axes
            + kiln__at_${a.n} * kiln__a.stride_${p.name}_${a.n}
//% end
            ;
//% insert cpu/step.cpp
//% end
//% if index_strides
        const long long kiln__tile_i = 0
//% for a in axes
            + kiln__at_${a.n} * kiln__a.stride_i_${a.n}
//% end
            ;
//% end
        for (long long kiln__b = 0; kiln__b < kiln__count_${tile_b}; kiln__b++) {
//% for p in walking
            ${p.const}char *const kiln__row_${p.name} = kiln__tile_${p.name} + kiln__b * kiln__a.stride_${p.name}_${tile_b};
//% end
//% if independent
            KILN_INDEPENDENT
//% end
            for (long long kiln__k = 0; kiln__k < kiln__count_${tile_a}; kiln__k++) {
//% for p in registers
                ${p.type} kiln__reg_${p.name};
//% end
//% for p in loaded
                kiln__reg_${p.name} = *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name});
//% end
                kiln__op(
//% if index_strides
                    kiln__tile_i + kiln__b * kiln__a.stride_i_${tile_b} + kiln__k * kiln__a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name})
//% else
                    , kiln__reg_${p.name}
//% end
//% end
                );
//% for p in stored
                *(${p.const}${p.type} *)(kiln__row_${p.name} + kiln__k * kiln__step_${p.name}) = kiln__reg_${p.name};
//% end
            }
        }
    }
//% if after_loop
${after_loop}
//% end
}
