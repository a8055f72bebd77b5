/*
 * test_core.c - src/core: errors, memory, text, hashing, memos, options. Files and forks are in test_os.c,
 * names of dtypes and 16-bit floats in test_dtype.c.
 *
 * Expected values are derived here, by plain arithmetic or by hand; the command that made any
 * other stands above it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/core.h"

/* ---- errors ---- */

static void test_core__every_status_has_its_own_text_and_value(void **state)
{
    (void)state;
    static const struct {
        int value;
        const char *name, *text;
    } table[] = {
#define ROW(name, value, text) {value, "KILN_" #name, text},
        KILN_STATUS_MAP(ROW)
#undef ROW
    };

    for (size_t k = 0; k < KILN_COUNT_OF(table); k++) {
        kiln_status status = (kiln_status)table[k].value;
        assert_string_equal(kiln_status_string(status), table[k].text);
        assert_string_equal(kiln_status_name(status), table[k].name);
        for (size_t other = 0; other < k; other++) {
            assert_int_not_equal(table[k].value, table[other].value);
            assert_string_not_equal(table[k].text, table[other].text);
        }
    }
    assert_string_equal(kiln_status_string((kiln_status)12345), "unknown status");
    assert_string_equal(kiln_status_name((kiln_status)-999), "unknown status");
}

static void test_core__fail_fills_the_error_and_returns_the_status(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__fail(NULL, KILN_ERR_AXIS, "axis %d", 3), KILN_ERR_AXIS);
    assert_int_equal(kiln__fail(&err, KILN_ERR_AXIS, "axis %d out of range for rank %d", 3, 2),
                     KILN_ERR_AXIS);
    assert_int_equal(err.status, KILN_ERR_AXIS);
    assert_string_equal(err.message, "axis 3 out of range for rank 2");
    assert_null(err.detail);
    kiln_error_clear(&err);
    assert_int_equal(err.status, KILN_OK);
    assert_string_equal(err.message, "");
    kiln_error_clear(NULL);
}

static void test_core__fail_may_quote_the_message_it_replaces(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    size_t before = kiln__test_alloc_live();

    kiln__fail_detail(&err, KILN_ERR_SYNTAX, kiln__strdup("T x\n  ^"), "no comma");
    kiln__fail(&err, KILN_ERR_INTERNAL, "copy: %s; %s", err.message, err.detail);
    assert_string_equal(err.message, "copy: no comma; T x   ^");
    assert_null(err.detail);
    kiln__fail_detail(NULL, KILN_ERR_SYNTAX, kiln__strdup("freed at once"), "x");
    kiln_error_clear(&err);
    assert_int_equal(kiln__test_alloc_live(), before);
}

static void test_core__messages_are_one_line_of_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *given, *message;
    } table[] = {
        {"a\nb\r\n\tc\x1b[0m\x7f", "a b   c [0m "},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xe2\x82\xac \xf0\x9f\x94\xa5", "\xe2\x82\xac \xf0\x9f\x94\xa5"},
        {"bad \xff\xfe", "bad ??"},
        {"cut \xc3", "cut ?"},
        {"cut \xf0\x9f\x94", "cut ???"},
        {"overlong \xc0\xaf \xe0\x80\xaf", "overlong ?? ???"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"beyond \xf4\x90\x80\x80", "beyond ????"},
        {"lone \xbf x", "lone ? x"},
    };

    for (size_t k = 0; k < KILN_COUNT_OF(table); k++) {
        kiln_error err = KILN_ERROR_INIT;
        kiln__fail(&err, KILN_ERR_NAME, "%s", table[k].given);
        assert_string_equal(err.message, table[k].message);
    }
}

