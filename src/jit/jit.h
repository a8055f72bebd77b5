/*
 * jit.h - the one door of src/jit: from generated source to an entry that can be launched.
 *
 *     emit > [jit: memory > disk cache > compile > load] > launch
 *
 * A program is source + options + target. Each context keeps the programs it has met; the same
 * source is compiled once whatever the number of kernels and threads that ask. A source that was
 * rejected stays rejected: asking again costs a lookup and gives the same explanation.
 *
 * Uses codegen, cache, device, context.
 */
#ifndef KILN_JIT_JIT_H
#define KILN_JIT_JIT_H

#include "codegen/codegen.h"
#include "context/context.h"

/*
 * The entry of `source` on the context's device. Waits when another thread is at it already.
 * ERR_COMPILE explains in the user's own terms (kiln__diagnose); ERR_NO_COMPILER, ERR_NO_NVRTC,
 * ERR_DRIVER, ERR_NO_MEMORY are not remembered: a later call tries again.
 *
 * @param entry_out What kiln__launch takes; valid as long as the context.
 */
kiln_status kiln__jit_entry(kiln_context *ctx, const kiln__definition *def,
                            const kiln__source *source, void **entry_out, kiln_error *err);

/* The same for a thread that may be told to stop: ERR_CANCELLED when `cancel` (may be NULL) was set
 * before the program was there. That is not remembered. */
kiln_status kiln__jit_entry_unless(kiln_context *ctx, const kiln__definition *def,
                                   const kiln__source *source, const atomic_bool *cancel,
                                   void **entry_out, kiln_error *err);

/* ---- without a device (build.c) ---- */

/* What kiln__jit_warm did. */
typedef struct kiln__warmed {
    bool compiled;     /* else it was in the cache already */
    size_t bytes;      /* of the binary */
    double compile_us;
    kiln__hash128 key; /* what the cache knows it by */
} kiln__warmed;

/*
 * Put `source`, compiled for `target`, into a cache under the keys that kiln__jit_entry looks for;
 * no device and no driver are needed, and nothing is loaded. Single flight as for everyone.
 * ERR_COMPILE explains in the user's terms; ERR_CACHE when the cache cannot keep the result, be it
 * for the folder or for an include that cannot be followed.
 */
kiln_status kiln__jit_warm(kiln__cache *cache, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target,
                           kiln__warmed *out, kiln_error *err);

/* Whether kiln__jit_warm would find all there: the same keys, without compiling. */
bool kiln__jit_is_warm(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__warmed *out);

/* Put what `from` has of `source` into `to`, under the same keys. */
bool kiln__jit_copy(kiln__cache *from, kiln__cache *to, const kiln__definition *def,
                    const kiln__source *source, const kiln__target *target);

/* Compile, and explain a refusal (ERR_COMPILE) in terms of the definition. The result is the caller's to
 * clear, whatever is returned. `cancel` may be NULL. */
kiln_status kiln__jit_compile(kiln__cache *cache, const kiln__definition *def,
                              const kiln__source *source, const kiln__target *target,
                              const atomic_bool *cancel, kiln__compile_result *result,
                              double *us_out, kiln_error *err);

/* Store a binary under its key, and the key under the one that names no compiler. False when it is
 * in memory only. */
bool kiln__jit_store(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                     const kiln__target *target, const kiln__buf *key,
                     const kiln__compile_result *result, double compile_us);

/* ---- keys (key.c) ---- */

/* Everything the binary depends on and nothing local to the machine, as bytes: the key of both the
 * memory table and the disk cache. False in `cacheable_out` when an included file was not found,
 * or an option names what no key holds, so that the key cannot vouch for it. Fails like `buf`: look
 * at key->failed. */
void kiln__jit_key(const kiln__definition *def, const kiln__source *source,
                   const kiln__target *target, kiln__buf *key, bool *cacheable_out);

/* The same but for the compiler: under this key the cache keeps the whole key of the last binary
 * made, so that a machine without any compiler finds it. */
void kiln__jit_any_key(const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__buf *key);

/* How many sources this context has handed to a compiler. */
uint64_t kiln__jit_compile_count(kiln_context *ctx);

#endif
