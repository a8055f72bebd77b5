/**
 * @file kiln/cache.h
 * @brief List, check, shrink, export and import the folder of compiled kernels.
 *
 * Most programs need none of this, because a context reads and fills its cache by itself. It is for
 * tools, and for applications that ship their kernels in a bundle:
 *
 *     kiln_cache *cache = NULL;
 *     kiln_cache_summary summary;
 *     uint64_t removed = 0;
 *     kiln_cache_open(NULL, &cache, &err);                    // the folder that contexts use
 *     kiln_cache_stats(cache, &summary, &err);
 *     printf("%llu kernels\n", (unsigned long long)summary.entry_count);
 *     kiln_cache_prune(cache, (uint64_t)1 << 30, &removed, &err);   // to 1 GiB at most
 *     kiln_cache_close(cache);
 *
 * Threads: a kiln_cache belongs to one thread at a time; any number of them, and any number of
 *          processes, may use one folder at once, while contexts go on using it.
 * Units:   sizes count bytes of files, times of day nanoseconds since 1970 (UTC).
 * Owner:   whoever calls _open calls _close; lists are freed with kiln_free().
 */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "kiln/context.h"

/** An open cache folder, or an open bundle: a read-only file that holds many kernels. */
typedef struct kiln_cache kiln_cache;

/** What a context's cache has done since the context was created. */
typedef struct kiln_cache_counters {
    uint64_t hits;            /**< Kernels taken from a cache, whichever layer had them. */
    uint64_t bundle_hits;     /**< Of these, from a bundle. */
    uint64_t misses;          /**< Lookups that found no usable kernel; the reasons follow. */
    uint64_t miss_absent;     /**< There was no such entry. */
    uint64_t miss_damaged;    /**< There was one, damaged or not ours; it was removed. */
    uint64_t miss_other;      /**< It was of another key or of another version's format. */
    uint64_t miss_unreadable; /**< It, or the folder, could not be read. */
    uint64_t stores;          /**< Kernels stored on the disk. */
    uint64_t store_failures;  /**< Kernels that could not be stored and are in the context only. */
    uint64_t evictions;       /**< Entries removed to stay below the limit. */
    uint64_t waits;           /**< Times another process was compiling the same kernel. */
    uint64_t wait_hits;       /**< Of these, how often its result was then taken. */
    uint64_t bytes_read;      /**< Of entries that were hit. */
    uint64_t bytes_written;   /**< Of entries stored on the disk. */
    uint64_t compiles;        /**< Kernels handed to a compiler. */
    uint64_t compile_us;      /**< Time all compilers took, in microseconds. */
} kiln_cache_counters;

/** One compiled kernel in a folder. Members "from the index" are 0 if the index is missing. */
typedef struct kiln_cache_entry {
    char key[33];         /**< Its name: 32 hexadecimal digits. */
    char kernel[64];      /**< The kernel's name; "" when the key does not tell. */
    char target[32];      /**< What it was compiled for: "sm_90", "x86-64-v3"; or "". */
    uint64_t bytes;       /**< Size of its file. */
    int64_t last_use_ns;  /**< When it was last stored or hit. */
    int64_t created_ns;   /**< When it was stored; from the index. */
    uint64_t hits;        /**< How often it was taken from the disk; from the index. */
    uint64_t compile_us;  /**< What compiling it took; from the index. */
    char origin[16];      /**< "compiled" or "imported"; from the index, else "". */
} kiln_cache_entry;

/** How kiln_cache_list() sorts: the largest, latest or slowest first, texts from A to Z. */
typedef enum kiln_cache_order {
    KILN_CACHE_BY_LAST_USE = 0,
    KILN_CACHE_BY_BYTES = 1,
    KILN_CACHE_BY_HITS = 2,
    KILN_CACHE_BY_COMPILE_TIME = 3,
    KILN_CACHE_BY_KERNEL = 4,
    KILN_CACHE_BY_TARGET = 5
} kiln_cache_order;

/** A folder at a glance. */
typedef struct kiln_cache_summary {
    uint64_t entry_count;
    uint64_t bytes;          /**< Of all entries and of unfinished files. */
    uint64_t limit_bytes;    /**< UINT64_MAX for none. */
    uint64_t hits;           /**< Of all entries together; from the index. */
    int64_t oldest_use_ns;   /**< The least recent use; 0 when empty. */
    uint64_t compile_us;     /**< What compiling all entries took; from the index. */
    uint64_t slowest_us;     /**< The slowest of them... */
    char slowest_kernel[64]; /**< ...and its name. */
    bool has_index;          /**< Whether the figures "from the index" could be read. */
    char index_note[128];    /**< Why not; "" when they could. */
} kiln_cache_summary;

/** What kiln_cache_verify() found. */
typedef struct kiln_cache_report {
    uint64_t good;    /**< Entries that passed every check. */
    uint64_t other;   /**< Whole entries of another version's format; left alone. */
    uint64_t damaged; /**< Entries that failed; removed when asked. */
    uint64_t unreadable; /**< Entries that the disk did not give; left alone. */
    uint64_t foreign; /**< Files that are no entries; left alone. */
    char first_damaged[96]; /**< Path below the folder of the first damaged one; else "". */
} kiln_cache_report;

