/*
 * frontend.h - short ways to make definitions, for the tests of src/codegen's front end.
 */
#ifndef KILN_TESTS_FRONTEND_H
#define KILN_TESTS_FRONTEND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/codegen.h"

/* A definition that must succeed; the caller destroys it. */
static inline kiln__definition *define_all(const char *in, const char *out, const char *preamble,
                                           const char *loop_prep, const char *op,
                                           const char *after_loop)
{
    kiln__definition_request request = {.name = "k", .in = in, .out = out};
    kiln__definition *def = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    request.snippet[KILN__SNIPPET_PREAMBLE] = preamble;
    request.snippet[KILN__SNIPPET_LOOP_PREP] = loop_prep;
    request.snippet[KILN__SNIPPET_OP] = op;
    request.snippet[KILN__SNIPPET_AFTER_LOOP] = after_loop;
    status = kiln__definition_create(&request, &def, &err);
    if (status != KILN_OK)
        print_error("(%s) -> (%s): %s\n%s\n", in, out, err.message,
                    err.detail != NULL ? err.detail : "");
    kiln_error_clear(&err);
    assert_int_equal(status, KILN_OK);
    assert_non_null(def);
    return def;
}

static inline kiln__definition *define(const char *in, const char *out, const char *op)
{
    return define_all(in, out, NULL, NULL, op, NULL);
}

#endif
