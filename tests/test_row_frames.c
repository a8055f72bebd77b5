/*
 * test_row_frames.c - kernels of random programs over rows keep what they compute in registers; no GPU is needed.
 *
 *     random text, dtype, length > graph > steps > [jit > NVRTC, sm_90] > the frame that the ELF tells of
 *
 * Registers that a thread has no room for, and arrays that it reaches by a number which only runs decide, lie in
 * local memory, in the frame of the kernel. The usual run judges the same programs each time, whatever
 * KILN_TEST_SEED is: how many registers a thread needs is estimated, and how often an estimate is too low is no
 * matter of right and wrong. KILN_TEST_FRAMES is a number of programs to draw instead, of which KILN_TEST_SEED
 * is the first (bench/results/rows-machine-code.txt tells how many of them had large frames).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archs.h"
#include "device/cuda/frame.h"
#include "graph/graph.h"
#include "jit/jit.h"

/* Row programs that load weights are known to have up to 88 bytes: 22 words, of 64 elements and two weights. */
enum { FRAME_MAX = 96, UNITS = 132, ELEMENTS = 1 << 26, TEXT = 4096, INPUTS = 4 };

static kiln__target target;
static kiln__cache *cache; /* of nothing: all is compiled */

/* ---- frames ---------------------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

/* Bytes of the largest frame of an image's kernels, -1 where it tells of none: section ".nv.info" is a list of
 * attributes, of which those with format 4 have a size; number 0x11 is a symbol and the bytes of its frame. */
static int64_t frame_of(const unsigned char *elf, size_t bytes)
{
    const uint64_t sections = number_at(elf + 0x28, 8), count = number_at(elf + 0x3c, 2);
    const unsigned char *const names =
        elf + number_at(elf + sections + 64 * number_at(elf + 0x3e, 2) + 0x18, 8);
    int64_t frame = -1;

    assert_true(sections + 64 * count <= bytes);
    for (uint64_t s = 0; s < count; s++) {
        const unsigned char *const header = elf + sections + 64 * s;
        const unsigned char *at = elf + number_at(header + 0x18, 8);
        const unsigned char *const end = at + number_at(header + 0x20, 8);
        if (strcmp((const char *)names + number_at(header, 4), ".nv.info") != 0)
            continue;
        for (; at + 4 <= end; at += at[0] == 4 ? 4 + number_at(at + 2, 2) : 4)
            if (at[0] == 4 && at[1] == 0x11 && (int64_t)number_at(at + 8, 4) > frame)
                frame = (int64_t)number_at(at + 8, 4);
    }
    return frame;
}

/* The result's frame, and whether the library finds the same; clears the result. */
static int64_t frame_in(kiln__compile_result *result)
{
    const int64_t frame = frame_of(result->binary, result->bytes);

    assert_int_equal(result->frame_bytes, frame < 0 ? 0 : frame);
    kiln__compile_result_clear(result);
    return frame;
}

/* Of a source as it is. */
static int64_t compiled_frame(const char *source, const char *what)
{
    const kiln__compile_request request = {.target = target, .source = source};
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__compile(&request, &result, &err) != KILN_OK)
        fail_msg("%s: %s\n%s", what, err.message, source);
    return frame_in(&result);
}

/* Of the image that programs run. */
static int64_t built_frame(const kiln__definition *def, const kiln__source *source, const char *what)
{
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_error err = KILN_ERROR_INIT;
    double us = 0;

    if (kiln__jit_compile(cache, def, source, &target, NULL, &result, &us, &err) != KILN_OK)
        fail_msg("%s: %s\n%s", what, err.message, source->text);
    return frame_in(&result);
}

/* Images that are cut off, or of which some bytes are others, are read without harm. */
static void test_row_frames__broken_images_have_any_frame(void **state)
{
    const kiln__compile_request request = {
        .target = target, .source = "extern \"C\" __global__ void f(int *p) { p[0] = 1; }"};
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    uint32_t random = 1;

    (void)state;
    assert_int_equal(kiln__compile(&request, &result, NULL), KILN_OK);
    for (size_t bytes = 0; bytes < result.bytes; bytes++) {
        unsigned char *const part = malloc(bytes + 1); /* whose end a sanitizer knows */
        assert_non_null(part);
        memcpy(part, result.binary, bytes);
        (void)kiln__cubin_frame(part, bytes);
        for (int k = 0; k < 8 && bytes > 0; k++) {
            random = random * 1664525 + 1013904223;
            part[(random >> 8) % (bytes < 64 || k % 2 == 0 ? bytes : 64)] = (unsigned char)(random >> 3);
        }
        (void)kiln__cubin_frame(part, bytes);
        free(part);
    }
    kiln__compile_result_clear(&result);
}

