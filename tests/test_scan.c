/*
 * test_scan.c - what a definition learns from its snippets.
 *
 * Expected values follow by hand from the rules of C++; a comment says which where it is not plain.
 */
#include <stdio.h>

#include "frontend.h"

/* ---- words ---- */

/* All words of a definition, one blank after each. */
static void check_words(const char *op, const char *want)
{
    kiln__definition *def = define("T x", "T z", op);
    kiln__buf got = KILN__BUF_INIT;

    kiln__buf_puts(&got, "");
    for (size_t k = 0; k < def->words.count; k++)
        kiln__buf_printf(&got, "%s ", def->words.items[k]);
    assert_string_equal(got.text, want);
    for (size_t k = 0; k < def->words.count; k++)
        assert_true(kiln__definition_uses(def, def->words.items[k]));
    assert_false(kiln__definition_uses(def, ""));
    assert_false(kiln__definition_uses(def, "zzz"));
    assert_false(kiln__definition_uses(def, "AA"));
    kiln__buf_clear(&got);
    kiln__definition_destroy(def);
}

static void test_scan__words_are_sorted_and_distinct(void **state)
{
    (void)state;
    check_words("", "");
    check_words("z = x * x + foo(x, bar::baz) - Q;", "Q bar baz foo x z ");
    check_words("if (x > 0) z = x; else z = -x;", "else if x z ");
    check_words("a.b->c", "a b c ");
    check_words("_a __b c1 $d", "$d __b _a c1 ");
}

static void test_scan__comments_and_literals_hold_no_words(void **state)
{
    (void)state;
    check_words("a // b c\nd", "a d ");
    check_words("a /* b \n // c */ d", "a d ");
    check_words("a // b \\\n c\nd", "a d "); /* the splice continues the comment */
    check_words("a / b / c", "a b c ");
    check_words("a /*/ b */ c", "a c ");
    check_words("a \"b // c\" d", "a d ");
    check_words("a \"b \\\" c\" d", "a d ");
    check_words("a \"\\\\\" d", "a d ");
    check_words("a 'b' '\\'' c", "a c ");
    check_words("a L\"b\" u8\"c\" U'd' e", "a e ");
    check_words("a Rx\"b\" c", "Rx a c "); /* Rx is no prefix: a word, then a string */
    check_words("a R\"(b \" c)\" d", "a d ");
    check_words("a R\"xy(b )\" )x\" c)xy\" d", "a d ");
    check_words("a LR\"(b\\)\" d", "a d ");
    check_words("a R\"(b\n#define c\n)\" d", "a d ");
    check_words("a \"b /* \" c \"*/\" d", "a c d ");
    check_words("a /* \" */ b /* \" */ c", "a b c ");
}

static void test_scan__numbers_hold_no_words(void **state)
{
    (void)state;
    check_words("1.5f + 0x1F + 1e5 + 1e+5f + .5e-3L + 0x1.8p+3 + 10ull + 0b101u", "");
    check_words("1'000'000 + a + 'b' + 0xFF'FFul", "a ");
    check_words("1.e5f x1 2.x", "x1 "); /* 2.x is one preprocessing number */
    check_words("3.f.g", "");
    check_words("a.5", "a ");
    check_words("1+a 1e-a", "a "); /* 1e-a is one preprocessing number, 1+a is not */
}

static void test_scan__lines_can_be_spliced_anywhere(void **state)
{
    (void)state;
    check_words("ab\\\ncd", "abcd ");
    check_words("ab\\\r\ncd", "abcd ");
    check_words("a\\\n\\\nb", "ab ");
    check_words("/\\\n* a *\\\n/ b", "b ");
    check_words("\"a\\\nb\" c", "c ");
    check_words("a\\b", "a b ");
    check_words("\\\na", "a ");
}

static void test_scan__preprocessor_lines_count_as_uses(void **state)
{
    (void)state;
    check_words("#define SQ(v) ((v) * w)\nz = SQ(x);", "SQ v w x z ");
    check_words("#define A \\\n b\nc", "A b c ");
    check_words("  #  pragma unroll 4\nfor (;;) a;", "a for unroll ");
    check_words("#if FOO\na\n#else\nb\n#endif", "FOO a b ");
    check_words("#error don't do that\na", "a ");
    check_words("a # define\nb", "a b define "); /* no directive: not first on its line */
    check_words("/* c */ #define A 'x'\nb", "A b ");
    check_words("#", "");
    check_words("#\na", "a ");
}

