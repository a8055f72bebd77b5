/*
 * test_ops_numbers.c - operations on plain numbers alone, against NumPy (data/make_numbers.py): as
 * arguments of a graph, as numbers of an expression; and their results beside arrays, which stay
 * weak.
 */
#define _GNU_SOURCE
#include <float.h>
#include <stdlib.h>

#include "ops/ops.h"
#include "graph_env.h"
#include "test_data.h"

enum { LINES_MAX = 4096, LINE_BYTES = 256, GROUP_MAX = 160 };

typedef struct number {
    char kind; /* b, i, f, c */
    double part[2];
} number;

/* One line of numbers.txt. */
typedef struct line {
    const kiln__op *op;
    char dtype; /* NumPy's letter; 0: the operation refuses such numbers */
    number result, operand[KILN__OP_ARITY_MAX];
    bool done;
} line;

static line *lines;
static size_t line_count;

/* Results that differ are printed; a test fails at its end when there were any. */
static int wrong;

static number read_number(const char *text)
{
    number n = {.kind = text[0]};
    char *end = NULL;
    n.part[0] = strtod(text + 2, &end);
    if (*end == ',')
        n.part[1] = strtod(end + 1, NULL);
    return n;
}

static void read_lines(void)
{
    char path[512], text[LINE_BYTES];
    FILE *f = fopen(test_data("data/numbers.txt", path, sizeof path), "r");
    assert_non_null(f);
    lines = calloc(LINES_MAX, sizeof *lines);
    line_count = 0;
    wrong = 0;
    while (fgets(text, sizeof text, f) != NULL) {
        char *words[8], *place = NULL;
        int count = 0;
        for (char *w = strtok_r(text, " \n", &place); w != NULL && count < 8;
             w = strtok_r(NULL, " \n", &place))
            words[count++] = w;
        if (count == 0 || words[0][0] == '#')
            continue;
        line *l = &lines[line_count++];
        assert_true(line_count < LINES_MAX);
        const bool refused = strcmp(words[1], "refused") == 0;
        l->op = kiln__op_named(words[0], strlen(words[0]));
        assert_non_null(l->op);
        l->dtype = refused ? '\0' : words[1][0];
        if (!refused)
            l->result = read_number(words[2]);
        for (int k = 0; k < l->op->arity; k++)
            l->operand[k] = read_number(words[k + (refused ? 2 : 3)]);
    }
    fclose(f);
    assert_true(line_count > 2000);
}

static bool same_kinds(const line *a, const line *b)
{
    bool same = a->op->arity == b->op->arity;
    for (int k = 0; same && k < a->op->arity; k++)
        same = a->operand[k].kind == b->operand[k].kind;
    return same;
}

