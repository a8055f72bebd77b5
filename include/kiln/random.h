/**
 * @file kiln/random.h
 * @brief Counter-based random numbers (Philox): a function of seed and position, the same on every
 * device.
 *
 *     kiln_random rng;
 *     kiln_array *x = NULL;
 *     const int64_t shape[] = {1000, 3};
 *     kiln_random_init(&rng, 42, 0);
 *     kiln_random_array(&rng, ctx, KILN_DRAW_STANDARD_NORMAL, NULL, 0, KILN_FLOAT32, 2, shape, &x,
 *                       &err);
 *     kiln_array_release(x);
 *
 * The value of an element is computed by Philox 4x32-10 from four numbers: seed, stream, the number
 * of the draw, and the element's index in C-order. It depends on nothing else: neither on the
 * device or its grid, nor on how an array is split among threads, GPUs or processes. Integers,
 * bools, uniform floats and permutations are equal bit for bit on all devices. Normal, exponential
 * and gamma numbers differ as far as the devices' logarithms and cosines do, Poisson and binomial
 * numbers in rare cases (docs/random.md).
 *
 * Graphs (kiln_random_node()) and expressions have draws as sources: `x * (uniform(key, x.shape) <
 * 0.9)` is one kernel, which stores no random number.
 *
 * Threads: a generator is a plain struct of the caller's; two threads must not use one at once.
 *          Give each a generator of its own by kiln_random_split().
 * Owner:   nothing is allocated. Copying the struct saves the state; copying it back restores it.
 */
#ifndef KILN_RANDOM_H
#define KILN_RANDOM_H

#include "kiln/arg.h"
#include "kiln/elementwise.h"
#include "kiln/node.h"

/** A generator: a position in the sequence of draws of one seed and stream. This is its whole
 *  state. */
typedef struct kiln_random {
    uint64_t seed;   /**< What the caller chose. */
    uint64_t stream; /**< Generators of one seed with different streams are independent. */
    uint64_t draw;   /**< The number of the next draw. Each function below that draws increases it
                          by 1. */
} kiln_random;

/** Distributions, with the names of NumPy's Generator: X(NAME, value, "name"). `a` and `b` are the
 *  parameters, each an array or a number. Values are pinned and never reused. */
#define KILN_DRAW_MAP(X)                                                                           \
    X(BITS, 1, "random_bits")           /* integers: every bit 0 or 1 */                           \
    X(RANDOM, 2, "random")              /* floats: 0 <= r < 1 */                                   \
    X(UNIFORM, 3, "uniform")            /* floats: a <= r < b */                                   \
    X(STANDARD_NORMAL, 4, "standard_normal")                                                       \
    X(NORMAL, 5, "normal")              /* mean a, standard deviation b */                         \
    X(STANDARD_EXPONENTIAL, 6, "standard_exponential")                                             \
    X(EXPONENTIAL, 7, "exponential")    /* mean a */                                               \
    X(INTEGERS, 8, "integers")          /* a <= r < b, without bias */                             \
    X(BERNOULLI, 9, "bernoulli")        /* bool: true with probability a */                        \
    X(STANDARD_GAMMA, 10, "standard_gamma") /* shape a */                                          \
    X(GAMMA, 11, "gamma")               /* shape a, scale b */                                     \
    X(POISSON, 12, "poisson")           /* mean a */                                               \
    X(BINOMIAL, 13, "binomial")         /* a trials of probability b */                            \
    X(PERMUTATION, 14, "permutation")   /* element i: the image of i in a permutation of 0 .. a-1 */

/** Tags of distributions. */
typedef enum kiln_draw {
#define KILN_DRAW_VALUE(NAME, value, text) KILN_DRAW_##NAME = value,
    KILN_DRAW_MAP(KILN_DRAW_VALUE)
#undef KILN_DRAW_VALUE
} kiln_draw;

KILN_EXTERN_C_BEGIN

/** "uniform"; "unknown" for a value that is no distribution. */
KILN_API const char *kiln_draw_name(kiln_draw draw);

/** Begin at draw 0 of a seed and a stream. All values are equally good seeds, 0 included. */
KILN_API void kiln_random_init(kiln_random *generator, uint64_t seed, uint64_t stream);

/** The Philox key of the generator's draws, for graphs, expressions and your own kernels. With
 *  stream 0 it is the seed. */
KILN_API uint64_t kiln_random_key(const kiln_random *generator);

/** Make `count` generators that are independent of this one and of each other. This generator
 *  advances by one draw, so that the next split gives other generators. */
