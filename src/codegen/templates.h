/*
 * templates.h - the files of templates/, embedded into the library when it is built.
 *
 * Private to src/codegen. The table is made by cmake/embed.cmake; a template is found by its path
 * below templates/, e.g. "cuda/linear.cu". Texts are kept byte for byte.
 */
#ifndef KILN_CODEGEN_TEMPLATES_H
#define KILN_CODEGEN_TEMPLATES_H

#include <stddef.h>

struct kiln__template_file {
    const char *path; /* relative to templates/, with '/' */
    const char *text; /* NUL-terminated */
    size_t bytes;     /* without the NUL */
};

/* Sorted by path as strcmp() does; one entry of NULLs follows the last. */
extern const struct kiln__template_file kiln__template_files[];
extern const size_t kiln__template_file_count;

/* The file of this path, made of `folder` (with its slash, or "") and `name`; NULL when there is
 * none. In template.c. */
const struct kiln__template_file *kiln__template_find(const char *folder, const char *name);

#endif
