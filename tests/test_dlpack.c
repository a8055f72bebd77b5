/*
 * test_dlpack.c - kiln/dlpack.h: DLPack both ways, the array interfaces, read-only arrays.
 *
 * The other library is played by this file: it fills structs over memory of its own, and counts how
 * often its deleters are called. Sizes and offsets of the structs are those of DLPack's ABI on a
 * machine of 64 bits, worked out by hand from the order of their fields.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "test_env.h"

static atomic_int deleted; /* calls of the deleters below */

static void count_versioned(DLManagedTensorVersioned *self)
{
    (void)self;
    deleted++;
}

static void count_plain(DLManagedTensor *self)
{
    (void)self;
    deleted++;
}

static void count_release(void *owner, void *data)
{
    (void)owner;
    (void)data;
    deleted++;
}

/* Memory of "another library" on the test's device, of the values 0, 1, 2, ... as float32. */
typedef struct foreign {
    kiln_array *memory;
    int64_t shape[KILN_RANK_MAX + 1], strides[KILN_RANK_MAX + 1];
    DLManagedTensorVersioned tensor;
} foreign;

static void foreign_make(test_env *t, foreign *f, int64_t count)
{
    memset(f, 0, sizeof *f);
    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT32, 0, (double)count, 1, &f->memory, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    f->shape[0] = count;
    f->strides[0] = 1;
    f->tensor = (DLManagedTensorVersioned){
        .version = {1, 0},
        .manager_ctx = f,
        .deleter = count_versioned,
        .dl_tensor = {.data = kiln_array_data(f->memory),
                      .device = {t->cuda ? kDLCUDA : kDLCPU, kiln_context_device(t->ctx)->ordinal},
                      .ndim = 1,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = f->shape,
                      .strides = f->strides}};
    deleted = 0;
}

static void foreign_drop(foreign *f)
{
    kiln_array_release(f->memory);
}

/* ---- the binary interface ---- */

static void test_dlpack__structs_have_dlpacks_layout(void **state)
{
    (void)state;
    assert_int_equal(sizeof(DLTensor), 48);
    assert_int_equal(offsetof(DLTensor, device), 8);
    assert_int_equal(offsetof(DLTensor, ndim), 16);
    assert_int_equal(offsetof(DLTensor, dtype), 20);
    assert_int_equal(offsetof(DLTensor, shape), 24);
    assert_int_equal(offsetof(DLTensor, strides), 32);
    assert_int_equal(offsetof(DLTensor, byte_offset), 40);
    assert_int_equal(sizeof(DLManagedTensor), 64);
    assert_int_equal(offsetof(DLManagedTensor, manager_ctx), 48);
    assert_int_equal(offsetof(DLManagedTensor, deleter), 56);
    assert_int_equal(sizeof(DLManagedTensorVersioned), 80);
    assert_int_equal(offsetof(DLManagedTensorVersioned, manager_ctx), 8);
    assert_int_equal(offsetof(DLManagedTensorVersioned, deleter), 16);
    assert_int_equal(offsetof(DLManagedTensorVersioned, flags), 24);
    assert_int_equal(offsetof(DLManagedTensorVersioned, dl_tensor), 32);
    assert_int_equal(sizeof(DLPackExchangeAPI), 56);
}

/* ---- export ---- */

