/*
 * blob.c - the format of one cached kernel, and how a file is verified.
 *
 *     0   "KILNBLOB"
 *     8   format version (u32), header bytes (u32)
 *     16  XXH3-128 of everything from byte 32 to the end of the file, low half first
 *     32  key bytes (u64)
 *     40  payload bytes (u64)
 *     48  16 zero bytes
 *     64  the whole key, zero bytes up to the next multiple of 16
 *         the payload, to the end of the file
 *
 * Integers are little-endian. The payload begins on 16 bytes so that a mapping may be used as is.
 *
 * Rule 1: for a key and a payload there is one file, byte for byte, and nothing else is accepted.
 *         The fuzzer and a test that flips each bit hold us to it.
 * Rule 2: nothing in a file is believed before it is checked against the file's true size; sums
 *         are formed only of numbers already known to be small.
 * Rule 3: no time, host or user is in a file: it may be copied to another machine.
 *
 * publish.c, pack.c and catalog.c call this file. Tests: test_cache, test_cache_limit.
 */
#define _GNU_SOURCE
#include "cache/parts.h"

#define FORMAT_VERSION 1u
#define CHECKED_FROM 32u
#define PAYLOAD_ALIGNMENT ((uint64_t)16)

static const unsigned char MAGIC[8] = {'K', 'I', 'L', 'N', 'B', 'L', 'O', 'B'};

/* Where the payload begins; `key_bytes` is at most KILN__BLOB_FILE_BYTES_MAX. */
static uint64_t payload_offset(uint64_t key_bytes)
{
    uint64_t end = KILN__BLOB_HEADER_BYTES + key_bytes;

    return (end + PAYLOAD_ALIGNMENT - 1) & ~(PAYLOAD_ALIGNMENT - 1);
}

kiln__verdict kiln__blob_check_header(const unsigned char header[KILN__BLOB_HEADER_BYTES],
                                      uint64_t file_bytes, size_t key_bytes)
{
    uint64_t key_claim = kiln__get_le(header + 32, 8), payload_claim = kiln__get_le(header + 40, 8);

    if (memcmp(header, MAGIC, sizeof MAGIC) != 0)
        return KILN__VERDICT_DAMAGED;
    if (kiln__get_le(header + 8, 4) != FORMAT_VERSION)
        return KILN__VERDICT_OTHER; /* another kiln's; its rules are not known here */
    if (kiln__get_le(header + 12, 4) != KILN__BLOB_HEADER_BYTES ||
        file_bytes > KILN__BLOB_FILE_BYTES_MAX || key_claim > file_bytes)
        return KILN__VERDICT_DAMAGED;
    uint64_t offset = payload_offset(key_claim);
    if (offset > file_bytes || payload_claim != file_bytes - offset)
        return KILN__VERDICT_DAMAGED;
    return key_claim == key_bytes ? KILN__VERDICT_VALID : KILN__VERDICT_OTHER;
}

static bool is_zero(const unsigned char *p, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes; k++) {
        if (p[k] != 0)
            return false;
    }
    return true;
}

kiln__verdict kiln__blob_verify(const void *file, size_t file_bytes, const void *key,
                               size_t key_bytes, const void **payload_out,
                               size_t *payload_bytes_out)
{
    const unsigned char *bytes = file;

    if (file_bytes < KILN__BLOB_HEADER_BYTES)
        return KILN__VERDICT_DAMAGED;
    kiln__verdict verdict = kiln__blob_check_header(bytes, file_bytes, key_bytes);
    if (verdict != KILN__VERDICT_VALID)
        return verdict;
    kiln__hash128 sum = kiln__hash_128(bytes + CHECKED_FROM, file_bytes - CHECKED_FROM);
    if (sum.lo != kiln__get_le(bytes + 16, 8) || sum.hi != kiln__get_le(bytes + 24, 8))
        return KILN__VERDICT_DAMAGED;
    /* A whole blob of another key can only be here when two keys share a 128-bit hash, or when
     * somebody renamed files. Either way it is not ours to load. */
    if (key_bytes != 0 && memcmp(bytes + KILN__BLOB_HEADER_BYTES, key, key_bytes) != 0)
        return KILN__VERDICT_OTHER;

    size_t offset = (size_t)payload_offset(key_bytes);
    if (!is_zero(bytes + 48, 16) || !is_zero(bytes + KILN__BLOB_HEADER_BYTES + key_bytes,
                                             offset - KILN__BLOB_HEADER_BYTES - key_bytes))
        return KILN__VERDICT_DAMAGED;
    *payload_out = bytes + offset;
    *payload_bytes_out = file_bytes - offset;
    return KILN__VERDICT_VALID;
}

