/*
 * soak_cache.c - one cache folder under many processes for a long time, outside CI.
 *
 *     soak_cache [--seconds N] [--processes N] [--seed N] [--sabotage] [FILE]     default 600 s, 8 processes
 *
 * Processes want kernels at random, some far more often than others: they hit, wait for each other,
 * store, evict, list, verify and prune, and end after some seconds by themselves or by SIGKILL. Two
 * live to the end, for what leaks. All stand still every few seconds while the folder is added up.
 * What every kernel's bytes must be is known. Prints a report, also to FILE; status 1 when one of
 * the promises was broken: bytes, limit, locks, no damage. With --sabotage another process damages the
 * folder all the while (sabotage.c): bytes must be right, and nobody may wait for long, or crash.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache.h"
#include "sabotage.h"

#define KERNELS 4000
#define KERNEL_BYTES_MAX ((size_t)60000)
#define LIMIT_BYTES ((uint64_t)32 << 20) /* a quarter of all kernels */
#define PROCESSES_MAX 64
#define LASTING 2 /* processes that live to the end */

/* What all processes add to. */
typedef struct tally {
    _Atomic uint64_t loads, hits, compiles, wrong, warnings, tools, worst_load_us, worst_store_us;
    _Atomic uint64_t first_rss_kib[LASTING], last_rss_kib[LASTING];
    _Atomic uint64_t first_files[LASTING], last_files[LASTING];
} tally;

static tally *sum;
static char folder[256];
static bool sabotaged;
static volatile sig_atomic_t stopping;

static void note(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void note_worst(_Atomic uint64_t *worst, double us)
{
    uint64_t old = atomic_load(worst);

    while ((uint64_t)us > old && !atomic_compare_exchange_weak(worst, &old, (uint64_t)us))
        continue;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- a worker ---- */

static size_t kernel_of(unsigned k, unsigned char data[KERNEL_BYTES_MAX])
{
    const size_t bytes = 1000 + (size_t)k * 7919 % (KERNEL_BYTES_MAX - 1000);

    for (size_t b = 0; b < bytes; b++)
        data[b] = (unsigned char)(k * 131 + b * 7);
    return bytes;
}

static void on_warning(void *user, const char *line)
{
    (void)user;
    note(&sum->warnings);
    if (!sabotaged)
        fprintf(stderr, "warning: %s\n", line);
}

static void want(kiln__cache *cache, unsigned k)
{
    unsigned char data[KERNEL_BYTES_MAX];
    const size_t bytes = kernel_of(k, data);
    kiln__flight flight = KILN__FLIGHT_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    char key[64];
    double start = 0;

    snprintf(key, sizeof key, "soak %u\ntarget sm_%u\n", k, 75 + k % 20);
    note(&sum->loads);
    start = kiln__now_us();
    bool found = kiln__cache_load(cache, key, strlen(key), &blob);
    note_worst(&sum->worst_load_us, kiln__now_us() - start);
    found = found || kiln__cache_flight_begin(cache, key, strlen(key), &flight, &blob);
    if (found) {
        note(&sum->hits);
        if (blob.bytes != bytes || memcmp(blob.data, data, bytes) != 0)
            note(&sum->wrong);
    } else {
        note(&sum->compiles);
        start = kiln__now_us();
        kiln__cache_store(cache, key, strlen(key), data, bytes);
        note_worst(&sum->worst_store_us, kiln__now_us() - start);
    }
    kiln__cache_flight_end(&flight);
    kiln__blob_clear(&blob);
}

/* What somebody does who looks after the cache meanwhile. */
static void use_tools(uint64_t dice)
{
    kiln_cache *cache = NULL;
    kiln_cache_entry *entries = NULL;
    kiln_cache_report report = {0};
    size_t count = 0;
    bool wrong = false;

    note(&sum->tools);
    if (kiln_cache_open(folder, &cache, NULL) != KILN_OK)
        return;
    if (dice % 3 == 0)
        wrong = kiln_cache_list(cache, KILN_CACHE_BY_HITS, &entries, &count, NULL) != KILN_OK;
    if (dice % 3 == 1)
        wrong = kiln_cache_verify(cache, false, &report, NULL) != KILN_OK || report.damaged > 0;
    if (dice % 3 == 2)
        wrong = kiln_cache_prune(cache, LIMIT_BYTES / 4 * 3, NULL, NULL) != KILN_OK;
    if (wrong && !sabotaged)
        note(&sum->wrong);
    kiln_free(entries);
    kiln_cache_close(cache);
}

static uint64_t resident_kib(void)
{
    unsigned long pages = 0, ignored = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%lu %lu", &ignored, &pages) != 2)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static uint64_t open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t count = 0;

    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        closedir(dir);
    return count;
}

static void on_stop(int number)
{
    (void)number;
    stopping = 1;
}

/* `lasting`: -1, or which of those that live to the end. */
_Noreturn static void work(uint64_t seed, int lasting)
{
    const kiln__cache_options opts = {
        .dir = folder, .limit_bytes = LIMIT_BYTES, .log = {on_warning, NULL}};
    const double born = kiln__now_us(), life_us = (double)(next_random(&seed) % 8000000);
    kiln__cache *cache = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, on_stop);
    cache = kiln__cache_open_with(&opts);
    for (uint64_t n = 0; !stopping; n++) {
        const uint64_t dice = next_random(&seed);
        /* The product of two: low numbers are wanted most. */
        const uint64_t k = (dice >> 8) % KERNELS * ((dice >> 32) % KERNELS) / KERNELS;
        want(cache, (unsigned)k);
        if (dice % 4096 == 0)
            use_tools(next_random(&seed));
        if (lasting >= 0 && n == 2000) {
            for (uint64_t each = 0; each < 3; each++)
                use_tools(each); /* what a first use keeps is no leak */
            atomic_store(&sum->first_rss_kib[lasting], resident_kib());
            atomic_store(&sum->first_files[lasting], open_files());
        }
        if (lasting < 0 && kiln__now_us() - born > life_us)
            break;
    }
    if (lasting >= 0) {
        atomic_store(&sum->last_rss_kib[lasting], resident_kib());
        atomic_store(&sum->last_files[lasting], open_files());
    }
    kiln__cache_close(cache);
    _exit(0);
}

/* ---- the one that watches ---- */

static uint64_t walked_bytes, walked_temps;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    if (type == FTW_F && walk->level >= 2) {
        walked_bytes += (uint64_t)st->st_size;
        walked_temps += strncmp(path + walk->base, "tmp-", 4) == 0;
    }
    return 0;
}

