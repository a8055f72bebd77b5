/*
 * views.c - recorded views: transpose, newaxis, flip, take, slice, broadcast and reshape.
 *
 *     lower > [views] > maps, reshape
 *
 * It checks a view against the shape of its operand, and makes the map (maps.c) of the view. Errors
 * name the recorded place.
 *
 * Tests: test_graph_loop, test_graph_bad.
 */
#include "fusion/build.h"

/* A view in the making: starts as the operand itself. */
typedef struct view_shape {
    int rank;
    int64_t shape[KILN_RANK_MAX + 1];
    kiln__axis_map map[KILN_RANK_MAX];
} view_shape;

static void transpose(kiln__build *b, uint32_t node, const kiln__lowered *o, view_shape *s)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *axes = n->all_axes ? NULL : b->ir->data + n->data;
    bool seen[KILN_RANK_MAX] = {false};

    if (!n->all_axes && n->data_count != (uint32_t)o->rank)
        kiln__build_fail(b, node, KILN_ERR_AXIS, "%u ax%s given for rank %d", n->data_count,
                         n->data_count == 1 ? "is was" : "es were", o->rank);
    for (int k = 0; k < o->rank; k++) {
        const int a = n->all_axes ? o->rank - 1 - k : kiln__lower_axis(b, node, axes[k], o->rank);
        if (seen[a])
            kiln__build_fail(b, node, KILN_ERR_AXIS, "axis %d is given twice", a);
        seen[a] = true;
        s->shape[k] = o->shape[a];
        s->map[a] = (kiln__axis_map){k, 0, 1};
    }
}

static void newaxis(kiln__build *b, uint32_t node, const kiln__lowered *o, view_shape *s)
{
    const int64_t axis = b->ir->data[b->ir->nodes[node].data];
    const int at = kiln__lower_axis(b, node, axis, o->rank + 1);
    for (int a = o->rank; a > at; a--)
        s->shape[a] = o->shape[a - 1];
    s->shape[at] = 1;
    for (int a = 0; a < o->rank; a++)
        s->map[a].from = a < at ? a : a + 1;
    s->rank = o->rank + 1;
}

static void take(kiln__build *b, uint32_t node, const kiln__lowered *o, view_shape *s)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const int at = kiln__lower_axis(b, node, data[0], o->rank);
    const int64_t index = data[1] < 0 ? data[1] + o->shape[at] : data[1];
    if (index < 0 || index >= o->shape[at])
        kiln__build_fail(b, node, KILN_ERR_AXIS,
                         "index %lld is out of range for axis %d, which has %lld elements",
                         (long long)data[1], at, (long long)o->shape[at]);
    for (int a = 0; a < o->rank; a++)
        s->map[a].from = a < at ? a : a - 1;
    s->map[at] = (kiln__axis_map){-1, index, 0};
    for (int a = at; a + 1 < o->rank; a++)
        s->shape[a] = o->shape[a + 1];
    s->rank = o->rank - 1;
}

/* Python's rules: bounds are clipped, negative ones count from the end. */
static int64_t clip_bound(int64_t bound, int64_t extent, int64_t low, int64_t high)
{
    if (bound < 0)
        bound = bound < -extent ? -1 : bound + extent;
    return bound < low ? low : bound > high ? high : bound;
}

static void slice(kiln__build *b, uint32_t node, const kiln__lowered *o, view_shape *s)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const int at = kiln__lower_axis(b, node, data[0], o->rank);
    const int64_t n = o->shape[at], step = data[3];
    if (step == 0) /* computed from extents */
        kiln__build_fail(b, node, KILN_ERR_AXIS, "the step is 0");
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const int64_t start =
        data[1] == KILN_SLICE_OPEN ? (step > 0 ? 0 : n - 1) : clip_bound(data[1], n, low, high);
    const int64_t stop =
        data[2] == KILN_SLICE_OPEN ? (step > 0 ? n : -1) : clip_bound(data[2], n, low, high);
    const uint64_t span = step > 0 ? (uint64_t)(stop > start ? stop - start : 0)
                                   : (uint64_t)(start > stop ? start - stop : 0);
    const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    s->shape[at] = (int64_t)((span + stride - 1) / stride);
    /* A step that leaves one element is not taken: its product with an index might not fit. */
    s->map[at] = s->shape[at] > 1 ? (kiln__axis_map){at, start, step}
                                  : (kiln__axis_map){at, s->shape[at] > 0 ? start : 0, 1};
}

