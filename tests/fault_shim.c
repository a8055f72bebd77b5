/*
 * fault_shim.c - a module for LD_PRELOAD whose system call wrappers fail on demand.
 *
 * A test tells it: let the nth call of a kind, or of any kind, fail with this errno. It stands
 * before libc, so that libraries are caught as well (SQLite, say). Only what kiln's cache calls is
 * here. What does not fail is handed on to libc's function of the same name.
 *
 *     KILN_FAULT=write:3:ENOSPC:1000000    the same for a program that knows nothing of it:
 *                                          call (or "any"), nth from 0, errno's name, how often
 *     KILN_FAULT_FILE_SYSTEM=0x6969        what fstatfs says
 *
 * Rule: close, munmap and the like do their work even when they report a failure, as Linux does.
 */
#define _GNU_SOURCE
#include "fault_shim.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define SHIM __attribute__((visibility("default")))

/* ---- the plan ---- */

static atomic_bool armed;
static fault_plan plan;
static _Atomic uint64_t call_count, lock_count, alloc_count;
static _Atomic(const char *) failed_call = "";
static _Atomic uint64_t file_system;

/* 0: go on. Else errno is set (or FAULT_SHORT returned). */
static int strike(const char *call)
{
    uint64_t at = 0;

    if (!atomic_load_explicit(&armed, memory_order_acquire) ||
        (plan.call != NULL && strcmp(plan.call, call) != 0))
        return 0;
    at = atomic_fetch_add(&call_count, 1);
    if (at < plan.nth || at - plan.nth >= plan.times)
        return 0;
    atomic_store(&failed_call, call);
    if (plan.error != FAULT_SHORT)
        errno = plan.error;
    return plan.error;
}

static void arm(const fault_plan *p)
{
    atomic_store(&armed, false);
    plan = *p;
    atomic_store(&call_count, 0);
    atomic_store(&lock_count, 0);
    atomic_store(&alloc_count, 0);
    atomic_store(&failed_call, "");
    atomic_store_explicit(&armed, true, memory_order_release);
}

static fault_counts disarm(void)
{
    atomic_store(&armed, false);
    return (fault_counts){atomic_load(&call_count), atomic_load(&lock_count),
                          atomic_load(&alloc_count)};
}

static const char *failed(void)
{
    return atomic_load(&failed_call);
}

static void set_file_system(uint64_t magic)
{
    atomic_store(&file_system, magic);
}

SHIM const fault_functions fault_shim_functions;
const fault_functions fault_shim_functions = {arm, disarm, failed, set_file_system};

static int errno_named(const char *name)
{
    static const struct {
        const char *name;
        int value;
    } names[] = {{"EIO", EIO},     {"ENOSPC", ENOSPC}, {"ESTALE", ESTALE}, {"EDQUOT", EDQUOT},
                 {"EROFS", EROFS}, {"EACCES", EACCES}, {"EINTR", EINTR},   {"short", FAULT_SHORT}};

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (strcmp(names[k].name, name) == 0)
            return names[k].value;
    }
    return EIO;
}

__attribute__((constructor)) static void read_environment(void)
{
    static char call[32];
    const char *text = getenv("KILN_FAULT"), *magic = getenv("KILN_FAULT_FILE_SYSTEM");
    fault_plan p = {.times = 1};
    char name[16] = "";

    if (magic != NULL)
        set_file_system(strtoull(magic, NULL, 0));
    if (text == NULL || sscanf(text, "%31[^:]:%u:%15[^:]:%u", call, &p.nth, name, &p.times) < 3)
        return;
    p.call = strcmp(call, "any") != 0 ? call : NULL;
    p.error = errno_named(name);
    arm(&p);
}

/* ---- wrappers ---- */

