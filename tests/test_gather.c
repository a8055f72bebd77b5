/*
 * test_gather.c - x[i], take() and take_along_axis(), against plain loops.
 *
 * The oracle finds the element of the array for each index of the result, by NumPy's rules for
 * advanced indexing: which axes of the result the index arrays broadcast to, and what each subscript
 * says of its own axis.
 */
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "device/device.h"
#include "test_env.h"

enum { RANK_MAX = 4, ITEMS_MAX = 8, OUT_MAX = 12, ROUNDS = 14 };

static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_INT16, KILN_COMPLEX128, KILN_BOOL};
static const kiln_dtype index_dtypes[] = {KILN_INT32, KILN_UINT8,  KILN_INT64,
                                          KILN_INT8,  KILN_UINT16, KILN_UINT64};

/* An index array, and its values in C-order. */
typedef struct indices {
    kiln_array *array;
    int rank;
    int64_t shape[RANK_MAX];
    int64_t *values;
} indices;

typedef struct item {
    kiln_subscript_kind kind;
    int64_t start, step, count; /* index; or a slice of so many */
    indices *of;
    int axis; /* of the array; -1: a new one */
} item;

/* One case: an array, and subscripts with their meaning. */
typedef struct example {
    kiln_dtype dtype;
    int rank, item_count;
    int64_t shape[RANK_MAX];
    kiln_array *array;
    unsigned char *data;
    item items[ITEMS_MAX];
    indices index[RANK_MAX];
    int index_count;
} example;

static int64_t size_of(int rank, const int64_t *shape)
{
    int64_t size = 1;
    for (int a = 0; a < rank; a++)
        size *= shape[a];
    return size;
}

static void split_index(int rank, const int64_t *shape, int64_t flat, int64_t *index)
{
    for (int a = rank; a-- > 0;) {
        index[a] = flat % shape[a];
        flat /= shape[a];
    }
}

static kiln_array *array_of(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                            const void *data)
{
    kiln_array *made = NULL, *turned = NULL, *dense = NULL;

    OK(t, kiln_array_from_host(t->ctx, dtype, rank, shape, data, NULL, &made, &t->err));
    if (rank == 0 || test_random_below(t, 2) == 0)
        return made;
    /* The same elements, walked in another order. */
    OK(t, kiln_array_transpose(made, NULL, &turned, &t->err));
    OK(t, kiln_array_contiguous(turned, &dense, &t->err));
    kiln_array_release(made);
    kiln_array_release(turned);
    OK(t, kiln_array_transpose(dense, NULL, &made, &t->err));
    kiln_array_release(dense);
    return made;
}

/* ---- index arrays ---- */

static void store_index(kiln_dtype dtype, void *data, int64_t k, int64_t value)
{
    switch (kiln_dtype_size(dtype)) {
    case 1:
        ((int8_t *)data)[k] = (int8_t)value;
        break;
    case 2:
        ((int16_t *)data)[k] = (int16_t)value;
        break;
    case 4:
        ((int32_t *)data)[k] = (int32_t)value;
        break;
    default:
        ((int64_t *)data)[k] = value;
    }
}

/* Indices between `least` and `most`; of an unsigned dtype none is negative. */
static void indices_make(test_env *t, indices *i, kiln_dtype dtype, int rank, const int64_t *shape,
                         int64_t least, int64_t most)
{
    const int64_t size = size_of(rank, shape);
    void *data = calloc((size_t)size + 1, 8);

    if (kiln_dtype_kind(dtype) == 'u' && least < 0)
        least = 0;
    i->rank = rank;
    memcpy(i->shape, shape, (size_t)rank * sizeof *shape);
    i->values = calloc((size_t)size + 1, sizeof *i->values);
    for (int64_t k = 0; k < size; k++) {
        i->values[k] = least + (int64_t)test_random_below(t, (uint64_t)(most - least + 1));
        store_index(dtype, data, k, i->values[k]);
    }
    i->array = array_of(t, dtype, rank, shape, data);
    free(data);
}

static void indices_free(indices *i)
{
    kiln_array_release(i->array);
    free(i->values);
}

/* The index at a place of what index arrays broadcast to. */
static int64_t index_at(const indices *i, int rank, const int64_t *at)
{
    int64_t flat = 0;
    for (int a = 0; a < i->rank; a++)
        flat = flat * i->shape[a] + (i->shape[a] == 1 ? 0 : at[a + rank - i->rank]);
    return i->values[flat];
}

