/*
 * difftest.h - random cases, run by kiln and by plain C, and compared.
 *
 *     draw > [text form of a case] > evaluate in plain C > run on each device > compare > shrink
 *
 * A case is a program: operands, then nodes that each make one value of those before it, then
 * outputs. The kind of the case says how kiln is given the program: as a snippet, as the texts of a
 * reduction or a scan, as a recorded graph, as one eager operation. The evaluator is the same for
 * all of them, and never asks kiln for a value.
 *
 * A value is a ball: a number and a bound on the distance of any right answer from it. What IEEE
 * arithmetic or integers define has the bound 0 and is compared exactly; functions and sums have
 * the bounds that docs/accuracy.md and docs/reductions.md promise, carried on through the program.
 *
 * Rule: a case is self-contained. Everything that its text form does not hold is a default, so that
 * a text keeps its meaning when the generators change.
 */
#ifndef KILN_DIFFTEST_H
#define KILN_DIFFTEST_H

#include <stdio.h>

#include "kiln/kiln.h"

#define DT_RANK 6     /* axes of an operand */
#define DT_NODES 64   /* of a program, operands included */
#define DT_OPERANDS 8 /* inputs of a case */
#define DT_OUTPUTS 4
#define DT_NUMBERS 36 /* of a function of family.h */
#define DT_BUFFERS (DT_OPERANDS + DT_OUTPUTS + 1)
#define DT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- random numbers -------------------------------------------------------------------------- */

typedef struct dt_random {
    uint64_t state;
} dt_random;

/* A sequence of its own for every (seed, stream, number). */
dt_random dt_random_of(uint64_t seed, uint64_t stream, uint64_t number);
uint64_t dt_next(dt_random *r);
/* One of 0 to bound - 1. */
int dt_below(dt_random *r, int bound);
/* True once in `times`. */
bool dt_once_in(dt_random *r, int times);
/* A number that depends on its arguments only. */
uint64_t dt_mix(uint64_t a, uint64_t b);

/* ---- values ---------------------------------------------------------------------------------- */

/* One element as plain C sees it. Which member counts follows from the dtype beside it. */
typedef struct dt_value {
    double re, im; /* floats and complex numbers: as the dtype holds them */
    int64_t i;     /* bool and integers; uint64 by its bits */
    double error;  /* how far a right answer may be off; 0: exact; INFINITY: anything is right */
    double alone;  /* the same where no sum takes the product into itself: a value that is stored */
    bool open_zero; /* a zero of either sign */
    bool unwritten; /* nothing is stored here: any bytes are right */
    int also; /* dt_array.others: another right answer is at also - 1; -1: there was an assignment */
} dt_value;

/* Digits and exponents of a floating dtype, or of a complex one's parts. */
typedef struct dt_format {
    int digits, emin, emax;
} dt_format;

bool dt_is_integer(kiln_dtype dtype); /* bool is one */
bool dt_is_float(kiln_dtype dtype);
bool dt_is_complex(kiln_dtype dtype);
bool dt_is_narrow(kiln_dtype dtype); /* float16, bfloat16, float8: computed in float32 */
bool dt_is_float8(kiln_dtype dtype);
bool dt_is_signed(kiln_dtype dtype);
kiln_dtype dt_part_of(kiln_dtype dtype); /* complex64 to float32; others stay */
kiln_dtype dt_complex_of(kiln_dtype part);
dt_format dt_format_of(kiln_dtype dtype);
double dt_round(kiln_dtype dtype, long double v);
/* The distance of neighbours at `v`. */
double dt_ulp(kiln_dtype dtype, double v);
double dt_largest(kiln_dtype dtype);
int64_t dt_wrap(kiln_dtype dtype, uint64_t bits);
/* The least and the greatest value of an integer dtype, as values. */
dt_value dt_limit(kiln_dtype dtype, bool greatest);
dt_value dt_unknown(void);
bool dt_is_unknown(dt_value v);
bool dt_is_exact(dt_value v);
dt_value dt_of_integer(kiln_dtype dtype, int64_t v);
dt_value dt_of_real(kiln_dtype dtype, double v);
/* Real numbers that a value of an integer or real dtype stands for. */
long double dt_real(kiln_dtype dtype, dt_value v);

