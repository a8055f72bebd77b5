/*
 * test_template.c - the language of templates: what becomes of tests/templates/ when it is embedded
 * and expanded. The program has the tables of that folder in place of the library's own.
 *
 * What embedding refuses is in test_templates.cmake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/template.h"
#include "codegen/templates.h"
#include "test_data.h"

/* The caller's side: two lists of two items, values and conditions. */
typedef struct answers {
    const char *const *names; /* of the current list */
    int nth;                  /* of the current item */
    int asked;                /* the item that is due to be asked for */
} answers;

static const char *const item_names[] = {"one", "two"}, *const input_names[] = {"x", "y"};

static bool value(void *state, const char *name, size_t bytes, kiln__buf *out)
{
    const answers *a = state;

    if (kiln__same_word(name, bytes, "p.name"))
        kiln__buf_puts(out, a->names[a->nth]);
    else if (kiln__same_word(name, bytes, "p.type"))
        kiln__buf_puts(out, "float");
    else if (kiln__same_word(name, bytes, "yes"))
        kiln__buf_puts(out, "part");
    else
        return false;
    return true;
}

static int test(void *state, const char *name, size_t bytes)
{
    const answers *a = state;

    if (kiln__same_word(name, bytes, "p.first"))
        return a->nth == 0;
    return kiln__same_word(name, bytes, "no") ? 0 : -1;
}

static int item(void *state, const char *list, size_t bytes, int nth)
{
    answers *a = state;

    if (kiln__same_word(list, bytes, "items"))
        a->names = item_names;
    else if (kiln__same_word(list, bytes, "loaded"))
        a->names = input_names;
    else
        return -1;
    assert_int_equal(nth, a->asked); /* from 0 on, none skipped, and again for the next loop */
    a->asked = nth < 2 ? nth + 1 : 0;
    if (nth == 2)
        return 0;
    a->nth = nth;
    return 1;
}

static kiln_status expand(const char *path, kiln__buf *out, kiln_error *err)
{
    answers a = {0};
    const kiln__template_env env = {&a, value, test, item};

    return kiln__template_expand(path, &env, out, err);
}

static void test_template__words_get_their_prefix_and_blocks_are_expanded(void **state)
{
    kiln__buf out = KILN__BUF_INIT;

    (void)state;
    assert_int_equal(expand("language.cpp", &out, NULL), KILN_OK);
    assert_string_equal(
        out.text, "const int kiln__begin = 0x1f + kiln__step; // begin stays as it is in comments\n"
                  "\"begin\"; 'b'; \"a \\\" begin\"; kiln__begin.size; kiln__begin->size; "
                  "kiln__begin ...kiln__begin;\n"
                  "kiln__reg_part = kiln__begin.width_part + part_begin + kiln__step;\n"
                  "int valueone;\n"
                  "kiln__reg_one\n"
                  "int valuetwo;\n"
                  "kiln__step\n"
                  "kiln__inside;\n"
                  "inside += 1;\n"
                  "kiln__inside++;\n"
                  "kiln__inside++;\n"
                  "$kiln__begin\n");
    kiln__buf_clear(&out);
}

static void test_template__what_the_caller_does_not_know_is_named_with_its_line(void **state)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        {"unknown_value.cpp", "template unknown_value.cpp:3: unknown value: x = ${nothing};"},
        {"unknown_value.cpp:part", "template unknown_value.cpp:7: unknown value: ${another}"},
        {"unknown_list.cpp", "template unknown_list.cpp:1: unknown list: //% for p in nothing"},
        {"unknown_condition.cpp",
         "template unknown_condition.cpp:1: unknown condition: //% if nothing"},
        {"deep.cpp", "template deep.cpp:1: inserts nest too deeply: //% insert deep.cpp"},
        {"missing.cpp", "there is no template part/none.cpp"},
        {"none.cpp", "there is no template none.cpp"},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        kiln__buf out = KILN__BUF_INIT;
        kiln_error err = KILN_ERROR_INIT;

        assert_int_equal(expand(cases[k].path, &out, &err), KILN_ERR_INTERNAL);
        assert_string_equal(err.message, cases[k].message);
        kiln__buf_clear(&out);
        kiln_error_clear(&err);
    }
}

/* The block number `nth` of C++ in a page; free with kiln__free(). */
static char *read_block(const char *page, int nth)
{
    static const char begin[] = "```cpp\n";
    kiln__buf block = KILN__BUF_INIT;
    char path[1024], *text = NULL;
    size_t bytes = 0;

    if (kiln__read_file(test_data(page, path, sizeof path), 1 << 20, &text, &bytes) != 0)
        fail_msg("%s cannot be read", path);
    const char *at = text;
    for (int k = 0; k <= nth; k++) {
        at = strstr(at, begin);
        assert_non_null(at);
        at += strlen(begin);
    }
    kiln__buf_put(&block, at, (size_t)(strstr(at, "```") - at));
    kiln__free(text);
    return kiln__buf_take(&block);
}

