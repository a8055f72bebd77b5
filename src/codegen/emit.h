/*
 * emit.h - what the parts of the emitter share. Private to src/codegen.
 *
 * emit.c answers the names, lists and conditions of templates. It leaves those of axes and of the
 * argument block to emit_axes.c, those of windows to emit_window.c and those of row programs to
 * row_emit.c.
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

/* A condition of templates that holds, or does not, for the whole kernel. */
enum { CONDITIONS_MAX = 56 };
typedef struct condition {
    const char *name;
    bool holds;
} condition;

/* What the templates are expanded for. `p`, `axis`, `number`, `slot` and those of `row` are the current items
 * of the template's `for` loops. */
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
    condition conditions[CONDITIONS_MAX]; /* the last one has no name */
    size_t line, counted; /* so many lines are in the first `counted` bytes of the source */
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

#define KILN__SECTOR 32 /* bytes that a GPU's memory moves at once */
#define KILN__LINE 128  /* bytes that its caches keep together */

/* A GPU's tile of a transpose: elements along A; elements that rows may begin earlier; words from row
 * to row in shared memory; threads along B and along A; words a thread loads of a tiled operand. */
typedef struct kiln__transpose_tile {
    int side, skew, pitch, lanes, across, groups;
} kiln__transpose_tile;

kiln__transpose_tile kiln__transpose_tile_of(const kiln__definition *def, const kiln__variant *v);

/* Whether a GPU's tiles are square and begin at sectors already: such a variant has unroll=1. */
bool kiln__transpose_even(const kiln__variant *v);

/* Whether a GPU's threads hold the short axis of a transpose. */
static inline bool kiln__transpose_narrow(const kiln__variant *v)
{
    return v->layout == KILN__LAYOUT_TRANSPOSE && v->loop.narrow != KILN__NARROW_NONE;
}

/* The output whose rows decide where those of a tile begin; SIZE_MAX where none does. */
size_t kiln__transpose_skewed(const kiln__definition *def, const kiln__variant *v);

/* Two axes are cut into tiles. */
static inline bool is_tiled(const emitter *e)
{
    return is_transpose(e) || e->v->layout == KILN__LAYOUT_WINDOW;
}

/* Each warp stores one of memory's lines. */
static inline bool is_lined(const emitter *e)
{
    return kiln__variant_number(e->v, "lines", 5) > 0;
}

/* `i` has to be computed from strides of its own. */
static inline bool has_index_strides(const emitter *e)
{
    return has_index(e) && !is_linear(e) && kiln__variant_number(e->v, "plain_i", 7) <= 0;
}

/* A sequence is walked from its end. */
static inline bool is_reversed(const emitter *e)
{
    return kiln__variant_number(e->v, "reverse", 7) > 0;
}

/* ---- filter_plan.c ---- */

/* Where results of a filter with `otherwise` are put aside: output number k of the elements kept and number k of
 * the others share room, for an element has one of them. */
typedef struct kiln__filter_room {
    int at, bytes; /* of an output's: bytes of others before it, and its own, for each element */
    int all;
} kiln__filter_room;

kiln__filter_room kiln__filter_room_of(const kiln__definition *def, const kiln__variant *v,
                                       size_t param);

/* ---- emit_axes.c ---- */

/* Item `nth` of a list of axes goes to e->axis. 1; 0 at the list's end; -1 when there is no such list. */
int kiln__emit_axis(emitter *e, const char *list, size_t bytes, int nth);

/* Lay out the argument block of the kernel; and that part of it that a family decides, the slots
 * between raw arrays and strides (kiln__family.slots). */
void kiln__emit_slots(const emitter *e, slot_list *l);
void kiln__loop_slots(const emitter *e, slot_list *l);
void kiln__reduce_slots(const emitter *e, slot_list *l);
void kiln__filter_slots(const emitter *e, slot_list *l);
void kiln__row_slots(const emitter *e, slot_list *l);

/* Move to item `nth` of the slots in e->slots: 1; 0 at the end. Its parameter, axis or numbering becomes
 * the current one. */
int kiln__slot_item(emitter *e, int nth);

/* Append a fact about the current slot ("m.kind", ...); false when it is none. */
bool kiln__slot_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out);

/* How names in kernels spell a kiln__numbering. */
const char *kiln__number_name(size_t numbering);

/* ---- emit_window.c ---- */

/* What makes a parameter an item of a list of windows; NULL when there is no such list. */
param_is kiln__window_list(const char *list, size_t bytes);

/* Conditions of the parameter e->p; -1 for others. */
int kiln__window_test(const emitter *e, const char *name, size_t bytes);

/* Append a name or number; false when it is none of windows. */
bool kiln__window_put(const emitter *e, const char *name, size_t bytes, kiln__buf *out);

#endif
