/*
 * unique.c - the distinct elements of an array, where each stands first, and how often it occurs.
 *
 *     array > [stable argsort] > order > [a filter] > elements that differ from the one before
 *           > [sort, where no places are asked for] > [a filter] > the same
 *                                      > [a search in their places] > the number of each element's
 *
 * kiln_array_unique() (kiln/select.h) is here; sets are made of it by src/graph/at_once.c.
 * Test: test_unique.
 */
#include "indexing/indexing.h"

/* NaN counts as equal to NaN, as in NumPy. The sort is stable, so the first of equal elements in
 * the order is the first in the array. */
static const kiln__kept_texts distinct_texts = {
    .calls = &kiln__filter_calls,
    .request =
        {
            .name = "kiln_unique",
            .in = "raw T x, raw int64 order, int64 at",
            .out = "T y, int64 first, int64 place, int64 count",
            .snippet = {[KILN__SNIPPET_WHERE] =
                            "i == 0 || (x[at] != x[order[i - 1]] && "
                            "(x[at] == x[at] || x[order[i - 1]] == x[order[i - 1]]))",
                        [KILN__SNIPPET_OP] = "y = x[at]; first = at; place = i"},
        },
};

/* The same of a sorted vector, where nobody asks where its elements stood; without places, and with
 * them. */
#define OF_SORTED(outputs, op)                                                                     \
    {                                                                                              \
        &kiln__filter_calls,                                                                       \
        {                                                                                          \
            .name = "kiln_unique_sorted", .in = "raw T s, T v", .out = (outputs), .snippet = {     \
                [KILN__SNIPPET_WHERE] =                                                            \
                    "i == 0 || (v != s[i - 1] && (v == v || s[i - 1] == s[i - 1]))",               \
                [KILN__SNIPPET_OP] = (op)                                                          \
            }                                                                                      \
        }                                                                                          \
    }
static const kiln__kept_texts sorted_texts[] = {
    OF_SORTED("T y, int64 count", "y = v"),
    OF_SORTED("T y, int64 place, int64 count", "y = v; place = i")};

const kiln__kept_texts kiln__unique_counts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_unique_counts",
            .in = "int64 place, raw int64 places, int64 unique, int64 all",
            .out = "int64 count",
            .snippet = {[KILN__SNIPPET_OP] =
                            "count = i >= unique ? 0 : (i + 1 < unique ? places[i + 1] : all) - "
                            "place"},
        },
};

/* Element `at`, which is number i in the order, belongs to the last distinct element at or before
 * place i. */
const kiln__kept_texts kiln__unique_inverse = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_unique_inverse",
            .in = "raw int64 places, int64 unique, int64 at",
            .out = "raw int64 inverse",
            .snippet = {[KILN__SNIPPET_OP] =
                            "long long low = 0, high = unique;\n"
                            "while (high - low > 1) {\n"
                            "    const long long middle = low + (high - low) / 2;\n"
                            "    if (places[middle] <= i)\n"
                            "        low = middle;\n"
                            "    else\n"
                            "        high = middle;\n"
                            "}\n"
                            "inverse[at] = low;"},
        },
};

/* What is wanted of one array; those that are not are NULL. */
typedef struct results {
    kiln_array *values, *first, *inverse, *counts;
} results;

/* The vector `x`, which is contiguous, and the order that sorts it. `number`: of distinct
 * elements. */
static kiln_status find_distinct(const kiln_array *x, const kiln_array *order, results *r,
                                 kiln_array **places, kiln_error *err)
{
    kiln_array *values = NULL, *first = NULL, *place = NULL, *count = NULL;
    kiln_status status = KILN_OK;
    const kiln_arg args[] = {kiln_arg_array((kiln_array *)x),
                             kiln_arg_array((kiln_array *)order),
                             kiln_arg_array((kiln_array *)order),
                             kiln_arg_out(&values),
                             kiln_arg_out(&first),
                             kiln_arg_out(&place),
                             kiln_arg_out(&count)};

    KILN_TRY(kiln__kept_run(x->ctx, &distinct_texts, args, KILN_COUNT_OF(args), NULL, err));
    KILN_TRY(kiln_array_first(values, count, &r->values, err));
    KILN_TRY(kiln_array_slice(first, 0, 0, kiln_array_size(r->values), 1, &r->first, err));
    KILN_TRY(kiln_array_slice(place, 0, 0, kiln_array_size(r->values), 1, places, err));

done:
    kiln_array_release(values);
    kiln_array_release(first);
    kiln_array_release(place);
    kiln_array_release(count);
    return status;
}

