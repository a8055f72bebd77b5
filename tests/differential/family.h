/*
 * family.h - functions that are no program of operations: gathers, scatters, masks, sorts and their like.
 *
 * Each is a row: how its operands and numbers are drawn, what it gives, in plain loops over values, and how
 * kiln is called. Layouts, given outputs, text, buffers and comparison are those of all cases.
 *
 * Rule: `draw` makes operands with dtypes and shapes and sets c->number; `evaluate` reads nothing else, and
 *       returns false for what is no valid case, so that a text is checked as a drawn case is.
 */
#ifndef KILN_DIFFTEST_FAMILY_H
#define KILN_DIFFTEST_FAMILY_H

#include "draw.h"

/* What a row's function allows. */
enum {
    DT_MAY_BE_GIVEN = 1, /* outputs may be arrays that exist */
    DT_IN_PLACE = 2,     /* at once, operand 0 is the output */
    DT_MAY_RECORD = 4,   /* there is a node for it */
    DT_MAY_PARSE = 8,    /* expressions have it */
    DT_PLAIN_FIRST = 16, /* operand 0 must not overlap itself */
    DT_MAY_PREPARE = 32  /* a call at once can be prepared */
};

typedef struct dt_function {
    const char *name;
    dt_kind kind;
    unsigned traits;
    int outputs;
    /* `d` draws what kernels are made of, dtypes and options; `r` the rest. */
    bool (*draw)(dt_random *d, dt_random *r, dt_case *c);
    /* `in` are the operands, `out` the outputs to make. */
    bool (*evaluate)(const dt_case *c, const dt_array *in, dt_array *out);
    kiln_status (*call)(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
    /* The result in a graph, or as text over x0, x1, ... */
    kiln_node (*record)(const dt_case *c, const kiln_node *in, size_t result);
    void (*text)(const dt_case *c, const char *first, char *text, size_t bytes);
} dt_function;

extern const dt_function dt_gather_functions[], dt_select_functions[], dt_sort_functions[];
extern const dt_function dt_rearrange_functions[], dt_product_functions[], dt_random_functions[];
extern const dt_function dt_unique_functions[], dt_rule_functions[];
extern const int dt_gather_function_count, dt_select_function_count, dt_sort_function_count,
    dt_rearrange_function_count, dt_product_function_count, dt_random_function_count,
    dt_unique_function_count, dt_rule_function_count;

const dt_function *dt_function_at(int function);

/* ---- what rows share --------------------------------------------------------------------------- */

/* An operand with a shape. */
int dt_draw_operand(dt_random *r, dt_case *c, kiln_dtype dtype, dt_fill fill, int rank,
                    const int64_t *shape);
/* One of indices into an axis of `extent`: in range, or anything when `any`. */
int dt_draw_indices(dt_random *r, dt_case *c, kiln_dtype dtype, int64_t extent, bool any, int rank,
                    const int64_t *shape);
kiln_dtype dt_draw_integer(dt_random *r);
/* A shape with an extent or two that matter, and few elements in all. */
void dt_draw_small_shape(dt_random *r, int rank, int64_t *shape);
/* The same, or one that ends about where a block of some masks and filters does. */
void dt_draw_block_shape(dt_random *r, int rank, int64_t *shape);
/* `count` counted from the end where it is negative; false when it is no axis. */
bool dt_axis_of(int64_t axis, int rank, int *out);
/* A shape without an axis, or with another extent there. */
int dt_without_axis(const dt_array *a, int axis, int64_t *shape);
bool dt_make_like(dt_array *out, kiln_dtype dtype, const dt_array *like);
/* -1, 0, 1 as kiln/sort.h orders; `down`: the largest first. */
int dt_compare(kiln_dtype dtype, dt_value a, dt_value b, bool down);
/* Numbers of functions over rows: the axis or all elements, and whether the largest come first. */
enum { DT_ROW_AXIS, DT_DOWN, DT_ALL = INT32_MIN };

/* The rows of an array along an axis; of all elements one. */
typedef struct dt_rows {
    int axis;
    int64_t before, length, behind;
} dt_rows;

void dt_draw_axis(dt_random *d, dt_case *c, int rank);
bool dt_rows_of(const dt_case *c, const dt_array *x, dt_rows *y);
/* The shape of a result that has `length` elements along the axis; -1: none. */
int dt_row_shape(const dt_array *x, const dt_rows *y, int64_t length, int64_t *shape);
kiln_sort_options dt_sort_options(const dt_case *c, const dt_arrays *a, kiln_axes *axes);
/* The number that is `part` of the way from a to b; error: of some roundings. */
dt_value dt_between(kiln_dtype from, kiln_dtype to, dt_value a, dt_value b, double part);

/* Sort places stably; `before`: whether place a stands before place b. False when memory is short. */
typedef bool (*dt_before_fn)(const void *user, int64_t a, int64_t b);
bool dt_sort_places(int64_t *at, int64_t count, dt_before_fn before, const void *user);
/* The stable order of elements first, first + step, ... of `a`. False when memory is short. */
bool dt_order_row(const dt_array *a, int64_t first, int64_t step, int64_t count, bool down,
                  int64_t *order);

#endif
