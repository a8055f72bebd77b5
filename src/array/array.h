/*
 * array.h - the one door of src/array: handles, storage, views, host copies, .npy, text.
 *
 * Uses core, device, context. Launches nothing: copies that need a kernel on the device live in
 * src/kernel/array_ops.c.
 */
#ifndef KILN_ARRAY_ARRAY_H
#define KILN_ARRAY_ARRAY_H

#include "context/context.h"
#include "kiln/array.h"

#define KILN__ARRAY_MAGIC 0x6b61u
#define KILN__ARRAY_DEAD 0xdeadu

/* Memory that arrays share. Freed (to the pool, or through `release`) with the last view. */
typedef struct kiln__storage {
    atomic_uint refs;
    kiln_context *ctx;  /* counted */
    kiln__block *block; /* pool memory, or NULL when wrapped */
    void *base;         /* lowest address */
    size_t bytes;
    kiln_stream *home;          /* stream in whose order the memory is reused */
    _Atomic(uintptr_t) used_on; /* managed by kiln__storage_used_on */
    kiln_release_fn release;
    uint64_t home_work; /* of wrapped memory: kiln__stream_work() of its home at the beginning */
    bool ordered;       /* its owner uses it again in the order of a native stream: this one */
    void *order;
    void *owner, *owner_data;
    bool read_only;                  /* nobody may write through an array over this memory */
    struct kiln__recycler *recycler; /* the context's; where this and its handles came from */
} kiln__storage;

struct kiln_array {
    uint32_t magic; /* KILN__ARRAY_MAGIC while alive, KILN__ARRAY_DEAD after release */
    atomic_uint refs;
    kiln_context *ctx; /* borrowed from storage */
    kiln__storage *storage;
    void *data; /* first element */
    int64_t size;
    uint64_t layout; /* hash of dtype, rank, shape, strides: equal layouts, equal hashes */
    kiln_dtype dtype;
    int rank;
    bool contiguous;   /* C-order without gaps (also when size <= 1 or 0) */
    bool self_overlap; /* two indices may name one element: cannot be written */
    int64_t *strides;  /* bytes; points into dims */
    int64_t shape[];   /* rank extents, then rank strides */
};

/* A new array over fresh pool memory, with the axis order of `order` (rank axis numbers from
 * slowest to fastest; NULL = C-order). `stream` NULL: the context's own. */
kiln_status kiln__array_new(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                            const int *order, kiln_stream *stream, kiln_array **out,
                            kiln_error *err);

/* A view of `base` with another dtype-compatible geometry; the caller has checked bounds. */
kiln_status kiln__array_view(const kiln_array *base, int rank, const int64_t *shape,
                             const int64_t *strides, void *data, kiln_array **out, kiln_error *err);

/* Fill a header in the caller's own zeroed memory (with room for `rank` extents and strides behind
 * it). It has the layout of a view but no reference count and no storage; the caller sets `data`. A
 * call may read it during the call; it must not be retained. */
void kiln__array_header(kiln_array *header, kiln_context *ctx, kiln_dtype dtype, int rank,
                        const int64_t *shape, const int64_t *strides);

/* Headers without storage are never outputs, so it does not matter what is said of them. */
static inline bool kiln__array_is_read_only(const kiln_array *array)
{
    return array->storage != NULL && array->storage->read_only;
}

/* Why the array cannot be an output, to follow its name in a message: "is read-only", "was
 * broadcast and cannot be written"; NULL when it can. Arrays that differ in this have different
 * layouts. */
const char *kiln__array_unwritable(const kiln_array *array);

/* NULL, released or foreign handles: ERR_NULL, ERR_RELEASED, ERR_CONTEXT. `what` names it. */
kiln_status kiln__array_check(const kiln_array *array, const kiln_context *ctx, const char *what,
                              kiln_error *err);

/* Remember that `stream` (not the storage's home) uses the memory, so that its reuse waits. */
/* See kiln_dlpack_options.ordered_release. */
void kiln__storage_release_in_order(kiln__storage *storage, void *native);
void kiln__storage_used_on(kiln__storage *storage, kiln_stream *stream);

/* Let a stream of the driver's wait for all work on the memory that is enqueued so far. */
kiln_status kiln__storage_wait_on(const kiln__storage *storage, void *native, kiln_error *err);

/* Nobody may write through `array`, its only handle so far, or through its views. */
void kiln__array_make_read_only(kiln_array *array);

