//% insert linalg/small.cu
//% plain COUNT KILN__SMALL_BEGIN KILN__UNROLL M N SHORT T TASK a a_step back below beta call fabs
//% plain from i k kiln_small lane lane_of length lives mine most most_of_lanes nth own q scale
//% plain scale_of small_call sqrt step sum tau tell v y z
// QR by Householder's reflections: lane j has column j of the matrix, then column j of Q. y is Q, of M x COUNT; z
// is R, of COUNT x N. TASK 0: COUNT is the shorter side. 1: it is M.
constexpr int COUNT = TASK == 0 ? SHORT : M;

extern "C" __global__ void __launch_bounds__(128) kiln_small(const small_call call)
{
    KILN__SMALL_BEGIN(call)
    const int own = lane < N ? lane : N - 1;
    const T *from = call.a + nth * call.a_step;
    T a[M], q[M], tau[SHORT], most = T(0);

    KILN__UNROLL for (int i = 0; i < M; i++) {
        a[i] = from[i * N + own];
        most = fabs(a[i]) > most || a[i] != a[i] ? fabs(a[i]) : most;
    }
    const T scale = scale_of(most_of_lanes(most)), back = T(1) / scale;
    KILN__UNROLL for (int i = 0; i < M; i++) a[i] *= scale;
    KILN__UNROLL for (int k = 0; k < SHORT; k++) {
        T below = T(0), sum = a[k], v[M];
        KILN__UNROLL for (int i = k + 1; i < M; i++) below += a[i] * a[i];
        const T length = sqrt(a[k] * a[k] + below);
        const T beta = below == T(0) ? a[k] : a[k] < T(0) ? length : -length;
        const T mine = below == T(0) ? T(0) : T(1) / (a[k] - beta);
        tau[k] = lane_of(below == T(0) ? T(0) : (beta - a[k]) / beta, k);
        KILN__UNROLL for (int i = k + 1; i < M; i++) v[i] = lane_of(a[i] * mine, k);
        KILN__UNROLL for (int i = k + 1; i < M; i++) sum += v[i] * a[i];
        sum *= tau[k];
        if (lane > k) {
            a[k] -= sum;
            KILN__UNROLL for (int i = k + 1; i < M; i++) a[i] -= sum * v[i];
        } else if (lane == k) {
            a[k] = beta;
            KILN__UNROLL for (int i = k + 1; i < M; i++) a[i] = v[i];
        }
    }
    KILN__UNROLL for (int i = 0; i < M; i++) q[i] = i == lane ? T(1) : T(0);
    KILN__UNROLL for (int step = 0; step < SHORT; step++) {
        const int k = SHORT - 1 - step;
        T v[M], sum = q[k];
        KILN__UNROLL for (int i = k + 1; i < M; i++) v[i] = lane_of(a[i], k);
        KILN__UNROLL for (int i = k + 1; i < M; i++) sum += v[i] * q[i];
        sum *= tau[k];
        q[k] -= sum;
        KILN__UNROLL for (int i = k + 1; i < M; i++) q[i] -= sum * v[i];
    }
    if (!lives)
        return;
    if (lane < COUNT)
        KILN__UNROLL for (int i = 0; i < M; i++) call.y[(nth * M + i) * COUNT + lane] = q[i];
    if (lane < N)
        KILN__UNROLL for (int i = 0; i < COUNT; i++)
            call.z[(nth * COUNT + i) * N + lane] = i <= lane ? a[i] * back : T(0);
    if (lane == 0)
        tell(call, nth, 0);
}
