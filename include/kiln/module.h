/**
 * @file kiln/module.h
 * @brief Modules: complete kernels from CUDA C++ source, PTX, cubin or fatbin.
 *
 *     const char *source = "__global__ void axpy(const float *x, float *y, int n, float a) {\n"
 *                          "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
 *                          "    if (i < n)\n"
 *                          "        y[i] += a * x[i];\n"
 *                          "}\n";
 *     const char *signature = "raw const float32 x, raw float32 y, int32 n, float32 a";
 *     kiln_module *m = NULL;
 *     kiln_raw *axpy = NULL;
 *     kiln_module_create(ctx, source, NULL, &m, &err);
 *     kiln_module_kernel(m, "axpy", signature, &axpy, &err);
 *
 *     const int n = (int)kiln_array_size(x);
 *     kiln_raw_call_options launch = KILN_RAW_CALL_OPTIONS_INIT;
 *     launch.grid[0] = (n + 255) / 256;
 *     launch.block[0] = 256;
 *     kiln_call_with(axpy, &launch, &err, x, y, n, 2.5);
 *
 *     kiln_raw_destroy(axpy);
 *     kiln_module_destroy(m);
 *
 * A kernel's arguments are checked against the parameters of the compiled function: their number
 * and sizes, and with a signature their dtypes. For an array the address of its first element is
 * passed; its shape and strides are neither passed nor checked.
 *
 * On the cpu device a source is compiled as C++, and the kernel's function is called once for each
 * thread of the grid. Shared memory, barriers and warp functions are refused there; the message
 * names the word.
 *
 * Threads: modules and kernels are immutable to their callers: any number of threads may use them
 *          at once. The caller synchronises accesses to the variables of a module.
 * Units:   memory in bytes; grids in blocks, blocks in threads.
 * Owner:   whoever calls _create or _kernel calls _destroy. A kernel, and an array of
 *          kiln_module_symbol(), keep the module loaded. See docs/modules.md.
 */
#ifndef KILN_MODULE_H
#define KILN_MODULE_H

#include "kiln/elementwise.h"

typedef struct kiln_module kiln_module;
typedef struct kiln_raw kiln_raw; /**< A kernel of a module. */

/** Choices for kiln_module_create(). Zero in a field means its default. */
typedef struct kiln_module_options {
    size_t struct_size; /**< sizeof(kiln_module_options) as the caller compiled it. */
    const char *name;   /**< For messages; NULL: "module", or the file's name. */
    const char *const *compiler_options; /**< For the compiler, e.g. "-DN=4". Sources only. */
    size_t compiler_option_count;
    /** C++ expressions that name kernels and variables of the source, as NVRTC's name expressions:
     *  an instance of a template "axpy<float, 4>", "ns::f", an overload "(void (*)(float *))f", a
     *  variable "&ns::t". Kernels at file scope and variables that are not static need no such
     *  name. Sources only. */
    const char *const *names;
    size_t name_count;
} kiln_module_options;

#define KILN_MODULE_OPTIONS_INIT {sizeof(kiln_module_options), NULL, NULL, 0, NULL, 0}

/** One of the images that kiln_module_create_linked() links. */
typedef struct kiln_module_input {
    const void *data; /**< PTX, cubin, fatbin, LTO-IR, an object of the host, an archive of such. */
    size_t bytes;
    const char *name; /**< For messages; may be NULL. */
} kiln_module_input;

/** Options of one launch. */
typedef struct kiln_raw_call_options {
    size_t struct_size;  /**< sizeof(kiln_raw_call_options) as the caller compiled it. */
    kiln_stream *stream; /**< NULL: the context's own. */
    int64_t grid[3];     /**< Blocks on each axis. grid[0] must be set: 0 launches nothing, as for
                              arrays without elements; 0 on the others means 1. */
    int64_t block[3];    /**< Threads of a block on each axis. block[0] must be set; 0 on the others
                              means 1. */
    int64_t cluster[3];  /**< Blocks of a cluster on each axis; {0, 0, 0}: no clusters. GPUs of
                              compute capability 9.0 and later. */
    int64_t shared_bytes; /**< Dynamic shared memory of a block. More than 48 KiB raises the
                               function's limit. */
    bool fill;           /**< Launch as many blocks on axis 0 as can run at the same time on the
                              whole device; grid[0] is ignored. */
    bool cooperative;    /**< All blocks run at the same time, and may wait for each other. */
    bool programmatic;   /**< The kernel may begin before its predecessor on the stream has ended,
                              and waits for it itself (programmatic dependent launch). */
} kiln_raw_call_options;

