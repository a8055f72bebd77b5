/*
 * ops_data.c - see ops_data.h.
 */
#define _GNU_SOURCE
#include "ops_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_data.h"

/* ---- the files ------------------------------------------------------------------------------- */

static kiln_dtype dtype_of(char letter)
{
    static const char letters[] = "?bhiqBHIQeEfdFD";
    static const kiln_dtype dtypes[] = {
        KILN_BOOL,     KILN_INT8,    KILN_INT16,   KILN_INT32,     KILN_INT64,
        KILN_UINT8,    KILN_UINT16,  KILN_UINT32,  KILN_UINT64,    KILN_FLOAT16,
        KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128,
    };
    const char *at = strchr(letters, letter);
    assert_non_null(at);
    return dtypes[at - letters];
}

static const operand *find_operand(const table *t, const char *name)
{
    for (size_t k = 0; k < t->operand_count; k++)
        if (strcmp(t->operands[k].name, name) == 0)
            return &t->operands[k];
    fail_msg("no operand \"%s\"", name);
    return NULL;
}

static void read_line(table *t, char *line)
{
    char *place = NULL;
    const char *kind = strtok_r(line, " \n", &place), *name = strtok_r(NULL, " \n", &place);
    const char *dtype = strtok_r(NULL, " \n", &place);
    assert_true(kind != NULL && name != NULL && dtype != NULL);
    if (strcmp(kind, "operand") == 0) {
        operand *o = &t->operands[t->operand_count++];
        assert_true(t->operand_count < OPERAND_MAX && strlen(name) < sizeof o->name);
        strcpy(o->name, name);
        o->dtype = dtype_of(dtype[0]);
        o->offset = strtoull(strtok_r(NULL, " \n", &place), NULL, 10);
        o->count = strtoull(strtok_r(NULL, " \n", &place), NULL, 10);
        assert_true(o->offset + o->count * kiln_dtype_size(o->dtype) <= t->size);
        return;
    }
    op_case *c = &t->cases[t->case_count++];
    assert_true(t->case_count < CASE_MAX);
    c->op = kiln__op_named(name, strlen(name));
    if (c->op == NULL)
        fail_msg("there is no operation %s", name);
    c->out = dtype_of(dtype[0]);
    c->ulps = strtod(strtok_r(NULL, " \n", &place), NULL);
    c->offset = strtoull(strtok_r(NULL, " \n", &place), NULL, 10);
    for (int k = 0; k < c->op->arity; k++) {
        c->in[k] = find_operand(t, strtok_r(NULL, " \n", &place));
        assert_true(k == 0 || c->in[k]->count == c->in[0]->count);
    }
    for (int k = 1; k < c->op->arity; k++)
        c->mixed = c->mixed || (c->in[k]->dtype != c->in[0]->dtype && c->in[0]->count < 100);
    c->count = c->in[0]->count;
    assert_true(c->offset + c->count * kiln_dtype_size(c->out) <= t->size);
}

table *table_read(void)
{
    char path[512], line[LINE_BYTES];
    table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    FILE *f = fopen(test_data("data/ops.dat", path, sizeof path), "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    t->size = (size_t)ftell(f);
    rewind(f);
    t->bytes = malloc(t->size);
    assert_int_equal(fread(t->bytes, 1, t->size, f), t->size);
    fclose(f);
    f = fopen(test_data("data/ops.txt", path, sizeof path), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        read_line(t, line);
    fclose(f);
    return t;
}

void table_free(table *t)
{
    free(t->bytes);
    free(t);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* { const float a = ...; ((bool *)&z[128])[i] = a < b; } */
static void put_case(kiln__buf *b, const op_case *c)
{
    static const char *const names[KILN__OP_ARITY_MAX] = {"a", "b", "c"};
    kiln__op_type in[KILN__OP_ARITY_MAX];
    kiln__op_loop loop;
    kiln_error err = KILN_ERROR_INIT;

    memset(in, 0, sizeof in);
    for (int k = 0; k < c->op->arity; k++)
        in[k].dtype = c->in[k]->dtype;
    const kiln_status status = kiln__op_resolve(c->op, in, &loop, &err);
    if (status != KILN_OK)
        fail_msg("%s", err.message);
    if (loop.out != c->out)
        fail_msg("%s of %s gives %s, not %s", c->op->name, kiln_dtype_name(in[0].dtype),
                 kiln_dtype_name(loop.out), kiln_dtype_name(c->out));
    kiln__buf_puts(b, "{ ");
    for (int k = 0; k < c->op->arity; k++) {
        char element[96];
        snprintf(element, sizeof element, "((const %s *)&x[%zu])[i]",
                 kiln_dtype_ctype(c->in[k]->dtype), c->in[k]->offset);
        kiln__buf_printf(b, "const %s %s = ", kiln_dtype_ctype(loop.in[k]), names[k]);
        kiln__cast_text(b, c->in[k]->dtype, loop.in[k], element);
        kiln__buf_puts(b, "; ");
    }
    kiln__buf_printf(b, "((%s *)&z[%zu])[i] = ", kiln_dtype_ctype(c->out), c->offset);
    kiln__op_text(b, &loop, names);
    kiln__buf_puts(b, "; }\n");
}

char *table_kernel(table *t, size_t first)
{
    kiln__buf op = KILN__BUF_INIT;
    int taken = 0;
    for (size_t k = first; k < t->case_count && taken < KERNEL_CASES; k++) {
        if (t->cases[k].done || t->cases[k].count != t->cases[first].count)
            continue;
        put_case(&op, &t->cases[k]);
        t->cases[k].done = true;
        taken++;
    }
    assert_false(op.failed);
    return kiln__buf_take(&op);
}
