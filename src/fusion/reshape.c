/*
 * reshape.c - reshapes, moved to where they cost nothing.
 *
 *     views, joins > [reshape]
 *
 * A reshape of an array is a view if its strides allow it. A reshape of a computed value is the
 * same computation on reshaped operands, if each operand can be reshaped without a copy. So a
 * reshape moves down through operations until it meets arrays. Where it cannot, the value is stored
 * in C-order and the result is a view of the stored value. Joins, and values that another reshape
 * has stored, are stored already.
 *
 * Tests: test_graph_loop, test_graph_plan.
 */
#include "fusion/build.h"

/* The map of a reshape that only drops, or inserts, axes of one index. */
static bool unit_map(const kiln__lowered *o, int rank, const int64_t *shape, kiln__axis_map *map)
{
    int at = 0;
    for (int a = 0; a < o->rank; a++) {
        map[a] = (kiln__axis_map){-1, 0, 0};
        if (o->shape[a] == 1)
            continue;
        while (at < rank && shape[at] == 1)
            at++;
        if (at == rank || shape[at] != o->shape[a])
            return false;
        map[a] = (kiln__axis_map){at++, 0, 1};
    }
    while (at < rank && shape[at] == 1)
        at++;
    return at == rank;
}

/* A lowered node on its way to a shape. */
typedef struct sinking {
    struct sinking *user; /* whose operand it is */
    uint32_t low;
    int rank;
    const int64_t *shape;
    void **known;   /* where the result is kept, for further uses */
    uint32_t count; /* operands that have been reshaped */
    uint32_t operands[KILN__OP_ARITY_MAX];
} sinking;

static sinking *begin_sinking(kiln__build *b, sinking *user, uint32_t low, int rank,
                              const int64_t *shape)
{
    sinking *made = kiln__build_alloc(b, sizeof *made);
    kiln__buf *key = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__buf_put(key, (const char *)&low, sizeof low);
    if (rank > 0)
        kiln__buf_put(key, (const char *)shape, (size_t)rank * sizeof *shape);
    made->known = kiln__build_find(b, KILN__MAP_RESHAPED, key);
    made->user = user;
    made->low = low;
    made->rank = rank;
    made->shape = shape;
    return made;
}

/* Whether a lowered node is reshaped by itself, or cannot be: `*out` is the result, 0 for none. */
static bool sinks_alone(kiln__build *b, const sinking *s, uint32_t origin, uint32_t *out)
{
    const kiln__lowered *n = &b->lowered[s->low];
    kiln__axis_map map[KILN_RANK_MAX];
    int64_t strides[KILN_RANK_MAX];
    kiln__lowered made = *n;

    *out = 0;
    if (unit_map(n, s->rank, s->shape, map)) {
        *out = kiln__lowered_view(b, s->low, s->rank, s->shape, map, origin);
        return true;
    }
    if (n->kind != KILN__LOWERED_LEAF && n->kind != KILN__LOWERED_IOTA)
        return n->kind != KILN__LOWERED_EXPR && n->kind != KILN__LOWERED_CAST;
    const bool leaf = n->kind == KILN__LOWERED_LEAF;
    if (!kiln__reshape_strides(n->rank, n->shape, leaf ? n->strides : n->coef,
                               leaf ? kiln_dtype_size(n->dtype) : 0, s->rank, s->shape, strides))
        return true;
    made.rank = s->rank;
    made.shape = kiln__build_copy(b, s->shape, (size_t)s->rank * sizeof *s->shape);
    *(leaf ? &made.strides : &made.coef) =
        kiln__build_copy(b, strides, (size_t)s->rank * sizeof *strides);
    *out = kiln__lowered_add(b, &made);
    return true;
}

/* An operation over its reshaped operands. */
static uint32_t sink_operation(kiln__build *b, const sinking *s)
{
    kiln__lowered made = b->lowered[s->low];
    made.rank = s->rank;
    made.shape = kiln__build_copy(b, s->shape, (size_t)s->rank * sizeof *s->shape);
    made.operand = kiln__build_copy(b, s->operands, made.operand_count * sizeof *s->operands);
    return kiln__lowered_add(b, &made);
}

/* Look at a lowered node, or at its next operand. True when its result is known; else `*next` is
 * what must be reshaped first, if anything. */
