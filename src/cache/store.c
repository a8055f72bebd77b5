/*
 * store.c - find and keep compiled kernels: one file each, named by the hash of its key.
 *
 *     <folder>/4f/4f1b...32 hex digits      a blob (blob.c)
 *     <folder>/4f/tmp-...                   one being written
 *
 *     load:   bundles > entry.c: open > read > verify > note the hit > close
 *     store:  publish.c
 *
 * Rule 1: a hit opens one file: it locks no file, scans no folder, and uses neither index nor ledger.
 * Rule 2: no failure leaves this folder of the source. Each kind is told to the log once. A blob that
 *         no disk takes is not kept: the context that compiled it has it loaded already.
 * Rule 3: the folder is held by a descriptor. Its name is used again only to open it, to make it,
 *         and when it turns out to have been deleted.
 *
 * src/context and src/jit call this file through cache.h. Tests: test_cache, test_cache_faults.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/parts.h"

#define LIMIT_BYTES_DEFAULT ((uint64_t)1 << 30)
#define WAIT_US_DEFAULT 30e6
#define SMALL_FILE_BYTES ((size_t)256 << 10)
/* A hit's stamp is written at once when the old one is an hour old, as relatime does after a day:
 * this is the most that eviction can miss of a process that is killed. */
#define STAMP_AGE_MAX_NS ((int64_t)3600 * 1000000000)

kiln__place kiln__place_of(const void *key, size_t key_bytes)
{
    kiln__place p;

    p.hash = kiln__hash_128(key, key_bytes);
    kiln__place_path(p.hash, p.path);
    memcpy(p.name, p.path + KILN__SHARD_BYTES, KILN__NAME_BYTES);
    memcpy(p.shard, p.name, 2);
    p.shard[2] = '\0';
    p.shard_index = (unsigned)(p.hash.hi >> 56);
    return p;
}

bool kiln__is_news(kiln__cache *cache, kiln__trouble kind)
{
    return (atomic_fetch_or(&cache->troubles, (unsigned)kind) & (unsigned)kind) == 0;
}

/* ---- the folder ---- */

int kiln__dup_folder(kiln__cache *cache)
{
    int fd = -1;

    kiln__cache_enter(cache);
    pthread_rwlock_rdlock(&cache->lock);
    if (cache->fd >= 0)
        fd = fcntl(cache->fd, F_DUPFD_CLOEXEC, 3);
    pthread_rwlock_unlock(&cache->lock);
    return fd;
}

static void flush_journal(kiln__cache *cache)
{
    int folder = kiln__dup_folder(cache);

    if (folder < 0)
        return;
    kiln__journal_flush(&cache->journal, folder);
    close(folder);
}

/* ---- open and close ---- */

static void refuse(kiln__cache *cache, const char *path, const char *reason)
{
    /* The reason first: a long path may be cut, the reason may not. */
    snprintf(cache->refusal, sizeof cache->refusal, "%.*s%s%s", KILN__REASON_BYTES, reason,
             path[0] != '\0' ? ": " : "", path);
    if (kiln__is_news(cache, KILN__TROUBLE_FOLDER))
        kiln__log_line(&cache->log, KILN__LOG_WARN,
                       "the cache folder is not used, kernels are kept in memory only: %s",
                       cache->refusal);
}

/* Find the folder and open it if it is there. False when memory ran out. */
static bool find_folder(kiln__cache *cache, const char *dir)
{
    char reason[KILN__REASON_BYTES] = "";

    if (dir != NULL && dir[0] == '\0')
        return true;
    char *path = kiln__dir_path(dir, reason);
    if (path == NULL) {
        if (reason[0] != '\0')
            refuse(cache, "", reason);
        return reason[0] != '\0';
    }
    kiln__dir_state found = kiln__dir_open(path, false, &cache->fd, reason);
    if (found == KILN__DIR_REFUSED) {
        refuse(cache, path, reason);
        kiln__free(path);
        return true;
    }
    kiln__free(cache->path);
    cache->path = path;
    return true;
}

/* Take bundles from a list of paths; each that cannot be used is told to the log. */
static void add_bundles(kiln__cache *cache, const char *list)
{
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        char *path = kiln__strndup(list, length);
        kiln_error err = KILN_ERROR_INIT;
        if (length > 0 && path != NULL && kiln__cache_add_bundle(cache, path, &err) != KILN_OK)
            kiln__log_line(&cache->log, KILN__LOG_ERROR, "%s; it is not used", err.message);
        kiln_error_clear(&err);
        kiln__free(path);
        list += length + (list[length] == ':');
    }
}

