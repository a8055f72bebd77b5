/*
 * npz.c - .npz files: arrays by name (kiln/array.h).
 *
 *     path > zip.c: directory > the entry of that name > .npy in memory > array
 *     arrays, one at a time > host > checksum > entry > file
 *
 * One array at a time is on the host, in either direction.
 *
 * Test: test_npz.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "kernel/kernel.h"

static const char suffix[] = ".npy";

/* How many bytes of an entry's name are the array's. */
static size_t name_bytes(const char *entry)
{
    const size_t bytes = strlen(entry), end = sizeof suffix - 1;

    return bytes > end && strcmp(entry + bytes - end, suffix) == 0 ? bytes - end : bytes;
}

static kiln_status fail_file(const char *path, kiln_status status, const kiln_error *why,
                             kiln_error *err)
{
    return kiln__fail(err, status, "\"%s\" is no usable .npz file: %s", kiln__path_shown(path),
                      why->message);
}

/* Open a file and read its directory. On success the caller closes and clears. */
static kiln_status open_file(const char *path, kiln__zip *z, kiln_error *err)
{
    kiln_error why = KILN_ERROR_INIT;
    size_t bytes = 0;
    int fd = -1;

    KILN_CHECK(kiln__file_open(path, &fd, &bytes, err));
    kiln_status status = kiln__zip_open(fd, bytes, z, &why);
    if (status != KILN_OK) {
        close(fd);
        status = fail_file(path, status, &why, err);
    }
    kiln_error_clear(&why);
    return status;
}

static void close_file(kiln__zip *z)
{
    close(z->fd);
    kiln__zip_clear(z);
}

/* ---- reading ---- */

static kiln_status fail_name(const kiln__zip *z, const char *path, const char *name,
                             kiln_error *err)
{
    kiln__buf known = {.max_bytes = 200};

    for (size_t k = 0; k < z->count && !known.failed; k++)
        kiln__buf_printf(&known, "%s\"%.*s\"", k == 0 ? "" : ", ",
                         (int)name_bytes(z->entries[k].name), z->entries[k].name);
    kiln_status status = kiln__fail(
        err, KILN_ERR_NAME, "\"%s\" has no array \"%.100s\"%s%s", kiln__path_shown(path), name,
        known.text != NULL ? "; it has " : "", known.text != NULL ? known.text : "");
    kiln__buf_clear(&known);
    return status;
}

/* Of several entries of one name the last one counts, as for NumPy. */
static const kiln__zip_entry *find(const kiln__zip *z, const char *name)
{
    for (size_t k = z->count; k-- > 0;)
        if (strlen(name) == name_bytes(z->entries[k].name) &&
            strncmp(z->entries[k].name, name, strlen(name)) == 0)
            return &z->entries[k];
    return NULL;
}

kiln_status kiln_array_load_npz(kiln_context *ctx, const char *path, const char *name,
                                kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_error why = KILN_ERROR_INIT;
    kiln__npy_header header;
    unsigned char *data = NULL;
    kiln__zip z;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(path, err);
    KILN_CHECK_NULL(name, err);
    KILN_CHECK(kiln__context_check(ctx, err));
    KILN_CHECK(open_file(path, &z, err));
    const kiln__zip_entry *const entry = find(&z, name);
    if (entry == NULL) {
        status = fail_name(&z, path, name, err);
        goto done;
    }
    status = kiln__zip_read(&z, entry, &data, &why);
    if (status == KILN_OK)
        status = kiln__npy_take(data, (size_t)entry->bytes, &header, &why);
    if (status != KILN_OK) {
        status = fail_file(path, status, &why, err);
        goto done;
    }
    status = kiln__array_from_npy(ctx, &header, data + header.data_offset, out, err);

done:
    kiln_error_clear(&why);
    kiln__free(data);
    close_file(&z);
    return status;
}

kiln_status kiln_npz_names(const char *path, char ***names_out, size_t *count_out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    size_t bytes = 0;
    kiln__zip z;

    KILN_CHECK_NULL(names_out, err);
    *names_out = NULL;
    KILN_CHECK_NULL(count_out, err);
    *count_out = 0;
    KILN_CHECK_NULL(path, err);
    KILN_CHECK(open_file(path, &z, err));
    for (size_t k = 0; k < z.count; k++)
        bytes += sizeof(char *) + name_bytes(z.entries[k].name) + 1;
    if (z.count > 0)
        KILN_TRY(kiln__make_room(names_out, bytes, err));
    char *text = (char *)(*names_out + z.count);
    for (size_t k = 0; k < z.count; k++) {
        const size_t own = name_bytes(z.entries[k].name);
        memcpy(text, z.entries[k].name, own);
        text[own] = '\0';
        (*names_out)[k] = text;
        text += own + 1;
    }
    *count_out = z.count;

done:
    close_file(&z);
    return status;
}

/* ---- writing ---- */

/* A file while it is written. */
typedef struct writing {
    const kiln_array *const *arrays;
    char **names; /* of entries */
    size_t count;
    kiln__zip_entry *entries;
    uint64_t at;        /* bytes that are written */
    kiln_status status; /* of what is no matter of the file */
    kiln_error *err;
} writing;

