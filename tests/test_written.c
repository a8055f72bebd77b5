/*
 * test_written.c - functions of expressions that are expressions themselves, sliding sums, histograms of points and
 * tiles of large arrays, against plain loops.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { ROOM = 200 };

/* Two vectors, the inputs `x` and `y` of an expression. */
typedef struct inputs {
    double x[ROOM], y[ROOM];
    int64_t sizes[2];
    kiln_array *arrays[2];
} inputs;

static void load(test_env *t, inputs *in, kiln_dtype dtype)
{
    for (int k = 0; k < 2; k++) {
        kiln_array *wide = NULL;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &in->sizes[k], k == 0 ? in->x : in->y,
                                   NULL, &wide, &t->err));
        OK(t, kiln_array_cast(wide, dtype, &in->arrays[k], &t->err));
        kiln_array_release(wide);
    }
}

static void unload(inputs *in)
{
    kiln_array_release(in->arrays[0]);
    kiln_array_release(in->arrays[1]);
}

/* The result of an expression as float64, of which only the first elements count where the device alone knows how
 * many; their number. The caller frees it. */
static double *evaluate(test_env *t, const inputs *in, const char *text, int64_t *count_out)
{
    static const char *const names[] = {"x", "y"};
    kiln_array *out[2] = {NULL}, *first = NULL, *wide = NULL;
    kiln_graph *g = NULL;
    size_t results = 0;

    OK(t, kiln_graph_parse(t->ctx, text, names, 2, NULL, &g, &results, &t->err));
    const kiln_arg args[] = {kiln_arg_array(in->arrays[0]), kiln_arg_array(in->arrays[1]),
                             kiln_arg_out(&out[0]), kiln_arg_out(&out[1])};
    OK(t, kiln_graph_run(g, args, 2 + results, NULL, &t->err));
    if (results == 2)
        OK(t, kiln_array_first(out[0], out[1], &first, &t->err));
    else
        first = kiln_array_retain(out[0]);
    OK(t, kiln_array_cast(first, KILN_FLOAT64, &wide, &t->err));
    *count_out = kiln_array_size(wide);
    double *const host = malloc((size_t)*count_out * sizeof *host + 1);
    assert_non_null(host);
    OK(t, kiln_array_to_host(wide, host, (size_t)*count_out * sizeof *host, NULL, &t->err));
    kiln_array_release(wide);
    kiln_array_release(first);
    kiln_array_release(out[0]);
    kiln_array_release(out[1]);
    kiln_graph_destroy(g);
    return host;
}

static void expect(test_env *t, const inputs *in, const char *text, const double *want,
                   int64_t want_count)
{
    int64_t count = 0;
    double *const got = evaluate(t, in, text, &count);

    if (count != want_count)
        fail_msg("%s: %lld elements, not %lld", text, (long long)count, (long long)want_count);
    for (int64_t k = 0; k < count; k++)
        if (!(got[k] == want[k] || (isnan(got[k]) && isnan(want[k]))))
            fail_msg("%s: element %lld is %g, not %g", text, (long long)k, got[k], want[k]);
    free(got);
}

/* ---- sets ---------------------------------------------------------------------------------------------- */

static bool is_in(double v, const double *list, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (list[k] == v)
            return true;
    return false;
}

/* Sorted, NaN last, each once. */
static int64_t insert_once(double *list, int64_t count, double v)
{
    int64_t at = count;

    while (at > 0 && (isnan(list[at - 1]) || v < list[at - 1]))
        at--;
    if (isnan(v))
        at = count;
    if (is_in(v, list, count) || (isnan(v) && count > 0 && isnan(list[count - 1])))
        return count;
    memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
    list[at] = v;
    return count + 1;
}

/* Whether an element of x (or of y) is in the set. */
typedef bool member_fn(bool of_x, bool in_x, bool in_y);

static bool of_x_alone(bool of_x, bool in_x, bool in_y)
{
    (void)in_x, (void)in_y;
    return of_x;
}

static bool of_any(bool of_x, bool in_x, bool in_y)
{
    (void)of_x, (void)in_x, (void)in_y;
    return true;
}

static bool of_both(bool of_x, bool in_x, bool in_y)
{
    return of_x && in_x && in_y;
}

static bool of_difference(bool of_x, bool in_x, bool in_y)
{
    (void)in_x;
    return of_x && !in_y;
}

static bool of_one(bool of_x, bool in_x, bool in_y)
{
    (void)of_x;
    return !(in_x && in_y);
}