/* Whatever the position of the cut, a long message stays well-formed and says that it is cut. */
static void test_core__long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    char text[1200];

    for (size_t shift = 0; shift < 5; shift++) {
        kiln_error err = KILN_ERROR_INIT;
        memset(text, 'x', shift);
        for (size_t k = shift; k + 4 < sizeof text; k += 4)
            memcpy(text + k, "\xf0\x9f\x94\xa5", 5);
        kiln__fail(&err, KILN_ERR_NAME, "%s", text);
        assert_null(strchr(err.message, '?'));
        assert_string_equal(err.message + strlen(err.message) - 3, "...");
        assert_true(strlen(err.message) >= 508);
        assert_true(strlen(err.message) < KILN_ERROR_MESSAGE_BYTES);
    }
}

static void test_core__error_copy_copies_all_texts(void **state)
{
    (void)state;
    kiln_error src = KILN_ERROR_INIT, dst = KILN_ERROR_INIT;
    size_t before = kiln__test_alloc_live();

    kiln__fail_detail(&src, KILN_ERR_COMPILE, kiln__strdup("detail"), "message");
    src.log = kiln__strdup("log");
    kiln__fail_detail(&dst, KILN_ERR_SHAPE, kiln__strdup("old"), "old");
    assert_int_equal(kiln__error_copy(NULL, &src), KILN_ERR_COMPILE);
    assert_int_equal(kiln__error_copy(&src, &src), KILN_ERR_COMPILE);
    assert_int_equal(kiln__error_copy(&dst, &src), KILN_ERR_COMPILE);
    assert_int_equal(dst.status, KILN_ERR_COMPILE);
    assert_string_equal(dst.message, "message");
    assert_string_equal(dst.detail, "detail");
    assert_string_equal(dst.log, "log");
    assert_null(dst.source);
    assert_ptr_not_equal(dst.log, src.log);
    kiln_error_clear(&src);
    kiln_error_clear(&dst);
    assert_int_equal(kiln__test_alloc_live(), before);
}

static void test_core__error_print_ends_each_line(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    kiln_error_print(NULL, out);
    kiln_error_print(&err, out);
    kiln__fail(&err, KILN_ERR_SHAPE, "shapes (2,) and (3,)");
    kiln_error_print(&err, out);
    kiln__fail_detail(&err, KILN_ERR_SYNTAX, kiln__strdup("T x\n  ^"), "no name");
    kiln_error_print(&err, out);
    kiln__fail_detail(&err, KILN_ERR_SYNTAX, kiln__strdup("T y\n  ^\n"), "%s", "");
    kiln_error_print(&err, out);
    fclose(out);
    assert_string_equal(text, "shapes (2,) and (3,)\n"
                              "no name\nT x\n  ^\n"
                              "a signature does not parse\nT y\n  ^\n");
    free(text);
    kiln_error_clear(&err);
}

static void test_core__a_lack_of_memory_names_the_bytes(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__fail_memory(&err, 123456), KILN_ERR_NO_MEMORY);
    assert_int_equal(err.status, KILN_ERR_NO_MEMORY);
    assert_non_null(strstr(err.message, "123456"));
}

static void test_core__the_version_is_that_of_the_header(void **state)
{
    (void)state;
    char text[32];

    snprintf(text, sizeof text, "%d.%d.%d", KILN_VERSION_MAJOR, KILN_VERSION_MINOR,
             KILN_VERSION_PATCH);
    assert_string_equal(kiln_version(), text);
}

/* ---- host memory ---- */

static void test_core__the_nth_allocation_fails_once(void **state)
{
    (void)state;
    for (size_t nth = 0; nth < 4; nth++) {
        size_t before = kiln__test_alloc_live();
        void *p[4];
        kiln__test_alloc_fail_at(nth);
        p[0] = kiln__alloc(8);
        p[1] = kiln__calloc(2, 4);
        p[2] = kiln__strdup("abc");
        p[3] = kiln__realloc(NULL, 8);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(p[k] == NULL, k == nth);
        assert_int_equal(kiln__test_alloc_live(), before + 3);
        for (size_t k = 0; k < 4; k++)
            kiln__free(p[k]);
        assert_int_equal(kiln__test_alloc_live(), before);
    }
    kiln__test_alloc_fail_at(SIZE_MAX);
}

