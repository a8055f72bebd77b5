/*
 * write.h - one kernel while its texts are written. Private to src/fusion.
 *
 * Each kernel is walked twice: dry, to learn what it reads from memory and how positions run, and
 * again, when everything it reads has a place. Where a parameter would hide a function that the texts
 * call, it is written once more with other names. Each lowered node is a statement, named t1, t2, ...;
 * the same lowered node seen through the same view is one statement.
 */
#ifndef KILN_FUSION_WRITE_H
#define KILN_FUSION_WRITE_H

#include "fusion/states.h"

/* A lowered node seen through a view, and the text that stands for it. */
typedef struct kiln__seen {
    uint32_t low;
    const kiln__axis_map *map;
    const char *text;
    bool lasting;    /* seen from every scope that follows */
    bool of_element; /* computed for an element of a row program: a row's statements see it not */
    uint32_t before; /* the same lowered node, named before: counted from 1, 0: none */
} kiln__seen;

/* A function that a row program computes for each element, and in which stage first. What later
 * stages use again becomes a value of the element. */
typedef struct kiln__reused {
    uint32_t low;
    const kiln__axis_map *map;
    int stage;
    bool again;
} kiln__reused;

/* Scratch buffers of a build, by use. */
enum {
    KILN__BUF_BODY,    /* statements */
    KILN__BUF_IN,      /* input signature */
    KILN__BUF_OUT,     /* output signature */
    KILN__BUF_TEXT,    /* one expression */
    KILN__BUF_OTHER,   /* texts of a reduction */
    KILN__BUF_MORE,    /* signature of outputs per row */
    KILN__BUF_ROW,     /* statements per row */
    KILN__BUF_PREAMBLE /* structs, the user's preambles */
};

/* What the dry walk of a kernel found. */
typedef struct kiln__survey {
    bool has_iota;
    int64_t iota[KILN_RANK_MAX]; /* coefficients of the first position met */
    kiln__reused *reused;
    size_t reused_count;
} kiln__survey;

typedef struct kiln__writer {
    kiln__build *b;
    kiln__plan_kernel *kernel;
    kiln__step *step;
    uint32_t number; /* of the step, from 0 */
    bool dry;
    int body;     /* the scratch buffer that statements go to */
    int stage;    /* of a row program */
    bool careful; /* prefix every parameter: some name collided with a function's */
    int rank;     /* of the loop: the kernel's axes in the order `axis` */
    const int64_t *shape;
    int axis[KILN_RANK_MAX];
    kiln__seen *seen; /* that of kiln__writing */
    size_t seen_count;
    size_t seen_base; /* what is before belongs to another scope */
    int next;         /* number of the next statement */
    const char *names[KILN_PARAM_MAX];
    bool row_outputs; /* outputs go to the row signature */
    bool post;        /* what follows the results of a reduction is written */
    bool has_iota;
    bool uses_tuple;             /* `_ind` */
    bool numbered;               /* some text uses the number of an element */
    int64_t iota[KILN_RANK_MAX]; /* coefficients of the first position met */
    int operations;
    kiln__list snippets;  /* lowered nodes: one of each of the user's kernels that are inlined */
    kiln__list preambles; /* lowered nodes whose preambles stand in namespaces */
    kiln__reused *reused;
    size_t reused_count, reused_capacity;
    kiln_row_value *values;
    size_t value_count;
} kiln__writer;

/* ---- values.c: where values are, and parameters bound to views of them ---- */

/* Give a stored lowered node its place: the output it is, or a temporary. `order` (NULL: C-order):
 * its axes from slowest to fastest, when kiln chooses. */
void kiln__place(kiln__writer *w, uint32_t low, const int *order);
/* The input parameter for a lowered node seen through `map`; its name. */
const char *kiln__input_param(kiln__writer *w, uint32_t low, const kiln__axis_map *map);
/* The same of a lowered node that may be a view. */
const char *kiln__walking_param(kiln__writer *w, uint32_t low, const kiln__axis_map *map);
/* A raw parameter for the array of a GATHER, seen through `map` but for the indexed axes, which
 * come first. The others follow when some walk. */
