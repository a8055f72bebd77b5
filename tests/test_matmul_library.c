/*
 * test_matmul_library.c - what kiln_matmul() asks cuBLASLt for: seen in the notes of its stand-in on an emulated GPU;
 * elsewhere only that results are right.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "emulator/stand_in.h"
#include "matmul_oracle.h"

/* Transposed operands and outputs go to the library as they lie, and what follows by its epilogue: seen in the
 * notes of the stand-in. */
static void test_matmul_library__gives_the_library_what_it_takes(void **state)
{
    enum { M = 8, K = 6, N = 4, RELU_BIAS = 6, TF32 = 77 };
    test_env *t = *state;
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const stand_in_call *last = library != NULL ? dlsym(library, "stand_in_last") : NULL;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;

    if (!t->cuda || last == NULL) {
        print_message("no stand-in for cuBLASLt here\n");
        skip();
    }
    kiln_array *a = in_way(t, KILN_FLOAT32, 1, M, K), *b = in_way(t, KILN_FLOAT32, 0, K, N);
    kiln_array *bias = random_array(t, KILN_FLOAT32, 1, (const int64_t[]){N}), *y = NULL,
               *one = NULL;
    kiln_array *stack = random_array(t, KILN_FLOAT32, 3, (const int64_t[]){5, M, K}), *z = NULL;
    options.bias = bias;
    options.epilogue = KILN_EPILOGUE_RELU;
    options.compute = KILN_COMPUTE_TF32;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    /* y' = b' a': b is what comes first, as it lies; a was transposed, so that a' is not. */
    assert_true(last->m == N && last->n == M && last->count == 1);
    assert_true(last->a == kiln_array_data(b) && last->b == kiln_array_data(a));
    assert_true(!last->transposed[0] && last->transposed[1]);
    assert_int_equal(last->epilogue, RELU_BIAS);
    assert_true(last->bias == kiln_array_data(bias)); /* as it lies */
    assert_int_equal(last->compute, TF32);
    /* A bias that the library cannot read is copied: one number for all columns. */
    OK(t, kiln_array_slice(bias, 0, 1, 2, 1, &one, &t->err));
    options.bias = one;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    assert_int_equal(last->epilogue, RELU_BIAS);
    assert_true(last->bias != kiln_array_data(one));
    /* A stack times one matrix is one product with more rows. */
    OK(t, kiln_matmul(stack, b, NULL, &z, &t->err));
    assert_true(last->m == N && last->n == 5 * M && last->count == 1);
    assert_true(last->d == kiln_array_data(z));
    kiln_array *const all[] = {a, b, bias, one, y, stack, z};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void check_ways(test_env *t, kiln_dtype dtype, int way, const int64_t *sides,
                       const kiln_matmul_options *options)
{
    kiln_array *a = in_way(t, dtype, way % 2, sides[0], sides[1]), *y = NULL;
    kiln_array *b = in_way(t, dtype, way / 2, sides[1], sides[2]);

    OK(t, kiln_matmul(a, b, options, &y, &t->err));
    check_product(t, a, b, y, &plain);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(y);
}

/* y = 2 * a @ b - c in a way of laying out `c` and one of `y`, measured or not, at once or by a program. */
static void check_added(test_env *t, int c_way, int y_way, bool tuned, bool recorded,
                        const stand_in_call *last)
{
    enum { M = 8, K = 6, N = 12 };
    kiln_array *a = in_way(t, KILN_FLOAT32, 0, M, K), *b = in_way(t, KILN_FLOAT32, 1, K, N);
    kiln_array *c = in_way(t, KILN_FLOAT32, c_way, M, N), *y = in_way(t, KILN_FLOAT32, y_way, M, N);
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    void *added = elements(t, c);
    kiln_program *program = NULL;
    kiln_stream *stream = NULL;

    options.c = c;
    options.alpha = 2;
    options.beta = -1;
    options.autotune = tuned;
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    options.stream = stream;
    if (recorded)
        OK(t, kiln_capture_begin(t->ctx, stream, &t->err));
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    if (recorded) {
        OK(t, kiln_capture_end(t->ctx, stream, &program, &t->err));
        OK(t, kiln_program_run(program, stream, &t->err));
    }
    OK(t, kiln_stream_synchronize(stream, &t->err));
    check_product(t, a, b, y, &(oracle){.alpha = 2, .beta = -1, .c = added});
    check_product(t, a, b, c, &(oracle){.alpha = 0, .beta = 1, .c = added}); /* as it was */
    if (t->cuda && last != NULL) /* ways 0, 3 and 7 have rows without gaps, way 1 columns */
        assert_int_equal(last->c == kiln_array_data(c),
                         y_way == 1 ? c_way == 1 : c_way == 0 || c_way == 3 || c_way == 7);
    free(added);
    kiln_program_destroy(program);
    kiln_stream_destroy(stream);
    kiln_array *const all[] = {a, b, c, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* What is added is read as it lies where its matrices lie as those of the result; else it is copied. */
static void test_matmul_library__reads_what_is_added_where_it_lies(void **state)
{
    static const int y_ways[] = {0, 1, 7};
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const stand_in_call *last = library != NULL ? dlsym(library, "stand_in_last") : NULL;

    for (int k = 0; k < WAYS * (int)COUNT(y_ways) * 3; k++)
        check_added(*state, k % WAYS, y_ways[k / WAYS % 3], k / WAYS / 3 == 1, k / WAYS / 3 == 2,
                    last);
}

/* Stacks whose c steps otherwise than y does: (4, 3, 2, 5) of a larger array, or backwards; rows that fold. */
static void test_matmul_library__adds_stacks(void **state)
{
    static const char *const places[] = {"...", "::2", "::-1, 1:4", ":, ::-1", ":, :, :, 2:7"};
    static const int64_t wide[][4] = {
        {4, 3, 2, 5}, {8, 3, 2, 5}, {4, 5, 2, 5}, {4, 3, 2, 5}, {4, 3, 2, 9}};
    test_env *t = *state;

    for (size_t k = 0; k < 3 * COUNT(places); k++) {
        const int folds =
            (int)(k / COUNT(places)); /* b: for each matrix, one for all, and for all rows */
        const int64_t rows = folds == 2 ? 1 : 2;
        const int64_t a_shape[] = {4, 3, rows, 6}, b_shape[] = {4, 3, 6, 5};
        const int64_t *w = wide[k % COUNT(places)], c_shape[] = {w[0], w[1], rows, w[3]};
        kiln_array *a = random_array(t, KILN_FLOAT32, 4, a_shape), *y = NULL, *one[4] = {NULL};
        kiln_array *b = random_array(t, KILN_FLOAT32, folds ? 2 : 4, b_shape + (folds ? 2 : 0));
        kiln_array *base = random_array(t, KILN_FLOAT32, 4, c_shape), *c = NULL;
        kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
        OK(t, kiln_array_view(base, places[k % COUNT(places)], &c, &t->err));
        options.c = c;
        OK(t, kiln_matmul(a, b, &options, &y, &t->err));
        for (int at = 0; at < 12; at++) {
            kiln_array *const whole[] = {a, c, y, b};
            char place[24];
            snprintf(place, sizeof place, "%d, %d", at / 3, at % 3);
            for (int which = 0; which < (folds ? 3 : 4); which++)
                OK(t, kiln_array_view(whole[which], place, &one[which], &t->err));
            void *added = elements(t, one[1]);
            check_product(t, one[0], folds ? b : one[3], one[2],
                          &(oracle){.alpha = 1, .beta = 1, .c = added});
            free(added);
            for (int which = 0; which < 4; which++) {
                kiln_array_release(one[which]);
                one[which] = NULL;
            }
        }
        kiln_array *const all[] = {a, b, base, c, y};
        for (size_t i = 0; i < COUNT(all); i++)
            kiln_array_release(all[i]);
    }
}

/* y is c moved down by a row: c is read before it is written. */
static void test_matmul_library__adds_what_overlaps_the_result(void **state)
{
    enum { M = 5, K = 6, N = 4 };
    test_env *t = *state;
    kiln_array *a = in_way(t, KILN_FLOAT32, 0, M, K), *b = in_way(t, KILN_FLOAT32, 0, K, N);
    kiln_array *base = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){M + 1, N});
    kiln_array *c = NULL, *y = NULL;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;

    OK(t, kiln_array_view(base, ":-1", &c, &t->err));
    OK(t, kiln_array_view(base, "1:", &y, &t->err));
    void *added = elements(t, c);
    options.c = c;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    check_product(t, a, b, y, &(oracle){.alpha = 1, .beta = 1, .c = added});
    free(added);
    kiln_array *const all[] = {a, b, base, c, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Of int8 the library takes sides that are multiples of four; others, and rows, are for kernels of kiln's. */
static void test_matmul_library__multiplies_int8_on_tensor_cores(void **state)
{
    static const int64_t sides[][3] = {{8, 12, 4}, {5, 16, 8}, {1, 4, 4}, {8, 6, 4}, {8, 8, 6}};
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const unsigned *count = library != NULL ? dlsym(library, "stand_in_count") : NULL;

    for (size_t k = 0; k < 4 * COUNT(sides); k++) {
        const int64_t *s = sides[k / 4];
        const unsigned before = count != NULL ? *count : 0;
        check_ways(*state, KILN_INT8, (int)k % 4, s, NULL);
        if (count != NULL)
            assert_int_equal(*count - before, s[0] > 1 && s[1] % 4 == 0 && s[2] % 4 == 0);
    }
}

/* An output that exists may lie in any way; the library is given one that lies as it wants. */
static void test_matmul_library__int8_goes_into_outputs_of_any_strides(void **state)
{
    enum { M = 5, K = 16, N = 8, OUTPUTS = 6 };
    test_env *t = *state;

    for (int way = 0; way < OUTPUTS; way++) {
        kiln_array *a = in_way(t, KILN_INT8, 0, M, K), *b = in_way(t, KILN_INT8, way % 2, K, N);
        kiln_array *y = in_way(t, KILN_INT32, way, M, N), *given = y;
        OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
        assert_ptr_equal(y, given);
        check_product(t, a, b, y, &plain);
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_array_release(y);
    }
}

/* Of float8_e4m3fn it takes sums and columns that are multiples of 16, for each dtype of the result; other
 * sides, rows, and float8_e5m2 are multiplied in a wider dtype. All of the values are exact. */
static void check_float8(test_env *t, kiln_dtype dtype, kiln_dtype out, int way,
                         const int64_t *sides)
{
    enum { E4M3 = 28 };
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const stand_in_call *last = library != NULL ? dlsym(library, "stand_in_last") : NULL;
    const bool taken =
        dtype == KILN_FLOAT8_E4M3FN && sides[0] > 1 && sides[1] % 16 == 0 && sides[2] % 16 == 0;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;

    options.dtype = out;
    check_ways(t, dtype, way, sides, &options);
    if (t->cuda && last != NULL)
        assert_int_equal(last->type == E4M3, taken);
    kiln_array *a = in_way(t, dtype, 0, sides[0], sides[1]), *y = NULL;
    kiln_array *b = in_way(t, dtype, 1, sides[1], sides[2]);
    const kiln_dtype result = out != KILN_DTYPE_NONE ? out : KILN_FLOAT32;
    kiln_array *bias = random_array(t, result, 1, &sides[2]);
    void *added = elements(t, bias);
    options.bias = bias;
    options.epilogue = KILN_EPILOGUE_RELU;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), result);
    check_product(t, a, b, y, &(oracle){.alpha = 1, .bias = added, .epilogue = KILN_EPILOGUE_RELU});
    free(added);
    kiln_array *const all[] = {a, b, bias, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_matmul_library__multiplies_float8_on_tensor_cores(void **state)
{
    static const int64_t sides[][3] = {
        {8, 32, 16}, {5, 16, 32}, {1, 16, 16}, {8, 24, 16}, {8, 16, 8}};
    static const kiln_dtype dtypes[] = {KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E5M2};
    static const kiln_dtype outs[] = {KILN_DTYPE_NONE, KILN_FLOAT16, KILN_BFLOAT16};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(sides) * COUNT(dtypes) * COUNT(outs); k++)
        check_float8(t, dtypes[k % 2], outs[k / 2 % 3], (int)k % 4, sides[k / 6]);
    kiln_array *a = in_way(t, KILN_FLOAT8_E4M3FN, 0, 16, 16), *y = NULL;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    options.dtype = KILN_FLOAT8_E4M3FN;
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(a, a, &options, &y, &t->err), "cannot be float8_e4m3fn");
    kiln_array_release(a);
}

/* Two kinds of float8 have float16 in common, which their product has; the library takes them as they are. */
static void check_mixed(test_env *t, bool turned, kiln_dtype out, int way, const int64_t *sides,
                        const stand_in_call *last)
{
    enum { E4M3 = 28, E5M2 = 29 };
    const kiln_dtype kinds[] = {KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E5M2};
    const bool taken = sides[0] > 1 && sides[1] % 16 == 0 && sides[2] % 16 == 0;
    kiln_array *a = in_way(t, kinds[turned], way % 2, sides[0], sides[1]), *y = NULL;
    kiln_array *b = in_way(t, kinds[!turned], way / 2, sides[1], sides[2]), *same = NULL;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;

    options.dtype = out;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), out != KILN_DTYPE_NONE ? out : KILN_FLOAT16);
    OK(t, kiln_array_cast(b, kinds[turned], &same, &t->err)); /* the oracle takes one dtype */
    check_product(t, a, same, y, &plain);
    if (t->cuda && last != NULL) { /* y' = b' a' */
        assert_int_equal(last->type == (turned ? E4M3 : E5M2), taken);
        assert_int_equal(last->b_type == (turned ? E5M2 : E4M3), taken);
    }
    kiln_array *const all[] = {a, b, same, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_matmul_library__multiplies_two_kinds_of_float8(void **state)
{
    static const int64_t sides[][3] = {{8, 32, 16}, {5, 16, 32}, {1, 16, 16}, {8, 24, 16}};
    static const kiln_dtype outs[] = {KILN_DTYPE_NONE, KILN_FLOAT32};
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const stand_in_call *last = library != NULL ? dlsym(library, "stand_in_last") : NULL;

    for (int k = 0; k < 4 * (int)COUNT(sides) * 4; k++)
        check_mixed(*state, k % 2, outs[k / 2 % 2], k / 4 % 4, sides[k / 16], last);
}

/* Each product of a stack of two axes. */
static void check_stack(test_env *t, const kiln_array *a, const kiln_array *b, const kiln_array *y)
{
    for (int64_t i = 0; i < kiln_array_shape(y)[0]; i++)
        for (int64_t j = 0; j < kiln_array_shape(y)[1]; j++) {
            const kiln_array *const whole[] = {a, b, y};
            kiln_array *one[3] = {NULL};
            char place[48];
            snprintf(place, sizeof place, "%lld, %lld", (long long)i, (long long)j);
            for (size_t k = 0; k < COUNT(one); k++)
                OK(t, kiln_array_view(whole[k], place, &one[k], &t->err));
            check_product(t, one[0], one[1], one[2], &plain);
            for (size_t k = 0; k < COUNT(one); k++)
                kiln_array_release(one[k]);
        }
}

/* Heads of attention: a stack of two axes that are none in memory is copied where its matrices are small, and
 * multiplied by one call of the library; one of large matrices is used as it lies. */
static void test_matmul_library__copies_stacks_of_small_matrices(void **state)
{
    test_env *t = *state;
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const unsigned *count = library != NULL ? dlsym(library, "stand_in_count") : NULL;

    for (int large = 0; large < 2; large++) {
        const int64_t shape[] = {3, large ? 1024 : 5, 2, large ? 1 : 4};
        kiln_array *wide = random_array(t, KILN_FLOAT32, 4, shape), *a = NULL, *b = NULL, *y = NULL;
        kiln_array *given = NULL, *turned = NULL;
        unsigned before = count != NULL ? *count : 0;

        OK(t, kiln_array_transpose(wide, KILN_AXES(0, 2, 1, 3), &a, &t->err));
        OK(t, kiln_array_transpose(wide, KILN_AXES(0, 2, 3, 1), &b, &t->err));
        OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
        if (!large)
            check_stack(t, a, b, y);
        if (count != NULL)
            assert_int_equal(*count - before, large ? 3 : 1);
        if (!large) { /* into an output of the same kind */
            OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 4, (const int64_t[]){3, 5, 2, 5}, &given,
                                   &t->err));
            OK(t, kiln_array_transpose(given, KILN_AXES(0, 2, 1, 3), &turned, &t->err));
            before = count != NULL ? *count : 0;
            OK(t, kiln_matmul(a, b, NULL, &turned, &t->err));
            check_stack(t, a, b, turned);
            if (count != NULL)
                assert_int_equal(*count - before, 1);
        }
        kiln_array *const all[] = {wide, a, b, y, given, turned};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* Small integers are exact in all of them. */
static void test_matmul_library__computes_in_other_precisions(void **state)
{
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;

    for (int compute = KILN_COMPUTE_EXACT; compute <= KILN_COMPUTE_BF16X9; compute++) {
        options.compute = (kiln_compute)compute;
        check_ways(*state, KILN_FLOAT32, 0, (const int64_t[]){16, 24, 8}, &options);
    }
}

/* A product whose algorithms are measured, in a context with that cache folder. */
static void multiply_tuned(test_env *t, const char *folder)
{
    enum { SIDE = 24 };
    kiln_context_options made = KILN_CONTEXT_OPTIONS_INIT;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_context *const own = t->ctx;

    made.device = "cuda";
    made.cache_dir = folder;
    OK(t, kiln_context_create(&made, &t->ctx, &t->err));
    options.autotune = true;
    check_ways(t, KILN_FLOAT32, 0, (const int64_t[]){SIDE, SIDE, SIDE}, &options);
    kiln_context_release(t->ctx);
    t->ctx = own;
}

/* Change one byte of each small file in a folder and in those below; how many there are. */
static int damage_files(test_env *t, const char *folder)
{
    char command[320], path[256];
    int count = 0;

    snprintf(command, sizeof command, "find %s -type f -size +0c -size -4k", folder);
    FILE *names = popen(command, "r");
    assert_non_null(names);
    while (fgets(path, sizeof path, names) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, 0, SEEK_END), 0);
        const long at = (long)(test_random(t) % (uint64_t)ftell(file));
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        const int byte = fgetc(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_true(fputc(byte ^ 1 << test_random(t) % 8, file) != byte);
        assert_int_equal(fclose(file), 0);
        count++;
    }
    pclose(names);
    return count;
}

