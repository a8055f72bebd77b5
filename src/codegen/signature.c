/*
 * signature.c - from "T x, raw float32 table" to parameters.
 *
 *     text > lexer > [signature] > bind types > plan > emit
 *
 *     params := param (',' param)*                     or nothing at all
 *     param  := 'raw'? 'const'? type name
 *             | 'take' mode? type name 'by' name+     an input of elementwise kernels, read by index
 *     mode   := 'wrap' | 'clip'
 *     type   := a letter (a placeholder) | a dtype's name, of one or more words
 *             | 'struct', of a module's kernel: what is passed whole
 *
 * CuPy's strings are read unchanged; `const` and C's type names are ours. `_non_const`, before or
 * behind `raw`, is CuPy's word for an input that snippets may write.
 *
 * Rule 1: each refusal names the token at fault and says where it is: kernel, which text, column.
 *         Its detail is that text with a caret.
 * Rule 2: names are refused here only when the generated source could not mean what the user
 *         meant (keywords, `i`, thread indices); `n` and leading underscores are in use out there.
 *
 * definition.c, types.c, src/kernel and src/module call this file. Test: test_signature.
 */
#include "codegen/lexer.h"

/* Longest signature text that is looked at. */
#define SIGNATURE_BYTES_MAX ((size_t)1 << 20)

/* More tokens than any type has: "cuda::std::complex<double>" has eight. */
#define TYPE_TOKENS_MAX 16

static const char *const SIDE_NAMES[2] = {"inputs", "outputs"};

typedef struct parser {
    kiln__definition *def;
    int side; /* 0: inputs, 1: outputs */
    kiln__tokens tokens;
    size_t capacity; /* of def->params */
    kiln_error *err;
} parser;

/* ---- refusing ---- */

/* "line 2, column 7" or, in a text of one line, "column 7"; columns count from 1. */
static void describe_place(const char *text, size_t at, char *out, size_t out_bytes)
{
    size_t line = 1, begin = 0;

    for (size_t k = 0; k < at; k++) {
        if (text[k] == '\n') {
            line++;
            begin = k + 1;
        }
    }
    if (strchr(text, '\n') != NULL)
        snprintf(out, out_bytes, "line %zu, column %zu", line, at - begin + 1);
    else
        snprintf(out, out_bytes, "column %zu", at - begin + 1);
}

static kiln_status refuse(const parser *p, kiln_status status, size_t at, size_t width,
                          const char *fmt, ...) KILN_PRINTF(5, 6);
static kiln_status refuse(const parser *p, kiln_status status, size_t at, size_t width,
                          const char *fmt, ...)
{
    const char *text = p->def->signature[p->side];
    char message[KILN_ERROR_MESSAGE_BYTES], place[64];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    describe_place(text, at, place, sizeof place);
    return kiln__fail_at(p->err, status, text, at, width,
                             "kernel \"%s\": %s, %s: %s", p->def->name,
                             p->def->module ? "signature" : SIDE_NAMES[p->side], place, message);
}

/* Refuse the token itself: "\"for\" is a keyword of C++". Words come from outside and may be of any
 * length; the message shows their beginning. */
static kiln_status refuse_token(const parser *p, kiln_status status, size_t nth, const char *why)
{
    const kiln__token *token = &p->tokens.items[nth];

    return refuse(p, status, token->at, token->bytes, "\"%.100s\" %s",
                  kiln__token_text(&p->tokens, nth), why);
}

/* ---- suggestions ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Longest word for which a nearest name is looked for. */
#define SUGGEST_BYTES_MAX 32

