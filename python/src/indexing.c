/*
 * indexing.c - sorting, searching and changing elements at indices: Python's calls of kiln/sort.h, of the
 * functions of kiln/select.h that sort, and of kiln/indexing.h in place.
 *
 *     sorting(name, arrays, axis or None, numbers, flag, method) -> [a row of the table] -> Array, or a tuple
 *     sort_by(in, arrays, less, key, key dtype, descending, axis)
 *     scatter(array, subscripts, values, combination, mode, fast)
 *
 * kiln/_sorting.py has the functions that people use.
 */
#include "kilnpy.h"

enum { OUTPUTS_MAX = 4, NUMBERS_MAX = 256 };

/* What a function is given. */
typedef struct inputs {
    const kiln_array *array[2];
    const kiln_array **all;
    size_t count;
    double *number; /* room for NUMBERS_MAX */
    size_t number_count;
    bool flag; /* descending, or right */
    int method;
    kiln_axes axes;
    kiln_sort_options options;
} inputs;

/* A number of Python's as int64: the nearest one where it lies beyond. */
static int64_t whole(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v >= -0x1p63 ? (int64_t)v : INT64_MIN;
}

typedef kiln_status compute(const inputs *in, kiln_array **out, kiln_error *err);

/* NAME(function, arrays, least numbers, results, arguments): a function of that name, which calls libkiln's. */
#define A in->array[0]
#define B in->array[1]
#define WHOLE(k) whole(in->number[k])
#define FUNCTIONS(NAME)                                                                            \
    NAME(sort, kiln_array_sort, 1, 0, 1, (A, &in->options, out, err))                              \
    NAME(argsort, kiln_array_argsort, 1, 0, 1, (A, &in->options, out, err))                        \
    NAME(topk, kiln_array_topk, 1, 1, 2, (A, WHOLE(0), &in->options, &out[0], &out[1], err))       \
    NAME(partition, kiln_array_partition, 1, 1, 1, (A, WHOLE(0), &in->options, out, err))          \
    NAME(argpartition, kiln_array_argpartition, 1, 1, 1, (A, WHOLE(0), &in->options, out, err))    \
    NAME(median, kiln_array_median, 1, 0, 1, (A, &in->options, out, err))                          \
    NAME(quantile, kiln_array_quantile, 1, 0, 1,                                                   \
         (A, in->number, in->number_count, (kiln_quantile_method)in->method, &in->options, out,    \
          err))                                                                                    \
    NAME(searchsorted, kiln_array_searchsorted, 2, 0, 1, (A, B, in->flag, NULL, out, err))         \
    NAME(isin, kiln_array_isin, 2, 0, 1, (A, B, out, err))                                         \
    NAME(lexsort, kiln_array_lexsort, 0, 0, 1, (in->all, in->count, out, err))                     \
    NAME(bincount, kiln_array_bincount, 1, 1, 1, (A, WHOLE(0), out, err))                          \
    NAME(histogram, kiln_array_histogram, 2, 0, 1, (A, B, out, err))                               \
    NAME(histogram_edges, kiln_array_histogram_edges, 1, 1, 1,                                     \
         (A, WHOLE(0), in->number_count > 2 ? &in->number[1] : NULL, out, err))                    \
    NAME(digitize, kiln_array_digitize, 2, 0, 1, (A, B, in->flag, out, err))                       \
    NAME(unique_values, kiln_array_unique, 1, 0, 1, (A, out, NULL, NULL, NULL, err))               \
    NAME(unique, kiln_array_unique, 1, 0, 4, (A, &out[0], &out[1], &out[2], &out[3], err))         \
    NAME(unique_along, kiln_array_unique_along, 1, 0, 4,                                           \
         (A, in->axes.axis[0], &out[0], &out[1], &out[2], &out[3], err))

#define DEFINE(name, function, arrays, numbers, outputs, arguments)                                \
    static kiln_status do_##name(const inputs *in, kiln_array **out, kiln_error *err)              \
    {                                                                                              \
        return function arguments;                                                                 \
    }
FUNCTIONS(DEFINE)
#undef DEFINE
#undef WHOLE
#undef A
#undef B

