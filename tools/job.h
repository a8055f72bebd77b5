/*
 * job.h - what `kiln run`, `kiln reduce` and `kiln scan` do alike, and `kiln eval` in part.
 *
 *     check the usage > parse the signature > load ARGs > apply --type > run, time or show source
 *
 * A command is a struct that begins with its job, and a job_kind: the steps in which it differs.
 *
 * Rule: kernels are made and called through the public API only. The signature is parsed here a
 * second time, by codegen's own parser, to know which ARG is which parameter.
 */
#ifndef KILN_TOOLS_JOB_H
#define KILN_TOOLS_JOB_H

#include "tool.h"

struct job {
    const struct invocation *v;
    kiln__definition *def; /* NULL for `kiln eval`, which has no signature */
    kiln_context *ctx;
    kiln_arg args[KILN_PARAM_MAX];
    kiln_array *arrays[KILN_PARAM_MAX]; /* by parameter: loaded, made, or received as output */
    int64_t run_count;                  /* --time; 0 when not given */
    const char *name;                   /* for --time, where there is no definition */
    bool made_output;                   /* --type has allocated one */
    kiln_error err;
};

/* How a command's kernel is defined, made and called. Each step gets the job that the command's
 * own struct begins with, and reports into its err. */
typedef struct job_kind {
    /* What is particular in the command line. TOOL_USAGE after saying why. */
    int (*check)(struct job *j);
    void (*define)(struct job *j, kiln__definition_request *request);
    kiln_status (*make)(struct job *j); /* the context is open; ARGs are not loaded yet */
    /* The shape that an output has, as far as the ARGs tell; false where they do not. */
    bool (*shape)(const struct job *j, int *rank, int64_t *shape);
    kiln_status (*source)(struct job *j, char **text);
    kiln_status (*prepare)(struct job *j, kiln_launch **launch);
    kiln_status (*run)(struct job *j);
    /* Change the results before they are shown, and how many they are; NULL: as they are. */
    kiln_status (*finish)(struct job *j, size_t *count);
} job_kind;

/* The whole command, but for what the command's own struct holds. Returns the exit status. */
int job_command(struct job *j, const job_kind *kind);

/* The snippets of `kiln reduce` and `kiln scan`. */
void job_define_fold(struct job *j, const char *name, kiln__definition_request *request);

/* ---- what `kiln eval` uses ---- */

/* --time. TOOL_USAGE after saying why. */
int job_check_time(struct job *j);

/* The context that --device names; it warns on stderr. */
kiln_status job_open(struct job *j);

/* A .npy file or a number, as job_check_words() saw it, becomes an argument. */
kiln_status job_load(struct job *j, const char *text, kiln_array **array, kiln_arg *arg);

/* The broadcast of what is given to `count` parameters; false when that is nothing, or does not
 * broadcast (the call then says why). */
bool job_broadcast(const struct job *j, size_t count, int *rank, int64_t *shape);

/* Print generated source and free it. */
void job_print_source(char *text);

/* Time the kind's launch or run it once, wait, and print the `count` arrays from `first` on, or
 * write them where -o says. */
kiln_status job_run(struct job *j, const job_kind *kind, size_t first, size_t count);

void job_clear(struct job *j);

#endif
