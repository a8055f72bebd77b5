/*
 * host.c - arrays as tests see them; see host.h.
 *
 * Rule: no kiln function computes a value here. Only memory goes to the device and back.
 */
#include "oracle/host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/value.h"

/* What fills the storage between elements; a kernel that writes there is caught. */
#define GUARD_BYTE 0xa5

/* Elements left free before and after a view made by host_make: a whole number of 16-byte
 * vectors, so that the alignment of the view is that of its offset. */
#define GUARD_ELEMENTS 64

static size_t size_of(kiln_dtype dtype)
{
    static const unsigned char bytes[KILN_DTYPE_COUNT] = {0, 1, 1, 2, 4, 8, 1, 2,
                                                          4, 8, 2, 2, 4, 8, 8, 16};
    return bytes[dtype];
}

/* ---- geometry ---- */

int64_t host_size(const host_array *a)
{
    int64_t size = 1;

    for (int axis = 0; axis < a->rank; axis++)
        size *= a->shape[axis];
    return size;
}

void *host_at(const host_array *a, int64_t position)
{
    int64_t place = a->start;

    for (int axis = a->rank - 1; axis >= 0; axis--) {
        place += position % a->shape[axis] * a->stride[axis];
        position /= a->shape[axis];
    }
    return a->store + place;
}

void host_index(int rank, const int64_t *shape, unsigned axes, int64_t position, int64_t *at)
{
    for (int axis = rank - 1; axis >= 0; axis--)
        if (axes >> axis & 1u) {
            at[axis] = position % shape[axis];
            position /= shape[axis];
        }
}

kiln_axes host_axes(unsigned axes)
{
    kiln_axes list = {0};

    for (int axis = 0; axis < KILN_RANK_MAX; axis++)
        if (axes >> axis & 1u)
            list.axis[list.count++] = axis;
    return list;
}

void *host_broadcast_at(const host_array *a, int rank, const int64_t *at)
{
    int64_t place = a->start;

    for (int axis = 0; axis < a->rank; axis++)
        if (a->shape[axis] != 1)
            place += at[rank - a->rank + axis] * a->stride[axis];
    return a->store + place;
}

/* The view that kiln sees: `storage` with another geometry. */
static void make_view(test_env *t, host_array *a)
{
    unsigned char *base = kiln_array_data(a->storage);

    OK(t, kiln_array_wrap(t->ctx, a->dtype, a->rank, a->shape, a->stride, base + a->start, base,
                          a->bytes, NULL, NULL, &a->array, &t->err));
}

void host_make_strided(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
                       const int64_t *strides, int64_t start, size_t bytes)
{
    int64_t length = (int64_t)bytes;

    memset(a, 0, sizeof *a);
    a->dtype = dtype;
    a->rank = rank;
    a->start = start;
    a->bytes = bytes;
    for (int axis = 0; axis < rank; axis++) {
        a->shape[axis] = shape[axis];
        a->stride[axis] = strides[axis];
    }
    a->store = a->owned = malloc(bytes > 0 ? bytes : 1);
    if (a->store == NULL)
        fail_msg("no memory for %zu bytes", bytes);
    memset(a->store, GUARD_BYTE, bytes);
    OK(t, kiln_array_empty(t->ctx, KILN_UINT8, 1, &length, &a->storage, &t->err));
    make_view(t, a);
    host_fill_small(a, 0);
    host_send(t, a);
}

void host_make(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
               const host_layout *layout)
{
    static const host_layout c_order;
    const host_layout *l = layout != NULL ? layout : &c_order;
    int64_t itemsize = (int64_t)size_of(dtype);
    int64_t strides[KILN_RANK_MAX] = {0};
    int64_t start = (GUARD_ELEMENTS + l->offset) * itemsize;
    int64_t unit = itemsize;

    for (int k = rank - 1; k >= 0; k--) {
        int axis = l->order[0] != 0 ? l->order[k] - 1 : k;
        int64_t step = l->step[axis] == 0 ? 1 : l->step[axis];

        if (step == HOST_BROADCAST)
            continue;
        strides[axis] = unit * step;
        if (step < 0 && shape[axis] > 0)
            start += (shape[axis] - 1) * -strides[axis];
        unit *= (step < 0 ? -step : step) * (shape[axis] > 0 ? shape[axis] : 1);
    }
    host_make_strided(t, a, dtype, rank, shape, strides, start,
                      (size_t)(unit + (2 * GUARD_ELEMENTS + l->offset) * itemsize));
}

