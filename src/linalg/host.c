/*
 * host.c - the BLAS and the LAPACK of the system: which ones, their entry points, their threads.
 *
 *     product_blas.c, dense.c > [find, load, once] > dlopen, dlsym (blas.def, lapack.def)
 *
 * The order: $KILN_BLAS, a file or "none"; else the names below, as the loader finds them. The LAPACK is in the
 * same library, or in liblapack.so.3.
 *
 * Rule 1: a library that cannot be told how many threads to take is the reference implementation, or one
 *         like it: one thread and no blocking. Its products are slower than kiln's own, so they are not
 *         used, unless $KILN_BLAS names it.
 * Rule 2: integers have 32 bits. Libraries with integers of 64 bits give their symbols other names, so
 *         that they are refused here for lack of the plain ones.
 * Rule 3: a library is never unloaded: it has threads of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "linalg/linalg.h"

/* The names that are tried, best first. */
static const char *const names[] = {
    "libopenblas.so.0", "libopenblas.so",    "libmkl_rt.so.2", "libmkl_rt.so.1",
    "libblis.so.4",     "libflexiblas.so.3", "libblas.so.3",
};

/* How each kind of library is told its number of threads. */
static const char *const thread_setters[] = {
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
    "flexiblas_set_num_threads",
};

typedef struct entry {
    const char *symbol;
    size_t at;
} entry;

static const entry blas_entries[] = {
#define KILN_BLAS(field, s, d, c, z, parameters)                                                   \
    {s, offsetof(kiln__blas, field[0])}, {d, offsetof(kiln__blas, field[1])},                      \
        {c, offsetof(kiln__blas, field[2])}, {z, offsetof(kiln__blas, field[3])},
#include "linalg/blas.def"
#undef KILN_BLAS
};

static const entry lapack_entries[] = {
#define KILN_LAPACK(field, s, d, c, z, parameters)                                                 \
    {s, offsetof(kiln__lapack, field[0])}, {d, offsetof(kiln__lapack, field[1])},                  \
        {c, offsetof(kiln__lapack, field[2])}, {z, offsetof(kiln__lapack, field[3])},
#include "linalg/lapack.def"
#undef KILN_LAPACK
};

static struct {
    kiln__process_lock lock;
    bool tried;
    bool loaded, fast; /* fast: its products are used */
    bool has_lapack;
    kiln__blas blas;
    kiln__lapack lapack;
    void (*set_threads)(int);
    int threads;
    char path[256], reason[512], lapack_path[256];
} host = {.lock = KILN__PROCESS_LOCK_INIT};

int kiln__blas_dtype(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_FLOAT32:
        return 0;
    case KILN_FLOAT64:
        return 1;
    case KILN_COMPLEX64:
        return 2;
    case KILN_COMPLEX128:
        return 3;
    default:
        return -1;
    }
}

/* Fill a table from an open library; the first symbol that it lacks, or NULL. */
static const char *read_symbols(void *handle, const entry *entries, size_t count, void *table)
{
    for (size_t k = 0; k < count; k++) {
        void *address = dlsym(handle, entries[k].symbol);
        if (address == NULL)
            return entries[k].symbol;
        memcpy((char *)table + entries[k].at, &address, sizeof address);
    }
    return NULL;
}

/* Where an open library lies, for people. */
static void note_path(const void *symbol, const char *name, char *path, size_t bytes)
{
    Dl_info info;

    snprintf(path, bytes, "%s",
             dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : name);
}

/* The LAPACK of an open library, or the one that stands by itself. */
static void load_lapack(void *handle)
{
    static const char name[] = "liblapack.so.3";

    for (int turn = 0; turn < 2 && !host.has_lapack; turn++) {
        void *library = turn == 0 ? handle : dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL || read_symbols(library, lapack_entries, KILN_COUNT_OF(lapack_entries),
                                            &host.lapack) != NULL)
            continue;
        host.has_lapack = true;
        note_path(dlsym(library, lapack_entries[0].symbol), name, host.lapack_path,
                  sizeof host.lapack_path);
    }
}

