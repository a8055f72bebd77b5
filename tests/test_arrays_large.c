/*
 * test_arrays_large.c - functions of arrays with more than 2^31 and 2^32 elements.
 *
 * x is all zeros but for three bytes, of which two lie behind the mark, so that what a function gives is known
 * without a computation: a number that passes through 32 bits somewhere gives another one. Some functions need
 * twenty times the bytes of x (of 2 and 4 GiB), so that these sizes run on large GPUs alone. Everywhere the same
 * cases run on few elements, which shows that what is expected is right.
 */
#include "philox.h"
#include "test_env.h"

#define MARK_31 (INT64_C(1) << 31)
#define MARK_32 (INT64_C(1) << 32)

/* A matrix with rows of 1024 of all elements but the first 7, so that its rows begin at odd addresses. */
#define ROWS "x[7:].reshape((-1, 1024))"

/* What an expression of x (n = 1024 * rows + 7 bytes: 1 at place 1, 3 at place n - 6, 5 at the last place) and of the
 * indices i = (1, n - 6, n - 1, -1) is: a whole number, `n_times` * n + `row_times` * rows + `more`. */
static const struct {
    const char *text;
    int64_t n_times, row_times, more;
} cases[] = {
    /* gather and scatter */
    {"sum(x[i])", 0, 0, 14},
    {"sum(take(x, i))", 0, 0, 14},
    {"sum(take_along_axis(x, i, 0))", 0, 0, 14},
    {"sum(x[len(x) // 2 + 9:])", 0, 0, 8},
    {"sum(x[::-1][len(x) - 1 - i[:3]])", 0, 0, 9},
    {"sum(int64(take([1, 2, 3, 4, 5, 6], x)))", 1, 0, 9},
    {"sum(" ROWS "[[-1, 0]])", 0, 0, 8},
    {"sum(scatter_add(x, i, uint8(7)))", 0, 0, 37},
    {"int64(scatter_add(x, i, uint8(7))[len(x) - 1])", 0, 0, 19},
    {"sum(scatter_add(zeros(6, float32), x, float32(x)))", 0, 0, 9},
    {"argmax(x.at[len(x) - 3].set(9))", 1, 0, -3},
    /* masks and compaction */
    {"sum(flatnonzero(x))", 2, 0, -6},
    {"sum(flatnonzero(x == 3))", 1, 0, -6},
    {"sum(argwhere(" ROWS ")[:, 0])", 0, 2, -2},
    {"sum(x[x > 1])", 0, 0, 8},
    {"sum(1 + 0 * int64(compress(x == 0, x)))", 1, 0, -3},
    {"count_nonzero(x)", 0, 0, 3},
    {"yes, no = partition_copy(x, x > 1); sum(int64(yes)) + sum(1 + 0 * int64(no))", 1, 0, 6},
    {"sum(where(x > 2, x, 1))", 1, 0, 6},
    {"sum(choose(x > 1, [x, x + 1]))", 0, 0, 11},
    {"sum(place(x, x > 1, [7]))", 0, 0, 15},
    {"sum(unique(x))", 0, 0, 9},
    {"unique(x, return_counts=True)[1][0]", 1, 0, -3},
    /* rearranging */
    {"argmax(roll(x, 2))", 0, 0, 1},
    {"argmax(roll(x, -2))", 1, 0, -3},
    {"sum(flatnonzero(roll(" ROWS ", (-1, -1), (0, 1))))", 0, 2048, -2057},
    {"argmax(concatenate([x[:3], x]))", 1, 0, 2},
    {"sum(flatnonzero(concatenate([x, x[:2]])))", 3, 0, -5},
    {"sum(flatnonzero(concatenate([" ROWS ", " ROWS "], axis=1)))", 0, 8192, -2062},
    {"sum(flatnonzero(stack([x, x], axis=1)))", 8, 0, -21},
    {"sum(flatnonzero(tile(x, 2)))", 7, 0, -12},
    {"sum(flatnonzero(tile(" ROWS ", (1, 2))))", 0, 8192, -2062},
    {"sum(flatnonzero(repeat(x, 2)))", 8, 0, -21},
    {"argmax(pad(x, 4))", 1, 0, 3},
    {"sum(flatnonzero(pad(" ROWS ", 1)))", 0, 2052, 2043},
    {"sum(flatnonzero(delete(x, 1)))", 2, 0, -9},
    {"sum(flatnonzero(insert(x, 2, 9)))", 2, 0, -2},
    {"sum(flatnonzero(insert(x, [2, len(x)], 9)))", 3, 0, -1},
    {"sum(flatnonzero(flip(x)))", 1, 0, 3},
    {"sum(flatnonzero(" ROWS "[:, ::-1]))", 0, 2048, -2043},
    {"sum(flatnonzero(" ROWS ".T))", 0, 2043, -2},
    {"sum(flatnonzero(rot90(" ROWS ")))", 0, 7, -2},
    {"sum(flatnonzero(diff(x)))", 3, 0, -14},
    {"sum(convolve(x, [1, 2], mode='same'))", 0, 0, 17},
    /* sorting and searching */
    {"int64(sort(x)[len(x) - 1])", 0, 0, 5},
    {"int64(sort(x)[len(x) - 4])", 0, 0, 0},
    {"sum(sort(x))", 0, 0, 9},
    {"int64(argsort(x)[len(x) - 1])", 1, 0, -1},
    {"int64(argsort(x)[len(x) - 2])", 1, 0, -6},
    {"int64(sort(x, less='a < b')[len(x) - 1])", 0, 0, 5},
    {"sum(sort(" ROWS ")[:, 1022])", 0, 0, 3},
    {"sum(partition(x, len(x) - 2)[len(x) - 2:])", 0, 0, 8},
    {"sum(topk(x, 2)[0])", 0, 0, 8},
    {"sum(topk(x, 2)[1])", 2, 0, -7},
    {"sum(topk(" ROWS ", 2)[0])", 0, 0, 8},
    {"int64(median(x))", 0, 0, 0},
    {"int64(quantile(x, 1))", 0, 0, 5},
    {"sum(searchsorted(sort(x), [1, 3, 5]))", 3, 0, -6},
    {"sum(searchsorted([1, 3, 5], x, side='right'))", 0, 0, 6},
    {"sum(digitize(x, [1, 4]))", 0, 0, 4},
    {"sum(isin(x, [3, 5]))", 0, 0, 2},
    {"bincount(x, length=6)[0]", 1, 0, -3},
    {"histogram(x, [0, 1, 2, 6])[0][0]", 1, 0, -3},
    {"sum(histogram(x, 4, range=(0, 8))[0])", 1, 0, 0},
    /* scans as nodes, permutations */
    {"cumsum(x, dtype=int64)[len(x) - 1]", 0, 0, 9},
    {"sum(cumsum(" ROWS ", axis=0)[-1])", 0, 0, 8},
    {"sum(cumsum(" ROWS ", axis=1)[:, -1])", 0, 0, 8},
    {"max(permutation(3, len(x)))", 1, 0, -1},
    {"sum(permutation(3, len(x)) == len(x) - 1)", 0, 0, 1},
};

