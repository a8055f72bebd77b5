/*
 * kilnpy.h - what the files of Python's extension module `kiln._kiln` share.
 *
 *     a call from Python -> [arguments] -> kiln_arg -> a run function of libkiln -> [results]
 *
 * module.c     the module: functions, types, what Python hands over when it is imported
 * contexts.c   one context for each device, made when it is first needed, and streams of others
 * raise.c      a kiln_error as an exception of Python, and warnings
 * kinds.c      how arrays of each Python type are read, and how results become such arrays
 * describe.c   an array of any kind as a DLTensor, without a copy
 * interfaces.c the dictionaries of the array interfaces as DLTensors
 * families.c   the families of kernels: how each is made and run
 * kernel.c     the type Kernel: a definition that runs on any device
 * call.c       one call of a Kernel, from Python's arguments to results
 * options.c    the keywords of a call
 * array.c      the type Array: a kiln_array
 * views.c      its views and copies
 * linalg.c     linear algebra and named scans of Arrays
 * indexing.c   sorting, searching, and elements at indices in place
 * capsule.c    Array to and from DLPack's capsules
 * observe.c    observers of a context, labels, and counters of its cache
 * exchange.c   the table of C functions by which Array is exchanged
 *
 * It uses the public headers of libkiln and Python's limited API of 3.11, so that one binary serves
 * every later Python.
 *
 * Threads: what is static is guarded by the GIL, which is released while libkiln compiles or runs.
 * Owner:   as in libkiln, whoever receives a handle or a reference gives it back.
 * Errors:  functions that return int give -1, and functions that return a pointer give NULL, with
 *          an exception of Python set.
 */
#ifndef KILNPY_H
#define KILNPY_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "kiln/dlpack.h"
#include "kiln/kiln.h"

/* A function as a slot of a type: ISO C has no conversion of functions to data pointers. */
#define SLOT(function) ((void *)(uintptr_t)(function))
#define SLOT_OF(type, slot) (uintptr_t) PyType_GetSlot((type), (slot))
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))
#define COUNT_OF(list) (sizeof(list) / sizeof(list)[0])

/* ---- raise.c ---- */

/* What Python registers: the classes of exceptions by status. */
int kilnpy_errors_set(PyObject *classes, PyObject *warning);

/* Raise what `err` says, and clear it. Returns NULL. */
void *kilnpy_raise(kiln_error *err);

/* Raise a failure of our own with the class of `status`. Returns NULL. */
void *kilnpy_fail(kiln_status status, const char *format, ...);

/* A warning of libkiln's log as one of Python. Any thread may call it. */
void kilnpy_warn_line(void *user, const char *line);

/* ---- contexts.c ---- */

#define DEVICES_MAX 17 /* the cpu, and 16 CUDA devices */

/* The context of a device: 0 is the cpu, k is cuda:(k - 1). Borrowed: it lives as long as the
 * process. NULL with an exception. */
kiln_context *kilnpy_context(int device);

/* The device that is CUDA's of this number. -2 with an exception. */
int kilnpy_cuda(int number);

/* The device that calls without arrays use. -1 with an exception. */
int kilnpy_default_device(void);

/* The number of a device from "cpu", "cuda", "cuda:1". -1 with an exception. */
int kilnpy_device_number(const char *name);

/* The number of the device of an array. */
int kilnpy_device_of(const kiln_array *array);

/* Counts the forks that led to this process: handles of another generation are the parent's. */
unsigned kilnpy_generation(void);

/* Whether the interpreter has begun to end: nothing is given back from then on. */
bool kilnpy_is_ending(void);

/* A stream that another library made, on a CUDA device; kept. `native` is as in kiln_stream_wrap();
 * `owner` is the object of Python whose end destroys the stream, or NULL. Valid until the GIL is
 * released or another one is asked for, unless it is between begin and end. NULL with an exception. */
typedef struct foreign_stream foreign_stream;
foreign_stream *kilnpy_stream(int device, void *native, PyObject *owner);
kiln_stream *kilnpy_stream_handle(const foreign_stream *stream);
void kilnpy_stream_begin(foreign_stream *stream);
void kilnpy_stream_end(foreign_stream *stream);

/* ---- kinds.c ---- */

/* How the arrays of a type are read. */
typedef enum how {
    HOW_NUMBER = 1, /* a number: result(obj) of its kind, or obj.item() */
    HOW_ARRAY,      /* our own Array */
    HOW_EXCHANGE,   /* by the table of C functions */
    HOW_BUFFER,     /* by the buffer protocol */
    HOW_CAPSULE,    /* by __dlpack__() */
    HOW_CUDA,       /* by __cuda_array_interface__ */
    HOW_HOST,       /* by __array_interface__ */
    HOW_ATTRIBUTES, /* by the attributes of CuPy's arrays */
    HOW_NOT         /* no array */
} how;

