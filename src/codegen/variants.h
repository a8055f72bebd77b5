/*
 * variants.h - the numbers of a kiln__variant that only one family has. A part of codegen.h.
 *
 * Where a member is of some layouts or backends only, its comment names these first; it is 0
 * elsewhere.
 */
#ifndef KILN_CODEGEN_VARIANTS_H
#define KILN_CODEGEN_VARIANTS_H

#include <stdint.h>

#include "kiln/arg.h"

/* The values of loop.narrow: which axis of a transpose is so short that a GPU's thread holds all of
 * its elements: none, axis rank - 2, or axis rank - 1. */
enum { KILN__NARROW_NONE, KILN__NARROW_BEFORE, KILN__NARROW_LAST };
/* The values of loop.lines: rows of results are taken as they are numbered; a warp stores one line of the first result's
 * memory at a time; a thread stores an aligned word of 16 bytes of each result (copies.c). */
enum { KILN__LINES_NONE, KILN__LINES_OF_ELEMENTS, KILN__LINES_OF_WORDS };
/* The values of loop.slant: the addresses at which rows of inputs begin are equal modulo 16 bytes,
 * are multiples of 4 bytes, or are any. */
enum { KILN__SLANT_NONE, KILN__SLANT_WORDS, KILN__SLANT_BYTES };
/* Transposes with a short axis of at least so many elements store a warp's results by way of shared
 * memory. */
enum { KILN__SENT_MIN = 5 };

typedef struct kiln__loop_variant {
    uint16_t tile;  /* transpose: elements of a tile along axis rank - 2; window: rows of a warp's
                       tile */
    uint16_t apart; /* transpose: bytes between rows of a tile that results are gathered from; 0:
                       the kernel has tiles of another kind */
    uint8_t index_linear; /* 1: `i` equals the kernel's own linear index */
    uint8_t lines;        /* cuda, inner, general: a kiln__lines */
    uint8_t lists;        /* cuda, linear: the most calls that one launch serves; 0: it serves one */
    uint8_t aligned;      /* transpose, tiles that are not square: 1: rows of all operands begin at
                             multiples of 32 bytes */
    uint8_t narrow;       /* transpose: which axis is short; its extent is `tile` */
    uint8_t planes;       /* window: planes of a warp's tile; 0: windows lie on two axes */
    uint8_t across;       /* window: warps of a block side by side; 0: all of them */
    uint8_t ring;         /* window: planes that a block, which takes planes one after the other,
                             has in shared memory; 0: blocks do not do so */
    uint8_t slant;        /* window, ring > 0: how rows of inputs begin */
    uint8_t turned;       /* window, ring > 0: 1: rows of outputs do not all begin at words of 4
                             bytes */
    /* Of inputs accessed by windows: the first view of the window, and how many planes, rows and
     * elements the input begins behind the window's first element. */
    uint8_t window[KILN_PARAM_MAX], behind[KILN_PARAM_MAX], down[KILN_PARAM_MAX],
        along[KILN_PARAM_MAX];
} kiln__loop_variant;

/* Shared memory of a block that copies rows there: six such blocks fill a multiprocessor's. */
#define KILN__STAGE_BYTES 36864

/* The values of reduction.side: an input has another element for each row of a tile of results,
 * another one for each column, or one for all. */
enum { KILN__SIDE_DOWN, KILN__SIDE_ACROSS, KILN__SIDE_NONE };

typedef struct kiln__reduction_variant {
    uint16_t group;   /* rows: threads of a result; columns: threads along the kept axis; tile:
                         threads across a tile */
    uint16_t batch;   /* kiln__batch */
    uint8_t split;    /* 1: several blocks (or units) share a result and combine their parts at the
                         end */
    uint8_t segments; /* rows: results that a group of threads computes at the same time; tile:
                         results of a thread, down */
    uint8_t lanes;    /* accumulators that a thread has for each result; tile: results of a thread,
                         across */
    uint8_t stage;    /* rows: bytes of the accesses that copy rows to shared memory; 0: none is
                         copied */
    uint8_t peel;     /* 1: rows begin at any address, and are read by aligned accesses all the same */
    uint8_t hold;     /* rows: a group has all of a row in registers; 2: and each of its threads has
                         `unroll` accesses, 1: some may have fewer */
    /* tile: of each staged input the side, whether neighbours along that side are loaded by one
     * access, and how many elements such an access has. */
    uint8_t side[KILN_PARAM_MAX], along_side[KILN_PARAM_MAX], width[KILN_PARAM_MAX];
} kiln__reduction_variant;

enum { KILN__FLAT_FEW = 2 }; /* a value of scan.flat */

typedef struct kiln__scan_variant {
    uint16_t group;    /* rows: threads of a sequence; columns: threads across a tile */
    uint8_t split;     /* 1: several blocks (or units) share a sequence */
    uint8_t exclusive; /* 1: an element is not part of its own sum */
    uint8_t reverse;   /* 1: the scan goes from the last element to the first */
    uint8_t resident;  /* cuda: blocks that must fit on a multiprocessor */
    uint8_t fan;       /* cuda, split: how many tiles, or groups of tiles, are summed before they
                          are passed on; 1: sums are passed from step to step */
    uint8_t flat;      /* columns with carriers: 1: a tile's inputs are contiguous in memory;
                          FLAT_FEW: its results are as well */
    uint8_t tall;      /* columns with carriers: 1: a tile has three quarters of its columns or
                          fewer, and more rows instead */
    uint8_t lanes;     /* cpu: sums that are computed side by side; columns with carriers: elements
                          of an access */
} kiln__scan_variant;

typedef struct kiln__row_variant {
    uint16_t group;  /* threads of a block that share a row */
    uint8_t cluster; /* blocks that share a row */
    uint8_t whole;   /* 2: each thread has `unroll` accesses; 1: some may have fewer */
    uint8_t lanes;   /* accumulators that a thread has for each stage */
    uint8_t tile;    /* rows that neighbouring threads take; 0: they take neighbours of one row */
    uint8_t peel;    /* 1: rows begin at any address; threads of their own take the elements before
                        and behind the aligned accesses */
    uint8_t stage;   /* bytes of the accesses that copy short rows to shared memory; 0: none is
                        copied */
} kiln__row_variant;

/* cuda: filters with blocks of so many threads have buffers for the results of two tiles. */
enum { KILN__FILTER_TWO_BUFFERS = 128 };

typedef struct kiln__filter_variant {
    uint16_t buffer; /* results that are put in order at a time: of a tile (cuda) or of a chunk
                        (cpu) */
    uint8_t plain_i; /* 1: `i` is the element's index in C-order */
} kiln__filter_variant;

#endif
