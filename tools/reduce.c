/*
 * reduce.c - `kiln reduce`: one reduction of .npy files and numbers.
 *
 *     check the usage > parse the signature > load ARGs > run, time or show source > deliver
 *
 * Rule: as in run.c, the work is done through the public API only; codegen's parser is used to
 * know how many ARGs and files there must be.
 */
#include "tool.h"

#include <stdlib.h>

struct job {
    const struct invocation *v;
    kiln__definition *def;
    kiln_context *ctx;
    kiln_reduction *op;
    kiln_arg args[KILN_PARAM_MAX];
    kiln_array *arrays[KILN_PARAM_MAX]; /* by parameter: loaded, or received as output */
    kiln_axes axes;
    kiln_reduce_options call;
    int64_t run_count; /* --time; 0 when not given */
    kiln_error err;
};

static const char *text_of(const struct job *j, enum option_id id, const char *otherwise)
{
    const char *text = invocation_get(j->v, id);
    return text != NULL ? text : otherwise;
}

/* ---- usage ---- */

/* "0,-1" into j->axes. */
static bool parse_axes(struct job *j, const char *text)
{
    for (const char *at = text; j->axes.count < KILN_RANK_MAX; at++) {
        char *end = NULL;
        long axis = strtol(at, &end, 10);

        if (end == at || axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
            return false;
        j->axes.axis[j->axes.count++] = (int)axis;
        at = end;
        if (*at == '\0')
            return true;
        if (*at != ',')
            return false;
    }
    return false;
}

static int check_words(struct job *j)
{
    const struct invocation *v = j->v;
    const char *axes = invocation_get(v, OPTION_AXIS);
    const char *runs = invocation_get(v, OPTION_TIME);

    if (invocation_get(v, OPTION_IN) == NULL)
        return usage_error(v->command, "--in is missing: which parameters are reduced?");
    if (invocation_get(v, OPTION_OUT) == NULL)
        return usage_error(v->command, "--out is missing: which parameters are written?");
    if (invocation_get(v, OPTION_MAP) == NULL)
        return usage_error(v->command, "--map is missing: what is made of every element?");
    if (invocation_get(v, OPTION_POST) == NULL)
        return usage_error(v->command, "--post is missing: what becomes of the reduced `a`?");
    if (axes != NULL && !parse_axes(j, axes))
        return usage_error(v->command, "--axis %s is no list of axes, as 0,-1 is", axes);
    if (runs != NULL && !count_parse(runs, false, 1000000, &j->run_count))
        return usage_error(v->command, "--time %s is no number of runs (1 to 1000000)", runs);
    if (runs != NULL && invocation_get(v, OPTION_SHOW_SOURCE) != NULL)
        return usage_error(v->command, "--time and --show-source exclude each other");
    for (size_t k = 0; k < v->args.count; k++) {
        kiln_arg number;
        if (!is_npy_path(v->args.items[k]) && !number_parse(v->args.items[k], &number))
            return usage_error(v->command, "'%s' is neither a .npy file nor a number",
                               v->args.items[k]);
    }
    j->call.axes = axes != NULL ? &j->axes : NULL;
    j->call.keepdims = invocation_get(v, OPTION_KEEPDIMS) != NULL;
    return TOOL_DONE;
}

/* ---- making things ---- */

/* Parse the signature; with it, the number of ARGs and files can be judged. */
static int define(struct job *j)
{
    const struct invocation *v = j->v;
    const kiln__definition_request request = {
        .name = text_of(j, OPTION_NAME, "kiln_reduction"),
        .in = invocation_get(v, OPTION_IN),
        .out = invocation_get(v, OPTION_OUT),
        .snippet = {[KILN__SNIPPET_PREAMBLE] = invocation_get(v, OPTION_PREAMBLE),
                    [KILN__SNIPPET_MAP] = invocation_get(v, OPTION_MAP),
                    [KILN__SNIPPET_REDUCE] = text_of(j, OPTION_REDUCE, "a + b"),
                    [KILN__SNIPPET_POST] = invocation_get(v, OPTION_POST)},
        .reduction = true,
    };
    size_t files = v->option[OPTION_OUTPUT].count, outputs;

    if (kiln__definition_create(&request, &j->def, &j->err) != KILN_OK)
        return TOOL_FAILED;
    outputs = j->def->param_count - j->def->input_count;
    if (v->args.count != j->def->input_count)
        return usage_error(v->command, "--in declares %zu, but %zu ARGs were given",
                           j->def->input_count, v->args.count);
    if (files != 0 && files != outputs)
        return usage_error(v->command, "--out declares %zu, but -o was given %zu times", outputs,
                           files);
    return TOOL_DONE;
}

static void print_warning(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "kiln: %s\n", line);
}

static kiln_status make_reduction(struct job *j)
{
    const struct invocation *v = j->v;
    kiln_status status = KILN_OK;
    kiln_context_options context_opts = KILN_CONTEXT_OPTIONS_INIT;
    kiln_reduction_options opts = KILN_REDUCTION_OPTIONS_INIT;

    context_opts.device = invocation_get(v, OPTION_DEVICE);
    context_opts.log = print_warning;
    KILN_TRY(kiln_context_create(&context_opts, &j->ctx, &j->err));
    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.reduce_type = invocation_get(v, OPTION_REDUCE_TYPE);
    KILN_TRY(kiln_reduction_create(j->ctx, invocation_get(v, OPTION_IN),
                                   invocation_get(v, OPTION_OUT), invocation_get(v, OPTION_MAP),
                                   text_of(j, OPTION_REDUCE, "a + b"),
                                   invocation_get(v, OPTION_POST),
                                   invocation_get(v, OPTION_IDENTITY), &opts, &j->op, &j->err));
done:
    return status;
}

