/*
 * array.c - the type Array: a kiln_array, its facts, and its memory by the buffer protocol.
 *
 * kiln/_array.py derives kiln.ndarray from it, which has NumPy's names.
 */
#include "kilnpy.h"

static PyObject *array_class; /* of what calls return */
static PyTypeObject *array_type;

int kilnpy_array_class_set(PyObject *class)
{
    PyObject *old = array_class;

    array_class = Py_NewRef(class);
    Py_XDECREF(old);
    return 0;
}

int kilnpy_array_type_set(PyObject *type);
int kilnpy_array_type_set(PyObject *type)
{
    array_type = (PyTypeObject *)type;
    return 0;
}

bool kilnpy_is_array(PyObject *object)
{
    return PyObject_TypeCheck(object, array_type);
}

PyObject *kilnpy_array_new(kiln_array *a)
{
    PyTypeObject *type = (PyTypeObject *)array_class;
    PyObject *self = ((allocfunc)SLOT_OF(type, Py_tp_alloc))(type, 0);

    if (self == NULL)
        kiln_array_release(a);
    else
        ((array_object *)self)->array = a;
    return self;
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    kiln_array *a = ((array_object *)self)->array;

    if (!kilnpy_is_ending())
        kiln_array_release(a);
    free(((array_object *)self)->dims);
    Py_XDECREF(((array_object *)self)->untold);
    ((freefunc)SLOT_OF(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *array_refuse(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "arrays are made by kiln.empty(), kiln.asarray() and so on");
    return NULL;
}

/* ---- facts ---- */

static kiln_array *of(PyObject *self)
{
    return ((array_object *)self)->array;
}

static PyObject *tuple_of(int count, const int64_t *numbers)
{
    PyObject *tuple = PyTuple_New(count);

    for (int k = 0; tuple != NULL && k < count; k++) {
        PyObject *number = PyLong_FromLongLong(numbers[k]);
        if (number == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, k, number);
    }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    (void)unused;
    return tuple_of(kiln_array_rank(of(self)), kiln_array_shape(of(self)));
}

static PyObject *get_strides(PyObject *self, void *unused)
{
    (void)unused;
    return tuple_of(kiln_array_rank(of(self)), kiln_array_strides(of(self)));
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(kiln_array_rank(of(self)));
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(kiln_array_size(of(self)));
}

static PyObject *get_dtype_name(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(kiln_dtype_name(kiln_array_dtype(of(self))));
}

static PyObject *get_address(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(kiln_array_data(of(self)));
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(kiln_context_device(kiln_array_context(of(self)))->id);
}

static PyObject *get_read_only(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(kiln_array_is_read_only(of(self)));
}

static PyObject *get_contiguous(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(kiln_array_is_contiguous(of(self)));
}

/* ---- ways to the memory ---- */

int kilnpy_tell(kiln_array *a)
{
    kiln_error err = KILN_ERROR_INIT;

    if (kilnpy_device_of(a) != 0 ||
        kiln_context_synchronize(kiln_array_context(a), &err) == KILN_OK)
        return 0;
    kilnpy_raise(&err);
    return -1;
}

/* NumPy asks for a buffer first, drops the exception that it gets instead, and asks for the array interface. What
 * kernels report is told once, so that the exception is kept from the one to the other. */
static int tell_buffer(array_object *self)
{
    PyObject *type, *value, *trace;

    Py_CLEAR(self->untold);
    if (kilnpy_tell(self->array) == 0)
        return 0;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    self->untold = Py_XNewRef(value);
    PyErr_Restore(type, value, trace);
    return -1;
}

static int tell_interface(array_object *self)
{
    PyObject *value = self->untold;

    if (value == NULL)
        return kilnpy_tell(self->array);
    self->untold = NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
    Py_DECREF(value);
    return -1;
}

/* The dictionary that the array interfaces have in common. */
static PyObject *interface_of(PyObject *self, bool cuda)
{
    kiln_array_interface i;
    kiln_error err = KILN_ERROR_INIT;
    PyObject *shape, *strides, *dict = NULL;

    if ((kilnpy_device_of(of(self)) > 0) != cuda) {
        PyErr_Format(PyExc_AttributeError, "an array on %s has no such interface",
                     kiln_context_device(kiln_array_context(of(self)))->id);
        return NULL;
    }
    if (tell_interface((array_object *)self) != 0)
        return NULL;
    if (kiln_array_to_interface(of(self), &i, &err) != KILN_OK)
        return kilnpy_raise(&err);
    shape = tuple_of(i.rank, i.shape);
    strides = tuple_of(i.rank, i.strides);
    if (shape != NULL && strides != NULL)
        dict = Py_BuildValue("{sisss(NO)sOsO}", "version", 3, "typestr", i.typestr, "data",
                             PyLong_FromVoidPtr(i.data), i.read_only ? Py_True : Py_False, "shape",
                             shape, "strides", strides);
    if (dict != NULL && cuda) {
        PyObject *stream = PyLong_FromSsize_t(i.stream);
        if (stream == NULL || PyDict_SetItemString(dict, "stream", stream) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(stream);
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return dict;
}

static PyObject *get_host_interface(PyObject *self, void *unused)
{
    (void)unused;
    return interface_of(self, false);
}

static PyObject *get_cuda_interface(PyObject *self, void *unused)
{
    (void)unused;
    return interface_of(self, true);
}

static PyGetSetDef facts[] = {
    {"shape", get_shape, NULL, "Extents of the axes.", NULL},
    {"strides", get_strides, NULL, "Bytes from element to element along each axis.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"_dtype_name", get_dtype_name, NULL, "Name of the dtype.", NULL},
    {"_address", get_address, NULL, "Address of the first element.", NULL},
    {"_device_name", get_device, NULL, "What selects the device, as \"cuda:0\".", NULL},
    {"_read_only", get_read_only, NULL, "Whether it cannot be written to.", NULL},
    {"_contiguous", get_contiguous, NULL, "Whether it is dense in C-order.", NULL},
    {"__array_interface__", get_host_interface, NULL, "NumPy's array interface.", NULL},
    {"__cuda_array_interface__", get_cuda_interface, NULL, "The CUDA array interface.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- the buffer protocol ---- */

/* The struct module's letters by dtype; bfloat16 and float8 have none. */
static const char *const formats[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = "?",       [KILN_INT8] = "b",       [KILN_INT16] = "h",   [KILN_INT32] = "i",
    [KILN_INT64] = "q",      [KILN_UINT8] = "B",      [KILN_UINT16] = "H",  [KILN_UINT32] = "I",
    [KILN_UINT64] = "Q",     [KILN_FLOAT16] = "e",    [KILN_FLOAT32] = "f", [KILN_FLOAT64] = "d",
    [KILN_COMPLEX64] = "Zf", [KILN_COMPLEX128] = "Zd"};

/* Fill `b`; the shape and the strides are the array's own, which lives as long as the view. */
static int get_buffer(PyObject *self, Py_buffer *b, int flags)
{
    kiln_array *a = of(self);
    const kiln_dtype dtype = kiln_array_dtype(a);
    const bool fits = sizeof(Py_ssize_t) == sizeof(int64_t);

    memset(b, 0, sizeof *b);
    if (kilnpy_device_of(a) != 0 || formats[dtype] == NULL || !fits) {
        PyErr_Format(PyExc_BufferError, "an array of %s on %s has no buffer",
                     kiln_dtype_name(dtype), kiln_context_device(kiln_array_context(a))->id);
        return -1;
    }
    if (tell_buffer((array_object *)self) != 0)
        return -1;
    b->readonly = kiln_array_is_read_only(a);
    if ((b->readonly && (flags & PyBUF_WRITABLE) != 0) ||
        ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !kiln_array_is_contiguous(a))) {
        PyErr_SetString(PyExc_BufferError, "the array is read-only, or strided");
        return -1;
    }
    b->buf = kiln_array_data(a);
    b->itemsize = (Py_ssize_t)kiln_dtype_size(dtype);
    b->len = (Py_ssize_t)kiln_array_size(a) * b->itemsize;
    b->ndim = kiln_array_rank(a);
    b->format = (flags & PyBUF_FORMAT) != 0 ? (char *)(uintptr_t)formats[dtype] : NULL;
    if ((flags & PyBUF_ND) != 0)
        b->shape = (Py_ssize_t *)(uintptr_t)kiln_array_shape(a);
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
        b->strides = (Py_ssize_t *)(uintptr_t)kiln_array_strides(a);
    b->obj = Py_NewRef(self);
    return 0;
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"__dlpack__", METHOD(kilnpy_dlpack), METH_FASTCALL | METH_KEYWORDS, "A DLPack capsule."},
    {"__dlpack_device__", kilnpy_dlpack_device, METH_NOARGS, "DLPack's device of the memory."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, SLOT(array_refuse)}, {Py_tp_dealloc, SLOT(array_dealloc)}, {Py_tp_getset, facts},
    {Py_tp_methods, methods},        {Py_bf_getbuffer, SLOT(get_buffer)},  {0, NULL}};

PyType_Spec kilnpy_array_spec = {"kiln._kiln.Array", sizeof(array_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
