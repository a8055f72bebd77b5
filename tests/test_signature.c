/*
 * test_signature.c - parameter signatures: what they declare, and how they are refused.
 *
 * Expected values are written by hand: from CuPy's rules for the strings CuPy takes
 * (data/signatures.txt), from docs and headers for the rest.
 */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/lexer.h"
#include "frontend.h"
#include "test_data.h"

/* ---- what is declared ---- */

static void describe_param(const kiln__param *param, kiln__buf *out)
{
    if (param->placeholder != 0)
        kiln__buf_printf(out, "%c:%s", param->placeholder, param->name);
    else
        kiln__buf_printf(out, "%s:%s", kiln_dtype_name(param->dtype), param->name);
    kiln__buf_puts(out, param->raw ? ":raw" : "");
    kiln__buf_puts(out, param->is_const ? ":const" : "");
    kiln__buf_puts(out, param->writable ? ":writable" : "");
    kiln__buf_putc(out, ' ');
}

/* The table's third column: "T:x S:y:raw -> T:z". */
static char *describe(const kiln__definition *def)
{
    kiln__buf out = KILN__BUF_INIT;

    for (size_t k = 0; k <= def->param_count; k++) {
        if (k == def->input_count)
            kiln__buf_puts(&out, "-> ");
        if (k < def->param_count)
            describe_param(&def->params[k], &out);
    }
    out.text[out.length - 1] = '\0'; /* the last blank */
    return kiln__buf_take(&out);
}

static void unescape(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        if (text[0] == '\\' && (text[1] == 'n' || text[1] == 't'))
            *to++ = *++text == 'n' ? '\n' : '\t';
        else
            *to++ = *text;
    }
    *to = '\0';
}

static char *trim(char *text)
{
    size_t length = 0;

    text += strspn(text, " ");
    length = strlen(text);
    while (length != 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    return text;
}

static void test_signature__strings_in_the_wild_mean_what_they_say(void **state)
{
    char path[1024], line[1024];
    size_t rows = 0;
    FILE *file = fopen(test_data("data/signatures.txt", path, sizeof path), "r");

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *in = line, *out = NULL, *want = NULL, *got = NULL;
        kiln__definition *def = NULL;

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        out = strchr(in, '|');
        assert_non_null(out);
        *out++ = '\0';
        want = strchr(out, '|');
        assert_non_null(want);
        *want++ = '\0';
        unescape(in);
        unescape(out);
        def = define(in, out, "");
        got = describe(def);
        assert_string_equal(got, trim(want));
        for (size_t k = 0; k < def->param_count; k++)
            assert_int_equal(def->params[k].output, k >= def->input_count);
        kiln__free(got);
        kiln__definition_destroy(def);
        rows++;
    }
    fclose(file);
    assert_true(rows >= 40);
}

static void test_signature__every_dtype_can_be_declared_by_its_names(void **state)
{
    (void)state;
    for (int d = 1; d < KILN_DTYPE_COUNT; d++) {
        const char *names[2] = {kiln_dtype_name((kiln_dtype)d), kiln_dtype_ctype((kiln_dtype)d)};
        for (int k = 0; k < 2; k++) {
            char in[64];
            kiln__definition *def = NULL;

            snprintf(in, sizeof in, "%s x", names[k]);
            def = define(in, "", "");
            assert_int_equal(def->params[0].dtype, d);
            assert_int_equal(def->params[0].placeholder, 0);
            kiln__definition_destroy(def);
        }
    }
}

static void test_signature__columns_point_at_the_declaration(void **state)
{
    kiln__definition *def = define(" T x, raw unsigned\tint yy", "\nT z", "");

    (void)state;
    assert_int_equal(def->params[0].column, 1);
    assert_int_equal(def->params[0].width, 3);
    assert_int_equal(def->params[1].column, 6);
    assert_int_equal(def->params[1].width, 19);
    assert_int_equal(def->params[2].column, 1);
    assert_int_equal(def->params[2].width, 3);
    kiln__definition_destroy(def);
}

