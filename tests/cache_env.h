/*
 * cache_env.h - what the programs that test src/cache share: a fresh folder for each test, and
 * what to do with it.
 */
#ifndef KILN_TESTS_CACHE_ENV_H
#define KILN_TESTS_CACHE_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <cmocka.h>

#include "cache/cache.h"

/* Defined where memory is the address sanitizer's: it cannot fork amid its threads, nor be traced. */
#if defined(__SANITIZE_ADDRESS__)
#define CACHE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CACHE_ADDRESS_SANITIZER 1
#endif
#endif

/* One a test, from cache_env_setup. */
typedef struct cache_env {
    char base[64]; /* an empty folder of this test */
    char dir[128]; /* base/store: not made yet */
    atomic_int log_count;
    char last_log[1024];
    kiln__log log; /* counts and keeps lines here */
    size_t live_before;
} cache_env;

int cache_env_setup(void **state);
int cache_env_teardown(void **state); /* fails when an allocation is still alive */

#define CACHE_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, cache_env_setup, cache_env_teardown)

/* Open the store of the test. */
kiln__cache *cache_env_open(cache_env *t);

/* The same, holding `limit` bytes at most. */
kiln__cache *cache_env_open_limited(cache_env *t, uint64_t limit);

/* Store zeros under a key of 1 to 16 bytes: a file of 80 + bytes. At most 100,000 bytes. */
void cache_put(kiln__cache *cache, const char *key, size_t bytes);

/* Whether the key has an entry in the folder; and the bytes of all files in shards. */
bool cache_on_disk(const cache_env *t, const char *key);
uint64_t cache_bytes_on_disk(const cache_env *t);

/* Whether the key is found and holds exactly these bytes; fails the test on other bytes. */
bool cache_finds(kiln__cache *cache, const char *key, const void *data, size_t bytes);

/* "base/store/4f/4f1b...": where the entry of a key belongs. */
void cache_entry_path(const cache_env *t, const char *key, char path[256]);

/* Files below `path` whose names begin with `prefix`. */
size_t cache_count_files(const char *path, const char *prefix);

void cache_remove_tree(const char *path);
void cache_write_file(const char *path, const void *data, size_t bytes);
/* Up to `room` bytes of a file. */
size_t cache_read_file(const char *path, void *data, size_t room);

/* Run `body` in a forked child. Returns its exit status, 128 + signal when it was killed. */
int cache_in_child(int (*body)(cache_env *t), cache_env *t);

#endif