dt_value dt_load(kiln_dtype dtype, const void *element);
void dt_store(kiln_dtype dtype, void *element, dt_value v);
dt_value dt_cast(kiln_dtype from, kiln_dtype to, dt_value v);
/* Whether the element is a right answer for `want`. */
bool dt_agrees(kiln_dtype dtype, const void *element, dt_value want);
void dt_value_text(kiln_dtype dtype, dt_value v, char *text, size_t bytes);

/* ---- operations ------------------------------------------------------------------------------ */

/*
 * X(ENUM, "name", operands, "kinds in snippets", "kinds in graphs", result, number, "snippet")
 *
 * kinds: 'b' bool, 'i' signed, 'u' unsigned, 'f' floating point, 'c' complex; "" for "not there".
 * result: '=' the operands' dtype, '?' bool, 'r' a complex number's part, 'F' as '=', but integers
 * are computed in floats (the narrowest that holds them), 'D' so in float64, 'B' uint8.
 * number: the kiln_op, 0 for none. In a snippet $0 $1 $2 are operands; a function's are widened
 * from 16 bits ("f:" in front says that it is one).
 */
#define DT_OP_MAP(X)                                                                               \
    X(ADD, "add", 2, "iufc", "biufc", '=', KILN_OP_ADD, "$0 + $1")                                 \
    X(SUBTRACT, "subtract", 2, "iufc", "iufc", '=', KILN_OP_SUBTRACT, "$0 - $1")                   \
    X(MULTIPLY, "multiply", 2, "iufc", "biufc", '=', KILN_OP_MULTIPLY, "$0 * $1")                  \
    X(DIVIDE, "divide", 2, "fc", "biufc", 'D', KILN_OP_DIVIDE, "$0 / $1")                          \
    X(NEGATIVE, "negative", 1, "iufc", "iufc", '=', KILN_OP_NEGATIVE, "-$0")                       \
    X(SQUARE, "square", 1, "iufc", "iufc", '=', KILN_OP_SQUARE, "$0 * $0")                         \
    X(LESSER, "lesser", 2, "iuf", "", '=', 0, "$0 < $1 ? $0 : $1")                                 \
    X(GREATER_OF, "greater_of", 2, "iuf", "", '=', 0, "$0 < $1 ? $1 : $0")                         \
    X(MIN, "min", 2, "iu", "", '=', 0, "min($0, $1)")                                              \
    X(MAX, "max", 2, "iu", "", '=', 0, "max($0, $1)")                                              \
    X(ABSOLUTE, "absolute", 1, "", "biuf", '=', KILN_OP_ABSOLUTE, "")                              \
    X(FABS, "fabs", 1, "f", "biuf", 'F', KILN_OP_FABS, "f:fabs($0)")                               \
    X(MINIMUM, "minimum", 2, "", "biuf", '=', KILN_OP_MINIMUM, "")                                 \
    X(MAXIMUM, "maximum", 2, "", "biuf", '=', KILN_OP_MAXIMUM, "")                                 \
    X(FMIN, "fmin", 2, "f", "biuf", '=', KILN_OP_FMIN, "f:fmin($0, $1)")                           \
    X(FMAX, "fmax", 2, "f", "biuf", '=', KILN_OP_FMAX, "f:fmax($0, $1)")                           \
    X(EQUAL, "equal", 2, "biufc", "biufc", '?', KILN_OP_EQUAL, "$0 == $1")                         \
    X(NOT_EQUAL, "not_equal", 2, "biufc", "biufc", '?', KILN_OP_NOT_EQUAL, "$0 != $1")             \
    X(LESS, "less", 2, "iuf", "biuf", '?', KILN_OP_LESS, "$0 < $1")                                \
    X(LESS_EQUAL, "less_equal", 2, "iuf", "biuf", '?', KILN_OP_LESS_EQUAL, "$0 <= $1")             \
    X(GREATER, "greater", 2, "iuf", "biuf", '?', KILN_OP_GREATER, "$0 > $1")                       \
    X(GREATER_EQUAL, "greater_equal", 2, "iuf", "biuf", '?', KILN_OP_GREATER_EQUAL, "$0 >= $1")    \
    X(LOGICAL_AND, "logical_and", 2, "b", "biufc", '?', KILN_OP_LOGICAL_AND, "$0 && $1")           \
    X(LOGICAL_OR, "logical_or", 2, "b", "biufc", '?', KILN_OP_LOGICAL_OR, "$0 || $1")              \
    X(LOGICAL_XOR, "logical_xor", 2, "b", "biufc", '?', KILN_OP_LOGICAL_XOR, "$0 != $1")           \
    X(LOGICAL_NOT, "logical_not", 1, "b", "biufc", '?', KILN_OP_LOGICAL_NOT, "!$0")                \
    X(BITWISE_AND, "bitwise_and", 2, "biu", "biu", '=', KILN_OP_BITWISE_AND, "$0 & $1")            \
    X(BITWISE_OR, "bitwise_or", 2, "biu", "biu", '=', KILN_OP_BITWISE_OR, "$0 | $1")               \
    X(BITWISE_XOR, "bitwise_xor", 2, "biu", "biu", '=', KILN_OP_BITWISE_XOR, "$0 ^ $1")            \
    X(INVERT, "invert", 1, "iu", "biu", '=', KILN_OP_INVERT, "~$0")                                \
    X(LEFT_SHIFT, "left_shift", 2, "", "iu", '=', KILN_OP_LEFT_SHIFT, "")                          \
    X(RIGHT_SHIFT, "right_shift", 2, "", "iu", '=', KILN_OP_RIGHT_SHIFT, "")                       \
    X(FLOOR_DIVIDE, "floor_divide", 2, "", "iuf", '=', KILN_OP_FLOOR_DIVIDE, "")                   \
    X(REMAINDER, "remainder", 2, "", "iuf", '=', KILN_OP_REMAINDER, "")                            \
    X(FMOD, "fmod", 2, "f", "iuf", '=', KILN_OP_FMOD, "f:fmod($0, $1)")                            \
    X(SIGN, "sign", 1, "", "iuf", '=', KILN_OP_SIGN, "")                                           \
    X(GCD, "gcd", 2, "", "iu", '=', KILN_OP_GCD, "")                                               \
    X(WHERE, "where", 3, "biufc", "biufc", '=', KILN_OP_WHERE, "$0 ? $1 : $2")                     \
    X(CLIP, "clip", 3, "", "iuf", '=', KILN_OP_CLIP, "")                                           \
    X(CAST, "cast", 1, "biuf", "biufc", '*', 0, "$0")                                              \
    X(SQRT, "sqrt", 1, "f", "biuf", 'F', KILN_OP_SQRT, "f:sqrt($0)")                               \
    X(RECIPROCAL, "reciprocal", 1, "", "f", '=', KILN_OP_RECIPROCAL, "")                           \
    X(EXP, "exp", 1, "f", "biuf", 'F', KILN_OP_EXP, "f:exp($0)")                                   \
    X(EXPM1, "expm1", 1, "f", "biuf", 'F', KILN_OP_EXPM1, "f:expm1($0)")                           \
    X(LOG, "log", 1, "f", "biuf", 'F', KILN_OP_LOG, "f:log($0)")                                   \
    X(LOG1P, "log1p", 1, "f", "biuf", 'F', KILN_OP_LOG1P, "f:log1p($0)")                           \
    X(LOGADDEXP, "logaddexp", 2, "", "biuf", 'F', KILN_OP_LOGADDEXP, "")                           \
    X(SIN, "sin", 1, "f", "biuf", 'F', KILN_OP_SIN, "f:sin($0)")                                   \
    X(COS, "cos", 1, "f", "biuf", 'F', KILN_OP_COS, "f:cos($0)")                                   \
    X(TANH, "tanh", 1, "f", "biuf", 'F', KILN_OP_TANH, "f:tanh($0)")                               \
    X(ARCTAN, "arctan", 1, "f", "biuf", 'F', KILN_OP_ARCTAN, "f:atan($0)")                         \
    X(ARCTAN2, "arctan2", 2, "f", "biuf", 'F', KILN_OP_ARCTAN2, "f:atan2($0, $1)")                 \
    X(HYPOT, "hypot", 2, "f", "biuf", 'F', KILN_OP_HYPOT, "f:hypot($0, $1)")                       \
    X(ERF, "erf", 1, "f", "biuf", 'F', KILN_OP_ERF, "f:erf($0)")                                   \
    X(FLOOR, "floor", 1, "f", "biuf", '=', KILN_OP_FLOOR, "f:floor($0)")                           \
    X(CEIL, "ceil", 1, "f", "biuf", '=', KILN_OP_CEIL, "f:ceil($0)")                               \
    X(TRUNC, "trunc", 1, "f", "biuf", '=', KILN_OP_TRUNC, "f:trunc($0)")                           \
    X(RINT, "rint", 1, "f", "biuf", 'F', KILN_OP_RINT, "f:rint($0)")                               \
    X(COPYSIGN, "copysign", 2, "f", "biuf", 'F', KILN_OP_COPYSIGN, "f:copysign($0, $1)")           \
    X(SIGNBIT, "signbit", 1, "f", "f", '?', KILN_OP_SIGNBIT, "f:signbit($0)")                      \
    X(ISNAN, "isnan", 1, "f", "biufc", '?', KILN_OP_ISNAN, "f:isnan($0)")                          \
    X(ISINF, "isinf", 1, "f", "biufc", '?', KILN_OP_ISINF, "f:isinf($0)")                          \
    X(ISFINITE, "isfinite", 1, "f", "biufc", '?', KILN_OP_ISFINITE, "f:isfinite($0)")              \
    X(REAL, "real", 1, "c", "biufc", 'r', KILN_OP_REAL, "$0.real()")                               \
    X(IMAG, "imag", 1, "c", "biufc", 'r', KILN_OP_IMAG, "$0.imag()")                               \
    X(CBRT, "cbrt", 1, "f", "biuf", 'F', KILN_OP_CBRT, "f:cbrt($0)")                               \
    X(EXP2, "exp2", 1, "f", "biuf", 'F', KILN_OP_EXP2, "f:exp2($0)")                               \
    X(LOG2, "log2", 1, "f", "biuf", 'F', KILN_OP_LOG2, "f:log2($0)")                               \
    X(LOG10, "log10", 1, "f", "biuf", 'F', KILN_OP_LOG10, "f:log10($0)")                           \
    X(TAN, "tan", 1, "f", "biuf", 'F', KILN_OP_TAN, "f:tan($0)")                                   \
    X(ARCSIN, "arcsin", 1, "f", "biuf", 'F', KILN_OP_ARCSIN, "f:asin($0)")                         \
    X(ARCCOS, "arccos", 1, "f", "biuf", 'F', KILN_OP_ARCCOS, "f:acos($0)")                         \
    X(SINH, "sinh", 1, "f", "biuf", 'F', KILN_OP_SINH, "f:sinh($0)")                               \
    X(COSH, "cosh", 1, "f", "biuf", 'F', KILN_OP_COSH, "f:cosh($0)")                               \
    X(ARCSINH, "arcsinh", 1, "f", "biuf", 'F', KILN_OP_ARCSINH, "f:asinh($0)")                     \
    X(ARCCOSH, "arccosh", 1, "f", "biuf", 'F', KILN_OP_ARCCOSH, "f:acosh($0)")                     \
    X(ARCTANH, "arctanh", 1, "f", "biuf", 'F', KILN_OP_ARCTANH, "f:atanh($0)")                     \
    X(DEGREES, "degrees", 1, "", "biuf", 'F', KILN_OP_DEGREES, "")                                 \
    X(RADIANS, "radians", 1, "", "biuf", 'F', KILN_OP_RADIANS, "")                                 \
    X(RSQRT, "rsqrt", 1, "f", "biuf", 'F', KILN_OP_RSQRT, "f:rsqrt($0)")                           \
    X(ERFC, "erfc", 1, "f", "biuf", 'F', KILN_OP_ERFC, "f:erfc($0)")                               \
    X(GAMMA, "gamma", 1, "f", "biuf", 'F', KILN_OP_GAMMA, "f:tgamma($0)")                          \
    X(EXPIT, "expit", 1, "", "biuf", 'F', KILN_OP_EXPIT, "")                                       \
    X(LOGADDEXP2, "logaddexp2", 2, "", "biuf", 'F', KILN_OP_LOGADDEXP2, "")                        \
    X(POWER, "power", 2, "", "iuf", '=', KILN_OP_POWER, "")                                        \
    X(HEAVISIDE, "heaviside", 2, "", "biuf", 'F', KILN_OP_HEAVISIDE, "")                           \
    X(ROUND, "round", 1, "", "iuf", '=', KILN_OP_ROUND, "")                                        \
    X(POSITIVE, "positive", 1, "", "iufc", '=', KILN_OP_POSITIVE, "")                              \
    X(LCM, "lcm", 2, "", "iu", '=', KILN_OP_LCM, "")                                               \
    X(BITWISE_COUNT, "bitwise_count", 1, "", "iu", 'B', KILN_OP_BITWISE_COUNT, "")                 \
    X(FMA, "fma", 3, "f", "", '=', 0, "f:fma($0, $1, $2)")                                         \
    X(QUOTIENT, "quotient", 2, "iu", "", '=', 0, "$0 / $1")                                        \
    X(MODULO, "modulo", 2, "iu", "", '=', 0, "$0 % $1")                                            \
    X(CONJUGATE, "conjugate", 1, "c", "iufc", '=', KILN_OP_CONJUGATE, "conj($0)")

