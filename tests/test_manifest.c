/*
 * test_manifest.c - lines of a manifest: what is read, what is refused and where, what is written;
 * and the text form of a variant, on which "recorded once, never compiled again" rests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "frontend.h"
#include "kernel/kernel.h"
#include "manifest/manifest.h"
#include "warm/warm.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- variants as text -------------------------------------------------------------------------- */

static kiln__definition *define_reduction(const char *in, const char *out, const char *map,
                                          bool scan)
{
    kiln__definition_request request = {.name = "r",
                                        .in = in,
                                        .out = out,
                                        .family =
                                            scan ? &kiln__family_scan : &kiln__family_reduction};
    kiln__definition *def = NULL;

    request.snippet[KILN__SNIPPET_MAP] = map;
    request.snippet[KILN__SNIPPET_REDUCE] = "a + b";
    request.snippet[KILN__SNIPPET_POST] = "y = a";
    request.snippet[KILN__SNIPPET_IDENTITY] = "0";
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    return def;
}

static char *text_of(const kiln__variant *v)
{
    kiln__buf b = KILN__BUF_INIT;
    kiln__variant_print(v, &b);
    assert_false(b.failed);
    return kiln__buf_take(&b);
}

/* What comes back from a variant's text must be the variant, byte for byte. */
static void expect_round_trip(const kiln__definition *def, const kiln__variant *v)
{
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln__variant back;
    kiln_error err = KILN_ERROR_INIT;
    size_t at = 0, width = 0;
    char *text = text_of(v);

    for (size_t p = 0; p < def->param_count; p++)
        dtypes[p] = (kiln_dtype)v->dtype[p];
    if (kiln__variant_parse(text, def, dtypes, &back, &at, &width, &err) != KILN_OK)
        fail_msg("%s: %s", text, err.message);
    if (memcmp(&back, v, sizeof back) != 0)
        fail_msg("another variant comes back from: %s", text);
    kiln__free(text);
}

/* Where the numbers of a family end within its member; behind them are padding and, of reductions, the
 * facts of staged inputs, which test_manifest__text_of_no_tile_is_refused_in_its_place writes back. */
#define END_OF(family, last)                                                                       \
    offsetof(kiln__variant, family.last) + sizeof(((kiln__variant *)NULL)->family.last)
static const struct {
    const kiln__family *family;
    size_t end;
} members[] = {{&kiln__family_loop, END_OF(loop, along)},
               {&kiln__family_reduction, END_OF(reduction, lanes)},
               {&kiln__family_scan, END_OF(scan, lanes)},
               {&kiln__family_row, END_OF(row, stage)},
               {&kiln__family_filter, END_OF(filter, plain_i)}};

/* Whether byte `k` of a variant stands in its text: all do but dtypes, which another field of a line
 * has, and what a parameter that is not raw, or in no window, does not have. Of two parameters the
 * first is in a window, where that can be, and the second is raw. */
static bool is_written(const kiln__family *family, size_t k)
{
    const size_t params = offsetof(kiln__variant, dtype), end = offsetof(kiln__variant, loop);
    const bool own = k >= end; /* of the family */

    if (k < sizeof family || k == offsetof(kiln__variant, param_count))
        return false;
    if (k < params || (own && (family != &kiln__family_loop || k < END_OF(loop, tile))))
        return family->combines || k != offsetof(kiln__variant, keep_rank);
    const size_t p = (k - (own ? offsetof(kiln__variant, loop.window) : params)) % KILN_PARAM_MAX;
    if (k >= offsetof(kiln__variant, access) && k < offsetof(kiln__variant, raw_rank))
        return p < 2;
    return k >= offsetof(kiln__variant, access) && p == (own ? 0 : 1);
}

static void test_manifest__no_byte_of_a_variant_is_left_out_of_its_text(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(members); f++) {
        const kiln__family *family = members[f].family;
        const bool loop = family == &kiln__family_loop;
        kiln__variant v;

        memset(&v, 0, sizeof v);
        v.family = family;
        v.backend = KILN_BACKEND_CUDA;
        v.param_count = 2;
        v.access[0] = loop ? KILN__ACCESS_WINDOW : KILN__ACCESS_VECTOR;
        v.access[1] = KILN__ACCESS_RAW;
        char *before = text_of(&v);
        for (size_t k = 0; k < members[f].end; k++) {
            kiln__variant other = v;
            if (!is_written(family, k) ||
                (family != &kiln__family_loop && family != &kiln__family_reduction &&
                 (k == offsetof(kiln__variant, indexer_rank) ||
                  k == offsetof(kiln__variant, out_indexer_rank))) ||
                (loop && k == offsetof(kiln__variant, out_indexer_rank)))
                continue; /* numbers of index objects, which not all families have */
            ((unsigned char *)&other)[k] ^= k == offsetof(kiln__variant, backend) ? 3 : 1;
            char *after = text_of(&other);
            if (strcmp(before, after) == 0)
                fail_msg("byte %zu of a %s's kiln__variant is not in \"%s\"", k, family->name,
                         after);
            kiln__free(after);
        }
        kiln__free(before);
    }
}

