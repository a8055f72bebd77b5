/*
 * capsule.c - Array to and from the capsules of DLPack's Python protocol.
 *
 *     Array.__dlpack__() -> capsule "dltensor_versioned" or "dltensor"
 *     capsule of anybody -> from_dlpack() -> Array; the capsule is renamed "used_..."
 *
 * A capsule that nobody has used calls the tensor's deleter when it goes.
 */
#include <limits.h>

#include "kilnpy.h"

static void versioned_gone(PyObject *capsule)
{
    DLManagedTensorVersioned *tensor;

    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return;
    tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

static void plain_gone(PyObject *capsule)
{
    DLManagedTensor *tensor;

    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return;
    tensor = PyCapsule_GetPointer(capsule, "dltensor");
    if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

int kilnpy_read_pair(PyObject *tuple, const char *name, int *first, int *second)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != 2) {
        PyErr_Format(PyExc_TypeError, "%s is a tuple of two ints, not %R", name, tuple);
        return -1;
    }
    for (int k = 0; k < 2; k++) {
        const long number = PyLong_AsLong(PyTuple_GetItem(tuple, k));
        if (PyErr_Occurred() != NULL)
            return -1;
        if (number < INT_MIN || number > INT_MAX) {
            PyErr_Format(PyExc_OverflowError, "%s has a number beyond an int: %R", name, tuple);
            return -1;
        }
        *(k == 0 ? first : second) = (int)number;
    }
    return 0;
}

/* What the keywords of __dlpack__() ask for. */
static int read_request(kiln_array *a, PyObject *stream, PyObject *version, PyObject *device,
                        PyObject *copy, kiln_dlpack_options *o, bool *versioned_out)
{
    const bool cuda = kilnpy_device_of(a) > 0;
    int major = 0, minor = 0, type = 0, number = 0;

    if (version != Py_None && kilnpy_read_pair(version, "max_version", &major, &minor) != 0)
        return -1;
    *versioned_out = major >= DLPACK_MAJOR_VERSION;
    if (device != Py_None) {
        if (kilnpy_read_pair(device, "dl_device", &type, &number) != 0)
            return -1;
        o->host = cuda && type == kDLCPU;
        if (!o->host &&
            (type != (cuda ? kDLCUDA : kDLCPU) || number != (cuda ? kilnpy_device_of(a) - 1 : 0))) {
            PyErr_Format(PyExc_BufferError,
                         "kiln exports to the array's device, or to host memory");
            return -1;
        }
    }
    if (copy == Py_False && o->host) {
        PyErr_SetString(PyExc_BufferError, "host memory of an array on a GPU is a copy");
        return -1;
    }
    o->copy = copy == Py_True && !o->host;
    if (stream != Py_None)
        o->stream = PyLong_AsSsize_t(stream);
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* The values behind keywords, None where one is not given. A dictionary of them would take as long as the
 * export. */
static int read_keywords(const char *function, const char *const *known, size_t count,
                         PyObject *const *values, PyObject *names, PyObject **out)
{
    for (size_t k = 0; k < count; k++)
        out[k] = Py_None;
    for (Py_ssize_t n = 0; names != NULL && n < PyTuple_Size(names); n++) {
        PyObject *const name = PyTuple_GetItem(names, n);
        size_t k = 0;
        while (k < count && PyUnicode_CompareWithASCIIString(name, known[k]) != 0)
            k++;
        if (k == count) {
            PyErr_Format(PyExc_TypeError, "%s() has no argument %R", function, name);
            return -1;
        }
        out[k] = values[n];
    }
    return 0;
}

PyObject *kilnpy_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    static const char *const known[] = {"stream", "max_version", "dl_device", "copy"};
    PyObject *given[COUNT_OF(known)], *capsule;
    kiln_array *a = ((array_object *)self)->array;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    DLManagedTensorVersioned *versioned = NULL;
    DLManagedTensor *plain = NULL;
    kiln_error err = KILN_ERROR_INIT;
    bool wants_version = false;
    kiln_status status;

    if (count != 0)
        return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments alone");
    if (read_keywords("__dlpack__", known, COUNT_OF(known), args, names, given) != 0 ||
        read_request(a, given[0], given[1], given[2], given[3], &o, &wants_version) != 0 ||
        kilnpy_tell(a) != 0)
        return NULL;
    /* A struct before DLPack 1.0 cannot say that an array must not be written to. */
    if (!wants_version && kiln_array_is_read_only(a) && !o.copy && !o.host) {
        if (given[3] == Py_False)
            return PyErr_Format(PyExc_BufferError,
                                "the array is read-only, which DLPack before 1.0 "
                                "cannot say: it is exported as a copy alone");
        o.copy = true;
    }
    Py_BEGIN_ALLOW_THREADS /* It may copy, and wait for that. */
        status = wants_version ? kiln_array_to_dlpack(a, &o, &versioned, &err)
                               : kiln_array_to_dlpack_unversioned(a, &o, &plain, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    capsule = wants_version ? PyCapsule_New(versioned, "dltensor_versioned", versioned_gone)
                            : PyCapsule_New(plain, "dltensor", plain_gone);
    if (capsule == NULL && versioned != NULL)
        versioned->deleter(versioned);
    if (capsule == NULL && plain != NULL)
        plain->deleter(plain);
    return capsule;
}

PyObject *kilnpy_capsule_of(kiln_array *array)
{
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    DLManagedTensorVersioned *tensor = NULL;
    kiln_error err = KILN_ERROR_INIT;
    PyObject *capsule;

    o.stream = KILN_DLPACK_STREAM_NO_SYNC;
    if (kiln_array_to_dlpack(array, &o, &tensor, &err) != KILN_OK)
        return kilnpy_raise(&err);
    capsule = PyCapsule_New(tensor, "dltensor_versioned", versioned_gone);
    if (capsule == NULL)
        tensor->deleter(tensor);
    return capsule;
}

PyObject *kilnpy_dlpack_device(PyObject *self, PyObject *unused)
{
    const int device = kilnpy_device_of(((array_object *)self)->array);

    (void)unused;
    return Py_BuildValue("(ii)", device > 0 ? kDLCUDA : kDLCPU, device > 0 ? device - 1 : 0);
}

/* ---- import ---- */

/* A tensor of a library before DLPack 1.0, as one that can say that it is read-only. */
typedef struct wrapper {
    DLManagedTensorVersioned tensor;
    DLManagedTensor *plain;
} wrapper;

static void wrapper_gone(DLManagedTensorVersioned *tensor)
{
    wrapper *w = tensor->manager_ctx;

    if (w->plain->deleter != NULL)
        w->plain->deleter(w->plain);
    free(w);
}

DLManagedTensorVersioned *kilnpy_capsule_take(PyObject *capsule)
{
    wrapper *w;

    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return tensor;
    }
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return kilnpy_fail(KILN_ERR_ARGUMENT, "a capsule \"%s\" holds no tensor, or was used",
                           PyCapsule_GetName(capsule) != NULL ? PyCapsule_GetName(capsule) : "");
    w = calloc(1, sizeof *w);
    if (w == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    w->plain = PyCapsule_GetPointer(capsule, "dltensor");
    w->tensor.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    w->tensor.manager_ctx = w;
    w->tensor.deleter = wrapper_gone;
    w->tensor.dl_tensor = w->plain->dl_tensor;
    PyCapsule_SetName(capsule, "used_dltensor");
    return &w->tensor;
}

/* Free a tensor that is not taken. Its deleter may run code of Python, which would lose the exception. */
static PyObject *drop(DLManagedTensorVersioned *tensor)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (tensor->deleter != NULL)
        tensor->deleter(tensor);
    PyErr_Restore(type, value, trace);
    return NULL;
}

