/*
 * expand.c - which kernels an entry of a manifest stands for.
 *
 *     entry > [types > definition > layouts | shapes | defaults > variants] > fn
 *
 * A recorded entry names its variant by text and gives exactly that one. A hand-written entry tells
 * at most shapes: then the planners of real calls decide, for every size of device that there is,
 * because the number of multiprocessors has a say in how reductions are split.
 */
#include <stdio.h>
#include <stdlib.h>

#include "warm/expression.h"

enum {
    /* The shapes that stand for an entry that gives none: */
    LINEAR_SIZE = 1 << 20,  /* elements of a loop, whose number does not matter */
    REDUCED_SIZE = 1 << 24, /* elements that are all reduced */
    SIDE = 4096,            /* rows and columns of a matrix */
    FURTHER = 16            /* each axis before those of a matrix */
};

typedef struct expansion {
    const kiln__manifest_entry *e;
    kiln_backend backend;
    kiln_error *err;
    /* Of the row of types at work. */
    kiln__definition *def;
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln__outlet to; /* of this definition: a variant tells its kernels apart */
} expansion;

kiln_status kiln__warm_place(const kiln__manifest_entry *e, kiln_error *err)
{
    char place[128], message[KILN_ERROR_MESSAGE_BYTES];

    if (err == NULL)
        return KILN_OK;
    snprintf(place, sizeof place, "%.100s:%zu:", e->file, e->line);
    if (err->status != KILN_OK && strncmp(err->message, place, strlen(place)) != 0) {
        snprintf(message, sizeof message, "%s %.380s", place, err->message);
        memcpy(err->message, message, sizeof message);
    }
    return err->status;
}

bool kiln__warm_fits(const kiln__definition *def, const kiln__variant *variant,
                     const kiln__target *target, char *why)
{
    why[0] = '\0';
    if (def->cuda_only && target->backend == KILN_BACKEND_CPU)
        snprintf(why, 64, "uses `%.30s`, which only CUDA has", def->cuda_only_word);
    else if (variant->family == &kiln__family_row && variant->row.cluster > 1 &&
             strncmp(target->name, "sm_", 3) == 0 && atoi(target->name + 3) < 90)
        snprintf(why, 64, "is for clusters of blocks, which %.20s lacks", target->name);
    return why[0] == '\0';
}

/* ---- definitions ------------------------------------------------------------------------------- */

static kiln_status define_named(expansion *x, const kiln__manifest_types *types)
{
    const kiln__manifest_word *named = &x->e->text[KILN__MANIFEST_NAMED];
    const kiln_dtype dtype = types != NULL ? (kiln_dtype)types->dtype['T'] : KILN_DTYPE_NONE;

    if (dtype == KILN_DTYPE_NONE)
        return kiln__manifest_fail(x->e, types != NULL ? types->at : named->at, 1, KILN_ERR_UNBOUND,
                                   x->err, "a named reduction wants \"types\" with a dtype for T");
    return kiln__named_definition(named->text, dtype, &x->def, x->err);
}

static kiln_status define(expansion *x, const kiln__manifest_types *types)
{
    const kiln__manifest_entry *e = x->e;
    kiln_row_stage stages[KILN__STAGE_MAX];
    kiln_row_value values[KILN__VALUE_MAX];
    kiln__definition_request request = {
        .family = kiln__family_named(e->kind->name),
        .name = e->text[KILN__MANIFEST_NAME].text,
        .in = e->text[KILN__MANIFEST_IN].text,
        .out = e->text[KILN__MANIFEST_OUT].text,
        .options = e->options,
        .option_count = e->option_count,
        .keep_axes = e->keep_axes,
        .row_out = e->text[KILN__MANIFEST_ROW_OUT].text,
        .stages = stages,
        .stage_count = e->stage_count,
        .values = values,
        .value_count = e->value_count,
    };
    kiln_status status = kiln__manifest_rows(e, stages, values, x->err);
    kiln__manifest_text text = KILN__MANIFEST_NAME;

    if (e->text[KILN__MANIFEST_NAMED].text != NULL)
        return define_named(x, types);
    if (status != KILN_OK)
        return status;
    if (request.family == &kiln__family_row && e->stage_count == 0)
        return kiln__manifest_fail(e, 0, 1, KILN_ERR_FORMAT, x->err, "a row program has stages");
    for (size_t k = 0;; k++) {
        const kiln__snippet_kind snippet = kiln__manifest_snippet(k, &text);
        if (snippet == KILN__SNIPPET_COUNT)
            break;
        request.snippet[snippet] = e->text[text].text;
    }
    /* A row program without results per element has none, and empty texts are not written. */
    if (e->stage_count > 0 && request.snippet[KILN__SNIPPET_OP] == NULL)
        request.snippet[KILN__SNIPPET_OP] = "";
    return kiln__definition_create(&request, &x->def, x->err);
}

