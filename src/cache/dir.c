/*
 * dir.c - which folder holds the cache, and whether it may be trusted.
 *
 * A cached kernel is code that this process will run. Whoever can write to the folder can run code
 * as us, so the folder must be ours (owner = effective user) and closed to writers from group and
 * others, and nobody else may be able to put another in its place (way.c). A refusal names the
 * reason and the way out; no permission is repaired behind the user's back.
 *
 * What others could write to once is not made good by closing it: they may have changed what is in
 * it, and nothing tells. So the way out is to remove it. What kiln finds open inside its own folder
 * (a shard, an entry, the ledger) it replaces by itself, by something empty.
 *
 * Rule 1: the folder and what is in it are checked through the descriptors that will be used. A
 *         symbolic link may lead to the folder; link and folder are both checked.
 * Rule 2: folders are made 0700 whatever the umask allows.
 *
 * store.c and catalog.c call this file. Test: test_cache_faults.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

/* ---- where ---- */

static char *join(const char *folder, const char *rest)
{
    kiln__buf path = KILN__BUF_INIT;

    kiln__buf_printf(&path, "%s/%s", folder, rest);
    return kiln__buf_take(&path);
}

/* The working directory may change while the store is open, so a relative path is fixed now. */
static char *absolute(const char *path, char reason[KILN__REASON_BYTES])
{
    char here[PATH_MAX];

    if (path[0] == '/')
        return kiln__strdup(path);
    if (getcwd(here, sizeof here) == NULL) {
        snprintf(reason, KILN__REASON_BYTES, "%s is relative to a working directory that is gone",
                 path);
        return NULL;
    }
    return join(here, path);
}

char *kiln__dir_path(const char *dir, char reason[KILN__REASON_BYTES])
{
    reason[0] = '\0';
    if (dir == NULL)
        dir = kiln__env("KILN_CACHE_DIR");
    if (dir != NULL)
        return absolute(dir, reason);

    /* The XDG specification: relative paths in its variables are to be ignored. */
    const char *xdg = kiln__env("XDG_CACHE_HOME");
    if (xdg != NULL && xdg[0] == '/')
        return join(xdg, "kiln");
    const char *home = kiln__env("HOME");
    if (home != NULL && home[0] == '/')
        return join(home, ".cache/kiln");
    snprintf(reason, KILN__REASON_BYTES,
             "none of KILN_CACHE_DIR, XDG_CACHE_HOME and HOME tells where to put it");
    return NULL;
}

/* ---- whether ---- */

/* The folder itself: ours, and closed. */
static bool is_trusted(int fd, char reason[KILN__REASON_BYTES])
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        snprintf(reason, KILN__REASON_BYTES, "the folder's owner cannot be read");
        return false;
    }
    if (st.st_uid != geteuid()) {
        snprintf(reason, KILN__REASON_BYTES,
                 "the folder is owned by user %lu, while this process runs as user %lu",
                 (unsigned long)st.st_uid, (unsigned long)geteuid());
        return false;
    }
    if (kiln__is_open_to_others(&st)) {
        snprintf(
            reason, KILN__REASON_BYTES,
            "others may write to the folder (mode %04o), and may have put code into it that "
            "this process would run; name another, or remove it if it holds nothing but kernels",
            (unsigned)st.st_mode & 07777u);
        return false;
    }
    return true;
}

bool kiln__is_ours(const struct stat *st)
{
    return kiln__is_owned_by(st, geteuid());
}

bool kiln__dir_is_good(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_nlink != 0 && kiln__is_ours(&st);
}

/* As mkdir -p. A parent that exists may answer with any errno (a read-only file system, an
 * automounter), so only the outcome counts: whether the folder can be opened afterwards. Returns
 * the errno of the last step that made nothing, for the message. */
static int make_folders(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    int why = 0;

    if (length >= sizeof part)
        return ENAMETOOLONG;
    for (size_t k = 1; k <= length; k++) {
        if (path[k] != '/' && path[k] != '\0')
            continue;
        memcpy(part, path, k);
        part[k] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            why = errno;
        else
            why = 0;
    }
    return why;
}

/* An answer that will be the same tomorrow. What is left (too many open files, say) may pass. */
static bool is_lasting(int why)
{
    return why == ENOTDIR || why == ELOOP || why == ENAMETOOLONG || why == EACCES;
}

kiln__dir_state kiln__dir_open(const char *path, bool create, int *fd_out,
                               char reason[KILN__REASON_BYTES])
{
    char text[128];
    int fd = -1, why = kiln__way_open(path, O_RDONLY | O_DIRECTORY, &fd, reason);

    /* The part of the path that exists has been checked before the rest of it is made. */
    if (fd < 0 && why == ENOENT && create) {
        int made = make_folders(path);
        why = kiln__way_open(path, O_RDONLY | O_DIRECTORY, &fd, reason);
        why = fd < 0 && made != 0 ? made : why;
    }
    if (fd < 0 && why == ENOENT && !create)
        return KILN__DIR_ABSENT;
    if (fd < 0 && reason[0] != '\0')
        return KILN__DIR_REFUSED;
    if (fd < 0) {
        snprintf(reason, KILN__REASON_BYTES, "%s", strerror_r(why, text, sizeof text));
        return !create && is_lasting(why) ? KILN__DIR_REFUSED : KILN__DIR_FAILED;
    }
    if (!is_trusted(fd, reason)) {
        close(fd);
        return KILN__DIR_REFUSED;
    }
    *fd_out = fd;
    return KILN__DIR_OPEN;
}