bool kiln__blob_verify_any(const void *file, size_t file_bytes, const void **key_out,
                          size_t *key_bytes_out, kiln__verdict *verdict_out)
{
    const unsigned char *bytes = file;
    const void *payload = NULL;
    size_t payload_bytes = 0;

    *verdict_out = KILN__VERDICT_DAMAGED;
    if (file_bytes < KILN__BLOB_HEADER_BYTES)
        return false;
    uint64_t claim = kiln__get_le(bytes + 32, 8);
    if (claim > file_bytes - KILN__BLOB_HEADER_BYTES)
        claim = 0; /* damage, or a format with another header: kiln__blob_verify tells which */
    *key_out = bytes + KILN__BLOB_HEADER_BYTES;
    *key_bytes_out = (size_t)claim;
    *verdict_out = kiln__blob_verify(file, file_bytes, *key_out, (size_t)claim, &payload,
                                    &payload_bytes);
    return *verdict_out == KILN__VERDICT_VALID;
}

bool kiln__blob_check(const void *file, size_t file_bytes, const void *key, size_t key_bytes,
                      const void **payload_out, size_t *payload_bytes_out)
{
    return kiln__blob_verify(file, file_bytes, key, key_bytes, payload_out, payload_bytes_out) ==
           KILN__VERDICT_VALID;
}

unsigned char *kiln__blob_encode(const void *key, size_t key_bytes, const void *data, size_t bytes,
                                 size_t *file_bytes_out)
{
    if (key_bytes > KILN__BLOB_FILE_BYTES_MAX || bytes > KILN__BLOB_FILE_BYTES_MAX)
        return NULL;
    size_t offset = (size_t)payload_offset(key_bytes);
    size_t total = offset + bytes;
    if (total > KILN__BLOB_FILE_BYTES_MAX)
        return NULL;
    unsigned char *file = kiln__alloc(total);
    if (file == NULL)
        return NULL;

    memset(file, 0, KILN__BLOB_HEADER_BYTES);
    memcpy(file, MAGIC, sizeof MAGIC);
    kiln__put_le(file + 8, 4, FORMAT_VERSION);
    kiln__put_le(file + 12, 4, KILN__BLOB_HEADER_BYTES);
    kiln__put_le(file + 32, 8, key_bytes);
    kiln__put_le(file + 40, 8, bytes);
    if (key_bytes != 0)
        memcpy(file + KILN__BLOB_HEADER_BYTES, key, key_bytes);
    memset(file + KILN__BLOB_HEADER_BYTES + key_bytes, 0,
           offset - KILN__BLOB_HEADER_BYTES - key_bytes);
    if (bytes != 0)
        memcpy(file + offset, data, bytes);

    kiln__hash128 sum = kiln__hash_128(file + CHECKED_FROM, total - CHECKED_FROM);
    kiln__put_le(file + 16, 8, sum.lo);
    kiln__put_le(file + 24, 8, sum.hi);
    *file_bytes_out = total;
    return file;
}

void kiln__blob_clear(kiln__blob *blob)
{
    kiln__free(blob->data);
    *blob = (kiln__blob)KILN__BLOB_INIT;
}
