/*
 * plan.c - what is kept in memory, and which kernel computes it.
 *
 *     lower > [plan] > text > program
 *
 * Kernels on this path move bytes for a living: arithmetic is nearly free, memory is not. So
 * everything is computed where it is used, again if need be, and stored only
 *
 *     - when it is an output, or the result of a reduction;
 *     - before it is spread over a larger space, when it came from a reduction (the reduction's own
 *       kernel then finishes it) or when it is dear (a function of a row's vector, spread over all
 *       rows);
 *     - when a kernel would otherwise become too large.
 *
 * Each stored value gets a level, one more than that of any stored value its kernel has to read.
 * Kernels of one level do not depend on one another, so loops over the same shape are merged, and so
 * are reductions of the same axes of the same shape: the merged graph cannot have a cycle. A loop
 * that computes a stored value of its own level at the same index uses it from its register.
 */
#include "codegen/graph/states.h"

/* Contexts of kiln__low.ready: within a loop at the same index; at another index, where what is
 * stored must be read; within a reduction. */
enum { CONTEXT_SAME, CONTEXT_OTHER, CONTEXT_REDUCE };

enum {
    WEIGHT_CALL = 10,        /* a function, against 1 for arithmetic */
    WEIGHT_MAX = 1 << 20,
    SPREAD_WEIGHT = 10,      /* what is dear enough to be stored before it is spread ... */
    SPREAD_ELEMENTS = 1 << 16, /* ... over this many more elements */
    AGAIN_WEIGHT = 60,       /* too dear to be computed again by a reduction */
    STATES_MAX = 6           /* what a pass accumulates */
};

void kiln__plan_list(kiln__build *b, uint32_t **list, size_t *count, size_t *room, uint32_t id)
{
    if (*count == *room) {
        const size_t larger = *room == 0 ? 8 : 2 * *room;
        uint32_t *moved = kiln__build_alloc(b, larger * sizeof *moved);
        if (*count > 0)
            memcpy(moved, *list, *count * sizeof *moved);
        *list = moved;
        *room = larger;
    }
    (*list)[(*count)++] = id;
}

uint32_t kiln__behind(const kiln__build *b, uint32_t low)
{
    while (b->lows[low].kind == KILN__LOW_LENS)
        low = b->lows[low].operand[0];
    return low;
}

/* ---- facts ------------------------------------------------------------------------------------------- */

static void mark_needed(kiln__build *b)
{
    for (uint32_t k = 0; k < b->ir->output_count; k++)
        b->lows[b->outputs[k]].needed = true;
    for (uint32_t id = b->low_count; id-- > 1;)
        for (uint32_t k = 0; b->lows[id].needed && k < b->lows[id].operand_count; k++)
            b->lows[b->lows[id].operand[k]].needed = true;
}

/* Whether an expression calls a function of mathematics: a word in lower case before a bracket. */
static bool calls(const char *expression)
{
    for (const char *c = expression; *c != '\0'; c++)
        if (c[0] == '(' && c > expression && c[-1] >= 'a' && c[-1] <= 'z')
            return true;
    return false;
}

static int own_weight(const kiln__low *n)
{
    if (n->of_numbers) /* the same for all elements: a compiler computes it once */
        return 0;
    if (n->kind == KILN__LOW_EXPR)
        return calls(n->loop.expression) ? WEIGHT_CALL : 1;
    if (n->kind == KILN__LOW_SNIPPET)
        return kiln__snippet_loops(n->custom->def) ? AGAIN_WEIGHT + 1 : WEIGHT_CALL;
    return n->kind == KILN__LOW_CAST;
}

/* loads, reduces and weight of everything, operands first. */
static void gather_facts(kiln__build *b)
{
    for (uint32_t id = 1; id < b->low_count; id++) {
        kiln__low *n = &b->lows[id];
        n->weight = own_weight(n);
        n->dear = n->weight >= WEIGHT_CALL;
        n->loads = n->kind == KILN__LOW_LEAF || n->kind == KILN__LOW_IOTA ||
                   n->kind == KILN__LOW_RESHAPED || n->kind == KILN__LOW_CUSTOM;
        n->reduces = n->kind == KILN__LOW_REDUCE;
        n->arguments = n->kind != KILN__LOW_IOTA && n->kind != KILN__LOW_REDUCE &&
                       n->kind != KILN__LOW_RESHAPED && n->kind != KILN__LOW_CUSTOM &&
                       n->kind != KILN__LOW_STORE;
        if (!kiln__low_computed(n) && n->kind != KILN__LOW_LENS)
            continue;
        for (uint32_t k = 0; k < n->operand_count; k++) {
            const kiln__low *o = &b->lows[n->operand[k]];
            n->loads = n->loads || o->loads;
            n->reduces = n->reduces || o->reduces;
            n->arguments = n->arguments && o->arguments;
            if (n->weight < WEIGHT_MAX)
                n->weight += o->stored ? 0 : o->weight;
        }
    }
}

