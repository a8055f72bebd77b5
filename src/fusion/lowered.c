/*
 * lowered.c - the functions that make lowered nodes.
 *
 *     lower, and other passes > [lowered]
 *
 * Rule: two expressions that differ only in notation are the same lowered node: one may cast a
 *       value to the dtype that it has already, or transpose it twice.
 *
 * Test: test_graph_dag.
 */
#include "fusion/build.h"

int64_t kiln__lowered_size(kiln__build *b, uint32_t origin, int rank, const int64_t *shape,
                           kiln_dtype dtype)
{
    int64_t size = 1, bytes = (int64_t)kiln_dtype_size(dtype);
    bool empty = false;
    /* Without elements there are strides all the same, as in kiln__shape_size(). */
    for (int a = 0; a < rank; a++) {
        empty = empty || shape[a] == 0;
        if (shape[a] != 0 && (kiln__mul_overflow(size, shape[a], &size) ||
                              kiln__mul_overflow(bytes, shape[a], &bytes) ||
                              bytes > KILN__ARRAY_BYTES_MAX))
            kiln__build_fail(b, origin, KILN_ERR_OVERFLOW, "shape %s has too many elements",
                             kiln__build_shape(b, rank, shape));
    }
    return empty ? 0 : size;
}

bool kiln__same_map(const kiln__axis_map *a, const kiln__axis_map *b, int count)
{
    for (int k = 0; k < count; k++)
        if (a[k].from != b[k].from || a[k].start != b[k].start || a[k].step != b[k].step)
            return false;
    return true;
}

static bool same_list(const void *x, const void *y, size_t bytes)
{
    return (x == NULL) == (y == NULL) && (x == NULL || bytes == 0 || memcmp(x, y, bytes) == 0);
}

/* Whether the results of two recorded nodes come from one kernel, or one operation, wherever their
 * operands were recorded. */
static bool same_custom(const kiln__build *b, const kiln__node *x, const kiln__node *y)
{
    if (x == y || x == NULL || y == NULL)
        return x == y;
    return x->kind == y->kind && x->kernel == y->kernel && x->result == y->result &&
           x->data_count == y->data_count && x->all_axes == y->all_axes &&
           (x->data_count == 0 || memcmp(b->ir->data + x->data, b->ir->data + y->data,
                                         x->data_count * sizeof *b->ir->data) == 0);
}

static bool same_low(const kiln__build *b, const kiln__lowered *x, const kiln__lowered *y)
{
    const size_t axes = (size_t)x->rank * sizeof(int64_t);
    if (x->kind != y->kind || x->dtype != y->dtype || x->operand_count != y->operand_count ||
        !kiln__same_shape(x->rank, x->shape, y->rank, y->shape) || x->arg != y->arg ||
        x->offset != y->offset || x->op != y->op || x->keepdims != y->keepdims ||
        !same_custom(b, x->custom, y->custom) || x->output != y->output ||
        x->loop.expression != y->loop.expression || x->loop.type != y->loop.type ||
        !kiln__number_same(&x->number, &y->number))
        return false;
    if (!same_list(x->operand, y->operand, x->operand_count * sizeof *x->operand) ||
        !same_list(x->strides, y->strides, axes) || !same_list(x->coef, y->coef, axes))
        return false;
    if (x->map != NULL && !kiln__same_map(x->map, y->map, b->lowered[x->operand[0]].rank))
        return false;
    return x->reduced == NULL ||
           (x->space_rank == y->space_rank &&
            memcmp(x->reduced, y->reduced, (size_t)x->space_rank * sizeof *x->reduced) == 0);
}

/* Of all that same_low() compares, what tells most lowered nodes apart. */
static uint32_t hash_low(const kiln__lowered *n)
{
    uint32_t hash = kiln__mix((uint32_t)n->kind, (uint64_t)n->op << 32 | (uint32_t)n->dtype);

    hash = kiln__mix(hash, (uint64_t)n->arg << 32 | (uint32_t)n->rank);
    hash = kiln__mix(hash, (uint64_t)n->offset);
    hash = kiln__mix(hash, (uintptr_t)n->loop.expression);
    hash = kiln__mix(hash, n->number.kind == 'b'   ? n->number.value.b
                           : n->number.kind == 'c' ? 0
                                                   : n->number.value.u);
    for (int a = 0; a < n->rank; a++)
        hash = kiln__mix(hash, (uint64_t)n->shape[a]);
    for (uint32_t k = 0; k < n->operand_count; k++)
        hash = kiln__mix(hash, n->operand[k]);
    return hash;
}

