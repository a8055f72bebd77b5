/*
 * sorting.h - the one door of src/sorting: sort, select, search, count into bins.
 *
 *     array > [rows.c: the axis last, without gaps] > kiln__sort > [sort.c] > sort_cuda.c
 *                                               > sort_cpu.c > sort_numbers.c, if it is faster
 *
 * Functions of arrays:
 *     sort.c           sort, argsort, lexsort; kiln__sort_rows(), by which all others sort
 *     select.c         topk, partition, median, quantile
 *     rule.c           several arrays sorted together by a rule of the user's
 *     search.c         searchsorted, isin; search_cpu.c looks up many numbers at a time
 *     bins.c           bincount, histogram, digitize; bins_cuda.c counts on CUDA devices
 *     histogramdd.c    histograms over several axes
 *     functions.c      these functions as operations of graphs
 *     rows.c           arrays as rows along one axis, and results along that axis
 * Sorts of rows:
 *     radix_key.c      what a sort must know of a dtype
 *     sort_cuda.c      CUDA devices: radix sort, by templates/sorting/
 *     sort_cpu.c       cpu device: merge sort and radix sort; network.c sorts columns
 *     sort_numbers.c   cpu device: real elements as integers, by the processor's vectors:
 *                      numbers.c reads and writes them, quick.c (the text of quick.h) sorts them
 *     sort_order.c     cpu device: the order of rows of 8-byte elements
 *     sort_halves.c    cpu device: long rows of such integers, by a few threads
 *     number_rows.c    cpu device: elements as these integers and back, for the three files above
 * A part of the order, without sorting the rows:
 *     first.c          CUDA devices: the first elements of long rows
 *     choose.c         CUDA devices: a few neighbours in the order of rows that fit a block
 *     choose_cpu.c     cpu device: the same
 *     partition_cpu.c  cpu device: partitions
 *     nth_cpu.c        cpu device: which numbers stand where, for the two before (nth.h)
 *
 * Words: *keys* are the elements that are sorted. The *radix key* of one is an unsigned integer:
 * elements are sorted by the order of their radix keys. The *position* of an element is its index in
 * its row before the sort, its *destination* the one in the sorted row. A *number* is a signed
 * integer (or a double) in the same order, as vectors compare them. An *order* holds the position of
 * each sorted element. `wide` means positions of int64 instead of int32.
 *
 * Tests: test_sort, test_select, test_first, test_quick, test_rule, test_bins; each file names its
 * own. Random calls on either device: difftest --kind sort, and --kind select, which sorts for
 * sets.
 *
 * Uses core, ops, device, context, array, codegen, jit, kernel.
 */
#ifndef KILN_SORTING_SORTING_H
#define KILN_SORTING_SORTING_H

#include "kernel/kernel.h"
#include "kiln/sort.h"

/* ---- radix keys (radix_key.c) ---------------------------------------------------------------- */

/* How the bits of an element become its radix key. templates/sorting/keys.cu has the same values. */
typedef enum kiln__radix_kind {
    KILN__RADIX_TRUTH,
    KILN__RADIX_UNSIGNED,
    KILN__RADIX_SIGNED,
    KILN__RADIX_FLOATING,
    KILN__RADIX_COMPLEX
} kiln__radix_kind;

kiln__radix_kind kiln__radix_kind_of(kiln_dtype dtype);
/* The bits of infinity, of a floating-point dtype or of a part of a complex number; else 0. */
uint64_t kiln__radix_infinity(kiln_dtype dtype);
/* Digits of 8 bits that a radix key has. */
int kiln__radix_digits(kiln_dtype dtype);

/* ---- rows ------------------------------------------------------------------------------------ */

/*
 * Stable sort of rows: `rows` times `length` elements of C-order. NaN come last whatever the
 * direction; -0 and +0 are equal, and elements are moved as they are.
 */
