/*
 * test_fork.c - a forked child and the objects that it inherits, while other threads of the parent
 * are at work with them.
 *
 * Every public function that takes a context, or something made from one, is called in children that
 * were forked at any moment: it answers ERR_FORK or, where it has no status, returns at once. None
 * waits for a lock that a thread of the parent held: an alarm ends a child that does. A child can
 * make a context of its own and use it.
 *
 * A public function that is neither in the list of fork_calls.h nor in the one below fails the last test.
 *
 * $KILN_TEST_ROUNDS: how many forks (default 300).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kiln/kiln.h"

enum { ROUNDS = 300, THREADS = 4, COUNT = 64, CHILD_SECONDS = 30 };

/* What the parent makes and children inherit. */
static struct {
    kiln_context *ctx;
    kiln_array *x, *z, *wrapped;
    kiln_stream *stream;
    kiln_event *event;
    kiln_observer *observer;
    kiln_elementwise *loop;
    kiln_reduction *sum;
    kiln_scan *scan;
    kiln_row *row;
    kiln_filter *filter;
    kiln_launch *launch;
    kiln_graph *graph, *open;
    kiln_node node;
    kiln_prefetch *ahead;
    kiln_module *module;
    kiln_raw *raw;
    kiln_program *program;
    void *pinned;
    float memory[COUNT];
} o;

static const kiln_row_stage stage = {
    .map = "x", .type = "float", .reduce = "a + b", .identity = "0", .result = "s"};

static const int64_t shape[] = {COUNT};

/* ---- the functions ---- */

/* What calls below write to. */
typedef struct outputs {
    kiln_array *array, *second, *third;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_observer *observer;
    kiln_event *event;
    kiln_event_handle handle;
    kiln_elementwise *loop;
    kiln_reduction *sum;
    kiln_scan *scan;
    kiln_row *row;
    kiln_filter *filter;
    kiln_launch *launch;
    kiln_graph *graph;
    kiln_prefetch *ahead;
    kiln_module *module;
    kiln_program *program;
    kiln_raw *raw;
    kiln_raw_attributes attributes;
    int64_t blocks;
    kiln_pool_stats stats;
    kiln_cache_counters counters;
    kiln_benchmark_result benchmark;
    DLManagedTensorVersioned *exported, foreign;
    DLManagedTensor *exported_plain, foreign_plain;
    kiln_array_interface interface;
    kiln_scalar item;
    kiln_random random;
    void *memory;
    int64_t dims[1];
    kiln_node node;
    char *text, **texts;
    double ms;
    size_t count;
    int least, greatest;
    bool done;
    float data[COUNT];
} outputs;

static pid_t parent;

static const char module_text[] =
    "__device__ int v; extern \"C\" __global__ void set(float *x) { x[0] = 1; v = 2; }";

/* Given back in the parent only: a child has a copy of the memory and no say in it. */
static void give_back(void *owner, void *data)
{
    (void)owner;
    (void)data;
    if (getpid() != parent)
        _exit(99);
}

static void called(void *user)
{
    (void)user;
}

static void observed(void *user, const kiln_observation *what)
{
    (void)user;
    (void)what;
    if (getpid() != parent)
        _exit(98);
}

static kiln_status measured(void *user, kiln_error *err)
{
    (void)user;
    (void)err;
    return KILN_OK;
}

static const char *const names[] = {"x"};

static const kiln_raw_call_options one_thread = {
    .struct_size = sizeof one_thread, .grid = {1}, .block = {1}};

static const kiln_sort_rule by_itself = {.struct_size = sizeof by_itself, .key = "x"};

#include "fork_calls.h"

