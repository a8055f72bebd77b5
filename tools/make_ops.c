/*
 * make_ops.c - a program of its own: writes what is generated from ops.def.
 *
 *     kiln_make_ops ROOT          rewrite ROOT/include/kiln/ops.h and ROOT/docs/operations.md
 *     kiln_make_ops ROOT check    exit 1 when one of them is not what would be written
 *
 * The page's part above its marker line is written by hand and kept.
 *
 * Not part of the library, and uses nothing of it: the library needs what is written here.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 18, LOOP_MAX = 6 };

#define MARKER "<!-- What follows is generated from src/ops/ops.def. -->\n"

typedef struct loop {
    const char *types, *as, *out, *expression;
} loop;

/* A row of the table: a group's title, an operation, another name for one, or two at once. */
typedef struct row {
    const char *title;
    const char *enum_name;
    int value;
    const char *name;
    int arity;
    const char *shape, *refused, *doc;
    loop loops[LOOP_MAX + 1];
    const char *alias;
    const char *pair; /* its name; enum_name and second are the operations */
    const char *second;
    const char *result[2];
} row;

#define GROUP(text) {.title = text},
#define ALIAS(other, NAME) {.alias = other, .enum_name = #NAME},
#define PAIR(text, FIRST, SECOND, one, two)                                                        \
    {.pair = text, .enum_name = #FIRST, .second = #SECOND, .result = {one, two}},
#define LOOP(types, out, expression) {types, "", out, expression},
#define LOOP_AS(types, as, out, expression) {types, as, out, expression},
#define CALL LOOP
#define QUOTIENT LOOP
#define CALL_AS LOOP_AS
#define QUOTIENT_AS LOOP_AS
#define OP(NAME, value, text, arity, shape, refused, doc, ...)                                     \
    {NULL, #NAME, value, text, arity, #shape, refused, doc, {__VA_ARGS__}, NULL, NULL, NULL, {0}},

static const row rows[] = {
#include "ops/ops.def"
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static char text[TEXT_MAX];
static size_t used;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(text + used, TEXT_MAX - used, format, ap);
    va_end(ap);
    if (n < 0 || used + (size_t)n >= TEXT_MAX) {
        fputs("kiln_make_ops: TEXT_MAX is too small\n", stderr);
        exit(2);
    }
    used += (size_t)n;
}

/* The operation that an alias or a pair stands for. */
static const row *op_of(const char *enum_name)
{
    for (int k = 0; k < ROW_COUNT; k++)
        if (rows[k].name != NULL && strcmp(rows[k].enum_name, enum_name) == 0)
            return &rows[k];
    fprintf(stderr, "kiln_make_ops: there is no operation %s\n", enum_name);
    exit(2);
}

/* ---- include/kiln/ops.h ---------------------------------------------------------------------- */

/* Operands by arity, as parameters and as nodes. */
static const char *const names[] = {"", "a", "a, b", "a, b, c"};
static const char *const nodes[] = {"", "KILN_NODE(a)", "KILN_NODE(a), KILN_NODE(b)",
                                    "KILN_NODE(a), KILN_NODE(b), KILN_NODE(c)"};

/* #define kiln_add(a, b) ... */
static void put_macros(const char *name, const row *op)
{
    put("#define kiln_%s(%s) \\\n    kiln_node_op%d(KILN_OP_%s, %s, KILN_HERE)\n", name,
        names[op->arity], op->arity, op->enum_name, nodes[op->arity]);
    put("#define kiln_array_%s(%s, out, err) \\\n"
        "    kiln_array_op(KILN_OP_%s, KILN_ARGS(%s), NULL, (out), (err))\n",
        name, names[op->arity], op->enum_name, names[op->arity]);
}

/* #define kiln_divmod(a, b, quotient, remainder) ... */
static void put_pair_macros(const row *pair)
{
    const row *first = op_of(pair->enum_name), *second = op_of(pair->second);
    const char *one = pair->result[0], *two = pair->result[1];

    put("#define kiln_%s(%s, %s, %s) \\\n"
        "    kiln_node_pair%d(KILN_OP_%s, KILN_OP_%s, %s, \\\n"
        "        (%s), (%s), KILN_HERE)\n",
        pair->pair, names[first->arity], one, two, first->arity, first->enum_name,
        second->enum_name, nodes[first->arity], one, two);
    put("#define kiln_array_%s(%s, %s, %s, err) \\\n"
        "    kiln_array_op_pair(KILN_OP_%s, KILN_OP_%s, KILN_ARGS(%s), NULL, \\\n"
        "        (%s), (%s), (err))\n",
        pair->pair, names[first->arity], one, two, first->enum_name, second->enum_name,
        names[first->arity], one, two);
}

static void put_header(void)
{
    put("/**\n"
        " * @file kiln/ops.h\n"
        " * @brief Elementwise operations: one value and two macros each.\n"
        " *\n"
        " * Generated from src/ops/ops.def; docs/operations.md describes each "
        "operation.\n"
        " *\n"
        " * kiln_add(x, y)                    records a node of a graph; see kiln/graph.h.\n"
        " * kiln_array_add(x, y, &z, &err)    computes at once; see kiln/eager.h.\n"
        " *\n"
        " * Operands of the first are nodes or plain C numbers, of the second arrays or plain C\n"
        " * numbers; each is evaluated once. Functions with two results take two addresses:\n"
        " *\n"
        " * kiln_divmod(x, y, &quotient, &remainder)               of two nodes\n"
        " * kiln_array_divmod(x, y, &quotient, &remainder, &err)   of two arrays, by one kernel\n"
        " */\n"
        "#ifndef KILN_OPS_H\n#define KILN_OPS_H\n\n#include \"kiln/base.h\"\n\n"
        "/** Which operation. Values are pinned and never reused. */\n"
        "typedef enum kiln_op {\n");
    const char *join = "";
    for (int k = 0; k < ROW_COUNT; k++) {
        if (rows[k].name == NULL)
            continue;
        put("%s    KILN_OP_%s = %d", join, rows[k].enum_name, rows[k].value);
        join = ",\n";
    }
    put("\n} kiln_op;\n\nKILN_EXTERN_C_BEGIN\n\n"
        "/** NumPy's name of an operation, e.g. \"add\"; \"unknown\" for a value not in the table. "
        "*/\n"
        "KILN_API const char *kiln_op_name(kiln_op op);\n\nKILN_EXTERN_C_END\n");
    for (int k = 0; k < ROW_COUNT; k++) {
        const row *r = &rows[k];
        if (r->title != NULL)
            put("\n/* ---- %s ---- */\n", r->title);
        else if (r->alias != NULL)
            put_macros(r->alias, op_of(r->enum_name));
        else if (r->pair != NULL)
            put_pair_macros(r);
        else
            put_macros(r->name, r);
    }
    put("\n#endif\n");
}

/* ---- docs/operations.md ---------------------------------------------------------------------- */

/* Whether a loop of `r` takes one of the letters. */
static bool takes(const row *r, const char *letters)
{
    for (const char *c = letters; *c != '\0'; c++) {
        if (strchr(r->refused, *c) != NULL)
            continue;
        for (const loop *l = r->loops; l->types != NULL; l++)
            if (strchr(l->types, *c) != NULL)
                return true;
    }
    return false;
}

static const char *result_of(const row *r)
{
    const char *out = r->loops[0].out;
    return out[0] == '?' ? "bool" : out[0] == 'B' ? "uint8" : out[0] == 'i' ? "int32" : "";
}

static void put_op(const row *r)
{
    static const struct {
        const char *letters, *name;
    } kinds[] = {{"?", "bool"}, {"bhiqBHIQ", "integers"}, {"eEfd", "floats"}, {"FD", "complex"}};
    const char *join = "";

    put("| `%s", r->name);
    for (int k = 0; k < ROW_COUNT; k++)
        if (rows[k].alias != NULL && strcmp(rows[k].enum_name, r->enum_name) == 0)
            put("`, `%s", rows[k].alias);
    put("` | ");
    for (const char *c = r->doc; *c != '\0'; c++)
        put(*c == '|' ? "\\%c" : "%c", *c);
    put(" | ");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!takes(r, kinds[k].letters))
            continue;
        put("%s%s", join, kinds[k].name);
        join = ", ";
    }
    put(" | %s |\n", result_of(r));
}

