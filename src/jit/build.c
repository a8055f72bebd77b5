/*
 * build.c - from source to a blob in a cache, without a device.
 *
 *     emit > [key > cache? > compile > store] > a program that finds it
 *
 * What a running program does in jit.c but for loading; a build machine without a GPU and without a
 * driver does the rest of it here. Both store through kiln__jit_store, so that their keys are equal.
 */
#include "jit/jit.h"

/* Remember `key` for machines that cannot make one, having no compiler. */
static bool store_any(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                      const kiln__target *target, const kiln__buf *key)
{
    kiln__buf any = KILN__BUF_INIT;
    bool kept = false;

    kiln__jit_any_key(def, source, target, &any);
    if (!any.failed)
        kept = kiln__cache_store_as(cache, any.text, any.length, key->text, key->length, 0,
                                    "compiled");
    kiln__buf_clear(&any);
    return kept;
}

bool kiln__jit_store(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                     const kiln__target *target, const kiln__buf *key,
                     const kiln__compile_result *result, double compile_us)
{
    const bool kept = kiln__cache_store_as(cache, key->text, key->length, result->binary,
                                           result->bytes, compile_us, "compiled");
    return store_any(cache, def, source, target, key) && kept;
}

/* Whether the entry that names no compiler leads to this very key. */
static bool has_any(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                    const kiln__target *target, const kiln__buf *key)
{
    kiln__buf any = KILN__BUF_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    bool same = false;

    kiln__jit_any_key(def, source, target, &any);
    if (!any.failed && kiln__cache_load(cache, any.text, any.length, &blob))
        same = blob.bytes == key->length && memcmp(blob.data, key->text, blob.bytes) == 0;
    kiln__blob_clear(&blob);
    kiln__buf_clear(&any);
    return same;
}

static bool look(kiln__cache *cache, const kiln__buf *key, kiln__warmed *out)
{
    kiln__blob blob = KILN__BLOB_INIT;
    const bool found = kiln__cache_load(cache, key->text, key->length, &blob);

    if (found)
        out->bytes = blob.bytes;
    kiln__blob_clear(&blob);
    return found;
}

bool kiln__jit_is_warm(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__warmed *out)
{
    kiln__buf key = KILN__BUF_INIT;
    bool cacheable = false, found = false;

    memset(out, 0, sizeof *out);
    kiln__jit_key(def, source, target, &key, &cacheable);
    if (!key.failed) {
        out->key = kiln__hash_128(key.text, key.length);
        found = cacheable && look(cache, &key, out) && has_any(cache, def, source, target, &key);
    }
    kiln__buf_clear(&key);
    return found;
}

bool kiln__jit_copy(kiln__cache *from, kiln__cache *to, const kiln__definition *def,
                    const kiln__source *source, const kiln__target *target)
{
    kiln__buf key = KILN__BUF_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    bool cacheable = false, done = false;

    kiln__jit_key(def, source, target, &key, &cacheable);
    if (!key.failed && kiln__cache_load(from, key.text, key.length, &blob)) {
        const kiln__compile_result result = {blob.data, blob.bytes, NULL};
        done = kiln__jit_store(to, def, source, target, &key, &result, 0);
    }
    kiln__blob_clear(&blob);
    kiln__buf_clear(&key);
    return done;
}

kiln_status kiln__jit_compile(kiln__cache *cache, const kiln__definition *def,
                              const kiln__source *source, const kiln__target *target,
                              const atomic_bool *cancel, kiln__compile_result *result,
                              double *us_out, kiln_error *err)
{
    const kiln__compile_request request = {.target = *target,
                                           .source = source->text,
                                           .options = (const char *const *)def->options,
                                           .option_count = def->option_count,
                                           .cancel = cancel};
    const double start = kiln__now_us();
    kiln_status status = kiln__compile(&request, result, err);

    *us_out = kiln__now_us() - start;
    kiln__cache_note_compile(cache, *us_out);
    if (status != KILN_ERR_COMPILE)
        return status;
    kiln_error_clear(err);
    return kiln__diagnose(def, source->text, result->log, err);
}

static kiln_status compile(kiln__cache *cache, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target,
                           const kiln__buf *key, kiln__warmed *out, kiln_error *err)
{
    kiln__compile_result result = {NULL, 0, NULL};
    double us = 0;
    kiln_status status = kiln__jit_compile(cache, def, source, target, NULL, &result, &us, err);

    if (status == KILN_OK) {
        out->compiled = true;
        out->bytes = result.bytes;
        out->compile_us = us;
        if (!kiln__jit_store(cache, def, source, target, key, &result, us))
            status = kiln__fail(err, KILN_ERR_CACHE, "kernel \"%s\": the cache folder %s takes "
                                "nothing%s%s", def->name, kiln__cache_dir(cache),
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
    kiln__buf key = KILN__BUF_INIT;
    kiln__flight flight = KILN__FLIGHT_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    kiln_status status = KILN_OK;
    bool cacheable = false;

    memset(out, 0, sizeof *out);
    kiln__jit_key(def, source, target, &key, &cacheable);
    if (key.failed) {
        status = kiln__fail_memory(err, source->bytes);
        goto done;
    }
    out->key = kiln__hash_128(key.text, key.length);
    if (!cacheable) {
        status = kiln__fail(err, KILN_ERR_CACHE,
                            "kernel \"%s\": one of its #includes cannot be followed, or one of "
                            "its options names what no key can hold, so its binary cannot be kept",
                            def->name);
        goto done;
    }
    bool found = look(cache, &key, out);
    if (!found && kiln__cache_flight_begin(cache, key.text, key.length, &flight, &blob)) {
        out->bytes = blob.bytes;
        found = true;
    }
    if (!found)
        status = compile(cache, def, source, target, &key, out, err);
    else if (!has_any(cache, def, source, target, &key))
        (void)store_any(cache, def, source, target, &key);
    if (status == KILN_ERR_COMPILE) /* refused everywhere: others need not try it in turns */
        kiln__cache_flight_fail(&flight);

done:
    kiln__cache_flight_end(&flight);
    kiln__blob_clear(&blob);
    kiln__buf_clear(&key);
    return status;
}
