/*
 * table.c - memory by label, source line or kernel, added up.
 *
 *     device -> [a row for each name] -> text
 *
 * A row counts the bytes that were handed out under its name, the bytes that the pool had to take from
 * the device for it, and how often the name began: a label that was pushed, a kernel that was called.
 * Bytes are counted for the innermost label only, so that rows add up to the whole.
 */
#include <stdio.h>
#include <stdlib.h>

#include "observe/observe.h"

enum { NAME_BYTES = 320, NAME_COLUMN = 32 };

typedef struct row {
    char name[NAME_BYTES];
    uint64_t used_bytes, acquired_bytes, count;
} row;

typedef struct table {
    kiln_table_by by;
    kiln__map rows; /* by name */
    bool failed;    /* a row is missing */
} table;

/* The name that an observation belongs to; "" for none. */
static void name_of(const table *t, const kiln_observation *what, char name[NAME_BYTES])
{
    const kiln_scope *scope = what->scope;
    const char *file = NULL;

    name[0] = '\0';
    if (t->by == KILN_TABLE_BY_LABEL && scope != NULL)
        snprintf(name, NAME_BYTES, "%s", scope->label);
    if (t->by == KILN_TABLE_BY_KERNEL && what->kernel != NULL)
        snprintf(name, NAME_BYTES, "%s", what->kernel);
    if (t->by != KILN_TABLE_BY_LINE)
        return;
    for (; scope != NULL && scope->file == NULL; scope = scope->outer)
        continue;
    if (scope == NULL)
        return;
    file = strrchr(scope->file, '/');
    snprintf(name, NAME_BYTES, "%s:%d", file != NULL ? file + 1 : scope->file, scope->line);
}

static row *row_of(table *t, const kiln_observation *what)
{
    char name[NAME_BYTES];
    void **at = NULL;

    name_of(t, what, name);
    at = kiln__map_enter(&t->rows, name, strlen(name), NULL);
    if (at != NULL && *at == NULL) {
        row *const r = kiln__calloc(1, sizeof *r);
        if (r != NULL)
            memcpy(r->name, name, sizeof r->name);
        *at = r;
    }
    t->failed = t->failed || at == NULL || *at == NULL;
    return at != NULL ? *at : NULL;
}

static void see(void *user, const kiln_observation *what)
{
    row *const r = row_of(user, what);

    if (r == NULL)
        return;
    if (what->kind == KILN_OBSERVED_ALLOC)
        r->used_bytes += what->bytes;
    else if (what->kind == KILN_OBSERVED_ACQUIRE)
        r->acquired_bytes += what->bytes;
    else
        r->count++;
}

/* ---- text ---- */

static int by_used_bytes(const void *a, const void *b)
{
    const row *const x = *(row *const *)a, *const y = *(row *const *)b;

    if (x->used_bytes != y->used_bytes)
        return x->used_bytes < y->used_bytes ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void put_row(kiln__buf *text, const row *r)
{
    char used[32], acquired[32], count[32] = "-";

    if (r->name[0] != '\0')
        snprintf(count, sizeof count, "%llu", (unsigned long long)r->count);
    kiln__buf_printf(text, "%-*s  %12s  %14s  %10s\n", NAME_COLUMN,
                     r->name[0] != '\0' ? r->name : "(none)",
                     kiln__bytes_text((size_t)r->used_bytes, used),
                     kiln__bytes_text((size_t)r->acquired_bytes, acquired), count);
}

static kiln_status to_text(const void *state, char **out, kiln_error *err)
{
    static const char *const heads[] = {"", "label", "line", "kernel"};
    const table *const t = state;
    kiln__buf text = KILN__BUF_INIT;
    row **rows = NULL;
    size_t count = 0;

    KILN_CHECK(kiln__make_zeroed(&rows, t->rows.count + 1, sizeof(row *), err));
    kiln__map_list(&t->rows, (void **)rows, &count);
    qsort(rows, count, sizeof(row *), by_used_bytes);
    kiln__buf_printf(&text, "%-*s  %12s  %14s  %10s\n", NAME_COLUMN, heads[t->by], "used bytes",
                     "acquired bytes", "occurrence");
    for (size_t k = 0; k < count; k++)
        put_row(&text, rows[k]);
    if (t->failed)
        kiln__buf_puts(&text, "(memory ran out: names are missing)\n");
    kiln__free(rows);
    *out = kiln__buf_take(&text);
    return *out != NULL ? KILN_OK : kiln__fail_memory(err, count * sizeof(row));
}

static void destroy(void *state)
{
    table *const t = state;

    kiln__map_clear(&t->rows, kiln__free);
    kiln__free(t);
}

kiln_status kiln__table_create(kiln_table_by by, kiln__ready *out, kiln_error *err)
{
    table *t = NULL;

    if (by < KILN_TABLE_BY_LABEL || by > KILN_TABLE_BY_KERNEL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%d is no kiln_table_by", (int)by);
    KILN_CHECK(kiln__make_zeroed(&t, 1, sizeof *t, err));
    t->by = by;
    *out = (kiln__ready){
        .state = t,
        .kinds = KILN_OBSERVE(KILN_OBSERVED_ALLOC) | KILN_OBSERVE(KILN_OBSERVED_ACQUIRE) |
                 KILN_OBSERVE(by == KILN_TABLE_BY_KERNEL ? KILN_OBSERVED_CALL_BEGIN
                                                         : KILN_OBSERVED_SCOPE_BEGIN),
        .see = see,
        .text = to_text,
        .destroy = destroy};
    return KILN_OK;
}
