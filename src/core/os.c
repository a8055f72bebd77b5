/*
 * os.c - the world outside: time, environment, files.
 *
 * Rule: whatever is read from a file is a claim. Every offset and size in it is checked against the
 *       file's true size before it is used.
 * Not done here: forks (fork.c).
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"

/* ---- NUMA nodes ---- */

/* The system calls have no functions in the C library, and their numbers stand in a header that
 * need not be there (linux/mempolicy.h). */
enum { POLICY_DEFAULT = 0, POLICY_PREFERRED = 1, NODES_MAX = 1024 };

bool kiln__node_prefer(int node)
{
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[NODES_MAX / BITS] = {0};
    int policy = POLICY_PREFERRED;

    if (node < 0 || node >= NODES_MAX ||
        syscall(SYS_get_mempolicy, &policy, NULL, 0UL, NULL, 0UL) != 0 || policy != POLICY_DEFAULT)
        return false;
    nodes[node / BITS] = 1UL << node % BITS;
    return syscall(SYS_set_mempolicy, POLICY_PREFERRED, nodes, (unsigned long)NODES_MAX) == 0;
}

void kiln__node_restore(void)
{
    (void)syscall(SYS_set_mempolicy, POLICY_DEFAULT, NULL, 0UL);
}

/* ---- pages of our own ---- */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older kernels answer EINVAL */
#endif

/* In a program that kiln is linked into statically, its code is a small part of a segment: only
 * pages this near to it are mapped. */
#define OWN_CODE_REACH ((uintptr_t)1 << 20)

static int map_if_own(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    const uintptr_t here = (uintptr_t)&kiln__map_own_code, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    bool own = false;

    (void)bytes;
    (void)unused;
    for (int k = 0; k < object->dlpi_phnum; k++) {
        const uintptr_t start = object->dlpi_addr + object->dlpi_phdr[k].p_vaddr;
        own |= object->dlpi_phdr[k].p_type == PT_LOAD && here >= start &&
               here - start < object->dlpi_phdr[k].p_memsz;
    }
    for (int k = 0; own && k < object->dlpi_phnum; k++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[k];
        uintptr_t from = object->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;

        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0)
            continue;
        from = from + OWN_CODE_REACH < here ? here - OWN_CODE_REACH : from;
        to = to > here + OWN_CODE_REACH ? here + OWN_CODE_REACH : to;
        from &= ~(page - 1);
        if (from < to)
            (void)madvise((void *)from, to - from, MADV_POPULATE_READ);
    }
    return own;
}

void kiln__map_own_code(void)
{
    (void)dl_iterate_phdr(map_if_own, NULL);
}

/* ---- time and environment ---- */

