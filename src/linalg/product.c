/*
 * product.c - from arrays to a product: NumPy's rules of shapes, and strides of stacks.
 *
 *     a: (..., m, k)    b: (..., k, n)    y: (stacks broadcast, m, n)
 *
 * An operand with one axis is a row (a) or a column (b) of which y keeps no axis.
 */
#include "linalg/linalg.h"

/* Axes of an operand that belong to its stack. */
static int stack_of(const kiln_array *x)
{
    return x->rank > 2 ? x->rank - 2 : 0;
}

static kiln_status mismatch(const kiln_array *a, const kiln_array *b, const char *why,
                            kiln_error *err)
{
    char left[160], right[160];

    return kiln__fail(err, KILN_ERR_SHAPE, "no product of arrays of shapes %s and %s: %s",
                      kiln__shape_text(a->rank, a->shape, left, sizeof left),
                      kiln__shape_text(b->rank, b->shape, right, sizeof right), why);
}

kiln_status kiln__product_shape(const kiln_array *a, const kiln_array *b, kiln__product *p,
                                int *rank_out, int64_t *shape, kiln_error *err)
{
    char why[96];
    int rank = 0;

    if (a->rank == 0 || b->rank == 0)
        return mismatch(a, b, "each must have an axis", err);
    p->m = a->rank > 1 ? a->shape[a->rank - 2] : 1;
    p->k = a->shape[a->rank - 1];
    p->n = b->rank > 1 ? b->shape[b->rank - 1] : 1;
    const int64_t k = b->shape[b->rank > 1 ? b->rank - 2 : 0];
    if (k != p->k) {
        snprintf(why, sizeof why, "%lld columns do not meet %lld rows", (long long)p->k,
                 (long long)k);
        return mismatch(a, b, why, err);
    }
    if (!kiln__shape_broadcast(&rank, p->stack, stack_of(a), a->shape) ||
        !kiln__shape_broadcast(&rank, p->stack, stack_of(b), b->shape))
        return mismatch(a, b, "their stacks do not broadcast", err);
    p->stack_rank = rank;
    p->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = p->stack[axis];
        if (kiln__mul_overflow(p->count, p->stack[axis], &p->count))
            return mismatch(a, b, "the product has too many elements", err);
    }
    if (a->rank > 1)
        shape[rank++] = p->m;
    if (b->rank > 1)
        shape[rank++] = p->n;
    *rank_out = rank;
    return KILN_OK;
}

/* The strides of an operand over the stack of `p`; `row` and `column` tell which of its last axes those are,
 * counted from the end, 0 for none. */
static void bind(const kiln__product *p, const kiln_array *x, int row, int column, kiln__side *side)
{
    const int own = x->rank - (row > 0) - (column > 0);

    memset(side->step, 0, (size_t)p->stack_rank * sizeof side->step[0]);
    side->data = x->data;
    side->row = row > 0 ? x->strides[x->rank - row] : 0;
    side->column = column > 0 ? x->strides[x->rank - column] : 0;
    for (int axis = 0; axis < own; axis++)
        if (x->shape[axis] != 1)
            side->step[p->stack_rank - own + axis] = x->strides[axis];
}

kiln__view kiln__view_as(int64_t rows, int64_t columns, const kiln__side *side, size_t itemsize,
                         bool transposed)
{
    const int64_t item = (int64_t)itemsize;
    const int64_t inner = transposed ? side->column : side->row;
    const int64_t outer = transposed ? side->row : side->column;
    const int64_t high = transposed ? columns : rows, wide = transposed ? rows : columns;
    const int64_t step = wide > 1 ? outer / item : high;

    if ((high > 1 && inner != item) || step < high)
        return (kiln__view){false, false, 0};
    return (kiln__view){true, transposed, step > 0 ? step : 1};
}

