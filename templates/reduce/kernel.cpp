//% own acc at_ at_0 empty finish first fold index initial item k merge number_ number_I
//% own number_J number_O of_ out_ p part post reduce reg_ rest take v where x y
//% plain set value
//% insert :preface
//% if identity
typedef _type_reduce part;
//% else
struct part {
    _type_reduce value;
    bool set;
};
//% end
static_assert(sizeof(part) <= ${part_bytes_max}, "an accumulator may have ${part_bytes_max} bytes");

//% insert arguments.cpp

//% if cuda
//% insert reduce/${layout}.cu
//% else
//% insert reduce/${layout}.cpp
//% end

//% part preface
//# The beginning of a reduction or scan: the prelude, the placeholders and the accumulator's type.
// ${title}
typedef ${index} index; // wide enough for every count and offset of this kernel
${prelude}
//% for p in placeholders
typedef ${p.ctype} ${p.placeholder};
//% end
//% if preamble
${preamble}
//% end
typedef
${reduce_type}
_type_reduce;

//% part environment
//# What the expressions of a reduction see by name. Numbers of an element and of its result (see
//# kiln__numbering) are passed as arguments where a snippet uses them. Threads exchange values of
//# type `part`: the accumulator itself or, without an identity, the accumulator and whether it
//# holds a value yet.
//% plain a b kiln__a n
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
//% if p.direct
    ${p.const}${p.type} &${p.name} = *kiln__a.ptr_${p.name};
//% else
    const ${p.type} ${p.name} = *kiln__a.ptr_${p.name};
//% end
//% end
//% if in_indexer
    [[maybe_unused]] const auto _in_ind = kiln__a.in_indexer.walker();
//% end
//% if out_indexer
    [[maybe_unused]] const auto _out_ind = kiln__a.out_indexer.walker();
//% end
//% for p in noted
    ${p.notes}
//% end
//% if loop_prep
${loop_prep}
//% end
    auto reduce = [&](const _type_reduce &a, const _type_reduce &b) -> _type_reduce {
        return (_type_reduce)(
${reduce}
        );
    };
    auto post = [&](const _type_reduce &a
//% if out_number
        , [[maybe_unused]] const ptrdiff_t _i
//% end
//% for p in post_inputs
        , const ${p.type} &${p.name}
//% end
//% for p in outputs
        , ${p.type} &${p.name}
//% end
    ) {
//% if out_index
        auto _out_ind = kiln__a.out_indexer.walker();
        _out_ind.set(_i);
//% end
        do {
${post}
        } while (0);
    };
//% insert :accumulator
//% insert :element
    // Result number kiln__k (C-order of the walk's kept axes) from its reduced value.
    auto finish = [&](const ${index} k, const part &p) {
        ${index} rest = k;
//% for a in keep_inward
        const ${index} at_${a.n} = rest % (${index})kiln__a.shape_${a.n};
        rest /= (${index})kiln__a.shape_${a.n};
//% end
        const ${index} at_0 = rest;
//% insert :result
//% for p in outputs
//% if !p.direct
        out_${p.name} = reg_${p.name};
//% end
//% end
    };

//% part accumulator
//# What holds no value yet, two accumulators combined, a value added, and the accumulator's value.
//% own value
//% if identity
    auto empty = [&]() -> part {
        return (_type_reduce)(
${identity}
        );
    };
//% if batch_collective
    [[maybe_unused]]
//% end
    auto merge = [&](const part &x, const part &y) -> part {
        return reduce(x, y);
    };
//% if !batched
    auto fold = [&](part &acc, const _type_reduce &v) {
        acc = reduce(acc, v);
    };
//% end
    auto value = [&](const part &p) -> const _type_reduce & { return p; };
//% else
    auto empty = [&]() -> part {
        part p;
        p.set = false;
        return p;
    };
    auto merge = [&](const part &x, const part &y) -> part {
        if (!y.set)
            return x;
        if (!x.set)
            return y;
        part p;
        p.value = reduce(x.value, y.value);
        p.set = true;
        return p;
    };
//% if !batched
    auto fold = [&](part &acc, const _type_reduce &v) {
        acc.value = acc.set ? reduce(acc.value, v) : v;
        acc.set = true;
    };
//% end
    auto value = [&](const part &p) -> const _type_reduce & { return p.value; };
//% end

//% part element
//# One element into an accumulator; where batches are added, what an element adds to one.
//% plain kiln__a
//% if batched
    // Element kiln__k of a batch.
    [[maybe_unused]] auto item = [&]([[maybe_unused]] const int k
//% for p in inputs
        , const ${p.type} &${p.name}
//% end
    ) -> ${batch_type} {
//% if masked
        if (!where)
            return empty();
//% end
//% if position
        [[maybe_unused]] constexpr index _J = 0; // of the batch's best only
//% end
        return (${batch_type})(
${map}
        )${batch_member};
    };
//% else
    // One element into an accumulator.
    auto take = [&](part &acc
//% for x in numbers
        , [[maybe_unused]] const ptrdiff_t number_${x.name}
//% end
//% for p in inputs
        , ${p.const}${p.type} &${p.name}
//% end
    ) {
//% if masked
        if (!where)
            return;
//% end
//% if position
        [[maybe_unused]] const ptrdiff_t _J = number_J;
//% end
//% if out_number
        [[maybe_unused]] const ptrdiff_t _i = number_O;
//% end
//% if in_number
        [[maybe_unused]] const ptrdiff_t _j = _J * (ptrdiff_t)kiln__a.outputs + _i;
//% end
//% if in_index
        auto _in_ind = kiln__a.in_indexer.walker();
        _in_ind.set(number_I);
//% end
//% if out_index
        auto _out_ind = kiln__a.out_indexer.walker();
        _out_ind.set(_i);
//% end
        fold(acc, (_type_reduce)(
//% insert :mapped
        ));
    };
//% end

//% part mapped
//# The value of an element. The name of an input that is taken by index is that of its element there.
//% if takes
        [&] {
//% for p in taken
            const ${p.type} of_${p.name} = ${p.taken};
//% end
            {
//% for p in taken
                const ${p.type} ${p.name} = of_${p.name};
//% end
                return (
${map}
                );
            }
        }()
//% else
${map}
//% end

//% part result
//# One result from its reduced value `p`, in reg_*, or in the outputs themselves where a snippet takes
//# their addresses; at_* is its place.
//% own value
//% plain kiln__a
//% for p in outputs
        ${p.type} &out_${p.name} = *(${p.type} *)((char *)kiln__a.ptr_${p.name}
//% for a in keep_axes
            + at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
            );
//% if !p.direct
        ${p.type} reg_${p.name};
//% if p.read_first
        reg_${p.name} = out_${p.name};
//% end
//% end
//% end
//% if initial
        part first;
//% if identity
        first = (_type_reduce)(initial);
//% else
        first.value = (_type_reduce)(initial);
        first.set = true;
//% end
        post(value(merge(first, p))
//% else
        post(value(p)
//% end
//% if out_number
            , 0
//% for a in keep_axes
            + at_${a.n} * kiln__a.step_O_${a.n}
//% end
//% end
//% for p in post_inputs
            , *(const ${p.type} *)((const char *)kiln__a.ptr_${p.name}
//% for a in keep_axes
                + at_${a.n} * (${index})kiln__a.stride_${p.name}_${a.n}
//% end
                )
//% end
//% for p in outputs
//% if p.direct
            , out_${p.name}
//% else
            , reg_${p.name}
//% end
//% end
        );
