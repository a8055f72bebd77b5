/*
 * dense_type.h - kiln's own factorisations for one dtype. dense.c includes this file once for each
 * dtype, and defines before:
 *
 *     NAME(x)   x with a suffix for the dtype         T    its C type     R    that of its real part
 *     SIZE(v)   the size by which pivots are chosen   CONJ(v), RE(v), ABS(v)
 *     SQRT(r), LOG(r), HYPOT(r, r), RABS(r), EPSILON  of R
 *     SMALLEST  the smallest normal number of R
 *     EXPONENT  the largest numbers of R are just below 2^EXPONENT
 *
 * The file undefines them at its end.
 *
 * Matrices are in column order. Inner loops run down columns, whose elements are contiguous; they
 * are not blocked, so that a LAPACK is faster for matrices that do not fit a cache.
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

/* The binary exponent of SIZE(v); 0 for 0, NaN and infinities. */
static int NAME(exponent)(T v)
{
    const bool large = isinf(SIZE(v)); /* a sum of two parts may be, too */
    const R size = large ? SIZE(v / 4) : SIZE(v);
    int power = 0;

    if (!(size > 0) || isinf(size))
        return 0;
    (void)frexp((double)size, &power);
    return large ? power + 2 : power;
}

/* v * 2^power, multiplied by powers of two that R can hold; only the last product is rounded. */
static T NAME(raise)(T v, int64_t power)
{
    const int64_t step = EXPONENT / 2 - 4, most = 4 * EXPONENT;

    power = power > most ? most : power < -most ? -most : power;
    for (; power > step; power -= step)
        v *= (R)ldexp(1, (int)step);
    for (; power < -step; power += step)
        v *= (R)ldexp(1, -(int)step);
    return v * (R)ldexp(1, (int)power);
}

/* Determinant from an LU factorisation. The product is kept near 1, with its power of two beside
 * it, so that intermediate results neither overflow nor underflow. */
