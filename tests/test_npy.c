/*
 * test_npy.c - .npy files: read, refused and written.
 *
 * data/npy holds files that NumPy wrote (data/make_npy.py); what is in them is computed here by
 * plain loops. Files that are broken are built here, each broken in one way.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "array/array.h"
#include "test_data.h"

/* A process that was armed is killed when it has written once and writes again. */
static bool kill_second_write;

ssize_t write(int fd, const void *data, size_t bytes)
{
    static int writes;

    if (kill_second_write && writes++ > 0)
        (void)raise(SIGKILL);
    return syscall(SYS_write, fd, data, bytes);
}

static char folder[] = "/tmp/kiln-test-npy-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int count_entries(void)
{
    DIR *dir = opendir(folder);
    int count = -2; /* . and .. */

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* Every test leaves the folder empty: no temporary file stays behind. */
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static char *in_folder(const char *name, char *path)
{
    snprintf(path, 1024, "%s/%s", folder, name);
    return path;
}

static char *read_bytes(const char *path, size_t *bytes_out)
{
    char *data = NULL;
    const int why = kiln__read_file(path, (size_t)1 << 30, &data, bytes_out);

    if (why != 0)
        fail_msg("%s: %s", path, strerror(why));
    return data;
}

static void write_bytes(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* ---- the elements that make_npy.py puts into a file ---- */

/* Element k of sample(), as bytes in memory. These quarters are exact in float16 too. */
static void sample(kiln_dtype dtype, int k, unsigned char out[16])
{
    const char kind = kiln_dtype_kind(dtype);
    const int64_t whole = kind == 'u' ? k * 7 : k * 7 - 20;
    double real = (double)(k * 7 - 20) / 4;

    if (kind == 'i' || kind == 'u') {
        memcpy(out, &whole, kiln_dtype_size(dtype)); /* of a little-endian machine */
        return;
    }

#define PUT(type, value)                                                                           \
    do {                                                                                           \
        type v = (type)(value);                                                                    \
        memcpy(out, &v, sizeof v);                                                                 \
    } while (0)
    switch (dtype) {
    case KILN_BOOL:
        out[0] = k % 3 == 0;
        break;
    case KILN_FLOAT16:
        PUT(uint16_t, kiln__float16_from_double(real));
        break;
    case KILN_FLOAT32:
        PUT(float, real);
        break;
    case KILN_FLOAT64:
        PUT(double, real);
        break;
    case KILN_COMPLEX64: {
        float v[2] = {(float)real, (float)k};
        memcpy(out, v, sizeof v);
        break;
    }
    default: {
        double v[2] = {real, (double)k};
        memcpy(out, v, sizeof v);
        break;
    }
    }
#undef PUT
}

/* `data` is shape (rows, columns) in C- or F-order, with sample() as content. */
static void check_sample(kiln_dtype dtype, bool fortran, int rows, int columns, const void *data)
{
    size_t bytes = kiln_dtype_size(dtype);

    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            unsigned char expected[16];
            int place = fortran ? c * rows + r : r * columns + c;
            sample(dtype, r * columns + c, expected);
            assert_memory_equal((const char *)data + (size_t)place * bytes, expected, bytes);
        }
}

static void read_good(const char *name, kiln__npy_header *header, void **data)
{
    char path[1024], file[128];
    kiln_error err = KILN_ERROR_INIT;

    snprintf(file, sizeof file, "data/npy/%s.npy", name);
    if (kiln__npy_read(test_data(file, path, sizeof path), header, data, &err) != KILN_OK)
        fail_msg("%s: %s", name, err.message);
}

/* ---- reading ---- */

static void test_npy__reads_every_dtype_in_either_order_and_endianness(void **state)
{
    (void)state;
    for (int dtype = 1; dtype < KILN_DTYPE_COUNT; dtype++) {
        if (dtype == KILN_BFLOAT16 || kiln__is_float8((kiln_dtype)dtype))
            continue;
        for (int kind = 0; kind < 4; kind++) {
            char name[64];
            kiln__npy_header header;
            void *data = NULL;

            snprintf(name, sizeof name, "%s-%c-%s", kiln_dtype_name((kiln_dtype)dtype),
                     kind & 1 ? 'F' : 'C', kind & 2 ? "be" : "le");
            read_good(name, &header, &data);
            assert_int_equal(header.dtype, dtype);
            assert_int_equal(header.rank, 2);
            assert_int_equal(header.shape[0], 3);
            assert_int_equal(header.shape[1], 4);
            assert_int_equal(header.fortran, (kind & 1) != 0);
            check_sample(header.dtype, header.fortran, 3, 4, data);
            kiln__free(data);
        }
    }
}

static void test_npy__reads_formats_2_and_3_and_other_writers_headers(void **state)
{
    static const char *const names[] = {"version-2", "version-3", "foreign"};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        kiln__npy_header header;
        void *data = NULL;

        read_good(names[k], &header, &data);
        assert_int_equal(header.dtype, KILN_FLOAT32);
        assert_int_equal(header.rank, 2);
        check_sample(KILN_FLOAT32, false, 3, 4, data);
        kiln__free(data);
    }
}

