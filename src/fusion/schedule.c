/*
 * schedule.c - which kernel computes each task (order.c), and at which level.
 *
 *     size > order > [schedule] > sink > text
 *
 * The level of a task is one more than the highest level of the stored values that its kernel
 * reads. Kernels of one level do not depend on one another. So loops over the same shape are
 * merged, and so are reductions over the same axes of the same shape, without making a cycle. A
 * loop that also computes a stored value of its own level at the same index uses it from its
 * register.
 *
 * Rule: tasks come in the order of order.c, so that whatever a task reads has its level and its
 *       kernel already. A decision here is about the task at hand only.
 *
 * Tests: test_graph_plan, test_graph_reduce.
 */
#include "fusion/states.h"

/* How a value is used: by a loop at the same index; at another index, so that a stored value must
 * be read from memory; by a reduction. */
enum { CONTEXT_SAME, CONTEXT_OTHER, CONTEXT_REDUCE };

enum { STATES_MAX = 6 }; /* what a pass accumulates */

/* Kernels of one kind and level over one shape, in the order they were made in; those that can take
 * nothing more are left out. */
typedef struct group {
    kiln__plan_kernel **open;
    size_t count, capacity;
} group;

/* What a value is to the kernel of a reduction that might finish it. */
typedef enum finish {
    FINISH_OPEN,  /* not looked at yet */
    FINISH_NOT,   /* it cannot be had there */
    FINISH_READ,  /* it can, from numbers and from what is in memory by then */
    FINISH_RESULT /* it is made of the kernel's results, and has their shape */
} finish;

typedef struct schedule {
    kiln__build *b;
    int (*ready)[3]; /* by lowered node and context: the first level that can compute or read it */
    uint8_t *known;  /* by marked lowered node: a `finish` */
    kiln__plan_kernel **end; /* of the list of kernels */
    uint32_t kernel_count;
} schedule;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static kiln__plan_kernel *new_kernel(schedule *s, kiln__step_kind kind, int level, int rank,
                                     int64_t *shape)
{
    kiln__plan_kernel *made = kiln__build_alloc(s->b, sizeof *made);
    made->kind = kind;
    made->level = level;
    made->rank = rank;
    made->shape = shape;
    made->number = s->kernel_count++;
    *s->end = made;
    s->end = &made->next;
    return made;
}

static void put_bytes(kiln__buf *key, const void *data, size_t bytes)
{
    if (bytes > 0)
        kiln__buf_put(key, data, bytes);
}

static group *find_group(kiln__build *b, kiln__build_map map, kiln__buf *key)
{
    void **found = kiln__build_find(b, map, key);
    if (*found == NULL)
        *found = kiln__build_alloc(b, sizeof(group));
    return *found;
}

/* The group of loops (`reduced` NULL) or of reductions of one level over one shape. */
static group *group_of(schedule *s, int level, int rank, const int64_t *shape, const bool *reduced)
{
    kiln__buf *key = &s->b->scratch[KILN__SCRATCH_SHORT];
    const int head[] = {level, rank, reduced != NULL};
    put_bytes(key, head, sizeof head);
    put_bytes(key, shape, (size_t)rank * sizeof *shape);
    put_bytes(key, reduced, reduced != NULL ? (size_t)rank * sizeof *reduced : 0);
    return find_group(s->b, KILN__MAP_GROUPS, key);
}

static void add_to_group(kiln__build *b, group *g, kiln__plan_kernel *k)
{
    g->open = kiln__build_reserve(b, g->open, g->count, &g->capacity, sizeof(*g->open));
    g->open[g->count++] = k;
}

/* Leave kernels out that are closed for good. */
static void prune(group *g, bool (*is_closed)(const kiln__plan_kernel *k))
{
    size_t left = 0;
    for (size_t k = 0; k < g->count; k++)
        if (!is_closed(g->open[k]))
            g->open[left++] = g->open[k];
    g->count = left;
}

