/*
 * team.c - the threads that run kernels: one team a device, any number of jobs at once.
 *
 *     launch > job { parts: [first ........ end) } > threads take pieces of parts > all done
 *
 * A job's units are cut into one contiguous part per thread, and a thread begins with the part of
 * its own number: equal launches put equal addresses on equal threads, which keeps memory near its
 * core and streams long. A part is taken in pieces through one atomic counter; a thread that has
 * finished its own part takes pieces of the others', so that a slow core does not delay the job.
 *
 * Rule 1: the caller works too, and can finish the job alone. Threads that come late, or could
 *         not be started, cost time and never correctness.
 * Rule 2: a job lives on its caller's stack. A thread joins it under the lock while it is listed
 *         and counts itself in `helpers`; the caller delists it and waits for that to reach 0.
 *         Having counted itself out, a thread does not touch the job again.
 * Rule 3: threads are started by the first job that is large enough; a context that only runs small
 *         kernels has none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

#define THREADS_MAX 1024
/* With more threads than that, several begin with one part. Bounds what a job takes of a stack. */
#define PARTS_MAX 64
/* Pieces of a part. More of them balance the load better, fewer access the counter less often. */
#define PIECES_A_PART 8
/* How long a thread spins before it sleeps: about as long as waking it takes. A pause instruction
 * takes 10 to 140 cycles, depending on the processor, so the clock decides. */
#define SPIN_US 20.0
#define PAUSES_A_LOOK 16

typedef struct part {
    _Alignas(64) atomic_int_least64_t next; /* first unit nobody has taken */
    int64_t end;
} part;

typedef struct job {
    struct job *next_job;
    kiln__cpu_entry entry;
    const void *args;
    int64_t piece; /* units taken at once */
    int part_count;
    int wanted;         /* helpers that may still join; under the lock */
    atomic_int helpers; /* threads at work besides the caller */
    part parts[PARTS_MAX];
} job;

struct kiln__team {
    int threads; /* the caller counted */
    bool spins;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* something was listed, or the team stops */
    pthread_cond_t ended; /* some job lost its last helper */
    /* Under the lock, but for `posted`, which a looking thread reads without. */
    atomic_uint posted; /* how many jobs have been listed so far */
    job *jobs;
    int sleeping;
    bool started, stopping;
    int running; /* threads that were started */
    pthread_t *handles;
};

typedef struct worker {
    kiln__team *team;
    int number;
} worker;

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- doing ---- */

/* Take pieces, of part `first` and then of the others, until none is left. */
static void work_on(job *j, int first)
{
    for (int k = 0; k < j->part_count; k++) {
        part *p = &j->parts[(first + k) % j->part_count];
        /* Reading the counter first keeps many threads from increasing it far beyond the end. */
        while (atomic_load_explicit(&p->next, memory_order_relaxed) < p->end) {
            int64_t begin = atomic_fetch_add_explicit(&p->next, j->piece, memory_order_relaxed);
            int64_t left = p->end - begin;
            if (left <= 0)
                break;
            j->entry(j->args, begin, begin + (left < j->piece ? left : j->piece));
        }
    }
}

/* ---- threads ---- */

/* A listed job that wants another helper; under the lock. */
static job *pick(kiln__team *team)
{
    for (job *j = team->jobs; j != NULL; j = j->next_job)
        if (j->wanted > 0) {
            j->wanted--;
            atomic_fetch_add_explicit(&j->helpers, 1, memory_order_relaxed);
            return j;
        }
    return NULL;
}

/* Look for a while whether more than `seen` jobs have been listed. */
static bool spin_for_work(const kiln__team *team, unsigned seen)
{
    const double end = kiln__now_us() + SPIN_US;

    while (team->spins && kiln__now_us() < end)
        for (int k = 0; k < PAUSES_A_LOOK; k++) {
            if (atomic_load_explicit(&team->posted, memory_order_relaxed) != seen)
                return true;
            relax();
        }
    return false;
}

/* Look for a while whether all helpers have left. */
static bool spin_for_helpers(const kiln__team *team, const job *j)
{
    const double end = kiln__now_us() + SPIN_US;

    do {
        for (int k = 0; k < PAUSES_A_LOOK; k++) {
            if (atomic_load_explicit(&j->helpers, memory_order_acquire) == 0)
                return true;
            relax();
        }
    } while (team->spins && kiln__now_us() < end);
    return false;
}

/* The next job to help with, joined; NULL when the team stops. Called and left with the lock. */
static job *wait_for_job(kiln__team *team)
{
    for (;;) {
        unsigned seen = atomic_load_explicit(&team->posted, memory_order_relaxed);
        job *j = team->stopping ? NULL : pick(team);

        if (j != NULL || team->stopping)
            return j;
        pthread_mutex_unlock(&team->lock);
        if (spin_for_work(team, seen)) {
            pthread_mutex_lock(&team->lock);
            continue;
        }
        pthread_mutex_lock(&team->lock);
        if (team->stopping || atomic_load_explicit(&team->posted, memory_order_relaxed) != seen)
            continue;
        team->sleeping++;
        pthread_cond_wait(&team->work, &team->lock);
        team->sleeping--;
    }
}

static void *run_thread(void *given)
{
    worker me = *(worker *)given;
    kiln__team *team = me.team;
    char name[16];

    kiln__free(given);
    snprintf(name, sizeof name, "kiln-%d", me.number);
    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&team->lock);
    for (job *j = wait_for_job(team); j != NULL; j = wait_for_job(team)) {
        pthread_mutex_unlock(&team->lock);
        work_on(j, me.number);
        /* Release: the caller must see what this thread wrote when it sees the count fall. */
        bool last = atomic_fetch_sub_explicit(&j->helpers, 1, memory_order_acq_rel) == 1;
        pthread_mutex_lock(&team->lock);
        if (last)
            pthread_cond_broadcast(&team->ended);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static const int own_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF};

