/*
 * einsum_plan.c - in which order an einsum contracts its operands: pairs, one after the other.
 *
 * Each step takes the pair whose result has the fewest elements more than its operands have (mostly fewer);
 * among equals the one with fewer multiplications, then the first. That is the rule which opt_einsum calls
 * greedy; it looks at each pair once a step.
 */
#include "linalg/einsum.h"

/* The number of elements of an array with these labels. */
static double size_of(const kiln__einsum *e, kiln__uint128 set)
{
    double size = 1;

    for (uint8_t label = 0; label < KILN__EINSUM_LABELS; label++)
        if ((set & kiln__einsum_bit(label)) != 0)
            size *= (double)e->extent[label];
    return size;
}

/* The labels of `set` that are needed behind a step on terms a and b. */
static kiln__uint128 kept_labels(const kiln__einsum *e, const kiln__einsum_term *terms, int count,
                                 int a, int b)
{
    kiln__uint128 needed = kiln__einsum_set(&e->result);

    for (int t = 0; t < count; t++)
        if (t != a && t != b)
            needed |= kiln__einsum_set(&terms[t]);
    return needed & (kiln__einsum_set(&terms[a]) | kiln__einsum_set(&terms[b]));
}

/* The result of a step: labels of both terms first, then those of the left one, then the right one's. False
 * where those are more than an array has axes. */
static bool list_made(kiln__einsum_step *step, kiln__uint128 kept)
{
    const kiln__uint128 left = kiln__einsum_set(&step->left),
                        right = kiln__einsum_set(&step->right);
    const struct {
        const kiln__einsum_term *term;
        kiln__uint128 wanted;
    } parts[] = {
        {&step->left, left & right}, {&step->left, left & ~right}, {&step->right, right & ~left}};

    step->made.count = 0;
    for (size_t part = 0; part < KILN_COUNT_OF(parts); part++) {
        kiln__uint128 wanted = parts[part].wanted & kept;
        for (int k = 0; k < parts[part].term->count; k++) {
            const uint8_t label = parts[part].term->label[k];
            if ((wanted & kiln__einsum_bit(label)) == 0)
                continue;
            if (step->made.count == KILN_RANK_MAX)
                return false;
            step->made.label[step->made.count++] = label;
            wanted &= ~kiln__einsum_bit(label); /* a diagonal names it twice */
        }
    }
    return true;
}

kiln_status kiln__einsum_plan(const kiln__einsum *e, kiln__einsum_step *steps, kiln_error *err)
{
    kiln__einsum_term terms[KILN__EINSUM_TERMS];
    int count = e->count;

    memcpy(terms, e->term, (size_t)count * sizeof terms[0]);
    for (kiln__einsum_step *step = steps; count > 1; step++) {
        double best = 0, best_cost = 0;
        bool found = false;
        for (int a = 0; a < count; a++)
            for (int b = a + 1; b < count; b++) {
                const kiln__uint128 left = kiln__einsum_set(&terms[a]);
                const kiln__uint128 right = kiln__einsum_set(&terms[b]);
                const double growth = size_of(e, kept_labels(e, terms, count, a, b)) -
                                      size_of(e, left) - size_of(e, right);
                const double cost = size_of(e, left | right);
                if (found && (growth > best || (growth == best && cost >= best_cost)))
                    continue;
                *step = (kiln__einsum_step){.a = a, .b = b, .multiplications = cost};
                best = growth;
                best_cost = cost;
                found = true;
            }
        step->left = terms[step->a];
        step->right = terms[step->b];
        if (!list_made(step, kept_labels(e, terms, count, step->a, step->b)))
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "einsum: a product of two operands has more than %d axes",
                              KILN_RANK_MAX);
        memmove(&terms[step->b], &terms[step->b + 1],
                (size_t)(count - step->b - 1) * sizeof terms[0]);
        memmove(&terms[step->a], &terms[step->a + 1],
                (size_t)(count - step->a - 2) * sizeof terms[0]);
        terms[count - 2] = step->made;
        count--;
    }
    return KILN_OK;
}
