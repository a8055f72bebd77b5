/*
 * codegen.h - the header through which other folders use src/codegen: it turns signatures and
 * snippets into kernel source.
 *
 *     definition (parse, scan) > bind types > plan > emit
 *
 * Rule 1: equal requests give byte-equal source; its hash is the cache key.
 * Rule 2: this folder includes no header of CUDA, of devices or of arrays, so that all of it can be
 *         tested on a machine without a GPU.
 * Rule 3: of a call, the emitter sees the kiln__variant alone. What differs from call to call
 *         (sizes, strides, addresses) reaches a kernel through its argument block.
 *
 * Threads: objects do not change once they are made; every function may be called from any thread.
 */
#ifndef KILN_CODEGEN_CODEGEN_H
#define KILN_CODEGEN_CODEGEN_H

#include "codegen/variants.h"
#include "core/core.h"
#include "kiln/context.h"
#include "kiln/row.h"

/* The kind of kernel that a definition describes; the struct is at the end of this header. */
typedef struct kiln__family kiln__family;

/* X(family) for each family. Each has a struct kiln__FAMILY_variant, an object kiln__family_FAMILY,
 * and in src/kernel an object kiln__FAMILY_calls. */
#define KILN__FAMILIES(X) X(loop) X(reduction) X(scan) X(row) X(filter)
#define KILN__FAMILY_EXTERN(family) extern const kiln__family kiln__family_##family;
KILN__FAMILIES(KILN__FAMILY_EXTERN)
#undef KILN__FAMILY_EXTERN

/* A kernel notes indices out of range in so many variables at most (kiln_noted of templates/prelude/gather.h), which are
 * registers; where it has more indices, they are reported where they are met. */
enum { KILN__NOTED_MAX = 4 };

/* ---- definitions (signature.c, uses.c, definition.c) -------------------------------------- */

/* The texts that a user gives, in the order in which they are emitted. */
typedef enum kiln__snippet_kind {
    KILN__SNIPPET_PREAMBLE,
    KILN__SNIPPET_LOOP_PREP,
    KILN__SNIPPET_OP,
    KILN__SNIPPET_AFTER_LOOP,
    KILN__SNIPPET_MAP, /* reductions: map, reduce and identity are expressions, post is statements */
    KILN__SNIPPET_REDUCE,
    KILN__SNIPPET_POST,
    KILN__SNIPPET_IDENTITY,    /* "": there is none */
    KILN__SNIPPET_REDUCE_TYPE, /* the accumulator's type; "": it follows from the dtypes */
    KILN__SNIPPET_WHERE,       /* filters: an expression that is true for elements to keep */
    KILN__SNIPPET_OTHERWISE,   /* filters: statements for elements that are not kept; "": there are none */
    KILN__SNIPPET_LESS,        /* sorts by a rule, which has its place in op (src/sorting/rule.c) */
    KILN__SNIPPET_KEY,         /* the same */
    KILN__SNIPPET_SOURCE,      /* modules: the whole source; they have no other text */
    KILN__SNIPPET_STAGE, /* row programs: the texts of stage 0, in the order of kiln__stage_text, */
    KILN__SNIPPET_COUNT = KILN__SNIPPET_STAGE + KILN_ROW_STAGES_MAX * 6 /* then those of stage 1,
                                                                           ... */
} kiln__snippet_kind;

/* The most stages and values of a row program, and the texts of a stage. */
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

/* The linear indices that snippets of reductions see. Each is the sum over axes of coordinate times
 * stride. */
typedef enum kiln__numbering {
    KILN__NUMBER_POSITION, /* `_J`: the element's index along the reduced axes */
    KILN__NUMBER_IN,       /* the element's index in the inputs' broadcast shape, for _in_ind.get() */
    KILN__NUMBER_OUT,      /* `_i`: the result's index in the outputs' shape */
    KILN__NUMBER_COUNT
} kiln__numbering;

/* "preamble", "loop_prep", "op", "after_loop", "map", ...; `#line 1 "op"` names it as the file. */
const char *kiln__snippet_name(kiln__snippet_kind kind);

/* Parameters such as "take wrap float32 table by row column": the most axes that may be indexed,
 * and what is done with an index that is out of range: it is reported, wrapped around or clipped. */
enum { KILN__TAKE_MAX = 8 };
typedef enum kiln__take_mode { KILN__TAKE_CHECK, KILN__TAKE_WRAP, KILN__TAKE_CLIP } kiln__take_mode;

