/*
 * product_epilogue.c - elementwise operations behind a matrix product that become a part of the
 * product.
 *
 *     lower > [product_epilogue: a product, arrays and numbers] > a finished product
 *
 * A library can scale a product, add an array and then a bias, apply a function, and round the
 * result to the dtype that it stores (kiln_matmul_options has all of these). That saves a kernel
 * that reads the product and writes it again. It is done under three conditions:
 *
 * - the value is stored in any case: it is an output, or an operand of something else than a loop;
 * - nothing else uses the product or the values in between, or they would be computed twice;
 * - the result equals that of separate operations. Operations on 16-bit floats round each result,
 *   so only relu qualifies there, unless the graph has the option `wide`. The library's GELU has 11
 *   bits, which is enough for 16-bit floats and too little for float32.
 *
 * Rule: a function is recognised by its values and not by its notation. A composition of a few
 *       analytic operations is evaluated at some points and compared; two such functions do not
 *       agree there by chance.
 *
 * Test: test_graph_plan.
 */
#include <math.h>

#include "fusion/build.h"

enum { INNER_MAX = 24 };

/* The recorded nodes between a product and a value, in the order of their operands. */
typedef struct chain {
    const kiln__build *b;
    uint32_t product, linear; /* `linear`: the product, scaled and with all that is added to it */
    uint32_t arrays[2];       /* what is added, in no order */
    size_t array_count;
    uint32_t residual, bias; /* which of them is what; 0: none */
    double scale;            /* 0: none */
    uint32_t
        inner[INNER_MAX]; /* operations, ascending; the last one is, or is cast to, the value */
    size_t count, linear_count; /* linear_count: how many make `linear` of the product */
    bool cast;
    kiln_dtype dtype; /* of the value */
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
    return n->kind == KILN__NODE_OPAQUE && ((const kiln__opaque *)n->kernel)->copy_bytes > 0;
}

/* Of several products the last one is finished, the others are arrays. */
static bool gather_array(chain *c, uint32_t node)
{
    if (node == c->product || node == c->arrays[0] || node == c->arrays[1])
        return true;
    if (is_product(&c->b->ir->nodes[node]) && node > c->product) {
        const uint32_t earlier = c->product;
        c->product = node;
        node = earlier;
    }
    if (node != 0 && c->array_count == KILN_COUNT_OF(c->arrays))
        return false;
    if (node != 0)
        c->arrays[c->array_count++] = node;
    return true;
}

/* Collect what a value is made of. False: it is more than products and a few arrays. */
static bool gather(chain *c, uint32_t node)
{
    const kiln__node *n = &c->b->ir->nodes[node];

    if (n->kind == KILN__NODE_CONSTANT || has(c, node))
        return true;
    if (n->kind != KILN__NODE_OP)
        return gather_array(c, node);
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
    return uses + (c->cast && node == (c->count > 0 ? c->inner[c->count - 1] : c->product));
}

/* Whether the product and all that lies between are used for the value alone. */
static bool stands_alone(const chain *c)
{
    const uint32_t *uses = c->b->lowering.uses;

    for (size_t k = 0; k + !c->cast < c->count; k++)
        if (c->b->lowering.numbers[c->inner[k]] == 0 &&
            uses[c->inner[k]] != uses_within(c, c->inner[k]))
            return false;
    return uses[c->product] == uses_within(c, c->product);
}

/* ---- what is linear -------------------------------------------------------------------------- */

/* Whether an array is one number for each column of the product. */
static bool fits_columns(const chain *c, uint32_t node)
{
    const kiln__build *b = c->b;
    const kiln__lowered *product = &b->lowered[b->lowering.lowered[c->product]];
    const kiln__lowered *right = &b->lowered[product->operand[1]],
                        *x = &b->lowered[b->lowering.lowered[node]];

    return right->rank > 1 && x->rank == 1 && product->rank > 0 &&
           x->shape[0] == product->shape[product->rank - 1];
}

static bool fits_whole(const chain *c, uint32_t node)
{
    const kiln__lowered *product = &c->b->lowered[c->b->lowering.lowered[c->product]];
    const kiln__lowered *x = &c->b->lowered[c->b->lowering.lowered[node]];

    return kiln__same_shape(product->rank, product->shape, x->rank, x->shape);
}

/* The library adds the residual before the bias. Another order rounds otherwise, which wide graphs
 * do not mind. */