KILN_API void kiln_random_split(kiln_random *generator, kiln_random *out, size_t count);

/** Skip `draws` draws. */
KILN_API void kiln_random_jump(kiln_random *generator, uint64_t draws);

/**
 * Draw a new C-order array: enqueue and return.
 *
 * @param generator   Advances by one draw when the call succeeds.
 * @param params      The distribution's parameters, numbers or arrays that broadcast to the shape.
 * @param dtype       The dtype of the result. KILN_DTYPE_NONE: float64, int64 or bool, as the
 *                    distribution has it; uint64 for random_bits.
 * @param out         NULL on failure.
 * @return ERR_NULL, ERR_ARGUMENT for a value that is no distribution, ERR_ARGUMENT_COUNT, ERR_DTYPE
 *         for a dtype that the distribution does not have, ERR_RANGE for a number that is outside
 *         the parameter's range. The elements of an array are not checked: where one is out of
 *         range, the result is NaN, -1, or the lower bound; and those of kiln_array_empty() and
 *         kiln_elementwise_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_random_array(kiln_random *generator, kiln_context *ctx,
                                                      kiln_draw draw, const kiln_arg *params,
                                                      size_t param_count, kiln_dtype dtype,
                                                      int rank, const int64_t *shape,
                                                      kiln_array **out, kiln_error *err);

/** kiln_random_array() into an existing array, which may have any strides. `opts` may be NULL;
 *  `has_size` must not be set. */
KILN_API KILN_NODISCARD kiln_status kiln_random_fill(kiln_random *generator, kiln_draw draw,
                                                     const kiln_arg *params, size_t param_count,
                                                     const kiln_elementwise_call_options *opts,
                                                     kiln_array *array, kiln_error *err);

/** A new array with the slices of `array` along its first axis in random order. ERR_SHAPE for an
 *  array of rank 0. */
KILN_API KILN_NODISCARD kiln_status kiln_random_shuffle(kiln_random *generator,
                                                        const kiln_array *array, kiln_array **out,
                                                        kiln_error *err);

/**
 * NumPy's choice: random int64 numbers from 0 to n - 1.
 *
 * @param p        The probability of each number: a vector of n floats, whose sum may differ from 1
 *                 by the square root of their epsilon. The call waits for them. NULL: all numbers
 *                 are equally likely, and the call does not wait.
 * @param replace  Whether a number may be drawn more than once. If not, each number is drawn from
 *                 those that are left, by their probabilities.
 * @param out      Of the given shape. NULL on failure.
 * @return ERR_RANGE for probabilities that are negative or do not sum to 1, for more than n numbers
 *         without `replace`, and for a negative n; ERR_SHAPE and ERR_DTYPE when `p` is not a vector
 *         of n floats. The generator advances by one draw when the call succeeds.
 */
KILN_API KILN_NODISCARD kiln_status kiln_random_choice(kiln_random *generator, kiln_context *ctx,
                                                       int64_t n, const kiln_array *p, bool replace,
                                                       int rank, const int64_t *shape,
                                                       kiln_array **out, kiln_error *err);

/**
 * NumPy's multivariate_normal: float64 vectors, by the Cholesky factor of their covariance.
 *
 * @param out  Has the given shape and, behind it, an axis for the elements of a vector. NULL on
 *             failure.
 * @return ERR_SHAPE when the mean is not a vector of n elements or the covariance not an n by n
 *         matrix; ERR_SINGULAR when it is not positive definite. The generator advances by one draw
 *         when the call succeeds.
 */
KILN_API KILN_NODISCARD kiln_status kiln_random_multivariate_normal(
    kiln_random *generator, const kiln_array *mean, const kiln_array *covariance, int rank,
    const int64_t *shape, kiln_array **out, kiln_error *err);

/**
 * A draw as a node of a graph. The numbers are computed where they are used and take no memory.
 *
 * Its values are those of kiln_random_array() for a generator with this key at this draw. Equal
 * keys and draws give equal values, so give each node a draw of its own.
 *
 * @param like   If not NULL, the result has the shape of this node, and `shape` is ignored.
 * @param key    A node or a number: an integer, which is converted to uint64.
 * @param draw   As the key.
 * @param dtype  As in kiln_random_array().
 */
KILN_API kiln_node kiln_random_node(kiln_graph *graph, kiln_draw distribution, kiln_node key,
                                    kiln_node draw, const kiln_node *params, size_t param_count,
                                    kiln_dtype dtype, const kiln_node *like, int rank,
                                    const int64_t *shape, const char *file, int line);

KILN_EXTERN_C_END

#endif
