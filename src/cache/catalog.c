/*
 * catalog.c - the public functions on a cache folder: list, show, verify, prune, clear, pack.
 *
 *     folder > scan > entries > [index: hits, compile times] > sort
 *
 * What is there is what a scan finds; the index only adds what files cannot tell. Every function
 * works without one.
 *
 * Tests: test_cache_limit, test_cli_cache.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

struct kiln_cache {
    kiln__cache *store;  /* NULL for a bundle */
    kiln__bundle bundle; /* empty for a folder */
};

/* Entries put away between two looks at the ledger: others wait no longer than these take. */
#define BATCH 64
#define ENTRY_FILE_MAX ((size_t)KILN__BLOB_FILE_BYTES_MAX)

/* A folder that is not there is an empty one; one that cannot be opened is not. */
static kiln_status find_folder(kiln__cache *store, kiln_error *err)
{
    char reason[KILN__REASON_BYTES] = "";

    if (store->fd >= 0)
        return KILN_OK;
    switch (kiln__dir_open(store->path, false, &store->fd, reason)) {
    case KILN__DIR_OPEN:
    case KILN__DIR_ABSENT:
        return KILN_OK;
    case KILN__DIR_REFUSED:
        return kiln__fail(err, KILN_ERR_CACHE, "there is no cache folder: %s", reason);
    case KILN__DIR_FAILED:
        break;
    }
    return kiln__fail(err, KILN_ERR_IO, "the cache folder %.300s cannot be opened: %s",
                      store->path, reason);
}

kiln_status kiln_cache_open(const char *dir, kiln_cache **out, kiln_error *err)
{
    const kiln__log silent = {kiln__log_ignore, NULL}; /* a refusal is the status's to tell */
    kiln_status status = KILN_OK;
    kiln_cache *cache = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    cache = kiln__calloc(1, sizeof *cache);
    if (cache != NULL)
        cache->store = kiln__cache_open(dir, &silent);
    if (cache == NULL || cache->store == NULL)
        status = kiln__fail_memory(err, sizeof *cache);
    else if (kiln__cache_dir(cache->store)[0] == '\0')
        status = kiln__fail(err, KILN_ERR_CACHE, "there is no cache folder: %s",
                            kiln__cache_refusal(cache->store)[0] != '\0'
                                ? kiln__cache_refusal(cache->store)
                                : "kernels are to be kept in memory only");
    if (status == KILN_OK)
        status = find_folder(cache->store, err);
    if (status == KILN_OK) {
        *out = cache;
        cache = NULL;
    }
    kiln_cache_close(cache);
    return status;
}

kiln_status kiln_cache_open_bundle(const char *path, kiln_cache **out, kiln_error *err)
{
    kiln_cache *cache = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(path, err);
    KILN_CHECK(kiln__make_zeroed(&cache, 1, sizeof *cache, err));
    kiln_status status = kiln__bundle_open(path, &cache->bundle, err);
    if (status == KILN_OK)
        *out = cache;
    else
        kiln__free(cache);
    return status;
}

void kiln_cache_close(kiln_cache *cache)
{
    if (cache == NULL)
        return;
    kiln__cache_close(cache->store);
    kiln__bundle_close(&cache->bundle);
    kiln__free(cache);
}

const char *kiln_cache_path(const kiln_cache *cache)
{
    if (cache == NULL)
        return "";
    return cache->store != NULL ? kiln__cache_dir(cache->store) : cache->bundle.path;
}

