/*
 * record.c - the public functions that record nodes (kiln/node.h), by kiln__ir_add (src/fusion).
 *
 * A recording function returns no status. The graph keeps the first error and reports it when it is
 * compiled. A node that uses a faulty node is faulty too, and adds no error. If no operand belongs
 * to a graph, the faulty node holds the program's line, and the error is reported when the node is
 * used together with a node of a graph. Tests: test_graph_bad, test_graph_dag.
 */
#include "graph/graph.h"
#include "graph/subscripts.h"
#include "kiln/scan.h"
#include "kiln/sort.h"

/* What was recorded, and the line of the program that did. */
typedef struct place {
    const char *what, *file;
    int line;
} place;

static kiln_node faulty(kiln_graph *graph)
{
    kiln_node n;
    memset(&n, 0, sizeof n);
    n.graph = graph;
    return n;
}

/* The node for an operation on plain numbers alone, which has no graph. */
static kiln_node without_graph(const place *at)
{
    kiln_node n = faulty(NULL);
    n.id = (uint32_t)at->line;
    n.value.u = (uint64_t)(uintptr_t)at->file;
    return n;
}

static kiln_node node_of(kiln_graph *graph, uint32_t id)
{
    kiln_node n = faulty(graph);
    n.id = id;
    n.kind = KILN_NODE_GRAPH;
    return n;
}

/* The last component of a path, for messages. */
static const char *base_name(const char *file)
{
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    return slash != NULL ? slash + 1 : file != NULL ? file : "?";
}

/* Keep an error, unless the graph has one already. An error after sealing is kept separately,
 * because the sealed graph stays valid. */
static kiln_node fault(kiln_graph *graph, const place *at, kiln_status status, const char *fmt, ...)
    KILN_PRINTF(4, 5);
static kiln_node fault(kiln_graph *graph, const place *at, kiln_status status, const char *fmt, ...)
{
    const int line = graph->ir.place != 0 ? graph->ir.place : at->line;
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (kiln__graph_forked(graph)) /* kiln_graph_compile() reports it */
        return faulty(graph);
    pthread_mutex_lock(&graph->lock);
    if (atomic_load(&graph->sealed)) {
        if (!atomic_load(&graph->late))
            kiln__fail(&graph->late_error, status, "%s (%s:%d): %s", at->what, base_name(at->file),
                       line, text);
        atomic_store(&graph->late, true);
    } else if (graph->failed.status == KILN_OK && graph->ir.of_text) {
        kiln__fail_in_text(&graph->failed, status, &graph->ir, at->what, line, text);
    } else if (graph->failed.status == KILN_OK) {
        if (line == 0) /* a graph of kiln's own, as that of kiln_array_take() */
            kiln__fail(&graph->failed, status, "%s: %s", at->what, text);
        else
            kiln__fail(&graph->failed, status, "%s (%s:%d): %s", at->what, base_name(at->file), line,
                       text);
        graph->failed.offset = -1;
    }
    pthread_mutex_unlock(&graph->lock);
    return faulty(graph);
}

/* The error for a node that cannot be added: the graph is full, or memory is. */
static kiln_node no_room(kiln_graph *graph, const place *at)
{
    if (graph->ir.node_count >= KILN__IR_NODES_MAX)
        return fault(graph, at, KILN_ERR_UNSUPPORTED,
                     "a graph holds at most %u nodes; run it in parts", KILN__IR_NODES_MAX - 1);
    return fault(graph, at, KILN_ERR_NO_MEMORY, "no memory for another node");
}

