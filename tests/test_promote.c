/*
 * test_promote.c - the dtypes of results: promotion, plain numbers, and the loop of every
 * operation for every dtype or pair of dtypes, all as NumPy says (data/make_promote.py).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/ops.h"
#include "test_data.h"

enum { LINE_BYTES = 1024, LETTER_COUNT = 15 };

static const char letters[] = "?bhiqBHIQeEfdFD";
static const kiln_dtype dtypes[LETTER_COUNT] = {
    KILN_BOOL,     KILN_INT8,    KILN_INT16,   KILN_INT32,     KILN_INT64,
    KILN_UINT8,    KILN_UINT16,  KILN_UINT32,  KILN_UINT64,    KILN_FLOAT16,
    KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128,
};

static char letter_of(kiln_dtype dtype)
{
    for (int k = 0; k < LETTER_COUNT; k++)
        if (dtypes[k] == dtype)
            return letters[k];
    return '.';
}

static kiln_dtype dtype_of(char letter)
{
    const char *at = strchr(letters, letter);
    return at != NULL && letter != '\0' ? dtypes[at - letters] : KILN_DTYPE_NONE;
}

static kiln__op_type array_of(kiln_dtype dtype)
{
    kiln__op_type t = {.dtype = dtype};
    return t;
}

/* Call `check` with every line that begins with `word`, cut into words; there must be `least`. */
typedef void (*line_check)(char **words, int count);
static void each_line(const char *word, int least, line_check check)
{
    char path[512], line[LINE_BYTES];
    FILE *f = fopen(test_data("data/promote.txt", path, sizeof path), "r");
    int found = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        char *words[8], *place = NULL;
        int count = 0;
        for (char *w = strtok_r(line, " \n", &place); w != NULL && count < 8;
             w = strtok_r(NULL, " \n", &place))
            words[count++] = w;
        if (count == 0 || strcmp(words[0], word) != 0)
            continue;
        check(words, count);
        found++;
    }
    fclose(f);
    assert_true(found >= least);
}

/* ---- promotion ------------------------------------------------------------------------------- */

static void check_pairs(char **words, int count)
{
    assert_int_equal(count, 2);
    assert_int_equal(strlen(words[1]), LETTER_COUNT * LETTER_COUNT);
    for (int a = 0; a < LETTER_COUNT; a++) {
        for (int b = 0; b < LETTER_COUNT; b++) {
            const char want = words[1][a * LETTER_COUNT + b];
            kiln_dtype got = KILN_DTYPE_NONE;
            assert_true(kiln__promote(dtypes[a], dtypes[b], &got));
            if (want != '_' && letter_of(got) != want)
                fail_msg("%s and %s make %s, not '%c'", kiln_dtype_name(dtypes[a]),
                         kiln_dtype_name(dtypes[b]), kiln_dtype_name(got), want);
        }
    }
}

static void test_promote__two_dtypes_as_numpy(void **state)
{
    (void)state;
    each_line("pair", 1, check_pairs);
}

static void test_promote__bfloat16_beside_what_numpy_does_not_know(void **state)
{
    (void)state;
    const struct {
        kiln_dtype with, want;
    } rows[] = {
        {KILN_INT16, KILN_FLOAT32},   {KILN_UINT16, KILN_FLOAT32}, {KILN_INT32, KILN_FLOAT64},
        {KILN_UINT32, KILN_FLOAT64},  {KILN_INT64, KILN_FLOAT64},  {KILN_UINT64, KILN_FLOAT64},
        {KILN_FLOAT16, KILN_FLOAT32},
    };
    for (size_t k = 0; k < KILN_COUNT_OF(rows); k++) {
        kiln_dtype got = KILN_DTYPE_NONE, back = KILN_DTYPE_NONE;
        assert_true(kiln__promote(KILN_BFLOAT16, rows[k].with, &got));
        assert_true(kiln__promote(rows[k].with, KILN_BFLOAT16, &back));
        assert_int_equal(got, rows[k].want);
        assert_int_equal(back, rows[k].want);
    }
}

static void test_promote__no_dtype_has_nothing_in_common(void **state)
{
    kiln_dtype got = KILN_DTYPE_NONE;
    (void)state;
    assert_false(kiln__promote(KILN_DTYPE_NONE, KILN_INT8, &got));
    assert_false(kiln__promote(KILN_INT8, (kiln_dtype)99, &got));
    assert_false(kiln__result_type(NULL, 0, &got));
}

static void check_triple(char **words, int count)
{
    kiln__op_type in[3];
    kiln_dtype got = KILN_DTYPE_NONE;
    assert_int_equal(count, 3);
    for (int k = 0; k < 3; k++)
        in[k] = array_of(dtype_of(words[1][k]));
    assert_true(kiln__result_type(in, 3, &got));
    if (letter_of(got) != words[2][0])
        fail_msg("%s make %s, not '%s'", words[1], kiln_dtype_name(got), words[2]);
}

