/*
 * test_fork.c - a forked child and the objects that it inherits, while other threads of the parent
 * are at work with them.
 *
 * Every public function that takes a context, or something made from one, is called in children that
 * were forked at any moment: it answers ERR_FORK or, where it has no status, returns at once. None
 * waits for a lock that a thread of the parent held: an alarm ends a child that does. A child can
 * make a context of its own and use it.
 *
 * A public function that is in neither list below fails the last test.
 *
 * $KILN_TEST_ROUNDS: how many forks (default 300).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kiln/kiln.h"

enum { ROUNDS = 300, THREADS = 4, COUNT = 64, CHILD_SECONDS = 30 };

/* What the parent makes and children inherit. */
static struct {
    kiln_context *ctx;
    kiln_array *x, *z, *wrapped;
    kiln_stream *stream;
    kiln_event *event;
    kiln_observer *observer;
    kiln_elementwise *loop;
    kiln_reduction *sum;
    kiln_scan *scan;
    kiln_row *row;
    kiln_filter *filter;
    kiln_launch *launch;
    kiln_graph *graph, *open;
    kiln_node node;
    kiln_prefetch *ahead;
    kiln_module *module;
    kiln_raw *raw;
    kiln_program *program;
    void *pinned;
    float memory[COUNT];
} o;

static const kiln_row_stage stage = {
    .map = "x", .type = "float", .reduce = "a + b", .identity = "0", .result = "s"};

static const int64_t shape[] = {COUNT};

/* ---- the functions ---- */

/* What calls below write to. */
typedef struct outputs {
    kiln_array *array, *second, *third;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_observer *observer;
    kiln_event *event;
    kiln_event_handle handle;
    kiln_elementwise *loop;
    kiln_reduction *sum;
    kiln_scan *scan;
    kiln_row *row;
    kiln_filter *filter;
    kiln_launch *launch;
    kiln_graph *graph;
    kiln_prefetch *ahead;
    kiln_module *module;
    kiln_program *program;
    kiln_raw *raw;
    kiln_raw_attributes attributes;
    int64_t blocks;
    kiln_pool_stats stats;
    kiln_cache_counters counters;
    kiln_benchmark_result benchmark;
    DLManagedTensorVersioned *exported, foreign;
    DLManagedTensor *exported_plain, foreign_plain;
    kiln_array_interface interface;
    kiln_scalar item;
    kiln_random random;
    void *memory;
    int64_t dims[1];
    kiln_node node;
    char *text, **texts;
    double ms;
    size_t count;
    int least, greatest;
    bool done;
    float data[COUNT];
} outputs;

static pid_t parent;

static const char module_text[] =
    "__device__ int v; extern \"C\" __global__ void set(float *x) { x[0] = 1; v = 2; }";

/* Given back in the parent only: a child has a copy of the memory and no say in it. */
static void give_back(void *owner, void *data)
{
    (void)owner;
    (void)data;
    if (getpid() != parent)
        _exit(99);
}

static void called(void *user)
{
    (void)user;
}

static void observed(void *user, const kiln_observation *what)
{
    (void)user;
    (void)what;
    if (getpid() != parent)
        _exit(98);
}

static kiln_status measured(void *user, kiln_error *err)
{
    (void)user;
    (void)err;
    return KILN_OK;
}

static const char *const names[] = {"x"};

static const kiln_raw_call_options one_thread = {
    .struct_size = sizeof one_thread, .grid = {1}, .block = {1}};

#define XX (const kiln_array *const[]){o.x}, 1
#define XX_TWICE (const kiln_array *const[]){o.x, o.x}, 2
#define XY (const kiln_arg[]){kiln_arg_array(o.x), kiln_arg_out(&t.array)}, 2

