/*
 * padding.c - kiln_node_rearrange() (kiln/rearrange.h), and rearrangements that consist of others:
 * pad() by a statistic (maximum, minimum, mean, median) or a linear_ramp, and block().
 *
 *     pad() in one of these modes > for each axis: the values before and behind it > a join
 *     block()                     > rows, each a join > a join of the rows
 *
 * As in NumPy, the values along an axis are computed from an array that is already padded along the
 * earlier axes. The widths tell the number of axes; where one pair is for all axes, pad_all.c is
 * used.
 *
 * Test: test_rearrange.
 */
#include "graph/graph.h"
#include "graph/subscripts.h"
#include "kiln/rearrange.h"
#include "kiln/sort.h"

/* One axis of what is padded. */
typedef struct padding {
    kiln_pad_mode mode;
    kiln_node x, end;     /* end: of a ramp */
    int64_t axis, length; /* length: of what is looked at; 0: all */
    const char *file;
    int line;
} padding;

static kiln_node slice(const padding *p, int64_t start, int64_t stop)
{
    return kiln_node_slice(p->x, (int)p->axis, start, stop, 1, p->file, p->line);
}

static kiln_node spread(const padding *p, kiln_node one, int64_t width)
{
    const int64_t numbers[] = {width, p->axis};
    return kiln_node_rearrange(KILN_REARRANGE_REPEAT_ALONG, &one, 1, numbers, 2, p->file, p->line);
}

/* `width` elements from an end value to the element at the edge, which is not among them. */
static kiln_node ramp(const padding *p, int64_t width, bool behind)
{
    const kiln_node edge = behind ? slice(p, -1, KILN_SLICE_OPEN) : slice(p, 0, 1);
    const kiln_node wide = spread(p, edge, width);
    const kiln_node step = kiln_node_op2(
        KILN_OP_DIVIDE, kiln_node_op2(KILN_OP_SUBTRACT, wide, p->end, p->file, p->line),
        kiln_node_of_int(width), p->file, p->line);
    kiln_node at = kiln_node_iota(wide, (int)p->axis, p->file, p->line);

    if (behind)
        at = kiln_node_op2(KILN_OP_SUBTRACT, kiln_node_of_int(width - 1), at, p->file, p->line);
    at = kiln__node_cast_like(at, step, KILN__CAST_PLAIN, p->file, p->line);
    const kiln_node value =
        kiln_node_op2(KILN_OP_ADD, kiln_node_op2(KILN_OP_MULTIPLY, at, step, p->file, p->line),
                      p->end, p->file, p->line);
    return kiln__node_cast_like(value, p->x, KILN__CAST_FLOOR, p->file, p->line);
}

/* A statistic of the elements next to the edge, `width` times. */
static kiln_node statistic(const padding *p, int64_t width, bool behind)
{
    const kiln_axes axes = {.count = 1, .axis = {(int)p->axis}};
    const kiln_node near = p->length == 0 ? p->x
                           : behind       ? slice(p, -p->length, KILN_SLICE_OPEN)
                                          : slice(p, 0, p->length);
    const kiln_reduce_op op = p->mode == KILN_PAD_MAXIMUM   ? KILN_REDUCE_MAX
                              : p->mode == KILN_PAD_MINIMUM ? KILN_REDUCE_MIN
                                                            : KILN_REDUCE_MEAN;
    kiln_node one;

    if (p->mode == KILN_PAD_MEDIAN)
        one = kiln_node_newaxis(
            kiln_node_sorting("median", &near, 1, &axes, NULL, 0, 0, p->file, p->line),
            (int)p->axis, p->file, p->line);
    else
        one = kiln_node_reduce(op, near, &axes, true, KILN_DTYPE_NONE, p->file, p->line);
    return spread(p, kiln__node_cast_like(one, p->x, KILN__CAST_ROUND, p->file, p->line), width);
}

static kiln_node part(const padding *p, int64_t width, bool behind)
{
    return p->mode == KILN_PAD_LINEAR_RAMP ? ramp(p, width, behind) : statistic(p, width, behind);
}

bool kiln__pads_by_elements(kiln_rearrangement what, const int64_t *numbers, size_t number_count)
{
    return what == KILN_REARRANGE_PAD && number_count > 2 && numbers[0] >= KILN_PAD_LINEAR_RAMP &&
           numbers[0] <= KILN_PAD_MINIMUM;
}

