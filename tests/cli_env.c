/*
 * cli_env.c - see cli_env.h.
 */
#define _GNU_SOURCE

#include "cli_env.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/context.h"

cli_outcome cli;

static char tool[CLI_PATH_BYTES];
static char folder[] = "/tmp/kiln_test_cli_XXXXXX";

/* ---- files ---- */

void cli_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void cli_write_script(const char *path, const char *text)
{
    cli_write(path, text);
    assert_int_equal(chmod(path, 0755), 0);
}

size_t cli_read(const char *path, char *text)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t bytes = fread(text, 1, CLI_TEXT_MAX - 1, f);
    text[bytes] = '\0';
    fclose(f);
    return bytes;
}

void cli_write_npy(const char *path, const char *dtype, const char *shape, const void *data,
                   size_t bytes)
{
    char header[128];
    int length = snprintf(header, sizeof header,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", dtype, shape);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    /* Padded so that elements begin at a multiple of 64 bytes, as NumPy writes it. */
    while ((10 + length + 1) % 64 != 0)
        header[length++] = ' ';
    header[length++] = '\n';
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc(length & 0xff, f);
    fputc(length >> 8, f);
    fwrite(header, 1, (size_t)length, f);
    fwrite(data, 1, bytes, f);
    assert_int_equal(fclose(f), 0);
}

void cli_expect_npy(const char *path, const char *dtype, const char *shape, const void *data,
                    size_t bytes)
{
    static char text[CLI_TEXT_MAX];
    char want[64];
    const size_t size = cli_read(path, text);

    assert_true(size > 10);
    assert_memory_equal(text, "\x93NUMPY\x01\x00", 8);
    size_t header = (size_t)(unsigned char)text[8] + 256u * (unsigned char)text[9];
    snprintf(want, sizeof want, "'descr': '%s'", dtype);
    assert_non_null(strstr(text + 10, want));
    snprintf(want, sizeof want, "'shape': %s", shape);
    assert_non_null(strstr(text + 10, want));
    assert_non_null(strstr(text + 10, "'fortran_order': False"));
    assert_int_equal(size, 10 + header + bytes);
    assert_memory_equal(text + 10 + header, data, bytes);
}

/* ---- running ---- */

static void redirect(int fd, const char *path, int flags)
{
    const int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(99);
}

static void take_status(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("the program was ended by signal %d", WTERMSIG(status));
    cli.status = WEXITSTATUS(status);
}

/* `output` NULL: into cli.out. */
static void run(char *const *argv, const char *input, const char *output)
{
    if (input != NULL)
        cli_write("stdin.txt", input);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        redirect(0, input != NULL ? "stdin.txt" : "/dev/null", O_RDONLY);
        redirect(1, output != NULL ? output : "stdout.txt", O_WRONLY | O_CREAT | O_TRUNC);
        redirect(2, "stderr.txt", O_WRONLY | O_CREAT | O_TRUNC);
        execv(tool, argv);
        _exit(98);
    }
    take_status(pid);
    cli.out[0] = '\0';
    if (output == NULL)
        cli_read("stdout.txt", cli.out);
    cli_read("stderr.txt", cli.err);
}

void cli_run(char *const *argv, const char *input)
{
    run(argv, input, NULL);
}

void cli_run_into(char *const *argv, const char *path)
{
    run(argv, NULL, path);
}

void cli_run_on_terminal(char *const *argv, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    size_t length = 0;

    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        redirect(0, "/dev/null", O_RDONLY);
        redirect(1, "stdout.txt", O_WRONLY | O_CREAT | O_TRUNC);
        if (dup2(slave, 2) < 0)
            _exit(99);
        execv(tool, argv);
        _exit(98);
    }
    close(slave);
    /* Its end is told by EIO, once nobody has the other side open. */
    for (;;) {
        const ssize_t got = read(master, cli.err + length, CLI_TEXT_MAX - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    cli.err[length] = '\0';
    close(master);
    take_status(pid);
    cli_read("stdout.txt", cli.out);
}

/* ---- judging ---- */

void cli_expect_done(const char *file, int line)
{
    if (cli.status != 0 || cli.err[0] != '\0') {
        print_error("exit status %d, stderr '%s', stdout '%s'\n", cli.status, cli.err, cli.out);
        _fail(file, line);
    }
}

void cli_expect_failed(int status, const char *text, const char *file, int line)
{
    if (cli.status != status || strstr(cli.err, text) == NULL) {
        print_error("want status %d and '%s', got status %d, stderr '%s', stdout '%s'\n", status,
                    text, cli.status, cli.err, cli.out);
        _fail(file, line);
    }
}

void cli_expect_refused(int status, const char *text, const char *file, int line)
{
    cli_expect_failed(status, text, file, line);
    if (cli.out[0] != '\0' || strncmp(cli.err, "kiln: ", 6) != 0) {
        print_error("stdout '%s', stderr '%s'\n", cli.out, cli.err);
        _fail(file, line);
    }
}

void cli_expect_out(const char *text, const char *file, int line)
{
    if (strstr(cli.out, text) == NULL) {
        print_error("want '%s' in stdout '%s', stderr '%s'\n", text, cli.out, cli.err);
        _fail(file, line);
    }
}

/* ---- the folder ---- */

/* Without a GPU each command would begin with a line that says so. */
static void choose_device(void)
{
    kiln_device_info info;
    size_t count = 0;

    if (kiln_device_list(&info, 1, &count, NULL) == KILN_OK && !info.usable)
        setenv("KILN_DEVICE", "cpu", 1);
    else
        unsetenv("KILN_DEVICE");
}

int cli_enter(void **state)
{
    char self[CLI_PATH_BYTES - 16] = "", cache[CLI_PATH_BYTES];
    const char *given = getenv("KILN_TOOL");

    (void)state;
    if (given != NULL) {
        snprintf(tool, sizeof tool, "%s", given);
    } else {
        if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
            return -1;
        *strrchr(self, '/') = '\0';
        snprintf(tool, sizeof tool, "%s/../kiln", self);
    }
    if (access(tool, X_OK) != 0) {
        print_error("%s is no program; set KILN_TOOL\n", tool);
        return -1;
    }
    choose_device();
    unsetenv("KILN_LOG");
    unsetenv("KILN_RECORD");
    unsetenv("KILN_BUNDLES");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    snprintf(cache, sizeof cache, "%s/cache_of_test", folder);
    return setenv("KILN_CACHE_DIR", cache, 1);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int cli_leave(void **state)
{
    (void)state;
    return chdir("/") != 0 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}
