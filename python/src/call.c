/*
 * call.c - one call of a kernel, from Python's arguments to Python's results.
 *
 *     arguments -> [take: numbers, and arrays as borrowed structs] -> [agree: one device]
 *               -> [import: kiln_array] -> run -> [results: as given, or of the first array's kind]
 *
 * On a CUDA device the kernel runs on the current stream of the first array's library; where arrays
 * of other streams take part, the streams are made to wait for each other, before and after.
 *
 * Rule: everything that is taken is given back at the one end of kilnpy_call(); arrays are the
 *       caller's for as long as that runs.
 */
#include <stdio.h>

#include "kilnpy.h"

/* Arguments of a call that take no memory from the heap. */
#define FEW 12

typedef struct item {
    PyObject *object; /* borrowed; NULL for an output that the call makes */
    kind *kind;       /* NULL for a number */
    int device;       /* of an array; -1: any */
    kiln_array *made; /* counted: what was imported, or the output made */
    borrowed seen;
} item;

typedef struct call {
    kernel *kernel;
    call_options options;
    size_t count, inputs;
    item *items;
    kiln_arg *args;
    int device;        /* -1: not known yet */
    kind *first;       /* of the first array that is not ours; NULL: none */
    bool has_native;   /* whether `native` was chosen: CUDA devices only */
    intptr_t native;   /* the stream that the kernel runs on */
    foreign_stream *held; /* its handle, between begin and end; NULL: none */
    bool joins;        /* whether other streams take part */
    const kind *asked; /* whose current stream is `asked_stream` */
    int asked_device;
    intptr_t asked_stream;
    item few[FEW]; /* from here on nothing is set to zero */
    kiln_arg few_args[FEW];
} call;

/* ---- streams ---- */

/* The address of a stream from an int, or an object of CuPy, PyTorch or CUDA Python. */
static int address_of(PyObject *stream, intptr_t *out)
{
    static const char *const texts[] = {"ptr", "cuda_stream", "handle"};
    static PyObject *names[COUNT_OF(texts)];
    PyObject *number = PyLong_Check(stream) ? Py_NewRef(stream) : NULL;

    for (size_t k = 0; number == NULL && k < COUNT_OF(texts); k++) {
        if (names[k] == NULL)
            names[k] = PyUnicode_InternFromString(texts[k]);
        number = names[k] != NULL ? PyObject_GetAttr(stream, names[k]) : NULL;
        if (number == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
    }
    if (number == NULL && PyObject_HasAttrString(stream, "__cuda_stream__")) {
        PyObject *pair = PyObject_CallMethod(stream, "__cuda_stream__", NULL);
        number = pair != NULL ? PySequence_GetItem(pair, 1) : NULL;
        Py_XDECREF(pair);
    }
    if (number == NULL) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "a %R is no CUDA stream", Py_TYPE(stream));
        return -1;
    }
    *out = PyLong_AsSsize_t(number);
    Py_DECREF(number);
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* The address of a stream on a CUDA device; its object is kept with the handle. */
static int native_of(int device, PyObject *stream, intptr_t *out)
{
    if (address_of(stream, out) != 0)
        return -1;
    if (device <= 0 || PyLong_Check(stream))
        return 0;
    return kilnpy_stream(device, (void *)*out, stream) != NULL ? 0 : -1;
}

/* The current stream of a kind's library. Returns 1 where it has none. The answer of the last kind
 * is kept, as most calls have arrays of one. */
static int current_stream(call *c, const kind *k, int device, intptr_t *out)
{
    PyObject *object;
    void *stream = NULL;
    int result;

    if (c->asked == k && c->asked_device == device) {
        *out = c->asked_stream;
        return 0;
    }

    if (k->api != NULL) {
        if (k->api->current_work_stream(kDLCUDA, device - 1, &stream) != 0)
            return -1;
        c->asked = k;
        c->asked_device = device;
        c->asked_stream = *out = (intptr_t)stream;
        return 0;
    }
    if (k->how == HOW_CUDA) /* Its interface says so where it is another one. */
        *out = KILN_DLPACK_STREAM_LEGACY;
    if (k->stream == NULL)
        return k->how == HOW_CUDA ? 0 : 1;
    object = PyObject_CallFunction(k->stream, "i", device - 1);
    if (object == NULL)
        return -1;
    result = native_of(device, object, out);
    Py_DECREF(object);
    c->asked = k;
    c->asked_device = device;
    c->asked_stream = *out;
    return result;
}

