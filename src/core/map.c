/*
 * map.c - values by key, where a key is any bytes: an open-addressing table for one thread at a time.
 *
 * Rule: entries are compared by their whole keys. A hash only tells where to look.
 *
 * Not done here: tables that are read without locks (memo.c).
 */
#include "core/core.h"

enum { FIRST_SLOTS = 16 };

struct kiln__map_entry {
    uint64_t hash;
    size_t bytes;
    void *value;
    char key[];
};

/* The slot of a key: where it is, or the free one where it would be. The map has slots. */
static size_t slot_of(const kiln__map *map, uint64_t hash, const void *key, size_t bytes)
{
    size_t s = hash & (map->slot_count - 1);

    for (;; s = (s + 1) & (map->slot_count - 1)) {
        const kiln__map_entry *e = map->slots[s];
        if (e == NULL || (e->hash == hash && e->bytes == bytes &&
                          (bytes == 0 || memcmp(e->key, key, bytes) == 0)))
            return s;
    }
}

/* Room for one more, at most half full; false without memory. */
static bool make_room(kiln__map *map)
{
    const size_t slot_count = map->slot_count != 0 ? 2 * map->slot_count : FIRST_SLOTS;
    kiln__map larger = {NULL, slot_count, map->count};

    if (2 * (map->count + 1) <= map->slot_count)
        return true;
    larger.slots = kiln__calloc(slot_count, sizeof(kiln__map_entry *));
    if (larger.slots == NULL)
        return false;
    for (size_t s = 0; s < map->slot_count; s++) {
        kiln__map_entry *e = map->slots[s];
        if (e != NULL)
            larger.slots[slot_of(&larger, e->hash, e->key, e->bytes)] = e;
    }
    kiln__free(map->slots);
    *map = larger;
    return true;
}

void **kiln__map_find(const kiln__map *map, const void *key, size_t bytes)
{
    if (map->slot_count == 0)
        return NULL;
    kiln__map_entry *e = map->slots[slot_of(map, kiln__hash_64(key, bytes), key, bytes)];
    return e != NULL ? &e->value : NULL;
}

void **kiln__map_enter(kiln__map *map, const void *key, size_t bytes, bool *new_out)
{
    const uint64_t hash = kiln__hash_64(key, bytes);

    if (new_out != NULL)
        *new_out = true;
    if (!make_room(map))
        return NULL;
    kiln__map_entry **slot = &map->slots[slot_of(map, hash, key, bytes)];
    if (new_out != NULL)
        *new_out = *slot == NULL;
    if (*slot == NULL) {
        *slot = kiln__calloc(1, sizeof **slot + bytes);
        if (*slot == NULL)
            return NULL;
        (*slot)->hash = hash;
        (*slot)->bytes = bytes;
        if (bytes != 0)
            memcpy((*slot)->key, key, bytes);
        map->count++;
    }
    return &(*slot)->value;
}

void kiln__map_list(const kiln__map *map, void **values, size_t *count_out)
{
    *count_out = 0;
    for (size_t s = 0; s < map->slot_count; s++)
        if (map->slots[s] != NULL && map->slots[s]->value != NULL)
            values[(*count_out)++] = map->slots[s]->value;
}

bool kiln__map_drop(kiln__map *map, bool (*drop)(void *value, void *user), void *user)
{
    kiln__map rest = {kiln__calloc(map->slot_count, sizeof(kiln__map_entry *)), map->slot_count, 0};

    if (rest.slots == NULL)
        return false;
    for (size_t s = 0; s < map->slot_count; s++) {
        kiln__map_entry *e = map->slots[s];
        if (e == NULL)
            continue;
        if (drop(e->value, user)) {
            kiln__free(e);
            continue;
        }
        rest.slots[slot_of(&rest, e->hash, e->key, e->bytes)] = e;
        rest.count++;
    }
    kiln__free(map->slots);
    *map = rest;
    return true;
}

void kiln__map_clear(kiln__map *map, void (*destroy)(void *value))
{
    for (size_t s = 0; s < map->slot_count; s++) {
        if (map->slots[s] != NULL && map->slots[s]->value != NULL && destroy != NULL)
            destroy(map->slots[s]->value);
        kiln__free(map->slots[s]);
    }
    kiln__free(map->slots);
    *map = (kiln__map){NULL, 0, 0};
}