static void test_dlpack__export_describes_every_dtype(void **state)
{
    test_env *t = *state;
    static const struct {
        kiln_dtype dtype;
        uint8_t code, bits;
        const char *typestr;
    } rows[] = {{KILN_BOOL, 6, 8, "|b1"},          {KILN_INT8, 0, 8, "|i1"},
                {KILN_INT16, 0, 16, "<i2"},        {KILN_INT32, 0, 32, "<i4"},
                {KILN_INT64, 0, 64, "<i8"},        {KILN_UINT8, 1, 8, "|u1"},
                {KILN_UINT16, 1, 16, "<u2"},       {KILN_UINT32, 1, 32, "<u4"},
                {KILN_UINT64, 1, 64, "<u8"},       {KILN_FLOAT16, 2, 16, "<f2"},
                {KILN_BFLOAT16, 4, 16, "<V2"},     {KILN_FLOAT32, 2, 32, "<f4"},
                {KILN_FLOAT64, 2, 64, "<f8"},      {KILN_COMPLEX64, 5, 64, "<c8"},
                {KILN_COMPLEX128, 5, 128, "<c16"}, {KILN_FLOAT8_E4M3FN, 10, 8, "<V1"},
                {KILN_FLOAT8_E5M2, 12, 8, "<f1"}};

    for (size_t k = 0; k < COUNT(rows); k++) {
        kiln_array *x = NULL, *y = NULL, *z = NULL;
        DLManagedTensorVersioned *tensor = NULL;
        kiln_array_interface shown;
        OK(t, kiln_array_zeros(t->ctx, rows[k].dtype, 2, (int64_t[]){2, 3}, &x, &t->err));
        OK(t, kiln_array_to_interface(x, &shown, &t->err));
        assert_string_equal(shown.typestr, rows[k].typestr);
        OK(t, kiln_array_from_interface(t->ctx, &shown, NULL, NULL, &z, &t->err));
        assert_int_equal(kiln_array_dtype(z), rows[k].dtype);
        assert_ptr_equal(kiln_array_data(z), kiln_array_data(x));
        kiln_array_release(z);
        OK(t, kiln_array_to_dlpack(x, NULL, &tensor, &t->err));
        assert_int_equal(tensor->version.major, 1);
        assert_int_equal(tensor->flags, 0);
        assert_int_equal(tensor->dl_tensor.dtype.code, rows[k].code);
        assert_int_equal(tensor->dl_tensor.dtype.bits, rows[k].bits);
        assert_int_equal(tensor->dl_tensor.dtype.lanes, 1);
        kiln_dtype dtype = KILN_DTYPE_NONE;
        OK(t, kiln_dtype_from_dlpack((DLDataType){rows[k].code, rows[k].bits, 1}, &dtype, &t->err));
        assert_int_equal(dtype, rows[k].dtype);
        assert_int_equal(tensor->dl_tensor.device.device_type, t->cuda ? kDLCUDA : kDLCPU);
        assert_ptr_equal(tensor->dl_tensor.data, kiln_array_data(x));
        assert_int_equal(tensor->dl_tensor.byte_offset, 0);
        OK(t, kiln_array_from_dlpack(t->ctx, tensor, NULL, &y, &t->err));
        assert_int_equal(kiln_array_dtype(y), rows[k].dtype);
        assert_ptr_equal(kiln_array_data(y), kiln_array_data(x));
        kiln_array_release(x);
        kiln_array_release(y); /* only now the memory goes: the fixture counts */
    }
}

/* Any view comes back with the same geometry, through both structs and through an interface. */
static void test_dlpack__types_without_a_dtype_are_refused(void **state)
{
    test_env *t = *state;
    static const struct {
        DLDataType type;
        kiln_status status;
    } rows[] = {
        {{kDLFloat, 8, 1}, KILN_ERR_DTYPE},         {{kDLInt, 4, 1}, KILN_ERR_DTYPE},
        {{kDLBfloat, 32, 1}, KILN_ERR_DTYPE},       {{kDLComplex, 32, 1}, KILN_ERR_DTYPE},
        {{kDLBool, 1, 1}, KILN_ERR_DTYPE},          {{kDLFloat8_e5m2fnuz, 8, 1}, KILN_ERR_DTYPE},
        {{kDLOpaqueHandle, 64, 1}, KILN_ERR_DTYPE}, {{255, 255, 1}, KILN_ERR_DTYPE},
        {{kDLFloat, 32, 4}, KILN_ERR_UNSUPPORTED},  {{kDLFloat, 32, 0}, KILN_ERR_UNSUPPORTED}};

    for (size_t k = 0; k < COUNT(rows); k++) {
        kiln_dtype dtype = KILN_INT8;
        assert_int_equal(kiln_dtype_from_dlpack(rows[k].type, &dtype, &t->err), rows[k].status);
        assert_int_equal(dtype, KILN_DTYPE_NONE);
        kiln_error_clear(&t->err);
    }
    assert_int_equal(kiln_dtype_from_dlpack(rows[0].type, NULL, &t->err), KILN_ERR_NULL);
    kiln_error_clear(&t->err);
}

