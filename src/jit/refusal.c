/*
 * refusal.c - sources that a compiler refused, remembered beside the kernels.
 *
 *     kiln warm > [recall] > build.c > [remember]
 *
 * A manifest is warmed again and again, and what did not compile yesterday does not compile today:
 * the key holds the source, the compiler and all options. Programs do not look here: they compile
 * what they run, and say why that fails with the whole log.
 *
 * Test: test_cli_warm.
 */
#include "jit/jit.h"

#define REFUSAL_FORMAT "kiln-refusal 1\n"

/* The key of a refusal; false when the source cannot be told from others by one. */
static bool refusal_key(const kiln__definition *def, const kiln__source *source,
                        const kiln__target *target, kiln__buf *key)
{
    kiln__demand demand = {.key = KILN__BUF_INIT};
    bool usable = false;

    if (kiln__demand_make(def, source, target, &demand, NULL) == KILN_OK && demand.cacheable) {
        kiln__buf_puts(key, REFUSAL_FORMAT);
        kiln__buf_put(key, demand.key.text, demand.key.length);
        usable = !key->failed;
    }
    kiln__demand_clear(&demand);
    return usable;
}

kiln_status kiln__jit_recall(kiln__cache *cache, const kiln__definition *def,
                             const kiln__source *source, const kiln__target *target,
                             kiln_error *err)
{
    kiln__buf key = KILN__BUF_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    kiln_status status = KILN_OK;

    if (refusal_key(def, source, target, &key) &&
        kiln__cache_load(cache, key.text, key.length, &blob) && blob.bytes > 0) {
        /* The message and the detail, each with its NUL. */
        const char *message = (const char *)blob.data;
        const char *end = memchr(message, '\0', blob.bytes);
        if (end != NULL && message[blob.bytes - 1] == '\0')
            status = kiln__fail_detail(
                err, KILN_ERR_COMPILE,
                end + 1 < message + blob.bytes ? kiln__strdup(end + 1) : NULL, "%s", message);
    }
    kiln__blob_clear(&blob);
    kiln__buf_clear(&key);
    return status;
}

void kiln__jit_remember(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                        const kiln__target *target, const kiln_error *err)
{
    kiln__buf key = KILN__BUF_INIT, text = KILN__BUF_INIT;

    if (refusal_key(def, source, target, &key)) {
        if (err->status == KILN_ERR_COMPILE) { /* else an empty text: it compiles after all */
            kiln__buf_put(&text, err->message, strlen(err->message) + 1);
            if (err->detail != NULL)
                kiln__buf_put(&text, err->detail, strlen(err->detail) + 1);
        }
        if (!text.failed)
            (void)kiln__cache_store_as(cache, key.text, key.length,
                                       text.length > 0 ? text.text : "", text.length, 0, "refused");
    }
    kiln__buf_clear(&text);
    kiln__buf_clear(&key);
}
