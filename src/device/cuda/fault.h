/*
 * fault.h - known miscompilations of NVRTC: how they are found in its output, and avoided. Private
 * to src/device/cuda.
 *
 *     fault.c        the table, and how a fault shows in machine code and in PTX
 *     fault_text.c   rewrites a source so that it no longer triggers the miscompilation
 *
 * Threads: pure functions.
 */
#ifndef KILN_DEVICE_CUDA_FAULT_H
#define KILN_DEVICE_CUDA_FAULT_H

#include "core/core.h"

/* Part of every key. Raise when code that an earlier table let pass must not be used any more. */
#define KILN__FAULT_TABLE "faults 3\n"

/* How a source is compiled, in the order in which this is tried. */
typedef enum kiln__remedy {
    KILN__REMEDY_NONE,
    KILN__REMEDY_TEXT,  /* compiled from kiln__fault_text() */
    KILN__REMEDY_PLAIN, /* assembled without optimisation */
    KILN__REMEDY_COUNT
} kiln__remedy;

/* The faults that code of this compiler (13000 for 13.0) for this architecture (90 for sm_90) may
 * hold, judged by its instructions: bits of the table's rows; 0: none. */
unsigned kiln__fault_suspects(int version, int arch, kiln__remedy remedy, const void *cubin,
                              size_t bytes);

/* The fault, among `suspects`, whose pattern the PTX of the code contains, as a line for messages;
 * NULL when it contains none. Without PTX (NULL) a suspect counts as a fault. */
const char *kiln__fault_asked_for(unsigned suspects, const char *ptx);

/* The same program with every negation hidden from the assembler, line by line where it was. Heap
 * text; NULL without memory. */
char *kiln__fault_text(const char *source);

/* Counts of instructions in machine code, for tests. */
typedef struct kiln__code_counts {
    size_t instructions;
    size_t signed_min3; /* VIMNMX3 of signed operands */
    size_t negations;   /* operands of IADD, IADD3 and IMAD that are negated */
} kiln__code_counts;

/* Count in all functions of a cubin; false when it cannot be read as one. */
bool kiln__code_count(const void *cubin, size_t bytes, kiln__code_counts *out);

#endif