static bool load(const char *name, bool named_by_user)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        const char *why = dlerror();
        if (named_by_user)
            snprintf(host.reason, sizeof host.reason, "$KILN_BLAS: %.400s",
                     why != NULL ? why : name);
        return false;
    }
    const char *lacking =
        read_symbols(handle, blas_entries, KILN_COUNT_OF(blas_entries), &host.blas);
    if (lacking != NULL) {
        snprintf(host.reason, sizeof host.reason,
                 "%.300s lacks %s; kiln needs a BLAS with 32-bit integers", name, lacking);
        dlclose(handle);
        return false;
    }
    void *setter = NULL;
    for (size_t k = 0; k < KILN_COUNT_OF(thread_setters) && setter == NULL; k++)
        setter = dlsym(handle, thread_setters[k]);
    memcpy(&host.set_threads, &setter, sizeof setter);
    note_path(dlsym(handle, blas_entries[0].symbol), name, host.path, sizeof host.path);
    load_lapack(handle);
    host.loaded = true;
    host.fast = setter != NULL || named_by_user;
    host.reason[0] = '\0';
    if (!host.fast)
        snprintf(host.reason, sizeof host.reason,
                 "it is the reference implementation or one like it: products are kiln's own");
    return true;
}

static void search(void)
{
    const char *given = kiln__env("KILN_BLAS");

    if (given != NULL && strcmp(given, "none") == 0) {
        snprintf(host.reason, sizeof host.reason, "$KILN_BLAS is \"none\"");
        return;
    }
    if (given != NULL) {
        (void)load(given, true);
        return;
    }
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++)
        if (load(names[k], false))
            return;
    if (host.reason[0] != '\0')
        return;
    size_t length = (size_t)snprintf(host.reason, sizeof host.reason, "the loader finds none of");
    for (size_t k = 0; k < KILN_COUNT_OF(names) && length < sizeof host.reason; k++)
        length += (size_t)snprintf(host.reason + length, sizeof host.reason - length, " %s%s",
                                   names[k], k + 1 < KILN_COUNT_OF(names) ? "," : "");
    if (length < sizeof host.reason)
        snprintf(host.reason + length, sizeof host.reason - length,
                 "; $KILN_BLAS can name the file");
}

const kiln__blas *kiln__blas_get(int threads)
{
    kiln__process_lock_take(&host.lock);
    if (!host.tried) {
        host.tried = true;
        search();
    }
    if (host.fast && host.set_threads != NULL && host.threads != threads) {
        host.set_threads(threads);
        host.threads = threads;
    }
    const bool fast = host.fast;
    kiln__process_lock_give(&host.lock);
    return fast ? &host.blas : NULL;
}

const kiln__lapack *kiln__lapack_get(void)
{
    kiln__process_lock_take(&host.lock);
    if (!host.tried) {
        host.tried = true;
        search();
    }
    const bool found = host.has_lapack;
    kiln__process_lock_give(&host.lock);
    return found ? &host.lapack : NULL;
}

static void describe(const char *role, bool found, const char *path, const char *reason,
                     kiln_linalg_info *info)
{
    memset(info, 0, sizeof *info);
    info->backend = KILN_BACKEND_CPU;
    info->found = found;
    snprintf(info->role, sizeof info->role, "%s", role);
    snprintf(info->library, sizeof info->library, "%s", path);
    snprintf(info->reason, sizeof info->reason, "%s", reason);
}

void kiln__blas_describe(kiln_linalg_info *info)
{
    (void)kiln__blas_get(kiln__cpu_core_count());
    describe("BLAS", host.loaded, host.path, host.reason, info);
}

void kiln__lapack_describe(kiln_linalg_info *info)
{
    const bool found = kiln__lapack_get() != NULL;
    describe("LAPACK", found, host.lapack_path,
             found ? "" : "neither the BLAS nor liblapack.so.3 has its routines", info);
}
