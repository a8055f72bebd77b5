/*
 * test_expression.c - graphs from text: grammar, precedence, views, reductions, errors.
 *
 * Expected values are Python's and NumPy's, worked out by hand or with plain loops. Most checks
 * read the numbers of a single graph call; kernels over a few elements are cheap to compile, so
 * several results share one expression.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "test_env.h"

enum { ROWS = 3, COLUMNS = 4, RESULTS_MAX = 20 };

/* x is (3, 4): 1, 2, ..., 12 (float64); y is (4,): 1, 2, 3, 4 (float64); n is (3,): 5, -3, 2
 * (int32). */
typedef struct operands {
    kiln_array *x, *y, *n;
} operands;

static const char *const names[] = {"x", "y", "n"};

static void operands_make(test_env *t, operands *o)
{
    const int32_t n[ROWS] = {5, -3, 2};
    double x[ROWS * COLUMNS];
    for (int k = 0; k < ROWS * COLUMNS; k++)
        x[k] = k + 1;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (int64_t[]){ROWS, COLUMNS}, x, NULL, &o->x,
                               &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (int64_t[]){COLUMNS}, x, NULL, &o->y,
                               &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, (int64_t[]){ROWS}, n, NULL, &o->n, &t->err));
}

static void operands_free(operands *o)
{
    kiln_array_release(o->x);
    kiln_array_release(o->y);
    kiln_array_release(o->n);
}

/* Evaluate, and hand the results over; they are `count`. */
static void evaluate(test_env *t, const operands *o, const char *text, size_t count,
                     kiln_array **results)
{
    kiln_graph *g = NULL;
    size_t got = 0;
    kiln_arg args[3 + RESULTS_MAX] = {kiln_arg_array(o->x), kiln_arg_array(o->y),
                                      kiln_arg_array(o->n)};
    OK(t, kiln_graph_parse(t->ctx, text, names, 3, NULL, &g, &got, &t->err));
    CHECK(got == count, "%s has %zu results", text, got);
    for (size_t k = 0; k < count; k++) {
        results[k] = NULL;
        args[3 + k] = kiln_arg_out(&results[k]);
    }
    OK(t, kiln_graph_run(g, args, 3 + count, NULL, &t->err));
    kiln_graph_destroy(g);
}

/* One result's text, as NumPy prints it. */
static void shows(test_env *t, kiln_array *a, kiln_dtype dtype, const char *want)
{
    char *text = NULL;
    OK(t, kiln_array_to_string(a, &text, &t->err));
    CHECK(kiln_array_dtype(a) == dtype, "%s", kiln_dtype_name(kiln_array_dtype(a)));
    CHECK(strcmp(text, want) == 0, "got\n%s\nnot\n%s", text, want);
    kiln_free(text);
    kiln_array_release(a);
}

/* Each expression of the list gives n-like int results or numbers; all run as one graph. */
typedef struct shown {
    const char *text;
    kiln_dtype dtype;
    const char *want;
} shown;

static void show_all(test_env *t, const shown *list, size_t count)
{
    char text[2048] = "";
    kiln_array *results[RESULTS_MAX];
    operands o;
    assert_true(count <= RESULTS_MAX);
    for (size_t k = 0; k < count; k++) {
        strcat(text, k > 0 ? ";\n  " : "");
        strcat(text, list[k].text);
    }
    operands_make(t, &o);
    evaluate(t, &o, text, count, results);
    for (size_t k = 0; k < count; k++)
        shows(t, results[k], list[k].dtype, list[k].want);
    operands_free(&o);
}

static void test_expression__precedence_is_pythons(void **state)
{
    static const shown list[] = {
        {"-n**2", KILN_INT32, "[-25  -9  -4]"},
        {"n - 2 - 3", KILN_INT32, "[ 0 -8 -3]"},
        {"2 + n*3 // 2 % 4", KILN_INT32, "[5 5 5]"},
        {"n + 1 << 2 & 12 ^ 1 | 2", KILN_INT32, "[11 11 15]"},
        {"~n + 1 == -n", KILN_BOOL, "[ True  True  True]"},
        {"n * 0 + 2**3**2", KILN_INT32, "[512 512 512]"},
        {"n * 0 + 2**-1", KILN_FLOAT64, "[0.5 0.5 0.5]"},
        {"(n > 0) & (n < 4)", KILN_BOOL, "[False False  True]"},
        {"n >> 1", KILN_INT32, "[ 2 -2  1]"},
        {"n * (7 // -2) + -7 % 3", KILN_INT32, "[-18  14  -6]"},
        {"+n - -n", KILN_INT32, "[10 -6  4]"},
    };
    show_all(*state, list, COUNT(list));
}

