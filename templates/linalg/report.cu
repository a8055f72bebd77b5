//% plain WARPS __threadfence_system atomicCAS blockDim call count first firsts flip info k
//% plain kiln_linalg_report lane other report report_call words
// What the matrices of a stack came to: one that failed, the first of its block's, is told to whoever waits for the device
// next, in the words that src/device/report.c reads. Grid: any number of blocks, which share the matrices.
struct report_call {
    const int *info;
    long long count;
    long long *report;
    long long words[20];
};
constexpr int WARPS = 32;

extern "C" __global__ void __launch_bounds__(1024) kiln_linalg_report(const report_call call)
{
    __shared__ long long firsts[WARPS];
    const int lane = threadIdx.x % 32;
    long long first = call.count;

    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < first;
         k += (long long)gridDim.x * blockDim.x)
        if (call.info[k] != 0)
            first = k;
    for (int flip = 16; flip > 0; flip /= 2) {
        const long long other = __shfl_xor_sync(0xffffffffu, first, flip);
        first = other < first ? other : first;
    }
    if (lane == 0)
        firsts[threadIdx.x / 32] = first;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int k = 0; k < WARPS; k++)
        first = firsts[k] < first ? firsts[k] : first;
    // Whoever claims the report first writes it, and then says that it is whole.
    if (first == call.count || atomicCAS((unsigned long long *)call.report, 0ull, 1ull) != 0ull)
        return;
    call.report[1] = call.info[first] < 0 ? -call.info[first] : call.info[first];
    call.report[2] = 0;
    call.report[3] = call.count;
    call.report[4] = -1; // no axis of an array: a matrix
    call.report[5] = first;
    for (int k = 0; k < 20; k++)
        call.report[6 + k] = call.words[k];
    __threadfence_system();
    *(volatile long long *)call.report = 2;
}
