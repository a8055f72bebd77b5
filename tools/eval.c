/*
 * eval.c - `kiln eval`: an expression over .npy files and numbers, as few kernels.
 *
 *     check the usage > load NAME=VALUEs > parse > run, time, explain or show source
 *
 * What it does as `kiln run` does is in job.c. The job has no signature here; its arrays are the
 * inputs, then the results.
 */
#include "job.h"

#include "graph/graph.h"

enum { INPUTS_MAX = 32 };

struct eval {
    struct job j;
    const char *text; /* the expression */
    char *names[INPUTS_MAX];
    char *typed[INPUTS_MAX]; /* "bool NAME" of arrays of bool; NULL: the name */
    size_t input_count, result_count;
    kiln_graph *graph;
};

static size_t arg_count(const struct eval *e)
{
    return e->input_count + e->result_count;
}

/* ---- usage ----------------------------------------------------------------------------------- */

/* Exactly one of these at a time. */
static int check_modes(const struct invocation *v)
{
    static const enum option_id modes[] = {OPTION_SHOW_SOURCE, OPTION_EXPLAIN, OPTION_DOT,
                                           OPTION_TIME};
    static const char *const words[] = {"--show-source", "--explain", "--dot", "--time"};
    const char *first = NULL;

    for (size_t k = 0; k < KILN_COUNT_OF(modes); k++) {
        if (invocation_get(v, modes[k]) == NULL)
            continue;
        if (first != NULL)
            return usage_error(v->command, "%s and %s exclude each other", first, words[k]);
        first = words[k];
    }
    return TOOL_DONE;
}

/* "x=a.npy": the name into e->names; the value is checked, and loaded later. */
static int check_input(struct eval *e, const char *word)
{
    const struct invocation *v = e->j.v;
    const char *value = strchr(word, '=');
    kiln_arg number;

    if (value == NULL || value == word)
        return usage_error(v->command,
                           "\"%s\" is not of the form NAME=VALUE; an expression with blanks must "
                           "stand in quotes",
                           word);
    if (!is_npy_path(value + 1) && !number_parse(value + 1, &number))
        return usage_error(v->command, "%s: \"%s\" is neither a .npy file nor a number", word,
                           value + 1);
    if (e->input_count == INPUTS_MAX)
        return usage_error(v->command, "an expression has at most %d inputs", INPUTS_MAX);
    char *name = kiln__strndup(word, (size_t)(value - word));
    for (size_t k = 0; k < e->input_count && name != NULL; k++) {
        if (strcmp(e->names[k], name) != 0)
            continue;
        kiln__free(name);
        return usage_error(v->command, "%s: this name was given before", word);
    }
    if (name == NULL) {
        kiln__fail_memory(&e->j.err, strlen(word));
        return TOOL_FAILED;
    }
    e->names[e->input_count++] = name;
    return TOOL_DONE;
}

/* Whether the expression has this name as a word of its own. */
static bool mentions(const char *text, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t length = strlen(name);

    for (const char *at = text; *at != '\0';) {
        const size_t word = strspn(at, letters);
        if (word == length && strncmp(at, name, length) == 0)
            return true;
        at += word > 0 ? word : 1;
    }
    return false;
}

/* An input that nothing uses is often one that is written in another way: tell what the
 * expression lacks, if anything. */
static int refuse_unused(struct eval *e, size_t input)
{
    const struct invocation *v = e->j.v;
    kiln_graph *graph = NULL;
    kiln_error why = KILN_ERROR_INIT;
    const bool whole = kiln__graph_from_text(NULL, e->text, (const char *const *)e->names,
                                             e->input_count, NULL, &graph, NULL, &why) == KILN_OK;
    const int result = usage_error(v->command, "%s: the expression does not use \"%s\"%s%s",
                                   v->args.items[input + 1], e->names[input], whole ? "" : "; ",
                                   whole ? "" : why.message);

    kiln_graph_destroy(graph);
    kiln_error_clear(&why);
    return result;
}