static void test_signature__empty_lists_are_legal(void **state)
{
    static const char *const BLANKS[] = {"", " ", "\n\t "};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(BLANKS); k++) {
        kiln__definition *def = define(BLANKS[k], BLANKS[k], "");
        assert_int_equal(def->param_count, 0);
        assert_int_equal(def->input_count, 0);
        kiln__definition_destroy(def);
    }
}

/* "T a0, T a1, ..." of `count` parameters. */
static char *many(char letter, int count)
{
    kiln__buf b = KILN__BUF_INIT;

    for (int k = 0; k < count; k++)
        kiln__buf_printf(&b, "%sT %c%d", k == 0 ? "" : ", ", letter, k);
    return kiln__buf_take(&b);
}

static void test_signature__the_largest_number_of_parameters_is_legal(void **state)
{
    char *in = many('a', KILN_PARAM_MAX - 3), *out = many('b', 3);
    kiln__definition *def = define(in, out, "");

    (void)state;
    assert_int_equal(def->param_count, KILN_PARAM_MAX);
    assert_int_equal(def->input_count, KILN_PARAM_MAX - 3);
    kiln__definition_destroy(def);
    kiln__free(in);
    kiln__free(out);
}

/* ---- what is refused ---- */

typedef struct refusal {
    const char *in, *out;
    kiln_status status;
    const char *message; /* part of it */
    const char *caret;   /* the detail's last line, or NULL */
} refusal;

/* Every refusal must leave no definition, name the kernel, and show this caret. */
static void check_refusals(const refusal *rows, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        kiln__definition_request request = {.name = "axpy", .in = rows[k].in, .out = rows[k].out};
        kiln__definition *def = (kiln__definition *)&request; /* must be overwritten */
        kiln_error err = KILN_ERROR_INIT;
        kiln_status status = KILN_OK;
        const char *caret = NULL;

        request.snippet[KILN__SNIPPET_OP] = "";
        status = kiln__definition_create(&request, &def, &err);
        if (status != rows[k].status || strstr(err.message, rows[k].message) == NULL)
            print_error("(%s) -> (%s): %s: %s\n%s\n", rows[k].in, rows[k].out,
                        kiln_status_name(status), err.message, err.detail);
        assert_int_equal(status, rows[k].status);
        assert_null(def);
        assert_int_equal(err.status, status);
        assert_non_null(strstr(err.message, rows[k].message));
        assert_non_null(strstr(err.message, "kernel \"axpy\""));
        assert_null(strchr(err.message, '\n'));
        assert_non_null(err.detail);
        caret = strrchr(err.detail, '\n');
        assert_non_null(caret);
        if (rows[k].caret != NULL)
            assert_string_equal(caret + 1, rows[k].caret);
        assert_true(err.offset >= (int64_t)strspn(caret + 1, " "));
        kiln_error_clear(&err);
    }
}