static void test_expression__numbers_are_weak(void **state)
{
    static const shown list[] = {
        {"n * 2.5", KILN_FLOAT64, "[12.5 -7.5  5. ]"},
        {"n + 0x10 + 0b11 + 1_0", KILN_INT32, "[34 26 31]"},
        {"cast(n, float32) * 2.5", KILN_FLOAT32, "[12.5 -7.5  5. ]"},
        {"cast(n, float32) * 1j", KILN_COMPLEX64, "[ 0.+5.j -0.-3.j  0.+2.j]"},
        {"n * 0 + (1 - 0j)", KILN_COMPLEX128, "[1.+0.j 1.+0.j 1.+0.j]"},
        {"where(n > 0, 1 - 0j, 2j - 3)", KILN_COMPLEX128, "[ 1.-0.j -3.+2.j  1.-0.j]"},
        {"where(n > 0, -infj, -(0.0 + (-infj)))", KILN_COMPLEX128,
         "[-0.-infj -0.+infj -0.-infj]"},
        {"where(n > 0, 1.5 + nanj, inf - nanj)", KILN_COMPLEX128, "[1.5+nanj inf+nanj 1.5+nanj]"},
        {"n / 2", KILN_FLOAT64, "[ 2.5 -1.5  1. ]"},
        {"where(n > 0, True, False)", KILN_BOOL, "[ True False  True]"},
        {"n * sqrt(4) * hypot(3, 4) - e + e", KILN_FLOAT64, "[ 50. -30.  20.]"},
        {"int8(n) + 1", KILN_INT8, "[ 6 -2  3]"},
        {"maximum(n, 0) + minimum(0, 1)", KILN_INT32, "[5 0 2]"},
        {"n == 3000000000", KILN_BOOL, "[False False False]"},
        {"cos(n * 0 + pi)", KILN_FLOAT64, "[-1. -1. -1.]"},
    };
    show_all(*state, list, COUNT(list));
}

/* Python's and NumPy's values, as `python3 -c "import numpy as np; print(3 // 2.5e-3, np.sinh(1))"`. */
/* In all floats, and of the plain number 2 alone. */
static void test_expression__a_square_calls_no_pow(void **state)
{
    static const char *const texts[] = {"x ** 2", "x ** 2.0", "power(x, 2)", "x ** 3", "x ** 2.5"};
    test_env *t = *state;
    operands o;
    operands_make(t, &o);
    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        char *source = NULL;
        OK(t, kiln_graph_parse(t->ctx, texts[k], names, 3, NULL, &g, NULL, &t->err));
        OK(t, kiln_graph_source(g, KILN_ARGS(o.x, o.y, o.n, &z), 0, &source, &t->err));
        CHECK((strstr(source, "pow(x") != NULL) == (k > 2), "%s:\n%s", texts[k], source);
        kiln_free(source);
        kiln_graph_destroy(g);
    }
    operands_free(&o);
}

static void test_expression__numbers_alone_are_computed_by_the_operations(void **state)
{
    static const shown list[] = {
        {"sinh(1) * float32(n)", KILN_FLOAT32, "[ 5.876006  -3.5256035  2.3504024]"},
        {"3 // 2.5e-3 + n", KILN_FLOAT64, "[1204. 1196. 1201.]"},
        {"3 % 2.0", KILN_FLOAT64, "1.0"},
        {"2.5j ** 13", KILN_COMPLEX128, "149011.61193847656j"},
        {"(-17) ** -0.1", KILN_FLOAT64, "nan"}, /* float64's, where Python has a complex number */
        {"7.0 ** 1e3", KILN_FLOAT64, "inf"},    /* where Python has no result */
        {"sum(3)", KILN_INT64, "3"},
        {"x[1 + 1, 5 - 2]", KILN_FLOAT64, "12.0"},
    };
    static const shown rest[] = {
        {"2**-1, 5 // 0, 1/0", KILN_FLOAT64, "0.5"},
        {NULL, KILN_INT64, "0"},
        {NULL, KILN_FLOAT64, "inf"},
        {"-7 // 2, -7 % 2, 7 // -2, 7 % -2", KILN_INT64, "-4"},
        {NULL, KILN_INT64, "1"},
        {NULL, KILN_INT64, "-4"},
        {NULL, KILN_INT64, "-1"},
        {"6 & -4, 6 ^ -4", KILN_INT64, "4"},
        {NULL, KILN_INT64, "-6"},
        {"2**63 + 1", KILN_UINT64, "9223372036854775809"},
        {"-2**63 | 1", KILN_INT64, "-9223372036854775807"},
        {"-2**63", KILN_INT64, "-9223372036854775808"},
        {"-1 << 63", KILN_INT64, "-9223372036854775808"},
        {"-5 >> 70", KILN_INT64, "-1"},
        {"True + True", KILN_BOOL, "True"}, /* np.add(True, True) */
        {"True + 1", KILN_INT64, "2"},
        {"-0.0", KILN_FLOAT64, "-0.0"},
    };
    test_env *t = *state;
    kiln_array *results[RESULTS_MAX];
    char text[1024] = "";
    operands o;
    show_all(t, list, COUNT(list));
    for (size_t k = 0; k < COUNT(rest); k++)
        if (rest[k].text != NULL) {
            strcat(text, k > 0 ? "; " : "");
            strcat(text, rest[k].text);
        }
    operands_make(t, &o);
    evaluate(t, &o, text, COUNT(rest), results);
    for (size_t k = 0; k < COUNT(rest); k++)
        shows(t, results[k], rest[k].dtype, rest[k].want);
    operands_free(&o);
}

static void test_expression__functions_and_methods_are_numpys(void **state)
{
    static const shown list[] = {
        {"abs(n)", KILN_INT32, "[5 3 2]"},
        {"np.clip(n, -1, 3)", KILN_INT32, "[ 3 -1  2]"},
        {"clip(n, None, 3)", KILN_INT32, "[ 3 -3  2]"},
        {"divmod(n, 2)[1] + divmod(n, 2)[-2]", KILN_INT32, "[ 3 -1  1]"},
        {"n.clip(-1, None)", KILN_INT32, "[ 5 -1  2]"},
    };
    static const shown pairs[] = {
        {"divmod(n, 2)", KILN_INT32, "[ 2 -2  1]"},
        {NULL, KILN_INT32, "[1 1 0]"},
        {"q, r = divmod(n, 3); q * 3 + r", KILN_INT32, "[ 5 -3  2]"},
        {"n.astype(float32).T", KILN_FLOAT32, "[ 5. -3.  2.]"},
        {"n.sum()", KILN_INT64, "4"},
    };
    show_all(*state, list, COUNT(list));
    char text[512];
    kiln_array *results[COUNT(pairs)];
    operands o;
    operands_make(*state, &o);
    snprintf(text, sizeof text, "%s; %s; %s; %s", pairs[0].text, pairs[2].text, pairs[3].text,
             pairs[4].text);
    evaluate(*state, &o, text, COUNT(pairs), results);
    for (size_t k = 0; k < COUNT(pairs); k++)
        shows(*state, results[k], pairs[k].dtype, pairs[k].want);
    operands_free(&o);
}

