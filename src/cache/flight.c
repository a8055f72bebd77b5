/*
 * flight.c - one compilation per key at a time, across processes.
 *
 *     miss > [begin: lock the key, look again] > compile > store > [end: unlock]
 *
 * One lock file for all keys: each key locks one byte, at an offset that its hash chooses, far
 * beyond the end of the file. Locks belong to an open file description, so they end with their
 * holder however it ends. Two keys that share a byte wait for each other needlessly and no more.
 *
 * What comes of it, for those who waited:
 *     an entry is there    they take it
 *     the holder died      one of them takes its place, the others go on waiting
 *     the holder failed    (the compiler refused the source, the disk took nothing) each compiles
 *                          for itself at once: one after another they would fail no less
 *
 * A failure is told in the first 4096 bytes of the file: the byte that the hash chooses is counted
 * up, and whoever waited looks whether it has changed. Keys that share one see too many failures.
 *
 * Rule 1: waiting saves work and is never needed for a right answer. When locks do not work here, or
 *         the holder takes too long (a stopped process, say), or the file cannot be written, the
 *         caller compiles for itself.
 * Rule 2: a lock is given back by name, not by closing alone: a child that was forked meanwhile has
 *         a copy of the descriptor.
 *
 * src/jit, publish.c and store.c call this file. Test: test_cache_limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

#define LOCK_NAME KILN__HOUSEKEEPING_PREFIX "lock"
#define FAILURE_BYTES 4096

static off_t failure_at(kiln__hash128 hash)
{
    return (off_t)(hash.hi % FAILURE_BYTES);
}

/* 62 bits, as offsets are signed and a lock's end must be one too; above all failures. */
static int64_t lock_at(kiln__hash128 hash)
{
    return (int64_t)(hash.lo >> 2 | FAILURE_BYTES);
}

/* The file, with room for failures made while there is any; -1 when that is not to be had: what
 * takes no byte takes no kernel either. */
static int open_file(int folder)
{
    static const unsigned char zeros[FAILURE_BYTES];
    int fd = kiln__open_housekeeping(folder, LOCK_NAME, O_RDWR | O_CREAT);
    struct stat st;

    if (fd < 0)
        return -1;
    /* Two that do this at once may lose a failure, which costs some waiting. */
    if (fstat(fd, &st) == 0 &&
        (st.st_size >= FAILURE_BYTES ||
         (!kiln__is_beyond_process_limit(FAILURE_BYTES) &&
          pwrite(fd, zeros, sizeof zeros, 0) == (ssize_t)sizeof zeros)))
        return fd;
    close(fd);
    return -1;
}

/* -1 when it cannot be read. */
static int failures(int fd, kiln__hash128 hash)
{
    unsigned char count = 0;

    return pread(fd, &count, 1, failure_at(hash)) == 1 ? count : -1;
}

static void count_failure(int fd, kiln__hash128 hash)
{
    const unsigned char count = (unsigned char)(failures(fd, hash) + 1);

    (void)!pwrite(fd, &count, 1, failure_at(hash));
}

kiln__awaited kiln__flight_lock(int folder, kiln__hash128 hash, double wait_us, kiln__flight *flight)
{
    int fd = open_file(folder), before = 0, why = 0;
    kiln__awaited what = KILN__AWAITED_NOTHING;

    *flight = (kiln__flight)KILN__FLIGHT_INIT;
    if (fd < 0)
        return what;
    before = failures(fd, hash);
    why = kiln__lock_byte(fd, lock_at(hash), 0);
    if (why == ETIMEDOUT) {
        why = kiln__lock_byte(fd, lock_at(hash), wait_us);
        what = failures(fd, hash) == before ? KILN__AWAITED_END : KILN__AWAITED_FAILURE;
    }
    if (why == 0)
        *flight = (kiln__flight){fd, hash};
    else
        close(fd);
    return what;
}

void kiln__flight_tell_failure(int folder, kiln__hash128 hash)
{
    int fd = open_file(folder);

    if (fd < 0)
        return;
    count_failure(fd, hash);
    close(fd);
}

void kiln__cache_flight_fail(kiln__flight *flight)
{
    if (flight->fd >= 0)
        count_failure(flight->fd, flight->hash);
    kiln__cache_flight_end(flight);
}

void kiln__cache_flight_end(kiln__flight *flight)
{
    if (flight->fd >= 0)
        kiln__unlock_and_close(flight->fd);
    *flight = (kiln__flight)KILN__FLIGHT_INIT;
}