static bool same_operands(const line *a, const line *b)
{
    bool same = same_kinds(a, b);
    for (int k = 0; same && k < a->op->arity; k++)
        same = memcmp(a->operand[k].part, b->operand[k].part, sizeof a->operand[k].part) == 0;
    return same;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Equal but for some units in the last place; zeros have a sign. */
static bool near(double got, double want, double tolerance)
{
    if (isnan(want) || isinf(want) || want == 0)
        return isnan(want) ? isnan(got) : got == want || (want == 0 && fabs(got) <= tolerance);
    return fabs(got - want) <= tolerance * fabs(want);
}

/* Integers, bools and arithmetic that rounds once are exact, functions are within some ulp. */
static bool right(const line *l, const double got[2])
{
    const double size = hypot(l->result.part[0], l->result.part[1]);
    if (l->result.kind != 'c')
        return near(got[0], l->result.part[0], l->result.kind == 'f' ? 256 * DBL_EPSILON : 0);
    return fabs(got[0] - l->result.part[0]) <= 256 * DBL_EPSILON * (1 + size) &&
           fabs(got[1] - l->result.part[1]) <= 256 * DBL_EPSILON * (1 + size);
}

static kiln_dtype dtype_of(char letter)
{
    return letter == '?'   ? KILN_BOOL
           : letter == 'q' ? KILN_INT64
           : letter == 'i' ? KILN_INT32
           : letter == 'B' ? KILN_UINT8
           : letter == 'd' ? KILN_FLOAT64
                           : KILN_COMPLEX128;
}

static void check(test_env *t, const line *l, kiln_array *got)
{
    kiln_array *wide = NULL;
    double parts[2] = {0};
    const number *a = &l->operand[0], *b = &l->operand[1];
    CHECK(kiln_array_rank(got) == 0 && kiln_array_dtype(got) == dtype_of(l->dtype),
          "%s of %c and %c is %s, not %c", l->op->name, a->kind, l->op->arity > 1 ? b->kind : '-',
          kiln_dtype_name(kiln_array_dtype(got)), l->dtype);
    OK(t, kiln_array_cast(got, KILN_COMPLEX128, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, parts, sizeof parts, NULL, &t->err));
    if (!right(l, parts) && wrong++ < 40)
        print_error("%s of (%.17g, %g) and (%.17g, %g): (%.17g, %.17g), not (%.17g, %.17g)\n",
                    l->op->name, a->part[0], a->part[1], l->op->arity > 1 ? b->part[0] : 0,
                    l->op->arity > 1 ? b->part[1] : 0, parts[0], parts[1], l->result.part[0],
                    l->result.part[1]);
    kiln_array_release(wide);
    kiln_array_release(got);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static kiln_arg arg_of(const number *n)
{
    return n->kind == 'b'   ? kiln_arg_bool(n->part[0] != 0)
           : n->kind == 'i' ? kiln_arg_int((int64_t)n->part[0])
           : n->kind == 'f' ? kiln_arg_float(n->part[0])
                            : kiln_arg_complex(n->part[0], n->part[1]);
}

static kiln_node record(const line *l, const kiln_node *x)
{
    return l->op->arity == 1   ? kiln_node_op1(l->op->op, x[0], KILN_HERE)
           : l->op->arity == 2 ? kiln_node_op2(l->op->op, x[0], x[1], KILN_HERE)
                               : kiln_node_op3(l->op->op, x[0], x[1], x[2], KILN_HERE);
}

/* Whether what an operation computes in depends on the value of a number, which an argument's does
 * not: an integer to a negative power. */
static bool needs_value(const line *l)
{
    return l->op->op == KILN_OP_POWER && l->dtype == 'd' && l->operand[0].kind != 'f' &&
           l->operand[1].kind != 'f';
}

/* All operations of the first line's operands as one graph of arguments. */
static void run_group(test_env *t, line *first)
{
    static const char *const names[] = {"x", "y", "w"};
    const int arity = first->op->arity;
    kiln_graph *g = graph_begin(t);
    kiln_node in[KILN__OP_ARITY_MAX];
    kiln_arg args[KILN__OP_ARITY_MAX + GROUP_MAX];
    kiln_array *out[GROUP_MAX] = {NULL};
    line *of[GROUP_MAX];
    size_t count = 0;
    const bool drawn = test_drawn(t);

    for (int k = 0; k < arity; k++) {
        in[k] = kiln_graph_input(g, names[k]);
        args[k] = arg_of(&first->operand[k]);
    }
    for (line *l = first; l < lines + line_count; l++) {
        if (l->done || !same_operands(l, first))
            continue;
        l->done = true;
        if (l->dtype == '\0' || needs_value(l) || !drawn)
            continue;
        of[count] = l;
        args[(size_t)arity + count] = kiln_arg_out(&out[count]);
        kiln_node_output(g, l->op->name, record(l, in), KILN_HERE);
        assert_true(++count < GROUP_MAX);
    }
    if (count > 0)
        OK(t, kiln_graph_run(g, args, (size_t)arity + count, NULL, &t->err));
    for (size_t k = 0; k < count; k++)
        check(t, of[k], out[k]);
    kiln_graph_destroy(g);
}

static void test_ops_numbers__arguments_of_a_graph(void **state)
{
    read_lines();
    for (size_t k = 0; k < line_count; k++)
        if (!lines[k].done)
            run_group(*state, &lines[k]);
    assert_int_equal(wrong, 0);
    free(lines);
}

static void test_ops_numbers__numbers_that_are_refused(void **state)
{
    test_env *t = *state;
    read_lines();
    for (size_t k = 0; k < line_count; k++) {
        const line *l = &lines[k];
        kiln_arg args[KILN__OP_ARITY_MAX + 1];
        kiln_node in[KILN__OP_ARITY_MAX];
        kiln_array *out = NULL;
        if (l->dtype != '\0')
            continue;
        kiln_graph *g = graph_begin(t);
        for (int p = 0; p < l->op->arity; p++) {
            in[p] = kiln_graph_input(g, p == 0 ? "x" : "y");
            args[p] = arg_of(&l->operand[p]);
        }
        args[l->op->arity] = kiln_arg_out(&out);
        kiln_graph_output(g, "z", record(l, in));
        FAILS(t, KILN_ERR_DTYPE, kiln_graph_run(g, args, (size_t)l->op->arity + 1, NULL, &t->err),
              l->op->name, "does not take");
        kiln_graph_destroy(g);
    }
    free(lines);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static int put_number(char *text, size_t bytes, const number *n)
{
    if (n->kind == 'b')
        return snprintf(text, bytes, "%s", n->part[0] != 0 ? "True" : "False");
    if (n->kind == 'i')
        return snprintf(text, bytes, "(%d)", (int)n->part[0]);
    if (n->kind == 'c')
        return snprintf(text, bytes, "(%.17g + %.17gj)", n->part[0], n->part[1]);
    return isinf(n->part[0])
               ? snprintf(text, bytes, "inf")
               : snprintf(text, bytes, signbit(n->part[0]) ? "(-%.1f)" : "%.17e", fabs(n->part[0]));
}

/* Every operation as a call on literals, for each kind of its first operand: many results of one
 * expression. */
static void test_ops_numbers__literals_of_an_expression(void **state)
{
    test_env *t = *state;
    read_lines();
    for (size_t start = 0; start < line_count;) {
        char text[GROUP_MAX * 80] = "";
        size_t used = 0, count = 0, results = 0;
        kiln_arg args[GROUP_MAX];
        kiln_array *out[GROUP_MAX] = {NULL};
        const line *of[GROUP_MAX];
        kiln_graph *g = NULL;
        for (; start < line_count && count < GROUP_MAX - 1; start++) {
            const line *l = &lines[start];
            if (l->dtype == '\0' || (start > 0 && same_kinds(l, l - 1) && l->op == l[-1].op) ||
                (l->op->arity > 1 && l->operand[0].kind != l->operand[1].kind))
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s(",
                                     count > 0 ? ", " : "", l->op->name);
            for (int k = 0; k < l->op->arity; k++) {
                used += (size_t)snprintf(text + used, sizeof text - used, "%s", k > 0 ? ", " : "");
                used += (size_t)put_number(text + used, sizeof text - used, &l->operand[k]);
            }
            used += (size_t)snprintf(text + used, sizeof text - used, ")");
            of[count] = l;
            args[count] = kiln_arg_out(&out[count]);
            count++;
            if (count == 60)
                break;
        }
        if (count == 0)
            break;
        start++;
        OK(t, kiln_graph_parse(t->ctx, text, NULL, 0, NULL, &g, &results, &t->err));
        assert_int_equal(results, count);
        OK(t, kiln_graph_run(g, args, count, NULL, &t->err));
        for (size_t k = 0; k < count; k++)
            check(t, of[k], out[k]);
        kiln_graph_destroy(g);
    }
    assert_int_equal(wrong, 0);
    free(lines);
}

/* ---- beside arrays --------------------------------------------------------------------------- */

/* What is computed from numbers alone has no dtype of its own beside an array: as NumPy's results
 * of `x + y*y` and its like where x is an array and y is Python's 3 or 2.5 (NEP 50). */
static void test_ops_numbers__what_is_made_of_numbers_stays_weak(void **state)
{
    static const struct {
        const char *text;
        kiln_dtype dtype, small; /* with x of float32 and with x of uint8 */
        double value, small_value;
    } rows[] = {
        {"x + n*n", KILN_FLOAT32, KILN_UINT8, 259, 3}, /* uint8 wraps */
        {"x * (n + 1)", KILN_FLOAT32, KILN_UINT8, 1000, 232},
        {"x * -r", KILN_FLOAT32, KILN_FLOAT64, -625, -625},
        {"x * (n / 2)", KILN_FLOAT32, KILN_FLOAT64, 375, 375},
        {"x + exp(-r * n) * 0", KILN_FLOAT32, KILN_FLOAT64, 250, 250},
        {"x + (n < r) + (1 + 2*n)", KILN_FLOAT32, KILN_UINT8, 257, 1},
        {"x + sinh(0.0)", KILN_FLOAT32, KILN_FLOAT64, 250, 250},
        {"x * (n * 1j)", KILN_COMPLEX64, KILN_COMPLEX128, 0, 0},
        {"x < n * 100", KILN_BOOL, KILN_BOOL, 1, 1}, /* 300 is no uint8 */
        {"x == n * 100 - 50", KILN_BOOL, KILN_BOOL, 1, 1},
        {"clip(x, 0, n * 100)", KILN_FLOAT32, KILN_UINT8, 250, 250},
        {"clip(x, -n, 7 * n)", KILN_FLOAT32, KILN_UINT8, 21, 21},
        {"where(n - 3, x, 0)", KILN_FLOAT32, KILN_UINT8, 0, 0},
        {"where(n, x, n * n)", KILN_FLOAT32, KILN_UINT8, 250, 250},
        {"float32(n * 2) + x", KILN_FLOAT32, KILN_FLOAT32, 256, 256},
        {"sum(x * (n * n), axis=0)", KILN_FLOAT32, KILN_UINT64, 2250, 202},
    };
    static const char *const names[] = {"x", "n", "r"};
    test_env *t = *state;
    char text[1024] = "";
    for (size_t k = 0; k < COUNT(rows); k++) {
        strcat(text, k > 0 ? "; " : "");
        strcat(text, rows[k].text);
    }
    for (int small = 0; small < 2; small++) {
        const double element = 250;
        kiln_array *wide = NULL, *x = NULL, *out[COUNT(rows)] = {NULL};
        kiln_arg args[3 + COUNT(rows)];
        kiln_graph *g = NULL;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (int64_t[]){1}, &element, NULL, &wide,
                                   &t->err));
        OK(t, kiln_array_cast(wide, small ? KILN_UINT8 : KILN_FLOAT32, &x, &t->err));
        args[0] = kiln_arg_array(x), args[1] = kiln_arg_int(3), args[2] = kiln_arg_float(2.5);
        for (size_t k = 0; k < COUNT(rows); k++)
            args[3 + k] = kiln_arg_out(&out[k]);
        OK(t, kiln_graph_parse(t->ctx, text, names, 3, NULL, &g, NULL, &t->err));
        OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
        for (size_t k = 0; k < COUNT(rows); k++) {
            double got = 0;
            CHECK(kiln_array_dtype(out[k]) == (small ? rows[k].small : rows[k].dtype), "%s is %s",
                  rows[k].text, kiln_dtype_name(kiln_array_dtype(out[k])));
            graph_fetch(t, out[k], &got, 1);
            CHECK(got == (small ? rows[k].small_value : rows[k].value), "%s is %g", rows[k].text,
                  got);
            kiln_array_release(out[k]);
        }
        kiln_array_release(wide), kiln_array_release(x);
        kiln_graph_destroy(g);
    }
}

/* Integers beyond int64 are uint64, as in NumPy: np.add(np.array(2**63), np.array(1)) is float64,
 * and np.bitwise_and of two such uint64. One graph takes both kinds, one after the other. */
static void test_ops_numbers__integers_beyond_int64(void **state)
{
    static const struct {
        uint64_t n;
        kiln_dtype sum;
    } calls[] = {{5, KILN_INT64}, {UINT64_C(1) << 63, KILN_FLOAT64}, {7, KILN_INT64}};
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    const kiln_node n = kiln_graph_input(g, "n");
    kiln_graph_output(g, "sum", kiln_add(n, 1));
    kiln_graph_output(g, "bits", kiln_bitwise_and(n, n));
    for (size_t k = 0; k < COUNT(calls); k++) {
        kiln_array *sum = NULL, *bits = NULL;
        double got[2];
        OK(t, kiln_call(g, &t->err, calls[k].n, &sum, &bits));
        assert_int_equal(kiln_array_dtype(sum), calls[k].sum);
        assert_int_equal(kiln_array_dtype(bits),
                         calls[k].sum == KILN_INT64 ? KILN_INT64 : KILN_UINT64);
        graph_fetch(t, sum, &got[0], 1);
        graph_fetch(t, bits, &got[1], 1);
        assert_true(got[0] == (double)(calls[k].n + 1) && got[1] == (double)calls[k].n);
        kiln_array_release(sum), kiln_array_release(bits);
    }
    kiln_graph_destroy(g);
}

/* A chain of numbers that is longer than any kernel may be, and a custom kernel of its result. */
static void test_ops_numbers__long_chains_and_custom_kernels(void **state)
{
    enum { LINKS = 3000 };
    test_env *t = *state;
    kiln_elementwise *own = NULL;
    kiln_graph *g = graph_begin(t);
    kiln_array *x = NULL, *z = NULL, *w = NULL;
    const float element = 2;
    float got[2] = {0};
    OK(t, kiln_elementwise_create(t->ctx, "T x, T s, raw T table", "T z", "z = x * s + table[0]",
                                  NULL, &own, &t->err));
    OK(t,
       kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, (int64_t[]){1}, &element, NULL, &x, &t->err));
    const kiln_node in = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");
    kiln_node chain = y;
    for (int k = 0; k < LINKS; k++)
        chain = kiln_add(kiln_multiply(chain, 0.5), y);
    const kiln_node operands[] = {in, kiln_multiply(y, y), in};
    kiln_graph_output(g, "z", kiln_multiply(in, chain));
    kiln_graph_output(g, "w", kiln_node_elementwise(own, operands, 3, 0, KILN_HERE));
    OK(t, kiln_call(g, &t->err, x, 1.5, &z, &w)); /* y + y/2 + y/4 + ... = 3; 2 * 1.5^2 + 2 */
    assert_int_equal(kiln_array_dtype(z), KILN_FLOAT32);
    assert_int_equal(kiln_array_dtype(w), KILN_FLOAT32);
    OK(t, kiln_array_to_host(z, &got[0], sizeof got[0], NULL, &t->err));
    OK(t, kiln_array_to_host(w, &got[1], sizeof got[1], NULL, &t->err));
    CHECK(got[0] == 6.0f && got[1] == 6.5f, "%g, %g", (double)got[0], (double)got[1]);
    kiln_array_release(x), kiln_array_release(z), kiln_array_release(w);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(own);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ops_numbers__arguments_of_a_graph),
        TEST(test_ops_numbers__numbers_that_are_refused),
        TEST(test_ops_numbers__literals_of_an_expression),
        TEST(test_ops_numbers__what_is_made_of_numbers_stays_weak),
        TEST(test_ops_numbers__integers_beyond_int64),
        TEST(test_ops_numbers__long_chains_and_custom_kernels),
    };
    return test_env_main(argc, argv, "test_ops_numbers", tests, COUNT(tests));
}
