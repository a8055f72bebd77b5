/*
 * module.c - the bytes of a shared object to functions that can be called.
 *
 *     bytes > a file only this process can name > dlopen > dlsym
 *
 * Rule 1: bytes come from a cache, so they are checked before the loader sees them: it trusts
 *         headers, and reading beyond a file that is too short raises a signal.
 * Rule 2: no two loads of a process use one path. The loader takes an equal path for an equal
 *         library and hands back the old one, whose code may be another kernel's.
 * Rule 3: the file is gone, or was never in any folder, when the load returns.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3; older ones refuse it */
#endif

#define PATH_BYTES 512

/* ---- checking ---- */

/* The header of the library, or the program, that this code was linked into: it says what this
 * process can load. The linker defines it, in programs linked with -static as well, where dladdr()
 * finds nothing. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));

static bool is_loadable(const unsigned char *data, size_t bytes)
{
    ElfW(Ehdr) head, own;
    ElfW(Phdr) segment;
    bool any = false;

    if (bytes < sizeof head || &__ehdr_start == NULL)
        return false;
    memcpy(&head, data, sizeof head);
    memcpy(&own, &__ehdr_start, sizeof own);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN ||
        head.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
        head.e_ident[EI_DATA] != own.e_ident[EI_DATA] || head.e_machine != own.e_machine ||
        head.e_phentsize != sizeof segment)
        return false;
    if (head.e_phoff > bytes || head.e_phnum > (bytes - head.e_phoff) / sizeof segment)
        return false;
    for (unsigned k = 0; k < head.e_phnum; k++) {
        memcpy(&segment, data + head.e_phoff + k * sizeof segment, sizeof segment);
        if (segment.p_type != PT_LOAD)
            continue;
        any = true;
        if (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset)
            return false;
    }
    return any;
}

/* ---- loading ---- */

static atomic_uint load_count;

/* "/proc/self/fd/N" in a spelling never used before: 32 times "/" or "/.", the bits of a counter.
 * The kernel reads them all as one; the loader compares them letter by letter. */
static void name_descriptor(int fd, char *path, size_t bytes)
{
    unsigned number = atomic_fetch_add_explicit(&load_count, 1, memory_order_relaxed);
    size_t at = 0;

    at += (size_t)snprintf(path, bytes, "/proc/self/fd");
    for (int bit = 31; bit >= 0; bit--)
        at += (size_t)snprintf(path + at, bytes - at, "%s", (number >> bit & 1) != 0 ? "/." : "/");
    snprintf(path + at, bytes - at, "/%d", fd);
}

static int make_memory_file(void)
{
    int fd = memfd_create("kiln-kernel", MFD_CLOEXEC | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("kiln-kernel", MFD_CLOEXEC);
    return fd;
}

static void *open_path(const char *path, char *why, size_t why_bytes)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *text = module == NULL ? dlerror() : NULL;

    if (module == NULL)
        snprintf(why, why_bytes, "%s", text != NULL ? text : "no reason given");
    return module;
}

/* NULL when there are no memory files here, or /proc is not mounted, or the load itself fails. */
static void *load_from_memory(const void *binary, size_t bytes, char *why, size_t why_bytes)
{
    char path[PATH_BYTES];
    void *module = NULL;
    int fd = make_memory_file();

    if (fd < 0) {
        snprintf(why, why_bytes, "no memory file: %s", strerror(errno));
        return NULL;
    }
    name_descriptor(fd, path, sizeof path);
    if (kiln__write_all(fd, binary, bytes) == 0)
        module = open_path(path, why, why_bytes);
    else
        snprintf(why, why_bytes, "no room for %zu bytes in memory", bytes);
    close(fd);
    return module;
}

static void *load_from_folder(const void *binary, size_t bytes, char *why, size_t why_bytes)
{
    kiln__cpu_folder folder;
    char path[PATH_BYTES];
    void *module = NULL;
    int fd = -1, bad = kiln__cpu_folder_open(&folder);

    if (bad != 0) {
        snprintf(why, why_bytes, "no folder for a temporary file: %s", strerror(bad));
        return NULL;
    }
    snprintf(path, sizeof path, "%s/kernel.so", folder.path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    bad = fd < 0 ? errno : kiln__write_all(fd, binary, bytes);
    if (fd >= 0 && close(fd) != 0 && bad == 0)
        bad = errno;
    if (bad == 0)
        module = open_path(path, why, why_bytes);
    else
        snprintf(why, why_bytes, "no temporary file: %s", strerror(bad));
    kiln__cpu_folder_close(&folder);
    return module;
}

kiln_status kiln__cpu_module_load(kiln__device *device, const void *binary, size_t bytes,
                                  void **module_out, kiln_error *err)
{
    char first[256] = "", second[256] = "";

    (void)device;
    *module_out = NULL;
    if (!is_loadable(binary, bytes))
        return kiln__fail(err, KILN_ERR_FORMAT,
                          "%zu bytes are no shared object that this machine can load", bytes);
    *module_out = load_from_memory(binary, bytes, first, sizeof first);
    if (*module_out == NULL)
        *module_out = load_from_folder(binary, bytes, second, sizeof second);
    if (*module_out == NULL)
        return kiln__fail(err, KILN_ERR_FORMAT, "a compiled kernel was not loaded: %s; %s", first,
                          second);
    return KILN_OK;
}

void kiln__cpu_module_unload(kiln__device *device, void *module)
{
    (void)device;
    if (module != NULL)
        dlclose(module);
}

kiln_status kiln__cpu_module_entry(kiln__device *device, void *module, const char *name,
                                   void **entry_out, kiln_error *err)
{
    (void)device;
    *entry_out = dlsym(module, name);
    if (*entry_out == NULL)
        return kiln__fail(err, KILN_ERR_INTERNAL, "a compiled kernel has no function %.100s", name);
    return KILN_OK;
}
