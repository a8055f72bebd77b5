/*
 * nth.h - which numbers stand at wanted positions of sorted rows, on the cpu device. Private to
 * src/sorting.
 *
 * choose_cpu.c and partition_cpu.c call kiln__nth_begin() and kiln__nth_rows(). When their own
 * entries run, `states` has the wanted numbers of each row. Rows are looked at in pieces, by
 * several threads where there are fewer rows than threads; `parts` tells each piece how many
 * elements of earlier pieces come before its own.
 */
#ifndef KILN_SORTING_NTH_H
#define KILN_SORTING_NTH_H

#include "sorting/sorting.h"

enum {
    KILN__NTH_BLOCK = 1024, /* elements that are numbers at once */
    KILN__NTH_SLACK = 16,   /* numbers that vectors may store behind what they are told to */
    KILN__NTH_NEAR = 2048,  /* numbers of a row that stand on the stack */
    KILN__NTH_UNKNOWN = -1
};

/* How many numbers of a piece are less than a number, and how many are equal to it. */
typedef struct kiln__nth_rank {
    int64_t under, equal;
} kiln__nth_rank;

typedef struct kiln__nth_piece {
    int64_t counts[KILN__QUICK_BETWEEN]; /* what kiln__quick.between() tells */
    int64_t nan_at;                      /* where its last NaN stands in the row; -1: it has none */
    bool full;                           /* there was no room for the numbers between the borders */
    kiln__nth_rank low, high;            /* of the row's `low` and `high` */
} kiln__nth_piece;

/* What is known of a row. The wanted positions hold all numbers between `low` and `high`, some of
 * those that are equal to `low` (`lows` of them, behind the first `skipped`), and the first `highs`
 * of those that are equal to `high`, if that is another number. */
typedef struct kiln__nth_row {
    int64_t borders[2]; /* between which the wanted positions probably lie */
    int64_t low, high, skipped, lows, highs;
} kiln__nth_row;

typedef struct kiln__nth {
    kiln__numbers numbers;
    kiln__quick quick;
    const char *keys;
    char *scratch; /* for the numbers of all rows; NULL: they are short */
    kiln__nth_row *states;
    kiln__nth_piece *parts; /* `pieces` of each row */
    int64_t rows, length, pieces, flip;
    int64_t from, count; /* the wanted positions */
    uint64_t infinity;
    int size, width; /* bytes of an element, of a number */
    char kind;
    bool plain;     /* elements are numbers as they are */
    bool uncounted; /* of short rows only `low` is wanted: `skipped` is KILN__NTH_UNKNOWN */
} kiln__nth;

/* Whether there are functions for the rows' dtype. */
bool kiln__nth_suits(const kiln__sort *s);
/* Fill in all members but those that point to memory: a search for positions `from` to
 * `from + count` - 1 of each sorted row. */
void kiln__nth_begin(kiln__nth *n, const kiln__sort *s, int64_t from, int64_t count);
/* Make the memory, which `memory` holds, and enqueue what finds the numbers of all rows. */
enum { KILN__NTH_ARRAYS = 2 };
kiln_status kiln__nth_rows(kiln__nth *n, const kiln__sort *s, kiln_array **memory, kiln_error *err);

/* The first element of a piece; that of piece `pieces` is the row's end. */
int64_t kiln__nth_begin_of(const kiln__nth *n, int64_t piece);

/* The numbers of at most KILN__NTH_BLOCK elements of a row, from `first` on: the elements
 * themselves if these are `plain`, else `block`, into which they are read. *strange: whether some
 * elements are -0 or NaN. */
static inline const void *kiln__nth_block(const kiln__nth *n, int64_t row, int64_t first,
                                          int64_t count, int64_t *block, bool *strange)
{
    const char *const keys = n->keys + (row * n->length + first) * n->size;

    *strange = !n->plain && n->numbers.read(keys, count, n->flip, n->infinity, block);
    return n->plain ? (const void *)keys : block;
}

static inline int64_t kiln__nth_number(const kiln__nth *n, const void *numbers, int64_t k)
{
    return n->width == 8 ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
}

#endif