static void test_expression__reductions_take_axis_keepdims_and_dtype(void **state)
{
    static const shown list[] = {
        {"sum(x, axis=1)", KILN_FLOAT64, "[10. 26. 42.]"},
        {"sum(x, 0)", KILN_FLOAT64, "[15. 18. 21. 24.]"},
        {"x.sum(axis=-1, keepdims=True)", KILN_FLOAT64, "[[10.]\n [26.]\n [42.]]"},
        {"mean(x, axis=(0, 1))", KILN_FLOAT64, "6.5"},
        {"max(x) - min(x, axis=None)", KILN_FLOAT64, "11.0"},
        {"sum(n > 0, dtype=float32)", KILN_FLOAT32, "2.0"},
        {"argmax(x, axis=1)", KILN_INT64, "[3 3 3]"},
        {"all(x > 0)", KILN_BOOL, "True"},
        /* Positions are those of C-order, whatever order the reduction numbers elements in. */
        {"max(reshape(arange(12), (3, 4)) + x * 0, axis=1)", KILN_FLOAT64, "[ 3.  7. 11.]"},
        {"max(reshape(arange(12), (3, 4)) + x * 0, axis=0)", KILN_FLOAT64, "[ 8.  9. 10. 11.]"},
        {"sum(reshape(arange(12), (2, 3, 2)) + reshape(x, (2, 3, 2)), axis=(0, 2))", KILN_FLOAT64,
         "[32. 48. 64.]"},
        {"sum(x, axis=1) + arange(3)", KILN_FLOAT64, "[10. 27. 44.]"},
    };
    show_all(*state, list, COUNT(list));
}

static void test_expression__subscripts_are_numpys(void **state)
{
    static const shown list[] = {
        {"x[0] + 0", KILN_FLOAT64, "[1. 2. 3. 4.]"},
        {"x[:, 1] + 0", KILN_FLOAT64, "[ 2.  6. 10.]"},
        {"x[1:, ::2] + 0", KILN_FLOAT64, "[[ 5.  7.]\n [ 9. 11.]]"},
        {"x[::-1, -1] + 0", KILN_FLOAT64, "[12.  8.  4.]"},
        {"x[..., 0] + 0", KILN_FLOAT64, "[1. 5. 9.]"},
        {"x[-1, ..., 1:3] + 0", KILN_FLOAT64, "[10. 11.]"},
        {"n[:, None] * y[None, :2]", KILN_FLOAT64, "[[ 5. 10.]\n [-3. -6.]\n [ 2.  4.]]"},
        {"y[..., None, ::2] + 0", KILN_FLOAT64, "[[1. 3.]]"},
        {"x.T[3] + 0", KILN_FLOAT64, "[ 4.  8. 12.]"},
        {"x[2, 3] + 0", KILN_FLOAT64, "12.0"},
        {"reshape(x, (2, -1))[1, :2] + 0", KILN_FLOAT64, "[7. 8.]"},
        {"transpose(x, (1, 0))[0] + 0", KILN_FLOAT64, "[1. 5. 9.]"},
        {"x[1:2 + 1, 4 - 1] + 0", KILN_FLOAT64, "[ 8. 12.]"},
        {"flip(y, 0) + iota(y, 0)", KILN_FLOAT64, "[4. 4. 4. 4.]"},
        {"arange(4) + expand_dims(y, 0)", KILN_FLOAT64, "[[1. 3. 5. 7.]]"},
    };
    show_all(*state, list, COUNT(list));
}

static void test_expression__several_results_and_names(void **state)
{
    static const shown list[] = {
        {"r = sqrt(x[:, 0]); m = max(r); r / m, r - m", KILN_FLOAT64,
         "[0.33333333 0.74535599 1.        ]"},
    };
    test_env *t = *state;
    kiln_array *results[2];
    operands o;
    operands_make(t, &o);
    evaluate(t, &o, list[0].text, 2, results);
    shows(t, results[0], KILN_FLOAT64, list[0].want);
    shows(t, results[1], KILN_FLOAT64, "[-2.         -0.76393202  0.        ]");
    operands_free(&o);
}

/* ---- errors ---------------------------------------------------------------------------------- */

typedef struct fault {
    const char *text;
    kiln_status status;
    const char *words, *caret; /* in the message; the caret line of the detail */
} fault;

