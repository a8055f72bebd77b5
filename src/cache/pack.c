/*
 * pack.c - a folder into a bundle, and a bundle into a folder. The file itself is bundle.c's.
 *
 * catalog.c calls this file. Test: test_cache_limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

/* What goes into a bundle. */
typedef struct packing {
    int folder;
    const char *const *targets;
    size_t target_count;
    bool *is_found; /* for each target: whether an entry is for it */
    kiln__bundle_item *items;
    size_t count, capacity;
    bool failed;
    int why; /* an errno value: something could not be read */
} packing;

/* A checked entry in heap memory, or NULL; p->why tells when the disk did not give it. */
static unsigned char *read_item(void *user, const kiln__bundle_item *item)
{
    packing *p = user;
    unsigned char *data = NULL;
    const void *key = NULL;
    size_t bytes = 0, key_bytes = 0;

    /* One byte more than there should be shows a file that was replaced by a longer one. */
    kiln__verdict verdict = kiln__entry_read(p->folder, item->path + KILN__SHARD_BYTES,
                                             (size_t)item->bytes + 1, &data, &bytes);
    if (verdict == KILN__VERDICT_UNREADABLE)
        p->why = errno;
    if (data != NULL && bytes == item->bytes &&
        kiln__blob_verify_any(data, bytes, &key, &key_bytes, &verdict)) {
        kiln__hash128 hash = kiln__hash_128(key, key_bytes);
        if (hash.lo == item->hash.lo && hash.hi == item->hash.hi)
            return data;
    }
    kiln__free(data);
    return NULL;
}

static bool is_wanted(const packing *p, const unsigned char *file, size_t bytes)
{
    kiln__verdict verdict = KILN__VERDICT_DAMAGED;
    const void *key = NULL;
    size_t key_bytes = 0;
    char target[32], kernel[64];

    if (!kiln__blob_verify_any(file, bytes, &key, &key_bytes, &verdict))
        return false;
    kiln__key_labels(key, key_bytes, target, kernel);
    bool wanted = p->target_count == 0;
    for (size_t k = 0; k < p->target_count; k++) {
        if (strcmp(p->targets[k], target) == 0)
            wanted = p->is_found[k] = true;
    }
    return wanted;
}

static void take_file(void *user, int shard_fd, const char *name, const struct stat *st)
{
    packing *p = user;
    kiln__bundle_item item = {{0, 0}, (uint64_t)st->st_size, ""};

    (void)shard_fd;
    if (p->failed || !kiln__is_entry_name(name))
        return;
    item.hash = kiln__hash_from_hex(name);
    kiln__entry_path(name, item.path);
    unsigned char *file = read_item(p, &item);
    if (file != NULL && is_wanted(p, file, (size_t)item.bytes)) {
        p->failed = !kiln__reserve(&p->items, p->count, &p->capacity, sizeof item);
        if (!p->failed)
            p->items[p->count++] = item;
    }
    kiln__free(file);
}

/* All entries that are wanted. A bundle without kernels, or without those for a target that was
 * named, would be a mistake that shows only where it is used. */
static kiln_status collect(packing *p, kiln_error *err)
{
    bool present[KILN__SHARD_COUNT] = {false};

    KILN_CHECK(kiln__make_zeroed(&p->is_found, p->target_count + 1, sizeof *p->is_found, err));
    if (p->folder >= 0 && !kiln__find_shards(p->folder, present))
        p->why = errno;
    for (unsigned shard = 0; p->why == 0 && shard < KILN__SHARD_COUNT; shard++) {
        if (present[shard] && !kiln__scan_shard(p->folder, shard, take_file, p) && p->why == 0)
            p->why = errno;
    }
    if (p->failed)
        return kiln__fail_memory(err, p->count * sizeof *p->items);
    if (p->why != 0)
        return kiln__fail(err, KILN_ERR_IO, "the cache folder cannot be read: %s",
                          strerror(p->why));
    for (size_t k = 0; k < p->target_count; k++) {
        if (!p->is_found[k])
            return kiln__fail(err, KILN_ERR_ARGUMENT, "the cache has no kernel for %.32s",
                              p->targets[k]);
    }
    if (p->count == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the cache has no kernels to export");
    return KILN_OK;
}

kiln_status kiln__pack_export(int folder, const char *path, const char *const *targets,
                              size_t target_count, uint64_t *count_out, kiln_error *err)
{
    packing p = {.folder = folder, .targets = targets, .target_count = target_count};
    kiln_status status = KILN_OK;
    kiln__buf temp = KILN__BUF_INIT;

    KILN_TRY(collect(&p, err));
    kiln__buf_printf(&temp, "%s.XXXXXX", path);
    if (temp.failed) {
        status = kiln__fail_memory(err, strlen(path));
        goto done;
    }
    int fd = mkostemp(temp.text, O_CLOEXEC);
    int why = fd >= 0 ? kiln__bundle_write(fd, p.items, p.count, read_item, &p) : errno;
    /* mkostemp's 0600 would keep a shipped bundle from other users. */
    if (why == 0 && (chmod(temp.text, 0644) != 0 || rename(temp.text, path) != 0))
        why = errno;
    if (why != 0) {
        if (fd >= 0)
            unlink(temp.text);
        status = kiln__fail(err, KILN_ERR_IO, "bundle %s: %s", path, strerror(why));
        goto done;
    }
    if (count_out != NULL)
        *count_out = p.count;

done:
    kiln__buf_clear(&temp);
    kiln__free(p.is_found);
    kiln__free(p.items);
    return status;
}

/* Store one blob of a bundle unless it is there; ERR_FORMAT when it is damaged. */
static kiln_status import_one(kiln__cache *store, const void *file, size_t bytes, uint64_t *count,
                              kiln_error *err)
{
    kiln__verdict verdict = KILN__VERDICT_DAMAGED;
    kiln__blob there = KILN__BLOB_INIT;
    const void *key = NULL, *payload = NULL;
    size_t key_bytes = 0, payload_bytes = 0;

    if (file == NULL || !kiln__blob_verify_any(file, bytes, &key, &key_bytes, &verdict) ||
        !kiln__blob_check(file, bytes, key, key_bytes, &payload, &payload_bytes))
        return kiln__fail(err, KILN_ERR_FORMAT, "a kernel in the bundle is damaged");
    if (kiln__cache_load(store, key, key_bytes, &there)) {
        kiln__blob_clear(&there);
        return KILN_OK;
    }
    if (!kiln__cache_store_as(store, key, key_bytes, payload, payload_bytes, 0, "imported"))
        return kiln__fail(err, KILN_ERR_IO, "the folder %s takes nothing",
                          kiln__cache_dir(store));
    ++*count;
    return KILN_OK;
}

kiln_status kiln__pack_import(kiln__cache *store, const char *path, uint64_t *count_out,
                              kiln_error *err)
{
    kiln__bundle bundle;
    uint64_t count = 0;
    kiln_status status = KILN_OK;

    KILN_CHECK(kiln__bundle_open(path, &bundle, err));
    for (size_t k = 0; k < bundle.count && status == KILN_OK; k++) {
        kiln__hash128 hash;
        size_t bytes = 0;
        const void *file = kiln__bundle_at(&bundle, k, &hash, &bytes);
        status = import_one(store, file, bytes, &count, err);
    }
    kiln__bundle_close(&bundle);
    if (count_out != NULL)
        *count_out = count;
    return status;
}
