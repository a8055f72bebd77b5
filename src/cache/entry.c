/*
 * entry.c - what lies in the folder: the names of shards and entries, which are checked as they
 * are opened, and listed.
 *
 *     folder > [openat shard, fstat] > [openat entry, fstat] > its bytes
 *
 * The folder itself has been checked (dir.c), but it may have been open to other users earlier.
 * Then a shard may be a link to somewhere else, a folder of another user, or one that others may
 * still write to. None of them is followed or read.
 *
 * Rule 1: whatever is used is checked through the descriptor with which it is used.
 * Rule 2: what must not be there makes way for something new and empty. What is deleted for that bears a
 *         name that only kiln gives: somebody may have named a folder of his own as the cache's by
 *         mistake.
 *
 * Most files of this folder call it. Test: test_cache_limit.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

#define ASIDE_PREFIX KILN__HOUSEKEEPING_PREFIX "foreign-"
/* The year 2106. */
#define STAMP_SECONDS_MAX ((int64_t)UINT32_MAX)

/* ---- names and stamps ---- */

void kiln__entry_path(const char name[KILN__NAME_BYTES], char path[KILN__PATH_BYTES])
{
    memcpy(path, name, 2);
    path[2] = '/';
    memcpy(path + KILN__SHARD_BYTES, name, KILN__NAME_BYTES);
}

void kiln__place_path(kiln__hash128 hash, char path[KILN__PATH_BYTES])
{
    char name[KILN__NAME_BYTES];

    kiln__hash_hex(hash, name);
    kiln__entry_path(name, path);
}

void kiln__shard_name(unsigned shard, char name[3])
{
    name[0] = "0123456789abcdef"[shard >> 4 & 15];
    name[1] = "0123456789abcdef"[shard & 15];
    name[2] = '\0';
}

bool kiln__is_entry_name(const char *name)
{
    return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

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

/* ---- opening and reading ---- */

/* openat again while it is interrupted. */
static int open_at(int folder, const char *path, int flags)
{
    int fd = -1;

    do {
        fd = openat(folder, path, flags | O_CLOEXEC | O_NOFOLLOW);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Whether there is something in this place, and no regular file. */
static bool is_no_file(int folder, const char *name)
{
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode);
}

/* Close, and fail with this error. */
static int reject(int fd, int why)
{
    close(fd);
    errno = why;
    return -1;
}

/* As kiln__shard_open; with the owner that everything must have. */
static int open_shard(int folder, const char *shard, int flags, uid_t owner)
{
    struct stat st;
    int fd = open_at(folder, shard, flags | O_DIRECTORY);

    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        errno = KILN__EFOREIGN;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0)
        return reject(fd, errno);
    return kiln__is_owned_by(&st, owner) ? fd : reject(fd, KILN__EFOREIGN);
}

int kiln__shard_open(int folder, const char *shard, int flags)
{
    return open_shard(folder, shard, flags, geteuid());
}

int kiln__entry_open(int folder, const char *path, struct stat *st, bool *shard_bad)
{
    const char shard_name[KILN__SHARD_BYTES] = {path[0], path[1], '\0'};
    const uid_t owner = geteuid();
    const int shard = open_shard(folder, shard_name, O_PATH, owner);
    int why = errno;

    *shard_bad = shard < 0 && why == KILN__EFOREIGN;
    if (shard < 0)
        return -1;
    /* O_NONBLOCK: a pipe of that name must not hold us up. */
    int fd = open_at(shard, path + KILN__SHARD_BYTES, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    why = errno;
    if (fd < 0 && why != ENOENT && is_no_file(shard, path + KILN__SHARD_BYTES))
        why = KILN__EFOREIGN; /* a link or a socket */
    (void)reject(shard, why);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) != 0)
        return reject(fd, errno);
    return S_ISREG(st->st_mode) && kiln__is_owned_by(st, owner) ? fd : reject(fd, KILN__EFOREIGN);
}

kiln__verdict kiln__entry_read(int folder, const char name[33], size_t max,
                               unsigned char **data_out, size_t *bytes_out)
{
    char path[KILN__PATH_BYTES];
    struct stat st;
    bool shard_bad = false;
    ssize_t got = -1;
    int why = ENOMEM;

    *data_out = NULL;
    *bytes_out = 0;
    kiln__entry_path(name, path);
    int fd = kiln__entry_open(folder, path, &st, &shard_bad);
    if (fd < 0)
        return errno == ENOENT           ? KILN__VERDICT_ABSENT
               : errno == KILN__EFOREIGN ? KILN__VERDICT_DAMAGED
                                         : KILN__VERDICT_UNREADABLE;
    if ((uint64_t)st.st_size > KILN__BLOB_FILE_BYTES_MAX) {
        close(fd);
        return KILN__VERDICT_DAMAGED;
    }
    size_t want = (size_t)st.st_size < max ? (size_t)st.st_size : max;
    unsigned char *data = kiln__alloc(want + 1);
    if (data != NULL) {
        got = kiln__read_up_to(fd, data, want);
        why = errno;
    }
    close(fd);
    if (got < 0) {
        kiln__free(data);
        errno = why;
        return KILN__VERDICT_UNREADABLE;
    }
    *data_out = data;
    *bytes_out = (size_t)got;
    return KILN__VERDICT_VALID;
}

