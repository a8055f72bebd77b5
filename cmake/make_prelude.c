/*
 * make_prelude.c - the files of templates/prelude/, cut into sections; a part of kiln_make_templates.
 *
 *     files.txt > lines, loops unrolled > sections > the table of codegen/templates.h
 *
 * A text is written as soon as its section ends; facts are kept for the table and checked when all
 * sections are known.
 */
#include <stdlib.h>
#include <string.h>

#include "make.h"

enum {
    SECTIONS_MAX = 1024, /* as KILN__SECTIONS_MAX of templates.h */
    LIST_BYTES_MAX = 2048,
    KEYS_MAX = 4096,
    COLUMNS_MAX = 6,
    ON_CUDA = 1,
    ON_CPU = 2
};

typedef struct section {
    char name[WORD_MAX];
    int backends;
    char needs[LIST_BYTES_MAX], when[LIST_BYTES_MAX];
    size_t text; /* number of its array in the output */
} section;

static section sections[SECTIONS_MAX];
static size_t section_count;
static size_t open_count; /* the last so many take the text that follows */
static buf open_text;
static int file_backends, line_backends; /* line_backends: each line is a section; 0: none is */

/* End the sections that are open. */
static void close_sections(FILE *out)
{
    while (open_text.length > 1 && open_text.text[open_text.length - 2] == '\n')
        open_text.text[--open_text.length] = '\0'; /* blank lines at the end */
    if (open_count > 0 && open_text.length == 0)
        fault("section `%s` has no text", sections[section_count - 1].name);
    if (open_count > 0) {
        const size_t text = put_array(open_text.text, open_text.length, out);
        for (size_t k = section_count - open_count; k < section_count; k++)
            sections[k].text = text;
    }
    open_count = 0;
    open_text.length = 0;
}

static section *open_section(const char *name, int backends)
{
    if (section_count == SECTIONS_MAX)
        give_up("too many sections", file_path);
    section *s = &sections[section_count++];
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->backends = backends;
    open_count++;
    return s;
}

static int read_backends(const char *word)
{
    const int backends = strcmp(word, "cuda") == 0   ? ON_CUDA
                         : strcmp(word, "cpu") == 0  ? ON_CPU
                         : strcmp(word, "both") == 0 ? ON_CUDA | ON_CPU
                                                     : 0;
    if (backends == 0 || (backends & file_backends) != backends)
        fault("`on %s`: neither cuda nor cpu nor both, or not what the file is for", word);
    return backends;
}

static void append_word(char *list, const char *word)
{
    const size_t used = strlen(list);
    if (used + strlen(word) + 2 > LIST_BYTES_MAX)
        fault("the list is too long at `%s`", word);
    else
        snprintf(list + used, LIST_BYTES_MAX - used, "%s%s", used > 0 ? " " : "", word);
}

/* "[on BACKEND] [needs SECTION...] [when TERM...]" about the section opened last. */
static void read_facts(const char *text)
{
    section *s = &sections[section_count - 1];
    char word[WORD_MAX], *list = NULL;

    while (next_word(&text, word, sizeof word)) {
        if (strcmp(word, "on") == 0 && next_word(&text, word, sizeof word))
            s->backends = read_backends(word);
        else if (strcmp(word, "needs") == 0)
            list = s->needs;
        else if (strcmp(word, "when") == 0)
            list = s->when;
        else if (list == NULL)
            fault("expected on, needs or when, not `%s`", word);
        else
            append_word(list, word);
    }
}

/* A line that is a section: the word it declares names it and calls for it. */
static void read_line_section(const char *line, FILE *out)
{
    const char *end = strrchr(line, ';');
    char name[WORD_MAX];

    if (strncmp(line, "#define ", 8) == 0) {
        line += 8;
        end = line + word_bytes(line);
    } else if (end != NULL) {
        const char *begin = end;
        while (begin > line && word_bytes(begin - 1) > 0)
            begin--;
        line = begin;
    } else {
        end = line;
    }
    snprintf(name, sizeof name, "%.*s", (int)(end - line), line);
    if (name[0] == '\0')
        fault("the line declares nothing");
    append_word(open_section(name, line_backends)->when, name);
    close_sections(out);
}