static void broadcast(kiln__build *b, uint32_t node, const kiln__lowered *o, int rank,
                      const int64_t *shape, view_shape *s)
{
    bool fits = o->rank <= rank;
    s->rank = rank;
    for (int a = 0; fits && a < o->rank; a++)
        fits = o->shape[a] == 1 || o->shape[a] == shape[a + s->rank - o->rank];
    if (!fits)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%s does not broadcast to %s",
                         kiln__build_shape(b, o->rank, o->shape),
                         kiln__build_shape(b, s->rank, shape));
    if (rank > 0)
        memcpy(s->shape, shape, (size_t)rank * sizeof *shape);
    for (int a = 0; a < o->rank; a++)
        s->map[a] = o->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0}
                                     : (kiln__axis_map){a + s->rank - o->rank, 0, 1};
}

/* A value as it is, after its shape was compared with a mask's. */
static uint32_t masked(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__lowered *o = &b->lowered[operand];
    const kiln__lowered *mask =
        kiln__strong(b, b->ir->edges[b->ir->nodes[node].operands + 1]);

    if (mask->dtype != KILN_BOOL)
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "a mask is of bool, not of %s",
                         kiln_dtype_name(mask->dtype));
    if (mask->rank > o->rank ||
        !kiln__same_shape(mask->rank, o->shape, mask->rank, mask->shape))
        kiln__build_fail(
            b, node, KILN_ERR_SHAPE, "a mask of shape %s does not fit an array of shape %s",
            kiln__build_shape(b, mask->rank, mask->shape), kiln__build_shape(b, o->rank, o->shape));
    return operand;
}

/* A mask as it is, after its axes were counted. */
static uint32_t whole(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__lowered *x =
        kiln__strong(b, b->ir->edges[b->ir->nodes[node].operands + 1]);
    const kiln__lowered *mask = &b->lowered[operand];

    if (mask->rank != x->rank)
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "a mask of shape %s chooses parts of an array of shape %s, which form no "
                         "vector: axis=1 is the first of their own axes",
                         kiln__build_shape(b, mask->rank, mask->shape),
                         kiln__build_shape(b, x->rank, x->shape));
    return operand;
}

/* An array as it is, after a look at how it broadcasts with another one of which some axis has an extent that
 * only the device knows: along that axis it has one element, or none. */
static uint32_t beside(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    const int masked = n->operand_count > 2 ? kiln__strong(b, from[2])->rank : 0;
    const kiln__lowered *x = kiln__strong(b, from[1]), *o = &b->lowered[operand];
    const int at = masked > 0 ? masked - 1 : kiln__lower_axis(b, node, b->ir->data[n->data], x->rank);
    const int behind = x->rank - 1 - at, most = masked > 0 ? behind + 1 : x->rank;

    if (o->rank > most || (o->rank > behind && o->shape[o->rank - 1 - behind] != 1))
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "an array of shape %s stands beside elements whose number only the device "
                         "knows: along their axis it has one element, or it has no such axis",
                         kiln__build_shape(b, o->rank, o->shape));
    return operand;
}

/* An array as it is, after a look at where an axis of it stands beside one of another array. */
static uint32_t aligned(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *data = b->ir->data + n->data;
    const int other = kiln__strong(b, b->ir->edges[n->operands + 1])->rank;
    const int rank = b->lowered[operand].rank;

    if (rank - kiln__lower_axis(b, node, data[0], rank) !=
        other - kiln__lower_axis(b, node, data[1], other))
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "elements whose number only the device knows lie along axis %lld of an array of "
                         "rank %d, and along axis %lld of one of rank %d",
                         (long long)data[1], other, (long long)data[0], rank);
    return operand;
}

/* An array as it is, after two axes were compared. */
static uint32_t apart(kiln__build *b, uint32_t node, uint32_t operand)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const int rank = b->lowered[operand].rank;
    const int axis = kiln__lower_axis(b, node, data[0], rank);

    if (axis == kiln__lower_axis(b, node, data[1], rank))
        kiln__build_fail(b, node, KILN_ERR_AXIS,
                         "axis %lld is the one along which only the device knows how many elements "
                         "there are: write axis=%lld",
                         (long long)data[0], (long long)data[1]);
    return operand;
}

/* An array as it is, after its axes were counted. */
static uint32_t ranked(kiln__build *b, uint32_t node, uint32_t operand)
{
    static const char *const hints[] = {
        [KILN__HINT_NONE] = "",
        [KILN__HINT_AXIS] = ": write axis= for one of them",
        [KILN__HINT_PLACES] = ": `i, j = nonzero(x)` has the places along two axes, argwhere(x) along all"};
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const int rank = b->lowered[operand].rank;

    if (rank < data[0])
        kiln__build_fail(b, node, KILN_ERR_AXIS, "the array has %d ax%s, and %lld are needed", rank,
                         rank == 1 ? "is" : "es", (long long)data[0]);
    if (rank > data[1])
        kiln__build_fail(b, node, KILN_ERR_AXIS, "the array has %d axes, and %lld %s expected%s", rank,
                         (long long)data[1], data[1] == 1 ? "is" : "are", hints[data[2]]);
    return operand;
}

