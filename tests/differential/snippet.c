/*
 * snippet.c - a program as C++: what an elementwise kernel, a reduction or a scan is given.
 *
 * Every operation's result is converted to its dtype by name, as a program with typed variables
 * would: so results do not depend on what C++ promotes small types to. Values that are used more
 * than once become variables where statements are allowed.
 */
#include <stdarg.h>
#include <string.h>

#include "difftest.h"

typedef struct writer {
    const dt_case *c;
    char *text;
    size_t bytes, used;
    bool named[DT_NODES]; /* nodes that are variables by now */
} writer;

static void put(writer *w, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    const int n = vsnprintf(w->text + w->used, w->bytes - w->used, format, list);
    va_end(list);
    w->used += (size_t)n < w->bytes - w->used ? (size_t)n : w->bytes - w->used - 1;
}

int dt_placeholder(const dt_case *c, kiln_dtype dtype)
{
    int seen = 0;

    if (!c->placeholders)
        return -1;
    for (int k = 0; k < c->operand_count; k++) {
        bool before = c->operand[k].is_number || k == c->where;
        for (int j = 0; j < k && !before; j++)
            before = !c->operand[j].is_number && j != c->where &&
                     c->operand[j].view.dtype == c->operand[k].view.dtype;
        if (before)
            continue;
        if (c->operand[k].view.dtype == dtype)
            return seen;
        seen++;
    }
    return -1;
}

static void put_type(writer *w, kiln_dtype dtype)
{
    const int letter = dt_placeholder(w->c, dtype);

    if (letter >= 0)
        put(w, "%c", 'T' + letter);
    else
        put(w, "%s", kiln_dtype_ctype(dtype));
}

static void put_node(writer *w, int k);

/* An operand, widened from 16 bits where a function or a conversion wants it. */
static void put_operand(writer *w, int k, bool widen)
{
    put(w, widen && dt_is_narrow(w->c->node[k].dtype) ? "(float)(" : "(");
    put_node(w, k);
    put(w, ")");
}

static void put_cast(writer *w, const dt_node *n)
{
    const kiln_dtype from = w->c->node[n->in[0]].dtype;
    const bool through_float = dt_is_narrow(from) || (dt_is_narrow(n->dtype) && dt_is_integer(from));

    if (n->dtype == KILN_BOOL) {
        put_operand(w, n->in[0], true);
        put(w, " != 0");
        return;
    }
    put(w, "(");
    put_type(w, n->dtype);
    put(w, through_float ? ")(float)" : ")");
    put_operand(w, n->in[0], false);
}

static void put_operation(writer *w, const dt_node *n)
{
    const char *form = dt_ops[n->op].snippet;
    const bool is_function = strncmp(form, "f:", 2) == 0;

    put(w, "(");
    put_type(w, n->dtype);
    put(w, ")(");
    for (form += is_function ? 2 : 0; *form != '\0'; form++) {
        if (*form == '$') {
            put_operand(w, n->in[form[1] - '0'], is_function);
            form++;
        } else {
            put(w, "%c", *form);
        }
    }
    put(w, ")");
}

static void put_node(writer *w, int k)
{
    const dt_node *n = &w->c->node[k];

    if (w->named[k]) {
        put(w, "t%d", k);
    } else if (k == w->c->pivot) {
        put(w, "a");
    } else if (n->op == DT_REDUCE) {
        put(w, "s%d", k);
    } else if (n->op == DT_INPUT || n->op == DT_TAKEN) {
        put(w, "x%d", n->operand);
    } else if (n->op == DT_RAW) {
        put(w, "x%d[(", n->operand);
        put_node(w, n->in[0]);
        put(w, " %% x%d.size() + x%d.size()) %% x%d.size()]", n->operand, n->operand, n->operand);
    } else if (n->op == DT_OLD) {
        put(w, "z0");
    } else if (n->op == DT_POSITION) {
        put(w, "(long long)%s", w->c->kind == DT_KIND_ELEMENTWISE ? "i" : "_J");
    } else if (n->op == DT_INDEX) {
        put(w, "(long long)%s.get()[%d]", w->c->kind == DT_KIND_ELEMENTWISE ? "_ind" : "_in_ind",
            n->axis[0]);
    } else if (n->op == DT_CONSTANT && w->c->looped) {
        put(w, "c%d", k);
    } else if (n->op == DT_CONSTANT) {
        put(w, "(");
        put_type(w, n->dtype);
        put(w, ")(%.17g)", n->number);
    } else if (n->op == DT_CAST) {
        put_cast(w, n);
    } else {
        put_operation(w, n);
    }
}

static void count_uses(const dt_case *c, int k, int *uses)
{
    if (uses[k]++ > 0 || k == c->pivot)
        return;
    for (int j = 0; c->node[k].op != DT_REDUCE && j < dt_operands_of(c, c->node[k].op); j++)
        count_uses(c, c->node[k].in[j], uses);
}

void dt_mapped(const dt_case *c, int node, char *text, size_t bytes)
{
    dt_case copy = *c;
    writer w = {.c = &copy, .text = text, .bytes = bytes};

    copy.pivot = DT_NODES; /* nothing is `a` here */
    text[0] = '\0';
    put_node(&w, c->node[node].in[0]);
}