static void test_signature__syntax_errors_are_refused_with_a_caret(void **state)
{
    static const refusal ROWS[] = {
        {"T x, T", "T z", KILN_ERR_SYNTAX, "inputs, column 6: \"T\" is a type", "     ^"},
        {"T x, unsigned int", "T z", KILN_ERR_SYNTAX, "name is missing", "     ^~~~~~~~~~~~"},
        {"long long", "", KILN_ERR_SYNTAX, "\"long long\" is a type", "^~~~~~~~~"},
        {"T x, yy", "T z", KILN_ERR_SYNTAX, "\"yy\" has no type", "     ^~"},
        {"T x, raw yy", "T z", KILN_ERR_SYNTAX, "\"yy\" has no type", "         ^~"},
        {"T x, raw", "T z", KILN_ERR_SYNTAX, "missing after \"raw\"", "     ^~~"},
        {"raw const", "T z", KILN_ERR_SYNTAX, "missing after \"const\"", "^~~"},
        {"T x y", "T z", KILN_ERR_SYNTAX, "column 5: \"y\" follows", "    ^"},
        {"T x T y", "T z", KILN_ERR_SYNTAX, "\"T\" follows", "    ^"},
        {"unsigned int x float y", "T z", KILN_ERR_SYNTAX, "a comma is missing",
         "               ^~~~~"},
        {"T x,, T y", "T z", KILN_ERR_SYNTAX, "missing before this comma", "    ^"},
        {", T x", "T z", KILN_ERR_SYNTAX, "missing before this comma", "^"},
        {",", "T z", KILN_ERR_SYNTAX, "missing before this comma", "^"},
        {"T x, ", "T z", KILN_ERR_SYNTAX, "missing after this comma", "   ^"},
        {"T x", "T z,", KILN_ERR_SYNTAX, "outputs, column 4: a parameter is missing after", "   ^"},
        {"T x; T y", "T z", KILN_ERR_SYNTAX, "\";\" is out of place", "   ^"},
        {"T *x", "T z", KILN_ERR_SYNTAX, "\"*\" is out of place; an array", "  ^"},
        {"T &x", "T z", KILN_ERR_SYNTAX, "\"&\" is out of place", "  ^"},
        {"T &&x", "T z", KILN_ERR_SYNTAX, "\"&&\" is out of place", "  ^~"},
        {"T x[3]", "T z", KILN_ERR_SYNTAX, "\"[\" is out of place", "   ^"},
        {"T x = 3", "T z", KILN_ERR_SYNTAX, "\"=\" is out of place", "    ^"},
        {"T 2x", "T z", KILN_ERR_SYNTAX, "\"2x\" is neither", "  ^~"},
        {"T x // the input", "T z", KILN_ERR_SYNTAX, "\"/\" is out of place", "    ^"},
        {"T x /* in */, T y", "T z", KILN_ERR_SYNTAX, "\"/\" is out of place", "    ^"},
        {"T \"x\"", "T z", KILN_ERR_SYNTAX, "is out of place", "  ^"},
        {"T x\\\n, T y", "T z", KILN_ERR_SYNTAX, "line 1, column 4: \"\\\" is out of place",
         "   ^"},
        {"T x@y", "T z", KILN_ERR_SYNTAX, "\"@\" is out of place", "   ^"},
        {"T gr\xC3\xB6\xC3\x9F"
         "e",
         "T z", KILN_ERR_SYNTAX, "\"\xC3\xB6\xC3\x9F\" is not ASCII", "    ^~"},
        {"T x\xFF", "T z", KILN_ERR_SYNTAX, "is not ASCII", NULL},
        {"T x\x01", "T z", KILN_ERR_SYNTAX, "is out of place", NULL},
        {"const raw T x", "T z", KILN_ERR_SYNTAX, "\"raw\" belongs before \"const\"", "      ^~~"},
        {"raw raw T x", "T z", KILN_ERR_SYNTAX, "\"raw\" is written twice", "    ^~~"},
        {"T raw x", "T z", KILN_ERR_SYNTAX, "\"raw\" belongs before the type", "  ^~~"},
        {"T const x", "T z", KILN_ERR_SYNTAX, "\"const\" belongs before the type", "  ^~~~~"},
        {"const const T x", "T z", KILN_ERR_SYNTAX, "written twice", "      ^~~~~"},
        {"_non_const const T x", "T z", KILN_ERR_SYNTAX, "contradicts", "           ^~~~~"},
        {"const _non_const T x", "T z", KILN_ERR_SYNTAX, "contradicts", "      ^~~~~~~~~~"},
        {"T x", "const T z", KILN_ERR_SYNTAX, "no sense for an output", "^~~~~"},
        {"T x,\n  T y,\n  T T2 w", "T z", KILN_ERR_SYNTAX, "line 3, column 8: \"w\"", "       ^"},
    };

    (void)state;
    check_refusals(ROWS, KILN_COUNT_OF(ROWS));
}

