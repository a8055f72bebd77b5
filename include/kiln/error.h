/**
 * @file kiln/error.h
 * @brief Status codes, and an optional, caller-owned place for what went wrong.
 *
 * Every function that can fail returns a kiln_status, which the compiler warns about when it is not
 * looked at, and takes a `kiln_error *` as its last parameter. NULL is always allowed there; it
 * costs nothing but the explanation.
 *
 *     kiln_array *sum = NULL;
 *     if (kiln_array_add(x, y, &sum, &err) != KILN_OK) {
 *         kiln_error_print(&err, stderr);     // one line, then the text at fault with a caret
 *         kiln_error_clear(&err);             // frees its texts; it can be used again
 *     }
 *     kiln_array_release(sum);                // NULL after a failure, which is accepted
 *
 * After a failure everything is as it was before the call: objects, outputs that were given, and
 * output pointers, except that functions which create something set `*out` to NULL. A function that
 * cannot keep this says so.
 *
 * Threads: a kiln_error belongs to one thread at a time. The library keeps no "last error".
 * Owner:   the caller owns the struct; the library owns nothing in it after the call returns, so
 *          kiln_error_clear() (or the next call that fails into it) frees its texts.
 * Time:    kernels run after the call that enqueued them has returned. What a kernel does wrong on
 *          a CUDA device, as an access out of bounds, is therefore reported by a later call: by the
 *          next one that synchronizes, or that notices (ERR_FAULT).
 */
#ifndef KILN_ERROR_H
#define KILN_ERROR_H

#include <stdio.h>

#include "kiln/base.h"

/**
 * X(name, value, text): every status there is. Values are pinned and never reused.
 *
 * Who can do something about a failure is a matter of the status:
 *
 * - The definition or the call is wrong, and the same call fails in the same way again: ARGUMENT,
 *   NULL, SYNTAX, NAME, UNKNOWN_TYPE, UNBOUND, DTYPE, ARGUMENT_COUNT, SHAPE, OUTPUT, CONTEXT,
 *   RELEASED, SIZE, UNDECIDED_SIZE, RANGE, COMPILE, AXIS, OVERLAP, OVERFLOW, IDENTITY. The message
 *   names the parameter and the values that decide.
 * - The machine or the build lacks something: NO_COMPILER, NO_DRIVER, NO_NVRTC, NO_DEVICE,
 *   UNSUPPORTED. `kiln info` shows what was looked for and where.
 * - Something has run out or is busy, and a later call may succeed: NO_MEMORY, DEVICE_MEMORY, IO,
 *   TIMEOUT, CANCELLED.
 * - A file cannot be used as it is: FORMAT, CACHE. A damaged cache entry is none of these: it is
 *   compiled again, and no kernel call fails for it.
 * - The device is lost to this process: FAULT, after which every call on the context gives FAULT,
 *   and DRIVER for other failures of the CUDA driver, with its own name for them in the message.
 *   FORK: the context was made before a fork, and belongs to the parent.
 * - INTERNAL is a bug of kiln.
 * New ones stand before ERR_INTERNAL, which comes last because it is no fault of the caller's.
 */