/* Functions that take nothing a parent made, or an open cache, whose tests fork by themselves. */
static const char *const free_of_objects[] = {
    "kiln_context_create", "kiln_device_list", "kiln_version", "kiln_free", "kiln_op_name",
    "kiln_reduce_op_name", "kiln_scan_op_name", "kiln_status_name", "kiln_status_string",
    "kiln_error_clear", "kiln_error_print", "kiln_dtype_*", "kiln_cache_*", "kiln_*_options_init",
    "kiln_benchmark_to_string", "kiln_linalg_list", "kiln_sort_rule_init", "kiln_draw_name", "kiln_random_init",
    "kiln_rearrangement_name", "kiln_random_key", "kiln_random_split", "kiln_random_jump",
    "kiln_scope_*", "kiln_subscript_*",
};

static char npy_path[64], other_path[64];

/* ---- a child ---- */

/* Memory of somebody else, as other libraries describe it. */
static void describe_foreign(outputs *t)
{
    t->dims[0] = COUNT;
    t->foreign.version.major = DLPACK_MAJOR_VERSION;
    t->foreign.dl_tensor = (DLTensor){.data = t->data,
                                      .device = {kDLCPU, 0},
                                      .ndim = 1,
                                      .dtype = {kDLFloat, 32, 1},
                                      .shape = t->dims};
    t->foreign_plain.dl_tensor = t->foreign.dl_tensor;
    t->interface.rank = 1;
    t->interface.shape[0] = COUNT;
    t->interface.strides[0] = sizeof(float);
    t->interface.data = t->data;
    snprintf(t->interface.typestr, sizeof t->interface.typestr, "<f4");
}

/* Calls every function; tells the first that did not answer as it should. */
static int call_all(void)
{
    outputs t;
    kiln_error err = KILN_ERROR_INIT;

    memset(&t, 0, sizeof t);
    describe_foreign(&t);
#define REFUSES(function, arguments)                                                               \
    if (function arguments != KILN_ERR_FORK) {                                                     \
        fprintf(stderr, #function ": %s\n", err.message);                                          \
        return 1;                                                                                  \
    }
#define RETURNS(function, arguments) function arguments;
#define ANSWERS(function, arguments) (void)!function arguments;
    CALLS(REFUSES, RETURNS, ANSWERS)
#undef ANSWERS
#undef REFUSES
#undef RETURNS
    kiln_error_clear(&err);
    return 0;
}

/* What a child can do: a context of its own, and an array there and back. */
static int use_own(void)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_array *array = NULL, *flipped = NULL;
    float data[COUNT], back[COUNT];
    int wrong = 0;

    for (int k = 0; k < COUNT; k++)
        data[k] = (float)k;
    options.device = "cpu";
    options.cache_dir = "";
    wrong |= kiln_context_create(&options, &ctx, NULL) != KILN_OK;
    wrong |= wrong == 0 &&
             kiln_array_from_host(ctx, KILN_FLOAT32, 1, shape, data, NULL, &array, NULL) != KILN_OK;
    wrong |= wrong == 0 && kiln_array_flip(array, 0, &flipped, NULL) != KILN_OK;
    wrong |= wrong == 0 && kiln_array_to_host(flipped, back, sizeof back, NULL, NULL) != KILN_OK;
    for (int k = 0; wrong == 0 && k < COUNT; k++)
        wrong |= back[k] != data[COUNT - 1 - k];
    kiln_array_release(flipped);
    kiln_array_release(array);
    kiln_context_release(ctx);
    return wrong;
}

static void run_child(long round)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};

    for (int k = 1; k < NSIG; k++)
        (void)sigaction(k, &plain, NULL); /* cmocka's handlers */
    alarm(CHILD_SECONDS);
    if (call_all() != 0)
        _exit(1);
    /* What wraps memory of the program is not given back twice. */
    kiln_array_release(o.wrapped);
    _exit(round % 8 == 0 && use_own() != 0 ? 2 : 0);
}

/* ---- the parent's threads ---- */

static atomic_bool over;
static atomic_long failures, turns;