static const struct {
    int rank;
    int64_t extent[4];
} shapes[] = {{0, {0}},          {1, {1}},          {1, {7}},           {1, {1000000}},
              {2, {3, 5}},       {2, {1024, 1024}}, {2, {1 << 20, 4}},  {2, {4, 1 << 20}},
              {2, {100000, 100}}, {3, {64, 65, 66}}, {4, {8, 16, 32, 64}}};

/* Plans of one definition for all shapes, sizes of devices and axes. Returns how many. */
static size_t expect_all_round_trips(kiln__definition *def, const kiln_dtype *dtypes)
{
    static const kiln_axes axes[] = {{1, {-1}}, {1, {0}}, {0, {0}}};
    static const int units[] = {1, 4, 14, 132};
    size_t count = 0;

    for (size_t s = 0; s < COUNT(shapes); s++) {
        kiln__abstract args[KILN_PARAM_MAX];
        memset(args, 0, sizeof args);
        for (size_t p = 0; p < def->param_count; p++) {
            args[p].absent = def->params[p].output;
            args[p].rank = shapes[s].rank;
            memcpy(args[p].shape, shapes[s].extent, sizeof shapes[s].extent);
        }
        for (size_t a = 0; a <= COUNT(axes); a++) {
            for (size_t u = 0; u < COUNT(units); u++) {
                for (int backend = KILN_BACKEND_CPU; backend <= KILN_BACKEND_CUDA; backend++) {
                    const kiln__plan_device device = {
                        (kiln_backend)backend, units[u], u % 2, u % 4 == 3};
                    const kiln__abstract_call call = {.args = args,
                                                      .dtypes = dtypes,
                                                      .axes = a < COUNT(axes) ? &axes[a] : NULL,
                                                      .flags = u % 4};
                    kiln__planned planned;
                    if (kiln__abstract_variant(def, &device, &call, &planned, NULL) != KILN_OK)
                        continue;
                    expect_round_trip(def, &planned.variant);
                    count++;
                }
            }
        }
    }
    return count;
}

static void test_manifest__every_plan_comes_back_from_its_text(void **state)
{
    static const kiln_dtype floats[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    static const kiln_dtype bytes[] = {KILN_INT8, KILN_INT8, KILN_COMPLEX128};
    static const kiln_dtype doubles[] = {KILN_FLOAT64, KILN_FLOAT64, KILN_FLOAT64};
    kiln__definition *defs[] = {define("T x, T y", "T z", "z = x + y"),
                                define("T x, raw T y", "T z", "z = x + y[i]"),
                                define("raw T x, T y", "T z", "z = x[_ind.get()[0]] + y"),
                                define_reduction("T x, T w", "T y", "x * w", false),
                                define_reduction("T x", "T y", "x + _J", false),
                                define_reduction("T x", "T y", "x", true)};
    size_t count = 0;

    (void)state;
    for (size_t d = 0; d < COUNT(defs); d++) {
        count += expect_all_round_trips(defs[d], floats);
        count += expect_all_round_trips(defs[d], bytes);
        count += expect_all_round_trips(defs[d], doubles);
        kiln__definition_destroy(defs[d]);
    }
    assert_true(count > 2000);
}

#define WHOLE SIZE_MAX
#define GOOD "cuda/1 linear rank=1 bits=64 vec=4 unroll=1 block=256 args=vector,scalar,vector"

typedef struct no_variant {
    const char *text;
    size_t at, width;
    const char *message;
} no_variant;

static void expect_refused(const no_variant *rows, size_t count)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    kiln__definition *def = define("T x, float32 a", "T z", "z = x * a");
    kiln__variant v;
    size_t at = 0, width = 0;

    for (size_t r = 0; r < count; r++) {
        kiln_error err = KILN_ERROR_INIT;
        kiln_status status = kiln__variant_parse(rows[r].text, def, dtypes, &v, &at, &width, &err);
        const size_t want = rows[r].width == WHOLE ? strlen(rows[r].text) : rows[r].width;
        if (status != KILN_ERR_FORMAT || at != rows[r].at || width != want ||
            strstr(err.message, rows[r].message) == NULL)
            fail_msg("\"%s\": %zu+%zu \"%s\", not %zu+%zu with \"%s\"", rows[r].text, at, width,
                     err.message, rows[r].at, want, rows[r].message);
        kiln_error_clear(&err);
    }
    kiln__definition_destroy(def);
}

