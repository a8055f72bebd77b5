/*
 * report.c - the report of the device (src/device/report.c) as an array, so that a kernel with
 * indices can take it as an argument. scatter_run.c and src/graph call it.
 *
 * Test: test_gather.
 */
#include "indexing/indexing.h"

kiln_status kiln__report_array(kiln_context *ctx, kiln_array **out, kiln_error *err)
{
    static const int64_t shape[] = {KILN__REPORT_WORDS};
    int64_t *words = NULL;

    KILN_CHECK(kiln__device_report(kiln__context_device(ctx), &words, err));
    return kiln_array_wrap(ctx, KILN_INT64, 1, shape, NULL, words, NULL, sizeof *words * shape[0],
                           NULL, NULL, out, err);
}
