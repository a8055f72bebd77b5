/*
 * test_memo.c - items by hash (memo.c) and values by key (map.c): what is found, kept and cached, by several threads too.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"

typedef struct item {
    uint64_t hash;
    uint64_t value;
} item;

static atomic_size_t destroyed;

static bool has_value(const void *it, const void *key)
{
    return ((const item *)it)->value == *(const uint64_t *)key;
}

static void destroy_item(void *it)
{
    destroyed++;
    kiln__free(it);
}

/* Groups of 100 share a hash, and all hashes fall into the same few slots of a small table. */
static uint64_t hash_of_value(uint64_t value)
{
    return value / 100 << 32 | 7;
}

static bool insert_value(kiln__memo *memo, uint64_t value)
{
    item *it = kiln__alloc(sizeof *it);

    assert_non_null(it);
    *it = (item){hash_of_value(value), value};
    if (kiln__memo_insert(memo, it))
        return true;
    kiln__free(it);
    return false;
}

static const item *find_value(const kiln__memo *memo, uint64_t value)
{
    return kiln__memo_find(memo, hash_of_value(value), has_value, &value);
}

static void test_memo__a_memo_finds_what_it_took_until_it_is_full(void **state)
{
    (void)state;
    const size_t live = kiln__test_alloc_live();
    kiln__memo memo;

    kiln__memo_init(&memo);
    assert_null(find_value(&memo, 0));
    for (uint64_t k = 0; k < KILN__MEMO_MAX; k++) {
        assert_true(insert_value(&memo, k));
        assert_int_equal(find_value(&memo, k)->value, k);
        assert_null(find_value(&memo, k + 1));
    }
    assert_false(insert_value(&memo, KILN__MEMO_MAX));
    for (uint64_t k = 0; k < KILN__MEMO_MAX; k++)
        assert_int_equal(find_value(&memo, k)->value, k);
    destroyed = 0;
    kiln__memo_clear(&memo, destroy_item);
    assert_int_equal(destroyed, KILN__MEMO_MAX);
    assert_int_equal(kiln__test_alloc_live(), live);
}

/* A new item that a full memo caches, or does not; it is borrowed. */
static item *lend_value(kiln__memo *memo, uint64_t value)
{
    item *it = kiln__alloc(sizeof *it);

    assert_non_null(it);
    *it = (item){value * 0x9e3779b97f4a7c15u, value};
    kiln__memo_lend(memo, it, destroy_item);
    return it;
}

static item *borrow_value(kiln__memo *memo, uint64_t value)
{
    return kiln__memo_borrow(memo, value * 0x9e3779b97f4a7c15u, has_value, &value);
}

static void test_memo__a_full_memo_caches_what_was_used_last(void **state)
{
    enum { MORE = 20000 };
    const size_t live = kiln__test_alloc_live();
    kiln__memo memo;
    size_t found = 0;

    (void)state;
    kiln__memo_init(&memo);
    destroyed = 0;
    kiln__memo_return(&memo, lend_value(&memo, 1), destroy_item); /* there is room in the table */
    assert_int_equal(destroyed, 1);
    assert_null(borrow_value(&memo, 1));
    for (uint64_t k = 0; k < KILN__MEMO_MAX; k++)
        assert_true(insert_value(&memo, k));
    item *const held = lend_value(&memo, KILN__MEMO_MAX);
    for (uint64_t k = 1; k <= MORE; k++) {
        item *const it = lend_value(&memo, KILN__MEMO_MAX + k);
        assert_ptr_equal(borrow_value(&memo, KILN__MEMO_MAX + k), it);
        kiln__memo_return(&memo, it, destroy_item);
        kiln__memo_return(&memo, it, destroy_item);
    }
    assert_true(destroyed > MORE - 2100 && destroyed < MORE - 1900);
    assert_ptr_equal(borrow_value(&memo, KILN__MEMO_MAX), held); /* in use all the time */
    kiln__memo_return(&memo, held, destroy_item);
    kiln__memo_return(&memo, held, destroy_item);
    for (uint64_t k = MORE - 199; k <= MORE; k++) { /* of the last 200 hardly one has made way */
        item *const it = borrow_value(&memo, KILN__MEMO_MAX + k);
        found += it != NULL && it->value == KILN__MEMO_MAX + k;
        if (it != NULL)
            kiln__memo_return(&memo, it, destroy_item);
    }
    assert_true(found > 190);
    assert_null(borrow_value(&memo, KILN__MEMO_MAX + 1));
    for (uint64_t k = 0; k < KILN__MEMO_MAX; k++)
        assert_int_equal(find_value(&memo, k)->value, k);
    kiln__memo_clear(&memo, destroy_item);
    assert_int_equal(kiln__test_alloc_live(), live);
}

