/**
 * @file kiln/array.h
 * @brief Strided n-d arrays on a device: creation, views, copies, .npy and .npz files, printing.
 *
 *     static const float numbers[] = {1, 2, 3, 4, 5, 6};
 *     const int64_t shape[] = {2, 3};
 *     kiln_array *m = NULL, *last = NULL;
 *     float got[2];
 *     kiln_array_from_host(ctx, KILN_FLOAT32, 2, shape, numbers, NULL, &m, &err);
 *     kiln_array_select(m, 1, -1, &last, &err);               // m[:, -1], of shape (2,): a view
 *     kiln_array_to_host(last, got, sizeof got, NULL, &err);  // {3, 6}
 *     kiln_array_release(m);                                  // `last` keeps the memory
 *     kiln_array_release(last);
 *
 * Threads: a handle is immutable after creation and may be shared; the elements are as shared as
 *          the work that touches them. retain/release may be called from any thread.
 * Units:   shapes count elements, strides count bytes.
 * Owner:   arrays are counted; whoever receives one through `out` releases it. A view shares its
 *          base's storage and keeps it alive. Releasing an array while work that uses it is still
 *          enqueued is allowed: its memory is reused in stream order.
 * Order:   "K-order" keeps the order of the source's strides, "C-order" has the last axis
 *          contiguous.
 *
 * Any function below fails with ERR_NULL, ERR_NO_MEMORY, ERR_DEVICE_MEMORY, ERR_DRIVER, ERR_FAULT
 * or ERR_FORK where such a thing can happen; other statuses are named at the function. `*out` is
 * NULL after any failure. Rank is at most KILN_RANK_MAX (else ERR_ARGUMENT); sizes are checked
 * for overflow (ERR_OVERFLOW).
 */
#ifndef KILN_ARRAY_H
#define KILN_ARRAY_H

#include "kiln/context.h"
#include "kiln/dtype.h"

/** A handle: dtype, shape, strides, and a counted reference to the memory. Several handles may
 *  describe one memory; each context has arrays of its own, and mixing them is ERR_CONTEXT. */
typedef struct kiln_array kiln_array;

/** Axes of an array: those to reduce, to scan, or to permute. Where a function says that the axes
 *  may be NULL, KILN_ALL_AXES is meant. */
typedef struct kiln_axes {
    int count;               /**< How many follow; 0 names none, which is not the same as NULL. */
    int axis[KILN_RANK_MAX]; /**< Each counts from 0, or from the end where it is negative. */
} kiln_axes;

/** `const kiln_axes *` to the axes listed, as KILN_AXES(0, -1). It lives as long as a compound
 *  literal does: to the end of the enclosing block in C, to the end of the full expression in C++.
 *  */