/* GCC's address sanitizer holds no lock of its allocator across fork() (GCC 12's libasan): a child
 * that allocates waits for ever when a thread of the parent was inside malloc(). In such builds the
 * threads stand still, each between two turns, while a child is made. */
#ifdef __SANITIZE_ADDRESS__
enum { STAND_STILL = 1 };
#else
enum { STAND_STILL = 0 };
#endif
static pthread_mutex_t turn[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                        PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static pid_t fork_between_turns(void)
{
    for (int k = 0; STAND_STILL && k < THREADS; k++)
        pthread_mutex_lock(&turn[k]);
    const pid_t child = fork();
    for (int k = 0; STAND_STILL && k < THREADS; k++)
        pthread_mutex_unlock(&turn[k]);
    return child;
}

static void turn_arrays(void)
{
    kiln_array *a = NULL, *b = NULL, *c = NULL;

    atomic_fetch_add(&failures, kiln_array_empty(o.ctx, KILN_FLOAT32, 1, shape, &a, NULL) != 0);
    atomic_fetch_add(&failures, kiln_array_flip(o.x, 0, &b, NULL) != 0);
    atomic_fetch_add(&failures, kiln_array_sqrt(o.x, &c, NULL) != 0);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(c);
}

static void turn_kernels(void)
{
    kiln_array *y = NULL, *s = NULL, *r = NULL;

    atomic_fetch_add(&failures, kiln_call(o.loop, NULL, o.x, &y) != KILN_OK);
    atomic_fetch_add(&failures,
                     kiln_array_reduce(KILN_REDUCE_SUM, o.x, NULL, false, &s, NULL) != KILN_OK);
    atomic_fetch_add(&failures,
                     kiln_array_scan(KILN_SCAN_CUMSUM, o.x, NULL, 0, &r, NULL) != KILN_OK);
    kiln_array_release(y);
    kiln_array_release(s);
    kiln_array_release(r);
}

static void turn_streams(void)
{
    kiln_stream *stream = NULL;
    kiln_event *event = NULL;
    kiln_pool_stats stats;

    atomic_fetch_add(&failures, kiln_stream_create(o.ctx, NULL, &stream, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_event_create(o.ctx, NULL, &event, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_event_record(event, stream, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_launch_run(o.launch, stream, NULL) != KILN_OK);
    kiln_context_pool_stats(o.ctx, &stats);
    (void)kiln_context_pool_trim(o.ctx);
    kiln_event_destroy(event);
    kiln_stream_destroy(stream);
}

static void turn_graphs(void)
{
    kiln_array *y = NULL;
    kiln_prefetch *ahead = NULL;
    const kiln_arg args[] = {kiln_arg_array(o.x), kiln_arg_out(&y)};

    atomic_fetch_add(&failures, kiln_graph_run(o.graph, args, 2, NULL, NULL) != KILN_OK);
    atomic_fetch_add(&failures,
                     kiln_elementwise_prefetch(o.loop, args, 2, NULL, &ahead, NULL) != KILN_OK);
    atomic_fetch_add(&failures, kiln_prefetch_wait(ahead, -1, NULL) != KILN_OK);
    kiln_prefetch_destroy(ahead);
    kiln_array_release(y);
}

static void *work(void *number)
{
    static void (*const kinds[THREADS])(void) = {turn_arrays, turn_kernels, turn_streams,
                                                 turn_graphs};
    const size_t kind = (size_t)(uintptr_t)number;
    long made = 0;

    while (!atomic_load(&over)) {
        pthread_mutex_lock(&turn[kind]);
        kinds[kind]();
        pthread_mutex_unlock(&turn[kind]);
        made++;
    }
    atomic_fetch_add(&turns, made);
    return NULL;
}

/* ---- setup ---- */

#define MUST(call) assert_int_equal((call), KILN_OK)

static void make_all(void)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_arg xy[2], warm[2];
    kiln_array *y = NULL;
    kiln_node input;

    snprintf(npy_path, sizeof npy_path, "/tmp/kiln_test_fork_%ld.npy", (long)getpid());
    snprintf(other_path, sizeof other_path, "/tmp/kiln_test_fork_%ld.new.npy", (long)getpid());
    options.device = "cpu";
    options.cache_dir = "";
    options.cpu_threads = 2;
    for (int k = 0; k < COUNT; k++)
        o.memory[k] = (float)k;
    MUST(kiln_context_create(&options, &o.ctx, NULL));
    MUST(kiln_array_from_host(o.ctx, KILN_FLOAT32, 1, shape, o.memory, NULL, &o.x, NULL));
    MUST(kiln_array_copy(o.x, &o.z, NULL));
    MUST(kiln_array_save_npy(o.x, npy_path, NULL));
    MUST(kiln_array_wrap(o.ctx, KILN_FLOAT32, 1, shape, NULL, o.memory, NULL, sizeof o.memory,
                         give_back, NULL, &o.wrapped, NULL));
    MUST(kiln_stream_create(o.ctx, NULL, &o.stream, NULL));
    MUST(kiln_host_alloc(o.ctx, 100, 0, &o.pinned, NULL));
    MUST(kiln_event_create(o.ctx, NULL, &o.event, NULL));
    MUST(kiln_observer_create(o.ctx, 0, observed, NULL, &o.observer, NULL));
    MUST(kiln_event_record(o.event, o.stream, NULL));
    MUST(kiln_elementwise_create(o.ctx, "T x", "T y", "y = x + 1", NULL, &o.loop, NULL));
    MUST(
        kiln_reduction_create(o.ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &o.sum, NULL));
    MUST(kiln_scan_create(o.ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &o.scan, NULL));
    MUST(kiln_row_create(o.ctx, "T x", "T y", &stage, 1, "y = x / s", NULL, &o.row, NULL));
    MUST(kiln_filter_create(o.ctx, "T x", "int64 n", "x > 0", "", NULL, &o.filter, NULL));
    xy[0] = warm[0] = kiln_arg_array(o.x);
    xy[1] = kiln_arg_array(o.z);
    MUST(kiln_elementwise_prepare(o.loop, xy, 2, NULL, &o.launch, NULL));
    MUST(kiln_graph_parse(o.ctx, "sqrt(x) + 1", names, 1, NULL, &o.graph, NULL, NULL));
    warm[1] = kiln_arg_out(&y);
    MUST(kiln_graph_run(o.graph, warm, 2, NULL, NULL));
    kiln_array_release(y);
    MUST(kiln_graph_create(o.ctx, NULL, &o.open, NULL));
    input = kiln_node_input(o.open, "x", KILN_FLOAT32, 1, __FILE__, __LINE__);
    o.node = input;
    y = NULL;
    MUST(kiln_elementwise_prefetch(o.loop, warm, 2, NULL, &o.ahead, NULL));
    MUST(kiln_prefetch_wait(o.ahead, -1, NULL));
    MUST(kiln_module_create(o.ctx, module_text, NULL, &o.module, NULL));
    MUST(kiln_module_kernel(o.module, "set", "raw float32 x", &o.raw, NULL));
    MUST(kiln_capture_begin(o.ctx, NULL, NULL));
    MUST(kiln_elementwise_run(o.loop, xy, 2, NULL, NULL));
    MUST(kiln_capture_end(o.ctx, NULL, &o.program, NULL));
    /* Everything is compiled before threads and children begin. */
    turn_arrays();
    turn_kernels();
    turn_streams();
    turn_graphs();
    assert_int_equal(atomic_load(&failures), 0);
}

static void release_all(void)
{
    kiln_prefetch_destroy(o.ahead);
    kiln_program_destroy(o.program);
    kiln_raw_destroy(o.raw);
    kiln_module_destroy(o.module);
    kiln_launch_destroy(o.launch);
    kiln_elementwise_destroy(o.loop);
    kiln_reduction_destroy(o.sum);
    kiln_scan_destroy(o.scan);
    kiln_row_destroy(o.row);
    kiln_filter_destroy(o.filter);
    kiln_graph_destroy(o.graph);
    kiln_graph_destroy(o.open);
    kiln_event_destroy(o.event);
    kiln_observer_destroy(o.observer);
    kiln_host_free(o.ctx, o.pinned);
    kiln_stream_destroy(o.stream);
    kiln_array_release(o.wrapped);
    kiln_array_release(o.z);
    kiln_array_release(o.x);
    kiln_context_release(o.ctx);
    (void)unlink(npy_path);
    (void)unlink(other_path);
}

/* ---- tests ---- */

static void test_fork__children_never_wait_for_threads_that_are_not_there(void **state)
{
    const char *asked = getenv("KILN_TEST_ROUNDS");
    const long rounds = asked != NULL ? atol(asked) : ROUNDS;
    pthread_t threads[THREADS];
    int status = 0;

    (void)state;
    parent = getpid();
    make_all();
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, work, (void *)(uintptr_t)k), 0);
    for (long round = 0; round < rounds; round++) {
        nanosleep(&(struct timespec){0, round % 17 * 30000}, NULL);
        const pid_t child = fork_between_turns();
        assert_true(child >= 0);
        if (child == 0)
            run_child(round);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
            fail_msg("child %ld: status 0x%x%s", round, (unsigned)status,
                     WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ", it waited for ever"
                                                                        : "");
    }
    atomic_store(&over, true);
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    assert_int_equal(atomic_load(&failures), 0);
    assert_true(atomic_load(&turns) > 0);
    release_all();
}

static bool matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    const size_t head = star != NULL ? (size_t)(star - pattern) : strlen(pattern);

    if (star == NULL)
        return strcmp(pattern, name) == 0;
    const size_t tail = strlen(star + 1), length = strlen(name);
    return strncmp(name, pattern, head) == 0 && length >= head + tail &&
           strcmp(name + length - tail, star + 1) == 0;
}

