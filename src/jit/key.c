/*
 * key.c - the bytes that name a compiled kernel.
 *
 *     "kiln-kernel 2", compiler  |  target, options, source, texts of files
 *      what one compiler adds    |  the request: the same whichever compiler there is
 *
 * Rule: everything the binary depends on is in, nothing local to the machine is: no paths, no
 * times. What cannot be known leaves the inputs incomplete (follow.c), and the binary in memory.
 *
 * build.c, jit.c and refusal.c call this file. Test: test_module.
 */
#define _GNU_SOURCE
#include "jit/inputs.h"

#include <time.h>

/* Raise when the meaning of a stored binary changes: calling convention, argument block. */
#define KEY_FORMAT "kiln-kernel 2\n"
#define ANY_FORMAT "kiln-kernel-of-any-compiler 2\n"

/* What stands in a key whichever compiler there is. */
static void put_request(const kiln__definition *def, const kiln__source *source,
                        const kiln__target *target, kiln__demand *w)
{
    kiln__buf_printf(&w->key, "target %s\n%s", target->name,
                     kiln__compiler_faults(target->backend));
    for (size_t o = 0; o < def->option_count; o++)
        kiln__buf_printf(&w->key, "option %zu %s\n", strlen(def->options[o]), def->options[o]);
    kiln__buf_printf(&w->key, "source %zu\n", source->bytes);
    kiln__buf_put(&w->key, source->text, source->bytes);
    kiln__inputs_follow(def, target->backend, &w->key, &w->inputs);
}

kiln_status kiln__demand_make(const kiln__definition *def, const kiln__source *source,
                           const kiln__target *target, kiln__demand *out, kiln_error *err)
{
    kiln_status status = KILN_OK;

    *out = (kiln__demand){.key = KILN__BUF_INIT};
    kiln__inputs_begin(&out->inputs);
    kiln__buf_puts(&out->key, KEY_FORMAT);
    kiln__compiler_key(target->backend, &out->key);
    out->compiler_bytes = out->key.length;
    put_request(def, source, target, out);
    out->cacheable = out->inputs.complete;
    if (out->key.failed)
        status = kiln__fail_memory(err, source->bytes);
    else if (out->inputs.odd != NULL)
        status = kiln__fail(err, KILN_ERR_IO,
                            "kernel \"%s\" includes %.300s, which is no regular file", def->name,
                            out->inputs.odd);
    else
        out->hash = kiln__hash_128(out->key.text, out->key.length);
    if (status != KILN_OK)
        kiln__demand_clear(out);
    return status;
}

void kiln__demand_clear(kiln__demand *w)
{
    kiln__buf_clear(&w->key);
    kiln__inputs_clear(&w->inputs);
    w->cacheable = false;
}

void kiln__demand_any_key(const kiln__demand *w, kiln__buf *key)
{
    kiln__buf_puts(key, ANY_FORMAT);
    kiln__buf_put(key, w->key.text + w->compiler_bytes, w->key.length - w->compiler_bytes);
}

static bool is_same(const kiln__demand *a, const kiln__demand *b)
{
    return a->key.length == b->key.length &&
           memcmp(a->key.text, b->key.text, a->key.length) == 0 &&
           kiln__inputs_equal(&a->inputs, &b->inputs);
}

bool kiln__demand_await_stamps(kiln__demand *w, const kiln__definition *def, const kiln__source *source,
                         const kiln__target *target)
{
    const int64_t wait_ns = kiln__inputs_wait_ns(&w->inputs);
    const struct timespec pause = {0, (long)wait_ns};
    kiln__demand again;

    if (wait_ns <= 0)
        return wait_ns == 0;
    nanosleep(&pause, NULL);
    if (kiln__demand_make(def, source, target, &again, NULL) != KILN_OK)
        return false;
    bool same = is_same(w, &again) && kiln__inputs_wait_ns(&again.inputs) == 0;
    kiln__demand_clear(&again);
    return same;
}

bool kiln__demand_holds(const kiln__demand *w, const kiln__definition *def,
                        const kiln__source *source, const kiln__target *target)
{
    kiln__demand after;

    if (w->inputs.count == 0)
        return true;
    if (kiln__demand_make(def, source, target, &after, NULL) != KILN_OK)
        return false;
    bool same = is_same(w, &after);
    kiln__demand_clear(&after);
    return same;
}
