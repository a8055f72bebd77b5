/*
 * build.c - from source to a blob in a cache, without a device.
 *
 *     emit > [key > cache? > compile > store] > a program that finds it
 *
 * What a running program does in jit.c but for loading; a build machine without a GPU and without a
 * driver does the rest of it here. Both store through kiln__jit_store, so that their keys are equal.
 *
 * jit.c and src/warm call this file. Tests: test_record, test_cli_warm.
 */
#include "jit/room.h"

/* Remember the compiler for machines that have none. */
static bool store_any(kiln__cache *cache, const kiln__demand *w)
{
    kiln__buf any = KILN__BUF_INIT;
    bool kept = false;

    kiln__demand_any_key(w, &any);
    if (!any.failed)
        kept = kiln__cache_store_as(cache, any.text, any.length, w->key.text, w->compiler_bytes, 0,
                                    "compiled");
    kiln__buf_clear(&any);
    return kept;
}

bool kiln__jit_store(kiln__cache *cache, const kiln__demand *w, const kiln__compile_result *result,
                     double compile_us)
{
    const bool kept = kiln__cache_store_as(cache, w->key.text, w->key.length, result->binary,
                                           result->bytes, compile_us, "compiled");
    return store_any(cache, w) && kept;
}

/* Whether the entry that names no compiler leads to this very key. */
static bool has_any(kiln__cache *cache, const kiln__demand *w)
{
    kiln__buf any = KILN__BUF_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    bool same = false;

    kiln__demand_any_key(w, &any);
    if (!any.failed && kiln__cache_load(cache, any.text, any.length, &blob))
        same = blob.bytes == w->compiler_bytes && memcmp(blob.data, w->key.text, blob.bytes) == 0;
    kiln__blob_clear(&blob);
    kiln__buf_clear(&any);
    return same;
}

static bool look(kiln__cache *cache, const kiln__demand *w, kiln__warmed *out)
{
    kiln__blob blob = KILN__BLOB_INIT;
    const bool found = kiln__cache_load(cache, w->key.text, w->key.length, &blob);

    if (found)
        out->bytes = blob.bytes;
    kiln__blob_clear(&blob);
    return found;
}

bool kiln__jit_is_warm(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__warmed *out)
{
    kiln__demand w;

    memset(out, 0, sizeof *out);
    if (kiln__demand_make(def, source, target, &w, NULL) != KILN_OK)
        return false;
    out->key = w.hash;
    bool found = w.cacheable && look(cache, &w, out) && has_any(cache, &w);
    kiln__demand_clear(&w);
    return found;
}

bool kiln__jit_copy(kiln__cache *from, kiln__cache *to, const kiln__definition *def,
                    const kiln__source *source, const kiln__target *target)
{
    kiln__demand w;
    kiln__blob blob = KILN__BLOB_INIT;
    bool done = false;

    if (kiln__demand_make(def, source, target, &w, NULL) != KILN_OK)
        return false;
    if (kiln__cache_load(from, w.key.text, w.key.length, &blob)) {
        const kiln__compile_result result = {.binary = blob.data, .bytes = blob.bytes};
        done = kiln__jit_store(to, &w, &result, 0);
    }
    kiln__blob_clear(&blob);
    kiln__demand_clear(&w);
    return done;
}

/* A module keeps what its compiler said. */
static kiln_status keep_log(kiln__compile_result *result, kiln_error *err)
{
    kiln__buf all = {.max_bytes = SIZE_MAX / 2};

    kiln__buf_put(&all, (const char *)result->binary, result->bytes);
    kiln__log_put(&all, result->log);
    if (all.failed) {
        kiln__buf_clear(&all);
        return kiln__fail_memory(err, result->bytes);
    }
    kiln__free(result->binary);
    result->bytes = all.length;
    result->binary = (unsigned char *)kiln__buf_take(&all);
    return KILN_OK;
}

