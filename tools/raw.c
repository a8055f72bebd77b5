/*
 * raw.c - `kiln raw`: one kernel of a file over .npy files and numbers.
 *
 *     check the usage > load ARGs > load the file > find the kernel > launch > print what was written
 *
 * The job has no definition: its arrays are those that the kernel may write, then the others.
 */
#include "job.h"

#include <stdlib.h>

struct raw {
    struct job j;
    const char *file, *kernel;
    kiln__definition *params; /* of --in */
    kiln_module *module;
    kiln_raw *op;
    kiln_raw_call_options call;
    size_t written;
};

/* "4", "4,2" or "4,2,1". */
static int check_dims(const struct invocation *v, enum option_id id, int64_t dims[3])
{
    const char *text = invocation_get(v, id), *at = text;

    for (int axis = 0; text != NULL; axis++) {
        char *end = NULL;
        const long long value = strtoll(at, &end, 10);
        if (end == at || value < 0 || axis == 3 || (*end != ',' && *end != '\0'))
            return usage_error(v->command, "%s %s is not of the form 4, 4,2 or 4,2,1",
                               option_name(v->command, id), text);
        dims[axis] = value;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return TOOL_DONE;
}

static int check(struct raw *r)
{
    static const struct need needs[] = {
        {OPTION_KERNEL, "which kernel of the file?"},
        {OPTION_IN, "what are its parameters?"},
        {OPTION_GRID, "how many blocks?"},
        {OPTION_BLOCK, "how many threads has a block?"},
    };
    const struct invocation *v = r->j.v;
    const char *shared = invocation_get(v, OPTION_SHARED);
    int result = invocation_check(v, needs, KILN_COUNT_OF(needs));

    if (result == TOOL_DONE && v->args.count == 0)
        return usage_error(v->command, "a file is missing");
    if (result == TOOL_DONE)
        result = check_dims(v, OPTION_GRID, r->call.grid);
    if (result == TOOL_DONE)
        result = check_dims(v, OPTION_BLOCK, r->call.block);
    if (result == TOOL_DONE)
        result = check_dims(v, OPTION_CLUSTER, r->call.cluster);
    if (result == TOOL_DONE)
        result = job_check_time(&r->j);
    r->call.cooperative = invocation_get(v, OPTION_COOPERATIVE) != NULL;
    if (result == TOOL_DONE && shared != NULL &&
        !count_parse(shared, true, INT64_MAX, &r->call.shared_bytes))
        return usage_error(v->command, "--shared %s is no number of bytes", shared);
    for (size_t k = 1; k < v->args.count && result == TOOL_DONE; k++) {
        kiln_arg number;
        if (!is_npy_path(v->args.items[k]) && !number_parse(v->args.items[k], &number))
            return usage_error(v->command, "\"%s\" is neither a .npy file nor a number",
                               v->args.items[k]);
    }
    return result;
}

static bool is_written(const struct raw *r, size_t p)
{
    return r->params->params[p].raw && !r->params->params[p].is_const;
}

static int check_counts(struct raw *r)
{
    const struct invocation *v = r->j.v;
    const size_t files = v->option[OPTION_OUTPUT].count;

    for (size_t p = 0; p < r->params->param_count; p++)
        r->written += is_written(r, p);
    if (v->args.count - 1 != r->params->param_count)
        return usage_error(v->command, "--in has %zu parameters, and %zu ARGs follow the file",
                           r->params->param_count, v->args.count - 1);
    if (files != 0 && files != r->written)
        return usage_error(v->command,
                           "%zu parameters are raw and not const, but -o was given %zu "
                           "time%s",
                           r->written, files, files == 1 ? "" : "s");
    return TOOL_DONE;
}

static kiln_status make(struct raw *r)
{
    struct job *j = &r->j;
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln_status status = KILN_OK;
    size_t written = 0, read = r->written;

    KILN_TRY(job_open(j));
    for (size_t p = 0; p < r->params->param_count; p++)
        KILN_TRY(job_load(j, j->v->args.items[p + 1],
                          &j->arrays[is_written(r, p) ? written++ : read++], &j->args[p]));
    o.compiler_options = j->v->option[OPTION_COMPILER].items;
    o.compiler_option_count = j->v->option[OPTION_COMPILER].count;
    /* What C++ tells apart by more than a plain name is wanted from the compiler. */
    o.names = &r->kernel;
    o.name_count = strpbrk(r->kernel, "<:(") != NULL;
    KILN_TRY(kiln_module_create_from_file(j->ctx, r->file, &o, &r->module, &j->err));
    status =
        kiln_module_kernel(r->module, r->kernel, invocation_get(j->v, OPTION_IN), &r->op, &j->err);

done:
    return status;
}

static kiln_status run(struct job *j)
{
    const struct raw *r = (const struct raw *)j;
    return kiln_raw_run(r->op, j->args, r->params->param_count, &r->call, &j->err);
}

static kiln_status prepare(struct job *j, kiln_launch **launch)
{
    const struct raw *r = (const struct raw *)j;
    return kiln_raw_prepare(r->op, j->args, r->params->param_count, &r->call, launch, &j->err);
}

int command_raw(const struct invocation *v)
{
    static const job_kind kind = {.run = run, .prepare = prepare};
    struct raw r = {.j.v = v, .call = KILN_RAW_CALL_OPTIONS_INIT};
    int result = check(&r);

    if (result == TOOL_DONE) {
        r.file = v->args.items[0];
        r.kernel = r.j.name = invocation_get(v, OPTION_KERNEL);
        result = kiln__module_signature(r.kernel, invocation_get(v, OPTION_IN), &r.params,
                                        &r.j.err) == KILN_OK
                     ? check_counts(&r)
                     : TOOL_FAILED;
    }
    if (result == TOOL_DONE &&
        (make(&r) != KILN_OK || job_run(&r.j, &kind, 0, r.written) != KILN_OK))
        result = TOOL_FAILED;
    if (result == TOOL_FAILED)
        tool_error(&r.j.err);
    kiln_raw_destroy(r.op);
    kiln_module_destroy(r.module);
    kiln__definition_destroy(r.params);
    job_clear(&r.j);
    return result;
}
