/*
 * rows.c - which reductions and loops become one row program.
 *
 *     stores > [rows] > size, order, schedule
 *
 * Softmax and similar functions reduce rows and use the results in the same rows. Separate kernels
 * would read each row once for every step; a row program reads it once. It consists of
 *
 *   members  reductions of one space along the same axes; one is used by another, or by a root
 *   roots    values that are stored in that space and use members
 *   values that are computed from members' results alone
 *
 * kiln__find_rows() takes the reductions of each space and set of axes, some at a time:
 *
 *     find_uses > cut_chain (too many stages) > find_roots > take_members > is_sound > add_rows
 *
 * Rule 1: a row's result may be used in its own row only: the map through which it is seen must
 *         lead from an element to its row. Otherwise there is no row program.
 * Rule 2: a row program is formed, and extended, only if the graph stays without cycles when this
 *         and all earlier row programs are contracted to one node each: no value that it reads from
 *         memory may depend on it.
 * Rule 3: what a row program computes and what it reads is settled when it is formed. If a later
 *         pass stores one of its values for other kernels, the row program still computes that
 *         value (`inside`), so that no later decision can make it depend on itself.
 *
 * Tests: test_graph_plan, test_graph_rows; test_graph_dag for rule 2.
 */
#include "fusion/states.h"

enum {
    MEMBERS_MAX = KILN__MEMBERS_MAX, /* reductions, looked at as bits */
    STAGES_MAX = 6,
    STATES_A_STAGE = 4,
    FEW_ROWS_CUDA = 1024, /* fewer long rows leave a GPU idle when each is one block's */
    FEW_ROWS_CPU = 16,
    CHAIN_NODES = 20 /* operations of a chain that its next row program may compute again */
};

/* A lowered node seen through a map, from an element of the space: which members it uses, and
 * whether it may. find_sights() makes the sights of a node and of all nodes beneath it. */
typedef struct sight {
    struct sight *next; /* another view of the same lowered node */
    struct sight *user; /* during the walk: the sight that is waiting for this one */
    kiln__axis_map *map;
    uint32_t id, operand; /* during the walk: the operand that is looked at next */
    uint32_t uses;        /* members whose results it uses in their own row, as bits */
    bool bad;             /* it uses a member's result in another row, or a position */
} sight;

/* All sights of one lowered node, of the row program with this number. */
typedef struct sights {
    uint32_t row_program;
    sight *first;
} sights;

/* What a member or a root reads for each element: bytes of arrays with contiguous rows, bytes of
 * arrays with contiguous columns, and the bytes that a thread has to hold of both. */
typedef struct traffic {
    int64_t row_bytes, turned_bytes, element_bytes;
} traffic;

/* Reductions of one space along the same axes; those before `next` are done. */
typedef struct candidates {
    kiln__list reductions;
    size_t next;
} candidates;

typedef struct row_program {
    kiln__build *b;
    uint32_t members[MEMBERS_MAX]; /* reductions, operands first */
    int count;
    uint32_t uses[MEMBERS_MAX]; /* members that a member's operand uses, as bits */
    bool taken[MEMBERS_MAX];
    int stage[MEMBERS_MAX];
    kiln__list roots;       /* stored in the space, part of the row program */
    kiln__list reads;       /* read from memory, and computed by another kernel */
    kiln__marks root, read; /* the same, by lowered node */
    kiln__marks seen;  /* by lowered node: whether it was asked if it depends on the row program */
    kiln__marks made;  /* by lowered node: made of results alone */
    kiln__marks later; /* by lowered node: another kernel computes it from members, or from such */
    sights *sights;    /* by lowered node */
    uint32_t number;   /* of the row program */
    bool *positions,
        *others;    /* by lowered node: beneath it are positions; values of other kernels */
    uint32_t first; /* nothing before it depends on the row program */
    const kiln__lowered *sample;
    kiln__row_kernel *formed; /* before, the last one first */
} row_program;

