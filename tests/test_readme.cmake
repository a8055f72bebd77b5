# The README's C example is examples/axpy.c to the letter, has under 30 lines, and prints what the
# README says; every command line of the README that begins with build/kiln runs, and the one that
# compiles the example with what was built gives that program.
#
#     cmake -D SOURCE=.. -D BUILD=build [-D CC=cc -D WORK=folder] -P test_readme.cmake

cmake_minimum_required(VERSION 3.22)

file(READ ${SOURCE}/README.md readme)
file(READ ${SOURCE}/examples/axpy.c example)

string(FIND "${readme}" "```c\n" begin)
string(SUBSTRING "${readme}" ${begin} -1 rest)
string(SUBSTRING "${rest}" 5 -1 rest)
string(FIND "${rest}" "```" end)
string(SUBSTRING "${rest}" 0 ${end} code)

# The file has one line more: the comment that says what it is.
string(FIND "${example}" "\n" end)
math(EXPR begin "${end} + 1")
string(SUBSTRING "${example}" ${begin} -1 body)
if(NOT code STREQUAL body)
    message(FATAL_ERROR "README.md and examples/axpy.c differ:\n${code}")
endif()
string(REGEX REPLACE "[^\n]" "" newlines "${code}")
string(LENGTH "${newlines}" lines)
if(lines GREATER_EQUAL 30)
    message(FATAL_ERROR "the example has ${lines} lines")
endif()

execute_process(COMMAND ${BUILD}/axpy OUTPUT_VARIABLE printed ERROR_VARIABLE errors
                RESULT_VARIABLE result)
string(REGEX MATCH "puts\\(text\\); /\\* ([^\n]*) \\*/" said "${code}")
if(NOT said)
    message(FATAL_ERROR "the example does not say what it prints")
endif()
if(NOT result EQUAL 0 OR NOT printed STREQUAL "${CMAKE_MATCH_1}\n")
    message(FATAL_ERROR "axpy printed '${printed}' and '${errors}', not '${CMAKE_MATCH_1}'")
endif()

if(CC)
    if(NOT readme MATCHES "\n    cc (examples/axpy\\.c [^#\n]*build/libkiln\\.a[^#\n]*) -o axpy +#")
        message(FATAL_ERROR "README.md does not say how to compile the example")
    endif()
    string(REPLACE "build/" "${BUILD}/" words "${CMAKE_MATCH_1}")
    separate_arguments(words UNIX_COMMAND "${words}")
    file(MAKE_DIRECTORY ${WORK})
    execute_process(COMMAND ${CC} ${words} -o ${WORK}/axpy WORKING_DIRECTORY ${SOURCE}
                    ERROR_VARIABLE errors RESULT_VARIABLE result)
    if(result EQUAL 0)
        execute_process(COMMAND ${WORK}/axpy OUTPUT_VARIABLE again ERROR_VARIABLE errors)
    endif()
    if(NOT again STREQUAL printed)
        message(FATAL_ERROR "cc ${words}: '${again}' and '${errors}'")
    endif()
    # The same without a dynamic libc, where a static one is there; a new cache makes it compile.
    execute_process(COMMAND ${CC} -static ${words} -o ${WORK}/static WORKING_DIRECTORY ${SOURCE}
                    ERROR_QUIET RESULT_VARIABLE result)
    if(result EQUAL 0)
        file(REMOVE_RECURSE ${WORK}/cache)
        execute_process(COMMAND ${CMAKE_COMMAND} -E env KILN_DEVICE=cpu KILN_CACHE_DIR=${WORK}/cache
                        ${WORK}/static OUTPUT_VARIABLE again ERROR_VARIABLE errors)
        if(NOT again STREQUAL printed)
            message(FATAL_ERROR "cc -static ${words}: '${again}' and '${errors}'")
        endif()
    endif()
endif()

string(REPLACE ";" "<semicolon>" readme "${readme}") # it would cut a list item in two
string(REGEX MATCHALL "\nbuild/kiln [^\n]*" commands "${readme}")
list(LENGTH commands count)
if(count LESS 2)
    message(FATAL_ERROR "README.md shows ${count} command lines")
endif()
foreach(command IN LISTS commands)
    string(REGEX REPLACE "^\nbuild/kiln" "'${BUILD}/kiln'" command "${command}")
    string(REPLACE "<semicolon>" ";" command "${command}")
    execute_process(COMMAND sh -c "${command}" RESULT_VARIABLE result ERROR_VARIABLE errors
                    OUTPUT_QUIET)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${command}: ${errors}")
    endif()
endforeach()
message("the example and ${count} command lines do what the README says")
