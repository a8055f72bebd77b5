/*
 * module.c - the extension module kiln._kiln. People use the package kiln, which is made of it.
 */
#include "kilnpy.h"

PyObject *kilnpy_after_fork(PyObject *self, PyObject *unused);
PyObject *kilnpy_end(PyObject *self, PyObject *unused);
PyObject *kilnpy_devices(PyObject *self, PyObject *unused);
PyObject *kilnpy_set_default_device(PyObject *self, PyObject *name);
PyObject *kilnpy_synchronize(PyObject *self, PyObject *unused);
int kilnpy_array_type_set(PyObject *type);

/* _setup(classes of errors, class of warnings, class of arrays, describe) */
static PyObject *setup(PyObject *self, PyObject *args)
{
    PyObject *classes = NULL, *warning = NULL, *arrays = NULL, *describe = NULL;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!OOO", &PyDict_Type, &classes, &warning, &arrays, &describe) ||
        kilnpy_errors_set(classes, warning) != 0 || kilnpy_array_class_set(arrays) != 0 ||
        kilnpy_kinds_set(describe) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *version(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyUnicode_FromString(kiln_version());
}

static PyObject *default_device(PyObject *self, PyObject *unused)
{
    const int device = kilnpy_default_device();
    kiln_context *context = device >= 0 ? kilnpy_context(device) : NULL;

    (void)self;
    (void)unused;
    return context != NULL ? PyUnicode_FromString(kiln_context_device(context)->id) : NULL;
}

/* The names of operations, reductions and scans: (tuple, tuple, tuple). */
static PyObject *tables(PyObject *self, PyObject *unused)
{
    PyObject *lists[3] = {PyList_New(0), PyList_New(0), PyList_New(0)};
    bool fine = true;

    (void)self;
    (void)unused;
    for (int value = 1; value < 256; value++) {
        const char *names[3] = {kiln_op_name((kiln_op)value),
                                kiln_reduce_op_name((kiln_reduce_op)value),
                                kiln_scan_op_name((kiln_scan_op)value)};
        for (int t = 0; t < 3; t++) {
            PyObject *name =
                strcmp(names[t], "unknown") != 0 ? PyUnicode_FromString(names[t]) : NULL;
            if (name != NULL && lists[t] != NULL)
                fine = PyList_Append(lists[t], name) == 0 && fine;
            Py_XDECREF(name);
        }
    }
    if (!fine || lists[0] == NULL || lists[1] == NULL || lists[2] == NULL) {
        for (int t = 0; t < 3; t++)
            Py_XDECREF(lists[t]);
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    return Py_BuildValue("(NNN)", lists[0], lists[1], lists[2]);
}

static PyMethodDef methods[] = {
    {"_setup", setup, METH_VARARGS, "Take over the classes that Python defines."},
    {"_after_fork", kilnpy_after_fork, METH_NOARGS, "Forget the parent's contexts."},
    {"_end", kilnpy_end, METH_NOARGS, "Give nothing back any more."},
    {"_tables", tables, METH_NOARGS, "Names of operations, reductions and scans."},
    {"version", version, METH_NOARGS, "The version of libkiln."},
    {"devices", kilnpy_devices, METH_NOARGS, "devices()\n--\n\nThe devices of this machine, best first."},
    {"default_device", default_device, METH_NOARGS,
     "default_device()\n--\n\nWhat calls without arrays run on."},
    {"set_default_device", kilnpy_set_default_device, METH_O,
     "set_default_device(device, /)\n--\n\nChoose it, as \"cpu\"."},
    {"_extent", kilnpy_extent, METH_O, "The addresses that an array lies between, or None."},
    {"synchronize", kilnpy_synchronize, METH_NOARGS,
     "synchronize()\n--\n\nWait for all of kiln's work."},
    {"from_dlpack", METHOD(kilnpy_from_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\nAn array over another library's memory."},
    {NULL, NULL, 0, NULL}};

/* Make a type, and put it into the module. Borrowed. */
static PyObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);

    if (type == NULL || PyModule_AddType(module, (PyTypeObject *)type) != 0) {
        Py_XDECREF(type);
        return NULL;
    }
    Py_DECREF(type);
    return type;
}

static int execute(PyObject *module)
{
    PyObject *arrays = add_type(module, &kilnpy_array_spec), *table = NULL;
    int result = -1;

    if (arrays == NULL || add_type(module, &kilnpy_kernel_spec) == NULL)
        goto done;
    kilnpy_array_type_set(arrays);
    table = kilnpy_exchange_capsule();
    if (table == NULL || PyModule_AddFunctions(module, kilnpy_view_methods) != 0 ||
        PyObject_SetAttrString(arrays, "__dlpack_c_exchange_api__", table) != 0 ||
        PyObject_SetAttrString(arrays, "__c_dlpack_exchange_api__", table) != 0)
        goto done;
    result = 0;

done:
    Py_XDECREF(table);
    return result;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, SLOT(execute)}, {0, NULL}};

static PyModuleDef definition_of_module = {PyModuleDef_HEAD_INIT,
                                           "kiln._kiln",
                                           "libkiln for Python; use the package kiln.",
                                           0,
                                           methods,
                                           slots,
                                           NULL,
                                           NULL,
                                           NULL};

PyMODINIT_FUNC PyInit__kiln(void);
PyMODINIT_FUNC PyInit__kiln(void)
{
    return PyModuleDef_Init(&definition_of_module);
}
