/*
 * test_cli_cache.c - `kiln cache` as a user meets it: every verb in both forms, and wrong words.
 *
 * The folder is filled through the cache's own door, so nothing is compiled here. JSON is read by
 * Python; without one those checks are left out, by name.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache.h"
#include "cli_env.h"

/* A key with a quote, a backslash, UTF-8 and bytes that are none, as hashes of included files are. */
#define ALPHA                                                                                      \
    "kiln-kernel 1\ntarget sm_80\n// kiln: kernel \"alpha\"\n\\n \xce\xb1 \xff\xc0\x80 \xed\xa0\x80\x01"
#define BETA "kiln-kernel 1\ntarget sm_90\n// kiln: kernel \"beta\"\n"
#define GAMMA "kiln-kernel 1\ntarget sm_90\n// kiln: kernel \"gamma\"\n"

static char beta_path[128];

/* alpha: 1000 bytes, hit twice, compiled in 5 ms. beta: 3000 and 9 ms. gamma: 2000, the newest. */
static int fill(void **state)
{
    static const char zeros[3000];
    kiln__cache *cache = kiln__cache_open("cache_of_test", NULL);
    kiln__blob blob = KILN__BLOB_INIT;
    char hex[33];

    (void)state;
    assert_non_null(cache);
    kiln__cache_store_as(cache, ALPHA, strlen(ALPHA), zeros, 1000, 5000, "compiled");
    kiln__cache_store_as(cache, BETA, strlen(BETA), zeros, 3000, 9000, "compiled");
    for (int k = 0; k < 2; k++) {
        assert_true(kiln__cache_load(cache, ALPHA, strlen(ALPHA), &blob));
        kiln__blob_clear(&blob);
    }
    kiln__cache_store_as(cache, GAMMA, strlen(GAMMA), zeros, 2000, 0, "imported");
    kiln__cache_close(cache);
    kiln__hash_hex(kiln__hash_128(BETA, strlen(BETA)), hex);
    snprintf(beta_path, sizeof beta_path, "cache_of_test/%.2s/%s", hex, hex);
    return 0;
}

static int empty(void **state)
{
    (void)state;
    return system("rm -rf cache_of_test elsewhere *.kiln");
}

/* Whether Python finds `condition` true of what was printed, as `d`. */
static void expect_json(const char *condition)
{
    static bool told;
    char command[1024];

    if (system("python3 -c pass 2>/dev/null") != 0) {
        if (!told)
            print_message("SKIP: no python3, JSON is not judged\n");
        told = true;
        return;
    }
    cli_write("printed.json", cli.out);
    snprintf(command, sizeof command,
             "python3 -c \"import json; d = json.load(open('printed.json', encoding='utf-8')); "
             "assert %s, d\"",
             condition);
    if (system(command) != 0)
        fail_msg("not so: %s; printed: %s", condition, cli.out);
}

/* ---- what is there ---- */

static void test_cli_cache__stats_sum_up(void **state)
{
    (void)state;
    KILN("cache", "stats");
    EXPECT_DONE();
    EXPECT_OUT("entries   3\n");
    EXPECT_OUT("cache_of_test\n");
    KILN("cache", "stats", "--json");
    EXPECT_DONE();
    expect_json("d['entries'] == 3 and d['bytes'] > 6000 and d['path'].endswith('cache_of_test')");
    expect_json("d['index_note'] != '' or (d['hits'] == 2 and d['compile_us'] == 14000 and "
                "d['slowest_kernel'] == 'beta' and d['slowest_us'] == 9000)");
    expect_json("d['limit_bytes'] == 2**30");
    setenv("KILN_CACHE_LIMIT", "none", 1);
    KILN("cache", "stats", "--json");
    unsetenv("KILN_CACHE_LIMIT");
    expect_json("d['limit_bytes'] is None");
}

