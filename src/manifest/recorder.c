/*
 * recorder.c - append lines to a file that many threads and processes append to, each line once.
 *
 *     a kernel was needed > [seen here? > lock > seen by others? > append > unlock]
 *
 * A line is written by one write() behind O_APPEND, under a lock on the whole file; before it, what
 * others appended meanwhile is read. Where locks do not work, or somebody holds one too long,
 * the line is appended without: a line that stands twice does no harm, it is compiled once.
 *
 * Rule 1: recording never fails a program: trouble is one line to the log, and no more lines.
 * Rule 2: the file is opened for each line and closed after it: it may be moved, emptied or deleted
 *         at any time, and a fork shares nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "manifest/manifest.h"

enum { LOCK_TRIES = 250 };

struct kiln__recorder {
    char *path;
    kiln__log log;
    pthread_mutex_t lock;
    kiln__map seen; /* lines that are in the file */
    /* How far which file has been read. */
    dev_t dev;
    ino_t ino;
    off_t read_to;
    bool complained;
    bool stopped;
};

kiln__recorder *kiln__recorder_create(const char *path, const kiln__log *log)
{
    kiln__recorder *r = kiln__calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->path = kiln__strdup(path);
    if (r->path == NULL || pthread_mutex_init(&r->lock, NULL) != 0) {
        kiln__free(r->path);
        kiln__free(r);
        return NULL;
    }
    if (log != NULL)
        r->log = *log;
    return r;
}

void kiln__recorder_destroy(kiln__recorder *r)
{
    if (r == NULL)
        return;
    pthread_mutex_destroy(&r->lock);
    kiln__map_clear(&r->seen, NULL);
    kiln__free(r->path);
    kiln__free(r);
}

static void complain(kiln__recorder *r, const char *what)
{
    if (!r->complained)
        kiln__log_line(&r->log, KILN__LOG_ERROR, "kernels are not recorded: %s", what);
    r->complained = true;
}

static void stop(kiln__recorder *r, const char *doing, int why)
{
    kiln__buf text = KILN__BUF_INIT;

    kiln__buf_printf(&text, "%s %s: %s", doing, r->path, strerror(why));
    complain(r, text.failed ? doing : text.text);
    kiln__buf_clear(&text);
    r->stopped = true;
}

void kiln__recorder_complain(kiln__recorder *r, const char *fmt, ...)
{
    kiln__buf text = KILN__BUF_INIT;
    va_list ap;

    if (r == NULL)
        return;
    va_start(ap, fmt);
    kiln__buf_vprintf(&text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&r->lock);
    complain(r, text.failed ? "the host is out of memory" : text.text);
    pthread_mutex_unlock(&r->lock);
    kiln__buf_clear(&text);
}

/* ---- lines that are there ---------------------------------------------------------------------- */

/* Without memory the line is not remembered, and may be written twice. */
static void remember(kiln__recorder *r, const char *line, size_t bytes)
{
    (void)kiln__map_enter(&r->seen, line, bytes, NULL);
}

static void forget_all(kiln__recorder *r)
{
    kiln__map_clear(&r->seen, NULL);
    r->read_to = 0;
}

/* Remember what stands in the file behind `read_to`. `broken_out`: its last line has no end. */
static int catch_up(kiln__recorder *r, int fd, const struct stat *st, bool *broken_out)
{
    enum { CHUNK = 64 << 10 };
    kiln__buf line = KILN__BUF_INIT;
    char *chunk = kiln__alloc(CHUNK);
    int why = chunk == NULL ? ENOMEM : 0;
    off_t at = r->read_to, done = r->read_to;

    while (why == 0 && at < st->st_size) {
        const ssize_t got = pread(fd, chunk, CHUNK, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            why = got < 0 ? errno : 0;
            break;
        }
        for (const char *c = chunk, *end = chunk + got; c < end;) {
            const char *newline = memchr(c, '\n', (size_t)(end - c));
            kiln__buf_put(&line, c, (size_t)((newline != NULL ? newline : end) - c));
            c = newline != NULL ? newline + 1 : end;
            if (newline == NULL)
                break;
            if (!line.failed && line.length > 0)
                remember(r, line.text, line.length);
            kiln__buf_clear(&line);
            done = at + (c - chunk);
        }
        at += got;
    }
    *broken_out = why == 0 && done < st->st_size;
    r->read_to = done;
    kiln__buf_clear(&line);
    kiln__free(chunk);
    return why;
}

/* ---- appending --------------------------------------------------------------------------------- */

/* False when the file could not be locked. */
static bool lock_file(int fd)
{
    const struct timespec pause = {0, 1000000};

    for (int k = 0; k < LOCK_TRIES; k++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* One write; what a full disk cuts off is taken back while nobody else writes. */
static int append(int fd, const kiln__buf *text, const struct stat *st, bool locked)
{
    ssize_t put;

    if (S_ISREG(st->st_mode) &&
        kiln__is_beyond_process_limit((uint64_t)st->st_size + text->length))
        return EFBIG;
    do {
        put = write(fd, text->text, text->length);
    } while (put < 0 && errno == EINTR);
    if (put == (ssize_t)text->length)
        return 0;
    const int why = put < 0 ? errno : ENOSPC;
    if (put > 0 && locked && ftruncate(fd, st->st_size) != 0)
        return errno;
    return why;
}

static int add_line(kiln__recorder *r, int fd, const char *line, size_t bytes)
{
    const bool locked = lock_file(fd);
    kiln__buf text = KILN__BUF_INIT;
    struct stat st;
    bool broken = false;
    int why = fstat(fd, &st) != 0 ? errno : 0;

    if (why == 0 && S_ISREG(st.st_mode)) {
        if (st.st_dev != r->dev || st.st_ino != r->ino || st.st_size < r->read_to)
            forget_all(r);
        r->dev = st.st_dev;
        r->ino = st.st_ino;
        why = catch_up(r, fd, &st, &broken);
    }
    if (why != 0 || kiln__map_find(&r->seen, line, bytes) != NULL)
        return why;
    if (broken)
        kiln__buf_putc(&text, '\n');
    kiln__buf_put(&text, line, bytes);
    kiln__buf_putc(&text, '\n');
    why = text.failed ? ENOMEM : append(fd, &text, &st, locked);
    if (why == 0)
        remember(r, line, bytes);
    kiln__buf_clear(&text);
    return why;
}

void kiln__recorder_add(kiln__recorder *r, const char *line, size_t bytes)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (!r->stopped) {
        /* Not blocking: a pipe without a reader is trouble, not a reason to wait. */
        const int fd = open(r->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
        if (fd < 0) {
            stop(r, "cannot open", errno);
        } else {
            const int why = add_line(r, fd, line, bytes);
            if (why != 0)
                stop(r, "cannot write", why);
            close(fd);
        }
    }
    pthread_mutex_unlock(&r->lock);
}

void kiln__recorder_add_entry(kiln__recorder *r, const char *what, const kiln__manifest_entry *e)
{
    kiln__buf line = KILN__BUF_INIT;

    if (r == NULL)
        return;
    if (!kiln__manifest_write(e, &line))
        kiln__recorder_complain(r, "%s \"%s\" has a text that is no UTF-8", what,
                                e->text[KILN__MANIFEST_NAME].text);
    else if (line.failed)
        kiln__recorder_complain(r, "the host is out of memory");
    else
        kiln__recorder_add(r, line.text, line.length);
    kiln__buf_clear(&line);
}