/* Dtypes of all parameters from the placeholders'. */
static kiln_status bind(expansion *x, const kiln__manifest_types *types)
{
    const kiln__definition *d = x->def;
    const size_t at = types != NULL ? types->at : x->e->text[KILN__MANIFEST_IN].at;
    bool used[128] = {false};

    for (size_t p = 0; p < d->param_count; p++) {
        const unsigned letter = (unsigned char)d->params[p].placeholder & 127u;
        x->dtypes[p] = d->params[p].dtype;
        if (letter == 0)
            continue;
        used[letter] = true;
        x->dtypes[p] = types != NULL ? (kiln_dtype)types->dtype[letter] : KILN_DTYPE_NONE;
        if (x->dtypes[p] == KILN_DTYPE_NONE)
            return kiln__manifest_fail(x->e, at, 1, KILN_ERR_UNBOUND, x->err,
                                       "\"types\" gives no dtype for %c, the type of `%.60s`",
                                       (char)letter, d->params[p].name);
    }
    for (unsigned letter = 0; types != NULL && letter < KILN_COUNT_OF(used); letter++)
        if (types->dtype[letter] != KILN_DTYPE_NONE && !used[letter])
            return kiln__manifest_fail(x->e, at, 1, KILN_ERR_FORMAT, x->err,
                                       "no parameter has the type %c", (char)letter);
    return KILN_OK;
}

/* ---- variants ---------------------------------------------------------------------------------- */

static kiln_status give(expansion *x, const kiln__variant *v)
{
    return kiln__hand_out(&x->to, v, sizeof *v, x->def, v);
}

static kiln_status give_layouts(expansion *x, size_t *given)
{
    for (size_t k = 0; k < x->e->layout_count; k++) {
        const kiln__manifest_word *word = &x->e->layouts[k];
        kiln__variant v;
        size_t at = 0, width = 0;
        kiln_error why = KILN_ERROR_INIT;
        kiln_status status =
            kiln__variant_parse(word->text, x->def, x->dtypes, &v, &at, &width, &why);
        if (status != KILN_OK) {
            kiln__manifest_fail(x->e, word->at + at, width, status, x->err, "%s", why.message);
            kiln_error_clear(&why);
            return status;
        }
        if (v.backend != x->backend)
            continue;
        ++*given;
        KILN_CHECK(give(x, &v));
    }
    return KILN_OK;
}

/* ---- shapes ------------------------------------------------------------------------------------ */

/* Whether a parameter may be given as a number. */
static bool may_be_scalar(const kiln__definition *d, size_t p)
{
    return p < d->input_count && !d->params[p].array_only;
}

/* The parameters that the entry calls scalars. */
static kiln_status read_scalars(expansion *x, kiln__abstract *args)
{
    for (size_t k = 0; k < x->e->scalar_count; k++) {
        const kiln__manifest_word *word = &x->e->scalars[k];
        size_t p = 0;
        while (p < x->def->param_count && strcmp(x->def->params[p].name, word->text) != 0)
            p++;
        if (p == x->def->param_count || !may_be_scalar(x->def, p))
            return kiln__manifest_fail(x->e, word->at, strlen(word->text), KILN_ERR_FORMAT, x->err,
                                       "`%.60s` is no input that a number can be given for",
                                       word->text);
        args[p].scalar = true;
    }
    return KILN_OK;
}

/* Whether calls of this definition name axes. */
static bool has_axes(const kiln__definition *def)
{
    return def->family->combines;
}

