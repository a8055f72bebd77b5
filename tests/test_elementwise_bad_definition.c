/*
 * test_elementwise_bad_definition.c - definitions that must be refused, and how.
 *
 * Each row names the status, texts that the message or detail must hold, and the token that the
 * caret must stand under. After each refusal the handle is NULL and nothing is left allocated
 * (the fixture counts).
 */
#include <string.h>

#include "oracle/host.h"

#ifdef KILN_TEST_HOOKS
#include "context/context.h"
#endif

typedef struct bad_case {
    const char *in, *out;
    kiln_status status;
    const char *text;  /* in the message */
    const char *token; /* where the caret points: the text found there; NULL: not checked */
} bad_case;

static const bad_case bad_signatures[] = {
    /* shape of the grammar */
    {"T", "T z", KILN_ERR_SYNTAX, "", "T"},
    {"T x y", "T z", KILN_ERR_SYNTAX, "", "y"},
    {"T x,, T y", "T z", KILN_ERR_SYNTAX, "", ", T y"},
    {"T x,", "T z", KILN_ERR_SYNTAX, "", NULL},
    {", T x", "T z", KILN_ERR_SYNTAX, "", ", T x"},
    {"T x; T y", "T z", KILN_ERR_SYNTAX, "", "; T y"},
    {"T 3x", "T z", KILN_ERR_SYNTAX, "3x", "3x"},
    {"T x T y", "T z", KILN_ERR_SYNTAX, "", "T y"},
    {"raw", "T z", KILN_ERR_SYNTAX, "", NULL},
    {"const", "T z", KILN_ERR_SYNTAX, "", NULL},
    {"T *x", "T z", KILN_ERR_SYNTAX, "", "*x"},
    {"T &x", "T z", KILN_ERR_SYNTAX, "", "&x"},
    {"T x[3]", "T z", KILN_ERR_SYNTAX, "", "[3]"},
    {"T x = 3", "T z", KILN_ERR_SYNTAX, "", "= 3"},
    {"T x", "T z)", KILN_ERR_SYNTAX, "", ")"},
    {"T x", "T", KILN_ERR_SYNTAX, "", "T"},
    {"T \"x\"", "T z", KILN_ERR_SYNTAX, "", "\"x\""},
    {"T x, \xff\xfe y", "T z", KILN_ERR_SYNTAX, "", NULL},
    /* names */
    {"T x, T x", "T z", KILN_ERR_NAME, "x", "x"},
    {"T x, T y, U x", "T z", KILN_ERR_NAME, "x", "x"},
    {"T x", "T x", KILN_ERR_NAME, "x", "x"},
    {"T x", "T z, U z", KILN_ERR_NAME, "z", "z"},
    {"T i", "T z", KILN_ERR_NAME, "i", "i"},
    {"T _ind", "T z", KILN_ERR_NAME, "_ind", "_ind"},
    {"T for", "T z", KILN_ERR_NAME, "for", "for"},
    {"T x", "T template", KILN_ERR_NAME, "template", "template"},
    {"T int", "T z", KILN_ERR_NAME, "int", "int"},
    {"T threadIdx", "T z", KILN_ERR_NAME, "threadIdx", "threadIdx"},
    {"T blockDim", "T z", KILN_ERR_NAME, "blockDim", "blockDim"},
    {"T x", "T warpSize", KILN_ERR_NAME, "warpSize", "warpSize"},
    /* types */
    {"flaot32 x", "T z", KILN_ERR_UNKNOWN_TYPE, "flaot32", "flaot32"},
    {"T x, float33 y", "T z", KILN_ERR_UNKNOWN_TYPE, "float33", "float33"},
    {"T x", "Float64 z", KILN_ERR_UNKNOWN_TYPE, "Float64", "Float64"},
    {"raw object x", "T z", KILN_ERR_UNKNOWN_TYPE, "object", "object"},
    {"float128 x", "T z", KILN_ERR_UNKNOWN_TYPE, "float128", "float128"},
    {"thrust::complex<int> x", "T z", KILN_ERR_UNKNOWN_TYPE, "int", NULL},
    {"TT x", "T z", KILN_ERR_UNKNOWN_TYPE, "TT", "TT"},
};

