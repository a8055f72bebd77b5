# Every symbol the shared library exports begins with kiln_ and stands in a public header, and
# every function of the public headers is exported; it needs no library but libc's.
#
#     cmake -D SOURCE=.. -D LIBRARY=libkiln.so -D NM=nm -D READELF=readelf -P test_symbols.cmake

cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
                OUTPUT_VARIABLE text RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} cannot read ${LIBRARY}")
endif()
string(REGEX MATCHALL "[^\n]+" lines "${text}")
set(exported "")
foreach(line IN LISTS lines)
    string(REGEX REPLACE "^.* " "" name "${line}")
    string(REGEX REPLACE "@.*$" "" name "${name}")
    list(APPEND exported ${name})
    if(NOT name MATCHES "^kiln_[a-z0-9]")
        message(SEND_ERROR "exported, but not in kiln's name space: ${name}")
    endif()
endforeach()

# What the headers promise: the name before the first '(' after KILN_API.
set(declared "")
file(GLOB headers ${SOURCE}/include/kiln/*.h)
foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(REPLACE ";" "," text "${text}")
    string(REGEX MATCHALL "\nKILN_API [^(]*\\(" found "${text}")
    foreach(declaration IN LISTS found)
        string(REGEX REPLACE "^.*[ *\n](kiln_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
        list(APPEND declared ${name})
    endforeach()
endforeach()

foreach(name IN LISTS declared)
    if(NOT name IN_LIST exported)
        message(SEND_ERROR "declared in a public header, but not exported: ${name}")
    endif()
endforeach()
foreach(name IN LISTS exported)
    if(NOT name IN_LIST declared)
        message(SEND_ERROR "exported, but in no public header: ${name}")
    endif()
endforeach()
list(LENGTH declared count)
if(count LESS 60)
    message(FATAL_ERROR "only ${count} declarations found in include/kiln")
endif()

execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE text)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[[^\n]*\\]" needed "${text}")
foreach(line IN LISTS needed)
    # The sanitizers' own libraries are there in a sanitized build.
    if(NOT line MATCHES "\\[(libc|libm|libdl|libpthread|ld-linux.*|libasan|libubsan|libtsan)\\.so")
        message(SEND_ERROR "an unexpected dependency: ${line}")
    endif()
endforeach()
message("${count} functions declared and exported")
