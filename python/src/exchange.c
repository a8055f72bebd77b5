/*
 * exchange.c - the table of C functions (DLPackExchangeAPI) by which other extension modules take
 * and give Arrays without calling Python.
 *
 * It is Array's attribute __dlpack_c_exchange_api__, and under the name that the first frameworks
 * used __c_dlpack_exchange_api__, a capsule "dlpack_exchange_api". None of these functions orders
 * streams: work on an Array is on kiln's own stream, which current_work_stream() tells.
 */
#include "kilnpy.h"

static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind, const char *message))
{
    const DLDeviceType type = prototype->device.device_type;
    PyGILState_STATE gil = PyGILState_Ensure();
    const int device = type == kDLCPU    ? 0
                       : type == kDLCUDA ? kilnpy_cuda(prototype->device.device_id)
                                         : -1; /* kiln makes no memory of other kinds */
    kiln_context *context = kilnpy_context(device);
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *made = NULL;
    kiln_dtype dtype = KILN_DTYPE_NONE;
    kiln_status status = KILN_ERR_NO_DEVICE;

    PyErr_Clear();
    PyGILState_Release(gil);
    *out = NULL;
    o.stream = KILN_DLPACK_STREAM_NO_SYNC;
    if (context != NULL)
        status = kiln_dtype_from_dlpack(prototype->dtype, &dtype, &err);
    if (status == KILN_OK)
        status =
            kiln_array_empty(context, dtype, prototype->ndim, prototype->shape, &made, &err);
    if (status == KILN_OK)
        status = kiln_array_to_dlpack(made, &o, out, &err);
    kiln_array_release(made);
    if (status != KILN_OK)
        set_error(error_ctx, "RuntimeError", context != NULL ? err.message : "no such device");
    kiln_error_clear(&err);
    return status == KILN_OK ? 0 : -1;
}

static kiln_array *array_of(void *object)
{
    if (!kilnpy_is_array(object)) {
        PyErr_SetString(PyExc_TypeError, "the object is no array of kiln");
        return NULL;
    }
    return ((array_object *)object)->array;
}

static int from_object(void *object, DLManagedTensorVersioned **out)
{
    kiln_array *a = array_of(object);
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;

    *out = NULL;
    o.stream = KILN_DLPACK_STREAM_NO_SYNC;
    if (a == NULL || kilnpy_tell(a) != 0)
        return -1;
    if (kiln_array_to_dlpack(a, &o, out, &err) != KILN_OK) {
        kilnpy_raise(&err);
        return -1;
    }
    return 0;
}

static int to_object(DLManagedTensorVersioned *tensor, void **out)
{
    *out = kilnpy_array_over(tensor, KILN_DLPACK_STREAM_NO_SYNC, false);
    return *out != NULL ? 0 : -1;
}

/* The strides in elements live with the Array. */
static int describe(void *object, DLTensor *out)
{
    kiln_array *a = array_of(object);
    DLManagedTensorVersioned *tensor = NULL;
    array_object *self = object;
    int rank;

    if (a == NULL || from_object(object, &tensor) != 0)
        return -1;
    rank = tensor->dl_tensor.ndim;
    if (self->dims == NULL)
        self->dims = malloc((2 * (size_t)rank + 1) * sizeof(int64_t));
    if (self->dims != NULL) {
        for (int axis = 0; axis < rank; axis++) {
            self->dims[axis] = tensor->dl_tensor.shape[axis];
            self->dims[rank + axis] = tensor->dl_tensor.strides[axis];
        }
        *out = tensor->dl_tensor;
        out->shape = self->dims;
        out->strides = self->dims + rank;
    } else {
        PyErr_NoMemory();
    }
    tensor->deleter(tensor);
    return self->dims != NULL ? 0 : -1;
}

static int work_stream(DLDeviceType type, int32_t number, void **out)
{
    kiln_context *context;

    *out = NULL;
    if (type != kDLCUDA)
        return 0;
    const int device = kilnpy_cuda(number);
    context = device > 0 ? kilnpy_context(device) : NULL;
    if (context == NULL)
        return -1;
    *out = kiln_stream_native(context, NULL);
    return 0;
}

PyObject *kilnpy_exchange_capsule(void)
{
    static DLPackExchangeAPI table = {
        {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
        allocate,
        from_object,
        to_object,
        describe,
        work_stream,
    };
    return PyCapsule_New(&table, "dlpack_exchange_api", NULL);
}