/* A(function, arguments): answers ERR_FORK. B: returns. S: answers something. */
#define CALLS(A, B, S)                                                                             \
    A(kiln_array_empty, (o.ctx, KILN_FLOAT32, 1, shape, &t.array, &err))                           \
    A(kiln_array_zeros, (o.ctx, KILN_FLOAT32, 1, shape, &t.array, &err))                           \
    A(kiln_array_ones, (o.ctx, KILN_FLOAT32, 1, shape, &t.array, &err))                            \
    A(kiln_array_full, (o.ctx, KILN_FLOAT32, 1, shape, 3, &t.array, &err))                         \
    A(kiln_array_empty_like, (o.x, KILN_DTYPE_NONE, &t.array, &err))                               \
    A(kiln_array_zeros_like, (o.x, KILN_DTYPE_NONE, &t.array, &err))                               \
    A(kiln_array_ones_like, (o.x, KILN_DTYPE_NONE, &t.array, &err))                                \
    A(kiln_array_full_like, (o.x, KILN_DTYPE_NONE, 3, &t.array, &err))                             \
    A(kiln_array_arange, (o.ctx, KILN_FLOAT32, 0, 9, 1, &t.array, &err))                           \
    A(kiln_array_linspace, (o.ctx, KILN_FLOAT32, 0, 9, 5, &t.array, &err))                         \
    A(kiln_array_from_host, (o.ctx, KILN_FLOAT32, 1, shape, t.data, NULL, &t.array, &err))         \
    A(kiln_array_wrap, (o.ctx, KILN_FLOAT32, 1, shape, NULL, t.data, NULL, sizeof t.data, NULL,    \
                        NULL, &t.array, &err))                                                     \
    B(kiln_array_retain, (o.x)) B(kiln_array_dtype, (o.x))                                         \
    B(kiln_array_rank, (o.x)) B(kiln_array_shape, (o.x))                                           \
    B(kiln_array_strides, (o.x)) B(kiln_array_size, (o.x))                                         \
    B(kiln_array_data, (o.x)) B(kiln_array_context, (o.x))                                         \
    B(kiln_array_is_contiguous, (o.x)) B(kiln_array_is_read_only, (o.x))                           \
    A(kiln_array_to_dlpack, (o.x, NULL, &t.exported, &err))                                        \
    A(kiln_array_to_dlpack_unversioned, (o.x, NULL, &t.exported_plain, &err))                      \
    A(kiln_array_from_dlpack, (o.ctx, &t.foreign, NULL, &t.array, &err))                           \
    A(kiln_array_from_dlpack_unversioned, (o.ctx, &t.foreign_plain, NULL, &t.array, &err))         \
    A(kiln_array_from_interface, (o.ctx, &t.interface, NULL, NULL, &t.array, &err))                \
    A(kiln_array_to_interface, (o.x, &t.interface, &err))                                          \
    A(kiln_array_slice, (o.x, 0, 1, 5, 1, &t.array, &err))                                         \
    A(kiln_array_select, (o.x, 0, 1, &t.array, &err))                                              \
    A(kiln_array_transpose, (o.x, NULL, &t.array, &err))                                           \
    A(kiln_array_reshape, (o.x, 1, shape, &t.array, &err))                                         \
    A(kiln_array_broadcast_to, (o.x, 1, shape, &t.array, &err))                                    \
    A(kiln_array_newaxis, (o.x, 0, &t.array, &err)) A(kiln_array_flip, (o.x, 0, &t.array, &err))   \
    A(kiln_array_view, (o.x, "::2", &t.array, &err)) A(kiln_array_fill, (o.z, 3, &err))            \
    A(kiln_array_item, (o.x, (int64_t[]){3}, &t.item, &err))                                       \
    A(kiln_host_alloc, (o.ctx, 10, 0, &t.memory, &err)) B(kiln_host_free, (o.ctx, o.pinned))       \
    B(kiln_host_pool_stats, (o.ctx, &t.stats)) B(kiln_host_pool_set_limit, (o.ctx, 1))             \
    B(kiln_host_pool_trim, (o.ctx))                                                                \
    A(kiln_array_empty_host, (o.ctx, KILN_FLOAT32, 1, shape, &t.array, &err))                      \
    A(kiln_array_upload, (o.z, t.data, NULL, NULL, &err))                                          \
    A(kiln_array_download, (o.x, t.data, sizeof t.data, NULL, NULL, &err))                         \
    A(kiln_array_copy_to, (o.x, o.ctx, &t.array, &err)) A(kiln_array_copy, (o.x, &t.array, &err))  \
    A(kiln_array_cast, (o.x, KILN_FLOAT64, &t.array, &err))                                        \
    A(kiln_array_contiguous, (o.x, &t.array, &err)) A(kiln_array_assign, (o.z, o.x, &err))         \
    A(kiln_array_to_host, (o.x, t.data, sizeof t.data, NULL, &err))                                \
    A(kiln_array_load_npz, (o.ctx, npy_path, "x", &t.array, &err))                                 \
    A(kiln_array_save_npz, ((const kiln_array *const[]){o.x}, names, 1, other_path, &err))         \
    S(kiln_npz_names, (npy_path, &t.texts, &t.count, NULL))                                        \
    A(kiln_array_load_npy, (o.ctx, npy_path, &t.array, &err))                                      \
    A(kiln_array_save_npy, (o.x, other_path, &err)) A(kiln_array_to_string, (o.x, &t.text, &err))  \
    A(kiln_benchmark, (o.ctx, measured, NULL, NULL, &t.benchmark, &err))                           \
    B(kiln_context_cache_counters, (o.ctx, &t.counters))                                           \
    S(kiln_context_add_bundle, (o.ctx, "/nowhere/at/all", NULL)) B(kiln_context_retain, (o.ctx))   \
    B(kiln_context_device, (o.ctx)) B(kiln_context_cache_dir, (o.ctx))                             \
    A(kiln_context_synchronize, (o.ctx, &err)) B(kiln_context_pool_stats, (o.ctx, &t.stats))       \
    B(kiln_context_pool_set_limit, (o.ctx, 1)) B(kiln_context_pool_trim, (o.ctx))                  \
    A(kiln_array_op, (KILN_OP_SQRT, XY - 1, NULL, &t.array, &err))                                 \
    A(kiln_array_op_prefetch, (KILN_OP_SQRT, XY - 1, NULL, &t.ahead, &err))                        \
    A(kiln_array_op_pair,                                                                          \
      (KILN_OP_FREXP_MANTISSA, KILN_OP_FREXP_EXPONENT, XY - 1, NULL, &t.array, &t.second, &err))   \
    A(kiln_elementwise_create, (o.ctx, "T x", "T y", "y = x", NULL, &t.loop, &err))                \
    A(kiln_elementwise_run, (o.loop, XY, NULL, &err))                                              \
    A(kiln_elementwise_prepare, (o.loop, XY, NULL, &t.launch, &err))                               \
    A(kiln_elementwise_source, (o.loop, XY, NULL, &t.text, &err))                                  \
    A(kiln_elementwise_prefetch, (o.loop, XY, NULL, &t.ahead, &err))                               \
    A(kiln_launch_run, (o.launch, NULL, &err))                                                     \
    A(kiln_launch_set, (o.launch, 0, kiln_arg_array(o.x), &err))                               \
    A(kiln_event_create, (o.ctx, NULL, &t.event, &err)) B(kiln_event_native, (o.event))            \
    A(kiln_observer_create, (o.ctx, 0, observed, NULL, &t.observer, &err))                         \
    A(kiln_observer_create_table, (o.ctx, KILN_TABLE_BY_LABEL, &t.observer, &err))                 \
    A(kiln_observer_create_csv, (o.ctx, other_path, &t.observer, &err))                            \
    A(kiln_observer_create_trace, (o.ctx, other_path, &t.observer, &err))                          \
    A(kiln_observer_to_string, (o.observer, &t.text, &err))                                        \
    A(kiln_observer_flush, (o.observer, &err)) B(kiln_observer_destroy, (o.observer))              \
    A(kiln_event_record, (o.event, o.stream, &err))                                                \
    A(kiln_stream_wait_event, (o.ctx, o.stream, o.event, &err))                                    \
    A(kiln_event_query, (o.event, &t.done, &err)) A(kiln_event_synchronize, (o.event, &err))       \
    A(kiln_event_elapsed_ms, (o.event, o.event, &t.ms, &err))                                      \
    A(kiln_event_export, (o.event, &t.handle, &err))                                               \
    A(kiln_event_open, (o.ctx, &t.handle, &t.event, &err))                                         \
    A(kiln_graph_parse, (o.ctx, "x + 1", names, 1, NULL, &t.graph, NULL, &err))                    \
    A(kiln_graph_create, (o.ctx, NULL, &t.graph, &err))                                            \
    A(kiln_array_broadcast, (XX, &t.array, &err)) A(kiln_graph_compile, (o.graph, &err))           \
    B(kiln_node_reduce, (KILN_REDUCE_SUM, o.node, NULL, false, KILN_DTYPE_NONE, "f", 1))           \
    A(kiln_array_as_strided, (o.x, 1, shape, (const int64_t[]){0}, 0, &t.array, &err))             \
    A(kiln_array_quantile, (o.x, NULL, 0, KILN_QUANTILE_LINEAR, NULL, &t.array, &err))             \
    A(kiln_array_rearrange, (KILN_REARRANGE_HSTACK, XY - 1, NULL, 0, &t.array, &err))              \
    B(kiln_node_rearrange, (KILN_REARRANGE_HSTACK, &o.node, 1, NULL, 0, "f", 1))                   \
    A(kiln_array_reduce, (KILN_REDUCE_SUM, o.x, NULL, false, &t.array, &err))                      \
    A(kiln_array_put_along_axis, (o.x, o.x, kiln_arg_int(1), 0, NULL, &err))                       \
    A(kiln_array_reduce_with, (KILN_REDUCE_SUM, o.x, NULL, &t.array, &err))                        \
    A(kiln_array_scatter, (o.x, NULL, 0, kiln_arg_int(1), 0, NULL, &err))                          \
    A(kiln_array_tensordot, (o.x, o.x, NULL, NULL, NULL, &t.array, &err))                          \
    B(kiln_node_sorting, ("sort", &o.node, 1, NULL, NULL, 0, 0, "f", 1))                           \
    A(kiln_array_searchsorted, (o.x, o.x, false, NULL, &t.array, &err))                            \
    B(kiln_node_reduction, (o.sum, &o.node, 1, NULL, false, 0, "f", 1))                            \
    A(kiln_array_take_along_axis, (o.x, o.x, 0, NULL, &t.array, &err))                             \
    B(kiln_node_op3, (KILN_OP_WHERE, o.node, o.node, o.node, "f", 1))                              \
    A(kiln_array_sliding_window, (o.x, NULL, shape, &t.array, &err))                               \
    A(kiln_array_histogram_edges, (o.x, 1, NULL, &t.array, &err))                                  \
    B(kiln_node_take_along_axis, (o.node, o.node, 0, 0, "f", 1))                                   \
    A(kiln_array_put, (o.x, o.x, kiln_arg_int(1), NULL, &err))                                     \
    A(kiln_array_argpartition, (o.x, 0, NULL, &t.array, &err))                                     \
    B(kiln_node_linalg2, ("solve", o.node, o.node, 0, "f", 1))                                     \
    B(kiln_node_input, (o.open, "a", KILN_FLOAT32, 1, "f", 1))                                     \
    A(kiln_array_index, (o.x, NULL, 0, NULL, &t.array, &err))                                      \
    A(kiln_array_digitize, (o.x, o.x, false, &t.array, &err))                                      \
    B(kiln_node_elementwise, (o.loop, &o.node, 1, 0, "f", 1))                                      \
    A(kiln_array_topk, (o.x, 1, NULL, &t.array, NULL, &err))                                       \
    A(kiln_array_take, (o.x, o.x, 0, NULL, &t.array, &err))                                        \
    A(kiln_array_partition, (o.x, 0, NULL, &t.array, &err))                                        \
    B(kiln_node_op2, (KILN_OP_ADD, o.node, o.node, "f", 1))                                        \
    A(kiln_array_vecmat, (o.x, o.x, NULL, &t.array, &err))                                         \
    A(kiln_array_matvec, (o.x, o.x, NULL, &t.array, &err))                                         \
    A(kiln_array_split, (o.x, 0, NULL, 1, &t.array, &err))                                         \
    A(kiln_array_outer, (o.x, o.x, NULL, &t.array, &err))                                          \
    A(kiln_array_inner, (o.x, o.x, NULL, &t.array, &err))                                          \
    B(kiln_node_broadcast_to, (o.node, 1, shape, "f", 1))                                          \
    A(kiln_array_kron, (o.x, o.x, NULL, &t.array, &err)) B(kiln_node_arange, (o.open, 9, "f", 1))  \
    A(kiln_array_dot, (o.x, o.x, NULL, &t.array, &err))                                            \
    A(kiln_array_histogram, (o.x, o.x, &t.array, &err))                                            \
    A(kiln_array_argsort, (o.x, NULL, &t.array, &err))                                             \
    B(kiln_node_output, (o.open, "y", o.node, "f", 1))                                             \
    B(kiln_node_take, (o.node, o.node, 0, 0, "f", 1))                                              \
    A(kiln_array_median, (o.x, NULL, &t.array, &err))                                              \
    B(kiln_node_cast, (o.node, KILN_FLOAT64, "f", 1))                                              \
    B(kiln_node_index, (o.node, NULL, 0, 0, "f", 1))                                               \
    A(kiln_array_bincount, (o.x, 0, &t.array, &err))                                               \
    B(kiln_node_slice, (o.node, 0, 0, 5, 1, "f", 1))                                               \
    B(kiln_node_linalg1, ("inv", o.node, 0, "f", 1))                                               \
    B(kiln_node_op1, (KILN_OP_SQRT, o.node, "f", 1))                                               \
    A(kiln_array_sort, (o.x, NULL, &t.array, &err))                                                \
    B(kiln_node_matmul, (o.node, o.node, "f", 1)) B(kiln_node_einsum, ("i->", &o.node, 1, "f", 1)) \
    B(kiln_node_transpose, (o.node, NULL, "f", 1)) B(kiln_node_newaxis, (o.node, 0, "f", 1))       \
    B(kiln_node_flip, (o.node, 0, "f", 1)) B(kiln_node_select, (o.node, 0, 1, "f", 1))             \
    B(kiln_node_reshape, (o.node, 1, shape, "f", 1)) B(kiln_node_iota, (o.node, 0, "f", 1))        \
    B(kiln_random_node, (o.open, KILN_DRAW_RANDOM, o.node, o.node, NULL, 0, KILN_FLOAT32, NULL, 1, \
                         shape, "f", 1))                                                           \
    A(kiln_random_array, (&t.random, o.ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT32, 1, shape,     \
                          &t.array, &err))                                                         \
    A(kiln_random_fill, (&t.random, KILN_DRAW_RANDOM, NULL, 0, NULL, o.x, &err))                   \
    A(kiln_random_shuffle, (&t.random, o.x, &t.array, &err))                                       \
    A(kiln_array_lexsort, (XX, &t.array, &err)) A(kiln_array_isin, (o.x, o.x, &t.array, &err))     \
    A(kiln_graph_run, (o.graph, XY, NULL, &err))                                                   \
    A(kiln_graph_prepare, (o.graph, XY, NULL, &t.launch, &err))                                    \
    A(kiln_graph_kernel_count, (o.graph, XY, &t.count, &err))                                      \
    A(kiln_graph_explain, (o.graph, XY, &t.text, &err))                                            \
    A(kiln_graph_dot, (o.graph, XY, &t.text, &err))                                                \
    A(kiln_graph_source, (o.graph, XY, 0, &t.text, &err))                                          \
    A(kiln_graph_prefetch, (o.graph, XY, NULL, &t.ahead, &err))                                    \
    S(kiln_prefetch_wait, (o.ahead, 0, NULL))                                                      \
    B(kiln_prefetch_done, (o.ahead))                                                               \
    B(kiln_prefetch_cancel, (o.ahead))                                                             \
    A(kiln_reduction_create,                                                                       \
      (o.ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &t.sum, &err))                       \
    A(kiln_reduction_run, (o.sum, XY, NULL, &err))                                                 \
    A(kiln_reduction_prepare, (o.sum, XY, NULL, &t.launch, &err))                                  \
    A(kiln_reduction_source, (o.sum, XY, NULL, &t.text, &err))                                     \
    A(kiln_reduction_prefetch, (o.sum, XY, NULL, &t.ahead, &err))                                  \
    A(kiln_matmul, (o.x, o.x, NULL, &t.array, &err))                                               \
    A(kiln_array_einsum, ("i->", XX, NULL, &t.array, &err))                                        \
    A(kiln_array_einsum_path, ("i->", XX, &t.text, &err))                                          \
    A(kiln_linalg_multi_dot, (XX_TWICE, NULL, &t.array, &err))                                     \
    A(kiln_linalg_matrix_power, (o.x, 2, NULL, &t.array, &err))                                    \
    A(kiln_linalg_solve, (o.x, o.x, NULL, &t.array, &err))                                         \
    A(kiln_linalg_solve_triangular, (o.x, o.x, NULL, &t.array, &err))                              \
    A(kiln_linalg_inv, (o.x, NULL, &t.array, &err))                                                \
    A(kiln_linalg_det, (o.x, NULL, &t.array, &err))                                                \
    A(kiln_linalg_slogdet, (o.x, NULL, &t.array, &t.second, &err))                                 \
    A(kiln_linalg_cholesky, (o.x, NULL, &t.array, &err))                                           \
    A(kiln_linalg_qr, (o.x, NULL, &t.array, &t.second, &err))                                      \
    A(kiln_linalg_eigh, (o.x, NULL, &t.array, &t.second, &err))                                    \
    A(kiln_linalg_eigvalsh, (o.x, NULL, &t.array, &err))                                           \
    A(kiln_linalg_svd, (o.x, NULL, &t.array, &t.second, &t.third, &err))                           \
    A(kiln_linalg_svdvals, (o.x, NULL, &t.array, &err))                                            \
    A(kiln_linalg_pinv, (o.x, -1, NULL, &t.array, &err))                                           \
    A(kiln_linalg_lstsq, (o.x, o.x, -1, NULL, &t.array, &err))                                     \
    A(kiln_linalg_eig, (o.x, NULL, &t.array, &t.second, &err))                                     \
    A(kiln_linalg_eigvals, (o.x, NULL, &t.array, &err))                                            \
    A(kiln_linalg_lu, (o.x, NULL, &t.third, &t.array, &t.second, &err))                            \
    A(kiln_linalg_lu_factor, (o.x, NULL, &t.array, &t.second, &err))                               \
    A(kiln_linalg_lu_solve, (o.x, o.x, o.x, NULL, &t.array, &err))                                 \
    A(kiln_linalg_cho_solve, (o.x, o.x, NULL, &t.array, &err))                                     \
    A(kiln_linalg_norm, (o.x, KILN_NORM_DEFAULT, 0, NULL, false, NULL, &t.array, &err))            \
    A(kiln_linalg_cond, (o.x, KILN_NORM_DEFAULT, 0, NULL, &t.array, &err))                         \
    A(kiln_linalg_matrix_rank, (o.x, -1, NULL, &t.array, &err))                                    \
    A(kiln_linalg_trace, (o.x, NULL, &t.array, &err))                                              \
    A(kiln_linalg_tensorsolve, (o.x, o.x, NULL, NULL, &t.array, &err))                             \
    A(kiln_linalg_tensorinv, (o.x, 1, NULL, &t.array, &err))                                       \
    A(kiln_linalg_expm, (o.x, NULL, &t.array, &err))                                               \
    A(kiln_array_sum_product, (o.x, o.x, NULL, &t.array, &err))                                    \
    A(kiln_array_vecdot, (o.x, o.x, NULL, &t.array, &err))                                         \
    A(kiln_row_create, (o.ctx, "T x", "T y", &stage, 1, "y = x / s", NULL, &t.row, &err))          \
    A(kiln_row_run, (o.row, XY, NULL, &err))                                                       \
    A(kiln_row_prepare, (o.row, XY, NULL, &t.launch, &err))                                        \
    A(kiln_row_source, (o.row, XY, NULL, &t.text, &err))                                           \
    A(kiln_row_prefetch, (o.row, XY, NULL, &t.ahead, &err))                                        \
    A(kiln_scan_create, (o.ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &t.scan, &err))    \
    A(kiln_scan_run, (o.scan, XY, NULL, &err))                                                     \
    A(kiln_scan_prepare, (o.scan, XY, NULL, &t.launch, &err))                                      \
    A(kiln_scan_source, (o.scan, XY, NULL, &t.text, &err))                                         \
    A(kiln_scan_prefetch, (o.scan, XY, NULL, &t.ahead, &err))                                      \
    A(kiln_array_scan, (KILN_SCAN_CUMSUM, o.x, NULL, 0, &t.array, &err))                           \
    A(kiln_filter_create, (o.ctx, "T x", "int64 n", "x > 0", "", NULL, &t.filter, &err))           \
    A(kiln_filter_run, (o.filter, XY, NULL, &err))                                                 \
    A(kiln_filter_prepare, (o.filter, XY, NULL, &t.launch, &err))                                  \
    A(kiln_filter_source, (o.filter, XY, NULL, &t.text, &err))                                     \
    A(kiln_filter_prefetch, (o.filter, XY, NULL, &t.ahead, &err))                                  \
    A(kiln_array_first, (o.x, o.x, &t.array, &err))                                                \
    A(kiln_array_compress, (o.x, o.x, &t.array, &t.second, &err))                                  \
    A(kiln_array_flatnonzero, (o.x, &t.array, &t.second, &err))                                    \
    A(kiln_array_nonzero, (o.x, &t.array, &t.second, &err))                                        \
    A(kiln_array_argwhere, (o.x, &t.array, &t.second, &err))                                       \
    A(kiln_array_place, (o.x, o.x, o.z, &err))                                                     \
    A(kiln_array_unique, (o.x, &t.array, &t.second, NULL, NULL, &err))                             \
    A(kiln_module_create, (o.ctx, module_text, NULL, &t.module, &err))                             \
    A(kiln_module_create_from_image, (o.ctx, "", 0, NULL, &t.module, &err))                        \
    A(kiln_module_create_linked,                                                                   \
      (o.ctx, &(kiln_module_input){"", 0, NULL}, 1, NULL, &t.module, &err))                        \
    A(kiln_module_create_from_file, (o.ctx, npy_path, NULL, &t.module, &err))                      \
    A(kiln_module_kernel, (o.module, "set", NULL, &t.raw, &err))                                   \
    A(kiln_module_symbol, (o.module, "v", KILN_INT32, &t.array, &err))                             \
    A(kiln_raw_run, (o.raw, XY - 1, &one_thread, &err))                                            \
    A(kiln_raw_prepare, (o.raw, XY - 1, &one_thread, &t.launch, &err))                             \
    A(kiln_raw_get_attributes, (o.raw, &t.attributes, &err))                                       \
    A(kiln_raw_occupancy, (o.raw, &one_thread, &t.blocks, &err))                                   \
    A(kiln_capture_begin, (o.ctx, o.stream, &err))                                                 \
    A(kiln_capture_end, (o.ctx, o.stream, &t.program, &err))                                       \
    B(kiln_capture_abort, (o.ctx, o.stream))                                                       \
    A(kiln_program_run, (o.program, NULL, &err))                                                   \
    A(kiln_program_array_slot, (o.program, o.x, &t.count, &err))                                   \
    A(kiln_program_number_slot, (o.program, "k", "a", &t.count, &err))                             \
    A(kiln_program_set, (o.program, 0, kiln_arg_float(1), &err))                                   \
    B(kiln_program_step_count, (o.program))                                                        \
    A(kiln_stream_create, (o.ctx, NULL, &t.stream, &err))                                          \
    A(kiln_stream_wrap, (o.ctx, NULL, &t.stream, &err))                                            \
    B(kiln_stream_native, (o.ctx, o.stream))                                                       \
    A(kiln_stream_priority_range, (o.ctx, &t.least, &t.greatest, &err))                            \
    A(kiln_stream_synchronize, (o.stream, &err))                                                   \
    A(kiln_stream_query, (o.stream, &t.done, &err))                                                \
    A(kiln_stream_wait, (o.ctx, o.stream, NULL, &err))                                             \
    A(kiln_stream_host_call, (o.ctx, o.stream, called, NULL, &err))                                \
    B(kiln_prefetch_destroy, (o.ahead)) B(kiln_launch_destroy, (o.launch))                         \
    B(kiln_elementwise_destroy, (o.loop)) B(kiln_reduction_destroy, (o.sum))                       \
    B(kiln_scan_destroy, (o.scan)) B(kiln_row_destroy, (o.row))                                    \
    B(kiln_filter_destroy, (o.filter)) B(kiln_raw_destroy, (o.raw))                                \
    B(kiln_program_destroy, (o.program)) B(kiln_module_destroy, (o.module))                        \
    B(kiln_graph_result_is_counted, (o.graph, 0)) B(kiln_graph_destroy, (o.graph))                 \
    B(kiln_event_destroy, (o.event)) B(kiln_stream_destroy, (o.stream))                            \
    B(kiln_array_release, (o.x))                                                                   \
    B(kiln_context_release, (o.ctx))

