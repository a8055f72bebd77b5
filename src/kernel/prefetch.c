/*
 * prefetch.c - kernels that worker threads of the context compile ahead (kiln/prefetch.h).
 *
 *     call > [plan, on the caller's thread] > queue > [emit > jit, on a worker] > handle
 *
 * call.c, lists.c and src/graph call this file. A prefetch holds a definition and a variant, and
 * nothing of the call: its arrays and its kernel may be released. A worker puts the compiled kernel
 * into the context's programs, where the later call finds it by its key.
 *
 * Rule 1: neither workers nor handles keep the context alive: it ends when its users release it,
 *         and then stops the workers. A handle outlives the context and knows how it ended.
 * Rule 2: a handle's state changes under its own lock, and only forward: QUEUED, RUNNING, DONE.
 * Rule 3: locks nest in one order, the crew's before a handle's.
 *
 * Test: test_prefetch.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "kernel/kernel.h"

/* Most workers: more compilers at once than that gain nothing but heat. */
enum { WORKERS_MAX = 64 };

enum { QUEUED, RUNNING, DONE };

struct kiln_prefetch {
    /* Of several kernels: their handles, and of what follows only `refs`, which is the caller's. */
    kiln_prefetch **parts;
    size_t part_count;
    atomic_uint refs; /* the caller's, and the crew's until it is done */
    atomic_int state;
    atomic_bool cancel;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    kiln__definition *def; /* counted */
    kiln__variant variant;
    unsigned forks;   /* fork generation that its worker lives in */
    kiln_error error; /* once DONE */
    kiln_prefetch *next;
};

/* The workers of a context, and what waits for them. */
typedef struct crew {
    kiln_context *ctx; /* not counted */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    kiln_prefetch *first, **last;
    kiln_prefetch *running[WORKERS_MAX];
    pthread_t thread[WORKERS_MAX];
    int threads, threads_max, idle;
    bool stopping;
} crew;

/* ---- handles ----------------------------------------------------------------------------------- */

static kiln_prefetch *make_handle(kiln__definition *def, const kiln__variant *variant)
{
    kiln_prefetch *p = kiln__calloc(1, sizeof *p);
    pthread_condattr_t attributes;

    if (p == NULL)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    atomic_init(&p->refs, 2);
    p->def = kiln__definition_retain(def);
    p->variant = *variant;
    p->forks = kiln__fork_generation();
    return p;
}

static void drop(kiln_prefetch *p)
{
    if (atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    if (p->parts != NULL) {
        for (size_t k = 0; k < p->part_count; k++)
            drop(p->parts[k]);
        kiln__free(p->parts);
        kiln__free(p);
        return;
    }
    kiln__definition_destroy(p->def);
    kiln_error_clear(&p->error);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    kiln__free(p);
}

/* The one way to DONE. The handle's lock is held. */
static void finish(kiln_prefetch *p, kiln_status status, const kiln_error *err)
{
    if (status == KILN_ERR_CANCELLED)
        (void)kiln__fail(&p->error, status, "kernel \"%s\": the compilation was cancelled",
                         p->def->name);
    else if (status != KILN_OK)
        (void)kiln__error_copy(&p->error, err);
    atomic_store(&p->state, DONE);
    pthread_cond_broadcast(&p->changed);
}

void kiln_prefetch_cancel(kiln_prefetch *p)
{
    for (size_t k = 0; p != NULL && k < p->part_count; k++)
        kiln_prefetch_cancel(p->parts[k]);
    if (p == NULL || p->parts != NULL || p->forks != kiln__fork_generation())
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->cancel, true);
    if (atomic_load(&p->state) == QUEUED) /* the crew drops it when it gets there */
        finish(p, KILN_ERR_CANCELLED, NULL);
    pthread_mutex_unlock(&p->lock);
}

/* Parts are looked at in their order, as they are waited for: what is behind one that has failed does
 * not matter. */
bool kiln_prefetch_done(const kiln_prefetch *p)
{
    for (size_t k = 0; p != NULL && k < p->part_count; k++) {
        if (!kiln_prefetch_done(p->parts[k]))
            return false;
        if (p->parts[k]->error.status != KILN_OK)
            return true;
    }
    return p == NULL || p->parts != NULL || atomic_load(&p->state) == DONE;
}

