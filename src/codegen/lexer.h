/*
 * lexer.h - C++ tokens, and the functions that read them. Private to src/codegen.
 *
 *     text -> lexer.c -> tokens -> signature.c   parameters
 *                               -> uses.c        words, uses, addresses taken
 *                               -> assign.c      which outputs are surely assigned first
 */
#ifndef KILN_CODEGEN_LEXER_H
#define KILN_CODEGEN_LEXER_H

#include "codegen/codegen.h"

typedef enum kiln__token_kind {
    KILN__TOKEN_END,
    KILN__TOKEN_WORD,   /* identifier or keyword */
    KILN__TOKEN_NUMBER, /* a preprocessing number: 1'000, .5e-3f, 0x1p+2 */
    KILN__TOKEN_TEXT,   /* a string or character literal, of any form */
    KILN__TOKEN_MARK,   /* an operator or punctuation, the longest that matches */
    KILN__TOKEN_STRAY   /* bytes that are no token of C++; consecutive bytes above 127 are one */
} kiln__token_kind;

typedef struct kiln__token {
    kiln__token_kind kind;
    uint32_t directive; /* the number of the preprocessor line that it is on, from 1; 0: it is code */
    size_t at, bytes;   /* where it is in the text */
    size_t text;        /* where its spelling is in the pool, NUL-terminated, without line splices */
} kiln__token;

typedef struct kiln__tokens {
    kiln__token *items; /* `count` tokens, then one of kind END */
    size_t count, capacity;
    kiln__buf pool;
    bool failed;   /* there was no memory for all tokens */
    bool includes; /* the text has an #include */
    bool doubtful; /* compilers may see other tokens: a comment, literal or directive is not closed */
} kiln__tokens;

/* CPP: comments, directives and line splices are recognised. PLAIN: they are ordinary characters. */
typedef enum kiln__lex_mode { KILN__LEX_CPP, KILN__LEX_PLAIN } kiln__lex_mode;

/* Cut `text` into tokens. Running out of memory sets out->failed; nothing else can fail. The caller
 * clears *out in either case. */
void kiln__lex(const char *text, kiln__lex_mode mode, kiln__tokens *out);
void kiln__tokens_clear(kiln__tokens *tokens);

static inline const char *kiln__token_text(const kiln__tokens *tokens, size_t nth)
{
    return tokens->pool.text + tokens->items[nth].text;
}

/* Whether token `nth` is the word or mark `text`. */
static inline bool kiln__token_is(const kiln__tokens *tokens, size_t nth, const char *text)
{
    kiln__token_kind kind = tokens->items[nth].kind;
    return (kind == KILN__TOKEN_WORD || kind == KILN__TOKEN_MARK) &&
           strcmp(kiln__token_text(tokens, nth), text) == 0;
}

/* The text of token `nth` if it is a word, else NULL. */
static inline const char *kiln__word_at(const kiln__tokens *tokens, size_t nth)
{
    return tokens->items[nth].kind == KILN__TOKEN_WORD ? kiln__token_text(tokens, nth) : NULL;
}

/* Whether some token is the word or mark `text`. */
static inline bool kiln__tokens_mention(const kiln__tokens *tokens, const char *text)
{
    for (size_t k = 0; k < tokens->count; k++)
        if (kiln__token_is(tokens, k, text))
            return true;
    return false;
}

/* Whether a text mentions input `p`, itself or as the index of one that is taken. (uses.c) */
bool kiln__mentions_input(const kiln__definition *def, const kiln__tokens *text, size_t p);

/* The order of words, for qsort() and bsearch(). */
static inline int kiln__compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether token `nth` is the name of a directive, as `define` in "#define". */
bool kiln__token_is_directive(const kiln__tokens *tokens, size_t nth);

/* ---- readers of tokens: the steps of kiln__definition_create(), in their order ---- */

/* Parse both signature texts of `def` into its params. */
kiln_status kiln__signature_parse(kiln__definition *def, kiln_error *err);

/* Make a copy of a signature text in which types that NumPy has with 64 bits are named so: "float
 * x" becomes "float64 x". Later stages and manifests then need not know the option `numpy_types`. */
