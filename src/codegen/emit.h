/*
 * emit.h - what the parts of the emitter share. Private to src/codegen.
 *
 * emit.c looks up the names, lists and conditions that templates use. emit_axes.c does so for those
 * of axes and of the argument block, emit_window.c for windows, row_emit.c for row programs.
 */
#ifndef KILN_CODEGEN_EMIT_H
#define KILN_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "codegen/row_emit.h"

/* The argument block of a kernel under construction. */
typedef struct kiln__slot_list {
    kiln__slot *slots;
    size_t count, capacity, bytes;
    bool failed;
} slot_list;

/* A condition of templates whose value is the same in all of a kernel. */
enum { CONDITIONS_MAX = 60 };
typedef struct condition {
    const char *name;
    bool holds;
} condition;

/* The kernel for which templates are expanded. `p`, `axis`, `number`, `slot` and the members of
 * `row` are the current items of the template's `for` loops. */
typedef struct kiln__emitter {
    const kiln__definition *def;
    const kiln__variant *v;
    kiln__buf *out;
    const char *entry;
    kiln__row_emit row;
    const slot_list *slots;
    size_t p;
    int axis;
    int number; /* a kiln__numbering */
    int side;   /* filters: 1 for what belongs to elements that are not kept */
    size_t slot;
    condition conditions[CONDITIONS_MAX]; /* the name of the last one is NULL */
    size_t line, counted; /* the first `counted` bytes of the source have `line` lines */
    kiln__batch batch;
    bool batch_kept; /* kiln__batch_is_kept() */
} emitter;

typedef bool (*param_is)(const emitter *e, size_t p);

/* ---- facts about a parameter ---- */

static inline uint8_t access_of(const emitter *e, size_t p)
{
    return e->v->access[p];
}

static inline bool is_scalar(const emitter *e, size_t p)
{
    return access_of(e, p) == KILN__ACCESS_SCALAR;
}

static inline bool is_raw(const emitter *e, size_t p)
{
    return access_of(e, p) == KILN__ACCESS_RAW;
}

static inline bool is_one(const emitter *e, size_t p)
{
    return access_of(e, p) == KILN__ACCESS_ONE;
}

static inline bool is_splat(const emitter *e, size_t p)
{
    return access_of(e, p) == KILN__ACCESS_SPLAT;
}

static inline bool is_pointer(const emitter *e, size_t p)
{
    return !is_scalar(e, p) && !is_raw(e, p);
}

static inline bool is_walking(const emitter *e, size_t p)
{
    return is_pointer(e, p) && !is_one(e, p);
}

/* ---- facts about the whole ---- */

static inline bool on_cuda(const emitter *e)
{
    return e->v->backend == KILN_BACKEND_CUDA;
}

static inline bool has_index(const emitter *e)
{
    return e->def->uses_index || e->def->uses_indexer;
}

static inline bool is_linear(const emitter *e)
{
    return e->v->layout == KILN__LAYOUT_LINEAR;
}

static inline bool is_transpose(const emitter *e)
{
    return e->v->layout == KILN__LAYOUT_TRANSPOSE;
}

#define KILN__SECTOR 32 /* bytes of a sector, the unit in which a GPU reads memory */
#define KILN__LINE 128  /* bytes of a line of its caches */

/* A GPU's tile of a transpose. Axis A is the last, B the one before it (transpose.c). */
typedef struct kiln__transpose_tile {
    int side;          /* elements along A */
    int skew;          /* elements by which a row may begin before the tile, at a sector */
    int pitch;         /* words from row to row in shared memory */
    int lanes, across; /* threads along B and along A */
    int groups;        /* words that a thread loads of a tiled operand */
} kiln__transpose_tile;

kiln__transpose_tile kiln__transpose_tile_of(const kiln__definition *def, const kiln__variant *v);

/* Whether a GPU's tiles are square, as they are where all rows begin at sectors; such variants have
 * unroll=1. */
bool kiln__transpose_even(const kiln__variant *v);

/* Whether each of a GPU's threads holds all elements of the short axis of a transpose. */
static inline bool kiln__transpose_narrow(const kiln__variant *v)
{
    return v->layout == KILN__LAYOUT_TRANSPOSE && v->loop.narrow != KILN__NARROW_NONE;
}

/* The output at whose sectors the rows of tiles begin; SIZE_MAX where there is none. */
size_t kiln__transpose_skewed(const kiln__definition *def, const kiln__variant *v);