typedef enum dt_op {
#define DT_OP_ENUM(name, ...) DT_##name,
    DT_OP_MAP(DT_OP_ENUM)
#undef DT_OP_ENUM
        DT_ELEMENTWISE_COUNT,
    DT_INPUT = DT_ELEMENTWISE_COUNT, /* an operand of the case */
    DT_CONSTANT,                     /* a number: weak in graphs, typed in snippets */
    DT_REDUCE,                       /* a named reduction: `reduction` */
    DT_SCAN,                         /* a named scan: `scan` and `flags` */
    DT_TRANSPOSE,
    DT_NEWAXIS,
    DT_FLIP,
    DT_SLICE,
    DT_TAKE,
    DT_BROADCAST,
    DT_RESHAPE,
    DT_INDEX,    /* an element's index along an axis: of its operand, in snippets of the loop */
    DT_POSITION, /* snippets: `i`, and `_J` of what a reduction or a scan maps */
    DT_OLD,      /* snippets: what the first output held before */
    DT_RAW,      /* snippets: the element of a raw operand at an index, modulo its size */
    DT_TAKEN,    /* the element of an operand declared `take` by an input; `flags`: its kiln_index_mode */
    DT_OP_COUNT
} dt_op;

typedef struct dt_op_row {
    const char *name;
    int operands;
    const char *snippet_kinds, *graph_kinds;
    char result;
    int number;
    const char *snippet;
} dt_op_row;

