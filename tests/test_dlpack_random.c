/*
 * test_dlpack_random.c - DLPack tensors of random facts, some of them impossible: extents and strides whose
 * products wrap, offsets beyond every address, ranks, types and pointers that are none.
 *
 * Whether a tensor is sound is worked out here in 128 bits.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "test_env.h"

static atomic_int deleted; /* calls of the deleters below */

static void count_versioned(DLManagedTensorVersioned *self)
{
    (void)self;
    deleted++;
}

static void count_plain(DLManagedTensor *self)
{
    (void)self;
    deleted++;
}

/* A tensor of random facts, some of which may be impossible, and what is to become of it. */
typedef struct wild {
    int64_t shape[KILN_RANK_MAX + 2], strides[KILN_RANK_MAX + 2];
    DLTensor tensor;
    kiln_dtype dtype;
    bool inside; /* the elements, not too many, are in the test's own memory */
} wild;

static int64_t wild_number(test_env *t, bool plain)
{
    static const int64_t odd[] = {-1,
                                  -5,
                                  INT32_MAX,
                                  (int64_t)1 << 32,
                                  (int64_t)1 << 58,
                                  ((int64_t)1 << 61) - 1,
                                  (int64_t)1 << 62,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_MIN / 4};

    return plain ? (int64_t)test_random_below(t, 4) : odd[test_random_below(t, COUNT(odd))];
}

static void wild_make(test_env *t, wild *w, unsigned char *memory, size_t bytes)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_COMPLEX128};
    static const DLDataType types[] = {{0, 8, 1}, {2, 16, 1}, {2, 32, 1}, {5, 128, 1}};
    const size_t which = test_random_below(t, COUNT(dtypes));
    const int hostile = (int)test_random_below(t, 16); /* which fact may be */
    const int32_t ranks[] = {-1, INT32_MIN, INT32_MAX, KILN_RANK_MAX, KILN_RANK_MAX + 1};
    const uint64_t places[] = {0, 8, UINT64_MAX - 31, UINT64_MAX / 2 + 1};
    DLTensor *const d = &w->tensor;

    w->dtype = dtypes[which];
    for (int axis = 0; axis < KILN_RANK_MAX + 2; axis++) {
        w->shape[axis] = wild_number(t, hostile != 1 || test_random_below(t, 2) == 0);
        w->strides[axis] = wild_number(t, hostile != 2 || test_random_below(t, 2) == 0) *
                           (test_random_below(t, 2) == 0 && hostile != 2 ? -1 : 1);
    }
    *d = (DLTensor){.data = memory,
                    .device = {kDLCPU, 0},
                    .ndim = hostile == 3 ? ranks[test_random_below(t, COUNT(ranks))]
                                         : (int32_t)test_random_below(t, 4),
                    .dtype = types[which],
                    .shape = hostile == 4 ? NULL : w->shape,
                    .strides = test_random_below(t, 4) == 0 ? NULL : w->strides,
                    .byte_offset = bytes / 2};
    if (hostile == 5)
        d->dtype.lanes = (uint16_t)(test_random_below(t, 3) * 65535 / 2);
    if (hostile == 6)
        d->dtype.bits = (uint8_t)test_random(t);
    if (hostile == 7)
        d->dtype.code = (uint8_t)test_random(t);
    if (hostile == 8)
        d->byte_offset = (uint64_t)wild_number(t, false) + 8 * test_random_below(t, 3);
    if (hostile == 9)
        d->data = (void *)(uintptr_t)places[test_random_below(t, COUNT(places))];
    if (hostile == 10)
        d->byte_offset = test_random_below(t, 40);
}

/* Whether the tensor may become an array, by arithmetic that cannot overflow. */
static bool wild_is_sound(wild *w, const unsigned char *memory, size_t bytes)
{
    const DLTensor *const d = &w->tensor;
    const kiln__int128 item = (kiln__int128)kiln_dtype_size(w->dtype), top = (kiln__int128)1 << 64;
    kiln__int128 total = item, first = (kiln__int128)(uintptr_t)d->data + d->byte_offset;
    kiln__int128 low = first, end = first + item;
    kiln_dtype named = KILN_DTYPE_NONE;
    bool empty = false, aligned = first % item == 0;

    if (kiln_dtype_from_dlpack(d->dtype, &named, NULL) != KILN_OK || d->ndim < 0 ||
        d->ndim > KILN_RANK_MAX || (d->ndim > 0 && d->shape == NULL))
        return false;
    if (named != w->dtype) /* Other bits or another code make another dtype, which is not judged. */
        return false;
    for (int axis = d->ndim - 1; axis >= 0; axis--) {
        const kiln__int128 step = d->strides != NULL ? d->strides[axis] * item : total;
        const kiln__int128 extent = d->shape[axis];
        if (extent < 0 || step < INT64_MIN || step > INT64_MAX)
            return false;
        empty = empty || extent == 0;
        *(step < 0 ? &low : &end) += extent > 1 ? step * (extent - 1) : 0;
        total *= extent > 0 ? extent : 1;
        if (total > INT64_MAX / 2)
            return false;
    }
    w->inside = !empty && total <= (kiln__int128)bytes * item && low >= (uintptr_t)memory &&
                end <= (uintptr_t)memory + bytes;
    return (empty && (d->data == NULL || first < top)) ||
           (d->data != NULL && aligned && low >= 0 && end < top && end - low <= INT64_MAX);
}