PyObject *kilnpy_array_over(DLManagedTensorVersioned *tensor, intptr_t stream, bool ordered)
{
    const int device = tensor->version.major == DLPACK_MAJOR_VERSION
                           ? kilnpy_device_of_tensor(&tensor->dl_tensor)
                           : 0;
    kiln_context *context = device == -2 ? NULL : kilnpy_context(device > 0 ? device : 0);
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *made = NULL;

    o.stream = stream;
    o.ordered_release = ordered;
    if (context == NULL)
        return drop(tensor);
    if (kiln_array_from_dlpack(context, tensor, &o, &made, &err) != KILN_OK)
        return kilnpy_raise(&err);
    return kilnpy_array_new(made);
}

/* Release memory that an object of Python keeps, in whatever thread. */
static void let_go(void *owner, void *data)
{
    PyGILState_STATE gil;

    (void)data;
    if (!Py_IsInitialized())
        return;
    gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)owner);
    PyGILState_Release(gil);
}

/* An Array over what an array interface or a buffer describes, which keeps the object. */
typedef struct keeper {
    DLManagedTensorVersioned tensor;
    borrowed seen;
    PyObject *object;
} keeper;

static void keeper_gone(DLManagedTensorVersioned *tensor)
{
    keeper *k = tensor->manager_ctx;
    PyGILState_STATE gil;

    if (!Py_IsInitialized())
        return;
    gil = PyGILState_Ensure();
    kilnpy_give_back(&k->seen);
    PyGILState_Release(gil);
    let_go(k->object, NULL);
    free(k);
}

