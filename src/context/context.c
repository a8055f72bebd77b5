/*
 * context.c - what a kiln_context ties together, and how long it lives.
 *
 *     context = device + cache + log + recorder + attachments of the folders above
 *
 * Everything made from a context holds a reference to it: arrays, streams, kernels. Attachments
 * and what they make for themselves do not, or no context would ever end.
 *
 * Rule 1: parts go in the order of their needs: work done, attachments (KERNEL, JIT, ARRAY), cache,
 *         device. Destroyers may still use the context, and may retain and release it.
 * Rule 2: once an attachment exists, finding it is one atomic load: calls do it.
 */
#include <pthread.h>

#include "context/context.h"

/* While a context is being torn down its count stands here, far from 0: what destroyers retain and
 * release then cannot begin a second teardown. */
#define TEARDOWN_BIAS (INT64_C(1) << 40)

typedef struct attachment {
    _Atomic(void *) state;
    void (*destroy)(void *state);
    /* One a slot: making one attachment may need another. */
    pthread_mutex_t mutex;
} attachment;

/* Destroyed handles whose memory is kept. */
enum { GRAVES = 64 };

typedef struct grave {
    void *handle;
    void (*end)(void *handle);
} grave;

struct kiln_context {
    _Atomic int64_t references;
    unsigned generation; /* of the process that made it */
    kiln__device *device;
    kiln__cache *cache;
    kiln__recorder *recorder; /* NULL: nothing is recorded */
    kiln__needs needs;
    kiln__log log;
    bool wide; /* 16-bit floats stay float32 in graphs that leave it open */
    attachment attachments[KILN__ATTACH_COUNT];
    pthread_mutex_t graves_lock;
    grave graves[GRAVES]; /* a ring; the oldest is at graves_next */
    size_t graves_next;
};

/* ---- options ---- */

KILN_DEFINE_OPTIONS_INIT(kiln_context_options)

static kiln_status check_options(const kiln_context_options *o, kiln_error *err)
{
    if (o->pool_limit_percent < 0 || o->pool_limit_percent > 100)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "pool_limit_percent is %d, not 1 to 100",
                          o->pool_limit_percent);
    if (o->pool_limit_percent != 0 && o->pool_limit_bytes != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "pool_limit_bytes (%zu) and pool_limit_percent (%d) are both set",
                          o->pool_limit_bytes, o->pool_limit_percent);
    if (o->wide < -1 || o->wide > 1)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "wide is %d, not -1, 0 or 1", o->wide);
    if (o->cpu_threads < 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "cpu_threads is %d, not 0 or more",
                          o->cpu_threads);
    return KILN_OK;
}

static bool wide_chosen(int option, const kiln__log *log)
{
    const char *text = option == 0 ? kiln__env("KILN_WIDE") : NULL;

    if (text == NULL)
        return option == 1;
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        kiln__log_line(log, KILN__LOG_WARN, "KILN_WIDE=%.40s is neither 0 nor 1; operations round",
                       text);
    return strcmp(text, "1") == 0;
}

/* `percent` of `bytes`, without overflow and never 0, which would mean "no limit". */
static size_t percent_of(size_t bytes, int percent)
{
    size_t p = (size_t)percent, share = bytes / 100 * p + bytes % 100 * p / 100;

    return share != 0 ? share : 1;
}

static void set_pool_limit(kiln__device *device, const kiln_context_options *o)
{
    size_t limit = o->pool_limit_bytes;

    if (o->pool_limit_percent != 0)
        limit = percent_of(kiln__device_info(device)->memory_bytes, o->pool_limit_percent);
    if (limit != 0)
        kiln__pool_set_limit(device, limit);
}

/* ---- life ---- */

kiln_status kiln_device_list(kiln_device_info *infos, size_t capacity, size_t *count_out,
                             kiln_error *err)
{
    return kiln__device_list(infos, capacity, count_out, err);
}

