/*
 * manifest.h - the one door of src/manifest: which kernels a program needs, as JSON Lines.
 *
 *     program > [record] > manifest > [read] > src/warm > cache
 *
 * read.c      lines to entries, with the file, line and column of whatever is wrong
 * json.c      strict JSON: one line, one object
 * write.c     an entry to a line
 * recorder.c  $KILN_RECORD: lines appended by many threads and processes, each line once
 *
 * Fields and their meaning are in docs/manifest.md. Uses core only: signatures, layouts and dtypes
 * of parameters are checked by whoever knows definitions.
 */
#ifndef KILN_MANIFEST_MANIFEST_H
#define KILN_MANIFEST_MANIFEST_H

#include "core/core.h"

/*
 * A kind of lines. A family of kernels is one, as its descriptor says; expressions and modules are the
 * ones that are none. `fields` names the fields that a line may have, with a blank between: "op!" is required,
 * "reverse=2" is a flag of calls with that bit. Lines with a definition have some fields in any case
 * (read.c).
 */
typedef struct kiln__manifest_kind {
    const char *name; /* the line's "kind" */
    const char *noun; /* for messages */
    const char *fields;
} kiln__manifest_kind;

/* X(ID, "field"): the fields that hold a text. */
#define KILN__MANIFEST_TEXTS(X)                                                                    \
    X(NAME, "name")                                                                                \
    X(TEXT, "text")                                                                                \
    X(IN, "in")                                                                                    \
    X(OUT, "out")                                                                                  \
    X(ROW_OUT, "row_out")                                                                          \
    X(PREAMBLE, "preamble")                                                                        \
    X(LOOP_PREP, "loop_prep")                                                                      \
    X(OP, "op")                                                                                    \
    X(AFTER_LOOP, "after_loop")                                                                    \
    X(MAP, "map")                                                                                  \
    X(REDUCE, "reduce")                                                                            \
    X(POST, "post")                                                                                \
    X(IDENTITY, "identity")                                                                        \
    X(REDUCE_TYPE, "reduce_type")                                                                  \
    X(WHERE, "where")                                                                              \
    X(OTHERWISE, "otherwise")                                                                      \
    X(NAMED, "named")                                                                              \
    X(SOURCE, "source")                                                                            \
    X(TEMPLATE, "template")

typedef enum kiln__manifest_text {
#define KILN__MANIFEST_TEXT_ENUM(id, name) KILN__MANIFEST_##id,
    KILN__MANIFEST_TEXTS(KILN__MANIFEST_TEXT_ENUM)
#undef KILN__MANIFEST_TEXT_ENUM
        KILN__MANIFEST_TEXT_COUNT
} kiln__manifest_text;

/* A text and where in its line it begins (behind the quote). */
typedef struct kiln__manifest_word {
    const char *text;
    size_t at;
} kiln__manifest_word;

/* "x": "float32" of an expression. */
typedef struct kiln__manifest_input {
    kiln__manifest_word name;
    kiln_dtype dtype;
} kiln__manifest_input;

/* {"T": "float32", "U": "int8"}: dtypes by letter, KILN_DTYPE_NONE for the others; of expressions
 * {"x": "float32", "mask": "bool"}: the inputs, as they are listed. */
typedef struct kiln__manifest_types {
    uint8_t dtype[128];
    kiln__manifest_input *inputs;
    size_t input_count;
    size_t at;
} kiln__manifest_types;

/* One shape of the inputs: for all of them (`param` NULL), or one for each that is named. */
typedef struct kiln__manifest_shape {
    const char *param;
    size_t at;
    int rank;
    int64_t extent[KILN_RANK_MAX];
} kiln__manifest_shape;

typedef struct kiln__manifest_shapes {
    kiln__manifest_shape *items;
    size_t count, at;
} kiln__manifest_shapes;

/* Axes of a reduction, the axis of a scan; `all` for null. */
typedef struct kiln__manifest_axes {
    bool all;
    int count;
    int axis[KILN_RANK_MAX];
    size_t at;
} kiln__manifest_axes;

/* X(ID, "field"): the texts of a row program's stage. */
#define KILN__MANIFEST_STAGE_TEXTS(X)                                                              \
    X(PREP, "prep")                                                                                \
    X(MAP, "map")                                                                                  \
    X(TYPE, "type")                                                                                \
    X(REDUCE, "reduce")                                                                            \
    X(IDENTITY, "identity")                                                                        \
    X(RESULT, "result")                                                                            \
    X(POST, "post")

typedef enum kiln__manifest_stage_text {
#define KILN__MANIFEST_STAGE_ENUM(id, name) KILN__MANIFEST_STAGE_##id,
    KILN__MANIFEST_STAGE_TEXTS(KILN__MANIFEST_STAGE_ENUM)
#undef KILN__MANIFEST_STAGE_ENUM
        KILN__MANIFEST_STAGE_TEXT_COUNT
} kiln__manifest_stage_text;

