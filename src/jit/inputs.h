/*
 * inputs.h - the files that a kernel is made from, as a key finds them; for src/jit alone.
 *
 *     key.c, jit.c, build.c -> inputs.c    read, remembered, compared later
 *                           -> include.c   which files: #includes and options followed
 */
#ifndef KILN_JIT_INPUTS_H
#define KILN_JIT_INPUTS_H

#include <sys/stat.h>

#include "jit/jit.h"

/* A regular file into heap memory, its path and what the system says of it into `in`. False when
 * there is none to be read; a path that leads to something else is kept in in->odd. */
bool kiln__input_read(kiln__inputs *in, const char *path, char **text_out, size_t *bytes_out);
/* Whether the path is among them. */
bool kiln__input_known(const kiln__inputs *in, const char *path);

/* Follow the includes of a definition and of its options; the texts of all files go into `key`. */
void kiln__include_scan(const kiln__definition *def, kiln_backend backend, kiln__buf *key,
                        kiln__inputs *in);

#endif
