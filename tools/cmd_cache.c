/*
 * cmd_cache.c - `kiln cache`: look into, bound, check, pack and unpack the cache folder.
 *
 *     kiln cache stats|list|show|verify|prune|clear|path|export|import [OPTION]... [ARG]
 */
#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "cache/cache.h"

typedef struct request {
    const char *verb, *arg, *dir, *sort, *to, *arch;
    bool json, remove;
} request;

/* ---- the command line ---- */

static int refuse(const char *what, const char *word)
{
    fprintf(stderr, "kiln: %s '%s'\nTry 'kiln cache --help'.\n", what, word);
    return TOOL_USAGE;
}

static int parse(const struct invocation *v, request *r)
{
    if (v->args.count == 0)
        return refuse("one of stats, list, show, verify, prune, clear, path, export and import is "
                      "missing after", "cache");
    if (v->args.count > 2)
        return refuse("one word too many:", v->args.items[2]);
    *r = (request){.verb = v->args.items[0],
                   .arg = v->args.count > 1 ? v->args.items[1] : NULL,
                   .dir = invocation_get(v, OPTION_DIR),
                   .sort = invocation_get(v, OPTION_SORT),
                   .to = invocation_get(v, OPTION_TO),
                   .arch = invocation_get(v, OPTION_ARCH),
                   .json = invocation_get(v, OPTION_JSON) != NULL,
                   .remove = invocation_get(v, OPTION_REMOVE) != NULL};
    return TOOL_DONE;
}

/* ---- output ---- */

static void json_text(const char *name, const char *text)
{
    printf("\"%s\": \"", name);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
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
    printf("folder    %s\nentries   %" PRIu64 "\nbytes     %" PRIu64, kiln_cache_path(cache),
           s.entry_count, s.bytes);
    if (s.limit_bytes != UINT64_MAX)
        printf(" of %" PRIu64, s.limit_bytes);
    printf("\noldest    ");
    print_time(s.oldest_use_ns);
    printf("\n");
    if (s.has_index)
        printf("hits      %" PRIu64 "\ncompiling %.1f ms in all, slowest %.1f ms (%s)\n", s.hits,
               (double)s.compile_us / 1e3, (double)s.slowest_us / 1e3, s.slowest_kernel);
    else
        printf("no index: %s\n", s.index_note);
    return TOOL_DONE;
}

static int show_list(kiln_cache *cache, const request *r, kiln_error *err)
{
    static const char *const words[] = {"use", "size", "hits", "time", "name", "target"};
    kiln_cache_entry *entries = NULL;
    size_t count = 0, order = 0;

    while (r->sort != NULL && order < KILN_COUNT_OF(words) && strcmp(words[order], r->sort) != 0)
        order++;
    if (order == KILN_COUNT_OF(words))
        return refuse("there is no order", r->sort);
    if (kiln_cache_list(cache, (kiln_cache_order)order, &entries, &count, err) != KILN_OK)
        return TOOL_FAILED;
    if (r->json)
        printf("[");
    else
        printf("key           last use (UTC)           bytes    hits  compiled  target       "
               "kernel\n");
    for (size_t k = 0; k < count; k++) {
        if (r->json) {
            printf("%s\n  ", k > 0 ? "," : "");
            print_entry_json(&entries[k]);
        } else {
            print_entry(&entries[k]);
        }
    }
    if (r->json)
        printf("%s]\n", count > 0 ? "\n" : "");
    kiln_free(entries);
    return TOOL_DONE;
}

