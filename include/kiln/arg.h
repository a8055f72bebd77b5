/**
 * @file kiln/arg.h
 * @brief kiln_arg: one argument of a kernel or of a graph, made of an array or of a plain number.
 *
 * Functions that run something take an array of kiln_arg and its length. KILN_ARGS() makes both
 * from plain C values, and kiln_call() (kiln/call.h) does so for its caller. A program that learns
 * its arguments only when it runs fills the array itself:
 *
 *     kiln_elementwise *scale = NULL;
 *     kiln_array *z = NULL;
 *     kiln_elementwise_create(ctx, "T x, T a", "T z", "z = a * x", NULL, &scale, &err);
 *
 *     kiln_elementwise_run(scale, KILN_ARGS(x, 2.5, &z), NULL, &err);
 *
 *     const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_float(2.5), kiln_arg_out(&z)};
 *     kiln_elementwise_run(scale, args, 3, NULL, &err);      // the same call, into the same z
 *
 *     kiln_array_release(z);
 *     kiln_elementwise_destroy(scale);
 *
 * Types:   an argument is an array, the address of an array pointer, or a number of any arithmetic
 *          type of C (complex numbers: in C alone; C++ calls kiln_arg_complex()). A value of
 *          another type, as a string, a struct or a pointer to float, is an error of the C
 *          compiler. Which dtype a number takes is decided by the call that it is given to.
 * Order:   arguments stand in the order of the parameters: the inputs as declared, then the
 *          outputs. A wrong number of them is ERR_ARGUMENT_COUNT; other mistakes are reported by
 *          their position and by the parameter's name.
 * Owner:   an argument borrows. It adds no reference to an array; it may be copied, and must not be
 *          used after the array or the pointer that it was made of is gone.
 * Threads: it is a plain value.
 */
#ifndef KILN_ARG_H
#define KILN_ARG_H

#include "kiln/array.h"

/** What a kiln_arg holds, and so which member of its `value` is set. */
typedef enum kiln_arg_kind {
    KILN_ARG_ARRAY = 1, /**< `array`: an input, or an output that the caller gives. */
    KILN_ARG_OUT,       /**< `out`: an output; allocated by the call when it points at NULL. */
    KILN_ARG_BOOL,      /**< `b` */
    KILN_ARG_INT,       /**< `i` */
    KILN_ARG_UINT,      /**< `u` */
    KILN_ARG_FLOAT,     /**< `f` */
    KILN_ARG_COMPLEX,   /**< `c` */
    KILN_ARG_LIST,      /**< `list`: an array for each of several calls; see kiln_arg_list(). */
    KILN_ARG_STRUCT     /**< `bytes`: a struct that is passed by value; see kiln_arg_struct(). */
} kiln_arg_kind;

/**
 * One argument of a call. Made by KILN_ARG(value) or by the functions below.
 *
 * A kind that is none of kiln_arg_kind, as in a struct of zeros, is refused by the call
 * (ERR_ARGUMENT).
 */
typedef struct kiln_arg {
    kiln_arg_kind kind;
    union {
        kiln_array *array; /**< Not written to where the parameter is an input. */
        kiln_array **out;  /**< Receives a reference of the caller's, or keeps its array. */
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        double c[2]; /**< Real and imaginary part. */
        struct {
            kiln_array **arrays;
            size_t count;
        } list;
        struct {
            const void *data;
            size_t count;
        } bytes;
    } value;
} kiln_arg;

/** An array: an input, or an output that the call writes to. The cast allows nothing: an input is
 *  only read, and an output must be writable (kiln_array_is_read_only()). NULL is accepted here and
 *  refused by the call, ERR_NULL. */
static inline kiln_arg kiln_arg_array(const kiln_array *v)
{
    kiln_arg a;
    a.kind = KILN_ARG_ARRAY;
    a.value.array = (kiln_array *)v;
    return a;
}

/**
 * A list of arrays in the place of one: the call is made `count` times, each time with the arrays
 * of one place of all lists, which must be equally long. Other arguments are the same for all
 * calls. A GPU does calls of contiguous arrays in few launches, a hundred calls or so in one
 * (docs/lists.md).
 *
 * The calls are in no order: what one writes no other may use. Outputs whose pointers are NULL are
 * allocated. After a failure some of the calls may have been made.
 *
 *     kiln_array *weights[2] = {x, y}, *steps[2] = {y, x}, *sums[2] = {NULL, NULL};
 *     kiln_elementwise *add = NULL;
 *     kiln_elementwise_create(ctx, "T x, T y, T a", "T z", "z = x + a * y", NULL, &add, &err);
 *     kiln_call(add, &err, kiln_arg_list(weights, 2), kiln_arg_list(steps, 2), 0.5,
 *               kiln_arg_list(sums, 2));
 *     kiln_array_release(sums[0]);
 *     kiln_array_release(sums[1]);
 *     kiln_elementwise_destroy(add);
 *
 * Elementwise kernels, reductions, scans and row programs take lists; graphs and raw kernels do
 * not.
 */