static void test_signature__unknown_types_are_refused_with_the_nearest_name(void **state)
{
    static const refusal ROWS[] = {
        {"flaot32 x", "T z", KILN_ERR_UNKNOWN_TYPE,
         "inputs, column 1: unknown type \"flaot32\"; did you mean \"float32\"?", "^~~~~~~"},
        {"T x, Float32 a", "T z", KILN_ERR_UNKNOWN_TYPE, "did you mean \"float32\"?",
         "     ^~~~~~~"},
        {"T x", "compex64 z", KILN_ERR_UNKNOWN_TYPE,
         "outputs, column 1: unknown type \"compex64\"; did you mean \"complex64\"?", "^~~~~~~~"},
        {"int23 x", "T z", KILN_ERR_UNKNOWN_TYPE, "did you mean \"int32\"?", "^~~~~"},
        {"unsinged int x", "T z", KILN_ERR_UNKNOWN_TYPE, "did you mean \"unsigned int\"?",
         "^~~~~~~~~~~~"},
        {"Raw T x", "T z", KILN_ERR_UNKNOWN_TYPE, "did you mean \"raw\"?", "^~~~~"},
        {"unsigned float x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"unsigned float\"",
         "^~~~~~~~~~~~~~"},
        {"tensor x", "T z", KILN_ERR_UNKNOWN_TYPE, "\"tensor\"; a type is one letter or a dtype",
         "^~~~~~"},
        {"_ x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"_\"", "^"},
        {"T2 x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"T2\"", "^~"},
        {"long double x", "T z", KILN_ERR_UNKNOWN_TYPE, "no device computes in \"long double\"",
         "^~~~~~~~~~~"},
        {"float128 x", "T z", KILN_ERR_UNKNOWN_TYPE, "no device computes in \"float128\"",
         "^~~~~~~~"},
        {"complex<T> x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"complex<T>\"", "^~~~~~~~~~"},
        {"complex<float x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"complex<float\"",
         "^~~~~~~~~~~~~"},
        {"std::vector<float> x", "T z", KILN_ERR_UNKNOWN_TYPE, "\"std::vector<float>\"", NULL},
        {":: x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"::\"", "^~"},
        {"< x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"<\"", "^"},
        {"CIndexer x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"CIndexer\"", "^~~~~~~~"},
        {"void x", "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type \"void\"", "^~~~"},
    };

    (void)state;
    check_refusals(ROWS, KILN_COUNT_OF(ROWS));
}

static void test_signature__names_that_cannot_work_are_refused(void **state)
{
    static const refusal ROWS[] = {
        {"T x, S x", "T z", KILN_ERR_NAME, "column 8: \"x\" is already the name of input 1",
         "       ^"},
        {"T a, T x", "T x", KILN_ERR_NAME,
         "outputs, column 3: \"x\" is already the name of input 2", "  ^"},
        {"T x", "T z, T z", KILN_ERR_NAME, "is already the name of output 1", "       ^"},
        {"raw T x, raw T i", "T z", KILN_ERR_NAME, "\"i\" is the loop's index", "               ^"},
        {"T x", "T i", KILN_ERR_NAME, "\"i\" is the loop's index", "  ^"},
        {"T _ind", "T z", KILN_ERR_NAME, "\"_ind\" is the loop's indexer", "  ^~~~"},
        {"T for", "T z", KILN_ERR_NAME, "\"for\" is a keyword", "  ^~~"},
        {"T and", "T z", KILN_ERR_NAME, "\"and\" is a keyword", "  ^~~"},
        {"T x, T int", "T z", KILN_ERR_NAME, "\"int\" is a keyword", "       ^~~"},
        {"T requires", "T z", KILN_ERR_NAME, "is a keyword", "  ^~~~~~~~"},
        {"int threadIdx", "T z", KILN_ERR_NAME, "\"threadIdx\" is a word of CUDA", "    ^~~~~~~~~"},
        {"int blockIdx", "T z", KILN_ERR_NAME, "is a word of CUDA", NULL},
        {"int blockDim", "T z", KILN_ERR_NAME, "is a word of CUDA", NULL},
        {"int gridDim", "T z", KILN_ERR_NAME, "is a word of CUDA", NULL},
        {"int warpSize", "T z", KILN_ERR_NAME, "is a word of CUDA", NULL},
        {"T __shared__", "T z", KILN_ERR_NAME, "is a word of CUDA", NULL},
        {"T kiln__x", "T z", KILN_ERR_NAME, "\"kiln__x\" begins as the names in generated",
         "  ^~~~~~~"},
        {"T float32", "T z", KILN_ERR_NAME, "\"float32\" is the name of a type", "  ^~~~~~~"},
        {"T x$", "T z", KILN_ERR_NAME, "\"x$\" is no C++ identifier", "  ^~"},
        {"T x, S T", "T z", KILN_ERR_NAME, "inputs, column 8: \"T\" is a placeholder", "       ^"},
        {"T x", "x z", KILN_ERR_NAME, "inputs, column 3: \"x\" is a placeholder", "  ^"},
        {"T T", "T z", KILN_ERR_NAME, "\"T\" is a placeholder", "  ^"},
        {"T x", "S T", KILN_ERR_NAME, "outputs, column 3: \"T\" is a placeholder", "  ^"},
        {"i x", "T z", KILN_ERR_NAME, "\"i\" is the loop's index", "^"},
    };

    (void)state;
    check_refusals(ROWS, KILN_COUNT_OF(ROWS));
}

