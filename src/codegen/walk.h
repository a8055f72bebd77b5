/*
 * walk.h - the axes of a loop while a plan is being made. Private to src/codegen.
 *
 * A walk is some of a loop's axes (all; or the kept ones, or the reduced ones of a reduction) with
 * the stride of every operand along each. Planners collect, sort and collapse walks. Operands are
 * numbered within a walk: first arrays that are not raw, then linear indices (kiln__numbering),
 * which are strided as arrays are. The last axis is the fastest.
 */
#ifndef KILN_CODEGEN_WALK_H
#define KILN_CODEGEN_WALK_H

#include "codegen/codegen.h"

enum { KILN__WALK_MAX = KILN_PARAM_MAX + KILN__NUMBER_COUNT }; /* the most operands */

typedef struct kiln__walk {
    int rank;
    int count; /* operands */
    int64_t shape[KILN_RANK_MAX];
    int64_t stride[KILN__WALK_MAX][KILN_RANK_MAX]; /* bytes; of indices: elements */
    int64_t begin[KILN__WALK_MAX]; /* bytes from an array's address to its first element in this
                                      walk */
    uint8_t param[KILN__WALK_MAX]; /* the parameter; of indices: the kiln__numbering */
    uint8_t itemsize[KILN__WALK_MAX];
    bool output[KILN__WALK_MAX];  /* an output of the definition */
    bool written[KILN__WALK_MAX]; /* an array that is written, or an input of `post`, which lies as
                                     outputs do */
    int index; /* the first operand that is an index, or -1 */
} kiln__walk;

/* The absolute value of a stride. */
int64_t kiln__magnitude(int64_t v);

/* The byte stride of an operand along the loop's axis `axis`; 0 where it is broadcast. */
int64_t kiln__broadcast_stride(const kiln__operand *o, int rank, int axis);

/* Give the strides of the C-order index over the axes marked in `taken` (NULL: all); 0 on others. */
void kiln__index_strides(int rank, const int64_t *shape, const bool *taken, int64_t *out);

/* Fill `w` with those axes marked in `taken` (NULL: all) that have more than one index, and with
 * all arrays that are not raw. `index` has the strides of the loop's `i`; NULL when it is not used. */
void kiln__walk_collect(kiln__walk *w, const kiln__definition *def, const kiln__operand *operands,
                        int rank, const int64_t *shape, const bool *taken, const int64_t *index);

/* Add an index of that kind with its strides on all of the loop's axes. `rank`, `shape` and `taken`
 * are those given to kiln__walk_collect(). */
void kiln__walk_add_number(kiln__walk *w, kiln__numbering kind, int rank, const int64_t *shape,
                           const bool *taken, const int64_t *strides);

/* Collect the kept axes, and those along which elements are combined, of a call. */
void kiln__walk_halves(const kiln__plan_request *q, kiln__walk *keep, kiln__walk *along);

/* Whether operand `k` is an index and no array. */
bool kiln__walk_is_number(const kiln__walk *w, int k);

/* Walk every axis from its other end. */
void kiln__walk_reverse(kiln__walk *w);

/* Whether operand `k` is an array that is only read. */
static inline bool kiln__walk_is_input(const kiln__walk *w, int k)
{
    return !kiln__walk_is_number(w, k) && !w->written[k];
}

/* The address of the first element of operand `k`, whose alignment counts. */
uintptr_t kiln__walk_begin(const kiln__walk *w, int k, const kiln__operand *operands);

/* Exchange axes `a` and `b`. */
void kiln__walk_swap(kiln__walk *w, int a, int b);

/* Sort the axes so that strides fall towards the last axis. The strides of outputs decide first
 * (`outputs_first`: in loops, where scattered stores cost most), or those of inputs (in reductions,
 * which store little). Axes that no operand distinguishes keep their order. */
void kiln__walk_sort(kiln__walk *w, bool outputs_first);

/* Merge neighbouring axes that every operand walks as one; at least one axis is left. */
void kiln__walk_collapse(kiln__walk *w);

/* Whether neighbours along `axis` are contiguous in operand `k`, or one element serves the whole
 * axis. */
bool kiln__walk_dense(const kiln__walk *w, int k, int axis);
/* Whether one element of operand `k` serves all of the walk's axes. */
bool kiln__walk_constant(const kiln__walk *w, int k);

/* The bytes between the first and the last element of operand `k` that the walk touches. */
int64_t kiln__walk_reach(const kiln__walk *w, int k);

/* Set the strides along axes of extent 1 to 0. */
void kiln__walk_still(kiln__walk *w);

/* The number of elements that the axes have together. */
int64_t kiln__walk_size(const kiln__walk *w);

/* The kiln__access of operand `k` along the last axis of `inner`. `constant`: one element serves
 * all of the call's axes. */
uint8_t kiln__walk_access(const kiln__walk *inner, int k, bool constant);

/* How many elements an aligned access of at most `bytes` along the last axis of `inner` can have,
 * for all operands that the variant accesses element by element (of those that are written, only if
 * `written`); 1 where one of them is not contiguous there. `outer` (may be NULL) has the other
 * axes. Whether the axis's extent is a multiple of the result is for the caller to check. */
