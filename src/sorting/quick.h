/*
 * quick.h - quicksort of numbers in place, by vectors: the text of quick.c for one width and one
 * set of instructions.
 *
 *     [sample > pivot] > [partition: what is greater goes to the right end] > ...
 *                      > [network of a few vectors]
 *
 * quick.c defines these before it includes the text:
 *
 *     QUICK(name), QUICK_FN   the functions' names, and what they begin with
 *     QUICK_SORTS_ONLY        where nothing but sort() is wanted
 *     number                  a signed integer or double; QUICK_LOWEST: the least one
 *     QUICK_MIDDLE(low, high) a number between two; QUICK_BEFORE(n): the next lesser one
 *     vec                     LANES numbers
 *     NETWORK_ROWS            vectors that the network sorts at most
 *     QUICK_ONE_NETWORK       whether twice as many are better sorted by one network than by two
 *                             that are merged
 *     QUICK_ASIDE_FALLS       whether spread() is cheaper than deal()
 *     load, store             a vector; load_some, store_some: its first `count` lanes, of which
 *                             others are read as the greatest number
 *     same                    all lanes one number
 *     order                   the lesser numbers of two vectors into the first one
 *     above                   a bit for each lane that is greater
 *     swap                    lane k and lane k ^ x
 *     choose                  the greater number in lanes whose number has `bit`, the lesser one in
 *                             others
 *     spread                  lanes whose bit is 0 to the left, others so that they end on the
 *                             right; it may store LANES numbers on either side
 *     spread_some             the same of the first lanes, storing nothing else
 *     deal                    lanes whose bit is 0 to the left, others to memory of their own;
 *                             LANES numbers are stored on either side
 *     keep                    lanes whose bit is 1; LANES numbers are stored
 *     walk                    classify() of LANES numbers
 *
 * The network sorts the columns of some vectors, and then merges groups of neighbouring columns. Of
 * two sorted sequences the second is reversed before they are compared, so that both halves of the
 * result are bitonic.
 *
 * Rule 1: numbers near the ends are held aside while a partition runs, which then stores whole
 *         vectors, and never over numbers that nobody has read.
 * Rule 2: a range that bad pivots have cut too often is cut at the middle of its values instead.
 *         There are at most as many such cuts as a number has bits.
 */

/* ---- the network ----------------------------------------------------------------------------- */

/* The columns of 4, 8, 16, 32 vectors: Batcher's merge sort. */
QUICK_FN void QUICK(columns_4)(vec *v)
{
    QUICK(order)(v + 0, v + 1), QUICK(order)(v + 2, v + 3);
    QUICK(order)(v + 0, v + 2), QUICK(order)(v + 1, v + 3);
    QUICK(order)(v + 1, v + 2);
}

QUICK_FN void QUICK(columns_8)(vec *v)
{
    QUICK(columns_4)(v);
    QUICK(columns_4)(v + 4);
    for (int k = 0; k < 4; k++)
        QUICK(order)(v + k, v + k + 4);
    QUICK(order)(v + 2, v + 4), QUICK(order)(v + 3, v + 5);
    for (int k = 1; k < 7; k += 2)
        QUICK(order)(v + k, v + k + 1);
}

QUICK_FN void QUICK(columns_16)(vec *v)
{
    QUICK(columns_8)(v);
    QUICK(columns_8)(v + 8);
    for (int k = 0; k < 8; k++)
        QUICK(order)(v + k, v + k + 8);
    for (int k = 4; k < 8; k++)
        QUICK(order)(v + k, v + k + 4);
    for (int k = 2; k < 14; k += 4)
        QUICK(order)(v + k, v + k + 2), QUICK(order)(v + k + 1, v + k + 3);
    for (int k = 1; k < 15; k += 2)
        QUICK(order)(v + k, v + k + 1);
}

QUICK_FN void QUICK(columns_32)(vec *v)
{
    QUICK(columns_16)(v);
    QUICK(columns_16)(v + 16);
    for (int k = 0; k < 16; k++)
        QUICK(order)(v + k, v + k + 16);
    for (int k = 8; k < 16; k++)
        QUICK(order)(v + k, v + k + 8);
    for (int k = 4; k < 28; k += 8)
        for (int n = k; n < k + 4; n++)
            QUICK(order)(v + n, v + n + 4);
    for (int k = 2; k < 30; k += 4)
        QUICK(order)(v + k, v + k + 2), QUICK(order)(v + k + 1, v + k + 3);
    for (int k = 1; k < 31; k += 2)
        QUICK(order)(v + k, v + k + 1);
}

