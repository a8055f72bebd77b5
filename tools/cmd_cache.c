/*
 * cmd_cache.c - `kiln cache`: look into, bound, check, pack and unpack the cache folder.
 *
 * Rule: VERBS says which options each verb honours; every other option is refused, never ignored.
 *
 *     kiln cache stats|list|show|verify|prune|clear|path|export|import [OPTION]... [ARG]
 */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache.h"

typedef struct request {
    const char *verb, *arg, *dir, *bundle, *sort, *to;
    struct targets targets; /* --arch */
    bool json, remove;
} request;

/* ---- output ---- */

/* How many bytes of well-formed UTF-8 begin here; 0 for none. */
static size_t utf8_length(const unsigned char *p)
{
    const size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (p[0] > 0xf4)
        return 0;
    for (size_t k = 1; k < length; k++) {
        if ((p[k] & 0xc0) != 0x80)
            return 0;
    }
    /* Longer than need be, surrogates, beyond Unicode. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

/* A key may hold any bytes (hashes of included files): those that are no text become \u00XX. */
static void json_text(const char *name, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    printf("\"%s\": \"", name);
    while (*p != '\0') {
        const size_t length = utf8_length(p);
        if (*p == '"' || *p == '\\')
            printf("\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f || length == 0)
            printf("\\u%04x", *p);
        else
            fwrite(p, 1, length, stdout);
        p += length > 0 ? length : 1;
    }
    putchar('"');
}

static void print_time(int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    char text[32] = "-";
    const struct tm *tm = ns > 0 ? gmtime(&seconds) : NULL;

    if (tm != NULL)
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", tm);
    printf("%-19s", text);
}

static void print_entry_json(const kiln_cache_entry *e)
{
    printf("{");
    json_text("key", e->key);
    printf(", ");
    json_text("kernel", e->kernel);
    printf(", ");
    json_text("target", e->target);
    printf(", \"bytes\": %" PRIu64 ", \"last_use_ns\": %" PRId64 ", \"created_ns\": %" PRId64
           ", \"hits\": %" PRIu64 ", \"compile_us\": %" PRIu64 ", ",
           e->bytes, e->last_use_ns, e->created_ns, e->hits, e->compile_us);
    json_text("origin", e->origin);
    printf("}");
}

static void print_entry(const kiln_cache_entry *e)
{
    printf("%.12s  ", e->key);
    print_time(e->last_use_ns);
    printf("  %9" PRIu64 "  %6" PRIu64 "  %8.1f  %-12s %s\n", e->bytes, e->hits,
           (double)e->compile_us / 1e3, e->target, e->kernel);
}

/* ---- the verbs ---- */

static int show_stats(kiln_cache *cache, const request *r, kiln_error *err)
{
    kiln_cache_summary s;

    if (kiln_cache_stats(cache, &s, err) != KILN_OK)
        return TOOL_FAILED;
    if (r->json) {
        printf("{");
        json_text("path", kiln_cache_path(cache));
        printf(", \"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"limit_bytes\": ",
               s.entry_count, s.bytes);
        if (s.limit_bytes == UINT64_MAX)
            printf("null");
        else
            printf("%" PRIu64, s.limit_bytes);
        printf(", \"hits\": %" PRIu64 ", \"oldest_use_ns\": %" PRId64 ", \"compile_us\": %" PRIu64
               ", \"slowest_us\": %" PRIu64 ", ",
               s.hits, s.oldest_use_ns, s.compile_us, s.slowest_us);
        json_text("slowest_kernel", s.slowest_kernel);
        printf(", ");
        json_text("index_note", s.index_note);
        printf("}\n");
        return TOOL_DONE;
    }
    printf("%s    %s%s\nentries   %" PRIu64 "\nbytes     %" PRIu64,
           r->bundle != NULL ? "bundle" : "folder", kiln_cache_path(cache),
           access(kiln_cache_path(cache), F_OK) == 0 ? "" : " (not made yet)", s.entry_count,
           s.bytes);
    if (s.limit_bytes != UINT64_MAX)
        printf(" of %" PRIu64, s.limit_bytes);
    printf("\n");
    if (r->bundle != NULL || s.entry_count == 0)
        return TOOL_DONE;
    printf("oldest    ");
    print_time(s.oldest_use_ns);
    printf("\n");
    if (s.has_index)
        printf("hits      %" PRIu64 "\ncompiling %.1f ms in all, slowest %.1f ms (%s)\n", s.hits,
               (double)s.compile_us / 1e3, (double)s.slowest_us / 1e3, s.slowest_kernel);
    else
        printf("no index: %s\n", s.index_note);
    return TOOL_DONE;
}

/* -1 for a word that names none. */
static int order_of(const char *word)
{
    static const char *const words[] = {"use", "size", "hits", "time", "name", "target"};

    for (int k = 0; k < (int)KILN_COUNT_OF(words); k++) {
        if (word == NULL || strcmp(words[k], word) == 0)
            return k;
    }
    return -1;
}

static int show_list(kiln_cache *cache, const request *r, kiln_error *err)
{
    kiln_cache_entry *entries = NULL;
    size_t count = 0, shown = 0;
    const int order = order_of(r->sort);

    if (kiln_cache_list(cache, (kiln_cache_order)order, &entries, &count, err) != KILN_OK)
        return TOOL_FAILED;
    if (r->json)
        printf("[");
    else
        printf("key           last use (UTC)           bytes    hits  compiled  target       "
               "kernel\n");
    for (size_t k = 0; k < count; k++) {
        if (!targets_has(&r->targets, entries[k].target))
            continue;
        if (r->json) {
            printf("%s\n  ", shown > 0 ? "," : "");
            print_entry_json(&entries[k]);
        } else {
            print_entry(&entries[k]);
        }
        shown++;
    }
    if (r->json)
        printf("%s]\n", shown > 0 ? "\n" : "");
    kiln_free(entries);
    return TOOL_DONE;
}

static int show_one(kiln_cache *cache, const request *r, kiln_error *err)
{
    kiln_cache_entry e;
    char *text = NULL;

    if (kiln_cache_show(cache, r->arg, &e, &text, err) != KILN_OK)
        return TOOL_FAILED;
    if (r->json) {
        printf("{\"entry\": ");
        print_entry_json(&e);
        printf(", ");
        json_text("key_text", text);
        printf("}\n");
    } else {
        print_entry(&e);
        printf("\n%s\n", text);
    }
    kiln_free(text);
    return TOOL_DONE;
}

static int verify(kiln_cache *cache, const request *r, kiln_error *err)
{
    kiln_cache_report p;
    const kiln_status status = kiln_cache_verify(cache, r->remove, &p, err);

    if (status != KILN_OK && p.unreadable == 0)
        return TOOL_FAILED;
    printf(r->json ? "{\"good\": %" PRIu64 ", \"damaged\": %" PRIu64 ", \"unreadable\": %" PRIu64
                     ", \"other\": %" PRIu64 ", \"foreign\": %" PRIu64 "}\n"
                   : "%" PRIu64 " good, %" PRIu64 " damaged, %" PRIu64 " unreadable, %" PRIu64
                     " of another version, %" PRIu64 " foreign files\n",
           p.good, p.damaged, p.unreadable, p.other, p.foreign);
    if (p.damaged > 0)
        fprintf(stderr, "kiln: damaged: %s%s\n", p.first_damaged,
                p.damaged > 1 ? " and others" : "");
    return status != KILN_OK || (p.damaged > 0 && !r->remove) ? TOOL_FAILED : TOOL_DONE;
}

static void print_count(const request *r, const char *name, uint64_t count)
{
    if (r->json)
        printf("{\"%s\": %" PRIu64 "}\n", name, count);
    else
        printf("%s %" PRIu64 " %s\n", name, count, count == 1 ? "entry" : "entries");
}

static int prune(kiln_cache *cache, const request *r, kiln_error *err)
{
    uint64_t to = 0, removed = 0;

    (void)kiln__bytes_parse(r->to, &to);
    if (kiln_cache_prune(cache, to, &removed, err) != KILN_OK)
        return TOOL_FAILED;
    print_count(r, "removed", removed);
    return TOOL_DONE;
}

static int clear(kiln_cache *cache, const request *r, kiln_error *err)
{
    const struct targets *t = &r->targets;
    uint64_t removed = 0;

    if ((t->count > 0 ? kiln_cache_remove(cache, t->names, t->count, &removed, err)
                      : kiln_cache_clear(cache, &removed, err)) != KILN_OK)
        return TOOL_FAILED;
    print_count(r, "removed", removed);
    return TOOL_DONE;
}

static int export(kiln_cache *cache, const request *r, kiln_error *err)
{
    uint64_t count = 0;

    if (kiln_cache_export(cache, r->arg, r->targets.names, r->targets.count, &count, err) !=
        KILN_OK)
        return TOOL_FAILED;
    print_count(r, "exported", count);
    return TOOL_DONE;
}

static int import(kiln_cache *cache, const request *r, kiln_error *err)
{
    uint64_t count = 0;

    if (kiln_cache_import(cache, r->arg, &count, err) != KILN_OK)
        return TOOL_FAILED;
    print_count(r, "imported", count);
    return TOOL_DONE;
}

static int show_path(kiln_cache *cache, const request *r, kiln_error *err)
{
    (void)err;
    if (r->json) {
        printf("{");
        json_text("path", kiln_cache_path(cache));
        printf("}\n");
    } else {
        printf("%s\n", kiln_cache_path(cache));
    }
    return TOOL_DONE;
}

/* ---- the table of verbs and options ---- */

typedef struct verb {
    const char *name;
    const char *arg;  /* what must follow it; NULL for nothing */
    uint64_t options; /* those it honours, as bits; each other one is refused */
    int (*fn)(kiln_cache *cache, const request *r, kiln_error *err);
} verb;

#define BIT(option) ((uint64_t)1 << (option))
#define FOLDER (BIT(OPTION_DIR) | BIT(OPTION_JSON))
#define EITHER (FOLDER | BIT(OPTION_BUNDLE)) /* looks into a bundle as well */

static const verb VERBS[] = {
    {"stats", NULL, EITHER, show_stats},
    {"list", NULL, EITHER | BIT(OPTION_SORT) | BIT(OPTION_ARCH), show_list},
    {"show", "KEY", EITHER, show_one},
    {"verify", NULL, EITHER | BIT(OPTION_REMOVE), verify},
    {"prune", NULL, FOLDER | BIT(OPTION_TO), prune},
    {"clear", NULL, FOLDER | BIT(OPTION_ARCH), clear},
    {"path", NULL, FOLDER, show_path},
    {"export", "FILE", FOLDER | BIT(OPTION_ARCH), export},
    {"import", "FILE", FOLDER, import}};

/* The verb that a word names. NULL after saying what is wrong with it. */
static const verb *find_verb(const char *word)
{
    size_t distance = SIZE_MAX;
    const char *near = NULL;

    for (size_t k = 0; k < KILN_COUNT_OF(VERBS); k++) {
        if (strcmp(VERBS[k].name, word) == 0)
            return &VERBS[k];
        word_consider(word, VERBS[k].name, &distance, &near);
    }
    if (near != NULL)
        usage_error(COMMAND_CACHE, "there is no cache command \"%s\"; did you mean \"%s\"?", word,
                    near);
    else
        usage_error(COMMAND_CACHE, "there is no cache command \"%s\"", word);
    return NULL;
}

/* TOOL_USAGE for the first option that the verb does not honour, after saying so. */
static int check_options(const struct invocation *v, const verb *found)
{
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (v->option[id].count > 0 && (found->options & BIT(id)) == 0)
            return usage_error(v->command, "kiln cache %s takes no %s", found->name,
                               option_name(v->command, (enum option_id)id));
    }
    if (v->option[OPTION_BUNDLE].count > 0 &&
        (v->option[OPTION_DIR].count > 0 || v->option[OPTION_REMOVE].count > 0))
        return usage_error(v->command, "--bundle and %s exclude each other",
                           v->option[OPTION_DIR].count > 0 ? "--dir" : "--remove");
    return TOOL_DONE;
}

/* Everything that can be wrong with the words, before a folder is looked at. NULL when refused. */
static const verb *parse(const struct invocation *v, request *r)
{
    const struct texts *args = &v->args;
    const char *arch = invocation_get(v, OPTION_ARCH);
    const verb *found = args->count > 0 ? find_verb(args->items[0]) : NULL;
    const size_t words = found != NULL && found->arg != NULL ? 2 : 1;
    int result = TOOL_DONE;
    uint64_t to = 0;

    if (args->count == 0)
        usage_error(v->command, "one of stats, list, show, verify, prune, clear, path, export and "
                                "import is missing after \"cache\"");
    if (found == NULL)
        return NULL;
    *r = (request){.verb = found->name,
                   .arg = args->count > 1 ? args->items[1] : NULL,
                   .dir = invocation_get(v, OPTION_DIR),
                   .bundle = invocation_get(v, OPTION_BUNDLE),
                   .sort = invocation_get(v, OPTION_SORT),
                   .to = invocation_get(v, OPTION_TO),
                   .json = invocation_get(v, OPTION_JSON) != NULL,
                   .remove = invocation_get(v, OPTION_REMOVE) != NULL};
    if (args->count > words)
        result = usage_error(v->command, "one word too many: \"%s\"", args->items[words]);
    else if (args->count < words)
        result = usage_error(v->command, "a %s is missing after \"%s\"", found->arg, found->name);
    else
        result = check_options(v, found);
    if (result == TOOL_DONE && order_of(r->sort) < 0)
        result = usage_error(v->command,
                             "there is no order \"%s\"; there are use, size, hits, time, "
                             "name and target",
                             r->sort);
    if (result == TOOL_DONE && strcmp(found->name, "prune") == 0 &&
        (r->to == NULL || !kiln__bytes_parse(r->to, &to)))
        result = usage_error(v->command, "prune needs --to with a size such as 200M%s%s",
                             r->to != NULL ? ", not " : "", r->to != NULL ? r->to : "");
    if (result == TOOL_DONE && arch != NULL)
        result = targets_parse(v->command, arch, &r->targets);
    return result == TOOL_DONE ? found : NULL;
}

/* A name that is neither known to a compiler nor in the cache is a slip of the keyboard. */
static int check_targets(kiln_cache *cache, const request *r, kiln_error *err)
{
    kiln_cache_entry *entries = NULL;
    size_t count = 0;
    int result = TOOL_DONE;

    if (kiln_cache_list(cache, KILN_CACHE_BY_KERNEL, &entries, &count, err) != KILN_OK)
        return TOOL_FAILED;
    for (size_t t = 0; t < r->targets.count && result == TOOL_DONE; t++) {
        bool found = false;
        for (size_t k = 0; k < count && !found; k++)
            found = strcmp(entries[k].target, r->targets.names[t]) == 0;
        if (!found)
            result = target_check(COMMAND_CACHE, r->targets.names[t]);
    }
    kiln_free(entries);
    return result;
}

static int act(const verb *found, const request *r, kiln_error *err)
{
    kiln_cache *cache = NULL;
    int result = TOOL_DONE;

    if ((r->bundle != NULL ? kiln_cache_open_bundle(r->bundle, &cache, err)
                           : kiln_cache_open(r->dir, &cache, err)) != KILN_OK)
        return TOOL_FAILED;
    /* A folder that is not there is empty; but whoever names one means one that is. */
    if (r->dir != NULL && found->fn != import && found->fn != show_path &&
        access(kiln_cache_path(cache), F_OK) != 0) {
        (void)kiln__fail(err, KILN_ERR_IO, "there is no folder %s", kiln_cache_path(cache));
        result = TOOL_FAILED;
    }
    if (result == TOOL_DONE && r->targets.count > 0)
        result = check_targets(cache, r, err);
    if (result == TOOL_DONE)
        result = found->fn(cache, r, err);
    kiln_cache_close(cache);
    return result;
}

int command_cache(const struct invocation *v)
{
    request r = {0};
    kiln_error err = KILN_ERROR_INIT;
    const verb *found = parse(v, &r);
    int result = TOOL_USAGE;

    if (found != NULL)
        result = act(found, &r, &err);
    if (err.status != KILN_OK)
        tool_error(&err);
    kiln_error_clear(&err);
    targets_clear(&r.targets);
    return result;
}
