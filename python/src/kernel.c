/*
 * kernel.c - the type Kernel: a definition of any family, and what it became on each device.
 *
 *     Kernel(family, texts, inputs, outputs, options)
 *
 * kiln/_kernels.py has the classes that people use; they check and order what they are given, and
 * derive from this one. A handle is made when a call first needs the device.
 */
#include "kilnpy.h"

/* Text of a str or None; false with an exception. */
static bool text_of(PyObject *object, const char **out)
{
    *out = NULL;
    if (object == NULL || object == Py_None)
        return PyErr_Occurred() == NULL;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a text of a kernel is a str, not %R", Py_TYPE(object));
        return false;
    }
    *out = PyUnicode_AsUTF8AndSize(object, NULL);
    return *out != NULL;
}

/* The texts of a tuple of str; the list is freed with the definition. */
static bool list_of(PyObject *tuple, const char ***out, size_t *count_out)
{
    Py_ssize_t count;

    if (tuple == NULL || tuple == Py_None)
        return PyErr_Occurred() == NULL;
    count = PyTuple_Size(tuple);
    if (count < 0)
        return false;
    *out = PyMem_Calloc((size_t)count + 1, sizeof **out);
    if (*out == NULL)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        if (!text_of(PyTuple_GetItem(tuple, k), &(*out)[k]))
            return false;
    *count_out = (size_t)count;
    return true;
}

/* Tuples of tuples of texts as one list, which an array of structs of `fields` texts is. */
static bool structs_of(PyObject *tuple, size_t fields, const char ***out, size_t *count_out)
{
    Py_ssize_t count;

    if (tuple == NULL || tuple == Py_None)
        return PyErr_Occurred() == NULL;
    count = PyTuple_Size(tuple);
    if (count < 0)
        return false;
    *out = PyMem_Calloc((size_t)count * fields + 1, sizeof **out);
    if (*out == NULL)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *one = PyTuple_GetItem(tuple, k);
        for (size_t field = 0; field < fields; field++)
            if (!text_of(PyTuple_GetItem(one, (Py_ssize_t)field),
                         &(*out)[(size_t)k * fields + field]))
                return false;
    }
    *count_out = (size_t)count;
    return true;
}

/* Whether an option is set to something true. */
static bool flag_of(PyObject *options, const char *name)
{
    PyObject *value = PyDict_GetItemString(options, name);

    return value != NULL && PyObject_IsTrue(value) == 1;
}

static bool read_options(kernel *k, PyObject *options)
{
    definition *d = &k->def;
    const struct {
        const char *name, **text;
    } texts[] = {{"name", &d->name},
                 {"preamble", &d->preamble},
                 {"loop_prep", &d->loop_prep},
                 {"after_loop", &d->after_loop},
                 {"reduce_type", &d->reduce_type},
                 {"row_outputs", &d->row_outputs},
                 {"row_post", &d->row_post}};

    for (size_t t = 0; t < COUNT_OF(texts); t++)
        if (!text_of(PyDict_GetItemString(options, texts[t].name), texts[t].text))
            return false;
    d->keep_axes = flag_of(options, "keep_axes");
    d->numpy_types = flag_of(options, "numpy_types");
    d->cooperative = flag_of(options, "cooperative");
    k->no_return = flag_of(options, "no_return");
    k->return_tuple = flag_of(options, "return_tuple");
    d->module = (kernel *)PyDict_GetItemString(options, "module");
    return list_of(PyDict_GetItemString(options, "options"), &d->options, &d->option_count) &&
           list_of(PyDict_GetItemString(options, "names"), &d->names, &d->name_count) &&
           structs_of(PyDict_GetItemString(options, "stages"), STAGE_TEXTS, &d->stage_texts,
                      &d->stage_count) &&
           structs_of(PyDict_GetItemString(options, "values"), VALUE_TEXTS, &d->value_texts,
                      &d->value_count);
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args;
    (void)keywords;
    return ((allocfunc)SLOT_OF(type, Py_tp_alloc))(type, 0);
}

