/**
 * @file kiln/observer.h
 * @brief Observers: callbacks for allocations, launches, copies, compilations and cache lookups;
 * tables, logs and timelines of them; and the labels under which they are counted.
 *
 *     kiln_observer *table = NULL;
 *     kiln_array *z = NULL;
 *     char *text = NULL;
 *     kiln_observer_create_table(ctx, KILN_TABLE_BY_LABEL, &table, &err);
 *     kiln_scope_push("step");
 *     kiln_array_add(x, y, &z, &err);
 *     kiln_scope_pop();
 *     kiln_observer_to_string(table, &text, &err); // a line for "step": bytes, calls
 *     puts(text);
 *     kiln_free(text);
 *     kiln_observer_destroy(table);
 *     kiln_array_release(z);
 *
 * Without an observer the cost is one load and one branch a call. $KILN_TRACE makes a timeline of a
 * program without a change of its code (docs/profiling.md).
 *
 * Threads: every function may be called from any thread. A program's observers are called one at a
 *          time, on the thread that does the observed work.
 * Units:   bytes; microseconds of the host's monotonic clock (CLOCK_MONOTONIC).
 * Owner:   an observer belongs to whoever created it and keeps its context alive.
 */
#ifndef KILN_OBSERVER_H
#define KILN_OBSERVER_H

#include "kiln/context.h"

typedef struct kiln_observer kiln_observer;

/** The kinds of observations. The numbers never change. */
typedef enum kiln_observed {
    KILN_OBSERVED_ALLOC = 0,   /**< The pool has handed out a block. */
    KILN_OBSERVED_FREE = 1,    /**< A block was given back to the pool. */
    KILN_OBSERVED_ACQUIRE = 2, /**< The pool has taken memory from the device. */
    KILN_OBSERVED_RELEASE = 3, /**< The pool has given memory back to the device. */
    KILN_OBSERVED_LIMIT = 4,   /**< An allocation found the pool at its limit, or the device full;
                                        `status` says whether it was served all the same. */
    KILN_OBSERVED_LAUNCH = 5,  /**< A kernel was enqueued, or a library's matrix product. */
    KILN_OBSERVED_REPLAY = 6,  /**< A captured program was enqueued. */
    KILN_OBSERVED_COPY = 7,    /**< A copy was made or enqueued; see `direction`. */
    KILN_OBSERVED_WAIT = 8,    /**< The thread has waited for a stream or for the device. */
    KILN_OBSERVED_COMPILE = 9, /**< A kernel was compiled, or refused (`status`). */
    KILN_OBSERVED_CACHE_HIT = 10,   /**< A compiled kernel was found on disk. */
    KILN_OBSERVED_CACHE_MISS = 11,  /**< It was not, and must be compiled. */
    KILN_OBSERVED_CACHE_STORE = 12, /**< A compiled kernel was written to disk. */
    KILN_OBSERVED_CALL_BEGIN = 13, /**< A call of a kernel begins: from here on the thread works out
                                        the launch, allocates outputs and enqueues. */
    KILN_OBSERVED_CALL_END = 14,   /**< It returns. */
    KILN_OBSERVED_SCOPE_BEGIN = 15, /**< kiln_scope_push(); of no context. */
    KILN_OBSERVED_SCOPE_END = 16,   /**< kiln_scope_pop(). */
    KILN_OBSERVED_RUN = 17, /**< A kernel, program or copy has run on the device; the times are the
                                 device's. It is reported some time afterwards. While it is
                                 observed, two events are recorded around all work. */
    KILN_OBSERVED_HOST_ALLOC = 18,   /**< The pool of page-locked memory has handed out a block. */
    KILN_OBSERVED_HOST_FREE = 19,    /**< A block was given back to that pool. */
    KILN_OBSERVED_HOST_ACQUIRE = 20, /**< That pool has taken memory from the system. */
    KILN_OBSERVED_HOST_RELEASE = 21  /**< It has given memory back to the system. */
} kiln_observed;

/** For sets of kinds: `KILN_OBSERVE(KILN_OBSERVED_ALLOC) | ...`. */
#define KILN_OBSERVE(kind) (UINT32_C(1) << (kind))
#define KILN_OBSERVE_ALL ((UINT32_C(1) << 22) - 1)

/** Between which memories a copy goes. */
typedef enum kiln_direction {
    KILN_DIRECTION_NONE = 0,
    KILN_DIRECTION_TO_DEVICE = 1,
    KILN_DIRECTION_TO_HOST = 2,
    KILN_DIRECTION_ON_DEVICE = 3,
    KILN_DIRECTION_SET = 4 /**< Memory of the device was filled with a byte. */
} kiln_direction;

/** A label that a thread works under. */
typedef struct kiln_scope {
    const char *label; /**< Valid for the rest of the process. */
    const char *file;  /**< Of KILN_SCOPE_PUSH(); NULL for kiln_scope_push(). As `label`. */
    int line;
    const struct kiln_scope *outer; /**< NULL: the outermost. */
} kiln_scope;

/** One observation. Fields without a meaning for its kind are NULL or 0. Pointers are valid during
 *  the call only. */
