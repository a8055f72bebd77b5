/*
 * choices.c - kiln_array_choose() and kiln_array_choose_where() (kiln/indexing.h), and
 * kiln_array_diag() (kiln/rearrange.h).
 *
 *     arrays > [the function's text] > kept_text.c > array
 *
 * Each writes the text of an expression (choose(), select(), diag()) and runs it.
 *
 * Test: test_block.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "kiln/indexing.h"
#include "kiln/rearrange.h"

enum { CHOICES_MAX = 30, NAME_BYTES = 32, TEXT_BYTES = 1024 };

_Static_assert(2 * CHOICES_MAX + 1 <= KILN__KEPT_NAMES_MAX, "conditions, choices, and what else");

/* A function's text, and its inputs as kiln_graph_parse() takes them. */
typedef struct call {
    char text[TEXT_BYTES];
    char name[2 * CHOICES_MAX + 2][NAME_BYTES];
    const char *names[2 * CHOICES_MAX + 2];
    kiln_arg args[2 * CHOICES_MAX + 2];
    size_t count;
} call;

/* One more input: "c2", or "bool b2" of a mask. */
static void add(call *c, const char *prefix, size_t number, kiln_arg value)
{
    snprintf(c->name[c->count], NAME_BYTES, "%s%zu", prefix, number);
    c->names[c->count] = c->name[c->count];
    c->args[c->count++] = value;
}

/* Append "[c0, c1]". */
static void put_list(call *c, char prefix, size_t count)
{
    size_t used = strlen(c->text);

    for (size_t k = 0; k < count; k++)
        used += (size_t)snprintf(c->text + used, TEXT_BYTES - used, "%s%c%zu", k == 0 ? "[" : ", ",
                                 prefix, k);
    snprintf(c->text + used, TEXT_BYTES - used, "]");
}

static kiln_status run(const char *function, call *c, kiln_context *ctx, kiln_array **out,
                       kiln_error *err)
{
    c->args[c->count] = kiln_arg_out(out);
    return kiln__fail_as(
        function, kiln__kept_text_run(ctx, c->text, c->names, c->count, c->args, c->count + 1, err),
        err);
}

static kiln_status check_count(const char *function, size_t count, kiln_error *err)
{
    return count > 0 && count <= CHOICES_MAX
               ? KILN_OK
               : kiln__fail(err, KILN_ERR_ARGUMENT_COUNT,
                            "%s: %zu arrays to choose from; 1 to %d can be given", function, count,
                            CHOICES_MAX);
}

kiln_status kiln_array_choose(const kiln_array *indices, const kiln_array *const *choices,
                              size_t count, kiln_index_mode mode, kiln_array **out, kiln_error *err)
{
    static const char *const modes[] = {
        [KILN_INDEX_CHECK] = "raise", [KILN_INDEX_WRAP] = "wrap", [KILN_INDEX_CLIP] = "clip"};
    call c = {.count = 0};

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(indices, NULL, "indices", err));
    KILN_CHECK_NULL(choices, err);
    KILN_CHECK(check_count("choose", count, err));
    if ((unsigned)mode >= KILN_COUNT_OF(modes) || modes[mode] == NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "choose: there is no mode %d", (int)mode);
    add(&c, "i", 0, kiln_arg_array(indices));
    for (size_t k = 0; k < count; k++) {
        KILN_CHECK(kiln__array_check(choices[k], indices->ctx, "a choice", err));
        add(&c, "c", k, kiln_arg_array(choices[k]));
    }
    snprintf(c.text, sizeof c.text, "choose(i0, ");
    put_list(&c, 'c', count);
    const size_t used = strlen(c.text);
    snprintf(c.text + used, sizeof c.text - used, ", mode=%s)", modes[mode]);
    return run("choose", &c, indices->ctx, out, err);
}

kiln_status kiln_array_choose_where(const kiln_array *const *conditions,
                                    const kiln_array *const *choices, size_t count,
                                    kiln_arg otherwise, kiln_array **out, kiln_error *err)
{
    call c = {.count = 0};

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(conditions, err);
    KILN_CHECK_NULL(choices, err);
    KILN_CHECK(check_count("select", count, err));
    for (size_t k = 0; k < count; k++) {
        const kiln_context *ctx = k > 0 ? conditions[0]->ctx : NULL;
        KILN_CHECK(kiln__array_check(conditions[k], ctx, "a condition", err));
        KILN_CHECK(kiln__array_check(choices[k], conditions[0]->ctx, "a choice", err));
        if (conditions[k]->dtype != KILN_BOOL)
            return kiln__fail(err, KILN_ERR_DTYPE, "select: condition %zu is %s, not bool", k + 1,
                              kiln_dtype_name(conditions[k]->dtype));
        add(&c, "bool b", k, kiln_arg_array(conditions[k]));
        add(&c, "c", k, kiln_arg_array(choices[k]));
    }
    if (otherwise.kind == KILN_ARG_OUT)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "select: what is taken elsewhere is an array or a number");
    if (otherwise.kind == KILN_ARG_ARRAY)
        KILN_CHECK(kiln__array_check(otherwise.value.array, conditions[0]->ctx, "otherwise", err));
    add(&c, "d", 0, otherwise);
    snprintf(c.text, sizeof c.text, "select(");
    put_list(&c, 'b', count);
    size_t used = strlen(c.text);
    snprintf(c.text + used, sizeof c.text - used, ", ");
    put_list(&c, 'c', count);
    used = strlen(c.text);
    snprintf(c.text + used, sizeof c.text - used, ", d0)");
    return run("select", &c, conditions[0]->ctx, out, err);
}

kiln_status kiln_array_diag(const kiln_array *array, int64_t k, kiln_array **out, kiln_error *err)
{
    call c = {.count = 0};

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    add(&c, "x", 0, kiln_arg_array(array));
    snprintf(c.text, sizeof c.text, "diag(x0, %lld)", (long long)k);
    return run("diag", &c, array->ctx, out, err);
}
