/*
 * test_prelude_each.c - every expression of prelude/expressions.txt in a kernel of its own: what a
 * section needs must come with it, and not by luck with another expression's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

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
    for (size_t k = 0; k < e.count; k++) {
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
