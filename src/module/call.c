/*
 * call.c - calls of raw kernels: arguments and launch records, checked; then one launch.
 *
 *     arguments > [kinds > dtypes > values into the block]   record > [limits] > launch
 *
 * Rule: nothing is enqueued before everything is checked.
 */
#include <float.h>
#include <math.h>

#include "module/module.h"

/* ---- arguments ---- */

/* "kernel "axpy": argument 2 (`y`)" */
static const char *subject(const kiln__function *r, size_t p, char *out, size_t bytes)
{
    char which[160];

    kiln__param_text(r->def, p, which, sizeof which);
    snprintf(out, bytes, "kernel \"%.100s\": %s", r->def->name, which);
    return out;
}

/* The array of an argument, or NULL for a number or a struct. */
static kiln_status take_array(const kiln__function *r, size_t p, const kiln_arg *arg,
                              kiln_array **out, kiln_error *err)
{
    char what[320];

    *out = NULL;
    if (arg->kind != KILN_ARG_ARRAY && arg->kind != KILN_ARG_OUT)
        return KILN_OK;
    if (arg->kind == KILN_ARG_OUT && (arg->value.out == NULL || *arg->value.out == NULL))
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL, and a raw kernel allocates no outputs",
                          subject(r, p, what, sizeof what));
    *out = arg->kind == KILN_ARG_OUT ? *arg->value.out : arg->value.array;
    if (kiln__array_check(*out, r->loaded->ctx, "", NULL) != KILN_OK) /* the text costs time */
        return kiln__array_check(*out, r->loaded->ctx, subject(r, p, what, sizeof what), err);
    const bool reads = r->typed ? r->def->params[p].is_const : r->params[p].kind != 'p';
    if (!reads && kiln__array_is_read_only(*out))
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "%s is read-only, and the parameter is not declared `raw const`",
                          subject(r, p, what, sizeof what));
    return KILN_OK;
}

/* Whether an argument is of the kind that its parameter takes. */
static kiln_status check_kind(const kiln__function *r, size_t p, const kiln_array *array,
                              kiln_error *err)
{
    const kiln__raw_param *param = &r->params[p];
    const bool known = r->typed || param->kind != 0;
    const bool wants = r->typed ? r->def->params[p].raw : param->kind == 'p' || param->kind == 'c';
    char what[320];

    if (known && wants && array == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is a number, and the kernel takes an array",
                          subject(r, p, what, sizeof what));
    if (known && !wants && array != NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is an array, and the kernel takes a number%s",
                          subject(r, p, what, sizeof what),
                          r->typed ? "; an array's parameter is declared `raw`" : "");
    if (array != NULL && param->bytes != sizeof(void *))
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is an array, and the parameter has %u bytes",
                          subject(r, p, what, sizeof what), param->bytes);
    return KILN_OK;
}

/* A parameter that is passed whole, and an argument that is: of the same size. */
static kiln_status check_struct(const kiln__function *r, size_t p, const kiln_arg *arg,
                                kiln_error *err)
{
    const kiln__raw_param *const param = &r->params[p];
    const bool given = arg->kind == KILN_ARG_STRUCT;
    const bool wants =
        r->typed ? r->def->params[p].is_struct : given && param->kind != 'p' && param->kind != 'c';
    char what[320];

    if (given == wants && (!given || arg->value.bytes.count == param->bytes))
        return !given || arg->value.bytes.data != NULL
                   ? KILN_OK
                   : kiln__fail(err, KILN_ERR_NULL, "%s is a struct at NULL",
                                subject(r, p, what, sizeof what));
    (void)subject(r, p, what, sizeof what);
    return given && wants ? kiln__fail(err, KILN_ERR_DTYPE,
                                       "%s is a struct of %zu bytes, and the kernel's has %u", what,
                                       arg->value.bytes.count, param->bytes)
           : given ? kiln__fail(err, KILN_ERR_DTYPE, "%s is a struct, and the kernel takes %s",
                                what, !r->typed || r->def->params[p].raw ? "an array" : "a number")
                   : kiln__fail(err, KILN_ERR_DTYPE,
                                "%s is none, and the kernel takes a struct of %u bytes; "
                                "kiln_arg_struct() makes one",
                                what, param->bytes);
}

