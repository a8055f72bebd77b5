/*
 * rewrite.c - what a host compiler cannot take of kernel source: PTX; and which kernels there are.
 *
 *     source -> [asm statements become calls of ptx.def's functions] -> list of kernels behind it
 *
 * Everything else is said by macros and functions of device.h. Rule: lines keep their numbers.
 */
#define _GNU_SOURCE
#include "rewrite.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *function;
} twins[] = {
#define PTX(text, function) {text, #function},
#include "ptx.def"
#undef PTX
};

enum { KERNELS_MAX = 64 };

typedef struct span {
    const char *text;
    int length;
} span;

typedef struct kernel {
    span name, threads_max, cluster;
} kernel;

const char *emu_ptx_twin(const char *text, size_t length)
{
    for (size_t k = 0; k < sizeof twins / sizeof twins[0]; k++)
        if (strlen(twins[k].text) == length && memcmp(twins[k].text, text, length) == 0)
            return twins[k].function;
    return NULL;
}

/* ---- tokens ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment, a string, a character, a number or a word; else one character further. */
static const char *token_end(const char *p)
{
    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end != NULL ? end + 2 : p + strlen(p);
    }
    if (*p == '"' || *p == '\'') {
        const char quote = *p++;
        while (*p != '\0' && *p != quote && *p != '\n')
            p += p[0] == '\\' && p[1] != '\0' ? 2 : 1;
        return *p == quote ? p + 1 : p;
    }
    if (isdigit((unsigned char)*p)) {
        while (is_word(*p) || *p == '.' || (*p == '\'' && is_word(p[1])))
            p++;
        return p;
    }
    if (is_word(*p)) {
        while (is_word(*p))
            p++;
        return p;
    }
    return p + 1;
}

static const char *skip_space(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (p[0] != '/' || (p[1] != '/' && p[1] != '*'))
            return p;
        p = token_end(p);
    }
}

static bool is(const char *p, const char *end, const char *word)
{
    return (size_t)(end - p) == strlen(word) && memcmp(p, word, strlen(word)) == 0;
}

/* Behind the parenthesis that closes the one at `p`. */
static const char *closing(const char *p)
{
    int depth = 0;

    while (*p != '\0') {
        depth += (*p == '(') - (*p == ')');
        p = token_end(p);
        if (depth == 0)
            break;
    }
    return p;
}

/* The first of the arguments in the parentheses at `p`. */
static span first_argument(const char *p)
{
    const char *const begin = ++p;
    int depth = 0;

    while (*p != '\0' && (depth > 0 || (*p != ',' && *p != ')'))) {
        depth += (*p == '(') - (*p == ')');
        p = token_end(p);
    }
    return (span){begin, (int)(p - begin)};
}

/* ---- kernels ---- */

/* What stands behind __global__: its name, and what it says of its blocks. */
static void find_kernel(const char *p, kernel *out)
{
    *out = (kernel){{NULL, 0}, {"0", 1}, {"0", 1}};
    for (;;) {
        p = skip_space(p);
        const char *end = token_end(p);
        const char *next = skip_space(end);
        if (*p == '\0' || *p == ';' || *p == '{')
            return;
        const bool bounds = is(p, end, "__launch_bounds__"), dims = is(p, end, "__cluster_dims__");
        if (*next == '(' && (bounds || dims)) {
            *(bounds ? &out->threads_max : &out->cluster) = first_argument(next);
            p = closing(next);
        } else if (*next == '(' && is_word(*p)) {
            out->name = (span){p, (int)(end - p)};
            return;
        } else {
            p = end;
        }
    }
}

/* ---- asm ---- */

/* Write the statement that begins behind `asm` as a call; returns where it ends, NULL if it is none
 * that can be read. */
static const char *rewrite_asm(const char *p, FILE *out)
{
    int operands = 0;

    p = skip_space(p);
    while (is(p, token_end(p), "volatile") || is(p, token_end(p), "__volatile__"))
        p = skip_space(token_end(p));
    if (*p != '(')
        return NULL;
    const char *const end = closing(p);
    p = skip_space(p + 1);
    const char *const text = p + 1;
    p = token_end(p);
    const size_t length = (size_t)(p - 1 - text);
    const char *function = emu_ptx_twin(text, length);
    if (function == NULL) {
        fprintf(out, "static_assert(false, \"no twin of this PTX in ptx.def: %.*s\")", (int)length,
                text);
        return end;
    }
    fprintf(out, "%s(", function);
    /* "constraint"(expression), ...: behind the third colon stands what is clobbered. */
    for (int colons = 0; p < end - 1 && colons < 3;) {
        p = skip_space(p);
        colons += *p == ':';
        const char *next = token_end(p);
        if (*p == '"' && *skip_space(next) == '(' && colons < 3) {
            const char *from = skip_space(next);
            next = closing(from);
            fprintf(out, "%s%.*s", operands++ > 0 ? ", " : "", (int)(next - from), from);
        }
        p = next;
    }
    fputc(')', out);
    return end;
}

/* ---- all of it ---- */

static void write_kernels(FILE *out, const kernel *kernels, size_t count)
{
    fputs("\n#line 1 \"emulator\"\nstatic const emu_entry emu_entries[] = {\n", out);
    for (size_t k = 0; k < count; k++)
        fprintf(out, "EMU_KERNEL(%.*s, %.*s, %.*s)\n", kernels[k].name.length, kernels[k].name.text,
                kernels[k].threads_max.length, kernels[k].threads_max.text,
                kernels[k].cluster.length, kernels[k].cluster.text);
    fputs("{}};\nEMU_MODULE(emu_entries)\n", out);
}

char *emu_rewrite(const char *source, int arch)
{
    kernel kernels[KERNELS_MAX];
    size_t count = 0, bytes = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    fprintf(out, "#define __CUDA_ARCH__ %d\n#line 1 \"kiln.cu\"\n", arch * 10);
    for (const char *p = source; *p != '\0';) {
        const char *end = token_end(p), *behind = NULL;
        if (is(p, end, "asm") || is(p, end, "__asm__"))
            behind = rewrite_asm(end, out);
        if (behind == NULL) {
            fwrite(p, 1, (size_t)(end - p), out);
            behind = end;
        }
        if (is(p, end, "__global__") && count < KERNELS_MAX) {
            find_kernel(end, &kernels[count]);
            count += kernels[count].name.text != NULL;
        }
        p = behind;
    }
    write_kernels(out, kernels, count);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
