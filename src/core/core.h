/*
 * core.h - the one door of src/core: what every other folder stands on.
 *
 * Status and error helpers, host allocation, text building, hashing, tables, checked arithmetic,
 * shapes, time, files. Uses nothing but libc and xxHash. Names with two underscores may be used by
 * any folder of src/ and by no user.
 */
#ifndef KILN_CORE_CORE_H
#define KILN_CORE_CORE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "kiln/base.h"
#include "kiln/dtype.h"
#include "kiln/error.h"
#include "kiln/rearrange.h"

/* The two macros that leave a function on failure. KILN_TRY jumps to `done`, and needs `kiln_status
 * status`: for functions that have something to undo. KILN_CHECK returns the status of the call at
 * once: for functions, or the parts of one, that have nothing to undo. */
#define KILN_TRY(call)                                                                             \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KILN_OK)                                                                     \
            goto done;                                                                             \
    } while (0)
#define KILN_CHECK(call)                                                                           \
    do {                                                                                           \
        const kiln_status kiln__checked = (call);                                                  \
        if (kiln__checked != KILN_OK)                                                              \
            return kiln__checked;                                                                  \
    } while (0)
/* KILN_CHECK for a pointer that must not be NULL: ERR_NULL names the function and the parameter. To
 * be used in public functions, whose names the caller knows. */
