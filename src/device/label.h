/*
 * label.h - the labels that the calling thread works under. Private to src/device.
 */
#ifndef KILN_DEVICE_LABEL_H
#define KILN_DEVICE_LABEL_H

#include "core/core.h"
#include "kiln/observer.h"

/* Begin a scope; `file` may be NULL. */
void kiln__scope_enter(const char *label, const char *file, int line);
/* End the innermost one. False where there is none, or where it was too deep to be kept. */
bool kiln__scope_leave(kiln_scope *left_out);
/* NULL: none. Its texts are valid for the rest of the process. */
const kiln_scope *kiln__scope_current(void);

/* The kernel whose call the thread is in, NULL: none; set it and get the one before. */
const char *kiln__scope_kernel(void);
const char *kiln__scope_set_kernel(const char *kernel);

#endif
