//% insert sorting/plan.cu
//% plain THREADS all bins bins_call c counts e edges even evenly fabs first isfinite k
//% plain kiln_sort_edges last most n off offs scale step these host_parts width wrong wrongs
// Whether edges of bins increase, and how evenly they are spaced; and no element is counted yet.
//
// Grid: some blocks, which look at edges in turn. Each has a part of the result, which the host sees as well.
constexpr int THREADS = 1024;

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_edges(const __grid_constant__ bins_call c)
{
    __shared__ double offs[THREADS];
    __shared__ long long wrongs[THREADS];
    __shared__ int evenly[THREADS];
    const double first = c.edges[0], last = c.edges[c.bins], width = last - first;
    const double scale = width > 0 && isfinite(width) ? (double)c.bins / width : 0;
    const double step = scale > 0 ? 1 / scale : 0; // exact where the scale is a power of two
    double most = scale > 0 ? 0 : 1;
    long long wrong = 0;
    bool even = true;

    for (long long k = blockIdx.x * (long long)THREADS + threadIdx.x; k <= c.bins; k += gridDim.x * (long long)THREADS) {
        const double e = c.edges[k], off = fabs((e - first) * scale - (double)k);
        most = off <= most ? most : off;
        even = even && e == first + (double)k * step;
        if (k == c.bins)
            break;
        c.counts[k] = 0;
        if (wrong == 0 && !(e <= c.edges[k + 1]))
            wrong = k + 1;
    }
    offs[threadIdx.x] = most;
    wrongs[threadIdx.x] = wrong;
    evenly[threadIdx.x] = even;
    __syncthreads();
    for (int n = THREADS / 2; n > 0; n /= 2) {
        if ((int)threadIdx.x < n) {
            const double these = offs[threadIdx.x + n];
            offs[threadIdx.x] = these <= offs[threadIdx.x] ? offs[threadIdx.x] : these;
            const long long all = wrongs[threadIdx.x + n];
            if (all != 0 && (wrongs[threadIdx.x] == 0 || all < wrongs[threadIdx.x]))
                wrongs[threadIdx.x] = all;
            evenly[threadIdx.x] &= evenly[threadIdx.x + n];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        c.host_parts[blockIdx.x] = c.parts[blockIdx.x] = {wrongs[0], offs[0], evenly[0]};
}
