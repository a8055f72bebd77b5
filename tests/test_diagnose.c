/*
 * test_diagnose.c - compilers' logs in the user's terms.
 *
 * The logs are real (data/logs/README). Lines and columns that are expected were counted by hand
 * in the snippets; where compilers point at different tokens, each has its own column.
 */
#include <stdio.h>
#include <stdlib.h>

#include "frontend.h"
#include "test_data.h"

static const char *const COMPILERS[3] = {"nvrtc", "gcc", "clang"};

typedef struct log_case {
    const char *name; /* of the files in data/logs */
    const char *preamble, *loop_prep, *op, *after_loop;
    const char *starts[3]; /* what the message starts with after the kernel's name, per compiler */
    const char *says[3];   /* a part of it */
    const char *detail;    /* of all three, or NULL */
} log_case;

static const log_case CASES[] = {
    {"undefined",
     NULL,
     NULL,
     "z = x * q + y;\nw = x",
     NULL,
     {"op, line 1, column 9: ", "op, line 1, column 9: ", "op, line 1, column 9: "},
     {"identifier \"q\" is undefined", "'q' was not declared in this scope",
      "use of undeclared identifier 'q'"},
     "z = x * q + y;\n        ^"},
    {"second_line",
     NULL,
     NULL,
     "T t = x;\n\tz = t * qq;\n\tw = foo(t) + qq;",
     NULL,
     {"op, line 2, column 10: ", "op, line 2, column 10: ", "op, line 2, column 10: "},
     {"\"qq\" is undefined", "'qq' was not", "'qq'"},
     NULL},
    {"type",
     NULL,
     NULL,
     "z = x; w = \"text\";",
     NULL,
     {"op, line 1, column 10: ", "op, line 1, column 12: ", "op, line 1, column 12: "},
     {"cannot be assigned to an entity of type \"T\" (aka \"float\")",
      "cannot convert 'const char [5]' to 'T' {aka 'float'}", "from incompatible type"},
     NULL},
    {"semicolon",
     NULL,
     NULL,
     "z = x\nw = y",
     NULL,
     {"op, line 2, column 1: ", "op, line 1, column 6: ", "op, line 1, column 6: "},
     {"expected a \";\"", "expected ';' before 'w'", "expected ';' after expression"},
     NULL},
    {"paren",
     NULL,
     NULL,
     "z = (x + y;\nw = 1",
     NULL,
     {"op, line 1, column 11: ", "op, line 1, column 11: ", "op, line 1, column 11: "},
     {"expected a \")\"", "expected ')'", "expected ')'"},
     "z = (x + y;\n          ^"},
    /* Errors of these two show up in generated code; the bracket is found by us. */
    {"brace",
     NULL,
     NULL,
     "if (x > 0) { z = x; w = y;",
     NULL,
     {"op, line 1, column 12: ", "op, line 1, column 12: ", "op, line 1, column 12: "},
     {"\"{\" has no partner", "\"{\" has no partner", "\"{\" has no partner"},
     "if (x > 0) { z = x; w = y;\n           ^"},
    {"extra_brace",
     NULL,
     NULL,
     "z = x; w = y; }",
     NULL,
     {"op, line 1, column 15: ", "op, line 1, column 15: ", "op, line 1, column 15: "},
     {"\"}\" has no partner", "\"}\" has no partner", "\"}\" has no partner"},
     "z = x; w = y; }\n              ^"},
    {"comment",
     NULL,
     NULL,
     "z = x; /* never closed",
     NULL,
     {"op, line 1, column 8: ", "op, line 1, column 8: ", "op, line 1, column 8: "},
     {"comment unclosed", "unterminated comment", "unterminated /* comment"},
     NULL},
    {"string",
     NULL,
     NULL,
     "z = x; w = \"abc",
     NULL,
     {"op, line 1, column 12: ", "op, line 1, column 12: ", "op, line 1, column 12: "},
     {"missing closing quote", "missing terminating", "expected expression"},
     NULL},
    {"preamble",
     "__device__ float f(float a, float b)\n{\n    return a + bb;\n}\n",
     NULL,
     "z = f(x, y); w = 1",
     NULL,
     {"preamble, line 3, column 16: ", "preamble, line 3, column 16: ",
      "preamble, line 3, column 16: "},
     {"\"bb\" is undefined", "'bb' was not", "'bb'"},
     "    return a + bb;\n               ^~"},
    {"template",
     "template <typename U>\n__device__ U f(U a)\n{\n    return a.real_part();\n}\n",
     NULL,
     "z = f(x); w = 1",
     NULL,
     {"preamble, line 4, column 12: ", "preamble, line 4, column 14: ",
      "preamble, line 4, column 13: "},
     {"must have class type", "'real_part' in 'a'", "member reference base type 'float'"},
     NULL},
    {"loop_prep",
     NULL,
     "int k = undefined_thing;",
     "z = x; w = k",
     NULL,
     {"loop_prep, line 1, column 9: ", "loop_prep, line 1, column 9: ",
      "loop_prep, line 1, column 9: "},
     {"\"undefined_thing\"", "'undefined_thing'", "'undefined_thing'"},
     "int k = undefined_thing;\n        ^~~~~~~~~~~~~~~"},
    {"after_loop",
     NULL,
     NULL,
     "z = x; w = 1",
     "int a;\nb = 3;",
     {"after_loop, line 2, column 1: ", "after_loop, line 2, column 1: ",
      "after_loop, line 2, column 1: "},
     {"\"b\" is undefined", "'b' was not", "'b'"},
     "b = 3;\n^"},
    {"const",
     NULL,
     NULL,
     "x = 3; z = x; w = 1;",
     NULL,
     {"op, line 1, column 1: ", "op, line 1, column 3: ", "op, line 1, column 3: "},
     {"modifiable lvalue", "read-only reference 'x'", "cannot assign to variable 'x'"},
     NULL},
    {"include",
     "#include \"nowhere.h\"\n",
     NULL,
     "z = x; w = 1;",
     NULL,
     {"preamble, line 1, column 21: ", "preamble, line 1, column 10: ",
      "preamble, line 1, column 10: "},
     {"cannot open source file \"nowhere.h\"", "nowhere.h: No such file", "file not found"},
     NULL},
    {"errdir",
     NULL,
     NULL,
     "#error this is wrong\nz = x; w = 1;",
     NULL,
     {"op, line 1, column 2: ", "op, line 1, column 2: ", "op, line 1, column 2: "},
     {"this is wrong", "this is wrong", "this is wrong"},
     "#error this is wrong\n ^~~~~"},
    {"macro",
     "#define SQ(v) ((v) * (vv))\n",
     NULL,
     "z = SQ(x); w = 1;",
     NULL,
     {"op, line 1, column 5: ", "preamble, line 1, column 23: ", "op, line 1, column 5: "},
     {"\"vv\"", "'vv'", "'vv'"},
     NULL},
    {"utf8",
     NULL,
     NULL,
     "/* gr\xC3\xB6\xC3\x9F"
     "e */ z = q; w = 1;",
     NULL,
     {"op, line 1, column 19: ", "op, line 1, column 19: ", "op, line 1, column 19: "},
     {"\"q\"", "'q'", "'q'"},
     "/* gr\xC3\xB6\xC3\x9F"
     "e */ z = q; w = 1;\n                ^"},
    {"warning",
     NULL,
     NULL,
     "int unused = 3; unsigned u = -1; if (u < 0) w = 2; z = q; w = 1;",
     NULL,
     {"op, line 1, column 56: ", "op, line 1, column 56: ", "op, line 1, column 56: "},
     {"\"q\" is undefined", "'q' was not", "'q'"},
     NULL},
    {"overload",
     NULL,
     NULL,
     "z = atomicAdd(x, y, 3); w = 1;",
     NULL,
     {"op, line 1, column 5: ", "op, line 1, column 14: ", "op, line 1, column 5: "},
     {"matches the argument list; argument types are: (const float, const T, int)",
      "no matching function for call to 'atomicAdd(const float&, const T&, int)'",
      "no matching function for call to 'atomicAdd'"},
     NULL},
    {"member",
     NULL,
     NULL,
     "z = x.real(); w = table.foo();",
     NULL,
     {"op, line 1, column 5: ", "op, line 1, column 7: ", "op, line 1, column 6: "},
     {"must have class type", "request for member 'real'", "is not a structure or union"},
     NULL},
    {"splice",
     NULL,
     NULL,
     "z = x + \\\n  q; w = 1;",
     NULL,
     {"op, line 2, column 3: ", "op, line 2, column 3: ", "op, line 2, column 3: "},
     {"\"q\"", "'q'", "'q'"},
     "  q; w = 1;\n  ^"},
    {"static",
     NULL,
     NULL,
     "static_assert(sizeof(T) == 8, \"only doubles\"); z = x; w = 1;",
     NULL,
     {"op, line 1, column 1: ", "op, line 1, column 25: ", "op, line 1, column 1: "},
     {"only doubles", "only doubles", "only doubles"},
     NULL},
    {"midtab",
     NULL,
     NULL,
     "z = x;\tw =\tq;",
     NULL,
     {"op, line 1, column 12: ", "op, line 1, column 12: ", "op, line 1, column 12: "},
     {"\"q\"", "'q'", "'q'"},
     "z = x;\tw =\tq;\n      \t   \t^"},
    {"crlf",
     NULL,
     NULL,
     "z = x;\r\nw =\tq;\r\n",
     NULL,
     {"op, line 2, column 5: ", "op, line 2, column 5: ", "op, line 2, column 5: "},
     {"\"q\"", "'q'", "'q'"},
     "w =\tq;\n   \t^"},
    /* What the user includes is the user's. */
    {"header",
     "#include \"bad.h\"\n",
     NULL,
     "z = x; w = 1;",
     NULL,
     {"bad.h, line 3, column 12: ", "bad.h, line 3, column 12: ", "./bad.h, line 3, column 12: "},
     {"\"missing\" is undefined", "'missing' was not", "'missing'"},
     NULL},
    /* Nobody knows a line. */
    {"unresolved",
     "extern \"C\" __device__ float foo(float);",
     NULL,
     "z = foo(x); w = 1;",
     NULL,
     {"Unresolved extern function 'foo'", "`foo' is declared and nowhere defined",
      "`foo' is declared and nowhere defined"},
     {"", "", ""},
     NULL},
    {"shared",
     NULL,
     NULL,
     "__shared__ double big[100000]; big[i % 100] = x; z = big[3]; w = 1;",
     NULL,
     {"Entry function 'axpy__linear' uses too much shared data", NULL, NULL},
     {"", NULL, NULL},
     NULL},
};