/* Whether `graph` can be recorded into at all. */
static bool is_open(kiln_graph *graph, const place *at)
{
    if (graph == NULL || graph->magic != KILN__GRAPH_MAGIC)
        return false;
    if (!atomic_load(&graph->sealed))
        return true;
    fault(graph, at, KILN_ERR_ARGUMENT, "the graph was compiled and cannot be changed");
    return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool is_number(const kiln_node *n)
{
    return n->graph == NULL && n->kind >= KILN_NODE_BOOL && n->kind <= KILN_NODE_COMPLEX;
}

/* The one graph that operands belong to; NULL when none does, or when it was destroyed. */
static kiln_graph *home(const kiln_node *operands, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (operands[k].graph != NULL)
            return operands[k].graph->magic == KILN__GRAPH_MAGIC ? operands[k].graph : NULL;
    return NULL;
}

/* The id of an operand in `graph`; constants become nodes. False when it cannot be used; then the
 * fault is kept. */
static bool take(kiln_graph *graph, const kiln_node *n, size_t position, const place *at,
                 uint32_t *id_out)
{
    if (is_number(n)) {
        const kiln__node constant = {.kind = KILN__NODE_CONSTANT,
                                     .number =
                                         kiln__number_of(n->kind - KILN_NODE_BOOL, &n->value)};
        *id_out = kiln__ir_add(&graph->ir, &constant, NULL, 0, NULL, 0);
        if (*id_out == 0)
            no_room(graph, at);
        return *id_out != 0;
    }
    if (n->graph != NULL && n->graph != graph)
        fault(graph, at, KILN_ERR_CONTEXT, "operand %zu belongs to another graph", position + 1);
    else if (n->graph == NULL && n->value.u != 0)
        fault(graph, at, KILN_ERR_ARGUMENT,
              "operand %zu was made of plain numbers only, at %s:%u: that is no node of a graph",
              position + 1, base_name((const char *)(uintptr_t)n->value.u), n->id);
    else if (n->graph == NULL)
        fault(graph, at, KILN_ERR_ARGUMENT, "operand %zu is no node", position + 1);
    else if (n->kind != KILN_NODE_GRAPH)
        ; /* a faulty node: its error is kept already */
    else if (n->id == 0 || n->id >= graph->ir.node_count)
        fault(graph, at, KILN_ERR_ARGUMENT, "operand %zu is no node of this graph", position + 1);
    else {
        *id_out = n->id;
        return true;
    }
    return false;
}

kiln_node kiln__graph_number(kiln_graph *graph, kiln_node node)
{
    const place at = {"number", NULL, 0};
    uint32_t id = 0;
    if (!is_number(&node))
        return node;
    return take(graph, &node, 0, &at, &id) ? node_of(graph, id) : faulty(graph);
}

/* Most operands that are not on the heap. */
enum {
    OPERANDS_MAX = KILN_PARAM_MAX > KILN__REARRANGE_OPERANDS_MAX ? KILN_PARAM_MAX
                                                                 : KILN__REARRANGE_OPERANDS_MAX
};

/* Add a node over operands; all recording goes through here. */
static kiln_node add(const kiln__node *made, const kiln_node *operands, size_t count,
                     const int64_t *data, size_t data_count, const place *at)
{
    kiln_graph *graph = home(operands, count);
    kiln__node node = *made;
    uint32_t ids[OPERANDS_MAX];

    if (graph == NULL)
        return without_graph(at);
    if (!is_open(graph, at))
        return faulty(graph);
    for (size_t k = 0; k < count; k++)
        if (!take(graph, &operands[k], k, at, &ids[k]))
            return faulty(graph);
    node.file = kiln__ir_file(&graph->ir, at->file);
    node.line = at->line;
    const uint32_t id =
        node.file != NULL ? kiln__ir_add(&graph->ir, &node, ids, count, data, data_count) : 0;
    return id != 0 ? node_of(graph, id) : no_room(graph, at);
}

kiln_node kiln__record(const kiln__node *node, const kiln_node *operands, size_t count,
                       const int64_t *data, size_t data_count, const char *what, const char *file,
                       int line)
{
    return add(node, operands, count, data, data_count, &(place){what, file, line});
}

/* ---- inputs, outputs -------------------------------------------------------------------------- */

static bool known_dtype(kiln_dtype dtype)
{
    return kiln_dtype_size(dtype) != 0;
}

/* Enter the name of an input or output ("input", "output"), each of which has names of its own. */
static bool enter_name(kiln_graph *graph, const place *at, const char *name, bool *is_new)
{
    kiln__buf key = KILN__BUF_INIT;
    kiln__buf_puts(&key, at->what);
    kiln__buf_putc(&key, ' ');
    kiln__buf_puts(&key, name);
    const bool entered =
        !key.failed && kiln__map_enter(&graph->names, key.text, key.length, is_new) != NULL;
    kiln__buf_clear(&key);
    return entered;
}

kiln_node kiln_node_input(kiln_graph *graph, const char *name, kiln_dtype dtype, int rank,
                          const char *file, int line)
{
    const place at = {"input", file, line};
    uint32_t id = 0;
    bool is_new = true;
    if (!is_open(graph, &at))
        return faulty(graph);
    if (name == NULL || name[0] == '\0')
        return fault(graph, &at, KILN_ERR_NAME, "the name is %s", name == NULL ? "NULL" : "empty");
    if (!enter_name(graph, &at, name, &is_new))
        return no_room(graph, &at);
    if (!is_new)
        return fault(graph, &at, KILN_ERR_NAME, "there is an input `%.60s` already", name);
    if (dtype != KILN_DTYPE_NONE && !known_dtype(dtype))
        return fault(graph, &at, KILN_ERR_DTYPE, "`%.60s`: there is no dtype %d", name, (int)dtype);
    if (rank < -1 || rank > KILN_RANK_MAX)
        return fault(graph, &at, KILN_ERR_ARGUMENT, "`%.60s`: rank %d is none of -1 to %d", name,
                     rank, KILN_RANK_MAX);
    const char *kept = kiln__ir_file(&graph->ir, file);
    if (kept == NULL || !kiln__ir_input(&graph->ir, name, dtype, rank, kept, line, &id))
        return no_room(graph, &at);
    return node_of(graph, id);
}

void kiln_node_output(kiln_graph *graph, const char *name, kiln_node node, const char *file,
                      int line)
{
    const place at = {"output", file, line};
    uint32_t id = 0;
    bool is_new = true;
    if (!is_open(graph, &at))
        return;
    if (name == NULL || name[0] == '\0')
        fault(graph, &at, KILN_ERR_NAME, "the name is %s", name == NULL ? "NULL" : "empty");
    else if (!enter_name(graph, &at, name, &is_new))
        no_room(graph, &at);
    else if (!is_new)
        fault(graph, &at, KILN_ERR_NAME, "there is an output `%.60s` already", name);
    else if (take(graph, &node, 0, &at, &id)) {
        const char *kept = kiln__ir_file(&graph->ir, file);
        if (kept == NULL || !kiln__ir_output(&graph->ir, name, id, kept, line))
            no_room(graph, &at);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static kiln_node add_op(int op, const kiln_node *operands, int count, const char *file, int line)
{
    const kiln__op *found = kiln__op_find((kiln_op)op);
    const place at = {found != NULL ? found->name : "operation", file, line};
    const kiln__node node = {.kind = KILN__NODE_OP, .op = op};
    if (found != NULL && found->arity == count)
        return add(&node, operands, (size_t)count, NULL, 0, &at);
    kiln_graph *graph = home(operands, (size_t)count);
    if (graph == NULL)
        return without_graph(&at);
    if (found == NULL)
        return fault(graph, &at, KILN_ERR_ARGUMENT, "there is no operation %d", op);
    return fault(graph, &at, KILN_ERR_ARGUMENT_COUNT, "it takes %d operand%s, %d given",
                 found->arity, found->arity == 1 ? "" : "s", count);
}

kiln_node kiln_node_op1(int op, kiln_node a, const char *file, int line)
{
    return add_op(op, &a, 1, file, line);
}

kiln_node kiln_node_op2(int op, kiln_node a, kiln_node b, const char *file, int line)
{
    const kiln_node operands[] = {a, b};
    return add_op(op, operands, 2, file, line);
}

kiln_node kiln_node_op3(int op, kiln_node a, kiln_node b, kiln_node c, const char *file, int line)
{
    const kiln_node operands[] = {a, b, c};
    return add_op(op, operands, 3, file, line);
}

kiln_node kiln_node_cast(kiln_node x, kiln_dtype dtype, const char *file, int line)
{
    const place at = {"cast", file, line};
    const kiln__node node = {.kind = KILN__NODE_CAST, .dtype = dtype};
    kiln_graph *graph = home(&x, 1);
    if (graph != NULL && !known_dtype(dtype))
        return fault(graph, &at, KILN_ERR_DTYPE, "there is no dtype %d", (int)dtype);
    return add(&node, &x, 1, NULL, 0, &at);
}

/* ---- reductions and custom kernels ------------------------------------------------------------- */

/* Copy axes to a node's data; NULL sets all_axes. */
static bool read_axes(kiln_graph *graph, const kiln_axes *axes, const place *at, kiln__node *node,
                      int64_t data[KILN_RANK_MAX])
{
    node->all_axes = axes == NULL;
    if (axes == NULL)
        return true;
    if (axes->count < 0 || axes->count > KILN_RANK_MAX) {
        fault(graph, at, KILN_ERR_ARGUMENT, "%d axes; at most %d can be given", axes->count,
              KILN_RANK_MAX);
        return false;
    }
    for (int k = 0; k < axes->count; k++)
        data[k] = axes->axis[k];
    return true;
}

kiln_node kiln_node_reduce(kiln_reduce_op op, kiln_node x, const kiln_axes *axes, bool keepdims,
                           kiln_dtype dtype, const char *file, int line)
{
    const place at = {kiln_reduce_op_name(op), file, line};
    kiln__node node = {.kind = KILN__NODE_REDUCE, .op = op, .keepdims = keepdims, .dtype = dtype};
    int64_t data[KILN_RANK_MAX];
    kiln_graph *graph = home(&x, 1);
    if (graph == NULL)
        return without_graph(&at);
    if (strcmp(at.what, "unknown") == 0)
        return fault(graph, &at, KILN_ERR_ARGUMENT, "there is no reduction %d", (int)op);
    if (dtype != KILN_DTYPE_NONE && !known_dtype(dtype))
        return fault(graph, &at, KILN_ERR_DTYPE, "there is no dtype %d", (int)dtype);
    if (!read_axes(graph, axes, &at, &node, data))
        return faulty(graph);
    return add(&node, &x, 1, data, axes != NULL ? (size_t)axes->count : 0, &at);
}

/* What both kinds of custom nodes check. */
static kiln_node add_custom(kiln__kernel *kernel, const void *handle, kiln__node *node,
                            const kiln_node *inputs, size_t input_count, const int64_t *data,
                            size_t data_count, const place *at)
{
    kiln_graph *graph = home(inputs, input_count);
    if (graph == NULL)
        return without_graph(at);
    const kiln__definition *d = kernel->def;
    if (kernel->ctx != graph->ctx)
        return fault(graph, at, KILN_ERR_CONTEXT, "the kernel belongs to another context");
    if (input_count != d->input_count)
        return fault(graph, at, KILN_ERR_ARGUMENT_COUNT,
                     "the kernel takes %zu input%s \"%.100s\", %zu given", d->input_count,
                     d->input_count == 1 ? "" : "s", d->signature[0], input_count);
    if (node->result >= d->param_count - d->input_count)
        return fault(graph, at, KILN_ERR_ARGUMENT, "there is no output %u; the kernel has %zu",
                     node->result, d->param_count - d->input_count);
    for (size_t p = 0; p < d->param_count; p++)
        if (d->params[p].output ? d->params[p].raw : d->params[p].writable)
            return fault(graph, at, KILN_ERR_UNSUPPORTED,
                         "parameter `%.60s` is a raw output or a written input: such a kernel "
                         "cannot be a node",
                         d->params[p].name);
    node->kernel = handle;
    node->def = d;
    return add(node, inputs, input_count, data, data_count, at);
}

/* The error for a kernel handle that is NULL or destroyed, or for inputs that are NULL. */
static kiln_node bad_handle(const kiln_node *inputs, size_t input_count, const place *at)
{
    kiln_graph *graph = inputs != NULL ? home(inputs, input_count) : NULL;
    return graph != NULL ? fault(graph, at, KILN_ERR_NULL, "the kernel or its inputs are NULL")
                         : without_graph(at);
}

kiln_node kiln_node_elementwise(kiln_elementwise *op, const kiln_node *inputs, size_t input_count,
                                size_t result, const char *file, int line)
{
    place at = {"elementwise", file, line};
    kiln__node node = {.kind = KILN__NODE_CUSTOM, .result = (uint32_t)result};
    if (op == NULL || inputs == NULL || op->kernel.magic != KILN__KERNEL_MAGIC)
        return bad_handle(inputs, input_count, &at);
    at.what = op->kernel.def->name;
    return add_custom(&op->kernel, op, &node, inputs, input_count, NULL, 0, &at);
}

kiln_node kiln_node_reduction(kiln_reduction *op, const kiln_node *inputs, size_t input_count,
                              const kiln_axes *axes, bool keepdims, size_t result, const char *file,
                              int line)
{
    place at = {"reduction", file, line};
    kiln__node node = {.kind = KILN__NODE_CUSTOM, .result = (uint32_t)result, .keepdims = keepdims};
    int64_t data[KILN_RANK_MAX];
    if (op == NULL || inputs == NULL || op->kernel.magic != KILN__KERNEL_MAGIC)
        return bad_handle(inputs, input_count, &at);
    at.what = op->kernel.def->name;
    kiln_graph *graph = home(inputs, input_count);
    if (graph != NULL && !read_axes(graph, axes, &at, &node, data))
        return faulty(graph);
    return add_custom(&op->kernel, op, &node, inputs, input_count, data,
                      axes != NULL ? (size_t)axes->count : 0, &at);
}

/* ---- opaque operations ------------------------------------------------------------------------- */

kiln_node kiln__opaque_node(const kiln__opaque_given *given, size_t result, const char *file,
                            int line)
{
    const place at = {given->operation->name, file, line};
    const kiln__node node = {
        .kind = KILN__NODE_OPAQUE, .kernel = given->operation, .result = (uint32_t)result};
    return add(&node, given->operands, given->count, given->data, given->data_count, &at);
}

size_t kiln__opaque_text(const char *text, size_t bytes, int64_t data[KILN__OPAQUE_DATA_MAX])
{
    const size_t count = bytes / sizeof *data + 1;

    if (count > KILN__OPAQUE_DATA_MAX)
        return 0;
    memset(data, 0, count * sizeof *data);
    memcpy(data, text, bytes);
    return count;
}

kiln_node kiln_node_matmul(kiln_node a, kiln_node b, const char *file, int line)
{
    const kiln_node operands[] = {a, b};
    const kiln__opaque_given given = {kiln__opaque_named("matmul", 6), operands, 2, NULL, 0};
    return kiln__opaque_node(&given, 0, file, line);
}

kiln_node kiln_node_einsum(const char *subscripts, const kiln_node *operands, size_t count,
                           const char *file, int line)
{
    const place at = {"einsum", file, line};
    int64_t data[KILN__OPAQUE_DATA_MAX];
    kiln_graph *graph = operands != NULL ? home(operands, count) : NULL;

    if (graph == NULL)
        return without_graph(&at);
    if (subscripts == NULL)
        return fault(graph, &at, KILN_ERR_NULL, "`subscripts` is NULL");
    const size_t data_count = kiln__opaque_text(subscripts, strlen(subscripts), data);
    if (data_count == 0 || count > KILN__OPAQUE_OPERANDS)
        return fault(graph, &at, KILN_ERR_ARGUMENT, "%s has more than %d %s",
                     data_count == 0 ? "the text" : "it",
                     data_count == 0 ? (int)sizeof data - 1 : KILN__OPAQUE_OPERANDS,
                     data_count == 0 ? "bytes" : "operands");
    const kiln__opaque_given given = {kiln__opaque_named("einsum", 6), operands, count, data,
                                      data_count};
    return kiln__opaque_node(&given, 0, file, line);
}

/* A function of linear algebra by its name. */
static kiln_node add_linalg(const char *function, const kiln_node *operands, int count,
                            size_t result, const char *file, int line)
{
    const place at = {"linalg", file, line};
    const kiln__opaque *o =
        function != NULL ? kiln__opaque_named(function, strlen(function)) : NULL;
    kiln_graph *graph = home(operands, (size_t)count);

    if (graph == NULL)
        return without_graph(&at);
    if (function == NULL)
        return fault(graph, &at, KILN_ERR_NULL, "the name of the function is NULL");
    if (o == NULL || o->operand_count != count || o->data != KILN__OPAQUE_NONE)
        return fault(graph, &at, KILN_ERR_NAME, "there is no function `%.60s` of %d array%s",
                     function, count, count == 1 ? "" : "s");
    if (result >= (size_t)o->result_count)
        return fault(graph, &at, KILN_ERR_ARGUMENT, "there is no result %zu; %s has %d", result,
                     o->name, o->result_count);
    const kiln__opaque_given given = {o, operands, (size_t)count, NULL, 0};
    return kiln__opaque_node(&given, result, file, line);
}

/* A function of arrays, an axis and numbers. */
static kiln_node add_numbered(const place *at, const char *function, const kiln_node *operands,
                              size_t operand_count, const kiln_axes *axes, const double *numbers,
                              size_t number_count, size_t result)
{
    const kiln__opaque *o =
        function != NULL ? kiln__opaque_named(function, strlen(function)) : NULL;
    kiln_graph *graph = operands != NULL ? home(operands, operand_count) : NULL;
    int64_t data[KILN__OPAQUE_DATA_MAX];
    size_t count = 0;

    if (graph == NULL)
        return without_graph(at);
    if (o == NULL || o->data != KILN__OPAQUE_NUMBERS || (size_t)o->operand_count != operand_count ||
        number_count < strcspn(o->numbers, "m") || number_count > strlen(o->numbers) ||
        (number_count > 0 && numbers == NULL))
        return fault(graph, at, KILN_ERR_NAME,
                     "there is no function `%.60s` of %zu arrays and %zu numbers",
                     function != NULL ? function : "NULL", operand_count, number_count);
    if (result >= (size_t)o->result_count)
        return fault(graph, at, KILN_ERR_ARGUMENT, "there is no result %zu; %s has %d", result,
                     o->name, o->result_count);
    if (axes != NULL && (axes->count != 1 || !o->takes_axis))
        return fault(graph, at, KILN_ERR_AXIS, "%s takes %s", o->name,
                     o->takes_axis ? "one axis or none" : "no axis");
    if (o->takes_axis)
        data[count++] = axes != NULL ? axes->axis[0] : INT64_MIN;
    for (size_t k = 0; k < number_count; k++, count++) {
        if (o->numbers[k] == 'd')
            memcpy(&data[count], &numbers[k], sizeof numbers[k]);
        else
            data[count] = (int64_t)numbers[k];
    }
    if (o->numbers[number_count] == 'm')
        data[count++] = 0; /* the method that is meant where none is given */
    const kiln__opaque_given given = {o, operands, operand_count, data, count};
    return kiln__opaque_node(&given, result, at->file, at->line);
}

kiln_node kiln_node_sorting(const char *function, const kiln_node *operands, size_t operand_count,
                            const kiln_axes *axes, const double *numbers, size_t number_count,
                            size_t result, const char *file, int line)
{
    return add_numbered(&(place){"sorting", file, line}, function, operands, operand_count, axes,
                        numbers, number_count, result);
}

kiln_node kiln_node_scan(kiln_scan_op op, kiln_node x, const kiln_axes *axes, const char *file,
                         int line)
{
    return add_numbered(&(place){"scan", file, line}, kiln_scan_op_name(op), &x, 1, axes, NULL, 0,
                        0);
}

kiln_node kiln_node_linalg1(const char *function, kiln_node a, size_t result, const char *file,
                            int line)
{
    return add_linalg(function, &a, 1, result, file, line);
}

kiln_node kiln_node_linalg2(const char *function, kiln_node a, kiln_node b, size_t result,
                            const char *file, int line)
{
    const kiln_node operands[] = {a, b};
    return add_linalg(function, operands, 2, result, file, line);
}

/* ---- views ------------------------------------------------------------------------------------- */

static kiln_node add_view(int view, kiln_node x, const int64_t *data, size_t count, const place *at)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = view};
    return add(&node, &x, 1, data, count, at);
}

kiln_node kiln_node_transpose(kiln_node x, const kiln_axes *axes, const char *file, int line)
{
    const place at = {"transpose", file, line};
    kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_TRANSPOSE};
    int64_t data[KILN_RANK_MAX];
    kiln_graph *graph = home(&x, 1);
    if (graph == NULL)
        return without_graph(&at);
    if (!read_axes(graph, axes, &at, &node, data))
        return faulty(graph);
    return add(&node, &x, 1, data, axes != NULL ? (size_t)axes->count : 0, &at);
}