/* The fastest algorithm is taken, and found on disk by the next context, where nothing is measured. */
static void test_matmul_library__measures_algorithms_once(void **state)
{
    test_env *t = *state;
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const stand_in_call *last = library != NULL ? dlsym(library, "stand_in_last") : NULL;
    const unsigned *count = library != NULL ? dlsym(library, "stand_in_count") : NULL;
    char folder[] = "/tmp/kiln-tuned-XXXXXX", command[64];

    if (!t->cuda || last == NULL || count == NULL) {
        print_message("no stand-in for cuBLASLt here\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    const unsigned before = *count;
    multiply_tuned(t, folder);
    assert_true(*count - before > 4);
    assert_int_equal(last->algorithm, 1);
    assert_true(last->workspace_bytes > 0);
    const unsigned measured = *count;
    multiply_tuned(t, folder);
    assert_int_equal(*count - measured, 1);
    assert_int_equal(last->algorithm, 1);
    /* What the library does not know any more, or is damaged on disk, is measured again. */
    unsigned *refuses = dlsym(library, "stand_in_refuses");
    int measured_again = 0;
    assert_non_null(refuses);
    for (int turn = 0; turn < 6; turn++) {
        const unsigned earlier = *count;
        *refuses = turn == 0;
        if (turn > 0)
            assert_true(damage_files(t, folder) > 0);
        multiply_tuned(t, folder);
        assert_true(turn > 0 || *count - earlier > 4);
        measured_again += *count - earlier > 4;
    }
    assert_true(measured_again > 3); /* a byte that nobody reads may have been changed */
    *refuses = 0;
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* On the cpu device, and on streams that record, nothing is measured. */
static void test_matmul_library__records_what_is_not_measured(void **state)
{
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *a = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){12, 20});
    kiln_array *b = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){20, 8}), *y = NULL;
    kiln_program *program = NULL;
    kiln_stream *stream = NULL;

    options.autotune = true;
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){12, 8}, &y, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_capture_begin(t->ctx, stream, &t->err));
    options.stream = stream;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    OK(t, kiln_capture_end(t->ctx, stream, &program, &t->err));
    options.stream = NULL;
    OK(t, kiln_array_fill(y, 0, &t->err));
    OK(t, kiln_matmul(a, b, &options, &y, &t->err)); /* measured now */
    check_product(t, a, b, y, &plain);
    OK(t, kiln_array_fill(y, 0, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_program_run(program, stream, &t->err));
    OK(t, kiln_stream_synchronize(stream, &t->err));
    check_product(t, a, b, y, &plain);
    kiln_program_destroy(program);
    kiln_stream_destroy(stream);
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(y);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_matmul_library__computes_in_other_precisions), /* loads the library */
        TEST(test_matmul_library__gives_the_library_what_it_takes),
        TEST(test_matmul_library__reads_what_is_added_where_it_lies),
        TEST(test_matmul_library__adds_stacks),
        TEST(test_matmul_library__adds_what_overlaps_the_result),
        TEST(test_matmul_library__multiplies_int8_on_tensor_cores),
        TEST(test_matmul_library__int8_goes_into_outputs_of_any_strides),
        TEST(test_matmul_library__multiplies_float8_on_tensor_cores),
        TEST(test_matmul_library__multiplies_two_kinds_of_float8),
        TEST(test_matmul_library__copies_stacks_of_small_matrices),
        TEST(test_matmul_library__measures_algorithms_once),
        TEST(test_matmul_library__records_what_is_not_measured),
    };
    return test_env_main(argc, argv, "test_matmul_library", tests, COUNT(tests));
}
