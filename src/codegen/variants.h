/*
 * variants.h - what each family of kernels adds to a kiln__variant. A part of codegen.h.
 */
#ifndef KILN_CODEGEN_VARIANTS_H
#define KILN_CODEGEN_VARIANTS_H

#include <stdint.h>

#include "kiln/arg.h"

/* Which axis of a transpose is short: a GPU's thread then holds all of its elements. */
enum { KILN__NARROW_NONE, KILN__NARROW_BEFORE, KILN__NARROW_LAST }; /* none; rank - 2; rank - 1 */
/* Where the rows of a marching block's inputs begin modulo 16 bytes: all at one place; at words of
 * 4 bytes; anywhere. */
enum { KILN__SLANT_NONE, KILN__SLANT_WORDS, KILN__SLANT_BYTES };
/* From so many elements on the results of a warp pass through shared memory. */
enum { KILN__SENT_MIN = 5 };

typedef struct kiln__loop_variant {
    uint16_t tile; /* a transpose's tile along axis rank - 2, in elements; rows of a window's tile */
    uint16_t apart; /* transposes: bytes between rows of a tile that lies as in memory; 0: of another tile */
    uint8_t index_linear; /* `i` equals the kernel's own linear index */
    uint8_t lines;        /* cuda, inner, general: each warp's accesses are one of memory's lines of a result */
    uint8_t lists;        /* cuda, linear: calls that a launch has room for; 0: it is of one call */
    uint8_t aligned;      /* transposes: rows of all operands begin at sectors, where tiles are not square */
    uint8_t narrow;       /* transposes: which axis is short; its extent is `tile` */
    uint8_t planes;       /* windows: planes of a warp's tile; 0: windows lie on two axes */
    uint8_t across;       /* windows: warps of a block side by side; 0: all of them */
    uint8_t ring;         /* windows: planes in shared memory, through which a block marches; 0: it does not */
    uint8_t slant;        /* the same: where rows begin modulo 16 bytes */
    uint8_t turned;       /* the same: 1: rows of outputs begin at no words */
    /* Of inputs reached by windows: which one, and planes, rows and elements from its corner. */
    uint8_t window[KILN_PARAM_MAX], behind[KILN_PARAM_MAX], down[KILN_PARAM_MAX],
        along[KILN_PARAM_MAX];
} kiln__loop_variant;

/* Shared memory for the rows that a block copies: six such blocks fill a multiprocessor's. */
#define KILN__STAGE_BYTES 36864

/* Which results of a tile need different elements of an input: those of different rows, of different
 * columns, or none. */
enum { KILN__SIDE_DOWN, KILN__SIDE_ACROSS, KILN__SIDE_NONE };

typedef struct kiln__reduction_variant {
    uint16_t group;   /* rows: threads of a result; columns: threads along the kept axis */
    uint16_t batch;   /* kiln__batch */
    uint8_t split;    /* 1: several blocks (or units) share a result and combine at the end */
    uint8_t segments; /* rows: results that a group of threads works on side by side */
    uint8_t lanes;    /* accumulators a thread has for each result */
    uint8_t stage;    /* rows: bytes of an access that copies rows to shared memory; 0: none is copied */
    uint8_t peel;     /* rows begin anywhere, and are read by aligned accesses all the same */
    uint8_t hold;     /* rows: a group has all of a row in registers; 2 when no thread lacks an access */
    /* tile: threads across are `group`, results of a thread `segments` down by `lanes` across. Of staged
     * inputs: the side, whether neighbours along it are loaded at once, and how many elements are. */
    uint8_t side[KILN_PARAM_MAX], along_side[KILN_PARAM_MAX], width[KILN_PARAM_MAX];
} kiln__reduction_variant;

enum { KILN__FLAT_FEW = 2 }; /* `flat` of scans whose results are one piece of memory as well */

typedef struct kiln__scan_variant {
    uint16_t group;             /* rows: threads of a sequence; columns: threads across a tile */
    uint8_t split;              /* 1: several blocks (or units) share a sequence */
    uint8_t exclusive, reverse; /* an element is left out of its own sum; the last one is first */
    uint8_t resident;           /* cuda: blocks that must fit a multiprocessor */
    uint8_t fan;  /* split on cuda: tiles, or groups of them, that are summed before they
                                   are carried on; 1: a chain from step to step */
    uint8_t flat; /* columns with carriers: 1 when a tile's inputs are one piece of memory */
    uint8_t tall; /* the same: a tile lacks a quarter of its columns or more, and has more rows */
    uint8_t lanes; /* cpu: runs side by side; columns with carriers: elements of an access */
} kiln__scan_variant;

typedef struct kiln__row_variant {
    uint16_t group;  /* threads of a block that share a row */
    uint8_t cluster; /* blocks that share a row */
    uint8_t whole;   /* 2 when no thread lacks an access, else 1 */
    uint8_t lanes;   /* accumulators a thread has for each stage */
    uint8_t tile;    /* rows that neighbouring threads take; 0: they take neighbours of one row */
    uint8_t peel;    /* rows begin anywhere: elements beside aligned accesses have their own threads */
    uint8_t stage;   /* bytes of an access that copies short rows to shared memory; 0: none does */
} kiln__row_variant;

/* cuda: threads of a block with buffers for the results of two tiles. */
enum { KILN__FILTER_TWO_BUFFERS = 128 };

typedef struct kiln__filter_variant {
    uint16_t buffer; /* results put in order at once: cuda: of a tile, cpu: of a chunk */
    uint8_t plain_i; /* 1: `i` is an element's number in C-order */
} kiln__filter_variant;

#endif