#ifdef __cplusplus
template <class... A> static inline kiln_axes kiln_axes_of(A... a)
{
    return kiln_axes{(int)sizeof...(a), {(int)a...}};
}
namespace kiln_detail {
struct axes_box {
    kiln_axes v;
    operator const kiln_axes *() const { return &v; }
};
}
#define KILN_AXES(...) (kiln_detail::axes_box{kiln_axes_of(__VA_ARGS__)})
#else
#define KILN_AXES(...)                                                                             \
    (&(const kiln_axes){(int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#endif

/** Every axis, as axis=None in NumPy. */
#define KILN_ALL_AXES ((const kiln_axes *)0)

/** Stands for a slice bound that is left out, as in x[::2]. */
#define KILN_SLICE_OPEN INT64_MIN

KILN_EXTERN_C_BEGIN

/* ---- creation ---------------------------------------------------------------------------- */

/**
 * A C-order array of unset elements.
 *
 * The memory comes from the context's pool: a call that the pool can serve asks the device for
 * nothing.
 *
 * @param dtype  Any but KILN_DTYPE_NONE (ERR_DTYPE).
 * @param rank   Number of axes; 0 makes an array of one element.
 * @param shape  `rank` extents, none negative (ERR_ARGUMENT); an extent of 0 makes an array without
 *               elements. Copied. May be NULL when rank is 0.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_empty(kiln_context *ctx, kiln_dtype dtype, int rank,
                                                     const int64_t *shape, kiln_array **out,
                                                     kiln_error *err);

/** As kiln_array_empty(), all elements 0 (false). */
KILN_API KILN_NODISCARD kiln_status kiln_array_zeros(kiln_context *ctx, kiln_dtype dtype, int rank,
                                                     const int64_t *shape, kiln_array **out,
                                                     kiln_error *err);

/** As kiln_array_empty(), all elements 1 (true). */
KILN_API KILN_NODISCARD kiln_status kiln_array_ones(kiln_context *ctx, kiln_dtype dtype, int rank,
                                                    const int64_t *shape, kiln_array **out,
                                                    kiln_error *err);

/** As kiln_array_empty(), all elements `value`, which must fit `dtype` (ERR_RANGE). */
KILN_API KILN_NODISCARD kiln_status kiln_array_full(kiln_context *ctx, kiln_dtype dtype, int rank,
                                                    const int64_t *shape, double value,
                                                    kiln_array **out, kiln_error *err);

/** A K-order array with the shape of `array`; `dtype` KILN_DTYPE_NONE means its dtype. The elements
 *  are unset, 0, 1 or `value`, as in the functions above. The new array is on the context of
 *  `array`. */
KILN_API KILN_NODISCARD kiln_status kiln_array_empty_like(const kiln_array *array, kiln_dtype dtype,
                                                          kiln_array **out, kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_zeros_like(const kiln_array *array, kiln_dtype dtype,
                                                          kiln_array **out, kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_ones_like(const kiln_array *array, kiln_dtype dtype,
                                                         kiln_array **out, kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_full_like(const kiln_array *array, kiln_dtype dtype,
                                                         double value, kiln_array **out,
                                                         kiln_error *err);

/** start, start + step, ... up to but without `stop`: max(0, ceil((stop - start) / step))
 *  elements in an array of rank 1, computed in float64 as NumPy's arange and converted to `dtype`.
 *  A step of 0, and bounds that are not finite, are ERR_ARGUMENT. */
KILN_API KILN_NODISCARD kiln_status kiln_array_arange(kiln_context *ctx, kiln_dtype dtype,
                                                      double start, double stop, double step,
                                                      kiln_array **out, kiln_error *err);

/** `count` values evenly spaced from `start` to `stop`, both included (NumPy's linspace): element
 *  i is start + i * step in float64, the last one `stop` itself. One value is `start`. A negative
 *  count is ERR_ARGUMENT. */
KILN_API KILN_NODISCARD kiln_status kiln_array_linspace(kiln_context *ctx, kiln_dtype dtype,
                                                        double start, double stop, int64_t count,
                                                        kiln_array **out, kiln_error *err);

/**
 * Copy host memory into a new C-order array; the source is free again when the call returns.
 *
 * @param data    First element (the one at index 0 on every axis).
 * @param strides Bytes per step on each axis, of any sign; NULL means C-order.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_from_host(kiln_context *ctx, kiln_dtype dtype,
                                                         int rank, const int64_t *shape,
                                                         const void *data, const int64_t *strides,
                                                         kiln_array **out, kiln_error *err);

/** Called once, after the last view of wrapped memory is released and the work on it is done. The
 *  release of that view waits for this work; it does not wait if nothing was enqueued since the
 *  memory was wrapped. */
typedef void (*kiln_release_fn)(void *owner, void *data);

/**
 * Use device memory (host memory on the cpu device) that somebody else owns. A GPU's array may also
 * be managed or page-locked memory; ordinary host memory that the GPU does not reach is
 * ERR_ARGUMENT, and memory of another GPU is ERR_CONTEXT.
 *
 * @param data        First element: a device pointer for cuda. It and the strides must be
 *                    multiples of the element's size (ERR_ARGUMENT).
 * @param data_bytes  Size of the memory that begins at `base`; strides must stay inside it
 *                    (ERR_ARGUMENT), and it inside the addresses that there are (ERR_OVERFLOW).
 * @param base        Where that memory begins; NULL means at `data`.
 * @param strides     NULL means C-order.
 * @param release     May be NULL; else called with `owner` and `data` once. Never called when
 *                    this function fails.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_wrap(kiln_context *ctx, kiln_dtype dtype, int rank,
                                                    const int64_t *shape, const int64_t *strides,
                                                    void *data, void *base, size_t data_bytes,
                                                    kiln_release_fn release, void *owner,
                                                    kiln_array **out, kiln_error *err);

/** Add a reference. Accepts NULL. Returns its argument. */
KILN_API kiln_array *kiln_array_retain(kiln_array *array);

/** Give a reference back. With the last one the handle goes; with the last handle the memory goes
 *  back to the pool, which reuses it in the order of the stream. Accepts NULL. */
KILN_API void kiln_array_release(kiln_array *array);

/* ---- facts ------------------------------------------------------------------------------- */

/** The element type; never KILN_DTYPE_NONE. */
KILN_API kiln_dtype kiln_array_dtype(const kiln_array *array);
/** Number of axes, 0 to KILN_RANK_MAX. */
KILN_API int kiln_array_rank(const kiln_array *array);
/** The rank() extents; valid as long as the array. */
KILN_API const int64_t *kiln_array_shape(const kiln_array *array);
/** The rank() byte strides; valid as long as the array. */
KILN_API const int64_t *kiln_array_strides(const kiln_array *array);
/** Number of elements; 1 for rank 0. */
KILN_API int64_t kiln_array_size(const kiln_array *array);
/** Address of the first element on the device (a host pointer on the cpu device). */
KILN_API void *kiln_array_data(const kiln_array *array);
/** The context the array belongs to; borrowed. */
KILN_API kiln_context *kiln_array_context(const kiln_array *array);
/** Whether the elements lie without gaps in C-order. */
KILN_API bool kiln_array_is_contiguous(const kiln_array *array);
/** Whether the memory was imported as read-only (kiln/dlpack.h); such an array and its views cannot
 *  be outputs (ERR_OUTPUT). */
KILN_API bool kiln_array_is_read_only(const kiln_array *array);

/* ---- views: no element moves ------------------------------------------------------------- */

/**
 * x[start:stop:step] on one axis, with Python's rules: bounds are clipped, negative ones count
 * from the end, KILN_SLICE_OPEN leaves one out. ERR_AXIS for a bad axis or a step of 0.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_slice(const kiln_array *array, int axis,
                                                     int64_t start, int64_t stop, int64_t step,
                                                     kiln_array **out, kiln_error *err);

/** x[index] on one axis, which disappears. Negative counts from the end. ERR_AXIS. */
KILN_API KILN_NODISCARD kiln_status kiln_array_select(const kiln_array *array, int axis,
                                                     int64_t index, kiln_array **out,
                                                     kiln_error *err);

/** Permute the axes: axis k of the result is axis axes->axis[k] of `array`. `axes` names every axis
 *  once; NULL reverses their order. ERR_AXIS. */
KILN_API KILN_NODISCARD kiln_status kiln_array_transpose(const kiln_array *array,
                                                         const kiln_axes *axes, kiln_array **out,
                                                         kiln_error *err);

/**
 * Same elements in C-order under another shape; one extent may be -1 and is computed. A view
 * where strides allow, else a copy (kiln_array_data() tells). ERR_SHAPE when sizes differ.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_reshape(const kiln_array *array, int rank,
                                                       const int64_t *shape, kiln_array **out,
                                                       kiln_error *err);

/** Stretch axes of extent 1 (and add leading ones) with stride 0, NumPy's broadcast_to.
 *  ERR_SHAPE. The result can be read, but not given as an output (ERR_OUTPUT). */
KILN_API KILN_NODISCARD kiln_status kiln_array_broadcast_to(const kiln_array *array, int rank,
                                                            const int64_t *shape,
                                                            kiln_array **out, kiln_error *err);

/** Insert an axis of extent 1 before `axis` (0..rank, or negative from the end). ERR_AXIS. */
KILN_API KILN_NODISCARD kiln_status kiln_array_newaxis(const kiln_array *array, int axis,
                                                       kiln_array **out, kiln_error *err);

/** Reverse the order of the elements on one axis. ERR_AXIS. */
KILN_API KILN_NODISCARD kiln_status kiln_array_flip(const kiln_array *array, int axis,
                                                    kiln_array **out, kiln_error *err);

/**
 * Several of the above at once, as NumPy writes them between brackets:
 *
 *     kiln_array_view(x, "1:-1, ::2, 0, None, ...", &v, &err)
 *
 * Items are separated by commas: an integer takes one index of an axis, `start:stop:step` slices it
 * (each part may be left out), `None` or `newaxis` inserts an axis of extent 1, and `...` stands
 * for all axes that no other item names; without one it stands at the end. Only views: no index
 * arrays and no masks. ERR_SYNTAX with a caret, ERR_AXIS.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_view(const kiln_array *array, const char *subscript,
                                                    kiln_array **out, kiln_error *err);

/* ---- copies ------------------------------------------------------------------------------ */

/** A new K-order array with the same elements, enqueued on the context's stream. */
KILN_API KILN_NODISCARD kiln_status kiln_array_copy(const kiln_array *array, kiln_array **out,
                                                    kiln_error *err);

/** A new K-order array of `dtype`, converted as a C++ static_cast does; float to an integer type
 *  truncates toward zero, complex to real keeps the real part, anything to bool is `!= 0`. */
KILN_API KILN_NODISCARD kiln_status kiln_array_cast(const kiln_array *array, kiln_dtype dtype,
                                                    kiln_array **out, kiln_error *err);

/** The array itself (one more reference) when it is C-contiguous, else a C-order copy. Release it
 *  in both cases. */
KILN_API KILN_NODISCARD kiln_status kiln_array_contiguous(kiln_array *array, kiln_array **out,
                                                          kiln_error *err);

/** dst[...] = src with broadcasting; dtypes are cast as kiln_array_cast() does; overlap is safe.
 *  ERR_SHAPE, ERR_OUTPUT. */
KILN_API KILN_NODISCARD kiln_status kiln_array_assign(kiln_array *dst, const kiln_array *src,
                                                      kiln_error *err);

/**
 * Wait for the array's value and copy it to host memory.
 *
 * @param data        Room for the elements.
 * @param data_bytes  Size of that room, checked (ERR_ARGUMENT).
 * @param strides     Byte strides to write with, none negative; NULL means C-order.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_to_host(const kiln_array *array, void *data,
                                                       size_t data_bytes, const int64_t *strides,
                                                       kiln_error *err);

/** Set all elements to `value`, which must fit the dtype (ERR_RANGE). ERR_OUTPUT for an array that
 *  cannot be written. */
KILN_API KILN_NODISCARD kiln_status kiln_array_fill(kiln_array *array, double value,
                                                    kiln_error *err);

/** One element as a number of C, widened without loss. */
typedef struct kiln_scalar {
    kiln_dtype dtype; /**< Of the element; says which member of `value` is set. */
    union {
        bool b;     /**< bool */
        int64_t i;  /**< int8 to int64 */
        uint64_t u; /**< uint8 to uint64 */
        double f;   /**< float8 to float64 */
        double c[2]; /**< complex64, complex128: real and imaginary part */
    } value;
} kiln_scalar;

/** Read the element at `index`, rank() numbers of which negative ones count from the end; NULL for
 *  an array of one element, whatever its rank. Waits for the value. ERR_AXIS, ERR_SHAPE. */
KILN_API KILN_NODISCARD kiln_status kiln_array_item(const kiln_array *array, const int64_t *index,
                                                    kiln_scalar *item_out, kiln_error *err);

/* ---- .npy files (formats 1.0 to 3.0) ------------------------------------------------------ */

/** Read a .npy file, C or Fortran order, either byte order. ERR_IO; ERR_FORMAT for anything that
 *  is truncated, lies about its size, or holds objects or structures. */
KILN_API KILN_NODISCARD kiln_status kiln_array_load_npy(kiln_context *ctx, const char *path,
                                                        kiln_array **out, kiln_error *err);

/** Write a .npy file (format 1.0, little endian), through a temporary file that is renamed, so
 *  that `path` holds the old content or the new, never half of it. ERR_IO. */
KILN_API KILN_NODISCARD kiln_status kiln_array_save_npy(const kiln_array *array, const char *path,
                                                        kiln_error *err);

/* ---- .npz files: .npy files by name, in a .zip ---------------------------------------------- */

/** Read the array `name` of a file that numpy.savez() or numpy.savez_compressed() wrote. Compressed
 *  files need zlib (libz.so.1), which is loaded when it is needed. ERR_NAME when there is no such
 *  array; ERR_IO; ERR_FORMAT for anything that is truncated or damaged; ERR_UNSUPPORTED without
 *  zlib. */
KILN_API KILN_NODISCARD kiln_status kiln_array_load_npz(kiln_context *ctx, const char *path,
                                                        const char *name, kiln_array **out,
                                                        kiln_error *err);

/** The names of a file's arrays, in the order of the file. `names_out` receives one block of memory
 *  with the list and the names; free it with one kiln_free(). NULL when there are none. */
KILN_API KILN_NODISCARD kiln_status kiln_npz_names(const char *path, char ***names_out,
                                                   size_t *count_out, kiln_error *err);

/** Write arrays under names, as numpy.savez() does. An existing file is replaced as by
 *  kiln_array_save_npy(). The names must be different and not empty (ERR_NAME). */
KILN_API KILN_NODISCARD kiln_status kiln_array_save_npz(const kiln_array *const *arrays,
                                                        const char *const *names, size_t count,
                                                        const char *path, kiln_error *err);

/* ---- text --------------------------------------------------------------------------------- */

/**
 * The array as NumPy's str() prints it: nested brackets, aligned columns, "..." beyond 1000
 * elements. Waits for the value.
 * @param text_out Receives NUL-terminated text; free it with kiln_free().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_to_string(const kiln_array *array, char **text_out,
                                                         kiln_error *err);

KILN_EXTERN_C_END

#endif
