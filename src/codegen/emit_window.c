/*
 * emit_window.c - the names, lists and conditions of templates/cuda/window.cu.
 *
 *     plan > [emit] > compile
 *
 * A window has the name of its first view. A shift is the set of those views of one window that begin
 * at the same column of it, other than the first column: they take their elements from the same
 * exchanged rows, and the shift has the name of the first of them.
 *
 * Rule: all answers follow from variant.window, .behind, .down and .along, which window.c decides.
 *
 * emit.c calls this file. Test: test_golden.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

enum { WARP_THREADS = 32 };

static bool is_windowed(const emitter *e, size_t p)
{
    return access_of(e, p) == KILN__ACCESS_WINDOW;
}

static bool is_shifted(const emitter *e, size_t p)
{
    return is_windowed(e, p) && e->v->loop.along[p] != 0;
}

static bool is_straight(const emitter *e, size_t p)
{
    return is_windowed(e, p) && e->v->loop.along[p] == 0;
}

static bool same_window(const emitter *e, size_t p, size_t q)
{
    return is_windowed(e, q) && e->v->loop.window[p] == e->v->loop.window[q];
}

static bool same_shift(const emitter *e, size_t p, size_t q)
{
    return same_window(e, p, q) && e->v->loop.along[p] == e->v->loop.along[q];
}

/* The first parameter for which `same` holds with `p`. */
static size_t first(const emitter *e, size_t p, bool (*same)(const emitter *, size_t, size_t))
{
    size_t q = 0;
    while (q < p && !same(e, p, q))
        q++;
    return q;
}

static bool is_window(const emitter *e, size_t p)
{
    return is_windowed(e, p) && first(e, p, same_window) == p;
}

static bool is_shift(const emitter *e, size_t p)
{
    return is_shifted(e, p) && first(e, p, same_shift) == p;
}

/* Whether p's window has no other view: its rows may be one and the same, or overlap. */
static bool is_alone(const emitter *e, size_t p)
{
    int views = 0;
    for (size_t q = 0; is_windowed(e, p) && q < e->def->param_count; q++)
        views += same_window(e, p, q);
    return views == 1;
}

/* Parameters that the kernel has a pointer to its tile for: windows, and operands in no window. */
static bool is_cornered(const emitter *e, size_t p)
{
    return is_walking(e, p) && (!is_windowed(e, p) || is_window(e, p));
}

/* The greatest distance of a view from the corner of p's window. */
static int farthest_in(const emitter *e, size_t p, const uint8_t *field)
{
    int most = 0;
    for (size_t q = 0; q < e->def->param_count; q++)
        most = same_window(e, p, q) && field[q] > most ? field[q] : most;
    return most;
}

/* The same of all windows. */
static int farthest(const emitter *e, const uint8_t *field)
{
    int most = 0;
    for (size_t p = 0; p < e->def->param_count; p++)
        most = is_windowed(e, p) && field[p] > most ? field[p] : most;
    return most;
}

/* Whether p lies between two views of its window on a line along one of the axes: it begins neither
 * first nor last then, whatever the strides are. */
static bool is_between(const emitter *e, size_t p)
{
    const uint8_t *const at[] = {e->v->loop.behind, e->v->loop.down, e->v->loop.along};

    for (int axis = 0; axis < 3; axis++) {
        const uint8_t *const on = at[axis], *const one = at[(axis + 1) % 3],
                             *const other = at[(axis + 2) % 3];
        bool before = false, after = false;
        for (size_t q = 0; q < e->def->param_count; q++) {
            if (!same_window(e, p, q) || one[q] != one[p] || other[q] != other[p])
                continue;
            before |= on[q] < on[p];
            after |= on[q] > on[p];
        }
        if (before && after)
            return true;
    }
    return false;
}

static bool is_extreme(const emitter *e, size_t p)
{
    return is_windowed(e, p) && !is_between(e, p);
}

