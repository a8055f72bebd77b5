/*
 * views.c - making arrays, views of them, and copies: thin functions around kiln/array.h.
 *
 * Each is called by kiln/_array.py, which has NumPy's names and defaults.
 */
#include "kilnpy.h"

/* The result of a function of libkiln, which has been called when `made` is read. */
static PyObject *give(kiln_status status, kiln_array *const *made, kiln_error *err)
{
    return status == KILN_OK ? kilnpy_array_new(*made) : kilnpy_raise(err);
}

static kiln_array *array_of(PyObject *object)
{
    if (kilnpy_is_array(object))
        return ((array_object *)object)->array;
    PyErr_Format(PyExc_TypeError, "a kiln.ndarray is needed, not %R", Py_TYPE(object));
    return NULL;
}

static int dtype_of(const char *name, kiln_dtype *out)
{
    *out = kiln_dtype_from_name(name, strlen(name));
    if (*out != KILN_DTYPE_NONE)
        return 0;
    kilnpy_fail(KILN_ERR_DTYPE, "kiln has no dtype \"%.40s\"", name);
    return -1;
}

/* More than there are distributions. */
enum { DRAWS = 64 };

static int device_of(const char *name)
{
    return name == NULL ? kilnpy_default_device() : kilnpy_device_number(name);
}

/* empty(shape, dtype, device) */
static PyObject *empty(PyObject *self, PyObject *args)
{
    PyObject *shape = NULL;
    const char *dtype_name = NULL, *device_name = NULL;
    int64_t extents[KILN_RANK_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *made = NULL;
    kiln_dtype dtype;
    int rank, device;

    (void)self;
    if (!PyArg_ParseTuple(args, "Osz", &shape, &dtype_name, &device_name) ||
        dtype_of(dtype_name, &dtype) != 0)
        return NULL;
    rank = kilnpy_read_shape(shape, extents);
    device = rank >= 0 ? device_of(device_name) : -1;
    if (device < 0 || kilnpy_context(device) == NULL)
        return NULL;
    return give(kiln_array_empty(kilnpy_context(device), dtype, rank, extents, &made, &err), &made,
                &err);
}

/* drawn(name, key, draw, shape, params, dtype or None, device): random numbers, whose parameters are numbers and no part
 * of the kernel. */
static PyObject *drawn(PyObject *self, PyObject *args)
{
    enum { PARAMS_MAX = 4 };
    PyObject *shape = NULL, *params = NULL;
    const char *name = NULL, *dtype_name = NULL, *device_name = NULL;
    unsigned long long key = 0, nth = 0;
    int64_t extents[KILN_RANK_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln_dtype dtype = KILN_DTYPE_NONE;
    kiln_arg numbers[PARAMS_MAX];
    kiln_array *made = NULL;
    kiln_random generator;
    kiln_status status;
    int which = 0, rank, device;

    (void)self;
    if (!PyArg_ParseTuple(args, "sKKOO!zz", &name, &key, &nth, &shape, &PyTuple_Type, &params, &dtype_name,
                          &device_name) ||
        (dtype_name != NULL && dtype_of(dtype_name, &dtype) != 0))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(params);
    for (Py_ssize_t k = 0; k < count && k < PARAMS_MAX; k++)
        if (kilnpy_read_number(PyTuple_GetItem(params, k), &numbers[k]) != 0)
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "%s: parameter %zd is no number", name, k + 1);
    while (which < DRAWS && strcmp(kiln_draw_name((kiln_draw)which), name) != 0)
        which++;
    rank = kilnpy_read_shape(shape, extents);
    device = rank >= 0 ? device_of(device_name) : -1;
    kiln_context *const ctx = device >= 0 ? kilnpy_context(device) : NULL;
    if (ctx == NULL)
        return NULL;
    kiln_random_init(&generator, key, 0);
    kiln_random_jump(&generator, nth);
    Py_BEGIN_ALLOW_THREADS status =
        kiln_random_array(&generator, ctx, (kiln_draw)which, numbers, (size_t)count, dtype, rank, extents, &made, &err);
    Py_END_ALLOW_THREADS return give(status, &made, &err);
}

/* ranged(which, dtype, start, stop, step or count, device): arange or linspace. */
static PyObject *ranged(PyObject *self, PyObject *args)
{
    const char *which = NULL, *dtype_name = NULL, *device_name = NULL;
    double start = 0, stop = 0, step = 0;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *made = NULL;
    kiln_context *context;
    kiln_status status;
    kiln_dtype dtype;
    int device;

    (void)self;
    if (!PyArg_ParseTuple(args, "ssdddz", &which, &dtype_name, &start, &stop, &step,
                          &device_name) ||
        dtype_of(dtype_name, &dtype) != 0)
        return NULL;
    device = device_of(device_name);
    context = device >= 0 ? kilnpy_context(device) : NULL;
    if (context == NULL)
        return NULL;
    status = strcmp(which, "arange") == 0
                 ? kiln_array_arange(context, dtype, start, stop, step, &made, &err)
                 : kiln_array_linspace(context, dtype, start, stop, (int64_t)step, &made, &err);
    return give(status, &made, &err);
}

/* view(array, subscript) */
static PyObject *view(PyObject *self, PyObject *args)
{
    PyObject *object = NULL;
    const char *subscript = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *made = NULL;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &object, &subscript) || (a = array_of(object)) == NULL)
        return NULL;
    return give(kiln_array_view(a, subscript, &made, &err), &made, &err);
}

