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

/* The binary of a source without an entry, a module of the user's: it is not loaded, so that each
 * module has variables of its own. `log_out`, if not NULL, receives what the compiler said ("" for nothing),
 * also where the binary was in the cache. Both live as long as the context. */
kiln_status kiln__jit_image(kiln_context *ctx, const kiln__definition *def,
                            const kiln__source *source, const kiln__blob **out,
                            const char **log_out, kiln_error *err);

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
 * for the folder or for what no key can hold; the message says what that is.
 */
kiln_status kiln__jit_warm(kiln__cache *cache, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target,
                           kiln__warmed *out, kiln_error *err);

/* Whether kiln__jit_warm would find all there: the same keys, without compiling. */
bool kiln__jit_is_warm(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__warmed *out);

/* ERR_COMPILE, as it was explained then, where a compiler refused this source before; KILN_OK where
 * nothing is known. */
kiln_status kiln__jit_recall(kiln__cache *cache, const kiln__definition *def,
                             const kiln__source *source, const kiln__target *target,
                             kiln_error *err);
/* Remember that a source was refused, with the explanation in `err`; or, where that holds no
 * ERR_COMPILE, forget it. */
void kiln__jit_remember(kiln__cache *cache, const kiln__definition *def,
                        const kiln__source *source, const kiln__target *target,
                        const kiln_error *err);

/* Put what `from` has of `source` into `to`, under the same keys. */
bool kiln__jit_copy(kiln__cache *from, kiln__cache *to, const kiln__definition *def,
                    const kiln__source *source, const kiln__target *target);

/* Compile, and explain a refusal (ERR_COMPILE) in terms of the definition. The result is the
 * caller's to clear, whatever is returned. `cancel` may be NULL. */
kiln_status kiln__jit_compile(kiln__cache *cache, const kiln__definition *def,
                              const kiln__source *source, const kiln__target *target,
                              const atomic_bool *cancel, kiln__compile_result *result,
                              double *us_out, kiln_error *err);

/* ---- keys (key.c, inputs.c, follow.c) ---- */

/* A file whose text is in a key, as it was when it was read. */
typedef struct kiln__input {
    char *path;
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
} kiln__input;

typedef struct kiln__inputs {
    kiln__input *items;
    size_t count, capacity;
    kiln__map paths; /* of the items */
    uint64_t bytes;  /* of all texts */
    int64_t read_ns; /* none was read earlier, by the clock that files are stamped with */
    bool complete;   /* nothing else can be in the binary */
    char why[500];   /* it is not */
    char *odd;       /* a path that leads to a pipe, a device or a socket; else NULL */
} kiln__inputs;

/* Everything that names a binary. */
typedef struct kiln__demand {
    kiln__buf key;         /* all that the binary depends on, nothing local to the machine */
    size_t compiler_bytes; /* how much of it is the compiler's; the rest is the request */
    kiln__hash128 hash;    /* of the key: where to look, never what to believe */
    kiln__inputs inputs;
    bool cacheable; /* the key vouches for the binary: it may go to the disk */
} kiln__demand;

/* Make a key, reading every file that is included. ERR_NO_MEMORY, or ERR_IO when an include names
 * something that might never end; `out` is empty then. */
kiln_status kiln__demand_make(const kiln__definition *def, const kiln__source *source,
                           const kiln__target *target, kiln__demand *out, kiln_error *err);
void kiln__demand_clear(kiln__demand *w);

/* The key without the compiler: under it the cache keeps which compiler made the last binary, so
 * that a machine without any finds it. */
void kiln__demand_any_key(const kiln__demand *w, kiln__buf *key);

/* Before a compilation: wait until no file could change unseen. False when it could all the same,
 * or one has changed. */
bool kiln__demand_settle(kiln__demand *w, const kiln__definition *def, const kiln__source *source,
                         const kiln__target *target);
/* After it: whether no file has changed since the key was made. */
bool kiln__demand_holds(const kiln__demand *w, const kiln__definition *def,
                        const kiln__source *source, const kiln__target *target);

void kiln__inputs_begin(kiln__inputs *in);
void kiln__inputs_clear(kiln__inputs *in);
/* How long to wait until a change of any of them would show; 0 when it would, -1 when that takes
 * too long. */
int64_t kiln__inputs_wait_ns(const kiln__inputs *in);
bool kiln__inputs_equal(const kiln__inputs *a, const kiln__inputs *b);
/* Whether they are complete, all files that the compiler says it has read among them; NULL: it does
 * not tell. */
bool kiln__inputs_cover(kiln__inputs *in, const char *read_by_compiler);

/* Store a binary under its key, and the compiler under the key that names none. False when it is in
 * memory only. */
bool kiln__jit_store(kiln__cache *cache, const kiln__demand *w, const kiln__compile_result *result,
                     double compile_us);

#endif
