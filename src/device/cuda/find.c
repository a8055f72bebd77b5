/*
 * find.c - where a library of the CUDA toolkit is.
 *
 *     nvrtc_find.c, src/linalg -> [find] -> a file, or none
 *
 * The order: what the loader would find ($LD_LIBRARY_PATH, the system's folders); $CUDA_HOME and
 * $CUDA_PATH; /usr/local/cuda and /usr/local/cuda-*; the wheels of $VIRTUAL_ENV. In each of these steps
 * newer versions come before older ones.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "device/device.h"

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

static bool try_folder(const kiln__toolkit_search *s, const char *folder, size_t length, int major)
{
    char path[1200];
    int written =
        s->archive
            ? snprintf(path, sizeof path, "%.*s/%s.a", (int)length, folder, s->name)
            : snprintf(path, sizeof path, "%.*s/%s.so.%d", (int)length, folder, s->name, major);
    return length > 0 && (size_t)written < sizeof path && access(path, R_OK) == 0 &&
           s->accept(path, s->user);
}

/* The folders of a list with colons between them. */
static bool try_list(const kiln__toolkit_search *s, const char *list, int major)
{
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ":");
        if (try_folder(s, list, length, major))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* The folders that match a pattern, the last (the highest version) first. */
static bool try_pattern(const kiln__toolkit_search *s, const char *pattern, int major)
{
    glob_t matches;
    bool ok = false;

    if (glob(pattern, 0, NULL, &matches) != 0)
        return false;
    for (size_t i = matches.gl_pathc; i > 0 && !ok; i--)
        ok = try_folder(s, matches.gl_pathv[i - 1], strlen(matches.gl_pathv[i - 1]), major);
    globfree(&matches);
    return ok;
}

static bool try_root(const kiln__toolkit_search *s, const char *root, const char *below, int major)
{
    char pattern[1200];

    if (root == NULL)
        return false;
    int length = snprintf(pattern, sizeof pattern, "%s/%s", root, below);
    return length > 0 && (size_t)length < sizeof pattern && try_pattern(s, pattern, major);
}

static bool try_loader(const kiln__toolkit_search *s, int major)
{
    return try_list(s, kiln__env("LD_LIBRARY_PATH"), major) ||
           try_list(s,
                    "/usr/lib/" MULTIARCH ":/lib/" MULTIARCH
                    ":/usr/lib64:/lib64:/usr/local/lib:/usr/lib:/lib",
                    major);
}

static bool try_toolkits(const kiln__toolkit_search *s, int major)
{
    return try_root(s, kiln__env("CUDA_HOME"), "lib64", major) ||
           try_root(s, kiln__env("CUDA_PATH"), "lib64", major) ||
           try_pattern(s, "/usr/local/cuda/lib64", major) ||
           try_pattern(s, "/usr/local/cuda-*/lib64", major);
}

static bool try_wheels(const kiln__toolkit_search *s, int major)
{
    const char *root = kiln__env("VIRTUAL_ENV");
    char below[128];

    for (size_t k = 0; k < KILN_COUNT_OF(s->wheels) && s->wheels[k] != NULL; k++) {
        snprintf(below, sizeof below, "lib/python3*/site-packages/nvidia/%s/lib", s->wheels[k]);
        if (try_root(s, root, below, major))
            return true;
    }
    return false;
}

bool kiln__toolkit_find(const kiln__toolkit_search *search)
{
    static bool (*const steps[])(const kiln__toolkit_search *, int) = {try_loader, try_toolkits,
                                                                       try_wheels};

    for (size_t step = 0; step < KILN_COUNT_OF(steps); step++)
        for (size_t i = 0; i < KILN_COUNT_OF(search->majors); i++)
            if (search->majors[i] > 0 && steps[step](search, search->majors[i]))
                return true;
    return false;
}
