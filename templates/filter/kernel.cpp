//# Filters: the elements for which an expression is true, one after the other. docs/select.md.
//% own base_ index keep none_
//% plain kiln__a i n
// ${title}
typedef ${index} index; // wide enough for every count and offset of this kernel
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end

//% insert arguments.cpp

//% if cuda
//% insert filter/rows.cu
//% else
//% insert filter/rows.cpp
//% end

//% part environment
//# What the texts of a filter see by name: `keep` tells whether an element stays, and `op` computes
//# the outputs' elements of one that does, `other` (templates write `s.op`) those of one that does
//# not.
//% if size
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
//% end
//% for p in scalars
    const ${p.type} ${p.name} = kiln__a.val_${p.name};
//% end
//% for p in raws
    auto &${p.name} = kiln__a.raw_${p.name};
//% end
//% for p in ones
    const ${p.type} none_${p.name} = {}; // an empty array may have no memory
    const ${p.type} ${p.name} = kiln__a.count > 0 ? *kiln__a.ptr_${p.name} : none_${p.name};
//% end
//% if indexer
    auto _ind = kiln__a.in_indexer.walker();
//% end
    auto keep = [&]([[maybe_unused]] const ptrdiff_t i
//% for p in inputs
        , [[maybe_unused]] const ${p.type} &${p.name}
//% end
    ) -> bool {
        return (bool)(
${where}
        );
    };
//% for s in sides
    auto ${s.op} = [&]([[maybe_unused]] const ptrdiff_t i
//% for p in inputs
        , [[maybe_unused]] const ${p.type} &${p.name}
//% end
//% for p in outputs
        , ${p.type} &${p.name}
//% end
    ) {
//% if indexer
        _ind.set(i);
//% end
        do {
//% if s.rest
${otherwise}
//% else
${op}
//% end
        } while (0);
    };
//% end
//% for p in walking
    ${p.const}char *const base_${p.name} = (${p.const}char *)kiln__a.ptr_${p.name};
//% end