/* ---- random subscripts ---- */

static void add_slice(test_env *t, item *s, int64_t extent)
{
    s->kind = KILN_SUBSCRIPT_SLICE;
    s->step = 1 + (int64_t)test_random_below(t, 2);
    s->start = (int64_t)test_random_below(t, (uint64_t)extent);
    if (test_random_below(t, 3) == 0) {
        s->step = -s->step;
        s->count = s->start / -s->step + 1;
    } else {
        s->count = (extent - s->start + s->step - 1) / s->step;
    }
}

static void add_array(test_env *t, example *e, item *s, int64_t extent, int rank,
                      const int64_t *shape)
{
    int64_t own[RANK_MAX];
    const int drop = rank > 0 && test_random_below(t, 4) == 0;
    const kiln_dtype dtype = index_dtypes[test_random_below(t, COUNT(index_dtypes))];

    for (int a = drop; a < rank; a++)
        own[a - drop] = test_random_below(t, 6) == 0 ? 1 : shape[a];
    s->kind = KILN_SUBSCRIPT_ARRAY;
    s->of = &e->index[e->index_count++];
    indices_make(t, s->of, dtype, rank - drop, own, -extent, extent - 1);
}

static void example_make(test_env *t, example *e)
{
    int64_t common[2];
    const int common_rank = (int)test_random_below(t, 3);

    memset(e, 0, sizeof *e);
    e->dtype = dtypes[test_random_below(t, COUNT(dtypes))];
    e->rank = 1 + (int)test_random_below(t, RANK_MAX - 1);
    for (int a = 0; a < 2; a++)
        common[a] = 1 + (int64_t)test_random_below(t, 6);
    for (int a = 0; a < e->rank; a++)
        e->shape[a] = 1 + (int64_t)test_random_below(t, 7);
    const size_t bytes = (size_t)size_of(e->rank, e->shape) * kiln_dtype_size(e->dtype);
    e->data = malloc(bytes);
    for (size_t k = 0; k < bytes; k++)
        e->data[k] =
            (unsigned char)(e->dtype == KILN_BOOL ? test_random(t) & 1 : test_random(t) % 100);
    e->array = array_of(t, e->dtype, e->rank, e->shape, e->data);
    const int rest = (int)test_random_below(t, (uint64_t)e->rank + 2); /* where `...` stands */
    const int left_out = rest < e->rank ? (int)test_random_below(t, 2) : 0;
    for (int a = 0; a <= e->rank; a++) {
        if (a == rest)
            e->items[e->item_count++] = (item){.kind = KILN_SUBSCRIPT_ELLIPSIS, .axis = -1};
        if (a == rest && left_out)
            continue;
        if (a == e->rank)
            break;
        if (test_random_below(t, 8) == 0 && e->item_count < ITEMS_MAX - 4)
            e->items[e->item_count++] = (item){.kind = KILN_SUBSCRIPT_NEW_AXIS, .axis = -1};
        item *s = &e->items[e->item_count++];
        s->axis = a;
        const uint64_t kind = test_random_below(t, 5);
        if (kind < 3)
            add_array(t, e, s, e->shape[a], common_rank, common);
        else if (kind == 3)
            add_slice(t, s, e->shape[a]);
        else
            *s = (item){.kind = KILN_SUBSCRIPT_INDEX,
                        .start =
                            -e->shape[a] + (int64_t)test_random_below(t, 2 * (uint64_t)e->shape[a]),
                        .axis = a};
    }
}

static void example_free(example *e)
{
    kiln_array_release(e->array);
    free(e->data);
    for (int k = 0; k < e->index_count; k++)
        indices_free(&e->index[k]);
}

/* ---- the oracle ---- */

/* Items with the axes that `...` stands for, and the result that follows. */
typedef struct meaning {
    item items[ITEMS_MAX + RANK_MAX];
    int count, rank;
    int64_t shape[OUT_MAX];
    int from[ITEMS_MAX + RANK_MAX]; /* axis of the result that an item's own axis is; -1 */
    int place, common_rank;         /* the axes of index arrays */
    int64_t common[RANK_MAX];
} meaning;

static bool counts_as_array(const item *s, bool any)
{
    return s->kind == KILN_SUBSCRIPT_ARRAY || (any && s->kind == KILN_SUBSCRIPT_INDEX);
}

