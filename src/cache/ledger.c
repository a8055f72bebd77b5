/*
 * ledger.c - how many bytes a folder holds, shared by every process that stores into it.
 *
 *     kiln__ledger_open > look, change > kiln__ledger_commit > change the folder > close
 *
 * One small file beside the shards: bytes and files of each, and the newest stamp. It is locked
 * while it is open, so whoever changes what a shard holds (makes, renames over, or removes a file)
 * does so while it has the ledger open. A hit does not open the ledger.
 *
 * Rule 1: the account may only err upwards. Growth is committed before it happens, shrinkage after;
 *         a process that dies in between leaves bytes counted that are not there, until the shard
 *         is counted anew. So the folder never holds more than its limit.
 * Rule 2: the ledger is a claim. Missing, damaged or of another version, it is made anew by
 *         counting the shards.
 * Rule 3: open file description locks: they die with their holder, and exclude threads as well,
 *         since everybody opens the file for himself. Waiting is bounded.
 * Rule 4: no mapping. A file that is cut short under a mapping kills its reader.
 *
 * publish.c, evict.c, catalog.c and others call this file. Tests: test_cache_limit,
 * test_cache_shared.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/parts.h"

#define LEDGER_NAME KILN__HOUSEKEEPING_PREFIX "ledger"
#define LEDGER_VERSION 1u
/* A holder keeps the ledger for microseconds, or for a quarter of a second when it counts a folder
 * of 100,000 entries. */
#define LEDGER_WAIT_US 2e6
#define LEDGER_TRIES 3

static const char MAGIC[8] = {'K', 'I', 'L', 'N', 'L', 'E', 'D', 'G'};

/* ---- locks ---- */

static int try_lock(int fd, int64_t start)
{
    struct flock lock = {0};

    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = (off_t)start;
    lock.l_len = 1;
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EACCES ? EAGAIN : errno;
}

int kiln__lock_byte(int fd, int64_t start, double wait_us)
{
    double deadline = kiln__now_us() + wait_us;
    long pause_us = 20;
    int why = 0;

    /* Polling, since no system call waits for such a lock and also looks at a clock. */
    while ((why = try_lock(fd, start)) == EAGAIN || why == EINTR) {
        struct timespec pause = {0, pause_us * 1000};
        if (kiln__now_us() >= deadline)
            return ETIMEDOUT;
        nanosleep(&pause, NULL);
        pause_us = pause_us < 2000 ? pause_us * 3 / 2 : pause_us;
    }
    return why;
}

void kiln__unlock_and_close(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void)fcntl(fd, F_OFD_SETLK, &lock);
    close(fd);
}

/* Whether an open file is one that only this user can have written. */
static bool is_own_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) != 0 || (S_ISREG(st.st_mode) && kiln__is_ours(&st));
}

int kiln__open_housekeeping(int folder, const char *name, int flags)
{
    int fd = -1;

    for (int k = 0; k < LEDGER_TRIES; k++) {
        do {
            fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        } while (fd < 0 && errno == EINTR);
        if (fd >= 0 && is_own_file(fd))
            break;
        if (fd >= 0) {
            close(fd);
        } else if (errno != ELOOP && errno != EISDIR && errno != ENXIO) {
            break; /* the disk's answer, not one of what is in this place */
        }
        fd = -1;
        if (!kiln__make_way(folder, name))
            break;
        errno = KILN__EFOREIGN;
    }
    return fd;
}

/* No write takes this long. Only for file systems without locks. */
#define TEMP_SECONDS_MAX 3600

