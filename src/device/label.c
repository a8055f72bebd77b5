/*
 * label.c - the labels that threads work under (kiln_scope_push), and the text of labels.
 *
 *     watch.c pool_watch.c -> [enter, leave, current]
 *
 * The text of a label outlives its scope, because blocks of memory and observers go on naming it. It
 * is kept once for each process, in memory of a fixed size: labels that are made up at run time
 * ("epoch 17") must not grow without bound.
 *
 * Rule: a label that is there is found without a lock, and is never moved or changed.
 */
#include "device/label.h"

enum {
    DEPTH_MAX = 32,
    TEXT_BYTES = 64 << 10,
    LABEL_BYTES_MAX = 255,
    SLOT_COUNT = 2048,
    LABELS_MAX = SLOT_COUNT / 2
};

/* ---- texts ---- */

static kiln__process_lock lock = KILN__PROCESS_LOCK_INIT; /* for those who add a label */
static char text[TEXT_BYTES];
static size_t text_used, label_count;
static _Atomic(const char *) slots[SLOT_COUNT]; /* by hash, with linear probing */

static bool is_label(const char *there, const char *label, size_t bytes)
{
    return strncmp(there, label, bytes) == 0 && there[bytes] == '\0';
}

/* Where the label is, or would be. There are always free slots. */
static _Atomic(const char *) *slot_of(const char *label, size_t bytes, const char **there_out)
{
    size_t at = kiln__hash_64(label, bytes) % SLOT_COUNT;

    while ((*there_out = atomic_load_explicit(&slots[at], memory_order_acquire)) != NULL &&
           !is_label(*there_out, label, bytes))
        at = (at + 1) % SLOT_COUNT;
    return &slots[at];
}

static const char *keep(const char *label)
{
    const size_t length = strlen(label),
                 bytes = length < LABEL_BYTES_MAX ? length : LABEL_BYTES_MAX;
    const char *there = NULL;

    (void)slot_of(label, bytes, &there);
    if (there != NULL)
        return there;
    kiln__process_lock_take(&lock);
    _Atomic(const char *) *const slot = slot_of(label, bytes, &there);
    if (there == NULL) {
        if (label_count < LABELS_MAX && bytes < TEXT_BYTES - text_used) {
            char *const place = text + text_used;
            memcpy(place, label, bytes);
            place[bytes] = '\0';
            text_used += bytes + 1;
            label_count++;
            atomic_store_explicit(slot, place, memory_order_release);
            there = place;
        } else {
            there = "(more labels)";
        }
    }
    kiln__process_lock_give(&lock);
    return there;
}

/* ---- scopes ---- */

static _Thread_local struct {
    kiln_scope stack[DEPTH_MAX];
    size_t depth; /* beyond DEPTH_MAX they are only counted */
    const char *kernel;
} mine;

/* A scope at the same depth often has the same label again. */
static const char *keep_again(const char *before, const char *label)
{
    return before != NULL && label != NULL && strcmp(before, label) == 0 ? before
           : label != NULL                                               ? keep(label)
                                                                         : NULL;
}

void kiln__scope_enter(const char *label, const char *file, int line)
{
    if (mine.depth < DEPTH_MAX) {
        kiln_scope *const scope = &mine.stack[mine.depth];
        scope->label = keep_again(scope->label, label != NULL ? label : "");
        scope->file = keep_again(scope->file, file);
        scope->line = line;
        scope->outer = mine.depth > 0 ? scope - 1 : NULL;
    }
    mine.depth++;
}

bool kiln__scope_leave(kiln_scope *left_out)
{
    if (mine.depth == 0)
        return false;
    mine.depth--;
    if (mine.depth >= DEPTH_MAX)
        return false;
    *left_out = mine.stack[mine.depth];
    return true;
}

const kiln_scope *kiln__scope_current(void)
{
    const size_t depth = mine.depth < DEPTH_MAX ? mine.depth : DEPTH_MAX;

    return depth > 0 ? &mine.stack[depth - 1] : NULL;
}

const char *kiln__scope_kernel(void)
{
    return mine.kernel;
}

const char *kiln__scope_set_kernel(const char *kernel)
{
    const char *const before = mine.kernel;

    mine.kernel = kernel;
    return before;
}
