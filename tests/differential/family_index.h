/* family_index.h - what reading and changing elements by indices share; see family_gather.c. */
#ifndef KILN_DIFFTEST_FAMILY_INDEX_H
#define KILN_DIFFTEST_FAMILY_INDEX_H

#include "family.h"

/* Numbers of these functions. Subscripts stand behind them, four numbers each. */
enum {
    DT_MODE,
    DT_AXIS,
    DT_FAST,
    DT_WHAT,
    DT_SUBSCRIPTS,
    DT_FIRST_SUBSCRIPT = 6,
    DT_SUBSCRIPTS_MAX = 6
};

/* The element that an index names; -1: none, which no case draws in the mode CHECK. */
int64_t dt_place_of(kiln_dtype dtype, dt_value index, int64_t extent, int64_t mode);
void dt_draw_mode(dt_random *d, dt_case *c);
kiln_scatter_options dt_scatter_options(const dt_case *c);
kiln_arg dt_value_arg(const dt_case *c, const dt_arrays *a);

bool dt_draw_take(dt_random *d, dt_random *r, dt_case *c);
bool dt_draw_along(dt_random *d, dt_random *r, dt_case *c);
bool dt_draw_put(dt_random *d, dt_random *r, dt_case *c);
bool dt_evaluate_take(const dt_case *c, const dt_array *in, dt_array *out);
bool dt_evaluate_take_along(const dt_case *c, const dt_array *in, dt_array *out);
bool dt_evaluate_put_along(const dt_case *c, const dt_array *in, dt_array *out);
bool dt_evaluate_put(const dt_case *c, const dt_array *in, dt_array *out);
kiln_status dt_call_take(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_take_along(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_put_along(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_status dt_call_put(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err);
kiln_node dt_record_take(const dt_case *c, const kiln_node *in, size_t result);
kiln_node dt_record_take_along(const dt_case *c, const kiln_node *in, size_t result);
void dt_text_take(const dt_case *c, const char *first, char *text, size_t bytes);
kiln_node dt_record_put(const dt_case *c, const kiln_node *in, size_t result);
kiln_node dt_record_put_along(const dt_case *c, const kiln_node *in, size_t result);
void dt_text_put(const dt_case *c, const char *first, char *text, size_t bytes);
void dt_text_put_along(const dt_case *c, const char *first, char *text, size_t bytes);
void dt_text_take_along(const dt_case *c, const char *first, char *text, size_t bytes);

#endif
