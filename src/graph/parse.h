/*
 * parse.h - what the files of the expression parser share. Private to src/graph.
 *
 *     text > [lex.c: tokens] > [parse.c: values, statements.c] > nodes of a graph
 *                                  [calls.c: functions, methods, subscripts;
 *                                   making.c: functions of known numbers; extents.c: len(x);
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
#include "ops/ops.h"

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

/* The kind of value that an expression has. */
typedef enum kiln__parsed_kind {
    KILN__PARSED_NODE,  /* a node, or a plain number */
    KILN__PARSED_TUPLE, /* several nodes: (1, 2), divmod(x, y) */
    KILN__PARSED_ROWS,  /* a list of `count` lists, whose items follow each other in `items` */
    KILN__PARSED_NONE,
    KILN__PARSED_DTYPE,
    KILN__PARSED_SHAPE,   /* the shape of the array `node`: x.shape */
    KILN__PARSED_AT,      /* elements of `node` that a method changes: x.at[...] */
    KILN__PARSED_TEXT,    /* a string; `at` and `width` include the quotes */
    KILN__PARSED_CHOSEN,  /* the elements of `node` where `chooser`, a mask, is true */
    KILN__PARSED_COUNTED, /* the first elements of `node`; `chooser` is their number */
    KILN__PARSED_PLACES,  /* nonzero(node): a vector of places for each axis, whose number is not known */
    KILN__PARSED_SEVERAL  /* `count` values of any kind but this one, TUPLE and ROWS */
} kiln__parsed_kind;

enum { KILN__TUPLE_MAX = 64, KILN__NAMES_MAX = 256, KILN__DEPTH_MAX = 100 };

typedef struct kiln__parsed {
    kiln__parsed_kind kind;
    kiln_dtype dtype;
    kiln_node node;                   /* NODE, SHAPE, AT, CHOSEN, COUNTED */
    kiln_node chooser; /* CHOSEN: a mask of node's shape or of its first axes; COUNTED: a number */
    int axis;          /* COUNTED: the axis whose extent `chooser` is */
    bool parts;        /* COUNTED: parts of an array are counted, and not elements of a vector */
    struct kiln__parsed *values;      /* SEVERAL */
    const char *word;                 /* TEXT: without its quotes, and not NUL-terminated */
    size_t word_bytes;
    bool list;                        /* TUPLE, ROWS: it was written in square brackets */
    kiln_node *items;                 /* TUPLE, ROWS */
    int64_t *rows;                    /* ROWS: how many items each has */
    const kiln_subscript *subscripts; /* AT */
    size_t count;                     /* of the lists above, which kiln__parser_keep() allocates */
    size_t at, width;                 /* the bytes of the text that it was read from */
} kiln__parsed;

typedef struct kiln__named {
    const char *name; /* points into the text or the caller's names */
    size_t bytes;
    kiln__parsed value;
} kiln__named;

struct kiln__parsed_call;
struct kiln__opaque;

typedef struct kiln__parser {
    const char *text;
    kiln_graph *graph;
    kiln_error *err;
    kiln__token token; /* the current one */
    size_t behind;     /* where the token before it ends */
    int depth;
    kiln__named *names;
    size_t name_count, name_base; /* names before the base belong to another text */
    struct kiln__kept *kept;      /* memory of parsed values */
    size_t result_count;
    size_t wanted; /* names that stand before the one value of the statement; 0: none, or further values came first */
    /* Parse the statements of `text`; `out` becomes the result, a tuple where there are several. */
    kiln_status (*statements)(struct kiln__parser *p, kiln__parsed *out);
    /* kiln__join_operands() and kiln__multiply_parts(), for apply.c. */
    kiln_status (*join)(struct kiln__parser *p, kiln__parsed *operands, size_t count,
                        kiln__parsed *out);
    kiln_status (*multiply)(struct kiln__parser *p, const kiln__parsed *x, kiln__parsed *y, size_t at,
                            kiln__parsed *out);
    /* kiln__apply_call(), for files that it calls. */
    kiln_status (*call)(struct kiln__parser *p, struct kiln__parsed_call *c, kiln__parsed *out);
} kiln__parser;

