/*
 * ops.c - operations by value and by name; which loop computes one for given dtypes.
 *
 *     operands > their dtypes > first loop that takes all > input dtypes, expression
 *
 * NumPy walks a ufunc's loops, narrow types first, until it finds one to which all operands cast
 * safely. So do we; a plain number among them has taken the dtype that promotion gives it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/ops.h"

/* ---- the table ------------------------------------------------------------------------------- */

typedef enum op_shape {
    SHAPE_SAME,
    SHAPE_COMPARE,
    SHAPE_CHOOSE,
    SHAPE_SCALE,
    SHAPE_TRUTH,
    SHAPE_CLAMP
} op_shape;

typedef struct op_loop {
    const char *types;
    const char *as; /* "" = the type itself */
    const char *out;
    const char *expression;
    bool calls;
    bool divides;
} op_loop;

/* The most loops an operation has. */
enum { LOOP_MAX = 6 };

typedef struct kiln__op_row {
    op_shape shape;
    const char *refused;
    op_loop loop[LOOP_MAX + 1]; /* ends with types NULL */
} op_row;

typedef struct alias {
    const char *name;
    kiln_op op;
} alias;

#define GROUP(title)
#define LOOP(types, out, expression) {types, "", out, expression, false, false},
#define LOOP_AS(types, as, out, expression) {types, as, out, expression, false, false},
#define CALL(types, out, expression) {types, "", out, expression, true, false},
#define CALL_AS(types, as, out, expression) {types, as, out, expression, true, false},
#define QUOTIENT(types, out, expression) {types, "", out, expression, false, true},
#define QUOTIENT_AS(types, as, out, expression) {types, as, out, expression, false, true},

typedef struct pair {
    const char *name;
    kiln_op op[2];
} pair;

/* clang-format off */
#define PAIR(text, FIRST, SECOND, first, second)
#define ALIAS(other, NAME)
#define OP(NAME, value, text, arity, shape, refused, doc, ...)                                     \
    static const op_row row_##NAME = {SHAPE_##shape, refused, {__VA_ARGS__}};
#include "ops/ops.def"
#undef OP

