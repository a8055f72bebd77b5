/*
 * test_log.c - src/core/log.c: who is told of what kiln works around, and how often.
 *
 * $KILN_LOG is read once a process, and what was printed is remembered by the process: each case
 * runs in a child of its own, whose stderr is a file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "in_child.h"
#include "kiln/kiln.h"

enum { TEXT_BYTES = 1 << 14 };

static char base[64], wide_open[80], stderr_path[80];

/* ---- the child's side ---- */

/* What this process has written to stderr so far. */
static const char *printed(void)
{
    static char text[TEXT_BYTES];
    FILE *f = fopen(stderr_path, "r");

    text[0] = '\0';
    if (f != NULL) {
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
    }
    return text;
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

/* True when `word` was printed `count` times; says what was printed where it is not so. */
static bool said(size_t count, const char *word)
{
    if (occurrences(printed(), word) == count)
        return true;
    print_message("want '%s' %zu times in:\n%s\n", word, count, printed());
    return false;
}

/* A context on `device` (NULL: the default) over the folder `dir`, which compiles a small kernel
 * when `compiles` says so. */
static bool use_context(const char *device, const char *dir, bool compiles, kiln_log_fn log,
                        void *user)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;
    kiln_error err = KILN_ERROR_INIT;

    o.device = device;
    o.cache_dir = dir;
    o.log = log;
    o.log_user = user;
    bool ok = kiln_context_create(&o, &ctx, &err) == KILN_OK &&
              kiln_array_ones(ctx, KILN_FLOAT32, 1, (int64_t[]){3}, &x, &err) == KILN_OK;
    if (ok && compiles)
        ok = kiln_elementwise_create(ctx, "T x", "T z", "z = x + 1", NULL, &op, &err) == KILN_OK &&
             kiln_call(op, &err, x, &z) == KILN_OK;
    if (!ok)
        print_message("%s\n", err.message);
    kiln_error_clear(&err);
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
    return ok;
}

static void count_line(void *user, const char *line)
{
    (void)line;
    ++*(int *)user;
}

static bool everything_unusable(void)
{
    setenv("KILN_CACHE_DIR", wide_open, 1);
    setenv("KILN_BUNDLES", "/nowhere/app.bundle", 1);
    setenv("KILN_RECORD", "/nowhere/app.jsonl", 1);
    return use_context("cpu", NULL, true, NULL, NULL) && use_context("cpu", NULL, true, NULL, NULL);
}

/* ---- the cases ---- */

static bool by_default(void)
{
    return everything_unusable() && said(1, wide_open) && said(1, "/nowhere/app.bundle") &&
           said(1, "/nowhere/app.jsonl") && said(3, "kiln: ");
}

static bool switched_off(void)
{
    setenv("KILN_LOG", "off", 1);
    return everything_unusable() && said(0, "kiln");
}

static bool errors_only(void)
{
    setenv("KILN_LOG", "error", 1);
    return everything_unusable() && said(0, wide_open) && said(1, "/nowhere/app.bundle") &&
           said(1, "/nowhere/app.jsonl");
}

static bool information(void)
{
    setenv("KILN_LOG", "info", 1);
    return use_context("cpu", "", true, NULL, NULL) && use_context("cpu", "", true, NULL, NULL) &&
           said(2, "kiln: device cpu (") && said(2, "memory only") &&
           said(2, " was compiled for ") && said(4, "kiln: ");
}

static bool an_unknown_word(void)
{
    setenv("KILN_LOG", "loud", 1);
    return everything_unusable() &&
           said(1, "kiln: KILN_LOG=loud is not one of off, error, warn and info") &&
           said(1, wide_open) && said(4, "kiln: ");
}

static bool a_callback(void)
{
    int count = 0;

    setenv("KILN_LOG", "off", 1); /* has no say here */
    if (!use_context("cpu", wide_open, false, count_line, &count) ||
        !use_context("cpu", wide_open, false, count_line, &count))
        return false;
    return count == 2 && said(0, "kiln");
}

static bool a_callback_with_information(void)
{
    int count = 0;

    setenv("KILN_LOG", "info", 1);
    return use_context("cpu", "", true, count_line, &count) && count == 2 && said(0, "kiln");
}

static bool many_texts(void)
{
    kiln_cache *cache = NULL;
    kiln_error err = KILN_ERROR_INIT;
    char bundle[64];

    for (int k = 0; k < 100; k++) {
        snprintf(bundle, sizeof bundle, "/nowhere/%d.bundle", k);
        setenv("KILN_BUNDLES", bundle, 1);
        if (!use_context("cpu", "", false, NULL, NULL))
            return false;
    }
    /* What a status tells is not told again. */
    const bool refused = kiln_cache_open(wide_open, &cache, &err) == KILN_ERR_CACHE;
    kiln_error_clear(&err);
    return refused && said(64, "it is not used") && said(0, wide_open);
}

/* The best device of the cuda backend: usable, or with the reason why not. */
static kiln_device_info gpu_here(void)
{
    kiln_device_info info = {.usable = false};
    size_t count = 0;

    if (kiln_device_list(&info, 1, &count, NULL) != KILN_OK)
        print_message("kiln_device_list() has failed\n");
    return info;
}

/* Whether nothing on this machine tells of a GPU; test_cuda_fake.c has the other machines. */
static bool never_had_a_gpu(void)
{
    return !gpu_here().usable && strncmp(gpu_here().reason, "no CUDA driver", 14) == 0 &&
           access("/proc/driver/nvidia", F_OK) != 0;
}

