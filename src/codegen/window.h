/*
 * window.h - what window.c and window_march.c share. Private to src/codegen; window.c explains the
 * words.
 */
#ifndef KILN_CODEGEN_WINDOW_H
#define KILN_CODEGEN_WINDOW_H

#include "codegen/walk.h"

enum { KILN__WARP_THREADS = 32, KILN__WINDOW_WORD = 4 /* bytes */ };

/* The position of a view, in planes, rows and elements: from the root at first, then from the
 * corner of its window. */
typedef struct kiln__view {
    int window; /* its number; -1: the operand is not accessed by a window */
    int64_t behind, down, along;
} kiln__view;

/* Whether an operand is an array, and not the linear index `i`. */
static inline bool kiln__is_array(const kiln__walk *w, int k)
{
    return k != w->index;
}

static inline int64_t kiln__most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Let windows begin at multiples of so many bytes, and so have more columns at the left. False
 * where one would become too wide. */
bool kiln__window_align(const kiln__walk *w, const kiln__operand *operands, int bytes,
                        kiln__view *views);
/* Put the positions of views into the variant. */
void kiln__window_place(const kiln__walk *w, const kiln__view *views, kiln__variant *v);

/* Let blocks march from plane to plane, as most windows on three axes can. Else false, and *out is
 * unchanged. */
bool kiln__march_choose(const kiln__walk *w, const kiln__operand *operands, const kiln__view *given,
                        int windows, kiln__variant *out);
/* Planes of a block's run: so many that few planes are read twice, and so few that blocks which
 * share rows stay near one another and each multiprocessor has blocks. */
int64_t kiln__march_planes(int units, const kiln__plan *plan);
/* Whether a variant that marches is one that the template can write: words that registers have, of
 * elements of one size. */
bool kiln__march_is_valid(const kiln__definition *def, const kiln__variant *v);

#endif
