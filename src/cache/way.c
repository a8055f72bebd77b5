/*
 * way.c - whether anybody else can change what a path leads to.
 *
 *     "/home/u/.cache/kiln"  >  lstat of "/home", "/home/u", ...  >  open, without links
 *
 * Whoever may write to one folder on the way to a cache or a bundle can put another in its place. So
 * every step from the root is checked, as OpenSSH does before it trusts a file of keys: it must
 * belong to this user or to root, and be closed to writers from group and others. A folder with the
 * sticky bit (/tmp) may be open: in it, only the owner of an entry renames or removes it. The root
 * itself is not asked: whoever can write there can replace the system's libraries.
 *
 * Rule 1: steps are checked from the root down, by name. That leaves no race: a step that was found
 *         good can be changed by its owner and by root only, and so can the names in it.
 * Rule 2: a link is a step as well. Its owner is checked, and then the steps that it stands for.
 * Not done here: the last step, unless it is a link. Whoever opens it checks it (dir.c, bundle.c).
 *
 * dir.c, bundle.c and index.c call this file. Test: test_cache_faults.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/parts.h"

#define LINKS_MAX 40
#define PLAIN_BYTES 256
#define UNMAPPED_OWNER 65534u

/* The walk along a path: what has been checked, and what is still to be walked. */
typedef struct walk {
    char at[PATH_MAX]; /* "" is the root */
    size_t length;
    char rest[PATH_MAX];
    int links;
    char target[PATH_MAX], joined[PATH_MAX]; /* of a link; not on the stack of whoever opens a cache */
} walk;

/* Whether root has no name in this process's user namespace: its files seem to be of "nobody"
 * there. Nobody else can be told from it then. */
static bool is_root_unmapped(void)
{
    FILE *file = fopen("/proc/self/uid_map", "re");
    unsigned long inside = 0, outside = 0, count = 0;
    bool mapped = file == NULL;

    while (!mapped && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3)
        mapped = outside == 0 && count > 0;
    if (file != NULL)
        fclose(file);
    return !mapped;
}

static bool is_owner_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid() || (owner == UNMAPPED_OWNER && is_root_unmapped());
}

/* Check a folder or a link on the way; false with a reason. */
static bool is_step_safe(const char *path, const struct stat *st, char reason[KILN__REASON_BYTES])
{
    if (!is_owner_trusted(st->st_uid)) {
        snprintf(reason, KILN__REASON_BYTES,
                 "%.200s, on the way to it, is owned by user %lu, who is neither this user (%lu) "
                 "nor root",
                 path, (unsigned long)st->st_uid, (unsigned long)geteuid());
        return false;
    }
    if (S_ISDIR(st->st_mode) && kiln__is_open_to_others(st) && (st->st_mode & S_ISVTX) == 0) {
        snprintf(reason, KILN__REASON_BYTES,
                 "others may write to %.200s, on the way to it (mode %04o), and put another in its "
                 "place",
                 path, (unsigned)st->st_mode & 07777u);
        return false;
    }
    return true;
}

/* Put a link's target before what is still to be walked; false when it is too long. */
static bool prepend_target(walk *w)
{
    const int length = snprintf(w->joined, sizeof w->joined, "%s/%s", w->target, w->rest);

    if (length < 0 || (size_t)length >= sizeof w->rest)
        return false;
    memcpy(w->rest, w->joined, (size_t)length + 1);
    return true;
}

static void leave_last(walk *w)
{
    while (w->length > 0 && w->at[w->length - 1] != '/')
        w->length--;
    if (w->length > 0)
        w->length--;
    w->at[w->length] = '\0';
}

/* Take the next name of the rest onto the path; false when there is none. 0 or an errno value. */
static bool take_name(walk *w, int *why)
{
    const char *name = w->rest + strspn(w->rest, "/");
    const size_t width = strcspn(name, "/");

    *why = 0;
    if (width == 0)
        return false;
    if (width == 2 && memcmp(name, "..", 2) == 0) {
        leave_last(w);
    } else if (width != 1 || name[0] != '.') {
        if (w->length + 1 + width >= PATH_MAX) {
            *why = ENAMETOOLONG;
            return false;
        }
        w->at[w->length++] = '/';
        memcpy(w->at + w->length, name, width);
        w->length += width;
        w->at[w->length] = '\0';
    }
    memmove(w->rest, name + width, strlen(name + width) + 1);
    return true;
}

