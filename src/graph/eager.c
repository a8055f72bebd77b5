/*
 * eager.c - operations on arrays at once: kiln_array_op() and the macros over it.
 *
 *     (ops, dtypes of the operands) > loop > an elementwise definition, kept by the context
 *
 * A definition has one parameter for each operand, of the operand's own dtype, and casts it to the
 * loop's type itself. A plain number is a parameter of the loop's type, so that other numbers need
 * no other kernel.
 *
 * Rule 1: a kernel that exists is found without a lock; kernels are never removed before the
 *         context goes.
 * Rule 2: a key decides the loop, so that a call whose kernel exists does not ask the table: dtypes
 *         of arrays and kinds of plain numbers. An integer that does not fit the loop found so is
 *         an error, or (comparisons, bounds of clip) decides the loop itself; then the table is
 *         asked, and the key holds the dtype that it gave.
 */
#include <math.h>
#include <stdio.h>

#include "ops/ops.h"
#include "kernel/kernel.h"
#include "kiln/eager.h"

/* Chains of the table of kernels; and in a key, a plain number whose value decided its dtype. */
enum { BUCKETS = 256, KEPT = 'k' };

/* What a definition depends on. Compared whole: no padding. */
typedef struct eager_key {
    uint16_t op[2];                    /* kiln_op; the second is 0 when there is one */
    uint8_t dtype[KILN__OP_ARITY_MAX]; /* of arrays; of plain numbers where KEPT */
    uint8_t weak[KILN__OP_ARITY_MAX];  /* kind of a plain number, or KEPT; 0 of an array */
} eager_key;

typedef struct eager_kernel {
    struct eager_kernel *next;
    eager_key key;
    kiln__op_loop loop[2];
    kiln__kernel *op;
} eager_kernel;

typedef struct eager_set {
    pthread_mutex_t lock; /* for insertion */
    _Atomic(eager_kernel *) bucket[BUCKETS];
} eager_set;

/* One call. */
typedef struct eager_call {
    const kiln__op *op[2];
    int results; /* 1 or 2 */
    kiln__op_type in[KILN__OP_ARITY_MAX];
    kiln_context *ctx;
} eager_call;

/* ---- operands -------------------------------------------------------------------------------- */

/* A plain number as the operations know it; false when the argument is none. */
static bool number_of(const kiln_arg *arg, kiln__number *out)
{
    memset(out, 0, sizeof *out);
    switch (arg->kind) {
    case KILN_ARG_BOOL:
        out->kind = 'b';
        out->value.b = arg->value.b;
        return true;
    case KILN_ARG_INT:
        out->kind = 'i';
        out->value.i = arg->value.i;
        return true;
    case KILN_ARG_UINT:
        out->kind = arg->value.u > INT64_MAX ? 'u' : 'i';
        out->value.u = arg->value.u;
        return true;
    case KILN_ARG_FLOAT:
        out->kind = 'f';
        out->value.f = arg->value.f;
        return true;
    case KILN_ARG_COMPLEX:
        out->kind = 'c';
        out->value.c[0] = arg->value.c[0];
        out->value.c[1] = arg->value.c[1];
        return true;
    default:
        return false;
    }
}

static kiln_status read_operands(eager_call *call, const kiln_arg *args, kiln_error *err)
{
    const char *name = call->op[0]->name;
    char what[64];
    for (int k = 0; k < call->op[0]->arity; k++) {
        kiln__op_type *t = &call->in[k];
        memset(t, 0, sizeof *t);
        if (number_of(&args[k], &t->number)) {
            t->weak = true;
            continue;
        }
        if (args[k].kind != KILN_ARG_ARRAY)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "%s: operand %d is neither an array nor a number", name, k + 1);
        if (kiln__array_check(args[k].value.array, call->ctx, "an operand", NULL) != KILN_OK) {
            snprintf(what, sizeof what, "%s: operand %d", name, k + 1);
            return kiln__array_check(args[k].value.array, call->ctx, what, err);
        }
        t->dtype = args[k].value.array->dtype;
        call->ctx = args[k].value.array->ctx;
    }
    if (call->ctx == NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: no operand is an array", name);
    return KILN_OK;
}