static const fault faults[] = {
    {"x +", KILN_ERR_SYNTAX, "an operand is missing at the end", "   ^"},
    {"x + * y", KILN_ERR_SYNTAX, "before `*`", "    ^"},
    {"(x + y", KILN_ERR_SYNTAX, "`)` is missing", "      ^"},
    {"x y", KILN_ERR_SYNTAX, "an operator is missing before `y`", "  ^"},
    {"x $ y", KILN_ERR_SYNTAX, "this character has no meaning in an expression", "  ^"},
    {"z + 1", KILN_ERR_NAME, "`z` is not defined", "^"},
    {"if x: 3", KILN_ERR_SYNTAX, "expressions have no `if`; where(condition, x, y)", "^~"},
    {"lambda x: x", KILN_ERR_SYNTAX, "expressions have no `lambda`", "^~~~~~"},
    {"max(x, y)", KILN_ERR_ARGUMENT, "the second argument of max is its axis; `maximum` compares",
     "       ^"},
    {"x + frobnicate(y)", KILN_ERR_NAME, "no function `frobnicate`", "    ^~~~~~~~~~"},
    {"smu(x)", KILN_ERR_NAME, "no function `smu`; did you mean `sum`?", "^~~"},
    {"sqr(x)", KILN_ERR_NAME, "did you mean `sqrt`?", "^~~"},
    {"concatemate([x, y])", KILN_ERR_NAME, "did you mean `concatenate`?", "^~~~~~~~~~~"},
    {"x.meann()", KILN_ERR_NAME, "did you mean `mean`?", "  ^~~~~"},
    {"frist(x)", KILN_ERR_NAME, "there is no function `frist`",
     "^~~~~"}, /* _first is not for all */
    {"float31(x)", KILN_ERR_NAME, "did you mean `float32`?", "^~~~~~~"},
    {"x.astype('float31')", KILN_ERR_ARGUMENT, "this is no dtype", "         ^~~~~~~~~"},
    {"sqrt(x, y)", KILN_ERR_ARGUMENT_COUNT, "takes 1 argument, 2 given", "^~~~"},
    {"where(x, y)", KILN_ERR_ARGUMENT_COUNT, "takes 3 arguments", "^~~~~"},
    {"sum(x, axes=1)", KILN_ERR_NAME, "no argument `axes`", "       ^~~~"},
    {"sum(x, axis=y)", KILN_ERR_ARGUMENT, "whole number", "            ^"},
    {"sum(x, axis=1.5)", KILN_ERR_ARGUMENT, "whole number", "            ^~~"},
    {"sum(x, axis=99)", KILN_ERR_AXIS, "no array has such an axis", "            ^~"},
    {"sum(x, keepdims=2)", KILN_ERR_ARGUMENT, "True or False", "                ^"},
    {"sum(x, dtype=float31)", KILN_ERR_NAME, "float31", "             ^~~~~~~"},
    {"3[0]", KILN_ERR_ARGUMENT, "has no elements", "^"},
    {"x[sqrt(4)]", KILN_ERR_ARGUMENT, "whole number", "  ^~~~~~~"},
    {"x @", KILN_ERR_SYNTAX, "operand", "   ^"},
    {"x @ None", KILN_ERR_ARGUMENT, "this is None", "    ^~~~"},
    {"x < y < n", KILN_ERR_SYNTAX, "cannot be chained", "      ^"},
    {"x and y", KILN_ERR_SYNTAX, "(a) & (b)", "  ^~~"},
    {"x or y", KILN_ERR_SYNTAX, "(a) | (b)", "  ^~"},
    {"not x", KILN_ERR_SYNTAX, "logical_not", "^~~"},
    {"x if n else y", KILN_ERR_SYNTAX, "where(", "  ^~"},
    {"x[1.5]", KILN_ERR_ARGUMENT, "whole number", "  ^~~"},
    {"x[..., 0, ...]", KILN_ERR_SYNTAX, "one `...`", "          ^~~"},
    {"x[1", KILN_ERR_SYNTAX, "`]` is missing at the end", "   ^"},
    {"x[]", KILN_ERR_SYNTAX, "operand is missing before `]`", "  ^"},
    {"x.frob", KILN_ERR_NAME, "no `.frob`", "  ^~~~"},
    {"sqrt", KILN_ERR_SYNTAX, "is a function", "^~~~"},
    {"x + 99999999999999999999", KILN_ERR_SYNTAX, "64 bits", "    ^~~~~~~~~~~~~~~~~~~~"},
    {"x + 2**64", KILN_ERR_RANGE, "power does not fit an integer of 64 bits", "     ^~"},
    {"x - (-2**63 - 1)", KILN_ERR_RANGE, "subtract does not fit an integer of 64 bits",
     "            ^"},
    {"x + 1.2.3", KILN_ERR_SYNTAX, "no number", "    ^~~~~"},
    {"x + 12ab", KILN_ERR_SYNTAX, "no number", "    ^~~~"},
    {"divmod(n, 2)[2]", KILN_ERR_RANGE, "2 values here, and none has the number 2", "^~~~~~~~~~~~"},
    {"divmod(n, 2)[:1]", KILN_ERR_ARGUMENT, "a whole number chooses one", "^~~~~~~~~~~~"},
    {"!x", KILN_ERR_SYNTAX, "write ~ or logical_not(...)", "^"},
    {"a, b = x; a", KILN_ERR_ARGUMENT, "2 names for 1 value", "^~~~~~~~"},
    {"x + (y, n)", KILN_ERR_ARGUMENT, "this is a tuple", "    ^~~~~~"},
    {"x + [y, 2]", KILN_ERR_ARGUMENT, "a list that stands for an array holds plain", "    ^~~~~~"},
    {"x + [[1, 2], [3]]", KILN_ERR_SHAPE, "list 2 of these has 1", "    ^~~~~~~~~~~~~"},
    {"pad(x, ((1, 2), 3))", KILN_ERR_ARGUMENT, "a tuple is needed here", "                ^"},
    {"x + ((1, 2), (3, 4))", KILN_ERR_ARGUMENT, "this is a tuple of tuples", "    ^~~~~~~~~~~~~~~~"},
    {"repeat(x, rep=2)", KILN_ERR_NAME, "no argument `rep` here: repeat(x, repeats, axis=None)", "          ^~~"},
    {"x[[1, True]]", KILN_ERR_ARGUMENT, "holds whole numbers", "  ^~~~~~~~~"},
    {"x[[True, 1]]", KILN_ERR_ARGUMENT, "holds whole numbers", "  ^~~~~~~~~"},
    {"zeros_like(x, 'flaot')", KILN_ERR_ARGUMENT, "this is no dtype", "^~~~~~~~~~"},
    {"x + qr(y)", KILN_ERR_ARGUMENT, "one array or number is needed here, and these are several", "    ^~~~~"},
    {"x + None", KILN_ERR_ARGUMENT, "this is None", "    ^~~~"},
    {"x + float32", KILN_ERR_ARGUMENT, "this is a dtype", "    ^~~~~~~"},
    {"", KILN_ERR_SYNTAX, "an operand is missing at the end", "^"},
    {"x;;y", KILN_ERR_SYNTAX, "before `;`", "  ^"},
    {"sqrt(x, axis=1)", KILN_ERR_NAME, "takes no axis", "^~~~"},
    {"sum(x, axis=0, axis=1)", KILN_ERR_NAME, "given twice", "               ^~~~"},
    {"cast(x)", KILN_ERR_ARGUMENT, "needs a dtype", "^~~~"},
    {"cast(x, 3)", KILN_ERR_ARGUMENT, "this is no dtype", "        ^"},
    {"reshape(x)", KILN_ERR_ARGUMENT_COUNT, "needs a shape", "^~~~~~~"},
    {"x[::0] + 1", KILN_ERR_AXIS, "expression, column 3: subscript: the step is 0", "  ^"},
    {"sqrt(x", KILN_ERR_SYNTAX, "`)` is missing at the end", "      ^"},
    {"(x", KILN_ERR_SYNTAX, "`)` is missing at the end", "  ^"},
    {"[x; y", KILN_ERR_SYNTAX, "`]` is missing before `;`", "  ^"},
    {"sqrt(x y)", KILN_ERR_SYNTAX, "`,` is missing before `y`", "       ^"},
    {"x[[0.5]]", KILN_ERR_ARGUMENT, "whole numbers: indices", "  ^~~~~"},
    {"x[(0, 1)]", KILN_ERR_ARGUMENT, "x[2, 0] for an element, x[[2, 0]]", "  ^~~~~~"},
    {"normal((3, 4))", KILN_ERR_ARGUMENT_COUNT, "normal(key, shape) or normal(key, shape, a, b)",
     "^~~~~~"},
    {"integers(3, (2,))", KILN_ERR_ARGUMENT_COUNT, "integers(key, shape, a, b)", "^~~~~~~~"},
    {"permutation(3)", KILN_ERR_ARGUMENT_COUNT, "permutation(key, n)", "^~~~~~~~~~~"},
    {"compress(x, x > 0)", KILN_ERR_ARGUMENT, "(condition, array) the condition comes first",
     "            ^~~~~"},
    {"extract(x, isnan(x))", KILN_ERR_ARGUMENT, "extract(condition, array)", "           ^~~~~~~~"},
    {"expand_dims(x)", KILN_ERR_ARGUMENT_COUNT, "needs an axis", "^~~~~~~~~~~"},
    /* nothing that is given is left aside */
    {"dstack([x, y], dtype=int8)", KILN_ERR_NAME, "takes no dtype", "^~~~~~"},
    {"ravel(x, axis=0)", KILN_ERR_NAME, "takes no axis", "^~~~~"},
    {"take(x, n, keepdims=True)", KILN_ERR_NAME, "takes no keepdims", "^~~~"},
    {"take(x, n, 0, axis=1)", KILN_ERR_ARGUMENT_COUNT, "axis twice", "^~~~"},
    {"take(x, n, mode=wrap, mode=clip)", KILN_ERR_NAME, "given twice",
     "                      ^~~~"},
    {"cast(x, int8, dtype=int16)", KILN_ERR_NAME, "takes no dtype", "^~~~"},
    {"divmod(x, y, dtype=int8)", KILN_ERR_NAME, "takes no dtype", "^~~~~~"},
    {"diff(x, axis=(0, 1))", KILN_ERR_AXIS, "along one axis", "^~~~"},
    {"diff(x, axis=None)", KILN_ERR_AXIS, "along one axis", "^~~~"},
    {"diff(x, axis=4294967296)", KILN_ERR_AXIS, "no array has such an axis",
     "             ^~~~~~~~~~"},
    {"delete(x, 1, axis=(0, 1))", KILN_ERR_AXIS, "along one axis", "^~~~~~"},
    {"swapaxes(x, 0, None, 1)", KILN_ERR_ARGUMENT, "whole number", "               ^~~~"},
    {"eye(3, -2)", KILN_ERR_SHAPE, "-2 is negative", "^~~"},
    /* neither is the last of three widths, as the elements that a mean is taken of */
    {"pad(x, (1, 1, 1))", KILN_ERR_ARGUMENT, "two for all axes, or two for each axis", "^~~"},
    {"pad(x, (1, 1, 1), mode=mean)", KILN_ERR_ARGUMENT, "takes one width, two", "^~~"},
};