/* What only a folder can do: ERR_NULL without a cache, ERR_UNSUPPORTED for a bundle. */
static kiln_status check_folder(const kiln_cache *cache, const char *function, kiln_error *err)
{
    if (cache == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `cache` is NULL", function);
    if (cache->store == NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s needs a cache folder, and %s is a bundle",
                          function, cache->bundle.path);
    return KILN_OK;
}

/* ---- scans ---- */

typedef struct listing {
    kiln_cache_entry *rows;
    size_t count, capacity;
    uint64_t bytes, foreign;
    bool failed;
} listing;

/* An empty row behind the others; NULL (and l->failed) without memory. */
static kiln_cache_entry *add_row(listing *l)
{
    if (!kiln__reserve(&l->rows, l->count, &l->capacity, sizeof *l->rows)) {
        l->failed = true;
        return NULL;
    }
    memset(&l->rows[l->count], 0, sizeof *l->rows);
    return &l->rows[l->count++];
}

static void list_file(void *user, int shard_fd, const char *name, const struct stat *st)
{
    listing *l = user;

    (void)shard_fd;
    l->bytes += (uint64_t)st->st_size;
    if (!kiln__is_entry_name(name)) {
        l->foreign += !kiln__starts_with(name, KILN__TEMP_PREFIX);
        return;
    }
    kiln_cache_entry *row = add_row(l);
    if (row == NULL)
        return;
    memcpy(row->key, name, sizeof row->key);
    row->bytes = (uint64_t)st->st_size;
    row->last_use_ns = kiln__stamp_of(st);
}

/* The entries of a bundle, which its index keeps sorted by name. */
static kiln_status list_bundle(const kiln__bundle *bundle, listing *l, kiln_error *err)
{
    memset(l, 0, sizeof *l);
    for (size_t k = 0; k < bundle->count; k++) {
        kiln__hash128 hash;
        size_t bytes = 0;
        const unsigned char *file = kiln__bundle_at(bundle, k, &hash, &bytes);
        kiln_cache_entry *row = add_row(l);
        if (row == NULL)
            break;
        kiln__hash_hex(hash, row->key);
        row->bytes = bytes;
        l->bytes += bytes;
        if (file != NULL && bytes > KILN__BLOB_HEADER_BYTES)
            kiln__key_labels(file + KILN__BLOB_HEADER_BYTES, bytes - KILN__BLOB_HEADER_BYTES,
                             row->target, row->kernel);
    }
    if (!l->failed)
        return KILN_OK;
    kiln__free(l->rows);
    memset(l, 0, sizeof *l);
    return kiln__fail_memory(err, sizeof *l->rows);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const kiln_cache_entry *)a)->key, ((const kiln_cache_entry *)b)->key);
}

static kiln_status fail_read(const kiln_cache *cache, int why, kiln_error *err)
{
    return kiln__fail(err, KILN_ERR_IO, "the cache folder %.300s cannot be read: %s",
                      kiln_cache_path(cache), strerror(why));
}

/* A descriptor of the folder for the caller to close; -1 while there is none. */
static kiln_status get_folder(const kiln_cache *cache, int *folder, kiln_error *err)
{
    *folder = kiln__dup_folder(cache->store);
    if (*folder < 0 && cache->store->fd >= 0)
        return fail_read(cache, errno, err);
    return KILN_OK;
}

/* All entries by name; `folder` is -1 when there is none, and then nothing is found. */
static kiln_status scan(const kiln_cache *cache, int folder, listing *l, kiln_error *err)
{
    bool present[KILN__SHARD_COUNT] = {false}, whole = true;
    kiln_status status = KILN_OK;

    memset(l, 0, sizeof *l);
    if (folder >= 0)
        whole = kiln__find_shards(folder, present);
    for (unsigned shard = 0; whole && shard < KILN__SHARD_COUNT; shard++) {
        if (present[shard])
            whole = kiln__scan_shard(folder, shard, list_file, l);
    }
    if (!whole)
        status = fail_read(cache, errno, err);
    else if (l->failed)
        status = kiln__fail_memory(err, sizeof *l->rows);
    if (status != KILN_OK) {
        kiln__free(l->rows);
        memset(l, 0, sizeof *l);
    } else if (l->count > 1) {
        qsort(l->rows, l->count, sizeof *l->rows, by_key);
    }
    return status;
}

/* Fill in target and kernel name, from the key, where the index knew neither. */
static void label(int folder, kiln_cache_entry *row)
{
    unsigned char *head = NULL;
    size_t bytes = 0;

    /* Both stand near the beginning of a key. */
    if (row->target[0] == '\0')
        (void)kiln__entry_read(folder, row->key, 8192, &head, &bytes);
    if (head != NULL && bytes > KILN__BLOB_HEADER_BYTES)
        kiln__key_labels(head + KILN__BLOB_HEADER_BYTES, bytes - KILN__BLOB_HEADER_BYTES,
                         row->target, row->kernel);
    kiln__free(head);
}