kiln_node kiln_node_newaxis(kiln_node x, int axis, const char *file, int line)
{
    const int64_t data[] = {axis};
    return add_view(KILN__VIEW_NEWAXIS, x, data, 1, &(place){"newaxis", file, line});
}

kiln_node kiln_node_flip(kiln_node x, int axis, const char *file, int line)
{
    const int64_t data[] = {axis};
    return add_view(KILN__VIEW_FLIP, x, data, 1, &(place){"flip", file, line});
}

kiln_node kiln_node_select(kiln_node x, int axis, int64_t index, const char *file, int line)
{
    const int64_t data[] = {axis, index};
    return add_view(KILN__VIEW_SELECT, x, data, 2, &(place){"select", file, line});
}

kiln_node kiln_node_slice(kiln_node x, int axis, int64_t start, int64_t stop, int64_t step,
                          const char *file, int line)
{
    const place at = {"slice", file, line};
    const int64_t data[] = {axis, start, stop, step};
    kiln_graph *graph = home(&x, 1);
    if (graph != NULL && step == 0)
        return fault(graph, &at, KILN_ERR_AXIS, "the step is 0");
    return add_view(KILN__VIEW_SLICE, x, data, 4, &at);
}

/* Add a view whose data is a shape. */
static kiln_node add_shaped(int view, kiln_node x, int rank, const int64_t *shape, const place *at)
{
    kiln_graph *graph = home(&x, 1);
    if (graph == NULL)
        return without_graph(at);
    if (rank < 0 || rank > KILN_RANK_MAX)
        return fault(graph, at, KILN_ERR_ARGUMENT, "rank %d is none of 0 to %d", rank,
                     KILN_RANK_MAX);
    if (shape == NULL && rank > 0)
        return fault(graph, at, KILN_ERR_NULL, "the shape is NULL");
    for (int a = 0; a < rank; a++)
        if (shape[a] < (view == KILN__VIEW_RESHAPE ? -1 : 0))
            return fault(graph, at, KILN_ERR_SHAPE, "extent %lld of axis %d is negative",
                         (long long)shape[a], a);
    return add_view(view, x, shape, (size_t)rank, at);
}