static inline kiln_arg kiln_arg_list(kiln_array **arrays, size_t count)
{
    kiln_arg a;
    a.kind = KILN_ARG_LIST;
    a.value.list.arrays = arrays;
    a.value.list.count = count;
    return a;
}

/**
 * A struct that a raw kernel (kiln/module.h) takes by value. Other calls take no structs.
 *
 *     typedef struct settings {
 *         int first;
 *         double factor;
 *     } settings;
 *     const settings s = {5, 0.5};
 *     const kiln_arg argument = kiln_arg_struct(&s, sizeof s);   // of "struct s" in a signature
 *
 * @param data  The members, laid out as the kernel's compiler lays them out. They are read when the
 *              call is made, or the launch prepared, and never later. NULL is refused by the call,
 *              ERR_NULL.
 * @param bytes Must be the size that the kernel's parameter has (ERR_DTYPE).
 */
static inline kiln_arg kiln_arg_struct(const void *data, size_t bytes)
{
    kiln_arg a;
    a.kind = KILN_ARG_STRUCT;
    a.value.bytes.data = data;
    a.value.bytes.count = bytes;
    return a;
}

/** An argument that is made already, for KILN_ARG(). */
static inline kiln_arg kiln__arg_same(kiln_arg v)
{
    return v;
}

/** A complex number, of complex128. */
static inline kiln_arg kiln_arg_complex(double re, double im)
{
    kiln_arg a;
    a.kind = KILN_ARG_COMPLEX;
    a.value.c[0] = re;
    a.value.c[1] = im;
    return a;
}

/**
 * kiln_arg_out(kiln_array **): an output. The call allocates it when the pointer is NULL, and
 * writes to the array that it points to otherwise. After a failure the pointer is what it was.
 *
 * kiln_arg_bool(bool), kiln_arg_int(int64_t), kiln_arg_uint(uint64_t), kiln_arg_float(double): a
 * number. A kernel that declares its parameter's dtype takes it as that dtype, which must hold it
 * (ERR_RANGE); a placeholder that arrays decide likewise; one that only numbers decide becomes
 * bool, int64, uint64, float64 or complex128.
 */
#define KILN__ARG_FUNCTION(name, type, its_kind, member)                                           \
    static inline kiln_arg kiln_arg_##name(type v)                                                 \
    {                                                                                              \
        kiln_arg a;                                                                                \
        a.kind = its_kind;                                                                         \
        a.value.member = v;                                                                        \
        return a;                                                                                  \
    }
KILN__ARG_FUNCTION(out, kiln_array **, KILN_ARG_OUT, out)
KILN__ARG_FUNCTION(bool, bool, KILN_ARG_BOOL, b)
KILN__ARG_FUNCTION(int, int64_t, KILN_ARG_INT, i)
KILN__ARG_FUNCTION(uint, uint64_t, KILN_ARG_UINT, u)
KILN__ARG_FUNCTION(float, double, KILN_ARG_FLOAT, f)
#undef KILN__ARG_FUNCTION

/** KILN_ARG(v): one C value as a kiln_arg, by the function above for its type. `v` is evaluated
 *  once, and does not compile when it is of another type. */
#define KILN_ARG(v) KILN__ARG(v)

/** Most arguments that KILN_ARGS(), and so kiln_call(), takes. An array of kiln_arg that a program
 *  fills itself may hold KILN_PARAM_MAX for a kernel, and any number for a graph. */
#define KILN_CALL_ARGS_MAX 32

/**
 * KILN_ARGS(v, ...): the array of the arguments and its length, as two arguments of a function.
 *
 * Takes 1 to KILN_CALL_ARGS_MAX values and evaluates each once. The array lives to the end of the
 * enclosing block in C, and to the end of the full expression in C++.
 */
#define KILN_ARGS(...) KILN__ARGS(__VA_ARGS__)

#include "kiln/detail/arg.h"

#endif