/* transpose(array, axes or None) */
static PyObject *transpose(PyObject *self, PyObject *args)
{
    PyObject *object = NULL, *axis = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *made = NULL;
    bool given = false;
    kiln_axes axes;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &object, &axis) || (a = array_of(object)) == NULL ||
        kilnpy_read_axes(axis, &given, &axes) != 0)
        return NULL;
    return give(kiln_array_transpose(a, given ? &axes : NULL, &made, &err), &made, &err);
}

/* shaped(which, array, shape): reshape or broadcast_to. */
static PyObject *shaped(PyObject *self, PyObject *args)
{
    PyObject *object = NULL, *shape = NULL;
    const char *which = NULL;
    int64_t extents[KILN_RANK_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *made = NULL;
    kiln_status status;
    int rank;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOO", &which, &object, &shape) || (a = array_of(object)) == NULL ||
        (rank = kilnpy_read_shape(shape, extents)) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS /* A reshape may copy. */
        status =
            strcmp(which, "reshape") == 0 ? kiln_array_reshape(a, rank, extents, &made, &err)
                                          : kiln_array_broadcast_to(a, rank, extents, &made, &err);
    Py_END_ALLOW_THREADS return give(status, &made, &err);
}

/* converted(array, dtype or None): a copy, of another dtype if one is given. */
static PyObject *converted(PyObject *self, PyObject *args)
{
    PyObject *object = NULL;
    const char *name = NULL;
    kiln_dtype dtype = KILN_DTYPE_NONE;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *made = NULL;
    kiln_status status;

    (void)self;
    if (!PyArg_ParseTuple(args, "Oz", &object, &name) || (a = array_of(object)) == NULL ||
        (name != NULL && dtype_of(name, &dtype) != 0))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status =
        name == NULL ? kiln_array_copy(a, &made, &err) : kiln_array_cast(a, dtype, &made, &err);
    Py_END_ALLOW_THREADS return give(status, &made, &err);
}

/* assign(array, array or number) */
static PyObject *assign(PyObject *self, PyObject *args)
{
    PyObject *to = NULL, *from = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *b;
    kiln_status status;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &to, &from) || (a = array_of(to)) == NULL)
        return NULL;
    if (PyFloat_Check(from) || PyLong_Check(from)) {
        const double value = PyFloat_AsDouble(from);
        if (PyErr_Occurred())
            return NULL;
        Py_BEGIN_ALLOW_THREADS status = kiln_array_fill(a, value, &err);
        Py_END_ALLOW_THREADS
    } else {
        b = array_of(from);
        if (b == NULL)
            return NULL;
        Py_BEGIN_ALLOW_THREADS status = kiln_array_assign(a, b, &err);
        Py_END_ALLOW_THREADS
    }
    if (status != KILN_OK)
        return kilnpy_raise(&err);
    Py_RETURN_NONE;
}