static void test_expression__errors_have_a_caret(void **state)
{
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(faults); k++) {
        const fault *f = &faults[k];
        kiln_graph *g = NULL;
        kiln_error err = KILN_ERROR_INIT;
        const kiln_status status =
            kiln_graph_parse(t->ctx, f->text, names, 3, NULL, &g, NULL, &err);
        CHECK(status == f->status, "%s: %s: %s", f->text, kiln_status_name(status), err.message);
        assert_null(g);
        CHECK(strstr(err.message, f->words) != NULL, "%s: %s", f->text, err.message);
        CHECK(err.detail != NULL, "%s", f->text);
        const char *line = strchr(err.detail, '\n');
        CHECK(line != NULL && strncmp(line + 1, f->caret, strlen(f->caret)) == 0 &&
                  strspn(line + 1 + strlen(f->caret), "\n") == strlen(line + 1 + strlen(f->caret)),
              "%s: [%s] instead of [%s]", f->text, err.detail, f->caret);
        CHECK(err.offset == (int64_t)strspn(f->caret, " ") || strpbrk(f->text, "\n\t") != NULL,
              "%s: offset %lld", f->text, (long long)err.offset);
        kiln_error_clear(&err);
    }
}

static void test_expression__deep_nesting_is_refused(void **state)
{
    test_env *t = *state;
    static const char *const units[] = {"(", "-", "sqrt(", "[", "x["};
    for (size_t k = 0; k < COUNT(units); k++) {
        static char text[200000];
        const size_t bytes = strlen(units[k]);
        kiln_graph *g = NULL;
        for (size_t at = 0; at + bytes < sizeof text; at += bytes)
            memcpy(text + at, units[k], bytes + 1);
        FAILS(t, KILN_ERR_SYNTAX, kiln_graph_parse(t->ctx, text, names, 3, NULL, &g, NULL, &t->err),
              "nested too deeply");
    }
}

