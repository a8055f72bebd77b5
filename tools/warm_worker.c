/*
 * warm_worker.c - one worker of `kiln warm`: takes kernels one by one and compiles them.
 *
 *     request: "TARGET\nLINE" > [line > definition, variant > source > cache] > reply
 *
 * A worker that dies takes one kernel with it and nothing else. One that has grown (compilers keep
 * memory) says so in its reply and ends; the pool starts another.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "warm.h"

/* Where a worker ends, well below the 300 MB that it may take. */
#define RETIRE_BYTES ((uint64_t)230 << 20)

/* One request at work. */
typedef struct job {
    kiln__cache *cache, *staging;
    kiln__target target;
    kiln__warmed warmed;
    bool skipped;
    bool retries; /* compile what was refused before */
} job;

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL)
        return 0;
    if (fscanf(f, "%llu %llu", &pages, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static kiln_status compile_one(void *user, const kiln__definition *def,
                               const kiln__variant *variant, kiln_error *err)
{
    job *j = user;
    kiln__source source = KILN__SOURCE_INIT;
    kiln_status status = KILN_OK;
    char why[64];

    if (!kiln__warm_fits(def, variant, &j->target, why)) {
        j->skipped = true;
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "kernel \"%s\" %s", def->name, why);
    }
    KILN_TRY(kiln__emit(def, variant, &source, err));
    if (!j->retries && !kiln__jit_is_warm(j->cache, def, &source, &j->target, &j->warmed))
        KILN_TRY(kiln__jit_recall(j->cache, def, &source, &j->target, err));
    status = kiln__jit_warm(j->cache, def, &source, &j->target, &j->warmed, err);
    if (status == KILN_ERR_COMPILE || (j->retries && status == KILN_OK && j->warmed.compiled))
        kiln__jit_remember(j->cache, def, &source, &j->target, err);
    KILN_TRY(status);
    if (j->staging != NULL && !kiln__jit_copy(j->cache, j->staging, def, &source, &j->target))
        status = kiln__fail(err, KILN_ERR_CACHE, "kernel \"%s\" is gone from the cache folder %s",
                            def->name, kiln__cache_dir(j->cache));

done:
    kiln__source_clear(&source);
    return status;
}

/* "sm_90\n{...}". */
static kiln_status serve(job *j, char *request, kiln_error *err)
{
    char *line = strchr(request, '\n');
    kiln__manifest *manifest = kiln__manifest_of_families();
    kiln_status status = KILN_OK;

    if (line == NULL || manifest == NULL) {
        status = kiln__fail(err, KILN_ERR_NO_MEMORY, "the request could not be read");
        goto done;
    }
    *line++ = '\0';
    snprintf(j->target.name, sizeof j->target.name, "%s", request);
    j->target.backend = strncmp(request, "sm_", 3) == 0 ? KILN_BACKEND_CUDA : KILN_BACKEND_CPU;
    KILN_TRY(kiln__manifest_read(manifest, "request", line, strlen(line), NULL, NULL, err));
    for (size_t k = 0; k < kiln__manifest_count(manifest) && status == KILN_OK; k++)
        status = kiln__warm_expand(kiln__manifest_at(manifest, k), j->target.backend, compile_one,
                                   j, err);

done:
    kiln__manifest_destroy(manifest);
    return status;
}

/* The message without the place that the request has: the pool knows the true one. */
static const char *own_message(const kiln_error *err)
{
    const char *behind = strncmp(err->message, "request:", 8) == 0 ? strchr(err->message, ' ') : NULL;
    return behind != NULL ? behind + 1 : err->message;
}

static bool answer(const job *j, kiln_status status, const kiln_error *err, bool *retires)
{
    struct warm_reply reply;
    kiln__buf text = KILN__BUF_INIT;
    const char *message = own_message(err);

    memset(&reply, 0, sizeof reply);
    reply.status = (int)status;
    reply.end = j->skipped              ? WARM_SKIPPED
                : status != KILN_OK     ? WARM_FAILED
                : j->warmed.compiled    ? WARM_COMPILED
                                        : WARM_CACHED;
    reply.bytes = j->warmed.bytes;
    reply.compile_us = j->warmed.compile_us;
    *retires = resident_bytes() > RETIRE_BYTES;
    reply.retires = *retires;
    kiln__buf_put(&text, message, strlen(message) + 1);
    if (err->detail != NULL)
        kiln__buf_put(&text, err->detail, strnlen(err->detail, WARM_DETAIL_MAX));
    kiln__buf_put(&text, "", 1);
    const bool sent = !text.failed && warm_write_frame(STDOUT_FILENO, &reply, sizeof reply,
                                                       text.text, text.length);
    kiln__buf_clear(&text);
    return sent;
}

static kiln__cache *open_cache(const char *dir, uint64_t limit)
{
    const kiln__cache_options opts = {.dir = dir, .limit_bytes = limit};
    return kiln__cache_open_with(&opts);
}

int command_warm_worker(int argc, char **argv)
{
    job first = {0};
    kiln_error err = KILN_ERROR_INIT;
    char *request = NULL;
    size_t bytes = 0;
    bool going = true, retires = false;

    if (argc < 3)
        return TOOL_USAGE;
    first.retries = argv[2][0] != '\0';
    first.cache = open_cache(argv[0][0] != '\0' ? argv[0] : NULL, 0);
    if (argv[1][0] != '\0')
        first.staging = open_cache(argv[1], UINT64_MAX);
    while (going && first.cache != NULL && !retires &&
           warm_read_frame(STDIN_FILENO, &request, &bytes)) {
        job j = first;
        kiln_status status = serve(&j, request, &err);
        going = answer(&j, status, &err, &retires);
        kiln_error_clear(&err);
        free(request);
    }
    kiln__cache_close(first.staging);
    kiln__cache_close(first.cache);
    return TOOL_DONE;
}