static void expand(const example *e, meaning *m)
{
    int named = 0, next = 0;
    bool rest = false;

    for (int k = 0; k < e->item_count; k++)
        named += e->items[k].axis >= 0;
    for (int k = 0; k < e->item_count || !rest; k++) {
        const bool is_rest = k >= e->item_count || e->items[k].kind == KILN_SUBSCRIPT_ELLIPSIS;
        for (int a = named; is_rest && a < e->rank; a++, next++)
            m->items[m->count++] = (item){KILN_SUBSCRIPT_SLICE, 0, 1, e->shape[next], NULL, next};
        if (is_rest && named == e->rank && k < e->item_count) /* an empty one still separates */
            m->items[m->count++] = (item){.kind = KILN_SUBSCRIPT_ELLIPSIS, .axis = -1};
        rest = rest || is_rest;
        if (k >= e->item_count)
            break;
        if (is_rest)
            continue;
        m->items[m->count] = e->items[k];
        if (e->items[k].axis >= 0)
            m->items[m->count].axis = next++;
        m->count++;
    }
}

static void find_meaning(const example *e, meaning *m)
{
    int first = -1, last = -1, arrays = 0;

    memset(m, 0, sizeof *m);
    expand(e, m);
    const bool any = e->index_count > 0;
    for (int k = 0; k < m->count; k++) {
        const item *s = &m->items[k];
        if (!counts_as_array(s, any))
            continue;
        first = first < 0 ? k : first;
        last = k;
        arrays++;
        for (int a = 0; s->of != NULL && a < s->of->rank; a++) {
            const int at = RANK_MAX - s->of->rank + a;
            if (m->common[at] == 0 || m->common[at] == 1)
                m->common[at] = s->of->shape[a];
        }
        if (s->of != NULL && s->of->rank > m->common_rank)
            m->common_rank = s->of->rank;
    }
    memmove(m->common, m->common + RANK_MAX - m->common_rank,
            (size_t)m->common_rank * sizeof m->common[0]);
    const bool apart = any && last - first + 1 != arrays;
    for (int k = 0; k <= m->count; k++) {
        if (any && k == (apart ? 0 : first)) {
            m->place = m->rank;
            for (int a = 0; a < m->common_rank; a++)
                m->shape[m->rank++] = m->common[a];
        }
        if (k == m->count)
            break;
        const item *s = &m->items[k];
        m->from[k] = -1;
        if (s->kind == KILN_SUBSCRIPT_SLICE || s->kind == KILN_SUBSCRIPT_NEW_AXIS) {
            m->from[k] = m->rank;
            m->shape[m->rank++] = s->kind == KILN_SUBSCRIPT_SLICE ? s->count : 1;
        }
    }
}

/* Where the element at `index` of the result is in the array. */
static int64_t source_of(const example *e, const meaning *m, const int64_t *index)
{
    int64_t at[RANK_MAX] = {0}, flat = 0;

    for (int k = 0; k < m->count; k++) {
        const item *s = &m->items[k];
        if (s->axis < 0)
            continue;
        int64_t i = s->start;
        if (s->kind == KILN_SUBSCRIPT_SLICE)
            i += s->step * index[m->from[k]];
        else if (s->kind == KILN_SUBSCRIPT_ARRAY)
            i = index_at(s->of, m->common_rank, index + m->place);
        at[s->axis] = i < 0 ? i + e->shape[s->axis] : i;
    }
    for (int a = 0; a < e->rank; a++)
        flat = flat * e->shape[a] + at[a];
    return flat;
}

static void compare(test_env *t, const example *e, const meaning *m, kiln_array *got)
{
    const size_t itemsize = kiln_dtype_size(e->dtype);
    const int64_t size = size_of(m->rank, m->shape);
    unsigned char *data = malloc((size_t)size * itemsize + 1);
    int64_t index[OUT_MAX];

    assert_int_equal(kiln_array_dtype(got), e->dtype);
    assert_int_equal(kiln_array_rank(got), m->rank);
    for (int a = 0; a < m->rank; a++)
        CHECK(kiln_array_shape(got)[a] == m->shape[a], "axis %d has %d elements, not %d", a,
              (int)kiln_array_shape(got)[a], (int)m->shape[a]);
    OK(t, kiln_array_to_host(got, data, (size_t)size * itemsize, NULL, &t->err));
    for (int64_t k = 0; k < size; k++) {
        split_index(m->rank, m->shape, k, index);
        CHECK(memcmp(data + (size_t)k * itemsize,
                     e->data + (size_t)source_of(e, m, index) * itemsize, itemsize) == 0,
              "element %d differs", (int)k);
    }
    free(data);
}

