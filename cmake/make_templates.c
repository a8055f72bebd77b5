/*
 * make_templates.c - kiln_make_templates, a program of its own: checks the files of templates/ and
 * writes them as C.
 *
 *     kiln_make_templates FOLDER LIST OUT
 *
 * LIST names the templates, one a line, relative to FOLDER. OUT becomes a C file with the
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
#include <stdlib.h>
#include <string.h>

#include "make.h"

enum { FILES_MAX = 512, DEPTH_MAX = 16, PATH_BYTES_MAX = 256 };

#define PREFIX "kiln__"

/* ---- templates --------------------------------------------------------------------------------- */

/* A file up to its first part, or a part of one: "scan/rows.cu:load". */
typedef struct entry {
    char path[PATH_BYTES_MAX];
    size_t array, bytes; /* of its text in the output */
    size_t line;         /* in the file, of its first line */
} entry;

static entry entries[FILES_MAX];
static size_t entry_count;

/* An `insert` whose target must be an entry. */
static struct insert {
    char path[PATH_BYTES_MAX];
    const char *file;
    size_t line;
} inserts[FILES_MAX];
static size_t insert_count;

static char template_path[FILES_MAX][PATH_BYTES_MAX];
static size_t template_count;

/* Words of C++ and CUDA, and members of structs (with a dot), which every template may use. */
static word_list common;
/* Words that a file declares, as its own and as plain, and those that the current part does. */
typedef struct scope {
    word_list own, plain;
} scope;
static scope of_file, of_part, *current;

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

static bool use(word_list *list, const char *word)
{
    const size_t k = find(list, word);
    if (k != SIZE_MAX)
        list->used[k] = true;
    return k != SIZE_MAX;
}

/* The word of a template's text that begins at `at`, as it will be emitted. */
static void put_word(const char *at, size_t bytes, bool member, buf *out)
{
    char word[WORD_MAX] = ".";

    if (bytes + 2 > sizeof word) {
        fault("a word is longer than %d bytes", WORD_MAX - 2);
        return;
    }
    memcpy(word + 1, at, bytes);
    word[bytes + 1] = '\0';
    if (use(&of_part.plain, word + 1)) {
    } else if (!member && use(&of_part.own, word + 1)) {
        put(out, PREFIX, strlen(PREFIX));
    } else if (use(&of_file.plain, word + 1)) {
    } else if (!member && use(&of_file.own, word + 1)) {
        put(out, PREFIX, strlen(PREFIX));
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
        if (find(list == &current->own ? &current->plain : &current->own, word) != SIZE_MAX)
            fault("`%s` is declared both as own and as plain", word);
        if (find(&common, word) != SIZE_MAX)
            fault("`%s` is a word of words.txt", word);
        add(list, word);
    }
}

/* The target of an `insert`; ":part" is one of the same file. */
static void put_insert(const char *rest, buf *out)
{
    struct insert *i = &inserts[insert_count];
    char path[PATH_BYTES_MAX / 2] = "";

    if (!next_word(&rest, path, sizeof path))
        fault("insert what?");
    snprintf(i->path, sizeof i->path, "%.120s%s", path[0] == ':' ? file_path : "", path);
    i->file = file_path;
    i->line = file_line;
    put(out, "//% insert ", strlen("//% insert "));
    put(out, i->path, strlen(i->path));
    if (strstr(path, "${") == NULL && ++insert_count == FILES_MAX)
        give_up("too many inserts", file_path);
}

