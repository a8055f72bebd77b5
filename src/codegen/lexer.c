/*
 * lexer.c - cut C++ text into tokens.
 *
 *     [lexer] > signature, scan, assign
 *
 * It understands what can hide a word or fake one: comments, string, character and raw string
 * literals, line splices (a backslash at a line's end, allowed even inside a word), digit
 * separators (1'000 begins no character literal), digraphs, and preprocessor lines.
 *
 * Rule 1: it never rejects anything. What a compiler would reject becomes a STRAY token or sets
 *         `doubtful`, so that whoever wants a proof from the tokens does not get one.
 * Rule 2: marks are cut as C++ does, the longest first: `&&` is not two `&`.
 * Rule 3: preprocessor lines are tokens like others, numbered, so that a #define body counts as
 *         a use; only the rest of #include, #error and #warning lines is skipped.
 *
 * Every file here that reads C++ uses it. Test: test_scan.
 */
#include "codegen/lexer.h"

typedef struct lexer {
    const char *text;
    size_t at; /* next character; never on a splice in KILN__LEX_CPP */
    kiln__lex_mode mode;
    bool line_start;    /* no token yet on this line */
    uint32_t directive; /* number of the directive being read, or 0 */
    uint32_t directives;
    kiln__tokens *out;
} lexer;

/* Longest first within each first character; digraphs with what they stand for. */
static const struct {
    const char *spelling, *meaning;
} MARKS[] = {
    {"<<=", NULL}, {">>=", NULL}, {"...", NULL}, {"->*", NULL}, {"%:%:", "##"}, {"::", NULL},
    {"->", NULL},  {".*", NULL},  {"++", NULL},  {"--", NULL},  {"<<", NULL},   {">>", NULL},
    {"<=", NULL},  {">=", NULL},  {"==", NULL},  {"!=", NULL},  {"&&", NULL},   {"||", NULL},
    {"+=", NULL},  {"-=", NULL},  {"*=", NULL},  {"/=", NULL},  {"%=", NULL},   {"&=", NULL},
    {"|=", NULL},  {"^=", NULL},  {"##", NULL},  {"<%", "{"},   {"%>", "}"},    {"<:", "["},
    {":>", "]"},   {"%:", "#"},
};

