/*
 * parse.h - what the files of the expression parser share. Private to src/graph.
 *
 *     text > [lex.c: tokens] > [parse.c: values, statements.c] > nodes of a graph
 *                                  [calls.c: functions, methods, subscripts;
 *                                   making.c: functions of known numbers;
 *                                   written.c: functions that are expressions]
 *                                  [apply.c: operations; fold.c: arithmetic on whole numbers]
 *
 * Nodes are recorded while parsing; there is no tree. The place of a node is file "expression",
 * line = the byte (from 1) of the token that it was recorded for.
 */
#ifndef KILN_GRAPH_PARSE_H
#define KILN_GRAPH_PARSE_H

#include "core/core.h"
#include "graph/subscripts.h"
#include "kiln/expression.h"

typedef enum kiln__token_kind {
    KILN__TOKEN_END,
    KILN__TOKEN_NAME,
    KILN__TOKEN_NUMBER,
    KILN__TOKEN_TEXT, /* with its quotes */
    KILN__TOKEN_MARK
} kiln__token_kind;

typedef struct kiln__token {
    kiln__token_kind kind;
    size_t at, width; /* bytes of the text */
    char mark[4];     /* "+", "**", "<<", ... */
    kiln_node number;
} kiln__token;

/* What an expression stands for. */
typedef enum kiln__parsed_kind {
    KILN__PARSED_NODE,  /* a node, or a plain number */
    KILN__PARSED_TUPLE, /* of several nodes: (1, 2), divmod(x, y) */
    KILN__PARSED_ROWS,  /* a list of lists: `count` rows, one after the other in `items` */
    KILN__PARSED_NONE,
    KILN__PARSED_DTYPE,
    KILN__PARSED_SHAPE,   /* of the array `node`: x.shape */
    KILN__PARSED_AT,      /* elements of `node` that a method changes: x.at[...] */
    KILN__PARSED_TEXT,    /* in quotes, which `at` and `width` include */
    KILN__PARSED_CHOSEN,  /* the elements of `node` where `mask` is true */
    KILN__PARSED_COUNTED, /* the first elements of `node`, as many as `mask`, a number, says */
    KILN__PARSED_SEVERAL  /* `count` values of any kind but this one, TUPLE and ROWS */
} kiln__parsed_kind;

enum { KILN__TUPLE_MAX = 64, KILN__NAMES_MAX = 256, KILN__DEPTH_MAX = 100 };

typedef struct kiln__parsed {
    kiln__parsed_kind kind;
    kiln_dtype dtype;
    kiln_node node;                   /* of a NODE */
    kiln_node mask;                   /* of CHOSEN and COUNTED */
    int axis;                         /* of COUNTED: along which its elements count */
    bool parts; /* of COUNTED: what counts are parts of an array, and not the elements of a vector */
    struct kiln__parsed *values;      /* of SEVERAL; the parser's */
    const char *word;                 /* of a TEXT, without its quotes; no NUL ends it */
    size_t word_bytes;
    bool list;                        /* of a TUPLE: it stood between brackets */
    kiln_node *items;                 /* of a TUPLE and of ROWS; the parser's */
    int64_t *rows;                    /* of ROWS: how many items each has; the parser's */
    const kiln_subscript *subscripts; /* of AT; the parser's */
    size_t count;
    size_t at, width; /* what it was read from */
} kiln__parsed;

typedef struct kiln__named {
    const char *name; /* points into the text or the caller's names */
    size_t bytes;
    kiln__parsed value;
} kiln__named;

struct kiln__parsed_call;

typedef struct kiln__parser {
    const char *text;
    kiln_graph *graph;
    kiln_error *err;
    kiln__token token; /* the current one */
    size_t behind;     /* end of the one before it */
    int depth;
    kiln__named *names;
    size_t name_count, name_base; /* those before the base are of another text */
    struct kiln__kept *kept;      /* memory of parsed values */
    size_t result_count;
    /* Parse the statements of `text`; `out` becomes the result, a tuple where there are several. */
    kiln_status (*statements)(struct kiln__parser *p, kiln__parsed *out);
    /* kiln__apply_call(), for files that it calls. */
    kiln_status (*call)(struct kiln__parser *p, struct kiln__parsed_call *c, kiln__parsed *out);
} kiln__parser;

