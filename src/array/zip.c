/*
 * zip.c - .zip files as NumPy's .npz are: a list of entries at the end, each stored or deflated.
 *
 *     file > end > directory > [entries] > one entry's bytes > inflated > checksum compared
 *     entries > [local header, bytes] > directory > end
 *
 * Entries are inflated by zlib, which is loaded when it is needed and may be missing; what is written
 * is stored.
 *
 * Rule 1: the file's size bounds everything. Offsets and sizes are claims, compared with it before
 *         they are used; a deflated entry cannot grow more than DEFLATE can make it.
 * Rule 2: messages name no file; the callers do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "array/array.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    EXTRA_ZIP64 = 1,
    COMMENT_MAX = 65535,
    STORED = 0,
    DEFLATED = 8,
    GROWTH_MAX = 1032 /* bytes that one byte of DEFLATE can stand for, at most */
};

static const uint32_t LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50,
                      END64 = 0x06064b50, LOCATOR = 0x07064b50;

static uint64_t take(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    for (int k = 0; k < bytes; k++)
        value |= (uint64_t)at[k] << 8 * k;
    return value;
}

/* ---- checksums ---- */

uint32_t kiln__crc32(uint32_t crc, const void *data, size_t bytes)
{
    enum { AT_ONCE = 8 };
    const unsigned char *at = data;
    uint32_t table[AT_ONCE][256];

    for (uint32_t k = 0; k < 256; k++) {
        uint32_t value = k;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        table[0][k] = value;
    }
    for (int t = 1; t < AT_ONCE; t++)
        for (int k = 0; k < 256; k++)
            table[t][k] = table[t - 1][k] >> 8 ^ table[0][table[t - 1][k] & 255];
    crc = ~crc;
    for (; bytes >= AT_ONCE; at += AT_ONCE, bytes -= AT_ONCE) {
        uint32_t next = 0;
        crc ^= (uint32_t)take(at, 4);
        for (int k = 0; k < 4; k++)
            next ^= table[7 - k][crc >> 8 * k & 255] ^ table[3 - k][at[4 + k]];
        crc = next;
    }
    for (; bytes > 0; at++, bytes--)
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 255];
    return ~crc;
}

/* ---- zlib ---- */

/* z_stream of zlib.h, whose layout has not changed since 1.0. */
typedef struct inflater {
    const unsigned char *in;
    unsigned in_bytes;
    unsigned long in_total;
    unsigned char *out;
    unsigned out_bytes;
    unsigned long out_total;
    const char *message;
    void *state, *(*alloc)(void *, unsigned, unsigned);
    void (*free)(void *, void *);
    void *user;
    int data_type;
    unsigned long adler, reserved;
} inflater;

typedef struct zlib {
    void *library;
    int (*begin)(inflater *z, int window_bits, const char *version, int bytes);
    int (*run)(inflater *z, int flush);
    int (*end)(inflater *z);
    const char *(*version)(void);
} zlib;

static bool load_zlib(zlib *z)
{
    static const char *const names[] = {"inflateInit2_", "inflate", "inflateEnd", "zlibVersion"};
    void *const fields[] = {&z->begin, &z->run, &z->end, &z->version};

    z->library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t k = 0; z->library != NULL && k < KILN_COUNT_OF(names); k++) {
        void *const symbol = dlsym(z->library, names[k]);
        memcpy(fields[k], &symbol, sizeof symbol);
        if (symbol == NULL) {
            dlclose(z->library);
            z->library = NULL;
        }
    }
    return z->library != NULL;
}

