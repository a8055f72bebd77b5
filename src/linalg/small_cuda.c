/*
 * small_cuda.c - factorisations of stacks of small matrices by kernels of kiln's own, a group of lanes a matrix, or a
 * block a matrix that fits its shared memory.
 *
 *     factor_cuda.c > [operands without gaps, kernel of that size] > templates/linalg/
 *
 * A kernel is compiled for one size, as everything is unrolled; the context keeps it. A stack is one launch, with no
 * copies into another order and no lists of addresses, which a library's batched routines need.
 */
#include <float.h>
#include <stdio.h>

#include "linalg/solver_gpu.h"

enum { SIDE_MAX = 32, BLOCK = 128 };
/* Of matrices that fit the shared memory of a block: rows at most, and those from which on a block has more threads. */
enum { BLOCK_ROWS_MAX = 256, BLOCK_ROWS_WIDE = 128 };

/* As templates/linalg/small.cu has it. */
typedef struct arguments {
    const void *a, *b;
    void *y, *z, *w;
    void *info, *failed, *pivots;
    int64_t count, a_step, b_step;
} arguments;

bool kiln__small_suits(const kiln__solver_gpu *g)
{
    const kiln__solver *s = g->s;

    return (s->dtype == KILN_FLOAT32 || s->dtype == KILN_FLOAT64) && s->m <= SIDE_MAX &&
           s->n <= SIDE_MAX && s->m > 0 && s->n > 0 && s->columns <= SIDE_MAX && s->columns != 0 &&
           s->layout.count > 0;
}

/* Bytes of shared memory for columns of a matrix: a row more makes their number odd. */
static size_t room_of(int64_t m, int64_t columns, kiln_dtype dtype)
{
    return (size_t)((m | 1) * columns) * kiln_dtype_size(dtype);
}

