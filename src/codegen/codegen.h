/*
 * codegen.h - the one door of src/codegen: from strings to kernel source, pure text in, text out.
 *
 *     definition (parse, scan) > bind types > plan > emit
 *
 * Rule 1: equal requests give byte-equal source; its hash is the cache key.
 * Rule 2: no header of CUDA, of a device or of an array is known here; everything is tested on a
 *         machine without a GPU.
 * Rule 3: what the emitter may look at is kiln__variant; what differs from call to call (sizes,
 *         strides, addresses) reaches a kernel through its argument block only.
 *
 * Threads: all objects are immutable once made; functions may be called from any thread.
 */
#ifndef KILN_CODEGEN_CODEGEN_H
#define KILN_CODEGEN_CODEGEN_H

#include "codegen/variants.h"
#include "core/core.h"
#include "kiln/context.h"
#include "kiln/row.h"

/* What kind of kernel a definition is of: a row of functions and constants, at the end of this header. */
typedef struct kiln__family kiln__family;

/* X(family): all of them. Each has a kiln__FAMILY_variant, a kiln__family_FAMILY, and in src/kernel a
 * kiln__FAMILY_calls. */
#define KILN__FAMILIES(X) X(loop) X(reduction) X(scan) X(row) X(filter)
#define KILN__FAMILY_EXTERN(family) extern const kiln__family kiln__family_##family;
KILN__FAMILIES(KILN__FAMILY_EXTERN)
#undef KILN__FAMILY_EXTERN

/* ---- definitions (signature.c, uses.c, definition.c) -------------------------------------- */

/* The texts a user gives, in the order they are emitted. */
typedef enum kiln__snippet_kind {
    KILN__SNIPPET_PREAMBLE,
    KILN__SNIPPET_LOOP_PREP,
    KILN__SNIPPET_OP,
    KILN__SNIPPET_AFTER_LOOP,
    KILN__SNIPPET_MAP, /* reductions: expressions map, reduce and identity, statements post */
    KILN__SNIPPET_REDUCE,
    KILN__SNIPPET_POST,
    KILN__SNIPPET_IDENTITY,    /* "" = none */
    KILN__SNIPPET_REDUCE_TYPE, /* type of the accumulator; "" = decided by dtypes */
    KILN__SNIPPET_WHERE,        /* filters: an expression, whether an element is kept */
    KILN__SNIPPET_OTHERWISE,    /* filters: statements for elements that are not kept; "" = none */
    KILN__SNIPPET_SOURCE, /* modules: the whole source, and nothing else */
    KILN__SNIPPET_STAGE, /* row programs: the texts of stage 0 in the order of kiln__stage_text, */
    KILN__SNIPPET_COUNT = KILN__SNIPPET_STAGE + KILN_ROW_STAGES_MAX * 6 /* ... of stage 1, ... */
} kiln__snippet_kind;

/* Row programs: most reductions one makes, and the texts of each. */
#define KILN__STAGE_MAX KILN_ROW_STAGES_MAX
#define KILN__VALUE_MAX KILN_ROW_VALUES_MAX
typedef enum kiln__stage_text {
    KILN__STAGE_PREP,
    KILN__STAGE_MAP,
    KILN__STAGE_TYPE,
    KILN__STAGE_REDUCE,
    KILN__STAGE_IDENTITY,
    KILN__STAGE_POST,
    KILN__STAGE_TEXTS
} kiln__stage_text;

static inline kiln__snippet_kind kiln__stage_snippet(size_t stage, kiln__stage_text text)
{
    return (kiln__snippet_kind)(KILN__SNIPPET_STAGE + stage * KILN__STAGE_TEXTS + (size_t)text);
}

/* Reductions: numbers that snippets see, each a sum over axes of coordinate times stride. */
typedef enum kiln__numbering {
    KILN__NUMBER_POSITION, /* `_J`: of the element along the reduced axes */
    KILN__NUMBER_IN,       /* of the element in the inputs' broadcast shape: what _in_ind.get() needs */
    KILN__NUMBER_OUT,      /* `_i`: of the result in the outputs' shape */
    KILN__NUMBER_COUNT
} kiln__numbering;

/* "preamble", "loop_prep", "op", "after_loop", "map", ...: also the file name in `#line 1 "op"`. */
const char *kiln__snippet_name(kiln__snippet_kind kind);

/* "take wrap float32 table by row column": how many axes may be indexed, and what becomes of an index that is
 * out of range. */
enum { KILN__TAKE_MAX = 8 };
typedef enum kiln__take_mode { KILN__TAKE_CHECK, KILN__TAKE_WRAP, KILN__TAKE_CLIP } kiln__take_mode;
/* One declared parameter, and what the snippets do with it. */
typedef struct kiln__param {
    char *name;
    bool output;
    bool raw;
    bool is_const;     /* declared const; inputs are read-only anyway unless raw */
    bool writable;     /* declared _non_const, CuPy's word: an input that snippets may write */
    char placeholder;  /* 'T', ...; 0 when `dtype` was declared */
    kiln_dtype dtype;  /* KILN_DTYPE_NONE for a placeholder */
    bool is_struct;    /* modules: passed whole, whatever it holds; `dtype` is that of its bytes */
    bool by_address;   /* a snippet takes its address (&x): it must be bound to memory itself */
    bool read_first;   /* an output that some path may read, or leave, before assigning it */
    bool by_number;    /* an input whose use wants a number: loop_prep, which has no element, reads it;
                          it is KILN__INITIAL; or it is raw and calculated with as a whole */
    bool number_only;  /* an input that is not raw and that the identity reads, which has no element */
    bool array_only;   /* a raw input that snippets index, ask for its shape, or write */
    bool row;          /* row programs: an output of one element a row */
    bool late;         /* reductions: an input that only `post` mentions: an element for each result */
    bool kept_only;    /* filters: an input that only op mentions, where none is mentioned by `where` as well */
    bool rest;         /* filters: an output of the elements that are not kept, or their number */
    uint8_t taken;     /* of a raw input that snippets see as the element that `by` names: how many axes */
    uint8_t by[KILN__TAKE_MAX]; /* the input that is the index along each */
    uint8_t take_mode; /* what happens to an index that is out of range */
    uint32_t column;   /* of the declaration in its signature text, 0-based bytes, for carets */
    uint32_t width;
} kiln__param;

