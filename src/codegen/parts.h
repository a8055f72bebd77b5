/*
 * parts.h - copies to several parts of arrays, in one launch (parts.c).
 *
 * src/fusion finds such parts among the steps of a program, and src/graph launches them; they include codegen.h, which
 * includes this header.
 */
#ifndef KILN_CODEGEN_PARTS_H
#define KILN_CODEGEN_PARTS_H

#include "codegen/codegen.h"

enum { KILN__PART_AXES_MAX = 4, KILN__PARTS_MAX = 40 };

/* Elements to be stored: copies of others, or of one value. */
typedef struct kiln__part {
    int rank;
    const int64_t *shape, *to; /* strides are in bytes */
    const int64_t *from;       /* NULL: the value is stored */
    unsigned char value[16];
} kiln__part;

/* A launch of templates/cuda/parts.cu: everything but addresses. */
typedef struct kiln__parts {
    size_t count, room; /* of parts, and for them */
    int item, axes;
    int64_t grid;
    uint16_t to[KILN__PARTS_MAX], from[KILN__PARTS_MAX]; /* where the block has the addresses of a part */
    bool has_from[KILN__PARTS_MAX];                      /* it is no value */
    size_t bytes;
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];
} kiln__parts;

/* The threads of a block. */
enum { KILN__PART_THREADS = 256 };

/* How many axes a part of elements of `item` bytes has in a launch; 0: a kernel of its own serves it better. */
int kiln__part_axes(const kiln__part *part, int item);

/* For how many parts of so many axes a launch of `count` of them has room; 0: they are too many. */
size_t kiln__parts_room(int axes, size_t count);

/* Lay out the launch of parts that kiln__part_axes() and kiln__parts_room() allow. ERR_NO_MEMORY. */
kiln_status kiln__parts_lay_out(const kiln__part *parts, size_t count, int item, kiln__parts *out, kiln_error *err);

#endif
