/*
 * store.c - find and keep compiled kernels: one file each, named by the hash of its key.
 *
 *     <folder>/4f/4f1b...32 hex digits      a blob (blob.c)
 *     <folder>/4f/tmp-...                   one being written
 *
 *     load:   openat > fstat > read > judge > close          one file, no lock file, no scan
 *     store:  temporary file beside the target > write > rename
 *
 * Rule 1: a reader sees a whole file or none: entries appear by rename only and are never changed.
 *         What a crash leaves is a temporary file, or (without fsync) an entry with holes, which
 *         the checksum finds.
 * Rule 2: no failure leaves this file. Each kind is told to the log once; a blob that no disk takes
 *         is kept in memory.
 * Rule 3: the folder is held by a descriptor. Its name is used again only to open it, to make it,
 *         and when it turns out to have been deleted.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

#define SHARD_BYTES ((size_t)3) /* two hex digits, NUL */
#define NAME_BYTES ((size_t)33) /* 32 hex digits, NUL */
#define TEMP_PREFIX "tmp-"
#define TEMP_BYTES (sizeof TEMP_PREFIX + 32)
#define TEMP_TRIES 4
/* No write takes this long: an older temporary file belongs to a process that died. */
#define TEMP_SECONDS_MAX 3600

/* Kinds of trouble, each logged once. */
typedef enum trouble {
    TROUBLE_FOLDER = 1u << 0, /* the folder cannot be made, opened or trusted */
    TROUBLE_WRITE = 1u << 1,  /* an entry cannot be written */
    TROUBLE_DAMAGE = 1u << 2  /* an entry was damaged */
} trouble;

struct kiln__cache {
    kiln__log log;
    char *path;                           /* absolute; "" when there is no disk */
    char refusal[2 * KILN__REASON_BYTES]; /* set while opening, constant afterwards */
    pthread_rwlock_t lock;                /* guards `fd` against being replaced while in use */
    int fd;                               /* the folder, or -1 while it does not exist */
    kiln__memory memory;
    atomic_uint troubles;        /* kinds already logged */
    atomic_uint swept[256 / 32]; /* shards whose old temporary files have been removed */
    _Atomic uint64_t hits, misses, damaged, stores, store_failures;
};

/* An entry's place: "4f/4f1b..." below the folder. */
typedef struct place {
    kiln__hash128 hash;
    char shard[SHARD_BYTES];
    char name[NAME_BYTES];
    char path[SHARD_BYTES + NAME_BYTES];
} place;