static void check_sets(test_env *t, const inputs *in)
{
    static const struct {
        const char *text;
        member_fn *member;
    } sets[] = {{"unique(x)", of_x_alone},      {"union1d(x, y)", of_any},
                {"intersect1d(x, y)", of_both}, {"setdiff1d(x, y)", of_difference},
                {"setxor1d(x, y)", of_one},     {"x.union1d(y)", of_any}};
    const double *const lists[] = {in->x, in->y};
    double want[2 * ROOM + 1];

    for (size_t k = 0; k < COUNT(sets); k++) {
        int64_t count = 0;
        for (int which = 0; which < 2; which++)
            for (int64_t n = 0; n < in->sizes[which]; n++) {
                const double v = lists[which][n];
                if (sets[k].member(which == 0, is_in(v, in->x, in->sizes[0]),
                                   is_in(v, in->y, in->sizes[1])))
                    count = insert_once(want, count, v);
            }
        expect(t, in, sets[k].text, want, count);
    }
    for (int64_t n = 0; n < in->sizes[0]; n++)
        want[n] = is_in(in->x[n], in->y, in->sizes[1]);
    expect(t, in, "isin(x, y)", want, in->sizes[0]);
    expect(t, in, "in1d(reshape(x, (1, -1)), y)", want, in->sizes[0]);
}

static void test_written__sets(void **state)
{
    test_env *t = *state;
    static const kiln_dtype dtypes[] = {KILN_INT8,    KILN_UINT16,  KILN_INT64,
                                        KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64};
    static const int64_t sizes[][2] = {{ROOM, ROOM}, {1, ROOM}, {0, 5}, {7, 0}, {0, 0}, {40, 3}};

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            inputs in = {.sizes = {sizes[s][0], sizes[s][1]}};
            if (!test_drawn(t))
                continue;
            for (int k = 0; k < ROOM; k++) {
                in.x[k] = (double)test_random_below(t, 60);
                in.y[k] = (double)test_random_below(t, 90) + 20;
                if (d >= 3 && test_random_below(t, 30) == 0)
                    in.x[k] = NAN;
                if (d >= 3 && in.x[k] == 0 && test_random_below(t, 2) == 0)
                    in.x[k] = -0.0;
            }
            load(t, &in, dtypes[d]);
            check_sets(t, &in);
            unload(&in);
        }
}

/* What masks choose takes further operations, and its sum needs no compaction. */
static void test_written__sets_in_expressions(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {3, 1, 3, 2, 1}, .y = {2, 3}, .sizes = {5, 2}};
    const double sum[] = {6}, twice[] = {3, 5, 7}, chosen[] = {3, 3, 2};

    load(t, &in, KILN_INT32);
    expect(t, &in, "sum(unique(x))", sum, 1);
    expect(t, &in, "unique(x) * 2 + 1", twice, 3);
    expect(t, &in, "x[isin(x, y)]", chosen, 3);
    unload(&in);
}

/* One operation recorded over different nodes that are one value, and over what is made of numbers alone. */
static void test_written__equal_operations_are_one(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {3, 1, 2}, .y = {2, 0}, .sizes = {3, 2}};
    const double twice[] = {2, 4, 6}, one[] = {7}, second[] = {1, 3, 5};

    load(t, &in, KILN_FLOAT32);
    expect(t, &in, "sort(ravel(x)) + sort(x)", twice, 3);
    expect(t, &in, "a, b = topk(x, 3); c, d = topk(ravel(x), 3); sort(a) + sort(d)", second, 3);
    expect(t, &in, "sort(ravel(7))", one, 1);
    unload(&in);
}

/* ---- bins ---------------------------------------------------------------------------------------------- */

static void test_written__places_in_sorted_vectors(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {0, 1, 1.5, 4, 9, -3, 2}, .y = {1, 2, 2, 4}, .sizes = {7, 4}};
    double left[7], right[7];

    for (int k = 0; k < 7; k++) {
        left[k] = right[k] = 0;
        for (int n = 0; n < 4; n++) {
            left[k] += in.y[n] < in.x[k];
            right[k] += in.y[n] <= in.x[k];
        }
    }
    load(t, &in, KILN_FLOAT32);
    expect(t, &in, "searchsorted(y, x)", left, 7);
    expect(t, &in, "searchsorted(y, x, side='left')", left, 7);
    expect(t, &in, "searchsorted(y, x, side='right')", right, 7);
    expect(t, &in, "digitize(x, y)", right, 7);
    expect(t, &in, "digitize(x, y, right=True)", left, 7);
    expect(t, &in, "digitize(x, y, False)", right, 7);
    unload(&in);
}

