# Each row of the table of faults in docs/cache.md names at least one test, and each test that is
# named is a function of a test program.
#
#     cmake -D SOURCE=.. -P test_cache_faults_table.cmake

cmake_minimum_required(VERSION 3.22)

file(READ ${SOURCE}/docs/cache.md text)
string(FIND "${text}" "## Faults" begin)
string(SUBSTRING "${text}" ${begin} -1 text)

set(functions "")
file(GLOB programs ${SOURCE}/tests/test_cache*.c ${SOURCE}/tests/attack/*.c)
foreach(program IN LISTS programs)
    file(STRINGS ${program} lines REGEX "^static void test_[a-z_]*__[a-z0-9_]*\\(")
    foreach(line IN LISTS lines)
        string(REGEX MATCH "test_[a-z0-9_]*" function "${line}")
        list(APPEND functions ${function})
    endforeach()
endforeach()

string(REPLACE ";" "," text "${text}") # it would cut a list item in two
string(REGEX MATCHALL "\n\\|[^\n]*" rows "${text}")
list(LENGTH rows count)
if(count LESS 30)
    message(FATAL_ERROR "the table of faults has ${count} rows")
endif()
list(REMOVE_AT rows 0 1) # its head
foreach(row IN LISTS rows)
    string(REGEX MATCHALL "`test_[a-z0-9_]*`" names "${row}")
    if(NOT names)
        message(SEND_ERROR "no test proves this row:${row}")
    endif()
    foreach(name IN LISTS names)
        string(REPLACE "`" "" name ${name})
        if(NOT name IN_LIST functions)
            message(SEND_ERROR "there is no test ${name}")
        endif()
    endforeach()
endforeach()
message("${count} rows")