/* Choose the stream of the call, at its first array on a CUDA device. */
static int choose_stream(call *c, const kind *k, int device)
{
    kiln_context *context;
    int result;

    if (device <= 0 || c->has_native)
        return 0;
    result = current_stream(c, k, device, &c->native);
    if (result > 0) { /* kiln's own */
        context = kilnpy_context(device);
        if (context == NULL)
            return -1;
        c->native = (intptr_t)kiln_stream_native(context, NULL);
        result = 0;
    }
    c->has_native = result == 0;
    return result;
}

/* Let one stream wait for the other. */
static int wait_for(int device, intptr_t waiting, intptr_t other)
{
    kiln_error err = KILN_ERROR_INIT;
    foreign_stream *first, *second;
    kiln_status status;

    if (device == 0)
        return 0;
    first = kilnpy_stream(device, (void *)waiting, NULL);
    if (first == NULL)
        return -1;
    kilnpy_stream_begin(first);
    second = kilnpy_stream(device, (void *)other, NULL);
    status = second != NULL ? kiln_stream_wait(kilnpy_context(device), kilnpy_stream_handle(first),
                                               kilnpy_stream_handle(second), &err)
                            : KILN_OK;
    kilnpy_stream_end(first);
    if (status != KILN_OK)
        kilnpy_raise(&err);
    return second != NULL && status == KILN_OK ? 0 : -1;
}

/* Order the call's stream behind (or, `after`, in front of) those of the arrays. */
static int join_streams(const call *c, bool after)
{
    for (size_t k = 0; k < c->count; k++) {
        const item *i = &c->items[k];
        if (i->kind == NULL || !i->seen.has_stream || i->seen.stream == c->native)
            continue;
        if (wait_for(c->device, after ? i->seen.stream : c->native,
                     after ? c->native : i->seen.stream) != 0)
            return -1;
    }
    return 0;
}

/* ---- arguments ---- */

/* The stream that the array's library works on, as far as it is known. */
static int find_stream(call *c, item *i)
{
    int unknown;

    if (choose_stream(c, i->kind, i->device) != 0)
        return -1;
    if (i->kind->how == HOW_ARRAY) { /* All work on it is ordered on kiln's own stream. */
        i->seen.stream = (intptr_t)kiln_stream_native(kiln_array_context(i->seen.array), NULL);
        i->seen.has_stream = true;
    } else if (!i->seen.has_stream) {
        unknown = current_stream(c, i->kind, i->device, &i->seen.stream);
        if (unknown < 0)
            return -1;
        i->seen.has_stream = !unknown;
    }
    c->joins = c->joins || (i->seen.has_stream && i->seen.stream != c->native);
    return 0;
}

/* Ask a library for a capsule. One whose streams are not known is told the call's, and its memory is
 * kept until the kernel has run: it cannot know when that is. */
static int take_capsule(call *c, item *i)
{
    PyObject *device = PyObject_CallMethod(i->object, "__dlpack_device__", NULL);
    int type = 0, number = 0, place, unknown;
    intptr_t stream = 0;

    if (device == NULL ||
        kilnpy_read_pair(device, "__dlpack_device__()", &type, &number) != 0) {
        Py_XDECREF(device);
        return -1;
    }
    Py_DECREF(device);
    if (type == kDLCUDA || type == kDLCUDAManaged) {
        place = kilnpy_cuda(number);
        if (place < 0 || choose_stream(c, i->kind, place) != 0)
            return -1;
        unknown = current_stream(c, i->kind, place, &stream);
        if (unknown < 0)
            return -1;
        if (!unknown && stream == c->native)
            stream = KILN_DLPACK_STREAM_NO_SYNC;
        else
            stream = c->native == 0 ? KILN_DLPACK_STREAM_LEGACY : c->native;
        i->seen.keep = unknown != 0;
    }
    return kilnpy_borrow(i->kind, i->object, stream, &i->seen);
}

/* An object that is the address of memory, as CuPy's MemoryPointer: `ptr`, and `device_id`, which is -1
 * for the host. Kernels of modules take such; their size and dtype are not known. False where it is
 * none, without an exception. */
