/*
 * expression.c - a graph as text, in the language of docs/expressions.md.
 *
 * A node is a name, so that the text has the graph's shape, not the tree's.
 */
#include <stdarg.h>

#include "difftest.h"

typedef struct writer {
    char *text;
    size_t bytes, used;
} writer;

static void put(writer *w, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    const int n = vsnprintf(w->text + w->used, w->bytes - w->used, format, list);
    va_end(list);
    w->used += (size_t)n < w->bytes - w->used ? (size_t)n : w->bytes - w->used - 1;
}

static void put_tuple(writer *w, int count, const int *list)
{
    put(w, "(");
    for (int k = 0; k < count; k++)
        put(w, "%d,", list[k]);
    put(w, ")");
}

static void put_shape(writer *w, int count, const int64_t *list)
{
    put(w, "(");
    for (int k = 0; k < count; k++)
        put(w, "%lld,", (long long)list[k]);
    put(w, ")");
}

static void put_reduce(writer *w, const dt_node *n)
{
    put(w, "%s(t%d", kiln_reduce_op_name(n->reduction), n->in[0]);
    if (!n->all_axes) {
        put(w, ", axis=");
        put_tuple(w, n->axis_count, n->axis);
    }
    put(w, n->keepdims ? ", keepdims=True)" : ")");
}

static void put_scan(writer *w, const dt_node *n)
{
    put(w, "%s(t%d", kiln_scan_op_name(n->scan), n->in[0]);
    put(w, n->all_axes ? ")" : ", axis=%d)", n->axis[0]);
}

static void put_bound(writer *w, int64_t bound)
{
    if (bound != KILN_SLICE_OPEN)
        put(w, "%lld", (long long)bound);
}

static void put_subscript(writer *w, const dt_node *n)
{
    put(w, "t%d[", n->in[0]);
    for (int axis = 0; axis < n->axis[0]; axis++)
        put(w, ":, ");
    put_bound(w, n->start);
    if (n->op == DT_SLICE) {
        put(w, ":");
        put_bound(w, n->stop);
        put(w, ":%lld", (long long)n->step);
    }
    put(w, "]");
}

static void put_operation(writer *w, const dt_node *n)
{
    /* Some operations are as often written as operators. */
    static const struct {
        dt_op op;
        const char *sign;
    } operators[] = {{DT_ADD, "+"},       {DT_SUBTRACT, "-"}, {DT_MULTIPLY, "*"},
                     {DT_DIVIDE, "/"},    {DT_LESS, "<"},     {DT_GREATER_EQUAL, ">="},
                     {DT_REMAINDER, "%"}, {DT_POWER, "**"},   {DT_FLOOR_DIVIDE, "//"}};

    for (size_t k = 0; k < DT_COUNT(operators); k++)
        if (operators[k].op == n->op) {
            put(w, "t%d %s t%d", n->in[0], operators[k].sign, n->in[1]);
            return;
        }
    put(w, "%s(", dt_ops[n->op].name);
    for (int k = 0; k < dt_ops[n->op].operands; k++)
        put(w, "%st%d", k > 0 ? ", " : "", n->in[k]);
    put(w, ")");
}

static void put_view(writer *w, const dt_node *n)
{
    switch (n->op) {
    case DT_TRANSPOSE:
        put(w, "transpose(t%d, ", n->in[0]);
        put_tuple(w, n->axis_count, n->axis);
        put(w, ")");
        break;
    case DT_NEWAXIS:
        put(w, "expand_dims(t%d, %d)", n->in[0], n->axis[0]);
        break;
    case DT_FLIP:
    case DT_INDEX:
        put(w, "%s(t%d, %d)", n->op == DT_INDEX ? "iota" : "flip", n->in[0], n->axis[0]);
        break;
    case DT_BROADCAST:
    case DT_RESHAPE:
        put(w, "%s(t%d, ", dt_op_name(n->op), n->in[0]);
        put_shape(w, n->rank, n->shape);
        put(w, ")");
        break;
    default:
        put_subscript(w, n);
    }
}

void dt_expression(const dt_case *c, char *text, size_t bytes)
{
    writer w = {text, bytes, 0};

    text[0] = '\0';
    for (int k = 0; k < c->node_count; k++) {
        const dt_node *n = &c->node[k];
        put(&w, "t%d = ", k);
        if (n->op == DT_INPUT)
            put(&w, "x%d", n->operand);
        else if (n->op == DT_CONSTANT && n->dtype == KILN_BOOL)
            put(&w, n->number != 0 ? "True" : "False");
        else if (n->op == DT_CONSTANT)
            put(&w, n->dtype == KILN_FLOAT64 ? "%#.17g" : "%.0f", n->number);
        else if (n->op == DT_CAST)
            put(&w, "cast(t%d, %s)", n->in[0], kiln_dtype_name(n->dtype));
        else if (n->op == DT_REDUCE)
            put_reduce(&w, n);
        else if (n->op == DT_SCAN)
            put_scan(&w, n);
        else if (n->op < DT_ELEMENTWISE_COUNT)
            put_operation(&w, n);
        else
            put_view(&w, n);
        put(&w, "; ");
    }
    for (int k = 0; k < c->output_count; k++)
        put(&w, "%st%d", k > 0 ? ", " : "", c->output[k].node);
}
