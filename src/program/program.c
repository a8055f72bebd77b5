/*
 * program.c - captures, programs, and the slots by which a program's arguments change.
 *
 *     capture_begin .. capture_end > kiln__recording > [slots] > run
 *
 * Steps, memory and the driver's graph are the business of src/device/recording.c.
 */
#include <stdio.h>

#include "codegen/codegen.h"
#include "kernel/kernel.h"
#include "kiln/program.h"

#define PROGRAM_MAGIC 0x70726f67u
#define PROGRAM_DEAD 0xdeadu

/* What one slot stands for. */
typedef struct program_slot {
    kiln__place *places;
    size_t place_count;
    kiln_array *array; /* now; a reference of the program's. NULL: a number's slot */
    bool writable;     /* what was captured was */
    kiln_dtype dtype;
    char *kernel, *parameter; /* for messages */
} program_slot;

struct kiln_program {
    uint32_t magic;
    kiln_context *ctx; /* counted */
    kiln__recording *recording;
    program_slot *slots;
    size_t slot_count;
};

/* ---- captures ---- */

static kiln_status find_stream(kiln_context *ctx, kiln_stream **stream, kiln_error *err)
{
    kiln_stream *current;

    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "ctx is NULL");
    kiln_status status = kiln__context_check(ctx, err);
    if (status == KILN_OK)
        status = kiln__context_stream(ctx, *stream, &current, err);
    if (*stream == NULL)
        *stream = kiln__device_home(kiln__context_device(ctx));
    return status;
}

kiln_status kiln_capture_begin(kiln_context *ctx, kiln_stream *stream, kiln_error *err)
{
    kiln_status status = find_stream(ctx, &stream, err);

    return status == KILN_OK ? kiln__recording_begin(stream, ctx, err) : status;
}

kiln_status kiln_capture_end(kiln_context *ctx, kiln_stream *stream, kiln_program **out,
                             kiln_error *err)
{
    kiln_program *program = NULL;
    kiln_status status;

    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "out is NULL");
    *out = NULL;
    KILN_TRY(find_stream(ctx, &stream, err));
    program = kiln__calloc(1, sizeof *program);
    if (program == NULL) {
        (void)kiln__recording_end(stream, NULL, NULL);
        return kiln__fail_memory(err, sizeof *program);
    }
    KILN_TRY(kiln__recording_end(stream, &program->recording, err));
    program->magic = PROGRAM_MAGIC;
    program->ctx = kiln_context_retain(ctx);
    *out = program;
    program = NULL;

done:
    kiln__free(program);
    return status;
}

void kiln_capture_abort(kiln_context *ctx, kiln_stream *stream)
{
    if (ctx != NULL && !kiln__context_forked(ctx) && find_stream(ctx, &stream, NULL) == KILN_OK)
        (void)kiln__recording_end(stream, NULL, NULL);
}

/* ---- programs ---- */

static kiln_status check(const kiln_program *program, kiln_error *err)
{
    if (program == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "program is NULL");
    if (program->magic != PROGRAM_MAGIC)
        return kiln__context_released("program", err);
    return kiln__context_check(program->ctx, err);
}

kiln_status kiln_program_run(kiln_program *program, kiln_stream *stream, kiln_error *err)
{
    kiln_status status = check(program, err);

    if (status == KILN_OK)
        status = kiln__context_stream(program->ctx, stream, &stream, err);
    if (status == KILN_OK)
        status = kiln__stream_no_recording(stream, "the run of a program", err);
    return status == KILN_OK ? kiln__recording_run(program->recording, stream, err) : status;
}

size_t kiln_program_step_count(const kiln_program *program)
{
    return program != NULL && program->magic == PROGRAM_MAGIC
               ? kiln__recording_step_count(program->recording)
               : 0;
}

static void slot_clear(program_slot *s)
{
    kiln__free(s->places);
    kiln__free(s->kernel);
    kiln__free(s->parameter);
    kiln_array_release(s->array);
}

void kiln_program_destroy(kiln_program *program)
{
    if (program == NULL || program->magic != PROGRAM_MAGIC || kiln__context_forked(program->ctx))
        return;
    program->magic = PROGRAM_DEAD;
    for (size_t k = 0; k < program->slot_count; k++)
        slot_clear(&program->slots[k]);
    kiln__free(program->slots);
    kiln__recording_destroy(program->recording);
    kiln_context *const ctx = program->ctx;
    kiln__context_bury(ctx, program, NULL);
    kiln_context_release(ctx);
}

/* ---- slots ---- */

/* Take over `s`, also after a failure. */
static kiln_status add_slot(kiln_program *program, program_slot *s, size_t *slot_out, kiln_error *err)
{
    program_slot *const grown =
        kiln__realloc(program->slots, (program->slot_count + 1) * sizeof *program->slots);

    if (grown == NULL) {
        slot_clear(s);
        return kiln__fail_memory(err, sizeof *s);
    }
    program->slots = grown;
    program->slots[program->slot_count] = *s;
    *slot_out = program->slot_count++;
    return KILN_OK;
}

