/*
 * arranging.c - functions of expressions that rearrange arrays: concatenate(), pad(), roll(), ...
 *
 *     calls.c, parse.c > [arranging] > nodes (padding.c, record.c)
 *
 * The table `functions` has a row for each function: which arguments are arrays, which whole
 * numbers follow, and the defaults of missing numbers. triu(), diff() and similar functions are
 * composed of other nodes.
 *
 * Tests: test_rearrange, test_expression.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

enum {
    NUMBERS_MAX = 256,
    NONE = -1 /* no axis */
};
#define SAME INT64_MIN /* as many columns as rows */

/* What was read of a call. */
typedef struct reading {
    const struct function *f;
    kiln_node nodes[KILN__REARRANGE_OPERANDS_MAX];
    size_t node_count;
    int64_t numbers[NUMBERS_MAX];
    size_t number_count, axis_count; /* numbers in positions; axes behind them */
    bool has_axis;
} reading;

typedef struct function {
    const char *name;
    kiln_rearrangement what;
    bool list;          /* the first argument is a tuple of arrays */
    int arrays;         /* else so many arguments are */
    int least, most;    /* numbers in positions */
    int64_t missing[3]; /* numbers that are left out or None, by their positions */
    int axis_at;        /* how many arguments stand between the arrays and the axis, or NONE */
    kiln_status (*finish)(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out);
    const char *arguments; /* for messages */
} function;

static kiln_status fail(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                        const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s %s", (int)c->bytes, c->name, what);
}

static void record(kiln__parsed_call *c, kiln_rearrangement what, reading *r, kiln__parsed *out)
{
    kiln__set_node(out, kiln_node_rearrange(what, r->nodes, r->node_count, r->numbers,
                                            r->number_count + r->axis_count, KILN__PLACE(c->at)));
}

static kiln_status add_node(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *v,
                            reading *r)
{
    KILN_CHECK(kiln__need_node(p, v));
    if (r->node_count == KILN__REARRANGE_OPERANDS_MAX)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "takes no so many arrays");
    r->nodes[r->node_count++] = kiln__graph_number(p->graph, v->node);
    return KILN_OK;
}

/* ---- what follows its own rule --------------------------------------------------------------- */

static kiln_status plain(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    (void)p;
    record(c, r->f->what, r, out);
    return KILN_OK;
}

/* An axis that is left out is the first. */
static kiln_status first_axis(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    if (c->axis.width == 0)
        r->numbers[r->number_count + r->axis_count++] = 0;
    return plain(p, c, r, out);
}

static kiln_status repeat(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    (void)p;
    record(c, r->has_axis ? KILN_REARRANGE_REPEAT_ALONG : KILN_REARRANGE_REPEAT, r, out);
    return KILN_OK;
}

static kiln_status roll(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    /* One shift serves for all axes, and one axis for all shifts. */
    while (r->has_axis && r->number_count < r->axis_count) {
        memmove(r->numbers + r->number_count + 1, r->numbers + r->number_count,
                r->axis_count * sizeof r->numbers[0]);
        r->numbers[r->number_count++] = r->numbers[0];
    }
    while (r->has_axis && r->axis_count > 0 && r->axis_count < r->number_count) {
        const size_t end = r->number_count + r->axis_count++;
        r->numbers[end] = r->numbers[end - 1];
    }
    if (!r->has_axis && r->number_count != 1)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "needs an axis for each shift");
    record(c, KILN_REARRANGE_ROLL, r, out);
    return KILN_OK;
}

/* pad(x, widths, constant, mode=edge): widths are one number for all sides, two for before and after
 * along all axes, or two for each axis in turn. */