/* The number as an argument that converts to `dtype` without a complaint: kiln__op_resolve() has
 * found that it may. */
static kiln_arg arg_of(const kiln__number *number, kiln_dtype dtype)
{
    const kiln__number n = kiln__number_as(number, dtype);
    switch (n.kind) {
    case 'b':
        return kiln_arg_bool(n.value.b);
    case 'i':
        return kiln_arg_int(n.value.i);
    case 'u':
        return kiln_arg_uint(n.value.u);
    case 'f':
        return kiln_arg_float(n.value.f);
    default:
        return kiln_arg_complex(n.value.c[0], n.value.c[1]);
    }
}

/* ---- definitions ----------------------------------------------------------------------------- */

static const char *const operand_names[KILN__OP_ARITY_MAX] = {"x", "y", "w"};

/* "const double x1 = double(x);" for operands that are cast; their texts. */
static void put_operands(kiln__buf *b, const eager_call *call, const eager_kernel *k,
                         const char **texts)
{
    static const char *const cast_names[KILN__OP_ARITY_MAX] = {"x1", "y1", "w1"};
    const kiln__op_loop *loop = &k->loop[0];
    for (int p = 0; p < call->op[0]->arity; p++) {
        texts[p] = operand_names[p];
        if (k->key.weak[p] != 0 || k->key.dtype[p] == loop->in[p])
            continue;
        kiln__buf_printf(b, "const %s %s = ", kiln_dtype_ctype(loop->in[p]), cast_names[p]);
        kiln__cast_text(b, (kiln_dtype)k->key.dtype[p], loop->in[p], operand_names[p]);
        kiln__buf_puts(b, ";\n");
        texts[p] = cast_names[p];
    }
}

static kiln_status define(const eager_call *call, eager_kernel *k, kiln_error *err)
{
    static const char *const result_names[2] = {"z", "z1"};
    const char *texts[KILN__OP_ARITY_MAX];
    kiln__buf in = KILN__BUF_INIT, out = KILN__BUF_INIT, op = KILN__BUF_INIT;
    char name[64];
    kiln_status status = KILN_ERR_NO_MEMORY;

    for (int p = 0; p < call->op[0]->arity; p++)
        kiln__buf_printf(
            &in, "%s%s %s", p == 0 ? "" : ", ",
            kiln_dtype_name(k->key.weak[p] != 0 ? k->loop[0].in[p] : (kiln_dtype)k->key.dtype[p]),
            operand_names[p]);
    put_operands(&op, call, k, texts);
    for (int r = 0; r < call->results; r++) {
        kiln__buf_printf(&out, "%s%s %s", r == 0 ? "" : ", ", kiln_dtype_name(k->loop[r].out),
                         result_names[r]);
        kiln__buf_printf(&op, "%s%s = ", r == 0 ? "" : ";\n", result_names[r]);
        kiln__op_text(&op, &k->loop[r], texts);
    }
    snprintf(name, sizeof name, "kiln_%s", call->op[0]->name);
    const kiln__definition_request request = {
        .name = name,
        .in = in.text,
        .out = out.text,
        .snippet = {[KILN__SNIPPET_OP] = op.text},
    };
    if (in.failed || out.failed || op.failed)
        kiln__fail_memory(err, sizeof request);
    else
        status = kiln__kernel_new(call->ctx, false, &kiln__loop_calls, &request, &k->op, err);
    kiln__buf_clear(&in);
    kiln__buf_clear(&out);
    kiln__buf_clear(&op);
    return status;
}

/* ---- kept by the context --------------------------------------------------------------------- */

static void *set_make(kiln_context *ctx)
{
    (void)ctx;
    eager_set *set = kiln__calloc(1, sizeof *set);
    if (set != NULL)
        pthread_mutex_init(&set->lock, NULL);
    return set;
}