/* The bytes that the array's elements span. */
static void span_of(const kiln_array *array, const char **base_out, size_t *bytes_out)
{
    kiln__int128 low, high;

    kiln__strides_extent(array->rank, array->shape, array->strides, kiln_dtype_size(array->dtype),
                         &low, &high);
    *base_out = (const char *)array->data + (ptrdiff_t)low;
    *bytes_out = (size_t)(high - low);
}

kiln_status kiln_program_array_slot(kiln_program *program, const kiln_array *array,
                                    size_t *slot_out, kiln_error *err)
{
    program_slot s = {.array = NULL};
    const char *base;
    size_t bytes;
    kiln_status status = check(program, err);

    if (status == KILN_OK && slot_out == NULL)
        status = kiln__fail(err, KILN_ERR_NULL, "slot_out is NULL");
    if (status == KILN_OK)
        status = kiln__array_check(array, program->ctx, "array", err);
    if (status != KILN_OK)
        return status;
    span_of(array, &base, &bytes);
    status = kiln__recording_find_memory(program->recording, base, bytes, &s.places,
                                         &s.place_count, err);
    if (status != KILN_OK)
        return status;
    if (s.place_count == 0) {
        kiln__free(s.places);
        return kiln__fail(err, KILN_ERR_NAME, "no step of the program uses the array");
    }
    s.array = kiln_array_retain((kiln_array *)array);
    s.writable = kiln__array_unwritable(array) == NULL;
    return add_slot(program, &s, slot_out, err);
}

kiln_status kiln_program_number_slot(kiln_program *program, const char *kernel,
                                     const char *parameter, size_t *slot_out, kiln_error *err)
{
    program_slot s = {.array = NULL};
    uint8_t dtype = 0;
    kiln_status status = check(program, err);

    if (status != KILN_OK)
        return status;
    if (kernel == NULL || parameter == NULL || slot_out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL",
                          kernel == NULL      ? "kernel"
                          : parameter == NULL ? "parameter"
                                              : "slot_out");
    status = kiln__recording_find_number(program->recording, kernel, parameter, &s.places,
                                         &s.place_count, &dtype, err);
    if (status != KILN_OK)
        return status;
    if (s.place_count == 0) {
        kiln__free(s.places);
        return kiln__fail(err, KILN_ERR_NAME,
                          "no captured call of a kernel \"%.100s\" was given a number for `%.100s`",
                          kernel, parameter);
    }
    s.dtype = (kiln_dtype)dtype;
    s.kernel = kiln__strdup(kernel);
    s.parameter = kiln__strdup(parameter);
    if (s.kernel == NULL || s.parameter == NULL) {
        slot_clear(&s);
        return kiln__fail_memory(err, strlen(kernel) + strlen(parameter));
    }
    return add_slot(program, &s, slot_out, err);
}

static kiln_status set_array(kiln_program *program, size_t at, kiln_array *array, kiln_error *err)
{
    program_slot *const s = &program->slots[at];
    char what[40];
    kiln_status status = kiln__array_check(array, program->ctx, "value", err);

    snprintf(what, sizeof what, "slot %zu", at);
    if (status == KILN_OK) /* kernels were chosen for the layout of the first one */
        status = kiln__array_fits(s->array, s->writable, array, what, err);
    if (status != KILN_OK || array->data == s->array->data)
        return status;
    status = kiln__recording_move(program->recording, s->places, s->place_count,
                                  (intptr_t)((uintptr_t)array->data - (uintptr_t)s->array->data),
                                  err);
    if (status != KILN_OK)
        return status;
    kiln__storage_used_on(array->storage, kiln__recording_stream(program->recording));
    kiln_array_release(s->array);
    s->array = kiln_array_retain(array);
    return KILN_OK;
}

static kiln_status set_number(kiln_program *program, size_t at, const kiln__given *given,
                              kiln_error *err)
{
    const program_slot *const s = &program->slots[at];
    kiln__scalar value;
    const kiln_status status = kiln__convert_scalar(NULL, 0, given, s->dtype, &value, NULL);

    if (status != KILN_OK)
        return kiln__fail(err, status, "the number for slot %zu, `%s` of kernel \"%s\", does not fit %s",
                          at, s->parameter, s->kernel, kiln_dtype_name(s->dtype));
    return kiln__recording_write(program->recording, s->places, s->place_count, value.bytes,
                                 kiln_dtype_size(s->dtype), err);
}

kiln_status kiln_program_set(kiln_program *program, size_t slot, kiln_arg value, kiln_error *err)
{
    kiln__given given;
    kiln_status status = check(program, err);

    if (status != KILN_OK)
        return status;
    if (slot >= program->slot_count)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the program has %zu slots, there is no slot %zu",
                          program->slot_count, slot);
    if (program->slots[slot].array != NULL)
        return value.kind == KILN_ARG_ARRAY
                   ? set_array(program, slot, value.value.array, err)
                   : kiln__fail(err, KILN_ERR_ARGUMENT, "slot %zu is an array's", slot);
    return kiln__given_scalar(&value, &given)
               ? set_number(program, slot, &given, err)
               : kiln__fail(err, KILN_ERR_ARGUMENT, "slot %zu is a number's", slot);
}
