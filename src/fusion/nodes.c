/*
 * nodes.c - nodes as src/graph records them (kiln__ir of fusion.h).
 *
 *     [record] > lower > plan > text > program
 *
 * A node refers only to earlier nodes, so a graph has no cycles. Equal nodes are stored once, which
 * removes common subexpressions. The exception are nodes whose place in the program matters, for
 * messages; there the first place is kept.
 *
 * Test: test_graph_dag.
 */
#include "fusion/fusion.h"

/* Make room for one more element; false when memory is short. */
static bool grow(void **list, uint32_t count, uint32_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return true;
    const uint32_t larger = *capacity == 0 ? 16 : 2 * *capacity;
    void *moved = kiln__realloc(*list, larger * bytes);
    if (moved == NULL)
        return false;
    *list = moved;
    *capacity = larger;
    return true;
}

static void clear_names(kiln__ir_name *names, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        kiln__free(names[k].name);
    kiln__free(names);
}

void kiln__ir_clear(kiln__ir *ir)
{
    for (uint32_t k = 0; k < ir->file_count; k++)
        kiln__free(ir->files[k]);
    kiln__free(ir->files);
    clear_names(ir->inputs, ir->input_count);
    clear_names(ir->outputs, ir->output_count);
    kiln__free(ir->nodes);
    kiln__free(ir->buckets);
    kiln__free(ir->edges);
    kiln__free(ir->data);
    kiln__free(ir->name);
    kiln__free(ir->text);
    memset(ir, 0, sizeof *ir);
}

