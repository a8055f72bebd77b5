/**
 * @file kiln/rearrange.h
 * @brief Arrays side by side, padded, rolled, repeated; and views beside those of kiln/array.h.
 *
 *     const kiln_arg both[] = {kiln_arg_array(x), kiln_arg_array(y)};
 *     const int64_t last[] = {-1}, widths[] = {KILN_PAD_REFLECT, 1, 1, 2, 2};
 *     kiln_array *z = NULL, *wide = NULL;
 *     kiln_array_rearrange(KILN_REARRANGE_CONCATENATE, both, 2, last, 1, &z, &err);
 *     kiln_array_rearrange(KILN_REARRANGE_PAD, both, 1, widths, 5, &wide, &err);
 *
 * Each is NumPy's function of its name, with its result, dtype and order of the elements. Besides arrays
 * a rearrangement takes whole numbers (axes, widths, repetitions), in the order that the table below
 * gives. In graphs (kiln_node_rearrange()) and expressions computed operands are stored straight into
 * their part of the result.
 *
 * Threads, units, ownership: as kiln/array.h.
 */
#ifndef KILN_REARRANGE_H
#define KILN_REARRANGE_H

#include "kiln/arg.h"
#include "kiln/array.h"
#include "kiln/node.h"

/** Rearrangements: X(NAME, value, "NumPy's name") with the whole numbers that each takes. Values are
 *  pinned and never reused. The first group are views of one array. */
#define KILN_REARRANGEMENT_MAP(X)                                                                  \
    X(SWAPAXES, 1, "swapaxes")       /* two axes */                                                \
    X(MOVEAXIS, 2, "moveaxis")       /* axes, then as many places */                               \
    X(SQUEEZE, 3, "squeeze")         /* axes of extent 1; none: all such */                        \
    X(DIAGONAL, 4, "diagonal")       /* offset, two axes; the diagonal becomes the last axis */    \
    X(ROT90, 5, "rot90")             /* quarter turns, two axes */                                 \
    X(FLIP, 6, "flip")               /* axes; none: all */                                         \
    X(ATLEAST_1D, 7, "atleast_1d")                                                                 \
    X(ATLEAST_2D, 8, "atleast_2d")                                                                 \
    X(ATLEAST_3D, 9, "atleast_3d")                                                                 \
    X(SECTION, 10, "split")          /* an axis, which part of it, of how many; 1: of equal ones */ \
    X(WINDOW, 11, "sliding_window_view") /* an axis, an element of its windows, how many these have; */ \
                                     /* or an axis and how many: all windows, along a further axis */ \
    X(CONCATENATE, 32, "concatenate") /* an axis; none: the elements in C-order */                 \
    X(STACK, 33, "stack")            /* an axis of the result */                                   \
    X(HSTACK, 34, "hstack")                                                                        \
    X(VSTACK, 35, "vstack")                                                                        \
    X(DSTACK, 36, "dstack")                                                                        \
    X(TILE, 37, "tile")              /* repetitions along the last axes */                         \
    X(REPEAT, 38, "repeat")          /* repetitions, one or for each element, in C-order */        \
    X(REPEAT_ALONG, 39, "repeat_along") /* the same, then an axis */                               \
    X(ROLL, 40, "roll")              /* shifts, then as many axes; or one shift, in C-order */     \
    X(PAD, 41, "pad")                /* a kiln_pad_mode, before and after for each axis, or all; */  \
                                     /* of statistics then how many elements are looked at */        \
    X(DELETE, 42, "delete")          /* an axis, then what is left out of it */                    \
    X(INSERT, 43, "insert")          /* an axis, then where the second operand goes in */          \
    X(BLOCK, 44, "block")            /* how many arrays each row has; none: one row */             \
    X(COLUMN_STACK, 45, "column_stack")

/** Tags of rearrangements. */
typedef enum kiln_rearrangement {
#define KILN_REARRANGEMENT_VALUE(NAME, value, text) KILN_REARRANGE_##NAME = value,
    KILN_REARRANGEMENT_MAP(KILN_REARRANGEMENT_VALUE)
#undef KILN_REARRANGEMENT_VALUE
} kiln_rearrangement;