static place place_of(const void *key, size_t key_bytes)
{
    place p;

    p.hash = kiln__hash_128(key, key_bytes);
    kiln__hash_hex(p.hash, p.name);
    memcpy(p.shard, p.name, 2);
    p.shard[2] = '\0';
    memcpy(p.path, p.shard, 2);
    p.path[2] = '/';
    memcpy(p.path + 3, p.name, NAME_BYTES);
    return p;
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* True for the first caller with this kind. */
static bool is_news(kiln__cache *cache, trouble kind)
{
    return (atomic_fetch_or(&cache->troubles, (unsigned)kind) & (unsigned)kind) == 0;
}

/* ---- open and close ---- */

static void refuse(kiln__cache *cache, const char *path, const char *reason)
{
    /* The reason first: a long path may be cut, the reason may not. */
    snprintf(cache->refusal, sizeof cache->refusal, "%.*s%s%s", KILN__REASON_BYTES, reason,
             path[0] != '\0' ? ": " : "", path);
    if (is_news(cache, TROUBLE_FOLDER))
        kiln__log_line(&cache->log,
                       "the cache folder is not used, kernels are kept in memory only: %s",
                       cache->refusal);
}

/* Find the folder and open it if it is there. False when memory ran out. */
static bool find_folder(kiln__cache *cache, const char *dir)
{
    char reason[KILN__REASON_BYTES] = "";
    char *path = NULL;
    kiln__dir_state found = KILN__DIR_ABSENT;

    if (dir != NULL && dir[0] == '\0')
        return true;
    path = kiln__dir_path(dir, reason);
    if (path == NULL) {
        if (reason[0] != '\0')
            refuse(cache, "", reason);
        return reason[0] != '\0';
    }
    found = kiln__dir_open(path, false, &cache->fd, reason);
    if (found == KILN__DIR_REFUSED) {
        refuse(cache, path, reason);
        kiln__free(path);
        return true;
    }
    kiln__free(cache->path);
    cache->path = path;
    return true;
}

kiln__cache *kiln__cache_open(const char *dir, const kiln__log *log)
{
    kiln__cache *cache = kiln__calloc(1, sizeof *cache);

    if (cache == NULL)
        return NULL;
    cache->fd = -1;
    if (log != NULL)
        cache->log = *log;
    if (pthread_rwlock_init(&cache->lock, NULL) != 0) {
        kiln__free(cache);
        return NULL;
    }
    if (!kiln__memory_init(&cache->memory)) {
        pthread_rwlock_destroy(&cache->lock);
        kiln__free(cache);
        return NULL;
    }
    cache->path = kiln__strdup("");
    if (cache->path == NULL || !find_folder(cache, dir)) {
        kiln__cache_close(cache);
        return NULL;
    }
    return cache;
}

void kiln__cache_close(kiln__cache *cache)
{
    if (cache == NULL)
        return;
    if (cache->fd >= 0)
        close(cache->fd);
    kiln__memory_clear(&cache->memory);
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

void kiln__cache_get_stats(kiln__cache *cache, kiln__cache_stats *out)
{
    out->hits = atomic_load_explicit(&cache->hits, memory_order_relaxed);
    out->misses = atomic_load_explicit(&cache->misses, memory_order_relaxed);
    out->damaged = atomic_load_explicit(&cache->damaged, memory_order_relaxed);
    out->stores = atomic_load_explicit(&cache->stores, memory_order_relaxed);
    out->store_failures = atomic_load_explicit(&cache->store_failures, memory_order_relaxed);
}

/* ---- the folder ---- */

/* Open the folder if it is not open, or no longer exists; make it when `create`. True when it is
 * open now. */
static bool renew_folder(kiln__cache *cache, bool create)
{
    char reason[KILN__REASON_BYTES] = "";
    kiln__dir_state state = KILN__DIR_OPEN;

    pthread_rwlock_wrlock(&cache->lock);
    if (cache->fd >= 0 && kiln__dir_is_gone(cache->fd)) {
        close(cache->fd);
        cache->fd = -1;
    }
    if (cache->fd < 0)
        state = kiln__dir_open(cache->path, create, &cache->fd, reason);
    pthread_rwlock_unlock(&cache->lock);

    if (state != KILN__DIR_OPEN && state != KILN__DIR_ABSENT && is_news(cache, TROUBLE_FOLDER))
        kiln__log_line(&cache->log, "the cache folder cannot be used now: %s: %s", reason,
                       cache->path);
    return state == KILN__DIR_OPEN;
}

/* openat in the folder, -1 with errno; ENOENT while there is no folder. */
static int open_below(kiln__cache *cache, const char *path, int flags)
{
    int fd = -1;

    pthread_rwlock_rdlock(&cache->lock);
    errno = ENOENT;
    if (cache->fd >= 0) {
        do {
            fd = openat(cache->fd, path, flags | O_CLOEXEC | O_NOFOLLOW);
        } while (fd < 0 && errno == EINTR);
    }
    pthread_rwlock_unlock(&cache->lock);
    return fd;
}

/* Whether it is worth looking again: the folder has appeared, or was deleted and made anew. */
static bool folder_has_changed(kiln__cache *cache)
{
    bool stale = false;

    pthread_rwlock_rdlock(&cache->lock);
    stale = cache->fd < 0 || kiln__dir_is_gone(cache->fd);
    pthread_rwlock_unlock(&cache->lock);
    return stale && renew_folder(cache, false);
}

/* ---- load ---- */

static bool read_exactly(int fd, unsigned char *data, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t got = read(fd, data + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Judge an open entry and take its payload. VALID comes with a blob, unless memory ran out. */
static kiln__verdict read_entry(int fd, const void *key, size_t key_bytes, kiln__blob *blob_out)
{
    unsigned char header[KILN__BLOB_HEADER_BYTES];
    unsigned char *file = NULL;
    struct stat st;
    kiln__verdict verdict = KILN__VERDICT_DAMAGED;
    const void *payload = NULL;
    size_t file_bytes = 0, payload_bytes = 0;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 || !read_exactly(fd, header, sizeof header))
        return KILN__VERDICT_DAMAGED;
    verdict = kiln__blob_judge_header(header, (uint64_t)st.st_size, key_bytes);
    if (verdict != KILN__VERDICT_VALID)
        return verdict;

    /* The header agrees with the true size, so the size is what a blob of ours can have. */
    file_bytes = (size_t)st.st_size;
    file = kiln__alloc(file_bytes);
    if (file == NULL)
        return KILN__VERDICT_VALID;
    memcpy(file, header, sizeof header);
    if (read_exactly(fd, file + sizeof header, file_bytes - sizeof header))
        verdict = kiln__blob_judge(file, file_bytes, key, key_bytes, &payload, &payload_bytes);
    else
        verdict = KILN__VERDICT_DAMAGED;
    if (verdict != KILN__VERDICT_VALID) {
        kiln__free(file);
        return verdict;
    }
    /* Moving some kilobytes to the front is cheaper than a second buffer or a mapping. */
    memmove(file, payload, payload_bytes);
    *blob_out = (kiln__blob){file, payload_bytes};
    return verdict;
}

/* Remove an entry that is damaged or not ours. Should a good one have replaced it just now, it is
 * compiled once more. */
static void remove_entry(kiln__cache *cache, const place *p)
{
    count(&cache->damaged);
    if (is_news(cache, TROUBLE_DAMAGE))
        kiln__log_line(&cache->log, "a damaged cache entry is rebuilt: %s/%s", cache->path,
                       p->path);
    pthread_rwlock_rdlock(&cache->lock);
    if (cache->fd >= 0 && unlinkat(cache->fd, p->path, 0) != 0 && errno == EISDIR)
        unlinkat(cache->fd, p->path, AT_REMOVEDIR);
    pthread_rwlock_unlock(&cache->lock);
}

static bool load_from_disk(kiln__cache *cache, const place *p, const void *key, size_t key_bytes,
                           kiln__blob *blob_out)
{
    /* O_NONBLOCK: a pipe of that name must not hold us up. */
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    kiln__verdict verdict = KILN__VERDICT_OTHER;
    int fd = open_below(cache, p->path, flags);

    if (fd < 0 && errno == ENOENT && folder_has_changed(cache))
        fd = open_below(cache, p->path, flags);
    if (fd >= 0) {
        verdict = read_entry(fd, key, key_bytes, blob_out);
        close(fd);
    } else if (errno == ELOOP) {
        verdict = KILN__VERDICT_DAMAGED; /* a symbolic link: nothing of ours */
    }
    if (verdict == KILN__VERDICT_DAMAGED)
        remove_entry(cache, p);
    return blob_out->data != NULL;
}

bool kiln__cache_load(kiln__cache *cache, const void *key, size_t key_bytes, kiln__blob *blob_out)
{
    place p = place_of(key, key_bytes);
    bool hit = false;

    *blob_out = (kiln__blob)KILN__BLOB_INIT;
    hit = (cache->path[0] != '\0' && load_from_disk(cache, &p, key, key_bytes, blob_out)) ||
          kiln__memory_load(&cache->memory, p.hash, key, key_bytes, blob_out);
    count(hit ? &cache->hits : &cache->misses);
    return hit;
}

/* ---- store ---- */

/* A name that no other process can guess, so that nobody can lay a file or link in its way. */
static void make_temp_name(char name[TEMP_BYTES])
{
    unsigned char noise[16];
    kiln__hash128 h = {0, 0};

    if (getrandom(noise, sizeof noise, GRND_NONBLOCK) != (ssize_t)sizeof noise) {
        /* Early at boot only. O_EXCL still keeps us from writing into anything foreign. */
        double now = kiln__now_us();
        long pid = (long)getpid();
        memset(noise, 0, sizeof noise);
        memcpy(noise, &now, sizeof now);
        memcpy(noise + 8, &pid, sizeof pid);
    }
    h = kiln__hash_128(noise, sizeof noise);
    memcpy(name, TEMP_PREFIX, sizeof TEMP_PREFIX - 1);
    kiln__hash_hex(h, name + sizeof TEMP_PREFIX - 1);
}

/* Make a shard in the open folder. What is there and is no folder (a file or a link that somebody
 * put there) goes away first; the folder is the cache's own. */
static void make_shard(kiln__cache *cache, const char *shard, bool in_the_way)
{
    pthread_rwlock_rdlock(&cache->lock);
    if (in_the_way)
        unlinkat(cache->fd, shard, 0);
    /* Whoever makes it first, opening it tells whether it is there. */
    (void)!mkdirat(cache->fd, shard, 0700);
    pthread_rwlock_unlock(&cache->lock);
}

/* Open the folder of a shard, made where needed; -1 with errno, which is 0 when the log has been
 * told of the reason already. */
static int open_shard(kiln__cache *cache, const char *shard)
{
    const int flags = O_RDONLY | O_DIRECTORY;
    int fd = open_below(cache, shard, flags), why = errno;

    if (fd >= 0)
        return fd;
    if (why == ENOENT && !renew_folder(cache, true)) {
        errno = 0;
        return -1;
    }
    if (why == ENOENT || why == ENOTDIR || why == ELOOP) {
        make_shard(cache, shard, why != ENOENT);
        return open_below(cache, shard, flags);
    }
    errno = why;
    return -1;
}

/* Remove what killed writers left in a shard: once per shard and store, beside a compilation that
 * took a hundred times as long. `now` is the file system's own clock. */
static void sweep_shard(kiln__cache *cache, const char *shard, int shard_fd, time_t now)
{
    unsigned index = 0;
    int fd = -1;
    DIR *dir = NULL;
    const struct dirent *e = NULL;

    for (int k = 0; k < 2; k++)
        index = index * 16 + (unsigned)(shard[k] <= '9' ? shard[k] - '0' : shard[k] - 'a' + 10);
    if ((atomic_fetch_or(&cache->swept[index / 32], 1u << index % 32) >> index % 32 & 1u) != 0)
        return;
    fd = openat(shard_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((e = readdir(dir)) != NULL) {
        struct stat st;
        if (strncmp(e->d_name, TEMP_PREFIX, sizeof TEMP_PREFIX - 1) == 0 &&
            fstatat(shard_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_mtime < now - TEMP_SECONDS_MAX)
            unlinkat(shard_fd, e->d_name, 0);
    }
    closedir(dir);
}

/* Write all of `file`; 0 or an errno value. */
static int write_all(int fd, const unsigned char *file, size_t bytes)
{
    struct rlimit limit;
    size_t done = 0;

    /* Writing past this limit would not fail, it would kill the process (SIGXFSZ). */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur)
        return EFBIG;
    while (done < bytes) {
        ssize_t put = write(fd, file + done, bytes - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        done += (size_t)put;
    }
    return 0;
}

/* Publish `file` under `name` in an open shard; 0 or an errno value, and nothing left behind. */
static int write_entry(int shard_fd, const char *name, const unsigned char *file, size_t bytes,
                       time_t *now_out)
{
    char temp[TEMP_BYTES];
    struct stat st;
    int fd = -1, why = 0;

    for (int k = 0; fd < 0 && k < TEMP_TRIES; k++) {
        make_temp_name(temp);
        fd = openat(shard_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (fd < 0)
        return errno;
    why = write_all(fd, file, bytes);
    if (why == 0 && fstat(fd, &st) == 0)
        *now_out = st.st_mtime;
    /* Network file systems report a full disk only here. */
    if (close(fd) != 0 && why == 0 && errno != EINTR)
        why = errno;
    if (why == 0 && renameat(shard_fd, temp, shard_fd, name) != 0)
        why = errno;
    if (why != 0)
        unlinkat(shard_fd, temp, 0);
    return why;
}

static bool store_on_disk(kiln__cache *cache, const place *p, const void *key, size_t key_bytes,
                          const void *data, size_t bytes)
{
    char text[128];
    time_t now = 0;
    size_t file_bytes = 0;
    int shard_fd = -1, why = 0;
    bool done = false;
    unsigned char *file = kiln__blob_encode(key, key_bytes, data, bytes, &file_bytes);

    if (file == NULL)
        return false;
    shard_fd = open_shard(cache, p->shard);
    if (shard_fd >= 0) {
        why = write_entry(shard_fd, p->name, file, file_bytes, &now);
        done = why == 0;
        if (done)
            sweep_shard(cache, p->shard, shard_fd, now);
        close(shard_fd);
    } else {
        why = errno;
    }
    kiln__free(file);
    if (why != 0 && is_news(cache, TROUBLE_WRITE))
        kiln__log_line(&cache->log, "a kernel is kept in memory only, not on the disk: %s: %s",
                       strerror_r(why, text, sizeof text), cache->path);
    return done;
}

void kiln__cache_store(kiln__cache *cache, const void *key, size_t key_bytes, const void *data,
                       size_t bytes)
{
    place p = place_of(key, key_bytes);
    bool has_disk = cache->path[0] != '\0';

    if (has_disk && store_on_disk(cache, &p, key, key_bytes, data, bytes)) {
        count(&cache->stores);
        return;
    }
    kiln__memory_store(&cache->memory, p.hash, key, key_bytes, data, bytes);
    count(has_disk ? &cache->store_failures : &cache->stores);
}