/* Every allocation of a parse fails once, in turn; nothing is left behind. */
static void test_expression__parsing_survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    static const char *const texts[] = {
        "q, r = divmod(n, 3); sum(sqrt(x * 2.5 + y[None, :]), axis=(0, 1), keepdims=True), q - r",
        "x + frobnicate(y, axis=1)"};
    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_status status = KILN_ERR_NO_MEMORY;
        for (size_t nth = 0; status == KILN_ERR_NO_MEMORY; nth++) {
            kiln_graph *g = NULL;
            const size_t live = kiln__test_alloc_live();
            kiln__test_alloc_fail_at(nth);
            status = kiln_graph_parse(t->ctx, texts[k], names, 3, NULL, &g, NULL, NULL);
            kiln__test_alloc_fail_at(SIZE_MAX);
            CHECK((status == KILN_OK) == (g != NULL), "allocation %zu", nth);
            kiln_graph_destroy(g);
            CHECK(kiln__test_alloc_live() == live, "allocation %zu: %zu live, %zu before", nth,
                  kiln__test_alloc_live(), live);
        }
        CHECK(status == (k == 0 ? KILN_OK : KILN_ERR_NAME), "%s", kiln_status_name(status));
    }
}

static void test_expression__names_must_be_identifiers(void **state)
{
    test_env *t = *state;
    const char *const bad[] = {"1x"}, *const empty[] = {""};
    kiln_graph *g = NULL;
    FAILS(t, KILN_ERR_NAME, kiln_graph_parse(t->ctx, "x", bad, 1, NULL, &g, NULL, &t->err), "1x");
    FAILS(t, KILN_ERR_NAME, kiln_graph_parse(t->ctx, "x", empty, 1, NULL, &g, NULL, &t->err),
          "identifier");
    FAILS(t, KILN_ERR_NULL, kiln_graph_parse(t->ctx, NULL, NULL, 0, NULL, &g, NULL, &t->err),
          "text");
    FAILS(t, KILN_ERR_NULL, kiln_graph_parse(t->ctx, "x", NULL, 1, NULL, &g, NULL, &t->err),
          "names");
}

static void test_expression__a_given_name_hides_a_constant(void **state)
{
    test_env *t = *state;
    const char *const mine[] = {"e", "pi", "np"};
    const float v[2] = {3, 4};
    kiln_graph *g = NULL;
    kiln_array *x = NULL, *z = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, (int64_t[]){2}, v, NULL, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "e + pi + np", mine, 3, NULL, &g, NULL, &t->err));
    OK(t, kiln_call(g, &t->err, x, x, x, &z));
    shows(t, z, KILN_FLOAT32, "[ 9. 12.]");
    kiln_graph_destroy(g);
    kiln_array_release(x);
}