/* Inflate all of `packed` into exactly `bytes`. */
static bool inflate_all(const zlib *z, const unsigned char *packed, uint64_t packed_bytes,
                        unsigned char *out, uint64_t bytes)
{
    enum { OK = 0, STREAM_END = 1, RAW = -15, PIECE = 1 << 30 };
    inflater s;
    uint64_t in_left = packed_bytes, out_left = bytes;
    int state;

    memset(&s, 0, sizeof s);
    s.in = packed;
    s.out = out;
    if (z->begin(&s, RAW, z->version(), (int)sizeof s) != OK)
        return false;
    do {
        const unsigned in = in_left < PIECE ? (unsigned)in_left : PIECE;
        const unsigned most = out_left < PIECE ? (unsigned)out_left : PIECE;
        s.in_bytes = in;
        s.out_bytes = most;
        state = z->run(&s, 0);
        in_left -= in - s.in_bytes;
        out_left -= most - s.out_bytes;
        if (state == OK && in == s.in_bytes && most == s.out_bytes)
            break; /* neither moves: there is more than was claimed */
    } while (state == OK);
    (void)z->end(&s);
    return state == STREAM_END && in_left == 0 && out_left == 0;
}

/* ---- reading ---- */

/* Read a part of the file that is known to be there. */
static kiln_status read_at(const kiln__zip *z, uint64_t offset, void *data, size_t bytes,
                           kiln_error *err)
{
    size_t done = 0;

    while (done < bytes) {
        const ssize_t got = pread(z->fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return kiln__fail(err, KILN_ERR_IO, "it cannot be read: %s", strerror(errno));
        if (got == 0)
            return kiln__fail(err, KILN_ERR_FORMAT, "it was shortened while it was read");
        done += (size_t)got;
    }
    return KILN_OK;
}

/* Where the directory is, as the end of the file says. */
static kiln_status find_directory(const kiln__zip *z, uint64_t *at_out, uint64_t *bytes_out,
                                  kiln_error *err)
{
    const size_t tail =
        z->bytes < END_BYTES + COMMENT_MAX ? (size_t)z->bytes : END_BYTES + COMMENT_MAX;
    unsigned char *text = NULL, more[END64_BYTES];
    kiln_status status = KILN_OK;
    size_t at = tail;

    if (z->bytes < END_BYTES)
        return kiln__fail(err, KILN_ERR_FORMAT, "%llu bytes are no .zip file",
                          (unsigned long long)z->bytes);
    KILN_TRY(kiln__make_room(&text, tail, err));
    KILN_TRY(read_at(z, z->bytes - tail, text, tail, err));
    for (size_t k = tail - END_BYTES + 1; k-- > 0 && at == tail;)
        if (take(text + k, 4) == END && take(text + k + 20, 2) == tail - END_BYTES - k)
            at = k;
    if (at == tail) {
        status = kiln__fail(err, KILN_ERR_FORMAT, "the end of a .zip file is missing");
        goto done;
    }
    *bytes_out = take(text + at + 12, 4);
    *at_out = take(text + at + 16, 4);
    if (at < LOCATOR_BYTES || take(text + at - LOCATOR_BYTES, 4) != LOCATOR)
        goto done;
    const uint64_t end64 = take(text + at - LOCATOR_BYTES + 8, 8);
    if (z->bytes < END64_BYTES || end64 > z->bytes - END64_BYTES) {
        status = kiln__fail(err, KILN_ERR_FORMAT, "the end of a large .zip file lies beyond it");
        goto done;
    }
    KILN_TRY(read_at(z, end64, more, sizeof more, err));
    if (take(more, 4) == END64) {
        *bytes_out = take(more + 40, 8);
        *at_out = take(more + 48, 8);
    }

done:
    kiln__free(text);
    return status;
}

/* What an entry's extra fields say in the place of 32 bits that are all ones. */
static void take_extra(kiln__zip_entry *e, const unsigned char *extra, size_t bytes)
{
    while (bytes >= 4) {
        const size_t size = (size_t)take(extra + 2, 2);
        uint64_t *const wide[] = {&e->bytes, &e->packed, &e->header};
        size_t used = 4;
        if (size > bytes - 4)
            return;
        for (size_t k = 0; take(extra, 2) == EXTRA_ZIP64 && k < KILN_COUNT_OF(wide); k++)
            if (*wide[k] == UINT32_MAX && used + 8 <= size + 4) {
                *wide[k] = take(extra + used, 8);
                used += 8;
            }
        extra += size + 4;
        bytes -= size + 4;
    }
}

/* The next entry of a directory, whose names are ended where they stand. NULL: there is none. */
static unsigned char *take_entry(unsigned char *at, const unsigned char *end, kiln__zip_entry *e)
{
    if (end - at < CENTRAL_BYTES || take(at, 4) != CENTRAL)
        return NULL;
    const size_t name = (size_t)take(at + 28, 2), extra = (size_t)take(at + 30, 2);
    const size_t comment = (size_t)take(at + 32, 2), all = CENTRAL_BYTES + name + extra + comment;
    if ((size_t)(end - at) < all)
        return NULL;
    *e = (kiln__zip_entry){.encrypted = (take(at + 8, 2) & 1) != 0,
                           .method = (unsigned)take(at + 10, 2),
                           .crc = (uint32_t)take(at + 16, 4),
                           .packed = take(at + 20, 4),
                           .bytes = take(at + 24, 4),
                           .header = take(at + 42, 4)};
    take_extra(e, at + CENTRAL_BYTES + name, extra);
    memmove(at, at + CENTRAL_BYTES, name);
    at[name] = '\0';
    e->name = (const char *)at;
    return at + all;
}

kiln_status kiln__zip_open(int fd, uint64_t bytes, kiln__zip *out, kiln_error *err)
{
    uint64_t at = 0, size = 0;
    size_t capacity = 0;
    kiln__zip_entry e;
    kiln_status status = KILN_OK;

    *out = (kiln__zip){.fd = fd, .bytes = bytes};
    KILN_TRY(find_directory(out, &at, &size, err));
    if (at > bytes || size > bytes - at) {
        status = kiln__fail(err, KILN_ERR_FORMAT, "its directory lies beyond its end");
        goto done;
    }
    KILN_TRY(kiln__make_room(&out->directory, (size_t)size + 1, err));
    KILN_TRY(read_at(out, at, out->directory, (size_t)size, err));
    unsigned char *next = out->directory;
    const unsigned char *const end = next + size;
    while ((next = take_entry(next, end, &e)) != NULL) {
        if (!kiln__reserve(&out->entries, out->count, &capacity, sizeof e)) {
            status = kiln__fail_memory(err, sizeof e);
            goto done;
        }
        out->entries[out->count++] = e;
    }

done:
    if (status != KILN_OK)
        kiln__zip_clear(out);
    return status;
}

void kiln__zip_clear(kiln__zip *z)
{
    kiln__free(z->entries);
    kiln__free(z->directory);
    z->entries = NULL;
    z->directory = NULL;
    z->count = 0;
}

/* Where an entry's bytes begin, behind its local header. */
static kiln_status find_bytes(const kiln__zip *z, const kiln__zip_entry *e, uint64_t *at_out,
                              kiln_error *err)
{
    unsigned char local[LOCAL_BYTES];

    if (z->bytes < LOCAL_BYTES || e->header > z->bytes - LOCAL_BYTES)
        return kiln__fail(err, KILN_ERR_FORMAT, "an entry lies beyond its end");
    KILN_CHECK(read_at(z, e->header, local, sizeof local, err));
    *at_out = e->header + LOCAL_BYTES + take(local + 26, 2) + take(local + 28, 2);
    if (take(local, 4) != LOCAL || *at_out > z->bytes || e->packed > z->bytes - *at_out)
        return kiln__fail(err, KILN_ERR_FORMAT, "an entry lies beyond its end, or elsewhere");
    return KILN_OK;
}

kiln_status kiln__zip_read(const kiln__zip *z, const kiln__zip_entry *e, unsigned char **out,
                           kiln_error *err)
{
    unsigned char *packed = NULL, *data = NULL;
    kiln_status status = KILN_OK;
    uint64_t at = 0;
    zlib library = {NULL, NULL, NULL, NULL, NULL};

    *out = NULL;
    if (e->encrypted || (e->method != STORED && e->method != DEFLATED))
        return kiln__fail(err, KILN_ERR_FORMAT, "an entry is %s",
                          e->encrypted ? "encrypted" : "compressed by another method than DEFLATE");
    KILN_TRY(find_bytes(z, e, &at, err));
    if (e->method == STORED ? e->packed != e->bytes : e->bytes / GROWTH_MAX > e->packed) {
        status = kiln__fail(err, KILN_ERR_FORMAT, "an entry of %llu bytes claims to hold %llu",
                            (unsigned long long)e->packed, (unsigned long long)e->bytes);
        goto done;
    }
    KILN_TRY(kiln__make_room(&packed, (size_t)e->packed, err));
    KILN_TRY(read_at(z, at, packed, (size_t)e->packed, err));
    if (e->method == STORED) {
        data = packed;
        packed = NULL;
    } else if (!load_zlib(&library)) {
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED,
                            "its entries are compressed, and zlib is not here (libz.so.1)");
        goto done;
    } else {
        KILN_TRY(kiln__make_room(&data, (size_t)e->bytes, err));
        if (!inflate_all(&library, packed, e->packed, data, e->bytes)) {
            status =
                kiln__fail(err, KILN_ERR_FORMAT, "the compressed bytes of an entry are damaged");
            goto done;
        }
    }
    if (kiln__crc32(0, data, (size_t)e->bytes) != e->crc) {
        status = kiln__fail(err, KILN_ERR_FORMAT, "the checksum of an entry is another one");
        goto done;
    }
    *out = data;
    data = NULL;

done:
    if (library.library != NULL)
        dlclose(library.library);
    kiln__free(packed);
    kiln__free(data);
    return status;
}

