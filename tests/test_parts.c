/*
 * test_parts.c - arrays that are put together out of parts: padded, rolled, concatenated, with something inserted or left
 * out, wherever their rows begin; on a GPU the parts are done by one launch.
 *
 * Plain loops say what is right. Results are stored into given arrays, of which the whole storage is compared, with what
 * lies between the rows.
 */
#define _GNU_SOURCE /* setenv */
#include <stdlib.h>
#include <string.h>

#include "codegen/parts.h"
#include "kiln/program.h"
#include "oracle/host.h"

enum { RANK_MAX = 3, CASES = 160, CONSTANT = 3, TEXT_MAX = 600 };

/* ---- what is right --------------------------------------------------------------------------- */

/* Elements in C-order. */
typedef struct whole {
    kiln_dtype dtype;
    int rank;
    int64_t shape[RANK_MAX];
    unsigned char *data; /* heap */
} whole;

static int64_t size_of(const whole *w)
{
    int64_t size = 1;

    for (int a = 0; a < w->rank; a++)
        size *= w->shape[a];
    return size;
}

static void *element(const whole *w, const int64_t *at)
{
    int64_t place = 0;

    for (int a = 0; a < w->rank; a++)
        place = place * w->shape[a] + at[a];
    return w->data + (size_t)place * kiln_dtype_size(w->dtype);
}

/* Which index of the source an index of the result has along each axis; -1: none, the constant stands there. */
typedef struct maps {
    int64_t shape[RANK_MAX];
    int64_t *index[RANK_MAX]; /* heap */
} maps;

static void begin_maps(const whole *x, maps *m)
{
    for (int a = 0; a < x->rank; a++) {
        m->shape[a] = x->shape[a];
        m->index[a] = malloc(((size_t)x->shape[a] + 64) * sizeof(int64_t));
        for (int64_t k = 0; k < x->shape[a]; k++)
            m->index[a][k] = k;
    }
}

/* Replace x by what the maps say. */
static void apply_maps(whole *x, maps *m)
{
    whole made = {.dtype = x->dtype, .rank = x->rank};
    int64_t at[RANK_MAX], from[RANK_MAX];

    memcpy(made.shape, m->shape, sizeof made.shape);
    const int64_t size = size_of(&made);
    made.data = malloc((size_t)size * kiln_dtype_size(x->dtype) + 1);
    for (int64_t k = 0; k < size; k++) {
        bool constant = false;
        host_index(made.rank, made.shape, (1u << made.rank) - 1, k, at);
        for (int a = 0; a < made.rank; a++) {
            from[a] = m->index[a][at[a]];
            constant = constant || from[a] < 0;
        }
        if (constant)
            host_store(made.dtype, element(&made, at), host_real(CONSTANT));
        else
            memcpy(element(&made, at), element(x, from), kiln_dtype_size(made.dtype));
    }
    for (int a = 0; a < x->rank; a++)
        free(m->index[a]);
    free(x->data);
    *x = made;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The index in [0, n) that a pad by `mode` has at `k`, which may lie outside of it. */
static int64_t padded(const char *mode, int64_t n, int64_t k)
{
    if (k >= 0 && k < n)
        return k;
    switch (mode[0]) {
    case 'c':
        return -1;
    case 'e':
        return k < 0 ? 0 : n - 1;
    case 'r':
        return k < 0 ? -k : 2 * n - 2 - k;
    case 's':
        return k < 0 ? -1 - k : 2 * n - 1 - k;
    default:
        return k < 0 ? k + n : k - n;
    }
}

static void pad(test_env *t, whole *x, char *text)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
    const char *const mode = modes[test_random_below(t, COUNT(modes))];
    char inner[TEXT_MAX];
    size_t used;
    maps m;

    snprintf(inner, sizeof inner, "%s", text);
    used = (size_t)snprintf(text, TEXT_MAX, "pad(%.400s, (", inner);
    begin_maps(x, &m);
    for (int a = 0; a < x->rank; a++) {
        const int64_t n = x->shape[a], most = mode[0] == 'r' ? n - 1 : n;
        const uint64_t room = (uint64_t)(most < 9 ? most + 1 : 10);
        const int64_t before = (int64_t)test_random_below(t, room), behind = (int64_t)test_random_below(t, room);
        m.shape[a] = before + n + behind;
        for (int64_t k = 0; k < m.shape[a]; k++)
            m.index[a][k] = padded(mode, n, k - before);
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%d, %d", a > 0 ? ", " : "", (int)before, (int)behind);
    }
    if (mode[0] == 'c')
        snprintf(text + used, TEXT_MAX - used, "), %d)", CONSTANT);
    else
        snprintf(text + used, TEXT_MAX - used, "), mode=%s)", mode);
    apply_maps(x, &m);
}