/* libc's function, looked up once; a lookup by two threads at once finds the same. */
#define NEXT(result, name, parameters)                                                             \
    static result(*_Atomic next) parameters;                                                       \
    if (next == NULL) {                                                                            \
        void *found = dlsym(RTLD_NEXT, #name);                                                     \
        result(*function) parameters = NULL;                                                       \
        memcpy(&function, &found, sizeof found);                                                   \
        next = function;                                                                           \
    }

/* A function whose failure is `failure`. */
#define WRAP(result, failure, name, parameters, arguments)                                         \
    SHIM result name parameters;                                                                   \
    result name parameters                                                                         \
    {                                                                                              \
        NEXT(result, name, parameters)                                                             \
        return strike(#name) > 0 ? failure : next arguments;                                       \
    }

/* One whose failure leaves the work done. */
#define WRAP_DONE(name, parameters, arguments)                                                     \
    SHIM int name parameters;                                                                      \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(int, name, parameters)                                                                \
        int done = next arguments;                                                                 \
        return strike(#name) > 0 ? -1 : done;                                                      \
    }

/* One that moves bytes, and may move half of them. */
#define WRAP_BYTES(name, parameters, arguments)                                                    \
    SHIM ssize_t name parameters;                                                                  \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        NEXT(ssize_t, name, parameters)                                                            \
        int why = strike(#name);                                                                   \
        if (why == FAULT_SHORT && bytes > 1)                                                       \
            bytes /= 2;                                                                            \
        return why > 0 ? -1 : next arguments;                                                      \
    }

/* One with a mode after its flags. */
#define WRAP_OPEN(name, parameters, arguments)                                                     \
    SHIM int name parameters;                                                                      \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(int, name, parameters)                                                                \
        mode_t mode = 0;                                                                           \
        if ((flags & (O_CREAT | O_TMPFILE)) != 0) {                                                \
            va_list ap;                                                                            \
            va_start(ap, flags);                                                                   \
            mode = va_arg(ap, mode_t);                                                             \
            va_end(ap);                                                                            \
        }                                                                                          \
        return strike(#name) > 0 ? -1 : next arguments;                                            \
    }

WRAP_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, (int fd, const char *path, int flags, ...), (fd, path, flags, mode))
WRAP_OPEN(openat64, (int fd, const char *path, int flags, ...), (fd, path, flags, mode))

WRAP_BYTES(read, (int fd, void *data, size_t bytes), (fd, data, bytes))
WRAP_BYTES(write, (int fd, const void *data, size_t bytes), (fd, data, bytes))
WRAP_BYTES(pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at))
WRAP_BYTES(pread64, (int fd, void *data, size_t bytes, off64_t at), (fd, data, bytes, at))
WRAP_BYTES(pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at))
WRAP_BYTES(pwrite64, (int fd, const void *data, size_t bytes, off64_t at), (fd, data, bytes, at))
WRAP_BYTES(getrandom, (void *data, size_t bytes, unsigned flags), (data, bytes, flags))

WRAP(int, -1, fstat, (int fd, struct stat *st), (fd, st))
WRAP(int, -1, fstat64, (int fd, struct stat64 *st), (fd, st))
WRAP(int, -1, stat, (const char *path, struct stat *st), (path, st))
WRAP(int, -1, stat64, (const char *path, struct stat64 *st), (path, st))
WRAP(int, -1, fstatat, (int fd, const char *path, struct stat *st, int flags),
     (fd, path, st, flags))
WRAP(int, -1, fstatat64, (int fd, const char *path, struct stat64 *st, int flags),
     (fd, path, st, flags))
