/*
 * watch.c - who is told of what happens.
 *
 *     runs.c pool_watch.c jit -> [kiln__watch_tell] -> the observers' functions
 *
 * Observers are the process's, not a device's: labels belong to threads, and a timeline shows all
 * devices. One word says which kinds anybody observes; whoever has something to tell looks at it first
 * and does nothing else while nobody listens.
 *
 * Rule 1: observers are called one at a time, under a lock that comes after all others of kiln. An
 *         observer that calls kiln is not told of what that does.
 * Rule 2: a forked child has no observers: what they write to is the parent's.
 */
#include "device/watch.h"
#include "device/label.h"

_Atomic(uint32_t) kiln__watched;

static kiln__process_lock lock = KILN__PROCESS_LOCK_INIT;
static kiln__observer *observers;
static unsigned generation;       /* of the process whose observers they are */
static _Thread_local bool inside; /* an observer's function */

static void forget_those_of_the_parent(void)
{
    if (generation == kiln__fork_generation())
        return;
    observers = NULL;
    generation = kiln__fork_generation();
    atomic_fetch_and(&kiln__watched, KILN__LABELLED);
}

bool kiln__observers_hold(void)
{
    if (inside)
        return false;
    kiln__process_lock_take(&lock);
    forget_those_of_the_parent();
    inside = true;
    return true;
}

void kiln__observers_release(void)
{
    inside = false;
    kiln__process_lock_give(&lock);
}

/* ---- who observes ---- */

static void count_kinds(void)
{
    uint32_t kinds = atomic_load(&kiln__watched) & KILN__LABELLED;

    for (const kiln__observer *o = observers; o != NULL; o = o->next)
        kinds |= o->kinds;
    atomic_store(&kiln__watched, kinds);
}

void kiln__observer_add(kiln__observer *observer)
{
    if (!kiln__observers_hold())
        return;
    observer->next = observers;
    observers = observer;
    count_kinds();
    kiln__observers_release();
}

void kiln__observer_remove(kiln__observer *observer)
{
    if (!kiln__observers_hold())
        return;
    for (kiln__observer **at = &observers; *at != NULL; at = &(*at)->next)
        if (*at == observer) {
            *at = observer->next;
            break;
        }
    count_kinds();
    kiln__observers_release();
}

/* ---- telling ---- */

void kiln__watch_fill(const kiln__device *device, kiln_observation *what)
{
    what->struct_size = sizeof *what;
    what->thread = kiln__thread_id();
    if (what->scope == NULL)
        what->scope = kiln__scope_current();
    if (what->kernel == NULL)
        what->kernel = kiln__scope_kernel();
    if (device == NULL)
        return;
    what->device = device->info.id;
    what->context = device->stream != NULL ? device->stream->owner : NULL;
}

void kiln__watch_tell_held(const kiln__device *device, const kiln_observation *what)
{
    for (const kiln__observer *o = observers; o != NULL; o = o->next)
        if ((o->kinds & KILN_OBSERVE(what->kind)) != 0 &&
            (device == NULL || o->device == NULL || o->device == device))
            o->fn(o->user, what);
}

void kiln__watch_tell(const kiln__device *device, kiln_observation *what)
{
    if (!kiln__is_watched(KILN_OBSERVE(what->kind)))
        return;
    kiln__watch_fill(device, what);
    if (!kiln__observers_hold())
        return;
    kiln__watch_tell_held(device, what);
    kiln__observers_release();
}

/* ---- calls of kernels ---- */

void kiln__call_begin(const kiln__device *device, const char *kernel, const char **before_out)
{
    kiln_observation what = {.kind = KILN_OBSERVED_CALL_BEGIN};

    *before_out = kiln__scope_set_kernel(kernel);
    what.begin_us = what.end_us = kiln__now_us();
    kiln__watch_tell(device, &what);
}

void kiln__call_end(const kiln__device *device, const char *before, kiln_status status)
{
    kiln_observation what = {.kind = KILN_OBSERVED_CALL_END, .status = status};

    what.begin_us = what.end_us = kiln__now_us();
    kiln__watch_tell(device, &what);
    (void)kiln__scope_set_kernel(before);
}

/* ---- scopes ---- */

static void tell_of_scope(kiln_observed kind, const kiln_scope *scope)
{
    kiln_observation what = {.kind = kind, .scope = scope};

    what.begin_us = what.end_us = kiln__now_us();
    kiln__watch_tell(NULL, &what);
}

void kiln_scope_push_at(const char *label, const char *file, int line)
{
    kiln__scope_enter(label, file, line);
    if ((atomic_load_explicit(&kiln__watched, memory_order_relaxed) & KILN__LABELLED) == 0)
        atomic_fetch_or(&kiln__watched, KILN__LABELLED);
    if (kiln__is_watched(KILN_OBSERVE(KILN_OBSERVED_SCOPE_BEGIN)))
        tell_of_scope(KILN_OBSERVED_SCOPE_BEGIN, kiln__scope_current());
}

void kiln_scope_push(const char *label)
{
    kiln_scope_push_at(label, NULL, 0);
}

void kiln_scope_pop(void)
{
    kiln_scope left;

    if (kiln__scope_leave(&left) && kiln__is_watched(KILN_OBSERVE(KILN_OBSERVED_SCOPE_END)))
        tell_of_scope(KILN_OBSERVED_SCOPE_END, &left);
}
