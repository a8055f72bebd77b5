/*
 * cpu.h - what the files of the cpu backend share. Private to src/device/cpu.
 *
 *     cpu.c      the backend's table: device, streams, events, memory
 *     target.c   which instruction set, how many cores, how much memory
 *     spawn.c    run one program, no shell, and hear what it says
 *     start.c    start it so that it does not outlive this process
 *     folder.c   private folders for the files of a compile
 *     find.c     the C++ compiler: where it is, which it is
 *     cxx.c      compile source to the bytes of a shared object
 *     module.c   bytes of a shared object to callable functions
 *     team.c     the threads that run kernels
 *     copy.c     copies and fills with all threads
 *
 * The backend is synchronous: whatever was enqueued is done when the call returns, so that streams
 * and events are hardly more than names.
 */
#ifndef KILN_DEVICE_CPU_CPU_H
#define KILN_DEVICE_CPU_CPU_H

#include <sys/types.h>

#include "device/backend.h"

/* ---- the machine (target.c) ---- */

/* Flags that make a compiler produce code for `target`, ending in NULL; NULL when the name is
 * none of this architecture's. */
const char *const *kiln__cpu_target_flags(const char *target);
/* The nth target of this architecture, oldest first; NULL past the end. */
const char *kiln__cpu_target_name(size_t nth);
/* The vendor's name of the processor. */
void kiln__cpu_name(char *name, size_t bytes);
/* Memory in all and memory that can be had without swapping; 0 when unknown. */
void kiln__cpu_memory(size_t *free_out, size_t *total_out);

/* ---- private folders (folder.c) ---- */

/* A folder under $TMPDIR or /tmp that only this user can enter. It stays where it is in memory from
 * open to close. */
typedef struct kiln__cpu_folder {
    char path[480];
    int lock_fd;
    pid_t running; /* leader of the process group that writes in it; 0: nobody */
    struct kiln__cpu_folder *next;
} kiln__cpu_folder;

/* Make a folder; the first of a process also removes those of processes that ended without. Returns
 * 0 or an errno value. */
int kiln__cpu_folder_open(kiln__cpu_folder *folder);
/* Remove it with all that is in it. Fine when it was not opened but `path` is empty. */
void kiln__cpu_folder_close(kiln__cpu_folder *folder);
/* Tell who writes in it, to be ended should the program exit; NULL is fine. */
void kiln__cpu_folder_set_running(kiln__cpu_folder *folder, pid_t pid);
/* Remove any folder with all that is in it; links are removed, not followed. */
void kiln__cpu_folder_remove(const char *path);

/* ---- programs (spawn.c) ---- */

typedef struct kiln__cpu_child {
    const char *path;        /* of the program; no search is made */
    const char *const *argv; /* ends in NULL */
    const char *const *set;  /* "NAME=value" over the inherited environment, ends in NULL */
    const char *const *drop; /* "NAME" to leave out of it, ends in NULL; or NULL */
    int input_fd;            /* becomes its stdin; -1: nothing to read */
    bool hear_stdout;        /* its stdout is put into `log` as well, else dropped */
    int timeout_ms;
    const atomic_bool *cancel; /* NULL, or whether another thread wants it ended */
    kiln__cpu_folder *folder;  /* NULL, or where it writes */
} kiln__cpu_child;

typedef enum kiln__cpu_end {
    KILN__CPU_EXITED,    /* code: its exit status */
    KILN__CPU_KILLED,    /* code: the signal */
    KILN__CPU_TIMED_OUT, /* and was killed for it */
    KILN__CPU_CANCELLED, /* the same */
    KILN__CPU_UNKNOWN,   /* somebody else in this process took the exit status */
    KILN__CPU_NOT_RUN    /* code: errno */
} kiln__cpu_end;

/* Run a program to its end. What it says is appended to `log` up to that buffer's bound; the rest
 * is read and dropped. Returns how it ended, `code_out` as said above. */
kiln__cpu_end kiln__cpu_run(const kiln__cpu_child *child, kiln__buf *log, int *code_out);

/* How a started program is known (start.c). */
typedef struct kiln__cpu_started {
    pid_t pid;    /* of the program, and of its process group */
    int alive_fd; /* closing it ends what is left of the group */
} kiln__cpu_started;

/* Start a program with `environment`, `input_fd` (-1: nothing to read) as its stdin and `output_fd`
 * as its stderr, and its stdout if the child is heard there. Both are above 2. The thread that
 * starts it must stay until it has ended: the program is killed when that thread ends. Returns 0 or
 * an errno value. */
