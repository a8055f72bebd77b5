/*
 * families.c - how kernels of each family are made, run and destroyed: one row each.
 *
 * The options of libkiln's functions differ in their types and hardly in their fields; here each row
 * fills its own from one definition and one call_options.
 */
#include "kilnpy.h"

static const kiln_axes *axes_of(const call_options *o)
{
    return o->has_axes ? &o->axes : NULL;
}

/* run and source of a family whose options `fill` makes from `o`; and destroy. */
#define FAMILY_CALLS(noun, fill)                                                                   \
    static kiln_status noun##_run(void *handle, const kiln_arg *args, size_t count,                \
                                  const call_options *o, kiln_error *err)                          \
    {                                                                                              \
        const kiln_##noun##_call_options own = fill(o);                                            \
        return kiln_##noun##_run(handle, args, count, &own, err);                                  \
    }                                                                                              \
    static kiln_status noun##_source(void *handle, const kiln_arg *args, size_t count,             \
                                     const call_options *o, char **text_out, kiln_error *err)      \
    {                                                                                              \
        const kiln_##noun##_call_options own = fill(o);                                            \
        return kiln_##noun##_source(handle, args, count, &own, text_out, err);                     \
    }                                                                                              \
    static void noun##_destroy(void *handle)                                                       \
    {                                                                                              \
        kiln_##noun##_destroy(handle);                                                             \
    }

/* The fields that the options of every definition have. */
#define DEFINITION_FIELDS(o, def)                                                                  \
    (o).name = (def)->name;                                                                        \
    (o).preamble = (def)->preamble;                                                                \
    (o).compiler_options = (def)->options;                                                         \
    (o).compiler_option_count = (def)->option_count;                                               \
    (o).numpy_types = (def)->numpy_types

/* ---- elementwise ---- */

static kiln_elementwise_call_options elementwise_options(const call_options *o)
{
    kiln_elementwise_call_options own = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    own.stream = o->stream;
    own.has_size = o->has_size;
    own.size = o->size;
    return own;
}

static kiln_status elementwise_create(kiln_context *ctx, const definition *def, void **out,
                                      kiln_error *err)
{
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *made = NULL;
    kiln_status status;

    DEFINITION_FIELDS(o, def);
    o.loop_prep = def->loop_prep;
    o.after_loop = def->after_loop;
    o.keep_axes = def->keep_axes;
    status = kiln_elementwise_create(ctx, def->text[0], def->text[1], def->text[2], &o, &made, err);
    *out = made;
    return status;
}

FAMILY_CALLS(elementwise, elementwise_options)

/* ---- reduction ---- */

static kiln_reduction_call_options reduction_options(const call_options *o)
{
    kiln_reduction_call_options own = KILN_REDUCTION_CALL_OPTIONS_INIT;

    own.stream = o->stream;
    own.axes = axes_of(o);
    own.keepdims = o->keepdims;
    return own;
}

static kiln_status reduction_create(kiln_context *ctx, const definition *def, void **out,
                                    kiln_error *err)
{
    kiln_reduction_options o = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction *made = NULL;
    kiln_status status;

    DEFINITION_FIELDS(o, def);
    o.reduce_type = def->reduce_type;
    status = kiln_reduction_create(ctx, def->text[0], def->text[1], def->text[2], def->text[3],
                                   def->text[4], def->text[5], &o, &made, err);
    *out = made;
    return status;
}

FAMILY_CALLS(reduction, reduction_options)

/* ---- scan ---- */

static kiln_scan_call_options scan_options(const call_options *o)
{
    kiln_scan_call_options own = KILN_SCAN_CALL_OPTIONS_INIT;

    own.stream = o->stream;
    own.axes = axes_of(o);
    own.flags = o->flags;
    return own;
}

static kiln_status scan_create(kiln_context *ctx, const definition *def, void **out,
                               kiln_error *err)
{
    kiln_scan_options o = KILN_SCAN_OPTIONS_INIT;
    kiln_scan *made = NULL;
    kiln_status status;

    DEFINITION_FIELDS(o, def);
    o.reduce_type = def->reduce_type;
    status = kiln_scan_create(ctx, def->text[0], def->text[1], def->text[2], def->text[3],
                              def->text[4], def->text[5], &o, &made, err);
    *out = made;
    return status;
}

FAMILY_CALLS(scan, scan_options)

/* ---- row ---- */

static kiln_row_call_options row_options(const call_options *o)
{
    kiln_row_call_options own = KILN_ROW_CALL_OPTIONS_INIT;

    own.stream = o->stream;
    own.axes = axes_of(o);
    own.keepdims = o->keepdims;
    return own;
}