/* Go on where a link at the end of the path leads; 0 or an errno value. */
static int follow(walk *w)
{
    const ssize_t length = readlink(w->at, w->target, sizeof w->target - 1);

    if (length < 0)
        return errno;
    if (++w->links > LINKS_MAX)
        return ELOOP;
    w->target[length] = '\0';
    leave_last(w);
    if (w->target[0] == '/') {
        w->length = 0;
        w->at[0] = '\0';
    }
    return prepend_target(w) ? 0 : ENAMETOOLONG;
}

/* Check the last step of the path walked so far. `*last` tells that it is the path's last one,
 * which the caller checks. */
static int check_step(walk *w, bool *last, char reason[KILN__REASON_BYTES])
{
    struct stat st;

    *last = w->rest[strspn(w->rest, "/")] == '\0';
    if (w->length == 0)
        return 0;
    if (lstat(w->at, &st) != 0)
        return errno;
    if (S_ISLNK(st.st_mode)) {
        *last = false;
        return is_step_safe(w->at, &st, reason) ? follow(w) : EPERM;
    }
    if (*last)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return is_step_safe(w->at, &st, reason) ? 0 : EPERM;
}

/* Walk a path that has links, "." or ".." in it. */
static int walk_any(const char *path, char **resolved_out, char reason[KILN__REASON_BYTES])
{
    walk *w = NULL;
    bool last = false;
    int why = 0;

    if (strlen(path) >= sizeof w->rest)
        return ENAMETOOLONG;
    w = kiln__calloc(1, sizeof *w);
    if (w == NULL)
        return ENOMEM;
    memcpy(w->rest, path, strlen(path) + 1);
    do {
        why = check_step(w, &last, reason);
    } while (why == 0 && !last && take_name(w, &why));
    if (why == 0) {
        *resolved_out = kiln__strdup(w->length > 0 ? w->at : "/");
        why = *resolved_out != NULL ? 0 : ENOMEM;
    }
    kiln__free(w);
    return why;
}

/* Whether a slash leads to no plain name: "//", "/./", "/../". */
static bool is_odd(const char *p)
{
    return p[0] == '/' && (p[1] == '/' || (p[1] == '.' && (p[2] == '.' || p[2] == '/' ||
                                                           p[2] == '\0')));
}

/* Check a short path of plain folders, without memory: that is all that most processes need before
 * their first hit. False when there is more to it; else 0 or an errno value in `why`. Names are
 * found by hand: a function of libc that was not called before costs more than all of them. */
static bool walk_plain(const char *path, int *why, char reason[KILN__REASON_BYTES])
{
    char part[PLAIN_BYTES];
    struct stat st;

    *why = 0;
    for (size_t k = 0; path[k] != '\0'; k++) {
        if (k + 1 >= sizeof part || is_odd(path + k))
            return false;
        if (path[k] == '/' && k > 0) {
            part[k] = '\0';
            if (fstatat(AT_FDCWD, part, &st, AT_SYMLINK_NOFOLLOW) != 0)
                *why = errno;
            else if (S_ISLNK(st.st_mode))
                return false;
            else if (!S_ISDIR(st.st_mode))
                *why = ENOTDIR;
            else if (!is_step_safe(part, &st, reason))
                *why = EPERM;
            if (*why != 0)
                return true;
        }
        part[k] = path[k];
    }
    return true;
}

int kiln__way_open(const char *path, int flags, int *fd_out, char reason[KILN__REASON_BYTES])
{
    char *resolved = NULL;
    int why = 0;

    reason[0] = '\0';
    *fd_out = -1;
    bool plain = walk_plain(path, &why, reason);
    for (;;) {
        if (!plain)
            why = walk_any(path, &resolved, reason);
        while (why == 0 && *fd_out < 0) {
            *fd_out = open(plain ? path : resolved, flags | O_CLOEXEC | O_NOFOLLOW);
            why = *fd_out < 0 && errno != EINTR ? errno : 0;
        }
        /* The last step may be a link. */
        if (!plain || (why != ELOOP && why != ENOTDIR))
            break;
        plain = false;
    }
    kiln__free(resolved);
    return why;
}
