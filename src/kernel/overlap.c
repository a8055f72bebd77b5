/*
 * overlap.c - outputs that share memory with inputs.
 *
 * A loop is right if no thread writes an element that another thread still has to read. One array
 * may be input and output with the same layout: the thread that writes an element has read it
 * before. In all other cases of shared memory the input is copied first. Comparing the bounds of
 * memory decides nearly always; the exact test is made only where these meet. A raw input may be
 * read anywhere, so it is copied even if it is the output itself. run.c, launch.c and lists.c ask
 * this file.
 *
 * Raw outputs, and raw inputs that are declared to be written, are left to the snippet.
 *
 * Tests: test_array_ops, test_elementwise_layout.
 */
#include "kernel/kernel.h"

typedef struct span {
    uintptr_t low, high;
} span;

static span span_of(const kiln__recipe *recipe, const kiln__bound *bound, size_t p)
{
    uintptr_t at = (uintptr_t)bound->array[p]->data;
    return (span){at + (uintptr_t)recipe->args[p].low, at + (uintptr_t)recipe->args[p].high};
}

static bool same_elements(const kiln_array *a, const kiln_array *b)
{
    return a->data == b->data && a->layout == b->layout && a->dtype == b->dtype &&
           a->rank == b->rank &&
           memcmp(a->shape, b->shape, 2 * (size_t)a->rank * sizeof a->shape[0]) == 0;
}

static bool takes_part(const kiln__definition *d, const kiln__bound *bound, size_t p)
{
    const kiln__param *param = &d->params[p];
    return bound->array[p] != NULL && !(param->raw && (param->output || param->writable));
}

kiln_status kiln__overlap_check(const kiln__kernel *op, const kiln__recipe *recipe,
                                const kiln__bound *bound, bool *copy_out, bool *any_copy,
                                kiln_error *err)
{
    const kiln__definition *d = op->def;
    span spans[KILN_PARAM_MAX];
    uint8_t taking[KILN_PARAM_MAX]; /* those that may share memory: numbers need no second look */
    size_t count = 0;

    *any_copy = false;
    for (size_t p = 0; p < d->param_count; p++)
        if (takes_part(d, bound, p) && !bound->fresh[p]) {
            spans[count] = span_of(recipe, bound, p);
            taking[count++] = (uint8_t)p;
        }
    for (size_t k = 0; k < count; k++) {
        const size_t w = taking[k];
        const span written = spans[k];
        for (size_t j = 0; j < k && w >= d->input_count; j++) {
            const size_t p = taking[j];
            const span other = spans[j];
            if (other.high <= written.low || written.high <= other.low)
                continue;
            const bool output = p >= d->input_count;
            if ((!output && !d->params[p].raw && d->family->in_place &&
                 same_elements(bound->array[p], bound->array[w])) ||
                !kiln__array_overlap(bound->array[p], bound->array[w]))
                continue;
            if (output)
                return kiln__fail(err, KILN_ERR_OVERLAP,
                                  "kernel \"%s\": outputs `%s` and `%s` share memory", d->name,
                                  d->params[p].name, d->params[w].name);
            copy_out[p] = true;
            *any_copy = true;
        }
    }
    return KILN_OK;
}