/* Whether the detail shows a caret line whose first '^' stands under the start of `token`. */
static bool caret_points_at(const char *detail, const char *token)
{
    const char *line = detail, *previous = NULL;
    size_t previous_bytes = 0;

    while (line != NULL && *line != '\0') {
        const char *end = strchr(line, '\n');
        size_t bytes = end != NULL ? (size_t)(end - line) : strlen(line);
        size_t at = strspn(line, " \t|");

        if (previous != NULL && at < bytes && line[at] == '^')
            return at + strlen(token) <= previous_bytes &&
                   strncmp(previous + at, token, strlen(token)) == 0;
        previous = line;
        previous_bytes = bytes;
        line = end != NULL ? end + 1 : NULL;
    }
    return false;
}

static void check_refused(test_env *t, const bad_case *c)
{
    kiln_elementwise *op = (kiln_elementwise *)t; /* must become NULL */
    kiln_status status =
        kiln_elementwise_create(t->ctx, c->in, c->out, "z = 1", NULL, &op, &t->err);

    CHECK(status == c->status, "\"%s\" -> \"%s\": %s: %s", c->in, c->out, kiln_status_name(status),
          t->err.message);
    CHECK(op == NULL, "\"%s\": a handle came back", c->in);
    CHECK(strstr(t->err.message, c->text) != NULL, "\"%s\": %s", c->in, t->err.message);
    CHECK(t->err.detail != NULL && strchr(t->err.detail, '^') != NULL, "\"%s\": no caret", c->in);
    CHECK(c->token == NULL || caret_points_at(t->err.detail, c->token),
          "\"%s\": caret not under \"%s\":\n%s", c->in, c->token, t->err.detail);
    kiln_error_clear(&t->err);
}

static void test_elementwise__bad_signatures_are_refused_with_a_caret(void **state)
{
    for (size_t c = 0; c < COUNT(bad_signatures); c++)
        check_refused(*state, &bad_signatures[c]);
}

/* What resembles a mistake and is none. */
static void test_elementwise__odd_but_legal_signatures_are_accepted(void **state)
{
    static const char *const ins[] = {
        "",
        " ",
        "T x",
        "  T   x  ,\tU\ty\n",
        "T __x",
        "T n",
        "T size",
        "T raw_x",
        "raw const T x",
        "const float32 x",
        "long long x",
        "unsigned int x",
        "unsigned long long x",
        "size_t x",
        "complex<float> x",
        "thrust::complex<double> x",
        "bool b, int8 a, uint8 c, float16 h",
        "bfloat16 x",
        "A a, B b, C c, D d, E e, F f, G g, H h",
        "raw T T_",
    };
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(ins); k++) {
        kiln_elementwise *op = NULL;
        kiln_status status =
            kiln_elementwise_create(t->ctx, ins[k], "float32 z", "z = 1", NULL, &op, &t->err);

        CHECK(status == KILN_OK, "\"%s\": %s\n%s", ins[k], t->err.message,
              t->err.detail != NULL ? t->err.detail : "");
        kiln_elementwise_destroy(op);
    }
}

static void test_elementwise__too_many_parameters_are_refused(void **state)
{
    test_env *t = *state;
    char in[2048] = "";
    kiln_elementwise *op = NULL;
    size_t used = 0;

    for (int k = 0; k < KILN_PARAM_MAX - 1; k++)
        used += (size_t)snprintf(in + used, sizeof in - used, "%sT p%d", k > 0 ? ", " : "", k);
    OK(t, kiln_elementwise_create(t->ctx, in, "T z", "z = 1", NULL, &op, &t->err));
    kiln_elementwise_destroy(op);
    snprintf(in + used, sizeof in - used, ", T p64");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_elementwise_create(t->ctx, in, "T z", "z = 1", NULL, &op, &t->err), "64");
    assert_null(op);
}

static void test_elementwise__kernel_names_must_be_identifiers(void **state)
{
    static const char *const names[] = {"",    "1abc", "a-b", "a b", "for",   "caf\xc3\xa9",
                                        "a.b", "x;",   "a\n", "(",   "class", "/*"};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(names); k++) {
        kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
        kiln_elementwise *op = NULL;

        options.name = names[k];
        FAILS(t, KILN_ERR_NAME,
              kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &options, &op, &t->err),
              strcmp(names[k], "a\n") == 0 ? "name" : names[k]);
        assert_null(op);
    }
}

