/*
 * describe.c - an array of any kind as a DLPack struct, borrowed for the time of a call.
 *
 *     object -> [its kind's way of reading] -> DLManagedTensorVersioned without a deleter
 *
 * Nothing is copied. The object itself outlives the call, as its caller holds it; capsules and
 * buffers are given back by kilnpy_give_back().
 */
#include "kilnpy.h"

/* ---- the buffer protocol ---- */

/* DLPack's type of a buffer's format, which is a letter of the struct module, with "Z" before it for
 * complex numbers. */
static int type_of_format(const char *format, Py_ssize_t itemsize, DLDataType *out)
{
    static const struct {
        char letter;
        uint8_t code;
    } letters[] = {{'?', kDLBool}, {'b', kDLInt},   {'B', kDLUInt},  {'h', kDLInt},  {'H', kDLUInt},
                   {'i', kDLInt},  {'I', kDLUInt},  {'l', kDLInt},   {'L', kDLUInt}, {'q', kDLInt},
                   {'Q', kDLUInt}, {'e', kDLFloat}, {'f', kDLFloat}, {'d', kDLFloat}};
    const char *at = format != NULL ? format : "B";
    bool complex_number;

    at += *at == '@' || *at == '=' || *at == '<';
    complex_number = *at == 'Z';
    at += complex_number;
    for (size_t k = 0; k < COUNT_OF(letters); k++) {
        if (letters[k].letter != at[0] || at[1] != '\0')
            continue;
        *out =
            (DLDataType){complex_number ? kDLComplex : letters[k].code, (uint8_t)(8 * itemsize), 1};
        return 0;
    }
    kilnpy_fail(KILN_ERR_DTYPE, "kiln has no dtype for elements of format \"%.20s\"%s",
                format != NULL ? format : "", at[0] == '>' ? ", which are big-endian" : "");
    return -1;
}

static int borrow_buffer(PyObject *object, borrowed *out)
{
    Py_buffer *b = &out->buffer;
    DLTensor *t = &out->tensor.dl_tensor;

    if (PyObject_GetBuffer(object, b, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        /* Elements that the buffer protocol has no letter for, as bfloat16's and float8's. */
        PyErr_Clear();
        return kilnpy_borrow_host(object, out);
    }
    out->has_buffer = true;
    if (b->ndim > KILN_RANK_MAX) {
        kilnpy_fail(KILN_ERR_ARGUMENT, "an array has %d axes; at most %d", b->ndim, KILN_RANK_MAX);
        return -1;
    }
    if (type_of_format(b->format, b->itemsize, &t->dtype) != 0)
        return -1;
    for (int axis = 0; axis < b->ndim; axis++) {
        out->dims[axis] = b->shape[axis];
        if (b->strides[axis] % b->itemsize != 0 && b->shape[axis] > 1) {
            kilnpy_fail(KILN_ERR_ARGUMENT,
                        "stride %zd of axis %d is no multiple of the element's %zd bytes",
                        b->strides[axis], axis, b->itemsize);
            return -1;
        }
        out->dims[KILN_RANK_MAX + axis] = b->strides[axis] / b->itemsize;
    }
    t->data = b->buf;
    t->device = (DLDevice){kDLCPU, 0};
    t->ndim = b->ndim;
    t->shape = out->dims;
    t->strides = out->dims + KILN_RANK_MAX;
    out->tensor.flags = b->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    return 0;
}

/* ---- capsules ---- */

static PyObject *stream_object(intptr_t stream)
{
    return stream == 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(stream);
}

/* object.__dlpack__(stream=.., max_version=(1, 3)), or without the latter for a library that does
 * not know it. */
static PyObject *call_dlpack(kind *k, PyObject *object, intptr_t stream)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *empty = PyTuple_New(0);
    PyObject *number = stream_object(stream), *keywords = NULL, *capsule = NULL;

    if (method == NULL || empty == NULL || number == NULL)
        goto done;
    if (!k->stale) {
        keywords = Py_BuildValue("{sOs(ii)}", "stream", number, "max_version", DLPACK_MAJOR_VERSION,
                                 DLPACK_MINOR_VERSION);
        capsule = keywords != NULL ? PyObject_Call(method, empty, keywords) : NULL;
        if (capsule != NULL || !PyErr_ExceptionMatches(PyExc_TypeError))
            goto done;
        PyErr_Clear();
        Py_CLEAR(keywords);
    }
    keywords = Py_BuildValue("{sO}", "stream", number);
    capsule = keywords != NULL ? PyObject_Call(method, empty, keywords) : NULL;
    k->stale = capsule != NULL;

done:
    Py_XDECREF(method);
    Py_XDECREF(empty);
    Py_XDECREF(number);
    Py_XDECREF(keywords);
    return capsule;
}