extern const dt_op_row dt_ops[DT_ELEMENTWISE_COUNT];
const char *dt_op_name(dt_op op);

/* The dtype that an elementwise operation computes in, and that of its result. False where there
 * is none. `weak` marks plain numbers, whose dtype counts for its kind alone. */
bool dt_loop_of(dt_op op, const kiln_dtype *in, const bool *weak, int count, bool in_snippet,
                kiln_dtype *loop, kiln_dtype *result);
kiln_dtype dt_promote(kiln_dtype a, kiln_dtype b);

/* One elementwise operation in the dtype `loop`, to which the operands have been cast. In snippets
 * signed overflow is undefined, hence unknown. */
dt_value dt_apply(dt_op op, kiln_dtype loop, const dt_value *in, bool in_snippet);
dt_value dt_apply_complex(dt_op op, kiln_dtype loop, const dt_value *in);
/* Whether a product of finite operands overflowed, which it does not where a sum takes it into itself by
 * a fused multiplication and addition. */
bool dt_fused_overflow(dt_op op, double a, double b, double rounded);

/* ---- cases ----------------------------------------------------------------------------------- */

typedef enum dt_kind {
    DT_KIND_ELEMENTWISE,
    DT_KIND_REDUCTION, /* texts of one's own */
    DT_KIND_REDUCE,    /* named reductions, eagerly */
    DT_KIND_SCANNED,   /* texts of one's own */
    DT_KIND_SCAN,      /* named scans, eagerly */
    DT_KIND_GRAPH,
    DT_KIND_EAGER,
    DT_KIND_ROW,    /* row programs: every reduction is a stage, and goes back to its row */
    DT_KIND_GATHER, /* from here on: one function of family.h each */
    DT_KIND_SCATTER,
    DT_KIND_SELECT,
    DT_KIND_SORT,
    DT_KIND_REARRANGE,
    DT_KIND_PRODUCT,
    DT_KIND_RANDOM,
    DT_KIND_COUNT
} dt_kind;