/* Edits (a letter more, less or other, two neighbours swapped) between words, case ignored. */
static size_t edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t d[3][SUGGEST_BYTES_MAX + 1]; /* rows k - 2, k - 1 and k of the usual table, in turn */

    for (size_t j = 0; j <= b_bytes; j++)
        d[0][j] = j;
    for (size_t k = 1; k <= a_bytes; k++) {
        size_t *row = d[k % 3];
        const size_t *above = d[(k + 2) % 3], *two_above = d[(k + 1) % 3];
        row[0] = k;
        for (size_t j = 1; j <= b_bytes; j++) {
            bool same = lower(a[k - 1]) == lower(b[j - 1]);
            row[j] = min_of(min_of(row[j - 1], above[j]) + 1, above[j - 1] + (same ? 0 : 1));
            if (k > 1 && j > 1 && lower(a[k - 1]) == lower(b[j - 2]) &&
                lower(a[k - 2]) == lower(b[j - 1]))
                row[j] = min_of(row[j], two_above[j - 2] + 1);
        }
    }
    return d[a_bytes % 3][b_bytes];
}

/* The type name nearest to `word`, or NULL when none is near: a third of it may be wrong, at most
 * two letters. */
static const char *nearest_type(const char *word, size_t bytes)
{
    static const char *const NAMES[] = {
#define NUMPY_NAME(tag, value, text, size, kind, ctype, npy) text,
        KILN_DTYPE_MAP(NUMPY_NAME)
#undef NUMPY_NAME
            "float",
        "double",
        "int",
        "long",
        "short",
        "char",
        "unsigned",
        "long long",
        "unsigned int",
        "unsigned char",
        "unsigned short",
        "unsigned long",
        "unsigned long long",
        "signed char",
        "half",
        "size_t",
        "ptrdiff_t",
        "complex<float>",
        "complex<double>",
        "thrust::complex<float>",
        "thrust::complex<double>",
        "raw",
        "const",
    };
    const char *best = NULL;
    size_t best_distance = min_of(2, bytes / 3) + 1;

    if (bytes > SUGGEST_BYTES_MAX)
        return NULL;
    for (size_t k = 0; k < KILN_COUNT_OF(NAMES); k++) {
        size_t distance = edit_distance(word, bytes, NAMES[k], strlen(NAMES[k]));
        if (distance < best_distance) {
            best = NAMES[k];
            best_distance = distance;
        }
    }
    return best;
}

/* ---- types ---- */

static bool is_placeholder(const char *word)
{
    return word[0] != '\0' && word[1] == '\0' && word[0] != '_' && kiln__is_identifier(word);
}

static bool is_word_token(const parser *p, size_t nth)
{
    return p->tokens.items[nth].kind == KILN__TOKEN_WORD;
}

/* The type that tokens begin..end spell, in one blank between words. False when they spell none;
 * `text` then holds what was spelled (cut when too long). */
static bool read_type(const parser *p, size_t begin, size_t end, char *text, size_t text_bytes,
                      char *placeholder_out, kiln_dtype *dtype_out)
{
    size_t length = 0;

    *placeholder_out = 0;
    *dtype_out = KILN_DTYPE_NONE;
    text[0] = '\0';
    for (size_t k = begin; k < end; k++) {
        const bool blank = k > begin && is_word_token(p, k) && is_word_token(p, k - 1);
        const char *word = kiln__token_text(&p->tokens, k);
        for (size_t c = 0; c < blank + strlen(word); c++) {
            if (length + 1 >= text_bytes)
                return false;
            text[length++] = c < blank ? ' ' : word[c - blank];
            text[length] = '\0';
        }
    }
    if (begin == end)
        return false;
    if (end - begin == 1 && is_placeholder(text)) {
        *placeholder_out = text[0];
        return true;
    }
    if (p->def->module && strcmp(text, "struct") == 0) {
        *dtype_out = KILN_UINT8;
        return true;
    }
    *dtype_out = kiln_dtype_from_name(text, length);
    return *dtype_out != KILN_DTYPE_NONE;
}

