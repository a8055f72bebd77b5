/*
 * overlap.c - do two strided arrays share a byte?
 *
 *     bounds > same layout > [a bounded search for an equal address]
 *
 * Some byte of a equals some byte of b when
 *
 *     a0 + sum(s[k] * i[k]) + p  =  b0 + sum(t[k] * j[k]) + q
 *
 * has a solution with every index inside its extent and p, q inside an item. Reversing an axis
 * (i -> extent - 1 - i) flips a sign at no cost, so this becomes one equation
 *
 *     sum(coefficient[k] * x[k]) = target,   0 <= x[k] <= bound[k],   all coefficients > 0.
 *
 * The search fixes x[0], x[1], ... from the largest coefficient down. At each step only values are
 * tried that leave a remainder which the rest can reach in size (a sum of bounds) and divide (a
 * greatest common divisor). For arrays as they occur, where each axis jumps over what the faster
 * ones span, that leaves one or two values a step. The problem in general is NP-hard, so the
 * number of steps is bounded, and past the bound the answer is "yes": a copy too many, never a
 * race.
 */
#include "array/internal.h"

/* Steps of the search before it gives up. Views of one array need a handful. */
#define OVERLAP_STEPS_MAX 2000

/* Two arrays' axes and the bytes of two items. */
#define OVERLAP_TERMS_MAX (2 * KILN_RANK_MAX + 1)

typedef struct overlap_equation {
    int count;
    int64_t coefficient[OVERLAP_TERMS_MAX]; /* falling */
    int64_t bound[OVERLAP_TERMS_MAX];
    int64_t divisor[OVERLAP_TERMS_MAX + 1];    /* gcd of coefficients [k, count); 0 for none */
    kiln__int128 reach[OVERLAP_TERMS_MAX + 1]; /* largest sum of terms [k, count) */
    int steps;
} overlap_equation;

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The x in [0, modulus) with a * x = 1 (mod modulus); a and modulus have no common divisor. */
static int64_t inverse_modulo(int64_t a, int64_t modulus)
{
    int64_t r = modulus, next_r = a % modulus;
    kiln__int128 x = 0, next_x = 1;

    while (next_r != 0) {
        int64_t quotient = r / next_r;
        int64_t rest = r - quotient * next_r;
        kiln__int128 step = x - quotient * next_x;
        r = next_r;
        next_r = rest;
        x = next_x;
        next_x = step;
    }
    return (int64_t)(x < 0 ? x + modulus : x);
}

/* Add one term, keeping coefficients sorted and equal ones merged. */
static void equation_add(overlap_equation *eq, int64_t coefficient, int64_t bound)
{
    int place = eq->count;

    if (coefficient == 0 || bound == 0)
        return;
    for (int k = 0; k < eq->count; k++)
        if (eq->coefficient[k] == coefficient) {
            eq->bound[k] += bound;
            return;
        }
    for (; place > 0 && eq->coefficient[place - 1] < coefficient; place--) {
        eq->coefficient[place] = eq->coefficient[place - 1];
        eq->bound[place] = eq->bound[place - 1];
    }
    eq->coefficient[place] = coefficient;
    eq->bound[place] = bound;
    eq->count++;
}

/* Whether terms [k, count) can sum to `target`; also true once the steps are used up. */
static bool equation_solve(overlap_equation *eq, int k, kiln__int128 target)
{
    if (target == 0)
        return true;
    if (target < 0 || target > eq->reach[k] || k == eq->count || target % eq->divisor[k] != 0)
        return false;
    int64_t a = eq->coefficient[k];
    int64_t rest = eq->divisor[k + 1];
    if (rest == 0)
        return true; /* The last term: in reach and divisible. */
    /* target - a * x must be a multiple of `rest`: x = first (mod period). */
    int64_t period = rest / eq->divisor[k];
    int64_t first = 0;
    if (period > 1)
        first = (int64_t)((target / eq->divisor[k] % period) *
                          inverse_modulo(a / eq->divisor[k], period) % period);
    kiln__int128 high = target / a < eq->bound[k] ? target / a : eq->bound[k];
    kiln__int128 low = 0;
    if (target > eq->reach[k + 1])
        low = (target - eq->reach[k + 1] + a - 1) / a;
    for (kiln__int128 x = low + ((first - low) % period + period) % period; x <= high;
         x += period) {
        if (++eq->steps > OVERLAP_STEPS_MAX || equation_solve(eq, k + 1, target - a * x))
            return true;
    }
    return false;
}

static void equation_add_axes(overlap_equation *eq, int rank, const int64_t *shape,
                              const int64_t *strides)
{
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] > 1)
            equation_add(eq, strides[axis] < 0 ? -strides[axis] : strides[axis], shape[axis] - 1);
}

bool kiln__strides_overlap(uintptr_t a, int a_rank, const int64_t *a_shape,
                           const int64_t *a_strides, size_t a_itemsize, uintptr_t b, int b_rank,
                           const int64_t *b_shape, const int64_t *b_strides, size_t b_itemsize)
{
    kiln__int128 a_low, a_high, b_low, b_high;
    overlap_equation eq;

    kiln__strides_extent(a_rank, a_shape, a_strides, a_itemsize, &a_low, &a_high);
    kiln__strides_extent(b_rank, b_shape, b_strides, b_itemsize, &b_low, &b_high);
    if (a_low == a_high || b_low == b_high)
        return false;
    a_low += a;
    a_high += a;
    b_low += b;
    b_high += b;
    if (a_high <= b_low || b_high <= a_low)
        return false;
    if (a == b)
        return true;

    eq.count = 0;
    eq.steps = 0;
    equation_add_axes(&eq, a_rank, a_shape, a_strides);
    equation_add_axes(&eq, b_rank, b_shape, b_strides);
    equation_add(&eq, 1, (int64_t)(a_itemsize - 1 + b_itemsize - 1));
    eq.divisor[eq.count] = 0;
    eq.reach[eq.count] = 0;
    for (int k = eq.count - 1; k >= 0; k--) {
        eq.divisor[k] = common_divisor(eq.coefficient[k], eq.divisor[k + 1]);
        eq.reach[k] = eq.reach[k + 1] + (kiln__int128)eq.coefficient[k] * eq.bound[k];
    }
    /* All of a counted up from its lowest byte, all of b counted down from its highest. */
    return equation_solve(&eq, 0, b_high - 1 - a_low);
}

bool kiln__array_overlap(const kiln_array *a, const kiln_array *b)
{
    if (a->size == 0 || b->size == 0)
        return false;
    if (a->data == b->data)
        return true;
    /* Pool blocks never overlap one another; wrapped memory may overlap anything. */
    if (a->storage != b->storage && a->storage->block != NULL && b->storage->block != NULL)
        return false;
    return kiln__strides_overlap((uintptr_t)a->data, a->rank, a->shape, a->strides,
                                 kiln_dtype_size(a->dtype), (uintptr_t)b->data, b->rank, b->shape,
                                 b->strides, kiln_dtype_size(b->dtype));
}
