/**
 * @file kiln/base.h
 * @brief Version, export marks and the limits that every other header uses.
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

#if defined(_WIN32)
#define KILN_API
#else
#define KILN_API __attribute__((visibility("default")))
#endif

/** Marks a result that must be looked at: every kiln_status is one. */
#define KILN_NODISCARD __attribute__((warn_unused_result))

#ifdef __cplusplus
#define KILN_EXTERN_C_BEGIN extern "C" {
#define KILN_EXTERN_C_END }
#else
#define KILN_EXTERN_C_BEGIN
#define KILN_EXTERN_C_END
#endif

/** Most axes an array may have, as in NumPy 1 and CuPy. */
#define KILN_RANK_MAX 32

/** Most parameters one kernel may declare, inputs and outputs together. */
#define KILN_PARAM_MAX 64

KILN_EXTERN_C_BEGIN

/** The library's version as "major.minor.patch"; constant text, never NULL. */
KILN_API const char *kiln_version(void);

/** Free text that a kiln function handed over (and said so). Accepts NULL. */
KILN_API void kiln_free(void *text);

KILN_EXTERN_C_END

#endif