/* Whether a node is a plain number that is not recorded. (KILN_NODE_NOTHING is not: recording
 * functions return it after an error, which kiln_graph_compile() reports.) */
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

/* The file and line with which nodes are recorded for the token at byte `at`. */
#define KILN__PLACE(at) "expression", (int)((at) + 1)

/* ---- lex.c ----------------------------------------------------------------------------------- */
/* Read the next token into p->token. */
kiln_status kiln__next_token(kiln__parser *p);
/* Whether the current token is this mark, or this word. */
bool kiln__is_mark(const kiln__parser *p, const char *mark);
bool kiln__is_word(const kiln__parser *p, const char *word);
/* Fail; the error's detail is the text with a caret below the bytes at..at+width. */
kiln_status kiln__parse_fail(const kiln__parser *p, size_t at, size_t width, kiln_status status,
                             const char *fmt, ...) KILN_PRINTF(5, 6);
/* Fail because the current token ("`foo`", "the end") is not `wanted`. */
kiln_status kiln__unexpected(const kiln__parser *p, const char *wanted);
/* Step over `mark`, or fail. */
kiln_status kiln__expect(kiln__parser *p, const char *mark);
/* Step over the comma between items of a list. Where the text ends, `close` is said to be missing. */
kiln_status kiln__expect_comma(kiln__parser *p, const char *close);

/* ---- apply.c --------------------------------------------------------------------------------- */
/* Fail unless a value is a node or a plain number. Makes a list of plain numbers an array. */
kiln_status kiln__need_node(kiln__parser *p, kiln__parsed *v);
/* A whole number of the text, or one computed from extents: then *out refers to its node (fusion.h), and must
 * become part of a node's data, or kiln__number_node(). */
kiln_status kiln__need_integer(const kiln__parser *p, const kiln__parsed *v, int64_t *out);
/* A whole number of the text alone. */
kiln_status kiln__need_literal(const kiln__parser *p, const kiln__parsed *v, int64_t *out);
/* Whether a value is a whole number that is computed from extents. */
bool kiln__is_extent(const kiln__parser *p, const kiln__parsed *v);
/* Make `v` a NODE; what it was read from stays. */
void kiln__set_node(kiln__parsed *v, kiln_node node);
/* Whether a node is a plain number, or is computed from plain numbers alone. */
bool kiln__is_of_numbers(const kiln__parser *p, const kiln_node *node);
/* Give a value a name, which is not copied. */
kiln_status kiln__define_name(kiln__parser *p, const char *name, size_t bytes,
                              const kiln__parsed *value);
/* Zeroed memory, which kiln__parser_drop() frees; NULL without memory. */
void *kiln__parser_keep(kiln__parser *p, size_t bytes);
kiln_node *kiln__tuple_new(kiln__parser *p, size_t count); /* the same for `count` nodes */
const char *kiln__parser_name(kiln__parser *p, const char *name, size_t bytes); /* a copy with a NUL */
void kiln__parser_drop(kiln__parser *p);
/* Record a matrix product. */
kiln_status kiln__apply_matmul(kiln__parser *p, kiln__parsed *operands, size_t at,
                               kiln__parsed *out);
/* Record an operation, or compute it if all operands are plain integers. */
kiln_status kiln__apply(kiln__parser *p, kiln_op op, kiln__parsed *operands, size_t at,
                        size_t width, kiln__parsed *out);
/* Whether a value was written in square brackets, as [2, 0]. */
static inline bool kiln__is_list(const kiln__parsed *v)
{
    return v->kind == KILN__PARSED_TUPLE && v->list;
}
/* Whether it is such a list of at least one number, plain or computed from such, and of nothing else. */
bool kiln__is_number_list(const kiln__parser *p, const kiln__parsed *v);
/* Make a list of plain numbers an array of `count` elements, which repeats them if they are fewer; 0:
 * an array of just these. It has the dtype that NumPy gives such a list. */
