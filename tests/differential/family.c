/*
 * family.c - what the functions of family.h have in common: drawing, evaluation, graphs and text.
 */
#include "family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const dt_function *rows;
    const int *count;
} tables[] = {{dt_gather_functions, &dt_gather_function_count},
              {dt_select_functions, &dt_select_function_count},
              {dt_sort_functions, &dt_sort_function_count},
              {dt_rearrange_functions, &dt_rearrange_function_count},
              {dt_product_functions, &dt_product_function_count},
              {dt_random_functions, &dt_random_function_count},
              {dt_unique_functions, &dt_unique_function_count},
              {dt_rule_functions, &dt_rule_function_count}};

const dt_function *dt_function_at(int function)
{
    for (size_t t = 0; t < DT_COUNT(tables) && function >= 0; t++) {
        if (function < *tables[t].count)
            return &tables[t].rows[function];
        function -= *tables[t].count;
    }
    return NULL;
}

const char *dt_function_name(int function)
{
    return dt_function_at(function) != NULL ? dt_function_at(function)->name : "?";
}

int dt_function_named(const char *name)
{
    for (int k = 0; dt_function_at(k) != NULL; k++)
        if (strcmp(dt_function_at(k)->name, name) == 0)
            return k;
    return -1;
}

/* ---- drawing ----------------------------------------------------------------------------------- */

int dt_draw_operand(dt_random *r, dt_case *c, kiln_dtype dtype, dt_fill fill, int rank,
                    const int64_t *shape)
{
    const int k = dt_add_operand(c, dtype, fill, dt_next(r));

    c->operand[k].view.rank = rank;
    for (int axis = 0; axis < rank; axis++)
        c->operand[k].view.shape[axis] = shape[axis];
    return k;
}

kiln_dtype dt_draw_integer(dt_random *r)
{
    static const kiln_dtype often[] = {KILN_INT64, KILN_INT32};
    return dt_once_in(r, 2) ? often[dt_below(r, 2)] : (kiln_dtype)(KILN_INT8 + dt_below(r, 8));
}

int dt_draw_indices(dt_random *r, dt_case *c, kiln_dtype dtype, int64_t extent, bool any, int rank,
                    const int64_t *shape)
{
    const int k = dt_draw_operand(r, c, dtype, DT_FILL_RANGE, rank, shape);
    const long double most = dt_real(dtype, dt_limit(dtype, true));
    const int64_t cap = most > 1e15L ? (int64_t)1e15 : (int64_t)most;
    dt_operand *o = &c->operand[k];

    o->low = dt_is_signed(dtype) ? -extent : 0;
    o->high = extent - 1;
    if (any) {
        o->low = dt_is_signed(dtype) ? -3 * extent - 2 : 0;
        o->high = 3 * extent + 2;
        if (dt_once_in(r, 6))
            o->fill = dt_once_in(r, 2) ? DT_FILL_SPECIAL : DT_FILL_UNIFORM;
    }
    if (dt_once_in(r, 4) && extent > 3) /* few places, each many times */
        o->low = o->high - dt_below(r, 3);
    o->high = o->high > cap ? cap : o->high;
    o->low = o->low < -cap ? -cap : o->low > o->high ? o->high : o->low;
    if (o->high < 0) /* an axis without elements: no index of it is in range */
        o->low = o->high = 0;
    return k;
}

void dt_draw_small_shape(dt_random *r, int rank, int64_t *shape)
{
    dt_draw_shape(r, rank, dt_once_in(r, 2) ? 60 : dt_draw_budget(r), shape);
}

void dt_draw_block_shape(dt_random *r, int rank, int64_t *shape)
{
    dt_draw_small_shape(r, rank, shape);
    if (rank == 0 || !dt_once_in(r, 3))
        return;
    for (int axis = 0; axis < rank; axis++)
        shape[axis] = 1 + (dt_once_in(r, 4) ? dt_below(r, 3) : 0);
    const int block = 128 << dt_below(r, 6), most = dt_once_in(r, 4) ? 40000 / block : 5;
    shape[dt_below(r, rank)] = (int64_t)block * (1 + dt_below(r, most)) + dt_below(r, 3) - 1;
}

/* Outputs that exist, in layouts of their own, or over operand 0. */
static void draw_outputs(dt_random *r, dt_style style, const dt_function *f, const dt_array *out,
                         dt_case *c)
{
    for (int k = 0; k < c->output_count; k++) {
        dt_view *v = &c->output[k].view;

        c->output[k].given = (f->traits & DT_MAY_BE_GIVEN) != 0 && !dt_once_in(r, 3);
        if (c->way != DT_AT_ONCE && !dt_once_in(r, 3))
            c->output[k].given = true;
        if (!c->output[k].given)
            continue;
        v->dtype = out[k].dtype;
        v->rank = out[k].rank;
        memcpy(v->shape, out[k].shape, sizeof v->shape);
        const dt_operand *o = &c->operand[0];
        if (k == 0 && dt_once_in(r, 5) && dt_is_injective(&o->view) &&
            dt_share_view(c, v, &o->view, dt_once_in(r, 3) ? dt_below(r, 5) : 0))
            continue;
        dt_draw_view(r, style, false, c, v);
    }
}