/* The dtype of a number that has no signature: by its own kind, and the parameter's size and
 * type. */
static kiln_dtype guess_dtype(const kiln__raw_param *param, kiln_arg_kind kind)
{
    static const kiln_dtype integers[] = {
        [1] = KILN_INT8, [2] = KILN_INT16, [4] = KILN_INT32, [8] = KILN_INT64};
    static const kiln_dtype naturals[] = {
        [1] = KILN_UINT8, [2] = KILN_UINT16, [4] = KILN_UINT32, [8] = KILN_UINT64};
    const uint32_t bytes = param->bytes;
    const bool power = bytes <= 8 && (bytes & (bytes - 1)) == 0;

    if (kind == KILN_ARG_COMPLEX)
        return bytes == 16 ? KILN_COMPLEX128 : bytes == 8 ? KILN_COMPLEX64 : KILN_DTYPE_NONE;
    if (kind == KILN_ARG_FLOAT || param->kind == 'f')
        return param->kind != 0 && param->kind != 'f' && param->kind != 's' ? KILN_DTYPE_NONE
               : bytes == 8                                                 ? KILN_FLOAT64
               : bytes == 4                                                 ? KILN_FLOAT32
                                                                            : KILN_DTYPE_NONE;
    if (kind == KILN_ARG_BOOL && bytes == 1)
        return KILN_BOOL;
    return !power ? KILN_DTYPE_NONE : kind == KILN_ARG_UINT ? naturals[bytes] : integers[bytes];
}

/* The bytes of an integer beyond its sign are the same for a number of either kind. */
static kiln_status put_number(const kiln__function *r, size_t p, const kiln_arg *arg,
                              kiln_dtype dtype, unsigned char *block, kiln_error *err)
{
    kiln__given given;
    kiln__scalar value;
    char what[320];

    if (!kiln__given_scalar(arg, &given))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s has the unknown kind %d",
                          subject(r, p, what, sizeof what), (int)arg->kind);
    if (!r->typed)
        dtype = guess_dtype(&r->params[p], arg->kind);
    if (dtype == KILN_DTYPE_NONE)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s is no number that a parameter of %u bytes takes",
                          subject(r, p, what, sizeof what), r->params[p].bytes);
    kiln_status status = kiln__convert_scalar(r->def, p, &given, dtype, &value, err);
    if (status == KILN_ERR_RANGE && !r->typed && arg->kind == KILN_ARG_INT && arg->value.i > 0) {
        /* An unsigned parameter, maybe: nothing tells. */
        const kiln_arg natural = kiln_arg_uint((uint64_t)arg->value.i);
        (void)kiln__given_scalar(&natural, &given);
        status = kiln__convert_scalar(r->def, p, &given, guess_dtype(&r->params[p], KILN_ARG_UINT),
                                      &value, err);
    }
    if (status == KILN_OK)
        memcpy(block + r->params[p].offset, value.bytes, r->params[p].bytes);
    return status;
}

/* One argument: `*given_out` is what its dtype is bound by. Numbers are put into the block
 * later. */
static kiln_status take_argument(const kiln__function *r, size_t p, const kiln_arg *arg,
                                 kiln_array **array_out, unsigned char *block,
                                 kiln__given *given_out, kiln_error *err)
{
    KILN_CHECK(check_struct(r, p, arg, err));
    if (arg->kind == KILN_ARG_STRUCT) {
        memcpy(block + r->params[p].offset, arg->value.bytes.data, r->params[p].bytes);
        *given_out = (kiln__given){.kind = KILN__GIVEN_ARRAY, .dtype = r->def->params[p].dtype};
        return KILN_OK;
    }
    KILN_CHECK(take_array(r, p, arg, array_out, err));
    KILN_CHECK(check_kind(r, p, *array_out, err));
    if (*array_out == NULL) {
        (void)kiln__given_scalar(arg, given_out);
        return KILN_OK;
    }
    *given_out = (kiln__given){.kind = KILN__GIVEN_ARRAY, .dtype = (*array_out)->dtype};
    memcpy(block + r->params[p].offset, &(*array_out)->data, sizeof(void *));
    return KILN_OK;
}

