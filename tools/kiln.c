/*
 * kiln.c - the kiln command: find the command word, hand the rest of the line to it.
 */
#include "warm.h"

static int run_command(int command, int argc, char **argv)
{
    struct invocation v;
    int result = invocation_parse(command, argc, argv, &v);

    if (result == TOOL_DONE && invocation_get(&v, OPTION_HELP) != NULL)
        print_command_help(command);
    else if (result == TOOL_DONE)
        result = command == COMMAND_RUN      ? command_run(&v)
                 : command == COMMAND_REDUCE ? command_reduce(&v)
                 : command == COMMAND_SCAN   ? command_scan(&v)
                 : command == COMMAND_EVAL   ? command_eval(&v)
                 : command == COMMAND_RAW    ? command_raw(&v)
                 : command == COMMAND_WARM   ? command_warm(&v)
                 : command == COMMAND_CACHE  ? command_cache(&v)
                                             : command_info(&v);
    invocation_clear(&v);
    return result;
}

/* `kiln help [COMMAND]`. */
static int help(const char *word)
{
    int command = word != NULL ? command_from_name(word) : 0;
    if (word != NULL && command == 0)
        return usage_error(0, "there is no command \"%s\"", word);
    if (command != 0)
        print_command_help(command);
    else
        print_program_help();
    return TOOL_DONE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return usage_error(0, "a command is missing: run, reduce, scan, eval, raw, warm, cache or info");

    const char *word = argv[1];
    const bool helps =
        strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
    const int most = helps ? 3 : 2; /* words of a line that begins so */
    if ((helps || strcmp(word, "--version") == 0) && argc > most)
        return usage_error(0, "one word too many: \"%s\"", argv[most]);
    if (strcmp(word, "--version") == 0) {
        printf("kiln %s\n", kiln_version());
        return TOOL_DONE;
    }
    if (helps)
        return help(argc > 2 ? argv[2] : NULL);

    if (strcmp(word, WARM_WORKER_WORD) == 0)
        return command_warm_worker(argc - 2, argv + 2);
    int command = command_from_name(word);
    if (command != 0)
        return run_command(command, argc - 2, argv + 2);
    const char *near = command_suggest(word);
    if (near != NULL)
        return usage_error(0, "there is no command \"%s\"; did you mean \"%s\"?", word, near);
    return usage_error(0, "there is no command \"%s\"", word);
}

int main(int argc, char **argv)
{
    int result = dispatch(argc, argv);
    /* A full disk or a closed pipe shows only here; it must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("kiln: standard output could not be written\n", stderr);
        return TOOL_FAILED;
    }
    return result;
}
