/*
 * journal.c - what happened to entries, on its way to their stamps and to the index.
 *
 *     hit, store > memory > [flush] > stamps of entries, one append to kiln-journal
 *                                     kiln-journal > index.c, when somebody looks
 *
 * A flush comes when the store is closed, when much has gathered, and before this store chooses
 * entries to evict.
 *
 *     h NAME STAMP                                                 a hit
 *     s NAME STAMP BYTES COMPILE-US ORIGIN TARGET KERNEL           a store; "-" for nothing
 *
 * A process that only hits opens no SQLite, not even when it ends.
 *
 * Rule 1: nobody waits for the journal, and nothing depends on it. What does not fit is dropped.
 * Rule 2: a stamp never moves backwards. A hit may be put down long after it happened, and others
 *         have used the entry since.
 *
 * store.c, publish.c, pack.c and catalog.c call this file. Test: test_cache_limit.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

/* Flushed when so much has gathered. */
#define LINES_BYTES ((size_t)16 << 10)
/* Nobody has looked for a long time: what happened since is not worth more space. */
#define JOURNAL_BYTES_MAX ((off_t)4 << 20)

bool kiln__journal_init(kiln__journal *j)
{
    memset(j, 0, sizeof *j);
    return pthread_mutex_init(&j->mutex, NULL) == 0;
}

void kiln__journal_clear(kiln__journal *j)
{
    kiln__buf_clear(&j->lines);
    pthread_mutex_destroy(&j->mutex);
}

bool kiln__journal_hit(kiln__journal *j, kiln__hash128 hash, int64_t stamp_ns)
{
    pthread_mutex_lock(&j->mutex);
    if (j->hit_count < KILN__JOURNAL_HITS)
        j->hits[j->hit_count++] = (kiln__hit){hash, stamp_ns};
    bool full = j->hit_count == KILN__JOURNAL_HITS;
    pthread_mutex_unlock(&j->mutex);
    return full;
}

bool kiln__journal_has_hits(kiln__journal *j)
{
    pthread_mutex_lock(&j->mutex);
    const bool has = j->hit_count > 0;
    pthread_mutex_unlock(&j->mutex);
    return has;
}

void kiln__journal_forget(kiln__journal *j)
{
    pthread_mutex_lock(&j->mutex);
    j->hit_count = 0;
    kiln__buf_clear(&j->lines);
    pthread_mutex_unlock(&j->mutex);
}

bool kiln__journal_store(kiln__journal *j, const char name[33], int64_t stamp_ns, uint64_t bytes,
                         double compile_us, const char *origin, const char *target,
                         const char *kernel)
{
    char line[320];
    const int length = snprintf(line, sizeof line, "s %s %lld %llu %.0f %.15s %.31s %.63s\n", name,
                          (long long)stamp_ns, (unsigned long long)bytes, compile_us, origin,
                          target[0] != '\0' ? target : "-", kernel[0] != '\0' ? kernel : "-");

    /* Appends are all or nothing, or a half line would spoil the next one. */
    pthread_mutex_lock(&j->mutex);
    if (j->lines.length < 4 * LINES_BYTES)
        kiln__buf_put(&j->lines, line, (size_t)length);
    if (j->lines.failed)
        kiln__buf_clear(&j->lines);
    bool full = j->lines.length >= LINES_BYTES;
    pthread_mutex_unlock(&j->mutex);
    return full;
}

/* ---- flush ---- */

/* Set the stamps of entries that were hit, unless they were used later by others. */
static void put_stamps(const kiln__hit *hits, size_t count, int folder)
{
    for (size_t k = 0; k < count; k++) {
        char path[KILN__PATH_BYTES];
        struct timespec times[2];
        struct stat st;
        kiln__place_path(hits[k].hash, path);
        if (fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            kiln__stamp_of(&st) >= hits[k].stamp_ns)
            continue;
        kiln__stamp_times(hits[k].stamp_ns, times);
        if (utimensat(folder, path, times, AT_SYMLINK_NOFOLLOW) != 0 && errno == EROFS)
            return;
    }
}

/* One write: lines of several processes do not mix. A short one is mended by its reader, who takes
 * whole lines of the right form only. */
static void append(const kiln__buf *lines, int folder)
{
    struct stat st;
    int fd = kiln__open_housekeeping(folder, KILN__JOURNAL_NAME, O_WRONLY | O_APPEND | O_CREAT);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size < JOURNAL_BYTES_MAX &&
        !kiln__is_beyond_process_limit((uint64_t)st.st_size + lines->length))
        (void)!write(fd, lines->text, lines->length);
    close(fd);
}

void kiln__journal_flush(kiln__journal *j, int folder)
{
    kiln__hit hits[KILN__JOURNAL_HITS];

    pthread_mutex_lock(&j->mutex);
    size_t count = j->hit_count;
    memcpy(hits, j->hits, count * sizeof hits[0]);
    j->hit_count = 0;
    kiln__buf lines = j->lines;
    j->lines = (kiln__buf)KILN__BUF_INIT;
    pthread_mutex_unlock(&j->mutex);
    put_stamps(hits, count, folder);
    for (size_t k = 0; k < count; k++) {
        char name[KILN__NAME_BYTES];
        kiln__hash_hex(hits[k].hash, name);
        kiln__buf_printf(&lines, "h %s %lld\n", name, (long long)hits[k].stamp_ns);
    }
    if (lines.length > 0 && !lines.failed)
        append(&lines, folder);
    kiln__buf_clear(&lines);
}

/* ---- labels ---- */

/* Copy up to a byte that is not printable or is in `stop`; blanks would split a journal line. */
static void copy_label(const char *from, const char *end, const char *stop, char *to,
                       size_t capacity)
{
    size_t length = 0;

    while (from < end && isgraph((unsigned char)*from) && strchr(stop, *from) == NULL &&
           length + 1 < capacity)
        to[length++] = *from++;
    to[length] = '\0';
}

void kiln__key_labels(const void *key, size_t key_bytes, char target[32], char kernel[64])
{
    static const char target_mark[] = "\ntarget ", kernel_mark[] = "kernel \"";
    const char *text = key, *end = text + key_bytes;
    const char *t = key_bytes > 0 ? memmem(text, key_bytes, target_mark, sizeof target_mark - 1)
                                  : NULL;
    const char *k = key_bytes > 0 ? memmem(text, key_bytes, kernel_mark, sizeof kernel_mark - 1)
                                  : NULL;

    target[0] = kernel[0] = '\0';
    if (t != NULL)
        copy_label(t + sizeof target_mark - 1, end, "\"\\", target, 32);
    if (k != NULL)
        copy_label(k + sizeof kernel_mark - 1, end, "\"\\", kernel, 64);
}