static const struct {
    const char *name;
    param_is is;
} lists[] = {{"windows", is_window}, {"shifts", is_shift}, {"splats", is_splat},
             {"cornered", is_cornered}, {"extremes", is_extreme}},
  tests[] = {{"p.windowed", is_windowed}, {"p.shifted", is_shifted}, {"p.straight", is_straight},
             {"p.alone", is_alone}};

param_is kiln__window_list(const char *list, size_t bytes)
{
    for (size_t l = 0; l < KILN_COUNT_OF(lists); l++)
        if (kiln__same_word(list, bytes, lists[l].name))
            return lists[l].is;
    return NULL;
}

/* Whether tiles inside of the array have code of their own: of single words on two axes, where that is
 * faster. */
static bool has_inside(const emitter *e)
{
    bool words = e->v->layout == KILN__LAYOUT_WINDOW && e->v->vec == 1 && e->v->loop.planes == 0;

    for (size_t p = 0; p < e->def->param_count; p++)
        words &= !is_windowed(e, p) || kiln_dtype_size((kiln_dtype)e->v->dtype[p]) >= 4;
    return words;
}

int kiln__window_test(const emitter *e, const char *name, size_t bytes)
{
    const kiln__loop_variant *v = &e->v->loop;
    if (kiln__same_word(name, bytes, "apart"))
        return has_inside(e);
    if (kiln__same_word(name, bytes, "begins_anywhere"))
        return v->slant == KILN__SLANT_BYTES;
    if (kiln__same_word(name, bytes, "splits_words"))
        return v->turned;
    for (size_t t = 0; t < KILN_COUNT_OF(tests); t++)
        if (kiln__same_word(name, bytes, tests[t].name))
            return tests[t].is(e, e->p);
    return -1;
}

bool kiln__window_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out)
{
    const kiln__variant *v = e->v;
    if (v->layout != KILN__LAYOUT_WINDOW)
        return false;
    const int depth = v->loop.planes > 0 ? v->loop.planes : 1;
    const int across = kiln__window_across(v);
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"strips", WARP_THREADS * v->unroll * v->vec}, /* columns of a tile */
        {"depth", depth},
        {"warps_across", across},
        {"warps_down", v->block / WARP_THREADS / across},
        {"window_down", farthest(e, v->loop.down)},
        {"window_behind", farthest(e, v->loop.behind)},
        {"p.behind", v->loop.behind[e->p]},
        {"p.down", v->loop.down[e->p]},
        {"p.along", v->loop.along[e->p]},
        {"p.window_planes", depth + farthest_in(e, e->p, v->loop.behind)},
        {"p.window_rows", v->loop.tile + farthest_in(e, e->p, v->loop.down)},
        {"p.window_along", (int)kiln__divide_up(farthest_in(e, e->p, v->loop.along), v->vec)},
        {"p.window_behind", farthest_in(e, e->p, v->loop.behind)},
        {"p.window_down", farthest_in(e, e->p, v->loop.down)},
        {"p.window_words", 1 + (int)kiln__divide_up(farthest_in(e, e->p, v->loop.along), v->vec)},
        {"p.ring_rows", kiln__ring_rows(v, farthest_in(e, e->p, v->loop.down))},
        {"p.ring_row", kiln__ring_row(v, (int)kiln_dtype_size((kiln_dtype)v->dtype[e->p]),
                                      farthest_in(e, e->p, v->loop.along))},
    };
    for (size_t r = 0; r < KILN_COUNT_OF(numbers); r++) {
        if (kiln__same_word(name, bytes, numbers[r].name)) {
            kiln__buf_put_number(out, numbers[r].value);
            return true;
        }
    }
    if (kiln__same_word(name, bytes, "p.window"))
        kiln__buf_puts(out, e->def->params[first(e, e->p, same_window)].name);
    else if (kiln__same_word(name, bytes, "p.shift"))
        kiln__buf_puts(out, e->def->params[first(e, e->p, same_shift)].name);
    else
        return false;
    return true;
}
