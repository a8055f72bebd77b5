/*
 * rows.c - which reductions and loops become one row program.
 *
 *     lower > [rows] > plan > text
 *
 * Softmax and its relatives reduce rows and use the results in the same rows. As separate kernels
 * they read each row once a step; a row program (src/kernel/row.c) reads it once. A family is made
 * of reductions of one space along the same axes, of which one is used by another, or by something
 * stored in that very space. What else is stored in the space and uses them joins it, and so does
 * what is made of their results alone.
 *
 * Rule 1: a row's result may be used in its own row only: the view through which it is seen must lead
 *         from an element to its row. A member that sees another otherwise ends the family.
 * Rule 2: a family is formed, and extended, only when the graph has no cycle with the family and all
 *         families before it contracted to one node each: nothing that it reads from memory reaches
 *         back to it.
 * Rule 3: what a family computes and what it reads is settled when it is formed. A value that it
 *         computes and that is stored later for other kernels is still computed by it (`inside`), so
 *         that later decisions cannot make it depend on itself.
 */
#include "codegen/graph/states.h"

enum {
    FAMILY_MAX = 16,       /* reductions, looked at as bits */
    STAGES_MAX = 6,
    STATES_A_STAGE = 4,
    TURNED_ROWS = 16,      /* rows side by side where neighbours in memory are of other rows */
    FEW_ROWS_CUDA = 1024,  /* fewer long rows leave a GPU idle when each is one block's */
    FEW_ROWS_CPU = 16
};

typedef struct family {
    kiln__build *b;
    uint32_t members[FAMILY_MAX]; /* reductions, operands first */
    int count;
    uint32_t uses[FAMILY_MAX];    /* members that a member's operand sees, as bits */
    bool taken[FAMILY_MAX];
    int stage[FAMILY_MAX];
    bool *root;                   /* by low: stored in the space, part of the family */
    bool *reads;                  /* by low: read from memory, and computed by another kernel */
    struct visited *visited;      /* by low */
    uint32_t walks;               /* how many there were */
    const kiln__low *sample;
} family;

/* A view through which a walk came to a low. */
typedef struct visit {
    kiln__axis_map *map;
    struct visit *next;
} visit;

/* All such views of one low, of the walk with this number. */
typedef struct visited {
    uint32_t walk;
    visit *first;
} visited;

/* What a walk through the space met. */
typedef struct met {
    uint32_t uses;     /* members seen in their own row */
    bool bad;          /* a member seen otherwise, or a position */
    bool reads;        /* something from memory that another kernel computes */
    int64_t row_bytes, turned_bytes, element_bytes;
} met;

static int member_at(const family *f, uint32_t low)
{
    for (int m = 0; m < f->count; m++)
        if (f->members[m] == low)
            return m;
    return -1;
}

/* Whether a member's result, seen through `map`, is that of the element's own row. */
static bool own_row(const family *f, const kiln__low *n, const kiln__axis_map *map)
{
    int own = 0;
    for (int a = 0; a < f->sample->space_rank; a++) {
        if (f->sample->reduced[a]) {
            own += n->keepdims;
            continue;
        }
        if (n->shape[own] != 1 &&
            (map[own].from != a || map[own].start != 0 || map[own].step != 1))
            return false;
        own++;
    }
    return true;
}

/* Count what a kernel reads of an array for each element, and along which axes it runs. */
static void count_leaf(const family *f, const kiln__low *n, const kiln__axis_map *map, met *m)
{
    int64_t along = 0, across = 0;
    for (int a = 0; a < n->rank; a++) {
        if (map[a].from < 0 || n->strides[a] == 0)
            continue;
        int64_t stride = n->strides[a] * map[a].step;
        stride = stride < 0 ? -stride : stride;
        int64_t *least = f->sample->reduced[map[a].from] ? &along : &across;
        if (*least == 0 || stride < *least)
            *least = stride;
    }
    if (along == 0)
        return;
    const int64_t bytes = (int64_t)kiln_dtype_size(n->dtype);
    m->element_bytes += bytes;
    *(across == 0 || along <= across ? &m->row_bytes : &m->turned_bytes) += bytes;
}

/* Whether a walk was here already, by the same view; expressions are no trees. */
static bool was_here(family *f, uint32_t id, const kiln__axis_map *map)
{
    const int rank = f->b->lows[id].rank;
    visited *low = &f->visited[id];
    if (low->walk != f->walks)
        *low = (visited){.walk = f->walks};
    for (const visit *v = low->first; v != NULL; v = v->next)
        if (kiln__same_map(v->map, map, rank))
            return true;
    visit *made = kiln__build_alloc(f->b, sizeof *made);
    made->map = kiln__build_copy(f->b, map, (size_t)rank * sizeof *map);
    made->next = low->first;
    low->first = made;
    return false;
}