extern const char *const dt_kind_names[DT_KIND_COUNT];

typedef enum dt_fill {
    DT_FILL_SMALL,   /* whole numbers from -8 to 8: most results are exact */
    DT_FILL_UNIFORM, /* floats from -4 to 4, integers of the whole range */
    DT_FILL_SPECIAL, /* among them NaN, infinities, zeros of both signs, subnormals, extremes */
    DT_FILL_RANGE,   /* whole numbers from `low` to `high` */
    DT_FILL_RISING,  /* from `low` to `high` as well, each at least the one before */
    DT_FILL_EVEN,    /* `low` + k (`high` - `low`) / `parts`: k is the place, or with `near` any, and then
                        the number may be a neighbour of that one */
    DT_FILL_COUNT
} dt_fill;

extern const char *const dt_fill_names[DT_FILL_COUNT];

/* A view of a buffer. */
typedef struct dt_view {
    kiln_dtype dtype;
    int rank;
    int64_t shape[DT_RANK], stride[DT_RANK]; /* strides in bytes */
    int64_t start; /* bytes from the buffer's start to the first element */
    int buffer;
} dt_view;

typedef struct dt_operand {
    dt_view view; /* rank 0 and buffer -1: a plain number, with `number` */
    dt_fill fill;
    uint64_t salt;
    int64_t low, high; /* from DT_FILL_RANGE on */
    int64_t parts;     /* of DT_FILL_EVEN */
    bool near;
    bool is_raw;       /* takes no part in broadcasting */
    bool is_number;
    double number;
} dt_operand;

