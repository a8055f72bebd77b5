/*
 * showcase.c - a darkroom: one photograph, seven kernels, a contact sheet, and how fast they ran.
 *
 *     photo (h, w, 3) bytes > develop > four planes > relief > two more planes
 *                                         \_ print, etch, relief, halftone, paint > sheet
 *
 *     showcase [--no-times] [OUT.png [PHOTO.png]]
 *
 * The same kernels first make the sheet from the photograph, writing straight into views of it,
 * and then run over the photograph tiled to a size at which memory decides the time. The device
 * is the best one, or what $KILN_DEVICE names.
 */
#define _POSIX_C_SOURCE 200809L

#include <kiln/kiln.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image.h"
#include "showcase_kernels.h"

enum step { DEVELOP, RELIEF, PRINT, ETCH, DUOTONE, HALFTONE, PAINT, STEP_COUNT };

static const struct definition {
    const char *name, *preamble, *in, *out, *op;
} DEFINITIONS[STEP_COUNT] = {
    [DEVELOP] = {"develop", PREAMBLE, DEVELOP_IN, DEVELOP_OUT, DEVELOP_OP},
    [RELIEF] = {"relief", PREAMBLE, RELIEF_IN, RELIEF_OUT, RELIEF_OP},
    [PRINT] = {"film_print", PRINT_PREAMBLE, PRINT_IN, PRINT_OUT, PRINT_OP},
    [ETCH] = {"etching", ETCH_PREAMBLE, ETCH_IN, ETCH_OUT, ETCH_OP},
    [DUOTONE] = {"duotone", PREAMBLE, DUOTONE_IN, DUOTONE_OUT, DUOTONE_OP},
    [HALFTONE] = {"halftone", HALFTONE_PREAMBLE, HALFTONE_IN, HALFTONE_OUT, HALFTONE_OP},
    [PAINT] = {"oil_paint", PREAMBLE, PAINT_IN, PAINT_OUT, PAINT_OP},
};

/* The pictures on the sheet, in reading order; -1 is the photograph itself. */
static const struct panel {
    int step;
    const char *caption;
} PANELS[] = {
    {-1, "1 PHOTOGRAPH"},  {PRINT, "2 FILM PRINT"},  {ETCH, "3 ETCHING"},
    {DUOTONE, "4 RELIEF"}, {HALFTONE, "5 HALFTONE"}, {PAINT, "6 OIL PAINT"},
};
enum { PANEL_COUNT = sizeof PANELS / sizeof PANELS[0], COLUMNS = 3, MARGIN = 40, GAP = 28 };
enum { CAPTION_SCALE = 3, CAPTION_HEIGHT = 7 * CAPTION_SCALE + 14, BACKGROUND = 22 };

static kiln_error err = KILN_ERROR_INIT;

/* An example may leave at the first failure; a library would hand the status up. */
static void need(kiln_status status)
{
    if (status != KILN_OK) {
        kiln_error_print(&err, stderr);
        exit(1);
    }
}

/* ---- the scene: one photograph on the device, and all that is made from it ---- */

struct scene {
    int64_t h, w;
    kiln_array *photo;           /* (h, w, 3) uint8 */
    kiln_array *photo_plane[3];  /* strided views of it, (h, w) */
    kiln_array *light[3], *tone; /* (h, w) float32 */
    kiln_array *steep, *shade;   /* (h, w) float32 */
    kiln_array *across, *down;   /* (1, w) and (h, 1) float32 */
    kiln_array *print[3];        /* (h, w) uint8, where a picture is written */
};

static void release_all(kiln_array **arrays, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        kiln_array_release(arrays[k]);
        arrays[k] = NULL;
    }
}

static void scene_clear(struct scene *s)
{
    release_all(&s->photo, 1);
    release_all(s->photo_plane, 3);
    release_all(s->light, 3);
    release_all(s->print, 3);
    kiln_array *rest[] = {s->tone, s->steep, s->shade, s->across, s->down};
    release_all(rest, 5);
}