/* NumPy's rule: the bin of a value between edges, the last of which belongs to the last bin; -1: in none. */
static int bin_of(double v, const double *edges, int count)
{
    for (int k = 0; k + 1 < count; k++)
        if (v >= edges[k] && (v < edges[k + 1] || (k + 2 == count && v == edges[k + 1])))
            return k;
    return -1;
}

static void test_written__histograms(void **state)
{
    test_env *t = *state;
    inputs in = {.sizes = {ROOM, ROOM}};
    const double edges[] = {0, 1, 2.5, 4};
    double even[5] = {0}, between[3] = {0}, box[9] = {0}, both[4] = {0};

    for (int k = 0; k < ROOM; k++) {
        in.x[k] = (double)test_random_below(t, 11) / 2;
        in.y[k] = (double)test_random_below(t, 11) / 2 - 0.5;
    }
    in.x[0] = 0, in.x[1] = 5, in.y[0] = -0.5, in.y[1] = 4.5;
    for (int k = 0; k < ROOM; k++) {
        const int a = bin_of(in.x[k], edges, 4), b = bin_of(in.y[k], edges, 4);
        even[bin_of(in.x[k], (const double[]){0, 1, 2, 3, 4, 5}, 6)]++;
        both[bin_of(in.x[k], (const double[]){0, 2.5, 5}, 3) * 2 +
             bin_of(in.y[k], (const double[]){-0.5, 2, 4.5}, 3)]++;
        if (a >= 0)
            between[a]++;
        if (a >= 0 && b >= 0)
            box[3 * a + b]++;
    }
    load(t, &in, KILN_FLOAT32);
    expect(t, &in, "h, e = histogram(x, 5); h", even, 5);
    expect(t, &in, "h, e = histogram(x, 5); e", (const double[]){0, 1, 2, 3, 4, 5}, 6);
    expect(t, &in, "h, a, b = histogram2d(x, y, 2); h", both, 4);
    expect(t, &in, "h, e = histogram(x * 0 + 3, 2); e", (const double[]){2.5, 3, 3.5}, 3);
    kiln_array *e = NULL, *h = NULL;
    const int64_t four[] = {4};
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, four, edges, NULL, &e, &t->err));
    const kiln_array *const samples[] = {in.arrays[0], in.arrays[1]}, *const bins[] = {e, e};
    for (size_t axes = 1; axes <= 2; axes++) {
        double got[9];
        const double *want = axes == 1 ? between : box;
        OK(t, kiln_array_histogramdd(samples, bins, axes, &h, &t->err));
        assert_int_equal(kiln_array_rank(h), axes);
        assert_int_equal(kiln_array_dtype(h), KILN_FLOAT64);
        const size_t count = (size_t)kiln_array_size(h);
        assert_int_equal(count, axes == 1 ? 3 : 9);
        OK(t, kiln_array_to_host(h, got, count * sizeof *got, NULL, &t->err));
        for (size_t k = 0; k < count; k++)
            assert_true(got[k] == want[k]);
        kiln_array_release(h);
        h = NULL;
    }
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_array_histogramdd(samples, bins, 0, &h, &t->err),
          "0 axes");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_histogramdd((const kiln_array *[]){in.arrays[0], e}, bins, 2, &h, &t->err),
          "different shapes");
    const kiln_array *const falling[] = {in.arrays[0]};
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_histogramdd(samples, falling, 1, &h, &t->err),
          "do not increase");
    kiln_array_release(e);
    unload(&in);
}

/* ---- sliding sums -------------------------------------------------------------------------------------- */

/* NumPy's full convolution; a correlation is one with the second vector turned around. */
static int64_t slide(const inputs *in, bool correlate, int mode, double *out)
{
    const int64_t n = in->sizes[0], m = in->sizes[1], shorter = n < m ? n : m,
                  longer = n < m ? m : n;
    const int64_t count = mode == 0 ? n + m - 1 : mode == 1 ? longer : longer - shorter + 1;
    int64_t first = mode == 0 ? 0 : shorter - 1 - (mode == 1 ? shorter / 2 : 0);

    if (correlate && n < m) /* NumPy exchanges them and turns the result around */
        first = n + m - 1 - first - count;
    for (int64_t k = 0; k < count; k++) {
        out[k] = 0;
        for (int64_t j = 0; j < m; j++) {
            const int64_t at = k + first - j;
            if (at >= 0 && at < n)
                out[k] += in->x[at] * in->y[correlate ? m - 1 - j : j];
        }
    }
    return count;
}