typedef struct kiln__sort {
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_dtype dtype;
    int64_t rows, length;
    bool descending;
    const void *keys; /* stays as it is */
    void *sorted;     /* NULL: not wanted; does not overlap `keys` */
    void *order;      /* where each sorted element stood in its row; NULL: not wanted */
    bool wide;        /* `order` is int64, else int32 (uint32 beyond 2^31 elements) */
    int64_t keep; /* results have only so many elements a row, the first ones; 0: all. Only where
                     kiln__sort_cuts() */
    int digits; /* only so many of the lowest digits differ: for unsigned keys that are known to be
                         small. 0: all. */
} kiln__sort;

/* Enqueue it. (sort.c) */
kiln_status kiln__sort_rows(const kiln__sort *s, kiln_error *err);
/* Whether `keep` can be asked for. */
bool kiln__sort_cuts(const kiln__sort *s);
bool kiln__sort_fits_block(const kiln__sort *s);                        /* (sort_cuda.c) */
kiln_status kiln__sort_rows_cpu(const kiln__sort *s, kiln_error *err);  /* (sort_cpu.c) */
kiln_status kiln__sort_rows_cuda(const kiln__sort *s, kiln_error *err); /* (sort_cuda.c) */
/* The same of what is better sorted as integers by vectors; else *done is false.
 * (sort_numbers.c) */
kiln_status kiln__sort_rows_numbers(const kiln__sort *s, bool *done, kiln_error *err);

/* Enqueue `units` work units of an entry on the cpu device. `args` is copied. */
static inline kiln_status kiln__sort_launch(const kiln__sort *s, kiln__cpu_entry entry,
                                            const void *args, size_t args_bytes, int64_t units,
                                            kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = units, .block = 1};
    return kiln__launch(kiln__context_device(s->ctx), (void *)(uintptr_t)entry, &config, args,
                        args_bytes, s->stream, err);
}

/* Sort the columns of `count` lines, a power of two, of 64 bytes: integers of 32 or 64 bits.
 * (network.c) */
typedef void (*kiln__network)(void *lines, int count);
enum { KILN__NETWORK_BYTES = 64 }; /* of a line */
kiln__network kiln__network_of(int bits);

/* Signed integers of 32 or 64 bits, by vectors of the processor. (quick.c) */
enum { KILN__QUICK_PARTS = 64, KILN__QUICK_BETWEEN = 4 };
typedef struct kiln__quick {
    /* Sort in place. */
    void (*sort)(void *numbers, int64_t count);
    /* Sort only so far that numbers `from` to `to` - 1 are those that sort() puts there, with no
     * greater one before them and no lesser one behind. */
    void (*settle)(void *numbers, int64_t count, int64_t from, int64_t to);
    /* Numbers that are not greater than `border` come first: how many they are. */
    int64_t (*cut)(void *numbers, int64_t count, int64_t border);
    /* The part of each number: how many of KILN__QUICK_PARTS - 1 borders it is greater than.
     * `borders` is a binary search tree, whose root is number 1: number k lies between those of the
     * subtrees 2 * k and 2 * k + 1. */
    void (*classify)(const void *numbers, int64_t count, const void *borders, uint8_t *parts);
    /* Add to KILN__QUICK_BETWEEN counts how many numbers are less than `low`, equal to it, between
     * it and `high`, and equal to `high`, if that is greater. Those between go to `to`; up to a
     * vector is stored behind them. */
    void (*between)(const void *numbers, int64_t count, int64_t low, int64_t high, void *to,
                    int64_t *counts);
    /* Words as wide as the numbers: those whose number is at most `border` go to `left`, the others
     * to `right`, both in their order; up to a vector is stored behind them. Returns how many went
     * to the left. */
    int64_t (*part)(const void *numbers, const void *words, int64_t count, int64_t border,
                    void *left, void *right);
} kiln__quick;
/* For processors of that target; false: it has none. */
bool kiln__quick_of(const char *target, int bits, kiln__quick *out);

/* Sort double in place, none of which is NaN; of zeros it may change signs. NULL: that target has
 * none. (quick.c) */
