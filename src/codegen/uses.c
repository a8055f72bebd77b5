/*
 * uses.c - what the snippets of a definition use.
 *
 *     signature > [uses: `i` `n` `_ind`, CUDA-only words, addresses taken; words.c] > assign > ...
 *
 * The snippets are C++ and are never parsed as such: all answers come from tokens and err on the
 * side that costs speed, not correctness.
 *
 * Rule 1: a word in a comment or a literal is no use; a word in a #define body is one.
 * Rule 2: `i`, `n` and `_ind` count wherever the word stands, even as a member or as a variable
 *         that the snippet declares itself.
 * Rule 3: what only CUDA can do is told by words alone. Words between #if and #endif that ask for
 *         CUDA's own macros are left to the compiler, so that one definition can serve both.
 *
 * definition.c calls this file. Test: test_scan.
 */
#include "codegen/lexer.h"

static const kiln__param *find_param(const kiln__definition *def, const char *name)
{
    for (size_t k = 0; k < def->param_count; k++) {
        if (strcmp(def->params[k].name, name) == 0)
            return &def->params[k];
    }
    return NULL;
}

static bool is_placeholder_of(const kiln__definition *def, char letter)
{
    for (size_t k = 0; k < def->param_count; k++) {
        if (def->params[k].placeholder == letter)
            return true;
    }
    return false;
}

/* ---- what only CUDA can do ---- */

/* With a '*' at its end: every word that begins so. With a '(': the word, called. */
static const char *const CUDA_ONLY[] = {
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "__global__",
    "__launch_bounds__",
    "warpSize",
    "__syncthreads*",
    "__syncwarp",
    "__shared__",
    "__shfl*",
    "__ballot*",
    "__any_sync",
    "__all_sync",
    "__activemask",
    "__match_*",
    "__reduce_*",
    "__nanosleep",
    "__cvta*",
    "__isShared",
    "__isGlobal",
    "__isLocal",
    "__isConstant",
    "cooperative_groups",
    "tex1D*",
    "tex2D*",
    "tex3D*",
    "texCubemap*",
    "surf1D*",
    "surf2D*",
    "surf3D*",
    "surfCubemap*",
    "cudaTextureObject_t",
    "cudaSurfaceObject_t",
    "clock(",
    "clock64(",
    "globaltimer(",
    "asm",
    "__asm",
    "__asm__",
};

/* The first words are what a module's kernels have on either device. */
enum { MODULE_WORDS = 6 };

static bool is_cuda_only(const kiln__definition *def, const kiln__tokens *t, size_t nth)
{
    const char *word = kiln__token_text(t, nth);

    for (size_t k = def->module ? MODULE_WORDS : 0; k < KILN_COUNT_OF(CUDA_ONLY); k++) {
        const char *item = CUDA_ONLY[k];
        size_t length = strlen(item);
        char last = item[length - 1];

        if (last == '*' && strncmp(word, item, length - 1) == 0)
            return true;
        if (last == '(' && strncmp(word, item, length - 1) == 0 && word[length - 1] == '\0' &&
            kiln__token_is(t, nth + 1, "("))
            return true;
        if (strcmp(word, item) == 0)
            return true;
    }
    return false;
}

/* Whether the condition of the #if line that token `nth` (`if`, `ifdef`, ...) begins asks for
 * what CUDA's compiler defines. */
static bool asks_for_cuda(const kiln__tokens *t, size_t nth)
{
    uint32_t line = t->items[nth].directive;

    for (size_t k = nth + 1; k < t->count && t->items[k].directive == line; k++) {
        const char *word = kiln__word_at(t, k);
        if (word != NULL && (strncmp(word, "__CUDA", 6) == 0 || strncmp(word, "__NVCC__", 8) == 0))
            return true;
    }
    return false;
}