/* Functions that take nothing a parent made, or an open cache, whose tests fork by themselves. */
static const char *const free_of_objects[] = {
    "kiln_context_create", "kiln_device_list", "kiln_version", "kiln_free", "kiln_op_name",
    "kiln_reduce_op_name", "kiln_scan_op_name", "kiln_status_name", "kiln_status_string",
    "kiln_error_clear", "kiln_error_print", "kiln_dtype_*", "kiln_cache_*", "kiln_*_options_init",
    "kiln_benchmark_to_string", "kiln_linalg_list", "kiln_draw_name", "kiln_random_init",
    "kiln_rearrangement_name", "kiln_random_key", "kiln_random_split", "kiln_random_jump",
    "kiln_scope_*", "kiln_subscript_*",
};

static char npy_path[64], other_path[64];

/* ---- a child ---- */

/* Memory of somebody else, as other libraries describe it. */
static void describe_foreign(outputs *t)
{
    t->dims[0] = COUNT;
    t->foreign.version.major = DLPACK_MAJOR_VERSION;
    t->foreign.dl_tensor = (DLTensor){.data = t->data,
                                      .device = {kDLCPU, 0},
                                      .ndim = 1,
                                      .dtype = {kDLFloat, 32, 1},
                                      .shape = t->dims};
    t->foreign_plain.dl_tensor = t->foreign.dl_tensor;
    t->interface.rank = 1;
    t->interface.shape[0] = COUNT;
    t->interface.strides[0] = sizeof(float);
    t->interface.data = t->data;
    snprintf(t->interface.typestr, sizeof t->interface.typestr, "<f4");
}