/* One step between lanes: lane k and lane k ^ x, of which the one with `bit` becomes the
 * greater. */
QUICK_FN void QUICK(step)(vec *v, const int rows, const int x, const int bit)
{
    for (int r = 0; r < rows; r++) {
        v[r] = QUICK(choose)(v[r], QUICK(swap)(v[r], x), bit);
    }
}

/* One step between rows: in blocks of `block` rows, the first and the last one, and so on. */
QUICK_FN void QUICK(fold)(vec *v, const int rows, const int block)
{
    for (int k = 0; k < rows / 2; k++) {
        const int at = k % (block / 2), base = k - at + k - at;
        QUICK(order)(v + base + at, v + base + block - 1 - at);
    }
}

/* Merge groups of group / 2 lanes, each of which is sorted row after row. Of the two rows of each
 * step between rows one is turned round: one of them has an odd number, so that these rows are
 * turned before and stay so. In the last step either side is as good, and all rows are as they
 * should be. */
QUICK_FN void QUICK(merge)(vec *v, const int rows, const int group)
{
    for (int r = 1; r < rows; r += 2)
        v[r] = QUICK(swap)(v[r], group - 1);
    if (rows >= 32)
        QUICK(fold)(v, rows, 32);
    if (rows >= 16)
        QUICK(fold)(v, rows, 16);
    if (rows >= 8)
        QUICK(fold)(v, rows, 8);
    if (rows >= 4)
        QUICK(fold)(v, rows, 4);
    if (rows >= 2)
        QUICK(fold)(v, rows, 2);
    QUICK(step)(v, rows, group - 1, group / 2);
    if (group >= 16)
        QUICK(step)(v, rows, 4, 4);
    if (group >= 8)
        QUICK(step)(v, rows, 2, 2);
    if (group >= 4)
        QUICK(step)(v, rows, 1, 1);
}

QUICK_FN void QUICK(sort_rows)(vec *v, const int rows)
{
    if (rows == 32)
        QUICK(columns_32)(v);
    else if (rows == 16)
        QUICK(columns_16)(v);
    else if (rows == 8)
        QUICK(columns_8)(v);
    else if (rows == 4)
        QUICK(columns_4)(v);
    else if (rows == 2)
        QUICK(order)(v, v + 1);
    QUICK(merge)(v, rows, 2);
    QUICK(merge)(v, rows, 4);
    if (LANES >= 8)
        QUICK(merge)(v, rows, 8);
    if (LANES >= 16)
        QUICK(merge)(v, rows, 16);
}

/* A vector of which `count` lanes are there; `whole`: all of them, which takes less time. */
QUICK_FN vec QUICK(load_up_to)(const number *a, int64_t count, bool whole)
{
    return whole ? QUICK(load)(a) : QUICK(load_some)(a, count);
}

QUICK_FN void QUICK(store_up_to)(number *a, vec v, int64_t count, bool whole)
{
    if (whole)
        QUICK(store)(a, v);
    else
        QUICK(store_some)(a, v, count);
}

/* Sort at most `rows` vectors, and more than half of them. */
QUICK_FN void QUICK(sort_few)(number *a, int64_t count, const int rows)
{
    const bool whole = count == rows * LANES;
    vec v[2 * NETWORK_ROWS];

    for (int r = 0; r < rows; r++)
        v[r] = r < rows / 2 ? QUICK(load)(a + r * LANES)
                            : QUICK(load_up_to)(a + r * LANES, count - r * LANES, whole);
    QUICK(sort_rows)(v, rows);
    for (int r = 0; r < rows; r++) {
        if (r < rows / 2)
            QUICK(store)(a + r * LANES, v[r]);
        else
            QUICK(store_up_to)(a + r * LANES, v[r], count - r * LANES, whole);
    }
}

