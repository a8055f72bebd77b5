/*
 * template.c - expand kernel skeletons: a recursive walk over the lines of a template.
 *
 *     plan > [emit: template] > compile
 *
 * Rule 1: no kernel text in this file; what a kernel looks like is in templates/.
 * Rule 2: cmake/make_templates.c embeds nothing but well-formed directives, each at the beginning of
 *         its line with one blank between words, and closed blocks; nothing of that is checked again.
 *
 * emit.c and module_text.c call this file. Tests: test_template, test_golden.
 */
#include "codegen/template.h"

#include "codegen/templates.h"

enum { INSERT_DEPTH_MAX = 8 };

typedef struct expander {
    const char *path; /* for messages */
    const char *text;
    size_t bytes;
    size_t first_line; /* of the text in its file */
    int depth;         /* of inserts */
    const kiln__template_env *env;
    kiln__buf *out;
    kiln_error *err;
} expander;

typedef struct line {
    const char *text; /* without the newline */
    size_t bytes;
    size_t next;      /* offset of the following line */
    const char *word; /* directive's first word, or NULL for a text line */
    size_t word_bytes;
    const char *rest; /* what follows it */
    size_t rest_bytes;
    bool note; /* a //# line */
} line;

static line read_line(const expander *x, size_t at)
{
    line l = {x->text + at, 0, 0, NULL, 0, NULL, 0, false};
    const char *end = memchr(l.text, '\n', x->bytes - at);
    const char *stop = end != NULL ? end : x->text + x->bytes;
    const char *p = l.text;

    l.bytes = (size_t)(stop - l.text);
    l.next = (size_t)(stop - x->text) + (end != NULL);
    if (l.bytes < 3 || p[0] != '/' || p[1] != '/')
        return l;
    l.note = p[2] == '#';
    if (p[2] != '%')
        return l;
    l.word = p + strlen("//% ");
    const char *blank = memchr(l.word, ' ', (size_t)(stop - l.word));
    l.word_bytes = (size_t)((blank != NULL ? blank : stop) - l.word);
    l.rest = blank != NULL ? blank + 1 : stop;
    l.rest_bytes = (size_t)(stop - l.rest);
    return l;
}

static bool is_word(const line *l, const char *word)
{
    return l->word != NULL && kiln__same_word(l->word, l->word_bytes, word);
}

static kiln_status broken(const expander *x, const line *l, const char *why)
{
    size_t number = x->first_line;
    for (const char *p = x->text; p < l->text; p++)
        number += *p == '\n';
    return kiln__fail(x->err, KILN_ERR_INTERNAL, "template %.*s:%zu: %s: %.*s",
                      (int)strcspn(x->path, ":"), x->path, number, why,
                      (int)(l->bytes > 100 ? 100 : l->bytes), l->text);
}

/* The block whose body begins at `at`: offset of its `end` line, and in `otherwise` that of its
 * `else` line, or of the `end` again. */
static size_t find_close(const expander *x, size_t at, size_t *otherwise)
{
    int depth = 0;
    *otherwise = SIZE_MAX;
    for (;; at = read_line(x, at).next) {
        const line l = read_line(x, at);
        if (is_word(&l, "for") || is_word(&l, "if"))
            depth++;
        else if (depth == 0 && is_word(&l, "else"))
            *otherwise = at;
        else if (is_word(&l, "end") && depth-- == 0)
            break;
    }
    if (*otherwise == SIZE_MAX)
        *otherwise = at;
    return at;
}

/* Append a line's text with its ${values} put in. */
static kiln_status substitute(expander *x, const line *l, kiln__buf *out)
{
    const char *p = l->text, *stop = l->text + l->bytes;
    while (p < stop) {
        const char *mark = memchr(p, '$', (size_t)(stop - p));
        if (mark == NULL || stop - mark < 3 || mark[1] != '{') {
            size_t plain = mark == NULL ? (size_t)(stop - p) : (size_t)(mark - p) + 1;
            kiln__buf_put(out, p, plain);
            p += plain;
            continue;
        }
        const char *close = memchr(mark, '}', (size_t)(stop - mark));
        kiln__buf_put(out, p, (size_t)(mark - p));
        if (close == NULL ||
            !x->env->value(x->env->state, mark + 2, (size_t)(close - mark - 2), out))
            return broken(x, l, "unknown value");
        p = close + 1;
    }
    return KILN_OK;
}