/* The first CUDA-only word of one snippet, or NULL. */
static const char *find_cuda_only(const kiln__definition *def, const kiln__tokens *t)
{
    size_t depth = 0, guarded_from = 0; /* of #if nesting; 0: not guarded */

    for (size_t k = 0; k < t->count; k++) {
        const char *word = kiln__word_at(t, k);

        if (word == NULL)
            continue;
        if (kiln__token_is_directive(t, k)) {
            if (strncmp(word, "if", 2) == 0) {
                depth++;
                if (guarded_from == 0 && asks_for_cuda(t, k))
                    guarded_from = depth;
            } else if (strcmp(word, "endif") == 0 && depth != 0) {
                if (guarded_from == depth)
                    guarded_from = 0;
                depth--;
            }
            continue;
        }
        if (guarded_from == 0 && is_cuda_only(def, t, k) && find_param(def, word) == NULL &&
            (k == 0 || (!kiln__token_is(t, k - 1, ".") && !kiln__token_is(t, k - 1, "->"))))
            return word;
    }
    return NULL;
}

/* ---- addresses ---- */

/* Words after which an expression begins, so that `&` there takes an address. */
static bool begins_expression(const char *word)
{
    static const char *const WORDS[] = {
        "return", "sizeof", "case",   "else",      "do",       "throw",    "and",    "or",
        "not",    "xor",    "bitand", "bitor",     "compl",    "and_eq",   "or_eq",  "xor_eq",
        "not_eq", "delete", "typeid", "co_return", "co_yield", "co_await", "alignof"};

    for (size_t k = 0; k < KILN_COUNT_OF(WORDS); k++) {
        if (strcmp(word, WORDS[k]) == 0)
            return true;
    }
    return false;
}

/* Tokens that are searched for the beginning of a cast; no type is as long. */
#define CAST_TOKENS_MAX 64

/* The '(' that belongs to the ')' at `close`, or `close` when none does or it is far away. */
static size_t matching_open(const kiln__tokens *t, size_t begin, size_t close)
{
    size_t depth = 0;

    if (close - begin > CAST_TOKENS_MAX)
        begin = close - CAST_TOKENS_MAX;

    for (size_t k = close + 1; k-- > begin;) {
        if (kiln__token_is(t, k, ")"))
            depth++;
        else if (kiln__token_is(t, k, "(") && --depth == 0)
            return k;
    }
    return close;
}

/* Whether the parentheses that end at `close` may be a cast, "(T *)" or "(size_t)", rather than a
 * value. Unknown words are taken for types. */
static bool may_be_cast(const kiln__definition *def, const kiln__tokens *t, size_t begin,
                        size_t close)
{
    size_t open = matching_open(t, begin, close);
    const char *before = open > begin ? kiln__word_at(t, open - 1) : NULL;
    bool only_values = true;

    if (open == close)
        return close - begin <= CAST_TOKENS_MAX; /* no '(' at all: a macro may hold it */
    if ((before != NULL && !begins_expression(before)) ||
        (open > begin && (kiln__token_is(t, open - 1, ")") || kiln__token_is(t, open - 1, "]"))))
        return false; /* a call, or what a call gave */
    if (kiln__token_is(t, close - 1, "*"))
        return true;
    for (size_t k = open + 1; k < close; k++) {
        const char *word = kiln__word_at(t, k);
        if (word == NULL && !kiln__token_is(t, k, "::") && !kiln__token_is(t, k, "<") &&
            !kiln__token_is(t, k, ">") && !kiln__token_is(t, k, "*"))
            return false;
        if (word != NULL && find_param(def, word) == NULL && strcmp(word, "i") != 0)
            only_values = false;
    }
    return !only_values;
}

