/*
 * make_prelude.c - the words of CUDA that plain C++ lacks, for kernels that a host compiler takes.
 *
 *     the library's sections (src/codegen/templates.h) -> [make_prelude > prelude.h] -> device.h
 *
 * The cpu device has these words already: intrinsics, mathematics, short vectors. They are taken
 * from its sections, under other names where they are private, so that what a kernel brings along
 * for CUDA does not meet them.
 */
#include <stdio.h>
#include <string.h>

#include "codegen/templates.h"

/* Sections of the cpu device that a kernel for CUDA must not meet: device.h has the words itself,
 * or the kernel brings them along. */
static const char *const not_taken[] = {
    "base",      "noinline",  "trap",      "assert", "memcpy",   "fences",    "int64_t", "uint64_t",
    "intptr_t",  "uintptr_t", "INFINITY",  "NAN",    "HUGE_VAL", "HUGE_VALF", "high64",  "atomics",
    "atomicAdd", "atomicInc", "atomicDec", "cas",    "rounded",  "__ldg",     "__ldca",  "__ldcg",
    "__ldcs",    "__ldcv",    "__ldlu",    "__stcg", "__stcs",   "__stwb",    "__stwt"};

/* From here on sections are what kiln's own operations are made of, which kernels bring along. */
static const char first_of_kiln[] = "position";

/* Sections of both devices that the taken ones need. */
static const char *const needed[] = {"traits", "own"};

static int is_in(const char *name, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(name, names[k]) == 0)
            return 1;
    return 0;
}

/* Print a text with its private names changed. */
static void put(const char *text)
{
    while (*text != '\0') {
        const int small = strncmp(text, "kiln__", 6) == 0;
        if (small || strncmp(text, "KILN__", 6) == 0) {
            fputs(small ? "emu__" : "EMU__", stdout);
            text += 6;
        } else {
            putchar(*text++);
        }
    }
    putchar('\n');
}

int main(void)
{
    puts("// Made by make_prelude.c from templates/prelude; edit those.");
    for (size_t k = 0; k < kiln__prelude_section_count; k++) {
        const struct kiln__prelude_section *s = &kiln__prelude_sections[k];
        if (strcmp(s->name, first_of_kiln) == 0)
            break;
        if (s->backends == KILN__ON_CPU
                ? !is_in(s->name, not_taken, sizeof not_taken / sizeof not_taken[0])
                : is_in(s->name, needed, sizeof needed / sizeof needed[0]))
            put(s->text);
    }
    return 0;
}