static void test_npy__reads_ranks_from_0_to_32_and_no_elements(void **state)
{
    static const struct {
        const char *name;
        int rank, size;
    } cases[] = {{"rank-0", 0, 1}, {"rank-1", 1, 5}, {"empty", 3, 0}, {"rank-32", 32, 4}};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        kiln__npy_header header;
        void *data = NULL;

        read_good(cases[k].name, &header, &data);
        assert_int_equal(header.rank, cases[k].rank);
        assert_non_null(data);
        check_sample(KILN_INT32, false, 1, cases[k].size, data);
        kiln__free(data);
    }
}

static void test_npy__reads_bfloat16_as_two_raw_bytes(void **state)
{
    static const char *const names[] = {"bfloat16-little", "bfloat16-none"};
    const uint16_t expected[3] = {0x3f80, 0xbf00, 0x4049};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        kiln__npy_header header;
        void *data = NULL;

        read_good(names[k], &header, &data);
        assert_int_equal(header.dtype, KILN_BFLOAT16);
        assert_memory_equal(data, expected, sizeof expected);
        kiln__free(data);
    }
}

static void test_npy__makes_bools_0_or_1(void **state)
{
    const unsigned char expected[4] = {0, 1, 1, 1};
    kiln__npy_header header;
    void *data = NULL;

    (void)state;
    read_good("bool-2", &header, &data);
    assert_memory_equal(data, expected, 4);
    kiln__free(data);
}

/* ---- refusing ---- */

/* A file with this header text (a line break is added) and that many bytes of elements. */
static size_t build(char *out, int version, const char *text, size_t element_bytes)
{
    size_t length = strlen(text) + 1, prefix = version == 1 ? 10 : 12;

    memcpy(out, "\x93NUMPY", 6);
    out[6] = (char)version;
    out[7] = 0;
    out[8] = (char)(length & 255);
    out[9] = (char)(length >> 8);
    if (version > 1)
        out[10] = out[11] = 0;
    memcpy(out + prefix, text, length - 1);
    out[prefix + length - 1] = '\n';
    memset(out + prefix + length, 0, element_bytes);
    return prefix + length + element_bytes;
}

static void check_refused(const void *file, size_t bytes, const char *reason)
{
    char path[1024];
    kiln_error err = KILN_ERROR_INIT;
    kiln__npy_header header;
    size_t before = kiln__test_alloc_live();
    void *data = &header;

    write_bytes(in_folder("broken.npy", path), file, bytes);
    assert_int_equal(kiln__npy_read(path, &header, &data, &err), KILN_ERR_FORMAT);
    unlink(path);
    assert_null(data);
    if (strstr(err.message, path) == NULL || strstr(err.message, reason) == NULL)
        fail_msg("expected '%s' and '%s' in: %s", path, reason, err.message);
    kiln_error_clear(&err);
    assert_int_equal(kiln__test_alloc_live(), before);
}

