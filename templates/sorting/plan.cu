//% plain uint4 partial
//% plain KILN__T T bins bins_call copies counts edges edges_part even off part_count parts per
//% plain size host_parts wrong x
// A call of sorting/bins.cu, and what sorting/edges.cu finds of its edges.
typedef KILN__T T;

// Of some edges.
struct edges_part {
    long long wrong; // 1 more than the first that the next one is not at least as large as; 0: there is none
    double off;      // how far they are from evenly spaced ones, in bins
    long long even;  // 1: not at all
};

struct bins_call {
    const T *x;
    const double *edges;
    edges_part *parts, *host_parts; // the same for the device and, where the host is to know, for it
    long long *counts;
    long long size, bins;
    int part_count;
    int copies; // of a block's counters, a power of two
    int per;    // bins of a block
    uint4 *partial; // where blocks store their counters, one behind the other; null: they add them to the counts
};
