/*
 * lens.c - views as maps of axes: transpose, newaxis, slice and their kin, and broadcasting.
 *
 * A view moves nothing: for each axis of what is viewed it says which axis of the viewer steps
 * along it, from where and how far. Maps compose, so that any chain of views is one, and what is
 * computed is computed for just the elements that a view shows.
 *
 * Rule: maps are canonical. An axis that has one index, or is seen at one index only, has from -1
 * and step 0; equal views then have equal maps.
 */
#include "codegen/graph/build.h"

bool kiln__same_map(const kiln__axis_map *a, const kiln__axis_map *b, int count)
{
    for (int k = 0; k < count; k++)
        if (a[k].from != b[k].from || a[k].start != b[k].start || a[k].step != b[k].step)
            return false;
    return true;
}

void kiln__compose(const kiln__axis_map *outer, const kiln__axis_map *inner, int count,
                   kiln__axis_map *out)
{
    for (int a = 0; a < count; a++) {
        const kiln__axis_map in = inner[a];
        if (in.from < 0) {
            out[a] = in;
            continue;
        }
        const kiln__axis_map by = outer[in.from];
        out[a] = (kiln__axis_map){by.from, in.start + in.step * by.start, in.step * by.step};
        if (by.from < 0)
            out[a].step = 0;
    }
}

void kiln__broadcast_map(const kiln__low *operand, int rank, const int64_t *shape,
                         kiln__axis_map *map_out)
{
    for (int a = 0; a < operand->rank; a++) {
        const int from = a + rank - operand->rank;
        const bool moves = operand->shape[a] != 1 && shape[from] != 1;
        map_out[a] = moves ? (kiln__axis_map){from, 0, 1} : (kiln__axis_map){-1, 0, 0};
    }
}

static bool is_identity(const kiln__low *o, int rank, const int64_t *shape,
                        const kiln__axis_map *map)
{
    if (!kiln__same_shape(o->rank, o->shape, rank, shape))
        return false;
    for (int a = 0; a < rank; a++)
        if (o->shape[a] != 1 && (map[a].from != a || map[a].start != 0 || map[a].step != 1))
            return false;
    return true;
}

/* The view of an argument's array: strides and offset instead of a map. */
static uint32_t view_leaf(kiln__build *b, const kiln__low *leaf, kiln__low *made)
{
    made->kind = KILN__LOW_LEAF;
    made->arg = leaf->arg;
    made->offset = leaf->offset;
    made->strides = kiln__build_alloc(b, (size_t)made->rank * sizeof *made->strides);
    for (int a = 0; a < leaf->rank; a++) {
        made->offset += made->map[a].start * leaf->strides[a];
        if (made->map[a].from >= 0)
            made->strides[made->map[a].from] += made->map[a].step * leaf->strides[a];
    }
    if (made->size == 0)
        made->offset = leaf->offset;
    made->map = NULL;
    return kiln__low_add(b, made);
}

uint32_t kiln__low_view(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                        const kiln__axis_map *map, uint32_t origin)
{
    const kiln__low *o = &b->lows[low];
    kiln__low made = {.kind = KILN__LOW_LENS, .dtype = o->dtype, .rank = rank, .origin = origin};

    if (rank > KILN_RANK_MAX)
        kiln__build_fail(b, origin, KILN_ERR_ARGUMENT, "the result would have %d axes; %d are allowed",
                         rank, KILN_RANK_MAX);
    if (is_identity(o, rank, shape, map))
        return low;
    made.shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape);
    made.size = kiln__low_size(b, origin, rank, shape, o->dtype);
    made.map = kiln__build_copy(b, map, (size_t)o->rank * sizeof *map);
    for (int a = 0; a < o->rank; a++) {
        kiln__axis_map *m = &made.map[a];
        if (m->from < 0 || shape[m->from] == 1)
            *m = (kiln__axis_map){-1, m->start, 0};
    }
    if (o->kind == KILN__LOW_LEAF)
        return view_leaf(b, o, &made);
    if (o->kind == KILN__LOW_LENS) {
        const kiln__low *behind = &b->lows[o->operand[0]];
        kiln__axis_map *through = kiln__build_alloc(b, (size_t)behind->rank * sizeof *through);
        kiln__compose(made.map, o->map, behind->rank, through);
        return kiln__low_view(b, o->operand[0], rank, shape, through, origin);
    }
    made.operand = kiln__build_copy(b, &low, sizeof low);
    made.operand_count = 1;
    return kiln__low_add(b, &made);
}