static void test_scan__includes_are_noticed(void **state)
{
    static const struct {
        const char *text;
        bool includes;
        const char *words;
    } ROWS[] = {
        {"#include <a/b.h>\nc", true, "c "},       {"#include \"a.h\" // d\nc", true, "c "},
        {"  # include <it's.h>\nc", true, "c "},   {"#inc\\\nlude <a>\nc", true, "c "},
        {"// #include <a>\nc", false, "c "},       {"\"\\\n#include <a>\" c", false, "c "},
        {"x #include <a>", false, "a include x "}, {"#define include", false, "include "},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(ROWS); k++) {
        kiln__definition *def = define("T x", "T z", ROWS[k].text);
        assert_int_equal(def->includes, ROWS[k].includes);
        kiln__definition_destroy(def);
        check_words(ROWS[k].text, ROWS[k].words);
    }
}

/* ---- i, n, _ind ---- */

static void check_uses(const char *in, const char *op, bool index, bool size, bool indexer)
{
    kiln__definition *def = define(in, "T z", op);

    if (def->uses_index != index || def->uses_size != size || def->uses_indexer != indexer)
        print_error("uses of (%s) in: %s\n", in, op);
    assert_int_equal(def->uses_index, index);
    assert_int_equal(def->uses_size, size);
    assert_int_equal(def->uses_indexer, indexer);
    kiln__definition_destroy(def);
}

static void test_scan__loop_variables_are_noticed(void **state)
{
    (void)state;
    check_uses("T x", "z = x", false, false, false);
    check_uses("T x", "z = i", true, false, false);
    check_uses("T x", "z = n", false, true, false);
    check_uses("T x", "z = _ind.get()[0]", false, false, true);
    check_uses("T x", "z = sin(nn) + in + _index + ii", false, false, false);
    check_uses("T x", "z = 1; // i n _ind", false, false, false);
    check_uses("T x", "for (int i = 0; i < 3; i++) z += i;", true, false, false);
    check_uses("T x, int n", "z = x * n", false, false, false);
    check_uses("n x", "z = x * n(2)", false, false, false);
    check_uses("T x", "#define AT (i + n)\nz = AT", true, true, false);
}

static void test_scan__loop_variables_count_in_every_snippet_and_option(void **state)
{
    const char *const options[] = {"-DWHERE=i", "-D", "HOW_MANY=n"};
    kiln__definition_request request = {.in = "T x", .out = "T z", .options = options};
    kiln__definition *def = NULL;

    (void)state;
    for (int s = 0; s < 4; s++) {
        const char *texts[4] = {"", "", "", ""};
        texts[s] = "foo(i)";
        def = define_all("T x", "T z", texts[0], texts[1], texts[2], texts[3]);
        assert_true(def->uses_index);
        assert_true(kiln__definition_uses(def, "foo"));
        kiln__definition_destroy(def);
    }
    request.snippet[KILN__SNIPPET_OP] = "z = x";
    for (size_t count = 0; count < 4; count++) {
        request.option_count = count;
        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        assert_int_equal(def->uses_index, count >= 1);
        assert_int_equal(def->uses_size, count >= 3);
        kiln__definition_destroy(def);
    }
}

/* ---- CUDA only ---- */

static void check_cuda_only(const char *preamble, const char *op, const char *want)
{
    kiln__definition *def = define_all("T x, T clock64", "T z", preamble, NULL, op, NULL);

    if (strcmp(def->cuda_only_word, want) != 0)
        print_error("\"%s\" \"%s\": %s\n", preamble, op, def->cuda_only_word);
    assert_string_equal(def->cuda_only_word, want);
    assert_int_equal(def->cuda_only, want[0] != '\0');
    kiln__definition_destroy(def);
}

