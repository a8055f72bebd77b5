/*
 * linalg.c - linear algebra and named scans: Python's calls of the functions of kiln/linalg.h and of
 * kiln_array_scan(), by their names.
 *
 *     linalg(name, arrays, number, upper, text, axes) -> [a row of the table] -> Array, or a tuple
 *
 * kiln/linalg.py has the functions that people use.
 */
#include "kilnpy.h"

#include "kiln/linalg.h"

enum { OUTPUTS_MAX = 3 };

/* What a function is given. */
typedef struct inputs {
    const kiln_array *array[3];
    const kiln_array **all;
    size_t count;
    double number;
    const char *text;
    kiln_axes axes[2];
    kiln_matmul_options product;
    kiln_linalg_options solver;
} inputs;

typedef kiln_status compute(const inputs *in, kiln_array **out, kiln_error *err);

/* NAME(function, arguments): a function of that name, which calls libkiln's. */
#define A in->array[0]
#define B in->array[1]
#define FUNCTIONS(NAME)                                                                            \
    NAME(matmul, kiln_matmul, 2, 1, (A, B, &in->product, out, err))                                \
    NAME(dot, kiln_array_dot, 2, 1, (A, B, &in->product, out, err))                                \
    NAME(inner, kiln_array_inner, 2, 1, (A, B, &in->product, out, err))                            \
    NAME(outer, kiln_array_outer, 2, 1, (A, B, &in->product, out, err))                            \
    NAME(matvec, kiln_array_matvec, 2, 1, (A, B, &in->product, out, err))                          \
    NAME(vecmat, kiln_array_vecmat, 2, 1, (A, B, &in->product, out, err))                          \
    NAME(kron, kiln_array_kron, 2, 1, (A, B, &in->product, out, err))                              \
    NAME(tensordot, kiln_array_tensordot, 2, 1,                                                    \
         (A, B, &in->axes[0], &in->axes[1], &in->product, out, err))                               \
    NAME(multi_dot, kiln_linalg_multi_dot, 0, 1, (in->all, in->count, &in->product, out, err))     \
    NAME(einsum, kiln_array_einsum, 0, 1, (in->text, in->all, in->count, &in->product, out, err))  \
    NAME(matrix_power, kiln_linalg_matrix_power, 1, 1,                                             \
         (A, (int64_t)in->number, &in->product, out, err))                                         \
    NAME(solve, kiln_linalg_solve, 2, 1, (A, B, &in->solver, out, err))                            \
    NAME(solve_triangular, kiln_linalg_solve_triangular, 2, 1, (A, B, &in->solver, out, err))      \
    NAME(inv, kiln_linalg_inv, 1, 1, (A, &in->solver, out, err))                                   \
    NAME(det, kiln_linalg_det, 1, 1, (A, &in->solver, out, err))                                   \
    NAME(slogdet, kiln_linalg_slogdet, 1, 2, (A, &in->solver, &out[0], &out[1], err))              \
    NAME(cholesky, kiln_linalg_cholesky, 1, 1, (A, &in->solver, out, err))                         \
    NAME(qr, kiln_linalg_qr, 1, 2, (A, &in->solver, &out[0], &out[1], err))                        \
    NAME(eigh, kiln_linalg_eigh, 1, 2, (A, &in->solver, &out[0], &out[1], err))                    \
    NAME(eigvalsh, kiln_linalg_eigvalsh, 1, 1, (A, &in->solver, out, err))                         \
    NAME(eig, kiln_linalg_eig, 1, 2, (A, &in->solver, &out[0], &out[1], err))                      \
    NAME(eigvals, kiln_linalg_eigvals, 1, 1, (A, &in->solver, out, err))                           \
    NAME(lu, kiln_linalg_lu, 1, 3, (A, &in->solver, &out[0], &out[1], &out[2], err))               \
    NAME(permuted_lu, kiln_linalg_lu, 1, 2, (A, &in->solver, NULL, &out[0], &out[1], err))         \
    NAME(ldl, kiln_linalg_ldl, 1, 3, (A, &in->solver, &out[0], &out[1], &out[2], err))             \
    NAME(lu_factor, kiln_linalg_lu_factor, 1, 2, (A, &in->solver, &out[0], &out[1], err))          \
    NAME(lu_solve, kiln_linalg_lu_solve, 3, 1, (A, B, in->array[2], &in->solver, out, err))        \
    NAME(svd, kiln_linalg_svd, 1, 3, (A, &in->solver, &out[0], &out[1], &out[2], err))             \
    NAME(svdvals, kiln_linalg_svdvals, 1, 1, (A, &in->solver, out, err))                           \
    NAME(pinv, kiln_linalg_pinv, 1, 1, (A, in->number, &in->solver, out, err))                     \
    NAME(lstsq, kiln_linalg_lstsq, 2, 1, (A, B, in->number, &in->solver, out, err))

#define DEFINE(name, function, arrays, outputs, arguments)                                         \
    static kiln_status do_##name(const inputs *in, kiln_array **out, kiln_error *err)              \
    {                                                                                              \
        return function arguments;                                                                 \
    }
FUNCTIONS(DEFINE)
#undef DEFINE
#undef A
#undef B

static const struct function {
    const char *name;
    size_t arrays; /* 0: any number */
    int outputs;
    compute *run;
} functions[] = {
#define ROW(name, function, arrays, outputs, arguments) {#name, arrays, outputs, do_##name},
    FUNCTIONS(ROW)
#undef ROW
};