static void test_cli_cache__lists_are_sorted_as_asked(void **state)
{
    static const struct {
        const char *by, *names;
    } orders[] = {{"use", "['gamma', 'alpha', 'beta']"},
                  {"size", "['beta', 'gamma', 'alpha']"},
                  {"name", "['alpha', 'beta', 'gamma']"},
                  {"time", "['beta', 'alpha', 'gamma'] or d[0]['compile_us'] == 0"}};

    (void)state;
    KILN("cache", "list");
    EXPECT_DONE();
    EXPECT_OUT("key           last use (UTC)");
    EXPECT_OUT("sm_80        alpha\n");
    for (size_t k = 0; k < KILN_COUNT_OF(orders); k++) {
        char condition[256];
        KILN("cache", "list", "--json", "--sort", (char *)(uintptr_t)orders[k].by);
        EXPECT_DONE();
        snprintf(condition, sizeof condition, "[e['kernel'] for e in d] == %s", orders[k].names);
        expect_json(condition);
    }
    KILN("cache", "list", "--json", "--sort=hits");
    expect_json("d[0]['kernel'] == 'alpha' or d[0]['hits'] == 0");
    KILN("cache", "list", "--json", "--sort=target");
    expect_json("d[0]['target'] == 'sm_80'");
    expect_json("all(len(e['key']) == 32 and e['bytes'] > 0 and e['last_use_ns'] > 0 for e in d)");
}

static void test_cli_cache__show_tells_one_entry(void **state)
{
    char hex[33];

    (void)state;
    kiln__hash_hex(kiln__hash_128(ALPHA, strlen(ALPHA)), hex);
    hex[12] = '\0'; /* as `list` prints it */
    KILN("cache", "show", hex);
    EXPECT_DONE();
    EXPECT_OUT("kernel \"alpha\"");
    KILN("cache", "show", hex, "--json");
    EXPECT_DONE();
    expect_json("d['entry']['kernel'] == 'alpha' and d['entry']['bytes'] > 1000");
    expect_json("'kernel ' + chr(34) + 'alpha' in d['key_text'] and chr(0x3b1) in d['key_text']");
    KILN("cache", "show", "xyz");
    EXPECT_FAILED(1, "no entry has a key that begins with \"xyz\"");
    KILN("cache", "show", "");
    EXPECT_FAILED(1, "give more digits");
}

static void test_cli_cache__path_names_the_folder(void **state)
{
    (void)state;
    KILN("cache", "path");
    EXPECT_DONE();
    EXPECT_OUT("/cache_of_test\n");
    KILN("cache", "path", "--json", "--dir", "/nonexistent/there");
    EXPECT_DONE();
    expect_json("d == {'path': '/nonexistent/there'}");
    /* Looking makes no folder. */
    setenv("KILN_CACHE_DIR", "elsewhere", 1);
    KILN("cache", "list", "--json");
    setenv("KILN_CACHE_DIR", "cache_of_test", 1);
    EXPECT_DONE();
    expect_json("d == []");
    assert_int_equal(access("elsewhere", F_OK), -1);
}

/* ---- what is changed ---- */

static void test_cli_cache__verify_finds_damage_and_removes_it(void **state)
{
    (void)state;
    KILN("cache", "verify");
    EXPECT_DONE();
    EXPECT_OUT("3 good, 0 damaged, 0 unreadable, 0 of another version, 0 foreign files\n");
    cli_write(beta_path, "damaged");
    KILN("cache", "verify", "--json");
    EXPECT_FAILED(1, "kiln: damaged: ");
    expect_json("d == {'good': 2, 'damaged': 1, 'unreadable': 0, 'other': 0, 'foreign': 0}");
    KILN("cache", "verify", "--remove");
    assert_int_equal(cli.status, 0);
    EXPECT_OUT("2 good, 1 damaged");
    KILN("cache", "verify", "--json");
    EXPECT_DONE();
    expect_json("d['good'] == 2 and d['damaged'] == 0");
}

static void test_cli_cache__prune_and_clear_say_what_went(void **state)
{
    (void)state;
    /* beta, then alpha, are the least recently used. */
    KILN("cache", "prune", "--to", "4000", "--json");
    EXPECT_DONE();
    expect_json("d == {'removed': 1}");
    assert_int_equal(access(beta_path, F_OK), -1);
    KILN("cache", "prune", "--to=1G");
    EXPECT_DONE();
    EXPECT_OUT("removed 0 entries\n");
    KILN("cache", "clear", "--json");
    EXPECT_DONE();
    expect_json("d == {'removed': 2}");
    KILN("cache", "clear");
    EXPECT_DONE();
    EXPECT_OUT("removed 0 entries\n");
}