static void test_signature__every_keyword_is_refused_as_a_name(void **state)
{
    /* The keywords of C++17, [lex.key], and the alternative tokens, [lex.digraph]. */
    static const char *const WORDS[] = {"alignas",   "continue",     "friend",
                                        "register",  "true",         "alignof",
                                        "decltype",  "goto",         "reinterpret_cast",
                                        "try",       "asm",          "default",
                                        "if",        "return",       "typedef",
                                        "auto",      "delete",       "inline",
                                        "short",     "typeid",       "bool",
                                        "do",        "int",          "signed",
                                        "typename",  "break",        "double",
                                        "long",      "sizeof",       "union",
                                        "case",      "dynamic_cast", "mutable",
                                        "static",    "unsigned",     "catch",
                                        "else",      "namespace",    "static_assert",
                                        "using",     "char",         "enum",
                                        "new",       "static_cast",  "virtual",
                                        "char16_t",  "explicit",     "noexcept",
                                        "struct",    "void",         "char32_t",
                                        "export",    "nullptr",      "switch",
                                        "volatile",  "class",        "extern",
                                        "operator",  "template",     "wchar_t",
                                        "false",     "private",      "this",
                                        "while",     "const_cast",   "float",
                                        "protected", "thread_local", "constexpr",
                                        "for",       "public",       "throw",
                                        "and",       "and_eq",       "bitand",
                                        "bitor",     "compl",        "not",
                                        "not_eq",    "or",           "or_eq",
                                        "xor",       "xor_eq"};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(WORDS); k++) {
        char in[64];
        refusal row = {in, "T z", KILN_ERR_NAME, "is a keyword of C++", NULL};

        snprintf(in, sizeof in, "T %s", WORDS[k]);
        check_refusals(&row, 1);
    }
}

static void test_signature__too_many_parameters_are_refused(void **state)
{
    char *in = many('a', KILN_PARAM_MAX - 2), *out = many('b', 3);
    refusal row = {in, out, KILN_ERR_ARGUMENT, "more than 64 parameters", "            ^"};

    (void)state;
    check_refusals(&row, 1);
    kiln__free(in);
    kiln__free(out);
}

static void test_signature__long_texts_do_not_break_messages(void **state)
{
    size_t bytes = 100000;
    char *in = malloc(bytes + 1);
    refusal row = {in, "T z", KILN_ERR_UNKNOWN_TYPE, "unknown type", NULL};

    (void)state;
    assert_non_null(in);
    memset(in, 'a', bytes);
    memcpy(in + bytes - 2, " x", 3);
    check_refusals(&row, 1);
    memset(in, 'a', bytes);
    row.status = KILN_ERR_SYNTAX;
    row.message = "has no type";
    check_refusals(&row, 1);
    free(in);
}

/* ---- definitions ---- */

static void check_kernel_name(const char *name, kiln_status want)
{
    kiln__definition_request request = {.name = name, .in = "T x", .out = "T z"};
    kiln__definition *def = NULL;
    kiln_error err = KILN_ERROR_INIT;

    request.snippet[KILN__SNIPPET_OP] = "z = x";
    assert_int_equal(kiln__definition_create(&request, &def, &err), want);
    if (want == KILN_OK)
        assert_string_equal(def->name, name != NULL ? name : "kiln_kernel");
    else
        assert_non_null(strstr(err.message, name));
    kiln__definition_destroy(def);
    kiln_error_clear(&err);
}