static void test_npy__refuses_headers_with_the_reason(void **state)
{
#define F4 "{'descr': '<f4', 'fortran_order': False, "
#define DESCR(code) "{'descr': " code ", 'fortran_order': False, 'shape': (1,), }"
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {F4 "'shape': (-1,), }", "axis 0 is negative"},
        {F4 "'shape': (2, 9223372036854775808), }", "axis 1 does not fit"},
        {F4 "'shape': (9223372036854775807,), }", "does not fit 62 bits"},
        {F4 "'shape': (0, 4294967296, 4294967296), }", "does not fit 62 bits"},
        {F4 "'shape': (1), }", "not a tuple"},
        {F4 "'shape': [1], }", "\"[\""},
        {F4 "'shape': (1 2), }", "\"2\""},
        {F4 "'shape': (,), }", "no whole number"},
        {F4 "'shape': (1.0,), }", "\".\""},
        {F4 "'shape': (01,), }", "begins with a 0"},
        {F4 "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
         "more than 32 axes"},
        {F4 "'shape': (1,), 'shape': (1,), }", "\"shape\" twice"},
        {F4 "'shape': (1,), 'color': 1}", "unknown key \"color\""},
        {F4 "'shape': (1,), '\xc3\xa9': 1}", "byte 0xc3"},
        {F4 "}", "no key \"shape\""},
        {"{'shape': (1,), 'fortran_order': False}", "no key \"descr\""},
        {"{'descr': '<f4', 'shape': (1,)}", "no key \"fortran_order\""},
        {F4 "'shape': (1,), ", "no string"},
        {F4 "'shape': (1,", "no whole number"},
        {F4 "'shape': (1,), } x", "goes on"},
        {F4 "'shape' (1,), }", "\":\" is due"},
        {"{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }", "neither True nor False"},
        {"{'descr", "byte 0x0a"},
        {"{'descr': 4, 'fortran_order': False, 'shape': (1,), }", "no string"},
        {"", "\"{\" is due"},
        {"[]", "\"[\""},
        {"{}", "no key \"descr\""},
        {DESCR("'|O'"), "\"|O\": Python objects"},
        {DESCR("'|S5'"), "byte strings"},
        {DESCR("'<U3'"), "Unicode strings"},
        {DESCR("'<M8[ns]'"), "datetime64"},
        {DESCR("'<m8[s]'"), "timedelta64"},
        {DESCR("'|V8'"), "void"},
        {DESCR("'>V2'"), "void"},
        {DESCR("'<f16'"), "\"<f16\": elements of a type"},
        {DESCR("'<c32'"), "\"<c32\": elements of a type"},
        {DESCR("'<f4 '"), "\"<f4 \""},
        {DESCR("''"), "no type is named"},
        {DESCR("'<'"), "no type is named"},
        {DESCR("[('a', '<f4'), ('b', '<i4')]"), "structures"},
    };
#undef F4
#undef DESCR
    char file[1024];

    (void)state;
    for (int version = 1; version <= 3; version++)
        for (size_t k = 0; k < KILN_COUNT_OF(cases); k++)
            check_refused(file, build(file, version, cases[k].text, 4), cases[k].reason);
}

static void test_npy__refuses_files_that_are_no_npy(void **state)
{
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    char file[1024];
    size_t bytes = build(file, 1, text, 4);

    (void)state;
    check_refused("", 0, "does not begin");
    check_refused("PK\x03\x04, as an .npz begins", 23, "kiln_array_load_npz() reads those");
    file[6] = 4;
    check_refused(file, bytes, "format 4.0");
    file[6] = 1;
    file[7] = 1;
    check_refused(file, bytes, "format 1.1");
    file[7] = 0;
    file[8]--; /* The last byte of the header is now a blank. */
    check_refused(file, bytes, "line break");
    file[8] = file[9] = 0;
    check_refused(file, bytes, "line break");
    file[8] = file[9] = (char)0xff;
    check_refused(file, bytes, "65535 bytes claimed");
    bytes = build(file, 2, text, 4);
    file[10] = file[11] = (char)0x7f;
    check_refused(file, bytes, "more than the 65536");
}

