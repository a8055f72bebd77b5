/*
 * expression.h - lines of kind "expression", and what they share with all others: where kernels go.
 * Private to src/warm.
 */
#ifndef KILN_WARM_EXPRESSION_H
#define KILN_WARM_EXPRESSION_H

#include "warm/warm.h"

/* Where the kernels of an entry go, each once. */
typedef struct kiln__outlet {
    kiln__warm_fn fn;
    void *user;
    kiln_error *err;
    kiln__map done; /* what was handed out, by what tells it from others; the caller clears it */
} kiln__outlet;

/* Hand a kernel out, unless one with the same `bytes` of `identity` was. (outlet.c) */
kiln_status kiln__hand_out(kiln__outlet *to, const void *identity, size_t bytes,
                           const kiln__definition *def, const kiln__variant *variant);

/* kiln__warm_expand() of an expression, or, where `left_out` is not NULL, kiln__warm_left_out(), which
 * calls no `fn`. `err` is not NULL; its message has file, line and column. */
kiln_status kiln__expand_expression(const kiln__manifest_entry *entry, kiln_backend backend,
                                    kiln__warm_fn fn, void *user, kiln__warm_left *left_out,
                                    kiln_error *err);

#endif
