/*
 * memory.c - blobs that live as long as the store: when there is no disk, or it took nothing.
 *
 * A hash table with chains, one mutex, no eviction but a bound: what does not fit is compiled
 * again. Lookups copy, so that the caller owns what it gets, as from a disk.
 */
#define _GNU_SOURCE
#include "cache/parts.h"

/* About ten thousand kernels. */
#define MEMORY_BYTES_MAX ((size_t)256 << 20)
#define SLOTS_FIRST ((size_t)64)

typedef struct kiln__memory_entry {
    struct kiln__memory_entry *next;
    kiln__hash128 hash;
    size_t key_bytes, payload_bytes;
    unsigned char bytes[]; /* key, then payload */
} entry;

bool kiln__memory_init(kiln__memory *m)
{
    memset(m, 0, sizeof *m);
    return pthread_mutex_init(&m->mutex, NULL) == 0;
}

void kiln__memory_clear(kiln__memory *m)
{
    for (size_t slot = 0; slot < m->slot_count; slot++) {
        entry *e = m->slots[slot];
        while (e != NULL) {
            entry *next = e->next;
            kiln__free(e);
            e = next;
        }
    }
    kiln__free(m->slots);
    pthread_mutex_destroy(&m->mutex);
}

static entry *find(const kiln__memory *m, kiln__hash128 hash, const void *key, size_t key_bytes)
{
    entry *e = m->slot_count != 0 ? m->slots[hash.lo & (m->slot_count - 1)] : NULL;

    while (e != NULL && (e->hash.lo != hash.lo || e->hash.hi != hash.hi ||
                         e->key_bytes != key_bytes || memcmp(e->bytes, key, key_bytes) != 0))
        e = e->next;
    return e;
}

/* Double the slots when there are as many entries; false without memory. */
static bool make_room(kiln__memory *m)
{
    size_t count = m->slot_count != 0 ? m->slot_count * 2 : SLOTS_FIRST;
    entry **slots = NULL;

    if (m->entry_count < m->slot_count)
        return true;
    slots = kiln__calloc(count, sizeof(entry *));
    if (slots == NULL)
        return false;
    for (size_t slot = 0; slot < m->slot_count; slot++) {
        entry *e = m->slots[slot];
        while (e != NULL) {
            entry *next = e->next, **head = &slots[e->hash.lo & (count - 1)];
            e->next = *head;
            *head = e;
            e = next;
        }
    }
    kiln__free(m->slots);
    m->slots = slots;
    m->slot_count = count;
    return true;
}

bool kiln__memory_load(kiln__memory *m, kiln__hash128 hash, const void *key, size_t key_bytes,
                       kiln__blob *blob_out)
{
    const entry *e = NULL;
    unsigned char *copy = NULL;

    pthread_mutex_lock(&m->mutex);
    e = find(m, hash, key, key_bytes);
    if (e != NULL)
        copy = kiln__alloc(e->payload_bytes);
    if (copy != NULL) {
        memcpy(copy, e->bytes + e->key_bytes, e->payload_bytes);
        *blob_out = (kiln__blob){copy, e->payload_bytes};
    }
    pthread_mutex_unlock(&m->mutex);
    return copy != NULL;
}

static void insert(kiln__memory *m, kiln__hash128 hash, const void *key, size_t key_bytes,
                   const void *data, size_t bytes)
{
    entry *e = NULL, **head = NULL;

    /* Each number alone is checked first, so that the sum cannot wrap. */
    if (key_bytes > MEMORY_BYTES_MAX || bytes > MEMORY_BYTES_MAX ||
        key_bytes + bytes > MEMORY_BYTES_MAX - m->bytes || find(m, hash, key, key_bytes) != NULL ||
        !make_room(m))
        return;
    e = kiln__alloc(sizeof *e + key_bytes + bytes);
    if (e == NULL)
        return;
    e->hash = hash;
    e->key_bytes = key_bytes;
    e->payload_bytes = bytes;
    if (key_bytes != 0)
        memcpy(e->bytes, key, key_bytes);
    if (bytes != 0)
        memcpy(e->bytes + key_bytes, data, bytes);
    head = &m->slots[hash.lo & (m->slot_count - 1)];
    e->next = *head;
    *head = e;
    m->entry_count++;
    m->bytes += key_bytes + bytes;
}

void kiln__memory_store(kiln__memory *m, kiln__hash128 hash, const void *key, size_t key_bytes,
                        const void *data, size_t bytes)
{
    pthread_mutex_lock(&m->mutex);
    insert(m, hash, key, key_bytes, data, bytes);
    pthread_mutex_unlock(&m->mutex);
}
