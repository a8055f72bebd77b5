/*
 * run.c - `kiln run`: one kernel over .npy files and numbers.
 *
 *     check the usage > parse the signature > load ARGs > apply --type > run, time or show source
 *
 * What it does as `kiln reduce` does is in job.c.
 */
#include "job.h"

struct run {
    struct job j;
    kiln_elementwise *op;
    kiln_call_options call;
    int64_t size; /* --size; -1 when not given */
};

/* What can be told from the words alone. */
static int check_words(struct run *r)
{
    const struct invocation *v = r->j.v;
    const char *size = invocation_get(v, OPTION_SIZE);

    if (invocation_get(v, OPTION_OP) == NULL)
        return usage_error(v->command, "--op is missing: what is done for every element?");
    if (invocation_get(v, OPTION_OUT) == NULL)
        return usage_error(v->command, "--out is missing: which parameters are written?");
    if (size != NULL && !count_parse(size, true, INT64_MAX, &r->size))
        return usage_error(v->command, "--size %s is no whole number of elements", size);
    return job_check_words(&r->j);
}

static int define(struct run *r)
{
    const struct invocation *v = r->j.v;
    kiln__definition_request request = {0};

    request.name = invocation_get(v, OPTION_NAME);
    request.in = invocation_get(v, OPTION_IN);
    if (request.in == NULL)
        request.in = "";
    request.out = invocation_get(v, OPTION_OUT);
    request.snippet[KILN__SNIPPET_OP] = invocation_get(v, OPTION_OP);
    request.snippet[KILN__SNIPPET_PREAMBLE] = invocation_get(v, OPTION_PREAMBLE);
    request.snippet[KILN__SNIPPET_LOOP_PREP] = invocation_get(v, OPTION_LOOP_PREP);
    request.snippet[KILN__SNIPPET_AFTER_LOOP] = invocation_get(v, OPTION_AFTER_LOOP);
    return job_define(&r->j, &request);
}

static kiln_status make_kernel(struct run *r)
{
    struct job *j = &r->j;
    const struct invocation *v = j->v;
    kiln_status status = KILN_OK;
    kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;
    const char *in = invocation_get(v, OPTION_IN);

    KILN_TRY(job_open(j));
    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.loop_prep = invocation_get(v, OPTION_LOOP_PREP);
    opts.after_loop = invocation_get(v, OPTION_AFTER_LOOP);
    KILN_TRY(kiln_elementwise_create(j->ctx, in != NULL ? in : "", invocation_get(v, OPTION_OUT),
                                     invocation_get(v, OPTION_OP), &opts, &r->op, &j->err));
    KILN_TRY(job_load_args(j));
    r->call.has_size = r->size >= 0;
    r->call.size = r->size >= 0 ? r->size : 0;
done:
    return status;
}

/* The shape of the loop: the broadcast of what is given, else (--size). */
static bool loop_shape(void *user, int *rank, int64_t *shape)
{
    const struct run *r = user;
    bool any = false;

    if (job_broadcast(&r->j, r->j.def->param_count, rank, shape))
        return true;
    for (size_t k = 0; k < r->j.def->param_count; k++)
        any = any || (r->j.arrays[k] != NULL && !r->j.def->params[k].raw);
    *rank = 1;
    shape[0] = r->size;
    return !any && r->size >= 0;
}

static kiln_status execute(struct run *r)
{
    struct job *j = &r->j;
    kiln_status status = KILN_OK;
    kiln_launch *launch = NULL;
    char *text = NULL;

    if (invocation_get(j->v, OPTION_SHOW_SOURCE) != NULL) {
        KILN_TRY(kiln_elementwise_source(r->op, j->args, j->def->param_count, &r->call, &text,
                                         &j->err));
        job_print_source(text);
        goto done;
    }
    if (j->run_count > 0) {
        KILN_TRY(kiln_elementwise_prepare(r->op, j->args, j->def->param_count, &r->call, &launch,
                                          &j->err));
        KILN_TRY(job_time(j, launch));
    } else {
        KILN_TRY(kiln_elementwise_run(r->op, j->args, j->def->param_count, &r->call, &j->err));
    }
    KILN_TRY(kiln_context_synchronize(j->ctx, &j->err));
    KILN_TRY(job_deliver(j));
done:
    kiln_launch_destroy(launch);
    return status;
}

int command_run(const struct invocation *v)
{
    struct run r = {.j.v = v, .call = KILN_CALL_OPTIONS_INIT, .size = -1};
    bool made = false;
    int result = check_words(&r);

    if (result == TOOL_DONE)
        result = define(&r);
    if (result == TOOL_DONE && make_kernel(&r) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_DONE)
        result = job_apply_types(&r.j, loop_shape, &r, &made);
    if (made)
        r.call.has_size = false; /* the output decides it now */
    if (result == TOOL_DONE && execute(&r) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_FAILED)
        tool_error(&r.j.err);
    kiln_elementwise_destroy(r.op);
    job_clear(&r.j);
    return result;
}
