/*
 * test_prelude_math.c - mathematical functions in snippets, real and complex, in both widths.
 *
 * Expected values come from data/prelude_math.txt and data/prelude_complex.txt, which mpmath made
 * (make_prelude.py). Errors are counted in units of the last place of the expected value; for
 * complex results the distance of the two numbers is, in units of the larger part's last place.
 * The worst error of each function is printed when $KILN_TEST_TABLE is set.
 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_data.h"
#include "test_env.h"

enum { POINTS_MAX = 128, LINE_BYTES = 512, ARGUMENTS_MAX = 2 };

/* A function, how a snippet calls it, and the error it may have. Where a function grows fast or
 * vector libraries answer for it, more than the usual is allowed; CUDA's own bounds are those of
 * its programming guide. */
typedef struct function {
    const char *name;
    int arguments;
    const char *op;     /* NULL: z = name(x) or z = name(x, y) */
    double ulps_float;  /* 0: 4 */
    double ulps_double; /* 0: 4 */
} function;

static const function real_functions[] = {
    {"sin", 1, NULL, 0, 0},
    {"cos", 1, NULL, 0, 0},
    {"tan", 1, NULL, 0, 0},
    {"asin", 1, NULL, 0, 0},
    {"acos", 1, NULL, 0, 0},
    {"atan", 1, NULL, 0, 0},
    {"sinh", 1, NULL, 0, 0},
    {"cosh", 1, NULL, 0, 0},
    {"tanh", 1, NULL, 0, 0},
    {"asinh", 1, NULL, 0, 0},
    {"acosh", 1, NULL, 0, 0},
    {"atanh", 1, NULL, 0, 0},
    {"exp", 1, NULL, 0, 0},
    {"exp2", 1, NULL, 0, 0},
    {"exp10", 1, NULL, 0, 0},
    {"expm1", 1, NULL, 0, 0},
    {"log", 1, NULL, 0, 0},
    {"log2", 1, NULL, 0, 0},
    {"log10", 1, NULL, 0, 0},
    {"log1p", 1, NULL, 0, 0},
    {"sqrt", 1, NULL, 0.5, 0.5},
    {"rsqrt", 1, NULL, 2, 2},
    {"cbrt", 1, NULL, 0, 0},
    {"rcbrt", 1, NULL, 0, 0},
    {"erf", 1, NULL, 0, 0},
    {"erfc", 1, NULL, 5, 5},
    {"erfinv", 1, NULL, 0, 6},
    {"erfcinv", 1, NULL, 5, 7},
    {"erfcx", 1, NULL, 5, 5},
    {"tgamma", 1, NULL, 11, 11},
    {"lgamma", 1, NULL, 6, 6},
    {"normcdf", 1, NULL, 6, 6},
    {"normcdfinv", 1, NULL, 6, 8},
    {"j0", 1, NULL, 9, 7},
    {"j1", 1, NULL, 9, 7},
    {"y0", 1, NULL, 9, 7},
    {"y1", 1, NULL, 9, 7},
    {"cyl_bessel_i0", 1, NULL, 6, 6},
    {"cyl_bessel_i1", 1, NULL, 6, 6},
    {"sinpi", 1, NULL, 0, 0},
    {"cospi", 1, NULL, 0, 0},
    {"pow", 2, NULL, 4, 4},
    {"atan2", 2, NULL, 4, 4},
    {"hypot", 2, NULL, 4, 4},
    {"rhypot", 2, NULL, 4, 4},
    {"fmod", 2, NULL, 0.5, 0.5},
    {"remainder", 2, NULL, 0.5, 0.5},
    {"fdim", 2, NULL, 0.5, 0.5},
};

