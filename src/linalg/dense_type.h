/*
 * dense_type.h - kiln's own factorisations, for one dtype at a time: dense.c includes this file once for each.
 *
 *     NAME(x)   x with a suffix for the dtype         T    its C type     R    that of its real part
 *     SIZE(v)   what pivots are compared by           CONJ(v), RE(v), ABS(v), SQRT(r), LOG(r)
 *
 * Inner loops run down columns, whose elements are neighbours. They are not blocked: a LAPACK is faster for
 * matrices that do not fit a cache.
 */

static int64_t NAME(lu)(int64_t n, void *matrix, int32_t *pivots)
{
    T *a = matrix;
    int64_t info = 0;

    for (int64_t k = 0; k < n; k++) {
        T *column = a + k * n;
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (SIZE(column[i]) > SIZE(column[best]))
                best = i;
        pivots[k] = (int32_t)(best + 1);
        if (column[best] == 0) {
            info = info == 0 ? k + 1 : info;
            continue;
        }
        for (int64_t j = 0; j < n && best != k; j++) {
            const T other = a[j * n + k];
            a[j * n + k] = a[j * n + best];
            a[j * n + best] = other;
        }
        for (int64_t i = k + 1; i < n; i++)
            column[i] /= column[k];
        for (int64_t j = k + 1; j < n; j++) {
            const T factor = a[j * n + k];
            for (int64_t i = k + 1; i < n; i++)
                a[j * n + i] -= factor * column[i];
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

static const routines NAME(routines) = {
    .lu = NAME(lu),
    .lu_solve = NAME(lu_solve),
    .lu_det = NAME(lu_det),
    .cholesky = NAME(cholesky),
    .zero_above = NAME(zero_above),
    .triangular = NAME(triangular),
    .identity = NAME(identity),
    .nan = NAME(nan),
};