static void read_section_directive(const char *text, FILE *out)
{
    const char *all = text;
    char word[WORD_MAX] = "", name[WORD_MAX] = "";

    next_word(&text, word, sizeof word);
    if (strcmp(word, "needs") == 0 || strcmp(word, "when") == 0) {
        if (open_count == 0 || open_text.length > 0)
            fault("`%s` belongs behind the line of a section", word);
        else
            read_facts(all);
        return;
    }
    if (open_text.length > 0)
        close_sections(out);
    line_backends = 0;
    if (strcmp(word, "section") == 0 && next_word(&text, name, sizeof name)) {
        open_section(name, file_backends);
        read_facts(text);
    } else if (strcmp(word, "lines") == 0) {
        close_sections(out);
        line_backends = file_backends;
        if (next_word(&text, name, sizeof name) && strcmp(name, "on") == 0 &&
            next_word(&text, name, sizeof name))
            line_backends = read_backends(name);
    } else {
        fault("unknown directive `%s`", word);
    }
}

static void read_section_line(const char *line, FILE *out)
{
    const char *directive = directive_of(line);

    if (directive != NULL) {
        read_section_directive(directive, out);
    } else if (!is_note(line) && (line[0] != '\0' || open_text.length > 0)) {
        put(&open_text, line, strlen(line));
        put(&open_text, "\n", 1);
        if (line_backends != 0)
            read_line_section(line, out);
        else if (open_count == 0)
            fault("text before the first section");
    }
}

/* ---- loops of the prelude ---- */

/* "for x | y" and, a row each, "| a | b": the lines up to `end` once a row, ${x} and ${y} put in.
 * With one name, a row is each word of "| a b c". */
typedef struct loop {
    char name[COLUMNS_MAX][WORD_MAX];
    char value[COLUMNS_MAX][256];
    size_t columns;
} loop;

/* Cut "a | b" into at most `most` columns, without the blanks around them; the last has the rest. */
static size_t cut(const char *text, size_t most, char *column, size_t room)
{
    for (size_t count = 0;; count++) {
        text += strspn(text, " \t");
        const char *bar = count + 1 < most ? strstr(text, " |") : NULL;
        const size_t bytes = bar != NULL ? (size_t)(bar - text) : strlen(text);
        if (bytes >= room)
            fault("a column is longer than %zu bytes", room - 1);
        snprintf(column + count * room, room, "%.*s", (int)bytes, text);
        if (bar == NULL)
            return count + 1;
        text = bar + 2;
    }
}

static void put_loop_line(const loop *l, const char *line, FILE *out)
{
    char text[LINE_MAX_BYTES];
    size_t used = 0;

    while (*line != '\0' && used + 1 < sizeof text) {
        const char *value = NULL;
        size_t bytes = line[0] == '$' && line[1] == '{' ? strcspn(line, "}") + 1 : 1;
        for (size_t c = 0; c < l->columns && bytes > 1; c++)
            if (strlen(l->name[c]) == bytes - 3 && strncmp(l->name[c], line + 2, bytes - 3) == 0)
                value = l->value[c];
        if (bytes > 1 && value == NULL)
            fault("unknown value %.*s", (int)bytes, line);
        const int more =
            snprintf(text + used, sizeof text - used, "%.*s",
                     value != NULL ? (int)strlen(value) : (int)bytes, value != NULL ? value : line);
        used += (size_t)more;
        line += bytes;
    }
    text[used < sizeof text ? used : sizeof text - 1] = '\0';
    read_section_line(text, out);
}

