/*
 * run.c - `kiln run`: one kernel over .npy files and numbers. Its steps are called by job.c.
 */
#include "job.h"

struct run {
    struct job j;
    kiln_elementwise *op;
    kiln_elementwise_call_options call;
    int64_t size; /* --size; -1 when not given */
};

static int check(struct job *j)
{
    static const struct need needs[] = {
        {OPTION_OP, "what is done for every element? For example --op \"z = x + 1\""},
        {OPTION_OUT, "which parameters are written?"},
    };
    struct run *r = (struct run *)j;
    const char *size = invocation_get(j->v, OPTION_SIZE);
    const int result = invocation_check(j->v, needs, KILN_COUNT_OF(needs));

    if (result == TOOL_DONE && size != NULL && !count_parse(size, true, INT64_MAX, &r->size))
        return usage_error(j->v->command, "--size %s is no whole number of elements", size);
    return result;
}

static void define(struct job *j, kiln__definition_request *request)
{
    const struct invocation *v = j->v;

    request->name = invocation_get(v, OPTION_NAME);
    request->in = invocation_get_or(v, OPTION_IN, "");
    request->out = invocation_get(v, OPTION_OUT);
    request->snippet[KILN__SNIPPET_OP] = invocation_get(v, OPTION_OP);
    request->snippet[KILN__SNIPPET_PREAMBLE] = invocation_get(v, OPTION_PREAMBLE);
    request->snippet[KILN__SNIPPET_LOOP_PREP] = invocation_get(v, OPTION_LOOP_PREP);
    request->snippet[KILN__SNIPPET_AFTER_LOOP] = invocation_get(v, OPTION_AFTER_LOOP);
    request->options = v->option[OPTION_COMPILER].items;
    request->option_count = v->option[OPTION_COMPILER].count;
    request->keep_axes = invocation_get(v, OPTION_KEEP_AXES) != NULL;
}

static kiln_status make(struct job *j)
{
    struct run *r = (struct run *)j;
    const struct invocation *v = j->v;
    kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;

    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.loop_prep = invocation_get(v, OPTION_LOOP_PREP);
    opts.after_loop = invocation_get(v, OPTION_AFTER_LOOP);
    opts.compiler_options = v->option[OPTION_COMPILER].items;
    opts.compiler_option_count = v->option[OPTION_COMPILER].count;
    opts.keep_axes = invocation_get(v, OPTION_KEEP_AXES) != NULL;
    return kiln_elementwise_create(j->ctx, invocation_get_or(v, OPTION_IN, ""),
                                   invocation_get(v, OPTION_OUT), invocation_get(v, OPTION_OP),
                                   &opts, &r->op, &j->err);
}

/* The shape of the loop: the broadcast of what is given, else (--size). */
static bool loop_shape(const struct job *j, int *rank, int64_t *shape)
{
    const struct run *r = (const struct run *)j;
    bool any = false;

    if (job_broadcast(j, j->def->param_count, rank, shape))
        return true;
    for (size_t k = 0; k < j->def->param_count; k++)
        any = any || (j->arrays[k] != NULL && !j->def->params[k].raw);
    *rank = 1;
    shape[0] = r->size;
    return !any && r->size >= 0;
}

/* --size counts unless --type has made an output: that decides then. */
static const kiln_elementwise_call_options *call_of(struct run *r)
{
    r->call.has_size = r->size >= 0 && !r->j.made_output;
    r->call.size = r->call.has_size ? r->size : 0;
    return &r->call;
}

static kiln_status source(struct job *j, char **text)
{
    struct run *r = (struct run *)j;
    return kiln_elementwise_source(r->op, j->args, j->def->param_count, call_of(r), text, &j->err);
}

static kiln_status prepare(struct job *j, kiln_launch **launch)
{
    struct run *r = (struct run *)j;
    return kiln_elementwise_prepare(r->op, j->args, j->def->param_count, call_of(r), launch,
                                    &j->err);
}

static kiln_status run(struct job *j)
{
    struct run *r = (struct run *)j;
    return kiln_elementwise_run(r->op, j->args, j->def->param_count, call_of(r), &j->err);
}

int command_run(const struct invocation *v)
{
    static const job_kind kind = {check, define, make, loop_shape, source, prepare, run, NULL};
    struct run r = {.j.v = v, .call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT, .size = -1};
    const int result = job_command(&r.j, &kind);

    kiln_elementwise_destroy(r.op);
    job_clear(&r.j);
    return result;
}