/* Whether a node is a plain number that is not recorded. (KILN_NODE_NOTHING is none: recording
 * returns it after an error, which kiln_graph_compile() reports.) */
static inline bool kiln__is_plain(const kiln_node *n)
{
    return n->kind != KILN_NODE_GRAPH && n->kind != KILN_NODE_NOTHING;
}

/* Whether a value has a length that only the device knows. */
static inline bool kiln__is_counted(const kiln__parsed *v)
{
    return v->width != 0 &&
           (v->kind == KILN__PARSED_CHOSEN || v->kind == KILN__PARSED_COUNTED);
}

/* The recorded place of what stands at byte `at`. */
#define KILN__PLACE(at) "expression", (int)((at) + 1)

/* ---- lex.c ----------------------------------------------------------------------------------- */
kiln_status kiln__next_token(kiln__parser *p); /* the next token into p->token */
bool kiln__is_mark(const kiln__parser *p, const char *mark);
bool kiln__is_word(const kiln__parser *p, const char *word);
/* Fail with the text and a caret under bytes at..at+width. */
kiln_status kiln__parse_fail(const kiln__parser *p, size_t at, size_t width, kiln_status status,
                             const char *fmt, ...) KILN_PRINTF(5, 6);
/* "`foo`", "the end" for messages about the current token. */
kiln_status kiln__unexpected(const kiln__parser *p, const char *wanted);
/* Step over `mark`, or fail. */
kiln_status kiln__expect(kiln__parser *p, const char *mark);
/* The same of the comma behind an item of a list that ends with `close`. */
kiln_status kiln__expect_comma(kiln__parser *p, const char *close);

/* ---- apply.c --------------------------------------------------------------------------------- */
/* "must be one value": a node or a plain number. A list of plain numbers becomes an array. */
kiln_status kiln__need_node(kiln__parser *p, kiln__parsed *v);
kiln_status kiln__need_integer(const kiln__parser *p, const kiln__parsed *v, int64_t *out);
void kiln__set_node(kiln__parsed *v, kiln_node node);
/* Whether a value is a plain number, or is computed from plain numbers alone. */
bool kiln__is_of_numbers(const kiln__parser *p, const kiln_node *node);
/* Give a name to a value. `name` stays the caller's. */
kiln_status kiln__define_name(kiln__parser *p, const char *name, size_t bytes,
                              const kiln__parsed *value);
/* Zeroed room, freed by kiln__parser_drop(); NULL without memory. */
void *kiln__parser_keep(kiln__parser *p, size_t bytes);
kiln_node *kiln__tuple_new(kiln__parser *p, size_t count); /* for a tuple's nodes */
void kiln__parser_drop(kiln__parser *p);
/* What an operation on these operands gives: `out` becomes a chosen value where one of them is.
 * ERR_UNSUPPORTED for operands that do not belong together. */
kiln_status kiln__join_chosen(const kiln__parser *p, const kiln__parsed *operands, size_t count,
                              kiln__parsed *out);
/* Record a matrix product. */
kiln_status kiln__apply_matmul(kiln__parser *p, kiln__parsed *operands, size_t at,
                               kiln__parsed *out);
/* Apply an operation: recorded, or folded when all operands are whole numbers. */
kiln_status kiln__apply(kiln__parser *p, kiln_op op, kiln__parsed *operands, size_t at,
                        size_t width, kiln__parsed *out);
/* Whether a value was written between square brackets, as [2, 0]. */
static inline bool kiln__is_list(const kiln__parsed *v)
{
    return v->kind == KILN__PARSED_TUPLE && v->list;
}
/* Whether that holds plain numbers alone, at least one. */
bool kiln__is_number_list(const kiln__parsed *v);
/* Make a list of plain numbers an array of `count` elements, 0: as many as there are; the numbers are repeated where
 * that is more. The dtype is NumPy's of such a list. */
