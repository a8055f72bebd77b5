/*
 * linalg_env.h - elements of every dtype, as the tests of linear algebra know them.
 */
#ifndef KILN_TESTS_LINALG_ENV_H
#define KILN_TESTS_LINALG_ENV_H

#include <complex.h>

#include "test_env.h"

/* The number at place `at` of elements in memory; and the reverse, for numbers that the dtype holds (magnitudes
 * where it has no sign; bool: more than 1). */
double complex value_at(kiln_dtype dtype, const void *data, int64_t at);
void put_value(kiln_dtype dtype, void *data, int64_t at, double complex v);

/* Small integers, so that sums of products are exact in every dtype. */
kiln_array *random_array(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape);

/* The elements in C-order; free() them. */
void *elements(test_env *t, const kiln_array *x);
/* The sum of elements times 1, 2, 3, 1, 2, 3, ... */
double complex weigh(test_env *t, const kiln_array *y);

/* Half the distance from 1 to the next number; 0 for dtypes that are exact. */
double epsilon_of(kiln_dtype dtype);

#endif
