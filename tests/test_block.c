/*
 * test_block.c - block() and the parts of split() and array_split() at once, against plain loops.
 */
#include "kiln/rearrange.h"
#include "test_env.h"

static kiln_array *filled(test_env *t, int rank, const int64_t *shape, double value)
{
    kiln_array *x = NULL;

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, rank, shape, value, &x, &t->err));
    return x;
}

/* Rows of blocks of one number each, of vectors and of a matrix that is turned. */
static void test_block__rows_are_plain_loops(void **state)
{
    static const int64_t heights[] = {2, 3}, widths[] = {4, 1, 2};
    const int64_t rows[] = {3, 3}, uneven[] = {3, 2};
    test_env *t = *state;
    kiln_array *blocks[6], *turned = NULL, *z = NULL;
    kiln_arg args[6];
    float got[5][7];

    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 3; c++) {
            const int64_t shape[] = {widths[c], heights[r]};
            blocks[3 * r + c] = filled(t, 2, shape, 10 * r + c);
            OK(t, kiln_array_transpose(blocks[3 * r + c], NULL, &turned, &t->err));
            kiln_array_release(blocks[3 * r + c]);
            blocks[3 * r + c] = turned;
            turned = NULL;
            args[3 * r + c] = kiln_arg_array(blocks[3 * r + c]);
        }
    OK(t, kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, rows, 2, &z, &t->err));
    assert_true(kiln_array_rank(z) == 2 && kiln_array_shape(z)[0] == 5 &&
                kiln_array_shape(z)[1] == 7);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int r = 0; r < 5; r++)
        for (int c = 0; c < 7; c++)
            assert_true(got[r][c] == (float)(10 * (r >= 2) + (c >= 4) + (c >= 5)));
    kiln_array_release(z);
    z = NULL;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, uneven, 2, &z, &t->err),
          "the rows do not have as many arrays as are given");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, (int64_t[]){2, 4}, 2, &z, &t->err),
          "");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, (int64_t[]){6, 0}, 2, &z, &t->err),
          "rows");
    assert_null(z);
    OK(t, kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 3, NULL, 0, &z, &t->err));
    assert_true(kiln_array_shape(z)[0] == 2 && kiln_array_shape(z)[1] == 7);
    kiln_array_release(z);
    for (int k = 0; k < 6; k++)
        kiln_array_release(blocks[k]);
}

/* Every part of every number of parts: views of the array, one behind the other. */
static void test_block__parts_cover_an_axis(void **state)
{
    const int64_t shape[] = {2, 7};
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 2, shape), *y = NULL;
    const kiln_arg args[] = {kiln_arg_array(x)};

    for (int64_t parts = 1; parts < 10; parts++) {
        int64_t at = 0;
        for (int64_t part = 0; part < parts; part++) {
            const int64_t length = 7 / parts + (part < 7 % parts);
            int32_t got[14];
            y = NULL;
            OK(t, kiln_array_rearrange(KILN_REARRANGE_SECTION, args, 1,
                                       (int64_t[]){-1, part, parts, 0}, 4, &y, &t->err));
            assert_true(kiln_array_shape(y)[0] == 2 && kiln_array_shape(y)[1] == length);
            OK(t, kiln_array_to_host(y, got, (size_t)(2 * length) * sizeof *got, NULL, &t->err));
            for (int64_t k = 0; k < length; k++)
                assert_true(got[k] == at + k && got[length + k] == 7 + at + k);
            if (length > 0)
                assert_ptr_equal(kiln_array_data(y), (char *)kiln_array_data(x) + 4 * at);
            at += length;
            kiln_array_release(y);
        }
        assert_int_equal(at, 7);
    }
    y = NULL;
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_rearrange(KILN_REARRANGE_SECTION, args, 1, (int64_t[]){1, 0, 2, 1}, 4, &y,
                               &t->err),
          "7 elements along axis 1 are no 2 equal parts");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_SECTION, args, 1, (int64_t[]){1, 2, 2, 0}, 4, &y,
                               &t->err),
          "the number of a part");
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_block__rows_are_plain_loops),
        TEST(test_block__parts_cover_an_axis),
    };
    return test_env_main(argc, argv, "test_block", tests, COUNT(tests));
}
