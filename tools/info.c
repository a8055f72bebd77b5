/*
 * info.c - `kiln info`: what this machine offers, for people and (--json) for programs.
 */
#include "tool.h"

#include <stdlib.h>

/* `text` as a JSON string. */
static void json_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void json_member(const char *name, const char *text)
{
    printf("\"%s\": ", name);
    json_string(text);
}

static void print_json_libraries(const kiln_linalg_info *libraries, size_t count)
{
    printf("],\n  \"linalg\": [");
    for (size_t k = 0; k < count; k++) {
        printf("%s\n    {", k == 0 ? "" : ",");
        json_member("role", libraries[k].role);
        printf(", ");
        json_member("backend", libraries[k].backend == KILN_BACKEND_CUDA ? "cuda" : "cpu");
        printf(", ");
        json_member("library", libraries[k].library);
        printf(", ");
        json_member("reason", libraries[k].reason);
        putchar('}');
    }
    printf("\n  ]\n}\n");
}

static void print_json(const kiln_device_info *infos, size_t count, const char *cache_dir,
                       const char *cache_note)
{
    printf("{\n  ");
    json_member("version", kiln_version());
    printf(",\n  ");
    json_member("cache_dir", cache_dir);
    printf(",\n  ");
    json_member("cache_note", cache_note);
    printf(",\n  \"devices\": [");
    for (size_t k = 0; k < count; k++) {
        const kiln_device_info *d = &infos[k];
        printf("%s\n    {", k == 0 ? "" : ",");
        json_member("id", d->id);
        printf(", ");
        json_member("backend", d->backend == KILN_BACKEND_CUDA ? "cuda" : "cpu");
        printf(", \"usable\": %s,\n     ", d->usable ? "true" : "false");
        json_member("reason", d->reason);
        printf(",\n     ");
        json_member("name", d->name);
        printf(", ");
        json_member("target", d->target);
        printf(",\n     \"memory_bytes\": %zu, \"unit_count\": %d,\n     ", d->memory_bytes,
               d->unit_count);
        json_member("compiler", d->compiler);
        printf(", ");
        json_member("driver", d->driver);
        putchar('}');
    }
    if (count > 0)
        printf("\n  ");
}

/* One line for a device; setup shows the cuda ones. */
static void print_device(const kiln_device_info *d)
{
    bool cuda = d->backend == KILN_BACKEND_CUDA;
    printf("  %-8s", d->id);
    if (d->name[0] != '\0')
        printf(" %s,", d->name);
    if (d->target[0] != '\0')
        printf(" %s,", d->target);
    if (d->unit_count > 0)
        printf(" %d %s,", d->unit_count, cuda ? "multiprocessors" : "cores");
    if (d->memory_bytes > 0)
        printf(" %.1f GiB,", (double)d->memory_bytes / 1073741824.0);
    if (d->driver[0] != '\0')
        printf(" driver %s,", d->driver);
    printf(" compiler %s", d->compiler[0] != '\0' ? d->compiler : "not found");
    if (!d->usable)
        printf("; cannot be used: %s", d->reason);
    putchar('\n');
}

static void print_text(const kiln_device_info *infos, size_t count, const char *cache_dir,
                       const char *cache_note)
{
    printf("kiln %s\n\ndevices, best first\n", kiln_version());
    for (size_t k = 0; k < count; k++)
        print_device(&infos[k]);
    printf("\ncache\n  %s\n", cache_dir[0] != '\0' ? cache_dir : "none: kernels stay in memory");
    if (cache_note[0] != '\0')
        printf("  %s\n", cache_note);
}

static void print_libraries(const kiln_linalg_info *libraries, size_t count)
{
    printf("\nlinear algebra\n");
    for (size_t k = 0; k < count; k++) {
        const kiln_linalg_info *l = &libraries[k];
        printf("  %-8s %s%s%s\n", l->role, l->found ? l->library : "not found",
               l->reason[0] != '\0' ? ": " : "", l->reason);
    }
}

/* Keeps the last warning of a context: why its cache folder is refused. */
static void keep_note(void *user, const char *line)
{
    char *note = user;
    snprintf(note, 512, "%s", line);
}

int command_info(const struct invocation *v)
{
    int result = TOOL_FAILED;
    kiln_error err = KILN_ERROR_INIT;
    kiln_device_info *infos = NULL;
    kiln_context *ctx = NULL;
    kiln_linalg_info libraries[8];
    size_t count = 0, library_count = 0;
    char note[512] = "";

    if (v->args.count > 0)
        return usage_error(v->command, "\"%s\" is one word too many", v->args.items[0]);

    if (kiln_device_list(NULL, 0, &count, &err) != KILN_OK)
        goto done;
    infos = calloc(count + 1, sizeof *infos);
    if (infos == NULL) {
        kiln__fail_memory(&err, (count + 1) * sizeof *infos);
        goto done;
    }
    size_t capacity = count;
    if (kiln_device_list(infos, capacity, &count, &err) != KILN_OK)
        goto done;
    count = count < capacity ? count : capacity; /* A device may have come in between. */

    /* The cache folder does not depend on the device; the cpu one costs least to open. */
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;
    opts.device = "cpu";
    opts.log = keep_note;
    opts.log_user = note;
    if (kiln_context_create(&opts, &ctx, &err) != KILN_OK)
        goto done;

    if (kiln_linalg_list(libraries, KILN_COUNT_OF(libraries), &library_count, &err) != KILN_OK)
        goto done;
    if (invocation_get(v, OPTION_JSON) != NULL) {
        print_json(infos, count, kiln_context_cache_dir(ctx), note);
        print_json_libraries(libraries, library_count);
    } else {
        print_text(infos, count, kiln_context_cache_dir(ctx), note);
        print_libraries(libraries, library_count);
    }
    result = TOOL_DONE;

done:
    if (result != TOOL_DONE)
        tool_error(&err);
    kiln_context_release(ctx);
    free(infos);
    kiln_error_clear(&err);
    return result;
}