static const function complex_functions[] = {
    {"exp", 1, NULL, 6, 6},
    {"log", 1, NULL, 0, 0},
    {"log10", 1, NULL, 5, 5},
    {"log2", 1, NULL, 5, 5},
    {"sqrt", 1, NULL, 0, 0},
    {"sin", 1, NULL, 6, 6},
    {"cos", 1, NULL, 6, 6},
    {"tan", 1, NULL, 10, 10},
    {"asin", 1, NULL, 8, 8},
    {"acos", 1, NULL, 8, 8},
    {"atan", 1, NULL, 6, 6},
    {"sinh", 1, NULL, 6, 6},
    {"cosh", 1, NULL, 6, 6},
    {"tanh", 1, NULL, 10, 10},
    {"asinh", 1, NULL, 8, 8},
    {"acosh", 1, NULL, 8, 8},
    {"atanh", 1, NULL, 6, 6},
    {"expm1", 1, NULL, 8, 8},
    {"log1p", 1, NULL, 6, 6},
    {"conj", 1, NULL, 0, 0.1},
    {"abs", 1, NULL, 0, 0},
    {"arg", 1, NULL, 0, 0},
    {"norm", 1, NULL, 0, 0},
    {"multiply", 2, "z = x * y", 2, 2},
    {"divide", 2, "z = x / y", 6, 6},
    {"pow", 2, NULL, 64, 64},
    {"polar", 2, "z = polar(x.real(), y.real())", 6, 6},
};

/* The rows of one function: `parts` numbers (1 real, 2 complex) an argument, and for the result. */
typedef struct points {
    size_t count;
    double argument[ARGUMENTS_MAX][2 * POINTS_MAX];
    double result[2 * POINTS_MAX];
} points;

static bool read_row(char *line, const function *f, int parts, points *p)
{
    char *place = NULL;
    const char *name = strtok_r(line, " \n", &place);
    if (name == NULL || strcmp(name, f->name) != 0)
        return false;
    assert_true(p->count < POINTS_MAX);
    for (int a = 0; a <= f->arguments; a++) {
        double *to = a < f->arguments ? p->argument[a] : p->result;
        for (int k = 0; k < parts; k++) {
            const char *word = strtok_r(NULL, " \n", &place);
            assert_non_null(word);
            to[parts * (int)p->count + k] = strtod(word, NULL);
        }
    }
    assert_null(strtok_r(NULL, " \n", &place));
    p->count++;
    return true;
}

static void read_points(const char *file, const function *f, int parts, points *p)
{
    char path[512], line[LINE_BYTES];
    FILE *in = fopen(test_data(file, path, sizeof path), "r");
    assert_non_null(in);
    p->count = 0;
    while (fgets(line, sizeof line, in) != NULL)
        read_row(line, f, parts, p);
    fclose(in);
    CHECK(p->count >= 3, "%s has %zu rows in %s", f->name, p->count, file);
}

/* ---- running a function ---------------------------------------------------------------------- */

/* `count` numbers as an array of `dtype`, which holds float32 or float64 parts. */
static kiln_array *to_device(test_env *t, const double *values, size_t count, int parts, bool wide)
{
    float narrow[2 * POINTS_MAX];
    kiln_array *array = NULL;
    const int64_t shape = (int64_t)count;
    const kiln_dtype dtypes[2][2] = {{KILN_FLOAT32, KILN_FLOAT64},
                                     {KILN_COMPLEX64, KILN_COMPLEX128}};
    for (size_t k = 0; k < count * (size_t)parts; k++)
        narrow[k] = (float)values[k];
    OK(t, kiln_array_from_host(t->ctx, dtypes[parts - 1][wide], 1, &shape,
                               wide ? (const void *)values : narrow, NULL, &array, &t->err));
    return array;
}

