/*
 * expression.h - lines of kind "expression". Private to src/warm.
 */
#ifndef KILN_WARM_EXPRESSION_H
#define KILN_WARM_EXPRESSION_H

#include "warm/warm.h"

/* kiln__warm_expand() of an expression. `err` is not NULL; its message has file, line and column. */
kiln_status kiln__expand_expression(const kiln__manifest_entry *entry, kiln_backend backend,
                                    kiln__warm_fn fn, void *user, kiln_error *err);

#endif
