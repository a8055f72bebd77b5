/*
 * recipe.c - everything about a call that depends on its dtypes and layouts alone.
 *
 *     resolve > plan > [recipe] > memo > run
 *
 * A recipe is made for the first call with a layout, and found in the kernel's memo by later ones.
 * call.c, run.c, launch.c, lists.c and prefetch.c ask for it.
 *
 * Rule: a recipe may depend on nothing that kiln__recipe_matches does not compare.
 *
 * Test: test_lists.
 */
#include <stdlib.h>

#include "kernel/resolve.h"

bool kiln__call_hash(const kiln__kernel *op, const kiln__call *call, uint64_t *hash_out)
{
    uint64_t h = call->has_size ? (uint64_t)call->size * 0x9e3779b97f4a7c15u + 1 : 0;
    for (int a = 0; call->axes != NULL && a < call->axes->count && a < KILN_RANK_MAX; a++)
        h = (h ^ (uint64_t)(call->axes->axis[a] + KILN_RANK_MAX + 1)) * 0x9e3779b97f4a7c15u;
    h += (call->axes != NULL) + 2u * call->keepdims + 4u * call->flags;
    if (call->arg_count != op->def->param_count)
        return false;
    for (size_t p = 0; p < call->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        uint64_t word = kiln__scalar_kind(arg);
        if (arg->kind == KILN_ARG_ARRAY || arg->kind == KILN_ARG_OUT) {
            const kiln_array *a = kiln__given_array(arg);
            if (a != NULL) {
                if (a->magic != KILN__ARRAY_MAGIC || a->ctx != op->ctx)
                    return false;
                word = a->layout + ((uintptr_t)a->data & 15);
            } else if (arg->kind == KILN_ARG_ARRAY || arg->value.out == NULL) {
                return false;
            }
        }
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    *hash_out = h;
    return true;
}

static bool same_layout(const kiln__recipe_arg *r, const kiln_array *a)
{
    return r->kind == KILN_ARG_ARRAY && r->layout == a->layout && r->rank == a->rank &&
           r->dtype == (uint8_t)a->dtype && r->align == ((uintptr_t)a->data & 15) &&
           memcmp(r->dims, a->shape, 2 * (size_t)a->rank * sizeof(int64_t)) == 0;
}

static bool same_axes(const kiln__recipe *recipe, const kiln__call *call)
{
    const int count = call->axes != NULL ? call->axes->count : -1;
    return recipe->axes.count == count && recipe->keepdims == call->keepdims &&
           (count <= 0 || memcmp(recipe->axes.axis, call->axes->axis,
                                 (size_t)count * sizeof call->axes->axis[0]) == 0);
}

/* Whether arrays of these layouts lie to each other as the plan took them to. */
static bool same_shifts(const kiln__recipe *recipe, const kiln__call *call)
{
    uintptr_t address[KILN_PARAM_MAX];
    for (size_t p = 0; p < recipe->arg_count; p++) {
        const kiln_array *a = kiln__given_array(&call->args[p]);
        address[p] = a != NULL ? (uintptr_t)a->data : 0;
    }
    return kiln__shifts_hold(recipe->shifts, address, recipe->arg_count);
}

bool kiln__recipe_matches(const void *item, const void *key)
{
    const kiln__recipe *recipe = item;
    const kiln__call *call = key;
    if (recipe->has_size != call->has_size || recipe->size != call->size ||
        !same_axes(recipe, call) || recipe->flags != call->flags)
        return false;
    for (size_t p = 0; p < recipe->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        const kiln_array *a = kiln__given_array(arg);
        if (a != NULL ? !same_layout(&recipe->args[p], a)
                      : recipe->args[p].kind != kiln__scalar_kind(arg))
            return false;
    }
    return recipe->shifts == NULL || same_shifts(recipe, call);
}

bool kiln__recipe_still_fits(const kiln__recipe *recipe, const kiln__call *call)
{
    for (size_t p = 0; p < recipe->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        const kiln_array *a = kiln__given_array(arg);
        if (a != NULL ? recipe->args[p].align != ((uintptr_t)a->data & 15)
                      : recipe->args[p].kind != kiln__scalar_kind(arg))
            return false;
    }
    return recipe->shifts == NULL || same_shifts(recipe, call);
}

/* ---- the recipe --------------------------------------------------------------------------------------- */

void kiln__recipe_destroy(void *recipe)
{
    kiln__free(recipe); /* one allocation holds it all */
}

/* Bytes that an operand touches, relative to its first element. */
static void operand_extent(const kiln__operand *o, int64_t *low, int64_t *high)
{
    *low = 0;
    *high = o->itemsize;
    for (int a = 0; a < o->rank; a++) {
        int64_t reach = (o->shape[a] - 1) * o->strides[a];
        if (o->shape[a] == 0)
            *high = *low = 0;
        else if (reach < 0)
            *low += reach;
        else
            *high += reach;
        if (o->shape[a] == 0)
            return;
    }
}

/* Make a recipe in one allocation: the struct, argument records, dimensions, the argument block,
 * patches and, where addresses decide about the plan, its shifts. */
static kiln__recipe *recipe_alloc(const kiln__definition *d, const kiln__resolved *r,
                                  size_t args_bytes)
{
    size_t dims = 0, args = d->param_count * sizeof(kiln__recipe_arg);
    for (size_t p = 0; p < d->param_count; p++)
        dims += r->array[p] != NULL ? 2 * (size_t)r->array[p]->rank * sizeof(int64_t) : 0;
    const size_t block = (args_bytes + 15) / 16 * 16;
    const size_t patches = 2 * d->param_count * sizeof(kiln__patch);
    const bool has_shifts = r->plan.size > 0 && r->plan.has_shifts;
    const size_t shifts = has_shifts ? d->param_count * sizeof(kiln__shift) : 0;
    kiln__recipe *recipe = kiln__calloc(1, sizeof *recipe + args + dims + block + patches + shifts);
    if (recipe == NULL)
        return NULL;
    char *at = (char *)recipe + sizeof *recipe + args;
    for (size_t p = 0; p < d->param_count; p++) {
        recipe->args[p].dims = (int64_t *)(void *)at;
        at += r->array[p] != NULL ? 2 * (size_t)r->array[p]->rank * sizeof(int64_t) : 0;
    }
    recipe->block = (unsigned char *)at;
    recipe->pointers = (kiln__patch *)(void *)(at + block);
    recipe->scalars = recipe->pointers + d->param_count;
    if (shifts != 0)
        recipe->shifts = memcpy(at + block + patches, r->plan.shifts, shifts);
    recipe->args_bytes = args_bytes;
    return recipe;
}

static void fill_args(kiln__recipe *recipe, const kiln__definition *d, const kiln__call *call,
                      const kiln__resolved *r)
{
    recipe->arg_count = d->param_count;
    for (size_t p = 0; p < d->param_count; p++) {
        kiln__recipe_arg *arg = &recipe->args[p];
        const kiln_array *a = r->array[p];
        arg->kind = a != NULL ? KILN_ARG_ARRAY : kiln__scalar_kind(&call->args[p]);
        arg->dtype = (uint8_t)r->dtype[p];
        arg->output = d->params[p].output;
        arg->raw = r->operand[p].raw;
        arg->row = r->row[p];
        recipe->allocates |= arg->kind == KILN_ARG_OUT;
        recipe->has_output_arrays |= a != NULL && arg->output && !arg->raw;
        if (a == NULL)
            continue;
        arg->rank = (uint8_t)a->rank;
        arg->align = (uint8_t)((uintptr_t)a->data & 15);
        arg->layout = a->layout;
        memcpy((void *)(uintptr_t)arg->dims, a->shape, 2 * (size_t)a->rank * sizeof(int64_t));
        operand_extent(&r->operand[p], &arg->low, &arg->high);
    }
}

/* `report`: what indices out of range are told to. */
static void fill_patches(kiln__recipe *recipe, const kiln__source *source, const int64_t *report)
{
    for (size_t s = 0; s < source->slot_count; s++) {
        const kiln__slot *slot = &source->slots[s];
        const kiln__patch patch = {slot->offset, slot->param, 8};
        if (slot->kind == KILN__SLOT_POINTER || slot->kind == KILN__SLOT_RAW) {
            recipe->pointers[recipe->pointer_count++] = patch;
        } else if (slot->kind == KILN__SLOT_WORD && slot->axis == KILN__WORD_PARTS) {
            recipe->workspace.parts_offset = slot->offset;
        } else if (slot->kind == KILN__SLOT_WORD && slot->axis == KILN__WORD_TICKETS) {
            recipe->workspace.tickets_offset = slot->offset;
        } else if (slot->kind == KILN__SLOT_REPORT) {
            memcpy(recipe->block + slot->offset, &report, sizeof report);
        } else if (slot->kind == KILN__SLOT_SCALAR) {
            recipe->scalars[recipe->scalar_count] = patch;
            recipe->scalars[recipe->scalar_count++].bytes = (uint8_t)slot->bytes;
        }
    }
}

static kiln_status make_recipe(kiln__kernel *op, const kiln__call *call, const kiln__resolved *r,
                               kiln__recipe **out, kiln_error *err)
{
    static const kiln__scalar no_scalars[KILN_PARAM_MAX];
    const kiln__compiled *compiled = NULL;
    int64_t *report = NULL;

    if (call->planned != NULL) {
        call->planned->size = r->plan.size;
        if (r->plan.size > 0)
            call->planned->variant = r->plan.variant;
        *out = NULL;
        return KILN_OK;
    }
    if (r->plan.size > 0) {
        KILN_CHECK(kiln__kernel_compiled(op, &r->plan.variant, &compiled, err));
    }
    if (op->def->reports)
        KILN_CHECK(kiln__device_report(kiln__context_device(op->ctx), &report, err));
    kiln__recipe *recipe =
        recipe_alloc(op->def, r, compiled != NULL ? compiled->source.args_bytes : 0);
    if (recipe == NULL)
        return kiln__fail_memory(err, sizeof *recipe);
    fill_args(recipe, op->def, call, r);
    recipe->axes.count = -1;
    if (call->axes != NULL)
        recipe->axes = *call->axes;
    recipe->keepdims = call->keepdims;
    recipe->flags = call->flags;
    recipe->workspace.part_bytes = (size_t)r->plan.part_count * op->def->family->part_bytes_max;
    recipe->workspace.ticket_count = r->plan.ticket_count;
    recipe->workspace.leaves_marks = r->plan.leaves_marks;
    recipe->has_size = call->has_size;
    recipe->size = call->size;
    recipe->count = r->plan.size;
    recipe->rank = r->rank;
    recipe->row_rank = r->row_rank;
    memcpy(recipe->row_shape, r->row_shape, (size_t)r->row_rank * sizeof r->row_shape[0]);
    memcpy(recipe->shape, r->shape, (size_t)r->rank * sizeof r->shape[0]);
    memcpy(recipe->order, r->order, (size_t)r->rank * sizeof r->order[0]);
    (void)kiln__call_hash(op, call, &recipe->hash);
    if (compiled != NULL) {
        const kiln__variant *v = &r->plan.variant;
        recipe->entry = compiled->entry;
        recipe->lists = v->family->lists ? (uint8_t)kiln__variant_number(v, "lists", 5) : 0;
        recipe->config = (kiln__launch_config){
            .grid_x = r->plan.grid,
            .grid_y = 1,
            .grid_z = 1,
            .block = v->backend == KILN_BACKEND_CPU ? r->plan.units_together : v->block,
            .shared_bytes = r->plan.shared_bytes};
        kiln__args_fill(&compiled->source, &r->plan, r->operand, no_scalars, recipe->block);
        fill_patches(recipe, &compiled->source, report);
    }
    *out = recipe;
    return KILN_OK;
}

static kiln_status make_source(const kiln__kernel *op, const kiln__resolved *r, char **text_out,
                               kiln_error *err)
{
    kiln__source source = KILN__SOURCE_INIT;
    kiln_status status = kiln__emit(op->def, &r->plan.variant, &source, err);
    *text_out = source.text;
    source.text = NULL;
    kiln__source_clear(&source);
    return status;
}

/* The compute capability of a GPU, 90 for 9.0; 0 for others. */
static int capability_of(const kiln_device_info *info)
{
    return info->backend == KILN_BACKEND_CUDA && strncmp(info->target, "sm_", 3) == 0
               ? atoi(info->target + 3)
               : 0;
}

/* Thread block clusters came with compute capability 9.0. */
bool kiln__has_clusters(const kiln_device_info *info)
{
    return capability_of(info) >= 90;
}

/* From 9.0 on a block may have 227 KiB of shared memory; on those of 12.x, 99 KiB. */
kiln__plan_device kiln__plan_device_of(const kiln_device_info *info)
{
    const int capability = capability_of(info);

    return (kiln__plan_device){.backend = info->backend,
                               .units = info->unit_count,
                               .clusters = kiln__has_clusters(info),
                               .large_shared = capability >= 90 && capability < 120};
}

kiln_status kiln__recipe_build(kiln__kernel *op, const kiln__call *call, kiln__recipe **out,
                               char **text_out, kiln_error *err)
{
    const kiln_device_info *info = kiln__device_info(op->device);
    const kiln__plan_device device = kiln__plan_device_of(info);
    kiln_status status = KILN_OK;

    for (size_t p = 0; p < call->arg_count; p++)
        if (call->args[p].kind == KILN_ARG_LIST)
            return KILN__HAS_LISTS;
    kiln__resolved *r = kiln__alloc(sizeof *r); /* too large for a stack */

    if (r == NULL)
        return kiln__fail_memory(err, sizeof *r);
    KILN_TRY(kiln__resolve_arguments(op, call, r, err));
    KILN_TRY(kiln__decide(op->def, call, op->calls, &device, r, err));
    status = out != NULL ? make_recipe(op, call, r, out, err) : make_source(op, r, text_out, err);

done:
    kiln__free(r);
    return status;
}