static uint64_t bytes_now(void)
{
    walked_bytes = walked_temps = 0;
    nftw(folder, add_file, 16, FTW_PHYS);
    return walked_bytes;
}

static pid_t start(uint64_t seed, int lasting)
{
    pid_t child = fork();

    if (child == 0)
        work(seed, lasting);
    if (child < 0)
        exit(1);
    return child;
}

typedef struct watch {
    pid_t children[PROCESSES_MAX];
    int count;
    uint64_t seed, kills, started, highest_bytes, looks, failed_exits;
} watch;

/* Add the folder up while nobody moves. */
static void look(watch *w)
{
    for (int c = 0; c < w->count; c++)
        kill(w->children[c], SIGSTOP);
    usleep(20000);
    const uint64_t bytes = bytes_now();
    for (int c = 0; c < w->count; c++)
        kill(w->children[c], SIGCONT);
    w->highest_bytes = bytes > w->highest_bytes ? bytes : w->highest_bytes;
    w->looks++;
}

/* Replace those that ended, and kill one now and then. */
static void tend(watch *w)
{
    int status = 0;
    pid_t ended = 0;

    if (next_random(&w->seed) % 4 == 0) {
        const int c = LASTING + (int)(next_random(&w->seed) % (uint64_t)(w->count - LASTING));
        kill(w->children[c], SIGKILL);
        w->kills++;
    }
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        w->failed_exits += !killed && status != 0;
        for (int c = 0; c < w->count; c++) {
            if (w->children[c] != ended)
                continue;
            w->children[c] = start(next_random(&w->seed), c < LASTING ? c : -1);
            w->started++;
        }
    }
}

static void end_all(watch *w)
{
    for (int c = 0; c < w->count; c++)
        kill(w->children[c], c < LASTING ? SIGTERM : SIGKILL);
    for (int c = 0; c < w->count; c++)
        waitpid(w->children[c], NULL, 0);
}