static void test_scan__the_first_cuda_only_word_is_named(void **state)
{
    (void)state;
    check_cuda_only("", "z = x + 1", "");
    check_cuda_only("", "z = threadIdx.x", "threadIdx");
    check_cuda_only("", "z = blockDim.x * threadIdx.x", "blockDim");
    check_cuda_only("__shared__ int k;", "z = threadIdx.x", "__shared__");
    check_cuda_only("", "z = __shfl_xor_sync(~0u, x, 1)", "__shfl_xor_sync");
    check_cuda_only("", "__syncthreads(); z = warpSize", "__syncthreads");
    check_cuda_only("", "asm(\"mov.u32 %0, 1;\" : \"=r\"(z));", "asm");
    check_cuda_only("", "z = clock()", "clock");
    check_cuda_only("", "int clock = 3; z = clock", "");
    check_cuda_only("", "z = s.clock()", "");
    check_cuda_only("", "z = clock64(x)", ""); /* a parameter of that name */
    check_cuda_only("", "// threadIdx\nz = x", "");
    check_cuda_only("#define LANE (threadIdx.x % 32)", "z = LANE", "threadIdx");
    check_cuda_only("", "atomicAdd(&z, x); __threadfence(); z = __popc(3) + __ldg(&x)", "");
}

static void test_scan__guarded_cuda_words_are_left_to_the_compiler(void **state)
{
    (void)state;
    check_cuda_only("#ifdef __CUDA_ARCH__\n__device__ int f() { return threadIdx.x; }\n#endif", "",
                    "");
    check_cuda_only("#if defined(__CUDACC__) && 1\n#if 1\nthreadIdx\n#endif\nblockIdx\n#endif\n"
                    "gridDim",
                    "", "gridDim");
    check_cuda_only("#ifndef ONCE\n#define ONCE\nthreadIdx\n#endif", "", "threadIdx");
    check_cuda_only("#endif\n#endif\nthreadIdx", "", "threadIdx");
    check_cuda_only("#if __NVCC__", "blockIdx", "blockIdx");
}

/* ---- addresses ---- */

static void check_address(const char *preamble, const char *op, bool want)
{
    kiln__definition *def = define_all("T x, T y, int32 k", "T z", preamble, NULL, op, NULL);

    if (def->params[0].by_address != want)
        print_error("address of x in: %s | %s\n", preamble, op);
    assert_int_equal(def->params[0].by_address, want);
    kiln__definition_destroy(def);
}

static void test_scan__addresses_taken_are_told_from_and(void **state)
{
    (void)state;
    check_address("", "f(&x)", true);
    check_address("", "f(1, &x)", true);
    check_address("", "p = &x;", true);
    check_address("", "&x;", true);
    check_address("", "a; &x;", true);
    check_address("", "f(& x)", true);
    check_address("", "f(&/**/x)", true);
    check_address("", "f(&(x))", true);
    check_address("", "f(&((x)))", true);
    check_address("", "a[0] = *&x;", true);
    check_address("", "return &x;", true);
    check_address("", "a + &x", true);
    check_address("", "a && &x", true);
    check_address("", "bitand x", true);
    check_address("", "atomicAdd(&x, y)", true);
    check_address("", "static_cast<T *>(&x)", true);
    check_address("", "(float *)&x", true);
    check_address("", "(const unsigned char *)&x", true);
    check_address("", "(size_t)&x", true);
    check_address("", "(complex<T> *)(&x)", true);
    check_address("", "z = sizeof(&x)", true);

    check_address("", "z = y & x", false);
    check_address("", "z = 3 & x", false);
    check_address("", "z = y &x", false);
    check_address("", "z = y && x", false);
    check_address("", "z = y &&x", false);
    check_address("", "z = f(y) & x", false);
    check_address("", "z = a[k] & x", false);
    check_address("", "z = (foo) & 255 + x", false);
    check_address("", "z = (y + 1) & x", false);
    check_address("", "z = (y) & x", false); /* y is a parameter, no type */
    check_address("", "z = T(y) & x", false);
    check_address("", "z = y bitand x", false);
    check_address("", "z &= x", false);
    check_address("", "f(&y) + x", false);
    check_address("", "f(&xx)", false);
    check_address("", "f(&s.x)", false);
    check_address("", "// &x\nz = x", false);
    check_address("", "auto f = [&](T v) { return v; }; z = f(x)", false);
    check_address("__device__ T f(const T &x) { return x; }", "z = f(y)", false);
}