static int member_at(const row_program *f, uint32_t low)
{
    for (int m = 0; m < f->count; m++)
        if (f->members[m] == low)
            return m;
    return -1;
}

/* Whether a member's result, seen through `map`, is that of the element's own row. */
static bool own_row(const row_program *f, const kiln__lowered *n, const kiln__axis_map *map)
{
    int own = 0;
    for (int a = 0; a < f->sample->space_rank; a++) {
        if (f->sample->reduced[a]) {
            own += n->keepdims;
            continue;
        }
        if (n->shape[own] != 1 && (map[own].from != a || map[own].start != 0 || map[own].step != 1))
            return false;
        own++;
    }
    return true;
}

/* Whether a row program computes a lowered node for itself rather than read it. */
static bool is_inside(const row_program *f, uint32_t id, bool root)
{
    const kiln__lowered *n = &f->b->lowered[id];
    return n->kind == KILN__LOWERED_VIEW ||
           (kiln__lowered_computed(n) &&
            (!f->b->stores[id].stored || root || kiln__is_marked(&f->root, id)));
}

/* Whether a lowered node that a row program does not compute is computed by another kernel. */
static bool is_other(const kiln__lowered *n)
{
    return n->kind != KILN__LOWERED_IOTA && n->kind != KILN__LOWERED_LEAF &&
           n->kind != KILN__LOWERED_CONST && n->kind != KILN__LOWERED_SCALAR;
}

/* The map through which an operand of `n` is seen where `n` is seen through `map`. */
static void operand_map(const kiln__lowered *n, const kiln__lowered *o, const kiln__axis_map *map,
                        kiln__axis_map *out)
{
    kiln__axis_map own[KILN_RANK_MAX];
    if (n->kind == KILN__LOWERED_VIEW)
        memcpy(own, n->map, (size_t)o->rank * sizeof own[0]);
    else if (n->kind == KILN__LOWERED_GATHER) /* no row program computes one */
        memset(own, 0xff, (size_t)o->rank * sizeof own[0]);
    else
        kiln__broadcast_map(o, n->rank, n->shape, own);
    kiln__compose(map, own, o->rank, out);
}

static void own_map(const kiln__lowered *n, kiln__axis_map *map)
{
    for (int a = 0; a < n->rank; a++)
        map[a] = n->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0} : (kiln__axis_map){a, 0, 1};
}

/* ---- who uses members ------------------------------------------------------------------------ */

/* The sight of a lowered node through a map: the one there is, or a new one that has yet to be
 * looked at. Lowered nodes before the first member are not made of members. */
static sight *find_sight(row_program *f, uint32_t id, const kiln__axis_map *map, bool *is_new)
{
    const int rank = f->b->lowered[id].rank;
    sights *low = &f->sights[id];
    f->b->work++;
    if (low->row_program != f->number)
        *low = (sights){.row_program = f->number};
    for (sight *s = low->first; s != NULL; s = s->next)
        if (kiln__same_map(s->map, map, rank)) {
            *is_new = false;
            return s;
        }
    sight *made = kiln__build_note(f->b, sizeof *made + (size_t)rank * sizeof *map);
    made->map = memcpy(made + 1, map, (size_t)rank * sizeof *map);
    made->id = id;
    made->next = low->first;
    low->first = made;
    *is_new = true;
    return made;
}

/* Decide about a lowered node without regard to its operands. Returns whether the operands
 * matter. */
static bool classify(row_program *f, sight *s, bool root)
{
    const kiln__lowered *n = &f->b->lowered[s->id];
    const int member = n->kind == KILN__LOWERED_REDUCE ? member_at(f, s->id) : -1;
    if (s->id < f->members[0]) {
        s->bad = f->positions[s->id];
        return false;
    }
    if (member >= 0) {
        s->bad = !own_row(f, n, s->map);
        s->uses = 1u << member;
        return false;
    }
    s->bad = n->kind == KILN__LOWERED_IOTA || n->kind == KILN__LOWERED_GATHER;
    return is_inside(f, s->id, root);
}

