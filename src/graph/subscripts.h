/*
 * subscripts.h - subscripts of nodes: what recording functions and expressions share. Private to
 * src/graph.
 */
#ifndef KILN_GRAPH_SUBSCRIPTS_H
#define KILN_GRAPH_SUBSCRIPTS_H

#include "kiln/indexing.h"

enum { KILN__SUBSCRIPTS_MAX = 64 };

typedef struct kiln__subscript {
    kiln_subscript_kind kind;
    int64_t number[3]; /* index; or start, stop, step */
    kiln_node node;    /* indices */
    int line;          /* where it stands */
    const struct kiln__parsed *mask; /* of expressions; not NULL: a mask, or a vector of indices whose length only the
                                        device knows, and the rest is not looked at */
} kiln__subscript;

/* x[list], of which at most one is an ellipsis. (subscripts.c) */
kiln_node kiln__index_nodes(kiln_node x, const kiln__subscript *list, size_t count,
                            kiln_index_mode mode, const char *file, int line);

/* Whether something stands between two index arrays, be it an empty `...`. */
bool kiln__are_apart(const kiln__subscript *list, size_t count);

/* ---- record.c ---- */

/* A gather; `kind` as KILN__GATHER_KIND tells. */
kiln_node kiln__node_gather(kiln_node x, const kiln_node *indices, const int *axes, size_t count,
                            kiln_index_mode mode, int kind, const char *file, int line);
/* Keep an error in the graph of `x`. */
kiln_node kiln__node_fault(kiln_node x, kiln_status status, const char *what, const char *file,
                           int line, const char *text);

#endif
