/*
 * subscript.c - kiln_subscript_slice() and similar functions (kiln/indexing.h), which make a
 * subscript of what is written in brackets. They check nothing; whoever takes the subscript does.
 *
 * Tests: test_gather, test_scatter.
 */
#include "indexing/indexing.h"

kiln_subscript kiln_subscript_index(int64_t index)
{
    return (kiln_subscript){.kind = KILN_SUBSCRIPT_INDEX, .start = index};
}

kiln_subscript kiln_subscript_slice(int64_t start, int64_t stop, int64_t step)
{
    return (kiln_subscript){
        .kind = KILN_SUBSCRIPT_SLICE, .start = start, .stop = stop, .step = step};
}

kiln_subscript kiln_subscript_new_axis(void)
{
    return (kiln_subscript){.kind = KILN_SUBSCRIPT_NEW_AXIS};
}

kiln_subscript kiln_subscript_ellipsis(void)
{
    return (kiln_subscript){.kind = KILN_SUBSCRIPT_ELLIPSIS};
}

kiln_subscript kiln_subscript_array(const kiln_array *array)
{
    return (kiln_subscript){.kind = KILN_SUBSCRIPT_ARRAY, .array = array};
}

kiln_subscript kiln_subscript_node(kiln_node node)
{
    return (kiln_subscript){.kind = KILN_SUBSCRIPT_ARRAY, .node = node};
}

bool kiln__subscripts_apart(const kiln_subscript_kind *kind, size_t stride_bytes, size_t count)
{
    size_t first = count, last = 0, arrays = 0;

    for (size_t k = 0; k < count; k++) {
        const void *const at = (const char *)kind + k * stride_bytes;
        const kiln_subscript_kind is = *(const kiln_subscript_kind *)at;
        if (is != KILN_SUBSCRIPT_ARRAY && is != KILN_SUBSCRIPT_INDEX)
            continue;
        first = first < k ? first : k;
        last = k;
        arrays++;
    }
    return last + 1 - first != arrays;
}
