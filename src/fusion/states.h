/*
 * states.h - the members of one pass and the states they keep. Private to src/fusion.
 */
#ifndef KILN_FUSION_STATES_H
#define KILN_FUSION_STATES_H

#include "fusion/build.h"

/* Most reductions of one pass, or that are looked at for one row program. */
enum { KILN__MEMBERS_MAX = 24 };

/* One reduction of a pass. */
typedef struct kiln__member {
    const kiln__lowered *low;
    uint32_t id;
    const kiln__form *form; /* how it is computed from the pass's states */
    size_t state;           /* which of them it is had from, counted from 0 */
    bool first;             /* no member before it has that state */
} kiln__member;

/* Give every reduction its forms. */
void kiln__find_forms(kiln__build *b);

const kiln__member *kiln__read_members(kiln__build *b, const uint32_t *ids, size_t count);
size_t kiln__state_count(const kiln__member *members, size_t count);
/* Bytes of the states together, from above. */
size_t kiln__state_bytes(const kiln__member *members, size_t count);

/* How many states a pass of these reductions keeps, at most KILN__MEMBERS_MAX of them. SIZE_MAX
 * when they do not fit into what a kernel hands from block to block. */
size_t kiln__pass_states(const kiln__build *b, const uint32_t *ids, size_t count);

#endif
