/*
 * interfaces.c - __cuda_array_interface__ and __array_interface__ as DLPack structs.
 *
 * Both are dictionaries: "data" is (address, read-only), "typestr" NumPy's type string, "shape" and
 * "strides" tuples (strides count bytes; None is C-order), "stream" where the work on it is enqueued.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kilnpy.h"

int kilnpy_type_of(const char *typestr, DLDataType *out)
{
    static const struct {
        char letter;
        uint8_t code;
    } letters[] = {
        {'b', kDLBool}, {'i', kDLInt}, {'u', kDLUInt}, {'f', kDLFloat}, {'c', kDLComplex}};
    static const struct {
        const char *text;
        DLDataType type;
    } own[] = {{"V2", {kDLBfloat, 16, 1}}, /* as ml_dtypes has them */
               {"V1", {kDLFloat8_e4m3fn, 8, 1}},
               {"f1", {kDLFloat8_e5m2, 8, 1}}};
    const bool ordered = typestr[0] == '<' || typestr[0] == '|' || typestr[0] == '=';
    const long bytes = typestr[0] != '\0' && typestr[1] != '\0' ? strtol(typestr + 2, NULL, 10) : 0;

    for (size_t k = 0; ordered && k < COUNT_OF(own); k++) {
        if (strcmp(typestr + 1, own[k].text) == 0) {
            *out = own[k].type;
            return 0;
        }
    }
    for (size_t k = 0; ordered && bytes > 0 && bytes <= 16 && k < COUNT_OF(letters); k++) {
        if (letters[k].letter == typestr[1]) {
            *out = (DLDataType){letters[k].code, (uint8_t)(8 * bytes), 1};
            return 0;
        }
    }
    kilnpy_fail(KILN_ERR_DTYPE, "kiln has no dtype for elements of type \"%.20s\"%s", typestr,
                typestr[0] == '>' ? ", which are big-endian" : "");
    return -1;
}

static int read_data(PyObject *dict, borrowed *out)
{
    PyObject *data = PyDict_GetItemString(dict, "data"), *address;

    if (data == NULL || !PyTuple_Check(data) || PyTuple_Size(data) != 2) {
        kilnpy_fail(KILN_ERR_ARGUMENT, "an array interface without \"data\" as a pair");
        return -1;
    }
    address = PyTuple_GetItem(data, 0);
    if (address != Py_None)
        out->tensor.dl_tensor.data = PyLong_AsVoidPtr(address);
    if (PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1)
        out->tensor.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return PyErr_Occurred() != NULL ? -1 : 0;
}

static int read_type(PyObject *dict, borrowed *out)
{
    PyObject *typestr = PyDict_GetItemString(dict, "typestr");
    const char *text = typestr != NULL ? PyUnicode_AsUTF8AndSize(typestr, NULL) : NULL;

    if (text == NULL && !PyErr_Occurred())
        kilnpy_fail(KILN_ERR_ARGUMENT, "an array interface without \"typestr\"");
    if (text == NULL)
        return -1;
    return kilnpy_type_of(text, &out->tensor.dl_tensor.dtype);
}

/* The shape, and strides in elements. */
static int read_dims(PyObject *shape, PyObject *strides, borrowed *out)
{
    DLTensor *t = &out->tensor.dl_tensor;
    const long long itemsize = t->dtype.bits / 8;
    const int rank = shape != NULL ? kilnpy_read_shape(shape, out->dims) : -1;

    if (rank < 0) {
        if (!PyErr_Occurred())
            kilnpy_fail(KILN_ERR_ARGUMENT, "an array interface without \"shape\"");
        return -1;
    }
    t->ndim = rank;
    t->shape = out->dims;
    if (strides == NULL || strides == Py_None)
        return 0;
    if (kilnpy_read_shape(strides, out->dims + KILN_RANK_MAX) != rank) {
        if (!PyErr_Occurred())
            kilnpy_fail(KILN_ERR_ARGUMENT, "an array interface with fewer strides than axes");
        return -1;
    }
    t->strides = out->dims + KILN_RANK_MAX;
    for (int axis = 0; axis < rank; axis++) {
        if (t->strides[axis] % itemsize != 0 && t->shape[axis] > 1) {
            kilnpy_fail(KILN_ERR_ARGUMENT,
                        "stride %lld of axis %d is no multiple of the element's %lld bytes",
                        (long long)t->strides[axis], axis, itemsize);
            return -1;
        }
        t->strides[axis] /= itemsize;
    }
    return 0;
}

static PyObject *dictionary(PyObject *object, const char *name)
{
    PyObject *dict = PyObject_GetAttrString(object, name);

    if (dict != NULL && !PyDict_Check(dict)) {
        Py_DECREF(dict);
        return kilnpy_fail(KILN_ERR_ARGUMENT, "%s is no dictionary", name);
    }
    return dict;
}