/* One call on every device that decides otherwise. */
static kiln_status plan_devices(expansion *x, const kiln__abstract *args,
                                const kiln__manifest_axes *axes)
{
    kiln_status status = KILN_OK;
    kiln__plan_device device;
    kiln__planned planned;
    kiln_axes some = {0};
    kiln__abstract_call call = {.args = args, .dtypes = x->dtypes};

    if (axes != NULL && !axes->all) {
        some.count = axes->count;
        memcpy(some.axis, axes->axis, sizeof some.axis);
        call.axes = &some;
    }
    call.flags = x->e->flags;
    for (size_t nth = 0; kiln__warm_device(x->backend, nth, &device); nth++) {
        /* Families that combine nothing plan alike for every device, and few of them use clusters. */
        if ((nth > 0 && !has_axes(x->def)) || (device.clusters && !x->def->family->clusters))
            break;
        status = kiln__abstract_variant(x->def, &device, &call, &planned, x->err);
        if (status == KILN_OK)
            status = give(x, &planned.variant);
        if (status != KILN_OK)
            break;
    }
    return status;
}

/* One set of shapes: with the scalars that the entry names; else as arrays all but what the texts
 * can use as a number only, and, where some inputs have a placeholder, with those of a fixed dtype
 * as numbers too. */
static kiln_status plan_scalars(expansion *x, kiln__abstract *args, const kiln__manifest_axes *axes)
{
    const kiln__definition *d = x->def;
    bool fixed = false, open = false;

    if (x->e->has_scalars) {
        KILN_CHECK(read_scalars(x, args));
        return plan_devices(x, args, axes);
    }
    for (size_t p = 0; p < d->input_count; p++)
        args[p].scalar = d->params[p].by_number;
    kiln_status status = plan_devices(x, args, axes);
    for (size_t p = 0; p < d->input_count; p++) {
        if (args[p].scalar || d->params[p].raw || strcmp(d->params[p].name, KILN__WHERE) == 0)
            continue;
        fixed |= d->params[p].placeholder == 0;
        open |= d->params[p].placeholder != 0;
        args[p].scalar = d->params[p].placeholder == 0;
    }
    return status == KILN_OK && fixed && open ? plan_devices(x, args, axes) : status;
}

static void set_shape(kiln__abstract *arg, int rank, const int64_t *extent)
{
    arg->rank = rank;
    memcpy(arg->shape, extent, (size_t)rank * sizeof extent[0]);
}

/* An input of `post` has one element for each result, so its extent is 1 along every reduced
 * axis. */
static void shrink_axes(kiln__abstract *arg, const kiln__manifest_axes *axes)
{
    for (int k = 0; axes->all && k < arg->rank; k++)
        arg->shape[k] = 1;
    for (int k = 0; k < axes->count; k++) {
        const int axis = axes->axis[k] < 0 ? axes->axis[k] + arg->rank : axes->axis[k];
        if (axis >= 0 && axis < arg->rank) /* else planning tells */
            arg->shape[axis] = 1;
    }
}

/* The entry's shapes to parameters; those it does not name get what the named ones broadcast to,
 * inputs of a reduction's `post` the shape of its results, raw arrays one axis of as many elements.
 * Outputs are allocated. */