static void test_written__sliding_sums(void **state)
{
    test_env *t = *state;
    static const char *const modes[] = {"full", "same", "valid"};
    static const int64_t sizes[][2] = {{50, 7}, {7, 50}, {20, 20}, {1, 1},
                                       {9, 2},  {2, 9},  {100, 40}};
    static const kiln_dtype dtypes[] = {KILN_INT16, KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64};

    for (size_t c = 0; c < COUNT(sizes) * COUNT(dtypes); c++) {
        inputs in = {.sizes = {sizes[c % COUNT(sizes)][0], sizes[c % COUNT(sizes)][1]}};
        for (int k = 0; k < 100; k++) { /* sums of whole numbers are exact, in 16 bits too */
            in.x[k] = (double)test_random_below(t, 9) - 4;
            in.y[k] = (double)test_random_below(t, 9) - 4;
        }
        load(t, &in, dtypes[c / COUNT(sizes)]);
        for (int mode = 0; mode < 3; mode++)
            for (int correlate = 0; correlate < 2; correlate++) {
                char text[80];
                double want[ROOM];
                const int64_t count = slide(&in, correlate != 0, mode, want);
                snprintf(text, sizeof text, "%s(x, y, %s%s%s)",
                         correlate ? "correlate" : "convolve", mode == 1 ? "mode=" : "'",
                         modes[mode], mode == 1 ? "" : "'");
                expect(t, &in, text, want, count);
            }
        unload(&in);
    }
}

static void test_written__sliding_sums_of_arrays(void **state)
{
    test_env *t = *state;
    static const double complex_a[] = {1, 2, 0, -1, 3, 1}, complex_v[] = {2, 1, 1, -3};
    static const bool bits_a[] = {true, false, false, true, true}, bits_v[] = {true, true};
    const int64_t three[] = {3}, two[] = {2}, five[] = {5}, none[] = {0};
    kiln_array *a = NULL, *v = NULL, *z = NULL, *turned = NULL, *empty = NULL;
    double got[8];
    bool bits[6];

    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 1, three, complex_a, NULL, &a, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 1, two, complex_v, NULL, &v, &t->err));
    OK(t, kiln_array_flip(a, 0, &turned, &t->err)); /* 3+1j, -1j, 1+2j */
    OK(t, kiln_array_correlate(a, v, KILN_SLIDE_VALID, &z, &t->err));
    OK(t, kiln_array_to_host(z, got, 4 * sizeof *got, NULL, &t->err));
    /* numpy.correlate([1+2j, -1j, 3+1j], [2+1j, 1-3j]): a0 conj(v0) + a1 conj(v1), ... */
    const double want[] = {4 + 3, 3 - 1, -1 + 0, -2 + 10};
    for (int k = 0; k < 4; k++)
        assert_true(got[k] == want[k]);
    kiln_array_release(z);
    z = NULL;
    OK(t, kiln_array_convolve(v, turned, KILN_SLIDE_VALID, &z, &t->err));
    OK(t, kiln_array_to_host(z, got, 4 * sizeof *got, NULL, &t->err));
    /* The longer one is [3+1j, -1j, 1+2j]. */
    for (int k = 0; k < 2; k++) { /* turned[k + 1] * v[0] + turned[k] * v[1] */
        static const double t_re[] = {3, 0, 1}, t_im[] = {1, -1, 2};
        assert_true(got[2 * k] == t_re[k + 1] * 2 - t_im[k + 1] * 1 + t_re[k] * 1 - t_im[k] * -3);
        assert_true(got[2 * k + 1] ==
                    t_re[k + 1] * 1 + t_im[k + 1] * 2 + t_re[k] * -3 + t_im[k] * 1);
    }
    kiln_array_release(z);
    kiln_array_release(a);
    kiln_array_release(v);
    a = v = z = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 1, five, bits_a, NULL, &a, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 1, two, bits_v, NULL, &v, &t->err));
    OK(t, kiln_array_convolve(a, v, KILN_SLIDE_FULL, &z, &t->err));
    assert_int_equal(kiln_array_dtype(z), KILN_BOOL);
    OK(t, kiln_array_to_host(z, bits, sizeof bits, NULL, &t->err));
    for (int k = 0; k < 6; k++)
        assert_int_equal(bits[k], (k < 5 && bits_a[k]) || (k > 0 && bits_a[k - 1]));
    kiln_array_release(z);
    z = NULL;
    OK(t, kiln_array_empty(t->ctx, KILN_BOOL, 1, none, &empty, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_array_convolve(a, empty, KILN_SLIDE_FULL, &z, &t->err),
          "no elements");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_correlate(a, v, (kiln_slide_mode)3, &z, &t->err),
          "mode 3");
    assert_null(z);
    kiln_array_release(empty);
    kiln_array_release(turned);
    kiln_array_release(a);
    kiln_array_release(v);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void test_written__of_rows(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {1, 5, 2, 7, 3, 4}, .y = {2, 0, 1, 1, 3, 5}, .sizes = {6, 6}};
    double crossed[6], turned[6], upside[6];
    const double all[] = {6};
    const double *x = in.x, *y = in.y;

    for (int r = 0; r < 6; r += 3)
        for (int k = 0; k < 3; k++) {
            const int a = r + (k + 1) % 3, b = r + (k + 2) % 3;
            crossed[r + k] = x[a] * y[b] - x[b] * y[a];
            turned[r + k] = x[r + 2 - k];
            upside[r + k] = x[3 - r + k];
        }
    load(t, &in, KILN_FLOAT64);
    expect(t, &in, "cross(reshape(x, (2, 3)), reshape(y, (2, 3)))", crossed, 6);
    expect(t, &in, "fliplr(reshape(x, (2, 3)))", turned, 6);
    expect(t, &in, "flipud(reshape(x, (2, 3)))", upside, 6);
    expect(t, &in, "ptp(reshape(x, (2, 3)), axis=1)", (const double[]){4, 4}, 2);
    expect(t, &in, "ptp(x)", all, 1);
    expect(t, &in, "average(reshape(x, (2, 3)), axis=1)", (const double[]){8.0 / 3, 14.0 / 3}, 2);
    expect(t, &in,
           "average(reshape(x, (2, 3))[:, :2], axis=1, weights=reshape(y + 1, (2, 3))[:, :2])",
           (const double[]){(1 * 3 + 5 * 1) / 4.0, (7 * 2 + 3 * 4) / 6.0}, 2);
    unload(&in);
}

