/*
 * fork_calls.h - every public function that takes a context or something made from one, with arguments of
 * test_fork.c, which includes this file once.
 */
#ifndef KILN_FORK_CALLS_H
#define KILN_FORK_CALLS_H

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
    A(kiln_array_convolve, (o.x, o.x, KILN_SLIDE_FULL, &t.array, &err))                            \
    A(kiln_array_correlate, (o.x, o.x, KILN_SLIDE_FULL, &t.array, &err))                           \
    A(kiln_array_histogramdd, ((const kiln_array *const[]){o.x}, XX, &t.array, &err))              \
    A(kiln_array_quantile, (o.x, NULL, 0, KILN_QUANTILE_LINEAR, NULL, &t.array, &err))             \
    A(kiln_array_rearrange, (KILN_REARRANGE_HSTACK, XY - 1, NULL, 0, &t.array, &err))              \
    B(kiln_node_rearrange, (KILN_REARRANGE_HSTACK, &o.node, 1, NULL, 0, "f", 1))                   \
    A(kiln_array_reduce, (KILN_REDUCE_SUM, o.x, NULL, false, &t.array, &err))                      \
    A(kiln_array_put_along_axis, (o.x, o.x, kiln_arg_int(1), 0, NULL, &err))                       \
    A(kiln_array_reduce_with, (KILN_REDUCE_SUM, o.x, NULL, &t.array, &err))                        \
    A(kiln_array_scatter, (o.x, NULL, 0, kiln_arg_int(1), 0, NULL, &err))                          \
    B(kiln_node_scatter, (o.node, NULL, 0, o.node, 0, NULL, "f", 1))                               \
    B(kiln_node_put, (o.node, o.node, o.node, 0, "f", 1))                                          \
    B(kiln_node_put_along_axis, (o.node, o.node, o.node, 0, 0, "f", 1))                            \
    A(kiln_array_tensordot, (o.x, o.x, NULL, NULL, NULL, &t.array, &err))                          \
    B(kiln_node_sorting, ("sort", &o.node, 1, NULL, NULL, 0, 0, "f", 1))                           \
    A(kiln_array_searchsorted, (o.x, o.x, false, NULL, &t.array, &err))                            \
    B(kiln_node_scan, (KILN_SCAN_CUMSUM, o.node, NULL, "f", 1))                                    \
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
    A(kiln_array_choose, (o.x, XX, KILN_INDEX_WRAP, &t.array, &err))                               \
    A(kiln_array_choose_where,                                                                     \
      ((const kiln_array *const[]){o.x}, XX, kiln_arg_int(0), &t.array, &err))                     \
    A(kiln_array_diag, (o.x, 0, &t.array, &err))                                                   \
    A(kiln_array_partition, (o.x, 0, NULL, &t.array, &err))                                        \
    B(kiln_node_op2, (KILN_OP_ADD, o.node, o.node, "f", 1))                                        \
    A(kiln_array_vecmat, (o.x, o.x, NULL, &t.array, &err))                                         \
    A(kiln_array_matvec, (o.x, o.x, NULL, &t.array, &err))                                         \
    A(kiln_array_split, (o.x, 0, NULL, 1, &t.array, &err))                                         \
    A(kiln_array_hsplit, (o.x, NULL, 1, &t.array, &err))                                           \
    A(kiln_array_vsplit, (o.x, NULL, 1, &t.array, &err))                                           \
    A(kiln_array_dsplit, (o.x, NULL, 1, &t.array, &err))                                           \
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
    B(kiln_node_extent, (o.node, 0, "f", 1))                                                       \
    B(kiln_random_node, (o.open, KILN_DRAW_RANDOM, o.node, o.node, NULL, 0, KILN_FLOAT32, NULL, 1, \
                         shape, "f", 1))                                                           \
    A(kiln_random_array, (&t.random, o.ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT32, 1, shape,     \
                          &t.array, &err))                                                         \
    A(kiln_random_fill, (&t.random, KILN_DRAW_RANDOM, NULL, 0, NULL, o.x, &err))                   \
    A(kiln_random_shuffle, (&t.random, o.x, &t.array, &err))                                       \
    A(kiln_random_choice, (&t.random, o.ctx, 3, NULL, true, 1, shape, &t.array, &err))             \
    A(kiln_random_multivariate_normal, (&t.random, o.x, o.x, 1, shape, &t.array, &err))            \
    A(kiln_array_sort_by, ("T x", XX, &by_itself, NULL, &t.array, NULL, &err))                     \
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
    A(kiln_linalg_ldl, (o.x, NULL, &t.array, &t.second, &t.third, &err))                           \
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
    A(kiln_array_partition_copy,                                                                   \
      (o.x, o.x, &t.array, &t.second, NULL, NULL, &err))                                           \
    A(kiln_array_nonzero, (o.x, &t.array, &t.second, &err))                                        \
    A(kiln_array_argwhere, (o.x, &t.array, &t.second, &err))                                       \
    A(kiln_array_place, (o.x, o.x, o.z, &err))                                                     \
    A(kiln_array_unique, (o.x, &t.array, &t.second, NULL, NULL, &err))                             \
    A(kiln_array_unique_along, (o.x, 0, &t.array, &t.second, NULL, NULL, &err))                    \
    A(kiln_array_union1d, (o.x, o.x, &t.array, &t.second, &err))                                   \
    A(kiln_array_intersect1d, (o.x, o.x, &t.array, &t.second, &err))                               \
    A(kiln_array_setdiff1d, (o.x, o.x, &t.array, &t.second, &err))                                 \
    A(kiln_array_setxor1d, (o.x, o.x, &t.array, &t.second, &err))                                  \
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
    B(kiln_module_log, (o.module))                                                                 \
    B(kiln_program_destroy, (o.program)) B(kiln_module_destroy, (o.module))                        \
    B(kiln_graph_result_is_counted, (o.graph, 0)) B(kiln_graph_result_axis, (o.graph, 0))          \
    B(kiln_graph_destroy, (o.graph))                                                               \
    B(kiln_event_destroy, (o.event)) B(kiln_stream_destroy, (o.stream))                            \
    B(kiln_array_release, (o.x))                                                                   \
    B(kiln_context_release, (o.ctx))

#endif
