/*
 * inputs.c - the files that a kernel is made from: read, remembered, and compared afterwards.
 *
 *     key: [read] > compile > [the same still? all that the compiler read?] > keep
 *
 * The key holds the texts of files, and the compiler reads the files again. If one of them changes in
 * between, a binary of the new text would be kept under the key of the old one. So the files are
 * looked at once more after the compiler has ended, and what was made is kept only if nothing has
 * changed.
 *
 * Equal texts before and after do not tell: a file may have been changed and changed back. The
 * kernel's time of change (ctime) does, for no program can set it. It is coarse, though: a change that
 * follows another within a tick may leave it as it was. So a file that was changed a moment ago is
 * given time, and then read once more.
 *
 * build.c, follow.c, jit.c and key.c call this file. Test: test_module.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "jit/inputs.h"

enum { INPUTS_MAX = 4096, INPUT_BYTES_MAX = 16 << 20, ALL_BYTES_MAX = 24 << 20 };

/* Two changes this far apart have two times: a tick is at most 10 ms long. File systems that keep
 * whole seconds keep two of them at worst. */
#define GRAIN_NS ((int64_t)25000000)
#define COARSE_GRAIN_NS ((int64_t)2100000000)

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void kiln__inputs_clear(kiln__inputs *in)
{
    for (size_t k = 0; k < in->count; k++)
        kiln__free(in->items[k].path);
    kiln__free(in->items);
    kiln__map_clear(&in->paths, NULL);
    kiln__free(in->odd);
    memset(in, 0, sizeof *in);
}

bool kiln__input_known(const kiln__inputs *in, const char *path)
{
    return kiln__map_find(&in->paths, path, strlen(path)) != NULL;
}

void kiln__inputs_refuse(kiln__inputs *in, const char *fmt, ...)
{
    va_list args;

    if (!in->complete)
        return;
    in->complete = false;
    va_start(args, fmt);
    vsnprintf(in->why, sizeof in->why, fmt, args);
    va_end(args);
}

/* Remember a file; false when there are too many, or no memory for one more. */
static bool append(kiln__inputs *in, const char *path, const struct stat *st)
{
    if (in->count == INPUTS_MAX ||
        !kiln__reserve(&in->items, in->count, &in->capacity, sizeof *in->items))
        return false;
    kiln__input *item = &in->items[in->count];
    item->path = kiln__strdup(path);
    if (item->path == NULL || kiln__map_enter(&in->paths, path, strlen(path), NULL) == NULL) {
        kiln__free(item->path);
        return false;
    }
    item->device = (uint64_t)st->st_dev;
    item->inode = (uint64_t)st->st_ino;
    item->size = (uint64_t)st->st_size;
    item->modified_ns = nanoseconds(st->st_mtim);
    item->changed_ns = nanoseconds(st->st_ctim);
    in->count++;
    return true;
}

/* Open what a path leads to if that is a regular file; -1 else. A pipe would be waited for, and a
 * device may never end: the compiler would hang on it as well, so it is not asked. */
static int open_regular(kiln__inputs *in, const char *path, struct stat *st)
{
    const int fd = kiln__open_regular(path, st);

    /* Compilers pass over folders; /dev/null is a usual name for an empty file. */
    if (fd < 0 && errno == ENODEV && st->st_mode != 0 && !S_ISDIR(st->st_mode) &&
        !(S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3)) && in->odd == NULL)
        in->odd = kiln__strdup(path);
    if (fd < 0 && errno != ENODEV && errno != ENOENT && errno != ENOTDIR)
        kiln__inputs_refuse(in, "%s cannot be read: %s", path, strerror(errno));
    return fd;
}

bool kiln__input_read(kiln__inputs *in, const char *path, char **text_out, size_t *bytes_out)
{
    struct stat st;
    const int fd = open_regular(in, path, &st);

    *text_out = NULL;
    if (fd < 0)
        return false;
    bool whole = (uint64_t)st.st_size <= INPUT_BYTES_MAX &&
                 in->bytes + (uint64_t)st.st_size <= ALL_BYTES_MAX &&
                 kiln__read_open_file(fd, INPUT_BYTES_MAX, text_out, bytes_out) == 0 &&
                 append(in, path, &st);
    close(fd);
    if (!whole) {
        kiln__free(*text_out);
        *text_out = NULL;
        kiln__inputs_refuse(in, "%s cannot be read, or it is too large, or one too many", path);
        return false;
    }
    in->bytes += *bytes_out;
    return true;
}

/* ---- before and after a compilation ---- */

void kiln__inputs_begin(kiln__inputs *in)
{
    struct timespec now = {0};

    memset(in, 0, sizeof *in);
    clock_gettime(CLOCK_REALTIME, &now);
    in->read_ns = nanoseconds(now);
    in->complete = true;
}

int64_t kiln__inputs_wait_ns(const kiln__inputs *in)
{
    int64_t wait = 0;

    for (size_t k = 0; k < in->count; k++) {
        const int64_t changed = in->items[k].changed_ns;
        const bool coarse = changed % 1000000000 == 0;
        const int64_t left = changed + (coarse ? COARSE_GRAIN_NS : GRAIN_NS) - in->read_ns;
        if (left > GRAIN_NS) /* seconds, or a clock that is not this machine's */
            return -1;
        wait = left > wait ? left : wait;
    }
    return wait;
}

bool kiln__inputs_equal(const kiln__inputs *a, const kiln__inputs *b)
{
    if (a->count != b->count)
        return false;
    for (size_t k = 0; k < a->count; k++) {
        const kiln__input *x = &a->items[k], *y = &b->items[k];
        if (strcmp(x->path, y->path) != 0 || x->device != y->device || x->inode != y->inode ||
            x->size != y->size || x->modified_ns != y->modified_ns ||
            x->changed_ns != y->changed_ns)
            return false;
    }
    return true;
}

/* glibc's, which GCC reads before everything. It is part of the compiler's installation. */
static bool is_implicit(const char *path)
{
    static const char name[] = "/stdc-predef.h";
    const size_t length = strlen(path);

    return length >= sizeof name - 1 && strcmp(path + length - (sizeof name - 1), name) == 0;
}

static bool is_among(const kiln__inputs *in, const char *path)
{
    struct stat st;

    if (kiln__input_known(in, path))
        return true;
    if (stat(path, &st) != 0)
        return false;
    for (size_t k = 0; k < in->count; k++)
        if (in->items[k].device == (uint64_t)st.st_dev && in->items[k].inode == (uint64_t)st.st_ino)
            return true;
    return false;
}

bool kiln__inputs_cover(kiln__inputs *in, const char *read_by_compiler)
{
    for (const char *at = read_by_compiler; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        char *path = kiln__strndup(at, length);
        if (path == NULL || !(is_implicit(path) || is_among(in, path)))
            kiln__inputs_refuse(in, "the compiler has read %s, which no directive names plainly",
                                path != NULL ? path : "files");
        kiln__free(path);
        at += length + (at[length] == '\n');
    }
    return in->complete;
}