/* Weights of one axis are those along the axis that is given, as in NumPy. */
static void test_written__average_along_an_axis(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {1, 5, 2, 7, 3, 4, 8, 6, 9}, .y = {1, 2, 4}, .sizes = {9, 3}};
    double down[3] = {0}, across[3] = {0};

    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            down[k] += in.x[3 * r + k] * in.y[r];
            across[r] += in.x[3 * r + k] * in.y[k];
        }
    for (int k = 0; k < 3; k++) {
        down[k] /= 7;
        across[k] /= 7;
    }
    load(t, &in, KILN_FLOAT64);
    expect(t, &in, "average(reshape(x, (3, 3)), axis=0, weights=y)", down, 3);
    expect(t, &in, "average(reshape(x, (3, 3)), -1, y)", across, 3);
    expect(t, &in, "average(reshape(x, (3, 3)), axis=0, weights=broadcast_to(y, (3, 3)).T)", down,
           3);
    unload(&in);
}

static void test_written__grids(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {1, 2, 3}, .y = {5, 6}, .sizes = {3, 2}};
    const double across[] = {1, 2, 3, 1, 2, 3}, down[] = {5, 5, 5, 6, 6, 6};
    const double unit[] = {1, 0, 0, 1};

    load(t, &in, KILN_INT16);
    expect(t, &in, "a, b = meshgrid(x, y); a", across, 6);
    expect(t, &in, "a, b = meshgrid(x, y); b", down, 6);
    expect(t, &in, "identity(2)", unit, 4);
    unload(&in);
}

