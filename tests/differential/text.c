/*
 * text.c - a case as lines of text, and back.
 *
 *     case reduction
 *     operand dtype int32 shape 3,33 stride -132,4 buffer 0 start 328 fill small salt 7
 *     buffer 524
 *     node input operand 0
 *     node negative in 0
 *     node reduce in 1 name min axes -1
 *     output node 2
 *     pivot 2
 *     end
 *
 * Lines in any order but that nodes come in theirs; a line is a word and then pairs of a name and a
 * value. What is missing is zero. '#' begins a comment line. Lists have commas, an empty one is "-".
 */
#include <stdlib.h>
#include <string.h>

#include "difftest.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void put_list(FILE *out, const char *name, int count, const int64_t *list)
{
    fprintf(out, " %s ", name);
    for (int k = 0; k < count; k++)
        fprintf(out, "%s%lld", k > 0 ? "," : "", (long long)list[k]);
    if (count == 0)
        fprintf(out, "-");
}

static void put_view(FILE *out, const dt_view *v)
{
    fprintf(out, " dtype %s", kiln_dtype_name(v->dtype));
    put_list(out, "shape", v->rank, v->shape);
    put_list(out, "stride", v->rank, v->stride);
    fprintf(out, " buffer %d start %lld", v->buffer, (long long)v->start);
}

static void put_axes(FILE *out, const dt_node *n)
{
    int64_t axes[DT_RANK];

    for (int k = 0; k < n->axis_count; k++)
        axes[k] = n->axis[k];
    if (n->all_axes)
        fprintf(out, " all 1");
    else
        put_list(out, "axes", n->axis_count, axes);
}

static void put_node(FILE *out, const dt_case *c, const dt_node *n)
{
    const int operands = dt_operands_of(c, n->op);
    const int64_t in[3] = {n->in[0], n->in[1], n->in[2]};

    fprintf(out, "node %s", dt_op_name(n->op));
    if (operands > 0)
        put_list(out, "in", operands, in);
    if (dt_reads_operand(n->op))
        fprintf(out, " operand %d", n->operand);
    if (n->op == DT_CAST || n->op == DT_CONSTANT)
        fprintf(out, " dtype %s", kiln_dtype_name(n->dtype));
    if (n->op == DT_CONSTANT)
        fprintf(out, " number %.17g weak %d", n->number, n->weak);
    if (n->op == DT_REDUCE)
        fprintf(out, " name %s", kiln_reduce_op_name(n->reduction));
    if (n->op == DT_SCAN)
        fprintf(out, " name %s flags %u", kiln_scan_op_name(n->scan), n->flags);
    if (n->op == DT_TAKEN)
        fprintf(out, " flags %u", n->flags);
    if (n->into != KILN_DTYPE_NONE)
        fprintf(out, " into %s", kiln_dtype_name(n->into));
    if (n->op >= DT_REDUCE && n->op <= DT_INDEX && n->op != DT_BROADCAST && n->op != DT_RESHAPE)
        put_axes(out, n);
    if (n->op == DT_REDUCE && n->keepdims)
        fprintf(out, " keepdims 1");
    if (n->op == DT_SLICE || n->op == DT_TAKE)
        fprintf(out, " from %lld to %lld step %lld", (long long)n->start, (long long)n->stop,
                (long long)n->step);
    if (n->op == DT_BROADCAST || n->op == DT_RESHAPE)
        put_list(out, "shape", n->rank, n->shape);
    fprintf(out, "\n");
}

/* The function of a case of family.h, and its numbers. */
static void put_function(FILE *out, const dt_case *c)
{
    int count = DT_NUMBERS;

    while (count > 0 && c->number[count - 1] == 0)
        count--;
    fprintf(out, "function %s way %d negated %d inverted %d\n", dt_function_name(c->function),
            c->way, c->negated, c->inverted);
    for (int k = 0; k < count; k += 6) {
        fprintf(out, "numbers %d", k);
        put_list(out, "are", count - k < 6 ? count - k : 6, &c->number[k]);
        fprintf(out, "\n");
    }
}