static void test_manifest__text_that_is_no_variant_is_refused_in_its_place(void **state)
{
    static const no_variant rows[] = {
        {"", 0, 0, "args= is missing"},
        {"rocm/1 linear", 0, 6, "begins with \"cuda/1\" or \"cpu/1\""},
        {"cuda linear", 0, 4, "version 1"},
        {"cuda/2 linear", 0, 6, "version 1"},
        {"cuda/1 spiral", 7, 6, "no layout class"},
        {"cuda/1 rows", 7, 4, "this kind of kernel has no layout class"},
        {"cuda/1  linear", 7, 0, "no layout class"},
        {"cuda/1 linear rank=1 color=3", 21, 7, "no such field"},
        {"cuda/1 linear rank", 14, 4, "no such field"},
        {"cuda/1 linear rank=0", 14, 6, "cannot have"},
        {"cuda/1 linear rank=33", 14, 7, "cannot have"},
        {"cuda/1 linear rank=x", 14, 6, "cannot have"},
        {"cuda/1 linear rank=-1", 14, 7, "cannot have"},
        {"cuda/1 linear rank=00001", 14, 10, "cannot have"},
        {"cuda/1 linear vec=3", 14, 5, "cannot have"},
        {"cuda/1 linear bits=48", 14, 7, "cannot have"},
        {"cuda/1 linear rank=1 rank=1", 21, 6, "already"},
        {"cuda/1 linear args=vector,scalar", 19, 13, "one word for each parameter"},
        {"cuda/1 linear args=vector,scalar,vector,one", 19, 24, "one word for each parameter"},
        {"cuda/1 linear args=", 19, 0, "one word for each parameter"},
        {"cuda/1 linear args=vector,scalar,scalar", 33, 6, "an output cannot be"},
        {"cuda/1 linear args=vector,nested,vector", 26, 6, "no way to reach"},
        {"cuda/1 linear args=vector,raw1,vector", 26, 4, "not declared raw"},
        {"cuda/1 linear args=vector,raw,vector", 26, 3, "no way to reach"},
        {"cuda/1 linear args=vector,scalar,vector", 0, WHOLE, "is missing"},
        {"cuda/1 linear rank=2 bits=64 vec=4 unroll=1 block=256 args=vector,scalar,vector", 0,
         WHOLE, "rank 1"},
        {GOOD " tile=32", 0, WHOLE, "tile"},
        {GOOD " keep=1", 80, 6, "no such field"},
        {GOOD " fan=4", 80, 5, "no such field"},
        {"cuda/1 transpose rank=2 bits=64 vec=1 unroll=1 block=256 args=vector,scalar,vector", 0,
         WHOLE, "tile"},
        {"cuda/1 inner rank=2 bits=64 vec=1 unroll=1 block=256 args=tile,scalar,vector", 0, WHOLE,
         "transpose"},
        {"cuda/1 inner rank=2 bits=64 vec=1 unroll=4 tile=8 block=256 args=vector,scalar,vector", 0,
         WHOLE, "tile"},
        {"cuda/1 inner rank=2 bits=64 vec=1 unroll=4 group=128 block=256 args=vector,scalar,vector", 43, 9,
         "no such field"},
        {"cuda/1 linear rank=1 bits=64 vec=4 unroll=1 block=256 args=once,scalar,vector", 0, WHOLE,
         "does not reach"},
    };
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    kiln__definition *def = define("T x, float32 a", "T z", "z = x * a");
    kiln__variant v;
    size_t at = 0, width = 0;

    (void)state;
    assert_int_equal(kiln__variant_parse(GOOD, def, dtypes, &v, &at, &width, NULL), KILN_OK);
    kiln__definition_destroy(def);
    expect_refused(rows, COUNT(rows));
}

static void test_manifest__text_of_no_window_is_refused_in_its_place(void **state)
{
    static const no_variant rows[] = {
        {"cuda/1 window args=window,scalar,vector", 19, 6, "three numbers"},
        {"cuda/1 window args=window0/1,scalar,vector", 19, 9, "three numbers"},
        {"cuda/1 window args=window0/1/,scalar,vector", 19, 10, "three numbers"},
        {"cuda/1 window args=window0/1/2x,scalar,vector", 19, 12, "no place"},
        {"cuda/1 window args=window3/1/2,scalar,vector", 19, 11, "no place"},
        {"cuda/1 window args=window0/1/2/,scalar,vector", 19, 12, "three numbers"},
        {"cuda/1 window args=window0/1/2/1x,scalar,vector", 19, 14, "no place"},
        {"cuda/1 window args=window0/1/2/5,scalar,vector", 19, 13, "no place"},
        {"cuda/1 window args=window0/9/2,scalar,vector", 19, 11, "no place"},
        {"cuda/1 window args=window0/1/32,scalar,vector", 19, 12, "no place"},
        {"cuda/1 window args=vector,scalar,window0/1/2", 33, 11, "cannot be in a window"},
        {"cuda/1 window rank=2 bits=64 vec=1 unroll=4 block=256 args=window0/1/2,scalar,vector", 0,
         WHOLE, "a tile"},
        {"cuda/1 window rank=2 bits=64 vec=2 unroll=4 tile=8 block=256 args=window0/1/2,scalar,vector",
         0, WHOLE, "vec=1"},
        {"cpu/1 window rank=2 bits=64 vec=1 unroll=4 tile=8 block=256 args=window0/1/2,scalar,vector", 0,
         WHOLE, "windows"},
        {"cuda/1 inner rank=2 bits=64 vec=1 unroll=4 block=256 args=window0/1/2,scalar,vector", 0, WHOLE,
         "layout of their own"},
    };

    (void)state;
    expect_refused(rows, COUNT(rows));
}

