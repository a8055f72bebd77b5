/*
 * module_env.h - short ways to use modules, for their tests.
 */
#ifndef KILN_TESTS_MODULE_ENV_H
#define KILN_TESTS_MODULE_ENV_H

#include "test_env.h"

/* C++ that a compiler reads as one line. */
#define LINES(...) #__VA_ARGS__

static inline kiln_raw *kernel(test_env *t, kiln_module *m, const char *name, const char *signature)
{
    kiln_raw *k = NULL;

    OK(t, kiln_module_kernel(m, name, signature, &k, &t->err));
    assert_non_null(k);
    return k;
}

static inline kiln_array *upload(test_env *t, kiln_dtype dtype, int64_t count, const void *data)
{
    kiln_array *a = NULL;

    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &count, data, NULL, &a, &t->err));
    return a;
}

static inline void download(test_env *t, const kiln_array *a, void *data, size_t bytes)
{
    OK(t, kiln_array_to_host(a, data, bytes, NULL, &t->err));
}

static inline kiln_raw_call_options threads(int64_t blocks, int64_t block)
{
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;

    o.grid[0] = blocks;
    o.block[0] = block;
    return o;
}

#endif