static const char SINGLE_MARKS[] = "{}[]()<>;:,.?!~+-*/%&|^=#";

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_word(char c)
{
    return is_word_start(c) || kiln__is_digit(c);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/* Bytes of the line splice at `p`, or 0. Blanks between the backslash and the newline are a
 * splice to GCC and none to other compilers: that is left to `doubtful`. */
static size_t splice_at(const char *text, size_t p)
{
    if (text[p] != '\\')
        return 0;
    if (text[p + 1] == '\n')
        return 2;
    return text[p + 1] == '\r' && text[p + 2] == '\n' ? 3 : 0;
}

/* `p`, moved over line splices. */
static size_t settle(lexer *l, size_t p)
{
    size_t bytes = 0;

    if (l->mode == KILN__LEX_PLAIN)
        return p;
    while ((bytes = splice_at(l->text, p)) != 0)
        p += bytes;
    if (l->text[p] == '\\') {
        size_t q = p + 1;
        while (is_blank(l->text[q]))
            q++;
        if (l->text[q] == '\n')
            l->out->doubtful = true;
    }
    return p;
}

/* The character `ahead` places from here, splices not counted; NUL at or after the end. */
static char peek(lexer *l, size_t ahead)
{
    size_t p = l->at;

    for (; ahead != 0 && l->text[p] != '\0'; ahead--)
        p = settle(l, p + 1);
    return l->text[p];
}

static void skip(lexer *l)
{
    l->at = settle(l, l->at + 1);
}

/* Move on by one character and keep it as part of the token's spelling. */
static void keep(lexer *l)
{
    kiln__buf_putc(&l->out->pool, l->text[l->at]);
    skip(l);
}

static void append(kiln__tokens *tokens, kiln__token token)
{
    if (tokens->count + 1 >= tokens->capacity) {
        size_t capacity = tokens->capacity == 0 ? 32 : tokens->capacity * 2;
        kiln__token *items = kiln__realloc(tokens->items, capacity * sizeof *items);
        if (items == NULL) {
            tokens->failed = true;
            return;
        }
        tokens->items = items;
        tokens->capacity = capacity;
    }
    tokens->items[tokens->count] = token;
    if (token.kind != KILN__TOKEN_END)
        tokens->count++;
}

/* Skip to the end of the line, or of the comment there: a splice continues both. */
static void skip_line(lexer *l)
{
    while (l->text[l->at] != '\0' && l->text[l->at] != '\n')
        skip(l);
}

static void skip_block_comment(lexer *l)
{
    skip(l);
    skip(l);
    while (l->text[l->at] != '\0') {
        if (peek(l, 0) == '*' && peek(l, 1) == '/') {
            skip(l);
            skip(l);
            return;
        }
        skip(l);
    }
    l->out->doubtful = true;
}

/* Skip what separates tokens; a newline ends a directive. */
static void skip_space(lexer *l)
{
    for (;;) {
        char c = l->text[l->at];
        if (c == '\n') {
            l->line_start = true;
            l->directive = 0;
            skip(l);
        } else if (is_blank(c)) {
            skip(l);
        } else if (l->mode == KILN__LEX_CPP && c == '/' && peek(l, 1) == '/') {
            skip_line(l);
        } else if (l->mode == KILN__LEX_CPP && c == '/' && peek(l, 1) == '*') {
            skip_block_comment(l);
        } else {
            return;
        }
    }
}

/* A string or character literal whose opening quote is here. */
static void read_quoted(lexer *l)
{
    char quote = l->text[l->at];

    skip(l);
    for (;;) {
        char c = l->text[l->at];
        if (c == '\0' || c == '\n') {
            l->out->doubtful = true;
            return;
        }
        skip(l);
        if (c == quote)
            return;
        if (c == '\\' && l->text[l->at] != '\0' && l->text[l->at] != '\n')
            skip(l);
    }
}

/* A raw string whose opening quote is here: R"tag( ... )tag". Nothing inside is special. */
static void read_raw(lexer *l)
{
    const char *open = l->text + l->at + 1;
    size_t tag_bytes = strcspn(open, "() \\\t\v\f\n");
    const char *p = open + tag_bytes;

    if (*p != '(' || tag_bytes > 16) {
        l->out->doubtful = true;
        read_quoted(l);
        return;
    }
    while ((p = strchr(p, ')')) != NULL) {
        if (strncmp(p + 1, open, tag_bytes) == 0 && p[1 + tag_bytes] == '"') {
            l->at = settle(l, (size_t)(p - l->text) + tag_bytes + 2);
            return;
        }
        p++;
    }
    l->out->doubtful = true;
    l->at += strlen(l->text + l->at);
}

/* Whether the word at `word` is a literal's prefix; `*raw_out` tells whether of a raw one. */
static bool is_literal_prefix(const char *word, char quote, bool *raw_out)
{
    static const char *const PREFIXES[] = {"u8", "u", "U", "L", "R", "u8R", "uR", "UR", "LR"};

    for (size_t k = 0; k < KILN_COUNT_OF(PREFIXES); k++) {
        if (strcmp(word, PREFIXES[k]) == 0) {
            *raw_out = word[strlen(word) - 1] == 'R';
            return quote == '"' || !*raw_out;
        }
    }
    return false;
}

static void read_number(lexer *l)
{
    for (;;) {
        char c = peek(l, 0);
        char next = peek(l, 1);
        if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (next == '+' || next == '-')) {
            keep(l);
            keep(l);
        } else if (is_word(c) || c == '.' || (c == '\'' && is_word(next))) {
            keep(l);
        } else {
            return;
        }
    }
}

static void read_mark(lexer *l, kiln__token *token)
{
    for (size_t k = 0; k < KILN_COUNT_OF(MARKS); k++) {
        const char *spelling = MARKS[k].spelling;
        size_t length = strlen(spelling), ahead = 0;

        while (ahead < length && peek(l, ahead) == spelling[ahead])
            ahead++;
        /* C++ cuts "<::" as "<" and "::", unless another ':' or '>' follows. */
        if (ahead < length || (strcmp(spelling, "<:") == 0 && peek(l, 2) == ':' &&
                               peek(l, 3) != ':' && peek(l, 3) != '>'))
            continue;
        if (MARKS[k].meaning == NULL) {
            while (length-- != 0)
                keep(l);
        } else {
            kiln__buf_puts(&l->out->pool, MARKS[k].meaning);
            while (length-- != 0)
                skip(l);
        }
        return;
    }
    if (strchr(SINGLE_MARKS, l->text[l->at]) == NULL) {
        token->kind = KILN__TOKEN_STRAY;
        while (((unsigned char)l->text[l->at] & 0x80) != 0 &&
               ((unsigned char)l->text[l->at + 1] & 0x80) != 0)
            keep(l);
    }
    keep(l);
}

