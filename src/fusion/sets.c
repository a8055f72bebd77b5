/*
 * sets.c - sets of lowered nodes, and values found by bytes: what passes look things up with.
 *
 * All of it lives in the arena of the build. A walk over a large graph uses marks, which cost
 * nothing to clear; what belongs to one kernel of many is a set, as large as what is in it.
 */
#include "fusion/build.h"

void kiln__marks_begin(kiln__build *b, kiln__marks *marks, uint32_t count)
{
    if (marks->room < count) {
        marks->room = 2 * count;
        marks->stamp = kiln__build_alloc(b, marks->room * sizeof *marks->stamp);
        marks->now = 0;
    }
    marks->now++;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static uint32_t *slot_of(const kiln__set *set, uint32_t id)
{
    uint32_t at = (id * 2654435761u) & (set->room - 1);
    while (set->slot[at] != 0 && set->slot[at] != id)
        at = (at + 1) & (set->room - 1);
    return &set->slot[at];
}

bool kiln__set_has(const kiln__set *set, uint32_t id)
{
    return set->count > 0 && *slot_of(set, id) == id;
}

bool kiln__set_add(kiln__build *b, kiln__set *set, uint32_t id)
{
    if (set->room < 2 * (set->count + 1)) {
        kiln__set larger = {.room = set->room == 0 ? 32 : 2 * set->room};
        larger.slot = kiln__build_alloc(b, larger.room * sizeof *larger.slot);
        for (uint32_t k = 0; k < set->room; k++)
            if (set->slot[k] != 0)
                *slot_of(&larger, set->slot[k]) = set->slot[k];
        larger.count = set->count;
        *set = larger;
    }
    uint32_t *slot = slot_of(set, id);
    if (*slot == id)
        return false;
    *slot = id;
    set->count++;
    return true;
}

void kiln__list_add(kiln__build *b, kiln__list *list, uint32_t id)
{
    if (list->count == list->room) {
        const size_t larger = list->room == 0 ? 8 : 2 * list->room;
        uint32_t *moved = kiln__build_alloc(b, larger * sizeof *moved);
        if (list->count > 0)
            memcpy(moved, list->ids, list->count * sizeof *moved);
        list->ids = moved;
        list->room = larger;
    }
    list->ids[list->count++] = id;
}

/* ---- values by bytes ------------------------------------------------------------------------- */

struct kiln__index_item {
    struct kiln__index_item *next;
    uint64_t hash;
    size_t bytes;
    void *value;
    const void *key;
};

static void grow_index(kiln__build *b, kiln__index *index)
{
    const size_t room = index->room == 0 ? 64 : 2 * index->room;
    struct kiln__index_item **bucket = kiln__build_alloc(b, room * sizeof(*bucket));

    for (size_t k = 0; k < index->room; k++)
        for (struct kiln__index_item *item = index->bucket[k], *next; item != NULL; item = next) {
            next = item->next;
            item->next = bucket[item->hash & (room - 1)];
            bucket[item->hash & (room - 1)] = item;
        }
    index->bucket = bucket;
    index->room = room;
}

void **kiln__index_at(kiln__build *b, kiln__index *index, const void *key, size_t bytes)
{
    const uint64_t hash = kiln__hash_64(key, bytes);

    if (index->count >= index->room)
        grow_index(b, index);
    struct kiln__index_item **first = &index->bucket[hash & (index->room - 1)];
    for (struct kiln__index_item *item = *first; item != NULL; item = item->next)
        if (item->hash == hash && item->bytes == bytes && memcmp(item->key, key, bytes) == 0)
            return &item->value;
    struct kiln__index_item *made = kiln__build_alloc(b, sizeof *made);
    made->hash = hash;
    made->bytes = bytes;
    made->key = kiln__build_copy(b, key, bytes);
    made->next = *first;
    *first = made;
    index->count++;
    return &made->value;
}
