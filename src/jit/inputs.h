/*
 * inputs.h - the files that a kernel is made from, as a key finds them; for src/jit alone.
 *
 *     key.c, jit.c, build.c -> inputs.c    read, remembered, compared later
 *                           -> follow.c   which files: #includes and options followed
 */
#ifndef KILN_JIT_INPUTS_H
#define KILN_JIT_INPUTS_H

#include <sys/stat.h>

#include "jit/jit.h"

/* The inputs are not complete; the first reason is kept, as a clause. */
void kiln__inputs_refuse(kiln__inputs *in, const char *fmt, ...) KILN_PRINTF(2, 3);

/* A regular file into heap memory, its path and what the system says of it into `in`. False when
 * there is none; a path that leads to something else is kept in in->odd. One that is there and cannot
 * be read leaves the inputs incomplete. */
bool kiln__input_read(kiln__inputs *in, const char *path, char **text_out, size_t *bytes_out);
/* Whether the path is among them. */
bool kiln__input_known(const kiln__inputs *in, const char *path);

/* Follow the includes of a definition and of its options; the texts of all files go into `key`. */
void kiln__inputs_follow(const kiln__definition *def, kiln_backend backend, kiln__buf *key,
                        kiln__inputs *in);

#endif
