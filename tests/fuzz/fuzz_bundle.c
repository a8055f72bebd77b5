/*
 * fuzz_bundle.c - the reader of bundles on any bytes at all.
 *
 * An input is judged as it is, and with the checksum of its index put right, because no fuzzer
 * finds a checksum and what lies behind it must hold too. Then every entry is asked for.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "cache/parts.h"
#include "promise.h"

static void judge(const uint8_t *file, size_t bytes)
{
    kiln_error why = KILN_ERROR_INIT;
    kiln__bundle bundle = {0};

    if (kiln__bundle_check(file, bytes, &bundle, &why) != KILN_OK) {
        PROMISE(why.message[0] != '\0');
        return;
    }
    PROMISE(bundle.count <= bytes / 32);
    for (size_t k = 0; k < bundle.count; k++) {
        kiln__hash128 hash = {0, 0};
        size_t blob_bytes = 0, key_bytes = 0;
        const void *key = NULL;
        kiln__verdict verdict = KILN__VERDICT_DAMAGED;
        const uint8_t *blob = kiln__bundle_at(&bundle, k, &hash, &blob_bytes);
        if (blob == NULL)
            continue;
        PROMISE(blob >= file && blob_bytes <= bytes && blob + blob_bytes <= file + bytes);
        PROMISE((size_t)(blob - file) % 16 == 0);
        (void)kiln__blob_verify_any(blob, blob_bytes, &key, &key_bytes, &verdict);
        (void)kiln__bundle_find(&bundle, hash, &blob_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *file = malloc(bytes + (bytes == 0));

    PROMISE(file != NULL);
    memcpy(file, data, bytes);
    judge(file, bytes);
    if (bytes >= 64) {
        uint64_t count = kiln__get_le(file + 32, 8);
        if (count <= (bytes - 64) / 32) {
            kiln__hash128 sum = kiln__hash_128(file + 32, 32 + (size_t)count * 32);
            kiln__put_le(file + 16, 8, sum.lo);
            kiln__put_le(file + 24, 8, sum.hi);
            judge(file, bytes);
        }
    }
    free(file);
    return 0;
}
