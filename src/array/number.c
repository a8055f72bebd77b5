/*
 * number.c - one number as text, digit for digit what NumPy prints.
 *
 *     format.c > [number]
 *
 * NumPy prints the shortest digits that read back as the same value *of the same dtype*: 0.1 is
 * "0.1" as float16, float32 and float64, though these are three different numbers. Where it cuts
 * digits off (8 after the point in an array) it rounds the exact value, not the shortest digits.
 * A float8 is printed as the float32 of its value: read back as a float8, 5e2 would do for 512.
 *
 * Rule 1: the locale has no say. printf's decimal point is skipped, whatever it is, and text for
 *         strtod is written without one ("15e-1").
 * Rule 2: the digits come from printf, which rounds exactly; the search for the fewest is ours.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "array/internal.h"

/* A float64 needs at most 17 digits, one before the point. */
#define DIGITS_MAX 17

double kiln__element_float(kiln_dtype dtype, const void *element, bool imaginary)
{
    const unsigned char *at = element;
    float single;
    double full;

    if (kiln__is_narrow(dtype))
        return (double)kiln__narrow_load(dtype, at);
    switch (dtype) {
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(&single, at + (imaginary ? sizeof single : 0), sizeof single);
        return (double)single;
    default:
        memcpy(&full, at + (imaginary ? sizeof full : 0), sizeof full);
        return full;
    }
}

kiln_dtype kiln__part_dtype(kiln_dtype dtype)
{
    if (dtype == KILN_COMPLEX64 || kiln__is_float8(dtype))
        return KILN_FLOAT32;
    return dtype == KILN_COMPLEX128 ? KILN_FLOAT64 : dtype;
}

/* ---- shortest digits ---- */

/* Digits d.ddd * 10^exponent of a finite magnitude. */
typedef struct digit_run {
    char text[20]; /* decimal digits, NUL-terminated; no trailing zeros; "0" for zero */
    int count;
    int exponent;
} digit_run;

/* Whether digits * 10^(exponent + 1 - count) reads back as `magnitude`. */
static bool digits_read_back(kiln_dtype dtype, double magnitude, const digit_run *d)
{
    char text[48];

    snprintf(text, sizeof text, "%se%d", d->text, d->exponent + 1 - d->count);
    if (dtype == KILN_FLOAT32)
        return (double)strtof(text, NULL) == magnitude;
    return kiln__float_round(dtype, strtod(text, NULL)) == magnitude;
}

/* `count` digits of the exact value, correctly rounded. */
static void digits_of(double magnitude, int count, digit_run *out)
{
    char text[KILN__NUMBER_BYTES];
    const char *at = text;

    snprintf(text, sizeof text, "%.*e", count - 1, magnitude);
    for (out->count = 0; *at != 'e' && *at != '\0'; at++)
        if (*at >= '0' && *at <= '9' && out->count < DIGITS_MAX)
            out->text[out->count++] = *at;
    out->text[out->count] = '\0';
    out->exponent = *at == 'e' ? atoi(at + 1) : 0;
}

/* The next decimal up in the last digit. */
static void digits_increment(digit_run *d)
{
    int place = d->count - 1;

    for (; place >= 0 && d->text[place] == '9'; place--)
        d->text[place] = '0';
    if (place >= 0) {
        d->text[place]++;
    } else {
        d->text[0] = '1'; /* 99 -> 100: the digits become 1 and zeros */
        d->exponent++;
    }
}

static void digits_trim(digit_run *d)
{
    while (d->count > 1 && d->text[d->count - 1] == '0')
        d->text[--d->count] = '\0';
}

/* The fewest digits that read back as the same value of `dtype` (a floating-point one). */
static void shortest_digits(kiln_dtype dtype, double magnitude, digit_run *out)
{
    int exponent_unused;
    bool power_of_two = frexp(magnitude, &exponent_unused) == 0.5;

    for (int count = 1; count < DIGITS_MAX; count++) {
        digits_of(magnitude, count, out);
        if (magnitude == 0 || digits_read_back(dtype, magnitude, out)) {
            digits_trim(out);
            return;
        }
        /* Below a power of two the values lie twice as dense: the nearest decimal may lie below
         * and fail while the one above still reads back. */
        if (power_of_two) {
            digits_increment(out);
            if (digits_read_back(dtype, magnitude, out)) {
                digits_trim(out);
                return;
            }
        }
    }
    digits_of(magnitude, DIGITS_MAX, out);
    digits_trim(out);
}

/* ---- layout of digits ---- */

static char *put_sign(char *at, double value, bool plus)
{
    if (signbit(value))
        *at++ = '-';
    else if (plus)
        *at++ = '+';
    return at;
}

void kiln__number_scientific(kiln_dtype dtype, double value, const kiln__number_style *style,
                             char text[KILN__NUMBER_BYTES])
{
    digit_run d;
    char *at = put_sign(text, value, style->plus);
    double magnitude = fabs(value);
    char exponent[16];

    shortest_digits(dtype, magnitude, &d);
    if (d.count - 1 > style->digits_max) {
        digits_of(magnitude, style->digits_max + 1, &d);
        digits_trim(&d);
    }
    if (d.count - 1 < style->digits_min)
        digits_of(magnitude, style->digits_min + 1, &d);
    *at++ = d.text[0];
    *at++ = '.';
    memcpy(at, d.text + 1, (size_t)(d.count - 1));
    at += d.count - 1;
    /* A float64's exponent has 3 digits; a column asks for 2 or 3. */
    snprintf(exponent, sizeof exponent, style->exponent_digits > 2 ? "e%+04d" : "e%+03d",
             d.exponent);
    memcpy(at, exponent, strlen(exponent) + 1);
}