static int put_bytes(writing *w, int fd, const void *data, size_t bytes)
{
    w->at += bytes;
    return kiln__write_all(fd, data, bytes);
}

/* 0, an errno value, or ECANCELED where w->status tells. */
static int put_array(writing *w, int fd, size_t nth)
{
    const kiln_array *const array = w->arrays[nth];
    const size_t bytes = (size_t)array->size * kiln_dtype_size(array->dtype);
    kiln__zip_entry *const e = &w->entries[nth];
    char header[KILN__NPY_MADE_BYTES_MAX];
    kiln__buf local = KILN__BUF_INIT;
    void *data = NULL;
    int error = ECANCELED;

    w->status = kiln__make_room(&data, bytes, w->err);
    if (w->status == KILN_OK)
        w->status = kiln_array_to_host(array, data, bytes, NULL, w->err);
    const size_t header_bytes = kiln__npy_make(array->dtype, array->rank, array->shape, header);
    if (w->status == KILN_OK) {
        *e = (kiln__zip_entry){
            .name = w->names[nth], .bytes = header_bytes + bytes, .header = w->at};
        e->crc = kiln__crc32(kiln__crc32(0, header, header_bytes), data, bytes);
        kiln__zip_put_local(&local, e);
        if (local.failed)
            w->status = kiln__fail_memory(w->err, local.length);
    }
    if (w->status == KILN_OK)
        error = put_bytes(w, fd, local.text, local.length);
    if (error == 0)
        error = put_bytes(w, fd, header, header_bytes);
    if (error == 0)
        error = put_bytes(w, fd, data, bytes);
    kiln__buf_clear(&local);
    kiln__free(data);
    return error;
}

/* A kiln__put_fn. */
static int put_all(int fd, void *user)
{
    writing *const w = user;
    kiln__buf end = KILN__BUF_INIT;
    int error = 0;

    w->at = 0;
    for (size_t k = 0; k < w->count && error == 0; k++)
        error = put_array(w, fd, k);
    if (error != 0)
        return error;
    kiln__zip_put_end(&end, w->entries, w->count, w->at);
    if (end.failed) {
        w->status = kiln__fail_memory(w->err, end.length);
        error = ECANCELED;
    } else {
        error = kiln__write_all(fd, end.text, end.length);
    }
    kiln__buf_clear(&end);
    return error;
}

/* Names that a file can have: text, not empty, each once. */
static kiln_status take_names(writing *w, const char *const *names, kiln_error *err)
{
    enum { BYTES_MAX = 60000 };
    kiln__map seen = {NULL, 0, 0};
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < w->count && status == KILN_OK; k++) {
        bool is_new = true;
        const size_t bytes = names[k] != NULL ? strlen(names[k]) : 0;
        if (names[k] == NULL)
            status = kiln__fail(err, KILN_ERR_NULL, "name %zu is NULL", k + 1);
        else if (bytes == 0 || bytes > BYTES_MAX || !kiln__utf8_check(names[k], bytes))
            status = kiln__fail(err, KILN_ERR_NAME, "name %zu is %s", k + 1,
                                bytes == 0          ? "empty"
                                : bytes > BYTES_MAX ? "too long"
                                                    : "no UTF-8");
        else if (kiln__map_enter(&seen, names[k], bytes, &is_new) == NULL)
            status = kiln__fail_memory(err, bytes);
        else if (!is_new)
            status = kiln__fail(err, KILN_ERR_NAME, "the name \"%.100s\" is given twice", names[k]);
        if (status == KILN_OK)
            status = kiln__make_room(&w->names[k], bytes + sizeof suffix, err);
        if (status == KILN_OK)
            memcpy(stpcpy(w->names[k], names[k]), suffix, sizeof suffix);
    }
    kiln__map_clear(&seen, NULL);
    return status;
}

kiln_status kiln_array_save_npz(const kiln_array *const *arrays, const char *const *names,
                                size_t count, const char *path, kiln_error *err)
{
    writing w = {.arrays = arrays, .count = count, .err = err};
    kiln_error why = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(path, err);
    if (count > 0) {
        KILN_CHECK_NULL(arrays, err);
        KILN_CHECK_NULL(names, err);
    }
    for (size_t k = 0; k < count; k++)
        KILN_CHECK(kiln__array_check(arrays[k], NULL, "an array to be written", err));
    KILN_TRY(kiln__make_zeroed(&w.names, count + 1, sizeof *w.names, err));
    KILN_TRY(kiln__make_zeroed(&w.entries, count + 1, sizeof *w.entries, err));
    KILN_TRY(take_names(&w, names, err));
    status = kiln__file_write(path, put_all, &w, &why);
    if (w.status != KILN_OK)
        status = w.status; /* err says why */
    else if (status != KILN_OK)
        (void)kiln__error_copy(err, &why);

done:
    for (size_t k = 0; w.names != NULL && k < count; k++)
        kiln__free(w.names[k]);
    kiln__free(w.names);
    kiln__free(w.entries);
    kiln_error_clear(&why);
    return status;
}