static int kernel_init(PyObject *self, PyObject *args, PyObject *keywords)
{
    kernel *k = (kernel *)self;
    PyObject *texts = NULL, *options = NULL;
    int number = 0;
    Py_ssize_t inputs = 0, outputs = 0;

    (void)keywords;
    if (k->def.owner != NULL) {
        PyErr_SetString(PyExc_TypeError, "a kernel is made once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "iO!nnO!", &number, &PyTuple_Type, &texts, &inputs, &outputs,
                          &PyDict_Type, &options))
        return -1;
    if (number < 0 || number >= FAMILY_COUNT || PyTuple_Size(texts) > TEXTS_MAX || inputs < 0 ||
        outputs < 0 || inputs + outputs > 4096) {
        PyErr_SetString(PyExc_ValueError, "no such kernel");
        return -1;
    }
    k->def.family = (family_id)number;
    k->def.owner = PyTuple_Pack(2, texts, options);
    k->input_count = (size_t)inputs;
    k->output_count = (size_t)outputs;
    k->generation = kilnpy_generation();
    if (k->def.owner == NULL || !read_options(k, options))
        return -1;
    for (Py_ssize_t t = 0; t < PyTuple_Size(texts); t++)
        if (!text_of(PyTuple_GetItem(texts, t), &k->def.text[t]))
            return -1;
    return 0;
}

static void kernel_dealloc(PyObject *self)
{
    kernel *k = (kernel *)self;
    PyTypeObject *type = Py_TYPE(self);

    /* After a fork the handles are the parent's. */
    const bool ours = k->generation == kilnpy_generation() && !kilnpy_is_ending();
    for (int d = 0; d < DEVICES_MAX; d++)
        if (ours && k->handles[d] != NULL)
            kilnpy_families[k->def.family].destroy(k->handles[d]);
    PyMem_Free(k->def.options);
    PyMem_Free(k->def.names);
    PyMem_Free(k->def.stage_texts);
    PyMem_Free(k->def.value_texts);
    Py_XDECREF(k->def.owner);
    ((freefunc)SLOT_OF(type, Py_tp_free))(self);
    Py_DECREF(type);
}

void *kilnpy_kernel_handle(kernel *k, int device)
{
    const family *f = &kilnpy_families[k->def.family];
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *context;
    definition def = k->def;
    size_t results = k->output_count;
    kiln_status status;
    void *made = NULL;

    if (k->generation != kilnpy_generation()) {
        memset(k->handles, 0, sizeof k->handles);
        k->generation = kilnpy_generation();
    }
    if (device >= 0 && device < DEVICES_MAX && k->handles[device] != NULL)
        return k->handles[device];
    context = kilnpy_context(device);
    if (context == NULL)
        return NULL;
    if (def.module != NULL) {
        def.module_handle = kilnpy_kernel_handle(def.module, device);
        if (def.module_handle == NULL)
            return NULL;
    }
    def.results_out = &results;
    Py_BEGIN_ALLOW_THREADS /* A module is compiled here. */
        status = f->create(context, &def, &made, &err);
    Py_END_ALLOW_THREADS if (status != KILN_OK) return kilnpy_raise(&err);
    k->output_count = results;
    if (k->handles[device] == NULL)
        k->handles[device] = made;
    else /* another thread was faster */
        f->destroy(made);
    return k->handles[device];
}

/* Make it for a device now, so that what is wrong with it is told: check("cpu"). */
static PyObject *kernel_check(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    const int device = text != NULL ? kilnpy_device_number(text) : -1;

    if (device < 0 || kilnpy_kernel_handle((kernel *)self, device) == NULL)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *kernel_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    return kilnpy_call((kernel *)self, args, keywords);
}

static PyObject *kernel_source(PyObject *self, PyObject *args, PyObject *keywords)
{
    return kilnpy_source((kernel *)self, args, keywords);
}

