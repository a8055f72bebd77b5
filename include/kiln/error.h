/**
 * @file kiln/error.h
 * @brief Status codes, and an optional, caller-owned place for what went wrong.
 *
 * Every function that can fail returns a kiln_status and takes a `kiln_error *` as its last
 * parameter. Passing NULL is always allowed and costs nothing but the explanation.
 *
 * Threads: a kiln_error belongs to one thread at a time. The library keeps no "last error".
 * Owner:   the caller owns the struct; the library owns nothing in it after the call returns, so
 *          kiln_error_clear() (or the next call that fails into it) frees its texts.
 */
#ifndef KILN_ERROR_H
#define KILN_ERROR_H

#include <stdio.h>

#include "kiln/base.h"

/**
 * X(name, value, text): every status there is. Values are pinned and never reused.
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
    X(ERR_OVERFLOW, -31, "a size in bytes does not fit 63 bits")                                   \
    X(ERR_CACHE, -32, "the cache folder cannot be trusted or used")                                \
    X(ERR_IDENTITY, -34, "an empty reduction has no identity to return")                           \
    X(ERR_CANCELLED, -35, "the work was cancelled before it was done")                             \
    X(ERR_TIMEOUT, -36, "the time allowed for waiting is over; the work goes on")                  \
    X(ERR_INTERNAL, -33, "kiln broke a promise of its own; please report it")

/** What a call returns. Test against KILN_OK; values below zero are failures. */
typedef enum kiln_status {
#define KILN_STATUS_ENUM(name, value, text) KILN_##name = value,
    KILN_STATUS_MAP(KILN_STATUS_ENUM)
#undef KILN_STATUS_ENUM
} kiln_status;

/** Room for an error's message, its terminating NUL included. */
#define KILN_ERROR_MESSAGE_BYTES 512

/**
 * Where a failing call explains itself. May live on the stack; start it with KILN_ERROR_INIT.
 *
 * A call that fails fills it; a call that succeeds leaves it alone. A second failure into the
 * same struct frees the first one's texts.
 */
typedef struct kiln_error {
    kiln_status status;                     /**< What the call returned. */
    char message[KILN_ERROR_MESSAGE_BYTES]; /**< One UTF-8 line, NUL-terminated. */
    char *detail; /**< The text at fault with a caret under it, several lines; or NULL. */
    char *log;    /**< ERR_COMPILE: the compiler's whole log; else NULL. */
    char *source; /**< ERR_COMPILE: the whole generated source; else NULL. */
} kiln_error;

/** Initial value of a kiln_error: no failure, no texts. */
#define KILN_ERROR_INIT {KILN_OK, {0}, NULL, NULL, NULL}

KILN_EXTERN_C_BEGIN

/** The constant one-line meaning of `status`; "unknown status" for a value not in the table. */
KILN_API const char *kiln_status_string(kiln_status status);

/** The name of `status` as written in C, e.g. "KILN_ERR_SHAPE"; constant text. */
KILN_API const char *kiln_status_name(kiln_status status);

/** Free the error's texts and make it KILN_ERROR_INIT again. Accepts NULL. */
KILN_API void kiln_error_clear(kiln_error *err);

/** Write message and detail to `out`, each line ended. Prints nothing for KILN_OK or NULL. */
KILN_API void kiln_error_print(const kiln_error *err, FILE *out);

KILN_EXTERN_C_END

#endif
