/*
 * target.c - what this machine is: instruction set, cores, memory.
 *
 * Rule 1: a target is a name and a list of flags. On x86-64 the names are the levels of the
 *         psABI; a level is claimed only if every one of its features is there.
 * Rule 2: the flags spell each feature out instead of saying -march=x86-64-v3: compilers older
 *         than GCC 11 and Clang 12 do not know the levels' names, and the features are the same.
 * Rule 3: never "native": a kernel compiled for a target must run on every machine of that target,
 *         for the target is part of its cache key and bundles travel.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

/* ---- targets ---- */

#if defined(__x86_64__)
#define FLAGS_V2 "-msse3", "-mssse3", "-msse4.1", "-msse4.2", "-mpopcnt", "-mcx16", "-msahf"
#define FLAGS_V3                                                                                   \
    FLAGS_V2, "-mavx", "-mavx2", "-mbmi", "-mbmi2", "-mf16c", "-mfma", "-mlzcnt", "-mmovbe"
#define FLAGS_V4 FLAGS_V3, "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"
static const char *const flags_v1[] = {"-march=x86-64", NULL};
static const char *const flags_v2[] = {"-march=x86-64", FLAGS_V2, NULL};
static const char *const flags_v3[] = {"-march=x86-64", FLAGS_V3, NULL};
static const char *const flags_v4[] = {"-march=x86-64", FLAGS_V4, NULL};
#elif defined(__aarch64__)
static const char *const flags_armv8[] = {"-march=armv8-a", NULL};
#else
static const char *const flags_generic[] = {NULL};
#endif

static const struct {
    const char *name;
    const char *const *flags;
} targets[] = {
#if defined(__x86_64__)
    {"x86-64", flags_v1},
    {"x86-64-v2", flags_v2},
    {"x86-64-v3", flags_v3},
    {"x86-64-v4", flags_v4},
#elif defined(__aarch64__)
    {"armv8-a", flags_armv8},
#else
    {"generic", flags_generic},
#endif
};

const char *kiln__cpu_target_name(size_t nth)
{
    return nth < KILN_COUNT_OF(targets) ? targets[nth].name : NULL;
}

const char *const *kiln__cpu_target_flags(const char *target)
{
    for (size_t k = 0; k < KILN_COUNT_OF(targets); k++)
        if (strcmp(targets[k].name, target) == 0)
            return targets[k].flags;
    return NULL;
}

#if defined(__x86_64__)
#include <cpuid.h>

/* What __builtin_cpu_supports() of older compilers has no names for. */
static bool has_cx16_movbe_f16c_lzcnt(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_CMPXCHG16B) == 0 || (c & bit_MOVBE) == 0 ||
        (c & bit_F16C) == 0)
        return false;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & bit_LZCNT) != 0;
}
#endif

static size_t find_level(void)
{
    size_t level = 0;

#if defined(__x86_64__)
    /* The builtin also asks the operating system whether it saves the wide registers. */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") &&
        __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
        __builtin_cpu_supports("popcnt"))
        level = 1;
    if (level == 1 && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma") && has_cx16_movbe_f16c_lzcnt())
        level = 2;
    if (level == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        level = 3;
#endif
    return level;
}

/* Found once: products of small matrices ask each time, and virtual machines take microseconds to
 * tell. */
const char *kiln__cpu_target(void)
{
    const size_t most = (size_t)kiln__tuned("KILN_TUNE_CPU_LEVEL", (int)KILN_COUNT_OF(targets));
    static atomic_size_t known; /* the level and 1 */
    size_t level = atomic_load_explicit(&known, memory_order_relaxed);

    if (level == 0) {
        level = find_level() + 1;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return targets[(level < most ? level : most) - 1].name;
}

/* ---- files that tell one thing ---- */

/* Where a container sees its own limits (cgroup version 2). */
#define CGROUP "/sys/fs/cgroup/"
#define TEXT_BYTES_MAX ((size_t)4 << 20)

/* The text behind "key" and blanks or a colon in a file of such lines; false when absent. */
static bool line_value(const char *path, const char *key, char *value, size_t bytes)
{
    char *text = NULL;
    size_t length = 0;
    bool found = false;

    if (kiln__read_file(path, TEXT_BYTES_MAX, &text, &length) != 0)
        return false;
    for (char *line = text; line != NULL && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, strlen(key)) == 0) {
            line += strlen(key);
            line += strspn(line, " \t:");
            size_t width = strcspn(line, "\n");
            snprintf(value, bytes, "%.*s", (int)width, line);
            found = true;
        }
    }
    kiln__free(text);
    return found;
}