/* A type of Python whose objects are arguments. */
typedef struct kind {
    PyTypeObject *type; /* counted */
    how how;
    const DLPackExchangeAPI *api; /* HOW_EXCHANGE */
    PyObject *flags;              /* tuple of attributes, which must be false; or NULL */
    PyObject *queries;            /* tuple of methods, which must give false; or NULL */
    PyObject *complex_queries;    /* the same of arrays of complex numbers */
    PyObject *check;  /* callable(object), which raises where it must not be read; or NULL */
    PyObject *stream; /* callable(device number) -> its current stream, or its address; or NULL */
    PyObject *result; /* callable(Array) -> an object of this kind; NULL: the Array itself.
                         HOW_NUMBER: callable(object) -> its number; or NULL */
    bool result_of_capsule; /* that callable takes a capsule, whose memory needs no waiting for */
    bool immutable;         /* its arrays are never written to */
    bool stale;             /* HOW_CAPSULE: its __dlpack__() does not know max_version */
    const char *name;       /* for messages; of `name_object`, which is counted */
    PyObject *name_object;
} kind;

int kilnpy_kinds_set(PyObject *describe);

/* The kind of an object. Borrowed, lives as long as the process. */
kind *kilnpy_kind(PyObject *object);

/* ---- describe.c and interfaces.c ---- */

/* An array as a DLPack struct without a deleter, for as long as a call takes. */
typedef struct borrowed {
    DLManagedTensorVersioned tensor;
    kiln_array *array; /* HOW_ARRAY: its own, borrowed */
    PyObject *capsule; /* counted; or NULL */
    bool keep;         /* set before: HOW_CAPSULE: the capsule's memory is taken over */
    bool has_buffer;
    Py_buffer buffer;
    bool has_stream; /* the producer's work is on `stream` */
    intptr_t stream;
    int64_t dims[2 * KILN_RANK_MAX];
} borrowed;

/* Refuse an object whose memory does not hold its values, or must not be read. `seen` is what its library says
 * of it, or NULL where that was not asked, or has failed with an exception that such a refusal replaces. */
int kilnpy_check(const kind *k, PyObject *object, const DLTensor *seen);

/* Describe `object`. `stream` is what __dlpack__() is told; 0: none, for host memory. */
int kilnpy_borrow(kind *k, PyObject *object, intptr_t stream, borrowed *out);
void kilnpy_give_back(borrowed *b);

PyObject *kilnpy_extent(PyObject *module, PyObject *object);
int kilnpy_borrow_cuda(PyObject *object, borrowed *out);
int kilnpy_borrow_host(PyObject *object, borrowed *out);
int kilnpy_borrow_attributes(PyObject *object, borrowed *out);

/* DLPack's type of an array interface's type string. */
int kilnpy_type_of(const char *typestr, DLDataType *out);

/* The number of the device that memory is on; -1 for page-locked host memory, which any device
 * reaches; -2 with an exception for others. */
int kilnpy_device_of_tensor(const DLTensor *tensor);

/* ---- families.c ---- */

typedef enum family_id {
    FAMILY_ELEMENTWISE,
    FAMILY_REDUCTION,
    FAMILY_SCAN,
    FAMILY_ROW,
    FAMILY_GRAPH,
    FAMILY_MODULE,
    FAMILY_RAW,
    FAMILY_COUNT
} family_id;

/* What a call may say beside its arguments. */
typedef struct call_options {
    kiln_stream *stream;
    bool has_size;
    int64_t size;
    bool has_axes;
    kiln_axes axes;
    bool keepdims;
    unsigned flags;
    int64_t grid[3], block[3], shared_bytes;
    bool cooperative;
} call_options;

typedef struct definition definition;

/* A family: how its handles are made of a definition, run and destroyed. */
typedef struct family {
    const char *name;
    kiln_status (*create)(kiln_context *ctx, const definition *def, void **out, kiln_error *err);
    kiln_status (*run)(void *handle, const kiln_arg *args, size_t count, const call_options *o,
                       kiln_error *err);
    kiln_status (*source)(void *handle, const kiln_arg *args, size_t count, const call_options *o,
                          char **text_out, kiln_error *err);
    void (*destroy)(void *handle);
} family;

extern const family kilnpy_families[FAMILY_COUNT];

#define TEXTS_MAX 6

/* The texts of a kiln_row_stage and of a kiln_row_value, in the order of their fields. */
#define STAGE_TEXTS 7
#define VALUE_TEXTS 2

/* A definition as Python gives it. The strings belong to `owner`. */
struct definition {
    family_id family;
    PyObject *owner;             /* counted: all objects that the texts are of */
    const char *text[TEXTS_MAX]; /* in the order of the family's create function */
    const char *name, *preamble, *loop_prep, *after_loop, *reduce_type;
    const char **options;
    size_t option_count;
    const char **names; /* of a graph's inputs, or a module's expressions */
    size_t name_count;
    const char **stage_texts; /* STAGE_TEXTS for each stage of a row program */
    size_t stage_count;
    const char **value_texts; /* VALUE_TEXTS for each of its values */
    size_t value_count;
    size_t *results_out; /* FAMILY_GRAPH: receives the number of results */
    const char *row_outputs, *row_post;
    bool keep_axes, numpy_types;
    bool cooperative;
    struct kernel *module;      /* FAMILY_RAW: where it stands; counted by `owner` */
    kiln_module *module_handle; /* and what that is on the device at hand */
};

