/*
 * job.c - the steps of a command that runs a kernel: ARGs, --type, timing, outputs. See job.h.
 */
#include "job.h"

#include "array/array.h"

static size_t output_count(const struct job *j)
{
    return j->def->param_count - j->def->input_count;
}

/* ---- usage ---- */

int job_check_time(struct job *j)
{
    const char *runs = invocation_get(j->v, OPTION_TIME);

    if (runs != NULL && !count_parse(runs, false, 1000000, &j->run_count))
        return usage_error(j->v->command, "--time %s is no number of runs (1 to 1000000)", runs);
    return TOOL_DONE;
}

/* --time, --show-source and the form of every ARG. */
static int check_words(struct job *j)
{
    const struct invocation *v = j->v;
    const int result = job_check_time(j);

    if (result != TOOL_DONE)
        return result;
    if (j->run_count > 0 && invocation_get(v, OPTION_SHOW_SOURCE) != NULL)
        return usage_error(v->command, "--time and --show-source exclude each other");
    for (size_t k = 0; k < v->args.count; k++) {
        const char *text = v->args.items[k];
        kiln_arg number;
        if (!is_npy_path(text) && !number_parse(text, &number))
            return usage_error(v->command, "\"%s\" is neither a .npy file nor a number", text);
    }
    return TOOL_DONE;
}

/* "2 inputs (x, y)" */
static const char *params_text(const struct job *j, bool outputs, char *text, size_t bytes)
{
    size_t begin = outputs ? j->def->input_count : 0;
    size_t end = outputs ? j->def->param_count : j->def->input_count;
    kiln__buf b = KILN__BUF_INIT;

    kiln__buf_printf(&b, "%zu %s%s", end - begin, outputs ? "output" : "input",
                     end - begin == 1 ? "" : "s");
    for (size_t k = begin; k < end; k++)
        kiln__buf_printf(&b, "%s%s%s", k == begin ? " (" : ", ", j->def->params[k].name,
                         k + 1 == end ? ")" : "");
    snprintf(text, bytes, "%s", b.text != NULL ? b.text : "");
    kiln__buf_clear(&b);
    return text;
}

/* What can be told once the signature is known: how many ARGs and -o there must be. */
static int check_counts(const struct job *j)
{
    const struct invocation *v = j->v;
    char inputs[256], outputs[256];
    size_t given = v->args.count, wanted = j->def->input_count;
    size_t files = v->option[OPTION_OUTPUT].count;

    params_text(j, false, inputs, sizeof inputs);
    params_text(j, true, outputs, sizeof outputs);
    if (given != wanted && given != j->def->param_count)
        return usage_error(v->command, "%s and %s take %zu ARG%s, or %zu with the outputs; got %zu",
                           inputs, outputs, wanted, wanted == 1 ? "" : "s", j->def->param_count,
                           given);
    if (files != 0 && files != output_count(j))
        return usage_error(v->command, "%s, but -o was given %zu time%s", outputs, files,
                           files == 1 ? "" : "s");
    return TOOL_DONE;
}

void job_define_fold(struct job *j, const char *name, kiln__definition_request *request)
{
    const struct invocation *v = j->v;

    request->name = invocation_get_or(v, OPTION_NAME, name);
    request->in = invocation_get(v, OPTION_IN);
    request->out = invocation_get(v, OPTION_OUT);
    request->snippet[KILN__SNIPPET_PREAMBLE] = invocation_get(v, OPTION_PREAMBLE);
    request->options = v->option[OPTION_COMPILER].items;
    request->option_count = v->option[OPTION_COMPILER].count;
    request->snippet[KILN__SNIPPET_MAP] = invocation_get(v, OPTION_MAP);
    request->snippet[KILN__SNIPPET_REDUCE] = invocation_get_or(v, OPTION_REDUCE, "a + b");
    request->snippet[KILN__SNIPPET_POST] = invocation_get(v, OPTION_POST);
    request->family = &kiln__family_reduction;
}

/* ---- making things ---- */

kiln_status job_open(struct job *j)
{
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;

    opts.device = invocation_get(j->v, OPTION_DEVICE);
    return kiln_context_create(&opts, &j->ctx, &j->err);
}

kiln_status job_load(struct job *j, const char *text, kiln_array **array, kiln_arg *arg)
{
    if (!is_npy_path(text)) {
        number_parse(text, arg);
        return KILN_OK;
    }
    kiln_status status = kiln_array_load_npy(j->ctx, text, array, &j->err);
    if (status == KILN_OK)
        *arg = kiln_arg_array(*array);
    return status;
}