static void test_signature__kernel_names_are_identifiers(void **state)
{
    (void)state;
    check_kernel_name(NULL, KILN_OK);
    check_kernel_name("axpy", KILN_OK);
    check_kernel_name("_a1__B", KILN_OK);
    check_kernel_name("T", KILN_OK);
    check_kernel_name("", KILN_ERR_NAME);
    check_kernel_name("1a", KILN_ERR_NAME);
    check_kernel_name("a b", KILN_ERR_NAME);
    check_kernel_name("a-b", KILN_ERR_NAME);
    check_kernel_name("a$", KILN_ERR_NAME);
    check_kernel_name(" a", KILN_ERR_NAME);
    check_kernel_name("caf\xC3\xA9", KILN_ERR_NAME);
    check_kernel_name("while", KILN_ERR_NAME);
}

static void test_signature__missing_texts_are_named(void **state)
{
    static const char *const NAMED[] = {"input signature", "output signature", "op snippet"};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        kiln__definition_request request = {.in = k == 0 ? NULL : "T x", .out = k == 1 ? NULL : ""};
        kiln__definition *def = NULL;
        kiln_error err = KILN_ERROR_INIT;

        request.snippet[KILN__SNIPPET_OP] = k == 2 ? NULL : "";
        assert_int_equal(kiln__definition_create(&request, &def, &err), KILN_ERR_NULL);
        assert_null(def);
        assert_non_null(strstr(err.message, NAMED[k]));
        kiln_error_clear(&err);
    }
}

static void test_signature__everything_is_copied(void **state)
{
    char in[] = "T x", out[] = "T z", op[] = "z = x", prep[] = "int k = 0", option[] = "-DA=1";
    const char *const options[] = {option};
    kiln__definition_request request = {.name = "k",
                                        .in = in,
                                        .out = out,
                                        .options = options,
                                        .option_count = 1,
                                        .keep_axes = true};
    kiln__definition *def = NULL;

    (void)state;
    request.snippet[KILN__SNIPPET_OP] = op;
    request.snippet[KILN__SNIPPET_LOOP_PREP] = prep;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    memset(in, '?', sizeof in - 1);
    memset(out, '?', sizeof out - 1);
    memset(op, '?', sizeof op - 1);
    memset(prep, '?', sizeof prep - 1);
    memset(option, '?', sizeof option - 1);
    assert_string_equal(def->signature[0], "T x");
    assert_string_equal(def->signature[1], "T z");
    assert_string_equal(def->snippet[KILN__SNIPPET_PREAMBLE], "");
    assert_string_equal(def->snippet[KILN__SNIPPET_LOOP_PREP], "int k = 0");
    assert_string_equal(def->snippet[KILN__SNIPPET_OP], "z = x");
    assert_string_equal(def->snippet[KILN__SNIPPET_AFTER_LOOP], "");
    assert_string_equal(def->options[0], "-DA=1");
    assert_int_equal(def->option_count, 1);
    assert_true(def->keep_axes);
    kiln__definition_destroy(def);
    kiln__definition_destroy(NULL);
}

static void test_signature__bad_options_are_refused(void **state)
{
    const char *const options[] = {"-DA", NULL};
    kiln__definition_request request = {
        .in = "T x", .out = "T z", .options = options, .option_count = 2};
    kiln__definition *def = NULL;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    request.snippet[KILN__SNIPPET_OP] = "z = x";
    assert_int_equal(kiln__definition_create(&request, &def, &err), KILN_ERR_NULL);
    assert_non_null(strstr(err.message, "option 2"));
    request.options = NULL;
    assert_int_equal(kiln__definition_create(&request, &def, &err), KILN_ERR_NULL);
    kiln_error_clear(&err);
}

/* Every allocation of a call fails once, in turn; nothing may leak, and the definition is either
 * whole or not there. */