/* Scan, complete from the index, label. `note` says why there is no index. */
static kiln_status list_rows(kiln_cache *cache, listing *l, char note[128], kiln_error *err)
{
    int folder = -1;

    note[0] = '\0';
    if (cache->store == NULL) {
        snprintf(note, 128, "a bundle keeps no counts");
        return list_bundle(&cache->bundle, l, err);
    }
    kiln_status status = get_folder(cache, &folder, err);
    if (status == KILN_OK)
        status = scan(cache, folder, l, err);
    if (status == KILN_OK && folder >= 0) {
        for (size_t k = 0; k < l->count; k++)
            label(folder, &l->rows[k]);
        (void)kiln__index_sync(folder, kiln__cache_dir(cache->store), l->rows, l->count, note);
    }
    if (folder >= 0)
        close(folder);
    return status;
}

/* ---- list, show, stats ---- */

/* What a list is sorted by: a text, or a number of 8 bytes of which the larger comes first. */
typedef struct order {
    size_t member; /* its place in a kiln_cache_entry */
    bool text;
} order;

static const order orders[] = {
    [KILN_CACHE_BY_LAST_USE] = {offsetof(kiln_cache_entry, last_use_ns), false},
    [KILN_CACHE_BY_BYTES] = {offsetof(kiln_cache_entry, bytes), false},
    [KILN_CACHE_BY_HITS] = {offsetof(kiln_cache_entry, hits), false},
    [KILN_CACHE_BY_COMPILE_TIME] = {offsetof(kiln_cache_entry, compile_us), false},
    [KILN_CACHE_BY_KERNEL] = {offsetof(kiln_cache_entry, kernel), true},
    [KILN_CACHE_BY_TARGET] = {offsetof(kiln_cache_entry, target), true},
};

static int compare(const void *a, const void *b, void *user)
{
    const order *by = user;
    const char *first = (const char *)a + by->member, *second = (const char *)b + by->member;
    uint64_t x = 0, y = 0;

    if (by->text && strcmp(first, second) != 0)
        return strcmp(first, second);
    if (!by->text) {
        memcpy(&x, first, sizeof x);
        memcpy(&y, second, sizeof y);
    }
    return x < y ? 1 : x > y ? -1 : by_key(a, b);
}

kiln_status kiln_cache_list(kiln_cache *cache, kiln_cache_order by, kiln_cache_entry **entries_out,
                            size_t *count_out, kiln_error *err)
{
    listing l;
    char note[128];

    KILN_CHECK_NULL(cache, err);
    KILN_CHECK_NULL(entries_out, err);
    KILN_CHECK_NULL(count_out, err);
    *entries_out = NULL;
    *count_out = 0;
    if ((unsigned)by >= KILN_COUNT_OF(orders))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no order %d", (int)by);
    KILN_CHECK(list_rows(cache, &l, note, err));
    if (l.count > 1)
        qsort_r(l.rows, l.count, sizeof *l.rows, compare, (void *)(uintptr_t)&orders[by]);
    *entries_out = l.rows;
    *count_out = l.count;
    return KILN_OK;
}

kiln_status kiln_cache_stats(kiln_cache *cache, kiln_cache_summary *summary_out, kiln_error *err)
{
    listing l;
    kiln_cache_summary *s = summary_out;

    KILN_CHECK_NULL(cache, err);
    KILN_CHECK_NULL(summary_out, err);
    memset(s, 0, sizeof *s);
    KILN_CHECK(list_rows(cache, &l, s->index_note, err));
    s->entry_count = l.count;
    s->bytes = l.bytes;
    s->limit_bytes = cache->store != NULL ? cache->store->limit_bytes : UINT64_MAX;
    s->has_index = s->index_note[0] == '\0';
    for (size_t k = 0; k < l.count; k++) {
        const kiln_cache_entry *row = &l.rows[k];
        s->hits += row->hits;
        s->compile_us += row->compile_us;
        if (k == 0 || row->last_use_ns < s->oldest_use_ns)
            s->oldest_use_ns = row->last_use_ns;
        if (row->compile_us > s->slowest_us) {
            s->slowest_us = row->compile_us;
            memcpy(s->slowest_kernel, row->kernel, sizeof s->slowest_kernel);
        }
    }
    kiln__free(l.rows);
    return KILN_OK;
}

