/*
 * text.c - expressions as statements of a kernel.
 *
 *     write > text_loop, text_reduce, text_rows > [text > text_snippet > names, values]
 *
 * The body of a kernel is a list of plain statements, one for each operation. Its parameters have
 * the names of the graph's inputs and outputs:
 *
 *     const float t1 = x * x;
 *     const float t2 = sqrt(t1);
 *     z = t2;
 *
 * Rule: a text depends on lowered nodes and on the order of axes, never on extents, so that calls
 *       with other shapes share kernels.
 *
 * Tests: test_graph_loop, test_graph_plan.
 */
#include <math.h>
#include <stdlib.h>

#include "fusion/write.h"

/* Exponents of the numbers by which kiln_quotient_by() divides. */
enum { QUOTIENT_EXPONENTS = 60 };

enum { DIVISOR_STEPS = 6 }; /* from a divisor back to what a row program reduces: sqrt(mean + eps) and more */

/* ---- positions ------------------------------------------------------------------------------- */

/* Whether the coefficients of a position are `factor` times those of the loop's linear index, in
 * the order that the axes have now. */
bool kiln__is_linear(const kiln__writer *w, const int64_t *coef, int64_t *factor)
{
    int64_t step = 1;
    bool known = false;
    *factor = 0;
    for (int a = w->rank - 1; a >= 0; a--) {
        if (w->shape[a] == 1)
            continue;
        if (!known)
            *factor = coef[a];
        known = true;
        int64_t want;
        if (kiln__mul_overflow(*factor, step, &want) || coef[a] != want ||
            kiln__mul_overflow(step, w->shape[a], &step))
            return false;
    }
    return true;
}

/* Whether the kernel numbers its elements in C-order. A reduction does where all reduced axes stand
 * before the others: its `_j` counts results first. */
static bool numbers_in_order(const kiln__writer *w)
{
    const kiln__plan_kernel *k = w->kernel;
    bool kept = false;

    if (k->kind != KILN__STEP_REDUCE || k->reduced == NULL)
        return true;
    for (int a = 0; a < k->rank; a++) {
        if (k->shape[a] == 1)
            continue;
        if (k->reduced[a] && kept)
            return false;
        kept = kept || !k->reduced[a];
    }
    return true;
}

