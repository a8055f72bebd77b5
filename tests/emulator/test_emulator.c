/*
 * test_emulator.c - that the emulated GPU runs kernels, and notices what it says it notices.
 *
 * Every kernel runs in a process of its own, for a fault is for good. With one that is right stands
 * one that lacks what makes it right.
 */
#define _GNU_SOURCE
#include "device_env.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rewrite.h"

#ifndef KILN_TEMPLATES
#error "KILN_TEMPLATES is the folder of templates"
#endif

enum { WORDS = 1024 };

/* A kernel of 128 threads a block and two blocks, of one argument: int *p, of 1024 words. */
typedef struct probe {
    const char *name, *body;
    const char *says; /* on stderr; NULL: it is right, and p[0] is `result` */
    int result;
} probe;

static const probe probes[] = {
    {"indices",
     "p[1 + blockIdx.x * 128 + threadIdx.x] = 1; if (threadIdx.x == 0 && blockIdx.x == 1) "
     "p[0] = blockDim.x * gridDim.x;",
     NULL, 256},
    {"barrier",
     "__shared__ int s[128]; s[threadIdx.x] = threadIdx.x; __syncthreads(); "
     "int v = s[127 - threadIdx.x]; if (threadIdx.x == 0 && blockIdx.x == 0) p[0] = v;",
     NULL, 127},
    {"no_barrier",
     "__shared__ int s[128]; s[threadIdx.x] = threadIdx.x; "
     "int v = s[127 - threadIdx.x]; if (threadIdx.x == 0) p[0] = v;",
     "with no barrier between", 0},
    {"no_barrier_before_writing_again",
     "__shared__ int s[128]; s[threadIdx.x] = 1; __syncthreads(); int v = s[127 - threadIdx.x]; "
     "s[threadIdx.x] = v + 1; if (threadIdx.x == 0) p[0] = v;",
     "with no barrier between", 0},
    {"warp_barrier",
     "__shared__ int s[128]; s[threadIdx.x] = threadIdx.x; __syncwarp(); "
     "int v = s[threadIdx.x ^ 31]; if (threadIdx.x == 0 && blockIdx.x == 0) p[0] = v;",
     NULL, 31},
    {"warp_barrier_is_for_one_warp",
     "__shared__ int s[128]; s[threadIdx.x] = threadIdx.x; __syncwarp(); "
     "int v = s[threadIdx.x ^ 32]; if (threadIdx.x == 0) p[0] = v;",
     "with no barrier between", 0},
    {"flags_of_blocks_at_one_address",
     "__shared__ volatile int flag; __shared__ int s[32]; if (threadIdx.x == 0) flag = 0; "
     "__syncthreads(); for (int k = 1; k < 100; k++) { if (threadIdx.x == 0) { s[0] = k; "
     "__threadfence_block(); flag = k; } if (threadIdx.x == 64) { while (flag != k) { } "
     "__threadfence_block(); if (s[0] == k && blockIdx.x == 0) p[0] = k; } __syncthreads(); }",
     NULL, 99},
    {"shuffle",
     "int v = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 5); "
     "v += __shfl_up_sync(0xffffffffu, (int)threadIdx.x, 1); "
     "if (threadIdx.x == 34 && blockIdx.x == 0) p[0] = v;",
     NULL, 39 + 33},
    {"ballot",
     "unsigned v = __ballot_sync(0xffffffffu, threadIdx.x % 2); "
     "if (threadIdx.x == 40 && blockIdx.x == 0) p[0] = __popc(v) + (v & 2);",
     NULL, 18},
    {"told_by_shuffle",
     "__shared__ int s[1]; __shared__ volatile int flag[1]; if (threadIdx.x == 32) flag[0] = 0; "
     "__syncthreads(); if (threadIdx.x == 33) { s[0] = 9; __threadfence_block(); flag[0] = 1; } "
     "if (threadIdx.x < 32) { while (__shfl_sync(0xffffffffu, flag[0], 0) != 1) { } "
     "__threadfence_block(); int v = s[0]; if (threadIdx.x == 7 && blockIdx.x == 0) p[0] = v; }",
     NULL, 9},
    {"not_told",
     "__shared__ int s[1]; if (threadIdx.x == 33) s[0] = 9; "
     "if (threadIdx.x < 32) { __shfl_sync(0xffffffffu, 1, 0); __threadfence_block(); p[0] = s[0]; "
     "}",
     "with no barrier between", 0},
    {"divergence", "if (threadIdx.x % 2) __syncwarp(); else __shfl_sync(0xffffffffu, 1, 0);",
     "threads wait for each other", 0},
    {"shared_is_not_zero",
     "__shared__ int s[2]; if (threadIdx.x == 0 && blockIdx.x == 0) p[0] = s[1];", NULL,
     (int)0xabababab},
    {"atomics", "atomicAdd(p, 1); atomicMax(p + 1, (int)threadIdx.x);", NULL, 256 + 7},
    {"flags",
     "if (blockIdx.x == 1) { if (threadIdx.x == 0) { p[2] = 5; __threadfence(); "
     "atomicExch(p + 1, 1); } } else if (threadIdx.x == 0) { "
     "while (*(volatile int *)(p + 1) != 1) { } p[0] = p[2]; }",
     NULL, 5},
    {"for_ever", "if (threadIdx.x == 0) while (*(volatile int *)(p + 1) != 1) { }",
     "waits for something that does not come", 0},
    {"behind_the_end", "p[(1 << 22) + threadIdx.x] = 1;", "where it has no memory", 0},
    {"null", "*(int *)(p[1] - 7 + (long long)threadIdx.x * 4) = 1;", "where it has no memory", 0},
    {"alignment", "kiln_wide v = __ldcs((const kiln_wide *)(p + 1)); p[0] = v.x;", "no divisor", 0},
    {"twice", "p[threadIdx.x / 2] = threadIdx.x;", "with no barrier between", 0},
    {"trap", "if (threadIdx.x == 3) asm volatile(\"trap;\");", "trap", 0},
    {"division",
     "int n = p[2 + threadIdx.x]; long long m = n; unsigned char b = n; "
     "int v = threadIdx.x / n + (int)(threadIdx.x / m) + b % b + (-2147483647 - 1) / (n - 1); "
     "if (threadIdx.x == 0 && blockIdx.x == 0) p[0] = v != 77 ? 3 : 4;",
     NULL, 3},
    {"conversion",
     "unsigned short h; float f = 1.0f + threadIdx.x; "
     "asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f)); "
     "if (threadIdx.x == 1 && blockIdx.x == 0) p[0] = h;",
     NULL, 0x4000},
};