/* By value, so that finding one costs nothing; values without an operation have no name. */
#define OP(NAME, value, text, arity, shape, refused, doc, ...)                                     \
    [value] = {KILN_OP_##NAME, text, arity, doc, &row_##NAME},
static const kiln__op ops[] = {
#include "ops/ops.def"
};
#undef OP
#undef ALIAS

#define OP(NAME, value, text, arity, shape, refused, doc, ...)
#define ALIAS(other, NAME) {other, KILN_OP_##NAME},
static const alias aliases[] = {
#include "ops/ops.def"
};
#undef ALIAS
#undef PAIR

#define ALIAS(other, NAME)
#define PAIR(text, FIRST, SECOND, first, second) {text, {KILN_OP_##FIRST, KILN_OP_##SECOND}},
static const pair pairs[] = {
#include "ops/ops.def"
};
#undef OP
#undef ALIAS
#undef PAIR
/* clang-format on */

/* The letters of the table, in the order in which NumPy's ufuncs list their loops: a dtype comes
 * before all others that it casts to safely. */
static const struct {
    char letter;
    kiln_dtype dtype;
} letters[] = {
    {'?', KILN_BOOL},    {'b', KILN_INT8},      {'B', KILN_UINT8},      {'h', KILN_INT16},
    {'H', KILN_UINT16},  {'i', KILN_INT32},     {'I', KILN_UINT32},     {'q', KILN_INT64},
    {'Q', KILN_UINT64},  {'e', KILN_FLOAT16},   {'E', KILN_BFLOAT16},   {'f', KILN_FLOAT32},
    {'d', KILN_FLOAT64}, {'F', KILN_COMPLEX64}, {'D', KILN_COMPLEX128},
};

kiln_dtype kiln__op_dtype(char letter)
{
    for (size_t k = 0; k < KILN_COUNT_OF(letters); k++)
        if (letters[k].letter == letter)
            return letters[k].dtype;
    return KILN_DTYPE_NONE;
}

/* Both float8 have the letter that says so in `refused`; rows have no loops of theirs. */
#define FLOAT8 '8'

static char letter_of(kiln_dtype dtype)
{
    if (kiln__is_float8(dtype))
        return FLOAT8;
    for (size_t k = 0; k < KILN_COUNT_OF(letters); k++)
        if (letters[k].dtype == dtype)
            return letters[k].letter;
    return '\0';
}

/* The dtype of a complex number's parts. */
static kiln_dtype real_of(kiln_dtype dtype)
{
    return dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : dtype == KILN_COMPLEX128 ? KILN_FLOAT64 : dtype;
}

const kiln__op *kiln__op_at(size_t index)
{
    for (size_t k = 0; k < KILN_COUNT_OF(ops); k++)
        if (ops[k].name != NULL && index-- == 0)
            return &ops[k];
    return NULL;
}

const kiln__op *kiln__op_find(kiln_op op)
{
    const size_t value = (size_t)op;
    return value < KILN_COUNT_OF(ops) && ops[value].name != NULL ? &ops[value] : NULL;
}

const kiln__op *kiln__op_named(const char *name, size_t name_bytes)
{
    for (size_t k = 0; k < KILN_COUNT_OF(ops); k++)
        if (ops[k].name != NULL && kiln__same_word(name, name_bytes, ops[k].name))
            return &ops[k];
    for (size_t k = 0; k < KILN_COUNT_OF(aliases); k++)
        if (kiln__same_word(name, name_bytes, aliases[k].name))
            return kiln__op_find(aliases[k].op);
    return NULL;
}

bool kiln__op_pair_named(const char *name, size_t name_bytes, kiln_op op[2])
{
    for (size_t k = 0; k < KILN_COUNT_OF(pairs); k++)
        if (kiln__same_word(name, name_bytes, pairs[k].name)) {
            op[0] = pairs[k].op[0];
            op[1] = pairs[k].op[1];
            return true;
        }
    return false;
}

const char *kiln_op_name(kiln_op op)
{
    const kiln__op *found = kiln__op_find(op);
    return found != NULL ? found->name : "unknown";
}

/* ---- choosing a loop ------------------------------------------------------------------------- */

void kiln__op_operands(const kiln__op *op, const kiln__op_type *in, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < op->arity && used < bytes; k++) {
        const char *name = in[k].weak ? "a plain number" : kiln_dtype_name(in[k].dtype);
        const char *join = k == 0 ? "" : k + 1 == op->arity ? " and " : ", ";
        const int n = snprintf(text + used, bytes - used, "%s%s", join, name);
        used += n > 0 ? (size_t)n : 0;
    }
}

static kiln_status refuse(const kiln__op *op, const kiln__op_type *in, kiln_error *err)
{
    char text[128];
    kiln__op_operands(op, in, text, sizeof text);
    return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s", op->name, text);
}

/* The loop that computes in the type `letter`; a float8 is computed by the loop of float32. */
static const op_loop *loop_of(const op_row *row, char letter)
{
    if (letter == FLOAT8)
        letter = letter_of(KILN_FLOAT32);
    for (const op_loop *l = row->loop; l->types != NULL; l++)
        if (l->as[0] == '\0' && strchr(l->types, letter) != NULL)
            return l;
    return NULL;
}

/* The loop for operands of these dtypes, whose common dtype is `common`, and the type it computes
 * in; NULL when there is none. Each operand by itself must cast to that type: int8 and uint8, whose
 * common dtype is int16, both fit float16, in which hypot takes them. */