static struct timespec deadline(int64_t timeout_ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    if (timeout_ms > INT64_C(1000) * 60 * 60 * 24 * 365)
        timeout_ms = INT64_C(1000) * 60 * 60 * 24 * 365;
    t.tv_sec += timeout_ms / 1000;
    t.tv_nsec += timeout_ms % 1000 * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Wait for one kernel; `until` counts where timeout_ms is 0 or more. */
static kiln_status wait_for(kiln_prefetch *p, int64_t timeout_ms, const struct timespec *until,
                            kiln_error *err)
{
    kiln_status status = KILN_OK;
    int why = 0;

    if (!kiln_prefetch_done(p) && p->forks != kiln__fork_generation())
        return kiln__fail(err, KILN_ERR_FORK, "kernel \"%s\" is compiled by a thread of the process "
                          "that this one was forked from", p->def->name);
    if (p->forks != kiln__fork_generation()) /* nobody changes it any more; its lock may be held */
        return p->error.status != KILN_OK ? kiln__error_copy(err, &p->error) : KILN_OK;
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->state) != DONE && why == 0)
        why = timeout_ms < 0 ? pthread_cond_wait(&p->changed, &p->lock)
                             : pthread_cond_timedwait(&p->changed, &p->lock, until);
    if (atomic_load(&p->state) != DONE)
        status = kiln__fail(err, KILN_ERR_TIMEOUT, "kernel \"%s\" is not compiled after %lld ms",
                            p->def->name, (long long)timeout_ms);
    else if (p->error.status != KILN_OK)
        status = kiln__error_copy(err, &p->error);
    pthread_mutex_unlock(&p->lock);
    return status;
}