/* ---- listing ---- */

/* Close the folder that was listed; false, with errno, when it could not be read to its end. */
static bool end_listing(DIR *dir, int why)
{
    closedir(dir);
    errno = why;
    return why == 0;
}

bool kiln__list_shard(int folder, unsigned shard, kiln__list_fn fn, void *user)
{
    char name[3];
    const struct dirent *e = NULL;

    kiln__shard_name(shard, name);
    int fd = kiln__shard_open(folder, name, O_RDONLY);
    if (fd < 0)
        return errno == ENOENT || errno == KILN__EFOREIGN;
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        const int why = errno;
        close(fd);
        errno = why;
        return false;
    }
    errno = 0;
    while ((e = readdir(dir)) != NULL) {
        if (e->d_name[0] != '.')
            fn(user, fd, e->d_name);
        errno = 0;
    }
    return end_listing(dir, errno);
}

bool kiln__find_shards(int folder, bool present[KILN__SHARD_COUNT])
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), why = errno;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e = NULL;

    memset(present, 0, KILN__SHARD_COUNT * sizeof present[0]);
    why = fd >= 0 ? errno : why;
    if (dir != NULL) {
        errno = 0;
        while ((e = readdir(dir)) != NULL) {
            const char *name = e->d_name;
            if (strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2)
                present[strtoul(name, NULL, 16)] = true;
            errno = 0;
        }
        if (end_listing(dir, errno))
            return true;
        why = errno;
    } else if (fd >= 0) {
        close(fd);
    }
    /* Which shards exist cannot be told, so the caller looks at each. */
    for (unsigned shard = 0; shard < KILN__SHARD_COUNT; shard++)
        present[shard] = true;
    errno = why;
    return false;
}

typedef struct file_scan {
    kiln__scan_fn fn;
    void *user;
    int why; /* of the first file that could not be asked */
} file_scan;

static void scan_name(void *user, int shard_fd, const char *name)
{
    file_scan *s = user;
    struct stat st;

    if (fstatat(shard_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        s->why = errno != ENOENT && s->why == 0 ? errno : s->why;
    else if (S_ISREG(st.st_mode))
        s->fn(s->user, shard_fd, name, &st);
}

bool kiln__scan_shard(int folder, unsigned shard, kiln__scan_fn fn, void *user)
{
    file_scan s = {fn, user, 0};

    if (!kiln__list_shard(folder, shard, scan_name, &s))
        return false;
    errno = s.why;
    return s.why == 0;
}

/* ---- making way ---- */

void kiln__random_hex(char hex[33])
{
    unsigned char noise[16];

    if (getrandom(noise, sizeof noise, GRND_NONBLOCK) != (ssize_t)sizeof noise) {
        /* This happens early at boot only. O_EXCL still keeps us from writing into a foreign file. */
        double now = kiln__now_us();
        long pid = (long)getpid();
        memset(noise, 0, sizeof noise);
        memcpy(noise, &now, sizeof now);
        memcpy(noise + 8, &pid, sizeof pid);
    }
    kiln__hash_hex(kiln__hash_128(noise, sizeof noise), hex);
}

/* Remove a folder that was moved aside, as far as kiln made what is in it. */
static void remove_aside(int folder, const char *aside)
{
    const int fd = open_at(folder, aside, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e = NULL;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (kiln__is_entry_name(e->d_name) ||
            kiln__starts_with(e->d_name, KILN__TEMP_PREFIX))
            unlinkat(fd, e->d_name, 0);
    }
    if (dir != NULL)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    unlinkat(folder, aside, AT_REMOVEDIR);
}

bool kiln__make_way(int folder, const char *name)
{
    char aside[sizeof ASIDE_PREFIX + 32] = ASIDE_PREFIX;

    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return true;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0)
        return true;
    if (errno == ENOTDIR) /* no folder, and it cannot be removed */
        return false;
    kiln__random_hex(aside + sizeof ASIDE_PREFIX - 1);
    if (renameat(folder, name, folder, aside) != 0)
        return false;
    remove_aside(folder, aside);
    return true;
}