static const op_loop *find_loop(const op_row *row, const kiln_dtype *in, int count,
                                kiln_dtype common, kiln_dtype *type)
{
    const char letter = letter_of(common);

    if (letter == '\0' || strchr(row->refused, letter) != NULL)
        return NULL;
    if (letter == FLOAT8 && loop_of(row, letter) != NULL) {
        *type = common;
        return loop_of(row, letter);
    }
    for (const op_loop *l = row->loop; l->types != NULL; l++) {
        if (l->as[0] != '\0' && strchr(l->types, letter) != NULL) {
            *type = kiln__op_dtype(l->as[0]);
            return l;
        }
    }
    for (size_t k = 0; k < KILN_COUNT_OF(letters); k++) {
        const op_loop *l = loop_of(row, letters[k].letter);
        bool fits = l != NULL;
        *type = letters[k].dtype;
        for (int p = 0; p < count && fits; p++)
            fits = kiln__can_cast(in[p], *type);
        if (fits)
            return l;
    }
    return NULL;
}

/* As find_loop for operands of which some are plain numbers: these take the common dtype. */
static const op_loop *find_loop_of(const op_row *row, const kiln__op_type *in, int count,
                                   kiln_dtype *type)
{
    kiln_dtype common = KILN_DTYPE_NONE, dtypes[KILN__OP_ARITY_MAX];

    if (!kiln__result_type(in, (size_t)count, &common))
        return NULL;
    for (int k = 0; k < count; k++)
        dtypes[k] = in[k].weak ? common : in[k].dtype;
    return find_loop(row, dtypes, count, common, type);
}

static void set_loop(const op_loop *l, kiln_dtype type, int arity, kiln__op_loop *out)
{
    memset(out, 0, sizeof *out);
    for (int k = 0; k < arity; k++)
        out->in[k] = type;
    out->type = type;
    out->out = l->out[0] == '\0' ? type : l->out[0] == 'r' ? real_of(type) : kiln__op_dtype(l->out[0]);
    out->expression = l->expression;
    out->calls = l->calls;
    out->divides = l->divides;
}

/* Whether a plain integer is a value of the integer dtype. */
static bool integer_fits(const kiln__number *n, kiln_dtype dtype)
{
    const int bits = 8 * (int)kiln_dtype_size(dtype);
    switch (kiln_dtype_kind(dtype)) {
    case 'b':
        return n->kind == 'i' && (n->value.i == 0 || n->value.i == 1);
    case 'i':
        if (n->kind == 'u')
            return false;
        return bits == 64 ||
               (n->value.i >= -(INT64_C(1) << (bits - 1)) && n->value.i < INT64_C(1) << (bits - 1));
    case 'u':
        if (n->kind == 'u')
            return bits == 64;
        return n->value.i >= 0 && (bits == 64 || n->value.i < INT64_C(1) << bits);
    default:
        return true;
    }
}

static bool is_plain_integer(const kiln__op_type *t)
{
    return t->weak && (t->number.kind == 'i' || t->number.kind == 'u');
}

bool kiln__number_fits(const kiln__number *number, kiln_dtype dtype)
{
    return (number->kind != 'i' && number->kind != 'u') || integer_fits(number, dtype);
}

bool kiln__number_same(const kiln__number *a, const kiln__number *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == 'b')
        return a->value.b == b->value.b;
    if (a->kind == 'c')
        return memcmp(a->value.c, b->value.c, sizeof a->value.c) == 0;
    return a->value.u == b->value.u;
}

/* Every plain integer must fit what it becomes, as in NumPy 2. */
static kiln_status check_range(const kiln__op *op, const kiln__op_type *in,
                               const kiln__op_loop *loop, kiln_error *err)
{
    for (int k = 0; k < op->arity; k++) {
        const kiln__number *n = &in[k].number;
        if (!in[k].weak || kiln__number_fits(n, loop->in[k]))
            continue;
        if (loop->in[k] == KILN_BOOL)
            continue; /* a condition: whether it is zero */
        if (n->kind == 'u')
            return kiln__fail(err, KILN_ERR_RANGE, "%s: the number %llu does not fit %s", op->name,
                              (unsigned long long)n->value.u, kiln_dtype_name(loop->in[k]));
        return kiln__fail(err, KILN_ERR_RANGE, "%s: the number %lld does not fit %s", op->name,
                          (long long)n->value.i, kiln_dtype_name(loop->in[k]));
    }
    return KILN_OK;
}

