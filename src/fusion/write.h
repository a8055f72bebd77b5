/*
 * write.h - one kernel while its texts are written. Private to src/fusion.
 *
 * Each kernel is walked twice: first without writing (`dry`), to find what it reads from memory and
 * the order of positions; then, when everything that it reads has a place, to write it. Where a
 * parameter would hide a function that the texts call, the kernel is written once more with other
 * names. Each lowered node becomes a statement, which names it t1, t2, ...; a lowered node that is
 * seen several times through the same view is one statement.
 */
#ifndef KILN_FUSION_WRITE_H
#define KILN_FUSION_WRITE_H

#include "fusion/states.h"

/* A lowered node seen through a view, and the text that stands for it. */
typedef struct kiln__seen {
    uint32_t low;
    const kiln__axis_map *map;
    const char *text;
    bool lasting;    /* every later scope sees it */
    bool of_element; /* row programs: it belongs to an element, so that a row's statements do not
                        see it */
    uint32_t before; /* the number, from 1, of the last earlier text of the same lowered node; 0:
                        none */
} kiln__seen;

/* A function call that a row program makes for each element, and the stage that makes it first. If
 * a later stage uses it `again`, it becomes a value that the element keeps. */
typedef struct kiln__reused {
    uint32_t low;
    const kiln__axis_map *map;
    int stage;
    bool again;
} kiln__reused;

/* Scratch buffers of a build, by use. */
enum {
    KILN__BUF_BODY,     /* statements */
    KILN__BUF_IN,       /* input signature */
    KILN__BUF_OUT,      /* output signature */
    KILN__BUF_TEXT,     /* one expression */
    KILN__BUF_OTHER,    /* texts of a reduction */
    KILN__BUF_MORE,     /* signature of outputs per row */
    KILN__BUF_ROW,      /* statements per row */
    KILN__BUF_PREAMBLE, /* structs, the user's preambles */
    KILN__BUF_PREP      /* before the loop */
};

/* What the walk without writing found. */
typedef struct kiln__survey {
    bool has_iota;
    int64_t iota[KILN_RANK_MAX]; /* coefficients of the first position met */
    kiln__reused *reused;
    size_t reused_count;
} kiln__survey;

/* What a root of a loop is a copy of. */
typedef struct kiln__copied {
    uint8_t param;             /* an input of the step */
    const kiln__number *value; /* not NULL: a number instead */
} kiln__copied;

typedef struct kiln__writer {
    kiln__build *b;
    kiln__plan_kernel *kernel;
    kiln__step *step;
    uint32_t number; /* of the step, from 0 */
    bool dry;
    int body;     /* the scratch buffer that statements are appended to */
    int stage;    /* of a row program */
    bool careful; /* parameters get a prefix, because the name of one was that of a function */
    int rank;     /* of the loop, whose axes are the kernel's in the order `axis` */
    const int64_t *shape;
    int axis[KILN_RANK_MAX];
    kiln__seen *seen; /* the one in kiln__writing */
    size_t seen_count;
    size_t seen_base; /* texts before this one belong to another scope */
    int next;         /* number of the next statement */
    const char *names[KILN_PARAM_MAX];
    bool row_outputs; /* outputs are declared as outputs per row */
    bool post;        /* statements that use the results of a reduction are being written */
    bool has_iota;
    bool uses_tuple;             /* some text uses `_ind` */
    bool numbered;               /* some text uses the index of an element */
    int64_t iota[KILN_RANK_MAX]; /* coefficients of the first position met */
    int operations;
    int noted;         /* indices whose errors are reported after the loop */
    kiln__list snippets;  /* lowered nodes: one of each user's kernel that is inlined */
    kiln__list preambles; /* lowered nodes whose preambles were put into namespaces */
    kiln__reused *reused;
    size_t reused_count, reused_capacity;
    kiln_row_value *values;
    size_t value_count;
} kiln__writer;

/* ---- values.c: where values are, and parameters bound to views of them ---- */

/* Give a stored lowered node its place in memory: the output that it is, or a temporary. Where kiln
 * chooses the order of axes, it is `order`, slowest first (NULL: C-order). */
void kiln__place(kiln__writer *w, uint32_t low, const int *order);
/* Add an input parameter for a lowered node seen through `map`, or find it. Returns its name. */
const char *kiln__input_param(kiln__writer *w, uint32_t low, const kiln__axis_map *map);
/* The same for a lowered node that may be a view. */
const char *kiln__walking_param(kiln__writer *w, uint32_t low, const kiln__axis_map *map);
/* Add a raw parameter for the array of a GATHER. Its first axes are the indexed ones; if `walks`,
 * the others follow, as seen through `map`. */