/* Calls every function; tells the first that did not answer as it should. */
static int call_all(void)
{
    outputs t;
    kiln_error err = KILN_ERROR_INIT;

    memset(&t, 0, sizeof t);
    describe_foreign(&t);
#define REFUSES(function, arguments)                                                               \
    if (function arguments != KILN_ERR_FORK) {                                                     \
        fprintf(stderr, #function ": %s\n", err.message);                                          \
        return 1;                                                                                  \
    }
#define RETURNS(function, arguments) function arguments;
#define ANSWERS(function, arguments) (void)!function arguments;
    CALLS(REFUSES, RETURNS, ANSWERS)
#undef ANSWERS
#undef REFUSES
#undef RETURNS
    kiln_error_clear(&err);
    return 0;
}

/* What a child can do: a context of its own, and an array there and back. */
static int use_own(void)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_array *array = NULL, *flipped = NULL;
    float data[COUNT], back[COUNT];
    int wrong = 0;

    for (int k = 0; k < COUNT; k++)
        data[k] = (float)k;
    options.device = "cpu";
    options.cache_dir = "";
    wrong |= kiln_context_create(&options, &ctx, NULL) != KILN_OK;
    wrong |= wrong == 0 &&
             kiln_array_from_host(ctx, KILN_FLOAT32, 1, shape, data, NULL, &array, NULL) != KILN_OK;
    wrong |= wrong == 0 && kiln_array_flip(array, 0, &flipped, NULL) != KILN_OK;
    wrong |= wrong == 0 && kiln_array_to_host(flipped, back, sizeof back, NULL, NULL) != KILN_OK;
    for (int k = 0; wrong == 0 && k < COUNT; k++)
        wrong |= back[k] != data[COUNT - 1 - k];
    kiln_array_release(flipped);
    kiln_array_release(array);
    kiln_context_release(ctx);
    return wrong;
}