/* Every key can be had and stored at once, so no lock is held by a dead process. Seconds. */
static double try_all_locks(void)
{
    const kiln__cache_options opts = {.dir = folder, .limit_bytes = LIMIT_BYTES};
    kiln__cache *cache = kiln__cache_open_with(&opts);
    const double start_us = kiln__now_us();

    for (unsigned k = 0; k < KERNELS; k += 40)
        want(cache, k);
    kiln__cache_close(cache);
    return (kiln__now_us() - start_us) / 1e6;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static void print_report(FILE *out, const watch *w, double seconds, double locks_s,
                         const kiln_cache_report *r, bool good)
{
    fprintf(out,
            "seconds              %.0f\nprocesses at once    %d\nprocesses started    %llu\n"
            "killed (SIGKILL)     %llu\nlookups              %llu\nhits                 %llu\n"
            "compiled and stored  %llu\nlists, verifies...   %llu\nwrong bytes          %llu\n"
            "warnings             %llu\nfailed exits         %llu\n",
            seconds, w->count, (unsigned long long)w->started, (unsigned long long)w->kills,
            (unsigned long long)sum->loads, (unsigned long long)sum->hits,
            (unsigned long long)sum->compiles, (unsigned long long)sum->tools,
            (unsigned long long)sum->wrong, (unsigned long long)sum->warnings,
            (unsigned long long)w->failed_exits);
    fprintf(out,
            "limit, bytes         %llu\nhighest, bytes       %llu (of %llu looks)\n"
            "slowest lookup, ms   %.1f\nslowest store, ms    %.1f\n"
            "all keys after, s    %.2f\nverify               %llu good, %llu damaged\n",
            (unsigned long long)LIMIT_BYTES, (unsigned long long)w->highest_bytes,
            (unsigned long long)w->looks, (double)sum->worst_load_us / 1e3,
            (double)sum->worst_store_us / 1e3, locks_s, (unsigned long long)r->good,
            (unsigned long long)r->damaged);
    for (int k = 0; k < LASTING; k++)
        fprintf(out, "lasting process %d    %llu KiB -> %llu KiB, %llu -> %llu descriptors\n", k,
                (unsigned long long)sum->first_rss_kib[k], (unsigned long long)sum->last_rss_kib[k],
                (unsigned long long)sum->first_files[k], (unsigned long long)sum->last_files[k]);
    fprintf(out, "result               %s\n", good ? "good" : "BROKEN");
}

static void run(watch *w, double seconds)
{
    const double begin = kiln__now_us();
    double next_look = begin + 5e6;
    pid_t saboteur = sabotaged ? fork() : -1;

    if (saboteur == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sabotage(folder, w->seed);
    }
    for (int c = 0; c < w->count; c++, w->started++)
        w->children[c] = start(next_random(&w->seed), c < LASTING ? c : -1);
    while (kiln__now_us() - begin < seconds * 1e6) {
        usleep((useconds_t)(next_random(&w->seed) % 200000));
        tend(w);
        if (kiln__now_us() >= next_look) {
            look(w);
            next_look += 5e6;
        }
    }
    look(w);
    end_all(w);
    if (saboteur > 0) {
        kill(saboteur, SIGKILL);
        waitpid(saboteur, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    watch w = {.count = 8, .seed = (uint64_t)time(NULL) * 2654435761u + 1};
    double seconds = 600, locks_s = 0;
    const char *file = NULL;
    char base[] = "/tmp/kiln-soak-XXXXXX";
    kiln_cache *cache = NULL;
    kiln_cache_report report = {0};
    bool good = false;

    for (int k = 1; k < argc; k++) {
        const bool more = k + 1 < argc;
        if (strcmp(argv[k], "--seconds") == 0 && more)
            seconds = atof(argv[++k]);
        else if (strcmp(argv[k], "--processes") == 0 && more)
            w.count = atoi(argv[++k]);
        else if (strcmp(argv[k], "--seed") == 0 && more)
            w.seed = strtoull(argv[++k], NULL, 0);
        else if (strcmp(argv[k], "--sabotage") == 0)
            sabotaged = true;
        else
            file = argv[k];
    }
    sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.count <= LASTING || w.count > PROCESSES_MAX || w.seed == 0 || sum == MAP_FAILED ||
        mkdtemp(base) == NULL)
        return 2;
    snprintf(folder, sizeof folder, "%s/store", base);
    printf("seed                 %llu\n", (unsigned long long)w.seed);
    fflush(stdout);
    run(&w, seconds);
    locks_s = try_all_locks();
    const bool whole = kiln_cache_open(folder, &cache, NULL) == KILN_OK &&
                       kiln_cache_verify(cache, sabotaged, &report, NULL) == KILN_OK &&
                       report.good > 0;
    const bool promised =
        report.damaged == 0 && sum->warnings == 0 && w.highest_bytes <= LIMIT_BYTES;
    good = whole && (sabotaged || promised) && sum->wrong == 0 && w.failed_exits == 0 &&
           sum->worst_load_us < 10000000 && sum->worst_store_us < 10000000 && locks_s < 30;
    kiln_cache_close(cache);
    print_report(stdout, &w, seconds, locks_s, &report, good);
    FILE *out = file != NULL ? fopen(file, "w") : NULL;
    if (out != NULL) {
        print_report(out, &w, seconds, locks_s, &report, good);
        fclose(out);
    }
    nftw(base, remove_file, 16, FTW_DEPTH | FTW_PHYS);
    return good ? 0 : 1;
}
