/*
 * fuzz_blob.c - the judge of cache files on any bytes at all.
 *
 * An input is one byte n, a key of n bytes, and the file. It is judged twice: as it is, and with
 * its checksum put right, because no fuzzer finds a checksum and what lies behind it must hold too.
 * Both are done with the key and, as the tools do, without.
 * Seeds in corpus/blob are made by ../data/make_blob.py.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "cache/parts.h"
#include "promise.h"

/* `file` is in memory of exactly its size, so that the sanitizer sees each byte too many. */
static void judge(const uint8_t *key, size_t key_bytes, const uint8_t *file, size_t file_bytes)
{
    const void *payload = NULL;
    size_t payload_bytes = 0, again_bytes = 0;
    unsigned char *again = NULL;

    if (!kiln__blob_check(file, file_bytes, key, key_bytes, &payload, &payload_bytes))
        return;
    PROMISE((const uint8_t *)payload >= file);
    PROMISE(payload_bytes <= file_bytes);
    PROMISE((const uint8_t *)payload + payload_bytes == file + file_bytes);
    PROMISE(((const uint8_t *)payload - file) % 16 == 0);
    /* One key and one payload have one file. */
    again = kiln__blob_encode(key, key_bytes, payload, payload_bytes, &again_bytes);
    PROMISE(again != NULL);
    PROMISE(again_bytes == file_bytes && memcmp(again, file, file_bytes) == 0);
    kiln__free(again);
}

/* The tools read files without knowing their key: what they show of it is short printable text. */
static void judge_unknown(const uint8_t *file, size_t file_bytes)
{
    kiln__verdict verdict = KILN__VERDICT_VALID;
    const void *key = NULL;
    size_t key_bytes = 0;
    char target[32], kernel[64];

    if (!kiln__blob_verify_any(file, file_bytes, &key, &key_bytes, &verdict)) {
        PROMISE(verdict != KILN__VERDICT_VALID);
        return;
    }
    PROMISE((const uint8_t *)key >= file && key_bytes <= file_bytes);
    PROMISE((const uint8_t *)key + key_bytes <= file + file_bytes);
    kiln__key_labels(key, key_bytes, target, kernel);
    PROMISE(memchr(target, '\0', sizeof target) != NULL);
    PROMISE(memchr(kernel, '\0', sizeof kernel) != NULL);
    for (const char *p = target; *p != '\0'; p++)
        PROMISE(*p > ' ' && *p < 0x7f);
    for (const char *p = kernel; *p != '\0'; p++)
        PROMISE(*p > ' ' && *p < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t key_bytes = bytes > 0 ? data[0] : 0, file_bytes = 0;
    uint8_t *file = NULL, *key = NULL;

    if (bytes < 1 + key_bytes)
        return 0;
    file_bytes = bytes - 1 - key_bytes;
    key = malloc(key_bytes + 1);
    file = malloc(file_bytes + (file_bytes == 0));
    PROMISE(key != NULL && file != NULL);
    memcpy(key, data + 1, key_bytes);
    memcpy(file, data + 1 + key_bytes, file_bytes);

    judge(key, key_bytes, file, file_bytes);
    judge_unknown(file, file_bytes);
    if (file_bytes > 32) {
        kiln__hash128 sum = kiln__hash_128(file + 32, file_bytes - 32);
        for (int k = 0; k < 8; k++) {
            file[16 + k] = (uint8_t)(sum.lo >> 8 * k);
            file[24 + k] = (uint8_t)(sum.hi >> 8 * k);
        }
        judge(key, key_bytes, file, file_bytes);
        judge_unknown(file, file_bytes);
    }
    free(file);
    free(key);
    return 0;
}
