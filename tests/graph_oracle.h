/*
 * graph_oracle.h - small programs over arrays, evaluated by plain loops: what random graphs are
 * compared with.
 *
 * A program is a list of instructions; each makes one value of doubles, int64s or bools (kinds 'f',
 * 'i', 'b') from values before it. The evaluator knows nothing of kiln. It works in double and int64,
 * in the order the program is written in; results are kept small by refusing instructions whose
 * result would not be.
 */
#ifndef KILN_GRAPH_ORACLE_H
#define KILN_GRAPH_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORACLE_RANK_MAX 5
#define ORACLE_CODE_MAX 80

typedef enum oracle_op {
    ORACLE_INPUT,
    ORACLE_CONSTANT, /* weak: no value of its own, `number` beside another operand */
    ORACLE_ADD,
    ORACLE_SUBTRACT,
    ORACLE_MULTIPLY,
    ORACLE_MAXIMUM,
    ORACLE_NEGATIVE,
    ORACLE_ABSOLUTE,
    ORACLE_SQUARE,
    ORACLE_TANH, /* floats */
    ORACLE_EXP,  /* floats */
    ORACLE_ROOT, /* floats: sqrt(|x| + 1) */
    ORACLE_LESS,     /* integers to bool */
    ORACLE_WHERE,    /* bool, two alike */
    ORACLE_TO_FLOAT,
    ORACLE_SUM,
    ORACLE_MEAN,
    ORACLE_MAX,
    ORACLE_MIN,
    ORACLE_VAR,
    ORACLE_ARGMAX, /* integers */
    ORACLE_TRANSPOSE,
    ORACLE_NEWAXIS,
    ORACLE_FLIP,
    ORACLE_SLICE,
    ORACLE_TAKE,
    ORACLE_BROADCAST,
    ORACLE_RESHAPE,
    ORACLE_INDEX,
    ORACLE_OP_COUNT
} oracle_op;

typedef struct oracle_code {
    oracle_op op;
    int operand[3];
    int operand_count;
    bool weak;         /* the last operand is `number` instead */
    double number;     /* whole when the others are integers */
    bool axis[ORACLE_RANK_MAX]; /* reductions: which; transpose: uses `order` */
    int order[ORACLE_RANK_MAX];
    bool keepdims;
    int at;            /* axis of the other views and of index */
    int64_t start, stop, step;
    int rank;          /* broadcast, reshape */
    int64_t shape[ORACLE_RANK_MAX];
} oracle_code;

typedef struct oracle_value {
    char kind;
    int rank;
    int64_t shape[ORACLE_RANK_MAX];
    int64_t size;
    double *f;  /* kind 'f' */
    int64_t *i; /* kinds 'i', 'b' */
} oracle_value;

/* A value with room for its elements, zeroed. */
oracle_value oracle_make(char kind, int rank, const int64_t *shape);
void oracle_free(oracle_value *v);

/* Evaluate one instruction over values made before it. False when it cannot be (shapes or kinds do
 * not go together, the result would be large, or not finite): then nothing is made. */
bool oracle_eval(const oracle_code *code, const oracle_value *values, oracle_value *out);

const char *oracle_name(oracle_op op);

#endif
