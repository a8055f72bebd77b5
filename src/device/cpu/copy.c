/*
 * copy.c - copies and fills of host memory with all threads.
 *
 * Why: one core cannot saturate the memory's bandwidth, and non-temporal stores save reading the
 *      lines that are overwritten. Both pay only for blocks much larger than the caches. Smaller
 *      blocks are copied by libc, and stay in the cache for whoever reads them.
 */
#include "device/cpu/cpu.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The smallest share of a thread: for less, waking it costs more than it saves. */
#define UNIT_BYTES ((int64_t)64 << 10)
#define TOGETHER 8
/* Larger than the last-level cache share of most machines. */
#define STREAM_BYTES_MIN ((size_t)32 << 20)

typedef struct copy_args {
    unsigned char *dst;
    const unsigned char *src;
    size_t bytes;
    int byte;
    bool stream;
} copy_args;

/* The bytes that units [begin, end) stand for. */
static size_t span(const copy_args *a, int64_t begin, int64_t end, size_t *offset_out)
{
    size_t from = (size_t)(begin * UNIT_BYTES), to = (size_t)(end * UNIT_BYTES);

    *offset_out = from;
    return (to < a->bytes ? to : a->bytes) - from;
}

#if defined(__SSE2__)
#define LINE 64

static void stream_copy(unsigned char *dst, const unsigned char *src, size_t bytes)
{
    size_t head = (size_t)(-(uintptr_t)dst & (LINE - 1));

    if (head > bytes)
        head = bytes;
    memcpy(dst, src, head);
    dst += head;
    src += head;
    bytes -= head;
    for (; bytes >= LINE; bytes -= LINE, dst += LINE, src += LINE) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)src);
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(src + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(src + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(src + 48));
        _mm_stream_si128((__m128i *)(void *)dst, a);
        _mm_stream_si128((__m128i *)(void *)(dst + 16), b);
        _mm_stream_si128((__m128i *)(void *)(dst + 32), c);
        _mm_stream_si128((__m128i *)(void *)(dst + 48), d);
    }
    _mm_sfence();
    memcpy(dst, src, bytes);
}

static void stream_fill(unsigned char *dst, int byte, size_t bytes)
{
    const __m128i v = _mm_set1_epi8((char)byte);
    size_t head = (size_t)(-(uintptr_t)dst & (LINE - 1));

    if (head > bytes)
        head = bytes;
    memset(dst, byte, head);
    dst += head;
    bytes -= head;
    for (; bytes >= LINE; bytes -= LINE, dst += LINE)
        for (int k = 0; k < LINE; k += 16)
            _mm_stream_si128((__m128i *)(void *)(dst + k), v);
    _mm_sfence();
    memset(dst, byte, bytes);
}
#else
static void stream_copy(unsigned char *dst, const unsigned char *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

static void stream_fill(unsigned char *dst, int byte, size_t bytes)
{
    memset(dst, byte, bytes);
}
#endif

static void copy_units(const void *args, int64_t begin, int64_t end)
{
    const copy_args *a = args;
    size_t offset = 0, bytes = span(a, begin, end, &offset);

    if (a->stream)
        stream_copy(a->dst + offset, a->src + offset, bytes);
    else
        memcpy(a->dst + offset, a->src + offset, bytes);
}

static void fill_units(const void *args, int64_t begin, int64_t end)
{
    const copy_args *a = args;
    size_t offset = 0, bytes = span(a, begin, end, &offset);

    if (a->stream)
        stream_fill(a->dst + offset, a->byte, bytes);
    else
        memset(a->dst + offset, a->byte, bytes);
}

static int64_t unit_count(size_t bytes)
{
    return (int64_t)(bytes / (size_t)UNIT_BYTES) + (bytes % (size_t)UNIT_BYTES != 0);
}

void kiln__cpu_copy(kiln__team *team, void *dst, const void *src, size_t bytes)
{
    const copy_args a = {dst, src, bytes, 0, bytes >= STREAM_BYTES_MIN};
    uintptr_t d = (uintptr_t)dst, s = (uintptr_t)src;

    if (d == s || bytes == 0)
        return;
    /* Overlapping memory must be copied in one direction, which parallel threads do not keep. */
    if (d < s ? s - d < bytes : d - s < bytes)
        memmove(dst, src, bytes);
    else
        kiln__team_run(team, copy_units, &a, unit_count(bytes), TOGETHER);
}

void kiln__cpu_fill(kiln__team *team, void *dst, int byte, size_t bytes)
{
    const copy_args a = {dst, NULL, bytes, byte, bytes >= STREAM_BYTES_MIN};

    kiln__team_run(team, fill_units, &a, unit_count(bytes), TOGETHER);
}
