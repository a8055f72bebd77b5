/*
 * evict.c - which entries go when a folder is full.
 *
 * The stamp of an entry is its file's modification time, which kiln sets itself: when an entry is
 * stored, and for its hits. (Access times are switched off or coarse on most systems.) The least
 * recently used entry is the one with the oldest stamp. A hit's stamp is set at once when the entry
 * was last stamped an hour ago or earlier, and else when the journal is flushed: so the order is
 * exact within a process, and among processes to within an hour, whoever is killed when.
 *
 * Looking at every file for every eviction would cost 200 ms in a large folder. So a scan fills a
 * queue of victims, oldest first, and evictions take from it. An entry that was used since the scan
 * bears another stamp then and is passed over; one that was stored since is newer than all. A queue
 * from a scan of the whole folder is therefore exact.
 *
 * Large folders are sampled, a few files for each eviction: the names of one shard after the other
 * are listed and looked at bit by bit, and the oldest of all that was looked at is kept in the
 * queue. Names are hashes, so any of them are a fair sample.
 *
 * Rule 1: called with the ledger open; what is removed is taken off it.
 * Rule 2: an entry that is being read stays whole for its reader, who has it open.
 *
 * publish.c, store.c and catalog.c call this file. Test: test_cache_order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

/* Up to here a scan looks at every file: a millisecond or so. */
#define SCAN_FILES_MAX ((uint64_t)1024)
/* In larger folders an eviction looks at so many files, and remembers so many of the oldest. */
#define SAMPLE_FILES 16
#define POOL_FILES ((size_t)64)
/* Until the folder is this share below its limit, a store evicts one entry more than it needs. */
#define SLACK_SHARE 32u
#define EXTRA_PER_STORE 1

void kiln__victims_clear(kiln__victims *v)
{
    kiln__free(v->items);
    kiln__free(v->names);
    memset(v, 0, sizeof *v);
}

static void append(kiln__victims *v, const char *name, const struct stat *st)
{
    if (!kiln__reserve(&v->items, v->count, &v->capacity, sizeof *v->items))
        return; /* fewer to choose from */
    kiln__victim *item = &v->items[v->count++];
    kiln__entry_path(name, item->path);
    item->stamp_ns = kiln__stamp_of(st);
    item->bytes = (uint64_t)st->st_size;
}

/* A scan of a whole shard that fills a queue. */
typedef struct gathering {
    kiln__victims *queue;
    uint64_t bytes, count; /* of all files seen */
} gathering;

static void gather(void *user, int shard_fd, const char *name, const struct stat *st)
{
    gathering *g = user;

    if (kiln__remove_dead_temp(shard_fd, name))
        return;
    g->bytes += (uint64_t)st->st_size;
    g->count++;
    if (kiln__is_entry_name(name))
        append(g->queue, name, st);
}

