/*
 * test_arrays_large.c - functions of arrays with more than 2^31 and 2^32 elements.
 *
 * x is all zeros but for three bytes, of which two lie behind the mark, so that what a function gives is known
 * without a computation: a number that passes through 32 bits somewhere gives another one. Some functions need
 * twenty times the bytes of x (of 2 and 4 GiB), so that these sizes run on large GPUs alone. Everywhere the same
 * cases run on few elements, which shows that what is expected is right.
 */
#include "test_env.h"

#define MARK_31 (INT64_C(1) << 31)
#define MARK_32 (INT64_C(1) << 32)

/* What an expression of x (n bytes: 1 at place 1, 3 at place `far`, 5 at the last place) and of the indices i =
 * (1, far, n - 1, -1) is: a whole number, `n_times` * n + `far_times` * far + `more`. */
static const struct {
    const char *text;
    int64_t n_times, far_times, more;
} cases[] = {
    {"sum(x[i])", 0, 0, 14},
    {"sum(take(x, i))", 0, 0, 14},
    {"sum(take_along_axis(x, i, 0))", 0, 0, 14},
    {"sum(x[len(x) // 2 + 9:])", 0, 0, 8},
    {"sum(x[::-1][len(x) - 1 - i[:3]])", 0, 0, 9},
    {"sum(scatter_add(x, i, uint8(7)))", 0, 0, 37},
    {"int64(scatter_add(x, i, uint8(7))[len(x) - 1])", 0, 0, 19},
    {"sum(flatnonzero(x))", 1, 1, 0},
    {"sum(flatnonzero(x == 3))", 0, 1, 0},
    {"sum(x[x > 1])", 0, 0, 8},
    {"sum(1 + 0 * int64(compress(x == 0, x)))", 1, 0, -3},
    {"count_nonzero(x)", 0, 0, 3},
    {"int64(sort(x)[len(x) - 1])", 0, 0, 5},
    {"int64(sort(x)[len(x) - 4])", 0, 0, 0},
    {"sum(sort(x))", 0, 0, 9},
    {"sum(topk(x, 2)[0])", 0, 0, 8},
    {"sum(topk(x, 2)[1])", 1, 1, -1},
    {"sum(unique(x))", 0, 0, 9},
    {"bincount(x, length=6)[0]", 1, 0, -3},
    {"histogram(x, [0, 1, 2, 6])[0][0]", 1, 0, -3},
    {"argmax(roll(x, 2))", 0, 0, 1},
    {"argmax(roll(x, -2))", 1, 0, -3},
    {"argmax(concatenate([x[:3], x]))", 1, 0, 2},
    {"sum(flatnonzero(concatenate([x, x[:2]])))", 2, 1, 1},
    {"argmax(pad(x, 4))", 1, 0, 3},
    {"sum(flatnonzero(delete(x, 1)))", 1, 1, -3},
    {"sum(flatnonzero(insert(x, 2, 9)))", 1, 1, 4},
};

static kiln_array *marked(test_env *t, int64_t n, int64_t far)
{
    static const uint8_t values[] = {1, 3, 5};
    const int64_t places[] = {1, far, n - 1}, three = 3;
    kiln_array *x = NULL, *at = NULL, *v = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_UINT8, 1, &n, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &three, places, NULL, &at, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &three, values, NULL, &v, &t->err));
    for (int k = 0; k < 3; k++) { /* one by one, through views */
        kiln_array *place = NULL, *value = NULL;
        OK(t, kiln_array_select(x, 0, places[k], &place, &t->err));
        OK(t, kiln_array_select(v, 0, k, &value, &t->err));
        OK(t, kiln_array_assign(place, value, &t->err));
        kiln_array_release(place);
        kiln_array_release(value);
    }
    kiln_array_release(at);
    kiln_array_release(v);
    return x;
}

static void check(test_env *t, int64_t n, int64_t far)
{
    static const char *const names[] = {"x", "i"};
    const int64_t indices[] = {1, far, n - 1, -1}, four = 4;
    kiln_array *x = NULL, *i = NULL;

    if (n > MARK_31 && (!t->cuda || kiln_context_device(t->ctx)->memory_bytes < (size_t)n * 24))
        skip();
    x = marked(t, n, far);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &four, indices, NULL, &i, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_array *y = NULL, *whole = NULL;
        int64_t got = -1;
        const int64_t want = cases[k].n_times * n + cases[k].far_times * far + cases[k].more;

        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err));
        OK(t, kiln_call(g, &t->err, x, i, &y));
        OK(t, kiln_array_cast(y, KILN_INT64, &whole, &t->err));
        OK(t, kiln_array_to_host(whole, &got, sizeof got, NULL, &t->err));
        CHECK(got == want, "%s: %lld, expected %lld", cases[k].text, (long long)got, (long long)want);
        kiln_array_release(y);
        kiln_array_release(whole);
        kiln_graph_destroy(g);
        (void)kiln_context_pool_trim(t->ctx);
    }
    kiln_array_release(x);
    kiln_array_release(i);
}

static void test_arrays_large__of_few_elements(void **state)
{
    check(*state, 4096 + 7, 4096 + 1);
}

static void test_arrays_large__beyond_2_31(void **state)
{
    check(*state, MARK_31 + 7, MARK_31 + 1);
}

static void test_arrays_large__beyond_2_32(void **state)
{
    check(*state, MARK_32 + 9, MARK_32 + 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_arrays_large__of_few_elements),
        TEST(test_arrays_large__beyond_2_31),
        TEST(test_arrays_large__beyond_2_32),
    };

    return test_env_main(argc, argv, "test_arrays_large", tests, COUNT(tests));
}