/* The loop of operands that are all promoted to one dtype. */
static kiln_status resolve_same(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *out,
                                kiln_error *err)
{
    kiln_dtype type = KILN_DTYPE_NONE;
    const op_loop *l = find_loop_of(op->row, in, op->arity, &type);

    if (l == NULL)
        return refuse(op, in, err);
    set_loop(l, type, op->arity, out);
    return KILN_OK;
}

/* Whether a plain integer is, or may be, beyond the integers of `common`. */
static bool may_exceed(const kiln__op_type *t, kiln_dtype common)
{
    const char kind = kiln_dtype_kind(common);
    if (!is_plain_integer(t))
        return false;
    return t->unknown ? kind == 'i' || kind == 'u' : !integer_fits(&t->number, common);
}

/* Comparisons: a plain integer that the other's dtype cannot hold keeps its own, and a signed
 * integer meets uint64 in a loop of its own, for no dtype holds both. */
static kiln_status resolve_compare(const kiln__op *op, const kiln__op_type *given,
                                   kiln__op_loop *out, kiln_error *err)
{
    kiln__op_type in[KILN__OP_ARITY_MAX];
    kiln_dtype common = KILN_DTYPE_NONE;
    bool is_signed[2] = {false}, is_wide[2] = {false};

    memcpy(in, given, (size_t)op->arity * sizeof in[0]);
    if (!kiln__result_type(in, (size_t)op->arity, &common))
        return refuse(op, given, err);
    for (int k = 0; k < 2; k++) {
        if (may_exceed(&in[k], common)) {
            in[k].weak = false;
            in[k].dtype = kiln__number_dtype(&in[k].number);
        } else if (in[k].weak) {
            continue;
        }
        is_signed[k] = kiln_dtype_kind(in[k].dtype) == 'i';
        is_wide[k] = in[k].dtype == KILN_UINT64;
    }
    const bool mixed = (is_signed[0] && is_wide[1]) || (is_wide[0] && is_signed[1]);
    if (!mixed)
        return resolve_same(op, in, out, err);
    for (const op_loop *l = op->row->loop; l->types != NULL; l++) {
        if (l->types[0] != 'm')
            continue;
        set_loop(l, KILN_BOOL, op->arity, out);
        for (int k = 0; k < 2; k++)
            out->in[k] = is_wide[k] ? KILN_UINT64 : KILN_INT64;
        return KILN_OK;
    }
    return refuse(op, given, err);
}

/* where(): NumPy promotes only the two values. */
static kiln_status resolve_choose(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *out,
                                  kiln_error *err)
{
    kiln_dtype type = KILN_DTYPE_NONE;
    const op_loop *l = NULL;

    if (in[0].weak || kiln_dtype_size(in[0].dtype) != 0)
        l = find_loop_of(op->row, in + 1, 2, &type);
    if (l == NULL)
        return refuse(op, in, err);
    set_loop(l, type, op->arity, out);
    out->in[0] = KILN_BOOL;
    return KILN_OK;
}

/* ldexp(): the exponent stays an integer, of 32 bits or of 64. */
static kiln_status resolve_scale(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *out,
                                 kiln_error *err)
{
    kiln_dtype type = KILN_DTYPE_NONE, exponent = KILN_DTYPE_NONE;
    const op_loop *l = NULL;

    if (kiln__result_type(in + 1, 1, &exponent) && kiln__can_cast(exponent, KILN_INT64))
        l = find_loop_of(op->row, in, 1, &type);
    if (l == NULL)
        return refuse(op, in, err);
    set_loop(l, type, op->arity, out);
    out->in[1] = kiln__can_cast(exponent, KILN_INT32) ? KILN_INT32 : KILN_INT64;
    return KILN_OK;
}

/* Logic: whatever it is, only whether it is zero counts. */
static kiln_status resolve_truth(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *out,
                                 kiln_error *err)
{
    for (int k = 0; k < op->arity; k++)
        if (!in[k].weak && kiln_dtype_size(in[k].dtype) == 0)
            return refuse(op, in, err);
    set_loop(&op->row->loop[0], KILN_BOOL, op->arity, out);
    return KILN_OK;
}