/* ---- row programs: what a request gives ---- */

/*
 * One reduction over each row (kiln_row_stage). All texts see the parameters (inputs by value), `n`
 * (elements of a row), the results of earlier stages and what their `post` declares. Those run per
 * element (prep, map, and the definition's op) see the values as well.
 *
 *     softmax: values {"float", "e"}
 *         stage 0  map "x"                type "float" reduce "fmaxf(a, b)" identity "-INFINITY"
 *                  result "m"
 *         stage 1  prep "e = expf(x - m);" map "e" type "float" reduce "a + b" identity "0"
 *                  result "s"  post "const float scale = 1 / s;"
 *         op       "y = e * scale"
 *
 * A kernel may run a prep again instead of keeping what it assigned: it must depend on nothing but
 * what it sees. What prep declares is seen by the map of the same stage only.
 */
/* What a definition keeps of a row program beside the texts, which are among its snippets. Bit p of
 * param_uses[s] tells that prep or map of stage s mention parameter p; s = stage_count is op. The
 * same for values. */
typedef struct kiln__row_program {
    size_t stage_count, value_count;
    char *result[KILN__STAGE_MAX];
    char *value_type[KILN__VALUE_MAX], *value_name[KILN__VALUE_MAX];
    uint64_t param_uses[KILN__STAGE_MAX + 1];
    uint32_t value_uses[KILN__STAGE_MAX + 1];
    uint32_t heavy; /* bit s: what stage s maps is worth a loop of its own on a cpu */
} kiln__row_program;

/* Identifiers, sorted, each once. */
typedef struct kiln__words {
    char **items; /* `count` of them, then NULL; one block with the texts */
    size_t count;
} kiln__words;

/* Reductions: how elements are added to an accumulator (reduce_batch.c). */
typedef enum kiln__batch {
    KILN__BATCH_NONE,    /* one by one */
    KILN__BATCH_SUM,     /* several small integers as one int */
    KILN__BATCH_MOMENTS, /* several values as one set of moments */
    KILN__BATCH_COUNTED, /* the same of accumulators: values that may be left out, complex ones */
    KILN__BATCH_LEAST,   /* the best of several, as one position */
    KILN__BATCH_GREATEST,
    KILN__BATCH_LOGSUM   /* several values as one sum of exponentials */
} kiln__batch;

/* Which batches a reduction allows. A request that was written by the library states it; for texts of
 * a user's or a manifest's it is found in them (reduce_batch.c). */
typedef struct kiln__batching {
    kiln__batch batch;
    bool mapped;  /* elements are computed from what was loaded */
    bool element; /* sums: elements are those of the first input, whose dtype must be a small one */
    bool stated;  /* requests: the texts need not be searched */
} kiln__batching;

/* A checked definition. */
typedef struct kiln__definition {
    atomic_uint references;
    char *name;             /* kernel name, an identifier */
    char *signature[2];     /* the input and output texts as given, for messages */
    char *snippet[KILN__SNIPPET_COUNT]; /* "" where none was given */
    char **options;
    size_t option_count;
    kiln__param *params;    /* inputs, then outputs */
    size_t param_count, input_count;
    bool keep_axes;
    const kiln__family *family;
    int64_t part_bytes[KILN__STAGE_MAX]; /* as in the request */
    /* Reductions: which numbers of an element and of a result are used, see kiln__numbering; and the
     * objects `_in_ind` and `_out_ind`, be it for their sizes only. */
    bool uses_number[KILN__NUMBER_COUNT];
    bool uses_in_indexer, uses_out_indexer;
    bool uses_in_number;    /* `_j` */
    bool uses_out_number;   /* `_i` */
    kiln__batching batching; /* reductions */
    bool takes;             /* an input is `taken` */
    bool reports;           /* and tells of indices that are out of range */
    bool by_place;          /* filters: the results depend on no input's element, but on its place */
    bool masked;            /* reductions: KILN__WHERE is among the inputs */
    bool has_initial;       /* reductions: KILN__INITIAL is */
    char *own;              /* ", s1, s2": variables of loop_prep that every element has a copy of */
    bool uses_index;        /* `i` is used (and is no parameter) */
    bool uses_size;         /* `n` is used (and is no parameter) */
    bool uses_indexer;      /* `_ind` is used */
    bool cuda_only;         /* thread indices, shared memory, shuffles, ... */
    char cuda_only_word[48];
    bool heavy, shares;     /* snippets use a word of which kiln__is_heavy_word(), _shared_, says so */
    bool doubts; /* so it does of kiln__is_doubtful_word(): see KILN_ATTEMPT in the prelude */
    bool heavy_map;         /* reductions: so does `map`, which is computed for each element */
    bool large;             /* op comes to much code: a kernel holds it once (extent.c) */
    bool compares;          /* some snippet or header orders two values: <, <=, > or >= */
    bool includes;          /* some snippet holds an #include */
    kiln__words words;        /* in the snippets */
    kiln__words header_words; /* in the headers of the user's that a snippet includes */
    char *included;           /* "<limits><cmath>": what those headers include; NULL: nothing */
    kiln__words declared;     /* declared by the preamble or such a header (words.c) */
    kiln__row_program *rows; /* row programs; NULL for all others */
    bool module;  /* a module's source, or (without one) the signature of one of its kernels */
    bool module_prelude; /* it includes a header of CuPy's, in whose place the prelude stands */
    char *template_file; /* the file of kiln's templates that the source is; NULL: a user's module */
    char **names; /* modules: the kernels and variables that are wanted by a C++ name */
    size_t name_count;
} kiln__definition;

