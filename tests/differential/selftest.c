/*
 * selftest.c - whether the tester would notice: no kernel runs, a right device is imitated.
 *
 * Of many random cases: the text reads back as the same case; memory that holds the expected values
 * passes; with one element changed, or one byte that no output owns, it does not; and a second run whose
 * results are as right as the first one's, but other bits, is noticed.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

typedef struct tally {
    int cases, elements, guards, repeats, failed;
} tally;

static void complain(tally *t, const dt_case *c, const char *what)
{
    printf("FAILED: %s\n", what);
    dt_print_case(c, stdout);
    t->failed++;
}

/* ---- text ------------------------------------------------------------------------------------ */

static char *text_of(const dt_case *c)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    dt_print_case(c, out);
    fclose(out);
    return text;
}

static void check_text(tally *t, const dt_case *c)
{
    char why[256] = "";
    dt_case again;
    char *first = text_of(c), *second = NULL;
    FILE *in = first != NULL ? fmemopen(first, strlen(first), "r") : NULL;

    if (in == NULL || !dt_read_case(in, &again, why, sizeof why))
        complain(t, c, why);
    else if ((second = text_of(&again)) == NULL || strcmp(first, second) != 0)
        complain(t, c, "a case that reads back as another");
    if (in != NULL)
        fclose(in);
    free(first);
    free(second);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static unsigned char *element_of(const dt_view *v, unsigned char *buffer, int64_t at)
{
    int64_t index[DT_RANK], place = v->start;

    dt_unravel(at, v->rank, v->shape, index);
    for (int axis = 0; axis < v->rank; axis++)
        place += index[axis] * v->stride[axis];
    return buffer + place;
}

/* What a right device leaves in a buffer. */
static unsigned char *right_bytes(const dt_case *c, const dt_expected *e, int buffer)
{
    const size_t bytes = (size_t)c->buffer_bytes[buffer];
    unsigned char *got = malloc(bytes + 1);

    if (got == NULL)
        return NULL;
    memcpy(got, e->buffer[buffer], bytes);
    for (int k = 0; k < c->output_count; k++) {
        const dt_view *v = &c->output[k].view;
        if (!c->output[k].given || v->buffer != buffer)
            continue;
        for (int64_t at = 0; at < e->output[k].size; at++)
            dt_store(v->dtype, element_of(v, got, at), e->output[k].at[at]);
    }
    return got;
}

static dt_verdict judge(const dt_case *c, const dt_expected *e, int buffer, unsigned char *got)
{
    dt_report report = {.verdict = DT_RIGHT};

    dt_check_bytes(c, e, buffer, got, &report);
    return report.verdict;
}

/* A value that is not `want`, and not within its bound. */
static dt_value other_than(kiln_dtype dtype, dt_value want)
{
    dt_value v = want;

    v.i ^= 1;
    if (!isfinite(want.re))
        v.re = 1;
    else
        v.re = dt_round(dt_part_of(dtype), want.re + 2 * want.alone + 4 * dt_ulp(dtype, want.re));
    return v;
}

static void check_elements(tally *t, const dt_case *c, const dt_expected *e, int k)
{
    const dt_view *v = &c->output[k].view;
    const dt_array *want = &e->output[k];

    if (!c->output[k].given || want->size == 0)
        return;
    const int64_t at = want->size / 2;
    if (isinf(want->at[at].alone) || want->at[at].also != 0) /* another may be right as well */
        return;
    unsigned char *got = right_bytes(c, e, v->buffer);
    if (got == NULL)
        return;
    dt_store(v->dtype, element_of(v, got, at), other_than(v->dtype, want->at[at]));
    if (judge(c, e, v->buffer, got) != DT_WRONG)
        complain(t, c, "a wrong element that nobody notices");
    t->elements++;
    free(got);
}

/* A device whose second run rounds one element the other way: right twice, but not the same. */
static void check_repeated(tally *t, const dt_case *c, const dt_expected *e, int k)
{
    const dt_view *v = &c->output[k].view;
    const dt_array *want = &e->output[k];
    dt_report report = {.verdict = DT_RIGHT};
    uint64_t hash[2] = {0, 0};

    if (!c->output[k].given || want->size == 0 || dt_is_integer(v->dtype))
        return;
    dt_value other = want->at[want->size / 2];
    other.re = dt_round(dt_part_of(v->dtype), other.re + dt_ulp(dt_part_of(v->dtype), other.re));
    for (int run = 0; run < 2; run++) {
        unsigned char *got = right_bytes(c, e, v->buffer);
        if (got == NULL)
            return;
        if (run == 1)
            dt_store(v->dtype, element_of(v, got, want->size / 2), other);
        dt_add_bytes(&hash[run], got, (size_t)c->buffer_bytes[v->buffer]);
        const dt_verdict verdict = judge(c, e, v->buffer, got);
        free(got);
        if (verdict != DT_RIGHT)
            return; /* only one right answer, or only one byte for it */
    }
    dt_check_repeated(hash[0], hash[0], &report);
    if (report.verdict != DT_RIGHT)
        complain(t, c, "a second run of the same bits that does not pass");
    dt_check_repeated(hash[0], hash[1], &report);
    if (hash[0] != hash[1] && report.verdict != DT_WRONG)
        complain(t, c, "a second run that differs, which nobody notices");
    t->repeats += hash[0] != hash[1];
}

static void check_memory(tally *t, const dt_case *c, const dt_expected *e)
{
    for (int k = 0; k < c->buffer_count; k++) {
        unsigned char *got = right_bytes(c, e, k);
        if (got == NULL)
            return;
        if (judge(c, e, k, got) != DT_RIGHT)
            complain(t, c, "right memory that does not pass");
        free(got);
        if ((got = right_bytes(c, e, k)) == NULL)
            return;
        got[dt_mix((uint64_t)t->cases, 3) % 32] ^= 1; /* a guard word */
        if (judge(c, e, k, got) != DT_WRONG)
            complain(t, c, "a changed guard word that nobody notices");
        t->guards++;
        free(got);
    }
    for (int k = 0; k < c->output_count; k++) {
        check_elements(t, c, e, k);
        check_repeated(t, c, e, k);
    }
}

int dt_self_test(const dt_options *o)
{
    tally t = {0};
    dt_expected e;
    dt_case c;

    for (uint64_t number = 0; number < 6000 && t.failed < 5; number += 7) {
        if (!dt_draw_number(&c, o->seed, number))
            continue;
        t.cases++;
        check_text(&t, &c);
        if (!dt_evaluate(&c, &e))
            continue;
        check_memory(&t, &c, &e);
        dt_expected_clear(&e);
    }
    printf("%d cases, %d elements and %d guard words changed, %d second runs that differ, %d failed\n",
           t.cases, t.elements, t.guards, t.repeats, t.failed);
    return t.cases > 0 && t.elements > 0 && t.guards > 0 && t.repeats > 0 ? t.failed : 1;
}