typedef void (*kiln__quick_sort)(void *numbers, int64_t count);
kiln__quick_sort kiln__quick_reals_of(const char *target);

/*
 * Loops that turn real elements into numbers in the same order, and back: of 64 bits for elements
 * of 8 bytes, else of 32. -0 has the number of +0, and NaN the greatest one. `flip` is 0, or -1
 * where elements descend. (numbers.c)
 */
typedef struct kiln__numbers {
    /* Returns whether an element is -0 or NaN. */
    bool (*read)(const void *elements, int64_t count, int64_t flip, uint64_t infinity,
                 void *numbers);
    void (*write)(const void *numbers, int64_t count, int64_t flip, void *elements);
    /* The same of elements of float64 and numbers of double: infinity in place of NaN, the other
     * sign where elements descend. */
    bool (*read_reals)(const void *elements, int64_t count, int64_t flip, void *numbers);
    void (*write_reals)(const void *numbers, int64_t count, int64_t flip, void *elements);
    /* How many numbers are from `low` to `high`; of 32 bits at most 2^31 - 1. */
    int64_t (*within)(const void *numbers, int64_t count, int64_t low, int64_t high);
    /* Pairs: integers of 64 bits that hold a number of 32 bits and its position, from `first` on.
     * split() gives the numbers again, order() the positions. */
    void (*join)(const void *numbers, int64_t count, int64_t first, void *pairs);
    void (*split)(const void *pairs, int64_t count, void *numbers);
    void (*order)(const void *pairs, int64_t count, bool wide, void *order);
    /* The least and the greatest number of 64 bits; and pairs of 32 bits of these numbers, from bit
     * `shift` on of what is above `low`. */
    void (*bounds)(const int64_t *numbers, int64_t count, int64_t *low, int64_t *high);
    void (*join_upper)(const int64_t *numbers, int64_t count, int64_t low, int shift,
                       int64_t *pairs);
} kiln__numbers;
/* For processors of that target; false: there are none for it or for the dtype. */
bool kiln__numbers_of(const char *target, kiln_dtype dtype, kiln__numbers *out);

/* Macros of a kernel of templates/sorting/, as options of the compiler. (sort_cuda.c) */
enum { KILN__SORT_MACROS = 12, KILN__SORT_MACRO_BYTES = 48 };
typedef struct kiln__sort_macros {
    char text[KILN__SORT_MACROS][KILN__SORT_MACRO_BYTES];
    const char *list[KILN__SORT_MACROS];
    size_t count;
} kiln__sort_macros;
/* Those that templates/sorting/keys.cu needs, the first ones. */
void kiln__sort_define_keys(kiln__sort_macros *m, const kiln__sort *s);
KILN_PRINTF(2, 3) void kiln__sort_define(kiln__sort_macros *m, const char *fmt, ...);
/* The kernel `entry` of a template, compiled with these macros; the context keeps it. */
kiln_status kiln__sort_kernel(const kiln__sort *s, const char *file, const char *entry,
                              const kiln__sort_macros *m, void **out, kiln_error *err);

/* The first `keep` elements of sorted rows, found without sorting the rows; kiln__first_suits()
 * tells whether that is faster. `x` holds the rows. The elements go to `values`, their positions to
 * `order` (int64) unless it is NULL; both have no gaps. (first.c) */
bool kiln__first_suits(const kiln__sort *s, int64_t keep);
kiln_status kiln__first_of_long_rows(const kiln__sort *s, const kiln_array *x, int64_t keep,
                                     const kiln_array *values, const kiln_array *order,
                                     kiln_error *err);

/* Elements `from` to `from + count` - 1 of each sorted row, found without sorting the rows;
 * kiln__choose_suits() tells whether that is faster. They go to `sorted`, their positions to
 * `order`: rows of `count` without gaps. With `last` each row of the result has one element more: a
 * NaN if the row has any. (choose.c) */
