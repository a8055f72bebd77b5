/*
 * partition_cpu.c - partitions of rows on the cpu device, without sorting the rows.
 *
 *     row > [nth_cpu.c finds the number at the position]
 *         > blocks of numbers > [quick.c parts elements and positions]
 *         > what is before the position, the element there, what is behind it
 *
 * Of elements that are equal to the one at the position, the first ones of the row stand before it,
 * as in a stable sort. The elements before the position are in the order of the row, and so are
 * those behind it. So results do not depend on how many threads there are, nor on the processor.
 *
 * select.c calls this file. Test: test_select.
 */
#include "sorting/nth.h"

enum {
    BLOCK = KILN__NTH_BLOCK,
    LENGTH_MIN = 512 /* shorter rows are sorted as fast */
};

typedef struct job {
    kiln__nth nth;
    char *sorted;   /* NULL: not wanted */
    int64_t *order; /* NULL: not wanted */
} job;

/* Where the next elements of a piece go and where those of the next piece begin, and how many of
 * its row were equal to number kth. */
typedef struct cursor {
    int64_t row, left, right, equal;
    int64_t left_end, right_end;
} cursor;

/* Words as wide as a number, and what vectors store behind them. */
typedef struct parts {
    int64_t left[BLOCK + KILN__NTH_SLACK], right[BLOCK + KILN__NTH_SLACK];
} parts;

static cursor start_of(const job *j, int64_t row, int64_t piece)
{
    const kiln__nth *const n = &j->nth;
    const kiln__nth_piece *const before = n->parts + row * n->pieces;
    const int64_t skipped = n->states[row].skipped;
    cursor c = {.row = row};

    for (int64_t k = 0; k < piece; k++) {
        c.left += before[k].low.under;
        c.equal += before[k].low.equal;
    }
    c.left += c.equal < skipped ? c.equal : skipped;
    c.right = n->from + 1 + kiln__nth_begin_of(n, piece) - c.left - (c.equal > skipped);
    return c;
}

/* ---- results --------------------------------------------------------------------------------- */

static void put_elements(const job *j, int64_t row, const void *words, int64_t count, int64_t at)
{
    const int size = j->nth.size;
    char *const to = j->sorted + (row * j->nth.length + at) * size;
    const uint32_t *const from = words;

    if (size == 2)
        for (int64_t k = 0; k < count; k++)
            ((uint16_t *)(void *)to)[k] = (uint16_t)from[k];
    else
        for (int64_t k = 0; k < count; k++)
            ((uint8_t *)to)[k] = (uint8_t)from[k];
}

static void put_positions(const job *j, int64_t row, const void *words, int64_t count,
                          int64_t first, int64_t at)
{
    int64_t *const to = j->order + row * j->nth.length + at;

    for (int64_t k = 0; k < count; k++)
        to[k] = first + ((const int32_t *)words)[k];
}