#define KILN_RAW_CALL_OPTIONS_INIT                                                                 \
    {sizeof(kiln_raw_call_options), NULL, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, false, false, false}

/** Attributes of a kernel as the driver reports them. On the cpu device all but max_threads are 0.
 *  */
typedef struct kiln_raw_attributes {
    int max_threads;              /**< Most threads that a block may have. */
    int registers;                /**< Of a thread. */
    int static_shared_bytes;      /**< Of a block. */
    int local_bytes;              /**< Of a thread. */
    int const_bytes;              /**< Of the kernel's own constants. */
    int max_dynamic_shared_bytes; /**< The current limit for a launch; a launch that needs more
                                       raises it. */
    int binary_version;           /**< 90 for code of compute capability 9.0. */
    int ptx_version;              /**< The same for the PTX that it was compiled from. */
    int cache_mode_ca;            /**< 1: global loads may be cached in L1. */
    int preferred_shared_percent; /**< Of L1, as shared memory; -1: the driver chooses. */
} kiln_raw_attributes;

KILN_EXTERN_C_BEGIN

/**
 * Compile CUDA C++ source, or take the compiled image from the cache, and load it.
 *
 * Each module has its own variables, even if several are made from one source.
 *
 * @param ctx    Kept alive by the result.
 * @param source NUL-terminated. #includes of CuPy's headers are replaced by kiln's own text; other
 *               headers are searched as the compiler does.
 * @param opts   May be NULL for defaults; read during the call only.
 * @return ERR_NULL, ERR_NAME, ERR_ARGUMENT (a compiler option that is not allowed), ERR_COMPILE
 *         with the place in `source`, ERR_NO_NVRTC, ERR_NO_COMPILER, ERR_UNSUPPORTED for what the
 *         cpu device lacks, ERR_DRIVER, ERR_NO_MEMORY, ERR_IO.
 */
KILN_API KILN_NODISCARD kiln_status kiln_module_create(kiln_context *ctx, const char *source,
                                                       const kiln_module_options *opts,
                                                       kiln_module **out, kiln_error *err);

/**
 * Load PTX, a cubin or a fatbin from memory. The kind is recognised by the content.
 *
 * The image is not used after the call.
 * @return ERR_FORMAT for an image of another kind or one that is cut off; ERR_DRIVER, with the
 *         assembler's log, when the driver refuses it; ERR_ARGUMENT for options that only sources
 *         have; ERR_UNSUPPORTED on the cpu device; ERR_NULL, ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status
kiln_module_create_from_image(kiln_context *ctx, const void *image, size_t bytes,
                              const kiln_module_options *opts, kiln_module **out, kiln_error *err);

/**
 * Link images that were compiled for linking (nvcc -rdc=true, or -dlto for LTO-IR), and load the
 * result. It uses nvJitLink, which is loaded when it is needed. The result is not cached.
 *
 * @param inputs `count` images, which are not used after the call.
 * @param opts   Only the name is used; ERR_ARGUMENT for options that only sources have.
 * @return ERR_COMPILE with the linker's log in err->log; ERR_FORMAT for an image of another kind;
 *         ERR_DRIVER; ERR_UNSUPPORTED without nvJitLink, and on the cpu device; ERR_NULL,
 *         ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status
kiln_module_create_linked(kiln_context *ctx, const kiln_module_input *inputs, size_t count,
                          const kiln_module_options *opts, kiln_module **out, kiln_error *err);

/**
 * Make a module from a file that holds an image or CUDA C++ source. The folder of a source is
 * searched for the headers that it includes.
 * @return As the two functions above, or ERR_IO.
 */