static kiln_status refuse_type(const parser *p, size_t begin, size_t end, const char *spelled)
{
    static const char *const TOO_WIDE[] = {"float128", "longdouble", "long double", "complex256",
                                           "clongdouble"};
    const kiln__token *first = &p->tokens.items[begin], *last = &p->tokens.items[end - 1];
    size_t width = last->at + last->bytes - first->at;

    for (size_t k = 0; k < KILN_COUNT_OF(TOO_WIDE); k++) {
        if (strcmp(spelled, TOO_WIDE[k]) == 0)
            return refuse(p, KILN_ERR_UNKNOWN_TYPE, first->at, width,
                          "no device computes in \"%s\"; the widest types are \"float64\" and "
                          "\"complex128\"",
                          spelled);
    }
    const char *near = nearest_type(spelled, strlen(spelled));
    if (near == NULL && begin + 1 < end)
        near = nearest_type(kiln__token_text(&p->tokens, begin), first->bytes);
    if (near != NULL)
        return refuse(p, KILN_ERR_UNKNOWN_TYPE, first->at, width,
                      "unknown type \"%.200s\"; did you mean \"%s\"?", spelled, near);
    return refuse(p, KILN_ERR_UNKNOWN_TYPE, first->at, width,
                  "unknown type \"%.200s\"; a type is one letter or a dtype such as \"float32\"",
                  spelled);
}

/* ---- names ---- */

static bool is_cuda_word(const char *name)
{
    static const char *const WORDS[] = {
        "threadIdx",   "blockIdx",     "blockDim",        "gridDim",      "warpSize",
        "__global__",  "__device__",   "__host__",        "__shared__",   "__constant__",
        "__managed__", "__restrict__", "__forceinline__", "__noinline__",
    };

    for (size_t k = 0; k < KILN_COUNT_OF(WORDS); k++) {
        if (strcmp(name, WORDS[k]) == 0)
            return true;
    }
    return false;
}

static bool is_numpy_type(const char *name)
{
    kiln_dtype dtype = kiln_dtype_from_name(name, strlen(name));
    return strcmp(name, kiln_dtype_name(dtype)) == 0;
}

/* Whether a call adds the input, whose name no user may give. */
static bool is_call_input(const char *name)
{
    return strcmp(name, KILN__WHERE) == 0 || strcmp(name, KILN__INITIAL) == 0;
}

static kiln_status check_name(const parser *p, size_t nth)
{
    const char *name = kiln__token_text(&p->tokens, nth);
    const kiln__token *token = &p->tokens.items[nth];
    const kiln__definition *def = p->def;

    if (strcmp(name, "i") == 0 && !def->module)
        return refuse_token(p, KILN_ERR_NAME, nth, "is the loop's index and no name to give");
    if (strcmp(name, "_ind") == 0)
        return refuse_token(p, KILN_ERR_NAME, nth, "is the loop's indexer and no name to give");
    if (kiln__is_cpp_keyword(name))
        return refuse_token(p, KILN_ERR_NAME, nth, "is a keyword of C++");
    if (is_cuda_word(name))
        return refuse_token(p, KILN_ERR_NAME, nth, "is a word of CUDA");
    if (strncmp(name, "kiln__", 6) == 0 && !(def->family->maps && is_call_input(name)))
        return refuse_token(p, KILN_ERR_NAME, nth, "begins as the names in generated source do");
    if (is_numpy_type(name))
        return refuse_token(p, KILN_ERR_NAME, nth, "is the name of a type");
    if (strchr(name, '$') != NULL)
        return refuse_token(p, KILN_ERR_NAME, nth, "is no C++ identifier");
    for (size_t k = 0; k < def->param_count; k++) {
        bool output = def->params[k].output;
        if (strcmp(name, def->params[k].name) == 0)
            return refuse(p, KILN_ERR_NAME, token->at, token->bytes,
                          "\"%.100s\" is already the name of %s %zu", name,
                          output ? "output" : "input", output ? k - def->input_count + 1 : k + 1);
    }
    return KILN_OK;
}

/* ---- parameters ---- */

/* Room for more parameters, all zeroed: what is generated without any still looks at the first. */
static kiln_status make_room(parser *p)
{
    const size_t capacity = p->capacity == 0 ? 8 : p->capacity * 2;
    kiln__param *params = kiln__realloc(p->def->params, capacity * sizeof *params);

    if (params == NULL)
        return kiln__fail_memory(p->err, capacity * sizeof *params);
    memset(params + p->capacity, 0, (capacity - p->capacity) * sizeof *params);
    p->def->params = params;
    p->capacity = capacity;
    return KILN_OK;
}