double kiln__now_us(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

uint64_t kiln__thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

bool kiln__is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *kiln__env(const char *name)
{
    /* A set-uid program does not let its caller choose compilers, libraries and folders. */
    const char *value = secure_getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

int kiln__tuned(const char *name, int value)
{
#if defined KILN_TUNING || defined KILN_TEST_HOOKS
    const char *text = kiln__env(name);
    return text != NULL ? atoi(text) : value;
#else
    (void)name;
    return value;
#endif
}

/* ---- files ---- */

static int open_to_read(const char *path, int flags)
{
    int fd = -1;

    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

ssize_t kiln__read_up_to(int fd, void *data, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t got = read(fd, (char *)data + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Read an open file into `data_out`. Its size as told by fstat is only where to begin: files of
 * /proc claim 0 bytes, and a log may grow while it is read. */
int kiln__read_open_file(int fd, size_t max_bytes, char **data_out, size_t *bytes_out)
{
    struct stat st;
    size_t length = 0;
    char *data = NULL;

    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > max_bytes)
        return EFBIG;
    size_t capacity = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    for (;;) {
        /* One byte more than expected shows the file's end without a second round. */
        char *larger = kiln__realloc(data, capacity + 2);
        if (larger == NULL) {
            kiln__free(data);
            return ENOMEM;
        }
        data = larger;
        ssize_t got = kiln__read_up_to(fd, data + length, capacity + 1 - length);
        if (got < 0) {
            int why = errno;
            kiln__free(data);
            return why;
        }
        length += (size_t)got;
        if (length <= capacity)
            break;
        if (length > max_bytes) {
            kiln__free(data);
            return EFBIG;
        }
        capacity = capacity < 2048 ? 4096 : capacity * 2;
        if (capacity > max_bytes)
            capacity = max_bytes;
    }
    data[length] = '\0';
    *data_out = data;
    *bytes_out = length;
    return 0;
}

int kiln__read_file(const char *path, size_t max_bytes, char **data_out, size_t *bytes_out)
{
    *data_out = NULL;
    *bytes_out = 0;
    if (max_bytes > (size_t)PTRDIFF_MAX - 2)
        max_bytes = (size_t)PTRDIFF_MAX - 2;
    int fd = open_to_read(path, 0);
    if (fd < 0)
        return errno;
    int why = kiln__read_open_file(fd, max_bytes, data_out, bytes_out);
    close(fd);
    return why;
}

int kiln__open_regular(const char *path, struct stat *st)
{
    /* O_NONBLOCK keeps a pipe from holding us up before it is refused. */
    const int fd = open_to_read(path, O_NONBLOCK | O_NOCTTY);
    int why = 0;

    memset(st, 0, sizeof *st);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) != 0)
        why = errno;
    else if (!S_ISREG(st->st_mode))
        why = ENODEV;
    if (why == 0)
        return fd;
    close(fd);
    errno = why;
    return -1;
}

int kiln__read_regular_file(const char *path, size_t max_bytes, char **data_out,
                            size_t *bytes_out)
{
    struct stat st;
    const int fd = kiln__open_regular(path, &st);

    *data_out = NULL;
    *bytes_out = 0;
    if (fd < 0)
        return errno;
    int why = kiln__read_open_file(fd, max_bytes, data_out, bytes_out);
    close(fd);
    return why;
}

/* More in one call would wait on the disk while a signal handler of the host cannot run. */
#define WRITE_BYTES_MAX ((size_t)64 << 20)

static int write_loop(int fd, const char *at, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = write(fd, at, bytes < WRITE_BYTES_MAX ? bytes : WRITE_BYTES_MAX);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        at += put;
        bytes -= (size_t)put;
    }
    return 0;
}

/* Both signals are sent to the very thread that writes, so holding them back there is enough. One
 * that was pending before is not ours to take. */
int kiln__write_all(int fd, const void *data, size_t bytes)
{
    static const struct timespec at_once = {0, 0};
    static const int numbers[] = {SIGXFSZ, SIGPIPE};
    sigset_t held, ours, before, pending;

    sigemptyset(&held);
    sigemptyset(&ours);
    sigpending(&pending);
    for (size_t k = 0; k < KILN_COUNT_OF(numbers); k++) {
        sigaddset(&held, numbers[k]);
        if (sigismember(&pending, numbers[k]) == 0)
            sigaddset(&ours, numbers[k]);
    }
    pthread_sigmask(SIG_BLOCK, &held, &before);
    int why = write_loop(fd, data, bytes);
    if (why == EFBIG || why == EPIPE)
        while (sigtimedwait(&ours, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return why;
}

bool kiln__is_beyond_process_limit(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

/* ---- identity of a file ---- */

/* More than any linker writes; a header that asks for more is not believed. */
#define ELF_SEGMENTS_MAX 512
#define ELF_NOTE_BYTES_MAX ((size_t)64 << 10)

/* Read exactly [offset, offset + bytes) of a file of `file_bytes`. */
static bool read_range(int fd, uint64_t file_bytes, uint64_t offset, void *data, size_t bytes)
{
    size_t done = 0;

    if (offset > file_bytes || bytes > file_bytes - offset)
        return false;
    while (done < bytes) {
        ssize_t got = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static size_t round_up_to_4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

/* Walk the notes in `notes`; on the GNU build id write it as hex. */
static bool find_build_id(const unsigned char *notes, size_t bytes, char out[64])
{
    size_t at = 0;

    while (bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        size_t name = at + sizeof note, left = bytes - name, name_bytes = 0, id_bytes = 0;

        memcpy(&note, notes + at, sizeof note);
        if (note.n_namesz > left)
            return false;
        name_bytes = round_up_to_4(note.n_namesz);
        if (name_bytes > left)
            return false;
        left -= name_bytes;
        if (note.n_descsz > left)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz != 0) {
            const unsigned char *id = notes + name + name_bytes;
            if (note.n_descsz > 31) {
                kiln__hash_hex(kiln__hash_128(id, note.n_descsz), out);
                return true;
            }
            for (size_t k = 0; k < note.n_descsz; k++) {
                out[2 * k] = "0123456789abcdef"[id[k] >> 4];
                out[2 * k + 1] = "0123456789abcdef"[id[k] & 15];
            }
            out[2 * (size_t)note.n_descsz] = '\0';
            return true;
        }
        id_bytes = round_up_to_4(note.n_descsz);
        if (id_bytes > left)
            return false;
        at = name + name_bytes + id_bytes;
    }
    return false;
}

/* One note segment. */
static bool build_id_in_segment(int fd, uint64_t file_bytes, uint64_t offset, uint64_t bytes,
                                char out[64])
{
    if (bytes > ELF_NOTE_BYTES_MAX)
        return false;
    unsigned char *notes = kiln__alloc((size_t)bytes);
    bool found = notes != NULL && read_range(fd, file_bytes, offset, notes, (size_t)bytes) &&
                 find_build_id(notes, (size_t)bytes, out);
    kiln__free(notes);
    return found;
}

static bool build_id_64(int fd, uint64_t file_bytes, char out[64])
{
    Elf64_Ehdr head;

    if (!read_range(fd, file_bytes, 0, &head, sizeof head) ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > ELF_SEGMENTS_MAX)
        return false;
    for (unsigned k = 0; k < head.e_phnum; k++) {
        Elf64_Phdr segment;
        /* No wrap: e_phoff is at most file_bytes, which is an off_t. */
        if (head.e_phoff > file_bytes ||
            !read_range(fd, file_bytes, head.e_phoff + (uint64_t)k * sizeof segment, &segment,
                        sizeof segment))
            return false;
        if (segment.p_type == PT_NOTE &&
            build_id_in_segment(fd, file_bytes, segment.p_offset, segment.p_filesz, out))
            return true;
    }
    return false;
}

/* The build id of a 64-bit ELF file of this machine's byte order; false for any other file. */
static bool build_id_of(int fd, uint64_t file_bytes, char out[64])
{
    unsigned char ident[EI_NIDENT];
    const uint16_t one = 1;
    const unsigned char native = *(const unsigned char *)&one == 1 ? ELFDATA2LSB : ELFDATA2MSB;

    return read_range(fd, file_bytes, 0, ident, sizeof ident) &&
           memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_DATA] == native &&
           ident[EI_CLASS] == ELFCLASS64 && build_id_64(fd, file_bytes, out);
}

/* XXH3 of the whole content. Only files without a build id come here: scripts that wrap a
 * compiler, and the rare binary linked without one. */
static bool content_hash(int fd, uint64_t file_bytes, char out[64])
{
    char *data = NULL;
    size_t bytes = 0;

    if (file_bytes > SIZE_MAX / 2 || kiln__read_open_file(fd, (size_t)file_bytes, &data, &bytes) != 0)
        return false;
    kiln__hash_hex(kiln__hash_128(data, bytes), out);
    kiln__free(data);
    return true;
}

bool kiln__file_identity(const char *path, char out[64])
{
    struct stat st;
    int fd = open_to_read(path, 0);
    bool known = false;

    out[0] = '\0';
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        known = build_id_of(fd, (uint64_t)st.st_size, out) ||
                content_hash(fd, (uint64_t)st.st_size, out);
    close(fd);
    return known;
}
