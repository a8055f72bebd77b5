/*
 * test_module_args.c - what raw kernels are given: structs by value, other arguments of prepared launches,
 * and arguments of programs that change.
 *
 * Expected values are computed by plain loops.
 */
#include <string.h>

#include "module_env.h"

/* As the source has it. */
typedef struct settings {
    int first;
    double factor[3];
    unsigned char flags[5];
} settings;

typedef struct wide {
    _Alignas(64) float values[16];
} wide;

static const char source[] = LINES(
    struct settings {
        int first;
        double factor[3];
        unsigned char flags[5];
    };
    struct alignas(64) wide { float values[16]; };
    extern "C" __global__ void apply(const double *x, double *y, int n, settings s, float add) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n)
            y[i] = s.factor[i % 3] * x[i] + s.first + s.flags[i % 5] + add;
    } extern "C" __global__ void spread(char shift, wide w, float *y) {
        y[threadIdx.x] = w.values[threadIdx.x] + shift;
    });

enum { N = 40 };

static const settings given = {5, {0.5, 2, -1}, {1, 2, 3, 4, 250}};
static const char *const signatures[] = {
    "raw const float64 x, raw float64 y, int32 n, struct s, float32 add", NULL};

typedef struct fixture {
    kiln_module *m;
    kiln_raw *apply;
    kiln_array *x, *other, *y;
} fixture;

static void begin(test_env *t, fixture *f, const char *signature)
{
    double x[N], other[N];
    const int64_t size = N;

    for (int k = 0; k < N; k++) {
        x[k] = k;
        other[k] = 100 + 2 * k;
    }
    OK(t, kiln_module_create(t->ctx, source, NULL, &f->m, &t->err));
    f->apply = kernel(t, f->m, "apply", signature);
    f->x = upload(t, KILN_FLOAT64, N, x);
    f->other = upload(t, KILN_FLOAT64, N, other);
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, 1, &size, &f->y, &t->err));
}

static void end(fixture *f)
{
    kiln_array_release(f->x);
    kiln_array_release(f->other);
    kiln_array_release(f->y);
    kiln_raw_destroy(f->apply);
    kiln_module_destroy(f->m);
}

/* Whether `y` holds what the kernel makes of first + step k; elements from `n` on are `rest`. */
static void check(test_env *t, const kiln_array *y, double first, double step, const settings *s,
                  double add, int n)
{
    double got[N];

    download(t, y, got, sizeof got);
    for (int k = 0; k < n; k++) {
        const double want =
            s->factor[k % 3] * (first + step * k) + s->first + s->flags[k % 5] + add;
        CHECK(got[k] == want, "element %d: %g, not %g", k, got[k], want);
    }
}

static void test_module_args__structs_are_passed_by_value(void **state)
{
    test_env *t = *state;
    const kiln_raw_call_options o = threads(1, N);

    for (size_t k = 0; k < COUNT(signatures); k++) {
        fixture f;
        settings s = given;
        begin(t, &f, signatures[k]);
        OK(t,
           kiln_call_with(f.apply, &o, &t->err, f.x, f.y, N, kiln_arg_struct(&s, sizeof s), 0.5f));
        memset(&s, 0, sizeof s); /* it was read during the call */
        check(t, f.y, 0, 1, &given, 0.5, N);
        end(&f);
    }
}

static void test_module_args__structs_keep_their_alignment(void **state)
{
    test_env *t = *state;
    const kiln_raw_call_options o = threads(1, 16);
    const int64_t size = 16;
    kiln_module *m = NULL;
    kiln_array *y = NULL;
    float got[16];
    wide w;

    for (int k = 0; k < 16; k++)
        w.values[k] = 3.0f * (float)k;
    OK(t, kiln_module_create(t->ctx, source, NULL, &m, &t->err));
    kiln_raw *const spread = kernel(t, m, "spread", "int8 shift, struct w, raw float32 y");
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, &size, &y, &t->err));
    OK(t, kiln_call_with(spread, &o, &t->err, -2, kiln_arg_struct(&w, sizeof w), y));
    download(t, y, got, sizeof got);
    for (int k = 0; k < 16; k++)
        assert_float_equal(got[k], 3.0f * (float)k - 2, 0);
    kiln_array_release(y);
    kiln_raw_destroy(spread);
    kiln_module_destroy(m);
}

