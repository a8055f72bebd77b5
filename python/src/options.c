/*
 * options.c - what a call of a kernel says by keywords, and numbers, axes and shapes of Python.
 */
#include "kilnpy.h"

int kilnpy_read_number(PyObject *object, kiln_arg *out)
{
    if (PyFloat_Check(object)) {
        *out = kiln_arg_float(PyFloat_AsDouble(object));
    } else if (PyBool_Check(object)) {
        *out = kiln_arg_bool(object == Py_True);
    } else if (PyLong_Check(object)) {
        int beyond = 0;
        const long long value = PyLong_AsLongLongAndOverflow(object, &beyond);
        *out = beyond > 0 ? kiln_arg_uint(PyLong_AsUnsignedLongLong(object)) : kiln_arg_int(value);
        if (beyond < 0)
            PyErr_SetString(PyExc_OverflowError, "an integer is below every dtype's range");
    } else if (PyComplex_Check(object)) {
        *out = kiln_arg_complex(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    } else {
        return 1;
    }
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* An integer, or what has __index__(). */
static int read_integer(PyObject *object, long long *out)
{
    PyObject *number = PyNumber_Index(object);

    if (number == NULL)
        return -1;
    *out = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return *out == -1 && PyErr_Occurred() != NULL ? -1 : 0;
}

int kilnpy_read_shape(PyObject *shape, int64_t out[KILN_RANK_MAX])
{
    long long value = 0;
    Py_ssize_t rank;
    int result = 0;

    if (PyIndex_Check(shape)) {
        result = read_integer(shape, &value);
        out[0] = value;
        return result == 0 ? 1 : -1;
    }
    rank = PySequence_Size(shape);
    if (rank < 0)
        return -1;
    if (rank > KILN_RANK_MAX) {
        kilnpy_fail(KILN_ERR_ARGUMENT, "a shape has %zd axes; at most %d", rank, KILN_RANK_MAX);
        return -1;
    }
    for (Py_ssize_t axis = 0; axis < rank && result == 0; axis++) {
        PyObject *item = PySequence_GetItem(shape, axis);
        result = item != NULL ? read_integer(item, &value) : -1;
        out[axis] = value;
        Py_XDECREF(item);
    }
    return result == 0 ? (int)rank : -1;
}

int kilnpy_read_axes(PyObject *axis, bool *has_out, kiln_axes *out)
{
    int64_t numbers[KILN_RANK_MAX];
    int count;

    *has_out = axis != NULL && axis != Py_None;
    if (!*has_out)
        return 0;
    count = kilnpy_read_shape(axis, numbers);
    if (count < 0)
        return -1;
    out->count = count;
    for (int k = 0; k < count; k++) {
        if (numbers[k] < -KILN_RANK_MAX || numbers[k] >= KILN_RANK_MAX) {
            kilnpy_fail(KILN_ERR_AXIS, "axis %lld is out of range", (long long)numbers[k]);
            return -1;
        }
        out->axis[k] = (int)numbers[k];
    }
    return 0;
}

/* Up to three extents of a grid or a block. */
static int read_extents(PyObject *object, int64_t out[3])
{
    int64_t numbers[KILN_RANK_MAX];
    const int count = kilnpy_read_shape(object, numbers);

    if (count < 0)
        return -1;
    if (count == 0 || count > 3) {
        kilnpy_fail(KILN_ERR_ARGUMENT, "a grid or block has %d extents, not 1 to 3", count);
        return -1;
    }
    for (int k = 0; k < count; k++)
        out[k] = numbers[k];
    return 0;
}

static int read_flag(PyObject *object, unsigned flag, unsigned *flags_io)
{
    const int set = PyObject_IsTrue(object);

    *flags_io |= set > 0 ? flag : 0;
    return set < 0 ? -1 : 0;
}

/* One keyword. */
static int read_keyword(const char *name, PyObject *value, call_options *o, PyObject **stream_out,
                        PyObject **out_out)
{
    long long number = 0;
    unsigned keepdims = 0;
    int result = 0;

    if (strcmp(name, "out") == 0) {
        *out_out = value != Py_None ? value : NULL;
    } else if (strcmp(name, "stream") == 0) {
        *stream_out = value != Py_None ? value : NULL;
    } else if (strcmp(name, "axis") == 0) {
        result = kilnpy_read_axes(value, &o->has_axes, &o->axes);
    } else if (strcmp(name, "keepdims") == 0) {
        result = read_flag(value, 1, &keepdims);
        o->keepdims = keepdims != 0;
    } else if (strcmp(name, "size") == 0) {
        o->has_size = value != Py_None;
        result = o->has_size ? read_integer(value, &number) : 0;
        o->size = number;
    } else if (strcmp(name, "exclusive") == 0) {
        result = read_flag(value, KILN_SCAN_EXCLUSIVE, &o->flags);
    } else if (strcmp(name, "reverse") == 0) {
        result = read_flag(value, KILN_SCAN_REVERSE, &o->flags);
    } else if (strcmp(name, "grid") == 0) {
        result = read_extents(value, o->grid);
    } else if (strcmp(name, "block") == 0) {
        result = read_extents(value, o->block);
    } else if (strcmp(name, "shared_mem") == 0) {
        result = read_integer(value, &number);
        o->shared_bytes = number;
    } else if (strcmp(name, "block_size") == 0) { /* kiln chooses it */
        result = read_integer(value, &number);
        if (result == 0 && number == 0) {
            kilnpy_fail(KILN_ERR_ARGUMENT, "block_size is 0");
            result = -1;
        }
    } else {
        PyErr_Format(PyExc_TypeError, "a kernel's call has no keyword \"%s\"", name);
        result = -1;
    }
    return result;
}

int kilnpy_read_keywords(PyObject *keywords, call_options *o, PyObject **stream_out,
                         PyObject **out_out)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    *stream_out = *out_out = NULL;
    if (keywords == NULL)
        return 0;
    while (PyDict_Next(keywords, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (name == NULL || read_keyword(name, value, o, stream_out, out_out) != 0)
            return -1;
    }
    return 0;
}
