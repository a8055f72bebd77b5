/*
 * warm.c - `kiln warm`: compile what manifests name, for GPUs that this machine need not have.
 *
 *     manifests > [entries > kernels for each target > items] > worker processes > cache, bundle
 *
 * All lines are checked before anything is compiled: a cache that lacks the kernel of a misspelt
 * line would look warm and not be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "warm.h"

/* More than any list of kernels; a larger file is something else. */
#define MANIFEST_BYTES_MAX ((size_t)1 << 30)
enum { JOBS_MAX = 1024 };

/* ---- manifests --------------------------------------------------------------------------------- */

static void say_bad(void *user, const kiln_error *err)
{
    size_t *bad = user;
    ++*bad;
    tool_error(err);
}

static char *read_stdin(size_t *bytes_out)
{
    kiln__buf text = {.max_bytes = MANIFEST_BYTES_MAX};
    char chunk[1 << 16];
    size_t got;

    while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        kiln__buf_put(&text, chunk, got);
    if (text.failed || ferror(stdin)) {
        kiln__buf_clear(&text);
        return NULL;
    }
    *bytes_out = text.length;
    return kiln__buf_take(&text);
}

/* TOOL_DONE, or TOOL_FAILED after saying why. */
static int read_manifest(kiln__manifest *manifest, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    char *text = NULL;
    size_t bytes = 0, bad = 0;
    kiln_error err = KILN_ERROR_INIT;

    if (standard)
        text = read_stdin(&bytes);
    else
        errno = kiln__read_file(path, MANIFEST_BYTES_MAX, &text, &bytes);
    if (text == NULL) {
        fprintf(stderr, "kiln: %s: %s\n", standard ? "standard input" : path,
                standard ? "cannot be read" : strerror(errno));
        return TOOL_FAILED;
    }
    kiln_status status = kiln__manifest_read(manifest, standard ? "-" : path, text, bytes, say_bad,
                                             &bad, &err);
    if (status != KILN_OK && bad == 0)
        tool_error(&err);
    kiln_error_clear(&err);
    kiln__free(text);
    return status == KILN_OK ? TOOL_DONE : TOOL_FAILED;
}

/* ---- targets ----------------------------------------------------------------------------------- */

static int add_target(struct warm *w, const char *name)
{
    const kiln_backend backend =
        strncmp(name, "sm_", 3) == 0 ? KILN_BACKEND_CUDA : KILN_BACKEND_CPU;
    kiln_error err = KILN_ERROR_INIT;
    const char *id = NULL;
    int result = target_check(COMMAND_WARM, name);

    for (size_t t = 0; t < w->target_count; t++)
        if (strcmp(w->targets[t].name, name) == 0)
            return TOOL_DONE;
    if (result == TOOL_DONE && w->target_count == WARM_TARGETS_MAX)
        result = usage_error(COMMAND_WARM, "more than %d targets", WARM_TARGETS_MAX);
    if (result == TOOL_DONE && kiln__compiler_identity(backend, &id, &err) != KILN_OK)
        result = tool_error(&err);
    if (result == TOOL_DONE) {
        kiln__target *target = &w->targets[w->target_count++];
        target->backend = backend;
        snprintf(target->name, sizeof target->name, "%s", name);
    }
    kiln_error_clear(&err);
    return result;
}

/* "sm_80,sm_90". */
static int add_targets(struct warm *w, const char *list)
{
    struct targets targets;
    int result = targets_parse(COMMAND_WARM, list, &targets);

    for (size_t k = 0; k < targets.count && result == TOOL_DONE; k++)
        result = add_target(w, targets.names[k]);
    targets_clear(&targets);
    return result;
}

/* ---- items ------------------------------------------------------------------------------------- */

/* Kernels by target and line, each once whatever the number of lines that name it. */
typedef struct listing {
    struct warm *w;
    const kiln__manifest_entry *entry;
    kiln_backend backend;
    size_t only;  /* the target that kernels are for; WARM_TARGETS_MAX: all of the backend */
    kiln__map lines[WARM_TARGETS_MAX]; /* those of each target that are listed */
} listing;

static kiln_status add_item(listing *l, size_t target, const char *line, kiln_error *err)
{
    struct warm *w = l->w;
    bool is_new = false;

    if (kiln__map_enter(&l->lines[target], line, strlen(line), &is_new) == NULL ||
        !kiln__reserve(&w->items, w->item_count, &w->item_room, sizeof *w->items))
        return kiln__fail_memory(err, strlen(line));
    if (!is_new)
        return KILN_OK;
    struct warm_item *item = &w->items[w->item_count];
    *item = (struct warm_item){.entry = l->entry, .target = target, .line = kiln__strdup(line)};
    if (item->line == NULL)
        return kiln__fail_memory(err, strlen(line));
    w->item_count++;
    return KILN_OK;
}