static void test_row_frames__arrays_that_are_indexed_are_frames(void **state)
{
    (void)state;
    const int64_t frame = compiled_frame("extern \"C\" __global__ void f(int *p, int n) { int v[100]; for (int k = 0; "
                                         "k < 100; k++) v[k] = p[k]; p[0] = v[n] + v[n / 2]; }",
                                         "an array");
    if (frame < 400)
        fail_msg("a frame of %lld bytes, where an array has 400", (long long)frame);
    assert_int_equal(compiled_frame("extern \"C\" __global__ void f(int *p) { p[0] = 1; }", "none"), 0);
}

/* ---- programs -------------------------------------------------------------------------------------- */

static uint64_t next_number(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* `@` is the value so far, `#` the next one, `!` what follows an axis of rows. */
static const char *const steps[] = {
    "# = @ - mean(@!)",
    "# = @ / sqrt(mean(@ * @!) + 1e-5)",
    "e# = exp(@ - max(@!)); # = e# / sum(e#!)",
    "m# = max(@!); # = @ - m# - log(sum(exp(@ - m#)!))",
    "d# = @ - mean(@!); # = d# / sqrt(mean(d# * d#!) + 1e-5) * w + b",
    "# = @ / max(abs(@)!)",
    "# = @ * w + y",
    "# = where(@ > 0, @, 0.1 * @) + b",
    "# = tanh(@) * y",
};
static const char *const ends[] = {"@", "@", "@", "sum(@, axis=-1)", "std(@, axis=-1)",
                                   "argmax(@, axis=-1)", "cumsum(@, axis=-1)", "log(sum(exp(@ - max(@!)), axis=-1))"};

static void put_step(char *text, const char *step, int nth, const char *before)
{
    char *at = text + strlen(text);

    for (; *step != '\0'; step++)
        at += *step == '@'   ? sprintf(at, nth > 0 ? "v%d" : "x", nth - 1)
              : *step == '#' ? sprintf(at, "v%d", nth)
              : *step == '!' ? sprintf(at, ", axis=-1, keepdims=True")
                             : sprintf(at, "%c", *step);
    strcat(at, before);
}

typedef struct program {
    char text[TEXT];
    kiln_dtype dtype;
    int64_t length;
    bool wide;
} program;

static void draw(uint64_t seed, program *p)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16};
    uint64_t state = seed * 1000003;
    const int count = 1 + (int)next_number(&state, 3);

    p->text[0] = '\0';
    for (int k = 0; k < count; k++)
        put_step(p->text, steps[next_number(&state, KILN_COUNT_OF(steps))], k, "; ");
    put_step(p->text, ends[next_number(&state, KILN_COUNT_OF(ends))], count, "");
    p->dtype = dtypes[next_number(&state, KILN_COUNT_OF(dtypes))];
    p->length = INT64_C(2) << next_number(&state, 17);
    if (next_number(&state, 2) != 0)
        p->length += (int64_t)next_number(&state, (uint64_t)p->length);
    p->wide = p->dtype != KILN_FLOAT32 && next_number(&state, 2) != 0;
}

/* ---- kernels --------------------------------------------------------------------------------------- */

/* `planned_only`: of the source as it was planned, not of what programs run. */
static int64_t step_frame(const kiln__step *step, bool planned_only, const char *what)
{
    const kiln__plan_device device = {
        .backend = KILN_BACKEND_CUDA, .units = UNITS, .clusters = true, .large_shared = true};
    kiln__definition *def = NULL;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__planned planned;
    kiln_error err = KILN_ERROR_INIT;

    kiln__step call = *step; /* of an operation that is a kernel of its own, such as a scan: that one's */
    if (step->kind == KILN__STEP_OPAQUE) {
        if (kiln__opaque_kernel(step, &call, &def, &err) != KILN_OK)
            fail_msg("%s: %s", what, err.message);
    } else if (kiln__definition_create(&step->request, &def, &err) != KILN_OK) {
        fail_msg("%s: %s", what, err.message);
    }
    if (def == NULL)
        return 0;
    if (kiln__step_plan(&call, def, &device, NULL, &planned, &err) != KILN_OK ||
        kiln__emit(def, &planned.variant, &source, &err) != KILN_OK)
        fail_msg("%s: %s", what, err.message);
    const int64_t frame =
        planned_only ? compiled_frame(source.text, what) : built_frame(def, &source, what);
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
    return frame;
}

