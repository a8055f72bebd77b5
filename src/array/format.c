/*
 * format.c - an array as the text that NumPy's str() gives.
 *
 *     look at the visible elements > choose one style for the column > write rows > wrap lines
 *
 * Defaults of NumPy's set_printoptions: precision 8, threshold 1000, edgeitems 3, linewidth 75,
 * nan "nan", inf "inf", suppress off. One style holds for all elements: exponents for all when
 * the largest magnitude is 1e8 or more, the smallest (not 0) below 1e-4, or one is over a thousand
 * times the other; else all points are aligned. Beyond `threshold` elements only the first and
 * last three of each axis are shown, and only these decide the style.
 *
 * Rule 1: rows are written left to right into one buffer; a line is wrapped before the word that
 *         would not fit, so nothing is ever moved.
 */
#include <math.h>
#include <stdio.h>

#include "array/internal.h"

#define PRECISION 8
#define THRESHOLD 1000
#define EDGE_ITEMS INT64_C(3)
#define LINE_WIDTH 75

/* A number of a column with its padding, which is never wider than another number. */
#define PADDED_BYTES ((size_t)2 * KILN__NUMBER_BYTES)
#define TEXT_BYTES_MAX ((size_t)4 << 30)

/* How the numbers of a column are written, once all visible ones have been seen. */
typedef struct column {
    kiln_dtype dtype; /* of the (part of the) number */
    bool exponential;
    int left;  /* characters before the point, sign included */
    int right; /* characters after the point */
    kiln__number_style style;
    /* Gathered on the way: */
    bool any_special, any_negative_infinite;
    double largest, smallest; /* magnitudes of what is finite and not 0 */
    int fraction, exponent;   /* most digits seen */
} column;

typedef struct format_job {
    kiln_dtype dtype;
    int rank;
    const int64_t *shape;
    int64_t strides[KILN_RANK_MAX];
    bool summary; /* too many elements: show edges only */
    column real, imaginary;
    int integer_width;
    kiln__buf out;
    int line; /* characters in the line being written */
} format_job;

typedef void (*element_fn)(format_job *job, const unsigned char *element);

/* Call `fn` for every element that will be shown, in order. */
static void for_each_visible(format_job *job, int axis, const unsigned char *at, element_fn fn)
{
    if (axis == job->rank) {
        fn(job, at);
        return;
    }
    bool cut = job->summary && job->shape[axis] > 2 * EDGE_ITEMS;
    for (int64_t i = 0; i < job->shape[axis]; i++) {
        if (cut && i == EDGE_ITEMS)
            i = job->shape[axis] - EDGE_ITEMS;
        for_each_visible(job, axis + 1, at + i * job->strides[axis], fn);
    }
}

/* ---- choosing the style ---- */

static void column_see_magnitude(column *c, double value)
{
    double magnitude = fabs(value);

    if (!isfinite(value)) {
        c->any_special = true;
        c->any_negative_infinite |= isinf(value) && value < 0;
        return;
    }
    if (magnitude != 0) {
        c->largest = magnitude > c->largest ? magnitude : c->largest;
        c->smallest = c->smallest == 0 || magnitude < c->smallest ? magnitude : c->smallest;
    }
}

/* largest / smallest as the dtype itself would compute it. */
static double column_ratio(const column *c)
{
    return kiln__float_round(c->dtype, c->largest / c->smallest);
}

static void column_see_digits(column *c, double value)
{
    char text[KILN__NUMBER_BYTES];

    if (!isfinite(value))
        return;
    if (c->exponential)
        kiln__number_scientific(c->dtype, value, &c->style, text);
    else
        kiln__number_positional(c->dtype, value, &c->style, text);
    const char *point = strchr(text, '.');
    const char *end = c->exponential ? strchr(text, 'e') : text + strlen(text);
    if ((int)(point - text) > c->left)
        c->left = (int)(point - text);
    if ((int)(end - point) - 1 > c->fraction)
        c->fraction = (int)(end - point) - 1;
    if (c->exponential && (int)strlen(end) - 2 > c->exponent)
        c->exponent = (int)strlen(end) - 2;
}

