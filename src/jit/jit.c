/*
 * jit.c - programs of a context: found in memory, on disk, or compiled, each at most once.
 *
 *     emit > [memory table > disk cache > compile > load] > launch
 *
 * A program is inserted in the state BUILDING by the first thread that asks; others wait on the
 * condition until it is READY or REJECTED, or until it was taken out again because its failure was
 * of a passing kind. The table's lock is held only to look and to change states, never while
 * reading a disk, compiling or loading.
 *
 * src/kernel and src/module call this file through jit.h. Tests: test_module, test_module_args.
 */
#include "jit/jit.h"

#include <pthread.h>

typedef enum program_state {
    PROGRAM_BUILDING,
    PROGRAM_READY,
    PROGRAM_REJECTED /* by the compiler; `error` explains */
} program_state;

typedef struct program {
    struct program *next; /* of the strays */
    program_state state;
    kiln__module *module;
    void *entry;
    kiln__blob image; /* in the place of these two: a module of the user's, which loads it itself */
    const char *log;  /* of the image: what the compiler said; behind its bytes */
    kiln_error error;
} program;

typedef struct jit {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    kiln__map programs; /* by key; NULL for one whose building failed in passing */
    program *strays; /* made from files that changed meanwhile, and so not given to anybody else */
} jit;

static void *jit_make(kiln_context *ctx)
{
    (void)ctx;
    jit *j = kiln__calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    return j;
}

static void program_destroy(void *value)
{
    program *p = value;

    kiln__module_unload(p->module);
    kiln__blob_clear(&p->image);
    kiln_error_clear(&p->error);
    kiln__free(p);
}

static void jit_destroy(void *state)
{
    jit *j = state;
    kiln__map_clear(&j->programs, program_destroy);
    for (program *p = j->strays, *next = NULL; p != NULL; p = next) {
        next = p->next;
        program_destroy(p);
    }
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    kiln__free(j);
}

static kiln_status jit_of(kiln_context *ctx, jit **out, kiln_error *err)
{
    void *state = NULL;
    kiln_status status =
        kiln__context_attachment(ctx, KILN__ATTACH_JIT, jit_make, jit_destroy, &state, err);
    *out = state;
    return status;
}

/* A finished program, or a new one in state BUILDING that the caller must finish (`*mine`). NULL
 * when memory ran out. */
static program *table_enter(jit *j, const kiln__demand *w, bool *mine)
{
    program *p = NULL;

    *mine = false;
    pthread_mutex_lock(&j->lock);
    void **at = kiln__map_enter(&j->programs, w->key.text, w->key.length, NULL);
    while (at != NULL && (p = *at) != NULL && p->state == PROGRAM_BUILDING)
        pthread_cond_wait(&j->changed, &j->lock);
    if (at != NULL && p == NULL) {
        *at = p = kiln__calloc(1, sizeof *p); /* in state BUILDING */
        *mine = p != NULL;
    }
    pthread_mutex_unlock(&j->lock);
    return p;
}

/* End of BUILDING. A program whose failure may pass is taken out, so that others try again; and one
 * whose key does not tell what it was made from (not `certain`). */
static void table_finish(jit *j, program *p, const kiln__demand *w, kiln_status status,
                         bool certain)
{
    program *gone = NULL;
    pthread_mutex_lock(&j->lock);
    p->state = status == KILN_OK ? PROGRAM_READY : PROGRAM_REJECTED;
    if ((status != KILN_OK && status != KILN_ERR_COMPILE) || !certain) {
        *kiln__map_find(&j->programs, w->key.text, w->key.length) = NULL;
        gone = p;
    }
    if (gone != NULL && status == KILN_OK) {
        p->next = j->strays;
        j->strays = p;
        gone = NULL;
    }
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    if (gone != NULL)
        program_destroy(gone);
}

/* A module of the user's: its bytes, if they are what they must be. */
static kiln_status keep_image(program *p, const kiln__source *source, const void *binary,
                              size_t bytes, kiln_error *err)
{
    size_t inner = 0;

    if (kiln__log_get(binary, bytes, &inner) == NULL || inner == 0 ||
        (source->name_count != 0 &&
         kiln__names_get(binary, inner, source->name_count, 0, NULL) == NULL))
        return kiln__fail(err, KILN_ERR_FORMAT, "%zu bytes are no module with %zu names", bytes,
                          source->name_count);
    KILN_CHECK(kiln__make_room(&p->image.data, bytes, err));
    memcpy(p->image.data, binary, bytes);
    p->image.bytes = inner;
    p->log = kiln__log_get(p->image.data, bytes, NULL);
    return KILN_OK;
}

