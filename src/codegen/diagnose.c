/*
 * diagnose.c - a compiler's log, told in the user's terms.
 *
 *     emit > compile > [diagnose]
 *
 *     op(1): error: identifier "q" is undefined      kernel "axpy": op, line 1, column 9:
 *       z = x * q + y;                           ->      identifier "q" is undefined
 *               ^
 *
 * The emitter puts `#line 1 "op"` before each snippet and `#line N "kiln.generated"` behind it, so
 * that places in the log are places in the user's text. NVRTC names lines as "op(1)" and shows the
 * column by a caret under an indented copy of the line; GCC and Clang write "op:1:9". All three
 * count bytes.
 *
 * Rule 1: the first error inside a snippet, or a header that it includes, is the user's error;
 *         what follows in generated code is mostly its echo.
 * Rule 2: an error that surfaces only in generated code is looked for in the snippets: a bracket
 *         that is open or closes nothing is the usual cause. If none is, and the place is the line
 *         just before or behind a snippet, it is the snippet's beginning or end: "x +" is missed
 *         where our ')' stands. Else say where it surfaced.
 * Rule 3: the whole log and the whole source are kept beside the message. Nothing is lost here.
 *
 * src/jit calls this file when a compiler refuses a source. Test: test_diagnose.
 */
#include "codegen/lexer.h"
#include "codegen/prelude.h"

/* Errors shown in the detail beyond the first. */
#define MORE_MAX 4

/* Longest message of one error. */
#define MESSAGE_BYTES 400

/* Where an error was found. The snippet kinds come first. */
typedef enum place { PLACE_HEADER = KILN__SNIPPET_COUNT, PLACE_GENERATED, PLACE_NOWHERE } place;

typedef struct finding {
    int place; /* a kiln__snippet_kind, or a place */
    const char *file;
    size_t file_bytes;
    size_t line, column; /* from 1; 0 is unknown */
    char message[MESSAGE_BYTES];
    const char *echo; /* of a header: the compiler's copy of the line, or NULL */
    size_t echo_bytes;
} finding;

typedef struct text {
    const char *at;
    size_t bytes;
} text;

/* ---- the log's lines ---- */

/* The line at `*at`, which moves behind it. */
static text take_line(const char **at)
{
    text line = {*at, strcspn(*at, "\n")};

    *at += line.bytes + ((*at)[line.bytes] == '\n');
    if (line.bytes != 0 && line.at[line.bytes - 1] == '\r')
        line.bytes--;
    return line;
}

static bool begins(text t, const char *prefix)
{
    size_t bytes = strlen(prefix);
    return t.bytes >= bytes && memcmp(t.at, prefix, bytes) == 0;
}

static bool equals(text t, const char *word)
{
    return kiln__same_word(t.at, t.bytes, word);
}

/* Where `what` begins in `t`, or t.bytes. */
static size_t find(text t, const char *what)
{
    size_t bytes = strlen(what);

    for (size_t k = 0; k + bytes <= t.bytes; k++) {
        if (memcmp(t.at + k, what, bytes) == 0)
            return k;
    }
    return t.bytes;
}

static text rest_of(text t, size_t from)
{
    return (text){t.at + from, t.bytes - from};
}

/* Split "place: fatal error #12-D: message". */
static bool split_error(text line, text *where, text *message)
{
    static const char *const LEVELS[] = {": error", ": fatal error", ": catastrophic error",
                                         ": internal error", ": internal compiler error"};
    size_t at = line.bytes, level_bytes = 0;

    for (size_t k = 0; k < KILN_COUNT_OF(LEVELS); k++) {
        size_t found = find(line, LEVELS[k]);
        if (found < at) {
            at = found;
            level_bytes = strlen(LEVELS[k]);
        }
    }
    if (at == line.bytes)
        return false;
    *where = (text){line.at, at};
    *message = rest_of(line, at + level_bytes);
    if (begins(*message, " #"))
        *message = rest_of(*message, find(*message, ":"));
    if (!begins(*message, ": "))
        return false;
    *message = rest_of(*message, 2);
    return true;
}

