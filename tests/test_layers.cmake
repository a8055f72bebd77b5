# The rule of docs/design.md, "Folders": arrows between the folders of src/ point one way, and a
# folder is entered only by its one door, the header of its own name.
#
#     cmake -D SOURCE=.. -P test_layers.cmake

cmake_minimum_required(VERSION 3.22)

# What each folder may use, itself aside.
set(uses_core "")
set(uses_cache core)
set(uses_codegen core)
set(uses_device core)
set(uses_manifest core)
set(uses_context core cache device manifest)
set(uses_array core cache device context)
set(uses_jit core cache codegen device context)
set(uses_kernel core cache codegen device manifest context array jit)
set(uses_module core cache codegen device manifest context array jit kernel)
set(uses_measure core cache device context manifest)
set(uses_interop core cache codegen device manifest context array jit kernel)
set(uses_warm core cache codegen device manifest array jit kernel graph)
set(uses_graph core cache codegen device context array jit kernel)
set(folders core cache codegen device manifest context array jit kernel interop measure module warm graph)

# Recorded graphs are a part of codegen with doors of their own.
set(doors_codegen codegen/graph/graph.h codegen/graph/ops.h)

# codegen knows of a device only what the public header says: text in, text out.
set(forbidden_codegen "cuda.h|nvrtc.h|kiln/array.h|kiln/elementwise.h")

set(count 0)
file(GLOB_RECURSE files RELATIVE ${SOURCE}/src ${SOURCE}/src/*.c ${SOURCE}/src/*.h)
foreach(file IN LISTS files)
    string(REGEX REPLACE "/.*" "" folder ${file})
    if(NOT folder IN_LIST folders)
        message(SEND_ERROR "src/${file}: test_layers.cmake knows no folder '${folder}'")
    endif()
    file(STRINGS ${SOURCE}/src/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]+[\"<]")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE ".*[\"<]([^\">]*)[\">].*" "\\1" included "${line}")
        math(EXPR count "${count} + 1")
        string(REGEX MATCH "^[^/]*" target ${included})
        if(forbidden_${folder} AND included MATCHES "^(${forbidden_${folder}})$")
            message(SEND_ERROR "src/${file} includes ${included}")
        endif()
        if(included MATCHES "\\.\\./")
            message(SEND_ERROR "src/${file} includes ${included}: write the path from src/")
        endif()
        if(NOT target IN_LIST folders OR target STREQUAL folder)
            continue()
        endif()
        if(NOT target IN_LIST uses_${folder})
            message(SEND_ERROR "src/${file} includes ${included}: ${folder} may not use ${target}")
        elseif(NOT included STREQUAL "${target}/${target}.h" AND NOT included IN_LIST doors_${target})
            message(SEND_ERROR "src/${file} includes ${included}: the door is ${target}/${target}.h")
        endif()
    endforeach()
endforeach()
if(count LESS 50)
    message(FATAL_ERROR "only ${count} includes found below ${SOURCE}/src")
endif()
message("${count} includes obey the layers")