static void test_manifest__text_of_no_tile_is_refused_in_its_place(void **state)
{
#define TILE "rank=3 keep=2 bits=32 vec=1 unroll=16 segments=8 lanes=8 group=16 block=256"
    static const struct {
        const char *text, *why; /* NULL: it is right */
    } rows[] = {
        {"cuda/1 tile " TILE " args=staged0/0/4,staged1/1/4,vector", NULL},
        {"cuda/1 tile " TILE " args=staged0/0,staged1/1/4,vector", "three numbers"},
        {"cuda/1 tile " TILE " args=staged3/0/4,staged1/1/4,vector", "no side"},
        {"cuda/1 tile " TILE " args=staged2/1/4,staged1/1/4,vector", "no side"},
        {"cuda/1 tile " TILE " args=staged0/0/3,staged1/1/4,vector", "no side"},
        {"cuda/1 tile " TILE " args=staged0/0/4,staged1/1/4,staged0/0/4", "cannot be in"},
        {"cuda/1 tile " TILE " args=staged0/0/4,vector,vector", "staged in tiles"},
        {"cuda/1 rows " TILE " args=staged0/0/4,staged1/1/4,vector", "staged in tiles"},
        {"cpu/1 tile " TILE " args=staged0/0/4,staged1/1/4,vector", "does not fit"},
        {"cpu/1 tile rank=3 keep=2 bits=32 vec=1 unroll=16 segments=8 lanes=8 block=256 "
         "args=staged0/0/4,staged1/1/4,vector", "does not fit"},
        {"cuda/1 tile rank=3 keep=1 bits=32 vec=1 unroll=16 segments=8 lanes=8 group=16 block=256 "
         "args=staged0/0/4,staged1/1/4,vector", "does not fit"},
        {"cuda/1 tile rank=3 keep=2 bits=32 vec=1 unroll=2 segments=8 lanes=8 group=16 block=256 "
         "args=staged0/0/4,staged1/1/4,vector", "longer than a panel"},
        {"cuda/1 tile rank=3 keep=2 bits=32 vec=1 unroll=64 segments=8 lanes=8 group=16 block=256 "
         "args=staged0/0/4,staged1/1/4,vector", "does not fit"},
    };
#undef TILE
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    kiln__definition *def = define_reduction("T x, T y", "T z", "x * y", false);

    (void)state;
    for (size_t k = 0; k < COUNT(rows); k++) {
        kiln__variant v;
        kiln_error err = KILN_ERROR_INIT;
        size_t at = 0, width = 0;
        const kiln_status status =
            kiln__variant_parse(rows[k].text, def, dtypes, &v, &at, &width, &err);
        if (status != (rows[k].why != NULL ? KILN_ERR_FORMAT : KILN_OK))
            fail_msg("\"%s\": %s", rows[k].text, kiln_status_name(status));
        if (rows[k].why != NULL && strstr(err.message, rows[k].why) == NULL)
            fail_msg("\"%s\": %s, expected \"%s\"", rows[k].text, err.message, rows[k].why);
        if (status == KILN_OK) {
            char *text = text_of(&v);
            assert_string_equal(text, rows[k].text);
            kiln__free(text);
        }
        kiln_error_clear(&err);
    }
    kiln__definition_destroy(def);
}

static void test_manifest__only_scans_have_segments_that_are_no_power_of_two(void **state)
{
    static const char text[] = "cuda/1 rows rank=2 keep=1 bits=32 vec=1 unroll=1 segments=3 lanes=1 "
                               "group=256 block=256 args=strided,strided";
    static const kiln_dtype dtypes[] = {KILN_FLOAT64, KILN_FLOAT64};

    (void)state;
    for (int scan = 0; scan <= 1; scan++) {
        kiln__definition *def = define_reduction("T x", "T y", "x", scan != 0);
        kiln__variant v;
        size_t at = 0, width = 0;
        assert_int_equal(kiln__variant_parse(text, def, dtypes, &v, &at, &width, NULL),
                         scan ? KILN_OK : KILN_ERR_FORMAT);
        kiln__definition_destroy(def);
    }
}

/* ---- lines ------------------------------------------------------------------------------------- */

static void count_bad(void *user, const kiln_error *err)
{
    assert_true(err->status != KILN_OK);
    ++*(size_t *)user;
}

#define E "{\"kind\":\"elementwise\",\"in\":\"T x\",\"out\":\"T z\",\"op\":\"z = x\""
#define X "{\"kind\":\"expression\",\"text\":\""
#define R "{\"kind\":\"reduction\",\"in\":\"T x\",\"out\":\"T y\",\"map\":\"x\",\"reduce\":\"a+b\","   \
          "\"post\":\"y = a\""

