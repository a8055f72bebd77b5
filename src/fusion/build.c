/*
 * build.c - the memory of a program under construction, and the exit of a pass that fails.
 *
 * Every pass of src/fusion takes memory here, and reports an error by kiln__build_fail(), which
 * jumps out of all passes (build.h). src/graph adds the memory of recorded nodes and frees finished
 * programs through fusion.h.
 *
 * Test: test_graph_plan.
 */
#include "fusion/build.h"

/* ---- the arena ------------------------------------------------------------------------------- */

static _Noreturn void fail_memory(kiln__build *b)
{
    b->status = kiln__fail_memory(b->err, KILN__ARENA_BYTES);
    longjmp(b->leave, 1);
}

static void *take(kiln__build *b, kiln__arena **arena, size_t bytes)
{
    void *memory = kiln__arena_alloc(arena, bytes);
    if (memory == NULL)
        fail_memory(b);
    return memory;
}

void *kiln__build_alloc(kiln__build *b, size_t bytes)
{
    return take(b, &b->arena, bytes);
}

void *kiln__build_note(kiln__build *b, size_t bytes)
{
    return take(b, &b->notes, bytes);
}

void kiln__build_forget(kiln__build *b)
{
    kiln__arena_reset(b->notes);
}

void *kiln__build_copy(kiln__build *b, const void *data, size_t bytes)
{
    void *copy = kiln__build_alloc(b, bytes);
    if (bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

void *kiln__build_reserve(kiln__build *b, void *items, size_t count, size_t *capacity,
                          size_t item_bytes)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity == 0 ? 8 : 2 * *capacity;
    void *moved = kiln__build_alloc(b, *capacity * item_bytes);
    if (count > 0)
        memcpy(moved, items, count * item_bytes);
    return moved;
}

static char *move_text(kiln__build *b, kiln__arena **arena, kiln__buf *text)
{
    if (text->failed)
        fail_memory(b);
    char *copy = take(b, arena, text->length + 1);
    if (text->length > 0)
        memcpy(copy, text->text, text->length);
    text->length = 0;
    if (text->text != NULL)
        text->text[0] = '\0';
    return copy;
}

char *kiln__build_text(kiln__build *b, kiln__buf *text)
{
    return move_text(b, &b->arena, text);
}

char *kiln__build_note_text(kiln__build *b, kiln__buf *text)
{
    return move_text(b, &b->notes, text);
}

void kiln__build_check_texts(kiln__build *b)
{
    for (int k = 0; k < KILN__SCRATCH; k++)
        if (b->scratch[k].failed)
            fail_memory(b);
}

void **kiln__build_find(kiln__build *b, kiln__build_map map, kiln__buf *key)
{
    void **found =
        key->failed ? NULL : kiln__map_enter(&b->maps[map], key->text, key->length, NULL);
    if (found == NULL)
        fail_memory(b);
    key->length = 0;
    return found;
}

/* ---- ways out -------------------------------------------------------------------------------- */

/* The name of the function that is called at byte `line` of a text, or of what else it is there, of which `what` is told. */
static const char *name_at(const kiln__ir *ir, const char *what, int line, char name[64])
{
    const bool inside = ir->text != NULL && line > 0 && (size_t)line <= strlen(ir->text);
    const bool subscript = strcmp(what, "select") == 0 || strcmp(what, "slice") == 0;
    const char *word = inside ? ir->text + line - 1 : "";
    const size_t bytes = kiln__word_bytes(word);

    if (subscript && line > 1 && inside && word[-1] == '[') /* x[len(y)] */
        return "subscript";
    if (bytes > 0 && bytes < 64 && word[bytes + strspn(word + bytes, " ")] == '(') {
        snprintf(name, 64, "%.*s", (int)bytes, word);
        return name;
    }
    return subscript || strcmp(what, "take") == 0 ? "subscript" : what;
}

/* A message without the names of functions that it begins with: those that the function at fault is made of. */
static const char *without_names(const char *text)
{
    for (;;) {
        const size_t bytes = kiln__word_bytes(text);
        if (bytes == 0 || strncmp(text + bytes, ": ", 2) != 0)
            return text;
        text += bytes + 2;
    }
}

kiln_status kiln__fail_in_text(kiln_error *err, kiln_status status, const kiln__ir *ir,
                               const char *what, int line, const char *text)
{
    char graph[80] = "", word[64];
    const char *said = without_names(text), *name = name_at(ir, what, line, word);
    const size_t bytes = strlen(name);

    /* A subscript names no axis, and axes that numbers have taken before it are no longer there. */
    if (status == KILN_ERR_AXIS && strcmp(name, "subscript") == 0 && strncmp(said, "axis ", 5) == 0)
        said = "there are more subscripts than axes";
    const bool named =
        name[0] == '_' || /* no name that users write */
        (strncmp(said, name, bytes) == 0 && (said[bytes] == ':' || said[bytes] == ' '));

    if (strcmp(ir->name, KILN__GRAPH_NAME) != 0)
        snprintf(graph, sizeof graph, " \"%.70s\"", ir->name);
    kiln__fail(err, status, "expression%s, column %d: %s%s%s", graph, line, named ? "" : name,
               named ? "" : ": ", said);
    if (err != NULL)
        err->offset = line - 1;
    return status;
}

void kiln__build_fail(kiln__build *b, uint32_t node, kiln_status status, const char *fmt, ...)
{
    char text[400], name[96];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    b->status = status;
    if (node == 0 || b->ir->nodes[node].file == NULL) {
        kiln__fail(b->err, status, "graph \"%s\": %s", b->ir->name, text);
    } else {
        const kiln__node *n = &b->ir->nodes[node];
        const char *what = kiln__ir_what(b->ir, node, name);
        if (b->ir->of_text)
            kiln__fail_in_text(b->err, status, b->ir, what, n->line, text);
        else if (n->line == 0 && /* a graph of kiln's own, as that of kiln_array_take() */
                 strncmp(b->ir->name, "kiln_", 5) == 0 &&
                 strcmp(b->ir->name, KILN__GRAPH_NAME) != 0)
            kiln__fail(b->err, status, "%s: %s", what, text);
        else
            kiln__fail(b->err, status, "graph \"%s\": %s (%s:%d): %s", b->ir->name, what,
                       kiln__file_name(n->file), n->line, text);
    }
    longjmp(b->leave, 1);
}

const char *kiln__build_shape(kiln__build *b, int rank, const int64_t *shape)
{
    char text[24 * KILN_RANK_MAX];
    kiln__shape_text(rank, shape, text, sizeof text);
    return kiln__build_copy(b, text, strlen(text) + 1);
}