/* Elements of one or two bytes as words of the numbers' width. */
static const void *words_of(const kiln__nth *n, const char *elements, int64_t count, uint32_t *room)
{
    if (n->size == 2)
        for (int64_t k = 0; k < count; k++)
            room[k] = ((const uint16_t *)(const void *)elements)[k];
    else
        for (int64_t k = 0; k < count; k++)
            room[k] = ((const uint8_t *)elements)[k];
    return room;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Words of the numbers' width in two parts; *left and *right are where they stand. With KEEP_NONE
 * all are in the right. */
enum { KEEP_LESS, KEEP_EQUAL, KEEP_NONE };

static int64_t part_words(const job *j, const void *numbers, const void *words, int64_t count,
                          int64_t border, int keep, parts *p, const void **right)
{
    *right = keep == KEEP_NONE ? words : p->right;
    return keep == KEEP_NONE ? 0
                             : j->nth.quick.part(numbers, words, count,
                                                 border - (keep == KEEP_LESS), p->left, p->right);
}

/* Of so many elements behind number kth, those for which the piece has room: all, but where
 * part_row() has guessed wrong. */
static int64_t room_of(const cursor *c, int64_t many)
{
    const int64_t room = c->right_end - c->right;
    return many < room ? many : room > 0 ? room : 0;
}

/* Words to where they belong, as wide as a number: vectors may be stored behind them where the
 * piece has as many more. */
static int64_t put_parts(const job *j, const void *numbers, const void *words, int64_t count,
                         int64_t border, int keep, const cursor *c, char *to)
{
    const int width = j->nth.width;
    const int64_t most = count + KILN__NTH_SLACK;
    const void *right = NULL;
    parts p;

    if (keep != KEEP_NONE && c->left + most <= c->left_end && c->right + most <= c->right_end)
        return j->nth.quick.part(numbers, words, count, border - (keep == KEEP_LESS),
                                 to + c->left * width, to + c->right * width);
    const int64_t left = part_words(j, numbers, words, count, border, keep, &p, &right);
    memcpy(to + c->left * width, p.left, (size_t)(left * width));
    memcpy(to + c->right * width, right, (size_t)(room_of(c, count - left) * width));
    return left;
}

/* Elements `first` to first + count - 1 of the row, of which all that are equal go to one side. */
static void part_some(const job *j, const void *numbers, int64_t first, int64_t count, int keep,
                      cursor *c)
{
    const kiln__nth *const n = &j->nth;
    const int64_t at = c->row * n->length, border = n->states[c->row].low;
    const char *const keys = n->keys + (at + first) * n->size;
    const void *right = NULL;
    int64_t left = 0, room[BLOCK];
    parts p;

    if (j->sorted != NULL && n->size == n->width) {
        left = put_parts(j, numbers, keys, count, border, keep, c, j->sorted + at * n->size);
    } else if (j->sorted != NULL) {
        const void *const words = words_of(n, keys, count, (uint32_t *)room);
        left = part_words(j, numbers, words, count, border, keep, &p, &right);
        put_elements(j, c->row, p.left, left, c->left);
        put_elements(j, c->row, right, room_of(c, count - left), c->right);
    }
    if (j->order != NULL && n->width == 8) {
        for (int64_t k = 0; k < count; k++)
            room[k] = first + k;
        left = put_parts(j, numbers, room, count, border, keep, c, (char *)(j->order + at));
    } else if (j->order != NULL) {
        for (int32_t k = 0; k < (int32_t)count; k++)
            ((int32_t *)room)[k] = k;
        left = part_words(j, numbers, room, count, border, keep, &p, &right);
        put_positions(j, c->row, p.left, left, first, c->left);
        put_positions(j, c->row, right, room_of(c, count - left), first, c->right);
    }
    c->left += left;
    c->right += count - left;
}

/* Store number kth. */
static void put_one(const job *j, int64_t at, const cursor *c)
{
    const kiln__nth *const n = &j->nth;
    const int64_t row = c->row * n->length;

    if (j->sorted != NULL)
        memcpy(j->sorted + (row + n->from) * n->size, n->keys + (row + at) * n->size,
               (size_t)n->size);
    if (j->order != NULL)
        j->order[row + n->from] = at;
}

/* A block of which some elements may be equal to number kth: those before it go to the left. */
static void part_block(const job *j, const char *numbers, int64_t first, int64_t count, cursor *c)
{
    const kiln__nth *const n = &j->nth;
    const kiln__nth_row *const r = &n->states[c->row];
    const int64_t least = n->width == 8 ? INT64_MIN : INT32_MIN;
    const int behind = r->low == least ? KEEP_NONE : KEEP_LESS;
    int64_t at = 0;

    if (c->equal > r->skipped) {
        part_some(j, numbers, first, count, behind, c);
        return;
    }
    const int64_t equal = n->numbers.within(numbers, count, r->low, r->low);
    if (c->equal + equal <= r->skipped) {
        part_some(j, numbers, first, count, KEEP_EQUAL, c);
        c->equal += equal;
        return;
    }
    for (int64_t seen = c->equal;; at++) {
        seen += kiln__nth_number(n, numbers, at) == r->low;
        if (seen > r->skipped)
            break;
    }
    part_some(j, numbers, first, at, KEEP_EQUAL, c);
    put_one(j, first + at, c);
    at++;
    part_some(j, numbers + at * n->width, first + at, count - at, behind, c);
    c->equal += equal;
}

/* Part a piece of a row; returns where its elements before number kth end. */
static int64_t part_piece(const job *j, int64_t row, int64_t piece)
{
    const kiln__nth *const n = &j->nth;
    const int64_t end = kiln__nth_begin_of(n, piece + 1);
    const bool last = piece + 1 == n->pieces;
    const cursor next = start_of(j, row, last ? 0 : piece + 1);
    cursor c = start_of(j, row, piece);
    int64_t block[BLOCK];
    bool strange;

    c.left_end = last ? n->from : next.left;
    c.right_end = last ? n->length : next.right;
    for (int64_t at = kiln__nth_begin_of(n, piece); at < end; at += BLOCK) {
        const int64_t here = end - at < BLOCK ? end - at : BLOCK;
        part_block(j, kiln__nth_block(n, row, at, here, block, &strange), at, here, &c);
    }
    return c.left;
}

/* A row in which nobody has counted what is equal to number kth: as if that were the first of those that
 * are equal. The elements before it are too few where it is not, and are parted again. */
static void part_row(const job *j, int64_t row)
{
    kiln__nth_row *const r = &j->nth.states[row];

    r->skipped = 0;
    r->skipped = j->nth.from - part_piece(j, row, 0);
    if (r->skipped > 0)
        part_piece(j, row, 0);
}

static void part_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;

    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t row = unit / j->nth.pieces;
        if (j->nth.states[row].skipped == KILN__NTH_UNKNOWN)
            part_row(j, row);
        else
            part_piece(j, row, unit % j->nth.pieces);
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

bool kiln__partition_suits_cpu(const kiln__sort *s)
{
    return kiln__device_is_host(kiln__context_device(s->ctx)) && s->length >= LENGTH_MIN &&
           s->rows > 0 && kiln__nth_suits(s);
}

kiln_status kiln__partition_rows_cpu(const kiln__sort *s, int64_t kth, kiln_error *err)
{
    kiln_array *memory[KILN__NTH_ARRAYS] = {NULL};
    kiln_status status = KILN_OK;
    job j = {.sorted = s->sorted, .order = s->order};

    kiln__nth_begin(&j.nth, s, kth, 1);
    j.nth.uncounted = true;
    KILN_TRY(kiln__nth_rows(&j.nth, s, memory, err));
    KILN_TRY(kiln__sort_launch(s, part_pieces, &j, sizeof j, s->rows * j.nth.pieces, err));

done:
    for (int k = 0; k < KILN__NTH_ARRAYS; k++)
        kiln_array_release(memory[k]);
    return status;
}