kiln_status kiln__number_list(kiln__parser *p, kiln__parsed *v, size_t count);
/* Make a list of such lists a list of arrays; other values stay as they are. */
kiln_status kiln__number_lists(kiln__parser *p, kiln__parsed *v);
/* Make a list of indices an array: integers, or True and False, which are a mask. */
kiln_status kiln__index_list(kiln__parser *p, kiln__parsed *v);

/* ---- extents.c --------------------------------------------------------------------------------- */
/* Make a NODE the SHAPE of it; an extent of x (kiln__node_extent()); an extent of a SHAPE. */
void kiln__shape_of(kiln__parser *p, kiln__parsed *v);
void kiln__set_extent(kiln__parser *p, kiln_node x, int64_t axis, int64_t rank, size_t at,
                      kiln__parsed *out);
kiln_status kiln__pick_extent(kiln__parser *p, const kiln__subscript *list, size_t count,
                              kiln__parsed *v);
/* Make a SHAPE a tuple of `count` extents. (Of a CHOSEN or COUNTED value a SHAPE has it in `values`.) */
kiln_status kiln__unpack_shape(kiln__parser *p, kiln__parsed *v, size_t count);

/* ---- params.c -------------------------------------------------------------------------------- */
/* A parameter in a list of them: its name, and behind `=` (a default) or `:` a text up to the next comma. */
typedef struct kiln__call_param {
    const char *name, *text;
    size_t bytes, text_bytes;
    char mark; /* '=', ':' or 0 */
} kiln__call_param;

/* The next parameter of a list, which moves on; false at its end. */
bool kiln__next_param(const char **list, kiln__call_param *out);
bool kiln__is_param(const kiln__call_param *q, const char *name);
/* The default: a number, True, False, or None where there is no other. */
kiln__parsed kiln__param_default(const kiln__call_param *q);

/* Whether an argument of NumPy's has no effect here; `words` are those that it may be, beside numbers. */
struct kiln__parsed_call;
bool kiln__param_is_idle(const struct kiln__parsed_call *c, const char *name, size_t bytes,
                         const char **words);

/* Check that such an argument is a number, None or one of the words. */
kiln_status kiln__check_idle(const kiln__parser *p, const kiln__parsed *v, const char *name,
                             size_t bytes, const char *words);
/* Leave out such an argument that stands in its place without a name: sort(x, 0, 'stable'). */
kiln_status kiln__drop_idle(const kiln__parser *p, struct kiln__parsed_call *c);

/* ---- calls.c --------------------------------------------------------------------------------- */
enum { KILN__ARGUMENTS_MAX = 34, KILN__NAMED_MAX = 4 };
enum { KILN__TAKES_AXIS = 1, KILN__TAKES_DTYPE = 2, KILN__TAKES_KEEPDIMS = 4 };

/* `name(...)` as it was read. The first argument of a method is the array. */
typedef struct kiln__parsed_call {
    const char *name;
    size_t at, bytes; /* of the name in the text */
    kiln__parsed arg[KILN__ARGUMENTS_MAX];
    size_t count;
    kiln__parsed axis, dtype, keepdims; /* width 0: not given */
    unsigned takes; /* KILN__TAKES_... for those that the function has read; afterwards, others that
                       were given are refused */
    size_t mode, mode_bytes; /* the word after mode= or method= */
    bool method;             /* it was method= */
    struct {
        const char *name;
        size_t bytes;
        kiln__parsed value;
    } named[KILN__NAMED_MAX]; /* other arguments that were given by name */
    size_t named_count;
    bool of_array; /* it is a method: the first argument stands before the dot */
    bool unknown; /* there is no function of that name */
} kiln__parsed_call;