kiln_status kiln__number_list(kiln__parser *p, kiln__parsed *v, size_t count);
/* Make a list of such lists a list of arrays; other values stay as they are. */
kiln_status kiln__number_lists(kiln__parser *p, kiln__parsed *v);
/* The same of a list of indices: whole numbers, or True and False, which are a mask. */
kiln_status kiln__index_list(kiln__parser *p, kiln__parsed *v);

/* ---- calls.c --------------------------------------------------------------------------------- */
enum { KILN__ARGUMENTS_MAX = 34, KILN__NAMED_MAX = 4 };
enum { KILN__TAKES_AXIS = 1, KILN__TAKES_DTYPE = 2, KILN__TAKES_KEEPDIMS = 4 };

/* `name(...)` as it was read; of a method the array is the first argument. */
typedef struct kiln__parsed_call {
    const char *name;
    size_t at, bytes; /* of the name in the text */
    kiln__parsed arg[KILN__ARGUMENTS_MAX];
    size_t count;
    kiln__parsed axis, dtype, keepdims; /* width 0: not given */
    unsigned
        takes; /* KILN__TAKES_...: those that the function reads; the others are refused when it has returned */
    size_t mode, mode_bytes; /* of the word after mode=, or (then `method` is true) method= */
    bool method;
    struct {
        const char *name;
        size_t bytes;
        kiln__parsed value;
    } named[KILN__NAMED_MAX]; /* arguments by name that a written function has */
    size_t named_count;
    bool unknown; /* there is no function of that name */
} kiln__parsed_call;

/* The second argument of a reduction: axes, or ERR_ARGUMENT. "max(x, y)" is told of maximum(). */
kiln_status kiln__need_axes(const kiln__parser *p, const kiln__parsed_call *c,
                            const kiln__parsed *axes);
/* The axis of a call, in its place `at` among the arguments or by its name, from now on one that the function takes;
 * width 0: it is not given. Fails where both are given. (apply.c) */
kiln_status kiln__call_axis(const kiln__parser *p, kiln__parsed_call *c, size_t at,
                            const kiln__parsed **out);

kiln_status kiln__apply_call(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out);

/* The word after method=, one of NumPy's for quantiles: a kiln_quantile_method. */
kiln_status kiln__quantile_method(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out);

/* keepdims= of a function that gives one number for each row, of which `*y` is the result; `at`: the argument that may
 * be the axis. */
kiln_status kiln__keep_axes(kiln__parser *p, kiln__parsed_call *c, size_t at, kiln_node *y);

/* ---- counted.c ------------------------------------------------------------------------------- */
/* A function of what a mask chooses, or of an array whose length only the device knows; `*known` is false for one that
 * takes none, and for arguments that have a length. */
kiln_status kiln__apply_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);
/* These begin the names of rows of written.c for them. */
#define KILN__ROW_OF_COUNTED "_of_"
#define KILN__ROW_AMONG_COUNTED "_in_"
/* Call the row of a function with the prefix: `nth` argument in two, the array and what tells its length. */
kiln_status kiln__call_counted(kiln__parser *p, kiln__parsed_call *c, size_t nth,
                               const kiln__parsed *given, const char *prefix, kiln__parsed *out);
/* Two values of a row are a counted one. */
void kiln__recount(kiln__parsed *v, int axis, bool parts);
/* What such indices name along the first axis. */
kiln_status kiln__take_counted(kiln__parser *p, const kiln__parsed *x, const kiln__parsed *indices,
                               kiln__parsed *out);

/* ---- lengths.c ------------------------------------------------------------------------------- */
/* concatenate() and its like, of lists with such values; `*known` is false for other calls. */
kiln_status kiln__join_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known);
/* Subscripts of such a value; `mask` is one of them, NULL where there is none. */
kiln_status kiln__subscript_counted(kiln__parser *p, const kiln__parsed *v,
                                    const kiln__subscript *list, size_t count,
                                    const kiln__parsed *mask, kiln__parsed *out);

/* ---- maskings.c ------------------------------------------------------------------------------ */
/* x[list], of which several are masks, or one beside others. */
kiln_status kiln__subscript_masks(kiln__parser *p, const kiln__parsed *v,
                                  const kiln__subscript *list, size_t count, kiln__parsed *out);

