/*
 * shrink.c - from a case that fails to a smaller one that fails as well.
 *
 * Each step proposes a change and keeps it when the case is valid and still fails: fewer outputs,
 * nodes replaced by an operand of theirs, options left out, shorter axes, plainer views, plainer
 * values. Steps are repeated until none helps.
 */
#include <string.h>

#include <stddef.h>

#include "draw.h"

typedef struct shrinker {
    dt_case *best;
    dt_fails_fn fails;
    void *user;
    int left; /* attempts, each of which runs kernels */
    bool progress;
} shrinker;

/* ---- what no output needs -------------------------------------------------------------------- */

static void prune_nodes(dt_case *c)
{
    bool used[DT_NODES] = {false};
    int renamed[DT_NODES] = {0}, count = 0;

    for (int k = 0; k < c->output_count; k++)
        used[c->output[k].node] = true;
    for (int k = c->node_count - 1; k >= 0; k--)
        for (int j = 0; used[k] && j < dt_operands_of(c, c->node[k].op); j++)
            used[c->node[k].in[j]] = true;
    for (int k = 0; k < c->node_count; k++) {
        renamed[k] = count;
        if (!used[k])
            continue;
        dt_node n = c->node[k];
        for (int j = 0; j < 3; j++)
            n.in[j] = j < dt_operands_of(c, n.op) ? renamed[n.in[j]] : 0;
        c->node[count++] = n;
    }
    for (int k = 0; k < c->output_count; k++)
        c->output[k].node = renamed[c->output[k].node];
    if (c->pivot >= 0)
        c->pivot = used[c->pivot] ? renamed[c->pivot] : -1;
    c->node_count = count;
}

static void prune_operands(dt_case *c)
{
    bool used[DT_OPERANDS] = {false};
    int renamed[DT_OPERANDS] = {0}, count = 0;

    for (int k = 0; k < c->node_count; k++)
        if (dt_reads_operand(c->node[k].op))
            used[c->node[k].operand] = true;
    if (c->where >= 0)
        used[c->where] = true;
    for (int k = 0; k < c->operand_count; k++) {
        renamed[k] = count;
        if (used[k])
            c->operand[count++] = c->operand[k];
    }
    c->operand_count = count;
    for (int k = 0; k < c->node_count; k++)
        if (dt_reads_operand(c->node[k].op))
            c->node[k].operand = renamed[c->node[k].operand];
    if (c->where >= 0)
        c->where = renamed[c->where];
}

/* Buffers are numbered by their first use, so that equal cases are equal. */
static void prune_buffers(dt_case *c)
{
    dt_view *views[DT_OPERANDS + DT_OUTPUTS];
    int renamed[DT_BUFFERS], count = 0, view_count = 0;
    int64_t bytes[DT_BUFFERS] = {0};

    for (int k = 0; k < c->operand_count; k++)
        if (!c->operand[k].is_number)
            views[view_count++] = &c->operand[k].view;
    for (int k = 0; k < c->output_count; k++)
        if (c->output[k].given)
            views[view_count++] = &c->output[k].view;
    for (int k = 0; k < DT_BUFFERS; k++)
        renamed[k] = -1;
    for (int k = 0; k < view_count; k++) {
        const int old = views[k]->buffer;
        if (renamed[old] < 0) {
            bytes[count] = c->buffer_bytes[old];
            renamed[old] = count++;
        }
        views[k]->buffer = renamed[old];
    }
    memcpy(c->buffer_bytes, bytes, sizeof bytes);
    c->buffer_count = count;
}

/* Given outputs follow the shapes of their nodes; their strides stay. */
static void refit_outputs(dt_case *c)
{
    int rank = 0;
    int64_t shape[DT_RANK] = {0};
    const bool ok = dt_infer_nodes(c, NULL, 0);

    if (c->kind == DT_KIND_ELEMENTWISE || c->kind == DT_KIND_ROW)
        dt_loop_shape(c, &rank, shape);
    for (int k = 0; k < c->output_count && ok; k++) {
        dt_view *v = &c->output[k].view;
        const dt_node *n = &c->node[c->output[k].node];
        const bool loop = dt_fills_loop(c, k);
        if (c->output[k].given && v->rank == (loop ? rank : n->rank))
            memcpy(v->shape, loop ? shape : n->shape, sizeof v->shape);
    }
}