/* How brightness falls off over `count` pixels, as an array with one more axis at `axis`. */
static kiln_array *falloff(kiln_context *ctx, int64_t count, int axis)
{
    kiln_elementwise *op = NULL;
    kiln_array *t = NULL, *v = NULL, *out = NULL;

    need(kiln_array_linspace(ctx, KILN_FLOAT32, -1.0, 1.0, count, &t, &err));
    need(kiln_elementwise_create(ctx, FALLOFF_IN, FALLOFF_OUT, FALLOFF_OP, NULL, &op, &err));
    need(kiln_call(op, &err, t, &v));
    need(kiln_array_newaxis(v, axis, &out, &err));
    kiln_elementwise_destroy(op);
    kiln_array_release(t);
    kiln_array_release(v);
    return out;
}

/* The photograph `rows` x `columns` times side by side: a broadcast assignment in five axes. */
static kiln_array *tile(kiln_context *ctx, const image *photo, int64_t rows, int64_t columns)
{
    int64_t h = photo->height, w = photo->width;
    kiln_array *one = NULL, *tiles = NULL, *out = NULL;

    need(kiln_array_from_host(ctx, KILN_UINT8, 5, (int64_t[]){1, h, 1, w, 3}, photo->rgb, NULL,
                              &one, &err));
    need(kiln_array_empty(ctx, KILN_UINT8, 5, (int64_t[]){rows, h, columns, w, 3}, &tiles, &err));
    need(kiln_array_assign(tiles, one, &err));
    need(kiln_array_reshape(tiles, 3, (int64_t[]){rows * h, columns * w, 3}, &out, &err));
    kiln_array_release(one);
    kiln_array_release(tiles);
    return out;
}

static struct scene scene_create(kiln_context *ctx, const image *photo, int64_t rows,
                                 int64_t columns)
{
    struct scene s = {.h = rows * photo->height, .w = columns * photo->width};

    s.photo = tile(ctx, photo, rows, columns);
    for (int c = 0; c < 3; c++)
        need(kiln_array_select(s.photo, 2, c, &s.photo_plane[c], &err));
    need(kiln_array_empty(ctx, KILN_FLOAT32, 2, (int64_t[]){s.h, s.w}, &s.steep, &err));
    need(kiln_array_empty(ctx, KILN_FLOAT32, 2, (int64_t[]){s.h, s.w}, &s.shade, &err));
    s.across = falloff(ctx, s.w, 0);
    s.down = falloff(ctx, s.h, 1);
    return s;
}

/* ---- one step ---- */

static size_t keep(kiln_arg *to, const kiln_arg *args, size_t count)
{
    for (size_t k = 0; k < count; k++)
        to[k] = args[k];
    return count;
}

/* The arguments of a step, in the order its definition names them. */
static size_t step_args(enum step step, struct scene *s, kiln_arg args[KILN_CALL_ARGS_MAX])
{
    kiln_array **l = s->light, **to = s->print;

    switch (step) {
    case DEVELOP:
        return keep(args, KILN_ARGS(s->photo_plane[0], s->photo_plane[1], s->photo_plane[2], &l[0],
                                    &l[1], &l[2], &s->tone));
    case RELIEF:
        return keep(args, KILN_ARGS(s->tone, s->w, s->h, 1.5f, s->steep, s->shade));
    case PRINT:
        return keep(args,
                    KILN_ARGS(l[0], l[1], l[2], s->across, s->down, 0.9, to[0], to[1], to[2]));
    case ETCH:
        return keep(args, KILN_ARGS(s->steep, s->tone, s->w, to[0], to[1], to[2]));
    case DUOTONE:
        return keep(args, KILN_ARGS(s->shade, s->tone, to[0], to[1], to[2]));
    case HALFTONE:
        return keep(args, KILN_ARGS(l[0], l[1], l[2], s->w, s->h, 4.0, to[0], to[1], to[2]));
    case PAINT:
        return keep(args, KILN_ARGS(l[0], l[1], l[2], s->w, s->h, to[0], to[1], to[2]));
    case STEP_COUNT:
        break;
    }
    return 0;
}

static void run_step(kiln_elementwise **ops, enum step step, struct scene *s)
{
    kiln_arg args[KILN_CALL_ARGS_MAX];
    size_t count = step_args(step, s, args);
    need(kiln_elementwise_run(ops[step], args, count, NULL, &err));
}

/* ---- the sheet ---- */