/* Generated source is only looked at where an error is in it: numbered lines will do. */
static char *make_source(void)
{
    kiln__buf b = KILN__BUF_INIT;

    kiln__buf_puts(&b, "// kiln 0.1.0: kernel \"axpy\", layout linear; float32 x, float32 z\n");
    for (int line = 2; line <= 200; line++)
        kiln__buf_printf(&b, "    const float generated_line_%d;\n", line);
    return kiln__buf_take(&b);
}

static char *read_log(const char *name, const char *compiler)
{
    char file[128], path[1024], *log = NULL;
    size_t bytes = 0;

    snprintf(file, sizeof file, "data/logs/%s.%s", name, compiler);
    assert_int_equal(kiln__read_file(test_data(file, path, sizeof path), 1 << 20, &log, &bytes), 0);
    return log;
}

static kiln__definition *define_case(const char *preamble, const char *loop_prep, const char *op,
                                     const char *after_loop)
{
    kiln__definition_request request = {
        .name = "axpy", .in = "float32 x, T y, raw T table", .out = "T z, T w"};
    kiln__definition *def = NULL;

    request.snippet[KILN__SNIPPET_PREAMBLE] = preamble;
    request.snippet[KILN__SNIPPET_LOOP_PREP] = loop_prep;
    request.snippet[KILN__SNIPPET_OP] = op;
    request.snippet[KILN__SNIPPET_AFTER_LOOP] = after_loop;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    return def;
}