typedef struct dt_node {
    dt_op op;
    int in[3];
    kiln_dtype dtype; /* of the result; given for CAST, CONSTANT and reductions with one */
    bool weak;        /* CONSTANT: a plain number, and which kind: dtype bool, int64, ... */
    double number;    /* CONSTANT */
    int operand;      /* INPUT */
    kiln_reduce_op reduction;
    kiln_scan_op scan;
    kiln_dtype into; /* REDUCE, SCAN: the dtype of an output that is not the result's own */
    unsigned flags;  /* SCAN, TAKEN */
    bool all_axes;   /* REDUCE, SCAN: no axes given */
    int axis_count, axis[DT_RANK]; /* REDUCE, SCAN, TRANSPOSE; axis[0] of the other views */
    bool keepdims;
    int64_t start, stop, step; /* SLICE; start of TAKE */
    int rank;                  /* of the result; given for BROADCAST and RESHAPE */
    int64_t shape[DT_RANK];
} dt_node;

typedef struct dt_output {
    int node;
    bool given;
    dt_view view; /* when given */
} dt_output;

/* How a function of family.h is called. */
typedef enum dt_way { DT_AT_ONCE, DT_RECORDED, DT_AS_TEXT, DT_WAY_COUNT } dt_way;

typedef struct dt_case {
    dt_kind kind;
    bool placeholders; /* signatures say T where they can */
    bool prepared;     /* prepared once and launched twice */
    bool repeated;     /* called once more, on another stream, which must give the same bits */
    bool as_text;      /* a graph: parsed from an expression */
    bool wide;         /* a graph: floats of 16 bits stay float32 until they are outputs */
    int spelling;      /* which of several texts of one meaning a custom reduction has */
    bool structured; /* custom reductions and scans: the accumulator is a struct that counts too */
    bool looped;   /* elementwise: constants come from loop_prep, and after_loop counts elements */
    bool imported; /* operands go through DLPack, and buffers come by uploads */
    int operand_count, node_count, output_count, buffer_count;
    dt_operand operand[DT_OPERANDS];
    int64_t buffer_bytes[DT_BUFFERS];
    dt_node node[DT_NODES];
    dt_output output[DT_OUTPUTS];
    int pivot; /* the node that reduces or scans, of kinds that have one */
    int where; /* the operand that is a mask, or -1 */
    bool has_initial;
    double initial;
    double ddof;
    int function; /* of a kind of family.h: its row, and what it takes besides operands */
    dt_way way;
    bool negated;  /* in graphs: operand 0 is the negative of what is stored */
    bool inverted; /* in graphs: output 0 is the negative of the result */
    int64_t number[DT_NUMBERS];
} dt_case;