void dt_print_case(const dt_case *c, FILE *out)
{
    fprintf(out, "case %s\n", dt_kind_names[c->kind]);
    if (dt_in_family(c))
        put_function(out, c);
    for (int k = 0; k < c->operand_count; k++) {
        const dt_operand *o = &c->operand[k];
        fprintf(out, "operand");
        if (o->is_number) {
            fprintf(out, " dtype %s number %.17g\n", kiln_dtype_name(o->view.dtype), o->number);
            continue;
        }
        put_view(out, &o->view);
        if (o->is_raw)
            fprintf(out, " raw 1");
        fprintf(out, " fill %s salt %llu", dt_fill_names[o->fill], (unsigned long long)o->salt);
        if (o->fill >= DT_FILL_RANGE)
            fprintf(out, " low %lld high %lld", (long long)o->low, (long long)o->high);
        if (o->fill == DT_FILL_EVEN)
            fprintf(out, " parts %lld near %d", (long long)o->parts, o->near);
        fprintf(out, "\n");
    }
    for (int k = 0; k < c->buffer_count; k++)
        fprintf(out, "buffer %lld\n", (long long)c->buffer_bytes[k]);
    for (int k = 0; k < c->node_count; k++)
        put_node(out, c, &c->node[k]);
    for (int k = 0; k < c->output_count; k++) {
        fprintf(out, "output node %d", c->output[k].node);
        if (c->output[k].given)
            put_view(out, &c->output[k].view);
        fprintf(out, "\n");
    }
    if (c->placeholders)
        fprintf(out, "placeholders 1\n");
    if (c->prepared)
        fprintf(out, "prepared 1\n");
    if (c->repeated)
        fprintf(out, "repeated 1\n");
    if (c->as_text)
        fprintf(out, "text 1\n");
    if (c->wide)
        fprintf(out, "wide 1\n");
    if (c->structured)
        fprintf(out, "structured 1\n");
    if (c->looped)
        fprintf(out, "looped 1\n");
    if (c->imported)
        fprintf(out, "imported 1\n");
    if (c->spelling != 0)
        fprintf(out, "spelling %d\n", c->spelling);
    if (c->pivot >= 0)
        fprintf(out, "pivot %d\n", c->pivot);
    if (c->where >= 0)
        fprintf(out, "where %d\n", c->where);
    if (c->has_initial)
        fprintf(out, "initial %.17g\n", c->initial);
    if (c->ddof != 0)
        fprintf(out, "ddof %.17g\n", c->ddof);
    fprintf(out, "end\n");
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    char *rest; /* of the line */
    char *why;
    size_t why_bytes;
    bool failed;
} reader;

static void complain(reader *r, const char *about, const char *word)
{
    if (!r->failed)
        snprintf(r->why, r->why_bytes, "%s `%s`", about, word);
    r->failed = true;
}

/* The next word, "" at the end of the line. */
static const char *word(reader *r)
{
    char *begin = r->rest + strspn(r->rest, " \t\r\n");
    char *end = begin + strcspn(begin, " \t\r\n");

    r->rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return begin;
}

static int64_t whole(reader *r)
{
    const char *text = word(r);
    char *end;
    const int64_t v = text[0] == '-' ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);

    if (end == text || *end != '\0')
        complain(r, "no whole number:", text);
    return v;
}

static int small(reader *r, int least, int most)
{
    const int64_t v = whole(r);

    if (v < least || v > most) {
        complain(r, "a number out of range", "");
        return least;
    }
    return (int)v;
}

static double real(reader *r)
{
    const char *text = word(r);
    char *end;
    const double v = strtod(text, &end);

    if (end == text)
        complain(r, "no number:", text);
    return v;
}

static int list(reader *r, int64_t *out)
{
    const char *text = word(r);
    int count = 0;

    if (strcmp(text, "-") == 0)
        return 0;
    while (*text != '\0' && count < DT_RANK) {
        char *end;
        out[count++] = strtoll(text, &end, 10);
        if (end == text)
            break;
        text = *end == ',' ? end + 1 : end;
    }
    if (*text != '\0' || count == 0)
        complain(r, "no list of numbers:", text);
    return count;
}

static kiln_dtype dtype(reader *r)
{
    const char *text = word(r);
    const kiln_dtype d = kiln_dtype_from_name(text, strlen(text));

    if (d == KILN_DTYPE_NONE)
        complain(r, "no dtype:", text);
    return d;
}

static int one_of(reader *r, const char *const *names, int count)
{
    const char *text = word(r);

    for (int k = 0; k < count; k++)
        if (strcmp(names[k], text) == 0)
            return k;
    complain(r, "an unknown name:", text);
    return 0;
}

/* Whether `name` was a part of a view. */
static bool view_part(reader *r, const char *name, dt_view *v)
{
    if (strcmp(name, "dtype") == 0)
        v->dtype = dtype(r);
    else if (strcmp(name, "shape") == 0)
        v->rank = list(r, v->shape);
    else if (strcmp(name, "stride") == 0)
        list(r, v->stride);
    else if (strcmp(name, "buffer") == 0)
        v->buffer = small(r, 0, DT_BUFFERS - 1);
    else if (strcmp(name, "start") == 0)
        v->start = whole(r);
    else
        return false;
    return true;
}

