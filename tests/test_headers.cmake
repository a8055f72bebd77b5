# Every public header compiles alone, as C11 and as C++17, with no warning; kiln_call() takes what
# it says and refuses the rest at compile time.
#
#     cmake -D SOURCE=.. -D WORK=folder -D CC=cc [-D CXX=c++] -P test_headers.cmake

cmake_minimum_required(VERSION 3.22)

set(flags -Wall -Wextra -Wpedantic -Wshadow -Werror -c -I${SOURCE}/include)
set(languages "${CC}|-std=c11|c" "${CC}|-std=c17|c")
if(CXX)
    list(APPEND languages "${CXX}|-std=c++17|c++" "${CXX}|-std=c++20|c++")
else()
    message("no C++ compiler: headers are tested as C only")
endif()

file(GLOB headers RELATIVE ${SOURCE}/include ${SOURCE}/include/kiln/*.h)
list(LENGTH headers count)
if(count LESS 8)
    message(FATAL_ERROR "only ${count} headers found in ${SOURCE}/include/kiln")
endif()
file(MAKE_DIRECTORY ${WORK})

# Compile `file`; `ok` receives whether it went well, `text` what was said.
macro(compile language file)
    string(REPLACE "|" ";" parts ${language})
    list(GET parts 0 compiler)
    list(GET parts 1 standard)
    list(GET parts 2 kind)
    execute_process(COMMAND ${compiler} ${standard} -x ${kind} ${flags} ${ARGN} ${file} -o ${WORK}/out.o
                    RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_VARIABLE text)
endmacro()

set(checked 0)
foreach(language IN LISTS languages)
    foreach(header IN LISTS headers)
        file(WRITE ${WORK}/alone.txt "#include <${header}>\n#include <${header}>\n")
        compile(${language} ${WORK}/alone.txt)
        if(NOT result EQUAL 0)
            message(SEND_ERROR "${header} alone, ${language}:\n${text}")
        endif()
        math(EXPR checked "${checked} + 1")
    endforeach()
    compile(${language} ${SOURCE}/tests/build/call.c)
    if(NOT result EQUAL 0)
        message(SEND_ERROR "kiln_call, ${language}:\n${text}")
    endif()
    foreach(bad RANGE 1 11)
        compile(${language} ${SOURCE}/tests/build/call.c -DBAD_${bad})
        if(result EQUAL 0)
            message(SEND_ERROR "call.c compiles with -DBAD_${bad}, ${language}")
        endif()
        math(EXPR checked "${checked} + 1")
    endforeach()
endforeach()
message("${checked} compilations as expected")
