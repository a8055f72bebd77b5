/*
 * kinds.c - what is known of each Python type that comes as an argument.
 *
 *     type -> [a table, asked at each argument] -> kind
 *              `-> kiln/_kinds.py describes a type that is new
 *
 * Rule: an entry is never removed or moved while the process lives, so that calls may hold one
 *       without the GIL. The type is counted, so that no other can get its address.
 */
#include "kilnpy.h"

/* A program uses some ten types of arrays. Half of the places stay empty. */
#define SLOTS 512

static kind table[SLOTS];
static size_t used;
static PyObject *describe;

int kilnpy_kinds_set(PyObject *function)
{
    PyObject *old = describe;

    describe = Py_NewRef(function);
    Py_XDECREF(old);
    return 0;
}

static PyObject *optional(PyObject *tuple, Py_ssize_t at)
{
    PyObject *item = PyTuple_GetItem(tuple, at);

    return item != NULL && item != Py_None ? Py_NewRef(item) : NULL;
}

/* The address in a capsule or, as the first frameworks had it, in an int. */
static const DLPackExchangeAPI *api_of(PyObject *object)
{
    const DLPackExchangeAPI *api = NULL;

    if (PyCapsule_IsValid(object, "dlpack_exchange_api"))
        api = PyCapsule_GetPointer(object, "dlpack_exchange_api");
    else if (PyLong_Check(object))
        api = PyLong_AsVoidPtr(object);
    PyErr_Clear();
    /* Tables of several versions are a list; ours is of major version 1. */
    while (api != NULL && api->header.version.major != DLPACK_MAJOR_VERSION)
        api = (const DLPackExchangeAPI *)(const void *)api->header.prev_api;
    return api != NULL && api->dltensor_from_py_object_no_sync != NULL &&
                   api->managed_tensor_from_py_object_no_sync != NULL
               ? api
               : NULL;
}

/* `facts` is (how, table or None, check, stream, result, whether that takes a capsule, immutable,
 * name). */
static int fill(kind *k, PyTypeObject *type, PyObject *facts)
{
    PyObject *table_object;

    if (!PyTuple_Check(facts) || PyTuple_Size(facts) != 8) {
        PyErr_SetString(PyExc_SystemError, "a kind has eight facts");
        return -1;
    }
    memset(k, 0, sizeof *k);
    k->how = (how)PyLong_AsLong(PyTuple_GetItem(facts, 0));
    table_object = PyTuple_GetItem(facts, 1);
    k->name_object = Py_NewRef(PyTuple_GetItem(facts, 7));
    k->name = PyUnicode_AsUTF8AndSize(k->name_object, NULL);
    if (PyErr_Occurred())
        return -1;
    k->api = table_object != Py_None ? api_of(table_object) : NULL;
    if (k->how == HOW_EXCHANGE && k->api == NULL)
        k->how = HOW_CAPSULE;
    if (PyTuple_Check(PyTuple_GetItem(facts, 2))) { /* (attributes, methods, methods, function) */
        PyObject *check = PyTuple_GetItem(facts, 2);
        k->flags = optional(check, 0);
        k->queries = optional(check, 1);
        k->complex_queries = optional(check, 2);
        k->check = optional(check, 3);
    }
    k->stream = optional(facts, 3);
    k->result = optional(facts, 4);
    k->result_of_capsule = PyObject_IsTrue(PyTuple_GetItem(facts, 5)) == 1;
    k->immutable = PyObject_IsTrue(PyTuple_GetItem(facts, 6)) == 1;
    k->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    return 0;
}

kind *kilnpy_kind(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    size_t at = ((uintptr_t)type >> 4) % SLOTS;
    PyObject *facts;
    kind *k;

    for (; table[at].type != NULL; at = (at + 1) % SLOTS)
        if (table[at].type == type)
            return &table[at];
    facts = PyObject_CallFunctionObjArgs(describe, object, NULL);
    if (facts == NULL)
        return NULL;
    /* Describing runs Python, and another thread may have filled the place. */
    for (at = ((uintptr_t)type >> 4) % SLOTS; table[at].type != NULL; at = (at + 1) % SLOTS)
        if (table[at].type == type)
            break;
    k = &table[at];
    if (k->type == NULL) {
        if (used >= SLOTS / 2)
            k = kilnpy_fail(KILN_ERR_UNSUPPORTED, "arrays of more than %d types", SLOTS / 2);
        else if (fill(k, type, facts) != 0)
            k = NULL;
        else
            used++;
    }
    Py_DECREF(facts);
    return k;
}
