/*
 * explain.c - a program as text for people, and as a drawing in DOT.
 *
 * src/graph/show.c calls it for kiln_graph_explain() and kiln_graph_dot(). It only reads the
 * program; the form of its texts may change between versions.
 *
 * Test: test_graph_explain.
 */
#include "fusion/fusion.h"

static void put_bytes(kiln__buf *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < KILN_COUNT_OF(units)) {
        value /= 1024;
        unit++;
    }
    kiln__buf_printf(out, unit == 0 ? "%.0f %s" : "%.4g %s", value, units[unit]);
}

static void put_shape(kiln__buf *out, int rank, const int64_t *shape)
{
    char text[24 * KILN_RANK_MAX];
    kiln__buf_puts(out, kiln__shape_text(rank, shape, text, sizeof text));
}

/* What a parameter is bound to. */
static void put_value(const kiln__ir *ir, const kiln__step_param *p, kiln__buf *out)
{
    if (p->kind == KILN__VALUE_TEMP)
        kiln__buf_printf(out, "kept%u", p->index + 1);
    else if (p->kind == KILN__VALUE_NUMBER)
        kiln__buf_puts(out, "a number");
    else if (p->index < ir->input_count)
        kiln__buf_puts(out, ir->inputs[p->index].name);
    else
        kiln__buf_puts(out, ir->outputs[p->index - ir->input_count].name);
}

static const char *kind_name(kiln__step_kind kind)
{
    static const char *const names[] = {[KILN__STEP_LOOP] = "loop",
                                        [KILN__STEP_REDUCE] = "reduction",
                                        [KILN__STEP_ROW] = "row program",
                                        [KILN__STEP_CUSTOM] = "custom kernel",
                                        [KILN__STEP_CUSTOM_REDUCE] = "custom reduction",
                                        [KILN__STEP_OPAQUE] = "library call",
                                        [KILN__STEP_PARTS] = "copies"};
    return names[kind];
}

static void put_axes(const kiln_axes *axes, kiln__buf *out)
{
    kiln__buf_puts(out, axes->count == 1 ? " along axis " : " along axes ");
    for (int a = 0; a < axes->count; a++)
        kiln__buf_printf(out, "%s%d", a > 0 ? ", " : "", axes->axis[a]);
}

static void put_params(const kiln__ir *ir, const kiln__step *s, bool outputs, kiln__buf *out)
{
    const size_t first = outputs ? s->input_count : 0;
    const size_t last = outputs ? s->param_count : s->input_count;
    kiln__buf_puts(out, outputs ? "   writes " : "   reads  ");
    if (first == last)
        kiln__buf_puts(out, "nothing");
    for (size_t p = first, told = 0; p < last; p++) {
        const kiln__step_param *param = &s->params[p];
        if (param->again || param->kind == KILN__VALUE_REPORT)
            continue;
        if (told++ > 0)
            kiln__buf_puts(out, ", ");
        put_value(ir, param, out);
        if (param->kind == KILN__VALUE_SCALAR || param->kind == KILN__VALUE_NUMBER)
            continue;
        kiln__buf_printf(out, " %s ", kiln_dtype_name(param->dtype));
        put_bytes(out, param->bytes);
        if (!param->whole)
            kiln__buf_puts(out, " (view)");
    }
    kiln__buf_putc(out, '\n');
}

/* What the step computes in a wider dtype than some of its operands have. */
static void put_widened(const kiln__program *program, const kiln__step *s, kiln__buf *out)
{
    for (size_t k = 0; k < s->node_count; k++)
        for (size_t w = 0; w < program->widened_count; w++)
            if (program->widened[w].node == s->nodes[k])
                kiln__buf_printf(out, "   note   %s\n", program->widened[w].text);
}

void kiln__program_explain(const kiln__ir *ir, const kiln__program *program, kiln__buf *out)
{
    int64_t bytes = 0;
    for (size_t s = 0; s < program->step_count; s++)
        bytes += program->steps[s].bytes_read + program->steps[s].bytes_written;
    kiln__buf_printf(out, "graph \"%s\": %zu kernel%s, ", ir->name, program->step_count,
                     program->step_count == 1 ? "" : "s");
    put_bytes(out, bytes);
    kiln__buf_puts(out, " moved");
    if (program->temp_count > 0)
        kiln__buf_printf(out, ", %zu temporar%s", program->temp_count,
                         program->temp_count == 1 ? "y" : "ies");
    kiln__buf_putc(out, '\n');
    for (size_t s = 0; s < program->step_count; s++) {
        const kiln__step *step = &program->steps[s];
        kiln__buf_printf(out, "%zu. %s over ", s, kind_name(step->kind));
        put_shape(out, step->rank, step->shape);
        if (step->axes.count > 0)
            put_axes(&step->axes, out);
        kiln__buf_printf(out, " - %s\n", step->why != NULL ? step->why : "");
        put_params(ir, step, false, out);
        put_params(ir, step, true, out);
        put_widened(program, step, out);
    }
}