static void read_operand(reader *r, dt_case *c)
{
    dt_operand *o = &c->operand[c->operand_count];
    const char *name;

    if (c->operand_count == DT_OPERANDS) {
        complain(r, "too many operands", "");
        return;
    }
    c->operand_count++;
    memset(o, 0, sizeof *o);
    while (*(name = word(r)) != '\0' && !r->failed) {
        if (view_part(r, name, &o->view))
            continue;
        if (strcmp(name, "fill") == 0) {
            o->fill = (dt_fill)one_of(r, dt_fill_names, DT_FILL_COUNT);
        } else if (strcmp(name, "raw") == 0) {
            o->is_raw = small(r, 0, 1);
        } else if (strcmp(name, "salt") == 0) {
            o->salt = (uint64_t)whole(r);
        } else if (strcmp(name, "low") == 0) {
            o->low = whole(r);
        } else if (strcmp(name, "high") == 0) {
            o->high = whole(r);
        } else if (strcmp(name, "parts") == 0) {
            o->parts = small(r, 1, INT32_MAX);
        } else if (strcmp(name, "near") == 0) {
            o->near = small(r, 0, 1);
        } else if (strcmp(name, "number") == 0) {
            o->is_number = true;
            o->view.buffer = -1;
            o->number = real(r);
        } else {
            complain(r, "an operand has no", name);
        }
    }
}

static kiln_reduce_op reduction_named(reader *r, const char *text)
{
    for (int k = 1; k <= KILN_REDUCE_NANARGMAX; k++)
        if (strcmp(kiln_reduce_op_name((kiln_reduce_op)k), text) == 0)
            return (kiln_reduce_op)k;
    complain(r, "no reduction:", text);
    return KILN_REDUCE_SUM;
}

static kiln_scan_op scan_named(reader *r, const char *text)
{
    for (int k = 1; k <= KILN_SCAN_CUMMIN; k++)
        if (strcmp(kiln_scan_op_name((kiln_scan_op)k), text) == 0)
            return (kiln_scan_op)k;
    complain(r, "no scan:", text);
    return KILN_SCAN_CUMSUM;
}

static void node_part(reader *r, const char *name, const dt_case *c, dt_node *n)
{
    int64_t numbers[DT_RANK] = {0};

    if (strcmp(name, "in") == 0) {
        const int count = list(r, numbers);
        for (int k = 0; k < count && k < 3; k++) {
            if (numbers[k] < 0 || numbers[k] >= c->node_count - 1)
                complain(r, "an operand that no earlier node is", "");
            n->in[k] = r->failed ? 0 : (int)numbers[k];
        }
    } else if (strcmp(name, "axes") == 0) {
        n->axis_count = list(r, numbers);
        for (int k = 0; k < n->axis_count; k++)
            n->axis[k] = (int)numbers[k];
    } else if (strcmp(name, "operand") == 0) {
        n->operand = small(r, 0, DT_OPERANDS - 1);
    } else if (strcmp(name, "dtype") == 0) {
        n->dtype = dtype(r);
    } else if (strcmp(name, "into") == 0) {
        n->into = dtype(r);
    } else if (strcmp(name, "number") == 0) {
        n->number = real(r);
    } else if (strcmp(name, "weak") == 0) {
        n->weak = small(r, 0, 1);
    } else if (strcmp(name, "name") == 0 && n->op == DT_REDUCE) {
        n->reduction = reduction_named(r, word(r));
    } else if (strcmp(name, "name") == 0) {
        n->scan = scan_named(r, word(r));
    } else if (strcmp(name, "flags") == 0) {
        n->flags = (unsigned)small(r, 0, 3);
    } else if (strcmp(name, "all") == 0) {
        n->all_axes = small(r, 0, 1);
    } else if (strcmp(name, "keepdims") == 0) {
        n->keepdims = small(r, 0, 1);
    } else if (strcmp(name, "from") == 0) {
        n->start = whole(r);
    } else if (strcmp(name, "to") == 0) {
        n->stop = whole(r);
    } else if (strcmp(name, "step") == 0) {
        n->step = whole(r);
    } else if (strcmp(name, "shape") == 0) {
        n->rank = list(r, n->shape);
    } else {
        complain(r, "a node has no", name);
    }
}

static void read_node(reader *r, dt_case *c)
{
    const char *text = word(r), *name;
    int op = 0;

    while (op < DT_OP_COUNT && strcmp(dt_op_name((dt_op)op), text) != 0)
        op++;
    if (op == DT_OP_COUNT || c->node_count == DT_NODES) {
        complain(r, "no operation, or too many:", text);
        return;
    }
    const int k = dt_add_node(c, (dt_op)op, 0, 0, 0);
    while (*(name = word(r)) != '\0' && !r->failed)
        node_part(r, name, c, &c->node[k]);
}