/* Take a number off the end of `t`, with `before` in front of it. */
static bool take_number_back(text *t, char before, size_t *out)
{
    size_t begin = t->bytes, value = 0;

    while (begin > 0 && kiln__is_digit(t->at[begin - 1]))
        begin--;
    if (begin == t->bytes || t->bytes - begin > 9 || begin == 0 || t->at[begin - 1] != before)
        return false;
    for (size_t k = begin; k < t->bytes; k++)
        value = value * 10 + (size_t)(t->at[k] - '0');
    *out = value;
    t->bytes = begin - 1;
    return true;
}

/* How many lines a snippet has; a place beyond them is in what follows it. */
static size_t line_count(const char *snippet)
{
    size_t lines = 1;

    for (; *snippet != '\0'; snippet++)
        lines += *snippet == '\n';
    return lines;
}

/* Read "op(1)", "op:1:9" or "op:1"; `*by_caret` tells that the column is still to be found. */
static void read_place(const kiln__definition *def, text where, finding *out, bool *by_caret)
{
    size_t first = 0, second = 0;

    out->place = PLACE_NOWHERE;
    *by_caret = false;
    if (where.bytes != 0 && where.at[where.bytes - 1] == ')') {
        where.bytes--;
        if (!take_number_back(&where, '(', &out->line))
            return;
        *by_caret = true;
    } else if (take_number_back(&where, ':', &second)) {
        if (take_number_back(&where, ':', &first)) {
            out->line = first;
            out->column = second;
        } else {
            out->line = second;
        }
    } else {
        return;
    }
    out->file = where.at;
    out->file_bytes = where.bytes;
    out->place = begins(where, "kiln.") || equals(where, "<stdin>") || equals(where, "-")
                     ? (int)PLACE_GENERATED
                     : (int)PLACE_HEADER;
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++) {
        if (!equals(where, kiln__snippet_name((kiln__snippet_kind)k)))
            continue;
        out->place = k;
        if (out->line > line_count(def->snippet[k])) {
            out->place = PLACE_GENERATED;
            out->line = 0;
        }
    }
}

/* ---- messages ---- */

/* Just behind the '>' that closes the '<' at the beginning of `t`; 0 when none does. */
static size_t angle_end(text t)
{
    size_t depth = 0;

    for (size_t k = 0; k < t.bytes; k++) {
        if (t.at[k] == '<')
            depth++;
        else if (t.at[k] == '>' && --depth == 0)
            return k + 1;
    }
    return 0;
}

/* Append a message in the user's words: names of ours become what the documentation calls them,
 * or lose their prefix. */
static void put_message(kiln__buf *out, text message)
{
    static const char PREFIX[] = "kiln__";

    for (size_t k = 0; k < message.bytes;) {
        text here = rest_of(message, k);
        bool raw = begins(here, "kiln__raw<"), indexer = begins(here, "kiln__indexer<");
        bool inside = k != 0 && (kiln__is_digit(here.at[-1]) || here.at[-1] == '_' ||
                                 (here.at[-1] >= 'a' && here.at[-1] <= 'z') ||
                                 (here.at[-1] >= 'A' && here.at[-1] <= 'Z'));

        if ((raw || indexer) && angle_end(rest_of(here, find(here, "<"))) != 0) {
            size_t name = find(here, "<");
            kiln__buf_puts(out, raw ? "raw array" : "_ind");
            k += name + angle_end(rest_of(here, name));
        } else if (begins(here, PREFIX) && !inside) {
            k += sizeof PREFIX - 1;
        } else {
            kiln__buf_putc(out, here.at[0]);
            k++;
        }
    }
}

/* Whether a line of the log is blank but for one caret; `*at` is its column in bytes. */
static bool is_caret_line(text line, size_t *at)
{
    size_t k = 0;

    while (k < line.bytes && (line.at[k] == ' ' || line.at[k] == '\t'))
        k++;
    *at = k;
    return k + 1 == line.bytes && line.at[k] == '^';
}

/* Blanks that NVRTC puts before a copied line, and before further lines of a message. */
#define NVRTC_INDENT 2
#define NVRTC_MORE_INDENT 10