static void test_scan__macros_that_take_addresses_are_suspected(void **state)
{
    (void)state;
    check_address("#define ADDR(v) (&(v))", "f(ADDR(x))", true);
    check_address("#define ADDR &x", "f(ADDR)", false); /* op itself does not name x ... */
    check_address("#define ADDR &x", "f(ADDR) + x", true);
    check_address("#define MASK(v) ((v) & 255)", "f(MASK(x))", false);
    check_address("#define BOTH(a, b) ((a) && (b))", "f(BOTH(x, y))", false);
}

/* ---- outputs ---- */

static void check_read_first_with(const char *preamble, const char *op, const char *option,
                                  bool want)
{
    kiln__definition_request request = {
        .in = "T x, T y, raw T table, int32 k", .out = "T z, T w", .options = &option};
    kiln__definition *def = NULL;

    request.option_count = option != NULL;
    request.snippet[KILN__SNIPPET_PREAMBLE] = preamble;
    request.snippet[KILN__SNIPPET_OP] = op;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    if (def->params[4].read_first != want)
        print_error("z %s be loaded: %s | %s\n", want ? "must" : "need not", preamble, op);
    assert_string_equal(def->params[4].name, "z");
    assert_int_equal(def->params[4].read_first, want);
    for (size_t p = 0; p < 4; p++)
        assert_false(def->params[p].read_first);
    kiln__definition_destroy(def);
}

static void assigned(const char *op)
{
    check_read_first_with(NULL, op, NULL, false);
}

static void loaded(const char *op)
{
    check_read_first_with(NULL, op, NULL, true);
}

static void test_scan__plain_assignments_need_no_load(void **state)
{
    (void)state;
    assigned("z = x");
    assigned("z = x;");
    assigned("z = x * y + T(1);");
    assigned("\n  // comment\n  z = x;\n");
    assigned("z = x; z += 1;");
    assigned("z = x; if (z > 3) return;");
    assigned("z = x > y ? x : y;");
    assigned("z = {1, 2};");
    assigned("z = complex<T>(x, y);");
    assigned("z = table[k * 2 + 1];");
    assigned("z = zz + z_ + s;");
    assigned("z\n=\nx;");
    assigned("z /* out */ = x");
    assigned("T t = x * y; z = t;");
    assigned("T t = x, u = y; t += u; z = t;");
    assigned("w = x; z = y;");
    assigned("; ; z = x");
    assigned("printf(\"%d\", k); z = x;");
    assigned("z = x; atomicAdd(&z, 1);");
    assigned("z = \"z\"[0];");
    assigned("z = x == y;");
    assigned("z = x; }{ z");
}

static void test_scan__reads_and_doubts_need_a_load(void **state)
{
    (void)state;
    loaded("");
    loaded("w = x");
    loaded("z += x");
    loaded("z = z + x");
    loaded("z++; z = x;");
    loaded("w = z; z = x;");
    loaded("f(&z)");
    loaded("f(z); z = x;");
    loaded("(z) = x;");
    loaded("z.real(x);");
    loaded("z[0] = x;");
    loaded("*&z = x;");
    loaded("z == x;");
    loaded("z <<= 1;");
    loaded("T z = x;"); /* another z, declared here */
    loaded("T z; z = x;");
    loaded("float a = x, z = y;"); /* a declaration, too */
    loaded("T &r = z; r = x;");
    loaded("auto f = [&] { z = x; }; f();");
    loaded("z = [&] { return x; }();"); /* fine in truth; `return` is not looked into */
    loaded("z = x + ({ if (k) return; 1; });");
    loaded("-z = x");
    loaded("x ? z = 1 : 2;");
    loaded("x && (z = 1);");
    loaded("label: z = x;");
    loaded("asm(\"\"); z = x;");
    loaded("} z = x; {");
    loaded("( z = x;");
    loaded("z = (x;");
    loaded("z = x }");
    loaded("foo { z = x; }");
    loaded("struct A { T z; }; z = x;");
    loaded("try { z = x; } catch (...) {}");
    loaded("z = x /* never closed");
    loaded("z = 'x");
}

