/*
 * reduce.c - `kiln reduce`: one reduction of .npy files and numbers.
 *
 *     check the usage > parse the signature > load ARGs > apply --type > run, time or show source
 *
 * What it does as `kiln run` does is in job.c.
 */
#include "job.h"

#include <stdlib.h>

struct reduce {
    struct job j;
    kiln_reduction *op;
    kiln_axes axes;
    kiln_array *where;
    kiln_arg initial;
    kiln_reduce_options call;
};

static const char *text_of(const struct reduce *r, enum option_id id, const char *otherwise)
{
    const char *text = invocation_get(r->j.v, id);
    return text != NULL ? text : otherwise;
}

/* ---- usage ---- */

/* "0,-1" into r->axes. */
static bool parse_axes(struct reduce *r, const char *text)
{
    for (const char *at = text; r->axes.count < KILN_RANK_MAX; at++) {
        char *end = NULL;
        long axis = strtol(at, &end, 10);

        if (end == at || axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
            return false;
        r->axes.axis[r->axes.count++] = (int)axis;
        at = end;
        if (*at == '\0')
            return true;
        if (*at != ',')
            return false;
    }
    return false;
}

static int check_options(struct reduce *r)
{
    const struct invocation *v = r->j.v;
    const char *axes = invocation_get(v, OPTION_AXIS);
    const char *where = invocation_get(v, OPTION_WHERE);
    const char *initial = invocation_get(v, OPTION_INITIAL);

    if (axes != NULL && !parse_axes(r, axes))
        return usage_error(v->command, "--axis %s is no list of axes, as 0,-1 is", axes);
    if (where != NULL && !is_npy_path(where))
        return usage_error(v->command, "--where %s is no .npy file", where);
    if (initial != NULL && !number_parse(initial, &r->initial))
        return usage_error(v->command, "--initial %s is no number", initial);
    r->call.axes = axes != NULL ? &r->axes : NULL;
    r->call.initial = initial != NULL ? &r->initial : NULL;
    r->call.keepdims = invocation_get(v, OPTION_KEEPDIMS) != NULL;
    return TOOL_DONE;
}

static int check_words(struct reduce *r)
{
    const struct invocation *v = r->j.v;

    if (invocation_get(v, OPTION_IN) == NULL)
        return usage_error(v->command, "--in is missing: which parameters are reduced?");
    if (invocation_get(v, OPTION_OUT) == NULL)
        return usage_error(v->command, "--out is missing: which parameters are written?");
    if (invocation_get(v, OPTION_MAP) == NULL)
        return usage_error(v->command, "--map is missing: what is made of every element?");
    if (invocation_get(v, OPTION_POST) == NULL)
        return usage_error(v->command, "--post is missing: what becomes of the reduced `a`?");
    const int result = check_options(r);
    return result == TOOL_DONE ? job_check_words(&r->j) : result;
}

/* ---- making things ---- */

static int define(struct reduce *r)
{
    const struct invocation *v = r->j.v;
    const kiln__definition_request request = {
        .name = text_of(r, OPTION_NAME, "kiln_reduction"),
        .in = invocation_get(v, OPTION_IN),
        .out = invocation_get(v, OPTION_OUT),
        .snippet = {[KILN__SNIPPET_PREAMBLE] = invocation_get(v, OPTION_PREAMBLE),
                    [KILN__SNIPPET_MAP] = invocation_get(v, OPTION_MAP),
                    [KILN__SNIPPET_REDUCE] = text_of(r, OPTION_REDUCE, "a + b"),
                    [KILN__SNIPPET_POST] = invocation_get(v, OPTION_POST)},
        .reduction = true,
    };
    return job_define(&r->j, &request);
}

static kiln_status make_reduction(struct reduce *r)
{
    struct job *j = &r->j;
    const struct invocation *v = j->v;
    const char *where = invocation_get(v, OPTION_WHERE);
    kiln_status status = KILN_OK;
    kiln_reduction_options opts = KILN_REDUCTION_OPTIONS_INIT;

    KILN_TRY(job_open(j));
    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.reduce_type = invocation_get(v, OPTION_REDUCE_TYPE);
    KILN_TRY(kiln_reduction_create(j->ctx, invocation_get(v, OPTION_IN),
                                   invocation_get(v, OPTION_OUT), invocation_get(v, OPTION_MAP),
                                   text_of(r, OPTION_REDUCE, "a + b"),
                                   invocation_get(v, OPTION_POST),
                                   invocation_get(v, OPTION_IDENTITY), &opts, &r->op, &j->err));
    KILN_TRY(job_load_args(j));
    if (where != NULL)
        KILN_TRY(kiln_array_load_npy(j->ctx, where, &r->where, &j->err));
    r->call.where = r->where;
done:
    return status;
}

/* What is left of the inputs' broadcast. False also where the axes are wrong: the call says how. */
static bool result_shape(void *user, int *rank, int64_t *shape)
{
    const struct reduce *r = user;
    int64_t whole[KILN_RANK_MAX];
    int whole_rank = 0;

    *rank = 0;
    if (!job_broadcast(&r->j, r->j.def->input_count, &whole_rank, whole))
        return false;
    for (int a = 0; a < whole_rank; a++) {
        bool reduced = r->call.axes == NULL;
        for (int k = 0; k < r->axes.count; k++)
            reduced = reduced || r->axes.axis[k] == a || r->axes.axis[k] + whole_rank == a;
        if (!reduced || r->call.keepdims)
            shape[(*rank)++] = reduced ? 1 : whole[a];
    }
    return true;
}

/* ---- running ---- */

static kiln_status execute(struct reduce *r)
{
    struct job *j = &r->j;
    kiln_status status = KILN_OK;
    kiln_launch *launch = NULL;
    char *text = NULL;

    if (invocation_get(j->v, OPTION_SHOW_SOURCE) != NULL) {
        KILN_TRY(kiln_reduction_source(r->op, j->args, j->def->param_count, &r->call, &text,
                                       &j->err));
        job_print_source(text);
        goto done;
    }
    if (j->run_count > 0) {
        KILN_TRY(kiln_reduction_prepare(r->op, j->args, j->def->param_count, &r->call, &launch,
                                        &j->err));
        KILN_TRY(job_time(j, launch));
    } else {
        KILN_TRY(kiln_reduction_run(r->op, j->args, j->def->param_count, &r->call, &j->err));
    }
    KILN_TRY(kiln_context_synchronize(j->ctx, &j->err));
    KILN_TRY(job_deliver(j));
done:
    kiln_launch_destroy(launch);
    return status;
}

int command_reduce(const struct invocation *v)
{
    struct reduce r = {.j.v = v, .call = KILN_REDUCE_OPTIONS_INIT};
    bool made = false;
    int result = check_words(&r);

    if (result == TOOL_DONE)
        result = define(&r);
    if (result == TOOL_DONE && make_reduction(&r) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_DONE)
        result = job_apply_types(&r.j, result_shape, &r, &made);
    if (result == TOOL_DONE && execute(&r) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_FAILED)
        tool_error(&r.j.err);
    kiln_array_release(r.where);
    kiln_reduction_destroy(r.op);
    job_clear(&r.j);
    return result;
}