/* The lines of a loop's body, once. False when the file ends before the loop does. */
static bool put_loop_body(const loop *l, const char **at, FILE *out)
{
    const char *line;
    while ((line = next_line(at)) != NULL) {
        const char *directive = directive_of(line);
        if (directive != NULL && strncmp(directive, "end", 3) == 0)
            return true;
        put_loop_line(l, line, out);
    }
    return false;
}

/* The loop whose directive has just been read; *at: behind it, and then behind its end. */
static void read_loop(const char *names, const char **at, FILE *out)
{
    const size_t first = file_line;
    const char *line, *rows = *at, *body = rows, *directive;
    bool complete = true;
    loop l;

    l.columns = cut(names, COLUMNS_MAX, l.name[0], sizeof l.name[0]);
    for (const char *p = rows; (line = next_line(&p)) != NULL; body = p) {
        directive = directive_of(line);
        if (directive == NULL || directive[0] != '|')
            break;
    }
    const size_t body_line = file_line - 1;
    *at = body;
    for (const char *row = rows; row < body && complete;) {
        char values[LINE_MAX_BYTES];
        file_line = body_line - 1;
        snprintf(values, sizeof values, "%s", strchr(next_line(&row), '|') + 1);
        const char *word = values;
        if (l.columns > 1 && cut(values, l.columns, l.value[0], sizeof l.value[0]) != l.columns)
            fault("the row has not %zu columns", l.columns);
        while (complete && (l.columns > 1 || next_word(&word, l.value[0], sizeof l.value[0]))) {
            file_line = body_line;
            *at = body;
            complete = put_loop_body(&l, at, out);
            if (l.columns > 1)
                break;
        }
    }
    file_line = complete ? file_line : first;
    if (!complete || rows == body)
        fault("the loop that begins here has no %s", complete ? "rows" : "`end`");
}

static void read_prelude_file(const char *path, FILE *out)
{
    static buf text;
    const char *at, *line;

    file_path = path;
    file_line = 0;
    file_backends = strstr(path, ".cuda.") != NULL  ? ON_CUDA
                    : strstr(path, ".cpu.") != NULL ? ON_CPU
                                                    : ON_CUDA | ON_CPU;
    line_backends = 0;
    read_file(path, &text);
    at = text.text;
    while ((line = next_line(&at)) != NULL) {
        const char *directive = directive_of(line);
        if (directive != NULL && strncmp(directive, "for ", 4) == 0)
            read_loop(directive + 4, &at, out);
        else
            read_section_line(line, out);
    }
    close_sections(out);
}

/* The first section of this name on some of these backends; section_count when there is none. */
static size_t find_section(const char *name, int backends)
{
    size_t s = 0;
    while (s < section_count &&
           (strcmp(sections[s].name, name) != 0 || (sections[s].backends & backends) == 0))
        s++;
    return s;
}

/* A section can use only what stands above it. What the other backend alone has is built in here. */
static void check_section(size_t s)
{
    char word[WORD_MAX];
    const char *text = sections[s].needs;

    while (next_word(&text, word, sizeof word)) {
        if (find_section(word, ON_CUDA | ON_CPU) == section_count)
            fault("`%s` needs `%s`, which is no section", sections[s].name, word);
        for (int backend = ON_CUDA; backend <= ON_CPU; backend++) {
            const size_t found = find_section(word, backend);
            if ((sections[s].backends & backend) != 0 && found != section_count && found >= s)
                fault("`%s` needs `%s`, which stands below it", sections[s].name, word);
        }
    }
    text = sections[s].when;
    while (next_word(&text, word, sizeof word)) {
        for (char *atom = word, *next; atom != NULL; atom = next) {
            if ((next = strchr(atom, '&')) != NULL)
                *next++ = '\0';
            if (atom[0] == '@' && find_section(atom + 1, ON_CUDA | ON_CPU) == section_count)
                fault("`%s` waits for `%s`, which is no section", sections[s].name, atom + 1);
        }
    }
}