bool kiln__choose_suits(const kiln__sort *s, int64_t count);
kiln_status kiln__choose_rows(const kiln__sort *s, int64_t from, int64_t count, bool last,
                              kiln_error *err);
bool kiln__choose_suits_cpu(const kiln__sort *s, int64_t count); /* (choose_cpu.c) */
kiln_status kiln__choose_rows_cpu(const kiln__sort *s, int64_t from, int64_t count, bool last,
                                  kiln_error *err);

/* Partitions of rows, without sorting them, into `sorted`, `order` or both; the first function
 * tells whether that is faster. Position `kth` receives the element of the sorted row. Before it
 * stand the elements that are before it there, behind it the others, both in the order of the row.
 * (partition_cpu.c) */
bool kiln__partition_suits_cpu(const kiln__sort *s);
kiln_status kiln__partition_rows_cpu(const kiln__sort *s, int64_t kth, kiln_error *err);

/* Temporary memory of kernels: a new vector of `count` elements of the context's pool, not initialised and ready for
 * work on the stream. The caller releases it, which may be before that work is done. */
static inline kiln_status kiln__sort_memory(kiln_context *ctx, kiln_stream *stream,
                                            kiln_dtype dtype, int64_t count, kiln_array **out,
                                            kiln_error *err)
{
    return kiln__array_new(ctx, dtype, 1, &count, NULL, stream, out, err);
}

/*
 * Sort a C-order vector of integers, stably, so that equal keys stand beside each other: new arrays
 * of the sorted keys and of their order (int32 or int64). Either `out` may be NULL. `bound` > 0:
 * all keys are at least 0 and less than that, which saves passes. (sort.c; also for scatter_run.c)
 */
kiln_status kiln__sort_keys(const kiln_array *keys, int64_t bound, kiln_dtype order_dtype,
                            kiln_stream *stream, kiln_array **sorted_out, kiln_array **order_out,
                            kiln_error *err);

/* The unsigned dtype of as many bits for a signed integer; else `dtype` itself. (sort.c) */
kiln_dtype kiln__dtype_without_sign(kiln_dtype dtype);

/* The elements of a vector in an order: a new array, made on `stream`. (sort.c) */
kiln_status kiln__sort_take(const kiln_array *x, const kiln_array *order, kiln_stream *stream,
                            kiln_array **out, kiln_error *err);

/* The stable order (int64, a new vector) of the rows of a matrix without gaps: by their first
 * elements, then by the second ones, and so on. (rule.c; for unique_rows.c) */
kiln_status kiln__sort_matrix(const kiln_array *rows, kiln_stream *stream, kiln_array **order,
                              kiln_error *err);

/* kiln_array_sort_by(). With `of_elements`, `in` is "T x", and `a` and `b` are elements of x in
 * `less`, not structs. (rule.c) */
kiln_status kiln__sort_by(const char *in, bool of_elements, const kiln_array *const *arrays,
                          size_t count, const kiln_sort_rule *rule, const kiln_sort_options *opts,
                          kiln_array **sorted_out, kiln_array **order_out, kiln_error *err);

/* NumPy's lexsort along an axis, into `out`: keys of one shape or, stacked, one array that holds them along its first
 * axis. kiln__lexsort_infer() checks them and gives the shape. (sort.c) */
typedef struct kiln__lexsort_data {
    int64_t axis, stacked;
} kiln__lexsort_data;
kiln_status kiln__lexsort_infer(const kiln_array *const *keys, size_t count,
                                const kiln__lexsort_data *data, int *rank, int64_t *shape,
                                kiln_error *err);
kiln_status kiln__lexsort_into(const kiln_array *const *keys, size_t count,
                               const kiln__lexsort_data *data, kiln_stream *stream, kiln_array *out,
                               kiln_error *err);

/* sort(), or argsort() with `order`, of an array that was checked. If `kth` is not KILN__SORT_ALL:
 * the partition at this position, which the rows have. (sort.c) */
