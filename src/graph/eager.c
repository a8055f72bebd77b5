/*
 * eager.c - operations that run at once: kiln_array_op() and the macros over it (kiln/eager.h).
 *
 *     (operation, operands' dtypes) > key > kernel, kept by the context
 *                                    made when first needed: a loop > a definition
 *
 * A definition has one parameter for each operand, of the operand's own dtype, and casts it to the
 * dtype of the loop. A plain number is a parameter of the loop's dtype, so that other numbers need
 * no other kernel.
 *
 * Rule 1: a kernel that exists is found without a lock (src/kernel/kept.c).
 * Rule 2: the key holds the dtypes of arrays and the kinds of plain numbers, and thereby determines
 *         the loop. So a call whose kernel exists does not search the table of operations. The
 *         exception is an integer that does not fit the loop's dtype: it is an error, or
 *         (comparisons, bounds of clip) it changes the loop. Then the table is searched, and the
 *         key holds the dtype that it gave.
 *
 * Test: test_ops_eager.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "kiln/eager.h"
#include "kiln/prefetch.h"
#include "ops/ops.h"

/* One call. */
typedef struct eager_call {
    const kiln__op *op[2];
    int results; /* 1 or 2 */
    kiln__op_type in[KILN__OP_ARITY_MAX];
    kiln_context *ctx;
} eager_call;

/* ---- operands -------------------------------------------------------------------------------- */

