/*
 * cache_env.c - see cache_env.h.
 */
#define _GNU_SOURCE
#include "cache_env.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void keep_line(void *user, const char *line)
{
    cache_env *t = user;

    if (atomic_fetch_add(&t->log_count, 1) < 1000)
        snprintf(t->last_log, sizeof t->last_log, "%s", line);
}

int cache_env_setup(void **state)
{
    static cache_env env;
    cache_env *t = &env;

    memset(t, 0, sizeof *t);
    /* A program may choose a faster place. */
    snprintf(t->base, sizeof t->base, "%.30s/kiln-test-cache-XXXXXX",
             getenv("KILN_TEST_TEMP") != NULL ? getenv("KILN_TEST_TEMP") : "/tmp");
    if (mkdtemp(t->base) == NULL)
        return -1;
    snprintf(t->dir, sizeof t->dir, "%.60s/store", t->base);
    t->log = (kiln__log){keep_line, t};
    t->live_before = kiln__test_alloc_live();
    *state = t;
    return 0;
}

int cache_env_teardown(void **state)
{
    cache_env *t = *state;
    size_t live = kiln__test_alloc_live();

    cache_remove_tree(t->base);
    if (live != t->live_before) {
        print_error("%zu allocations before the test, %zu after it\n", t->live_before, live);
        return -1;
    }
    return 0;
}

kiln__cache *cache_env_open(cache_env *t)
{
    kiln__cache *cache = kiln__cache_open(t->dir, &t->log);

    assert_non_null(cache);
    return cache;
}

kiln__cache *cache_env_open_limited(cache_env *t, uint64_t limit)
{
    const kiln__cache_options opts = {.dir = t->dir, .limit_bytes = limit, .log = t->log};
    kiln__cache *cache = kiln__cache_open_with(&opts);

    assert_non_null(cache);
    return cache;
}

void cache_put(kiln__cache *cache, const char *key, size_t bytes)
{
    static const char zeros[100000];

    assert_true(bytes <= sizeof zeros);
    kiln__cache_store(cache, key, strlen(key), zeros, bytes);
}

bool cache_on_disk(const cache_env *t, const char *key)
{
    char path[256];

    cache_entry_path(t, key, path);
    return access(path, F_OK) == 0;
}

static uint64_t walked_bytes;

static int add_bytes(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)path;
    if (type == FTW_F && walk->level >= 2)
        walked_bytes += (uint64_t)st->st_size;
    return 0;
}

uint64_t cache_bytes_on_disk(const cache_env *t)
{
    walked_bytes = 0;
    nftw(t->dir, add_bytes, 16, FTW_PHYS);
    return walked_bytes;
}

bool cache_finds(kiln__cache *cache, const char *key, const void *data, size_t bytes)
{
    kiln__blob blob = KILN__BLOB_INIT;
    bool found = kiln__cache_load(cache, key, strlen(key), &blob);

    if (found) {
        assert_non_null(blob.data);
        assert_int_equal(blob.bytes, bytes);
        assert_memory_equal(blob.data, data, bytes);
        assert_int_equal((uintptr_t)blob.data % 16, 0);
    } else {
        assert_null(blob.data);
        assert_int_equal(blob.bytes, 0);
    }
    kiln__blob_clear(&blob);
    return found;
}

void cache_entry_path(const cache_env *t, const char *key, char path[256])
{
    char hex[33];

    kiln__hash_hex(kiln__hash_128(key, strlen(key)), hex);
    snprintf(path, 256, "%s/%.2s/%s", t->dir, hex, hex);
}

size_t cache_count_files(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    struct dirent *e = NULL;
    size_t count = 0;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        char name[1024];
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        /* The ledger, the lock and their like: how many there are is not a test's business. */
        if (strncmp(e->d_name, "kiln-", 5) == 0 && prefix[0] == '\0')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (lstat(name, &st) != 0)
            continue; /* renamed meanwhile */
        if (S_ISDIR(st.st_mode))
            count += cache_count_files(name, prefix);
        else
            count += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

void cache_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void cache_write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    /* Whatever the umask of the tester, the file is fit to be loaded. */
    assert_int_equal(chmod(path, 0600), 0);
}

size_t cache_read_file(const char *path, void *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t bytes = 0;

    if (f == NULL)
        return 0;
    bytes = fread(data, 1, room, f);
    fclose(f);
    return bytes;
}

int cache_in_child(int (*body)(cache_env *t), cache_env *t)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(body(t));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