static void test_expression__failures_of_calls_name_the_column(void **state)
{
    test_env *t = *state;
    operands o;
    kiln_graph *g = NULL;
    kiln_array *z = NULL;
    operands_make(t, &o);
    OK(t, kiln_graph_parse(t->ctx, "x + x[:, :2]", names, 3, NULL, &g, NULL, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_call(g, &t->err, o.x, o.y, o.n, &z),
          "expression, column 3: add: ", "(3, 4)", "(3, 2)");
    assert_null(z);
    kiln_error err = KILN_ERROR_INIT;
    assert_int_equal(err.offset, -1);
    assert_int_equal(kiln_call(g, &err, o.x, o.y, o.n, &z), KILN_ERR_SHAPE);
    assert_int_equal(err.offset, 2); /* the "+" */
    assert_int_equal(kiln_call(g, &err, o.x, o.y, &z), KILN_ERR_ARGUMENT_COUNT);
    assert_int_equal(err.offset, -1); /* no place in the text */
    kiln_error_clear(&err);
    kiln_graph_destroy(g);
    operands_free(&o);
}

/* Mistakes in what arrays are, which only a call knows; x is of float64 and shape (3, 4), n of int32. */
static void test_expression__arrays_at_fault_name_the_column(void **state)
{
    static const struct {
        const char *text, *message;
        kiln_status status;
    } cases[] = {
        {"x[0, 1, 2] + 1", "expression, column 9: subscript: there are more subscripts than axes",
         KILN_ERR_AXIS},
        {"x[:, :, 1]", "expression, column 9: subscript: there are more", KILN_ERR_AXIS},
        {"x[..., 0, 0, 0]", "expression, column 8: subscript: there are more", KILN_ERR_AXIS},
        {"x[n, n, n]", "expression, column 1: subscript: there are more", KILN_ERR_AXIS},
        {"x[x]", "subscript: indices must be integers, and these are float64", KILN_ERR_DTYPE},
        {"take(x, x)", "take: indices must be integers, and these are float64", KILN_ERR_DTYPE},
        {"fliplr(n)", "column 1: fliplr: axis 1 is out of range for rank 1", KILN_ERR_AXIS},
        {"pad(x, (1, 1, 2, 2, 3, 3))", "pad: 6 widths are given; rank 2 takes 4, or 2 for all axes",
         KILN_ERR_SHAPE},
        {"1 + bincount(x, length=3)", "expression, column 5: bincount: ", KILN_ERR_DTYPE},
        {"bincount(x[x > 1], length=3)", "column 1: bincount: ", KILN_ERR_DTYPE},
    };
    test_env *t = *state;
    operands o;

    operands_make(t, &o);
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_error err = KILN_ERROR_INIT;
        kiln_array *z = NULL, *count = NULL;
        const kiln_arg args[] = {kiln_arg_array(o.x), kiln_arg_array(o.y), kiln_arg_array(o.n),
                                 kiln_arg_out(&z), kiln_arg_out(&count)};
        size_t results = 0;

        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 3, NULL, &g, &results, &t->err));
        const kiln_status status = kiln_graph_run(g, args, 3 + results, NULL, &err);
        CHECK(status == cases[k].status && strstr(err.message, cases[k].message) != NULL,
              "%s: %s: %s", cases[k].text, kiln_status_name(status), err.message);
        assert_null(z);
        kiln_error_clear(&err);
        kiln_graph_destroy(g);
    }
    operands_free(&o);
}

/* What the values of arrays show is found by the call, or by a kernel of its, and told to whoever waits. */
static void test_expression__values_at_fault_name_the_column(void **state)
{
    static const struct {
        const char *text, *column, *said;
        kiln_status status;
        int64_t offset;
    } cases[] = {
        {"1 + inv(a)", "expression, column 5: ", "inv: the matrix is singular: pivot 2",
         KILN_ERR_SINGULAR, 4},
        {"b = a * 1; solve(b, b)", "expression, column 12: ", "solve: the matrix is",
         KILN_ERR_SINGULAR, 11},
        {"a + cholesky(-a)", "expression, column 5: ", "cholesky: the matrix is not",
         KILN_ERR_SINGULAR, 4},
        {"a * 2 + bincount(int32(a) - 2, length=2)",
         "expression, column 9: bincount: ", "must not be negative", KILN_ERR_RANGE, 8},
        {"a[0] * quantile(a, nan)", "expression, column 8: quantile: ", "not between 0 and 1",
         KILN_ERR_RANGE, 7},
    };
    test_env *t = *state;
    kiln_array *a = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 2}, &a, &t->err));
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        for (int prepared = 0; prepared < 2; prepared++) {
            kiln_launch *launch = NULL;
            kiln_graph *g = NULL;
            kiln_array *z = NULL;
            OK(t, kiln_graph_parse(t->ctx, cases[k].text, (const char *const[]){"a"}, 1, NULL, &g,
                                   NULL, &t->err));
            kiln_status status = KILN_OK;
            if (prepared == 0) {
                status = kiln_call(g, &t->err, a, &z);
            } else {
                const kiln_arg given[] = {kiln_arg_array(a), kiln_arg_out(&z)};
                status = kiln_graph_prepare(g, given, 2, NULL, &launch, &t->err);
                if (status == KILN_OK)
                    status = kiln_launch_run(launch, NULL, &t->err);
            }
            if (status == KILN_OK) /* a kernel has found it */
                status = kiln_context_synchronize(t->ctx, &t->err);
            /* A launch of what a GPU's library factors cannot be recorded. */
            const bool refused = prepared != 0 && status == KILN_ERR_UNSUPPORTED;
            if ((status != cases[k].status && !refused) ||
                strstr(t->err.message, cases[k].column) == NULL)
                fail_msg("%s: %s", cases[k].text, t->err.message);
            assert_true(refused || strstr(t->err.message, cases[k].said) != NULL);
            assert_int_equal(t->err.offset, cases[k].offset);
            kiln_error_clear(&t->err);
            kiln_launch_destroy(launch);
            kiln_array_release(z);
            kiln_graph_destroy(g);
        }
    }
    kiln_array_release(a);
}

/* ---- numbers far from those that arrays have ---- */

