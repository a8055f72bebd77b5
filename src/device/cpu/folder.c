/*
 * folder.c - private folders for the files of a compile, and the end of those left behind.
 *
 *     kiln__cxx_compile, kiln__cpu_module_load > [open, close] > $TMPDIR/kiln-XXXXXX
 *
 * A folder belongs to a running process: it contains a locked file, and the lock is released when
 * the process ends, however it ends. Each process once looks for folders whose lock is not held,
 * and removes them. Folders in use when the program calls exit() are removed by a handler.
 *
 * Rule 1: only what kiln made is swept: a folder of its name, of this user, closed to others, with
 *         the lock file in it. One without the file is removed only if it is empty.
 * Rule 2: another process may sweep a new folder before its file is locked; then a new one is made.
 * Rule 3: links are removed and not followed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

#define NAME "kiln-XXXXXX"
#define LOCK_NAME ".kiln-lock"

enum {
    DEPTH_MAX = 8,           /* of folders in folders; compilers make no deep trees */
    TRIES = 8,               /* at a folder that nobody sweeps away */
    REMOVALS = 20,           /* tries to remove one in which a dying compiler still writes */
    SWEEP_ENTRIES = 1 << 15, /* looked at in $TMPDIR, which belongs to all programs */
    SWEEP_FOLDERS = 256      /* looked into */
};

/* ---- removing ---- */

/* Closes `fd`. The lock file of the folder itself stays: a sweep that dies in between leaves a
 * folder that the next one still knows for kiln's. */
static void remove_content(int fd, int depth)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry = NULL;

    if (folder == NULL) {
        close(fd);
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        int below = -1;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (depth == DEPTH_MAX && strcmp(entry->d_name, LOCK_NAME) == 0))
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) == 0 || depth == 0)
            continue;
        below =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            remove_content(below, depth - 1);
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
        }
    }
    closedir(folder);
}

/* Whether a folder holds nothing but its lock file. Closes `fd`. */
static bool holds_lock_alone(int fd)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry = NULL;
    bool alone = folder != NULL;

    if (folder == NULL) {
        close(fd);
        return false;
    }
    while (alone && (entry = readdir(folder)) != NULL)
        alone = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, LOCK_NAME) == 0;
    closedir(folder);
    return alone;
}

/* Remove `name` in the open folder `root` with all that is in it, the lock file last. */
static void remove_at(int root, const char *name)
{
    for (int k = 0; k < REMOVALS; k++) {
        int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0) {
            const int again = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            remove_content(fd, DEPTH_MAX);
            fd = again >= 0 ? dup(again) : -1;
            if (again >= 0 && holds_lock_alone(again) && fd >= 0)
                (void)unlinkat(fd, LOCK_NAME, 0);
            if (fd >= 0)
                close(fd);
        }
        if (unlinkat(root, name, AT_REMOVEDIR) == 0 || (errno != ENOTEMPTY && errno != EEXIST))
            return;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- sweeping ---- */

/* Whether an open folder is one that kiln made for this user. */
static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700;
}

/* Lock the lock file of an open folder; -1 with errno when it is not there, no plain file of ours,
 * or held by somebody. */