static const char *position_text(kiln__writer *w, const kiln__lowered *n, const kiln__axis_map *map)
{
    const bool loop = w->kernel->kind == KILN__STEP_LOOP;
    kiln__buf *text = &w->b->scratch[KILN__BUF_TEXT];
    int64_t coef[KILN_RANK_MAX] = {0}, start = 0, factor;

    for (int a = 0; a < n->rank; a++) {
        start += n->coef[a] * map[a].start;
        if (map[a].from >= 0)
            coef[map[a].from] += n->coef[a] * map[a].step;
    }
    if (w->dry && !w->has_iota)
        memcpy(w->iota, coef, sizeof coef);
    w->has_iota = true;
    if (w->dry)
        return "";
    kiln__buf_printf(text, "%lldll", (long long)start);
    if (kiln__is_linear(w, coef, &factor) && (factor == 0 || numbers_in_order(w))) {
        if (factor != 0)
            kiln__buf_printf(text, " + %lldll * %s", (long long)factor, loop ? "i" : "_j");
        w->numbered = w->numbered || factor != 0;
        return kiln__build_note_text(w->b, text);
    }
    w->numbered = true;
    for (int a = 0; a < w->rank; a++)
        if (coef[a] != 0 && w->shape[a] != 1)
            kiln__buf_printf(text, " + %lldll * %s.get()[%d]", (long long)coef[a],
                             loop ? "_ind" : "_in_ind", a);
    w->uses_tuple = true;
    return kiln__build_note_text(w->b, text);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static const char *statement(kiln__writer *w, kiln_dtype dtype, const char *expression)
{
    const char *name = kiln__next_name(w);
    kiln__buf *body = &w->b->scratch[w->body];
    kiln__buf_puts(body, "const ");
    kiln__buf_puts(body, kiln_dtype_ctype(dtype));
    kiln__buf_putc(body, ' ');
    kiln__buf_puts(body, name);
    kiln__buf_puts(body, " = ");
    kiln__buf_puts(body, expression);
    kiln__buf_puts(body, ";\n");
    w->operations++;
    return name;
}

static kiln__reused *find_reused(const kiln__writer *w, uint32_t low, const kiln__axis_map *map);
static const char *value_statement(kiln__writer *w, kiln_dtype dtype, const char *expression);

/* Whether operand k of a node is a 16-bit float that is negated, and read as a float: changing the
 * sign of the float costs no instruction, so the operand's own operand is written, and negated
 * there. */
static bool is_negated_float(const kiln__writer *w, const kiln__lowered *n, uint32_t k)
{
    const kiln__lowered *o = &w->b->lowered[n->operand[k]];

    return n->kind == KILN__LOWERED_EXPR && o->kind == KILN__LOWERED_EXPR &&
           strstr(n->loop.expression, "(float($0))") != NULL &&
           strcmp(o->loop.expression, "kiln_half_negative($0)") == 0 &&
           kiln__inlined(w->b, w->kernel, n->operand[k]);
}

/* `map` leads from the loop to the negated node. */
static const char *negated_text(kiln__writer *w, const kiln__lowered *negated,
                                const kiln__axis_map *map)
{
    const kiln__lowered *o = &w->b->lowered[negated->operand[0]];
    kiln__axis_map *through = kiln__build_note(w->b, (size_t)o->rank * sizeof *through + 1);
    kiln__buf *text = &w->b->scratch[KILN__BUF_TEXT];

    kiln__broadcast_map(o, negated->rank, negated->shape, through);
    kiln__compose(map, through, o->rank, through);
    const char *operand = kiln__operand_text(w, negated->operand[0], through, false);
    kiln__buf_printf(text, "-float(%s)", operand);
    return kiln__build_note_text(w->b, text);
}

/* Whether elements of a row may have different values of a lowered node: `map` says how the loop's axes
 * lead to its own ones. What is one for the whole row needs no register of each element. */
static bool moves_along_row(const kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    for (int a = 0; a < w->b->lowered[low].rank; a++)
        if (map[a].from >= 0 && map[a].step != 0 && w->kernel->reduced[map[a].from])
            return true;
    return false;
}

/* Whether a lowered node follows, in a few steps, from a reduction. */
static bool follows_reduction(const kiln__writer *w, uint32_t low, int steps)
{
    const kiln__lowered *n = &w->b->lowered[low];
    bool follows = n->kind == KILN__LOWERED_REDUCE;

    for (uint32_t k = 0; steps > 0 && k < n->operand_count; k++)
        follows = follows || follows_reduction(w, n->operand[k], steps - 1);
    return follows;
}

/* Whether a node of a row program divides elements of float32 by what is one for the row. On a GPU that is
 * done by the reciprocal, which is computed once. The compiler finds no quotient of this kind again that an
 * earlier stage has computed, so that elements keep it, as they keep what functions return. */
static bool divides_by_row(const kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    const kiln__lowered *n = &w->b->lowered[low];
    bool moves[2];

    if (w->kernel->kind != KILN__STEP_ROW || w->b->target->backend != KILN_BACKEND_CUDA ||
        n->kind != KILN__LOWERED_EXPR || n->loop.type != KILN_FLOAT32 ||
        !n->loop.divides || !follows_reduction(w, n->operand[1], DIVISOR_STEPS))
        return false;
    for (int k = 0; k < 2; k++) {
        const kiln__lowered *o = &w->b->lowered[n->operand[k]];
        kiln__axis_map *through = kiln__build_note(w->b, (size_t)o->rank * sizeof *through + 1);
        kiln__broadcast_map(o, n->rank, n->shape, through);
        kiln__compose(map, through, o->rank, through);
        moves[k] = moves_along_row(w, n->operand[k], through);
    }
    return moves[0] && !moves[1];
}

/* Whether a node of a loop divides float32 elements by a number for which a GPU is quicker to correct a
 * product. Powers of two are products already, and the rest of the numbers are those that the function is
 * right for. */
static bool divides_by_number(const kiln__writer *w, const kiln__lowered *n)
{
    int exponent = 0;

    if (w->kernel->kind != KILN__STEP_LOOP || w->b->target->backend != KILN_BACKEND_CUDA ||
        n->kind != KILN__LOWERED_EXPR || n->loop.type != KILN_FLOAT32 || !n->loop.divides)
        return false;
    const kiln__lowered *by = &w->b->lowered[n->operand[1]];
    if (by->kind != KILN__LOWERED_CONST || w->b->lowered[n->operand[0]].kind == KILN__LOWERED_CONST)
        return false;
    const float value = (float)kiln__number_as(&by->number, KILN_FLOAT64).value.f;
    return isfinite(value) && fabsf(frexpf(value, &exponent)) > 0.5f &&
           abs(exponent) < QUOTIENT_EXPONENTS;
}

static const char *computed_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    kiln__build *b = w->b;
    const kiln__lowered *n = &b->lowered[low];
    kiln__buf *text = &b->scratch[KILN__BUF_TEXT];
    const size_t arity =
        n->operand_count < KILN__OP_ARITY_MAX ? KILN__OP_ARITY_MAX : n->operand_count;
    const char **operands = kiln__build_note(b, arity * sizeof *operands);

    for (uint32_t k = n->kind == KILN__LOWERED_GATHER; k < n->operand_count; k++) {
        const kiln__lowered *o = &b->lowered[n->operand[k]];
        kiln__axis_map *through = kiln__build_note(b, (size_t)o->rank * sizeof *through + 1);
        kiln__broadcast_map(o, n->rank, n->shape, through);
        kiln__compose(map, through, o->rank, through);
        operands[k] = is_negated_float(w, n, k)
                          ? negated_text(w, o, through)
                          : kiln__operand_text(w, n->operand[k], through, false);
    }
    if (n->kind == KILN__LOWERED_GATHER) {
        const char *element = kiln__gather_text(w, low, map, operands);
        return w->dry ? "" : statement(w, n->dtype, element);
    }
    if (w->dry || n->kind == KILN__LOWERED_STORE)
        return w->dry ? "" : operands[0];
    const char *expression = NULL;
    if (n->kind == KILN__LOWERED_SNIPPET)
        expression = kiln__snippet_text(w, low, map, operands);
    else if (n->kind == KILN__LOWERED_CAST)
        kiln__cast_text(text, b->lowered[n->operand[0]].dtype, n->dtype, operands[0]);
    else if (divides_by_number(w, n))
        kiln__buf_printf(text, "kiln_quotient_by(%s, %s)", operands[0], operands[1]);
    else if (divides_by_row(w, low, map))
        kiln__buf_printf(text, "kiln_row_quotient(%s, %s)", operands[0], operands[1]);
    else
        kiln__op_text(text, &n->loop, operands);
    if (expression == NULL)
        expression = kiln__build_note_text(b, text);
    const kiln__reused *reused =
        w->reused_count > 0 && w->body == KILN__BUF_BODY ? find_reused(w, low, map) : NULL;
    if (reused != NULL && reused->again && w->value_count < KILN__VALUE_MAX)
        return value_statement(w, n->dtype, expression);
    return n->kind == KILN__LOWERED_SNIPPET ? expression : statement(w, n->dtype, expression);
}

