/*
 * template.h - expand kernel skeletons. Private to src/codegen.
 *
 * A template is C++ text with marks that leave it readable as C++:
 *
 *     ${name}             replaced by a value
 *     //% for p in LIST   ... //% end     repeated for each item of a list
 *     //% if NAME | !NAME ... //% else ... //% end
 *     //% insert FILE     another template, expanded in place; FILE may hold ${name}s
 *     //# text            a note to the template's reader; not copied
 *
 * Directives stand alone on a line. What names, lists and conditions mean is up to the caller.
 *
 * Templates are checked when they are embedded (cmake/make_templates.c): every block has its end and
 * every directive is one of these. docs/templates.md describes that side of the language.
 */
#ifndef KILN_CODEGEN_TEMPLATE_H
#define KILN_CODEGEN_TEMPLATE_H

#include "core/core.h"

/* Answers of the caller. `name` is not NUL-terminated. */
typedef struct kiln__template_env {
    void *state;
    /* Append the value of `name`; false when there is no such name. */
    bool (*value)(void *state, const char *name, size_t bytes, kiln__buf *out);
    /* 1, 0, or -1 when there is no such condition. */
    int (*test)(void *state, const char *name, size_t bytes);
    /* Make item `nth` of a list the current one; `nth` counts from 0 and is never skipped. 1: done,
     * 0: the list has ended, -1: there is no such list. After 0 it is up to the caller which item is
     * current: a template asks for values of an item inside of a loop over its list only, unless the
     * list's owner says what they mean behind it. */
    int (*item)(void *state, const char *list, size_t bytes, int nth);
} kiln__template_env;

/* Expand the embedded template file `path` onto `out`. ERR_INTERNAL says what the caller does not
 * know, with file and line, or that there is no such file; running out of memory shows in
 * out->failed. */
kiln_status kiln__template_expand(const char *path, const kiln__template_env *env, kiln__buf *out,
                                  kiln_error *err);

#ifdef KILN_TEST_HOOKS
/* One more file (templates.h): what a test adds. */
extern const struct kiln__template_file *kiln__test_template;
#endif

#endif
