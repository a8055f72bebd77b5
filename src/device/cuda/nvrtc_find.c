/*
 * nvrtc_find.c - where NVRTC is, and which build it is, without loading 100 MB of it.
 *
 *     cache key -> [find, identity]          compile -> [find] -> nvrtc.c
 *
 * $KILN_NVRTC comes first, then the places of find.c.
 *
 * Rule 1: what is identified is what is loaded: nvrtc.c opens the path found here, by its full
 *         name, and nothing else.
 * Rule 2: libnvrtc.alt.so is another build (long has 4 bytes in it) and must never be loaded.
 * Rule 3: the identity is of the file's content, not of its path: equal compilers on two machines
 *         share cache entries.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/cuda/nvrtc.h"

#if defined(__aarch64__)
#define TOOLKIT_TARGET "sbsa-linux"
#else
#define TOOLKIT_TARGET "x86_64-linux"
#endif

static const int majors[] = {13, 12};

/* What identify() reads of a library. */
#define SAMPLE_COUNT 16
#define SAMPLE_BYTES ((size_t)2048)

/* Minor versions looked for; CUDA 12 had ten. */
#define MINOR_MAX 15

static struct {
    kiln__process_lock lock;
    bool found;
    kiln__nvrtc_place place;
} nvrtc = {.lock = KILN__PROCESS_LOCK_INIT};

/* ---- one candidate ---- */