static int check_words(struct eval *e)
{
    const struct invocation *v = e->j.v;
    int result = check_modes(v);

    if (result == TOOL_DONE && v->args.count == 0)
        return usage_error(v->command, "an expression is missing");
    if (result == TOOL_DONE)
        result = job_check_time(&e->j);
    for (size_t k = 1; k < v->args.count && result == TOOL_DONE; k++)
        result = check_input(e, v->args.items[k]);
    e->text = v->args.count > 0 ? v->args.items[0] : "";
    for (size_t k = 0; k < e->input_count && result == TOOL_DONE; k++) {
        if (!mentions(e->text, e->names[k]))
            result = refuse_unused(e, k);
    }
    return result;
}

/* ---- making things --------------------------------------------------------------------------- */

/* Load the inputs, and tell the expression which of them are masks. */
static kiln_status load(struct eval *e, const char **names)
{
    struct job *j = &e->j;

    for (size_t k = 0; k < e->input_count; k++) {
        const char *value = strchr(j->v->args.items[k + 1], '=') + 1;
        KILN_CHECK(job_load(j, value, &j->arrays[k], &j->args[k]));
        names[k] = e->names[k];
        if (j->arrays[k] == NULL || kiln_array_dtype(j->arrays[k]) != KILN_BOOL)
            continue;
        const size_t bytes = strlen(e->names[k]) + sizeof "bool ";
        names[k] = e->typed[k] = kiln__alloc(bytes);
        if (e->typed[k] == NULL)
            return kiln__fail_memory(&j->err, bytes);
        snprintf(e->typed[k], bytes, "bool %s", e->names[k]);
    }
    return KILN_OK;
}

