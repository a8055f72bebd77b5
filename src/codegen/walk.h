/*
 * walk.h - the axes of a loop while a plan is being made. Private to src/codegen.
 *
 * A walk holds some of a loop's axes (all of them; or the kept, or the reduced ones of a reduction)
 * with the stride of every operand on each. The planners collect, sort and collapse walks.
 */
#ifndef KILN_CODEGEN_WALK_H
#define KILN_CODEGEN_WALK_H

#include "codegen/codegen.h"

/* Most operands: parameters, and numbers of elements. */
enum { KILN__WALK_MAX = KILN_PARAM_MAX + KILN__NUMBER_COUNT };

typedef struct kiln__walk {
    int rank; /* axis 0 is the slowest */
    int count; /* walking operands; element numbers that are used take part as the last ones */
    int64_t shape[KILN_RANK_MAX];
    int64_t stride[KILN__WALK_MAX][KILN_RANK_MAX]; /* bytes; of numbers: elements */
    int64_t begin[KILN__WALK_MAX]; /* bytes from an array's address to where its walk begins */
    uint8_t param[KILN__WALK_MAX]; /* which parameter an operand is; which kiln__numbering */
    uint8_t itemsize[KILN__WALK_MAX];
    bool output[KILN__WALK_MAX];  /* a parameter that results go to */
    bool written[KILN__WALK_MAX]; /* an output, or an input that lies or changes as one does */
    int index; /* position of the first number among the operands, or -1 */
} kiln__walk;

int64_t kiln__magnitude(int64_t v);

/* Stride of an operand on the loop's axis `axis`: 0 where it broadcasts. */
int64_t kiln__broadcast_stride(const kiln__operand *o, int rank, int axis);

/* Strides of the C-order index over the axes marked in `taken` (NULL: all); 0 on the others. */
void kiln__index_strides(int rank, const int64_t *shape, const bool *taken, int64_t *out);

/* Fill `w` with the axes of more than one index, of those marked in `taken` (NULL: all), and with
 * the arrays that are not raw. `index` holds the index's strides; NULL when nothing uses it. */
void kiln__walk_collect(kiln__walk *w, const kiln__definition *def, const kiln__operand *operands,
                        int rank, const int64_t *shape, const bool *taken, const int64_t *index);

/* Add a further number of that kind, with its strides on all of the loop's axes; `rank`, `shape` and
 * `taken` are those given to kiln__walk_collect(). */
void kiln__walk_add_number(kiln__walk *w, kiln__numbering kind, int rank, const int64_t *shape,
                           const bool *taken, const int64_t *strides);

/* How many neighbours an access has where rows, of one axis, begin anywhere and all operands that run
 * along them are aligned alike; 1 where they are not. Inputs that all rows share (KILN__ACCESS_COLUMN)
 * need not be. */
int kiln__walk_peel(const kiln__walk *keep, const kiln__walk *red, const kiln__operand *operands,
                    const kiln__variant *v);

/* Whether operand `k` is a number and no array. */
bool kiln__walk_is_number(const kiln__walk *w, int k);

/* Walk every axis from its other end. */
void kiln__walk_reverse(kiln__walk *w);

/* Whether operand `k` is an array that is only read. */
static inline bool kiln__walk_is_input(const kiln__walk *w, int k)
{
    return !kiln__walk_is_number(w, k) && !w->written[k];
}

/* The address at which operand `k` begins. What decides about alignment looks at this one. */
uintptr_t kiln__walk_begin(const kiln__walk *w, int k, const kiln__operand *operands);

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

/* An axis of one index moves nothing. */
void kiln__walk_still(kiln__walk *w);

/* The two halves of a call whose elements meet along axes: the axes that are kept, and the others. */
void kiln__walk_halves(const kiln__plan_request *q, kiln__walk *keep, kiln__walk *along);

/* How many elements one aligned access of at most `bytes` along the last axis of `inner` has, for every
 * operand that the variant reaches element by element (`written`: those that are written, too); 1
 * where one of them has no neighbours there. `outer` (may be NULL) has the further axes. That no access
 * straddles the end of an axis is the caller's business. */