static void enter(kiln__build *b, uint32_t low)
{
    uint32_t *bucket = &b->lowered_buckets[b->lowered[low].hash & (b->lowered_capacity - 1)];

    b->lowered[low].older = *bucket;
    *bucket = low;
}

/* Twice the room; what was there stays in the arena, for pointers into it may be in use. */
static void grow_lowered(kiln__build *b)
{
    const uint32_t capacity = b->lowered_capacity == 0 ? 64 : 2 * b->lowered_capacity;
    kiln__lowered *moved = kiln__build_alloc(b, capacity * sizeof *moved);

    if (b->lowered_count > 0)
        memcpy(moved, b->lowered, b->lowered_count * sizeof *moved);
    b->lowered = moved;
    b->lowered_capacity = capacity;
    b->lowered_buckets = kiln__build_alloc(b, capacity * sizeof *b->lowered_buckets);
    if (b->lowered_count == 0)
        b->lowered_count = 1;
    for (uint32_t low = 1; low < b->lowered_count; low++)
        enter(b, low);
}

/* Whether a table is read by indices alone, along all its axes: then it gives a kernel no shape. */
static bool is_table_alone(const kiln__build *b, const kiln__lowered *n, uint32_t operand)
{
    const kiln__lowered *table = &b->lowered[n->operand[operand]];

    if (n->kind != KILN__LOWERED_GATHER || operand != 0)
        return false;
    for (int a = 0; a < table->rank; a++)
        if (n->map[a].from >= 0)
            return false;
    return true;
}

uint32_t kiln__lowered_add(kiln__build *b, const kiln__lowered *model)
{
    const uint32_t hash = hash_low(model);

    if (b->lowered_count == b->lowered_capacity)
        grow_lowered(b);
    for (uint32_t k = b->lowered_buckets[hash & (b->lowered_capacity - 1)]; k != 0;
         k = b->lowered[k].older)
        if (b->lowered[k].hash == hash && same_low(b, &b->lowered[k], model))
            return k;
    kiln__lowered *made = &b->lowered[b->lowered_count];
    *made = *model;
    if (made->shape == NULL) /* a node without axes; shapes are copied without a look at the rank */
        made->shape = kiln__build_alloc(b, sizeof *made->shape);
    made->id = b->lowered_count;
    made->hash = hash;
    enter(b, b->lowered_count);
    made->memory = made->kind == KILN__LOWERED_LEAF || made->kind == KILN__LOWERED_REDUCE ||
                   made->kind == KILN__LOWERED_CUSTOM || made->kind == KILN__LOWERED_STORE;
    made->of_numbers =
        made->kind == KILN__LOWERED_CONST || made->kind == KILN__LOWERED_SCALAR ||
        (made->rank == 0 && (made->kind == KILN__LOWERED_EXPR || made->kind == KILN__LOWERED_CAST));
    for (uint32_t k = 0; k < made->operand_count; k++) {
        made->memory =
            made->memory || (b->lowered[made->operand[k]].memory && !is_table_alone(b, made, k));
        made->of_numbers = made->of_numbers && b->lowered[made->operand[k]].of_numbers;
    }
    return b->lowered_count++;
}

/* A computed lowered node over operands, shaped like the model says. */
uint32_t kiln__lowered_over(kiln__build *b, kiln__lowered *model, const uint32_t *operands,
                            size_t count)
{
    model->operand = kiln__build_copy(b, operands, count * sizeof *operands);
    model->operand_count = (uint32_t)count;
    return kiln__lowered_add(b, model);
}

uint32_t kiln__lowered_cast(kiln__build *b, uint32_t low, kiln_dtype dtype, uint32_t origin)
{
    const kiln__lowered *o = &b->lowered[low];
    if (o->dtype == dtype)
        return low;
    kiln__lowered made = {.kind = KILN__LOWERED_CAST,
                          .dtype = dtype,
                          .rank = o->rank,
                          .shape = o->shape,
                          .size = kiln__lowered_size(b, origin, o->rank, o->shape, dtype),
                          .origin = origin};
    return kiln__lowered_over(b, &made, &low, 1);
}

