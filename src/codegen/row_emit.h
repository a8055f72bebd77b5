/*
 * row_emit.h - the lists, conditions and names that only templates of row programs use. Private to
 * src/codegen.
 *
 * They are loops over stages and values, and lists of the parameters that a stage uses.
 */
#ifndef KILN_CODEGEN_ROW_EMIT_H
#define KILN_CODEGEN_ROW_EMIT_H

#include "codegen/codegen.h"

/* The number of a thread's accesses is exact up to this, and rounded up to a multiple of four
 * above; a thread may lack as many as that may have added. */
enum { KILN__ROW_EACH = 9 };

/* The current items of three loops: over stages (`s`); over the earlier stages whose preps must run
 * again before stage `s` (`r`); and over values (`v`). After its loop, `s` is stage_count, which
 * stands for op, so that a template can ask what op uses. */
typedef struct kiln__row_emit {
    const kiln__definition *def; /* of any family: for others than row programs, all answers are no */
    const kiln__variant *v;
    int room; /* the form of kiln__emit_roomier(); 0: the kernel as planned */
    size_t stage, earlier, value;
} kiln__row_emit;

/* How many forms with more room (kiln__emit_roomier()) a kernel has: those that hold rows in a GPU's
 * registers have some. */
int kiln__row_rooms(const kiln__row_emit *e);

/* Whether parameter `p` is in one of these lists. "Per element" are arrays with an element for each
 * element of a row, "per row" those with one for each row. */
bool kiln__row_holds(const kiln__row_emit *e, size_t p); /* inputs per element, held in registers
                                                            from the beginning on */
bool kiln__row_sees(const kiln__row_emit *e, size_t p); /* inputs per element of the current stage */
bool kiln__row_unheld(const kiln__row_emit *e, size_t p); /* ... that it loads, as none holds them */
bool kiln__row_splat(const kiln__row_emit *e, size_t p);       /* inputs per row */
bool kiln__row_stores(const kiln__row_emit *e, size_t p);      /* outputs per element */
bool kiln__row_loads_first(const kiln__row_emit *e, size_t p); /* ... that are loaded first */
bool kiln__row_results(const kiln__row_emit *e, size_t p);     /* outputs per row */

/* The same on the cpu, where tiles of rows are copied into buffers. */
bool kiln__row_buffers(const kiln__row_emit *e, size_t p); /* arrays that have a buffer */
bool kiln__row_gathers(const kiln__row_emit *e, size_t p); /* ... which memory is copied to first */
bool kiln__row_others(const kiln__row_emit *e, size_t p); /* other arrays with an address in each row */

/* Make item `nth` of "stages", "earlier" or "values" the current one. Returns 1; 0 at the end; -1
 * for other lists. */
int kiln__row_item(kiln__row_emit *e, const char *list, size_t bytes, int nth);

/* The value of a condition on rows, stages or the current parameter `p`; -1 for unknown ones. */
int kiln__row_test(const kiln__row_emit *e, const char *name, size_t bytes, size_t p);

/* Append the value of a name; false for unknown ones. */
bool kiln__row_put(const kiln__row_emit *e, const char *name, size_t bytes, size_t p,
                   kiln__buf *out);

/* The snippet that "s.map", "r.prep", ... stands for; KILN__SNIPPET_COUNT for other names. */
kiln__snippet_kind kiln__row_snippet(const kiln__row_emit *e, const char *name, size_t bytes);

/* The bytes of a value; an estimate where its type is neither a dtype nor a placeholder. */
int64_t kiln__row_value_bytes(const kiln__definition *def, const kiln__variant *v, size_t value);

/* The registers that one access of a row takes in the stage that needs most of them. */
int64_t kiln__row_access_words(const kiln__definition *def, const kiln__variant *v);

#endif