static void check_message(const char *message, const char *starts, const char *says)
{
    char want[512];

    snprintf(want, sizeof want, "kernel \"axpy\": %s", starts);
    if (strncmp(message, want, strlen(want)) != 0 || strstr(message, says) == NULL)
        print_error("%s\n   instead of \"%s... %s\"\n", message, want, says);
    assert_int_equal(strncmp(message, want, strlen(want)), 0);
    assert_non_null(strstr(message, says));
    assert_null(strchr(message, '\n'));
    assert_null(strstr(message, "kiln__"));
}

static void test_diagnose__real_logs_lead_to_the_snippet(void **state)
{
    char *source = make_source();

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(CASES); k++) {
        const log_case *row = &CASES[k];
        kiln__definition *def =
            define_case(row->preamble, row->loop_prep, row->op, row->after_loop);

        for (int c = 0; c < 3; c++) {
            kiln_error err = KILN_ERROR_INIT;
            char *log = NULL;

            if (row->starts[c] == NULL)
                continue;
            log = read_log(row->name, COMPILERS[c]);
            assert_int_equal(kiln__diagnose(def, source, log, &err), KILN_ERR_COMPILE);
            assert_int_equal(err.status, KILN_ERR_COMPILE);
            check_message(err.message, row->starts[c], row->says[c]);
            if (row->detail != NULL)
                assert_int_equal(strncmp(err.detail, row->detail, strlen(row->detail)), 0);
            assert_string_equal(err.log, log);
            assert_string_equal(err.source, source);
            kiln_error_clear(&err);
            kiln__free(log);
        }
        kiln__definition_destroy(def);
    }
    kiln__free(source);
}