static void check_inserts(void)
{
    for (size_t i = 0; i < insert_count; i++) {
        size_t k = 0;
        while (k < entry_count && strcmp(entries[k].path, inserts[i].path) != 0)
            k++;
        file_path = inserts[i].file;
        file_line = inserts[i].line;
        if (k == entry_count)
            fault("there is no template %s", inserts[i].path);
    }
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

/* As the library reads directives: at the beginning of a line, one blank between words. */
static void put_directive(const char *text, buf *out)
{
    char word[PATH_BYTES_MAX];

    put(out, "//%", 3);
    while (next_word(&text, word, sizeof word)) {
        put(out, " ", 1);
        put(out, word, strlen(word));
    }
}

/* A directive, checked; declarations become empty notes. */
static void translate_directive(const char *text, buf *out)
{
    const char *all = text;
    char word[WORD_MAX] = "";

    next_word(&text, word, sizeof word);
    if (strcmp(word, "own") == 0 || strcmp(word, "plain") == 0) {
        declare(word[0] == 'o' ? &current->own : &current->plain, text);
        put(out, "//#", 3);
        return;
    }
    if (strcmp(word, "insert") == 0) {
        put_insert(text, out);
        return;
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
    } else {
        fault("unknown directive `%s`", word);
    }
    put_directive(all, out);
}

/* End a list of declarations: each of its words has to be in use. */
static void close_list(word_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        if (!list->used[k])
            fault("`%s` is declared and not used", list->word[k]);
    list->count = 0;
}

/* Begin an entry: a file, or, named by `part`, a part of the current one. */
static void open_entry(const char *part)
{
    entry *e = &entries[entry_count++];
    char name[WORD_MAX] = "";

    if (entry_count == FILES_MAX)
        give_up("too many templates", file_path);
    if (part != NULL && !next_word(&part, name, sizeof name))
        fault("a part needs a name");
    snprintf(e->path, sizeof e->path, "%.180s%s%s", file_path, part != NULL ? ":" : "", name);
    for (entry *other = entries; other < e; other++)
        if (strcmp(other->path, e->path) == 0)
            fault("there are two parts `%s`", name);
    e->line = file_line + 1;
}

static void close_entry(buf *text, FILE *out)
{
    entry *e = &entries[entry_count - 1];

    for (size_t cut = 1; cut > 0; text->length -= cut) { /* blank lines and notes at the end */
        const char *end = text->text + text->length;
        cut = text->length >= 2 && memcmp(end - 2, "\n\n", 2) == 0      ? 1
              : text->length >= 5 && memcmp(end - 5, "\n//#\n", 5) == 0 ? 4
                                                                        : 0;
    }
    e->bytes = text->length;
    e->array = put_array(text->length > 0 ? text->text : "", text->length, out);
    text->length = 0;
    close_list(&of_part.own);
    close_list(&of_part.plain);
    while (depth > 0) {
        file_line = open_block[--depth].line;
        fault("the block that begins here has no `end`");
    }
}

/* Notes become empty notes, so that lines keep their numbers in messages. */
static void translate(const char *path, FILE *out)
{
    static buf text, part;
    const char *at, *line;

    file_path = path;
    file_line = 0;
    current = &of_file;
    read_file(path, &text);
    at = text.text;
    open_entry(NULL);
    while ((line = next_line(&at)) != NULL) {
        const char *directive = directive_of(line);
        if (directive != NULL && strncmp(directive, "part", 4) == 0 && !word_bytes(directive + 4)) {
            const size_t number = file_line;
            close_entry(&part, out);
            file_line = number;
            open_entry(directive + 4);
            current = &of_part;
            continue;
        }
        if (is_note(line))
            put(&part, "//#", 3);
        else if (directive != NULL)
            translate_directive(directive, &part);
        else
            translate_line(line, &part);
        put(&part, "\n", 1);
    }
    close_entry(&part, out);
    close_list(&of_file.own);
    close_list(&of_file.plain);
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

static int by_path(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

static void make_templates(FILE *out)
{
    for (size_t k = 0; k < template_count; k++)
        translate(template_path[k], out);
    check_inserts();
    qsort(entries, entry_count, sizeof entries[0], by_path);
    fprintf(out, "\nconst struct kiln__template_file kiln__template_files[] = {\n");
    for (const entry *e = entries; e < entries + entry_count; e++)
        fprintf(out, "    {\"%s\", text_%zu, %zu, %zu},\n", e->path, e->array, e->bytes, e->line);
    fprintf(out, "    {NULL, NULL, 0, 0},\n};\nconst size_t kiln__template_file_count = %zu;\n",
            entry_count);
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
