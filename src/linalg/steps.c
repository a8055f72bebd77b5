/*
 * steps.c - what compose.c, factor.c, norm.c and the files for CUDA share: operations that put
 * their results into a list of temporary arrays (kiln__steps), and small kernels between the steps
 * (kiln__piece).
 */
#include "linalg/steps.h"

/* ---- calls ----------------------------------------------------------------------------------- */

kiln_status kiln__steps_begin(kiln__steps *w, const char *function, const kiln_array *a, bool has_b,
                              const kiln_array *b, kiln_array **out,
                              const kiln_linalg_options *opts, kiln_error *err)
{
    memset(w, 0, sizeof *w);
    w->function = function;
    w->o = (kiln_linalg_options)KILN_LINALG_OPTIONS_INIT;
    w->product = (kiln_matmul_options)KILN_MATMUL_OPTIONS_INIT;
    w->plain = (kiln_elementwise_call_options)KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    w->reduction = (kiln_reduction_call_options)KILN_REDUCTION_CALL_OPTIONS_INIT;
    if (a == NULL || (has_b && b == NULL) || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", function,
                          a == NULL     ? "a"
                          : out == NULL ? "out"
                                        : "b");
    KILN_CHECK(kiln__array_check(a, NULL, "`a`", err));
    if (has_b)
        KILN_CHECK(kiln__array_check(b, a->ctx, "`b`", err));
    if (opts != NULL)
        KILN_CHECK(kiln__options_read(&w->o, sizeof w->o, opts, opts->struct_size,
                                      "kiln_linalg_options", err));
    w->ctx = a->ctx;
    KILN_CHECK(kiln__device_check(kiln__context_device(w->ctx), err));
    KILN_CHECK(kiln__context_stream(w->ctx, w->o.stream, &w->stream, err));
    w->o.stream = w->product.stream = w->plain.stream = w->reduction.stream = w->stream;
    return KILN_OK;
}

kiln_status kiln__steps_end(kiln__steps *w, kiln_status status, kiln_array *result,
                            kiln_array **out, kiln_error *err)
{
    if (status == KILN_OK) {
        kiln_array *given = NULL;
        /* A view would keep more memory than it shows, and its caller may write into an operand. */
        if (*out != NULL ||
            (result->contiguous && result->storage->block != NULL &&
             (size_t)result->size * kiln_dtype_size(result->dtype) * 2 >= result->storage->bytes))
            given = kiln_array_retain(result);
        else
            status = kiln__array_copy_on(result, w->stream, &given, err);
        if (status == KILN_OK)
            status = kiln__tensor_deliver(w->function, given, w->stream, out, err);
    }
    return kiln__steps_drop(w, status);
}

kiln_status kiln__steps_drop(kiln__steps *w, kiln_status status)
{
    for (int k = 0; k < w->count; k++)
        kiln_array_release(w->made[k]);
    w->count = 0;
    return status;
}

kiln_array **kiln__steps_new(kiln__steps *w)
{
    w->made[w->count] = NULL;
    return &w->made[w->count++];
}

kiln_status kiln__steps_op(kiln__steps *w, kiln_op op, const kiln_arg *args, size_t count,
                           kiln_error *err)
{
    return kiln_array_op(op, args, count, &w->plain, kiln__steps_new(w), err);
}

kiln_status kiln__steps_reduce(kiln__steps *w, kiln_reduce_op op, const kiln_array *x,
                               const kiln_axes *axes, bool keepdims, kiln_error *err)
{
    kiln_reduction_call_options options = w->reduction;

    options.axes = axes;
    options.keepdims = keepdims;
    return kiln_array_reduce_with(op, x, &options, kiln__steps_new(w), err);
}

kiln_status kiln__steps_multiply(kiln__steps *w, const kiln_array *a, const kiln_array *b,
                                 kiln_error *err)
{
    return kiln_matmul(a, b, &w->product, kiln__steps_new(w), err);
}

kiln_status kiln__steps_cast(kiln__steps *w, const kiln_array *x, kiln_dtype dtype, kiln_error *err)
{
    if (x->dtype != dtype)
        return kiln__array_copy_as(x, dtype, NULL, w->stream, kiln__steps_new(w), err);
    *kiln__steps_new(w) = kiln_array_retain((kiln_array *)x);
    return KILN_OK;
}