static void check_detail(const char *preamble, const char *op, const char *name,
                         const char *compiler, const char *want)
{
    kiln__definition *def = define_case(preamble, NULL, op, NULL);
    char *source = make_source(), *log = read_log(name, compiler);
    kiln_error err = KILN_ERROR_INIT;

    kiln__diagnose(def, source, log, &err);
    assert_non_null(err.detail);
    assert_string_equal(err.detail, want);
    kiln_error_clear(&err);
    kiln__free(log);
    kiln__free(source);
    kiln__definition_destroy(def);
}

static void test_diagnose__further_errors_follow_in_the_detail(void **state)
{
    static const char TWO[] = "z = a1;\nw = a2;\nz = a3;\nz = a4;\nz = a5;\nz = a6;\nz = a7";

    (void)state;
    check_detail(NULL, "T t = x;\n\tz = t * qq;\n\tw = foo(t) + qq;", "second_line", "gcc",
                 "\tz = t * qq;\n\t        ^~\n"
                 "op, line 3, column 6: 'foo' was not declared in this scope\n"
                 "\tw = foo(t) + qq;\n\t    ^~~");
    /* At most four more. */
    check_detail(NULL, TWO, "two", "nvrtc",
                 "z = a1;\n    ^~\n"
                 "op, line 2, column 5: identifier \"a2\" is undefined\nw = a2;\n    ^~\n"
                 "op, line 3, column 5: identifier \"a3\" is undefined\nz = a3;\n    ^~\n"
                 "op, line 4, column 5: identifier \"a4\" is undefined\nz = a4;\n    ^~\n"
                 "op, line 5, column 5: identifier \"a5\" is undefined\nz = a5;\n    ^~");
    check_detail(NULL, "z = x.real(); w = table.foo();", "member", "nvrtc",
                 "z = x.real(); w = table.foo();\n    ^\n"
                 "op, line 1, column 25: class \"raw array\" has no member \"foo\"\n"
                 "z = x.real(); w = table.foo();\n                        ^~~");
    check_detail(NULL, "z = x.real(); w = table.foo();", "member", "clang",
                 "z = x.real(); w = table.foo();\n     ^\n"
                 "op, line 1, column 25: no member named 'foo' in 'raw array'\n"
                 "z = x.real(); w = table.foo();\n                        ^~~");
}

static void test_diagnose__headers_show_the_compilers_copy(void **state)
{
    (void)state;
    check_detail("#include \"bad.h\"\n", "z = x; w = 1;", "header", "nvrtc",
                 "      return missing;\n             ^");
    check_detail("#include \"bad.h\"\n", "z = x; w = 1;", "header", "gcc",
                 "    3 |     return missing;\n      |            ^~~~~~~");
    check_detail("#include \"bad.h\"\n", "z = x; w = 1;", "header", "clang",
                 "    return missing;\n           ^~~~~~~\n           using");
}

static void test_diagnose__errors_of_generated_code_show_its_line(void **state)
{
    /* The column that each compiler gives is that of the line it saw, which was longer. */
    static const char *const STARTS[3] = {
        "generated code, line 119, column 11: invalid combination of type specifiers",
        NULL, /* GCC points at the macro in the preamble */
        "generated code, line 94, column 11: cannot combine with previous 'double'"};
    static const char *const DETAILS[3] = {"    const float generated_line_119;\n          ^~~~~",
                                           NULL,
                                           "    const float generated_line_94;\n          ^~~~~"};
    char *source = make_source();
    kiln__definition *def =
        define_case("#define float double double\n", NULL, "z = x; w = 1;", NULL);

    (void)state;
    for (int c = 0; c < 3; c++) {
        char *log = read_log("generated", COMPILERS[c]);
        kiln_error err = KILN_ERROR_INIT;

        kiln__diagnose(def, source, log, &err);
        if (STARTS[c] != NULL) {
            check_message(err.message, STARTS[c], "; the types are float32 x, float32 z");
            assert_string_equal(err.detail, DETAILS[c]);
        } else {
            check_message(err.message, "preamble, line 1, column 15: two or more data types", "");
        }
        kiln_error_clear(&err);
        kiln__free(log);
    }
    kiln__free(source);
    kiln__definition_destroy(def);
}

