/*
 * test_cpu_children.c - compilers and their folders do not outlive the program that started them.
 *
 * Programs that end in every way while a compiler is at work: a shell script stands for the driver,
 * a `sleep` that it starts for the compiler proper. Whether a process is there is read from /proc.
 */
#define _GNU_SOURCE
#include "cpu_env.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>

enum { PATIENCE_MS = 10000 };

static char pids_path[320]; /* where the script notes its own number and its child's */
static char script[320];    /* the compiler */

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* Whether a process runs: one that waits for its parent to take its status does not. */
static bool runs(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *file = NULL;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return read && strstr(text, ") Z") == NULL && strstr(text, ") X") == NULL;
}

static bool is_over_soon(pid_t pid)
{
    for (int k = 0; k < PATIENCE_MS / 10 && runs(pid); k++)
        pause_ms(10);
    return !runs(pid);
}

static kiln__cpu_end run(const char *text, kiln__buf *log, int *code)
{
    const char *const argv[] = {"sh", "-c", text, NULL};
    const kiln__cpu_child child = {"/bin/sh", argv, NULL, NULL, -1, true, 60000, NULL, NULL};

    return kiln__cpu_run(&child, log, code);
}

/* ---- one program ---- */

static void test_cpu_children__what_a_program_leaves_behind_is_ended(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;

    (void)state;
    assert_int_equal(run("sleep 60 & echo $!; exit 4", &log, &code), KILN__CPU_EXITED);
    assert_int_equal(code, 4);
    assert_true(is_over_soon((pid_t)atoi(log.text)));
    kiln__buf_clear(&log);
    /* As when the system's memory killer takes the driver. */
    assert_int_equal(run("sleep 60 & echo $!; kill -9 $$", &log, &code), KILN__CPU_KILLED);
    assert_true(is_over_soon((pid_t)atoi(log.text)));
    kiln__buf_clear(&log);
}

static void test_cpu_children__a_server_with_a_session_of_its_own_lives_on(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;

    (void)state;
    assert_int_equal(
        run("setsid sh -c 'echo $$; exec sleep 20 >/dev/null 2>&1' & sleep 0.2", &log, &code),
        KILN__CPU_EXITED);
    const pid_t server = (pid_t)atoi(log.text);
    assert_true(server > 1);
    pause_ms(100);
    assert_true(runs(server));
    assert_int_equal(kill(server, SIGKILL), 0);
    kiln__buf_clear(&log);
}

/* Run under a lower limit of our own, which is then set back. */
static int run_below(int resource, rlim_t most, const char *text, kiln__buf *log)
{
    struct rlimit before, lower;
    int code = -1;

    assert_int_equal(getrlimit(resource, &before), 0);
    lower = before;
    lower.rlim_cur = most;
    assert_int_equal(setrlimit(resource, &lower), 0);
    (void)run(text, log, &code);
    assert_int_equal(setrlimit(resource, &before), 0);
    return code;
}

static void test_cpu_children__memory_time_and_dumps_are_bounded(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;

    (void)state;
    assert_int_equal(run("ulimit -v; ulimit -t; ulimit -c", &log, &code), KILN__CPU_EXITED);
    assert_string_equal(log.text, "8388608\n70\n0\n"); /* KiB of memory, seconds, blocks */
    kiln__buf_clear(&log);
    /* What is lower stays. */
    assert_int_equal(run_below(RLIMIT_CPU, 50, "ulimit -t", &log), 0);
    assert_string_equal(log.text, "50\n");
    kiln__buf_clear(&log);
}

/* ---- programs that end ---- */

/* How a program ends while its compiler is at work. */
typedef enum ending {
    BY_SIGNAL,     /* sent to it */
    BY_EXIT,       /* the main thread calls exit() */
    BY_QUICK_EXIT, /* _exit(): nobody cleans up */
    WITH_A_CHILD   /* SIGKILL, while a forked child of it lives on */
} ending;

static void *compile_for_ever(void *unused)
{
    kiln__compile_result result;

    (void)unused;
    (void)compile("extern \"C\" void f() {}", kiln__cpu_target(), NULL, 0, &result, NULL);
    return NULL;
}