#define KILN__SORT_ALL INT64_MIN
kiln_status kiln__sort_array(const char *what, bool order, int64_t kth, const kiln_array *x,
                             const kiln_sort_options *opts, kiln_array **out, kiln_error *err);

/* The options of a call, complete; `given` may be NULL. (sort.c) */
kiln_status kiln__sort_options_read(kiln_sort_options *o, const kiln_sort_options *given,
                                    kiln_error *err);

/* The dtype of quantiles by that method of an array of `dtype`. (select.c) */
kiln_dtype kiln__quantile_dtype(kiln_dtype dtype, kiln_quantile_method method);

/* Whether these can be searched; the dtype that both become. ERR_SHAPE, ERR_DTYPE. (search.c) */
kiln_status kiln__searchsorted_check(kiln_dtype sorted, int rank, kiln_dtype values,
                                     kiln_dtype *common_out, kiln_error *err);

/* How often each of 0 to `bins` - 1 occurs in a vector of int64, others not counted: a new vector.
 * (bins.c) */
kiln_status kiln__count_bins(const kiln_array *numbers, int64_t bins, kiln_stream *stream,
                             kiln_array **out, kiln_error *err);
/* How many elements of a vector without gaps fall into each bin: between neighbouring `edges`
 * (float64), or, where these are NULL, elements that are the bin's number. With edges the call
 * waits and sets *wrong, whether they do not increase; then the counts mean nothing.
 * (bins_cuda.c) */
kiln_status kiln__bins_cuda(const kiln_array *x, const double *edges, const kiln_array *counts,
                            kiln_stream *stream, bool *wrong, kiln_error *err);
/* ERR_SHAPE, ERR_DTYPE, or ERR_ARGUMENT for edges that do not increase; waits for them. (bins.c) */
kiln_status kiln__check_edges(const char *what, const kiln_array *edges, kiln_error *err);

/* histogram(), histogram2d() and their kind: `operands` are as many arrays of coordinates as there
 * are axes, then the edges along each. Nothing waits for the edges, and none are checked. The
 * result is int64. (histogramdd.c) */
enum { KILN__HISTOGRAM_AXES = 8 };
kiln_status kiln__histogramdd_infer(const kiln_array *const *operands, size_t axes, int64_t *shape,
                                    kiln_error *err);
kiln_status kiln__histogramdd_run(const kiln_array *const *operands, size_t axes,
                                  kiln_stream *stream, kiln_array **out, kiln_error *err);

/* What a search tells of the index at which a value would be inserted. */
typedef enum kiln__search_result {
    KILN__SEARCH_INDEX,
    KILN__SEARCH_FROM_END, /* how many elements are behind it */
    KILN__SEARCH_IS_IN     /* whether an equal element is there */
} kiln__search_result;
kiln_status kiln__search(const kiln_array *sorted, const kiln_array *values, bool right,
                         kiln__search_result result, kiln_stream *stream, kiln_array **out,
                         kiln_error *err);
/* Whether values without gaps of the sorted vector's dtype are looked up by loops of the library, into an array given as
 * `out` or into a new one, and that. (search_cpu.c) */
bool kiln__search_suits_cpu(const kiln_array *sorted, const kiln_array *values,
                            const kiln_array *out);
kiln_status kiln__search_cpu(const kiln_array *sorted, const kiln_array *values, bool right,
                             kiln__search_result result, kiln_stream *stream, const kiln_array *out,
                             kiln_error *err);

/* ---- operations of graphs (functions.c) ------------------------------------------------------ */

/* X(name, operands, results, numbers, first): NumPy's function, with numbers behind its operands,
 * of which 'd' is a double's bits and 'm' a kiln_quantile_method; `first`: the axis that is meant
 * where none is named. Those with an underscore are for functions that are written as expressions
 * (src/graph/written_rows.c): searchsorted from the right; which values are in a sorted vector. */
