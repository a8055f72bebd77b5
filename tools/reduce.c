/*
 * reduce.c - `kiln reduce`: one reduction of .npy files and numbers. Its steps are called by job.c.
 */
#include "job.h"

#include <stdlib.h>

struct reduce {
    struct job j;
    kiln_reduction *op;
    kiln_axes axes;
    kiln_array *where;
    kiln_arg initial;
    kiln_reduction_call_options call;
};

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

static int check(struct job *j)
{
    static const struct need needs[] = {
        {OPTION_IN, "which parameters are reduced?"},
        {OPTION_OUT, "which parameters are written?"},
        {OPTION_MAP, "what is made of every element?"},
        {OPTION_POST, "what becomes of the reduced `a`? For example --post \"y = a\""},
    };
    struct reduce *r = (struct reduce *)j;
    const struct invocation *v = j->v;
    const char *axes = invocation_get(v, OPTION_AXIS);
    const char *where = invocation_get(v, OPTION_WHERE);
    const char *initial = invocation_get(v, OPTION_INITIAL);
    const int result = invocation_check(v, needs, KILN_COUNT_OF(needs));

    if (result != TOOL_DONE)
        return result;
    if (axes != NULL && !parse_axes(r, axes))
        return usage_error(v->command, "--axis \"%s\" is not a list of axes such as 0,-1", axes);
    if (where != NULL && !is_npy_path(where))
        return usage_error(v->command, "--where %s is no .npy file", where);
    if (initial != NULL && !number_parse(initial, &r->initial))
        return usage_error(v->command, "--initial %s is no number", initial);
    r->call.axes = axes != NULL ? &r->axes : NULL;
    r->call.initial = initial != NULL ? &r->initial : NULL;
    r->call.keepdims = invocation_get(v, OPTION_KEEPDIMS) != NULL;
    return TOOL_DONE;
}

static void define(struct job *j, kiln__definition_request *request)
{
    job_define_fold(j, "kiln_reduction", request);
}

static kiln_status make(struct job *j)
{
    struct reduce *r = (struct reduce *)j;
    const struct invocation *v = j->v;
    const char *where = invocation_get(v, OPTION_WHERE);
    kiln_status status = KILN_OK;
    kiln_reduction_options opts = KILN_REDUCTION_OPTIONS_INIT;

    opts.name = invocation_get(v, OPTION_NAME);
    opts.preamble = invocation_get(v, OPTION_PREAMBLE);
    opts.compiler_options = v->option[OPTION_COMPILER].items;
    opts.compiler_option_count = v->option[OPTION_COMPILER].count;
    opts.reduce_type = invocation_get(v, OPTION_REDUCE_TYPE);
    KILN_TRY(kiln_reduction_create(
        j->ctx, invocation_get(v, OPTION_IN), invocation_get(v, OPTION_OUT),
        invocation_get(v, OPTION_MAP), invocation_get_or(v, OPTION_REDUCE, "a + b"),
        invocation_get(v, OPTION_POST), invocation_get(v, OPTION_IDENTITY), &opts, &r->op,
        &j->err));
    if (where != NULL)
        KILN_TRY(kiln_array_load_npy(j->ctx, where, &r->where, &j->err));
    r->call.where = r->where;
done:
    return status;
}

/* What is left of the inputs' broadcast. False also where the axes are wrong: the call says how. */
static bool result_shape(const struct job *j, int *rank, int64_t *shape)
{
    const struct reduce *r = (const struct reduce *)j;
    int64_t whole[KILN_RANK_MAX];
    int whole_rank = 0;

    *rank = 0;
    if (!job_broadcast(j, j->def->input_count, &whole_rank, whole))
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

static kiln_status source(struct job *j, char **text)
{
    const struct reduce *r = (const struct reduce *)j;
    return kiln_reduction_source(r->op, j->args, j->def->param_count, &r->call, text, &j->err);
}

static kiln_status prepare(struct job *j, kiln_launch **launch)
{
    const struct reduce *r = (const struct reduce *)j;
    return kiln_reduction_prepare(r->op, j->args, j->def->param_count, &r->call, launch, &j->err);
}

static kiln_status run(struct job *j)
{
    const struct reduce *r = (const struct reduce *)j;
    return kiln_reduction_run(r->op, j->args, j->def->param_count, &r->call, &j->err);
}

int command_reduce(const struct invocation *v)
{
    static const job_kind kind = {check, define, make, result_shape, source, prepare, run, NULL};
    struct reduce r = {.j.v = v, .call = KILN_REDUCTION_CALL_OPTIONS_INIT};
    const int result = job_command(&r.j, &kind);

    kiln_array_release(r.where);
    kiln_reduction_destroy(r.op);
    job_clear(&r.j);
    return result;
}