/* What numpy.pad(numpy.array([[1, 5, 2], [7, 3, 4]], dtype), widths, mode, ...) gives. */
static const struct {
    kiln_dtype dtype;
    const char *text;
    int count;
    double want[15];
} pads[] = {
    {KILN_FLOAT64,
     "pad(reshape(x, (2, 3)), (1,0,0,2), mode=maximum)",
     15,
     {7, 5, 4, 7, 7, 1, 5, 2, 5, 5, 7, 3, 4, 7, 7}},
    {KILN_FLOAT64,
     "pad(reshape(x, (2, 3)), (0,1,1,0), mode=minimum)",
     12,
     {1, 1, 5, 2, 3, 7, 3, 4, 1, 1, 3, 2}},
    {KILN_FLOAT64,
     "pad(reshape(x, (2, 3)), (1,0,0,1), mode=mean)",
     12,
     {4, 4, 3, 3.6666666666666665, 1, 5, 2, 2.6666666666666665, 7, 3, 4, 4.666666666666667}},
    {KILN_FLOAT64, "pad(reshape(x, (2, 3)), (0,0,1,0), mode=median)", 8, {2, 1, 5, 2, 4, 7, 3, 4}},
    {KILN_FLOAT64,
     "pad(reshape(x, (2, 3)), (0,0,1,1), mode=mean, stat_length=2)",
     10,
     {3, 1, 5, 2, 3.5, 5, 7, 3, 4, 3.5}},
    {KILN_FLOAT64,
     "pad(reshape(x, (2, 3)), (0,0,2,1), mode=linear_ramp, end_values=-3)",
     12,
     {-3, -1, 1, 5, 2, -3, -3, 2, 7, 3, 4, -3}},
    {KILN_FLOAT64,
     "pad(reshape(x, (2, 3)), (2,0,0,0), mode=linear_ramp)",
     12,
     {0, 0, 0, 0.5, 2.5, 1, 1, 5, 2, 7, 3, 4}},
    {KILN_INT32,
     "pad(reshape(x, (2, 3)), (1,0,0,2), mode=maximum)",
     15,
     {7, 5, 4, 7, 7, 1, 5, 2, 5, 5, 7, 3, 4, 7, 7}},
    {KILN_INT32,
     "pad(reshape(x, (2, 3)), (0,1,1,0), mode=minimum)",
     12,
     {1, 1, 5, 2, 3, 7, 3, 4, 1, 1, 3, 2}},
    {KILN_INT32,
     "pad(reshape(x, (2, 3)), (1,0,0,1), mode=mean)",
     12,
     {4, 4, 3, 4, 1, 5, 2, 3, 7, 3, 4, 5}},
    {KILN_INT32, "pad(reshape(x, (2, 3)), (0,0,1,0), mode=median)", 8, {2, 1, 5, 2, 4, 7, 3, 4}},
    {KILN_INT32,
     "pad(reshape(x, (2, 3)), (0,0,1,1), mode=mean, stat_length=2)",
     10,
     {3, 1, 5, 2, 4, 5, 7, 3, 4, 4}},
    {KILN_INT32,
     "pad(reshape(x, (2, 3)), (0,0,2,1), mode=linear_ramp, end_values=-3)",
     12,
     {-3, -1, 1, 5, 2, -3, -3, 2, 7, 3, 4, -3}},
    {KILN_INT32,
     "pad(reshape(x, (2, 3)), (2,0,0,0), mode=linear_ramp)",
     12,
     {0, 0, 0, 0, 2, 1, 1, 5, 2, 7, 3, 4}},
};

static void test_written__pads_by_elements(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {1, 5, 2, 7, 3, 4}, .sizes = {6, 1}};
    kiln_array *x = NULL, *z = NULL;

    for (size_t k = 0; k < COUNT(pads); k++) {
        load(t, &in, pads[k].dtype);
        expect(t, &in, pads[k].text, pads[k].want, pads[k].count);
        unload(&in);
    }
    /* Widths for all axes: in C the array tells how many there are. */
    load(t, &in, KILN_INT32);
    const int64_t rows[] = {2, 3}, numbers[] = {KILN_PAD_MAXIMUM, 0, 1};
    OK(t, kiln_array_reshape(in.arrays[0], 2, rows, &x, &t->err));
    const kiln_arg one[] = {kiln_arg_array(x)};
    OK(t, kiln_array_rearrange(KILN_REARRANGE_PAD, one, 1, numbers, 3, &z, &t->err));
    static const int32_t want[] = {1, 5, 2, 5, 7, 3, 4, 7, 7, 5, 4, 7};
    int32_t got[12];
    assert_int_equal(kiln_array_dtype(z), KILN_INT32);
    assert_int_equal(kiln_array_size(z), 12);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, want, sizeof want);
    kiln_array_release(x);
    kiln_array_release(z);
    unload(&in);
}

/* Elements that drawn indices name, of a vector: nothing but the draw gives the kernel of the sum its shape. */
static void test_written__means_of_drawn_elements(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {4, 4, 4}, .sizes = {3, 1}};
    const double four[] = {4, 4, 4, 4, 4};

    load(t, &in, KILN_FLOAT64);
    expect(t, &in, "mean(x[integers(7, (5, 20), 0, 3)], axis=1)", four, 5);
    unload(&in);
}