static void set_destroy(void *state)
{
    eager_set *set = state;
    for (size_t b = 0; b < BUCKETS; b++) {
        eager_kernel *k = atomic_load(&set->bucket[b]);
        while (k != NULL) {
            eager_kernel *next = k->next;
            kiln__kernel_destroy(k->op);
            kiln__free(k);
            k = next;
        }
    }
    pthread_mutex_destroy(&set->lock);
    kiln__free(set);
}

static const eager_kernel *find(const eager_set *set, size_t bucket, const eager_key *key)
{
    const eager_kernel *k = atomic_load_explicit(&set->bucket[bucket], memory_order_acquire);
    while (k != NULL && memcmp(&k->key, key, sizeof *key) != 0)
        k = k->next;
    return k;
}

/* The loops of a call's operations; two must agree on what they compute in. */
static kiln_status resolve(const eager_call *call, kiln__op_loop *loop, kiln_error *err)
{
    kiln_status status = kiln__op_resolve(call->op[0], call->in, &loop[0], err);
    if (status != KILN_OK || call->results == 1)
        return status;
    status = kiln__op_resolve(call->op[1], call->in, &loop[1], err);
    if (status == KILN_OK && memcmp(loop[0].in, loop[1].in, sizeof loop[0].in) != 0)
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "%s and %s do not compute in the same dtypes",
                            call->op[0]->name, call->op[1]->name);
    return status;
}

/* The kernel under `key`, from the set or made now. */
static kiln_status insert(eager_set *set, size_t bucket, const eager_call *call,
                          const eager_key *key, const kiln__op_loop *loop, const eager_kernel **out,
                          kiln_error *err)
{
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&set->lock);
    *out = find(set, bucket, key);
    if (*out == NULL) {
        eager_kernel *made = kiln__calloc(1, sizeof *made);
        status = made != NULL ? KILN_OK : kiln__fail_memory(err, sizeof *made);
        if (status == KILN_OK) {
            made->key = *key;
            memcpy(made->loop, loop, sizeof made->loop);
            made->next = atomic_load(&set->bucket[bucket]);
            status = define(call, made, err);
        }
        if (status == KILN_OK) {
            *out = made;
            atomic_store_explicit(&set->bucket[bucket], made, memory_order_release);
        } else {
            kiln__free(made);
        }
    }
    pthread_mutex_unlock(&set->lock);
    return status;
}

static size_t bucket_of(const eager_key *key)
{
    return (size_t)(kiln__hash_64(key, sizeof *key) % BUCKETS);
}

/* Whether every plain number fits what the kernel makes of it. */
static bool numbers_fit(const eager_call *call, const eager_kernel *kernel)
{
    for (int p = 0; p < call->op[0]->arity; p++)
        if (call->in[p].weak && kernel->loop[0].in[p] != KILN_BOOL &&
            !kiln__number_fits(&call->in[p].number, kernel->loop[0].in[p]))
            return false;
    return true;
}

