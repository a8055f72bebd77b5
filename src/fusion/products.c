/*
 * products.c - what follows a matrix product elementwise, where it becomes a part of the product.
 *
 *     lower > [products: a value made of one product, perhaps a bias, and numbers] > a finished product
 *
 * A library adds a bias to its sums and applies a function before it stores them (kiln_matmul_options has
 * both), which saves a kernel that reads the product and writes it again. That is done where
 *   - the value is stored anyway: it is an output, or an operand of what is no loop;
 *   - nothing else uses the product or what lies between: it would be computed twice;
 *   - the result is the one of separate operations. Of 16-bit floats only relu is, as each operation rounds its
 *     result, but for graphs of the option `wide`, in which none does. The library's GELU has 11 bits, which
 *     these have as well and float32 has not.
 *
 * Rule: which function it is, is not read off how it is written. A composition of a few analytic operations is
 *       evaluated at some places and compared: such functions do not agree there by chance.
 */
#include <math.h>

#include "fusion/build.h"

enum { INNER_MAX = 24 };

/* The recorded nodes between a product and a value, in the order of their operands. */
typedef struct chain {
    const kiln__build *b;
    uint32_t product, bias, sum; /* nodes; 0: none. `sum` adds the bias to the product */
    uint32_t inner[INNER_MAX];   /* operations, ascending: the last one is the value */
    size_t count;
} chain;

/* ---- finding it ------------------------------------------------------------------------------ */

static bool has(const chain *c, uint32_t node)
{
    for (size_t k = 0; k < c->count; k++)
        if (c->inner[k] == node)
            return true;
    return false;
}

static bool insert(chain *c, uint32_t node)
{
    size_t at = c->count;

    if (c->count == INNER_MAX)
        return false;
    for (; at > 0 && c->inner[at - 1] > node; at--)
        c->inner[at] = c->inner[at - 1];
    c->inner[at] = node;
    c->count++;
    return true;
}

static bool is_product(const kiln__node *n)
{
    return n->kind == KILN__NODE_OPAQUE && ((const kiln__opaque *)n->kernel)->finish != NULL;
}

/* Collect what a value is made of. False: more than one product, or than one other array. */
static bool gather(chain *c, uint32_t node)
{
    const kiln__node *n = &c->b->ir->nodes[node];
    uint32_t *const place = is_product(n) ? &c->product : &c->bias;

    if (n->kind == KILN__NODE_CONSTANT || has(c, node))
        return true;
    if (n->kind != KILN__NODE_OP) {
        if (*place != 0 && *place != node)
            return false;
        *place = node;
        return true;
    }
    for (uint32_t k = 0; k < n->operand_count; k++)
        if (!gather(c, c->b->ir->edges[n->operands + k]))
            return false;
    return insert(c, node);
}

/* How often the operations between use a node. */
static uint32_t uses_within(const chain *c, uint32_t node)
{
    uint32_t uses = 0;

    for (size_t k = 0; k < c->count; k++) {
        const kiln__node *n = &c->b->ir->nodes[c->inner[k]];
        for (uint32_t o = 0; o < n->operand_count; o++)
            uses += c->b->ir->edges[n->operands + o] == node;
    }
    return uses;
}

/* Whether the product and all that lies between are used for the value alone. */
static bool stands_alone(const chain *c)
{
    const uint32_t *uses = c->b->lowering.uses;

    for (size_t k = 0; k + 1 < c->count; k++)
        if (c->b->lowering.numbers[c->inner[k]] == 0 &&
            uses[c->inner[k]] != uses_within(c, c->inner[k]))
            return false;
    return uses[c->product] == uses_within(c, c->product);
}

/* Find the sum of product and bias, which are used for nothing else. */
static bool find_sum(chain *c)
{
    for (size_t k = 0; k < c->count && c->sum == 0; k++) {
        const kiln__node *n = &c->b->ir->nodes[c->inner[k]];
        const uint32_t *from = c->b->ir->edges + n->operands;
        if (n->op == KILN_OP_ADD && ((from[0] == c->product && from[1] == c->bias) ||
                                     (from[1] == c->product && from[0] == c->bias)))
            c->sum = c->inner[k];
    }
    return c->sum != 0 && uses_within(c, c->bias) == 1 && uses_within(c, c->product) == 1;
}

/* Whether the bias is one number for each column of the product, of its dtype. */
static bool fits_columns(const chain *c)
{
    const kiln__build *b = c->b;
    const kiln__low *product = &b->lows[b->lowering.lowered[c->product]];
    const kiln__low *right = &b->lows[product->operand[1]];
    const uint32_t bias = b->lowering.lowered[c->bias];

    return bias != 0 && right->rank > 1 && b->lows[bias].rank == 1 && product->rank > 0 &&
           b->lows[bias].shape[0] == product->shape[product->rank - 1] &&
           b->lowering.dtype[c->bias] == product->dtype;
}

/* Whether some use of a value needs it in memory. */
static bool is_stored(const kiln__build *b, uint32_t node)
{
    for (uint32_t k = 0; k < b->ir->output_count; k++)
        if (b->ir->outputs[k].node == node)
            return true;
    return b->lowering.kept[node];
}

/* ---- which function it is -------------------------------------------------------------------- */