/* ---- writing ---- */

static void put(kiln__buf *out, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++)
        kiln__buf_putc(out, (char)(value >> 8 * k & 255));
}

/* What local headers and the directory have in common, from the version on: stored, of
 * 1980-01-01. */
static void put_common(kiln__buf *out, const kiln__zip_entry *e, size_t extra)
{
    enum { VERSION_ZIP64 = 45, FIRST_DAY = 0x21, UTF8 = 0x800 };

    put(out, VERSION_ZIP64, 2);
    put(out, UTF8, 2);
    put(out, STORED, 2);
    put(out, 0, 2);
    put(out, FIRST_DAY, 2);
    put(out, e->crc, 4);
    put(out, UINT32_MAX, 4);
    put(out, UINT32_MAX, 4);
    put(out, strlen(e->name), 2);
    put(out, extra, 2);
}

/* Sizes are always written in 64 bits. */
static void put_sizes(kiln__buf *out, const kiln__zip_entry *e, size_t extra)
{
    put(out, EXTRA_ZIP64, 2);
    put(out, extra - 4, 2);
    put(out, e->bytes, 8);
    put(out, e->bytes, 8);
}

void kiln__zip_put_local(kiln__buf *out, const kiln__zip_entry *e)
{
    put(out, LOCAL, 4);
    put_common(out, e, 20);
    kiln__buf_puts(out, e->name);
    put_sizes(out, e, 20);
}