/* Find which members a lowered node uses, with everything that it is computed from. There is no
 * recursion, because expressions may be as deep as graphs. */
static sight *find_sights(row_program *f, uint32_t id, bool root)
{
    kiln__build *b = f->b;
    kiln__axis_map map[KILN_RANK_MAX];
    bool is_new = false;
    own_map(&b->lowered[id], map);
    sight *const first = find_sight(f, id, map, &is_new), *s = first;
    if (!is_new)
        return first;
    if (!classify(f, s, root))
        return first;
    while (s != NULL) {
        const kiln__lowered *n = &b->lowered[s->id];
        if (s->operand == n->operand_count) {
            sight *user = s->user;
            if (user != NULL) {
                user->uses |= s->uses;
                user->bad = user->bad || s->bad;
            }
            s = user;
            continue;
        }
        const uint32_t o = n->operand[s->operand++];
        operand_map(n, &b->lowered[o], s->map, map);
        sight *below = find_sight(f, o, map, &is_new);
        if (is_new && classify(f, below, false)) {
            below->user = s;
            s = below;
            continue;
        }
        s->uses |= below->uses;
        s->bad = s->bad || below->bad;
    }
    return first;
}

/* ---- what a row program reads ---------------------------------------------------------------- */

static int64_t row_count(const row_program *f)
{
    int64_t rows = 1;
    for (int a = 0; a < f->sample->space_rank; a++)
        rows *= f->sample->reduced[a] ? 1 : f->sample->space[a];
    return rows;
}

/* Add the bytes that a kernel reads of an array for each element, by the axis that is
 * contiguous. */
static void count_leaf(const row_program *f, const kiln__lowered *n, const kiln__axis_map *map,
                       traffic *m)
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
    /* A GPU loads what all rows share where it is used, and does not hold it. */
    const bool held =
        across != 0 || f->b->target->backend != KILN_BACKEND_CUDA || row_count(f) == 1;
    m->element_bytes += held ? bytes : 0;
    *(across == 0 || along <= across ? &m->row_bytes : &m->turned_bytes) += bytes;
}

/* Add what a row program reads in order to compute a lowered node, and list the values that other
 * kernels compute for it (f->reads). Lowered nodes before `least` are left out. */
static void count_reads(row_program *f, uint32_t id, bool root, uint32_t least, traffic *m)
{
    kiln__build *b = f->b;
    kiln__axis_map map[KILN_RANK_MAX];
    bool is_new = false;
    own_map(&b->lowered[id], map);
    f->number++;
    for (sight *open = find_sight(f, id, map, &is_new); open != NULL;) {
        sight *const s = open;
        const kiln__lowered *n = &b->lowered[s->id];
        open = s->user;
        if (s->id < least || (n->kind == KILN__LOWERED_REDUCE && member_at(f, s->id) >= 0))
            continue;
        if (n->kind == KILN__LOWERED_LEAF)
            count_leaf(f, n, s->map, m);
        for (uint32_t k = 0; is_inside(f, s->id, root) && k < n->operand_count; k++) {
            operand_map(n, &b->lowered[n->operand[k]], s->map, map);
            sight *below = find_sight(f, n->operand[k], map, &is_new);
            if (!is_new)
                continue;
            below->user = open;
            open = below;
        }
        if (is_other(n) && !is_inside(f, s->id, root) && kiln__mark(b, &f->read, s->id))
            kiln__list_add(b, &f->reads, s->id);
        root = false;
    }
}

/* ---- dependence ------------------------------------------------------------------------------ */

/* The first lowered node that may depend on the row program: its own first node, or the first
 * node of an earlier row program with nodes on both sides of it, since that program is one
 * kernel. */
static uint32_t first_dependent(const row_program *f)
{
    uint32_t first = f->members[0];
    for (bool moved = true; moved;) {
        moved = false;
        for (const kiln__row_kernel *other = f->formed; other != NULL; other = other->next)
            if (other->first < first && first <= other->last) {
                first = other->first;
                moved = true;
            }
    }
    return first;
}