/* Rows [y, y + h) and columns [x, x + w) of plane `c`. */
static kiln_array *window(kiln_array *sheet, int c, int64_t y, int64_t x, int64_t h, int64_t w)
{
    kiln_array *plane = NULL, *rows = NULL, *out = NULL;

    need(kiln_array_select(sheet, 0, c, &plane, &err));
    need(kiln_array_slice(plane, 0, y, y + h, 1, &rows, &err));
    need(kiln_array_slice(rows, 1, x, x + w, 1, &out, &err));
    kiln_array_release(plane);
    kiln_array_release(rows);
    return out;
}

static int64_t panel_x(const struct scene *s, int k)
{
    return MARGIN + k % COLUMNS * (s->w + GAP);
}

static int64_t panel_y(const struct scene *s, int k)
{
    return MARGIN + k / COLUMNS * (s->h + CAPTION_HEIGHT + GAP);
}

/* Run every kernel with a window of the sheet as its output; bring the sheet to the host. */
static bool make_sheet(kiln_context *ctx, kiln_elementwise **ops, const image *photo, image *out)
{
    static const unsigned char ink[3] = {196, 188, 172};
    struct scene s = scene_create(ctx, photo, 1, 1);
    int64_t rows = PANEL_COUNT / COLUMNS;
    int64_t width = 2 * MARGIN + COLUMNS * s.w + (COLUMNS - 1) * GAP;
    int64_t height = 2 * MARGIN + rows * (s.h + CAPTION_HEIGHT) + (rows - 1) * GAP;
    kiln_array *sheet = NULL, *pixels = NULL;

    need(kiln_array_full(ctx, KILN_UINT8, 3, (int64_t[]){3, height, width}, BACKGROUND, &sheet,
                         &err));
    run_step(ops, DEVELOP, &s);
    run_step(ops, RELIEF, &s);
    for (int k = 0; k < PANEL_COUNT; k++) {
        for (int c = 0; c < 3; c++)
            s.print[c] = window(sheet, c, panel_y(&s, k), panel_x(&s, k), s.h, s.w);
        if (PANELS[k].step >= 0)
            run_step(ops, (enum step)PANELS[k].step, &s);
        for (int c = 0; c < 3; c++)
            if (PANELS[k].step < 0)
                need(kiln_array_assign(s.print[c], s.photo_plane[c], &err));
        release_all(s.print, 3);
    }

    /* Planes on the device, pixels in the file: a transposed view does it. */
    need(kiln_array_transpose(sheet, KILN_AXES(1, 2, 0), &pixels, &err));
    bool ok = image_create((int)width, (int)height, out);
    if (ok) {
        need(kiln_array_to_host(pixels, out->rgb, (size_t)width * (size_t)height * 3, NULL, &err));
        for (int k = 0; k < PANEL_COUNT; k++)
            image_caption(out, (int)panel_x(&s, k), (int)(panel_y(&s, k) + s.h + 14), CAPTION_SCALE,
                          PANELS[k].caption, ink);
    }
    kiln_array_release(sheet);
    kiln_array_release(pixels);
    scene_clear(&s);
    return ok;
}

/* ---- the clock ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { SAMPLES = 7, BATCH = 5 };

/* Work to be timed: a prepared launch, or (launch NULL) the device's own copy of `from`. */
struct work {
    kiln_context *ctx;
    kiln_launch *launch;
    kiln_array *from, *to;
};

static double batch_ms(const struct work *work, int batch)
{
    double begin = now_ms();
    for (int k = 0; k < batch; k++) {
        if (work->launch != NULL)
            need(kiln_launch_run(work->launch, NULL, &err));
        else
            need(kiln_array_assign(work->to, work->from, &err));
    }
    need(kiln_context_synchronize(work->ctx, &err));
    return (now_ms() - begin) / batch;
}

/* Milliseconds of one run: the median of a few samples, after a warm-up. */
static double median_ms(const struct work *work)
{
    double samples[SAMPLES];
    double warm_up = batch_ms(work, 1);
    int batch = warm_up > 50.0 ? 1 : BATCH;
    int count = warm_up > 200.0 ? 3 : SAMPLES;

    for (int k = 0; k < count; k++)
        samples[k] = batch_ms(work, batch);
    qsort(samples, (size_t)count, sizeof samples[0], compare_doubles);
    return samples[count / 2];
}

