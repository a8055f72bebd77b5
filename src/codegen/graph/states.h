/*
 * states.h - the members of one pass and the states they keep. Private to src/codegen/graph.
 */
#ifndef KILN_CODEGEN_GRAPH_STATES_H
#define KILN_CODEGEN_GRAPH_STATES_H

#include "codegen/graph/build.h"

/* One reduction of a pass, with texts from the table of named reductions. */
typedef struct kiln__member {
    const kiln__low *low;
    uint32_t id;
    kiln_dtype from; /* of the elements */
    const char *type, *map, *reduce, *post, *identity;
    size_t state; /* which of the pass's states it is had from, counted from 0 */
    bool first;   /* no member before it has that state */
} kiln__member;

kiln__member *kiln__read_members(kiln__build *b, const uint32_t *ids, size_t count);
size_t kiln__state_count(const kiln__member *members, size_t count);

/* Whether these reductions can share a pass: their states are few enough, and fit into what a kernel
 * hands from block to block. */
bool kiln__fits_pass(kiln__build *b, const uint32_t *ids, size_t count, size_t states_max);

#endif
