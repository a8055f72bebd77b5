/*
 * make.h - what the parts of kiln_make_templates share: errors by file and line, texts, lists of words.
 *
 * make_templates.c embeds templates and has main(), make_prelude.c embeds the prelude, make.c reads
 * for both. docs/templates.md describes the language.
 */
#ifndef KILN_CMAKE_MAKE_H
#define KILN_CMAKE_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    WORD_MAX = 64,    /* bytes of a word, its NUL included */
    WORDS_MAX = 1024, /* of one list */
    LINE_MAX_BYTES = 4096,
    FAULTS_MAX = 20
};

/* The folder of templates, the file that is being written, and where in the folder we read. */
extern const char *folder, *out_path, *file_path;
extern size_t file_line;
extern int faults; /* so many have been said */

/* Say what is wrong at file_path and file_line; ends the program at the FAULTS_MAX-th time. */
__attribute__((format(printf, 1, 2))) void fault(const char *format, ...);
/* End the program: without a line to blame, and after all faults have been said. */
__attribute__((noreturn)) void give_up(const char *what, const char *about);
__attribute__((noreturn)) void leave(void);

/* A text that grows; NUL-terminated. */
typedef struct buf {
    char *text;
    size_t length, capacity;
} buf;

void put(buf *b, const char *text, size_t bytes);
/* Replace the text by that of a file; `path` is relative to `folder` or begins with '/'. */
void read_file(const char *path, buf *out);

typedef struct word_list {
    char word[WORDS_MAX][WORD_MAX];
    bool used[WORDS_MAX];
    size_t count;
} word_list;

size_t find(const word_list *list, const char *word); /* its place, or SIZE_MAX */
void add(word_list *list, const char *word);

/* The next word of a text that blanks separate; false at its end. */
bool next_word(const char **text, char *word, size_t room);
/* The next line of a file without its newline, in a buffer that the next call uses again. */
const char *next_line(const char **text);
/* How many letters, digits and underscores stand at `at`. */
size_t word_bytes(const char *at);
/* What follows the mark of a directive ("//% ..."), without blanks; NULL for a line of text. */
const char *directive_of(const char *line);
bool is_note(const char *line);

/* Write an array of C; its number. */
size_t put_array(const char *text, size_t bytes, FILE *out);

/* make_prelude.c: the table of sections. */
void make_sections(FILE *out);

#endif
