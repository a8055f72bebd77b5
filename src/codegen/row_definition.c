/*
 * row_definition.c - the part of a definition that only row programs have.
 *
 *     [definition: name > signature > scan] > bind types > plan > emit
 *
 * A stage's texts are snippets like any other (copied, scanned and diagnosed by their number); what
 * is left for here is names: of results and of the values that elements keep from stage to stage,
 * and which text mentions which parameter and value, so that a kernel loads and keeps no more than
 * it needs.
 */
#include "codegen/lexer.h"

/* Where outputs per row begin in the joined text of all outputs. */
static size_t row_column(const kiln__definition_request *request)
{
    return request->out[0] != '\0' ? strlen(request->out) + 2 : 0;
}

static bool has_row_outputs(const kiln__definition_request *request)
{
    return request->stage_count > 0 && request->row_out != NULL && request->row_out[0] != '\0';
}

kiln_status kiln__row_outputs_join(const kiln__definition_request *request, char **out,
                                   kiln_error *err)
{
    const bool joined = has_row_outputs(request);
    const size_t head = joined ? row_column(request) : strlen(request->out);
    const size_t bytes = head + (joined ? strlen(request->row_out) : 0) + 1;

    KILN_CHECK(kiln__make_room(out, bytes, err));
    snprintf(*out, bytes, "%s%s%s", request->out, joined && head > 0 ? ", " : "",
             joined ? request->row_out : "");
    return KILN_OK;
}

const char *kiln__row_text(const kiln__definition_request *request, kiln__snippet_kind kind)
{
    const size_t at = (size_t)kind - KILN__SNIPPET_STAGE, stage = at / KILN__STAGE_TEXTS;

    if (kind < KILN__SNIPPET_STAGE || stage >= request->stage_count)
        return NULL;
    const kiln_row_stage *s = &request->stages[stage];
    const char *const texts[KILN__STAGE_TEXTS] = {
        [KILN__STAGE_PREP] = s->prep,         [KILN__STAGE_MAP] = s->map,
        [KILN__STAGE_TYPE] = s->type,         [KILN__STAGE_REDUCE] = s->reduce,
        [KILN__STAGE_IDENTITY] = s->identity, [KILN__STAGE_POST] = s->post};
    return texts[at % KILN__STAGE_TEXTS];
}

static kiln_status copy_name(const kiln__definition *def, const char *what, const char *text,
                             char **out, kiln_error *err)
{
    if (text == NULL || text[0] == '\0')
        return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": the %s is missing", def->name, what);
    *out = kiln__strdup(text);
    return *out != NULL ? KILN_OK : kiln__fail_memory(err, strlen(text) + 1);
}

kiln_status kiln__row_copy(const kiln__definition_request *request, kiln__definition *def,
                           kiln_error *err)
{
    if (request->stage_count > KILN__STAGE_MAX || request->value_count > KILN__VALUE_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kernel \"%s\": %zu stages and %zu values; at most %d and %d", def->name,
                          request->stage_count, request->value_count, KILN__STAGE_MAX,
                          KILN__VALUE_MAX);
    KILN_CHECK(kiln__make_zeroed(&def->rows, 1, sizeof *def->rows, err));
    for (size_t s = 0; s < request->stage_count; s++) {
        static const kiln__stage_text needed[] = {KILN__STAGE_MAP, KILN__STAGE_TYPE,
                                                  KILN__STAGE_REDUCE};
        KILN_CHECK(copy_name(def, "name of a stage's result", request->stages[s].result,
                             &def->rows->result[s], err));
        def->rows->stage_count++;
        for (size_t t = 0; t < KILN_COUNT_OF(needed); t++) {
            const kiln__snippet_kind kind = kiln__stage_snippet(s, needed[t]);
            if (def->snippet[kind][0] != '\0')
                continue;
            return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": %s is missing", def->name,
                              kiln__snippet_name(kind));
        }
    }
    for (size_t v = 0; v < request->value_count; v++) {
        KILN_CHECK(copy_name(def, "name of a value", request->values[v].name,
                             &def->rows->value_name[v], err));
        KILN_CHECK(copy_name(def, "type of a value", request->values[v].type,
                             &def->rows->value_type[v], err));
        def->rows->value_count++;
    }
    return KILN_OK;
}

/* Results and values, numbered as one list. */
static const char *name_at(const kiln__row_program *rows, size_t nth)
{
    return nth < rows->stage_count ? rows->result[nth] : rows->value_name[nth - rows->stage_count];
}