/* A context of no parts yet; NULL without memory. */
static kiln_context *make_empty(void)
{
    kiln_context *ctx = kiln__calloc(1, sizeof *ctx);
    int made = 0;

    if (ctx == NULL)
        return NULL;
    atomic_init(&ctx->references, 1);
    ctx->generation = kiln__fork_generation();
    while (made < KILN__ATTACH_COUNT &&
           pthread_mutex_init(&ctx->attachments[made].mutex, NULL) == 0)
        made++;
    if (made == KILN__ATTACH_COUNT && pthread_mutex_init(&ctx->graves_lock, NULL) == 0)
        return ctx;
    while (made > 0)
        pthread_mutex_destroy(&ctx->attachments[--made].mutex);
    kiln__free(ctx);
    return NULL;
}

static void end_grave(const grave *g)
{
    if (g->handle == NULL)
        return;
    kiln__alloc_take_back(g->handle);
    if (g->end != NULL)
        g->end(g->handle);
    else
        kiln__free(g->handle);
}

void kiln__context_bury(kiln_context *ctx, void *handle, void (*end)(void *handle))
{
    kiln__alloc_set_aside(handle);
    pthread_mutex_lock(&ctx->graves_lock);
    grave *place = &ctx->graves[ctx->graves_next];
    const grave oldest = *place;
    *place = (grave){handle, end};
    ctx->graves_next = (ctx->graves_next + 1) % GRAVES;
    pthread_mutex_unlock(&ctx->graves_lock);
    end_grave(&oldest);
}

static void destroy(kiln_context *ctx)
{
    atomic_store(&ctx->references, TEARDOWN_BIAS);
    /* Kernels must not be unloaded while they run. A fault was reported to whoever asked. */
    if (ctx->device != NULL)
        (void)kiln__device_synchronize(ctx->device, NULL);
    for (int slot = 0; slot < KILN__ATTACH_COUNT; slot++) {
        attachment *a = &ctx->attachments[slot];
        void *state = atomic_load(&a->state);
        if (state != NULL)
            a->destroy(state);
        pthread_mutex_destroy(&a->mutex);
    }
    for (size_t k = 0; k < GRAVES; k++)
        end_grave(&ctx->graves[k]);
    pthread_mutex_destroy(&ctx->graves_lock);
    kiln__recorder_destroy(ctx->recorder);
    kiln__cache_close(ctx->cache);
    kiln__device_close(ctx->device);
    kiln__observe_environment_flush();
    kiln__free(ctx);
}

static kiln_status make_recorder(kiln_context *ctx, const char *path, kiln_error *err)
{
    path = path != NULL ? path : kiln__env("KILN_RECORD");
    if (path == NULL || path[0] == '\0')
        return KILN_OK;
    ctx->recorder = kiln__recorder_create(path, &ctx->log);
    return ctx->recorder != NULL ? KILN_OK : kiln__fail_memory(err, strlen(path));
}

static void say_what_is_used(const kiln_context *ctx)
{
    const kiln_device_info *info = kiln__device_info(ctx->device);
    const char *folder = kiln__cache_dir(ctx->cache);

    kiln__log_line(&ctx->log, KILN__LOG_INFO, "device %s (%s, %s), compiled kernels are kept in %s",
                   info->id, info->name, info->target, folder[0] != '\0' ? folder : "memory only");
}