/* ---- what is stored ------------------------------------------------------------------------------------- */

/* `n` uses `v`, which is smaller, at each of its own elements. */
static bool worth_storing(const kiln__low *v, int64_t elements)
{
    if (!kiln__low_computed(v) || v->stored || v->weight == 0 || elements < 2 * v->size)
        return false;
    if (v->reduces && !v->loads)
        return true;
    return (v->loads || v->reduces) && v->weight >= SPREAD_WEIGHT &&
           elements - v->size >= SPREAD_ELEMENTS;
}

/* Mark what only row programs compute: they spread a row's results themselves. */
static void mark_row_uses(kiln__build *b)
{
    for (uint32_t id = 1; id < b->low_count; id++)
        b->lows[id].in_rows = b->lows[id].rows != NULL;
    for (uint32_t id = b->low_count; id-- > 1;) {
        const kiln__low *n = &b->lows[id];
        if (!n->needed || !n->in_rows)
            continue;
        for (uint32_t k = 0; k < n->operand_count; k++) {
            kiln__low *o = &b->lows[n->operand[k]];
            if ((kiln__low_computed(o) || o->kind == KILN__LOW_LENS) && !o->stored)
                o->in_rows = true;
        }
    }
}

static void store_spread(kiln__build *b)
{
    for (uint32_t id = b->low_count; id-- > 1;) {
        const kiln__low *n = &b->lows[id];
        if (!n->needed || n->in_rows ||
            (!kiln__low_computed(n) && n->kind != KILN__LOW_REDUCE))
            continue;
        for (uint32_t k = 0; k < n->operand_count; k++) {
            kiln__low *v = &b->lows[kiln__behind(b, n->operand[k])];
            int64_t elements = n->size;
            if (n->kind == KILN__LOW_REDUCE)
                elements = b->lows[n->operand[k]].size;
            if (worth_storing(v, elements))
                v->stored = true;
        }
    }
}

/* How often a result of a snippet, or of the same one, is used. */
static int uses_of(const kiln__build *b, const kiln__low *snippet)
{
    int uses = 0;
    for (uint32_t id = 1; id < b->low_count; id++)
        for (uint32_t k = 0; b->lows[id].needed && k < b->lows[id].operand_count; k++)
            uses += kiln__same_snippet(&b->lows[b->lows[id].operand[k]], snippet);
    return uses;
}

