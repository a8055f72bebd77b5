/**
 * @file kiln/sort.h
 * @brief Sorted arrays, and the order that sorts them.
 *
 *     kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
 *     o.axes = KILN_AXES(-1);
 *     kiln_array *sorted = NULL, *order = NULL;
 *     kiln_array_sort(x, &o, &sorted, &err);      // each row
 *     kiln_array_argsort(x, &o, &order, &err);    // int64: where each element stood in its row
 *
 * Order: that of NumPy. NaN come last, in whatever direction is sorted; -0 and +0 are equal; complex
 *        numbers are ordered by their real parts, then by their imaginary ones. Every sort is stable:
 *        what is equal keeps its order, also in descending direction.
 * Results: the same on every device and in every run, to the last bit.
 * Threads, units, ownership: as kiln/array.h. The work is enqueued on a stream.
 */
#ifndef KILN_SORT_H
#define KILN_SORT_H

#include "kiln/array.h"
#include "kiln/stream.h"

/** Choices for the functions below. Zero in a field means its default. */
typedef struct kiln_sort_options {
    size_t struct_size;    /**< sizeof(kiln_sort_options) as the caller compiled it. */
    kiln_stream *stream;   /**< NULL: the context's own stream. */
    const kiln_axes *axes; /**< The one axis to sort along; NULL: all elements, of C-order. */
    bool descending;       /**< The largest first; NaN last all the same. */
} kiln_sort_options;

#define KILN_SORT_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kiln_sort_options), NULL, KILN_ALL_AXES, false                                      \
    }

KILN_EXTERN_C_BEGIN

/** KILN_SORT_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_sort_options_init(kiln_sort_options *opts, size_t given);

/**
 * The elements of each row along an axis, sorted. Every dtype can be sorted.
 *
 * @param opts  May be NULL: all elements are sorted, and the result has one axis.
 * @param out   Where it points at NULL, a new C-order array of the array's shape is stored there; else
 *              that array is written, with any strides; it may be `array` itself.
 * @return ERR_NULL; ERR_AXIS for several axes, and for one that the array lacks; ERR_DTYPE and ERR_OUTPUT
 *         for an `*out` of another dtype or shape, or one that cannot be written. No output is changed
 *         then.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sort(const kiln_array *array,
                                                    const kiln_sort_options *opts, kiln_array **out,
                                                    kiln_error *err);

/** NumPy's argsort: int64 places in the row, so that taking the elements there gives the sorted row. As
 *  kiln_array_sort() in all else. */
KILN_API KILN_NODISCARD kiln_status kiln_array_argsort(const kiln_array *array,
                                                       const kiln_sort_options *opts,
                                                       kiln_array **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
