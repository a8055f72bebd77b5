/*
 * random.c - generators of random numbers, and arrays that they fill at once (kiln/random.h).
 *
 *     (distribution, dtypes) > key > kernel, kept by the context
 *                                    made when first needed: a row of ops/draws.c > a definition
 *
 * The key of a generator is its seed. For another stream than 0, Philox makes the key from seed and
 * stream, with a counter that no element's draw uses.
 *
 * Tests: test_random, test_draws.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "kiln/random.h"
#include "ops/ops.h"

/* ---- generators ------------------------------------------------------------------------------ */

/* What keys are derived for: words of the counter, beside which `number` stands. */
enum { FOR_STREAM = 0x73747265, FOR_SPLIT = 0x73706c69 };

/* The first two words of Philox 4x32-10 for a counter (number, draw, purpose), as prelude/random.h. */
static uint64_t derive(uint64_t key, uint64_t number, uint64_t draw, uint32_t purpose)
{
    uint32_t x = (uint32_t)number, y = (uint32_t)(number >> 32) ^ purpose, z = (uint32_t)draw;
    uint32_t w = (uint32_t)(draw >> 32) ^ ~purpose, k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

    for (int round = 0; round < 10; round++) {
        const uint64_t p = UINT64_C(0xD2511F53) * x, q = UINT64_C(0xCD9E8D57) * z;
        x = (uint32_t)(q >> 32) ^ y ^ k0;
        y = (uint32_t)q;
        z = (uint32_t)(p >> 32) ^ w ^ k1;
        w = (uint32_t)p;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    return (uint64_t)y << 32 | x;
}

void kiln_random_init(kiln_random *generator, uint64_t seed, uint64_t stream)
{
    if (generator != NULL)
        *generator = (kiln_random){seed, stream, 0};
}

uint64_t kiln_random_key(const kiln_random *generator)
{
    if (generator == NULL)
        return 0;
    return generator->stream == 0 ? generator->seed
                                  : derive(generator->seed, generator->stream, 0, FOR_STREAM);
}

void kiln_random_split(kiln_random *generator, kiln_random *out, size_t count)
{
    if (generator == NULL || out == NULL)
        return;
    const uint64_t key = kiln_random_key(generator), draw = generator->draw++;
    for (size_t k = 0; k < count; k++)
        kiln_random_init(&out[k], derive(key, k, draw, FOR_SPLIT), 0);
}

void kiln_random_jump(kiln_random *generator, uint64_t draws)
{
    if (generator != NULL)
        generator->draw += draws;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* What a kernel depends on. A plain number is a parameter of the dtype that it is cast to. */
typedef struct wanted {
    kiln_draw draw;
    kiln_dtype dtype, given[KILN__DRAW_PARAMS_MAX];
} wanted;

static kiln_status define(kiln_context *ctx, const void *data, kiln__kernel **out, kiln_error *err)
{
    static const char *const names[] = {"key", "draw", "i", "a", "b"};
    const wanted *w = data;
    const char *texts[KILN__DRAW_OPERANDS_MAX];
    kiln_dtype dtypes[KILN__DRAW_PARAMS_MAX];
    kiln__buf in = KILN__BUF_INIT, op = KILN__BUF_INIT;
    kiln__op_loop loop;
    char name[64], result[32];
    kiln_status status = kiln__draw_resolve(w->draw, w->dtype, &loop, dtypes, err);

    if (status != KILN_OK)
        return status;
    memcpy(texts, names, sizeof texts);
    kiln__buf_puts(&in, "uint64 key, uint64 draw");
    for (size_t k = 0; k < kiln__draw_params(w->draw); k++) {
        kiln__buf_printf(&in, ", %s %s", kiln_dtype_name(w->given[k]), names[3 + k]);
        if (w->given[k] == dtypes[k])
            continue;
        texts[3 + k] = k == 0 ? "a1" : "b1";
        kiln__buf_printf(&op, "const %s %s = ", kiln_dtype_ctype(dtypes[k]), texts[3 + k]);
        kiln__cast_text(&op, w->given[k], dtypes[k], names[3 + k]);
        kiln__buf_puts(&op, ";\n");
    }
    kiln__buf_puts(&op, "z = ");
    kiln__op_text(&op, &loop, texts);
    snprintf(name, sizeof name, "kiln_%s", kiln_draw_name(w->draw));
    snprintf(result, sizeof result, "%s z", kiln_dtype_name(loop.out));
    return kiln__loop_kernel(ctx, name, &in, result, &op, out, err);
}

/* The elements of the first axis in random order: `row` is how many elements one of them has. */
static const kiln__kept_texts shuffle_texts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_shuffle",
            .in = "K key, uint64 draw, int64 rows, int64 row, raw T x",
            .out = "T z",
            .snippet = {[KILN__SNIPPET_OP] =
                            "z = x[kiln_drawn_permuted(KILN_ATTEMPT (unsigned long long)key, draw, "
                            "i / row, rows) * row + i % row]"},
        },
};

