/*
 * dense_type.h - kiln's own factorisations, for one dtype at a time: dense.c includes this file once for each.
 *
 *     NAME(x)   x with a suffix for the dtype         T    its C type     R    that of its real part
 *     SIZE(v)   what pivots are compared by           CONJ(v), RE(v), ABS(v)
 *     SQRT(r), LOG(r), HYPOT(r, r), RABS(r), EPSILON  of R
 *
 * It undefines all of them at its end, for the next dtype.
 *
 * Inner loops run down columns, whose elements are neighbours. They are not blocked: a LAPACK is faster for
 * matrices that do not fit a cache.
 */

static int64_t NAME(lu)(int64_t m, int64_t n, void *matrix, int32_t *pivots)
{
    T *a = matrix;
    int64_t info = 0;

    for (int64_t k = 0; k < m && k < n; k++) {
        T *column = a + k * m;
        int64_t best = k;
        for (int64_t i = k + 1; i < m; i++)
            if (SIZE(column[i]) > SIZE(column[best]))
                best = i;
        pivots[k] = (int32_t)(best + 1);
        if (column[best] == 0) {
            info = info == 0 ? k + 1 : info;
            continue;
        }
        for (int64_t j = 0; j < n && best != k; j++) {
            const T other = a[j * m + k];
            a[j * m + k] = a[j * m + best];
            a[j * m + best] = other;
        }
        for (int64_t i = k + 1; i < m; i++)
            column[i] /= column[k];
        for (int64_t j = k + 1; j < n; j++) {
            const T factor = a[j * m + k];
            for (int64_t i = k + 1; i < m; i++)
                a[j * m + i] -= factor * column[i];
        }
    }
    return info;
}

/* b = inverse(triangle) b for one column. */
static void NAME(substitute)(bool upper, bool unit, int64_t n, const T *a, T *b)
{
    for (int64_t step = 0; step < n; step++) {
        const int64_t k = upper ? n - 1 - step : step;
        const T *column = a + k * n;
        if (!unit)
            b[k] /= column[k];
        const T factor = b[k];
        for (int64_t i = upper ? 0 : k + 1; i < (upper ? k : n); i++)
            b[i] -= factor * column[i];
    }
}

static void NAME(lu_solve)(int64_t n, int64_t columns, const void *lu, const int32_t *pivots,
                           void *matrix)
{
    for (int64_t j = 0; j < columns; j++) {
        T *b = (T *)matrix + j * n;
        for (int64_t k = 0; k < n; k++) {
            const T other = b[k];
            b[k] = b[pivots[k] - 1];
            b[pivots[k] - 1] = other;
        }
        NAME(substitute)(false, true, n, lu, b);
        NAME(substitute)(true, false, n, lu, b);
    }
}

static void NAME(lu_det)(int64_t n, const void *lu, const int32_t *pivots, void *sign_out,
                         void *log_out, void *det_out)
{
    const T *a = lu;
    T sign = 1, det = 1;
    R sum = 0;

    for (int64_t k = 0; k < n; k++) {
        const T pivot = a[k * n + k];
        const R size = ABS(pivot);
        const T turn = pivots[k] - 1 != k ? (T)-1 : (T)1;
        sign *= size == 0 ? 0 : turn * (pivot / size);
        sum += LOG(size);
        det *= turn * pivot;
    }
    *(T *)sign_out = sign;
    *(R *)log_out = sum;
    if (det_out != NULL)
        *(T *)det_out = det;
}

static int64_t NAME(cholesky)(int64_t n, void *matrix)
{
    T *a = matrix;

    for (int64_t k = 0; k < n; k++) {
        T *column = a + k * n;
        for (int64_t j = 0; j < k; j++) {
            const T factor = CONJ(a[j * n + k]);
            for (int64_t i = k; i < n; i++)
                column[i] -= factor * a[j * n + i];
        }
        const R minor = RE(column[k]);
        if (!(minor > 0)) /* NaN is not positive either */
            return k + 1;
        const R root = SQRT(minor);
        column[k] = root;
        for (int64_t i = k + 1; i < n; i++)
            column[i] /= root;
    }
    return 0;
}