static void draw_way(dt_random *r, const dt_function *f, dt_case *c)
{
    if (f->call == NULL) /* there is no such function, only expressions */
        c->way = f->record != NULL && dt_once_in(r, 2) ? DT_RECORDED : DT_AS_TEXT;
    else if ((f->traits & DT_MAY_RECORD) != 0 && f->record != NULL && dt_once_in(r, 3))
        c->way = DT_RECORDED;
    else if ((f->traits & DT_MAY_PARSE) != 0 && f->text != NULL && dt_once_in(r, 2))
        c->way = DT_AS_TEXT;
}

static void draw_negated(dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = c->operand[0].view.dtype;

    c->negated = c->way != DT_AT_ONCE && c->operand[0].fill < DT_FILL_RISING &&
                 strchr("ifc", kiln_dtype_kind(dtype)) != NULL && dt_once_in(r, 3);
}

bool dt_can_prepare(const dt_case *c)
{
    return c->way != DT_AT_ONCE || (dt_function_at(c->function)->traits & DT_MAY_PREPARE) != 0;
}

bool dt_draw_family(dt_case *c, dt_random definition, dt_random view)
{
    dt_random *r = &view;
    dt_expected e;
    int count = 0;

    while (dt_function_at(count) != NULL)
        count++;
    do
        c->function = dt_below(&definition, count);
    while (dt_function_at(c->function)->kind != c->kind);
    const dt_function *f = dt_function_at(c->function);
    const dt_style style = (dt_style)dt_below(&definition, DT_STYLE_COUNT);
    c->output_count = f->outputs;
    draw_way(&definition, f, c);
    if (!f->draw(&definition, r, c))
        return false;
    draw_negated(&definition, c);
    const bool in_place = (f->traits & DT_IN_PLACE) != 0 && c->way == DT_AT_ONCE;
    for (int k = 0; k < c->operand_count; k++) {
        dt_operand *o = &c->operand[k];
        const bool plain = o->fill >= DT_FILL_RISING ||
                           (k == 0 && (in_place || (f->traits & DT_PLAIN_FIRST) != 0));
        if (!o->is_number && o->view.buffer < 0)
            dt_draw_view(r, style, !plain, c, &o->view);
    }
    if (in_place) {
        c->output[0].given = true;
        c->output[0].view = c->operand[0].view;
    }
    if (!dt_evaluate(c, &e))
        return false;
    const kiln_dtype result = e.output[0].dtype;
    if (!in_place)
        draw_outputs(r, style, f, e.output, c);
    dt_expected_clear(&e);
    c->inverted = c->way != DT_AT_ONCE && c->output_count == 1 &&
                  strchr("ifc", kiln_dtype_kind(result)) != NULL && dt_once_in(r, 3);
    return true;
}

/* ---- evaluation -------------------------------------------------------------------------------- */

static void negate_values(kiln_dtype dtype, dt_value *values, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int also = values[k].also;
        if (values[k].unwritten)
            continue;
        values[k] = dt_is_complex(dtype) ? dt_apply_complex(DT_NEGATIVE, dtype, &values[k])
                                         : dt_apply(DT_NEGATIVE, dtype, &values[k], false);
        values[k].also = also;
    }
}

static void negate(dt_array *a)
{
    negate_values(a->dtype, a->at, a->size);
    negate_values(a->dtype, a->others, a->other_count);
}

bool dt_evaluate_family(const dt_case *c, dt_array *in, dt_array *out)
{
    const dt_function *f = dt_function_at(c->function);

    if (f == NULL || f->kind != c->kind)
        return false;
    if (c->negated)
        negate(&in[0]);
    if (!f->evaluate(c, in, out))
        return false;
    if (c->inverted)
        negate(&out[0]);
    for (int k = 0; k < c->output_count; k++) {
        const dt_view *v = &c->output[k].view;
        if (c->output[k].given && v->dtype != KILN_DTYPE_NONE &&
            (v->dtype != out[k].dtype || v->rank != out[k].rank ||
             memcmp(v->shape, out[k].shape, (size_t)v->rank * sizeof *v->shape) != 0))
            return false;
    }
    return true;
}

bool dt_axis_of(int64_t axis, int rank, int *out)
{
    *out = (int)(axis < 0 ? axis + rank : axis);
    return axis >= -rank && axis < rank;
}

int dt_without_axis(const dt_array *a, int axis, int64_t *shape)
{
    int rank = 0;

    for (int k = 0; k < a->rank; k++)
        if (k != axis)
            shape[rank++] = a->shape[k];
    return rank;
}

bool dt_make_like(dt_array *out, kiln_dtype dtype, const dt_array *like)
{
    return dt_array_make(out, dtype, like->rank, like->shape);
}

/* ---- order ------------------------------------------------------------------------------------- */

