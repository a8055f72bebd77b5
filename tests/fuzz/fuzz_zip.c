/*
 * fuzz_zip.c - the reader of .zip files on any bytes at all.
 *
 * The seeds in corpus/zip were made by ../data/make_npz.py, and are replayed as a plain test. An entry that
 * is read must have the size that it claims, and a checksum that fits.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "array/array.h"
#include "promise.h"

static void read_entry(const kiln__zip *z, const kiln__zip_entry *e)
{
    kiln_error err = KILN_ERROR_INIT;
    unsigned char *out = NULL;

    PROMISE(strlen(e->name) < z->bytes);
    if (kiln__zip_read(z, e, &out, &err) == KILN_OK) {
        PROMISE(e->bytes / 1032 <= e->packed && e->packed <= z->bytes);
        PROMISE(kiln__crc32(0, out, (size_t)e->bytes) == e->crc);
    } else {
        PROMISE(out == NULL && err.message[0] != '\0');
    }
    kiln__free(out);
    kiln_error_clear(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const int fd = memfd_create("zip", 0);
    kiln_error err = KILN_ERROR_INIT;
    kiln__zip z;

    PROMISE(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    const kiln_status status = kiln__zip_open(fd, bytes, &z, &err);
    PROMISE(status == KILN_OK || status == KILN_ERR_FORMAT);
    PROMISE(status == KILN_OK || err.message[0] != '\0');
    for (size_t k = 0; status == KILN_OK && k < z.count; k++)
        read_entry(&z, &z.entries[k]);
    if (status == KILN_OK)
        kiln__zip_clear(&z);
    kiln_error_clear(&err);
    close(fd);
    return 0;
}