/* ---- DOT ------------------------------------------------------------------------------------- */

/* For each recorded node the first kernel that computes it, counted from 1; 0: none does. */
static uint32_t *kernels_of_nodes(const kiln__ir *ir, const kiln__program *program)
{
    uint32_t *kernel = kiln__calloc(ir->node_count, sizeof *kernel);
    for (size_t s = program->step_count; kernel != NULL && s-- > 0;)
        for (size_t k = 0; k < program->steps[s].node_count; k++)
            kernel[program->steps[s].nodes[k]] = (uint32_t)s + 1;
    return kernel;
}

static void put_node(const kiln__ir *ir, uint32_t id, const char *indent, kiln__buf *out)
{
    const kiln__node *n = &ir->nodes[id];
    char what[96];
    const char *label = kiln__ir_what(ir, id, what);
    if (n->kind == KILN__NODE_CONSTANT) {
        if (n->number.kind == 'f')
            snprintf(what, sizeof what, "%g", n->number.value.f);
        else if (n->number.kind == 'c')
            snprintf(what, sizeof what, "%g%+gj", n->number.value.c[0], n->number.value.c[1]);
        else if (n->number.kind == 'b')
            snprintf(what, sizeof what, "%s", n->number.value.b ? "true" : "false");
        else
            snprintf(what, sizeof what, "%lld", (long long)n->number.value.i);
        label = what;
    } else if (n->kind == KILN__NODE_INPUT) {
        label = ir->inputs[n->input].name;
    }
    kiln__buf_printf(out, "%sn%u [label=\"", indent, id);
    for (const char *c = label; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            kiln__buf_putc(out, '\\');
        kiln__buf_putc(out, *c);
    }
    kiln__buf_printf(out, "\"%s];\n", n->kind == KILN__NODE_INPUT ? ", shape=box" : "");
}

/* Which recorded nodes an output needs. */
static bool *wanted_nodes(const kiln__ir *ir)
{
    bool *wanted = kiln__calloc(ir->node_count, sizeof *wanted);
    if (wanted == NULL)
        return NULL;
    for (uint32_t k = 0; k < ir->output_count; k++)
        wanted[ir->outputs[k].node] = true;
    for (uint32_t id = ir->node_count; id-- > 1;)
        for (uint32_t k = 0; wanted[id] && k < ir->nodes[id].operand_count; k++)
            wanted[ir->edges[ir->nodes[id].operands + k]] = true;
    return wanted;
}

void kiln__program_dot(const kiln__ir *ir, const kiln__program *program, kiln__buf *out)
{
    bool *wanted = wanted_nodes(ir);
    uint32_t *kernel = kernels_of_nodes(ir, program);
    if (wanted == NULL || kernel == NULL) {
        out->failed = true;
        kiln__free(wanted);
        kiln__free(kernel);
        return;
    }
    kiln__buf_printf(out, "digraph \"%s\" {\n    node [fontname=\"sans-serif\"];\n", ir->name);
    for (size_t s = 0; s < program->step_count; s++) {
        kiln__buf_printf(out,
                         "    subgraph cluster_%zu {\n        label=\"kernel %zu: %s\";\n"
                         "        style=rounded;\n",
                         s, s, kind_name(program->steps[s].kind));
        for (uint32_t id = 1; id < ir->node_count; id++)
            if (wanted[id] && kernel[id] == s + 1)
                put_node(ir, id, "        ", out);
        kiln__buf_puts(out, "    }\n");
    }
    for (uint32_t id = 1; id < ir->node_count; id++)
        if (wanted[id] && kernel[id] == 0)
            put_node(ir, id, "    ", out);
    for (uint32_t id = 1; id < ir->node_count; id++)
        for (uint32_t k = 0; wanted[id] && k < ir->nodes[id].operand_count; k++)
            kiln__buf_printf(out, "    n%u -> n%u;\n", ir->edges[ir->nodes[id].operands + k], id);
    for (uint32_t k = 0; k < ir->output_count; k++)
        kiln__buf_printf(out, "    out%u [label=\"%s\", shape=box];\n    n%u -> out%u;\n", k,
                         ir->outputs[k].name, ir->outputs[k].node, k);
    kiln__buf_puts(out, "}\n");
    kiln__free(wanted);
    kiln__free(kernel);
}