/* ARGs become arguments; outputs without an ARG are left for the kernel to allocate. */
static kiln_status load_args(struct job *j)
{
    const struct texts *args = &j->v->args;

    for (size_t k = 0; k < j->def->param_count; k++) {
        j->args[k] = kiln_arg_out(&j->arrays[k]);
        if (k >= args->count)
            continue;
        kiln_status status = job_load(j, args->items[k], &j->arrays[k], &j->args[k]);
        if (status != KILN_OK)
            return status;
        if (k >= j->def->input_count && j->arrays[k] != NULL)
            j->args[k] = kiln_arg_out(&j->arrays[k]);
    }
    return KILN_OK;
}

/* ---- --type ---- */

bool job_broadcast(const struct job *j, size_t count, int *rank, int64_t *shape)
{
    bool any = false;

    *rank = 0;
    for (size_t k = 0; k < count; k++) {
        const kiln_array *a = j->arrays[k];
        if (a == NULL || j->def->params[k].raw)
            continue;
        any = true;
        if (!kiln__shape_broadcast(rank, shape, kiln_array_rank(a), kiln_array_shape(a)))
            return false;
    }
    return any;
}

/* A number as codegen knows it; false when the argument is none. */
static bool given_number(const kiln_arg *arg, kiln__given *given)
{
    switch (arg->kind) {
    case KILN_ARG_BOOL:
        given->kind = KILN__GIVEN_BOOL;
        given->value.b = arg->value.b;
        return true;
    case KILN_ARG_INT:
        given->kind = KILN__GIVEN_INT;
        given->value.i = arg->value.i;
        return true;
    case KILN_ARG_UINT:
        given->kind = KILN__GIVEN_UINT;
        given->value.u = arg->value.u;
        return true;
    case KILN_ARG_FLOAT:
        given->kind = KILN__GIVEN_FLOAT;
        given->value.f = arg->value.f;
        return true;
    case KILN_ARG_COMPLEX:
        given->kind = KILN__GIVEN_COMPLEX;
        memcpy(given->value.c, arg->value.c, sizeof given->value.c);
        return true;
    case KILN_ARG_ARRAY:
    case KILN_ARG_OUT:
    case KILN_ARG_LIST:
    case KILN_ARG_STRUCT:
        break;
    }
    return false;
}

/* Give input `k` as an array of one element instead of a number: it then decides its dtype. */
static kiln_status number_to_array(struct job *j, size_t k, kiln_dtype dtype)
{
    kiln__given given = {0};
    kiln__scalar scalar;

    if (!given_number(&j->args[k], &given))
        return KILN_OK;
    kiln_status status = kiln__convert_scalar(j->def, k, &given, dtype, &scalar, &j->err);
    if (status == KILN_OK)
        status = kiln_array_from_host(j->ctx, dtype, 0, NULL, scalar.bytes, NULL, &j->arrays[k],
                                      &j->err);
    if (status == KILN_OK)
        j->args[k] = kiln_arg_array(j->arrays[k]);
    return status;
}

/*
 * Bind one placeholder. The library binds placeholders from outputs given, arrays and numbers, in
 * this order; so an output of that type is allocated here, and where there is none, the numbers
 * of that type are given as arrays.
 */
static kiln_status bind_placeholder(struct job *j, const job_kind *kind, char letter,
                                    kiln_dtype dtype)
{
    const kiln__definition *def = j->def;
    int64_t shape[KILN_RANK_MAX];
    int rank = 0;
    bool bound = false, has_shape = kind->shape(j, &rank, shape);
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < def->param_count; k++) {
        const kiln_array *a = j->arrays[k];
        if (def->params[k].placeholder != letter || a == NULL)
            continue;
        if (kiln_array_dtype(a) != dtype)
            return kiln__fail(&j->err, KILN_ERR_DTYPE, "--type %c=%s, but `%s` is %s: %s", letter,
                              kiln_dtype_name(dtype), def->params[k].name,
                              kiln_dtype_name(kiln_array_dtype(a)), j->v->args.items[k]);
        bound = true;
    }
    for (size_t k = def->input_count; k < def->param_count && !bound; k++) {
        if (def->params[k].placeholder != letter || def->params[k].raw || !has_shape)
            continue;
        KILN_TRY(kiln_array_empty(j->ctx, dtype, rank, shape, &j->arrays[k], &j->err));
        bound = j->made_output = true;
    }
    for (size_t k = 0; k < def->input_count && !bound; k++)
        if (def->params[k].placeholder == letter && !def->params[k].raw)
            KILN_TRY(number_to_array(j, k, dtype));