static const struct {
    const char *text;
    const char *message; /* begins the error's, behind "m:" */
    const char *detail;  /* the last line: the caret */
} bad_lines[] = {
    {"x", "1:1: an object is expected here, not `x`", "^"},
    {"\n\n  [1]", "3:3: an object is expected here", "  ^"},
    {"{}", "1:1: \"kind\" is missing", "^"},
    {"{", "1:2: a string is missing: the line ends here", " ^"},
    {"{\"kind\"", "1:8: `:` is missing", "       ^"},
    {"{\"kind\":3}", "1:9: a string is expected here, not `3`", "        ^"},
    {"{\"kind\":\"loop\"}", "1:9: a kind is", "        ^~~~~~"},
    {E ",\"opp\":\"\"}", "1:59: there is no field \"opp\"", NULL},
    {E ",\"op\":\"\"}", "1:59: \"op\" is given twice", NULL},
    {E ",\"map\":\"x\"}", "1:59: an elementwise kernel has no \"map\"", NULL},
    {R ",\"keep_axes\":true}", "1:84: a reduction has no \"keep_axes\"", NULL},
    {R ",\"loop_prep\":\"\"}", "1:84: a reduction has no \"loop_prep\"", NULL},
    {E "}\n" E, "2:58: `,` or `}` is missing: the line ends here", NULL},
    {E ",}", "1:59: nothing stands between", NULL},
    {E "} {}", "1:60: one line holds one object", NULL},
    {"{\"kind\":\"elementwise\",\"in\":\"\",\"op\":\"\"}",
     "1:1: \"out\" is missing; an elementwise", "^"},
    {"{\"kind\":\"reduction\",\"in\":\"\",\"out\":\"\",\"map\":\"x\"}",
     "1:1: \"reduce\" is missing", "^"},
    {"{\"kind\":\"reduction\",\"named\":\"sum\",\"map\":\"x\"}",
     "1:35: a named reduction has no \"map\" of its own", NULL},
    /* strings */
    {"{\"kind\":\"elem", "1:9: this string does not end", "        ^"},
    {"{\"kind\":\"a\tb\"}", "1:11: a control character", "          ^"},
    {"{\"kind\":\"\\x\"}", "1:10: there is no such escape", "         ^~"},
    {"{\"kind\":\"\\u12g4\"}", "1:10: \\u wants four", "         ^~"},
    {"{\"kind\":\"\\ud800\"}", "1:10: half of a surrogate pair", NULL},
    {"{\"kind\":\"\\ud800\\u0041\"}", "1:10: half of a surrogate pair", NULL},
    {"{\"kind\":\"\\udc00\"}", "1:10: half of a surrogate pair", NULL},
    {"{\"kind\":\"\\u0000\"}", "1:10: a text cannot hold", NULL},
    {"{\"kind\":\"\xff\"}", "1:10: this byte is no UTF-8", NULL},
    {"{\"kind\":\"\xc0\xaf\"}", "1:10: this byte is no UTF-8", NULL},
    {"{\"kind\":\"\xed\xa0\x80\"}", "1:10: this byte is no UTF-8", NULL},
    {"{\"kind\":\"\xf4\x90\x80\x80\"}", "1:10: this byte is no UTF-8", NULL},
    {"{\"\xc3\xa9\":\"\xc3\xa9\",\"k\":1}", "1:2: there is no field \"\xc3\xa9\"", " ^~~"},
    {"\xef\xbb\xbf{}", "1:1: a byte order mark", NULL},
    /* lists and numbers */
    {E ",\"keep_axes\":1}", "1:71: true or false is expected here, not `1`", NULL},
    {E ",\"options\":\"-O\"}", "1:69: a list of strings is expected here, not a string", NULL},
    {E ",\"options\":[\"-O\" \"-g\"]}", "1:75: `,` or `]` is expected here", NULL},
    {E ",\"types\":{\"T\":\"int8\"}}", "1:67: a list such as", NULL},
    {E ",\"types\":[{\"TT\":\"int8\"}]}", "1:69: a placeholder is one letter", NULL},
    {E ",\"types\":[{\"T\":\"int7\"}]}", "1:73: there is no dtype \"int7\"", NULL},
    {E ",\"types\":[{\"T\":\"int8\",\"T\":\"int8\"}]}", "1:80: the type of \"T\" is given twice",
     NULL},
    {E ",\"text\":\"x\"}", "1:59: an elementwise kernel has no \"text\"", NULL},
    {X "x + 1\"}", "1:1: \"types\" is missing; an expression needs it", "^"},
    {"{\"kind\":\"expression\",\"types\":[{}]}", "1:1: \"text\" is missing", "^"},
    {X "x\",\"types\":[]}", "1:1: \"types\" names no inputs", "^"},
    {X "x\",\"types\":[{\"x\":\"int7\"}]}", "1:47: there is no dtype \"int7\"", NULL},
    {X "x\",\"types\":[{\"x\":7}]}", "1:47: a string is expected here, not `7`", NULL},
    {X "x\",\"types\":{\"x\":\"int8\"}}", "1:41: a list such as", NULL},
    {X "x\",\"types\":[{\"xs\":\"int8\",\"xs\":\"int8\"}]}",
     "1:55: the type of \"xs\" is given twice", NULL},
    {X "x\",\"in\":\"T x\"}", "1:33: an expression has no \"in\"", NULL},
    {X "x\",\"layouts\":[]}", "1:33: an expression has no \"layouts\"", NULL},
    {X "x\",\"axes\":null}", "1:33: an expression has no \"axes\"", NULL},
    {X "x\",\"options\":[]}", "1:33: an expression has no \"options\"", NULL},
    {"{\"kind\":\"expression\",\"text\":1}", "1:29: a string is expected here", NULL},
    {E ",\"shapes\":[[0]]}", "1:70: a whole number from 1 to", NULL},
    {E ",\"shapes\":[[1.5]]}", "1:70: a whole number is expected here, not `1.5`", NULL},
    {E ",\"shapes\":[[1e3]]}", "1:70: a whole number is expected here", NULL},
    {E ",\"shapes\":[[99999999999999999999]]}", "1:70: a whole number from 1 to", NULL},
    {E ",\"shapes\":[[1000000,1000000,1000000]]}", "1:86: a shape of more than", NULL},
    {E ",\"shapes\":[{\"x\":[1],\"x\":[1]}]}", "1:78: the shape of \"x\" is given twice", NULL},
    {"{\"kind\":\"template\",\"template\":\"a.cu\"}",
     "1:1: \"name\" is missing; a template needs it", "^"},
    {"{\"kind\":\"template\",\"name\":\"f\"}", "1:1: \"template\" is missing", "^"},
    {"{\"kind\":\"template\",\"name\":\"f\",\"template\":\"a.cu\",\"in\":\"T x\"}",
     "1:49: a template has no \"in\"", NULL},
    {E ",\"template\":\"a.cu\"}", "1:59: an elementwise kernel has no \"template\"", NULL},
    {"{\"kind\":\"row\",\"in\":\"\",\"out\":\"\",\"layouts\":[]}", "1:1: \"stages\" is missing",
     NULL},
    {"{\"kind\":\"row\",\"stages\":[{\"map\":1}]}", "1:32: a string is expected here", NULL},
    {"{\"kind\":\"row\",\"stages\":[{\"mop\":1}]}", "1:26: there is no field \"mop\" here", NULL},
    {"{\"kind\":\"row\",\"values\":[{\"type\":\"int\"}]}", "1:25: a value needs", NULL},
    {R ",\"axes\":[0,0]}", "1:94: this axis is given twice", NULL},
    {R ",\"axes\":[32]}", "1:92: a whole number from -32 to 31", NULL},
    {R ",\"axes\":[[0],null,1]}", "1:101: null or a list of axes", NULL},
};