static kiln_status take_kernel(void *user, const kiln__definition *def,
                               const kiln__variant *variant, kiln_error *err)
{
    listing *l = user;
    kiln__buf line = KILN__BUF_INIT;
    kiln_status status = KILN_OK;

    /* What was read from JSON is UTF-8. A module of a user's has no variants: its line tells
     * all. */
    (void)(def->module && def->template_file == NULL ? kiln__manifest_write(l->entry, &line)
                                                     : kiln__manifest_line(def, variant, &line));
    if (line.failed)
        status = kiln__fail_memory(err, line.capacity);
    for (size_t t = 0; t < l->w->target_count && status == KILN_OK; t++)
        if (l->w->targets[t].backend == l->backend && (l->only == WARM_TARGETS_MAX || l->only == t))
            status = add_item(l, t, line.text, err);
    kiln__buf_clear(&line);
    return status;
}

/* One entry's end for each target that kernels are for now, before any kernel of it is compiled. */
static void note_entry(const listing *l, enum warm_end end, const kiln_error *err)
{
    for (size_t t = 0; t < l->w->target_count; t++)
        if (l->w->targets[t].backend == l->backend && (l->only == WARM_TARGETS_MAX || l->only == t))
            warm_note(l->w, l->entry, t, end, 0, 0, err);
}

/* The kernels of an entry, for each target of the backend. */
static void list_entry(listing *l, kiln_error *err)
{
    kiln_status status = KILN_OK;

    l->only = WARM_TARGETS_MAX;
    if (kiln__warm_expand(l->entry, l->backend, take_kernel, l, err) != KILN_OK) {
        note_entry(l, WARM_FAILED, err);
        kiln_error_clear(err);
        return;
    }
    for (l->only = 0; l->only < l->w->target_count; l->only++) {
        if (l->w->targets[l->only].backend != l->backend)
            continue;
        status = kiln__warm_expand_runs(l->entry, &l->w->targets[l->only], take_kernel, l, err);
        if (status != KILN_OK)
            note_entry(l, WARM_FAILED, err);
        kiln_error_clear(err);
    }
}

/* All kernels of all entries. What is wrong with an entry is counted for each target. */
static void list_items(struct warm *w, const kiln__manifest *manifest)
{
    static const kiln_backend backends[] = {KILN_BACKEND_CUDA, KILN_BACKEND_CPU};
    listing l = {.w = w};
    kiln_error err = KILN_ERROR_INIT;

    w->listing = true;
    for (size_t b = 0; b < KILN_COUNT_OF(backends); b++) {
        bool wanted = false;
        l.backend = backends[b];
        for (size_t t = 0; t < w->target_count; t++)
            wanted |= w->targets[t].backend == l.backend;
        for (size_t k = 0; wanted && k < kiln__manifest_count(manifest); k++) {
            l.entry = kiln__manifest_at(manifest, k);
            list_entry(&l, &err);
        }
    }
    w->listing = false;
    w->done_count = 0; /* those were no items */
    for (size_t t = 0; t < w->target_count; t++)
        kiln__map_clear(&l.lines[t], NULL);
}

/* The lines of all kernels, each once whatever the number of targets. */
static int print_items(const struct warm *w)
{
    kiln__map printed = {NULL, 0, 0};
    bool is_new = false, failed = false;

    for (size_t k = 0; k < w->item_count && !failed; k++) {
        const char *line = w->items[k].line;
        failed = kiln__map_enter(&printed, line, strlen(line), &is_new) == NULL ||
                 (is_new && puts(line) < 0);
    }
    kiln__map_clear(&printed, NULL);
    return failed || fflush(stdout) != 0 || w->failed_count > 0 ? TOOL_FAILED : TOOL_DONE;
}

/* ---- the bundle -------------------------------------------------------------------------------- */

/* A folder beside the bundle, where workers put copies of what goes into it. */
static int make_staging(const char *bundle, char *path, size_t bytes)
{
    const int length = snprintf(path, bytes, "%s.XXXXXX", bundle);

    if (length < 0 || (size_t)length >= bytes)
        errno = ENAMETOOLONG;
    else if (mkdtemp(path) != NULL)
        return TOOL_DONE;
    fprintf(stderr, "kiln: bundle %s: %s\n", bundle, strerror(errno));
    path[0] = '\0';
    return TOOL_FAILED;
}

