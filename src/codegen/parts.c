/*
 * parts.c - copies to several parts of arrays, in one launch.
 *
 *     shapes, strides > axes, walks > [argument block, grid] > templates/cuda/parts.cu
 *
 * What is put together out of parts, as by pad or roll, is often one large part and small ones beside it. A launch
 * of a small one takes a GPU 1 to 3 us and the pause before it 1.5 us, so that all share the launch of the large one.
 *
 * Rule 1: a part with more work than a launch costs is among them only if its walk is as quick as that of a kernel of its
 *         own.
 * Rule 2: nothing depends on addresses; the kernel finds the beginnings of lines from them.
 *
 * src/fusion asks which copies may be parts, src/graph launches them. Tests: test_parts, test_rearrange.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

/* As templates/cuda/parts.cu has them. */
enum { WORDS, LINES, ELEMENTS, VALUES, VALUE_WORDS };
enum { THREADS = KILN__PART_THREADS, LINE_ITEMS = 4 };

/* The fewest bytes of a row that is copied line by line; of elements of `WIDE_ITEM` bytes and more, that is copied by
 * words. The most elements of a part that moves otherwise (bench/results/random-h200.txt). */
enum { ROW_BYTES_MIN = 512, WIDE_ITEM = 4, WIDE_ROW_BYTES_MIN = 1 << 13, SINGLE_MAX = 1 << 20 };

/* What a launch counts of a part, and the bytes of a row, with a margin. */
#define COUNT_MAX (INT32_MAX - (1 << 20))

/* The walk of a part: its axes, sorted and collapsed. Operand 0 is what is written. */
typedef struct walked {
    kiln__walk axes;
    int walk;
    int64_t per_row, count;
} walked;

static int walk_of(const kiln__walk *w, int item)
{
    const int last = w->rank - 1;
    const bool value = w->count == 1;
    const int64_t bytes = w->shape[last] * item, step = value ? 0 : w->stride[1][last];
    const int least = item < WIDE_ITEM ? ROW_BYTES_MIN : WIDE_ROW_BYTES_MIN;
    const bool row = bytes >= ROW_BYTES_MIN && w->stride[0][last] == item;

    if (value)
        return row ? VALUE_WORDS : VALUES;
    if (row && step == item && bytes >= kiln__tuned("KILN_TUNE_PART_WORDS", least))
        return WORDS;
    return row && (step == 0 || kiln__magnitude(step) == item) ? LINES : ELEMENTS;
}

static void walk_part(const kiln__part *part, int item, walked *out)
{
    kiln__walk *const w = &out->axes;

    w->rank = 0;
    w->count = part->from == NULL ? 1 : 2;
    w->index = -1;
    for (int k = 0; k < w->count; k++) {
        w->written[k] = w->output[k] = k == 0;
        w->itemsize[k] = (uint8_t)item;
        w->begin[k] = 0;
    }
    for (int a = 0; a < part->rank; a++) {
        if (part->shape[a] == 1)
            continue;
        w->shape[w->rank] = part->shape[a];
        w->stride[0][w->rank] = part->to[a];
        if (part->from != NULL)
            w->stride[1][w->rank] = part->from[a];
        w->rank++;
    }
    kiln__walk_sort(w, true);
    kiln__walk_collapse(w);
    const int64_t extent = w->shape[w->rank - 1], rows = kiln__walk_size(w) / extent;
    out->walk = walk_of(w, item);
    out->per_row = out->walk == WORDS || out->walk == VALUE_WORDS ? kiln__words_of_row(extent, item)
                   : out->walk == LINES
                       ? kiln__divide_up(extent * item + KILN__LINE - item, KILN__LINE) * (KILN__LINE / item)
                       : extent;
    out->count = out->per_row > COUNT_MAX / rows ? INT64_MAX : rows * out->per_row;
}

int kiln__part_axes(const kiln__part *part, int item)
{
    int64_t size = 1;
    walked w;

    for (int a = 0; a < part->rank; a++)
        size *= part->shape[a];
    if (size == 0)
        return 0;
    walk_part(part, item, &w);
    const int rank = w.axes.rank;
    if (rank > KILN__PART_AXES_MAX || w.count > COUNT_MAX || w.axes.shape[rank - 1] > COUNT_MAX / item ||
        ((w.walk == LINES || w.walk == ELEMENTS || w.walk == VALUES) && size > SINGLE_MAX))
        return 0;
    return rank;
}