kiln_node kiln_node_broadcast_to(kiln_node x, int rank, const int64_t *shape, const char *file,
                                 int line)
{
    return add_shaped(KILN__VIEW_BROADCAST, x, rank, shape, &(place){"broadcast_to", file, line});
}

kiln_node kiln_node_reshape(kiln_node x, int rank, const int64_t *shape, const char *file, int line)
{
    return add_shaped(KILN__VIEW_RESHAPE, x, rank, shape, &(place){"reshape", file, line});
}

/* ---- positions --------------------------------------------------------------------------------- */

kiln_node kiln_node_iota(kiln_node x, int axis, const char *file, int line)
{
    const place at = {"iota", file, line};
    const kiln__node node = {.kind = KILN__NODE_IOTA};
    const int64_t data[] = {axis};
    return add(&node, &x, 1, data, 1, &at);
}

kiln_node kiln_node_arange(kiln_graph *graph, int64_t count, const char *file, int line)
{
    const place at = {"arange", file, line};
    kiln__node node = {.kind = KILN__NODE_ARANGE};
    if (!is_open(graph, &at))
        return faulty(graph);
    if (count < 0)
        return fault(graph, &at, KILN_ERR_SHAPE, "the count %lld is negative", (long long)count);
    node.file = kiln__ir_file(&graph->ir, file);
    node.line = line;
    const uint32_t id = node.file != NULL ? kiln__ir_add(&graph->ir, &node, NULL, 0, &count, 1) : 0;
    return id != 0 ? node_of(graph, id) : no_room(graph, &at);
}