static void test_dlpack__random_views_come_back_as_they_were(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < 300; round++) {
        const int rank = (int)test_random_below(t, 5);
        int64_t shape[4];
        kiln_array *x = NULL, *view = NULL, *back = NULL;
        for (int axis = 0; axis < rank; axis++)
            shape[axis] = (int64_t)test_random_below(t, 5);
        OK(t, kiln_array_zeros(t->ctx, round % 2 ? KILN_COMPLEX128 : KILN_INT16, rank, shape, &x,
                               &t->err));
        view = kiln_array_retain(x);
        for (int axis = 0; axis < rank; axis++) {
            const int64_t steps[] = {1, 2, -1, -2};
            kiln_array *next = NULL;
            OK(t, kiln_array_slice(view, axis, KILN_SLICE_OPEN, KILN_SLICE_OPEN,
                                   steps[test_random_below(t, 4)], &next, &t->err));
            kiln_array_release(view);
            view = next;
        }
        if (round % 3 == 0) {
            DLManagedTensor *tensor = NULL;
            OK(t, kiln_array_to_dlpack_unversioned(view, NULL, &tensor, &t->err));
            OK(t, kiln_array_from_dlpack_unversioned(t->ctx, tensor, NULL, &back, &t->err));
        } else if (round % 3 == 1) {
            DLManagedTensorVersioned *tensor = NULL;
            OK(t, kiln_array_to_dlpack(view, NULL, &tensor, &t->err));
            OK(t, kiln_array_from_dlpack(t->ctx, tensor, NULL, &back, &t->err));
        } else {
            kiln_array_interface shown;
            OK(t, kiln_array_to_interface(view, &shown, &t->err));
            deleted = 0;
            OK(t, kiln_array_from_interface(t->ctx, &shown, count_release, NULL, &back, &t->err));
        }
        assert_ptr_equal(kiln_array_data(back), kiln_array_data(view));
        assert_int_equal(kiln_array_rank(back), rank);
        for (int axis = 0; axis < rank; axis++) {
            assert_int_equal(kiln_array_shape(back)[axis], kiln_array_shape(view)[axis]);
            assert_int_equal(kiln_array_strides(back)[axis], kiln_array_strides(view)[axis]);
        }
        kiln_array_release(back);
        assert_true(round % 3 != 2 || deleted == 1);
        kiln_array_release(view);
        kiln_array_release(x);
    }
}

/* Strides are a list wherever there are axes, also of arrays without elements. */
static void test_dlpack__arrays_of_size_0_have_strides(void **state)
{
    test_env *t = *state;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;

    for (int round = 0; round < 4; round++) {
        const int rank = 1 + round % 2 * 2;
        const int64_t shape[] = {0, 2, 3};
        kiln_array *x = NULL;
        DLManagedTensorVersioned *tensor = NULL;
        DLManagedTensor *plain = NULL;
        o.host = round >= 2;
        OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, rank, shape, &x, &t->err));
        OK(t, kiln_array_to_dlpack(x, &o, &tensor, &t->err));
        OK(t, kiln_array_to_dlpack_unversioned(x, &o, &plain, &t->err));
        assert_non_null(tensor->dl_tensor.strides);
        assert_non_null(plain->dl_tensor.strides);
        assert_int_equal(tensor->dl_tensor.ndim, rank);
        for (int axis = 0; axis < rank; axis++) {
            assert_int_equal(tensor->dl_tensor.shape[axis], shape[axis]);
            assert_int_equal(plain->dl_tensor.shape[axis], shape[axis]);
        }
        tensor->deleter(tensor);
        plain->deleter(plain);
        kiln_array_release(x);
    }
}