void dt_case_init(dt_case *c, dt_kind kind);
/* Append; the results' dtypes and shapes are not known before dt_infer(). */
int dt_add_operand(dt_case *c, kiln_dtype dtype, dt_fill fill, uint64_t salt);
int dt_add_node(dt_case *c, dt_op op, int a, int b, int d);
/* Dtypes and shapes of all nodes. False, with a reason, for what is no valid case. */
bool dt_infer(dt_case *c, char *why, size_t bytes);
/* The same before the outputs' views are known. */
bool dt_infer_nodes(dt_case *c, char *why, size_t bytes);
/* The same of one node, whose operands are known; outputs are not looked at. */
bool dt_infer_node(dt_case *c, int node);
int64_t dt_size(int rank, const int64_t *shape);
/* The broadcast of all operands but a mask: what a snippet runs over. */
bool dt_loop_shape(const dt_case *c, int *rank, int64_t *shape);
/* The first index that a SLICE takes of an axis. */
int64_t dt_slice_first(const dt_node *n, int64_t extent);
bool dt_in_snippet(const dt_case *c);
/* Whether the case is one function of family.h, and no program. */
bool dt_in_family(const dt_case *c);
/* Whether a node is the product in kiln_array_sum_product() or kiln_array_vecdot(): products of
 * narrow floats are float32 there, not rounded each. */
bool dt_is_summed_product(const dt_case *c, const dt_node *n);
/* Whether a node is a plain number, which takes its dtype from what is beside it. */
bool dt_is_weak(const dt_case *c, const dt_node *n);
/* Whether a node reads an operand. */
bool dt_reads_operand(dt_op op);
/* Whether an operation stands for something of its own, and how many nodes it takes otherwise. */
int dt_operands_of(const dt_case *c, dt_op op);
bool dt_uses(const dt_case *c, dt_op op);
/* Whether an output has an element for each of the broadcast of all operands. */
bool dt_fills_loop(const dt_case *c, int output);

/* The dtypes of named reductions' and scans' results. */
kiln_dtype dt_reduced_dtype(kiln_reduce_op op, kiln_dtype in);
kiln_dtype dt_scanned_dtype(kiln_scan_op op, kiln_dtype in);
/* dt_infer(), and that views lie in their buffers and nodes and operands exist. */
bool dt_check_case(dt_case *c, char *why, size_t bytes);

/* Draw case `number` of a run: `definition` decides the program, `number` the views. */
bool dt_draw(dt_case *c, dt_kind kind, uint64_t seed, uint64_t definition, uint64_t number);

/* ---- text ------------------------------------------------------------------------------------ */

void dt_print_case(const dt_case *c, FILE *out);
/* Read one case, up to its "end". False at the end of the file, or with a complaint in `why`. */
bool dt_read_case(FILE *in, dt_case *c, char *why, size_t bytes);
/* Where a dtype stands among the placeholder letters of a signature; -1: it has none. */
int dt_placeholder(const dt_case *c, kiln_dtype dtype);
/* The parameters x0, x1, ... or z0, z1, ... */
void dt_signature(const dt_case *c, bool outputs, char *text, size_t bytes);
/* The parameters among the outputs that have one element a row. */
void dt_row_signature(const dt_case *c, char *text, size_t bytes);
/* Statements that assign them. */
void dt_row_statements(const dt_case *c, char *text, size_t bytes);
/* What a reduction or a scan maps, as a C++ expression. */
void dt_mapped(const dt_case *c, int node, char *text, size_t bytes);
/* Statements before a thread's first element: the constants of a case that is `looped`. */
void dt_loop_prep(const dt_case *c, char *text, size_t bytes);
/* How values of `dtype` are combined, in one of several spellings. */
void dt_combined(const dt_case *c, const dt_node *n, const char **reduce, const char **identity);
/* Statements that assign all outputs; `a` stands for the pivot. */
void dt_statements(const dt_case *c, char *text, size_t bytes);
/* A graph in the language of docs/expressions.md. */
void dt_expression(const dt_case *c, char *text, size_t bytes);

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct dt_array {
    kiln_dtype dtype;
    int rank;
    int64_t shape[DT_RANK], size;
    dt_value *at;
    dt_value *others; /* what elements may be instead, chained by `also` */
    int other_count;
} dt_array;

