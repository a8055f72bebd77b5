/*
 * at_once.c - public functions that run an expression at once: sets, unique parts, random choices,
 * and vectors of a multivariate normal distribution.
 *
 *     arrays > [the function's text] > kept_text.c > results
 *
 * A function writes the text of its expression and runs it, so that it has the same results as the
 * expression itself (written.c). The public headers are kiln/select.h and kiln/random.h.
 *
 * Tests: test_unique, test_choice.
 */
#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "kiln/eager.h"
#include "kiln/random.h"
#include "kiln/select.h"
#include "kiln/sort.h"

/* ---- texts ----------------------------------------------------------------------------------- */

enum { NAMES_MAX = 3 };

typedef struct text {
    const char *text;
    const char *names[NAMES_MAX];
    size_t count;
} text;

/* Results go to `args` behind the inputs. */
static kiln_status run(const text *t, const kiln_arg *args, size_t arg_count, kiln_error *err)
{
    return kiln__kept_text_run(args[0].value.array->ctx, t->text, t->names, t->count, args,
                               arg_count, err);
}

/* ---- parts along an axis ------------------------------------------------------------------------------ */

/* What the text gives, and what is wanted of it: values, then the places. */
enum { PARTS, PARTS_COUNT, FIRST, FIRST_COUNT, INVERSE, COUNTS, COUNTS_COUNT, GIVEN };

kiln_status kiln_array_unique_along(const kiln_array *array, int axis, kiln_array **out,
                                    kiln_array **first_out, kiln_array **inverse_out,
                                    kiln_array **counts_out, kiln_error *err)
{
    kiln_array **const outs[] = {out, first_out, inverse_out, counts_out};
    kiln_array *made[GIVEN] = {NULL}, *turned = NULL, *cut = NULL;
    kiln_axes swapped = {0};
    char said[160];
    kiln_arg args[GIVEN + 1];
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < KILN_COUNT_OF(outs); k++)
        if (outs[k] != NULL)
            *outs[k] = NULL;
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    const int at = axis < 0 ? axis + array->rank : axis;
    if (at < 0 || at >= array->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "unique: axis %d is out of range for rank %d", axis,
                          array->rank);
    snprintf(said, sizeof said,
             "unique(x, return_index=True, return_inverse=True, return_counts=True, axis=%d)", at);
    const text t = {said, {"x"}, 1};
    args[0] = kiln_arg_array((kiln_array *)array);
    for (int k = 0; k < GIVEN; k++)
        args[1 + k] = kiln_arg_out(&made[k]);
    KILN_TRY(kiln__fail_as("unique", run(&t, args, KILN_COUNT_OF(args), err), err));
    for (int a = 0; a < array->rank; a++) /* the axis comes first, and goes back */
        swapped.axis[swapped.count++] = a == 0 ? at : a == at ? 0 : a;
    KILN_TRY(kiln_array_transpose(made[PARTS], &swapped, &turned, err));
    KILN_TRY(kiln_array_first(turned, made[PARTS_COUNT], &cut, err));
    if (first_out != NULL)
        KILN_TRY(kiln_array_first(made[FIRST], made[FIRST_COUNT], first_out, err));
    if (counts_out != NULL)
        KILN_TRY(kiln_array_first(made[COUNTS], made[COUNTS_COUNT], counts_out, err));
    if (inverse_out != NULL)
        *inverse_out = kiln_array_retain(made[INVERSE]);
    status = kiln_array_transpose(cut, &swapped, out, err);

done:
    for (size_t k = 0; k < KILN_COUNT_OF(outs) && status != KILN_OK; k++) {
        kiln_array_release(outs[k] != NULL ? *outs[k] : NULL);
        if (outs[k] != NULL)
            *outs[k] = NULL;
    }
    for (int k = 0; k < GIVEN; k++)
        kiln_array_release(made[k]);
    kiln_array_release(turned);
    kiln_array_release(cut);
    return status;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static kiln_status of_sets(const text *t, const char *name, const kiln_array *x,
                           const kiln_array *y, kiln_array **out, kiln_array **count,
                           kiln_error *err)
{
    kiln_array *values = NULL, *number = NULL;
    kiln_status status = KILN_OK;

    if (count != NULL)
        *count = NULL;
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(x, NULL, "x", err));
    KILN_CHECK(kiln__array_check(y, x->ctx, "y", err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(y), kiln_arg_out(&values),
                             kiln_arg_out(&number)};
    KILN_TRY(kiln__fail_as(name, run(t, args, KILN_COUNT_OF(args), err), err));
    if (count == NULL) {
        KILN_TRY(kiln_array_first(values, number, out, err));
    } else {
        *out = values;
        *count = number;
        values = number = NULL;
    }

done:
    kiln_array_release(values);
    kiln_array_release(number);
    return status;
}