static kiln_status check_name(const kiln__definition *def, size_t nth, kiln_error *err)
{
    const char *name = name_at(def->rows, nth), *why = NULL;

    if (!kiln__is_identifier(name))
        why = "is no C++ identifier";
    else if (kiln__is_cpp_keyword(name))
        why = "is a keyword of C++";
    else if (strncmp(name, "kiln__", 6) == 0)
        why = "begins as the names in generated source do";
    else if (strcmp(name, "n") == 0)
        why = "is the length of a row";
    for (size_t p = 0; p < def->param_count && why == NULL; p++)
        if (strcmp(name, def->params[p].name) == 0)
            why = "is the name of a parameter, too";
    for (size_t k = 0; k < nth && why == NULL; k++)
        if (strcmp(name, name_at(def->rows, k)) == 0)
            why = "is given twice";
    return why == NULL ? KILN_OK
                       : kiln__fail(err, KILN_ERR_NAME, "kernel \"%s\": the name \"%.100s\" %s",
                                    def->name, name, why);
}

kiln_status kiln__row_check(const kiln__definition_request *request, kiln__definition *def,
                            kiln_error *err)
{
    for (size_t p = def->input_count; p < def->param_count; p++) {
        kiln__param *param = &def->params[p];
        param->row = has_row_outputs(request) && param->column >= row_column(request);
    }
    for (size_t k = 0; k < def->rows->stage_count + def->rows->value_count; k++) {
        KILN_CHECK(check_name(def, k, err));
    }
    return KILN_OK;
}

/* Whether stage `s` (stage_count: op) mentions `word` where it runs per element. */
static bool stage_mentions(const kiln__definition *def, const kiln__scan *scan, size_t s,
                           const char *word)
{
    if (s == def->rows->stage_count)
        return kiln__tokens_mention(&scan->text[KILN__SNIPPET_OP], word);
    return kiln__tokens_mention(&scan->text[kiln__stage_snippet(s, KILN__STAGE_PREP)], word) ||
           kiln__tokens_mention(&scan->text[kiln__stage_snippet(s, KILN__STAGE_MAP)], word);
}

/* Bits of what each stage mentions. A macro may stand for anything, so with macros all count. */
static void find_uses(kiln__definition *def, const kiln__scan *scan)
{
    kiln__row_program *rows = def->rows;
    kiln__macro macro;
    size_t which = 0, at = 0;
    const bool all = def->includes || kiln__macro_next(scan, &which, &at, &macro);

    for (size_t s = 0; s <= rows->stage_count; s++) {
        for (size_t p = 0; p < def->param_count; p++)
            if (all || stage_mentions(def, scan, s, def->params[p].name))
                rows->param_uses[s] |= (uint64_t)1 << p;
        for (size_t v = 0; v < rows->value_count; v++)
            if (all || stage_mentions(def, scan, s, rows->value_name[v]))
                rows->value_uses[s] |= (uint32_t)1 << v;
        if (s < rows->stage_count &&
            (kiln__tokens_are_heavy(&scan->text[kiln__stage_snippet(s, KILN__STAGE_PREP)]) ||
             kiln__tokens_are_heavy(&scan->text[kiln__stage_snippet(s, KILN__STAGE_MAP)])))
            rows->heavy |= 1u << s;
    }
}

kiln_status kiln__row_scan(kiln__definition *def, const struct kiln__scan *scan, kiln_error *err)
{
    bool first[KILN_PARAM_MAX];
    kiln__scan per_row = *scan;

    find_uses(def, scan);
    def->uses_index = def->uses_indexer = false; /* there is no `i` here */
    def->uses_number[KILN__NUMBER_POSITION] = kiln__definition_uses(def, "_J");
    for (size_t p = 0; p < def->param_count; p++) {
        if (strcmp(def->params[p].name, "_J") == 0)
            def->uses_number[KILN__NUMBER_POSITION] = false;
        def->params[p].by_address = false; /* elements are in registers in any case */
        first[p] = def->params[p].read_first;
    }
    /* Outputs per element are assigned by op, which the scan has looked at; those per row by post. */
    per_row.statements = KILN__SNIPPET_POST;
    kiln_status status = kiln__assign_scan(def, &per_row, err);
    for (size_t p = 0; p < def->param_count && status == KILN_OK; p++)
        if (!def->params[p].row)
            def->params[p].read_first = first[p];
    return status;
}

void kiln__row_clear(kiln__definition *def)
{
    if (def->rows == NULL)
        return;
    for (size_t s = 0; s < KILN__STAGE_MAX; s++)
        kiln__free(def->rows->result[s]);
    for (size_t v = 0; v < KILN__VALUE_MAX; v++) {
        kiln__free(def->rows->value_name[v]);
        kiln__free(def->rows->value_type[v]);
    }
    kiln__free(def->rows);
    def->rows = NULL;
}