static void walk(family *f, uint32_t id, const kiln__axis_map *map, bool root, met *m)
{
    kiln__build *b = f->b;
    const kiln__low *n = &b->lows[id];
    if (was_here(f, id, map))
        return;
    const int member = n->kind == KILN__LOW_REDUCE ? member_at(f, id) : -1;

    if (n->kind == KILN__LOW_CONST || n->kind == KILN__LOW_SCALAR)
        return;
    if (n->kind == KILN__LOW_IOTA) {
        m->bad = true;
        return;
    }
    if (n->kind == KILN__LOW_LEAF) {
        count_leaf(f, n, map, m);
        return;
    }
    if (member >= 0) {
        m->bad = m->bad || !own_row(f, n, map);
        m->uses |= 1u << member;
        return;
    }
    if (n->kind != KILN__LOW_LENS &&
        (!kiln__low_computed(n) || (n->stored && !root && !f->root[id]))) {
        m->reads = f->reads[id] = true;
        return;
    }
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__low *o = &b->lows[n->operand[k]];
        kiln__axis_map own[KILN_RANK_MAX], through[KILN_RANK_MAX];
        if (n->kind == KILN__LOW_LENS)
            memcpy(own, n->map, (size_t)o->rank * sizeof own[0]);
        else
            kiln__broadcast_map(o, n->rank, n->shape, own);
        kiln__compose(map, own, o->rank, through);
        walk(f, n->operand[k], through, false, m);
    }
}

static void walk_from(family *f, uint32_t id, bool root, met *m)
{
    const kiln__low *n = &f->b->lows[id];
    kiln__axis_map map[KILN_RANK_MAX];
    for (int a = 0; a < n->rank; a++)
        map[a] = n->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0} : (kiln__axis_map){a, 0, 1};
    memset(m, 0, sizeof *m);
    f->walks++;
    walk(f, id, map, root, m);
}

/* ---- dependence ---------------------------------------------------------------------------------------- */

/* Whether the value of a low depends on the family. A family that was formed before is one kernel:
 * whatever depends on one of its results depends on all that it reads. */
static bool depends(const family *f, uint32_t id, bool *seen)
{
    const kiln__low *n = &f->b->lows[id];
    if (seen[id])
        return false;
    seen[id] = true;
    const int member = n->kind == KILN__LOW_REDUCE ? member_at(f, id) : -1;
    if ((member >= 0 && f->taken[member]) || f->root[id])
        return true;
    for (size_t k = 0; n->rows != NULL && k < n->rows->low_count; k++)
        if (depends(f, n->rows->lows[k], seen))
            return true;
    for (uint32_t k = 0; k < n->operand_count; k++)
        if (depends(f, n->operand[k], seen))
            return true;
    return false;
}

/* Whether something that the family reads from memory depends on the family. `seen` is what was
 * looked at before for the same family, without finding such a thing. */
static bool is_cyclic(const family *f, bool *seen)
{
    for (uint32_t id = 1; id < f->b->low_count; id++)
        if (f->reads[id] && depends(f, id, seen))
            return true;
    return false;
}

/* ---- members and roots ----------------------------------------------------------------------------------- */

/* argmin and its relatives: row programs know no positions. */
static bool needs_positions(const kiln__build *b, const kiln__low *n)
{
    const kiln__reduce_row *row = kiln__reduce_row_find(n->op, b->lows[n->operand[0]].dtype);
    return kiln__reduce_is_position(row);
}

static void collect_members(family *f, const bool *tried)
{
    kiln__build *b = f->b;
    for (uint32_t id = 1; id < b->low_count && f->count < FAMILY_MAX; id++) {
        const kiln__low *n = &b->lows[id];
        if (!n->needed || n->kind != KILN__LOW_REDUCE || n->rows != NULL || tried[id] ||
            needs_positions(b, n) ||
            !kiln__same_shape(n->space_rank, n->space, f->sample->space_rank, f->sample->space) ||
            memcmp(n->reduced, f->sample->reduced,
                   (size_t)n->space_rank * sizeof *n->reduced) != 0)
            continue;
        f->members[f->count++] = id;
    }
}

/* Roots: what is stored in the space and uses a member. Returns the members used by any. */
static uint32_t find_roots(family *f)
{
    kiln__build *b = f->b;
    uint32_t used = 0;
    for (uint32_t id = 1; id < b->low_count; id++) {
        const kiln__low *n = &b->lows[id];
        met m;
        f->root[id] = false;
        if (!n->needed || !n->stored || !n->loads || n->rows != NULL || n->c_order ||
            !kiln__same_shape(n->rank, n->shape, f->sample->space_rank, f->sample->space))
            continue;
        walk_from(f, id, true, &m);
        if (m.uses == 0 || m.bad)
            continue;
        f->root[id] = true;
        used |= m.uses;
    }
    return used;
}

