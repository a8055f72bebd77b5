/*
 * dtype.c - the facts of each element type, and the many names people write for them.
 *
 * Names come from two worlds that mostly agree. Where they do not (float and int are 32 bits wide
 * in CUDA, 64 in NumPy), C wins: a name is read as the C++ of the snippet beside it reads it.
 *
 *     text -> words and marks -> { C integer words | one name | complex<...> } -> dtype
 */
#include "core/core.h"

/* ---- facts ---- */

typedef struct dtype_facts {
    const char *name;
    const char *ctype;
    size_t size;
    char kind;
} dtype_facts;

/* clang-format off */
static const dtype_facts FACTS[KILN_DTYPE_COUNT] = {
    [KILN_DTYPE_NONE] = {"none", "void", 0, 0},
#define DTYPE_FACTS(tag, value, text, size, kind, ctype, npy) [value] = {text, ctype, size, kind},
    KILN_DTYPE_MAP(DTYPE_FACTS)
#undef DTYPE_FACTS
};
/* clang-format on */

static const dtype_facts *facts_of(kiln_dtype dtype)
{
    return &FACTS[(unsigned)dtype < KILN_DTYPE_COUNT ? (unsigned)dtype : 0];
}

const char *kiln_dtype_name(kiln_dtype dtype)
{
    return facts_of(dtype)->name;
}

size_t kiln_dtype_size(kiln_dtype dtype)
{
    return facts_of(dtype)->size;
}

char kiln_dtype_kind(kiln_dtype dtype)
{
    return facts_of(dtype)->kind;
}

const char *kiln_dtype_ctype(kiln_dtype dtype)
{
    return facts_of(dtype)->ctype;
}

/* ---- names ---- */

/* Names of one word that are no combination of C's integer words. */
static const struct {
    const char *name;
    unsigned char dtype;
} NAMES[] = {
#define DTYPE_NAME(tag, value, text, size, kind, ctype, npy) {text, value},
    KILN_DTYPE_MAP(DTYPE_NAME)
#undef DTYPE_NAME
    /* NumPy's short codes. (bfloat16's "V2" is no name: it is any two bytes. Nor are float8's.) */
    {"b1", KILN_BOOL},
    {"i1", KILN_INT8},
    {"i2", KILN_INT16},
    {"i4", KILN_INT32},
    {"i8", KILN_INT64},
    {"u1", KILN_UINT8},
    {"u2", KILN_UINT16},
    {"u4", KILN_UINT32},
    {"u8", KILN_UINT64},
    {"f2", KILN_FLOAT16},
    {"f4", KILN_FLOAT32},
    {"f8", KILN_FLOAT64},
    {"c8", KILN_COMPLEX64},
    {"c16", KILN_COMPLEX128},
    /* NumPy's other names. */
    {"bool_", KILN_BOOL},
    {"byte", KILN_INT8},
    {"ubyte", KILN_UINT8},
    {"ushort", KILN_UINT16},
    {"intc", KILN_INT32},
    {"uintc", KILN_UINT32},
    {"int_", KILN_INT64},
    {"longlong", KILN_INT64},
    {"ulonglong", KILN_UINT64},
    {"intp", KILN_INT64},
    {"uintp", KILN_UINT64},
    {"half", KILN_FLOAT16},
    {"single", KILN_FLOAT32},
    {"float_", KILN_FLOAT64},
    {"csingle", KILN_COMPLEX64},
    {"singlecomplex", KILN_COMPLEX64},
    {"cdouble", KILN_COMPLEX128},
    {"complex_", KILN_COMPLEX128},
    {"complex", KILN_COMPLEX128},
    /* C, C++ and CUDA. */
    {"_Bool", KILN_BOOL},
    {"uint", KILN_UINT32},
    {"ulong", KILN_UINT64},
    {"size_t", KILN_UINT64},
    {"ssize_t", KILN_INT64},
    {"ptrdiff_t", KILN_INT64},
    {"intptr_t", KILN_INT64},
    {"uintptr_t", KILN_UINT64},
    {"int8_t", KILN_INT8},
    {"int16_t", KILN_INT16},
    {"int32_t", KILN_INT32},
    {"int64_t", KILN_INT64},
    {"uint8_t", KILN_UINT8},
    {"uint16_t", KILN_UINT16},
    {"uint32_t", KILN_UINT32},
    {"uint64_t", KILN_UINT64},
    {"float", KILN_FLOAT32},
    {"double", KILN_FLOAT64},
    {"__half", KILN_FLOAT16},
    {"_Float16", KILN_FLOAT16},
    {"__nv_bfloat16", KILN_BFLOAT16},
    {"nv_bfloat16", KILN_BFLOAT16},
    {"__nv_fp8_e4m3", KILN_FLOAT8_E4M3FN},
    {"__nv_fp8_e5m2", KILN_FLOAT8_E5M2},
};