/* ---- editing.c ------------------------------------------------------------------------------- */
/* delete() and insert() at places that an array names; `*known` is false for other calls. */
kiln_status kiln__apply_editing(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- arranging.c ----------------------------------------------------------------------------- */
/* Whether it has such a parameter, besides axis and mode. */
bool kiln__arranging_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* A function that rearranges arrays; `*known` is false where the name is none. */
kiln_status kiln__apply_arranging(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                  bool *known);

/* ---- making.c -------------------------------------------------------------------------------- */
/* Whether it has such a parameter, besides axis and keepdims. */
bool kiln__making_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* A function that must know the values of numbers; `*known` is false where the name is none. */
kiln_status kiln__apply_making(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known);

/* ---- ordered.c ------------------------------------------------------------------------------- */
/* Whether it has such a parameter, besides axis and dtype. */
bool kiln__ordered_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* A sort by a text of the program's own; `*known` is false where a call is none. */
kiln_status kiln__apply_ordered(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- listed.c -------------------------------------------------------------------------------- */
/* A function that takes lists of arrays or gives several; `*known` is false where the name is none. */
kiln_status kiln__apply_listed(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known);

/* ---- composed.c ------------------------------------------------------------------------------ */
/* Whether it has such a parameter, besides axis, keepdims and method. */
bool kiln__composed_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* A function that others make up; `*known` is false where the name is none. */
kiln_status kiln__apply_composed(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                 bool *known);

/* ---- scattering.c ---------------------------------------------------------------------------- */
/* A method of x.at[...], or a function that changes elements at indices in a copy of its array; `*known` is
 * false where the name is none. */
kiln_status kiln__apply_scattering(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                   bool *known);
/* The word after mode=, or the default. */
kiln_status kiln__index_mode(const kiln__parser *p, const kiln__parsed_call *c,
                             kiln_index_mode *out);

/* ---- choosing.c ------------------------------------------------------------------------------ */
/* Whether a value is of bool, as far as the text tells: a comparison, what is made of such, an input
 * that is said to be. */
bool kiln__is_mask(const kiln__parser *p, const kiln__parsed *v);
/* The elements of x where the mask is true. */
void kiln__choose(kiln_node x, kiln_node mask, size_t at, kiln__parsed *out);
/* A chosen value as an array that a reduction may reduce in its place. */
kiln_status kiln__reduce_chosen(kiln__parser *p, const kiln__parsed_call *c, int op,
                                kiln__parsed *v);
/* A function that chooses elements; `*known` is false where the name is none. */
kiln_status kiln__apply_choosing(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                 bool *known);
/* The two outputs of a chosen or counted result. */
void kiln__counted_result(const kiln__parsed *v, kiln_node out[2]);

/* ---- written.c ------------------------------------------------------------------------------- */
/* Whether a function of that name has such a parameter, besides axis, dtype and keepdims. */
bool kiln__written_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* How such a function is called, each way of it; false where the name is none. */
enum { KILN__USAGE_BYTES = 240 };
bool kiln__written_usage(const kiln__parsed_call *c, char *out, size_t bytes);
/* A function that is an expression of others; `*known` is false where the name is none. */
kiln_status kiln__apply_written(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- near.c ---------------------------------------------------------------------------------- */
/* A known word that `word` may mean; its bytes, 0 where there is none. */
enum { KILN__NEAR_MAX = 40 };
size_t kiln__find_near(const char *word, size_t bytes,
                       bool (*is_known)(void *user, const char *word, size_t bytes), void *user,
                       char out[KILN__NEAR_MAX]);

/* ---- parse.c --------------------------------------------------------------------------------- */
kiln_status kiln__parse_expression(kiln__parser *p, kiln__parsed *out);

/* ---- fold.c ---------------------------------------------------------------------------------- */

typedef enum kiln__folded {
    KILN__FOLDED,
    KILN__FOLD_NOT,   /* not an operation on whole numbers: it is to be recorded */
    KILN__FOLD_BEYOND /* the result is no integer of 64 bits */
} kiln__folded;

/* An operation on plain numbers. */
kiln__folded kiln__fold(kiln_op op, int arity, const kiln_node *operands, kiln_node *out);

#endif