static void test_dlpack__copies_are_marked_and_independent(void **state)
{
    test_env *t = *state;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    kiln_array *x = NULL, *view = NULL;
    DLManagedTensorVersioned *tensor = NULL;

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT32, 0, 6, 1, &x, &t->err));
    OK(t, kiln_array_flip(x, 0, &view, &t->err));
    o.copy = true;
    OK(t, kiln_array_to_dlpack(view, &o, &tensor, &t->err));
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_ptr_not_equal(tensor->dl_tensor.data, kiln_array_data(view));
    tensor->deleter(tensor);
    o.copy = false;
    o.host = true;
    OK(t, kiln_array_to_dlpack(view, &o, &tensor, &t->err));
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    assert_int_equal(tensor->dl_tensor.device.device_type, kDLCPU);
    assert_int_equal(tensor->dl_tensor.strides[0], 1);
    for (int i = 0; i < 6; i++)
        assert_true(((const float *)tensor->dl_tensor.data)[i] == (float)(5 - i));
    tensor->deleter(tensor);
    kiln_array_release(x);
    kiln_array_release(view);
    kiln_dlpack_options_init(&o, sizeof o);
    assert_true(o.struct_size == sizeof o && !o.copy && !o.host && o.stream == 0);
}

/* ---- import ---- */

static void test_dlpack__kernels_run_over_foreign_memory(void **state)
{
    test_env *t = *state;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    const intptr_t streams[] = {0, KILN_DLPACK_STREAM_LEGACY, KILN_DLPACK_STREAM_PER_THREAD,
                                KILN_DLPACK_STREAM_NO_SYNC,
                                (intptr_t)kiln_stream_native(t->ctx, NULL)};
    foreign f;

    for (size_t s = 0; s < COUNT(streams); s++) {
        kiln_array *x = NULL, *z = NULL;
        float got[3];
        foreign_make(t, &f, 12);
        o.stream = streams[s];
        /* Elements 10, 7, 4: an offset of bytes and a negative stride. */
        f.shape[0] = 3;
        f.strides[0] = -3;
        f.tensor.dl_tensor.byte_offset = 40;
        OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, &o, &x, &t->err));
        OK(t, kiln_array_add(x, x, &z, &t->err));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        assert_true(got[0] == 20 && got[1] == 14 && got[2] == 8);
        OK(t, kiln_array_assign(x, z, &t->err));
        assert_int_equal(deleted, 0);
        kiln_array_release(x);
        assert_int_equal(deleted, 1);
        float memory[12];
        OK(t, kiln_array_to_host(f.memory, memory, sizeof memory, NULL, &t->err));
        for (int i = 0; i < 12; i++)
            assert_true(memory[i] == (float)(i == 10 || i == 7 || i == 4 ? 2 * i : i));
        kiln_array_release(z);
        foreign_drop(&f);
    }
}

static void test_dlpack__read_only_arrays_are_never_written(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *view = NULL, *y = NULL, *z = NULL;
    kiln_elementwise *twice = NULL, *raw = NULL;
    DLManagedTensor *plain = NULL;
    DLManagedTensorVersioned *tensor = NULL;
    foreign f;

    foreign_make(t, &f, 6);
    f.tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err));
    OK(t, kiln_array_flip(x, 0, &view, &t->err));
    assert_true(kiln_array_is_read_only(x) && kiln_array_is_read_only(view));
    assert_false(kiln_array_is_read_only(f.memory) || kiln_array_is_read_only(NULL));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, f.shape, &y, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + x", NULL, &twice, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "raw T z", "z[i] = x", NULL, &raw, &t->err));
    /* First a call of the same layout that is fine, so that its recipe is known. */
    OK(t, kiln_call(twice, &t->err, y, f.memory));
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(twice, &t->err, y, x), "`z`", "read-only");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(twice, &t->err, y, view), "read-only");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(raw, &t->err, y, x), "`z`", "read-only");
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_assign(view, y, &t->err), "read-only");
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_add(y, y, &x, &t->err), "read-only");
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_scan(KILN_SCAN_CUMSUM, y, NULL, 0, &x, &t->err),
          "read-only");
    FAILS(t, KILN_ERR_UNSUPPORTED, kiln_array_to_dlpack_unversioned(x, NULL, &plain, &t->err),
          "read-only", "copy");
    OK(t, kiln_array_to_dlpack(x, NULL, &tensor, &t->err));
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    tensor->deleter(tensor);
    OK(t, kiln_call(twice, &t->err, x, &z)); /* reading is fine */
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    assert_int_equal(deleted, 0);
    kiln_array_release(view);
    assert_int_equal(deleted, 1);
    kiln_elementwise_destroy(twice);
    kiln_elementwise_destroy(raw);
    foreign_drop(&f);
}

