/*
 * report.c - what kernels found wrong with the values in arrays, told at the next synchronise.
 *
 *     kernel > [the first finding, in page-locked memory] > synchronise > ERR_INDEX
 *
 * A kernel that meets an index out of range leaves the element out, claims the report if nobody has yet,
 * and goes on. Whoever waits for the device next is told, and the report is free again. While
 * nothing is wrong a synchronise costs one load.
 *
 * Rule 1: the words are those that templates/prelude/gather.h writes.
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

kiln_status kiln__report_check(kiln__device *device, kiln_status status, kiln_error *err)
{
    int64_t *shared = atomic_load_explicit(&device->report, memory_order_acquire);
    int64_t report[KILN__REPORT_WORDS];
    char names[2][NAME_BYTES + 1] = {{0}}, place[80], value[24];

    if (status != KILN_OK || shared == NULL || !take_report(shared, report))
        return status;
    memcpy(names[0], &report[WORD_NAMES], NAME_BYTES);
    memcpy(names[1], &report[WORD_NAMES + NAME_WORDS], NAME_BYTES);
    put_place(report, place, sizeof place);
    snprintf(value, sizeof value, report[WORD_UNSIGNED] != 0 ? "%llu" : "%lld",
             (long long)report[WORD_VALUE]);
    return kiln__fail(
        err, KILN_ERR_INDEX,
        "index %s in %s is out of range for axis %lld of %s, which has %lld element%s%s", value,
        names[1], (long long)report[WORD_AXIS], names[0], (long long)report[WORD_EXTENT],
        report[WORD_EXTENT] == 1 ? "" : "s", place);
}