/* The dtypes where all are declared and all arrays have them: what calls cost most of the time. */
static bool take_declared(const kiln__function *r, const kiln__given *given, kiln_dtype *dtypes)
{
    for (size_t p = 0; p < r->def->param_count; p++) {
        dtypes[p] = r->def->params[p].dtype;
        if (dtypes[p] == KILN_DTYPE_NONE ||
            (given[p].kind == KILN__GIVEN_ARRAY && given[p].dtype != dtypes[p]))
            return false;
    }
    return true;
}

/* A number of the parameter's own kind that it holds. */
static bool put_plain_number(const kiln__plain_param *param, const kiln_arg *arg, unsigned char *at)
{
    int32_t narrow;
    float single;

    switch (param->kind) {
    case KILN__PLAIN_INT32:
        if (arg->kind != KILN_ARG_INT || arg->value.i < INT32_MIN || arg->value.i > INT32_MAX)
            return false;
        narrow = (int32_t)arg->value.i;
        memcpy(at, &narrow, sizeof narrow);
        return true;
    case KILN__PLAIN_INT64:
        memcpy(at, &arg->value.i, sizeof arg->value.i);
        return arg->kind == KILN_ARG_INT;
    case KILN__PLAIN_FLOAT32:
        if (arg->kind != KILN_ARG_FLOAT || !(fabs(arg->value.f) <= (double)FLT_MAX))
            return false;
        single = (float)arg->value.f;
        memcpy(at, &single, sizeof single);
        return true;
    case KILN__PLAIN_FLOAT64:
        memcpy(at, &arg->value.f, sizeof arg->value.f);
        return arg->kind == KILN_ARG_FLOAT;
    default:
        return false;
    }
}

/* What most calls are: as many arguments as there are parameters, each of exactly the declared
 * kind. False for any other call, whether it is right or wrong; nothing that was written then
 * counts. */
static bool take_plain(const kiln__function *r, const kiln_arg *args, size_t count,
                       kiln_array **arrays, kiln_dtype *dtypes, unsigned char *block)
{
    if (count != r->def->param_count || args == NULL)
        return false;
    for (size_t p = 0; p < count; p++) {
        const kiln__plain_param *const param = &r->plain[p];
        unsigned char *const at = block + param->offset;
        dtypes[p] = (kiln_dtype)param->dtype;
        arrays[p] = NULL;
        if (param->kind > KILN__PLAIN_WRITTEN) {
            if (!put_plain_number(param, &args[p], at))
                return false;
            continue;
        }
        kiln_array *const a = args[p].kind == KILN_ARG_ARRAY ? args[p].value.array : NULL;
        if (param->kind == KILN__PLAIN_NONE || a == NULL || a->magic != KILN__ARRAY_MAGIC ||
            a->ctx != r->loaded->ctx || a->dtype != dtypes[p] ||
            (param->kind == KILN__PLAIN_WRITTEN && kiln__array_is_read_only(a)))
            return false;
        arrays[p] = a;
        memcpy(at, &a->data, sizeof a->data);
    }
    return true;
}

