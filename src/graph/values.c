/*
 * values.c - lists of more numbers than the text of a kernel should hold, as arrays.
 *
 *     [1, 2, ...] > a node whose data are the numbers > in a step, as arguments of a kernel, some at a time
 *
 * The kernel knows neither the numbers nor how many there are, so that another list needs no other one. parse.c
 * makes such nodes, and opaque.c runs them.
 *
 * Rule: whole numbers in a node's data may stand for extents (fusion.h); those of lists are halves of 32 bits.
 *
 * Tests: test_expression, tests/test_numpy_text.py.
 */
#include "graph/graph.h"

enum { AT_ONCE = 48 }; /* numbers of one launch */

/* clang-format off */
static const kiln__kept_texts texts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_values",
            .in = "T a0, T a1, T a2, T a3, T a4, T a5, T a6, T a7, T a8, T a9, T a10, "
                  "T a11, T a12, T a13, T a14, T a15, T a16, T a17, T a18, T a19, T a20, "
                  "T a21, T a22, T a23, T a24, T a25, T a26, T a27, T a28, T a29, T a30, "
                  "T a31, T a32, T a33, T a34, T a35, T a36, T a37, T a38, T a39, T a40, "
                  "T a41, T a42, T a43, T a44, T a45, T a46, T a47",
            .out = "T z",
            .snippet = {[KILN__SNIPPET_OP] =
                            "const T v[] = {"
                            "a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, "
                            "a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, "
                            "a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, "
                            "a44, a45, a46, a47""};\n"
                            "z = v[i]"},
        },
};
/* clang-format on */

static int64_t number_at(const int64_t *data, int64_t k)
{
    const int64_t *halves = data + KILN__VALUES_HEAD + 2 * k;
    return (int64_t)((uint64_t)halves[0] << 32 | (uint64_t)halves[1]);
}

void kiln__values_put(int64_t *data, int64_t k, int64_t bits)
{
    data[KILN__VALUES_HEAD + 2 * k] = (int64_t)((uint64_t)bits >> 32);
    data[KILN__VALUES_HEAD + 2 * k + 1] = (int64_t)((uint64_t)bits & UINT32_MAX);
}

static kiln_arg argument(const int64_t *data, int64_t k)
{
    const int64_t bits = k < data[KILN__VALUES_COUNT] ? number_at(data, k) : 0;
    double real;

    memcpy(&real, &bits, sizeof real);
    return data[KILN__VALUES_DTYPE] == KILN_FLOAT64 ? kiln_arg_float(real) : kiln_arg_int(bits);
}

kiln_status kiln__values_run(const int64_t *data, kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    kiln_arg args[AT_ONCE + 1];
    kiln_array *part = NULL;
    kiln_status status = KILN_OK;

    for (int64_t at = 0; at < out->size; at += AT_ONCE) {
        KILN_TRY(kiln_array_slice(out, 0, at, at + AT_ONCE, 1, &part, err));
        for (int64_t k = 0; k < AT_ONCE; k++)
            args[k] = argument(data, at + k);
        args[AT_ONCE] = kiln_arg_array(part);
        KILN_TRY(kiln__kept_run(out->ctx, &texts, args, KILN_COUNT_OF(args), stream, err));
        kiln_array_release(part);
        part = NULL;
    }

done:
    kiln_array_release(part);
    return status;
}
