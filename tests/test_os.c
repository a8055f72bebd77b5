/*
 * test_os.c - src/core/os.c: files, identities of binaries, forks, pages, the environment.
 *
 * ELF files are made here byte by byte, then damaged in every field and at every length: whatever
 * a file claims, nothing outside it may be read.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/core.h"

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const void *data, size_t bytes)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
    return path;
}

/* ---- files ---- */

static void test_os__read_file_gives_the_whole_file_and_a_nul(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000};
    char *content = malloc(100000);

    for (size_t k = 0; k < 100000; k++)
        content[k] = (char)(k * 7);
    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        const char *path = write_file("whole", content, sizes[k]);
        char *data = NULL;
        size_t bytes = 1;
        assert_int_equal(kiln__read_file(path, sizes[k], &data, &bytes), 0);
        assert_int_equal(bytes, sizes[k]);
        assert_memory_equal(data, content, bytes);
        assert_int_equal(data[bytes], 0);
        kiln__free(data);
        if (sizes[k] != 0) {
            assert_int_equal(kiln__read_file(path, sizes[k] - 1, &data, &bytes), EFBIG);
            assert_null(data);
            assert_int_equal(bytes, 0);
        }
    }
    free(content);
}

/* A pipe tells no size beforehand; the bound must hold all the same. */
static void test_os__read_file_reads_what_has_no_size(void **state)
{
    (void)state;
    static char content[10000];
    char path[64], *data = NULL;
    size_t bytes = 0;

    memset(content, 'p', sizeof content);
    for (int fits = 0; fits < 2; fits++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], content, sizeof content), sizeof content);
        close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        if (fits) {
            assert_int_equal(kiln__read_file(path, sizeof content, &data, &bytes), 0);
            assert_int_equal(bytes, sizeof content);
            assert_memory_equal(data, content, bytes);
            kiln__free(data);
        } else {
            assert_int_equal(kiln__read_file(path, sizeof content - 1, &data, &bytes), EFBIG);
        }
        close(ends[0]);
    }
}

static void test_os__read_file_names_its_failure(void **state)
{
    (void)state;
    char *data = NULL;
    size_t bytes = 0, before = kiln__test_alloc_live();

    assert_int_equal(kiln__read_file(path_of("missing"), 100, &data, &bytes), ENOENT);
    assert_int_equal(kiln__read_file(folder, 100, &data, &bytes), EISDIR);
    write_file("small", "abc", 3);
    kiln__test_alloc_fail_at(0);
    assert_int_equal(kiln__read_file(path_of("small"), 100, &data, &bytes), ENOMEM);
    kiln__test_alloc_fail_at(SIZE_MAX);
    assert_null(data);
    assert_int_equal(kiln__test_alloc_live(), before);
}

/* ---- identity ---- */

/* A 64-bit ELF of one empty segment and one note segment that holds two notes. */
typedef struct tiny_elf {
    Elf64_Ehdr head;
    Elf64_Phdr segments[2];
    struct {
        Elf64_Nhdr head;
        char name[8]; /* "kiln\0" padded to 8 */
        char desc[4];
    } other;
    struct {
        Elf64_Nhdr head;
        char name[4];
        unsigned char id[20];
    } build_id;
} tiny_elf;

static tiny_elf make_elf(void)
{
    tiny_elf e;

    memset(&e, 0, sizeof e);
    memcpy(e.head.e_ident, ELFMAG, SELFMAG);
    e.head.e_ident[EI_CLASS] = ELFCLASS64;
    e.head.e_ident[EI_DATA] = ELFDATA2LSB;
    e.head.e_phoff = offsetof(tiny_elf, segments);
    e.head.e_phentsize = sizeof(Elf64_Phdr);
    e.head.e_phnum = 2;
    e.segments[0].p_type = PT_LOAD;
    e.segments[1].p_type = PT_NOTE;
    e.segments[1].p_offset = offsetof(tiny_elf, other);
    e.segments[1].p_filesz = sizeof e.other + sizeof e.build_id;
    e.other.head.n_namesz = 5;
    e.other.head.n_descsz = 3;
    e.other.head.n_type = NT_GNU_BUILD_ID; /* but not GNU's */
    memcpy(e.other.name, "kiln", 5);
    e.build_id.head.n_namesz = 4;
    e.build_id.head.n_descsz = 20;
    e.build_id.head.n_type = NT_GNU_BUILD_ID;
    memcpy(e.build_id.name, "GNU", 4);
    for (unsigned char k = 0; k < 20; k++)
        e.build_id.id[k] = (unsigned char)(0xF0 + k);
    return e;
}

static const char TINY_ELF_ID[] = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff00010203";

static void test_os__identity_is_the_build_id(void **state)
{
    (void)state;
    tiny_elf e = make_elf();
    char id[64];

    assert_true(kiln__file_identity(write_file("elf", &e, sizeof e), id));
    assert_string_equal(id, TINY_ELF_ID);
}

