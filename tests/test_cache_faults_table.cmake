# Each row of the table of faults in docs/cache.md, and of the table of attacks in docs/security.md, names
# at least one test, and each test that is named is a function of a test program.
#
#     cmake -D SOURCE=.. -P test_cache_faults_table.cmake

cmake_minimum_required(VERSION 3.22)

set(functions "")
file(GLOB programs ${SOURCE}/tests/test_*.c ${SOURCE}/tests/attack/*.c)
foreach(program IN LISTS programs)
    file(STRINGS ${program} lines REGEX "^static void test_[a-z_]*__[a-z0-9_]*\\(")
    foreach(line IN LISTS lines)
        string(REGEX MATCH "test_[a-z0-9_]*" function "${line}")
        list(APPEND functions ${function})
    endforeach()
endforeach()

# check_table(file heading least): the one table behind a heading, of `least` rows or more.
function(check_table file heading least)
    file(READ ${SOURCE}/docs/${file} text)
    string(FIND "${text}" "${heading}" begin)
    if(begin EQUAL -1)
        message(FATAL_ERROR "docs/${file} has no ${heading}")
    endif()
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(REPLACE ";" "," text "${text}") # it would cut a list item in two
    string(REGEX MATCHALL "\n\\|[^\n]*" rows "${text}")
    list(LENGTH rows count)
    if(count LESS least)
        message(FATAL_ERROR "docs/${file}: the table has ${count} rows")
    endif()
    list(REMOVE_AT rows 0 1) # its head
    foreach(row IN LISTS rows)
        string(REGEX MATCHALL "`test_[a-z0-9_]*__[a-z0-9_]*`" names "${row}")
        if(NOT names)
            message(SEND_ERROR "docs/${file}: no test proves this row:${row}")
        endif()
        foreach(name IN LISTS names)
            string(REPLACE "`" "" name ${name})
            if(NOT name IN_LIST functions)
                message(SEND_ERROR "docs/${file}: there is no test ${name}")
            endif()
        endforeach()
    endforeach()
    message("${file}: ${count} rows")
endfunction()

check_table(cache.md "## Faults" 30)
check_table(security.md "## Attacks" 20)