/* One declared parameter, and how the snippets use it. */
typedef struct kiln__param {
    char *name;
    bool output;
    bool raw;
    bool is_const;     /* it was declared const; inputs that are not raw are read-only anyway */
    bool writable;     /* it was declared _non_const (CuPy's word): an input that snippets may write */
    char placeholder;  /* 'T', ...; 0 when `dtype` was declared */
    kiln_dtype dtype;  /* KILN_DTYPE_NONE for a placeholder */
    bool is_struct;    /* modules: it is passed by value, whatever it holds; `dtype` is uint8 */
    bool by_address;   /* a snippet takes its address (&x), so it must refer to memory itself */
    bool read_first;   /* an output that some path may read, or leave unassigned */
    bool by_number;    /* an input that a number is the usual argument for: loop_prep or after_loop
                          mentions it; it is KILN__INITIAL; or it is raw and stands beside operators */
    bool number_only;  /* an input, not raw, that the identity mentions, where there is no element */
    bool array_only;   /* a raw input that snippets index, ask for its shape, or write */
    bool row;          /* row programs: an output with one element for each row */
    uint8_t copy_of;   /* where the definition `copies`, of an output: 1 + the number of the input that it is */
    bool post_only;    /* reductions: an input that `post` mentions and `map` does not: it has one
                          element for each result */
    bool kept_only;    /* filters: an input that only op mentions, in definitions none of whose
                          inputs is mentioned by both `where` and op */
    bool rest;         /* filters: an output of the elements that are not kept, or their number */
    uint8_t taken;     /* of an input declared with `take`: how many axes are indexed; else 0 */
    uint8_t by[KILN__TAKE_MAX]; /* the input that holds the index along each of them */
    uint8_t take_mode; /* a kiln__take_mode */
    uint32_t column;   /* where the declaration begins in its signature text, in bytes from 0 */
    uint32_t width;    /* bytes of the declaration, for carets */
} kiln__param;

/*
 * Row programs. A stage (kiln_row_stage) is one reduction over each row. All of its texts see the
 * parameters (inputs by value), `n` (the elements of a row), the results of earlier stages and the
 * variables that their `post` declares. Texts that run for each element (prep, map, and the
 * definition's op) see the values as well.
 *
 *     softmax: values {"float", "e"}
 *         stage 0  map "x"                type "float" reduce "fmaxf(a, b)" identity "-INFINITY"
 *                  result "m"
 *         stage 1  prep "e = expf(x - m);" map "e" type "float" reduce "a + b" identity "0"
 *                  result "s"  post "const float scale = 1 / s;"
 *         op       "y = e * scale"
 *
 * A kernel may run a prep again instead of keeping the values that it assigned, so a prep must have
 * no side effects. Variables that it declares are seen by the map of the same stage only.
 *
 * kiln__row_program is what a definition keeps of them beside the texts, which are among its
 * snippets. Bit p of param_uses[s] says that prep or map of stage s mentions parameter p; s =
 * stage_count stands for op. value_uses says the same of values.
 */
typedef struct kiln__row_program {
    size_t stage_count, value_count;
    char *result[KILN__STAGE_MAX];
    char *value_type[KILN__VALUE_MAX], *value_name[KILN__VALUE_MAX];
    uint64_t param_uses[KILN__STAGE_MAX + 1];
    uint32_t value_uses[KILN__STAGE_MAX + 1];
    uint32_t heavy; /* bit s: prep or map of stage s calls functions that kiln__is_heavy_word()
                       names */
} kiln__row_program;

/* A set of identifiers, sorted. */
typedef struct kiln__words {
    char **items; /* `count` of them, then NULL; they and the texts are one allocation */
    size_t count;
} kiln__words;

/* Reductions: how several elements are added to an accumulator by one operation (reduce_batch.c). */
typedef enum kiln__batch {
    KILN__BATCH_NONE,    /* elements are added one by one */
    KILN__BATCH_SUM,     /* small integers are summed in an int */
    KILN__BATCH_MOMENTS, /* plain values give one set of moments */
    KILN__BATCH_COUNTED, /* elements that are sets of moments themselves (a value may be left out,
                            or be complex) give one set */
    KILN__BATCH_LEAST,   /* values give one position, that of the least */
    KILN__BATCH_GREATEST,
    KILN__BATCH_LOGSUM   /* values give one sum of exponentials */
} kiln__batch;

/* Which batches a reduction allows. The library states it in its own requests; for texts of users
 * and of manifests it is found by reading them (reduce_batch.c). */