/* ---- calls ----------------------------------------------------------------------------------- */

/* Read the parameters: what a kernel for them has, and the arguments of a call of it. */
static kiln_status read_params(kiln_context *ctx, const kiln_arg *params, size_t count, wanted *w,
                               kiln_arg *args, kiln_error *err)
{
    const char *name = kiln_draw_name(w->draw);
    const kiln__number *known[KILN__DRAW_PARAMS_MAX] = {NULL};
    kiln__number numbers[KILN__DRAW_PARAMS_MAX];
    kiln_dtype dtypes[KILN__DRAW_PARAMS_MAX];
    kiln__op_loop loop;

    if (!kiln__draw_exists(w->draw))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no distribution %d", (int)w->draw);
    if (count != kiln__draw_params(w->draw))
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "%s has %zu parameters, %zu given", name,
                          kiln__draw_params(w->draw), count);
    if (count > 0)
        KILN_CHECK_NULL(params, err);
    KILN_CHECK(kiln__draw_resolve(w->draw, w->dtype, &loop, dtypes, err));
    w->dtype = loop.out;
    for (size_t k = 0; k < count; k++) {
        const bool is_number = kiln__arg_number(&params[k], &numbers[k]);
        if (!is_number && params[k].kind != KILN_ARG_ARRAY)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "%s: parameter %zu is neither an array nor a number", name, k + 1);
        if (!is_number)
            KILN_CHECK(kiln__array_check(params[k].value.array, ctx, "a parameter", err));
        w->given[k] = is_number ? dtypes[k] : params[k].value.array->dtype;
        args[k] = params[k];
        const char own = kiln_dtype_kind(is_number ? kiln__number_dtype(&numbers[k]) : w->given[k]);
        const bool whole = kiln_dtype_kind(dtypes[k]) != 'f';
        if (own == 'c' || (whole && own != 'i' && own != 'u'))
            return kiln__fail(err, KILN_ERR_DTYPE, "%s: parameter %zu is %s", name, k + 1,
                              own == 'c' ? "complex" : "no integer");
        if (!is_number)
            continue;
        known[k] = &numbers[k];
        if (!kiln__number_fits(&numbers[k], dtypes[k]))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: parameter %zu does not fit %s", name, k + 1,
                              kiln_dtype_name(dtypes[k]));
        const kiln__number n = kiln__number_as(&numbers[k], dtypes[k]);
        args[k] = kiln__number_arg(&n);
    }
    return kiln__draw_check(w->draw, known[0], known[1], err);
}

static kiln_status fill(kiln_random *generator, wanted *w, const kiln_arg *params, size_t count,
                        const kiln_elementwise_call_options *opts, kiln_array *array,
                        kiln_error *err)
{
    kiln_arg args[KILN__DRAW_PARAMS_MAX + 3];
    kiln__kernel *kernel = NULL;

    w->dtype = array->dtype;
    KILN_CHECK(read_params(array->ctx, params, count, w, args + 2, err));
    uint64_t key = (uint64_t)w->draw << 32 | (uint64_t)w->dtype;
    for (size_t k = 0; k < count; k++)
        key = key << 8 | (uint64_t)w->given[k];
    KILN_CHECK(kiln__kept_kernel(array->ctx, define, w, key, &kernel, err));
    args[0] = kiln_arg_uint(kiln_random_key(generator));
    args[1] = kiln_arg_uint(generator->draw);
    args[2 + count] = kiln_arg_array(array);
    const kiln_status status =
        kiln_elementwise_run((kiln_elementwise *)kernel, args, 3 + count, opts, err);
    if (status != KILN_OK)
        return kiln__fail_as(kiln_draw_name(w->draw), status, err);
    generator->draw++;
    return KILN_OK;
}

