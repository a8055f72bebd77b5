/*
 * test_context.c - src/context: options, lifetime, attachments, streams and pool of a context.
 *
 * Started as `test_context [cpu|cuda]`; a device that is missing is a skip (exit status 77). No
 * kernel is compiled here, so no compiler is needed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "context/context.h"

#define EXIT_SKIP 77

static const char *device_name = "cpu";
static char base[64]; /* a folder of this run */

/* Counts lines and keeps the last one. */
typedef struct log_keeper {
    int count;
    char last[1024];
} log_keeper;

static void keep_line(void *user, const char *line)
{
    log_keeper *k = user;

    k->count++;
    snprintf(k->last, sizeof k->last, "%s", line);
}

static kiln_context_options plain_options(void)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;

    o.device = device_name;
    o.cache_dir = "";
    return o;
}

static kiln_context *make_context(const kiln_context_options *o)
{
    kiln_context *ctx = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln_context_create(o, &ctx, &err) != KILN_OK)
        fail_msg("%s", err.message);
    assert_non_null(ctx);
    return ctx;
}

static kiln_context *make_plain(void)
{
    kiln_context_options o = plain_options();

    return make_context(&o);
}

static void refuses(const kiln_context_options *o, kiln_status status, const char *says)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = (kiln_context *)&err; /* must become NULL */

    assert_int_equal(kiln_context_create(o, &ctx, &err), status);
    assert_null(ctx);
    assert_int_equal(err.status, status);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, says);
    assert_int_equal(kiln_context_create(o, &ctx, NULL), status);
    kiln_error_clear(&err);
}

/* ---- options ---- */

static void test_context__defaults_make_a_context(void **state)
{
    (void)state;
    kiln_context *ctx = make_plain();
    const kiln_device_info *info = kiln_context_device(ctx);
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(strncmp(info->id, device_name, strlen(device_name)), 0);
    assert_true(info->usable);
    assert_string_equal(info->reason, "");
    assert_true(info->memory_bytes > 0 && info->unit_count > 0);
    assert_true(info->target[0] != '\0' && info->name[0] != '\0');
    assert_string_equal(kiln_context_cache_dir(ctx), "");
    assert_ptr_equal(kiln__context_device(ctx),
                     kiln__stream_device(kiln__device_stream(kiln__context_device(ctx))));
    assert_int_equal(kiln_context_synchronize(ctx, &err), KILN_OK);
    kiln_context_release(ctx);
}

static void test_context__wrong_options_are_refused(void **state)
{
    (void)state;
    kiln_context_options o = plain_options();
    kiln_error err = KILN_ERROR_INIT;

    o.device = "gpu";
    refuses(&o, KILN_ERR_ARGUMENT, "\"gpu\"");
    o.device = "";
    refuses(&o, KILN_ERR_ARGUMENT, "\"\"");
    o.device = "cuda:999";
    assert_int_not_equal(kiln_context_create(&o, &(kiln_context *){NULL}, &err), KILN_OK);
    kiln_error_clear(&err);

    o = plain_options();
    o.pool_limit_percent = 101;
    refuses(&o, KILN_ERR_ARGUMENT, "101");
    o.pool_limit_percent = -1;
    refuses(&o, KILN_ERR_ARGUMENT, "-1");
    o.pool_limit_percent = 50;
    o.pool_limit_bytes = 4096;
    refuses(&o, KILN_ERR_ARGUMENT, "4096");

    o = plain_options();
    o.cpu_threads = -2;
    refuses(&o, KILN_ERR_ARGUMENT, "-2");
    o = plain_options();
    o.struct_size = 0;
    refuses(&o, KILN_ERR_ARGUMENT, "struct_size");
    o.struct_size = sizeof o + 100000;
    refuses(&o, KILN_ERR_ARGUMENT, "struct_size");
    assert_int_equal(kiln_context_create(NULL, NULL, &err), KILN_ERR_NULL);
    kiln_error_clear(&err);
}

