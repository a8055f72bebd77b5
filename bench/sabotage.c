/*
 * sabotage.c - a process that damages a cache folder while others use it.
 *
 * Rule: nothing here follows a link, and links lead to nothing outside of the folder that holds the cache's: it may
 *       be run by root.
 */
#define _GNU_SOURCE
#include "sabotage.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 16) % below;
}

/* What fails here does no damage; other things will. */
static void ignore(int result)
{
    (void)result;
}

/* One of the names in a folder that begin with `prefix`, or of the others. */
static bool pick_in(const char *folder, const char *prefix, bool others, char path[PATH_BYTES])
{
    DIR *dir = opendir(folder);
    uint64_t seen = 0;

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && (strncmp(e->d_name, prefix, strlen(prefix)) != 0) == others &&
            draw(++seen) == 0)
            snprintf(path, PATH_BYTES, "%.200s/%.200s", folder, e->d_name);
    if (dir != NULL)
        closedir(dir);
    return seen > 0;
}

/* Ledger, lock, journal or index; or a shard, or, mostly, an entry of it. */
static bool pick(const char *folder, char path[PATH_BYTES])
{
    char shard[PATH_BYTES];

    if (draw(3) == 0)
        return pick_in(folder, "kiln-", false, path);
    if (!pick_in(folder, "kiln-", true, path))
        return false;
    snprintf(shard, sizeof shard, "%s", path);
    if (draw(8) != 0)
        (void)pick_in(shard, "", false, path);
    return true;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

/* Something that is no regular file in the place of what was there. */
static void replace(const char *path)
{
    static const char *const targets[] = {".", "..", "nowhere"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);

    nftw(path, remove_file, 8, FTW_DEPTH | FTW_PHYS);
    switch (draw(4)) {
    case 0:
        (void)mkfifo(path, 0600);
        break;
    case 1:
        (void)mkdir(path, 0700);
        break;
    case 2:
        ignore(symlink(targets[draw(3)], path));
        break;
    default:
        snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
        (void)bind(socket_fd, (const struct sockaddr *)(const void *)&address, sizeof address);
    }
    close(socket_fd);
}

/* What a file or a folder itself can suffer, by way of a descriptor. */
static void change(const char *path, off_t length, int mode)
{
    const int fd = open(path, (mode < 0 ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return;
    ignore(mode < 0 ? ftruncate(fd, length) : fchmod(fd, (mode_t)mode));
    close(fd);
}

static void overwrite(const char *path, off_t size, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
    unsigned char noise[1024];

    for (size_t k = 0; k < sizeof noise; k++)
        noise[k] = (unsigned char)draw(256);
    if (fd < 0)
        return;
    ignore((int)pwrite(fd, noise, bytes, (off_t)draw((uint64_t)size + 1)));
    close(fd);
}

static void damage(const char *folder, const char *path, const struct stat *st)
{
    const struct timespec then = {(time_t)draw((uint64_t)1 << 40), 0}, times[2] = {then, then};
    char other[PATH_BYTES];

    switch (draw(8)) {
    case 0:
        change(path, (off_t)draw((uint64_t)st->st_size + 1), -1);
        break;
    case 1:
        overwrite(path, st->st_size, 1);
        break;
    case 2:
        overwrite(path, st->st_size, 1024);
        break;
    case 3:
        replace(path);
        break;
    case 4:
        (void)remove(path);
        break;
    case 5:
        change(path, 0, (int)draw(01000));
        break;
    case 6:
        (void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
        break;
    default:
        if (pick(folder, other))
            (void)rename(other, path);
    }
}

_Noreturn void sabotage(const char *folder, uint64_t seed)
{
    char path[PATH_BYTES], away[PATH_BYTES];
    struct stat st;

    state = seed | 1;
    snprintf(away, sizeof away, "%.400s.away", folder);
    for (;;) {
        usleep((useconds_t)draw(4000));
        if (pick(folder, path) && lstat(path, &st) == 0)
            damage(folder, path, &st);
        if (draw(500) == 0) { /* another folder of that name comes in its place */
            nftw(away, remove_file, 8, FTW_DEPTH | FTW_PHYS);
            (void)rename(folder, away);
        }
    }
}
