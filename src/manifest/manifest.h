/*
 * manifest.h - the header through which other folders use src/manifest: which kernels a program
 * needs, as JSON Lines.
 *
 *     program > [record] > manifest > [read] > src/warm > cache
 *
 * read.c      lines to entries, with the file, line and column of whatever is wrong
 * json.c      strict JSON: one line, one object
 * write.c     an entry to a line
 * recorder.c  $KILN_RECORD: lines appended by many threads and processes, each line once
 *
 * docs/manifest.md describes the fields. Uses core only: signatures, layouts and dtypes of
 * parameters are checked by src/warm.
 */
#ifndef KILN_MANIFEST_MANIFEST_H
#define KILN_MANIFEST_MANIFEST_H

#include "core/core.h"

/*
 * A kind of lines: one for each family of kernels, and those of expressions, modules and templates.
 * `fields` names the fields that a line may have, separated by blanks; "op!" is required,
 * "reverse=2" is a flag of calls with that bit. Lines with a definition have further fields, which
 * read.c knows.
 */
typedef struct kiln__manifest_kind {
    const char *name; /* the line's "kind" */
    const char *noun; /* its name in messages */
    const char *fields;
} kiln__manifest_kind;

/* X(ID, "field") for the fields whose value is a string. */
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

/* A string, and the byte of its line, after the quote, at which it begins. */
typedef struct kiln__manifest_word {
    const char *text;
    size_t at;
} kiln__manifest_word;

/* One input of an expression: "x": "float32". */
typedef struct kiln__manifest_input {
    kiln__manifest_word name;
    kiln_dtype dtype;
} kiln__manifest_input;

/* {"T": "float32", "U": "int8"}: the dtype of each letter, else KILN_DTYPE_NONE. In lines of
 * expressions, {"x": "float32", "mask": "bool"}: the inputs in their order. */
typedef struct kiln__manifest_types {
    uint8_t dtype[128];
    kiln__manifest_input *inputs;
    size_t input_count;
    size_t at;
} kiln__manifest_types;

/* The shape of one input, or of all inputs (`param` NULL). */
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

/* The axes of a reduction or the axis of a scan; `all` stands for null. */
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

/* One line. The text of a missing field is NULL; missing lists are empty. Only expressions have a
 * `text`, only modules a `source`, only whole kernels of kiln's own a `template`. */
typedef struct kiln__manifest_entry {
    const kiln__manifest_kind *kind;
    kiln__manifest_word text[KILN__MANIFEST_TEXT_COUNT];
    bool keep_axes;
    bool wide; /* expressions: 16-bit floats stay float32 */
    unsigned flags; /* of the calls that `shapes` describes */
    kiln__manifest_stage *stages; /* row programs */
    size_t stage_count;
    kiln__manifest_value *values;
    size_t value_count;
    const char **options;
    size_t option_count;
    const char **names; /* modules: the C++ names of kernels and variables that are asked for */
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
    const char *source; /* the line itself */
    size_t source_bytes;
} kiln__manifest_entry;

typedef struct kiln__manifest kiln__manifest;

/* The kinds of modules, and of whole kernels of kiln's own. */
extern const kiln__manifest_kind kiln__manifest_module, kiln__manifest_template;

/* Make an empty manifest for lines of these kinds (copied), and of expressions, modules and
 * templates. NULL without memory. */
kiln__manifest *kiln__manifest_create(const kiln__manifest_kind *kinds, size_t count);
void kiln__manifest_destroy(kiln__manifest *manifest); /* accepts NULL */

/*
 * Add the lines of `text` (copied) to the manifest. Empty lines are counted and skipped. `bad` (may
 * be NULL) is called for every bad line, with "FILE:LINE:COLUMN: ..." and a caret in the detail;
 * good lines are kept. Returns the first failure: ERR_FORMAT, ERR_NO_MEMORY.
 */
kiln_status kiln__manifest_read(kiln__manifest *manifest, const char *file, const char *text,
                                size_t bytes, void (*bad)(void *user, const kiln_error *err),
                                void *user, kiln_error *err);

size_t kiln__manifest_count(const kiln__manifest *manifest);
/* The nth entry, which the manifest owns. */
const kiln__manifest_entry *kiln__manifest_at(const kiln__manifest *manifest, size_t nth);

/* Fail with "FILE:LINE:COLUMN: ..." about `width` bytes at `at` of an entry's line. Returns
 * `status`. */
kiln_status kiln__manifest_fail(const kiln__manifest_entry *entry, size_t at, size_t width,
                                kiln_status status, kiln_error *err, const char *fmt, ...)
    KILN_PRINTF(6, 7);

/* The byte of an entry's line at which byte `nth` of a word's text is; escapes may have moved it. */
size_t kiln__manifest_place(const kiln__manifest_entry *entry, const kiln__manifest_word *word,
                            size_t nth);

/* Append the entry as one line without its newline. Missing texts that its kind requires are
 * written as "". Returns false, and appends nothing, if a text is not UTF-8, which JSON cannot
 * hold. `file`, `line` and positions are not read. */
bool kiln__manifest_write(const kiln__manifest_entry *entry, kiln__buf *out);

/* ---- recording (recorder.c) ---- */

/* A recorder appends lines to a file, each line once. All functions accept NULL and then do
 * nothing. */
typedef struct kiln__recorder kiln__recorder;

/* The file is opened when the first line is added. NULL without memory. */
kiln__recorder *kiln__recorder_create(const char *path, const kiln__log *log);
void kiln__recorder_destroy(kiln__recorder *recorder);

/* Add a line (without newline) unless the file has it. Waits at most a quarter of a second for
 * other processes that write to the file. The log gets the first failure; there are no other
 * consequences. */
void kiln__recorder_add(kiln__recorder *recorder, const char *line, size_t bytes);

/* Write an entry and add its line. If a text of it cannot be recorded, the warning names `what`
 * ("kernel") and the entry. */
void kiln__recorder_add_entry(kiln__recorder *recorder, const char *what,
                              const kiln__manifest_entry *entry);

/* Log, once for each recorder, that something cannot be recorded. */
void kiln__recorder_complain(kiln__recorder *recorder, const char *fmt, ...) KILN_PRINTF(2, 3);

#endif