/* ---- kernel.c ---- */

/* A definition, and what it became on each device. */
typedef struct kernel {
    PyObject_HEAD definition def;
    size_t input_count, output_count;
    bool no_return, return_tuple;
    unsigned generation; /* of the handles */
    void *handles[DEVICES_MAX];
} kernel;

extern PyType_Spec kilnpy_kernel_spec;

/* The handle for a device; made when it is first asked for. NULL with an exception. */
void *kilnpy_kernel_handle(kernel *k, int device);

/* ---- call.c and options.c ---- */

PyObject *kilnpy_call(kernel *k, PyObject *args, PyObject *keywords);
PyObject *kilnpy_source(kernel *k, PyObject *args, PyObject *keywords);

/* The keywords of a call: `stream_out` and `out_out` are borrowed, and NULL where not given. */
int kilnpy_read_keywords(PyObject *keywords, call_options *o, PyObject **stream_out,
                         PyObject **out_out);

/* An axis, several, or None as a kiln_axes. */
int kilnpy_read_axes(PyObject *axis, bool *has_out, kiln_axes *out);

/* A number of Python as an argument. Returns 1 where it is none. */
int kilnpy_read_number(PyObject *object, kiln_arg *out);

/* ---- array.c, views.c, linalg.c, capsule.c, exchange.c and observe.c ---- */

typedef struct array_object {
    PyObject_HEAD kiln_array *array; /* counted */
    int64_t *dims; /* shape and strides in elements, for exchange.c; NULL until asked for */
    PyObject *untold; /* what a buffer was refused with, until the next way to the memory; or NULL */
} array_object;

extern PyType_Spec kilnpy_array_spec;

/* The class of new arrays, which Python derives from Array. */
int kilnpy_array_class_set(PyObject *class);
bool kilnpy_is_array(PyObject *object);

/* Before memory of the cpu device is given away, which nobody waits for: an exception and -1 for what kernels have
 * reported, an index out of range. */
int kilnpy_tell(kiln_array *a);

/* An object for `a`, whose reference it takes over, also when it fails. */
PyObject *kilnpy_array_new(kiln_array *a);

/* A shape of Python. Returns the rank. */
int kilnpy_read_shape(PyObject *shape, int64_t out[KILN_RANK_MAX]);

extern PyMethodDef kilnpy_view_methods[];
PyObject *kilnpy_linalg(PyObject *self, PyObject *args);
PyObject *kilnpy_scan(PyObject *self, PyObject *args);
PyObject *kilnpy_sorting(PyObject *self, PyObject *args);
PyObject *kilnpy_sort_by(PyObject *self, PyObject *args);
PyObject *kilnpy_scatter(PyObject *self, PyObject *args);
PyObject *kilnpy_put(PyObject *self, PyObject *args);

/* A tuple of Arrays as handles, which the caller gives back by PyMem_Free(); `wanted` 0: any number. `name` is
 * for messages. (linalg.c) */
int kilnpy_read_arrays(PyObject *tuple, const char *name, size_t wanted, const kiln_array ***out);
/* Results of a function: one object or a tuple. What is behind a failure is released. (linalg.c) */
PyObject *kilnpy_give_all(kiln_array **made, int count);
PyObject *kilnpy_observe(PyObject *self, PyObject *args);
PyObject *kilnpy_observed(PyObject *self, PyObject *capsule);
PyObject *kilnpy_cache_counters(PyObject *self, PyObject *args);
PyObject *kilnpy_label(PyObject *self, PyObject *text);
PyObject *kilnpy_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* A capsule "dltensor_versioned" of an array, whose users work on the stream that it was made on. */
PyObject *kilnpy_capsule_of(kiln_array *array);
PyObject *kilnpy_dlpack_device(PyObject *self, PyObject *unused);
PyObject *kilnpy_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t count,
                             PyObject *names);

/* A tuple of two ints, as versions and devices are; `name` is for the message. -1 with an exception. */
int kilnpy_read_pair(PyObject *tuple, const char *name, int *first, int *second);

/* Take the tensor out of a capsule, which is then used. NULL with an exception. */
DLManagedTensorVersioned *kilnpy_capsule_take(PyObject *capsule);

/* An Array over a tensor, which is taken over whatever happens. `ordered`: its owner uses the memory
 * again in the order of `stream`, which lives as long as the process. */
PyObject *kilnpy_array_over(DLManagedTensorVersioned *tensor, intptr_t stream, bool ordered);

/* The table as a capsule. */
PyObject *kilnpy_exchange_capsule(void);

#endif
