/*
 * search.c - searchsorted, isin (kiln/sort.h): positions in a sorted vector, by a binary search for
 * each value. bins.c (digitize) and functions.c call kiln__search().
 *
 *     vector, values > [cpu device, numbers of one dtype: search_cpu.c]
 *                    > [all others: a generated kernel]
 *
 * Tests: test_bins, test_select.
 */
#include <stdio.h>

#include "ops/ops.h"
#include "sorting/sorting.h"

typedef struct wanted {
    kiln_dtype sorted, values, common;
    bool right;
    kiln__search_result result;
} wanted;

/* Whether `here`, which stands in the middle, comes before the value, or with `right` does not come
 * behind it. NaN are behind numbers; of complex numbers first those with a NaN as imaginary part,
 * then as real one, then both. */
static void comes_before(const wanted *w, kiln__buf *op)
{
    const char kind = kiln_dtype_kind(w->common);

    if (kind == 'c')
        kiln__buf_puts(op, w->right ? "(kind != value_kind ? kind < value_kind\n"
                                      "        : !(value.real() < here.real()) && (here.real() < "
                                      "value.real() || !(value.imag() < here.imag())))"
                                    : "(kind != value_kind ? kind < value_kind\n"
                                      "        : here.real() < value.real() || (!(value.real() < "
                                      "here.real()) && here.imag() < value.imag()))");
    else if (kind == 'f')
        kiln__buf_puts(op, w->right ? "!((value < here) | ((here != here) & (value == value)))"
                                    : "((here < value) | ((value != value) & (here == here)))");
    else
        kiln__buf_puts(op, w->right ? "!(value < here)" : "(here < value)");
}

/* What stands in the middle: `here`, and of complex numbers which parts are NaN. */
static void put_here(const wanted *w, const char *at, kiln__buf *op)
{
    kiln__buf_printf(op, "    const %s here = ", kiln_dtype_ctype(w->common));
    kiln__cast_text(op, w->sorted, w->common, at);
    kiln__buf_puts(op, ";\n");
    if (kiln_dtype_kind(w->common) == 'c')
        kiln__buf_puts(op, "    const int kind = (here.real() != here.real() ? 2 : 0) +\n"
                           "                     (here.imag() != here.imag() ? 1 : 0);\n");
}

/* Of a value that is no NaN, what is no complex number. */
static const char *comes_before_number(const wanted *w)
{
    return w->right ? "(here <= value)" : "(here < value)";
}

/* On the cpu device without branches, which random values would mislead. */
static void put_steps(const wanted *w, const char *before, kiln__buf *op)
{
    kiln__buf_puts(op, "for (long long left = count, half = 0; left > 0; left -= half) {\n"
                       "    half = (left + 1) / 2;\n");
    put_here(w, "s[low + half - 1]", op);
    kiln__buf_printf(op, "    low += half & -(long long)%s;\n}\n", before);
}

static void put_branchless(const wanted *w, kiln__buf *op)
{
    if (kiln_dtype_kind(w->common) != 'f') {
        put_steps(w, comes_before_number(w), op);
        return;
    }
    kiln__buf_puts(op, "if (value == value) {\n");
    put_steps(w, comes_before_number(w), op);
    kiln__buf_puts(op, "} else {\n");
    put_steps(w, w->right ? "(true)" : "(here == here)", op);
    kiln__buf_puts(op, "}\n");
}

/* The search goes on to the right while what stands in the middle comes before the value. */
static void put_halves(const wanted *w, kiln__buf *op)
{
    kiln__buf_puts(op, "long long high = count;\n"
                       "while (low < high) {\n"
                       "    const long long middle = low + (high - low) / 2;\n");
    put_here(w, "s[middle]", op);
    kiln__buf_puts(op, "    if (");
    comes_before(w, op);
    kiln__buf_puts(op, ")\n        low = middle + 1;\n    else\n        high = middle;\n}\n");
}

static kiln_status define(kiln_context *ctx, const void *data, kiln__kernel **out, kiln_error *err)
{
    const wanted *w = data;
    const bool host = kiln__device_is_host(kiln__context_device(ctx));
    kiln__buf in = KILN__BUF_INIT, op = KILN__BUF_INIT;

    kiln__buf_printf(&in, "raw %s s, int64 count, %s v", kiln_dtype_name(w->sorted),
                     kiln_dtype_name(w->values));
    kiln__buf_printf(&op, "const %s value = ", kiln_dtype_ctype(w->common));
    kiln__cast_text(&op, w->values, w->common, "v");
    if (kiln_dtype_kind(w->common) == 'c')
        kiln__buf_puts(&op, ";\nconst int value_kind = (value.real() != value.real() ? 2 : 0) + "
                            "(value.imag() != value.imag() ? 1 : 0)");
    kiln__buf_puts(&op, ";\nlong long low = 0;\n");
    if (host && kiln_dtype_kind(w->common) != 'c')
        put_branchless(w, &op);
    else
        put_halves(w, &op);
    if (w->result == KILN__SEARCH_IS_IN) {
        kiln__buf_puts(&op, "z = low < count && ");
        kiln__cast_text(&op, w->sorted, w->common, "s[low]");
        kiln__buf_puts(&op, " == value;");
    } else {
        kiln__buf_puts(&op, w->result == KILN__SEARCH_FROM_END ? "z = count - low;" : "z = low;");
    }
    return kiln__loop_kernel(ctx, "kiln_searchsorted", &in,
                             w->result == KILN__SEARCH_IS_IN ? "bool z" : "int64 z", &op, out, err);
}