#define OF_SETS(NAME)                                                                              \
    kiln_status kiln_array_##NAME(const kiln_array *x, const kiln_array *y, kiln_array **out,      \
                                  kiln_array **count, kiln_error *err)                             \
    {                                                                                              \
        static const text t = {#NAME "(x, y)", {"x", "y"}, 2};                                     \
        return of_sets(&t, #NAME, x, y, out, count, err);                                          \
    }
OF_SETS(union1d)
OF_SETS(intersect1d)
OF_SETS(setdiff1d)
OF_SETS(setxor1d)

/* ---- random choices -------------------------------------------------------------------------- */

typedef struct choice {
    kiln_random *generator;
    kiln_context *ctx;
    int64_t n, size;
    bool replace;
    int rank;
    const int64_t *shape;
} choice;

/* Whether such numbers can be drawn at all. */
static kiln_status check_choice(choice *c, kiln_error *err)
{
    c->size = 1;
    if (c->rank < 0 || c->rank > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_SHAPE, "choice: a result of %d axes", c->rank);
    if (c->rank > 0)
        KILN_CHECK_NULL(c->shape, err);
    for (int a = 0; a < c->rank; a++)
        if (c->shape[a] < 0 || kiln__mul_overflow(c->size, c->shape[a], &c->size))
            return kiln__fail(err, KILN_ERR_SHAPE, "choice: the result cannot have that shape");
    if (c->n < 0 || (c->n == 0 && c->size > 0))
        return kiln__fail(err, KILN_ERR_RANGE, "choice: there are %lld numbers to choose from",
                          (long long)c->n);
    if (!c->replace && c->size > c->n)
        return kiln__fail(err, KILN_ERR_RANGE,
                          "choice: %lld of %lld numbers, each at most once, are too many",
                          (long long)c->size, (long long)c->n);
    return KILN_OK;
}

/* Wait for the probabilities to be known to be some. As in NumPy, their sum may be off by the root of the dtype's
 * epsilon. */
static kiln_status check_probabilities(const choice *c, const kiln_array *p, kiln_error *err)
{
    static const text t = {
        "q = float64(p);"
        "stack([sum(q), min(q), float64(sum(q > 0)), float64(spacing(p[0] * 0 + 1))])",
        {"p"},
        1};
    enum { SUM, LEAST, SOME, EPSILON, FACTS };
    double fact[FACTS];
    char shape[128];
    kiln_array *made = NULL;

    KILN_CHECK(kiln__array_check(p, c->ctx, "choice: the probabilities", err));
    if (kiln_dtype_kind(p->dtype) != 'f')
        return kiln__fail(err, KILN_ERR_DTYPE,
                          "choice: probabilities are of a floating-point dtype, not of %s",
                          kiln_dtype_name(p->dtype));
    if (p->rank != 1 || p->shape[0] != c->n)
        return kiln__fail(
            err, KILN_ERR_SHAPE, "choice: the probabilities of %lld numbers have the shape %s",
            (long long)c->n, kiln__shape_text(p->rank, p->shape, shape, sizeof shape));
    if (c->n == 0)
        return KILN_OK;
    const kiln_arg args[] = {kiln_arg_array(p), kiln_arg_out(&made)};
    kiln_status status = run(&t, args, KILN_COUNT_OF(args), err);
    if (status == KILN_OK)
        status = kiln_array_to_host(made, fact, sizeof fact, NULL, err);
    kiln_array_release(made);
    if (status != KILN_OK)
        return kiln__fail_as("choice", status, err);
    if (!(fact[LEAST] >= 0))
        return kiln__fail(err, KILN_ERR_RANGE, "choice: a probability is %g", fact[LEAST]);
    if (!(fabs(fact[SUM] - 1) <= sqrt(fact[EPSILON])))
        return kiln__fail(err, KILN_ERR_RANGE, "choice: the probabilities sum to %.10g, not to 1",
                          fact[SUM]);
    if (!c->replace && fact[SOME] < (double)c->size)
        return kiln__fail(
            err, KILN_ERR_RANGE,
            "choice: %lld numbers, each at most once, and %.0f have a probability that "
            "is not 0",
            (long long)c->size, fact[SOME]);
    return KILN_OK;
}

/* Where uniform numbers fall among the sums of probabilities. */
static kiln_status choose_often(const choice *c, const kiln_array *p, kiln_array **out,
                                kiln_error *err)
{
    static const text t = {
        "c = cumsum(float64(p)); searchsorted(c / c[-1], u, side='right')", {"p", "u"}, 2};
    kiln_array *uniform = NULL;

    KILN_CHECK(kiln_random_array(c->generator, c->ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT64,
                                 c->rank, c->shape, &uniform, err));
    const kiln_arg args[] = {kiln_arg_array(p), kiln_arg_array(uniform), kiln_arg_out(out)};
    const kiln_status status = run(&t, args, KILN_COUNT_OF(args), err);
    kiln_array_release(uniform);
    return status;
}

/* The first of exponential numbers over their probabilities to happen: who comes next is chosen among those that are
 * left, each by its probability. */
static kiln_status choose_once(const choice *c, const kiln_array *p, kiln_array **out,
                               kiln_error *err)
{
    kiln_array *times = NULL, *rates = NULL, *values = NULL, *places = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln_random_array(c->generator, c->ctx, KILN_DRAW_STANDARD_EXPONENTIAL, NULL, 0,
                               KILN_FLOAT64, 1, &c->n, &times, err));
    const kiln_arg args[] = {kiln_arg_array(p), kiln_arg_array(times)};
    KILN_TRY(kiln_array_op(KILN_OP_DIVIDE, args, KILN_COUNT_OF(args), NULL, &rates, err));
    KILN_TRY(kiln_array_topk(rates, c->size, NULL, &values, &places, err));
    KILN_TRY(kiln_array_reshape(places, c->rank, c->shape, out, err));

done:
    kiln_array_release(times);
    kiln_array_release(rates);
    kiln_array_release(values);
    kiln_array_release(places);
    return status;
}

/* Without probabilities: integers, or the first of a permutation. */
static kiln_status choose_evenly(const choice *c, kiln_array **out, kiln_error *err)
{
    const kiln_arg range[] = {kiln_arg_int(0), kiln_arg_int(c->n > 0 ? c->n : 1)};

    return kiln_random_array(c->generator, c->ctx,
                             c->replace ? KILN_DRAW_INTEGERS : KILN_DRAW_PERMUTATION,
                             c->replace ? range : range + 1, c->replace ? 2 : 1, KILN_INT64,
                             c->rank, c->shape, out, err);
}

kiln_status kiln_random_choice(kiln_random *generator, kiln_context *ctx, int64_t n,
                               const kiln_array *p, bool replace, int rank, const int64_t *shape,
                               kiln_array **out, kiln_error *err)
{
    choice c = {.generator = generator,
                .ctx = ctx,
                .n = n,
                .replace = replace,
                .rank = rank,
                .shape = shape};

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(generator, err);
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK(kiln__context_check(ctx, err));
    KILN_CHECK(check_choice(&c, err));
    if (p != NULL)
        KILN_CHECK(check_probabilities(&c, p, err));
    const kiln_random before = *generator;
    kiln_status status = p == NULL || c.size == 0 ? choose_evenly(&c, out, err)
                         : replace                ? choose_often(&c, p, out, err)
                                                  : choose_once(&c, p, out, err);
    if (status != KILN_OK)
        *generator = before;
    return kiln__fail_as("choice", status, err);
}

/* ---- vectors of a normal distribution -------------------------------------------------------- */

kiln_status kiln_random_multivariate_normal(kiln_random *generator, const kiln_array *mean,
                                            const kiln_array *covariance, int rank,
                                            const int64_t *shape, kiln_array **out, kiln_error *err)
{
    static const text t = {"z @ cholesky(cov).T + mean", {"z", "cov", "mean"}, 3};
    int64_t whole[KILN_RANK_MAX];
    kiln_array *normal = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(generator, err);
    KILN_CHECK(kiln__array_check(mean, NULL, "mean", err));
    KILN_CHECK(kiln__array_check(covariance, mean->ctx, "covariance", err));
    if (mean->rank != 1 || covariance->rank != 2 || covariance->shape[0] != mean->shape[0] ||
        covariance->shape[1] != mean->shape[0])
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "multivariate_normal: the mean is a vector, and the covariance a matrix "
                          "with as many rows and columns as it has elements");
    if (rank < 0 || rank >= KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_SHAPE, "multivariate_normal: a result of %d axes", rank);
    if (rank > 0)
        KILN_CHECK_NULL(shape, err);
    for (int a = 0; a < rank; a++)
        whole[a] = shape[a];
    whole[rank] = mean->shape[0];
    const kiln_random before = *generator;
    kiln_status status = kiln_random_array(generator, mean->ctx, KILN_DRAW_STANDARD_NORMAL, NULL, 0,
                                           KILN_FLOAT64, rank + 1, whole, &normal, err);
    const kiln_arg args[] = {kiln_arg_array(normal), kiln_arg_array(covariance),
                             kiln_arg_array(mean), kiln_arg_out(out)};
    if (status == KILN_OK)
        status = run(&t, args, KILN_COUNT_OF(args), err);
    kiln_array_release(normal);
    if (status != KILN_OK)
        *generator = before;
    return kiln__fail_as("multivariate_normal", status, err);
}