/* The row whose name begins with `key`; NULL with a message when that is none or several. */
static const kiln_cache_entry *find_row(const listing *l, const char *key, kiln_error *err)
{
    const kiln_cache_entry *found = NULL;
    size_t matches = 0;

    for (size_t k = 0; k < l->count; k++) {
        if (strncmp(l->rows[k].key, key, strlen(key)) == 0) {
            found = &l->rows[k];
            matches++;
        }
    }
    if (matches == 1)
        return found;
    if (matches == 0)
        (void)kiln__fail(err, KILN_ERR_ARGUMENT, "no entry has a key that begins with \"%.40s\"",
                         key);
    else
        (void)kiln__fail(err, KILN_ERR_ARGUMENT,
                         "%zu entries have keys that begin with \"%.40s\"; give more digits", matches,
                         key);
    return NULL;
}

/* The whole key of an entry, from its file. */
static kiln_status read_key(const kiln_cache *cache, const kiln_cache_entry *row, char **text_out,
                            kiln_error *err)
{
    const int folder = cache->store != NULL ? kiln__dup_folder(cache->store) : -1;
    kiln__verdict verdict = KILN__VERDICT_DAMAGED;
    unsigned char *copy = NULL;
    const void *file = NULL, *text = NULL;
    size_t bytes = 0, text_bytes = 0;
    kiln_status status = KILN_OK;

    if (folder >= 0) {
        const kiln__verdict read =
            kiln__entry_read(folder, row->key, ENTRY_FILE_MAX, &copy, &bytes);
        const int why = errno;
        file = copy;
        close(folder);
        if (read == KILN__VERDICT_UNREADABLE)
            return kiln__fail(err, KILN_ERR_IO, "entry %s cannot be read: %s", row->key,
                              strerror(why));
    } else if (cache->store == NULL) {
        file = kiln__bundle_find(&cache->bundle, kiln__hash_from_hex(row->key), &bytes);
    }
    if (file == NULL || !kiln__blob_verify_any(file, bytes, &text, &text_bytes, &verdict))
        status = kiln__fail(err, KILN_ERR_FORMAT, "entry %s is damaged or of another version",
                            row->key);
    else if ((*text_out = kiln__strndup(text, text_bytes)) == NULL)
        status = kiln__fail_memory(err, text_bytes);
    kiln__free(copy);
    return status;
}

kiln_status kiln_cache_show(kiln_cache *cache, const char *key, kiln_cache_entry *entry_out,
                            char **key_text_out, kiln_error *err)
{
    listing l = {0};
    char note[128];
    kiln_status status = KILN_OK;

    if (key_text_out != NULL)
        *key_text_out = NULL;
    KILN_CHECK_NULL(cache, err);
    KILN_CHECK_NULL(key, err);
    KILN_CHECK_NULL(entry_out, err);
    KILN_TRY(list_rows(cache, &l, note, err));
    const kiln_cache_entry *found = find_row(&l, key, err);
    if (found == NULL) {
        status = KILN_ERR_ARGUMENT;
        goto done;
    }
    *entry_out = *found;
    if (key_text_out != NULL)
        status = read_key(cache, found, key_text_out, err);

done:
    kiln__free(l.rows);
    return status;
}

/* ---- verify, prune, clear ---- */

/* Verify the bytes of one entry; its name must be the hash of its key as well. */
static kiln__verdict verify_bytes(const void *file, size_t bytes, const char name[33])
{
    kiln__verdict verdict = KILN__VERDICT_DAMAGED;
    const void *key = NULL;
    size_t key_bytes = 0;
    char hex[33];

    if (kiln__blob_verify_any(file, bytes, &key, &key_bytes, &verdict)) {
        kiln__hash_hex(kiln__hash_128(key, key_bytes), hex);
        if (strcmp(hex, name) != 0)
            verdict = KILN__VERDICT_DAMAGED;
    }
    return verdict;
}

static kiln__verdict verify_entry(int folder, const char name[33])
{
    size_t bytes = 0;
    unsigned char *file = NULL;
    kiln__verdict verdict = kiln__entry_read(folder, name, ENTRY_FILE_MAX, &file, &bytes);

    if (verdict == KILN__VERDICT_VALID)
        verdict = verify_bytes(file, bytes, name);
    kiln__free(file);
    return verdict;
}

/* Count a verdict; true for an entry that is of no use. */
static bool count_verdict(kiln_cache_report *report, kiln__verdict verdict, const char name[33])
{
    switch (verdict) {
    case KILN__VERDICT_VALID:
        report->good++;
        break;
    case KILN__VERDICT_OTHER:
        report->other++;
        break;
    case KILN__VERDICT_ABSENT: /* evicted meanwhile */
        break;
    case KILN__VERDICT_UNREADABLE: /* the disk's fault, and perhaps only now */
        report->unreadable++;
        break;
    case KILN__VERDICT_DAMAGED:
        if (report->damaged++ == 0)
            snprintf(report->first_damaged, sizeof report->first_damaged, "%.2s/%s", name, name);
        return true;
    }
    return false;
}

