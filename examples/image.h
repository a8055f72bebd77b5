/*
 * image.h - 8-bit RGB pictures in host memory: PNG files, and captions drawn with a small font.
 * Plain libpng and C; nothing of kiln.
 */
#ifndef EXAMPLES_IMAGE_H
#define EXAMPLES_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct image {
    int width, height;
    unsigned char *rgb; /* height rows of width pixels of 3 bytes, no gaps; free with image_clear */
} image;

/* False after saying why on stderr. */
bool image_read_png(const char *path, image *out);
bool image_write_png(const char *path, const image *picture);
bool image_create(int width, int height, image *out);
void image_clear(image *picture); /* accepts an empty one */

/* Draw capital letters, digits and a few signs, 5 x 7 dots of `scale` pixels each, with the upper
 * left corner at (x, y). What does not fit is cut. */
void image_caption(image *picture, int x, int y, int scale, const char *text,
                   const unsigned char rgb[3]);

#endif