static kiln_status add_param(parser *p, kiln__param param, const char *name)
{
    kiln__definition *def = p->def;

    if (def->param_count == p->capacity) {
        KILN_CHECK(make_room(p));
    }
    param.name = kiln__strdup(name);
    if (param.name == NULL)
        return kiln__fail_memory(p->err, strlen(name) + 1);
    def->params[def->param_count++] = param;
    def->input_count += p->side == 0;
    return KILN_OK;
}

/* The mark that ends a parameter, or what stands where none can be. */
static kiln_status check_marks(const parser *p, size_t begin, size_t end)
{
    for (size_t k = begin; k < end; k++) {
        const kiln__token *token = &p->tokens.items[k];

        if (token->kind == KILN__TOKEN_STRAY &&
            ((unsigned char)p->def->signature[p->side][token->at] & 0x80) != 0)
            return refuse_token(p, KILN_ERR_SYNTAX, k, "is not ASCII");
        if (kiln__token_is(&p->tokens, k, "*") || kiln__token_is(&p->tokens, k, "&"))
            return refuse_token(p, KILN_ERR_SYNTAX, k,
                                "is out of place; an array to index is written \"raw T x\"");
        if (token->kind == KILN__TOKEN_NUMBER)
            return refuse_token(p, KILN_ERR_SYNTAX, k, "is neither a type nor a name");
        if (token->kind != KILN__TOKEN_WORD && !kiln__token_is(&p->tokens, k, "::") &&
            !kiln__token_is(&p->tokens, k, "<") && !kiln__token_is(&p->tokens, k, ">"))
            return refuse_token(p, KILN_ERR_SYNTAX, k, "is out of place");
    }
    return KILN_OK;
}

/* Read the words before a type. They are no types, so one that is left over is misplaced. */
static kiln_status parse_qualifiers(const parser *p, size_t *at, size_t end, kiln__param *param)
{
    for (; *at < end; (*at)++) {
        if (kiln__token_is(&p->tokens, *at, "raw")) {
            if (param->is_const)
                return refuse_token(p, KILN_ERR_SYNTAX, *at, "belongs before \"const\"");
            if (param->raw)
                return refuse_token(p, KILN_ERR_SYNTAX, *at, "is written twice");
            param->raw = true;
        } else if (kiln__token_is(&p->tokens, *at, "_non_const")) {
            if (param->is_const)
                return refuse_token(p, KILN_ERR_SYNTAX, *at, "contradicts \"const\"");
            param->writable = true;
        } else if (kiln__token_is(&p->tokens, *at, "const")) {
            if (param->is_const)
                return refuse_token(p, KILN_ERR_SYNTAX, *at, "is written twice");
            if (param->writable)
                return refuse_token(p, KILN_ERR_SYNTAX, *at, "contradicts \"_non_const\"");
            if (p->side == 1)
                return refuse_token(p, KILN_ERR_SYNTAX, *at, "makes no sense for an output");
            param->is_const = true;
        } else {
            break;
        }
    }
    for (size_t k = *at; k < end; k++) {
        if (kiln__token_is(&p->tokens, k, "raw") || kiln__token_is(&p->tokens, k, "_non_const") ||
            kiln__token_is(&p->tokens, k, "const"))
            return refuse_token(p, KILN_ERR_SYNTAX, k, "belongs before the type");
    }
    return KILN_OK;
}

/* Only a type or only a name is there. */
static kiln_status refuse_lonely(const parser *p, size_t begin, size_t end, bool is_type)
{
    const kiln__token *first = &p->tokens.items[begin], *last = &p->tokens.items[end - 1];
    size_t bytes = last->at + last->bytes - first->at;
    const char *text = p->def->signature[p->side] + first->at;

    return refuse(p, KILN_ERR_SYNTAX, first->at, bytes,
                  is_type ? "\"%.*s\" is a type, and the parameter's name is missing"
                          : "\"%.*s\" has no type; a parameter is written \"T x\"",
                  (int)min_of(bytes, 200), text);
}

/* ---- inputs that are taken by index ---- */

/* "take", a mode, and "by" with the names behind it, which is cut off. The names are found when all inputs are
 * known. */
