/*
 * sink.c - move results into later kernels, and sort the kernels.
 *
 *     schedule > [sink] > write
 *
 * If a later kernel of the same shape reads a loop's inputs anyway, it computes the loop's result
 * too, provided that nothing else needs the result, that it is cheap and that the kernel stays
 * small enough (size.c). Kernels are then sorted by level, and empty loops are left out.
 *
 * Test: test_graph_plan.
 */
#include "fusion/build.h"

/* Loops and row programs over one shape, in the order they were made in. */
typedef struct shaped {
    struct {
        kiln__plan_kernel *kernel;
        int level_most; /* the highest level up to this kernel */
    } *items;
    size_t count, capacity;
} shaped;

static shaped *kernels_of_shape(kiln__build *b, const kiln__plan_kernel *k)
{
    kiln__buf *key = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__buf_put(key, (const char *)&k->rank, sizeof k->rank);
    if (k->rank > 0)
        kiln__buf_put(key, (const char *)k->shape, (size_t)k->rank * sizeof *k->shape);
    void **found = kiln__build_find(b, KILN__MAP_SHAPES, key);
    if (*found == NULL)
        *found = kiln__build_alloc(b, sizeof(shaped));
    return *found;
}

static void list_kernel(kiln__build *b, shaped *s, kiln__plan_kernel *k)
{
    s->items = kiln__build_reserve(b, s->items, s->count, &s->capacity, sizeof *s->items);
    const int before = s->count > 0 ? s->items[s->count - 1].level_most : 0;
    s->items[s->count].kernel = k;
    s->items[s->count++].level_most = k->level > before ? k->level : before;
    if (k->kind == KILN__STEP_ROW)
        kiln__kernel_measure(b, k);
    for (size_t r = 0; r < k->roots.count; r++)
        k->inputs |= b->facts[k->roots.ids[r]].inputs;
}

/* A later kernel over the same shape that reads some of the same inputs. Row programs know no
 * positions. */
static kiln__plan_kernel *find_later(kiln__build *b, const shaped *s, int level, uint32_t root)
{
    const kiln__fact *fact = &b->facts[root];
    size_t from = 0;
    for (size_t end = s->count; from < end;) { /* the first that may be of a higher level */
        const size_t middle = from + (end - from) / 2;
        if (s->items[middle].level_most > level)
            end = middle;
        else
            from = middle + 1;
    }
    for (size_t at = from; at < s->count; at++) {
        kiln__plan_kernel *k = s->items[at].kernel;
        b->work++;
        if (k->level > level && k->roots.count > 0 && k->roots.count < KILN__ROOTS_MAX &&
            (k->kind != KILN__STEP_ROW || !fact->positions) && (k->inputs & fact->inputs) != 0 &&
            kiln__kernel_fits(b, k, root))
            return k;
    }
    return NULL;
}

static void sink_into(kiln__build *b, kiln__plan_kernel *later, uint32_t id)
{
    (void)kiln__kernel_grow(b, later, id);
    kiln__list_add(b, &later->roots, id);
    later->inputs |= b->facts[id].inputs;
    b->tasks[id].kernel = later;
    b->tasks[id].level = later->level;
    b->row_parts[id].rows = later->rows;
}

/* Results that nothing else needs are computed by a later kernel that reads their inputs anyway. */
static void sink_results(kiln__build *b, kiln__plan_kernel *k, const shaped *s)
{
    const size_t count = k->roots.count;
    size_t left = 0;
    for (size_t r = 0; r < count; r++) {
        const uint32_t id = k->roots.ids[r];
        const bool used = b->user_begin[id + 1] > b->user_begin[id];
        kiln__plan_kernel *later = used || b->facts[id].weight > KILN__WEIGHT_AGAIN
                                       ? NULL
                                       : find_later(b, s, k->level, id);
        if (later != NULL)
            sink_into(b, later, id);
        else
            k->roots.ids[left++] = id;
    }
    if (left == count)
        return;
    k->roots.count = left;
    k->inputs = 0;
    for (size_t r = 0; r < left; r++)
        k->inputs |= b->facts[k->roots.ids[r]].inputs;
    kiln__kernel_measure(b, k);
}

/* Order kernels by level; those of one level stay in the order they were made in, and empty ones
 * are left out. */
static kiln__plan_kernel *sort_kernels(kiln__build *b, kiln__plan_kernel *made)
{
    kiln__plan_kernel *sorted = NULL, **end = &sorted;
    int levels = 0;
    for (const kiln__plan_kernel *k = made; k != NULL; k = k->next)
        levels = k->level > levels ? k->level : levels;
    kiln__plan_kernel **first = kiln__build_alloc(b, ((size_t)levels + 1) * sizeof(*first));
    kiln__plan_kernel **last = kiln__build_alloc(b, ((size_t)levels + 1) * sizeof(*last));
    for (kiln__plan_kernel *k = made, *next; k != NULL; k = next) {
        next = k->next;
        k->next = NULL;
        if (k->kind == KILN__STEP_LOOP && k->roots.count == 0)
            continue;
        *(last[k->level] != NULL ? &last[k->level]->next : &first[k->level]) = k;
        last[k->level] = k;
    }
    for (int level = 1; level <= levels; level++)
        if (first[level] != NULL) {
            *end = first[level];
            end = &last[level]->next;
        }
    return sorted;
}

kiln__plan_kernel *kiln__order_kernels(kiln__build *b, kiln__plan_kernel *made)
{
    for (kiln__plan_kernel *k = made; k != NULL; k = k->next)
        if (k->kind == KILN__STEP_LOOP || k->kind == KILN__STEP_ROW)
            list_kernel(b, kernels_of_shape(b, k), k);
    for (kiln__plan_kernel *k = made; k != NULL; k = k->next)
        if (k->kind == KILN__STEP_LOOP)
            sink_results(b, k, kernels_of_shape(b, k));
    return sort_kernels(b, made);
}