void host_from(test_env *t, host_array *a, kiln_dtype dtype, int rank, const int64_t *shape,
               const void *elements)
{
    host_make(t, a, dtype, rank, shape, NULL);
    memcpy(a->store + a->start, elements, (size_t)host_size(a) * size_of(dtype));
    host_send(t, a);
}

void host_view(test_env *t, host_array *a, const host_array *base, int rank, const int64_t *shape,
               const int64_t *strides, int64_t start)
{
    *a = *base;
    a->rank = rank;
    a->start = start;
    for (int axis = 0; axis < rank; axis++) {
        a->shape[axis] = shape[axis];
        a->stride[axis] = strides[axis];
    }
    a->owned = NULL;
    kiln_array_retain(a->storage);
    make_view(t, a);
}

void host_free(host_array *a)
{
    kiln_array_release(a->array);
    kiln_array_release(a->storage);
    free(a->owned);
    memset(a, 0, sizeof *a);
}

/* ---- filling ---- */

void host_fill_small(host_array *a, unsigned salt)
{
    int64_t size = host_size(a);

    for (int64_t k = 0; k < size; k++) {
        uint64_t h = ((uint64_t)k + 1 + salt * 7919u) * 0x9e3779b97f4a7c15u;
        host_value v = {(long double)(h >> 61), 0};

        if (a->dtype == KILN_BOOL)
            v.re = (long double)(h >> 63);
        if (a->dtype == KILN_COMPLEX64 || a->dtype == KILN_COMPLEX128)
            v.im = (long double)(h >> 40 & 3);
        host_store(a->dtype, host_at(a, k), v);
    }
}

void host_fill_random(test_env *t, host_array *a)
{
    int64_t size = host_size(a);

    for (int64_t k = 0; k < size; k++) {
        void *element = host_at(a, k);
        uint64_t bits[2] = {test_random(t), test_random(t)};
        host_value v = {(long double)(int64_t)bits[0] / 2305843009213693952.0L,
                        (long double)(int64_t)bits[1] / 2305843009213693952.0L};

        if (a->dtype == KILN_BOOL)
            *(unsigned char *)element = bits[0] & 1;
        else if (a->dtype < KILN_FLOAT16)
            memcpy(element, bits, size_of(a->dtype));
        else
            host_store(a->dtype, element, v);
    }
}

void host_send(test_env *t, host_array *a)
{
    kiln_array *source = NULL;
    int64_t length = (int64_t)a->bytes;

    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &length, a->store, NULL, &source, &t->err));
    OK(t, kiln_array_assign(a->storage, source, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    kiln_array_release(source);
}

/* ---- oracle ---- */

/* Step a C-order index; false after the last one. */
static bool next_index(int rank, const int64_t *shape, int64_t *at)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++at[axis] < shape[axis])
            return true;
        at[axis] = 0;
    }
    return false;
}