static bool is_two(const kiln__op_type *t)
{
    const kiln__number *n = &t->number;
    return t->weak && !t->unknown &&
           (n->kind == 'f' ? n->value.f == 2.0 : n->kind == 'i' && n->value.i == 2);
}

/* x ** 2 of a float is x * x, as in NumPy: rounded once, and a tenth of pow()'s work. */
static void square_loop(kiln__op_loop *power)
{
    if (kiln_dtype_kind(power->type) != 'f')
        return;
    power->expression = loop_of(&row_SQUARE, letter_of(power->type))->expression;
    power->calls = false;
}

kiln_status kiln__op_resolve(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *out,
                             kiln_error *err)
{
    kiln_status status = KILN_OK;

    switch (op->row->shape) {
    case SHAPE_COMPARE:
        status = resolve_compare(op, in, out, err);
        break;
    case SHAPE_CHOOSE:
        status = resolve_choose(op, in, out, err);
        break;
    case SHAPE_SCALE:
        status = resolve_scale(op, in, out, err);
        break;
    case SHAPE_TRUTH:
        status = resolve_truth(op, in, out, err);
        break;
    case SHAPE_SAME:
    case SHAPE_CLAMP:
        status = resolve_same(op, in, out, err);
        break;
    }
    if (status == KILN_OK && op->row->shape != SHAPE_CLAMP)
        status = check_range(op, in, out, err);
    if (status == KILN_OK && op->op == KILN_OP_POWER && is_two(&in[1]))
        square_loop(out);
    return status;
}

static kiln_dtype widened(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16 ? KILN_FLOAT32 : dtype;
}