/* The flag of the interfaces both ways; a broadcast view counts as read-only in both protocols. */
static void test_dlpack__interfaces_say_what_is_read_only(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL, *wide = NULL;
    DLManagedTensorVersioned *tensor = NULL;
    kiln_array_interface shown;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, (int64_t[]){1}, &x, &t->err));
    OK(t, kiln_array_to_interface(x, &shown, &t->err));
    assert_false(shown.read_only);
    shown.read_only = true;
    OK(t, kiln_array_from_interface(t->ctx, &shown, NULL, NULL, &y, &t->err));
    assert_true(kiln_array_is_read_only(y));
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_assign(y, x, &t->err), "read-only");
    OK(t, kiln_array_to_interface(y, &shown, &t->err));
    assert_true(shown.read_only);
    OK(t, kiln_array_broadcast_to(x, 1, (int64_t[]){4}, &wide, &t->err));
    OK(t, kiln_array_to_interface(wide, &shown, &t->err));
    assert_true(shown.read_only);
    OK(t, kiln_array_to_dlpack(wide, NULL, &tensor, &t->err));
    assert_int_equal(tensor->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    tensor->deleter(tensor);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(wide);
}

static void test_dlpack__what_interfaces_cannot_describe(void **state)
{
    test_env *t = *state;
    const int ranks[] = {-1, KILN_RANK_MAX + 1};
    kiln_array *x = NULL, *y = NULL;
    kiln_array_interface sound, bad;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, (int64_t[]){4}, &x, &t->err));
    OK(t, kiln_array_to_interface(x, &sound, &t->err));
    deleted = 0;
    for (size_t k = 0; k < COUNT(ranks); k++) {
        bad = sound;
        bad.rank = ranks[k];
        FAILS(t, KILN_ERR_ARGUMENT,
              kiln_array_from_interface(t->ctx, &bad, count_release, NULL, &y, &t->err), "axes");
    }
    bad = sound;
    bad.data = (char *)bad.data + 1;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_from_interface(t->ctx, &bad, count_release, NULL, &y, &t->err), "multiple");
    bad = sound;
    bad.strides[0] = 3;
    bad.shape[0] = 2;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_from_interface(t->ctx, &bad, count_release, NULL, &y, &t->err), "multiple");
    assert_null(y);
    assert_int_equal(deleted, 0); /* the caller keeps what was refused */
    kiln_array_release(x);
}

enum { DEVICE, NUMBER, CODE, BITS, LANES, NDIM, SHAPE, STRIDE, NO_SHAPE, DATA, OFFSET, MAJOR };

/* Change one field of a sound tensor. */
static void spoil(foreign *f, int field, int64_t value)
{
    DLTensor *d = &f->tensor.dl_tensor;

    d->device.device_type = field == DEVICE ? (DLDeviceType)value : d->device.device_type;
    if (field == NUMBER)
        d->device = (DLDevice){kDLCUDA, (int32_t)value};
    d->dtype.code = field == CODE ? (uint8_t)value : d->dtype.code;
    d->dtype.bits = field == BITS ? (uint8_t)value : d->dtype.bits;
    d->dtype.lanes = field == LANES ? (uint16_t)value : d->dtype.lanes;
    d->ndim = field == NDIM ? (int32_t)value : d->ndim;
    d->shape = field == NO_SHAPE ? NULL : d->shape;
    d->data = field == DATA ? NULL : d->data;
    d->byte_offset = field == OFFSET ? (uint64_t)value : d->byte_offset;
    f->shape[0] = field == SHAPE ? value : f->shape[0];
    f->strides[0] = field == STRIDE ? value : f->strides[0];
    f->tensor.version.major = field == MAJOR ? (uint32_t)value : f->tensor.version.major;
}