static void run_child(long round)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};

    for (int k = 1; k < NSIG; k++)
        (void)sigaction(k, &plain, NULL); /* cmocka's handlers */
    alarm(CHILD_SECONDS);
    if (call_all() != 0)
        _exit(1);
    /* What wraps memory of the program is not given back twice. */
    kiln_array_release(o.wrapped);
    _exit(round % 8 == 0 && use_own() != 0 ? 2 : 0);
}

/* ---- the parent's threads ---- */

static atomic_bool over;
static atomic_long failures, turns;

/* GCC's address sanitizer holds no lock of its allocator across fork() (GCC 12's libasan): a child
 * that allocates waits for ever when a thread of the parent was inside malloc(). In such builds the
 * threads stand still, each between two turns, while a child is made. */
#ifdef __SANITIZE_ADDRESS__
enum { STAND_STILL = 1 };
#else
enum { STAND_STILL = 0 };
#endif
static pthread_mutex_t turn[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                        PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static pid_t fork_between_turns(void)
{
    for (int k = 0; STAND_STILL && k < THREADS; k++)
        pthread_mutex_lock(&turn[k]);
    const pid_t child = fork();
    for (int k = 0; STAND_STILL && k < THREADS; k++)
        pthread_mutex_unlock(&turn[k]);
    return child;
}

static void turn_arrays(void)
{
    kiln_array *a = NULL, *b = NULL, *c = NULL;

    atomic_fetch_add(&failures, kiln_array_empty(o.ctx, KILN_FLOAT32, 1, shape, &a, NULL) != 0);
    atomic_fetch_add(&failures, kiln_array_flip(o.x, 0, &b, NULL) != 0);
    atomic_fetch_add(&failures, kiln_array_sqrt(o.x, &c, NULL) != 0);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(c);
}

static void turn_kernels(void)
{
    kiln_array *y = NULL, *s = NULL, *r = NULL;

    atomic_fetch_add(&failures, kiln_call(o.loop, NULL, o.x, &y) != KILN_OK);
    atomic_fetch_add(&failures,
                     kiln_array_reduce(KILN_REDUCE_SUM, o.x, NULL, false, &s, NULL) != KILN_OK);
    atomic_fetch_add(&failures,
                     kiln_array_scan(KILN_SCAN_CUMSUM, o.x, NULL, 0, &r, NULL) != KILN_OK);
    kiln_array_release(y);
    kiln_array_release(s);
    kiln_array_release(r);
}

static void turn_streams(void)
{
    kiln_stream *stream = NULL;
    kiln_event *event = NULL;
    kiln_pool_stats stats;

    atomic_fetch_add(&failures, kiln_stream_create(o.ctx, NULL, &stream, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_event_create(o.ctx, NULL, &event, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_event_record(event, stream, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_launch_run(o.launch, stream, NULL) != KILN_OK);
    kiln_context_pool_stats(o.ctx, &stats);
    (void)kiln_context_pool_trim(o.ctx);
    kiln_event_destroy(event);
    kiln_stream_destroy(stream);
}

static void turn_graphs(void)
{
    kiln_array *y = NULL;
    kiln_prefetch *ahead = NULL;
    const kiln_arg args[] = {kiln_arg_array(o.x), kiln_arg_out(&y)};

    atomic_fetch_add(&failures, kiln_graph_run(o.graph, args, 2, NULL, NULL) != KILN_OK);
    atomic_fetch_add(&failures,
                     kiln_elementwise_prefetch(o.loop, args, 2, NULL, &ahead, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_prefetch_wait(ahead, -1, NULL) != KILN_OK);
    kiln_prefetch_destroy(ahead);
    kiln_array_release(y);
}

static void *work(void *number)
{
    static void (*const kinds[THREADS])(void) = {turn_arrays, turn_kernels, turn_streams,
                                                 turn_graphs};
    const size_t kind = (size_t)(uintptr_t)number;
    long made = 0;

    while (!atomic_load(&over)) {
        pthread_mutex_lock(&turn[kind]);
        kinds[kind]();
        pthread_mutex_unlock(&turn[kind]);
        made++;
    }
    atomic_fetch_add(&turns, made);
    return NULL;
}

/* ---- setup ---- */

#define MUST(call) assert_int_equal((call), KILN_OK)

static void make_all(void)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_arg xy[2], warm[2];
    kiln_array *y = NULL;
    kiln_node input;

    snprintf(npy_path, sizeof npy_path, "/tmp/kiln_test_fork_%ld.npy", (long)getpid());
    snprintf(other_path, sizeof other_path, "/tmp/kiln_test_fork_%ld.new.npy", (long)getpid());
    options.device = "cpu";
    options.cache_dir = "";
    options.cpu_threads = 2;
    for (int k = 0; k < COUNT; k++)
        o.memory[k] = (float)k;
    MUST(kiln_context_create(&options, &o.ctx, NULL));
    MUST(kiln_array_from_host(o.ctx, KILN_FLOAT32, 1, shape, o.memory, NULL, &o.x, NULL));
    MUST(kiln_array_copy(o.x, &o.z, NULL));
    MUST(kiln_array_save_npy(o.x, npy_path, NULL));
    MUST(kiln_array_wrap(o.ctx, KILN_FLOAT32, 1, shape, NULL, o.memory, NULL, sizeof o.memory,
                         give_back, NULL, &o.wrapped, NULL));
    MUST(kiln_stream_create(o.ctx, NULL, &o.stream, NULL));
    MUST(kiln_host_alloc(o.ctx, 100, 0, &o.pinned, NULL));
    MUST(kiln_event_create(o.ctx, NULL, &o.event, NULL));
    MUST(kiln_observer_create(o.ctx, 0, observed, NULL, &o.observer, NULL));
    MUST(kiln_event_record(o.event, o.stream, NULL));
    MUST(kiln_elementwise_create(o.ctx, "T x", "T y", "y = x + 1", NULL, &o.loop, NULL));
    MUST(
        kiln_reduction_create(o.ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &o.sum, NULL));
    MUST(kiln_scan_create(o.ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &o.scan, NULL));
    MUST(kiln_row_create(o.ctx, "T x", "T y", &stage, 1, "y = x / s", NULL, &o.row, NULL));
    MUST(kiln_filter_create(o.ctx, "T x", "int64 n", "x > 0", "", NULL, &o.filter, NULL));
    xy[0] = warm[0] = kiln_arg_array(o.x);
    xy[1] = kiln_arg_array(o.z);
    MUST(kiln_elementwise_prepare(o.loop, xy, 2, NULL, &o.launch, NULL));
    MUST(kiln_graph_parse(o.ctx, "sqrt(x) + 1", names, 1, NULL, &o.graph, NULL, NULL));
    warm[1] = kiln_arg_out(&y);
    MUST(kiln_graph_run(o.graph, warm, 2, NULL, NULL));
    kiln_array_release(y);
    MUST(kiln_graph_create(o.ctx, NULL, &o.open, NULL));
    input = kiln_node_input(o.open, "x", KILN_FLOAT32, 1, __FILE__, __LINE__);
    o.node = input;
    y = NULL;
    MUST(kiln_elementwise_prefetch(o.loop, warm, 2, NULL, &o.ahead, NULL));
    MUST(kiln_prefetch_wait(o.ahead, -1, NULL));
    MUST(kiln_module_create(o.ctx, module_text, NULL, &o.module, NULL));
    MUST(kiln_module_kernel(o.module, "set", "raw float32 x", &o.raw, NULL));
    MUST(kiln_capture_begin(o.ctx, NULL, NULL));
    MUST(kiln_elementwise_run(o.loop, xy, 2, NULL, NULL));
    MUST(kiln_capture_end(o.ctx, NULL, &o.program, NULL));
    /* Everything is compiled before threads and children begin. */
    turn_arrays();
    turn_kernels();
    turn_streams();
    turn_graphs();
    assert_int_equal(atomic_load(&failures), 0);
}

static void release_all(void)
{
    kiln_prefetch_destroy(o.ahead);
    kiln_program_destroy(o.program);
    kiln_raw_destroy(o.raw);
    kiln_module_destroy(o.module);
    kiln_launch_destroy(o.launch);
    kiln_elementwise_destroy(o.loop);
    kiln_reduction_destroy(o.sum);
    kiln_scan_destroy(o.scan);
    kiln_row_destroy(o.row);
    kiln_filter_destroy(o.filter);
    kiln_graph_destroy(o.graph);
    kiln_graph_destroy(o.open);
    kiln_event_destroy(o.event);
    kiln_observer_destroy(o.observer);
    kiln_host_free(o.ctx, o.pinned);
    kiln_stream_destroy(o.stream);
    kiln_array_release(o.wrapped);
    kiln_array_release(o.z);
    kiln_array_release(o.x);
    kiln_context_release(o.ctx);
    (void)unlink(npy_path);
    (void)unlink(other_path);
}

/* ---- tests ---- */

static void test_fork__children_never_wait_for_threads_that_are_not_there(void **state)
{
    const char *asked = getenv("KILN_TEST_ROUNDS");
    const long rounds = asked != NULL ? atol(asked) : ROUNDS;
    pthread_t threads[THREADS];
    int status = 0;

    (void)state;
    parent = getpid();
    make_all();
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, work, (void *)(uintptr_t)k), 0);
    for (long round = 0; round < rounds; round++) {
        nanosleep(&(struct timespec){0, round % 17 * 30000}, NULL);
        const pid_t child = fork_between_turns();
        assert_true(child >= 0);
        if (child == 0)
            run_child(round);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
            fail_msg("child %ld: status 0x%x%s", round, (unsigned)status,
                     WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ", it waited for ever"
                                                                        : "");
    }
    atomic_store(&over, true);
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    assert_int_equal(atomic_load(&failures), 0);
    assert_true(atomic_load(&turns) > 0);
    release_all();
}

static bool matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    const size_t head = star != NULL ? (size_t)(star - pattern) : strlen(pattern);

    if (star == NULL)
        return strcmp(pattern, name) == 0;
    const size_t tail = strlen(star + 1), length = strlen(name);
    return strncmp(name, pattern, head) == 0 && length >= head + tail &&
           strcmp(name + length - tail, star + 1) == 0;
}

static bool is_listed(const char *name)
{
#define NAME(function, arguments) #function,
    static const char *const called_names[] = {CALLS(NAME, NAME, NAME)};
#undef NAME

    for (size_t k = 0; k < sizeof called_names / sizeof called_names[0]; k++)
        if (strcmp(called_names[k], name) == 0)
            return true;
    for (size_t k = 0; k < sizeof free_of_objects / sizeof free_of_objects[0]; k++)
        if (matches(free_of_objects[k], name))
            return true;
    return false;
}

/* The functions that a public header declares: the first kiln_word( behind each KILN_API. */
static int check_header(const char *path, int *missing)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "re");
    int found = 0;

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (const char *at = strstr(text, "\nKILN_API"); at != NULL; at = strstr(at, "\nKILN_API")) {
        char name[80] = "";
        for (at++; *at != '\0' && name[0] == '\0'; at++) {
            const size_t width = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
            if (strncmp(at, "kiln_", 5) == 0 && at[width] == '(' && width < sizeof name)
                snprintf(name, sizeof name, "%.*s", (int)width, at);
        }
        found++;
        if (!is_listed(name)) {
            print_error("%s is in neither list of test_fork.c: what does a forked child get?\n",
                        name);
            ++*missing;
        }
    }
    return found;
}

static void test_fork__every_public_function_is_in_a_list(void **state)
{
    static const char folder[] = KILN_TEST_DATA_DIR "/../include/kiln";
    DIR *dir = opendir(folder);
    int found = 0, missing = 0;

    (void)state;
    if (dir == NULL)
        skip(); /* a copied build folder */
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[1024];
        if (strstr(e->d_name, ".h") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found += check_header(path, &missing);
    }
    closedir(dir);
    assert_true(found > 150);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork__children_never_wait_for_threads_that_are_not_there),
        cmocka_unit_test(test_fork__every_public_function_is_in_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