static bool take_pointer(const item *i, borrowed *out)
{
    PyObject *address = PyObject_GetAttrString(i->object, "ptr");
    PyObject *device = PyObject_GetAttrString(i->object, "device_id");
    DLTensor *const t = &out->tensor.dl_tensor;

    PyErr_Clear();
    if (address != NULL && PyLong_Check(address) && device != NULL && PyLong_Check(device)) {
        const int number = (int)PyLong_AsLong(device);
        out->dims[0] = 1;
        out->tensor.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
        *t = (DLTensor){.data = PyLong_AsVoidPtr(address),
                        .device = {number < 0 ? kDLCPU : kDLCUDA, number < 0 ? 0 : number},
                        .ndim = 1,
                        .dtype = {kDLUInt, 8, 1},
                        .shape = out->dims};
    }
    Py_XDECREF(address);
    Py_XDECREF(device);
    return t->data != NULL && PyErr_Occurred() == NULL;
}

/* Describe an array, or what a kernel of a module takes in its place. */
static int see(call *c, item *i)
{
    if (i->kind->how == HOW_CAPSULE)
        return take_capsule(c, i);
    if (i->kind->how == HOW_NOT && c->kernel->def.family == FAMILY_RAW && take_pointer(i, &i->seen))
        return 0;
    return PyErr_Occurred() != NULL ? -1 : kilnpy_borrow(i->kind, i->object, 0, &i->seen);
}

static int take_array(call *c, item *i, size_t position)
{
    if (see(c, i) != 0)
        return -1;
    i->device = i->kind->how == HOW_ARRAY ? kilnpy_device_of(i->seen.array)
                                          : kilnpy_device_of_tensor(&i->seen.tensor.dl_tensor);
    if (i->device == -2 || (i->device > 0 && find_stream(c, i) != 0))
        return -1;
    if (position >= c->inputs && i->kind->immutable) {
        kilnpy_fail(KILN_ERR_OUTPUT,
                    "argument %zu is an output, and arrays of %s are never written to",
                    position + 1, i->kind->name);
        return -1;
    }
    if (i->kind->immutable)
        i->seen.tensor.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return 0;
}

/* A scalar of NumPy or its like, or what is passed by its handle: a number of Python. */
static int take_scalar(const kind *k, PyObject *object, kiln_arg *out)
{
    PyObject *number = k->result != NULL ? PyObject_CallFunctionObjArgs(k->result, object, NULL)
                                         : PyObject_CallMethod(object, "item", NULL);
    int result = number != NULL ? kilnpy_read_number(number, out) : -1;

    if (result > 0)
        PyErr_Format(PyExc_TypeError, "a %R is no number", Py_TYPE(object));
    Py_XDECREF(number);
    return result == 0 ? 0 : -1;
}

static int foreign_device(size_t position, int device, int others)
{
    char name[2][16] = {"the cpu", "the cpu"};

    if (device > 0)
        snprintf(name[0], sizeof name[0], "cuda:%d", device - 1);
    if (others > 0)
        snprintf(name[1], sizeof name[1], "cuda:%d", others - 1);
    kilnpy_fail(KILN_ERR_CONTEXT, "argument %zu is on %s, those before it on %s", position + 1,
                name[0], name[1]);
    return -1;
}

static int take(call *c, size_t position, PyObject *object)
{
    item *i = &c->items[position];
    const int number = kilnpy_read_number(object, &c->args[position]);

    if (number <= 0)
        return number;
    i->object = object;
    i->kind = kilnpy_kind(object);
    if (i->kind == NULL)
        return -1;
    if (i->kind->how == HOW_NUMBER) {
        const kind *k = i->kind;
        i->kind = NULL;
        return take_scalar(k, object, &c->args[position]);
    }
    if (take_array(c, i, position) != 0)
        return -1;
    if (c->first == NULL && i->kind->how != HOW_ARRAY)
        c->first = i->kind;
    if (i->device < 0)
        return 0;
    if (c->device >= 0 && c->device != i->device) {
        return foreign_device(position, i->device, c->device);
    }
    c->device = i->device;
    return 0;
}

/* The outputs that out= names, or NULL for one to be made. Borrowed. */
static int out_at(const call *c, PyObject *out, size_t k, PyObject **object_out)
{
    *object_out = out;
    if (out == NULL)
        return 0;
    if (PyTuple_Check(out) && PyTuple_Size(out) == (Py_ssize_t)c->kernel->output_count) {
        *object_out = PyTuple_GetItem(out, (Py_ssize_t)k);
        if (*object_out == Py_None)
            *object_out = NULL;
        return 0;
    }
    if (c->kernel->output_count != 1 || PyTuple_Check(out)) {
        PyErr_Format(PyExc_TypeError, "out is a tuple of the kernel's %zu outputs",
                     c->kernel->output_count);
        return -1;
    }
    return 0;
}

