/*
 * product_cuda.c - a product by cuBLASLt, with what the library decides kept for each problem.
 *
 *     kiln__product > problem (columns first) > [plan: descriptors, algorithm] > cublasLtMatmul
 *
 * The library takes matrices whose columns lie without gaps. A `y` in C-order is one whose transpose is such:
 * y' = b' a' is computed then, and the bias, one number for each column of y, is one for each row of y', which
 * is what its epilogue adds.
 *
 * Rule 1: a problem is everything that the library may look at when it chooses an algorithm: equal problems
 *         have equal plans, and a call whose problem is known makes one call of the library.
 * Rule 2: a plan is immutable. The address of a bias is part of a descriptor, so calls that have one make
 *         their own.
 * Rule 3: the workspace is pool memory in the order of the call's stream.
 * Rule 4: a recorded call decides all of this anew at each replay's making. It finds the same, whatever addresses
 *         a program has put in since: their alignment counts no further than programs keep it.
 */
#include "linalg/gpu_library.h"

/* Algorithms that are measured. */
enum { TUNED = 8 };

/* What the library may use: NVIDIA's advice for its newest GPUs. */
#define WORKSPACE_BYTES ((size_t)32 << 20)
#define ALIGNMENT_MAX 256u
#define ALIGNMENT_RECORDED 64u

/* a, b, c and d of the library's problem; c is d where nothing else is added. */
enum { SIDE_A, SIDE_B, SIDE_C, SIDE_D, SIDES };

/* Compared and hashed as bytes: no padding, and read_problem() sets every field. */
typedef struct problem {
    int64_t m, n, k, count;
    int64_t step[SIDES];  /* elements from column to column */
    int64_t batch[SIDES]; /* elements from matrix to matrix */
    uint32_t alignment[SIDES];
    uint32_t transposed[2];
    uint32_t in[2]; /* dtypes of a and b */
    uint32_t out, compute, epilogue;
    uint32_t adds;  /* whether c is read */
    uint32_t apart; /* whether c is not d */
    uint32_t tuned; /* whether algorithms are measured */
} problem;

typedef struct plan {
    uint64_t hash; /* first: plans are items of a memo */
    problem problem;
    const kiln__lt *lt;
    kiln__lt_desc desc;
    kiln__lt_layout layout[SIDES];
    kiln__lt_heuristic choice;
    bool possible; /* whether the library has an algorithm */
    bool settled; /* whether it stays; a problem that is to be measured may have to wait for that */
} plan;

/* What a context keeps. */
typedef struct kept {
    kiln__device *device;
    kiln__cache *cache;
    const kiln__lt *lt;
    kiln__lt_handle handle;
    atomic_bool ready; /* whether the handle is made */
    kiln__memo plans;
    pthread_mutex_t lock; /* of the handle's making */
} kept;

/* ---- types ----------------------------------------------------------------------------------- */

static int type_of(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_INT8:
        return KILN__LT_R_8I;
    case KILN_INT32:
        return KILN__LT_R_32I;
    case KILN_FLOAT16:
        return KILN__LT_R_16F;
    case KILN_BFLOAT16:
        return KILN__LT_R_16BF;
    case KILN_FLOAT8_E4M3FN:
        return KILN__LT_R_8F_E4M3;
    case KILN_FLOAT8_E5M2:
        return KILN__LT_R_8F_E5M2;
    case KILN_FLOAT32:
        return KILN__LT_R_32F;
    case KILN_FLOAT64:
        return KILN__LT_R_64F;
    case KILN_COMPLEX64:
        return KILN__LT_C_32F;
    case KILN_COMPLEX128:
        return KILN__LT_C_64F;
    default:
        return -1;
    }
}

bool kiln__cublaslt_takes(kiln_dtype dtype)
{
    return kiln_dtype_kind(dtype) != 'i' && type_of(dtype) >= 0;
}

/* The dtype of alpha and beta. */
static kiln_dtype scale_dtype(kiln_dtype in)
{
    return in == KILN_INT8 ? KILN_INT32 : kiln__is_narrow(in) ? KILN_FLOAT32 : in;
}

