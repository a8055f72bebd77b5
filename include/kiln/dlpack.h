/**
 * @file kiln/dlpack.h
 * @brief Share arrays with other libraries without a copy: DLPack, and the array interfaces.
 *
 * NumPy, PyTorch, JAX, CuPy and others exchange arrays by DLPack. A producer fills a struct that
 * describes the memory. The consumer calls the struct's deleter when it no longer needs the memory.
 * kiln produces such structs with kiln_array_to_dlpack() and consumes them with
 * kiln_array_from_dlpack():
 *
 *     DLManagedTensorVersioned *t = NULL;
 *     kiln_array *same = NULL;
 *     kiln_array_to_dlpack(x, NULL, &t, &err);           // x stays alive until t->deleter(t)
 *     kiln_array_from_dlpack(ctx, t, NULL, &same, &err); // the same memory; t belongs to `same`
 *     kiln_array_release(same);                          // calls the deleter
 *
 * The structs below are DLPack's, version 1.3 (https://dmlc.github.io/dlpack). They are declared
 * here under dlpack.h's own include guard, so that a program may include dlpack.h before or after
 * this header; its version must be 1.0 or later. Names and layout are DLPack's binary interface.
 * The comments say which values kiln accepts and which it produces.
 *
 * Libraries without DLPack exchange the dictionaries `__cuda_array_interface__` and
 * `__array_interface__`. Struct kiln_array_interface has their fields.
 *
 * Owner:   an exported struct keeps the array's memory alive until its deleter is called, also when
 *          the array and the context are gone. An imported array calls the producer's deleter when
 *          the last view of it is released and the work on it is done.
 * Threads: every function may be called from any thread, and so may the deleters that kiln makes.
 * Units:   DLTensor counts strides in elements; kiln_array_interface, like kiln, in bytes.
 * Order:   on a CUDA device the producer makes the consumer's stream wait for the work that the
 *          producer has enqueued. The `stream` of the options is that stream.
 */
#ifndef KILN_DLPACK_H
#define KILN_DLPACK_H

#include "kiln/array.h"

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

KILN_EXTERN_C_BEGIN

/** The DLPack version for which the producer of a struct was compiled. */
typedef struct {
    uint32_t major; /**< Structs of two major versions differ: only the deleter may be called. */
    uint32_t minor; /**< A higher one has added flags or codes, and changed nothing. */
} DLPackVersion;

/**
 * The kind of device that memory belongs to. kiln exports kDLCPU and kDLCUDA. It imports these two,
 * page-locked memory (on both devices), and managed memory (on a CUDA device). All others are
 * ERR_CONTEXT.
 */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
    kDLCPU = 1,      /**< Ordinary host memory. */
    kDLCUDA = 2,     /**< Memory of one GPU. */
    kDLCUDAHost = 3, /**< Page-locked host memory. */
    kDLOpenCL = 4,       /**< OpenCL's memory objects. */
    kDLVulkan = 7,       /**< Vulkan's buffers. */
    kDLMetal = 8,        /**< Apple's GPUs. */
    kDLVPI = 9,          /**< Simulated devices of Verilog. */
    kDLROCM = 10,        /**< AMD's GPUs. */
    kDLROCMHost = 11,    /**< Host memory that is page-locked for AMD's GPUs. */
    kDLExtDev = 12,      /**< For experiments with devices that have no code yet. */
    kDLCUDAManaged = 13, /**< Memory that moves between host and GPUs by itself. */
    kDLOneAPI = 14,      /**< Unified shared memory of oneAPI. */
    kDLWebGPU = 15,      /**< WebGPU's buffers. */
    kDLHexagon = 16,     /**< Qualcomm's Hexagon processors. */
    kDLMAIA = 17,        /**< Microsoft's MAIA accelerators. */
    kDLTrn = 18          /**< AWS Trainium. */
} DLDeviceType;

/** One device, by its type and number. */
typedef struct {
    DLDeviceType device_type;
    int32_t device_id; /**< Number among the devices of its type; 0 for host memory. */
} DLDevice;

