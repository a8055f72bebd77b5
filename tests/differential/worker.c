/*
 * worker.c - processes that draw, run and compare cases, and what is said of those that fail.
 *
 *     parent > fork > worker: group w, w + jobs, ... each with its cases, on every device
 *
 * A worker that dies, by a signal, a fault of the GPU or a hang, is the failure of the case it was
 * at; another takes over behind it. The parent itself never opens a device, so that it can fork.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 64, HANG_SECONDS = 120, EXIT_FAULT = 3, EXIT_NO_DEVICE = 4, EXIT_FAILS = 5 };

/* What workers tell the parent, in memory that they share. */
typedef struct progress {
    uint64_t group, number; /* at work on; the next group to begin is told here too */
    int device;
    bool running;
    uint64_t cases[DT_KIND_COUNT], runs, skipped, failures;
    /* Elements of outputs, and those of them that anything would be right for: what a kind is worth. */
    uint64_t elements[DT_KIND_COUNT], open[DT_KIND_COUNT];
    uint64_t described; /* the definition whose failure was described last, + 1 */
    int shown;
} progress;

typedef struct session {
    const dt_options *options;
    dt_device device[2];
    progress *mine;
} session;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

dt_kind dt_kind_of(uint64_t seed, uint64_t group)
{
    static const dt_kind weights[] = {DT_KIND_ELEMENTWISE, DT_KIND_ELEMENTWISE, DT_KIND_ELEMENTWISE,
                                      DT_KIND_REDUCTION,   DT_KIND_REDUCTION,   DT_KIND_REDUCE,
                                      DT_KIND_REDUCE,      DT_KIND_SCANNED,     DT_KIND_SCAN,
                                      DT_KIND_GRAPH,       DT_KIND_GRAPH,       DT_KIND_EAGER,
                                      DT_KIND_ROW,         DT_KIND_GATHER,      DT_KIND_SCATTER,
                                      DT_KIND_SCATTER,     DT_KIND_SELECT,      DT_KIND_SELECT,
                                      DT_KIND_SORT,        DT_KIND_REARRANGE,   DT_KIND_PRODUCT,
                                      DT_KIND_RANDOM};
    return weights[dt_mix(seed, group) % DT_COUNT(weights)];
}

/* Kernels of snippets are worth many calls; of graphs it is the structure that must vary. */
static uint64_t definition_of(dt_kind kind, uint64_t number)
{
    return number / (kind == DT_KIND_GRAPH                          ? 2
                     : kind == DT_KIND_EAGER || kind >= DT_KIND_ROW ? 5
                                                                    : DT_GROUP);
}

bool dt_draw_number(dt_case *c, uint64_t seed, uint64_t number)
{
    const dt_kind kind = dt_kind_of(seed, number / DT_GROUP);
    return dt_draw(c, kind, seed, definition_of(kind, number), number);
}

bool dt_in_child(bool (*ask)(void))
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0)
        _exit(ask() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool open_device(dt_device *d, const char *name)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;

    d->name = name;
    options.device = name;
    options.record = "";
    if (kiln_context_create(&options, &d->ctx, &err) != KILN_OK) {
        kiln_error_print(&err, stderr);
        kiln_error_clear(&err);
        return false;
    }
    d->cuda = kiln_context_device(d->ctx)->backend == KILN_BACKEND_CUDA;
    if (kiln_stream_create(d->ctx, NULL, &d->stream, &err) != KILN_OK) {
        kiln_error_print(&err, stderr);
        kiln_error_clear(&err);
        return false;
    }
    return true;
}

static void close_devices(session *s)
{
    dt_forget();
    for (int k = 0; k < s->options->device_count; k++) {
        kiln_stream_destroy(s->device[k].stream);
        kiln_context_release(s->device[k].ctx);
    }
}

static bool open_devices(session *s)
{
    for (int k = 0; k < s->options->device_count; k++)
        if (s->device[k].ctx == NULL && !open_device(&s->device[k], s->options->devices[k]))
            return false;
    return true;
}

