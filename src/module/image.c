/*
 * image.c - PTX, cubin or fatbin: seen by the content, whatever a file is called.
 *
 * The driver is told no size and believes what an image says of itself, so that is compared with the
 * bytes that are there.
 */
#include "module/module.h"

#define FATBIN_MAGIC 0xba55ed50u

typedef struct fatbin_head {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes; /* behind the head */
} fatbin_head;

/* Behind blanks and comments. */
static const char *skip_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "//", 2) == 0) {
            at += strcspn(at, "\n");
        } else if (strncmp(at, "/*", 2) == 0) {
            const char *end = strstr(at + 2, "*/");
            if (end == NULL)
                return at;
            at = end + 2;
        } else {
            return at;
        }
    }
}

static kiln_status check_ptx(const char *text, size_t bytes, kiln_error *err)
{
    size_t length = strlen(text);

    /* One NUL at the end is the usual one: NVRTC counts it. */
    while (length < bytes && text[bytes - 1] == '\0')
        bytes--;
    if (length != bytes)
        return kiln__fail(err, KILN_ERR_FORMAT, "PTX with a NUL at byte %zu of %zu", length, bytes);
    return KILN_OK;
}

kiln_status kiln__image_check(const void *data, size_t bytes, kiln__image_kind *kind_out,
                              kiln_error *err)
{
    fatbin_head head;

    *kind_out = KILN__IMAGE_NONE;
    if (bytes >= 4 && memcmp(data, "\177ELF", 4) == 0) {
        KILN_CHECK(kiln__cubin_check(data, bytes, err));
        *kind_out = KILN__IMAGE_CUBIN;
        return KILN_OK;
    }
    if (bytes >= sizeof head) {
        memcpy(&head, data, sizeof head);
        if (head.magic == FATBIN_MAGIC) {
            if (head.head_bytes < sizeof head || head.head_bytes > bytes ||
                head.bytes > bytes - head.head_bytes)
                return kiln__fail(
                    err, KILN_ERR_FORMAT, "a fatbin that is cut off: %zu bytes of %llu", bytes,
                    (unsigned long long)head.head_bytes + (unsigned long long)head.bytes);
            *kind_out = KILN__IMAGE_FATBIN;
            return KILN_OK;
        }
    }
    if (strncmp(skip_blanks(data), ".version", 8) == 0) {
        KILN_CHECK(check_ptx(data, bytes, err));
        *kind_out = KILN__IMAGE_PTX;
        return KILN_OK;
    }
    return kiln__fail(err, KILN_ERR_FORMAT,
                      "%zu bytes that are no PTX, no cubin and no fatbin; "
                      "source is for kiln_module_create",
                      bytes);
}
