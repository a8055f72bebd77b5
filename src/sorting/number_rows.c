/*
 * number_rows.c - elements of rows as integers, and integers as the elements of results: what the sorts
 * of sort_numbers.c, sort_halves.c and sort_order.c have in common. They call this file.
 *
 * Tests: test_sort, test_select.
 */
#include "sorting/sort_numbers.h"

enum { BLOCK = KILN__NUMBERS_BLOCK };

typedef kiln__number_rows job;

bool kiln__number_rows_read(const job *j, const char *keys, int64_t first, int64_t count, void *to)
{
    int32_t block[BLOCK];
    bool strange = false;

    if (j->reals != NULL)
        return j->numbers.read_reals(keys + first * j->size, count, j->flip, to);
    if (j->order == NULL)
        return j->numbers.read(keys + first * j->size, count, j->flip, j->infinity, to);
    for (int64_t k = 0; k < count; k += BLOCK) {
        const int64_t here = count - k < BLOCK ? count - k : BLOCK;
        strange |= j->numbers.read(keys + (first + k) * j->size, here, j->flip, j->infinity, block);
        j->numbers.join(block, here, first + k, (int64_t *)to + k);
    }
    return strange;
}

void kiln__number_rows_write(const job *j, const void *numbers, int64_t count, char *sorted,
                             char *order)
{
    int32_t block[BLOCK];

    if (j->reals != NULL) {
        j->numbers.write_reals(numbers, count, j->flip, sorted);
        return;
    }
    if (order == NULL) {
        j->numbers.write(numbers, count, j->flip, sorted);
        return;
    }
    for (int64_t k = 0; k < count && sorted != NULL; k += BLOCK) {
        const int64_t here = count - k < BLOCK ? count - k : BLOCK;
        j->numbers.split((const int64_t *)numbers + k, here, block);
        j->numbers.write(block, here, j->flip, sorted + k * j->size);
    }
    j->numbers.order(numbers, count, j->wide, order);
}

static int64_t number_at(const job *j, const void *numbers, int64_t k)
{
    return j->size == 8 ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
}

void kiln__number_rows_restore(const job *j, const char *keys, char *sorted)
{
    const int64_t nan = j->size == 8 ? INT64_MAX : INT32_MAX;
    int64_t block[BLOCK], zero_at = 0, nan_at = j->length;

    for (int copying = 0; copying < 2; copying++)
        for (int64_t begin = 0; begin < j->length; begin += BLOCK) {
            const int64_t here = j->length - begin < BLOCK ? j->length - begin : BLOCK;
            j->numbers.read(keys + begin * j->size, here, j->flip, j->infinity, block);
            for (int64_t k = 0; k < here; k++) {
                const int64_t n = number_at(j, block, k);
                if (!copying) {
                    zero_at += n < 0;
                    nan_at -= n == nan;
                } else if (n == 0 || n == nan) {
                    const int64_t at = n == 0 ? zero_at++ : nan_at++;
                    memcpy(sorted + at * j->size, keys + (begin + k) * j->size, (size_t)j->size);
                }
            }
        }
}