static void test_cli_cache__export_and_import_move_entries(void **state)
{
    (void)state;
    KILN("cache", "export", "all.kiln", "--json");
    EXPECT_DONE();
    expect_json("d == {'exported': 3}");
    KILN("cache", "export", "some.kiln", "--arch", "sm_90,sm_90");
    EXPECT_DONE();
    EXPECT_OUT("exported 2 entries\n");
    KILN("cache", "import", "some.kiln", "--dir", "elsewhere", "--json");
    EXPECT_DONE();
    expect_json("d == {'imported': 2}");
    KILN("cache", "import", "all.kiln", "--dir", "elsewhere");
    EXPECT_DONE();
    EXPECT_OUT("imported 1 entry\n");
    KILN("cache", "verify", "--dir", "elsewhere");
    EXPECT_DONE();
    EXPECT_OUT("3 good, 0 damaged");
    KILN("cache", "import", "nowhere.kiln");
    EXPECT_FAILED(1, "nowhere.kiln");
    cli_write("some.kiln", "no bundle at all");
    KILN("cache", "import", "some.kiln");
    EXPECT_FAILED(1, "no bundle of kernels");
    KILN("cache", "export", "nowhere/all.kiln");
    EXPECT_FAILED(1, "nowhere/all.kiln");
}

/* A bundle that lacks what it was to hold is no success, and none is written. */
static void test_cli_cache__a_bundle_is_never_less_than_was_asked_for(void **state)
{
    (void)state;
    KILN("cache", "export", "few.kiln", "--arch", "sm_90,sm_100");
    EXPECT_REFUSED(1, "the cache has no kernel for sm_100");
    KILN("cache", "export", "few.kiln", "--arch", "sm90");
    EXPECT_REFUSED(2, "there is no target \"sm90\"; did you mean \"sm_90\"?");
    setenv("KILN_CACHE_DIR", "/nowhere/at/all", 1);
    KILN("cache", "export", "few.kiln");
    EXPECT_REFUSED(1, "no kernels to export");
    setenv("KILN_CACHE_DIR", "cache_of_test", 1);
    assert_int_not_equal(access("few.kiln", F_OK), 0);
}

static void test_cli_cache__a_bundle_is_looked_into_like_a_folder(void **state)
{
    static const char damage = 'x';

    (void)state;
    KILN("cache", "export", "all.kiln");
    EXPECT_DONE();
    KILN("cache", "stats", "--bundle", "all.kiln", "--json");
    EXPECT_DONE();
    expect_json("(d['path'], d['entries'], d['limit_bytes']) == ('all.kiln', 3, None)");
    KILN("cache", "list", "--bundle", "all.kiln", "--sort", "size", "--json");
    EXPECT_DONE();
    expect_json("[(e['kernel'], e['target']) for e in d] == "
                "[('beta', 'sm_90'), ('gamma', 'sm_90'), ('alpha', 'sm_80')]");
    KILN("cache", "list", "--bundle", "all.kiln", "--arch", "sm_80", "--json");
    EXPECT_DONE();
    expect_json("[e['kernel'] for e in d] == ['alpha']");
    KILN("cache", "show", strrchr(beta_path, '/') + 1, "--bundle", "all.kiln");
    EXPECT_DONE();
    EXPECT_OUT("\ntarget sm_90\n// kiln: kernel \"beta\"\n");
    KILN("cache", "verify", "--bundle", "all.kiln");
    EXPECT_DONE();
    EXPECT_OUT("3 good, 0 damaged");

    FILE *f = fopen("all.kiln", "r+b"); /* the last byte is the end of some kernel's text */
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fwrite(&damage, 1, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    KILN("cache", "verify", "--bundle", "all.kiln");
    EXPECT_FAILED(1, "kiln: damaged: ");
    EXPECT_OUT("2 good, 1 damaged");
    KILN("cache", "verify", "--bundle", beta_path);
    EXPECT_REFUSED(1, "no bundle of kernels");
    KILN("cache", "list", "--bundle", "nowhere.kiln");
    EXPECT_REFUSED(1, "nowhere.kiln");
}

static void test_cli_cache__clear_may_be_for_some_targets(void **state)
{
    (void)state;
    KILN("cache", "clear", "--arch", "sm80");
    EXPECT_REFUSED(2, "did you mean \"sm_80\"?");
    KILN("cache", "clear", "--arch", "sm_100");
    EXPECT_DONE();
    EXPECT_OUT("removed 0 entries\n");
    KILN("cache", "clear", "--arch", "sm_90");
    EXPECT_DONE();
    EXPECT_OUT("removed 2 entries\n");
    KILN("cache", "list", "--json");
    EXPECT_DONE();
    expect_json("[e['kernel'] for e in d] == ['alpha']");
    KILN("cache", "verify");
    EXPECT_OUT("1 good, 0 damaged");
}

/* A folder that somebody names must be there; the usual one may be not made yet. */
static void test_cli_cache__a_folder_that_is_not_there_has_no_figures(void **state)
{
    static char *const verbs[][3] = {{"stats"}, {"list"}, {"verify"}, {"clear"},
                                     {"prune", "--to=1M"}, {"show", "0"}, {"export", "x.kiln"}};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(verbs); k++) {
        char *argv[8] = {"kiln", "cache", verbs[k][0], "--dir", "/nowhere", verbs[k][1], NULL};
        cli_run(argv, NULL);
        EXPECT_REFUSED(1, "there is no folder /nowhere");
    }
    KILN("cache", "path", "--dir", "/nowhere");
    EXPECT_DONE();
    setenv("KILN_CACHE_DIR", "/nowhere", 1);
    KILN("cache", "stats");
    EXPECT_DONE();
    EXPECT_OUT("/nowhere (not made yet)\nentries   0\n");
    assert_null(strstr(cli.out, "compiling"));
    setenv("KILN_CACHE_DIR", "cache_of_test", 1);
}