static kiln_status fill_shapes(expansion *x, const kiln__manifest_shapes *set,
                               const kiln__manifest_axes *axes, kiln__abstract *args)
{
    const kiln__definition *d = x->def;
    const kiln__manifest_shape *of[KILN_PARAM_MAX] = {NULL};
    int64_t shape[KILN_RANK_MAX], size = 1;
    int rank = 0;

    memset(args, 0, d->param_count * sizeof *args);
    for (size_t p = 0; p < d->param_count; p++)
        args[p].address = kiln__abstract_base(p);
    for (size_t k = 0; k < set->count; k++) {
        const kiln__manifest_shape *s = &set->items[k];
        size_t p = 0;
        while (s->param != NULL && p < d->param_count && strcmp(d->params[p].name, s->param) != 0)
            p++;
        if (s->param != NULL && (p == d->param_count || (d->params[p].output && !d->params[p].raw)))
            return kiln__manifest_fail(x->e, s->at, strlen(s->param), KILN_ERR_FORMAT, x->err,
                                       "`%.60s` is no input, nor a raw array", s->param);
        if (s->param != NULL)
            of[p] = s;
        if ((s->param == NULL || !d->params[p].raw) &&
            !kiln__shape_broadcast(&rank, shape, s->rank, s->extent))
            return kiln__manifest_fail(x->e, s->at, 1, KILN_ERR_SHAPE, x->err,
                                       "this shape does not broadcast with those before it");
    }
    for (int a = 0; a < rank; a++)
        if (kiln__mul_overflow(size, shape[a], &size) || size > INT64_C(1) << 48)
            return kiln__manifest_fail(x->e, set->at, 1, KILN_ERR_SHAPE, x->err,
                                       "these shapes broadcast to more than 2^48 elements");
    for (size_t p = 0; p < d->param_count; p++) {
        if (of[p] != NULL)
            set_shape(&args[p], of[p]->rank, of[p]->extent);
        else if (d->params[p].raw)
            set_shape(&args[p], 1, &size);
        else if (d->params[p].output)
            args[p].absent = true;
        else
            set_shape(&args[p], rank, shape);
        if (of[p] == NULL && d->params[p].post_only && axes != NULL)
            shrink_axes(&args[p], axes);
    }
    return KILN_OK;
}

static kiln_status plan_shapes(expansion *x, const kiln__manifest_shapes *set,
                               const kiln__manifest_axes *axes)
{
    kiln__abstract args[KILN_PARAM_MAX];
    KILN_CHECK(fill_shapes(x, set, axes, args));
    kiln_status status = plan_scalars(x, args, axes);
    if (status == KILN_ERR_AXIS && x->err != NULL) {
        char why[KILN_ERROR_MESSAGE_BYTES];
        memcpy(why, x->err->message, sizeof why);
        kiln__manifest_fail(x->e, axes->at, 1, status, x->err, "%s", why);
    }
    return status;
}

/* The shape that an entry without any stands for. */
static void default_shape(const expansion *x, const kiln__manifest_axes *axes,
                          kiln__manifest_shape *shape)
{
    int rank = 2;

    memset(shape, 0, sizeof *shape);
    if (axes == NULL || axes->all) {
        shape->rank = 1;
        shape->extent[0] = has_axes(x->def) ? REDUCED_SIZE : LINEAR_SIZE;
        return;
    }
    for (int k = 0; k < axes->count; k++) {
        const int needs = axes->axis[k] < 0 ? -axes->axis[k] : axes->axis[k] + 1;
        rank = needs > rank ? needs : rank;
    }
    shape->rank = rank;
    /* No more elements than a program could have. */
    for (int a = 0; a < rank; a++)
        shape->extent[a] = a >= rank - 2 ? SIDE : a >= rank - 4 ? FURTHER : 1;
}

static kiln_status plan_axes(expansion *x, const kiln__manifest_axes *axes)
{
    kiln__manifest_shape shape;
    kiln__manifest_shapes set = {&shape, 1, 0};
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < x->e->shape_count && status == KILN_OK; k++)
        status = plan_shapes(x, &x->e->shapes[k], axes);
    if (x->e->shape_count > 0)
        return status;
    default_shape(x, axes, &shape);
    return plan_shapes(x, &set, axes);
}

/* What is asked for when an entry names no axes: the last of row programs; of reductions all of
 * them, the last, the first. */
static kiln_status plan_calls(expansion *x)
{
    static const kiln__manifest_axes usual[] = {
        {.all = true}, {.count = 1, .axis = {-1}}, {.count = 1, .axis = {0}}};
    const bool own = x->e->axes_count > 0, row = x->def->rows != NULL;
    const kiln__manifest_axes *axes = own ? x->e->axes : row ? &usual[1] : usual;
    size_t count = own ? x->e->axes_count : row ? 1 : KILN_COUNT_OF(usual);
    kiln_status status = KILN_OK;

    if (!has_axes(x->def))
        return plan_axes(x, NULL);
    /* Arrays without axes leave nothing to choose. */
    for (size_t k = 0; k < x->e->shape_count && !own; k++)
        if (x->e->shapes[k].count == 1 && x->e->shapes[k].items[0].rank < 1) {
            axes = usual;
            count = 1;
        }
    for (size_t k = 0; k < count && status == KILN_OK; k++)
        status = plan_axes(x, &axes[k]);
    return status;
}