static kiln_status get(const eager_call *call, const eager_kernel **out, kiln_error *err)
{
    const int arity = call->op[0]->arity;
    kiln__op_loop loop[2];
    eager_key key;
    void *state = NULL;
    kiln_status status =
        kiln__context_attachment(call->ctx, KILN__ATTACH_EAGER, set_make, set_destroy, &state, err);

    if (status != KILN_OK)
        return status;
    memset(&key, 0, sizeof key);
    for (int r = 0; r < call->results; r++)
        key.op[r] = (uint16_t)call->op[r]->op;
    for (int p = 0; p < arity; p++) {
        key.dtype[p] = call->in[p].weak ? 0 : (uint8_t)call->in[p].dtype;
        key.weak[p] = call->in[p].weak ? (uint8_t)call->in[p].number.kind : 0;
    }
    *out = find(state, bucket_of(&key), &key);
    if (*out != NULL && numbers_fit(call, *out))
        return KILN_OK;
    memset(loop, 0, sizeof loop);
    status = resolve(call, loop, err);
    if (status != KILN_OK)
        return status;
    /* Whichever number came first, what its loop gives is right for all that fit it. */
    for (int p = 0; p < arity && *out != NULL; p++) {
        if (!call->in[p].weak)
            continue;
        key.weak[p] = KEPT;
        key.dtype[p] = (uint8_t)loop[0].in[p];
    }
    return insert(state, bucket_of(&key), call, &key, loop, out, err);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* A failure in the words of the operation: whoever adds two arrays knows no kernel. */
static kiln_status explain(const eager_call *call, const eager_kernel *kernel,
                           kiln_array **const *outs, kiln_status status, kiln_error *err)
{
    static const char *const outputs[] = {"the output", "the first output", "the second output"};
    const char *name = call->op[0]->name;
    char operands[128];

    for (int r = 0; r < call->results && status == KILN_ERR_DTYPE; r++) {
        const kiln_array *out = *outs[r];
        if (out == NULL || out->dtype == kernel->loop[r].out)
            continue;
        kiln__op_operands(call->op[r], call->in, operands, sizeof operands);
        return kiln__fail(err, status, "%s: %s given has dtype %s, but the result of %s is %s",
                          name, outputs[call->results > 1 ? r + 1 : 0], kiln_dtype_name(out->dtype),
                          operands, kiln_dtype_name(kernel->loop[r].out));
    }
    return kiln__fail_as(name, status, err);
}

static kiln_status run(eager_call *call, const kiln_arg *given,
                       const kiln_elementwise_call_options *opts, kiln_array **const *outs,
                       kiln_error *err)
{
    const int arity = call->op[0]->arity;
    kiln_arg args[KILN__OP_ARITY_MAX + 2];
    const eager_kernel *kernel = NULL;

    kiln_status status = read_operands(call, given, err);
    if (status == KILN_OK)
        status = get(call, &kernel, err);
    if (status != KILN_OK)
        return status;
    for (int p = 0; p < arity; p++)
        args[p] = call->in[p].weak ? arg_of(&call->in[p].number, kernel->loop[0].in[p]) : given[p];
    for (int r = 0; r < call->results; r++)
        args[arity + r] = kiln_arg_out(outs[r]);
    status = kiln_elementwise_run((kiln_elementwise *)kernel->op, args,
                                  (size_t)(arity + call->results), opts, err);
    return status == KILN_OK ? KILN_OK : explain(call, kernel, outs, status, err);
}

static kiln_status find_ops(eager_call *call, kiln_op first, kiln_op second, size_t arg_count,
                            kiln_error *err)
{
    const kiln_op wanted[2] = {first, second};
    for (int r = 0; r < call->results; r++) {
        call->op[r] = kiln__op_find(wanted[r]);
        if (call->op[r] == NULL)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no operation %d", (int)wanted[r]);
        if (arg_count != (size_t)call->op[r]->arity)
            return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "%s takes %d operand%s, %zu given",
                              call->op[r]->name, call->op[r]->arity,
                              call->op[r]->arity == 1 ? "" : "s", arg_count);
    }
    return KILN_OK;
}

kiln_status kiln_array_op(kiln_op op, const kiln_arg *args, size_t arg_count,
                          const kiln_elementwise_call_options *opts, kiln_array **out,
                          kiln_error *err)
{
    eager_call call = {.results = 1};
    if (args == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_op: `%s` is NULL",
                          args == NULL ? "args" : "out");
    kiln_status status = find_ops(&call, op, op, arg_count, err);
    return status == KILN_OK ? run(&call, args, opts, &out, err) : status;
}

kiln_status kiln_array_op_pair(kiln_op first, kiln_op second, const kiln_arg *args,
                               size_t arg_count, const kiln_elementwise_call_options *opts,
                               kiln_array **first_out, kiln_array **second_out, kiln_error *err)
{
    kiln_array **const outs[2] = {first_out, second_out};
    eager_call call = {.results = 2};
    if (args == NULL || first_out == NULL || second_out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_op_pair: an argument is NULL");
    if (first_out == second_out)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kiln_array_op_pair: both results are to be stored at one address");
    kiln_status status = find_ops(&call, first, second, arg_count, err);
    return status == KILN_OK ? run(&call, args, opts, outs, err) : status;
}