/* ---- the table of verbs and options ---- */

/* Each verb takes the options that docs/cli.md gives it, and refuses each other one by name. */
static void test_cli_cache__verbs_refuse_the_options_of_others(void **state)
{
    static char *const options[] = {"--dir=.", "--bundle=all.kiln", "--sort=size", "--to=1G",
                                    "--remove", "--arch=sm_80", "--json"};
    static const struct {
        char *verb, *arg;
        const char *takes; /* for each option */
    } rows[] = {{"stats", NULL, "yy----y"},       {"list", NULL, "yyy--yy"},
                {"show", "0", "yy----y"},         {"verify", NULL, "yy--y-y"},
                {"prune", "--to=2G", "y--y--y"},  {"clear", NULL, "y----yy"},
                {"path", NULL, "y-----y"},        {"export", "o.kiln", "y----yy"},
                {"import", "all.kiln", "y-----y"}};

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        for (size_t k = 0; k < KILN_COUNT_OF(options); k++) {
            char *argv[8] = {"kiln", "cache", rows[r].verb, options[k], rows[r].arg, NULL};
            char text[64];
            if (strcmp(rows[r].verb, "prune") == 0 && strncmp(options[k], "--to", 4) == 0)
                continue; /* given already */
            snprintf(text, sizeof text, "kiln: kiln cache %s takes no %.*s\n", rows[r].verb,
                     (int)strcspn(options[k], "="), options[k]);
            cli_run(argv, NULL);
            if (rows[r].takes[k] == '-')
                EXPECT_REFUSED(2, text);
            else if (cli.status == 2)
                fail_msg("%s %s: %s", rows[r].verb, options[k], cli.err);
        }
    }
    KILN("cache", "list", "--bundle", "all.kiln", "--dir", ".");
    EXPECT_REFUSED(2, "--bundle and --dir exclude each other");
    KILN("cache", "verify", "--bundle", "all.kiln", "--remove");
    EXPECT_REFUSED(2, "--bundle and --remove exclude each other");
}

