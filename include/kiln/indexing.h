/**
 * @file kiln/indexing.h
 * @brief Indexing with integer arrays: x[i], take, take_along_axis; x[i] = v, scattered sums.
 *
 *     const int32_t numbers[] = {3, 0, -1};
 *     kiln_array *i = NULL, *rows = NULL, *corner = NULL;
 *     kiln_array_from_host(ctx, KILN_INT32, 1, (int64_t[]){3}, numbers, NULL, &i, &err);
 *     kiln_array_take(x, i, 0, NULL, &rows, &err);            // x[i]
 *     const kiln_subscript at[] = {kiln_subscript_array(i), kiln_subscript_slice(0, 2, 1)};
 *     kiln_array_index(x, at, 2, NULL, &corner, &err);        // x[i, 0:2]
 *     kiln_array_release(corner);
 *     kiln_array_release(rows);
 *     kiln_array_release(i);
 *
 * Results, dtypes and the order of axes are NumPy's. In graphs (kiln_node_index()) and expressions
 * the kernel that uses the elements reads them through the indices; nothing is copied first.
 * Boolean masks are in kiln/select.h; kiln/sort.h makes indices.
 *
 * Indices: arrays of any integer dtype. Negative indices count from the end, except in the mode
 *          KILN_INDEX_CLIP.
 * Errors:  only the device sees an index that is out of range. The element read through it is 0,
 *          nothing out of bounds is accessed, and the next call that waits for the device
 *          (kiln_context_synchronize(), a copy to the host, ...) returns ERR_INDEX, whose message
 *          has the array, the axis and the index. One of several such indices is reported.
 *          kiln_index_mode has other choices.
 * Threads, units, ownership: as kiln/array.h.
 */
#ifndef KILN_INDEXING_H
#define KILN_INDEXING_H

#include "kiln/arg.h"
#include "kiln/array.h"
#include "kiln/node.h"

/** What happens to an index that is out of range. Values are pinned. */
typedef enum kiln_index_mode {
    KILN_INDEX_CHECK = 0, /**< ERR_INDEX at the next synchronise. */
    KILN_INDEX_WRAP = 1,  /**< The index modulo the extent. */
    KILN_INDEX_CLIP = 2 /**< Negative indices become 0, too large ones the last index. */
} kiln_index_mode;

/** As an axis: all elements, in C-order, as one axis. */
#define KILN_AXIS_FLAT INT32_MIN

/** The kinds of subscripts: what may stand between the commas of x[...]. */
typedef enum kiln_subscript_kind {
    KILN_SUBSCRIPT_INDEX = 1,    /**< A number: `start`. */
    KILN_SUBSCRIPT_SLICE = 2,    /**< start:stop:step */
    KILN_SUBSCRIPT_NEW_AXIS = 3, /**< None */
    KILN_SUBSCRIPT_ELLIPSIS = 4, /**< ... */
    KILN_SUBSCRIPT_ARRAY = 5     /**< Indices: `array`, or in a graph `node`. */
} kiln_subscript_kind;

/** One subscript. Fields that its kind does not name are ignored. */
typedef struct kiln_subscript {
    kiln_subscript_kind kind;
    int64_t start, stop, step; /**< KILN_SLICE_OPEN leaves a bound out. */
    const kiln_array *array;
    kiln_node node;
} kiln_subscript;

/** Options of functions that index. Zero in a field means its default. */
typedef struct kiln_index_options {
    size_t struct_size;   /**< sizeof(kiln_index_options) as the caller compiled it. */
    kiln_stream *stream;  /**< NULL: the context's own. */
    kiln_index_mode mode; /**< What happens to indices that are out of range. */
} kiln_index_options;

#define KILN_INDEX_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kiln_index_options), NULL, KILN_INDEX_CHECK                                         \
    }

/** How values are combined with the indexed elements. The numbers never change. */
typedef enum kiln_scatter {
    KILN_SCATTER_SET = 0, /**< x[i] = v. Of several values for one element the last one in C-order
                               is stored. */
    KILN_SCATTER_ADD = 1, /**< Each value is added. */
    KILN_SCATTER_MULTIPLY = 2, /**< The element is multiplied by each value. */
    KILN_SCATTER_MINIMUM = 3, /**< The smallest of the element and its values; NaN if one of them
                                   is. */
    KILN_SCATTER_MAXIMUM = 4, /**< The largest; NaN if one of them is. */
    KILN_SCATTER_REDUCE = 5   /**< The option `reduce`. */
} kiln_scatter;