/* `#` stands for a number that is drawn. */
static const char *const far_texts[] = {
    "repeat(n, #, axis=0)",
    "repeat(n, (#, #, #), axis=0)",
    "sum(repeat(x, (#, #, #, 1), axis=1))",
    "insert(n, #, broadcast_to(x[0, 0], (#,)))",
    "insert(n, #, broadcast_to(y, (#, 4))[:, 0])",
    "concatenate([broadcast_to(y[0], (#,)), broadcast_to(y[0], (#,))])",
    "stack([broadcast_to(y[0], (#,)), broadcast_to(y[0], (#,))])",
    "pad(n, (#, #))",
    "pad(n, (#, #), mode=wrap)",
    "pad(n, #, mode=edge)",
    "tile(x, (#, #))",
    "roll(x, (#, #), (0, 1))",
    "roll(n, #)",
    "diagonal(x, #)",
    "trace(x, #)",
    "tril(x, #)",
    "rot90(x, #)",
    "eye(3, 4, #)",
    "eye(#, #)",
    "tri(3, 3, #)",
    "delete(n, #)",
    "n[#:#:#]",
    "n[#]",
    "x[#:, ::#]",
    "take(n, #, mode=wrap)",
    "take(n, #)",
    "n[[0, #]]",
    "split(n, (#, #))",
    "sum(broadcast_to(x, (#, 3, 4)))",
    "reshape(x, (#, #))",
    "reshape(x, (#, -1))",
    "arange(#)",
    "arange(#)[::#]",
    "sum(arange(#))",
    "indices((#, #))",
    "uniform(#, (#, 2))",
    "permutation(#, #)[:3]",
    "diff(n, #)",
    "x.at[#:, #].set(0)",
    "put(n, #, 1)",
    "sliding_window_view(n, #)",
    "topk(x, #)",
    "partition(x, #)",
    "diag(n, #)",
    "bincount(n, length=#)",
    "histogram(n, #)",
    "tensordot(x, x, #)",
    "matrix_power(x[:, :3], #)",
    "expand_dims(x, #)",
    "swapaxes(x, #, #)",
    "moveaxis(x, #, #)",
    "x << #",
    "# * # - #",
    "# // #",
    "-(#)"};

/* No number is computed with where it does not fit: sanitizers see that, and a sum that wrapped would be an extent.
 * Nothing runs. */
static void test_expression__far_numbers_are_refused_or_fit(void **state)
{
    test_env *t = *state;
    static const int64_t far[] = {INT64_MIN,
                                  INT64_MIN + 1,
                                  -((int64_t)1 << 62),
                                  -2,
                                  -1,
                                  0,
                                  1,
                                  2,
                                  3,
                                  (int64_t)1 << 31,
                                  (int64_t)1 << 61,
                                  ((int64_t)1 << 62) - 1,
                                  (int64_t)1 << 62,
                                  INT64_MAX - 4096,
                                  INT64_MAX - 5,
                                  INT64_MAX - 1,
                                  INT64_MAX};
    size_t runs = 0;
    operands o;

    operands_make(t, &o);
    for (size_t k = 0; k < 12 * COUNT(far_texts); k++) {
        char text[400] = "", *plan = NULL;
        size_t results = 0;
        kiln_graph *g = NULL;
        kiln_error err = KILN_ERROR_INIT;
        for (const char *s = far_texts[k % COUNT(far_texts)]; *s != '\0'; s++) {
            const size_t used = strlen(text);
            if (*s == '#')
                snprintf(text + used, sizeof text - used, "(%lld)",
                         (long long)far[test_random(t) % COUNT(far)]);
            else
                snprintf(text + used, sizeof text - used, "%c", *s);
        }
        kiln_status status = kiln_graph_parse(t->ctx, text, names, 3, NULL, &g, &results, &err);
        kiln_array *z[64] = {NULL};
        kiln_arg args[COUNT(z) + 3] = {kiln_arg_array(o.x), kiln_arg_array(o.y),
                                       kiln_arg_array(o.n)};
        for (size_t r = 0; r < results && r < COUNT(z); r++)
            args[3 + r] = kiln_arg_out(&z[r]);
        if (status == KILN_OK)
            status = kiln_graph_explain(g, args, 3 + results, &plan, &err);
        CHECK(status != KILN_ERR_INTERNAL && (status == KILN_OK) == (plan != NULL), "%s: %s", text,
              err.message);
        CHECK(plan == NULL || strstr(plan, "over (-") == NULL, "%s: %s", text,
              plan); /* an extent */
        runs += plan != NULL;
        kiln_free(plan);
        kiln_graph_destroy(g);
        kiln_error_clear(&err);
    }
    assert_true(runs > COUNT(far_texts)); /* some fit */
    operands_free(&o);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_expression__precedence_is_pythons),
        TEST(test_expression__numbers_are_weak),
        TEST(test_expression__a_square_calls_no_pow),
        TEST(test_expression__numbers_alone_are_computed_by_the_operations),
        TEST(test_expression__functions_and_methods_are_numpys),
        TEST(test_expression__reductions_take_axis_keepdims_and_dtype),
        TEST(test_expression__subscripts_are_numpys),
        TEST(test_expression__several_results_and_names),
        TEST(test_expression__errors_have_a_caret),
        TEST(test_expression__deep_nesting_is_refused),
        TEST(test_expression__parsing_survives_each_allocation_failure),
        TEST(test_expression__names_must_be_identifiers),
        TEST(test_expression__a_given_name_hides_a_constant),
        TEST(test_expression__failures_of_calls_name_the_column),
        TEST(test_expression__arrays_at_fault_name_the_column),
        TEST(test_expression__values_at_fault_name_the_column),
        TEST(test_expression__far_numbers_are_refused_or_fit),
    };
    return test_env_main(argc, argv, "test_expression", tests, COUNT(tests));
}