static bool attempt(shrinker *s, dt_case *candidate)
{
    char why[128];
    dt_case before;

    if (s->left <= 0)
        return false;
    prune_nodes(candidate);
    prune_operands(candidate);
    prune_buffers(candidate);
    refit_outputs(candidate);
    before = *s->best;
    if (memcmp(&before, candidate, sizeof before) == 0 ||
        !dt_check_case(candidate, why, sizeof why))
        return false;
    s->left--;
    if (!s->fails(s->user, candidate))
        return false;
    *s->best = *candidate;
    s->progress = true;
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void shrink_outputs(shrinker *s)
{
    for (int k = 0; k < s->best->output_count && s->best->output_count > 1; k++) {
        dt_case c = *s->best;
        c.output[0] = c.output[k];
        c.output_count = 1;
        if (attempt(s, &c))
            return;
    }
    for (int k = 0; k < s->best->output_count; k++) {
        dt_case c = *s->best;
        c.output[k].given = false;
        memset(&c.output[k].view, 0, sizeof c.output[k].view);
        attempt(s, &c);
    }
}

static void replace(dt_case *c, int node, int by)
{
    for (int k = node + 1; k < c->node_count; k++)
        for (int j = 0; j < dt_operands_of(c, c->node[k].op); j++)
            if (c->node[k].in[j] == node)
                c->node[k].in[j] = by;
    for (int k = 0; k < c->output_count; k++)
        if (c->output[k].node == node) {
            c->output[k].node = by;
            c->output[k].given = false;
        }
}

static void shrink_nodes(shrinker *s)
{
    for (int k = s->best->node_count - 1; k >= 0; k--) {
        if (k >= s->best->node_count || k == s->best->pivot)
            continue;
        const dt_node n = s->best->node[k];
        for (int j = 0; j < dt_operands_of(s->best, n.op); j++) {
            dt_case c = *s->best;
            replace(&c, k, n.in[j]);
            if (attempt(s, &c))
                break;
        }
    }
}

static void shrink_options(shrinker *s)
{
    static const size_t flags[] = {offsetof(dt_case, placeholders), offsetof(dt_case, prepared),
                                   offsetof(dt_case, repeated),     offsetof(dt_case, as_text),
                                   offsetof(dt_case, structured),   offsetof(dt_case, looped),
                                   offsetof(dt_case, imported)};
    dt_case c = *s->best;

    c.where = -1;
    attempt(s, &c);
    c = *s->best;
    c.has_initial = false;
    c.initial = 0;
    attempt(s, &c);
    c = *s->best;
    c.ddof = 0;
    attempt(s, &c);
    for (size_t k = 0; k < DT_COUNT(flags); k++) {
        c = *s->best;
        *(bool *)((char *)&c + flags[k]) = false;
        attempt(s, &c);
    }
    c = *s->best;
    c.spelling = 0;
    attempt(s, &c);
    for (int k = 0; k < s->best->node_count; k++)
        for (unsigned bit = 1; bit <= 2; bit *= 2) {
            c = *s->best;
            if (k >= c.node_count)
                break;
            c.node[k].flags &= ~bit;
            attempt(s, &c);
        }
}

/* Set an extent wherever this axis, counted from the last, has it. */
static void set_extent(dt_case *c, int from_last, int64_t old, int64_t extent)
{
    for (int k = 0; k < c->operand_count; k++) {
        dt_view *v = &c->operand[k].view;
        const int axis = v->rank - 1 - from_last;
        if (axis >= 0 && v->shape[axis] == old)
            v->shape[axis] = extent;
    }
}

static void shrink_shapes(shrinker *s)
{
    for (int k = 0; k < s->best->operand_count; k++)
        for (int from_last = 0; from_last < DT_RANK; from_last++) {
            for (int way = 0; way < 6; way++) {
                dt_case c = *s->best;
                if (k >= c.operand_count || from_last >= c.operand[k].view.rank)
                    break;
                const dt_view *v = &c.operand[k].view;
                const int64_t old = v->shape[v->rank - 1 - from_last];
                const int64_t to[] = {1, 2, old / 4, old / 2, old - old / 4, old - 1};
                if (to[way] < 1 || to[way] >= old)
                    continue;
                set_extent(&c, from_last, old, to[way]);
                if (attempt(s, &c))
                    way = -1;
            }
        }
}

static void plain_strides(dt_view *v)
{
    int64_t unit = (int64_t)kiln_dtype_size(v->dtype);

    for (int axis = v->rank - 1; axis >= 0; axis--) {
        v->stride[axis] = unit;
        unit *= v->shape[axis] > 0 ? v->shape[axis] : 1;
    }
}

static void shrink_view(shrinker *s, bool is_output, int k)
{
    dt_case c;

    for (int way = 0; way < 3 + DT_RANK; way++) {
        c = *s->best;
        if (k >= (is_output ? c.output_count : c.operand_count) || c.buffer_count == DT_BUFFERS)
            return;
        dt_view *v = is_output ? &c.output[k].view : &c.operand[k].view;
        if (is_output ? !c.output[k].given : c.operand[k].is_number)
            return;
        if (way == 0)
            plain_strides(v);
        else if (way >= 3 && way - 3 < v->rank && v->stride[way - 3] < 0)
            v->stride[way - 3] = -v->stride[way - 3];
        else if (way > 2)
            continue;
        /* A buffer of its own, no larger than needed; keeping the misalignment at first. */
        const int64_t size = (int64_t)kiln_dtype_size(v->dtype);
        dt_place_view(&c, v, way == 1 ? v->start / size % 16 : 0);
        attempt(s, &c);
    }
}

static void shrink_values(shrinker *s)
{
    for (int k = 0; k < s->best->operand_count; k++)
        for (int fill = 0; fill < (int)s->best->operand[k].fill; fill++) {
            dt_case c = *s->best;
            c.operand[k].fill = (dt_fill)fill;
            if (attempt(s, &c))
                break;
        }
}

void dt_shrink(dt_case *c, dt_fails_fn fails, void *user)
{
    shrinker s = {c, fails, user, 300, true};

    while (s.progress && s.left > 0) {
        s.progress = false;
        shrink_outputs(&s);
        shrink_nodes(&s);
        shrink_options(&s);
        shrink_shapes(&s);
        for (int k = 0; k < c->operand_count; k++)
            shrink_view(&s, false, k);
        for (int k = 0; k < c->output_count; k++)
            shrink_view(&s, true, k);
        shrink_values(&s);
    }
}