static void test_scan__chains_and_commas(void **state)
{
    (void)state;
    assigned("w = z = x;");
    assigned("z = w = x;");
    assigned("z = w = z_ = x;");
    assigned("z = x, w = y;");
    assigned("w = y, z = x;");
    assigned("w = f(x, y), z = x;");
    assigned("z = x, w = z;"); /* read after the assignment */
    assigned("w = x ? 1 : 2, z = 3;");
    loaded("w = z, z = x;");
    loaded("w = z = z + 1;");
    loaded("z = w = z;");
    loaded("w = x ? 1, z = 3 : 4;"); /* the comma is inside ?: and z is assigned only then */
    loaded("w = x ? y ? 1 : 2, z = 3 : 4;");
    loaded("w = (x, z = 3);");
    loaded("f(x), z = 3;"); /* not looked into */
}

static void test_scan__branches_must_all_assign(void **state)
{
    (void)state;
    assigned("if (x > y) z = x; else z = y;");
    assigned("if (x > y) { z = x; } else { z = y; }");
    assigned("if (x > y) { w = x; z = x; } else if (x < 0) z = y; else { z = 0; w = 1; }");
    assigned("if constexpr (sizeof(T) > 4) z = x; else z = y;");
    assigned("if (x > y) z = 1; z = 2;");
    assigned("if (x > y) { z = 1; return; } z = 2;");
    assigned("if (x > y) { z = 1; continue; } else { w = 3; } z = 2;");
    assigned("if (x > y) w = 1; z = 2;");
    assigned("{ { z = x; } }");
    assigned("{ T t = x; z = t; }");
    assigned("if (x) ; else w = 1; z = 3;");
    loaded("if (x > y) z = x;");
    loaded("if (x > y) z = x; else w = y;");
    loaded("if (z > y) z = x; else z = y;");
    loaded("if (x > y) return; z = x;");
    loaded("if (x > y) continue; z = x;");
    loaded("if (x > y) break; z = x;");
    loaded("if (x > y) goto end; z = x; end:;");
    loaded("if (x > y) { w = 1; return; } else { z = 1; }");
    loaded("if (x > y) z = x; else return;");
    loaded("if (x > y) z += 1; else z = y;");
    loaded("if (x > y) if (x > 0) z = 1; else z = 2;"); /* the else belongs to the inner if */
    loaded("if x z = 1; else z = 2;");
    loaded("else z = 2;");
    loaded("return; z = x;");
    loaded("continue;");
    loaded("{ return; } z = x;");
}

static void test_scan__loops_may_run_no_times(void **state)
{
    (void)state;
    assigned("T s = 0; for (int j = 0; j < k; ++j) s += table[j]; z = s;");
    assigned("T s = 0; for (int j = 0; j < k; ++j) { if (j == 3) continue; s += j; } z = s;");
    assigned("int j = 0; while (j < k) { if (j == 3) break; j++; } z = j;");
    assigned("int j = 0; do { j++; } while (j < k); z = j;");
    assigned("int j = 0; do j++; while (j < k); z = j;");
    assigned("#pragma unroll\nfor (int j = 0; j < 4; ++j) w = j;\nz = x;");
    assigned("_Pragma(\"unroll\") for (int j = 0; j < 4; ++j) w = j; z = x;");
    assigned("switch (k) { case 1: w = 2; break; default: w = 3; } z = w;");
    assigned("z = 0; for (int j = 0; j < k; ++j) z += table[j];");
    assigned("for (;;) if (x) break; else w = 1; z = 3;");
    loaded("for (int j = 0; j < k; ++j) z = table[j];");
    loaded("for (int j = 0; j < k; ++j) { z = j; }");
    loaded("for (z = 0; z < k; ++z) ;");
    loaded("while (z < k) w++; z = x;");
    loaded("do z = x; while (0);"); /* fine in truth; loops are not looked into */
    loaded("for (int j = 0; j < k; ++j) if (j == 3) return; z = x;");
    loaded("while (k) goto out; z = x; out:;");
    loaded("switch (k) { case 1: z = 2; break; default: z = 3; }");
    loaded("switch (k) { case 1: continue; } z = 3;"); /* leaves the element */
    loaded("switch (k) { case 1: return; } z = 3;");
    loaded("for (;;) while (");
    loaded("do w = 1; z = x;");
}

