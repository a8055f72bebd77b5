/*
 * frame.h - local memory of kernels, from their cubins. Private to src/device/cuda.
 */
#ifndef KILN_DEVICE_CUDA_FRAME_H
#define KILN_DEVICE_CUDA_FRAME_H

#include "core/core.h"

/* Bytes a thread, of the function that takes most; 0 also for what cannot be read as a cubin. */
size_t kiln__cubin_frame(const void *cubin, size_t bytes);

#endif
