/*
 * contexts.c - the contexts that all kernels and arrays of this process share, one for each device,
 * and the streams of other libraries that their work runs on.
 *
 * Rule 1: a context is used only in the process that made it. After a fork the child begins without
 *         any; those of its parent are left as they are, with what was made from them.
 * Rule 2: a stream that an object of Python owns is not destroyed while its handle exists: memory may
 *         call it home. The handle holds a reference to the object.
 * Rule 3: from Python's atexit callbacks on nothing is given back any more. What other libraries
 *         would be told by that may be gone, and the process gives all memory back itself.
 */
#include <stdio.h>

#include "kilnpy.h"

/* Streams of one device that are kept beyond the calls that use them. */
enum { STREAMS_KEPT = 64 };

/* A stream of another library. */
struct foreign_stream {
    foreign_stream *next; /* that was used before this one */
    void *native;
    kiln_stream *stream;
    PyObject *owner; /* counted; NULL: the stream is its library's for ever, or the caller's care */
    unsigned users;  /* calls that may be without the GIL */
};

typedef struct place {
    kiln_context *context;
    foreign_stream *streams; /* that was used last; allocated one by one, as calls hold them */
    size_t stream_count;
} place;

static place places[DEVICES_MAX];
static unsigned generation;
static int default_device = -1;
static bool default_was_set; /* by the program, which means its children too */
static bool ending;

bool kilnpy_is_ending(void)
{
    return ending;
}

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
    if (!default_was_set)
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

int kilnpy_cuda(int number)
{
    if (number >= 0 && number < DEVICES_MAX - 1)
        return 1 + number;
    kilnpy_fail(KILN_ERR_NO_DEVICE, "there is no device cuda:%d", number);
    return -2;
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
    default_was_set = true;
    Py_RETURN_NONE;
}

int kilnpy_device_of(const kiln_array *array)
{
    return number_of(kiln_context_device(kiln_array_context(array)));
}

/* ---- streams of other libraries ---- */

/* Forget the stream that was not used for longest, of those that may go: its owner is there, so that
 * the end of its work can still be marked. */
static void forget_one(place *p)
{
    foreign_stream **oldest = NULL;

    for (foreign_stream **at = &p->streams; *at != NULL; at = &(*at)->next)
        if ((*at)->owner != NULL && (*at)->users == 0)
            oldest = at;
    if (oldest == NULL)
        return;
    foreign_stream *gone = *oldest;
    *oldest = gone->next;
    p->stream_count--;
    kiln_stream_destroy(gone->stream);
    Py_DECREF(gone->owner);
    PyMem_Free(gone);
}

static foreign_stream *add_stream(int device, void *native, PyObject *owner)
{
    kiln_context *const context = kilnpy_context(device);
    place *const p = &places[device];
    kiln_error err = KILN_ERROR_INIT;
    foreign_stream *made;

    if (context == NULL)
        return NULL;
    if (p->stream_count >= STREAMS_KEPT)
        forget_one(p);
    made = PyMem_Calloc(1, sizeof *made);
    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (kiln_stream_wrap(context, native, &made->stream, &err) != KILN_OK) {
        PyMem_Free(made);
        return kilnpy_raise(&err);
    }
    made->native = native;
    made->owner = Py_XNewRef(owner);
    made->next = p->streams;
    p->streams = made;
    p->stream_count++;
    return made;
}

foreign_stream *kilnpy_stream(int device, void *native, PyObject *owner)
{
    place *const p = &places[device];

    for (foreign_stream **at = &p->streams; *at != NULL; at = &(*at)->next) {
        foreign_stream *const found = *at;
        if (found->native != native)
            continue;
        *at = found->next; /* The one used last stands first. */
        found->next = p->streams;
        p->streams = found;
        if (found->owner == NULL)
            found->owner = Py_XNewRef(owner);
        return found;
    }
    return add_stream(device, native, owner);
}

kiln_stream *kilnpy_stream_handle(const foreign_stream *stream)
{
    return stream->stream;
}

void kilnpy_stream_begin(foreign_stream *stream)
{
    stream->users++;
}

void kilnpy_stream_end(foreign_stream *stream)
{
    stream->users--;
}

/* ---- the end, and all devices ---- */

PyObject *kilnpy_end(PyObject *self, PyObject *unused);
PyObject *kilnpy_end(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    ending = true;
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