static int compute_of(kiln_dtype in, kiln_compute compute)
{
    static const int narrow[] = {[KILN_COMPUTE_EXACT] = KILN__LT_COMPUTE_32F,
                                 [KILN_COMPUTE_TF32] = KILN__LT_COMPUTE_32F_FAST_TF32,
                                 [KILN_COMPUTE_FLOAT16] = KILN__LT_COMPUTE_32F_FAST_16F,
                                 [KILN_COMPUTE_BFLOAT16] = KILN__LT_COMPUTE_32F_FAST_16BF,
                                 [KILN_COMPUTE_BF16X9] = KILN__LT_COMPUTE_32F_EMULATED_16BFX9};

    if (in == KILN_INT8)
        return KILN__LT_COMPUTE_32I;
    if (in == KILN_FLOAT64 || in == KILN_COMPLEX128)
        return KILN__LT_COMPUTE_64F;
    return in == KILN_FLOAT32 || in == KILN_COMPLEX64 ? narrow[compute] : KILN__LT_COMPUTE_32F;
}

/* ---- what a context keeps -------------------------------------------------------------------- */

static void destroy_plan(void *item)
{
    plan *made = item;

    if (made == NULL)
        return;
    for (int side = 0; side < SIDES; side++)
        if (made->layout[side] != NULL)
            made->lt->layout_destroy(made->layout[side]);
    if (made->desc != NULL)
        made->lt->desc_destroy(made->desc);
    kiln__free(made);
}

static void *make_kept(kiln_context *ctx)
{
    kept *state = kiln__calloc(1, sizeof *state);

    if (state != NULL) {
        state->device = kiln__context_device(ctx);
        state->cache = kiln__context_cache(ctx);
        kiln__memo_init(&state->plans);
        pthread_mutex_init(&state->lock, NULL);
    }
    return state;
}

static void destroy_kept(void *memory)
{
    kept *state = memory;
    bool pushed = false;

    kiln__memo_clear(&state->plans, destroy_plan);
    if (state->handle != NULL && kiln__device_enter(state->device, &pushed, NULL) == KILN_OK) {
        state->lt->destroy(state->handle);
        kiln__device_leave(state->device, pushed);
    }
    pthread_mutex_destroy(&state->lock);
    kiln__free(state);
}

static kiln_status fail(const kiln__lt *lt, int result, const char *call, kiln_error *err)
{
    return kiln__fail(err,
                      result == KILN__LT_ALLOC_FAILED ? KILN_ERR_DEVICE_MEMORY : KILN_ERR_DRIVER,
                      "matmul: %s: %s (%d)", call, lt->get_status_name(result), result);
}

/* The context's state with a handle; the device's context is current. */
static kiln_status get_kept(kiln_context *ctx, kept **out, kiln_error *err)
{
    void *state = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(
        kiln__context_attachment(ctx, KILN__ATTACH_LINALG, make_kept, destroy_kept, &state, err));
    *out = state;
    if (atomic_load_explicit(&(*out)->ready, memory_order_acquire))
        return KILN_OK;
    pthread_mutex_lock(&(*out)->lock);
    if ((*out)->handle == NULL) {
        status = kiln__lt_get((*out)->device, &(*out)->lt, err);
        const int result = status == KILN_OK ? (*out)->lt->create(&(*out)->handle) : 0;
        if (status == KILN_OK && result != KILN__LT_SUCCESS) {
            (*out)->handle = NULL;
            status = fail((*out)->lt, result, "cublasLtCreate", err);
        }
        atomic_store_explicit(&(*out)->ready, status == KILN_OK, memory_order_release);
    }
    pthread_mutex_unlock(&(*out)->lock);
    return status;
}

/* ---- problems -------------------------------------------------------------------------------- */

/* What the addresses of all matrices of a side are multiples of, `most` at most. */
static uint32_t alignment_of(const kiln__product *p, const kiln__side *side, uint32_t most)
{
    uintptr_t bits = (uintptr_t)side->data | most;

    for (int axis = 0; axis < p->stack_rank; axis++)
        bits |= (uintptr_t)side->step[axis];
    return (uint32_t)(bits & (~bits + 1));
}

/* A product as the library has it. `first` and `second` are its a and b. */
typedef struct operands {
    const kiln__side *side[SIDES];
} operands;

/* Whether an axis of the stack can be the library's batch: its matrices follow each other upwards. */
static bool steps_forward(const kiln__product *p, int axis)
{
    return p->a.step[axis] >= 0 && p->b.step[axis] >= 0 && p->c.step[axis] >= 0 &&
           p->y.step[axis] > 0 && p->stack[axis] <= INT32_MAX;
}