kiln_status kiln_random_fill(kiln_random *generator, kiln_draw draw, const kiln_arg *params,
                             size_t param_count, const kiln_elementwise_call_options *opts,
                             kiln_array *array, kiln_error *err)
{
    wanted w = {.draw = draw};

    KILN_CHECK_NULL(generator, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    return fill(generator, &w, params, param_count, opts, array, err);
}

kiln_status kiln_random_array(kiln_random *generator, kiln_context *ctx, kiln_draw draw,
                              const kiln_arg *params, size_t param_count, kiln_dtype dtype,
                              int rank, const int64_t *shape, kiln_array **out, kiln_error *err)
{
    wanted w = {.draw = draw, .dtype = dtype};
    kiln_arg args[KILN__DRAW_PARAMS_MAX];
    kiln_array *made = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(generator, err);
    KILN_CHECK_NULL(ctx, err);
    KILN_TRY(read_params(ctx, params, param_count, &w, args, err));
    KILN_TRY(kiln_array_empty(ctx, w.dtype, rank, shape, &made, err));
    KILN_TRY(fill(generator, &w, params, param_count, NULL, made, err));
    *out = made;
    made = NULL;

done:
    kiln_array_release(made);
    return status;
}

/* `array` into `out`, by a key that is a number or an array of one. */
static kiln_status shuffle(kiln_arg key, uint64_t draw, const kiln_array *array,
                           kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    const int64_t rows = array->shape[0];
    kiln_array *whole = NULL;
    kiln_status status = KILN_OK;

    if (!array->contiguous)
        KILN_TRY(kiln__array_copy_on(array, stream, &whole, err));
    const kiln_arg args[] = {key,
                             kiln_arg_uint(draw),
                             kiln_arg_int(rows),
                             kiln_arg_int(array->size > 0 ? array->size / rows : 1),
                             kiln_arg_array(whole != NULL ? whole : array),
                             kiln_arg_array(out)};
    KILN_TRY(kiln__kept_run(array->ctx, &shuffle_texts, args, KILN_COUNT_OF(args), stream, err));

done:
    kiln_array_release(whole);
    return status;
}

kiln_status kiln__shuffle_infer(const kiln_array *key, const kiln_array *array, kiln_error *err)
{
    const char kind = kiln_dtype_kind(key->dtype);

    if (key->rank != 0 || (kind != 'i' && kind != 'u'))
        return kiln__fail(err, KILN_ERR_DTYPE, "shuffle: the key is a whole number");
    return array->rank > 0
               ? KILN_OK
               : kiln__fail(err, KILN_ERR_SHAPE, "shuffle: an array without axes has no order");
}

kiln_status kiln__shuffle_into(const kiln_array *key, const kiln_array *array, kiln_stream *stream,
                               kiln_array *out, kiln_error *err)
{
    return shuffle(kiln_arg_array(key), 0, array, stream, out, err);
}

kiln_status kiln_random_shuffle(kiln_random *generator, const kiln_array *array, kiln_array **out,
                                kiln_error *err)
{
    kiln_array *made = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(generator, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    if (array->rank == 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "shuffle: an array without axes has no order");
    KILN_TRY(kiln_array_empty(array->ctx, array->dtype, array->rank, array->shape, &made, err));
    KILN_TRY(shuffle(kiln_arg_uint(kiln_random_key(generator)), generator->draw, array, NULL, made,
                     err));
    generator->draw++;
    *out = made;
    made = NULL;

done:
    kiln_array_release(made);
    return status;
}