static void to_subscripts(const example *e, kiln_subscript *list)
{
    for (int k = 0; k < e->item_count; k++) {
        const item *s = &e->items[k];
        const int64_t stop = s->start + s->count * s->step;
        list[k] = s->kind == KILN_SUBSCRIPT_ARRAY ? kiln_subscript_array(s->of->array)
                  : s->kind == KILN_SUBSCRIPT_SLICE
                      ? kiln_subscript_slice(s->start, stop < 0 ? KILN_SLICE_OPEN : stop, s->step)
                  : s->kind == KILN_SUBSCRIPT_NEW_AXIS ? kiln_subscript_new_axis()
                  : s->kind == KILN_SUBSCRIPT_ELLIPSIS ? kiln_subscript_ellipsis()
                                                       : kiln_subscript_index(s->start);
    }
}

static void test_gather__any_subscripts_are_numpys(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < ROUNDS; round++) {
        kiln_subscript list[ITEMS_MAX];
        kiln_array *got = NULL;
        example e;
        meaning m;
        example_make(t, &e);
        find_meaning(&e, &m);
        to_subscripts(&e, list);
        OK(t, kiln_array_index(e.array, list, (size_t)e.item_count, NULL, &got, &t->err));
        compare(t, &e, &m, got);
        kiln_array_release(got);
        example_free(&e);
    }
}

/* ---- take and take_along_axis ---- */

static int64_t in_range(int64_t i, int64_t n, kiln_index_mode mode)
{
    if (mode == KILN_INDEX_CLIP)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (mode == KILN_INDEX_WRAP)
        return (i % n + n) % n;
    return i < 0 ? i + n : i;
}

static void test_gather__take_is_numpys(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < 9; round++) {
        const int64_t shape[] = {3, 1 + (int64_t)test_random_below(t, 9), 4};
        const int64_t some[] = {2, 5};
        const kiln_index_mode mode = (kiln_index_mode)(round % 3);
        const int axis = (int)test_random_below(t, 4);
        const int64_t n = axis < 3 ? shape[axis] : size_of(3, shape);
        const int64_t far = mode == KILN_INDEX_CHECK ? 0 : 20;
        const kiln_dtype dtype = index_dtypes[test_random_below(t, COUNT(index_dtypes))];
        kiln_index_options opts = KILN_INDEX_OPTIONS_INIT;
        kiln_array *x = NULL, *z = NULL;
        float data[3 * 9 * 4], got[3 * 9 * 4 * 10];
        indices i;
        for (int k = 0; k < (int)COUNT(data); k++)
            data[k] = (float)k;
        opts.mode = mode;
        x = array_of(t, KILN_FLOAT32, 3, shape, data);
        indices_make(t, &i, dtype, 2, some, -n - far, n - 1 + far);
        OK(t,
           kiln_array_take(x, i.array, axis < 3 ? axis - 3 : KILN_AXIS_FLAT, &opts, &z, &t->err));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        const int64_t inner = axis < 3 ? size_of(2 - axis, shape + axis + 1) : 1;
        const int64_t outer = axis < 3 ? size_of(axis, shape) : 1;
        assert_int_equal(kiln_array_size(z), outer * 10 * inner);
        for (int64_t k = 0; k < outer * 10 * inner; k++) {
            const int64_t from = in_range(i.values[k / inner % 10], n, mode);
            const int64_t at = (k / (10 * inner) * n + from) * inner + k % inner;
            CHECK(got[k] == data[at], "element %d is %g, not %g", (int)k, got[k], data[at]);
        }
        kiln_array_release(x);
        kiln_array_release(z);
        indices_free(&i);
    }
}

