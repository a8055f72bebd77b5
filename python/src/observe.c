/*
 * observe.c - observers of a device's context (kiln/observer.h), labels for what they are told, and what
 * its cache of kernels has counted.
 *
 * An observer is a capsule. kiln/_observe.py has the classes that people use.
 */
#include "kilnpy.h"

#include "kiln/observer.h"

#define CAPSULE "kiln.observer"

static void observer_gone(PyObject *capsule)
{
    if (!kilnpy_is_ending())
        kiln_observer_destroy(PyCapsule_GetPointer(capsule, CAPSULE));
}

/* observe(what, path or None, device or None): "trace", "csv" or "table". */
PyObject *kilnpy_observe(PyObject *self, PyObject *args)
{
    const char *what = NULL, *path = NULL, *device_name = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_observer *made = NULL;
    kiln_context *context;
    kiln_status status;
    PyObject *capsule;
    int device;

    (void)self;
    if (!PyArg_ParseTuple(args, "szz", &what, &path, &device_name))
        return NULL;
    device = device_name != NULL ? kilnpy_device_number(device_name) : kilnpy_default_device();
    context = device >= 0 ? kilnpy_context(device) : NULL;
    if (context == NULL)
        return NULL;
    if (strcmp(what, "trace") == 0)
        status = kiln_observer_create_trace(context, path, &made, &err);
    else if (strcmp(what, "csv") == 0)
        status = kiln_observer_create_csv(context, path, &made, &err);
    else
        status = kiln_observer_create_table(context, KILN_TABLE_BY_LABEL, &made, &err);
    if (status != KILN_OK)
        return kilnpy_raise(&err);
    capsule = PyCapsule_New(made, CAPSULE, observer_gone);
    if (capsule == NULL)
        kiln_observer_destroy(made);
    return capsule;
}

/* observed(capsule): what a table knows, as text; of others None, and their file is written. */
PyObject *kilnpy_observed(PyObject *self, PyObject *capsule)
{
    kiln_observer *observer = PyCapsule_GetPointer(capsule, CAPSULE);
    kiln_error err = KILN_ERROR_INIT;
    char *text = NULL;
    kiln_status status;
    PyObject *result;

    (void)self;
    if (observer == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = kiln_observer_flush(observer, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    if (kiln_observer_to_string(observer, &text, NULL) != KILN_OK)
        Py_RETURN_NONE;
    result = PyUnicode_FromString(text);
    kiln_free(text);
    return result;
}

/* cache_counters(device or None): the fields of kiln_cache_counters by their names. */
PyObject *kilnpy_cache_counters(PyObject *self, PyObject *args)
{
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(kiln_cache_counters, name)                                                 \
    }
    static const struct {
        const char *name;
        size_t at;
    } fields[] = {
        FIELD(hits),           FIELD(bundle_hits),   FIELD(misses),          FIELD(miss_absent),
        FIELD(miss_damaged),   FIELD(miss_other),    FIELD(miss_unreadable), FIELD(stores),
        FIELD(store_failures), FIELD(evictions),     FIELD(waits),           FIELD(wait_hits),
        FIELD(bytes_read),     FIELD(bytes_written), FIELD(compiles),        FIELD(compile_us)};
#undef FIELD
    const char *device_name = NULL;
    kiln_cache_counters counters;
    kiln_context *context;
    PyObject *result;
    int device;

    (void)self;
    if (!PyArg_ParseTuple(args, "z", &device_name))
        return NULL;
    device = device_name != NULL ? kilnpy_device_number(device_name) : kilnpy_default_device();
    context = device >= 0 ? kilnpy_context(device) : NULL;
    if (context == NULL)
        return NULL;
    kiln_context_cache_counters(context, &counters);
    result = PyDict_New();
    for (size_t k = 0; result != NULL && k < COUNT_OF(fields); k++) {
        uint64_t value;
        memcpy(&value, (const char *)&counters + fields[k].at, sizeof value);
        PyObject *number = PyLong_FromUnsignedLongLong(value);
        if (number == NULL || PyDict_SetItemString(result, fields[k].name, number) != 0)
            Py_CLEAR(result);
        Py_XDECREF(number);
    }
    return result;
}

/* label(text or None): begin a part of the program with that name, or end the last one. */
PyObject *kilnpy_label(PyObject *self, PyObject *text)
{
    const char *label = text != Py_None ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

    (void)self;
    if (text != Py_None && label == NULL)
        return NULL;
    if (label != NULL)
        kiln_scope_push(label);
    else
        kiln_scope_pop();
    Py_RETURN_NONE;
}