typedef struct kiln__definition_request {
    const char *name; /* NULL: the family's kernel_name */
    const char *in, *out;
    const char *snippet[KILN__SNIPPET_COUNT]; /* NULL = none */
    const char *const *options;
    size_t option_count;
    bool keep_axes;
    bool numpy_types; /* `float` and `int` are NumPy's; a definition's texts say so themselves */
    const kiln__family *family; /* NULL: &kiln__family_loop */
    /* Bytes of the accumulator, of each stage of a row program, at most: for types that are no dtype's.
     * 0: not told. Plans depend on it, sources do not. */
    int64_t part_bytes[KILN__STAGE_MAX];
    kiln__batching batching; /* reductions */
    /* Row programs: `out` are outputs per element, assigned by op, which runs after the last stage;
     * `row_out` (NULL: none) outputs per row, assigned by post, which runs once a row. Either may be
     * empty, not both. */
    const char *row_out;
    const kiln_row_stage *stages;
    size_t stage_count;
    const kiln_row_value *values;
    size_t value_count;
    bool module; /* see module_text.c, which checks the names */
    const char *const *names;
    size_t name_count;
} kiln__definition_request;

/* ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE, ERR_ARGUMENT (too many), ERR_NO_MEMORY; the
 * error's detail shows the text with a caret. Everything is copied. */
kiln_status kiln__definition_create(const kiln__definition_request *request,
                                    kiln__definition **out, kiln_error *err);
/* One more owner of a definition, which _destroy takes away again. */
kiln__definition *kiln__definition_retain(kiln__definition *def);
void kiln__definition_destroy(kiln__definition *def); /* accepts NULL */

/* Inputs of a reduction that a call adds to the user's: a mask of the elements that count, and a
 * scalar that is combined with the result. */
#define KILN__WHERE "kiln__where"
#define KILN__INITIAL "kiln__initial"

/* "argument 2 (`x`)", as users count; "`where`" for what a call adds. */
void kiln__param_text(const kiln__definition *def, size_t param, char *out, size_t out_bytes);

/* Whether `word` is reserved by C++ (up to C++20) or by its alternative tokens (`and`, ...). */
bool kiln__is_cpp_keyword(const char *word);

/* Whether `word` is among the snippets' identifiers (binary search). */
bool kiln__definition_uses(const kiln__definition *def, const char *word);

/* Whether the snippets or their headers leave `word` to the prelude: they use and do not declare it. */
bool kiln__definition_wants(const kiln__definition *def, const char *word);

/* The macros of the compiler options (-DN=3, -UN) as lines of text; heap, NULL without memory. They
 * stand before the preamble, and not on the compiler's command line, where N would mean itself in the
 * prelude, too. */
char *kiln__definition_macros(const kiln__definition *def);
/* The options that the compiler is given: all others, at most `option_count`. */
size_t kiln__definition_plain_options(const kiln__definition *def, const char **out);

/* Whether the preamble, the options or a header declare it. */
bool kiln__definition_declares(const kiln__definition *def, const char *word);

/* Whether it names a function that keeps a kernel busy with arithmetic rather than with memory, and
 * which a cpu's compiler vectorises only in a loop of its own: exp, powf, ... */
bool kiln__is_heavy_word(const char *word);

/* ---- types (types.c) ----------------------------------------------------------------------- */

/* What is known of one argument before types are bound. */
typedef enum kiln__given_kind {
    KILN__GIVEN_NOTHING, /* an output still to be allocated */
    KILN__GIVEN_ARRAY,   /* dtype is set */
    KILN__GIVEN_BOOL,    /* scalars: the value is set */
    KILN__GIVEN_INT,
    KILN__GIVEN_UINT,
    KILN__GIVEN_FLOAT,
    KILN__GIVEN_COMPLEX
} kiln__given_kind;

typedef struct kiln__given {
    kiln__given_kind kind;
    kiln_dtype dtype; /* of an array */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        double c[2];
    } value; /* of a scalar */
} kiln__given;

/*
 * Decide the dtype of every parameter: given outputs, then input arrays, then scalars bind a
 * placeholder; arrays must agree exactly. Scalars only check that they can be converted.
 * ERR_DTYPE (names the argument, what it has, what is required, and which argument bound it),
 * ERR_UNBOUND, ERR_ARGUMENT (a scalar given for an output).
 */
kiln_status kiln__bind_types(const kiln__definition *def, const kiln__given *given,
                             kiln_dtype *dtypes_out, kiln_error *err);

/* Convert a scalar to `dtype`, exactly or with floating-point rounding. ERR_RANGE when an integer
 * does not fit, a float or complex is given for an integer or bool, a complex for a float, or a
 * finite float64 overflows a smaller float. `def` and `param` are for the message. */