static kiln_status load(kiln__device *device, program *p, const kiln__definition *def,
                        const kiln__source *source, const void *binary, size_t bytes,
                        kiln_error *err)
{
    if (source->entry[0] == '\0')
        return keep_image(p, source, binary, bytes, err);
    kiln_status status = kiln__module_load(device, binary, bytes, &p->module, err);
    if (status == KILN_OK)
        status = kiln__module_entry(p->module, source->entry, &p->entry, err);
    if (status == KILN_OK) {
        kiln__entry_prefer_shared(p->module, p->entry, source->shared_percent);
        kiln__entry_set_name(p->module, p->entry, def->name);
    } else {
        kiln__module_unload(p->module);
        p->module = NULL;
    }
    return status;
}

/* Tell observers what came of a compilation or a look into the cache. */
static void tell(kiln_context *ctx, kiln_observed kind, const kiln__definition *def, size_t bytes,
                 double begin_us, kiln_status status)
{
    kiln_observation what = {
        .kind = kind, .status = status, .kernel = def->name, .bytes = bytes, .begin_us = begin_us};

    what.end_us = kiln__now_us();
    kiln__watch_tell(kiln__context_device(ctx), &what);
}

/* Load a module from a blob of the cache; clears the blob. The look began at `begin_us`. */
static bool load_blob(kiln_context *ctx, program *p, const kiln__definition *def,
                      const kiln__source *source, kiln__blob *blob, double begin_us)
{
    const bool ok =
        load(kiln__context_device(ctx), p, def, source, blob->data, blob->bytes, NULL) == KILN_OK;
    if (ok)
        tell(ctx, KILN_OBSERVED_CACHE_HIT, def, blob->bytes, begin_us, KILN_OK);
    kiln__blob_clear(blob);
    return ok;
}

/* `*certain`: what came of it, good or bad, is what the key names. */
static kiln_status compile(kiln_context *ctx, program *p, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target, kiln__demand *w,
                           const atomic_bool *cancel, bool *certain, kiln_error *err)
{
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln__cache *cache = kiln__context_cache(ctx);
    double us = 0;

    *certain = kiln__demand_await_stamps(w, def, source, target);
    double begin_us = kiln__now_us();
    /* A refusal stays with the program, for all who ask for it. */
    kiln_status status =
        kiln__jit_compile(cache, def, source, target, cancel, &result, &us, &p->error);
    tell(ctx, KILN_OBSERVED_COMPILE, def, result.bytes, begin_us, status);
    if (status != KILN_OK && status != KILN_ERR_COMPILE)
        (void)kiln__error_copy(err, &p->error);
    *certain = *certain && kiln__demand_holds(w, def, source, target);
    if (status != KILN_OK)
        goto done;
    kiln__log_line(kiln__context_log(ctx), KILN__LOG_INFO,
                   "kernel \"%s\" was compiled for %s in %.1f ms", def->name, target->name,
                   us / 1e3);
    KILN_TRY(load(kiln__context_device(ctx), p, def, source, result.binary, result.bytes, err));
    begin_us = kiln__now_us();
    if (*certain && w->cacheable && kiln__inputs_cover(&w->inputs, result.inputs) &&
        kiln__jit_store(cache, w, &result, us))
        tell(ctx, KILN_OBSERVED_CACHE_STORE, def, result.bytes, begin_us, KILN_OK);

done:
    kiln__compile_result_clear(&result);
    return status;
}

/* Without a compiler: the binary that some compiler made for this request. */
static bool load_any(kiln_context *ctx, program *p, const kiln__definition *def,
                     const kiln__source *source, const kiln__target *target, const kiln__demand *w,
                     double begin_us)
{
    kiln__cache *cache = kiln__context_cache(ctx);
    kiln__buf any = KILN__BUF_INIT, key = KILN__BUF_INIT;
    kiln__blob compiler = KILN__BLOB_INIT, blob = KILN__BLOB_INIT;
    const char *id;
    bool found = false;

    if (kiln__compiler_identity(target->backend, &id, NULL) == KILN_OK)
        return false;
    kiln__demand_any_key(w, &any);
    if (!any.failed && kiln__cache_load(cache, any.text, any.length, &compiler)) {
        kiln__buf_put(&key, (const char *)compiler.data, compiler.bytes);
        kiln__buf_put(&key, w->key.text + w->compiler_bytes, w->key.length - w->compiler_bytes);
        found = !key.failed && kiln__cache_load(cache, key.text, key.length, &blob) &&
                load_blob(ctx, p, def, source, &blob, begin_us);
    }
    kiln__blob_clear(&compiler);
    kiln__buf_clear(&key);
    kiln__buf_clear(&any);
    return found;
}

