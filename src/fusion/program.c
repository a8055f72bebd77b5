/*
 * program.c - kiln__program_build(): all passes from a recorded graph to a program, in order.
 *
 * src/graph/entry.c calls it once for each new layout of a call, and src/warm for kernels that are
 * compiled ahead. fusion.h lists the passes.
 *
 * Test: test_graph_plan.
 */
#include "fusion/states.h"
#include "fusion/write.h"

/* What each pass takes and finds is listed in fusion.h. */
static void plan(kiln__build *b)
{
    kiln__find_needed(b);
    kiln__find_online(b);
    kiln__find_snippets(b);
    kiln__find_forms(b);
    kiln__find_facts(b, NULL);
    kiln__store_outputs(b);
    kiln__measure_views(b);
    kiln__find_rows(b);
    kiln__store_spread(b);
    kiln__cut_large(b);
    kiln__find_facts(b, b->stores);
    const kiln__list tasks = kiln__order_tasks(b);
    kiln__plan_kernel *const made = kiln__schedule_tasks(b, &tasks);
    kiln__write_steps(b, kiln__order_kernels(b, made));
}

kiln_status kiln__program_build(const kiln__ir *ir, const kiln__graph_arg *args,
                                const kiln__graph_target *target, kiln__program **out,
                                kiln_error *err)
{
    *out = NULL;
    kiln__build *b = NULL;
    KILN_CHECK(kiln__make_zeroed(&b, 1, sizeof *b, err));
    b->err = err;
    b->ir = ir;
    b->args = args;
    b->target = target;
    if (setjmp(b->leave) == 0) {
        b->program = kiln__build_alloc(b, sizeof *b->program);
        kiln__lower(b);
        plan(b);
        kiln__build_check_texts(b);
        *out = b->program;
        b->program->work = b->work;
        b->program->arena = b->arena;
        b->arena = NULL;
    }
    const kiln_status status = b->status;
    kiln__arena_free(b->arena);
    kiln__arena_free(b->notes);
    for (int k = 0; k < KILN__MAPS; k++)
        kiln__map_clear(&b->maps[k], NULL);
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