static bool is_folder_with(const char *folder, const char *file)
{
    char path[1200];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

/* "13.0.88" out of ".../libnvrtc.so.13.0.88"; false for names that are not NVRTC's. */
static bool read_version(const char *real_path, kiln__nvrtc_place *place)
{
    const char *name = strrchr(real_path, '/');
    const char *prefix = "libnvrtc.so.";

    name = name != NULL ? name + 1 : real_path;
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    snprintf(place->version, sizeof place->version, "%s", name + strlen(prefix));
    place->major = atoi(place->version);
    return place->major >= majors[KILN_COUNT_OF(majors) - 1];
}

static bool add_include(kiln__nvrtc_place *place, const char *folder)
{
    static const char *const within[KILN__NVRTC_INCLUDE_MAX] = {"", "/cccl"};

    if (!is_folder_with(folder, "cuda.h") && !is_folder_with(folder, "cuda_fp16.h"))
        return false;
    size_t count = 0;
    for (size_t i = 0; i < KILN__NVRTC_INCLUDE_MAX; i++) {
        int length = snprintf(place->include[count], sizeof place->include[count], "%s%s", folder,
                              within[i]);
        if (length > 0 && (size_t)length < sizeof place->include[count] &&
            access(place->include[count], R_OK) == 0) {
            place->include_dirs[count] = place->include[count];
            count++;
        }
    }
    place->include_dirs[count] = NULL;
    return true;
}

/* Headers: those of the toolkit that the library is part of, else of the one the environment
 * names, else of the system's. */
static void find_includes(kiln__nvrtc_place *place, const char *real_path)
{
    /* Seen from the library's folder: a toolkit, its targets folder, wheels of CUDA 13 and 12. */
    static const char *const relative[] = {"../include", "../../include",
                                           "../../cuda_runtime/include",
                                           "../targets/" TOOLKIT_TARGET "/include"};
    const char *const roots[] = {kiln__env("CUDA_HOME"), kiln__env("CUDA_PATH"), "/usr/local/cuda"};
    char folder[1200];

    const char *slash = strrchr(real_path, '/');
    int length = slash != NULL ? (int)(slash - real_path) : 0;
    for (size_t i = 0; i < KILN_COUNT_OF(relative); i++) {
        snprintf(folder, sizeof folder, "%.*s/%s", length, real_path, relative[i]);
        if (add_include(place, folder))
            return;
    }
    for (size_t i = 0; i < KILN_COUNT_OF(roots); i++) {
        snprintf(folder, sizeof folder, "%s/include", roots[i] != NULL ? roots[i] : "");
        if (roots[i] != NULL && add_include(place, folder))
            return;
    }
}

/*
 * Name a build by its size and by samples spread over the file, its first and last bytes among
 * them: these hold the ELF headers and the linker's build id, which patched files (those of several
 * wheels) keep where kiln__file_identity() does not look, so that it would read all 60 MB.
 */
static bool identify(const char *path, char out[33])
{
    unsigned char sample[SAMPLE_COUNT * SAMPLE_BYTES + sizeof(uint64_t)];
    size_t filled = sizeof(uint64_t);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

    if (ok) {
        uint64_t size = (uint64_t)st.st_size;
        off_t last = st.st_size > (off_t)SAMPLE_BYTES ? st.st_size - (off_t)SAMPLE_BYTES : 0;
        memcpy(sample, &size, sizeof size);
        for (int i = 0; i < SAMPLE_COUNT && ok; i++) {
            off_t at = last / (SAMPLE_COUNT - 1) * i;
            ssize_t got =
                pread(fd, sample + filled, SAMPLE_BYTES, i + 1 < SAMPLE_COUNT ? at : last);
            ok = got >= 0;
            filled += ok ? (size_t)got : 0;
        }
        kiln__hash_hex(kiln__hash_128(sample, filled), out);
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Fill `place` from a library file; false when it is none that can be used. */
static bool accept(const char *path, kiln__nvrtc_place *place)
{
    char build[33];
    char *real_path = realpath(path, NULL);
    bool ok = real_path != NULL && strlen(real_path) < sizeof place->path &&
              read_version(real_path, place) && identify(real_path, build);

    if (ok) {
        snprintf(place->path, sizeof place->path, "%s", real_path);
        snprintf(place->identity, sizeof place->identity, "nvrtc-%d-%s", place->major, build);
        find_includes(place, real_path);
    }
    free(real_path);
    return ok;
}

/* ---- where to look ---- */

static bool accept_file(const char *path, void *place)
{
    return accept(path, place);
}

static kiln_status search(kiln__nvrtc_place *place, kiln_error *err)
{
    const kiln__toolkit_search toolkit = {
        .name = "libnvrtc",
        .majors = {majors[0], majors[1]},
        .wheels = {"cu13", "cuda_nvrtc"},
        .accept = accept_file,
        .user = place,
    };
    const char *given = kiln__env("KILN_NVRTC");

    if (given != NULL) {
        if (accept(given, place))
            return KILN_OK;
        return kiln__fail(err, KILN_ERR_NO_NVRTC,
                          "$KILN_NVRTC: \"%.300s\" is no NVRTC library (a file libnvrtc.so.12 or "
                          "libnvrtc.so.13)",
                          given);
    }
    if (kiln__toolkit_find(&toolkit))
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_NO_NVRTC,
                      "no NVRTC library (libnvrtc.so.13 or libnvrtc.so.12) in $LD_LIBRARY_PATH, "
                      "the system's folders, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*/lib64 or "
                      "the nvidia wheels of $VIRTUAL_ENV; $KILN_NVRTC can name the file");
}

kiln_status kiln__nvrtc_find(const kiln__nvrtc_place **out, kiln_error *err)
{
    kiln_status status = KILN_OK;

    *out = NULL;
    kiln__process_lock_take(&nvrtc.lock);
    if (!nvrtc.found) {
        status = search(&nvrtc.place, err);
        nvrtc.found = status == KILN_OK;
    }
    if (nvrtc.found)
        *out = &nvrtc.place;
    kiln__process_lock_give(&nvrtc.lock);
    return status;
}

void kiln__nvrtc_describe(char *text, size_t bytes)
{
    const kiln__nvrtc_place *place = NULL;

    text[0] = '\0';
    if (kiln__nvrtc_find(&place, NULL) != KILN_OK)
        return;
    snprintf(text, bytes, "NVRTC %s", place->version);
    if (strchr(place->version, '.') != NULL)
        return;

    /* A file's name may tell the major number only; its companion beside it tells both. Its name is
     * guessed: the folder may hold hundreds of others. */
    int length = (int)(strrchr(place->path, '/') - place->path);
    for (int minor = 0; minor <= MINOR_MAX; minor++) {
        char path[1200];
        snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", length, place->path,
                 place->major, minor);
        if (access(path, F_OK) == 0) {
            snprintf(text, bytes, "NVRTC %d.%d", place->major, minor);
            return;
        }
    }
}

kiln_status kiln__nvrtc_identity(const char **id_out, kiln_error *err)
{
    const kiln__nvrtc_place *place = NULL;
    kiln_status status = kiln__nvrtc_find(&place, err);

    *id_out = status == KILN_OK ? place->identity : NULL;
    return status;
}

const char *const *kiln__nvrtc_include_dirs(void)
{
    static const char *const none[] = {NULL};
    const kiln__nvrtc_place *place = NULL;

    return kiln__nvrtc_find(&place, NULL) == KILN_OK ? place->include_dirs : none;
}