static void verify_bundle(const kiln__bundle *bundle, kiln_cache_report *report)
{
    for (size_t k = 0; k < bundle->count; k++) {
        kiln__hash128 hash;
        size_t bytes = 0;
        char name[33];
        const void *file = kiln__bundle_at(bundle, k, &hash, &bytes);
        kiln__hash_hex(hash, name);
        (void)count_verdict(report,
                            file != NULL ? verify_bytes(file, bytes, name) : KILN__VERDICT_DAMAGED,
                            name);
    }
}

static void unlink_entry(int folder, const char name[33])
{
    char path[KILN__PATH_BYTES];
    kiln__ledger ledger;
    const bool counted = kiln__ledger_open(folder, &ledger) == 0;

    kiln__entry_path(name, path);
    unlinkat(folder, path, 0);
    if (!counted)
        return;
    path[2] = '\0';
    (void)kiln__ledger_recount(&ledger, (unsigned)strtoul(path, NULL, 16));
    (void)!kiln__ledger_commit(&ledger);
    kiln__ledger_close(&ledger);
}

kiln_status kiln_cache_verify(kiln_cache *cache, bool remove, kiln_cache_report *report_out,
                              kiln_error *err)
{
    listing l = {0};
    int folder = -1;

    KILN_CHECK_NULL(cache, err);
    KILN_CHECK_NULL(report_out, err);
    memset(report_out, 0, sizeof *report_out);
    if (cache->store == NULL && remove)
        return check_folder(cache, "kiln_cache_verify with remove", err);
    if (cache->store == NULL) {
        verify_bundle(&cache->bundle, report_out);
        return KILN_OK;
    }
    kiln_status status = get_folder(cache, &folder, err);
    if (status == KILN_OK)
        status = scan(cache, folder, &l, err);
    report_out->foreign = l.foreign;
    for (size_t k = 0; status == KILN_OK && k < l.count; k++) {
        const char *name = l.rows[k].key;
        if (count_verdict(report_out, verify_entry(folder, name), name) && remove)
            unlink_entry(folder, name);
    }
    if (report_out->unreadable > 0)
        status = kiln__fail(err, KILN_ERR_IO, "%llu of %zu entries of %.300s cannot be read",
                            (unsigned long long)report_out->unreadable, l.count,
                            kiln_cache_path(cache));
    kiln__free(l.rows);
    if (folder >= 0)
        close(folder);
    return status;
}

/* Evict a batch of the queue, down to `to_bytes`; false when done, or stuck with `why`. */
static bool prune_batch(int folder, kiln__victims *v, uint64_t to_bytes, uint64_t *removed,
                        int *why)
{
    kiln__ledger ledger;
    bool more = true;

    *why = kiln__ledger_open(folder, &ledger);
    if (*why != 0)
        return false;
    for (int k = 0; k < BATCH && more; k++) {
        more = kiln__ledger_bytes(&ledger) > to_bytes && v->next < v->count;
        if (more)
            *removed += kiln__evict_one(&ledger, &v->items[v->next++]);
    }
    (void)!kiln__ledger_commit(&ledger);
    kiln__ledger_close(&ledger);
    return more;
}

kiln_status kiln_cache_prune(kiln_cache *cache, uint64_t to_bytes, uint64_t *removed_out,
                             kiln_error *err)
{
    kiln__victims v = {0};
    kiln__ledger ledger;
    bool present[KILN__SHARD_COUNT], whole = true;
    uint64_t removed = 0;
    kiln_status status = KILN_OK;
    int folder = -1;

    if (removed_out != NULL)
        *removed_out = 0;
    KILN_CHECK(check_folder(cache, __func__, err));
    KILN_CHECK(get_folder(cache, &folder, err));
    if (folder < 0)
        return KILN_OK; /* no folder: nothing is in it */
    int why = kiln__ledger_open(folder, &ledger);
    if (why != 0) {
        close(folder);
        return kiln__fail(err, KILN_ERR_IO, "the cache's ledger cannot be used: %s",
                          strerror(why));
    }
    whole = kiln__find_shards(folder, present);
    why = whole ? 0 : errno;
    for (unsigned shard = 0; whole && shard < KILN__SHARD_COUNT; shard++) {
        whole = !present[shard] || kiln__victims_scan(&ledger, shard, &v);
        why = whole ? 0 : errno;
    }
    (void)!kiln__ledger_commit(&ledger);
    kiln__ledger_close(&ledger);
    if (!whole) {
        kiln__victims_clear(&v);
        close(folder);
        return fail_read(cache, why, err);
    }
    kiln__victims_sort(&v);
    while (prune_batch(folder, &v, to_bytes, &removed, &why))
        continue;
    if (why != 0)
        status = fail_read(cache, why, err);
    kiln__victims_clear(&v);
    close(folder);
    if (removed_out != NULL)
        *removed_out = removed;
    return status;
}