void host_apply(host_array *const *arrays, size_t input_count, size_t output_count, int rank,
                const int64_t *shape, host_function function)
{
    unsigned char *before[KILN_PARAM_MAX] = {NULL};
    host_value in[KILN_PARAM_MAX] = {{0, 0}}, out[KILN_PARAM_MAX] = {{0, 0}};
    int64_t at[KILN_RANK_MAX] = {0};

    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] == 0)
            return;
    for (size_t p = 0; p < input_count; p++) {
        before[p] = malloc(arrays[p]->bytes);
        if (before[p] == NULL)
            fail_msg("no memory for a copy of %zu bytes", arrays[p]->bytes);
        memcpy(before[p], arrays[p]->store, arrays[p]->bytes);
    }
    do {
        for (size_t p = 0; p < input_count; p++) {
            unsigned char *element = host_broadcast_at(arrays[p], rank, at);

            in[p] = host_load(arrays[p]->dtype, before[p] + (element - arrays[p]->store));
        }
        for (size_t p = 0; p < output_count; p++)
            out[p] = host_load(arrays[input_count + p]->dtype,
                               host_broadcast_at(arrays[input_count + p], rank, at));
        function(in, out);
        for (size_t p = 0; p < output_count; p++)
            host_store(arrays[input_count + p]->dtype,
                       host_broadcast_at(arrays[input_count + p], rank, at), out[p]);
    } while (next_index(rank, shape, at));
    for (size_t p = 0; p < input_count; p++)
        free(before[p]);
}

static void say_difference(const host_array *a, const char *what, int64_t position, const void *got,
                           const void *want)
{
    host_value g = host_load(a->dtype, got), w = host_load(a->dtype, want);

    print_error("%s: element %lld of shape (", what, (long long)position);
    for (int axis = 0; axis < a->rank; axis++)
        print_error("%lld,", (long long)a->shape[axis]);
    print_error("), dtype %d: got %.17Lg%+.17Lgi, want %.17Lg%+.17Lgi\n", (int)a->dtype, g.re, g.im,
                w.re, w.im);
}

void host_compare(test_env *t, const host_array *a, uint64_t ulps, const char *what)
{
    unsigned char *got = malloc(a->bytes > 0 ? a->bytes : 1);
    int64_t size = host_size(a);
    size_t wrong = 0;

    if (got == NULL)
        fail_msg("no memory for %zu bytes", a->bytes);
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_array_to_host(a->storage, got, a->bytes, NULL, &t->err));
    for (int64_t k = 0; k < size; k++) {
        unsigned char *want = host_at(a, k);
        unsigned char *have = got + (want - a->store);

        if (host_ulps(a->dtype, have, want) > ulps && wrong++ < 3)
            say_difference(a, what, k, have, want);
        memcpy(have, want, size_of(a->dtype)); /* compared; the rest must be equal */
    }
    for (size_t k = 0; k < a->bytes && wrong == 0; k++)
        if (got[k] != a->store[k]) {
            print_error("%s: byte %zu of %zu lies in no element and was changed\n", what, k,
                        a->bytes);
            wrong++;
        }
    free(got);
    if (wrong != 0)
        fail_msg("%s: %zu of %lld elements are wrong", what, wrong, (long long)size);
}

void host_compare_elements(test_env *t, const kiln_array *got, const host_array *want,
                           uint64_t ulps, const char *what)
{
    size_t itemsize = size_of(want->dtype);
    int64_t size = host_size(want);
    unsigned char *elements = malloc((size_t)size * itemsize + 1);
    size_t wrong = 0;

    if (elements == NULL)
        fail_msg("no memory for %lld elements", (long long)size);
    CHECK(kiln_array_dtype(got) == want->dtype, "%s: dtype %s", what,
          kiln_dtype_name(kiln_array_dtype(got)));
    CHECK(kiln_array_rank(got) == want->rank, "%s: rank %d", what, kiln_array_rank(got));
    for (int axis = 0; axis < want->rank; axis++)
        CHECK(kiln_array_shape(got)[axis] == want->shape[axis], "%s: axis %d", what, axis);
    OK(t, kiln_array_to_host(got, elements, (size_t)size * itemsize, NULL, &t->err));
    for (int64_t k = 0; k < size; k++) {
        const void *have = elements + (size_t)k * itemsize;

        if (host_ulps(want->dtype, have, host_at(want, k)) > ulps && wrong++ < 3)
            say_difference(want, what, k, have, host_at(want, k));
    }
    free(elements);
    if (wrong != 0)
        fail_msg("%s: %zu of %lld elements are wrong", what, wrong, (long long)size);
}