static int write_bundle(const char *bundle, const char *staging)
{
    kiln_cache *cache = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln_cache_open(staging, &cache, &err);

    if (status == KILN_OK)
        status = kiln_cache_export(cache, bundle, NULL, 0, NULL, &err);
    if (status != KILN_OK)
        tool_error(&err);
    kiln_error_clear(&err);
    kiln_cache_close(cache);
    return status == KILN_OK ? TOOL_DONE : TOOL_FAILED;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

static void remove_staging(const char *staging)
{
    if (staging[0] != '\0')
        (void)nftw(staging, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the command ------------------------------------------------------------------------------- */

static int read_options(const struct invocation *v, struct warm *w)
{
    const char *arch = invocation_get(v, OPTION_ARCH), *jobs = invocation_get(v, OPTION_JOBS);
    const char *dir = invocation_get(v, OPTION_CACHE);
    int64_t count = kiln__cpu_core_count();
    int result = TOOL_DONE;

    if (v->args.count == 0)
        return usage_error(v->command, "a MANIFEST is missing (\"-\" for standard input)");
    if (jobs != NULL && !count_parse(jobs, false, JOBS_MAX, &count))
        return usage_error(v->command, "--jobs takes a number from 1 to %d, not \"%s\"", JOBS_MAX,
                           jobs);
    if (arch == NULL && invocation_get(v, OPTION_CPU) == NULL)
        return usage_error(v->command, "no target is given: give --arch, --cpu or both");
    if (dir != NULL && dir[0] == '\0')
        return usage_error(v->command, "--cache needs the name of a folder");
    if (arch != NULL)
        result = add_targets(w, arch);
    if (result == TOOL_DONE && invocation_get(v, OPTION_CPU) != NULL)
        result = add_target(w, kiln__cpu_target());
    w->jobs = (int)count;
    w->cache_dir = dir != NULL ? dir : "";
    w->json = invocation_get(v, OPTION_JSON) != NULL;
    w->retries = invocation_get(v, OPTION_RETRY) != NULL;
    w->dry_run = invocation_get(v, OPTION_DRY_RUN) != NULL;
    w->bar = isatty(STDERR_FILENO) == 1;
    return result;
}

/* The cache folder must take kernels, or all work is for nothing. */
static int check_cache(const struct warm *w)
{
    kiln_cache *cache = NULL;
    kiln_error err = KILN_ERROR_INIT;
    const kiln_status status =
        kiln_cache_open(w->cache_dir[0] != '\0' ? w->cache_dir : NULL, &cache, &err);

    if (status != KILN_OK)
        tool_error(&err);
    kiln_error_clear(&err);
    kiln_cache_close(cache);
    return status == KILN_OK ? TOOL_DONE : TOOL_FAILED;
}

static int warm_all(struct warm *w, const kiln__manifest *manifest, const char *bundle)
{
    int result;

    w->start_us = w->shown_us = kiln__now_us();
    list_items(w, manifest);
    if (w->dry_run)
        return print_items(w);
    result = warm_run(w);
    w->wall_s = (kiln__now_us() - w->start_us) / 1e6;
    if (result == TOOL_DONE && bundle != NULL)
        result = write_bundle(bundle, w->staging);
    if (result == TOOL_DONE)
        warm_print_summary(w, bundle);
    return result == TOOL_DONE && w->failed_count > 0 ? TOOL_FAILED : result;
}

int command_warm(const struct invocation *v)
{
    struct warm w = {.cache_dir = "", .staging = ""};
    const char *bundle = invocation_get(v, OPTION_BUNDLE);
    kiln__manifest *manifest = kiln__manifest_of_families();
    char staging[4096] = "";
    int result = read_options(v, &w);

    /* A kernel that some bundle has must get into the folder all the same. */
    unsetenv("KILN_BUNDLES");
    if (manifest == NULL)
        result = TOOL_FAILED;
    for (size_t k = 0; k < v->args.count && (result == TOOL_DONE || k > 0); k++) {
        const int one = read_manifest(manifest, v->args.items[k]);
        result = result == TOOL_DONE ? one : result;
    }
    if (result == TOOL_DONE && kiln__manifest_count(manifest) == 0) {
        fprintf(stderr, "kiln: %s: no line names a kernel, so there is nothing to compile\n",
                v->args.count > 1                         ? "the manifests"
                : strcmp(v->args.items[0], "-") == 0 ? "standard input"
                                                     : v->args.items[0]);
        result = TOOL_FAILED;
    }
    if (result == TOOL_DONE && !w.dry_run)
        result = check_cache(&w);
    if (result == TOOL_DONE && bundle != NULL && !w.dry_run)
        result = make_staging(bundle, staging, sizeof staging);
    w.staging = staging;
    if (result == TOOL_DONE)
        result = warm_all(&w, manifest, bundle);
    remove_staging(staging);
    for (size_t k = 0; k < w.item_count; k++)
        kiln__free(w.items[k].line);
    kiln__free(w.items);
    kiln__map_clear(&w.said, NULL);
    kiln__buf_clear(&w.failures);
    kiln__buf_clear(&w.skipped);
    kiln__manifest_destroy(manifest);
    return result;
}