/* Whether a value that the row program reads from memory depends on it (rule 2). An earlier row
 * program is one kernel: whatever depends on one of its results depends on all that it reads.
 * Nodes in f->seen were visited before and do not depend on it. */
static bool is_cyclic(row_program *f)
{
    kiln__build *b = f->b;
    kiln__list open = {NULL, 0, 0};
    for (size_t k = 0; k < f->reads.count; k++)
        kiln__list_add(b, &open, f->reads.ids[k]);
    while (open.count > 0) {
        const uint32_t id = open.ids[--open.count];
        const kiln__lowered *n = &b->lowered[id];
        if (id < f->first || !kiln__mark(b, &f->seen, id))
            continue;
        const int member = n->kind == KILN__LOWERED_REDUCE ? member_at(f, id) : -1;
        if ((member >= 0 && f->taken[member]) || kiln__is_marked(&f->root, id))
            return true;
        for (size_t k = 0;
             b->row_parts[id].rows != NULL && k < b->row_parts[id].rows->lowered.count; k++)
            kiln__list_add(b, &open, b->row_parts[id].rows->lowered.ids[k]);
        for (uint32_t k = 0; k < n->operand_count; k++)
            kiln__list_add(b, &open, n->operand[k]);
    }
    return false;
}

/* ---- members and roots ----------------------------------------------------------------------- */

/* A heap of lowered nodes: the node with the smallest number is taken first. */
static void enqueue(kiln__build *b, kiln__list *queue, uint32_t id)
{
    kiln__list_add(b, queue, id);
    for (size_t at = queue->count - 1; at > 0 && queue->ids[(at - 1) / 2] > queue->ids[at];
         at = (at - 1) / 2) {
        const uint32_t swap = queue->ids[at];
        queue->ids[at] = queue->ids[(at - 1) / 2];
        queue->ids[(at - 1) / 2] = swap;
    }
}

static uint32_t dequeue(kiln__list *queue)
{
    const uint32_t first = queue->ids[0], moved = queue->ids[--queue->count];
    size_t at = 0;
    for (size_t below; (below = 2 * at + 1) < queue->count; at = below) {
        below += below + 1 < queue->count && queue->ids[below + 1] < queue->ids[below];
        if (queue->ids[below] >= moved)
            break;
        queue->ids[at] = queue->ids[below];
    }
    queue->ids[at] = moved;
    return first;
}

static void enqueue_users(kiln__build *b, kiln__list *queue, uint32_t id)
{
    for (uint32_t u = b->user_begin[id]; u < b->user_begin[id + 1]; u++)
        if (kiln__mark(b, &b->marks, b->users[u]))
            enqueue(b, queue, b->users[u]);
}

/* Whether a lowered node may be a root: stored in the space. */
static bool may_be_root(const row_program *f, const kiln__lowered *n)
{
    const kiln__build *b = f->b;
    return b->stores[n->id].stored && b->facts[n->id].loads && b->row_parts[n->id].rows == NULL &&
           !n->c_order &&
           kiln__same_shape(n->rank, n->shape, f->sample->space_rank, f->sample->space);
}

/* Whether a lowered node uses a value that another kernel computes from members. The row program
 * then cannot compute it. */
static bool uses_later(const row_program *f, const kiln__lowered *n)
{
    bool later = false;
    for (uint32_t k = 0; k < n->operand_count; k++)
        later = later || kiln__is_marked(&f->later, n->operand[k]);
    return later;
}

/* Find the roots: values that are stored in the space and use a member. Returns the members that
 * roots use. */
