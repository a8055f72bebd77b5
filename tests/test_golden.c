/*
 * test_golden.c - generated source, compared with files that people have read.
 *
 * Each tests/golden/NAME.kiln holds a request (oracle/request.h), a line "----", and the source
 * expected of it, with two things made short: of the prelude, which has tests of its own, only the
 * names of the parts that the kernel needs; and `*` for the line numbers that hang on its length.
 * KILN_UPDATE_GOLDEN=1 writes the files anew: read the difference before committing it, for every
 * change of it empties users' caches.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/request.h"
#include "test_data.h"

enum { FILES_MAX = 200 };

static void read_all(const char *path, char **text_out)
{
    size_t bytes = 0;

    if (kiln__read_file(path, 1 << 20, text_out, &bytes) != 0)
        fail_msg("%s cannot be read", path);
}

/* The names of all files, sorted, so that a run is the same everywhere. */
static size_t list_files(char names[][256])
{
    char path[1024];
    DIR *dir = opendir(test_data("golden", path, sizeof path));
    struct dirent *entry;
    size_t count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');

        if (end == NULL || strcmp(end, ".kiln") != 0 || count == FILES_MAX)
            continue;
        snprintf(names[count++], 256, "%s", entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    qsort(names, count, 256, (int (*)(const void *, const void *))strcmp);
    return count;
}

/* ---- sources made short ---- */

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');

    return end != NULL ? end + 1 : line + strlen(line);
}

/* The end of the prelude: a placeholder's typedef, the user's preamble, or the argument block. */
static bool ends_prelude(const char *line)
{
    static const char *const starts[] = {"#line 1 \"preamble\"", "struct kiln__args"};
    const char *end = strchr(line, '\n');

    for (size_t k = 0; k < KILN_COUNT_OF(starts); k++)
        if (strncmp(line, starts[k], strlen(starts[k])) == 0)
            return true;
    return end != NULL && end - line > 10 && strncmp(line, "typedef ", 8) == 0 && end[-1] == ';' &&
           end[-2] >= 'A' && end[-2] <= 'Z' && end[-3] == ' ';
}

/* The name of the part of the prelude that begins with this line: "// base (CUDA): ..." */
static size_t part_name(const char *line)
{
    size_t name = strncmp(line, "// ", 3) == 0
                      ? strspn(line + 3, "abcdefghijklmnopqrstuvwxyz0123456789_")
                      : 0;
    const char *after = line + 3 + name;

    if (name == 0)
        return 0;
    if (strncmp(after, " (CUDA):", 8) == 0 || strncmp(after, " (CPU):", 7) == 0 || *after == ':')
        return name;
    return 0;
}

/* The source as golden files hold it; free with kiln__free(). */
static char *make_short(const char *source)
{
    kiln__buf b = KILN__BUF_INIT;
    const char *line = next_line(source);

    kiln__buf_put(&b, source, (size_t)(line - source));
    kiln__buf_puts(&b, "// prelude:");
    for (; *line != '\0' && !ends_prelude(line); line = next_line(line)) {
        size_t name = part_name(line);

        if (name > 0)
            kiln__buf_printf(&b, " %.*s", (int)name, line + 3);
    }
    kiln__buf_puts(&b, "\n\n");
    for (; *line != '\0'; line = next_line(line)) {
        const char *own =
            strncmp(line, "#line ", 6) == 0 ? strstr(line, " \"kiln.generated\"") : NULL;

        if (own != NULL && own < next_line(line))
            kiln__buf_puts(&b, "#line * \"kiln.generated\"\n");
        else
            kiln__buf_put(&b, line, (size_t)(next_line(line) - line));
    }
    return kiln__buf_take(&b);
}

/* ---- files ---- */

/* Where two texts part: the line of each, printed. */
static void show_difference(const char *name, const char *want, const char *got)
{
    size_t line = 1;
    const char *w = want, *g = got;

    while (*w != '\0' && *w == *g) {
        line += *w == '\n';
        w++;
        g++;
    }
    while (w > want && w[-1] != '\n') {
        w--;
        g--;
    }
    print_error("%s: line %zu of the source\n  expected: %.*s\n  got:      %.*s\n", name, line,
                (int)strcspn(w, "\n"), w, (int)strcspn(g, "\n"), g);
}