static void run_probe(const probe *p)
{
    kiln__device *device = must_open("cuda:0");
    kiln_stream *stream = kiln__device_stream(device);
    kiln__compile_request request = {.target = {.backend = KILN_BACKEND_CUDA}};
    kiln__compile_result result;
    kiln__module *module = NULL;
    kiln_error err = KILN_ERROR_INIT;
    char source[2048];
    int words[WORDS] = {7, 7};

    snprintf(source, sizeof source,
             "typedef uint4 kiln_wide;\nextern \"C\" __global__ void __launch_bounds__(128) "
             "probe(int *const p)\n{\n%s\n}\n",
             p->body);
    request.source = source;
    strcpy(request.target.name, "sm_90");
    if (kiln__compile(&request, &result, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, result.log != NULL ? result.log : "");
    assert_int_equal(kiln__module_load(device, result.binary, result.bytes, &module, &err),
                     KILN_OK);
    kiln__block *block = must_alloc(device, sizeof words, stream);
    assert_int_equal(
        kiln__copy_host_to_device(device, block->address, words, sizeof words, stream, NULL),
        KILN_OK);
    void *args = block->address;
    (void)launch(device, must_entry(module, "probe"), 2, 128, &args, sizeof args, stream, NULL);
    const kiln_status status =
        kiln__copy_device_to_host(device, words, block->address, sizeof words, stream, NULL);
    if (p->says == NULL && status == KILN_OK)
        fprintf(stderr, "result %d\n", words[0]);
}

/* What a process that runs the kernel says. */
static void listen(const probe *p, char *text, size_t bytes)
{
    int ends[2];
    size_t used = 0;
    ssize_t got;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        run_probe(p);
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void check_probes(void)
{
    int wrong = 0;

    for (size_t k = 0; k < KILN_COUNT_OF(probes); k++) {
        char text[4096], want[64];
        snprintf(want, sizeof want, "result %d\n", probes[k].result);
        listen(&probes[k], text, sizeof text);
        if (strstr(text, probes[k].says != NULL ? probes[k].says : want) == NULL) {
            print_error("%s: wanted \"%s\", got \"%s\"\n", probes[k].name,
                        probes[k].says != NULL ? probes[k].says : want, text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_emulator__finds_what_is_wrong(void **state)
{
    (void)state;
    unsetenv("KILN_EMULATOR_SEED");
    check_probes();
}

static void test_emulator__in_any_order_of_threads(void **state)
{
    char seed[32];

    (void)state;
    for (int k = 0; k < 2; k++) {
        snprintf(seed, sizeof seed, "%d", 1 + rand());
        setenv("KILN_EMULATOR_SEED", seed, 1);
        check_probes();
    }
}

/* ---- PTX ---- */

/* Count asm statements of a template, and complain of those that no host function stands for. */
static int look_at_ptx(const char *folder, const char *name, int *found)
{
    static char text[1 << 17];
    char path[4096];
    int without = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (const char *p = text; (p = strchr(p, '"')) != NULL; p += strcspn(p + 1, "\"\n") + 2) {
        const bool is_asm = p - text > 14 && (strncmp(p - 4, "asm(", 4) == 0 ||
                                              strncmp(p - 13, "asm volatile(", 13) == 0);
        const char *end = p + 1 + strcspn(p + 1, "\"\n"), *operand = strstr(p, "%0");
        if (!is_asm && (operand == NULL || operand >= end)) /* or it is one in a list of them */
            continue;
        const size_t length = (size_t)(end - p - 1);
        ++*found;
        if (emu_ptx_twin(p + 1, length) != NULL)
            continue;
        print_error("%s: no twin in ptx.def for \"%.*s\"\n", path, (int)length, p + 1);
        without++;
    }
    return without;
}

static void test_emulator__has_a_twin_for_all_ptx(void **state)
{
    static const char *const folders[] = {"", "/prelude", "/cuda", "/reduce", "/row", "/scan"};
    int found = 0, without = 0;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(folders); k++) {
        char folder[2048];
        struct dirent *entry;
        snprintf(folder, sizeof folder, "%s%s", KILN_TEMPLATES, folders[k]);
        DIR *dir = opendir(folder);
        assert_non_null(dir);
        while ((entry = readdir(dir)) != NULL)
            if (strstr(entry->d_name, ".cpu.h") == NULL && strstr(entry->d_name, ".cpp") == NULL)
                without += look_at_ptx(folder, entry->d_name, &found);
        closedir(dir);
    }
    assert_true(found > 10);
    assert_int_equal(without, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emulator__finds_what_is_wrong),
        cmocka_unit_test(test_emulator__in_any_order_of_threads),
        cmocka_unit_test(test_emulator__has_a_twin_for_all_ptx),
    };
    return cmocka_run_group_tests_name("test_emulator", tests, NULL, NULL);
}