static const struct function *find(const char *name)
{
    for (size_t k = 0; k < COUNT_OF(functions); k++)
        if (strcmp(functions[k].name, name) == 0)
            return &functions[k];
    return kilnpy_fail(KILN_ERR_ARGUMENT, "kiln has no linear algebra \"%.40s\"", name);
}

int kilnpy_read_arrays(PyObject *tuple, const char *name, size_t wanted, const kiln_array ***out)
{
    const size_t count = (size_t)PyTuple_Size(tuple);
    const kiln_array **all;

    if (count == 0 || (wanted != 0 && count != wanted)) {
        kilnpy_fail(KILN_ERR_ARGUMENT, "%s() of %zu arrays", name, count);
        return -1;
    }
    all = PyMem_Calloc(count, sizeof(kiln_array *));
    if (all == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t k = 0; k < count; k++) {
        PyObject *object = PyTuple_GetItem(tuple, (Py_ssize_t)k);
        if (!kilnpy_is_array(object)) {
            PyMem_Free(all);
            PyErr_Format(PyExc_TypeError, "a kiln.ndarray is needed, not %R", Py_TYPE(object));
            return -1;
        }
        all[k] = ((array_object *)object)->array;
    }
    *out = all;
    return 0;
}

static int read_arrays(PyObject *tuple, const struct function *f, inputs *in)
{
    if (kilnpy_read_arrays(tuple, f->name, f->arrays, &in->all) != 0)
        return -1;
    in->count = (size_t)PyTuple_Size(tuple);
    for (size_t k = 0; k < in->count && k < COUNT_OF(in->array); k++)
        in->array[k] = in->all[k];
    return 0;
}

/* The pair of axes of a tensordot. */
static int read_both_axes(PyObject *pair, inputs *in)
{
    bool given = false;

    if (pair == Py_None)
        return 0;
    for (Py_ssize_t k = 0; k < 2; k++) {
        PyObject *axes = PySequence_GetItem(pair, k);
        const int result = axes != NULL ? kilnpy_read_axes(axes, &given, &in->axes[k]) : -1;
        Py_XDECREF(axes);
        if (result != 0)
            return -1;
    }
    return 0;
}

PyObject *kilnpy_give_all(kiln_array **made, int count)
{
    PyObject *all = count > 1 ? PyTuple_New(count) : NULL, *one = NULL;
    bool fine = count == 1 || all != NULL;

    for (int k = 0; k < count; k++) {
        if (!fine) {
            kiln_array_release(made[k]);
            continue;
        }
        one = kilnpy_array_new(made[k]);
        fine = one != NULL;
        if (fine && all != NULL)
            PyTuple_SetItem(all, k, one);
    }
    if (fine)
        return all != NULL ? all : one;
    Py_XDECREF(all);
    return NULL;
}

PyObject *kilnpy_linalg(PyObject *self, PyObject *args)
{
    PyObject *arrays = NULL, *axes = NULL, *result = NULL;
    inputs in = {.product = KILN_MATMUL_OPTIONS_INIT, .solver = KILN_LINALG_OPTIONS_INIT};
    kiln_array *made[OUTPUTS_MAX] = {NULL};
    kiln_error err = KILN_ERROR_INIT;
    const struct function *f;
    const char *name = NULL;
    kiln_status status;
    int upper = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "sO!dpzO", &name, &PyTuple_Type, &arrays, &in.number, &upper,
                          &in.text, &axes))
        return NULL;
    f = find(name);
    in.solver.upper = in.solver.full = upper != 0; /* no function reads both */
    if (f == NULL || read_arrays(arrays, f, &in) != 0 || read_both_axes(axes, &in) != 0)
        goto done;
    Py_BEGIN_ALLOW_THREADS /* The caller holds the arrays. */
        status = f->run(&in, made, &err);
    Py_END_ALLOW_THREADS result =
        status == KILN_OK ? kilnpy_give_all(made, f->outputs) : kilnpy_raise(&err);

done:
    PyMem_Free(in.all);
    return result;
}

/* scan(name, array, axis or None, exclusive, reverse, out or None) */
PyObject *kilnpy_scan(PyObject *self, PyObject *args)
{
    PyObject *array = NULL, *axis = NULL, *out = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *made = NULL;
    int exclusive = 0, reverse = 0, op = 1;
    const char *name = NULL;
    kiln_status status;
    bool given = false;
    unsigned flags;
    kiln_axes axes;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOOppO", &name, &array, &axis, &exclusive, &reverse, &out) ||
        kilnpy_read_axes(axis, &given, &axes) != 0)
        return NULL;
    if (!kilnpy_is_array(array) || (out != Py_None && !kilnpy_is_array(out))) {
        PyErr_SetString(PyExc_TypeError, "a scan is of a kiln.ndarray, into another");
        return NULL;
    }
    while (strcmp(kiln_scan_op_name((kiln_scan_op)op), name) != 0)
        if (strcmp(kiln_scan_op_name((kiln_scan_op)op++), "unknown") == 0)
            return kilnpy_fail(KILN_ERR_ARGUMENT, "kiln has no scan \"%.40s\"", name);
    flags = (exclusive ? KILN_SCAN_EXCLUSIVE : 0U) | (reverse ? KILN_SCAN_REVERSE : 0U);
    if (out != Py_None)
        made = ((array_object *)out)->array;
    Py_BEGIN_ALLOW_THREADS status = kiln_array_scan(
        (kiln_scan_op)op, ((array_object *)array)->array, given ? &axes : NULL, flags, &made, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    return out != Py_None ? Py_NewRef(out) : kilnpy_array_new(made);
}