/* A file that holds one number ("max" and anything else give false). */
static bool file_number(const char *path, unsigned long long *value_out)
{
    char *text = NULL, *end = NULL;
    size_t length = 0;

    if (kiln__read_file(path, TEXT_BYTES_MAX, &text, &length) != 0)
        return false;
    *value_out = strtoull(text, &end, 10);
    bool known = end != text;
    kiln__free(text);
    return known;
}

void kiln__cpu_name(char *name, size_t bytes)
{
    if (line_value("/proc/cpuinfo", "model name", name, bytes))
        return;
    snprintf(name, bytes, "CPU (%s)", targets[0].name);
}

/* ---- cores ---- */

/* Cores that a container's quota allows, rounded up; INT32_MAX without a quota. With more threads
 * the whole team is stopped for the rest of a period once the quota is used up. */
static int quota_cores(void)
{
    char *text = NULL;
    size_t length = 0;
    long long quota = 0, period = 0;
    int cores = INT32_MAX;

    if (kiln__read_file(CGROUP "cpu.max", TEXT_BYTES_MAX, &text, &length) != 0)
        return cores;
    if (sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0 &&
        quota / period < INT32_MAX - 1)
        cores = (int)((quota + period - 1) / period);
    kiln__free(text);
    return cores;
}

int kiln__cpu_core_count(void)
{
    cpu_set_t *set = NULL;
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    int cores = 0, quota = quota_cores();

    /* The fixed cpu_set_t holds 1024 processors and the call fails when there are more. */
    for (int most = configured > 1024 ? (int)configured : 1024; cores == 0 && most <= 1 << 20;
         most *= 4) {
        set = kiln__alloc(CPU_ALLOC_SIZE((size_t)most));
        if (set == NULL)
            break;
        if (sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)most), set) == 0)
            cores = CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)most), set);
        kiln__free(set);
    }
    if (cores < 1) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        cores = online > 0 && online < INT32_MAX ? (int)online : 1;
    }
    return cores < quota ? cores : quota;
}

/* ---- memory ---- */

/* Memory that a container may still allocate: its limit less its use, of which file pages can be
 * dropped. */
static size_t container_free(unsigned long long limit)
{
    unsigned long long used = 0, files = 0;
    char value[64];

    if (!file_number(CGROUP "memory.current", &used))
        return (size_t)limit;
    if (line_value(CGROUP "memory.stat", "inactive_file", value, sizeof value))
        files += strtoull(value, NULL, 10);
    if (line_value(CGROUP "memory.stat", "active_file", value, sizeof value))
        files += strtoull(value, NULL, 10);
    used = used > files ? used - files : 0;
    return used < limit ? (size_t)(limit - used) : 0;
}

void kiln__cpu_memory(size_t *free_out, size_t *total_out)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    unsigned long long limit = 0;
    char value[64];

    *free_out = 0;
    *total_out = pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
    if (line_value("/proc/meminfo", "MemAvailable", value, sizeof value))
        *free_out = (size_t)strtoull(value, NULL, 10) << 10;
    if (file_number(CGROUP "memory.max", &limit) && limit < *total_out) {
        size_t left = container_free(limit);
        *total_out = (size_t)limit;
        if (left < *free_out)
            *free_out = left;
    }
    if (*free_out > *total_out)
        *free_out = *total_out;
}