static void roll(test_env *t, whole *x, char *text)
{
    char inner[TEXT_MAX];
    maps m;

    begin_maps(x, &m);
    for (int a = 0; a < x->rank; a++) {
        const int64_t n = x->shape[a], shift = (int64_t)test_random_below(t, (uint64_t)(n + 4)) - n / 2;
        snprintf(inner, sizeof inner, "%s", text);
        snprintf(text, TEXT_MAX, "roll(%.400s, %d, axis=%d)", inner, (int)shift, a);
        for (int64_t k = 0; k < n; k++)
            m.index[a][k] = ((k - shift) % n + n) % n;
    }
    apply_maps(x, &m);
}

/* A constant between elements, or without one of them. */
static void edit(test_env *t, whole *x, char *text)
{
    const int axis = (int)test_random_below(t, (uint64_t)x->rank);
    const int64_t n = x->shape[axis], place = (int64_t)test_random_below(t, (uint64_t)n);
    const bool inserts = n < 2 || test_random_below(t, 2) == 0;
    char inner[TEXT_MAX];
    maps m;

    begin_maps(x, &m);
    snprintf(inner, sizeof inner, "%s", text);
    if (inserts)
        snprintf(text, TEXT_MAX, "insert(%.400s, %d, %d, axis=%d)", inner, (int)place, CONSTANT, axis);
    else
        snprintf(text, TEXT_MAX, "delete(%.400s, %d, axis=%d)", inner, (int)place, axis);
    m.shape[axis] = inserts ? n + 1 : n - 1;
    for (int64_t k = 0; k < m.shape[axis]; k++)
        m.index[axis][k] = k < place ? k : inserts ? (k == place ? -1 : k - 1) : k + 1;
    apply_maps(x, &m);
}