static uint32_t find_roots(row_program *f)
{
    kiln__build *b = f->b;
    kiln__list queue = {NULL, 0, 0};
    uint32_t used = 0;
    f->number++;
    f->roots.count = 0;
    kiln__marks_clear(b, &f->root);
    kiln__marks_clear(b, &f->later);
    kiln__marks_clear(b, &b->marks);
    for (int m = 0; m < f->count; m++)
        enqueue_users(b, &queue, f->members[m]);
    while (queue.count > 0) {
        const uint32_t id = dequeue(&queue);
        const kiln__lowered *n = &b->lowered[id];
        bool later = uses_later(f, n);
        if (!later && may_be_root(f, n)) {
            sight *s = find_sights(f, id, true);
            if (s->uses != 0 && !s->bad) {
                (void)kiln__mark(b, &f->root, id);
                kiln__list_add(b, &f->roots, id);
                used |= s->uses;
            } else { /* to others it is a value in memory */
                s->uses = 0;
                s->bad = false;
            }
        }
        later = later || (!is_inside(f, id, false) && member_at(f, id) < 0);
        if (later)
            (void)kiln__mark(b, &f->later, id);
        /* What uses later results and nothing of its own leads to other users of those. */
        if (later ? !b->facts[id].loads : is_inside(f, id, false))
            enqueue_users(b, &queue, id);
    }
    f->number++;
    return used;
}

/* Whether the members of a stage, and one more (-1: none), fit into it. */
static bool stage_fits(const row_program *f, int stage, int more)
{
    uint32_t ids[MEMBERS_MAX];
    size_t count = 0;
    for (int m = 0; m < f->count; m++)
        if ((f->taken[m] && f->stage[m] == stage) || m == more)
            ids[count++] = f->members[m];
    return kiln__pass_states(f->b, ids, count) <= STATES_A_STAGE;
}

/* Give each member its stage: one after the stages of all members that it uses. Returns the
 * number of members before the first whose stage would be too late. */
static int find_stages(row_program *f)
{
    for (int m = 0; m < f->count; m++) {
        f->stage[m] = 0;
        for (int o = 0; o < m; o++)
            if ((f->uses[m] & 1u << o) != 0 && f->stage[o] + 1 > f->stage[m])
                f->stage[m] = f->stage[o] + 1;
        if (f->stage[m] >= STAGES_MAX)
            return m;
    }
    return f->count;
}

/* Choose the members that take part: those that roots or other members use, and those that use
 * others. False when there are none or too many. */
static bool take_members(row_program *f, uint32_t used)
{
    if (find_stages(f) < f->count)
        return false;
    for (int m = 0; m < f->count; m++)
        if (f->uses[m] != 0)
            used |= f->uses[m] | 1u << m;
    for (int m = f->count; m-- > 0;)
        if (used & 1u << m)
            used |= f->uses[m];
    for (int m = 0; m < f->count; m++)
        f->taken[m] = (used & 1u << m) != 0;
    for (int stage = 0; stage < STAGES_MAX; stage++)
        if (!stage_fits(f, stage, -1))
            return false;
    return used != 0;
}

/* Whether a row program is faster than separate kernels: rows are held on chip
 * (kiln__row_is_held()), or there are many of them. */
static bool is_worth_it(const row_program *f, const traffic *sum)
{
    const kiln__graph_target *t = f->b->target;
    const int64_t rows = row_count(f);
    int64_t length = 1;
    for (int a = 0; a < f->sample->space_rank; a++)
        length *= f->sample->reduced[a] ? f->sample->space[a] : 1;
    const bool turned = sum->turned_bytes > sum->row_bytes;
    const int64_t bytes = sum->element_bytes > 0 ? sum->element_bytes : 4;
    if (length == 0 || rows == 0)
        return false;
    if (kiln__row_is_held(t->backend, t->clusters && !turned,
                          turned ? length * KILN__TURNED_ROWS : length, bytes))
        return true;
    return !turned && rows >= (t->backend == KILN_BACKEND_CUDA ? FEW_ROWS_CUDA : FEW_ROWS_CPU);
}

static bool fits_kernel(row_program *f)
{
    kiln__plan_kernel all = {.kind = KILN__STEP_ROW};
    bool fits = f->roots.count <= KILN__ROOTS_MAX;
    for (int m = 0; m < f->count && fits; m++)
        fits = !f->taken[m] || kiln__kernel_grow(f->b, &all, f->members[m]);
    for (size_t r = 0; r < f->roots.count && fits; r++)
        fits = kiln__kernel_grow(f->b, &all, f->roots.ids[r]);
    return fits;
}

