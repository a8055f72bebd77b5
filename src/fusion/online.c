/*
 * online.c - sums of exp(x - max(x)) in the same pass that finds max(x).
 *
 *     lower > facts > [online] > states
 *
 * Softmax and logsumexp subtract a row's maximum before they take exponentials. As written, the sum
 * needs a second pass over the row. One pass computes both if its accumulator holds the maximum so
 * far and the sum that belongs to it; when a greater value comes, the sum is multiplied by an
 * exponential (M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax",
 * arXiv:1805.02867). This pass replaces the two reductions by such ones, which share the
 * accumulator (states.c).
 *
 * Rule 1: the maximum is exact. The sum is that of float32 or float64, whose rounding is not
 *         defined in any case. 16-bit floats round each difference and each exponential, so they
 *         stay as they are unless they are kept wide.
 * Rule 2: this is for long rows on CUDA. Rows that are held on chip are read once in any case.
 *
 * Tests: test_graph_plan tests the kernels, test_graph_online their results on CUDA.
 */
#include "fusion/build.h"

enum { ROW_BYTES_MIN = 32 << 10 }; /* shorter rows are read at the speed of memory as they are */

/* Whether a lowered node is an operation as it is resolved for its own dtype. */
static bool is_op(kiln__build *b, const kiln__lowered *n, kiln_op op, uint32_t operands)
{
    kiln__op_type types[KILN__OP_ARITY_MAX];
    kiln__op_loop loop;

    if (n->kind != KILN__LOWERED_EXPR || n->operand_count != operands)
        return false;
    memset(types, 0, sizeof types);
    for (uint32_t k = 0; k < operands; k++)
        types[k].dtype = n->dtype;
    kiln__resolve_op(b, n->origin, kiln__op_find(op), types, &loop);
    return strcmp(n->loop.expression, loop.expression) == 0;
}

static bool is_exp(kiln__build *b, const kiln__lowered *n)
{
    return is_op(b, n, KILN_OP_EXP, 1) ||
           (n->kind == KILN__LOWERED_EXPR && strcmp(n->loop.expression, "kiln_wide_exp($0)") == 0);
}

/* Whether `low` is `x`, or the 16-bit floats that `x` widens: their greatest one is the same. */
static bool is_same_value(const kiln__build *b, uint32_t low, uint32_t x)
{
    return low == x ||
           (b->lowered[x].kind == KILN__LOWERED_CAST && b->lowered[x].operand[0] == low &&
            kiln_dtype_kind(b->lowered[low].dtype) == 'f' &&
            kiln_dtype_size(b->lowered[low].dtype) == 2);
}

/* The greatest value of each row of `x`, where `low` is that, seen by every element of its own row. */
static kiln__lowered *greatest_of(kiln__build *b, uint32_t low, uint32_t x,
                                  const kiln__lowered *sum)
{
    const kiln__lowered *seen = &b->lowered[low];
    kiln__lowered *most = &b->lowered[seen->kind == KILN__LOWERED_VIEW ? seen->operand[0] : low];
    const kiln__axis_map *map = seen->kind == KILN__LOWERED_VIEW ? seen->map : NULL;
    int own = 0;

    if (most->kind != KILN__LOWERED_REDUCE || most->dtype != sum->dtype ||
        !is_same_value(b, most->operand[0], x) ||
        (most->op != KILN_REDUCE_MAX && most->op != KILN__REDUCE_SUMEXP_MAX) ||
        seen->rank != sum->space_rank ||
        memcmp(most->reduced, sum->reduced, (size_t)sum->space_rank * sizeof *sum->reduced) != 0)
        return NULL;
    for (int a = 0; a < sum->space_rank; a++) {
        if (sum->reduced[a] ? seen->shape[a] != 1 && map == NULL : seen->shape[a] != sum->space[a])
            return NULL;
        if (sum->reduced[a]) {
            own += most->keepdims;
            continue;
        }
        if (map != NULL && most->shape[own] != 1 &&
            (map[own].from != a || map[own].start != 0 || map[own].step != 1))
            return NULL;
        own++;
    }
    return most;
}

/* Whether a pass less is worth an exponential more for each batch of elements: the row is long, and
 * is not held on chip for other users of what is summed. */
static bool is_worth_it(kiln__build *b, const kiln__lowered *sum, uint32_t x, bool alone)
{
    int64_t length = 1, bytes = 0, weight = 0;

    for (int a = 0; a < sum->space_rank; a++)
        length *= sum->reduced[a] ? sum->space[a] : 1;
    kiln__marks_clear(b, &b->marks);
    kiln__row_bytes(b, x, sum->reduced, &bytes, &weight);
    return weight > 0 && length * bytes >= ROW_BYTES_MIN &&
           (alone || !kiln__row_is_held(b->target->backend, b->target->clusters, length, bytes));
}

static uint32_t users_of(const kiln__build *b, uint32_t low)
{
    return b->user_begin[low + 1] - b->user_begin[low];
}

/* Make `sum` and the greatest value that its elements subtract two results of one pass, if they can
 * be. */
static bool join(kiln__build *b, kiln__lowered *sum)
{
    const uint32_t exponential = sum->operand[0];
    const kiln__lowered *e = &b->lowered[exponential];

    if (kiln_dtype_kind(sum->dtype) != 'f' || kiln_dtype_size(sum->dtype) < 4 ||
        e->dtype != sum->dtype || !is_exp(b, e))
        return false;
    const kiln__lowered *d = &b->lowered[e->operand[0]];
    if (d->dtype != sum->dtype || !is_op(b, d, KILN_OP_SUBTRACT, 2))
        return false;
    const uint32_t x = d->operand[0];
    if (b->lowered[x].dtype != sum->dtype ||
        !kiln__same_shape(b->lowered[x].rank, b->lowered[x].shape, sum->space_rank, sum->space))
        return false;
    kiln__lowered *most = greatest_of(b, d->operand[1], x, sum);
    const bool alone = users_of(b, exponential) == 1 && users_of(b, e->operand[0]) == 1;
    if (most == NULL || !is_worth_it(b, sum, x, alone))
        return false;
    sum->op = KILN__REDUCE_SUMEXP;
    sum->operand[0] = most->operand[0]; /* which is before both of them */
    most->op = KILN__REDUCE_SUMEXP_MAX;
    return true;
}

void kiln__find_online(kiln__build *b)
{
    bool joined = false;

    if (b->target->backend != KILN_BACKEND_CUDA)
        return;
    for (uint32_t id = 1; id < b->lowered_count; id++)
        if (b->facts[id].needed && b->lowered[id].kind == KILN__LOWERED_REDUCE &&
            b->lowered[id].op == KILN_REDUCE_SUM)
            joined |= join(b, &b->lowered[id]);
    if (joined)
        kiln__find_needed(b);
}