/* Check all arguments and fill the block. */
static kiln_status take_arguments(const kiln__function *r, const kiln_arg *args, size_t count,
                                  kiln_array **arrays, kiln_dtype *dtypes, unsigned char *block,
                                  kiln_error *err)
{
    kiln__given given[KILN_PARAM_MAX];

    if (count != r->def->param_count)
        return kiln__fail_detail(err, KILN_ERR_ARGUMENT_COUNT,
                                 r->typed ? kiln__strdup(r->def->signature[0]) : NULL,
                                 "kernel \"%.100s\" takes %zu arguments, and %zu were given",
                                 r->def->name, r->def->param_count, count);
    if (count != 0 && args == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kernel \"%.100s\": `args` is NULL", r->def->name);
    memset(given, 0, count * sizeof *given);
    for (size_t p = 0; p < count; p++) {
        dtypes[p] = KILN_DTYPE_NONE;
        KILN_CHECK(take_argument(r, p, &args[p], &arrays[p], block, &given[p], err));
    }
    if (r->typed && !take_declared(r, given, dtypes))
        KILN_CHECK(kiln__bind_types(r->def, given, dtypes, err));
    for (size_t p = 0; p < count; p++)
        if (arrays[p] == NULL && args[p].kind != KILN_ARG_STRUCT)
            KILN_CHECK(put_number(r, p, &args[p], dtypes[p], block, err));
    return KILN_OK;
}

/* ---- launch records ---- */

/* "(4, 1, 1)" */
static const char *dims_text(const int64_t dims[3], char out[80])
{
    const long long y = dims[1] != 0 ? dims[1] : 1, z = dims[2] != 0 ? dims[2] : 1; /* 0 means 1 */
    snprintf(out, 80, "(%lld, %lld, %lld)", (long long)dims[0], y, z);
    return out;
}

/* One of grid, block and cluster: within the limits of each axis. */
static kiln_status take_dims(const kiln__function *r, const char *what, const int64_t given[3],
                             const uint32_t limits[3], uint32_t out[3], kiln_error *err)
{
    char text[80];

    for (int axis = 0; axis < 3; axis++) {
        const int64_t value = axis > 0 && given[axis] == 0 ? 1 : given[axis];
        if (value < 0 || value > (int64_t)limits[axis])
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "kernel \"%.100s\": a %s of %s, and %s has at most (%u, %u, %u)",
                              r->def->name, what, dims_text(given, text),
                              kiln__device_info(r->loaded->device)->id, limits[0], limits[1],
                              limits[2]);
        out[axis] = (uint32_t)value;
    }
    return KILN_OK;
}

static kiln_status take_cluster(const kiln__function *r, const kiln_raw_call_options *o,
                                const kiln__raw_limits *limits, kiln__raw_launch *launch,
                                kiln_error *err)
{
    const uint32_t most[3] = {limits->cluster_blocks, limits->cluster_blocks,
                              limits->cluster_blocks};
    char grid[80], cluster[80];

    if (o->cluster[0] == 0 && o->cluster[1] == 0 && o->cluster[2] == 0)
        return KILN_OK;
    if (limits->cluster_blocks == 0)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "kernel \"%.100s\": %s has no clusters",
                          r->def->name, kiln__device_info(r->loaded->device)->id);
    KILN_CHECK(take_dims(r, "cluster", o->cluster, most, launch->cluster, err));
    const uint32_t *c = launch->cluster;
    if ((uint64_t)c[0] * c[1] * c[2] > limits->cluster_blocks)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kernel \"%.100s\": a cluster of %s blocks (at most %u in all)",
                          r->def->name, dims_text(o->cluster, cluster), limits->cluster_blocks);
    for (int axis = 0; axis < 3; axis++)
        if (c[axis] == 0 || (!(o->fill && axis == 0) && launch->grid[axis] % c[axis] != 0))
            return kiln__fail(
                err, KILN_ERR_ARGUMENT,
                "kernel \"%.100s\": a grid of %s is no whole number of clusters of %s",
                r->def->name, dims_text(o->grid, grid), dims_text(o->cluster, cluster));
    return KILN_OK;
}