/* Keep the greatest traffic of members and roots. */
static void add_traffic(row_program *f, uint32_t id, bool root, traffic *sum)
{
    traffic one = {0, 0, 0};
    count_reads(f, id, root, 0, &one);
    if (one.element_bytes > sum->element_bytes)
        *sum = one;
}

/* Whether what was found is a row program: it fits a kernel, obeys rules 1 and 2, and is worth
 * it. */
static bool is_sound(row_program *f)
{
    kiln__build *b = f->b;
    traffic sum = {0, 0, 0};
    if (!fits_kernel(f))
        return false;
    kiln__marks_clear(b, &f->read);
    f->reads.count = 0;
    for (int m = 0; m < f->count; m++)
        if (f->taken[m] && find_sights(f, b->lowered[f->members[m]].operand[0], false)->bad)
            return false;
    for (int m = 0; m < f->count; m++)
        if (f->taken[m])
            add_traffic(f, b->lowered[f->members[m]].operand[0], false, &sum);
    for (size_t r = 0; r < f->roots.count; r++)
        add_traffic(f, f->roots.ids[r], true, &sum);
    f->first = f->reads.count > 0 ? first_dependent(f) : f->members[0];
    kiln__marks_clear(b, &f->seen);
    return !is_cyclic(f) && is_worth_it(f, &sum);
}

/* ---- what follows from results alone --------------------------------------------------------- */

/* Whether a lowered node is computed from the row program's results and from arguments, one
 * value for each row; `made` has its operands of that kind. Views of results are left to other
 * kernels, so that all shapes are those of results. */
static bool is_made_of_results(const row_program *f, uint32_t id, const kiln__marks *made)
{
    const kiln__build *b = f->b;
    const kiln__lowered *n = &b->lowered[id];
    if (!kiln__lowered_computed(n))
        return false;
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__lowered *o = &b->lowered[n->operand[k]];
        if ((b->facts[o->id].reduces && !kiln__same_shape(n->rank, n->shape, o->rank, o->shape)) ||
            (!b->facts[o->id].arguments && !kiln__is_marked(made, n->operand[k])))
            return false;
    }
    return true;
}

/* The stored values that are computed from the row program's results alone, operands first. */
static kiln__list find_results(row_program *f)
{
    kiln__build *b = f->b;
    kiln__list queue = {NULL, 0, 0}, found = {NULL, 0, 0};
    kiln__marks_clear(b, &b->marks);
    kiln__marks_clear(b, &f->made);
    for (int m = 0; m < f->count; m++)
        if (f->taken[m]) {
            (void)kiln__mark(b, &f->made, f->members[m]);
            enqueue_users(b, &queue, f->members[m]);
        }
    while (queue.count > 0) {
        const uint32_t id = dequeue(&queue);
        const kiln__lowered *n = &b->lowered[id];
        if (!is_made_of_results(f, id, &f->made))
            continue;
        (void)kiln__mark(b, &f->made, id);
        enqueue_users(b, &queue, id);
        if (b->stores[id].stored && b->row_parts[id].rows == NULL &&
            kiln__lowered_can_be_epilogue(n))
            kiln__list_add(b, &found, id);
    }
    return found;
}

/* Add other reductions of the same rows that use no member. They must read arguments of the call
 * alone, and nothing that the row program reads may depend on their results. */
static void take_independent(row_program *f)
{
    f->first = first_dependent(f);
    for (int m = 0; m < f->count; m++) {
        const uint32_t operand = f->b->lowered[f->members[m]].operand[0];
        traffic unused = {0, 0, 0};
        if (f->taken[m])
            continue;
        count_reads(f, operand, false, f->first, &unused);
        f->number++;
        const sight *s = f->others[operand] ? NULL : find_sights(f, operand, false);
        if (s == NULL || s->bad || s->uses != 0 || !stage_fits(f, 0, m))
            continue;
        f->stage[m] = 0;
        f->taken[m] = true;
        kiln__marks_clear(f->b, &f->seen);
        f->taken[m] = !is_cyclic(f);
    }
}

