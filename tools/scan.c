/*
 * scan.c - `kiln scan`: one scan of .npy files and numbers. Its steps are called by job.c.
 */
#include "job.h"

#include <stdlib.h>

struct scan {
    struct job j;
    kiln_scan *op;
    kiln_axes axes;
    kiln_scan_call_options call;
};

static int check(struct job *j)
{
    static const struct need needs[] = {
        {OPTION_IN, "which parameters are scanned?"},
        {OPTION_OUT, "which parameters are written?"},
        {OPTION_MAP, "what is made of every element?"},
        {OPTION_POST, "what becomes of the running `a`? For example --post \"y = a\""},
    };
    struct scan *s = (struct scan *)j;
    const char *axis = invocation_get(j->v, OPTION_AXIS);
    char *end = NULL;
    const int result = invocation_check(j->v, needs, KILN_COUNT_OF(needs));

    if (result == TOOL_DONE && axis != NULL) {
        const long number = strtol(axis, &end, 10);
        if (end == axis || *end != '\0' || number < -KILN_RANK_MAX || number >= KILN_RANK_MAX)
            return usage_error(j->v->command, "--axis \"%s\" is not an axis such as 0 or -1", axis);
        s->axes = (kiln_axes){1, {(int)number}};
        s->call.axes = &s->axes;
    }
    if (invocation_get(j->v, OPTION_EXCLUSIVE) != NULL)
        s->call.flags |= KILN_SCAN_EXCLUSIVE;
    if (invocation_get(j->v, OPTION_REVERSE) != NULL)
        s->call.flags |= KILN_SCAN_REVERSE;
    return result;
}

static void define(struct job *j, kiln__definition_request *request)
{
    job_define_fold(j, "kiln_scan", request);
    request->family = &kiln__family_scan;
}

static kiln_status make(struct job *j)
{
    struct scan *s = (struct scan *)j;
    const struct invocation *v = j->v;
    kiln_scan_options opts = KILN_SCAN_OPTIONS_INIT;

    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.compiler_options = v->option[OPTION_COMPILER].items;
    opts.compiler_option_count = v->option[OPTION_COMPILER].count;
    opts.reduce_type = invocation_get(v, OPTION_REDUCE_TYPE);
    return kiln_scan_create(j->ctx, invocation_get(v, OPTION_IN), invocation_get(v, OPTION_OUT),
                            invocation_get(v, OPTION_MAP),
                            invocation_get_or(v, OPTION_REDUCE, "a + b"),
                            invocation_get(v, OPTION_POST), invocation_get(v, OPTION_IDENTITY),
                            &opts, &s->op, &j->err);
}

/* The inputs' broadcast, flat where no axis is given. */
static bool result_shape(const struct job *j, int *rank, int64_t *shape)
{
    const struct scan *s = (const struct scan *)j;

    if (!job_broadcast(j, j->def->input_count, rank, shape))
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

static kiln_status source(struct job *j, char **text)
{
    const struct scan *s = (const struct scan *)j;
    return kiln_scan_source(s->op, j->args, j->def->param_count, &s->call, text, &j->err);
}

static kiln_status prepare(struct job *j, kiln_launch **launch)
{
    const struct scan *s = (const struct scan *)j;
    return kiln_scan_prepare(s->op, j->args, j->def->param_count, &s->call, launch, &j->err);
}

static kiln_status run(struct job *j)
{
    const struct scan *s = (const struct scan *)j;
    return kiln_scan_run(s->op, j->args, j->def->param_count, &s->call, &j->err);
}

int command_scan(const struct invocation *v)
{
    static const job_kind kind = {check, define, make, result_shape, source, prepare, run, NULL};
    struct scan s = {.j.v = v, .call = KILN_SCAN_CALL_OPTIONS_INIT};
    const int result = job_command(&s.j, &kind);

    kiln_scan_destroy(s.op);
    job_clear(&s.j);
    return result;
}
