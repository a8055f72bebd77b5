/*
 * npy.c - the header of a .npy file, from bytes that nobody has checked.
 *
 *     file.c > [parse] > array          array > file.c > [make]
 *
 *     \x93NUMPY  major minor  length (2 bytes in format 1.0, else 4)  dictionary ... \n  elements
 *
 * The dictionary is a Python literal. Exactly what NumPy writes is needed, and a little more is
 * taken, as other programs write these files too: keys in any order, either kind of quote, blanks
 * anywhere, a comma after the last item, Python 2's "3L". It is not a Python parser, on purpose.
 *
 * Rule 1: no byte at or beyond `end` is looked at, and nothing here allocates.
 * Rule 2: bytes of the file reach an error message only through printable().
 * Rule 3: whatever is wrong is ERR_FORMAT, with the thing that is wrong in the message.
 */
#include <inttypes.h>
#include <stdio.h>

#include "array/internal.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES ((size_t)6)

/* What NumPy pads the elements' offset to. */
#define NPY_ALIGNMENT ((size_t)64)

typedef struct npy_cursor {
    const unsigned char *at, *end;
    kiln_error *err;
} npy_cursor;

/* A quoted string inside the header. */
typedef struct npy_text {
    const unsigned char *at;
    size_t bytes;
} npy_text;

/* `text` for a message: cut, and everything but plain ASCII replaced. */
static const char *printable(const npy_text *text, char out[48])
{
    size_t used = 0;

    for (; used < text->bytes && used < 40; used++)
        out[used] = text->at[used] >= 32 && text->at[used] < 127 ? (char)text->at[used] : '?';
    memcpy(out + used, used < text->bytes ? "..." : "", used < text->bytes ? 4 : 1);
    return out;
}

static bool text_is(const npy_text *text, const char *word)
{
    return kiln__same_word((const char *)text->at, text->bytes, word);
}

static void skip_blanks(npy_cursor *c)
{
    while (c->at < c->end && kiln__is_blank(*c->at))
        c->at++;
}

/* Blanks, then `what` when it comes next. */
static bool accept(npy_cursor *c, char what)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != (unsigned char)what)
        return false;
    c->at++;
    return true;
}

static kiln_status expect(npy_cursor *c, char what, const char *where)
{
    char seen[48];
    npy_text next;

    if (accept(c, what))
        return KILN_OK;
    if (c->at == c->end)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header ends where \"%c\" is due %s", what,
                          where);
    next.at = c->at;
    next.bytes = 1;
    return kiln__fail(c->err, KILN_ERR_FORMAT, "the header has \"%s\" where \"%c\" is due %s",
                      printable(&next, seen), what, where);
}

static kiln_status parse_text(npy_cursor *c, npy_text *out, const char *what)
{
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header's %s is no string", what);
    unsigned char quote = *c->at++;
    out->at = c->at;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' || *c->at == '\n' || *c->at < 32 || *c->at > 126)
            return kiln__fail(c->err, KILN_ERR_FORMAT,
                              "the header's %s holds byte 0x%02x, which is not plain text", what,
                              *c->at);
        c->at++;
    }
    if (c->at == c->end)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header's %s is never closed", what);
    out->bytes = (size_t)(c->at - out->at);
    c->at++;
    return KILN_OK;
}

/* ---- descr ---- */

/* Why NumPy types that kiln has no dtype for are refused. */
static const char *refusal(char kind)
{
    switch (kind) {
    case 'O':
        return "Python objects, which only Python can read";
    case 'S':
    case 'a':
        return "byte strings";
    case 'U':
        return "Unicode strings";
    case 'M':
        return "dates (datetime64)";
    case 'm':
        return "time spans (timedelta64)";
    case 'V':
        return "raw records (void) that are neither bfloat16 nor float8_e4m3fn";
    default:
        return "elements of a type kiln does not have";
    }
}

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

