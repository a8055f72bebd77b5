/*
 * targets.c - the words of --arch: lists of targets, and what was meant by one that there is not.
 */
#include "tool.h"

#include <ctype.h>

#include "device/device.h"

enum { TARGETS_LISTED_MAX = 64 };

/* ---- lists ---- */

int targets_parse(int command, const char *list, struct targets *out)
{
    char *rest = NULL;

    *out = (struct targets){.text = kiln__strdup(list)};
    if (out->text == NULL) {
        fputs("kiln: the host is out of memory\n", stderr);
        return TOOL_FAILED;
    }
    for (char *t = out->text; t != NULL; t = rest) {
        const size_t length = strcspn(t, ",");
        rest = t[length] == ',' ? t + length + 1 : NULL;
        t[length] = '\0';
        if (length == 0)
            return usage_error(command,
                               "--arch %s: a target is missing; targets are given as in "
                               "sm_80,sm_90",
                               list);
        if (out->count == TARGETS_MAX)
            return usage_error(command, "--arch takes %d targets at most", TARGETS_MAX);
        if (!targets_has(out, t) || out->count == 0)
            out->names[out->count++] = t;
    }
    return TOOL_DONE;
}

bool targets_has(const struct targets *targets, const char *name)
{
    for (size_t k = 0; k < targets->count; k++) {
        if (strcmp(targets->names[k], name) == 0)
            return true;
    }
    return targets->count == 0;
}

void targets_clear(struct targets *targets)
{
    kiln__free(targets->text);
    *targets = (struct targets){0};
}

/* ---- what there is ---- */

/* "sm80", "80", "8.0", "compute_80" and "SM-80" all mean sm_80, and "sm_90a" is nearest to sm_90.
 * False for a name without two or three digits. */
static bool as_gpu(const char *name, char *out, size_t bytes)
{
    char digits[5] = "";
    size_t count = 0;

    if (strncmp(name, "x86", 3) == 0)
        return false;
    for (const char *c = name; *c != '\0' && count < 4; c++) {
        if (isdigit((unsigned char)*c))
            digits[count++] = *c;
        else if (count > 0 && *c != '.' && c[1] != '\0')
            return false;
    }
    snprintf(out, bytes, "sm_%s", digits);
    return count == 2 || count == 3;
}

/* The compilers' targets of both kinds, each name once. */
static size_t list_known(kiln__target *targets)
{
    static const kiln_backend backends[] = {KILN_BACKEND_CUDA, KILN_BACKEND_CPU};
    size_t count = 0;

    for (size_t b = 0; b < KILN_COUNT_OF(backends); b++) {
        const size_t left = TARGETS_LISTED_MAX - count;
        const size_t more = kiln__compiler_targets(backends[b], targets + count, left);
        count += more < left ? more : left;
    }
    return count;
}

/* Whether there are GPUs among the first `count`. Without NVRTC there are none, and any sm_NN may
 * be right. */
static bool knows_gpus(const kiln__target *targets, size_t count)
{
    return count > 0 && targets[0].backend == KILN_BACKEND_CUDA;
}

int target_check(int command, const char *name)
{
    kiln__target known[TARGETS_LISTED_MAX];
    const size_t count = list_known(known);
    const bool gpus = knows_gpus(known, count);
    size_t distance = SIZE_MAX;
    const char *near = NULL;
    char gpu[16] = "";
    kiln__buf list = KILN__BUF_INIT;
    const bool is_gpu = as_gpu(name, gpu, sizeof gpu);

    if (is_gpu && !gpus && strcmp(gpu, name) == 0)
        return TOOL_DONE;
    for (size_t k = 0; k < count; k++) {
        if (strcmp(known[k].name, name) == 0) {
            kiln__buf_clear(&list);
            return TOOL_DONE;
        }
        kiln__buf_printf(&list, "%s %s", k > 0 ? "," : "", known[k].name);
        if (is_gpu && strcmp(known[k].name, gpu) == 0) {
            near = known[k].name;
            distance = 0;
        }
        word_consider(name, known[k].name, &distance, &near);
    }
    if (near == NULL && is_gpu && !gpus)
        near = gpu;
    usage_error(command, "there is no target \"%s\"%s%s%s\nThe compilers here know%s", name,
                near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                near != NULL ? "\"?" : "", list.text != NULL ? list.text : " none");
    kiln__buf_clear(&list);
    return TOOL_USAGE;
}
