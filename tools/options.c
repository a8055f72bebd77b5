/*
 * options.c - the command line: one table of options, its parser, its help, its suggestions.
 *
 * Rule: an option exists when it has a line in OPTIONS; help, parser and suggestions follow from
 * there. docs/cli.md and kiln.1 say the same at length; tests/test_cli.c holds them together.
 */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>

struct option {
    enum option_id id;
    const char *name;  /* with its dashes */
    const char *value; /* what follows it, as help shows it; NULL for a flag */
    int commands;      /* OR of COMMAND_* */
    bool repeats;
    const char *help;
};

/* What the commands that run something have in common. */
#define BOTH (COMMAND_RUN | COMMAND_REDUCE | COMMAND_SCAN)
#define RUNS (BOTH | COMMAND_EVAL)
#define FOLDS (COMMAND_REDUCE | COMMAND_SCAN)

static const struct option OPTIONS[] = {
    {OPTION_IN, "--in", "PARAMS", BOTH, false, "input parameters, as in 'T x, float32 a'"},
    {OPTION_IN, "--in", "PARAMS", COMMAND_RAW, false,
     "the kernel's parameters, as in 'raw const float32 x, int32 n'"},
    {OPTION_KERNEL, "--kernel", "NAME", COMMAND_RAW, false, "the kernel, as in 'axpy<float, 4>'"},
    {OPTION_GRID, "--grid", "X[,Y[,Z]]", COMMAND_RAW, false, "blocks on each axis"},
    {OPTION_BLOCK, "--block", "X[,Y[,Z]]", COMMAND_RAW, false, "threads of a block on each axis"},
    {OPTION_CLUSTER, "--cluster", "X[,Y[,Z]]", COMMAND_RAW, false,
     "blocks of a cluster on each axis"},
    {OPTION_COOPERATIVE, "--cooperative", NULL, COMMAND_RAW, false,
     "run all blocks at the same time"},
    {OPTION_SHARED, "--shared", "BYTES", COMMAND_RAW, false,
     "dynamic shared memory of a block (default: 0)"},
    {OPTION_OUT, "--out", "PARAMS", BOTH, false, "output parameters, as in 'T z'"},
    {OPTION_OP, "--op", "CODE", COMMAND_RUN, false, "C++ statements run for every element"},
    {OPTION_MAP, "--map", "CODE", FOLDS, false, "C++ expression for every element"},
    {OPTION_REDUCE, "--reduce", "CODE", FOLDS, false,
     "C++ expression that combines `a` and `b` (default: a + b)"},
    {OPTION_POST, "--post", "CODE", FOLDS, false, "C++ statements that set the outputs from `a`"},
    {OPTION_IDENTITY, "--identity", "CODE", FOLDS, false,
     "C++ expression for the result of no elements (default: none)"},
    {OPTION_REDUCE_TYPE, "--reduce-type", "TYPE", FOLDS, false,
     "C++ type of `a` and `b` (default: the first output's)"},
    {OPTION_AXIS, "--axis", "AXES", COMMAND_REDUCE, false,
     "axes to reduce, as in 0,-1 (default: all)"},
    {OPTION_AXIS, "--axis", "AXIS", COMMAND_SCAN, false,
     "axis to scan along (default: all elements, in C-order)"},
    {OPTION_EXCLUSIVE, "--exclusive", NULL, COMMAND_SCAN, false,
     "exclude each element from its own result"},
    {OPTION_REVERSE, "--reverse", NULL, COMMAND_SCAN, false,
     "scan from the last element to the first"},
    {OPTION_KEEPDIMS, "--keepdims", NULL, COMMAND_REDUCE, false, "keep reduced axes with extent 1"},
    {OPTION_WHERE, "--where", "FILE", COMMAND_REDUCE, false,
     "bool .npy file; elements where it is false are left out"},
    {OPTION_INITIAL, "--initial", "NUMBER", COMMAND_REDUCE, false,
     "number that is combined with every result"},
    {OPTION_NAME, "--name", "NAME", BOTH, false, "the kernel's name"},
    {OPTION_PREAMBLE, "--preamble", "CODE", BOTH, false,
     "C++ code placed before the kernel: functions, types"},
    {OPTION_LOOP_PREP, "--loop-prep", "CODE", COMMAND_RUN, false,
     "C++ statements run before a thread's first element"},
    {OPTION_AFTER_LOOP, "--after-loop", "CODE", COMMAND_RUN, false,
     "C++ statements run after a thread's last element"},
    {OPTION_COMPILER, "--option", "TEXT", BOTH | COMMAND_RAW, true,
     "option for the compiler, as in --option=-DN=4"},
    {OPTION_KEEP_AXES, "--keep-axes", NULL, COMMAND_RUN, false,
     "let `_ind` see the axes as given, not merged"},
    {OPTION_WIDE, "--wide", NULL, COMMAND_EVAL, false,
     "keep float16 and bfloat16 values in float32 until they are stored"},
    {OPTION_TYPE, "--type", "T=DTYPE", BOTH, true,
     "set the dtype of a type letter, as in T=float32"},
    {OPTION_SIZE, "--size", "N", COMMAND_RUN, false,
     "number of elements, when only raw arrays and numbers are given"},
    {OPTION_DEVICE, "--device", "DEVICE", RUNS | COMMAND_RAW, false,
     "auto, cpu, cuda or cuda:N (default: $KILN_DEVICE, else auto)"},
    {OPTION_OUTPUT, "-o", "FILE", RUNS | COMMAND_RAW, true,
     "write an output to a .npy file; give it once for each output"},
    {OPTION_SHOW_SOURCE, "--show-source", NULL, RUNS, false,
     "print the generated source and run nothing"},
    {OPTION_EXPLAIN, "--explain", NULL, COMMAND_EVAL, false,
     "print what became one kernel, why, and the bytes moved"},
    {OPTION_DOT, "--dot", NULL, COMMAND_EVAL, false,
     "print the graph for Graphviz, kernels as boxes"},
    {OPTION_TIME, "--time", "N", RUNS | COMMAND_RAW, false,
     "print the median time of N runs, and GB/s"},
    {OPTION_ARCH, "--arch", "TARGETS", COMMAND_WARM, false,
     "GPU architectures to compile for, as in sm_80,sm_90"},
    {OPTION_CPU, "--cpu", NULL, COMMAND_WARM, false, "compile for this machine's processor"},
    {OPTION_JOBS, "--jobs", "N", COMMAND_WARM, false,
     "number of worker processes (default: one for each core)"},
    {OPTION_RETRY, "--retry", NULL, COMMAND_WARM, false,
     "compile again what an earlier run could not"},
    {OPTION_DRY_RUN, "--dry-run", NULL, COMMAND_WARM, false,
     "print the kernels as lines of a manifest, and compile none"},
    {OPTION_CACHE, "--cache", "DIR", COMMAND_WARM, false,
     "cache folder to fill (default: $KILN_CACHE_DIR, else the usual one)"},
    {OPTION_BUNDLE, "--bundle", "FILE", COMMAND_WARM, false,
     "also write all kernels of the manifests into this bundle"},
    {OPTION_BUNDLE, "--bundle", "FILE", COMMAND_CACHE, false,
     "stats, list, show, verify: look into this bundle instead"},
    {OPTION_DIR, "--dir", "DIR", COMMAND_CACHE, false,
     "cache folder (default: $KILN_CACHE_DIR, else the usual one)"},
    {OPTION_SORT, "--sort", "BY", COMMAND_CACHE, false,
     "list: use (default), size, hits, time, name or target"},
    {OPTION_TO, "--to", "SIZE", COMMAND_CACHE, false, "prune: the size to shrink to, as in 200M"},
    {OPTION_REMOVE, "--remove", NULL, COMMAND_CACHE, false, "verify: remove damaged entries"},
    {OPTION_ARCH, "--arch", "TARGETS", COMMAND_CACHE, false,
     "list, clear, export: only these targets, as in sm_80,sm_90"},
    {OPTION_JSON, "--json", NULL, COMMAND_INFO | COMMAND_WARM | COMMAND_CACHE, false, "print JSON"},
    {OPTION_HELP, "--help", NULL, RUNS | COMMAND_RAW | COMMAND_INFO | COMMAND_WARM | COMMAND_CACHE,
     false, "print this help"},
};