/* ---- one case -------------------------------------------------------------------------------- */

static dt_verdict run_on(dt_device *device, const dt_case *c, dt_report *report)
{
    dt_expected e;

    report->verdict = DT_SKIPPED;
    if (!dt_evaluate(c, &e))
        return DT_SKIPPED;
    dt_run(device, c, &e, report);
    dt_expected_clear(&e);
    return report->verdict;
}

typedef struct suspect {
    dt_device *device;
    dt_verdict verdict;
    kiln_status status;
} suspect;

static bool fails_here(void *user, const dt_case *c)
{
    const suspect *s = user;
    dt_report report;

    run_on(s->device, c, &report);
    return report.verdict == s->verdict && report.status == s->status;
}

static void describe(const session *s, uint64_t number, const char *device, const dt_case *c,
                     const char *text)
{
    char *whole = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&whole, &bytes);

    if (out == NULL)
        return;
    fprintf(out, "FAILED on %s: %s\n", device, text);
    if (number != UINT64_MAX)
        fprintf(out, "# --seed %llu --case %llu --device %s\n",
                (unsigned long long)s->options->seed, (unsigned long long)number, device);
    if (dt_in_snippet(c)) {
        char statements[4096];
        dt_statements(c, statements, sizeof statements);
        fprintf(out, "# %s\n", statements);
        for (int k = 0; k < c->node_count; k++)
            if (c->node[k].op == DT_REDUCE || c->node[k].op == DT_SCAN) {
                dt_mapped(c, k, statements, sizeof statements);
                fprintf(out, "# %c%d of %s\n", k == c->pivot ? 'a' : 's', k, statements);
            }
    }
    if (c->as_text) {
        char expression[4096];
        dt_expression(c, expression, sizeof expression);
        fprintf(out, "# %s\n", expression);
    }
    dt_print_case(c, out);
    fprintf(out, "\n");
    fclose(out);
    fflush(stdout);
    for (size_t at = 0; at < bytes;) {
        const ssize_t n = write(STDOUT_FILENO, whole + at, bytes - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    free(whole);
}

/* Count a failure. One of a definition is described: the others are of the same definition. */
static bool is_news(session *s, uint64_t number, const dt_case *c)
{
    const uint64_t definition = definition_of(c->kind, number) + 1;
    progress *p = s->mine;

    p->failures++;
    if (definition == p->described || p->shown >= s->options->failures_shown)
        return false;
    p->described = definition;
    p->shown++;
    return true;
}

static void report_failure(session *s, uint64_t number, dt_device *device, const dt_case *c,
                           dt_report *report)
{
    suspect suspected = {device, report->verdict, report->status};
    dt_case smaller = *c;

    if (!is_news(s, number, c))
        return;
    if (s->options->shrink && !dt_in_family(c)) {
        dt_report again;
        dt_shrink(&smaller, fails_here, &suspected);
        run_on(device, &smaller, &again);
        if (again.verdict == DT_RIGHT) { /* what fails now and then is told as it was */
            printf("# This failure was not seen again when the case ran once more.\n");
            smaller = *c;
        } else {
            *report = again;
        }
    }
    describe(s, number, device->name, &smaller, report->text);
}

static void count_elements(progress *p, const dt_case *c, const dt_expected *e)
{
    for (int k = 0; k < c->output_count; k++) {
        p->elements[c->kind] += (uint64_t)e->output[k].size;
        for (int64_t at = 0; at < e->output[k].size; at++)
            p->open[c->kind] += dt_is_unknown(e->output[k].at[at]);
    }
}

/* Run a case on every device from number `first_device` on. */
static void run_case(session *s, uint64_t number, const dt_case *c, int first_device)
{
    dt_expected e;

    if (!dt_evaluate(c, &e)) {
        s->mine->skipped++;
        return;
    }
    count_elements(s->mine, c, &e);
    for (int k = first_device; k < s->options->device_count; k++) {
        dt_report report;

        s->mine->device = k;
        alarm(HANG_SECONDS);
        dt_run(&s->device[k], c, &e, &report);
        s->mine->runs++;
        if (report.status == KILN_ERR_FAULT)
            _exit(EXIT_FAULT);
        if (report.verdict == DT_WRONG || report.verdict == DT_REFUSED) {
            alarm(10 * HANG_SECONDS);
            report_failure(s, number, &s->device[k], c, &report);
        }
    }
    alarm(0);
    dt_expected_clear(&e);
}

/* ---- random cases ---------------------------------------------------------------------------- */

static void run_number(session *s, uint64_t number)
{
    const dt_options *o = s->options;
    dt_case c;

    s->mine->number = number;
    if (!dt_draw_number(&c, o->seed, number)) {
        s->mine->skipped++;
        return;
    }
    s->mine->cases[c.kind]++;
    if (o->verbose) {
        printf("# case %llu\n", (unsigned long long)number);
        dt_print_case(&c, stdout);
        fflush(stdout);
    }
    run_case(s, number, &c, 0);
}

static bool is_asked(const dt_options *o, uint64_t group)
{
    return o->kinds >> dt_kind_of(o->seed, group) & 1u;
}

/* The number behind the last of `count` cases of the kinds that were asked for. */
static uint64_t end_of(const dt_options *o)
{
    uint64_t n = o->first;

    for (uint64_t left = o->count; left > 0;) {
        const uint64_t end = (n / DT_GROUP + 1) * DT_GROUP;
        const uint64_t step = is_asked(o, n / DT_GROUP) && left < end - n ? left : end - n;
        left -= is_asked(o, n / DT_GROUP) ? step : 0;
        n += step;
    }
    return o->count > 0 ? n : UINT64_MAX;
}

static void work(const dt_options *o, progress *mine, double until)
{
    session s = {.options = o, .mine = mine};
    const uint64_t end = end_of(o);

    if (!open_devices(&s))
        _exit(EXIT_NO_DEVICE);
    for (;; mine->group += (uint64_t)o->jobs, mine->number = 0) {
        const uint64_t begin = mine->group * DT_GROUP;
        if (begin >= end || (until > 0 && now() > until))
            break;
        if (!is_asked(o, mine->group))
            continue;
        for (uint64_t n = begin; n < begin + DT_GROUP && n < end; n++) {
            if (n < o->first || n < mine->number || (until > 0 && now() > until))
                continue;
            run_number(&s, n);
        }
    }
    close_devices(&s);
    fflush(stdout);
    _exit(0);
}

/* Whether a fresh process dies of the case, as the worker did. */
static bool kills(void *user, const dt_case *c)
{
    session *s = user;
    int status = 0;

    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dt_report report;
        alarm(HANG_SECONDS / 4);
        if (!open_devices(s))
            _exit(0);
        run_on(&s->device[s->mine->device], c, &report);
        _exit(report.status == KILN_ERR_FAULT ? EXIT_FAULT : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    return !WIFEXITED(status) || WEXITSTATUS(status) == EXIT_FAULT;
}

static void report_death(const dt_options *o, progress *mine, int status)
{
    session s = {.options = o, .mine = mine};
    char text[128];
    dt_case c;

    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "the process was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, sizeof text, "the GPU reported a fault");
    if (!dt_draw_number(&c, o->seed, mine->number) || !is_news(&s, mine->number, &c))
        return;
    if (o->shrink && !dt_in_family(&c) && kills(&s, &c))
        dt_shrink(&c, kills, &s);
    describe(&s, mine->number, o->devices[mine->device], &c, text);
}

static pid_t start(const dt_options *o, progress *mine, double until)
{
    fflush(stdout);
    const pid_t child = fork();

    if (child == 0)
        work(o, mine, until);
    mine->running = child > 0;
    return child;
}

static int summarize(const dt_options *o, const progress *all, double took)
{
    progress sum = {0};

    for (int w = 0; w < o->jobs; w++) {
        for (int k = 0; k < DT_KIND_COUNT; k++) {
            sum.cases[k] += all[w].cases[k];
            sum.elements[k] += all[w].elements[k];
            sum.open[k] += all[w].open[k];
        }
        sum.runs += all[w].runs;
        sum.skipped += all[w].skipped;
        sum.failures += all[w].failures;
    }
    printf("seed %llu:", (unsigned long long)o->seed);
    for (int k = 0; k < DT_KIND_COUNT; k++)
        if (sum.cases[k] > 0)
            printf(" %llu %s (%.0f %% of %.3g elements open),", (unsigned long long)sum.cases[k],
                   dt_kind_names[k], 100 * (double)sum.open[k] / ((double)sum.elements[k] + 1e-9),
                   (double)sum.elements[k]);
    printf(" %llu runs, %llu not drawn, %llu failed (%.0f s)\n", (unsigned long long)sum.runs,
           (unsigned long long)sum.skipped, (unsigned long long)sum.failures, took);
    return sum.runs == 0 ? 1 : (int)sum.failures;
}

int dt_run_random(const dt_options *o)
{
    const double begun = now(), until = o->seconds > 0 ? begun + o->seconds : 0;
    pid_t pid[JOBS_MAX];
    bool no_device = false;
    progress *all = mmap(NULL, JOBS_MAX * sizeof *all, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return 1;
    for (int w = 0; w < o->jobs; w++) {
        all[w].group = o->first / DT_GROUP + (uint64_t)w;
        pid[w] = start(o, &all[w], until);
    }
    for (;;) {
        int status = 0, w = 0;
        const pid_t ended = wait(&status);
        if (ended < 0)
            break;
        while (w < o->jobs && pid[w] != ended)
            w++;
        if (w == o->jobs)
            continue;
        no_device = no_device || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_DEVICE);
        if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_FAULT)
            continue;
        report_death(o, &all[w], status);
        all[w].number++;
        if (until == 0 || now() < until)
            pid[w] = start(o, &all[w], until);
    }
    const int failures = summarize(o, all, now() - begun);
    munmap(all, JOBS_MAX * sizeof *all);
    return no_device ? 1 : failures;
}

/* ---- cases of files -------------------------------------------------------------------------- */

/* Each case in a process of its own, for it may be one that kills. */
static bool replay(session *s, const dt_case *c)
{
    int status = 0;

    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (!open_devices(s))
            _exit(EXIT_NO_DEVICE);
        run_case(s, UINT64_MAX, c, 0);
        close_devices(s);
        fflush(stdout);
        _exit(s->mine->failures > 0 ? EXIT_FAILS : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status)) {
        char text[96];
        snprintf(text, sizeof text, "the process was ended by signal %d", WTERMSIG(status));
        describe(s, UINT64_MAX, s->options->devices[0], c, text);
    } else if (WEXITSTATUS(status) == EXIT_FAULT) {
        describe(s, UINT64_MAX, "cuda", c, "the GPU reported a fault");
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int dt_run_file(const dt_options *o, const char *path)
{
    progress mine = {0};
    session s = {.options = o, .mine = &mine};
    char why[256];
    int cases = 0, failed = 0;
    dt_case c;
    FILE *in = fopen(path, "r");

    if (in == NULL) {
        perror(path);
        return -1;
    }
    while (dt_read_case(in, &c, why, sizeof why)) {
        cases++;
        if (o->verbose)
            dt_print_case(&c, stdout);
        if (!replay(&s, &c))
            failed++;
    }
    fclose(in);
    if (why[0] != '\0' || cases == 0) {
        fprintf(stderr, "%s: case %d: %s\n", path, cases + 1, why[0] != '\0' ? why : "no case");
        return -1;
    }
    printf("%s: %d cases, %d failed\n", path, cases, failed);
    return failed;
}
