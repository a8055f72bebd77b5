/*
 * expressions.c - see expressions.h.
 */
#include "prelude/expressions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_data.h"

/* What a line stands for under each heading: once for each row. */
static const struct {
    const char *heading;
    const char *prologue;
    const char *epilogue;
} kinds[] = {
    {"[half]", "typedef float16 T; T x = T(f), y = T(d);", "f += (float)x;"},
    {"[half]", "typedef bfloat16 T; T x = T(f), y = T(d);", "f += (float)x;"},
    {"[complex]", "typedef float R; typedef complex<R> T; T w(f, f), v(f, 2); R t = f;",
     "f += w.real() + (float)t;"},
    {"[complex]", "typedef double R; typedef complex<R> T; T w(f, f), v(f, 2); R t = f;",
     "f += w.real() + (float)t;"},
    {"[complex]", "typedef float R; typedef thrust::complex<R> T; T w(f, f), v(f, 2); R t = f;",
     "f += w.real() + (float)t;"},
    {"[number]", "", ""},
};

static const char variables[] =
    "double d = sum; float f = (float)d; int i = (int)d; long long ll = i; long l = i; unsigned u "
    "= i;\n"
    "unsigned long ul = i; unsigned long long ull = i; short s = i; signed char c = i;\n"
    "unsigned char uc = i; bool b = i != 0;\n";
static const char sink[] = "sum = f + d + i + ll + l + u + ul + ull + s + c + uc + b;\n";

static void add(expressions *e, size_t kind, const char *line)
{
    kiln__buf text = KILN__BUF_INIT;
    assert_true(e->count < EXPRESSIONS_MAX);
    kiln__buf_printf(&text, "%s %s %s", kinds[kind].prologue, line, kinds[kind].epilogue);
    e->text[e->count] = kiln__buf_take(&text);
    assert_non_null(e->text[e->count++]);
}

void expressions_load(expressions *e)
{
    char path[512], line[1024], heading[32] = "";
    FILE *in = fopen(test_data("prelude/expressions.txt", path, sizeof path), "r");
    assert_non_null(in);
    e->count = 0;
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '[')
            snprintf(heading, sizeof heading, "%.31s", line);
        if (line[0] == '[' || line[0] == '#' || line[0] == '\0')
            continue;
        for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++)
            if (strcmp(kinds[k].heading, heading) == 0)
                add(e, k, line);
    }
    fclose(in);
    assert_true(e->count > 400);
}

void expressions_free(expressions *e)
{
    for (size_t k = 0; k < e->count; k++)
        kiln__free(e->text[k]);
    e->count = 0;
}

void expressions_put(const char *text, const char *name, kiln__buf *out)
{
    if (name != NULL)
        kiln__buf_printf(out, "__device__ void %s(double &sum)\n{\n", name);
    kiln__buf_printf(out, "%s%s\n%s%s", variables, text, sink, name != NULL ? "}\n" : "");
}

char *expressions_source(kiln_backend backend, const char *preamble, const char *op)
{
    static const int64_t shape[1] = {4096}, strides[1] = {8};
    static const kiln_dtype dtypes[1] = {KILN_FLOAT64};
    const kiln__definition_request request = {
        .name = "expression",
        .in = "",
        .out = "float64 sum",
        .snippet = {[KILN__SNIPPET_PREAMBLE] = preamble, [KILN__SNIPPET_OP] = op}};
    const kiln__operand sum = {.is_array = true,
                               .written = true,
                               .contiguous = true,
                               .itemsize = 8,
                               .rank = 1,
                               .shape = shape,
                               .strides = strides,
                               .address = 4096};
    kiln_error err = KILN_ERROR_INIT;
    kiln__definition *def = NULL;
    kiln__plan *plan = kiln__calloc(1, sizeof *plan);
    kiln__source source = KILN__SOURCE_INIT;

    assert_non_null(plan);
    if (kiln__definition_create(&request, &def, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, err.detail != NULL ? err.detail : "");
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {backend, 1, false, false},
                                          .dtypes = dtypes,
                                          .operands = &sum,
                                          .rank = 1,
                                          .shape = shape},
                    plan);
    if (kiln__emit(def, &plan->variant, &source, &err) != KILN_OK)
        fail_msg("%s", err.message);
    char *text = source.text;
    source.text = NULL;
    kiln__source_clear(&source);
    kiln__free(plan);
    kiln__definition_destroy(def);
    return text;
}

/* The first line of a log that warns of text which no user wrote, or NULL. Heap text. */
static char *foreign_warning(const char *log)
{
    for (const char *line = log, *end; line != NULL && *line != '\0'; line = end) {
        end = strchr(line, '\n');
        end = end != NULL ? end + 1 : line + strlen(line);
        char *copy = kiln__strndup(line, (size_t)(end - line));
        assert_non_null(copy);
        if (strstr(copy, ": warning") != NULL && strncmp(copy, "op", 2) != 0 &&
            strncmp(copy, "preamble", 8) != 0)
            return copy;
        kiln__free(copy);
    }
    return NULL;
}

bool expressions_compile(const kiln__target *target, const char *source, const char *what)
{
    const kiln__compile_request request = {.target = *target, .source = source};
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_error err = KILN_ERROR_INIT;
    const kiln_status status = kiln__compile(&request, &result, &err);

    if (status == KILN_ERR_NO_NVRTC || status == KILN_ERR_NO_COMPILER) {
        kiln_error_clear(&err);
        return false;
    }
    if (status != KILN_OK)
        fail_msg("%s: %s: %s\n%s", target->name, what, err.message,
                 result.log != NULL ? result.log : "");
    char *warning = foreign_warning(result.log);
    if (warning != NULL)
        fail_msg("%s: %s: %s", target->name, what, warning);
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
    return true;
}