/* Whether token `nth` is an `&` that takes an address. Tokens before `begin` do not count. */
static bool takes_address(const kiln__definition *def, const kiln__tokens *t, size_t begin,
                          size_t nth)
{
    if (!kiln__token_is(t, nth, "&") && !kiln__token_is(t, nth, "bitand"))
        return false;
    if (kiln__word_at(t, nth + 1) == NULL && !kiln__token_is(t, nth + 1, "("))
        return false; /* `& 255` */
    if (nth == begin)
        return true;
    const char *word = kiln__word_at(t, nth - 1);
    if (word != NULL)
        return begins_expression(word);
    if (kiln__token_is(t, nth - 1, ")"))
        return may_be_cast(def, t, begin, nth - 1);
    return t->items[nth - 1].kind == KILN__TOKEN_MARK && !kiln__token_is(t, nth - 1, "]");
}

/* Whether some macro takes an address: its argument's, for all we know. */
static bool macros_take_addresses(const kiln__definition *def, const kiln__scan *scan)
{
    kiln__macro macro;
    size_t which = 0, at = 0;

    while (kiln__macro_next(scan, &which, &at, &macro)) {
        for (size_t k = macro.body_begin; k < macro.body_end; k++) {
            if (takes_address(def, macro.tokens, macro.body_begin, k))
                return true;
        }
    }
    return false;
}

/* Parameters whose addresses one snippet takes. */
static void find_addresses_in(kiln__definition *def, const kiln__tokens *op, bool everywhere)
{
    for (size_t k = 0; k < op->count; k++) {
        size_t target = k;

        if (!everywhere) {
            if (!takes_address(def, op, 0, k))
                continue;
            target = k + 1;
            while (kiln__token_is(op, target, "("))
                target++;
        }
        for (size_t p = 0; p < def->param_count; p++) {
            if (kiln__token_is(op, target, def->params[p].name))
                def->params[p].by_address = true;
        }
    }
}

static void find_addresses(kiln__definition *def, const kiln__scan *scan)
{
    const bool everywhere = macros_take_addresses(def, scan);

    find_addresses_in(def, &scan->text[scan->statements], everywhere);
    find_addresses_in(def, &scan->text[KILN__SNIPPET_OTHERWISE], everywhere);
    if (def->family->maps)
        find_addresses_in(def, &scan->text[KILN__SNIPPET_MAP], everywhere);
    /* CuPy's `_non_const` input: what the snippet assigns must reach memory. */
    for (size_t p = 0; p < def->param_count; p++)
        def->params[p].by_address |= def->params[p].writable && !def->params[p].raw;
}

/* ---- reductions: inputs of `post`, numbers and index tuples ---- */

/* Whether a raw parameter is never indexed, nor asked for its shape, but stands beside an operator of
 * arithmetic or comparison. */
static bool is_calculated_with(const kiln__tokens *t, const char *name, bool *indexed)
{
    static const char *const operators[] = {"+", "-", "/", "%", "<", ">", "<=", ">=", "==", "!="};
    bool found = false;

    for (size_t k = 0; k < t->count; k++) {
        if (!kiln__token_is(t, k, name))
            continue;
        *indexed |= kiln__token_is(t, k + 1, "[") || kiln__token_is(t, k + 1, ".");
        for (size_t o = 0; o < KILN_COUNT_OF(operators); o++)
            found |= kiln__token_is(t, k + 1, operators[o]) ||
                     (k > 0 && kiln__token_is(t, k - 1, operators[o]));
    }
    return found;
}

static void find_numbers_wanted(kiln__definition *def, const kiln__scan *scan)
{
    for (size_t p = 0; p < def->input_count; p++) {
        kiln__param *param = &def->params[p];
        bool indexed = param->writable || param->taken > 0, calculated = false;

        for (int s = KILN__SNIPPET_LOOP_PREP; s <= KILN__SNIPPET_POST && param->raw; s++)
            calculated |= is_calculated_with(&scan->text[s], param->name, &indexed);
        param->array_only = param->raw && indexed;
        param->number_only =
            !param->raw && kiln__tokens_mention(&scan->text[KILN__SNIPPET_IDENTITY], param->name);
        param->by_number =
            param->raw
                ? calculated && !indexed
                : param->number_only || strcmp(param->name, KILN__INITIAL) == 0 ||
                      kiln__tokens_mention(&scan->text[KILN__SNIPPET_LOOP_PREP], param->name) ||
                      kiln__tokens_mention(&scan->text[KILN__SNIPPET_AFTER_LOOP], param->name);
    }
}

