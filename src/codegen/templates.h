/*
 * templates.h - the files of templates/, embedded into the library when it is built.
 *
 * Private to src/codegen. cmake/make_templates.c checks the files and makes both tables.
 */
#ifndef KILN_CODEGEN_TEMPLATES_H
#define KILN_CODEGEN_TEMPLATES_H

#include <stddef.h>

/* A template, or a part of one, as the expander reads it: words have their prefixes, notes are
 * empty. */
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
enum { KILN__ON_CUDA = 1, KILN__ON_CPU = 2, KILN__ON_BOTH = 3, KILN__SECTIONS_MAX = 1024 };

struct kiln__prelude_section {
    const char *name; /* more than one section may have it */
    int backends;
    const char *text;
    size_t bytes;
    const char *needs; /* names of sections, separated by one blank */
    const char *when;  /* terms, separated by one blank */
};

/* At most KILN__SECTIONS_MAX, in the order in which they are emitted. */
extern const struct kiln__prelude_section kiln__prelude_sections[];
extern const size_t kiln__prelude_section_count;

#endif