kiln_status kiln__jit_compile(kiln__cache *cache, const kiln__definition *def,
                              const kiln__source *source, const kiln__target *target,
                              const atomic_bool *cancel, kiln__compile_result *result,
                              double *us_out, kiln_error *err)
{
    kiln__compile_request request = {.target = *target, .source = source->text, .cancel = cancel};
    const char **options = kiln__alloc((def->option_count + 1) * sizeof *options);
    const double start = kiln__now_us();

    *us_out = 0;
    if (options == NULL)
        return kiln__fail_memory(err, (def->option_count + 1) * sizeof *options);
    request.options = options;
    request.option_count = kiln__definition_plain_options(def, options);
    if (source->entry[0] != '\0' && target->backend == KILN_BACKEND_CUDA &&
        kiln__options_relocatable(options, request.option_count)) {
        kiln__free(options);
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "kernel \"%s\": code that is yet to be linked (-dc) is for modules",
                          def->name);
    }
    request.names = (const char *const *)def->names;
    request.name_count = source->name_count;
    kiln_status status = kiln__compile(&request, result, err);
    if (status == KILN_OK)
        status = kiln__jit_make_room(def, source, &request, result, err);
    kiln__free(options);

    *us_out = kiln__now_us() - start;
    kiln__cache_note_compile(cache, *us_out);
    if (status == KILN_OK && source->entry[0] == '\0')
        return keep_log(result, err);
    if (status != KILN_ERR_COMPILE)
        return status;
    kiln_error_clear(err);
    return kiln__diagnose(def, source->text, result->log, err);
}

static kiln_status fail_uncacheable(const kiln__definition *def, const kiln__demand *w,
                                    kiln_error *err)
{
    return kiln__fail(err, KILN_ERR_CACHE, "kernel \"%s\" cannot be kept in a cache: %s", def->name,
                      w->inputs.why);
}

static kiln_status compile(kiln__cache *cache, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target, kiln__demand *w,
                           kiln__warmed *out, kiln_error *err)
{
    const bool settled = kiln__demand_await_stamps(w, def, source, target);
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    double us = 0;
    kiln_status status = kiln__jit_compile(cache, def, source, target, NULL, &result, &us, err);

    if (status == KILN_OK) {
        out->compiled = true;
        out->bytes = result.bytes;
        out->compile_us = us;
        if (!settled || !kiln__demand_holds(w, def, source, target))
            status = kiln__fail(err, KILN_ERR_CACHE,
                                "kernel \"%s\": a file that it includes was changed while it was "
                                "compiled",
                                def->name);
        else if (!kiln__inputs_cover(&w->inputs, result.inputs))
            status = fail_uncacheable(def, w, err);
        else if (!kiln__jit_store(cache, w, &result, us))
            status = kiln__fail(err, KILN_ERR_CACHE,
                                "kernel \"%s\": the cache folder %s takes "
                                "nothing%s%s",
                                def->name, kiln__cache_dir(cache),
                                kiln__cache_refusal(cache)[0] != '\0' ? ": " : "",
                                kiln__cache_refusal(cache));
    }
    kiln__compile_result_clear(&result);
    return status;
}

kiln_status kiln__jit_warm(kiln__cache *cache, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target,
                           kiln__warmed *out, kiln_error *err)
{
    kiln__demand w = {.key = KILN__BUF_INIT};
    kiln__flight flight = KILN__FLIGHT_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    kiln_status status = KILN_OK;

    memset(out, 0, sizeof *out);
    KILN_TRY(kiln__demand_make(def, source, target, &w, err));
    out->key = w.hash;
    if (!w.cacheable) {
        status = fail_uncacheable(def, &w, err);
        goto done;
    }
    bool found = look(cache, &w, out);
    if (!found && kiln__cache_flight_begin(cache, w.key.text, w.key.length, &flight, &blob)) {
        out->bytes = blob.bytes;
        found = true;
    }
    if (!found)
        status = compile(cache, def, source, target, &w, out, err);
    else if (!has_any(cache, &w))
        (void)store_any(cache, &w);
    if (status == KILN_ERR_COMPILE) /* refused everywhere: others need not try it in turns */
        kiln__cache_flight_fail(&flight);

done:
    kiln__cache_flight_end(&flight);
    kiln__blob_clear(&blob);
    kiln__demand_clear(&w);
    return status;
}