kiln_status kiln_context_create(const kiln_context_options *opts, kiln_context **out,
                                kiln_error *err)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_status status = KILN_OK;
    const char *compiler = NULL;
    kiln_context *ctx = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_TRY(KILN_READ_OPTIONS(kiln_context_options, &o, opts, err));
    KILN_TRY(check_options(&o, err));
    ctx = make_empty();
    if (ctx == NULL) {
        status = kiln__fail_memory(err, sizeof *ctx);
        goto done;
    }
    ctx->log = (kiln__log){o.log, o.log_user};
    ctx->wide = wide_chosen(o.wide, &ctx->log);
    kiln__observe_environment(&ctx->log);
    KILN_TRY(kiln__device_open(o.device, o.cpu_threads, &ctx->device, err));
    if (kiln__device_no_gpu(ctx->device)[0] != '\0')
        kiln__log_line(&ctx->log,
                       kiln__device_misses_gpu(ctx->device) ? KILN__LOG_WARN : KILN__LOG_INFO,
                       "no GPU (%s): everything runs on the cpu; KILN_DEVICE=cpu leaves out this "
                       "line",
                       kiln__device_no_gpu(ctx->device));
    kiln__stream_set_owner(kiln__device_home(ctx->device), ctx);
    set_pool_limit(ctx->device, &o);
    KILN_TRY(kiln__pool_set_source(ctx->device, o.memory, err));
    kiln__pool_set_shortage(ctx->device, o.shortage, o.shortage_user);
    const kiln__cache_options cache = {
        .dir = o.cache_dir, .bundles = o.bundles, .limit_bytes = o.cache_limit_bytes,
        .log = ctx->log};
    ctx->cache = kiln__cache_open_with(&cache);
    if (ctx->cache == NULL) {
        status = kiln__fail(err, KILN_ERR_NO_MEMORY, "the host has no memory for a kernel cache");
        goto done;
    }
    KILN_TRY(make_recorder(ctx, o.record, err));
    /* Here a tenth of a millisecond is lost in the driver's start; in the first call it would be
     * most of what a kernel from the disk cache costs. Whoever needs the compiler asks again. */
    if (kiln__device_info(ctx->device)->backend == KILN_BACKEND_CUDA) {
        (void)kiln__compiler_identity(KILN_BACKEND_CUDA, &compiler, NULL);
        kiln__map_own_code();
    }

    say_what_is_used(ctx);
    *out = ctx;
    ctx = NULL; /* The caller owns it now. */

done:
    kiln_context_release(ctx);
    return status;
}

kiln_status kiln__context_create_dry(const kiln__dry_device *device, const kiln__needs *needs,
                                     kiln_context **out, kiln_error *err)
{
    const kiln__cache_options cache = {.dir = "", .bundles = ""};
    kiln_context *ctx = make_empty();
    kiln_status status = KILN_OK;

    *out = NULL;
    if (ctx == NULL)
        return kiln__fail_memory(err, sizeof *ctx);
    ctx->needs = *needs;
    KILN_TRY(kiln__device_open_dry(device, &ctx->device, err));
    kiln__stream_set_owner(kiln__device_home(ctx->device), ctx);
    ctx->cache = kiln__cache_open_with(&cache);
    if (ctx->cache == NULL) {
        status = kiln__fail_memory(err, sizeof cache);
        goto done;
    }
    *out = ctx;
    ctx = NULL;

done:
    kiln_context_release(ctx);
    return status;
}

const kiln__needs *kiln__context_needs(const kiln_context *ctx)
{
    return &ctx->needs;
}

kiln_context *kiln_context_retain(kiln_context *ctx)
{
    if (ctx != NULL)
        atomic_fetch_add_explicit(&ctx->references, 1, memory_order_relaxed);
    return ctx;
}

void kiln_context_release(kiln_context *ctx)
{
    if (ctx == NULL || kiln__context_forked(ctx))
        return;
    /* Release orders what this thread did before; acquire shows the last one all of it. */
    if (atomic_fetch_sub_explicit(&ctx->references, 1, memory_order_acq_rel) == 1)
        destroy(ctx);
}

/* ---- parts ---- */

const kiln_device_info *kiln_context_device(const kiln_context *ctx)
{
    return ctx != NULL ? kiln__device_info(ctx->device) : NULL;
}

bool kiln__context_wide(const kiln_context *ctx)
{
    return ctx->wide;
}

const char *kiln_context_cache_dir(const kiln_context *ctx)
{
    return ctx != NULL ? kiln__cache_dir(ctx->cache) : "";
}

void kiln_context_cache_counters(kiln_context *ctx, kiln_cache_counters *counters_out)
{
    if (counters_out == NULL)
        return;
    memset(counters_out, 0, sizeof *counters_out);
    if (ctx != NULL)
        kiln__cache_get_counters(ctx->cache, counters_out);
}

