/*
 * main.c - the command line of difftest; docs/testing.md shows its use.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

enum { EXIT_SKIP = 77 };

static const char usage[] =
    "usage: difftest [options] [FILE of cases ...]\n"
    "  --seed N       first number of the random sequence (1); \"random\": another one each time\n"
    "  --seconds N    stop drawing cases after so long\n"
    "  --cases N      how many cases of the kinds asked for; without it and --seconds 600\n"
    "  --case N       run case N of the seed alone\n"
    "  --kind NAME    this kind alone; may be repeated: elementwise reduction reduce scanned scan\n"
    "                 graph eager row gather scatter select sort rearrange product random\n"
    "  --device NAME  cpu, cuda, or both (what there is)\n"
    "  --jobs N       processes at once (1)\n"
    "  --failures N   how many failures each process describes (5)\n"
    "  --no-shrink    describe failures as they were drawn\n"
    "  --verbose      print every case before it runs\n"
    "  --self-test    no kernels: whether wrong memory would be noticed\n"
    "Status 1: a case failed. 77: the device does not exist here.\n";

static bool has_cuda(void)
{
    kiln_device_info infos[16];
    kiln_error err = KILN_ERROR_INIT;
    size_t count = 0;
    bool found = false;

    if (kiln_device_list(infos, DT_COUNT(infos), &count, &err) != KILN_OK)
        kiln_error_clear(&err);
    for (size_t k = 0; k < count && k < DT_COUNT(infos); k++)
        found = found || (infos[k].backend == KILN_BACKEND_CUDA && infos[k].usable);
    return found;
}

static bool add_kind(dt_options *o, const char *name)
{
    for (int k = 0; k < DT_KIND_COUNT; k++)
        if (strcmp(dt_kind_names[k], name) == 0) {
            o->kinds |= 1u << k;
            return true;
        }
    return false;
}

/* Options with a value; false for one that is not known. */
static bool set_option(dt_options *o, const char *name, const char *value, const char **device)
{
    char *end;
    const double number = strtod(value, &end);

    if (strcmp(name, "--seed") == 0 && strcmp(value, "random") == 0) {
        /* Processes that begin together draw different cases. */
        o->seed = (uint64_t)time(NULL) << 22 | (uint64_t)getpid() % (1 << 22);
        return true;
    }
    if (strcmp(name, "--kind") == 0)
        return add_kind(o, value);
    if (strcmp(name, "--device") == 0) {
        *device = value;
        return strcmp(value, "cpu") == 0 || strcmp(value, "cuda") == 0 ||
               strcmp(value, "both") == 0;
    }
    if (end == value || *end != '\0' || number < 0)
        return false;
    if (strcmp(name, "--seed") == 0)
        o->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
        o->seconds = number;
    else if (strcmp(name, "--cases") == 0)
        o->count = strtoull(value, NULL, 10);
    else if (strcmp(name, "--case") == 0)
        o->first = strtoull(value, NULL, 10), o->count = 1;
    else if (strcmp(name, "--jobs") == 0)
        o->jobs = number < 1 ? 1 : number > 64 ? 64 : (int)number;
    else if (strcmp(name, "--failures") == 0)
        o->failures_shown = (int)number;
    else
        return false;
    return true;
}

static bool choose_devices(dt_options *o, const char *device, bool cuda)
{
    if (strcmp(device, "cpu") != 0 && cuda)
        o->devices[o->device_count++] = "cuda";
    if (strcmp(device, "cuda") != 0)
        o->devices[o->device_count++] = "cpu";
    return o->device_count > 0;
}

int main(int argc, char **argv)
{
    dt_options o = {.seed = 1, .jobs = 1, .failures_shown = 5, .shrink = true};
    const char *device = "both", *files[256];
    int file_count = 0, failed = 0;
    bool self_test = false;

    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--no-shrink") == 0)
            o.shrink = false;
        else if (strcmp(argv[k], "--self-test") == 0)
            self_test = true;
        else if (strcmp(argv[k], "--verbose") == 0)
            o.verbose = true;
        else if (argv[k][0] != '-' && file_count < (int)DT_COUNT(files))
            files[file_count++] = argv[k];
        else if (k + 1 < argc && set_option(&o, argv[k], argv[k + 1], &device))
            k++;
        else
            return fputs(usage, stderr), 2;
    }
    setenv("KILN_TUNE_WINDOW_SIZE", "1", 0); /* windows are for millions of elements, */
    setenv("KILN_TUNE_MARCH_PLANES", "6", 0); /* and blocks march through dozens of planes; */
    setenv("KILN_TUNE_FEW", o.seed % 2 != 0 ? "0" : "8", 0); /* sums at few places have thousands of values; */
    setenv("KILN_TUNE_FILTER", o.seed % 4 < 2 ? "1" : "64", 0); /* filters take many blocks for as many elements; */
    setenv("KILN_TUNE_LINES", "4", 0); /* rows that are stored by lines have hundreds of elements */
    setenv("KILN_TUNE_WORDS", "4", 0); /* and so have those that are copied by words */
    setenv("KILN_TUNE_GATHER_LONG", "65536", 0); /* tiles of large arrays have longer rows */
    if (self_test)
        return dt_self_test(&o) != 0;
    if (!choose_devices(&o, device, strcmp(device, "cpu") != 0 && dt_in_child(has_cuda))) {
        printf("SKIPPED: there is no CUDA device\n");
        return EXIT_SKIP;
    }
    if (o.kinds == 0)
        o.kinds = (1u << DT_KIND_COUNT) - 1;
    if (o.count == 0 && o.seconds == 0)
        o.count = 600;
    for (int k = 0; k < file_count; k++)
        failed += dt_run_file(&o, files[k]) != 0;
    if (file_count == 0)
        failed = dt_run_random(&o);
    return failed != 0 ? 1 : 0;
}