/* An older caller's struct ends earlier: what it does not hold has its default. A newer one's may
 * be longer when what is beyond is zero. */
static void test_context__options_of_other_versions(void **state)
{
    (void)state;
    struct {
        kiln_context_options options;
        char more[24];
    } newer;
    kiln_context *ctx = NULL;

    memset(&newer, 0, sizeof newer);
    newer.options = plain_options();
    newer.options.struct_size = sizeof newer;
    ctx = make_context(&newer.options);
    kiln_context_release(ctx);
    newer.more[23] = 1;
    refuses(&newer.options, KILN_ERR_ARGUMENT, "kiln_context_options");

    /* Only size, device and cache folder; a limit beyond them must not be read. */
    newer.options.struct_size = offsetof(kiln_context_options, pool_limit_bytes);
    newer.options.pool_limit_bytes = 4096;
    newer.options.pool_limit_percent = 500;
    ctx = make_context(&newer.options);
    kiln_pool_stats stats;
    kiln_context_pool_stats(ctx, &stats);
    assert_true(stats.limit_bytes == SIZE_MAX);
    kiln_context_release(ctx);
}

static void test_context__options_init_stays_inside_the_given_size(void **state)
{
    (void)state;
    const kiln_context_options expected = KILN_CONTEXT_OPTIONS_INIT;
    unsigned char room[sizeof(kiln_context_options) + 32];

    for (size_t bytes = 0; bytes < sizeof room; bytes++) {
        memset(room, 0xEE, sizeof room);
        kiln_context_options_init((kiln_context_options *)(void *)room, bytes);
        for (size_t k = bytes < sizeof(size_t) ? 0 : bytes; k < sizeof room; k++)
            assert_int_equal(room[k], 0xEE);
        for (size_t k = sizeof(size_t); bytes >= sizeof(size_t) && k < bytes; k++)
            assert_int_equal(room[k], 0);
        if (bytes >= sizeof(size_t))
            assert_memory_equal(room, &bytes, sizeof bytes);
    }
    memset(room, 0xEE, sizeof room);
    kiln_context_options_init((kiln_context_options *)(void *)room, sizeof expected);
    assert_memory_equal(room, &expected, sizeof expected);
    kiln_context_options_init(NULL, sizeof expected);
}

static void test_context__the_environment_names_the_device(void **state)
{
    (void)state;
    kiln_context_options o = plain_options();
    kiln_context *ctx = NULL;

    o.device = NULL;
    setenv("KILN_DEVICE", device_name, 1);
    ctx = make_context(&o);
    assert_int_equal(strncmp(kiln_context_device(ctx)->id, device_name, strlen(device_name)), 0);
    kiln_context_release(ctx);
    setenv("KILN_DEVICE", "toaster", 1);
    refuses(&o, KILN_ERR_ARGUMENT, "KILN_DEVICE");
    o.device = device_name; /* an option wins over the environment */
    ctx = make_context(&o);
    kiln_context_release(ctx);
    unsetenv("KILN_DEVICE");
}

/* ---- the cache ---- */

static void test_context__the_cache_folder_is_the_one_given(void **state)
{
    (void)state;
    kiln_context_options o = plain_options();
    log_keeper log = {0};
    kiln_context *ctx = NULL;
    char dir[128];

    snprintf(dir, sizeof dir, "%.60s/cache", base);
    o.cache_dir = dir;
    o.log = keep_line;
    o.log_user = &log;
    ctx = make_context(&o);
    assert_string_equal(kiln_context_cache_dir(ctx), dir);
    assert_int_equal(log.count, 0);
    kiln__cache_store(kiln__context_cache(ctx), "key", 3, "data", 4);
    kiln_context_release(ctx);
    assert_int_equal(access(dir, F_OK), 0);

    assert_int_equal(chmod(dir, 0777), 0);
    ctx = make_context(&o);
    assert_string_equal(kiln_context_cache_dir(ctx), "");
    assert_int_equal(log.count, 1);
    assert_non_null(strstr(log.last, dir));
    assert_non_null(strstr(log.last, "write"));
    kiln_context_release(ctx);
    o.log = NULL;
    ctx = make_context(&o);
    kiln_context_release(ctx);
    assert_int_equal(log.count, 1);
}