static void put_page(const char *old)
{
    const char *marker = strstr(old, MARKER);
    if (marker == NULL) {
        fputs("kiln_make_ops: docs/operations.md has lost its marker line\n", stderr);
        exit(2);
    }
    put("%.*s%s", (int)(marker - old), old, MARKER);
    for (int k = 0; k < ROW_COUNT; k++) {
        if (rows[k].title != NULL)
            put("\n## %s\n\n| operation | result | computed in | its dtype |\n|---|---|---|---|\n",
                rows[k].title);
        else if (rows[k].name != NULL)
            put_op(&rows[k]);
        else if (rows[k].pair != NULL)
            put("| `%s` | two results: `%s` and `%s` | as these |  |\n", rows[k].pair,
                op_of(rows[k].enum_name)->name, op_of(rows[k].second)->name);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
    char *data = calloc(1, TEXT_MAX);
    FILE *f = fopen(path, "rb");
    if (data == NULL || f == NULL) {
        perror(path);
        exit(2);
    }
    const size_t bytes = fread(data, 1, TEXT_MAX - 1, f);
    data[bytes] = '\0';
    fclose(f);
    return data;
}

/* Write `text` to `path`, or compare. True when the file is as it should be. */
static bool settle(const char *path, const char *old, bool check)
{
    if (strcmp(old, text) == 0)
        return true;
    if (check) {
        fprintf(stderr, "%s is not what ops.def gives: build the target kiln_ops_files\n", path);
        return false;
    }
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(text, 1, used, f) != used || fclose(f) != 0) {
        perror(path);
        exit(2);
    }
    return true;
}

static bool make(const char *root, const char *name, bool page, bool check)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root, name);
    char *old = read_file(path);
    used = 0;
    text[0] = '\0';
    if (page)
        put_page(old);
    else
        put_header();
    const bool same = settle(path, old, check);
    free(old);
    return same;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: kiln_make_ops ROOT [check]\n", stderr);
        return 2;
    }
    const bool check = argc > 2 && strcmp(argv[2], "check") == 0;
    const bool header = make(argv[1], "include/kiln/ops.h", false, check);
    const bool page = make(argv[1], "docs/operations.md", true, check);
    return header && page ? 0 : 1;
}
