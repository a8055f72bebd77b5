//# The struct that a kernel takes: the values that differ from call to call. The launcher fills it slot
//# by slot (args.c), and each slot declares its member, so that the two cannot disagree. All members
//# begin at multiples of 8 bytes, scalars of 16 bytes at multiples of 16. Below is a part for each kind
//# of slot.
//% own args divisor part raw
//% plain size val_ raw_ extent_ shape_ walk_ by_splits parts tickets begin_ step_ in_indexer
//% plain out_indexer ptr_ report stride_ stride_i_ kiln__indexer indexer
struct args {
//% for m in slots
//% insert :${m.kind}
//% end
};

//% part size
    long long size;

//% part scalar
    alignas(${m.bytes}) ${p.type} val_${p.name};

//% part pointer
    ${p.const}${p.type} *ptr_${p.name};

//% part raw
    raw<${p.const}${p.type}, ${p.raw_rank}, ${p.raw_contiguous}> raw_${p.name};

//% part indexer
//% if combines
    kiln__indexer<${m.rank}> in_indexer;
//% else
    kiln__indexer<${m.rank}> indexer;
//% end

//% part out_indexer
    kiln__indexer<${m.rank}> out_indexer;

//% part numbers
    long long ${m.names};

//% part parts
//% if maps
    part *parts;
//% else
    char *parts;
//% end

//% part tickets
    int *tickets;

//% part report
    const long long *report;

//% part extent
//% if combines
    long long shape_${a.n};
//% else
    long long extent_${a.n};
//% end

//% part splits
    divisor${index_bits} by_splits;

//% part divisor
    divisor${index_bits} walk_${a.n};

//% part walk
    long long walk_${a.n};

//% part stride
    long long stride_${p.name}_${a.n};

//% part begin
    long long begin_${p.name};

//% part index_stride
    long long stride_i_${a.n};

//% part number_stride
    long long step_${x.name}_${a.n};
