/*
 * copies.c - kernels whose outputs are inputs, byte for byte, as those are that put arrays together.
 *
 *     definition > [is every output a copy?] > plan > [words?] > emit > templates/cuda/words.cu
 *
 * Rows of such arrays often begin at places that allow narrow accesses only, and in each array at another place. A
 * GPU then moves aligned words of 16 bytes: a thread puts the word of an output together from two words of the input.
 *
 * Rule: a kernel loads no byte outside of the rows of its inputs and stores none outside of those of its outputs, for
 *       parts of one array are written by several kernels and blocks at a time.
 *
 * uses.c, plan.c and emit.c call this file. Tests: test_copies, test_scan, test_plan, test_golden.
 */
#include "codegen/emit.h"
#include "codegen/lexer.h"
#include "codegen/walk.h"

/* The fewest bytes of a row, the bytes of a word, and the most outputs, whose words a thread holds at a time. */
enum { ROW_BYTES_MIN = 512, WORD_BYTES = 16, OUTPUTS_MAX = 8, STRIDES_MAX = 256 };

/* Rows of elements of 4 bytes and more are as quick by elements that are stored line by line, and shorter ones quicker,
 * but where an input is stored several times: the lines are those of one output (bench/results/random-h200.txt). */
enum { WIDE_ITEM = 4, WIDE_ROW_BYTES_MIN = 1 << 16 };

/* The parameter that token `nth` names; the number of parameters where it names none. */
static size_t param_at(const kiln__definition *def, const kiln__tokens *t, size_t nth)
{
    size_t p = 0;

    while (p < def->param_count && !kiln__token_is(t, nth, def->params[p].name))
        p++;
    return p;
}

/* The tokens of what follows `to =` where it is an input, or an input as a value of the output's own placeholder, and the
 * number of that input; 0 where it is neither. */
static size_t read_source(const kiln__definition *def, const kiln__tokens *t, size_t nth, size_t to, size_t *from)
{
    const char *word = kiln__word_at(t, nth);
    const bool converted = word != NULL && word[0] == def->params[to].placeholder && word[1] == '\0' &&
                           kiln__token_is(t, nth + 1, "(");

    *from = param_at(def, t, converted ? nth + 2 : nth);
    if (*from == def->param_count || (converted && !kiln__token_is(t, nth + 3, ")")))
        return 0;
    return converted ? 4 : 1;
}

void kiln__copies_scan(kiln__definition *def, const kiln__scan *scan)
{
    const kiln__tokens *t = &scan->text[KILN__SNIPPET_OP];
    size_t outputs = 0, k = 0;

    for (size_t s = 0; s < KILN__SCAN_COUNT; s++)
        if (s != KILN__SNIPPET_OP && scan->text[s].count > 0)
            return;
    if (!def->family->lists || t->doubtful || t->includes)
        return;
    while (k < t->count) {
        const size_t to = param_at(def, t, k);
        size_t from = 0, read = 0;
        if (to < def->param_count && kiln__token_is(t, k + 1, "="))
            read = read_source(def, t, k + 2, to, &from);
        if (read == 0 || !def->params[to].output || def->params[from].output || def->params[to].copy_of != 0)
            return;
        def->params[to].copy_of = (uint8_t)(from + 1);
        outputs++;
        k += 2 + read;
        if (k < t->count && !kiln__token_is(t, k++, ";"))
            return;
    }
    def->copies = outputs > 0 && outputs == def->param_count - def->input_count;
}

/* Whether all parameters are arrays of elements of one size that are neighbours on the last axis, and each output has the
 * dtype of what is copied to it. */
static bool can_move_words(const kiln__definition *def, const kiln__variant *v)
{
    const size_t item = kiln_dtype_size((kiln_dtype)v->dtype[0]);

    if (v->backend != KILN_BACKEND_CUDA || !def->copies || item >= WORD_BYTES ||
        def->param_count - def->input_count > OUTPUTS_MAX)
        return false;
    for (size_t p = 0; p < def->param_count; p++) {
        const kiln__param *param = &def->params[p];
        if (v->access[p] != KILN__ACCESS_VECTOR || param->by_address || param->taken != 0 ||
            kiln_dtype_size((kiln_dtype)v->dtype[p]) != item ||
            (param->output && v->dtype[p] != v->dtype[param->copy_of - 1]))
            return false;
    }
    return true;
}

bool kiln__words_are_valid(const kiln__definition *def, const kiln__variant *v)
{
    return v->layout == KILN__LAYOUT_INNER && v->vec == 1 && v->unroll == 1 && can_move_words(def, v);
}

void kiln__words_choose(const kiln__walk *w, const kiln__definition *def, unsigned flags, kiln__variant *v)
{
    const int item = (int)kiln_dtype_size((kiln_dtype)v->dtype[0]);
    const bool linear = v->layout == KILN__LAYOUT_LINEAR;
    const bool once = def->param_count - def->input_count <= def->input_count;
    const int least = item >= WIDE_ITEM && once ? WIDE_ROW_BYTES_MIN : ROW_BYTES_MIN;

    if ((!linear && v->layout != KILN__LAYOUT_INNER) || (linear && (flags & KILN__CALL_LISTED) != 0) ||
        !can_move_words(def, v) || item * v->vec >= WORD_BYTES || w->rank * w->count > STRIDES_MAX ||
        w->shape[w->rank - 1] * item < kiln__tuned("KILN_TUNE_WORDS", least))
        return;
    v->layout = KILN__LAYOUT_INNER;
    v->vec = v->unroll = 1;
    v->loop.lines = KILN__LINES_OF_WORDS;
}

int64_t kiln__words_of_row(int64_t elements, int item)
{
    return kiln__divide_up(elements * item + KILN__LINE - item, KILN__LINE) * (KILN__LINE / WORD_BYTES);
}

/* Whether some output is an input as well: an expression over the addresses. */
static void put_meetings(const emitter *e, kiln__buf *out)
{
    const char *before = "";

    for (size_t w = e->def->input_count; w < e->def->param_count; w++)
        for (size_t p = 0; p < e->def->input_count; p++) {
            kiln__buf_printf(out, "%s(const void *)kiln__a.ptr_%s == (const void *)kiln__a.ptr_%s", before,
                             e->def->params[w].name, e->def->params[p].name);
            before = " || ";
        }
}

bool kiln__copies_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out)
{
    if (!e->def->copies)
        return false;
    if (kiln__same_word(name, bytes, "item"))
        kiln__buf_put_number(out, (int64_t)kiln_dtype_size((kiln_dtype)e->v->dtype[0]));
    else if (kiln__same_word(name, bytes, "meetings"))
        put_meetings(e, out);
    else if (kiln__same_word(name, bytes, "p.source") && e->def->params[e->p].output)
        kiln__buf_puts(out, e->def->params[e->def->params[e->p].copy_of - 1].name);
    else
        return false;
    return true;
}
