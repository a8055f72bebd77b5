/*
 * lexer.h - C++ tokens, and what the front end makes of them. Private to src/codegen.
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
    KILN__TOKEN_MARK,   /* operator or punctuation, one of the longest that match */
    KILN__TOKEN_STRAY   /* what C++ knows no token for; consecutive bytes above 127 are one */
} kiln__token_kind;

typedef struct kiln__token {
    kiln__token_kind kind;
    uint32_t directive; /* 0: code; else the number of the preprocessor line that it stands on */
    size_t at, bytes;   /* where it stands in the text */
    size_t text;        /* its spelling in the pool: NUL-terminated, line splices removed */
} kiln__token;

typedef struct kiln__tokens {
    kiln__token *items; /* `count` tokens, then one of kind END */
    size_t count, capacity;
    kiln__buf pool;
    bool failed;   /* no memory */
    bool includes; /* there is an #include */
    bool doubtful; /* compilers may see other tokens: something is not closed, or ends oddly */
} kiln__tokens;

/* C++: comments, directives and line splices are understood. PLAIN: none of them exists. */
typedef enum kiln__lex_mode { KILN__LEX_CPP, KILN__LEX_PLAIN } kiln__lex_mode;

/* Cut `text` into tokens. Never fails but for memory (tokens->failed). */
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

/* The word that token `nth` is; NULL for other tokens. */
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

/* The order of words, for qsort() and bsearch(). */
static inline int kiln__compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether token `nth` names a directive, as `define` in "#define". */
bool kiln__token_is_directive(const kiln__tokens *tokens, size_t nth);

/* ---- what is done with them ---- */

/* Parse both signature texts of `def` into its params. */
kiln_status kiln__signature_parse(kiln__definition *def, kiln_error *err);

/* A copy of a signature text in which the types that are 64 bits wide to NumPy say so: "float x" is
 * "float64 x". Every later stage, and a manifest, then reads names of one meaning. */
kiln_status kiln__signature_widen(const char *text, char **out, kiln_error *err);

/* The snippets of a definition as tokens, and the macros that its compiler options define (as
 * #define lines) with the names that a module is asked for. */
#define KILN__SCAN_OPTIONS KILN__SNIPPET_COUNT
#define KILN__SCAN_COUNT (KILN__SNIPPET_COUNT + 1)
typedef struct kiln__scan {
    kiln__tokens text[KILN__SCAN_COUNT];
    kiln__snippet_kind statements; /* which snippet assigns the outputs: op or post */
} kiln__scan;

/* Blank the #includes of headers that the prelude stands for (headers.c). */
kiln_status kiln__includes_blank(char *text, kiln_error *err);

/* The headers of the user's that a definition includes, as tokens. */
typedef struct kiln__headers {
    kiln__tokens *file;
    size_t count, room;
    kiln__map seen;     /* their paths */
    kiln__buf included; /* the names in their #includes: "<limits><cmath>" */
    bool failed;        /* no memory */
} kiln__headers;
kiln_status kiln__headers_read(const kiln__definition *def, const kiln__scan *scan,
                               kiln__headers *out, kiln_error *err);
void kiln__headers_clear(kiln__headers *headers);

/* Whether a function's results for the neighbours of an access come from one block, and its results for
 * all elements from one key: random numbers. */
bool kiln__is_shared_word(const char *word);
/* Whether it stands where an element may take another attempt: KILN_ATTEMPT. (extent.c) */
bool kiln__is_doubtful_word(const char *word);

/* Whether some token is a word of which kiln__is_heavy_word() says so. */
bool kiln__tokens_are_heavy(const kiln__tokens *tokens);

/* Whether the statements of a definition, with the functions that they call, are so long that a kernel
 * should hold them once (extent.c). */
bool kiln__is_large(const kiln__scan *scan, const kiln__headers *headers);

/* Fill in the words of a definition (words.c). */
kiln_status kiln__words_collect(kiln__definition *def, const kiln__scan *scan, kiln_error *err);

/* Fill in all that the snippets decide: words, uses_*, cuda_only*, includes, by_address and
 * read_first. Needs params. */
kiln_status kiln__scan_definition(kiln__definition *def, kiln_error *err);

/* The part of it that decides read_first (assign.c). ERR_NO_MEMORY leaves nothing behind. */
kiln_status kiln__assign_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err);

/* The part of it that decides which variables of loop_prep are an element's own (prep.c). */
kiln_status kiln__prep_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err);

/* Row programs (row_definition.c); for other requests and definitions these do nothing. In the order
 * of use: both output signatures as one text; the text of a stage, NULL for other kinds; names
 * and values; their check against the parameters; what the texts use. */
kiln_status kiln__row_outputs_join(const kiln__definition_request *request, char **out,
                                   kiln_error *err);
const char *kiln__row_text(const kiln__definition_request *request, kiln__snippet_kind kind);
kiln_status kiln__row_copy(const kiln__definition_request *request, kiln__definition *def,
                           kiln_error *err);
kiln_status kiln__row_check(const kiln__definition_request *request, kiln__definition *def,
                            kiln_error *err);
kiln_status kiln__row_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err);
void kiln__row_clear(kiln__definition *def);

/* One #define line. */
typedef struct kiln__macro {
    const kiln__tokens *tokens;
    size_t name;        /* index of the name's token */
    size_t param_begin; /* its parameters lie between these two tokens; equal when it has none */
    size_t param_end;
    size_t body_begin, body_end;
} kiln__macro;

/* Go through the #define lines of a scan: `*at` and `*which` start as 0. False after the last. */
bool kiln__macro_next(const kiln__scan *scan, size_t *which, size_t *at, kiln__macro *out);

/* Which batches the texts allow, into def->batching. (reduce_batch.c) */
void kiln__batch_scan(kiln__definition *def, const kiln__scan *scan);

#endif