static void test_core__what_is_made_is_zeroed_or_a_failure(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    unsigned char *zeros = NULL, *room = NULL;

    assert_int_equal(kiln__make_zeroed(&zeros, 3, 5, &err), KILN_OK);
    for (size_t k = 0; k < 15; k++)
        assert_int_equal(zeros[k], 0);
    kiln__free(zeros);
    assert_int_equal(kiln__make_room(&room, 7, &err), KILN_OK);
    memset(room, 1, 7);
    kiln__free(room);
    kiln__test_alloc_fail_at(0);
    assert_int_equal(kiln__make_zeroed(&zeros, 3, 5, &err), KILN_ERR_NO_MEMORY);
    assert_null(zeros);
    assert_non_null(strstr(err.message, "15 bytes"));
    kiln__test_alloc_fail_at(0);
    assert_int_equal(kiln__make_room(&room, 7, &err), KILN_ERR_NO_MEMORY);
    assert_null(room);
    assert_non_null(strstr(err.message, "7 bytes"));
    kiln_error_clear(&err);
}

static void test_core__a_failed_realloc_keeps_the_old_block(void **state)
{
    (void)state;
    size_t before = kiln__test_alloc_live();
    char *p = kiln__strdup("kept");

    kiln__test_alloc_fail_at(0);
    assert_null(kiln__realloc(p, 1 << 20));
    assert_string_equal(p, "kept");
    p = kiln__realloc(p, 1 << 20);
    assert_string_equal(p, "kept");
    assert_int_equal(kiln__test_alloc_live(), before + 1);
    kiln__free(p);
    assert_int_equal(kiln__test_alloc_live(), before);
}

static void test_core__impossible_and_empty_sizes(void **state)
{
    (void)state;
    void *empty = kiln__alloc(0), *none = kiln__calloc(0, 8);
    /* volatile: the compiler would warn of the sizes it can see. */
    volatile size_t huge = SIZE_MAX;

    assert_non_null(empty);
    assert_non_null(none);
    assert_ptr_not_equal(empty, none);
    assert_null(kiln__calloc(huge / 2, 4));
    assert_null(kiln__strndup("x", huge));
    assert_null(kiln__strdup(NULL));
    kiln__free(empty);
    kiln__free(none);
    kiln__free(NULL);
    kiln_free(NULL);
}

static void *allocate_a_lot(void *arg)
{
    size_t failures = 0;

    for (int k = 0; k < 20000; k++) {
        void *p = kiln__alloc(16);
        failures += p == NULL;
        kiln__free(p);
    }
    *(size_t *)arg = failures;
    return NULL;
}

static void test_core__one_thread_of_many_sees_the_planned_failure(void **state)
{
    (void)state;
    pthread_t threads[4];
    size_t failures[4] = {0}, before = kiln__test_alloc_live();

    kiln__test_alloc_fail_at(30000);
    for (int k = 0; k < 4; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, allocate_a_lot, &failures[k]), 0);
    for (int k = 0; k < 4; k++)
        pthread_join(threads[k], NULL);
    assert_int_equal(failures[0] + failures[1] + failures[2] + failures[3], 1);
    assert_int_equal(kiln__test_alloc_live(), before);
}

/* ---- text ---- */