static kiln_status check_block(const kiln__function *r, const kiln_raw_call_options *o,
                               const kiln__raw_limits *limits, const kiln__raw_launch *launch,
                               kiln_error *err)
{
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    char text[80];

    if (launch->block[0] == 0)
        return kiln__fail(
            err, KILN_ERR_ARGUMENT,
            "kernel \"%.100s\": the launch sets no threads of a block (block[0] is 0)",
            r->def->name);
    if (threads > limits->block_threads)
        return kiln__fail(
            err, KILN_ERR_ARGUMENT,
            "kernel \"%.100s\": a block of %s has %llu threads, and %s has at most %u",
            r->def->name, dims_text(o->block, text), (unsigned long long)threads,
            kiln__device_info(r->loaded->device)->id, limits->block_threads);
    return KILN_OK;
}

static kiln_status check_modes(const kiln__function *r, const kiln_raw_call_options *o,
                               const kiln__raw_limits *limits, kiln_error *err)
{
    const char *what = o->shared_bytes != 0 && limits->shared_bytes == 0 ? "shared memory"
                       : o->cooperative && !limits->cooperative          ? "cooperative launches"
                       : o->programmatic && !limits->programmatic        ? "programmatic launches"
                                                                         : NULL;

    if (what != NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "kernel \"%.100s\": %s has no %s",
                          r->def->name, kiln__device_info(r->loaded->device)->id, what);
    if (o->shared_bytes < 0 || o->shared_bytes > (int64_t)limits->shared_bytes)
        return kiln__fail(
            err, KILN_ERR_ARGUMENT,
            "kernel \"%.100s\": %lld bytes of shared memory, and a block on %s has at "
            "most %u",
            r->def->name, (long long)o->shared_bytes, kiln__device_info(r->loaded->device)->id,
            limits->shared_bytes);
    return KILN_OK;
}

/* What the kernel itself has of a block's room. */
static kiln_status check_function(const kiln__function *r, const kiln__raw_launch *launch,
                                  kiln_error *err)
{
    const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    const uint32_t most = r->loaded->limits.shared_bytes;

    if (threads > (uint32_t)r->max_threads)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kernel \"%.100s\": %u threads a block, and its registers or its launch "
                          "bounds allow %d",
                          r->def->name, threads, r->max_threads);
    if (launch->shared_bytes != 0 &&
        (uint64_t)launch->shared_bytes + (uint32_t)r->shared_bytes > most)
        return kiln__fail(
            err, KILN_ERR_ARGUMENT,
            "kernel \"%.100s\": %u bytes of shared memory beside its own %d, and a block "
            "has at most %u",
            r->def->name, launch->shared_bytes, r->shared_bytes, most);
    return KILN_OK;
}

/* A cooperative grid must fit the device; one that is to fill it takes what fits. */
static kiln_status fit_grid(const kiln__function *r, const kiln_raw_call_options *o,
                            kiln__raw_launch *launch, kiln_error *err)
{
    int64_t blocks = 0;
    char text[80];

    if (!o->fill && !o->cooperative)
        return KILN_OK;
    KILN_CHECK(kiln__raw_occupancy(r->loaded->device, r->entry, launch, &blocks, err));
    const int64_t across = (int64_t)launch->grid[1] * launch->grid[2];
    if (o->fill) {
        int64_t along = blocks / across;
        along -= launch->cluster[0] != 0 ? along % launch->cluster[0] : 0;
        if (along == 0)
            return kiln__fail(
                err, KILN_ERR_ARGUMENT,
                "kernel \"%.100s\": the device runs %lld such blocks at a time, too few "
                "to fill it with",
                r->def->name, (long long)blocks);
        launch->grid[0] = (uint32_t)along;
    } else if (launch->grid[0] * across > blocks) {
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kernel \"%.100s\": a cooperative grid of %s blocks, and the device runs "
                          "%lld of them at a time",
                          r->def->name, dims_text(o->grid, text), (long long)blocks);
    }
    return KILN_OK;
}

