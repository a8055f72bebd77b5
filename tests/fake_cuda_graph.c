/*
 * fake_cuda_graph.c - graphs of the driver that is none: lists of operations.
 *
 * A graph is its own executable form: kiln makes one of each and never uses the first again. Its
 * operations are run anew at each launch; before one is changed, all that was launched is run.
 */
#include <stdlib.h>

#include "fake_driver.h"

struct kiln__cu_graph_st {
    fake_op *first, **last, *newest;
};

const fake_op *fake_graph_first(const void *graph)
{
    return ((const struct kiln__cu_graph_st *)graph)->first;
}

int fake_graph_create(kiln__cu_graph *graph, unsigned flags)
{
    ENTER();
    *graph = calloc(1, sizeof **graph);
    (*graph)->last = &(*graph)->first;
    return flags == 0 ? 0 : fake_invalid_value();
}

int fake_graph_append(kiln__cu_graph graph, fake_op what)
{
    fake_op *const op = malloc(sizeof *op);

    *op = what;
    op->next = NULL;
    *graph->last = op;
    graph->last = &op->next;
    graph->newest = op;
    return 0;
}

/* Append an operation, which must come behind the newest: kiln's graphs are chains. */
static int add(kiln__cu_graph_node *node, kiln__cu_graph graph, const kiln__cu_graph_node *after,
               size_t after_count, fake_op what)
{
    if (after_count != (graph->newest != NULL) ||
        (after_count == 1 && (fake_op *)(void *)after[0] != graph->newest))
        return fake_invalid_value();
    (void)fake_graph_append(graph, what);
    *node = (kiln__cu_graph_node)(void *)graph->newest;
    return 0;
}

/* The child's operations move into a graph that belongs to the node. */
int fake_graph_add_child(kiln__cu_graph_node *node, kiln__cu_graph graph,
                         const kiln__cu_graph_node *after, size_t after_count,
                         kiln__cu_graph child)
{
    ENTER();
    kiln__cu_graph own = NULL;

    (void)fake_graph_create(&own, 0);
    own->first = child->first;
    child->first = child->newest = NULL;
    child->last = &child->first;
    return add(node, graph, after, after_count, (fake_op){.kind = OP_GRAPH, .user = own});
}

static int launch_into(fake_op *op, const kiln__cu_kernel_node *k)
{
    fake_catch_kernel(op);
    const int result =
        fake_launch_kernel(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0],
                           k->block[1], k->block[2], k->shared_bytes, NULL, k->params, k->extra);
    fake_catch_kernel(NULL);
    return result;
}

int fake_graph_add_kernel(kiln__cu_graph_node *node, kiln__cu_graph graph,
                          const kiln__cu_graph_node *after, size_t after_count,
                          const kiln__cu_kernel_node *params)
{
    ENTER();
    fake_op op = {.kind = OP_KERNEL};
    const int result = launch_into(&op, params);

    return result != 0 ? result : add(node, graph, after, after_count, op);
}

static void *end_of(const kiln__cu_copy_end *end)
{
    return end->kind == 1 ? (void *)(uintptr_t)end->host : (void *)(uintptr_t)end->device;
}

int fake_graph_add_copy(kiln__cu_graph_node *node, kiln__cu_graph graph,
                        const kiln__cu_graph_node *after, size_t after_count,
                        const kiln__cu_copy_node *params, kiln__cu_context context)
{
    ENTER();
    const void *base;
    size_t bytes;

    if (context == NULL || params->height != 1 || params->depth != 1 ||
        !fake_memory_find(end_of(&params->to), &base, &bytes) ||
        !fake_memory_find(end_of(&params->from), &base, &bytes))
        return fake_invalid_value();
    return add(node, graph, after, after_count,
               (fake_op){.kind = OP_COPY,
                         .dst = end_of(&params->to),
                         .src = end_of(&params->from),
                         .bytes = params->width});
}

int fake_graph_add_set(kiln__cu_graph_node *node, kiln__cu_graph graph,
                       const kiln__cu_graph_node *after, size_t after_count,
                       const kiln__cu_set_node *params, kiln__cu_context context)
{
    ENTER();
    if (context == NULL || params->height != 1 || params->element_bytes != 1)
        return fake_invalid_value();
    return add(node, graph, after, after_count,
               (fake_op){.kind = OP_SET,
                         .dst = (unsigned char *)(uintptr_t)params->to,
                         .value = (int)params->value,
                         .bytes = params->width});
}

int fake_graph_add_host(kiln__cu_graph_node *node, kiln__cu_graph graph,
                        const kiln__cu_graph_node *after, size_t after_count,
                        const kiln__cu_host_node *params)
{
    ENTER();
    return add(node, graph, after, after_count,
               (fake_op){.kind = OP_HOST, .fn = params->fn, .user = params->user});
}

int fake_graph_kernel_set_attribute(kiln__cu_graph_node node, int id, const void *value)
{
    ENTER();
    (void)value;
    return ((fake_op *)(void *)node)->kind == OP_KERNEL && (id == 2 || id == 4)
               ? 0
               : fake_invalid_value();
}

int fake_graph_instantiate(kiln__cu_graph_exec *exec, kiln__cu_graph graph,
                           unsigned long long flags)
{
    ENTER();
    *exec = (kiln__cu_graph_exec)(void *)graph;
    return flags == 0 ? 0 : fake_invalid_value();
}

int fake_graph_launch(kiln__cu_graph_exec exec, kiln__cu_stream stream)
{
    ENTER();
    return fake_enqueue_graph(stream, (kiln__cu_graph)(void *)exec);
}

int fake_graph_exec_set_kernel(kiln__cu_graph_exec exec, kiln__cu_graph_node node,
                               const kiln__cu_kernel_node *params)
{
    ENTER();
    fake_op *const op = (fake_op *)(void *)node;

    (void)exec;
    if (op->kind != OP_KERNEL)
        return fake_invalid_value();
    fake_run_all(); /* with the arguments of then */
    (void)op->kernel(op->user, FAKE_FREE);
    return launch_into(op, params);
}

int fake_graph_exec_destroy(kiln__cu_graph_exec exec)
{
    ENTER();
    (void)exec;
    fake_run_all();
    return 0;
}

int fake_graph_destroy(kiln__cu_graph graph)
{
    ENTER();
    for (fake_op *op = graph->first, *next; op != NULL; op = next) {
        next = op->next;
        if (op->kind == OP_KERNEL)
            (void)op->kernel(op->user, FAKE_FREE);
        if (op->kind == OP_GRAPH)
            (void)fake_graph_destroy(op->user);
        free(op);
    }
    free(graph);
    return 0;
}
