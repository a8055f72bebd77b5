/*
 * npy_file.c - .npy files on disk: read whole, written whole or not at all.
 *
 *     path > stat > header > room for exactly the elements > elements > byte order > array
 *     array > a file without a name in the same folder > a temporary name > rename > path
 *
 * Rule 1: the file's size bounds every allocation, and is asked before the first one; a header
 *         may lie, a size that fstat gives may not.
 * Rule 2: every message names the file.
 * Rule 3: after a failed write the folder is as it was. So it is after one whose process was killed,
 *         but for the moment between the last two steps, and where the file system knows no files
 *         without names.
 *
 * Pipes and devices have no size, so they are refused for reading. They can be written to, in
 * place: a temporary file renamed over /dev/stdout would destroy it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array/internal.h"

/* Names tried for a temporary file; more than one clash is already odd. */
#define TEMP_NAMES_MAX 100

const char *kiln__path_shown(const char *path)
{
    size_t bytes = strlen(path);

    path += bytes > 240 ? bytes - 240 : 0;
    while (kiln__utf8_continues(*path)) /* not into the middle of a UTF-8 character */
        path++;
    return path;
}

static kiln_status fail_io(kiln_error *err, const char *path, const char *what, int error)
{
    char text[128];
    return kiln__fail(err, KILN_ERR_IO, "\"%s\" %s: %s", kiln__path_shown(path), what,
                      strerror_r(error, text, sizeof text));
}

static kiln_status fail_format(kiln_error *err, const char *path, const kiln_error *why)
{
    return kiln__fail(err, KILN_ERR_FORMAT, "\"%s\" is no usable .npy file: %s",
                      kiln__path_shown(path), why->message);
}

/* ---- reading ---- */

/* Read exactly `bytes`. ERR_FORMAT when the file ends before. */
static kiln_status read_all(int fd, const char *path, void *data, size_t bytes, kiln_error *err)
{
    const ssize_t got = kiln__read_up_to(fd, data, bytes);

    if (got < 0)
        return fail_io(err, path, "cannot be read", errno);
    if ((size_t)got == bytes)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_FORMAT,
                      "\"%s\" is no usable .npy file: it lost %zu bytes while it was read",
                      kiln__path_shown(path), bytes - (size_t)got);
}

kiln_status kiln__file_open(const char *path, int *fd_out, size_t *bytes_out, kiln_error *err)
{
    struct stat info;

    *fd_out = kiln__open_regular(path, &info);
    *bytes_out = (size_t)info.st_size;
    if (*fd_out >= 0)
        return KILN_OK;
    if (errno != ENODEV || info.st_mode == 0)
        return fail_io(err, path, "cannot be opened", errno);
    return kiln__fail(err, KILN_ERR_IO, "\"%s\" is %s, and only regular files can be read",
                      kiln__path_shown(path),
                      S_ISDIR(info.st_mode)    ? "a folder"
                      : S_ISFIFO(info.st_mode) ? "a pipe"
                                               : "no regular file");
}

/* Read and parse the header; the file is then at its first element. */
static kiln_status read_header(int fd, const char *path, size_t file_bytes,
                               kiln__npy_header *header, kiln_error *err)
{
    unsigned char start[12];
    unsigned char *text = NULL;
    size_t first = file_bytes < sizeof start ? file_bytes : sizeof start;
    size_t prefix = 0, length = 0;
    kiln_error why = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    KILN_TRY(read_all(fd, path, start, first, err));
    if (kiln__npy_prefix(start, first, &prefix, &length, &why) != KILN_OK) {
        status = fail_format(err, path, &why);
        goto done;
    }
    /* A header longer than the file is cut here, and refused by the parser. */
    size_t total = prefix + length < file_bytes ? prefix + length : file_bytes;
    KILN_TRY(kiln__make_room(&text, total, err));
    first = first < total ? first : total;
    memcpy(text, start, first);
    if (total > first)
        KILN_TRY(read_all(fd, path, text + first, total - first, err));
    if (kiln__npy_parse(text, total, header, &why) != KILN_OK)
        status = fail_format(err, path, &why);
    else if (lseek(fd, (off_t)header->data_offset, SEEK_SET) < 0)
        status = fail_io(err, path, "cannot be read", errno);

done:
    kiln__free(text);
    kiln_error_clear(&why);
    return status;
}