kiln_status kiln__signature_widen(const char *text, char **out, kiln_error *err);

/* The snippets of a definition as tokens. The last text has the macros that its compiler options
 * define (as #define lines) and the names that a module is asked for. */
#define KILN__SCAN_OPTIONS KILN__SNIPPET_COUNT
#define KILN__SCAN_COUNT (KILN__SNIPPET_COUNT + 1)
typedef struct kiln__scan {
    kiln__tokens text[KILN__SCAN_COUNT];
    kiln__snippet_kind statements; /* the snippet that assigns the outputs: op or post */
} kiln__scan;

/* Overwrite with blanks the #includes of headers that the prelude replaces (headers.c). */
kiln_status kiln__includes_blank(char *text, kiln_error *err);

/* The user's headers that a definition includes, as tokens. */
typedef struct kiln__headers {
    kiln__tokens *file;
    size_t count, room;
    kiln__map seen;     /* their paths */
    kiln__buf included; /* the names in their #includes: "<limits><cmath>" */
    bool failed;        /* there was no memory */
} kiln__headers;
/* Read them; the caller clears *out, also after a failure. */
kiln_status kiln__headers_read(const kiln__definition *def, const kiln__scan *scan,
                               kiln__headers *out, kiln_error *err);
void kiln__headers_clear(kiln__headers *headers);

/* Whether `word` names a function that draws random numbers: neighbouring elements share a block of
 * random words, and all elements a key. (extent.c) */
bool kiln__is_random_word(const char *word);
/* Whether `word` is KILN_ATTEMPT, with which the calls begin whose result may need a second
 * attempt. (extent.c) */
bool kiln__is_attempt_word(const char *word);

/* Whether kiln__is_heavy_word() is true of some token. */
bool kiln__tokens_are_heavy(const kiln__tokens *tokens);

/* Whether the statements of a definition, with the functions that they call, are so long that a
 * kernel should hold them once (extent.c). */
bool kiln__is_large(const kiln__scan *scan, const kiln__headers *headers);

/* Fill in the words of a definition (words.c). */
kiln_status kiln__words_collect(kiln__definition *def, const kiln__scan *scan, kiln_error *err);

/* Fill in everything in `def` that follows from its snippets (uses.c). The params must be known.
 * The functions below are parts of it: */
kiln_status kiln__scan_definition(kiln__definition *def, kiln_error *err);

/* read_first of the outputs (assign.c). ERR_NO_MEMORY leaves nothing to free. */
kiln_status kiln__assign_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err);

/* def->copied (prep.c). */
kiln_status kiln__prep_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err);

/* def->copies (copies.c). */
void kiln__copies_scan(kiln__definition *def, const kiln__scan *scan);

/* def->batching: the batches that the texts allow (reduce_batch.c). */
void kiln__batch_scan(kiln__definition *def, const kiln__scan *scan);

/* ---- row programs (row_definition.c); for other requests and definitions these do nothing ---- */

/* Join both output signatures to one text, which the caller frees. */
kiln_status kiln__row_outputs_join(const kiln__definition_request *request, char **out,
                                   kiln_error *err);
/* The request's text of a stage, NULL for kinds that are none. */
const char *kiln__row_text(const kiln__definition_request *request, kiln__snippet_kind kind);
/* The functions of kiln__family_row, see there. */
kiln_status kiln__row_copy(const kiln__definition_request *request, kiln__definition *def,
                           kiln_error *err);
kiln_status kiln__row_check(const kiln__definition_request *request, kiln__definition *def,
                            kiln_error *err);
kiln_status kiln__row_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err);
void kiln__row_clear(kiln__definition *def);

/* ---- macros ---- */

/* One #define line. */
typedef struct kiln__macro {
    const kiln__tokens *tokens;
    size_t name;        /* index of the name's token */
    size_t param_begin; /* its parameters are the tokens from here to param_end; equal when it has
                           none */
    size_t param_end;
    size_t body_begin, body_end;
} kiln__macro;

/* Find the next #define line of a scan. `*at` and `*which` start as 0. Returns false after the
 * last. */
bool kiln__macro_next(const kiln__scan *scan, size_t *which, size_t *at, kiln__macro *out);

#endif