/* Read the token that begins here into the pool. */
static void read_token(lexer *l, kiln__token *token)
{
    kiln__buf *pool = &l->out->pool;
    char c = l->text[l->at];
    bool raw = false;

    if (kiln__is_digit(c) || (c == '.' && kiln__is_digit(peek(l, 1)))) {
        token->kind = KILN__TOKEN_NUMBER;
        read_number(l);
    } else if (is_word_start(c)) {
        token->kind = KILN__TOKEN_WORD;
        while (is_word(l->text[l->at]))
            keep(l);
        c = l->text[l->at];
        if (l->mode == KILN__LEX_CPP && (c == '"' || c == '\'') && !pool->failed &&
            pool->text != NULL && is_literal_prefix(pool->text + token->text, c, &raw)) {
            token->kind = KILN__TOKEN_TEXT;
            if (raw)
                read_raw(l);
            else
                read_quoted(l);
        }
    } else if (l->mode == KILN__LEX_CPP && (c == '"' || c == '\'')) {
        token->kind = KILN__TOKEN_TEXT;
        read_quoted(l);
    } else {
        token->kind = KILN__TOKEN_MARK;
        read_mark(l, token);
    }
    kiln__buf_putc(pool, '\0');
}

/* After the second token of a directive: skip the rest of lines that hold no C++. */
static void finish_directive_name(lexer *l, const char *name)
{
    if (strcmp(name, "include") == 0 || strcmp(name, "include_next") == 0 ||
        strcmp(name, "import") == 0) {
        l->out->includes = true;
        skip_line(l);
    } else if (strcmp(name, "error") == 0 || strcmp(name, "warning") == 0) {
        skip_line(l);
    }
}

void kiln__lex(const char *text, kiln__lex_mode mode, kiln__tokens *out)
{
    lexer l = {.text = text, .mode = mode, .line_start = true, .out = out};
    bool expect_name = false; /* the last token was the '#' of a directive */

    *out = (kiln__tokens){.pool = KILN__BUF_INIT};
    l.at = settle(&l, 0);
    for (;;) {
        kiln__token token = {0};

        skip_space(&l);
        token.at = l.at;
        token.text = out->pool.length;
        if (text[l.at] == '\0')
            break;
        read_token(&l, &token);
        token.bytes = l.at - token.at;
        if (out->pool.failed || out->failed)
            break;
        if (mode == KILN__LEX_CPP && l.line_start && token.kind == KILN__TOKEN_MARK &&
            strcmp(out->pool.text + token.text, "#") == 0) {
            l.directive = ++l.directives;
            expect_name = true;
        } else {
            if (expect_name && l.directive != 0)
                finish_directive_name(&l, out->pool.text + token.text);
            expect_name = false;
        }
        token.directive = l.directive;
        l.line_start = false;
        append(out, token);
    }
    kiln__buf_putc(&out->pool, '\0');
    append(out, (kiln__token){.kind = KILN__TOKEN_END,
                              .at = strlen(text),
                              .text = out->pool.length == 0 ? 0 : out->pool.length - 1});
    out->failed = out->failed || out->pool.failed;
}

void kiln__tokens_clear(kiln__tokens *tokens)
{
    kiln__free(tokens->items);
    kiln__buf_clear(&tokens->pool);
    *tokens = (kiln__tokens){.pool = KILN__BUF_INIT};
}

/* ---- directives ---- */

bool kiln__token_is_directive(const kiln__tokens *t, size_t nth)
{
    return nth != 0 && t->items[nth].directive != 0 &&
           t->items[nth - 1].directive == t->items[nth].directive &&
           kiln__token_is(t, nth - 1, "#") &&
           (nth == 1 || t->items[nth - 2].directive != t->items[nth].directive);
}

bool kiln__macro_next(const kiln__scan *scan, size_t *which, size_t *at, kiln__macro *out)
{
    for (; *which < KILN__SCAN_COUNT; (*which)++, *at = 0) {
        const kiln__tokens *t = &scan->text[*which];

        for (; *at < t->count; (*at)++) {
            size_t k = *at;
            uint32_t line = t->items[k].directive;

            if (!kiln__token_is_directive(t, k) || !kiln__token_is(t, k, "define") ||
                t->items[k + 1].kind != KILN__TOKEN_WORD || t->items[k + 1].directive != line)
                continue;
            *out = (kiln__macro){.tokens = t, .name = ++k};
            out->param_begin = out->param_end = ++k;
            /* Parameters follow the name with no space between. */
            if (kiln__token_is(t, k, "(") && t->items[k].directive == line &&
                t->items[k].at == t->items[k - 1].at + t->items[k - 1].bytes) {
                out->param_begin = k;
                while (t->items[k].directive == line && !kiln__token_is(t, k, ")"))
                    k++;
                out->param_end = k;
                k += kiln__token_is(t, k, ")");
            }
            out->body_begin = k;
            while (k < t->count && t->items[k].directive == line)
                k++;
            out->body_end = k;
            *at = k;
            return true;
        }
    }
    return false;
}