/* Mark the values beneath `id` that the row program computes without storing them (rule 3). */
static void mark_inside(const row_program *f, kiln__row_kernel *made, uint32_t id)
{
    const kiln__lowered *n = &f->b->lowered[id];
    if (f->b->stores[id].stored || (n->kind != KILN__LOWERED_VIEW && !kiln__lowered_computed(n)) ||
        !kiln__set_add(f->b, &made->inside, id))
        return;
    for (uint32_t k = 0; k < n->operand_count; k++)
        mark_inside(f, made, n->operand[k]);
}

/* Give a lowered node to the row program. */
static void give_to(const row_program *f, kiln__row_kernel *made, uint32_t id)
{
    kiln__lowered *n = &f->b->lowered[id];
    f->b->row_parts[id].rows = made;
    made->first = made->first == 0 || id < made->first ? id : made->first;
    made->last = id > made->last ? id : made->last;
    kiln__list_add(f->b, &made->lowered, id);
    for (uint32_t k = 0; k < n->operand_count; k++)
        mark_inside(f, made, n->operand[k]);
}

static void add_rows(row_program *f)
{
    kiln__build *b = f->b;
    kiln__row_kernel *made = kiln__build_alloc(b, sizeof *made);
    take_independent(f);
    made->sample = f->sample;
    made->next = f->formed;
    f->formed = made;
    for (int m = 0; m < f->count; m++) {
        if (!f->taken[m])
            continue;
        give_to(f, made, f->members[m]);
        b->row_parts[f->members[m]].stage = f->stage[m];
        if (f->stage[m] + 1 > made->stage_count)
            made->stage_count = f->stage[m] + 1;
    }
    const kiln__list results = find_results(f);
    for (size_t r = 0, k = 0; r < f->roots.count || k < results.count;) {
        const uint32_t root = r < f->roots.count ? f->roots.ids[r] : UINT32_MAX;
        const uint32_t result = k < results.count ? results.ids[k] : UINT32_MAX;
        give_to(f, made, root < result ? root : result);
        r += root <= result;
        k += result <= root;
    }
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Begin a row program with the next reductions of a list as its members. */
static void begin_rows(row_program *f, candidates *c)
{
    kiln__build_forget(f->b); /* sights of the last one */
    f->count = 0;
    while (c->next < c->reductions.count && f->count < MEMBERS_MAX)
        f->members[f->count++] = c->reductions.ids[c->next++];
    f->sample = &f->b->lowered[f->members[0]];
    memset(f->uses, 0, sizeof f->uses);
    memset(f->taken, 0, sizeof f->taken);
    memset(f->stage, 0, sizeof f->stage);
    f->roots.count = 0;
    kiln__marks_clear(f->b, &f->root);
    f->number++;
}

/* Store the value that `member` reduces, or the value with several uses beneath it, if it takes
 * many operations. Otherwise each row program of a chain would compute more of it again. */
static void store_chain(row_program *f, uint32_t member)
{
    kiln__plan_kernel alone = {.kind = KILN__STEP_ROW};
    kiln__build *b = f->b;
    uint32_t id = b->lowered[member].operand[0];
    kiln__lowered *n = &b->lowered[id];

    if (kiln__kernel_grow(b, &alone, member) && alone.size.nodes <= CHAIN_NODES)
        return;
    while (kiln__lowered_computed(n) && !b->stores[n->id].stored && n->operand_count > 0 &&
           b->user_begin[id + 1] - b->user_begin[id] == 1) {
        id = n->operand[0];
        n = &b->lowered[id];
    }
    if (kiln__lowered_computed(n) && b->facts[n->id].loads &&
        kiln__same_shape(n->rank, n->shape, f->sample->space_rank, f->sample->space))
        b->stores[n->id].stored = true;
}

/* Leave the part of a chain that does not fit into this row program to the next one. Returns
 * whether there is such a part. */
static bool cut_chain(row_program *f, candidates *c)
{
    const int fitting = find_stages(f), rest = f->count - fitting;
    if (rest > 0)
        store_chain(f, f->members[fitting]);
    c->next -= (size_t)rest;
    f->count = fitting;
    return rest > 0;
}

/* Find which members use which others. False when a result is used in another row than its own. */
static bool find_uses(row_program *f)
{
    for (int m = 0; m < f->count; m++) {
        const sight *s = find_sights(f, f->b->lowered[f->members[m]].operand[0], false);
        f->uses[m] = s->uses;
        if (s->bad && s->uses != 0)
            return false;
    }
    return true;
}

static void try_rows(row_program *f, candidates *c)
{
    bool reduces = false;
    begin_rows(f, c);
    for (int a = 0; a < f->sample->space_rank; a++)
        reduces = reduces || f->sample->reduced[a];
    if (!reduces || !find_uses(f))
        return; /* roots would not change that */
    (void)cut_chain(f, c);
    uint32_t used = find_roots(f); /* what these compute, members may use */
    bool usable = find_uses(f);
    if (usable && cut_chain(f, c)) {
        used = find_roots(f);
        usable = find_uses(f);
    }
    if (usable && take_members(f, used) && is_sound(f))
        add_rows(f);
}

/* Find for each lowered node whether it is computed from positions, or from values of other
 * kernels. Everything that is not stored is computed where it is used. */
static void find_positions_and_others(row_program *f)
{
    const kiln__build *b = f->b;
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        const bool inside =
            n->kind == KILN__LOWERED_VIEW || (kiln__lowered_computed(n) && !b->stores[id].stored);
        f->positions[id] = n->kind == KILN__LOWERED_IOTA || n->kind == KILN__LOWERED_GATHER;
        f->others[id] = !inside && is_other(n);
        for (uint32_t k = 0; inside && k < n->operand_count; k++) {
            f->positions[id] = f->positions[id] || f->positions[n->operand[k]];
            f->others[id] = f->others[id] || f->others[n->operand[k]];
        }
    }
}

