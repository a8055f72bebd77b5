/*
 * host.c - the BLAS of the system: which one, its entry points, its threads.
 *
 *     product_blas.c > [find, load, once] > dlopen, dlsym (blas.def)
 *
 * The order: $KILN_BLAS, a file or "none"; else the names below, as the loader finds them.
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

static struct {
    kiln__process_lock lock;
    bool tried;
    bool loaded, fast; /* fast: its products are used */
    kiln__blas blas;
    void (*set_threads)(int);
    int threads;
    char path[256], reason[512];
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

/* Fill the table from an open library; the first symbol that it lacks, or NULL. */
static const char *read_symbols(void *handle)
{
    for (size_t k = 0; k < KILN_COUNT_OF(blas_entries); k++) {
        void *address = dlsym(handle, blas_entries[k].symbol);
        if (address == NULL)
            return blas_entries[k].symbol;
        memcpy((char *)&host.blas + blas_entries[k].at, &address, sizeof address);
    }
    return NULL;
}

/* Where an open library lies, for people. */
static void note_path(const void *symbol, const char *name)
{
    Dl_info info;

    snprintf(host.path, sizeof host.path, "%s",
             dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : name);
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
    const char *lacking = read_symbols(handle);
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
    note_path(dlsym(handle, blas_entries[0].symbol), name);
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

void kiln__blas_describe(kiln_linalg_info *info)
{
    (void)kiln__blas_get(kiln__cpu_core_count());
    memset(info, 0, sizeof *info);
    info->backend = KILN_BACKEND_CPU;
    snprintf(info->role, sizeof info->role, "BLAS");
    info->found = host.loaded;
    snprintf(info->library, sizeof info->library, "%s", host.path);
    snprintf(info->reason, sizeof info->reason, "%s", host.reason);
}
