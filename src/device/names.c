/*
 * names.c - the names of a module's entities, kept behind the bytes of its binary.
 *
 *     NVRTC: "axpy<float, 4>" is "_Z4axpyIfLi4EEv..."  >  [names]  >  cache  >  [names] > cuModuleGetFunction
 *
 *     binary | name, NUL | name, NUL | ... | size of the binary, number of names, mark
 *
 * A binary from the cache is used without NVRTC, which alone knows what it made of a name. So the
 * names travel with the binary. Which entities they stand for is in the key of the cache. Behind them, in a
 * second layer of the same form, stands what the compiler said.
 *
 * Rule: every size is checked against the bytes that are there.
 */
#include "device/device.h"

#define MARK 0x314d414eu /* "NAM1" */

typedef struct footer {
    uint64_t binary_bytes;
    uint32_t count;
    uint32_t mark;
} footer;

void kiln__names_put(kiln__buf *binary, const char *const *names, size_t count)
{
    const footer end = {binary->length, (uint32_t)count, MARK};

    for (size_t k = 0; k < count; k++)
        kiln__buf_put(binary, names[k], strlen(names[k]) + 1);
    kiln__buf_put(binary, (const char *)&end, sizeof end);
}

void kiln__log_put(kiln__buf *binary, const char *log)
{
    kiln__buf line = {.max_bytes = SIZE_MAX / 2};

    kiln__buf_putc(&line, '\n'); /* A name is never empty. */
    kiln__buf_puts(&line, log != NULL ? log : "");
    if (line.failed)
        binary->failed = true;
    else
        kiln__names_put(binary, (const char *const[]){line.text}, 1);
    kiln__buf_clear(&line);
}

const char *kiln__log_get(const void *binary, size_t bytes, size_t *inner_bytes_out)
{
    const char *found = kiln__names_get(binary, bytes, 1, 0, inner_bytes_out);

    return found != NULL && found[0] == '\n' ? found + 1 : NULL;
}

const char *kiln__names_get(const void *binary, size_t bytes, size_t count, size_t nth,
                            size_t *image_bytes_out)
{
    const char *at = binary, *found = NULL;
    footer end;

    if (bytes < sizeof end)
        return NULL;
    bytes -= sizeof end;
    memcpy(&end, at + bytes, sizeof end);
    if (end.mark != MARK || end.count != count || end.binary_bytes > bytes)
        return NULL;
    const char *const behind = at + bytes;
    at += end.binary_bytes;
    for (size_t k = 0; k < count; k++) {
        const char *nul = memchr(at, '\0', (size_t)(behind - at));
        if (nul == NULL || nul == at)
            return NULL;
        if (k == nth)
            found = at;
        at = nul + 1;
    }
    if (at != behind)
        return NULL;
    if (image_bytes_out != NULL)
        *image_bytes_out = (size_t)end.binary_bytes;
    return found;
}