static void read_output(reader *r, dt_case *c)
{
    dt_output *o = &c->output[c->output_count];
    const char *name;

    if (c->output_count == DT_OUTPUTS) {
        complain(r, "too many outputs", "");
        return;
    }
    c->output_count++;
    memset(o, 0, sizeof *o);
    while (*(name = word(r)) != '\0' && !r->failed) {
        if (strcmp(name, "node") == 0)
            o->node = small(r, 0, DT_NODES - 1);
        else if (view_part(r, name, &o->view))
            o->given = true;
        else
            complain(r, "an output has no", name);
    }
}

static void read_function(reader *r, dt_case *c)
{
    const char *text = word(r), *name;

    c->function = dt_function_named(text);
    if (c->function < 0)
        complain(r, "no function:", text);
    while (*(name = word(r)) != '\0' && !r->failed)
        if (strcmp(name, "way") == 0)
            c->way = (dt_way)small(r, 0, DT_WAY_COUNT - 1);
        else if (strcmp(name, "negated") == 0)
            c->negated = small(r, 0, 1);
        else
            c->inverted = small(r, 0, 1);
}

/* "numbers 6 are 1,2,3": from the sixth on. */
static void read_numbers(reader *r, dt_case *c)
{
    const int first = small(r, 0, DT_NUMBERS - DT_RANK);

    word(r);
    list(r, &c->number[first]);
}

static void read_line(reader *r, const char *name, dt_case *c)
{
    if (strcmp(name, "operand") == 0) {
        read_operand(r, c);
    } else if (strcmp(name, "node") == 0) {
        read_node(r, c);
    } else if (strcmp(name, "output") == 0) {
        read_output(r, c);
    } else if (strcmp(name, "buffer") == 0 && c->buffer_count < DT_BUFFERS) {
        c->buffer_bytes[c->buffer_count++] = whole(r);
    } else if (strcmp(name, "function") == 0) {
        read_function(r, c);
    } else if (strcmp(name, "numbers") == 0) {
        read_numbers(r, c);
    } else if (strcmp(name, "placeholders") == 0) {
        c->placeholders = small(r, 0, 1);
    } else if (strcmp(name, "prepared") == 0) {
        c->prepared = small(r, 0, 1);
    } else if (strcmp(name, "repeated") == 0) {
        c->repeated = small(r, 0, 1);
    } else if (strcmp(name, "structured") == 0) {
        c->structured = small(r, 0, 1);
    } else if (strcmp(name, "looped") == 0) {
        c->looped = small(r, 0, 1);
    } else if (strcmp(name, "imported") == 0) {
        c->imported = small(r, 0, 1);
    } else if (strcmp(name, "text") == 0) {
        c->as_text = small(r, 0, 1);
    } else if (strcmp(name, "wide") == 0) {
        c->wide = small(r, 0, 1);
    } else if (strcmp(name, "spelling") == 0) {
        c->spelling = small(r, 0, 100);
    } else if (strcmp(name, "pivot") == 0) {
        c->pivot = small(r, 0, DT_NODES - 1);
    } else if (strcmp(name, "where") == 0) {
        c->where = small(r, 0, DT_OPERANDS - 1);
    } else if (strcmp(name, "initial") == 0) {
        c->has_initial = true;
        c->initial = real(r);
    } else if (strcmp(name, "ddof") == 0) {
        c->ddof = real(r);
    } else {
        complain(r, "a case has no", name);
    }
}

bool dt_read_case(FILE *in, dt_case *c, char *why, size_t bytes)
{
    char line[1024];
    bool begun = false;
    reader r = {.why = why, .why_bytes = bytes};

    why[0] = '\0';
    while (!r.failed && fgets(line, sizeof line, in) != NULL) {
        r.rest = line;
        const char *name = word(&r);
        if (*name == '\0' || *name == '#')
            continue;
        if (strcmp(name, "case") == 0) {
            dt_case_init(c, (dt_kind)one_of(&r, dt_kind_names, DT_KIND_COUNT));
            begun = true;
        } else if (!begun) {
            complain(&r, "expected `case`, found", name);
        } else if (strcmp(name, "end") == 0) {
            return dt_check_case(c, why, bytes);
        } else {
            read_line(&r, name, c);
        }
    }
    if (begun && !r.failed)
        snprintf(why, bytes, "a case without `end`");
    return false;
}