/* Compare the array with the tensor's elements, read one by one. */
static void wild_check(test_env *t, const wild *w, const kiln_array *x)
{
    const size_t item = kiln_dtype_size(w->dtype), bytes = (size_t)kiln_array_size(x) * item;
    unsigned char *const got = malloc(bytes + 1);
    int64_t at[KILN_RANK_MAX] = {0}, n = 0;

    assert_non_null(got);
    OK(t, kiln_array_to_host(x, got, bytes, NULL, &t->err));
    for (int axis = 0; n < kiln_array_size(x); n++) {
        const unsigned char *from = (unsigned char *)w->tensor.data + w->tensor.byte_offset;
        for (int64_t k = w->tensor.ndim - 1, step = 1; k >= 0; step *= w->shape[k--])
            from += (w->tensor.strides != NULL ? w->strides[k] : step) * at[k] * (int64_t)item;
        assert_memory_equal(got + (size_t)n * item, from, item);
        for (axis = w->tensor.ndim - 1; axis >= 0 && ++at[axis] == w->shape[axis]; axis--)
            at[axis] = 0;
    }
    free(got);
}

static void *release_array(void *array)
{
    kiln_array_release(array);
    return NULL;
}

/* Tensors of random facts are taken where they are sound, refused where not, and deleted once: by a
 * thread of their own too, when the context is gone. */
static void test_dlpack_random__tensors_are_taken_or_refused(void **state)
{
    test_env *t = *state;
    _Alignas(16) unsigned char memory[4096];
    int taken = 0, read = 0;

    if (t->cuda)
        return; /* where addresses that are no memory are the driver's to refuse */
    for (size_t k = 0; k < sizeof memory; k++)
        memory[k] = (unsigned char)(k % 251);
    for (int round = 0; round < 20000; round++) {
        const bool old = round % 3 == 0, late = round % 64 == 1;
        kiln_context *const ctx =
            late ? test_env_context(t, t->cache_dir) : kiln_context_retain(t->ctx);
        kiln_array *x = NULL;
        pthread_t thread;
        wild w;
        wild_make(t, &w, memory, sizeof memory);
        DLManagedTensor plain = {w.tensor, NULL, count_plain};
        DLManagedTensorVersioned versioned = {{1, 3}, NULL, count_versioned, 0, w.tensor};
        deleted = 0;
        const kiln_status status =
            old ? kiln_array_from_dlpack_unversioned(ctx, &plain, NULL, &x, &t->err)
                : kiln_array_from_dlpack(ctx, &versioned, NULL, &x, &t->err);
        kiln_context_release(ctx);
        const bool sound = wild_is_sound(&w, memory, sizeof memory);
        kiln_dtype named = KILN_DTYPE_NONE;
        if (kiln_dtype_from_dlpack(w.tensor.dtype, &named, NULL) != KILN_OK || named == w.dtype)
            CHECK(sound == (status == KILN_OK), "round %d: %s", round, t->err.message);
        assert_int_equal(deleted, status == KILN_OK ? 0 : 1);
        kiln_error_clear(&t->err);
        taken += sound;
        read += sound && w.inside;
        if (sound && w.inside)
            wild_check(t, &w, x);
        if (late && pthread_create(&thread, NULL, release_array, x) == 0)
            assert_int_equal(pthread_join(thread, NULL), 0);
        else
            kiln_array_release(x);
        assert_int_equal(deleted, 1);
    }
    assert_true(taken > 5000 && read > 2000); /* Most are not refused. */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_dlpack_random__tensors_are_taken_or_refused),
    };

    return test_env_main(argc, argv, "test_dlpack_random", tests, COUNT(tests));
}