void dt_combined(const dt_case *c, const dt_node *n, const char **reduce, const char **identity)
{
    static const char *const least[] = {"a < b ? a : b", "min(a, b)", "b < a ? b : a"};
    static const char *const most[] = {"a < b ? b : a", "max(a, b)", "b < a ? a : b"};
    const int spelling = dt_is_integer(n->dtype) ? c->spelling % 3 : c->spelling % 2 * 2;
    const kiln_reduce_op op = n->op == DT_REDUCE             ? n->reduction
                              : n->scan == KILN_SCAN_CUMSUM  ? KILN_REDUCE_SUM
                              : n->scan == KILN_SCAN_CUMPROD ? KILN_REDUCE_PROD
                              : n->scan == KILN_SCAN_CUMMAX  ? KILN_REDUCE_MAX
                                                             : KILN_REDUCE_MIN;

    *reduce = op == KILN_REDUCE_PROD  ? "a * b"
              : op == KILN_REDUCE_MIN ? least[spelling]
              : op == KILN_REDUCE_MAX ? most[spelling]
                                      : "a + b";
    *identity = op == KILN_REDUCE_PROD ? "1" : op == KILN_REDUCE_SUM ? "0" : "";
}

/* Constants that begin one below, and that each element steps for itself, as long as that is exact. */
static bool steps_constant(const dt_node *n)
{
    return n->op == DT_CONSTANT && n->dtype != KILN_BOOL && !dt_is_narrow(n->dtype) &&
           !dt_is_complex(n->dtype) && n->number >= 1;
}

void dt_loop_prep(const dt_case *c, char *text, size_t bytes)
{
    writer w = {.c = c, .text = text, .bytes = bytes};

    text[0] = '\0';
    if (!c->looped)
        return;
    put(&w, "unsigned int seen = 0; ");
    for (int k = 0; k < c->node_count; k++) {
        const dt_node *n = &c->node[k];
        if (n->op != DT_CONSTANT)
            continue;
        put(&w, steps_constant(n) ? "" : "const ");
        put_type(&w, n->dtype);
        put(&w, " c%d = (", k);
        put_type(&w, n->dtype);
        put(&w, ")(%.17g); ", steps_constant(n) ? n->number - 1 : n->number);
    }
}

static bool is_row_output(const dt_case *c, int output)
{
    return c->kind == DT_KIND_ROW && !dt_fills_loop(c, output);
}

void dt_statements(const dt_case *c, char *text, size_t bytes)
{
    writer w = {.c = c, .text = text, .bytes = bytes};
    int uses[DT_NODES] = {0};

    text[0] = '\0';
    for (int k = 0; k < c->node_count && c->looped; k++)
        if (steps_constant(&c->node[k]))
            put(&w, "c%d += 1; ", k);
    if (c->looped)
        put(&w, "seen++; ");
    for (int k = 0; k < c->output_count; k++)
        count_uses(c, c->output[k].node, uses);
    for (int k = 0; k < c->node_count; k++) {
        if (uses[k] < 2 || c->node[k].op >= DT_ELEMENTWISE_COUNT)
            continue;
        put(&w, "const ");
        put_type(&w, c->node[k].dtype);
        put(&w, " t%d = ", k);
        put_node(&w, k);
        put(&w, "; ");
        w.named[k] = true;
    }
    for (int k = 0; k < c->output_count; k++) {
        if (is_row_output(c, k))
            continue;
        put(&w, k > 0 ? "; z%d = " : "z%d = ", k);
        put_node(&w, c->output[k].node);
    }
}

void dt_row_statements(const dt_case *c, char *text, size_t bytes)
{
    writer w = {.c = c, .text = text, .bytes = bytes};

    text[0] = '\0';
    for (int k = 0; k < c->output_count; k++)
        if (is_row_output(c, k))
            put(&w, "z%d = s%d; ", k, c->output[k].node);
}

static void put_parameter(writer *w, const char *before, kiln_dtype dtype, bool may_be_letter,
                          char name, int number)
{
    const int letter = may_be_letter ? dt_placeholder(w->c, dtype) : -1;

    put(w, "%s%s", w->used > 0 ? ", " : "", before);
    if (letter >= 0)
        put(w, "%c", 'T' + letter);
    else
        put(w, "%s", kiln_dtype_name(dtype));
    put(w, " %c%d", name, number);
}

/* An input; one that a node takes by another input says so. */
static void put_input(writer *w, int operand)
{
    static const char *const modes[] = {"take ", "take wrap ", "take clip "};
    const dt_case *c = w->c;
    const dt_operand *o = &c->operand[operand];
    const dt_node *taken = NULL;

    for (int k = 0; k < c->node_count; k++)
        if (c->node[k].op == DT_TAKEN && c->node[k].operand == operand)
            taken = &c->node[k];
    put_parameter(w, taken != NULL ? modes[taken->flags % 3] : o->is_raw ? "raw " : "",
                  o->view.dtype, !o->is_number, 'x', operand);
    for (int axis = 0; taken != NULL && axis < o->view.rank; axis++)
        put(w, "%s x%d", axis == 0 ? " by" : "", c->node[taken->in[0]].operand);
}

void dt_signature(const dt_case *c, bool outputs, char *text, size_t bytes)
{
    writer w = {.c = c, .text = text, .bytes = bytes};

    text[0] = '\0';
    for (int k = 0; !outputs && k < c->operand_count; k++)
        if (k != c->where)
            put_input(&w, k);
    for (int k = 0; outputs && k < c->output_count; k++)
        if (!is_row_output(c, k))
            put_parameter(&w, "", c->node[c->output[k].node].dtype, true, 'z', k);
    if (outputs && c->looped)
        put(&w, ", raw uint32 counter");
}

void dt_row_signature(const dt_case *c, char *text, size_t bytes)
{
    writer w = {.c = c, .text = text, .bytes = bytes};

    text[0] = '\0';
    for (int k = 0; k < c->output_count; k++)
        if (is_row_output(c, k))
            put_parameter(&w, "", c->node[c->output[k].node].dtype, true, 'z', k);
}
