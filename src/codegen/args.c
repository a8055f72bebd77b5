/*
 * args.c - fill a kernel's argument block by the slots that emit_axes.c laid out.
 *
 *     plan > emit > [args] > launch
 *
 * Every slot is a run of 8-byte words, so filling is copying words to the slots' offsets. The struct
 * that the kernel reads is declared by the same slots (templates/arguments.cpp).
 *
 * Launches (src/kernel, src/module) call this file. Tests: test_record, test_filter.
 */
#include "codegen/codegen.h"

static void put_words(void *block, const kiln__slot *slot, size_t word, const int64_t *values,
                      size_t count)
{
    memcpy((char *)block + slot->offset + 8 * word, values, 8 * count);
}

static void fill_raw(void *block, const kiln__slot *slot, const kiln__operand *o)
{
    int64_t head[2] = {(int64_t)o->address, 1};
    for (int a = 0; a < o->rank; a++)
        head[1] *= o->shape[a];
    put_words(block, slot, 0, head, 2);
    put_words(block, slot, 2, o->shape, (size_t)o->rank);
    put_words(block, slot, 2 + (size_t)o->rank, o->strides, (size_t)o->rank);
}

static void fill_divisor(void *block, const kiln__slot *slot, int64_t extent)
{
    uint32_t words32[4];
    uint64_t words64[4];
    if (slot->bytes == sizeof words32) {
        kiln__divisor32_make((uint32_t)(extent > 0 ? extent : 1), words32);
        memcpy((char *)block + slot->offset, words32, sizeof words32);
    } else {
        kiln__divisor64_make((uint64_t)(extent > 0 ? extent : 1), words64);
        memcpy((char *)block + slot->offset, words64, sizeof words64);
    }
}

static void fill_slot(const kiln__slot *slot, const kiln__plan *plan, const kiln__operand *operands,
                      const kiln__scalar *scalars, void *block)
{
    int64_t pointer;
    switch ((kiln__slot_kind)slot->kind) {
    case KILN__SLOT_SIZE:
        put_words(block, slot, 0, &plan->size, 1);
        break;
    case KILN__SLOT_POINTER:
        pointer = (int64_t)operands[slot->param].address;
        put_words(block, slot, 0, &pointer, 1);
        break;
    case KILN__SLOT_SCALAR:
        memcpy((char *)block + slot->offset, scalars[slot->param].bytes, slot->bytes);
        break;
    case KILN__SLOT_RAW:
        fill_raw(block, slot, &operands[slot->param]);
        break;
    case KILN__SLOT_EXTENT:
        put_words(block, slot, 0, &plan->shape[slot->axis], 1);
        break;
    case KILN__SLOT_DIVISOR:
        fill_divisor(block, slot, plan->walk[slot->axis]);
        break;
    case KILN__SLOT_SPLITS:
        fill_divisor(block, slot, plan->word[KILN__WORD_SPLITS]);
        break;
    case KILN__SLOT_WORD:
        put_words(block, slot, 0, &plan->word[slot->axis], 1);
        break;
    case KILN__SLOT_WALK:
        put_words(block, slot, 0, &plan->walk[slot->axis], 1);
        break;
    case KILN__SLOT_STRIDE:
        put_words(block, slot, 0, &plan->step[slot->param][slot->axis], 1);
        break;
    case KILN__SLOT_BEGIN:
        put_words(block, slot, 0, &plan->begin[slot->param], 1);
        break;
    case KILN__SLOT_INDEX_STRIDE:
        put_words(block, slot, 0, &plan->index_step[slot->axis], 1);
        break;
    case KILN__SLOT_NUMBER_STRIDE:
        put_words(block, slot, 0, &plan->number_step[slot->param][slot->axis], 1);
        break;
    case KILN__SLOT_INDEXER:
        put_words(block, slot, 0, &plan->indexer_size, 1);
        put_words(block, slot, 1, plan->indexer_shape, slot->bytes / 8 - 1);
        break;
    case KILN__SLOT_REPORT: /* the launcher's */
        break;
    case KILN__SLOT_OUT_INDEXER:
        put_words(block, slot, 0, &plan->out_indexer_size, 1);
        put_words(block, slot, 1, plan->out_indexer_shape, slot->bytes / 8 - 1);
        break;
    }
}

void kiln__args_fill(const kiln__source *source, const kiln__plan *plan,
                     const kiln__operand *operands, const kiln__scalar *scalars, void *block)
{
    memset(block, 0, source->args_bytes);
    for (size_t s = 0; s < source->slot_count; s++)
        fill_slot(&source->slots[s], plan, operands, scalars, block);
}

void kiln__source_clear(kiln__source *source)
{
    if (source == NULL)
        return;
    kiln__free(source->text);
    kiln__free(source->slots);
    *source = (kiln__source)KILN__SOURCE_INIT;
}