/* Arrays of several MiB are read once and stored where they are repeated. */
static void test_written__tiles_of_large_arrays(void **state)
{
    enum { ROWS = 1031, COLUMNS = 1024 };
    static const char *const names[] = {"x"};
    test_env *t = *state;
    const int64_t shape[] = {ROWS, COLUMNS};
    float *const x = malloc(sizeof *x * ROWS * COLUMNS), *const z =
                                                             malloc(6 * sizeof *z * ROWS * COLUMNS);
    kiln_array *array = NULL, *tiled = NULL;
    kiln_graph *g = NULL;
    char *said = NULL;

    for (int k = 0; k < ROWS * COLUMNS; k++)
        x[k] = (float)k;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, x, NULL, &array, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "tile(x + 1, (3, 2))", names, 1, NULL, &g, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(&tiled)};
    OK(t, kiln_graph_run(g, args, 2, NULL, &t->err));
    OK(t, kiln_graph_explain(g, args, 2, &said, &t->err));
    assert_non_null(strstr(said, "6 results of one shape"));
    OK(t, kiln_array_to_host(tiled, z, 6 * sizeof *z * ROWS * COLUMNS, NULL, &t->err));
    for (int r = 0; r < 3 * ROWS; r++)
        for (int c = 0; c < 2 * COLUMNS; c++)
            if (z[r * 2 * COLUMNS + c] != x[r % ROWS * COLUMNS + c % COLUMNS] + 1)
                fail_msg("element (%d, %d) is %g", r, c, (double)z[r * 2 * COLUMNS + c]);
    kiln_free(said);
    kiln_graph_destroy(g);
    kiln_array_release(tiled);
    kiln_array_release(array);
    free(x);
    free(z);
}

/* ---- random numbers ------------------------------------------------------------------------------------ */

static void test_written__choices(void **state)
{
    test_env *t = *state;
    inputs in = {.x = {0}, .y = {0}, .sizes = {1, 1}};
    bool seen[10] = {false};
    int64_t count;

    load(t, &in, KILN_FLOAT64);
    double *got = evaluate(t, &in, "choice(5, 10, 7, replace=False)", &count);
    assert_int_equal(count, 7);
    for (int k = 0; k < 7; k++) {
        assert_true(got[k] >= 0 && got[k] < 10 && !seen[(int)got[k]]);
        seen[(int)got[k]] = true;
    }
    free(got);
    got = evaluate(t, &in, "choice(5, 3, 3, replace=0)", &count);
    assert_int_equal(count, 3);
    assert_true(got[0] + got[1] + got[2] == 3 && got[0] != got[1] && got[0] != got[2]);
    free(got);
    got = evaluate(t, &in, "choice(5, 10, (20, 10))", &count);
    assert_int_equal(count, 200);
    int often[10] = {0};
    for (int k = 0; k < 200; k++) {
        assert_true(got[k] >= 0 && got[k] < 10);
        often[(int)got[k]]++;
    }
    for (int k = 0; k < 10; k++) /* 20 are expected; the deviation is 4.2 */
        assert_true(often[k] >= 3 && often[k] <= 40);
    free(got);
    unload(&in);
}