/** Choices for functions that scatter. Zero in a field means its default. */
typedef struct kiln_scatter_options {
    size_t struct_size;   /**< sizeof(kiln_scatter_options) as the caller compiled it. */
    kiln_index_mode mode; /**< What becomes of indices out of range. */
    bool fast;            /**< Values may be combined in any order, so that runs may differ in
                               rounding. */
    const char *reduce;  /**< KILN_SCATTER_REDUCE: an expression over `a` and `b` of the array's
                              dtype, as "a > b ? a : b". It must be associative: the values of an
                              element are combined with each other first, in C-order, and then with
                              the element. */
    kiln_stream *stream; /**< NULL: the context's own. In a graph it is the stream of the call. */
} kiln_scatter_options;

#define KILN_SCATTER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(kiln_scatter_options), KILN_INDEX_CHECK, false, NULL, NULL                          \
    }

KILN_EXTERN_C_BEGIN

/** As the macro, for languages without it; pass sizeof(*opts). */
KILN_API void kiln_scatter_options_init(kiln_scatter_options *opts, size_t struct_size);

/** As the macro, for languages without it; pass sizeof(*opts). */
KILN_API void kiln_index_options_init(kiln_index_options *opts, size_t struct_size);

/* ---- subscripts ---------------------------------------------------------------------------- */

/** x[index]. */
KILN_API kiln_subscript kiln_subscript_index(int64_t index);
/** x[start:stop:step]. */
KILN_API kiln_subscript kiln_subscript_slice(int64_t start, int64_t stop, int64_t step);
/** x[None]. */
KILN_API kiln_subscript kiln_subscript_new_axis(void);
/** x[...]. */
KILN_API kiln_subscript kiln_subscript_ellipsis(void);
/** x[array]. The array is borrowed until the call that the subscript is given to has returned. */
KILN_API kiln_subscript kiln_subscript_array(const kiln_array *array);
/** x[node], in graphs. */
KILN_API kiln_subscript kiln_subscript_node(kiln_node node);

/* ---- at once ------------------------------------------------------------------------------- */

/**
 * NumPy's take: the slices of `array` along `axis` at `indices`.
 *
 * @param axis  Negative axes count from the end; KILN_AXIS_FLAT takes elements in C-order.
 * @param opts  May be NULL.
 * @param out   If `*out` is NULL, it receives a new array, and stays NULL on failure. Otherwise the
 *              array is written.
 * @return ERR_NULL, ERR_CONTEXT, ERR_AXIS, ERR_DTYPE for indices that are not integers, ERR_INDEX
 *         for any index into an axis of extent 0, and those of kiln_graph_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_take(const kiln_array *array,
                                                    const kiln_array *indices, int axis,
                                                    const kiln_index_options *opts,
                                                    kiln_array **out, kiln_error *err);

/**
 * NumPy's take_along_axis: out[a, b, c] = array[a, indices[a, b, c], c] for axis 1 of three.
 *
 * `indices` has as many axes as `array`, and broadcasts with it on all but `axis` (ERR_SHAPE).
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_take_along_axis(const kiln_array *array,
                                                               const kiln_array *indices, int axis,
                                                               const kiln_index_options *opts,
                                                               kiln_array **out, kiln_error *err);

/**
 * x[...] with any subscripts, by NumPy's rules for advanced indexing.
 *
 * Index arrays broadcast together. If the indexed axes are adjacent, the axes of the indices
 * replace them; otherwise the axes of the indices come first. An integer beside an index array
 * counts as an index array there; unless opts->mode says otherwise it must be in range. The result
 * is always a new array, even if no subscript is an array; kiln/array.h has views.
 *
 * @return as kiln_array_take(); ERR_SHAPE for index arrays that do not broadcast; ERR_AXIS for too
 *         many subscripts, for two of `...`, and for an integer out of range.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_index(const kiln_array *array,
                                                     const kiln_subscript *subscripts, size_t count,
                                                     const kiln_index_options *opts,
                                                     kiln_array **out, kiln_error *err);

/* ---- in place ------------------------------------------------------------------------------ */

