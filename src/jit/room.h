/*
 * room.h - kernels whose registers did not suffice. Private to src/jit.
 */
#ifndef KILN_JIT_ROOM_H
#define KILN_JIT_ROOM_H

#include "jit/jit.h"

/* Put the image of a roomier form of `tight` in the place of `result`, which `request` has given, where that takes
 * much local memory. As kiln__compile, but for ERR_COMPILE: the result then stays what it is. */
kiln_status kiln__jit_make_room(const kiln__definition *def, const kiln__source *tight,
                                const kiln__compile_request *request,
                                kiln__compile_result *result, kiln_error *err);

#endif
