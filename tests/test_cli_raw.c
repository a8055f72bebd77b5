/*
 * test_cli_raw.c - `kiln raw` as a user meets it: the real program on the cpu device, judged by its
 * exit status, its two streams and the files it leaves.
 */
#include "cli_env.h"

#include <stdio.h>
#include <string.h>

#define RAW(...) KILN("raw", "--device", "cpu", __VA_ARGS__)
#define AXPY "--in", "raw const float32 x, raw float32 y, int32 n, float32 a"

static const float x[] = {0, 1, 2, 3, 4, 5}, y[] = {1, 1, 1, 1, 1, 1};
static const float want[] = {1, 3.5f, 6, 8.5f, 11, 1};

static void test_cli_raw__launches_a_kernel_of_a_file(void **state)
{
    (void)state;
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", AXPY, "x.npy", "y.npy",
        "5", "2.5");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 1.   3.5  6.   8.5 11.   1. ]\n");
    RAW("axpy.cu", "--kernel", "axpy< float >", "--grid", "4,1", "--block", "2,1,1", AXPY, "x.npy",
        "y.npy", "5", "2.5", "-o", "z.npy", "--option=-DUNUSED=1");
    EXPECT_DONE();
    assert_string_equal(cli.out, "");
    cli_expect_npy("z.npy", "<f4", "(6,)", want, sizeof want);
    cli_expect_npy("y.npy", "<f4", "(6,)", y, sizeof y); /* as it was */
    KILN("cache", "list");
    EXPECT_DONE();
    EXPECT_OUT("axpy<float>");
}

static void test_cli_raw__times_a_kernel(void **state)
{
    (void)state;
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", AXPY, "x.npy", "y.npy",
        "5", "2.5", "--time", "3");
    EXPECT_DONE();
    EXPECT_OUT("axpy<float> on cpu: median of 3 runs ");
}

static void test_cli_raw__wrong_usage_is_told(void **state)
{
    (void)state;
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", AXPY, "x.npy", "y.npy",
        "5", "2.5", "--time", "0");
    EXPECT_REFUSED(2, "--time 0");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", "--cluster", "2", AXPY,
        "x.npy", "y.npy", "5", "2.5");
    EXPECT_REFUSED(1, "cpu has no clusters");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", "--cooperative", AXPY,
        "x.npy", "y.npy", "5", "2.5");
    EXPECT_REFUSED(1, "cpu has no cooperative launches");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2,x", AXPY);
    EXPECT_REFUSED(2, "--block 2,x");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", AXPY);
    EXPECT_REFUSED(2, "--block");
    RAW("--kernel", "axpy<float>", "--grid", "4", "--block", "1", AXPY);
    EXPECT_REFUSED(2, "a file is missing");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", AXPY, "x.npy");
    EXPECT_REFUSED(2, "4 parameters");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", AXPY, "x.npy", "y.npy",
        "5", "2.5", "-o", "a.npy", "-o", "b.npy");
    EXPECT_REFUSED(2, "-o was given 2 times");
    RAW("axpy.cu", "--kernel", "axpi<float>", "--grid", "4", "--block", "2", AXPY, "x.npy", "y.npy",
        "5", "2.5");
    EXPECT_REFUSED(1, "axpi");
    RAW("axpy.cu", "--kernel", "axpy<float>", "--grid", "4", "--block", "2", AXPY, "x.npy", "y.npy",
        "5000000000", "2.5");
    EXPECT_REFUSED(1, "`n`");
    RAW("missing.cu", "--kernel", "f", "--grid", "1", "--block", "1", "--in", "");
    EXPECT_REFUSED(1, "missing.cu");
}

static int enter(void **state)
{
    if (cli_enter(state) != 0)
        return 1;
    cli_write("axpy.cu", "template <class T> __global__ void axpy(const T *x, T *y, int n, T a) {\n"
                         "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "    if (i < n)\n"
                         "        y[i] += a * x[i];\n"
                         "}\n");
    cli_write_npy("x.npy", "<f4", "(6,)", x, sizeof x);
    cli_write_npy("y.npy", "<f4", "(6,)", y, sizeof y);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_raw__launches_a_kernel_of_a_file),
        cmocka_unit_test(test_cli_raw__times_a_kernel),
        cmocka_unit_test(test_cli_raw__wrong_usage_is_told),
    };
    return cmocka_run_group_tests_name("test_cli_raw", tests, enter, cli_leave);
}