static void test_manifest__bad_lines_are_refused_with_line_and_column(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(bad_lines); r++) {
        kiln__manifest *m = kiln__manifest_of_families();
        kiln_error err = KILN_ERROR_INIT;
        size_t bad = 0;
        kiln_status status = kiln__manifest_read(m, "m", bad_lines[r].text, strlen(bad_lines[r].text),
                                                 count_bad, &bad, &err);
        const char *last = err.detail != NULL ? strrchr(err.detail, '\n') : NULL;
        if (status != KILN_ERR_FORMAT || bad != 1 || strncmp(err.message, "m:", 2) != 0 ||
            strncmp(err.message + 2, bad_lines[r].message, strlen(bad_lines[r].message)) != 0)
            fail_msg("row %zu, %s\n%s, not %s", r, bad_lines[r].text, err.message, bad_lines[r].message);
        if (last == NULL || (bad_lines[r].detail != NULL && strcmp(last + 1, bad_lines[r].detail) != 0))
            fail_msg("row %zu, %s\n%s", r, bad_lines[r].text, err.detail != NULL ? err.detail : "-");
        kiln_error_clear(&err);
        kiln__manifest_destroy(m);
    }
}

static void test_manifest__a_byte_of_a_text_is_found_in_its_line(void **state)
{
    static const char line[] = X "a\\n\\u00e9\xc3\xa9\\ud83d\\ude00\\\"z\",\"types\":[{}]}";
    /* Where each byte of the decoded text begins, behind the quote: counted by hand. A character of
     * several bytes is found whole. */
    static const size_t places[] = {0, 1, 3, 3, 9, 9, 11, 11, 11, 11, 23, 25, 26};
    kiln__manifest *m = kiln__manifest_of_families();

    (void)state;
    assert_int_equal(kiln__manifest_read(m, "m", line, strlen(line), NULL, NULL, NULL), KILN_OK);
    const kiln__manifest_entry *e = kiln__manifest_at(m, 0);
    const kiln__manifest_word *text = &e->text[KILN__MANIFEST_TEXT];
    assert_string_equal(text->text, "a\n\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80\"z");
    assert_int_equal(text->at, strlen(X));
    for (size_t k = 0; k < COUNT(places) - 1; k++)
        assert_int_equal(kiln__manifest_place(e, text, k), text->at + places[k]);
    /* The end of the text is its closing quote, and so is what is behind. */
    assert_int_equal(kiln__manifest_place(e, text, COUNT(places) - 1), text->at + 26);
    kiln__manifest_destroy(m);
}

static void test_manifest__every_bad_line_is_told_and_the_others_stay(void **state)
{
    static const char text[] = E "}\r\n\n}\n" R "}\n[]";
    kiln__manifest *m = kiln__manifest_of_families();
    size_t bad = 0;

    (void)state;
    assert_int_equal(kiln__manifest_read(m, "m", text, strlen(text), count_bad, &bad, NULL),
                     KILN_ERR_FORMAT);
    assert_int_equal(bad, 2);
    assert_int_equal(kiln__manifest_count(m), 2);
    assert_int_equal(kiln__manifest_at(m, 0)->line, 1);
    assert_int_equal(kiln__manifest_at(m, 1)->line, 4);
    kiln__manifest_destroy(m);
}

static void test_manifest__a_far_place_is_shown_in_a_window(void **state)
{
    char text[1200];
    kiln__manifest *m = kiln__manifest_of_families();
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    snprintf(text, sizeof text, "{\"kind\":\"elementwise\",\"op\":\"%0900d\",\"nope\":1,\"z\":2}", 0);
    assert_int_equal(kiln__manifest_read(m, "m", text, strlen(text), NULL, NULL, &err),
                     KILN_ERR_FORMAT);
    assert_non_null(strstr(err.message, "m:1:931: there is no field \"nope\""));
    assert_true(strlen(err.detail) < 220);
    const char *caret = strchr(err.detail, '\n') + 1;
    assert_memory_equal(err.detail + strspn(caret, " "), "\"nope\"", 6);
    kiln_error_clear(&err);
    kiln__manifest_destroy(m);
}