KILN_API KILN_NODISCARD kiln_status
kiln_module_create_from_file(kiln_context *ctx, const char *path, const kiln_module_options *opts,
                             kiln_module **out, kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_module_options_init(kiln_module_options *opts, size_t struct_size);
KILN_API void kiln_raw_call_options_init(kiln_raw_call_options *opts, size_t struct_size);

/** The compiler's warnings about the module's source, which the cache keeps with the module. ""
 *  when there are none, for images and for NULL. Valid as long as the module. */
KILN_API const char *kiln_module_log(const kiln_module *m);

/** Release the handle. Accepts NULL. The module is unloaded with its last kernel and symbol. */
KILN_API void kiln_module_destroy(kiln_module *m);

/**
 * Find a kernel.
 *
 * @param name      As in the source: a kernel at file scope, or one of the options' names, blanks
 *                  aside. For an image: the symbol, or the name of a C++ function that is not
 *                  overloaded.
 * @param signature The parameters in kiln's grammar, e.g. "raw const float32 x, raw float32 y,
 *                  int32 n": `raw` for an array, `raw const` for an array that the kernel only
 *                  reads, no `raw` for a number, and `struct s` for a struct that is passed by
 *                  value. A letter as an array's type stands for a dtype that each call decides.
 *                  The number and sizes of the parameters must be those of the function. NULL: only
 *                  the sizes of the arguments are checked, at each call.
 * @return ERR_NULL, ERR_NAME when there is no such kernel, ERR_SYNTAX and other statuses of
 *         signatures, ERR_ARGUMENT_COUNT or ERR_DTYPE when the signature does not match the
 *         function, ERR_UNSUPPORTED when the function's parameters cannot be found out (for PTX and
 *         fatbins it takes a driver of CUDA 12.4), ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_module_kernel(kiln_module *m, const char *name,
                                                       const char *signature, kiln_raw **out,
                                                       kiln_error *err);

/** Release the handle. Accepts NULL. Launches that were enqueued still complete. */
KILN_API void kiln_raw_destroy(kiln_raw *kernel);

/**
 * Launch: enqueue and return.
 *
 * A number is converted to the type that the signature declares, or without a signature to the size
 * of the parameter, and must fit it. Arrays must belong to the kernel's context. A read-only array
 * is accepted for a parameter that is declared const, and by a kernel without a signature on a GPU.
 * `&array` stands for the array; nothing is allocated. A struct by value is a kiln_arg_struct() of
 * the parameter's size.
 *
 * @param args `arg_count` arguments, one for each parameter.
 * @param opts Must not be NULL: a launch has no default grid.
 * @return ERR_ARGUMENT_COUNT, ERR_DTYPE, ERR_UNBOUND, ERR_RANGE, ERR_OUTPUT, ERR_CONTEXT,
 *         ERR_RELEASED, ERR_NULL, ERR_ARGUMENT for a grid, block, cluster or shared memory that the
 *         device does not have, ERR_UNSUPPORTED, ERR_DRIVER, ERR_FAULT or ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_raw_run(kiln_raw *kernel, const kiln_arg *args,
                                                 size_t arg_count,
                                                 const kiln_raw_call_options *opts,
                                                 kiln_error *err);

/**
 * Do everything but the launch once; kiln_launch_run() then launches at the cost of the driver's
 * own call. The result keeps the arrays and the module. kiln_launch_set() changes arguments; `opts`
 * cannot be changed afterwards.
 * @return As kiln_raw_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_raw_prepare(kiln_raw *kernel, const kiln_arg *args,
                                                     size_t arg_count,
                                                     const kiln_raw_call_options *opts,
                                                     kiln_launch **out, kiln_error *err);

/** Attributes of the kernel. */
KILN_API KILN_NODISCARD kiln_status kiln_raw_get_attributes(kiln_raw *kernel,
                                                            kiln_raw_attributes *out,
                                                            kiln_error *err);

/** The number of blocks of such a launch that can run at the same time on the whole device, as
 *  `fill` uses it. */
KILN_API KILN_NODISCARD kiln_status kiln_raw_occupancy(kiln_raw *kernel,
                                                       const kiln_raw_call_options *opts,
                                                       int64_t *blocks_out, kiln_error *err);

/**
 * A variable of the module (`__device__`, `__constant__` or `__managed__`) as an array of one axis
 * over the variable's own memory. The array keeps the module loaded.
 *
 * @param name  As in the source, or one of the options' names, with or without its '&'.
 * @param dtype Of its elements.
 * @return ERR_NAME when there is no such variable, ERR_DTYPE when its size is not a multiple of the
 *         element's, ERR_NULL, ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_module_symbol(kiln_module *m, const char *name,
                                                       kiln_dtype dtype, kiln_array **out,
                                                       kiln_error *err);

KILN_EXTERN_C_END

#endif