int kiln__cpu_start(const kiln__cpu_child *child, const char **environment, int input_fd,
                    int output_fd, kiln__cpu_started *out);
/* `fd`, or a copy of it above 2 in its place; -1 with errno. */
int kiln__cpu_above_standard(int fd);

/* ---- the compiler (find.c, cxx.c) ---- */

/* A compiler as found. */
typedef struct kiln__cxx {
    char path[1024]; /* to run */
    char id[128];    /* its identity for cache keys; names no path */
    char brief[64];  /* "g++ 12": as far as it is known without running it */
    int major;       /* version, 0 when unknown */
    bool clang;
} kiln__cxx;

/* Look for a compiler: `wanted` (a path, or a name along `search`) if not NULL, else c++, g++,
 * clang++ along `search` (folders between colons; NULL: the system's default). Runs it only when
 * its file does not say enough: a script, or a compiler cache that stands in for it. */
kiln_status kiln__cxx_find(const char *wanted, const char *search, kiln__cxx *out,
                           kiln_error *err);
/* The environment's PATH for a compiler, which looks for its assembler and linker there: NULL where
 * the program's own will do, else "PATH=" and where the compiler was looked for. */
const char *kiln__cxx_path_setting(void);
/* The compiler of this process ($KILN_CXX and $PATH at the first success), found once. */
kiln_status kiln__cxx_get(const kiln__cxx **out, kiln_error *err);
/* "g++ 12.2.0", or why there is none. `run` allows to start the compiler (milliseconds) for the
 * whole version; else it may be as short as "g++ 12". */
void kiln__cxx_describe(bool run, char *text, size_t bytes);

/* As in kiln__backend; none needs a device. */
kiln_status kiln__cxx_identity(const char **id_out, kiln_error *err);
void kiln__cxx_key(kiln__buf *key);
const char *const *kiln__cxx_include_dirs(void);
bool kiln__cxx_looks_further(void);
kiln_status kiln__cxx_compile(const kiln__compile_request *request, kiln__compile_result *result,
                              kiln_error *err);
size_t kiln__cxx_targets(kiln__target *targets, size_t capacity);

/* The files that a rule of -MD names, one a line; and the same of a file that holds a rule, in
 * which a name that no file has stands for what cannot be read. Heap text or NULL. (depend.c) */
char *kiln__cxx_inputs(const char *rule);
char *kiln__cxx_read_inputs(const char *path);

/* One option of the user as this compiler should get it: itself, another spelling, or NULL when
 * it means nothing here (a maximum register count, say). */
const char *kiln__cxx_option(const char *option);

/* ---- modules (module.c) ---- as in kiln__backend ---- */

kiln_status kiln__cpu_module_load(kiln__device *device, const void *binary, size_t bytes,
                                  void **module_out, kiln_error *err);
void kiln__cpu_module_unload(kiln__device *device, void *module);
kiln_status kiln__cpu_module_entry(kiln__device *device, void *module, const char *name,
                                   void **entry_out, kiln_error *err);

/* ---- threads (team.c) ---- */

typedef struct kiln__team kiln__team;

/* A team of `threads`, the calling one counted; they start with the first work that needs them. */
kiln_status kiln__team_create(int threads, kiln__team **out, kiln_error *err);
/* Stop the threads. `forked`: they do not exist in this process, only memory is freed. */
void kiln__team_destroy(kiln__team *team, bool forked);
int kiln__team_threads(const kiln__team *team);

/*
 * entry(args, begin, end) over all of [0, units), in pieces of at least `together` units (but for
 * the last) on any number of threads; returns when all is done. Work of `together` units or less
 * runs in the caller. Any number of threads may call at once; they share the team.
 */
void kiln__team_run(kiln__team *team, kiln__cpu_entry entry, const void *args, int64_t units,
                    int64_t together);

/* lead(args) in the caller, and help(args, ..) in each thread of the team that has time for it; returns when
 * all have returned. Threads may come late or not at all. */
void kiln__team_lead(kiln__team *team, void (*lead)(void *args), kiln__cpu_entry help, void *args);

/* ---- modules of the user's (raw.c) ---- */
extern const kiln__raw_backend kiln__raw_cpu;

/* ---- copies (copy.c) ---- */

void kiln__cpu_copy(kiln__team *team, void *dst, const void *src, size_t bytes);
void kiln__cpu_fill(kiln__team *team, void *dst, int byte, size_t bytes);

#endif