struct command {
    int id;
    const char *name;
    const char *usage;
    const char *summary;
    const char *text; /* what help says below the summary */
};

static const struct command COMMANDS[] = {
    {COMMAND_RUN, "run", "kiln run --in PARAMS --out PARAMS --op CODE [OPTION]... [ARG]...",
     "run a snippet over arrays and numbers",
     "Give one ARG for each input: a .npy file, or a number (3, 2.5, 1+2j, true). ARGs for outputs "
     "may\n"
     "follow: .npy files with the values that the outputs have at first. The files are not "
     "changed.\n"
     "Outputs are printed unless -o names files for them.\n"
     "\n"
     "  kiln run --in 'T x, T y, float32 a' --out 'T z' --op 'z = a * x + y' \\\n"
     "           x.npy y.npy 2.5 -o z.npy\n"},
    {COMMAND_REDUCE, "reduce",
     "kiln reduce --in PARAMS --out PARAMS --map CODE --post CODE [OPTION]... ARG...",
     "reduce arrays over axes with snippets",
     "Give one ARG for each input: a .npy file, or a number (3, 2.5, 1+2j, true). ARGs for outputs "
     "may\n"
     "follow: .npy files whose dtypes the outputs take. The files are not changed.\n"
     "Outputs are printed unless -o names files for them.\n"
     "\n"
     "  kiln reduce --in 'T x' --out 'T y' --map 'x * x' --reduce 'a + b' --post 'y = sqrt(a)' \\\n"
     "              --identity 0 --axis -1 x.npy -o y.npy\n"},
    {COMMAND_SCAN, "scan",
     "kiln scan --in PARAMS --out PARAMS --map CODE --post CODE [OPTION]... ARG...",
     "compute running sums and similar results along an axis",
     "ARGs and outputs are those of kiln reduce. Every element gets the result of all elements up "
     "to\n"
     "it.\n"
     "\n"
     "  kiln scan --in 'T x' --out 'T y' --map 'x' --reduce 'a + b' --post 'y = a' \\\n"
     "            --axis -1 x.npy -o sums.npy\n"},
    {COMMAND_EVAL, "eval", "kiln eval EXPRESSION [OPTION]... [NAME=VALUE]...",
     "evaluate a NumPy expression in as few kernels as possible",
     "A VALUE is a .npy file, or a number (3, 2.5, 1+2j, true). The expression may have several "
     "results,\n"
     "separated by commas. They are printed unless -o names files for them.\n"
     "\n"
     "  kiln eval 'sum(sqrt(x*x + y*y) * exp(-x), axis=1)' x=a.npy y=b.npy -o out.npy\n"},
    {COMMAND_RAW, "raw",
     "kiln raw FILE --kernel NAME --in PARAMS --grid X --block X [OPTION]... [ARG]...",
     "launch a kernel of a .cu, .ptx, .cubin or .fatbin file",
     "Give one ARG for each parameter: a .npy file, or a number (3, 2.5, 1+2j, true). Parameters "
     "that are\n"
     "raw and not const may be written: they are printed unless -o names files for them. The files "
     "of the\n"
     "ARGs are not changed.\n"
     "\n"
     "  kiln raw axpy.cu --kernel 'axpy<float>' --grid 4 --block 256 \\\n"
     "           --in 'raw const float32 x, raw float32 y, int32 n, float32 a' x.npy y.npy 1000 "
     "2.5\n"},
    {COMMAND_INFO, "info", "kiln info [--json]",
     "show version, devices, compilers and cache folder",
     "A device that cannot be used is listed with the reason why.\n"},
    {COMMAND_WARM, "warm", "kiln warm MANIFEST... --arch TARGETS [--cpu] [OPTION]...",
     "compile kernels ahead of time, as manifests list them",
     "This needs no GPU and no driver. A MANIFEST is a file of JSON lines, written by hand or "
     "recorded by\n"
     "a program that ran with $KILN_RECORD=FILE; \"-\" is standard input. Exit status 1 if a "
     "kernel\n"
     "failed.\n"
     "\n"
     "  KILN_RECORD=app.jsonl ./app\n"
     "  kiln warm app.jsonl --arch sm_80,sm_90 --bundle app.kiln\n"},
    {COMMAND_CACHE, "cache", "kiln cache VERB [OPTION]... [ARG]",
     "list, check, shrink, export and import compiled kernels",
     "  stats              show totals: entries, bytes, hits, compile times\n"
     "  list               list all entries\n"
     "  show KEY           show one entry and the source it was compiled from\n"
     "  verify             read every entry and check its checksum\n"
     "  prune --to SIZE    remove the least recently used entries\n"
     "  clear              remove all entries, or those of --arch\n"
     "  path               print the path of the folder\n"
     "  export FILE        write entries into a bundle, one file to ship with a program\n"
     "  import FILE        copy the entries of a bundle into the folder\n"},
};