kiln_status kiln_context_add_bundle(kiln_context *ctx, const char *path, kiln_error *err)
{
    if (ctx == NULL || path == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL", ctx == NULL ? "ctx" : "path");
    return kiln__cache_add_bundle(ctx->cache, path, err);
}

kiln__device *kiln__context_device(const kiln_context *ctx)
{
    return ctx->device;
}

bool kiln__context_forked(const kiln_context *ctx)
{
    return ctx->generation != kiln__fork_generation();
}

kiln_status kiln__context_check(const kiln_context *ctx, kiln_error *err)
{
    return kiln__context_forked(ctx) ? kiln__device_check(ctx->device, err) : KILN_OK;
}

kiln__cache *kiln__context_cache(const kiln_context *ctx)
{
    return ctx->cache;
}

const kiln__log *kiln__context_log(const kiln_context *ctx)
{
    return &ctx->log;
}

kiln__recorder *kiln__context_recorder(const kiln_context *ctx)
{
    return ctx->recorder;
}

kiln_status kiln__context_attachment(kiln_context *ctx, kiln__attachment slot,
                                     void *(*make)(kiln_context *ctx), void (*destroy_fn)(void *),
                                     void **out, kiln_error *err)
{
    attachment *a = &ctx->attachments[slot];
    void *state = atomic_load_explicit(&a->state, memory_order_acquire);

    if (kiln__context_forked(ctx)) {
        *out = NULL;
        return kiln__context_check(ctx, err);
    }
    if (state == NULL) {
        pthread_mutex_lock(&a->mutex);
        state = atomic_load_explicit(&a->state, memory_order_relaxed);
        if (state == NULL) {
            state = make(ctx);
            a->destroy = destroy_fn;
            atomic_store_explicit(&a->state, state, memory_order_release);
        }
        pthread_mutex_unlock(&a->mutex);
    }
    *out = state;
    if (state == NULL)
        return kiln__fail(err, KILN_ERR_NO_MEMORY,
                          "the host has no memory for the context's tables");
    return KILN_OK;
}

/* ---- work ---- */

kiln_status kiln_context_synchronize(kiln_context *ctx, kiln_error *err)
{
    KILN_CHECK_NULL(ctx, err);
    return kiln__device_synchronize(ctx->device, err);
}

kiln_status kiln__context_released(const char *what, kiln_error *err)
{
    return kiln__fail(err, KILN_ERR_RELEASED, "the %s was destroyed", what);
}

kiln_status kiln__context_stream(kiln_context *ctx, kiln_stream *stream, kiln_stream **out,
                                 kiln_error *err)
{
    *out = kiln__stream_current(stream != NULL ? stream : kiln__device_home(ctx->device));
    if (kiln__stream_owner(*out) == ctx && !kiln__stream_is_closed(*out))
        return KILN_OK;
    *out = NULL;
    if (kiln__stream_is_closed(stream))
        return kiln__context_released("stream", err);
    return kiln__fail(
        err, KILN_ERR_CONTEXT, "the stream belongs to another context (on %s, this one is on %s)",
        kiln__device_info(kiln__stream_device(stream))->id, kiln__device_info(ctx->device)->id);
}

/* ---- the pool ---- */

void kiln_context_pool_stats(kiln_context *ctx, kiln_pool_stats *stats_out)
{
    if (stats_out == NULL)
        return;
    memset(stats_out, 0, sizeof *stats_out);
    if (ctx != NULL)
        kiln__pool_stats(ctx->device, stats_out);
}

void kiln_context_pool_set_limit(kiln_context *ctx, size_t limit_bytes)
{
    if (ctx != NULL)
        kiln__pool_set_limit(ctx->device, limit_bytes);
}

size_t kiln_context_pool_trim(kiln_context *ctx)
{
    return ctx != NULL ? kiln__pool_trim(ctx->device) : 0;
}