/* Values, and with `places` where each stands first in the sorted vector: its elements are sorted
 * without their order. */
static kiln_status find_sorted(const kiln_array *x, results *r, kiln_array **places,
                               kiln_error *err)
{
    kiln_array *sorted = NULL, *values = NULL, *place = NULL, *count = NULL;
    kiln_arg args[5];
    size_t used = 0;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln_array_sort(x, NULL, &sorted, err));
    args[used++] = kiln_arg_array(sorted);
    args[used++] = kiln_arg_array(sorted);
    args[used++] = kiln_arg_out(&values);
    if (places != NULL)
        args[used++] = kiln_arg_out(&place);
    args[used++] = kiln_arg_out(&count);
    KILN_TRY(kiln__kept_run(x->ctx, &sorted_texts[places != NULL], args, used, NULL, err));
    KILN_TRY(kiln_array_first(values, count, &r->values, err));
    if (places != NULL)
        KILN_TRY(kiln_array_slice(place, 0, 0, kiln_array_size(r->values), 1, places, err));

done:
    kiln_array_release(sorted);
    kiln_array_release(values);
    kiln_array_release(place);
    kiln_array_release(count);
    return status;
}

static kiln_status count_each(const kiln_array *x, kiln_array *places, results *r, kiln_error *err)
{
    const kiln_arg args[] = {kiln_arg_array(places), kiln_arg_array(places),
                             kiln_arg_int(kiln_array_size(places)), kiln_arg_int(x->size),
                             kiln_arg_out(&r->counts)};

    return kiln__kept_run(x->ctx, &kiln__unique_counts, args, KILN_COUNT_OF(args), NULL, err);
}

static kiln_status number_each(const kiln_array *array, kiln_array *order, kiln_array *places,
                               results *r, kiln_error *err)
{
    KILN_CHECK(
        kiln_array_empty(array->ctx, KILN_INT64, array->rank, array->shape, &r->inverse, err));
    const kiln_arg args[] = {kiln_arg_array(places), kiln_arg_int(kiln_array_size(places)),
                             kiln_arg_array(order), kiln_arg_array(r->inverse)};

    return array->size == 0 ? KILN_OK
                            : kiln__kept_run(array->ctx, &kiln__unique_inverse, args,
                                             KILN_COUNT_OF(args), NULL, err);
}

kiln_status kiln_array_unique(const kiln_array *array, kiln_array **out, kiln_array **first_out,
                              kiln_array **inverse_out, kiln_array **counts_out, kiln_error *err)
{
    kiln_array **const outs[] = {out, first_out, inverse_out, counts_out};
    kiln_array *dense = NULL, *x = NULL, *order = NULL, *places = NULL;
    results r = {0};
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < KILN_COUNT_OF(outs); k++)
        if (outs[k] != NULL)
            *outs[k] = NULL;
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_TRY(kiln_array_contiguous((kiln_array *)array, &dense, err));
    KILN_TRY(kiln_array_reshape(dense, 1, &array->size, &x, err));
    if (first_out == NULL && inverse_out == NULL) {
        KILN_TRY(find_sorted(x, &r, counts_out != NULL ? &places : NULL, err));
    } else {
        KILN_TRY(kiln_array_argsort(x, NULL, &order, err));
        KILN_TRY(find_distinct(x, order, &r, &places, err));
    }
    if (counts_out != NULL)
        KILN_TRY(count_each(x, places, &r, err));
    if (inverse_out != NULL)
        KILN_TRY(number_each(array, order, places, &r, err));
    *out = r.values, r.values = NULL;
    if (first_out != NULL)
        *first_out = r.first, r.first = NULL;
    if (inverse_out != NULL)
        *inverse_out = r.inverse, r.inverse = NULL;
    if (counts_out != NULL)
        *counts_out = r.counts, r.counts = NULL;

done:
    kiln_array_release(r.values);
    kiln_array_release(r.first);
    kiln_array_release(r.inverse);
    kiln_array_release(r.counts);
    kiln_array_release(dense);
    kiln_array_release(x);
    kiln_array_release(order);
    kiln_array_release(places);
    return status;
}