static bool add_array(chain *c, uint32_t node)
{
    const kiln__build *b = c->b;
    const uint32_t low = b->lowering.lowered[node];

    if ((node != c->arrays[0] && node != c->arrays[1]) || low == 0 ||
        b->lowered[low].dtype != c->dtype || b->lowering.dtype[node] != c->dtype ||
        uses_within(c, node) != 1)
        return false;
    if (c->bias == 0 && fits_columns(c, node))
        c->bias = node;
    else if (c->residual == 0 && fits_whole(c, node) && (c->bias == 0 || b->target->wide))
        c->residual = node;
    else
        return false;
    return true;
}

/* A number that the product is multiplied by, as the operation before anything is added. */
static bool scale_by(chain *c, const kiln__node *number, bool divides)
{
    int exponent;

    if (number->kind != KILN__NODE_CONSTANT || c->linear != c->product)
        return false;
    const double value = kiln__number_as(&number->number, KILN_FLOAT64).value.f;
    if (!isfinite(value) || value == 0 ||
        (divides && frexp(fabs(value), &exponent) != 0.5 && !c->b->target->wide))
        return false;
    c->scale = divides ? 1 / value : value;
    return true;
}

/* Go from the product over what scales it and is added to it, as far as each alone is used. */
static void find_linear(chain *c)
{
    const kiln__ir *ir = c->b->ir;

    c->linear = c->product;
    for (size_t k = 0; k < c->count && uses_within(c, c->linear) == 1; k++) {
        const kiln__node *n = &ir->nodes[c->inner[k]];
        const uint32_t *from = ir->edges + n->operands;
        if (n->operand_count != 2 || (from[0] != c->linear && from[1] != c->linear))
            continue; /* of numbers alone, or later */
        const uint32_t other = from[from[0] == c->linear];
        const bool divides = n->op == KILN_OP_DIVIDE && from[0] == c->linear;
        if (n->op == KILN_OP_ADD ? !add_array(c, other)
                                 : (n->op != KILN_OP_MULTIPLY && !divides) ||
                                       !scale_by(c, &ir->nodes[other], divides))
            return;
        c->linear = c->inner[k];
        c->linear_count = k + 1;
    }
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

/* The value where its linear part is `z`. False: not of analytic operations alone. */
static bool evaluate(const chain *c, double z, double *out)
{
    double values[INNER_MAX], x[KILN__OP_ARITY_MAX];

    for (size_t k = 0; k < c->count; k++) {
        const kiln__node *n = &c->b->ir->nodes[c->inner[k]];
        if (c->inner[k] == c->linear) {
            values[k] = z;
            continue;
        }
        for (uint32_t o = 0; o < n->operand_count; o++) {
            const uint32_t from = c->b->ir->edges[n->operands + o];
            x[o] = z; /* the product itself, or beneath the linear part, where it does not matter */
            if (c->b->ir->nodes[from].kind == KILN__NODE_CONSTANT)
                x[o] = kiln__number_as(&c->b->ir->nodes[from].number, KILN_FLOAT64).value.f;
            for (size_t i = 0; i < k; i++)
                if (c->inner[i] == from)
                    x[o] = values[i];
        }
        if (!kiln__op_of_numbers((kiln_op)n->op, x, &values[k]))
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
    const uint32_t *from = c->b->ir->edges + n->operands, z = c->linear;

    if (c->count != c->linear_count + 1 || n->op != KILN_OP_MAXIMUM)
        return false;
    const kiln__node *zero = &c->b->ir->nodes[from[0] == z ? from[1] : from[0]];
    return (from[0] == z || from[1] == z) && zero->kind == KILN__NODE_CONSTANT &&
           kiln__number_as(&zero->number, KILN_FLOAT64).value.f == 0;
}

/* ---- the finished product -------------------------------------------------------------------- */

static bool is_sixteen(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
}

/* Which function of its linear part a value is, in the same way; false: none that the library has. */
static bool find_epilogue(const chain *c, kiln_epilogue *out)
{
    *out = KILN_EPILOGUE_NONE;
    if (c->count == c->linear_count)
        return true;
    if (is_relu(c))
        *out = KILN_EPILOGUE_RELU;
    else if (is_sixteen(c->dtype) && is_gelu(c))
        *out = KILN_EPILOGUE_GELU;
    return *out != KILN_EPILOGUE_NONE;
}

/* Whether the product can be given in the value's dtype, and what follows is then rounded as often
 * as it was. */
static bool fits_dtypes(const chain *c, const kiln__lowered *plain)
{
    const kiln__build *b = c->b;
    const kiln_dtype dtype = plain->dtype;
    const bool sixteen = is_sixteen(dtype), same = c->dtype == dtype;

    if (kiln_dtype_kind(dtype) != 'f' ||
        (c->cast && c->count > 0 && b->lowering.dtype[c->inner[c->count - 1]] != dtype))
        return false;
    if (sixteen && !b->target->wide) /* the product is rounded before anything follows it */
        return same && c->linear == c->product;
    return same || (sixteen && c->dtype == KILN_FLOAT32) ||
           (is_sixteen(c->dtype) && kiln__is_float8(b->lowered[plain->operand[0]].dtype) &&
            kiln__is_float8(b->lowered[plain->operand[1]].dtype));
}

/* What explain says: "a matrix product, a scale, a bias and relu, by ...". */
static const char *tell(kiln__build *b, const kiln__finish *f)
{
    static const char *const functions[] = {
        [KILN_EPILOGUE_NONE] = NULL, [KILN_EPILOGUE_RELU] = "relu", [KILN_EPILOGUE_GELU] = "gelu"};
    const char *cast = f->dtype != KILN_DTYPE_NONE ? kiln_dtype_name(f->dtype) : NULL;
    const char *const parts[] = {f->scale != 0 ? "a scale" : NULL,
                                 f->residual ? "a residual" : NULL, f->bias ? "a bias" : NULL,
                                 functions[f->epilogue], cast};
    kiln__buf *text = &b->scratch[KILN__SCRATCH_SHORT];
    int left = 0;

    text->length = 0;
    for (size_t k = 0; k < KILN_COUNT_OF(parts); k++)
        left += parts[k] != NULL;
    kiln__buf_printf(text, "a matrix product");
    for (size_t k = 0; k < KILN_COUNT_OF(parts); k++)
        if (parts[k] != NULL)
            kiln__buf_printf(text, "%s%s%s", --left > 0 ? ", " : " and ",
                             parts[k] == cast ? "a cast to " : "", parts[k]);
    kiln__buf_printf(text, ", by a library where there is one");
    return kiln__build_text(b, text);
}

/* Find what lies between a value and its product, and whether the library does all of it. */
static bool find_chain(chain *c, uint32_t node, kiln_epilogue *epilogue)
{
    const kiln__build *b = c->b;
    const kiln__node *n = &b->ir->nodes[node];
    uint32_t top = node;

    c->cast = n->kind == KILN__NODE_CAST && n->operand_count == 1;
    c->dtype = b->lowering.dtype[node];
    if (c->cast)
        top = b->ir->edges[n->operands];
    else if (n->kind != KILN__NODE_OP)
        return false;
    if (b->target->backend != KILN_BACKEND_CUDA || !is_stored(b, node) || !gather(c, top) ||
        c->product == 0 || !stands_alone(c))
        return false;
    find_linear(c);
    return c->array_count == (size_t)(c->residual != 0) + (c->bias != 0) &&
           find_epilogue(c, epilogue);
}

uint32_t kiln__finished_product(kiln__build *b, uint32_t node, uint32_t low)
{
    chain c = {.b = b};
    kiln__finish f = {0};
    uint32_t operands[KILN__OPAQUE_OPERANDS];

    if (!find_chain(&c, node, &f.epilogue))
        return low;
    const kiln__lowered *plain = &b->lowered[b->lowering.lowered[c.product]],
                        *value = &b->lowered[low];
    if (!fits_dtypes(&c, plain) ||
        !kiln__same_shape(plain->rank, plain->shape, value->rank, value->shape))
        return low;
    kiln__lowered made = *plain;
    kiln__node *finished = kiln__build_copy(b, plain->custom, sizeof *finished);
    const kiln__opaque *bare = finished->kernel;
    kiln__opaque *o = kiln__build_copy(b, bare, bare->copy_bytes);
    f.scale = c.scale;
    f.residual = c.residual != 0;
    f.bias = c.bias != 0;
    f.dtype = c.dtype != plain->dtype ? c.dtype : KILN_DTYPE_NONE;
    o->finish = f;
    o->why = tell(b, &f);
    finished->kernel = o;
    made.custom = finished;
    made.origin = node;
    made.dtype = c.dtype;
    size_t count = plain->operand_count;
    memcpy(operands, plain->operand, count * sizeof *operands);
    if (f.residual)
        operands[count++] = b->lowering.lowered[c.residual];
    if (f.bias)
        operands[count++] = b->lowering.lowered[c.bias];
    o->operand_count = (int)count;
    return kiln__lowered_over(b, &made, operands, count);
}