bool kiln__mentions_input(const kiln__definition *def, const kiln__tokens *text, size_t p)
{
    bool found = kiln__tokens_mention(text, def->params[p].name);

    for (size_t q = 0; q < def->input_count; q++)
        for (int k = 0; k < def->params[q].taken; k++)
            found = found ||
                    (def->params[q].by[k] == p && kiln__tokens_mention(text, def->params[q].name));
    return found;
}

/* Elements that indices name are values of the map: what it gives is reduced, and `post` sees that alone. */
static kiln_status check_taken(const kiln__definition *def, const kiln__scan *scan, kiln_error *err)
{
    for (size_t p = 0; p < def->input_count && def->family->maps; p++)
        if (def->params[p].taken > 0 &&
            kiln__tokens_mention(&scan->text[KILN__SNIPPET_POST], def->params[p].name))
            return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                              "kernel \"%s\": `%s` is taken by index, which the map can do and `post` cannot",
                              def->name, def->params[p].name);
    return KILN_OK;
}

static void find_post_only(kiln__definition *def, const kiln__scan *scan)
{
    for (size_t p = 0; p < def->input_count && def->family->shrinks; p++)
        def->params[p].post_only =
            !def->params[p].raw &&
            kiln__tokens_mention(&scan->text[KILN__SNIPPET_POST], def->params[p].name) &&
            !kiln__mentions_input(def, &scan->text[KILN__SNIPPET_MAP], p);
}


/* Whether an object such as `_in_ind` is asked for more than its size and shape. */
static bool index_is_read(const kiln__scan *scan, const char *word)
{
    for (int s = 0; s < KILN__SCAN_COUNT; s++) {
        const kiln__tokens *t = &scan->text[s];

        for (size_t k = 0; k < t->count; k++) {
            if (kiln__token_is(t, k, word) &&
                !(kiln__token_is(t, k + 1, ".") &&
                  (kiln__token_is(t, k + 2, "size") || kiln__token_is(t, k + 2, "shape") ||
                   kiln__token_is(t, k + 2, "ndim"))))
                return true;
        }
    }
    return false;
}

/* Whether a word means what we define, not a parameter of that name. */
static bool uses_own(const kiln__definition *def, const char *word)
{
    return kiln__definition_uses(def, word) && find_param(def, word) == NULL;
}

/* Numbers of an element and of a result are there where results have fewer elements; elsewhere an
 * element has its place alone. */
static kiln_status find_numbers(kiln__definition *def, const kiln__scan *scan, kiln_error *err)
{
    static const char *const of_results[] = {"_j", "_i", "_in_ind", "_out_ind"};

    def->uses_number[KILN__NUMBER_POSITION] = uses_own(def, "_J") || uses_own(def, "_j");
    for (size_t k = 0; k < KILN_COUNT_OF(of_results) && !def->family->shrinks; k++)
        if (uses_own(def, of_results[k]))
            return kiln__fail(err, KILN_ERR_NAME,
                              "kernel \"%s\": `%s` is for reductions; in a %s, `_J` is the place of "
                              "an element",
                              def->name, of_results[k], def->family->noun);
    def->uses_in_number = uses_own(def, "_j");
    def->uses_out_number = uses_own(def, "_i");
    def->uses_in_indexer = uses_own(def, "_in_ind");
    def->uses_out_indexer = uses_own(def, "_out_ind");
    def->uses_number[KILN__NUMBER_IN] = def->uses_in_indexer && index_is_read(scan, "_in_ind");
    def->uses_number[KILN__NUMBER_OUT] =
        def->uses_in_number || def->uses_out_number ||
        (def->uses_out_indexer && index_is_read(scan, "_out_ind"));
    return KILN_OK;
}