static bool no_gpu(void)
{
    const char *line = "everything runs on the cpu";
    const size_t want = gpu_here().usable || never_had_a_gpu() ? 0 : 1;

    unsetenv("KILN_DEVICE");
    return use_context("cpu", "", false, NULL, NULL) && said(0, line) &&
           use_context(NULL, "", false, NULL, NULL) && use_context("auto", "", false, NULL, NULL) &&
           said(want, line) && said(want, "kiln: no GPU (");
}

/* Where no GPU can be expected the line is information. */
static bool no_gpu_with_information(void)
{
    setenv("KILN_LOG", "info", 1);
    unsetenv("KILN_DEVICE");
    return use_context(NULL, "", false, NULL, NULL) &&
           said(gpu_here().usable ? 0 : 1, "kiln: no GPU (");
}

/* ---- the parent's side ---- */

static bool (*running)(void);

static bool with_own_stderr(void)
{
    const int fd = open(stderr_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return fd >= 0 && dup2(fd, STDERR_FILENO) >= 0 && running();
}

static void run(bool (*test)(void))
{
    running = test;
    in_child(with_own_stderr);
}

static void test_log__without_a_callback_each_warning_is_printed_once(void **state)
{
    (void)state;
    run(by_default);
}

static void test_log__kiln_log_decides_what_is_printed(void **state)
{
    (void)state;
    run(switched_off);
    run(errors_only);
    run(information);
    run(an_unknown_word);
}

static void test_log__a_callback_gets_all_and_nothing_is_printed(void **state)
{
    (void)state;
    run(a_callback);
    run(a_callback_with_information);
}

static void test_log__a_process_prints_so_many_texts_and_no_more(void **state)
{
    (void)state;
    run(many_texts);
}

static void count_unassigned(void *user, const char *line)
{
    *(int *)user += strstr(line, "never assigns its output `z`") != NULL;
}

static void test_log__an_output_that_no_text_assigns_is_told_of(void **state)
{
    static const struct {
        const char *preamble, *op;
        int lines;
    } cases[] = {{NULL, "x * 2", 1},          {NULL, "", 1},       {NULL, "z = x", 0},
                 {NULL, "/* z */ x;", 1},     {NULL, "zz = x", 1}, {"#define SET z = x", "SET", 0},
                 {"int z_of();", "z_of()", 1}};
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    int lines = 0;

    (void)state;
    o.device = "cpu";
    o.cache_dir = "";
    o.log = count_unassigned;
    o.log_user = &lines;
    assert_int_equal(kiln_context_create(&o, &ctx, NULL), KILN_OK);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        kiln_elementwise_options with = KILN_ELEMENTWISE_OPTIONS_INIT;
        kiln_elementwise *op = NULL;
        kiln_reduction *r = NULL;
        with.preamble = cases[k].preamble;
        lines = 0;
        assert_int_equal(kiln_elementwise_create(ctx, "T x", "T z", cases[k].op, &with, &op, NULL),
                         KILN_OK);
        assert_int_equal(lines, cases[k].lines);
        assert_int_equal(kiln_reduction_create(ctx, "T x", "T z", "x", "a + b",
                                               cases[k].lines == 0 ? "z = a" : "a", NULL, NULL, &r,
                                               NULL),
                         KILN_OK);
        assert_int_equal(lines, 2 * cases[k].lines);
        kiln_elementwise_destroy(op);
        kiln_reduction_destroy(r);
    }
    kiln_filter_options both = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *f = NULL, *g = NULL; /* numbers of elements are the kernel's to assign */
    both.otherwise = "b = x";
    lines = 0;
    assert_int_equal(kiln_filter_create(ctx, "T x", "int64 z", "x > 0", "", NULL, &f, NULL),
                     KILN_OK);
    assert_int_equal(kiln_filter_create(ctx, "T x", "T a, T b, int64 z, int64 zz", "x > 0", "a = x",
                                        &both, &g, NULL),
                     KILN_OK);
    assert_int_equal(lines, 0);
    kiln_filter_destroy(f);
    kiln_filter_destroy(g);
    kiln_context_release(ctx);
}

static void test_log__a_machine_without_a_gpu_is_told_of_where_none_was_chosen(void **state)
{
    (void)state;
    run(no_gpu);
    run(no_gpu_with_information);
}

static int enter(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/kiln_test_log_XXXXXX");
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(wide_open, sizeof wide_open, "%s/open", base);
    snprintf(stderr_path, sizeof stderr_path, "%s/stderr", base);
    unsetenv("KILN_LOG");
    return mkdir(wide_open, 0777) != 0 || chmod(wide_open, 0777) != 0;
}

static int leave(void **state)
{
    (void)state;
    (void)remove(stderr_path);
    return remove(wide_open) != 0 || remove(base) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log__without_a_callback_each_warning_is_printed_once),
        cmocka_unit_test(test_log__kiln_log_decides_what_is_printed),
        cmocka_unit_test(test_log__a_callback_gets_all_and_nothing_is_printed),
        cmocka_unit_test(test_log__a_process_prints_so_many_texts_and_no_more),
        cmocka_unit_test(test_log__a_machine_without_a_gpu_is_told_of_where_none_was_chosen),
        /* The last: it reads $KILN_LOG in this process, whose children then have its value. */
        cmocka_unit_test(test_log__an_output_that_no_text_assigns_is_told_of),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