static void test_npy__refuses_a_size_that_the_header_lies_about(void **state)
{
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }";
    static const char vast[] =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 100), }";
    char file[1024];

    (void)state;
    check_refused(file, build(file, 1, text, 59), "claims 60 bytes of elements, and only 59");
    check_refused(file, build(file, 1, text, 0), "only 0 are there");
    check_refused(file, build(file, 1, text, 61), "claims 60 bytes of elements, and 61 are there");
    check_refused(file, build(file, 1, vast, 4), "400000000000000 bytes");
}

/* Each cut of a good file is refused, from exactly as much memory as it has. */
static void test_npy__refuses_every_truncation(void **state)
{
    char path[1024];
    size_t bytes = 0;
    char *whole = read_bytes(test_data("data/npy/version-2.npy", path, sizeof path), &bytes);

    (void)state;
    for (size_t cut = 0; cut < bytes; cut++) {
        kiln__npy_header header;
        char *part = malloc(cut + 1);
        char *exact = part + 1; /* so that a read behind the end is caught, also for 0 bytes */

        assert_non_null(part);
        memcpy(exact, whole, cut);
        check_refused(exact, cut, "");
        if (cut < bytes - 48)
            assert_int_equal(kiln__npy_parse(exact, cut, &header, NULL), KILN_ERR_FORMAT);
        free(part);
    }
    kiln__free(whole);
}

/* Any one byte of the header changed to any value: read as something, or refused; and what is
 * read was there. */
static void test_npy__survives_every_changed_header_byte(void **state)
{
    char path[1024], file[256];
    size_t bytes =
        build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 48);
    size_t refused = 0;

    (void)state;
    in_folder("changed.npy", path);
    for (size_t at = 0; at < bytes - 48; at++)
        for (int value = 0; value < 256; value += 5) {
            kiln__npy_header header;
            char changed[256];
            void *data = NULL;
            kiln_status status;

            memcpy(changed, file, bytes);
            changed[at] = (char)value;
            status = kiln__npy_parse(changed, bytes, &header, NULL);
            assert_true(status == KILN_OK || status == KILN_ERR_FORMAT);
            refused += status != KILN_OK;
            if (status != KILN_OK)
                continue;
            write_bytes(path, changed, bytes);
            status = kiln__npy_read(path, &header, &data, NULL);
            assert_true(status == KILN_OK || status == KILN_ERR_FORMAT);
            kiln__free(data);
        }
    unlink(path);
    assert_true(refused > 1000);
}

static void test_npy__refuses_what_cannot_be_read_as_a_file(void **state)
{
    char path[1024];
    kiln_error err = KILN_ERROR_INIT;
    kiln__npy_header header;
    void *data = NULL;

    (void)state;
    assert_int_equal(kiln__npy_read(in_folder("absent.npy", path), &header, &data, &err),
                     KILN_ERR_IO);
    assert_non_null(strstr(err.message, "absent.npy"));
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(kiln__npy_read(folder, &header, &data, &err), KILN_ERR_IO);
    assert_non_null(strstr(err.message, "a folder"));
    assert_int_equal(mkfifo(in_folder("pipe", path), 0600), 0);
    assert_int_equal(kiln__npy_read(path, &header, &data, &err), KILN_ERR_IO);
    assert_non_null(strstr(err.message, "a pipe"));
    unlink(path);
    assert_int_equal(kiln__npy_read(NULL, &header, &data, &err), KILN_ERR_NULL);
    kiln_error_clear(&err);
}

static void test_npy__reading_survives_each_allocation_failure(void **state)
{
    char path[1024];
    kiln_status status = KILN_ERR_NO_MEMORY;
    size_t before = kiln__test_alloc_live(), tries = 0;

    (void)state;
    test_data("data/npy/int32-C-le.npy", path, sizeof path);
    for (; status != KILN_OK; tries++) {
        kiln__npy_header header;
        void *data = NULL;

        kiln__test_alloc_fail_at(tries);
        status = kiln__npy_read(path, &header, &data, NULL);
        assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
        assert_int_equal(status == KILN_OK, data != NULL);
        kiln__free(data);
        assert_int_equal(kiln__test_alloc_live(), before);
    }
    kiln__test_alloc_fail_at(SIZE_MAX);
    assert_true(tries >= 3);
}

