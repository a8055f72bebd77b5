/*
 * sabotage.h - somebody who damages a cache folder while it is used.
 */
#ifndef KILN_BENCH_SABOTAGE_H
#define KILN_BENCH_SABOTAGE_H

#include <stdint.h>

/* Truncates, overwrites, exchanges and removes what is in `folder`, puts folders, pipes, links and sockets in its
 * place, and changes modes and times, until the process is killed. */
_Noreturn void sabotage(const char *folder, uint64_t seed);

#endif