/* Beside itself and some of its own parts. */
static void join(test_env *t, whole *x, char *text)
{
    const int axis = (int)test_random_below(t, (uint64_t)x->rank);
    const int64_t n = x->shape[axis], cut = 1 + (int64_t)test_random_below(t, (uint64_t)n);
    char inner[TEXT_MAX], colons[RANK_MAX * 3 + 1] = "";
    maps m;

    begin_maps(x, &m);
    m.index[axis] = realloc(m.index[axis], (size_t)(3 * n + 64) * sizeof(int64_t));
    for (int a = 0; a < axis; a++)
        snprintf(colons + strlen(colons), 4, ":, ");
    snprintf(inner, sizeof inner, "%s", text);
    if (strchr(inner, '(') == NULL)
        snprintf(text, TEXT_MAX, "concatenate([x[%s:%d], x[%s::-1], x], axis=%d)", colons, (int)cut, colons, axis);
    else
        snprintf(text, TEXT_MAX, "z = %.400s; concatenate([z[%s:%d], z[%s::-1], z], axis=%d)", inner, colons, (int)cut,
                 colons, axis);
    m.shape[axis] = cut + 2 * n;
    for (int64_t k = 0; k < m.shape[axis]; k++)
        m.index[axis][k] = k < cut ? k : k < cut + n ? n - 1 - (k - cut) : k - cut - n;
    apply_maps(x, &m);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* An array of that shape whose rows begin anywhere. */
static void make_anywhere(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape, bool turned)
{
    const int64_t item = (int64_t)kiln_dtype_size(dtype);
    int64_t stride[RANK_MAX], start = item * (int64_t)test_random_below(t, 140), step = item;

    for (int k = rank; k-- > 0;) {
        stride[k] = step;
        step = step * shape[k] + item * (int64_t)test_random_below(t, 9);
        if (turned && test_random_below(t, 5) == 0) {
            start += (shape[k] - 1) * stride[k];
            stride[k] = -stride[k];
        }
    }
    const size_t bytes = (size_t)(start + step) + (size_t)item * test_random_below(t, 140);
    host_make_strided(t, a, dtype, rank, shape, stride, start, bytes);
    host_fill_random(t, a);
    host_send(t, a);
}

static void take_whole(const host_array *a, whole *out)
{
    const size_t item = kiln_dtype_size(a->dtype);

    *out = (whole){.dtype = a->dtype, .rank = a->rank};
    memcpy(out->shape, a->shape, (size_t)a->rank * sizeof a->shape[0]);
    const int64_t size = size_of(out);
    out->data = malloc((size_t)size * item + 1);
    for (int64_t k = 0; k < size; k++)
        memcpy(out->data + (size_t)k * item, host_at(a, k), item);
}

static void put_whole(const whole *w, const host_array *a)
{
    const size_t item = kiln_dtype_size(w->dtype);

    for (int64_t k = 0; k < size_of(w); k++)
        memcpy(host_at(a, k), w->data + (size_t)k * item, item);
}

static kiln_graph *parse(test_env *t, const char *text)
{
    static const char *const names[] = {"x"};
    kiln_graph *g = NULL;

    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
    return g;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static const kiln_dtype dtypes[] = {KILN_UINT8,   KILN_INT8,  KILN_FLOAT16,   KILN_BFLOAT16, KILN_INT16,
                                    KILN_FLOAT32, KILN_INT32, KILN_COMPLEX64, KILN_FLOAT64,  KILN_COMPLEX128};

/* Draw the expression; `w` becomes its value. */
static void draw_text(test_env *t, whole *w, char *text)
{
    static void (*const functions[])(test_env *, whole *, char *) = {pad, pad, roll, edit};
    const int depth = 1 + (int)test_random_below(t, 2);

    snprintf(text, TEXT_MAX, "x");
    for (int k = 0; k < depth; k++)
        functions[test_random_below(t, COUNT(functions))](t, w, text);
    if (test_random_below(t, 3) == 0)
        join(t, w, text);
}

static void draw_shape(test_env *t, kiln_dtype dtype, int rank, int64_t *shape)
{
    const uint64_t item = kiln_dtype_size(dtype);

    for (int a = 0; a < rank; a++)
        shape[a] = 1 + (int64_t)test_random_below(t, 7);
    /* Rows of words, of lines, and of few elements. */
    static const uint64_t bytes[] = {60, 1400, 1400, 10000};
    shape[rank - 1] = 1 + (int64_t)test_random_below(t, bytes[test_random_below(t, COUNT(bytes))] / item + 2);
}

static void check_case(test_env *t, int nth)
{
    const kiln_dtype dtype = dtypes[test_random_below(t, COUNT(dtypes))];
    const int rank = 1 + (int)test_random_below(t, RANK_MAX);
    char text[TEXT_MAX], what[TEXT_MAX + 60];
    int64_t shape[RANK_MAX];
    host_array x, y;
    whole w;

    draw_shape(t, dtype, rank, shape);
    make_anywhere(t, &x, dtype, rank, shape, true);
    take_whole(&x, &w);
    draw_text(t, &w, text);
    snprintf(what, sizeof what, "case %d: %s of %s", nth, text, kiln_dtype_name(dtype));
    make_anywhere(t, &y, dtype, rank, w.shape, false);
    kiln_graph *g = parse(t, text);
    const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_array(y.array)};
    OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
    put_whole(&w, &y);
    host_compare(t, &y, 0, what);
    kiln_graph_destroy(g);
    host_free(&x);
    host_free(&y);
    free(w.data);
}

static void test_parts__are_plain_loops_wherever_rows_begin(void **state)
{
    static const char *const least[] = {"1", "8192", "100000000"}; /* bytes of a row that goes by words */

    for (int k = 0; k < CASES; k++) {
        setenv("KILN_TUNE_PART_WORDS", least[k % COUNT(least)], 1);
        if (test_drawn(*state))
            check_case(*state, k);
    }
    unsetenv("KILN_TUNE_PART_WORDS");
}

/* The result in the memory of what it is made of. */
static void test_parts__of_arrays_in_their_own_place(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {9, 517};
    static const char *const texts[] = {"roll(roll(x, 3, axis=0), 5, axis=1)", "concatenate([x[4:], x[:4]])",
                                        "pad(x[:-1], (1, 0, 0, 0))"};

    for (size_t k = 0; k < COUNT(texts); k++) {
        host_array x;
        whole w;
        maps m;
        make_anywhere(t, &x, KILN_INT16, 2, shape, false);
        take_whole(&x, &w);
        begin_maps(&w, &m);
        for (int64_t r = 0; r < shape[0]; r++)
            m.index[0][r] = k == 0 ? (r + 6) % 9 : k == 1 ? (r + 4) % 9 : r - 1;
        for (int64_t c = 0; c < shape[1] && k == 0; c++)
            m.index[1][c] = (c + 512) % 517;
        apply_maps(&w, &m);
        for (int64_t c = 0; c < shape[1] && k == 2; c++) /* pad's own constant is 0 */
            memset(w.data + (size_t)c * 2, 0, 2);
        kiln_graph *g = parse(t, texts[k]);
        const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_array(x.array)};
        OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
        put_whole(&w, &x);
        host_compare(t, &x, 0, texts[k]);
        kiln_graph_destroy(g);
        host_free(&x);
        free(w.data);
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static size_t kernels_of(test_env *t, const char *text, int rank, const int64_t *shape)
{
    kiln_array *x = NULL, *z = NULL;
    kiln_graph *g = parse(t, text);
    size_t kernels = 0;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, rank, shape, &x, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
    OK(t, kiln_graph_kernel_count(g, args, COUNT(args), &kernels, &t->err));
    kiln_graph_destroy(g);
    kiln_array_release(x);
    return kernels;
}

/* Steps of the recording of a call are its launches. */
static size_t launches_of(test_env *t, const char *text, int rank, const int64_t *shape)
{
    kiln_array *x = NULL, *z = NULL;
    kiln_program *program = NULL;
    kiln_graph *g = parse(t, text);

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, rank, shape, &x, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    const size_t launches = kiln_program_step_count(program);
    kiln_program_destroy(program);
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(z);
    return launches;
}

static void test_parts__are_one_launch(void **state)
{
    static const struct {
        const char *text;
        int rank;
        size_t cuda, cpu;
    } cases[] = {
        {"pad(x, 1)", 2, 1, 3},
        {"pad(x, 1)", 3, 1, 4},
        {"pad(x, 2, mode=edge)", 2, 1, 4},
        {"pad(x, 1, mode=edge)", 3, 1, 8},
        {"roll(x, (1, 3), axis=(0, 1))", 2, 1, 4},
        {"concatenate([x, x[:2]])", 2, 1, 2},
        {"insert(x, 2, 7, axis=1)", 2, 1, 3},
        {"delete(x, 2, axis=1)", 2, 1, 2},
        {"pad(roll(x, 1, axis=1), 1)", 2, 2, 4},      /* the pad reads what was rolled */
        {"pad(x * 2, 1)", 2, 2, 3},                   /* the inside is computed */
        {"concatenate([x[:2], x[::-1] + 1])", 2, 2, 2}, /* nothing to share a launch with */
    };
    static const int64_t shape[] = {6, 8, 40};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(cases); k++) {
        const size_t want = t->cuda ? cases[k].cuda : cases[k].cpu;
        const size_t kernels = kernels_of(t, cases[k].text, cases[k].rank, shape);
        CHECK(kernels == want, "%s of %d axes: %zu kernels", cases[k].text, cases[k].rank, kernels);
        const size_t launches = launches_of(t, cases[k].text, cases[k].rank, shape);
        CHECK(launches == want, "%s of %d axes: %zu launches", cases[k].text, cases[k].rank, launches);
    }
}

/* More parts than the arguments of a kernel have room for, and more axes. */
static void test_parts__that_are_too_many_are_several_launches(void **state)
{
    test_env *t = *state;
    static const int64_t four[] = {3, 4, 5, 6};
    const size_t kernels = kernels_of(t, "pad(x, 1, mode=edge)", 4, four); /* 81 parts, at most 24 in a launch */

    if (t->cuda)
        CHECK(kernels >= 3 && kernels <= 5, "81 parts: %zu kernels", kernels);
    host_array source, y;
    int64_t wide[4], at[4];
    host_make(t, &source, KILN_FLOAT32, 4, four, NULL);
    host_fill_random(t, &source);
    host_send(t, &source);
    for (int a = 0; a < 4; a++)
        wide[a] = four[a] + 2;
    host_make(t, &y, KILN_FLOAT32, 4, wide, NULL);
    kiln_graph *g = parse(t, "pad(x, 1, mode=edge)");
    const kiln_arg args[] = {kiln_arg_array(source.array), kiln_arg_array(y.array)};
    OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
    for (int64_t k = 0; k < host_size(&y); k++) {
        int64_t from = 0;
        host_index(4, wide, 15, k, at);
        for (int a = 0; a < 4; a++)
            from = from * four[a] + padded("edge", four[a], at[a] - 1);
        memcpy(host_at(&y, k), host_at(&source, from), 4);
    }
    host_compare(t, &y, 0, "81 parts");
    kiln_graph_destroy(g);
    host_free(&source);
    host_free(&y);
}

/* What a launch has no room for, or is slow at. */
static void test_parts__that_a_kernel_of_their_own_serves_better(void **state)
{
    static const int64_t G = INT64_C(1) << 30;
    static const struct {
        int rank, item, axes;
        int64_t shape[5], to[5], from[5];
    } cases[] = {
        {1, 4, 1, {100}, {4}, {4}},
        {2, 4, 1, {100, 100}, {400, 4}, {400, 4}},                      /* one run of memory */
        {2, 4, 2, {100, 100}, {800, 4}, {400, 4}},
        {2, 4, 2, {100, 100}, {4, 800}, {4, 400}},                      /* in the order of memory */
        {1, 1, 1, {G}, {1}, {1}},
        {1, 1, 0, {4 * G}, {1}, {1}},                                   /* a row of 2^32 bytes */
        {2, 4, 2, {1 << 20, 4000}, {4 << 12, 4}, {4 << 12, 4}},         /* 2^32 elements */
        {2, 4, 0, {1 << 24, 4000}, {4 << 12, 4}, {4 << 12, 4}},         /* more words than an int counts */
        {2, 4, 2, {1 << 20, 1}, {4 << 12, 4}, {4 << 12, 4}},            /* a column */
        {2, 4, 0, {2 << 20, 1}, {4 << 12, 4}, {4 << 12, 4}},            /* a long one */
        {2, 4, 0, {2000, 2000}, {8000, 4}, {4, 8000}},                  /* transposed */
        {2, 4, 2, {200, 200}, {800, 4}, {4, 800}},
        {2, 4, 2, {500, 2000}, {8004, 4}, {8000, -4}},                  /* mirrored */
        {2, 4, 0, {2000, 2000}, {8004, 4}, {8000, -4}},
        {2, 4, 0, {1 << 18, 257}, {1036, 4}, {1028, 4}},                /* many short rows */
        {2, 1, 2, {1 << 18, 1028}, {1030, 1}, {1028, 1}},
        {1, 4, 0, {0}, {4}, {4}},
        {5, 4, 0, {2, 2, 2, 2, 2}, {640, 160, 40, 12, 4}, {640, 160, 40, 12, 4}},
    };

    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        const kiln__part part = {cases[k].rank, cases[k].shape, cases[k].to, cases[k].from, {0}};
        const int axes = kiln__part_axes(&part, cases[k].item);
        const int want = cases[k].rank == 2 && cases[k].shape[1] == 1 && cases[k].axes != 0 ? 1 : cases[k].axes;
        CHECK(axes == want, "part %zu has %d axes", k, axes);
    }
    assert_true(kiln__parts_room(2, KILN__PARTS_MAX) >= KILN__PARTS_MAX);
    assert_int_equal(kiln__parts_room(2, KILN__PARTS_MAX + 1), 0);
    assert_true(kiln__parts_room(3, 27) >= 27); /* a box with all its edges */
    assert_int_equal(kiln__parts_room(KILN__PART_AXES_MAX + 1, 1), 0);
}