/* Whether the members of a stage, and one more (-1: none), fit into it. */
static bool stage_fits(const family *f, int stage, int more)
{
    uint32_t ids[FAMILY_MAX];
    size_t count = 0;
    for (int m = 0; m < f->count; m++)
        if ((f->taken[m] && f->stage[m] == stage) || m == more)
            ids[count++] = f->members[m];
    return kiln__fits_pass(f->b, ids, count, STATES_A_STAGE);
}

/* Which members take part: those used by roots or by one another, and those these use. False when
 * there are none, or they are too many. */
static bool take_members(family *f, uint32_t used)
{
    for (int m = 0; m < f->count; m++)
        if (f->uses[m] != 0)
            used |= f->uses[m] | 1u << m;
    for (int m = f->count; m-- > 0;)
        if (used & 1u << m)
            used |= f->uses[m];
    for (int m = 0; m < f->count; m++) {
        f->taken[m] = (used & 1u << m) != 0;
        f->stage[m] = 0;
        for (int o = 0; o < m; o++)
            if ((f->uses[m] & 1u << o) != 0 && f->stage[o] + 1 > f->stage[m])
                f->stage[m] = f->stage[o] + 1;
        if (f->taken[m] && f->stage[m] >= STAGES_MAX)
            return false;
    }
    for (int stage = 0; stage < STAGES_MAX; stage++)
        if (!stage_fits(f, stage, -1))
            return false;
    return used != 0;
}

/* Whether reading the row once is worth a row program; see kiln__row_is_held(). */
static bool worth_it(const family *f, const met *sum)
{
    const kiln__graph_target *t = f->b->target;
    int64_t length = 1, rows = 1;
    for (int a = 0; a < f->sample->space_rank; a++)
        *(f->sample->reduced[a] ? &length : &rows) *= f->sample->space[a];
    const bool turned = sum->turned_bytes > sum->row_bytes;
    const int64_t bytes = sum->element_bytes > 0 ? sum->element_bytes : 4;
    if (length == 0 || rows == 0)
        return false;
    if (kiln__row_is_held(t->backend, t->clusters && !turned, turned ? length * TURNED_ROWS : length,
                          bytes))
        return true;
    return !turned && rows >= (t->backend == KILN_BACKEND_CUDA ? FEW_ROWS_CUDA : FEW_ROWS_CPU);
}

static bool fits_kernel(family *f)
{
    kiln__plan_kernel all = {.kind = KILN__STEP_ROW};
    for (int m = 0; m < f->count; m++)
        if (f->taken[m])
            kiln__plan_list(f->b, &all.members, &all.member_count, &all.member_room, f->members[m]);
    for (uint32_t id = 1; id < f->b->low_count; id++)
        if (f->root[id])
            kiln__plan_list(f->b, &all.roots, &all.root_count, &all.root_room, id);
    return all.root_count <= KILN__ROOTS_MAX && kiln__kernel_fits(f->b, &all, 0);
}

/* Look at everything that would be the family's; false when it cannot be one. */
static bool check(family *f)
{
    kiln__build *b = f->b;
    bool *seen = kiln__build_seen(b);
    met sum, one;
    memset(&sum, 0, sizeof sum);
    memset(f->reads, 0, b->low_count * sizeof *f->reads);
    for (int m = 0; m < f->count; m++) {
        if (!f->taken[m])
            continue;
        walk_from(f, b->lows[f->members[m]].operand[0], false, &one);
        if (one.bad || is_cyclic(f, seen))
            return false;
        if (one.element_bytes > sum.element_bytes)
            sum = one;
    }
    for (uint32_t id = 1; id < b->low_count; id++) {
        if (!f->root[id])
            continue;
        walk_from(f, id, true, &one);
        if (is_cyclic(f, seen))
            return false;
        if (one.element_bytes > sum.element_bytes)
            sum = one;
    }
    return worth_it(f, &sum) && fits_kernel(f);
}

/* ---- what follows from results alone ---------------------------------------------------------------------- */