static void test_gather__take_along_an_axis(void **state)
{
    test_env *t = *state;
    static const int64_t cases[][2][3] = {
        {{3, 5, 4}, {3, 2, 4}}, {{1, 5, 4}, {3, 7, 1}}, {{3, 5, 1}, {1, 1, 6}}};

    for (size_t c = 0; c < COUNT(cases); c++) {
        const int64_t *shape = cases[c][0], *own = cases[c][1];
        int64_t out[3], index[3];
        kiln_array *x = NULL, *z = NULL;
        float data[60], got[3 * 7 * 6];
        indices i;
        for (int k = 0; k < 60; k++)
            data[k] = (float)k * 0.5f;
        x = array_of(t, KILN_FLOAT32, 3, shape, data);
        indices_make(t, &i, KILN_INT16, 3, own, -5, 4);
        OK(t, kiln_array_take_along_axis(x, i.array, 1, NULL, &z, &t->err));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int a = 0; a < 3; a++) {
            out[a] = a == 1 || shape[a] == 1 ? own[a] : shape[a];
            assert_int_equal(kiln_array_shape(z)[a], out[a]);
        }
        for (int64_t k = 0; k < size_of(3, out); k++) {
            split_index(3, out, k, index);
            const int64_t from = in_range(index_at(&i, 3, index), 5, KILN_INDEX_CHECK);
            const int64_t row = shape[0] == 1 ? 0 : index[0], column = shape[2] == 1 ? 0 : index[2];
            assert_true(got[k] == data[(row * 5 + from) * shape[2] + column]);
        }
        kiln_array_release(x);
        kiln_array_release(z);
        indices_free(&i);
    }
}

/* A graph made by hand: x[i] of what is recorded. */
static void test_gather__nodes_are_subscripts(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4, 3}, two = 2;
    static const int32_t i[] = {2, -4};
    kiln_array *x = test_ramp(t, 2, shape), *ia = NULL, *z = NULL;
    kiln_graph *g = NULL;
    int32_t got[4];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &two, i, NULL, &ia, &t->err));
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node table = kiln_graph_input(g, "x");
    const kiln_subscript at[] = {kiln_subscript_node(kiln_graph_input(g, "i")),
                                 kiln_subscript_slice(1, KILN_SLICE_OPEN, 1)};
    kiln_graph_output(g, "z", kiln_node_index(table, at, 2, KILN_INDEX_CHECK, KILN_HERE));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(ia), kiln_arg_out(&z)};
    OK(t, kiln_graph_run(g, args, 3, NULL, &t->err));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((const int32_t[]){7, 8, 1, 2}), sizeof got);
    kiln_graph_destroy(g);
    kiln_array_release(z);
    kiln_array_release(x);
    kiln_array_release(ia);
}

/* ---- in expressions ---- */

typedef struct shown {
    const char *text;
    size_t kernels;
    const char *want; /* as NumPy 2 prints it for x = np.arange(12, dtype='f4').reshape(4, 3), i =
                         np.array([3, 0, -1, 1], 'i4'), j = np.array([2, 0, 1, 1], 'u1') */
} shown;

static const shown list[] = {
    {"x[i]", 1, "[[ 9. 10. 11.]\n [ 0.  1.  2.]\n [ 9. 10. 11.]\n [ 3.  4.  5.]]"},
    {"x[i, j] + 1", 1, "[12.  1. 11.  5.]"},
    {"sum(x[i] * x, axis=1)", 1, "[ 32.  14. 212. 122.]"},
    {"sum(x[i, j])", 1, "25.0"},
    {"(x * 2)[i, 0]", 2, "[18.  0. 18.  6.]"},
    {"x.sum(axis=1)[i]", 2, "[30.  3. 30. 12.]"},
    {"x[i][:, 1] - x[:, 1][i]", 1, "[0. 0. 0. 0.]"},
    {"x[:2, j[None]]", 1, "[[[2. 0. 1. 1.]]\n\n [[5. 3. 4. 4.]]]"},
    {"x[i - 1, ..., j].T", 1, "[8. 9. 7. 1.]"},
    {"take(x, j, axis=-1)[1]", 1, "[5. 3. 4. 4.]"},
    {"take(x, i * 5, mode=wrap)", 1, "[3. 0. 7. 5.]"},
    {"take(x, i * 5, mode=clip)", 1, "[11.  0.  0.  5.]"},
    {"take_along_axis(x, argsort_like, 1)", 1, "[[2. 0.]\n [3. 3.]\n [7. 8.]\n [9. 9.]]"},
    {"arange(10)[i]", 2, "[3 0 9 1]"},
    {"x[[2, 0]]", 1, "[[6. 7. 8.]\n [0. 1. 2.]]"},
    {"x[[2, 0], [1, -1]]", 1, "[7. 2.]"},
    {"x[:, [1]][:2] + 1", 1, "[[2.]\n [5.]]"},
    {"take(x, [5, 0])", 1, "[5. 0.]"},
    {"x[i].mean(axis=0)", 1, "[5.25 6.25 7.25]"},
    {"exp(x[i] - x[i])[0]", 1, "[1. 1. 1.]"},
};

