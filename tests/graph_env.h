/*
 * graph_env.h - what the tests of graphs have in common: arrays of known numbers, and their values
 * read back.
 */
#ifndef KILN_GRAPH_ENV_H
#define KILN_GRAPH_ENV_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

static inline kiln_graph *graph_begin(test_env *t)
{
    kiln_graph *g = NULL;
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    return g;
}

/* How many kernels a call launches. */
#define KERNELS(t, g, ...) graph_kernels((t), (g), KILN_ARGS(__VA_ARGS__))
static inline size_t graph_kernels(test_env *t, kiln_graph *g, const kiln_arg *args, size_t count)
{
    size_t kernels = 0;
    OK(t, kiln_graph_kernel_count(g, args, count, &kernels, &t->err));
    return kernels;
}

/* Numbers that are small, of both signs, and no pattern. */
static inline double graph_number(size_t k)
{
    return (double)((k * 2654435761u >> 7) % 2001) / 500.0 - 2.0;
}

/* An array of them, in C-order; the values as doubles into `values` unless it is NULL. */
static inline kiln_array *graph_array(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                                      double *values)
{
    kiln_array *wide = NULL, *made = NULL;
    int64_t size = 1;
    for (int a = 0; a < rank; a++)
        size *= shape[a];
    double *data = calloc((size_t)size + 1, sizeof *data);
    for (size_t k = 0; k < (size_t)size; k++)
        data[k] = graph_number(k);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, shape, data, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &made, &t->err));
    kiln_array_release(wide);
    OK(t, kiln_array_cast(made, KILN_FLOAT64, &wide, &t->err)); /* as rounded */
    if (values != NULL && size > 0)
        OK(t, kiln_array_to_host(wide, values, (size_t)size * sizeof *values, NULL, &t->err));
    kiln_array_release(wide);
    free(data);
    return made;
}

/* The elements of a real array as doubles, in C-order. */
static inline void graph_fetch(test_env *t, const kiln_array *a, double *values, size_t count)
{
    kiln_array *wide = NULL;
    assert_int_equal(kiln_array_size(a), count);
    OK(t, kiln_array_cast(a, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, values, count * sizeof *values, NULL, &t->err));
    kiln_array_release(wide);
}

static inline void graph_near(double got, double want, double tolerance, size_t at)
{
    if (isnan(got) && isnan(want))
        return;
    CHECK(got == want || fabs(got - want) <= tolerance * (1 + fabs(want)),
          "element %zu: %.9g, not %.9g", at, got, want);
}

#endif