#define KILN_STATUS_MAP(X)                                                                         \
    X(OK, 0, "success")                                                                            \
    X(ERR_ARGUMENT, -1, "an argument breaks the function's contract")                              \
    X(ERR_NULL, -2, "a pointer that must be set is NULL")                                          \
    X(ERR_NO_MEMORY, -3, "the host is out of memory")                                              \
    X(ERR_DEVICE_MEMORY, -4, "the device is out of memory, or the pool is at its limit")           \
    X(ERR_SYNTAX, -5, "a signature does not parse")                                                \
    X(ERR_NAME, -6, "a name is used twice, is reserved, or is no identifier")                      \
    X(ERR_UNKNOWN_TYPE, -7, "a type name is not known")                                            \
    X(ERR_UNBOUND, -8, "no argument decides a placeholder type")                                   \
    X(ERR_DTYPE, -9, "an argument's dtype is not the one required")                                \
    X(ERR_ARGUMENT_COUNT, -10, "the number of arguments is not the number of parameters")          \
    X(ERR_SHAPE, -11, "array shapes do not broadcast together")                                    \
    X(ERR_OUTPUT, -12, "an output array has the wrong shape, or cannot be written")                \
    X(ERR_CONTEXT, -13, "an object belongs to another context")                                    \
    X(ERR_RELEASED, -14, "a handle was used after its release")                                    \
    X(ERR_SIZE, -15, "`size` was given although arrays decide it, or is no size")                  \
    X(ERR_UNDECIDED_SIZE, -16, "nothing decides how many elements to run over")                    \
    X(ERR_RANGE, -17, "a scalar does not fit the dtype it must take")                              \
    X(ERR_COMPILE, -18, "the compiler rejected a snippet")                                         \
    X(ERR_NO_COMPILER, -19, "no C++ compiler was found for the cpu device")                        \
    X(ERR_NO_DRIVER, -20, "no CUDA driver was found")                                              \
    X(ERR_NO_NVRTC, -21, "no NVRTC library was found")                                             \
    X(ERR_NO_DEVICE, -22, "the device asked for does not exist or cannot be used")                 \
    X(ERR_DRIVER, -23, "a CUDA driver call failed")                                                \
    X(ERR_FAULT, -24, "a kernel faulted on the device; its context can no longer be used")         \
    X(ERR_FORK, -25, "a context was used in a process forked from the one that made it")           \
    X(ERR_IO, -26, "a file could not be read or written")                                          \
    X(ERR_FORMAT, -27, "a file is damaged or of another format")                                   \
    X(ERR_UNSUPPORTED, -28, "this device or this build cannot do that")                            \
    X(ERR_AXIS, -29, "an axis, index or slice is out of range or repeated")                        \
    X(ERR_OVERLAP, -30, "an output overlaps itself or another output")                             \
    X(ERR_OVERFLOW, -31, "a size in bytes does not fit 62 bits")                                   \
    X(ERR_CACHE, -32, "the cache folder cannot be trusted or used")                                \
    X(ERR_IDENTITY, -34, "an empty reduction has no identity to return")                           \
    X(ERR_CANCELLED, -35, "the work was cancelled before it was done")                             \
    X(ERR_TIMEOUT, -36, "the time allowed for waiting is over; the work goes on")                  \
    X(ERR_SINGULAR, -37, "a matrix is singular or indefinite, or an iteration did not converge")   \
    X(ERR_INDEX, -38, "an index array holds an index that is out of range")                        \
    X(ERR_INTERNAL, -33, "kiln broke a promise of its own; please report it")

/** What a call returns: KILN_OK, or KILN_ERR_ and a name of the table. Test against KILN_OK; values
 *  below zero are failures, and there are none above it. Later versions may add statuses. */
typedef enum kiln_status {
#define KILN_STATUS_ENUM(name, value, text) KILN_##name = value,
    KILN_STATUS_MAP(KILN_STATUS_ENUM)
#undef KILN_STATUS_ENUM
} kiln_status;

/** Room for an error's message, its terminating NUL included. A longer one is cut, between two
 *  characters of UTF-8. */
#define KILN_ERROR_MESSAGE_BYTES 512

/**
 * Where a failing call explains itself. May live on the stack; begin it with KILN_ERROR_INIT.
 *
 * A call that fails fills it; a call that succeeds leaves it alone, so that several calls in a row
 * may share one and be judged by its status at the end. A second failure into the same struct frees
 * the first one's texts. A message names the thing and the values that decide; with its detail it
 * reads
 *
 *     kernel "axpy": op, line 1, column 9: 'sqr' was not declared in this scope
 *       z = a * sqr(x) + y
 *               ^
 */
typedef struct kiln_error {
    kiln_status status;                     /**< What the call returned. */
    char message[KILN_ERROR_MESSAGE_BYTES]; /**< One UTF-8 line, NUL-terminated. */
    int64_t offset; /**< The byte, counted from 0, at which a text that was given is wrong: an
                         expression, a subscript, an einsum formula, a signature or a line of a
                         manifest. -1: the failure is not about a place in such a text. */
    char *detail; /**< The text at fault with a caret under it, several lines; or NULL. */
    char *log;    /**< ERR_COMPILE: the compiler's whole log; else NULL. */
    char *source; /**< ERR_COMPILE: the whole generated source; else NULL. */
} kiln_error;

/** Initial value of a kiln_error: no failure, no texts. */
#define KILN_ERROR_INIT {KILN_OK, {0}, -1, NULL, NULL, NULL}

KILN_EXTERN_C_BEGIN

/** The meaning of `status` in one line, as the table has it; "unknown status" for a value that it
 *  does not have. Constant text, never NULL. */
KILN_API const char *kiln_status_string(kiln_status status);

/** The name of `status` as written in C, e.g. "KILN_ERR_SHAPE", for logs; "unknown status" for a
 *  value that the table does not have. Constant text, never NULL. */
KILN_API const char *kiln_status_name(kiln_status status);

/** Free the error's texts and make it KILN_ERROR_INIT again. Accepts NULL, and a struct that holds
 *  no failure. */
KILN_API void kiln_error_clear(kiln_error *err);

/** Write the message and the detail to `out`, each line ended; the log and the source are left out.
 *  Prints nothing for KILN_OK or NULL, so a program may call it whenever it ends. */
KILN_API void kiln_error_print(const kiln_error *err, FILE *out);

KILN_EXTERN_C_END

#endif