/* ---- lifetime ---- */

static void test_context__nothing_stays_alive(void **state)
{
    (void)state;
    size_t before = 0;

    kiln_context_release(make_plain()); /* what lives as long as the process is made now */
    before = kiln__test_alloc_live();
    for (int k = 0; k < 3; k++) {
        kiln_context *ctx = make_plain();
        assert_ptr_equal(kiln_context_retain(ctx), ctx);
        kiln_context_release(ctx);
        assert_true(kiln__test_alloc_live() > before);
        kiln_context_release(ctx);
        assert_int_equal(kiln__test_alloc_live(), before);
    }
    kiln_context_release(NULL);
    assert_null(kiln_context_retain(NULL));
}

/* Some allocations can be done without (the device's name, say), so that a failure need not follow;
 * the sweep goes on well beyond the last one. */
static void test_context__survives_each_allocation_failure(void **state)
{
    (void)state;
    kiln_context_options o = plain_options();
    size_t before = 0, failures = 0;

    kiln_context_release(make_plain());
    before = kiln__test_alloc_live();
    for (size_t nth = 0; nth < 40; nth++) {
        kiln_error err = KILN_ERROR_INIT;
        kiln_context *ctx = NULL;
        kiln_status status = KILN_OK;
        kiln__test_alloc_fail_at(nth);
        status = kiln_context_create(&o, &ctx, &err);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_int_equal(status == KILN_OK, ctx != NULL);
        if (status != KILN_OK) {
            assert_int_equal(status, KILN_ERR_NO_MEMORY);
            assert_true(err.message[0] != '\0');
            failures++;
        }
        kiln_error_clear(&err);
        kiln_context_release(ctx);
        assert_int_equal(kiln__test_alloc_live(), before);
    }
    assert_true(failures >= 5);
    kiln_context_release(make_plain());
}

static void test_context__a_stream_keeps_its_context(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    kiln_stream *stream = NULL;
    size_t before = 0;

    kiln_context_release(make_plain());
    before = kiln__test_alloc_live();
    ctx = make_plain();
    assert_int_equal(kiln_stream_create(ctx, NULL, &stream, &err), KILN_OK);
    kiln_context_release(ctx);
    assert_int_equal(kiln_stream_synchronize(stream, &err), KILN_OK);
    assert_int_equal(kiln_context_synchronize(ctx, &err), KILN_OK);
    kiln_stream_destroy(stream);
    assert_int_equal(kiln__test_alloc_live(), before);
    kiln_stream_destroy(NULL);
}

/* ---- attachments ---- */

static struct {
    int order[8];
    int count;
    atomic_int makes[KILN__ATTACH_COUNT];
    kiln_context *ctx;
} seen;

/* The state of slot k is this array's element k; destroying it notes k and uses the context. */
static char states[KILN__ATTACH_COUNT];

static void note_destroy(void *state)
{
    int slot = (int)((char *)state - states);

    seen.order[seen.count++] = slot;
    kiln_context_release(kiln_context_retain(seen.ctx));
    assert_non_null(kiln_context_device(seen.ctx));
    assert_int_equal(kiln_context_synchronize(seen.ctx, NULL), KILN_OK);
}

static void *make_slot(int slot)
{
    atomic_fetch_add(&seen.makes[slot], 1);
    usleep(2000); /* long enough for other threads to come while it is made */
    return &states[slot];
}

static void *make_array(kiln_context *ctx)
{
    (void)ctx;
    return make_slot(KILN__ATTACH_ARRAY);
}

