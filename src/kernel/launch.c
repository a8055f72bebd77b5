/*
 * launch.c - prepared launches: a call with everything done but the driver's own work.
 *
 * A prepared launch holds its arrays and a filled argument block; running it is one call of
 * kiln__launch. What a split reduction needs for its parts is taken from the pool at each run, into
 * a copy of the block: several threads and streams may run one launch at once. Copies of overlapping inputs cannot be prepared (they would have to be made anew
 * at each run), so such arguments are refused.
 */
#include "kernel/kernel.h"

#define LAUNCH_MAGIC 0x6c61u
#define LAUNCH_DEAD 0xdeadu

struct kiln_launch {
    uint32_t magic;
    kiln_context *ctx; /* counted */
    kiln__device *device;
    kiln_stream *stream;
    void *entry;
    kiln__launch_config config;
    kiln__workspace_need workspace;
    size_t args_bytes, array_count;
    kiln_array *arrays[KILN_PARAM_MAX]; /* counted; NULL for scalars */
    bool foreign; /* some array's home is not `stream`: uses must be noted at each run */
    kiln_launch **parts; /* a chain: launches that run one after the other, and nothing else */
    size_t part_count;
    kiln__launch_task task; /* where set: who does the launch, and nothing else is */
    _Alignas(16) unsigned char block[];
};

static void hold_arrays(kiln_launch *launch, const kiln__recipe *recipe, const kiln__bound *bound)
{
    launch->array_count = recipe->arg_count;
    for (size_t p = 0; p < recipe->arg_count; p++) {
        launch->arrays[p] = kiln_array_retain(bound->array[p]);
        launch->foreign |= bound->array[p] != NULL && bound->array[p]->storage->home != launch->stream;
    }
}

static kiln_status prepare(kiln__kernel *op, const kiln__recipe *recipe,
                           const kiln__call *call, kiln__bound *bound, kiln_launch **out,
                           kiln_error *err)
{
    kiln_status status = KILN_OK;
    bool copy[KILN_PARAM_MAX] = {false}, any_copy = false;
    kiln_launch *launch = NULL;
    KILN_CHECK(kiln__make_zeroed(&launch, 1, sizeof *launch + recipe->args_bytes, err));
    launch->magic = LAUNCH_MAGIC;
    launch->ctx = kiln_context_retain(op->ctx);
    launch->device = op->device;
    launch->stream = call->stream;
    launch->entry = recipe->entry;
    launch->config = recipe->config;
    launch->args_bytes = recipe->args_bytes;
    launch->workspace = recipe->workspace;
    if (recipe->count > 0) {
        KILN_TRY(kiln__overlap_check(op, recipe, bound, copy, &any_copy, err));
        if (any_copy) {
            status = kiln__fail(err, KILN_ERR_OVERLAP,
                                "kernel \"%s\": an input overlaps an output, and a prepared launch "
                                "cannot copy it first; make the call itself",
                                op->def->name);
            goto done;
        }
        KILN_TRY(kiln__block_fill(op, recipe, call, bound, launch->block, err));
    }
    hold_arrays(launch, recipe, bound);
    *out = launch;
    launch = NULL;

done:
    kiln_launch_destroy(launch);
    return status;
}

kiln_status kiln__kernel_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                 kiln_error *err)
{
    kiln_status status = KILN_OK;
    const kiln__recipe *recipe = NULL;
    kiln__recipe *owned = NULL;
    kiln__bound bound;

    KILN_TRY(kiln__recipe_get(op, call, &recipe, &owned, err));
    KILN_TRY(kiln__bind_arrays(op, recipe, call, &bound, err));
    status = prepare(op, recipe, call, &bound, out, err);
    if (status == KILN_OK)
        kiln__bound_deliver(recipe, call, &bound);
    else
        kiln__bound_drop(recipe, &bound);

done:
    kiln__recipe_destroy(owned);
    return status;
}

kiln_status kiln__launch_chain(kiln_context *ctx, kiln_launch **parts, size_t count,
                               kiln_launch **out, kiln_error *err)
{
    KILN_CHECK(kiln__make_zeroed(out, 1, sizeof **out, err));
    (*out)->magic = LAUNCH_MAGIC;
    (*out)->ctx = kiln_context_retain(ctx);
    (*out)->parts = parts;
    (*out)->part_count = count;
    return KILN_OK;
}

kiln_status kiln__launch_custom(kiln_context *ctx, kiln_stream *stream,
                                const kiln__launch_task *task, kiln_launch **out, kiln_error *err)
{
    KILN_CHECK(kiln__make_zeroed(out, 1, sizeof **out, err));
    (*out)->magic = LAUNCH_MAGIC;
    (*out)->ctx = kiln_context_retain(ctx);
    (*out)->stream = stream;
    (*out)->task = *task;
    return KILN_OK;
}

static kiln_status run_with_workspace(const kiln_launch *launch, kiln_stream *stream,
                                      kiln_error *err)
{
    kiln__block *workspace = NULL;
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];

    memcpy(block, launch->block, launch->args_bytes);
    kiln_status status = kiln__workspace_make(launch->device, &launch->workspace, stream, block,
                                              &workspace, err);
    if (status == KILN_OK)
        status = kiln__launch(launch->device, launch->entry, &launch->config, block,
                              launch->args_bytes, stream, err);
    kiln__pool_free(launch->device, workspace, NULL, 0);
    return status;
}

kiln_status kiln_launch_run(kiln_launch *launch, kiln_stream *stream, kiln_error *err)
{
    KILN_CHECK_NULL(launch, err);
    if (launch->magic != LAUNCH_MAGIC)
        return kiln__context_released("prepared launch", err);
    KILN_CHECK(kiln__context_check(launch->ctx, err));
    if (launch->parts != NULL) {
        for (size_t k = 0; k < launch->part_count; k++)
            KILN_CHECK(kiln_launch_run(launch->parts[k], stream, err));
        return KILN_OK;
    }
    kiln_stream *on = kiln__stream_current(launch->stream);
    if (stream != NULL && stream != on)
        KILN_CHECK(kiln__context_stream(launch->ctx, stream, &on, err));
    if (launch->task.run != NULL)
        return launch->task.run(launch->task.state, on, err);
    const kiln_status status =
        launch->workspace.ticket_count > 0
            ? run_with_workspace(launch, on, err)
            : kiln__launch(launch->device, launch->entry, &launch->config, launch->block,
                           launch->args_bytes, on, err);
    if (status == KILN_OK && (launch->foreign || on != launch->stream))
        for (size_t p = 0; p < launch->array_count; p++)
            if (launch->arrays[p] != NULL && launch->arrays[p]->storage->home != on)
                kiln__storage_used_on(launch->arrays[p]->storage, on);
    return status;
}

void kiln_launch_destroy(kiln_launch *launch)
{
    if (launch == NULL || launch->magic != LAUNCH_MAGIC || kiln__context_forked(launch->ctx))
        return;
    launch->magic = LAUNCH_DEAD;
    for (size_t k = 0; k < launch->part_count; k++)
        kiln_launch_destroy(launch->parts[k]);
    kiln__free(launch->parts);
    if (launch->task.destroy != NULL)
        launch->task.destroy(launch->task.state);
    for (size_t p = 0; p < launch->array_count; p++)
        kiln_array_release(launch->arrays[p]);
    kiln_context *const ctx = launch->ctx;
    kiln__context_bury(ctx, launch, NULL);
    kiln_context_release(ctx);
}
