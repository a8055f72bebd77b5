/*
 * program.c - a recording as one CUDA graph.
 *
 *     recording.c -> [a node a step, each behind the one before] -> run, set
 *
 * Rule: the nodes are made one by one. A stream is captured for what a library enqueues by itself, and for
 *       nothing else: while one is, the driver refuses other threads' cuCtxSynchronize.
 */
#include "device/cuda/driver.h"
#include "device/recording.h"

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };
enum { STREAM_NON_BLOCKING = 1, CAPTURE_RELAXED = 2, CAPTURES_MAX = 16 };

/* The driver names a node of the executable graph by that of the graph it was made from. */
typedef struct cuda_program {
    kiln__cu_graph graph;
    kiln__cu_graph_exec exec;
} cuda_program;

/* ---- nodes ---- */

/* What a step's node says of its kernel. `values` has room for the addresses of its arguments,
 * which the driver reads during the call. */
static kiln__cu_kernel_node kernel_of(const kiln__step *s, void **values)
{
    kiln__cu_kernel_node node = {.function = s->entry, .params = values};

    if (s->kind == KILN__STEP_LAUNCH) {
        const kiln__launch_config *const c = &s->as.launch;
        const unsigned grid[] = {(unsigned)c->grid_x, c->grid_y > 0 ? c->grid_y : 1,
                                 c->grid_z > 0 ? c->grid_z : 1};
        memcpy(node.grid, grid, sizeof grid);
        node.block[0] = c->block;
        node.block[1] = node.block[2] = 1;
        node.shared_bytes = c->shared_bytes;
        values[0] = s->args;
        return node;
    }
    memcpy(node.grid, s->as.raw.config.grid, sizeof node.grid);
    memcpy(node.block, s->as.raw.config.block, sizeof node.block);
    node.shared_bytes = s->as.raw.config.shared_bytes;
    for (size_t k = 0; k < s->as.raw.count; k++)
        values[k] = s->args + s->as.raw.params[k].offset;
    return node;
}

/* Attributes of a raw launch. A programmatic one only lets it begin early, and is left out. */
static kiln_status set_attributes(kiln__device *device, const kiln__raw_launch *launch,
                                  kiln__cu_graph_node node, kiln_error *err)
{
    kiln__cu_launch_attribute a;
    kiln_status status = KILN_OK;

    memset(&a, 0, sizeof a);
    if (launch->cluster[0] != 0) {
        memcpy(a.value.dims, launch->cluster, sizeof launch->cluster);
        status = kiln__cuda_status(
            device, kiln__cu.graph_kernel_set_attribute(node, ATTRIBUTE_CLUSTER, &a.value),
            "cuGraphKernelNodeSetAttribute", err);
    }
    memset(&a, 0, sizeof a);
    a.value.flag = 1;
    if (status == KILN_OK && launch->cooperative)
        status = kiln__cuda_status(
            device, kiln__cu.graph_kernel_set_attribute(node, ATTRIBUTE_COOPERATIVE, &a.value),
            "cuGraphKernelNodeSetAttribute", err);
    return status;
}

static kiln_status add_kernel(kiln__device *device, kiln__cu_graph graph, kiln__step *s,
                              const kiln__cu_graph_node *after, kiln__cu_graph_node *out,
                              kiln_error *err)
{
    const kiln__raw_launch plain = {.shared_bytes = s->as.launch.shared_bytes};
    const kiln__raw_launch *const launch =
        s->kind == KILN__STEP_LAUNCH ? &plain : &s->as.raw.config;
    void *values[KILN_PARAM_MAX];
    const kiln__cu_kernel_node node = kernel_of(s, values);

    KILN_CHECK(kiln__cuda_raise_limits(device, s->entry, launch, err));
    KILN_CHECK(kiln__cuda_status(
        device, kiln__cu.graph_add_kernel(out, graph, after, after != NULL, &node),
        "cuGraphAddKernelNode", err));
    s->node = *out;
    return set_attributes(device, launch, *out, err);
}

static kiln__cu_copy_end end_of(void *address, bool host)
{
    kiln__cu_copy_end end;

    memset(&end, 0, sizeof end);
    end.kind = host ? MEMORY_HOST : MEMORY_DEVICE;
    end.host = host ? address : NULL;
    end.device = host ? 0 : (kiln__cu_pointer)(uintptr_t)address;
    return end;
}

static kiln_status add_copy(kiln__device *device, kiln__cu_graph graph, const kiln__step *s,
                            const kiln__cu_graph_node *after, kiln__cu_graph_node *out,
                            kiln_error *err)
{
    const bool transfer = s->kind == KILN__STEP_TRANSFER;
    const kiln__cu_copy_node node = {
        .from = end_of(kiln__step_address(s, 1), transfer && s->as.to_device),
        .to = end_of(kiln__step_address(s, 0), transfer && !s->as.to_device),
        .width = s->bytes,
        .height = 1,
        .depth = 1};

    return kiln__cuda_status(device,
                             kiln__cu.graph_add_copy(out, graph, after, after != NULL, &node,
                                                     kiln__cuda_of(device)->context),
                             "cuGraphAddMemcpyNode", err);
}

static kiln_status add_set(kiln__device *device, kiln__cu_graph graph, const kiln__step *s,
                           const kiln__cu_graph_node *after, kiln__cu_graph_node *out,
                           kiln_error *err)
{
    const kiln__cu_set_node node = {.to = (kiln__cu_pointer)(uintptr_t)kiln__step_address(s, 0),
                                    .value = (unsigned char)s->as.byte,
                                    .element_bytes = 1,
                                    .width = s->bytes,
                                    .height = 1};

    return kiln__cuda_status(device,
                             kiln__cu.graph_add_set(out, graph, after, after != NULL, &node,
                                                    kiln__cuda_of(device)->context),
                             "cuGraphAddMemsetNode", err);
}