static void test_gather__expressions_are_numpys(void **state)
{
    static const char *const names[] = {"x", "i", "j", "argsort_like"};
    test_env *t = *state;
    const int64_t shape[] = {4, 3}, four = 4, pairs[] = {4, 2};
    const int32_t i[] = {3, 0, -1, 1};
    const uint8_t j[] = {2, 0, 1, 1};
    const int64_t along[] = {2, 0, 0, -3, 1, 2, 0, 0};
    float ramp[12];
    kiln_array *arrays[4] = {NULL};

    for (int k = 0; k < 12; k++)
        ramp[k] = (float)k;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, ramp, NULL, &arrays[0], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &four, i, NULL, &arrays[1], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &four, j, NULL, &arrays[2], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 2, pairs, along, NULL, &arrays[3], &t->err));
    for (size_t k = 0; k < COUNT(list); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        char *text = NULL;
        size_t kernels = 0;
        OK(t, kiln_graph_parse(t->ctx, list[k].text, names, 4, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(arrays[0]), kiln_arg_array(arrays[1]),
                                 kiln_arg_array(arrays[2]), kiln_arg_array(arrays[3]),
                                 kiln_arg_out(&z)};
        OK(t, kiln_graph_kernel_count(g, args, 5, &kernels, &t->err));
        OK(t, kiln_graph_run(g, args, 5, NULL, &t->err));
        OK(t, kiln_array_to_string(z, &text, &t->err));
        CHECK(strcmp(text, list[k].want) == 0, "%s: got\n%s\nnot\n%s", list[k].text, text,
              list[k].want);
        CHECK(kernels == list[k].kernels, "%s: %d kernels", list[k].text, (int)kernels);
        kiln_free(text);
        kiln_array_release(z);
        kiln_graph_destroy(g);
    }
    for (int k = 0; k < 4; k++)
        kiln_array_release(arrays[k]);
}

/* ---- what is refused ---- */

static void test_gather__an_index_out_of_range_is_told(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4, 3}, four = 4;
    const int32_t i[] = {3, 0, 9, 1};
    const uint64_t huge[] = {0, 1, UINT64_MAX, 2};
    kiln_array *x = test_ramp(t, 2, shape), *line = test_ramp(t, 1, &four), *bad = NULL, *z = NULL;
    int32_t got[12];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &four, i, NULL, &bad, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_array_take(line, bad, 0, NULL, &z, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "index 9", "`indices`",
          "axis 0", "`x`", "4 elements", "element 2");
    OK(t, kiln_context_synchronize(t->ctx, &t->err)); /* told once */
    kiln_array_release(z);
    z = NULL;
    OK(t, kiln_array_take(x, bad, 0, NULL, &z, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_array_to_host(z, got, sizeof got, NULL, &t->err), "index 9");
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 12; k++)
        assert_int_equal(got[k], k / 3 == 2 ? 0 : i[k / 3] * 3 + k % 3);
    kiln_array_release(z);
    kiln_array_release(bad);
    z = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT64, 1, &four, huge, NULL, &bad, &t->err));
    OK(t, kiln_array_take(x, bad, 1, NULL, &z, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "18446744073709551615",
          "axis 1", "3 elements");
    kiln_array_release(z);
    z = NULL;
    const kiln_subscript beside[] = {kiln_subscript_index(0), kiln_subscript_array(bad)};
    OK(t, kiln_array_index(x, beside, 2, NULL, &z, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "`indices`", "axis 1");
    kiln_array_release(z);
    kiln_array_release(bad);
    kiln_array_release(line);
    kiln_array_release(x);
}

/* All streams share the report, so one that a kernel of another stream still writes is left alone. */
static void test_gather__a_report_is_told_once_it_is_whole(void **state)
{
    enum { CLAIMED = 1, WHOLE = 2, VALUE = 1, EXTENT = 3, ELEMENT = 5, NAMES = 6, NAME_WORDS = 10 };
    test_env *t = *state;
    int64_t *words = NULL;

    OK(t, kiln__device_report(kiln__context_device(t->ctx), &words, &t->err));
    words[0] = CLAIMED;
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    assert_int_equal(words[0], CLAIMED);
    words[VALUE] = 71;
    words[EXTENT] = 5;
    words[ELEMENT] = -1;
    memcpy(&words[NAMES], "values", 6);
    memcpy(&words[NAMES + NAME_WORDS], "places", 6);
    words[0] = WHOLE;
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "index 71", "places",
          "values", "5 elements");
    for (int k = 0; k < KILN__REPORT_WORDS; k++)
        assert_int_equal(words[k], 0);
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
}

