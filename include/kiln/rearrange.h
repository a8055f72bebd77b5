/**
 * @file kiln/rearrange.h
 * @brief Concatenate, stack, tile, repeat, roll, pad, insert, delete; split; further views.
 *
 *     const kiln_arg both[] = {kiln_arg_array(x), kiln_arg_array(y)};
 *     const int64_t last[] = {-1}, widths[] = {KILN_PAD_REFLECT, 1, 1, 2, 2};
 *     kiln_array *z = NULL, *wide = NULL;
 *     kiln_array_rearrange(KILN_REARRANGE_CONCATENATE, both, 2, last, 1, &z, &err);
 *     kiln_array_rearrange(KILN_REARRANGE_PAD, both, 1, widths, 5, &wide, &err);
 *
 * Each rearrangement is NumPy's function of the same name, with its result, dtype and element
 * order. Besides arrays it takes whole numbers (axes, widths, repetitions), which the table below
 * lists. In graphs (kiln_node_rearrange()) and expressions a computed operand is stored directly
 * into its part of the result.
 *
 * Threads, units, ownership: as kiln/array.h.
 */
#ifndef KILN_REARRANGE_H
#define KILN_REARRANGE_H

#include "kiln/arg.h"
#include "kiln/array.h"
#include "kiln/node.h"

/** Rearrangements: X(NAME, value, "NumPy's name"), with the whole numbers that each takes in a
 *  comment. Values never change and are never reused. The first group are views of one array. */
#define KILN_REARRANGEMENT_MAP(X)                                                                  \
    X(SWAPAXES, 1, "swapaxes")       /* two axes */                                                \
    X(MOVEAXIS, 2, "moveaxis")       /* axes, then as many destinations */                         \
    X(SQUEEZE, 3, "squeeze")         /* axes of extent 1; none: all such */                        \
    X(DIAGONAL, 4, "diagonal")       /* offset, two axes; the diagonal becomes the last axis */    \
    X(ROT90, 5, "rot90")             /* quarter turns, two axes */                                 \
    X(FLIP, 6, "flip")               /* axes; none: all */                                         \
    X(ATLEAST_1D, 7, "atleast_1d")                                                                 \
    X(ATLEAST_2D, 8, "atleast_2d")                                                                 \
    X(ATLEAST_3D, 9, "atleast_3d")                                                                 \
    X(SECTION, 10, "split")          /* axis, number of the part, parts; then 1: equal ones */     \
    X(WINDOW, 11, "sliding_window_view") /* axis, element of a window, its length; or axis and */  \
                                     /* length: all windows, along a further axis */               \
    X(CONCATENATE, 32, "concatenate") /* an axis; none: the elements in C-order */                 \
    X(STACK, 33, "stack")            /* an axis of the result */                                   \
    X(HSTACK, 34, "hstack")                                                                        \
    X(VSTACK, 35, "vstack")                                                                        \
    X(DSTACK, 36, "dstack")                                                                        \
    X(TILE, 37, "tile")              /* repetitions along the last axes */                         \
    X(REPEAT, 38, "repeat")          /* repetitions, one or for each element, in C-order */        \
    X(REPEAT_ALONG, 39, "repeat_along") /* the same, then an axis */                               \
    X(ROLL, 40, "roll")              /* shifts, then as many axes; or one shift, in C-order */     \
    X(PAD, 41, "pad")                /* a kiln_pad_mode; before, after for each axis or all; */    \
                                     /* for statistics also the number of elements they use */     \
    X(DELETE, 42, "delete")          /* an axis, then the indices to delete */                     \
    X(INSERT, 43, "insert")          /* an axis, then the indices to insert before */              \
    X(BLOCK, 44, "block")            /* number of arrays in each row; none: one row */             \
    X(COLUMN_STACK, 45, "column_stack")

/** Tags of rearrangements. */
typedef enum kiln_rearrangement {
#define KILN_REARRANGEMENT_VALUE(NAME, value, text) KILN_REARRANGE_##NAME = value,
    KILN_REARRANGEMENT_MAP(KILN_REARRANGEMENT_VALUE)
#undef KILN_REARRANGEMENT_VALUE
} kiln_rearrangement;

/** What an array is padded with: NumPy's modes. The numbers never change. */
typedef enum kiln_pad_mode {
    KILN_PAD_CONSTANT = 0,  /**< The second operand, a number; without one 0. */
    KILN_PAD_EDGE = 1,      /**< The nearest element. */
    KILN_PAD_REFLECT = 2,   /**< Mirrored at the edge element, which is not repeated. */
    KILN_PAD_SYMMETRIC = 3, /**< Mirrored behind the edge element, which is repeated. */
    KILN_PAD_WRAP = 4,      /**< The array, repeated periodically. */
    KILN_PAD_EMPTY = 5,     /**< Undefined elements. */
    KILN_PAD_LINEAR_RAMP = 6, /**< In even steps from the second operand, or 0, to the nearest
                                   element. */
    KILN_PAD_MAXIMUM = 7,   /**< The largest element along the axis. */
    KILN_PAD_MEAN = 8,      /**< The mean along the axis; rounded for integers. */
    KILN_PAD_MEDIAN = 9,    /**< The median along the axis; rounded for integers. */
    KILN_PAD_MINIMUM = 10   /**< The least element along the axis. */
} kiln_pad_mode;

/** Which products of overlapping vectors the result has: NumPy's modes. The numbers never change.
 *  */