kiln_status kiln_prefetch_wait(kiln_prefetch *p, int64_t timeout_ms, kiln_error *err)
{
    const struct timespec until = timeout_ms >= 0 ? deadline(timeout_ms) : (struct timespec){0, 0};
    kiln_status status = KILN_OK;

    if (p == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_prefetch_wait: `prefetch` is NULL");
    if (p->parts == NULL)
        return wait_for(p, timeout_ms, &until, err);
    for (size_t k = 0; k < p->part_count && status == KILN_OK; k++)
        status = wait_for(p->parts[k], timeout_ms, &until, err);
    return status;
}

kiln_status kiln__prefetch_join(kiln_prefetch *const *parts, size_t count, kiln_prefetch **out,
                                kiln_error *err)
{
    kiln_prefetch *p = kiln__calloc(1, sizeof *p);

    *out = NULL;
    if (p != NULL)
        p->parts = kiln__calloc(count + 1, sizeof(kiln_prefetch *));
    if (p == NULL || p->parts == NULL) {
        kiln__free(p);
        return kiln__fail_memory(err, count * sizeof(kiln_prefetch *));
    }
    memcpy(p->parts, parts, count * sizeof(kiln_prefetch *));
    p->part_count = count;
    p->forks = kiln__fork_generation();
    atomic_init(&p->refs, 1);
    *out = p;
    return KILN_OK;
}

void kiln_prefetch_destroy(kiln_prefetch *p)
{
    if (p != NULL && p->forks == kiln__fork_generation())
        drop(p);
}

/* ---- workers ----------------------------------------------------------------------------------- */

static kiln_status compile(kiln_context *ctx, kiln_prefetch *p, kiln_error *err)
{
    kiln__source source = KILN__SOURCE_INIT;
    void *entry = NULL;
    kiln_status status = KILN_OK;

    if (atomic_load(&p->cancel)) {
        status = KILN_ERR_CANCELLED;
        goto done;
    }
    KILN_TRY(kiln__emit(p->def, &p->variant, &source, err));
    KILN_TRY(kiln__jit_entry_unless(ctx, p->def, &source, &p->cancel, &entry, err));
    KILN_TRY(kiln__record_variant(ctx, p->def, &p->variant, err));

done:
    kiln__source_clear(&source);
    return status;
}

/* The crew's lock is held, and given up while compiling. */
static void run_first(crew *c, int place)
{
    kiln_prefetch *p = c->first;
    kiln_error err = KILN_ERROR_INIT;

    c->first = p->next;
    if (c->first == NULL)
        c->last = &c->first;
    c->running[place] = p;
    pthread_mutex_unlock(&c->lock);

    pthread_mutex_lock(&p->lock);
    bool mine = atomic_load(&p->state) == QUEUED; /* else it was cancelled */
    if (mine)
        atomic_store(&p->state, RUNNING);
    pthread_mutex_unlock(&p->lock);
    if (mine) {
        const kiln_status status = compile(c->ctx, p, &err);
        pthread_mutex_lock(&p->lock);
        finish(p, status, &err);
        pthread_mutex_unlock(&p->lock);
    }
    kiln_error_clear(&err);

    pthread_mutex_lock(&c->lock);
    c->running[place] = NULL;
    drop(p);
}

typedef struct start {
    crew *crew;
    int place;
} start;

static void *work(void *argument)
{
    start s = *(start *)argument;
    crew *c = s.crew;

    kiln__free(argument);
    pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        if (c->first != NULL) {
            run_first(c, s.place);
            continue;
        }
        c->idle++;
        pthread_cond_wait(&c->changed, &c->lock);
        c->idle--;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* One more worker; the crew's lock is held. */
static bool hire(crew *c)
{
    start *s = kiln__alloc(sizeof *s);
    sigset_t all, before;

    if (s == NULL)
        return false;
    *s = (start){c, c->threads};
    /* Signals are the program's own business. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int why = pthread_create(&c->thread[c->threads], NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why != 0)
        kiln__free(s);
    c->threads += why == 0;
    return why == 0;
}

/* ---- crews ------------------------------------------------------------------------------------- */

static void *crew_make(kiln_context *ctx)
{
    crew *c = kiln__calloc(1, sizeof *c);
    const int cores = kiln__cpu_core_count();

    if (c == NULL)
        return NULL;
    c->ctx = ctx;
    c->last = &c->first;
    c->threads_max = cores < WORKERS_MAX ? cores : WORKERS_MAX;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    return c;
}

/* Cancel everything, wait for the workers, free. */
static void crew_destroy(void *state)
{
    crew *c = state;

    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    for (kiln_prefetch *p = c->first; p != NULL; p = p->next)
        kiln_prefetch_cancel(p);
    for (int k = 0; k < c->threads; k++)
        kiln_prefetch_cancel(c->running[k]);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    for (int k = 0; k < c->threads; k++)
        pthread_join(c->thread[k], NULL);
    while (c->first != NULL) {
        kiln_prefetch *p = c->first;
        c->first = p->next;
        drop(p);
    }
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    kiln__free(c);
}

/* Put a handle into the queue, which takes a reference over. */
static kiln_status enqueue(crew *c, kiln_prefetch *p, kiln_error *err)
{
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&c->lock);
    if (c->idle == 0 && c->threads < c->threads_max && !hire(c) && c->threads == 0) {
        status = kiln__fail(err, KILN_ERR_NO_MEMORY, "no thread can be started");
    } else {
        *c->last = p;
        c->last = &p->next;
        pthread_cond_signal(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

kiln_status kiln__kernel_prefetch(kiln__kernel *op, const kiln__call *call, kiln_prefetch **out,
                                  kiln_error *err)
{
    kiln__recipe *none = NULL;
    kiln__planned planned = {.size = 0};
    kiln__call plan = *call;

    if (out != NULL)
        *out = NULL;
    plan.planned = &planned;
    KILN_CHECK(kiln__device_check(op->device, err));
    KILN_CHECK(kiln__recipe_build(op, &plan, &none, NULL, err));
    return kiln__variant_prefetch(op, &planned, out, err);
}

kiln_status kiln__variant_prefetch(kiln__kernel *op, const kiln__planned *planned,
                                   kiln_prefetch **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    void *state = NULL;

    if (out != NULL)
        *out = NULL;
    KILN_TRY(kiln__context_attachment(op->ctx, KILN__ATTACH_PREFETCH, crew_make, crew_destroy,
                                      &state, err));
    kiln_prefetch *p = make_handle(op->def, &planned->variant);
    if (p == NULL) {
        status = kiln__fail_memory(err, sizeof *p);
        goto done;
    }
    if (planned->size == 0) { /* nothing will be launched */
        finish(p, KILN_OK, NULL);
        drop(p);
    } else {
        status = enqueue(state, p, err);
        if (status != KILN_OK)
            drop(p);
    }
    if (status == KILN_OK && out != NULL)
        *out = p;
    else
        drop(p);

done:
    return status;
}