kiln__view kiln__view_of(int64_t rows, int64_t columns, const kiln__side *side, size_t itemsize)
{
    const kiln__view plain = kiln__view_as(rows, columns, side, itemsize, false);

    return plain.fits ? plain : kiln__view_as(rows, columns, side, itemsize, true);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void drop_axis(kiln__product *p, int axis)
{
    kiln__side *const sides[] = {&p->a, &p->b, &p->c, &p->y};
    const size_t behind = (size_t)(p->stack_rank - 1 - axis) * sizeof(int64_t);

    memmove(&p->stack[axis], &p->stack[axis + 1], behind);
    for (size_t k = 0; k < KILN_COUNT_OF(sides); k++)
        memmove(&sides[k]->step[axis], &sides[k]->step[axis + 1], behind);
    p->stack_rank--;
}

/* Whether walking axis `axis` of the stack goes on where the next axis ends, for all sides. */
static bool goes_on(const kiln__product *p, int axis)
{
    const kiln__side *const sides[] = {&p->a, &p->b, &p->c, &p->y};

    for (size_t k = 0; k < KILN_COUNT_OF(sides); k++)
        if (sides[k]->step[axis] != sides[k]->step[axis + 1] * p->stack[axis + 1])
            return false;
    return true;
}

/* Whether c lies as y does. */
static bool c_fits(const kiln__product *p)
{
    const size_t item = kiln_dtype_size(p->out);
    const bool transposed = kiln__view_of(p->m, p->n, &p->y, item).transposed;

    return p->c.data == NULL || kiln__view_as(p->m, p->n, &p->c, item, transposed).fits;
}

/* Whether a BLAS takes the matrices of an operand and of the result. */
static bool both_fit(const kiln__product *p, const kiln__side *operand, int64_t rows,
                     int64_t columns)
{
    return kiln__view_of(rows, columns, operand, kiln_dtype_size(p->in)).fits &&
           kiln__view_of(p->m, p->n, &p->y, kiln_dtype_size(p->out)).fits && c_fits(p);
}

/* Make the last axis of the stack more rows of one product (`b` is the same for all of them), or more
 * columns. False where memory forbids. */
static bool widen(kiln__product *p)
{
    const int last = p->stack_rank - 1;
    const int64_t count = p->stack[last];
    kiln__product wide = *p;

    if (p->b.step[last] == 0 &&
        (p->m == 1 || (p->a.step[last] == p->a.row * p->m && p->y.step[last] == p->y.row * p->m &&
                       p->c.step[last] == p->c.row * p->m))) {
        if (p->m == 1) {
            wide.a.row = p->a.step[last];
            wide.c.row = p->c.step[last];
            wide.y.row = p->y.step[last];
        }
        wide.m *= count;
        if (!both_fit(&wide, &wide.a, wide.m, wide.k))
            return false;
    } else if (p->a.step[last] == 0 && p->n == 1 && p->bias == NULL) {
        wide.b.column = p->b.step[last];
        wide.c.column = p->c.step[last];
        wide.y.column = p->y.step[last];
        wide.n = count;
        if (!both_fit(&wide, &wide.b, wide.k, wide.n))
            return false;
    } else {
        return false;
    }
    *p = wide;
    p->count /= count;
    drop_axis(p, last);
    return true;
}

static void fold(kiln__product *p)
{
    for (int axis = p->stack_rank - 1; axis >= 0; axis--)
        if (p->stack[axis] == 1)
            drop_axis(p, axis);
    for (int axis = p->stack_rank - 2; axis >= 0; axis--)
        if (goes_on(p, axis)) {
            p->stack[axis + 1] *= p->stack[axis];
            drop_axis(p, axis);
        }
    while (p->stack_rank > 0 && widen(p))
        continue;
}

static void bind_result(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                        const kiln_array *y, kiln__side *side)
{
    bind(p, y, a->rank > 1 ? (b->rank > 1 ? 2 : 1) : 0, b->rank > 1 ? 1 : 0, side);
}

void kiln__product_bind(kiln__product *p, const kiln_array *a, const kiln_array *b,
                        const kiln_array *c, const kiln_array *y)
{
    bind(p, a, a->rank > 1 ? 2 : 0, 1, &p->a);
    bind(p, b, b->rank > 1 ? 2 : 1, b->rank > 1 ? 1 : 0, &p->b);
    bind_result(p, a, b, y, &p->y);
    if (c != NULL) {
        bind_result(p, a, b, c, &p->c);
    } else {
        p->c.data = NULL;
        p->c.row = p->c.column = 0;
        memset(p->c.step, 0, (size_t)p->stack_rank * sizeof p->c.step[0]);
    }
    fold(p);
}

bool kiln__product_reads(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                         const kiln_array *c, const kiln_array *y)
{
    kiln__product q = *p;

    bind_result(p, a, b, y, &q.y);
    bind_result(p, a, b, c, &q.c);
    return c_fits(&q);
}

void kiln__product_describe(size_t offset, kiln__step_note *note)
{
    static const size_t addresses[] = {
        offsetof(kiln__product, a.data), offsetof(kiln__product, b.data),
        offsetof(kiln__product, c.data), offsetof(kiln__product, y.data),
        offsetof(kiln__product, bias)};

    note->kernel = "matmul";
    note->place_count = KILN_COUNT_OF(addresses);
    for (size_t k = 0; note->places != NULL && k < note->place_count; k++)
        note->places[k] = (kiln__arg_place){
            (uint16_t)(offset + addresses[k]), sizeof(void *), 0, (uint8_t)k, true, 0, ""};
}