static kiln_status load_args(struct job *j)
{
    const struct texts *args = &j->v->args;

    for (size_t k = 0; k < j->def->param_count; k++) {
        j->args[k] = kiln_arg_out(&j->arrays[k]);
        if (k >= args->count)
            continue;
        if (!is_npy_path(args->items[k])) {
            number_parse(args->items[k], &j->args[k]); /* check_words() saw that it is one */
            continue;
        }
        kiln_status status = kiln_array_load_npy(j->ctx, args->items[k], &j->arrays[k], &j->err);
        if (status != KILN_OK)
            return status;
        j->args[k] = kiln_arg_array(j->arrays[k]);
    }
    return KILN_OK;
}

/* ---- running ---- */

static kiln_status run_once(struct job *j)
{
    return kiln_reduction_run(j->op, j->args, j->def->param_count, &j->call, &j->err);
}

static kiln_status show_source(struct job *j)
{
    char *text = NULL;
    kiln_status status =
        kiln_reduction_source(j->op, j->args, j->def->param_count, &j->call, &text, &j->err);
    if (status == KILN_OK) {
        size_t length = strlen(text);
        fputs(text, stdout);
        if (length > 0 && text[length - 1] != '\n')
            putchar('\n');
    }
    kiln_free(text);
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static kiln_status time_batch(struct job *j, int64_t count, double *us_out)
{
    kiln_status status = KILN_OK;
    double begin = kiln__now_us();

    for (int64_t k = 0; k < count; k++)
        KILN_TRY(run_once(j));
    KILN_TRY(kiln_context_synchronize(j->ctx, &j->err));
    *us_out = kiln__now_us() - begin;
done:
    return status;
}

static void print_time(const struct job *j, double median_ms)
{
    double bytes = 0.0;
    for (size_t k = 0; k < j->def->param_count; k++) {
        const kiln_array *a = j->arrays[k];
        if (a != NULL)
            bytes += (double)kiln_array_size(a) * (double)kiln_dtype_size(kiln_array_dtype(a));
    }
    printf("%s on %s: median of %lld runs %.6g ms, %.6g GB/s\n", j->def->name,
           kiln_context_device(j->ctx)->id, (long long)j->run_count, median_ms,
           bytes / (median_ms * 1e6));
}

/* Samples of as many runs as make waiting for the device invisible. The first run allocates the
 * outputs; all others write to them. */
static kiln_status time_runs(struct job *j)
{
    enum { SAMPLE_US = 2000, BATCH_MAX = 4096 };
    kiln_status status = KILN_OK;
    size_t count = (size_t)j->run_count;
    double *samples = calloc(count, sizeof *samples), us = 0.0;
    int64_t batch = 1;

    if (samples == NULL) {
        status = kiln__fail_memory(&j->err, count * sizeof *samples);
        goto done;
    }
    KILN_TRY(time_batch(j, 1, &us));
    for (; batch < BATCH_MAX; batch *= 2) {
        KILN_TRY(time_batch(j, batch, &us));
        if (us >= SAMPLE_US)
            break;
    }
    for (size_t k = 0; k < count; k++) {
        KILN_TRY(time_batch(j, batch, &samples[k]));
        samples[k] /= (double)batch * 1000.0;
    }
    qsort(samples, count, sizeof *samples, compare_doubles);
    print_time(j, 0.5 * (samples[(count - 1) / 2] + samples[count / 2]));
done:
    free(samples);
    return status;
}

/* Print the outputs, or write them where -o says. */
static kiln_status deliver(struct job *j)
{
    const struct texts *files = &j->v->option[OPTION_OUTPUT];
    size_t outputs = j->def->param_count - j->def->input_count;
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < outputs; k++) {
        size_t p = j->def->input_count + k;
        if (files->count > 0) {
            KILN_TRY(kiln_array_save_npy(j->arrays[p], files->items[k], &j->err));
        } else if (j->run_count == 0) {
            char *text = NULL;
            KILN_TRY(kiln_array_to_string(j->arrays[p], &text, &j->err));
            if (outputs > 1)
                printf("%s =\n", j->def->params[p].name);
            puts(text);
            kiln_free(text);
        }
    }
done:
    return status;
}

static kiln_status execute(struct job *j)
{
    kiln_status status = KILN_OK;

    if (invocation_get(j->v, OPTION_SHOW_SOURCE) != NULL)
        return show_source(j);
    KILN_TRY(j->run_count > 0 ? time_runs(j) : run_once(j));
    KILN_TRY(kiln_context_synchronize(j->ctx, &j->err));
    KILN_TRY(deliver(j));
done:
    return status;
}

int command_reduce(const struct invocation *v)
{
    struct job j = {0};
    int result = TOOL_FAILED;

    j.v = v;
    j.call = (kiln_reduce_options)KILN_REDUCE_OPTIONS_INIT;
    result = check_words(&j);
    if (result == TOOL_DONE)
        result = define(&j);
    if (result == TOOL_DONE &&
        (make_reduction(&j) != KILN_OK || load_args(&j) != KILN_OK || execute(&j) != KILN_OK))
        result = TOOL_FAILED;
    if (result == TOOL_FAILED)
        tool_error(&j.err);

    for (size_t k = 0; k < KILN_PARAM_MAX; k++)
        kiln_array_release(j.arrays[k]);
    kiln_reduction_destroy(j.op);
    kiln_context_release(j.ctx);
    kiln__definition_destroy(j.def);
    kiln_error_clear(&j.err);
    return result;
}