static void test_os__identity_without_build_id_is_a_hash_of_the_content(void **state)
{
    (void)state;
    char id[64], expected[33], other[64];
    static const char script[] = "#!/bin/sh\nexec g++ \"$@\"\n";

    kiln__hash_hex(kiln__hash_128(script, sizeof script - 1), expected);
    assert_true(kiln__file_identity(write_file("script", script, sizeof script - 1), id));
    assert_string_equal(id, expected);
    assert_true(kiln__file_identity(write_file("empty", "", 0), other));
    assert_string_equal(other, "99aa06d3014798d86001c324468d497f");
    assert_false(kiln__file_identity(path_of("missing"), id));
    assert_string_equal(id, "");
    assert_false(kiln__file_identity(folder, id));
}

static void content_identity(const void *data, size_t bytes, char out[33])
{
    kiln__hash_hex(kiln__hash_128(data, bytes), out);
}

static void test_os__a_truncated_elf_is_any_file(void **state)
{
    (void)state;
    tiny_elf e = make_elf();
    char id[64], expected[33];

    /* sizeof e would count the struct's own padding. */
    for (size_t bytes = 0; bytes < offsetof(tiny_elf, build_id) + sizeof e.build_id; bytes++) {
        assert_true(kiln__file_identity(write_file("elf", &e, bytes), id));
        content_identity(&e, bytes, expected);
        assert_string_equal(id, expected);
    }
}

/* Put extreme values into each 4- and 8-byte word: the answer is the build id (the word did not
 * matter), another one (the word was the id), or the content's hash; never a fault. The sanitizers
 * look at the rest. */
static void test_os__lying_elf_headers_are_not_believed(void **state)
{
    (void)state;
    static const uint64_t lies[] = {0,          1,
                                    3,          UINT32_MAX,
                                    INT32_MAX,  INT64_MAX,
                                    UINT64_MAX, UINT64_MAX - 63,
                                    0xFFFF,     0x7FFFFFFFFFFFF000};
    char id[64], expected[33];
    size_t hashed = 0;

    for (size_t at = 0; at + 4 <= sizeof(tiny_elf); at += 2) {
        for (size_t k = 0; k < KILN_COUNT_OF(lies); k++) {
            tiny_elf e = make_elf();
            size_t width = at + 8 <= sizeof e && k % 2 == 0 ? 8 : 4;
            memcpy((char *)&e + at, &lies[k], width);
            assert_true(kiln__file_identity(write_file("elf", &e, sizeof e), id));
            content_identity(&e, sizeof e, expected);
            hashed += strcmp(id, expected) == 0;
            assert_true(strlen(id) > 0 && strlen(id) < sizeof id);
        }
    }
    assert_true(hashed > 100);
}

static void test_os__a_long_build_id_is_hashed(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Nhdr note;
        char name[4];
        unsigned char id[40]; /* longer than fits as hex: hashed */
    } e;
    char id[64], expected[33];

    memset(&e, 0, sizeof e);
    memcpy(e.head.e_ident, ELFMAG, SELFMAG);
    e.head.e_ident[EI_CLASS] = ELFCLASS64;
    e.head.e_ident[EI_DATA] = ELFDATA2LSB;
    e.head.e_phoff = sizeof e.head;
    e.head.e_phentsize = sizeof e.segment;
    e.head.e_phnum = 1;
    e.segment.p_type = PT_NOTE;
    e.segment.p_offset = sizeof e.head + sizeof e.segment;
    e.segment.p_filesz = sizeof e.note + 4 + 31;
    e.note.n_namesz = 4;
    e.note.n_descsz = 31;
    e.note.n_type = NT_GNU_BUILD_ID;
    memcpy(e.name, "GNU", 4);
    memset(e.id, 0xAB, sizeof e.id);
    assert_true(kiln__file_identity(write_file("long", &e, sizeof e), id));
    assert_int_equal(strlen(id), 62);
    assert_int_equal(strspn(id, "ab"), 62);

    e.note.n_descsz = 40;
    e.segment.p_filesz = sizeof e.note + 4 + 40;
    content_identity(e.id, 40, expected);
    assert_true(kiln__file_identity(write_file("long", &e, sizeof e), id));
    assert_string_equal(id, expected);
}

/* ---- forks and the environment ---- */

