/*
 * context.h - the one door of src/context: what a kiln_context ties together.
 *
 *     context = device + cache + log + recorder + what upper folders attach to it
 *
 * Uses core, cache, device, observe and manifest. jit and kernel keep per-context state here through attachments, so
 * that this folder need not know them.
 */
#ifndef KILN_CONTEXT_CONTEXT_H
#define KILN_CONTEXT_CONTEXT_H

#include "cache/cache.h"
#include "device/device.h"
#include "kiln/context.h"
#include "manifest/manifest.h"
#include "observe/observe.h"

/* One slot for each upper folder that keeps state in a context. Destroyed in this order, before
 * the device closes. */
typedef enum kiln__attachment {
    KILN__ATTACH_PREFETCH, /* src/kernel: threads that compile ahead; first, for they use the rest */
    KILN__ATTACH_GRAPH,    /* src/graph: graphs of kiln's own, such as a take at once */
    KILN__ATTACH_LINALG,   /* src/linalg: handles of libraries, and what they decided */
    KILN__ATTACH_SOLVER,   /* src/linalg: handles of the libraries of factorisations */
    KILN__ATTACH_KERNEL,   /* src/kernel: kernels of kiln's own, such as operations at once */
    KILN__ATTACH_OWN,      /* src/kernel: whole kernels of kiln's own */
    KILN__ATTACH_JIT,      /* src/jit: programs by key */
    KILN__ATTACH_ARRAY,    /* src/array: recycled handles */
    KILN__ATTACH_COUNT
} kiln__attachment;

kiln__device *kiln__context_device(const kiln_context *ctx);
/* Whether this process is a fork of the one that made the context. Then nothing of it may be
 * touched: its locks may be held by threads that are not here. Whatever takes a context, or what
 * was made from one, asks this before anything else; what ends an object returns at once. */
bool kiln__context_forked(const kiln_context *ctx);
/* ERR_FORK where that is so. */
kiln_status kiln__context_check(const kiln_context *ctx, kiln_error *err);
kiln__cache *kiln__context_cache(const kiln_context *ctx);
const kiln__log *kiln__context_log(const kiln_context *ctx);
/* Whether graphs keep 16-bit floats in float32 where their options leave it open. */
bool kiln__context_wide(const kiln_context *ctx);
/*
 * Keep the memory of a destroyed handle for a while, so that whoever uses the handle once more finds it
 * dead and is told so: until GRAVES more were destroyed, or the context ends. Then `end` frees it, or
 * kiln__free() where that is NULL. The handle's reference to the context is still held.
 */
void kiln__context_bury(kiln_context *ctx, void *handle, void (*end)(void *handle));
/* Where kernels that were needed are noted down; NULL when they are not. */
kiln__recorder *kiln__context_recorder(const kiln_context *ctx);

/* Who is told of every kernel that work of a context needs. `def` is valid during the call only. A failure ends the
 * work. */
struct kiln__definition;
struct kiln__variant;
typedef struct kiln__needs {
    kiln_status (*fn)(void *user, const struct kiln__definition *def,
                      const struct kiln__variant *variant, kiln_error *err);
    void *user;
} kiln__needs;

/* A context on a device that is not there: nothing is compiled, cached or recorded. */
kiln_status kiln__context_create_dry(const kiln__dry_device *device, const kiln__needs *needs,
                                     kiln_context **out, kiln_error *err);
/* `fn` is NULL for all other contexts. */
const kiln__needs *kiln__context_needs(const kiln_context *ctx);

/* ERR_RELEASED: "the stream was destroyed". */
kiln_status kiln__context_released(const char *what, kiln_error *err);

/* The stream a call means: `stream`, or the context's own. ERR_CONTEXT when `stream` belongs to
 * another context, ERR_RELEASED when it was destroyed. */
kiln_status kiln__context_stream(kiln_context *ctx, kiln_stream *stream, kiln_stream **out,
                                 kiln_error *err);

/*
 * The state attached to a slot, made by `make` on first use (at most once, whatever the number of
 * threads) and freed by `destroy` when the context goes. One atomic load once it exists.
 * ERR_NO_MEMORY when `make` returned NULL; a later call tries again.
 */
kiln_status kiln__context_attachment(kiln_context *ctx, kiln__attachment slot,
                                     void *(*make)(kiln_context *ctx), void (*destroy)(void *state),
                                     void **out, kiln_error *err);

#endif