/* The numbers of the driver and of the compiler proper, once the script noted them. */
static bool wait_for_pids(pid_t *driver, pid_t *proper)
{
    for (int k = 0; k < PATIENCE_MS / 10; k++) {
        int a = 0, b = 0;
        FILE *file = fopen(pids_path, "re");
        const int got = file != NULL ? fscanf(file, "%d %d.", &a, &b) : 0;
        if (file != NULL)
            fclose(file);
        if (got == 2 && b > 1) {
            *driver = a;
            *proper = b;
            return true;
        }
        pause_ms(10);
    }
    return false;
}

static void begin_program(ending how)
{
    pthread_t thread;
    pid_t driver, proper;

    for (int k = 1; k < NSIG; k++)
        (void)signal(k, SIG_DFL); /* cmocka catches some */
    setenv("KILN_CXX", script, 1);
    if (pthread_create(&thread, NULL, compile_for_ever, NULL) != 0 ||
        !wait_for_pids(&driver, &proper))
        _exit(2);
    if (how == WITH_A_CHILD) {
        const pid_t child = fork();
        if (child == 0) {
            pause_ms(3000);
            _exit(0);
        }
    }
    if (how == BY_EXIT)
        exit(0);
    if (how == BY_QUICK_EXIT)
        _exit(0);
    for (;;)
        pause_ms(1000);
}

static void end_program(ending how, int number)
{
    pid_t driver = 0, proper = 0;
    int status = 0;

    (void)unlink(pids_path);
    const pid_t program = fork();
    assert_true(program >= 0);
    if (program == 0)
        begin_program(how);
    if (!wait_for_pids(&driver, &proper))
        fail_msg("the compiler was not started");
    if (how == BY_SIGNAL || how == WITH_A_CHILD)
        assert_true(runs(driver) && runs(proper));
    if (how == WITH_A_CHILD)
        pause_ms(200); /* the child is there */
    if (how == BY_SIGNAL || how == WITH_A_CHILD)
        assert_int_equal(kill(program, number), 0);
    assert_int_equal(waitpid(program, &status, 0), program);
    if (!is_over_soon(driver) || !is_over_soon(proper))
        fail_msg("after %s %d: driver %s, compiler %s", how == BY_SIGNAL ? "signal" : "ending",
                 how == BY_SIGNAL ? number : (int)how, runs(driver) ? "runs" : "gone",
                 runs(proper) ? "runs" : "gone");
}

static void test_cpu_children__compilers_end_with_the_program(void **state)
{
    static const int numbers[] = {SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGSEGV};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(numbers); k++)
        end_program(BY_SIGNAL, numbers[k]);
    end_program(BY_EXIT, 0);
    end_program(BY_QUICK_EXIT, 0);
}

static void test_cpu_children__a_forked_child_of_the_program_keeps_no_compiler_alive(void **state)
{
    (void)state;
    end_program(WITH_A_CHILD, SIGKILL);
}

/* ---- folders ---- */

static size_t count_folders(void)
{
    return entries_in(tmpdir);
}

/* A sweep is made once by each process. */
static void sweep(void)
{
    const pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        kiln__cpu_folder f;
        if (kiln__cpu_folder_open(&f) != 0)
            _exit(1);
        kiln__cpu_folder_close(&f);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_cpu_children__exit_removes_the_folder_at_work(void **state)
{
    (void)state;
    sweep();
    assert_int_equal(count_folders(), 0);
    end_program(BY_EXIT, 0);
    assert_int_equal(count_folders(), 0);
}

static void test_cpu_children__folders_left_behind_are_swept_by_the_next_process(void **state)
{
    (void)state;
    sweep();
    end_program(BY_SIGNAL, SIGKILL);
    end_program(BY_SIGNAL, SIGTERM);
    assert_int_equal(count_folders(), 1); /* the second one's: it swept that of the first */
    sweep();
    assert_int_equal(count_folders(), 0);
}

static void make_folder(const char *name, mode_t mode, const char *file)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s", tmpdir, name);
    assert_int_equal(mkdir(path, mode), 0);
    assert_int_equal(chmod(path, mode), 0);
    if (file != NULL) {
        snprintf(path, sizeof path, "%s/%s/%s", tmpdir, name, file);
        write_text(path, "precious", 0600);
    }
}

static bool is_there(const char *name)
{
    char path[600];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", tmpdir, name);
    return lstat(path, &st) == 0;
}

