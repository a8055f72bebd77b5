/**
 * @file kiln/base.h
 * @brief Version, export marks and the limits that every other header uses.
 *
 * Names:   functions and types begin with kiln_, constants and macros with KILN_. What has two
 *          underscores (kiln__, KILN__) is what macros expand to, and not part of the API.
 * Threads: each header says which of its functions may be called at once. The two below may be
 *          called from any thread.
 */
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The version this header belongs to; kiln_version() tells the library's. */
#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION_STRING "0.1.0"

/** Marks the functions that the shared library exports; all others are hidden. */
#if defined(_WIN32)
#define KILN_API
#else
#define KILN_API __attribute__((visibility("default")))
#endif

/** Marks a result that must be looked at: every kiln_status is one. */
#define KILN_NODISCARD __attribute__((warn_unused_result))

/** Around the functions of a header: they have C linkage in C++ as well. */
#ifdef __cplusplus
#define KILN_EXTERN_C_BEGIN extern "C" {
#define KILN_EXTERN_C_END }
#else
#define KILN_EXTERN_C_BEGIN
#define KILN_EXTERN_C_END
#endif

/** Most axes an array may have, as in NumPy 1 and CuPy. More are ERR_ARGUMENT. */
#define KILN_RANK_MAX 32

/** Most parameters one kernel may declare, inputs and outputs together. Graphs have no such limit.
 *  */
#define KILN_PARAM_MAX 64

KILN_EXTERN_C_BEGIN

/** The version of the library that the program runs with, as "major.minor.patch"; constant text,
 *  never NULL. KILN_VERSION_STRING is that of the headers it was compiled with. */
KILN_API const char *kiln_version(void);

/** Free a text or a list that a kiln function handed over, and whose comment says so. Accepts NULL.
 *  No other function frees such memory, and this one frees nothing else. */
KILN_API void kiln_free(void *text);

KILN_EXTERN_C_END

#endif