static void NAME(zero_above)(int64_t n, void *matrix)
{
    for (int64_t k = 1; k < n; k++)
        for (int64_t i = 0; i < k; i++)
            ((T *)matrix)[k * n + i] = 0;
}

static int64_t NAME(triangular)(bool upper, int64_t n, int64_t columns, const void *matrix, void *b)
{
    const T *a = matrix;

    for (int64_t k = 0; k < n; k++)
        if (a[k * n + k] == 0)
            return k + 1;
    for (int64_t j = 0; j < columns; j++)
        NAME(substitute)(upper, false, n, a, (T *)b + j * n);
    return 0;
}

static void NAME(identity)(int64_t n, void *matrix)
{
    for (int64_t k = 0; k < n * n; k++)
        ((T *)matrix)[k] = k % (n + 1) == 0;
}

static void NAME(nan)(int64_t count, void *values)
{
    for (int64_t k = 0; k < count; k++)
        ((T *)values)[k] = (R)NAN;
}

/* ---- orthogonal factors ---------------------------------------------------------------------- */

/* b -= scale * v (v^H b) for one column; v begins with 1, which is not stored. */
static void NAME(reflect)(int64_t n, T scale, const T *v, T *b)
{
    T sum = b[0];

    for (int64_t i = 1; i < n; i++)
        sum += CONJ(v[i]) * b[i];
    sum *= scale;
    b[0] -= sum;
    for (int64_t i = 1; i < n; i++)
        b[i] -= sum * v[i];
}

/* a = Q R by Householder's reflections, as LAPACK's geqrf: R in and above the diagonal, vectors below it. */
static void NAME(qr)(int64_t m, int64_t n, void *matrix, void *scales)
{
    T *a = matrix, *tau = scales;

    for (int64_t k = 0; k < m && k < n; k++) {
        T *column = a + k * m + k;
        const T first = column[0];
        R below = 0;
        for (int64_t i = 1; i < m - k; i++)
            below = HYPOT(below, ABS(column[i]));
        tau[k] = 0;
        if (below == 0 && RE(first) == first)
            continue;
        const R length = HYPOT(ABS(first), below), beta = RE(first) < 0 ? length : -length;
        tau[k] = (beta - first) / beta;
        for (int64_t i = 1; i < m - k; i++)
            column[i] /= first - beta;
        column[0] = beta;
        for (int64_t j = k + 1; j < n; j++)
            NAME(reflect)(m - k, CONJ(tau[k]), column, a + j * m + k);
    }
}

/* The first columns of Q, min(m, n) of them or m, from what qr() left in `matrix`. */
static void NAME(qr_form)(int64_t m, int64_t n, int64_t columns, const void *matrix,
                          const void *scales, void *into)
{
    const int64_t count = m < n ? m : n;
    const T *a = matrix, *tau = scales;
    T *q = into;

    for (int64_t k = 0; k < m * columns; k++)
        q[k] = k % (m + 1) == 0;
    for (int64_t k = count - 1; k >= 0; k--)
        for (int64_t j = k; j < columns; j++)
            NAME(reflect)(m - k, tau[k], a + k * m + k, q + j * m + k);
}

/* ---- Jacobi's rotations ---------------------------------------------------------------------- */

/* A rotation of two columns: (p, q) becomes (c p - s f q, s p + c f q), where |f| = 1. */
typedef struct NAME(rotation) {
    R c, s;
    T f;
} NAME(rotation);

static void NAME(rotate)(int64_t n, NAME(rotation) r, T *p, T *q)
{
    for (int64_t i = 0; i < n; i++) {
        const T left = p[i], right = r.f * q[i];
        p[i] = r.c * left - r.s * right;
        q[i] = r.s * left + r.c * right;
    }
}