/* Every refusal calls the deleter once. */
static void test_dlpack__what_cannot_be_imported_is_named(void **state)
{
    test_env *t = *state;
    const struct {
        int field;
        int64_t value;
        kiln_status status;
        const char *says;
    } rows[] = {
        {DEVICE, t->cuda ? kDLCPU : kDLCUDA, KILN_ERR_CONTEXT, t->cuda ? "host memory" : "cuda:"},
        {NUMBER, 7, KILN_ERR_CONTEXT, "cuda:7"}, /* another GPU */
        {DEVICE, kDLMetal, KILN_ERR_CONTEXT, "type 8"},
        {DEVICE, 77, KILN_ERR_CONTEXT, "type 77"},
        {CODE, kDLOpaqueHandle, KILN_ERR_DTYPE, "opaque handle"},
        {CODE, kDLFloat8_e4m3, KILN_ERR_DTYPE, "float8_e4m3 "},
        {CODE, kDLFloat8_e4m3fnuz, KILN_ERR_DTYPE, "float8_e4m3fnuz"},
        {CODE, 200, KILN_ERR_DTYPE, "code 200"},
        {BITS, 4, KILN_ERR_DTYPE, "4 bits"},
        {BITS, 0, KILN_ERR_DTYPE, "0 bits"},
        {LANES, 4, KILN_ERR_UNSUPPORTED, "4 lanes"},
        {LANES, 0, KILN_ERR_UNSUPPORTED, "0 lanes"},
        {NDIM, -1, KILN_ERR_ARGUMENT, "-1 axes"},
        {NDIM, 33, KILN_ERR_ARGUMENT, "33 axes"},
        {NDIM, INT32_MAX, KILN_ERR_ARGUMENT, "axes"},
        {SHAPE, -1, KILN_ERR_ARGUMENT, "-1"},
        {SHAPE, INT64_MAX, KILN_ERR_OVERFLOW, ""},
        {STRIDE, INT64_MAX, KILN_ERR_OVERFLOW, "stride"},
        {STRIDE, INT64_MAX / 8, KILN_ERR_OVERFLOW, "stride"},
        {STRIDE, INT64_MIN, KILN_ERR_OVERFLOW, "stride"},
        {NO_SHAPE, 0, KILN_ERR_ARGUMENT, "no shape"},
        {DATA, 0, KILN_ERR_NULL, "data is NULL"},
        {OFFSET, 2, KILN_ERR_ARGUMENT, "multiple"},
        {OFFSET, -1, KILN_ERR_OVERFLOW, "byte_offset"},
        {MAJOR, 2, KILN_ERR_UNSUPPORTED, "DLPack 2.0"},
    };

    for (size_t k = 0; k < COUNT(rows); k++) {
        kiln_array *x = (kiln_array *)&deleted; /* must become NULL */
        foreign f;
        foreign_make(t, &f, 6);
        spoil(&f, rows[k].field, rows[k].value);
        FAILS(t, rows[k].status, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err),
              rows[k].says);
        assert_null(x);
        CHECK(deleted == 1, "row %zu: the deleter was called %d times", k, (int)deleted);
        if (rows[k].field != MAJOR) {
            DLManagedTensor plain = {f.tensor.dl_tensor, NULL, count_plain};
            FAILS(t, rows[k].status,
                  kiln_array_from_dlpack_unversioned(t->ctx, &plain, NULL, &x, &t->err),
                  rows[k].says);
            CHECK(deleted == 2, "row %zu: the deleter was called %d times", k, (int)deleted - 1);
        }
        foreign_drop(&f);
    }
}

/* The struct of another version has only what stands before `flags` in common with this one: the
 * rest is not even allocated, so that a sanitizer sees any other read. */
static void test_dlpack__of_another_version_only_the_deleter_is_called(void **state)
{
    test_env *t = *state;
    const size_t common = offsetof(DLManagedTensorVersioned, flags);
    kiln_array *x = NULL;
    foreign f;

    foreign_make(t, &f, 6);
    f.tensor.version = (DLPackVersion){2, 7};
    void *part = malloc(common);
    assert_non_null(part);
    memcpy(part, &f.tensor, common);
    FAILS(t, KILN_ERR_UNSUPPORTED, kiln_array_from_dlpack(t->ctx, part, NULL, &x, &t->err),
          "DLPack 2.7");
    assert_null(x);
    assert_int_equal(deleted, 1);
    free(part);
    foreign_drop(&f);
}