static void test_diagnose__long_lines_are_cut_around_the_error(void **state)
{
    kiln__buf op = KILN__BUF_INIT;
    char *source = make_source();
    kiln__definition *def = NULL;

    (void)state;
    kiln__buf_puts(&op, "z = x");
    for (int k = 0; k < 600; k++)
        kiln__buf_puts(&op, " + 1");
    kiln__buf_puts(&op, " + q; w = 1;");
    def = define_case(NULL, NULL, op.text, NULL);
    for (int c = 0; c < 3; c++) {
        char *log = read_log("long_line", COMPILERS[c]);
        kiln_error err = KILN_ERROR_INIT;
        const char *caret = NULL;

        kiln__diagnose(def, source, log, &err);
        check_message(err.message, "op, line 1, column 2409: ", "q");
        assert_true(strlen(err.detail) < 400);
        caret = strchr(err.detail, '\n');
        assert_non_null(caret);
        assert_int_equal(err.detail[strspn(caret + 1, " ")], 'q'); /* the caret stands under it */
        kiln_error_clear(&err);
        kiln__free(log);
    }
    kiln__buf_clear(&op);
    kiln__free(source);
    kiln__definition_destroy(def);
}

static void check_text(const char *log, const char *starts)
{
    kiln__definition *def = define_case(NULL, NULL, "z = x; w = 1;", NULL);
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__diagnose(def, "// source\n", log, &err), KILN_ERR_COMPILE);
    check_message(err.message, starts, "");
    kiln_error_clear(&err);
    assert_int_equal(kiln__diagnose(def, "", log, NULL), KILN_ERR_COMPILE);
    kiln__definition_destroy(def);
}

static void test_diagnose__odd_logs_still_give_a_message(void **state)
{
    (void)state;
    check_text(NULL, "the compiler failed and said nothing");
    check_text("", "the compiler failed and said nothing");
    check_text("\n \n", "the compiler failed and said nothing");
    check_text("gibberish\n", "gibberish");
    check_text("note\nAt end of source: error: expected a \"}\"\n",
               "At end of source: error: expected a \"}\"");
    check_text("op(1): error", "op(1): error");
    check_text("op(1): error: ", "op, line 1: ");
    check_text("op(1): error #20-D: words", "op, line 1: words");
    check_text("op(1): error: words\n  z = x;\n", "op, line 1: words");
    check_text("op(1): error: words\n   ^\n", "op, line 1, column 2: words");
    check_text("op(1): error: words\n^\n", "op, line 1: words");
    check_text("op:1: error: words", "op, line 1: words");
    check_text("op:7:3: error: words", "generated code: words"); /* op has one line */
    check_text("op:1:999: error: words", "op, line 1, column 999: words");
    check_text("op:0:0: error: words", "op: words");
    check_text("op:99999999999999999999: error: words", "op:99999999999999999999: error: words");
    check_text("kiln.generated(77): error: words", "generated code, line 77: words");
    check_text("op:1:1: warning: no\nop:1:2: error: kiln__raw<a<b>, 1> and kiln__x, akiln_y",
               "op, line 1, column 2: raw array and x, akiln_y");
    check_text("op:1:2: error: kiln__raw<a", "op, line 1, column 2: raw<a");
    check_text("op:1:2: error: kiln__indexer<3> kiln__", "op, line 1, column 2: _ind ");
    check_text("op:1:2: fatal error: words\r\n", "op, line 1, column 2: words");
    check_text("op:1:2: internal compiler error: words", "op, line 1, column 2: words");
}

static void test_diagnose__each_allocation_failure_is_survived(void **state)
{
    kiln__definition *def = define_case(NULL, NULL, CASES[1].op, NULL);
    char *log = read_log("second_line", "nvrtc");
    size_t live = kiln__test_alloc_live();

    (void)state;
    for (size_t nth = 0; nth < 60; nth++) {
        kiln_error err = KILN_ERROR_INIT;

        kiln__test_alloc_fail_at(nth);
        assert_int_equal(kiln__diagnose(def, "", log, &err), KILN_ERR_COMPILE);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_int_equal(err.status, KILN_ERR_COMPILE);
        assert_non_null(strstr(err.message, "kernel \"axpy\": "));
        kiln_error_clear(&err);
        assert_int_equal(kiln__test_alloc_live(), live);
    }
    kiln__free(log);
    kiln__definition_destroy(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diagnose__real_logs_lead_to_the_snippet),
        cmocka_unit_test(test_diagnose__further_errors_follow_in_the_detail),
        cmocka_unit_test(test_diagnose__headers_show_the_compilers_copy),
        cmocka_unit_test(test_diagnose__errors_of_generated_code_show_its_line),
        cmocka_unit_test(test_diagnose__long_lines_are_cut_around_the_error),
        cmocka_unit_test(test_diagnose__odd_logs_still_give_a_message),
        cmocka_unit_test(test_diagnose__each_allocation_failure_is_survived),
    };

    return cmocka_run_group_tests_name("test_diagnose", tests, NULL, NULL);
}