/* What each output must be, and the bytes that buffers begin with. */
typedef struct dt_expected {
    unsigned char *buffer[DT_BUFFERS];
    dt_array output[DT_OUTPUTS];
} dt_expected;

/* False when memory is short. */
bool dt_evaluate(const dt_case *c, dt_expected *e);
void dt_expected_clear(dt_expected *e);
/* Evaluate a reduction or a scan node over the value of its operand. */
bool dt_reduce_array(const dt_case *c, const dt_node *n, const dt_array *in, const dt_array *mask,
                     dt_array *out);
bool dt_scan_array(const dt_case *c, const dt_node *n, const dt_array *in, dt_array *out);
/* The place of an index among the reduced (or scanned) axes of `n`, in C-order. */
int64_t dt_reduced_position(const dt_node *n, const dt_array *in, const int64_t *index);
/* The same of a case of family.h, whose operands are `in`. */
bool dt_evaluate_family(const dt_case *c, dt_array *in, dt_array *out);
/* Names of its function, and back; -1: there is none of that name. */
const char *dt_function_name(int function);
int dt_function_named(const char *name);
bool dt_array_make(dt_array *a, kiln_dtype dtype, int rank, const int64_t *shape);
/* Whether the bytes are a right answer for the element `at`. */
bool dt_array_agrees(const dt_array *a, int64_t at, const void *element);
/* Assign `v` to the element `at`. In any order what was assigned before may stay as well. */
bool dt_array_assign(dt_array *a, int64_t at, dt_value v, bool in_any_order);
/* Place in `a` of the element that an index of a broadcast of `rank` axes stands for. */
int64_t dt_broadcast_at(const dt_array *a, int rank, const int64_t *index);
void dt_unravel(int64_t at, int rank, const int64_t *shape, int64_t *index);

/* ---- running --------------------------------------------------------------------------------- */

typedef enum dt_verdict {
    DT_RIGHT,
    DT_WRONG,   /* a wrong element, or bytes changed that no output owns */
    DT_REFUSED, /* kiln returned an error */
    DT_SKIPPED  /* no valid case, or no memory for it */
} dt_verdict;

typedef struct dt_report {
    dt_verdict verdict;
    kiln_status status; /* DT_REFUSED */
    char text[1024];
} dt_report;

/* A device under test, with the definition it was last asked for. */
typedef struct dt_device {
    const char *name;
    bool cuda;
    kiln_context *ctx;
    kiln_stream *stream; /* one beside the context's own */
} dt_device;

/* Operands and outputs on a device. */
typedef struct dt_arrays {
    kiln_array *storage[DT_BUFFERS];
    kiln_array *operand[DT_OPERANDS];
    kiln_array *output[DT_OUTPUTS];
    kiln_arg args[DT_OPERANDS + DT_OUTPUTS + 1];
    size_t arg_count;
    kiln_stream *stream; /* where to call; NULL: the context's own */
} dt_arrays;

dt_verdict dt_run(dt_device *device, const dt_case *c, const dt_expected *e, dt_report *report);

/* How kiln is called for each kind: `a` holds arguments, results go to a->output. */
kiln_status dt_call_elementwise(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_reduction(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_scan(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_graph(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_row(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_eager(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_family(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);

/* Launch what was prepared, twice, if the preparation succeeded. */
kiln_status dt_launch_twice(kiln_status prepared, kiln_launch *launch, kiln_stream *stream,
                            kiln_error *err);

/* The bits of a run, added up over all bytes that came back; two runs of a case must agree. */
void dt_add_bytes(uint64_t *hash, const unsigned char *bytes, size_t count);
void dt_check_repeated(uint64_t first, uint64_t second, dt_report *report);

/* Compare a buffer's bytes after a call: elements that outputs own, and all others. Afterwards `got` is
 * as it was before the call. */
void dt_check_bytes(const dt_case *c, const dt_expected *e, int buffer, unsigned char *got,
                    dt_report *report);

/* Drop the kernel kept from the last call (a context must not be released before). */
void dt_forget(void);

/* A smaller case that `fails` as well: fewer nodes, smaller shapes, plainer views. */
typedef bool (*dt_fails_fn)(void *user, const dt_case *c);
void dt_shrink(dt_case *c, dt_fails_fn fails, void *user);

#endif
