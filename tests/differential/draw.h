/* draw.h - what the generators of cases share; see difftest.h. */
#ifndef KILN_DIFFTEST_DRAW_H
#define KILN_DIFFTEST_DRAW_H

#include "difftest.h"

/* What the layouts of a definition's cases have in common, so that they share kernels. */
typedef enum dt_style {
    DT_STYLE_PLAIN,  /* C-order without gaps, at any start */
    DT_STYLE_FLIPS,  /* C-order with signs */
    DT_STYLE_ORDERS, /* any order of axes */
    DT_STYLE_MIXED,  /* everything */
    DT_STYLE_ROWS,   /* rows apart from each other, which begin anywhere in a line of memory */
    DT_STYLE_COUNT
} dt_style;

int64_t dt_draw_extent(dt_random *r, int64_t most);
/* How many elements a case may have. */
int64_t dt_draw_budget(dt_random *r);
int dt_draw_rank(dt_random *r);
void dt_draw_shape(dt_random *r, int rank, int64_t budget, int64_t *shape);

/* Strides, start and buffer for a view that has its dtype and shape. */
void dt_draw_view(dt_random *r, dt_style style, bool is_input, dt_case *c, dt_view *v);
/* A buffer of its own for a view with strides. */
void dt_place_view(dt_case *c, dt_view *v, int64_t offset_elements);
bool dt_share_view(dt_case *c, dt_view *v, const dt_view *other, int64_t shift);
bool dt_is_injective(const dt_view *v);

kiln_dtype dt_draw_dtype(dt_random *r);
dt_fill dt_draw_fill(dt_random *r);
/* Append random operations in snippet's terms over the nodes that are there; returns the last. */
int dt_draw_expression(dt_random *r, dt_case *c, int operations);

/* An input with an operand of its own; returns its node. */
int dt_add_input(dt_random *r, dt_case *c, kiln_dtype dtype, dt_fill fill);
/* Layouts of operands that have shapes, and of outputs; `r` draws the views alone. */
void dt_draw_operands(dt_random *r, dt_style style, dt_case *c);
void dt_draw_outputs(dt_random *r, dt_style style, dt_case *c);
/* How most cases end: layouts of operands that have shapes, and of outputs, and all that follows from
 * them. False when no valid case comes of it. */
bool dt_draw_layouts(dt_random *r, dt_style style, dt_case *c);
/* Shapes for all operands that broadcast to `shape`. */
void dt_draw_operand_shapes(dt_random *r, dt_case *c, int rank, const int64_t *shape);

bool dt_draw_elementwise(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_reduction(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_reduce(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_scan(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_row(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_graph(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_eager(dt_case *c, dt_random definition, dt_random view);
bool dt_draw_family(dt_case *c, dt_random definition, dt_random view);
/* Whether the function of such a case can be prepared and launched twice. */
bool dt_can_prepare(const dt_case *c);
/* Whether two runs may differ in rounding. */
bool dt_is_unordered(const dt_case *c);

#endif