/* A full launch of each number of axes fits the arguments of a kernel, and its blocks are those of the parts. */
static void test_parts__fit_the_arguments_of_a_kernel(void **state)
{
    test_env *t = *state;
    static const int64_t shape[] = {2, 2, 2, 2}, to[] = {96, 40, 16, 4}, from[] = {0, 0, 0, 4};
    kiln__parts *made = malloc(sizeof *made);
    kiln__part parts[KILN__PARTS_MAX];

    for (int axes = 2; axes <= KILN__PART_AXES_MAX; axes++) {
        size_t count = KILN__PARTS_MAX;
        while (kiln__parts_room(axes, count) == 0)
            count--;
        for (size_t k = 0; k < count; k++)
            parts[k] = (kiln__part){axes, shape + 4 - axes, to + 4 - axes, from + 4 - axes, {0}};
        OK(t, kiln__parts_lay_out(parts, count, 4, made, &t->err));
        assert_int_equal(made->axes, axes);
        assert_int_equal(made->grid, count);
        assert_true(made->bytes <= sizeof made->block && made->room >= count);
    }
    free(made);
}

/* ---- prepared and captured ------------------------------------------------------------------- */

static void check_rolled(test_env *t, const host_array *x, host_array *y, const char *what)
{
    for (int64_t r = 0; r < y->shape[0]; r++)
        for (int64_t c = 0; c < y->shape[1]; c++)
            memcpy(host_at(y, r * y->shape[1] + c),
                   host_at(x, (r + y->shape[0] - 1) % y->shape[0] * y->shape[1] +
                                  (c + y->shape[1] - 3) % y->shape[1]),
                   kiln_dtype_size(y->dtype));
    host_compare(t, y, 0, what);
}