static kiln_status make(struct eval *e)
{
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    const char *names[INPUTS_MAX];
    struct job *j = &e->j;
    kiln_status status = KILN_OK;

    KILN_TRY(job_open(j));
    KILN_TRY(load(e, names));
    opts.wide = invocation_get(j->v, OPTION_WIDE) != NULL ? 1 : 0;
    /* The usual name: programs and lines of manifests that give none share their kernels with
     * us. */
    KILN_TRY(kiln_graph_parse(j->ctx, e->text, names, e->input_count, &opts, &e->graph,
                              &e->result_count, &j->err));
    if (arg_count(e) > KILN_PARAM_MAX) {
        status = kiln__fail(&j->err, KILN_ERR_ARGUMENT, "%zu inputs and results; %d are allowed",
                            arg_count(e), KILN_PARAM_MAX);
        goto done;
    }
    for (size_t k = e->input_count; k < arg_count(e); k++)
        j->args[k] = kiln_arg_out(&j->arrays[k]);
done:
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static kiln_status show_sources(struct eval *e)
{
    struct job *j = &e->j;
    size_t kernels = 0;
    kiln_status status =
        kiln_graph_kernel_count(e->graph, j->args, arg_count(e), &kernels, &j->err);
    for (size_t k = 0; k < kernels && status == KILN_OK; k++) {
        char *text = NULL;
        status = kiln_graph_source(e->graph, j->args, arg_count(e), k, &text, &j->err);
        if (status == KILN_OK && kernels > 1)
            printf("%s// ---- kernel %zu of %zu ----\n", k > 0 ? "\n" : "", k + 1, kernels);
        if (status == KILN_OK)
            job_print_source(text);
    }
    return status;
}

static kiln_status prepare(struct job *j, kiln_launch **launch)
{
    const struct eval *e = (const struct eval *)j;
    return kiln_graph_prepare(e->graph, j->args, arg_count(e), NULL, launch, &j->err);
}

static kiln_status run(struct job *j)
{
    const struct eval *e = (const struct eval *)j;
    return kiln_graph_run(e->graph, j->args, arg_count(e), NULL, &j->err);
}

/* The first elements along an axis, as many as `count` says. */
static kiln_status cut(const kiln_array *values, const kiln_array *count, int axis,
                       kiln_array **out, kiln_error *err)
{
    const int rank = kiln_array_rank(values), at = axis < 0 ? axis + rank : axis;
    kiln_axes swapped = {.count = rank};
    kiln_array *turned = NULL, *first = NULL;

    if (at == 0)
        return kiln_array_first(values, count, out, err);
    for (int a = 0; a < rank; a++)
        swapped.axis[a] = a == 0 ? at : a == at ? 0 : a;
    kiln_status status = kiln_array_transpose(values, &swapped, &turned, err);
    if (status == KILN_OK)
        status = kiln_array_first(turned, count, &first, err);
    if (status == KILN_OK)
        status = kiln_array_transpose(first, &swapped, out, err);
    kiln_array_release(turned);
    kiln_array_release(first);
    return status;
}

/* Results of which the device knows the length are cut to it; the lengths are no results
 * themselves. */
static kiln_status finish(struct job *j, size_t *count)
{
    struct eval *e = (struct eval *)j;
    kiln_array **results = &j->arrays[e->input_count];
    size_t kept = 0;

    for (size_t k = 0; k < e->result_count; k++) {
        kiln_array *first = NULL;
        results[kept] = results[k];
        if (kept++ != k)
            results[k] = NULL;
        if (!kiln_graph_result_is_counted(e->graph, k))
            continue;
        KILN_CHECK(cut(results[kept - 1], results[k + 1], kiln_graph_result_axis(e->graph, k),
                       &first, &j->err));
        kiln_array_release(results[kept - 1]);
        kiln_array_release(results[++k]);
        results[k] = NULL;
        results[kept - 1] = first;
    }
    *count = kept;
    return KILN_OK;
}

/* How many results are printed. */
static size_t shown_count(const struct eval *e)
{
    size_t count = e->result_count;

    for (size_t k = 0; k < e->result_count; k++)
        count -= kiln_graph_result_is_counted(e->graph, k);
    return count;
}

static kiln_status execute(struct eval *e)
{
    static const job_kind kind = {.prepare = prepare, .run = run, .finish = finish};
    struct job *j = &e->j;
    const bool dot = invocation_get(j->v, OPTION_DOT) != NULL;
    char *text = NULL;
    kiln_status status = KILN_OK;

    if (invocation_get(j->v, OPTION_SHOW_SOURCE) != NULL)
        return show_sources(e);
    if (!dot && invocation_get(j->v, OPTION_EXPLAIN) == NULL)
        return job_run(j, &kind, e->input_count, e->result_count);
    status = (dot ? kiln_graph_dot : kiln_graph_explain)(e->graph, j->args, arg_count(e), &text,
                                                         &j->err);
    if (status == KILN_OK)
        job_print_source(text);
    return status;
}

/* What only a call can know has a place in the text and no caret: show it. Behind a name that is
 * not defined, how one is. */
static void show_place(const struct eval *e)
{
    char *caret = NULL;

    if (strstr(e->j.err.message, "` is not defined") != NULL)
        fputs("kiln: name=FILE.npy or name=NUMBER behind the expression defines a name\n", stderr);

    if (e->j.err.detail == NULL && e->j.err.offset >= 0)
        caret = kiln__caret_word(e->text, (size_t)e->j.err.offset);
    if (caret != NULL)
        fprintf(stderr, "%s\n", caret);
    kiln__free(caret);
}

int command_eval(const struct invocation *v)
{
    struct eval e = {.j.v = v, .j.name = "expression"};
    const size_t files = v->option[OPTION_OUTPUT].count;
    int result = check_words(&e);

    if (result == TOOL_DONE && make(&e) != KILN_OK)
        result = TOOL_FAILED;
    const size_t shown = result == TOOL_DONE ? shown_count(&e) : 0;
    if (result == TOOL_DONE && files > 0 && files != shown)
        result = usage_error(v->command, "%zu result%s, but -o was given %zu time%s", shown,
                             shown == 1 ? "" : "s", files, files == 1 ? "" : "s");
    if (result == TOOL_DONE && execute(&e) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_FAILED) {
        tool_error(&e.j.err);
        show_place(&e);
    }
    kiln_graph_destroy(e.graph);
    for (size_t k = 0; k < e.input_count; k++) {
        kiln__free(e.names[k]);
        kiln__free(e.typed[k]);
    }
    job_clear(&e.j);
    return result;
}