/* What NVRTC writes under an error, up to an empty line: further lines of the message, a copy of
 * the source line, a caret. */
static void read_nvrtc_block(const char *at, finding *out, kiln__buf *message)
{
    const char *begin = at;
    text previous = {NULL, 0};

    while (*at != '\0') {
        text line = take_line(&at);
        size_t caret = 0;

        if (line.bytes == 0 || (line.at[0] != ' ' && line.at[0] != '\t'))
            return;
        if (is_caret_line(line, &caret)) {
            out->column = caret >= NVRTC_INDENT ? caret - NVRTC_INDENT + 1 : 0;
            out->echo = previous.at != NULL ? previous.at : begin;
            out->echo_bytes = (size_t)(line.at + line.bytes - out->echo);
            return;
        }
        /* The line before this one was no copy of the source, so it belongs to the message. */
        if (previous.at != NULL) {
            size_t blanks = strspn(previous.at, " ");
            if (blanks >= NVRTC_MORE_INDENT && blanks < previous.bytes) {
                kiln__buf_puts(message, "; ");
                put_message(message, rest_of(previous, blanks));
            }
        }
        previous = line;
    }
}

/* The lines that GCC and Clang show under a place in a header: up to the next place. */
static void read_echo(const char *at, finding *out)
{
    out->echo = at;
    while (*at == ' ' || *at == '\t') {
        text line = take_line(&at);
        out->echo_bytes = (size_t)(line.at + line.bytes - out->echo);
    }
    if (out->echo_bytes == 0)
        out->echo = NULL;
}

/* The next error of the log. */
static bool next_finding(const kiln__definition *def, const char **log, finding *out)
{
    while (**log != '\0') {
        text line = take_line(log), where = {0}, message = {0};
        kiln__buf words = {.max_bytes = 1 << 20};
        bool by_caret = false;

        if (!split_error(line, &where, &message))
            continue;
        *out = (finding){.place = PLACE_NOWHERE};
        read_place(def, where, out, &by_caret);
        put_message(&words, message);
        if (by_caret)
            read_nvrtc_block(*log, out, &words);
        else if (out->place == PLACE_HEADER)
            read_echo(*log, out);
        snprintf(out->message, sizeof out->message, "%s", words.text != NULL ? words.text : "");
        kiln__buf_clear(&words);
        return true;
    }
    return false;
}

/* ---- brackets ---- */

/* Deepest nesting of brackets that is followed. */
#define BRACKETS_MAX 256

/* The token that is a bracket without a partner, or `count` when there is none. */
static size_t lonely_bracket(const kiln__tokens *t)
{
    static const char OPEN[] = "([{", CLOSE[] = ")]}";
    size_t open[BRACKETS_MAX], depth = 0;

    for (size_t k = 0; k < t->count; k++) {
        const char *mark = kiln__token_text(t, k), *which = NULL;

        if (t->items[k].kind != KILN__TOKEN_MARK || t->items[k].directive != 0 || mark[1] != '\0')
            continue;
        if (strchr(OPEN, mark[0]) != NULL) {
            if (depth == BRACKETS_MAX)
                return t->count;
            open[depth++] = k;
        } else if ((which = strchr(CLOSE, mark[0])) != NULL) {
            if (depth == 0)
                return k;
            if (kiln__token_text(t, open[depth - 1])[0] != OPEN[which - CLOSE])
                return open[depth - 1];
            depth--;
        }
    }
    return depth != 0 ? open[depth - 1] : t->count;
}

/* Where byte `at` of a text is. */
static void locate(const char *snippet, size_t at, finding *out)
{
    size_t begin = 0;

    out->line = 1;
    for (size_t k = 0; k < at; k++) {
        if (snippet[k] == '\n') {
            out->line++;
            begin = k + 1;
        }
    }
    out->column = at - begin + 1;
}