static void test_cpu_children__only_what_kiln_made_is_swept(void **state)
{
    char path[600], to[600];
    kiln__cpu_folder held;

    (void)state;
    sweep();
    make_folder("kiln-backup", 0700, "thesis.tex");
    make_folder("kiln-shared", 0755, ".kiln-lock");
    make_folder("kiln-AAAAAA", 0700, NULL);
    make_folder("kiln-longer-name", 0700, ".kiln-lock");
    make_folder("elsewhere", 0700, ".kiln-lock");
    make_folder("kiln-BBBBBB", 0700, ".kiln-lock");
    make_folder("kiln-CCCCCC", 0700, NULL);
    snprintf(path, sizeof path, "%s/kiln-CCCCCC/.kiln-lock", tmpdir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof path, "%s/kiln-BBBBBB/away", tmpdir);
    snprintf(to, sizeof to, "%s/elsewhere", tmpdir);
    assert_int_equal(symlink(to, path), 0);
    snprintf(path, sizeof path, "%s/kiln-DDDDDD", tmpdir);
    assert_int_equal(symlink(to, path), 0);
    assert_int_equal(kiln__cpu_folder_open(&held), 0);
    sweep();
    assert_true(is_there("kiln-backup/thesis.tex"));
    assert_true(is_there("kiln-shared/.kiln-lock"));
    assert_true(is_there("kiln-longer-name/.kiln-lock"));
    assert_true(is_there("elsewhere/.kiln-lock"));
    assert_true(is_there("kiln-CCCCCC"));
    assert_true(is_there("kiln-DDDDDD"));
    assert_false(is_there("kiln-AAAAAA")); /* empty: lost between making and locking */
    assert_false(is_there("kiln-BBBBBB")); /* a lock that nobody holds */
    assert_int_equal(access(held.path, F_OK), 0);
    kiln__cpu_folder_close(&held);
    assert_int_not_equal(access(held.path, F_OK), 0);
}

/* 4 processes that make and lose folders as fast as they can: no open fails, nothing is left. */
static void test_cpu_children__sweeps_and_makers_do_not_hurt_each_other(void **state)
{
    pid_t makers[4];
    int status = 0;

    (void)state;
    kiln__cpu_folder_remove(tmpdir);
    assert_int_equal(mkdir(tmpdir, 0700), 0);
    for (size_t k = 0; k < KILN_COUNT_OF(makers); k++) {
        makers[k] = fork();
        assert_true(makers[k] >= 0);
        for (int n = 0; makers[k] == 0 && n < 50; n++) {
            const pid_t one = fork(); /* a generation of its own: it sweeps */
            if (one == 0) {
                kiln__cpu_folder f;
                const bool made = kiln__cpu_folder_open(&f) == 0 && access(f.path, W_OK) == 0;
                if (made && n % 2 == 0)
                    kiln__cpu_folder_close(&f);
                _exit(made ? 0 : 1);
            }
            if (one < 0 || waitpid(one, &status, 0) != one || status != 0)
                _exit(1);
        }
        if (makers[k] == 0)
            _exit(0);
    }
    for (size_t k = 0; k < KILN_COUNT_OF(makers); k++) {
        assert_int_equal(waitpid(makers[k], &status, 0), makers[k]);
        assert_int_equal(status, 0);
    }
    sweep();
    assert_int_equal(count_folders(), 0);
}

/* ---- setup ---- */

static int set_up(void **state)
{
    char text[2048];

    if (prepare(state) != 0)
        return -1;
    snprintf(pids_path, sizeof pids_path, "%s/pids", folder);
    snprintf(script, sizeof script, "%s/c++", folder);
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase \"$1\" in --version) echo 'g++ 12.2.0'; exit 0;; esac\n"
             "sleep 60 &\necho \"$$ $!.\" > %s.new\nmv %s.new %s\nwait\n",
             pids_path, pids_path, pids_path);
    write_text(script, text, 0700);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_children__what_a_program_leaves_behind_is_ended),
        cmocka_unit_test(test_cpu_children__a_server_with_a_session_of_its_own_lives_on),
        cmocka_unit_test(test_cpu_children__memory_time_and_dumps_are_bounded),
        cmocka_unit_test(test_cpu_children__compilers_end_with_the_program),
        cmocka_unit_test(test_cpu_children__a_forked_child_of_the_program_keeps_no_compiler_alive),
        cmocka_unit_test(test_cpu_children__exit_removes_the_folder_at_work),
        cmocka_unit_test(test_cpu_children__folders_left_behind_are_swept_by_the_next_process),
        cmocka_unit_test(test_cpu_children__only_what_kiln_made_is_swept),
        cmocka_unit_test(test_cpu_children__sweeps_and_makers_do_not_hurt_each_other),
    };
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