/* Whether an element of `a` and one of `b` can share a byte: bounds first, then exact up to a
 * fixed amount of search, beyond which the answer is yes. */
bool kiln__array_overlap(const kiln_array *a, const kiln_array *b);

/* Host memory to host memory, any strides on both sides, no cast. */
void kiln__host_copy(void *dst, const int64_t *dst_strides, const void *src,
                     const int64_t *src_strides, int rank, const int64_t *shape, size_t itemsize);

/* .npy: parse a header held in memory (at least the whole header) without reading beyond it.
 * The fuzzer's entry. */
typedef struct kiln__npy_header {
    kiln_dtype dtype;
    bool swap; /* elements are in the other byte order */
    bool fortran;
    int rank;
    int64_t shape[KILN_RANK_MAX];
    size_t data_offset; /* where elements begin */
} kiln__npy_header;
kiln_status kiln__npy_parse(const void *data, size_t bytes, kiln__npy_header *out, kiln_error *err);
/* Read a whole .npy file into C- or F-order host memory (heap), byte order put right. */
kiln_status kiln__npy_read(const char *path, kiln__npy_header *header_out, void **data_out,
                           kiln_error *err);
/* Parse a whole .npy file in memory; its elements, from header_out->data_offset on, are put right in place.
 * ERR_FORMAT, in words that name no file. */
kiln_status kiln__npy_take(void *data, size_t bytes, kiln__npy_header *header_out, kiln_error *err);
/* Longest header that is written, and the header of a C-order array in format 1.0, byte for byte as NumPy
 * writes it. Returns its length, a multiple of 64. */
#define KILN__NPY_MADE_BYTES_MAX 1024
size_t kiln__npy_make(kiln_dtype dtype, int rank, const int64_t *shape,
                      char out[KILN__NPY_MADE_BYTES_MAX]);
/* Write C-order host memory as .npy, through a temporary file and rename. */
kiln_status kiln__npy_write(const char *path, kiln_dtype dtype, int rank, const int64_t *shape,
                            const void *data, kiln_error *err);

/* Write a file through a temporary one and rename: `path` then holds what it held before, or all that `put`
 * writes into the file that it is given. `put` returns 0 or an errno value, and may be asked again. */
typedef int (*kiln__put_fn)(int fd, void *user);
kiln_status kiln__file_write(const char *path, kiln__put_fn put, void *user, kiln_error *err);
/* Open a regular file for reading, and learn its size. ERR_IO. */
kiln_status kiln__file_open(const char *path, int *fd_out, size_t *bytes_out, kiln_error *err);
/* The end of a path, for a message with bounded room. */
const char *kiln__path_shown(const char *path);

/* ---- .zip (zip.c) ---- any bytes at all; the fuzzer's entries ---- */
typedef struct kiln__zip_entry {
    const char *name;
    bool encrypted;
    unsigned method;
    uint32_t crc;
    uint64_t packed, bytes; /* in the file, and inflated */
    uint64_t header;        /* where the local header is */
} kiln__zip_entry;

typedef struct kiln__zip {
    int fd; /* the caller's */
    uint64_t bytes;
    kiln__zip_entry *entries;
    size_t count;
    unsigned char *directory;
} kiln__zip;

/* Read the directory of an open file. ERR_FORMAT, ERR_IO; nothing is left to clear then. */
kiln_status kiln__zip_open(int fd, uint64_t bytes, kiln__zip *out, kiln_error *err);
void kiln__zip_clear(kiln__zip *z);
/* The bytes of an entry, e->bytes of them, on the heap. ERR_FORMAT, ERR_UNSUPPORTED without zlib, ERR_IO. */
kiln_status kiln__zip_read(const kiln__zip *z, const kiln__zip_entry *e, unsigned char **out,
                           kiln_error *err);
/* What stands before an entry's bytes, and behind all of them, at `at`. */
void kiln__zip_put_local(kiln__buf *out, const kiln__zip_entry *e);
void kiln__zip_put_end(kiln__buf *out, const kiln__zip_entry *entries, size_t count, uint64_t at);
/* The CRC-32 of what `crc` is that of (0: nothing) with these bytes behind. */
uint32_t kiln__crc32(uint32_t crc, const void *data, size_t bytes);

/* Format C-order host memory as NumPy's str() does, into heap text. */
kiln_status kiln__array_format(kiln_dtype dtype, int rank, const int64_t *shape, const void *data,
                               char **text_out, kiln_error *err);

#endif