/* Whether two axes are cut into tiles. */
static inline bool is_tiled(const emitter *e)
{
    return is_transpose(e) || e->v->layout == KILN__LAYOUT_WINDOW;
}

/* Whether each warp stores one cache line at a time. */
static inline bool is_lined(const emitter *e)
{
    return kiln__variant_number(e->v, "lines", 5) > 0;
}

/* Whether `i` is computed from strides of its own. */
static inline bool has_index_strides(const emitter *e)
{
    return has_index(e) && !is_linear(e) && kiln__variant_number(e->v, "plain_i", 7) <= 0;
}

/* Whether a scan goes from the last element of a sequence to the first. */
static inline bool is_reversed(const emitter *e)
{
    return kiln__variant_number(e->v, "reverse", 7) > 0;
}

/* ---- filter_plan.c ---- */

/* Where a filter with `otherwise` keeps the results of a tile or chunk. Output k of the elements that are
 * kept shares memory with output k of the others, since an element has only one of them. */
typedef struct kiln__filter_room {
    int at, bytes; /* for each element: bytes before this output's, and bytes of it */
    int all;       /* for each element: bytes of all outputs */
} kiln__filter_room;

kiln__filter_room kiln__filter_room_of(const kiln__definition *def, const kiln__variant *v,
                                       size_t param);

/* cpu: whether elements are computed four at a time, because four neighbours get their random words
 * from one block of Philox. */
static inline bool is_by_fours(const emitter *e)
{
    return !on_cuda(e) && e->def->draws && e->v->layout == KILN__LAYOUT_LINEAR;
}

/* cpu: whether blocks of elements are computed by an attempt that may leave some undecided, for which
 * inputs are read again (templates/cpu/row.cpp). */
static inline bool is_attempted(const emitter *e)
{
    return !on_cuda(e) && e->def->attempts && e->v->layout == KILN__LAYOUT_LINEAR;
}

/* cpu: whether elements of a permutation are attempted, chains of operations that are faster four at a time. */
static inline bool is_permuting(const emitter *e)
{
    bool permutes = false;

    for (size_t k = 0; k < e->def->words.count; k++)
        permutes = permutes || strcmp(e->def->words.items[k], "kiln_drawn_permuted") == 0;
    return permutes && is_attempted(e);
}

/* ---- emit_axes.c ---- */

/* Set e->axis to item `nth` of a list of axes. Returns 1; 0 at the list's end; -1 for unknown
 * lists. */
int kiln__emit_axis(emitter *e, const char *list, size_t bytes, int nth);

/* Lay out the kernel's argument block. The other functions add the slots between raw arrays and
 * strides, each for a family (kiln__family.slots). */
void kiln__emit_slots(const emitter *e, slot_list *l);
void kiln__loop_slots(const emitter *e, slot_list *l);
void kiln__reduce_slots(const emitter *e, slot_list *l);
void kiln__filter_slots(const emitter *e, slot_list *l);
void kiln__row_slots(const emitter *e, slot_list *l);

/* Make slot `nth` of e->slots the current one, and its parameter, axis or numbering as well.
 * Returns 1; 0 at the end. */
int kiln__slot_item(emitter *e, int nth);

/* Append a value of the current slot ("m.kind", ...); false for other names. */
bool kiln__slot_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out);

/* The part of a name in kernels that stands for a kiln__numbering. */
const char *kiln__number_name(size_t numbering);

/* ---- emit_window.c ---- */

/* The predicate that a parameter must satisfy to be an item of the list; NULL for unknown lists. */
param_is kiln__window_list(const char *list, size_t bytes);

/* The value of a condition on the parameter e->p; -1 for unknown ones. */
int kiln__window_test(const emitter *e, const char *name, size_t bytes);

/* Append the value of a name; false for unknown ones. */
bool kiln__window_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out);

/* ---- takes.c ---- */

/* Whether an input is taken by index, and whether such indices out of range are noted and reported at the end. */
bool kiln__is_taken(const emitter *e, size_t p);
bool kiln__take_is_noted(const emitter *e, size_t p);

/* The texts that only inputs taken by index have. False for other names. */
bool kiln__takes_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out);

/* ---- copies.c ---- */

/* Append the value of a name that templates of copies use; false for unknown ones. */
bool kiln__copies_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out);

#endif