/* Check the second argument of a reduction: it must be axes. The message for "max(x, y)" names
 * maximum(). ERR_ARGUMENT. */
kiln_status kiln__need_axes(const kiln__parser *p, const kiln__parsed_call *c,
                            const kiln__parsed *axes);
/* Give the axis of a call, which is argument number `at` or was given by name, and note that the
 * function takes it. Its width is 0 if it was not given. Fails if it was given twice. (apply.c) */
kiln_status kiln__call_axis(const kiln__parser *p, kiln__parsed_call *c, size_t at,
                            const kiln__parsed **out);

/* Check how many arguments a call has, and that the first is an array: a number becomes one without
 * axes. */
kiln_status kiln__fail_call(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                            const char *what);
kiln_status kiln__need_count(const kiln__parser *p, const kiln__parsed_call *c, size_t least,
                             size_t most);
kiln_status kiln__need_array(kiln__parser *p, kiln__parsed_call *c);

/* wholes.c: call a function that is done as a whole by its own name. */
kiln_status kiln__apply_whole(kiln__parser *p, kiln__parsed_call *c,
                              const struct kiln__opaque *o, kiln__parsed *out);

/* Call a function or method of any of the files below. */
kiln_status kiln__apply_call(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out);

/* The word after method=, one of NumPy's for quantiles, as a kiln_quantile_method. */
kiln_status kiln__quantile_method(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out);

/* Apply keepdims= to *y, the result of a function that gives one number for each row; `at` is the
 * number of the argument that may be the axis. */
kiln_status kiln__keep_axes(kiln__parser *p, kiln__parsed_call *c, size_t at, kiln_node *y);

/*
 * The files below have the functions of expressions, each file some. kiln__FILE_takes() says
 * whether the function that `c` calls has a parameter `name`, beside those that kiln__parsed_call
 * has members for. kiln__apply_FILE() calls the function; it sets *known to false, and does nothing
 * else, for calls of functions of other files.
 */

/* ---- extents.c: len(), size(), ndim(), shape() ------------------------------------------------- */
kiln_status kiln__apply_extents(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- counted.c: functions of CHOSEN and COUNTED values --------------------------------------- */
kiln_status kiln__apply_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);
#define KILN__ROW_OF_COUNTED "_of_" /* names of rows in written_rows.c for such functions begin so */
#define KILN__ROW_AMONG_COUNTED "_in_"
#define KILN__ROW_OVER_COUNTED "_over_"
/* A value as COUNTED: what counts first, and its number. `parts`: it may be parts of an array; else it must
 * be the elements of a vector. */
kiln__parsed kiln__as_counted(const kiln__parsed *v, bool parts);
/* Call the row of a function whose name has that prefix, with argument `nth` replaced by two: the array and
 * the mask or number that decides its length. */
kiln_status kiln__call_counted(kiln__parser *p, kiln__parsed_call *c, size_t nth,
                               const kiln__parsed *given, const char *prefix, kiln__parsed *out);
/* Make a tuple of two, the result of such a row, COUNTED. */
void kiln__recount(kiln__parsed *v, int axis, bool parts);
/* The elements of x along its first axis at indices that are CHOSEN or COUNTED. */
kiln_status kiln__take_counted(kiln__parser *p, const kiln__parsed *x, const kiln__parsed *indices,
                               kiln__parsed *out);

/* ---- beside.c ---------------------------------------------------------------------------------- */
/* Make nodes of the operands of an operation; `out` becomes what its result is, but for its node: a NODE, or CHOSEN
 * or COUNTED as an operand is. ERR_UNSUPPORTED for different masks or counts. */
kiln_status kiln__join_operands(kiln__parser *p, kiln__parsed *operands, size_t count,
                                kiln__parsed *out);