/* ---- row programs: what is computed once a row, and what elements keep ---- */

/* Whether a lowered node is computed from results of the row program alone, and so has one value
 * for each row. */
static bool is_of_row(const kiln__writer *w, uint32_t low)
{
    const kiln__lowered *n = &w->b->lowered[low];
    if (n->kind == KILN__LOWERED_CONST || n->kind == KILN__LOWERED_SCALAR)
        return true;
    if (n->kind == KILN__LOWERED_REDUCE)
        return w->b->row_parts[low].rows == w->kernel->rows;
    if (n->kind != KILN__LOWERED_VIEW && !kiln__inlined(w->b, w->kernel, low))
        return false;
    for (uint32_t k = 0; k < n->operand_count; k++)
        if (!is_of_row(w, n->operand[k]))
            return false;
    return true;
}

static kiln__reused *find_reused(const kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    for (size_t k = 0; k < w->reused_count; k++)
        if (w->reused[k].low == low &&
            kiln__same_map(w->reused[k].map, map, w->b->lowered[low].rank))
            return &w->reused[k];
    return NULL;
}

/* In the pass that only counts uses: whether an earlier stage has computed this function, so that
 * its operands need not be visited again. */
static bool was_computed(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    kiln__reused *known = find_reused(w, low, map);
    if (known != NULL) {
        known->again = known->again || known->stage != w->stage;
        return true;
    }
    w->reused = kiln__build_reserve(w->b, w->reused, w->reused_count, &w->reused_capacity,
                                    sizeof *w->reused);
    map = kiln__build_copy(w->b, map, (size_t)w->b->lowered[low].rank * sizeof *map);
    w->reused[w->reused_count++] = (kiln__reused){low, map, w->stage, false};
    return false;
}