static bool find_lonely_bracket(const kiln__definition *def, finding *out)
{
    for (int s = 0; s < KILN__SNIPPET_COUNT; s++) {
        kiln__tokens tokens;

        kiln__lex(def->snippet[s], KILN__LEX_CPP, &tokens);
        size_t lonely = tokens.failed ? tokens.count : lonely_bracket(&tokens);
        bool found = lonely < tokens.count;
        if (found) {
            *out = (finding){.place = s};
            locate(def->snippet[s], tokens.items[lonely].at, out);
            snprintf(out->message, sizeof out->message, "\"%s\" has no partner",
                     kiln__token_text(&tokens, lonely));
        }
        kiln__tokens_clear(&tokens);
        if (found)
            return true;
    }
    return false;
}

/* ---- edges of snippets ---- */

/* The line of a text, from 1; NULL when there are fewer. */
static const char *line_of(const char *whole, size_t line)
{
    for (; line > 1 && whole != NULL; line--) {
        whole = strchr(whole, '\n');
        whole = whole != NULL ? whole + 1 : NULL;
    }
    return line == 0 ? NULL : whole;
}

/* The snippet that begins behind the `#line` directive at `at`, or KILN__SNIPPET_COUNT. */
static int snippet_begun(const char *at)
{
    text line = take_line(&at);

    for (int s = 0; s < KILN__SNIPPET_COUNT; s++) {
        char directive[64];
        snprintf(directive, sizeof directive, "#line 1 \"%s\"",
                 kiln__snippet_name((kiln__snippet_kind)s));
        if (equals(line, directive))
            return s;
    }
    return KILN__SNIPPET_COUNT;
}

/* The snippet behind which, blank lines aside, line `line` of the source is the first one, or
 * KILN__SNIPPET_COUNT. */
static int snippet_ended(const char *source, size_t line)
{
    int last = KILN__SNIPPET_COUNT;
    bool just = false;

    for (size_t k = 1; k < line && *source != '\0'; k++) {
        const int begun = snippet_begun(source);
        const bool directive = strncmp(source, "#line ", 6) == 0;

        last = begun != KILN__SNIPPET_COUNT ? begun : last;
        just = directive || (just && *source == '\n');
        (void)take_line(&source);
    }
    return just ? last : KILN__SNIPPET_COUNT;
}

/* Where the last token of a snippet ends. */
static size_t last_byte(const char *snippet)
{
    kiln__tokens tokens;
    size_t end = 0;

    kiln__lex(snippet, KILN__LEX_CPP, &tokens);
    if (!tokens.failed && tokens.count != 0)
        end = tokens.items[tokens.count - 1].at + tokens.items[tokens.count - 1].bytes;
    kiln__tokens_clear(&tokens);
    return end;
}

/* Move a finding in generated code to the edge of the snippet that it touches. */
static bool move_to_edge(const kiln__definition *def, const char *source, finding *f)
{
    const int ended = snippet_ended(source, f->line);
    const char *next = line_of(source, f->line + 1);
    const int begun = next != NULL ? snippet_begun(next) : KILN__SNIPPET_COUNT;

    if (ended == KILN__SNIPPET_COUNT && begun == KILN__SNIPPET_COUNT)
        return false;
    f->place = ended != KILN__SNIPPET_COUNT ? ended : begun;
    locate(def->snippet[f->place],
           ended != KILN__SNIPPET_COUNT ? last_byte(def->snippet[f->place]) : 0, f);
    return true;
}

/* ---- logs without a place ---- */

/* What linkers and assemblers say, who know no source lines. */
static bool find_unplaced(const char *log, finding *out)
{
    static const char UNDEFINED[] = "undefined reference to ";
    const char *first = log, *at = log;
    const char *undefined = strstr(log, UNDEFINED);

    *out = (finding){.place = PLACE_NOWHERE};
    if (undefined != NULL) {
        text line = take_line(&undefined);
        line = rest_of(line, sizeof UNDEFINED - 1);
        snprintf(out->message, sizeof out->message, "%.*s is declared and nowhere defined",
                 (int)(line.bytes < 200 ? line.bytes : 200), line.at);
        return true;
    }
    while (*at != '\0') {
        const char *begin = at;
        text line = take_line(&at);
        if (find(line, "error") != line.bytes || find(line, "fatal") != line.bytes) {
            first = begin;
            break;
        }
    }
    if (strncmp(first, "ptxas ", 6) == 0 || strncmp(first, "nvlink ", 7) == 0) {
        const char *colon = strstr(first, ": "); /* "ptxas fatal   : Unresolved ..." */
        first = colon != NULL ? colon + 2 : first;
    }
    first += strspn(first, " \t\r\n");
    if (*first == '\0')
        return false;
    snprintf(out->message, sizeof out->message, "%.*s", (int)strcspn(first, "\r\n"), first);
    return true;
}