static void test_memo__a_memo_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    kiln__memo memo;
    item first = {1, 1}, second = {2, 2};
    const uint64_t value = 2;

    kiln__memo_init(&memo);
    kiln__test_alloc_fail_at(0);
    assert_false(kiln__memo_insert(&memo, &first));
    assert_null(kiln__memo_find(&memo, 1, has_value, &first.value));
    assert_true(kiln__memo_insert(&memo, &second));
    kiln__test_alloc_fail_at(0); /* of no matter: there is room */
    assert_true(kiln__memo_insert(&memo, &first));
    kiln__test_alloc_fail_at(SIZE_MAX);
    assert_ptr_equal(kiln__memo_find(&memo, 2, has_value, &value), &second);
    kiln__free(memo.table); /* the items are none of the heap's */
    pthread_mutex_destroy(&memo.lock);
}

/* Two of many texts of one XXH3-64: where the first eight bytes are those of its secret, the next eight
 * have no say. */
#define EQUAL_HASH_A                                                                               \
    "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe"                                                             \
    "one text"                                                                                     \
    "of the same hash"
#define EQUAL_HASH_B                                                                               \
    "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe"                                                             \
    "another "                                                                                     \
    "of the same hash"

static void test_memo__a_map_compares_whole_keys(void **state)
{
    (void)state;
    const size_t live = kiln__test_alloc_live();
    kiln__map map = {NULL, 0, 0};
    bool is_new = false;

    assert_int_equal(kiln__hash_64(EQUAL_HASH_A, 32), kiln__hash_64(EQUAL_HASH_B, 32));
    assert_null(kiln__map_find(&map, EQUAL_HASH_A, 32));
    assert_non_null(kiln__map_enter(&map, EQUAL_HASH_A, 32, &is_new));
    assert_true(is_new);
    assert_null(kiln__map_find(&map, EQUAL_HASH_B, 32));
    assert_non_null(kiln__map_enter(&map, EQUAL_HASH_B, 32, &is_new));
    assert_true(is_new);
    assert_non_null(kiln__map_enter(&map, EQUAL_HASH_A, 32, &is_new));
    assert_false(is_new);
    assert_int_equal(map.count, 2);
    kiln__map_clear(&map, NULL);
    assert_int_equal(kiln__test_alloc_live(), live);
}

static void test_memo__a_map_keeps_values_as_it_grows(void **state)
{
    (void)state;
    static char values[1000];
    const size_t live = kiln__test_alloc_live();
    void **first = NULL;
    kiln__map map = {NULL, 0, 0};

    for (uint16_t k = 0; k < 1000; k++) {
        void **at = kiln__map_enter(&map, &k, sizeof k, NULL);
        assert_non_null(at);
        assert_null(*at);
        *at = &values[k];
        first = k == 0 ? at : first;
    }
    assert_ptr_equal(*first, &values[0]); /* its place has not moved */
    for (uint16_t k = 0; k < 2000; k++) {
        void **at = kiln__map_find(&map, &k, sizeof k);
        assert_ptr_equal(at != NULL ? *at : NULL, k < 1000 ? &values[k] : NULL);
    }
    kiln__map_clear(&map, NULL);
    assert_int_equal(kiln__test_alloc_live(), live);
    assert_null(kiln__map_find(&map, "", 0));
}