static const struct function {
    const char *name;
    size_t arrays; /* 0: any number */
    size_t numbers;
    int outputs;
    compute *run;
} functions[] = {
#define ROW(name, function, arrays, numbers, outputs, arguments)                                   \
    {#name, arrays, numbers, outputs, do_##name},
    FUNCTIONS(ROW)
#undef ROW
};

static const struct function *find(const char *name)
{
    for (size_t k = 0; k < COUNT_OF(functions); k++)
        if (strcmp(functions[k].name, name) == 0)
            return &functions[k];
    return kilnpy_fail(KILN_ERR_ARGUMENT, "kiln has no sorting function \"%.40s\"", name);
}

static int read_numbers(PyObject *tuple, const struct function *f, inputs *in)
{
    in->number_count = (size_t)PyTuple_Size(tuple);
    if (in->number_count < f->numbers || in->number_count > NUMBERS_MAX) {
        kilnpy_fail(KILN_ERR_ARGUMENT, "%s() of %zu numbers", f->name, in->number_count);
        return -1;
    }
    for (size_t k = 0; k < in->number_count; k++) {
        in->number[k] = PyFloat_AsDouble(PyTuple_GetItem(tuple, (Py_ssize_t)k));
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

PyObject *kilnpy_sorting(PyObject *self, PyObject *args)
{
    PyObject *arrays = NULL, *axis = NULL, *numbers = NULL, *result = NULL;
    double room[NUMBERS_MAX];
    inputs in = {.options = KILN_SORT_OPTIONS_INIT, .number = room};
    kiln_array *made[OUTPUTS_MAX] = {NULL};
    kiln_error err = KILN_ERROR_INIT;
    const struct function *f;
    const char *name = NULL;
    kiln_status status;
    bool given = false;
    int flag = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "sO!OO!pi", &name, &PyTuple_Type, &arrays, &axis, &PyTuple_Type,
                          &numbers, &flag, &in.method))
        return NULL;
    f = find(name);
    if (f == NULL || kilnpy_read_axes(axis, &given, &in.axes) != 0 ||
        read_numbers(numbers, f, &in) != 0 ||
        kilnpy_read_arrays(arrays, f->name, f->arrays, &in.all) != 0)
        return NULL;
    in.count = (size_t)PyTuple_Size(arrays);
    for (size_t k = 0; k < in.count && k < COUNT_OF(in.array); k++)
        in.array[k] = in.all[k];
    in.flag = in.options.descending = flag != 0;
    in.options.axes = given ? &in.axes : NULL;
    Py_BEGIN_ALLOW_THREADS /* The caller holds the arrays. */
        status = f->run(&in, made, &err);
    Py_END_ALLOW_THREADS result =
        status == KILN_OK ? kilnpy_give_all(made, f->outputs) : kilnpy_raise(&err);
    PyMem_Free(in.all);
    return result;
}

/* sort_by(in, arrays, less or None, key or None, key dtype or None, descending, axis or None) -> arrays, and places
 * behind them */
PyObject *kilnpy_sort_by(PyObject *self, PyObject *args)
{
    kiln_sort_options options = KILN_SORT_OPTIONS_INIT;
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;
    const char *in = NULL, *dtype = NULL;
    PyObject *arrays = NULL, *axis = NULL, *result = NULL;
    const kiln_array **all = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array **made;
    kiln_axes axes;
    kiln_status status;
    bool given = false;
    int descending = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "sO!zzzpO", &in, &PyTuple_Type, &arrays, &rule.less, &rule.key,
                          &dtype, &descending, &axis) ||
        kilnpy_read_axes(axis, &given, &axes) != 0 ||
        kilnpy_read_arrays(arrays, "sort_by", 0, &all) != 0)
        return NULL;
    const size_t count = (size_t)PyTuple_Size(arrays);
    made = PyMem_Calloc(count + 1, sizeof *made);
    if (made == NULL) {
        PyMem_Free(all);
        return PyErr_NoMemory();
    }
    options.descending = descending != 0;
    options.axes = given ? &axes : NULL;
    if (dtype != NULL)
        rule.key_dtype = kiln_dtype_from_name(dtype, strlen(dtype));
    Py_BEGIN_ALLOW_THREADS status =
        kiln_array_sort_by(in, all, count, &rule, &options, made, &made[count], &err);
    Py_END_ALLOW_THREADS result =
        status == KILN_OK ? kilnpy_give_all(made, (int)count + 1) : kilnpy_raise(&err);
    PyMem_Free(made);
    PyMem_Free(all);
    return result;
}

