/*
 * subscripts.h - subscripts of nodes: what recording functions (kiln_node_index) and expressions
 * (x[...]) share. Private to src/graph; subscripts.c implements it.
 */
#ifndef KILN_GRAPH_SUBSCRIPTS_H
#define KILN_GRAPH_SUBSCRIPTS_H

#include "kiln/indexing.h"

enum { KILN__SUBSCRIPTS_MAX = 64 };

typedef struct kiln__subscript {
    kiln_subscript_kind kind;
    int64_t number[3]; /* index; or start, stop, step */
    kiln_node node;    /* indices */
    int line;          /* the line with which its nodes are recorded */
    const struct kiln__parsed *mask; /* expressions: a mask, or indices whose number only the device
                                        knows; the other members are then not read. Else NULL */
} kiln__subscript;

/* Record x[list]; at most one item is an ellipsis. (subscripts.c) */
kiln_node kiln__index_nodes(kiln_node x, const kiln__subscript *list, size_t count,
                            kiln_index_mode mode, const char *file, int line);

/* Whether something stands between two index arrays, be it an empty `...`. */
bool kiln__are_apart(const kiln__subscript *list, size_t count);

/* ---- record.c ---- */

/* Record a gather; `kind` is KILN__GATHER_TOGETHER, _APART or _ALONG. */
kiln_node kiln__node_gather(kiln_node x, const kiln_node *indices, const int *axes, size_t count,
                            kiln_index_mode mode, int kind, const char *file, int line);
/* Record an error in the graph of `x`, and return a faulty node. */
kiln_node kiln__node_fault(kiln_node x, kiln_status status, const char *what, const char *file,
                           int line, const char *text);

#endif