/* Start the threads; under the lock. As many as the system gives are enough. */
static void start_threads(kiln__team *team)
{
    sigset_t all, before;

    team->started = true;
    team->handles = kiln__alloc((size_t)team->threads * sizeof *team->handles);
    if (team->handles == NULL)
        return;
    /* The host's signals are the host's threads' business - but for those that a kernel's own
     * mistake raises, which must reach the host's handlers, and the profiler's clock. */
    sigfillset(&all);
    for (size_t k = 0; k < KILN_COUNT_OF(own_signals); k++)
        sigdelset(&all, own_signals[k]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int number = 1; number < team->threads; number++) {
        worker *given = kiln__alloc(sizeof *given);
        if (given == NULL)
            break;
        *given = (worker){team, number};
        if (pthread_create(&team->handles[team->running], NULL, run_thread, given) != 0) {
            kiln__free(given);
            break;
        }
        team->running++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- jobs ---- */

/* Cut [0, units) into contiguous parts of whole groups of `together` units. */
static void cut(job *j, int64_t units, int64_t together, int parts_most)
{
    int64_t groups = units / together + (units % together != 0);
    int64_t parts = groups < parts_most ? groups : parts_most;
    int64_t each = groups / parts, more = groups % parts, group = 0;

    j->part_count = (int)parts;
    j->piece = (each / PIECES_A_PART + (each < PIECES_A_PART)) * together;
    for (int64_t k = 0; k < parts; k++) {
        atomic_init(&j->parts[k].next, group * together);
        group += each + (k < more);
        j->parts[k].end = k == parts - 1 ? units : group * together;
    }
}

static void list_job(kiln__team *team, job *j)
{
    pthread_mutex_lock(&team->lock);
    if (!team->started)
        start_threads(team);
    if (j->wanted > team->running)
        j->wanted = team->running;
    j->next_job = team->jobs;
    team->jobs = j;
    atomic_fetch_add_explicit(&team->posted, 1, memory_order_relaxed);
    int asleep = team->sleeping;
    if (j->wanted >= asleep && asleep > 0)
        pthread_cond_broadcast(&team->work);
    else
        for (int k = 0; k < j->wanted && k < asleep; k++)
            pthread_cond_signal(&team->work);
    pthread_mutex_unlock(&team->lock);
}

/* Take the job off the list and wait for those who still work on it. */
static void finish_job(kiln__team *team, job *j)
{
    pthread_mutex_lock(&team->lock);
    for (job **at = &team->jobs; *at != NULL; at = &(*at)->next_job)
        if (*at == j) {
            *at = j->next_job;
            break;
        }
    pthread_mutex_unlock(&team->lock);
    if (spin_for_helpers(team, j))
        return;
    pthread_mutex_lock(&team->lock);
    while (atomic_load_explicit(&j->helpers, memory_order_acquire) != 0)
        pthread_cond_wait(&team->ended, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void kiln__team_run(kiln__team *team, kiln__cpu_entry entry, const void *args, int64_t units,
                    int64_t together)
{
    job j;

    if (units <= 0)
        return;
    if (together < 1)
        together = 1;
    if (team->threads == 1 || units <= together) {
        entry(args, 0, units);
        return;
    }
    j.entry = entry;
    j.args = args;
    cut(&j, units, together, team->threads < PARTS_MAX ? team->threads : PARTS_MAX);
    j.wanted = j.part_count < PARTS_MAX ? j.part_count - 1 : team->threads - 1;
    atomic_init(&j.helpers, 0);
    list_job(team, &j);
    work_on(&j, 0);
    finish_job(team, &j);
}

void kiln__team_lead(kiln__team *team, void (*lead)(void *args), kiln__cpu_entry help, void *args)
{
    job j = {.entry = help, .args = args};

    if (team->threads > 1) {
        cut(&j, team->threads - 1, 1, PARTS_MAX);
        j.wanted = team->threads - 1;
        list_job(team, &j);
    }
    lead(args);
    if (team->threads > 1)
        finish_job(team, &j);
}

/* ---- the team ---- */

kiln_status kiln__team_create(int threads, kiln__team **out, kiln_error *err)
{
    int cores = kiln__cpu_core_count();
    kiln__team *team = kiln__calloc(1, sizeof *team);

    *out = NULL;
    if (team == NULL)
        return kiln__fail_memory(err, sizeof *team);
    if (threads < 1)
        threads = cores;
    team->threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    /* With one core, spinning would delay the work that is waited for. */
    team->spins = team->threads <= cores;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->work, NULL);
    pthread_cond_init(&team->ended, NULL);
    *out = team;
    return KILN_OK;
}

int kiln__team_threads(const kiln__team *team)
{
    return team->threads;
}

void kiln__team_destroy(kiln__team *team, bool forked)
{
    if (team == NULL)
        return;
    if (!forked) {
        pthread_mutex_lock(&team->lock);
        team->stopping = true;
        /* A spinning thread must notice it as well. */
        atomic_fetch_add_explicit(&team->posted, 1, memory_order_relaxed);
        pthread_cond_broadcast(&team->work);
        pthread_mutex_unlock(&team->lock);
        for (int k = 0; k < team->running; k++)
            pthread_join(team->handles[k], NULL);
        pthread_cond_destroy(&team->ended);
        pthread_cond_destroy(&team->work);
        pthread_mutex_destroy(&team->lock);
    }
    kiln__free(team->handles);
    kiln__free(team);
}
