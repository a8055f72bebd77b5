/*
 * keep.c - graphs of kiln's own that a context keeps: functions that are called at once and are a graph.
 *
 *     (make, key) > table of the context > graph, recorded when it is first needed > kiln_graph_run()
 *
 * Rule: a graph that is kept does not keep its context alive. The references that it and its report hold are given up
 *       when they are taken; when the context ends, giving them up once more changes nothing.
 * Entries are only ever added. Where there are many, further graphs live for one call.
 */
#include "graph/graph.h"

enum { KEPT_MAX = 256 };

typedef struct kept {
    pthread_mutex_t lock;
    kiln__map graphs;
} kept;

static void *kept_make(kiln_context *ctx)
{
    (void)ctx;
    kept *k = kiln__calloc(1, sizeof *k);
    if (k != NULL)
        pthread_mutex_init(&k->lock, NULL);
    return k;
}

static void graph_destroy(void *graph)
{
    kiln_graph_destroy(graph);
}

static void kept_destroy(void *state)
{
    kept *k = state;
    kiln__map_clear(&k->graphs, graph_destroy);
    pthread_mutex_destroy(&k->lock);
    kiln__free(k);
}

/* The graph of this key, or a new one, which is the caller's where `*owned` tells so; the table is locked. */
static kiln_status find(kept *k, kiln_context *ctx, const kiln__kept_request *r, kiln_graph **out,
                        bool *owned, kiln_error *err)
{
    const size_t bytes = r->key_count * sizeof *r->key;
    void **place = kiln__map_find(&k->graphs, r->key, bytes);
    kiln_status status = KILN_OK;

    *owned = false;
    *out = place != NULL ? *place : NULL;
    if (*out != NULL)
        return KILN_OK;
    status = r->make(ctx, r->wanted, out, err);
    if (status == KILN_OK)
        status = kiln_graph_compile(*out, err);
    if (status == KILN_OK && k->graphs.count < KEPT_MAX)
        place = kiln__map_enter(&k->graphs, r->key, bytes, NULL);
    *owned = place == NULL;
    if (place != NULL) {
        *place = *out;
        (*out)->kept = true;
        kiln_context_release(ctx);
    }
    return status;
}

kiln_status kiln__kept_graph_run(kiln_context *ctx, const kiln__kept_request *r,
                                 const kiln_arg *args, size_t arg_count, kiln_stream *stream,
                                 kiln_error *err)
{
    kiln_graph_call_options call = KILN_GRAPH_CALL_OPTIONS_INIT;
    kiln_graph *graph = NULL;
    void *state = NULL;
    bool owned = false;

    KILN_CHECK(
        kiln__context_attachment(ctx, KILN__ATTACH_GRAPH, kept_make, kept_destroy, &state, err));
    kept *k = state;
    r->key[0] = (int64_t)(uintptr_t)r->make;
    pthread_mutex_lock(&k->lock);
    kiln_status status = find(k, ctx, r, &graph, &owned, err);
    pthread_mutex_unlock(&k->lock);
    call.stream = stream;
    if (status == KILN_OK)
        status = kiln_graph_run(graph, args, arg_count, &call, err);
    if (owned)
        kiln_graph_destroy(graph);
    return status;
}
