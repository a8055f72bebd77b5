/*
 * bundle.c - many blobs in one read-only file, for applications that bring their kernels along.
 *
 *     0   "KILNBNDL"
 *     8   format version (u32), header bytes (u32)
 *     16  XXH3-128 of everything from byte 32 to the end of the index, low half first
 *     32  number of entries (u64)
 *     40  bytes of the whole file (u64)
 *     48  16 zero bytes
 *     64  the index, sorted: high and low half of a name (u64 each), where its blob begins and how
 *         long it is (u64 each)
 *         blob files (blob.c) as they are, each on a multiple of 16, zero bytes between
 *
 * A bundle is mapped. Opening checks header and index, some 30 bytes an entry; a blob is checked
 * when it is found, as one from a folder is. So every byte that is used was checked.
 *
 * Rule 1: nothing is believed before it is checked against the file's true size.
 * Rule 2: equal entries give equal bundles: the index is sorted, and nothing else is in the file.
 *
 * store.c, pack.c and catalog.c call this file. Test: test_cache_limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

#define FORMAT_VERSION 1u
#define HEADER_BYTES ((size_t)64)
#define CHECKED_FROM ((size_t)32)
#define ENTRY_BYTES ((size_t)32)

static const unsigned char MAGIC[8] = {'K', 'I', 'L', 'N', 'B', 'N', 'D', 'L'};

/* ---- reading ---- */

kiln_status kiln__bundle_check(const void *bytes, size_t size, kiln__bundle *out, kiln_error *err)
{
    const unsigned char *p = bytes;

    if (size < HEADER_BYTES || memcmp(p, MAGIC, sizeof MAGIC) != 0)
        return kiln__fail(err, KILN_ERR_FORMAT, "it is no bundle of kernels");
    const uint64_t version = kiln__get_le(p + 8, 4);
    if (version != FORMAT_VERSION)
        return kiln__fail(err, KILN_ERR_FORMAT, "it has format %u, this kiln reads format %u",
                          (unsigned)version, FORMAT_VERSION);
    const uint64_t count = kiln__get_le(p + 32, 8);
    if (kiln__get_le(p + 12, 4) != HEADER_BYTES || kiln__get_le(p + 40, 8) != size ||
        count > (size - HEADER_BYTES) / ENTRY_BYTES)
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "it is cut short or damaged: %zu bytes, %llu expected", size,
                          (unsigned long long)kiln__get_le(p + 40, 8));
    const kiln__hash128 sum =
        kiln__hash_128(p + CHECKED_FROM, HEADER_BYTES + (size_t)count * ENTRY_BYTES - CHECKED_FROM);
    if (sum.lo != kiln__get_le(p + 16, 8) || sum.hi != kiln__get_le(p + 24, 8))
        return kiln__fail(err, KILN_ERR_FORMAT, "its index is damaged");
    out->bytes = p;
    out->size = size;
    out->count = (size_t)count;
    return KILN_OK;
}

/* A bundle is code that this process will run: ours or the system's, and closed to writers. */
static kiln_status check_trust(const struct stat *st, kiln_error *err)
{
    if (!S_ISREG(st->st_mode))
        return kiln__fail(err, KILN_ERR_IO, "it is no regular file");
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return kiln__fail(err, KILN_ERR_CACHE,
                          "it is owned by user %lu, while this process runs as user %lu",
                          (unsigned long)st->st_uid, (unsigned long)geteuid());
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return kiln__fail(err, KILN_ERR_CACHE,
                          "others may write to it (mode %04o), and may have put code into it that "
                          "this process would run; make it again, closed to others",
                          (unsigned)st->st_mode & 07777u);
    return KILN_OK;
}

static kiln_status fail_errno(int why, kiln_error *err)
{
    char text[128];

    return kiln__fail(err, why == ENOMEM ? KILN_ERR_NO_MEMORY : KILN_ERR_IO, "%s",
                      strerror_r(why, text, sizeof text));
}

/* Check each folder on the path to the file, and open the file. */
static kiln_status open_file(const char *path, int *fd_out, kiln_error *err)
{
    char here[PATH_MAX], reason[KILN__REASON_BYTES] = "";
    kiln__buf whole = KILN__BUF_INIT;

    if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
        return fail_errno(errno, err);
    kiln__buf_printf(&whole, "%s%s%s", path[0] != '/' ? here : "", path[0] != '/' ? "/" : "", path);
    const int why =
        whole.failed ? ENOMEM
                     : kiln__way_open(whole.text, O_RDONLY | O_NONBLOCK | O_NOCTTY, fd_out, reason);
    kiln__buf_clear(&whole);
    if (why == EPERM && reason[0] != '\0')
        return kiln__fail(err, KILN_ERR_CACHE, "%s", reason);
    return why == 0 ? KILN_OK : fail_errno(why, err);
}

/* The file behind `fd` as a bundle, whose path is not set. */
static kiln_status map_file(int fd, kiln__bundle *out, kiln_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return fail_errno(errno, err);
    KILN_CHECK(check_trust(&st, err));
    if ((uint64_t)st.st_size < HEADER_BYTES)
        return kiln__fail(err, KILN_ERR_FORMAT, "it is no bundle of kernels");
    void *const bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return fail_errno(errno, err);
    const kiln_status status = kiln__bundle_check(bytes, (size_t)st.st_size, out, err);
    if (status != KILN_OK)
        munmap(bytes, (size_t)st.st_size);
    return status;
}