/* ---- changed elements ---- */

/* A bound of a slice: a number or None. */
static int read_bound(PyObject *slice, const char *name, int64_t *out)
{
    PyObject *bound = PyObject_GetAttrString(slice, name);

    if (bound != NULL && bound != Py_None)
        *out = PyNumber_AsSsize_t(bound, PyExc_IndexError);
    Py_XDECREF(bound);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_subscript(PyObject *item, kiln_subscript *out)
{
    int64_t start = KILN_SLICE_OPEN, stop = KILN_SLICE_OPEN, step = 1;

    if (item == Py_None) {
        *out = kiln_subscript_new_axis();
    } else if (item == Py_Ellipsis) {
        *out = kiln_subscript_ellipsis();
    } else if (kilnpy_is_array(item)) {
        *out = kiln_subscript_array(((array_object *)item)->array);
    } else if (PySlice_Check(item)) {
        if (read_bound(item, "start", &start) != 0 || read_bound(item, "stop", &stop) != 0 ||
            read_bound(item, "step", &step) != 0)
            return -1;
        *out = kiln_subscript_slice(start, stop, step);
    } else {
        *out = kiln_subscript_index(PyNumber_AsSsize_t(item, PyExc_IndexError));
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* scatter(array, tuple of subscripts, values, combination, mode, fast) */
PyObject *kilnpy_scatter(PyObject *self, PyObject *args)
{
    kiln_scatter_options options = KILN_SCATTER_OPTIONS_INIT;
    PyObject *array = NULL, *key = NULL, *values = NULL;
    kiln_subscript at[2 * KILN_RANK_MAX];
    int what = 0, mode = 0, fast = 0;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO!Oiip", &array, &PyTuple_Type, &key, &values, &what, &mode,
                          &fast))
        return NULL;
    if (!kilnpy_is_array(array) || !kilnpy_is_array(values)) {
        PyErr_SetString(PyExc_TypeError, "elements of a kiln.ndarray are changed by another");
        return NULL;
    }
    const size_t count = (size_t)PyTuple_Size(key);
    if (count > COUNT_OF(at))
        return kilnpy_fail(KILN_ERR_AXIS, "%zu subscripts", count);
    for (size_t k = 0; k < count; k++)
        if (read_subscript(PyTuple_GetItem(key, (Py_ssize_t)k), &at[k]) != 0)
            return NULL;
    options.mode = (kiln_index_mode)mode;
    options.fast = fast != 0;
    Py_BEGIN_ALLOW_THREADS status = kiln_array_scatter(
        ((array_object *)array)->array, at, count, kiln_arg_array(((array_object *)values)->array),
        (kiln_scatter)what, &options, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    Py_RETURN_NONE;
}

/* put(array, indices, values, axis or None, mode): without an axis elements count in C-order. */
PyObject *kilnpy_put(PyObject *self, PyObject *args)
{
    kiln_scatter_options options = KILN_SCATTER_OPTIONS_INIT;
    PyObject *object[3] = {NULL}, *axis = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a[3];
    bool given = false;
    kiln_status status;
    kiln_axes axes;
    int mode = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOi", &object[0], &object[1], &object[2], &axis, &mode) ||
        kilnpy_read_axes(axis, &given, &axes) != 0)
        return NULL;
    for (int k = 0; k < 3; k++) {
        if (!kilnpy_is_array(object[k])) {
            PyErr_Format(PyExc_TypeError, "a kiln.ndarray is needed, not %R", Py_TYPE(object[k]));
            return NULL;
        }
        a[k] = ((array_object *)object[k])->array;
    }
    options.mode = (kiln_index_mode)mode;
    Py_BEGIN_ALLOW_THREADS status =
        given ? kiln_array_put_along_axis(a[0], a[1], kiln_arg_array(a[2]), axes.axis[0], &options,
                                          &err)
              : kiln_array_put(a[0], a[1], kiln_arg_array(a[2]), &options, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    Py_RETURN_NONE;
}