static PyObject *keep(kind *how_read, PyObject *object)
{
    keeper *k = calloc(1, sizeof *k);

    if (k == NULL)
        return PyErr_NoMemory();
    if (kilnpy_borrow(how_read, object, 0, &k->seen) != 0) {
        free(k);
        return NULL;
    }
    k->tensor = k->seen.tensor;
    k->tensor.manager_ctx = k;
    k->tensor.deleter = keeper_gone;
    k->object = Py_NewRef(object);
    if (how_read->immutable)
        k->tensor.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return kilnpy_array_over(
        &k->tensor, k->seen.has_stream ? k->seen.stream : KILN_DLPACK_STREAM_LEGACY, false);
}

/* The capsule of an object, for kiln's own stream of its device. */
static PyObject *capsule_of(kind *k, PyObject *object)
{
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL), *capsule = NULL;
    int type = 0, number = 0;
    intptr_t stream = 0;
    borrowed seen;

    if (device == NULL || kilnpy_read_pair(device, "__dlpack_device__()", &type, &number) != 0) {
        Py_XDECREF(device);
        return NULL;
    }
    Py_DECREF(device);
    if (type == kDLCUDA || type == kDLCUDAManaged) {
        const int place = kilnpy_cuda(number);
        kiln_context *context = place > 0 ? kilnpy_context(place) : NULL;
        if (context == NULL)
            return NULL;
        stream = (intptr_t)kiln_stream_native(context, NULL);
    }
    seen.keep = true;
    if (kilnpy_borrow(k, object, stream, &seen) != 0)
        return NULL;
    capsule = Py_NewRef(seen.capsule);
    kilnpy_give_back(&seen);
    return capsule;
}

/* An Array by the table of C functions; kiln's own stream waits for the library's current one. */
static PyObject *by_table(kind *k, PyObject *object)
{
    DLManagedTensorVersioned *tensor = NULL;
    intptr_t waits_for = KILN_DLPACK_STREAM_NO_SYNC;
    void *stream = NULL;

    if (k->api->managed_tensor_from_py_object_no_sync(object, &tensor) != 0) {
        (void)kilnpy_check(k, object, NULL);
        return NULL;
    }
    /* Of another major version only the deleter may be touched. */
    const bool known = tensor->version.major == DLPACK_MAJOR_VERSION;
    if (known && kilnpy_check(k, object, &tensor->dl_tensor) != 0)
        return drop(tensor);
    if (known && tensor->dl_tensor.device.device_type != kDLCPU) {
        if (k->api->current_work_stream(kDLCUDA, tensor->dl_tensor.device.device_id, &stream) != 0)
            return drop(tensor);
        waits_for = stream != NULL ? (intptr_t)stream : KILN_DLPACK_STREAM_LEGACY;
    }
    return kilnpy_array_over(tensor, waits_for, strncmp(k->name, "torch.", 6) == 0);
}

/* An Array over the memory of an array of any kind, which it keeps alive. */
static PyObject *share(PyObject *object)
{
    DLManagedTensorVersioned *tensor;
    intptr_t stream = KILN_DLPACK_STREAM_NO_SYNC;
    PyObject *capsule = Py_NewRef(object);
    kind *k = NULL;

    if (PyCapsule_CheckExact(object)) { /* Nobody was told which stream will use it. */
        stream = KILN_DLPACK_STREAM_LEGACY;
    } else {
        Py_DECREF(capsule);
        k = kilnpy_kind(object);
        if (k == NULL)
            return NULL;
        if (k->how == HOW_ARRAY)
            return Py_NewRef(object);
        if (k->how == HOW_EXCHANGE)
            return by_table(k, object);
        if (k->how != HOW_CAPSULE)
            return keep(k, object);
        capsule = capsule_of(k, object);
        if (capsule == NULL)
            return NULL;
    }
    tensor = kilnpy_capsule_take(capsule);
    Py_DECREF(capsule);
    if (tensor == NULL)
        return NULL;
    if (k != NULL && k->immutable && tensor->version.major == DLPACK_MAJOR_VERSION)
        tensor->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return kilnpy_array_over(tensor, stream, false);
}

/* from_dlpack(object, /, *, device=None, copy=None). Most calls have the object alone, and take no detour
 * through Python. */
PyObject *kilnpy_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t count,
                             PyObject *names)
{
    static const char *const known[] = {"device", "copy"};
    PyObject *given[COUNT_OF(known)], *arrays, *result;

    (void)module;
    if (count != 1)
        return PyErr_Format(PyExc_TypeError, "from_dlpack() takes 1 positional argument, not %zd",
                            count);
    if (names == NULL)
        return share(args[0]);
    if (read_keywords("from_dlpack", known, COUNT_OF(known), args + 1, names, given) != 0)
        return NULL;
    arrays = PyImport_ImportModule("kiln._array");
    result = arrays != NULL ? PyObject_CallMethod(arrays, "asarray", "OOOO", args[0], Py_None,
                                                  given[0], given[1])
                            : NULL;
    Py_XDECREF(arrays);
    return result;
}