kiln_node kiln__values_node(kiln_graph *graph, const int64_t *data, const char *file, int line)
{
    const place at = {"list", file, line};
    kiln__node node = {.kind = KILN__NODE_OPAQUE, .kernel = kiln__opaque_named("_values", 7)};
    const size_t count = KILN__VALUES_HEAD + 2 * (size_t)data[KILN__VALUES_COUNT];

    node.file = kiln__ir_file(&graph->ir, file);
    node.line = line;
    const uint32_t id =
        node.file != NULL ? kiln__ir_add(&graph->ir, &node, NULL, 0, data, count) : 0;
    return id != 0 ? node_of(graph, id) : no_room(graph, &at);
}

/* ---- random numbers ---------------------------------------------------------------------------- */

kiln_node kiln_random_node(kiln_graph *graph, kiln_draw distribution, kiln_node key, kiln_node draw,
                           const kiln_node *params, size_t param_count, kiln_dtype dtype,
                           const kiln_node *like, int rank, const int64_t *shape, const char *file,
                           int line)
{
    const place at = {kiln_draw_name(distribution), file, line};
    const kiln__node node = {.kind = KILN__NODE_DRAW, .op = (int)distribution, .dtype = dtype};
    kiln_node operands[KILN__DRAW_OPERANDS_MAX];
    size_t count = 0;

    if (!is_open(graph, &at))
        return faulty(graph);
    if (!kiln__draw_exists(distribution))
        return fault(graph, &at, KILN_ERR_ARGUMENT, "there is no distribution %d",
                     (int)distribution);
    if (param_count != kiln__draw_params(distribution))
        return fault(graph, &at, KILN_ERR_ARGUMENT_COUNT, "%zu parameters are needed, %zu given",
                     kiln__draw_params(distribution), param_count);
    if ((params == NULL && param_count > 0) || (like == NULL && shape == NULL && rank > 0))
        return fault(graph, &at, KILN_ERR_NULL, "the %s is NULL",
                     params == NULL && param_count > 0 ? "list of parameters" : "shape");
    if (like == NULL && (rank < 0 || rank > KILN_RANK_MAX))
        return fault(graph, &at, KILN_ERR_ARGUMENT, "rank %d is none of 0 to %d", rank,
                     KILN_RANK_MAX);
    for (int a = 0; like == NULL && a < rank; a++)
        if (shape[a] < 0)
            return fault(graph, &at, KILN_ERR_SHAPE, "extent %lld of axis %d is negative",
                         (long long)shape[a], a);
    operands[count++] = kiln__graph_number(graph, key);
    operands[count++] = draw;
    for (size_t k = 0; k < param_count; k++)
        operands[count++] = params[k];
    if (like != NULL)
        operands[count++] = *like;
    return add(&node, operands, count, shape, like == NULL ? (size_t)rank : 0, &at);
}