KILN_EXTERN_C_BEGIN

/** The counters of the context's cache. Zeros for a NULL context. */
KILN_API void kiln_context_cache_counters(kiln_context *ctx, kiln_cache_counters *counters_out);

/**
 * Add a bundle in which the context looks for kernels before it looks into the cache folder.
 * Bundles are searched in the order in which they were added, after those of kiln_context_options
 * and $KILN_BUNDLES. The file stays mapped until the context ends: replace it by renaming, and
 * never write into it.
 *
 * @return ERR_IO (cannot be read), ERR_FORMAT (no bundle, damaged, of a newer version), ERR_CACHE
 *         (others may write to it, or KILN_BUNDLE_MAX are in use), ERR_NULL, ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_context_add_bundle(kiln_context *ctx, const char *path,
                                                            kiln_error *err);

/** Most bundles one context looks into. */
#define KILN_BUNDLE_MAX 16

/**
 * Open a cache folder. A folder that does not exist counts as empty.
 *
 * @param dir NULL: where contexts keep theirs ($KILN_CACHE_DIR and so on).
 * @return ERR_CACHE when it is refused (owner, permissions), ERR_NO_MEMORY, ERR_NULL.
 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_open(const char *dir, kiln_cache **out,
                                                    kiln_error *err);

/**
 * Open a bundle. kiln_cache_stats(), _list(), _show() and _verify() work as on a folder. Functions
 * that would change it return ERR_UNSUPPORTED, and so does kiln_cache_export().
 * @return As kiln_context_add_bundle().
 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_open_bundle(const char *path, kiln_cache **out,
                                                           kiln_error *err);

/** Close it. Accepts NULL. */
KILN_API void kiln_cache_close(kiln_cache *cache);

/** The absolute path of the folder, or the path of the bundle as it was given; the cache's text. */
KILN_API const char *kiln_cache_path(const kiln_cache *cache);

/** Summarise the folder. It reads the folder, which takes about 2 us for each entry. */
KILN_API KILN_NODISCARD kiln_status kiln_cache_stats(kiln_cache *cache,
                                                     kiln_cache_summary *summary_out,
                                                     kiln_error *err);

/**
 * List the entries.
 * @param entries_out Receives an array, freed with kiln_free(); NULL when there are none.
 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_list(kiln_cache *cache, kiln_cache_order order,
                                                    kiln_cache_entry **entries_out,
                                                    size_t *count_out, kiln_error *err);

/**
 * One entry, by its name or the beginning of its name, and the key that it was compiled for.
 *
 * @param key_text_out Receives the whole key: target, compiler, options, source. Freed with
 *                     kiln_free(). May be NULL.
 * @return ERR_ARGUMENT when no name or several names begin so, ERR_FORMAT for a damaged entry.
 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_show(kiln_cache *cache, const char *key,
                                                    kiln_cache_entry *entry_out,
                                                    char **key_text_out, kiln_error *err);

/** Read and check every entry; `remove` deletes damaged ones. Damage is not an error of the call.
 *  @return ERR_IO when the folder or an entry could not be read; the report counts the others. */
KILN_API KILN_NODISCARD kiln_status kiln_cache_verify(kiln_cache *cache, bool remove,
                                                      kiln_cache_report *report_out,
                                                      kiln_error *err);

/** Remove the least recently used entries until at most `to_bytes` are left.
 *  @param removed_out Entries removed; may be NULL. */
KILN_API KILN_NODISCARD kiln_status kiln_cache_prune(kiln_cache *cache, uint64_t to_bytes,
                                                     uint64_t *removed_out, kiln_error *err);

/** Remove every entry, the index and unfinished files; files that are not kiln's stay.
 *  @param removed_out Entries removed; may be NULL. */
KILN_API KILN_NODISCARD kiln_status kiln_cache_clear(kiln_cache *cache, uint64_t *removed_out,
                                                     kiln_error *err);

/** Remove the entries for these targets ("sm_90", "x86-64-v3"), at least one of which is named.
 *  @param removed_out Entries removed; may be NULL. */
KILN_API KILN_NODISCARD kiln_status kiln_cache_remove(kiln_cache *cache,
                                                      const char *const *targets,
                                                      size_t target_count, uint64_t *removed_out,
                                                      kiln_error *err);

/**
 * Write entries into a bundle at `path`, whole or not at all. Equal entries give equal files.
 *
 * @param targets   Only entries for these targets; `target_count` 0: all.
 * @param count_out Entries written; may be NULL.
 * @return ERR_ARGUMENT when the folder has no entry, or none for one of the targets; ERR_IO when
 *         the bundle cannot be written.
 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_export(kiln_cache *cache, const char *path,
                                                      const char *const *targets,
                                                      size_t target_count, uint64_t *count_out,
                                                      kiln_error *err);

/** Store every entry of the bundle at `path` that the folder lacks.
 *  @param count_out Entries stored; may be NULL.
 *  @return As kiln_context_add_bundle(), and ERR_IO when the folder takes nothing. */
KILN_API KILN_NODISCARD kiln_status kiln_cache_import(kiln_cache *cache, const char *path,
                                                      uint64_t *count_out, kiln_error *err);

KILN_EXTERN_C_END

#endif