static void test_scan__macros_that_could_be_anything_need_a_load(void **state)
{
    (void)state;
    check_read_first_with("#define SQ(v) ((v) * (v))", "z = SQ(x);", NULL, false);
    check_read_first_with("#define PI 3.14159", "w = PI; z = x;", NULL, false);
    check_read_first_with("#define NOTHING", "NOTHING z = x;", NULL, true);
    check_read_first_with("#define F(z) ((z) + 1)", "z = F(x);", NULL, false);
    check_read_first_with("#define CLAMP(v) ((v) < 0 ? 0 : (v))", "z = CLAMP(x);", NULL, false);
    check_read_first_with("#define OUT(v) z = v", "OUT(1); z = x;", NULL, true);
    check_read_first_with("#define GUARD if (x < 0) return", "GUARD; z = x;", NULL, true);
    check_read_first_with("#define GUARD if (x < 0) return", "z = x; GUARD;", NULL, true);
    check_read_first_with("#define UNUSED if (x < 0) return", "z = x;", NULL, false);
    check_read_first_with("#define INNER return\n#define OUTER INNER", "OUTER; z = x;", NULL, true);
    check_read_first_with("#define OLD z", "w = OLD; z = x;", NULL, true);
    check_read_first_with("#define z foo", "z = x;", NULL, true);
    check_read_first_with("#define if while", "if (x) w = 1; z = x;", NULL, true);
    check_read_first_with("#define OPEN (", "w = OPEN 1); z = x;", NULL, true);
    check_read_first_with("#define SEP :", "w = x ? 1 SEP 2; z = x;", NULL, true);
    check_read_first_with("#define CAT(a, b) a##b", "CAT(re, turn); z = x;", NULL, true);
    check_read_first_with("#define SKIP \\\n return", "SKIP; z = x;", NULL, true);
    check_read_first_with(NULL, "#define SKIP return\nSKIP; z = x;", NULL, true);
    check_read_first_with(NULL, "#define TWO 2\nz = TWO;", NULL, false);
    check_read_first_with(NULL, "#if FOO\nz = x;\n#else\nw = x;\n#endif", NULL, true);
    check_read_first_with(NULL, "SKIP; z = x;", "-DSKIP=return", true);
    check_read_first_with(NULL, "z = x * C;", "-DC=4", false);
    check_read_first_with(NULL, "z = x;", "--define-macro=z=foo", true);
}

static void test_scan__included_headers_are_suspected(void **state)
{
    (void)state;
    check_read_first_with("#include \"a.h\"", "z = foo(x);", NULL, false);
    check_read_first_with("#include \"a.h\"", "T t = foo(x); const float u = t; z = u;", NULL,
                          false);
    check_read_first_with("#include \"a.h\"", "w = x; z = foo(x);", NULL, false);
    check_read_first_with("#include \"a.h\"", "CHECK(x); z = x;", NULL, true);
    check_read_first_with("#include \"a.h\"", "CHECK; z = x;", NULL, true);
    check_read_first_with("#include \"a.h\"", "z = x; CHECK(x);", NULL, false);
    check_read_first_with("#include \"a.h\"", "while (k) { CHECK(x); } z = x;", NULL, true);
    check_read_first_with("#include \"a.h\"", "while (k) CHECK(x); z = x;", NULL, true);
    check_read_first_with("#include \"a.h\"", "while (k) if (x) w = 1; else CHECK(x); z = x;", NULL,
                          true);
    check_read_first_with("#include \"a.h\"", "do CHECK(x); while (k); z = x;", NULL, true);
    check_read_first_with("#include \"a.h\"", "for (int j = 0; j < 3; ++j) { w = j; } z = x;", NULL,
                          false);
    check_read_first_with(NULL, "CHECK(x); z = x;", "--pre-include=a.h", true);
    check_read_first_with(NULL, "CHECK(x); z = x;", NULL, false);
}