typedef struct kiln__batching {
    kiln__batch batch;
    bool mapped;  /* elements are computed from the loaded values, not equal to them */
    bool element; /* sums: elements are those of the first input, whose dtype must be a small one */
    bool stated;  /* in requests: this is the answer, and the texts are not searched */
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
    /* Reductions: which linear indices the snippets use; and whether they use the objects `_in_ind`
     * and `_out_ind`, if only for their sizes. */
    bool uses_number[KILN__NUMBER_COUNT];
    bool uses_in_indexer, uses_out_indexer;
    bool uses_in_number;    /* `_j` */
    bool uses_out_number;   /* `_i` */
    kiln__batching batching; /* reductions */
    bool takes;             /* some input is declared with `take` */
    bool reports;           /* ... and reports indices that are out of range */
    bool by_place;          /* filters: results depend on the positions of the elements kept alone */
    bool masked;            /* reductions: KILN__WHERE is among the inputs */
    bool has_initial;       /* reductions: KILN__INITIAL is among the inputs */
    char *copied;           /* ", s1, s2": variables of loop_prep that each element gets a copy of */
    bool uses_index;        /* `i` is used (and is no parameter) */
    bool uses_size;         /* `n` is used (and is no parameter) */
    bool uses_indexer;      /* `_ind` is used */
    bool cuda_only;         /* thread indices, shared memory, shuffles, ... are used */
    char cuda_only_word[48]; /* the first such word */
    bool heavy;             /* some snippet has a word that kiln__is_heavy_word() names */
    bool heavy_map;         /* reductions: `map`, which runs for each element, has one */
    bool draws;             /* some snippet has a word that kiln__is_random_word() names */
    bool attempts;          /* some snippet has the word KILN_ATTEMPT (templates/prelude/random.h) */
    bool large;             /* op is so much code that a kernel should hold it once (extent.c) */
    bool copies;            /* loops: op assigns an input to each output, and that is all (copies.c) */
    bool compares;          /* some snippet or header orders two values: <, <=, > or >= */
    bool includes;          /* some snippet has an #include */
    kiln__words words;        /* used in the snippets */
    kiln__words header_words; /* used in the user's headers that a snippet includes */
    char *included;           /* "<limits><cmath>": what those headers include; NULL: nothing */
    kiln__words declared;     /* declared by the preamble or by such a header (words.c) */
    kiln__row_program *rows;  /* of row programs; NULL for all others */
    bool module;          /* a module's source or, where there is none, one kernel's signature */
    bool module_prelude;  /* it includes a CuPy header, which the prelude replaces */
    char *template_file;  /* the template that is the module's source; NULL: it is a user's */
    char **names;         /* modules: C++ names of kernels and variables that the user asks for */
    size_t name_count;
} kiln__definition;

typedef struct kiln__definition_request {
    const char *name; /* NULL: the family's kernel_name */
    const char *in, *out;
    const char *snippet[KILN__SNIPPET_COUNT]; /* NULL: none */
    const char *const *options;
    size_t option_count;
    bool keep_axes;
    bool numpy_types; /* `float` and `int` are 64 bits wide; the definition's texts then say float64 */
    const kiln__family *family; /* NULL: &kiln__family_loop */
    /* The most bytes that the accumulator (of each stage of a row program) takes, for types that
     * are not a dtype's; 0: unknown. Plans depend on it, sources do not. */
    int64_t part_bytes[KILN__STAGE_MAX];
    kiln__batching batching; /* reductions */
    /* Row programs: `out` declares outputs with an element for each input element, assigned by op,
     * which runs after the last stage; `row_out` (NULL: none) those with one element for each row,
     * assigned by post, which runs once for each row. Either may be empty, not both. */
    const char *row_out;
    const kiln_row_stage *stages;
    size_t stage_count;
    const kiln_row_value *values;
    size_t value_count;
    bool module; /* a module's texts (module_text.c) */
    const char *const *names;
    size_t name_count;
} kiln__definition_request;

/* Check a request and copy everything in it. ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE,
 * ERR_ARGUMENT (too many), ERR_NO_MEMORY; the error's detail shows the text with a caret. */
kiln_status kiln__definition_create(const kiln__definition_request *request,
                                    kiln__definition **out, kiln_error *err);
/* Add an owner, and remove one: the last _destroy frees the definition. _destroy accepts NULL. */
kiln__definition *kiln__definition_retain(kiln__definition *def);
void kiln__definition_destroy(kiln__definition *def);

/* Inputs of a reduction that a call adds to the user's: a mask of the elements that count, and a
 * scalar that is combined with the result. */
#define KILN__WHERE "kiln__where"
#define KILN__INITIAL "kiln__initial"

/* Name a parameter for messages: "argument 2 (`x`)", as users count, or "`where`" for what a call
 * adds. */
void kiln__param_text(const kiln__definition *def, size_t param, char *out, size_t out_bytes);

/* Whether `word` is reserved by C++ (up to C++20) or is an alternative token (`and`, ...). */
bool kiln__is_cpp_keyword(const char *word);

/* Whether `word` is among the snippets' identifiers. */
bool kiln__definition_uses(const kiln__definition *def, const char *word);

/* Whether the preamble, the options or a header declare `word`. */
bool kiln__definition_declares(const kiln__definition *def, const char *word);

/* Whether the snippets or their headers use `word` and do not declare it, so that the prelude's is
 * meant. */
bool kiln__definition_wants(const kiln__definition *def, const char *word);

/* The macros of the compiler options (-DN=3, -UN) as #define and #undef lines, which the caller
 * frees; NULL without memory. They are emitted between the prelude and the preamble: on the
 * compiler's command line they would change the prelude as well. */