#define KILN__SORTING_FUNCTIONS(X)                                                                 \
    X(sort, 1, 1, "", -1)                                                                          \
    X(argsort, 1, 1, "", -1)                                                                       \
    X(sort_descending, 1, 1, "", -1)                                                               \
    X(argsort_descending, 1, 1, "", -1)                                                            \
    X(partition, 1, 1, "i", -1)                                                                    \
    X(argpartition, 1, 1, "i", -1)                                                                 \
    X(topk, 1, 2, "i", -1)                                                                         \
    X(topk_smallest, 1, 2, "i", -1)                                                                \
    X(median, 1, 1, "", KILN__SORT_ALL)                                                            \
    X(quantile, 1, 1, "dm", KILN__SORT_ALL)                                                        \
    X(percentile, 1, 1, "dm", KILN__SORT_ALL)                                                      \
    X(searchsorted, 2, 1, "", 0)                                                                   \
    X(_search_right, 2, 1, "", 0)                                                                  \
    X(_bin, 2, 1, "", 0)                                                                           \
    X(_bin_right, 2, 1, "", 0)                                                                     \
    X(_is_among, 2, 1, "", 0)

typedef enum kiln__sorting_function {
#define KILN__SORTING_VALUE(name, operands, results, numbers, first) KILN__SORTING_##name,
    KILN__SORTING_FUNCTIONS(KILN__SORTING_VALUE)
#undef KILN__SORTING_VALUE
        KILN__SORTING_COUNT
} kiln__sorting_function;

typedef struct kiln__sorting_value {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
} kiln__sorting_value;

/* The results (room for two) of a function; of the operands only dtypes and shapes are read.
 * `data`: the axis, then the numbers. ERR_AXIS, ERR_SHAPE, ERR_ARGUMENT, ERR_DTYPE. */
kiln_status kiln__sorting_infer(kiln__sorting_function function, const kiln_array *const *operands,
                                const int64_t *data, kiln__sorting_value *results, kiln_error *err);
kiln_status kiln__sorting_run(kiln__sorting_function function, const kiln_array *const *operands,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err);

/* ---- arrays as rows (rows.c) ----------------------------------------------------------------- */

/* An array whose rows run along its last axis, without gaps: `x` itself or a copy. */
typedef struct kiln__rows {
    kiln_context *ctx;
    kiln_stream *stream;
    int axis, rank;
    int64_t rows, length;
    int64_t shape[KILN_RANK_MAX]; /* with the axis last */
    kiln_array *x;                /* counted */
} kiln__rows;

/* `axes` NULL: all elements are one row. `what` begins messages. ERR_AXIS. */
kiln_status kiln__rows_begin(kiln__rows *r, const char *what, const kiln_array *x,
                             const kiln_axes *axes, kiln_stream *stream, kiln_error *err);
void kiln__rows_end(kiln__rows *r);
/* Room for results: rows of `length` elements. */
kiln_status kiln__rows_new(const kiln__rows *r, kiln_dtype dtype, int64_t length, kiln_array **out,
                           kiln_error *err);
/* Put rows back along the axis and hand them out: a new array where *out is NULL, else into that
 * one. `*made` is NULL afterwards where it was handed out itself. */
kiln_status kiln__rows_deliver(const kiln__rows *r, kiln_array **made, kiln_array **out,
                               kiln_error *err);
/* What an array given as *out must be: ERR_OUTPUT, ERR_DTYPE, ERR_SHAPE before anything is done. */
kiln_status kiln__rows_check_out(const kiln__rows *r, const char *what, kiln_dtype dtype,
                                 int64_t length, const kiln_array *out, kiln_error *err);
kiln_status kiln__sort_check_out(const char *what, const kiln_context *ctx, kiln_dtype dtype,
                                 int rank, const int64_t *shape, const kiln_array *out,
                                 kiln_error *err);

/* Remember that `stream` uses an array. Accepts NULL. */
static inline void kiln__sort_used(const kiln_array *x, kiln_stream *stream)
{
    if (x != NULL && x->storage->home != stream)
        kiln__storage_used_on(x->storage, stream);
}

#endif