static kiln_status parse_take(const parser *p, size_t *begin, size_t *end, kiln__param *param)
{
    const bool reduces = p->def->family->maps && p->def->family->shrinks;
    size_t by = *begin + 1;

    if (!kiln__token_is(&p->tokens, *begin, "take"))
        return KILN_OK;
    if (p->side == 1 || p->def->module || (p->def->family != &kiln__family_loop && !reduces))
        return refuse_token(p, KILN_ERR_UNSUPPORTED, *begin,
                            "belongs before inputs of elementwise kernels and reductions");
    while (by < *end && !kiln__token_is(&p->tokens, by, "by"))
        by++;
    if (by + 1 >= *end)
        return refuse_token(p, KILN_ERR_SYNTAX, *begin,
                            "needs an index; it is written \"take T x by at\"");
    for (size_t k = by + 1; k < *end; k++)
        if (!is_word_token(p, k))
            return refuse_token(p, KILN_ERR_SYNTAX, k, "is no name of an input");
    if (*end - by - 1 > KILN__TAKE_MAX)
        return refuse_token(p, KILN_ERR_ARGUMENT, by, "is followed by too many names");
    param->raw = true;
    param->taken = (uint8_t)(*end - by - 1);
    (*begin)++;
    if (kiln__token_is(&p->tokens, *begin, "wrap") || kiln__token_is(&p->tokens, *begin, "clip")) {
        param->take_mode = kiln__token_is(&p->tokens, *begin, "wrap") ? KILN__TAKE_WRAP
                                                                      : KILN__TAKE_CLIP;
        (*begin)++;
    }
    if (kiln__token_is(&p->tokens, *begin, "raw"))
        return refuse_token(p, KILN_ERR_SYNTAX, *begin, "contradicts \"take\"");
    *end = by;
    return *begin < by ? KILN_OK
                       : refuse_token(p, KILN_ERR_SYNTAX, by, "follows no type and no name");
}

/* The input that is the index along axis `nth` of input `taken`; its name is token `at`. */
static kiln_status find_index(const parser *p, size_t taken, size_t nth, size_t at)
{
    kiln__definition *def = p->def;
    const char *name = kiln__token_text(&p->tokens, at);

    for (size_t k = 0; k < def->input_count; k++) {
        const kiln__param *index = &def->params[k];
        if (strcmp(index->name, name) != 0)
            continue;
        if (index->raw)
            return refuse_token(p, KILN_ERR_ARGUMENT, at,
                                "is no index: it is a raw input, or taken itself");
        if (index->dtype != KILN_DTYPE_NONE && strchr("iu", kiln_dtype_kind(index->dtype)) == NULL)
            return refuse_token(p, KILN_ERR_DTYPE, at, "is no index: indices are integers");
        def->params[taken].by[nth] = (uint8_t)k;
        return KILN_OK;
    }
    return refuse_token(p, KILN_ERR_NAME, at, "is no input");
}

/* Find the indices of all inputs that are taken. */
static kiln_status find_indices(const parser *p)
{
    kiln__definition *def = p->def;
    size_t param = 0;

    for (size_t k = 0; k < p->tokens.count; k++) {
        param += kiln__token_is(&p->tokens, k, ",");
        if (!kiln__token_is(&p->tokens, k, "by") || def->params[param].taken == 0)
            continue;
        for (size_t nth = 0; nth < def->params[param].taken; nth++)
            KILN_CHECK(find_index(p, param, nth, k + 1 + nth));
        k += def->params[param].taken;
        def->takes = true;
        def->reports = def->reports || def->params[param].take_mode == KILN__TAKE_CHECK;
    }
    return KILN_OK;
}

