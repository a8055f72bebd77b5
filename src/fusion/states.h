/*
 * states.h - the reductions of one pass (members) and their accumulators (states). Private to
 * src/fusion; states.c implements it and explains the words.
 */
#ifndef KILN_FUSION_STATES_H
#define KILN_FUSION_STATES_H

#include "fusion/build.h"

/* The most reductions of one pass, and of those considered for one row program. */
enum { KILN__MEMBERS_MAX = 24 };

/* One reduction of a pass. */
typedef struct kiln__member {
    const kiln__lowered *low;
    uint32_t id;
    const kiln__form *form; /* how it is computed from the pass's states */
    size_t state;           /* the number of the state that its result is read from */
    bool first;             /* no member before it has that state */
} kiln__member;

/* Find the forms of every reduction (b->forms). */
void kiln__find_forms(kiln__build *b);

/* The members of a pass of these reductions; the list is in the arena. */
const kiln__member *kiln__read_members(kiln__build *b, const uint32_t *ids, size_t count);
size_t kiln__state_count(const kiln__member *members, size_t count);
/* An upper bound of the bytes of all states together. */
size_t kiln__state_bytes(const kiln__member *members, size_t count);

/* How many states a pass of these reductions, at most KILN__MEMBERS_MAX, keeps; SIZE_MAX when they
 * take more than KILN__PASS_BYTES_MAX bytes. */
size_t kiln__pass_states(const kiln__build *b, const uint32_t *ids, size_t count);

#endif
