/*
 * templates.h - the files of templates/, embedded into the library when it is built.
 *
 * Private to src/codegen. cmake/make_templates.c checks the files and makes both tables.
 */
#ifndef KILN_CODEGEN_TEMPLATES_H
#define KILN_CODEGEN_TEMPLATES_H

#include <stddef.h>
#include <stdint.h>

/* A template, or a part of one, as the expander reads it: its own words have their prefix, lines of
 * notes are empty. */
struct kiln__template_file {
    const char *path; /* below templates/: "cuda/linear.cu"; of a part "cuda/strided.cu:burst" */
    const char *text; /* NUL-terminated */
    size_t bytes;     /* without the NUL */
    size_t line;      /* where in its file it begins */
};

/* Sorted by path as strcmp() does; one entry of NULLs follows the last. */
extern const struct kiln__template_file kiln__template_files[];
extern const size_t kiln__template_file_count;

/* A section of templates/prelude/. docs/templates.md says what `needs` and `when` mean. */
enum {
    KILN__ON_CUDA = 1,
    KILN__ON_CPU = 2,
    KILN__ON_BOTH = 3,
    KILN__SECTIONS_MAX = 1024,
    KILN__SECTION_NONE = 0xffff
};

struct kiln__prelude_section {
    const char *name;
    int backends;
    uint16_t first, same; /* the first section of this name, and the next one or NONE */
    const char *text;
    size_t bytes;
    const uint16_t *needs; /* the first sections of the names that it needs, ended by NONE */
    const char *when;      /* terms of more than one condition, separated by blanks */
    const char *unless;    /* headers whose inclusion rules it out, separated by blanks */
};

/* At most KILN__SECTIONS_MAX, in the order in which they are emitted. */
extern const struct kiln__prelude_section kiln__prelude_sections[];
extern const size_t kiln__prelude_section_count;

/* A term of one condition and a section that is emitted where it holds; or '@' and a section's
 * name, and the first section of that name. Sorted as strcmp() does. */
struct kiln__prelude_word {
    const char *word;
    uint16_t section;
};

extern const struct kiln__prelude_word kiln__prelude_words[];
extern const size_t kiln__prelude_word_count;

#endif
