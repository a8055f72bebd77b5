/*
 * contexts.c - the contexts that all kernels and arrays of this process share, one for each device.
 *
 * Rule: a context is used only in the process that made it. After a fork the child begins without
 * any; those of its parent are left as they are, with what was made from them.
 */
#include <stdio.h>

#include "kilnpy.h"

/* A stream of another library. Its handle stays as long as the process: other threads may be in a
 * call that uses it. */
typedef struct foreign_stream {
    void *native;
    kiln_stream *stream;
} foreign_stream;

typedef struct place {
    kiln_context *context;
    foreign_stream *streams;
    size_t stream_count, stream_room;
} place;

static place places[DEVICES_MAX];
static unsigned generation;
static int default_device = -1;

unsigned kilnpy_generation(void)
{
    return generation;
}

PyObject *kilnpy_after_fork(PyObject *self, PyObject *unused);
PyObject *kilnpy_after_fork(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    memset(places, 0, sizeof places);
    default_device = -1;
    generation++;
    Py_RETURN_NONE;
}

static int number_of(const kiln_device_info *info)
{
    return info->backend == KILN_BACKEND_CPU ? 0 : 1 + info->ordinal;
}

/* A context of libkiln; the GIL is released, as a driver may have to be started. */
static kiln_context *make(const char *id)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *made = NULL;
    kiln_status status;

    o.device = id;
    o.log = kilnpy_warn_line;
    Py_BEGIN_ALLOW_THREADS status = kiln_context_create(&o, &made, &err);
    Py_END_ALLOW_THREADS return status == KILN_OK ? made : kilnpy_raise(&err);
}

kiln_context *kilnpy_context(int device)
{
    char id[16] = "cpu";
    kiln_context *made;

    if (device < 0 || device >= DEVICES_MAX)
        return kilnpy_fail(KILN_ERR_NO_DEVICE, "there is no device cuda:%d", device - 1);
    if (places[device].context != NULL)
        return places[device].context;
    if (device > 0)
        snprintf(id, sizeof id, "cuda:%d", device - 1);
    made = make(id);
    if (made == NULL)
        return NULL;
    if (places[device].context == NULL) /* else another thread was faster */
        places[device].context = made;
    else
        kiln_context_release(made);
    return places[device].context;
}

/* Let the library choose, and keep the context that it made for the choice. */
static int choose(const char *name)
{
    kiln_context *made = make(name);
    int device;

    if (made == NULL)
        return -1;
    device = number_of(kiln_context_device(made));
    if (device >= DEVICES_MAX) {
        kiln_context_release(made);
        kilnpy_fail(KILN_ERR_UNSUPPORTED, "at most %d CUDA devices are used", DEVICES_MAX - 1);
        return -1;
    }
    if (places[device].context == NULL)
        places[device].context = made;
    else
        kiln_context_release(made);
    return device;
}

int kilnpy_default_device(void)
{
    if (default_device < 0)
        default_device = choose(NULL);
    return default_device;
}

int kilnpy_device_number(const char *name)
{
    return strcmp(name, "cpu") == 0 ? 0 : choose(name);
}

PyObject *kilnpy_set_default_device(PyObject *self, PyObject *name);
PyObject *kilnpy_set_default_device(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    int device = text != NULL ? kilnpy_device_number(text) : -1;

    (void)self;
    if (device < 0 || kilnpy_context(device) == NULL)
        return NULL;
    default_device = device;
    Py_RETURN_NONE;
}

int kilnpy_device_of(const kiln_array *array)
{
    return number_of(kiln_context_device(kiln_array_context(array)));
}

/* Room for one stream more. */
static int grow(place *p)
{
    const size_t room = p->stream_room > 0 ? 2 * p->stream_room : 8;
    foreign_stream *more;

    if (p->stream_count < p->stream_room)
        return 0;
    more = PyMem_Realloc(p->streams, room * sizeof *more);
    if (more == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    p->streams = more;
    p->stream_room = room;
    return 0;
}

int kilnpy_stream(int device, void *native, kiln_stream **out)
{
    kiln_error err = KILN_ERROR_INIT;
    place *p = &places[device];
    foreign_stream made = {native, NULL};

    *out = NULL;
    if (device == 0)
        return 0;
    for (size_t at = 0; at < p->stream_count; at++) {
        const foreign_stream found = p->streams[at];
        if (found.native != native)
            continue;
        if (at > 0) { /* Those in use move to the front. */
            p->streams[at] = p->streams[at - 1];
            p->streams[at - 1] = found;
        }
        *out = found.stream;
        return 0;
    }
    if (kilnpy_context(device) == NULL || grow(p) != 0)
        return -1;
    if (kiln_stream_wrap(p->context, native, &made.stream, &err) != KILN_OK) {
        kilnpy_raise(&err);
        return -1;
    }
    p->streams[p->stream_count++] = made;
    *out = made.stream;
    return 0;
}

PyObject *kilnpy_close(PyObject *self, PyObject *unused);
PyObject *kilnpy_close(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    for (int device = 0; device < DEVICES_MAX; device++) {
        place *p = &places[device];
        for (size_t at = 0; at < p->stream_count; at++)
            kiln_stream_destroy(p->streams[at].stream);
        PyMem_Free(p->streams);
        kiln_context *context = p->context;
        memset(p, 0, sizeof *p);
        kiln_context_release(context);
    }
    default_device = -1;
    generation++; /* Handles that are still there belong to contexts that only they keep. */
    Py_RETURN_NONE;
}

PyObject *kilnpy_devices(PyObject *self, PyObject *unused);
PyObject *kilnpy_devices(PyObject *self, PyObject *unused)
{
    kiln_device_info infos[DEVICES_MAX];
    kiln_error err = KILN_ERROR_INIT;
    size_t count = 0;
    PyObject *list;

    (void)self;
    (void)unused;
    if (kiln_device_list(infos, COUNT_OF(infos), &count, &err) != KILN_OK)
        return kilnpy_raise(&err);
    count = count < COUNT_OF(infos) ? count : COUNT_OF(infos);
    list = PyList_New(0);
    for (size_t k = 0; list != NULL && k < count; k++) {
        PyObject *one =
            Py_BuildValue("{sssssssssOsssssn}", "id", infos[k].id, "name", infos[k].name, "target",
                          infos[k].target, "compiler", infos[k].compiler, "usable",
                          infos[k].usable ? Py_True : Py_False, "reason", infos[k].reason, "driver",
                          infos[k].driver, "memory_bytes", (Py_ssize_t)infos[k].memory_bytes);
        if (one == NULL || PyList_Append(list, one) != 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyObject *kilnpy_synchronize(PyObject *self, PyObject *unused);
PyObject *kilnpy_synchronize(PyObject *self, PyObject *unused)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    (void)self;
    (void)unused;
    for (int device = 0; device < DEVICES_MAX && status == KILN_OK; device++) {
        kiln_context *context = kiln_context_retain(places[device].context);
        if (context == NULL)
            continue;
        Py_BEGIN_ALLOW_THREADS status = kiln_context_synchronize(context, &err);
        kiln_context_release(context);
        Py_END_ALLOW_THREADS
    }
    if (status != KILN_OK)
        return kilnpy_raise(&err);
    Py_RETURN_NONE;
}
