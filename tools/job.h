/*
 * job.h - what `kiln run`, `kiln reduce` and `kiln scan` do alike.
 *
 *     check the usage > parse the signature > load ARGs > apply --type > run, time or show source
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
    kiln_error err;
};

size_t job_output_count(const struct job *j);

/* --time, --show-source and the form of every ARG. TOOL_USAGE after saying why. */
int job_check_words(struct job *j);

/* Parse the signature, and judge the number of ARGs and files by it. */
int job_define(struct job *j, const kiln__definition_request *request);

/* The context that --device names; it warns on stderr. */
kiln_status job_open(struct job *j);

/* A .npy file or a number, as job_check_words() saw it, becomes an argument. */
kiln_status job_load(struct job *j, const char *text, kiln_array **array, kiln_arg *arg);

/* ARGs become arguments; outputs without an ARG are left for the kernel to allocate. */
kiln_status job_load_args(struct job *j);

/* The shape that an output has, as far as the ARGs tell; false where they do not. Called for an
 * output that --type makes. */
typedef bool (*job_shape)(void *user, int *rank, int64_t *shape);

/* Apply every --type. TOOL_USAGE for a word that is none; TOOL_FAILED fills j->err. `*made` tells
 * whether some output was allocated. */
int job_apply_types(struct job *j, job_shape shape, void *user, bool *made);

/* The broadcast of what is given to `count` parameters; false when that is nothing, or does not
 * broadcast (the call then says why). */
bool job_broadcast(const struct job *j, size_t count, int *rank, int64_t *shape);

/* Print generated source and free it. */
void job_print_source(char *text);

/* Median of j->run_count samples, each of as many launches as make waiting for the device
 * invisible. */
kiln_status job_time(struct job *j, kiln_launch *launch);

/* Print the outputs, or write them where -o says. */
kiln_status job_deliver(struct job *j);

void job_clear(struct job *j);

#endif