static void test_core__buf_grows_and_keeps_every_byte(void **state)
{
    (void)state;
    kiln__buf b = KILN__BUF_INIT;
    char *text = NULL;

    kiln__buf_put_number(&b, 0);
    kiln__buf_put_number(&b, -10);
    kiln__buf_put_number(&b, INT64_MAX);
    kiln__buf_put_number(&b, INT64_MIN);
    assert_string_equal(b.text, "0-109223372036854775807-9223372036854775808");
    kiln__buf_clear(&b);
    for (int k = 0; k < 5000; k++) {
        kiln__buf_printf(&b, "%04d", k);
        kiln__buf_puts(&b, ",");
        kiln__buf_putc(&b, k % 2 == 0 ? 'e' : 'o');
        kiln__buf_put(&b, "\0\n", 2);
    }
    assert_false(b.failed);
    assert_int_equal(b.length, 5000 * 8);
    text = kiln__buf_take(&b);
    for (int k = 0; k < 5000; k++) {
        char expected[16];
        snprintf(expected, sizeof expected, "%04d,%c", k, k % 2 == 0 ? 'e' : 'o');
        assert_memory_equal(text + 8 * k, expected, 7);
        assert_int_equal(text[8 * k + 7], '\n');
    }
    assert_int_equal(text[5000 * 8], 0);
    kiln_free(text);
    assert_null(b.text);
    assert_int_equal(b.length, 0);
}

static void test_core__buf_prints_texts_longer_than_its_room(void **state)
{
    (void)state;
    for (int length = 0; length < 1200; length += 7) {
        kiln__buf b = KILN__BUF_INIT;
        char *text = NULL;
        kiln__buf_puts(&b, "ab");
        kiln__buf_printf(&b, "%*d", length, 7);
        text = kiln__buf_take(&b);
        assert_int_equal(strlen(text), 2 + (size_t)(length > 1 ? length : 1));
        assert_int_equal(text[strlen(text) - 1], '7');
        kiln_free(text);
    }
}

static void test_core__buf_failure_is_sticky_at_its_bound(void **state)
{
    (void)state;
    kiln__buf b = KILN__BUF_INIT;

    b.max_bytes = 10;
    kiln__buf_puts(&b, "0123456789");
    assert_false(b.failed);
    assert_string_equal(b.text, "0123456789");
    kiln__buf_printf(&b, "%s", "");
    assert_false(b.failed);
    kiln__buf_putc(&b, 'x');
    assert_true(b.failed);
    assert_null(kiln__buf_take(&b));
    assert_false(b.failed);

    kiln__buf_puts(&b, "0123456");
    kiln__buf_printf(&b, "%d", 1234);
    assert_true(b.failed);
    kiln__buf_puts(&b, "");
    assert_null(kiln__buf_take(&b));
    kiln__buf_put(&b, "x", SIZE_MAX);
    assert_true(b.failed);
    kiln__buf_clear(&b);
    assert_int_equal(b.max_bytes, 10);
}

static void test_core__buf_survives_each_allocation_failure(void **state)
{
    (void)state;
    size_t before = kiln__test_alloc_live();
    char *text = NULL;

    for (size_t nth = 0; text == NULL; nth++) {
        kiln__buf b = KILN__BUF_INIT;
        kiln__test_alloc_fail_at(nth);
        for (int k = 0; k < 300; k++)
            kiln__buf_printf(&b, "%d,", k);
        text = kiln__buf_take(&b);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_int_equal(kiln__test_alloc_live(), before + (text != NULL));
        assert_true(nth < 10);
    }
    assert_memory_equal(text, "0,1,2,", 6);
    kiln_free(text);
    text = kiln__buf_take(&(kiln__buf)KILN__BUF_INIT);
    assert_string_equal(text, "");
    kiln_free(text);
}

