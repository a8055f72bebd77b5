/*
 * fuzz_options.c - the list of allowed compiler options, and the reader of what a compiler has read.
 *
 * An input is a list of options, one a line. For each: what is allowed holds its value, names a file
 * only where a header or a library may be named, and has none of the words by which compilers start
 * programs or write files. The whole input is also read as a makefile's rule, as -MD writes it.
 */
#include <stdlib.h>

#include "device/cpu/cpu.h"
#include "promise.h"

static bool begins(const char *text, const char *const *starts)
{
    for (; *starts != NULL; starts++)
        if (strncmp(text, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

static void judge(const char *option)
{
    static const char *const texts[] = {"-D", "--D", "-d", "--d",   "-I",     "--I",
                                        "-i", "--i", "-L", "-pre-", "--pre-", NULL};
    static const char *const never[] = {"plugin", "dump",   "prefix", "sysroot", "wrapper", "specs",
                                        "lto",    "-temps", "llvm",   "load",    "output",  NULL};
    static const char *const lists[] = {"-D", "--D", "-d", "--d",   "-I",   "--I", "-i", "--i",
                                        "-L", "-U",  "--", "-pre-", "-std", "-l",  NULL};

    for (int backend = 0; backend < 2; backend++) {
        const kiln_backend kind = backend == 0 ? KILN_BACKEND_CPU : KILN_BACKEND_CUDA;
        if (!kiln__option_allowed(kind, option))
            continue;
        PROMISE(option[0] == '-' && option[1] != '\0');
        PROMISE(strchr(option, '/') == NULL || begins(option, texts));
        PROMISE(kind == KILN_BACKEND_CUDA || strncmp(option, "-o", 2) != 0);
        for (const char *const *word = never; *word != NULL; word++)
            PROMISE(strstr(option, *word) == NULL || begins(option, lists) ||
                    strchr(option, '=') != NULL || kind == KILN_BACKEND_CUDA ||
                    strncmp(option, "-W", 2) == 0 || strncmp(option, "-m", 2) == 0 ||
                    strncmp(option, "-O", 2) == 0 || strncmp(option, "-gdwarf", 7) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1), *names = NULL;

    PROMISE(text != NULL);
    if (bytes != 0)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    names = kiln__cxx_inputs(text);
    PROMISE(names == NULL || names[0] == '\0' || names[strlen(names) - 1] == '\n');
    PROMISE(names == NULL || strlen(names) <= 2 * bytes + 1);
    kiln__free(names);
    for (char *line = text, *end = text; end != NULL; line = end != NULL ? end + 1 : line) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        judge(line);
    }
    free(text);
    return 0;
}