static int take_all(call *c, PyObject *args, PyObject *out)
{
    const size_t given = (size_t)PyTuple_Size(args);
    const kernel *k = c->kernel;

    if (given != c->inputs && (given != c->count || out != NULL)) {
        PyErr_Format(PyExc_TypeError, "%s takes %zu inputs%s, but %zu arguments are given",
                     kilnpy_families[k->def.family].name, k->input_count,
                     k->output_count > 0 && out == NULL ? ", and may be given its outputs" : "",
                     given);
        return -1;
    }
    for (size_t p = 0; p < c->count; p++) {
        PyObject *object;
        if (p < given)
            object = PyTuple_GetItem(args, (Py_ssize_t)p);
        else if (out_at(c, out, p - given, &object) != 0)
            return -1;
        if (object == NULL)
            c->args[p] = kiln_arg_out(&c->items[p].made);
        else if (take(c, p, object) != 0)
            return -1;
    }
    return 0;
}

/* An array of kiln for what was borrowed. */
static int import(kiln_context *context, item *i)
{
    DLManagedTensorVersioned *tensor = &i->seen.tensor, *kept;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;

    o.stream = KILN_DLPACK_STREAM_NO_SYNC;
    if (i->seen.keep) {
        kept = kilnpy_capsule_take(i->seen.capsule);
        if (kept == NULL)
            return -1;
        kept->flags |= tensor->flags;
        tensor = kept;
    }
    if (kiln_array_from_dlpack(context, tensor, &o, &i->made, &err) == KILN_OK)
        return 0;
    kilnpy_raise(&err);
    return -1;
}

static int import_all(call *c)
{
    kiln_context *context = kilnpy_context(c->device);

    if (context == NULL)
        return -1;
    for (size_t k = 0; k < c->count; k++) {
        item *i = &c->items[k];
        if (i->kind == NULL)
            continue;
        if (i->kind->how != HOW_ARRAY && import(context, i) != 0)
            return -1;
        c->args[k] = kiln_arg_array(i->kind->how == HOW_ARRAY ? i->seen.array : i->made);
    }
    return 0;
}

/* ---- results ---- */

/* Let kiln's own stream wait for the call's, as an Array's work is ordered on it. */
static int join_own(const call *c)
{
    kiln_context *context = kilnpy_context(c->device);

    return wait_for(c->device, (intptr_t)kiln_stream_native(context, NULL), c->native);
}

/* An object of the first array's kind for an output that the call made. */
static PyObject *result_of(const call *c, item *i)
{
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    DLManagedTensorVersioned *tensor = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *made = i->made;
    void *object = NULL;
    PyObject *own, *result;

    if (c->first != NULL && c->first->api != NULL) {
        o.stream = KILN_DLPACK_STREAM_NO_SYNC; /* It was made on this library's stream. */
        if (kiln_array_to_dlpack(made, &o, &tensor, &err) != KILN_OK)
            return kilnpy_raise(&err);
        if (c->first->api->managed_tensor_to_py_object_no_sync(tensor, &object) != 0)
            return NULL;
        return object;
    }
    if (c->first != NULL && c->first->result != NULL && c->first->result_of_capsule) {
        own = kilnpy_capsule_of(made);
        if (own == NULL)
            return NULL;
        result = PyObject_CallFunctionObjArgs(c->first->result, own, NULL);
        Py_DECREF(own);
        return result;
    }
    i->made = NULL;
    if (c->device > 0 && c->has_native && join_own(c) != 0) {
        kiln_array_release(made);
        return NULL;
    }
    own = kilnpy_array_new(made);
    if (own == NULL || c->first == NULL || c->first->result == NULL)
        return own;
    result = PyObject_CallFunctionObjArgs(c->first->result, own, NULL);
    Py_DECREF(own);
    return result;
}

static PyObject *results_of(call *c)
{
    const kernel *k = c->kernel;
    PyObject *all = NULL, *one = NULL;

    if (k->no_return || k->output_count == 0)
        Py_RETURN_NONE;
    if (k->output_count > 1 || k->return_tuple) {
        all = PyTuple_New((Py_ssize_t)k->output_count);
        if (all == NULL)
            return NULL;
    }
    for (size_t p = 0; p < k->output_count; p++) {
        item *i = &c->items[c->inputs + p];
        one = i->object != NULL ? Py_NewRef(i->object) : result_of(c, i);
        if (one == NULL)
            break;
        if (all != NULL)
            PyTuple_SetItem(all, (Py_ssize_t)p, one);
    }
    if (all == NULL || one != NULL)
        return all != NULL ? all : one;
    Py_DECREF(all);
    return NULL;
}