/* Fill all of `q` for one row of the stack: the last axis of the stack is the batch. */
static void read_problem(const kiln__product *p, uint32_t alignment, problem *q, operands *o)
{
    const int last = p->stack_rank - 1;
    const kiln__view y = kiln__view_of(p->m, p->n, &p->y, kiln_dtype_size(p->out));
    const kiln__view a = kiln__view_of(p->m, p->k, &p->a, kiln_dtype_size(p->in));
    const kiln__view b = kiln__view_of(p->k, p->n, &p->b, kiln_dtype_size(p->in));

    const kiln__side *c = p->c.data != NULL ? &p->c : &p->y;
    *o = y.transposed ? (operands){{&p->b, &p->a, c, &p->y}} : (operands){{&p->a, &p->b, c, &p->y}};
    q->m = y.transposed ? p->n : p->m;
    q->n = y.transposed ? p->m : p->n;
    q->k = p->k;
    q->count = last >= 0 && steps_forward(p, last) ? p->stack[last] : 1;
    q->step[SIDE_A] = y.transposed ? b.step : a.step;
    q->step[SIDE_B] = y.transposed ? a.step : b.step;
    q->step[SIDE_C] =
        c == &p->y ? y.step
                   : kiln__view_as(p->m, p->n, c, kiln_dtype_size(p->out), y.transposed).step;
    q->step[SIDE_D] = y.step;
    q->transposed[SIDE_A] = y.transposed ? !b.transposed : a.transposed;
    q->transposed[SIDE_B] = y.transposed ? !a.transposed : b.transposed;
    for (int side = 0; side < SIDES; side++) {
        const int64_t bytes = last >= 0 ? o->side[side]->step[last] : 0;
        q->batch[side] =
            q->count > 1 ? bytes / (int64_t)kiln_dtype_size(side >= SIDE_C ? p->out : p->in) : 0;
        q->alignment[side] = alignment_of(p, o->side[side], alignment);
    }
    q->in[SIDE_A] = q->in[SIDE_B] = (uint32_t)p->in;
    if (p->b_in != KILN_DTYPE_NONE)
        q->in[y.transposed ? SIDE_A : SIDE_B] = (uint32_t)p->b_in;
    q->out = (uint32_t)p->out;
    q->compute = (uint32_t)compute_of(p->in, p->compute);
    q->epilogue = KILN__LT_EPILOGUE_DEFAULT;
    q->adds = p->beta != 0;
    q->apart = c != &p->y;
    q->tuned = p->autotune;
}

/* The library's epilogue that does all that follows the product; KILN__LT_EPILOGUE_DEFAULT: none does. Its
 * GELU takes the hardware's tanh, of 11 bits, which is enough for dtypes that have no more. Of float8 it
 * adds no bias of float32. */