/* What most launches are: a grid and a block within the limits, and nothing else. False for any
 * other record, whether it is right or wrong. */
static bool take_plain_record(const kiln__function *r, const kiln_raw_call_options *o,
                              kiln__raw_launch *launch)
{
    const kiln__raw_limits *const limits = &r->loaded->limits;
    uint64_t threads = 1;

    if ((o->cluster[0] | o->cluster[1] | o->cluster[2] | o->shared_bytes) != 0 || o->fill ||
        o->cooperative || o->programmatic)
        return false;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t grid = o->grid[axis] + (axis > 0 && o->grid[axis] == 0);
        const int64_t block = o->block[axis] + (axis > 0 && o->block[axis] == 0);
        if (grid <= 0 || grid > (int64_t)limits->grid[axis] || block <= 0 ||
            block > (int64_t)limits->block[axis])
            return false;
        launch->grid[axis] = (uint32_t)grid;
        launch->block[axis] = (uint32_t)block;
        threads *= (uint64_t)block;
    }
    return threads <= limits->block_threads && threads <= (uint64_t)r->max_threads;
}

/* `*empty_out`: there is nothing to launch. */
static kiln_status take_record(const kiln__function *r, const kiln_raw_call_options *o,
                               bool measure, kiln__raw_launch *launch, bool *empty_out,
                               kiln_error *err)
{
    const int64_t grid[3] = {o->fill ? 1 : o->grid[0], o->grid[1], o->grid[2]};
    const kiln__raw_limits *limits = &r->loaded->limits;

    memset(launch, 0, sizeof *launch);
    *empty_out = false;
    if (take_plain_record(r, o, launch))
        return KILN_OK;
    memset(launch, 0, sizeof *launch);
    KILN_CHECK(check_modes(r, o, limits, err));
    launch->shared_bytes = (uint32_t)o->shared_bytes;
    launch->cooperative = o->cooperative;
    launch->programmatic = o->programmatic;
    KILN_CHECK(take_dims(r, "block", o->block, limits->block, launch->block, err));
    KILN_CHECK(check_block(r, o, limits, launch, err));
    KILN_CHECK(take_dims(r, "grid", grid, limits->grid, launch->grid, err));
    *empty_out = launch->grid[0] == 0;
    if (*empty_out && !measure)
        return KILN_OK;
    launch->grid[0] += *empty_out;
    KILN_CHECK(take_cluster(r, o, limits, launch, err));
    KILN_CHECK(check_function(r, launch, err));
    if (!measure)
        KILN_CHECK(fit_grid(r, o, launch, err));
    return KILN_OK;
}

/* ---- the public functions ---- */

KILN_DEFINE_OPTIONS_INIT(kiln_raw_call_options)