static int lock_in(int fd, int flags)
{
    struct stat st;
    int lock = openat(fd, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);

    if (lock < 0)
        return -1;
    /* A file system without locks (ENOLCK) makes folders that are never swept. */
    if (fstat(lock, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (flock(lock, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || flags == 0))) {
        close(lock);
        errno = EWOULDBLOCK;
        return -1;
    }
    return lock;
}

static void sweep_one(int root, const char *name)
{
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock = -1;

    if (fd < 0)
        return;
    if (is_ours(fd)) {
        lock = lock_in(fd, 0);
        if (lock >= 0)
            remove_at(root, name);
        else if (errno == ENOENT)
            (void)unlinkat(root, name, AT_REMOVEDIR); /* only if it is empty */
    }
    if (lock >= 0)
        close(lock);
    close(fd);
}

static void sweep(const char *root)
{
    DIR *folder = opendir(root);
    const struct dirent *entry = NULL;
    int looked_into = 0;

    for (int k = 0; folder != NULL && k < SWEEP_ENTRIES && looked_into < SWEEP_FOLDERS; k++) {
        entry = readdir(folder);
        if (entry == NULL)
            break;
        if (strncmp(entry->d_name, NAME, 5) != 0 || strlen(entry->d_name) != strlen(NAME))
            continue;
        sweep_one(dirfd(folder), entry->d_name);
        looked_into++;
    }
    if (folder != NULL)
        closedir(folder);
}

/* ---- folders at work ---- */

static kiln__process_lock live_lock = KILN__PROCESS_LOCK_INIT;
static kiln__cpu_folder *live;   /* on the stacks of the threads that compile */
static unsigned live_generation; /* a forked child has none of those threads */

static void take_live(void)
{
    kiln__process_lock_take(&live_lock);
    if (live_generation != kiln__fork_generation()) {
        live = NULL;
        live_generation = kiln__fork_generation();
    }
}

static void list_live(kiln__cpu_folder *folder)
{
    take_live();
    folder->next = live;
    live = folder;
    kiln__process_lock_give(&live_lock);
}

static void unlist_live(kiln__cpu_folder *folder)
{
    take_live();
    for (kiln__cpu_folder **at = &live; *at != NULL; at = &(*at)->next)
        if (*at == folder) {
            *at = folder->next;
            break;
        }
    kiln__process_lock_give(&live_lock);
}

void kiln__cpu_folder_set_running(kiln__cpu_folder *folder, pid_t pid)
{
    if (folder == NULL)
        return;
    take_live();
    folder->running = pid;
    kiln__process_lock_give(&live_lock);
}

/* exit() while other threads compile: they cannot clean up any more. Whoever holds the lock keeps
 * it for a few instructions only, but may be the very thread that exits. */
__attribute__((destructor)) static void remove_live(void)
{
    if (!kiln__process_lock_try(&live_lock))
        return;
    if (live_generation != kiln__fork_generation())
        live = NULL; /* folders of the parent */
    for (kiln__cpu_folder *f = live; f != NULL; f = f->next) {
        if (f->running > 0)
            (void)kill(-f->running, SIGKILL);
        remove_at(AT_FDCWD, f->path);
    }
    live = NULL;
    kiln__process_lock_give(&live_lock);
}

/* ---- making ---- */

/* Make a folder from the template in `path` and lock it; 0 or an errno value. */
static int make_locked(kiln__cpu_folder *folder)
{
    if (mkdtemp(folder->path) == NULL)
        return errno;
    int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? EAGAIN : errno;
    kiln__fork_hold();
    folder->lock_fd = lock_in(fd, O_CREAT);
    int why = folder->lock_fd < 0 ? errno : 0;
    if (folder->lock_fd >= 0)
        (void)kiln__fork_closes(folder->lock_fd);
    kiln__fork_allow();
    /* Swept away between its making and its locking: nothing is in it any more. */
    if (why == 0 && faccessat(fd, LOCK_NAME, F_OK, 0) != 0) {
        kiln__fork_close(folder->lock_fd);
        folder->lock_fd = -1;
        why = EAGAIN;
    } else if (why == ENOENT || why == EWOULDBLOCK) {
        why = EAGAIN;
    }
    close(fd);
    if (why != 0)
        remove_at(AT_FDCWD, folder->path);
    return why;
}

static int make_below(kiln__cpu_folder *folder, const char *root)
{
    static atomic_uint swept; /* by which generation of this process, plus one */
    const unsigned now = kiln__fork_generation() + 1;
    int why = EAGAIN;

    if (atomic_exchange(&swept, now) != now)
        sweep(root);
    for (int k = 0; k < TRIES && why == EAGAIN; k++) {
        int length = snprintf(folder->path, sizeof folder->path, "%s/" NAME, root);
        if (length < 0 || (size_t)length >= sizeof folder->path)
            return ENAMETOOLONG;
        why = make_locked(folder);
    }
    return why;
}

int kiln__cpu_folder_open(kiln__cpu_folder *folder)
{
    const char *roots[] = {kiln__env("TMPDIR"), "/tmp"};
    int why = ENOENT;

    *folder = (kiln__cpu_folder){.lock_fd = -1};
    for (size_t k = 0; k < KILN_COUNT_OF(roots); k++) {
        if (roots[k] == NULL || roots[k][0] != '/')
            continue;
        why = make_below(folder, roots[k]);
        if (why == 0) {
            list_live(folder);
            return 0;
        }
    }
    folder->path[0] = '\0';
    return why;
}

void kiln__cpu_folder_close(kiln__cpu_folder *folder)
{
    if (folder->path[0] == '\0')
        return;
    unlist_live(folder);
    remove_at(AT_FDCWD, folder->path);
    kiln__fork_close(folder->lock_fd);
    folder->path[0] = '\0';
}

void kiln__cpu_folder_remove(const char *path)
{
    if (path != NULL && path[0] != '\0')
        remove_at(AT_FDCWD, path);
}