/* Mean and covariance of 20000 vectors. */
static void test_written__multivariate_normal(void **state)
{
    enum { COUNT_OF = 20000 };
    test_env *t = *state;
    static const double cov[2][2] = {{4, 1.5}, {1.5, 2}}, mean[2] = {10, -3};
    inputs in = {.x = {mean[0], mean[1]}, .y = {4, 1.5, 1.5, 2}, .sizes = {2, 4}};
    double sum[2] = {0}, squares[2][2] = {{0}};
    int64_t count;

    load(t, &in, KILN_FLOAT64);
    double *const got =
        evaluate(t, &in, "multivariate_normal(9, x, reshape(y, (2, 2)), 20000)", &count);
    assert_int_equal(count, 2 * COUNT_OF);
    for (int k = 0; k < COUNT_OF; k++)
        for (int a = 0; a < 2; a++) {
            sum[a] += got[2 * k + a];
            for (int b = 0; b < 2; b++)
                squares[a][b] += (got[2 * k + a] - mean[a]) * (got[2 * k + b] - mean[b]);
        }
    for (int a = 0; a < 2; a++) {
        assert_true(fabs(sum[a] / COUNT_OF - mean[a]) < 6 * sqrt(cov[a][a] / COUNT_OF));
        for (int b = 0; b < 2;
             b++) /* the deviation of a covariance is at most sqrt(2) cov / sqrt(n) */
            assert_true(fabs(squares[a][b] / COUNT_OF - cov[a][b]) < 6 * 5.7 / sqrt(COUNT_OF));
    }
    free(got);
    unload(&in);
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static void test_written__mistakes(void **state)
{
    test_env *t = *state;
    static const char *const names[] = {"x", "y"};
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } cases[] = {
        {"1 + isin(x)", KILN_ERR_ARGUMENT_COUNT,
         "column 5: isin takes other arguments: isin(x, test, invert=False)"},
        {"unique(x, y)", KILN_ERR_ARGUMENT, "return_index is True or False"},
        {"ptp(x, dtype=float32)", KILN_ERR_ARGUMENT_COUNT, "ptp(x, axis=None, keepdims"},
        {"x + unique((1, 2))", KILN_ERR_ARGUMENT,
         "column 5: unique: an array or a number is needed here, and this is a tuple"},
        {"searchsorted(x, y, side='middle')", KILN_ERR_ARGUMENT_COUNT,
         "side=left), searchsorted(sorted, values, side=right)"},
        {"unique(x, counts=True)", KILN_ERR_NAME, "`counts` here: unique(x)"},
        {"choice(1, 5, 2, p=x, q=y)", KILN_ERR_NAME,
         "there is no argument `q` here: choice(key, n, size"},
        {"choice(1, 5, 2, replace=x)", KILN_ERR_ARGUMENT_COUNT, "replace=True"},
        {"digitize(x, y, right=y)", KILN_ERR_ARGUMENT_COUNT, "right=False"},
        {"sum(x, mode=clip)", KILN_ERR_NAME, "sum takes no mode"},
        {"cumsum(x, reverse=True)", KILN_ERR_NAME, "`reverse` here; axis may be given by name"},
        {"sum(x, reverse=True)", KILN_ERR_NAME, "no argument `reverse` here: sum(x, axis=None"},
        {"qr(x, mode='r')", KILN_ERR_NAME, "qr takes no mode"},
        {"_first(x)", KILN_ERR_NAME, "no function `_first`"},
        {"_is_among(x, y)", KILN_ERR_NAME, "no function `_is_among`"},
        {"sort(x, side='left')", KILN_ERR_NAME, "no argument `side`"},
        {"s = 1; unique(x) + s + i", KILN_ERR_NAME, "`i` is not defined"},
        {"x + choice(1, 3, 4, replace=False)", KILN_ERR_ARGUMENT,
         "column 5: choice: n without replacement must be at least 4, and is 3"},
        {"histogram(x, 0)", KILN_ERR_ARGUMENT,
         "histogram: the number of bins must be at least 1, and is 0"},
        {"arange(0, 1, 0.0)", KILN_ERR_ARGUMENT, "column 14: the step of arange is 0"},
        {"arange(0, y)", KILN_ERR_ARGUMENT, "a number is needed here whose value the text tells"},
        {"linspace(0, 1, -1)", KILN_ERR_ARGUMENT, "linspace: num must be at least 0, and is -1"},
        {"norm(x, 'max')", KILN_ERR_NAME, "there is no norm of this name"},
        {"sort(x, less=y)", KILN_ERR_ARGUMENT, "a text in quotes is needed here"},
        {"sort(x, keys=y)", KILN_ERR_NAME,
         "`keys` here: sort(x, axis=-1, descending=False), sort(x, axis=-1, descending=False, "
         "key)"},
        {"sort_by('T x', x)", KILN_ERR_ARGUMENT, "is given either less="},
    };
    kiln_graph *g = NULL;

    for (size_t k = 0; k < COUNT(cases); k++)
        FAILS(t, cases[k].status,
              kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err),
              cases[k].says);
}

/* A mistake that a call shows is told for the place of the function's name. */
static void test_written__mistakes_of_calls(void **state)
{
    test_env *t = *state;
    static const char *const names[] = {"x"};
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } cases[] = {
        {"x * 2 + cross(x, x)", KILN_ERR_SHAPE, "column 9"},
        {"x + cond(x)", KILN_ERR_SHAPE, "column 5: cond takes matrices"},
        {"average(reshape(x, (2, 2)), axis=1, weights=x[:2])", KILN_ERR_AXIS, "axis 1"},
    };
    const int64_t shape[] = {4};
    kiln_array *x = NULL, *z = NULL;
    kiln_graph *g = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, shape, &x, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 1, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
        FAILS(t, cases[k].status, kiln_graph_run(g, args, 2, NULL, &t->err), cases[k].says);
        assert_null(z);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_written__sets),
        TEST(test_written__sets_in_expressions),
        TEST(test_written__equal_operations_are_one),
        TEST(test_written__places_in_sorted_vectors),
        TEST(test_written__histograms),
        TEST(test_written__sliding_sums),
        TEST(test_written__sliding_sums_of_arrays),
        TEST(test_written__of_rows),
        TEST(test_written__grids),
        TEST(test_written__pads_by_elements),
        TEST(test_written__means_of_drawn_elements),
        TEST(test_written__tiles_of_large_arrays),
        TEST(test_written__average_along_an_axis),
        TEST(test_written__choices),
        TEST(test_written__multivariate_normal),
        TEST(test_written__mistakes),
        TEST(test_written__mistakes_of_calls),
    };
    return test_env_main(argc, argv, "test_written", tests, COUNT(tests));
}