static void swap_bytes(unsigned char *at, size_t bytes, size_t word)
{
    for (size_t i = 0; i < bytes; i += word)
        for (size_t low = 0, high = word - 1; low < high; low++, high--) {
            unsigned char kept = at[i + low];
            at[i + low] = at[i + high];
            at[i + high] = kept;
        }
}

/* Elements as kiln wants them: host byte order, and bools that are 0 or 1, since a kernel may not
 * see any other. */
static void put_right(const kiln__npy_header *header, unsigned char *data, size_t bytes)
{
    size_t word = kiln_dtype_size(header->dtype);

    if (kiln_dtype_kind(header->dtype) == 'c')
        word /= 2; /* Each part is swapped by itself. */
    if (header->swap)
        swap_bytes(data, bytes, word);
    if (header->dtype == KILN_BOOL)
        for (size_t i = 0; i < bytes; i++)
            data[i] = data[i] != 0;
}

kiln_status kiln__npy_take(void *data, size_t bytes, kiln__npy_header *header_out, kiln_error *err)
{
    int64_t size = 0;

    KILN_CHECK(kiln__npy_parse(data, bytes, header_out, err));
    const size_t itemsize = kiln_dtype_size(header_out->dtype);
    const size_t there = bytes - header_out->data_offset;
    KILN_CHECK(kiln__shape_size(header_out->rank, header_out->shape, itemsize, &size, err));
    if ((size_t)size * itemsize != there)
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "its header claims %zu bytes of elements, and %zu are there",
                          (size_t)size * itemsize, there);
    put_right(header_out, (unsigned char *)data + header_out->data_offset, there);
    return KILN_OK;
}

kiln_status kiln__npy_read(const char *path, kiln__npy_header *header_out, void **data_out,
                           kiln_error *err)
{
    kiln_status status = KILN_OK;
    unsigned char *data = NULL;
    size_t file_bytes = 0;
    int64_t size = 0;
    int fd = -1;

    *data_out = NULL;
    if (path == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "the path is NULL");
    KILN_TRY(kiln__file_open(path, &fd, &file_bytes, err));
    KILN_TRY(read_header(fd, path, file_bytes, header_out, err));
    KILN_TRY(kiln__shape_size(header_out->rank, header_out->shape,
                              kiln_dtype_size(header_out->dtype), &size, err));
    size_t bytes = (size_t)size * kiln_dtype_size(header_out->dtype);
    size_t there = file_bytes - header_out->data_offset;
    if (bytes != there) {
        status = kiln__fail(err, KILN_ERR_FORMAT,
                            "\"%s\" is no usable .npy file: its header claims %zu bytes of "
                            "elements, and %s%zu are there",
                            kiln__path_shown(path), bytes, there < bytes ? "only " : "", there);
        goto done;
    }
    KILN_TRY(kiln__make_room(&data, bytes, err));
    KILN_TRY(read_all(fd, path, data, bytes, err));
    put_right(header_out, data, bytes);
    *data_out = data;
    data = NULL;

done:
    kiln__free(data);
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- writing ---- */

/* What puts the bytes into a file. */
typedef struct content {
    kiln__put_fn put;
    void *user;
} content;

/* A name in the folder of `path` that was not given out before. It does not grow with that of the
 * file, which may be as long as names can be. */
static void make_name(const char *path, char *name, size_t name_bytes)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/');

    snprintf(name, name_bytes, "%.*s.kiln-%ld-%x-%llx.tmp",
             slash != NULL ? (int)(slash + 1 - path) : 0, path, (long)getpid(),
             atomic_fetch_add(&counter, 1), (unsigned long long)kiln__now_us());
}

/* A new file of a name that nobody uses yet. The permission bits are those the umask leaves, as for
 * any new file (mkstemp would give 0600). */
