/*
 * expression.h - lines of kind "expression", and what they share with all others: where kernels go.
 * Private to src/warm.
 */
#ifndef KILN_WARM_EXPRESSION_H
#define KILN_WARM_EXPRESSION_H

#include "graph/graph.h"
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

/* kiln__warm_expand() of an expression for a backend or, where `target` is not NULL, kiln__warm_expand_runs(). `err` is
 * not NULL; its message has file, line and column. */
kiln_status kiln__expand_expression(const kiln__manifest_entry *entry, kiln_backend backend,
                                    const kiln__target *target, kiln__warm_fn fn, void *user,
                                    kiln_error *err);

/* ---- dry_run.c ---- */

/* An expression and how it is called. */
typedef struct kiln__dry_run_request {
    const char *text, *name;  /* `name` may be NULL */
    const char *const *names; /* of the inputs, as the parser is told of them */
    const kiln__graph_arg *inputs;
    size_t input_count;
    bool wide;
    const kiln__target *target;
} kiln__dry_run_request;

/* Run it on devices of the target of every size, which compute nothing, and tell of all kernels that it needs; of one
 * kernel many times. */
kiln_status kiln__dry_run(const kiln__dry_run_request *request, const kiln__needs *needs,
                          kiln_error *err);

#endif