int kiln__walk_vec(const kiln__walk *inner, const kiln__walk *outer, const kiln__operand *operands,
                   const kiln__variant *v, int bytes, bool written);

/* How many elements an aligned access has in rows that begin at any address, where all operands
 * with an element of their own for each element of the rows begin at the same place modulo an
 * access; else 1. Inputs that all rows share (KILN__ACCESS_COLUMN) may begin elsewhere. */
int kiln__walk_peel(const kiln__walk *keep, const kiln__walk *red, const kiln__operand *operands,
                    const kiln__variant *v);

/* The width in bits of element counts and byte offsets: 32 where `count` and those of both walks
 * fit a signed 32-bit integer, with what a block may add at the end; else, and always on the cpu,
 * 64. */
int kiln__walk_bits(const kiln__variant *v, const kiln__walk *keep, const kiln__walk *along,
                    int64_t count);

/* Make the axes of `keep`, then those of `along`, the plan's: its ranks, shapes and steps. */
void kiln__walk_join(const kiln__walk *keep, const kiln__walk *along, kiln__plan *plan);

/* Make the plan's axis `axis` count accesses of the variant's `vec` elements. */
void kiln__walk_widen(const kiln__walk *w, int axis, kiln__plan *plan);

/* ---- windows (window.c) ---- */

/* Choose windows for inputs that are views of one array, where that costs less than loading each of
 * them. Fills in the plan's shifts wherever addresses decide. Layout, sizes and dtypes must be
 * known. */
void kiln__window_choose(const kiln__walk *w, const kiln__definition *def,
                         const kiln__operand *operands, kiln__plan *plan);
/* Set plan->walk to the number of tiles along each axis. */
void kiln__window_walk(int units, kiln__plan *plan);
/* Whether a variant with this layout is one that a kernel can be generated for. */
bool kiln__window_is_valid(const kiln__definition *def, const kiln__variant *v);
/* The warps of a block that lie side by side. */
int kiln__window_across(const kiln__variant *v);
/* Of blocks that keep planes in shared memory: the rows of a plane, where views are up to `down`
 * rows apart, and the bytes of such a row, where they are up to `along` elements apart. */
int kiln__ring_rows(const kiln__variant *v, int down);
int kiln__ring_row(const kiln__variant *v, int itemsize, int along);

/* ---- copies (copies.c) ---- */

/* Choose words of 16 bytes for a kernel whose outputs are inputs, where its arrays allow narrow accesses only. `flags`
 * are the call's. */
void kiln__words_choose(const kiln__walk *w, const kiln__definition *def, unsigned flags, kiln__variant *v);
/* Whether a variant that is made of words is one that a kernel can be generated for. */
bool kiln__words_are_valid(const kiln__definition *def, const kiln__variant *v);
/* The words of the lines of memory that a row may lie in, wherever it begins. */
int64_t kiln__words_of_row(int64_t elements, int item);

/* ---- transposes (transpose.c) ---- */

/* Plan a loop by tiles of two axes. Returns false, and leaves the layout as it was, where it
 * cannot. */
bool kiln__transpose_choose(kiln__walk *w, const kiln__definition *def,
                            const kiln__operand *operands, kiln__variant *v);
/* Set plan->walk to the number of tiles along each axis. */
void kiln__transpose_walk(const kiln__plan_request *q, kiln__plan *plan);
/* Whether a variant with this layout is one that a kernel can be generated for. */
bool kiln__transpose_is_valid(const kiln__definition *def, const kiln__variant *v);

/* ---- families that combine elements ---- */

/* Whether a CUDA grid has too few blocks for a block for each 32 neighbouring results. Layout
 * `columns` cannot be used then. */
bool kiln__walk_exceeds_grid(const kiln__walk *keep);

/* The most threads of a row, a power of two up to `group`, with which a CUDA grid of blocks of
 * `block` threads has room for `outputs` rows. */
int64_t kiln__group_within_grid(int64_t outputs, int64_t group, int64_t block);

/* Split `length` among `splits` or a few less, in multiples of `step`, and fill in the plan's
 * words. Threads of the cpu take a chunk each; blocks of a GPU take chunks (layout `tile`) or every
 * nth step. (reduce_tile.c) */
void kiln__reduce_split(kiln__plan *plan, int64_t splits, int64_t length, int64_t step);

/* Plan a reduction by tiles of results, where each input element is used often enough. Returns
 * false, and changes nothing, where it is not. (reduce_tile.c) */
bool kiln__tile_choose(const kiln__plan_request *q, kiln__walk *keep, const kiln__walk *red,
                       kiln__plan *plan);
/* What is wrong with a variant's tile, or with staged inputs of a variant without a tile; NULL:
 * nothing. */
const char *kiln__tile_refuse(const kiln__definition *def, const kiln__variant *v);

/* ---- arithmetic ---- */

/* a / b, rounded up, for a >= 0 and b > 0. */
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