/* What must be stored: outputs, what custom kernels read, and what may cost any time to do again. */
static void choose_stored(kiln__build *b)
{
    for (uint32_t id = 1; id < b->low_count; id++) {
        kiln__low *n = &b->lows[id];
        if (!n->needed)
            continue;
        if (n->kind == KILN__LOW_STORE || (n->output >= 0 && kiln__low_computed(n)))
            n->stored = true;
        if (n->kind == KILN__LOW_SNIPPET && kiln__snippet_loops(n->custom->def) &&
            uses_of(b, n) > 1)
            n->stored = true;
        for (uint32_t k = 0; n->kind == KILN__LOW_CUSTOM && k < n->operand_count; k++) {
            kiln__low *o = &b->lows[kiln__behind(b, n->operand[k])];
            o->stored = o->stored || kiln__low_computed(o);
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------- */

static kiln__plan_kernel *new_kernel(kiln__build *b, kiln__step_kind kind, int level, int rank,
                                     int64_t *shape)
{
    kiln__plan_kernel *made = kiln__build_alloc(b, sizeof *made);
    kiln__plan_kernel **end = &b->kernels;
    made->kind = kind;
    made->level = level;
    made->rank = rank;
    made->shape = shape;
    while (*end != NULL)
        end = &(*end)->next;
    *end = made;
    return made;
}

/* How many loops of this level hold stored values that `id` uses from their registers, and one of
 * them. */
static int continued(kiln__build *b, uint32_t id, int level, bool *seen, kiln__plan_kernel **loop)
{
    const kiln__low *n = &b->lows[id];
    int count = 0;
    for (uint32_t k = 0; kiln__low_computed(n) && k < n->operand_count; k++) {
        const kiln__low *o = &b->lows[n->operand[k]];
        if (seen[n->operand[k]])
            continue;
        seen[n->operand[k]] = true;
        if (!o->stored)
            count += continued(b, n->operand[k], level, seen, loop);
        else if (o->level == level && !o->epilogue && !o->cut && o->rows == NULL &&
                 o->kernel != *loop) {
            *loop = o->kernel;
            count++;
        }
    }
    return count;
}

static bool takes(kiln__build *b, const kiln__plan_kernel *k, uint32_t id, int level)
{
    const kiln__low *n = &b->lows[id];
    return k->kind == KILN__STEP_LOOP && k->level == level && k->root_count < KILN__ROOTS_MAX &&
           kiln__same_shape(k->rank, k->shape, n->rank, n->shape) && kiln__kernel_fits(b, k, id);
}

/* Put a stored value into a loop of its level over its shape. Where the loop that it continues is
 * full, that is the next level, which reads what the loop has stored. */
static int join_loop(kiln__build *b, uint32_t id, int level)
{
    kiln__low *n = &b->lows[id];
    kiln__plan_kernel *k = NULL;
    int loops;
    while ((loops = continued(b, id, level, kiln__build_seen(b), &k)) > 0 &&
           (loops > 1 || !takes(b, k, id, level))) {
        level++;
        k = NULL;
    }
    if (loops == 0)
        for (k = b->kernels; k != NULL && !takes(b, k, id, level);)
            k = k->next;
    if (k == NULL)
        k = new_kernel(b, KILN__STEP_LOOP, level, n->rank, n->shape);
    kiln__plan_list(b, &k->roots, &k->root_count, &k->root_room, id);
    n->kernel = k;
    return level;
}

/* Whether a pass takes one more reduction. */
static bool joins_pass(kiln__build *b, const kiln__plan_kernel *k, uint32_t id)
{
    uint32_t ids[KILN__ROOTS_MAX + 1];
    if (k->member_count >= KILN__ROOTS_MAX)
        return false;
    memcpy(ids, k->members, k->member_count * sizeof *ids);
    ids[k->member_count] = id;
    return kiln__fits_pass(b, ids, k->member_count + 1, STATES_MAX);
}

static void join_reduction(kiln__build *b, uint32_t id, int level)
{
    kiln__low *n = &b->lows[id];
    kiln__plan_kernel *k = b->kernels;
    while (k != NULL &&
           !(k->kind == KILN__STEP_REDUCE && k->level == level &&
             kiln__same_shape(k->rank, k->shape, n->space_rank, n->space) &&
             memcmp(k->reduced, n->reduced, (size_t)k->rank * sizeof *k->reduced) == 0 &&
             joins_pass(b, k, id) && kiln__kernel_fits(b, k, id)))
        k = k->next;
    if (k == NULL) {
        k = new_kernel(b, KILN__STEP_REDUCE, level, n->space_rank, n->space);
        k->reduced = n->reduced;
    }
    kiln__plan_list(b, &k->members, &k->member_count, &k->member_room, id);
    n->kernel = k;
}

/* Results of one custom kernel over the same operands come from one launch. */
static void join_custom(kiln__build *b, uint32_t id, int level)
{
    kiln__low *n = &b->lows[id];
    kiln__plan_kernel *k = b->kernels;
    for (; k != NULL; k = k->next) {
        if (k->kind != KILN__STEP_CUSTOM && k->kind != KILN__STEP_CUSTOM_REDUCE)
            continue;
        const kiln__low *first = &b->lows[k->roots[0]];
        if (first->custom->kernel == n->custom->kernel && first->keepdims == n->keepdims &&
            memcmp(first->operand, n->operand, n->operand_count * sizeof *n->operand) == 0 &&
            (n->reduced == NULL ||
             memcmp(first->reduced, n->reduced, (size_t)n->space_rank * sizeof *n->reduced) == 0))
            break;
    }
    if (k == NULL) {
        k = new_kernel(b,
                       n->custom->def->family->maps ? KILN__STEP_CUSTOM_REDUCE : KILN__STEP_CUSTOM,
                       level, n->space_rank, n->space);
        k->reduced = n->reduced;
    }
    kiln__plan_list(b, &k->roots, &k->root_count, &k->root_room, id);
    n->kernel = k;
}

/* ---- levels --------------------------------------------------------------------------------------------- */

static int level_of(kiln__build *b, uint32_t id);

static int64_t leaf_bytes(kiln__build *b, uint32_t id, bool *seen)
{
    const kiln__low *n = &b->lows[id];
    int64_t bytes = 0;
    if (seen[id])
        return 0;
    seen[id] = true;
    if (n->kind == KILN__LOW_LENS || kiln__low_computed(n)) {
        for (uint32_t k = 0; k < n->operand_count; k++)
            bytes += leaf_bytes(b, n->operand[k], seen);
        return bytes;
    }
    return n->size * (int64_t)kiln_dtype_size(n->dtype);
}

/* Whether a reduction computes an output for itself rather than wait for it: when that reads no more
 * than the output has bytes. */
static bool again(kiln__build *b, uint32_t id)
{
    const kiln__low *n = &b->lows[id];
    if (n->output < 0 || n->kind == KILN__LOW_STORE || n->weight > AGAIN_WEIGHT || n->reduces)
        return false;
    return leaf_bytes(b, id, kiln__build_seen(b)) <= n->size * (int64_t)kiln_dtype_size(n->dtype);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int ready(kiln__build *b, uint32_t id, int context);

static int ready_operands(kiln__build *b, uint32_t id, int context)
{
    const kiln__low *n = &b->lows[id];
    int level = 1;
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__low *o = &b->lows[n->operand[k]];
        int inner = context;
        if (context == CONTEXT_SAME &&
            (n->kind == KILN__LOW_LENS || !kiln__same_shape(n->rank, n->shape, o->rank, o->shape)))
            inner = CONTEXT_OTHER;
        level = larger(level, ready(b, n->operand[k], inner));
    }
    return level;
}

/* The first level at which a kernel can compute, or read, a value. */
static int ready(kiln__build *b, uint32_t id, int context)
{
    kiln__low *n = &b->lows[id];
    if (n->ready[context] != 0)
        return n->ready[context];
    int level = 1;
    switch (n->kind) {
    case KILN__LOW_LEAF:
    case KILN__LOW_SCALAR:
    case KILN__LOW_CONST:
    case KILN__LOW_IOTA:
        break;
    case KILN__LOW_RESHAPED:
        level = level_of(b, n->operand[0]) + 1;
        break;
    case KILN__LOW_REDUCE:
    case KILN__LOW_CUSTOM:
        level = level_of(b, id) + 1;
        break;
    case KILN__LOW_LENS:
    case KILN__LOW_EXPR:
    case KILN__LOW_CAST:
    case KILN__LOW_SNIPPET:
    case KILN__LOW_STORE:
        if (!n->stored || (context == CONTEXT_REDUCE && again(b, id)))
            level = ready_operands(b, id, context);
        else {
            level = level_of(b, id); /* decides n->epilogue as well */
            level += context != CONTEXT_SAME || n->epilogue || n->cut || n->rows != NULL;
        }
        break;
    }
    n->ready[context] = level;
    return level;
}

/* ---- epilogues ---------------------------------------------------------------------------------------- */

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
static bool squeezes(const kiln__build *b, const kiln__low *lens)
{
    const kiln__low *o = &b->lows[lens->operand[0]];
    int last = -1;
    if (!same_squeezed(lens->rank, lens->shape, o->rank, o->shape))
        return false;
    for (int a = 0; a < o->rank; a++) {
        const kiln__axis_map m = lens->map[a];
        if (o->shape[a] == 1)
            continue;
        if (m.from <= last || m.start != 0 || m.step != 1)
            return false;
        last = m.from;
    }
    return true;
}

/* What a value is to the kernel of a reduction that might finish it. */
typedef enum finish {
    FINISH_OPEN,  /* not looked at yet */
    FINISH_NOT,   /* it cannot be had there */
    FINISH_READ,  /* it can, from numbers and from what is in memory by then */
    FINISH_RESULT /* it is made of the kernel's results, and has their shape */
} finish;

/* The kernel of the last reduction that an unstored expression is made of, or NULL. */
static kiln__plan_kernel *last_reduction(kiln__build *b, uint32_t id, bool root, bool *seen)
{
    const kiln__low *n = &b->lows[id];
    kiln__plan_kernel *last = NULL;
    if (seen[id])
        return NULL;
    seen[id] = true;
    if (n->kind == KILN__LOW_REDUCE && n->rows == NULL) {
        (void)level_of(b, id);
        return n->kernel;
    }
    if (!n->reduces || (n->kind != KILN__LOW_LENS && !kiln__low_computed(n)))
        return NULL;
    if (n->stored && !root) {
        (void)level_of(b, id);
        return n->epilogue ? n->kernel : NULL;
    }
    for (uint32_t k = 0; k < n->operand_count; k++) {
        kiln__plan_kernel *one = last_reduction(b, n->operand[k], false, seen);
        if (one != NULL && (last == NULL || one->level > last->level))
            last = one;
    }
    return last;
}

static finish finishes(kiln__build *b, uint32_t id, const kiln__plan_kernel *kernel, bool inside,
                       finish *known);

/* `inside`: the value is computed by the kernel, be it stored or not. */
static finish look_at(kiln__build *b, uint32_t id, const kiln__plan_kernel *kernel, bool inside,
                      finish *known)
{
    const kiln__low *n = &b->lows[id];
    finish all = FINISH_READ;
    switch (n->kind) {
    case KILN__LOW_CONST:
    case KILN__LOW_SCALAR:
    case KILN__LOW_LEAF:
        return FINISH_READ;
    case KILN__LOW_IOTA:
        return FINISH_NOT;
    case KILN__LOW_LENS:
        all = finishes(b, n->operand[0], kernel, false, known);
        return all == FINISH_RESULT && !squeezes(b, n) ? FINISH_NOT : all;
    case KILN__LOW_EXPR:
    case KILN__LOW_CAST:
    case KILN__LOW_SNIPPET:
    case KILN__LOW_STORE:
        if (n->stored && !inside) {
            (void)level_of(b, id);
            inside = n->epilogue && n->kernel == kernel;
        }
        if ((n->stored || n->rows != NULL) && !inside)
            break;
        for (uint32_t k = 0; k < n->operand_count && all != FINISH_NOT; k++) {
            const kiln__low *o = &b->lows[n->operand[k]];
            const finish one = finishes(b, n->operand[k], kernel, false, known);
            if (one == FINISH_NOT ||
                (one == FINISH_RESULT && !same_squeezed(n->rank, n->shape, o->rank, o->shape)))
                all = FINISH_NOT;
            else if (one == FINISH_RESULT)
                all = one;
        }
        return all;
    case KILN__LOW_REDUCE:
        if (n->rows == NULL && level_of(b, id) == kernel->level && n->kernel == kernel)
            return FINISH_RESULT;
        break;
    case KILN__LOW_RESHAPED:
    case KILN__LOW_CUSTOM:
        break;
    }
    return ready(b, id, CONTEXT_OTHER) <= kernel->level ? FINISH_READ : FINISH_NOT;
}

static finish finishes(kiln__build *b, uint32_t id, const kiln__plan_kernel *kernel, bool inside,
                       finish *known)
{
    if (known[id] == FINISH_OPEN)
        known[id] = look_at(b, id, kernel, inside, known);
    return known[id];
}

static int level_of_stored(kiln__build *b, uint32_t id)
{
    kiln__low *n = &b->lows[id];
    kiln__plan_kernel *kernel = n->c_order ? NULL : last_reduction(b, id, true, kiln__build_seen(b));
    if (kernel != NULL && kernel->root_count < KILN__ROOTS_MAX &&
        kiln__kernel_fits(b, kernel, id) &&
        finishes(b, id, kernel, true, kiln__build_alloc(b, b->low_count * sizeof(finish))) ==
            FINISH_RESULT) {
        n->epilogue = true;
        n->kernel = kernel;
        kiln__plan_list(b, &kernel->roots, &kernel->root_count, &kernel->root_room, id);
        return kernel->level;
    }
    return join_loop(b, id, ready_operands(b, id, CONTEXT_SAME));
}

static int level_of_rows(kiln__build *b, kiln__row_family *family);

static int level_of(kiln__build *b, uint32_t id)
{
    kiln__low *n = &b->lows[id];
    if (n->level != 0)
        return n->level;
    int level = 1;
    if (n->rows != NULL) {
        level = level_of_rows(b, n->rows);
    } else if (n->kind == KILN__LOW_REDUCE) {
        level = ready(b, n->operand[0], CONTEXT_REDUCE);
        join_reduction(b, id, level);
    } else if (n->kind == KILN__LOW_CUSTOM) {
        for (uint32_t k = 0; k < n->operand_count; k++)
            level = larger(level, ready(b, n->operand[k], CONTEXT_OTHER));
        join_custom(b, id, level);
    } else {
        level = level_of_stored(b, id);
    }
    n->level = level;
    return level;
}

/* The level of what a row program reads: everything beneath its members that is not of it. */
static int level_of_outside(kiln__build *b, const kiln__row_family *family, uint32_t id, bool *seen)
{
    const kiln__low *n = &b->lows[id];
    int level = 1;
    if (seen[id])
        return 1;
    seen[id] = true;
    if (n->rows != family && !family->inside[id])
        return ready(b, id, CONTEXT_OTHER);
    for (uint32_t k = 0; k < n->operand_count; k++)
        level = larger(level, level_of_outside(b, family, n->operand[k], seen));
    return level;
}

static int level_of_rows(kiln__build *b, kiln__row_family *family)
{
    if (family->level != 0)
        return family->level;
    if (family->busy)
        kiln__build_fail(b, 0, KILN_ERR_INTERNAL, "a row program depends on itself");
    family->busy = true;
    bool *seen = kiln__build_seen(b);
    int level = 1;
    for (size_t k = 0; k < family->low_count; k++)
        level = larger(level, level_of_outside(b, family, family->lows[k], seen));
    kiln__plan_kernel *k = new_kernel(b, KILN__STEP_ROW, level, family->sample->space_rank,
                                      family->sample->space);
    k->reduced = family->sample->reduced;
    k->rows = family;
    family->kernel = k;
    family->level = level;
    for (size_t l = 0; l < family->low_count; l++) {
        const uint32_t id = family->lows[l];
        kiln__low *n = &b->lows[id];
        n->kernel = k;
        n->level = level;
        if (n->kind == KILN__LOW_REDUCE)
            kiln__plan_list(b, &k->members, &k->member_count, &k->member_room, id);
        else
            kiln__plan_list(b, &k->roots, &k->root_count, &k->root_room, id);
    }
    return level;
}

bool kiln__inlined(const kiln__build *b, const kiln__plan_kernel *kernel, uint32_t low)
{
    const kiln__low *n = &b->lows[low];
    if (!kiln__low_computed(n))
        return false;
    if (!n->stored)
        return true;
    switch (kernel->kind) {
    case KILN__STEP_LOOP:
        return n->rows == NULL && !n->epilogue && !n->cut && n->level == kernel->level;
    case KILN__STEP_REDUCE:
        return n->kernel == kernel || (n->ready[CONTEXT_REDUCE] != 0 &&
                                       n->ready[CONTEXT_REDUCE] <= n->level);
    case KILN__STEP_ROW:
        return n->rows == kernel->rows || kernel->rows->inside[low];
    case KILN__STEP_CUSTOM:
    case KILN__STEP_CUSTOM_REDUCE:
        break;
    }
    return false;
}

/* ---- later is better ---------------------------------------------------------------------------------- */

/* Which inputs of the call lie beneath a low, as bits; the 64th stands for all that follow it. */
static uint64_t inputs_below(const kiln__build *b, uint32_t id, bool *seen)
{
    const kiln__low *n = &b->lows[id];
    uint64_t inputs = 0;
    if (seen[id])
        return 0;
    seen[id] = true;
    if (n->kind == KILN__LOW_LEAF)
        return n->size > 1 ? UINT64_C(1) << (n->arg < 63 ? n->arg : 63) : 0;
    for (uint32_t k = 0; (kiln__low_computed(n) || n->kind == KILN__LOW_LENS) && k < n->operand_count;
         k++)
        inputs |= inputs_below(b, n->operand[k], seen);
    return inputs;
}

static bool has_positions(const kiln__build *b, uint32_t id, bool *seen)
{
    const kiln__low *n = &b->lows[id];
    bool has = n->kind == KILN__LOW_IOTA;
    if (seen[id])
        return false;
    seen[id] = true;
    for (uint32_t k = 0; k < n->operand_count && !has; k++)
        has = has_positions(b, n->operand[k], seen);
    return has;
}

/* A later kernel over the same shape that reads some of the same inputs. Row programs know no
 * positions. */
static kiln__plan_kernel *later_kernel(kiln__build *b, const kiln__plan_kernel *from, uint32_t root)
{
    const uint64_t inputs = inputs_below(b, root, kiln__build_seen(b));
    const bool positions = has_positions(b, root, kiln__build_seen(b));
    for (kiln__plan_kernel *k = b->kernels; k != NULL; k = k->next) {
        uint64_t theirs = 0;
        if ((k->kind != KILN__STEP_LOOP && k->kind != KILN__STEP_ROW) || k->level <= from->level ||
            k->root_count == 0 || k->root_count >= KILN__ROOTS_MAX ||
            (k->kind == KILN__STEP_ROW && positions) ||
            !kiln__same_shape(k->rank, k->shape, from->rank, from->shape))
            continue;
        bool *seen = kiln__build_seen(b);
        for (size_t r = 0; r < k->root_count; r++)
            theirs |= inputs_below(b, k->roots[r], seen);
        if ((theirs & inputs) != 0 && kiln__kernel_fits(b, k, root))
            return k;
    }
    return NULL;
}

/* Results that nothing else needs are computed by a later kernel that reads their inputs anyway. */
static void move_later(kiln__build *b)
{
    bool *used = kiln__build_alloc(b, b->low_count * sizeof *used);
    for (uint32_t id = 1; id < b->low_count; id++)
        for (uint32_t k = 0; b->lows[id].needed && k < b->lows[id].operand_count; k++)
            used[b->lows[id].operand[k]] = true;
    for (kiln__plan_kernel **at = &b->kernels; *at != NULL;) {
        kiln__plan_kernel *k = *at;
        size_t left = 0;
        for (size_t r = 0; k->kind == KILN__STEP_LOOP && r < k->root_count; r++) {
            const uint32_t id = k->roots[r];
            kiln__plan_kernel *later =
                used[id] || b->lows[id].weight > AGAIN_WEIGHT ? NULL : later_kernel(b, k, id);
            if (later == NULL) {
                k->roots[left++] = id;
                continue;
            }
            kiln__plan_list(b, &later->roots, &later->root_count, &later->root_room, id);
            b->lows[id].kernel = later;
            b->lows[id].level = later->level;
            b->lows[id].rows = later->rows;
        }
        if (k->kind == KILN__STEP_LOOP)
            k->root_count = left;
        if (k->kind == KILN__STEP_LOOP && left == 0)
            *at = k->next;
        else
            at = &k->next;
    }
}

/* ---- the stage --------------------------------------------------------------------------------------- */

/* Order kernels by level; those of one level stay in the order they were made in. */
static void sort_kernels(kiln__build *b)
{
    kiln__plan_kernel *sorted = NULL, **end = &sorted;
    int levels = 0;
    for (const kiln__plan_kernel *k = b->kernels; k != NULL; k = k->next)
        levels = larger(levels, k->level);
    for (int level = 1; level <= levels; level++)
        for (kiln__plan_kernel **at = &b->kernels; *at != NULL;) {
            kiln__plan_kernel *k = *at;
            if (k->level != level) {
                at = &k->next;
                continue;
            }
            *at = k->next;
            k->next = NULL;
            *end = k;
            end = &k->next;
        }
    b->kernels = sorted;
}

void kiln__plan_program(kiln__build *b)
{
    mark_needed(b);
    gather_facts(b);
    choose_stored(b);
    kiln__find_rows(b);
    mark_row_uses(b);
    store_spread(b);
    kiln__cut_large(b);
    gather_facts(b); /* weights stop at what is stored */
    for (uint32_t id = 1; id < b->low_count; id++) {
        const kiln__low *n = &b->lows[id];
        if (n->needed && (n->stored || n->kind == KILN__LOW_REDUCE || n->kind == KILN__LOW_CUSTOM))
            (void)level_of(b, id);
    }
    move_later(b);
    sort_kernels(b);
}