/* ---- tables ---- */

static size_t first_of(const char *name)
{
    return find_section(name, ON_CUDA | ON_CPU);
}

static void put_needs(size_t s, FILE *out)
{
    char word[WORD_MAX];
    const char *text = sections[s].needs;

    fprintf(out, "static const uint16_t needs_%zu[] = {", s);
    while (next_word(&text, word, sizeof word))
        fprintf(out, "%zu, ", first_of(word));
    fprintf(out, "KILN__SECTION_NONE};\n");
}

/* A word that calls for a section. */
typedef struct key {
    char word[WORD_MAX + 1];
    size_t section;
} key;

static key keys[KEYS_MAX];
static size_t key_count;

static void add_key(const char *mark, const char *word, size_t s)
{
    if (key_count == KEYS_MAX)
        give_up("too many conditions", "prelude");
    snprintf(keys[key_count].word, sizeof keys[0].word, "%s%s", mark, word);
    keys[key_count++].section = s;
}

/* A row of the table. Conditions that are a word alone go to the table of words. */
static void put_section(size_t s, FILE *out)
{
    const size_t first = first_of(sections[s].name);
    char word[WORD_MAX], when[LIST_BYTES_MAX] = "", unless[LIST_BYTES_MAX] = "";
    const char *text = sections[s].when;
    size_t same = s + 1;

    while (same < section_count && strcmp(sections[same].name, sections[s].name) != 0)
        same++;
    while (next_word(&text, word, sizeof word)) {
        if (word[0] == '!')
            append_word(unless, word + 1);
        else if (word[0] == '@' || word[0] == '<' || strchr(word, '&') != NULL)
            append_word(when, word);
        else
            add_key("", word, s);
    }
    if (first == s)
        add_key("@", sections[s].name, s);
    fprintf(out,
            "    {\"%s\", %d, %zu, %zu, text_%zu, sizeof text_%zu - 1, needs_%zu,\n     \"%s\", "
            "\"%s\"},\n",
            sections[s].name, sections[s].backends, first,
            same < section_count ? same : (size_t)0xffff, sections[s].text, sections[s].text, s,
            when, unless);
}

static int by_word(const void *a, const void *b)
{
    const key *x = a, *y = b;
    const int order = strcmp(x->word, y->word);
    return order != 0 ? order : (x->section > y->section) - (x->section < y->section);
}

static void put_words(FILE *out)
{
    qsort(keys, key_count, sizeof keys[0], by_word);
    fprintf(out, "\nconst struct kiln__prelude_word kiln__prelude_words[] = {\n");
    for (size_t k = 0; k < key_count; k++)
        fprintf(out, "    {\"%s\", %zu},\n", keys[k].word, keys[k].section);
    fprintf(out, "};\nconst size_t kiln__prelude_word_count = %zu;\n", key_count);
}

void make_sections(FILE *out)
{
    static buf text;
    char path[256] = "prelude/";
    const char *at, *line;

    read_file("prelude/files.txt", &text);
    at = text.text;
    for (file_line = 0; (line = next_line(&at)) != NULL;) {
        const size_t number = file_line;
        snprintf(path + 8, sizeof path - 8, "%.200s", line);
        if (line[0] != '#' && line[0] != '\0')
            read_prelude_file(path, out);
        file_line = number;
    }
    file_path = "prelude";
    file_line = 0;
    for (size_t s = 0; s < section_count; s++)
        check_section(s);
    fputc('\n', out);
    for (size_t k = 0; k < section_count; k++)
        put_needs(k, out);
    fprintf(out, "\nconst struct kiln__prelude_section kiln__prelude_sections[] = {\n");
    for (size_t k = 0; k < section_count; k++)
        put_section(k, out);
    fprintf(out, "};\nconst size_t kiln__prelude_section_count = %zu;\n", section_count);
    put_words(out);
}