/* ---- writing ---- */

static void check_same_file(const char *path, const char *expected_path)
{
    size_t bytes = 0, expected_bytes = 0;
    char *file = read_bytes(path, &bytes), *expected = read_bytes(expected_path, &expected_bytes);

    assert_int_equal(bytes, expected_bytes);
    assert_memory_equal(file, expected, bytes);
    kiln__free(file);
    kiln__free(expected);
}

static void test_npy__writes_what_numpy_writes(void **state)
{
    char path[1024], expected[1024], name[128];
    int64_t shape[KILN_RANK_MAX] = {3, 4};
    unsigned char data[12 * 16];

    (void)state;
    in_folder("out.npy", path);
    for (int dtype = 1; dtype < KILN_DTYPE_COUNT; dtype++) {
        if (dtype == KILN_BFLOAT16 || kiln__is_float8((kiln_dtype)dtype))
            continue;
        for (int k = 0; k < 12; k++)
            sample((kiln_dtype)dtype, k, data + (size_t)k * kiln_dtype_size((kiln_dtype)dtype));
        assert_int_equal(kiln__npy_write(path, (kiln_dtype)dtype, 2, shape, data, NULL), KILN_OK);
        snprintf(name, sizeof name, "data/npy/%s-C-le.npy", kiln_dtype_name((kiln_dtype)dtype));
        check_same_file(path, test_data(name, expected, sizeof expected));
    }
    assert_int_equal(count_entries(), 1);
    for (int k = 0; k < 5; k++)
        sample(KILN_INT32, k, data + 4 * k);
    assert_int_equal(kiln__npy_write(path, KILN_INT32, 0, NULL, data, NULL), KILN_OK);
    check_same_file(path, test_data("data/npy/rank-0.npy", expected, sizeof expected));
    shape[0] = 5;
    assert_int_equal(kiln__npy_write(path, KILN_INT32, 1, shape, data, NULL), KILN_OK);
    check_same_file(path, test_data("data/npy/rank-1.npy", expected, sizeof expected));
    assert_int_equal(kiln__npy_write(path, KILN_INT32, 3, (const int64_t[]){3, 0, 2}, NULL, NULL),
                     KILN_OK);
    check_same_file(path, test_data("data/npy/empty.npy", expected, sizeof expected));
    for (int axis = 0; axis < KILN_RANK_MAX; axis++)
        shape[axis] = axis == 1 || axis == 3 ? 2 : 1;
    assert_int_equal(kiln__npy_write(path, KILN_INT32, 32, shape, data, NULL), KILN_OK);
    check_same_file(path, test_data("data/npy/rank-32.npy", expected, sizeof expected));
    unlink(path);
}

static void test_npy__writes_bfloat16_that_it_reads_again(void **state)
{
    const uint16_t data[3] = {0x3f80, 0xbf00, 0x4049};
    const int64_t three = 3;
    char path[1024], expected[1024];

    (void)state;
    in_folder("out.npy", path);
    assert_int_equal(kiln__npy_write(path, KILN_BFLOAT16, 1, &three, data, NULL), KILN_OK);
    check_same_file(path, test_data("data/npy/bfloat16-little.npy", expected, sizeof expected));
    unlink(path);
}

static unsigned mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return (unsigned)info.st_mode & 0777;
}

static void test_npy__writes_with_the_permissions_of_the_umask_or_the_old_file(void **state)
{
    const int64_t one = 1;
    const double v = 1;
    char path[1024];
    mode_t old = umask(027);

    (void)state;
    in_folder("out.npy", path);
    assert_int_equal(kiln__npy_write(path, KILN_FLOAT64, 1, &one, &v, NULL), KILN_OK);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(kiln__npy_write(path, KILN_FLOAT64, 1, &one, &v, NULL), KILN_OK);
    assert_int_equal(mode_of(path), 0664);
    umask(old);
    unlink(path);
}