typedef struct span {
    const char *text;
    size_t bytes;
} span;

static span trim(span s)
{
    while (s.bytes != 0 && kiln__is_blank(s.text[0])) {
        s.text++;
        s.bytes--;
    }
    while (s.bytes != 0 && kiln__is_blank(s.text[s.bytes - 1]))
        s.bytes--;
    return s;
}

static bool equals(span s, const char *word)
{
    return kiln__same_word(s.text, s.bytes, word);
}

/* Cut the leading word off; empty when `s` begins with something else. */
static span take_word(span *s)
{
    span word = {s->text, 0};

    while (word.bytes < s->bytes && kiln__is_word_byte(s->text[word.bytes]))
        word.bytes++;
    *s = trim((span){s->text + word.bytes, s->bytes - word.bytes});
    return word;
}

static bool take_mark(span *s, const char *mark)
{
    size_t bytes = strlen(mark);

    if (s->bytes < bytes || memcmp(s->text, mark, bytes) != 0)
        return false;
    *s = trim((span){s->text + bytes, s->bytes - bytes});
    return true;
}

/* What a sequence of C's integer words means; C allows them in any order ("long unsigned int"). */
static kiln_dtype from_integer_words(span s)
{
    int chars = 0, shorts = 0, ints = 0, longs = 0, with_sign = 0, without_sign = 0;

    while (s.bytes != 0) {
        span word = take_word(&s);
        if (equals(word, "char"))
            chars++;
        else if (equals(word, "short"))
            shorts++;
        else if (equals(word, "int"))
            ints++;
        else if (equals(word, "long"))
            longs++;
        else if (equals(word, "signed"))
            with_sign++;
        else if (equals(word, "unsigned"))
            without_sign++;
        else
            return KILN_DTYPE_NONE;
    }
    if (chars > 1 || shorts > 1 || ints > 1 || longs > 2 || with_sign + without_sign > 1 ||
        (chars != 0) + (shorts != 0) + (longs != 0) > 1 || (chars != 0 && ints != 0))
        return KILN_DTYPE_NONE;

    bool is_unsigned = without_sign != 0;
    if (chars != 0)
        return is_unsigned ? KILN_UINT8 : KILN_INT8;
    if (shorts != 0)
        return is_unsigned ? KILN_UINT16 : KILN_INT16;
    if (longs != 0)
        return is_unsigned ? KILN_UINT64 : KILN_INT64;
    if (ints + with_sign + without_sign == 0)
        return KILN_DTYPE_NONE;
    return is_unsigned ? KILN_UINT32 : KILN_INT32;
}

static kiln_dtype from_plain_name(span s)
{
    for (size_t k = 0; k < KILN_COUNT_OF(NAMES); k++) {
        if (equals(s, NAMES[k].name))
            return (kiln_dtype)NAMES[k].dtype;
    }
    return from_integer_words(s);
}

/* Drop "std::", "thrust::" or "cuda::std::", also with a "::" before it. False for any other
 * namespace. */
static bool drop_namespace(span *s, bool *dropped)
{
    span rest = *s;
    bool global = take_mark(&rest, "::");

    *dropped = false;
    span word = take_word(&rest);
    if (!take_mark(&rest, "::"))
        return !global;
    if (equals(word, "cuda")) {
        word = take_word(&rest);
        if (!equals(word, "std") || !take_mark(&rest, "::"))
            return false;
    } else if (!equals(word, "std") && !equals(word, "thrust")) {
        return false;
    }
    *s = rest;
    *dropped = true;
    return true;
}

kiln_dtype kiln_dtype_from_name(const char *name, size_t name_bytes)
{
    bool qualified = false;

    if (name == NULL)
        return KILN_DTYPE_NONE;
    span s = trim((span){name, name_bytes});
    if (!drop_namespace(&s, &qualified))
        return KILN_DTYPE_NONE;

    span rest = s;
    if (equals(take_word(&rest), "complex") && take_mark(&rest, "<")) {
        if (rest.bytes == 0 || rest.text[rest.bytes - 1] != '>')
            return KILN_DTYPE_NONE;
        rest = trim((span){rest.text, rest.bytes - 1});
        if (equals(rest, "float") || equals(rest, "float32"))
            return KILN_COMPLEX64;
        if (equals(rest, "double") || equals(rest, "float64"))
            return KILN_COMPLEX128;
        return KILN_DTYPE_NONE;
    }
    /* Of the plain names a namespace holds only those like std::size_t. */
    if (qualified && (s.bytes < 2 || memcmp(s.text + s.bytes - 2, "_t", 2) != 0))
        return KILN_DTYPE_NONE;
    return from_plain_name(s);
}