static void test_os__fork_generation_counts_in_the_child(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        pid_t grandchild = 0;
        if (kiln__fork_generation() != 1)
            _exit(1);
        grandchild = fork();
        if (grandchild == 0)
            _exit(kiln__fork_generation() == 2 ? 0 : 2);
        waitpid(grandchild, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(kiln__fork_generation(), 0);
}

/* ---- pages of our own ---- */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Constants beside the code that is mapped: more than the system maps at one fault. */
enum { CONSTANT_BYTES = 256 << 10 };
static const unsigned char constants[CONSTANT_BYTES] = {1};
static unsigned char variable = 1;

/* Faults that reading all of `constants` costs once the system has dropped their pages and `restore`
 * has run. */
static long faults_of_reading(void (*restore)(void))
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = ((uintptr_t)constants + page - 1) & ~(page - 1);
    const uintptr_t to = ((uintptr_t)constants + CONSTANT_BYTES) & ~(page - 1);
    struct rusage before, after;
    unsigned sum = 0;

    assert_int_equal(madvise((void *)from, to - from, MADV_DONTNEED), 0);
    if (restore != NULL)
        restore();
    getrusage(RUSAGE_SELF, &before);
    for (uintptr_t at = from; at < to; at += page)
        sum += *(const volatile unsigned char *)at;
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(sum, from == (uintptr_t)constants);
    return after.ru_minflt - before.ru_minflt;
}

static void test_os__own_code_is_mapped_before_it_is_needed(void **state)
{
    (void)state;
    const uintptr_t code = (uintptr_t)&kiln__map_own_code, data = (uintptr_t)constants;
    const uintptr_t end = data + CONSTANT_BYTES;

    if ((code < data ? end - code : code - data) >= (uintptr_t)1 << 20)
        skip(); /* this linker put them too far from each other */
    if (madvise((void *)(code & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1)), 1, MADV_POPULATE_READ) != 0)
        skip(); /* a system that cannot */
    (void)faults_of_reading(NULL);
    assert_true(faults_of_reading(NULL) > 0);
    assert_int_equal(faults_of_reading(kiln__map_own_code), 0);
}

/* What is mapped where, into `text` without allocating anything: that would change the answer. */
static size_t read_maps(char *text, size_t room)
{
    const int fd = open("/proc/self/maps", O_RDONLY);
    size_t length = 0;
    ssize_t got = 0;

    assert_true(fd >= 0);
    while ((got = read(fd, text + length, room - length)) > 0)
        length += (size_t)got;
    close(fd);
    return length;
}

static void test_os__mapping_own_code_changes_no_mapping_and_no_value(void **state)
{
    (void)state;
    static char before[1 << 16], after[1 << 16];
    size_t bytes = 0;

    variable = 2;
    bytes = read_maps(before, sizeof before);
    kiln__map_own_code();
    kiln__map_own_code();
    assert_int_equal(read_maps(after, sizeof after), bytes);
    assert_memory_equal(after, before, bytes);
    assert_int_equal(variable, 2);
    assert_int_equal(constants[0], 1);
}

static void test_os__empty_variables_count_as_unset(void **state)
{
    (void)state;
    setenv("KILN_TEST_VARIABLE", "", 1);
    assert_null(kiln__env("KILN_TEST_VARIABLE"));
    setenv("KILN_TEST_VARIABLE", "x", 1);
    assert_string_equal(kiln__env("KILN_TEST_VARIABLE"), "x");
    unsetenv("KILN_TEST_VARIABLE");
    assert_null(kiln__env("KILN_TEST_VARIABLE"));
}

static void test_os__time_moves_forward_in_microseconds(void **state)
{
    (void)state;
    struct timespec before, behind;

    clock_gettime(CLOCK_MONOTONIC, &before);
    const double start = kiln__now_us();
    usleep(2000);
    const double end = kiln__now_us();
    clock_gettime(CLOCK_MONOTONIC, &behind);
    assert_true(end - start >= 2000);
    /* No longer than the time around both calls, however long the machine was busy with others. */
    assert_true(end - start <= (double)(behind.tv_sec - before.tv_sec) * 1e6 +
                                   (double)(behind.tv_nsec - before.tv_nsec) * 1e-3 + 1);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kiln-test-os-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"whole", "small", "elf", "long", "script", "empty"};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++)
        unlink(path_of(names[k]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_os__read_file_gives_the_whole_file_and_a_nul),
        cmocka_unit_test(test_os__read_file_reads_what_has_no_size),
        cmocka_unit_test(test_os__read_file_names_its_failure),
        cmocka_unit_test(test_os__identity_is_the_build_id),
        cmocka_unit_test(test_os__identity_without_build_id_is_a_hash_of_the_content),
        cmocka_unit_test(test_os__a_truncated_elf_is_any_file),
        cmocka_unit_test(test_os__lying_elf_headers_are_not_believed),
        cmocka_unit_test(test_os__a_long_build_id_is_hashed),
        cmocka_unit_test(test_os__fork_generation_counts_in_the_child),
        cmocka_unit_test(test_os__own_code_is_mapped_before_it_is_needed),
        cmocka_unit_test(test_os__mapping_own_code_changes_no_mapping_and_no_value),
        cmocka_unit_test(test_os__empty_variables_count_as_unset),
        cmocka_unit_test(test_os__time_moves_forward_in_microseconds),
    };

    return cmocka_run_group_tests_name("os", tests, make_folder, remove_folder);
}