/* Arrays of a prepared launch and of a captured call change for others. */
static void test_parts__of_arrays_that_change(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {5, 700};
    host_array x[2], y[2];
    kiln_launch *launch = NULL;
    kiln_program *program = NULL;
    size_t slot[2];
    kiln_graph *g = parse(t, "roll(x, (1, 3), axis=(0, 1))");

    for (int k = 0; k < 2; k++) {
        host_make(t, &x[k], KILN_UINT16, 2, shape, NULL);
        host_make(t, &y[k], KILN_UINT16, 2, shape, NULL);
        host_fill_random(t, &x[k]);
        host_send(t, &x[k]);
    }
    const kiln_arg args[] = {kiln_arg_array(x[0].array), kiln_arg_array(y[0].array)};
    OK(t, kiln_graph_prepare(g, args, COUNT(args), NULL, &launch, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check_rolled(t, &x[0], &y[0], "prepared");
    OK(t, kiln_launch_set(launch, 0, kiln_arg_array(x[1].array), &t->err));
    OK(t, kiln_launch_set(launch, 1, kiln_arg_array(y[1].array), &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    check_rolled(t, &x[1], &y[1], "prepared, of other arrays");
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    OK(t, kiln_program_array_slot(program, x[0].array, &slot[0], &t->err));
    OK(t, kiln_program_array_slot(program, y[0].array, &slot[1], &t->err));
    host_fill_random(t, &x[0]);
    host_send(t, &x[0]);
    OK(t, kiln_program_run(program, NULL, &t->err));
    check_rolled(t, &x[0], &y[0], "captured");
    host_fill_random(t, &x[1]);
    host_send(t, &x[1]);
    OK(t, kiln_program_set(program, slot[0], kiln_arg_array(x[1].array), &t->err));
    OK(t, kiln_program_set(program, slot[1], kiln_arg_array(y[1].array), &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    check_rolled(t, &x[1], &y[1], "captured, of other arrays");
    kiln_program_destroy(program);
    kiln_launch_destroy(launch);
    kiln_graph_destroy(g);
    for (int k = 0; k < 2; k++) {
        host_free(&x[k]);
        host_free(&y[k]);
    }
}

/* ---- several results ---- */

enum { RESULTS_MAX = 12 };

typedef struct result {
    int elements;
    double real, imaginary; /* of each */
} result;

/* An expression of numbers: results of one shape are one loop, whose elements have several sizes. */
static size_t draw_results(test_env *t, result *wanted, char *text, size_t bytes)
{
    static const char *const forms[] = {"%g", "%g.25", "%g.25 + %gj"};
    static const int extents[][2] = {{1, 1}, {3, 4}, {1, 700}, {9, 130}};
    const size_t count = 1 + test_random_below(t, RESULTS_MAX);
    size_t used = 0;

    for (size_t k = 0; k < count; k++) {
        const char *const form = forms[test_random_below(t, COUNT(forms))];
        const size_t e = test_random_below(t, COUNT(extents));
        const double integer = (double)test_random_below(t, 99), imaginary = (double)test_random_below(t, 50) + 0.5;
        char number[64];
        snprintf(number, sizeof number, form, integer, imaginary);
        used += (size_t)snprintf(text + used, bytes - used, "%sbroadcast_to(%s, (%d, %d))", k > 0 ? ", " : "", number,
                                 extents[e][0], extents[e][1]);
        wanted[k] = (result){.elements = extents[e][0] * extents[e][1],
                             .real = integer + (form == forms[0] ? 0 : 0.25),
                             .imaginary = form == forms[2] ? imaginary : 0};
    }
    return count;
}

static void test_parts__of_several_results_and_dtypes(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < test_rounds(t, 40); round++) {
        char text[RESULTS_MAX * 80];
        result wanted[RESULTS_MAX];
        kiln_array *out[RESULTS_MAX] = {NULL};
        kiln_arg args[RESULTS_MAX];
        const size_t count = draw_results(t, wanted, text, sizeof text);
        kiln_graph *g = NULL;
        OK(t, kiln_graph_parse(t->ctx, text, NULL, 0, NULL, &g, NULL, &t->err));
        for (size_t k = 0; k < count; k++)
            args[k] = kiln_arg_out(&out[k]);
        OK(t, kiln_graph_run(g, args, count, NULL, &t->err));
        for (size_t k = 0; k < count; k++) {
            kiln_array *wide = NULL;
            double got[9 * 130][2];
            OK(t, kiln_array_cast(out[k], KILN_COMPLEX128, &wide, &t->err));
            OK(t, kiln_array_to_host(wide, got, (size_t)wanted[k].elements * sizeof got[0], NULL, &t->err));
            for (int n = 0; n < wanted[k].elements; n++)
                CHECK(got[n][0] == wanted[k].real && got[n][1] == wanted[k].imaginary,
                      "%s: result %zu, element %d is %g + %gj", text, k, n, got[n][0], got[n][1]);
            kiln_array_release(wide);
            kiln_array_release(out[k]);
        }
        kiln_graph_destroy(g);
    }
}

/* The source of the step is that of the kernel. */
static void test_parts__have_a_source(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {5, 7};
    kiln_array *x = NULL, *z = NULL;
    char *text = NULL, *told = NULL;
    kiln_graph *g = parse(t, "pad(x, 1)");

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, shape, &x, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
    OK(t, kiln_graph_source(g, args, COUNT(args), 0, &text, &t->err));
    OK(t, kiln_graph_explain(g, args, COUNT(args), &told, &t->err));
    if (t->cuda) {
        assert_non_null(strstr(text, "#define KILN__ITEM 8"));
        assert_non_null(strstr(text, "kiln_parts"));
        assert_non_null(strstr(told, "copies over (7, 9) - 5 parts, by one launch"));
    }
    kiln_free(text);
    kiln_free(told);
    kiln_graph_destroy(g);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_parts__are_plain_loops_wherever_rows_begin),
        TEST(test_parts__of_arrays_in_their_own_place),
        TEST(test_parts__are_one_launch),
        TEST(test_parts__that_are_too_many_are_several_launches),
        TEST(test_parts__that_a_kernel_of_their_own_serves_better),
        TEST(test_parts__fit_the_arguments_of_a_kernel),
        TEST(test_parts__of_arrays_that_change),
        TEST(test_parts__of_several_results_and_dtypes),
        TEST(test_parts__have_a_source),
    };

    return test_env_main(argc, argv, "test_parts", tests, COUNT(tests));
}