static void test_module_args__structs_that_do_not_fit_are_refused(void **state)
{
    test_env *t = *state;
    const kiln_raw_call_options o = threads(1, N);
    const kiln_arg whole = kiln_arg_struct(&given, sizeof given);
    kiln_raw *none = NULL;
    fixture f;

    for (size_t k = 0; k < COUNT(signatures); k++) {
        begin(t, &f, signatures[k]);
        FAILS(t, KILN_ERR_DTYPE,
              kiln_call_with(f.apply, &o, &t->err, f.x, f.y, N,
                             kiln_arg_struct(&given, sizeof given - 8), 0),
              "argument 4", "a struct of 32 bytes, and the kernel's has 40");
        FAILS(t, KILN_ERR_DTYPE, kiln_call_with(f.apply, &o, &t->err, f.x, f.y, N, 7, 0),
              "argument 4");
        FAILS(t, KILN_ERR_DTYPE, kiln_call_with(f.apply, &o, &t->err, f.x, f.y, N, f.x, 0),
              "argument 4");
        FAILS(t, KILN_ERR_DTYPE, kiln_call_with(f.apply, &o, &t->err, f.x, f.y, whole, whole, 0),
              "argument 3");
        FAILS(t, KILN_ERR_NULL,
              kiln_call_with(f.apply, &o, &t->err, f.x, f.y, N, kiln_arg_struct(NULL, sizeof given),
                             0),
              "argument 4", "NULL");
        end(&f);
    }
    begin(t, &f, NULL);
    FAILS(t, KILN_ERR_SYNTAX,
          kiln_module_kernel(f.m, "apply",
                             "raw float64 x, raw float64 y, int32 n, raw struct s, float32 a",
                             &none, &t->err),
          "by value");
    FAILS(t, KILN_ERR_DTYPE,
          kiln_module_kernel(f.m, "apply",
                             "raw float64 x, raw float64 y, int32 n, float64 s, float32 a", &none,
                             &t->err),
          "takes 8 bytes, and the function's parameter has 40");
    end(&f);
    kiln_elementwise *op = NULL;
    FAILS(t, KILN_ERR_UNKNOWN_TYPE,
          kiln_elementwise_create(t->ctx, "struct s", "float32 z", "z = 1", NULL, &op, &t->err),
          "struct");
    OK(t, kiln_elementwise_create(t->ctx, "float32 s", "float32 z", "z = s", NULL, &op, &t->err));
    kiln_array *z = NULL;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(op, &t->err, whole, &z), "kind");
    kiln_elementwise_destroy(op);
}

static void test_module_args__prepared_launches_take_others(void **state)
{
    test_env *t = *state;
    const kiln_raw_call_options o = threads(1, N);
    const settings second = {-1, {1, 1, 1}, {0, 0, 0, 0, 0}};

    for (size_t k = 0; k < COUNT(signatures); k++) {
        kiln_launch *launch = NULL;
        fixture f;
        begin(t, &f, signatures[k]);
        OK(t, kiln_raw_prepare(f.apply,
                               KILN_ARGS(f.x, f.y, 3, kiln_arg_struct(&given, sizeof given), 0.5f),
                               &o, &launch, &t->err));
        kiln_raw_destroy(f.apply); /* the launch has what it needs */
        f.apply = NULL;
        OK(t, kiln_launch_set(launch, 0, kiln_arg_array(f.other), &t->err));
        OK(t, kiln_launch_set(launch, 2, kiln_arg_int(N), &t->err));
        OK(t, kiln_launch_set(launch, 3, kiln_arg_struct(&second, sizeof second), &t->err));
        OK(t, kiln_launch_set(launch, 4, kiln_arg_float(-2), &t->err));
        kiln_array_release(f.other);
        f.other = NULL;
        FAILS(t, KILN_ERR_ARGUMENT, kiln_launch_set(launch, 5, kiln_arg_int(1), &t->err),
              "5 arguments");
        FAILS(t, KILN_ERR_RANGE, kiln_launch_set(launch, 2, kiln_arg_int(1LL << 40), &t->err),
              "argument 3");
        FAILS(t, KILN_ERR_DTYPE, kiln_launch_set(launch, 3, kiln_arg_struct(&second, 8), &t->err),
              "40");
        FAILS(t, t->cuda && signatures[k] == NULL ? KILN_ERR_ARGUMENT : KILN_ERR_DTYPE,
              kiln_launch_set(launch, 0, kiln_arg_int(0), &t->err), "argument 1");
        FAILS(t, KILN_ERR_NULL, kiln_launch_set(launch, 1, kiln_arg_array(NULL), &t->err),
              "argument 2");
        OK(t, kiln_launch_run(launch, NULL, &t->err)); /* none of them has changed it */
        check(t, f.y, 100, 2, &second, -2, N);
        kiln_launch_destroy(launch);
        end(&f);
    }
}

static void test_module_args__programs_take_others(void **state)
{
    test_env *t = *state;
    const kiln_raw_call_options o = threads(1, N);
    kiln_program *program = NULL;
    size_t input = 0, add = 0;
    fixture f;

    begin(t, &f, signatures[0]);
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_call_with(f.apply, &o, &t->err, f.x, f.y, N, kiln_arg_struct(&given, sizeof given),
                         0.5f));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    kiln_raw_destroy(f.apply);
    f.apply = NULL;
    OK(t, kiln_program_array_slot(program, f.x, &input, &t->err));
    OK(t, kiln_program_number_slot(program, "apply", "add", &add, &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    check(t, f.y, 0, 1, &given, 0.5, N);
    OK(t, kiln_program_set(program, input, kiln_arg_array(f.other), &t->err));
    OK(t, kiln_program_set(program, add, kiln_arg_float(3), &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    check(t, f.y, 100, 2, &given, 3, N);
    kiln_program_destroy(program);
    end(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_module_args__structs_are_passed_by_value),
        TEST(test_module_args__structs_keep_their_alignment),
        TEST(test_module_args__structs_that_do_not_fit_are_refused),
        TEST(test_module_args__prepared_launches_take_others),
        TEST(test_module_args__programs_take_others),
    };

    return test_env_main(argc, argv, "test_module_args", tests, COUNT(tests));
}