/* Bytes of the device's own copy, read and written, per second. */
static double copy_speed(kiln_context *ctx, const struct scene *s)
{
    struct work work = {ctx, NULL, s->tone, NULL};
    double bytes = 2.0 * 4.0 * (double)s->h * (double)s->w;

    need(kiln_array_empty(ctx, KILN_FLOAT32, 2, (int64_t[]){s->h, s->w}, &work.to, &err));
    double gb_s = bytes / (median_ms(&work) * 1e6);
    kiln_array_release(work.to);
    return gb_s;
}

static void time_step(kiln_context *ctx, kiln_elementwise **ops, enum step step, struct scene *s,
                      double copy_gb_s)
{
    kiln_arg args[KILN_CALL_ARGS_MAX];
    size_t count = step_args(step, s, args);
    struct work work = {ctx, NULL, NULL, NULL};
    double bytes = 0.0;

    for (size_t k = 0; k < count; k++) {
        const kiln_array *a = args[k].kind == KILN_ARG_OUT     ? *args[k].value.out
                              : args[k].kind == KILN_ARG_ARRAY ? args[k].value.array
                                                               : NULL;
        if (a != NULL)
            bytes += (double)kiln_array_size(a) * (double)kiln_dtype_size(kiln_array_dtype(a));
    }
    need(kiln_elementwise_prepare(ops[step], args, count, NULL, &work.launch, &err));
    double ms = median_ms(&work);
    double gb_s = bytes / (ms * 1e6);
    printf("%-12s %9.1f %10.3f %9.1f %8.0f %%\n", DEFINITIONS[step].name, bytes / 1e6, ms, gb_s,
           100.0 * gb_s / copy_gb_s);
    kiln_launch_destroy(work.launch);
}

static void print_times(kiln_context *ctx, kiln_elementwise **ops, const image *photo)
{
    const kiln_device_info *device = kiln_context_device(ctx);
    /* A GPU needs gigabytes before memory decides; a CPU only more than its caches. */
    bool gpu = device->backend == KILN_BACKEND_CUDA;
    struct scene s = scene_create(ctx, photo, gpu ? 20 : 6, gpu ? 14 : 5);

    run_step(ops, DEVELOP, &s);
    for (int c = 0; c < 3; c++)
        need(kiln_array_empty(ctx, KILN_UINT8, 2, (int64_t[]){s.h, s.w}, &s.print[c], &err));
    double copy = copy_speed(ctx, &s);
    printf("%s (%s), %lld x %lld pixels, copy %.1f GB/s\n\n", device->name, device->id,
           (long long)s.w, (long long)s.h, copy);
    printf("%-12s %9s %10s %9s %10s\n", "kernel", "MB", "ms", "GB/s", "of copy");
    for (int step = 0; step < STEP_COUNT; step++)
        time_step(ctx, ops, (enum step)step, &s, copy);
    scene_clear(&s);
}

int main(int argc, char **argv)
{
    bool times = argc < 2 || strcmp(argv[1], "--no-times") != 0;
    argc -= !times;
    argv += !times;
    const char *out_path = argc > 1 ? argv[1] : "showcase.png";
    const char *photo_path = argc > 2 ? argv[2] : KILN_EXAMPLES_DATA "/coffee.png";
    image photo = {0, 0, NULL}, sheet = {0, 0, NULL};
    kiln_context *ctx = NULL;
    kiln_elementwise *ops[STEP_COUNT] = {NULL};

    if (!image_read_png(photo_path, &photo))
        return 1;
    need(kiln_context_create(NULL, &ctx, &err));
    for (int k = 0; k < STEP_COUNT; k++) {
        const struct definition *d = &DEFINITIONS[k];
        kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;
        opts.name = d->name;
        opts.preamble = d->preamble;
        need(kiln_elementwise_create(ctx, d->in, d->out, d->op, &opts, &ops[k], &err));
    }

    bool ok = make_sheet(ctx, ops, &photo, &sheet) && image_write_png(out_path, &sheet);
    if (ok && times)
        print_times(ctx, ops, &photo);
    if (ok)
        printf("%swrote %s, %d x %d pixels\n", times ? "\n" : "", out_path, sheet.width,
               sheet.height);

    for (int k = 0; k < STEP_COUNT; k++)
        kiln_elementwise_destroy(ops[k]);
    kiln_context_release(ctx);
    image_clear(&photo);
    image_clear(&sheet);
    return ok ? 0 : 1;
}