static void test_elementwise__null_where_not_allowed(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    const char *const holes[] = {"-DA=1", NULL};

    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_create(NULL, "T x", "T z", "z = x", NULL, &op, &t->err), "ctx");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_create(t->ctx, NULL, "T z", "z = x", NULL, &op, &t->err), "in");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_create(t->ctx, "T x", NULL, "z = x", NULL, &op, &t->err), "out");
    FAILS(t, KILN_ERR_NULL, kiln_elementwise_create(t->ctx, "T x", "T z", NULL, NULL, &op, &t->err),
          "op");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, NULL, &t->err), "out");
    options.compiler_option_count = 2;
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &options, &op, &t->err), "option");
    options.compiler_options = holes;
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &options, &op, &t->err), "option");
    assert_null(op);
    kiln_elementwise_destroy(NULL);
    kiln_launch_destroy(NULL);
}

/* Older callers pass shorter structs, newer ones longer; only set bytes beyond ours are refused. */
static void test_elementwise__options_of_other_versions(void **state)
{
    struct {
        kiln_elementwise_options known;
        unsigned char later[24];
    } newer = {.known = KILN_ELEMENTWISE_OPTIONS_INIT};
    kiln_elementwise_options older = KILN_ELEMENTWISE_OPTIONS_INIT;
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    older.struct_size = offsetof(kiln_elementwise_options, preamble);
    older.preamble = "this text must not be read";
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &older, &op, &t->err));
    kiln_elementwise_destroy(op);
    op = NULL;
    newer.known.struct_size = sizeof newer;
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &newer.known, &op, &t->err));
    kiln_elementwise_destroy(op);
    op = NULL;
    newer.later[20] = 1;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &newer.known, &op, &t->err),
          "kiln_elementwise_options");
    older.struct_size = 0;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", &older, &op, &t->err),
          "struct_size");
    assert_null(op);
}

/* ---- snippets that do not compile ---- */

typedef struct compile_case {
    const char *preamble, *loop_prep, *op, *after_loop;
    const char *snippet; /* the one at fault */
    const char *line;    /* "snippet:line" or the line number, as text */
    const char *code;    /* the line that must be shown */
    const char *texts[2];
} compile_case;

static const compile_case compile_cases[] = {
    {NULL, NULL, "z = x + nonsense;", NULL, "op", "1", "z = x + nonsense;", {"nonsense"}},
    {NULL, NULL, "z = x;\nz = x +;\nz = x;", NULL, "op", "2", "z = x +;", {"expr"}},
    {NULL,
     NULL,
     "\n\n  z = undeclared_function(x);",
     NULL,
     "op",
     "3",
     "z = undeclared_function(x);",
     {"undeclared_function"}},
    {"__device__ float f(float v) {\n  return v + missing;\n}",
     NULL,
     "z = f(x)",
     NULL,
     "preamble",
     "2",
     "return v + missing;",
     {"missing"}},
    {NULL,
     "float a = 1;\nfloat b = a + lost;",
     "z = x",
     NULL,
     "loop_prep",
     "2",
     "float b = a + lost;",
     {"lost"}},
    {NULL, NULL, "z = x", "int k = 1;\nk += gone;", "after_loop", "2", "k += gone;", {"gone"}},
};

static void check_compile_error(test_env *t, const compile_case *c)
{
    static const int64_t shape[] = {10};
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;
    host_array x, z;
    kiln_array *fresh = NULL;

    options.name = "broken_kernel";
    options.preamble = c->preamble;
    options.loop_prep = c->loop_prep;
    options.after_loop = c->after_loop;
    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    host_make(t, &z, KILN_FLOAT32, 1, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", c->op, &options, &op, &t->err));
    for (int again = 0; again < 2; again++) {
        kiln_status status = kiln_call(op, &t->err, x.array, z.array);

        CHECK(status == KILN_ERR_COMPILE, "%s: %s", kiln_status_name(status), t->err.message);
        CHECK(strstr(t->err.message, "broken_kernel") != NULL, "%s", t->err.message);
        CHECK(strstr(t->err.message, c->snippet) != NULL, "%s", t->err.message);
        CHECK(strstr(t->err.message, c->line) != NULL, "%s", t->err.message);
        CHECK(t->err.detail != NULL && strstr(t->err.detail, c->code) != NULL &&
                  strchr(t->err.detail, '^') != NULL,
              "detail: %s", t->err.detail);
        CHECK(t->err.log != NULL && strstr(t->err.log, c->texts[0]) != NULL, "log: %s", t->err.log);
        CHECK(t->err.source != NULL && strstr(t->err.source, c->code) != NULL, "source: %s",
              t->err.source);
        kiln_error_clear(&t->err);
    }
    FAILS(t, KILN_ERR_COMPILE, kiln_call(op, &t->err, x.array, &fresh), c->snippet);
    assert_null(fresh);
    host_compare(t, &z, 0, "an output of a kernel that does not compile");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
}

static void test_elementwise__compile_errors_name_snippet_line_and_column(void **state)
{
    for (size_t c = 0; c < COUNT(compile_cases); c++)
        check_compile_error(*state, &compile_cases[c]);
}

static void test_elementwise__the_caret_of_a_compile_error_stands_under_the_word(void **state)
{
    static const int64_t shape[] = {10};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    host_array x;
    kiln_array *z = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "T y = x;\n    z = y * unknown_word;", NULL,
                                  &op, &t->err));
    CHECK(kiln_call(op, &t->err, x.array, &z) == KILN_ERR_COMPILE, "it compiled");
    CHECK(t->err.detail != NULL && caret_points_at(t->err.detail, "unknown_word"), "%s",
          t->err.detail);
    kiln_error_clear(&t->err);
    kiln_elementwise_destroy(op);
    host_free(&x);
}