/* d.ddd * 10^exponent without an exponent; `at` has room. */
static void put_positional(char *at, const digit_run *d)
{
    int place = 0;

    if (d->exponent < 0) {
        *at++ = '0';
    } else {
        for (; place <= d->exponent; place++)
            *at++ = place < d->count ? d->text[place] : '0';
    }
    *at++ = '.';
    for (int zeros = -1; zeros > d->exponent; zeros--)
        *at++ = '0';
    while (place < d->count)
        *at++ = d->text[place++];
    *at = '\0';
}

/* The exact value with `digits` digits after the point, then trailing zeros removed. */
static void put_rounded(char *at, double magnitude, int digits)
{
    char text[KILN__NUMBER_BYTES];
    size_t used = 0;

    snprintf(text, sizeof text, "%#.*f", digits, magnitude);
    for (const char *from = text; *from != '\0'; from++) {
        if (*from >= '0' && *from <= '9')
            at[used++] = *from;
        else if (used > 0 && at[used - 1] != '.')
            at[used++] = '.'; /* the locale's point may have several bytes */
    }
    while (used > 0 && at[used - 1] == '0') /* the point stops this */
        used--;
    at[used] = '\0';
}

void kiln__number_positional(kiln_dtype dtype, double value, const kiln__number_style *style,
                             char text[KILN__NUMBER_BYTES])
{
    digit_run d;
    char *at = put_sign(text, value, style->plus);
    double magnitude = fabs(value);

    shortest_digits(dtype, magnitude, &d);
    if (magnitude == 0)
        d.exponent = 0;
    if (d.count - 1 - d.exponent > style->digits_max)
        put_rounded(at, magnitude, style->digits_max);
    else if (d.count - 1 < d.exponent && style->digits_min >= 0)
        put_rounded(at, magnitude, 0);
    else if (magnitude == 0)
        memcpy(at, "0.", 3);
    else
        put_positional(at, &d);
}

/* ---- lone numbers ---- */

void kiln__number_integer(kiln_dtype dtype, const void *element, char text[KILN__NUMBER_BYTES])
{
    size_t bytes = kiln_dtype_size(dtype);
    uint64_t raw = 0;
    unsigned shift = (unsigned)(64 - 8 * bytes);

    switch (bytes) {
    case 1: {
        uint8_t v;
        memcpy(&v, element, sizeof v);
        raw = dtype == KILN_BOOL ? v != 0 : v;
        break;
    }
    case 2: {
        uint16_t v;
        memcpy(&v, element, sizeof v);
        raw = v;
        break;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, element, sizeof v);
        raw = v;
        break;
    }
    default:
        memcpy(&raw, element, sizeof raw);
        break;
    }
    if (kiln_dtype_kind(dtype) == 'i')
        snprintf(text, KILN__NUMBER_BYTES, "%" PRId64, (int64_t)(raw << shift) >> shift);
    else
        snprintf(text, KILN__NUMBER_BYTES, "%" PRIu64, raw);
}

/* A finite or infinite real, or NaN, as str() of a NumPy scalar; `part` leaves out the ".0" that
 * a lone real has and the parts of a complex number have not. */
static void put_real(kiln_dtype dtype, double value, bool plus, bool part,
                     char text[KILN__NUMBER_BYTES])
{
    const kiln__number_style style = {plus, -1, KILN__NUMBER_BYTES, 2};
    double magnitude = fabs(value);
    size_t used;

    if (isnan(value)) {
        snprintf(text, KILN__NUMBER_BYTES, "%snan", plus ? "+" : "");
        return;
    }
    if (isinf(value)) {
        snprintf(text, KILN__NUMBER_BYTES, "%sinf", value < 0 ? "-" : plus ? "+" : "");
        return;
    }
    if (magnitude == 0 || (magnitude < 1e16 && magnitude >= 1e-4)) {
        kiln__number_positional(dtype, value, &style, text);
        used = strlen(text);
        if (text[used - 1] == '.' && part)
            text[used - 1] = '\0';
        else if (text[used - 1] == '.')
            memcpy(text + used, "0", 2);
    } else {
        kiln__number_scientific(dtype, value, &style, text);
        char *point = strchr(text, '.');
        if (point != NULL && point[1] == 'e')
            memmove(point, point + 1, strlen(point));
    }
}

void kiln__number_scalar(kiln_dtype dtype, const void *element, char text[KILN__SCALAR_BYTES])
{
    char real_text[KILN__NUMBER_BYTES], imaginary_text[KILN__NUMBER_BYTES];
    kiln_dtype part = kiln__part_dtype(dtype);
    double real, imaginary;

    switch (kiln_dtype_kind(dtype)) {
    case 'b':
        snprintf(text, KILN__NUMBER_BYTES, "%s",
                 *(const unsigned char *)element != 0 ? "True" : "False");
        break;
    case 'f':
        put_real(part, kiln__element_float(dtype, element, false), false, false, text);
        break;
    case 'c':
        real = kiln__element_float(dtype, element, false);
        imaginary = kiln__element_float(dtype, element, true);
        if (real == 0 && !signbit(real)) { /* As in Python, 2j and not (0+2j). */
            put_real(part, imaginary, false, true, imaginary_text);
            snprintf(text, KILN__SCALAR_BYTES, "%sj", imaginary_text);
            break;
        }
        put_real(part, real, false, true, real_text);
        put_real(part, imaginary, true, true, imaginary_text);
        snprintf(text, KILN__SCALAR_BYTES, "(%s%sj)", real_text, imaginary_text);
        break;
    default:
        kiln__number_integer(dtype, element, text);
        break;
    }
}