static kiln_status parse_descr(npy_cursor *c, kiln__npy_header *out)
{
#define NPY_CODE(name, value, text, size, kind, ctype, code) {KILN_##name, code},
    static const struct {
        kiln_dtype dtype;
        char code[4];
    } codes[] = {KILN_DTYPE_MAP(NPY_CODE)};
#undef NPY_CODE
    char shown[48];
    npy_text text = {NULL, 0}, code;
    char order = '=';

    skip_blanks(c);
    if (c->at < c->end && (*c->at == '[' || *c->at == '(' || *c->at == '{'))
        return kiln__fail(c->err, KILN_ERR_FORMAT,
                          "the elements are structures (several fields each)");
    KILN_CHECK(parse_text(c, &text, "'descr'"));
    code = text;
    if (code.bytes > 0 && strchr("<>|=", code.at[0]) != NULL) {
        order = (char)code.at[0];
        code.at++;
        code.bytes--;
    }
    for (size_t k = 0; k < KILN_COUNT_OF(codes); k++) {
        if (!text_is(&code, codes[k].code))
            continue;
        if (codes[k].dtype == KILN_BFLOAT16 && order == '>')
            break; /* Raw bytes have no order: nobody who means bfloat16 writes this. */
        out->dtype = codes[k].dtype;
        out->swap = kiln_dtype_size(out->dtype) > 1 && ((order == '>' && !host_is_big_endian()) ||
                                                        (order == '<' && host_is_big_endian()));
        return KILN_OK;
    }
    return kiln__fail(c->err, KILN_ERR_FORMAT, "dtype \"%s\": %s", printable(&text, shown),
                      code.bytes > 0 ? refusal((char)code.at[0]) : "no type is named");
}

/* ---- fortran_order, shape ---- */

static bool accept_word(npy_cursor *c, const char *word)
{
    size_t bytes = strlen(word);

    skip_blanks(c);
    if ((size_t)(c->end - c->at) < bytes || memcmp(c->at, word, bytes) != 0)
        return false;
    c->at += bytes;
    return true;
}

static kiln_status parse_order(npy_cursor *c, kiln__npy_header *out)
{
    if (accept_word(c, "True"))
        out->fortran = true;
    else if (accept_word(c, "False"))
        out->fortran = false;
    else
        return kiln__fail(c->err, KILN_ERR_FORMAT,
                          "the header's 'fortran_order' is neither True nor False");
    return KILN_OK;
}

static kiln_status parse_extent(npy_cursor *c, int axis, int64_t *out)
{
    int64_t value = 0;

    skip_blanks(c);
    const unsigned char *start = c->at;
    if (c->at < c->end && *c->at == '-')
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the extent of axis %d is negative", axis);
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (kiln__mul_overflow(value, 10, &value) ||
            kiln__add_overflow(value, *c->at - '0', &value))
            return kiln__fail(c->err, KILN_ERR_FORMAT, "the extent of axis %d does not fit 63 bits",
                              axis);
    if (c->at == start)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the extent of axis %d is no whole number",
                          axis);
    if (*start == '0' && c->at - start > 1)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the extent of axis %d begins with a 0", axis);
    if (c->at < c->end && *c->at == 'L')
        c->at++;
    *out = value;
    return KILN_OK;
}

static kiln_status parse_shape(npy_cursor *c, kiln__npy_header *out)
{
    bool comma = true;

    KILN_CHECK(expect(c, '(', "to begin the shape"));
    out->rank = 0;
    while (!accept(c, ')')) {
        if (!comma)
            return expect(c, ')', "to end the shape");
        if (out->rank == KILN_RANK_MAX)
            return kiln__fail(c->err, KILN_ERR_FORMAT, "the shape has more than %d axes",
                              KILN_RANK_MAX);
        KILN_CHECK(parse_extent(c, out->rank, &out->shape[out->rank]));
        out->rank++;
        comma = accept(c, ',');
    }
    if (out->rank == 1 && !comma)
        return kiln__fail(c->err, KILN_ERR_FORMAT,
                          "the shape is a number in brackets, not a tuple");
    return KILN_OK;
}

/* ---- the dictionary ---- */

static kiln_status parse_entry(npy_cursor *c, kiln__npy_header *out, unsigned *seen_io)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    char shown[48];
    npy_text key = {NULL, 0};
    unsigned which = 0;

    KILN_CHECK(parse_text(c, &key, "key"));
    while (which < KILN_COUNT_OF(names) && !text_is(&key, names[which]))
        which++;
    if (which == KILN_COUNT_OF(names))
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header has an unknown key \"%s\"",
                          printable(&key, shown));
    if ((*seen_io & 1u << which) != 0)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header has the key \"%s\" twice",
                          names[which]);
    *seen_io |= 1u << which;
    KILN_CHECK(expect(c, ':', "behind a key"));
    if (which == 0)
        return parse_descr(c, out);
    return which == 1 ? parse_order(c, out) : parse_shape(c, out);
}

static kiln_status parse_dictionary(npy_cursor *c, kiln__npy_header *out)
{
    unsigned seen = 0;
    bool comma = true;

    KILN_CHECK(expect(c, '{', "to begin the dictionary"));
    while (!accept(c, '}')) {
        if (!comma)
            return expect(c, '}', "to end the dictionary");
        KILN_CHECK(parse_entry(c, out, &seen));
        comma = accept(c, ',');
    }
    if (seen != 7)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header has no key \"%s\"",
                          (seen & 1) == 0   ? "descr"
                          : (seen & 2) == 0 ? "fortran_order"
                                            : "shape");
    skip_blanks(c);
    if (c->at != c->end)
        return kiln__fail(c->err, KILN_ERR_FORMAT, "the header goes on behind its dictionary");
    return KILN_OK;
}