static void test_manifest__fields_are_read_as_they_are_written(void **state)
{
    static const char text[] =
        "{ \"kind\" : \"reduction\" , \"name\":\"n\",\"in\":\"T x\",\"out\":\"T y\",\"map\":\"x /* "
        "\\u00e9\\ud83d\\ude00 \\\"q\\\" \\/ \\b\\f\\n\\r\\t */\",\"reduce\":\"a+b\",\"post\":\"y=a\","
        "\"identity\":\"0\",\"reduce_type\":\"double\",\"preamble\":\"\",\"options\":[\"-DA=1\"],"
        "\"types\":[{\"T\":\"float32\",\"U\":\"int8\"},{}],\"axes\":[null,[-1,0]],"
        "\"shapes\":[[2,3],{\"x\":[4]}],\"scalars\":[\"x\"],\"layouts\":[\"l\",\"m\"]}";
    kiln__manifest *m = kiln__manifest_of_families();

    (void)state;
    assert_int_equal(kiln__manifest_read(m, "m", text, strlen(text), NULL, NULL, NULL), KILN_OK);
    const kiln__manifest_entry *e = kiln__manifest_at(m, 0);
    assert_string_equal(e->kind->name, "reduction");
    assert_string_equal(e->text[KILN__MANIFEST_NAME].text, "n");
    assert_string_equal(e->text[KILN__MANIFEST_MAP].text,
                        "x /* \xc3\xa9\xf0\x9f\x98\x80 \"q\" / \b\f\n\r\t */");
    assert_string_equal(e->text[KILN__MANIFEST_PREAMBLE].text, "");
    assert_null(e->text[KILN__MANIFEST_OP].text);
    assert_int_equal(e->option_count, 1);
    assert_string_equal(e->options[0], "-DA=1");
    assert_int_equal(e->type_count, 2);
    assert_int_equal(e->types[0].dtype['T'], KILN_FLOAT32);
    assert_int_equal(e->types[0].dtype['U'], KILN_INT8);
    assert_int_equal(e->types[1].dtype['T'], KILN_DTYPE_NONE);
    assert_int_equal(e->axes_count, 2);
    assert_true(e->axes[0].all);
    assert_int_equal(e->axes[1].count, 2);
    assert_int_equal(e->axes[1].axis[0], -1);
    assert_int_equal(e->shape_count, 2);
    assert_int_equal(e->shapes[0].items[0].rank, 2);
    assert_int_equal(e->shapes[0].items[0].extent[1], 3);
    assert_string_equal(e->shapes[1].items[0].param, "x");
    assert_true(e->has_scalars && e->scalar_count == 1 && e->layout_count == 2);
    assert_string_equal(e->layouts[1].text, "m");
    kiln__manifest_destroy(m);
}

static void test_manifest__what_is_written_reads_back_and_writes_the_same(void **state)
{
    static const char text[] =
        "{\"kind\":\"reduction\",\"name\":\"n\",\"in\":\"T x\",\"out\":\"T y\",\"map\":\"x\\n\\u0001\\\"\\\\"
        "\xc3\xa9\",\"reduce\":\"a\",\"post\":\"\",\"options\":[\"-a\",\"-b\"],\"types\":[{\"T\":"
        "\"bfloat16\"},{}],\"axes\":[null,[],[-1,2]],\"shapes\":[[],[2,3],{\"x\":[4],\"y\":[]}],"
        "\"scalars\":[],\"layouts\":[\"l\"]}";
    static const char scan[] = "{\"kind\":\"scan\",\"in\":\"T x\",\"out\":\"T y\",\"map\":\"x\",\"reduce\":"
                               "\"a+b\",\"post\":\"y=a\",\"exclusive\":true,\"reverse\":true}";
    static const char loop[] = E ",\"keep_axes\":true}";
    static const char row[] =
        "{\"kind\":\"row\",\"name\":\"softmax\",\"in\":\"T x\",\"out\":\"T y\",\"row_out\":\"T t\",\"op\":"
        "\"y = e / s\",\"post\":\"t = s\",\"stages\":[{\"map\":\"x\",\"type\":\"float\",\"reduce\":"
        "\"max(a, b)\",\"result\":\"m\"},{\"prep\":\"e = exp(x - m);\",\"map\":\"e\",\"type\":\"float\","
        "\"reduce\":\"a + b\",\"identity\":\"0\",\"result\":\"s\",\"post\":\";\"}],\"values\":[{\"type\":"
        "\"float\",\"name\":\"e\"}],\"layouts\":[\"l\"]}";
    static const char expression[] =
        X "x + \\n\\\"y\",\"wide\":true,\"types\":[{\"x\":\"float32\",\"b1\":\"bool\"},{}],\"shapes\":[[2,3],"
        "{\"x\":[4],\"b1\":[]}],\"scalars\":[\"b1\"]}";
    static const char module[] =
        "{\"kind\":\"module\",\"name\":\"m\",\"source\":\"__global__ void f() {}\\n\",\"options\":[\"-DA\"],"
        "\"names\":[\"f<int, 4>\",\"&ns::Ã©\"]}";
    static const char template[] = "{\"kind\":\"template\",\"name\":\"f\",\"template\":\"a/b.cu\","
                                   "\"options\":[\"-DA=1\"]}";
    const char *const lines[] = {text, scan, loop, row, expression, module, template};

    (void)state;
    for (size_t k = 0; k < COUNT(lines); k++) {
        kiln__manifest *m = kiln__manifest_of_families();
        kiln__buf out = KILN__BUF_INIT;
        kiln_error err = KILN_ERROR_INIT;
        if (kiln__manifest_read(m, "m", lines[k], strlen(lines[k]), NULL, NULL, &err) != KILN_OK)
            fail_msg("%s\n%s", err.message, err.detail);
        assert_true(kiln__manifest_write(kiln__manifest_at(m, 0), &out));
        assert_string_equal(out.text, lines[k]);
        kiln__buf_clear(&out);
        kiln__manifest_destroy(m);
    }
    kiln__manifest_entry latin = {.text = {[KILN__MANIFEST_OP] = {"\xe9", 0}}};
    kiln__buf out = KILN__BUF_INIT;
    assert_false(kiln__manifest_write(&latin, &out));
    assert_int_equal(out.length, 0);
    kiln__buf_clear(&out);
}