static void *make_jit(kiln_context *ctx)
{
    (void)ctx;
    return make_slot(KILN__ATTACH_JIT);
}

/* The kernels' state needs the programs' state: making one asks for the other. */
static void *make_kernel(kiln_context *ctx)
{
    void *jit = NULL;
    kiln_status status =
        kiln__context_attachment(ctx, KILN__ATTACH_JIT, make_jit, note_destroy, &jit, NULL);

    return status == KILN_OK ? make_slot(KILN__ATTACH_KERNEL) : NULL;
}

static void *make_nothing(kiln_context *ctx)
{
    (void)ctx;
    return NULL;
}

static void *attach_in_thread(void *arg)
{
    void *state = NULL;
    kiln_status status =
        kiln__context_attachment(arg, KILN__ATTACH_KERNEL, make_kernel, note_destroy, &state, NULL);

    return status == KILN_OK ? state : NULL;
}

static void test_context__attachments_are_made_once_and_end_in_order(void **state)
{
    (void)state;
    pthread_t threads[8];
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = make_plain();
    void *found = NULL;

    memset(&seen, 0, sizeof seen);
    seen.ctx = ctx;
    assert_int_equal(
        kiln__context_attachment(ctx, KILN__ATTACH_ARRAY, make_nothing, note_destroy, &found, &err),
        KILN_ERR_NO_MEMORY);
    assert_null(found);
    assert_int_equal(
        kiln__context_attachment(ctx, KILN__ATTACH_ARRAY, make_array, note_destroy, &found, &err),
        KILN_OK);
    assert_ptr_equal(found, &states[KILN__ATTACH_ARRAY]);
    for (size_t k = 0; k < KILN_COUNT_OF(threads); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, attach_in_thread, ctx), 0);
    for (size_t k = 0; k < KILN_COUNT_OF(threads); k++) {
        pthread_join(threads[k], &found);
        assert_ptr_equal(found, &states[KILN__ATTACH_KERNEL]);
    }
    for (int slot = 0; slot < KILN__ATTACH_COUNT; slot++)
        assert_int_equal(atomic_load(&seen.makes[slot]), slot == KILN__ATTACH_ARRAY ||
                                                             slot == KILN__ATTACH_JIT ||
                                                             slot == KILN__ATTACH_KERNEL);
    kiln_context_release(ctx);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.order[0], KILN__ATTACH_KERNEL);
    assert_int_equal(seen.order[1], KILN__ATTACH_JIT);
    assert_int_equal(seen.order[2], KILN__ATTACH_ARRAY);
}

/* ---- streams ---- */

static void test_context__streams_belong_to_their_context(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = make_plain(), *other = make_plain();
    kiln_stream *a = NULL, *b = NULL, *foreign = NULL, *found = NULL;

    assert_int_equal(kiln_stream_create(ctx, NULL, &a, &err), KILN_OK);
    assert_int_equal(kiln_stream_create(ctx, NULL, &b, &err), KILN_OK);
    assert_int_equal(kiln_stream_create(other, NULL, &foreign, &err), KILN_OK);
    assert_int_equal(kiln_stream_wait(ctx, a, b, &err), KILN_OK);
    assert_int_equal(kiln_stream_wait(ctx, a, NULL, &err), KILN_OK);
    assert_int_equal(kiln_stream_wait(ctx, NULL, b, &err), KILN_OK);
    assert_int_equal(kiln_stream_wait(ctx, NULL, NULL, &err), KILN_OK);
    assert_int_equal(kiln_stream_wait(ctx, a, a, &err), KILN_OK);
    assert_int_equal(kiln_stream_wait(ctx, a, foreign, &err), KILN_ERR_CONTEXT);
    assert_non_null(strstr(err.message, "another context"));
    assert_int_equal(kiln_stream_wait(ctx, foreign, a, &err), KILN_ERR_CONTEXT);

    assert_int_equal(kiln__context_stream(ctx, NULL, &found, &err), KILN_OK);
    assert_ptr_equal(found, kiln__device_stream(kiln__context_device(ctx)));
    assert_int_equal(kiln__context_stream(ctx, a, &found, &err), KILN_OK);
    assert_ptr_equal(found, a);
    assert_int_equal(kiln__context_stream(ctx, foreign, &found, &err), KILN_ERR_CONTEXT);
    assert_null(found);
    kiln_error_clear(&err);

    kiln_stream_destroy(a);
    kiln_stream_destroy(b);
    kiln_context_release(other);
    kiln_stream_destroy(foreign);
    kiln_context_release(ctx);
}