/* Tokens begin..end are one parameter; `end` is a comma or the end of the text. */
static kiln_status parse_param(parser *p, size_t begin, size_t end)
{
    kiln_status status = KILN_OK;
    kiln__param param = {.output = p->side == 1};
    const kiln__token *first = &p->tokens.items[begin];
    char spelled[256];
    size_t at = begin, type_end = 0, name = 0;

    KILN_TRY(check_marks(p, begin, end));
    KILN_TRY(parse_take(p, &at, &end, &param));
    KILN_TRY(parse_qualifiers(p, &at, end, &param));
    if (at == end) {
        status = refuse(p, KILN_ERR_SYNTAX, first->at, first->bytes,
                        "a type and a name are missing after \"%s\"",
                        kiln__token_text(&p->tokens, end - 1));
        goto done;
    }
    if (read_type(p, at, end, spelled, sizeof spelled, &param.placeholder, &param.dtype)) {
        status = refuse_lonely(p, at, end, true);
        goto done;
    }
    if (end - at == 1) {
        status = refuse_lonely(p, at, end, false);
        goto done;
    }
    /* The longest type that leaves a word for the name. */
    for (type_end = min_of(end - 1, at + TYPE_TOKENS_MAX); type_end > at; type_end--) {
        if (is_word_token(p, type_end) &&
            read_type(p, at, type_end, spelled, sizeof spelled, &param.placeholder, &param.dtype))
            break;
    }
    if (type_end == at) {
        size_t last = is_word_token(p, end - 1) ? end - 1 : end;
        (void)read_type(p, at, last, spelled, sizeof spelled, &param.placeholder, &param.dtype);
        status = refuse_type(p, at, last, spelled);
        goto done;
    }
    name = type_end;
    param.is_struct = strcmp(spelled, "struct") == 0;
    if (param.is_struct && (param.raw || param.is_const)) {
        status = refuse_token(p, KILN_ERR_SYNTAX, at, "is passed by value and is neither raw nor const");
        goto done;
    }
    if (name + 1 != end && kiln__is_cpp_keyword(kiln__token_text(&p->tokens, name))) {
        (void)read_type(p, at, end - 1, spelled, sizeof spelled, &param.placeholder, &param.dtype);
        status = refuse_type(p, at, end - 1, spelled); /* "long double x", "unsigned float x" */
        goto done;
    }
    if (name + 1 != end) {
        status = refuse_token(p, KILN_ERR_SYNTAX, name + 1,
                              "follows a parameter that is complete; a comma is missing");
        goto done;
    }
    if (param.placeholder == 'i' && !p->def->module) {
        status = refuse_token(p, KILN_ERR_NAME, at, "is the loop's index and no type to give");
        goto done;
    }
    if (p->def->param_count == KILN_PARAM_MAX) {
        status = refuse(p, KILN_ERR_ARGUMENT, first->at, first->bytes,
                        "more than %d parameters, inputs and outputs together", KILN_PARAM_MAX);
        goto done;
    }
    KILN_TRY(check_name(p, name));
    param.column = (uint32_t)first->at;
    param.width = (uint32_t)(p->tokens.items[name].at + p->tokens.items[name].bytes - first->at);
    KILN_TRY(add_param(p, param, kiln__token_text(&p->tokens, name)));

done:
    return status;
}

static kiln_status parse_side(parser *p)
{
    kiln_status status = KILN_OK;
    const char *text = p->def->signature[p->side];
    size_t begin = 0;

    if (strlen(text) > SIGNATURE_BYTES_MAX)
        return kiln__fail(p->err, KILN_ERR_SYNTAX, "kernel \"%s\": the text of the %s is too long",
                          p->def->name, SIDE_NAMES[p->side]);
    kiln__lex(text, KILN__LEX_PLAIN, &p->tokens);
    if (p->tokens.failed) {
        status = kiln__fail_memory(p->err, strlen(text));
        goto done;
    }
    while (p->tokens.count != 0) {
        size_t end = begin;

        while (end < p->tokens.count && !kiln__token_is(&p->tokens, end, ","))
            end++;
        if (end == begin) {
            bool comma = end < p->tokens.count;
            const kiln__token *token = &p->tokens.items[comma ? end : end - 1];
            status = refuse(p, KILN_ERR_SYNTAX, token->at, token->bytes,
                            "a parameter is missing %s this comma", comma ? "before" : "after");
            goto done;
        }
        KILN_TRY(parse_param(p, begin, end));
        if (end == p->tokens.count)
            break;
        begin = end + 1;
    }
    if (p->side == 0)
        KILN_TRY(find_indices(p));

done:
    kiln__tokens_clear(&p->tokens);
    return status;
}

