/*
 * expression.c - which kernels an expression stands for.
 *
 *     entry > [names and dtypes > graph > shapes > program > steps > definitions, variants] > fn
 *
 * The text is parsed as kiln_graph_parse() does it, and planned by the scheduler of real calls: what
 * the kernels are is decided there, by dtypes and shapes. A GPU with clusters of blocks can be given
 * another program than one without; both are planned.
 *
 * Rule: what the text says wrong is shown in the text, what the line says wrong in the line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "warm/expression.h"

/* Shapes where an entry gives none: one long axis, a matrix, and more axes when the expression
 * wants them. */
enum { LONG = 1 << 24, SIDE = 4096, FURTHER = 16, RANK_USUAL = 2, RANK_MOST = 5 };

/* How an input is given. */
typedef struct input {
    const char *name;
    kiln_dtype dtype;
    bool scalar, shaped;
    int rank;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
} input;

typedef struct expansion {
    const kiln__manifest_entry *e;
    kiln_backend backend;
    kiln_error *err;
    /* Of the row of types at work. */
    const kiln__manifest_types *types;
    input *inputs;
    char **names; /* what the parser is told of the inputs */
    kiln_graph *graph;
    kiln__graph_arg *args; /* of a call: inputs, then outputs, which are allocated */
    kiln__outlet to;       /* of all rows: the line of a kernel tells it apart */
    /* Not NULL: give the kernels of steps that a run chooses, and no others. */
    const kiln__target *target;
} expansion;

/* ---- messages ---------------------------------------------------------------------------------- */

/* Tell a failure of the parser or the scheduler: with its place in the line, and the text itself
 * with a caret. Clears `why`. */
static kiln_status fail_in_text(expansion *x, kiln_error *why)
{
    const kiln__manifest_word *text = &x->e->text[KILN__MANIFEST_TEXT];
    const size_t known = why->offset > 0 ? (size_t)why->offset : 0;
    kiln_status status = why->status;

    if (status == KILN_ERR_NO_MEMORY) {
        (void)kiln__error_copy(x->err, why);
    } else {
        (void)kiln__manifest_fail(x->e, kiln__manifest_place(x->e, text, known), 1, status, x->err,
                                  "%s", why->message);
        kiln__free(x->err->detail);
        x->err->detail = why->detail != NULL ? why->detail : kiln__caret_word(text->text, known);
        why->detail = NULL;
    }
    kiln_error_clear(why);
    return status;
}

static kiln_status fail_at(expansion *x, const kiln__manifest_word *word, const char *what)
{
    return kiln__manifest_fail(x->e, word->at, strlen(word->text), KILN_ERR_FORMAT, x->err,
                               "`%.60s` %s", word->text, what);
}

/* ---- inputs ------------------------------------------------------------------------------------ */

static input *find_input(expansion *x, const char *name)
{
    for (size_t k = 0; k < x->types->input_count; k++)
        if (strcmp(x->inputs[k].name, name) == 0)
            return &x->inputs[k];
    return NULL;
}

static kiln_status read_inputs(expansion *x)
{
    const size_t count = x->types->input_count;

    KILN_CHECK(kiln__make_zeroed(&x->inputs, count + 1, sizeof *x->inputs, x->err));
    for (size_t k = 0; k < count; k++) {
        x->inputs[k].name = x->types->inputs[k].name.text;
        x->inputs[k].dtype = x->types->inputs[k].dtype;
        if (!kiln__is_identifier(x->inputs[k].name))
            return fail_at(x, &x->types->inputs[k].name, "is no name of an input");
    }
    for (size_t k = 0; k < x->e->scalar_count; k++) {
        input *found = find_input(x, x->e->scalars[k].text);
        if (found == NULL)
            return fail_at(x, &x->e->scalars[k], "has no dtype in \"types\"");
        found->scalar = true;
    }
    return KILN_OK;
}

/* What the parser is told of an input: its name, and that it is of bool where it is. Heap. */
static char *declared(const expansion *x, size_t which)
{
    kiln__buf text = KILN__BUF_INIT;

    kiln__buf_puts(&text, x->types->inputs[which].dtype == KILN_BOOL ? "bool " : "");
    kiln__buf_puts(&text, x->inputs[which].name);
    return kiln__buf_take(&text);
}

