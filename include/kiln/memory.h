/**
 * @file kiln/memory.h
 * @brief Page-locked host memory, and copies between host memory and existing arrays.
 *
 * A GPU copies ordinary host memory through a page-locked ("pinned") staging buffer. Memory of
 * kiln_host_alloc() is page-locked itself. A copy to or from it is one transfer, runs at the speed
 * of the bus, and overlaps with the host's work and with kernels on other streams:
 *
 *     const size_t bytes = (size_t)kiln_array_size(x) * sizeof(float);
 *     kiln_event *uploaded = NULL;
 *     void *buffer = NULL;
 *     kiln_event_create(ctx, NULL, &uploaded, &err);
 *     kiln_host_alloc(ctx, bytes, 0, &buffer, &err);
 *     ((float *)buffer)[0] = 0.5f;                       // and so on
 *     kiln_array_upload(x, buffer, NULL, NULL, &err);    // returns at once
 *     kiln_event_record(uploaded, NULL, &err);           // buffer is free again when this passes
 *     kiln_event_synchronize(uploaded, &err);
 *     kiln_host_free(ctx, buffer);
 *     kiln_event_destroy(uploaded);
 *
 * Page-locking takes at least a tenth of a millisecond. So each context keeps freed memory in a
 * pool of size classes.
 *
 * Threads: every function may be called from any thread.
 * Units:   bytes.
 * Order:   freed memory is used again only after the copies from and to it that were enqueued
 *          before.
 */
#ifndef KILN_MEMORY_H
#define KILN_MEMORY_H

#include "kiln/array.h"
#include "kiln/stream.h"

/** Kinds of page-locked memory; ignored on the cpu device. */
typedef enum kiln_host_flag {
    KILN_HOST_WRITE_COMBINED = 1 /**< Faster for the device to read, very slow for the host to read.
                                      Such memory is not pooled. */
} kiln_host_flag;

KILN_EXTERN_C_BEGIN

/**
 * Allocate page-locked host memory. The context's device copies it without staging, and its kernels
 * can read and write it over the bus. It is aligned to 256 bytes or more, and its contents are
 * unset. On the cpu device it is ordinary memory.
 *
 * @param bytes 0 gives NULL.
 * @param flags OR of kiln_host_flag.
 * @param out   Receives the memory; give it back with kiln_host_free(). NULL on failure.
 * @return KILN_OK, ERR_NULL, ERR_ARGUMENT (flags), ERR_NO_MEMORY (also beyond the limit),
 *         ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_host_alloc(kiln_context *ctx, size_t bytes, unsigned flags,
                                                    void **out, kiln_error *err);

/** Give memory of kiln_host_alloc() on the same context back. Copies that use it may still be
 *  enqueued. Accepts NULL; a pointer that the context did not hand out is ignored. */
KILN_API void kiln_host_free(kiln_context *ctx, void *memory);

/** How much page-locked memory the context holds; `limit_bytes` is set below. */
KILN_API void kiln_host_pool_stats(kiln_context *ctx, kiln_pool_stats *stats_out);

/** Limit the bytes that the context holds, used and free ones together; 0: no limit. */
KILN_API void kiln_host_pool_set_limit(kiln_context *ctx, size_t limit_bytes);

/** Return free memory to the system. Returns the number of bytes. */
KILN_API size_t kiln_host_pool_trim(kiln_context *ctx);

/** Make a C-order array of unset elements in memory of kiln_host_alloc(). Kernels of the context
 *  access it over the bus, the host by kiln_array_data(). Synchronise before the host reads what a
 *  kernel has written. */
KILN_API KILN_NODISCARD kiln_status kiln_array_empty_host(kiln_context *ctx, kiln_dtype dtype,
                                                          int rank, const int64_t *shape,
                                                          kiln_array **out, kiln_error *err);

/**
 * Copy host memory into an existing array or view, in the order of `stream`.
 *
 * If the source is memory of kiln_host_alloc() on the same context, and both sides are C-order
 * without gaps, the call returns at once. The source may then be changed when the work enqueued on
 * the stream so far is done. In all other cases it may be changed when the call returns.
 *
 * @param strides Bytes per step on each axis, of any sign; NULL means C-order.
 * @param stream  NULL: the context's own.
 * @return KILN_OK, ERR_NULL, ERR_OUTPUT for an array that cannot be written, ERR_CONTEXT for a
 *         stream of another context, and what kiln_array_from_host() answers.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_upload(kiln_array *array, const void *data,
                                                      const int64_t *strides, kiln_stream *stream,
                                                      kiln_error *err);

/**
 * Copy an array or view into host memory, in the order of `stream`.
 *
 * Under the conditions of kiln_array_upload() the call returns at once, and the elements are in
 * place when the work enqueued on the stream so far is done. In all other cases they are in place
 * when the call returns.
 *
 * @param data_bytes Room at `data`; elements must stay inside it (ERR_ARGUMENT).
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_download(const kiln_array *array, void *data,
                                                        size_t data_bytes, const int64_t *strides,
                                                        kiln_stream *stream, kiln_error *err);

/** A new array with the same elements on `ctx`, whatever the devices of the two contexts, in
 *  C-order. Waits for the elements. */
KILN_API KILN_NODISCARD kiln_status kiln_array_copy_to(const kiln_array *array, kiln_context *ctx,
                                                       kiln_array **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