kiln_status kiln_cache_remove(kiln_cache *cache, const char *const *targets, size_t target_count,
                              uint64_t *removed_out, kiln_error *err)
{
    listing l = {0};
    char note[128];
    uint64_t removed = 0;
    int folder = -1;
    kiln_status status = KILN_OK;

    if (removed_out != NULL)
        *removed_out = 0;
    KILN_CHECK(check_folder(cache, __func__, err));
    if (targets == NULL || target_count == 0)
        return kiln__fail(err, targets == NULL ? KILN_ERR_NULL : KILN_ERR_ARGUMENT,
                          "kiln_cache_remove: no target is named");
    KILN_CHECK(get_folder(cache, &folder, err));
    if (folder < 0)
        return KILN_OK; /* no folder: nothing is in it */
    KILN_TRY(list_rows(cache, &l, note, err));
    for (size_t k = 0; k < l.count; k++) {
        for (size_t t = 0; t < target_count; t++) {
            if (strcmp(l.rows[k].target, targets[t]) != 0)
                continue;
            unlink_entry(folder, l.rows[k].key);
            removed++;
            break;
        }
    }
    if (removed_out != NULL)
        *removed_out = removed;

done:
    kiln__free(l.rows);
    close(folder);
    return status;
}

static void unlink_temp(void *user, int shard_fd, const char *name, const struct stat *st)
{
    (void)user;
    (void)st;
    if (kiln__starts_with(name, KILN__TEMP_PREFIX))
        unlinkat(shard_fd, name, 0);
}

kiln_status kiln_cache_clear(kiln_cache *cache, uint64_t *removed_out, kiln_error *err)
{
    kiln_status status = kiln_cache_prune(cache, 0, removed_out, err);
    bool present[KILN__SHARD_COUNT];
    int folder = status == KILN_OK ? kiln__dup_folder(cache->store) : -1;

    if (folder < 0)
        return status;
    if (!kiln__find_shards(folder, present))
        status = fail_read(cache, errno, err);
    for (unsigned shard = 0; shard < KILN__SHARD_COUNT; shard++) {
        char name[3];
        if (!present[shard])
            continue;
        kiln__shard_name(shard, name);
        (void)kiln__scan_shard(folder, shard, unlink_temp, NULL);
        unlinkat(folder, name, AT_REMOVEDIR); /* stays while something foreign is in it */
    }
    kiln__index_remove(folder);
    unlinkat(folder, KILN__JOURNAL_NAME, 0);
    close(folder);
    return status;
}

/* ---- bundles ---- */

kiln_status kiln_cache_export(kiln_cache *cache, const char *path, const char *const *targets,
                              size_t target_count, uint64_t *count_out, kiln_error *err)
{
    int folder = -1;

    if (count_out != NULL)
        *count_out = 0;
    KILN_CHECK(check_folder(cache, __func__, err));
    KILN_CHECK_NULL(path, err);
    if (target_count > 0)
        KILN_CHECK_NULL(targets, err);
    KILN_CHECK(get_folder(cache, &folder, err));
    kiln_status status = kiln__pack_export(folder, path, targets, target_count, count_out, err);
    if (folder >= 0)
        close(folder);
    return status;
}

kiln_status kiln_cache_import(kiln_cache *cache, const char *path, uint64_t *count_out,
                              kiln_error *err)
{
    if (count_out != NULL)
        *count_out = 0;
    KILN_CHECK(check_folder(cache, __func__, err));
    KILN_CHECK_NULL(path, err);
    return kiln__pack_import(cache->store, path, count_out, err);
}