/* The one that makes the Hermitian matrix (left, off; conj(off), right) diagonal. */
static NAME(rotation) NAME(angle)(R left, R right, T off)
{
    const R half = (right - left) / (2 * ABS(off));
    const R t = (half < 0 ? -1 : 1) / (RABS(half) + HYPOT(half, 1));
    const R c = 1 / HYPOT(t, 1);

    return (NAME(rotation)){c, t * c, CONJ(off) / ABS(off)};
}

static void NAME(swap)(int64_t n, T *p, T *q)
{
    for (int64_t i = 0; i < n; i++) {
        const T v = p[i];
        p[i] = q[i];
        q[i] = v;
    }
}

/* Sort values, rising or falling, and with them the columns of u (m rows) and v (n rows, or NULL). */
static void NAME(sort)(int64_t n, bool rising, R *value, int64_t m, T *u, T *v)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t j = k + 1; j < n; j++)
            if (rising ? value[j] < value[best] : value[j] > value[best])
                best = j;
        if (best == k)
            continue;
        const R first = value[k];
        value[k] = value[best];
        value[best] = first;
        NAME(swap)(m, u + k * m, u + best * m);
        if (v != NULL)
            NAME(swap)(n, v + k * n, v + best * n);
    }
}

/* Eigenvalues of the Hermitian matrix `a`, rising, and its vectors; `a` is used up. False where they did not
 * converge. */
static bool NAME(eigh)(int64_t n, void *matrix, void *values, void *vectors)
{
    T *a = matrix, *v = vectors;
    R *w = values, size = 0;
    bool moved = n > 1;

    NAME(identity)(n, v);
    for (int64_t k = 0; k < n * n; k++)
        size = HYPOT(size, ABS(a[k]));
    for (int sweep = 0; sweep < SWEEPS_MAX && moved; sweep++) {
        moved = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                if (ABS(a[q * n + p]) <= EPSILON / 4 * size)
                    continue;
                const NAME(rotation) r =
                    NAME(angle)(RE(a[p * n + p]), RE(a[q * n + q]), a[q * n + p]);
                NAME(rotate)(n, r, a + p * n, a + q * n);
                for (int64_t i = 0; i < n; i++) { /* rows by the conjugate */
                    const T up = a[i * n + p], low = CONJ(r.f) * a[i * n + q];
                    a[i * n + p] = r.c * up - r.s * low;
                    a[i * n + q] = r.s * up + r.c * low;
                }
                a[q * n + p] = a[p * n + q] = 0; /* but for rounding */
                NAME(rotate)(n, r, v + p * n, v + q * n);
                moved = true;
            }
    }
    for (int64_t k = 0; k < n; k++)
        w[k] = RE(a[k * n + k]);
    NAME(sort)(n, true, w, n, v, NULL);
    return !moved;
}

/* Make column `k` of u a unit vector that is orthogonal to those before it. */
static void NAME(complete)(int64_t m, int64_t k, void *matrix)
{
    T *u = matrix, *column = u + k * m;

    for (int64_t unit = 0; unit < m; unit++) {
        R length = 0;
        for (int64_t i = 0; i < m; i++)
            column[i] = i == unit;
        for (int turn = 0; turn < 2; turn++) /* once more for what rounding left */
            for (int64_t j = 0; j < k; j++) {
                T sum = 0;
                for (int64_t i = 0; i < m; i++)
                    sum += CONJ(u[j * m + i]) * column[i];
                for (int64_t i = 0; i < m; i++)
                    column[i] -= sum * u[j * m + i];
            }
        for (int64_t i = 0; i < m; i++)
            length = HYPOT(length, ABS(column[i]));
        for (int64_t i = 0; i < m; i++)
            column[i] /= length;
        if (length * length * (R)m > (R)0.5)
            return;
    }
}

/* a = U S V^H for m >= n: `a` becomes U, its first n columns. By rotations that make columns orthogonal. Columns
 * that are rounding errors of the others are left alone: turned again and again they would never be orthogonal. */
