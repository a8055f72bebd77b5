/*
 * template.h - expand kernel skeletons. Private to src/codegen.
 *
 * A template is C++ text with directives that leave it readable as C++:
 *
 *     ${name}             replaced by a value
 *     //% for p in LIST   ... //% end     repeated for each item of a list
 *     //% if NAME | !NAME ... //% else ... //% end
 *     //% insert FILE     another template, expanded in place; FILE may hold ${name}s
 *     //# text            a note to the template's reader; not copied
 *
 * Directives stand alone on a line. What names, lists and conditions mean is up to the caller.
 *
 * Templates are checked when they are embedded (cmake/make_templates.c): every block has its end
 * and every directive is one of these. docs/templates.md describes that side of the language.
 */
#ifndef KILN_CODEGEN_TEMPLATE_H
#define KILN_CODEGEN_TEMPLATE_H

#include "core/core.h"

/* The caller's functions for names, conditions and lists. `name` and `list` are not NUL-terminated. */
typedef struct kiln__template_env {
    void *state;
    /* Append the value of `name`. Returns false when there is no such name. */
    bool (*value)(void *state, const char *name, size_t bytes, kiln__buf *out);
    /* The value of a condition, 0 or 1; -1 when there is no such condition. */
    int (*test)(void *state, const char *name, size_t bytes);
    /* Make item `nth` of a list the current one; a loop asks for 0, 1, 2, ... Returns 1; 0 when the
     * list has ended; -1 when there is no such list. Templates ask for values of an item inside of
     * a loop over its list only, unless the list's owner says what they mean after the loop. */
    int (*item)(void *state, const char *list, size_t bytes, int nth);
} kiln__template_env;

/* Append the expansion of the embedded template `path` to `out`. ERR_INTERNAL names what `env` does
 * not know, with file and line, or a file that does not exist. Running out of memory sets
 * out->failed. */
kiln_status kiln__template_expand(const char *path, const kiln__template_env *env, kiln__buf *out,
                                  kiln_error *err);

#ifdef KILN_TEST_HOOKS
/* A further template (templates.h), which a test adds; may be NULL. */
extern const struct kiln__template_file *kiln__test_template;
#endif

#endif
