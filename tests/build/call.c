/*
 * call.c - kiln_call() and its relatives with every type of handle and of argument that they take;
 * test_headers.cmake compiles it as C and as C++, and then once for each BAD_n, which must not
 * compile.
 */
#include <kiln/kiln.h>

typedef struct handles {
    kiln_elementwise *loop;
    kiln_reduction *sum;
    kiln_scan *running;
    kiln_row *softmax;
    kiln_graph *graph;
    kiln_raw *raw;
    kiln_launch *launch;
} handles;

kiln_status arguments(kiln_elementwise *op, kiln_array *x, const kiln_array *y, kiln_array *z);
kiln_status families(const handles *h, kiln_array *x, kiln_array *z);

kiln_status arguments(kiln_elementwise *op, kiln_array *x, const kiln_array *y, kiln_array *z)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln_call(op, &err, x, y, (signed char)1, (short)2, 3, 4L, 5LL,
                                   (unsigned char)6, (unsigned short)7, 8U, 9UL, 10ULL, 1.5f, 2.5,
                                   true, x != NULL, &z);
#ifndef __cplusplus
    if (status == KILN_OK)
        status = kiln_call(op, &err, (float _Complex)1.0f, (double _Complex)1.0, (_Bool)1, &z);
#endif
#if defined(BAD_1)
    status = kiln_call(op, &err, "text", &z);
#elif defined(BAD_2)
    float element = 1.0f;
    status = kiln_call(op, &err, &element, &z);
#elif defined(BAD_3)
    status = kiln_call(op, &err, err, &z);
#elif defined(BAD_4)
    status = kiln_call(op, &err, (void *)x, &z);
#elif defined(BAD_5)
    kiln_call(op, &err, x, &z); /* the status is not looked at */
#endif
    kiln_error_clear(&err);
    return status;
}

#define TRY(call)                                                                                  \
    if (status == KILN_OK)                                                                         \
    status = (call)

kiln_status families(const handles *h, kiln_array *x, kiln_array *z)
{
    kiln_elementwise_call_options loop = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_reduction_call_options sum = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_scan_call_options running = KILN_SCAN_CALL_OPTIONS_INIT;
    kiln_row_call_options softmax = KILN_ROW_CALL_OPTIONS_INIT;
    kiln_graph_call_options graph = KILN_GRAPH_CALL_OPTIONS_INIT;
    kiln_raw_call_options raw = KILN_RAW_CALL_OPTIONS_INIT;
    const kiln_axes rows = {1, {-1}};
    kiln_status status = kiln_call(h->loop, NULL, x, &z);

    TRY(kiln_call(h->sum, NULL, x, &z));
    TRY(kiln_call(h->running, NULL, x, &z));
    TRY(kiln_call(h->softmax, NULL, x, &z));
    TRY(kiln_call(h->graph, NULL, x, &z));
    TRY(kiln_call_over(h->sum, KILN_AXES(0, -1), NULL, x, &z));
    TRY(kiln_call_over(h->running, KILN_ALL_AXES, NULL, x, &z));
    TRY(kiln_call_over(h->softmax, &rows, NULL, x, &z));
    sum.axes = running.axes = softmax.axes = &rows;
    TRY(kiln_call_with(h->loop, &loop, NULL, x, &z));
    TRY(kiln_call_with(h->sum, &sum, NULL, x, &z));
    TRY(kiln_call_with(h->running, &running, NULL, x, &z));
    TRY(kiln_call_with(h->softmax, &softmax, NULL, x, &z));
    TRY(kiln_call_with(h->graph, &graph, NULL, x, &z));
    TRY(kiln_call_with(h->graph, NULL, NULL, x, &z));
    TRY(kiln_call_with(h->raw, &raw, NULL, x, z));
#if defined(BAD_6)
    status = kiln_call(h->launch, NULL, x, &z); /* a handle that takes no arguments */
#elif defined(BAD_7)
    status = kiln_call((void *)h->loop, NULL, x, &z);
#elif defined(BAD_8)
    status = kiln_call_over(h->loop, KILN_AXES(0), NULL, x, &z); /* it takes no axes */
#elif defined(BAD_9)
    status = kiln_call_over(h->graph, KILN_AXES(0), NULL, x, &z);
#elif defined(BAD_10)
    status = kiln_call_with(h->sum, &running, NULL, x, &z); /* options of another family */
#elif defined(BAD_11)
    kiln_call_over(h->sum, KILN_AXES(0), NULL, x, &z); /* the status is not looked at */
#endif
    return status;
}