/* ---- the argument block ---------------------------------------------------------------------- */

/* A part of the block without its lists, which depend on the number of axes. */
static size_t part_bytes(int axes)
{
    const size_t whole = 2 * (1 + (size_t)axes) * 8 + ((size_t)axes - 1) * 16 + 3 * 4;

    return (whole + 7) / 8 * 8;
}

size_t kiln__parts_room(int axes, size_t count)
{
    static const size_t most[] = {[2] = KILN__PARTS_MAX, [3] = 32, [4] = 24};
    enum { FEW = 10 }; /* a matrix with its edges, and one more */

    axes = axes < 2 ? 2 : axes;
    return axes > KILN__PART_AXES_MAX || count > most[axes] ? 0 : count <= FEW ? FEW : most[axes];
}

static void put(unsigned char **at, const void *data, size_t bytes)
{
    memcpy(*at, data, bytes);
    *at += bytes;
}

/* The strides of an operand along `axes` axes, of which those that the walk lacks come first. */
static void put_strides(const kiln__walk *w, int operand, int axes, unsigned char **at)
{
    for (int a = w->rank - axes; a < w->rank; a++) {
        const int64_t stride = a < 0 || operand >= w->count ? 0 : w->stride[operand][a];
        put(at, &stride, sizeof stride);
    }
}

static void put_part(const walked *w, const kiln__part *part, kiln__parts *out, size_t nth, unsigned char *at)
{
    unsigned char *const begin = at;
    const kiln__walk *axes = &w->axes;
    const int64_t nowhere = 0;
    const int32_t facts[] = {(int32_t)w->count, (int32_t)axes->shape[axes->rank - 1], w->walk};

    out->from[nth] = part->from != NULL ? (uint16_t)(at - out->block) : 0;
    out->has_from[nth] = part->from != NULL;
    put(&at, &nowhere, sizeof nowhere);
    put_strides(axes, 1, out->axes, &at);
    if (part->from == NULL)
        memcpy(begin, part->value, sizeof part->value);
    out->to[nth] = (uint16_t)(at - out->block);
    put(&at, &nowhere, sizeof nowhere);
    put_strides(axes, 0, out->axes, &at);
    for (int a = axes->rank - out->axes + 1; a < axes->rank; a++) {
        uint32_t words[4];
        kiln__divisor32_make((uint32_t)(a < 0 ? 1 : a == axes->rank - 1 ? w->per_row : axes->shape[a]), words);
        put(&at, words, sizeof words);
    }
    put(&at, facts, sizeof facts);
}

kiln_status kiln__parts_lay_out(const kiln__part *parts, size_t count, int item, kiln__parts *out, kiln_error *err)
{
    walked *walks = NULL;
    size_t order[KILN__PARTS_MAX];

    memset(out, 0, sizeof *out);
    KILN_CHECK(kiln__make_zeroed(&walks, count + 1, sizeof *walks, err));
    out->item = item;
    out->axes = 2;
    for (size_t k = 0; k < count; k++) {
        size_t at = k; /* the largest is the last: it has all blocks left when the others are done */
        walk_part(&parts[k], item, &walks[k]);
        out->axes = walks[k].axes.rank > out->axes ? walks[k].axes.rank : out->axes;
        for (; at > 0 && walks[order[at - 1]].count > walks[k].count; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    out->count = count;
    out->room = kiln__parts_room(out->axes, count);
    const size_t bytes = part_bytes(out->axes);
    out->bytes = (out->room * (bytes + sizeof(uint32_t)) + 7) / 8 * 8;
    memset(out->block + out->room * bytes, 0xff, out->room * sizeof(uint32_t)); /* no part */
    for (size_t at = 0; at < count; at++) {
        const walked *w = &walks[order[at]];
        const uint32_t first = (uint32_t)out->grid;
        memcpy(out->block + out->room * bytes + at * sizeof first, &first, sizeof first);
        put_part(w, &parts[order[at]], out, order[at], out->block + at * bytes);
        out->grid += kiln__divide_up(w->count, w->walk == LINES ? THREADS * LINE_ITEMS : THREADS);
    }
    kiln__free(walks);
    return KILN_OK;
}