static kiln_status row_create(kiln_context *ctx, const definition *def, void **out, kiln_error *err)
{
    kiln_row_stage stages[KILN_ROW_STAGES_MAX];
    kiln_row_value values[KILN_ROW_VALUES_MAX];
    kiln_row_options o = KILN_ROW_OPTIONS_INIT;
    kiln_row *made = NULL;
    kiln_status status;

    DEFINITION_FIELDS(o, def);
    o.row_outputs = def->row_outputs;
    o.row_post = def->row_post;
    for (size_t k = 0; k < def->stage_count && k < COUNT_OF(stages); k++) {
        const char **t = def->stage_texts + k * STAGE_TEXTS;
        stages[k] = (kiln_row_stage){t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
    }
    for (size_t k = 0; k < def->value_count && k < COUNT_OF(values); k++)
        values[k] = (kiln_row_value){def->value_texts[k * VALUE_TEXTS],
                                     def->value_texts[k * VALUE_TEXTS + 1]};
    o.values = values;
    o.value_count = def->value_count; /* Too many are refused by their number. */
    status = kiln_row_create(ctx, def->text[0], def->text[1], stages, def->stage_count,
                             def->text[2], &o, &made, err);
    *out = made;
    return status;
}

FAMILY_CALLS(row, row_options)

/* ---- graphs of text ---- */

static kiln_status graph_create(kiln_context *ctx, const definition *def, void **out,
                                kiln_error *err)
{
    kiln_graph_options o = KILN_GRAPH_OPTIONS_INIT;
    kiln_graph *made = NULL;
    kiln_status status;

    o.name = def->name;
    status = kiln_graph_parse(ctx, def->text[0], def->names, def->name_count, &o, &made,
                              def->results_out, err);
    *out = made;
    return status;
}

static kiln_status graph_run(void *handle, const kiln_arg *args, size_t count,
                             const call_options *o, kiln_error *err)
{
    kiln_graph_call_options own = KILN_GRAPH_CALL_OPTIONS_INIT;

    own.stream = o->stream;
    return kiln_graph_run(handle, args, count, &own, err);
}

/* What its kernels are, as text for people. */
static kiln_status graph_source(void *handle, const kiln_arg *args, size_t count,
                                const call_options *o, char **text_out, kiln_error *err)
{
    (void)o;
    return kiln_graph_explain(handle, args, count, text_out, err);
}

static void graph_destroy(void *handle)
{
    kiln_graph_destroy(handle);
}

/* ---- modules and their kernels ---- */

static kiln_status module_create(kiln_context *ctx, const definition *def, void **out,
                                 kiln_error *err)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln_module *made = NULL;
    kiln_status status;

    o.name = def->name;
    o.compiler_options = def->options;
    o.compiler_option_count = def->option_count;
    o.names = def->names;
    o.name_count = def->name_count;
    status = def->text[1] != NULL ? kiln_module_create_from_file(ctx, def->text[1], &o, &made, err)
                                  : kiln_module_create(ctx, def->text[0], &o, &made, err);
    *out = made;
    return status;
}

static void module_destroy(void *handle)
{
    kiln_module_destroy(handle);
}

static kiln_status raw_create(kiln_context *ctx, const definition *def, void **out, kiln_error *err)
{
    kiln_raw *made = NULL;
    kiln_status status =
        kiln_module_kernel(def->module_handle, def->text[0], def->text[1], &made, err);

    (void)ctx;
    *out = made;
    return status;
}

static kiln_status raw_run(void *handle, const kiln_arg *args, size_t count, const call_options *o,
                           kiln_error *err)
{
    kiln_raw_call_options own = KILN_RAW_CALL_OPTIONS_INIT;

    own.stream = o->stream;
    memcpy(own.grid, o->grid, sizeof own.grid);
    memcpy(own.block, o->block, sizeof own.block);
    own.shared_bytes = o->shared_bytes;
    own.cooperative = o->cooperative;
    return kiln_raw_run(handle, args, count, &own, err);
}

static void raw_destroy(void *handle)
{
    kiln_raw_destroy(handle);
}

const family kilnpy_families[FAMILY_COUNT] = {
    [FAMILY_ELEMENTWISE] = {"ElementwiseKernel", elementwise_create, elementwise_run,
                            elementwise_source, elementwise_destroy},
    [FAMILY_REDUCTION] = {"ReductionKernel", reduction_create, reduction_run, reduction_source,
                          reduction_destroy},
    [FAMILY_SCAN] = {"Scan", scan_create, scan_run, scan_source, scan_destroy},
    [FAMILY_ROW] = {"Row", row_create, row_run, row_source, row_destroy},
    [FAMILY_GRAPH] = {"graph", graph_create, graph_run, graph_source, graph_destroy},
    [FAMILY_MODULE] = {"RawModule", module_create, NULL, NULL, module_destroy},
    [FAMILY_RAW] = {"RawKernel", raw_create, raw_run, NULL, raw_destroy},
};
