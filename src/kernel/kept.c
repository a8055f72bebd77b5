/*
 * kept.c - kernels of kiln's own that a context keeps: array functions, named reductions, scans.
 *
 *     (maker, key) > table of the context > kernel, made when first needed
 *
 * reduce_ops.c, run.c and the folders graph, indexing, linalg and sorting call this file. A kernel
 * is found without a lock. Entries are only added, each at the head of its bucket's list, and live
 * as long as the context.
 *
 * Test: test_kept.
 */
#include "kernel/kernel.h"

enum { BUCKETS = 256 };

typedef struct entry {
    struct entry *next;
    kiln__kept_fn make;
    uint64_t key;
    kiln__kernel *op;
} entry;

typedef struct kept {
    pthread_mutex_t lock; /* of additions */
    _Atomic(entry *) bucket[BUCKETS];
} kept;

static void *kept_make(kiln_context *ctx)
{
    (void)ctx;
    kept *k = kiln__calloc(1, sizeof *k);
    if (k != NULL)
        pthread_mutex_init(&k->lock, NULL);
    return k;
}

static void kept_destroy(void *state)
{
    kept *k = state;
    for (size_t b = 0; b < BUCKETS; b++) {
        for (entry *e = atomic_load(&k->bucket[b]), *next; e != NULL; e = next) {
            next = e->next;
            kiln__kernel_destroy(e->op);
            kiln__free(e);
        }
    }
    pthread_mutex_destroy(&k->lock);
    kiln__free(k);
}

static kiln__kernel *find(_Atomic(entry *) *bucket, kiln__kept_fn make, uint64_t key)
{
    const entry *e = atomic_load_explicit(bucket, memory_order_acquire);
    while (e != NULL && (e->key != key || e->make != make))
        e = e->next;
    return e != NULL ? e->op : NULL;
}

kiln_status kiln__kept_kernel(kiln_context *ctx, kiln__kept_fn make, const void *wanted,
                              uint64_t key, kiln__kernel **out, kiln_error *err)
{
    void *state = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(
        kiln__context_attachment(ctx, KILN__ATTACH_KERNEL, kept_make, kept_destroy, &state, err));
    kept *k = state;
    _Atomic(entry *) *bucket = &k->bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> 56];
    *out = find(bucket, make, key);
    if (*out != NULL)
        return KILN_OK;
    pthread_mutex_lock(&k->lock);
    *out = find(bucket, make, key);
    if (*out == NULL) {
        entry *e = kiln__alloc(sizeof *e);
        status = e != NULL ? make(ctx, wanted, out, err) : kiln__fail_memory(err, sizeof *e);
        if (status == KILN_OK) {
            *e = (entry){atomic_load(bucket), make, key, *out};
            atomic_store_explicit(bucket, e, memory_order_release);
        } else {
            kiln__free(e);
        }
    }
    pthread_mutex_unlock(&k->lock);
    return status;
}

static kiln_status define_texts(kiln_context *ctx, const void *wanted, kiln__kernel **out,
                                kiln_error *err)
{
    const kiln__kept_texts *texts = wanted;
    return kiln__kernel_new(ctx, false, texts->calls, &texts->request, out, err);
}

kiln_status kiln__kept_by_texts(kiln_context *ctx, const kiln__kept_texts *texts,
                                kiln__kernel **out, kiln_error *err)
{
    return kiln__kept_kernel(ctx, define_texts, texts, (uint64_t)(uintptr_t)texts, out, err);
}

/* ---- array functions ---- */

static const struct {
    const char *name, *in, *out, *op;
} builtins[KILN__BUILTIN_COUNT] = {
    [KILN__BUILTIN_FILL] = {"kiln_fill", "T value", "T y", "y = value"},
    [KILN__BUILTIN_ARANGE] = {"kiln_arange", "float64 start, float64 step", "T y",
                        "y = T(start + (double)i * step)"},
    [KILN__BUILTIN_LINSPACE] = {"kiln_linspace", "float64 start, float64 step, float64 stop", "T y",
                          "y = T(i + 1 < n ? start + (double)i * step : n > 1 ? stop : start)"},
    [KILN__BUILTIN_CAST] = {"kiln_cast", "S x", "T y", "y = T(x)"},
    [KILN__BUILTIN_CAST_BOOL] = {"kiln_cast_bool", "S x", "T y", "y = x != S(0)"},
    [KILN__BUILTIN_CAST_COMPLEX_BOOL] = {"kiln_cast_complex_bool", "S x", "T y",
                                   "y = x.real() != 0 || x.imag() != 0"},
    [KILN__BUILTIN_CAST_REAL] = {"kiln_cast_real", "S x", "T y", "y = T(x.real())"},
};

static kiln_status define(kiln_context *ctx, const void *wanted, kiln__kernel **out,
                          kiln_error *err)
{
    const kiln__builtin which = *(const kiln__builtin *)wanted;
    const kiln__definition_request request = {
        .name = builtins[which].name,
        .in = builtins[which].in,
        .out = builtins[which].out,
        .snippet = {[KILN__SNIPPET_OP] = builtins[which].op},
    };
    return kiln__kernel_new(ctx, false, &kiln__loop_calls, &request, out, err);
}

kiln_status kiln__builtin_get(kiln_context *ctx, kiln__builtin which, kiln__kernel **out,
                              kiln_error *err)
{
    return kiln__kept_kernel(ctx, define, &which, (uint64_t)which, out, err);
}