/* from_host(array of the host, device): a copy on a device. */
static PyObject *from_host(PyObject *self, PyObject *args)
{
    PyObject *object = NULL;
    const char *device_name = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *made = NULL;
    kiln_context *context;
    kiln_status status;
    int device;

    (void)self;
    if (!PyArg_ParseTuple(args, "Oz", &object, &device_name) || (a = array_of(object)) == NULL)
        return NULL;
    device = device_of(device_name);
    context = device >= 0 ? kilnpy_context(device) : NULL;
    if (context == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status =
        kiln_array_from_host(context, kiln_array_dtype(a), kiln_array_rank(a), kiln_array_shape(a),
                             kiln_array_data(a), kiln_array_strides(a), &made, &err);
    Py_END_ALLOW_THREADS return give(status, &made, &err);
}

/* to_host(array): a copy on the cpu device. */
static PyObject *to_host(PyObject *self, PyObject *object)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a = array_of(object), *made = NULL;
    kiln_context *context = a != NULL ? kilnpy_context(0) : NULL;
    kiln_status status;

    (void)self;
    if (context == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = kiln_array_empty(
        context, kiln_array_dtype(a), kiln_array_rank(a), kiln_array_shape(a), &made, &err);
    if (status == KILN_OK)
        status = kiln_array_to_host(
            a, kiln_array_data(made),
            (size_t)kiln_array_size(a) * kiln_dtype_size(kiln_array_dtype(a)), NULL, &err);
    if (status != KILN_OK)
        kiln_array_release(made);
    Py_END_ALLOW_THREADS return give(status, &made, &err);
}

/* item(array): its one element as a number of Python. */
static PyObject *element(PyObject *self, PyObject *object)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a = array_of(object);
    kiln_scalar s;
    kiln_status status;

    (void)self;
    if (a == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = kiln_array_item(a, NULL, &s, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    switch (kiln_dtype_kind(s.dtype)) {
    case 'b':
        return PyBool_FromLong(s.value.b);
    case 'i':
        return PyLong_FromLongLong(s.value.i);
    case 'u':
        return PyLong_FromUnsignedLongLong(s.value.u);
    case 'c':
        return PyComplex_FromDoubles(s.value.c[0], s.value.c[1]);
    default:
        return PyFloat_FromDouble(s.value.f);
    }
}

/* chosen(which, array, mask or None): what a function of kiln/select.h gives, as a tuple. */
static PyObject *chosen(PyObject *self, PyObject *args)
{
    PyObject *object = NULL, *condition = NULL, *result;
    const char *which = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *mask = NULL, *made[KILN_RANK_MAX] = {NULL};
    kiln_status status;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOO", &which, &object, &condition) ||
        (a = array_of(object)) == NULL ||
        (condition != Py_None && (mask = array_of(condition)) == NULL))
        return NULL;
    const bool both = strcmp(which, "partition_copy") == 0;
    Py_BEGIN_ALLOW_THREADS status =
        both ? kiln_array_partition_copy(a, mask, &made[0], &made[1], NULL, NULL, &err)
        : mask != NULL                     ? kiln_array_compress(a, mask, made, NULL, &err)
        : strcmp(which, "nonzero") == 0    ? kiln_array_nonzero(a, made, NULL, &err)
        : strcmp(which, "argwhere") == 0   ? kiln_array_argwhere(a, made, NULL, &err)
                                           : kiln_array_flatnonzero(a, made, NULL, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    const int count = strcmp(which, "nonzero") == 0 ? kiln_array_rank(a) : 1 + both;
    result = PyTuple_New(count);
    for (int k = 0; k < count; k++) {
        PyObject *one = result != NULL ? kilnpy_array_new(made[k]) : NULL;
        if (result == NULL)
            kiln_array_release(made[k]);
        else if (one == NULL)
            Py_CLEAR(result);
        else
            (void)PyTuple_SetItem(result, k, one);
    }
    return result;
}

/* place(array, mask, values) */
static PyObject *place(PyObject *self, PyObject *args)
{
    PyObject *object[3] = {NULL};
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a[3];
    kiln_status status;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOO", &object[0], &object[1], &object[2]))
        return NULL;
    for (int k = 0; k < 3; k++)
        if ((a[k] = array_of(object[k])) == NULL)
            return NULL;
    Py_BEGIN_ALLOW_THREADS status = kiln_array_place(a[0], a[1], a[2], &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    Py_RETURN_NONE;
}

/* Arrays are joined in one of two ways. A call that copies one part looks at its layout alone, which
 * takes 1 us where shapes are new. kiln_array_rearrange() stores parts of one shape by one kernel,
 * which on a GPU is faster for many bytes; but it plans a graph for each new set of shapes, which takes
 * the host 170 us for two arrays and 420 us for eight. */
enum { TOGETHER_MAX = 8, TOGETHER_BYTES = 1 << 20 };

/* A join: the arrays, and the result that they are parts of. */
typedef struct joining {
    kiln_array **all;
    size_t count;
    int axis;
    kiln_dtype dtype;
    int64_t extents[KILN_RANK_MAX];
} joining;

/* Takes the tuple's arrays. False where they are not arrays of one device and shape but for the axis. Of which dtypes
 * they are matters where the result's is not given. */
static bool read_joined(PyObject *tuple, joining *j)
{
    const bool any_dtype = j->dtype != KILN_DTYPE_NONE;

    for (size_t k = 0; k < j->count; k++) {
        PyObject *const item = PyTuple_GetItem(tuple, (Py_ssize_t)k);
        if (!kilnpy_is_array(item))
            return false;
        kiln_array *const a = j->all[k] = ((array_object *)item)->array;
        const int rank = kiln_array_rank(a);
        const int64_t *const shape = kiln_array_shape(a);
        j->axis += k == 0 && j->axis < 0 ? rank : 0;
        j->dtype = j->dtype == KILN_DTYPE_NONE ? kiln_array_dtype(a) : j->dtype;
        if (rank != kiln_array_rank(j->all[0]) || j->axis < 0 || j->axis >= rank ||
            (!any_dtype && kiln_array_dtype(a) != j->dtype) ||
            kiln_array_context(a) != kiln_array_context(j->all[0]))
            return false;
        for (int n = 0; n < rank; n++) {
            if (k > 0 && n != j->axis && shape[n] != j->extents[n])
                return false;
            j->extents[n] = k > 0 && n == j->axis ? j->extents[n] + shape[n] : shape[n];
        }
    }
    return j->count > 0;
}

/* The arrays with elements, where they are better stored together; else 0. */
static size_t together(const joining *j, kiln_arg args[TOGETHER_MAX])
{
    size_t count = 0, bytes = kiln_dtype_size(j->dtype);

    for (int n = 0; n < kiln_array_rank(j->all[0]); n++)
        bytes *= (size_t)j->extents[n];
    if (bytes < TOGETHER_BYTES ||
        kiln_context_device(kiln_array_context(j->all[0]))->backend == KILN_BACKEND_CPU)
        return 0;
    for (size_t k = 0; k < j->count; k++) {
        if (kiln_array_size(j->all[k]) == 0)
            continue;
        if (count == TOGETHER_MAX || kiln_array_dtype(j->all[k]) != j->dtype)
            return 0;
        args[count++] = kiln_arg_array(j->all[k]);
    }
    return count > 1 ? count : 0;
}

static kiln_status join(const joining *j, kiln_array **made, kiln_error *err)
{
    kiln_arg args[TOGETHER_MAX];
    const size_t count = together(j, args);
    const int64_t axis = j->axis;
    int64_t begin = 0;
    kiln_status status;

    if (count > 0)
        return kiln_array_rearrange(KILN_REARRANGE_CONCATENATE, args, count, &axis, 1, made, err);
    status = kiln_array_empty(kiln_array_context(j->all[0]), j->dtype, kiln_array_rank(j->all[0]),
                              j->extents, made, err);
    for (size_t k = 0; k < j->count && status == KILN_OK; k++) {
        const int64_t end = begin + kiln_array_shape(j->all[k])[j->axis];
        kiln_array *part = NULL;
        if (kiln_array_size(j->all[k]) > 0)
            status = kiln_array_slice(*made, j->axis, begin, end, 1, &part, err);
        if (part != NULL)
            status = kiln_array_assign(part, j->all[k], err);
        kiln_array_release(part);
        begin = end;
    }
    if (status != KILN_OK) {
        kiln_array_release(*made);
        *made = NULL;
    }
    return status;
}

/* joined(tuple of arrays, axis, dtype): a new array, or None where the arrays have to be looked at more
 * closely. The dtype is a name, or None: theirs, if they have one. */
static PyObject *joined(PyObject *self, PyObject *args)
{
    enum { FEW = 16 };
    kiln_array *few[FEW], *made = NULL;
    kiln_error err = KILN_ERROR_INIT;
    const char *dtype_name = NULL;
    PyObject *tuple = NULL;
    kiln_status status = KILN_OK;
    joining j = {.all = few, .dtype = KILN_DTYPE_NONE};

    (void)self;
    if (!PyArg_ParseTuple(args, "O!iz", &PyTuple_Type, &tuple, &j.axis, &dtype_name) ||
        (dtype_name != NULL && dtype_of(dtype_name, &j.dtype) != 0))
        return NULL;
    j.count = (size_t)PyTuple_Size(tuple);
    if (j.count > FEW && (j.all = PyMem_Malloc(j.count * sizeof *j.all)) == NULL)
        return PyErr_NoMemory();
    const bool fits = read_joined(tuple, &j);
    if (fits) {
        Py_BEGIN_ALLOW_THREADS /* The caller holds the arrays. */
            status = join(&j, &made, &err);
        Py_END_ALLOW_THREADS
    }
    if (j.all != few)
        PyMem_Free(j.all);
    if (!fits)
        Py_RETURN_NONE;
    return give(status, &made, &err);
}

/* selected(array, index): array[index] of a number that fits 64 bits; else None. */
static PyObject *selected(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a, *made = NULL;
    long long index;
    int beyond = 0;

    (void)self;
    if (count != 2 || (a = array_of(args[0])) == NULL)
        return NULL;
    index = PyLong_AsLongLongAndOverflow(args[1], &beyond);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    if (beyond != 0 || kiln_array_rank(a) == 0)
        Py_RETURN_NONE;
    return give(kiln_array_select(a, 0, index, &made, &err), &made, &err);
}

/* indexes(array, indices): whether both are arrays of one device, the second one of integers. */
static PyObject *indexes(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !kilnpy_is_array(args[0]) || !kilnpy_is_array(args[1]))
        Py_RETURN_FALSE;
    const kiln_array *const x = ((array_object *)args[0])->array,
                     *const i = ((array_object *)args[1])->array;
    const char of = kiln_dtype_kind(kiln_array_dtype(i));
    return PyBool_FromLong((of == 'i' || of == 'u') &&
                           kiln_array_context(x) == kiln_array_context(i));
}

/* text(array): as NumPy's str(). */
static PyObject *text(PyObject *self, PyObject *object)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a = array_of(object);
    char *written = NULL;
    kiln_status status;
    PyObject *result;

    (void)self;
    if (a == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = kiln_array_to_string(a, &written, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    result = PyUnicode_FromString(written);
    kiln_free(written);
    return result;
}

PyMethodDef kilnpy_view_methods[] = {
    {"empty", empty, METH_VARARGS, "empty(shape, dtype, device)"},
    {"drawn", drawn, METH_VARARGS, "drawn(name, key, draw, shape, params, dtype, device)"},
    {"ranged", ranged, METH_VARARGS, "ranged(which, dtype, start, stop, step, device)"},
    {"view", view, METH_VARARGS, "view(array, subscript)"},
    {"transpose", transpose, METH_VARARGS, "transpose(array, axes)"},
    {"shaped", shaped, METH_VARARGS, "shaped(which, array, shape)"},
    {"converted", converted, METH_VARARGS, "converted(array, dtype)"},
    {"assign", assign, METH_VARARGS, "assign(array, value)"},
    {"from_host", from_host, METH_VARARGS, "from_host(array, device)"},
    {"to_host", to_host, METH_O, "to_host(array)"},
    {"element", element, METH_O, "element(array)"},
    {"chosen", chosen, METH_VARARGS, "chosen(which, array, mask or None)"},
    {"place", place, METH_VARARGS, "place(array, mask, values)"},
    {"selected", METHOD(selected), METH_FASTCALL, "selected(array, index)"},
    {"indexes", METHOD(indexes), METH_FASTCALL, "indexes(array, indices)"},
    {"joined", joined, METH_VARARGS, "joined(arrays, axis, dtype)"},
    {"text", text, METH_O, "text(array)"},
    {"linalg", kilnpy_linalg, METH_VARARGS, "linalg(name, arrays, number, upper, text, axes)"},
    {"observe", kilnpy_observe, METH_VARARGS, "observe(what, path, device)"},
    {"observed", kilnpy_observed, METH_O, "observed(observer)"},
    {"cache_counters", kilnpy_cache_counters, METH_VARARGS, "cache_counters(device or None)"},
    {"label", kilnpy_label, METH_O, "label(text or None)"},
    {"sorting", kilnpy_sorting, METH_VARARGS, "sorting(name, arrays, axis, numbers, flag, method)"},
    {"sort_by", kilnpy_sort_by, METH_VARARGS,
     "sort_by(in, arrays, less, key, key dtype, descending, axis)"},
    {"scatter", kilnpy_scatter, METH_VARARGS, "scatter(array, key, values, what, mode, fast)"},
    {"put", kilnpy_put, METH_VARARGS, "put(array, indices, values, axis, mode)"},
    {"scan", kilnpy_scan, METH_VARARGS, "scan(name, array, axis, exclusive, reverse, out)"},
    {NULL, NULL, 0, NULL}};