static void rewrite(const char *path, const char *text, size_t head_bytes, const char *source)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        fail_msg("%s cannot be written", path);
    fprintf(out, "%.*s----\n%s", (int)head_bytes, text, source);
    fclose(out);
}

static bool check_file(const char *name)
{
    char path[1024], local[300];
    char *text = NULL, *got;
    const char *line;
    request r;
    bool same;

    snprintf(local, sizeof local, "golden/%s", name);
    read_all(test_data(local, path, sizeof path), &text);
    line = strstr(text, "\n----\n");
    if (line == NULL)
        fail_msg("%s has no line \"----\"", name);
    if (!request_emit(&r, text, 0))
        fail_msg("%s: %s", name, r.why);
    got = make_short(r.source.text);
    if (got == NULL)
        fail_msg("no memory");
    same = strcmp(line + 6, got) == 0;
    if (!same && getenv("KILN_UPDATE_GOLDEN") != NULL) {
        rewrite(path, text, (size_t)(line + 1 - text), got);
        print_message("%s was written anew\n", name);
        same = true;
    } else if (!same) {
        show_difference(name, line + 6, got);
    }
    request_clear(&r);
    kiln__free(got);
    kiln__free(text);
    return same;
}

static void test_golden__sources_are_what_the_files_say(void **state)
{
    static char names[FILES_MAX][256];
    size_t count = list_files(names), different = 0;

    (void)state;
    if (count == 0)
        fail_msg("no golden file was found");
    for (size_t k = 0; k < count; k++)
        different += !check_file(names[k]);
    if (different != 0)
        fail_msg("%zu of %zu sources differ; KILN_UPDATE_GOLDEN=1 writes them", different, count);
}

/* The hash of the source is the cache key: two runs must give the same bytes. */
static void test_golden__equal_requests_give_equal_bytes(void **state)
{
    static char names[FILES_MAX][256];
    size_t count = list_files(names);

    (void)state;
    for (size_t k = 0; k < count; k++) {
        char path[1024], local[300];
        request first, second;
        char *text = NULL;

        snprintf(local, sizeof local, "golden/%s", names[k]);
        read_all(test_data(local, path, sizeof path), &text);
        if (!request_emit(&first, text, 0) || !request_emit(&second, text, 0))
            fail_msg("%s: no source", names[k]);
        assert_int_equal(first.source.bytes, second.source.bytes);
        assert_memory_equal(first.source.text, second.source.text, first.source.bytes);
        assert_int_equal(first.source.bytes, strlen(first.source.text));
        request_clear(&first);
        request_clear(&second);
        kiln__free(text);
    }
}

/* How many members `struct kiln__args` of a source has: a line may declare several. */
static size_t count_members(const char *source)
{
    const char *at = strstr(source, "struct kiln__args {\n"), *end;
    size_t count = 0, nested = 0;

    if (at == NULL || (end = strstr(at, "\n};")) == NULL)
        fail_msg("the source has no argument block");
    for (; at < end + 1; at++) {
        nested += *at == '<';
        nested -= *at == '>';
        count += *at == ';' || (*at == ',' && nested == 0);
    }
    return count;
}

/* The launcher writes a slot for everything that the kernel reads, and nothing else. */
static void test_golden__argument_blocks_have_a_member_for_each_slot(void **state)
{
    static char names[FILES_MAX][256];
    size_t count = list_files(names);

    (void)state;
    for (size_t k = 0; k < count; k++) {
        char path[1024], local[300];
        request r;
        char *text = NULL;

        snprintf(local, sizeof local, "golden/%s", names[k]);
        read_all(test_data(local, path, sizeof path), &text);
        for (int backend = KILN_BACKEND_CPU; backend <= KILN_BACKEND_CUDA; backend++) {
            if (!request_emit(&r, text, backend))
                fail_msg("%s: %s", names[k], r.why);
            if (count_members(r.source.text) != r.source.slot_count)
                fail_msg("%s: %zu members, %zu slots", names[k], count_members(r.source.text),
                         r.source.slot_count);
            request_clear(&r);
        }
        kiln__free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden__sources_are_what_the_files_say),
        cmocka_unit_test(test_golden__equal_requests_give_equal_bytes),
        cmocka_unit_test(test_golden__argument_blocks_have_a_member_for_each_slot),
    };

    return cmocka_run_group_tests_name("test_golden", tests, NULL, NULL) == 0 ? 0 : 1;
}