kiln_status kiln__convert_scalar(const kiln__definition *def, size_t param,
                                 const kiln__given *given, kiln_dtype dtype,
                                 kiln__scalar *out, kiln_error *err);

/* ---- plan (plan.c) --------------------------------------------------------------------------- */

/* How a kernel walks memory. See docs/codegen.md for pictures. */
typedef enum kiln__layout {
    KILN__LAYOUT_LINEAR,    /* every operand contiguous, or one element for all */
    KILN__LAYOUT_INNER,     /* innermost axis contiguous or broadcast everywhere: vectors on it */
    KILN__LAYOUT_TRANSPOSE, /* operands disagree on the fastest axis: tiles through shared memory */
    KILN__LAYOUT_GENERAL,   /* anything else: one element at a time, magic-number division */
    KILN__LAYOUT_ROWS,      /* reductions: neighbouring threads take neighbours along a reduced axis */
    KILN__LAYOUT_COLUMNS,   /* reductions: neighbouring threads take neighbours along a kept axis */
    KILN__LAYOUT_HELD,      /* row programs: a row stays on chip */
    KILN__LAYOUT_REREAD,    /* row programs: every stage reads the row again */
    KILN__LAYOUT_WINDOW,    /* several inputs are views of one array, shifted: tiles read it once */
    KILN__LAYOUT_TILE,      /* reductions: inputs are broadcast along kept axes: tiles of results */
    KILN__LAYOUT_COUNT
} kiln__layout;

/* The most planes, rows and elements that views of one window may lie apart. */
enum { KILN__WINDOW_BEHIND_MAX = 4, KILN__WINDOW_DOWN_MAX = 8, KILN__WINDOW_ALONG_MAX = 31 };

const char *kiln__layout_name(kiln__layout layout); /* "linear", "inner", ... */

/* How one operand is reached in a variant. */
typedef enum kiln__access {
    KILN__ACCESS_SCALAR,  /* passed by value in the argument block */
    KILN__ACCESS_RAW,     /* a kiln__raw object in the argument block */
    KILN__ACCESS_ONE,     /* one array element for every index: loaded once a thread */
    KILN__ACCESS_VECTOR,  /* `vec` neighbours in one access (1 when vec is 1) */
    KILN__ACCESS_SPLAT,   /* one element for the whole inner axis (stride 0 there) */
    KILN__ACCESS_STRIDED, /* element by element with a stride on the inner axis */
    KILN__ACCESS_TILE,    /* through a tile in shared memory: transposes, short rows of reductions */
    KILN__ACCESS_COLUMN,  /* row programs: the same for every row, so loaded where it is used */
    KILN__ACCESS_ONCE,    /* reductions on cuda: vectors of 16 bytes, each of them read once */
    KILN__ACCESS_WINDOW,  /* out of a window that other inputs may share (window.c) */
    KILN__ACCESS_STAGED,  /* through the panels of a tile of results (reduce_tile.c) */
    KILN__ACCESS_BACK     /* scans on cuda: vectors whose first element is the last one in memory */
} kiln__access;

/* Everything of a plan that shapes the source: what all families have, and a member of the family's
 * own. It is compared and hashed whole, so clear all of it before it is filled. */
typedef struct kiln__variant {
    const kiln__family *family; /* says which member of the union counts */
    uint8_t backend;            /* kiln_backend */
    uint8_t layout;             /* kiln__layout */
    uint8_t rank;               /* axes left after sorting and collapsing; 1 for linear */
    uint8_t keep_rank;          /* how many of them, the first ones, are kept; 0 in loops */
    uint8_t index_bits;         /* 32 or 64: of element counts and byte offsets */
    uint8_t vec;                /* elements a thread takes from one access of the inner axis */
    uint8_t unroll;             /* such accesses a thread has in flight */
    uint8_t param_count;
    uint8_t indexer_rank;             /* rank of `_ind`, or `_in_ind`, when it is used */
    uint8_t out_indexer_rank;         /* rank of `_out_ind` when it is used */
    uint16_t block;                   /* threads a block (cuda) */
    uint8_t dtype[KILN_PARAM_MAX];    /* kiln_dtype */
    uint8_t access[KILN_PARAM_MAX];   /* kiln__access */
    uint8_t raw_rank[KILN_PARAM_MAX]; /* of raw arrays */
    uint8_t raw_contiguous[KILN_PARAM_MAX];
    union {
#define KILN__VARIANT_MEMBER(family) kiln__##family##_variant family;
        KILN__FAMILIES(KILN__VARIANT_MEMBER)
#undef KILN__VARIANT_MEMBER
    };
} kiln__variant;

/* A number of a variant, and the word for it in manifests and templates. */
typedef struct kiln__variant_field {
    const char *name;
    uint16_t at, bytes; /* of kiln__variant */
    int low, high;
    bool power; /* 0 or a power of two */
} kiln__variant_field;

#define KILN__FIELD(name, member, low, high, power)                                                \
    {                                                                                              \
        name, offsetof(kiln__variant, member), sizeof(((kiln__variant *)NULL)->member), low, high, \
            power                                                                                  \
    }

/* The number of that name; -1 when variants of this family have none. */
int kiln__variant_number(const kiln__variant *v, const char *name, size_t bytes);

/* A variant without its dtypes as one line, "cuda/1 linear rank=1 ...", and back (variant_text.c;
 * docs/manifest.md). Parsing gives ERR_FORMAT, and which bytes of `text` are to blame, for text
 * that is none or cannot be a variant of `def`. */
