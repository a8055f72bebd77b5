/*
 * indexing.h - the one door of src/indexing: elements that arrays of indices or masks choose.
 *
 *     array, mask > [kernels kept by the context] > the elements chosen, and how many they are
 *
 * masks.c  where masks are true and arrays not zero; values into such places
 *
 * Uses array, kernel and what they use.
 */
#ifndef KILN_INDEXING_INDEXING_H
#define KILN_INDEXING_INDEXING_H

#include "array/array.h"
#include "kernel/kernel.h"
#include "kiln/select.h"

#endif