typedef struct kiln_observation {
    size_t struct_size; /**< sizeof(kiln_observation) as the library knows it. */
    kiln_observed kind;
    kiln_status status;  /**< Of what has happened. */
    const char *device;  /**< "cuda:0"; NULL for scopes. */
    const void *context; /**< The kiln_context, to be compared only. */
    void *stream;        /**< The CUstream; NULL on the cpu device. */
    const char *kernel;  /**< The kernel's name; of memory: the kernel whose call asks for it. */
    const kiln_scope *scope; /**< The thread's innermost label; NULL: none. */
    uint64_t thread;         /**< The system's number of the thread. */
    kiln_direction direction;
    const void *address;     /**< Of the memory; where a copy goes to. */
    size_t bytes;            /**< Of the memory, copy, or compiled kernel. */
    size_t used_bytes;       /**< Memory: what the pool has handed out now. */
    size_t held_bytes;       /**< Memory: what it has taken from the device now. */
    double begin_us, end_us; /**< Equal for what takes no time. */
} kiln_observation;

/** The callback of an observer. It must not call kiln, except kiln_free(): locks may be held. */
typedef void (*kiln_observe_fn)(void *user, const kiln_observation *what);

/** What the lines of a table stand for. */
typedef enum kiln_table_by {
    KILN_TABLE_BY_LABEL = 1, /**< The thread's innermost label. */
    KILN_TABLE_BY_LINE = 2,  /**< File and line of the innermost KILN_SCOPE_PUSH(). */
    KILN_TABLE_BY_KERNEL = 3 /**< The kernel whose call asks for memory. */
} kiln_table_by;

KILN_EXTERN_C_BEGIN

/**
 * Begin a scope: until kiln_scope_pop() the work of the calling thread is counted under `label`.
 *                Scopes nest, 32 deep; deeper ones are counted and not shown. A call costs some
 *                nanoseconds.
 *
 * @param label Copied, cut at 255 bytes, and kept for the rest of the process: the first 1000
 *              labels or so; later ones become "(more labels)". NULL is "".
 */
KILN_API void kiln_scope_push(const char *label);

/** The same with a place in the source; for KILN_SCOPE_PUSH(). */
KILN_API void kiln_scope_push_at(const char *label, const char *file, int line);

/** kiln_scope_push() that notes file and line, for tables by line. */
#define KILN_SCOPE_PUSH(label) kiln_scope_push_at(label, __FILE__, __LINE__)

/** End the innermost scope of the calling thread; nothing when there is none. */
KILN_API void kiln_scope_pop(void);

/**
 * Call `fn` for each observation.
 *
 * @param ctx   Whose work is observed; NULL: that of all contexts of the process.
 * @param kinds OR of KILN_OBSERVE(); 0 means KILN_OBSERVE_ALL. KILN_OBSERVED_SCOPE_BEGIN and _END
 *              are told whatever the context.
 * @param user  Handed to `fn`; must be valid until kiln_observer_destroy() has returned.
 * @param out   Receives the observer; NULL on failure.
 * @return KILN_OK, ERR_NULL, ERR_ARGUMENT (kinds), ERR_NO_MEMORY, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_observer_create(kiln_context *ctx, uint32_t kinds,
                                                         kiln_observe_fn fn, void *user,
                                                         kiln_observer **out, kiln_error *err);

/** An observer that adds up bytes handed out and bytes taken from the device, by label, source line
 *  or kernel; kiln_observer_to_string() gives the table. */
KILN_API KILN_NODISCARD kiln_status kiln_observer_create_table(kiln_context *ctx, kiln_table_by by,
                                                               kiln_observer **out,
                                                               kiln_error *err);

/** An observer that writes allocations and frees to a file in the form of RMM's log: CSV with the
 *  columns Thread, Time, Action, Pointer, Size and Stream. A file that is there is replaced.
 *  @return also ERR_IO where the file cannot be written. */
KILN_API KILN_NODISCARD kiln_status kiln_observer_create_csv(kiln_context *ctx, const char *path,
                                                             kiln_observer **out, kiln_error *err);

/** An observer that writes a timeline to a file, in the JSON form that Perfetto (ui.perfetto.dev)
 *  and chrome://tracing read. A file that is there is replaced.
 *  @return also ERR_IO where the file cannot be written. */
KILN_API KILN_NODISCARD kiln_status kiln_observer_create_trace(kiln_context *ctx, const char *path,
                                                               kiln_observer **out,
                                                               kiln_error *err);

/** The table of kiln_observer_create_table() so far, as lines of text; free it with kiln_free().
 *  @return KILN_OK, ERR_NULL, ERR_ARGUMENT for an observer without a text, ERR_NO_MEMORY, ERR_FORK.
 *          */
KILN_API KILN_NODISCARD kiln_status kiln_observer_to_string(kiln_observer *observer,
                                                            char **text_out, kiln_error *err);

/** Write all observations so far, including device times of work that has run, to the observer's
 *  file.
 *  @return KILN_OK, ERR_NULL, ERR_IO for the first failure to write since the last flush, ERR_FORK.
 *          */
KILN_API KILN_NODISCARD kiln_status kiln_observer_flush(kiln_observer *observer, kiln_error *err);

/** End an observer; its pending output is written. Must not be called by the observer's own
 *  function. Accepts NULL. */
KILN_API void kiln_observer_destroy(kiln_observer *observer);

KILN_EXTERN_C_END

#endif