void kiln__zip_put_end(kiln__buf *out, const kiln__zip_entry *entries, size_t count, uint64_t at)
{
    const size_t begin = out->length;

    for (size_t k = 0; k < count; k++) {
        put(out, CENTRAL, 4);
        put(out, 45, 2);
        put_common(out, &entries[k], 28);
        put(out, 0, 8); /* no comment, one disk, no attributes */
        put(out, 0, 2);
        put(out, UINT32_MAX, 4);
        kiln__buf_puts(out, entries[k].name);
        put_sizes(out, &entries[k], 28);
        put(out, entries[k].header, 8);
    }
    const uint64_t bytes = out->length - begin;
    put(out, END64, 4);
    put(out, END64_BYTES - 12, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);
    put(out, count, 8);
    put(out, count, 8);
    put(out, bytes, 8);
    put(out, at, 8);
    put(out, LOCATOR, 4);
    put(out, 0, 4);
    put(out, at + bytes, 8);
    put(out, 1, 4);
    put(out, END, 4);
    put(out, 0, 4);
    put(out, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put(out, count < UINT16_MAX ? count : UINT16_MAX, 2);
    put(out, bytes < UINT32_MAX ? bytes : UINT32_MAX, 4);
    put(out, at < UINT32_MAX ? at : UINT32_MAX, 4);
    put(out, 0, 2);
}