bool kiln__remove_dead_temp(int shard_fd, const char *name)
{
    struct stat st;

    if (!kiln__starts_with(name, KILN__TEMP_PREFIX))
        return false;
    int fd = openat(shard_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    int why = kiln__lock_byte(fd, 0, 0);
    if (why != 0 && why != ETIMEDOUT && fstat(fd, &st) == 0 &&
        st.st_mtime < time(NULL) - TEMP_SECONDS_MAX)
        why = 0;
    close(fd);
    return why == 0 && unlinkat(shard_fd, name, 0) == 0;
}

/* ---- the account ---- */

typedef struct tally {
    uint64_t bytes;
    uint32_t count;
} tally;

static void count_file(void *user, int shard_fd, const char *name, const struct stat *st)
{
    tally *t = user;

    (void)shard_fd;
    (void)name;
    t->bytes += (uint64_t)st->st_size;
    t->count++;
}

bool kiln__ledger_recount(kiln__ledger *l, unsigned shard)
{
    tally t = {0, 0};

    /* A shard that cannot be read keeps what was known of it. */
    if (!kiln__scan_shard(l->folder, shard, count_file, &t))
        return false;
    l->file.bytes[shard] = t.bytes;
    l->file.count[shard] = t.count;
    return true;
}

static bool recount_all(kiln__ledger *l)
{
    bool present[KILN__SHARD_COUNT], whole = true;

    memset(&l->file, 0, sizeof l->file);
    (void)kiln__find_shards(l->folder, present);
    for (unsigned shard = 0; shard < KILN__SHARD_COUNT; shard++) {
        if (present[shard])
            whole &= kiln__ledger_recount(l, shard);
    }
    return whole;
}

uint64_t kiln__ledger_bytes(const kiln__ledger *l)
{
    uint64_t total = 0;

    for (unsigned shard = 0; shard < KILN__SHARD_COUNT; shard++)
        total += l->file.bytes[shard];
    return total;
}

uint64_t kiln__ledger_count(const kiln__ledger *l)
{
    uint64_t total = 0;

    for (unsigned shard = 0; shard < KILN__SHARD_COUNT; shard++)
        total += l->file.count[shard];
    return total;
}

void kiln__ledger_add(kiln__ledger *l, unsigned shard, uint64_t bytes)
{
    l->file.bytes[shard] += bytes;
    l->file.count[shard]++;
}

void kiln__ledger_remove(kiln__ledger *l, unsigned shard, uint64_t bytes)
{
    uint64_t *have = &l->file.bytes[shard];

    *have = *have > bytes ? *have - bytes : 0;
    if (l->file.count[shard] > 0)
        l->file.count[shard]--;
}

static uint64_t checksum(const kiln__ledger_file *f)
{
    const size_t from = offsetof(kiln__ledger_file, newest_ns);

    return kiln__hash_64((const char *)f + from, sizeof *f - from);
}

static bool is_whole(const kiln__ledger_file *f)
{
    return memcmp(f->magic, MAGIC, sizeof MAGIC) == 0 && f->version == LEDGER_VERSION &&
           f->sum == checksum(f);
}

int kiln__ledger_commit(kiln__ledger *l)
{
    ssize_t put = 0;

    if (kiln__is_beyond_process_limit(sizeof l->file))
        return EFBIG;
    memcpy(l->file.magic, MAGIC, sizeof MAGIC);
    l->file.version = LEDGER_VERSION;
    l->file.reserved = 0;
    l->file.sum = checksum(&l->file);
    do {
        put = pwrite(l->fd, (const char *)l + offsetof(kiln__ledger, file), sizeof l->file, 0);
    } while (put < 0 && errno == EINTR);
    if (put < 0)
        return errno;
    return (size_t)put == sizeof l->file ? 0 : ENOSPC;
}

/* Open and lock; EAGAIN when the file was deleted meanwhile and another is to be opened. */
static int open_locked(kiln__ledger *l)
{
    struct stat st;

    l->fd = kiln__open_housekeeping(l->folder, LEDGER_NAME, O_RDWR | O_CREAT);
    if (l->fd < 0)
        return errno;
    int why = kiln__lock_byte(l->fd, 0, LEDGER_WAIT_US);
    /* On a file system without locks the account may drift until shards are counted again. */
    if (why != 0 && why != ETIMEDOUT)
        why = 0;
    if (why == 0 && (fstat(l->fd, &st) != 0 || st.st_nlink == 0))
        why = EAGAIN;
    if (why != 0) {
        close(l->fd);
        l->fd = -1;
    }
    return why;
}

int kiln__ledger_open(int folder, kiln__ledger *l)
{
    ssize_t got = 0;
    int why = EAGAIN;

    l->folder = folder;
    l->fd = -1;
    for (int k = 0; why == EAGAIN && k < LEDGER_TRIES; k++)
        why = open_locked(l);
    if (why != 0)
        return why;
    do {
        got = pread(l->fd, &l->file, sizeof l->file, 0);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof l->file && is_whole(&l->file))
        return 0;
    /* An account that may be too low must not be used. */
    if (recount_all(l))
        return 0;
    kiln__ledger_close(l);
    return EIO;
}

void kiln__ledger_close(kiln__ledger *l)
{
    if (l->fd >= 0)
        kiln__unlock_and_close(l->fd);
    l->fd = -1;
}