kiln_status kiln__steps_adjoint(kiln__steps *w, const kiln_array *x, kiln_error *err)
{
    kiln_axes axes = {.count = x->rank};

    for (int k = 0; k < x->rank; k++)
        axes.axis[k] = k;
    axes.axis[x->rank - 2] = x->rank - 1;
    axes.axis[x->rank - 1] = x->rank - 2;
    KILN_CHECK(kiln_array_transpose(x, &axes, kiln__steps_new(w), err));
    if (kiln_dtype_kind(x->dtype) != 'c')
        return KILN_OK;
    return kiln__steps_op(w, KILN_OP_CONJUGATE, KILN_ARGS(kiln__steps_last(w)), err);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

typedef struct piece {
    const char *takes; /* letters of the arguments, in order */
    kiln__kept_texts texts;
} piece;

#define PIECE(takes, arguments, y)                                                                 \
    {                                                                                              \
        takes,                                                                                     \
        {                                                                                          \
            &kiln__loop_calls,                                                                     \
            {                                                                                      \
                .name = "kiln_linalg_piece", .in = arguments, .out = "T y", .snippet = {           \
                    [KILN__SNIPPET_OP] = y                                                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define SHAPE "int64 m, int64 n"
/* Where the exchanges lead row i % m, taken in the order that `nth` says. An exchange is its own inverse. */
#define EXCHANGED(nth)                                                                             \
    "T at = i % m; "                                                                               \
    "for (T s = 0; s < n; s++) { "                                                                 \
    "const T u = " nth ", v = k[i / m * n + u]; "                                                  \
    "at = at == u ? v : at == v ? u : at; } "                                                      \
    "y = at"
/* The product is brought near 1 after each factor, which comes near 1 itself: only the whole may overflow. */
#define PRODUCT(near, far)                                                                         \
    "T d = T(1); int p = 0; "                                                                      \
    "for (int64 s = 0; s < n; s++) { "                                                             \
    "T v = x[i * n + s]; int e; " near("v") "d = d * v; " near("d") "} " far
#define NEAR(v) "e = kiln_frexp_exponent(" v "); " v " = kiln_frexp_mantissa(" v "); p += e; "
#define LARGER(v)                                                                                  \
    "(" v ".real() < 0 ? -" v ".real() : " v ".real()) > "                                         \
    "(" v ".imag() < 0 ? -" v ".imag() : " v ".imag()) ? " v ".real() : " v ".imag()"
#define NEAR_COMPLEX(v)                                                                            \
    "e = kiln_frexp_exponent(" LARGER(v) "); p += e; " v " = T(kiln_ldexp(" v                      \
                                         ".real(), -e), kiln_ldexp(" v ".imag(), -e)); "
#define FAR(e, size)                                                                               \
    "int " e " = " size " - " size " == R(0) ? kiln_frexp_exponent(" size ") : 0; " e " = " e      \
    " > n || " e " < -n ? " e " : 0; "
#define FAR(e, size)                                                                               \
    "int " e " = " size " - " size " == R(0) ? kiln_frexp_exponent(" size ") : 0; " e " = " e      \
    " > n || " e " < -n ? " e " : 0; "
#define SCALE FAR("e", "z") "e = p < 0 ? e : -e; "
#define UPPER_ALONE "e = i % m < i / m % (int64)q ? 0 : e; "
#define RESCALE FAR("e", "u") FAR("f", "z") "e -= f; "
#define TIMES_POWER "y = e == 0 ? x : kiln_ldexp(x, e)"
#define TIMES_POWER_COMPLEX "y = e == 0 ? x : T(kiln_ldexp(x.real(), e), kiln_ldexp(x.imag(), e))"
static const piece pieces[KILN__PIECES] = {
    [KILN__PIECE_LOWER] = PIECE("xmn", "T x, " SHAPE, "y = i % n <= i / n % m ? x : T(0)"),
    [KILN__PIECE_UPPER] = PIECE("xmn", "T x, " SHAPE, "y = i % n >= i / n % m ? x : T(0)"),
    [KILN__PIECE_UNIT] =
        PIECE("xmn", "T x, " SHAPE, "y = i % n < i / n % m ? x : i % n == i / n % m ? T(1) : T(0)"),
    [KILN__PIECE_IDENTITY] = PIECE("mn", SHAPE, "y = i % n == i / n % m ? T(1) : T(0)"),
    [KILN__PIECE_TURN] = PIECE("xkn", "T x, P k, int64 n", "y = k != i % n + 1 ? -x : x"),
    [KILN__PIECE_SHIFT] = PIECE("km", "P k, int64 m", "y = T(k) + T(m)"),
    [KILN__PIECE_ONE_HOT] = PIECE("kmn", "P k, " SHAPE, "y = k == i / n % m ? T(1) : T(0)"),
    [KILN__PIECE_ROW_OF] = PIECE("kmn", "raw P k, " SHAPE, EXCHANGED("n - 1 - s")),
    [KILN__PIECE_PLACE_OF] = PIECE("kmn", "raw P k, " SHAPE, EXCHANGED("s")),
    [KILN__PIECE_ROWS] =
        PIECE("xkmn", "raw T x, raw P k, " SHAPE, "y = x[(i / n / m * m + k[i / n]) * n + i % n]"),
    [KILN__PIECE_ELEMENTS] =
        PIECE("xkmn", "raw T x, raw P k, " SHAPE, "y = x[i / m * m + k[i / m / n * m + i % m]]"),
    [KILN__PIECE_NAN] =
        PIECE("xkmp", "T x, raw P k, int64 m, float64 p", "y = k[i / m] != 0 ? T(p) : x"),
    [KILN__PIECE_RECIPROCAL] =
        PIECE("xzp", "T x, T z, float64 p", "y = x > T(p) * z ? T(1) / x : x - x"),
    [KILN__PIECE_COMBINE] =
        PIECE("xyzmnpqrs", "T x, T u, T z, " SHAPE ", float64 p, float64 q, float64 r, float64 s",
              "y = T(p) * x + T(q) * u + T(r) * z + "
              "(i % n == i / n % m ? T(s) : T(0))"),
    [KILN__PIECE_PRODUCT] = PIECE("xn", "raw T x, int64 n", PRODUCT(NEAR, "y = kiln_ldexp(d, p)")),
    [KILN__PIECE_PRODUCT_COMPLEX] =
        PIECE("xn", "raw T x, int64 n",
              PRODUCT(NEAR_COMPLEX, "y = T(kiln_ldexp(d.real(), p), kiln_ldexp(d.imag(), p))")),
    [KILN__PIECE_SCALE] = PIECE("xznp", "T x, R z, int64 n, float64 p", SCALE TIMES_POWER),
    [KILN__PIECE_SCALE_COMPLEX] =
        PIECE("xznp", "T x, R z, int64 n, float64 p", SCALE TIMES_POWER_COMPLEX),
    [KILN__PIECE_SCALE_UPPER] = PIECE("xzmnpq", "T x, R z, int64 m, int64 n, float64 p, float64 q",
                                      SCALE UPPER_ALONE TIMES_POWER),
    [KILN__PIECE_SCALE_UPPER_COMPLEX] =
        PIECE("xzmnpq", "T x, R z, int64 m, int64 n, float64 p, float64 q",
              SCALE UPPER_ALONE TIMES_POWER_COMPLEX),
    [KILN__PIECE_ENDS] = PIECE("xpq", "T x, float64 p, float64 q",
                               "T z = x * q; y = x < p || x != x ? x : z < T(0.5) ? T(0.5) : "
                               "z < T(65536) ? z : T(65536)"),
    [KILN__PIECE_RESCALE] = PIECE("xyzn", "T x, R u, R z, int64 n", RESCALE TIMES_POWER),
    [KILN__PIECE_RESCALE_COMPLEX] =
        PIECE("xyzn", "T x, R u, R z, int64 n", RESCALE TIMES_POWER_COMPLEX),
};

kiln_status kiln__piece_run(kiln__piece which, const kiln__piece_arguments *a, kiln_array *out,
                            kiln_stream *stream, kiln_error *err)
{
    const kiln_array *const arrays[] = {a->x, a->y, a->z, a->places};
    const double numbers[] = {a->p, a->q, a->r, a->s};
    kiln_arg args[16];
    size_t count = 0;

    if (out->size == 0)
        return KILN_OK;
    for (const char *c = pieces[which].takes; *c != '\0'; c++) {
        static const char letters[] = "xyzkmnpqrs";
        const size_t at = (size_t)(strchr(letters, *c) - letters);
        args[count++] = at < 4    ? kiln_arg_array(arrays[at])
                        : at == 4 ? kiln_arg_int(a->m)
                        : at == 5 ? kiln_arg_int(a->n)
                                  : kiln_arg_float(numbers[at - 6]);
    }
    args[count++] = kiln_arg_array(out);
    return kiln__kept_run(out->ctx, &pieces[which].texts, args, count, stream, err);
}