/* ---- everything ---- */

/* What stands outside the snippets: the macros of the options, and the names of a module's instances. */
static char *outer_text(const kiln__definition *def)
{
    char *const macros = kiln__definition_macros(def);
    kiln__buf lines = KILN__BUF_INIT;

    if (macros == NULL || !def->module || def->name_count == 0)
        return macros;
    kiln__buf_puts(&lines, macros);
    kiln__free(macros);
    for (size_t k = 0; k < def->name_count; k++) {
        kiln__buf_puts(&lines, def->names[k]);
        kiln__buf_putc(&lines, '\n');
    }
    return kiln__buf_take(&lines);
}

static kiln_status lex_all(const kiln__definition *def, kiln__scan *scan, kiln_error *err)
{
    char *macros = outer_text(def);
    bool failed = macros == NULL;

    for (int s = 0; s < KILN__SNIPPET_COUNT && !failed; s++) {
        if (s >= KILN__SNIPPET_STAGE && def->snippet[s][0] == '\0')
            continue; /* row programs alone have those, and few of them */
        kiln__lex(def->snippet[s], KILN__LEX_CPP, &scan->text[s]);
        failed = scan->text[s].failed;
    }
    if (!failed) {
        kiln__lex(macros, KILN__LEX_CPP, &scan->text[KILN__SCAN_OPTIONS]);
        failed = scan->text[KILN__SCAN_OPTIONS].failed;
    }
    kiln__free(macros);
    return failed
               ? kiln__fail(err, KILN_ERR_NO_MEMORY, "no memory to scan kernel \"%s\"", def->name)
               : KILN_OK;
}

kiln_status kiln__scan_definition(kiln__definition *def, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__scan scan = {.statements = def->family->maps ? KILN__SNIPPET_POST : KILN__SNIPPET_OP};

    KILN_TRY(lex_all(def, &scan, err));
    KILN_TRY(kiln__words_collect(def, &scan, err));
    def->uses_index = kiln__definition_uses(def, "i") || (def->reports && !def->family->maps);
    def->uses_size = kiln__definition_uses(def, "n") && find_param(def, "n") == NULL &&
                     !is_placeholder_of(def, 'n');
    def->uses_indexer = kiln__definition_uses(def, "_ind");
    if (def->family->maps) {
        KILN_TRY(check_taken(def, &scan, err));
        find_post_only(def, &scan);
        KILN_TRY(find_numbers(def, &scan, err));
    }
    def->masked = find_param(def, KILN__WHERE) != NULL;
    def->has_initial = find_param(def, KILN__INITIAL) != NULL;
    for (int s = 0; s < KILN__SNIPPET_COUNT; s++) {
        const char *word = def->cuda_only ? NULL : find_cuda_only(def, &scan.text[s]);
        if (word != NULL) {
            def->cuda_only = true;
            snprintf(def->cuda_only_word, sizeof def->cuda_only_word, "%s", word);
        }
        def->includes = def->includes || scan.text[s].includes;
    }
    find_addresses(def, &scan);
    find_numbers_wanted(def, &scan);
    kiln__batch_scan(def, &scan);
    def->heavy_map = kiln__tokens_are_heavy(&scan.text[KILN__SNIPPET_MAP]);
    KILN_TRY(kiln__assign_scan(def, &scan, err));
    KILN_TRY(kiln__prep_scan(def, &scan, err));
    kiln__copies_scan(def, &scan);
    if (def->family->scan != NULL)
        KILN_TRY(def->family->scan(def, &scan, err));

done:
    for (int s = 0; s < KILN__SCAN_COUNT; s++)
        kiln__tokens_clear(&scan.text[s]);
    return status;
}