/* Memory that this device reaches though it is not its own kind. */
static void test_dlpack__host_and_managed_memory_of_cuda_is_taken(void **state)
{
    test_env *t = *state;
    const DLDeviceType types[] = {kDLCUDAHost, kDLCUDAManaged};

    for (size_t k = 0; k < (t->cuda ? COUNT(types) : 1); k++) {
        kiln_array *x = NULL;
        foreign f;

        foreign_make(t, &f, 6);
        f.tensor.dl_tensor.device.device_type = types[k];
        OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err));
        assert_ptr_equal(kiln_array_data(x), kiln_array_data(f.memory));
        kiln_array_release(x);
        assert_int_equal(deleted, 1);
        foreign_drop(&f);
    }
}

/* Each allocation of an exchange fails once: the deleter is called whatever comes of it, and nothing
 * is kept. */
static void test_dlpack__no_memory_frees_what_was_given(void **state)
{
    test_env *t = *state;
    kiln_array_interface shown;
    foreign f;

    foreign_make(t, &f, 6);
    OK(t, kiln_array_to_interface(f.memory, &shown, &t->err));
    for (int what = 0; what < 5; what++) {
        bool failed = true;
        for (size_t nth = 0; failed; nth++) {
            DLManagedTensor plain = {f.tensor.dl_tensor, NULL, count_plain}, *plain_out = NULL;
            DLManagedTensorVersioned *out = NULL;
            const size_t live = kiln__test_alloc_live();
            kiln_array *x = NULL;
            kiln_status status;

            assert_true(nth < 100);
            deleted = 0;
            kiln__test_alloc_fail_at(nth);
            status =
                what == 0   ? kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err)
                : what == 1 ? kiln_array_from_dlpack_unversioned(t->ctx, &plain, NULL, &x, &t->err)
                : what == 2
                    ? kiln_array_from_interface(t->ctx, &shown, count_release, NULL, &x, &t->err)
                : what == 3 ? kiln_array_to_dlpack(f.memory, NULL, &out, &t->err)
                            : kiln_array_to_dlpack_unversioned(f.memory, NULL, &plain_out, &t->err);
            kiln__test_alloc_fail_at(SIZE_MAX);
            failed = status != KILN_OK;
            assert_true(!failed || status == KILN_ERR_NO_MEMORY);
            assert_int_equal(deleted,
                             failed && what < 2 ? 1 : 0); /* an interface's owner keeps it */
            kiln_error_clear(&t->err);
            if (failed) {
                assert_true(x == NULL && out == NULL && plain_out == NULL);
                assert_int_equal(kiln__test_alloc_live(), live);
            }
            kiln_array_release(x);
            if (out != NULL)
                out->deleter(out);
            if (plain_out != NULL)
                plain_out->deleter(plain_out);
            assert_int_equal(deleted, what < 3 && (what < 2 || !failed) ? 1 : 0);
        }
    }
    foreign_drop(&f);
}

static void test_dlpack__odd_but_sound_tensors_are_taken(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL;
    foreign f;

    /* Before DLPack 1.2 strides may be NULL; a deleter may be NULL always. */
    foreign_make(t, &f, 6);
    f.tensor.dl_tensor.strides = NULL;
    f.tensor.dl_tensor.ndim = 2;
    f.shape[0] = 2;
    f.shape[1] = 3;
    f.tensor.deleter = NULL;
    OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err));
    assert_int_equal(kiln_array_strides(x)[0], 12);
    assert_true(kiln_array_is_contiguous(x));
    kiln_array_release(x);
    foreign_drop(&f);
    /* Without a deleter the struct is borrowed: after the call it may be anything. */
    foreign_make(t, &f, 6);
    f.tensor.deleter = NULL;
    OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err));
    f.tensor.deleter = count_versioned;
    kiln_array_release(x);
    assert_int_equal(deleted, 0);
    foreign_drop(&f);
    /* No element, no memory. */
    foreign_make(t, &f, 6);
    f.shape[0] = 0;
    f.tensor.dl_tensor.data = NULL;
    OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err));
    assert_int_equal(kiln_array_size(x), 0);
    kiln_array_release(x);
    assert_int_equal(deleted, 1);
    foreign_drop(&f);
    /* A single element: 0 axes, and whatever strides it has. */
    foreign_make(t, &f, 6);
    f.tensor.dl_tensor.ndim = 0;
    f.tensor.dl_tensor.shape = f.tensor.dl_tensor.strides = NULL;
    OK(t, kiln_array_from_dlpack(t->ctx, &f.tensor, NULL, &x, &t->err));
    assert_int_equal(kiln_array_rank(x), 0);
    kiln_array_release(x);
    assert_int_equal(deleted, 1);
    foreign_drop(&f);
}