static void test_context__native_streams(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = make_plain();
    kiln_stream *made = NULL, *wrapped = (kiln_stream *)&err;
    bool cuda = kiln_context_device(ctx)->backend == KILN_BACKEND_CUDA;
    kiln_status status = KILN_OK;

    assert_int_equal(kiln_stream_create(ctx, NULL, &made, &err), KILN_OK);
    assert_int_equal(kiln_stream_native(ctx, made) != NULL, cuda);
    assert_int_equal(kiln_stream_native(ctx, NULL) != NULL, cuda);
    status = kiln_stream_wrap(ctx, kiln_stream_native(ctx, made), &wrapped, &err);
    if (cuda) {
        assert_int_equal(status, KILN_OK);
        assert_ptr_equal(kiln_stream_native(ctx, wrapped), kiln_stream_native(ctx, made));
        assert_int_equal(kiln_stream_synchronize(wrapped, &err), KILN_OK);
        kiln_stream_destroy(wrapped);
        /* The stream itself must still be there. */
        assert_int_equal(kiln_stream_synchronize(made, &err), KILN_OK);
    } else {
        assert_int_equal(status, KILN_ERR_UNSUPPORTED);
        assert_null(wrapped);
        assert_non_null(strstr(err.message, "cpu"));
    }
    kiln_error_clear(&err);
    kiln_stream_destroy(made);
    kiln_context_release(ctx);
}

static void test_context__null_where_it_is_not_allowed(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = make_plain();
    kiln_stream *stream = NULL;
    kiln_pool_stats stats = {.used_bytes = 7};

    assert_int_equal(kiln_stream_create(NULL, NULL, &stream, &err), KILN_ERR_NULL);
    assert_non_null(strstr(err.message, "ctx"));
    assert_int_equal(kiln_stream_create(ctx, NULL, NULL, &err), KILN_ERR_NULL);
    assert_non_null(strstr(err.message, "out"));
    assert_int_equal(kiln_stream_wrap(NULL, NULL, &stream, &err), KILN_ERR_NULL);
    assert_int_equal(kiln_stream_synchronize(NULL, &err), KILN_ERR_NULL);
    assert_int_equal(kiln_stream_wait(NULL, NULL, NULL, &err), KILN_ERR_NULL);
    assert_int_equal(kiln_context_synchronize(NULL, &err), KILN_ERR_NULL);
    assert_int_equal(kiln_device_list(NULL, 0, NULL, &err), KILN_ERR_NULL);
    assert_null(kiln_context_device(NULL));
    assert_string_equal(kiln_context_cache_dir(NULL), "");
    assert_null(kiln_stream_native(NULL, NULL));
    kiln_context_pool_stats(NULL, &stats);
    assert_int_equal(stats.used_bytes, 0);
    kiln_context_pool_stats(ctx, NULL);
    kiln_context_pool_set_limit(NULL, 1);
    assert_int_equal(kiln_context_pool_trim(NULL), 0);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
}

/* ---- the pool ---- */

