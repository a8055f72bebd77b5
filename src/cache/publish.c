/*
 * publish.c - put a compiled kernel into the folder, within the folder's limit.
 *
 *     [ledger: make room, reserve] > temporary file > write > [ledger: rename] > journal
 *
 * Rule 1: entries appear by rename only and are never changed. What a crash leaves is a temporary
 *         file, or (without fsync) an entry with holes, which the checksum finds.
 * Rule 2: room is made and booked before a byte is written, and a temporary file has its final
 *         size from the start, so that whoever counts files counts it whole.
 * Rule 3: the ledger is open for moments only, never while a file is written.
 * Rule 4: a temporary file is locked from its creation, which happens while the ledger is open, until
 *         it has its final name. So one that nobody holds belongs to a process that died, and whoever
 *         finds it removes it.
 *
 * src/jit and pack.c call this file. Tests: test_cache_faults, test_cache_limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/parts.h"

#define TEMP_BYTES (sizeof KILN__TEMP_PREFIX + 32)
#define TEMP_TRIES 4

/* One file that is being published. */
typedef struct publication {
    kiln__cache *cache;
    const kiln__place *place;
    int folder, shard; /* open */
    int fd;            /* the temporary file, or -1 */
    char temp[TEMP_BYTES];
    const unsigned char *file;
    size_t bytes;
    int64_t stamp_ns;
} publication;

static void make_temp_name(char name[TEMP_BYTES])
{
    memcpy(name, KILN__TEMP_PREFIX, sizeof KILN__TEMP_PREFIX - 1);
    kiln__random_hex(name + sizeof KILN__TEMP_PREFIX - 1);
}

/* ---- shards ---- */

/* Open the folder of a shard, made where needed; -1 with errno. What is there and must not be makes
 * way first: a file, a link, a folder of others or open to them. */
static int open_shard(int folder, const char *shard)
{
    int fd = kiln__shard_open(folder, shard, O_PATH), why = errno;

    if (fd >= 0 || (why != ENOENT && why != KILN__EFOREIGN)) {
        errno = why;
        return fd;
    }
    if (why == KILN__EFOREIGN && !kiln__make_way(folder, shard))
        return -1;
    /* Whoever makes it first, opening it tells whether it is there. */
    if (mkdirat(folder, shard, 0700) != 0 && errno != EEXIST)
        why = errno;
    fd = kiln__shard_open(folder, shard, O_PATH);
    if (fd < 0 && errno == ENOENT)
        errno = why;
    return fd;
}

/* Counts the names that are not removed. */
static void sweep_name(void *user, int shard_fd, const char *name)
{
    uint32_t *count = user;

    *count += !kiln__remove_dead_temp(shard_fd, name);
}

/* Remove the temporary files that killed writers left in a shard, and count the shard again where
 * the account has another number of files. Each cache does this once for each shard that it stores
 * into, after a compilation that took a hundred times as long. */
static void sweep_shard(kiln__cache *cache, kiln__ledger *ledger, unsigned shard)
{
    const unsigned bit = 1u << shard % 32;
    uint32_t count = 0;

    if ((atomic_fetch_or(&cache->swept[shard / 32], bit) & bit) != 0)
        return;
    if (kiln__list_shard(ledger->folder, shard, sweep_name, &count) &&
        count != ledger->file.count[shard])
        (void)kiln__ledger_recount(ledger, shard);
}

/* ---- one file ---- */

/* Make room below the limit, oldest entries first; 0, or ENOSPC. */
static int make_room(publication *p, kiln__ledger *ledger)
{
    kiln__cache *cache = p->cache;
    uint64_t evicted = 0;

    if (cache->limit_bytes == UINT64_MAX)
        return 0;
    pthread_mutex_lock(&cache->victims_mutex);
    bool fits = kiln__evict_for(ledger, &cache->victims, cache->limit_bytes, p->bytes, &evicted);
    pthread_mutex_unlock(&cache->victims_mutex);
    atomic_fetch_add_explicit(&cache->evictions, evicted, memory_order_relaxed);
    return fits ? 0 : ENOSPC;
}