static int show_one(kiln_cache *cache, const request *r, kiln_error *err)
{
    kiln_cache_entry e;
    char *text = NULL;

    if (r->arg == NULL)
        return refuse("a KEY is missing after", "show");
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

    if (kiln_cache_verify(cache, r->remove, &p, err) != KILN_OK)
        return TOOL_FAILED;
    printf(r->json ? "{\"good\": %" PRIu64 ", \"damaged\": %" PRIu64 ", \"other\": %" PRIu64
                     ", \"foreign\": %" PRIu64 "}\n"
                   : "%" PRIu64 " good, %" PRIu64 " damaged, %" PRIu64
                     " of another version, %" PRIu64 " foreign files\n",
           p.good, p.damaged, p.other, p.foreign);
    if (p.damaged > 0)
        fprintf(stderr, "kiln: damaged: %s%s\n", p.first_damaged,
                p.damaged > 1 ? " and others" : "");
    return p.damaged > 0 && !r->remove ? TOOL_FAILED : TOOL_DONE;
}

static void print_count(const request *r, const char *name, uint64_t count)
{
    printf(r->json ? "{\"%s\": %" PRIu64 "}\n" : "%s %" PRIu64 " entries\n", name, count);
}

static int remove_some(kiln_cache *cache, const request *r, kiln_error *err)
{
    uint64_t to = 0, removed = 0;
    kiln_status status = KILN_OK;

    if (strcmp(r->verb, "clear") == 0) {
        status = kiln_cache_clear(cache, &removed, err);
    } else {
        if (r->to == NULL || !kiln__bytes_parse(r->to, &to))
            return refuse("prune needs --to with a size such as 200M, not",
                          r->to != NULL ? r->to : "nothing");
        status = kiln_cache_prune(cache, to, &removed, err);
    }
    if (status == KILN_OK)
        print_count(r, "removed", removed);
    return status == KILN_OK ? TOOL_DONE : TOOL_FAILED;
}

enum { TARGETS_MAX = 64 };

static int pack(kiln_cache *cache, const request *r, kiln_error *err)
{
    const char *targets[TARGETS_MAX];
    char *list = r->arch != NULL ? kiln__strdup(r->arch) : NULL, *rest = NULL;
    size_t target_count = 0;
    uint64_t count = 0;
    kiln_status status = KILN_OK;
    const bool out = strcmp(r->verb, "export") == 0;

    if (r->arg == NULL)
        return refuse("a FILE is missing after", r->verb);
    for (char *t = list; t != NULL && *t != '\0' && target_count < TARGETS_MAX; t = rest) {
        rest = t + strcspn(t, ",");
        rest += *rest != '\0' ? (*rest = '\0', 1) : 0;
        targets[target_count++] = t;
    }
    if (out)
        status = kiln_cache_export(cache, r->arg, targets, target_count, &count, err);
    else
        status = kiln_cache_import(cache, r->arg, &count, err);
    kiln__free(list);
    if (status != KILN_OK)
        return TOOL_FAILED;
    print_count(r, out ? "exported" : "imported", count);
    return TOOL_DONE;
}

static int run_verb(kiln_cache *cache, const request *r, kiln_error *err)
{
    static const struct {
        const char *name;
        int (*fn)(kiln_cache *cache, const request *r, kiln_error *err);
    } verbs[] = {{"stats", show_stats}, {"list", show_list},    {"show", show_one},
                 {"verify", verify},    {"prune", remove_some}, {"clear", remove_some},
                 {"export", pack},      {"import", pack}};

    for (size_t k = 0; k < KILN_COUNT_OF(verbs); k++) {
        if (strcmp(verbs[k].name, r->verb) == 0)
            return verbs[k].fn(cache, r, err);
    }
    if (strcmp(r->verb, "path") != 0)
        return refuse("there is no cache command", r->verb);
    printf("%s\n", kiln_cache_path(cache));
    return TOOL_DONE;
}

int command_cache(const struct invocation *v)
{
    request r = {0};
    kiln_error err = KILN_ERROR_INIT;
    kiln_cache *cache = NULL;
    int result = parse(v, &r);

    if (result != TOOL_DONE)
        return result;
    if (kiln_cache_open(r.dir, &cache, &err) == KILN_OK)
        result = run_verb(cache, &r, &err);
    else
        result = TOOL_FAILED;
    if (err.status != KILN_OK)
        tool_error(&err);
    kiln_error_clear(&err);
    kiln_cache_close(cache);
    return result;
}
