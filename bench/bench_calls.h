/* bench_calls.h - host time of calls, first calls and the pool; see bench_calls.c. */
#ifndef KILN_BENCH_CALLS_H
#define KILN_BENCH_CALLS_H

#include "bench.h"

/* Add all rows. `program` is this program's path, started again for first calls in a process. */
void bench_calls(kiln_context *ctx, bench_file *file, const char *program);

/* What `program --child MODE --cache DIR` does: print one number, in microseconds. */
int bench_calls_child(const char *mode, int argc, char **argv);

#endif
