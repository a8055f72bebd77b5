/*
 * build.c - the life of a build: its arena, its one way out, and the order of its stages.
 *
 *     [lower > find rows > plan > write] > program
 */
#include "codegen/graph/states.h"

/* ---- the arena ------------------------------------------------------------------------------------ */

void *kiln__build_alloc(kiln__build *b, size_t bytes)
{
    void *memory = kiln__arena_alloc(&b->arena, bytes);
    if (memory == NULL)
        kiln__build_fail_memory(b);
    return memory;
}

void *kiln__build_copy(kiln__build *b, const void *data, size_t bytes)
{
    void *copy = kiln__build_alloc(b, bytes);
    if (bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

char *kiln__build_text(kiln__build *b, kiln__buf *text)
{
    if (text->failed)
        kiln__build_fail_memory(b);
    char *copy = kiln__build_alloc(b, text->length + 1);
    if (text->length > 0)
        memcpy(copy, text->text, text->length);
    text->length = 0;
    if (text->text != NULL)
        text->text[0] = '\0';
    return copy;
}

/* ---- ways out -------------------------------------------------------------------------------------- */

void kiln__build_fail_memory(kiln__build *b)
{
    b->status = kiln__fail_memory(b->err, KILN__ARENA_BYTES);
    longjmp(b->leave, 1);
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
        kiln__fail(b->err, status, "graph \"%s\": %s (%s:%d): %s", b->ir->name,
                   kiln__ir_what(b->ir, node, name), kiln__file_name(n->file), n->line, text);
    }
    longjmp(b->leave, 1);
}

const char *kiln__build_shape(kiln__build *b, int rank, const int64_t *shape)
{
    kiln__buf *text = &b->scratch[KILN__SCRATCH_SHORT];
    kiln__buf_putc(text, '(');
    for (int a = 0; a < rank; a++)
        kiln__buf_printf(text, "%s%lld", a > 0 ? ", " : "", (long long)shape[a]);
    kiln__buf_puts(text, rank == 1 ? ",)" : ")");
    return kiln__build_text(b, text);
}

/* ---- programs --------------------------------------------------------------------------------------- */

static void plan(kiln__build *b)
{
    kiln__find_needed(b);
    kiln__find_snippets(b);
    kiln__find_forms(b);
    kiln__find_facts(b);
    kiln__store_outputs(b);
    kiln__measure_views(b);
    kiln__find_rows(b);
    kiln__store_spread(b);
    kiln__cut_large(b);
    kiln__find_facts(b);
    kiln__order_units(b);
    kiln__schedule_units(b);
    kiln__order_kernels(b);
}

kiln_status kiln__program_build(const kiln__ir *ir, const kiln__graph_arg *args,
                                const kiln__graph_target *target, kiln__program **out,
                                kiln_error *err)
{
    *out = NULL;
    kiln__build *b = kiln__calloc(1, sizeof *b);
    if (b == NULL)
        return kiln__fail_memory(err, sizeof *b);
    b->err = err;
    b->ir = ir;
    b->args = args;
    b->target = target;
    if (setjmp(b->leave) == 0) {
        b->program = kiln__build_alloc(b, sizeof *b->program);
        kiln__lower(b);
        plan(b);
        kiln__write_steps(b);
        *out = b->program;
        b->program->work = b->work;
        b->program->arena = b->arena;
        b->arena = NULL;
    }
    const kiln_status status = b->status;
    kiln__arena_free(b->arena);
    for (int k = 0; k < KILN__SCRATCH; k++)
        kiln__buf_clear(&b->scratch[k]);
    kiln__free(b);
    return status;
}

void kiln__program_destroy(kiln__program *program)
{
    if (program != NULL)
        kiln__arena_free(program->arena);
}