/* From the cache, or compiled: by one process at a time, the others take its result. */
static kiln_status build(kiln_context *ctx, program *p, const kiln__definition *def,
                         const kiln__source *source, const kiln__target *target, kiln__demand *w,
                         const atomic_bool *cancel, bool *certain, kiln_error *err)
{
    kiln__cache *cache = kiln__context_cache(ctx);
    kiln__flight flight = KILN__FLIGHT_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    kiln_status status = KILN_OK;
    const double begin_us = kiln__now_us();

    *certain = true;
    if (w->cacheable && kiln__cache_load(cache, w->key.text, w->key.length, &blob) &&
        load_blob(ctx, p, def, source, &blob, begin_us))
        return KILN_OK;
    if (w->cacheable && load_any(ctx, p, def, source, target, w, begin_us))
        return KILN_OK;
    if (w->cacheable &&
        kiln__cache_flight_begin(cache, w->key.text, w->key.length, &flight, &blob) &&
        load_blob(ctx, p, def, source, &blob, begin_us))
        goto done;
    tell(ctx, KILN_OBSERVED_CACHE_MISS, def, 0, begin_us, KILN_OK);
    if (cancel != NULL && atomic_load(cancel))
        status = kiln__fail(err, KILN_ERR_CANCELLED, "the compilation was cancelled");
    else
        status = compile(ctx, p, def, source, target, w, cancel, certain, err);
    /* The source is refused everywhere: those who wait here need not try it in turns. */
    if (status == KILN_ERR_COMPILE)
        kiln__cache_flight_fail(&flight);

done:
    kiln__cache_flight_end(&flight);
    return status;
}

static void target_of(kiln_context *ctx, kiln__target *target)
{
    const kiln_device_info *info = kiln__device_info(kiln__context_device(ctx));
    memset(target, 0, sizeof *target);
    target->backend = info->backend;
    snprintf(target->name, sizeof target->name, "%s", info->target);
}

kiln_status kiln__jit_entry(kiln_context *ctx, const kiln__definition *def,
                            const kiln__source *source, void **entry_out, kiln_error *err)
{
    return kiln__jit_entry_unless(ctx, def, source, NULL, entry_out, err);
}

/* What stands for every program on a device that is not there. */
static char nowhere[1];
static const program unbuilt = {.state = PROGRAM_READY, .entry = nowhere};

/* The finished program of a source; it lives as long as the context. */
static kiln_status find_program(kiln_context *ctx, const kiln__definition *def,
                                const kiln__source *source, const atomic_bool *cancel,
                                const program **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__demand w = {.key = KILN__BUF_INIT};
    kiln__target target;
    bool mine = false, certain = true;
    jit *j = NULL;

    *out = &unbuilt;
    if (kiln__device_is_dry(kiln__context_device(ctx)))
        return KILN_OK;
    *out = NULL;
    target_of(ctx, &target);
    KILN_TRY(jit_of(ctx, &j, err));
    KILN_TRY(kiln__demand_make(def, source, &target, &w, err));
    program *p = table_enter(j, &w, &mine);
    if (p == NULL) {
        status = kiln__fail_memory(err, sizeof *p);
        goto done;
    }
    if (mine) {
        status = build(ctx, p, def, source, &target, &w, cancel, &certain, err);
        if (status == KILN_OK)
            *out = p;
        else if (status == KILN_ERR_COMPILE)
            kiln__error_copy(err, &p->error);
        table_finish(j, p, &w, status, certain);
    } else if (p->state == PROGRAM_READY) {
        *out = p;
    } else {
        status = kiln__error_copy(err, &p->error);
    }

done:
    kiln__demand_clear(&w);
    return status;
}

kiln_status kiln__jit_entry_unless(kiln_context *ctx, const kiln__definition *def,
                                   const kiln__source *source, const atomic_bool *cancel,
                                   void **entry_out, kiln_error *err)
{
    const program *p = NULL;
    kiln_status status = find_program(ctx, def, source, cancel, &p, err);

    *entry_out = p != NULL ? p->entry : NULL;
    return status;
}

kiln_status kiln__jit_image(kiln_context *ctx, const kiln__definition *def,
                            const kiln__source *source, const kiln__blob **out,
                            const char **log_out, kiln_error *err)
{
    const program *p = NULL;
    kiln_status status = find_program(ctx, def, source, NULL, &p, err);

    *out = p != NULL ? &p->image : NULL;
    if (log_out != NULL)
        *log_out = p != NULL ? p->log : NULL;
    return status;
}
