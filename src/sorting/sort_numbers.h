/*
 * sort_numbers.h - rows that the cpu device sorts as integers: what the files share that do so.
 * Private to src/sorting.
 */
#ifndef KILN_SORTING_SORT_NUMBERS_H
#define KILN_SORTING_SORT_NUMBERS_H

#include "sorting/sorting.h"

enum { KILN__NUMBERS_BLOCK = 1024 /* elements that are numbers at once */ };

typedef struct kiln__number_rows {
    kiln__numbers numbers;
    kiln__quick quick;
    const char *keys;
    char *sorted, *order; /* NULL: not wanted */
    char *
        scratch; /* numbers of rows where there are no results that could hold them; NULL: not needed */
    int64_t rows, length, flip;
    uint64_t infinity;
    int size, width;        /* bytes of an element, of a number or a pair */
    bool wide;              /* order is int64 */
    kiln__quick_sort reals; /* float64 is sorted as double by this; NULL: as integers */
    char kind;              /* of the elements: 'i', 'u', 'f' */
    /* Long rows. */
    int64_t pieces;
    char *target; /* where the numbers are sorted */
    void *plan;   /* what each launch leaves for the next one */
} kiln__number_rows;

/* Numbers, or pairs, of `count` elements of `keys` from number `first` on; whether some are -0
 * or NaN. */
bool kiln__number_rows_read(const kiln__number_rows *j, const char *keys, int64_t first,
                            int64_t count, void *to);
/* Sorted numbers, or pairs, as results. */
void kiln__number_rows_write(const kiln__number_rows *j, const void *numbers, int64_t count,
                             char *sorted, char *order);
/* Copy zeros and NaN of a row to where they stand in its sorted elements. */
void kiln__number_rows_restore(const kiln__number_rows *j, const char *keys, char *sorted);
/* Sort the row `keys` in `target`, by two to KILN__HALVES_THREADS threads, and write its
 * results; without keys the numbers stand there, and that is all. `plan` has KILN__HALVES_PLAN
 * bytes. (sort_halves.c) */
enum { KILN__HALVES_THREADS = 4, KILN__HALVES_PLAN = 512 }; /* bytes */
kiln_status kiln__number_rows_halves(const kiln__sort *s, const kiln__number_rows *row,
                                     kiln_error *err);
/* The order of rows of 8-byte elements, and where they are wanted the elements in that order.
 * (sort_order.c) */
kiln_status kiln__number_rows_order(const kiln__sort *s, const kiln__number_rows *rows,
                                    kiln_error *err);

#endif
