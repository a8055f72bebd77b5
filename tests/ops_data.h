/*
 * ops_data.h - the cases of data/ops.txt and data/ops.dat (make_ops.py), and kernels that compute
 * them: some hundred by one elementwise kernel over nothing but raw bytes, `x` all of ops.dat and
 * `z` the results, each where the expected ones are.
 */
#ifndef KILN_TEST_OPS_DATA_H
#define KILN_TEST_OPS_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/ops.h"

enum { LINE_BYTES = 256, OPERAND_MAX = 256, CASE_MAX = 2048, KERNEL_CASES = 120 };

typedef struct operand {
    char name[8];
    kiln_dtype dtype;
    size_t offset, count;
} operand;

typedef struct op_case {
    const kiln__op *op;
    kiln_dtype out;
    double ulps;
    size_t offset; /* of the results */
    const operand *in[KILN__OP_ARITY_MAX];
    size_t count;
    bool mixed; /* one of many pairs of dtypes */
    bool done;
} op_case;

typedef struct table {
    unsigned char *bytes; /* ops.dat */
    size_t size;
    operand operands[OPERAND_MAX];
    size_t operand_count;
    op_case cases[CASE_MAX];
    size_t case_count;
} table;

/* Read both files, or fail the running test. */
table *table_read(void);
void table_free(table *t);

/* The statements of a kernel over case `first` and others of its length; all are marked done. */
char *table_kernel(table *t, size_t first);

#endif