char *kiln__definition_macros(const kiln__definition *def);
/* Put the other options, which the compiler is given, into `out`, which has room for
 * `option_count`. Returns how many there are. */
size_t kiln__definition_plain_options(const kiln__definition *def, const char **out);

/* Whether `word` names a function that takes more time than the loads and stores around it, and
 * that a cpu's compiler vectorises only in a loop of its own: exp, powf, ... */
bool kiln__is_heavy_word(const char *word);

/* ---- types (types.c) ----------------------------------------------------------------------- */

/* What is known about an argument before types are bound. */
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

/* The order in which a kernel visits memory; docs/codegen.md has pictures. */
typedef enum kiln__layout {
    KILN__LAYOUT_LINEAR,    /* every operand is contiguous, or is one element */
    KILN__LAYOUT_INNER,     /* every operand is contiguous or constant along the last axis */
    KILN__LAYOUT_TRANSPOSE, /* operands are contiguous along two different axes: tiles of these */
    KILN__LAYOUT_GENERAL,   /* anything else: one element at a time */
    KILN__LAYOUT_ROWS,      /* reductions: neighbouring threads take neighbours along a reduced axis */
    KILN__LAYOUT_COLUMNS,   /* reductions: neighbouring threads take neighbours along a kept axis */
    KILN__LAYOUT_HELD,      /* row programs: a row stays on chip */
    KILN__LAYOUT_REREAD,    /* row programs: every stage reads the row again */
    KILN__LAYOUT_WINDOW,    /* several inputs are shifted views of one array, which tiles read once */
    KILN__LAYOUT_TILE,      /* reductions of inputs that are broadcast along kept axes: tiles of
                               results */
    KILN__LAYOUT_COUNT
} kiln__layout;

/* The most planes, rows and elements that views in one window may lie apart. */
enum { KILN__WINDOW_BEHIND_MAX = 4, KILN__WINDOW_DOWN_MAX = 8, KILN__WINDOW_ALONG_MAX = 31 };

const char *kiln__layout_name(kiln__layout layout); /* "linear", "inner", ... */

/* How a variant accesses one operand. */
typedef enum kiln__access {
    KILN__ACCESS_SCALAR,  /* by value, from the argument block */
    KILN__ACCESS_RAW,     /* as a kiln__raw object in the argument block */
    KILN__ACCESS_ONE,     /* one array element serves every index; each thread loads it once */
    KILN__ACCESS_VECTOR,  /* `vec` neighbours by one access */
    KILN__ACCESS_SPLAT,   /* one element serves the whole last axis (stride 0 there) */
    KILN__ACCESS_STRIDED, /* element by element, with any stride on the last axis */
    KILN__ACCESS_TILE,    /* by way of a tile in shared memory: transposes, short rows of reductions */
    KILN__ACCESS_COLUMN,  /* row programs: it is the same for every row, and loaded where it is used */
    KILN__ACCESS_ONCE,    /* reductions on cuda: as VECTOR, 16 bytes at a time, by evict-first loads */
    KILN__ACCESS_WINDOW,  /* from a window, which other inputs may share (window.c) */
    KILN__ACCESS_STAGED,  /* from the staged rows or columns of a tile of results (reduce_tile.c) */
    KILN__ACCESS_BACK     /* scans on cuda: vectors whose first element is the last one in memory */
} kiln__access;

/* The part of a plan on which the source depends: members that all families have, and one of the
 * family's own. Variants are compared and hashed as bytes, so clear one before filling it. */
