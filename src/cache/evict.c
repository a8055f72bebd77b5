/*
 * evict.c - which entries go when a folder is full.
 *
 * The stamp of an entry is its file's modification time, which kiln sets itself: when an entry is
 * stored, and for its hits. (Access times are switched off or coarse on most systems.) The least
 * recently used entry is the one with the oldest stamp. A hit's stamp is set at once when the entry
 * was last stamped an hour ago or earlier, and else when the journal is flushed: so the order is
 * exact within a process, and among processes to within an hour, whoever is killed when.
 *
 * Looking at every file for every eviction would cost 100 ms in a large folder. So a scan fills a
 * queue of victims, oldest first, and evictions take from it. An entry that was used since the scan
 * bears another stamp then and is passed over; one that was stored since is newer than all. A queue
 * from a scan of the whole folder is therefore exact. Large folders are sampled: names are hashes,
 * so each shard is a fair sample, and the oldest eighth of some shards lies very nearly in the
 * oldest eighth of all.
 *
 * Rule 1: called with the ledger open; what is removed is taken off it.
 * Rule 2: an entry that is being read stays whole for its reader, who has it open.
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
#define SAMPLE_SHARE ((size_t)8)
/* Down to this below the limit a store takes one entry more than it needs. */
#define SLACK_SHARE 32u
#define EXTRA_PER_STORE 1
/* The year 2106. */
#define STAMP_SECONDS_MAX ((int64_t)UINT32_MAX)

int64_t kiln__stamp_of(const struct stat *st)
{
    const int64_t seconds = (int64_t)st->st_mtim.tv_sec;

    /* Anybody may set any time; sums and differences of stamps must not overflow. */
    if (seconds < 0)
        return 0;
    return seconds < STAMP_SECONDS_MAX ? seconds * 1000000000 + st->st_mtim.tv_nsec
                                       : STAMP_SECONDS_MAX * 1000000000;
}

void kiln__stamp_times(int64_t stamp_ns, struct timespec times[2])
{
    times[0] = (struct timespec){0, UTIME_OMIT};
    times[1] = (struct timespec){(time_t)(stamp_ns / 1000000000), (long)(stamp_ns % 1000000000)};
}

void kiln__victims_clear(kiln__victims *v)
{
    kiln__free(v->items);
    v->items = NULL;
    v->count = v->next = v->room = 0;
}

static void gather(void *user, int shard_fd, const char *name, const struct stat *st)
{
    kiln__victims *v = user;
    kiln__victim *item = NULL;

    (void)shard_fd;
    v->seen_bytes += (uint64_t)st->st_size;
    v->seen_count++;
    if (!kiln__is_entry_name(name))
        return;
    if (v->count == v->room) {
        size_t room = v->room != 0 ? v->room * 2 : 256;
        kiln__victim *larger = kiln__realloc(v->items, room * sizeof *larger);
        if (larger == NULL)
            return; /* fewer to choose from */
        v->items = larger;
        v->room = room;
    }
    item = &v->items[v->count++];
    memcpy(item->path, name, 2);
    item->path[2] = '/';
    memcpy(item->path + 3, name, 33);
    item->stamp_ns = kiln__stamp_of(st);
    item->bytes = (uint64_t)st->st_size;
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
    v->seen_bytes = v->seen_count = 0;
    if (!kiln__scan_shard(l->folder, shard, gather, v))
        return false;
    /* The count is exact now, whatever dead processes left in the books. */
    l->file.bytes[shard] = v->seen_bytes;
    l->file.count[shard] = (uint32_t)v->seen_count;
    return true;
}

void kiln__victims_sort(kiln__victims *v)
{
    if (v->count > 1)
        qsort(v->items, v->count, sizeof *v->items, by_stamp);
}

/* Fill the queue. False when there is nothing to evict. */
static bool refill(kiln__ledger *l, kiln__victims *v)
{
    const uint64_t files = kiln__ledger_count(l);
    const bool all = files <= SCAN_FILES_MAX;

    v->count = v->next = 0;
    for (unsigned k = 0; k < KILN__SHARD_COUNT; k++) {
        kiln__victims_scan(l, v->cursor++ % KILN__SHARD_COUNT, v);
        if (!all && v->count >= SCAN_FILES_MAX / 4)
            break;
    }
    kiln__victims_sort(v);
    if (!all && v->count > SAMPLE_SHARE)
        v->count /= SAMPLE_SHARE;
    return v->count > 0;
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
    /* Samples may hold only entries that were used since or cannot be removed. */
    for (int round = 0; round < 3; round++) {
        while (v->next < v->count) {
            if (kiln__evict_one(l, &v->items[v->next++])) {
                ++*evicted;
                return true;
            }
        }
        if (!refill(l, v))
            return false;
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
        if (!evict_next(l, v, evicted))
            return false;
        have = kiln__ledger_bytes(l);
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
