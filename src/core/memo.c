/*
 * memo.c - items by hash: an open-addressing table that is read without locks.
 *
 * Readers load the table's address and walk slots; a slot goes from NULL to an item once and never
 * changes. Growing publishes a larger table and keeps the old one until the memo is cleared, for a
 * reader may still be in it; all old tables together are smaller than the newest.
 *
 * Items never leave the table, so it takes only so many. Behind it stands a cache of sets of a few items each, of which
 * the one that was used longest ago makes way for a new one, unless somebody uses it.
 */
#include "core/core.h"

enum { FIRST_SLOTS = 16, CACHE_SETS = 256, CACHE_WAYS = 8 };

typedef struct cached {
    void *item;
    uint64_t used; /* the number of the last use */
    size_t users;
} cached;

struct kiln__memo_cache {
    uint64_t uses; /* ever */
    cached sets[CACHE_SETS][CACHE_WAYS];
};

struct kiln__memo_table {
    kiln__memo_table *older;
    size_t mask;
    _Atomic(void *) slots[];
};

static uint64_t hash_of(const void *item)
{
    return *(const uint64_t *)item;
}

void kiln__memo_init(kiln__memo *memo)
{
    atomic_init(&memo->table, NULL);
    atomic_init(&memo->cache, NULL);
    memo->count = 0;
    pthread_mutex_init(&memo->lock, NULL);
}

void kiln__memo_clear(kiln__memo *memo, void (*destroy)(void *item))
{
    kiln__memo_table *t = atomic_load(&memo->table);
    for (size_t s = 0; t != NULL && s <= t->mask; s++) {
        void *item = atomic_load(&t->slots[s]);
        if (item != NULL)
            destroy(item);
    }
    while (t != NULL) {
        kiln__memo_table *older = t->older;
        kiln__free(t);
        t = older;
    }
    kiln__memo_cache *cache = atomic_load(&memo->cache);
    for (size_t k = 0; cache != NULL && k < CACHE_SETS * CACHE_WAYS; k++)
        if (cache->sets[k / CACHE_WAYS][k % CACHE_WAYS].item != NULL)
            destroy(cache->sets[k / CACHE_WAYS][k % CACHE_WAYS].item);
    kiln__free(cache);
    pthread_mutex_destroy(&memo->lock);
}

const void *kiln__memo_find(const kiln__memo *memo, uint64_t hash,
                            bool (*matches)(const void *item, const void *key), const void *key)
{
    const kiln__memo_table *t = atomic_load_explicit(&memo->table, memory_order_acquire);
    if (t == NULL)
        return NULL;
    for (size_t s = hash & t->mask;; s = (s + 1) & t->mask) {
        const void *item = atomic_load_explicit(&t->slots[s], memory_order_acquire);
        if (item == NULL || (hash_of(item) == hash && matches(item, key)))
            return item;
    }
}

static void place(kiln__memo_table *t, void *item)
{
    size_t s = hash_of(item) & t->mask;
    while (atomic_load_explicit(&t->slots[s], memory_order_relaxed) != NULL)
        s = (s + 1) & t->mask;
    atomic_store_explicit(&t->slots[s], item, memory_order_release);
}

/* A table with room for one more, at most half full. */
static kiln__memo_table *with_room(kiln__memo *memo)
{
    kiln__memo_table *t = atomic_load_explicit(&memo->table, memory_order_relaxed);
    size_t slots = t == NULL ? 0 : t->mask + 1;
    if (2 * (memo->count + 1) <= slots)
        return t;
    slots = slots == 0 ? FIRST_SLOTS : 2 * slots;
    kiln__memo_table *grown = kiln__calloc(1, sizeof *grown + slots * sizeof grown->slots[0]);
    if (grown == NULL)
        return NULL;
    grown->older = t;
    grown->mask = slots - 1;
    for (size_t s = 0; t != NULL && s <= t->mask; s++) {
        void *item = atomic_load_explicit(&t->slots[s], memory_order_relaxed);
        if (item != NULL)
            place(grown, item);
    }
    atomic_store_explicit(&memo->table, grown, memory_order_release);
    return grown;
}

bool kiln__memo_insert(kiln__memo *memo, void *item)
{
    bool taken = false;
    pthread_mutex_lock(&memo->lock);
    if (memo->count < KILN__MEMO_MAX) {
        kiln__memo_table *t = with_room(memo);
        if (t != NULL) {
            place(t, item);
            memo->count++;
            taken = true;
        }
    }
    pthread_mutex_unlock(&memo->lock);
    return taken;
}

/* ---- what the table did not take ---- */

/* The low bits of hashes choose slots of the table. */
static cached *set_of(kiln__memo_cache *cache, uint64_t hash)
{
    return cache->sets[(hash >> 40) % CACHE_SETS];
}

void *kiln__memo_borrow(kiln__memo *memo, uint64_t hash,
                        bool (*matches)(const void *item, const void *key), const void *key)
{
    void *found = NULL;

    if (atomic_load_explicit(&memo->cache, memory_order_acquire) == NULL)
        return NULL;
    pthread_mutex_lock(&memo->lock);
    kiln__memo_cache *const cache = atomic_load_explicit(&memo->cache, memory_order_relaxed);
    cached *const set = set_of(cache, hash);
    for (size_t k = 0; k < CACHE_WAYS && found == NULL; k++) {
        if (set[k].item == NULL || hash_of(set[k].item) != hash || !matches(set[k].item, key))
            continue;
        found = set[k].item;
        set[k].used = ++cache->uses;
        set[k].users++;
    }
    pthread_mutex_unlock(&memo->lock);
    return found;
}

void kiln__memo_lend(kiln__memo *memo, void *item, void (*destroy)(void *item))
{
    void *old = NULL;
    cached *to = NULL;

    pthread_mutex_lock(&memo->lock);
    kiln__memo_cache *cache = atomic_load_explicit(&memo->cache, memory_order_relaxed);
    if (cache == NULL && memo->count >= KILN__MEMO_MAX) {
        cache = kiln__calloc(1, sizeof *cache);
        atomic_store_explicit(&memo->cache, cache, memory_order_release);
    }
    cached *const set = cache != NULL ? set_of(cache, hash_of(item)) : NULL;
    for (size_t k = 0; set != NULL && k < CACHE_WAYS; k++)
        if (set[k].users == 0 && (to == NULL || set[k].used < to->used))
            to = &set[k]; /* one without an item was never used */
    if (to != NULL) {
        old = to->item;
        *to = (cached){item, ++cache->uses, 1};
    }
    pthread_mutex_unlock(&memo->lock);
    if (old != NULL)
        destroy(old);
}

void kiln__memo_return(kiln__memo *memo, void *item, void (*destroy)(void *item))
{
    bool is_cached = false;

    if (item == NULL)
        return;
    pthread_mutex_lock(&memo->lock);
    kiln__memo_cache *const cache = atomic_load_explicit(&memo->cache, memory_order_relaxed);
    cached *const set = cache != NULL ? set_of(cache, hash_of(item)) : NULL;
    for (size_t k = 0; set != NULL && k < CACHE_WAYS && !is_cached; k++) {
        is_cached = set[k].item == item;
        set[k].users -= is_cached;
    }
    pthread_mutex_unlock(&memo->lock);
    if (!is_cached)
        destroy(item);
}
