/*
 * interface.c - the CUDA array interface and NumPy's, as data.
 *
 * Their element types are NumPy's type strings: byte order ('<', '>', '|' for one byte, '=' for the
 * machine's), a letter for the kind, the bytes of an element.
 */
#include "interop/interop.h"

/* The type strings without the byte order. */
static const char *const codes[KILN_DTYPE_COUNT] = {
#define NPY_CODE(name, value, text, size, kind, ctype, code) [value] = code,
    KILN_DTYPE_MAP(NPY_CODE)
#undef NPY_CODE
};

kiln_status kiln_array_to_interface(kiln_array *array, kiln_array_interface *interface_out,
                                    kiln_error *err)
{
    kiln_array_interface *const to = interface_out;

    if (to == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "interface_out is NULL");
    memset(to, 0, sizeof *to);
    KILN_CHECK(kiln__array_check(array, array != NULL ? array->ctx : NULL, "array", err));
    void *const native = kiln_stream_native(array->ctx, NULL);
    KILN_CHECK(kiln__foreign_order(array, (intptr_t)native, err));
    /* ml_dtypes gives its types of one byte an order. */
    const bool plain = kiln_dtype_size(array->dtype) == 1 && !kiln__is_float8(array->dtype);
    snprintf(to->typestr, sizeof to->typestr, "%c%s", plain ? '|' : '<', codes[array->dtype]);
    to->data = array->data;
    to->read_only = kiln__array_unwritable(array) != NULL;
    to->rank = array->rank;
    to->stream = (intptr_t)native;
    for (int axis = 0; axis < array->rank; axis++) {
        to->shape[axis] = array->shape[axis];
        to->strides[axis] = array->strides[axis];
    }
    return KILN_OK;
}

static kiln_status dtype_from(const char *typestr, kiln_dtype *out, kiln_error *err)
{
    const bool ordered = typestr[0] == '<' || typestr[0] == '|' || typestr[0] == '=';

    for (*out = KILN_DTYPE_NONE + 1; ordered && *out < KILN_DTYPE_COUNT; ++*out)
        if (strcmp(codes[*out], typestr + 1) == 0)
            return KILN_OK;
    return kiln__fail(err, KILN_ERR_DTYPE, "kiln has no dtype for elements of type \"%.7s\"%s",
                      typestr, typestr[0] == '>' ? ", which are big-endian" : "");
}

kiln_status kiln_array_from_interface(kiln_context *ctx, const kiln_array_interface *interface_in,
                                      kiln_release_fn release, void *owner, kiln_array **out,
                                      kiln_error *err)
{
    const kiln_array_interface *const from = interface_in;
    kiln_dtype dtype = KILN_DTYPE_NONE;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(interface_in, err);
    if (memchr(from->typestr, '\0', sizeof from->typestr) == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "the type string has no end");
    if (from->rank < 0 || from->rank > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the array has %d axes, not 0 to %d", from->rank,
                          KILN_RANK_MAX);
    KILN_CHECK(dtype_from(from->typestr, &dtype, err));
    const kiln__foreign foreign = {.dtype = dtype,
                                   .rank = from->rank,
                                   .shape = from->shape,
                                   .strides = from->strides,
                                   .data = from->data,
                                   .read_only = from->read_only,
                                   .stream = from->stream != 0 ? from->stream
                                                               : KILN_DLPACK_STREAM_NO_SYNC,
                                   .release = release,
                                   .owner = owner};
    return kiln__foreign_wrap(ctx, &foreign, out, err);
}
