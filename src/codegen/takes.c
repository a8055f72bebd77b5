/*
 * takes.c - inputs that are taken by index: the element that indices name.
 *
 *     definition + variant > [takes] > emit
 *
 *     const float of_w = kiln_at(w.kiln__data, kiln_at_noted(at, w.shape()[0], w.strides()[0], ...));
 *
 * emit.c calls this file. fusion/text_gather.c writes the same of the gathers of a graph. Test: test_take.
 */
#include "codegen/emit.h"

bool kiln__is_taken(const emitter *e, size_t p)
{
    return e->def->params[p].taken > 0;
}

bool kiln__take_is_noted(const emitter *e, size_t p)
{
    int checked = 0;

    for (size_t q = 0; q < e->def->input_count; q++)
        checked += e->def->params[q].take_mode == KILN__TAKE_CHECK ? e->def->params[q].taken : 0;
    return e->def->params[p].taken > 0 && e->def->params[p].take_mode == KILN__TAKE_CHECK &&
           checked <= KILN__NOTED_MAX;
}

/* What is told of an index out of range: the report, the axis, the element that uses it, the names. */
static void put_told(const emitter *e, int k, const char *element, kiln__buf *out)
{
    const kiln__param *p = &e->def->params[e->p];

    kiln__buf_printf(out, "kiln__a.report, %d, %s\"input `%s`\", \"input `%s`\"", k, element, p->name,
                     e->def->params[p->by[k]].name);
}

/* The variables in which indices of an input are noted. */
static void put_notes(const emitter *e, kiln__buf *out)
{
    const kiln__param *p = &e->def->params[e->p];

    for (int k = 0; k < p->taken; k++) {
        kiln__buf_printf(out, "kiln_noted<%s> kiln__bad_%s_%d(%s.shape()[%d], ",
                         kiln_dtype_ctype((kiln_dtype)e->v->dtype[p->by[k]]), p->name, k, p->name, k);
        put_told(e, k, "", out);
        kiln__buf_puts(out, k + 1 < p->taken ? "); " : ");");
    }
}

/* The element of an input that its indices name. */
static void put_taken(const emitter *e, kiln__buf *out)
{
    static const char *const modes[] = {
        [KILN__TAKE_CHECK] = "check", [KILN__TAKE_WRAP] = "wrap", [KILN__TAKE_CLIP] = "clip"};
    const kiln__param *p = &e->def->params[e->p];
    const bool noted = kiln__take_is_noted(e, e->p);

    kiln__buf_printf(out, "kiln_at(%s.kiln__data, ", p->name);
    for (int k = 1; k < p->taken; k++)
        kiln__buf_puts(out, "kiln_at_both(");
    for (int k = 0; k < p->taken; k++) {
        kiln__buf_printf(out, "%skiln_at_%s(%s, %s.shape()[%d], %s.strides()[%d]", k > 0 ? ", " : "",
                         noted ? "noted" : modes[p->take_mode], e->def->params[p->by[k]].name, p->name, k,
                         p->name, k);
        if (p->take_mode == KILN__TAKE_CHECK) {
            kiln__buf_puts(out, ", ");
            put_told(e, k, e->def->family->maps ? "-1, " : "(long long)i, ", out);
        }
        if (noted)
            kiln__buf_printf(out, ", kiln__bad_%s_%d", p->name, k);
        kiln__buf_puts(out, k > 0 ? "))" : ")");
    }
    kiln__buf_puts(out, ")");
}

bool kiln__takes_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out)
{
    if (kiln__same_word(name, bytes, "p.taken"))
        put_taken(e, out);
    else if (kiln__same_word(name, bytes, "p.notes"))
        put_notes(e, out);
    else
        return false;
    return true;
}