static kiln_status pad(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    int64_t mode = KILN_PAD_CONSTANT;

    KILN_CHECK(kiln__pad_mode(p, c, &mode));
    if (r->number_count == 1)
        r->numbers[r->number_count++] = r->numbers[0];
    if (r->number_count % 2 != 0)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT,
                                "pad takes one width, two for all axes, or two for each axis; "
                                "%zu are given",
                                r->number_count);
    memmove(r->numbers + 1, r->numbers, r->number_count * sizeof r->numbers[0]);
    r->numbers[0] = mode;
    r->number_count++;
    for (size_t k = 0; k < c->named_count; k++) {
        kiln__parsed *v = &c->named[k].value;
        if (!kiln__same_word(c->named[k].name, c->named[k].bytes, "stat_length")) {
            KILN_CHECK(add_node(p, c, v, r));
            continue;
        }
        KILN_CHECK(kiln__need_integer(p, v, &r->numbers[r->number_count]));
        if (r->numbers[r->number_count++] < 1)
            return fail(p, c, KILN_ERR_ARGUMENT, "looks at one element at least");
    }
    if (r->node_count > 2)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is given its constant twice");
    record(c, KILN_REARRANGE_PAD, r, out);
    return KILN_OK;
}

/* delete(x, places, axis), insert(x, places, values, axis): without an axis, of the elements in C-order. The
 * rearrangements want the axis first. */
static kiln_status edit(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const int64_t all = -1, axis = r->has_axis ? r->numbers[r->number_count] : 0;

    if (r->f->what == KILN_REARRANGE_INSERT && c->arg[1].kind == KILN__PARSED_TUPLE &&
        c->arg[1].count == 1 && axis != 0 && !kiln__is_of_numbers(p, &r->nodes[1]))
        return kiln__parse_fail(p, c->arg[1].at, c->arg[1].width, KILN_ERR_UNSUPPORTED,
                                "a list of one place is left out here, as NumPy looks at the shape of "
                                "the values: write the place without brackets, or as an array of "
                                "indices");
    if (!r->has_axis)
        r->nodes[0] = kiln_node_reshape(r->nodes[0], 1, &all, KILN__PLACE(c->at));
    memmove(r->numbers + 1, r->numbers, r->number_count * sizeof r->numbers[0]);
    r->numbers[0] = axis;
    r->axis_count = 1;
    record(c, r->f->what, r, out);
    return KILN_OK;
}

/* The sum of a diagonal. */
static kiln_status trace(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const kiln_axes last = {1, {-1}};

    (void)p;
    c->takes |= KILN__TAKES_DTYPE;
    record(c, KILN_REARRANGE_DIAGONAL, r, out);
    kiln__set_node(out, kiln_node_reduce(KILN_REDUCE_SUM, out->node, &last, false, c->dtype.dtype,
                                         KILN__PLACE(c->at)));
    return KILN_OK;
}

/* tril(x, k), triu(x, k): what lies on one side of a diagonal, zeroes elsewhere. */
static kiln_status triangle(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const kiln_node x = r->nodes[0];
    const bool upper = kiln__same_word(c->name, c->bytes, "triu");
    const kiln_node right =
        kiln_node_op2(KILN_OP_SUBTRACT, kiln_node_iota(x, -1, KILN__PLACE(c->at)),
                      kiln_node_iota(x, -2, KILN__PLACE(c->at)), KILN__PLACE(c->at));
    const kiln_node inside =
        kiln_node_op2(upper ? KILN_OP_GREATER_EQUAL : KILN_OP_LESS_EQUAL, right,
                      kiln_node_of_int(r->numbers[0]), KILN__PLACE(c->at));

    (void)p;
    kiln__set_node(
        out, kiln_node_op3(KILN_OP_WHERE, inside, x, kiln_node_of_bool(false), KILN__PLACE(c->at)));
    return KILN_OK;
}