/* What the command line refuses, the functions refuse as well. */
static void test_cli_cache__a_bundle_is_read_only(void **state)
{
    kiln_cache *bundle = NULL;
    kiln_cache_report report;
    uint64_t count = 7;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    KILN("cache", "export", "all.kiln");
    EXPECT_DONE();
    assert_int_equal(kiln_cache_open_bundle(NULL, &bundle, &err), KILN_ERR_NULL);
    assert_int_equal(kiln_cache_open_bundle("all.kiln", &bundle, &err), KILN_OK);
    assert_int_equal(kiln_cache_prune(bundle, 0, &count, &err), KILN_ERR_UNSUPPORTED);
    assert_int_equal(count, 0);
    assert_non_null(strstr(err.message, "all.kiln is a bundle"));
    assert_int_equal(kiln_cache_clear(bundle, NULL, &err), KILN_ERR_UNSUPPORTED);
    assert_int_equal(kiln_cache_remove(bundle, (const char *[]){"sm_80"}, 1, NULL, &err),
                     KILN_ERR_UNSUPPORTED);
    assert_int_equal(kiln_cache_export(bundle, "b.kiln", NULL, 0, NULL, &err),
                     KILN_ERR_UNSUPPORTED);
    assert_int_equal(kiln_cache_import(bundle, "all.kiln", NULL, &err), KILN_ERR_UNSUPPORTED);
    assert_int_equal(kiln_cache_verify(bundle, true, &report, &err), KILN_ERR_UNSUPPORTED);
    assert_int_equal(kiln_cache_verify(bundle, false, &report, &err), KILN_OK);
    assert_int_equal(report.good, 3);
    kiln_cache_close(bundle);
    kiln_error_clear(&err);
}

/* ---- wrong words ---- */

/* Status 2 and a reason, and no folder is looked at: there is none to be had. */
static void test_cli_cache__wrong_words_are_refused(void **state)
{
    static const struct {
        char *words[4];
        const char *reason;
    } cases[] = {{{NULL}, "is missing after \"cache\""},
                 {{"nonsense"}, "there is no cache command \"nonsense\""},
                 {{"stats", "more"}, "one word too many: \"more\""},
                 {{"show"}, "a KEY is missing"},
                 {{"show", "a", "b"}, "one word too many: \"b\""},
                 {{"export"}, "a FILE is missing"},
                 {{"import"}, "a FILE is missing"},
                 {{"prune"}, "needs --to"},
                 {{"prune", "--to", "many"}, "needs --to"},
                 {{"prune", "--to", "-5"}, "needs --to"},
                 {{"list", "--sort", "up"}, "there is no order \"up\""},
                 {{"list", "--colour"}, "--colour"},
                 {{"prune", "--to"}, "--to"}};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        char *argv[8] = {"kiln", "cache"};
        for (size_t w = 0; w < 4; w++)
            argv[2 + w] = cases[k].words[w];
        cli_run(argv, NULL);
        EXPECT_FAILED(2, cases[k].reason);
        assert_string_equal(cli.out, "");
    }
}

/* A folder that may not be used: status 1 and the reason. */
static void test_cli_cache__a_folder_open_to_writers_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    assert_int_equal(chmod("elsewhere", 0777), 0);
    KILN("cache", "stats", "--dir", "elsewhere");
    EXPECT_FAILED(1, "others may write to the folder");
}

#define FILLED(function) cmocka_unit_test_setup_teardown(function, fill, empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILLED(test_cli_cache__stats_sum_up),
        FILLED(test_cli_cache__lists_are_sorted_as_asked),
        FILLED(test_cli_cache__show_tells_one_entry),
        FILLED(test_cli_cache__path_names_the_folder),
        FILLED(test_cli_cache__verify_finds_damage_and_removes_it),
        FILLED(test_cli_cache__prune_and_clear_say_what_went),
        FILLED(test_cli_cache__export_and_import_move_entries),
        FILLED(test_cli_cache__a_bundle_is_never_less_than_was_asked_for),
        FILLED(test_cli_cache__a_bundle_is_looked_into_like_a_folder),
        FILLED(test_cli_cache__clear_may_be_for_some_targets),
        FILLED(test_cli_cache__a_folder_that_is_not_there_has_no_figures),
        FILLED(test_cli_cache__verbs_refuse_the_options_of_others),
        FILLED(test_cli_cache__a_bundle_is_read_only),
        FILLED(test_cli_cache__wrong_words_are_refused),
        FILLED(test_cli_cache__a_folder_open_to_writers_is_refused),
    };

    return cmocka_run_group_tests_name("cli_cache", tests, cli_enter, cli_leave);
}