/* What a library enqueues, as a graph. A thread of the program's that has called cuCtxSynchronize
 * meanwhile has spoiled the capture, and it is made once more. */
static kiln_status capture(kiln__device *device, const kiln__step *s, kiln__cu_stream stream,
                           kiln__cu_graph *out, kiln_error *err)
{
    kiln__cu_result result = KILN__CU_CAPTURE_INVALIDATED;
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&kiln__cuda_capture);
    for (int k = 0; k < CAPTURES_MAX && result == KILN__CU_CAPTURE_INVALIDATED; k++) {
        KILN_TRY(kiln__cuda_status(device,
                                   kiln__cu.stream_begin_capture(stream, CAPTURE_RELAXED),
                                   "cuStreamBeginCapture", err));
        status = s->as.library(s->args, stream, err);
        result = kiln__cu.stream_end_capture(stream, out);
    }
    if (status == KILN_OK)
        status = kiln__cuda_status(device, result, "cuStreamEndCapture", err);

done:
    pthread_mutex_unlock(&kiln__cuda_capture);
    return status;
}

static kiln_status add_library(kiln__device *device, kiln__cu_graph graph, const kiln__step *s,
                               const kiln__cu_graph_node *after, kiln__cu_graph_node *out,
                               kiln_error *err)
{
    kiln__cu_stream stream = NULL;
    kiln__cu_graph made = NULL;
    kiln_status status = kiln__cuda_status(
        device, kiln__cu.stream_create(&stream, STREAM_NON_BLOCKING, 0),
        "cuStreamCreateWithPriority", err);

    if (status != KILN_OK)
        return status;
    status = capture(device, s, stream, &made, err);
    if (status == KILN_OK) /* copies what was made */
        status = kiln__cuda_status(
            device, kiln__cu.graph_add_child(out, graph, after, after != NULL, made),
            "cuGraphAddChildGraphNode", err);
    if (made != NULL)
        (void)kiln__cu.graph_destroy(made);
    (void)kiln__cu.stream_destroy(stream);
    return status;
}

static kiln_status add_step(kiln__device *device, kiln__cu_graph graph, kiln__step *s,
                            const kiln__cu_graph_node *after, kiln__cu_graph_node *out,
                            kiln_error *err)
{
    switch (s->kind) {
    case KILN__STEP_LAUNCH:
    case KILN__STEP_RAW:
        return add_kernel(device, graph, s, after, out, err);
    case KILN__STEP_COPY:
    case KILN__STEP_TRANSFER:
        return add_copy(device, graph, s, after, out, err);
    case KILN__STEP_MEMSET:
        return add_set(device, graph, s, after, out, err);
    case KILN__STEP_LIBRARY:
        return add_library(device, graph, s, after, out, err);
    case KILN__STEP_HOST_CALL:
        break;
    }
    const kiln__cu_host_node node = {s->as.host.fn, s->as.host.user};
    return kiln__cuda_status(device,
                             kiln__cu.graph_add_host(out, graph, after, after != NULL, &node),
                             "cuGraphAddHostNode", err);
}

/* ---- the backend's functions ---- */

static kiln_status fill(kiln__device *device, cuda_program *made, kiln__step *steps, size_t count,
                        kiln_error *err)
{
    kiln__cu_graph_node last = NULL, next = NULL;

    KILN_CHECK(
        kiln__cuda_status(device, kiln__cu.graph_create(&made->graph, 0), "cuGraphCreate", err));
    for (size_t k = 0; k < count; k++) {
        KILN_CHECK(
            add_step(device, made->graph, &steps[k], k > 0 ? &last : NULL, &next, err));
        last = next;
    }
    return kiln__cuda_status(device, kiln__cu.graph_instantiate(&made->exec, made->graph, 0),
                             "cuGraphInstantiateWithFlags", err);
}

kiln_status kiln__cuda_program_create(kiln__device *device, kiln__step *steps, size_t count,
                                      void **program_out, kiln_error *err)
{
    cuda_program *made = kiln__calloc(1, sizeof *made);
    bool pushed;

    *program_out = NULL;
    if (made == NULL)
        return kiln__fail_memory(err, sizeof *made);
    kiln_status status = kiln__cuda_enter(device, &pushed, err);
    if (status == KILN_OK) {
        status = fill(device, made, steps, count, err);
        kiln__cuda_leave(pushed);
    }
    if (status == KILN_OK)
        *program_out = made;
    else
        kiln__cuda_program_destroy(device, made);
    return status;
}

kiln_status kiln__cuda_program_run(kiln__device *device, void *program, void *native,
                                   kiln_error *err)
{
    KILN__CU_CHECK(graph_launch, "cuGraphLaunch", (((cuda_program *)program)->exec, native));
    return KILN_OK;
}

kiln_status kiln__cuda_program_set(kiln__device *device, void *program, const kiln__step *step,
                                   kiln_error *err)
{
    void *values[KILN_PARAM_MAX];
    const kiln__cu_kernel_node node = kernel_of(step, values);

    KILN__CU_CHECK(graph_exec_set_kernel, "cuGraphExecKernelNodeSetParams",
                   (((cuda_program *)program)->exec, step->node, &node));
    return KILN_OK;
}

void kiln__cuda_program_destroy(kiln__device *device, void *program)
{
    cuda_program *const made = program;
    bool pushed;

    if (made == NULL || kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    if (made->exec != NULL)
        (void)kiln__cu.graph_exec_destroy(made->exec);
    if (made->graph != NULL)
        (void)kiln__cu.graph_destroy(made->graph);
    kiln__cuda_leave(pushed);
    kiln__free(made);
}