static int make_temp(publication *p)
{
    for (int k = 0; p->fd < 0 && k < TEMP_TRIES; k++) {
        make_temp_name(p->temp);
        p->fd =
            openat(p->shard, p->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (p->fd < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (p->fd < 0)
        return errno;
    (void)kiln__lock_byte(p->fd, 0, 0);
    return ftruncate(p->fd, (off_t)p->bytes) == 0 ? 0 : errno;
}

/* Remove the temporary file, and count what is there: a removal or a renaming may have failed, or
 * have been done although it was reported as failed. What cannot be counted stays in the
 * account. */
static void give_up(publication *p, kiln__ledger *ledger)
{
    unlinkat(p->shard, p->temp, 0);
    if (kiln__ledger_recount(ledger, p->place->shard_index))
        (void)!kiln__ledger_commit(ledger);
}

/* Book the bytes and make the temporary file that will hold them; 0 or an errno value. */
static int reserve(publication *p)
{
    kiln__ledger ledger;
    int why = kiln__ledger_open(p->folder, &ledger);

    if (why != 0)
        return why;
    kiln__seen_stamp(p->cache, ledger.file.newest_ns);
    p->stamp_ns = kiln__next_stamp(p->cache);
    why = make_room(p, &ledger);
    if (why == 0) {
        kiln__ledger_add(&ledger, p->place->shard_index, p->bytes);
        ledger.file.newest_ns = p->stamp_ns;
    }
    /* Evictions are booked even if this file does not come to be. */
    int committed = kiln__ledger_commit(&ledger);
    why = why != 0 ? why : committed;
    if (why == 0) {
        why = make_temp(p);
        if (why != 0)
            give_up(p, &ledger);
    }
    kiln__ledger_close(&ledger);
    return why;
}

/* 0 or an errno value. A folder that has the entry's name is moved away. */
static int give_name(const publication *p)
{
    const char *name = p->place->name;
    int why = renameat(p->shard, p->temp, p->shard, name) == 0 ? 0 : errno;

    if ((why == EISDIR || why == ENOTEMPTY || why == EEXIST) && kiln__make_way(p->shard, name))
        why = renameat(p->shard, p->temp, p->shard, name) == 0 ? 0 : errno;
    return why;
}

/* Give the temporary file its name (`why` 0), or remove it; and bring the account up to date. */
static int settle(publication *p, int why)
{
    const unsigned shard = p->place->shard_index;
    kiln__ledger ledger;
    struct stat old;
    const bool counted = kiln__ledger_open(p->folder, &ledger) == 0;
    const bool replaces =
        fstatat(p->shard, p->place->name, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode);

    if (why == 0)
        why = give_name(p);
    if (!counted) {
        /* The account is too high until the shard is counted again. */
        if (why != 0)
            unlinkat(p->shard, p->temp, 0);
        return why;
    }
    if (why != 0) {
        give_up(p, &ledger);
    } else {
        if (replaces)
            kiln__ledger_remove(&ledger, shard, (uint64_t)old.st_size);
        sweep_shard(p->cache, &ledger, shard);
        (void)!kiln__ledger_commit(&ledger);
    }
    kiln__ledger_close(&ledger);
    return why;
}

/* Network file systems report a full disk when a descriptor is closed; the file's own stays open,
 * for its lock. 0 or an errno value. */
static int close_early(int fd)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    return copy < 0 || close(copy) == 0 || errno == EINTR ? 0 : errno;
}

/* Publish a file in the open shard; 0 or an errno value, and nothing left behind. */
static int write_entry(publication *p)
{
    struct timespec times[2];
    int why = kiln__is_beyond_process_limit(p->bytes) ? EFBIG : reserve(p);

    if (why == 0) {
        why = kiln__write_all(p->fd, p->file, p->bytes);
        kiln__stamp_times(p->stamp_ns, times);
        (void)!futimens(p->fd, times);
        if (why == 0)
            why = close_early(p->fd);
        why = settle(p, why);
    }
    if (p->fd >= 0)
        kiln__unlock_and_close(p->fd);
    p->fd = -1;
    return why;
}

/* ---- store ---- */

/* Tell the index. */
static void note_store(const publication *p, const void *key, size_t key_bytes, double compile_us,
                       const char *origin)
{
    kiln__cache *cache = p->cache;
    char target[32], kernel[64];

    kiln__count(&cache->stores);
    atomic_fetch_add_explicit(&cache->bytes_written, p->bytes, memory_order_relaxed);
    kiln__key_labels(key, key_bytes, target, kernel);
    if (kiln__journal_store(&cache->journal, p->place->name, p->stamp_ns, p->bytes, compile_us,
                            origin, target, kernel))
        kiln__journal_flush(&cache->journal, p->folder);
}

/* 0, an errno value, or -1 when the reason has been logged already. */
static int store_file(publication *p)
{
    /* The folder may have been deleted, or not be there yet. */
    if (!kiln__renew_folder(p->cache, true))
        return -1;
    p->folder = kiln__dup_folder(p->cache);
    if (p->folder < 0)
        return errno;
    if (p->bytes > p->cache->limit_bytes) {
        if (kiln__is_news(p->cache, KILN__TROUBLE_LIMIT))
            kiln__log_line(&p->cache->log, KILN__LOG_WARN,
                           "a kernel of %zu bytes is kept in memory only: the cache may hold %llu",
                           p->bytes, (unsigned long long)p->cache->limit_bytes);
        return -1;
    }
    p->shard = open_shard(p->folder, p->place->shard);
    if (p->shard < 0)
        return errno;
    /* What this store has hit must look used before victims are chosen. */
    if (kiln__journal_has_hits(&p->cache->journal))
        kiln__journal_flush(&p->cache->journal, p->folder);
    return write_entry(p);
}

bool kiln__cache_store_as(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                          size_t bytes, double compile_us, const char *origin)
{
    const kiln__place place = kiln__place_of(key, key_bytes);
    const bool has_disk = cache->path[0] != '\0';
    publication p = {.cache = cache, .place = &place, .folder = -1, .shard = -1, .fd = -1};
    unsigned char *file = NULL;
    char text[128];
    int why = -1;

    kiln__cache_enter(cache);
    if (has_disk)
        file = kiln__blob_encode(key, key_bytes, data, bytes, &p.bytes);
    if (file != NULL) {
        p.file = file;
        why = store_file(&p);
    }
    if (why == 0)
        note_store(&p, key, key_bytes, compile_us, origin);
    else if (why > 0 && kiln__is_news(cache, KILN__TROUBLE_WRITE))
        kiln__log_line(&cache->log, KILN__LOG_WARN,
                       "a kernel is kept in memory only, not on the disk: %s: %s",
                       strerror_r(why, text, sizeof text), cache->path);
    if (why != 0 && p.folder >= 0)
        kiln__flight_tell_failure(p.folder, place.hash);
    if (p.shard >= 0)
        close(p.shard);
    if (p.folder >= 0)
        close(p.folder);
    kiln__free(file);
    if (why != 0 && has_disk)
        kiln__count(&cache->store_failures);
    return why == 0;
}

void kiln__cache_store(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                       size_t bytes)
{
    (void)kiln__cache_store_as(cache, key, key_bytes, data, bytes, 0, "compiled");
}
