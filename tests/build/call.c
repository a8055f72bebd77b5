/*
 * call.c - kiln_call() with every type it takes; test_headers.cmake compiles it as C and as C++,
 * and then once for each BAD_n, which must not compile.
 */
#include <kiln/kiln.h>

kiln_status use(kiln_elementwise *op, kiln_array *x, const kiln_array *y, kiln_array *z);

kiln_status use(kiln_elementwise *op, kiln_array *x, const kiln_array *y, kiln_array *z)
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