static const struct command *find_command(int id)
{
    for (size_t k = 0; k < KILN_COUNT_OF(COMMANDS); k++)
        if (COMMANDS[k].id == id)
            return &COMMANDS[k];
    return NULL;
}

/* ---- suggestions ---- */

/* Edits (insert, delete, replace) between two short words; words too long are "far". */
static size_t edit_distance(const char *a, const char *b)
{
    enum { WORD_MAX = 32 };
    size_t row[WORD_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return WORD_MAX;
    for (size_t k = 0; k <= b_length; k++)
        row[k] = k;
    for (size_t r = 1; r <= a_length; r++) {
        size_t diagonal = row[0];
        row[0] = r;
        for (size_t k = 1; k <= b_length; k++) {
            size_t best = diagonal + (a[r - 1] != b[k - 1]);
            diagonal = row[k];
            if (row[k] + 1 < best)
                best = row[k] + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            row[k] = best;
        }
    }
    return row[b_length];
}

void word_consider(const char *word, const char *candidate, size_t *distance, const char **near)
{
    size_t d = edit_distance(word, candidate);
    if (d <= 2 && d < *distance) {
        *distance = d;
        *near = candidate;
    }
}

const char *command_suggest(const char *word)
{
    const char *best = NULL;
    size_t distance = SIZE_MAX;
    for (size_t k = 0; k < KILN_COUNT_OF(COMMANDS); k++)
        word_consider(word, COMMANDS[k].name, &distance, &best);
    return best;
}

static const char *option_suggest(int command, const char *word)
{
    const char *best = NULL;
    size_t distance = SIZE_MAX;
    for (size_t k = 0; k < KILN_COUNT_OF(OPTIONS); k++)
        if (OPTIONS[k].commands & command)
            word_consider(word, OPTIONS[k].name, &distance, &best);
    return best;
}

int command_from_name(const char *word)
{
    for (size_t k = 0; k < KILN_COUNT_OF(COMMANDS); k++)
        if (strcmp(COMMANDS[k].name, word) == 0)
            return COMMANDS[k].id;
    return 0;
}

/* ---- help ---- */

int usage_error(int command, const char *fmt, ...)
{
    const struct command *c = find_command(command);
    va_list ap;

    fputs("kiln: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry \"kiln %s%s--help\".\n", c ? c->name : "", c ? " " : "");
    return TOOL_USAGE;
}

int tool_error(const kiln_error *err)
{
    fputs("kiln: ", stderr);
    kiln_error_print(err, stderr);
    return TOOL_FAILED;
}

void print_command_help(int command)
{
    const struct command *c = find_command(command);

    printf("Usage: %s\n\n%c%s.\n\n%s\nOptions:\n", c->usage, c->summary[0] - 'a' + 'A',
           c->summary + 1, c->text);
    for (size_t k = 0; k < KILN_COUNT_OF(OPTIONS); k++) {
        const struct option *o = &OPTIONS[k];
        char left[48];
        if (!(o->commands & command))
            continue;
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        printf("  %-19s %s\n", left, o->help);
    }
}

void print_program_help(void)
{
    puts("Usage: kiln COMMAND [OPTION]... [ARG]...\n\n"
         "Generate, compile and run kernels from C++ snippets, on CUDA GPUs and on the CPU.\n\n"
         "Commands:");
    for (size_t k = 0; k < KILN_COUNT_OF(COMMANDS); k++)
        printf("  %-8s %s\n", COMMANDS[k].name, COMMANDS[k].summary);
    puts("\n\"kiln COMMAND --help\" explains a command; \"kiln --version\" prints the version.\n"
         "Exit status: 0 done, 1 failed, 2 wrong usage.");
}

/* ---- parsing ---- */

/* The option that `word` names, up to a '='; NULL for none. */
static const struct option *find_option(int command, const char *word)
{
    size_t length = strcspn(word, "=");
    for (size_t k = 0; k < KILN_COUNT_OF(OPTIONS); k++) {
        const struct option *o = &OPTIONS[k];
        if ((o->commands & command) && strlen(o->name) == length &&
            strncmp(o->name, word, length) == 0)
            return o;
    }
    return NULL;
}

/* Whether a word is an option rather than an ARG: it begins with a dash and is no number, and no
 * expression, which may begin with a sign. */
static bool is_option(const struct invocation *v, const char *word)
{
    const bool expression = v->command == COMMAND_EVAL && v->args.count == 0 && word[1] != '-' &&
                            find_option(v->command, word) == NULL &&
                            (strlen(word) < 4 || option_suggest(v->command, word) == NULL);
    kiln_arg number;

    return word[0] == '-' && word[1] != '\0' && !expression && !number_parse(word, &number);
}

static int unknown_option(int command, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = option_suggest(command, name);
    if (near != NULL)
        return usage_error(command, "unknown option \"%s\"; did you mean \"%s\"?", name, near);
    return usage_error(command, "unknown option \"%s\"", name);
}

/* Take the option at argv[*at] and its value; moves *at to the last word taken. */
static int take_option(struct invocation *v, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    const struct option *o = find_option(v->command, word);
    const char *value = strchr(word, '=');

    if (o == NULL)
        return unknown_option(v->command, word);
    if (o->value == NULL && value != NULL)
        return usage_error(v->command, "%s takes no value", o->name);
    if (o->value == NULL) {
        value = "";
    } else if (value != NULL) {
        value++;
    } else {
        if (*at + 1 >= argc)
            return usage_error(v->command, "%s needs a value: %s %s", o->name, o->name, o->value);
        value = argv[++*at];
    }

    struct texts *texts = &v->option[o->id];
    if (texts->count > 0 && o->value != NULL && !o->repeats)
        return usage_error(v->command, "%s was given twice", o->name);
    texts->items[texts->count++] = value;
    return TOOL_DONE;
}

int invocation_parse(int command, int argc, char **argv, struct invocation *out)
{
    memset(out, 0, sizeof *out);
    out->command = command;
    /* Each list may hold every word; one block serves them all. */
    size_t capacity = (size_t)argc + 1;
    const char **items = calloc(capacity * (OPTION_COUNT + 1), sizeof *items);
    if (items == NULL) {
        fputs("kiln: the host is out of memory\n", stderr);
        return TOOL_FAILED;
    }
    out->args.items = items;
    for (size_t k = 0; k < OPTION_COUNT; k++)
        out->option[k].items = items + capacity * (k + 1);

    bool only_args = false;
    for (int at = 0; at < argc; at++) {
        if (!only_args && strcmp(argv[at], "--") == 0) {
            only_args = true;
        } else if (!only_args && is_option(out, argv[at])) {
            int result = take_option(out, argc, argv, &at);
            if (result != TOOL_DONE)
                return result;
        } else {
            out->args.items[out->args.count++] = argv[at];
        }
    }
    return TOOL_DONE;
}

void invocation_clear(struct invocation *v)
{
    free(v->args.items);
    memset(v, 0, sizeof *v);
}

const char *invocation_get(const struct invocation *v, enum option_id id)
{
    const struct texts *texts = &v->option[id];
    return texts->count > 0 ? texts->items[texts->count - 1] : NULL;
}

const char *invocation_get_or(const struct invocation *v, enum option_id id, const char *otherwise)
{
    const char *text = invocation_get(v, id);
    return text != NULL ? text : otherwise;
}

const char *option_name(int command, enum option_id id)
{
    for (size_t k = 0; k < KILN_COUNT_OF(OPTIONS); k++)
        if (OPTIONS[k].id == id && (OPTIONS[k].commands & command) != 0)
            return OPTIONS[k].name;
    return "?";
}

int invocation_check(const struct invocation *v, const struct need *needs, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        if (invocation_get(v, needs[n].id) != NULL)
            continue;
        return usage_error(v->command, "%s is missing: %s", option_name(v->command, needs[n].id),
                           needs[n].question);
    }
    return TOOL_DONE;
}