const char *kiln__table_param(kiln__writer *w, const kiln__lowered *gather,
                              const kiln__axis_map *map, bool walks);
/* Add the parameter for the array that bad indices are reported to. */
const char *kiln__report_param(kiln__writer *w);
/* Add the output parameter for a placed lowered node, with this shape and these strides. */
const char *kiln__output_param(kiln__writer *w, uint32_t low, int rank, const int64_t *shape,
                               const int64_t *strides);
/* Add an output parameter that nothing reads, in a temporary of its own. */
void kiln__spare_param(kiln__writer *w, kiln_dtype dtype, int rank, int64_t *shape);
/* Give the shape and strides along the kept axes of a placed lowered node that is an output of a
 * reduction. Returns the rank. */
int kiln__kept_strides(const kiln__writer *w, uint32_t low, int64_t *shape, int64_t *strides);

/* ---- names.c, text.c ---- */

/* The text that stands for a lowered node seen through `map`, which has an entry for each of its
 * axes. Statements that it needs are appended to the body. `root`: it is computed here although it
 * is a stored value. */
const char *kiln__operand_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map, bool root);
/* The map through which a lowered node of the loop's shape is seen at the loop's index. */
const kiln__axis_map *kiln__own_map(kiln__writer *w, uint32_t low);
/* The same for a lowered node whose axes are the kept ones of a reduction. */
const kiln__axis_map *kiln__kept_map(kiln__writer *w, uint32_t low);
/* The text registered for a lowered node seen through `map`, or NULL. */
const char *kiln__find_named(const kiln__writer *w, uint32_t low, const kiln__axis_map *map);
/* Register a text for a lowered node, such as the result of a reduction. */
void kiln__name_lowered(kiln__writer *w, uint32_t low, const kiln__axis_map *map, const char *text);
/* A new name: "t1", "t2", ... */
const char *kiln__next_name(kiln__writer *w);
/* Give the order of axes of results that kiln allocates: that of the inputs (K-order). */
void kiln__result_order(kiln__writer *w, int *order);
/* Whether `coef` is a multiple, by *factor, of the strides of the loop's linear index. */
bool kiln__is_linear(const kiln__writer *w, const int64_t *coef, int64_t *factor);

/* ---- text_loop.c ---- */

/* Reorder the loop's axes so that positions are multiples of its linear index, where that is
 * possible. */
void kiln__order_axes(kiln__writer *w);
void kiln__write_loop(kiln__writer *w);
void kiln__write_custom(kiln__writer *w);

/* ---- parts.c ---- */

/* Set `copied` of the kernel that has been written, whose roots have these texts. */
void kiln__find_copies(kiln__writer *w, const char *const *texts);
/* Make one step of several that only copy, where the target does them by one launch. */
void kiln__join_parts(kiln__build *b, const kiln__plan_kernel *kernels);

/* ---- text_gather.c ---- */

/* The text of an element of a GATHER; `operands` are the texts of its indices. */
const char *kiln__gather_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                              const char *const *operands);

/* Give the step's request what the texts of gathers want before the loop. */
void kiln__write_noted(kiln__writer *w);

/* ---- text_snippet.c ---- */

/* Append the statements of a SNIPPET over these operands. Returns the name of its result. */
const char *kiln__snippet_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                               const char *const *operands);
/* Whether some inlined snippet uses the name of a parameter for something else. */
bool kiln__snippets_hide(const kiln__writer *w, const char *name);
/* Append which of the user's kernels were inlined. */
void kiln__tell_snippets(const kiln__writer *w, kiln__buf *why);

/* ---- text_reduce.c ---- */

/* The texts of a pass: those of its state if it has one, else those of a struct of all its states. */
typedef struct kiln__pass {
    const char *declaration; /* of the struct; NULL if there is one state */
    const char *type, *map, *reduce, *identity;
    int64_t bytes; /* upper bound of the bytes of `type` */
    kiln__batching batching;
} kiln__pass;

/* `elements` are the texts of the elements that members reduce, which `statements` prepare. */
kiln__pass kiln__write_pass(kiln__writer *w, const kiln__member *members, size_t count,
                            const char *struct_name, const char *statements,
                            const char *const *elements);
/* Append a statement that names the result of a member, which is computed from the accumulator
 * `whole` of a pass with so many states. Returns the name. */
const char *kiln__name_result(kiln__writer *w, const kiln__member *m, size_t states,
                              const char *whole);
void kiln__write_reduction(kiln__writer *w);

/* ---- text_rows.c ---- */
void kiln__write_rows(kiln__writer *w);

/* ---- write.c ---- */
void kiln__write_steps(kiln__build *b, kiln__plan_kernel *kernels);

#endif