static bool is_listed(const char *name)
{
#define NAME(function, arguments) #function,
    static const char *const called_names[] = {CALLS(NAME, NAME, NAME)};
#undef NAME

    for (size_t k = 0; k < sizeof called_names / sizeof called_names[0]; k++)
        if (strcmp(called_names[k], name) == 0)
            return true;
    for (size_t k = 0; k < sizeof free_of_objects / sizeof free_of_objects[0]; k++)
        if (matches(free_of_objects[k], name))
            return true;
    return false;
}

/* The functions that a public header declares: the first kiln_word( behind each KILN_API. */
static int check_header(const char *path, int *missing)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "re");
    int found = 0;

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (const char *at = strstr(text, "\nKILN_API"); at != NULL; at = strstr(at, "\nKILN_API")) {
        char name[80] = "";
        for (at++; *at != '\0' && name[0] == '\0'; at++) {
            const size_t width = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
            if (strncmp(at, "kiln_", 5) == 0 && at[width] == '(' && width < sizeof name)
                snprintf(name, sizeof name, "%.*s", (int)width, at);
        }
        found++;
        if (!is_listed(name)) {
            print_error("%s is in neither list of test_fork.c: what does a forked child get?\n",
                        name);
            ++*missing;
        }
    }
    return found;
}

static void test_fork__every_public_function_is_in_a_list(void **state)
{
    static const char folder[] = KILN_TEST_DATA_DIR "/../include/kiln";
    DIR *dir = opendir(folder);
    int found = 0, missing = 0;

    (void)state;
    if (dir == NULL)
        skip(); /* a copied build folder */
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[1024];
        if (strstr(e->d_name, ".h") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found += check_header(path, &missing);
    }
    closedir(dir);
    assert_true(found > 150);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork__children_never_wait_for_threads_that_are_not_there),
        cmocka_unit_test(test_fork__every_public_function_is_in_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