/* ---- modules ----------------------------------------------------------------------------------- */

static kiln_status define_module(expansion *x)
{
    const kiln__manifest_entry *e = x->e;
    const char *const name = e->text[KILN__MANIFEST_NAME].text;

    return kiln__module_definition(name != NULL ? name : "module",
                                   e->text[KILN__MANIFEST_SOURCE].text, e->options, e->option_count,
                                   e->names, e->name_count, &x->def, x->err);
}

/* A kernel of kiln's own. Templates come and go with versions of kiln. */
static kiln_status define_template(expansion *x)
{
    const kiln__manifest_entry *e = x->e;
    const kiln__manifest_word *file = &e->text[KILN__MANIFEST_TEMPLATE];
    const kiln__own_request request = {.file = file->text,
                                       .entry = e->text[KILN__MANIFEST_NAME].text,
                                       .macros = e->options,
                                       .macro_count = e->option_count};
    const kiln_status status = kiln__own_definition(&request, &x->def, x->err);

    return status != KILN_ERR_INTERNAL
               ? status
               : kiln__manifest_fail(e, file->at, strlen(file->text), KILN_ERR_FORMAT, x->err,
                                     "this version of kiln has no template \"%.60s\"; record the "
                                     "program again",
                                     file->text);
}

/* Either is one program, without calls to be planned. */
static kiln_status expand_module(expansion *x)
{
    const kiln__variant v = {.family = &kiln__family_loop, .backend = (uint8_t)x->backend};
    kiln_status status =
        x->e->text[KILN__MANIFEST_TEMPLATE].text != NULL ? define_template(x) : define_module(x);

    if (status == KILN_OK)
        status = x->to.fn(x->to.user, x->def, &v, x->err);
    kiln__definition_destroy(x->def);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static kiln_status expand_types(expansion *x, const kiln__manifest_types *types)
{
    size_t given = 0;
    kiln_status status = KILN_OK;

    x->def = NULL;
    kiln__map_clear(&x->to.done, NULL);
    KILN_TRY(define(x, types));
    KILN_TRY(bind(x, types));
    KILN_TRY(give_layouts(x, &given));
    if (x->e->shape_count > 0 || given == 0)
        KILN_TRY(plan_calls(x));

done:
    kiln__definition_destroy(x->def);
    return status;
}

kiln_status kiln__warm_expand(const kiln__manifest_entry *entry, kiln_backend backend,
                              kiln__warm_fn fn, void *user, kiln_error *err)
{
    kiln_error own = KILN_ERROR_INIT;
    expansion x = {
        .e = entry, .backend = backend, .err = &own, .to = {fn, user, &own, {NULL, 0, 0}}};
    const bool expression = entry->text[KILN__MANIFEST_TEXT].text != NULL;
    kiln_status status = KILN_OK;

    if (expression)
        status = kiln__expand_expression(entry, backend, NULL, fn, user, &own);
    else if (entry->text[KILN__MANIFEST_SOURCE].text != NULL ||
             entry->text[KILN__MANIFEST_TEMPLATE].text != NULL)
        status = expand_module(&x);
    else if (entry->type_count == 0)
        status = expand_types(&x, NULL);
    for (size_t k = 0; k < entry->type_count && status == KILN_OK && !expression; k++)
        status = expand_types(&x, &entry->types[k]);
    if (status != KILN_OK) {
        kiln__warm_place(entry, &own);
        kiln__error_copy(err, &own);
    }
    kiln_error_clear(&own);
    kiln__map_clear(&x.to.done, NULL);
    return status;
}

kiln_status kiln__warm_expand_runs(const kiln__manifest_entry *entry, const kiln__target *target,
                                   kiln__warm_fn fn, void *user, kiln_error *err)
{
    kiln_error own = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    if (entry->text[KILN__MANIFEST_TEXT].text != NULL)
        status = kiln__expand_expression(entry, target->backend, target, fn, user, &own);
    if (status != KILN_OK) {
        kiln__warm_place(entry, &own);
        kiln__error_copy(err, &own);
    }
    kiln_error_clear(&own);
    return status;
}
