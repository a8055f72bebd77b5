/*
 * memo.c - entries by layout: an open-addressing table that is read without locks.
 *
 * The same construction as src/kernel/memo.c: a slot goes from NULL to an entry once and never
 * changes; growing publishes a larger table and keeps the old one, for a reader may still be in it.
 */
#include "graph/graph.h"

enum { FIRST_SLOTS = 8 };

struct kiln__entry_table {
    kiln__entry_table *older;
    size_t mask;
    _Atomic(kiln__entry *) slots[];
};

void kiln__entry_memo_init(kiln__entry_memo *memo)
{
    atomic_init(&memo->table, NULL);
    memo->count = 0;
    pthread_mutex_init(&memo->lock, NULL);
}

void kiln__entry_memo_clear(kiln__entry_memo *memo)
{
    kiln__entry_table *t = atomic_load(&memo->table);
    for (size_t s = 0; t != NULL && s <= t->mask; s++)
        kiln__entry_destroy(atomic_load(&t->slots[s]));
    while (t != NULL) {
        kiln__entry_table *older = t->older;
        kiln__free(t);
        t = older;
    }
    pthread_mutex_destroy(&memo->lock);
}

const kiln__entry *kiln__entry_memo_find(const kiln__entry_memo *memo, uint64_t hash,
                                         const kiln_arg *args)
{
    const kiln__entry_table *t = atomic_load_explicit(&memo->table, memory_order_acquire);
    if (t == NULL)
        return NULL;
    for (size_t s = hash & t->mask;; s = (s + 1) & t->mask) {
        const kiln__entry *e = atomic_load_explicit(&t->slots[s], memory_order_acquire);
        if (e == NULL || (e->hash == hash && kiln__entry_matches(e, args)))
            return e;
    }
}

static void place(kiln__entry_table *t, kiln__entry *entry)
{
    size_t s = entry->hash & t->mask;
    while (atomic_load_explicit(&t->slots[s], memory_order_relaxed) != NULL)
        s = (s + 1) & t->mask;
    atomic_store_explicit(&t->slots[s], entry, memory_order_release);
}

static kiln__entry_table *with_room(kiln__entry_memo *memo)
{
    kiln__entry_table *t = atomic_load_explicit(&memo->table, memory_order_relaxed);
    size_t slots = t == NULL ? 0 : t->mask + 1;
    if (2 * (memo->count + 1) <= slots)
        return t;
    slots = slots == 0 ? FIRST_SLOTS : 2 * slots;
    kiln__entry_table *grown = kiln__calloc(1, sizeof *grown + slots * sizeof grown->slots[0]);
    if (grown == NULL)
        return NULL;
    grown->older = t;
    grown->mask = slots - 1;
    for (size_t s = 0; t != NULL && s <= t->mask; s++) {
        kiln__entry *e = atomic_load_explicit(&t->slots[s], memory_order_relaxed);
        if (e != NULL)
            place(grown, e);
    }
    atomic_store_explicit(&memo->table, grown, memory_order_release);
    return grown;
}

bool kiln__entry_memo_insert(kiln__entry_memo *memo, kiln__entry *entry)
{
    bool taken = false;
    pthread_mutex_lock(&memo->lock);
    if (memo->count < KILN__GRAPH_MEMO_MAX) {
        kiln__entry_table *t = with_room(memo);
        if (t != NULL) {
            place(t, entry);
            memo->count++;
            taken = true;
        }
    }
    pthread_mutex_unlock(&memo->lock);
    return taken;
}
