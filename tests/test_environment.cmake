# docs/environment.md names every environment variable that the library reads, and its tables have no
# variable that nothing reads. tools/kiln.1 names those of kiln, but for those of builds for tuning.
#
#     cmake -D SOURCE=.. -P test_environment.cmake
#
# A file that calls kiln__env() or getenv() may take the names from a table; so every string in it
# that looks like a variable's name counts. What looks so and is none is listed here.

cmake_minimum_required(VERSION 3.22)

set(no_variables NAME GNU LC_ALL BLAS LAPACK)

file(READ ${SOURCE}/docs/environment.md page)
file(READ ${SOURCE}/tools/kiln.1 manual)
file(GLOB_RECURSE files ${SOURCE}/src/*.c ${SOURCE}/tools/*.c)

set(count 0)
set(tuning)
foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REGEX MATCHALL "KILN_TUNE_[A-Z_]+" names "${text}")
    list(APPEND tuning ${names})
    if(NOT text MATCHES "env\\(")
        continue()
    endif()
    string(REPLACE ";" " " text "${text}")
    string(REGEX MATCHALL "\"[A-Z][A-Z0-9_][A-Z0-9_]+\"" names "${text}")
    list(REMOVE_DUPLICATES names)
    foreach(name IN LISTS names)
        string(REPLACE "\"" "" name "${name}")
        list(APPEND read ${name})
        if(name IN_LIST no_variables OR name MATCHES "^KILN_TUNE_") # those are looked at below
            continue()
        endif()
        math(EXPR count "${count} + 1")
        string(FIND "${page}" "`${name}`" at)
        if(at EQUAL -1)
            message(SEND_ERROR "${file} reads $${name}, which docs/environment.md does not name")
        endif()
        if(name MATCHES "^KILN_" AND NOT manual MATCHES "\n\\.B ${name}\n")
            message(SEND_ERROR "${file} reads $${name}, which tools/kiln.1 does not name")
        endif()
    endforeach()
endforeach()
if(count LESS 15)
    message(FATAL_ERROR "only ${count} variables below ${SOURCE}/src: has kiln__env() a new name?")
endif()

list(REMOVE_DUPLICATES tuning)
string(REGEX MATCHALL "KILN_TUNE_[A-Z_]+`" named "${page}")
string(REPLACE "`" "" named "${named}")
foreach(name IN LISTS tuning)
    if(NOT name IN_LIST named)
        message(SEND_ERROR "${name} is read below ${SOURCE}/src, and docs/environment.md does not name it")
    endif()
endforeach()
foreach(name IN LISTS named)
    if(NOT name IN_LIST tuning)
        message(SEND_ERROR "docs/environment.md names ${name}, which nothing reads")
    endif()
endforeach()

string(REGEX MATCHALL "\n\\| `KILN_[A-Z_]+`" told "${page}")
list(LENGTH told rows)
if(rows LESS 8)
    message(FATAL_ERROR "docs/environment.md has lost its table: ${rows} rows")
endif()
foreach(name IN LISTS told)
    string(REGEX REPLACE "\n\\| `(.*)`" "\\1" name "${name}")
    if(NOT name IN_LIST read AND NOT name MATCHES "^KILN_TUNE_")
        message(SEND_ERROR "docs/environment.md names ${name}, which nothing reads")
    endif()
endforeach()
message("${count} places read variables that docs/environment.md names")