static kiln_status check_raw(const kiln_raw *kernel, const char *function, kiln_error *err)
{
    if (kernel == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `kernel` is NULL", function);
    if (kernel->magic != KILN__RAW_MAGIC)
        return kiln__context_released("raw kernel", err);
    return kiln__context_check(kernel->function->loaded->ctx, err);
}

static kiln_status read_options(const kiln_raw_call_options *opts, const char *function,
                                kiln_raw_call_options *o, kiln_error *err)
{
    if (opts == NULL)
        return kiln__fail(err, KILN_ERR_NULL,
                          "%s: `opts` is NULL, and a launch has no default grid", function);
    return KILN_READ_OPTIONS(kiln_raw_call_options, o, opts, err);
}

/* A call with everything checked. The arrays are borrowed, or, in a prepared launch, counted. */
typedef struct call {
    kiln__function *function; /* prepared: counted */
    kiln__raw_launch launch;
    bool empty;                        /* there is nothing to launch */
    kiln_dtype dtypes[KILN_PARAM_MAX]; /* with a signature */
    kiln_array *arrays[KILN_PARAM_MAX];
    _Alignas(16) unsigned char block[KILN__RAW_BLOCK_MAX];
} call;

static kiln_status read_call(const kiln_raw *kernel, const kiln_arg *args, size_t arg_count,
                             const kiln_raw_call_options *opts, const char *name, call *c,
                             kiln_stream **stream, kiln_error *err)
{
    kiln_raw_call_options read = KILN_RAW_CALL_OPTIONS_INIT;
    const kiln_raw_call_options *o = opts;

    KILN_CHECK(check_raw(kernel, name, err));
    kiln__function *const r = kernel->function;
    if (opts == NULL || opts->struct_size != sizeof *opts) {
        KILN_CHECK(read_options(opts, name, &read, err));
        o = &read;
    }
    KILN_CHECK(kiln__context_stream(r->loaded->ctx, o->stream, stream, err));
    c->function = r;
    memset(c->block, 0, r->block_bytes);
    if (!take_plain(r, args, arg_count, c->arrays, c->dtypes, c->block)) {
        memset(c->arrays, 0, r->def->param_count * sizeof *c->arrays);
        KILN_CHECK(take_arguments(r, args, arg_count, c->arrays, c->dtypes, c->block, err));
    }
    return take_record(r, o, false, &c->launch, &c->empty, err);
}

/* A kiln__describe_fn: arrays, and, with a signature, numbers. */
static void describe(const void *user, kiln__step_note *note)
{
    const call *const c = user;
    const kiln__function *const r = c->function;

    note->kernel = r->def->name;
    note->place_count = 0;
    for (size_t p = 0; p < r->def->param_count; p++) {
        if (c->arrays[p] == NULL && (!r->typed || r->def->params[p].is_struct))
            continue;
        if (note->places != NULL)
            note->places[note->place_count] =
                (kiln__arg_place){(uint16_t)r->params[p].offset, (uint16_t)r->params[p].bytes,
                                  (uint8_t)c->dtypes[p],         (uint8_t)p,
                                  c->arrays[p] != NULL,          0,
                                  r->def->params[p].name};
        note->place_count++;
    }
}

static kiln_status run_call(const call *c, kiln_stream *stream, kiln_error *err)
{
    kiln__function *const r = c->function;
    const size_t count = r->def->param_count;

    if (c->empty)
        return KILN_OK;
    kiln_status status =
        kiln__raw_launch_run(r->loaded->device, r->entry, &c->launch, r->params, count, c->block,
                             r->block_bytes, describe, c, stream, err);
    if (status == KILN_OK && kiln__stream_is_recording(stream)) {
        atomic_fetch_add(&r->refs, 1);
        kiln__stream_keep(stream, r, kiln__function_release);
    }
    for (size_t p = 0; p < count && status == KILN_OK; p++)
        if (c->arrays[p] != NULL && c->arrays[p]->storage->home != stream)
            kiln__storage_used_on(c->arrays[p]->storage, stream);
    return status;
}

kiln_status kiln_raw_run(kiln_raw *kernel, const kiln_arg *args, size_t arg_count,
                         const kiln_raw_call_options *opts, kiln_error *err)
{
    kiln_stream *stream = NULL;
    call c;
    KILN_CHECK(read_call(kernel, args, arg_count, opts, "kiln_raw_run", &c, &stream, err));
    return run_call(&c, stream, err);
}

/* ---- prepared ---- */

static kiln_status run_prepared(void *state, kiln_stream *stream, kiln_error *err)
{
    return run_call(state, stream, err);
}

/* A kernel makes no assumption about an array but what its signature says, so another one may have
 * any shape. */
static kiln_status set_prepared(void *state, size_t p, const kiln_arg *value, kiln_error *err)
{
    call *const c = state;
    const kiln__function *const r = c->function;
    _Alignas(16) unsigned char block[KILN__RAW_BLOCK_MAX];
    kiln__given given = {.kind = KILN__GIVEN_NOTHING};
    kiln_array *array = NULL;

    if (p >= r->def->param_count)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the prepared launch has %zu arguments",
                          r->def->param_count);
    KILN_CHECK(take_argument(r, p, value, &array, block, &given, err));
    if ((array != NULL) != (c->arrays[p] != NULL))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "kernel \"%.100s\": argument %zu is %s",
                          r->def->name, p + 1, array == NULL ? "an array" : "a number");
    if (array != NULL && r->typed && array->dtype != c->dtypes[p])
        return kiln__fail(
            err, KILN_ERR_DTYPE, "kernel \"%.100s\": argument %zu is for %s, the array is %s",
            r->def->name, p + 1, kiln_dtype_name(c->dtypes[p]), kiln_dtype_name(array->dtype));
    if (array == NULL && value->kind != KILN_ARG_STRUCT)
        KILN_CHECK(put_number(r, p, value, c->dtypes[p], block, err));
    memcpy(c->block + r->params[p].offset, block + r->params[p].offset, r->params[p].bytes);
    if (array != NULL) {
        (void)kiln_array_retain(array);
        kiln_array_release(c->arrays[p]);
        c->arrays[p] = array;
    }
    return KILN_OK;
}