/* Whether tokens begin..end declare a parameter whose type is one word; `*type_out` is its place. */
static bool one_word_type(const kiln__tokens *tokens, size_t begin, size_t end, size_t *type_out)
{
    static const char *const MARKS[] = {"raw", "const", "_non_const"};
    size_t words = 0;

    if (begin < end && kiln__token_is(tokens, begin, "take")) {
        begin++;
        begin += begin < end && (kiln__token_is(tokens, begin, "wrap") ||
                                 kiln__token_is(tokens, begin, "clip"));
        for (size_t k = begin; k < end; k++)
            end = kiln__token_is(tokens, k, "by") ? k : end;
    }
    for (size_t k = begin; k < end; k++) {
        bool mark = false;
        for (size_t m = 0; m < KILN_COUNT_OF(MARKS); m++)
            mark = mark || kiln__token_is(tokens, k, MARKS[m]);
        if (!mark && words++ == 0)
            *type_out = k;
    }
    return words == 2;
}

kiln_status kiln__signature_widen(const char *text, char **out, kiln_error *err)
{
    static const char *const NAMES[] = {"float", "int", "uint"};
    kiln__tokens tokens = {0};
    kiln__buf b = {0};
    size_t copied = 0, begin = 0, type = 0;

    *out = NULL;
    kiln__lex(text, KILN__LEX_PLAIN, &tokens);
    for (size_t k = 0; !tokens.failed && k <= tokens.count; k++) {
        if (k < tokens.count && !kiln__token_is(&tokens, k, ","))
            continue;
        for (size_t n = 0; n < KILN_COUNT_OF(NAMES); n++) {
            if (!one_word_type(&tokens, begin, k, &type) || !kiln__token_is(&tokens, type, NAMES[n]))
                continue;
            const size_t place = tokens.items[type].at + tokens.items[type].bytes;
            kiln__buf_put(&b, text + copied, place - copied);
            kiln__buf_puts(&b, "64");
            copied = place;
        }
        begin = k + 1;
    }
    kiln__buf_puts(&b, text + copied);
    if (!tokens.failed && !b.failed)
        *out = kiln__strdup(b.text);
    kiln__buf_clear(&b);
    kiln__tokens_clear(&tokens);
    return *out != NULL ? KILN_OK : kiln__fail_memory(err, strlen(text) + 1);
}

/* A letter cannot be a type and a parameter at once, wherever each is declared. */
static kiln_status check_placeholders(parser *p)
{
    const kiln__definition *def = p->def;

    for (size_t k = 0; k < def->param_count; k++) {
        const kiln__param *param = &def->params[k];
        if (param->name[1] != '\0')
            continue;
        for (size_t j = 0; j < def->param_count; j++) {
            if (def->params[j].placeholder != param->name[0])
                continue;
            p->side = param->output ? 1 : 0;
            return refuse(p, KILN_ERR_NAME, param->column + param->width - 1, 1,
                          "\"%s\" is a placeholder type and cannot be a name, too", param->name);
        }
    }
    return KILN_OK;
}

void kiln__param_text(const kiln__definition *def, size_t param, char *out, size_t out_bytes)
{
    size_t number = 1;

    if (is_call_input(def->params[param].name)) {
        snprintf(out, out_bytes, "`%s`", def->params[param].name + strlen("kiln__"));
        return;
    }
    for (size_t p = 0; p < param; p++)
        number += !is_call_input(def->params[p].name);
    snprintf(out, out_bytes, "argument %zu (`%.100s`)", number, def->params[param].name);
}

kiln_status kiln__signature_parse(kiln__definition *def, kiln_error *err)
{
    parser p = {.def = def, .err = err};

    KILN_CHECK(make_room(&p));
    for (p.side = 0; p.side < 2; p.side++)
        KILN_CHECK(parse_side(&p));
    KILN_CHECK(check_placeholders(&p));
    return KILN_OK;
}
