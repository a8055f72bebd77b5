/*
 * device_env.h - what the tests of devices share: opening, checked helpers, kernels by hand.
 */
#ifndef KILN_TESTS_DEVICE_ENV_H
#define KILN_TESTS_DEVICE_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "in_child.h"

#define EXIT_SKIP 77
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* What the running group is for. */
extern const char *device_name;
extern bool on_cuda;

/* Run `tests` on the device `name`; EXIT_SKIP, with a line that says why, when it does not open.
 * This process has not touched CUDA when the first test begins. */
int device_env_run(const char *name, const char *group, const struct CMUnitTest *tests,
                   size_t count);

/* ---- calls that fail the running test when they fail ---- */

kiln__device *must_open(const char *name);
kiln_stream *must_stream(kiln__device *device);
kiln__block *must_alloc(kiln__device *device, size_t bytes, kiln_stream *stream);
void *must_entry(kiln__module *module, const char *name);

double now_us(void);

/* Bytes that depend on their place and on `seed`. */
void fill(unsigned char *bytes, size_t count, unsigned seed);
bool matches(const unsigned char *bytes, size_t count, unsigned seed);

/* Whether a call failed as wanted, with `text` in its message; prints what it did instead. For
 * child processes, where no assertion of the test framework works. */
bool says(kiln_status got, kiln_status want, const kiln_error *err, const char *text);

/* ---- kernels ---- axpy and wide for both backends; for cuda also spin, shared, where, nothing,
 * bad_address, bad_alignment, bad_assert, bad_trap */

typedef struct axpy_args {
    const float *x;
    float *y;
    float a;
    long long n;
} axpy_args;

typedef struct spin_args {
    int *flag;
    long long clocks;
} spin_args;

typedef struct wide_args {
    int *out;
    int values[1022]; /* 4096 bytes in all */
} wide_args;

/* NULL when the device has no compiler here; the test is then skipped. */
kiln__module *load_kernels(kiln__device *device);

kiln_status launch(kiln__device *device, void *entry, int64_t blocks, uint32_t threads,
                   const void *args, size_t bytes, kiln_stream *stream, kiln_error *err);

/* Keep a CUDA stream busy for about `ms`, then add 1 to *flag. */
void spin(kiln__device *device, kiln__module *module, kiln__block *flag, double ms,
          kiln_stream *stream);

/* y = a*x + y over n floats on the device against the same loop on the host. */
void check_axpy(kiln__device *device, kiln__module *module, size_t n);

#endif