WRAP(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, -1, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(int, -1, rename, (const char *from, const char *to), (from, to))
WRAP(int, -1, renameat, (int fd, const char *from, int to_fd, const char *to),
     (fd, from, to_fd, to))
WRAP(int, -1, unlink, (const char *path), (path))
WRAP(int, -1, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(int, -1, chmod, (const char *path, mode_t mode), (path, mode))
WRAP(int, -1, ftruncate, (int fd, off_t bytes), (fd, bytes))
WRAP(int, -1, ftruncate64, (int fd, off64_t bytes), (fd, bytes))
WRAP(int, -1, futimens, (int fd, const struct timespec times[2]), (fd, times))
WRAP(int, -1, utimensat, (int fd, const char *path, const struct timespec times[2], int flags),
     (fd, path, times, flags))
WRAP(int, -1, fsync, (int fd), (fd))
WRAP(int, -1, mkostemp, (char *name, int flags), (name, flags))
WRAP(int, -1, mkostemp64, (char *name, int flags), (name, flags))
WRAP(DIR *, NULL, fdopendir, (int fd), (fd))
WRAP(struct dirent *, NULL, readdir, (DIR * dir), (dir))
WRAP(struct dirent64 *, NULL, readdir64, (DIR * dir), (dir))
WRAP(void *, MAP_FAILED, mmap, (void *at, size_t bytes, int prot, int flags, int fd, off_t from),
     (at, bytes, prot, flags, fd, from))
WRAP(void *, MAP_FAILED, mmap64,
     (void *at, size_t bytes, int prot, int flags, int fd, off64_t from),
     (at, bytes, prot, flags, fd, from))
WRAP(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(size_t, 0, fwrite, (const void *data, size_t bytes, size_t count, FILE *file),
     (data, bytes, count, file))
WRAP_DONE(close, (int fd), (fd))
WRAP_DONE(fflush, (FILE * file), (file))
WRAP_DONE(fclose, (FILE * file), (file))

/* Every command that kiln and SQLite use takes an integer or one pointer, which travel alike. */
#define WRAP_FCNTL(name)                                                                           \
    SHIM int name(int fd, int command, ...);                                                       \
    int name(int fd, int command, ...)                                                             \
    {                                                                                              \
        NEXT(int, name, (int fd, int command, ...))                                                \
        va_list ap;                                                                                \
        va_start(ap, command);                                                                     \
        void *argument = va_arg(ap, void *);                                                       \
        va_end(ap);                                                                                \
        return strike(#name) > 0 ? -1 : next(fd, command, argument);                               \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

SHIM int fstatfs(int fd, struct statfs *out);
int fstatfs(int fd, struct statfs *out)
{
    NEXT(int, fstatfs, (int fd, struct statfs *out))
    const uint64_t magic = atomic_load(&file_system);
    int result = strike("fstatfs") > 0 ? -1 : next(fd, out);

    if (result == 0 && magic != 0)
        out->f_type = (__typeof__(out->f_type))magic;
    return result;
}

/* ---- time ---- */

/* While a plan is armed nobody sleeps: the clock moves on instead. What waits for a lock that a failed
 * call has left locked then gives up after as many attempts as otherwise, and at once. */
static _Atomic int64_t slept_ns;

static int pass(const struct timespec *pause)
{
    atomic_fetch_add(&slept_ns, (int64_t)pause->tv_sec * 1000000000 + pause->tv_nsec);
    return 0;
}

SHIM int nanosleep(const struct timespec *pause, struct timespec *left);
int nanosleep(const struct timespec *pause, struct timespec *left)
{
    NEXT(int, nanosleep, (const struct timespec *pause, struct timespec *left))
    return atomic_load(&armed) ? pass(pause) : next(pause, left);
}

SHIM int usleep(useconds_t us);
int usleep(useconds_t us)
{
    NEXT(int, usleep, (useconds_t us))
    const struct timespec pause = {us / 1000000, (long)(us % 1000000) * 1000};
    return atomic_load(&armed) ? pass(&pause) : next(us);
}

SHIM int clock_gettime(clockid_t clock, struct timespec *now);
int clock_gettime(clockid_t clock, struct timespec *now)
{
    NEXT(int, clock_gettime, (clockid_t clock, struct timespec *now))
    const int result = next(clock, now);
    const int64_t slept = atomic_load_explicit(&slept_ns, memory_order_relaxed);

    if (result == 0 && slept != 0) {
        const int64_t ns = now->tv_nsec + slept % 1000000000;
        now->tv_sec += slept / 1000000000 + ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return result;
}

/* ---- what is only counted ---- */

#define COUNT_LOCK(name, type)                                                                     \
    SHIM int name(type *lock);                                                                     \
    int name(type *lock)                                                                           \
    {                                                                                              \
        NEXT(int, name, (type * lock))                                                             \
        atomic_fetch_add_explicit(&lock_count, 1, memory_order_relaxed);                           \
        return next(lock);                                                                         \
    }
COUNT_LOCK(pthread_mutex_lock, pthread_mutex_t)
COUNT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
COUNT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)

/* A sanitizer has its own allocator and would not take memory from another. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_MEMORY 1
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(HAS_OWN_MEMORY)

/* libc's own names: dlsym itself allocates. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void count_alloc(void)
{
    atomic_fetch_add_explicit(&alloc_count, 1, memory_order_relaxed);
}

SHIM void *malloc(size_t bytes)
{
    count_alloc();
    return __libc_malloc(bytes);
}

SHIM void *calloc(size_t count, size_t bytes)
{
    count_alloc();
    return __libc_calloc(count, bytes);
}

SHIM void *realloc(void *p, size_t bytes)
{
    count_alloc();
    return __libc_realloc(p, bytes);
}

SHIM void *aligned_alloc(size_t alignment, size_t bytes)
{
    count_alloc();
    return __libc_memalign(alignment, bytes);
}

SHIM int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    count_alloc();
    *out = __libc_memalign(alignment, bytes);
    return *out != NULL ? 0 : ENOMEM;
}
#endif