static void test_promote__three_dtypes_as_numpy(void **state)
{
    (void)state;
    each_line("triple", 300, check_triple);
}

/* ---- plain numbers --------------------------------------------------------------------------- */

static kiln__number number_of(char kind, const char *text)
{
    kiln__number n = {.kind = kind};
    if (kind == 'b')
        n.value.b = text[0] == '1';
    else if (kind == 'i')
        n.value.i = strtoll(text, NULL, 10);
    else if (kind == 'u')
        n.value.u = strtoull(text, NULL, 10);
    else if (kind == 'f')
        n.value.f = strtod(text, NULL);
    else
        n.value.c[1] = strtod(text, NULL);
    return n;
}

static void check_number(char **words, int count)
{
    assert_int_equal(count, 5);
    const kiln__op *op = kiln__op_named(words[1], strlen(words[1]));
    const bool one_way = strcmp(words[1], "power") == 0;
    assert_non_null(op);
    for (int k = 0; k < LETTER_COUNT; k++) {
        const char want = words[4][k];
        const kiln__op_type number = {.weak = true, .number = number_of(words[2][0], words[3])};
        const kiln__op_type in[2] = {array_of(dtypes[k]), number};
        const kiln__op_type back[2] = {number, array_of(dtypes[k])};
        kiln__op_loop loop, other;
        const kiln_status status = kiln__op_resolve(op, in, &loop, NULL);
        if (!one_way)
            assert_int_equal(kiln__op_resolve(op, back, &other, NULL), status);
        /* NumPy has no comparison of bools with integers beyond int64; ours is as any other. */
        if (want == '_' || (want == '!' && strcmp(words[1], "less") == 0))
            continue;
        const char got = status == KILN_ERR_RANGE   ? '!'
                         : status == KILN_ERR_DTYPE ? '.'
                                                    : letter_of(loop.out);
        assert_true(status == KILN_OK || got == '!' || got == '.');
        if (got != want)
            fail_msg("%s of %s and the number %s makes '%c', not '%c'", op->name,
                     kiln_dtype_name(dtypes[k]), words[3], got, want);
        if (status == KILN_OK && !one_way)
            assert_int_equal(loop.out, other.out);
    }
}

static void test_promote__plain_numbers_as_numpy(void **state)
{
    (void)state;
    each_line("number", 190, check_number);
}

static void test_promote__a_plain_float_leaves_bfloat16(void **state)
{
    const kiln__op_type in[2] = {array_of(KILN_BFLOAT16),
                                 {.weak = true, .number = {.kind = 'f', .value.f = 1.5}}};
    kiln_dtype got = KILN_DTYPE_NONE;
    (void)state;
    assert_true(kiln__result_type(in, 2, &got));
    assert_int_equal(got, KILN_BFLOAT16);
}

static void test_promote__a_number_out_of_range_is_named(void **state)
{
    const kiln__op_type in[2] = {array_of(KILN_UINT8),
                                 {.weak = true, .number = {.kind = 'i', .value.i = 300}}};
    kiln__op_loop loop;
    kiln_error err = KILN_ERROR_INIT;
    (void)state;
    assert_int_equal(kiln__op_resolve(kiln__op_find(KILN_OP_ADD), in, &loop, &err), KILN_ERR_RANGE);
    assert_non_null(strstr(err.message, "add"));
    assert_non_null(strstr(err.message, "300"));
    assert_non_null(strstr(err.message, "uint8"));
    kiln_error_clear(&err);
}