static int open_named(const char *path, char *name, size_t name_bytes)
{
    int fd = -1;

    for (int attempt = 0; attempt < TEMP_NAMES_MAX && fd < 0; attempt++) {
        make_name(path, name, name_bytes);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* A new file without a name in the folder of `path`, which ends with this process unless it is
 * given one: a program that is killed while it writes leaves nothing behind. `name` is room for the
 * path. */
static int open_nameless(const char *path, char *name, size_t name_bytes)
{
    const char *slash = strrchr(path, '/');

    snprintf(name, name_bytes, "%.*s", slash != NULL ? (int)(slash + 1 - path) : 1,
             slash != NULL ? path : ".");
    return open(name, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

static bool give_name(int fd, const char *path, char *name, size_t name_bytes)
{
    char from[64];
    int done = -1;

    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    for (int attempt = 0; attempt < TEMP_NAMES_MAX && done != 0; attempt++) {
        make_name(path, name, name_bytes);
        done = linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
        if (done != 0 && errno != EEXIST)
            break;
    }
    return done == 0;
}

/* Write a new file and rename it over `target`, which has `mode` or does not exist (0). 0 or an
 * errno value; `*usable` is false where files cannot be made in this way, and nothing has been done
 * then. */
static int write_new(const char *target, mode_t mode, bool named, const content *c, char *name,
                     size_t name_bytes, bool *usable)
{
    const int fd =
        named ? open_named(target, name, name_bytes) : open_nameless(target, name, name_bytes);
    int error = fd < 0 ? errno : 0;

    *usable = fd >= 0;
    if (fd < 0)
        return error;
    if (mode != 0)
        (void)!fchmod(fd, mode); /* Keep what was chosen for the file; no reason to fail. */
    error = c->put(fd, c->user);
    if (error == 0 && !named)
        *usable = named = give_name(fd, target, name, name_bytes);
    if (close(fd) != 0 && error == 0)
        error = errno; /* Some file systems tell of a full disk only now. */
    if (error == 0 && *usable && rename(name, target) != 0)
        error = errno;
    if (error != 0 && named)
        unlink(name);
    return error;
}

/* Write the whole file beside `target`, to which `path` leads, and put it in its place. */
static kiln_status write_renamed(const char *path, const char *target, mode_t mode,
                                 const content *c, kiln_error *err)
{
    size_t name_bytes = strlen(target) + 64;
    char *name = kiln__alloc(name_bytes);
    bool usable = false;
    int error = 0;

    if (name == NULL)
        return kiln__fail_memory(err, name_bytes);
    for (int named = 0; named < 2 && !usable; named++)
        error = write_new(target, mode, named != 0, c, name, name_bytes, &usable);
    kiln__free(name);
    if (error == 0)
        return KILN_OK;
    return fail_io(err, path,
                   usable ? "cannot be written"
                          : "cannot be written (no temporary file can be made in its folder)",
                   error);
}

/* Write into something that exists and is no file: a device or a pipe. */
static kiln_status write_in_place(const char *path, const content *c, kiln_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

    if (fd < 0)
        return fail_io(err, path, "cannot be opened", errno);
    error = c->put(fd, c->user);
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error == 0 ? KILN_OK : fail_io(err, path, "cannot be written", error);
}

kiln_status kiln__file_write(const char *path, kiln__put_fn put, void *user, kiln_error *err)
{
    const content c = {put, user};
    struct stat info;

    if (path == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "the path is NULL");
    const bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return fail_io(err, path, "cannot be written", EISDIR);
    if (exists && !S_ISREG(info.st_mode))
        return write_in_place(path, &c, err);
    if (exists && access(path, W_OK) != 0) /* rename() would ask the folder only */
        return fail_io(err, path, "cannot be written", errno);
    /* A link keeps pointing where it points: the file behind it is replaced. */
    char *const target = exists ? realpath(path, NULL) : NULL;
    const kiln_status status = write_renamed(path, target != NULL ? target : path,
                                             exists ? info.st_mode & 0777 : 0, &c, err);
    free(target); /* from realpath, hence not kiln__free */
    return status;
}

/* What a .npy file is made of. */
typedef struct npy_content {
    const char *header;
    size_t header_bytes;
    const void *data;
    size_t bytes;
} npy_content;

static int put_npy(int fd, void *user)
{
    const npy_content *const c = user;
    const int error = kiln__write_all(fd, c->header, c->header_bytes);

    return error == 0 ? kiln__write_all(fd, c->data, c->bytes) : error;
}

kiln_status kiln__npy_write(const char *path, kiln_dtype dtype, int rank, const int64_t *shape,
                            const void *data, kiln_error *err)
{
    char header[KILN__NPY_MADE_BYTES_MAX];
    npy_content c = {.header = header, .data = data};
    int64_t size = 0;

    KILN_CHECK(kiln__shape_size(rank, shape, kiln_dtype_size(dtype), &size, err));
    c.header_bytes = kiln__npy_make(dtype, rank, shape, header);
    c.bytes = (size_t)size * kiln_dtype_size(dtype);
    return kiln__file_write(path, put_npy, &c, err);
}
