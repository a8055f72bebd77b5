/*
 * inputs.h - the files that a binary depends on besides its source. Private to src/jit.
 *
 *     key.c, jit.c, build.c -> inputs.c   reads files, and compares them later
 *                           -> follow.c   finds them: #includes, and options such as -include
 */
#ifndef KILN_JIT_INPUTS_H
#define KILN_JIT_INPUTS_H

#include <sys/stat.h>

#include "jit/jit.h"

/* Mark the inputs as incomplete. The first reason, a clause, is kept. */
void kiln__inputs_refuse(kiln__inputs *in, const char *fmt, ...) KILN_PRINTF(2, 3);

/* Read a regular file into heap memory, and add it to `in`. Returns false when there is none.
 * in->odd gets the path of anything else; a file that cannot be read makes the inputs incomplete. */
bool kiln__input_read(kiln__inputs *in, const char *path, char **text_out, size_t *bytes_out);
/* Whether the path was added. */
bool kiln__input_known(const kiln__inputs *in, const char *path);

/* Read the files that a definition and its options include; append all texts to `key`. */
void kiln__inputs_follow(const kiln__definition *def, kiln_backend backend, kiln__buf *key,
                        kiln__inputs *in);

#endif