/* Some axes, from one on, as one. */
static uint32_t fold_axes(kiln__build *b, uint32_t node, uint32_t operand, int64_t at, int64_t count)
{
    const kiln__lowered *o = &b->lowered[operand];
    int64_t shape[KILN_RANK_MAX + 1];

    if (count == 1)
        return operand;
    const int rank = o->rank + 1 - (int)count;
    for (int a = 0; a < rank; a++)
        shape[a] = o->shape[a <= at ? a : a + (int)count - 1];
    for (int64_t a = 1; a < count; a++)
        shape[at] *= o->shape[at + a];
    return kiln__lowered_reshaped(b, operand, rank, shape, node);
}

/* The axes that are a mask's as one. An axis below 0 is where the last of them stands. */
static uint32_t folded(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__lowered *mask = kiln__strong(b, b->ir->edges[n->operands + 1]);
    const kiln__lowered *o = &b->lowered[operand];
    const int64_t data = b->ir->data[n->data];
    const int64_t at = data < 0 ? data + 1 + o->rank - mask->rank : data;

    if (mask->dtype != KILN_BOOL)
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "a mask is of bool, not of %s",
                         kiln_dtype_name(mask->dtype));
    if (mask->rank == 0 || at < 0 || at + mask->rank > o->rank ||
        !kiln__same_shape(mask->rank, o->shape + at, mask->rank, mask->shape))
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "a mask of shape %s does not fit an array of shape %s at axis %lld",
                         kiln__build_shape(b, mask->rank, mask->shape),
                         kiln__build_shape(b, o->rank, o->shape), (long long)data);
    return fold_axes(b, node, operand, at, mask->rank);
}

/* The last axes as one. */
static uint32_t merged(kiln__build *b, uint32_t node, uint32_t operand)
{
    const int64_t count = b->ir->data[b->ir->nodes[node].data + 1];
    const kiln__lowered *o = &b->lowered[operand];

    if (count < 1 || count > o->rank)
        kiln__build_fail(b, node, KILN_ERR_AXIS, "%lld axes are named of an array of rank %d",
                         (long long)count, o->rank);
    return fold_axes(b, node, operand, o->rank - count, count);
}

/* A mask of the first axes is true for all that lies behind them. What does not fit is told by masked(). */
static void lay_over(const kiln__lowered *o, const kiln__lowered *over, view_shape *s)
{
    s->rank = o->rank > over->rank ? o->rank : over->rank;
    for (int a = o->rank; a < over->rank; a++)
        s->shape[a] = over->shape[a];
}

/* Every element stands for all of an array of the second operand's shape. */
static void stand_before(kiln__build *b, uint32_t node, const kiln__lowered *o,
                         const kiln__lowered *behind, view_shape *s)
{
    s->rank = o->rank + behind->rank;
    if (s->rank > KILN_RANK_MAX)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "the result has more axes than there may be");
    for (int a = 0; a < behind->rank; a++)
        s->shape[o->rank + a] = behind->shape[a];
}

/* An array as it is, after a look for an index along an axis. */
static uint32_t holding(kiln__build *b, uint32_t node, uint32_t operand)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const kiln__lowered *o = &b->lowered[operand];
    const int64_t extent = o->shape[kiln__lower_axis(b, node, data[0], o->rank)];

    if (data[1] < -extent || data[1] >= extent)
        kiln__build_fail(b, node, KILN_ERR_AXIS, "kth is %lld, and a row has %lld elements",
                         (long long)data[1], (long long)extent);
    return operand;
}

/* An array as it is, after a look at how many elements it has along an axis. */
static uint32_t sized(kiln__build *b, uint32_t node, uint32_t operand)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const kiln__lowered *o = &b->lowered[operand];
    const int64_t extent = o->shape[kiln__lower_axis(b, node, data[0], o->rank)];

    if (extent != data[1])
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "%lld elements are needed along axis %lld, and the shape is %s",
                         (long long)data[1], (long long)data[0],
                         kiln__build_shape(b, o->rank, o->shape));
    return operand;
}

