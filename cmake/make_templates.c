/*
 * make_templates.c - kiln_make_templates, a program of its own: checks the files of templates/ and
 * writes them as C.
 *
 *     kiln_make_templates FOLDER LIST OUT
 *
 * LIST names the templates, one a line, sorted, relative to FOLDER. OUT becomes a C file with the
 * tables that codegen/templates.h declares. docs/templates.md describes the language; here is what
 * is done of it when kiln is built:
 *
 *     templates        kiln__ is put before the words that a file declares as its own; a word that
 *                      nobody declares, an open block and an unknown directive are errors
 *     prelude/         files are cut into sections, in the order of prelude/files.txt
 *
 * Errors go to stderr as "file:line: message"; after the first ones the exit status is 1.
 *
 * Not part of the library, and uses nothing of it: the library needs what is written here.
 */
#include <ctype.h>
#include <string.h>

#include "make.h"

enum { FILES_MAX = 512, DEPTH_MAX = 16 };

#define PREFIX "kiln__"

/* ---- templates --------------------------------------------------------------------------------- */

/* Words of C++ and CUDA, and members of structs (with a dot), which every template may use; words
 * that one template declares as its own, and as plain. */
static word_list common, own, plain;
static char template_path[FILES_MAX][256];
static size_t template_count;

static void read_common(void)
{
    static buf text;
    char word[WORD_MAX];
    const char *at, *line;

    file_path = "words.txt";
    file_line = 0;
    read_file(file_path, &text);
    at = text.text;
    while ((line = next_line(&at)) != NULL)
        while (line[0] != '#' && next_word(&line, word, sizeof word))
            add(&common, word);
}

/* The word of a template's text that begins at `at`, as it will be emitted. */
static void put_word(const char *at, size_t bytes, bool member, buf *out)
{
    char word[WORD_MAX] = ".";
    size_t k;

    if (bytes + 2 > sizeof word) {
        fault("a word is longer than %d bytes", WORD_MAX - 2);
        return;
    }
    memcpy(word + 1, at, bytes);
    word[bytes + 1] = '\0';
    if (!member && (k = find(&own, word + 1)) != SIZE_MAX) {
        put(out, PREFIX, strlen(PREFIX));
        own.used[k] = true;
    } else if ((k = find(&plain, word + 1)) != SIZE_MAX) {
        plain.used[k] = true;
    } else if (find(&common, word + !member) == SIZE_MAX) {
        fault("the %s `%s` is declared neither in this file nor in words.txt",
              member ? "member" : "word", word + 1);
    }
    put(out, at, bytes);
}

/* A line of text: comments, literals, numbers and ${values} stay, words get their prefix. */
static void translate_line(const char *line, buf *out)
{
    const char *p = line;
    while (*p != '\0') {
        size_t bytes = 1;
        if (p[0] == '/' && p[1] == '/') {
            bytes = strlen(p);
        } else if (*p == '"' || *p == '\'') {
            while (p[bytes] != '\0' && p[bytes] != *p)
                bytes += p[bytes] == '\\' && p[bytes + 1] != '\0' ? 2 : 1;
            bytes += p[bytes] != '\0';
        } else if (p[0] == '$' && p[1] == '{') {
            bytes = strcspn(p, "}");
            if (p[bytes] == '\0')
                fault("`${` without `}`");
            else
                bytes += 1 + word_bytes(p + bytes + 1); /* the rest of a word that a value begins */
        } else if (isdigit((unsigned char)*p)) {
            bytes = word_bytes(p);
        } else if (isalpha((unsigned char)*p) || *p == '_') {
            const bool dot = p > line && p[-1] == '.' && !(p > line + 1 && p[-2] == '.');
            const bool arrow = p > line + 1 && p[-2] == '-' && p[-1] == '>';
            bytes = word_bytes(p);
            put_word(p, bytes, dot || arrow, out);
            p += bytes;
            continue;
        }
        put(out, p, bytes);
        p += bytes;
    }
}

/* The blocks that are open at a line. */
typedef struct block {
    bool is_if, has_else;
    size_t line;
} block;

static block open_block[DEPTH_MAX];
static size_t depth;

static void declare(word_list *list, const char *words)
{
    char word[WORD_MAX];
    while (next_word(&words, word, sizeof word)) {
        if (find(list == &own ? &plain : &own, word) != SIZE_MAX)
            fault("`%s` is declared both as own and as plain", word);
        if (find(&common, word) != SIZE_MAX)
            fault("`%s` is a word of words.txt", word);
        add(list, word);
    }
}

static void check_insert(const char *rest)
{
    char path[256];
    if (!next_word(&rest, path, sizeof path)) {
        fault("insert what?");
        return;
    }
    if (strstr(path, "${") != NULL)
        return;
    for (size_t k = 0; k < template_count; k++)
        if (strcmp(template_path[k], path) == 0)
            return;
    fault("there is no template %s", path);
}