void kiln__variant_print(const kiln__variant *v, kiln__buf *out);
kiln_status kiln__variant_parse(const char *text, const kiln__definition *def,
                                const kiln_dtype *dtypes, kiln__variant *out, size_t *at_out,
                                size_t *width_out, kiln_error *err);

/* What the planner needs to know of one argument. */
typedef struct kiln__operand {
    bool is_array;
    bool raw;
    bool written;
    bool by_address;
    bool contiguous; /* raw arrays only: C-order without gaps */
    uint8_t itemsize;
    int rank;
    const int64_t *shape;   /* rank extents (broadcasting against the loop's shape) */
    const int64_t *strides; /* rank byte strides */
    uintptr_t address;
} kiln__operand;

/* Numbers of a reduction that its kernel needs whole. */
typedef enum kiln__word {
    KILN__WORD_OUTPUTS,  /* how many results */
    KILN__WORD_LENGTH,   /* accesses (rows) or elements (columns, cpu) each is reduced from */
    KILN__WORD_CHUNK,    /* of which one split takes this many; scans of columns with carriers: tiles
                            across that one carrier serves; rows that are copied: those of a block */
    KILN__WORD_SPLITS,
    KILN__WORD_COUNT_ALL, /* elements each result is reduced from */
    KILN__WORD_PARTS,    /* address of partial results: outputs * splits accumulators */
    KILN__WORD_TICKETS,  /* address of one zeroed int for each output (rows) or tile of columns */
    KILN__WORD_COUNT
} kiln__word;

/* What a plan took from an input's address besides its alignment (window.c). Inputs of one dtype and of
 * equal strides may be views of one array, shifted against each other, when their addresses differ by at most
 * `near` bytes: the later one then shares the window of the earlier one, its root. The plan also holds
 * for another distance when neither of the two distances is a whole number of elements, since
 * such inputs share no window. */
typedef struct kiln__shift {
    uint8_t root; /* the input whose window it shares; its own number where it has none */
    uint8_t like; /* the first input of the same dtype and strides */
    uint8_t itemsize;
    int64_t near;  /* 0: the address of this input decides nothing */
    int64_t apart; /* bytes from the root's address to its own */
    int64_t plane; /* bytes from one plane to the next; 0: windows lie on two axes */
    int64_t row;   /* bytes from one row to the next */
} kiln__shift;

/* Whether a plan with these shifts also holds for arrays at these addresses, one for each parameter. */
bool kiln__shifts_hold(const kiln__shift *shift, const uintptr_t *address, size_t count);

/* One call, planned. Per-parameter rows hold only the first `variant.rank` axes of operands that
 * walk. `step` and `index_step` are what one step of the walk moves: on the last axis of vector
 * kernels, `vec` elements. */
typedef struct kiln__plan {
    kiln__variant variant;
    int64_t size;                      /* elements to run over; 0: launch nothing */
    int64_t shape[KILN_RANK_MAX];      /* axis 0 is the slowest */
    int64_t walk[KILN_RANK_MAX];       /* the same counted in accesses, tiles or work units */
    int64_t step[KILN_PARAM_MAX][KILN_RANK_MAX]; /* bytes */
    int64_t begin[KILN_PARAM_MAX]; /* reversed scans: bytes from the address to the first element */
    int64_t index_step[KILN_RANK_MAX];           /* of `i`, in elements */
    int64_t word[KILN__WORD_COUNT];    /* reductions */
    int64_t number_step[KILN__NUMBER_COUNT][KILN_RANK_MAX]; /* reductions, in elements */
    int64_t part_count, ticket_count;  /* reductions: what word PARTS and TICKETS must hold */
    bool leaves_marks;                 /* the kernel does not zero its tickets again */
    int64_t indexer_size;
    int64_t indexer_shape[KILN_RANK_MAX];
    int64_t out_indexer_size;
    int64_t out_indexer_shape[KILN_RANK_MAX];
    int64_t grid;                      /* blocks (cuda) or work units (cpu) */
    uint32_t shared_bytes;             /* cuda: of a block, beside what the kernel has by itself */
    uint32_t units_together;           /* cpu: units that should stay on one thread */
    bool has_shifts;                   /* the plan holds only for addresses that `shifts` allow */
    kiln__shift shifts[KILN_PARAM_MAX];
} kiln__plan;

/* A flag of calls of loops, beside those of the public options: other calls of the kernel follow, which may
 * share its launch. */
#define KILN__CALL_LISTED 0x80000000u

/* The arguments of a launch that several calls share: the block of any of them, for what they have in common
 * (its numbers), then the size and the pointers of each call, then the first block of each. Calls that are
 * missing begin at KILN__LISTS_NONE. */
#define KILN__LISTS_NONE 0xffffffffu
static inline size_t kiln__lists_item_bytes(size_t pointer_count)
{
    return 8 + 8 * pointer_count;
}
static inline size_t kiln__lists_bytes(size_t args_bytes, size_t pointer_count, size_t calls)
{
    return args_bytes + calls * (kiln__lists_item_bytes(pointer_count) + sizeof(uint32_t));
}

/* What planners ask of a device. */
typedef struct kiln__plan_device {
    kiln_backend backend;
    int units;     /* multiprocessors, or threads */
    bool clusters; /* it has thread block clusters, and 96 KiB of shared memory for a block */
    bool roomy;    /* it has 200 KiB of shared memory for a block */
} kiln__plan_device;

/* Flags of scans, with the values of kiln_scan_flag. */
enum { KILN__SCAN_EXCLUSIVE = 1, KILN__SCAN_REVERSE = 2 };