/* An array as it is where it has elements along some axes, else a number in their place. */
static uint32_t filled(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t number = b->ir->edges[n->operands + 1];
    const int rank = b->lowered[operand].rank, count = n->data_count > 0 ? (int)n->data_count : rank;
    const kiln__axis_map none = {0, 0, 1};
    int64_t shape[KILN_RANK_MAX];
    bool lacks = false;

    for (int a = 0; a < rank; a++)
        shape[a] = b->lowered[operand].shape[a];
    for (int k = 0; k < count; k++) {
        const int a =
            n->data_count > 0 ? kiln__lower_axis(b, node, b->ir->data[n->data + (size_t)k], rank) : k;
        lacks = lacks || shape[a] == 0;
        shape[a] += shape[a] == 0;
    }
    if (!lacks)
        return operand;
    const uint32_t low = kiln__lowered_strong(b, number);
    b->lowering.dtype[node] = b->lowering.dtype[number];
    return kiln__lowered_view(b, low, rank, shape, &none, node);
}

/* A number whose value only the device knows. */
static uint32_t weak(kiln__build *b, uint32_t node, uint32_t operand)
{
    b->lowering.numbers[node] = 'i';
    return operand;
}

static uint32_t fold(kiln__build *b, uint32_t node, uint32_t operand)
{
    return b->ir->nodes[node].operand_count == 1 ? merged(b, node, operand) : folded(b, node, operand);
}

/* Views that check their operand and leave it as it is, or join axes of it. */
static bool lower_unmoved(kiln__build *b, uint32_t node, uint32_t *operand)
{
    static uint32_t (*const views[])(kiln__build *, uint32_t, uint32_t) = {
        [KILN__VIEW_MASKED] = masked,   [KILN__VIEW_WHOLE] = whole, [KILN__VIEW_BESIDE] = beside,
        [KILN__VIEW_ALIGNED] = aligned, [KILN__VIEW_APART] = apart, [KILN__VIEW_RANKED] = ranked,
        [KILN__VIEW_WEAK] = weak,       [KILN__VIEW_HOLDING] = holding,
        [KILN__VIEW_SIZED] = sized,     [KILN__VIEW_FILLED] = filled,
        [KILN__VIEW_FOLDED] = fold};
    const size_t op = (size_t)b->ir->nodes[node].op;

    if (op >= KILN_COUNT_OF(views) || views[op] == NULL)
        return false;
    *operand = views[op](b, node, *operand);
    return true;
}

uint32_t kiln__lower_view(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__lowered *o = &b->lowered[operand];
    view_shape s;

    if (n->op == KILN__VIEW_RESHAPE)
        return kiln__lower_reshape(b, node, operand);
    if (lower_unmoved(b, node, &operand))
        return operand;
    memset(&s, 0, sizeof s);
    s.rank = o->rank;
    memcpy(s.shape, o->shape, (size_t)o->rank * sizeof *o->shape);
    for (int a = 0; a < o->rank; a++)
        s.map[a] = (kiln__axis_map){a, 0, 1};
    switch ((kiln__view_kind)n->op) {
    case KILN__VIEW_TRANSPOSE:
        transpose(b, node, o, &s);
        break;
    case KILN__VIEW_NEWAXIS:
        newaxis(b, node, o, &s);
        break;
    case KILN__VIEW_SELECT:
        take(b, node, o, &s);
        break;
    case KILN__VIEW_SLICE:
        slice(b, node, o, &s);
        break;
    case KILN__VIEW_BROADCAST:
        broadcast(b, node, o, (int)n->data_count, b->ir->data + n->data, &s);
        break;
    case KILN__VIEW_LIKE: {
        const kiln__lowered *like =
            kiln__strong(b, b->ir->edges[n->operands + 1]);
        o = &b->lowered[operand]; /* the list of lows may have moved */
        broadcast(b, node, o, like->rank, like->shape, &s);
        break;
    }
    case KILN__VIEW_OVER: {
        const uint32_t over = kiln__lowered_strong(b, b->ir->edges[n->operands + 1]);
        lay_over(&b->lowered[operand], &b->lowered[over], &s);
        break;
    }
    case KILN__VIEW_BEFORE: {
        const uint32_t behind = kiln__lowered_strong(b, b->ir->edges[n->operands + 1]);
        stand_before(b, node, &b->lowered[operand], &b->lowered[behind], &s);
        break;
    }
    case KILN__VIEW_FLIP: {
        const int at = kiln__lower_axis(b, node, b->ir->data[n->data], o->rank);
        s.map[at] = (kiln__axis_map){at, o->shape[at] > 0 ? o->shape[at] - 1 : 0, -1};
        break;
    }
    default: /* it was done above */
        break;
    }
    return kiln__lowered_view(b, operand, s.rank, s.shape, s.map, node);
}