static int borrow_capsule(kind *k, PyObject *object, intptr_t stream, borrowed *out)
{
    out->capsule = call_dlpack(k, object, stream);
    if (out->capsule == NULL)
        return -1;
    if (PyCapsule_IsValid(out->capsule, "dltensor_versioned")) {
        const DLManagedTensorVersioned *tensor =
            PyCapsule_GetPointer(out->capsule, "dltensor_versioned");
        if (tensor->version.major != DLPACK_MAJOR_VERSION) { /* The rest may be anything. */
            kilnpy_fail(KILN_ERR_UNSUPPORTED,
                        "a %s gave a tensor of DLPack %u.%u; this is a consumer of version %d",
                        k->name, (unsigned)tensor->version.major, (unsigned)tensor->version.minor,
                        DLPACK_MAJOR_VERSION);
            return -1;
        }
        out->tensor = *tensor;
    } else if (PyCapsule_IsValid(out->capsule, "dltensor")) {
        const DLManagedTensor *plain = PyCapsule_GetPointer(out->capsule, "dltensor");
        out->tensor.dl_tensor = plain->dl_tensor;
    } else {
        kilnpy_fail(KILN_ERR_ARGUMENT, "__dlpack__() of a %s gave no tensor", k->name);
        return -1;
    }
    out->tensor.deleter = NULL; /* The capsule calls it. */
    return 0;
}

/* ---- all ---- */

static int borrow(kind *k, PyObject *object, intptr_t stream, borrowed *out)
{
    switch (k->how) {
    case HOW_ARRAY:
        out->array = ((array_object *)object)->array;
        return 0;
    case HOW_EXCHANGE:
        return k->api->dltensor_from_py_object_no_sync(object, &out->tensor.dl_tensor);
    case HOW_BUFFER:
        return borrow_buffer(object, out);
    case HOW_CAPSULE:
        return borrow_capsule(k, object, stream, out);
    case HOW_CUDA:
        return kilnpy_borrow_cuda(object, out);
    case HOW_ATTRIBUTES:
        return kilnpy_borrow_attributes(object, out);
    case HOW_HOST:
        return kilnpy_borrow_host(object, out);
    default:
        PyErr_Format(
            PyExc_TypeError,
            "an argument is a %U, which is neither an array nor a number; kiln.asarray() makes "
            "arrays of lists",
            k->name_object);
        return -1;
    }
}

/* Whether one of the attributes, or the result of one of the methods, is true. -1 on failure. */
static int any_true(PyObject *object, PyObject *names, bool methods)
{
    int found = 0;

    for (Py_ssize_t k = 0; names != NULL && found == 0 && k < PyTuple_Size(names); k++) {
        PyObject *name = PyTuple_GetItem(names, k);
        PyObject *value = methods ? PyObject_CallMethodObjArgs(object, name, NULL)
                                  : PyObject_GetAttr(object, name);
        found = value == Py_False ? 0 : value != NULL ? PyObject_IsTrue(value) : -1;
        Py_XDECREF(value);
    }
    return found;
}

static int refuse(const kind *k, PyObject *object, bool may_be_complex)
{
    int found;
    PyObject *answer;

    found = any_true(object, k->flags, false);
    if (found == 0)
        found = any_true(object, k->queries, true);
    if (found == 0 && may_be_complex)
        found = any_true(object, k->complex_queries, true);
    if (found <= 0)
        return found;
    answer = PyObject_CallFunctionObjArgs(k->check, object, NULL);
    Py_XDECREF(answer);
    return answer != NULL ? 0 : -1;
}