static void test_core__caret_stands_under_its_token(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at, width;
        const char *expected;
    } table[] = {
        {"T x, flt y", 5, 3, "T x, flt y\n     ^~~"},
        {"T x", 0, 1, "T x\n^"},
        {"T x", 0, 0, "T x\n^"},
        {"T x", 3, 5, "T x\n   ^"},
        {"T x", 99, 5, "T x\n   ^"},
        {"", 0, 1, "\n^"},
        {"one\ntwo x\nthree", 8, 1, "two x\n    ^"},
        {"one\ntwo x\nthree", 4, 99, "two x\n^~~~~"},
        {"one\r\ntwo", 4, 1, "one\n   ^"},
        {"\tT\tx", 3, 1, "\tT\tx\n\t \t^"},
        {"gr\xc3\xbc\xc3\x9f x", 7, 1, "gr\xc3\xbc\xc3\x9f x\n     ^"},
        {"a \xc3\xbc\xc3\xbc b", 2, 4, "a \xc3\xbc\xc3\xbc b\n  ^~"},
        {"a \xc3\xbc b", 3, 1, "a \xc3\xbc b\n  ^"},
        {"a\x1b[1mb", 5, 1, "a [1mb\n     ^"},
    };

    for (size_t k = 0; k < KILN_COUNT_OF(table); k++) {
        char *text = kiln__caret(table[k].text, table[k].at, table[k].width);
        assert_string_equal(text, table[k].expected);
        kiln_free(text);
    }
}

/* ---- hashing ---- */

/* printf abc | sha256sum, and likewise for texts of the other lengths, all of them "a": the last ones
 * end just before, at and behind the place where the length no longer fits. */
static void test_core__digests_are_sha_256(void **state)
{
    static const struct {
        size_t bytes;
        const char *digest;
    } cases[] = {
        {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {4096, "c93eee2d0db02f10acc7460d9576e122dcf8cd53c4bf8dfcae1b3e74ebcfff5a"},
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    };
    char text[4096], digest[65];

    (void)state;
    kiln__digest("abc", 3, digest);
    assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    memset(text, 'a', sizeof text);
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        kiln__digest(text, cases[k].bytes, digest);
        assert_string_equal(digest, cases[k].digest);
    }
}

/* python3 -c "import xxhash as x; print(x.xxh3_128_hexdigest(b'kiln'))"
 * python3 -c "import xxhash as x; print(x.xxh3_64_hexdigest(b'kiln'))"
 * and the first for b'' (the package xxhash 3.x). */