static void NAME(lu_det)(int64_t n, const void *lu, const int32_t *pivots, void *sign_out,
                         void *log_out, void *det_out)
{
    const T *a = lu;
    T sign = 1, det = 1;
    R sum = 0;
    int64_t power = 0;

    for (int64_t k = 0; k < n; k++) {
        const int own = NAME(exponent)(a[k * n + k]);
        const T pivot = NAME(raise)(a[k * n + k], -own);
        const R size = ABS(pivot);
        const T turn = pivots[k] - 1 != k ? (T)-1 : (T)1;
        sign *= size == 0 ? 0 : turn * (pivot / size);
        sum += LOG(ABS(a[k * n + k]));
        det *= turn * pivot;
        const int more = NAME(exponent)(det);
        det = NAME(raise)(det, -more);
        power += own + more;
    }
    *(T *)sign_out = sign;
    *(R *)log_out = sum;
    if (det_out != NULL)
        *(T *)det_out = NAME(raise)(det, power);
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

/* ---- Hermitian matrices that need not be positive -------------------------------------------- */

/* Exchange rows and columns `low` < `high` of the lower triangle of a Hermitian matrix, from column
 * `low` on. */
static void NAME(exchange)(int64_t n, T *a, int64_t low, int64_t high)
{
    const T diagonal = a[low * n + low];

    a[low * n + low] = a[high * n + high];
    a[high * n + high] = diagonal;
    for (int64_t i = high + 1; i < n; i++) {
        const T v = a[low * n + i];
        a[low * n + i] = a[high * n + i];
        a[high * n + i] = v;
    }
    for (int64_t j = low + 1; j < high; j++) {
        const T v = CONJ(a[low * n + j]);
        a[low * n + j] = CONJ(a[j * n + high]);
        a[j * n + high] = v;
    }
    a[low * n + high] = CONJ(a[low * n + high]);
}

/* Which row step k exchanges, and whether it takes two columns (Bunch and Kaufman): an element of
 * the diagonal is taken where it is not much smaller than the others of its column, else a block of
 * four. */
static int64_t NAME(choose)(int64_t n, const T *a, int64_t k, bool *two)
{
    const R share = (1 + SQRT((R)17)) / 8, diagonal = RABS(RE(a[k * n + k]));
    int64_t best = k;
    R most = 0, row = 0;

    *two = false;
    for (int64_t i = k + 1; i < n; i++)
        if (SIZE(a[k * n + i]) > most) {
            most = SIZE(a[k * n + i]);
            best = i;
        }
    if (best == k || diagonal >= share * most)
        return k;
    for (int64_t j = k; j < best; j++)
        row = SIZE(a[j * n + best]) > row ? SIZE(a[j * n + best]) : row;
    for (int64_t i = best + 1; i < n; i++)
        row = SIZE(a[best * n + i]) > row ? SIZE(a[best * n + i]) : row;
    if (diagonal >= share * most * (most / row))
        return k;
    *two = !(RABS(RE(a[best * n + best])) >= share * row);
    return best;
}

/* The columns behind a block of four: they lose what it explains, and it gets its factors. */
static void NAME(eliminate_two)(int64_t n, T *a, int64_t k)
{
    T *left = a + k * n, *right = left + n;
    const R size = ABS(left[k + 1]);
    const R low = RE(right[k + 1]) / size, high = RE(left[k]) / size;
    const R by = 1 / (low * high - 1) / size;
    const T off = left[k + 1] / size;

    for (int64_t j = k + 2; j < n; j++) {
        const T first = by * (low * left[j] - off * right[j]);
        const T second = by * (high * right[j] - CONJ(off) * left[j]);
        for (int64_t i = j; i < n; i++)
            a[j * n + i] -= left[i] * CONJ(first) + right[i] * CONJ(second);
        left[j] = first;
        right[j] = second;
        a[j * n + j] = RE(a[j * n + j]);
    }
}

/* a = L D L^H as LAPACK's hetrf: factors and blocks in the lower triangle; pivots[k] is the row,
 * from 1, that row k was exchanged with, or, in both places of a block of four, its negative, with
 * the second row of the block. */
static void NAME(ldl)(int64_t n, void *matrix, int32_t *pivots)
{
    T *a = matrix;
    bool two = false;

    for (int64_t k = 0; k < n; k += two ? 2 : 1) {
        const int64_t row = NAME(choose)(n, a, k, &two), last = two ? k + 1 : k;
        T *column = a + k * n;
        column[k] = RE(column[k]);
        if (row != last)
            NAME(exchange)(n, a, last, row);
        if (two) {
            const T v = column[k + 1];
            column[k + 1] = column[row];
            column[row] = v;
            a[last * n + last] = RE(a[last * n + last]);
            NAME(eliminate_two)(n, a, k);
            pivots[k] = pivots[k + 1] = -(int32_t)(row + 1);
            continue;
        }
        pivots[k] = (int32_t)(row + 1);
        column[k] = RE(column[k]);
        for (int64_t j = k + 1; j < n && column[k] != 0; j++) {
            const T factor = CONJ(column[j]) / RE(column[k]);
            for (int64_t i = j; i < n; i++)
                a[j * n + i] -= factor * column[i];
            a[j * n + j] = RE(a[j * n + j]);
        }
        for (int64_t i = k + 1; i < n && column[k] != 0; i++)
            column[i] /= RE(column[k]);
    }
}

/* L and D by themselves. Exchanges were not made in the columns of earlier steps: L gets them from
 * the last to the first, and `places` follows its rows. */
static void NAME(ldl_form)(int64_t n, const void *matrix, const int32_t *pivots, void *l_matrix,
                           void *d_matrix, int64_t *places)
{
    const T *a = matrix;
    T *l = l_matrix, *d = d_matrix;

    for (int64_t k = 0; k < n * n; k++)
        d[k] = 0;
    NAME(identity)(n, l);
    for (int64_t k = 0, step; k < n; k += step) {
        step = pivots[k] < 0 ? 2 : 1;
        if (step == 2) {
            d[k * n + k + 1] = a[k * n + k + 1];
            d[(k + 1) * n + k] = CONJ(a[k * n + k + 1]);
        }
        for (int64_t j = k; j < k + step; j++) {
            d[j * n + j] = a[j * n + j];
            places[j] = j;
            for (int64_t i = k + step; i < n; i++)
                l[j * n + i] = a[j * n + i];
        }
    }
    for (int64_t k = n - 1, step; k >= 0; k -= step) {
        step = pivots[k] < 0 ? 2 : 1;
        const int64_t other = (pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1, place = places[k];
        places[k] = places[other];
        places[other] = place;
        for (int64_t j = k + 1 - step; j < n; j++) {
            const T v = l[j * n + k];
            l[j * n + k] = l[j * n + other];
            l[j * n + other] = v;
        }
    }
}

/* ---- elements of any size ----------------------------------------------------------------- */

/* Multiply by a power of two that brings the largest element between 2^(-EXPONENT / 8) and 2^high,
 * as LAPACK does it, so that what is made of the elements neither overflows nor vanishes. A matrix
 * within is left alone. The power that brings results back is the return value. */
static int NAME(bring_near)(int high, int64_t count, void *values)
{
    T *a = values;
    R most = 0;

    for (int64_t k = 0; k < count; k++)
        most = SIZE(a[k]) > most ? SIZE(a[k]) : most;
    const int own = isinf(most) ? EXPONENT + 1 : NAME(exponent)(most);
    const int low = -EXPONENT / 8;
    int power = own > high ? high - own : own < low ? low - own : 0;
    if (power > EXPONENT - 4) /* of subnormal numbers: the factor and its inverse are normal ones */
        power = EXPONENT - 4;
    if (!(most > 0) || power == 0)
        return 0;
    for (int64_t k = 0; k < count; k++)
        a[k] *= (R)ldexp(1, power);
    return -power;
}

/* Whether all elements are so near the subnormal numbers that pivots may be such ones, by whose
 * reciprocals, which are infinite, a LAPACK would multiply. Of other matrices mostly the first
 * element tells. */
static bool NAME(is_tiny)(int64_t count, const void *values)
{
    const R limit = SMALLEST / EPSILON / EPSILON;
    int64_t k = 0;

    while (k < count && SIZE(((const T *)values)[k]) < limit)
        k++;
    return k == count;
}

/* Whether the triangle above has such a pivot. */
static bool NAME(has_subnormal)(int64_t n, const void *lu)
{
    int64_t k = 0;

    while (k < n && !(SIZE(((const T *)lu)[k * n + k]) < SMALLEST))
        k++;
    return k < n;
}

/* Times the power that bring_near() gave: of real values, or of elements. */
static void NAME(bring_back)(bool real, int power, int64_t count, void *values)
{
    for (int64_t k = 0; k < count && power != 0; k++) {
        if (real)
            ((R *)values)[k] *= (R)ldexp(1, power);
        else
            ((T *)values)[k] *= (R)ldexp(1, power);
    }
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

/* a = Q R by Householder's reflections, as LAPACK's geqrf: R in and above the diagonal, vectors
 * below it. */
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

/* Eigenvalues of the Hermitian matrix `a`, rising, and its vectors; `a` is used up. False where
 * they did not converge. */
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

/* a = U S V^H for m >= n: `a` becomes U, its first n columns. By rotations that make columns
 * orthogonal. Columns that are rounding errors of the others are left alone: turned again and again
 * they would never be orthogonal. */
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
        if (!isfinite(SIZE(((const T *)values)[k] / 4))) /* the sum of two parts may overflow */
            return false;
    return true;
}

static const routines NAME(routines) = {
    .lu = NAME(lu),
    .lu_solve = NAME(lu_solve),
    .lu_det = NAME(lu_det),
    .cholesky = NAME(cholesky),
    .zero_above = NAME(zero_above),
    .ldl = NAME(ldl),
    .ldl_form = NAME(ldl_form),
    .triangular = NAME(triangular),
    .identity = NAME(identity),
    .nan = NAME(nan),
    .qr = NAME(qr),
    .qr_form = NAME(qr_form),
    .triangle = NAME(triangle),
    .is_tiny = NAME(is_tiny),
    .has_subnormal = NAME(has_subnormal),
    .bring_near = NAME(bring_near),
    .bring_back = NAME(bring_back),
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
#undef EXPONENT
#undef SMALLEST
