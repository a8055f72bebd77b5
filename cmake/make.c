/*
 * make.c - reading and errors of kiln_make_templates; see make.h.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"

/* ---- errors, memory, files --------------------------------------------------------------------- */

const char *folder, *out_path, *file_path = "";
size_t file_line;
int faults;

__attribute__((noreturn)) void leave(void)
{
    if (out_path != NULL)
        remove(out_path);
    exit(1);
}

__attribute__((format(printf, 1, 2))) void fault(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "%s/%s:%zu: ", folder, file_path, file_line);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    if (++faults >= FAULTS_MAX)
        leave();
}

__attribute__((noreturn)) void give_up(const char *what, const char *about)
{
    fprintf(stderr, "kiln_make_templates: %s: %s\n", about, what);
    leave();
}

void put(buf *b, const char *text, size_t bytes)
{
    if (b->length + bytes + 1 > b->capacity) {
        b->capacity = 2 * (b->length + bytes + 1);
        b->text = realloc(b->text, b->capacity);
        if (b->text == NULL)
            give_up("no memory", file_path);
    }
    memcpy(b->text + b->length, text, bytes);
    b->length += bytes;
    b->text[b->length] = '\0';
}

void read_file(const char *path, buf *out)
{
    char full[4096], part[4096];
    size_t bytes;

    snprintf(full, sizeof full, "%s%s%s", path[0] == '/' ? "" : folder, path[0] == '/' ? "" : "/",
             path);
    FILE *in = fopen(full, "rb");
    if (in == NULL)
        give_up("cannot be read", full);
    out->length = 0;
    put(out, "", 0);
    while ((bytes = fread(part, 1, sizeof part, in)) > 0)
        put(out, part, bytes);
    if (ferror(in))
        give_up("cannot be read", full);
    fclose(in);
}

/* ---- lists of words ---------------------------------------------------------------------------- */

size_t find(const word_list *list, const char *word)
{
    for (size_t k = 0; k < list->count; k++)
        if (list->word[k][0] == word[0] && strcmp(list->word[k], word) == 0)
            return k;
    return SIZE_MAX;
}

void add(word_list *list, const char *word)
{
    if (strlen(word) >= WORD_MAX || list->count == WORDS_MAX)
        fault("`%s` is too long, or one word too many", word);
    else if (find(list, word) != SIZE_MAX)
        fault("`%s` is declared twice", word);
    else {
        list->used[list->count] = false;
        snprintf(list->word[list->count++], WORD_MAX, "%s", word);
    }
}

bool next_word(const char **text, char *word, size_t room)
{
    *text += strspn(*text, " \t\n");
    const size_t bytes = strcspn(*text, " \t\n");
    if (bytes >= room) {
        fault("a word is longer than %zu bytes", room - 1);
        return false;
    }
    memcpy(word, *text, bytes);
    word[bytes] = '\0';
    *text += bytes;
    return bytes > 0;
}

const char *next_line(const char **text)
{
    static char line[LINE_MAX_BYTES];
    const size_t bytes = strcspn(*text, "\n");

    if (**text == '\0')
        return NULL;
    file_line++;
    if (bytes >= sizeof line)
        fault("the line has more than %zu bytes", sizeof line - 1);
    snprintf(line, sizeof line, "%.*s", (int)bytes, *text);
    *text += bytes + ((*text)[bytes] == '\n');
    return line;
}

const char *directive_of(const char *line)
{
    line += strspn(line, " \t");
    return strncmp(line, "//%", 3) == 0 ? line + 3 + strspn(line + 3, " \t") : NULL;
}

bool is_note(const char *line)
{
    return strncmp(line + strspn(line, " \t"), "//#", 3) == 0;
}

size_t word_bytes(const char *at)
{
    size_t bytes = 0;
    while (isalnum((unsigned char)at[bytes]) || at[bytes] == '_')
        bytes++;
    return bytes;
}

/* ---- C ---- */

size_t put_array(const char *text, size_t bytes, FILE *out)
{
    static size_t count;
    fprintf(out, "static const char text_%zu[] = {", count);
    for (size_t k = 0; k < bytes; k++)
        fprintf(out, k % 24 == 0 ? "\n    %d," : "%d,", (signed char)text[k]);
    fprintf(out, "0};\n");
    return count++;
}