static int read_all(PyObject *dict, borrowed *out)
{
    if (read_data(dict, out) != 0 || read_type(dict, out) != 0)
        return -1;
    return read_dims(PyDict_GetItemString(dict, "shape"), PyDict_GetItemString(dict, "strides"),
                     out);
}

int kilnpy_borrow_host(PyObject *object, borrowed *out)
{
    PyObject *dict = dictionary(object, "__array_interface__");
    int result;

    if (dict == NULL)
        return -1;
    out->tensor.dl_tensor.device = (DLDevice){kDLCPU, 0};
    result = read_all(dict, out);
    Py_DECREF(dict);
    return result;
}

/* The number of the CUDA device that memory is on is not in the dictionary: device 0, or what the
 * object's own `device` says, as those of Numba and CuPy do. */
static int device_of(PyObject *object)
{
    PyObject *device = PyObject_GetAttrString(object, "device");
    PyObject *id = device != NULL ? PyObject_GetAttrString(device, "id") : NULL;
    const long number = id != NULL && PyLong_Check(id) ? PyLong_AsLong(id) : 0;

    PyErr_Clear();
    Py_XDECREF(device);
    Py_XDECREF(id);
    return number >= 0 && number < DEVICES_MAX - 1 ? (int)number : 0;
}

int kilnpy_borrow_cuda(PyObject *object, borrowed *out)
{
    PyObject *dict = dictionary(object, "__cuda_array_interface__"), *stream;
    int result;

    if (dict == NULL)
        return -1;
    out->tensor.dl_tensor.device = (DLDevice){kDLCUDA, device_of(object)};
    result = read_all(dict, out);
    stream = PyDict_GetItemString(dict, "stream");
    if (result == 0 && stream != NULL && stream != Py_None) {
        out->stream = PyLong_AsSsize_t(stream);
        out->has_stream = true;
        result = PyErr_Occurred() != NULL ? -1 : 0;
    }
    Py_DECREF(dict);
    return result;
}

/* ---- CuPy's arrays ---- */

/* The attributes' names, made once. */
typedef enum attribute {
    DATA,
    POINTER,
    DEVICE,
    DTYPE,
    STRING,
    SHAPE,
    STRIDES,
    ATTRIBUTES
} attribute;

static PyObject *get(PyObject *object, attribute which)
{
    static const char *const texts[ATTRIBUTES] = {"data", "ptr",   "device_id", "dtype",
                                                  "str",  "shape", "strides"};
    static PyObject *names[ATTRIBUTES];

    if (object == NULL)
        return NULL;
    if (names[which] == NULL)
        names[which] = PyUnicode_InternFromString(texts[which]);
    return names[which] != NULL ? PyObject_GetAttr(object, names[which]) : NULL;
}

static int number_of(PyObject *object, attribute which, long long *out)
{
    PyObject *value = get(object, which);

    *out = value != NULL ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    return *out == -1 && PyErr_Occurred() != NULL ? -1 : 0;
}

static int memory_of(PyObject *object, DLTensor *t)
{
    PyObject *memory = get(object, DATA);
    long long address = 0, device = 0;
    const bool read = memory != NULL && number_of(memory, POINTER, &address) == 0 &&
                      number_of(memory, DEVICE, &device) == 0;

    Py_XDECREF(memory);
    t->data = (void *)(uintptr_t)address;
    t->device = (DLDevice){kDLCUDA, (int32_t)device};
    return read ? 0 : -1;
}

/* DLPack's type of a dtype object, which takes a type string to make; those of the last dtypes are
 * kept. */
static int type_of_dtype(PyObject *dtype, DLDataType *out)
{
    static struct {
        PyObject *dtype; /* counted */
        DLDataType type;
    } known[16];
    static size_t next;
    PyObject *typestr;
    const char *text;
    int result;

    for (size_t k = 0; dtype != NULL && k < COUNT_OF(known); k++) {
        if (known[k].dtype != dtype)
            continue;
        *out = known[k].type;
        return 0;
    }
    typestr = get(dtype, STRING);
    text = typestr != NULL ? PyUnicode_AsUTF8AndSize(typestr, NULL) : NULL;
    result = text != NULL ? kilnpy_type_of(text, out) : -1;
    Py_XDECREF(typestr);
    if (result == 0) {
        Py_XDECREF(known[next].dtype);
        known[next].dtype = Py_NewRef(dtype);
        known[next].type = *out;
        next = (next + 1) % COUNT_OF(known);
    }
    return result;
}

/* The dictionary of CuPy's arrays, and their capsule, take a microsecond to make; what they say are
 * attributes of the array. */
int kilnpy_borrow_attributes(PyObject *object, borrowed *out)
{
    PyObject *dtype = get(object, DTYPE);
    PyObject *shape = get(object, SHAPE), *strides = get(object, STRIDES);
    int result = -1;

    if (dtype != NULL && shape != NULL && strides != NULL &&
        memory_of(object, &out->tensor.dl_tensor) == 0 &&
        type_of_dtype(dtype, &out->tensor.dl_tensor.dtype) == 0)
        result = read_dims(shape, strides, out);
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return result;
}