/**
 * What the bits of an element mean. kiln takes those combinations of code and bits that are one of
 * its dtypes: kDLInt and kDLUInt of 8 to 64 bits, kDLFloat of 16 to 64, kDLBfloat of 16, kDLComplex
 * of 64 and 128, kDLBool of 8, kDLFloat8_e4m3fn and kDLFloat8_e5m2 of 8. All others are ERR_DTYPE;
 * the message names the code and the bits.
 */
typedef enum {
    kDLInt = 0,          /**< Two's complement. */
    kDLUInt = 1,         /**< Unsigned. */
    kDLFloat = 2,        /**< IEEE 754. */
    kDLOpaqueHandle = 3, /**< Nothing that could be computed with. */
    kDLBfloat = 4,       /**< The upper half of a 32-bit float. */
    kDLComplex = 5, /**< Two floats; `bits` counts both. */
    kDLBool = 6,    /**< 8 bits. */
    /* Narrow floats, named by their bits of exponent (e) and of mantissa (m). "b11" is the
     * exponent's bias; "fn" has finite numbers and NaN but no infinity; "uz" has no negative zero;
     * "u" has no sign at all. */
    kDLFloat8_e3m4 = 7,
    kDLFloat8_e4m3 = 8,
    kDLFloat8_e4m3b11fnuz = 9,
    kDLFloat8_e4m3fn = 10,
    kDLFloat8_e4m3fnuz = 11,
    kDLFloat8_e5m2 = 12,
    kDLFloat8_e5m2fnuz = 13,
    kDLFloat8_e8m0fnu = 14,
    kDLFloat6_e2m3fn = 15,
    kDLFloat6_e3m2fn = 16,
    kDLFloat4_e2m1fn = 17
} DLDataTypeCode;

/** The type of an element. */
typedef struct {
    uint8_t code;   /**< A DLDataTypeCode. */
    uint8_t bits;   /**< Of one lane. */
    uint16_t lanes; /**< 1, except for vector types. */
} DLDataType;

/** A strided array in somebody's memory. The lists belong to whoever filled the struct. */
typedef struct {
    void *data;           /**< Need not be the first element: see byte_offset. NULL without any. */
    DLDevice device;      /**< Where `data` is. */
    int32_t ndim;         /**< Number of axes; kiln takes at most KILN_RANK_MAX (ERR_ARGUMENT). */
    DLDataType dtype;     /**< Of each element. */
    int64_t *shape;       /**< `ndim` extents; may be NULL where ndim is 0. */
    int64_t *strides;     /**< In elements. NULL means C-order, before version 1.2 only. */
    uint64_t byte_offset; /**< From `data` to the first element. */
} DLTensor;

/** A DLTensor with an owner, as libraries before DLPack 1.0 exchange it. */
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx; /**< The producer's; of no meaning to the consumer. */
    /** To be called once by the consumer, who must not use the struct afterwards. NULL: nothing is
     *  to be done. */
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