static void test_promote__a_comparison_takes_any_plain_integer(void **state)
{
    kiln__op_type in[2] = {array_of(KILN_UINT8),
                           {.weak = true, .number = {.kind = 'i', .value.i = -1}}};
    kiln__op_loop loop;
    (void)state;
    assert_int_equal(kiln__op_resolve(kiln__op_find(KILN_OP_LESS), in, &loop, NULL), KILN_OK);
    assert_int_equal(loop.in[0], KILN_INT64);
    assert_int_equal(loop.in[1], KILN_INT64);
    assert_int_equal(loop.out, KILN_BOOL);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void check_case(const kiln__op *op, const kiln__op_type *in, const char *name, char want_in,
                       char want_out)
{
    kiln__op_loop loop;
    kiln_error err = KILN_ERROR_INIT;
    const kiln_status status = kiln__op_resolve(op, in, &loop, &err);
    const bool ok = status == KILN_OK;
    const char got_in = ok ? letter_of(loop.in[0]) : '.';
    const char got_out = ok ? letter_of(loop.out) : '.';

    if (want_in == '_')
        return;
    if (!ok) {
        assert_int_equal(status, KILN_ERR_DTYPE);
        assert_non_null(strstr(err.message, op->name));
    }
    /* Logic casts operands to bool at once, where NumPy's loops take equal dtypes as they are. */
    const bool logic = strncmp(op->name, "logical", 7) == 0 && got_in == '?';
    if ((got_in != want_in && !logic) || got_out != want_out)
        fail_msg("%s of %s and %s: computed in '%c' for '%c', not in '%c' for '%c'", name,
                 kiln_dtype_name(in[0].dtype), kiln_dtype_name(in[1].dtype), got_in, got_out,
                 want_in, want_out);
    kiln_error_clear(&err);
}

static void check_op(char **words, int count)
{
    assert_int_equal(count, 5);
    const kiln__op *op = kiln__op_named(words[1], strlen(words[1]));
    assert_non_null(op);
    assert_int_equal(op->arity, words[2][0] - '0');
    for (int a = 0; a < LETTER_COUNT; a++) {
        if (op->arity == 1) {
            const kiln__op_type in[2] = {array_of(dtypes[a]), array_of(KILN_DTYPE_NONE)};
            check_case(op, in, words[1], words[3][a], words[4][a]);
            continue;
        }
        for (int b = 0; b < LETTER_COUNT; b++) {
            const kiln__op_type in[2] = {array_of(dtypes[a]), array_of(dtypes[b])};
            const int at = a * LETTER_COUNT + b;
            check_case(op, in, words[1], words[3][at], words[4][at]);
        }
    }
}

static void test_promote__every_operation_has_numpys_loops(void **state)
{
    (void)state;
    each_line("op", 60, check_op);
}

/* A bfloat16 operand must give what float16 gives, with bfloat16 in its place. */
static void test_promote__bfloat16_goes_where_float16_goes(void **state)
{
    (void)state;
    for (size_t k = 0; kiln__op_at(k) != NULL; k++) {
        const kiln__op *op = kiln__op_at(k);
        kiln__op_type half[3], bfloat[3];
        kiln__op_loop a, b;
        for (int p = 0; p < 3; p++) {
            half[p] = array_of(KILN_FLOAT16);
            bfloat[p] = array_of(KILN_BFLOAT16);
        }
        const kiln_status status = kiln__op_resolve(op, half, &a, NULL);
        assert_int_equal(kiln__op_resolve(op, bfloat, &b, NULL), status);
        if (status != KILN_OK)
            continue;
        assert_ptr_equal(a.expression, b.expression);
        assert_int_equal(b.out, a.out == KILN_FLOAT16 ? KILN_BFLOAT16 : a.out);
    }
}

static void test_promote__names_and_values_agree(void **state)
{
    bool seen[1024] = {false};
    (void)state;
    for (size_t k = 0; kiln__op_at(k) != NULL; k++) {
        const kiln__op *op = kiln__op_at(k);
        assert_true((int)op->op > 0 && (int)op->op < 1024 && !seen[op->op]);
        seen[op->op] = true;
        assert_ptr_equal(kiln__op_find(op->op), op);
        assert_ptr_equal(kiln__op_named(op->name, strlen(op->name)), op);
        assert_string_equal(kiln_op_name(op->op), op->name);
        assert_true(op->arity >= 1 && op->arity <= KILN__OP_ARITY_MAX && op->doc[0] != '\0');
    }
    assert_string_equal(kiln_op_name((kiln_op)9999), "unknown");
    assert_null(kiln__op_named("ad", 2));
    assert_ptr_equal(kiln__op_named("abs", 3), kiln__op_find(KILN_OP_ABSOLUTE));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void expect_number(kiln__number n, kiln_dtype dtype, const char *want)
{
    kiln__buf b = KILN__BUF_INIT;
    kiln__number_text(&b, &n, dtype);
    assert_string_equal(b.text, want);
    kiln__buf_clear(&b);
}

static void test_promote__numbers_are_literals_of_their_dtype(void **state)
{
    const kiln__number three = {.kind = 'i', .value.i = 3},
                       least = {.kind = 'i', .value.i = INT64_MIN},
                       down = {.kind = 'i', .value.i = INT32_MIN},
                       tenth = {.kind = 'f', .value.f = 0.1},
                       huge = {.kind = 'f', .value.f = 1e300},
                       most = {.kind = 'u', .value.u = UINT64_MAX},
                       turn = {.kind = 'c', .value.c = {0, 1}},
                       yes = {.kind = 'b', .value.b = true};
    (void)state;
    expect_number(three, KILN_INT32, "3");
    expect_number(three, KILN_INT8, "(signed char)(3)");
    expect_number(three, KILN_UINT64, "3ull");
    expect_number(three, KILN_FLOAT32, "3.0f");
    expect_number(three, KILN_FLOAT64, "3.0");
    expect_number(least, KILN_INT64, "(-9223372036854775807ll - 1)");
    expect_number(down, KILN_INT32, "(-2147483647 - 1)");
    expect_number(most, KILN_UINT64, "18446744073709551615ull");
    expect_number(tenth, KILN_FLOAT32, "0.1f");
    expect_number(tenth, KILN_FLOAT64, "0.1");
    expect_number(tenth, KILN_FLOAT16, "float16(0.099975586f)");
    expect_number(huge, KILN_FLOAT32, "(INFINITY)");
    expect_number(huge, KILN_FLOAT64, "1e+300");
    expect_number(turn, KILN_COMPLEX64, "complex<float>(0.0f, 1.0f)");
    expect_number(yes, KILN_BOOL, "true");
    expect_number(yes, KILN_FLOAT32, "1.0f");
}

static void test_promote__a_loop_is_written_with_its_operands(void **state)
{
    const kiln__op_type in[2] = {array_of(KILN_INT8), array_of(KILN_INT64)};
    const char *const operands[] = {"a", "b"};
    kiln__op_loop loop;
    kiln__buf b = KILN__BUF_INIT;
    (void)state;
    assert_int_equal(kiln__op_resolve(kiln__op_find(KILN_OP_ADD), in, &loop, NULL), KILN_OK);
    kiln__op_text(&b, &loop, operands);
    kiln__buf_puts(&b, "; ");
    kiln__cast_text(&b, KILN_INT8, KILN_INT64, "x");
    kiln__buf_puts(&b, "; ");
    kiln__cast_text(&b, KILN_COMPLEX64, KILN_FLOAT32, "x");
    kiln__buf_puts(&b, "; ");
    kiln__cast_text(&b, KILN_FLOAT32, KILN_BOOL, "x");
    assert_string_equal(b.text, "(long long)((unsigned long long)(a) + (unsigned long long)(b)); "
                                "(long long)(x); float(x.real()); (x != float(0))");
    kiln__buf_clear(&b);
}

/* A loop whose text names one of its operands names all: only those that name none (isnan of integers)
 * take nothing but a shape from them, and graphs rely on it. */
static void test_promote__loops_read_all_of_their_operands_or_none(void **state)
{
    int independent = 0;
    (void)state;
    for (size_t k = 0; kiln__op_at(k) != NULL; k++) {
        const kiln__op *op = kiln__op_at(k);
        for (int d = 0; d < LETTER_COUNT; d++) {
            kiln__op_type in[KILN__OP_ARITY_MAX] = {array_of(dtypes[d]), array_of(dtypes[d]),
                                                    array_of(dtypes[d])};
            kiln__op_loop loop;
            int named = 0;
            if (kiln__op_resolve(op, in, &loop, NULL) != KILN_OK)
                continue;
            for (int o = 0; o < op->arity; o++) {
                const char mark[] = {'$', (char)('0' + o), '\0'};
                named += strstr(loop.expression, mark) != NULL;
            }
            assert_true(named == 0 || named == op->arity);
            assert_int_equal(kiln__op_reads(&loop), named > 0);
            independent += named == 0;
        }
    }
    assert_int_equal(independent, 3 * 9 + 13); /* of 9 bool and integers; imag of these and floats */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promote__two_dtypes_as_numpy),
        cmocka_unit_test(test_promote__bfloat16_beside_what_numpy_does_not_know),
        cmocka_unit_test(test_promote__no_dtype_has_nothing_in_common),
        cmocka_unit_test(test_promote__three_dtypes_as_numpy),
        cmocka_unit_test(test_promote__plain_numbers_as_numpy),
        cmocka_unit_test(test_promote__a_plain_float_leaves_bfloat16),
        cmocka_unit_test(test_promote__a_number_out_of_range_is_named),
        cmocka_unit_test(test_promote__a_comparison_takes_any_plain_integer),
        cmocka_unit_test(test_promote__every_operation_has_numpys_loops),
        cmocka_unit_test(test_promote__bfloat16_goes_where_float16_goes),
        cmocka_unit_test(test_promote__names_and_values_agree),
        cmocka_unit_test(test_promote__numbers_are_literals_of_their_dtype),
        cmocka_unit_test(test_promote__a_loop_is_written_with_its_operands),
        cmocka_unit_test(test_promote__loops_read_all_of_their_operands_or_none),
    };
    return cmocka_run_group_tests_name("test_promote", tests, NULL, NULL);
}