/* Keep the result of a statement as a value of the element: a variable that is declared outside of
 * the stages and lives through all of them. */
static const char *value_statement(kiln__writer *w, kiln_dtype dtype, const char *expression)
{
    const char *name = kiln__next_name(w);
    name = kiln__build_copy(w->b, name, strlen(name) + 1); /* it belongs to the definition */
    w->values[w->value_count++] = (kiln_row_value){kiln_dtype_ctype(dtype), name};
    kiln__buf_printf(&w->b->scratch[w->body], "%s = %s;\n", name, expression);
    w->operations++;
    return name;
}

/* Write what a row program computes: once for each row where the operands allow it, otherwise once
 * for each element. */
static const char *row_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map)
{
    const int body = w->body;
    const kiln__fact *fact = &w->b->facts[low];
    if (body == KILN__BUF_BODY && fact->reduces && is_of_row(w, low))
        w->body = KILN__BUF_ROW;
    else if (body == KILN__BUF_BODY && w->dry &&
             (fact->calls || divides_by_row(w, low, map)) && moves_along_row(w, low, map) &&
             was_computed(w, low, map))
        return "";
    const char *text = computed_text(w, low, map);
    kiln__name_lowered(w, low, map, text); /* in the scope that it was computed in */
    for (size_t v = 0; v < w->value_count; v++)
        if (strcmp(w->values[v].name, text) == 0)
            w->seen[w->seen_count - 1].lasting = true;
    w->body = body;
    return text;
}

const char *kiln__operand_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map, bool root)
{
    kiln__build *b = w->b;
    kiln__lowered *n = &b->lowered[low];
    const char *text = kiln__find_named(w, low, map);

    if (text != NULL)
        return text;
    if (n->kind == KILN__LOWERED_VIEW) {
        const kiln__lowered *o = &b->lowered[n->operand[0]];
        kiln__axis_map *through = kiln__build_note(b, (size_t)o->rank * sizeof *through + 1);
        kiln__compose(map, n->map, o->rank, through);
        return kiln__operand_text(w, n->operand[0], through, false);
    }
    if (n->kind == KILN__LOWERED_CONST) {
        kiln__number_text(&b->scratch[KILN__BUF_TEXT], &n->number, n->dtype);
        text = kiln__build_note_text(b, &b->scratch[KILN__BUF_TEXT]);
    } else if (n->kind == KILN__LOWERED_IOTA) {
        text = position_text(w, n, map);
        text = w->dry ? text : statement(w, n->dtype, text);
    } else if (root || kiln__inlined(w->b, w->kernel, low)) {
        text =
            w->kernel->kind == KILN__STEP_ROW ? row_text(w, low, map) : computed_text(w, low, map);
    } else if (w->dry) {
        b->values[low].read = true;
        text = "";
    } else {
        text = kiln__input_param(w, low, map);
    }
    kiln__name_lowered(w, low, map, text);
    return text;
}