static void destroy_prepared(void *state)
{
    call *c = state;

    for (size_t p = 0; p < c->function->def->param_count; p++)
        kiln_array_release(c->arrays[p]);
    kiln__function_release(c->function);
    kiln__free(c);
}

kiln_status kiln_raw_prepare(kiln_raw *kernel, const kiln_arg *args, size_t arg_count,
                             const kiln_raw_call_options *opts, kiln_launch **out, kiln_error *err)
{
    kiln_stream *stream = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    call *c = NULL;
    KILN_CHECK(kiln__make_zeroed(&c, 1, sizeof *c, err));
    const kiln__launch_task task = {
        .run = run_prepared, .set = set_prepared, .destroy = destroy_prepared, .state = c};
    kiln_status status =
        read_call(kernel, args, arg_count, opts, "kiln_raw_prepare", c, &stream, err);
    if (status == KILN_OK)
        status = kiln__launch_custom(kernel->function->loaded->ctx, stream, &task, out, err);
    if (status != KILN_OK) {
        kiln__free(c);
        return status;
    }
    atomic_fetch_add(&c->function->refs, 1);
    for (size_t p = 0; p < c->function->def->param_count; p++)
        (void)kiln_array_retain(c->arrays[p]);
    return KILN_OK;
}

kiln_status kiln_raw_get_attributes(kiln_raw *kernel, kiln_raw_attributes *out, kiln_error *err)
{
    kiln__raw_attributes own;

    KILN_CHECK(check_raw(kernel, __func__, err));
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__raw_attributes_get(kernel->function->loaded->device, kernel->function->entry,
                                        &own, err));
    *out = (kiln_raw_attributes){.max_threads = own.max_threads,
                                 .registers = own.registers,
                                 .static_shared_bytes = own.shared_bytes,
                                 .local_bytes = own.local_bytes,
                                 .const_bytes = own.const_bytes,
                                 .max_dynamic_shared_bytes = own.max_dynamic_shared_bytes,
                                 .binary_version = own.binary_version,
                                 .ptx_version = own.ptx_version,
                                 .cache_mode_ca = own.cache_mode_ca,
                                 .preferred_shared_percent = own.preferred_shared_percent};
    return KILN_OK;
}

kiln_status kiln_raw_occupancy(kiln_raw *kernel, const kiln_raw_call_options *opts,
                               int64_t *blocks_out, kiln_error *err)
{
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;
    kiln__raw_launch launch;
    bool empty = false;

    KILN_CHECK(check_raw(kernel, __func__, err));
    KILN_CHECK_NULL(blocks_out, err);
    KILN_CHECK(read_options(opts, __func__, &o, err));
    KILN_CHECK(take_record(kernel->function, &o, true, &launch, &empty, err));
    return kiln__raw_occupancy(kernel->function->loaded->device, kernel->function->entry, &launch,
                               blocks_out, err);
}
