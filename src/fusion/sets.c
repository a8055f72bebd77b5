/*
 * sets.c - sets and marks of lowered nodes.
 *
 * All of it lives in the memory of the build. A walk over the whole graph uses *marks*, which cost
 * nothing to clear. What belongs to one kernel of many is a *set*, as large as what is in it. Most
 * passes use this file.
 *
 * Test: test_graph_plan.
 */
#include "fusion/build.h"

void kiln__marks_begin(kiln__build *b, kiln__marks *marks, uint32_t count)
{
    if (marks->capacity < count) {
        marks->capacity = 2 * count;
        marks->stamp = kiln__build_alloc(b, marks->capacity * sizeof *marks->stamp);
        marks->now = 0;
    }
    marks->now++;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static uint32_t *slot_of(const kiln__set *set, uint32_t id)
{
    uint32_t at = (id * 2654435761u) & (set->capacity - 1);
    while (set->slot[at] != 0 && set->slot[at] != id)
        at = (at + 1) & (set->capacity - 1);
    return &set->slot[at];
}

bool kiln__set_has(const kiln__set *set, uint32_t id)
{
    return set->count > 0 && *slot_of(set, id) == id;
}

bool kiln__set_add(kiln__build *b, kiln__set *set, uint32_t id)
{
    if (set->capacity < 2 * (set->count + 1)) {
        kiln__set larger = {.capacity = set->capacity == 0 ? 32 : 2 * set->capacity};
        larger.slot = kiln__build_alloc(b, larger.capacity * sizeof *larger.slot);
        for (uint32_t k = 0; k < set->capacity; k++)
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
    list->ids = kiln__build_reserve(b, list->ids, list->count, &list->capacity, sizeof *list->ids);
    list->ids[list->count++] = id;
}