/* ---- telling ---- */

/* Bytes of a line that are shown on either side of an error. */
#define SHOWN_BYTES 100

/* Bytes of the word that begins at `at`, or 1. */
static size_t word_bytes(const char *at)
{
    char first[2] = {at[0], '\0'};
    size_t bytes = 1;

    if (!kiln__is_identifier(first))
        return 1;
    for (;; bytes++) {
        char letter[2] = {at[bytes], '\0'};
        if (letter[0] == '\0' || (!kiln__is_identifier(letter) && !kiln__is_digit(letter[0])))
            return bytes;
    }
}

/* Where a snippet begins in the source, more of which stands behind it; NULL: nowhere. */
static const char *begin_of(const char *source, int snippet)
{
    char begin[64];

    snprintf(begin, sizeof begin, "#line 1 \"%.40s\"\n",
             kiln__snippet_name((kiln__snippet_kind)snippet));
    const char *at = source != NULL ? strstr(source, begin) : NULL;
    return at != NULL ? at + strlen(begin) : NULL;
}

/* Append the source line of a finding with a caret under the word that begins at its column. */
static void put_line(const kiln__definition *def, const char *source, const finding *f,
                     kiln__buf *out)
{
    const char *whole = f->place >= KILN__SNIPPET_COUNT     ? source
                        : def->snippet[f->place][0] != '\0' ? def->snippet[f->place]
                                                            : begin_of(source, f->place);
    const char *line = f->place == PLACE_NOWHERE ? NULL : line_of(whole, f->line);
    char *caret = NULL;

    if (f->place == PLACE_HEADER) {
        if (f->echo != NULL)
            kiln__buf_put(out, f->echo, f->echo_bytes);
        return;
    }
    if (line == NULL)
        return;
    size_t bytes = strcspn(line, "\n");
    size_t column = f->column != 0 ? f->column - 1 : strspn(line, " \t");
    if (column > bytes)
        column = bytes;
    size_t from = column > SHOWN_BYTES ? column - SHOWN_BYTES : 0;
    size_t shown = bytes - from < 2 * SHOWN_BYTES ? bytes - from : 2 * SHOWN_BYTES;
    while (shown != 0 && from != 0 && ((unsigned char)line[from] & 0xC0) == 0x80) {
        from++; /* never begin inside a character */
        shown--;
    }
    char *copy = kiln__strndup(line + from, shown);
    if (copy != NULL)
        caret = kiln__caret(copy, column - from, word_bytes(line + column));
    kiln__buf_puts(out, caret != NULL ? caret : "");
    kiln__free(copy);
    kiln__free(caret);
}

/* Compilers count what guard.c put into a snippet: the column in the user's text instead. */
static void forget_guards(const char *source, finding *f)
{
    const char *line = NULL, *at = NULL, *end = NULL;

    if (f->place >= KILN__SNIPPET_COUNT || f->column == 0)
        return;
    at = begin_of(source, f->place);
    line = at != NULL ? line_of(at, f->line) : NULL;
    if (line == NULL)
        return;
    end = line + f->column - 1;
    for (at = line; (at = strstr(at, KILN__GUARD_WORD)) != NULL && at < end; at++) {
        const size_t bytes = strcspn(at, "/%=") + 1;
        f->column -= (size_t)(end - at) < bytes ? (size_t)(end - at) + 1 : bytes;
    }
}