static void test_core__hashes_are_xxh3(void **state)
{
    (void)state;
    char hex[33];

    kiln__hash_hex(kiln__hash_128(NULL, 0), hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    kiln__hash_hex(kiln__hash_128("kiln", 4), hex);
    assert_string_equal(hex, "29e4f6aff37a6f975bfb178850627e51");
    assert_true(kiln__hash_64("kiln", 4) == UINT64_C(0x5c14e8865e2aa02a));
}

/* ---- options ---- */

typedef struct sample_options {
    size_t struct_size;
    int first;
    int second;
    const char *text;
} sample_options;

static void test_core__options_of_every_size(void **state)
{
    (void)state;
    unsigned char given[sizeof(sample_options) + 16];
    sample_options full = {sizeof full, 1, 2, "text"};

    for (size_t bytes = 0; bytes <= sizeof given; bytes++) {
        sample_options known = {sizeof known, 7, 8, NULL};
        kiln_error err = KILN_ERROR_INIT;
        kiln_status status = KILN_OK;
        memset(given, 0, sizeof given);
        memcpy(given, &full, sizeof full);
        memcpy(given, &bytes, sizeof bytes);
        status = kiln__options_read(&known, sizeof known, given, bytes, "sample_options", &err);
        if (bytes < sizeof(size_t)) {
            assert_int_equal(status, KILN_ERR_ARGUMENT);
            assert_non_null(strstr(err.message, "sample_options"));
        } else {
            assert_int_equal(status, KILN_OK);
            assert_int_equal(known.struct_size, sizeof known);
            if (bytes >= offsetof(sample_options, second))
                assert_int_equal(known.first, 1);
            else if (bytes <= offsetof(sample_options, first))
                assert_int_equal(known.first, 7);
            if (bytes >= offsetof(sample_options, text))
                assert_int_equal(known.second, 2);
            else if (bytes <= offsetof(sample_options, second))
                assert_int_equal(known.second, 8);
            assert_int_equal(known.text != NULL && bytes < offsetof(sample_options, text), 0);
        }
    }
}

static void test_core__options_refuse_what_they_do_not_know(void **state)
{
    (void)state;
    unsigned char given[sizeof(sample_options) + 16] = {0};
    sample_options known = {sizeof known, 7, 8, NULL};
    kiln_error err = KILN_ERROR_INIT;

    for (size_t at = sizeof known; at < sizeof given; at++) {
        memset(given, 0, sizeof given);
        given[at] = 1;
        assert_int_equal(
            kiln__options_read(&known, sizeof known, given, sizeof given, "sample_options", &err),
            KILN_ERR_ARGUMENT);
        assert_int_equal(known.first, 7);
        assert_int_equal(
            kiln__options_read(&known, sizeof known, given, at, "sample_options", NULL), KILN_OK);
        known.first = 7;
    }
    /* An uninitialised size is refused before anything is read through it. */
    assert_int_equal(
        kiln__options_read(&known, sizeof known, given, SIZE_MAX, "sample_options", &err),
        KILN_ERR_ARGUMENT);
    assert_int_equal(kiln__options_read(&known, sizeof known, NULL, 0, "sample_options", &err),
                     KILN_OK);
    assert_int_equal(known.first, 7);
}

/* ---- logging ---- */

static void keep_line(void *user, const char *line)
{
    snprintf(user, 64, "%s", line);
}

static void test_core__log_lines_are_single_lines(void **state)
{
    (void)state;
    char line[64] = "";
    kiln__log log = {keep_line, line};

    kiln__log_line(&log, KILN__LOG_WARN, "folder %s: %d", "a\nb", 7);
    assert_string_equal(line, "folder a b: 7");
    kiln__log_line(&(kiln__log){kiln__log_ignore, NULL}, KILN__LOG_WARN, "dropped");
    assert_string_equal(line, "folder a b: 7"); /* those without a callback: test_log.c */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core__every_status_has_its_own_text_and_value),
        cmocka_unit_test(test_core__fail_fills_the_error_and_returns_the_status),
        cmocka_unit_test(test_core__fail_may_quote_the_message_it_replaces),
        cmocka_unit_test(test_core__messages_are_one_line_of_utf8),
        cmocka_unit_test(test_core__long_messages_are_cut_between_characters),
        cmocka_unit_test(test_core__error_copy_copies_all_texts),
        cmocka_unit_test(test_core__error_print_ends_each_line),
        cmocka_unit_test(test_core__a_lack_of_memory_names_the_bytes),
        cmocka_unit_test(test_core__the_version_is_that_of_the_header),
        cmocka_unit_test(test_core__the_nth_allocation_fails_once),
        cmocka_unit_test(test_core__what_is_made_is_zeroed_or_a_failure),
        cmocka_unit_test(test_core__a_failed_realloc_keeps_the_old_block),
        cmocka_unit_test(test_core__impossible_and_empty_sizes),
        cmocka_unit_test(test_core__one_thread_of_many_sees_the_planned_failure),
        cmocka_unit_test(test_core__buf_grows_and_keeps_every_byte),
        cmocka_unit_test(test_core__buf_prints_texts_longer_than_its_room),
        cmocka_unit_test(test_core__buf_failure_is_sticky_at_its_bound),
        cmocka_unit_test(test_core__buf_survives_each_allocation_failure),
        cmocka_unit_test(test_core__caret_stands_under_its_token),
        cmocka_unit_test(test_core__hashes_are_xxh3),
        cmocka_unit_test(test_core__digests_are_sha_256),
        cmocka_unit_test(test_core__options_of_every_size),
        cmocka_unit_test(test_core__options_refuse_what_they_do_not_know),
        cmocka_unit_test(test_core__log_lines_are_single_lines),
    };

    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
