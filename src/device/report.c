/*
 * report.c - what kernels found wrong with the values in arrays, told at the next synchronise.
 *
 *     kernel > [the first finding, in page-locked memory] > synchronise > ERR_INDEX, ERR_SINGULAR, ERR_RANGE
 *
 * A kernel that meets an index out of range leaves the element out, claims the report if nobody has yet,
 * and goes on; so does one that finds a matrix which could not be factorised. Whoever waits for the device next is told, and the report is free again. While
 * nothing is wrong a synchronise costs one load.
 *
 * Rule 1: the words are those that templates/prelude/gather.h and templates/linalg/report.cu write.
 * Rule 2: all streams and threads share the report. It is read only once the kernel that claimed it says that it
 *         is whole, and by one thread, which frees it when it has read and cleared everything else.
 */
#include <stdio.h>

#include "device/watch.h"

enum {
    WORD_STATE,
    WORD_VALUE,
    WORD_UNSIGNED,
    WORD_EXTENT,
    WORD_AXIS,
    WORD_ELEMENT, /* -1: not known */
    WORD_NAMES    /* the array's, then that of the indices, each of NAME_WORDS words */
};
enum { STATE_FREE, STATE_CLAIMED, STATE_WHOLE, STATE_BEING_READ };
enum { NAME_WORDS = (KILN__REPORT_WORDS - WORD_NAMES) / 2, NAME_BYTES = NAME_WORDS * 8 };

/* Of the step that a thread enqueues. */
static _Thread_local int current_column;

int kiln__report_column(int column)
{
    const int before = current_column;

    if (column >= 0)
        current_column = column;
    return before;
}

static void put_place(const int64_t *report, char *out, size_t bytes)
{
    out[0] = '\0';
    if (report[WORD_ELEMENT] >= 0)
        snprintf(out, bytes, "; it is used by element %lld of the result",
                 (long long)report[WORD_ELEMENT]);
}

/* Copy the report and free it; false where there is none, or none that is whole. */
static bool take_report(int64_t *shared, int64_t *out)
{
    _Atomic(int64_t) *const state = (_Atomic(int64_t) *)(void *)&shared[WORD_STATE];
    int64_t whole = STATE_WHOLE;

    if (atomic_load_explicit(state, memory_order_acquire) != STATE_WHOLE ||
        !atomic_compare_exchange_strong(state, &whole, STATE_BEING_READ))
        return false;
    memcpy(out + 1, shared + 1, (KILN__REPORT_WORDS - 1) * sizeof *out);
    memset(shared + 1, 0, (KILN__REPORT_WORDS - 1) * sizeof *shared);
    atomic_store_explicit(state, STATE_FREE, memory_order_release);
    return true;
}

void kiln__report_index(int64_t *report, int64_t index, int64_t extent, int axis, int64_t at,
                        const char *array, const char *indices)
{
    _Atomic(int64_t) *const state = (_Atomic(int64_t) *)(void *)&report[WORD_STATE];
    int64_t none = STATE_FREE;

    if (!atomic_compare_exchange_strong(state, &none, STATE_CLAIMED))
        return;
    report[WORD_VALUE] = index;
    report[WORD_EXTENT] = extent;
    report[WORD_AXIS] = axis;
    report[WORD_ELEMENT] = at;
    snprintf((char *)&report[WORD_NAMES], NAME_BYTES, "%s", array);
    snprintf((char *)&report[WORD_NAMES + NAME_WORDS], NAME_BYTES, "%s", indices);
    atomic_store(state, STATE_WHOLE);
}

/* ---- matrices ---- */

/* Of a matrix the names are: the function's in 3 words, the stack's rank and shape, and why it
 * failed. */
enum { MATRIX_RANK = 3, MATRIX_SHAPE = 4, MATRIX_WHY = 10, FUNCTION_BYTES = 24, WHY_BYTES = 80 };
enum { RANK_UNKNOWN = 255, COLUMN_SHIFT = 8 }; /* behind the rank stands the column */

void kiln__report_matrix_words(const char *function, const char *why, int rank,
                               const int64_t *stack, int64_t words[KILN__REPORT_MATRIX_WORDS])
{
    const bool fits = rank <= KILN__REPORT_MATRIX_RANK;

    memset(words, 0, KILN__REPORT_MATRIX_WORDS * sizeof *words);
    snprintf((char *)words, FUNCTION_BYTES, "%s", function);
    words[MATRIX_RANK] = fits ? rank : RANK_UNKNOWN; /* the number of the matrix must do */
    words[MATRIX_RANK] |= (int64_t)current_column << COLUMN_SHIFT;
    if (fits)
        memcpy(words + MATRIX_SHAPE, stack, (size_t)rank * sizeof *stack);
    snprintf((char *)(words + MATRIX_WHY), WHY_BYTES, "%s", why);
}