/** What stands around a padded array; NumPy's words. Values are pinned. */
typedef enum kiln_pad_mode {
    KILN_PAD_CONSTANT = 0,  /**< The second operand, a number; without one 0. */
    KILN_PAD_EDGE = 1,      /**< The nearest element. */
    KILN_PAD_REFLECT = 2,   /**< Mirrored at the first and the last element. */
    KILN_PAD_SYMMETRIC = 3, /**< Mirrored beside them, so that they occur twice. */
    KILN_PAD_WRAP = 4,      /**< The array again. */
    KILN_PAD_EMPTY = 5,     /**< Whatever the memory holds. */
    KILN_PAD_LINEAR_RAMP = 6, /**< In even steps from the second operand, or 0, to the nearest element. */
    KILN_PAD_MAXIMUM = 7,   /**< The largest element along the axis. */
    KILN_PAD_MEAN = 8,      /**< The mean along the axis; rounded for integers. */
    KILN_PAD_MEDIAN = 9,    /**< The median along the axis; rounded for integers. */
    KILN_PAD_MINIMUM = 10   /**< The least element along the axis. */
} kiln_pad_mode;

/** Which sums of a sliding window are in the result; NumPy's words. Values are pinned. */
typedef enum kiln_slide_mode {
    KILN_SLIDE_FULL = 0, /**< All in which the vectors meet: n + m - 1. */
    KILN_SLIDE_SAME = 1, /**< The middle ones, as many as the longer vector has elements. */
    KILN_SLIDE_VALID = 2 /**< Those in which the shorter vector lies inside the longer one. */
} kiln_slide_mode;

KILN_EXTERN_C_BEGIN

/** "concatenate"; "unknown" for a value that is no rearrangement. */
KILN_API const char *kiln_rearrangement_name(kiln_rearrangement what);

/**
 * Rearrange arrays: a view, or a new C-order array whose work is enqueued on the context's stream.
 *
 * @param operands  One array; two or more where arrays are put side by side, which take their common
 *                  dtype. Numbers count as arrays without axes; one operand at least is an array.
 * @param numbers   As the table says. May be NULL when `number_count` is 0.
 * @param out       NULL on failure.
 * @return ERR_NULL, ERR_ARGUMENT for an unknown rearrangement, negative widths or repetitions,
 *         ERR_ARGUMENT_COUNT, ERR_AXIS, ERR_SHAPE for shapes that do not fit together or widths for
 *         another rank, ERR_RANGE for a constant that the dtype does not hold, ERR_UNSUPPORTED for a
 *         result of too many parts, and those of kiln_graph_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_rearrange(kiln_rearrangement what,
                                                         const kiln_arg *operands,
                                                         size_t operand_count,
                                                         const int64_t *numbers,
                                                         size_t number_count, kiln_array **out,
                                                         kiln_error *err);

/**
 * The same in a graph.
 *
 * Counts are checked when it is recorded, shapes and axes by a call.
 */
KILN_API kiln_node kiln_node_rearrange(kiln_rearrangement what, const kiln_node *operands,
                                       size_t operand_count, const int64_t *numbers,
                                       size_t number_count, const char *file, int line);

/**
 * Any view of the array's memory: `rank` extents and byte strides, beginning `offset_bytes` behind
 * its first element.
 *
 * Unlike NumPy's as_strided, it is checked: each element must lie inside the memory that the array's
 * storage has (ERR_ARGUMENT), and at a multiple of the element's size. Where elements overlap, the view
 * can be read but is no output.
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
 * NumPy's convolve and correlate of two vectors, a new array of their common dtype. Of complex vectors correlate
 * conjugates `v`. Nothing of the longer vector is copied; each element of the result costs as many multiplications
 * as the shorter one has elements, so that a Fourier transform is faster where both are long.
 *
 * @return ERR_SHAPE for operands that are no vectors or have no elements; ERR_ARGUMENT for an unknown mode.
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
 * @param at     Where each part but the first begins: `count - 1` indices as in slices (negative ones count
 *               from the end). NULL: parts of equal extents; where the extent is no multiple of `count`, the
 *               first ones are larger by one.
 * @param outs   Receives `count` views; all are NULL on failure.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_split(const kiln_array *array, int axis,
                                                     const int64_t *at, size_t count,
                                                     kiln_array **outs, kiln_error *err);

/**
 * NumPy's hsplit, vsplit and dsplit: the same along the second axis (of a vector the first), the first and the third one.
 * Where `at` is NULL, the parts are equal.
 *
 * @param at     As in kiln_array_split().
 * @param outs   Receives `count` views of the array's memory; all are NULL on failure.
 * @return As kiln_array_split(); ERR_AXIS for an array of fewer than one, two and three axes; ERR_SHAPE for an extent that is
 *         no multiple of `count`.
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

/** NumPy's diag: a copy of the diagonal number `k` of a matrix; of a vector the matrix that has it as that diagonal, and
 *  zeros elsewhere. ERR_SHAPE for arrays of other ranks. */
KILN_API KILN_NODISCARD kiln_status kiln_array_diag(const kiln_array *array, int64_t k,
                                                    kiln_array **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