static void test_context__pool_limits(void **state)
{
    (void)state;
    static const int percents[] = {1, 33, 50, 99, 100};
    kiln_context_options o = plain_options();
    kiln_pool_stats stats;
    kiln_context *ctx = NULL;

    o.pool_limit_bytes = (size_t)3 << 20;
    ctx = make_context(&o);
    kiln_context_pool_stats(ctx, &stats);
    assert_int_equal(stats.limit_bytes, (size_t)3 << 20);
    kiln_context_pool_set_limit(ctx, 0);
    kiln_context_pool_stats(ctx, &stats);
    assert_true(stats.limit_bytes == SIZE_MAX);
    kiln_context_pool_set_limit(ctx, 1 << 20);
    kiln_context_pool_stats(ctx, &stats);
    assert_int_equal(stats.limit_bytes, 1 << 20);
    kiln_context_release(ctx);

    o.pool_limit_bytes = 0;
    for (size_t k = 0; k < KILN_COUNT_OF(percents); k++) {
        o.pool_limit_percent = percents[k];
        ctx = make_context(&o);
        kiln_context_pool_stats(ctx, &stats);
        /* Half the digits at a time, so that the product fits: (a*1000 + b) * p / 100. */
        uint64_t bytes = kiln_context_device(ctx)->memory_bytes;
        uint64_t high = bytes / 1000 * (uint64_t)percents[k] * 10;
        uint64_t low = bytes % 1000 * (uint64_t)percents[k] / 100;
        assert_int_equal(stats.limit_bytes, high + low);
        kiln_context_release(ctx);
    }
}

static void test_context__pool_statistics_and_trim(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = make_plain();
    kiln__device *device = kiln__context_device(ctx);
    kiln__block *block = NULL;
    kiln_pool_stats stats;
    size_t held = 0;

    assert_int_equal(kiln__pool_alloc(device, 5000, kiln__device_stream(device), &block, &err),
                     KILN_OK);
    kiln_context_pool_stats(ctx, &stats);
    assert_int_equal(stats.used_bytes, 5120); /* 512-byte granularity */
    assert_int_equal(stats.allocation_count, 1);
    assert_true(stats.held_bytes >= 5120);
    held = stats.held_bytes;
    kiln__pool_free(device, block, NULL, 0);
    assert_int_equal(kiln_context_synchronize(ctx, &err), KILN_OK);
    assert_int_equal(kiln_context_pool_trim(ctx), held);
    kiln_context_pool_stats(ctx, &stats);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.held_bytes, 0);
    assert_int_equal(stats.peak_used_bytes, 5120);
    kiln_context_release(ctx);
}

/* ---- devices ---- */

static void test_context__the_device_list_ends_with_the_cpu(void **state)
{
    (void)state;
    kiln_device_info infos[64];
    size_t count = 0, again = 0;

    assert_int_equal(kiln_device_list(NULL, 0, &count, NULL), KILN_OK);
    assert_true(count >= 1 && count < KILN_COUNT_OF(infos));
    assert_int_equal(kiln_device_list(infos, KILN_COUNT_OF(infos), &again, NULL), KILN_OK);
    assert_int_equal(again, count);
    assert_string_equal(infos[count - 1].id, "cpu");
    for (size_t k = 0; k + 1 < count; k++)
        assert_int_equal(infos[k].backend, KILN_BACKEND_CUDA);
    for (size_t k = 0; k < count; k++)
        assert_int_equal(infos[k].usable, infos[k].reason[0] == '\0');
}

/* ---- forks and threads ---- */

static int use_after_fork(kiln_context *ctx, kiln_stream *stream)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_stream *another = NULL;

    if (kiln_context_synchronize(ctx, &err) != KILN_ERR_FORK || strstr(err.message, "fork") == NULL)
        return 1;
    if (kiln_stream_create(ctx, NULL, &another, &err) != KILN_ERR_FORK || another != NULL)
        return 2;
    if (kiln_stream_synchronize(stream, &err) != KILN_ERR_FORK)
        return 3;
    if (kiln_stream_wait(ctx, stream, NULL, &err) != KILN_ERR_FORK)
        return 4;
    kiln_error_clear(&err);
    kiln_stream_destroy(stream);
    kiln_context_release(ctx);
    return 0;
}