static void test_gather__mistakes_are_refused(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4, 3}, four = 4, three = 3, empty[] = {0, 3};
    kiln_array *x = test_ramp(t, 2, shape), *i = test_ramp(t, 1, &four),
               *j = test_ramp(t, 1, &three);
    kiln_array *f = NULL, *none = NULL, *z = NULL;
    kiln_index_options opts = KILN_INDEX_OPTIONS_INIT;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, &four, &f, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, empty, &none, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_take(x, f, 0, NULL, &z, &t->err), "float32", "integers");
    FAILS(t, KILN_ERR_AXIS, kiln_array_take(x, i, 2, NULL, &z, &t->err), "axis 2");
    assert_int_equal(kiln_array_take(x, i, 2, NULL, &z, &t->err), KILN_ERR_AXIS);
    assert_int_equal(strncmp(t->err.message, "take: axis 2 is out of range", 28), 0);
    kiln_error_clear(&t->err);
    FAILS(t, KILN_ERR_INDEX, kiln_array_take(none, i, 0, NULL, &z, &t->err), "no elements");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_take_along_axis(x, i, 0, NULL, &z, &t->err), "(4,)");
    FAILS(t, KILN_ERR_NULL, kiln_array_take(x, NULL, 0, NULL, &z, &t->err), "index array 1");
    opts.mode = (kiln_index_mode)7;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_take(x, i, 0, &opts, &z, &t->err), "mode 7");
    const kiln_subscript both[] = {kiln_subscript_array(i), kiln_subscript_array(j)};
    FAILS(t, KILN_ERR_SHAPE, kiln_array_index(x, both, 2, NULL, &z, &t->err), "(3,)", "broadcast");
    const kiln_subscript many[] = {kiln_subscript_array(i), kiln_subscript_slice(0, 1, 1),
                                   kiln_subscript_index(0)};
    FAILS(t, KILN_ERR_AXIS, kiln_array_index(x, many, 3, NULL, &z, &t->err), "axis 2");
    const kiln_subscript beyond[] = {kiln_subscript_array(i), kiln_subscript_index(3)};
    FAILS(t, KILN_ERR_AXIS, kiln_array_index(x, beyond, 2, NULL, &z, &t->err), "index 3");
    const kiln_subscript rests[] = {kiln_subscript_ellipsis(), kiln_subscript_array(i),
                                    kiln_subscript_ellipsis()};
    FAILS(t, KILN_ERR_AXIS, kiln_array_index(x, rests, 3, NULL, &z, &t->err), "one `...`");
    assert_null(z);
    kiln_array_release(x);
    kiln_array_release(i);
    kiln_array_release(j);
    kiln_array_release(f);
    kiln_array_release(none);
}

/* An array may be the output of its own elements: what is read is copied first. */
static void test_gather__the_output_may_be_the_array(void **state)
{
    test_env *t = *state;
    const int64_t many = 1000;
    int32_t turned[1000], got[1000];
    kiln_array *x = test_ramp(t, 1, &many), *i = NULL;

    for (int k = 0; k < 1000; k++)
        turned[k] = 999 - k;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &many, turned, NULL, &i, &t->err));
    OK(t, kiln_array_take(x, i, 0, NULL, &x, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, turned, sizeof got);
    kiln_array_release(x);
    kiln_array_release(i);
}

/* Rows of a matrix, which the kernel reaches from the first one, and elements along columns. */
static void test_gather__rows_may_be_taken_in_place(void **state)
{
    test_env *t = *state;
    enum { ROWS = 300, COLUMNS = 7 };
    const int64_t shape[] = {ROWS, COLUMNS}, rows[] = {ROWS};
    int32_t turned[ROWS], along[ROWS * COLUMNS], want[2][ROWS * COLUMNS], got[ROWS * COLUMNS];

    for (int k = 0; k < ROWS; k++)
        turned[k] = (k * 77 + 5) % ROWS;
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        along[k] = (k * 31 + 2) % ROWS;
        want[0][k] = turned[k / COLUMNS] * COLUMNS + k % COLUMNS;
        want[1][k] = along[k] * COLUMNS + k % COLUMNS;
    }
    for (int k = 0; k < 2; k++) {
        kiln_array *x = test_ramp(t, 2, shape), *i = NULL;
        OK(t, kiln_array_from_host(t->ctx, KILN_INT32, k == 0 ? 1 : 2, k == 0 ? rows : shape,
                                   k == 0 ? turned : along, NULL, &i, &t->err));
        OK(t, k == 0 ? kiln_array_take(x, i, 0, NULL, &x, &t->err)
                     : kiln_array_take_along_axis(x, i, 0, NULL, &x, &t->err));
        OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
        assert_memory_equal(got, want[k], sizeof got);
        kiln_array_release(x);
        kiln_array_release(i);
    }
}

