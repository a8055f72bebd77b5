/*
 * test_npz.c - .npz files: read, refused and written.
 *
 * data/npz holds files that NumPy wrote (data/make_npz.py); what is in them is computed here by plain loops.
 * What kiln writes is taken apart by Python's zipfile, and skipped by name where there is no Python.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array/array.h"
#include "test_data.h"
#include "test_env.h"

enum { ROWS = 20, COLUMNS = 30, BYTES_MAX = 1 << 20 };

static char folder[] = "/tmp/kiln-test-npz-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int next;
    char *const made = path[next++ % 4];

    snprintf(made, sizeof path[0], "%s/%s", folder, name);
    return made;
}

static size_t read_bytes(const char *path, unsigned char *out)
{
    FILE *f = fopen(path, "rb");

    assert_non_null(f);
    const size_t bytes = fread(out, 1, BYTES_MAX, f);
    fclose(f);
    return bytes;
}

static void write_bytes(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static void test_npz__what_numpy_wrote_is_read(void **state)
{
    static const char *const files[] = {"data/npz/stored.npz", "data/npz/deflated.npz"};
    test_env *t = *state;
    char path[1024], **names = NULL;
    float weights[ROWS * COLUMNS];
    int32_t turned[12];
    kiln_array *a = NULL;
    size_t count = 0;

    for (size_t f = 0; f < COUNT(files); f++) {
        (void)test_data(files[f], path, sizeof path);
        OK(t, kiln_npz_names(path, &names, &count, &t->err));
        assert_int_equal(count, 3);
        assert_string_equal(names[0], "weights");
        assert_string_equal(names[1], "turned");
        assert_string_equal(names[2], "none");
        kiln_free(names);
        OK(t, kiln_array_load_npz(t->ctx, path, "weights", &a, &t->err));
        assert_int_equal(kiln_array_rank(a), 2);
        assert_int_equal(kiln_array_shape(a)[1], COLUMNS);
        OK(t, kiln_array_to_host(a, weights, sizeof weights, NULL, &t->err));
        for (int k = 0; k < ROWS * COLUMNS; k++)
            assert_true(weights[k] == (float)(k % 7));
        kiln_array_release(a);
        OK(t, kiln_array_load_npz(t->ctx, path, "turned", &a, &t->err));
        OK(t, kiln_array_to_host(a, turned, sizeof turned, NULL, &t->err));
        for (int k = 0; k < 12; k++)
            assert_int_equal(turned[k], k);
        kiln_array_release(a);
        OK(t, kiln_array_load_npz(t->ctx, path, "none", &a, &t->err));
        assert_int_equal(kiln_array_size(a), 0);
        assert_int_equal(kiln_array_dtype(a), KILN_FLOAT64);
        kiln_array_release(a);
        FAILS(t, KILN_ERR_NAME, kiln_array_load_npz(t->ctx, path, "weight", &a, &t->err), "\"weight\"",
              "\"weights\", \"turned\", \"none\"");
    }
}

/* What Python finds in a file: each entry as a file of its own in the folder. */
static void take_apart(const char *path)
{
    char command[512];

    if (system("python3 -c 'import zipfile' 2>/dev/null") != 0)
        skip();
    snprintf(command, sizeof command,
             "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None;"
             " z.extractall(sys.argv[2])' %s %s",
             path, folder);
    assert_int_equal(system(command), 0);
}

static void test_npz__what_is_written_is_what_others_read(void **state)
{
    static unsigned char want[BYTES_MAX], got[BYTES_MAX];
    static const char *const names[] = {"x", "caf\xc3\xa9", "turned"};
    test_env *t = *state;
    const int64_t shape[] = {100, 7};
    const kiln_axes axes = {2, {1, 0}};
    kiln_array *arrays[3] = {NULL}, *back = NULL;
    char **found = NULL;
    size_t count = 0;

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, 1000, 0.5, &arrays[0], &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_INT16, 2, shape, -3, &arrays[1], &t->err));
    OK(t, kiln_array_transpose(arrays[1], &axes, &arrays[2], &t->err));
    const kiln_array *const given[] = {arrays[0], arrays[1], arrays[2]};
    write_bytes(in_folder("a.npz"), "old", 3);
    OK(t, kiln_array_save_npz(given, names, 3, in_folder("a.npz"), &t->err));
    OK(t, kiln_npz_names(in_folder("a.npz"), &found, &count, &t->err));
    assert_int_equal(count, 3);
    for (int k = 0; k < 3; k++) {
        assert_string_equal(found[k], names[k]);
        OK(t, kiln_array_load_npz(t->ctx, in_folder("a.npz"), names[k], &back, &t->err));
        OK(t, kiln_array_save_npy(back, in_folder("back.npy"), &t->err));
        OK(t, kiln_array_save_npy(arrays[k], in_folder("alone.npy"), &t->err));
        assert_int_equal(read_bytes(in_folder("back.npy"), got), read_bytes(in_folder("alone.npy"), want));
        assert_memory_equal(got, want, 2000);
        kiln_array_release(back);
    }
    kiln_free(found);
    OK(t, kiln_array_save_npz(NULL, NULL, 0, in_folder("none.npz"), &t->err));
    OK(t, kiln_npz_names(in_folder("none.npz"), &found, &count, &t->err));
    assert_true(count == 0 && found == NULL);
    take_apart(in_folder("none.npz"));
    take_apart(in_folder("a.npz"));
    OK(t, kiln_array_save_npy(arrays[0], in_folder("alone.npy"), &t->err));
    const size_t bytes = read_bytes(in_folder("alone.npy"), want);
    assert_int_equal(read_bytes(in_folder("x.npy"), got), bytes);
    assert_memory_equal(got, want, bytes);
    for (int k = 0; k < 3; k++)
        kiln_array_release(arrays[k]);
}