static void check_allocation_failures(const char *in, bool numpy_types, kiln_status want)
{
    const char *const options[] = {"-DA=x", "-I."};
    kiln__definition_request request = {
        .name = "k", .in = in, .out = "T z", .options = options, .option_count = 2};
    kiln_status status = KILN_ERR_NO_MEMORY;
    size_t live = kiln__test_alloc_live(), nth = 0;

    request.snippet[KILN__SNIPPET_PREAMBLE] = "#define SQ(v) ((v) * (v))\n";
    request.snippet[KILN__SNIPPET_OP] = "z = SQ(x) + i;";
    request.numpy_types = numpy_types;
    for (; status == KILN_ERR_NO_MEMORY; nth++) {
        kiln__definition *def = NULL;
        kiln_error err = KILN_ERROR_INIT;

        kiln__test_alloc_fail_at(nth);
        status = kiln__definition_create(&request, &def, &err);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_true(status == want || status == KILN_ERR_NO_MEMORY);
        assert_int_equal(def != NULL, status == KILN_OK);
        assert_int_equal(err.status, status);
        kiln__definition_destroy(def);
        kiln_error_clear(&err);
        assert_int_equal(kiln__test_alloc_live(), live);
    }
    assert_true(nth > 10);
}

static void test_signature__each_allocation_failure_is_survived(void **state)
{
    (void)state;
    check_allocation_failures("T x, raw float32 table", false, KILN_OK);
    check_allocation_failures("T x, raw float table", true, KILN_OK);
    check_allocation_failures("T x, T y y", false, KILN_ERR_SYNTAX);
}

/* What numpy.dtype() of NumPy 2.4 on 64-bit Linux says of "float", "int", "uint" and "complex". Types
 * of several words, placeholders and names are left alone. */
static void test_signature__numpy_types_are_64_bits_wide(void **state)
{
    static const struct {
        const char *given, *widened;
    } cases[] = {
        {"float x, int y", "float64 x, int64 y"},
        {"raw float x,raw const int\ty , uint z", "raw float64 x,raw const int64\ty , uint64 z"},
        {"_non_const raw float x", "_non_const raw float64 x"},
        {"unsigned int x, long long y, T int_, complex c", NULL},
        {"float32 x, int32 floats, double d", NULL},
        {"", NULL},
        {"float", NULL},
        {"float ,, int", NULL},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char *text = NULL;
        assert_int_equal(kiln__signature_widen(cases[k].given, &text, NULL), KILN_OK);
        assert_string_equal(text, cases[k].widened != NULL ? cases[k].widened : cases[k].given);
        kiln__free(text);
    }
    kiln__definition_request request = {.name = "k", .in = "float x, int y", .out = "float z"};
    kiln__definition *def = NULL;
    request.snippet[KILN__SNIPPET_OP] = "z = x + y;";
    request.numpy_types = true;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    assert_int_equal(def->params[0].dtype, KILN_FLOAT64);
    assert_int_equal(def->params[1].dtype, KILN_INT64);
    assert_int_equal(def->params[2].dtype, KILN_FLOAT64);
    kiln__definition_destroy(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signature__strings_in_the_wild_mean_what_they_say),
        cmocka_unit_test(test_signature__every_dtype_can_be_declared_by_its_names),
        cmocka_unit_test(test_signature__columns_point_at_the_declaration),
        cmocka_unit_test(test_signature__empty_lists_are_legal),
        cmocka_unit_test(test_signature__the_largest_number_of_parameters_is_legal),
        cmocka_unit_test(test_signature__syntax_errors_are_refused_with_a_caret),
        cmocka_unit_test(test_signature__unknown_types_are_refused_with_the_nearest_name),
        cmocka_unit_test(test_signature__names_that_cannot_work_are_refused),
        cmocka_unit_test(test_signature__every_keyword_is_refused_as_a_name),
        cmocka_unit_test(test_signature__too_many_parameters_are_refused),
        cmocka_unit_test(test_signature__long_texts_do_not_break_messages),
        cmocka_unit_test(test_signature__kernel_names_are_identifiers),
        cmocka_unit_test(test_signature__missing_texts_are_named),
        cmocka_unit_test(test_signature__everything_is_copied),
        cmocka_unit_test(test_signature__bad_options_are_refused),
        cmocka_unit_test(test_signature__numpy_types_are_64_bits_wide),
        cmocka_unit_test(test_signature__each_allocation_failure_is_survived),
    };

    return cmocka_run_group_tests_name("test_signature", tests, NULL, NULL);
}