/* "op, line 1, column 9: identifier ..." */
static void put_finding(const finding *f, kiln__buf *out)
{
    if (f->place < KILN__SNIPPET_COUNT)
        kiln__buf_puts(out, kiln__snippet_name((kiln__snippet_kind)f->place));
    else if (f->place == PLACE_HEADER)
        kiln__buf_put(out, f->file, f->file_bytes < 200 ? f->file_bytes : 200);
    else if (f->place == PLACE_GENERATED)
        kiln__buf_puts(out, "generated code");
    if (f->line != 0 && f->place != PLACE_NOWHERE) {
        kiln__buf_printf(out, ", line %zu", f->line);
        if (f->column != 0)
            kiln__buf_printf(out, ", column %zu", f->column);
    }
    kiln__buf_printf(out, "%s%s", f->place == PLACE_NOWHERE ? "" : ": ", f->message);
}

/* The parameters with their types, which the source's first line lists; empty when it does not. */
static text types_of(const char *source)
{
    text line = take_line(&source);
    size_t at = find(line, "; ");

    return at == line.bytes ? (text){line.at, 0} : rest_of(line, at + 2);
}

/* The first finding of the user's own, or of any kind; `*log` is left behind it. */
static bool find_first(const kiln__definition *def, const char **log, bool own, finding *out)
{
    while (next_finding(def, log, out)) {
        if (own ? out->place <= (int)PLACE_HEADER : out->place != PLACE_NOWHERE)
            return true;
    }
    return false;
}

/* Further errors of the user's own, each once. */
static void put_more(const kiln__definition *def, const char *source, const char *log,
                     const finding *first, kiln__buf *out)
{
    finding last = *first, next;

    for (int shown = 0; shown < MORE_MAX && find_first(def, &log, true, &next);) {
        forget_guards(source, &next);
        if (next.place == last.place && next.line == last.line && next.column == last.column)
            continue;
        kiln__buf_putc(out, '\n');
        put_finding(&next, out);
        kiln__buf_putc(out, '\n');
        put_line(def, source, &next, out);
        last = next;
        shown++;
    }
}

kiln_status kiln__diagnose(const kiln__definition *def, const char *source, const char *log,
                           kiln_error *err)
{
    finding f = {.place = PLACE_NOWHERE}, any;
    kiln__buf message = KILN__BUF_INIT, detail = KILN__BUF_INIT;
    const char *at = log != NULL ? log : "", *any_at = at;

    if (err == NULL)
        return KILN_ERR_COMPILE;
    bool placed = find_first(def, &any_at, false, &any);
    bool known = find_first(def, &at, true, &f);
    if (known)
        forget_guards(source, &f);
    /* An error that begins in generated code may be a bracket of the user's. */
    if (placed && any.place == PLACE_GENERATED && find_lonely_bracket(def, &f)) {
        known = true;
        at = "";
    } else if (placed && any.place == PLACE_GENERATED && move_to_edge(def, source, &any)) {
        f = any;
        known = true;
        at = any_at;
    } else if (!known && placed) {
        text types = types_of(source);
        f = any;
        snprintf(f.message, sizeof f.message, "%.250s%s%.*s", any.message,
                 types.bytes != 0 ? "; the types are " : "",
                 (int)(types.bytes < 120 ? types.bytes : 120), types.at);
        known = true;
    } else if (!known) {
        known = find_unplaced(at = log != NULL ? log : "", &f);
        at = "";
    }
    if (!known)
        snprintf(f.message, sizeof f.message, "the compiler failed and said nothing");
    put_finding(&f, &message);
    put_line(def, source, &f, &detail);
    put_more(def, source, at, &f, &detail);
    (void)kiln__fail_detail(err, KILN_ERR_COMPILE,
                            detail.length != 0 ? kiln__buf_take(&detail) : NULL, "%s \"%s\": %s",
                            def->module ? "module" : "kernel", def->name,
                            message.text != NULL ? message.text : "the compiler failed");
    err->log = kiln__strdup(log);
    err->source = kiln__strdup(source);
    kiln__buf_clear(&message);
    kiln__buf_clear(&detail);
    return KILN_ERR_COMPILE;
}