done:
    return status;
}

/* Apply every --type. TOOL_USAGE for a word that is none; TOOL_FAILED fills j->err. */
static int apply_types(struct job *j, const job_kind *kind)
{
    const struct texts *types = &j->v->option[OPTION_TYPE];
    const int command = j->v->command;

    for (size_t t = 0; t < types->count; t++) {
        const char *text = types->items[t];
        bool used = false;
        if (text[0] == '\0' || text[1] != '=')
            return usage_error(command, "--type %s is not of the form T=DTYPE", text);
        kiln_dtype dtype = kiln_dtype_from_name(text + 2, strlen(text + 2));
        if (dtype == KILN_DTYPE_NONE)
            return usage_error(command, "--type %s: there is no dtype \"%s\"", text, text + 2);
        for (size_t k = 0; k < j->def->param_count; k++)
            used = used || j->def->params[k].placeholder == text[0];
        if (!used)
            return usage_error(command, "--type %s: no parameter is of type %c", text, text[0]);
        if (bind_placeholder(j, kind, text[0], dtype) != KILN_OK)
            return TOOL_FAILED;
    }
    return TOOL_DONE;
}

/* ---- failures in the words of the command line ---- */

/* Messages of the library speak of members of C structs; these are options here. */
static const struct {
    const char *member;
    enum option_id id;
} members[] = {{"size", OPTION_SIZE}, {"where", OPTION_WHERE}, {"initial", OPTION_INITIAL}};

static bool is_param(const struct job *j, const char *name)
{
    for (size_t k = 0; j->def != NULL && k < j->def->param_count; k++) {
        if (strcmp(j->def->params[k].name, name) == 0)
            return true;
    }
    return false;
}

/* Put the option's name where the message has the member's. */
static void name_options(struct job *j)
{
    for (size_t m = 0; m < KILN_COUNT_OF(members); m++) {
        char word[32], before[KILN_ERROR_MESSAGE_BYTES], after[KILN_ERROR_MESSAGE_BYTES];
        snprintf(word, sizeof word, "`%s`", members[m].member);
        const char *at = strstr(j->err.message, word);
        const char *option = option_name(j->v->command, members[m].id);
        if (at == NULL || option[0] != '-' || is_param(j, members[m].member))
            continue;
        snprintf(before, sizeof before, "%.*s", (int)(at - j->err.message), j->err.message);
        snprintf(after, sizeof after, "%s", at + strlen(word));
        (void)kiln__fail(&j->err, j->err.status, "%s%s%s", before, option, after);
    }
}

static void say_failure(struct job *j)
{
    name_options(j);
    tool_error(&j->err);
    if (j->err.status == KILN_ERR_UNBOUND)
        fputs("kiln: --type decides such a type, as in --type T=float32\n", stderr);
}

/* ---- running ---- */

void job_print_source(char *text)
{
    size_t length = strlen(text);

    fputs(text, stdout);
    if (length > 0 && text[length - 1] != '\n')
        putchar('\n');
    kiln_free(text);
}

/* Launches that are timed as one sample. */
typedef struct batch {
    kiln_launch *launch;
    int64_t count;
} batch;

static kiln_status launch_batch(void *user, kiln_error *err)
{
    const batch *const b = user;
    kiln_status status = KILN_OK;

    for (int64_t k = 0; k < b->count && status == KILN_OK; k++)
        status = kiln_launch_run(b->launch, NULL, err);
    return status;
}

/* The median time of `count` samples, in microseconds of the device. */
static kiln_status time_batch(struct job *j, batch *b, uint64_t count, double *us_out)
{
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_benchmark_result result;

    opts.warmups = 1;
    opts.repeats = count;
    kiln_status status = kiln_benchmark(j->ctx, launch_batch, b, &opts, &result, &j->err);
    *us_out = result.device[0].median * 1e6;
    return status;
}

/* How many launches one sample takes so that waiting for the device does not show in it. */
static kiln_status choose_batch(struct job *j, batch *b)
{
    enum { SAMPLE_US = 2000, BATCH_MAX = 4096 };
    kiln_status status = KILN_OK;
    double us = 0.0;

    for (b->count = 1; b->count < BATCH_MAX; b->count *= 2) {
        KILN_TRY(time_batch(j, b, 1, &us));
        if (us >= SAMPLE_US)
            break;
    }
done:
    return status;
}