static bool NAME(svd)(int64_t m, int64_t n, void *matrix, void *values, void *right)
{
    T *a = matrix, *v = right;
    R *w = values, size = 0;
    bool moved = n > 1;

    NAME(identity)(n, v);
    for (int64_t k = 0; k < m * n; k++)
        size = HYPOT(size, ABS(a[k]));
    const R nothing = EPSILON * SQRT((R)m) * size;
    for (int sweep = 0; sweep < SWEEPS_MAX && moved; sweep++) {
        moved = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                R left = 0, low = 0;
                T off = 0;
                for (int64_t i = 0; i < m; i++) {
                    const T x = a[p * m + i], y = a[q * m + i];
                    left += RE(CONJ(x) * x);
                    low += RE(CONJ(y) * y);
                    off += CONJ(x) * y;
                }
                if (ABS(off) <= EPSILON * SQRT((R)m) * SQRT(left) * SQRT(low) ||
                    SQRT(left) <= nothing || SQRT(low) <= nothing)
                    continue;
                const NAME(rotation) r = NAME(angle)(left, low, off);
                NAME(rotate)(m, r, a + p * m, a + q * m);
                NAME(rotate)(n, r, v + p * n, v + q * n);
                moved = true;
            }
    }
    for (int64_t k = 0; k < n; k++) {
        w[k] = 0;
        for (int64_t i = 0; i < m; i++)
            w[k] = HYPOT(w[k], ABS(a[k * m + i]));
    }
    NAME(sort)(n, false, w, m, a, v);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < m && w[k] > nothing; i++)
            a[k * m + i] /= w[k];
        if (w[k] <= nothing)
            NAME(complete)(m, k, a);
    }
    return !moved;
}

/* The conjugate transpose of an m x n matrix. */
static void NAME(adjoint)(int64_t m, int64_t n, const void *matrix, void *into)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            ((T *)into)[i * n + j] = CONJ(((const T *)matrix)[j * m + i]);
}

/* The other triangle becomes the conjugate of the one that counts, the diagonal real. */
static void NAME(mirror)(bool upper, int64_t n, void *matrix)
{
    T *a = matrix;

    for (int64_t j = 0; j < n; j++) {
        a[j * n + j] = RE(a[j * n + j]);
        for (int64_t i = j + 1; i < n; i++) {
            if (upper)
                a[j * n + i] = CONJ(a[i * n + j]);
            else
                a[i * n + j] = CONJ(a[j * n + i]);
        }
    }
}

/* R: what lies in and above the diagonal, of `rows`. */
static void NAME(triangle)(int64_t m, int64_t n, int64_t rows, const void *matrix, void *into)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < rows; i++)
            ((T *)into)[j * rows + i] = i <= j ? ((const T *)matrix)[j * m + i] : 0;
}

static bool NAME(is_finite)(int64_t count, const void *values)
{
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(SIZE(((const T *)values)[k])))
            return false;
    return true;
}

static const routines NAME(routines) = {
    .lu = NAME(lu),
    .lu_solve = NAME(lu_solve),
    .lu_det = NAME(lu_det),
    .cholesky = NAME(cholesky),
    .zero_above = NAME(zero_above),
    .triangular = NAME(triangular),
    .identity = NAME(identity),
    .nan = NAME(nan),
    .qr = NAME(qr),
    .qr_form = NAME(qr_form),
    .triangle = NAME(triangle),
    .eigh = NAME(eigh),
    .svd = NAME(svd),
    .complete = NAME(complete),
    .adjoint = NAME(adjoint),
    .mirror = NAME(mirror),
    .is_finite = NAME(is_finite),
};

#undef T
#undef R
#undef NAME
#undef SIZE
#undef CONJ
#undef RE
#undef ABS
#undef SQRT
#undef LOG
#undef HYPOT
#undef RABS
#undef EPSILON
