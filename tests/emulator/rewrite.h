/*
 * rewrite.h - from kernel source to what a host compiler takes. Private to the emulator's NVRTC.
 */
#ifndef KILN_TESTS_EMULATOR_REWRITE_H
#define KILN_TESTS_EMULATOR_REWRITE_H

#include <stddef.h>

/* The function of device.h that stands for an asm statement's text of so many bytes (ptx.def);
 * NULL: there is none. */
const char *emu_ptx_twin(const char *text, size_t length);

/* The text with PTX replaced by calls and a list of its kernels at the end. Heap memory. */
char *emu_rewrite(const char *source, int arch);

#endif