/* One call as planners see it. */
typedef struct kiln__plan_request {
    const kiln__definition *def;
    kiln__plan_device device;
    const kiln_dtype *dtypes;      /* of the parameters, as bound */
    const kiln__operand *operands; /* of the parameters; those that walk broadcast to the shape */
    int rank;
    const int64_t *shape; /* of the loop: what the inputs broadcast to */
    /* Whether an axis is reduced, scanned, or one that rows run along; loops have none. On these axes
     * an output of one element a result has extent 1. */
    const bool *along;
    bool keepdims;  /* reductions: `_out_ind` has the reduced axes, too */
    unsigned flags; /* of the family */
} kiln__plan_request;

/* Plan a call: the common part of a plan, then what the definition's family decides. Cannot fail.
 * (walk.c) */
void kiln__plan_make(const kiln__plan_request *request, kiln__plan *plan);

/* Bytes of an accumulator, from above: of a reduction or a scan (stage 0), or of a stage of a row
 * program; the family's part_bytes_max where nothing is known. (types.c) */
int64_t kiln__part_bytes(const kiln__definition *def, const kiln__variant *v, size_t stage);
/* Bytes of a dtype that the texts name, or of a placeholder's; 0 for other types. */
int64_t kiln__type_bytes_in(const kiln__definition *def, const kiln__variant *v, const char *type);

/* How elements can be added to accumulators where parameters are reached as `v` says. `ordered`:
 * places rise as elements are walked. */
kiln__batch kiln__reduce_batch(const kiln__definition *def, const kiln__variant *v, bool ordered);
/* The batches of a reduction that is given a mask (KILN__WHERE), a start value (KILN__INITIAL) or both
 * as further inputs. */
kiln__batching kiln__batching_with(const kiln__definition *def, bool masked);

/* That of a variant; none but reductions have one. */
static inline kiln__batch kiln__batch_of(const kiln__variant *v)
{
    const int batch = kiln__variant_number(v, "batch", 5);
    return batch > 0 ? (kiln__batch)batch : KILN__BATCH_NONE;
}

static inline bool kiln__batch_is_of_moments(kiln__batch batch)
{
    return batch == KILN__BATCH_MOMENTS || batch == KILN__BATCH_COUNTED;
}
/* Whether what several threads hold of a row can be one batch of theirs. */
static inline bool kiln__batch_is_of_rows(kiln__batch batch)
{
    return kiln__batch_is_of_moments(batch) || batch == KILN__BATCH_LEAST ||
           batch == KILN__BATCH_GREATEST;
}

/* How a stage of a row program takes several elements at a time: as one set of moments, as one sum of
 * exponentials, or not at all. */
kiln__batch kiln__batch_of_stage(const kiln__definition *def, const kiln__variant *v, size_t stage);
/* Whether a batch's elements are computed of what inputs hold, and looked at more than once. */
bool kiln__batch_is_kept(const kiln__definition *def, const kiln__variant *v);
/* Whether a batch is of bytes added as they are, of which a GPU takes four at a time. */
bool kiln__batch_of_bytes(const kiln__definition *def, const kiln__variant *v);

/* The axis order (slowest first) a new output should have so that it keeps its inputs' layout
 * (K-order). Only non-raw array operands count. */
void kiln__plan_k_order(const kiln__operand *operands, size_t count, int rank,
                        const int64_t *shape, int *order_out);

/* Whether rows of `length` elements, of `element_bytes` of per-element inputs each, are held on chip
 * and so read once, however many stages there are. Where they are not, each stage reads them
 * again, and a row occupies no more than one block (cuda) or thread (cpu): separate kernels are
 * better where rows are few. */
bool kiln__row_is_held(kiln_backend backend, bool clusters, int64_t length, int64_t element_bytes);

/* How the least and the greatest of 16-bit floats are combined. */
#define KILN__HALF_LEAST "kiln_half_least(a, b)"
#define KILN__HALF_GREATEST "kiln_half_greatest(a, b)"

/* ---- named reductions (reduce_table.c) -------------------------------------------------------- */

/* How a named reduction is computed for some kinds of dtype. */
typedef struct kiln__reduce_row kiln__reduce_row;

/* `op` is a kiln_reduce_op. NULL when it does not take the dtype. */
const kiln__reduce_row *kiln__reduce_row_find(int op, kiln_dtype dtype);
kiln_dtype kiln__reduce_result(const kiln__reduce_row *row, kiln_dtype dtype);
/* Whether reducing no elements is refused. */
bool kiln__reduce_needs_elements(const kiln__reduce_row *row);
/* The same for calls with a mask: elements that it leaves out must not be counted. */
const kiln__reduce_row *kiln__reduce_row_for(int op, kiln_dtype dtype, bool masked);
/* The form of a reduction that reads its result from the accumulator of another one: a mean from a
 * variance's. NULL when it has none. Worth it only beside that one. */
const kiln__reduce_row *kiln__reduce_row_beside(int op, kiln_dtype dtype);
/* Bytes of the accumulator, from above; `op` is that which the row was found by. */
int64_t kiln__reduce_part_bytes(const kiln__reduce_row *row, int op, kiln_dtype dtype);
/* Which batches its definition allows whose elements are those of an input. */
kiln__batching kiln__reduce_batching(const kiln__reduce_row *row);
bool kiln__reduce_is_position(const kiln__reduce_row *row); /* argmin, argmax and relatives */
bool kiln__reduce_takes_initial(const kiln__reduce_row *row); /* sums, products, minima, maxima */
/* Whether a result may be written to an output of dtype `out`: its kind is the same or more general
 * (bool, integers, floating point, complex); positions go to integers alone. */
