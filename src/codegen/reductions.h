/*
 * reductions.h - named reductions: sum, argmin, var, ... as texts of definitions. A part of
 * codegen.h, which includes it; reduce_table.c has the table.
 */
#ifndef KILN_CODEGEN_REDUCTIONS_H
#define KILN_CODEGEN_REDUCTIONS_H

/* The texts of a named reduction for some kinds of dtype: a row of a constant table. */
typedef struct kiln__reduce_row kiln__reduce_row;

/* The row of `op`, a kiln_reduce_op or one of the enum below; NULL when `op` does not take the
 * dtype. */
const kiln__reduce_row *kiln__reduce_row_find(int op, kiln_dtype dtype);
/* The same for calls that may have a mask, whose texts do not count the elements it leaves out. */
const kiln__reduce_row *kiln__reduce_row_for(int op, kiln_dtype dtype, bool masked);
/* The row that reads the result of `op` from the accumulator of another reduction, such as a mean
 * from a variance's; NULL when there is none. It saves work only in kernels that compute the other
 * one. */
const kiln__reduce_row *kiln__reduce_row_beside(int op, kiln_dtype dtype);

/* The dtype of the result. */
kiln_dtype kiln__reduce_result(const kiln__reduce_row *row, kiln_dtype dtype);
/* Whether reducing no elements is an error. */
bool kiln__reduce_needs_elements(const kiln__reduce_row *row);
/* An upper bound of the accumulator's bytes; the row was found by `op`. */
int64_t kiln__reduce_part_bytes(const kiln__reduce_row *row, int op, kiln_dtype dtype);
/* The batching of its definition where the elements are those of an input. */
kiln__batching kiln__reduce_batching(const kiln__reduce_row *row);
/* Whether its result is a position: argmin, argmax, nanargmin, nanargmax. */
bool kiln__reduce_is_position(const kiln__reduce_row *row);
/* Whether it takes an initial value: sums, products, minima and maxima do. */
bool kiln__reduce_takes_initial(const kiln__reduce_row *row);
/* Whether a result may be written to an output of dtype `out`: its kind must be the same or more
 * general (bool, integers, floating point, complex); positions may be written to integers only. */
bool kiln__reduce_fits(const kiln__reduce_row *row, kiln_dtype dtype, kiln_dtype out);

/* Reductions beside kiln_reduce_op. */
enum {
    KILN__REDUCE_DOT = 1000, /* of two arrays, as VECDOT */
    KILN__REDUCE_VECDOT,
    KILN__REDUCE_SUMEXP,     /* sum(exp(x - max(x))) ... */
    KILN__REDUCE_SUMEXP_MAX, /* ... and max(x), from the same accumulator */
    KILN__REDUCE_SCAN = 2000, /* plus a kiln_scan_op: the named scans */
    KILN__REDUCE_TOP = 0x4000,   /* for kiln__reduce_top(): one of the k greatest elements ... */
    KILN__REDUCE_TOP_AT = 0x8000 /* ... and its position */
};
enum { KILN__TOP_MOST = 8 }; /* the most elements that such an accumulator holds */
static inline int kiln__reduce_top(int op, int k, int which)
{
    return op + 16 * k + which;
}

/* What a call may change in a row's texts. */
typedef struct kiln__reduce_form {
    bool masked;    /* some elements do not count */
    bool ddof;      /* the divisor of a variance is less by `ddof`, an input */
    kiln_dtype out; /* dtype of the output given; NONE: the result's own */
    int op;         /* top-k: the reduction that the row was found by */
} kiln__reduce_form;

/* Append one of a row's texts: REDUCE_TYPE, MAP (of an element `x`; T is its dtype), REDUCE, POST
 * (which assigns `y`) or IDENTITY. */
void kiln__reduce_text(const kiln__reduce_row *row, kiln_dtype dtype,
                          const kiln__reduce_form *form, kiln__snippet_kind kind, kiln__buf *b);

#endif