/* ---- memory ------------------------------------------------------------------------------------ */

#ifdef KILN_TEST_HOOKS
static kiln_status count_kernel(void *user, const kiln__definition *def,
                                const kiln__variant *variant, kiln_error *err)
{
    (void)def;
    (void)variant;
    (void)err;
    ++*(size_t *)user;
    return KILN_OK;
}

static kiln_status expand_line(const char *line, size_t *kernels)
{
    kiln__manifest *m = kiln__manifest_of_families();
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = m != NULL ? KILN_OK : KILN_ERR_NO_MEMORY;

    *kernels = 0;
    if (status == KILN_OK)
        status = kiln__manifest_read(m, "m", line, strlen(line), NULL, NULL, &err);
    if (status == KILN_OK)
        status = kiln__warm_expand(kiln__manifest_at(m, 0), KILN_BACKEND_CPU, count_kernel, kernels,
                                   &err);
    kiln_error_clear(&err);
    kiln__manifest_destroy(m);
    return status;
}

/* A line either gives all of its kernels or fails: one that was left out would be compiled later, by
 * a program that was promised otherwise. */
static void test_manifest__each_allocation_of_an_expansion_may_fail(void **state)
{
    static const char *const lines[] = {
        X "x * 2 + y, x.T\",\"types\":[{\"x\":\"float32\",\"y\":\"int8\"}],\"scalars\":[\"y\"]}",
        X "x / sum(x, axis=-1, keepdims=True)\",\"types\":[{\"x\":\"float32\"}],\"shapes\":[[9,64]]}",
        R ",\"types\":[{\"T\":\"float32\"}],\"shapes\":[[9,64]]}"};

    (void)state;
    for (size_t k = 0; k < COUNT(lines); k++) {
        const size_t live = kiln__test_alloc_live();
        size_t all = 0, kernels = 0, nth = 0;
        assert_int_equal(expand_line(lines[k], &all), KILN_OK);
        assert_true(all > 0);
        kiln_status status = KILN_ERR_NO_MEMORY;
        /* Texts of messages may be left out, so that a call in between may succeed. */
        for (int good = 0; good < 5 && nth < 20000; nth++) {
            kiln__test_alloc_fail_at(nth);
            status = expand_line(lines[k], &kernels);
            kiln__test_alloc_fail_at(SIZE_MAX);
            good = status == KILN_OK ? good + 1 : 0;
            if (status == KILN_OK ? kernels != all : status != KILN_ERR_NO_MEMORY)
                fail_msg("%zu: %s, %zu of %zu kernels", nth, kiln_status_name(status), kernels, all);
        }
        assert_int_equal(status, KILN_OK);
        assert_true(nth > 20 && nth < 20000);
        assert_int_equal(kiln__test_alloc_live(), live);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef KILN_TEST_HOOKS
        cmocka_unit_test(test_manifest__each_allocation_of_an_expansion_may_fail),
#endif
        cmocka_unit_test(test_manifest__no_byte_of_a_variant_is_left_out_of_its_text),
        cmocka_unit_test(test_manifest__every_plan_comes_back_from_its_text),
        cmocka_unit_test(test_manifest__text_that_is_no_variant_is_refused_in_its_place),
        cmocka_unit_test(test_manifest__text_of_no_window_is_refused_in_its_place),
        cmocka_unit_test(test_manifest__text_of_no_tile_is_refused_in_its_place),
        cmocka_unit_test(test_manifest__only_scans_have_segments_that_are_no_power_of_two),
        cmocka_unit_test(test_manifest__bad_lines_are_refused_with_line_and_column),
        cmocka_unit_test(test_manifest__a_byte_of_a_text_is_found_in_its_line),
        cmocka_unit_test(test_manifest__every_bad_line_is_told_and_the_others_stay),
        cmocka_unit_test(test_manifest__a_far_place_is_shown_in_a_window),
        cmocka_unit_test(test_manifest__fields_are_read_as_they_are_written),
        cmocka_unit_test(test_manifest__what_is_written_reads_back_and_writes_the_same),
    };
    return cmocka_run_group_tests_name("test_manifest", tests, NULL, NULL);
}