static kiln_status read_operands(eager_call *call, const kiln_arg *args, kiln_error *err)
{
    const char *name = call->op[0]->name;
    char what[64];
    for (int k = 0; k < call->op[0]->arity; k++) {
        kiln__op_type *t = &call->in[k];
        memset(t, 0, sizeof *t);
        if (kiln__arg_number(&args[k], &t->number)) {
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

/* The number as an argument of the parameter's dtype. kiln__op_resolve() has checked that it can be
 * converted. */
static kiln_arg arg_of(const kiln__number *number, kiln_dtype dtype)
{
    const kiln__number n = kiln__number_as(number, dtype);
    return kiln__number_arg(&n);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static const char *const operand_names[KILN__OP_ARITY_MAX] = {"x", "y", "w"};

/* "const double x1 = double(x);" for operands that are cast; the text that stands for each. */
static void put_operands(kiln__buf *b, const eager_call *call, const kiln__op_loop *loop,
                         const char **texts)
{
    static const char *const cast_names[KILN__OP_ARITY_MAX] = {"x1", "y1", "w1"};
    for (int p = 0; p < call->op[0]->arity; p++) {
        texts[p] = operand_names[p];
        if (call->in[p].weak || call->in[p].dtype == loop->in[p])
            continue;
        kiln__buf_printf(b, "const %s %s = ", kiln_dtype_ctype(loop->in[p]), cast_names[p]);
        kiln__cast_text(b, call->in[p].dtype, loop->in[p], operand_names[p]);
        kiln__buf_puts(b, ";\n");
        texts[p] = cast_names[p];
    }
}

/* The loops of a call's operations; two must agree on what they compute in. */
static kiln_status resolve(const eager_call *call, kiln__op_loop *loop, kiln_error *err)
{
    KILN_CHECK(kiln__op_resolve(call->op[0], call->in, &loop[0], err));
    if (call->results == 1)
        return KILN_OK;
    KILN_CHECK(kiln__op_resolve(call->op[1], call->in, &loop[1], err));
    if (memcmp(loop[0].in, loop[1].in, sizeof loop[0].in) != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s and %s do not compute in the same dtypes",
                          call->op[0]->name, call->op[1]->name);
    return KILN_OK;
}

/* Make the kernel of an eager_call. */
static kiln_status define(kiln_context *ctx, const void *wanted, kiln__kernel **out,
                          kiln_error *err)
{
    static const char *const result_names[2] = {"z", "z1"};
    const eager_call *call = wanted;
    const char *texts[KILN__OP_ARITY_MAX];
    kiln__buf in = KILN__BUF_INIT, outs = KILN__BUF_INIT, op = KILN__BUF_INIT;
    kiln__op_loop loop[2];
    char name[64];
    kiln_status status = KILN_ERR_NO_MEMORY;

    KILN_CHECK(resolve(call, loop, err));
    for (int p = 0; p < call->op[0]->arity; p++)
        kiln__buf_printf(&in, "%s%s %s", p == 0 ? "" : ", ",
                         kiln_dtype_name(call->in[p].weak ? loop->in[p] : call->in[p].dtype),
                         operand_names[p]);
    put_operands(&op, call, loop, texts);
    for (int r = 0; r < call->results; r++) {
        kiln__buf_printf(&outs, "%s%s %s", r == 0 ? "" : ", ", kiln_dtype_name(loop[r].out),
                         result_names[r]);
        kiln__buf_printf(&op, "%s%s = ", r == 0 ? "" : ";\n", result_names[r]);
        kiln__op_text(&op, &loop[r], texts);
    }
    snprintf(name, sizeof name, "kiln_%s", call->op[0]->name);
    const kiln__definition_request request = {
        .name = name,
        .in = in.text,
        .out = outs.text,
        .snippet = {[KILN__SNIPPET_OP] = op.text},
    };
    if (in.failed || outs.failed || op.failed)
        kiln__fail_memory(err, sizeof request);
    else
        status = kiln__kernel_new(ctx, false, &kiln__loop_calls, &request, out, err);
    kiln__buf_clear(&in);
    kiln__buf_clear(&outs);
    kiln__buf_clear(&op);
    return status;
}

/* ---- the kernel of a call -------------------------------------------------------------------- */

/* What a kernel depends on, in 56 bits: the operations, and 8 bits for each operand. These hold a
 * dtype and, above it, 0 for an array, the kind of a plain number, or DECIDED for a number whose
 * dtype its value decided; `loop` (NULL for none) has those dtypes. */
static uint64_t key_of(const eager_call *call, const kiln__op_loop *loop)
{
    static const char kinds[] = " biufc";
    enum { DECIDED = sizeof kinds - 1, DTYPE_BITS = 5 };
    uint64_t key = 0;

    for (int r = 0; r < call->results; r++)
        key = key << 16 | (uint64_t)call->op[r]->op;
    for (int p = 0; p < KILN__OP_ARITY_MAX; p++) {
        const kiln__op_type *t = &call->in[p];
        unsigned word = (unsigned)t->dtype;
        if (t->weak && loop != NULL)
            word = (unsigned)DECIDED << DTYPE_BITS | (unsigned)loop->in[p];
        else if (t->weak)
            word = (unsigned)(strchr(kinds, t->number.kind) - kinds) << DTYPE_BITS;
        key = key << 8 | word;
    }
    return key;
}

/* Whether every plain number fits what the kernel makes of it. */
static bool numbers_fit(const eager_call *call, const kiln__kernel *kernel)
{
    for (int p = 0; p < call->op[0]->arity; p++) {
        const kiln_dtype dtype = kernel->def->params[p].dtype;
        if (call->in[p].weak && dtype != KILN_BOOL &&
            !kiln__number_fits(&call->in[p].number, dtype))
            return false;
    }
    return true;
}

static kiln_status get(const eager_call *call, kiln__kernel **out, kiln_error *err)
{
    kiln__op_loop loop[2];

    KILN_CHECK(kiln__kept_kernel(call->ctx, define, call, key_of(call, NULL), out, err));
    if (numbers_fit(call, *out))
        return KILN_OK;
    KILN_CHECK(resolve(call, loop, err));
    return kiln__kept_kernel(call->ctx, define, call, key_of(call, loop), out, err);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Name the operation in a failure, not its kernel: the caller has asked for an operation only. */
static kiln_status explain(const eager_call *call, const kiln__kernel *kernel,
                           kiln_array **const *outs, kiln_status status, kiln_error *err)
{
    static const char *const outputs[] = {"the output", "the first output", "the second output"};
    const char *name = call->op[0]->name;
    char operands[128];

    for (int r = 0; r < call->results && status == KILN_ERR_DTYPE; r++) {
        const kiln_array *out = *outs[r];
        const kiln_dtype made = kernel->def->params[call->op[0]->arity + r].dtype;
        if (out == NULL || out->dtype == made)
            continue;
        kiln__op_operands(call->op[r], call->in, operands, sizeof operands);
        return kiln__fail(err, status, "%s: %s given has dtype %s, but the result of %s is %s",
                          name, outputs[call->results > 1 ? r + 1 : 0], kiln_dtype_name(out->dtype),
                          operands, kiln_dtype_name(made));
    }
    return kiln__fail_as(name, status, err);
}

/* `ahead` NULL: run it; else begin to compile what that needs, with a handle to `*ahead` if it is not NULL. */
static kiln_status run(eager_call *call, const kiln_arg *given,
                       const kiln_elementwise_call_options *opts, kiln_array **const *outs,
                       kiln_prefetch ***ahead, kiln_error *err)
{
    const int arity = call->op[0]->arity;
    kiln_arg args[KILN__OP_ARITY_MAX + 2];
    kiln__kernel *kernel = NULL;

    KILN_CHECK(read_operands(call, given, err));
    KILN_CHECK(get(call, &kernel, err));
    for (int p = 0; p < arity; p++)
        args[p] =
            call->in[p].weak ? arg_of(&call->in[p].number, kernel->def->params[p].dtype) : given[p];
    for (int r = 0; r < call->results; r++)
        args[arity + r] = kiln_arg_out(outs[r]);
    kiln_elementwise *const op = (kiln_elementwise *)kernel;
    const size_t count = (size_t)(arity + call->results);
    kiln_status status = ahead != NULL
                             ? kiln_elementwise_prefetch(op, args, count, opts, *ahead, err)
                             : kiln_elementwise_run(op, args, count, opts, err);
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
    KILN_CHECK_NULL(args, err);
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(find_ops(&call, op, op, arg_count, err));
    return run(&call, args, opts, &out, NULL, err);
}

kiln_status kiln_array_op_pair(kiln_op first, kiln_op second, const kiln_arg *args,
                               size_t arg_count, const kiln_elementwise_call_options *opts,
                               kiln_array **first_out, kiln_array **second_out, kiln_error *err)
{
    kiln_array **const outs[2] = {first_out, second_out};
    eager_call call = {.results = 2};
    KILN_CHECK_NULL(args, err);
    KILN_CHECK_NULL(first_out, err);
    KILN_CHECK_NULL(second_out, err);
    if (first_out == second_out)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kiln_array_op_pair: both results are to be stored at one address");
    KILN_CHECK(find_ops(&call, first, second, arg_count, err));
    return run(&call, args, opts, outs, NULL, err);
}

kiln_status kiln_array_op_prefetch(kiln_op op, const kiln_arg *args, size_t arg_count,
                                   const kiln_elementwise_call_options *opts, kiln_prefetch **out,
                                   kiln_error *err)
{
    eager_call call = {.results = 1};
    kiln_array *none = NULL, **const result = &none;

    if (out != NULL)
        *out = NULL;
    KILN_CHECK_NULL(args, err);
    KILN_CHECK(find_ops(&call, op, op, arg_count, err));
    return run(&call, args, opts, &result, &out, err);
}
