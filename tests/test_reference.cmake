# Every function of the public headers stands in docs/reference.md, which names no other, and is
# called by a test.
#
#     cmake -D SOURCE=.. -P test_reference.cmake

cmake_minimum_required(VERSION 3.22)

# The name before the first '(' after KILN_API.
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
list(LENGTH declared count)
if(count LESS 80)
    message(FATAL_ERROR "only ${count} functions found in ${SOURCE}/include/kiln")
endif()

file(READ ${SOURCE}/docs/reference.md page)
string(REGEX MATCHALL "`kiln_[a-z0-9_]+`" shown "${page}")
list(TRANSFORM shown REPLACE "`" "")

# These are macros over other functions, and stand for them in tests.
set(macros kiln_call kiln_call_over kiln_call_with
    kiln_graph_input kiln_graph_input_of kiln_graph_output)
file(GLOB tests ${SOURCE}/tests/*.c ${SOURCE}/tests/consumer/*.c ${SOURCE}/tests/oracle/*.c)
set(called "")
foreach(test IN LISTS tests)
    file(READ ${test} text)
    string(REGEX MATCHALL "kiln_[a-z0-9_]+" words "${text}")
    list(APPEND called ${words})
endforeach()
list(REMOVE_DUPLICATES called)

# kiln_sqrt() and its kind are macros over the functions that record nodes.
foreach(name IN LISTS declared)
    string(REGEX REPLACE "^kiln_node_" "" short ${name})
    if("kiln_${short}" IN_LIST called OR "kiln_graph_${short}" IN_LIST called)
        list(APPEND called ${name})
    endif()
endforeach()
foreach(pair IN ITEMS kiln_sqrt:1 kiln_add:2 kiln_where:3)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 macro)
    list(GET pair 1 operands)
    if(macro IN_LIST called)
        list(APPEND called kiln_node_op${operands})
    endif()
endforeach()

foreach(name IN LISTS declared)
    if(NOT name IN_LIST shown)
        message(SEND_ERROR "docs/reference.md does not show ${name}()")
    endif()
    if(NOT name IN_LIST called)
        message(SEND_ERROR "no test calls ${name}()")
    endif()
endforeach()
foreach(name IN LISTS shown)
    if(NOT name IN_LIST declared AND NOT name IN_LIST macros AND NOT name STREQUAL "kiln_arg")
        message(SEND_ERROR "docs/reference.md shows ${name}(), which no header declares")
    endif()
endforeach()
message("${count} functions are shown and tested")