static void open_one(bool is_if, const char *rest)
{
    char name[WORD_MAX] = "", in[WORD_MAX] = "", list[WORD_MAX] = "", more[WORD_MAX];
    const bool complete = is_if ? next_word(&rest, name, sizeof name)
                                : next_word(&rest, name, sizeof name) &&
                                      next_word(&rest, in, sizeof in) && strcmp(in, "in") == 0 &&
                                      next_word(&rest, list, sizeof list);
    if (!complete || next_word(&rest, more, sizeof more))
        fault("expected `%s`", is_if ? "if CONDITION" : "for NAME in LIST");
    if (depth == DEPTH_MAX) {
        fault("blocks nest too deeply");
        leave();
    }
    open_block[depth++] = (block){is_if, false, file_line};
}

/* A directive of a template. True when the library is to see it. */
static bool check_directive(const char *text)
{
    char word[WORD_MAX] = "";

    next_word(&text, word, sizeof word);
    if (strcmp(word, "own") == 0) {
        declare(&own, text);
        return false;
    }
    if (strcmp(word, "plain") == 0) {
        declare(&plain, text);
        return false;
    }
    if (strcmp(word, "for") == 0 || strcmp(word, "if") == 0) {
        open_one(word[0] == 'i', text);
    } else if (strcmp(word, "else") == 0) {
        if (depth == 0 || !open_block[depth - 1].is_if || open_block[depth - 1].has_else)
            fault("`else` without `if`");
        else
            open_block[depth - 1].has_else = true;
    } else if (strcmp(word, "end") == 0) {
        if (depth == 0)
            fault("`end` without `for` or `if`");
        else
            depth--;
    } else if (strcmp(word, "insert") == 0) {
        check_insert(text);
    } else {
        fault("unknown directive `%s`", word);
    }
    return true;
}

static void check_used(const word_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        if (!list->used[k])
            fault("`%s` is declared and not used", list->word[k]);
}

/* As the library reads them: at the beginning of a line, one blank between words. */
static void put_directive(const char *text, buf *out)
{
    char word[256];

    put(out, "//%", 3);
    while (next_word(&text, word, sizeof word)) {
        put(out, " ", 1);
        put(out, word, strlen(word));
    }
}

/* Notes and declarations become empty notes, so that lines keep their numbers in messages. */
static void translate(const char *path, buf *out)
{
    static buf text;
    const char *at, *line;

    file_path = path;
    file_line = 0;
    own.count = plain.count = depth = 0;
    read_file(path, &text);
    at = text.text;
    while ((line = next_line(&at)) != NULL) {
        const char *directive = directive_of(line);
        if (is_note(line) || (directive != NULL && !check_directive(directive)))
            put(out, "//#", 3);
        else if (directive != NULL)
            put_directive(directive, out);
        else
            translate_line(line, out);
        put(out, "\n", 1);
    }
    check_used(&own);
    check_used(&plain);
    while (depth-- > 0) {
        file_line = open_block[depth].line;
        fault("the block that begins here has no `end`");
    }
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void read_list(const char *path)
{
    static buf text;
    const char *at;

    read_file(path, &text);
    at = text.text;
    while (template_count < FILES_MAX &&
           next_word(&at, template_path[template_count], sizeof template_path[0]))
        template_count++;
}

static void make_templates(FILE *out)
{
    static buf text;
    size_t array[FILES_MAX], bytes[FILES_MAX];

    for (size_t k = 0; k < template_count; k++) {
        text.length = 0;
        translate(template_path[k], &text);
        bytes[k] = text.length;
        array[k] = put_array(text.text, text.length, out);
    }
    fprintf(out, "\nconst struct kiln__template_file kiln__template_files[] = {\n");
    for (size_t k = 0; k < template_count; k++)
        fprintf(out, "    {\"%s\", text_%zu, %zu},\n", template_path[k], array[k], bytes[k]);
    fprintf(out, "    {NULL, NULL, 0},\n};\nconst size_t kiln__template_file_count = %zu;\n",
            template_count);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        give_up("FOLDER LIST OUT", "usage");
    folder = argv[1];
    FILE *out = fopen(argv[3], "w");
    if (out == NULL)
        give_up("cannot be written", argv[3]);
    out_path = argv[3];
    fprintf(out, "/* Made by kiln_make_templates from templates/; edit those. */\n"
                 "#include \"codegen/templates.h\"\n\n");
    read_list(argv[2]);
    read_common();
    make_templates(out);
    make_sections(out);
    if (fclose(out) != 0)
        give_up("cannot be written", argv[3]);
    if (faults > 0)
        leave();
    return 0;
}
