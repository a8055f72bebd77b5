/*
 * test_plan_random.c - no definition, shape or axis makes a planner stumble.
 *
 * Random lines of manifests of every family are planned for both backends and devices of all sizes,
 * and the first kernels of each are generated: parameters that are raw, `_non_const` or numbers,
 * axes of 0, 1 and 2^31 elements, results without inputs. A line may be refused; planning it must
 * neither divide by zero nor overflow, which the sanitizers of CI tell, and what is planned must be
 * a variant that its own text gives back.
 *
 * $KILN_TEST_ROUNDS: how many lines (default 1500); $KILN_TEST_SEED: the first one's seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "manifest/manifest.h"
#include "warm/warm.h"

enum { ROUNDS = 1500, SOURCES_PER_LINE = 2, PARAMS_MAX = 5 };

/* ---- chance ---- */

static uint64_t chance_state;

/* xorshift64*: enough for tests, the same everywhere. */
static uint64_t chance(uint64_t below)
{
    chance_state ^= chance_state >> 12;
    chance_state ^= chance_state << 25;
    chance_state ^= chance_state >> 27;
    return chance_state * UINT64_C(2685821657736338717) % below;
}

static bool one_in(uint64_t n)
{
    return chance(n) == 0;
}

#define PICK(list) ((list)[chance(sizeof(list) / sizeof((list)[0]))])

/* ---- lines ---- */

static const char *const TYPES[] = {"T",       "T",         "U",          "float32", "int8",
                                    "float64", "complex64", "complex128", "bool",    "float16"};
static const char *const DTYPES[] = {"float32", "int8", "float64", "int16", "bool", "complex64"};

static void put_inputs(kiln__buf *b, int count)
{
    static const char *const KINDS[] = {"", "", "", "raw ", "_non_const ", "_non_const "};

    for (int k = 0; k < count; k++)
        kiln__buf_printf(b, "%s%s%s x%d", k > 0 ? ", " : "", PICK(KINDS), PICK(TYPES), k);
}

static void put_outputs(kiln__buf *b, int count, bool raw)
{
    for (int k = 0; k < count; k++)
        kiln__buf_printf(b, "%s%s%s y%d", k > 0 ? ", " : "", raw && one_in(5) ? "raw " : "",
                         PICK(TYPES), k);
}

static void put_texts(kiln__buf *b, int inputs, int outputs)
{
    static const char *const MAPS[] = {"x0", "x0 * 2", "1", "x0 + (int)i", "fabs(x0)"};
    static const char *const REDUCES[] = {"a + b", "a < b ? a : b", "a * b"};
    static const char *const MORE[] = {"",
                                       "",
                                       ", \"identity\": \"0\"",
                                       ", \"identity\": \"0\", \"reduce_type\": \"double\"",
                                       ", \"identity\": \"0\", \"reduce_type\": \"long long\"",
                                       ", \"reduce_type\": \"float\""};

    kiln__buf_printf(b, ", \"map\": \"%s\", \"reduce\": \"%s\", \"post\": \"",
                     inputs > 0 ? PICK(MAPS) : "1", PICK(REDUCES));
    for (int k = 0; k < outputs; k++)
        kiln__buf_printf(b, "y%d = a; ", k);
    kiln__buf_printf(b, "\"%s", PICK(MORE));
}

static void put_loop(kiln__buf *b, int inputs, int outputs)
{
    kiln__buf_puts(b, ", \"op\": \"");
    for (int k = 0; k < outputs; k++)
        kiln__buf_printf(b, "y%d = %s; ", k, inputs > 0 && !one_in(4) ? "x0" : "i");
    kiln__buf_puts(b, one_in(8) ? "int q = _ind.size();\"" : "\"");
    if (one_in(8))
        kiln__buf_puts(b, ", \"keep_axes\": true");
}