static void run(test_env *t, const function *f, int parts, bool wide, const points *p, double *got)
{
    char op[96];
    float narrow[2 * POINTS_MAX];
    kiln_elementwise *kernel = NULL;
    kiln_array *x = to_device(t, p->argument[0], p->count, parts, wide), *y = NULL, *z = NULL;
    const size_t numbers = p->count * (size_t)parts;

    if (f->op != NULL)
        snprintf(op, sizeof op, "%s", f->op);
    else
        snprintf(op, sizeof op, f->arguments == 1 ? "z = %s(x)" : "z = %s(x, y)", f->name);
    OK(t, kiln_elementwise_create(t->ctx, f->arguments == 1 ? "T x" : "T x, T y", "T z", op, NULL,
                                  &kernel, &t->err));
    if (f->arguments == 1) {
        OK(t, kiln_call(kernel, &t->err, x, &z));
    } else {
        y = to_device(t, p->argument[1], p->count, parts, wide);
        OK(t, kiln_call(kernel, &t->err, x, y, &z));
    }
    if (wide) {
        OK(t, kiln_array_to_host(z, got, numbers * sizeof(double), NULL, &t->err));
    } else {
        OK(t, kiln_array_to_host(z, narrow, numbers * sizeof(float), NULL, &t->err));
        for (size_t k = 0; k < numbers; k++)
            got[k] = narrow[k];
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_elementwise_destroy(kernel);
}

/* ---- judging a result ------------------------------------------------------------------------ */

/* The unit in the last place of a number as large as `v`. */
static double unit(double v, bool wide)
{
    int exponent;
    frexp(v, &exponent);
    const int digits = wide ? DBL_MANT_DIG : FLT_MANT_DIG, least = wide ? -1073 : -148;
    return ldexp(1, (exponent - digits > least - 1 ? exponent - digits : least - 1));
}

/* Error in units, or infinity where a special value differs. */
static double error_of(double got, double want, bool wide)
{
    if (isnan(want))
        return isnan(got) ? 0 : INFINITY;
    if (!wide && fabs(want) > FLT_MAX * (1 + 0x1p-25))
        want = copysign(INFINITY, want);
    if (isinf(want))
        return got == want ? 0 : INFINITY;
    return fabs(got - want) / unit(want, wide);
}

/* The square of a part may be all that a result's part is made of. */
static double complex_error(const double *got, const double *want, bool wide)
{
    if (!isfinite(want[0]) || !isfinite(want[1]) || (!wide && hypot(want[0], want[1]) > FLT_MAX))
        return fmax(error_of(got[0], want[0], wide), error_of(got[1], want[1], wide));
    const double large = fmax(fabs(want[0]), fabs(want[1]));
    const double distance = hypot(got[0] - want[0], got[1] - want[1]);
    return isnan(distance) ? INFINITY : distance / unit(large, wide);
}

static void check(test_env *t, const function *f, int parts, const char *file, double worst[2])
{
    static points p;
    double got[2 * POINTS_MAX];
    read_points(file, f, parts, &p);
    for (int wide = 0; wide < 2; wide++) {
        const double given = wide ? f->ulps_double : f->ulps_float,
                     allowed = given == 0 ? 4 : given;
        run(t, f, parts, wide, &p, got);
        worst[wide] = 0;
        for (size_t k = 0; k < p.count; k++) {
            const double *g = got + parts * (int)k, *w = p.result + parts * (int)k;
            const double *x = p.argument[0] + parts * (int)k, *y = p.argument[1] + parts * (int)k;
            if (!wide && (float)x[0] != x[0] && !isnan(x[0]))
                continue; /* meant for float64 */
            const double e = parts == 1 ? error_of(g[0], w[0], wide) : complex_error(g, w, wide);
            worst[wide] = fmax(worst[wide], e);
            CHECK(e <= allowed,
                  "%s, float%d: x = (%a, %a), y = (%a, %a): got (%a, %a), expected (%a, %a): %g "
                  "units, %g allowed",
                  f->name, wide ? 64 : 32, x[0], parts == 1 ? 0 : x[1],
                  f->arguments == 1 ? 0 : y[0], f->arguments == 1 || parts == 1 ? 0 : y[1], g[0],
                  parts == 1 ? 0 : g[1], w[0], parts == 1 ? 0 : w[1], e, allowed);
        }
    }
}

static void check_all(test_env *t, const function *functions, size_t count, int parts,
                      const char *file)
{
    const char *table = getenv("KILN_TEST_TABLE");
    for (size_t f = 0; f < count; f++) {
        double worst[2];
        if (table == NULL && !test_drawn(t))
            continue;
        check(t, &functions[f], parts, file, worst);
        if (table != NULL)
            print_message("%-14s float %8.2f ulp   double %8.2f ulp\n", functions[f].name, worst[0],
                          worst[1]);
    }
}

static void test_prelude_math__real_functions_are_close_to_the_exact_value(void **state)
{
    check_all(*state, real_functions, COUNT(real_functions), 1, "data/prelude_math.txt");
}

static void test_prelude_math__complex_functions_are_close_to_the_exact_value(void **state)
{
    check_all(*state, complex_functions, COUNT(complex_functions), 2, "data/prelude_complex.txt");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_prelude_math__real_functions_are_close_to_the_exact_value),
        TEST(test_prelude_math__complex_functions_are_close_to_the_exact_value),
    };
    return test_env_main(argc, argv, "test_prelude_math", tests, COUNT(tests));
}