/* Takes and rearrangements of one kind share a graph that the context keeps, so that a later call records nothing. */
static void test_gather__calls_of_one_kind_record_once(void **state)
{
    enum { FEW = 12 }; /* a call that records makes hundreds */
    test_env *t = *state;
    const int64_t all[] = {6}, axis = 0;
    const int16_t places[] = {5, -1, 2};
    kiln_array *x = test_ramp(t, 1, all), *i = NULL;
    int32_t got[12];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT16, 1, (int64_t[]){3}, places, NULL, &i, &t->err));
    const kiln_arg both[] = {kiln_arg_array(x), kiln_arg_array(x)};
    for (int k = 0; k < 3; k++) {
        kiln_array *y = NULL, *z = NULL;
#ifdef KILN_TEST_HOOKS
        kiln__test_alloc_fail_at(k == 0 ? SIZE_MAX : FEW);
#endif
        OK(t, kiln_array_take(x, i, 0, NULL, &y, &t->err));
        OK(t, kiln_array_rearrange(KILN_REARRANGE_CONCATENATE, both, 2, &axis, 1, &z, &t->err));
#ifdef KILN_TEST_HOOKS
        kiln__test_alloc_fail_at(SIZE_MAX);
#endif
        OK(t, kiln_array_to_host(y, got, 3 * sizeof *got, NULL, &t->err));
        assert_true(got[0] == 5 && got[1] == 5 && got[2] == 2);
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int n = 0; n < 12; n++)
            assert_int_equal(got[n], n % 6);
        kiln_array_release(y);
        kiln_array_release(z);
    }
    kiln_array_release(i);
    kiln_array_release(x);
}

/* More kinds than a context keeps graphs of; modes, axes, bounds and kinds of subscripts are told apart. */
static void test_gather__calls_of_many_kinds_are_told_apart(void **state)
{
    enum { COLUMNS = 300 };
    test_env *t = *state;
    const int64_t shape[] = {3, COLUMNS};
    const int64_t places[] = {2, 0};
    kiln_array *x = test_ramp(t, 2, shape), *i = NULL;
    int32_t got[2];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, (int64_t[]){2}, places, NULL, &i, &t->err));
    for (int round = 0; round < 2; round++) {
        for (int c = 0; c < COLUMNS; c++) {
            const kiln_subscript by_number[] = {kiln_subscript_array(i), kiln_subscript_index(c)};
            const kiln_subscript by_slice[] = {kiln_subscript_array(i),
                                               kiln_subscript_slice(c, c + 1, 1)};
            kiln_array *y = NULL;
            OK(t, kiln_array_index(x, c % 2 == 0 ? by_number : by_slice, 2, NULL, &y, &t->err));
            assert_int_equal(kiln_array_rank(y), 1 + c % 2);
            OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
            CHECK(got[0] == 2 * COLUMNS + c && got[1] == c, "column %d: %d %d", c, got[0], got[1]);
            kiln_array_release(y);
        }
    }
    kiln_array_release(i);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gather__calls_of_one_kind_record_once),
        TEST(test_gather__calls_of_many_kinds_are_told_apart),
        TEST(test_gather__any_subscripts_are_numpys),
        TEST(test_gather__take_is_numpys),
        TEST(test_gather__take_along_an_axis),
        TEST(test_gather__nodes_are_subscripts),
        TEST(test_gather__expressions_are_numpys),
        TEST(test_gather__an_index_out_of_range_is_told),
        TEST(test_gather__a_report_is_told_once_it_is_whole),
        TEST(test_gather__mistakes_are_refused),
        TEST(test_gather__the_output_may_be_the_array),
        TEST(test_gather__rows_may_be_taken_in_place),
    };
    return test_env_main(argc, argv, "test_gather", tests, COUNT(tests));
}
