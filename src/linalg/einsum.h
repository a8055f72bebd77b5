/*
 * einsum.h - a sum of products by the names of its axes: what parsing and planning tell the execution. Private
 * to src/linalg.
 *
 *     einsum_parse.c   text > terms of labels, extents of labels
 *     einsum_plan.c    terms > which two are contracted, one pair after the other
 *     einsum.c         arrays by that plan
 */
#ifndef KILN_LINALG_EINSUM_H
#define KILN_LINALG_EINSUM_H

#include "linalg/internal.h"

/* Labels are numbers: capital letters, small letters, then the axes that "..." stands for. Their order is that
 * of axes of an implicit result. */
enum {
    KILN__EINSUM_LETTERS = 52,
    KILN__EINSUM_LABELS = KILN__EINSUM_LETTERS + KILN_RANK_MAX,
    KILN__EINSUM_TERMS = 32
};

typedef struct kiln__einsum_term {
    int count;
    uint8_t label[KILN_RANK_MAX]; /* of each axis */
} kiln__einsum_term;

typedef struct kiln__einsum {
    int count; /* operands */
    kiln__einsum_term term[KILN__EINSUM_TERMS], result;
    int64_t extent[KILN__EINSUM_LABELS];
} kiln__einsum;

/* Two terms of the list that is left, `a` before `b`; what they give stands at its end then. */
typedef struct kiln__einsum_step {
    int a, b;
    kiln__einsum_term left, right, made;
    double multiplications;
} kiln__einsum_step;

static inline kiln__uint128 kiln__einsum_bit(uint8_t label)
{
    return (kiln__uint128)1 << label;
}

static inline kiln__uint128 kiln__einsum_set(const kiln__einsum_term *term)
{
    kiln__uint128 set = 0;
    for (int k = 0; k < term->count; k++)
        set |= kiln__einsum_bit(term->label[k]);
    return set;
}

/* ERR_SYNTAX, ERR_SHAPE, ERR_ARGUMENT_COUNT. */
kiln_status kiln__einsum_parse(const char *subscripts, const kiln_array *const *arrays,
                               size_t count, kiln__einsum *out, kiln_error *err);

/* Fill steps[0 .. e->count - 2]. ERR_ARGUMENT for a step of too many axes. */
kiln_status kiln__einsum_plan(const kiln__einsum *e, kiln__einsum_step *steps, kiln_error *err);

/* A label as it is written: its letter, or "." for an axis of "...". */
char kiln__einsum_letter(uint8_t label);

#endif