/**
 * x[...] = v, x[...] += v and so on, in place. Several values may belong to one element.
 *
 * Results are bit-identical in every run and on every device unless `fast` is set: floating-point
 * values are combined in an order that depends on the indices alone. Integers, and with `fast`
 * other dtypes, of 2 to 8 bytes are combined by atomic operations. A value whose index is out of
 * range is ignored.
 *
 * @param values  An array that broadcasts to the shape of x[...], cast as kiln_array_cast() does,
 *                or a number.
 * @param opts    May be NULL.
 * @return as kiln_array_index(); ERR_OUTPUT for an array that cannot be written; ERR_SHAPE for
 *         values that do not broadcast.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_scatter(
    kiln_array *array, const kiln_subscript *subscripts, size_t count, kiln_arg values,
    kiln_scatter what, const kiln_scatter_options *opts, kiln_error *err);

/** NumPy's put: the indices refer to the elements in C-order, and values broadcast to the shape of
 *  the indices. */
KILN_API KILN_NODISCARD kiln_status kiln_array_put(kiln_array *array, const kiln_array *indices,
                                                   kiln_arg values,
                                                   const kiln_scatter_options *opts,
                                                   kiln_error *err);

/** NumPy's put_along_axis: array[a, indices[a, b, c], c] = values[a, b, c] for axis 1 of three. */
KILN_API KILN_NODISCARD kiln_status kiln_array_put_along_axis(kiln_array *array,
                                                              const kiln_array *indices,
                                                              kiln_arg values, int axis,
                                                              const kiln_scatter_options *opts,
                                                              kiln_error *err);

/* ---- in graphs ------------------------------------------------------------------------------ */

/** kiln_array_take() in a graph. Shapes and dtypes are checked when the graph is called. */
KILN_API kiln_node kiln_node_take(kiln_node x, kiln_node indices, int axis, kiln_index_mode mode,
                                  const char *file, int line);

/** kiln_array_take_along_axis() in a graph. */
KILN_API kiln_node kiln_node_take_along_axis(kiln_node x, kiln_node indices, int axis,
                                             kiln_index_mode mode, const char *file, int line);

/** kiln_array_index() in a graph; without an index array it is a view. */
KILN_API kiln_node kiln_node_index(kiln_node x, const kiln_subscript *subscripts, size_t count,
                                   kiln_index_mode mode, const char *file, int line);

/**
 * A copy of `x` to which kiln_array_scatter() is applied; `x` itself is unchanged.
 *
 * @param values  A node or a number, which is cast to the dtype of x. The result has the dtype and
 *                shape of x.
 * @param opts    May be NULL; copied. Its `stream` is ignored.
 */
KILN_API kiln_node kiln_node_scatter(kiln_node x, const kiln_subscript *subscripts, size_t count,
                                     kiln_node values, kiln_scatter what,
                                     const kiln_scatter_options *opts, const char *file, int line);

/** A copy of `x` to which kiln_array_put() is applied. */
KILN_API kiln_node kiln_node_put(kiln_node x, kiln_node indices, kiln_node values,
                                 kiln_index_mode mode, const char *file, int line);

/**
 * A copy of `x` to which kiln_array_put_along_axis() is applied.
 *
 * Shapes, axes and the dtype of the indices are checked when the graph is called.
 */
KILN_API kiln_node kiln_node_put_along_axis(kiln_node x, kiln_node indices, kiln_node values,
                                            int axis, kiln_index_mode mode, const char *file,
                                            int line);

/**
 * NumPy's choose: each element of the result is the element of choices[index] at the same position.
 * Indices and choices broadcast together; the result has the common dtype of the choices. One
 * kernel.
 *
 * @param indices  Integers or bool. `mode` decides about those out of range, as in
 *                 kiln_array_take().
 * @param count    The number of choices: 1 to 30.
 * @param out      NULL on failure.
 * @return ERR_NULL, ERR_ARGUMENT_COUNT, ERR_ARGUMENT for an unknown mode, ERR_DTYPE, ERR_SHAPE,
 *         ERR_CONTEXT.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_choose(const kiln_array *indices,
                                                      const kiln_array *const *choices,
                                                      size_t count, kiln_index_mode mode,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's select: each element of the result is that of the first choice whose condition (a bool
 * array) is true there, or that of `otherwise`, an array or a number, if no condition is. All
 * operands broadcast together. One kernel.
 *
 * @return As kiln_array_choose(); ERR_DTYPE for conditions of another dtype.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_choose_where(const kiln_array *const *conditions,
                                                            const kiln_array *const *choices,
                                                            size_t count, kiln_arg otherwise,
                                                            kiln_array **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
