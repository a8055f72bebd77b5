/*
 * kinds.c - what is known of each Python type that comes as an argument.
 *
 *     type -> [a table, asked at each argument] -> kind
 *              `-> kiln/_kinds.py describes a type that is new
 *
 * Rule: a kind is never removed or moved while the process lives, so that calls may hold one
 *       without the GIL. The type is counted, so that no other can get its address.
 */
#include "kilnpy.h"

/* Places by a type's address, a power of 2; half of them at least are empty. A program uses some ten
 * types of arrays, or makes new ones as it runs. */
static kind **table;
static size_t slots, used;
static PyObject *describe;

/* Where the type's kind is, or the empty place for it. */
static kind **place_of(const PyTypeObject *type)
{
    size_t at = ((uintptr_t)type >> 4) & (slots - 1);

    while (table[at] != NULL && table[at]->type != type)
        at = (at + 1) & (slots - 1);
    return &table[at];
}

/* Twice the places, at first 64. */
static int grow(void)
{
    const size_t count = slots;
    kind **const old = table, **const fresh = calloc(count > 0 ? 2 * count : 64, sizeof *fresh);

    if (fresh == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    table = fresh;
    slots = count > 0 ? 2 * count : 64;
    for (size_t k = 0; k < count; k++)
        if (old[k] != NULL)
            *place_of(old[k]->type) = old[k];
    free(old);
    return 0;
}

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

/* A new kind; NULL with an exception set. */
static kind *make(PyTypeObject *type, PyObject *facts)
{
    kind *const k = calloc(1, sizeof *k);

    if (k == NULL) {
        PyErr_NoMemory();
    } else if (fill(k, type, facts) != 0) {
        free(k);
        return NULL;
    }
    return k;
}

kind *kilnpy_kind(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    kind **place = slots > 0 ? place_of(type) : NULL;
    PyObject *facts;

    if (place != NULL && *place != NULL)
        return *place;
    facts = PyObject_CallFunctionObjArgs(describe, object, NULL);
    if (facts == NULL)
        return NULL;
    if (2 * used >= slots && grow() != 0) {
        Py_DECREF(facts);
        return NULL;
    }
    place = place_of(type); /* Describing runs Python: another thread may have filled it. */
    if (*place == NULL) {
        *place = make(type, facts);
        used += *place != NULL;
    }
    Py_DECREF(facts);
    return *place;
}