int kilnpy_check(const kind *k, PyObject *object, const DLTensor *seen)
{
    PyObject *type, *value, *trace;
    int result;

    if (k->check == NULL)
        return 0;
    if (seen != NULL)
        return refuse(k, object, seen->dtype.code == kDLComplex);
    PyErr_Fetch(&type, &value, &trace);
    result = refuse(k, object, true);
    if (result == 0) {
        PyErr_Restore(type, value, trace);
        return 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

int kilnpy_borrow(kind *k, PyObject *object, intptr_t stream, borrowed *out)
{
    const bool keep = out->keep;

    memset(out, 0, offsetof(borrowed, dims));
    out->keep = keep;
    out->tensor.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    /* What a table describes is asked for what can be true of it. Others make something of the object. */
    const bool first = k->how != HOW_EXCHANGE;
    if (first && kilnpy_check(k, object, NULL) != 0)
        return -1;
    const bool described = borrow(k, object, stream, out) == 0;
    if (!first && kilnpy_check(k, object, described ? &out->tensor.dl_tensor : NULL) != 0)
        return -1;
    if (described)
        return 0;
    kilnpy_give_back(out);
    return -1;
}

/* extent(object): the addresses of an array's first byte and of the one behind its last, or None for what is
 * no array, or has no elements. Nobody's stream is asked to wait. */
PyObject *kilnpy_extent(PyObject *module, PyObject *object)
{
    kind *k = PyFloat_Check(object) || PyLong_Check(object) ? NULL : kilnpy_kind(object);
    const DLTensor *t;
    borrowed seen;
    intptr_t low, high;

    (void)module;
    if (PyErr_Occurred() != NULL)
        return NULL;
    if (k == NULL || k->how == HOW_NUMBER || k->how == HOW_NOT || k->how == HOW_CAPSULE)
        Py_RETURN_NONE;
    seen.keep = false;
    if (kilnpy_borrow(k, object, 0, &seen) != 0)
        return NULL;
    t = &seen.tensor.dl_tensor;
    const bool own = k->how == HOW_ARRAY;
    const int rank = own ? kiln_array_rank(seen.array) : t->ndim;
    const int64_t *shape = own ? kiln_array_shape(seen.array) : t->shape;
    const int64_t *strides = own ? kiln_array_strides(seen.array) : t->strides;
    const intptr_t itemsize =
        own ? (intptr_t)kiln_dtype_size(kiln_array_dtype(seen.array)) : t->dtype.bits / 8;
    int64_t size = 1;

    low =
        own ? (intptr_t)kiln_array_data(seen.array) : (intptr_t)t->data + (intptr_t)t->byte_offset;
    high = low + itemsize;
    for (int axis = rank - 1; axis >= 0; axis--) {
        const intptr_t step = strides == NULL ? size * itemsize
                              : own           ? strides[axis]
                                              : strides[axis] * itemsize;
        *(step < 0 ? &low : &high) += step * (shape[axis] - 1);
        size *= shape[axis];
    }
    kilnpy_give_back(&seen);
    if (size == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("(nn)", (Py_ssize_t)low, (Py_ssize_t)high);
}

void kilnpy_give_back(borrowed *b)
{
    if (b->has_buffer)
        PyBuffer_Release(&b->buffer);
    b->has_buffer = false;
    Py_CLEAR(b->capsule);
}

int kilnpy_device_of_tensor(const DLTensor *tensor)
{
    switch (tensor->device.device_type) {
    case kDLCPU:
        return 0;
    case kDLCUDAHost:
        return -1;
    case kDLCUDA:
    case kDLCUDAManaged:
        return kilnpy_cuda(tensor->device.device_id);
    default:
        kilnpy_fail(KILN_ERR_CONTEXT,
                    "an argument is on a device of DLPack's type %d, which kiln does not run on",
                    (int)tensor->device.device_type);
        return -2;
    }
}
