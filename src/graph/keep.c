/*
 * keep.c - graphs of kiln's own, which a context keeps for functions that run at once.
 *
 *     (make, key) > table of the context > graph, recorded when first needed > kiln_graph_run()
 *
 * kept_text.c, rearrange.c and take.c call this file. When a context has many such graphs, it drops
 * the half that was not used for the longest time, except graphs that are running.
 *
 * Rule: a kept graph does not keep its context alive. It releases its references to the context as
 *       soon as it is in the table.
 *
 * Test: test_kept.
 */
#include <stdlib.h>

#include "graph/graph.h"

enum { KEPT_MAX = 256 };

typedef struct entry {
    kiln_graph *graph;
    uint64_t used;    /* the number of its last call */
    atomic_int calls; /* that run it now */
} entry;

typedef struct kept {
    pthread_mutex_t lock;
    kiln__map graphs;
    uint64_t calls; /* ever */
} kept;

static void *kept_make(kiln_context *ctx)
{
    (void)ctx;
    kept *k = kiln__calloc(1, sizeof *k);
    if (k != NULL)
        pthread_mutex_init(&k->lock, NULL);
    return k;
}

static void entry_destroy(void *value)
{
    entry *e = value;
    kiln_graph_destroy(e->graph);
    kiln__free(e);
}

static void kept_destroy(void *state)
{
    kept *k = state;
    kiln__map_clear(&k->graphs, entry_destroy);
    pthread_mutex_destroy(&k->lock);
    kiln__free(k);
}

static int newest_first(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* The references that were given up are taken again, for destroying the graph gives them up. */
static bool drop_old(void *value, void *user)
{
    entry *e = value;
    const uint64_t *oldest = user;

    if (e->used >= *oldest || atomic_load_explicit(&e->calls, memory_order_acquire) != 0)
        return false;
    kiln_context_retain(e->graph->ctx);
    if (e->graph->report != NULL)
        kiln_context_retain(e->graph->ctx);
    entry_destroy(e);
    return true;
}

/* Whether there is room for one more. */
static bool make_room(kept *k)
{
    void *entries[KEPT_MAX];
    uint64_t used[KEPT_MAX];
    size_t count = 0;

    if (k->graphs.count < KEPT_MAX)
        return true;
    kiln__map_list(&k->graphs, entries, &count);
    for (size_t n = 0; n < count; n++)
        used[n] = ((const entry *)entries[n])->used;
    qsort(used, count, sizeof *used, newest_first);
    return kiln__map_drop(&k->graphs, drop_old, &used[count / 2]) && k->graphs.count < KEPT_MAX;
}

static kiln_status make(kiln_context *ctx, const kiln__kept_request *r, entry **out,
                        kiln_error *err)
{
    entry *e = NULL;
    kiln_status status = kiln__make_zeroed(&e, 1, sizeof *e, err);

    if (status == KILN_OK)
        status = r->make(ctx, r->wanted, &e->graph, err);
    if (status == KILN_OK)
        status = kiln_graph_compile(e->graph, err);
    if (status == KILN_OK)
        *out = e;
    else if (e != NULL)
        entry_destroy(e);
    return status;
}

/* The graph of this key, or a new one; the table is locked. */
static kiln_status find(kept *k, kiln_context *ctx, const kiln__kept_request *r, entry **out,
                        kiln_error *err)
{
    const size_t bytes = r->key_count * sizeof *r->key;
    void **place = kiln__map_find(&k->graphs, r->key, bytes);

    *out = place != NULL ? *place : NULL;
    if (*out == NULL) {
        KILN_CHECK(make(ctx, r, out, err));
        place = make_room(k) ? kiln__map_enter(&k->graphs, r->key, bytes, NULL) : NULL;
        if (place == NULL)
            return KILN_OK;
        *place = *out;
        (*out)->graph->kept = true;
        kiln_context_release(ctx);
    }
    (*out)->used = ++k->calls;
    atomic_fetch_add_explicit(&(*out)->calls, 1, memory_order_relaxed);
    return KILN_OK;
}

kiln_status kiln__kept_graph_run(kiln_context *ctx, const kiln__kept_request *r,
                                 const kiln_arg *args, size_t arg_count, kiln_stream *stream,
                                 kiln_error *err)
{
    kiln_graph_call_options call = KILN_GRAPH_CALL_OPTIONS_INIT;
    entry *e = NULL;
    void *state = NULL;

    KILN_CHECK(
        kiln__context_attachment(ctx, KILN__ATTACH_GRAPH, kept_make, kept_destroy, &state, err));
    kept *k = state;
    r->key[0] = (int64_t)(uintptr_t)r->make;
    pthread_mutex_lock(&k->lock);
    kiln_status status = find(k, ctx, r, &e, err);
    pthread_mutex_unlock(&k->lock);
    if (status != KILN_OK)
        return status;
    call.stream = stream;
    status = kiln_graph_run(e->graph, args, arg_count, &call, err);
    if (e->graph->kept)
        atomic_fetch_sub_explicit(&e->calls, 1, memory_order_release);
    else
        entry_destroy(e);
    return status;
}