/* What remains once every visible number has been seen twice. */
static void column_settle(column *c)
{
    if (c->exponential) {
        c->style.digits_min = c->fraction;
        c->style.digits_max = c->fraction;
        c->style.exponent_digits = c->exponent;
        c->right = c->exponent + 2 + c->fraction;
    } else {
        c->right = c->fraction;
    }
    if (!c->any_special)
        return;
    int offset = c->right + 1;
    int special = 3 + (c->style.plus || c->any_negative_infinite ? 1 : 0);
    if (special - offset > c->left)
        c->left = special - offset;
}

static void see_magnitude(format_job *job, const unsigned char *element)
{
    column_see_magnitude(&job->real, kiln__element_float(job->dtype, element, false));
    if (kiln_dtype_kind(job->dtype) == 'c')
        column_see_magnitude(&job->imaginary, kiln__element_float(job->dtype, element, true));
}

static void see_digits(format_job *job, const unsigned char *element)
{
    column_see_digits(&job->real, kiln__element_float(job->dtype, element, false));
    if (kiln_dtype_kind(job->dtype) == 'c')
        column_see_digits(&job->imaginary, kiln__element_float(job->dtype, element, true));
}

static void see_integer(format_job *job, const unsigned char *element)
{
    char text[KILN__NUMBER_BYTES];

    kiln__number_integer(job->dtype, element, text);
    if ((int)strlen(text) > job->integer_width)
        job->integer_width = (int)strlen(text);
}

static void column_start(column *c, kiln_dtype dtype, bool plus)
{
    memset(c, 0, sizeof *c);
    c->dtype = dtype;
    c->style.plus = plus;
    c->style.digits_max = PRECISION;
    c->style.exponent_digits = 2;
}

static void choose_style(format_job *job, const unsigned char *data)
{
    column *parts[2] = {&job->real, &job->imaginary};

    switch (kiln_dtype_kind(job->dtype)) {
    case 'b':
        break;
    case 'i':
    case 'u':
        for_each_visible(job, 0, data, see_integer);
        break;
    default:
        column_start(&job->real, kiln__part_dtype(job->dtype), false);
        column_start(&job->imaginary, kiln__part_dtype(job->dtype), true);
        for_each_visible(job, 0, data, see_magnitude);
        for (int k = 0; k < 2; k++)
            parts[k]->exponential = parts[k]->largest >= 1e8 ||
                                    (parts[k]->smallest != 0 &&
                                     (parts[k]->smallest < 1e-4 || column_ratio(parts[k]) > 1000));
        for_each_visible(job, 0, data, see_digits);
        for (int k = 0; k < 2; k++)
            column_settle(parts[k]);
        break;
    }
}

/* ---- writing ---- */

/* One number of a column, padded on both sides so that points line up. Returns its length. */
static int column_text(const column *c, double value, char text[PADDED_BYTES])
{
    char bare[KILN__NUMBER_BYTES];
    int left, right;

    if (!isfinite(value)) {
        snprintf(bare, sizeof bare, "%s%s",
                 !isnan(value) && value < 0 ? "-"
                 : c->style.plus            ? "+"
                                            : "",
                 isnan(value) ? "nan" : "inf");
        return snprintf(text, PADDED_BYTES, "%*s", c->left + c->right + 1, bare);
    }
    if (c->exponential)
        kiln__number_scientific(c->dtype, value, &c->style, bare);
    else
        kiln__number_positional(c->dtype, value, &c->style, bare);
    left = (int)strcspn(bare, ".");
    right = (int)strlen(bare) - left - 1;
    return snprintf(text, PADDED_BYTES, "%*s%s%*s", c->left - left, "", bare,
                    c->right > right ? c->right - right : 0, "");
}

static void complex_text(const format_job *job, const unsigned char *element,
                         char text[2 * PADDED_BYTES])
{
    int real = column_text(&job->real, kiln__element_float(job->dtype, element, false), text);
    char *imaginary = text + real;
    int length =
        column_text(&job->imaginary, kiln__element_float(job->dtype, element, true), imaginary);
    int digits = length;

    /* The j goes behind the last digit, before the padding. */
    while (digits > 0 && imaginary[digits - 1] == ' ')
        digits--;
    memmove(imaginary + digits + 1, imaginary + digits, (size_t)(length - digits) + 1);
    imaginary[digits] = 'j';
}