kiln_node kiln__node_padded(const kiln_node *operands, size_t operand_count, const int64_t *numbers,
                            size_t number_count, const char *file, int line)
{
    padding p = {.mode = (kiln_pad_mode)numbers[0], .x = operands[0], .file = file, .line = line};
    const int rank = (int)((number_count - 1) / 2);
    kiln_axes axes = {.count = rank};

    p.end = operand_count > 1 ? operands[1] : kiln_node_of_int(0);
    p.length = number_count % 2 == 0 ? numbers[number_count - 1] : 0;
    for (int a = 0; a < rank; a++)
        axes.axis[a] = a;
    p.x = kiln_node_transpose(p.x, &axes, file, line); /* refuses arrays of another rank */
    for (p.axis = 0; p.axis < rank; p.axis++) {
        const int64_t before = numbers[1 + 2 * p.axis], behind = numbers[2 + 2 * p.axis];
        kiln_node parts[3];
        size_t count = 0;
        if (before > 0)
            parts[count++] = part(&p, before, false);
        parts[count++] = p.x;
        if (behind > 0)
            parts[count++] = part(&p, behind, true);
        if (count > 1)
            p.x = kiln_node_rearrange(KILN_REARRANGE_CONCATENATE, parts, count, &p.axis, 1, file,
                                      line);
    }
    return p.x;
}

/* With the widths of all axes, whose number a call alone knows: a function that is done as a whole. */
static kiln_node padded_all(const kiln_node *operands, size_t operand_count, const int64_t *numbers,
                            size_t number_count, const char *file, int line)
{
    const kiln_node both[] = {operands[0], operand_count > 1 ? operands[1] : kiln_node_of_int(0)};
    const int64_t length = number_count > 3 ? numbers[3] : 0;
    const int64_t data[] = {numbers[0], false, 1, length > 0, numbers[1], numbers[2], length, length};
    const kiln__opaque_given given = {.operation = kiln__opaque_named("_pad", 4),
                                      .operands = both,
                                      .count = 2,
                                      .data = data,
                                      .data_count = KILN__PAD_HEAD + 2 + 2 * (length > 0)};

    return kiln__opaque_node(&given, 0, file, line);
}

/* Rows of arrays side by side, one above the other. */
static kiln_node blocked(const kiln_node *operands, size_t operand_count, const int64_t *rows,
                         size_t row_count, const char *file, int line)
{
    const int64_t last = -1, before = -2;
    kiln_node items[KILN__REARRANGE_OPERANDS_MAX], made[KILN__REARRANGE_OPERANDS_MAX];
    size_t at = 0;

    for (size_t k = 0; k < operand_count; k++)
        items[k] = kiln_node_rearrange(row_count > 0 ? KILN_REARRANGE_ATLEAST_2D
                                                     : KILN_REARRANGE_ATLEAST_1D,
                                       &operands[k], 1, NULL, 0, file, line);
    if (row_count == 0)
        return kiln_node_rearrange(KILN_REARRANGE_CONCATENATE, items, operand_count, &last, 1, file,
                                   line);
    for (size_t r = 0; r < row_count; at += (size_t)rows[r++])
        made[r] = kiln_node_rearrange(KILN_REARRANGE_CONCATENATE, items + at, (size_t)rows[r],
                                      &last, 1, file, line);
    return kiln_node_rearrange(KILN_REARRANGE_CONCATENATE, made, row_count, &before, 1, file, line);
}

static bool are_rows(size_t operand_count, const int64_t *rows, size_t row_count)
{
    size_t left = operand_count;

    for (size_t r = 0; r < row_count; r++) {
        if (rows[r] < 1 || (uint64_t)rows[r] > left)
            return false;
        left -= (size_t)rows[r];
    }
    return row_count == 0 || left == 0;
}

kiln_node kiln_node_rearrange(kiln_rearrangement what, const kiln_node *operands,
                              size_t operand_count, const int64_t *numbers, size_t number_count,
                              const char *file, int line)
{
    if (operands != NULL && numbers != NULL &&
        kiln__arrange_check(what, operand_count, number_count, NULL) == KILN_OK &&
        kiln__pads_by_elements(what, numbers, number_count))
        return (number_count < 5 ? padded_all : kiln__node_padded)(operands, operand_count, numbers,
                                                                   number_count, file, line);
    if (what == KILN_REARRANGE_BLOCK && operands != NULL &&
        (numbers != NULL || number_count == 0) &&
        kiln__arrange_check(what, operand_count, number_count, NULL) == KILN_OK)
        return are_rows(operand_count, numbers, number_count)
                   ? blocked(operands, operand_count, numbers, number_count, file, line)
                   : kiln__node_fault(operands[0], KILN_ERR_ARGUMENT, "block", file, line,
                                      "the rows do not have as many arrays as are given");
    return kiln__node_rearranged(what, operands, operand_count, numbers, number_count, file, line);
}