QUICK_OUT void QUICK(network)(number *a, int64_t count)
{
    if (count <= LANES)
        QUICK(sort_few)(a, count, 1);
    else if (count <= 2 * LANES)
        QUICK(sort_few)(a, count, 2);
    else if (count <= 4 * LANES)
        QUICK(sort_few)(a, count, 4);
    else if (NETWORK_ROWS == 8 || count <= 8 * LANES)
        QUICK(sort_few)(a, count, 8);
    else
        QUICK(sort_few)(a, count, NETWORK_ROWS);
}

/* Sort two networks' numbers at most, and more than one network's: the second half is turned round,
 * so that the lesser ones of each pair are bitonic, and the greater ones. */
QUICK_FN void QUICK(clean)(vec *v)
{
    for (int apart = NETWORK_ROWS / 2; apart > 0; apart /= 2)
        for (int k = 0; k < NETWORK_ROWS / 2; k++) {
            const int at = k / apart * 2 * apart + k % apart;
            QUICK(order)(v + at, v + at + apart);
        }
    if (LANES >= 16)
        QUICK(step)(v, NETWORK_ROWS, 8, 8);
    if (LANES >= 8)
        QUICK(step)(v, NETWORK_ROWS, 4, 4);
    QUICK(step)(v, NETWORK_ROWS, 2, 2);
    QUICK(step)(v, NETWORK_ROWS, 1, 1);
}