static kiln_array *marked(test_env *t, int64_t n)
{
    static const uint8_t values[] = {1, 3, 5};
    const int64_t places[] = {1, n - 6, n - 1}, three = 3;
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

/* How many cases were not run, for the device had no room for them. */
static int check_cases(test_env *t, int64_t n)
{
    static const char *const names[] = {"x", "i"};
    const int64_t indices[] = {1, n - 6, n - 1, -1}, four = 4;
    kiln_array *x = NULL, *i = NULL;
    int without_room = 0;

    x = marked(t, n);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &four, indices, NULL, &i, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_array *y = NULL, *whole = NULL;
        int64_t got = -1;
        if (n < MARK_31 && !test_drawn(t)) /* what small arrays show is shown elsewhere: here the table itself is */
            continue;
        const int64_t want = cases[k].n_times * n + cases[k].row_times * (n / 1024) + cases[k].more;

        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err));
        const kiln_status status = kiln_call(g, &t->err, x, i, &y);
        if (status == KILN_ERR_DEVICE_MEMORY && n > MARK_31) { /* others use the device */
            print_message("not run: %s: %s\n", cases[k].text, t->err.message);
            kiln_error_clear(&t->err);
            kiln_graph_destroy(g);
            (void)kiln_context_pool_trim(t->ctx);
            without_room++;
            continue;
        }
        OK(t, status);
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
    return without_room;
}

/* Uniform numbers near `first` against Philox in plain C. */
static void check_draws(test_env *t, const kiln_array *x, uint64_t key, uint64_t draw, int64_t first)
{
    enum { N = 64 };
    const int64_t last = first + N;
    kiln_array *part = NULL;
    float got[N];

    OK(t, kiln_array_slice(x, 0, first, last, 1, &part, &t->err));
    OK(t, kiln_array_to_host(part, got, sizeof got, NULL, &t->err));
    for (int64_t k = 0; k < N; k++) {
        const uint64_t at = (uint64_t)(first + k);
        uint32_t w[4];
        philox(key, at / 4, draw, w);
        CHECK(got[k] == (float)(w[at % 4] >> 8) / 16777216.0f, "number %lld is %.9g", (long long)at, (double)got[k]);
    }
    kiln_array_release(part);
}

static void check_uniform(test_env *t, int64_t n)
{
    const int64_t firsts[] = {0, MARK_31 - 32, MARK_32 - 32, n - 64};
    kiln_array *x = NULL;
    kiln_random rng;

    kiln_random_init(&rng, 3, 0);
    OK(t, kiln_random_array(&rng, t->ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT32, 1, &n, &x, &t->err));
    for (size_t k = 0; k < COUNT(firsts); k++)
        if (firsts[k] + 64 <= n)
            check_draws(t, x, kiln_random_key(&rng), 0, firsts[k]);
    kiln_array_release(x);
}

static void check(test_env *t, int64_t n)
{
    if (n > MARK_31 && (!t->cuda || kiln_context_device(t->ctx)->memory_bytes < (size_t)n * 24))
        skip();
    const int without_room = check_cases(t, n);
    check_uniform(t, n);
    if (without_room > 0)
        skip();
}

static void test_arrays_large__of_few_elements(void **state)
{
    check(*state, 4096 + 7);
}

static void test_arrays_large__beyond_2_31(void **state)
{
    check(*state, MARK_31 + 7);
}

static void test_arrays_large__beyond_2_32(void **state)
{
    check(*state, MARK_32 + 7);
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