/* ---- rearrangements ---------------------------------------------------------------------------- */

kiln_node kiln__node_rearranged(kiln_rearrangement what, const kiln_node *operands,
                                size_t operand_count, const int64_t *numbers, size_t number_count,
                                const char *file, int line)
{
    const place at = {kiln_rearrangement_name(what), file, line};
    const kiln__node node = {.kind = KILN__NODE_REARRANGED, .op = (int)what};
    kiln_node taken[KILN__REARRANGE_OPERANDS_MAX];
    kiln_graph *graph = operands != NULL ? home(operands, operand_count) : NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (graph == NULL)
        return without_graph(&at);
    if (!is_open(graph, &at))
        return faulty(graph);
    const kiln_status status = kiln__arrange_check(what, operand_count, number_count, &err);
    if (status != KILN_OK)
        return fault(graph, &at, status, "%s", err.message);
    if (numbers == NULL && number_count > 0)
        return fault(graph, &at, KILN_ERR_NULL, "the list of numbers is NULL");
    for (size_t k = 0; k < operand_count; k++)
        taken[k] = kiln__graph_number(graph, operands[k]);
    return add(&node, taken, operand_count, numbers, number_count, &at);
}

/* ---- index arrays ------------------------------------------------------------------------------ */

kiln_node kiln__node_fault(kiln_node x, kiln_status status, const char *what, const char *file,
                           int line, const char *text)
{
    const place at = {what, file, line};
    kiln_graph *graph = home(&x, 1);

    return graph != NULL ? fault(graph, &at, status, "%s", text) : without_graph(&at);
}