bool kiln__reduce_fits(const kiln__reduce_row *row, kiln_dtype dtype, kiln_dtype out);
/* Append one of its texts: REDUCE_TYPE, MAP (of an element `x`; T is its dtype), REDUCE, POST
 * (assigns `y`) or IDENTITY. */
void kiln__reduce_text(const kiln__reduce_row *row, kiln_dtype dtype, kiln__snippet_kind kind,
                       kiln__buf *b);

/* Reductions of two arrays, beside kiln_reduce_op; and the named scans: this and a kiln_scan_op. */
enum {
    KILN__REDUCE_DOT = 1000,
    KILN__REDUCE_VECDOT,
    KILN__REDUCE_SUMEXP,   /* sum(exp(x - max(x))) ... */
    KILN__REDUCE_SUMEXP_MAX, /* ... and max(x) from its accumulator */
    KILN__REDUCE_SCAN = 2000,
    KILN__REDUCE_TOP = 0x4000,   /* with kiln__reduce_top(): one of the k greatest elements ... */
    KILN__REDUCE_TOP_AT = 0x8000 /* ... and where it stands */
};
enum { KILN__TOP_MOST = 8 }; /* greatest elements that an accumulator holds */
static inline int kiln__reduce_top(int op, int k, int which)
{
    return op + 16 * k + which;
}

/* What a call may change of a row's texts. */
typedef struct kiln__reduce_form {
    bool masked;    /* not all elements count */
    bool ddof;      /* a variance is divided by that much less: `ddof`, an input */
    kiln_dtype out; /* of the output given; NONE: the result's own */
    int op;         /* that which the row was found by, where it says more than the row */
} kiln__reduce_form;
void kiln__reduce_text_of(const kiln__reduce_row *row, kiln_dtype dtype,
                          const kiln__reduce_form *form, kiln__snippet_kind kind, kiln__buf *b);

/* ---- emit (emit.c, template.c, templates/) -------------------------------------------------- */

/* One 8-byte-aligned place in a kernel's argument block. */
typedef enum kiln__slot_kind {
    KILN__SLOT_SIZE,        /* elements, 8 bytes */
    KILN__SLOT_POINTER,     /* of parameter `param`, 8 bytes */
    KILN__SLOT_SCALAR,      /* of parameter `param`, 8 or 16 bytes */
    KILN__SLOT_RAW,         /* pointer, size, shape..., strides... of `param`: 8 bytes each */
    KILN__SLOT_EXTENT,      /* shape[axis], 8 bytes */
    KILN__SLOT_DIVISOR,     /* for division by walk[axis] (cuda): 16 or 32 bytes */
    KILN__SLOT_WALK,        /* walk[axis] (cpu), 8 bytes */
    KILN__SLOT_STRIDE,      /* step[param][axis], 8 bytes */
    KILN__SLOT_BEGIN,       /* begin[param], 8 bytes */
    KILN__SLOT_INDEX_STRIDE,/* index_step[axis], 8 bytes */
    KILN__SLOT_NUMBER_STRIDE,/* number_step[param][axis], 8 bytes */
    KILN__SLOT_WORD,        /* word[axis], 8 bytes */
    KILN__SLOT_SPLITS,      /* divisor for word[KILN__WORD_SPLITS] (cuda), 16 or 32 bytes */
    KILN__SLOT_INDEXER,     /* size, shape[indexer_rank] of `_ind`, 8 bytes each */
    KILN__SLOT_OUT_INDEXER, /* the same of `_out_ind` */
    KILN__SLOT_REPORT       /* address of what indices out of range are told to, 8 bytes */
} kiln__slot_kind;

typedef struct kiln__slot {
    uint8_t kind;
    uint8_t param;
    uint8_t axis;
    uint16_t offset; /* bytes from the start of the block */
    uint16_t bytes;
} kiln__slot;

/* cpu: bytes of a row's values that are kept from stage to stage; longer rows compute them again. */
#define KILN__CPU_ROW_BYTES 65536
#define KILN__CPU_UNIT 4096    /* elements of a row that one work unit of the cpu device covers */
#define KILN__SCAN_CHUNK 16384 /* of a sequence between two carries of a scan there */

/* Most bytes one accumulator takes: of a scan or of a row program's stage, and of a reduction, which
 * may keep what several results need, as a stage may whose bytes are stated. */
#define KILN__PART_BYTES_MAX 64
#define KILN__PASS_BYTES_MAX 104

#define KILN__ARGS_MAX 4000 /* bytes of an argument block: what every CUDA driver accepts */

/* A generated kernel. */
typedef struct kiln__source {
    char *text; /* NUL-terminated */
    size_t bytes;
    char entry[96]; /* extern "C" name of the kernel; "": a module of the user's, which has many */
    size_t name_count; /* of the definition's names, those that the compiler is asked for */
    kiln__slot *slots;
    size_t slot_count;
    size_t args_bytes;
    uint32_t shared_bytes;
    uint8_t shared_percent; /* of what shares memory with the L1 cache; 0: as the driver finds good */
    uint8_t rooms;         /* roomier forms that the kernel has */
    kiln__variant variant; /* of a kernel that has some: what it was made of */
} kiln__source;
#define KILN__SOURCE_INIT {NULL, 0, {0}, 0, NULL, 0, 0, 0, 0, 0, {0}}
void kiln__source_clear(kiln__source *source);

/* Generate the kernel of one variant. ERR_NO_MEMORY; ERR_ARGUMENT when the argument block would
 * not fit; ERR_UNSUPPORTED for CUDA-only snippets on cpu. */
