/*
 * fuzz_npy.c - the .npy header parser on any bytes at all.
 *
 * The seeds in corpus/npy were made by ../data/make_npy.py, and are replayed as a plain test.
 * Besides memory errors, a header that is accepted must keep its promises.
 */
#include "array/array.h"
#include "promise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    kiln__npy_header header;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln__npy_parse(data, bytes, &header, &err);
    int64_t size = -1;

    PROMISE(status == KILN_OK || status == KILN_ERR_FORMAT);
    if (status == KILN_OK) {
        PROMISE(header.data_offset <= bytes && header.data_offset >= 11);
        PROMISE(data[header.data_offset - 1] == '\n');
        PROMISE(kiln_dtype_size(header.dtype) > 0);
        PROMISE(kiln__shape_size(header.rank, header.shape, kiln_dtype_size(header.dtype), &size,
                                 NULL) == KILN_OK);
    } else {
        PROMISE(err.message[0] != '\0');
        for (const char *at = err.message; *at != '\0'; at++)
            PROMISE(*at >= 32 && *at < 127);
    }
    kiln_error_clear(&err);
    return 0;
}