/* ---- a call ---- */

/* The handle of the stream that was chosen, or given as an object or an int. */
static int hold_stream(call *c, PyObject *given)
{
    if (!c->has_native || c->device == 0)
        return 0;
    c->held = kilnpy_stream(c->device, (void *)c->native,
                            given != NULL && !PyLong_Check(given) ? given : NULL);
    if (c->held == NULL)
        return -1;
    kilnpy_stream_begin(c->held);
    c->options.stream = kilnpy_stream_handle(c->held);
    return 0;
}

/* Everything before the run. */
static int begin(call *c, kernel *k, PyObject *args, PyObject *keywords)
{
    PyObject *stream = NULL, *out = NULL;

    memset(c, 0, offsetof(call, few));
    c->kernel = k;
    c->inputs = k->input_count;
    c->count = k->input_count + k->output_count;
    if (k->def.family ==
        FAMILY_RAW) /* It declares no parameters here: all that is given is passed. */
        c->inputs = c->count = (size_t)PyTuple_Size(args);
    c->device = -1;
    c->items = c->few;
    c->args = c->few_args;
    if (c->count > FEW) {
        c->items = PyMem_Malloc(c->count * sizeof *c->items);
        c->args = PyMem_Malloc(c->count * sizeof *c->args);
    }
    if (c->items == NULL || c->args == NULL) {
        c->count = 0;
        PyErr_NoMemory();
        return -1;
    }
    for (size_t p = 0; p < c->count; p++) { /* the dims aside, which are large */
        memset(&c->items[p], 0, offsetof(item, seen) + offsetof(borrowed, dims));
    }
    c->options.cooperative = k->def.cooperative;
    if (kilnpy_read_keywords(keywords, &c->options, &stream, &out) != 0)
        return -1;
    if (stream != NULL) {
        if (address_of(stream, &c->native) != 0)
            return -1;
        c->has_native = true;
    }
    if (take_all(c, args, out) != 0)
        return -1;
    if (c->device < 0)
        c->device = kilnpy_default_device();
    if (c->device < 0 || import_all(c) != 0 || hold_stream(c, stream) != 0)
        return -1;
    return c->joins ? join_streams(c, false) : 0;
}

static void end(call *c)
{
    if (c->held != NULL)
        kilnpy_stream_end(c->held);
    for (size_t p = 0; p < c->count; p++) {
        kiln_array_release(c->items[p].made);
        kilnpy_give_back(&c->items[p].seen);
    }
    if (c->items != c->few)
        PyMem_Free(c->items);
    if (c->args != c->few_args)
        PyMem_Free(c->args);
}

PyObject *kilnpy_call(kernel *k, PyObject *args, PyObject *keywords)
{
    const family *f = &kilnpy_families[k->def.family];
    kiln_error err = KILN_ERROR_INIT;
    PyObject *result = NULL;
    kiln_status status;
    void *handle;
    call c;

    if (f->run == NULL)
        return kilnpy_fail(KILN_ERR_ARGUMENT, "a module is not called: get_function() is");
    if (begin(&c, k, args, keywords) != 0)
        goto done;
    handle = kilnpy_kernel_handle(k, c.device);
    if (handle == NULL)
        goto done;
    Py_BEGIN_ALLOW_THREADS status = f->run(handle, c.args, c.count, &c.options, &err);
    /* Nothing waits for arrays of the host's libraries, so what kernels report is told here. */
    if (status == KILN_OK && c.device == 0 && c.first != NULL)
        status = kiln_context_synchronize(kilnpy_context(0), &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) kilnpy_raise(&err);
    else if (!c.joins || join_streams(&c, true) == 0) result = results_of(&c);

done:
    end(&c);
    return result;
}

PyObject *kilnpy_source(kernel *k, PyObject *args, PyObject *keywords)
{
    const family *f = &kilnpy_families[k->def.family];
    kiln_error err = KILN_ERROR_INIT;
    PyObject *result = NULL;
    char *text = NULL;
    void *handle;
    call c;

    if (f->source == NULL)
        return kilnpy_fail(KILN_ERR_UNSUPPORTED, "a %s has no generated source", f->name);
    if (begin(&c, k, args, keywords) != 0)
        goto done;
    handle = kilnpy_kernel_handle(k, c.device);
    if (handle == NULL)
        goto done;
    if (f->source(handle, c.args, c.count, &c.options, &text, &err) != KILN_OK)
        kilnpy_raise(&err);
    else
        result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    kiln_free(text);

done:
    end(&c);
    return result;
}
