/*
 * jit.h - the header through which other folders use src/jit: from generated source to an entry
 * that can be launched.
 *
 *     emit > [jit: memory > disk cache > compile > load] > launch
 *
 * A program is source + options + target. A context keeps its programs, so that a source is
 * compiled once, whatever the number of kernels and threads that need it. A source that was refused
 * stays refused: the next request costs a lookup and gives the same error.
 *
 * Uses codegen, cache, device, context.
 */
#ifndef KILN_JIT_JIT_H
#define KILN_JIT_JIT_H

#include "codegen/codegen.h"
#include "context/context.h"

/*
 * Give the entry of `source` on the context's device. Waits if another thread is compiling it.
 * ERR_COMPILE has a message in the user's terms (kiln__diagnose). After ERR_NO_COMPILER,
 * ERR_NO_NVRTC, ERR_DRIVER and ERR_NO_MEMORY a later call tries again.
 *
 * @param entry_out What kiln__launch takes; valid as long as the context.
 */
kiln_status kiln__jit_entry(kiln_context *ctx, const kiln__definition *def,
                            const kiln__source *source, void **entry_out, kiln_error *err);

/* The same for a thread that may be stopped: ERR_CANCELLED if another thread sets `cancel` (may be
 * NULL) before the program is compiled. A later call tries again. */
kiln_status kiln__jit_entry_unless(kiln_context *ctx, const kiln__definition *def,
                                   const kiln__source *source, const atomic_bool *cancel,
                                   void **entry_out, kiln_error *err);

/* Give the binary of a module's source. It is not loaded, so that each module has variables of its
 * own. *log_out, if not NULL, receives the compiler's log, "" if there is none, also for a binary
 * from the cache. The context owns both. */
kiln_status kiln__jit_image(kiln_context *ctx, const kiln__definition *def,
                            const kiln__source *source, const kiln__blob **out,
                            const char **log_out, kiln_error *err);

/* ---- without a device (build.c) ---- */

/* What kiln__jit_warm() did. */
typedef struct kiln__warmed {
    bool compiled;     /* false: it was in the cache */
    size_t bytes;      /* of the binary */
    double compile_us;
    kiln__hash128 key; /* the hash of its key in the cache */
} kiln__warmed;

/*
 * Compile `source` for `target`, unless a cache has it, and store it there under the keys that
 * kiln__jit_entry() looks for. No device and no driver are needed. Other processes wait, as for any
 * compilation. ERR_COMPILE has a message in the user's terms; ERR_CACHE says why the cache cannot
 * keep the result: because of its folder, or because the binary depends on something that is not in
 * the key.
 */
kiln_status kiln__jit_warm(kiln__cache *cache, const kiln__definition *def,
                           const kiln__source *source, const kiln__target *target,
                           kiln__warmed *out, kiln_error *err);

/* Whether the cache has what kiln__jit_warm() would store. */
bool kiln__jit_is_warm(kiln__cache *cache, const kiln__definition *def, const kiln__source *source,
                       const kiln__target *target, kiln__warmed *out);

/* ERR_COMPILE with the message of that time if the cache has a note that a compiler refused this
 * source; else KILN_OK. */
kiln_status kiln__jit_recall(kiln__cache *cache, const kiln__definition *def,
                             const kiln__source *source, const kiln__target *target,
                             kiln_error *err);
/* Note in the cache that a source was refused, if `err` holds an ERR_COMPILE; else remove that
 * note. */
void kiln__jit_remember(kiln__cache *cache, const kiln__definition *def,
                        const kiln__source *source, const kiln__target *target,
                        const kiln_error *err);

/* Copy the binary of `source` from one cache to another, under the same keys. Returns whether
 * `from` had it and `to` keeps it. */
bool kiln__jit_copy(kiln__cache *from, kiln__cache *to, const kiln__definition *def,
                    const kiln__source *source, const kiln__target *target);

/* Compile, and explain ERR_COMPILE in terms of the definition. The caller clears *result, also
 * after a failure. `cancel` may be NULL. */
kiln_status kiln__jit_compile(kiln__cache *cache, const kiln__definition *def,
                              const kiln__source *source, const kiln__target *target,
                              const atomic_bool *cancel, kiln__compile_result *result,
                              double *us_out, kiln_error *err);

/* ---- keys (key.c, inputs.c, follow.c) ---- */

/* A file whose text is in a key, with what fstat said when it was read. */
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
    int64_t read_ns; /* when the first was read, by the clock of the file system's time stamps */
    bool complete;   /* the binary depends on no other file */
    char why[500];   /* the reason if it may */
    char *odd;       /* a path to a pipe, a device or a socket; else NULL */
} kiln__inputs;

/* The key of a binary, and the files it depends on. */
typedef struct kiln__demand {
    kiln__buf key;         /* everything that the binary depends on, nothing local to the machine */
    size_t compiler_bytes; /* how much of it describes the compiler; the rest is the request */
    kiln__hash128 hash;    /* of the key. It says where to look; entries are compared by the key. */
    kiln__inputs inputs;
    bool cacheable; /* the key is complete, so the binary may be stored on disk */
} kiln__demand;

/* Make a key; reads every file that is included. ERR_NO_MEMORY, or ERR_IO when an include is a
 * pipe, a device or a socket; `out` is empty then. */
kiln_status kiln__demand_make(const kiln__definition *def, const kiln__source *source,
                           const kiln__target *target, kiln__demand *out, kiln_error *err);
void kiln__demand_clear(kiln__demand *w);

/* Append the key without the compiler. Under it the cache stores the compiler of the last binary,
 * so that a machine without a compiler finds that binary. */
void kiln__demand_any_key(const kiln__demand *w, kiln__buf *key);

/* Before a compilation: wait until a later change of a file would change its time stamp. Returns
 * false when that takes too long, or when a file has changed. */
bool kiln__demand_await_stamps(kiln__demand *w, const kiln__definition *def,
                               const kiln__source *source, const kiln__target *target);
/* After it: whether no file has changed since the key was made. */
bool kiln__demand_holds(const kiln__demand *w, const kiln__definition *def,
                        const kiln__source *source, const kiln__target *target);

void kiln__inputs_begin(kiln__inputs *in);
void kiln__inputs_clear(kiln__inputs *in);
/* How long to wait until a change of any file would change its time stamp; 0: not at all, -1: too
 * long. */
int64_t kiln__inputs_wait_ns(const kiln__inputs *in);
bool kiln__inputs_equal(const kiln__inputs *a, const kiln__inputs *b);
/* Whether the inputs are complete and include all files that the compiler has read (one path on
 * each line; NULL: unknown). */
bool kiln__inputs_cover(kiln__inputs *in, const char *read_by_compiler);

/* Store a binary under its key, and the compiler under the key without one. Returns false when the
 * cache does not keep it. */
bool kiln__jit_store(kiln__cache *cache, const kiln__demand *w, const kiln__compile_result *result,
                     double compile_us);

#endif