static void test_template__the_example_of_the_documentation_is_true(void **state)
{
    kiln__buf out = KILN__BUF_INIT;
    char *example = read_block("../docs/templates.md", 0), *result, path[1024], *text = NULL;
    size_t bytes = 0;

    (void)state;
    result = read_block("../docs/templates.md", 1);
    if (kiln__read_file(test_data("templates/example.cpp", path, sizeof path), 1 << 20, &text,
                        &bytes) != 0)
        fail_msg("%s cannot be read", path);
    assert_string_equal(text, example);
    assert_int_equal(expand("example.cpp", &out, NULL), KILN_OK);
    assert_string_equal(out.text, result);
    kiln__buf_clear(&out);
    kiln__free(example);
    kiln__free(result);
    kiln__free(text);
}

/* A section as it is expected: the names that it needs, each with a blank behind it. */
typedef struct expected {
    const char *name;
    int backends;
    const char *text, *needs, *when, *unless;
} expected;

static void test_template__sections_are_cut_from_the_files_of_the_prelude(void **state)
{
    static const expected want[] = {
        {"base", KILN__ON_CPU, "// base\n\nint base;\n", "", "", ""},
        {"more", KILN__ON_CPU, "int more;\n", "base ", "", ""},
        {"both", KILN__ON_BOTH, "both kinds\n", "", "", ""},
        {"only", KILN__ON_CUDA, "both kinds\n", "both ", "@both&x", "some.h"},
        {"ONE", KILN__ON_BOTH, "#define ONE 1\n", "", "", ""},
        {"CALL", KILN__ON_BOTH, "#define CALL(x) x\n", "", "", ""},
        {"number", KILN__ON_BOTH, "typedef unsigned int number;\n", "", "", ""},
        {"pointer", KILN__ON_CPU, "typedef int pointer;\n", "", "", ""},
        {"sin", KILN__ON_CPU, "int sin(int);\n", "", "", ""},
        {"cos", KILN__ON_CPU, "int cos(int);\n", "", "", ""},
        {"tan", KILN__ON_CPU, "int tan(int);\n", "", "", ""},
        {"op_left", KILN__ON_BOTH, "int left(a | b);\n", "", "", ""},
        {"op_right", KILN__ON_BOTH, "int right();\n", "", "", ""},
    };

    (void)state;
    assert_int_equal(kiln__prelude_section_count, KILN_COUNT_OF(want));
    for (size_t s = 0; s < KILN_COUNT_OF(want); s++) {
        const struct kiln__prelude_section *got = &kiln__prelude_sections[s];
        kiln__buf needs = KILN__BUF_INIT;

        kiln__buf_puts(&needs, "");
        for (const uint16_t *need = got->needs; *need != KILN__SECTION_NONE; need++)
            kiln__buf_printf(&needs, "%s ", kiln__prelude_sections[*need].name);
        assert_string_equal(got->name, want[s].name);
        assert_int_equal(got->backends, want[s].backends);
        assert_string_equal(got->text, want[s].text);
        assert_int_equal(got->bytes, strlen(want[s].text));
        assert_string_equal(needs.text != NULL ? needs.text : "", want[s].needs);
        assert_string_equal(got->when, want[s].when);
        assert_string_equal(got->unless, want[s].unless);
        kiln__buf_clear(&needs);
    }
}

/* Each word that calls for a section alone, and each name of a section. */
static void test_template__words_that_call_for_sections_are_sorted(void **state)
{
    static const struct kiln__prelude_word want[] = {
        {"@CALL", 5},    {"@ONE", 4},    {"@base", 0}, {"@both", 2},     {"@cos", 9},
        {"@more", 1},    {"@number", 6}, {"@only", 3}, {"@op_left", 11}, {"@op_right", 12},
        {"@pointer", 7}, {"@sin", 8},    {"@tan", 10}, {"CALL", 5},      {"ONE", 4},
        {"b", 1},        {"c", 1},       {"cos", 9},   {"d", 1},         {"number", 6},
        {"only", 3},     {"pointer", 7}, {"sin", 8},   {"tan", 10},
    };

    (void)state;
    assert_int_equal(kiln__prelude_word_count, KILN_COUNT_OF(want));
    for (size_t k = 0; k < KILN_COUNT_OF(want); k++) {
        assert_string_equal(kiln__prelude_words[k].word, want[k].word);
        assert_int_equal(kiln__prelude_words[k].section, want[k].section);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template__words_get_their_prefix_and_blocks_are_expanded),
        cmocka_unit_test(test_template__what_the_caller_does_not_know_is_named_with_its_line),
        cmocka_unit_test(test_template__the_example_of_the_documentation_is_true),
        cmocka_unit_test(test_template__sections_are_cut_from_the_files_of_the_prelude),
        cmocka_unit_test(test_template__words_that_call_for_sections_are_sorted),
    };

    return cmocka_run_group_tests_name("test_template", tests, NULL, NULL) == 0 ? 0 : 1;
}