static bool sink_step(kiln__build *b, sinking *s, uint32_t origin, uint32_t *result, sinking **next)
{
    *next = NULL;
    if (*s->known != NULL) {
        *result = (uint32_t)((uintptr_t)*s->known - 1);
        return true;
    }
    if (s->count == 0 && sinks_alone(b, s, origin, result))
        return true;
    const kiln__lowered *n = &b->lowered[s->low];
    if (s->count == n->operand_count) {
        *result = sink_operation(b, s);
        return true;
    }
    const kiln__lowered *o = &b->lowered[n->operand[s->count]];
    *result = 0;
    if (o->size == 1 && n->size != 1 && o->rank == 0)
        s->operands[s->count] = n->operand[s->count], s->count++;
    else if (o->size == 1 && n->size != 1)
        *next = begin_sinking(b, s, n->operand[s->count], 0, NULL);
    else if (kiln__same_shape(o->rank, o->shape, n->rank, n->shape))
        *next = begin_sinking(b, s, n->operand[s->count], s->rank, s->shape);
    else
        return true;
    return false;
}

/* The reshaped lowered node when it costs nothing, else 0. `origin` is the recorded reshape. Each
 * lowered node is reshaped once, and without recursion: expressions share operands, and may be as
 * deep as graphs. */
static uint32_t sink(kiln__build *b, uint32_t low, int rank, const int64_t *shape, uint32_t origin)
{
    uint32_t result = 0;
    sinking *next = NULL;
    for (sinking *s = begin_sinking(b, NULL, low, rank, shape); s != NULL;) {
        b->work++;
        if (!sink_step(b, s, origin, &result, &next)) {
            s = next != NULL ? next : s;
            continue;
        }
        for (; s != NULL; s = s->user) { /* what cannot be reshaped ends all that use it */
            *s->known = (void *)((uintptr_t)result + 1);
            if (result != 0)
                break;
        }
        s = s != NULL ? s->user : NULL;
        if (s != NULL)
            s->operands[s->count++] = result;
    }
    return result;
}

uint32_t kiln__lowered_reshaped(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                                uint32_t node)
{
    const kiln__lowered o = b->lowered[low];

    if (o.size > 0) {
        const uint32_t found = sink(b, low, rank, shape, node);
        if (found != 0)
            return found;
    }
    const uint32_t kept = o.kind == KILN__LOWERED_JOIN       ? low
                          : o.kind == KILN__LOWERED_RESHAPED ? o.operand[0]
                                                             : kiln__lowered_store(b, low, node);
    b->lowered[kept].c_order = true;
    const kiln__lowered made = {.kind = KILN__LOWERED_RESHAPED,
                                .dtype = o.dtype,
                                .rank = rank,
                                .shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape),
                                .size = o.size,
                                .operand = kiln__build_copy(b, &kept, sizeof kept),
                                .operand_count = 1,
                                .origin = node};
    return kiln__lowered_add(b, &made);
}

uint32_t kiln__lower_reshape(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__lowered o = b->lowered[operand];
    const kiln__lowered *like =
        n->operand_count == 1
            ? NULL
            : kiln__strong(b, b->ir->edges[n->operands + 1]);
    const int rank = like != NULL ? like->rank : (int)n->data_count;
    const int64_t *wanted = like != NULL ? like->shape : b->ir->data + n->data;
    int64_t shape[KILN_RANK_MAX], known = 1;
    int open = -1;

    memcpy(shape, wanted, (size_t)rank * sizeof *shape);
    for (int a = 0; a < rank; a++) {
        if (shape[a] == -1 && open >= 0)
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "two extents are -1");
        if (shape[a] == -1)
            open = a;
        else if (kiln__mul_overflow(known, shape[a], &known))
            known = 0;
    }
    if (open >= 0 && known == 0)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%s cannot be %s: no extent -1 follows from one of 0",
                         kiln__build_shape(b, o.rank, o.shape),
                         kiln__build_shape(b, rank, wanted));
    if (open >= 0)
        shape[open] = o.size / known;
    if (kiln__lowered_size(b, node, rank, shape, o.dtype) != o.size)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%s cannot be %s",
                         kiln__build_shape(b, o.rank, o.shape),
                         kiln__build_shape(b, rank, wanted));
    return kiln__lowered_reshaped(b, operand, rank, shape, node);
}