/* ---- parts.c: functions of CHOSEN and COUNTED values along an axis ------------------------------ */
kiln_status kiln__apply_parts(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                              bool *known);
/* Give a CHOSEN value the form of another one that the same mask chooses: the axes of the mask as one. */
void kiln__fold_like(kiln__parsed *v, const kiln__parsed *other);
/* All elements of such a value, CHOSEN one by one. */
kiln__parsed kiln__elements_of_parts(const kiln__parsed *v);
/* The number of elements of such a value, and an extent of its shape: plain numbers. */
kiln_node kiln__size_of_parts(const kiln__parsed *v);
kiln_status kiln__extent_of_parts(const kiln__parser *p, const kiln__parsed *v, int64_t axis,
                                  kiln__parsed *out);
/* x[m] @ y: the products of rows that are chosen. */
kiln_status kiln__multiply_parts(kiln__parser *p, const kiln__parsed *x, kiln__parsed *y, size_t at,
                                 kiln__parsed *out);
/* `.T`, `.size`, `.ndim` and `.shape` of such a value; a number of its shape; *known is false for others. */
kiln_status kiln__member_of_parts(kiln__parser *p, const kiln__parsed *v, size_t at, size_t bytes,
                                  kiln__parsed *out, bool *known);

/* ---- lengths.c: CHOSEN and COUNTED values in lists and with subscripts ------------------------ */
/* Call concatenate() or a similar function with a list that has such values. */
kiln_status kiln__join_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known);
/* Apply subscripts to such a value; `mask` is one of them, or NULL. */
kiln_status kiln__subscript_counted(kiln__parser *p, const kiln__parsed *v,
                                    const kiln__subscript *list, size_t count,
                                    const kiln__parsed *mask, kiln__parsed *out);

/* ---- maskings.c ------------------------------------------------------------------------------ */
/* Apply subscripts of which several are masks, or one among others. */
kiln_status kiln__subscript_masks(kiln__parser *p, const kiln__parsed *v,
                                  const kiln__subscript *list, size_t count, kiln__parsed *out);

