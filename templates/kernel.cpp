//% own a of_ op
//% plain GCC __GNUC__ optimize
// ${title}
//% if attempts
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("schedule-insns")
#endif
//% end
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end

//% insert arguments.cpp

//% if cuda
//% insert cuda/${layout}.cu
//% else
//% insert cpu/${layout}.cpp
//% end

//% part environment
//# What a snippet sees by name, then the snippet itself as `op`. `continue` ends the element
//# because the snippet stands in a loop of one round, `return` because it stands in a lambda. Where
//# the snippet changes variables of loop_prep, it changes copies, which last as long as the
//# element.
//% plain i n
//% if size
    const ptrdiff_t n = (ptrdiff_t)a.size;
//% end
//% for p in scalars
    const ${p.type} ${p.name} = a.val_${p.name};
//% end
//% for p in raws
    auto &${p.name} = a.raw_${p.name};
//% end
//% for p in ones
//% if p.direct
    const ${p.type} &${p.name} = *a.ptr_${p.name};
//% else
    const ${p.type} ${p.name} = *a.ptr_${p.name};
//% end
//% end
//% if indexer
    auto _ind = a.indexer.walker();
//% end
//% for p in noted
    ${p.notes}
//% end
//% if loop_prep
${loop_prep}
//% end
    auto op = [&](
//% if index
        const ptrdiff_t i
//% else
        const ptrdiff_t
//% end
//% for p in walking
        , ${p.const}${p.type} &${p.name}
//% end
//% if inlined
    ) __attribute__((always_inline)) {
//% else
    ) {
//% end
//% if indexer
        _ind.set(i);
//% end
//% if copied
        [&${copied}]() mutable {
//% end
//% for p in taken
        const ${p.type} of_${p.name} = ${p.taken};
//% end
        do {
//% for p in taken
            const ${p.type} ${p.name} = of_${p.name};
//% end
${op}
        } while (0);
//% if copied
        }();
//% end
    };