/* symbol(name, dtype, device): a variable of a module. */
static PyObject *kernel_symbol(PyObject *self, PyObject *args)
{
    const char *name = NULL, *dtype = NULL, *device = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *found = NULL;
    kiln_module *module;
    int number;

    if (((kernel *)self)->def.family != FAMILY_MODULE)
        return kilnpy_fail(KILN_ERR_ARGUMENT, "only modules have variables");
    if (!PyArg_ParseTuple(args, "ssz", &name, &dtype, &device))
        return NULL;
    number = device != NULL ? kilnpy_device_number(device) : kilnpy_default_device();
    module = number >= 0 ? kilnpy_kernel_handle((kernel *)self, number) : NULL;
    if (module == NULL)
        return NULL;
    if (kiln_module_symbol(module, name, kiln_dtype_from_name(dtype, strlen(dtype)), &found,
                           &err) != KILN_OK)
        return kilnpy_raise(&err);
    return kilnpy_array_new(found);
}

/* _attributes(device): what a driver tells of a module's kernel, by CuPy's names. */
static PyObject *kernel_attributes(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    const int device = text != NULL ? kilnpy_device_number(text) : -1;
    kiln_raw_attributes a;
    kiln_error err = KILN_ERROR_INIT;
    void *raw;

    if (((kernel *)self)->def.family != FAMILY_RAW)
        return kilnpy_fail(KILN_ERR_ARGUMENT, "only kernels of modules have attributes");
    raw = device >= 0 ? kilnpy_kernel_handle((kernel *)self, device) : NULL;
    if (raw == NULL)
        return NULL;
    if (kiln_raw_get_attributes(raw, &a, &err) != KILN_OK)
        return kilnpy_raise(&err);
    return Py_BuildValue(
        "{sisisisisisisisisisi}", "max_threads_per_block", a.max_threads, "num_regs", a.registers,
        "shared_size_bytes", a.static_shared_bytes, "local_size_bytes", a.local_bytes,
        "const_size_bytes", a.const_bytes, "max_dynamic_shared_size_bytes",
        a.max_dynamic_shared_bytes, "binary_version", a.binary_version, "ptx_version",
        a.ptx_version, "cache_mode_ca", a.cache_mode_ca, "preferred_shared_memory_carveout",
        a.preferred_shared_percent);
}

/* _log(device): what the compiler said of a module, or of the one that a kernel stands in. */
static PyObject *kernel_log(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    const int device = text != NULL ? kilnpy_device_number(text) : -1;
    kernel *const k = (kernel *)self, *const of = k->def.module != NULL ? k->def.module : k;
    void *module;

    if (of->def.family != FAMILY_MODULE)
        return kilnpy_fail(KILN_ERR_ARGUMENT, "only modules keep what their compiler said");
    module = device >= 0 ? kilnpy_kernel_handle(of, device) : NULL;
    return module != NULL
               ? PyUnicode_DecodeUTF8(kiln_module_log(module),
                                      (Py_ssize_t)strlen(kiln_module_log(module)), "replace")
               : NULL;
}

static PyMethodDef methods[] = {
    {"_attributes", kernel_attributes, METH_O, "What a driver tells of a module's kernel."},
    {"_check", kernel_check, METH_O, "Make the kernel for a device now."},
    {"_log", kernel_log, METH_O, "What the compiler said of a module."},
    {"_symbol", kernel_symbol, METH_VARARGS, "A variable of a module, as an array."},
    {"source", METHOD(kernel_source), METH_VARARGS | METH_KEYWORDS,
     "The generated source that a call with these arguments would compile."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, SLOT(kernel_new)},
                              {Py_tp_init, SLOT(kernel_init)},
                              {Py_tp_dealloc, SLOT(kernel_dealloc)},
                              {Py_tp_call, SLOT(kernel_call)},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec kilnpy_kernel_spec = {"kiln._kiln.Kernel", sizeof(kernel), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