void kiln__find_rows(kiln__build *b)
{
    candidates **list = kiln__build_alloc(b, b->lowered_count * sizeof(*list));
    row_program *f = kiln__build_alloc(b, sizeof *f);
    kiln__buf *key = &b->scratch[KILN__SCRATCH_SHORT];
    f->b = b;
    f->sights = kiln__build_alloc(b, b->lowered_count * sizeof *f->sights);
    f->positions = kiln__build_alloc(b, b->lowered_count);
    f->others = kiln__build_alloc(b, b->lowered_count);
    b->row_parts = kiln__build_alloc(b, b->lowered_count * sizeof *b->row_parts);
    find_positions_and_others(f);
    for (uint32_t id = 1; id < b->lowered_count; id++) {
        const kiln__lowered *n = &b->lowered[id];
        if (!b->facts[id].needed || n->kind != KILN__LOWERED_REDUCE)
            continue;
        kiln__buf_put(key, (const char *)&n->space_rank, sizeof n->space_rank);
        kiln__buf_put(key, (const char *)n->space, (size_t)n->space_rank * sizeof *n->space);
        kiln__buf_put(key, (const char *)n->reduced, (size_t)n->space_rank * sizeof *n->reduced);
        void **found = kiln__build_find(b, KILN__MAP_SPACES, key);
        if (*found == NULL)
            *found = kiln__build_alloc(b, sizeof(candidates));
        list[id] = *found;
        kiln__list_add(b, &list[id]->reductions, id);
    }
    for (uint32_t id = 1; id < b->lowered_count; id++)
        if (list[id] != NULL && list[id]->next < list[id]->reductions.count &&
            list[id]->reductions.ids[list[id]->next] == id)
            try_rows(f, list[id]);
}
