/*
 * warm.h - what the files of `kiln warm` share.
 *
 *     warm.c         the command: manifests and targets to a list of items
 *     warm_pool.c    items to worker processes, answers back
 *     warm_worker.c  one worker: this same program, started with a word of its own
 *     warm_report.c  progress, failures, the table, JSON
 *
 * Processes and not threads, because NVRTC's front end works for one thread at a time. A worker
 * reads requests from its stdin and writes replies to its stdout, each a frame: four bytes of
 * length, then that many bytes. Both ends are one program, so structs travel as they are.
 */
#ifndef KILN_TOOLS_WARM_H
#define KILN_TOOLS_WARM_H

#include "tool.h"

#include "cache/cache.h"
#include "jit/jit.h"
#include "warm/warm.h"

/* The word that makes `kiln` a worker; what follows it are the cache folder ("" for the usual one),
 * the folder of the bundle ("" for none), and "" or a word: compile what was refused before. */
#define WARM_WORKER_WORD "--warm-worker"

enum { WARM_TARGETS_MAX = 32 };

/* One kernel for one target. */
struct warm_item {
    const kiln__manifest_entry *entry;
    size_t target;  /* index into warm.targets */
    char *line;     /* the kernel as a line of a manifest with one layout */
    int attempts;   /* how often a worker died over it */
};

enum warm_end { WARM_COMPILED, WARM_CACHED, WARM_FAILED, WARM_SKIPPED, WARM_END_COUNT };

/* What a worker answers; message and detail follow, each with its NUL. */
struct warm_reply {
    int status; /* kiln_status */
    int end;    /* enum warm_end */
    uint64_t bytes;
    double compile_us;
    int retires; /* the worker has grown too large and ends after this */
};

/* Longest detail of an error that a reply carries: replies must fit a pipe that nobody reads. */
enum { WARM_DETAIL_MAX = 12 << 10 };

struct warm_tally {
    uint64_t ends[WARM_END_COUNT];
    uint64_t bytes;
    double compile_us;
};

/* One run of the command. */
struct warm {
    kiln__target targets[WARM_TARGETS_MAX];
    size_t target_count;
    const char *cache_dir; /* "" for the usual one */
    const char *staging;   /* the bundle's folder, "" for none */
    int jobs;
    bool json;
    bool listing; /* nothing is compiled yet: skipped lines are told as failed ones are */
    bool retries; /* what a compiler refused in an earlier run is compiled again */
    bool dry_run; /* kernels are printed, not compiled */
    struct warm_item *items;
    size_t item_count, item_room;
    /* Figures. */
    struct warm_tally tally[WARM_TARGETS_MAX];
    size_t done_count, failed_count, retry_count;
    int workers;
    double start_us, wall_s, cpu_s;
    uint64_t worker_peak_bytes;
    /* The report's own. */
    kiln__buf failures; /* JSON objects with commas between */
    kiln__buf skipped;  /* the same, for kernels that a target cannot have */
    kiln__map said; /* messages that were printed */
    double shown_us;
    bool bar;
};

/* ---- warm_pool.c ---- */

/* Compile all items. TOOL_FAILED, after saying why, when no worker could be started. */
int warm_run(struct warm *w);

/* Read or write one frame. False at the end of the file and on failure. A frame read is heap memory
 * with a NUL behind it. */
bool warm_write_frame(int fd, const void *head, size_t head_bytes, const void *body,
                      size_t body_bytes);
bool warm_read_frame(int fd, char **data_out, size_t *bytes_out);

/* ---- warm_report.c ---- */

/* Count an item's end, and say what is to be said about it. `err` may be NULL. */
void warm_note(struct warm *w, const kiln__manifest_entry *entry, size_t target, enum warm_end end,
               uint64_t bytes, double compile_us, const kiln_error *err);
/* Show progress, as often as is due. */
void warm_progress(struct warm *w, bool last);
void warm_print_summary(const struct warm *w, const char *bundle);

#endif
