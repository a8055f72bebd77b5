/*
 * observer.c - the public functions of observers (kiln/observer.h). They check arguments, keep the
 * context alive, and call src/device and src/observe. Tests: test_observer, test_observer_files.
 */
#include "context/context.h"

struct kiln_observer {
    kiln_context *ctx;   /* counted; NULL: observes all */
    unsigned generation; /* of the process that made it */
    kiln__observer link;
    kiln__ready ready;
};

static bool is_foreign(const kiln_observer *observer)
{
    return observer->generation != kiln__fork_generation();
}

static kiln_status fail_foreign(kiln_error *err)
{
    return kiln__fail(
        err, KILN_ERR_FORK,
        "the observer was made before this process was forked, and stays the parent's");
}

/* Add an observer, which takes `ready` over. */
static kiln_status add(kiln_context *ctx, const kiln__ready *ready, kiln_observer **out,
                       kiln_error *err)
{
    kiln_observer *observer = NULL;
    const kiln_status status = kiln__make_zeroed(&observer, 1, sizeof *observer, err);

    if (status != KILN_OK) {
        if (ready->destroy != NULL)
            ready->destroy(ready->state);
        return status;
    }
    observer->ctx = kiln_context_retain(ctx);
    observer->generation = kiln__fork_generation();
    observer->ready = *ready;
    observer->link = (kiln__observer){
        .device = ctx != NULL ? kiln__context_device(ctx) : NULL,
        .kinds = ready->kinds,
        .fn = ready->see,
        .user = ready->state,
    };
    kiln__observer_add(&observer->link);
    *out = observer;
    return KILN_OK;
}

static kiln_status check_context(const kiln_context *ctx, kiln_error *err)
{
    return ctx != NULL ? kiln__context_check(ctx, err) : KILN_OK;
}

kiln_status kiln_observer_create(kiln_context *ctx, uint32_t kinds, kiln_observe_fn fn, void *user,
                                 kiln_observer **out, kiln_error *err)
{
    const kiln__ready ready = {
        .state = user, .kinds = kinds != 0 ? kinds : KILN_OBSERVE_ALL, .see = fn};

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(fn, err);
    if ((kinds & ~KILN_OBSERVE_ALL) != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "0x%x names kinds that there are not",
                          (unsigned)(kinds & ~KILN_OBSERVE_ALL));
    KILN_CHECK(check_context(ctx, err));
    return add(ctx, &ready, out, err);
}

kiln_status kiln_observer_create_table(kiln_context *ctx, kiln_table_by by, kiln_observer **out,
                                       kiln_error *err)
{
    kiln__ready ready;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(check_context(ctx, err));
    KILN_CHECK(kiln__table_create(by, &ready, err));
    return add(ctx, &ready, out, err);
}

kiln_status kiln_observer_create_csv(kiln_context *ctx, const char *path, kiln_observer **out,
                                     kiln_error *err)
{
    kiln__ready ready;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(path, err);
    KILN_CHECK(check_context(ctx, err));
    KILN_CHECK(kiln__csv_create(path, &ready, err));
    return add(ctx, &ready, out, err);
}

kiln_status kiln_observer_create_trace(kiln_context *ctx, const char *path, kiln_observer **out,
                                       kiln_error *err)
{
    kiln__ready ready;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(path, err);
    KILN_CHECK(check_context(ctx, err));
    KILN_CHECK(kiln__trace_create(path, true, &ready, err));
    return add(ctx, &ready, out, err);
}

kiln_status kiln_observer_to_string(kiln_observer *observer, char **text_out, kiln_error *err)
{
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(text_out, err);
    *text_out = NULL;
    KILN_CHECK_NULL(observer, err);
    if (is_foreign(observer))
        return fail_foreign(err);
    if (observer->ready.text == NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the observer is no table and has no text");
    if (!kiln__observers_hold())
        return kiln__fail(err, KILN_ERR_ARGUMENT, "an observer's function may not call kiln");
    status = observer->ready.text(observer->ready.state, text_out, err);
    kiln__observers_release();
    return status;
}

kiln_status kiln_observer_flush(kiln_observer *observer, kiln_error *err)
{
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(observer, err);
    if (is_foreign(observer))
        return fail_foreign(err);
    kiln__runs_report(observer->link.device, false);
    if (!kiln__observers_hold())
        return kiln__fail(err, KILN_ERR_ARGUMENT, "an observer's function may not call kiln");
    if (observer->ready.flush != NULL)
        status = observer->ready.flush(observer->ready.state, err);
    kiln__observers_release();
    return status;
}

void kiln_observer_destroy(kiln_observer *observer)
{
    if (observer == NULL || is_foreign(observer))
        return;
    if ((observer->link.kinds & KILN_OBSERVE(KILN_OBSERVED_RUN)) != 0)
        kiln__runs_report(observer->link.device, true);
    kiln__observer_remove(&observer->link);
    if (observer->ready.flush != NULL)
        (void)observer->ready.flush(observer->ready.state, NULL);
    if (observer->ready.destroy != NULL)
        observer->ready.destroy(observer->ready.state);
    kiln_context_release(observer->ctx);
    kiln__free(observer);
}