static void add_root(kiln__build *b, kiln__plan_kernel *k, uint32_t id)
{
    (void)kiln__kernel_grow(b, k, id);
    kiln__list_add(b, &k->roots, id);
    b->tasks[id].kernel = k;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* How many loops of this level hold stored values that `id` uses from their registers, and one of
 * them. */
static int continued(kiln__build *b, uint32_t id, int level, kiln__plan_kernel **loop)
{
    const kiln__lowered *n = &b->lowered[id];
    int count = 0;
    for (uint32_t k = 0; kiln__lowered_computed(n) && k < n->operand_count; k++) {
        const uint32_t o = n->operand[k];
        const kiln__task *task = &b->tasks[o];
        if (!kiln__mark(b, &b->marks, o))
            continue;
        if (!b->stores[o].stored)
            count += continued(b, o, level, loop);
        else if (task->level == level && !task->epilogue && !b->stores[o].cut &&
                 b->row_parts[o].rows == NULL && task->kernel != *loop) {
            *loop = task->kernel;
            count++;
        }
    }
    return count;
}

static bool is_full_loop(const kiln__plan_kernel *k)
{
    return k->roots.count >= KILN__ROOTS_MAX;
}

static bool takes(kiln__build *b, const kiln__plan_kernel *k, uint32_t id, int level)
{
    const kiln__lowered *n = &b->lowered[id];
    return k->kind == KILN__STEP_LOOP && k->level == level && !is_full_loop(k) &&
           kiln__same_shape(k->rank, k->shape, n->rank, n->shape) && kiln__kernel_fits(b, k, id);
}

/* Put a stored value into a loop of its level over its shape. Where the loop that it continues is
 * full, that is the next level, which reads what the loop has stored. */
static int join_loop(schedule *s, uint32_t id, int level)
{
    kiln__build *b = s->b;
    const kiln__lowered *n = &b->lowered[id];
    kiln__plan_kernel *k = NULL;
    int loops;
    for (;; level++) {
        k = NULL;
        kiln__marks_clear(b, &b->marks);
        loops = continued(b, id, level, &k);
        if (loops == 0 || (loops == 1 && takes(b, k, id, level)))
            break;
    }
    if (loops == 0) {
        group *g = group_of(s, level, n->rank, n->shape, NULL);
        prune(g, is_full_loop);
        for (size_t at = 0; at < g->count && k == NULL; at++)
            if (takes(b, g->open[at], id, level))
                k = g->open[at];
        if (k == NULL) {
            k = new_kernel(s, KILN__STEP_LOOP, level, n->rank, n->shape);
            add_to_group(b, g, k);
        }
    }
    add_root(b, k, id);
    return level;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool is_full_pass(const kiln__plan_kernel *k)
{
    return k->members.count >= KILN__ROOTS_MAX || k->states >= STATES_MAX;
}

/* Whether a pass takes one more reduction. */
static bool joins_pass(kiln__build *b, const kiln__plan_kernel *k, uint32_t id)
{
    uint32_t ids[KILN__ROOTS_MAX + 1];
    if (k->members.count >= KILN__ROOTS_MAX)
        return false;
    memcpy(ids, k->members.ids, k->members.count * sizeof *ids);
    ids[k->members.count] = id;
    return kiln__pass_states(b, ids, k->members.count + 1) <= STATES_MAX &&
           kiln__kernel_fits(b, k, id);
}

/* The first kernel of those that has room, and of those that reduce the same operand: a reduction
 * of another operand brings a state of its own. */
static kiln__plan_kernel *find_pass(kiln__build *b, group *g, group *same, uint32_t id)
{
    kiln__plan_kernel *k = NULL;
    for (size_t at = 0; at < same->count; at++)
        if ((k == NULL || same->open[at]->number < k->number) && joins_pass(b, same->open[at], id))
            k = same->open[at];
    for (size_t at = 0; at < g->count && (k == NULL || g->open[at]->number < k->number); at++)
        if (joins_pass(b, g->open[at], id))
            return g->open[at];
    return k;
}

static void join_reduction(schedule *s, uint32_t id, int level)
{
    kiln__build *b = s->b;
    kiln__lowered *n = &b->lowered[id];
    group *g = group_of(s, level, n->space_rank, n->space, n->reduced);
    kiln__buf *key = &b->scratch[KILN__SCRATCH_SHORT];
    put_bytes(key, &g, sizeof(g));
    put_bytes(key, &n->operand[0], sizeof n->operand[0]);
    group *same = find_group(b, KILN__MAP_PASSES, key);

    prune(g, is_full_pass);
    kiln__plan_kernel *k = find_pass(b, g, same, id);
    if (k == NULL) {
        k = new_kernel(s, KILN__STEP_REDUCE, level, n->space_rank, n->space);
        k->reduced = n->reduced;
        add_to_group(b, g, k);
    }
    (void)kiln__kernel_grow(b, k, id);
    kiln__list_add(b, &k->members, id);
    k->states = kiln__pass_states(b, k->members.ids, k->members.count);
    if (same->count == 0 || same->open[same->count - 1] != k)
        add_to_group(b, same, k);
    b->tasks[id].kernel = k;
}

/* ---- the user's kernels ---------------------------------------------------------------------- */

static kiln__step_kind custom_kind(const kiln__lowered *n)
{
    if (n->custom->kind == KILN__NODE_OPAQUE)
        return KILN__STEP_OPAQUE;
    return n->custom->def->family->maps ? KILN__STEP_CUSTOM_REDUCE : KILN__STEP_CUSTOM;
}

/* Results of one custom kernel over the same operands come from one launch. */
static void join_custom(schedule *s, uint32_t id, int level)
{
    kiln__build *b = s->b;
    kiln__lowered *n = &b->lowered[id];
    kiln__buf *key = &b->scratch[KILN__SCRATCH_SHORT];
    put_bytes(key, &n->custom->kernel, sizeof n->custom->kernel);
    put_bytes(key, &n->keepdims, sizeof n->keepdims);
    put_bytes(key, n->operand, n->operand_count * sizeof *n->operand);
    put_bytes(key, n->reduced, n->reduced != NULL ? (size_t)n->space_rank * sizeof *n->reduced : 0);
    if (n->custom->kind == KILN__NODE_OPAQUE)
        put_bytes(key, b->ir->data + n->custom->data, n->custom->data_count * sizeof *b->ir->data);
    group *g = find_group(b, KILN__MAP_CUSTOMS, key);

    if (g->count == 0) {
        kiln__plan_kernel *made = new_kernel(s, custom_kind(n), level, n->space_rank, n->space);
        made->reduced = n->reduced;
        add_to_group(b, g, made);
    }
    kiln__list_add(b, &g->open[0]->roots, id);
    b->tasks[id].kernel = g->open[0];
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int ready(schedule *s, uint32_t id, int context);

static int ready_operands(schedule *s, uint32_t id, int context)
{
    const kiln__build *b = s->b;
    const kiln__lowered *n = &b->lowered[id];
    int level = 1;
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__lowered *o = &b->lowered[n->operand[k]];
        int inner = context;
        if (context == CONTEXT_SAME && (n->kind == KILN__LOWERED_VIEW ||
                                        !kiln__same_shape(n->rank, n->shape, o->rank, o->shape)))
            inner = CONTEXT_OTHER;
        if (kiln__lowered_is_table(n, k))
            inner = CONTEXT_OTHER;
        level = larger(level, ready(s, n->operand[k], inner));
    }
    return level;
}

/* The first level at which a kernel can compute, or read, a value. */
static int ready(schedule *s, uint32_t id, int context)
{
    const kiln__build *b = s->b;
    const kiln__lowered *n = &b->lowered[id];
    const kiln__task *task = &b->tasks[id];
    int *level = &s->ready[id][context];
    if (*level != 0)
        return *level;
    s->b->work++;
    if (n->kind == KILN__LOWERED_RESHAPED || n->kind == KILN__LOWERED_JOIN) {
        for (uint32_t k = 0; k < n->operand_count; k++)
            *level = larger(*level, b->lowered[n->operand[k]].kind == KILN__LOWERED_JOIN
                                        ? ready(s, n->operand[k], context)
                                        : b->tasks[n->operand[k]].level + 1);
    } else if (n->kind == KILN__LOWERED_REDUCE || n->kind == KILN__LOWERED_CUSTOM)
        *level = task->level + 1;
    else if (!b->stores[id].stored || (context == CONTEXT_REDUCE && task->again))
        *level = ready_operands(s, id, context);
    else
        *level = task->level + (context != CONTEXT_SAME || task->epilogue || b->stores[id].cut ||
                                b->row_parts[id].rows != NULL);
    return *level;
}

/* ---- epilogues ------------------------------------------------------------------------------- */

/* Whether two shapes have the same axes but for those of one index. */
static bool same_squeezed(int rank, const int64_t *shape, int other_rank, const int64_t *other)
{
    int a = 0, k = 0;
    for (;;) {
        while (a < rank && shape[a] == 1)
            a++;
        while (k < other_rank && other[k] == 1)
            k++;
        if (a == rank || k == other_rank)
            return a == rank && k == other_rank;
        if (shape[a++] != other[k++])
            return false;
    }
}

/* Whether a view only adds or drops axes of one index. */
static bool squeezes(const kiln__build *b, const kiln__lowered *view)
{
    const kiln__lowered *o = &b->lowered[view->operand[0]];
    int last = -1;
    if (!same_squeezed(view->rank, view->shape, o->rank, o->shape))
        return false;
    for (int a = 0; a < o->rank; a++) {
        const kiln__axis_map m = view->map[a];
        if (o->shape[a] == 1)
            continue;
        if (m.from <= last || m.start != 0 || m.step != 1)
            return false;
        last = m.from;
    }
    return true;
}

/* The kernel of the last reduction that an unstored expression is made of, or NULL. */
static kiln__plan_kernel *last_reduction(kiln__build *b, uint32_t id, bool root)
{
    const kiln__lowered *n = &b->lowered[id];
    kiln__plan_kernel *last = NULL;
    if (!b->facts[id].reduces || !kiln__mark(b, &b->marks, id))
        return NULL;
    if (n->kind == KILN__LOWERED_REDUCE)
        return b->row_parts[id].rows == NULL ? b->tasks[id].kernel : NULL;
    if (n->kind != KILN__LOWERED_VIEW && !kiln__lowered_computed(n))
        return NULL;
    if (b->stores[id].stored && !root)
        return b->tasks[id].epilogue ? b->tasks[id].kernel : NULL;
    for (uint32_t k = 0; k < n->operand_count; k++) {
        kiln__plan_kernel *one = last_reduction(b, n->operand[k], false);
        if (one != NULL && (last == NULL || one->level > last->level))
            last = one;
    }
    return last;
}

static finish finishes(schedule *s, uint32_t id, const kiln__plan_kernel *kernel, bool root);

/* What a computed value is to the kernel, given what its operands are. */
static finish finishes_computed(schedule *s, const kiln__lowered *n,
                                const kiln__plan_kernel *kernel)
{
    finish all = FINISH_READ;
    for (uint32_t k = 0; k < n->operand_count && all != FINISH_NOT; k++) {
        const kiln__lowered *o = &s->b->lowered[n->operand[k]];
        const finish one = finishes(s, n->operand[k], kernel, false);
        if (one == FINISH_NOT ||
            (one == FINISH_RESULT && !same_squeezed(n->rank, n->shape, o->rank, o->shape)))
            all = FINISH_NOT;
        else if (one == FINISH_RESULT)
            all = one;
    }
    return all;
}

static finish look_at(schedule *s, uint32_t id, const kiln__plan_kernel *kernel, bool root)
{
    const kiln__lowered *n = &s->b->lowered[id];
    finish one;
    switch (n->kind) {
    case KILN__LOWERED_CONST:
    case KILN__LOWERED_SCALAR:
    case KILN__LOWERED_LEAF:
        return FINISH_READ;
    case KILN__LOWERED_IOTA:
    case KILN__LOWERED_GATHER:
        return FINISH_NOT;
    case KILN__LOWERED_VIEW:
        one = finishes(s, n->operand[0], kernel, false);
        return one == FINISH_RESULT && !squeezes(s->b, n) ? FINISH_NOT : one;
    case KILN__LOWERED_EXPR:
    case KILN__LOWERED_CAST:
    case KILN__LOWERED_SNIPPET:
    case KILN__LOWERED_STORE:
        if (root || !s->b->stores[id].stored ||
            (s->b->tasks[id].epilogue && s->b->tasks[id].kernel == kernel))
            return finishes_computed(s, n, kernel);
        break;
    case KILN__LOWERED_REDUCE:
        if (s->b->row_parts[id].rows == NULL && s->b->tasks[id].kernel == kernel)
            return FINISH_RESULT;
        break;
    case KILN__LOWERED_RESHAPED:
    case KILN__LOWERED_JOIN:
    case KILN__LOWERED_CUSTOM:
        break;
    }
    return ready(s, id, CONTEXT_OTHER) <= kernel->level ? FINISH_READ : FINISH_NOT;
}

/* `root`: the value is computed by the kernel though it is stored. */
static finish finishes(schedule *s, uint32_t id, const kiln__plan_kernel *kernel, bool root)
{
    if (kiln__mark(s->b, &s->b->marks, id))
        s->known[id] = FINISH_OPEN;
    if (s->known[id] == FINISH_OPEN)
        s->known[id] = (uint8_t)look_at(s, id, kernel, root);
    return (finish)s->known[id];
}

/* The reduction's kernel that can compute a stored value from its results, or NULL. */
static kiln__plan_kernel *find_finisher(schedule *s, uint32_t id)
{
    kiln__build *b = s->b;
    if (!kiln__lowered_can_be_epilogue(&b->lowered[id]))
        return NULL;
    kiln__marks_clear(b, &b->marks);
    kiln__plan_kernel *kernel = last_reduction(b, id, true);
    if (kernel == NULL || kernel->roots.count >= KILN__ROOTS_MAX ||
        !kiln__kernel_fits(b, kernel, id))
        return NULL;
    kiln__marks_clear(b, &b->marks);
    return finishes(s, id, kernel, true) == FINISH_RESULT ? kernel : NULL;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void schedule_stored(schedule *s, uint32_t id)
{
    kiln__task *task = &s->b->tasks[id];
    kiln__plan_kernel *kernel = find_finisher(s, id);
    if (kernel != NULL) {
        task->epilogue = true;
        add_root(s->b, kernel, id);
        task->level = kernel->level;
        return;
    }
    task->level = join_loop(s, id, ready_operands(s, id, CONTEXT_SAME));
}

/* The level from which everything is in memory that a row program reads. */
static int level_outside(schedule *s, const kiln__row_kernel *row_program, uint32_t id)
{
    kiln__build *b = s->b;
    const kiln__lowered *n = &b->lowered[id];
    int level = 1;
    if (!kiln__mark(b, &b->marks, id))
        return 1;
    if (b->row_parts[id].rows != row_program && !kiln__set_has(&row_program->inside, id))
        return ready(s, id, CONTEXT_OTHER);
    for (uint32_t k = 0; k < n->operand_count; k++)
        level = larger(level, level_outside(s, row_program, n->operand[k]));
    return level;
}

static void schedule_rows(schedule *s, kiln__row_kernel *row_program)
{
    kiln__build *b = s->b;
    int level = 1;
    kiln__marks_clear(b, &b->marks);
    for (size_t k = 0; k < row_program->lowered.count; k++)
        level = larger(level, level_outside(s, row_program, row_program->lowered.ids[k]));
    kiln__plan_kernel *k = new_kernel(s, KILN__STEP_ROW, level, row_program->sample->space_rank,
                                      row_program->sample->space);
    k->reduced = row_program->sample->reduced;
    k->rows = row_program;
    for (size_t l = 0; l < row_program->lowered.count; l++) {
        const uint32_t id = row_program->lowered.ids[l];
        kiln__lowered *n = &b->lowered[id];
        b->tasks[id].kernel = k;
        b->tasks[id].level = level;
        kiln__list_add(b, n->kind == KILN__LOWERED_REDUCE ? &k->members : &k->roots, id);
    }
}

static void schedule_task(schedule *s, uint32_t id)
{
    kiln__lowered *n = &s->b->lowered[id];
    if (s->b->row_parts[id].rows != NULL) {
        schedule_rows(s, s->b->row_parts[id].rows);
    } else if (n->kind == KILN__LOWERED_REDUCE) {
        s->b->tasks[id].level = ready(s, n->operand[0], CONTEXT_REDUCE);
        join_reduction(s, id, s->b->tasks[id].level);
    } else if (n->kind == KILN__LOWERED_CUSTOM) {
        s->b->tasks[id].level = ready_operands(s, id, CONTEXT_OTHER);
        join_custom(s, id, s->b->tasks[id].level);
    } else {
        schedule_stored(s, id);
    }
}

kiln__plan_kernel *kiln__schedule_tasks(kiln__build *b, const kiln__list *tasks)
{
    kiln__plan_kernel *made = NULL;
    schedule s = {.b = b, .end = &made};
    s.ready = kiln__build_alloc(b, b->lowered_count * sizeof *s.ready);
    s.known = kiln__build_alloc(b, b->lowered_count);
    for (size_t k = 0; k < tasks->count; k++)
        schedule_task(&s, tasks->ids[k]);
    for (uint32_t id = 1; id < b->lowered_count; id++)
        b->tasks[id].recomputed =
            s.ready[id][CONTEXT_REDUCE] != 0 && s.ready[id][CONTEXT_REDUCE] <= b->tasks[id].level;
    return made;
}

bool kiln__inlined(const kiln__build *b, const kiln__plan_kernel *kernel, uint32_t low)
{
    const kiln__task *task = &b->tasks[low];
    const kiln__row_kernel *rows = b->row_parts[low].rows;
    if (!kiln__lowered_computed(&b->lowered[low]))
        return false;
    if (!b->stores[low].stored)
        return true;
    switch (kernel->kind) {
    case KILN__STEP_LOOP:
        return rows == NULL && !task->epilogue && !b->stores[low].cut &&
               task->level == kernel->level;
    case KILN__STEP_REDUCE:
        return task->kernel == kernel || task->recomputed;
    case KILN__STEP_ROW:
        return rows == kernel->rows || kiln__set_has(&kernel->rows->inside, low);
    case KILN__STEP_CUSTOM:
    case KILN__STEP_CUSTOM_REDUCE:
    case KILN__STEP_OPAQUE:
    case KILN__STEP_PARTS:
        break;
    }
    return false;
}
