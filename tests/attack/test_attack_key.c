/*
 * test_attack_key.c - wrong kernels out of the cache: files that change while they are compiled, what
 * binaries depend on and a key might miss, hashes made to collide, and files that never end.
 *
 * Every case runs on the cpu device in a process of its own, because a process finds its compiler and
 * its folders of headers once. A kernel gives the value of a macro V, and V comes from a file.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/core.h"
#include "in_child.h"
#include "kiln/kiln.h"

static char base[64]; /* of one case */

/* The one source of processes here: what failed, for the parent to see. */
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static void put_file(const char *name, const char *text, size_t bytes)
{
    char path[256];
    FILE *file = NULL;

    snprintf(path, sizeof path, "%s/%s", base, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

static void put_text(const char *name, const char *text)
{
    put_file(name, text, strlen(text));
}

static int setup(void **state)
{
    char path[128];

    (void)state;
    snprintf(base, sizeof base, "/tmp/kiln-test-key-XXXXXX");
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/cache", base);
    setenv("KILN_CACHE_DIR", path, 1);
    setenv("KILN_DEVICE", "cpu", 1);
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

/* V as a kernel of this context sees it; -1 when it fails, and then `err` tells. */
static float value_in(kiln_context *ctx, const char *preamble, const char *const *options,
                      size_t count, kiln_error *err)
{
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;
    const int64_t shape[] = {1};
    float value = -1;

    o.preamble = preamble;
    o.compiler_options = options;
    o.compiler_option_count = count;
    if (kiln_array_full(ctx, KILN_FLOAT32, 1, shape, 0, &x, err) != KILN_OK ||
        kiln_elementwise_create(ctx, "T x", "T z", "z = x + V", &o, &op, err) != KILN_OK ||
        kiln_call(op, err, x, &z) != KILN_OK ||
        kiln_array_to_host(z, &value, sizeof value, NULL, err) != KILN_OK)
        value = -1;
    kiln_array_release(z);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
    return value;
}

/* The same in a new context with the disk's cache; how many kernels it kept. */
static float value_of(const char *preamble, const char *const *options, size_t count,
                      uint64_t *stores)
{
    kiln_cache_counters counters;
    kiln_context *ctx = NULL;
    kiln_error err = KILN_ERROR_INIT;
    float value = -1;

    if (kiln_context_create(NULL, &ctx, &err) == KILN_OK)
        value = value_in(ctx, preamble, options, count, &err);
    if (value == -1)
        fprintf(stderr, "%s\n", err.message);
    kiln_error_clear(&err);
    kiln_context_cache_counters(ctx, &counters);
    if (stores != NULL)
        *stores = counters.stores;
    kiln_context_release(ctx);
    return value;
}

/* ---- files that change while they are compiled ---- */

/* A compiler before and behind which something happens. */
static void put_compiler(const char *before, const char *behind)
{
    char text[600], path[128];

    snprintf(text, sizeof text,
             "#!/bin/sh\ncase \"$*\" in *--version*) exec c++ --version;; esac\ncd %s\n%s\n"
             "c++ \"$@\"\nstatus=$?\n%s\nexit $status\n",
             base, before, behind);
    put_text("compiler", text);
    snprintf(path, sizeof path, "%s/compiler", base);
    if (chmod(path, 0700) != 0)
        abort();
    setenv("KILN_CXX", path, 1);
}

/* The compiler sees 2 where the key was made of 1. Whatever it says now, later on V is 1. */
static bool is_not_poisoned(const char *before, const char *behind)
{
    kiln_context *ctx = NULL;
    kiln_error err = KILN_ERROR_INIT;
    char option[128];
    const char *const options[] = {option};

    snprintf(option, sizeof option, "-I%s", base);
    put_text("v.h", "#define V 1.0f\n");
    put_text("one", "#define V 1.0f\n");
    put_text("two", "#define V 2.0f\n");
    put_compiler(before, behind);
    CHECK(kiln_context_create(NULL, &ctx, &err) == KILN_OK, "%s", err.message);
    const float seen = value_in(ctx, "#include \"v.h\"\n", options, 1, &err);
    CHECK(seen == 2, "the compiler was to see 2, not %g: %s", (double)seen, err.message);
    /* From now on nothing changes, neither for this context nor for others. */
    put_compiler("", "");
    put_text("v.h", "#define V 1.0f\n");
    const float again = value_in(ctx, "#include \"v.h\"\n", options, 1, &err);
    CHECK(again == 1, "V is 1 and the same context says %g", (double)again);
    kiln_context_release(ctx);
    for (int k = 0; k < 2; k++) {
        const float later = value_of("#include \"v.h\"\n", options, 1, NULL);
        CHECK(later == 1, "V is 1 and a new context says %g", (double)later);
    }
    return true;
}

static bool changed_in_place(void)
{
    return is_not_poisoned("cat two > v.h", "");
}

static bool changed_in_place_and_back(void)
{
    return is_not_poisoned("cat two > v.h", "cat one > v.h");
}

static bool replaced(void)
{
    return is_not_poisoned("cp two t; mv t v.h", "");
}

static bool replaced_and_back(void)
{
    return is_not_poisoned("mv v.h kept; cp two v.h", "mv kept v.h");
}

/* With the time of its last change forged as well. */
static bool changed_back_with_its_time(void)
{
    return is_not_poisoned("cp -p v.h kept; cat two > v.h", "cat one > v.h; touch -r kept v.h");
}

static void test_attack_key__a_header_that_changes_in_place_poisons_nothing(void **state)
{
    (void)state;
    in_child(changed_in_place);
}

static void test_attack_key__a_header_that_changes_and_back_poisons_nothing(void **state)
{
    (void)state;
    in_child(changed_in_place_and_back);
}

static void test_attack_key__a_replaced_header_poisons_nothing(void **state)
{
    (void)state;
    in_child(replaced);
}

static void test_attack_key__a_header_replaced_and_put_back_poisons_nothing(void **state)
{
    (void)state;
    in_child(replaced_and_back);
}

static void test_attack_key__a_forged_time_hides_no_change(void **state)
{
    (void)state;
    in_child(changed_back_with_its_time);
}

/* A header that stays as it is is kept, however new it is. */
static bool new_header_is_kept(void)
{
    char option[128];
    const char *const options[] = {option};
    uint64_t stores = 0;

    snprintf(option, sizeof option, "-I%s", base);
    put_text("v.h", "#define V 1.0f\n");
    CHECK(value_of("#include \"v.h\"\n", options, 1, &stores) == 1, "V is 1");
    CHECK(stores > 0, "it was not kept");
    CHECK(value_of("#include \"v.h\"\n", options, 1, &stores) == 1, "V is 1");
    CHECK(stores == 0, "it was compiled again");
    return true;
}

static void test_attack_key__a_header_of_this_moment_is_kept(void **state)
{
    (void)state;
    in_child(new_header_is_kept);
}

/* ---- what a key might miss ---- */

/* `preamble` gives V from v.h or v.bin, which change; `@` in the option is the folder of them. */
typedef struct hidden {
    const char *preamble, *option;
    const char *outer; /* outer.h; NULL for none */
} hidden;

#define DECLARE                                                                                    \
    "extern \"C\" __attribute__((visibility(\"hidden\"))) const float v_;\n"                         \
    "#define V v_\n"

#define CHOOSE "#define V 2.0f\n#else\n#define V 1.0f\n#endif\n"

static const hidden hidden_cases[] = {
    /* whether a file is there */
    {"#if __has_include(\"there.h\")\n" CHOOSE, "-I@", NULL},
    {"#if __has_include(<there.h>)\n" CHOOSE, "-I@", NULL},
    {"#include \"outer.h\"\n#if HAS(<there.h>)\n" CHOOSE, "-I@",
     "#define HAS(_X) __has_include(_X)\n"},
    {"#define HAS(x) __has_include(x)\n#define here there\n#if HAS(<here.h>)\n" CHOOSE, "-I@",
     NULL},
    {"#define NAME \"there.h\"\n#if __has_include(NAME)\n" CHOOSE, "-I@", NULL},
    {"#if __has_\\\ninclude(\"there.h\")\n#define V 2.0f\n#else\n#define V 1.0f\n#endif\n", "-I@",
     NULL},
    {"#if HAS(\"there.h\")\n#define V 2.0f\n#else\n#define V 1.0f\n#endif\n",
     "-DHAS(x)=__has_include(x)", NULL},
    {"#define HAS __has_include\n#if HAS(\"there.h\")\n#define V 2.0f\n#else\n#define V 1.0f\n"
     "#endif\n",
     "-I@", NULL},
    /* an #include in disguise */
    {"#inc\\ \t\nlude \"v.h\"\n", "-I@", NULL},
    {"#include \"outer.h\"\n", "-I@", "#inc\\  \nlude \"v.h\"\n"},
    {"#include \"outer.h\"\n", "-I@", "int a;\r#include \"v.h\"\r"},
    {"#define NAME \"v.h\"\n#include NAME\n", "-I@", NULL},
    {"#include FILE_OF_V\n", "-DFILE_OF_V=\"@/v.h\"", NULL},
    {"", "-include@/outer.h", "#define NAME \"v.h\"\n#include NAME\n"},
    {"#include \"outer.h\"\n", "-I@", "#include_next \"v.h\"\n"},
    /* what an assembler reads */
    {"#include \"outer.h\"\n" DECLARE, "-I@",
     "asm(\".pushsection .rodata\\nv_: .incbin \\\"v.bin\\\"\\n.popsection\");\n"},
    {"#include \"outer.h\"\n" DECLARE, "-I@",
     "__asm__(\".pushsection .rodata\\nv_: .inc\" \"bin \\\"v.bin\\\"\\n.popsection\");\n"},
    {"#include \"outer.h\"\n" DECLARE, "-I@",
     "__asm(R\"(.pushsection .rodata\nv_: .incbin \"v.bin\"\n.popsection)\");\n"},
    {"#include \"outer.h\"\nASSEMBLE(\".pushsection .rodata\\nv_: .incbin \\\"v.bin\\\"\\n"
     ".popsection\");\n" DECLARE,
     "-I@", "#define ASSEMBLE(x) asm(x)\n"},
    {"ASSEMBLE(\".pushsection .rodata\\nv_: .incbin \\\"v.bin\\\"\\n.popsection\");\n" DECLARE,
     "-DASSEMBLE=asm", NULL},
};
static const hidden *hidden_case;

static bool sees_the_change(void)
{
    const hidden *h = hidden_case;
    char option[256];
    const char *const options[] = {option};
    const char *at = h->option + strcspn(h->option, "@");

    snprintf(option, sizeof option, "%.*s%s%s", (int)(at - h->option), h->option,
             *at == '@' ? base : "", *at == '@' ? at + 1 : "");
    CHECK(chdir(base) == 0, "%s", base);
    if (h->outer != NULL)
        put_text("outer.h", h->outer);
    for (int v = 1; v <= 2; v++) {
        const float number = (float)v;
        char text[64];
        snprintf(text, sizeof text, "#define V %d.0f\n", v);
        put_text("v.h", text);
        put_file("v.bin", (const char *)&number, sizeof number);
        if (v == 2)
            put_text("there.h", "");
        /* Twice: from the compiler, and from what was kept. */
        for (int round = 0; round < 2; round++) {
            const float got = value_of(h->preamble, options, 1, NULL);
            CHECK(got == number, "case %d, V is %d, round %d: %g",
                  (int)(h - hidden_cases), v, round, (double)got);
        }
    }
    return true;
}

static void test_attack_key__every_file_counts_however_it_is_named(void **state)
{
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(hidden_cases); k++) {
        hidden_case = &hidden_cases[k];
        in_child(sees_the_change);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

/* What a __has_include is told is in the key, so that such kernels are kept. */
static bool answers_are_kept(void)
{
    static const char *const preambles[] = {
        "#if defined(__has_include) && __has_include(\"there.h\")\n" CHOOSE,
        "#ifdef __has_include\n#if __has_include(<there.h>)\n" CHOOSE "#endif\n",
        "#define HAS(x) __has_include(x)\n#if HAS(<there.h>)\n" CHOOSE,
        "#ifndef HAS\n#define HAS( _X ) __has_include ( _X ) // as libraries do\n#endif\n"
        "#if defined(HAS) && HAS(\"there.h\")\n" CHOOSE "#undef HAS\n",
    };
    /* What the scan cannot tell apart from a question whose name a macro makes. */
    static const char *const doubtful[] = {
        "#define NAME \"there.h\"\n#if __has_include(NAME)\n" CHOOSE,
        "#define HAS(x) __has_include(x)\n#define there where\n#if HAS(<there.h>)\n" CHOOSE,
        "#define HAS(x) __has_include(x)\n#if HAS(<there.h>)\n" CHOOSE "#define there where\n",
        "#define HAS(x) __has_include(x)\n#define ASK HAS\n#if ASK(<there.h>)\n" CHOOSE,
        "#define HAS(x, y) __has_include(y)\n#if HAS(<a.h>, <there.h>)\n" CHOOSE,
    };
    char option[128];
    const char *const options[] = {option};
    uint64_t stores = 0;

    snprintf(option, sizeof option, "-I%s", base);
    put_text("there.h", "");
    for (size_t k = 0; k < KILN_COUNT_OF(preambles); k++) {
        CHECK(value_of(preambles[k], options, 1, &stores) == 2, "case %zu", k);
        CHECK(stores > 0, "case %zu was not kept", k);
        CHECK(value_of(preambles[k], options, 1, &stores) == 2, "case %zu", k);
        CHECK(stores == 0, "case %zu was compiled again", k);
    }
    for (size_t k = 0; k < KILN_COUNT_OF(doubtful); k++) {
        CHECK(value_of(doubtful[k], options, 1, &stores) > 0, "case %zu", k);
        CHECK(stores == 0, "doubtful case %zu was kept", k);
    }
    return true;
}

static void test_attack_key__questions_for_files_are_kept_with_their_answers(void **state)
{
    (void)state;
    in_child(answers_are_kept);
}

/* What no file holds: kept in memory, never on the disk. */
static bool times_are_not_kept(void)
{
    static const char *const preambles[] = {
        "#define V (float)(sizeof __TIME__ * 0 + 1)\n",
        "#define V (float)(sizeof __DATE__ * 0 + 1)\n",
        "#define V (float)(sizeof __TIMESTAMP__ * 0 + 1)\n",
        "#define V (float)(sizeof __TI\\\nME__ * 0 + 1)\n",
        "#define V (float)(sizeof NOW * 0 + 1)\n",
        "#include \"outer.h\"\n#define V (float)(sizeof NOW2 * 0 + 1)\n",
    };
    char option[128];
    const char *const options[] = {"-DNOW=__TIME__", option};
    uint64_t stores = 0;

    snprintf(option, sizeof option, "-I%s", base);
    put_text("outer.h", "#define NOW2 __DATE__\n");
    for (size_t k = 0; k < KILN_COUNT_OF(preambles); k++) {
        const bool plain = k < 4;
        CHECK(value_of(preambles[k], options + plain, plain ? 1 : 2, &stores) == 1, "case %zu", k);
        CHECK(stores == 0, "case %zu was kept", k);
    }
    CHECK(value_of("#define V 1.0f\n", options + 1, 1, &stores) == 1 && stores > 0,
          "nothing at all is kept");
    return true;
}

static void test_attack_key__what_depends_on_the_time_is_not_kept(void **state)
{
    (void)state;
    in_child(times_are_not_kept);
}

/* A header that asks for its own name, in two folders that no option names. */
static const char *folder_of_header;

static bool names_itself(void)
{
    char path[128];
    float expected = 0;

    snprintf(path, sizeof path, "%s/%s", base, folder_of_header);
    setenv("CPATH", path, 1);
    expected = (float)(strlen(path) + strlen("/v.h") + 1);
    for (int round = 0; round < 2; round++) {
        const float got = value_of("#include \"v.h\"\n", NULL, 0, NULL);
        CHECK(got == expected, "%s: %g, not %g", path, (double)got, (double)expected);
    }
    return true;
}

static void test_attack_key__a_header_may_ask_for_its_name(void **state)
{
    static const char *const folders[] = {"a", "longer"};

    (void)state;
    for (int k = 0; k < 2; k++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", base, folders[k]);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/v.h", folders[k]);
        put_text(path, "static const float v_ = sizeof __FILE__;\n#define V v_\n");
        folder_of_header = folders[k];
        in_child(names_itself);
    }
}

/* ---- hashes made to collide ---- */

/*
 * A header with "1" or "2" in it and the same XXH3-128 for both, when its first byte stands at
 * `offset` of what is hashed. In a stripe of 64 bytes a lane of 8 adds itself to one sum, and the
 * product of its halves (each mixed with a secret that is known) to another. With a lower half that
 * is the secret itself the product is 0, so that the upper half may change as long as the same lane
 * of another stripe changes the other way.
 */
#define HEADER_BYTES 900

static const char *secret_at(size_t position)
{
    return (const char *)XXH3_kSecret + position % 1024 / 64 * 8 + position % 64;
}

static bool is_harmless(const char *four)
{
    for (int k = 0; k < 4; k++)
        if (four[k] == '\0' || strchr("\r\n*/\\?", four[k]) != NULL)
            return false;
    return true;
}

/* False when no place in this header will do. */
static bool make_header(size_t offset, char digit, char header[HEADER_BYTES + 1])
{
    memset(header, ' ', HEADER_BYTES);
    header[HEADER_BYTES] = '\0';
    memcpy(header, "#define V ", 10);
    header[HEADER_BYTES - 1] = '\n';
    for (size_t first = 16 + (8 - (offset + 16) % 8) % 8; first < 300; first += 8) {
        const size_t second = first + 128;
        if ((offset + first) / 1024 != (offset + second) / 1024 ||
            !is_harmless(secret_at(offset + first)) || !is_harmless(secret_at(offset + second)))
            continue;
        /* V is what stands behind the comment; the other digit is in a comment itself. */
        memcpy(header + first - 2, "/*", 2);
        memcpy(header + first, secret_at(offset + first), 4);
        memcpy(header + first + 4, "*/1 ", 4);
        header[first + 6] = digit;
        header[first + 40] = '\n';
        memcpy(header + first + 41, "/*", 2);
        memcpy(header + second, secret_at(offset + second), 4);
        header[second + 6] = digit == '1' ? '2' : '1';
        memcpy(header + second + 8, "*/", 2);
        return true;
    }
    return false;
}

/* Where the preamble begins in the key of the kernel that has it, and all before it. */
static size_t read_key(char *before, size_t room)
{
    kiln_cache *cache = NULL;
    kiln_cache_entry *entries = NULL, entry;
    size_t count = 0, offset = 0;

    if (kiln_cache_open(NULL, &cache, NULL) != KILN_OK ||
        kiln_cache_list(cache, KILN_CACHE_BY_BYTES, &entries, &count, NULL) != KILN_OK)
        return 0;
    for (size_t k = 0; k < count && offset == 0; k++) {
        char *text = NULL, *at = NULL;
        if (kiln_cache_show(cache, entries[k].key, &entry, &text, NULL) != KILN_OK)
            continue;
        at = strncmp(text, "kiln-kernel 2\n", 14) == 0 ? strstr(text, "#define V ") : NULL;
        if (at != NULL && (size_t)(at - text) < room)
            offset = (size_t)(at - text);
        memcpy(before, text, offset);
        kiln_free(text);
    }
    kiln_free(entries);
    kiln_cache_close(cache);
    return offset;
}

/* Texts whose hash is one when `offset` bytes stand before them: headers, or preambles, which a key
 * holds as they are. */
static bool collides(const char *before, size_t offset, bool headers)
{
    static char text[2][HEADER_BYTES + 1], whole[2][1 << 20];
    XXH128_hash_t hashes[2];
    char option[128];
    const char *const options[] = {option};
    kiln_context *ctx = NULL;
    kiln_error err = KILN_ERROR_INIT;

    for (int k = 0; k < 2; k++) {
        CHECK(make_header(offset, (char)('1' + k), text[k]), "no place");
        memcpy(whole[k], before, offset);
        memcpy(whole[k] + offset, text[k], HEADER_BYTES);
        hashes[k] = XXH3_128bits(whole[k], offset + HEADER_BYTES);
    }
    CHECK(XXH128_isEqual(hashes[0], hashes[1]), "the hashes differ");
    CHECK(memcmp(text[0], text[1], HEADER_BYTES) != 0, "the headers do not");

    snprintf(option, sizeof option, "-I%s", base);
    CHECK(kiln_context_create(NULL, &ctx, &err) == KILN_OK, "%s", err.message);
    for (int k = 0; k < 4; k++) {
        const char *preamble = headers ? "#include \"v.h\"\n" : text[k % 2];
        put_text("v.h", text[k % 2]);
        const float in_memory = value_in(ctx, preamble, options, headers ? 1 : 0, &err);
        CHECK(in_memory == (float)(k % 2 + 1), "V is %d, one context says %g %s", k % 2 + 1,
              (double)in_memory, err.message);
        const float on_disk = value_of(preamble, options, headers ? 1 : 0, NULL);
        CHECK(on_disk == (float)(k % 2 + 1), "V is %d, a new context says %g", k % 2 + 1,
              (double)on_disk);
    }
    kiln_context_release(ctx);
    return true;
}

static bool headers_collide(void)
{
    return collides("", 0, true);
}

static void test_attack_key__headers_of_one_hash_are_two(void **state)
{
    (void)state;
    in_child(headers_collide);
}

/* Whole keys: one name on the disk, one place in the tables of a process. */
static bool keys_collide(void)
{
    static char before[1 << 19], text[HEADER_BYTES + 1];
    size_t offset = 0;

    memset(text, ' ', HEADER_BYTES); /* as long as the others: its length is in the key too */
    memcpy(text, "#define V 3", 11);
    text[HEADER_BYTES - 1] = '\n';
    CHECK(value_of(text, NULL, 0, NULL) == 3, "V is 3");
    offset = read_key(before, sizeof before);
    CHECK(offset > 100, "the key is not to be seen");
    return collides(before, offset, false);
}

static void test_attack_key__keys_of_one_hash_are_two(void **state)
{
    (void)state;
    in_child(keys_collide);
}

/* ---- files that never end ---- */

static const char *endless;

static bool does_not_hang(void)
{
    kiln_context *ctx = NULL;
    kiln_error err = KILN_ERROR_INIT;
    char preamble[256], option[256];
    const char *const options[] = {option};

    alarm(60);
    CHECK(kiln_context_create(NULL, &ctx, &err) == KILN_OK, "%s", err.message);
    snprintf(preamble, sizeof preamble, "#include \"%s\"\n#define V 1\n", endless);
    const float value = value_in(ctx, preamble, NULL, 0, &err);
    CHECK(value == -1 && err.status == KILN_ERR_IO, "%s: %g, %s", endless, (double)value,
          err.message);
    CHECK(strstr(err.message, endless) != NULL, "%s", err.message);
    snprintf(option, sizeof option, "-include%s", endless);
    CHECK(value_in(ctx, "#define V 1\n", options, 1, &err) == -1, "an option may name it");
    /* An empty file by a usual name. */
    CHECK(value_in(ctx, "#include \"/dev/null\"\n#define V 1\n", NULL, 0, &err) == 1, "%s",
          err.message);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    return true;
}

static void test_attack_key__pipes_and_devices_are_not_read(void **state)
{
    char pipe_path[128];
    const char *const paths[] = {pipe_path, "/dev/zero", "/dev/tty", "/dev/stdin"};

    (void)state;
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", base);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    for (size_t k = 0; k < 2; k++) {
        endless = paths[k];
        in_child(does_not_hang);
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_attack_key__a_header_that_changes_in_place_poisons_nothing),
        CASE(test_attack_key__a_header_that_changes_and_back_poisons_nothing),
        CASE(test_attack_key__a_replaced_header_poisons_nothing),
        CASE(test_attack_key__a_header_replaced_and_put_back_poisons_nothing),
        CASE(test_attack_key__a_forged_time_hides_no_change),
        CASE(test_attack_key__a_header_of_this_moment_is_kept),
        CASE(test_attack_key__every_file_counts_however_it_is_named),
        CASE(test_attack_key__questions_for_files_are_kept_with_their_answers),
        CASE(test_attack_key__what_depends_on_the_time_is_not_kept),
        CASE(test_attack_key__a_header_may_ask_for_its_name),
        CASE(test_attack_key__headers_of_one_hash_are_two),
        CASE(test_attack_key__keys_of_one_hash_are_two),
        CASE(test_attack_key__pipes_and_devices_are_not_read),
    };

    return cmocka_run_group_tests_name("attack_key", tests, NULL, NULL);
}
