/*
 * fault_enter.c - how a test program gets fault_shim.c before libc; see fault_shim.h.
 */
#define _GNU_SOURCE
#include "fault_shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHIM_FILE "libkiln_fault_shim.so"

const fault_functions *fault_shim(void)
{
    return dlsym(RTLD_DEFAULT, "fault_shim_functions");
}

bool fault_shim_enter(char **argv)
{
    char path[4096] = "", library[4096 + sizeof SHIM_FILE], options[1024];
    const char *already = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS");

    if (fault_shim() != NULL) {
        unsetenv("LD_PRELOAD"); /* not for the programs that this one starts */
        return true;
    }
    if (already != NULL && strstr(already, SHIM_FILE) != NULL) {
        printf("SKIP: the loader does not preload " SHIM_FILE "\n");
        return false;
    }
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0)
        return false;
    *strrchr(path, '/') = '\0';
    snprintf(library, sizeof library, "%s/" SHIM_FILE, path);
    if (access(library, R_OK) != 0) {
        printf("SKIP: %s is missing\n", library);
        return false;
    }
    setenv("LD_PRELOAD", library, 1);
    /* A sanitizer insists on being first; what stands before it here allocates nothing. */
    snprintf(options, sizeof options, "%s%sverify_asan_link_order=0", asan != NULL ? asan : "",
             asan != NULL ? ":" : "");
    setenv("ASAN_OPTIONS", options, 1);
    execv("/proc/self/exe", argv);
    return false;
}