static void test_npz__what_is_wrong_is_refused(void **state)
{
    static const char *const twice[] = {"x", "x"}, *const empty[] = {""};
    test_env *t = *state;
    char path[1024], **names = NULL;
    kiln_array *a = NULL, *x = NULL;
    const int64_t one = 1;
    size_t count = 0;

    (void)test_data("data/npz/bzip2.npz", path, sizeof path);
    FAILS(t, KILN_ERR_FORMAT, kiln_array_load_npz(t->ctx, path, "x", &a, &t->err), "DEFLATE", "bzip2.npz");
    write_bytes(in_folder("text.npz"), "no zip file at all, but more than 22 bytes", 42);
    FAILS(t, KILN_ERR_FORMAT, kiln_array_load_npz(t->ctx, in_folder("text.npz"), "x", &a, &t->err),
          "text.npz", "end of a .zip");
    FAILS(t, KILN_ERR_FORMAT, kiln_npz_names(in_folder("text.npz"), &names, &count, &t->err), "text.npz");
    FAILS(t, KILN_ERR_IO, kiln_array_load_npz(t->ctx, in_folder("lost.npz"), "x", &a, &t->err), "lost.npz");
    FAILS(t, KILN_ERR_NULL, kiln_array_load_npz(t->ctx, path, NULL, &a, &t->err), "name");
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, &one, &x, &t->err));
    const kiln_array *const both[] = {x, x}, *const lost[] = {x, NULL};
    FAILS(t, KILN_ERR_NAME, kiln_array_save_npz(both, twice, 2, in_folder("b.npz"), &t->err), "twice");
    FAILS(t, KILN_ERR_NAME, kiln_array_save_npz(both, empty, 1, in_folder("b.npz"), &t->err), "empty");
    FAILS(t, KILN_ERR_NULL, kiln_array_save_npz(lost, twice, 2, in_folder("b.npz"), &t->err), "NULL");
    FAILS(t, KILN_ERR_IO, kiln_array_save_npz(both, twice, 1, "/nowhere/b.npz", &t->err), "/nowhere");
    assert_true(access(in_folder("b.npz"), F_OK) != 0);
    kiln_array_release(x);
}

/* Every byte of a file changed, and every length: it is read right, or refused. */
static void test_npz__damage_is_noticed(void **state)
{
    static unsigned char bytes[BYTES_MAX], changed[BYTES_MAX];
    test_env *t = *state;
    char path[1024];
    int32_t turned[12];
    size_t refused = 0;

    (void)test_data("data/npz/deflated.npz", path, sizeof path);
    const size_t count = read_bytes(path, bytes);
    for (size_t k = 0; k < 2 * count; k++) {
        kiln_array *a = NULL;
        memcpy(changed, bytes, count);
        changed[k % count] ^= k % 3 == 0 ? 0x80 : 0x01;
        write_bytes(in_folder("c.npz"), changed, k < count ? count : k - count);
        const kiln_status status = kiln_array_load_npz(t->ctx, in_folder("c.npz"), "turned", &a, &t->err);
        kiln_error_clear(&t->err);
        if (status != KILN_OK) {
            refused++;
            assert_true(status == KILN_ERR_FORMAT || status == KILN_ERR_NAME);
            continue;
        }
        OK(t, kiln_array_to_host(a, turned, sizeof turned, NULL, &t->err));
        for (int e = 0; e < 12; e++)
            assert_int_equal(turned[e], e);
        kiln_array_release(a);
    }
    assert_true(refused > count);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_npz__what_numpy_wrote_is_read),
        TEST(test_npz__what_is_written_is_what_others_read),
        TEST(test_npz__what_is_wrong_is_refused),
        TEST(test_npz__damage_is_noticed),
    };
    char command[64];

    if (make_folder(NULL) != 0)
        return 1;
    const int result = test_env_main(argc, argv, "test_npz", tests, COUNT(tests));
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? result : 1;
}
