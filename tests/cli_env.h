/*
 * cli_env.h - the kiln command as a user meets it: the real program, started in an empty folder,
 * judged by its exit status, its two streams and the files it leaves.
 *
 * The program is $KILN_TOOL, else ../kiln beside the folder of the test program.
 */
#ifndef KILN_TESTS_CLI_ENV_H
#define KILN_TESTS_CLI_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CLI_TEXT_MAX = 1 << 18, CLI_PATH_BYTES = 1024 };

/* What the last run left behind. */
typedef struct cli_outcome {
    int status;
    char out[CLI_TEXT_MAX];
    char err[CLI_TEXT_MAX];
} cli_outcome;
extern cli_outcome cli;

/* Group fixtures: into a new folder, whose cache_of_test is $KILN_CACHE_DIR; and out of it. */
int cli_enter(void **state);
int cli_leave(void **state);

/* Run the program with these words, argv[0] included; standard input is `input` (NULL: nothing). */
void cli_run(char *const *argv, const char *input);
#define KILN(...) cli_run((char *[]){"kiln", __VA_ARGS__, NULL}, NULL)

/* The same with standard output going to a file of its own; cli.out is empty then. */
void cli_run_into(char *const *argv, const char *path);

/* The same with standard error on a terminal of so many columns (0: it does not tell); what was
 * written there is cli.err. */
void cli_run_on_terminal(char *const *argv, unsigned short columns);

/* The last run succeeded and had nothing to say on stderr. */
void cli_expect_done(const char *file, int line);
#define EXPECT_DONE() cli_expect_done(__FILE__, __LINE__)
/* It ended with this status, and `text` stands on stderr. */
void cli_expect_failed(int status, const char *text, const char *file, int line);
#define EXPECT_FAILED(status, text) cli_expect_failed((status), (text), __FILE__, __LINE__)
/* So, and it printed no result and explained itself in one line at least. */
void cli_expect_refused(int status, const char *text, const char *file, int line);
#define EXPECT_REFUSED(status, text) cli_expect_refused((status), (text), __FILE__, __LINE__)
/* `text` stands on stdout. */
void cli_expect_out(const char *text, const char *file, int line);
#define EXPECT_OUT(text) cli_expect_out((text), __FILE__, __LINE__)

void cli_write(const char *path, const char *text);
void cli_write_script(const char *path, const char *text); /* the same, and executable */
size_t cli_read(const char *path, char *text);             /* CLI_TEXT_MAX bytes of room */

/* .npy files byte by byte, so that kiln's own reader is not its own judge. C-order elements;
 * `dtype` and `shape` as in the header: "<f4", "(2, 3)". */
void cli_write_npy(const char *path, const char *dtype, const char *shape, const void *data,
                   size_t bytes);
/* The file must hold exactly this dtype, shape and these elements. */
void cli_expect_npy(const char *path, const char *dtype, const char *shape, const void *data,
                    size_t bytes);

#endif