static void set_limit(kiln__cache *cache, uint64_t limit_bytes)
{
    const char *text = kiln__env("KILN_CACHE_LIMIT");

    cache->limit_bytes = limit_bytes != 0 ? limit_bytes : LIMIT_BYTES_DEFAULT;
    if (limit_bytes == 0 && text != NULL && !kiln__bytes_parse(text, &cache->limit_bytes))
        kiln__log_line(&cache->log, KILN__LOG_WARN,
                       "KILN_CACHE_LIMIT=%s is no size such as 500M or 2G; the limit is 1 GiB",
                       text);
}

/* Locks and tables; false when one cannot be made, with what was made gone again. */
static bool make_parts(kiln__cache *cache)
{
    if (pthread_rwlock_init(&cache->lock, NULL) != 0)
        return false;
    if (pthread_mutex_init(&cache->victims_mutex, NULL) != 0)
        goto no_victims;
    if (pthread_mutex_init(&cache->bundles_mutex, NULL) != 0)
        goto no_bundles;
    if (kiln__journal_init(&cache->journal))
        return true;
    pthread_mutex_destroy(&cache->bundles_mutex);
no_bundles:
    pthread_mutex_destroy(&cache->victims_mutex);
no_victims:
    pthread_rwlock_destroy(&cache->lock);
    return false;
}

kiln__cache *kiln__cache_open_with(const kiln__cache_options *opts)
{
    kiln__cache *cache = kiln__calloc(1, sizeof *cache);

    if (cache == NULL)
        return NULL;
    cache->fd = -1;
    cache->log = opts->log;
    cache->wait_us = WAIT_US_DEFAULT;
    atomic_init(&cache->generation, kiln__fork_generation());
    atomic_init(&cache->renewing, kiln__fork_generation());
    if (!make_parts(cache)) {
        kiln__free(cache);
        return NULL;
    }
    cache->path = kiln__strdup("");
    if (cache->path == NULL || !find_folder(cache, opts->dir)) {
        kiln__cache_close(cache);
        return NULL;
    }
    set_limit(cache, opts->limit_bytes);
    add_bundles(cache, opts->bundles);
    add_bundles(cache, kiln__env("KILN_BUNDLES"));
    return cache;
}

kiln__cache *kiln__cache_open(const char *dir, const kiln__log *log)
{
    kiln__cache_options opts = {.dir = dir};

    if (log != NULL)
        opts.log = *log;
    return kiln__cache_open_with(&opts);
}

kiln_status kiln__cache_add_bundle(kiln__cache *cache, const char *path, kiln_error *err)
{
    kiln__cache_enter(cache);
    pthread_mutex_lock(&cache->bundles_mutex);
    const unsigned count = atomic_load_explicit(&cache->bundle_count, memory_order_relaxed);
    const kiln_status status =
        count == KILN_BUNDLE_MAX
            ? kiln__fail(err, KILN_ERR_CACHE, "bundle %s: %d bundles are in use already", path,
                         KILN_BUNDLE_MAX)
            : kiln__bundle_open(path, &cache->bundles[count], err);
    /* Readers see a bundle only after all of it is there. */
    if (status == KILN_OK)
        atomic_store_explicit(&cache->bundle_count, count + 1, memory_order_release);
    pthread_mutex_unlock(&cache->bundles_mutex);
    return status;
}

void kiln__cache_close(kiln__cache *cache)
{
    if (cache == NULL)
        return;
    kiln__cache_enter(cache);
    flush_journal(cache);
    if (cache->fd >= 0)
        close(cache->fd);
    for (unsigned k = 0; k < atomic_load(&cache->bundle_count); k++)
        kiln__bundle_close(&cache->bundles[k]);
    kiln__victims_clear(&cache->victims);
    kiln__journal_clear(&cache->journal);
    pthread_mutex_destroy(&cache->bundles_mutex);
    pthread_mutex_destroy(&cache->victims_mutex);
    pthread_rwlock_destroy(&cache->lock);
    kiln__free(cache->path);
    kiln__free(cache);
}

const char *kiln__cache_dir(const kiln__cache *cache)
{
    return cache->path;
}

const char *kiln__cache_refusal(const kiln__cache *cache)
{
    return cache->refusal;
}