#ifdef KILN_TEST_HOOKS
/* A definition that failed is remembered: asking again looks up nothing and compiles nothing. */
static void test_elementwise__a_failed_definition_is_not_compiled_again(void **state)
{
    static const int64_t shape[] = {10};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    host_array x;
    kiln_array *z = NULL;
    kiln_cache_counters first, second;

    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = no_such_name_either", NULL, &op,
                                  &t->err));
    FAILS(t, KILN_ERR_COMPILE, kiln_call(op, &t->err, x.array, &z), "op");
    kiln__cache_get_counters(kiln__context_cache(t->ctx), &first);
    for (int k = 0; k < 100; k++)
        FAILS(t, KILN_ERR_COMPILE, kiln_call(op, &t->err, x.array, &z), "op");
    kiln__cache_get_counters(kiln__context_cache(t->ctx), &second);
    CHECK(second.misses == first.misses && second.stores == first.stores, "%llu then %llu misses",
          (unsigned long long)first.misses, (unsigned long long)second.misses);
    kiln_elementwise_destroy(op);
    host_free(&x);
}
#endif

/* Words that only a GPU has are refused on the cpu device by name, and work on a GPU. */
static void test_elementwise__cuda_only_words_are_named_on_the_cpu(void **state)
{
    static const struct {
        const char *word, *op;
    } cases[] = {
        {"threadIdx", "z = x + threadIdx.x * 0"},
        {"__shfl_xor_sync", "z = x + 0 * __shfl_xor_sync(__activemask(), 1, 0)"},
        {"__shared__", "__shared__ int tile[1]; tile[0] = 0; z = x + tile[0]"},
        {"__syncwarp", "__syncwarp(__activemask()); z = x"},
    };
    static const int64_t shape[] = {32};
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_elementwise *op = NULL;
        host_array x;
        kiln_array *z = NULL;

        if (!t->cuda) {
            FAILS(t, KILN_ERR_UNSUPPORTED,
                  kiln_elementwise_create(t->ctx, "T x", "T z", cases[c].op, NULL, &op, &t->err),
                  cases[c].word, "cpu");
            assert_null(op);
            continue;
        }
        host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
        OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", cases[c].op, NULL, &op, &t->err));
        OK(t, kiln_call(op, &t->err, x.array, &z));
        host_compare_elements(t, z, &x, 0, cases[c].word);
        kiln_array_release(z);
        kiln_elementwise_destroy(op);
        host_free(&x);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__bad_signatures_are_refused_with_a_caret),
        TEST(test_elementwise__odd_but_legal_signatures_are_accepted),
        TEST(test_elementwise__too_many_parameters_are_refused),
        TEST(test_elementwise__kernel_names_must_be_identifiers),
        TEST(test_elementwise__null_where_not_allowed),
        TEST(test_elementwise__options_of_other_versions),
        TEST(test_elementwise__compile_errors_name_snippet_line_and_column),
        TEST(test_elementwise__the_caret_of_a_compile_error_stands_under_the_word),
#ifdef KILN_TEST_HOOKS
        TEST(test_elementwise__a_failed_definition_is_not_compiled_again),
#endif
        TEST(test_elementwise__cuda_only_words_are_named_on_the_cpu),
    };

    return test_env_main(argc, argv, "test_elementwise_bad_definition", tests, COUNT(tests));
}