kiln_status kiln__bundle_open(const char *path, kiln__bundle *out, kiln_error *err)
{
    kiln_error why = KILN_ERROR_INIT;
    kiln__bundle bundle = {0};
    int fd = -1;

    memset(out, 0, sizeof *out);
    kiln_status status = open_file(path, &fd, &why);
    if (status == KILN_OK) {
        status = map_file(fd, &bundle, &why);
        close(fd);
    }
    if (status != KILN_OK)
        return kiln__fail(err, status, "bundle %s: %s", path, why.message);
    bundle.path = kiln__strdup(path);
    if (bundle.path == NULL) {
        munmap((void *)(uintptr_t)bundle.bytes, bundle.size);
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "bundle %s: the host is out of memory", path);
    }
    *out = bundle;
    return KILN_OK;
}

void kiln__bundle_close(kiln__bundle *b)
{
    if (b->path != NULL)
        munmap((void *)(uintptr_t)b->bytes, b->size);
    kiln__free(b->path);
    memset(b, 0, sizeof *b);
}

const void *kiln__bundle_at(const kiln__bundle *b, size_t index, kiln__hash128 *hash_out,
                            size_t *bytes_out)
{
    const unsigned char *entry = b->bytes + HEADER_BYTES + index * ENTRY_BYTES;
    const uint64_t offset = kiln__get_le(entry + 16, 8), bytes = kiln__get_le(entry + 24, 8);

    hash_out->hi = kiln__get_le(entry, 8);
    hash_out->lo = kiln__get_le(entry + 8, 8);
    if (offset % 16 != 0 || offset < HEADER_BYTES + b->count * ENTRY_BYTES || offset > b->size ||
        bytes > b->size - offset)
        return NULL;
    *bytes_out = (size_t)bytes;
    return b->bytes + offset;
}

const void *kiln__bundle_find(const kiln__bundle *b, kiln__hash128 hash, size_t *bytes_out)
{
    size_t low = 0, high = b->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        kiln__hash128 h = {0, 0};
        const void *found = kiln__bundle_at(b, middle, &h, bytes_out);
        if (h.hi == hash.hi && h.lo == hash.lo)
            return found;
        if (h.hi < hash.hi || (h.hi == hash.hi && h.lo < hash.lo))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- writing ---- */

static int by_hash(const void *a, const void *b)
{
    const kiln__bundle_item *x = a, *y = b;

    if (x->hash.hi != y->hash.hi)
        return x->hash.hi < y->hash.hi ? -1 : 1;
    return x->hash.lo < y->hash.lo ? -1 : x->hash.lo > y->hash.lo;
}

static uint64_t align16(uint64_t v)
{
    return (v + 15) & ~(uint64_t)15;
}

/* Header and index for sorted items, as heap memory of *bytes_out; the file's size beside it. */
static unsigned char *make_index(const kiln__bundle_item *items, size_t count, size_t *bytes_out)
{
    const size_t bytes = HEADER_BYTES + count * ENTRY_BYTES;
    unsigned char *head = kiln__calloc(1, bytes);
    uint64_t at = align16(bytes), end = bytes;

    if (head == NULL)
        return NULL;
    for (size_t k = 0; k < count; k++) {
        unsigned char *entry = head + HEADER_BYTES + k * ENTRY_BYTES;
        kiln__put_le(entry, 8, items[k].hash.hi);
        kiln__put_le(entry + 8, 8, items[k].hash.lo);
        kiln__put_le(entry + 16, 8, at);
        kiln__put_le(entry + 24, 8, items[k].bytes);
        end = at + items[k].bytes;
        at = align16(end);
    }
    memcpy(head, MAGIC, sizeof MAGIC);
    kiln__put_le(head + 8, 4, FORMAT_VERSION);
    kiln__put_le(head + 12, 4, HEADER_BYTES);
    kiln__put_le(head + 32, 8, count);
    kiln__put_le(head + 40, 8, end);
    kiln__hash128 sum = kiln__hash_128(head + CHECKED_FROM, bytes - CHECKED_FROM);
    kiln__put_le(head + 16, 8, sum.lo);
    kiln__put_le(head + 24, 8, sum.hi);
    *bytes_out = bytes;
    return head;
}

static int write_padded(FILE *out, const void *data, size_t bytes, bool last)
{
    static const char zeros[16];
    const size_t pad = last ? 0 : (size_t)(align16(bytes) - bytes);

    if (fwrite(data, 1, bytes, out) != bytes || fwrite(zeros, 1, pad, out) != pad)
        return errno != 0 ? errno : EIO;
    return 0;
}

int kiln__bundle_write(int fd, kiln__bundle_item *items, size_t count,
                       unsigned char *(*read_item)(void *user, const kiln__bundle_item *item),
                       void *user)
{
    size_t bytes = 0;
    int why = ENOMEM;

    if (count > 1)
        qsort(items, count, sizeof *items, by_hash);
    unsigned char *head = make_index(items, count, &bytes);
    FILE *out = head != NULL ? fdopen(fd, "wb") : NULL;
    if (out == NULL) {
        kiln__free(head);
        close(fd);
        return why;
    }
    if (kiln__is_beyond_process_limit(kiln__get_le(head + 40, 8))) {
        kiln__free(head);
        fclose(out);
        return EFBIG;
    }
    errno = 0;
    why = write_padded(out, head, bytes, count == 0);
    for (size_t k = 0; k < count && why == 0; k++) {
        unsigned char *file = read_item(user, &items[k]);
        why = file != NULL ? write_padded(out, file, (size_t)items[k].bytes, k + 1 == count)
                           : ESTALE;
        kiln__free(file);
    }
    kiln__free(head);
    if (why == 0 && (fflush(out) != 0 || fsync(fd) != 0))
        why = errno != 0 ? errno : EIO;
    if (fclose(out) != 0 && why == 0)
        why = errno != 0 ? errno : EIO;
    return why;
}