static uint64_t value_of(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void kiln__cache_get_counters(kiln__cache *cache, kiln_cache_counters *out)
{
    *out = (kiln_cache_counters){.hits = value_of(&cache->hits),
                                 .bundle_hits = value_of(&cache->bundle_hits),
                                 .misses = value_of(&cache->misses),
                                 .miss_absent = value_of(&cache->miss_absent),
                                 .miss_damaged = value_of(&cache->miss_damaged),
                                 .miss_other = value_of(&cache->miss_other),
                                 .miss_unreadable = value_of(&cache->miss_unreadable),
                                 .stores = value_of(&cache->stores),
                                 .store_failures = value_of(&cache->store_failures),
                                 .evictions = value_of(&cache->evictions),
                                 .waits = value_of(&cache->waits),
                                 .wait_hits = value_of(&cache->wait_hits),
                                 .bytes_read = value_of(&cache->bytes_read),
                                 .bytes_written = value_of(&cache->bytes_written),
                                 .compiles = value_of(&cache->compiles),
                                 .compile_us = value_of(&cache->compile_us)};
}

void kiln__cache_note_compile(kiln__cache *cache, double us)
{
    kiln__count(&cache->compiles);
    if (us > 0)
        atomic_fetch_add_explicit(&cache->compile_us, (uint64_t)us, memory_order_relaxed);
}

/* ---- a folder that was deleted, or is not there yet ---- */

bool kiln__renew_folder(kiln__cache *cache, bool create)
{
    char reason[KILN__REASON_BYTES] = "";
    kiln__dir_state state = KILN__DIR_OPEN;

    kiln__cache_enter(cache);
    pthread_rwlock_wrlock(&cache->lock);
    if (cache->fd >= 0 && !kiln__dir_is_good(cache->fd)) {
        close(cache->fd);
        cache->fd = -1;
    }
    if (cache->fd < 0)
        state = kiln__dir_open(cache->path, create, &cache->fd, reason);
    pthread_rwlock_unlock(&cache->lock);

    if (state != KILN__DIR_OPEN && state != KILN__DIR_ABSENT &&
        kiln__is_news(cache, KILN__TROUBLE_FOLDER))
        kiln__log_line(&cache->log, KILN__LOG_WARN, "the cache folder cannot be used now: %s: %s",
                       reason, cache->path);
    return state == KILN__DIR_OPEN;
}

/* Open an entry as kiln__entry_open does; ENOENT also where there is no folder. */
static int open_below(kiln__cache *cache, const char *path, struct stat *st, bool *shard_bad)
{
    int fd = -1;

    *shard_bad = false;
    pthread_rwlock_rdlock(&cache->lock);
    errno = ENOENT;
    if (cache->fd >= 0)
        fd = kiln__entry_open(cache->fd, path, st, shard_bad);
    pthread_rwlock_unlock(&cache->lock);
    return fd;
}

/* Whether it is worth looking again: the folder has appeared, or was deleted and made anew. */
static bool folder_has_changed(kiln__cache *cache)
{
    pthread_rwlock_rdlock(&cache->lock);
    bool stale = cache->fd < 0 || !kiln__dir_is_good(cache->fd);
    pthread_rwlock_unlock(&cache->lock);
    return stale && kiln__renew_folder(cache, false);
}

/* ---- stamps ---- */

void kiln__seen_stamp(kiln__cache *cache, int64_t stamp_ns)
{
    int64_t newest = atomic_load_explicit(&cache->newest_ns, memory_order_relaxed);

    while (stamp_ns > newest &&
           !atomic_compare_exchange_weak_explicit(&cache->newest_ns, &newest, stamp_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

int64_t kiln__next_stamp(kiln__cache *cache)
{
    struct timespec now = {0};
    int64_t newest = atomic_load_explicit(&cache->newest_ns, memory_order_relaxed), stamp = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    do {
        stamp = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        /* A microsecond: some file systems keep no finer times. */
        if (stamp <= newest)
            stamp = newest + 1000;
    } while (!atomic_compare_exchange_weak_explicit(&cache->newest_ns, &newest, stamp,
                                                    memory_order_relaxed, memory_order_relaxed));
    return stamp;
}

/* Note that an entry was used now. Its stamp is set when the journal is flushed, as no launch
 * should pay for it; but where the stamp is old already it is set here, so that a process which is
 * killed before it flushes loses no more than that of the order. Where it is not allowed, eviction
 * knows less. */
static void note_hit(kiln__cache *cache, int fd, const kiln__place *p, const struct stat *st)
{
    const int64_t old = kiln__stamp_of(st);

    kiln__seen_stamp(cache, old);
    int64_t stamp = kiln__next_stamp(cache);
    if (stamp - old > STAMP_AGE_MAX_NS) {
        struct timespec times[2];
        kiln__stamp_times(stamp, times);
        (void)!futimens(fd, times);
    }
    if (kiln__journal_hit(&cache->journal, p->hash, stamp))
        flush_journal(cache);
}

/* ---- load ---- */

/* An error of the disk is no proof of damage: the entry stays, and is looked at again next time. */
static kiln__verdict read_exactly(int fd, unsigned char *data, size_t bytes)
{
    const ssize_t got = kiln__read_up_to(fd, data, bytes);

    if (got < 0)
        return errno == EISDIR ? KILN__VERDICT_DAMAGED : KILN__VERDICT_UNREADABLE;
    return (size_t)got == bytes ? KILN__VERDICT_VALID : KILN__VERDICT_DAMAGED; /* too short */
}

/* Read the whole of an open file whose header is right. VALID comes with heap memory. Most entries
 * are small and come with one read; for a larger one no memory is asked before its header agrees
 * with its size. */
static kiln__verdict read_file(int fd, size_t bytes, size_t key_bytes, unsigned char **file_out)
{
    unsigned char header[KILN__BLOB_HEADER_BYTES], *file = NULL;
    size_t done = 0;
    kiln__verdict verdict = KILN__VERDICT_VALID;

    if (bytes < sizeof header)
        return KILN__VERDICT_DAMAGED;
    if (bytes > SMALL_FILE_BYTES) {
        verdict = read_exactly(fd, header, sizeof header);
        if (verdict == KILN__VERDICT_VALID)
            verdict = kiln__blob_check_header(header, bytes, key_bytes);
        if (verdict != KILN__VERDICT_VALID)
            return verdict;
        done = sizeof header;
    }
    file = kiln__alloc(bytes);
    if (file == NULL)
        return KILN__VERDICT_UNREADABLE;
    memcpy(file, header, done);
    verdict = read_exactly(fd, file + done, bytes - done);
    if (verdict == KILN__VERDICT_VALID) {
        *file_out = file;
        return verdict;
    }
    kiln__free(file);
    return verdict;
}

/* Verify an open entry and take its payload. VALID comes with a blob, unless memory ran out. */
static kiln__verdict read_entry(int fd, const void *key, size_t key_bytes, kiln__blob *blob_out,
                                const struct stat *st)
{
    unsigned char *file = NULL;
    const void *payload = NULL;
    size_t payload_bytes = 0;

    kiln__verdict verdict = read_file(fd, (size_t)st->st_size, key_bytes, &file);
    if (verdict == KILN__VERDICT_VALID)
        verdict =
            kiln__blob_verify(file, (size_t)st->st_size, key, key_bytes, &payload, &payload_bytes);
    if (verdict != KILN__VERDICT_VALID) {
        kiln__free(file);
        return verdict;
    }
    /* Moving some kilobytes to the front is cheaper than a second buffer or a mapping. */
    memmove(file, payload, payload_bytes);
    *blob_out = (kiln__blob){file, payload_bytes};
    return verdict;
}

/* Free the place of an entry that is damaged or not ours, or of its whole shard. Should a good one
 * have replaced it just now, it is compiled once more. */
static void remove_entry(kiln__cache *cache, const kiln__place *p, bool shard_bad)
{
    int folder = kiln__dup_folder(cache), shard = -1;
    kiln__ledger ledger;

    if (kiln__is_news(cache, KILN__TROUBLE_DAMAGE))
        kiln__log_line(&cache->log, KILN__LOG_WARN, "a damaged cache entry is rebuilt: %s/%s",
                       cache->path, shard_bad ? p->shard : p->path);
    if (folder < 0)
        return;
    bool counted = kiln__ledger_open(folder, &ledger) == 0;
    if (shard_bad) {
        (void)kiln__make_way(folder, p->shard);
    } else if ((shard = kiln__shard_open(folder, p->shard, O_PATH)) >= 0) {
        (void)kiln__make_way(shard, p->name);
        close(shard);
    }
    if (counted) {
        (void)kiln__ledger_recount(&ledger, p->shard_index);
        (void)!kiln__ledger_commit(&ledger);
        kiln__ledger_close(&ledger);
    }
    close(folder);
}

/* VALID with a blob, or why not. */
static kiln__verdict load_from_disk(kiln__cache *cache, const kiln__place *p, const void *key,
                                    size_t key_bytes, kiln__blob *blob_out)
{
    kiln__verdict verdict = KILN__VERDICT_ABSENT;
    struct stat st;
    bool shard_bad = false;
    int fd = open_below(cache, p->path, &st, &shard_bad);

    if (fd < 0 && errno == ENOENT && folder_has_changed(cache))
        fd = open_below(cache, p->path, &st, &shard_bad);
    if (fd >= 0) {
        verdict = read_entry(fd, key, key_bytes, blob_out, &st);
        if (verdict == KILN__VERDICT_VALID)
            note_hit(cache, fd, p, &st);
        close(fd);
    } else if (errno == KILN__EFOREIGN) {
        verdict = KILN__VERDICT_DAMAGED; /* not ours, or nothing that could be an entry */
    } else if (errno != ENOENT) {
        verdict = KILN__VERDICT_UNREADABLE;
    }
    if (verdict == KILN__VERDICT_DAMAGED)
        remove_entry(cache, p, shard_bad);
    if (verdict == KILN__VERDICT_VALID)
        atomic_fetch_add_explicit(&cache->bytes_read, (uint64_t)st.st_size, memory_order_relaxed);
    return verdict;
}

static bool load_from_bundles(kiln__cache *cache, kiln__hash128 hash, const void *key,
                              size_t key_bytes, kiln__blob *blob_out)
{
    const unsigned count = atomic_load_explicit(&cache->bundle_count, memory_order_acquire);

    for (unsigned k = 0; k < count; k++) {
        const void *payload = NULL;
        size_t file_bytes = 0, payload_bytes = 0;
        const void *file = kiln__bundle_find(&cache->bundles[k], hash, &file_bytes);
        if (file == NULL ||
            !kiln__blob_check(file, file_bytes, key, key_bytes, &payload, &payload_bytes))
            continue;
        /* A copy: whoever gets it may keep it longer than the cache. */
        blob_out->data = kiln__alloc(payload_bytes);
        if (blob_out->data == NULL)
            return false;
        memcpy(blob_out->data, payload, payload_bytes);
        blob_out->bytes = payload_bytes;
        atomic_fetch_add_explicit(&cache->bytes_read, file_bytes, memory_order_relaxed);
        return true;
    }
    return false;
}

static void count_miss(kiln__cache *cache, kiln__verdict verdict)
{
    kiln__count(&cache->misses);
    kiln__count(verdict == KILN__VERDICT_ABSENT    ? &cache->miss_absent
                : verdict == KILN__VERDICT_DAMAGED ? &cache->miss_damaged
                : verdict == KILN__VERDICT_OTHER   ? &cache->miss_other
                                                   : &cache->miss_unreadable);
}

/* Look into the bundles, then into the folder. Counts hits; misses are the caller's to count. */
static kiln__verdict load(kiln__cache *cache, const void *key, size_t key_bytes,
                          kiln__blob *blob_out)
{
    kiln__place p = kiln__place_of(key, key_bytes);
    kiln__verdict verdict = KILN__VERDICT_ABSENT;

    *blob_out = (kiln__blob)KILN__BLOB_INIT;
    if (load_from_bundles(cache, p.hash, key, key_bytes, blob_out)) {
        kiln__count(&cache->bundle_hits);
        verdict = KILN__VERDICT_VALID;
    } else if (cache->path[0] != '\0') {
        verdict = load_from_disk(cache, &p, key, key_bytes, blob_out);
    }
    if (verdict == KILN__VERDICT_VALID)
        kiln__count(&cache->hits);
    return verdict;
}

bool kiln__cache_load(kiln__cache *cache, const void *key, size_t key_bytes, kiln__blob *blob_out)
{
    kiln__cache_enter(cache);
    kiln__verdict verdict = load(cache, key, key_bytes, blob_out);
    if (verdict != KILN__VERDICT_VALID)
        count_miss(cache, verdict);
    return verdict == KILN__VERDICT_VALID;
}

/* ---- flights ---- */

void kiln__cache_set_wait(kiln__cache *cache, double wait_us)
{
    cache->wait_us = wait_us;
}

bool kiln__cache_flight_begin(kiln__cache *cache, const void *key, size_t key_bytes,
                              kiln__flight *flight, kiln__blob *blob_out)
{
    kiln__cache_enter(cache);
    *blob_out = (kiln__blob)KILN__BLOB_INIT;
    *flight = (kiln__flight)KILN__FLIGHT_INIT;
    if (cache->path[0] == '\0' || !kiln__renew_folder(cache, true))
        return false;
    int folder = kiln__dup_folder(cache);
    if (folder < 0)
        return false;
    kiln__awaited awaited =
        kiln__flight_lock(folder, kiln__hash_128(key, key_bytes), cache->wait_us, flight);
    close(folder);
    /* Between the miss and the lock somebody else may have compiled, stored and gone. */
    bool found = load(cache, key, key_bytes, blob_out) == KILN__VERDICT_VALID;
    if (awaited != KILN__AWAITED_NOTHING)
        kiln__count(&cache->waits);
    if (found)
        kiln__count(&cache->wait_hits);
    else if (awaited == KILN__AWAITED_FAILURE)
        kiln__cache_flight_end(flight);
    return found;
}
