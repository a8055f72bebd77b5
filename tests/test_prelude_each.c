/*
 * test_prelude_each.c - every expression of prelude/expressions.txt in a kernel of its own: what a
 * section needs must come with it, and not by luck with another expression's. A run takes every fourth
 * expression, which ones by $KILN_TEST_SEED (without it by the time), with $KILN_TEST_ALL each of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "prelude/expressions.h"

static void compile_each(kiln_backend backend)
{
    static expressions e;
    kiln__target targets[64];

    if (kiln__compiler_targets(backend, targets, KILN_COUNT_OF(targets)) == 0) {
        print_message("no compiler for %s\n", backend == KILN_BACKEND_CUDA ? "cuda" : "cpu");
        skip();
    }
    expressions_load(&e);
    const char *const seed = getenv("KILN_TEST_SEED");
    const bool all = getenv("KILN_TEST_ALL") != NULL;
    const char *const share = getenv("KILN_TEST_SHARE");
    const size_t step = all ? 1 : share != NULL && atoi(share) > 0 ? (size_t)atoi(share) : 4;
    const size_t first = (size_t)(seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL)) % step;
    print_message("from expression %zu on, in steps of %zu\n", first, step);
    for (size_t k = first; k < e.count; k += step) {
        kiln__buf op = KILN__BUF_INIT;
        expressions_put(e.text[k], NULL, &op);
        assert_false(op.failed);
        char *source = expressions_source(backend, "", op.text);
        assert_true(expressions_compile(&targets[0], source, e.text[k]));
        kiln__free(source);
        kiln__buf_clear(&op);
    }
    expressions_free(&e);
}

static void test_prelude_each__compiles_alone_for_a_gpu(void **state)
{
    (void)state;
    compile_each(KILN_BACKEND_CUDA);
}

static void test_prelude_each__compiles_alone_for_a_cpu(void **state)
{
    (void)state;
    compile_each(KILN_BACKEND_CPU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prelude_each__compiles_alone_for_a_gpu),
        cmocka_unit_test(test_prelude_each__compiles_alone_for_a_cpu),
    };
    return cmocka_run_group_tests_name("test_prelude_each", tests, NULL, NULL);
}