static bool evaluate_op(int op, const double *x, double *out)
{
    switch (op) {
    case KILN_OP_ADD:
        *out = x[0] + x[1];
        return true;
    case KILN_OP_SUBTRACT:
        *out = x[0] - x[1];
        return true;
    case KILN_OP_MULTIPLY:
        *out = x[0] * x[1];
        return true;
    case KILN_OP_DIVIDE:
        *out = x[0] / x[1];
        return true;
    case KILN_OP_NEGATIVE:
        *out = -x[0];
        return true;
    case KILN_OP_RECIPROCAL:
        *out = 1 / x[0];
        return true;
    case KILN_OP_SQUARE:
        *out = x[0] * x[0];
        return true;
    case KILN_OP_POWER:
        *out = pow(x[0], x[1]);
        return true;
    case KILN_OP_SQRT:
        *out = sqrt(x[0]);
        return true;
    case KILN_OP_EXP:
        *out = exp(x[0]);
        return true;
    case KILN_OP_TANH:
        *out = tanh(x[0]);
        return true;
    default:
        return false;
    }
}

/* The value where the product, with its bias, is `z`. False: not of analytic operations alone. */
static bool evaluate(const chain *c, double z, double *out)
{
    double values[INNER_MAX], x[KILN__OP_ARITY_MAX];

    for (size_t k = 0; k < c->count; k++) {
        const kiln__node *n = &c->b->ir->nodes[c->inner[k]];
        if (c->inner[k] == c->sum) {
            values[k] = z;
            continue;
        }
        for (uint32_t o = 0; o < n->operand_count; o++) {
            const uint32_t from = c->b->ir->edges[n->operands + o];
            x[o] = z; /* the product, where there is no bias */
            if (c->b->ir->nodes[from].kind == KILN__NODE_CONSTANT)
                x[o] = kiln__number_as(&c->b->ir->nodes[from].number, KILN_FLOAT64).value.f;
            for (size_t i = 0; i < k; i++)
                if (c->inner[i] == from)
                    x[o] = values[i];
        }
        if (!evaluate_op(n->op, x, &values[k]))
            return false;
    }
    *out = values[c->count - 1];
    return true;
}

static bool is_gelu(const chain *c)
{
    static const double places[] = {-7.5, -3.25, -1.5, -0.75, -0.125, 0.0625, 0.5,
                                    1.0,  1.75,  2.5,  4.0,   6.5,    11.0};
    double got;

    for (size_t k = 0; k < KILN_COUNT_OF(places); k++) {
        const double z = places[k];
        const double want = z / 2 * (1 + tanh(0.79788456080286535588 * (z + 0.044715 * z * z * z)));
        if (!evaluate(c, z, &got) || !(fabs(got - want) <= 1e-7 * (1 + fabs(want))))
            return false;
    }
    return true;
}

/* maximum(z, 0) */
static bool is_relu(const chain *c)
{
    const kiln__node *n = &c->b->ir->nodes[c->inner[c->count - 1]];
    const uint32_t z = c->sum != 0 ? c->sum : c->product;
    const uint32_t *from = c->b->ir->edges + n->operands;

    if (c->count != (c->sum != 0 ? 2 : 1) || n->op != KILN_OP_MAXIMUM)
        return false;
    const kiln__node *zero = &c->b->ir->nodes[from[0] == z ? from[1] : from[0]];
    return (from[0] == z || from[1] == z) && zero->kind == KILN__NODE_CONSTANT &&
           kiln__number_as(&zero->number, KILN_FLOAT64).value.f == 0;
}

/* ---- the finished product -------------------------------------------------------------------- */

/* Which epilogue does what a chain does, in the same way; false: none. */
static bool find_epilogue(const chain *c, kiln_epilogue *out)
{
    const kiln__build *b = c->b;
    const kiln_dtype dtype = b->lows[b->lowering.lowered[c->product]].dtype;
    const bool sixteen = dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
    const bool rounded = sixteen && !b->target->wide;

    if ((!sixteen && dtype != KILN_FLOAT32) || (rounded && c->sum != 0))
        return false;
    *out = is_relu(c) ? KILN_EPILOGUE_RELU : KILN_EPILOGUE_NONE;
    if (*out == KILN_EPILOGUE_NONE && sixteen && !rounded && is_gelu(c))
        *out = KILN_EPILOGUE_GELU;
    return *out != KILN_EPILOGUE_NONE || (c->sum != 0 && c->count == 1);
}

uint32_t kiln__finished_product(kiln__build *b, uint32_t node, uint32_t low)
{
    chain c = {.b = b};
    kiln_epilogue epilogue;
    uint32_t operands[KILN__OPAQUE_OPERANDS];

    if (b->target->backend != KILN_BACKEND_CUDA || b->ir->nodes[node].kind != KILN__NODE_OP ||
        !is_stored(b, node) || !gather(&c, node) || c.product == 0 || !stands_alone(&c) ||
        (c.bias != 0 && (!find_sum(&c) || !fits_columns(&c))) || !find_epilogue(&c, &epilogue))
        return low;
    const kiln__low *plain = &b->lows[b->lowering.lowered[c.product]], *value = &b->lows[low];
    if (b->lowering.dtype[node] != plain->dtype ||
        !kiln__same_shape(plain->rank, plain->shape, value->rank, value->shape))
        return low;
    kiln__low made = *plain;
    kiln__node *finished = kiln__build_copy(b, plain->custom, sizeof *finished);
    const kiln__opaque *o = finished->kernel;
    finished->kernel = o->finish(epilogue, c.bias != 0);
    made.custom = finished;
    made.origin = node;
    memcpy(operands, plain->operand, plain->operand_count * sizeof *operands);
    const size_t count = plain->operand_count;
    if (c.bias != 0)
        operands[count] = kiln__low_cast(b, b->lowering.lowered[c.bias], made.dtype, node);
    return kiln__low_over(b, &made, operands, count + (c.bias != 0));
}