/* The largest frame of a program's kernels. Weights and biases have an element for each place of a row. */
static int64_t largest_frame(const program *p, bool planned_only, const char *what)
{
    static const char *const names[INPUTS] = {"x", "y", "w", "b"};
    const int64_t size = (int64_t)kiln_dtype_size(p->dtype);
    const int64_t shape[] = {ELEMENTS / p->length, p->length}, strides[] = {p->length * size, size};
    const kiln__graph_target device = {.backend = KILN_BACKEND_CUDA, .clusters = true, .wide = p->wide};
    kiln_graph_options options = KILN_GRAPH_OPTIONS_INIT;
    kiln__graph_arg args[INPUTS + 1];
    kiln__program *built = NULL;
    kiln_graph *graph = NULL;
    kiln_error err = KILN_ERROR_INIT;
    int64_t frame = 0;

    memset(args, 0, sizeof args);
    options.wide = p->wide;
    for (int k = 0; k < INPUTS; k++) {
        const int first = k < 2 ? 0 : 1;
        args[k] = (kiln__graph_arg){.is_array = true,
                                    .dtype = p->dtype,
                                    .rank = 2 - first,
                                    .shape = shape + first,
                                    .strides = strides + first};
    }
    if (kiln__graph_from_text(NULL, p->text, names, INPUTS, &options, &graph, NULL, &err) != KILN_OK ||
        kiln__program_build(&graph->ir, args, &device, &built, &err) != KILN_OK)
        fail_msg("%s: %s\n%s", what, err.message, err.detail != NULL ? err.detail : "");
    for (size_t s = 0; s < built->step_count; s++) {
        const int64_t here = step_frame(&built->steps[s], planned_only, what);
        frame = here < 0 || here > frame ? here : frame;
    }
    kiln__program_destroy(built);
    kiln_graph_destroy(graph);
    return frame;
}

/* Whether no kernel of a program has a frame of more bytes; tells of every frame. */
static bool has_small_frame(const program *p, uint64_t seed, int64_t most)
{
    char what[TEXT + 128];

    snprintf(what, sizeof what, "KILN_TEST_FRAMES=1 KILN_TEST_SEED=%llu: %s, %s%s rows of %lld", (unsigned long long)seed,
             p->text, p->wide ? "wide " : "", kiln_dtype_name(p->dtype), (long long)p->length);
    const int64_t frame = largest_frame(p, false, what);
    if (frame != 0)
        print_message("%s: a frame of %lld bytes%s\n", what, (long long)frame,
                      frame < 0 || frame > most ? ", which is too large" : "");
    return frame >= 0 && frame <= most;
}

/* Programs of the usual run. But for the first two they had large frames once: clusters of 16-bit floats with four
 * stages (38) and with weights (123). */
static const uint64_t usual[] = {1, 2, 38, 123};

/* As planned they have large frames: of staged rows with a bias the addresses of all accesses are kept (20254), or
 * what was loaded (100111); and what is computed from 16-bit floats without any (1795485342). */
static void test_row_frames__images_with_large_frames_are_not_run(void **state)
{
    static const uint64_t seeds[] = {20254, 100111, 1795485342};
    static program p;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(seeds); k++) {
        draw(seeds[k], &p);
        const int64_t planned = largest_frame(&p, true, p.text), built = largest_frame(&p, false, p.text);
        if (planned <= FRAME_MAX || built > FRAME_MAX)
            fail_msg("%s: a frame of %lld bytes, %lld as planned", p.text, (long long)built, (long long)planned);
    }
}

static void test_row_frames__random_programs_over_rows_spill_little(void **state)
{
    const char *const count = getenv("KILN_TEST_FRAMES"), *const seed = getenv("KILN_TEST_SEED");
    const uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    const uint64_t programs = count != NULL ? strtoull(count, NULL, 10) : KILN_COUNT_OF(usual);
    uint64_t large = 0;
    static program p;

    (void)state;
    for (uint64_t k = 0; k < programs; k++) {
        const uint64_t which = count != NULL ? first + k : usual[k];
        draw(which, &p);
        large += !has_small_frame(&p, which, FRAME_MAX);
    }
    if (large > 0)
        fail_msg("%llu of %llu programs have frames of more than %d bytes", (unsigned long long)large,
                 (unsigned long long)programs, FRAME_MAX);
}

/* Programs that had frames before rows were divided by one reciprocal. */
static void test_row_frames__layer_norms_spill_nothing(void **state)
{
    static program p;

    (void)state;
    p.dtype = KILN_FLOAT32;
    strcpy(p.text, "d = x - mean(x, axis=-1, keepdims=True); "
                   "d / sqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5)");
    for (int k = 0; k < 2; k++) {
        p.length = k == 0 ? 1000 : 131072;
        assert_true(has_small_frame(&p, 0, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_frames__arrays_that_are_indexed_are_frames),
        cmocka_unit_test(test_row_frames__broken_images_have_any_frame),
        cmocka_unit_test(test_row_frames__layer_norms_spill_nothing),
        cmocka_unit_test(test_row_frames__images_with_large_frames_are_not_run),
        cmocka_unit_test(test_row_frames__random_programs_over_rows_spill_little),
    };
    kiln__target known[ARCHS_MAX];
    const size_t count = kiln__compiler_targets(KILN_BACKEND_CUDA, known, ARCHS_MAX);

    for (size_t k = 0; k < count && k < ARCHS_MAX; k++)
        if (strcmp(known[k].name, "sm_90") == 0)
            target = known[k];
    if (target.name[0] == '\0') {
        fprintf(stderr, "SKIPPED: there is no NVRTC for sm_90\n");
        return 77;
    }
    cache = kiln__cache_open("", NULL);
    if (cache == NULL)
        return 1;
    const int failed = cmocka_run_group_tests_name("test_row_frames", tests, NULL, NULL);
    kiln__cache_close(cache);
    return failed;
}