const char *kiln__ir_file(kiln__ir *ir, const char *file)
{
    if (file == NULL)
        file = "?";
    for (uint32_t k = ir->file_count; k > 0; k--)
        if (strcmp(ir->files[k - 1], file) == 0)
            return ir->files[k - 1];
    if (!grow((void **)&ir->files, ir->file_count, &ir->file_room, sizeof *ir->files))
        return NULL;
    char *copy = kiln__strdup(file);
    if (copy != NULL)
        ir->files[ir->file_count++] = copy;
    return copy;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Whether two lists are equal; an empty one may be NULL. */
static bool same_list(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || (a != NULL && b != NULL && memcmp(a, b, bytes) == 0);
}

static bool same_node(const kiln__ir *ir, const kiln__node *a, const kiln__node *b,
                      const uint32_t *operands, const int64_t *data)
{
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype && a->rank == b->rank &&
           a->all_axes == b->all_axes && a->keepdims == b->keepdims && a->input == b->input &&
           a->result == b->result && a->kernel == b->kernel &&
           a->operand_count == b->operand_count && a->data_count == b->data_count &&
           kiln__number_same(&a->number, &b->number) &&
           same_list(ir->edges + a->operands, operands, a->operand_count * sizeof *operands) &&
           same_list(ir->data + a->data, data, a->data_count * sizeof *data);
}

/* Of all that same_node() compares, what tells most nodes apart. */
static uint32_t hash_node(const kiln__node *n, const uint32_t *operands, const int64_t *data)
{
    uint32_t hash = kiln__mix((uint32_t)n->kind, (uint64_t)n->op << 32 | (uint32_t)n->dtype);

    hash = kiln__mix(hash, (uint64_t)n->input << 32 | n->result);
    hash = kiln__mix(hash, n->number.kind == 'b'   ? n->number.value.b
                           : n->number.kind == 'c' ? 0
                                                   : n->number.value.u);
    for (uint32_t k = 0; k < n->operand_count; k++)
        hash = kiln__mix(hash, operands[k]);
    for (uint32_t k = 0; k < n->data_count; k++)
        hash = kiln__mix(hash, (uint64_t)data[k]);
    return hash;
}

static void enter(kiln__ir *ir, uint32_t id)
{
    uint32_t *bucket = &ir->buckets[ir->nodes[id].hash & (ir->node_capacity - 1)];

    ir->nodes[id].older = *bucket;
    *bucket = id;
}

/* Room for one more node, and a bucket for each that there is room for. */
static bool grow_nodes(kiln__ir *ir)
{
    uint32_t *buckets = NULL;

    if (ir->node_count < ir->node_capacity)
        return true;
    const uint32_t capacity = ir->node_capacity == 0 ? 16 : 2 * ir->node_capacity;
    buckets = kiln__calloc(capacity, sizeof *buckets);
    if (buckets == NULL ||
        !grow((void **)&ir->nodes, ir->node_count, &ir->node_capacity, sizeof *ir->nodes)) {
        kiln__free(buckets);
        return false;
    }
    kiln__free(ir->buckets);
    ir->buckets = buckets;
    for (uint32_t id = 1; id < ir->node_count; id++)
        enter(ir, id);
    return true;
}

/* Node 0 is none: it exists so that ids begin at 1. The lists exist, too, so that one of nothing
 * begins somewhere. */
static bool begin(kiln__ir *ir)
{
    if (ir->node_count > 0)
        return true;
    if (!grow_nodes(ir) || !grow((void **)&ir->edges, 0, &ir->edge_capacity, sizeof *ir->edges) ||
        !grow((void **)&ir->data, 0, &ir->data_capacity, sizeof *ir->data))
        return false;
    memset(&ir->nodes[0], 0, sizeof ir->nodes[0]);
    ir->node_count = 1;
    return true;
}

static bool append_lists(kiln__ir *ir, const uint32_t *operands, size_t operand_count,
                         const int64_t *data, size_t data_count)
{
    const uint32_t edges = ir->edge_count, numbers = ir->data_count;
    for (size_t k = 0; k < operand_count; k++) {
        if (!grow((void **)&ir->edges, ir->edge_count, &ir->edge_capacity, sizeof *ir->edges))
            goto short_of_memory;
        ir->edges[ir->edge_count++] = operands[k];
    }
    for (size_t k = 0; k < data_count; k++) {
        if (!grow((void **)&ir->data, ir->data_count, &ir->data_capacity, sizeof *ir->data))
            goto short_of_memory;
        ir->data[ir->data_count++] = data[k];
    }
    return true;

short_of_memory:
    ir->edge_count = edges;
    ir->data_count = numbers;
    return false;
}

/* Whether a node stands for a plain number whatever the call. */
static bool is_constant(const kiln__ir *ir, const kiln__node *node, const uint32_t *operands)
{
    bool constant = node->kind == KILN__NODE_CONSTANT || node->kind == KILN__NODE_OP;

    if (node->kind == KILN__NODE_EXTENT)
        return true;
    for (uint32_t k = 0; k < node->operand_count; k++)
        constant = constant && ir->nodes[operands[k]].constant;
    return constant;
}

/* Whether a node is a whole number of extents: kiln__fold_whole() does these operations. */
static bool is_whole(const kiln__ir *ir, const kiln__node *node, const uint32_t *operands)
{
    static const int ops[] = {KILN_OP_ADD,         KILN_OP_SUBTRACT,    KILN_OP_MULTIPLY,
                              KILN_OP_FLOOR_DIVIDE, KILN_OP_REMAINDER,   KILN_OP_POWER,
                              KILN_OP_LEFT_SHIFT,  KILN_OP_RIGHT_SHIFT, KILN_OP_BITWISE_AND,
                              KILN_OP_BITWISE_OR,  KILN_OP_BITWISE_XOR, KILN_OP_MAXIMUM,
                              KILN_OP_MINIMUM,     KILN_OP_NEGATIVE,    KILN_OP_POSITIVE,
                              KILN_OP_ABSOLUTE,    KILN_OP_INVERT};
    bool known = false, extents = false;

    if (node->kind == KILN__NODE_EXTENT)
        return true;
    for (size_t k = 0; node->kind == KILN__NODE_OP && k < KILN_COUNT_OF(ops); k++)
        known = known || node->op == ops[k];
    for (uint32_t k = 0; k < node->operand_count; k++) {
        const kiln__node *o = &ir->nodes[operands[k]];
        known = known && (o->whole || (o->kind == KILN__NODE_CONSTANT && o->number.kind == 'i'));
        extents = extents || o->whole;
    }
    return known && extents;
}

uint32_t kiln__ir_add(kiln__ir *ir, const kiln__node *node, const uint32_t *operands,
                      size_t operand_count, const int64_t *data, size_t data_count)
{
    kiln__node made = *node;

    if (!begin(ir))
        return 0;
    made.line = ir->place != 0 ? ir->place : made.line;
    made.operand_count = (uint32_t)operand_count;
    made.data_count = (uint32_t)data_count;
    made.hash = hash_node(&made, operands, data);
    for (uint32_t id = ir->buckets[made.hash & (ir->node_capacity - 1)]; id != 0;
         id = ir->nodes[id].older)
        if (ir->nodes[id].hash == made.hash && same_node(ir, &ir->nodes[id], &made, operands, data))
            return id;
    if (ir->node_count >= KILN__IR_NODES_MAX || !grow_nodes(ir))
        return 0;
    made.constant = is_constant(ir, &made, operands);
    made.whole = is_whole(ir, &made, operands);
    ir->extents = ir->extents || made.kind == KILN__NODE_EXTENT;
    made.operands = ir->edge_count;
    made.data = ir->data_count;
    if (!append_lists(ir, operands, operand_count, data, data_count))
        return 0;
    ir->nodes[ir->node_count] = made;
    enter(ir, ir->node_count);
    return ir->node_count++;
}

static bool add_name(kiln__ir_name **names, uint32_t *count, uint32_t *capacity, const char *name,
                     uint32_t node, const char *file, int line)
{
    if (!grow((void **)names, *count, capacity, sizeof **names))
        return false;
    char *copy = kiln__strdup(name);
    if (copy == NULL)
        return false;
    (*names)[(*count)++] = (kiln__ir_name){copy, node, file, line};
    return true;
}

bool kiln__ir_input(kiln__ir *ir, const char *name, kiln_dtype dtype, int rank, const char *file,
                    int line, uint32_t *node_out)
{
    const kiln__node node = {.kind = KILN__NODE_INPUT,
                             .dtype = dtype,
                             .rank = rank,
                             .input = ir->input_count,
                             .file = file,
                             .line = line};
    *node_out = kiln__ir_add(ir, &node, NULL, 0, NULL, 0);
    return *node_out != 0 && add_name(&ir->inputs, &ir->input_count, &ir->input_capacity, name,
                                      *node_out, file, line);
}

bool kiln__ir_output(kiln__ir *ir, const char *name, uint32_t node, const char *file, int line)
{
    return add_name(&ir->outputs, &ir->output_count, &ir->output_capacity, name, node, file, line);
}

/* ---- names for people ------------------------------------------------------------------------ */

static const char *view_name(int kind)
{
    static const char *const names[] = {
        [KILN__VIEW_TRANSPOSE] = "transpose", [KILN__VIEW_NEWAXIS] = "newaxis",
        [KILN__VIEW_FLIP] = "flip",           [KILN__VIEW_SELECT] = "select",
        [KILN__VIEW_SLICE] = "slice",         [KILN__VIEW_BROADCAST] = "broadcast_to",
        [KILN__VIEW_RESHAPE] = "reshape",     [KILN__VIEW_MASKED] = "mask",
        [KILN__VIEW_LIKE] = "broadcast_to", [KILN__VIEW_OVER] = "mask",
        [KILN__VIEW_WHOLE] = "mask",          [KILN__VIEW_FOLDED] = "mask",
        [KILN__VIEW_BESIDE] = "mask",         [KILN__VIEW_APART] = "axis",
        [KILN__VIEW_ALIGNED] = "mask",        [KILN__VIEW_RANKED] = "shape",        [KILN__VIEW_WEAK] = "number",         [KILN__VIEW_HOLDING] = "index",
        [KILN__VIEW_BEFORE] = "broadcast_to", [KILN__VIEW_SIZED] = "shape",
        [KILN__VIEW_FILLED] = "broadcast_to"};
    return (size_t)kind < KILN_COUNT_OF(names) ? names[kind] : "view";
}

static const char *reduce_name(int op)
{
    switch ((kiln_reduce_op)op) {
#define NAME_CASE(name, value, text, doc)                                                          \
    case KILN_REDUCE_##name:                                                                       \
        return text;
        KILN_REDUCE_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "reduction";
}

const char *kiln__ir_what(const kiln__ir *ir, uint32_t id, char text[96])
{
    const kiln__node *n = &ir->nodes[id];
    const kiln__op *op = NULL;
    switch (n->kind) {
    case KILN__NODE_INPUT:
        snprintf(text, 96, "input `%.60s`", ir->inputs[n->input].name);
        return text;
    case KILN__NODE_CONSTANT:
        return "constant";
    case KILN__NODE_OP:
        op = kiln__op_find((kiln_op)n->op);
        return op != NULL ? op->name : "operation";
    case KILN__NODE_CAST:
        return "cast";
    case KILN__NODE_REDUCE:
        return reduce_name(n->op);
    case KILN__NODE_VIEW:
        return view_name(n->op);
    case KILN__NODE_IOTA:
        return "iota";
    case KILN__NODE_ARANGE:
        return "arange";
    case KILN__NODE_DRAW:
        return kiln_draw_name((kiln_draw)n->op);
    case KILN__NODE_GATHER:
        return ir->data[n->data + KILN__GATHER_KIND] == KILN__GATHER_ALONG ? "take_along_axis"
                                                                           : "take";
    case KILN__NODE_REARRANGED:
        return kiln_rearrangement_name((kiln_rearrangement)n->op);
    case KILN__NODE_EXTENT:
        return "shape";
    case KILN__NODE_CUSTOM:
        snprintf(text, 96, "kernel \"%.60s\"", n->def->name);
        return text;
    case KILN__NODE_OPAQUE:
        return ((const kiln__opaque *)n->kernel)->name;
    }
    return "node";
}