kiln_status kiln__emit(const kiln__definition *def, const kiln__variant *variant,
                       kiln__source *out, kiln_error *err);

/* The same kernel for the same launches, whose threads keep less, or have more registers, than was
 * planned: form 1 to tight->rooms, each roomier than the one before. */
kiln_status kiln__emit_roomier(const kiln__definition *def, const kiln__source *tight, int form,
                               kiln__source *out, kiln_error *err);

/* Fill a block for one call. `pointers[p]` is the address of array parameter p, `scalars[p]` the
 * converted value, raw operands come from `operands`. */
void kiln__args_fill(const kiln__source *source, const kiln__plan *plan,
                     const kiln__operand *operands, const kiln__scalar *scalars, void *block);

/* The constants that replace a division by `d` in a kernel; see templates/prelude (divide). Exact
 * for numerators below 2^31 and 2^63. d >= 1. (divide.c) */
void kiln__divisor32_make(uint32_t d, uint32_t words[4]);
void kiln__divisor64_make(uint64_t d, uint64_t words[4]);

/* ---- modules (module_text.c) ---- sources of the user's own, of any number of kernels */

/* Everything is copied. `names` are expressions that name a kernel ("axpy<float, 4>") or the address
 * of a variable ("&table"). ERR_ARGUMENT, ERR_NAME, ERR_NO_MEMORY. */
kiln_status kiln__module_definition(const char *name, const char *source,
                                    const char *const *options, size_t option_count,
                                    const char *const *names, size_t name_count,
                                    kiln__definition **out, kiln_error *err);
/* A template without values, conditions and lists: the source of a module of kiln's own. */
kiln_status kiln__module_template(const char *path, kiln__buf *out, kiln_error *err);
/* The source as the compiler gets it: for CUDA as it is, but for CuPy's headers; for the cpu with what
 * plain C++ lacks before it, and an object for each kernel and variable. ERR_UNSUPPORTED for what
 * only CUDA can do. */
kiln_status kiln__module_emit(const kiln__definition *def, kiln_backend backend, kiln__source *out,
                              kiln_error *err);
/* The parameters of one kernel from a signature text; all of them are inputs. */
kiln_status kiln__module_signature(const char *kernel, const char *text, kiln__definition **out,
                                   kiln_error *err);

/* ---- families ------------------------------------------------------------------------------- */

struct kiln__emitter;
struct kiln__scan;
struct kiln__slot_list;

/*
 * One kind of kernel, as far as text is concerned: loops, reductions, scans, row programs. Everything
 * outside of a family's own files asks this struct and never which family it is. src/kernel has the
 * other half, how a call is read and its shapes are decided (kiln__skin). docs/extending.md walks
 * through a new one.
 */
struct kiln__family {
    const char *name;        /* "row": also the "kind" of its lines in manifests */
    const char *noun;        /* "row program": what messages call such a kernel */
    const char *kernel_name; /* of a definition that is given none */
    /* What lines of a manifest have beside the fields of all definitions (docs/manifest.md): names with
     * a blank between, "op!" where the field is required, "reverse=2" for a flag of calls. */
    const char *line;

    /* The texts. `maps`: they are map, reduce, post, identity and reduce_type, and post assigns the
     * outputs; otherwise op does. `combines`: elements of an axis meet, so that calls name axes and
     * plans depend on the device's size. */
    bool maps, combines;
    bool clusters; /* plans differ between devices with and without thread block clusters */
    /* `shrinks`: a result has fewer elements than the inputs, so that an input that `post` alone mentions
     * has one element for each result. `in_place`: an element depends on the inputs' elements at its
     * own place alone, so that an output may be one of the inputs. */
    bool shrinks, in_place;
    bool lists; /* calls with KILN__CALL_LISTED may have variants with room for several */
    size_t part_bytes_max; /* of an accumulator */
    /* What a definition has beside its snippets; each may be NULL. In the order of use: the texts, the
     * parameters' part in them, what the snippets use, and the end. */
    kiln_status (*copy)(const kiln__definition_request *request, kiln__definition *def,
                        kiln_error *err);
    kiln_status (*check)(const kiln__definition_request *request, kiln__definition *def,
                         kiln_error *err);
    kiln_status (*scan)(kiln__definition *def, const struct kiln__scan *scan, kiln_error *err);
    void (*clear)(kiln__definition *def);

    /* Fill all of a plan that kiln__plan_make() has not. */
    void (*plan)(const kiln__plan_request *request, kiln__plan *plan);

    /* Its variants as text: the layouts they have (bits 1 << kiln__layout), all of their numbers in the
     * order of the line, and what else than their ranges is wrong with one that was read (returns NULL:
     * nothing; may be NULL). */
    unsigned layouts;
    unsigned accesses; /* bits 1 << kiln__access, of those that not all families have */
    const kiln__variant_field *fields;
    size_t field_count;
    const char *(*refuse)(const kiln__definition *def, const kiln__variant *v);

    /* The source: the file of templates/ it begins with, the members of its argument block between raw
     * arrays and strides, and what only its templates ask for (see emit.h). */
    const char *skeleton;
    void (*slots)(const struct kiln__emitter *e, struct kiln__slot_list *l);
};

/* ---- diagnose (diagnose.c) ------------------------------------------------------------------ */

/* Turn a compiler's log into the user's error: kernel name, which snippet, line, column, the line
 * with a caret. Takes over nothing; fills err->message, detail, log and source. */
kiln_status kiln__diagnose(const kiln__definition *def, const char *source, const char *log,
                           kiln_error *err);

#endif