const char *kiln__table_param(kiln__writer *w, const kiln__lowered *gather,
                              const kiln__axis_map *map, bool walks);
/* What the kernel reports to. */
const char *kiln__report_param(kiln__writer *w);
/* The output parameter for a placed lowered node; axes of its view are given by `strides`. */
const char *kiln__output_param(kiln__writer *w, uint32_t low, int rank, const int64_t *shape,
                               const int64_t *strides);
/* An output parameter that nothing reads, in a temporary of its own. */
void kiln__spare_param(kiln__writer *w, kiln_dtype dtype, int rank, int64_t *shape);
/* Strides of a placed lowered node as an output of a reduction of `w`'s kernel: those of the kept
 * axes. */
int kiln__kept_strides(const kiln__writer *w, uint32_t low, int64_t *shape, int64_t *strides);

/* ---- names.c, text.c ---- */

/* The text that stands for a lowered node seen through `map`, which has an entry for each of its
 * axes; statements it needs are appended to the body. `root`: computed here though it is stored. */
const char *kiln__operand_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map, bool root);
/* The map of a lowered node at the loop's own index: axis by axis. */
const kiln__axis_map *kiln__own_map(kiln__writer *w, uint32_t low);
/* The map of a result, or of what has its shape, at the index of a kept axis each. */
const kiln__axis_map *kiln__kept_map(kiln__writer *w, uint32_t low);
/* The text registered for a lowered node seen through `map`, or NULL. */
const char *kiln__find_named(const kiln__writer *w, uint32_t low, const kiln__axis_map *map);
/* Register a text for a lowered node, as when a reduction has computed it. */
void kiln__name_lowered(kiln__writer *w, uint32_t low, const kiln__axis_map *map, const char *text);
const char *kiln__next_name(kiln__writer *w);
/* The order of axes in which results that kiln allocates follow the inputs (K-order). */
void kiln__result_order(kiln__writer *w, int *order);
/* Whether coefficients are `factor` times the linear index of the loop, axes as they are. */
bool kiln__is_linear(const kiln__writer *w, const int64_t *coef, int64_t *factor);

/* ---- text_loop.c ---- */

/* Put the loop's axes into the order in which positions run, when that makes them its linear
 * index. */
void kiln__order_axes(kiln__writer *w);
void kiln__write_loop(kiln__writer *w);
void kiln__write_custom(kiln__writer *w);

/* ---- text_gather.c ---- */

/* The element of a GATHER, given the texts of its indices (of operands from the second on). */
const char *kiln__gather_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                              const char *const *operands);

/* ---- text_snippet.c ---- */

/* Append the statements of a SNIPPET over these operands; the name of the result. */
const char *kiln__snippet_text(kiln__writer *w, uint32_t low, const kiln__axis_map *map,
                               const char *const *operands);
/* Whether some snippet means something else by the name of a parameter. */
bool kiln__snippets_hide(const kiln__writer *w, const char *name);
/* Say which of the user's kernels were inlined. */
void kiln__tell_snippets(const kiln__writer *w, kiln__buf *why);

/* ---- text_reduce.c ---- */

/* What the states of a pass are to a kernel: of one its own texts, of several a struct. */
typedef struct kiln__pass {
    const char *declaration; /* of the struct; NULL for one */
    const char *type, *map, *reduce, *identity;
    int64_t bytes; /* of the struct, from above */
    kiln__batching batching;
} kiln__pass;

/* `struct_name` names the struct, `statements` come before the elements that `elements` are. */
kiln__pass kiln__write_pass(kiln__writer *w, const kiln__member *members, size_t count,
                            const char *struct_name, const char *statements,
                            const char *const *elements);
/* A statement that gives a name to the result of a member of a pass with so many states, from the
 * reduced value `whole`. */
const char *kiln__name_result(kiln__writer *w, const kiln__member *m, size_t states,
                              const char *whole);
void kiln__write_reduction(kiln__writer *w);

/* ---- text_rows.c ---- */
void kiln__write_rows(kiln__writer *w);

/* ---- write.c ---- */
void kiln__write_steps(kiln__build *b, kiln__plan_kernel *kernels);

#endif
