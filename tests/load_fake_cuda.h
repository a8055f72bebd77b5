/*
 * load_fake_cuda.h - put the driver that is none (fake_cuda.c) in the true one's place.
 */
#ifndef KILN_TESTS_LOAD_FAKE_CUDA_H
#define KILN_TESTS_LOAD_FAKE_CUDA_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda.h"

/* Load the fake before kiln looks for the driver: a library of that name is then there. NULL when
 * it does not lie beside the program. */
static inline fake_cuda *load_fake_cuda(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);

    if (length <= 0)
        return NULL;
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "libkiln_fake_cuda.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    fake_cuda *(*get)(void) = NULL;
    *(void **)&get = dlsym(library, "fake_cuda_control");
    return get != NULL ? get() : NULL;
}

#endif