/* compress() along an axis; `*known` is false for all else. */
kiln_status kiln__apply_masking(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- editing.c: delete() and insert() at the indices in an array ------------------------------ */
kiln_status kiln__apply_editing(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- arranging.c: rearrangements ------------------------------------------------------------- */
/* Put arguments that were given by names into the places that the function's list has: repeat(x, repeats=2). */
kiln_status kiln__arranging_places(const kiln__parser *p, kiln__parsed_call *c);
bool kiln__arranging_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* How such a function is called, for messages; false: there is none of that name. */
bool kiln__arranging_usage(const kiln__parsed_call *c, char *out, size_t bytes);
kiln_status kiln__apply_arranging(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                  bool *known);

/* ---- making.c: functions that need the values of numbers ------------------------------------- */
bool kiln__making_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
kiln_status kiln__apply_making(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known);

/* ---- ordered.c: sorts by a rule that the user has written ------------------------------------ */
bool kiln__ordered_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
kiln_status kiln__apply_ordered(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- listed.c: functions with lists of arrays, or with several results ----------------------- */
kiln_status kiln__apply_listed(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known);

/* ---- composed.c: functions that C code composes of others ------------------------------------ */
bool kiln__composed_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* The axes of a tuple in the order in which new ones are put in their places: from the first, or, counted from the
 * end, from the last. */
kiln_status kiln__read_ordered_axes(const kiln__parser *p, const kiln__parsed *v, int64_t *axes);
kiln_status kiln__apply_composed(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                 bool *known);

/* ---- histograms.c: histogramdd(), histogram2d() ------------------------------------------------ */
bool kiln__histograms_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
kiln_status kiln__apply_histograms(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                   bool *known);

/* ---- long_list.c ------------------------------------------------------------------------------ */
/* Parse what follows `next`, an item for which a list in square brackets has no room behind `count` others; item()
 * parses one more. */
kiln_status kiln__parse_long_list(kiln__parser *p, const kiln_node *nodes, size_t count,
                                  const kiln__parsed *next, size_t at,
                                  kiln_status (*item)(kiln__parser *p, kiln__parsed *out),
                                  kiln__parsed *out);

/* ---- pad_call.c: pad() with sides that differ, and what all calls of it have in common ------------ */
bool kiln__pad_takes(const char *name, size_t bytes);
/* The word after mode= as a kiln_pad_mode, or constant. */
kiln_status kiln__pad_mode(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out);
kiln_status kiln__apply_padding(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* ---- gradients.c: gradient() ------------------------------------------------------------------- */
bool kiln__gradients_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
kiln_status kiln__apply_gradients(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                  bool *known);

/* ---- scattering.c: methods of x.at[...], and functions that change elements at indices -------- */
kiln_status kiln__apply_scattering(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                   bool *known);
/* The word after mode= as a kiln_index_mode, or the default. */
kiln_status kiln__index_mode(const kiln__parser *p, const kiln__parsed_call *c,
                             kiln_index_mode *out);

/* ---- choosing.c: masks ----------------------------------------------------------------------- */
/* Whether a value is known to be of bool: a comparison, an operation on such values, or an input
 * that is declared so. */
bool kiln__is_mask(const kiln__parser *p, const kiln__parsed *v);
/* Make a PLACES value COUNTED, the places of a vector; others stay as they are. */
void kiln__settle(kiln__parsed *v);
/* Make a PLACES value the places along an axis; or a mask of those elements. */
void kiln__places_along(kiln__parsed *v, int64_t axis);
void kiln__places_mask(kiln__parser *p, kiln__parsed *v);
/* Make a PLACES value SEVERAL: those along `count` axes, which must be all. */
kiln_status kiln__unpack_places(kiln__parser *p, kiln__parsed *v, size_t count);
/* Make `out` CHOSEN: the elements of x where the mask is true. */
void kiln__choose(kiln_node x, kiln_node mask, size_t at, kiln__parsed *out);
/* Make a CHOSEN value an array of which the reduction `op` has the same result. */
kiln_status kiln__reduce_chosen(kiln__parser *p, const kiln__parsed_call *c, int op,
                                kiln__parsed *v);
kiln_status kiln__apply_choosing(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                 bool *known);
/* The two outputs of a graph whose result is CHOSEN or COUNTED. */
void kiln__counted_result(const kiln__parsed *v, kiln_node out[2]);

/* ---- written.c: functions that are expressions of others ------------------------------------- */
/* A row of the table (written_rows.c). */
typedef struct kiln__written {
    const char *name, *params, *text;
} kiln__written;
extern const kiln__written kiln__written_rows[];
extern const size_t kiln__written_count;
bool kiln__written_takes(const kiln__parsed_call *c, const char *name, size_t bytes);
/* Describe all ways in which such a function is called; false for other functions. */
enum { KILN__USAGE_BYTES = 240 };
bool kiln__written_usage(const kiln__parsed_call *c, char *out, size_t bytes);
kiln_status kiln__apply_written(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known);

/* Call such a function of nodes, for the place of a call. */
kiln_status kiln__written_call(kiln__parser *p, const kiln__parsed_call *c, const char *name,
                               const kiln_node *nodes, size_t count, kiln_node *out);

/* ---- near.c ---------------------------------------------------------------------------------- */
/* Find a known word that was probably meant by `word`. Returns its length in bytes, 0 if there is
 * none. */
enum { KILN__NEAR_MAX = 40 };
size_t kiln__find_near(const char *word, size_t bytes,
                       bool (*is_known)(void *user, const char *word, size_t bytes), void *user,
                       char out[KILN__NEAR_MAX]);

/* ---- parse.c --------------------------------------------------------------------------------- */
kiln_status kiln__parse_expression(kiln__parser *p, kiln__parsed *out);

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* Compute an operation on plain numbers, if all are integers. FOLD_NOT: it is recorded. */
kiln__folded kiln__fold(kiln_op op, int arity, const kiln_node *operands, kiln_node *out);

#endif
