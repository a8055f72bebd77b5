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
