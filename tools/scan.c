/*
 * scan.c - `kiln scan`: one scan of .npy files and numbers.
 *
 *     check the usage > parse the signature > load ARGs > apply --type > run, time or show source
 *
 * What it does as `kiln run` does is in job.c.
 */
#include "job.h"

#include <stdlib.h>

struct scan {
    struct job j;
    kiln_scan *op;
    kiln_axes axes;
    kiln_scan_call_options call;
};

static const char *text_of(const struct scan *s, enum option_id id, const char *otherwise)
{
    const char *text = invocation_get(s->j.v, id);
    return text != NULL ? text : otherwise;
}

/* ---- usage ---- */

static int check_words(struct scan *s)
{
    const struct invocation *v = s->j.v;
    const char *axis = invocation_get(v, OPTION_AXIS);
    char *end = NULL;

    if (invocation_get(v, OPTION_IN) == NULL)
        return usage_error(v->command, "--in is missing: which parameters are scanned?");
    if (invocation_get(v, OPTION_OUT) == NULL)
        return usage_error(v->command, "--out is missing: which parameters are written?");
    if (invocation_get(v, OPTION_MAP) == NULL)
        return usage_error(v->command, "--map is missing: what is made of every element?");
    if (invocation_get(v, OPTION_POST) == NULL)
        return usage_error(v->command, "--post is missing: what becomes of the running `a`?");
    if (axis != NULL) {
        const long number = strtol(axis, &end, 10);
        if (end == axis || *end != '\0' || number < -KILN_RANK_MAX || number >= KILN_RANK_MAX)
            return usage_error(v->command, "--axis %s is no axis, as 0 or -1 is", axis);
        s->axes = (kiln_axes){1, {(int)number}};
        s->call.axes = &s->axes;
    }
    if (invocation_get(v, OPTION_EXCLUSIVE) != NULL)
        s->call.flags |= KILN_SCAN_EXCLUSIVE;
    if (invocation_get(v, OPTION_REVERSE) != NULL)
        s->call.flags |= KILN_SCAN_REVERSE;
    return job_check_words(&s->j);
}

/* ---- making things ---- */

static int define(struct scan *s)
{
    const struct invocation *v = s->j.v;
    const kiln__definition_request request = {
        .name = text_of(s, OPTION_NAME, "kiln_scan"),
        .in = invocation_get(v, OPTION_IN),
        .out = invocation_get(v, OPTION_OUT),
        .snippet = {[KILN__SNIPPET_PREAMBLE] = invocation_get(v, OPTION_PREAMBLE),
                    [KILN__SNIPPET_MAP] = invocation_get(v, OPTION_MAP),
                    [KILN__SNIPPET_REDUCE] = text_of(s, OPTION_REDUCE, "a + b"),
                    [KILN__SNIPPET_POST] = invocation_get(v, OPTION_POST)},
        .reduction = true,
        .scan = true,
    };
    return job_define(&s->j, &request);
}

static kiln_status make_scan(struct scan *s)
{
    struct job *j = &s->j;
    const struct invocation *v = j->v;
    kiln_status status = KILN_OK;
    kiln_scan_options opts = KILN_SCAN_OPTIONS_INIT;

    KILN_TRY(job_open(j));
    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.reduce_type = invocation_get(v, OPTION_REDUCE_TYPE);
    KILN_TRY(kiln_scan_create(j->ctx, invocation_get(v, OPTION_IN), invocation_get(v, OPTION_OUT),
                              invocation_get(v, OPTION_MAP), text_of(s, OPTION_REDUCE, "a + b"),
                              invocation_get(v, OPTION_POST), invocation_get(v, OPTION_IDENTITY),
                              &opts, &s->op, &j->err));
    KILN_TRY(job_load_args(j));
done:
    return status;
}

/* The inputs' broadcast, flat where no axis is given. */
static bool result_shape(void *user, int *rank, int64_t *shape)
{
    const struct scan *s = user;

    if (!job_broadcast(&s->j, s->j.def->input_count, rank, shape))
        return false;
    if (s->call.axes == NULL) {
        int64_t size = 1;
        for (int a = 0; a < *rank; a++)
            size *= shape[a];
        *rank = 1;
        shape[0] = size;
    }
    return true;
}

/* ---- running ---- */

static kiln_status execute(struct scan *s)
{
    struct job *j = &s->j;
    kiln_status status = KILN_OK;
    kiln_launch *launch = NULL;
    char *text = NULL;

    if (invocation_get(j->v, OPTION_SHOW_SOURCE) != NULL) {
        KILN_TRY(kiln_scan_source(s->op, j->args, j->def->param_count, &s->call, &text, &j->err));
        job_print_source(text);
        goto done;
    }
    if (j->run_count > 0) {
        KILN_TRY(
            kiln_scan_prepare(s->op, j->args, j->def->param_count, &s->call, &launch, &j->err));
        KILN_TRY(job_time(j, launch));
    } else {
        KILN_TRY(kiln_scan_run(s->op, j->args, j->def->param_count, &s->call, &j->err));
    }
    KILN_TRY(kiln_context_synchronize(j->ctx, &j->err));
    KILN_TRY(job_deliver(j));
done:
    kiln_launch_destroy(launch);
    return status;
}

int command_scan(const struct invocation *v)
{
    struct scan s = {.j.v = v, .call = KILN_SCAN_CALL_OPTIONS_INIT};
    bool made = false;
    int result = check_words(&s);

    if (result == TOOL_DONE)
        result = define(&s);
    if (result == TOOL_DONE && make_scan(&s) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_DONE)
        result = job_apply_types(&s.j, result_shape, &s, &made);
    if (result == TOOL_DONE && execute(&s) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_FAILED)
        tool_error(&s.j.err);
    kiln_scan_destroy(s.op);
    job_clear(&s.j);
    return result;
}
