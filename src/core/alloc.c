/*
 * alloc.c - host memory for all of kiln, through one door.
 *
 * Rule 1: no other file calls malloc and friends, so that a test can make any single allocation
 *         fail and count what stays alive (KILN_TEST_HOOKS).
 * Rule 2: memory from here is freed by kiln__free only, and by kiln_free() for users.
 * Rule 3: an allocation of 0 bytes is valid and unique; NULL always means failure.
 *
 * The hooks are atomics and not a mutex: they stay out of the way of the thread sanitizer and are
 * right in a forked child.
 */
#include <stdlib.h>

#include "core/core.h"

#ifdef KILN_TEST_HOOKS

/* How many allocations may still pass; the one that finds 0 fails and puts NEVER back. */
#define NEVER INT64_MAX
static _Atomic int64_t fail_countdown = NEVER;
static _Atomic size_t live_count;

void kiln__test_alloc_fail_at(size_t nth)
{
    atomic_store(&fail_countdown, nth >= (size_t)NEVER ? NEVER : (int64_t)nth);
}

size_t kiln__test_alloc_live(void)
{
    return atomic_load(&live_count);
}

/* True for exactly one allocation after each kiln__test_alloc_fail_at, in whatever thread. */
static bool must_fail(void)
{
    int64_t now = atomic_load(&fail_countdown);

    while (now != NEVER) {
        int64_t next = now == 0 ? NEVER : now - 1;
        if (atomic_compare_exchange_weak(&fail_countdown, &now, next))
            return now == 0;
    }
    return false;
}

static void *count_in(void *p)
{
    if (p != NULL)
        atomic_fetch_add(&live_count, 1);
    return p;
}

static void count_out(const void *p)
{
    if (p != NULL)
        atomic_fetch_sub(&live_count, 1);
}

#else

static inline bool must_fail(void)
{
    return false;
}
static inline void *count_in(void *p)
{
    return p;
}
static inline void count_out(const void *p)
{
    (void)p;
}

#endif

void kiln__alloc_set_aside(const void *p)
{
    count_out(p);
}

void kiln__alloc_take_back(const void *p)
{
    (void)count_in((void *)(uintptr_t)p);
}

/* No object is larger than PTRDIFF_MAX; asking the allocator for one is an error to sanitizers. */
static bool is_impossible(size_t bytes)
{
    return bytes > (size_t)PTRDIFF_MAX;
}

void *kiln__alloc(size_t bytes)
{
    if (must_fail() || is_impossible(bytes))
        return NULL;
    return count_in(malloc(bytes != 0 ? bytes : 1));
}

void *kiln__calloc(size_t count, size_t bytes)
{
    size_t total = 0;

    if (must_fail() || __builtin_mul_overflow(count, bytes, &total) || is_impossible(total))
        return NULL;
    return count_in(calloc(1, total != 0 ? total : 1));
}

void *kiln__realloc(void *p, size_t bytes)
{
    if (must_fail() || is_impossible(bytes))
        return NULL;
    void *moved = realloc(p, bytes != 0 ? bytes : 1);
    /* An old block that moved was counted already. */
    return p == NULL ? count_in(moved) : moved;
}

void kiln__free(void *p)
{
    count_out(p);
    free(p);
}

bool kiln__reserve(void *array_pointer, size_t count, size_t *capacity, size_t item_bytes)
{
    const size_t more = *capacity != 0 ? 2 * *capacity : 16;
    void *array = NULL;

    if (count < *capacity)
        return true;
    memcpy(&array, array_pointer, sizeof array);
    array = kiln__realloc(array, more * item_bytes);
    if (array == NULL)
        return false;
    memcpy(array_pointer, &array, sizeof array);
    *capacity = more;
    return true;
}

char *kiln__strndup(const char *text, size_t bytes)
{
    char *copy = bytes < SIZE_MAX ? kiln__alloc(bytes + 1) : NULL;

    if (copy != NULL) {
        if (bytes != 0)
            memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

char *kiln__strdup(const char *text)
{
    return text != NULL ? kiln__strndup(text, strlen(text)) : NULL;
}