int kiln__walk_vec(const kiln__walk *inner, const kiln__walk *outer, const kiln__operand *operands,
                   const kiln__variant *v, int bytes, bool written);

/* Bits of counts and offsets: 32 where all of both halves' fit a signed 32-bit integer, with room for
 * one block's overshoot, and so does `count`; on a cpu always 64. */
int kiln__walk_bits(const kiln__variant *v, const kiln__walk *keep, const kiln__walk *along,
                    int64_t count);

/* How many indices the axes have together. */
int64_t kiln__walk_size(const kiln__walk *w);

/* How operand `k` is accessed along the last axis of `inner`; `constant`: it moves along no axis. */
uint8_t kiln__walk_access(const kiln__walk *inner, int k, bool constant);

/* The axes of `keep`, then those of `along`, as the plan's: shapes, and the steps of all operands. */
void kiln__walk_join(const kiln__walk *keep, const kiln__walk *along, kiln__plan *plan);

/* Count accesses of the variant's `vec` elements along the plan's axis `axis`, for all operands. */
void kiln__walk_widen(const kiln__walk *w, int axis, kiln__plan *plan);

/* Load inputs through windows where several are views of one array and a window costs less. Fills in the
 * plan's shifts wherever addresses decide about it. The layout, sizes and dtypes must be chosen already. */
void kiln__window_choose(const kiln__walk *w, const kiln__definition *def,
                         const kiln__operand *operands, kiln__plan *plan);

/* How many tiles of windows each axis has, and whether a variant's tile can be; warps of a block side by
 * side (window.c). */
int kiln__window_across(const kiln__variant *v);
void kiln__window_walk(int units, kiln__plan *plan);
/* Rows of a plane that blocks which march have in shared memory of a window whose views are up to `down` rows
 * apart; and bytes of such a row, of views up to `along` elements apart. */
int kiln__ring_rows(const kiln__variant *v, int down);
int kiln__ring_row(const kiln__variant *v, int itemsize, int along);
bool kiln__window_fits(const kiln__definition *def, const kiln__variant *v);

/* Whether tiles of at most 32 neighbouring results would be more than a grid has blocks. Results of
 * their own threads (rows) then take fewer. */
bool kiln__walk_many_tiles(const kiln__walk *keep);

/* Threads of a row, a power of two up to `group`: as few as it takes to launch `outputs` rows in blocks
 * of `block` threads. */
int64_t kiln__group_that_fits(int64_t outputs, int64_t group, int64_t block);

/* Split `length` among `splits` or a little fewer, in multiples of `step`. Threads of the CPU take
 * chunks; blocks of a GPU take chunks (tiles) or steps in turn. (reduce_tile.c) */
void kiln__reduce_split(kiln__plan *plan, int64_t splits, int64_t length, int64_t step);

/* Plan a loop by tiles of two axes; false leaves the layout as it was. Then how many tiles each axis
 * has, and whether a variant's tile can be (transpose.c). */
bool kiln__transpose_choose(kiln__walk *w, const kiln__definition *def,
                            const kiln__operand *operands, kiln__variant *v);
void kiln__transpose_walk(const kiln__plan_request *q, kiln__plan *plan);
bool kiln__transpose_fits(const kiln__definition *def, const kiln__variant *v);

/* Plan a reduction by tiles of results where each input element is used often enough. False leaves
 * everything as it was. (reduce_tile.c) */
bool kiln__tile_choose(const kiln__plan_request *q, kiln__walk *keep, const kiln__walk *red,
                       kiln__plan *plan);
/* What is wrong with the tile of a variant, or with staged inputs of a variant that has no tile; NULL:
 * nothing. */
const char *kiln__tile_refuse(const kiln__definition *def, const kiln__variant *v);

/* a / b for positive numbers, rounded up. */
static inline int64_t kiln__divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t kiln__least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The least power of two that is not below `v`. */
static inline int64_t kiln__power_up(int64_t v)
{
    int64_t p = 1;
    while (p < v)
        p *= 2;
    return p;
}

#endif