/* Append a word, on a new line when it does not fit on this one. */
static void put_word(format_job *job, int axis, const char *word)
{
    int indent = axis + 1, width = LINE_WIDTH - axis - 1, length = (int)strlen(word);

    if (job->line + length > width && job->line > indent) {
        kiln__buf *out = &job->out;
        while (out->length > 0 && out->text[out->length - 1] == ' ')
            out->text[--out->length] = '\0';
        kiln__buf_printf(out, "\n%*s", indent, "");
        job->line = indent;
    }
    kiln__buf_puts(&job->out, word);
    job->line += length;
}

static void put_element(format_job *job, int axis, const unsigned char *element)
{
    char text[2 * PADDED_BYTES], bare[KILN__NUMBER_BYTES];

    switch (kiln_dtype_kind(job->dtype)) {
    case 'b':
        snprintf(text, sizeof text, "%s", *element != 0 ? " True" : "False");
        break;
    case 'i':
    case 'u':
        kiln__number_integer(job->dtype, element, bare);
        snprintf(text, sizeof text, "%*s", job->integer_width, bare);
        break;
    case 'c':
        complex_text(job, element, text);
        break;
    default:
        column_text(&job->real, kiln__element_float(job->dtype, element, false), text);
        break;
    }
    put_word(job, axis, text);
}

/* The innermost axis: words with a space between. */
static void put_row(format_job *job, int axis, const unsigned char *at)
{
    int64_t count = job->shape[axis];
    bool cut = job->summary && count > 2 * EDGE_ITEMS;

    job->line = axis + 1;
    for (int64_t i = 0; i < count && !job->out.failed; i++) {
        if (i > 0) {
            kiln__buf_putc(&job->out, ' ');
            job->line++;
        }
        if (cut && i == EDGE_ITEMS) {
            put_word(job, axis, "...");
            i = count - EDGE_ITEMS - 1;
            continue;
        }
        put_element(job, axis, at + i * job->strides[axis]);
    }
}

static void put_axis(format_job *job, int axis, const unsigned char *at)
{
    int64_t count = job->shape[axis];
    bool cut = job->summary && count > 2 * EDGE_ITEMS;

    kiln__buf_putc(&job->out, '[');
    if (axis == job->rank - 1) {
        put_row(job, axis, at);
    } else {
        for (int64_t i = 0; i < count && !job->out.failed; i++) {
            if (i > 0) {
                /* One line break, and one empty line for each axis further out. */
                for (int breaks = job->rank - 1 - axis; breaks > 0; breaks--)
                    kiln__buf_putc(&job->out, '\n');
                kiln__buf_printf(&job->out, "%*s", axis + 1, "");
            }
            if (cut && i == EDGE_ITEMS) {
                kiln__buf_puts(&job->out, "...");
                i = count - EDGE_ITEMS - 1;
                continue;
            }
            put_axis(job, axis + 1, at + i * job->strides[axis]);
        }
    }
    kiln__buf_putc(&job->out, ']');
}

kiln_status kiln__array_format(kiln_dtype dtype, int rank, const int64_t *shape, const void *data,
                               char **text_out, kiln_error *err)
{
    format_job job;
    int64_t size = 0;

    *text_out = NULL;
    KILN_CHECK(kiln__shape_size(rank, shape, kiln_dtype_size(dtype), &size, err));
    memset(&job, 0, sizeof job);
    job.dtype = dtype;
    job.rank = rank;
    job.shape = shape;
    job.summary = size > THRESHOLD;
    job.out.max_bytes = TEXT_BYTES_MAX;
    if (rank == 0) {
        char text[KILN__SCALAR_BYTES];
        kiln__number_scalar(dtype, data, text);
        kiln__buf_puts(&job.out, text);
    } else if (size == 0) {
        kiln__buf_puts(&job.out, "[]");
    } else {
        kiln__strides_ordered(rank, shape, NULL, kiln_dtype_size(dtype), job.strides);
        choose_style(&job, data);
        put_axis(&job, 0, data);
    }
    if (job.out.failed) {
        kiln__buf_clear(&job.out);
        return kiln__fail_memory(err, (size_t)size);
    }
    *text_out = kiln__buf_take(&job.out);
    if (*text_out == NULL)
        return kiln__fail_memory(err, 1);
    return KILN_OK;
}
