/*
 * tool.h - what the files of the kiln command share.
 *
 *     kiln.c     picks the command            options.c  the one table of options, parsing, help
 *     run.c      `kiln run`                   values.c   ARGs: .npy files and numbers
 *     reduce.c   `kiln reduce`                info.c     `kiln info`
 *     scan.c     `kiln scan`                  targets.c  the words of --arch
 *     eval.c     `kiln eval`                  warm*.c    `kiln warm`
 *     raw.c      `kiln raw`
 *     job.c      what the five on the left do alike          cmd_cache.c `kiln cache`
 *
 * Rule 1: results go to stdout; everything else goes to stderr and begins with "kiln: ".
 * Rule 2: exit status 0 done, 1 failed, 2 wrong usage; nothing exits but main().
 */
#ifndef KILN_TOOLS_TOOL_H
#define KILN_TOOLS_TOOL_H

#include <stdio.h>

#include "codegen/codegen.h"
#include "kiln/kiln.h"

enum { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

/* ---- options.c ---- */

/* A command, as a bit of option.commands. */
enum {
    COMMAND_RUN = 1,
    COMMAND_INFO = 2,
    COMMAND_REDUCE = 4,
    COMMAND_WARM = 8,
    COMMAND_CACHE = 16,
    COMMAND_SCAN = 32,
    COMMAND_EVAL = 64,
    COMMAND_RAW = 128
};

enum option_id {
    OPTION_KERNEL,
    OPTION_GRID,
    OPTION_BLOCK,
    OPTION_CLUSTER,
    OPTION_COOPERATIVE,
    OPTION_SHARED,
    OPTION_IN,
    OPTION_OUT,
    OPTION_OP,
    OPTION_NAME,
    OPTION_PREAMBLE,
    OPTION_LOOP_PREP,
    OPTION_AFTER_LOOP,
    OPTION_MAP,
    OPTION_REDUCE,
    OPTION_POST,
    OPTION_IDENTITY,
    OPTION_REDUCE_TYPE,
    OPTION_AXIS,
    OPTION_KEEPDIMS,
    OPTION_EXCLUSIVE,
    OPTION_REVERSE,
    OPTION_WHERE,
    OPTION_INITIAL,
    OPTION_COMPILER,
    OPTION_KEEP_AXES,
    OPTION_WIDE,
    OPTION_TYPE,
    OPTION_SIZE,
    OPTION_DEVICE,
    OPTION_OUTPUT,
    OPTION_SHOW_SOURCE,
    OPTION_EXPLAIN,
    OPTION_DOT,
    OPTION_TIME,
    OPTION_ARCH,
    OPTION_CPU,
    OPTION_JOBS,
    OPTION_CACHE,
    OPTION_BUNDLE,
    OPTION_RETRY,
    OPTION_DRY_RUN,
    OPTION_DIR,
    OPTION_SORT,
    OPTION_TO,
    OPTION_REMOVE,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_COUNT
};

/* Texts in the order given; they point into argv. */
struct texts {
    const char **items;
    size_t count;
};

/* A parsed command line. */
struct invocation {
    int command;
    struct texts option[OPTION_COUNT]; /* one text for each time the option was given */
    struct texts args;                 /* everything that is no option */
};

/* Sort `argv` into `out` (argv[0] is the first word after the command). TOOL_DONE, or TOOL_USAGE
 * after saying why on stderr. Free with invocation_clear() in either case. */
int invocation_parse(int command, int argc, char **argv, struct invocation *out);
void invocation_clear(struct invocation *v);

/* The last text given for an option, or NULL. A flag's text is "". */
const char *invocation_get(const struct invocation *v, enum option_id id);
const char *invocation_get_or(const struct invocation *v, enum option_id id, const char *otherwise);

/* An option that a command cannot do without, and what it would have answered. */
struct need {
    enum option_id id;
    const char *question;
};

/* TOOL_USAGE for the first that is not given, after saying so. */
int invocation_check(const struct invocation *v, const struct need *needs, size_t count);

void print_command_help(int command);
void print_program_help(void);

/* Say what is wrong with the usage and where help is. Returns TOOL_USAGE. `command` may be 0. */
int usage_error(int command, const char *fmt, ...) KILN_PRINTF(2, 3);

/* Print a failure on stderr. Returns TOOL_FAILED. */
int tool_error(const kiln_error *err);

/* The command a word names, 0 for none; and the likeliest one meant, NULL when none is near. */
int command_from_name(const char *word);
const char *command_suggest(const char *word);

/* What an option is called, with its dashes. */
const char *option_name(int command, enum option_id id);

/* Keep `candidate` in *near when it is nearer to `word` than what is there, by at most 2 edits.
 * *distance begins as SIZE_MAX. */
void word_consider(const char *word, const char *candidate, size_t *distance, const char **near);

/* ---- targets.c ---- */

enum { TARGETS_MAX = 32 };

/* A list of targets, as --arch takes it. */
struct targets {
    char *text; /* the names are in it */
    const char *names[TARGETS_MAX];
    size_t count;
};

/* "sm_80,sm_90", each name once. TOOL_DONE, or else after saying why on stderr. Free with
 * targets_clear() in either case. */
int targets_parse(int command, const char *list, struct targets *out);
void targets_clear(struct targets *targets);
/* Whether `name` is in the list; true for every name when the list is empty. */
bool targets_has(const struct targets *targets, const char *name);

/* TOOL_USAGE for a target that no compiler knows, after saying so and what may have been meant. */
int target_check(int command, const char *name);

/* ---- values.c ---- */

/* Parse a number as C and Python write it: 3, 0x1f, 2.5e-3, inf, nan, 1+2j, true, false. False
 * when the text is none, or an integer beyond 64 bits. */
bool number_parse(const char *text, kiln_arg *out);

/* Whether an ARG names a .npy file (by its ending). */
bool is_npy_path(const char *text);

/* A whole number from 1 (or 0 with `zero`) to `max`. */
bool count_parse(const char *text, bool zero, int64_t max, int64_t *out);

/* ---- the commands ---- */
int command_run(const struct invocation *v);
int command_info(const struct invocation *v);
int command_cache(const struct invocation *v);
int command_reduce(const struct invocation *v);
int command_scan(const struct invocation *v);
int command_eval(const struct invocation *v);
int command_raw(const struct invocation *v);
int command_warm(const struct invocation *v);
int command_warm_worker(int argc, char **argv); /* what `kiln warm` starts */

#endif
