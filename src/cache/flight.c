/*
 * flight.c - one compilation per key at a time, across processes.
 *
 *     miss > [begin: lock the key, look again] > compile > store > [end: unlock]
 *
 * One lock file for all keys: each key locks one byte, at an offset that its hash chooses. The file
 * itself stays empty. Locks belong to an open file description, so they end with their holder
 * however it ends. Two keys that share a byte wait for each other needlessly and no more.
 *
 * Rule: a flight is a courtesy. When locks do not work here, or the holder takes too long (a
 *       stopped process, say), the caller compiles for himself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

#define LOCK_NAME KILN__HOUSEKEEPING_PREFIX "lock"

int kiln__flight_lock(int folder, kiln__hash128 hash, double wait_us, bool *waited)
{
    /* 62 bits: offsets are signed, and a lock's end must be one too. */
    const int64_t at = (int64_t)(hash.lo >> 2);
    int fd = kiln__open_housekeeping(folder, LOCK_NAME, O_RDWR | O_CREAT);
    int why = 0;

    *waited = false;
    if (fd < 0)
        return -1;
    why = kiln__lock_byte(fd, at, 0);
    if (why == ETIMEDOUT) {
        *waited = true;
        why = kiln__lock_byte(fd, at, wait_us);
    }
    if (why == 0)
        return fd;
    close(fd);
    return -1;
}