static uint32_t epilogue_of(const kiln__product *p, const operands *o)
{
    const bool sixteen = p->out == KILN_FLOAT16 || p->out == KILN_BFLOAT16;
    const bool precise =
        (p->out == KILN_FLOAT32 || p->out == KILN_FLOAT64) && p->epilogue != KILN_EPILOGUE_GELU;
    uint32_t bits = 0;

    if (!(sixteen || precise) || (kiln__is_float8(p->in) && !sixteen) ||
        (p->bias != NULL && o->side[SIDE_A] != &p->b))
        return KILN__LT_EPILOGUE_DEFAULT;
    if (p->epilogue == KILN_EPILOGUE_RELU)
        bits = KILN__LT_EPILOGUE_RELU;
    if (p->epilogue == KILN_EPILOGUE_GELU)
        bits = KILN__LT_EPILOGUE_GELU;
    if (p->bias != NULL)
        bits |= KILN__LT_EPILOGUE_BIAS;
    return bits != 0 ? bits : KILN__LT_EPILOGUE_DEFAULT;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool plan_fits(const void *item, const void *key)
{
    return memcmp(&((const plan *)item)->problem, key, sizeof(problem)) == 0;
}

static int make_layout(const kiln__lt *lt, const problem *q, int side, kiln__lt_layout *out)
{
    const bool result = side >= SIDE_C, transposed = !result && q->transposed[side];
    const int64_t rows = side == SIDE_B ? q->k : q->m, columns = side == SIDE_A ? q->k : q->n;
    const int32_t count = (int32_t)q->count;
    int status = lt->layout_create(out, type_of((kiln_dtype)(result ? q->out : q->in[side])),
                                   (uint64_t)(transposed ? columns : rows),
                                   (uint64_t)(transposed ? rows : columns), q->step[side]);

    if (status == KILN__LT_SUCCESS && count > 1)
        status = lt->layout_set(*out, KILN__LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (status == KILN__LT_SUCCESS && count > 1)
        status = lt->layout_set(*out, KILN__LT_LAYOUT_BATCH_STEP, &q->batch[side],
                                sizeof q->batch[side]);
    return status;
}

/* Whose layout the library's c has. */
static int c_of(const problem *q)
{
    return q->apart ? SIDE_C : SIDE_D;
}

/* A descriptor of the problem's operation. `bias` may be NULL where the epilogue adds none. */
static int make_desc(const kiln__lt *lt, const problem *q, const void *bias, kiln__lt_desc *out)
{
    const int transpose = KILN__LT_OP_T;
    int result = lt->desc_create(out, (int)q->compute, type_of(scale_dtype((kiln_dtype)q->in[0])));

    for (int side = 0; side < 2 && result == KILN__LT_SUCCESS; side++)
        if (q->transposed[side])
            result = lt->desc_set(*out, side == 0 ? KILN__LT_DESC_TRANSA : KILN__LT_DESC_TRANSB,
                                  &transpose, sizeof transpose);
    if (result == KILN__LT_SUCCESS && q->epilogue != KILN__LT_EPILOGUE_DEFAULT)
        result = lt->desc_set(*out, KILN__LT_DESC_EPILOGUE, &q->epilogue, sizeof q->epilogue);
    if (result == KILN__LT_SUCCESS && (q->epilogue & KILN__LT_EPILOGUE_BIAS) != 0)
        result = lt->desc_set(*out, KILN__LT_DESC_BIAS_POINTER, &bias, sizeof bias);
    return result;
}

/* Ask the library for as many algorithms as there is room for; the first one becomes the plan's. */
static int choose(const kept *state, const problem *q, plan *made, kiln__lt_heuristic *found,
                  int room, int *count_out)
{
    const kiln__lt *lt = state->lt;
    const size_t workspace = WORKSPACE_BYTES;
    kiln__lt_preference preference = NULL;
    int count = 0, result = lt->preference_create(&preference);

    if (result == KILN__LT_SUCCESS)
        result = lt->preference_set(preference, KILN__LT_PREFERENCE_WORKSPACE, &workspace,
                                    sizeof workspace);
    for (int k = 0; k < SIDES && result == KILN__LT_SUCCESS; k++)
        result = lt->preference_set(preference, KILN__LT_PREFERENCE_ALIGNMENT_A + k,
                                    &q->alignment[k], sizeof(uint32_t));
    if (result == KILN__LT_SUCCESS)
        result = lt->heuristic(state->handle, made->desc, made->layout[SIDE_A],
                               made->layout[SIDE_B], made->layout[c_of(q)], made->layout[SIDE_D],
                               preference, room, found, &count);
    if (preference != NULL)
        lt->preference_destroy(preference);
    *count_out = result == KILN__LT_SUCCESS ? count : 0;
    made->choice = found[0];
    made->possible = *count_out > 0 && made->choice.state == KILN__LT_SUCCESS;
    return result == KILN__LT_NOT_SUPPORTED ? KILN__LT_SUCCESS : result;
}

/* ---- measured algorithms ---------------------------------------------------------------------- */

/* What a choice on disk depends on. Hashed and compared as bytes. */
typedef struct tuned_key {
    char what[32], gpu[128];
    uint64_t version;
    problem problem;
} tuned_key;

static void make_key(const kept *state, const problem *q, tuned_key *key)
{
    memset(key, 0, sizeof *key);
    snprintf(key->what, sizeof key->what, "kiln matmul algorithm 1");
    snprintf(key->gpu, sizeof key->gpu, "%s", kiln__device_info(state->device)->name);
    key->version = state->lt->get_version();
    key->problem = *q;
}

/* A call of which a plan is to be made. `stream` is NULL where nothing may be measured. */
typedef struct wanted_plan {
    const problem *q;
    const operands *o;
    const void *bias;
    kiln_stream *stream;
} wanted_plan;

static kiln_status fastest(const kept *state, const wanted_plan *w, const plan *made,
                           const kiln__lt_heuristic *found, int count, int *best, kiln_error *err)
{
    const problem *q = w->q;
    const kiln_dtype scale = scale_dtype((kiln_dtype)q->in[0]);
    const int64_t last = (q->count - 1) * q->batch[SIDE_D] + (q->n - 1) * q->step[SIDE_D];
    double alpha[2], beta[2];
    const kiln__lt_call call = {.lt = state->lt,
                                .handle = state->handle,
                                .desc = made->desc,
                                .layout = {made->layout[SIDE_A], made->layout[SIDE_B],
                                           made->layout[c_of(q)], made->layout[SIDE_D]},
                                .alpha = alpha,
                                .beta = beta,
                                .a = w->o->side[SIDE_A]->data,
                                .b = w->o->side[SIDE_B]->data,
                                .c = q->apart ? w->o->side[SIDE_C]->data : NULL,
                                .stream = w->stream};

    kiln__put_number(scale, 1, alpha);
    kiln__put_number(scale, q->adds != 0, beta);
    return kiln__lt_fastest(state->device, &call,
                            (size_t)(last + q->m) * kiln_dtype_size((kiln_dtype)q->out), found,
                            count, best, err);
}

/* The choice on disk, if the library says that it still computes the problem. Its checksum is the cache's business. */
static bool load_choice(const kept *state, const tuned_key *key, plan *made)
{
    kiln__blob blob = KILN__BLOB_INIT;
    kiln__lt_heuristic stored, checked = {.state = KILN__LT_NOT_SUPPORTED};
    const kiln__lt_layout *layout = made->layout;
    bool fits =
        kiln__cache_load(state->cache, key, sizeof *key, &blob) && blob.bytes == sizeof stored;

    if (fits) {
        memcpy(&stored, blob.data, sizeof stored);
        fits = made->lt->check(state->handle, made->desc, layout[SIDE_A], layout[SIDE_B],
                               layout[c_of(&made->problem)], layout[SIDE_D], &stored.algo,
                               &checked) == KILN__LT_SUCCESS &&
               checked.state == KILN__LT_SUCCESS &&
               checked.workspace_bytes <= stored.workspace_bytes &&
               stored.workspace_bytes <= WORKSPACE_BYTES;
    }
    if (fits)
        made->choice = stored;
    kiln__blob_clear(&blob);
    return fits;
}

/* Settle a plan on the fastest algorithm: the one on disk, or measured now. */
static kiln_status tune(const kept *state, const wanted_plan *w, plan *made,
                        const kiln__lt_heuristic *found, int count, kiln_error *err)
{
    kiln_error why = KILN_ERROR_INIT;
    tuned_key key;
    int best = 0;

    make_key(state, w->q, &key);
    made->settled = load_choice(state, &key, made);
    if (made->settled || w->stream == NULL)
        return KILN_OK;
    kiln_status status = fastest(state, w, made, found, count, &best, &why);
    if (status == KILN_OK) {
        made->choice = found[best];
        made->settled = true;
        kiln__cache_store(state->cache, &key, sizeof key, &made->choice, sizeof made->choice);
    } else if (status == KILN_ERR_UNSUPPORTED || status == KILN_ERR_NO_MEMORY) {
        status = KILN_OK; /* not on this stream, or not now */
    } else {
        (void)kiln__error_copy(err, &why);
    }
    kiln_error_clear(&why);
    return status;
}

/* ---- plans, made and kept --------------------------------------------------------------------- */

static kiln_status make_plan(kept *state, const wanted_plan *w, plan **out, kiln_error *err)
{
    const problem *q = w->q;
    plan *made = kiln__calloc(1, sizeof *made);
    kiln__lt_heuristic found[TUNED];
    const char *call = "cublasLtMatrixLayoutCreate";
    int result = KILN__LT_SUCCESS, count = 0;
    kiln_status status = KILN_OK;

    if (made == NULL)
        return kiln__fail_memory(err, sizeof *made);
    memset(found, 0, sizeof found);
    made->hash = kiln__hash_64(q, sizeof *q);
    made->problem = *q;
    made->lt = state->lt;
    for (int side = 0; side < SIDES && result == KILN__LT_SUCCESS; side++)
        if (side != SIDE_C || q->apart)
            result = make_layout(state->lt, q, side, &made->layout[side]);
    if (result == KILN__LT_SUCCESS) {
        call = "cublasLtMatmulDescCreate";
        result = make_desc(state->lt, q, w->bias, &made->desc);
    }
    if (result == KILN__LT_SUCCESS) {
        call = "cublasLtMatmulAlgoGetHeuristic";
        result = choose(state, q, made, found, q->tuned ? TUNED : 1, &count);
    }
    if (result != KILN__LT_SUCCESS)
        status = fail(state->lt, result, call, err);
    else if (q->tuned && made->possible)
        status = tune(state, w, made, found, count, err);
    else
        made->settled = true;
    if (status != KILN_OK) {
        destroy_plan(made);
        return status;
    }
    *out = made;
    return KILN_OK;
}

/* The plan of a problem; `*owned` is one that the memo had no room for, or that is not settled. */
static kiln_status get_plan(kept *state, const wanted_plan *w, const plan **out, plan **owned,
                            kiln_error *err)
{
    plan *made = NULL;

    *out = kiln__memo_find(&state->plans, kiln__hash_64(w->q, sizeof *w->q), plan_fits, w->q);
    if (*out != NULL)
        return KILN_OK;
    KILN_CHECK(make_plan(state, w, &made, err));
    *out = made;
    if (!made->settled || !kiln__memo_insert(&state->plans, made))
        *owned = made;
    return KILN_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What is known of a call before it is made. */
typedef struct decision {
    kept *state;
    problem q;
    operands o;
    const plan *plan;
    plan *owned;   /* what the memo had no room for */
    bool finished; /* whether the library does all that follows the product */
} decision;

/* Decide anew, after a plan that is not possible or not settled. */
static kiln_status decide_again(decision *d, wanted_plan *w, kiln_error *err)
{
    destroy_plan(d->owned);
    d->owned = NULL;
    return get_plan(d->state, w, &d->plan, &d->owned, err);
}

/* `stream`: where algorithms may be measured; NULL: nowhere. */
static kiln_status decide(kiln_context *ctx, const kiln__product *p, uint32_t alignment,
                          kiln_stream *stream, decision *d, kiln_error *err)
{
    wanted_plan w = {.q = &d->q, .o = &d->o, .bias = p->bias, .stream = stream};

    KILN_CHECK(get_kept(ctx, &d->state, err));
    read_problem(p, p->autotune ? ALIGNMENT_RECORDED : alignment, &d->q, &d->o);
    d->q.epilogue = epilogue_of(p, &d->o);
    KILN_CHECK(get_plan(d->state, &w, &d->plan, &d->owned, err));
    if (!d->plan->possible && d->q.epilogue != KILN__LT_EPILOGUE_DEFAULT) {
        d->q.epilogue = KILN__LT_EPILOGUE_DEFAULT;
        w.bias = NULL;
        KILN_CHECK(decide_again(d, &w, err));
    }
    const uint32_t exact = (uint32_t)compute_of(p->in, KILN_COMPUTE_EXACT);
    if (!d->plan->possible &&
        d->q.compute != exact) { /* not all libraries and GPUs have all of them */
        d->q.compute = exact;
        KILN_CHECK(decide_again(d, &w, err));
    }
    if (!d->plan->settled) { /* a recording: what is measured later shall not change it */
        d->q.tuned = false;
        KILN_CHECK(decide_again(d, &w, err));
    }
    if (!d->plan->possible)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "matmul: cuBLASLt has no algorithm for %lld matrices of %lld x %lld x "
                          "%lld, %s",
                          (long long)p->count, (long long)p->m, (long long)p->k, (long long)p->n,
                          kiln_dtype_name(p->in));
    d->finished = d->q.epilogue != KILN__LT_EPILOGUE_DEFAULT || !kiln__product_finishes(p);
    return KILN_OK;
}

/* All rows of the stack, one call of the library each. */
static kiln_status multiply(const decision *d, const kiln__product *p, void *workspace,
                            void *native, kiln_error *err)
{
    const kiln_dtype scale = scale_dtype(p->in);
    const problem *q = &d->q;
    const plan *made = d->plan;
    const kiln__lt *lt = d->state->lt;
    kiln__lt_desc own = NULL;
    double alpha[2], beta[2];
    int result = KILN__LT_SUCCESS;

    kiln__put_number(scale, p->alpha, alpha);
    kiln__put_number(scale, p->beta, beta);
    if ((q->epilogue & KILN__LT_EPILOGUE_BIAS) != 0)
        result = make_desc(lt, q, p->bias, &own);
    for (int64_t nth = 0; nth < p->count && result == KILN__LT_SUCCESS; nth += q->count) {
        char *y = kiln__side_matrix(p, d->o.side[SIDE_D], nth);
        result = lt->matmul(d->state->handle, own != NULL ? own : made->desc, alpha,
                            kiln__side_matrix(p, d->o.side[SIDE_A], nth), made->layout[SIDE_A],
                            kiln__side_matrix(p, d->o.side[SIDE_B], nth), made->layout[SIDE_B],
                            beta, kiln__side_matrix(p, d->o.side[SIDE_C], nth),
                            made->layout[c_of(q)], y, made->layout[SIDE_D], &made->choice.algo,
                            workspace, made->choice.workspace_bytes, native);
    }
    if (own != NULL)
        lt->desc_destroy(own);
    return result == KILN__LT_SUCCESS ? KILN_OK : fail(lt, result, "cublasLtMatmul", err);
}

/* A call that is made now. */
typedef struct chosen {
    const decision *d;
    const kiln__product *p;
    void *workspace;
} chosen;

static kiln_status multiply_chosen(const void *args, void *native, kiln_error *err)
{
    const chosen *const c = args;

    return multiply(c->d, c->p, c->workspace, native, err);
}

/* A call as a recording keeps it. */
typedef struct recorded {
    kiln_context *ctx; /* kept by the program */
    kiln__product p;
    void *workspace;
    size_t workspace_bytes;
} recorded;

static kiln_status multiply_recorded(const void *args, void *native, kiln_error *err)
{
    const recorded *const r = args;
    decision d;

    d.owned = NULL;
    kiln_status status = decide(r->ctx, &r->p, ALIGNMENT_RECORDED, NULL, &d, err);

    if (status == KILN_OK && d.plan->choice.workspace_bytes > r->workspace_bytes)
        status = kiln__fail(err, KILN_ERR_DRIVER,
                            "matmul: cuBLASLt needs more workspace than when it was recorded");
    if (status == KILN_OK)
        status = multiply(&d, &r->p, r->workspace, native, err);
    destroy_plan(d.owned);
    return status;
}

static void describe(const void *args, kiln__step_note *note)
{
    (void)args;
    kiln__product_describe(offsetof(recorded, p), note);
}

static kiln_status record(kiln_context *ctx, const kiln__product *p, const decision *d,
                          void *workspace, kiln_stream *stream, kiln_error *err)
{
    recorded r = {ctx, *p, workspace, d->plan->choice.workspace_bytes};

    r.p.autotune = d->q.tuned != 0;
    return kiln__record_library(stream, multiply_recorded, &r, sizeof r, describe, err);
}

kiln_status kiln__product_cuda(kiln_context *ctx, const kiln__product *p, kiln_stream *stream,
                               bool *finished_out, kiln_error *err)
{
    kiln__device *device = kiln__context_device(ctx);
    const bool recording = kiln__stream_is_recording(stream);
    decision d;
    kiln__block *block = NULL;
    void *workspace = NULL;
    bool pushed = false;
    kiln_status status = KILN_OK;

    /* Whether the library finishes a product is not known without it: the kernel may be needed. */
    *finished_out = !kiln__product_finishes(p);
    if (kiln__device_is_dry(device))
        return KILN_OK;
    d.owned = NULL;
    KILN_CHECK(kiln__device_enter(device, &pushed, err));
    KILN_TRY(decide(ctx, p, recording ? ALIGNMENT_RECORDED : ALIGNMENT_MAX,
                    recording ? NULL : stream, &d, err));
    if (d.plan->choice.workspace_bytes > 0) {
        KILN_TRY(kiln__pool_alloc(device, d.plan->choice.workspace_bytes, stream, &block, err));
        workspace = block->address;
    }
    status = recording ? record(ctx, p, &d, workspace, stream, err)
                       : kiln__library_call(stream, "matmul (cuBLASLt)", multiply_chosen,
                                            &(chosen){&d, p, workspace}, err);
    *finished_out = d.finished;

done:
    kiln__pool_free(device, block, NULL, 0);
    destroy_plan(d.owned);
    kiln__device_leave(device, pushed);
    return status;
}