bool kiln__block_suits(const kiln__solver_gpu *g, int64_t columns)
{
    const kiln__solver *s = g->s;
    const size_t more = (BLOCK_ROWS_MAX + 32) * sizeof(double); /* what the kernel has besides */
    kiln__raw_limits limits;

    return (s->dtype == KILN_FLOAT32 || s->dtype == KILN_FLOAT64) && s->m > 0 && s->n > 0 &&
           s->m <= BLOCK_ROWS_MAX && s->n <= INT16_MAX && s->layout.count > 0 &&
           s->layout.count <= INT32_MAX &&
           kiln__raw_limits_get(kiln__context_device(s->ctx), &limits, NULL) == KILN_OK &&
           room_of(s->m, s->n > columns ? s->n : columns, s->dtype) + more <= limits.shared_bytes;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* One that was asked for; the context keeps its code (own.c). */
struct kiln__small_kernel {
    kiln__small_kernel *next;
    kiln__small_variant variant;
    void *entry;
};

void kiln__small_clear(kiln__small_kernel *first)
{
    for (kiln__small_kernel *k = first, *next; k != NULL; k = next) {
        next = k->next;
        kiln__free(k);
    }
}

/* Lanes of a group: a power of two. Factors by columns need a lane for each column of them, the others one for each
 * row. */
static int lanes_of(const kiln__small_variant *s)
{
    const bool columns = s->kind == KILN__SMALL_JACOBI || (s->kind == KILN__SMALL_QR && !s->task);
    const int wanted = s->m > s->n && !columns ? s->m : s->n;
    int lanes = 2;

    while (lanes < wanted && lanes < 32)
        lanes *= 2;
    return lanes;
}

/* Columns that the kernel of a block keeps: those of the matrix, and of Q. */
static int columns_of(const kiln__small_variant *s)
{
    return s->task != 0 && s->m > s->n ? s->m : s->n;
}

void kiln__small_request(const kiln__small_variant *s, kiln__small_texts *t)
{
    static const char *const files[] = {[KILN__SMALL_CHOLESKY] = "linalg/cholesky.cu",
                                        [KILN__SMALL_LU] = "linalg/lu.cu",
                                        [KILN__SMALL_QR] = "linalg/qr.cu",
                                        [KILN__SMALL_QR_BLOCK] = "linalg/qr_block.cu",
                                        [KILN__SMALL_JACOBI] = "linalg/jacobi.cu"};
    const bool narrow = s->dtype == KILN_FLOAT32;
    const struct {
        const char *name;
        int value;
    } numbers[] = {{"M", s->m},
                   {"N", s->n},
                   {"COLUMNS", s->columns},
                   {"TASK", s->task},
                   {"UPPER", s->upper},
                   {"TURNED", s->turned},
                   {"LANES", lanes_of(s)},
                   {"ROOM", (int)room_of(s->m, columns_of(s), (kiln_dtype)s->dtype)},
                   {"MANTISSA", narrow ? FLT_MANT_DIG - 1 : DBL_MANT_DIG - 1},
                   {"BIAS", narrow ? FLT_MAX_EXP - 1 : DBL_MAX_EXP - 1}};
    size_t count = 0;

    for (; count < KILN_COUNT_OF(numbers); count++)
        snprintf(t->text[count], sizeof t->text[0], "-DKILN__%s=%d", numbers[count].name,
                 numbers[count].value);
    snprintf(t->text[count++], sizeof t->text[0], "-DKILN__T=%s", narrow ? "float" : "double");
    snprintf(t->text[count++], sizeof t->text[0], "-DKILN__WORD=%s",
             narrow ? "unsigned" : "unsigned long");
    snprintf(t->text[count++], sizeof t->text[0], "-DKILN__EPSILON=%.9g",
             narrow ? (double)FLT_EPSILON : DBL_EPSILON);
    for (size_t k = 0; k < count; k++)
        t->macros[k] = t->text[k];
    t->request = (kiln__own_request){
        .file = files[s->kind], .entry = "kiln_small", .macros = t->macros, .macro_count = count};
}

static kiln_status get_kernel(kiln__solver_gpu *g, const kiln__small_variant *s, void **entry_out,
                              kiln_error *err)
{
    kiln__small_kernel *k = *g->small_kernels;
    kiln__small_texts texts;

    while (k != NULL && memcmp(&k->variant, s, sizeof *s) != 0)
        k = k->next;
    if (k == NULL) {
        kiln__small_request(s, &texts);
        KILN_CHECK(kiln__own_kernel(g->s->ctx, &texts.request, entry_out, err));
        KILN_CHECK(kiln__make_zeroed(&k, 1, sizeof *k, err));
        *k = (kiln__small_kernel){.next = *g->small_kernels, .variant = *s, .entry = *entry_out};
        *g->small_kernels = k;
    }
    *entry_out = k->entry;
    return KILN_OK;
}

static kiln__launch_config config_of(const kiln__small_variant *s, int64_t count)
{
    if (s->kind == KILN__SMALL_QR_BLOCK)
        return (kiln__launch_config){
            .grid_x = count,
            .block = s->m > BLOCK_ROWS_WIDE ? 512 : 256,
            .shared_bytes = (uint32_t)room_of(s->m, columns_of(s), (kiln_dtype)s->dtype)};
    return (kiln__launch_config){.grid_x = kiln__blocks(count, BLOCK / lanes_of(s)),
                                 .block = BLOCK};
}

/* ---- operands -------------------------------------------------------------------------------- */

/* An operand without gaps, of the call's dtype: one matrix, or as many as the stack has. `step` counts elements from
 * one to the next. The array itself where it is such, else a copy. */
static kiln_status take(kiln__solver_gpu *g, const kiln_array *x, int axes, kiln_array **out,
                        int64_t *step, kiln_error *err)
{
    const kiln__solver *s = g->s;
    const int rank = s->layout.stack_rank;
    int64_t shape[KILN_RANK_MAX], each = 1;
    kiln_array *whole = NULL;
    kiln_status status = KILN_OK;

    for (int k = x->rank - axes; k < x->rank; k++)
        each *= x->shape[k];
    memcpy(shape, s->layout.stack, (size_t)rank * sizeof shape[0]);
    memcpy(shape + rank, x->shape + x->rank - axes, (size_t)axes * sizeof shape[0]);
    *step = x->size == each ? 0 : each;
    if (x->size == each || x->size == each * s->layout.count)
        whole = kiln_array_retain((kiln_array *)x);
    else
        KILN_TRY(kiln_array_broadcast_to(x, rank + axes, shape, &whole, err));
    if (whole->contiguous && whole->dtype == s->dtype && (uintptr_t)whole->data % 16 == 0) {
        *out = whole;
        whole = NULL;
        if ((*out)->storage->home != s->stream)
            kiln__storage_used_on((*out)->storage, s->stream);
    } else {
        KILN_TRY(kiln__array_copy_as(whole, s->dtype, NULL, s->stream, out, err));
    }

done:
    kiln_array_release(whole);
    return status;
}

kiln_status kiln__small_run(kiln__solver_gpu *g, kiln__small_kind kind, int task, bool turned,
                            const kiln__small_results *r, kiln_error *err)
{
    kiln__solver *s = g->s;
    const int64_t count = s->layout.count;
    kiln_array *a = NULL, *b = NULL;
    arguments call = {.count = count};
    void *entry = NULL;
    kiln_status status = KILN_OK;
    const kiln__small_variant wanted = {.kind = (int32_t)kind,
                                        .dtype = (int32_t)s->dtype,
                                        .task = task,
                                        .m = (int32_t)(turned ? s->n : s->m),
                                        .n = (int32_t)(turned ? s->m : s->n),
                                        .columns = r->columns > 0 ? (int32_t)r->columns : 1,
                                        .upper = s->o.upper,
                                        .turned = turned};

    KILN_TRY(get_kernel(g, &wanted, &entry, err));
    KILN_TRY(take(g, s->a, 2, &a, &call.a_step, err));
    if (s->b != NULL)
        KILN_TRY(take(g, s->b, s->columns < 0 ? 1 : 2, &b, &call.b_step, err));
    kiln_array_release(g->info);
    g->info = NULL;
    KILN_TRY(kiln__array_new(s->ctx, KILN_INT32, 1, &count, NULL, s->stream, &g->info, err));
    g->info_of_stack = true;
    call.a = a->data;
    call.b = b != NULL ? b->data : NULL;
    call.y = r->y != NULL ? r->y->data : NULL;
    call.z = r->z != NULL ? r->z->data : NULL;
    call.w = r->w != NULL ? r->w->data : NULL;
    call.pivots = g->pivots != NULL ? g->pivots->data : NULL;
    call.info = g->info->data;
    call.failed = g->failed;
    *g->failed = 0;
    const kiln__launch_config config = config_of(&wanted, count);
    KILN_TRY(kiln__launch(kiln__context_device(s->ctx), entry, &config, &call, sizeof call,
                          s->stream, err));

done:
    kiln_array_release(a);
    kiln_array_release(b);
    return status;
}