kiln_status kiln__searchsorted_check(kiln_dtype sorted, int rank, kiln_dtype values,
                                     kiln_dtype *common_out, kiln_error *err)
{
    if (rank != 1)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "searchsorted: the sorted array must have one axis, and this one has %d",
                          rank);
    if (!kiln__promote(sorted, values, common_out))
        return kiln__fail(err, KILN_ERR_DTYPE, "searchsorted: %s and %s have no common dtype",
                          kiln_dtype_name(sorted), kiln_dtype_name(values));
    return KILN_OK;
}

/* By the loops of search_cpu.c, into a new array where *out is NULL. */
static kiln_status search_loops(const kiln_array *sorted, const kiln_array *values, bool right,
                                kiln__search_result result, kiln_stream *stream, kiln_array **out,
                                kiln_error *err)
{
    const kiln_dtype dtype = result == KILN__SEARCH_IS_IN ? KILN_BOOL : KILN_INT64;
    kiln_array *made = *out != NULL ? kiln_array_retain(*out) : NULL;
    kiln_status status = KILN_OK;

    if (made == NULL)
        KILN_TRY(kiln__array_new(values->ctx, dtype, values->rank, values->shape, NULL, stream,
                                 &made, err));
    KILN_TRY(kiln__search_cpu(sorted, values, right, result, stream, made, err));
    kiln__sort_used(sorted, stream);
    kiln__sort_used(values, stream);
    kiln__sort_used(made, stream);
    if (*out == NULL) {
        *out = made;
        made = NULL;
    }

done:
    kiln_array_release(made);
    return status;
}

kiln_status kiln__search(const kiln_array *sorted, const kiln_array *values, bool right,
                         kiln__search_result result, kiln_stream *stream, kiln_array **out,
                         kiln_error *err)
{
    const kiln_dtype made = result == KILN__SEARCH_IS_IN ? KILN_BOOL : KILN_INT64;
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    wanted w = {.right = right, .result = result};
    kiln_array *vector = NULL;
    kiln__kernel *kernel = NULL;
    kiln_status status = KILN_OK;

    w.sorted = sorted->dtype;
    w.values = values->dtype;
    KILN_TRY(kiln__searchsorted_check(w.sorted, sorted->rank, w.values, &w.common, err));
    KILN_TRY(kiln__device_check(kiln__context_device(sorted->ctx), err));
    KILN_TRY(kiln__context_stream(sorted->ctx, stream, &o.stream, err));
    if (*out != NULL)
        KILN_TRY(kiln__sort_check_out("searchsorted", sorted->ctx, made, values->rank,
                                      values->shape, *out, err));
    if (sorted->contiguous)
        vector = kiln_array_retain((kiln_array *)sorted);
    else
        KILN_TRY(kiln__array_copy_as(sorted, sorted->dtype, NULL, o.stream, &vector, err));
    if (kiln__search_suits_cpu(vector, values, *out)) {
        status = search_loops(vector, values, right, result, o.stream, out, err);
        goto done;
    }
    const uint64_t key =
        (uint64_t)w.sorted << 24 | (uint64_t)w.values << 16 | (uint64_t)result << 8 | w.right;
    KILN_TRY(kiln__kept_kernel(sorted->ctx, define, &w, key, &kernel, err));
    const kiln_arg args[] = {kiln_arg_array(vector), kiln_arg_int(sorted->size),
                             kiln_arg_array((kiln_array *)values), kiln_arg_out(out)};
    status = kiln_elementwise_run((kiln_elementwise *)kernel, args, KILN_COUNT_OF(args), &o, err);
    if (status != KILN_OK)
        status = kiln__fail_as("searchsorted", status, err);

done:
    kiln_array_release(vector);
    return status;
}

kiln_status kiln_array_searchsorted(const kiln_array *sorted, const kiln_array *values, bool right,
                                    kiln_stream *stream, kiln_array **out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(sorted, NULL, "sorted", err));
    KILN_CHECK(kiln__array_check(values, sorted->ctx, "values", err));
    return kiln__search(sorted, values, right, KILN__SEARCH_INDEX, stream, out, err);
}

kiln_status kiln_array_isin(const kiln_array *values, const kiln_array *test, kiln_array **out,
                            kiln_error *err)
{
    kiln_array *sorted = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(values, NULL, "values", err));
    KILN_CHECK(kiln__array_check(test, values->ctx, "test", err));
    KILN_TRY(kiln_array_sort(test, NULL, &sorted, err));
    KILN_TRY(kiln__search(sorted, values, false, KILN__SEARCH_IS_IN, NULL, out, err));

done:
    kiln_array_release(sorted);
    return status;
}
