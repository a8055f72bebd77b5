/*
 * row_emit.h - what the templates of row programs may ask for. Private to src/codegen.
 *
 * Row programs add loops over stages and values to the tables of emit.c, and lists of the parameters
 * that a stage uses.
 */
#ifndef KILN_CODEGEN_ROW_EMIT_H
#define KILN_CODEGEN_ROW_EMIT_H

#include "codegen/codegen.h"

/* Accesses of a thread up to here are counted one by one, more of them by fours: threads have all but so
 * many for sure. */
enum { KILN__ROW_EACH = 9 };

/* The current items of three loops: over stages (`s`); over the earlier stages whose preps must run
 * again before stage `s` (`r`); and over values (`v`). Behind its loop, `s` is stage_count, which
 * stands for op, so that a template can ask what op uses. */
typedef struct kiln__row_emit {
    const kiln__definition *def; /* of a row program, or functions say no */
    const kiln__variant *v;
    int room; /* step of kiln__emit_roomier() */
    size_t stage, earlier, value;
} kiln__row_emit;

/* How many roomier forms a kernel has: those that hold rows in a GPU's registers. */
int kiln__row_rooms(const kiln__row_emit *e);

/* Kinds of parameters: inputs per element that are held in registers from the beginning; inputs per
 * element that the current stage uses, and those among them that are not held, so that the stage loads
 * them itself; inputs per row; outputs per element, and those that are loaded first; outputs per
 * row. */
bool kiln__row_holds(const kiln__row_emit *e, size_t p);
bool kiln__row_sees(const kiln__row_emit *e, size_t p);
bool kiln__row_unheld(const kiln__row_emit *e, size_t p);
bool kiln__row_splat(const kiln__row_emit *e, size_t p);
bool kiln__row_stores(const kiln__row_emit *e, size_t p);
bool kiln__row_loads_first(const kiln__row_emit *e, size_t p);
bool kiln__row_results(const kiln__row_emit *e, size_t p);

/* cpu, where tiles of rows are copied into buffers: the inputs and outputs that have a buffer; those
 * whose buffer is filled from memory first; and all other arrays with an address of their own in each
 * row. */
bool kiln__row_buffers(const kiln__row_emit *e, size_t p);
bool kiln__row_gathers(const kiln__row_emit *e, size_t p);
bool kiln__row_others(const kiln__row_emit *e, size_t p);

/* Move to item `nth` of "stages", "earlier" or "values": 1, 0 at the end, -1 for other lists. */
int kiln__row_item(kiln__row_emit *e, const char *list, size_t bytes, int nth);

/* Conditions of rows and stages; -1 for others. `p` is the current parameter. */
int kiln__row_test(const kiln__row_emit *e, const char *name, size_t bytes, size_t p);

/* Append a name, type or number; false when it is none of these. */
bool kiln__row_put(const kiln__row_emit *e, const char *name, size_t bytes, size_t p,
                   kiln__buf *out);

/* Bytes of a value; an estimate where its type is neither a dtype nor a placeholder. */
int64_t kiln__row_value_bytes(const kiln__definition *def, const kiln__variant *v, size_t value);

/* Which snippet "s.map", "r.prep", ... is; KILN__SNIPPET_COUNT for others. */
kiln__snippet_kind kiln__row_snippet(const kiln__row_emit *e, const char *name, size_t bytes);

/* Registers that one access of a row takes in the stage that needs most of them. */
int64_t kiln__row_access_words(const kiln__definition *def, const kiln__variant *v);

#endif