/* "matrix [1, 2] of the stack", "the matrix". */
static void name_matrix(int64_t nth, int rank, const int64_t *stack, char *text, size_t bytes)
{
    int64_t index[KILN_RANK_MAX] = {nth};
    size_t length = 0;

    if (rank == 0) {
        snprintf(text, bytes, "the matrix");
        return;
    }
    for (int axis = rank - 1; axis >= 0; axis--) {
        index[axis] = nth % stack[axis];
        nth /= stack[axis];
    }
    length = (size_t)snprintf(text, bytes, "matrix [");
    for (int axis = 0; axis < (rank > 0 ? rank : 1) && length < bytes; axis++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%lld", axis > 0 ? ", " : "",
                                   (long long)index[axis]);
    if (length < bytes)
        snprintf(text + length, bytes - length, "] of the stack");
}

kiln_status kiln__fail_matrix(const char *function, const char *why, int64_t number, int64_t nth,
                              int rank, const int64_t *stack, kiln_error *err)
{
    const char *gap = strstr(why, "%lld");
    const int before = gap != NULL ? (int)(gap - why) : (int)strlen(why);
    char name[128], text[24];

    name_matrix(nth, rank, stack, name, sizeof name);
    snprintf(text, sizeof text, "%lld", (long long)number);
    return kiln__fail(err, KILN_ERR_SINGULAR, "%s: %s %.*s%s%s", function, name, before, why,
                      gap != NULL ? text : "", gap != NULL ? gap + 4 : "");
}

/* ---- values ---- */

static kiln_status fail_value(const char *function, const char *why, int64_t bits, kiln_error *err)
{
    const char *gap = strstr(why, "%g");
    const int before = gap != NULL ? (int)(gap - why) : (int)strlen(why);
    char text[32];
    double value;

    memcpy(&value, &bits, sizeof value);
    snprintf(text, sizeof text, "%g", value);
    return kiln__fail(err, KILN_ERR_RANGE, "%s: %.*s%s%s", function, before, why,
                      gap != NULL ? text : "", gap != NULL ? gap + 2 : "");
}

/* ---- what a wait says ---- */

kiln_status kiln__report_check(kiln__device *device, kiln_status status, kiln_error *err)
{
    int64_t *shared = atomic_load_explicit(&device->report, memory_order_acquire);
    int64_t report[KILN__REPORT_WORDS];
    char names[2][NAME_BYTES + 1] = {{0}}, place[80], value[24];

    if (status != KILN_OK || shared == NULL || !take_report(shared, report))
        return status;
    if (report[WORD_AXIS] == KILN__REPORT_MATRIX) {
        const int64_t *words = report + WORD_NAMES;
        const int rank = (int)(words[MATRIX_RANK] & RANK_UNKNOWN);
        status = kiln__fail_matrix((const char *)words, (const char *)(words + MATRIX_WHY),
                                   report[WORD_VALUE], report[WORD_ELEMENT],
                                   rank == RANK_UNKNOWN ? -1 : rank, words + MATRIX_SHAPE, err);
        return kiln__fail_in_column(err, status, (int)(words[MATRIX_RANK] >> COLUMN_SHIFT));
    }
    memcpy(names[0], &report[WORD_NAMES], NAME_BYTES);
    memcpy(names[1], &report[WORD_NAMES + NAME_WORDS], NAME_BYTES);
    if (report[WORD_AXIS] == KILN__REPORT_VALUE)
        return kiln__fail_in_column(err, fail_value(names[0], names[1], report[WORD_VALUE], err),
                                    (int)report[WORD_ELEMENT]);
    put_place(report, place, sizeof place);
    snprintf(value, sizeof value, report[WORD_UNSIGNED] != 0 ? "%llu" : "%lld",
             (long long)report[WORD_VALUE]);
    return kiln__fail(
        err, KILN_ERR_INDEX,
        "index %s in %s is out of range for axis %lld of %s, which has %lld element%s%s", value,
        names[1], (long long)report[WORD_AXIS], names[0], (long long)report[WORD_EXTENT],
        report[WORD_EXTENT] == 1 ? "" : "s", place);
}