/* eye(n, m, k), tri(n, m, k): float64, or dtype=. */
static kiln_status matrix(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const bool eye = kiln__same_word(c->name, c->bytes, "eye");
    const int64_t rows = r->numbers[0], columns = r->numbers[1] == SAME ? rows : r->numbers[1];
    const kiln_dtype dtype = c->dtype.width != 0 ? c->dtype.dtype : KILN_FLOAT64;
    const kiln_node down = kiln_node_newaxis(kiln_node_arange(p->graph, rows, KILN__PLACE(c->at)),
                                             1, KILN__PLACE(c->at));
    const kiln_node right =
        kiln_node_op2(KILN_OP_SUBTRACT, kiln_node_arange(p->graph, columns, KILN__PLACE(c->at)),
                      down, KILN__PLACE(c->at));
    const kiln_node inside = kiln_node_op2(eye ? KILN_OP_EQUAL : KILN_OP_LESS_EQUAL, right,
                                           kiln_node_of_int(r->numbers[2]), KILN__PLACE(c->at));

    c->takes |= KILN__TAKES_DTYPE;
    kiln__set_node(out, kiln_node_cast(inside, dtype, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* diff(x, n, axis): differences of neighbours, n times over. */
static kiln_status diff(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const int axis = r->has_axis ? (int)r->numbers[r->number_count] : -1;
    kiln_node x = r->nodes[0];

    if (r->numbers[0] < 0 || r->numbers[0] > 100)
        return fail(p, c, KILN_ERR_ARGUMENT, "is taken 0 to 100 times");
    for (int64_t k = 0; k < r->numbers[0]; k++)
        x = kiln_node_op2(KILN_OP_SUBTRACT,
                          kiln_node_slice(x, axis, 1, KILN_SLICE_OPEN, 1, KILN__PLACE(c->at)),
                          kiln_node_slice(x, axis, KILN_SLICE_OPEN, -1, 1, KILN__PLACE(c->at)),
                          KILN__PLACE(c->at));
    kiln__set_node(out, x);
    return KILN_OK;
}

static kiln_status ediff1d(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const int64_t all = -1;

    r->nodes[0] = kiln_node_reshape(r->nodes[0], 1, &all, KILN__PLACE(c->at));
    r->numbers[0] = 1;
    r->number_count = 1;
    return diff(p, c, r, out);
}

/* Positions along axis `axis` of a shape. */
static kiln_node positions(kiln__parser *p, kiln__parsed_call *c, int rank, const int64_t *shape,
                           int axis)
{
    int64_t one[KILN_RANK_MAX];

    for (int a = 0; a < rank; a++)
        one[a] = a == axis ? shape[a] : 1;
    return kiln_node_broadcast_to(
        kiln_node_reshape(kiln_node_arange(p->graph, shape[axis], KILN__PLACE(c->at)), rank, one,
                          KILN__PLACE(c->at)),
        rank, shape, KILN__PLACE(c->at));
}

/* indices((2, 3)): the positions along each axis, stacked. */
static kiln_status indices(kiln__parser *p, kiln__parsed_call *c, reading *r, kiln__parsed *out)
{
    const int rank = (int)r->number_count;
    const int64_t first = 0;
    kiln_node all[KILN_RANK_MAX];

    for (int a = 0; a < rank; a++)
        all[a] = positions(p, c, rank, r->numbers, a);
    c->takes |= KILN__TAKES_DTYPE;
    kiln__set_node(out, kiln_node_rearrange(KILN_REARRANGE_STACK, all, (size_t)rank, &first, 1,
                                            KILN__PLACE(c->at)));
    if (c->dtype.width != 0 && c->dtype.kind != KILN__PARSED_NONE)
        kiln__set_node(out, kiln_node_cast(out->node, c->dtype.dtype, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const function functions[] = {
    /* name, what, list, arrays, least, most, missing, axis_at, finish, arguments */
    {"swapaxes", KILN_REARRANGE_SWAPAXES, false, 1, 2, 2, {0}, NONE, plain, "x, axis1, axis2"},
    {"moveaxis",
     KILN_REARRANGE_MOVEAXIS,
     false,
     1,
     2,
     2 * KILN_RANK_MAX,
     {0},
     NONE,
     plain,
     "x, source, destination"},
    {"squeeze", KILN_REARRANGE_SQUEEZE, false, 1, 0, 0, {0}, 0, plain, "x, axis=None"},
    {"diagonal",
     KILN_REARRANGE_DIAGONAL,
     false,
     1,
     0,
     3,
     {0, 0, 1},
     NONE,
     plain,
     "x, offset=0, axis1=0, axis2=1"},
    {"rot90",
     KILN_REARRANGE_ROT90,
     false,
     1,
     0,
     3,
     {1, 0, 1},
     NONE,
     plain,
     "x, k=1, axes"},
    {"flip", KILN_REARRANGE_FLIP, false, 1, 0, 0, {0}, 0, plain, "x, axis=None"},
    {"atleast_1d", KILN_REARRANGE_ATLEAST_1D, false, 1, 0, 0, {0}, NONE, plain, "x"},
    {"atleast_2d", KILN_REARRANGE_ATLEAST_2D, false, 1, 0, 0, {0}, NONE, plain, "x"},
    {"atleast_3d", KILN_REARRANGE_ATLEAST_3D, false, 1, 0, 0, {0}, NONE, plain, "x"},
    {"concatenate",
     KILN_REARRANGE_CONCATENATE,
     true,
     0,
     0,
     0,
     {0},
     0,
     first_axis,
     "[x, y], axis=0"},
    {"concat",
     KILN_REARRANGE_CONCATENATE,
     true,
     0,
     0,
     0,
     {0},
     0,
     first_axis,
     "[x, y], axis=0"},
    {"stack", KILN_REARRANGE_STACK, true, 0, 0, 0, {0}, 0, first_axis, "[x, y], axis=0"},
    {"hstack", KILN_REARRANGE_HSTACK, true, 0, 0, 0, {0}, NONE, plain, "[x, y]"},
    {"vstack", KILN_REARRANGE_VSTACK, true, 0, 0, 0, {0}, NONE, plain, "[x, y]"},
    {"dstack", KILN_REARRANGE_DSTACK, true, 0, 0, 0, {0}, NONE, plain, "[x, y]"},
    {"column_stack", KILN_REARRANGE_COLUMN_STACK, true, 0, 0, 0, {0}, NONE, plain, "[x, y]"},
    {"append", KILN_REARRANGE_CONCATENATE, false, 2, 0, 0, {0}, 0, plain, "x, values, axis=None"},
    {"tile", KILN_REARRANGE_TILE, false, 1, 1, KILN_RANK_MAX, {0}, NONE, plain, "x, reps"},
    {"repeat",
     KILN_REARRANGE_REPEAT,
     false,
     1,
     1,
     NUMBERS_MAX - 2,
     {0},
     1,
     repeat,
     "x, repeats, axis=None"},
    {"roll", KILN_REARRANGE_ROLL, false, 1, 1, KILN_RANK_MAX, {0}, 1, roll, "x, shift, axis=None"},
    {"pad",
     KILN_REARRANGE_PAD,
     false,
     1,
     1,
     2 * KILN_RANK_MAX,
     {0},
     NONE,
     pad,
     "x, pad_width, constant, mode=constant"},
    {"delete",
     KILN_REARRANGE_DELETE,
     false,
     1,
     1,
     NUMBERS_MAX - 2,
     {0},
     1,
     edit,
     "x, obj, axis=None"},
    {"insert",
     KILN_REARRANGE_INSERT,
     false,
     1,
     1,
     NUMBERS_MAX - 2,
     {0},
     2,
     edit,
     "x, obj, values, axis=None"},
    {"indices", KILN_REARRANGE_PAD, false, 0, 1, KILN_RANK_MAX, {0}, NONE, indices, "shape"},
    {"trace",
     KILN_REARRANGE_DIAGONAL,
     false,
     1,
     0,
     3,
     {0, 0, 1},
     NONE,
     trace,
     "x, offset=0, axis1=0, axis2=1"},
    {"tril", KILN_REARRANGE_PAD, false, 1, 0, 1, {0}, NONE, triangle, "x, k=0"},
    {"triu", KILN_REARRANGE_PAD, false, 1, 0, 1, {0}, NONE, triangle, "x, k=0"},
    {"eye", KILN_REARRANGE_PAD, false, 0, 1, 3, {0, SAME, 0}, NONE, matrix, "N, M, k=0"},
    {"tri", KILN_REARRANGE_PAD, false, 0, 1, 3, {0, SAME, 0}, NONE, matrix, "N, M, k=0"},
    {"diff", KILN_REARRANGE_PAD, false, 1, 0, 1, {1}, 1, diff, "x, n=1, axis=-1"},
    {"ediff1d", KILN_REARRANGE_PAD, false, 1, 0, 0, {0}, NONE, ediff1d, "x"},
};

/* ---- dtypes of joined arrays ------------------------------------------------------------------ */

static bool is_joined(const kiln__parsed_call *c)
{
    static const char *const names[] = {"concatenate", "concat", "stack", "hstack", "vstack"};

    for (size_t k = 0; k < KILN_COUNT_OF(names); k++)
        if (kiln__same_word(c->name, c->bytes, names[k]))
            return true;
    return false;
}

/* concatenate([x, y], dtype=float32, casting='unsafe'): arrays are cast before they are joined. */
static kiln_status cast_joined(const kiln__parser *p, kiln__parsed_call *c, reading *r)
{
    static const char *const words[] = {[KILN__CASTING_SAME_KIND] = "same_kind",
                                        [KILN__CASTING_SAFE] = "safe",
                                        [KILN__CASTING_NO] = "no",
                                        "equiv",
                                        "unsafe"};
    const kiln__parsed *v = c->named_count > 0 ? &c->named[0].value : NULL;
    size_t casting = 0;

    while (v != NULL && casting < KILN_COUNT_OF(words) &&
           !(v->kind == KILN__PARSED_TEXT &&
             kiln__same_word(v->word, v->word_bytes, words[casting])))
        casting++;
    if (casting == KILN_COUNT_OF(words))
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_NAME,
                                "casting is 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'");
    c->takes |= KILN__TAKES_DTYPE;
    if (c->dtype.width == 0 || c->dtype.kind == KILN__PARSED_NONE)
        return KILN_OK;
    for (size_t k = 0; k < r->node_count; k++)
        r->nodes[k] =
            casting > KILN__CASTING_NO + 1
                ? kiln_node_cast(r->nodes[k], c->dtype.dtype, KILN__PLACE(c->at))
                : kiln__node_cast_by(r->nodes[k], c->dtype.dtype,
                                     casting > KILN__CASTING_NO ? KILN__CASTING_NO : (int64_t)casting,
                                     KILN__PLACE(c->at));
    return KILN_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A number, or those of a tuple or of a tuple of tuples, one after the other. */
static kiln_status add_numbers(kiln__parser *p, kiln__parsed_call *c, const kiln__parsed *v,
                               reading *r, size_t *count)
{
    const bool rows = v->kind == KILN__PARSED_ROWS, several = rows || v->kind == KILN__PARSED_TUPLE;
    size_t items = several && !rows ? v->count : !rows;

    for (size_t k = 0; rows && k < v->count; k++)
        items += (size_t)v->rows[k];
    for (size_t k = 0; k < items; k++) {
        kiln__parsed one = *v;
        if (several)
            kiln__set_node(&one, v->items[k]);
        if (r->number_count + r->axis_count >= NUMBERS_MAX - 2)
            return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "takes no so many numbers");
        KILN_CHECK(kiln__need_integer(p, &one, &r->numbers[r->number_count + r->axis_count]));
        ++*count;
    }
    return KILN_OK;
}

static kiln_status fail_count(const kiln__parser *p, const kiln__parsed_call *c, const function *f)
{
    char text[120];

    snprintf(text, sizeof text, "is called as %s(%s)", f->name, f->arguments);
    return fail(p, c, KILN_ERR_ARGUMENT_COUNT, text);
}

/* An axis that stands in its place, as if it had been given by its name. */
static kiln_status take_axis(const kiln__parser *p, kiln__parsed_call *c, const function *f)
{
    const size_t before = (size_t)(f->list ? 1 : f->arrays) + (size_t)f->axis_at;

    const kiln__parsed *axis;

    if (f->axis_at == NONE)
        return KILN_OK;
    if (c->count > before + 1)
        return fail_count(p, c, f);
    KILN_CHECK(kiln__call_axis(p, c, before, &axis));
    if (c->count > before)
        c->axis = c->arg[--c->count];
    return KILN_OK;
}

/* The axis, or the axes of a function that has several. */
static kiln_status read_axes(kiln__parser *p, kiln__parsed_call *c, reading *r)
{
    const kiln_rearrangement what = r->f->what;
    const bool several = what == KILN_REARRANGE_SQUEEZE || what == KILN_REARRANGE_FLIP ||
                         what == KILN_REARRANGE_ROLL;
    const bool required = r->f->finish == diff;

    r->has_axis = c->axis.width != 0 && c->axis.kind != KILN__PARSED_NONE;
    if (!r->has_axis)
        return c->axis.width != 0 && required
                   ? fail(p, c, KILN_ERR_AXIS, "goes along one axis, and None is none")
                   : KILN_OK;
    KILN_CHECK(add_numbers(p, c, &c->axis, r, &r->axis_count));
    for (size_t k = 0; k < r->axis_count; k++) {
        const int64_t axis = r->numbers[r->number_count + k];
        if (axis < -KILN_RANK_MAX - 1 || axis > KILN_RANK_MAX)
            return kiln__parse_fail(p, c->axis.at, c->axis.width, KILN_ERR_AXIS,
                                    "no array has such an axis");
    }
    return several || r->axis_count == 1 ? KILN_OK
                                         : fail(p, c, KILN_ERR_AXIS, "goes along one axis");
}

/* The numbers in positions, of which one that is left out or None is the table's. */
static kiln_status read_positions(kiln__parser *p, kiln__parsed_call *c, size_t at, reading *r)
{
    const function *f = r->f;
    const bool has_missing = f->most <= 3 && !f->list;

    for (; at < c->count; at++) {
        const bool skipped = c->arg[at].kind == KILN__PARSED_NONE && has_missing &&
                             r->number_count >= (size_t)f->least && r->number_count < 3;
        if (skipped)
            r->numbers[r->number_count] = f->missing[r->number_count];
        else
            KILN_CHECK(add_numbers(p, c, &c->arg[at], r, &r->number_count));
        r->number_count += skipped;
    }
    if (r->number_count < (size_t)f->least || r->number_count > (size_t)f->most)
        return fail_count(p, c, f);
    for (size_t k = r->number_count; k < 3 && k < (size_t)f->most && has_missing; k++)
        r->numbers[r->number_count++] = f->missing[k];
    return KILN_OK;
}

static kiln_status read_call(kiln__parser *p, kiln__parsed_call *c, reading *r)
{
    const function *f = r->f;
    const bool inserts = f->what == KILN_REARRANGE_INSERT;
    size_t at = 0;

    KILN_CHECK(take_axis(p, c, f));
    if (f->list && c->count > 0)
        KILN_CHECK(kiln__number_lists(p, &c->arg[0]));
    if (f->list && (c->count == 0 || c->arg[0].kind != KILN__PARSED_TUPLE || c->arg[0].count == 0))
        return fail(p, c, KILN_ERR_ARGUMENT, "needs a list of arrays: [x, y]");
    for (size_t k = 0; f->list && k < c->arg[0].count; k++) {
        kiln__parsed one = c->arg[0];
        kiln__set_node(&one, c->arg[0].items[k]);
        KILN_CHECK(add_node(p, c, &one, r));
    }
    for (at = f->list ? 1 : 0; !f->list && at < (size_t)f->arrays; at++) {
        if (at >= c->count)
            return fail_count(p, c, f);
        KILN_CHECK(add_node(p, c, &c->arg[at], r));
    }
    if (inserts && c->count != 3)
        return fail_count(p, c, f);
    if ((f->finish == pad && c->count > 2) || inserts) /* the constant, the values */
        KILN_CHECK(add_node(p, c, &c->arg[--c->count], r));
    KILN_CHECK(read_positions(p, c, at, r));
    return read_axes(p, c, r);
}

/* Whether a parameter of a function's list may be given by its name in its place; axis= and mode= are read for all. */
static bool has_name(const kiln__call_param *q, const char *name, size_t bytes)
{
    return q->bytes == bytes && memcmp(q->name, name, bytes) == 0 && !kiln__is_param(q, "axis") &&
           !kiln__is_param(q, "mode");
}

/* Put an argument that was given by a name into its place, number `at`; those before it that are left out have their
 * defaults. */
static kiln_status take_named(const kiln__parser *p, kiln__parsed_call *c, const function *f,
                              size_t at, size_t named)
{
    const char *list = f->arguments;
    kiln__call_param q;

    if (at < c->count)
        return fail_count(p, c, f);
    for (size_t k = 0; k < at; k++) {
        (void)kiln__next_param(&list, &q);
        if (k >= c->count)
            c->arg[k] = kiln__param_default(&q);
    }
    c->arg[at] = c->named[named].value;
    c->count = at + 1;
    c->named[named] = c->named[--c->named_count];
    return KILN_OK;
}

kiln_status kiln__arranging_places(const kiln__parser *p, kiln__parsed_call *c)
{
    const function *f = NULL;
    size_t at = 0;

    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++)
        if (!functions[k].list && kiln__same_word(c->name, c->bytes, functions[k].name))
            f = &functions[k];
    if (f == NULL)
        return KILN_OK;
    const char *list = f->arguments;
    for (kiln__call_param q; kiln__next_param(&list, &q); at++)
        for (size_t k = 0; k < c->named_count; k++)
            if (has_name(&q, c->named[k].name, c->named[k].bytes)) {
                KILN_CHECK(take_named(p, c, f, at, k));
                break;
            }
    return KILN_OK;
}

bool kiln__arranging_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    if (kiln__same_word(c->name, c->bytes, "pad") && kiln__pad_takes(name, bytes))
        return true;
    if (is_joined(c) && kiln__same_word(name, bytes, "casting"))
        return true;
    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        const char *list = functions[k].arguments;
        if (!functions[k].list && kiln__same_word(c->name, c->bytes, functions[k].name))
            for (kiln__call_param q; kiln__next_param(&list, &q);)
                if (has_name(&q, name, bytes))
                    return true;
    }
    return false;
}

bool kiln__arranging_usage(const kiln__parsed_call *c, char *out, size_t bytes)
{
    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++)
        if (kiln__same_word(c->name, c->bytes, functions[k].name)) {
            snprintf(out, bytes, "%s(%s)", functions[k].name, functions[k].arguments);
            return true;
        }
    return false;
}

kiln_status kiln__apply_arranging(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                  bool *known)
{
    reading r;

    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        if (!kiln__same_word(c->name, c->bytes, functions[k].name))
            continue;
        memset(&r, 0, sizeof r);
        r.f = &functions[k];
        *known = true;
        KILN_CHECK(read_call(p, c, &r));
        if (is_joined(c))
            KILN_CHECK(cast_joined(p, c, &r));
        return functions[k].finish(p, c, &r, out);
    }
    return KILN_OK;
}