static void test_scan__several_outputs_are_told_apart(void **state)
{
    kiln__definition *def = define("T x", "T a, T b, raw T c, T d",
                                   "a = x; b += x; c[i] = x; if (x > 0) d = 1; else d = 2;");

    (void)state;
    assert_false(def->params[1].read_first);
    assert_true(def->params[2].read_first);
    assert_true(def->params[3].read_first); /* raw: never loaded nor stored by kiln */
    assert_false(def->params[4].read_first);
    kiln__definition_destroy(def);
}

static void test_scan__a_published_kernel_is_understood(void **state)
{
    /* In the manner of the Jacobi elliptic functions: early returns that assign everything. */
    kiln__definition *def =
        define("float64 u, float64 m", "float64 sn, float64 cn, float64 ph",
               "double ai, b;\n"
               "double a[9], c[9];\n"
               "int j;\n"
               "if (m < 0.0 || m > 1.0) {\n"
               "    sn = NAN; cn = NAN; ph = NAN;\n"
               "    return;\n"
               "}\n"
               "if (m < 1.0e-9) {\n"
               "    double t = sin(u); b = cos(u); ai = 0.25 * m * (u - t * b);\n"
               "    sn = t - ai * b; cn = b + ai * t; ph = u - ai;\n"
               "    return;\n"
               "}\n"
               "a[0] = 1.0; b = sqrt(1.0 - m); c[0] = sqrt(m); j = 0;\n"
               "while (fabs(c[j] / a[j]) > 1e-16) { if (j > 7) break; ++j; }\n"
               "ph = a[j] * u;\n"
               "sn = sin(ph);\n"
               "cn = cos(ph);\n");

    (void)state;
    for (size_t p = 2; p < 5; p++)
        assert_false(def->params[p].read_first);
    assert_false(def->uses_index);
    kiln__definition_destroy(def);
}

static void test_scan__deep_nesting_is_survived(void **state)
{
    static const char *const OPENERS[] = {"{", "if (x) ", "while (x) ", "do ",      "(",
                                          "[", "else ",   "_Pragma(",   "z = x ? ", "#if\n"};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(OPENERS); k++) {
        kiln__buf op = KILN__BUF_INIT;
        kiln__definition *def = NULL;

        for (int j = 0; j < 20000; j++)
            kiln__buf_puts(&op, OPENERS[k]);
        def = define("T x", "T z", op.text);
        assert_true(def->params[1].read_first || strstr(op.text, "z =") == op.text);
        kiln__definition_destroy(def);
        kiln__buf_clear(&op);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan__words_are_sorted_and_distinct),
        cmocka_unit_test(test_scan__comments_and_literals_hold_no_words),
        cmocka_unit_test(test_scan__numbers_hold_no_words),
        cmocka_unit_test(test_scan__lines_can_be_spliced_anywhere),
        cmocka_unit_test(test_scan__preprocessor_lines_count_as_uses),
        cmocka_unit_test(test_scan__includes_are_noticed),
        cmocka_unit_test(test_scan__loop_variables_are_noticed),
        cmocka_unit_test(test_scan__loop_variables_count_in_every_snippet_and_option),
        cmocka_unit_test(test_scan__the_first_cuda_only_word_is_named),
        cmocka_unit_test(test_scan__guarded_cuda_words_are_left_to_the_compiler),
        cmocka_unit_test(test_scan__addresses_taken_are_told_from_and),
        cmocka_unit_test(test_scan__macros_that_take_addresses_are_suspected),
        cmocka_unit_test(test_scan__plain_assignments_need_no_load),
        cmocka_unit_test(test_scan__reads_and_doubts_need_a_load),
        cmocka_unit_test(test_scan__chains_and_commas),
        cmocka_unit_test(test_scan__branches_must_all_assign),
        cmocka_unit_test(test_scan__loops_may_run_no_times),
        cmocka_unit_test(test_scan__macros_that_could_be_anything_need_a_load),
        cmocka_unit_test(test_scan__included_headers_are_suspected),
        cmocka_unit_test(test_scan__several_outputs_are_told_apart),
        cmocka_unit_test(test_scan__a_published_kernel_is_understood),
        cmocka_unit_test(test_scan__deep_nesting_is_survived),
    };

    return cmocka_run_group_tests_name("test_scan", tests, NULL, NULL);
}
