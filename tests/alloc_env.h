/* alloc_env.h - calls of which each allocation fails once. */
#ifndef KILN_ALLOC_ENV_H
#define KILN_ALLOC_ENV_H

#include "core/core.h"
#include "test_env.h"

#ifdef KILN_TEST_HOOKS

/* A call that gives an array of `x`. */
typedef kiln_status (*test_call_fn)(test_env *t, kiln_array *x, kiln_array **out);

/* Let allocation 0, 1, 2, ... of a call fail, until it succeeds: before, it is ERR_NO_MEMORY and gives nothing. */
static inline void test_allocations_fail(test_env *t, kiln_array *x, test_call_fn call)
{
    kiln_status status = KILN_ERR_NO_MEMORY;
    size_t nth = 0;

    for (; status != KILN_OK && nth < 3000; nth++) {
        kiln_array *y = NULL;

        kiln__test_alloc_fail_at(nth);
        status = call(t, x, &y);
        kiln__test_alloc_fail_at(SIZE_MAX);
        CHECK(status == KILN_OK || (status == KILN_ERR_NO_MEMORY && y == NULL),
              "allocation %zu: %s", nth, kiln_status_name(status));
        kiln_error_clear(&t->err);
        kiln_array_release(y);
    }
    CHECK(nth > 5 && status == KILN_OK, "%zu allocations", nth);
}

#endif
#endif
