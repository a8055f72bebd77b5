/*
 * arena.c - memory that is freed as a whole: a chain of blocks. The newest block serves allocations
 * until it is full. src/fusion and src/manifest use it for what they build.
 */
#include "core/core.h"

struct kiln__arena {
    kiln__arena *older;
    size_t used, capacity;
    _Alignas(16) unsigned char bytes[];
};

void *kiln__arena_alloc(kiln__arena **arena, size_t bytes)
{
    kiln__arena *a = *arena;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 15) / 16 * 16;
    if (a == NULL || a->capacity - a->used < bytes) {
        const size_t capacity = bytes > KILN__ARENA_BYTES ? bytes : KILN__ARENA_BYTES;
        a = kiln__calloc(1, sizeof *a + capacity);
        if (a == NULL)
            return NULL;
        a->capacity = capacity;
        a->older = *arena;
        *arena = a;
    }
    a->used += bytes;
    return a->bytes + a->used - bytes;
}

void kiln__arena_reset(kiln__arena *arena)
{
    if (arena == NULL)
        return;
    kiln__arena_free(arena->older);
    arena->older = NULL;
    memset(arena->bytes, 0, arena->used);
    arena->used = 0;
}

void kiln__arena_free(kiln__arena *arena)
{
    while (arena != NULL) {
        kiln__arena *older = arena->older;
        kiln__free(arena);
        arena = older;
    }
}