static void test_npy__writes_behind_a_link_and_leaves_it_one(void **state)
{
    const int64_t one = 1;
    const double v = 1;
    char link_path[1024], path[1024], other[1024];
    struct stat info;

    (void)state;
    in_folder("out.npy", path);
    in_folder("link.npy", link_path);
    write_bytes(path, "old", 3);
    assert_int_equal(symlink("out.npy", link_path), 0);
    assert_int_equal(kiln__npy_write(link_path, KILN_FLOAT64, 1, &one, &v, NULL), KILN_OK);
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(
        kiln__npy_write(in_folder("other.npy", other), KILN_FLOAT64, 1, &one, &v, NULL), KILN_OK);
    check_same_file(path, other);
    unlink(link_path);
    unlink(path);
    unlink(other);
}

static void test_npy__a_failed_write_changes_nothing(void **state)
{
    const int64_t one = 1;
    const double v = 1;
    char path[1024], long_name[300];
    kiln_error err = KILN_ERROR_INIT;
    size_t before = kiln__test_alloc_live();

    (void)state;
    assert_int_equal(kiln__npy_write(folder, KILN_FLOAT64, 1, &one, &v, &err), KILN_ERR_IO);
    assert_non_null(strstr(err.message, folder));
    in_folder("absent/out.npy", path);
    assert_int_equal(kiln__npy_write(path, KILN_FLOAT64, 1, &one, &v, &err), KILN_ERR_IO);
    assert_non_null(strstr(err.message, "No such file"));
    /* 255 bytes is the longest name; 256 is found out by the rename only. */
    memset(long_name, 'x', 256);
    long_name[256] = '\0';
    assert_int_equal(kiln__npy_write(in_folder(long_name, path), KILN_FLOAT64, 1, &one, &v, &err),
                     KILN_ERR_IO);
    assert_non_null(strstr(err.message, "too long"));
    long_name[255] = '\0';
    assert_int_equal(kiln__npy_write(in_folder(long_name, path), KILN_FLOAT64, 1, &one, &v, &err),
                     KILN_OK);
    unlink(path);
    kiln__test_alloc_fail_at(0);
    assert_int_equal(kiln__npy_write(in_folder("out.npy", path), KILN_FLOAT64, 1, &one, &v, &err),
                     KILN_ERR_NO_MEMORY);
    assert_int_equal(kiln__npy_write(NULL, KILN_FLOAT64, 1, &one, &v, &err), KILN_ERR_NULL);
    assert_int_equal(count_entries(), 0);
    kiln_error_clear(&err);
    assert_int_equal(kiln__test_alloc_live(), before);
}

/* /dev/full refuses every byte; being no regular file it must not be replaced either. */
static void test_npy__writes_into_a_device_in_place(void **state)
{
    const int64_t one = 1;
    const double v = 1;
    kiln_error err = KILN_ERROR_INIT;
    struct stat info;

    (void)state;
    if (stat("/dev/full", &info) != 0 || !S_ISCHR(info.st_mode))
        skip();
    assert_int_equal(kiln__npy_write("/dev/full", KILN_FLOAT64, 1, &one, &v, &err), KILN_ERR_IO);
    assert_non_null(strstr(err.message, "No space left"));
    assert_int_equal(kiln__npy_write("/dev/null", KILN_FLOAT64, 1, &one, &v, &err), KILN_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    kiln_error_clear(&err);
}

/* Run `body` in a child, whose signals are at their defaults and whose files may have `limit` bytes;
 * it must end with status 0. */
static void in_limited_child(rlim_t limit, int (*body)(const char *path), const char *path)
{
    const struct rlimit files = {limit, limit};
    int status = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGXFSZ, SIG_DFL);
        (void)signal(SIGPIPE, SIG_DFL);
        alarm(60);
        if (limit != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &files) != 0)
            _exit(100);
        _exit(body(path));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status 0x%x", (unsigned)status);
}

