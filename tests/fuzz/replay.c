/*
 * replay.c - run a fuzz target on a corpus, as a plain test.
 *
 *     fuzz_blob corpus/blob [more folders or files]
 *
 * Linked with any file that defines LLVMFuzzerTestOneInput, by any compiler. Ends with 0 when every
 * input went through; a crash or a broken promise ends it earlier, after the input's name has been
 * printed. A folder without inputs is a failure: a corpus that got lost would pass for ever.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Run one file; its bytes are in memory of exactly their size. False when it cannot be read. */
static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    uint8_t *data = NULL;
    size_t bytes = 0;
    int ok = 0;

    if (f == NULL || stat(path, &st) != 0)
        goto done;
    bytes = (size_t)st.st_size;
    data = malloc(bytes + (bytes == 0));
    ok = data != NULL && fread(data, 1, bytes, f) == bytes;
    if (ok) {
        /* Flushed, so that the name of an input that crashes is the last line. */
        printf("%s\n", path);
        fflush(stdout);
        LLVMFuzzerTestOneInput(data, bytes);
    }

done:
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    free(data);
    if (f != NULL)
        fclose(f);
    return ok;
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Number of inputs run, or -1. */
static int replay_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, not_hidden, alphasort);
    int ok = count > 0;

    if (count < 0)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    else if (count == 0)
        fprintf(stderr, "%s: no inputs\n", path);
    for (int k = 0; k < count; k++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[k]->d_name);
        ok = ok && replay_file(name);
        free(entries[k]);
    }
    free(entries);
    return ok ? count : -1;
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int k = 1; k < argc; k++) {
        struct stat st;
        int count = -1;
        if (stat(argv[k], &st) == 0 && !S_ISDIR(st.st_mode))
            count = replay_file(argv[k]) ? 1 : -1;
        else
            count = replay_folder(argv[k]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 2;
}