/* A stage of a row program; NULL where a text is missing. */
typedef struct kiln__manifest_stage {
    kiln__manifest_word text[KILN__MANIFEST_STAGE_TEXT_COUNT];
} kiln__manifest_stage;

/* {"type": "float", "name": "e"}. */
typedef struct kiln__manifest_value {
    kiln__manifest_word type, name;
} kiln__manifest_value;

/* One line. Texts are NULL where the field is missing, lists empty. Expressions have a `text`, modules a
 * `source`, kernels of kiln's own a `template`, and no other line has one of these. */
typedef struct kiln__manifest_entry {
    const kiln__manifest_kind *kind;
    kiln__manifest_word text[KILN__MANIFEST_TEXT_COUNT];
    bool keep_axes;
    bool wide; /* expressions: 16-bit floats stay float32 */
    unsigned flags; /* of calls that are told by shapes */
    kiln__manifest_stage *stages; /* row programs */
    size_t stage_count;
    kiln__manifest_value *values;
    size_t value_count;
    const char **options;
    size_t option_count;
    const char **names; /* modules: what is asked for by C++ expressions */
    size_t name_count;
    kiln__manifest_types *types;
    size_t type_count;
    kiln__manifest_word *layouts;
    size_t layout_count;
    kiln__manifest_shapes *shapes;
    size_t shape_count;
    kiln__manifest_axes *axes;
    size_t axes_count;
    bool has_scalars;
    kiln__manifest_word *scalars; /* parameters given as numbers */
    size_t scalar_count;
    const char *file;   /* as given to kiln__manifest_read() */
    size_t line;        /* from 1 */
    const char *source; /* the line as it stands in the file */
    size_t source_bytes;
} kiln__manifest_entry;

typedef struct kiln__manifest kiln__manifest;

/* Lines that are neither of a family nor of an expression: modules, and whole kernels of kiln's own. */
extern const kiln__manifest_kind kiln__manifest_module, kiln__manifest_template;

/* For lines of `count` kinds (copied), and of those that are no family. NULL without memory. */
kiln__manifest *kiln__manifest_create(const kiln__manifest_kind *kinds, size_t count);
void kiln__manifest_destroy(kiln__manifest *manifest); /* accepts NULL */

/*
 * Read the lines of `text` (copied) into the manifest, behind those it has. Empty lines count but
 * say nothing. Every bad line is told to `bad` (may be NULL): "FILE:LINE:COLUMN: ..." with a caret
 * in the detail; the good ones are kept. Returns the first failure: ERR_FORMAT, ERR_NO_MEMORY.
 */
kiln_status kiln__manifest_read(kiln__manifest *manifest, const char *file, const char *text,
                                size_t bytes, void (*bad)(void *user, const kiln_error *err),
                                void *user, kiln_error *err);

size_t kiln__manifest_count(const kiln__manifest *manifest);
/* Valid as long as the manifest. */
const kiln__manifest_entry *kiln__manifest_at(const kiln__manifest *manifest, size_t nth);

/* "FILE:LINE:COLUMN: ..." about `width` bytes at `at` of an entry's line. Returns `status`. */
kiln_status kiln__manifest_fail(const kiln__manifest_entry *entry, size_t at, size_t width,
                                kiln_status status, kiln_error *err, const char *fmt, ...)
    KILN_PRINTF(6, 7);

/* Where in an entry's line the byte `nth` of a word's text stands, which escapes may have moved. */
size_t kiln__manifest_place(const kiln__manifest_entry *entry, const kiln__manifest_word *word,
                            size_t nth);

/* Append the entry as one line without its newline; texts that its kind requires and that are missing
 * are empty ones. False for a text that is no UTF-8, which JSON
 * cannot hold; nothing is appended then. `file`, `line` and positions do not count. */
bool kiln__manifest_write(const kiln__manifest_entry *entry, kiln__buf *out);

/* ---- recording (recorder.c) ---- */

/* Appends lines to a file, each line once. NULL stays NULL everywhere. */
typedef struct kiln__recorder kiln__recorder;

/* Nothing is opened before the first line. NULL without memory. */
kiln__recorder *kiln__recorder_create(const char *path, const kiln__log *log);
void kiln__recorder_destroy(kiln__recorder *recorder);

/* Add a line (without newline) unless the file has it. Trouble is told to the log once and changes
 * nothing else. Waits for other processes at the same file a quarter of a second at most. */
void kiln__recorder_add(kiln__recorder *recorder, const char *line, size_t bytes);

/* Write an entry and add its line; `what` and the entry's name ("kernel", "softmax") stand in the warning that
 * a text of it cannot be recorded. */
void kiln__recorder_add_entry(kiln__recorder *recorder, const char *what,
                              const kiln__manifest_entry *entry);

/* Tell the log, once for each recorder, that something cannot be recorded. */
void kiln__recorder_complain(kiln__recorder *recorder, const char *fmt, ...) KILN_PRINTF(2, 3);

#endif