typedef struct kiln__variant {
    const kiln__family *family; /* it decides which member of the union is used */
    uint8_t backend;            /* kiln_backend */
    uint8_t layout;             /* kiln__layout */
    uint8_t rank;               /* axes left after sorting and collapsing; 1 for linear */
    uint8_t keep_rank;          /* how many of them, the first ones, are kept axes; 0 in loops */
    uint8_t index_bits;         /* 32 or 64: width of element counts and byte offsets */
    uint8_t vec;                /* elements of one access along the last axis */
    uint8_t unroll;             /* accesses that a thread has in flight */
    uint8_t param_count;
    uint8_t indexer_rank;             /* rank of `_ind`, or of `_in_ind`, when it is used */
    uint8_t out_indexer_rank;         /* rank of `_out_ind` when it is used */
    uint16_t block;                   /* cuda: threads of a block */
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

/* A number in a variant, with its name in manifests and templates. */
typedef struct kiln__variant_field {
    const char *name;
    uint16_t at, bytes; /* where it lies in kiln__variant */
    int low, high;      /* its range */
    bool power;         /* it must be 0 or a power of two */
} kiln__variant_field;

#define KILN__FIELD(name, member, low, high, power)                                                \
    {                                                                                              \
        name, offsetof(kiln__variant, member), sizeof(((kiln__variant *)NULL)->member), low, high, \
            power                                                                                  \
    }

/* The variant's number of that name; -1 when its family has no such number. */
int kiln__variant_number(const kiln__variant *v, const char *name, size_t bytes);

/* Write a variant without its dtypes as one line, "cuda/1 linear rank=1 ...", and read it back
 * (variant_text.c; docs/manifest.md). _parse returns ERR_FORMAT, and which bytes of `text` are at
 * fault, for text that describes no variant of `def`. */
void kiln__variant_print(const kiln__variant *v, kiln__buf *out);
kiln_status kiln__variant_parse(const char *text, const kiln__definition *def,
                                const kiln_dtype *dtypes, kiln__variant *out, size_t *at_out,
                                size_t *width_out, kiln_error *err);

/* What the planner needs to know about one argument. */
typedef struct kiln__operand {
    bool is_array;
    bool raw;
    bool written;
    bool by_address;
    bool contiguous; /* raw arrays only: in C-order without gaps */
    uint8_t itemsize;
    int rank;
    const int64_t *shape;   /* `rank` extents, which broadcast to the loop's shape */
    const int64_t *strides; /* `rank` strides in bytes */
    uintptr_t address;
} kiln__operand;

/* Sizes and addresses in the argument block of kernels that combine elements. */
typedef enum kiln__word {
    KILN__WORD_OUTPUTS,   /* the number of results */
    KILN__WORD_LENGTH,    /* accesses (rows) or elements (columns, cpu) that each is reduced from */
    KILN__WORD_CHUNK,     /* how many of these one split takes; scans of columns with carriers:
                             tiles across that one carrier serves; rows that a block copies: how
                             many */
    KILN__WORD_SPLITS,    /* the number of splits */
    KILN__WORD_COUNT_ALL, /* elements that each result is reduced from */
    KILN__WORD_PARTS,     /* address of the partial results: outputs * splits accumulators */
    KILN__WORD_TICKETS,   /* address of one zeroed int for each output (rows) or tile of columns */
    KILN__WORD_COUNT
} kiln__word;

/* What a plan took from an input's address besides its alignment (window.c). Inputs of one dtype
 * with equal strides whose addresses differ by at most `near` bytes may be shifted views of one
 * array: the later one then shares the window of the earlier one, its root. A plan in which two
 * inputs share no window because their distance is no whole number of elements holds for all such
 * distances. */
typedef struct kiln__shift {
    uint8_t root; /* the input whose window it shares; its own number where there is none */
    uint8_t like; /* the first input of the same dtype and strides */
    uint8_t itemsize;
    int64_t near;  /* 0: the plan does not depend on this input's address */
    int64_t apart; /* bytes from the root's address to its own */
    int64_t plane; /* bytes from one plane to the next; 0: windows lie on two axes */
    int64_t row;   /* bytes from one row to the next */
} kiln__shift;

/* Whether a plan with these shifts also holds for arrays at these addresses, one for each
 * parameter. */
bool kiln__shifts_hold(const kiln__shift *shift, const uintptr_t *address, size_t count);

/* How one call runs. Arrays with an axis for each parameter hold the first `variant.rank` axes, and
 * only for operands that walk. `step` and `index_step` say what one step along an axis moves: on
 * the last axis of vector kernels, `vec` elements. */
typedef struct kiln__plan {
    kiln__variant variant;
    int64_t size;                      /* elements to run over; 0: nothing is launched */
    int64_t shape[KILN_RANK_MAX];      /* axis 0 is the slowest */
    int64_t walk[KILN_RANK_MAX];       /* the shape in accesses, tiles or work units */
    int64_t step[KILN_PARAM_MAX][KILN_RANK_MAX]; /* in bytes */
    int64_t begin[KILN_PARAM_MAX]; /* reversed scans: bytes from the address to the first element */
    int64_t index_step[KILN_RANK_MAX];           /* of `i`, in elements */
    int64_t word[KILN__WORD_COUNT];    /* families that combine elements */
    int64_t number_step[KILN__NUMBER_COUNT][KILN_RANK_MAX]; /* reductions, in elements */
    int64_t part_count, ticket_count;  /* accumulators and ints that words PARTS and TICKETS point
                                          to */
    bool leaves_marks;                 /* the kernel does not leave its tickets zeroed */
    int64_t indexer_size;
    int64_t indexer_shape[KILN_RANK_MAX];
    int64_t out_indexer_size;
    int64_t out_indexer_shape[KILN_RANK_MAX];
    int64_t grid;                      /* blocks (cuda) or work units (cpu) */
    uint32_t shared_bytes;             /* cuda: dynamic shared memory of a block */
    uint32_t units_together;           /* cpu: units that should stay on one thread */
    bool has_shifts;                   /* the plan holds only for addresses that `shifts` allow */
    kiln__shift shifts[KILN_PARAM_MAX];
} kiln__plan;

/* A flag of calls of loops, beside those of the public options: further calls of the same kernel
 * follow, and may share its launch. */
#define KILN__CALL_LISTED 0x80000000u

/* The arguments of a launch that several calls share are: the argument block of one of them, for
 * the numbers that all have in common; the size and the pointers of each call; the first block of
 * each call, KILN__LISTS_NONE for calls that are missing. */
#define KILN__LISTS_NONE 0xffffffffu
static inline size_t kiln__lists_item_bytes(size_t pointer_count)
{
    return 8 + 8 * pointer_count;
}
static inline size_t kiln__lists_bytes(size_t args_bytes, size_t pointer_count, size_t calls)
{
    return args_bytes + calls * (kiln__lists_item_bytes(pointer_count) + sizeof(uint32_t));
}

/* The properties of a device that plans depend on. */
typedef struct kiln__plan_device {
    kiln_backend backend;
    int units;         /* multiprocessors, or threads of a cpu device */
    bool clusters;     /* it has thread block clusters, and at least 96 KiB of shared memory a block */
    bool large_shared; /* it has at least 200 KiB of shared memory a block */
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
    const int64_t *shape; /* the loop's: what the inputs broadcast to */
    /* For each axis, whether it is reduced, scanned, or the one that rows run along; NULL for
     * loops. Outputs with one element for each result have extent 1 on such axes. */
    const bool *along;
    bool keepdims;  /* reductions: `_out_ind` has the reduced axes, too */
    unsigned flags; /* the family's own */
} kiln__plan_request;

/* Plan a call: fill in what all families have, then let the definition's family do the rest. It
 * cannot fail. (walk.c) */
void kiln__plan_make(const kiln__plan_request *request, kiln__plan *plan);

/* An upper bound of the bytes of an accumulator: of a reduction or a scan (stage 0), or of a stage
 * of a row program. Where nothing is known it is the family's part_bytes_max. (types.c) */
int64_t kiln__part_bytes(const kiln__definition *def, const kiln__variant *v, size_t stage);
/* The bytes of an element of `type`, the name of a dtype or a placeholder; 0 for other types. */
int64_t kiln__type_bytes_in(const kiln__definition *def, const kiln__variant *v, const char *type);

/* The batch by which a reduction adds elements where parameters are accessed as `v` says.
 * `ordered`: elements are visited in the order of their positions, which batches of positions need. */
kiln__batch kiln__reduce_batch(const kiln__definition *def, const kiln__variant *v, bool ordered);
/* The batching of the same reduction with a mask (KILN__WHERE), a start value (KILN__INITIAL) or
 * both as further inputs. */
kiln__batching kiln__batching_with(const kiln__definition *def, bool masked);

/* The batch of a variant; only reductions have one. */
static inline kiln__batch kiln__batch_of(const kiln__variant *v)
{
    const int batch = kiln__variant_number(v, "batch", 5);
    return batch > 0 ? (kiln__batch)batch : KILN__BATCH_NONE;
}

static inline bool kiln__batch_is_of_moments(kiln__batch batch)
{
    return batch == KILN__BATCH_MOMENTS || batch == KILN__BATCH_COUNTED;
}
/* Whether the elements that several threads hold of a row can be one batch. */
static inline bool kiln__batch_is_of_rows(kiln__batch batch)
{
    return kiln__batch_is_of_moments(batch) || batch == KILN__BATCH_LEAST ||
           batch == KILN__BATCH_GREATEST;
}

/* The batch of a stage of a row program: COUNTED, LOGSUM or NONE. */
kiln__batch kiln__batch_of_stage(const kiln__definition *def, const kiln__variant *v, size_t stage);
/* Whether a batch's elements are computed values that are read more than once, so that a kernel
 * stores them. */
bool kiln__batch_is_kept(const kiln__definition *def, const kiln__variant *v);
/* Whether a batch sums bytes as they were loaded, so that a GPU adds four by one instruction. */
bool kiln__batch_of_bytes(const kiln__definition *def, const kiln__variant *v);

/* Give the order of axes (slowest first) in which a new output keeps the memory order of its inputs
 * (K-order). Operands that are raw or no arrays do not count. */
void kiln__plan_k_order(const kiln__operand *operands, size_t count, int rank,
                        const int64_t *shape, int *order_out);

/* Whether rows of `length` elements with `element_bytes` of inputs each stay on chip, so that they
 * are read once, however many stages there are. Other rows are read again in each stage and occupy
 * no more than one block (cuda) or thread (cpu), so that separate kernels are faster for few of
 * them. */
bool kiln__row_is_held(kiln_backend backend, bool clusters, int64_t length, int64_t element_bytes);

/* The `reduce` texts of the least and of the greatest 16-bit float. */
#define KILN__HALF_LEAST "kiln_half_least(a, b)"
#define KILN__HALF_GREATEST "kiln_half_greatest(a, b)"

#include "codegen/reductions.h"

/* ---- emit (emit.c, template.c, templates/) -------------------------------------------------- */

/* The kinds of members of a kernel's argument block. Each member begins at a multiple of 8 bytes. */
typedef enum kiln__slot_kind {
    KILN__SLOT_SIZE,        /* elements, 8 bytes */
    KILN__SLOT_POINTER,     /* of parameter `param`, 8 bytes */
    KILN__SLOT_SCALAR,      /* of parameter `param`, 8 or 16 bytes */
    KILN__SLOT_RAW,         /* pointer, size, shape..., strides... of `param`: 8 bytes each */
    KILN__SLOT_EXTENT,      /* shape[axis], 8 bytes */
    KILN__SLOT_DIVISOR,     /* constants for division by walk[axis] (cuda), 16 or 32 bytes */
    KILN__SLOT_WALK,        /* walk[axis] (cpu), 8 bytes */
    KILN__SLOT_STRIDE,      /* step[param][axis], 8 bytes */
    KILN__SLOT_BEGIN,       /* begin[param], 8 bytes */
    KILN__SLOT_INDEX_STRIDE,/* index_step[axis], 8 bytes */
    KILN__SLOT_NUMBER_STRIDE,/* number_step[param][axis], 8 bytes */
    KILN__SLOT_WORD,        /* word[axis], 8 bytes */
    KILN__SLOT_SPLITS,      /* constants for division by word[KILN__WORD_SPLITS] (cuda), 16 or 32
                               bytes */
    KILN__SLOT_INDEXER,     /* size, shape[indexer_rank] of `_ind`, 8 bytes each */
    KILN__SLOT_OUT_INDEXER, /* size, shape[out_indexer_rank] of `_out_ind`, 8 bytes each */
    KILN__SLOT_REPORT       /* address that indices out of range are reported to, 8 bytes */
} kiln__slot_kind;

typedef struct kiln__slot {
    uint8_t kind;
    uint8_t param;
    uint8_t axis;
    uint16_t offset; /* bytes from the start of the block */
    uint16_t bytes;
} kiln__slot;

/* cpu: the most bytes of values that a row program keeps of a row from stage to stage; the values
 * of longer rows are computed again. */
#define KILN__CPU_ROW_BYTES 65536
#define KILN__CPU_UNIT 4096    /* elements of a row that one work unit of the cpu device covers */
#define KILN__SCAN_CHUNK 16384 /* of a sequence between two carries of a scan there */

/* The most bytes of an accumulator. PASS is the limit where a reduction, or a stage whose bytes are
 * stated, keeps what several results need in one accumulator. */
#define KILN__PART_BYTES_MAX 64
#define KILN__PASS_BYTES_MAX 104

#define KILN__ARGS_MAX 4000 /* bytes of an argument block: what every CUDA driver accepts */

/* A generated kernel. */
typedef struct kiln__source {
    char *text; /* NUL-terminated */
    size_t bytes;
    char entry[96]; /* extern "C" name of the kernel; "" for modules, which may have several kernels */
    size_t name_count; /* how many of the definition's names the compiler is asked for */
    kiln__slot *slots;
    size_t slot_count;
    size_t args_bytes;
    uint32_t shared_bytes;  /* static shared memory of a block */
    uint8_t shared_percent; /* the share of the L1 cache's memory that is wanted as shared memory;
                               0: the driver decides */
    uint8_t rooms;         /* how many forms with more room kiln__emit_roomier() can make */
    kiln__variant variant; /* if it can make some: the variant of this kernel */
} kiln__source;
#define KILN__SOURCE_INIT {NULL, 0, {0}, 0, NULL, 0, 0, 0, 0, 0, {0}}
void kiln__source_clear(kiln__source *source);

/* Generate the kernel of one variant. The caller clears *out. ERR_NO_MEMORY; ERR_ARGUMENT when the
 * argument block is larger than KILN__ARGS_MAX; ERR_UNSUPPORTED for CUDA-only snippets on cpu. */
kiln_status kiln__emit(const kiln__definition *def, const kiln__variant *variant,
                       kiln__source *out, kiln_error *err);

/* Generate a kernel for the same launches in which threads hold fewer elements, or have more registers,
 * than was planned. `form` is 1 to tight->rooms; each has more room than the one before. */
kiln_status kiln__emit_roomier(const kiln__definition *def, const kiln__source *tight, int form,
                               kiln__source *out, kiln_error *err);

/* Fill the argument block (source->args_bytes) of one call. `operands` gives addresses, and shapes
 * and strides of raw arrays; scalars[p] is the value of scalar parameter p in its dtype. (args.c) */
void kiln__args_fill(const kiln__source *source, const kiln__plan *plan,
                     const kiln__operand *operands, const kiln__scalar *scalars, void *block);

/* The constants by which a kernel divides by `d`, d >= 1, without a division (section `divide` of
 * templates/prelude). Quotients are exact for numerators below 2^31 and 2^63. (divide.c) */
void kiln__divisor32_make(uint32_t d, uint32_t words[4]);
void kiln__divisor64_make(uint64_t d, uint64_t words[4]);

/* ---- modules (module_text.c): sources that users have written whole, with any number of kernels
 * ---- */

/* Make the definition of a module; everything is copied. `names` are C++ expressions that name a
 * kernel ("axpy<float, 4>") or the address of a variable ("&table"). ERR_ARGUMENT, ERR_NAME,
 * ERR_NO_MEMORY. */
kiln_status kiln__module_definition(const char *name, const char *source,
                                    const char *const *options, size_t option_count,
                                    const char *const *names, size_t name_count,
                                    kiln__definition **out, kiln_error *err);
/* Append a template that has no values, conditions or lists: the source of one of kiln's own
 * modules. */
kiln_status kiln__module_template(const char *path, kiln__buf *out, kiln_error *err);
/* The source as the compiler gets it. For CUDA, only includes of CuPy's headers are removed. For
 * the cpu, the prelude is put before it, and it gets an object for each kernel and variable;
 * ERR_UNSUPPORTED for what only CUDA can do. */
kiln_status kiln__module_emit(const kiln__definition *def, kiln_backend backend, kiln__source *out,
                              kiln_error *err);
/* A definition whose inputs are the parameters of one kernel of a module, as `text` declares them. */
kiln_status kiln__module_signature(const char *kernel, const char *text, kiln__definition **out,
                                   kiln_error *err);

/* ---- families ------------------------------------------------------------------------------- */

struct kiln__emitter;
struct kiln__scan;
struct kiln__slot_list;

/*
 * One kind of kernel, as this folder sees it. Code outside of a family's own files reads this
 * struct and never asks which family it has. kiln__family_calls in src/kernel is the other half:
 * how calls are read and how their shapes are decided. docs/extending.md walks through a new
 * family.
 */
struct kiln__family {
    const char *name;        /* "row": also the "kind" of its lines in manifests */
    const char *noun;        /* "row program": what messages call such a kernel */
    const char *kernel_name; /* the name of a definition that is given none */
    /* The fields that its lines in manifests have beside those of all definitions
     * (docs/manifest.md), separated by blanks; "op!" is required, "reverse=2" is a flag of calls. */
    const char *line;

    /* `maps`: its texts are map, reduce, post, identity and reduce_type, and post assigns the
     * outputs; in other families op does. `combines`: elements along an axis are combined, so that
     * calls name axes and plans depend on the number of the device's units. */
    bool maps, combines;
    bool clusters; /* plans differ between devices with and without thread block clusters */
    /* `shrinks`: results have fewer elements than the inputs, and an input that only `post`
     * mentions has one element for each result. `in_place`: a result depends on elements at its own
     * index only, so that an output may be one of the inputs. */
    bool shrinks, in_place;
    bool lists; /* calls with KILN__CALL_LISTED may get variants for several calls */
    size_t part_bytes_max; /* the most bytes of an accumulator */
    /* How _definition_create makes what a definition has beside its snippets; each may be NULL. In
     * the order of use: copy the texts; check them against the parameters; find what the snippets
     * use; free all of this. */
    kiln_status (*copy)(const kiln__definition_request *request, kiln__definition *def,
                        kiln_error *err);
    kiln_status (*check)(const kiln__definition_request *request, kiln__definition *def,
                         kiln_error *err);
    kiln_status (*scan)(kiln__definition *def, const struct kiln__scan *scan, kiln_error *err);
    void (*clear)(kiln__definition *def);

    /* Fill in what kiln__plan_make() leaves to the family. */
    void (*plan)(const kiln__plan_request *request, kiln__plan *plan);

    /* For variants as text (variant_text.c): the layouts that they may have (bits 1 <<
     * kiln__layout); of the accesses that not all families have, those that they may have (bits 1
     * << kiln__access); all of their numbers, in the order of the line; and a function that says
     * what is wrong with a variant that was read and whose numbers are in range, NULL if nothing.
     * That function may be NULL. */
    unsigned layouts;
    unsigned accesses;
    const kiln__variant_field *fields;
    size_t field_count;
    const char *(*refuse)(const kiln__definition *def, const kiln__variant *v);

    /* For the source: the template that it begins with, and the members of its argument block
     * between raw arrays and strides (emit.h). */
    const char *skeleton;
    void (*slots)(const struct kiln__emitter *e, struct kiln__slot_list *l);
};

/* ---- diagnose (diagnose.c) ------------------------------------------------------------------ */

/* Turn a compiler's log into an error in the user's terms: kernel, snippet, line, column, and the
 * line with a caret. Fills in the message, detail, log and source of `err`; the arguments stay the
 * caller's. */
kiln_status kiln__diagnose(const kiln__definition *def, const char *source, const char *log,
                           kiln_error *err);

#include "codegen/parts.h"

#endif
