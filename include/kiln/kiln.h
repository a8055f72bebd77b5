/**
 * @file kiln/kiln.h
 * @brief All of kiln: runtime kernel generation for C. One header per noun; this includes them.
 */
#ifndef KILN_KILN_H
#define KILN_KILN_H

#include "kiln/arg.h"
#include "kiln/array.h"
#include "kiln/base.h"
#include "kiln/benchmark.h"
#include "kiln/cache.h"
#include "kiln/call.h"
#include "kiln/context.h"
#include "kiln/dlpack.h"
#include "kiln/dtype.h"
#include "kiln/eager.h"
#include "kiln/elementwise.h"
#include "kiln/error.h"
#include "kiln/event.h"
#include "kiln/expression.h"
#include "kiln/graph.h"
#include "kiln/indexing.h"
#include "kiln/linalg.h"
#include "kiln/memory.h"
#include "kiln/module.h"
#include "kiln/node.h"
#include "kiln/observer.h"
#include "kiln/ops.h"
#include "kiln/prefetch.h"
#include "kiln/program.h"
#include "kiln/random.h"
#include "kiln/rearrange.h"
#include "kiln/reduction.h"
#include "kiln/row.h"
#include "kiln/scan.h"
#include "kiln/sort.h"
#include "kiln/select.h"
#include "kiln/stream.h"

#endif