uint32_t kiln__lowered_store(kiln__build *b, uint32_t low, uint32_t origin)
{
    const kiln__lowered *o = &b->lowered[low];
    kiln__lowered made = {.kind = KILN__LOWERED_STORE,
                          .dtype = o->dtype,
                          .rank = o->rank,
                          .shape = o->shape,
                          .size = o->size,
                          .origin = origin};
    return kiln__lowered_over(b, &made, &low, 1);
}

/* ---- operations ---------------------------------------------------------------------------- */

/* The shapes of operands for a message: "(3, 4) and (5,)". */
static const char *shapes_text(kiln__build *b, const uint32_t *operands, size_t count)
{
    kiln__buf *text = &b->scratch[0];
    for (size_t k = 0; k < count; k++) {
        const kiln__lowered *o = &b->lowered[operands[k]];
        if (k > 0)
            kiln__buf_puts(text, k + 1 == count ? " and " : ", ");
        kiln__buf_puts(text, kiln__build_shape(b, o->rank, o->shape));
    }
    return kiln__build_text(b, text);
}

void kiln__shape_over(kiln__build *b, uint32_t node, const uint32_t *operands, size_t count,
                      kiln__lowered *made)
{
    int64_t shape[KILN_RANK_MAX];
    int rank = 0;
    for (size_t k = 0; k < count; k++) {
        const kiln__lowered *o = &b->lowered[operands[k]];
        if (!kiln__shape_broadcast(&rank, shape, o->rank, o->shape))
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "shapes %s do not broadcast together",
                             shapes_text(b, operands, count));
    }
    made->rank = rank;
    made->shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape);
}

/* Pass on what ops.c found wrong, with the place. */
void kiln__check_resolved(kiln__build *b, uint32_t node, kiln_status status, kiln_error *err)
{
    char text[300];
    if (status == KILN_OK)
        return;
    snprintf(text, sizeof text, "%.290s", err->message);
    kiln_error_clear(err);
    kiln__build_fail(b, node, status, "%s", text);
}

void kiln__resolve_op(kiln__build *b, uint32_t node, const kiln__op *op, const kiln__op_type *types,
                      kiln__op_loop *out)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln__check_resolved(b, node, kiln__op_resolve(op, types, out, &err), &err);
}

uint32_t kiln__lowered_op(kiln__build *b, uint32_t node, kiln_op op, const uint32_t *operands,
                          size_t count)
{
    kiln__lowered made = {.kind = KILN__LOWERED_EXPR, .origin = node};
    kiln__op_type types[KILN__OP_ARITY_MAX];
    memset(types, 0, sizeof types);
    for (size_t k = 0; k < count; k++)
        types[k].dtype = b->lowered[operands[k]].dtype;
    kiln__resolve_op(b, node, kiln__op_find(op), types, &made.loop);
    made.dtype = made.loop.out;
    kiln__shape_over(b, node, operands, count, &made);
    made.size = kiln__lowered_size(b, node, made.rank, made.shape, made.dtype);
    return kiln__lowered_over(b, &made, operands, count);
}

void kiln__row_bytes(kiln__build *b, uint32_t low, const bool *reduced, int64_t *bytes,
                     int64_t *weight)
{
    const kiln__lowered *n = &b->lowered[low];
    int64_t along = INT64_MAX, across = INT64_MAX;
    if (!kiln__mark(b, &b->marks, low))
        return;
    if (n->kind != KILN__LOWERED_LEAF) {
        for (uint32_t k = 0; kiln__lowered_computed(n) && k < n->operand_count; k++) {
            const kiln__lowered *o = &b->lowered[n->operand[k]];
            if (kiln__same_shape(n->rank, n->shape, o->rank, o->shape))
                kiln__row_bytes(b, n->operand[k], reduced, bytes, weight);
        }
        return;
    }
    for (int a = 0; a < n->rank; a++) {
        const int64_t stride = n->strides[a] < 0 ? -n->strides[a] : n->strides[a];
        int64_t *least = reduced[a] ? &along : &across;
        if (n->shape[a] > 1 && stride > 0 && stride < *least)
            *least = stride;
    }
    *bytes += (int64_t)kiln_dtype_size(n->dtype);
    *weight += (along <= across ? 1 : -1) * (int64_t)kiln_dtype_size(n->dtype);
}
