/*
 * warm.h - the one door of src/warm: which kernels the lines of a manifest stand for.
 *
 *     manifest > [entry > definitions and variants] > source > jit > cache
 *
 * expand.c      definitions with types, layouts, shapes and axes
 * expression.c  expressions: graphs from text, and the kernels that they become
 * dry_run.c     those of operations that choose them when they run
 * outlet.c      where kernels go, and the devices they are planned for
 *
 * Needs no device and no driver. Uses core, codegen, array, manifest, kernel and graph (the planners
 * of real calls).
 */
#ifndef KILN_WARM_WARM_H
#define KILN_WARM_WARM_H

#include "device/device.h"
#include "kernel/kernel.h"
#include "manifest/manifest.h"

/* Take one kernel; `def` is valid during the call only. A failure ends the expansion. */
typedef kiln_status (*kiln__warm_fn)(void *user, const kiln__definition *def,
                                     const kiln__variant *variant, kiln_error *err);

/*
 * Hand every kernel of an entry that programs on `backend` need to `fn`, each once:
 *
 *   1. those of its "layouts" for this backend, exactly;
 *   2. those that calls with its "shapes" need, on a device of any size;
 *   3. when there are neither: those of the commonest calls (docs/manifest.md).
 *
 * Expressions have no layouts: several kernels may come of one.
 *
 * ERR_FORMAT and the statuses of definitions, with file and line in the message.
 */
kiln_status kiln__warm_expand(const kiln__manifest_entry *entry, kiln_backend backend,
                              kiln__warm_fn fn, void *user, kiln_error *err);

/*
 * Hand every kernel that kiln__warm_expand() leaves out to `fn`: those of sorts, scatters, selections, products and
 * others in an expression, which choose their kernels when they run, by the target as well. Some that it gives may be
 * given again. Other entries have none. Fails as kiln__warm_expand() does.
 */
kiln_status kiln__warm_expand_runs(const kiln__manifest_entry *entry, const kiln__target *target,
                                   kiln__warm_fn fn, void *user, kiln_error *err);

/* Whether a kernel can be made for a target at all; `why` (64 bytes) tells of one that cannot:
 * CUDA's words on a processor, clusters of blocks before sm_90. */
bool kiln__warm_fits(const kiln__definition *def, const kiln__variant *variant,
                     const kiln__target *target, char *why);

/* The devices that plans of reductions, scans and row programs differ between, by number; false
 * past the end. Those with clusters of blocks come behind the others, with more shared memory last. */
bool kiln__warm_device(kiln_backend backend, size_t nth, kiln__plan_device *out);

/* Put "FILE:LINE: " before a message that lacks it. Returns err's status (OK for NULL). */
kiln_status kiln__warm_place(const kiln__manifest_entry *entry, kiln_error *err);

#endif
