/*
 * raise.c - failures of libkiln as exceptions of Python, and its warnings as warnings.
 *
 * kiln/_errors.py has the classes. The text of an exception is the error's message with its detail,
 * the text at fault with a caret; status, detail, offset, log and source are attributes.
 */
#include <stdarg.h>
#include <stdio.h>

#include "kilnpy.h"

static PyObject *classes; /* dict: status -> class; None -> the class of all others */
static PyObject *warning_class;

int kilnpy_errors_set(PyObject *new_classes, PyObject *warning)
{
    PyObject *old = classes, *old_warning = warning_class;

    classes = Py_NewRef(new_classes);
    warning_class = Py_NewRef(warning);
    Py_XDECREF(old);
    Py_XDECREF(old_warning);
    return 0;
}

/* The class for a status; borrowed. */
static PyObject *class_of(kiln_status status)
{
    PyObject *key = PyLong_FromLong(status), *found = NULL;

    if (key != NULL && classes != NULL)
        found = PyDict_GetItemWithError(classes, key);
    Py_XDECREF(key);
    if (found == NULL && classes != NULL && !PyErr_Occurred())
        found = PyDict_GetItemWithError(classes, Py_None);
    return found != NULL ? found : PyExc_RuntimeError;
}

static int set_text(PyObject *exception, const char *name, const char *text)
{
    PyObject *value = text != NULL ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace")
                                   : Py_NewRef(Py_None);
    int result = value != NULL ? PyObject_SetAttrString(exception, name, value) : -1;

    Py_XDECREF(value);
    return result;
}

/* The place in the text at fault, or None. */
static int set_offset(PyObject *exception, int64_t offset)
{
    PyObject *value = offset >= 0 ? PyLong_FromLongLong((long long)offset) : Py_NewRef(Py_None);
    int result = value != NULL ? PyObject_SetAttrString(exception, "offset", value) : -1;

    Py_XDECREF(value);
    return result;
}

static PyObject *whole_text(const kiln_error *err)
{
    PyObject *message =
        PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
    PyObject *detail = NULL, *all = NULL;

    if (err->detail == NULL || message == NULL)
        return message;
    detail = PyUnicode_DecodeUTF8(err->detail, (Py_ssize_t)strlen(err->detail), "replace");
    if (detail != NULL)
        all = PyUnicode_FromFormat("%U\n%U", message, detail);
    Py_DECREF(message);
    Py_XDECREF(detail);
    return all;
}

void *kilnpy_raise(kiln_error *err)
{
    PyObject *class = class_of(err->status), *text = whole_text(err), *exception = NULL;

    if (text != NULL)
        exception = PyObject_CallFunctionObjArgs(class, text, NULL);
    if (exception != NULL && set_text(exception, "status", kiln_status_name(err->status)) == 0 &&
        set_text(exception, "detail", err->detail) == 0 &&
        set_offset(exception, err->offset) == 0 &&
        set_text(exception, "log", err->log) == 0 &&
        set_text(exception, "source", err->source) == 0)
        PyErr_SetObject(class, exception);
    Py_XDECREF(text);
    Py_XDECREF(exception);
    kiln_error_clear(err);
    return NULL;
}

void *kilnpy_fail(kiln_status status, const char *format, ...)
{
    kiln_error err = KILN_ERROR_INIT;
    va_list values;

    err.status = status;
    va_start(values, format);
    vsnprintf(err.message, sizeof err.message, format, values);
    va_end(values);
    return kilnpy_raise(&err);
}

void kilnpy_warn_line(void *user, const char *line)
{
    PyGILState_STATE gil;

    (void)user;
    if (!Py_IsInitialized())
        return;
    gil = PyGILState_Ensure();
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyErr_WarnEx(warning_class, line, 1) != 0)
        PyErr_WriteUnraisable(NULL); /* Warnings are errors here, and nobody is there to take it. */
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
}
