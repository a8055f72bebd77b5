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

static void parse(const struct invocation *v, request *r)
{
    *r = (request){.verb = v->args.count > 0 ? v->args.items[0] : NULL,
                   .arg = v->args.count > 1 ? v->args.items[1] : NULL,
                   .dir = invocation_get(v, OPTION_DIR),
                   .sort = invocation_get(v, OPTION_SORT),
                   .to = invocation_get(v, OPTION_TO),
                   .arch = invocation_get(v, OPTION_ARCH),
                   .json = invocation_get(v, OPTION_JSON) != NULL,
                   .remove = invocation_get(v, OPTION_REMOVE) != NULL};
}

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
    size_t count = 0;
    const int order = order_of(r->sort);

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
    if (r->json)
        printf("{\"%s\": %" PRIu64 "}\n", name, count);
    else
        printf("%s %" PRIu64 " %s\n", name, count, count == 1 ? "entry" : "entries");
}

static int remove_some(kiln_cache *cache, const request *r, kiln_error *err)
{
    uint64_t to = 0, removed = 0;
    kiln_status status = KILN_OK;

    if (strcmp(r->verb, "clear") == 0) {
        status = kiln_cache_clear(cache, &removed, err);
    } else {
        (void)kiln__bytes_parse(r->to, &to);
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

typedef struct verb {
    const char *name;
    const char *arg; /* what must follow it; NULL for nothing */
    int (*fn)(kiln_cache *cache, const request *r, kiln_error *err);
} verb;

static const verb VERBS[] = {
    {"stats", NULL, show_stats},    {"list", NULL, show_list},    {"show", "KEY", show_one},
    {"verify", NULL, verify},       {"prune", NULL, remove_some}, {"clear", NULL, remove_some},
    {"path", NULL, show_path},      {"export", "FILE", pack},     {"import", "FILE", pack}};

static size_t count_commas(const char *list)
{
    size_t count = 0;

    for (; list != NULL && *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* Everything that can be wrong with the words, before a folder is looked at. NULL when refused. */
static const verb *check(const struct invocation *v, const request *r)
{
    const verb *found = NULL;
    uint64_t to = 0;

    if (r->verb == NULL) {
        refuse("one of stats, list, show, verify, prune, clear, path, export and import is missing "
               "after", "cache");
        return NULL;
    }
    for (size_t k = 0; k < KILN_COUNT_OF(VERBS); k++) {
        if (strcmp(VERBS[k].name, r->verb) == 0)
            found = &VERBS[k];
    }
    if (found == NULL)
        refuse("there is no cache command", r->verb);
    else if (v->args.count > (found->arg != NULL ? 2 : 1))
        refuse("one word too many:", v->args.items[found->arg != NULL ? 2 : 1]);
    else if (found->arg != NULL && r->arg == NULL)
        refuse(strcmp(found->arg, "KEY") == 0 ? "a KEY is missing after" : "a FILE is missing after",
               r->verb);
    else if (order_of(r->sort) < 0)
        refuse("there is no order", r->sort);
    else if (strcmp(r->verb, "prune") == 0 && (r->to == NULL || !kiln__bytes_parse(r->to, &to)))
        refuse("prune needs --to with a size such as 200M, not", r->to != NULL ? r->to : "nothing");
    else if (count_commas(r->arch) >= TARGETS_MAX)
        refuse("more targets than 64:", r->arch);
    else
        return found;
    return NULL;
}

int command_cache(const struct invocation *v)
{
    request r = {0};
    kiln_error err = KILN_ERROR_INIT;
    kiln_cache *cache = NULL;
    const verb *found = NULL;
    int result = TOOL_FAILED;

    parse(v, &r);
    found = check(v, &r);
    if (found == NULL)
        return TOOL_USAGE;
    if (kiln_cache_open(r.dir, &cache, &err) == KILN_OK)
        result = found->fn(cache, &r, &err);
    if (err.status != KILN_OK)
        tool_error(&err);
    kiln_error_clear(&err);
    kiln_cache_close(cache);
    return result;
}