/* Whether a low is made of the family's results and of arguments, one value a row. */
static bool of_results(const family *f, uint32_t id, bool *seen, uint32_t *uses)
{
    const kiln__low *n = &f->b->lows[id];
    const int member = n->kind == KILN__LOW_REDUCE ? member_at(f, id) : -1;
    if (n->arguments || seen[id])
        return true;
    seen[id] = true;
    if (member >= 0) {
        *uses |= 1u << member;
        return f->taken[member];
    }
    /* Views of results are left to kernels of their own, so that shapes stay those of results. */
    if (!kiln__low_computed(n))
        return false;
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__low *o = &f->b->lows[n->operand[k]];
        if (o->reduces && !kiln__same_shape(n->rank, n->shape, o->rank, o->shape))
            return false;
        if (!of_results(f, n->operand[k], seen, uses))
            return false;
    }
    return true;
}

/* Other reductions of the same rows come along where they read nothing but arguments of the call, and
 * nothing that the family reads is made of their results. */
static void take_others(family *f)
{
    for (int m = 0; m < f->count; m++) {
        met one;
        if (f->taken[m])
            continue;
        walk_from(f, f->b->lows[f->members[m]].operand[0], false, &one);
        if (one.bad || one.uses != 0 || one.reads || !stage_fits(f, 0, m))
            continue;
        f->stage[m] = 0;
        f->taken[m] = true;
        f->taken[m] = !is_cyclic(f, kiln__build_seen(f->b));
    }
}

/* Mark what the family computes from `id` on without storing it. */
static void mark_inside(const family *f, kiln__row_family *made, uint32_t id)
{
    const kiln__low *n = &f->b->lows[id];
    if (made->inside[id] || n->stored || (n->kind != KILN__LOW_LENS && !kiln__low_computed(n)))
        return;
    made->inside[id] = true;
    for (uint32_t k = 0; k < n->operand_count; k++)
        mark_inside(f, made, n->operand[k]);
}

/* Give a low to the family. */
static void own(const family *f, kiln__row_family *made, uint32_t id)
{
    kiln__low *n = &f->b->lows[id];
    n->rows = made;
    kiln__plan_list(f->b, &made->lows, &made->low_count, &made->low_room, id);
    for (uint32_t k = 0; k < n->operand_count; k++)
        mark_inside(f, made, n->operand[k]);
}

static void make_family(family *f)
{
    kiln__build *b = f->b;
    kiln__row_family *made = kiln__build_alloc(b, sizeof *made);
    take_others(f);
    made->sample = f->sample;
    made->inside = kiln__build_seen(b);
    made->next = b->families;
    b->families = made;
    for (int m = 0; m < f->count; m++) {
        if (!f->taken[m])
            continue;
        own(f, made, f->members[m]);
        b->lows[f->members[m]].stage = f->stage[m];
        if (f->stage[m] + 1 > made->stage_count)
            made->stage_count = f->stage[m] + 1;
    }
    for (uint32_t id = 1; id < b->low_count; id++) {
        const kiln__low *n = &b->lows[id];
        uint32_t uses = 0;
        if (f->root[id] || (n->needed && n->stored && n->rows == NULL && n->reduces && !n->c_order &&
                            of_results(f, id, kiln__build_seen(b), &uses) && uses != 0))
            own(f, made, id);
    }
}

/* A family of nothing, around a reduction. */
static void begin_family(family *f, const kiln__low *sample)
{
    f->sample = sample;
    f->count = 0;
    memset(f->uses, 0, sizeof f->uses);
    memset(f->taken, 0, sizeof f->taken);
    memset(f->stage, 0, sizeof f->stage);
    memset(f->root, 0, f->b->low_count * sizeof *f->root);
}

void kiln__find_rows(kiln__build *b)
{
    bool *tried = kiln__build_seen(b);
    family *f = kiln__build_alloc(b, sizeof *f);
    f->b = b;
    f->root = kiln__build_seen(b);
    f->reads = kiln__build_seen(b);
    f->visited = kiln__build_alloc(b, b->low_count * sizeof *f->visited);
    for (uint32_t id = 1; id < b->low_count; id++) {
        const kiln__low *n = &b->lows[id];
        bool reduces_some = false;
        if (!n->needed || n->kind != KILN__LOW_REDUCE || n->rows != NULL || tried[id] ||
            needs_positions(b, n))
            continue;
        for (int a = 0; a < n->space_rank; a++)
            reduces_some = reduces_some || n->reduced[a];
        begin_family(f, n);
        collect_members(f, tried);
        for (int m = 0; m < f->count; m++)
            tried[f->members[m]] = true;
        bool good = reduces_some;
        const uint32_t used = find_roots(f); /* what these compute, members may use */
        for (int m = 0; m < f->count && good; m++) {
            met one;
            walk_from(f, b->lows[f->members[m]].operand[0], false, &one);
            f->uses[m] = one.uses;
            good = !one.bad || one.uses == 0;
        }
        if (good && take_members(f, used) && check(f))
            make_family(f);
    }
}
