# Install kiln into a fresh folder, then build tests/consumer against it in every way the README
# promises, and run it.
#
#     cmake -D SOURCE=.. -D BUILD=build -D WORK=folder -D BY=package|subproject|pkgconfig
#           -D VERSION=0.1.0 -D CC=cc -D GENERATOR=Ninja [-D SANITIZE=...] -P test_install.cmake

cmake_minimum_required(VERSION 3.22)

function(run what)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text
                    ERROR_VARIABLE text)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${what}: ${text}")
    endif()
endfunction()

set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

set(options -DKILN_BY=${BY} -DKILN_VERSION=${VERSION} -DCMAKE_C_COMPILER=${CC})
if(BY STREQUAL "subproject")
    list(APPEND options -DKILN_SOURCE=${SOURCE})
else()
    # Another prefix than the one configured: what is installed must not remember that one.
    run("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
    file(GLOB_RECURSE packages ${prefix}/*/kiln-config.cmake ${prefix}/*/kiln.pc)
    list(LENGTH packages count)
    if(NOT count EQUAL 2)
        message(FATAL_ERROR "kiln-config.cmake and kiln.pc are not both installed: ${packages}")
    endif()
    foreach(file bin/kiln share/man/man1/kiln.1 include/kiln/kiln.h)
        if(NOT EXISTS ${prefix}/${file})
            message(FATAL_ERROR "not installed: ${file}")
        endif()
    endforeach()
    list(APPEND options -DCMAKE_PREFIX_PATH=${prefix})
endif()
if(BY STREQUAL "pkgconfig")
    find_program(PKG_CONFIG pkg-config)
    if(NOT PKG_CONFIG)
        message("SKIPPED: pkg-config is missing")
        return()
    endif()
endif()
if(SANITIZE)
    list(APPEND options "-DCMAKE_C_FLAGS=-fsanitize=${SANITIZE}")
endif()

run("configure" ${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer -B ${WORK}/build -G ${GENERATOR}
    ${options})
run("build" ${CMAKE_COMMAND} --build ${WORK}/build --parallel 2)
file(GLOB programs ${WORK}/build/consumer ${WORK}/build/consumer_static)
foreach(program IN LISTS programs)
    run("run ${program}" ${program})
endforeach()
list(LENGTH programs count)
if(count EQUAL 0)
    message(FATAL_ERROR "no consumer was built")
endif()
message("${count} consumers built and run")