static void test_dlpack__arguments_that_are_missing_or_wrong(void **state)
{
    test_env *t = *state;
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    DLManagedTensorVersioned *tensor = NULL;
    DLManagedTensor plain = {.deleter = count_plain}, *plain_out = NULL;
    kiln_array_interface shown;
    kiln_array *x = NULL, *y = NULL;
    foreign f;

    foreign_make(t, &f, 4);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 0, NULL, &x, &t->err));
    FAILS(t, KILN_ERR_NULL, kiln_array_to_dlpack(NULL, NULL, &tensor, &t->err), "array");
    FAILS(t, KILN_ERR_NULL, kiln_array_to_dlpack(x, NULL, NULL, &t->err), "out");
    FAILS(t, KILN_ERR_NULL, kiln_array_to_dlpack_unversioned(x, NULL, NULL, &t->err), "out");
    FAILS(t, KILN_ERR_NULL, kiln_array_to_dlpack_unversioned(NULL, NULL, &plain_out, &t->err),
          "array");
    FAILS(t, KILN_ERR_NULL, kiln_array_from_dlpack(t->ctx, NULL, NULL, &y, &t->err), "tensor");
    FAILS(t, KILN_ERR_NULL, kiln_array_from_dlpack(NULL, &f.tensor, NULL, &y, &t->err), "ctx");
    assert_int_equal(deleted, 1);
    FAILS(t, KILN_ERR_NULL, kiln_array_from_dlpack_unversioned(NULL, &plain, NULL, &y, &t->err),
          "ctx");
    assert_int_equal(deleted, 2);
    FAILS(t, KILN_ERR_NULL, kiln_array_to_interface(x, NULL, &t->err), "interface_out");
    FAILS(t, KILN_ERR_NULL, kiln_array_from_interface(t->ctx, NULL, NULL, NULL, &y, &t->err),
          "interface_in");
    o.struct_size = 2;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_to_dlpack(x, &o, &tensor, &t->err),
          "kiln_dlpack_options");
    assert_null(tensor);
    OK(t, kiln_array_to_interface(x, &shown, &t->err));
    memcpy(shown.typestr, ">i4", 4);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_from_interface(t->ctx, &shown, NULL, NULL, &y, &t->err),
          "big-endian");
    memcpy(shown.typestr, "<M8", 4);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_from_interface(t->ctx, &shown, NULL, NULL, &y, &t->err),
          "<M8");
    memset(shown.typestr, 'x', sizeof shown.typestr);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_from_interface(t->ctx, &shown, NULL, NULL, &y, &t->err),
          "no end");
    kiln_array_release(x);
    foreign_drop(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_dlpack__structs_have_dlpacks_layout),
        TEST(test_dlpack__export_describes_every_dtype),
        TEST(test_dlpack__types_without_a_dtype_are_refused),
        TEST(test_dlpack__random_views_come_back_as_they_were),
        TEST(test_dlpack__arrays_of_size_0_have_strides),
        TEST(test_dlpack__copies_are_marked_and_independent),
        TEST(test_dlpack__kernels_run_over_foreign_memory),
        TEST(test_dlpack__read_only_arrays_are_never_written),
        TEST(test_dlpack__interfaces_say_what_is_read_only),
        TEST(test_dlpack__what_interfaces_cannot_describe),
        TEST(test_dlpack__what_cannot_be_imported_is_named),
        TEST(test_dlpack__of_another_version_only_the_deleter_is_called),
        TEST(test_dlpack__host_and_managed_memory_of_cuda_is_taken),
        TEST(test_dlpack__no_memory_frees_what_was_given),
        TEST(test_dlpack__odd_but_sound_tensors_are_taken),
        TEST(test_dlpack__arguments_that_are_missing_or_wrong),
    };

    return test_env_main(argc, argv, "test_dlpack", tests, COUNT(tests));
}