typedef enum kiln_slide_mode {
    KILN_SLIDE_FULL = 0, /**< All positions at which the vectors overlap: n + m - 1 elements. */
    KILN_SLIDE_SAME = 1, /**< The middle ones: as many as the longer vector has elements. */
    KILN_SLIDE_VALID = 2 /**< Only the positions at which the shorter vector lies inside the longer
                              one. */
} kiln_slide_mode;

KILN_EXTERN_C_BEGIN

/** "concatenate"; "unknown" for a value that is no rearrangement. */
KILN_API const char *kiln_rearrangement_name(kiln_rearrangement what);

/**
 * Rearrange arrays: a view, or a new C-order array whose work is enqueued on the context's stream.
 *
 * @param operands  One array, or several for functions that join arrays, which are promoted to
 *                  their common dtype. A number counts as an array of rank 0; at least one operand
 *                  is an array.
 * @param numbers   As the table says. May be NULL when `number_count` is 0.
 * @param out       NULL on failure.
 * @return ERR_NULL, ERR_ARGUMENT for an unknown rearrangement, negative widths or repetitions,
 *         ERR_ARGUMENT_COUNT, ERR_AXIS, ERR_SHAPE for shapes that do not match or widths for
 *         another rank, ERR_RANGE for a constant that does not fit the dtype, ERR_UNSUPPORTED for a
 *         result of too many parts, and those of kiln_graph_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_rearrange(kiln_rearrangement what,
                                                         const kiln_arg *operands,
                                                         size_t operand_count,
                                                         const int64_t *numbers,
                                                         size_t number_count, kiln_array **out,
                                                         kiln_error *err);

/**
 * The same in a graph. Counts are checked when it is recorded, shapes and axes when the graph is
 * called.
 */
KILN_API kiln_node kiln_node_rearrange(kiln_rearrangement what, const kiln_node *operands,
                                       size_t operand_count, const int64_t *numbers,
                                       size_t number_count, const char *file, int line);

/**
 * Any view of the array's memory: `rank` extents and byte strides, beginning `offset_bytes` after
 * the array's first element.
 *
 * Unlike NumPy's as_strided, the view is checked: each element must lie inside the array's storage,
 * at a multiple of the element's size (ERR_ARGUMENT). A view whose elements overlap can be read,
 * but cannot be an output.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_as_strided(const kiln_array *array, int rank,
                                                          const int64_t *shape,
                                                          const int64_t *strides,
                                                          int64_t offset_bytes, kiln_array **out,
                                                          kiln_error *err);

/**
 * NumPy's sliding_window_view: all windows of `window[k]` elements along axes->axis[k] (NULL: along
 * all), as further axes at the end. A view.
 *
 * @return ERR_AXIS; ERR_SHAPE for a window that does not fit.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sliding_window(const kiln_array *array,
                                                              const kiln_axes *axes,
                                                              const int64_t *window,
                                                              kiln_array **out, kiln_error *err);

/**
 * NumPy's convolve and correlate of two vectors, as a new array of their common dtype. correlate
 * conjugates a complex `v`. The longer vector is not copied. Each element of the result costs as
 * many multiplications as the shorter vector has elements, so a Fourier transform is faster if both
 * are long.
 *
 * @return ERR_SHAPE for operands that are not vectors or have no elements; ERR_ARGUMENT for an
 *         unknown mode.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_convolve(const kiln_array *a, const kiln_array *v,
                                                        kiln_slide_mode mode, kiln_array **out,
                                                        kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_correlate(const kiln_array *a, const kiln_array *v,
                                                         kiln_slide_mode mode, kiln_array **out,
                                                         kiln_error *err);

/**
 * NumPy's split and array_split: views of parts along an axis.
 *
 * @param at     `count - 1` indices at which all parts but the first begin, as in slices (negative
 *               ones count from the end). NULL: parts of equal extents; if the extent is not a
 *               multiple of `count`, the first parts are larger by one.
 * @param outs   Receives `count` views; all are NULL on failure.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_split(const kiln_array *array, int axis,
                                                     const int64_t *at, size_t count,
                                                     kiln_array **outs, kiln_error *err);

/**
 * NumPy's hsplit, vsplit and dsplit: kiln_array_split() along the second axis (for a vector the
 * first), the first, and the third. If `at` is NULL, the parts must be equal.
 *
 * @param at     As in kiln_array_split().
 * @param outs   Receives `count` views of the array's memory; all are NULL on failure.
 * @return As kiln_array_split(); ERR_AXIS for an array of too few axes; ERR_SHAPE for an extent
 *         that is not a multiple of `count`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_hsplit(const kiln_array *array, const int64_t *at,
                                                      size_t count, kiln_array **outs,
                                                      kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_vsplit(const kiln_array *array, const int64_t *at,
                                                      size_t count, kiln_array **outs,
                                                      kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_dsplit(const kiln_array *array, const int64_t *at,
                                                      size_t count, kiln_array **outs,
                                                      kiln_error *err);

/**
 * NumPy's broadcast_arrays: views of all arrays with the shape that they broadcast to.
 *
 * @return ERR_SHAPE for shapes that do not broadcast together.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_broadcast(const kiln_array *const *arrays,
                                                         size_t count, kiln_array **outs,
                                                         kiln_error *err);

/** NumPy's diag. Of a matrix: a copy of its k-th diagonal. Of a vector: the matrix that has the
 *  vector as its k-th diagonal, and zeros elsewhere. ERR_SHAPE for arrays of other ranks. */
KILN_API KILN_NODISCARD kiln_status kiln_array_diag(const kiln_array *array, int64_t k,
                                                    kiln_array **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