static kiln_status expand_range(expander *x, size_t at, size_t end);

static kiln_status expand_for(expander *x, const line *l, size_t body, size_t close)
{
    /* "p in LIST": the variable's name only documents the template. */
    const char *in = l->rest, *stop = l->rest + l->rest_bytes;
    in += strcspn(in, " ") + strlen(" in ");
    for (int nth = 0;; nth++) {
        int more = x->env->item(x->env->state, in, (size_t)(stop - in), nth);
        if (more < 0)
            return broken(x, l, "unknown list");
        if (more == 0)
            return KILN_OK;
        KILN_CHECK(expand_range(x, body, close));
    }
}

static kiln_status expand_if(expander *x, const line *l, size_t body, size_t otherwise,
                             size_t close)
{
    bool negate = l->rest_bytes > 0 && l->rest[0] == '!';
    int answer = x->env->test(x->env->state, l->rest + negate, l->rest_bytes - negate);
    if (answer < 0)
        return broken(x, l, "unknown condition");
    if ((answer != 0) != negate)
        return expand_range(x, body, otherwise);
    return otherwise == close ? KILN_OK : expand_range(x, read_line(x, otherwise).next, close);
}

static const struct kiln__template_file *find_file(const char *path)
{
    size_t low = 0, high = kiln__template_file_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(path, kiln__template_files[middle].path);
        if (order == 0)
            return &kiln__template_files[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

#ifdef KILN_TEST_HOOKS
const struct kiln__template_file *kiln__test_template;
#endif

static kiln_status expand_file(const char *path, int depth, const kiln__template_env *env,
                               kiln__buf *out, kiln_error *err)
{
    const struct kiln__template_file *f = find_file(path);
#ifdef KILN_TEST_HOOKS
    if (f == NULL && kiln__test_template != NULL && strcmp(path, kiln__test_template->path) == 0)
        f = kiln__test_template;
#endif
    if (f == NULL)
        return kiln__fail(err, KILN_ERR_INTERNAL, "there is no template %s", path);
    expander x = {path, f->text, f->bytes, f->line, depth, env, out, err};
    return expand_range(&x, 0, f->bytes);
}

static kiln_status expand_insert(expander *x, const line *l)
{
    kiln__buf path = KILN__BUF_INIT;
    line name = {.text = l->rest, .bytes = l->rest_bytes};
    if (x->depth >= INSERT_DEPTH_MAX)
        return broken(x, l, "inserts nest too deeply");
    kiln_status status = substitute(x, &name, &path);
    if (status == KILN_OK && path.failed)
        x->out->failed = true;
    else if (status == KILN_OK)
        status = expand_file(path.text, x->depth + 1, x->env, x->out, x->err);
    kiln__buf_clear(&path);
    return status;
}

static kiln_status expand_range(expander *x, size_t at, size_t end)
{
    kiln_status status = KILN_OK;
    while (at < end && status == KILN_OK) {
        line l = read_line(x, at);
        at = l.next;
        if (l.word == NULL) {
            if (l.note)
                continue;
            status = substitute(x, &l, x->out);
            kiln__buf_putc(x->out, '\n');
        } else if (is_word(&l, "insert")) {
            status = expand_insert(x, &l);
        } else {
            size_t otherwise, close = find_close(x, at, &otherwise);
            status = is_word(&l, "for") ? expand_for(x, &l, at, close)
                                        : expand_if(x, &l, at, otherwise, close);
            at = read_line(x, close).next;
        }
    }
    return status;
}

kiln_status kiln__template_expand(const char *path, const kiln__template_env *env, kiln__buf *out,
                                  kiln_error *err)
{
    return expand_file(path, 0, env, out, err);
}