/* The graph, and that all inputs are for something: one that is not is a misspelt one. */
static kiln_status parse(expansion *x)
{
    const kiln__manifest_word *name = &x->e->text[KILN__MANIFEST_NAME];
    bool failed = false;
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    kiln_error why = KILN_ERROR_INIT;

    if (name->text != NULL && !kiln__graph_name(name->text))
        return fail_at(x, name, "is no name of a graph");
    opts.name = name->text;
    KILN_CHECK(kiln__make_zeroed(&x->names, x->types->input_count + 1, sizeof *x->names, x->err));
    for (size_t k = 0; k < x->types->input_count; k++) {
        x->names[k] = declared(x, k);
        failed = failed || x->names[k] == NULL;
    }
    const kiln_status status =
        failed ? kiln__fail_memory(&why, 64)
               : kiln__graph_from_text(NULL, x->e->text[KILN__MANIFEST_TEXT].text,
                                       (const char *const *)x->names, x->types->input_count,
                                       &opts, &x->graph, NULL, &why);
    if (status != KILN_OK)
        return fail_in_text(x, &why);
    for (size_t k = 0; k < x->types->input_count; k++)
        if (!kiln__graph_uses(x->graph, k))
            return fail_at(x, &x->types->inputs[k].name, "is not used by the expression");
    KILN_CHECK(kiln__make_zeroed(&x->args, x->types->input_count + x->graph->ir.output_count,
                                 sizeof *x->args, x->err));
    return KILN_OK;
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static kiln_status give(expansion *x, const kiln__definition *def, const kiln__variant *variant)
{
    const kiln__own_request own = {.file = def->template_file,
                                   .entry = def->name,
                                   .macros = (const char *const *)def->options,
                                   .macro_count = def->option_count};
    kiln__definition *whole = NULL;
    kiln__buf line = KILN__BUF_INIT;
    kiln_status status = KILN_OK;

    (void)kiln__manifest_line(def, variant, &line); /* what was read from JSON is UTF-8 */
    if (line.failed) {
        status = kiln__fail_memory(x->err, line.capacity);
        goto done;
    }
    if (def->template_file != NULL && kiln__map_find(&x->to.done, line.text, line.length) == NULL)
        KILN_TRY(kiln__own_definition(&own, &whole, x->err)); /* a run needs no source */
    status =
        kiln__hand_out(&x->to, line.text, line.length, whole != NULL ? whole : def, variant);

done:
    kiln__definition_destroy(whole);
    kiln__buf_clear(&line);
    return status;
}

/* One kernel of a program on devices of every size. `call` is the step, or an opaque one
 * as a call of its kernel. */
static kiln_status give_kernel(expansion *x, const kiln__step *call, kiln__definition *def,
                               bool clusters)
{
    kiln__plan_device device;
    kiln__planned planned, last = {.size = 0};
    kiln_status status = KILN_OK;

    for (size_t nth = 0; status == KILN_OK && kiln__warm_device(x->backend, nth, &device); nth++) {
        if (device.clusters != clusters)
            continue;
        status = kiln__step_plan(call, def, &device, NULL, &planned, x->err);
        if (status != KILN_OK || planned.size == 0 || call->kind == KILN__STEP_LOOP) {
            if (status == KILN_OK && planned.size > 0)
                status = give(x, def, &planned.variant);
            break;
        }
        if (last.size == 0 || memcmp(&last.variant, &planned.variant, sizeof last.variant) != 0)
            status = give(x, def, &planned.variant);
        last = planned;
    }
    return status;
}

static kiln_status take_needed(void *user, const kiln__definition *def,
                               const kiln__variant *variant, kiln_error *err)
{
    (void)err; /* the expansion's */
    return give(user, def, variant);
}

/* The kernels that a run chooses, of the call that x->args describes. */
static kiln_status give_runs(expansion *x, kiln_error *why)
{
    const kiln__needs needs = {take_needed, x};
    const kiln__dry_run_request request = {.text = x->e->text[KILN__MANIFEST_TEXT].text,
                                           .name = x->e->text[KILN__MANIFEST_NAME].text,
                                           .names = (const char *const *)x->names,
                                           .inputs = x->args,
                                           .input_count = x->types->input_count,
                                           .wide = x->e->wide,
                                           .target = x->target};

    return kiln__dry_run(&request, &needs, why);
}

/* The kernels of one step, but for one that chooses them when it runs (`*chooses`). */
static kiln_status take_step(expansion *x, const kiln__step *step, bool clusters, bool *chooses)
{
    kiln__definition *def = NULL;
    kiln__step call = *step;
    kiln_status status = step->kind == KILN__STEP_PARTS ? KILN_OK
                         : step->kind == KILN__STEP_OPAQUE
                             ? kiln__opaque_kernel(step, &call, &def, x->err)
                             : kiln__definition_create(&step->request, &def, x->err);

    if (status == KILN_OK && def != NULL && x->target == NULL)
        status = give_kernel(x, &call, def, clusters);
    *chooses = *chooses || def == NULL;
    kiln__definition_destroy(def);
    return status;
}

/* Whether calls of this entry are planned with clusters of blocks, or without, or both. */
static bool takes_clusters(const expansion *x, bool clusters)
{
    if (x->backend == KILN_BACKEND_CPU)
        return !clusters;
    return x->target == NULL || clusters == (atoi(x->target->name + strlen("sm_")) >= 90);
}

/* Whether a result does not lie in C-order: whoever reads it from a GPU has it copied. */
static bool is_permuted(const kiln__made *made)
{
    int64_t strides[KILN_RANK_MAX];
    const size_t item = kiln_dtype_size(made->dtype);

    kiln__strides_ordered(made->rank, made->shape, made->order, item, strides);
    return !kiln__strides_contiguous(made->rank, made->shape, strides, item);
}

/* The kernels of one call. Where it cannot be, `*fits` is false and `why` tells, and nothing was
 * handed out. */
static kiln_status give_call(expansion *x, bool *fits, kiln_error *why)
{
    kiln_status status = KILN_OK;
    bool chooses = false;

    for (int clusters = 0; clusters <= 1 && status == KILN_OK; clusters++) {
        const kiln__graph_target target = {
            .backend = x->backend, .clusters = clusters != 0, .wide = x->e->wide};
        kiln__program *program = NULL;
        if (!takes_clusters(x, clusters != 0))
            continue;
        status = kiln__program_build(&x->graph->ir, x->args, &target, &program, why);
        *fits = status == KILN_OK;
        for (size_t s = 0; status == KILN_OK && s < program->step_count; s++)
            status = take_step(x, &program->steps[s], clusters != 0, &chooses);
        for (size_t k = 0; status == KILN_OK && k < program->output_count; k++)
            chooses = chooses ||
                      (x->backend == KILN_BACKEND_CUDA && is_permuted(&program->outputs[k]));
        kiln__program_destroy(program);
    }
    if (status == KILN_OK && x->target != NULL && chooses) {
        status = give_runs(x, why);
        *fits = status == KILN_OK || x->err->status != KILN_OK; /* else the run failed, no taker */
    }
    return status;
}

/* ---- shapes ------------------------------------------------------------------------------------ */

static void set_shape(input *in, int rank, const int64_t *extent)
{
    in->shaped = true;
    in->rank = rank;
    memcpy(in->shape, extent, (size_t)rank * sizeof extent[0]);
    kiln__strides_ordered(rank, extent, NULL, kiln_dtype_size(in->dtype), in->strides);
}

/* The inputs as the scheduler takes them. */
static void fill_args(expansion *x)
{
    for (size_t k = 0; k < x->types->input_count; k++) {
        const input *in = &x->inputs[k];
        const char kind = kiln_dtype_kind(in->dtype);
        x->args[k] = (kiln__graph_arg){.is_array = !in->scalar,
                                       .dtype = in->dtype,
                                       .rank = in->rank,
                                       .shape = in->shape,
                                       .strides = in->strides,
                                       .number = {.kind = kind == 'u' ? 'i' : kind}};
    }
}

/* The shapes that an entry gives: each input that is an array must have one. */
static kiln_status read_shapes(expansion *x, const kiln__manifest_shapes *set)
{
    for (size_t k = 0; k < x->types->input_count; k++)
        x->inputs[k].shaped = false;
    for (size_t k = 0; k < set->count; k++) {
        const kiln__manifest_shape *s = &set->items[k];
        if (s->param == NULL) {
            for (size_t n = 0; n < x->types->input_count; n++)
                set_shape(&x->inputs[n], s->rank, s->extent);
            continue;
        }
        const kiln__manifest_word word = {s->param, s->at};
        input *found = find_input(x, s->param);
        if (found == NULL)
            return fail_at(x, &word, "has no dtype in \"types\"");
        if (found->scalar)
            return fail_at(x, &word, "is a number and has no shape");
        set_shape(found, s->rank, s->extent);
    }
    for (size_t k = 0; k < x->types->input_count; k++)
        if (!x->inputs[k].scalar && !x->inputs[k].shaped)
            return kiln__manifest_fail(x->e, set->at, 1, KILN_ERR_FORMAT, x->err,
                                       "the shape of `%.60s` is missing", x->inputs[k].name);
    return KILN_OK;
}

static kiln_status give_shapes(expansion *x, const kiln__manifest_shapes *set)
{
    kiln_error why = KILN_ERROR_INIT;
    bool fits = false;
    KILN_CHECK(read_shapes(x, set));
    fill_args(x);
    kiln_status status = give_call(x, &fits, &why);
    return fits ? status : fail_in_text(x, &why);
}

/* No shapes: all inputs have one and the same. Those of few axes that the expression takes, or the
 * first of more. */
static kiln_status give_usual(expansion *x)
{
    kiln_error first = KILN_ERROR_INIT;
    bool any = false;

    for (int rank = 1; rank <= RANK_MOST && !(any && rank > RANK_USUAL); rank++) {
        int64_t extent[RANK_MOST] = {LONG};
        kiln_error why = KILN_ERROR_INIT;
        bool fits = false;
        for (int a = 0; a < rank && rank > 1; a++)
            extent[a] = a >= rank - 2 ? SIDE : FURTHER;
        for (size_t k = 0; k < x->types->input_count; k++)
            set_shape(&x->inputs[k], rank, extent);
        fill_args(x);
        kiln_status status = give_call(x, &fits, &why);
        if (!fits && rank == RANK_USUAL)
            (void)kiln__error_copy(&first, &why);
        if (!fits && status == KILN_ERR_NO_MEMORY) {
            kiln_error_clear(&first);
            return fail_in_text(x, &why);
        }
        kiln_error_clear(&why);
        if (fits && status != KILN_OK) {
            kiln_error_clear(&first);
            return status;
        }
        any |= fits;
    }
    if (any) {
        kiln_error_clear(&first);
        return KILN_OK;
    }
    const size_t length = strlen(first.message);
    if (first.status == KILN_ERR_SHAPE || first.status == KILN_ERR_AXIS)
        snprintf(first.message + length, sizeof first.message - length,
                 "; this is for inputs of %d x %d, since the line gives no \"shapes\"", SIDE, SIDE);
    return fail_in_text(x, &first);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static kiln_status expand_types(expansion *x, const kiln__manifest_types *types)
{
    kiln_status status = KILN_OK;

    x->types = types;
    KILN_TRY(read_inputs(x));
    KILN_TRY(parse(x));
    for (size_t k = 0; k < x->e->shape_count; k++)
        KILN_TRY(give_shapes(x, &x->e->shapes[k]));
    if (x->e->shape_count == 0)
        KILN_TRY(give_usual(x));

done:
    kiln_graph_destroy(x->graph);
    for (size_t k = 0; x->names != NULL && k < types->input_count; k++)
        kiln__free(x->names[k]);
    kiln__free(x->names);
    kiln__free(x->inputs);
    kiln__free(x->args);
    x->names = NULL;
    x->graph = NULL;
    x->inputs = NULL;
    x->args = NULL;
    return status;
}

kiln_status kiln__expand_expression(const kiln__manifest_entry *entry, kiln_backend backend,
                                    const kiln__target *target, kiln__warm_fn fn, void *user,
                                    kiln_error *err)
{
    expansion x = {.e = entry,
                   .backend = backend,
                   .err = err,
                   .to = {fn, user, err, {NULL, 0, 0}},
                   .target = target};
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < entry->type_count && status == KILN_OK; k++)
        status = expand_types(&x, &entry->types[k]);
    kiln__map_clear(&x.to.done, NULL);
    return status;
}
