/*
 * test_format.c - arrays as text, against what NumPy's str() printed.
 *
 * data/format.txt holds arrays and their text; data/make_format.py made it. bfloat16, which NumPy
 * lacks, is tested against text worked out by hand.
 */
#define _POSIX_C_SOURCE 200809L
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array/array.h"
#include "test_data.h"

typedef struct format_case {
    char name[16];
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
    unsigned char *data;
    char *expected;
} format_case;

static void case_clear(format_case *c)
{
    free(c->data);
    free(c->expected);
    memset(c, 0, sizeof *c);
}

/* The elements, as 64-bit aligned memory. */
static unsigned char *read_hex(const char *hex)
{
    size_t bytes = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
    unsigned char *data = malloc(bytes + 1);

    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        data[i] = (unsigned char)byte;
    }
    return data;
}

/* The next case of the file; false at its end. `line_io` is the line read ahead. */
static bool case_read(FILE *file, char **line_io, size_t *room_io, format_case *c)
{
    char *at;
    size_t used = 0;

    memset(c, 0, sizeof *c);
    if (*line_io == NULL && getline(line_io, room_io, file) < 0)
        return false;
    if (feof(file))
        return false;
    at = strtok(*line_io, " \n");
    snprintf(c->name, sizeof c->name, "%s", at);
    c->dtype = kiln_dtype_from_name(at, strlen(at));
    assert_int_not_equal(c->dtype, KILN_DTYPE_NONE);
    c->rank = atoi(strtok(NULL, " \n"));
    for (int axis = 0; axis < c->rank; axis++)
        c->shape[axis] = atoll(strtok(NULL, " \n"));
    c->data = read_hex(strtok(NULL, " \n"));
    c->expected = calloc(1, 1);
    assert_non_null(c->expected);
    while (getline(line_io, room_io, file) > 0 && (*line_io)[0] == '|') {
        size_t length = strlen(*line_io) - 1; /* all but the bar, the line break included */
        c->expected = realloc(c->expected, used + length + 1);
        assert_non_null(c->expected);
        memcpy(c->expected + used, *line_io + 1, length + 1);
        used += length;
    }
    assert_true(used > 0);
    c->expected[used - 1] = '\0'; /* the last line's break is the file's */
    return true;
}

static void check_all_cases(size_t at_least)
{
    char path[1024], *line = NULL;
    size_t room = 0, count = 0, wrong = 0;
    FILE *file = fopen(test_data("data/format.txt", path, sizeof path), "r");
    format_case c;

    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    while (case_read(file, &line, &room, &c)) {
        char *text = NULL;
        assert_int_equal(kiln__array_format(c.dtype, c.rank, c.shape, c.data, &text, NULL),
                         KILN_OK);
        if (strcmp(text, c.expected) != 0 && wrong++ < 20)
            print_error("%s, case %zu: expected\n%s\ngot\n%s\n", c.name, count, c.expected, text);
        kiln_free(text);
        case_clear(&c);
        count++;
    }
    free(line);
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(count >= at_least);
}

static void test_format__is_what_numpy_prints(void **state)
{
    (void)state;
    check_all_cases(592);
}

/* The same in a locale whose decimal point is a comma, where the machine has one. */
static void test_format__ignores_the_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool found = false;

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof names[0] && !found; k++)
        found = setlocale(LC_ALL, names[k]) != NULL;
    if (!found)
        skip();
    check_all_cases(592);
    setlocale(LC_ALL, "C");
}

static void check_text(kiln_dtype dtype, int rank, const int64_t *shape, const void *data,
                       const char *expected)
{
    char *text = NULL;

    assert_int_equal(kiln__array_format(dtype, rank, shape, data, &text, NULL), KILN_OK);
    assert_string_equal(text, expected);
    kiln_free(text);
}

/* 0x3f80 is 1, 0x4049 is 3.140625 with neighbours 3.125 and 3.15625: 3.14 is enough to tell it.
 * 0x3dcd is 0.10009765625 (neighbours 0.0996 and 0.1006): 0.1. 0x7f80 is infinite. */
static void test_format__prints_bfloat16_with_its_own_shortest_digits(void **state)
{
    const uint16_t row[] = {0x3f80, 0x4049, 0x3dcd, 0xbf00};
    const uint16_t special[] = {0x7f80, 0xff80, 0x7fc0, 0x0000};
    const uint16_t wide[] = {0x3f80, 0x4e66}; /* 1 and 964689920 +- 2^22 */
    const int64_t four = 4, two = 2;

    (void)state;
    check_text(KILN_BFLOAT16, 1, &four, row, "[ 1.    3.14  0.1  -0.5 ]");
    check_text(KILN_BFLOAT16, 1, &four, special, "[ inf -inf  nan   0.]");
    check_text(KILN_BFLOAT16, 1, &two, wide, "[1.00e+00 9.65e+08]");
    check_text(KILN_BFLOAT16, 0, NULL, row + 1, "3.14");
}

static void test_format__survives_each_allocation_failure(void **state)
{
    static double data[2000];
    const int64_t shape[2] = {2, 400};
    kiln_status status = KILN_ERR_NO_MEMORY;
    size_t before = kiln__test_alloc_live(), tries = 0;

    (void)state;
    for (; status != KILN_OK; tries++) {
        char *text = NULL;
        kiln__test_alloc_fail_at(tries);
        status = kiln__array_format(KILN_FLOAT64, 2, shape, data, &text, NULL);
        assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
        assert_int_equal(status == KILN_OK, text != NULL);
        kiln_free(text);
        assert_int_equal(kiln__test_alloc_live(), before);
    }
    kiln__test_alloc_fail_at(SIZE_MAX);
    assert_true(tries > 1);
}

static void test_format__refuses_shapes_that_are_none(void **state)
{
    const int64_t negative = -1, huge[2] = {INT64_MAX, 2};
    char *text = "unset";
    double v = 0;

    (void)state;
    assert_int_equal(kiln__array_format(KILN_FLOAT64, 1, &negative, &v, &text, NULL),
                     KILN_ERR_ARGUMENT);
    assert_null(text);
    assert_int_equal(kiln__array_format(KILN_FLOAT64, 2, huge, &v, &text, NULL), KILN_ERR_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format__is_what_numpy_prints),
        cmocka_unit_test(test_format__ignores_the_locale),
        cmocka_unit_test(test_format__prints_bfloat16_with_its_own_shortest_digits),
        cmocka_unit_test(test_format__survives_each_allocation_failure),
        cmocka_unit_test(test_format__refuses_shapes_that_are_none),
    };
    return cmocka_run_group_tests_name("test_format", tests, NULL, NULL);
}
