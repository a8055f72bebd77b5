/*
 * walk.h - the axes of a loop while a plan is being made. Private to src/codegen.
 *
 * A walk holds some of a loop's axes (all of them; or the kept, or the reduced ones of a reduction)
 * with the stride of every operand on each. The planners collect, sort and collapse walks.
 */
#ifndef KILN_CODEGEN_WALK_H
#define KILN_CODEGEN_WALK_H

#include "codegen/codegen.h"

typedef struct kiln__walk {
    int rank; /* axis 0 is the slowest */
    int count; /* walking operands; the C-order index takes part as the last one when it is used */
    int64_t shape[KILN_RANK_MAX];
    int64_t stride[KILN_PARAM_MAX + 1][KILN_RANK_MAX]; /* bytes; of the index: elements */
    uint8_t param[KILN_PARAM_MAX + 1];                 /* which parameter an operand is */
    uint8_t itemsize[KILN_PARAM_MAX + 1];
    bool written[KILN_PARAM_MAX + 1];
    int index; /* position of the index among the operands, or -1 */
} kiln__walk;

/* A planner's number, which a build with -DKILN_TUNING lets the environment replace: how better
 * ones are looked for on a GPU. */
int kiln__tuned(const char *name, int value);

int64_t kiln__magnitude(int64_t v);

/* Stride of an operand on the loop's axis `axis`: 0 where it broadcasts. */
int64_t kiln__broadcast_stride(const kiln__operand *o, int rank, int axis);

/* Strides of the C-order index over the axes marked in `taken` (NULL: all); 0 on the others. */
void kiln__index_strides(int rank, const int64_t *shape, const bool *taken, int64_t *out);

/* Fill `w` with the axes of more than one index, of those marked in `taken` (NULL: all), and with
 * the arrays that are not raw. `index` holds the index's strides; NULL when nothing uses it. */
void kiln__walk_collect(kiln__walk *w, const kiln__definition *def, const kiln__operand *operands,
                        int rank, const int64_t *shape, const bool *taken, const int64_t *index);

void kiln__walk_swap(kiln__walk *w, int a, int b);

/* Fastest axis last. Outputs are asked first for loops (scattered stores cost most), inputs first
 * for reductions (which store little). Axes that no operand tells apart keep their order. */
void kiln__walk_sort(kiln__walk *w, bool outputs_first);

/* Merge neighbours that every operand walks as one; at least one axis is left. */
void kiln__walk_collapse(kiln__walk *w);

/* Whether operand `k` steps by neighbours, or not at all, on `axis`; and whether it never moves. */
bool kiln__walk_dense(const kiln__walk *w, int k, int axis);
bool kiln__walk_constant(const kiln__walk *w, int k);

/* Bytes between the first and the last element that operand `k` touches. */
int64_t kiln__walk_reach(const kiln__walk *w, int k);

#endif