static void test_context__a_forked_child_is_told(void **state)
{
    (void)state;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = make_plain();
    kiln_stream *stream = NULL;
    int status = 0;
    pid_t child = 0;

    assert_int_equal(kiln_stream_create(ctx, NULL, &stream, &err), KILN_OK);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(use_after_fork(ctx, stream));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(kiln_context_synchronize(ctx, &err), KILN_OK);
    kiln_stream_destroy(stream);
    kiln_context_release(ctx);
}

/* Each thread holds a reference of its own; whichever ends last destroys the context. */
static void *use_and_release(void *arg)
{
    kiln_context *ctx = arg;
    size_t failures = 0;

    for (int k = 0; k < 50; k++) {
        kiln_stream *stream = NULL;
        failures += kiln_stream_create(ctx, NULL, &stream, NULL) != KILN_OK;
        failures += kiln_stream_wait(ctx, stream, NULL, NULL) != KILN_OK;
        failures += kiln_stream_synchronize(stream, NULL) != KILN_OK;
        kiln_stream_destroy(stream);
    }
    kiln_context_release(ctx);
    return failures == 0 ? NULL : arg;
}

static void test_context__the_last_thread_ends_the_context(void **state)
{
    (void)state;
    pthread_t threads[6];
    kiln_context *ctx = NULL;
    size_t before = 0;

    kiln_context_release(make_plain());
    before = kiln__test_alloc_live();
    ctx = make_plain();
    for (size_t k = 0; k < KILN_COUNT_OF(threads); k++)
        assert_int_equal(
            pthread_create(&threads[k], NULL, use_and_release, kiln_context_retain(ctx)), 0);
    kiln_context_release(ctx);
    for (size_t k = 0; k < KILN_COUNT_OF(threads); k++) {
        void *failed = ctx;
        pthread_join(threads[k], &failed);
        assert_null(failed);
    }
    assert_int_equal(kiln__test_alloc_live(), before);
}

static bool device_is_usable(void)
{
    kiln_context_options o = plain_options();
    kiln_context *ctx = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln_context_create(&o, &ctx, &err);

    if (status != KILN_OK)
        printf("SKIP: %s is not usable here: %s\n", device_name, err.message);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    return status == KILN_OK;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context__defaults_make_a_context),
        cmocka_unit_test(test_context__wrong_options_are_refused),
        cmocka_unit_test(test_context__options_of_other_versions),
        cmocka_unit_test(test_context__options_init_stays_inside_the_given_size),
        cmocka_unit_test(test_context__the_environment_names_the_device),
        cmocka_unit_test(test_context__the_cache_folder_is_the_one_given),
        cmocka_unit_test(test_context__nothing_stays_alive),
        cmocka_unit_test(test_context__survives_each_allocation_failure),
        cmocka_unit_test(test_context__a_stream_keeps_its_context),
        cmocka_unit_test(test_context__attachments_are_made_once_and_end_in_order),
        cmocka_unit_test(test_context__streams_belong_to_their_context),
        cmocka_unit_test(test_context__native_streams),
        cmocka_unit_test(test_context__null_where_it_is_not_allowed),
        cmocka_unit_test(test_context__pool_limits),
        cmocka_unit_test(test_context__pool_statistics_and_trim),
        cmocka_unit_test(test_context__the_device_list_ends_with_the_cpu),
        cmocka_unit_test(test_context__a_forked_child_is_told),
        cmocka_unit_test(test_context__the_last_thread_ends_the_context),
    };
    char command[128];
    int failed = 0;

    if (argc > 1)
        device_name = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    if (!device_is_usable())
        return EXIT_SKIP;
    snprintf(base, sizeof base, "/tmp/kiln-test-context-XXXXXX");
    if (mkdtemp(base) == NULL)
        return 1;
    failed = cmocka_run_group_tests_name("context", tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r '%.60s'", base);
    return system(command) == 0 && failed == 0 ? 0 : 1;
}
