/*
 * in_child.h - run a test in a process of its own: one that has found and loaded nothing yet, and
 * may leave whatever it likes behind.
 */
#ifndef KILN_TESTS_IN_CHILD_H
#define KILN_TESTS_IN_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Include after cmocka.h. `test` returns whether all was well. */
static inline void in_child(bool (*test)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(test() ? 0 : 1);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