static void test_memo__a_map_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    bool done = false;

    for (size_t nth = 0; !done; nth++) {
        kiln__map map = {NULL, 0, 0};
        int entered = 0;
        kiln__test_alloc_fail_at(nth);
        for (int k = 0; k < 40; k++)
            entered += kiln__map_enter(&map, &k, sizeof k, NULL) != NULL;
        kiln__test_alloc_fail_at(SIZE_MAX);
        done = entered == 40;
        assert_true(entered >= 39);
        assert_int_equal(map.count, entered);
        kiln__map_clear(&map, NULL);
    }
}

/* Readers look for what was announced as inserted, while the table grows under them. */
typedef struct readers {
    kiln__memo memo;
    _Atomic(uint64_t) inserted;
    atomic_size_t missed;
} readers;

static void *read_while_it_grows(void *argument)
{
    readers *r = argument;
    uint64_t inserted = 0;

    while (inserted < KILN__MEMO_MAX) {
        inserted = atomic_load(&r->inserted);
        for (uint64_t k = inserted > 20 ? inserted - 20 : 0; k < inserted; k++) {
            const item *found = find_value(&r->memo, k);
            if (found == NULL || found->value != k)
                atomic_fetch_add(&r->missed, 1);
        }
    }
    return NULL;
}

static void test_memo__a_memo_is_read_while_it_grows(void **state)
{
    (void)state;
    readers r;
    pthread_t threads[3];

    kiln__memo_init(&r.memo);
    atomic_init(&r.inserted, 0);
    atomic_init(&r.missed, 0);
    for (size_t t = 0; t < KILN_COUNT_OF(threads); t++)
        assert_int_equal(pthread_create(&threads[t], NULL, read_while_it_grows, &r), 0);
    for (uint64_t k = 0; k < KILN__MEMO_MAX; k++) {
        assert_true(insert_value(&r.memo, k));
        atomic_store(&r.inserted, k + 1);
    }
    for (size_t t = 0; t < KILN_COUNT_OF(threads); t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(atomic_load(&r.missed), 0);
    kiln__memo_clear(&r.memo, destroy_item);
}

/* Threads that borrow what others lend, and what may make way at any time. */
static void *borrow_and_lend(void *argument)
{
    readers *r = argument;
    uint64_t random = (uint64_t)(uintptr_t)&random;

    for (int k = 0; k < 20000; k++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t value = KILN__MEMO_MAX + (random >> 33) % 2000;
        item *it = borrow_value(&r->memo, value);
        if (it == NULL)
            it = lend_value(&r->memo, value);
        if (it->value != value)
            atomic_fetch_add(&r->missed, 1);
        kiln__memo_return(&r->memo, it, destroy_item);
    }
    return NULL;
}

static void test_memo__threads_share_what_a_memo_caches(void **state)
{
    const size_t live = kiln__test_alloc_live();
    readers r;
    pthread_t threads[3];

    (void)state;
    kiln__memo_init(&r.memo);
    atomic_init(&r.missed, 0);
    for (uint64_t k = 0; k < KILN__MEMO_MAX; k++)
        assert_true(insert_value(&r.memo, k));
    for (size_t t = 0; t < KILN_COUNT_OF(threads); t++)
        assert_int_equal(pthread_create(&threads[t], NULL, borrow_and_lend, &r), 0);
    for (size_t t = 0; t < KILN_COUNT_OF(threads); t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(atomic_load(&r.missed), 0);
    kiln__memo_clear(&r.memo, destroy_item);
    assert_int_equal(kiln__test_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memo__a_memo_finds_what_it_took_until_it_is_full),
        cmocka_unit_test(test_memo__a_full_memo_caches_what_was_used_last),
        cmocka_unit_test(test_memo__a_memo_without_memory_keeps_what_it_has),
        cmocka_unit_test(test_memo__a_map_compares_whole_keys),
        cmocka_unit_test(test_memo__a_map_keeps_values_as_it_grows),
        cmocka_unit_test(test_memo__a_map_without_memory_keeps_what_it_has),
        cmocka_unit_test(test_memo__a_memo_is_read_while_it_grows),
        cmocka_unit_test(test_memo__threads_share_what_a_memo_caches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
