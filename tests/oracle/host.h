/*
 * host.h - arrays as tests see them: a piece of memory, a geometry, and plain C loops.
 *
 * A host_array holds a copy of the whole storage of a device array, guard bytes included, and
 * describes a view of it with any strides. The view that kiln works on is made over the same
 * geometry; afterwards the whole storage is compared byte by byte, so that a kernel which writes
 * beside its elements is found too.
 *
 *     host_make > (host_send) > kiln runs on a->array > host_apply on the copy > host_compare
 *
 * Nothing here asks kiln for a value: conversions, broadcasting and rounding are written out
 * anew. Values travel as long double, which holds every int64, uint64 and float64 exactly on the
 * machines that run these tests.
 */
#ifndef KILN_TEST_HOST_H
#define KILN_TEST_HOST_H

#include "test_env.h"

/* Axes a layout can describe; arrays with more are made by hand (host_make_strided). */
#define HOST_AXES 8

/* A step of 0 bytes: every index on the axis names the same element. */
#define HOST_BROADCAST INT8_MIN

/* Where the elements of a view lie. All zero: C-order without gaps, at the storage's start. */
typedef struct host_layout {
    int8_t order[HOST_AXES]; /* axes from slowest to fastest, each + 1; all 0: as numbered */
    int8_t step[HOST_AXES];  /* elements skipped an index: 0 means 1, 2 every second, -1 reversed */
    int32_t offset;          /* elements between the storage's start and the view's */
} host_layout;

typedef struct host_array {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
    int64_t stride[KILN_RANK_MAX]; /* bytes */
    int64_t start;                 /* bytes from the storage's start to the first element */
    size_t bytes;                  /* of the storage */
    unsigned char *store;          /* the host's copy of the storage; a view has its base's */
    unsigned char *owned;          /* what host_free frees */
    kiln_array *storage;           /* uint8 array of `bytes` elements on the device */
    kiln_array *array;             /* the view, as kiln sees it */
} host_array;

typedef struct host_value {
    long double re, im;
} host_value;

/* out[0..] from in[0..]: what a snippet means, written in C. Outputs hold their old values. */
typedef void (*host_function)(const host_value *in, host_value *out);

/* ---- values ---- */
host_value host_load(kiln_dtype dtype, const void *element);
void host_store(kiln_dtype dtype, void *element, host_value value); /* rounds to nearest even */
host_value host_real(long double v);
/* `v` as the dtype would hold it. */
host_value host_round(kiln_dtype dtype, host_value v);
/* How many representable values lie between two elements; 0 when equal or both NaN. */
uint64_t host_ulps(kiln_dtype dtype, const void *a, const void *b);

/* ---- arrays ---- */

/* A view of `shape` laid out as `layout` says (NULL: C-order) and filled with host_fill_small. */
void host_make(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
               const host_layout *layout);
/* As host_make with byte strides and the first element's place given. */
void host_make_strided(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
                       const int64_t *strides, int64_t start, size_t bytes);
/* A C-order array of the given elements (as they lie in memory). */
void host_from(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
               const void *elements);
/* A second view of `base`'s storage: shares memory on both sides. Free it before `base`. */
void host_view(test_env *t, host_array *a, const host_array *base, int rank, const int64_t *shape,
               const int64_t *strides, int64_t start);
void host_free(host_array *a);

int64_t host_size(const host_array *a);
/* Address in `store` of the element at a C-order position. */
void *host_at(const host_array *a, int64_t position);
/* The part of the index `at` that lies on the axes of a set (bit a stands for axis a), from a
 * C-order position over those axes alone. */
void host_index(int rank, const int64_t *shape, unsigned axes, int64_t position, int64_t *at);
/* A set of axes as kiln takes them. */
kiln_axes host_axes(unsigned axes);
/* Address of the element that the index `at` of a loop of `rank` axes broadcasts to. */
void *host_broadcast_at(const host_array *a, int rank, const int64_t *at);

/* Small integers that depend on `salt`: x*y+1 is exact in every dtype, int8 included. */
void host_fill_small(host_array *a, unsigned salt);
/* Random values: full range for integers, [-4, 4] for floating point. */
void host_fill_random(test_env *t, host_array *a);
/* Copy `store` to the device. */
void host_send(test_env *t, host_array *a);

/* ---- oracle ---- */

/* Run `function` over a loop of `shape`, with the arrays broadcast: first inputs, then outputs.
 * All inputs are read before any output is written, as kiln promises when they overlap. */
void host_apply(host_array *const *arrays, size_t input_count, size_t output_count, int rank,
                const int64_t *shape, host_function function);

/* Fetch the device's storage and compare it with `store`: elements within `ulps`, everything
 * else exactly. `what` names the case in a failure. */
void host_compare(test_env *t, const host_array *a, uint64_t ulps, const char *what);

/* Compare an array that kiln allocated with the elements of `want` (same shape), any strides. */
void host_compare_elements(test_env *t, const kiln_array *got, const host_array *want,
                           uint64_t ulps, const char *what);

#endif