QUICK_OUT void QUICK(two_networks)(number *a, int64_t count)
{
    enum { HALF = NETWORK_ROWS * LANES };
    const int64_t rest = count - HALF;
    vec low[NETWORK_ROWS], high[NETWORK_ROWS];

    /* Both stay in vectors in between: what was stored in part is not loaded again at once. */
    for (int r = 0; r < NETWORK_ROWS; r++)
        high[r] = QUICK(load_up_to)(a + HALF + r * LANES, rest - r * LANES, rest == HALF);
    if (rest > HALF / 2)
        QUICK(sort_rows)(high, NETWORK_ROWS);
    else
        QUICK(sort_rows)(high, NETWORK_ROWS / 2);
    for (int r = 0; r < NETWORK_ROWS; r++)
        low[r] = QUICK(load)(a + r * LANES);
    QUICK(sort_rows)(low, NETWORK_ROWS);
    for (int r = 0; r < NETWORK_ROWS; r++) {
        vec *const last = high + NETWORK_ROWS - 1 - r;
        *last = QUICK(swap)(*last, LANES - 1);
        QUICK(order)(low + r, last);
    }
    QUICK(clean)(low);
    for (int r = 0; r < NETWORK_ROWS; r++)
        QUICK(store)(a + r * LANES, low[r]);
    QUICK(clean)(high);
    for (int r = 0; r < NETWORK_ROWS; r++)
        QUICK(store_up_to)(a + HALF + r * LANES, high[r], rest - r * LANES, rest == HALF);
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* The median of a sample. */
QUICK_OUT number QUICK(pivot_of)(const number *a, int64_t count)
{
    enum { FEW = 16, MANY = LANES == 16 ? 64 : 32, SMALL = 256 * LANES };
    const int size = count < SMALL ? FEW : MANY;
    const int64_t step = count / size;
    number sample[MANY];

    for (int k = 0; k < size; k++)
        sample[k] = a[k * step + step / 2];
    QUICK(network)(sample, size);
    return sample[size / 2];
}

/* The middle between the least and the greatest number. */
QUICK_OUT number QUICK(middle_of)(const number *a, int64_t count)
{
    number low = a[0], high = a[0];

    for (int64_t k = 1; k < count; k++) {
        low = a[k] < low ? a[k] : low;
        high = a[k] > high ? a[k] : high;
    }
    return (number)QUICK_MIDDLE(low, high);
}

/* Numbers that are not greater than the pivot come first: how many they are. Of few numbers the
 * greater ones are put aside, from the end of that memory to its beginning where one vector is
 * stored for both sides; nothing is in the way of those that stay, for they are stored where they
 * have been read. */
QUICK_OUT int64_t QUICK(part_few)(number *a, int64_t count, number pivot)
{
    const vec border = QUICK(same)(pivot);
    number aside[QUICK_FEW + 2 * LANES], *left = a;
    number *high = QUICK_ASIDE_FALLS ? aside + QUICK_FEW + 2 * LANES : aside;
    int64_t k = 0;

    for (; k + LANES <= count; k += LANES) {
        const vec v = QUICK(load)(a + k);
        const unsigned over = QUICK(above)(v, border);
        const int many = __builtin_popcount(over);
        if (QUICK_ASIDE_FALLS)
            QUICK(spread)(v, over, left, high);
        else
            QUICK(deal)(v, over, left, high);
        left += LANES - many;
        high += QUICK_ASIDE_FALLS ? -many : many;
    }
    if (k < count) {
        const int here = (int)(count - k);
        const vec v = QUICK(load_some)(a + k, here);
        const unsigned over = QUICK(above)(v, border) & ((1u << here) - 1u);
        const int many = __builtin_popcount(over);
        QUICK(spread_some)(v, over, here, left, QUICK_ASIDE_FALLS ? high : high + many);
        left += here - many;
        high += QUICK_ASIDE_FALLS ? -many : many;
    }
    memcpy(left, QUICK_ASIDE_FALLS ? high : aside, (size_t)(a + count - left) * sizeof *a);
    return left - a;
}

/* The same of more numbers. */
QUICK_OUT int64_t QUICK(part_many)(number *a, int64_t count, number pivot)
{
    enum { BURST = QUICK_BURST, SPAN = BURST * LANES };
    const vec border = QUICK(same)(pivot);
    const int64_t behind = SPAN + count % SPAN, held = SPAN + behind;
    number *left = a, *right = a + count, *from = a + SPAN, *to = a + count - behind;
    number aside[3 * SPAN];

    memcpy(aside, a, SPAN * sizeof *a);
    memcpy(aside + SPAN, to, (size_t)behind * sizeof *a);
    while (from < to) {
        const bool first = from - left <= right - to;
        const number *const at = first ? from : to - SPAN;
        vec v[BURST];
        from += first ? SPAN : 0;
        to -= first ? 0 : SPAN;
        for (int k = 0; k < BURST; k++)
            v[k] = QUICK(load)(at + k * LANES);
        for (int k = 0; k < BURST; k++) {
            const unsigned over = QUICK(above)(v[k], border);
            const int many = __builtin_popcount(over);
            QUICK(spread)(v[k], over, left, right);
            left += LANES - many;
            right -= many;
        }
    }
    for (int64_t k = 0; k < held; k += LANES) {
        const int here = held - k < LANES ? (int)(held - k) : LANES;
        const vec v = QUICK(load)(aside + k);
        const unsigned over = QUICK(above)(v, border) & ((1u << here) - 1u);
        const int many = __builtin_popcount(over);
        QUICK(spread_some)(v, over, here, left, right);
        left += here - many;
        right -= many;
    }
    return left - a;
}

QUICK_FN int64_t QUICK(partition)(number *a, int64_t count, number pivot)
{
    return count <= QUICK_FEW ? QUICK(part_few)(a, count, pivot)
                              : QUICK(part_many)(a, count, pivot);
}

/* Parts that hold none of the indices `from` to `to` - 1 stay as they are. */
QUICK_OUT void QUICK(settle)(void *numbers, int64_t count, int64_t from, int64_t to)
{
    enum { BAD_MOST = 8 };
    number *a = numbers;
    int bad = 0;

    while (count > 2 * NETWORK_ROWS * LANES && from < count && to > 0) {
        const number pivot =
            bad < BAD_MOST ? QUICK(pivot_of)(a, count) : QUICK(middle_of)(a, count);
        int64_t left = QUICK(partition)(a, count, pivot);
        if (left == count) {
            /* Nothing is greater than the pivot: those that are equal to it come last, and are
             * done. */
            if (pivot == QUICK_LOWEST)
                return;
            count = QUICK(partition)(a, count, (number)QUICK_BEFORE(pivot));
            continue;
        }
        bad += left < count / 8 || count - left < count / 8;
        const bool lower = left < count - left; /* the shorter part first: few calls within calls */
        const int64_t before = lower ? 0 : left;
        QUICK(settle)(a + before, lower ? left : count - left, from - before, to - before);
        a += lower ? left : 0;
        from -= lower ? left : 0;
        to -= lower ? left : 0;
        count = lower ? count - left : left;
    }
    if (count < 2 || from >= count || to <= 0)
        return;
    if (count <= NETWORK_ROWS * LANES)
        QUICK(network)(a, count);
    else if (QUICK_ONE_NETWORK)
        QUICK(sort_few)(a, count, 2 * NETWORK_ROWS);
    else
        QUICK(two_networks)(a, count);
}

QUICK_OUT void QUICK(sort)(void *numbers, int64_t count)
{
    QUICK(settle)(numbers, count, 0, count);
}

#ifndef QUICK_SORTS_ONLY
QUICK_OUT int64_t QUICK(cut)(void *numbers, int64_t count, int64_t border)
{
    return QUICK(partition)(numbers, count, (number)border);
}

/*
 * In which of KILN__QUICK_PARTS parts each number belongs: how many of the borders it is greater
 * than. The borders are a tree: borders[1] is the one in the middle, and beneath borders[k] stand
 * borders[2 * k] and borders[2 * k + 1].
 */
QUICK_OUT void QUICK(classify)(const void *numbers, int64_t count, const void *tree, uint8_t *parts)
{
    const number *const a = numbers, *const borders = tree;
    int64_t k = 0;

    for (; k + LANES <= count; k += LANES)
        QUICK(walk)(a + k, borders, parts + k);
    for (; k < count; k++) {
        unsigned at = 1;
        while (at < KILN__QUICK_PARTS)
            at = 2 * at + (a[k] > borders[at]);
        parts[k] = (uint8_t)(at - KILN__QUICK_PARTS);
    }
}

/*
 * How numbers stand to two borders: how many are less than `low`, equal to it, between the two and
 * equal to `high`, if that is greater, is added to `counts`. Those between go to `to`, where whole
 * vectors are stored.
 */
QUICK_OUT void QUICK(between)(const void *numbers, int64_t count, int64_t low, int64_t high,
                              void *to, int64_t *counts)
{
    const number *const a = numbers, first = (number)low, last = (number)high;
    const vec lowest = QUICK(same)(first), highest = QUICK(same)(last);
    const unsigned all = (1u << LANES) - 1u;
    number *out = to;
    int64_t under = 0, at_low = 0, at_high = 0, k = 0;

    for (; k + LANES <= count; k += LANES) {
        const vec v = QUICK(load)(a + k);
        const unsigned over = QUICK(above)(v, lowest), below = QUICK(above)(highest, v);
        const unsigned less = QUICK(above)(lowest, v), more = QUICK(above)(v, highest);
        under += __builtin_popcount(less);
        at_low += __builtin_popcount(~(less | over) & all);
        at_high += __builtin_popcount(over & ~(below | more));
        QUICK(keep)(v, over & below, out);
        out += __builtin_popcount(over & below);
    }
    for (; k < count; k++) {
        under += a[k] < first;
        at_low += a[k] == first;
        at_high += a[k] == last && last > first;
        *out = a[k];
        out += a[k] > first && a[k] < last;
    }
    counts[0] += under;
    counts[1] += at_low;
    counts[2] += out - (number *)to;
    counts[3] += at_high;
}

/* Words whose number is not greater than the border go to `left`, how many they are, and the others
 * to `right`, in their order; whole vectors are stored at both. */
QUICK_OUT int64_t QUICK(part)(const void *numbers, const void *words, int64_t count, int64_t border,
                              void *left, void *right)
{
    const number *const a = numbers, *const w = words;
    const vec limit = QUICK(same)((number)border);
    number *low = left, *high = right;
    int64_t k = 0;

    for (; k + LANES <= count; k += LANES) {
        const unsigned over = QUICK(above)(QUICK(load)(a + k), limit);
        const int many = __builtin_popcount(over);
        QUICK(deal)(QUICK(load)(w + k), over, low, high);
        low += LANES - many;
        high += many;
    }
    for (; k < count; k++) {
        const bool over = a[k] > border;
        *low = w[k];
        *high = w[k];
        low += !over;
        high += over;
    }
    return low - (number *)left;
}
#endif
