# cmake -D BUILD=folder -D WORK=folder -D SOURCES=folder -D KILN=... -D CXX=... -D FLAGS=... -P test_identity.cmake: that
# kernels of the emulated GPU are known apart by the headers, flags and compiler that they were made with, and that a
# library refuses the headers of another build, as when a folder is built again under running tests.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${WORK})
file(STRINGS ${BUILD}/identity.txt identities)

# Identity of a build that differs by `what`, which is done in `folder` and `sources` beforehand.
function(identity out what cxx flags)
    execute_process(COMMAND ${CMAKE_COMMAND} -D FOLDER=${WORK}/${what} -D SOURCES=${WORK}/${what}/sources
                            -D CXX=${cxx} "-DFLAGS=${flags}" -P ${SOURCES}/identity.cmake RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "identity.cmake failed for ${what}")
    endif()
    file(STRINGS ${WORK}/${what}/identity.txt text)
    set(${out} ${text} PARENT_SCOPE)
endfunction()

foreach(what IN ITEMS nothing header layout prelude flags compiler)
    file(COPY ${SOURCES}/device.h ${SOURCES}/emulator.h DESTINATION ${WORK}/${what}/sources)
    file(COPY ${BUILD}/prelude.h ${BUILD}/libcuda.so.1 ${BUILD}/libnvrtc.so.13 DESTINATION ${WORK}/${what})
endforeach()
file(APPEND ${WORK}/header/sources/device.h "// another header\n")
file(APPEND ${WORK}/layout/sources/emulator.h "/* another layout */\n")
file(APPEND ${WORK}/prelude/prelude.h "// another prelude\n")
file(WRITE ${WORK}/another-compiler "#!/bin/sh\necho another version\n")
file(CHMOD ${WORK}/another-compiler PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

identity(same nothing ${CXX} "${FLAGS}")
if(NOT same STREQUAL identities)
    message(FATAL_ERROR "a build of the same is ${same}, not ${identities}")
endif()
foreach(what IN ITEMS header layout prelude)
    identity(other ${what} ${CXX} "${FLAGS}")
    list(APPEND identities ${other})
endforeach()
identity(other flags ${CXX} "${FLAGS} -g")
list(APPEND identities ${other})
identity(other compiler ${WORK}/another-compiler "${FLAGS}")
list(APPEND identities ${other})
list(LENGTH identities count)
list(REMOVE_DUPLICATES identities)
list(LENGTH identities different)
if(NOT count EQUAL 6 OR NOT different EQUAL 6)
    message(FATAL_ERROR "six builds have ${different} identities of ${count}: ${identities}")
endif()

# The library of this build beside its own header, and beside another build's.
foreach(what IN ITEMS nothing header)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/${what} KILN_CACHE_DIR=${WORK}/${what}/cache
                            ${KILN} eval "x + 1" x=2.0 --device cuda
                    RESULT_VARIABLE failed_${what} OUTPUT_VARIABLE text ERROR_VARIABLE text)
    set(text_${what} "${text}")
endforeach()
if(failed_nothing OR NOT text_nothing MATCHES "3")
    message(FATAL_ERROR "with the header of its own build: ${text_nothing}")
endif()
if(NOT failed_header OR NOT text_header MATCHES "device.h is of another build")
    message(FATAL_ERROR "with the header of another build: ${text_header}")
endif()
message("six builds have six identities, and a header of another one is refused")