static int compare_reals(double a, double b, bool down)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return down ? (a < b) - (a > b) : (a > b) - (a < b);
}

int dt_compare(kiln_dtype dtype, dt_value a, dt_value b, bool down)
{
    if (dt_is_complex(dtype)) {
        const int a_class = (isnan(a.re) ? 2 : 0) + (isnan(a.im) ? 1 : 0);
        const int b_class = (isnan(b.re) ? 2 : 0) + (isnan(b.im) ? 1 : 0);
        if (a_class != b_class)
            return a_class < b_class ? -1 : 1;
        const int first = compare_reals(a.re, b.re, down);
        return first != 0 ? first : compare_reals(a.im, b.im, down);
    }
    if (!dt_is_integer(dtype))
        return compare_reals(a.re, b.re, down);
    const int up = dtype == KILN_UINT64
                       ? ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i)
                       : (a.i > b.i) - (a.i < b.i);
    return down ? -up : up;
}

/* A merge of halves. */
static void merge(int64_t *at, int64_t *spare, int64_t count, dt_before_fn before, const void *user)
{
    const int64_t half = count / 2;
    int64_t i = 0, j = half;

    if (count < 2)
        return;
    merge(at, spare, half, before, user);
    merge(at + half, spare, count - half, before, user);
    for (int64_t k = 0; k < count; k++)
        spare[k] = i == half || (j < count && before(user, at[j], at[i])) ? at[j++] : at[i++];
    memcpy(at, spare, (size_t)count * sizeof *at);
}

bool dt_sort_places(int64_t *at, int64_t count, dt_before_fn before, const void *user)
{
    int64_t *spare = malloc((size_t)(count + 1) * sizeof *spare);

    if (spare != NULL)
        merge(at, spare, count, before, user);
    free(spare);
    return spare != NULL;
}

typedef struct row {
    const dt_array *a;
    int64_t first, step;
    bool down;
} row;

static bool row_before(const void *user, int64_t a, int64_t b)
{
    const row *r = user;

    return dt_compare(r->a->dtype, r->a->at[r->first + a * r->step],
                      r->a->at[r->first + b * r->step], r->down) < 0;
}

bool dt_order_row(const dt_array *a, int64_t first, int64_t step, int64_t count, bool down,
                  int64_t *order)
{
    const row r = {a, first, step, down};

    for (int64_t k = 0; k < count; k++)
        order[k] = k;
    return dt_sort_places(order, count, row_before, &r);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static kiln_status record(dt_device *device, const dt_case *c, const dt_function *f,
                          kiln_graph **out, kiln_error *err)
{
    kiln_node in[DT_OPERANDS];
    char name[16];
    const kiln_status status = kiln_graph_create(device->ctx, NULL, out, err);

    if (status != KILN_OK)
        return status;
    for (int k = 0; k < c->operand_count; k++) {
        snprintf(name, sizeof name, "x%d", k);
        in[k] = kiln_graph_input(*out, name);
    }
    if (c->negated)
        in[0] = kiln_negative(in[0]);
    for (int k = 0; k < c->output_count; k++) {
        kiln_node z = f->record(c, in, (size_t)k);
        snprintf(name, sizeof name, "z%d", k);
        kiln_graph_output(*out, name, c->inverted ? kiln_negative(z) : z);
    }
    return KILN_OK;
}

static kiln_status parse(dt_device *device, const dt_case *c, const dt_function *f,
                         kiln_graph **out, kiln_error *err)
{
    const char *names[DT_OPERANDS];
    char declared[DT_OPERANDS][16], text[512], whole[600];

    for (int k = 0; k < c->operand_count; k++) {
        snprintf(declared[k], sizeof declared[k], "%sx%d",
                 c->operand[k].view.dtype == KILN_BOOL ? "bool " : "", k);
        names[k] = declared[k];
    }
    f->text(c, c->negated ? "(-x0)" : "x0", text, sizeof text);
    snprintf(whole, sizeof whole, c->inverted ? "-(%s)" : "%s", text);
    return kiln_graph_parse(device->ctx, whole, names, (size_t)c->operand_count, NULL, out, NULL,
                            err);
}

kiln_status dt_call_family(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const dt_function *f = dt_function_at(c->function);
    kiln_graph_call_options call = KILN_GRAPH_CALL_OPTIONS_INIT;
    kiln_launch *launch = NULL;
    kiln_graph *graph = NULL;

    if (c->way == DT_AT_ONCE)
        return f->call(device, c, a, err);
    kiln_status status = c->way == DT_RECORDED ? record(device, c, f, &graph, err)
                                               : parse(device, c, f, &graph, err);
    call.stream = a->stream;
    if (status == KILN_OK && !c->prepared) {
        status = kiln_graph_run(graph, a->args, a->arg_count, &call, err);
    } else if (status == KILN_OK) {
        status = kiln_graph_prepare(graph, a->args, a->arg_count, &call, &launch, err);
        status = dt_launch_twice(status, launch, a->stream, err);
    }
    kiln_graph_destroy(graph);
    return status;
}