/** Flag: the memory must not be written. An array imported so cannot be an output (ERR_OUTPUT). */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/** Flag: the memory was copied for this struct, and nobody else has it. kiln sets it on export. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/** Flag: each element narrower than a byte takes a whole one. kiln has no such dtype. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

/** A DLTensor with an owner, since DLPack 1.0. */
typedef struct DLManagedTensorVersioned {
    DLPackVersion version; /**< Of the producer; first, and read before anything else. */
    void *manager_ctx;     /**< The producer's; of no meaning to the consumer. */
    /** As in DLManagedTensor. Its place is the same in every version. */
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags; /**< OR of DLPACK_FLAG_BITMASK_. */
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

/*
 * The exchange of Python objects by C functions, since DLPack 1.2. A library of Python publishes a
 * DLPackExchangeAPI as an attribute of its array type; consumers that find it save the calls of
 * Python functions. It is declared here so that this header and dlpack.h 1.3 declare the same.
 *
 * Each function returns 0, or -1 with a Python exception set. "NoSync" means that no stream is made
 * to wait for another: the caller asks for the producer's current stream and orders the work.
 */
/** Make a new array like `prototype`, whose data is not read. SetError reports a failure. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                            void *error_ctx,
                                            void (*SetError)(void *error_ctx, const char *kind,
                                                             const char *message));
/** Share the memory of an array object, as `__dlpack__` does. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object,
                                                     DLManagedTensorVersioned **out);
/** Describe an array object without keeping its memory alive. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
/** The stream that the library enqueues its work on now. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void **out_current_stream);
/** Make an array object of a struct, which it takes over. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor,
                                                   void **out_py_object);

/** What every version of the table begins with. */
typedef struct DLPackExchangeAPIHeader {
    DLPackVersion version;                    /**< Of this table. */
    struct DLPackExchangeAPIHeader *prev_api; /**< A table of an older version, or NULL. */
} DLPackExchangeAPIHeader;

/** The functions of one library; constant, and valid to the end of the process. */
typedef struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    DLPackManagedTensorAllocator managed_tensor_allocator;
    DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
    DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
    DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
    DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

KILN_EXTERN_C_END

#endif /* DLPACK_DLPACK_H_ */

/** Values of `stream` in kiln_dlpack_options beside a CUstream's own, as DLPack's Python protocol
 *  has them. This one is CUDA's legacy default stream, as 0 is. */
#define KILN_DLPACK_STREAM_LEGACY ((intptr_t)1)
/** CUDA's default stream of the calling thread. */
#define KILN_DLPACK_STREAM_PER_THREAD ((intptr_t)2)
/** No stream waits for another: the caller has ordered the work, or waits for it. */
#define KILN_DLPACK_STREAM_NO_SYNC ((intptr_t)-1)

/** Choices for the functions below. Zero in a field means its default. */
typedef struct kiln_dlpack_options {
    size_t struct_size; /**< sizeof(kiln_dlpack_options) as the caller compiled it. */
    intptr_t stream;    /**< CUDA: the consumer's stream. Export: it waits for the array's work.
                             Import: kiln's own stream waits for it. A CUstream, or one of the
                             values above; 0: CUDA's legacy default stream. Ignored on the cpu. */
    bool copy;          /**< Export: share a copy, which is C- or K-order and may be written. */
    bool host;          /**< Export: share a copy in host memory, whatever the array's device. */
    bool ordered_release; /**< Import, CUDA: before the deleter is called, `stream` is made to wait
                               for kiln's work, and the host does not. For owners who use the memory
                               again in the order of that stream, which must live until then. */
} kiln_dlpack_options;

#define KILN_DLPACK_OPTIONS_INIT {sizeof(kiln_dlpack_options), 0, false, false, false}

/**
 * An array as the CUDA array interface (version 3) and NumPy's `__array_interface__` describe it:
 * the fields of those dictionaries. Shape and strides stand in the struct itself.
 */
typedef struct kiln_array_interface {
    void *data;      /**< Address of the first element; may be NULL when there is none. */
    bool read_only;  /**< An array imported with it cannot be an output (ERR_OUTPUT). */
    char typestr[8]; /**< "<f4", "|b1", ...; bfloat16 is "<V2", and
                          float8_e4m3fn "<V1", float8_e5m2 "<f1": as ml_dtypes has them. */
    int rank;        /**< Number of axes, 0 to KILN_RANK_MAX. */
    int64_t shape[KILN_RANK_MAX];   /**< Extents of the first `rank` axes. */
    int64_t strides[KILN_RANK_MAX]; /**< Bytes. */
    intptr_t stream; /**< CUDA: where the array's work is enqueued, as in kiln_dlpack_options, but
                          that 0 means that there is nothing to wait for. */
} kiln_array_interface;

KILN_EXTERN_C_BEGIN

/** As KILN_DLPACK_OPTIONS_INIT, for languages without it; pass sizeof(*opts). Nothing is written
 *  beyond that size. */
KILN_API void kiln_dlpack_options_init(kiln_dlpack_options *opts, size_t struct_size);

/**
 * The dtype of DLPack's element type.
 *
 * @param out Receives it; KILN_DTYPE_NONE on failure.
 * @return ERR_DTYPE for a type that kiln has no dtype for, ERR_UNSUPPORTED for vector types,
 *         ERR_NULL.
 */
KILN_API KILN_NODISCARD kiln_status kiln_dtype_from_dlpack(DLDataType type, kiln_dtype *out,
                                                           kiln_error *err);

/**
 * Share `array`: fill a DLPack struct that keeps its memory alive until the struct's deleter is
 * called. The consumer must not call it before its stream has finished with the memory. Strides are
 * not NULL if there are axes; `byte_offset` is 0. An array that cannot be written (read-only, or
 * broadcast) has the flag READ_ONLY, a copy has IS_COPIED.
 *
 * @param opts May be NULL for defaults; read during the call only.
 * @param out  Receives the struct; NULL on failure.
 * @return KILN_OK, ERR_NULL, ERR_RELEASED, ERR_ARGUMENT, ERR_NO_MEMORY, ERR_DEVICE_MEMORY,
 *         ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_to_dlpack(kiln_array *array,
                                                         const kiln_dlpack_options *opts,
                                                         DLManagedTensorVersioned **out,
                                                         kiln_error *err);

/** The same for consumers that know DLPack before 1.0 only. Its struct cannot say that an array is
 *  read-only: ERR_UNSUPPORTED for one that was imported as such (export a copy). Other statuses are
 *  those of kiln_array_to_dlpack(). */
KILN_API KILN_NODISCARD kiln_status kiln_array_to_dlpack_unversioned(
    kiln_array *array, const kiln_dlpack_options *opts, DLManagedTensor **out, kiln_error *err);

/**
 * Use the memory of a DLPack struct as an array. An array with the flag READ_ONLY cannot be an
 * output (ERR_OUTPUT).
 *
 * kiln owns the struct from this call on, also if the call fails. It calls the deleter exactly
 * once: when the last view of the array is gone and kiln's work on it is done, or before this
 * function returns an error. A struct without a deleter is borrowed: kiln does not read it after
 * the call, and the memory must outlive the work that is enqueued on it.
 *
 * @param ctx  Its device must be able to reach the memory: kDLCPU and kDLCUDAHost for the cpu;
 *             kDLCUDA of the same number, kDLCUDAHost and kDLCUDAManaged for a CUDA device.
 * @param opts May be NULL for defaults; read during the call only. `copy` and `host` are for
 *             exports.
 * @param out  Receives the array; NULL on failure.
 * @return ERR_CONTEXT for memory of another device, ERR_DTYPE for elements that kiln has no dtype
 *         for, ERR_UNSUPPORTED for another major version and for vector types, ERR_ARGUMENT for a
 *         description that contradicts itself or data that is not aligned to its elements.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_from_dlpack(kiln_context *ctx,
                                                           DLManagedTensorVersioned *tensor,
                                                           const kiln_dlpack_options *opts,
                                                           kiln_array **out, kiln_error *err);

/** The same for a struct of DLPack before 1.0, which has no flags: the array can be written. */
KILN_API KILN_NODISCARD kiln_status kiln_array_from_dlpack_unversioned(
    kiln_context *ctx, DLManagedTensor *tensor, const kiln_dlpack_options *opts, kiln_array **out,
    kiln_error *err);

/**
 * Describe `array` as the array interfaces do. Nothing is retained: the array must outlive the use
 * of the description. `stream` is the context's own stream (0 on the cpu); this call makes it wait
 * for the array's work on other streams.
 *
 * @param interface_out Filled on success. Its lists are copies.
 * @return KILN_OK, ERR_NULL, ERR_RELEASED, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_to_interface(kiln_array *array,
                                                            kiln_array_interface *interface_out,
                                                            kiln_error *err);

/**
 * Use memory that an array interface describes. On a CUDA device kiln's own stream waits for
 * `interface->stream` unless that is 0 or KILN_DLPACK_STREAM_NO_SYNC.
 *
 * @param interface_in Read during the call only.
 * @param release      As in kiln_array_wrap(); never called when this function fails.
 * @param out          Receives the array; NULL on failure.
 * @return ERR_DTYPE for a typestr that kiln has no dtype for, a big-endian one among them;
 *         ERR_ARGUMENT for a rank out of range, and for data or strides that are not aligned to the
 *         elements.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_from_interface(
    kiln_context *ctx, const kiln_array_interface *interface_in, kiln_release_fn release,
    void *owner, kiln_array **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