void kiln__op_widen(const kiln__op *op, const kiln__op_type *in, kiln__op_loop *loop)
{
    const bool of_format = op->op == KILN_OP_SPACING || op->op == KILN_OP_NEXTAFTER;

    if (of_format || widened(loop->type) == loop->type)
        return;
    const op_loop *wide = loop_of(op->row, 'w');
    if (wide == NULL)
        wide = loop_of(op->row, letter_of(KILN_FLOAT32));
    for (int k = 0; k < op->arity; k++)
        loop->in[k] = widened(loop->in[k]);
    loop->out = widened(loop->out);
    loop->type = KILN_FLOAT32;
    loop->expression = wide->expression;
    loop->calls = wide->calls;
    loop->divides = wide->divides;
    if (op->op == KILN_OP_POWER && is_two(&in[1]))
        square_loop(loop);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* $U: arithmetic on it wraps. Integers only. */
static const char *wrap_ctype(kiln_dtype dtype)
{
    return kiln_dtype_ctype(kiln_dtype_size(dtype) == 8 ? KILN_UINT64 : KILN_UINT32);
}

/* $W: what a 16-bit float is computed in. */
static const char *work_ctype(kiln_dtype dtype)
{
    return kiln_dtype_ctype(kiln__is_narrow(dtype) ? KILN_FLOAT32 : dtype);
}

/* A C++ type as the callee of a cast: `unsigned char(x)` is no expression, `(unsigned char)(x)`
 * is. */
static void put_type(kiln__buf *b, const char *ctype, bool call)
{
    const bool brackets = call && strchr(ctype, ' ') != NULL;
    kiln__buf_printf(b, brackets ? "(%s)" : "%s", ctype);
}

/* Digits of a float's significand. */
static int digits_of(kiln_dtype dtype)
{
    return dtype == KILN_BFLOAT16 ? 8 : dtype == KILN_FLOAT16 ? 11 : dtype == KILN_FLOAT32 ? 24 : 53;
}

bool kiln__op_reads(const kiln__op_loop *loop)
{
    for (const char *c = loop->expression; *c != '\0'; c++)
        if (*c == '$' && c[1] >= '0' && c[1] <= '9')
            return true;
    return false;
}

/* A float8 is a float to all expressions, which is rounded when it is assigned. */
static void put_operand(kiln__buf *b, kiln_dtype dtype, const char *text)
{
    kiln__buf_printf(b, kiln__is_float8(dtype) ? "float(%s)" : "%s", text);
}

void kiln__op_text(kiln__buf *b, const kiln__op_loop *loop, const char *const *operand_text)
{
    const kiln_dtype type = kiln__is_float8(loop->type) ? KILN_FLOAT32 : loop->type;

    for (const char *c = loop->expression; *c != '\0'; c++) {
        if (*c != '$') {
            kiln__buf_putc(b, *c);
            continue;
        }
        c++;
        const int k = *c - '0';
        if (k >= 0 && k < KILN__OP_ARITY_MAX)
            put_operand(b, loop->in[k], operand_text[k]);
        else if (k >= 0 && k <= 9) /* of a random source: no operand */
            kiln__buf_puts(b, operand_text[k]);
        else if (*c == 'D')
            kiln__buf_printf(b, "%d", digits_of(type));
        else
            put_type(b,
                     *c == 'T'   ? kiln_dtype_ctype(type)
                     : *c == 'W' ? work_ctype(type)
                     : *c == 'U' ? wrap_ctype(type)
                                 : kiln_dtype_ctype(real_of(type)),
                     c[1] == '(');
    }
}

void kiln__cast_text(kiln__buf *b, kiln_dtype from, kiln_dtype to, const char *operand)
{
    const bool complex_from = kiln_dtype_kind(from) == 'c';

    if (from == to) {
        kiln__buf_puts(b, operand);
        return;
    }
    if (to == KILN_BOOL) {
        kiln__buf_printf(b, "(%s != ", operand);
        put_type(b, kiln_dtype_ctype(from), true);
        kiln__buf_puts(b, "(0))");
        return;
    }
    put_type(b, kiln_dtype_ctype(to), true);
    if (from == KILN_BOOL && (to == KILN_FLOAT32 || to == KILN_FLOAT64))
        kiln__buf_printf(b, "(int(%s))", operand); /* what g++ makes vectors of */
    else
        kiln__buf_printf(b, complex_from && kiln_dtype_kind(to) != 'c' ? "(%s.real())" : "(%s)",
                         operand);
}

/* The fewest digits that read back as `v`: a literal of float or double, never one of int. */
static void put_float(kiln__buf *b, double v, bool single)
{
    char text[48];
    const char *type = single ? "" : "(double)";

    if (!isfinite(v)) {
        kiln__buf_printf(b, isnan(v) ? "(%sNAN)" : v < 0 ? "(%s-INFINITY)" : "(%sINFINITY)", type);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    const bool plain = strpbrk(text, ".e") == NULL;
    kiln__buf_printf(b, signbit(v) ? "(%s%s%s)" : "%s%s%s", text, plain ? ".0" : "",
                     single ? "f" : "");
}

/* A number as a double, rounded. */
static double number_real(const kiln__number *n)
{
    switch (n->kind) {
    case 'b':
        return n->value.b ? 1.0 : 0.0;
    case 'i':
        return (double)n->value.i;
    case 'u':
        return (double)n->value.u;
    case 'f':
        return n->value.f;
    default:
        return n->value.c[0];
    }
}

/* An integer, or its dtype's end where it lies beyond. */
static kiln__number clamp_integer(const kiln__number *number, kiln_dtype dtype)
{
    const int bits = 8 * (int)kiln_dtype_size(dtype);
    const bool has_sign = kiln_dtype_kind(dtype) == 'i';
    kiln__number n = *number;

    if (n.kind == 'b') {
        n.kind = 'i';
        n.value.i = number->value.b;
    }
    if (integer_fits(&n, dtype))
        return n;
    if (n.kind == 'i' && n.value.i < 0) {
        n.value.i = has_sign ? -INT64_C(1) - (INT64_MAX >> (64 - bits)) : 0;
    } else {
        n.value.u = UINT64_MAX >> (64 - bits) >> has_sign;
        n.kind = n.value.u > INT64_MAX ? 'u' : 'i';
    }
    return n;
}

kiln__number kiln__number_as(const kiln__number *number, kiln_dtype dtype)
{
    kiln__number n = {.kind = 'b'};

    switch (kiln_dtype_kind(dtype)) {
    case 'b':
        n.value.b =
            number_real(number) != 0.0 || (number->kind == 'c' && number->value.c[1] != 0.0);
        break;
    case 'i':
    case 'u':
        return clamp_integer(number, dtype);
    case 'f':
        n.kind = 'f';
        n.value.f = kiln__float_round(dtype, number_real(number));
        break;
    default:
        n.kind = 'c';
        n.value.c[0] = kiln__float_round(real_of(dtype), number_real(number));
        n.value.c[1] = number->kind == 'c' ? kiln__float_round(real_of(dtype), number->value.c[1]) : 0.0;
        break;
    }
    return n;
}

/* `v` is a value of the dtype. */
static void put_real(kiln__buf *b, double v, kiln_dtype dtype)
{
    const bool narrow = kiln__is_narrow(dtype);

    if (narrow)
        kiln__buf_printf(b, "%s(", kiln_dtype_ctype(dtype));
    put_float(b, v, dtype != KILN_FLOAT64);
    if (narrow)
        kiln__buf_putc(b, ')');
}

static void put_integer(kiln__buf *b, const kiln__number *n, kiln_dtype dtype)
{
    const bool wide = kiln_dtype_size(dtype) == 8, has_sign = kiln_dtype_kind(dtype) == 'i';
    const char *suffix = wide ? (has_sign ? "ll" : "ull") : has_sign ? "" : "u";
    const int64_t v = n->value.i;

    if (kiln_dtype_size(dtype) < 4)
        put_type(b, kiln_dtype_ctype(dtype), true);
    if (n->kind == 'u')
        kiln__buf_printf(b, "%llu%s", (unsigned long long)n->value.u, suffix);
    else if (v == INT64_MIN || (v == INT32_MIN && !wide))
        kiln__buf_printf(b, "(%lld%s - 1)", (long long)v + 1, suffix); /* -2^31 is no literal */
    else
        kiln__buf_printf(b, v < 0 || kiln_dtype_size(dtype) < 4 ? "(%lld%s)" : "%lld%s",
                         (long long)v, suffix);
}

void kiln__number_text(kiln__buf *b, const kiln__number *number, kiln_dtype dtype)
{
    const kiln__number n = kiln__number_as(number, dtype);
    const kiln_dtype part = real_of(dtype);

    switch (n.kind) {
    case 'b':
        kiln__buf_puts(b, n.value.b ? "true" : "false");
        break;
    case 'i':
    case 'u':
        put_integer(b, &n, dtype);
        break;
    case 'f':
        put_real(b, n.value.f, dtype);
        break;
    default:
        kiln__buf_printf(b, "%s(", kiln_dtype_ctype(dtype));
        put_real(b, n.value.c[0], part);
        kiln__buf_puts(b, ", ");
        put_real(b, n.value.c[1], part);
        kiln__buf_putc(b, ')');
        break;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool kiln__op_of_numbers(kiln_op op, const double *x, double *out)
{
    switch (op) {
    case KILN_OP_ADD:
        *out = x[0] + x[1];
        return true;
    case KILN_OP_SUBTRACT:
        *out = x[0] - x[1];
        return true;
    case KILN_OP_MULTIPLY:
        *out = x[0] * x[1];
        return true;
    case KILN_OP_DIVIDE:
        *out = x[0] / x[1];
        return true;
    case KILN_OP_POSITIVE:
        *out = x[0];
        return true;
    case KILN_OP_NEGATIVE:
        *out = -x[0];
        return true;
    case KILN_OP_RECIPROCAL:
        *out = 1 / x[0];
        return true;
    case KILN_OP_SQUARE:
        *out = x[0] * x[0];
        return true;
    case KILN_OP_POWER:
        *out = pow(x[0], x[1]);
        return true;
    case KILN_OP_SQRT:
        *out = sqrt(x[0]);
        return true;
    case KILN_OP_EXP:
        *out = exp(x[0]);
        return true;
    case KILN_OP_TANH:
        *out = tanh(x[0]);
        return true;
    default:
        return false;
    }
}
