/*
 * pca.c - an image in an eighth of its numbers, by a principal component analysis of its tiles of 8 x 8 pixels.
 *
 *     pca [image.pgm [compressed.pgm]]     a binary PGM of 8 bits; without one, an image of waves and discs
 *
 * Each tile is a point with 64 coordinates. The eigenvectors of the points' covariance matrix with the largest
 * eigenvalues are the directions in which they differ most; KEPT coordinates along those are kept of each tile. What is
 * lost, as the mean of a tile's squared distance, is the sum of the other eigenvalues.
 */
#include <kiln/kiln.h>
#include <math.h>
#include <stdlib.h>

enum { TILE = 8, SIZE = TILE * TILE, KEPT = 8, SIDE = 128 };

/* x: a row a tile. eigh gives rising eigenvalues. */
static const char analysis[] = "m = mean(x, axis=0);"
                               "d = x - m;"
                               "w, v = eigh(d.T @ d / tiles);"
                               "t = v[:, 56:];"
                               "y = d @ t @ t.T + m;"
                               "y, sum((y - x) * (y - x)) / tiles, sum(w[:56])";

typedef struct picture {
    int width, height; /* multiples of TILE */
    unsigned char *pixels;
} picture;

static bool make_picture(picture *p)
{
    *p = (picture){SIDE, SIDE, malloc(SIDE * SIDE)};
    for (int k = 0; k < SIDE * SIDE && p->pixels != NULL; k++) {
        const double x = k % SIDE, y = k / SIDE, far = hypot(x - 40, y - 52);
        const double v = 100 + 40 * sin(x / 9 + y / 23) + 25 * cos(y / 5) + (far < 30 ? 60 : 0);
        p->pixels[k] = (unsigned char)v;
    }
    return p->pixels != NULL;
}

/* What lies beyond the last whole tile is left out. */
static bool read_picture(const char *path, picture *p)
{
    FILE *file = fopen(path, "rb");
    int width = 0, height = 0, most = 0;
    bool ok = file != NULL && fscanf(file, "P5 %d %d %d", &width, &height, &most) == 3 &&
              width >= TILE && height >= TILE && width <= 1 << 14 && height <= 1 << 14 &&
              most == 255 && fgetc(file) != EOF;

    *p = (picture){width / TILE * TILE, height / TILE * TILE, NULL};
    if (ok)
        p->pixels = malloc((size_t)width * (size_t)p->height);
    ok = p->pixels != NULL;
    for (int y = 0; y < p->height && ok;
         y++) { /* the end of a row is overwritten by the next one */
        unsigned char *row = p->pixels + (size_t)y * (size_t)p->width;
        ok = fread(row, 1, (size_t)p->width, file) == (size_t)p->width &&
             fseek(file, width - p->width, SEEK_CUR) == 0;
    }
    if (file != NULL)
        fclose(file);
    if (!ok)
        fprintf(stderr, "%s is no binary PGM of 8 bits with 8 x 8 pixels or more\n", path);
    return ok;
}

static bool write_picture(const char *path, const picture *p)
{
    const size_t count = (size_t)p->width * (size_t)p->height;
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL && fprintf(file, "P5\n%d %d\n255\n", p->width, p->height) > 0 &&
              fwrite(p->pixels, 1, count, file) == count;

    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    return ok;
}

/* Tiles of the picture as rows of numbers, or back. */
static void exchange(picture *p, double *tiles, bool back)
{
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            unsigned char *pixel = &p->pixels[(size_t)y * (size_t)p->width + (size_t)x];
            const int tile = y / TILE * (p->width / TILE) + x / TILE;
            double *v = &tiles[(size_t)tile * SIZE + (size_t)(y % TILE * TILE + x % TILE)];
            if (!back)
                *v = *pixel;
            else
                *pixel = (unsigned char)(*v < 0 ? 0 : *v > 255 ? 255 : *v + 0.5);
        }
}

/* `tiles` becomes what its compressed form gives. */
static bool compress(double *tiles, int64_t count, kiln_error *err)
{
    static const char *const names[] = {"x", "tiles"};
    kiln_context *ctx = NULL;
    kiln_graph *graph = NULL;
    kiln_array *x = NULL, *y = NULL, *lost = NULL, *rest = NULL;
    double error = 0, sum = 0;

    const bool ok =
        kiln_context_create(NULL, &ctx, err) == KILN_OK &&
        kiln_array_from_host(ctx, KILN_FLOAT64, 2, (int64_t[]){count, SIZE}, tiles, NULL, &x,
                             err) == KILN_OK &&
        kiln_graph_parse(ctx, analysis, names, 2, NULL, &graph, NULL, err) == KILN_OK &&
        kiln_call(graph, err, x, (double)count, &y, &lost, &rest) == KILN_OK &&
        kiln_array_to_host(y, tiles, (size_t)count * SIZE * sizeof *tiles, NULL, err) == KILN_OK &&
        kiln_array_to_host(lost, &error, sizeof error, NULL, err) == KILN_OK &&
        kiln_array_to_host(rest, &sum, sizeof sum, NULL, err) == KILN_OK;
    if (ok)
        printf(
            "%d of %d numbers a tile: a pixel is wrong by %.3f of 255; by the eigenvalues %.3f\n",
            KEPT, SIZE, sqrt(error / SIZE), sqrt(sum / SIZE));
    kiln_array_release(x), kiln_array_release(y);
    kiln_array_release(lost), kiln_array_release(rest);
    kiln_graph_destroy(graph);
    kiln_context_release(ctx);
    return ok && fabs(error - sum) <= 1e-9 * (1 + sum);
}

int main(int argc, char **argv)
{
    kiln_error err = KILN_ERROR_INIT;
    picture p = {0};
    double *tiles = NULL;

    bool ok = argc > 1 ? read_picture(argv[1], &p) : make_picture(&p);
    const int64_t count = (int64_t)(p.width / TILE) * (p.height / TILE);
    if (ok)
        tiles = malloc((size_t)count * SIZE * sizeof *tiles);
    ok = tiles != NULL;
    if (ok) {
        exchange(&p, tiles, false);
        ok = compress(tiles, count, &err);
        exchange(&p, tiles, true);
    }
    if (ok && argc > 2)
        ok = write_picture(argv[2], &p);
    kiln_error_print(&err, stderr);
    free(tiles);
    free(p.pixels);
    kiln_error_clear(&err);
    return ok ? 0 : 1;
}
