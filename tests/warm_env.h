/*
 * warm_env.h - warm a cache folder from the text of a manifest, inside the test's own process.
 */
#ifndef KILN_TESTS_WARM_ENV_H
#define KILN_TESTS_WARM_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "jit/jit.h"
#include "warm/warm.h"

/* How many kernels a manifest stood for, and how many of them had to be compiled. */
typedef struct warm_result {
    size_t entries, kernels, compiled, skipped;
} warm_result;

typedef struct warm_work {
    kiln__cache *cache;
    kiln__target target;
    warm_result result;
} warm_work;

static inline kiln_status warm_one(void *user, const kiln__definition *def,
                                   const kiln__variant *variant, kiln_error *err)
{
    warm_work *w = user;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__warmed looked, warmed;
    char why[64];

    if (!kiln__warm_fits(def, variant, &w->target, why)) {
        w->result.skipped++;
        return KILN_OK;
    }
    kiln_status status = kiln__emit(def, variant, &source, err);
    if (status == KILN_OK) {
        const bool there = kiln__jit_is_warm(w->cache, def, &source, &w->target, &looked);
        status = kiln__jit_warm(w->cache, def, &source, &w->target, &warmed, err);
        w->result.kernels++;
        w->result.compiled += status == KILN_OK && warmed.compiled;
        assert_true(status != KILN_OK || there != warmed.compiled);
        assert_true(looked.key.lo == warmed.key.lo && looked.key.hi == warmed.key.hi);
    }
    kiln__source_clear(&source);
    return status;
}

/* Fails the test when a line cannot be read or compiled. */
static inline warm_result warm_text(const char *text, const char *dir, kiln_backend backend,
                                    const char *target)
{
    warm_work w = {.cache = kiln__cache_open(dir, NULL), .target = {.backend = backend}};
    kiln__manifest *m = kiln__manifest_of_families();
    kiln_error err = KILN_ERROR_INIT;

    snprintf(w.target.name, sizeof w.target.name, "%s", target);
    assert_true(w.cache != NULL && m != NULL);
    if (kiln__manifest_read(m, "m", text, strlen(text), NULL, NULL, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, err.detail);
    w.result.entries = kiln__manifest_count(m);
    for (size_t k = 0; k < w.result.entries; k++)
        if (kiln__warm_expand(kiln__manifest_at(m, k), backend, warm_one, &w, &err) != KILN_OK ||
            kiln__warm_expand_runs(kiln__manifest_at(m, k), &w.target, warm_one, &w, &err) !=
                KILN_OK)
            fail_msg("%s\n%s", err.message, err.detail != NULL ? err.detail : "");
    kiln__manifest_destroy(m);
    kiln__cache_close(w.cache);
    return w.result;
}

#endif
