/*
 * names.c - the names of lowered nodes in the text of a kernel.
 *
 *     text, text_loop, text_reduce, text_rows > [names]
 *
 * A node that the text has computed already is found by its id and the map through which it is
 * seen, and its name (t1, t2, ...) is used again. The file also has the maps of a node's own axes
 * in the loop of the kernel.
 *
 * Test: test_graph_plan.
 */
#include "fusion/write.h"

const kiln__axis_map *kiln__own_map(kiln__writer *w, uint32_t low)
{
    const kiln__lowered *n = &w->b->lowered[low];
    kiln__axis_map *map = kiln__build_note(w->b, (size_t)n->rank * sizeof *map + 1);
    for (int k = 0; k < w->rank; k++) {
        const int a = w->axis[k];
        if (a < n->rank)
            map[a] = n->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0} : (kiln__axis_map){k, 0, 1};
    }
    return map;
}

const kiln__axis_map *kiln__kept_map(kiln__writer *w, uint32_t low)
{
    const kiln__plan_kernel *k = w->kernel;
    const kiln__lowered *n = &w->b->lowered[low];
    kiln__axis_map *map = kiln__build_note(w->b, (size_t)n->rank * sizeof *map + 1);
    int axis = 0;
    for (int own = 0; own < n->rank; own++) {
        map[own] = (kiln__axis_map){-1, 0, 0};
        if (n->shape[own] == 1)
            continue;
        while (k->reduced[axis] || k->shape[axis] == 1)
            axis++;
        map[own] = (kiln__axis_map){axis++, 0, 1};
    }
    return map;
}

const char *kiln__find_named(const kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    kiln__build *b = w->b;
    const char *text = NULL;
    b->work++;
    if (!kiln__is_marked(&b->text.named, low))
        return NULL;
    for (uint32_t at = b->text.last_named[low]; at != 0; at = w->seen[at - 1].before) {
        const kiln__seen *s = &w->seen[at - 1];
        if (s->of_element && w->body == KILN__BUF_ROW)
            continue;
        if ((at > w->seen_base || s->lasting) && kiln__same_map(s->map, map, b->lowered[low].rank))
            text = s->text; /* the first one of all counts */
    }
    return text;
}

void kiln__name_lowered(kiln__writer *w, uint32_t low, const kiln__axis_map *map, const char *text)
{
    kiln__writing *const all = &w->b->text;
    all->seen = w->seen =
        kiln__build_reserve(w->b, w->seen, w->seen_count, &all->seen_capacity, sizeof *w->seen);
    const kiln__lowered *n = &w->b->lowered[low];
    const bool rows = w->kernel->kind == KILN__STEP_ROW;
    const bool number = n->kind == KILN__LOWERED_SCALAR || n->kind == KILN__LOWERED_CONST;
    const bool given = number || (rows && !kiln__inlined(w->b, w->kernel, low));
    const bool of_row = rows && w->body == KILN__BUF_ROW;
    const uint32_t before =
        kiln__mark(w->b, &w->b->text.named, low) ? 0 : w->b->text.last_named[low];
    w->seen[w->seen_count++] = (kiln__seen){
        low, map, text, given || of_row, rows && !given && !of_row, before};
    w->b->text.last_named[low] = (uint32_t)w->seen_count;
}

const char *kiln__next_name(kiln__writer *w)
{
    kiln__buf *text = &w->b->scratch[KILN__SCRATCH_SHORT];
    kiln__buf_putc(text, 't');
    kiln__buf_put_number(text, ++w->next);
    return kiln__build_note_text(w->b, text);
}
