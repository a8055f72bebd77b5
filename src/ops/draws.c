/*
 * draws.c - distributions of random numbers: their dtypes, parameters and C++.
 *
 *     (distribution, dtype) > row > loop > text
 *
 * Rule: to add a distribution, add a value to KILN_DRAW_MAP (kiln/random.h), a row here, and its
 *       function to templates/prelude/random.h.
 */
#include <math.h>

#include "ops/ops.h"

/* What must hold of the parameters a and b. */
typedef enum limits {
    FREE,
    SPREAD,   /* b - a is finite */
    ORDERED,  /* a < b */
    POSITIVE, /* neither is negative */
    SCALED,   /* b is not negative */
    CHANCE,   /* 0 <= a <= 1 */
    MEAN,     /* a is a mean of int64 numbers */
    TRIALS    /* a is not negative, 0 <= b <= 1 */
} limits;

/* In an expression $0 $1 $2 are key, draw and index, $3 and $4 the parameters. */
typedef struct row {
    const char *types;  /* letters of ops.def that the result may have, the usual one first */
    const char *params; /* letters of the parameters; T: the result's */
    limits limits;
    const char *expression;
} row;

#define DRAWN "($0, $1, $2)"

static const row rows[] = {
    [KILN_DRAW_BITS] = {"QbBhHiIq", "", FREE, "kiln_random_bits<$T>" DRAWN},
    [KILN_DRAW_RANDOM] = {"deEf", "", FREE, "kiln_random_uniform<$T, $D>" DRAWN},
    [KILN_DRAW_UNIFORM] = {"deEf", "TT", SPREAD,
                           "$T($W($3) + ($W($4) - $W($3)) * $W(kiln_random_uniform<$T, $D>" DRAWN
                           "))"},
    [KILN_DRAW_STANDARD_NORMAL] = {"deEf", "", FREE, "$T(kiln_random_normal<$W>" DRAWN ")"},
    [KILN_DRAW_NORMAL] = {"deEf", "TT", SCALED,
                          "$T($W($3) + $W($4) * kiln_random_normal<$W>" DRAWN ")"},
    [KILN_DRAW_STANDARD_EXPONENTIAL] = {"deEf", "", FREE,
                                        "$T(kiln_random_exponential<$W>" DRAWN ")"},
    [KILN_DRAW_EXPONENTIAL] = {"deEf", "T", POSITIVE,
                               "$T($W($3) * kiln_random_exponential<$W>" DRAWN ")"},
    [KILN_DRAW_INTEGERS] = {"qbBhHiIQ", "TT", ORDERED,
                            "$T(kiln_drawn_integer<$T>(KILN_ATTEMPT $0, $1, $2, $3, $4))"},
    [KILN_DRAW_BERNOULLI] = {"?", "d", CHANCE, "kiln_random_bernoulli($0, $1, $2, $3)"},
    [KILN_DRAW_STANDARD_GAMMA] = {"deEf", "d", POSITIVE,
                                  "$T($W(kiln_drawn_gamma(KILN_ATTEMPT $0, $1, $2, $3)))"},
    [KILN_DRAW_GAMMA] = {"deEf", "dd", POSITIVE,
                         "$T($W($4 * kiln_drawn_gamma(KILN_ATTEMPT $0, $1, $2, $3)))"},
    [KILN_DRAW_POISSON] = {"qQ", "d", MEAN, "$T(kiln_drawn_poisson(KILN_ATTEMPT $0, $1, $2, $3))"},
    [KILN_DRAW_BINOMIAL] = {"qQ", "qd", TRIALS, "$T(kiln_random_binomial($0, $1, $2, $3, $4))"},
    [KILN_DRAW_PERMUTATION] = {"q", "q", POSITIVE,
                               "kiln_drawn_permuted(KILN_ATTEMPT $0, $1, $2, $3)"},
};

static const char *const names[] = {
#define NAME(WORD, value, text) [value] = text,
    KILN_DRAW_MAP(NAME)
#undef NAME
};

_Static_assert(KILN_COUNT_OF(rows) == KILN_COUNT_OF(names), "each distribution has a row");

bool kiln__draw_exists(kiln_draw draw)
{
    return (size_t)draw < KILN_COUNT_OF(rows) && rows[draw].types != NULL;
}

const char *kiln_draw_name(kiln_draw draw)
{
    return kiln__draw_exists(draw) ? names[draw] : "unknown";
}

size_t kiln__draw_params(kiln_draw draw)
{
    return strlen(rows[draw].params);
}

kiln_draw kiln__draw_named(const char *name, size_t bytes)
{
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++)
        if (names[k] != NULL && kiln__same_word(name, bytes, names[k]))
            return (kiln_draw)k;
    return (kiln_draw)0;
}

kiln_status kiln__draw_resolve(kiln_draw draw, kiln_dtype dtype, kiln__op_loop *loop,
                               kiln_dtype params[KILN__DRAW_PARAMS_MAX], kiln_error *err)
{
    const row *r = &rows[draw];
    const kiln_dtype type = dtype == KILN_DTYPE_NONE ? kiln__op_dtype(r->types[0]) : dtype;
    bool has = false;

    for (const char *t = r->types; *t != '\0'; t++)
        has = has || kiln__op_dtype(*t) == type;
    if (!has)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s has no numbers of dtype %s", names[draw],
                          kiln_dtype_name(type));
    memset(loop, 0, sizeof *loop);
    loop->type = loop->out = type;
    loop->calls = true;
    loop->expression = r->expression;
    for (size_t k = 0; r->params[k] != '\0'; k++)
        params[k] = r->params[k] == 'T' ? type : kiln__op_dtype(r->params[k]);
    return KILN_OK;
}

static double real_of(const kiln__number *n)
{
    return kiln__number_as(n, KILN_FLOAT64).value.f;
}

/* Whether two whole numbers are a < b. */
static bool is_below(const kiln__number *a, const kiln__number *b)
{
    if (a->kind == 'u' || b->kind == 'u')
        return a->kind != 'u' || (b->kind == 'u' && a->value.u < b->value.u);
    return a->value.i < b->value.i;
}

kiln_status kiln__draw_check(kiln_draw draw, const kiln__number *a, const kiln__number *b,
                             kiln_error *err)
{
    const char *name = names[draw];
    const double x = a != NULL ? real_of(a) : 1.0, y = b != NULL ? real_of(b) : 1.0;

    switch (rows[draw].limits) {
    case FREE:
        break;
    case SPREAD:
        if (a != NULL && b != NULL && !isfinite(y - x))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the range from %g to %g is not finite",
                              name, x, y);
        break;
    case ORDERED:
        if (a != NULL && b != NULL && !is_below(a, b))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: no integer is at least %.0f and below %.0f",
                              name, x, y);
        break;
    case POSITIVE:
    case SCALED:
        if (x < 0.0 && rows[draw].limits == POSITIVE)
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the parameter %g is negative", name, x);
        if (y < 0.0)
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the scale %g is negative", name, y);
        break;
    case CHANCE:
        if (!(x >= 0.0 && x <= 1.0))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the probability %g is not between 0 and 1",
                              name, x);
        break;
    case MEAN:
        if (!(x >= 0.0 && x <= 9.2e18))
            return kiln__fail(err, KILN_ERR_RANGE,
                              "%s: the mean %g is not between 0 and the largest int64", name, x);
        break;
    case TRIALS:
        if (x < 0.0)
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the number of trials is %.0f", name, x);
        if (!(y >= 0.0 && y <= 1.0))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the probability %g is not between 0 and 1",
                              name, y);
        break;
    }
    return KILN_OK;
}