/* ---- recorded views --------------------------------------------------------------------------------- */

int kiln__lower_axis(kiln__build *b, uint32_t node, int64_t axis, int rank)
{
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
        kiln__build_fail(b, node, KILN_ERR_AXIS, "axis %lld is out of range for rank %d",
                         (long long)axis, rank);
    return (int)at;
}

/* A view in the making: starts as the operand itself. */
typedef struct sight {
    int rank;
    int64_t shape[KILN_RANK_MAX + 1];
    kiln__axis_map map[KILN_RANK_MAX];
} sight;

static void transpose(kiln__build *b, uint32_t node, const kiln__low *o, sight *s)
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

static void newaxis(kiln__build *b, uint32_t node, const kiln__low *o, sight *s)
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

static void take(kiln__build *b, uint32_t node, const kiln__low *o, sight *s)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const int at = kiln__lower_axis(b, node, data[0], o->rank);
    const int64_t index = data[1] < 0 ? data[1] + o->shape[at] : data[1];
    if (index < 0 || index >= o->shape[at])
        kiln__build_fail(b, node, KILN_ERR_AXIS, "index %lld is out of range for %lld elements",
                         (long long)data[1], (long long)o->shape[at]);
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

static void slice(kiln__build *b, uint32_t node, const kiln__low *o, sight *s)
{
    const int64_t *data = b->ir->data + b->ir->nodes[node].data;
    const int at = kiln__lower_axis(b, node, data[0], o->rank);
    const int64_t n = o->shape[at], step = data[3];
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const int64_t start = data[1] == KILN_SLICE_OPEN ? (step > 0 ? 0 : n - 1)
                                                     : clip_bound(data[1], n, low, high);
    const int64_t stop = data[2] == KILN_SLICE_OPEN ? (step > 0 ? n : -1)
                                                    : clip_bound(data[2], n, low, high);
    const uint64_t span = step > 0 ? (uint64_t)(stop > start ? stop - start : 0)
                                   : (uint64_t)(start > stop ? start - stop : 0);
    const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    s->shape[at] = (int64_t)((span + stride - 1) / stride);
    /* A step that leaves one element is not taken: its product with an index might not fit. */
    s->map[at] = s->shape[at] > 1 ? (kiln__axis_map){at, start, step}
                                  : (kiln__axis_map){at, s->shape[at] > 0 ? start : 0, 1};
}

static void broadcast(kiln__build *b, uint32_t node, const kiln__low *o, sight *s)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *shape = b->ir->data + n->data;
    bool fits = (uint32_t)o->rank <= n->data_count;
    s->rank = (int)n->data_count;
    for (int a = 0; fits && a < o->rank; a++)
        fits = o->shape[a] == 1 || o->shape[a] == shape[a + s->rank - o->rank];
    if (!fits)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%s does not broadcast to %s",
                         kiln__build_shape(b, o->rank, o->shape),
                         kiln__build_shape(b, s->rank, shape));
    memcpy(s->shape, shape, (size_t)s->rank * sizeof *shape);
    for (int a = 0; a < o->rank; a++)
        s->map[a] = o->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0}
                                     : (kiln__axis_map){a + s->rank - o->rank, 0, 1};
}

uint32_t kiln__lower_view(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__low *o = &b->lows[operand];
    sight s;

    if (n->op == KILN__VIEW_RESHAPE)
        return kiln__lower_reshape(b, node, operand);
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
    case KILN__VIEW_TAKE:
        take(b, node, o, &s);
        break;
    case KILN__VIEW_SLICE:
        slice(b, node, o, &s);
        break;
    case KILN__VIEW_BROADCAST:
        broadcast(b, node, o, &s);
        break;
    case KILN__VIEW_FLIP: {
        const int at = kiln__lower_axis(b, node, b->ir->data[n->data], o->rank);
        s.map[at] = (kiln__axis_map){at, o->shape[at] > 0 ? o->shape[at] - 1 : 0, -1};
        break;
    }
    case KILN__VIEW_RESHAPE:
        break;
    }
    return kiln__low_view(b, operand, s.rank, s.shape, s.map, node);
}