static int by_stamp(const void *a, const void *b)
{
    const kiln__victim *x = a, *y = b;

    if (x->stamp_ns != y->stamp_ns)
        return x->stamp_ns < y->stamp_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

bool kiln__victims_scan(kiln__ledger *l, unsigned shard, kiln__victims *v)
{
    gathering g = {.queue = v};

    if (!kiln__scan_shard(l->folder, shard, gather, &g))
        return false;
    /* This count is exact, whatever processes that died had left in the account. */
    l->file.bytes[shard] = g.bytes;
    l->file.count[shard] = (uint32_t)g.count;
    return true;
}

void kiln__victims_sort(kiln__victims *v)
{
    if (v->count > v->next + 1)
        qsort(v->items + v->next, v->count - v->next, sizeof *v->items, by_stamp);
}

/* Fill the queue with all there is. */
static void scan_all(kiln__ledger *l, kiln__victims *v)
{
    v->count = v->next = 0;
    v->exact = true;
    /* The account may count files that do not exist, but it never misses one that does. */
    for (unsigned shard = 0; shard < KILN__SHARD_COUNT; shard++) {
        if (l->file.count[shard] > 0)
            kiln__victims_scan(l, shard, v);
    }
    kiln__victims_sort(v);
}

typedef struct name_list {
    kiln__victims *queue;
    uint64_t count; /* of all names seen */
} name_list;

static void list_name(void *user, int shard_fd, const char *name)
{
    name_list *n = user;
    kiln__victims *v = n->queue;

    if (kiln__remove_dead_temp(shard_fd, name))
        return;
    n->count++;
    if (kiln__is_entry_name(name) &&
        kiln__reserve(&v->names, v->name_count, &v->name_capacity, sizeof *v->names))
        memcpy(v->names[v->name_count++], name, 33);
}

/* List the next shard that has entries; false when none has. */
static bool list_names(kiln__ledger *l, kiln__victims *v)
{
    v->name_count = v->name_next = 0;
    for (unsigned k = 0; k < KILN__SHARD_COUNT && v->name_count == 0; k++) {
        const unsigned shard = v->shard++ % KILN__SHARD_COUNT;
        name_list n = {v, 0};
        if (l->file.count[shard] == 0)
            continue;
        /* A process that died has left another number of files than the account says. */
        if (kiln__list_shard(l->folder, shard, list_name, &n) && n.count != l->file.count[shard])
            (void)kiln__ledger_recount(l, shard);
    }
    return v->name_count > 0;
}

/* Look at some more files, and keep the oldest of all that have been looked at. */
static void scan_sample(kiln__ledger *l, kiln__victims *v)
{
    const size_t left = v->count - v->next;

    if (left > 0)
        memmove(v->items, v->items + v->next, left * sizeof *v->items);
    v->next = 0;
    v->count = v->exact && left > POOL_FILES ? POOL_FILES : left;
    v->exact = false;
    for (int k = 0; k < SAMPLE_FILES; k++) {
        char path[KILN__PATH_BYTES];
        struct stat st;
        if (v->name_next == v->name_count && !list_names(l, v))
            break;
        const char *name = v->names[v->name_next++];
        kiln__entry_path(name, path);
        if (fstatat(l->folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            append(v, name, &st);
    }
    kiln__victims_sort(v);
    if (v->count > POOL_FILES)
        v->count = POOL_FILES;
}

bool kiln__evict_one(kiln__ledger *l, const kiln__victim *victim)
{
    char name[3] = {victim->path[0], victim->path[1], '\0'};
    struct stat st;

    if (fstatat(l->folder, victim->path, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
        kiln__stamp_of(&st) != victim->stamp_ns)
        return false;
    if (unlinkat(l->folder, victim->path, 0) != 0)
        return false;
    kiln__ledger_remove(l, (unsigned)strtoul(name, NULL, 16), (uint64_t)st.st_size);
    return true;
}

/* Evict the next victim of the queue that is still one. False when nothing can be evicted. */
static bool evict_next(kiln__ledger *l, kiln__victims *v, uint64_t *evicted)
{
    const bool small = kiln__ledger_count(l) <= SCAN_FILES_MAX;

    /* A sample may hold only entries that were used since or cannot be removed. */
    for (int round = 0; round < (small ? 2 : 64); round++) {
        if (!small)
            scan_sample(l, v);
        else if (!v->exact || v->next == v->count)
            scan_all(l, v);
        while (v->next < v->count) {
            if (kiln__evict_one(l, &v->items[v->next++])) {
                ++*evicted;
                return true;
            }
        }
    }
    return false;
}

bool kiln__evict_for(kiln__ledger *l, kiln__victims *v, uint64_t limit, uint64_t need,
                     uint64_t *evicted)
{
    const uint64_t low = limit - limit / SLACK_SHARE;
    uint64_t have = kiln__ledger_bytes(l);

    if (need > limit)
        return false;
    while (have > limit - need) {
        const bool done = evict_next(l, v, evicted);
        const uint64_t left = kiln__ledger_bytes(l);
        /* A scan may have corrected the account although there was nothing to evict. */
        if (!done && left >= have)
            return false;
        have = left;
    }
    /* A little more, so that the folder rests a few per cent below its limit; only a little, so
     * that no store waits for all of it. */
    for (int k = 0; k < EXTRA_PER_STORE && have + need > low && have > need; k++) {
        if (!evict_next(l, v, evicted))
            break;
        have = kiln__ledger_bytes(l);
    }
    return true;
}
