/*
 * test_batch_facts.c - what kiln states of the reductions that it writes itself.
 *
 * The request of such a reduction states which batches it allows. A manifest keeps the texts alone, and
 * finds the batches in them. Both must agree, or a kernel that was compiled ahead is not the one that
 * a program asks for. So every reduction, named or recorded, is made twice here: as stated, and from
 * its texts.
 */
#include "fusion/fusion.h"
#include "graph/graph.h"
#include "graph_env.h"
#include "kernel/kernel.h"

/* Compare a definition with one that is made from the request's texts alone. */
static void check_texts(const kiln__definition *stated, kiln__definition_request request,
                        const char *what, kiln_dtype dtype)
{
    kiln__definition *read = NULL;

    request.batching = (kiln__batching){KILN__BATCH_NONE, false, false, false};
    assert_int_equal(kiln__definition_create(&request, &read, NULL), KILN_OK);
    const kiln__batching a = stated->batching, b = read->batching;
    CHECK(a.batch == b.batch, "%s of %s: batch %d is stated, the texts show %d", what,
          kiln_dtype_name(dtype), (int)a.batch, (int)b.batch);
    CHECK(a.batch == KILN__BATCH_NONE || (a.mapped == b.mapped && a.element == b.element),
          "%s of %s: stated (%d, %d), the texts show (%d, %d)", what, kiln_dtype_name(dtype), a.mapped,
          a.element, b.mapped, b.element);
    kiln__definition_destroy(read);
}

static kiln__definition_request texts_of(const kiln__definition *def, const char *in)
{
    kiln__definition_request request = {.name = def->name,
                                        .in = in,
                                        .out = def->signature[1],
                                        .family = def->family};
    for (int s = 0; s < KILN__SNIPPET_COUNT; s++)
        request.snippet[s] = def->snippet[s];
    return request;
}

static void test_batch_facts__named_reductions(void **state)
{
    size_t batches = 0;

    (void)state;
    for (int op = 1; op <= KILN_REDUCE_NANARGMAX; op++) {
        for (int dtype = 1; dtype < KILN_DTYPE_COUNT; dtype++) {
            const char *name = kiln_reduce_op_name((kiln_reduce_op)op);
            kiln__definition *def = NULL;
            if (kiln__reduce_row_find(op, (kiln_dtype)dtype) == NULL)
                continue;
            assert_int_equal(kiln__named_definition(name, (kiln_dtype)dtype, &def, NULL), KILN_OK);
            check_texts(def, texts_of(def, "T x"), name, (kiln_dtype)dtype);
            batches += def->batching.batch != KILN__BATCH_NONE;

            static const char *const ins[] = {"T x, bool " KILN__WHERE, "T x, float32 " KILN__INITIAL,
                                              "T x, bool " KILN__WHERE ", float32 " KILN__INITIAL};
            for (size_t k = 0; k < COUNT(ins); k++) {
                kiln__definition_request request = texts_of(def, ins[k]);
                kiln__definition *with = NULL;
                request.batching = kiln__batching_with(def, k != 1);
                assert_int_equal(kiln__definition_create(&request, &with, NULL), KILN_OK);
                check_texts(with, request, ins[k], (kiln_dtype)dtype);
                kiln__definition_destroy(with);
            }
            kiln__definition_destroy(def);
        }
    }
    assert_true(batches > 50);
}

/* ---- recorded ones --------------------------------------------------------------------------- */

enum { FORMS = 7 };

/* What is reduced: an input, what is computed from one or two, with and without places in it. */
static kiln_node form(kiln_graph *g, int which)
{
    const kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");

    switch (which) {
    case 0:
        return x;
    case 1:
        return kiln_multiply(x, y);
    case 2:
        return kiln_greater(x, y);
    case 3:
        return kiln_cast(kiln_greater(x, y), KILN_UINT8);
    case 4:
        return kiln_multiply(x, kiln_iota(x, 1));
    case 5:
        return kiln_cast(x, KILN_FLOAT64);
    default:
        return kiln_transpose(x, NULL);
    }
}

/* Plan a graph of one reduction, or of one beside a second one, and check each kernel. */
static size_t check_graph(test_env *t, kiln_reduce_op op, int which, kiln_dtype dtype, bool second)
{
    static const int64_t shape[] = {64, 512};
    const int64_t item = (int64_t)kiln_dtype_size(dtype), strides[] = {512 * item, item};
    const kiln__graph_arg args[] = {{true, dtype, 2, shape, strides, {0}},
                                    {true, dtype, 2, shape, strides, {0}},
                                    {.rank = 0},
                                    {.rank = 0}};
    const kiln__graph_target target = {KILN_BACKEND_CUDA, true, false};
    kiln__program *program = NULL;
    kiln_graph *g = NULL;
    size_t batches = 0;

    OK(t, kiln__graph_new(NULL, NULL, &g, &t->err));
    const kiln_node x = form(g, which);
    kiln_graph_output(g, "z", kiln_node_reduce(op, x, KILN_AXES(1), false, KILN_DTYPE_NONE, KILN_HERE));
    if (second)
        kiln_graph_output(g, "z1", kiln_max(x, KILN_AXES(1)));
    if (kiln_graph_compile(g, &t->err) == KILN_OK &&
        kiln__program_build(&g->ir, args, &target, &program, &t->err) == KILN_OK) {
        for (size_t s = 0; s < program->step_count; s++) {
            const kiln__definition_request *request = &program->steps[s].request;
            kiln__definition *def = NULL;
            OK(t, kiln__definition_create(request, &def, &t->err));
            check_texts(def, *request, kiln_reduce_op_name(op), dtype);
            batches += def->batching.batch != KILN__BATCH_NONE;
            kiln__definition_destroy(def);
        }
    }
    kiln__program_destroy(program);
    kiln_graph_destroy(g);
    return batches;
}

static void test_batch_facts__recorded_reductions(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_BOOL,    KILN_UINT8,   KILN_INT16,     KILN_INT64,
                                        KILN_FLOAT16, KILN_FLOAT32, KILN_COMPLEX64, KILN_FLOAT64};
    size_t batches = 0;

    for (int op = 1; op <= KILN_REDUCE_NANARGMAX; op++)
        for (size_t d = 0; d < COUNT(dtypes); d++)
            for (int which = 0; which < 2 * FORMS; which++)
                batches += check_graph(*state, (kiln_reduce_op)op, which / 2, dtypes[d], which % 2);
    assert_true(batches > 300);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_batch_facts__named_reductions),
        TEST(test_batch_facts__recorded_reductions),
    };
    return test_env_main(argc, argv, "test_batch_facts", tests, COUNT(tests));
}