static void print_time(const struct job *j, double median_ms)
{
    const size_t count = j->def != NULL ? j->def->param_count : KILN_PARAM_MAX;
    double bytes = 0.0;
    for (size_t k = 0; k < count; k++) {
        const kiln_array *a = j->arrays[k];
        if (a != NULL)
            bytes += (double)kiln_array_size(a) * (double)kiln_dtype_size(kiln_array_dtype(a));
    }
    printf("%s on %s: median of %lld runs %.6g ms, %.6g GB/s\n",
           j->def != NULL ? j->def->name : j->name,
           kiln_context_device(j->ctx)->id, (long long)j->run_count, median_ms,
           bytes / (median_ms * 1e6));
}

/* Median of j->run_count samples, each of as many launches as make waiting for the device
 * invisible. */
static kiln_status time_launch(struct job *j, kiln_launch *launch)
{
    kiln_status status = KILN_OK;
    batch b = {.launch = launch};
    double us = 0.0;

    KILN_TRY(choose_batch(j, &b));
    KILN_TRY(time_batch(j, &b, (uint64_t)j->run_count, &us));
    print_time(j, us / (double)b.count / 1000.0);
done:
    return status;
}

/* Print the results, or write them where -o says. */
static kiln_status deliver(struct job *j, size_t first, size_t count)
{
    const struct texts *files = &j->v->option[OPTION_OUTPUT];
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < count; k++) {
        const kiln_array *a = j->arrays[first + k];
        if (files->count > 0) {
            KILN_TRY(kiln_array_save_npy(a, files->items[k], &j->err));
        } else if (j->run_count == 0) {
            char *text = NULL;
            KILN_TRY(kiln_array_to_string(a, &text, &j->err));
            if (count > 1 && j->def != NULL)
                printf("%s =\n", j->def->params[first + k].name);
            else if (count > 1)
                printf("result %zu =\n", k + 1);
            puts(text);
            kiln_free(text);
        }
    }
done:
    return status;
}

kiln_status job_run(struct job *j, const job_kind *kind, size_t first, size_t count)
{
    kiln_status status = KILN_OK;
    kiln_launch *launch = NULL;

    if (j->run_count > 0) {
        KILN_TRY(kind->prepare(j, &launch));
        KILN_TRY(time_launch(j, launch));
    } else {
        KILN_TRY(kind->run(j));
    }
    KILN_TRY(kiln_context_synchronize(j->ctx, &j->err));
    if (kind->finish != NULL)
        KILN_TRY(kind->finish(j, &count));
    KILN_TRY(deliver(j, first, count));
done:
    kiln_launch_destroy(launch);
    return status;
}

static kiln_status execute(struct job *j, const job_kind *kind)
{
    char *text = NULL;
    kiln_status status = KILN_OK;

    if (invocation_get(j->v, OPTION_SHOW_SOURCE) == NULL)
        return job_run(j, kind, j->def->input_count, output_count(j));
    status = kind->source(j, &text);
    if (status == KILN_OK)
        job_print_source(text);
    return status;
}

static kiln_status make(struct job *j, const job_kind *kind)
{
    kiln_status status = KILN_OK;

    KILN_TRY(job_open(j));
    KILN_TRY(kind->make(j));
    KILN_TRY(load_args(j));
done:
    return status;
}

int job_command(struct job *j, const job_kind *kind)
{
    kiln__definition_request request = {0};
    int result = kind->check(j);

    if (result == TOOL_DONE)
        result = check_words(j);
    if (result == TOOL_DONE) {
        kind->define(j, &request);
        result = kiln__definition_create(&request, &j->def, &j->err) == KILN_OK ? check_counts(j)
                                                                                : TOOL_FAILED;
    }
    if (result == TOOL_DONE && make(j, kind) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_DONE)
        result = apply_types(j, kind);
    if (result == TOOL_DONE && execute(j, kind) != KILN_OK)
        result = TOOL_FAILED;
    if (result == TOOL_FAILED)
        say_failure(j);
    return result;
}

void job_clear(struct job *j)
{
    for (size_t k = 0; k < KILN_PARAM_MAX; k++)
        kiln_array_release(j->arrays[k]);
    kiln_context_release(j->ctx);
    kiln__definition_destroy(j->def);
    kiln_error_clear(&j->err);
}