kiln_node kiln__node_gather(kiln_node x, const kiln_node *indices, const int *axes, size_t count,
                            kiln_index_mode mode, int kind, const char *file, int line)
{
    const place at = {kind == KILN__GATHER_ALONG ? "take_along_axis" : "take", file, line};
    const kiln__node node = {.kind = KILN__NODE_GATHER};
    kiln_node operands[1 + KILN_RANK_MAX];
    int64_t data[KILN__GATHER_AXES + KILN_RANK_MAX] = {mode, kind};
    kiln_graph *graph = home(&x, 1);

    operands[0] = x;
    for (size_t k = 0; k < count && graph == NULL; k++)
        graph = home(&indices[k], 1);
    if (graph == NULL)
        return without_graph(&at);
    if (mode < KILN_INDEX_CHECK || mode > KILN_INDEX_CLIP)
        return fault(graph, &at, KILN_ERR_ARGUMENT, "there is no index mode %d", (int)mode);
    if (count > KILN_RANK_MAX)
        return fault(graph, &at, KILN_ERR_AXIS, "%zu axes are indexed", count);
    for (size_t k = 0; k < count; k++) {
        operands[1 + k] = indices[k];
        data[KILN__GATHER_AXES + k] = axes[k];
    }
    return add(&node, operands, 1 + count, data, KILN__GATHER_AXES + count, &at);
}