static void put_stages(kiln__buf *b, int inputs, int outputs)
{
    const int stages = 1 + (int)chance(3);

    kiln__buf_puts(b, ", \"stages\": [");
    for (int s = 0; s < stages; s++)
        kiln__buf_printf(b,
                         "%s{\"map\": \"%s\", \"type\": \"%s\", \"reduce\": \"a + b\", "
                         "\"identity\": \"0\", \"result\": \"r%d\"}",
                         s > 0 ? ", " : "", inputs > 0 ? "x0" : "1", one_in(2) ? "float" : "double",
                         s);
    kiln__buf_puts(b, "], \"op\": \"");
    for (int k = 0; k < outputs; k++)
        kiln__buf_printf(b, "y%d = r0; ", k);
    kiln__buf_puts(b, "\"");
    if (one_in(3))
        kiln__buf_puts(b, ", \"row_out\": \"float m\", \"post\": \"m = r0\"");
}

static void put_shape(kiln__buf *b, int rank)
{
    static const int64_t EXTENTS[] = {
        1,  1,   1,   2,    3,    4,    7,    8,    16,    17,    32,      33,
        64, 100, 256, 1000, 1024, 1025, 4096, 5000, 65536, 65537, 1 << 20, INT64_C(1) << 31};
    int64_t size = 1;

    kiln__buf_puts(b, "[");
    for (int a = 0; a < rank; a++) {
        int64_t extent = PICK(EXTENTS);
        if (extent > (INT64_C(1) << 44) / size)
            extent = 1;
        size *= extent > 0 ? extent : 1;
        kiln__buf_printf(b, "%s%lld", a > 0 ? ", " : "", (long long)extent);
    }
    kiln__buf_puts(b, "]");
}

static void put_call(kiln__buf *b, bool has_axes, bool scan, int inputs)
{
    const int rank = (int)chance(5);

    if (!one_in(6)) {
        kiln__buf_puts(b, ", \"shapes\": [");
        put_shape(b, rank);
        kiln__buf_puts(b, "]");
    }
    if (has_axes && rank > 0 && one_in(2)) {
        const int axis = (int)chance((uint64_t)rank);
        if (!scan && one_in(2) && axis + 1 < rank)
            kiln__buf_printf(b, ", \"axes\": [[%d, %d]]", axis, axis + 1);
        else
            kiln__buf_printf(b, ", \"axes\": [%d]", axis);
    }
    if (inputs > 0 && one_in(3)) {
        kiln__buf_puts(b, ", \"scalars\": [");
        for (int k = 0, put = 0; k < inputs; k++)
            if (one_in(2))
                kiln__buf_printf(b, "%s\"x%d\"", put++ > 0 ? ", " : "", k);
        kiln__buf_puts(b, "]");
    }
}

static void put_line(kiln__buf *b)
{
    static const char *const KINDS[] = {"elementwise", "reduction", "scan", "scan", "row"};
    const char *kind = PICK(KINDS);
    const bool loop = kind[0] == 'e', scan = kind[0] == 's', row = kind[1] == 'o';
    const int inputs = (int)chance(PARAMS_MAX), outputs = 1 + (int)chance(row ? 2 : 3);

    kiln__buf_printf(b, "{\"kind\": \"%s\", \"in\": \"", kind);
    put_inputs(b, inputs);
    kiln__buf_puts(b, "\", \"out\": \"");
    put_outputs(b, scan ? 1 : outputs, loop);
    kiln__buf_puts(b, "\"");
    if (loop)
        put_loop(b, inputs, outputs);
    else if (row)
        put_stages(b, inputs, outputs);
    else
        put_texts(b, inputs, scan ? 1 : outputs);
    put_call(b, !loop, scan, inputs);
    if (scan && one_in(3))
        kiln__buf_puts(b, ", \"exclusive\": true");
    if (scan && one_in(3))
        kiln__buf_puts(b, ", \"reverse\": true");
    const bool t = strstr(b->text, "T x") != NULL || strstr(b->text, "T y") != NULL;
    const bool u = strstr(b->text, "U x") != NULL || strstr(b->text, "U y") != NULL;
    kiln__buf_puts(b, ", \"types\": [{");
    if (t)
        kiln__buf_printf(b, "\"T\": \"%s\"%s", PICK(DTYPES), u ? ", " : "");
    if (u)
        kiln__buf_printf(b, "\"U\": \"%s\"", PICK(DTYPES));
    kiln__buf_puts(b, "}]}");
}