#define KILN_CHECK_NULL(pointer, err)                                                              \
    do {                                                                                           \
        if ((pointer) == NULL)                                                                     \
            return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", __func__, #pointer);         \
    } while (0)

#define KILN_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KILN_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* ---- errors (error.c) ---- */

/* Fill `err` (may be NULL) and return `status`. An explanation already there is replaced. */
kiln_status kiln__fail(kiln_error *err, kiln_status status, const char *fmt, ...) KILN_PRINTF(3, 4);

/* As kiln__fail, and hand `detail` (heap text from kiln__alloc or NULL) over to the error; it is
 * freed when err is NULL. */
kiln_status kiln__fail_detail(kiln_error *err, kiln_status status, char *detail, const char *fmt,
                              ...) KILN_PRINTF(4, 5);

/* Tell of an error whose message is there that `column` of an expression is at fault, counted from 1; 0: of none.
 * Errors of compilers and of memory stay as they are. Returns `status`. */
kiln_status kiln__fail_in_column(kiln_error *err, kiln_status status, int column);

/* Whether an error tells of arguments or of the values in arrays, and of nothing else. */
bool kiln__is_of_values(kiln_status status);

/* As kiln__fail, for a failure at byte `at` of `text`: the error's offset, and in its detail a caret
 * under `width` bytes. */
kiln_status kiln__fail_at(kiln_error *err, kiln_status status, const char *text, size_t at,
                          size_t width, const char *fmt, ...) KILN_PRINTF(6, 7);

/* ERR_NO_MEMORY for an allocation of `bytes`. */
kiln_status kiln__fail_memory(kiln_error *err, size_t bytes);

/* Memory for `count` zeroed items, and for `bytes` of anything, into the pointer whose address is
 * `pointer`: NULL there, and ERR_NO_MEMORY, when there is none. */
kiln_status kiln__make_zeroed(void *pointer, size_t count, size_t item_bytes, kiln_error *err);
kiln_status kiln__make_room(void *pointer, size_t bytes, kiln_error *err);

/* Copy an error (a remembered failure, say) with its texts; `dst` may be NULL. Returns src's
 * status. Texts that cannot be allocated are left out. */
kiln_status kiln__error_copy(kiln_error *dst, const kiln_error *src);

/* ---- host memory (alloc.c) ---- All return NULL on failure; kiln__free accepts NULL. Built
 * with KILN_TEST_HOOKS, the nth allocation can be made to fail. */
void *kiln__alloc(size_t bytes);
void *kiln__calloc(size_t count, size_t bytes);
void *kiln__realloc(void *p, size_t bytes);
void kiln__free(void *p);
/* Memory that is kept on purpose does not count as alive in tests from here until it is taken back,
 * which comes before it is freed. */
void kiln__alloc_set_aside(const void *p);
void kiln__alloc_take_back(const void *p);
/* Room for one more item of `item_bytes` behind the `count` of an array, whose address is at
 * `array_pointer` (the address of a pointer). False without memory. */
bool kiln__reserve(void *array_pointer, size_t count, size_t *capacity, size_t item_bytes);
char *kiln__strdup(const char *text);                /* NULL text gives NULL */
char *kiln__strndup(const char *text, size_t bytes); /* copies exactly `bytes`, adds a NUL */

/* ---- memory that goes all at once (arena.c) ---- NULL is an empty arena. */
#define KILN__ARENA_BYTES ((size_t)16 << 10) /* taken from the host at once, at least */
typedef struct kiln__arena kiln__arena;
void *kiln__arena_alloc(kiln__arena **arena, size_t bytes); /* zeroed, 16-byte aligned, or NULL */
void kiln__arena_reset(kiln__arena *arena); /* what was taken from it is gone; one block stays */
void kiln__arena_free(kiln__arena *arena);

#ifdef KILN_TEST_HOOKS
/* Fail the nth allocation from now on (0 = the next one), once; SIZE_MAX = never. Thread-safe. */
KILN_API void kiln__test_alloc_fail_at(size_t nth);
/* Allocations alive now. */
KILN_API size_t kiln__test_alloc_live(void);
#endif

/* ---- text (buf.c) ---- A growing NUL-terminated text with a sticky failure: append freely, look
 * once at the end. `max_bytes` is a hard bound (0: 64 MiB). */
typedef struct kiln__buf {
    char *text; /* NULL until something is appended */
    size_t length;
    size_t capacity;
    size_t max_bytes;
    bool failed;
} kiln__buf;
#define KILN__BUF_INIT {NULL, 0, 0, 0, false}

void kiln__buf_put(kiln__buf *b, const char *text, size_t bytes);
void kiln__buf_puts(kiln__buf *b, const char *text);
void kiln__buf_putc(kiln__buf *b, char c);
void kiln__buf_put_number(kiln__buf *b, int64_t number); /* decimal */
void kiln__buf_printf(kiln__buf *b, const char *fmt, ...) KILN_PRINTF(2, 3);
void kiln__buf_vprintf(kiln__buf *b, const char *fmt, va_list ap);
/* The text (never NULL unless failed), whose ownership moves to the caller; `b` is empty again. */
char *kiln__buf_take(kiln__buf *b);
void kiln__buf_clear(kiln__buf *b);
/* "1.50 GiB", "512 B", and "none" for SIZE_MAX, into `text`, which it returns. */
const char *kiln__bytes_text(size_t bytes, char text[32]);

/* Letters, digits and blanks of ASCII, whatever the locale; a word is made of letters, digits and
 * underscores, and begins with no digit. */
static inline bool kiln__is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool kiln__is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool kiln__is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline bool kiln__is_word_byte(char c)
{
    return kiln__is_letter(c) || kiln__is_digit(c) || c == '_';
}
bool kiln__is_identifier(const char *text); /* the whole text is a word */

static inline bool kiln__starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether the `bytes` bytes at `text`, which need no NUL behind them, are `word` (never empty). */
static inline bool kiln__same_word(const char *text, size_t bytes, const char *word)
{
    return bytes > 0 && text[0] == word[0] && strlen(word) == bytes &&
           memcmp(text, word, bytes) == 0;
}

/* ---- UTF-8 (utf8.c) ---- */
static inline bool kiln__utf8_continues(char c) /* a character that has begun */
{
    return ((unsigned char)c & 0xC0) == 0x80;
}
/* Bytes of the well-formed sequence at `text`, of which `left` (not 0) may be read; 0 when none is. */
size_t kiln__utf8_sequence(const char *text, size_t left);
bool kiln__utf8_check(const char *text, size_t bytes); /* all of it */

/* Caret text for a one-line or many-line `text`: the line that holds byte `at`, and a caret line
 * under bytes at..at+width. Tabs and UTF-8 keep their columns. Heap text or NULL. */
char *kiln__caret(const char *text, size_t at, size_t width);
/* The same of the word at byte `at`, or of that byte where there is none. How many bytes such a word has. */
char *kiln__caret_word(const char *text, size_t at);
size_t kiln__word_bytes(const char *text);

/* ---- hashing (hash.c), XXH3 ---- */
typedef struct kiln__hash128 {
    uint64_t lo, hi;
} kiln__hash128;
kiln__hash128 kiln__hash_128(const void *data, size_t bytes);
uint64_t kiln__hash_64(const void *data, size_t bytes);
/* SHA-256 as hex, with its NUL (digest.c). */
void kiln__digest(const void *data, size_t bytes, char out[65]);
void kiln__hash_hex(kiln__hash128 h, char out[33]); /* 32 lower-case digits, hi first */
kiln__hash128 kiln__hash_from_hex(const char hex[33]); /* the reverse, for 32 digits */

/* ---- items by hash (memo.c) ---- Found by any number of threads without locks. An item is a struct
 * whose first member is its hash, a uint64_t; once inserted it stays until the memo is cleared. */
#define KILN__MEMO_MAX 4096 /* items; what comes later is not taken */

typedef struct kiln__memo_table kiln__memo_table;
typedef struct kiln__memo_cache kiln__memo_cache;
typedef struct kiln__memo {
    _Atomic(kiln__memo_table *) table;
    _Atomic(kiln__memo_cache *) cache; /* NULL as long as there is room in the table */
    pthread_mutex_t lock;              /* for insertion, and for the cache */
    size_t count;
} kiln__memo;

void kiln__memo_init(kiln__memo *memo);
/* Destroy all items. No thread may be in the memo any more. */
void kiln__memo_clear(kiln__memo *memo, void (*destroy)(void *item));
/* An item of this hash that matches `key`, or NULL. No lock, no allocation. */
const void *kiln__memo_find(const kiln__memo *memo, uint64_t hash,
                            bool (*matches)(const void *item, const void *key), const void *key);
/* Take over `item`, or leave it (false) when the memo is full or memory is short. When an equal one
 * came first, `item` is kept as well: it stays valid as long as the memo. */
bool kiln__memo_insert(kiln__memo *memo, void *item);
/* Of what a full memo did not take the items that were used last are cached, by a lock: the caller borrows one, which stays
 * until it is returned. */
void *kiln__memo_borrow(kiln__memo *memo, uint64_t hash,
                        bool (*matches)(const void *item, const void *key), const void *key);
/* Cache `item`, which the caller has borrowed then; or leave it with the caller. Either way it is returned. */
void kiln__memo_lend(kiln__memo *memo, void *item, void (*destroy)(void *item));
/* Give back what was borrowed; an item that is not cached is destroyed. Accepts NULL. */
void kiln__memo_return(kiln__memo *memo, void *item, void (*destroy)(void *item));

/* ---- values by key (map.c) ---- A key is any bytes, and is copied. For one thread at a time. Zeros are
 * an empty map. */
typedef struct kiln__map_entry kiln__map_entry;
typedef struct kiln__map {
    kiln__map_entry **slots;
    size_t slot_count, count;
} kiln__map;

/* Where the value of a key is kept, valid until the map is cleared; NULL for a key that is not
 * there. */
void **kiln__map_find(const kiln__map *map, const void *key, size_t bytes);
/* The same, with the key entered (its value NULL) unless it was there, which `new_out` (may be
 * NULL) tells. NULL without memory. */
void **kiln__map_enter(kiln__map *map, const void *key, size_t bytes, bool *new_out);
/* All values, in no order that means anything; there is room for map->count of them. */
void kiln__map_list(const kiln__map *map, void **values, size_t *count_out);
/* Also destroys the values that are not NULL; `destroy` may be NULL. */
/* Remove the entries whose values drop() takes, and frees; false without memory: nothing was asked. */
bool kiln__map_drop(kiln__map *map, bool (*drop)(void *value, void *user), void *user);
void kiln__map_clear(kiln__map *map, void (*destroy)(void *value));

/* ---- checked arithmetic ---- true on overflow */
static inline bool kiln__mul_overflow(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}
static inline bool kiln__add_overflow(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

/* How many blocks of `block` hold `count`. */
static inline int64_t kiln__blocks(int64_t count, int64_t block)
{
    return (count + block - 1) / block;
}

/* ---- shapes and strides (shape.c) ---- Extents count elements, strides count bytes. */
__extension__ typedef __int128 kiln__int128;
__extension__ typedef unsigned __int128 kiln__uint128;

/* Strides of a gapless layout whose axes run from slowest to fastest as `order` says (NULL:
 * C-order). The sizes have been checked. */
void kiln__strides_ordered(int rank, const int64_t *shape, const int *order, size_t itemsize,
                           int64_t *strides);

/* C-order without gaps, axes of extent 1 ignored; true when there is no element. */
bool kiln__strides_contiguous(int rank, const int64_t *shape, const int64_t *strides,
                              size_t itemsize);

/* Bytes touched, relative to the first element: [low, high). Both 0 when there is no element.
 * Values beyond 2^100 stand for "more than any memory". */
void kiln__strides_extent(int rank, const int64_t *shape, const int64_t *strides, size_t itemsize,
                          kiln__int128 *low_out, kiln__int128 *high_out);

/* Whether two indices may name one element. Yes is sure for a stride of 0 and a guess for other
 * layouts that interleave; no is always sure. */
bool kiln__strides_self_overlap(int rank, const int64_t *shape, const int64_t *strides,
                                size_t itemsize);

/* A few multiplications an axis; equal inputs give equal hashes in every process. */
uint64_t kiln__layout_hash(kiln_dtype dtype, int rank, const int64_t *shape,
                           const int64_t *strides);

/* Broadcast `shape` (rank_io axes, updated) with one more shape, NumPy's rule. False when they do
 * not go together; `shape` has room for KILN_RANK_MAX. */
bool kiln__shape_broadcast(int *rank_io, int64_t *shape, int rank, const int64_t *other);

/* "(3, 4)", "(5,)", "()" into `text` (cut when too long). Returns `text`. */
char *kiln__shape_text(int rank, const int64_t *shape, char *text, size_t bytes);

/* Bytes that an array may stand for, a broadcast one too: what is rounded up to blocks of threads, and the sum of two
 * extents, fit an int64. */
#define KILN__ARRAY_BYTES_MAX (INT64_MAX / 2)

/* Product of extents. ERR_ARGUMENT for a negative extent or rank, ERR_OVERFLOW beyond KILN__ARRAY_BYTES_MAX
 * bytes of `itemsize`. */
kiln_status kiln__shape_size(int rank, const int64_t *shape, size_t itemsize, int64_t *size_out,
                             kiln_error *err);

/* Whether `new_shape` (of equal size) can be had in C-order without moving an element, and the
 * strides that it then has. */
bool kiln__reshape_strides(int rank, const int64_t *shape, const int64_t *strides, size_t itemsize,
                           int new_rank, const int64_t *new_shape, int64_t *new_strides);

/* ---- the world outside (os.c) ---- */
double kiln__now_us(void); /* monotonic */
uint64_t kiln__thread_id(void); /* the system's number of the calling thread */
/* Have the system take the calling thread's new memory from this NUMA node where it has room, until
 * kiln__node_restore(). False, and nothing is to be restored, where the thread has a policy of its own
 * (numactl), or the system allows none. */
bool kiln__node_prefer(int node);
void kiln__node_restore(void);
/* Whole file into heap memory, NUL-terminated; at most max_bytes. Returns 0 or an errno value. */
int kiln__read_file(const char *path, size_t max_bytes, char **data_out, size_t *bytes_out);
/* The same for what must be a regular file: ENODEV for pipes, which would be waited for, and for
 * devices, which may never end. */
int kiln__read_regular_file(const char *path, size_t max_bytes, char **data_out,
                            size_t *bytes_out);
/* Open what must be a regular file: -1 with errno, and where that is ENODEV `st` tells what it is. */
int kiln__open_regular(const char *path, struct stat *st);
/* The same of an open file, from where it stands. */
int kiln__read_open_file(int fd, size_t max_bytes, char **data_out, size_t *bytes_out);
/* Read until `bytes` are there or the file ends; -1 with errno on an error, which is no end of the
 * file. */
ssize_t kiln__read_up_to(int fd, void *data, size_t bytes);
/* Write `bytes` to an open file, whole. A write that fails is an error and no signal: what the
 * limit on file sizes (SIGXFSZ) or a pipe without a reader (SIGPIPE) sends is taken back. 0 or
 * errno. */
int kiln__write_all(int fd, const void *data, size_t bytes);
/* Whether writing a file up to this size would kill the process (SIGXFSZ) rather than fail. */
bool kiln__is_beyond_process_limit(uint64_t bytes);
/* The GNU build id of an ELF file as hex, or its XXH3 when it has none; false when unreadable.
 * Reads headers only: tens of microseconds whatever the file's size. */
bool kiln__file_identity(const char *path, char out[64]);
/* Map the pages of kiln's own code and constants, in one system call a segment instead of a fault
 * every few pages. Changes nothing else; where it cannot be done, it is not. */
void kiln__map_own_code(void);
/* Whether this process has rights that whoever started it has not: a set-uid program, say. */
bool kiln__is_privileged(void);
/* $name, or NULL when unset or empty, and always in a privileged process. */
const char *kiln__env(const char *name);

/* A planner's number, which a build with -DKILN_TUNING lets the environment replace: how better
 * ones are looked for on a GPU. Tests let it, too, so that small arrays meet what is for large ones. */
int kiln__tuned(const char *name, int value);

/* ---- forks (fork.c) ---- */
/* How often this process has been forked into (0 in the process that loaded kiln). */
unsigned kiln__fork_generation(void);

/* For atexit(): objects made before become those of another process, which nothing is done to. */
void kiln__process_end(void);
bool kiln__process_is_ending(void);

/* A lock that the process has one of. A forked child finds it free whoever held it. */
typedef struct kiln__process_lock {
    pthread_mutex_t mutex;
    struct kiln__process_lock *next;
    atomic_bool listed;
} kiln__process_lock;
#define KILN__PROCESS_LOCK_INIT {.mutex = PTHREAD_MUTEX_INITIALIZER}
void kiln__process_lock_take(kiln__process_lock *lock);
bool kiln__process_lock_try(kiln__process_lock *lock); /* whether it was taken */
void kiln__process_lock_give(kiln__process_lock *lock);

/* Let no fork happen from hold to allow: for the few system calls that open a descriptor and list
 * it. kiln__fork_closes() lists one that forked children close at once, so that it ends with this
 * process; false when there are too many. kiln__fork_close() takes it off the list and closes it
 * (not while forks are held off; -1 is fine). */
void kiln__fork_hold(void);
void kiln__fork_allow(void);
bool kiln__fork_closes(int fd);
void kiln__fork_close(int fd);

/* ---- options structs ---- Copy a caller's options of `given` bytes over defaults of `known`
 * bytes: shorter is fine, longer must hold zeros beyond what is known. */
kiln_status kiln__options_read(void *known_opts, size_t known, const void *given_opts, size_t given,
                               const char *type_name, kiln_error *err);

/* The same, of the options struct `type`, for pointers to one (`given` may be NULL). */
#define KILN_READ_OPTIONS(type, known, given, err)                                                 \
    kiln__options_read(known, sizeof(type), given, (given) != NULL ? (given)->struct_size : 0,     \
                       #type, err)

/* Defaults into a caller's struct of `given` bytes, which begins with its size. Accepts NULL. */
void kiln__options_init(void *opts, size_t given);
/* The public function that does it for the options struct `type`. */
#define KILN_DEFINE_OPTIONS_INIT(type)                                                             \
    void type##_init(type *opts, size_t struct_size)                                               \
    {                                                                                              \
        kiln__options_init(opts, struct_size);                                                     \
    }

/* ---- scalars (scalar.c) ---- One value of any dtype, as its bytes in memory. */
typedef struct kiln__scalar {
    _Alignas(16) unsigned char bytes[16];
} kiln__scalar;
/* A plain number: an argument, a number in an expression, or an operand that is no array. */
typedef struct kiln__number {
    char kind; /* 'b', 'i', 'u' (an integer above INT64_MAX), 'f' or 'c' */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        double c[2]; /* real, imaginary */
    } value;
} kiln__number;
/* The number whose value union is at `value`. `index` counts bool, int64, uint64, float64 and
 * complex128 from 0, as kiln_arg_kind and kiln_node_kind do from their first number on. An unsigned
 * integer that int64 holds gets the kind 'i': equal integers are equal numbers. */
kiln__number kiln__number_of(unsigned index, const void *value);
unsigned kiln__number_index(const kiln__number *number); /* the reverse */

/* Floats of fewer than 32 bits, which C has no types for: float16, bfloat16 and the two float8. */
bool kiln__is_narrow(kiln_dtype dtype);
bool kiln__is_float8(kiln_dtype dtype);
/* The element of a narrow dtype at `element`, which need not be aligned. */
float kiln__narrow_load(kiln_dtype dtype, const void *element);
/* float64 straight to a narrow dtype, rounded once, to nearest even. */
void kiln__narrow_store(kiln_dtype dtype, double v, void *element);
/* `v` rounded to any float dtype, once. */
double kiln__float_round(kiln_dtype dtype, double v);
/* The bits of infinity, or, in a dtype without, of the largest number: greater magnitudes are NaN. */
uint64_t kiln__float_infinity(kiln_dtype dtype);

float kiln__float16_to_float(uint16_t v);
float kiln__bfloat16_to_float(uint16_t v);
float kiln__float8_e4m3fn_to_float(uint8_t v);
float kiln__float8_e5m2_to_float(uint8_t v);
uint16_t kiln__float16_from_double(double v);
uint16_t kiln__bfloat16_from_double(double v);

/* ---- what rearrangements do to shapes (arrange.c) ---- */

enum {
    KILN__REARRANGE_OPERANDS_MAX = 64,
    KILN__REARRANGE_NUMBERS_MAX = 1024,
    KILN__SEGMENTS_MAX = 64 /* along one axis */
};

/* Where an axis of a value is read at: index = start + step * (index on axis `from` of the viewer),
 * or always `start` when from is -1. */
typedef struct kiln__axis_map {
    int from;
    int64_t start, step;
} kiln__axis_map;

/* A view in the making: its shape, and a map for each axis of what is viewed. */
typedef struct kiln__arranged {
    int rank;
    int64_t shape[KILN_RANK_MAX + 1];
    kiln__axis_map map[KILN_RANK_MAX];
} kiln__arranged;

/* `count` indices of a result, from `at` on, and where the first of them is read: the source runs in
 * steps of 1, -1 or 0. A `from` below 0: there is none. */
typedef struct kiln__axis_run {
    int64_t at, count, from, step;
} kiln__axis_run;

/* Whether a rearrangement is a view of its operand. */
bool kiln__arrange_is_view(kiln_rearrangement what);
/* Make an axis count from the front. ERR_AXIS. */
kiln_status kiln__arrange_axis(const char *what, int64_t axis, int rank, int *out, kiln_error *err);
/* ERR_ARGUMENT, ERR_ARGUMENT_COUNT. */
kiln_status kiln__arrange_check(kiln_rearrangement what, size_t operands, size_t numbers,
                                kiln_error *err);
/* In the place of an axis of KILN_REARRANGE_SECTION: those that hsplit, vsplit and dsplit cut, which the rank decides. */
#define KILN__SPLIT_H (INT64_MIN + 16)
#define KILN__SPLIT_V (INT64_MIN + 17)
#define KILN__SPLIT_D (INT64_MIN + 18)
/* What stands in the place of `equal` where a section is the elements from the second to the third number. */
enum { KILN__SECTION_SLICE = 2 };
/* A section's axis, counted from the front. ERR_AXIS. */
kiln_status kiln__arrange_split_axis(int64_t axis, int rank, int *out, kiln_error *err);
/* ERR_AXIS, ERR_SHAPE, ERR_ARGUMENT_COUNT. */
kiln_status kiln__arrange_view(kiln_rearrangement what, const int64_t *numbers, size_t count,
                               int rank, const int64_t *shape, kiln__arranged *out, kiln_error *err);
/* All windows along an axis, as a further one: numbers are the axis and how many elements a window has; in expressions
 * behind them 0 and how many axes the array must have. `shape_out` has room for the further axis. ERR_AXIS, ERR_SHAPE. */
kiln_status kiln__arrange_windows(const int64_t *n, size_t count, int rank, const int64_t *shape,
                                  int64_t *shape_out, int *axis_out, kiln_error *err);
/* An axis of `n` elements, padded. ERR_ARGUMENT, ERR_SHAPE, ERR_OVERFLOW, ERR_UNSUPPORTED. */
kiln_status kiln__arrange_pad(kiln_pad_mode mode, int64_t n, int64_t before, int64_t after,
                              kiln__axis_run list[KILN__SEGMENTS_MAX], size_t *count_out,
                              kiln_error *err);

/* ---- logging (log.c) ---- */
typedef struct kiln__log {
    void (*fn)(void *user, const char *line); /* NULL: stderr, as far as $KILN_LOG lets it */
    void *user;
} kiln__log;
/* In the order of the words of $KILN_LOG: off, error, warn, info. */
typedef enum kiln__log_level {
    KILN__LOG_OFF = 0,   /* for $KILN_LOG only; no line has this level */
    KILN__LOG_ERROR = 1, /* something that was asked for is not done: a recording, a bundle */
    KILN__LOG_WARN = 2,  /* done, but slower than need be, or after ignoring a wrong setting */
    KILN__LOG_INFO = 3   /* what is done: the device, each compilation */
} kiln__log_level;
/* Say one line; the rules are at the top of log.c. A NULL `log` is one without a callback. */
void kiln__log_line(const kiln__log *log, kiln__log_level level, const char *fmt, ...)
    KILN_PRINTF(3, 4);
/* A callback for those who learn of trouble in another way. */
void kiln__log_ignore(void *user, const char *line);

#endif
