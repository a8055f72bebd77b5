/*
 * fuzz_manifest.c - the reader of manifests on any bytes at all, and what is made of its lines.
 *
 * Promises: a bad line is told with a message; a good one can be written, and what is written reads
 * back and writes the same; every variant that a line stands for can be emitted or is refused; and
 * its own line, as a recorder writes it, stands for exactly that variant and the same source.
 */
#include "warm/warm.h"
#include "promise.h"

/* So many calls to plan are enough for one line, and so many kernels. */
enum { CALLS_MAX = 8, KERNELS_MAX = 4 };

static void expect_message(void *user, const kiln_error *err)
{
    size_t *bad = user;
    ++*bad;
    PROMISE(err->status != KILN_OK && strncmp(err->message, "f:", 2) == 0);
}

static kiln__manifest *read_text(const char *text, size_t bytes, size_t *bad)
{
    kiln__manifest *m = kiln__manifest_of_families();
    PROMISE(m != NULL);
    const kiln_status status = kiln__manifest_read(m, "f", text, bytes, expect_message, bad, NULL);
    PROMISE((status == KILN_OK) == (*bad == 0));
    return m;
}

static void expect_writes_back(const kiln__manifest_entry *e)
{
    kiln__buf once = KILN__BUF_INIT, twice = KILN__BUF_INIT;
    size_t bad = 0;

    PROMISE(kiln__manifest_write(e, &once) && !once.failed);
    kiln__manifest *m = read_text(once.text, once.length, &bad);
    PROMISE(bad == 0 && kiln__manifest_count(m) == 1);
    PROMISE(kiln__manifest_write(kiln__manifest_at(m, 0), &twice));
    PROMISE(strcmp(once.text, twice.text) == 0);
    kiln__manifest_destroy(m);
    kiln__buf_clear(&twice);
    kiln__buf_clear(&once);
}

/* ---- kernels ----------------------------------------------------------------------------------- */

typedef struct comparing {
    const kiln__variant *want;
    const kiln__source *source; /* what the definition that was written gives */
    size_t count;
} comparing;

static kiln_status compare(void *user, const kiln__definition *def, const kiln__variant *variant,
                           kiln_error *err)
{
    comparing *c = user;
    kiln__source source = KILN__SOURCE_INIT;
    (void)err;
    PROMISE(memcmp(variant, c->want, sizeof *variant) == 0);
    const bool emitted = kiln__emit(def, variant, &source, NULL) == KILN_OK;
    PROMISE(emitted == (c->source->text != NULL));
    PROMISE(!emitted || (source.bytes == c->source->bytes &&
                         memcmp(source.text, c->source->text, source.bytes) == 0 &&
                         strcmp(source.entry, c->source->entry) == 0));
    kiln__source_clear(&source);
    c->count++;
    return KILN_OK;
}

static kiln_status take(void *user, const kiln__definition *def, const kiln__variant *variant,
                        kiln_error *err)
{
    size_t *kernels = user, bad = 0;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__buf line = KILN__BUF_INIT;
    comparing c = {variant, &source, 0};

    if (++*kernels > KERNELS_MAX)
        return kiln__fail(err, KILN_ERR_INTERNAL, "enough");
    if (kiln__emit(def, variant, &source, NULL) == KILN_OK)
        PROMISE(source.bytes == strlen(source.text));
    PROMISE(kiln__manifest_line(def, variant, &line) && !line.failed);
    kiln__manifest *m = read_text(line.text, line.length, &bad);
    PROMISE(bad == 0 && kiln__manifest_count(m) == 1);
    PROMISE(kiln__warm_expand(kiln__manifest_at(m, 0), (kiln_backend)variant->backend, compare, &c,
                              NULL) == KILN_OK);
    PROMISE(c.count == 1);
    kiln__manifest_destroy(m);
    kiln__buf_clear(&line);
    kiln__source_clear(&source);
    return KILN_OK;
}

static void expand(const kiln__manifest_entry *e)
{
    const size_t calls = (e->type_count + 1) * (e->shape_count + 1) * (e->axes_count + 1);

    for (int backend = KILN_BACKEND_CPU; backend <= KILN_BACKEND_CUDA && calls <= CALLS_MAX;
         backend++) {
        kiln__target target = {.backend = (kiln_backend)backend};
        kiln_error err = KILN_ERROR_INIT;
        size_t kernels = 0;
        if (kiln__warm_expand(e, (kiln_backend)backend, take, &kernels, &err) != KILN_OK)
            PROMISE(strncmp(err.message, "f:", 2) == 0);
        kiln_error_clear(&err);
        snprintf(target.name, sizeof target.name, "%s",
                 backend == KILN_BACKEND_CPU ? "x86-64" : "sm_90");
        if (kiln__warm_expand_runs(e, &target, take, &kernels, &err) != KILN_OK)
            PROMISE(strncmp(err.message, "f:", 2) == 0);
        kiln_error_clear(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t bad = 0;
    kiln__manifest *m = read_text((const char *)data, bytes, &bad);

    for (size_t k = 0; k < kiln__manifest_count(m); k++) {
        expect_writes_back(kiln__manifest_at(m, k));
        expand(kiln__manifest_at(m, k));
    }
    kiln__manifest_destroy(m);
    return 0;
}