/* ---- planning ---- */

typedef struct outcome {
    int planned, left; /* kernels in all; sources that are still to be generated */
} outcome;

static kiln_status take(void *user, const kiln__definition *def, const kiln__variant *variant,
                        kiln_error *err)
{
    outcome *o = user;
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln__buf text = KILN__BUF_INIT;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__variant back;
    size_t at = 0, width = 0;
    kiln_status status = KILN_OK;

    o->planned++;
    for (size_t p = 0; p < def->param_count; p++)
        dtypes[p] = (kiln_dtype)variant->dtype[p];
    kiln__variant_print(variant, &text);
    assert_false(text.failed);
    status = kiln__variant_parse(text.text, def, dtypes, &back, &at, &width, err);
    if (status == KILN_OK && memcmp(&back, variant, sizeof back) != 0)
        fail_msg("another variant comes back from: %s", text.text);
    if (status == KILN_OK && o->left-- > 0)
        status = kiln__emit(def, variant, &source, err);
    kiln__source_clear(&source);
    kiln__buf_clear(&text);
    return status;
}

static int plan_line(const char *line, kiln_backend backend)
{
    kiln__manifest *m = kiln__manifest_of_families();
    kiln_error err = KILN_ERROR_INIT;
    outcome o = {.left = SOURCES_PER_LINE};
    kiln_status status = kiln__manifest_read(m, "m", line, strlen(line), NULL, NULL, &err);

    if (status != KILN_OK)
        fail_msg("%s\n%s\n%s", line, err.message, err.detail != NULL ? err.detail : "");
    status = kiln__warm_expand(kiln__manifest_at(m, 0), backend, take, &o, &err);
    /* A line may make no sense; what is not the line's fault has one of these statuses. */
    if (status != KILN_OK && getenv("KILN_TEST_SHOW") != NULL)
        fprintf(stderr, "    %s\n", err.message);
    if (status == KILN_ERR_INTERNAL || status == KILN_ERR_NO_MEMORY)
        fail_msg("%s\n%d: %s", line, (int)status, err.message);
    kiln_error_clear(&err);
    kiln__manifest_destroy(m);
    return o.planned;
}

static void test_plan_random__lines_of_every_family_are_planned(void **state)
{
    const char *rounds = getenv("KILN_TEST_ROUNDS"), *seed = getenv("KILN_TEST_SEED");
    const long count = rounds != NULL ? atol(rounds) : ROUNDS;
    const uint64_t first = seed != NULL ? strtoull(seed, NULL, 0) : 20261;
    long planned = 0;

    (void)state;
    for (long k = 0; k < count; k++) {
        kiln__buf line = KILN__BUF_INIT;

        chance_state = (first + (uint64_t)k) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        put_line(&line);
        assert_false(line.failed);
        if (getenv("KILN_TEST_SHOW") != NULL)
            fprintf(stderr, "%s\n", line.text);
        planned += plan_line(line.text, KILN_BACKEND_CUDA) > 0;
        planned += plan_line(line.text, KILN_BACKEND_CPU) > 0;
        kiln__buf_clear(&line);
    }
    print_message("%ld of %ld lines were planned\n", planned, 2 * count);
    assert_true(planned > count / 2); /* most are no nonsense */
}

/* It made the planner divide by the bytes of inputs that are only read. */
static void test_plan_random__a_scan_may_assign_to_its_only_input(void **state)
{
    static const char line[] =
        "{\"kind\": \"scan\", \"in\": \"_non_const T x\", \"out\": \"T y\", \"map\": \"x\", "
        "\"reduce\": \"a + b\", \"post\": \"y = a\", \"types\": [{\"T\": \"float32\"}]}";

    (void)state;
    assert_true(plan_line(line, KILN_BACKEND_CUDA) > 0);
    assert_true(plan_line(line, KILN_BACKEND_CPU) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_random__a_scan_may_assign_to_its_only_input),
        cmocka_unit_test(test_plan_random__lines_of_every_family_are_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
