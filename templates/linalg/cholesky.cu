//% insert linalg/small.cu
//% plain KILN__SMALL_BEGIN KILN__UNROLL N T UPPER a a_step call from i info inverse k kiln_small
//% plain lane lane_of lives mine minor not_a_number nth own scale small_call sqrt tell to v y
// Cholesky: lane j has row j of the matrix, which is symmetric. UPPER: of the upper triangle, which is the lower
// one of the transpose, and the transpose of the factor is stored.
extern "C" __global__ void __launch_bounds__(128) kiln_small(const small_call call)
{
    KILN__SMALL_BEGIN(call)
    const int own = lane < N ? lane : N - 1;
    const T *from = call.a + nth * call.a_step;
    T a[N], scale = T(0);
    int info = 0;

    KILN__UNROLL for (int i = 0; i < N; i++)
        a[i] = from[(i < own) != UPPER ? own * N + i : i * N + own];
    KILN__UNROLL for (int k = 0; k < N; k++) {
        const T minor = lane_of(a[k], k);
        if (info == 0 && !(minor > T(0)))
            info = k + 1;
        const T inverse = T(1) / sqrt(minor);
        if (lane == k)
            scale = inverse;
        const T mine = lane > k ? a[k] * inverse : T(0); // element [lane, k] of the factor
        KILN__UNROLL for (int i = k + 1; i < N; i++) a[i] -= lane_of(mine, i) * mine;
    }
    if (!lives || lane >= N)
        return;
    T *to = call.y + nth * N * N;
    KILN__UNROLL for (int i = 0; i < N; i++) {
        const T v = i < lane ? T(0) : info != 0 ? not_a_number() : a[i] * scale;
        to[UPPER ? lane * N + i : i * N + lane] = v;
    }
    if (lane == 0)
        tell(call, nth, info);
}