kiln_status kiln__npy_prefix(const void *data, size_t bytes, size_t *prefix_out, size_t *length_out,
                             kiln_error *err)
{
    const unsigned char *at = data;

    if (bytes >= 4 && memcmp(at, "PK\3\4", 4) == 0)
        return kiln__fail(
            err, KILN_ERR_FORMAT,
            "it is a .zip archive, as .npz files are; kiln_array_load_npz() reads those");
    if (bytes < MAGIC_BYTES || memcmp(at, MAGIC, MAGIC_BYTES) != 0)
        return kiln__fail(err, KILN_ERR_FORMAT, "it does not begin as a .npy file does");
    if (bytes < MAGIC_BYTES + 2)
        return kiln__fail(err, KILN_ERR_FORMAT, "it ends before the format's version");
    if (at[6] < 1 || at[6] > 3 || at[7] != 0)
        return kiln__fail(err, KILN_ERR_FORMAT, "format %d.%d is none of 1.0, 2.0 and 3.0", at[6],
                          at[7]);
    *prefix_out = at[6] == 1 ? 10 : 12;
    if (bytes < *prefix_out)
        return kiln__fail(err, KILN_ERR_FORMAT, "it ends before the header's length");
    *length_out = (size_t)at[8] | (size_t)at[9] << 8;
    if (at[6] > 1)
        *length_out |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (*length_out > KILN__NPY_HEADER_BYTES_MAX)
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "a header of %zu bytes is claimed, more than the %zu any array needs",
                          *length_out, (size_t)KILN__NPY_HEADER_BYTES_MAX);
    return KILN_OK;
}

kiln_status kiln__npy_parse(const void *data, size_t bytes, kiln__npy_header *out, kiln_error *err)
{
    size_t prefix = 0, length = 0;
    npy_cursor c;
    int64_t size;

    memset(out, 0, sizeof *out);
    KILN_CHECK(kiln__npy_prefix(data, bytes, &prefix, &length, err));
    if (bytes - prefix < length)
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "it ends inside the header: %zu bytes claimed, %zu there", length,
                          bytes - prefix);
    c.at = (const unsigned char *)data + prefix;
    c.end = c.at + length;
    c.err = err;
    if (length == 0 || c.end[-1] != '\n')
        return kiln__fail(err, KILN_ERR_FORMAT, "the header does not end in a line break");
    KILN_CHECK(parse_dictionary(&c, out));
    if (kiln__shape_size(out->rank, out->shape, kiln_dtype_size(out->dtype), &size, NULL) !=
        KILN_OK)
        return kiln__fail(err, KILN_ERR_FORMAT, "the shape does not fit 62 bits of bytes");
    out->data_offset = prefix + length;
    return KILN_OK;
}

/* ---- making a header ---- */

size_t kiln__npy_make(kiln_dtype dtype, int rank, const int64_t *shape,
                      char out[KILN__NPY_MADE_BYTES_MAX])
{
#define NPY_CODE(name, value, text, size, kind, ctype, code) [value] = code,
    static const char codes[KILN_DTYPE_COUNT][4] = {KILN_DTYPE_MAP(NPY_CODE)};
#undef NPY_CODE
    const size_t prefix = 10;
    /* ml_dtypes gives its types of one byte an order. */
    const bool plain = kiln_dtype_size(dtype) == 1 && !kiln__is_float8(dtype);
    const char order = plain ? '|' : host_is_big_endian() ? '>' : '<';
    char extents[KILN_RANK_MAX * 22 + 8];
    int growth = 0;

    (void)kiln__shape_text(rank, shape, extents, sizeof extents);
    if (rank > 0) /* NumPy leaves room for the first extent to grow in place to 21 digits. */
        growth = 21 - snprintf(NULL, 0, "%" PRId64, shape[0]);
    size_t used =
        prefix + (size_t)snprintf(out + prefix, KILN__NPY_MADE_BYTES_MAX - prefix,
                                  "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }%*s",
                                  order, codes[dtype], extents, growth, "");
    /* As NumPy, which adds a whole line of padding where none was needed. */
    size_t total = (used + 1) / NPY_ALIGNMENT * NPY_ALIGNMENT + NPY_ALIGNMENT;
    memset(out + used, ' ', total - used);
    out[total - 1] = '\n';
    memcpy(out, MAGIC "\x01\x00", MAGIC_BYTES + 2);
    out[8] = (char)((total - prefix) & 255);
    out[9] = (char)((total - prefix) >> 8);
    return total;
}