static int write_until_killed(const char *path)
{
    static const int64_t count = 3;
    static const double data[3];

    kill_second_write = true;
    return kiln__npy_write(path, KILN_FLOAT64, 1, &count, data, NULL) == KILN_OK ? 0 : 1;
}

static void test_npy__a_killed_write_leaves_nothing(void **state)
{
    char path[1024];
    int status = 0;
    const int nameless = open(folder, O_TMPFILE | O_WRONLY, 0600);

    (void)state;
    if (nameless < 0) {
        print_message("SKIP: this file system has no files without names\n");
        skip();
    }
    close(nameless);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(write_until_killed(in_folder("killed.npy", path)));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(count_entries(), 0);
}

static int write_too_much(const char *path)
{
    static const int64_t count = 1 << 20;
    static char data[1 << 20];
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__npy_write(path, KILN_INT8, 1, &count, data, &err) != KILN_ERR_IO)
        return 1;
    return strstr(err.message, "File too large") != NULL ||
                   strstr(err.message, "Broken pipe") != NULL
               ? 0
               : 2;
}

/* The limit is reached in the header, in the elements, and where it is met exactly. */
static void test_npy__the_limit_on_file_sizes_is_an_error(void **state)
{
    static const rlim_t limits[] = {0, 100, 128, 4096, (1 << 20) + 127};
    const int64_t one = 1;
    const double v = 1;
    char path[1024];

    (void)state;
    in_folder("out.npy", path);
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
        in_limited_child(limits[k], write_too_much, path);
        assert_int_equal(count_entries(), 0);
    }
    /* A file that was there before is left as it was. */
    assert_int_equal(kiln__npy_write(path, KILN_FLOAT64, 1, &one, &v, NULL), KILN_OK);
    in_limited_child(4096, write_too_much, path);
    assert_int_equal(count_entries(), 1);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 128 + 8);
    unlink(path);
}

static void test_npy__a_pipe_that_nobody_reads_any_more_is_an_error(void **state)
{
    char path[1024], first = 0;
    int status = 0;

    (void)state;
    in_folder("pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        const int fd = open(path, O_RDONLY);
        _exit(fd >= 0 && read(fd, &first, 1) == 1 ? 0 : 1);
    }
    in_limited_child(RLIM_INFINITY, write_too_much, path);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy__reads_every_dtype_in_either_order_and_endianness),
        cmocka_unit_test(test_npy__reads_formats_2_and_3_and_other_writers_headers),
        cmocka_unit_test(test_npy__reads_ranks_from_0_to_32_and_no_elements),
        cmocka_unit_test(test_npy__reads_bfloat16_as_two_raw_bytes),
        cmocka_unit_test(test_npy__makes_bools_0_or_1),
        cmocka_unit_test(test_npy__refuses_headers_with_the_reason),
        cmocka_unit_test(test_npy__refuses_files_that_are_no_npy),
        cmocka_unit_test(test_npy__refuses_a_size_that_the_header_lies_about),
        cmocka_unit_test(test_npy__refuses_every_truncation),
        cmocka_unit_test(test_npy__survives_every_changed_header_byte),
        cmocka_unit_test(test_npy__refuses_what_cannot_be_read_as_a_file),
        cmocka_unit_test(test_npy__reading_survives_each_allocation_failure),
        cmocka_unit_test(test_npy__writes_what_numpy_writes),
        cmocka_unit_test(test_npy__writes_bfloat16_that_it_reads_again),
        cmocka_unit_test(test_npy__writes_with_the_permissions_of_the_umask_or_the_old_file),
        cmocka_unit_test(test_npy__writes_behind_a_link_and_leaves_it_one),
        cmocka_unit_test(test_npy__a_failed_write_changes_nothing),
        cmocka_unit_test(test_npy__writes_into_a_device_in_place),
        cmocka_unit_test(test_npy__a_killed_write_leaves_nothing),
        cmocka_unit_test(test_npy__the_limit_on_file_sizes_is_an_error),
        cmocka_unit_test(test_npy__a_pipe_that_nobody_reads_any_more_is_an_error),
    };
    return cmocka_run_group_tests_name("test_npy", tests, make_folder, remove_folder);
}
