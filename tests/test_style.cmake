# Limits on our own text: files under 800 lines, functions under 70, lines of public headers under 101
# columns, no tabs or trailing spaces, and no notes to ourselves.
#
#     cmake -D SOURCE=.. -P test_style.cmake
#
# A function is what stands between a line that is "{" and the next line that is "}", both at the
# left edge; that is how .clang-format lays ours out. A template's functions are counted with the
# template's marks. A part of a template that is a piece of a function has as few lines of C++.
# CONTRIBUTING.md has the reasons.

cmake_minimum_required(VERSION 3.22)

set(file_lines_max 799)
set(function_lines_max 69)

# Data and text that is kept as others wrote it.
set(foreign "tests/(data|fuzz/corpus)/")

# A line of a public header that is too long.
string(REPEAT "[^\n]" 101 wide)

set(patterns "")
foreach(folder IN ITEMS src include cmake tools templates tests bench examples python)
    foreach(suffix IN ITEMS c h cu cpp def cmake py)
        list(APPEND patterns ${SOURCE}/${folder}/*.${suffix})
    endforeach()
endforeach()
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${patterns})

set(file_count 0)
set(function_count 0)
set(part_count 0)
foreach(file IN LISTS files)
    if(file MATCHES "${foreign}")
        continue()
    endif()
    math(EXPR file_count "${file_count} + 1")
    file(READ ${SOURCE}/${file} text)
    # What CMake's lists take for their own.
    string(REPLACE ";" "," text "${text}")
    string(REPLACE "[" "(" text "${text}")
    string(REPLACE "]" ")" text "${text}")
    string(REPLACE "\\" "/" text "${text}")
    if(text MATCHES "\t|[ \r]\n" AND NOT file MATCHES "\\.py$")
        message(SEND_ERROR "${file}: a tab, a trailing space or a carriage return")
    endif()
    string(CONCAT notes "TO" "DO|FIX" "ME|XX" "X:")
    if(text MATCHES "(${notes})")
        message(SEND_ERROR "${file}: a note to ourselves: ${CMAKE_MATCH_1}")
    endif()
    if(file MATCHES "^(src|templates)/" AND text MATCHES "\\((&|=)?\\)\\((const )?auto ")
        message(SEND_ERROR "${file}: a generic lambda, which NVRTC takes for a function of the host")
    endif()
    if(file MATCHES "^include/" AND text MATCHES "${wide}[^\n]*")
        message(SEND_ERROR "${file}: a line of more than 100 columns: ${CMAKE_MATCH_0}")
    endif()
    string(REGEX MATCHALL "\n" newlines "${text}")
    list(LENGTH newlines line_count)
    if(line_count GREATER file_lines_max)
        message(SEND_ERROR "${file}: ${line_count} lines; at most ${file_lines_max}")
    endif()
    if(file MATCHES "^templates/")
        # Directives other than parts, and notes.
        string(REGEX REPLACE "\n *//(% (for|if|else|end|insert|own|plain)|#)[^\n]*" "" code "${text}")
        string(REPLACE "\n//% part " ";" parts "${code}")
        list(POP_FRONT parts before)
        foreach(part IN LISTS parts)
            string(REGEX MATCHALL "\n[^\n]" part_lines "${part}")
            list(LENGTH part_lines lines)
            math(EXPR part_count "${part_count} + 1")
            if(lines GREATER function_lines_max AND NOT part MATCHES "\n{\n")
                string(REGEX REPLACE "\n.*" "" first "${part}")
                message(SEND_ERROR "${file}: part ${first} has ${lines} lines of C++, at most "
                        "${function_lines_max}")
            endif()
        endforeach()
    elseif(NOT file MATCHES "\\.(c|h)$")
        continue()
    endif()
    # Messages quote with backticks and double quotes; what a .npy header holds is Python.
    if(file MATCHES "^(src|tools)/.*\\.c$" AND text MATCHES "[^\n]*[^:] '%[.0-9]*[sc]'[^\n]*")
        message(SEND_ERROR "${file}: a message with single quotes: ${CMAKE_MATCH_0}")
    endif()
    # Cut the text at each "\n{\n"; a piece holds one body, up to its "\n}\n".
    string(REPLACE "\n{\n" ";" pieces "${text}")
    list(POP_FRONT pieces before)
    foreach(piece IN LISTS pieces)
        string(REGEX REPLACE "\n([^\n]*)$" "" rest "${piece}")
        string(FIND "${piece}" "\n}" end)
        if(end EQUAL -1)
            continue()
        endif()
        math(EXPR function_count "${function_count} + 1")
        string(SUBSTRING "${piece}" 0 ${end} body)
        string(REGEX MATCHALL "\n" body_newlines "${body}")
        list(LENGTH body_newlines inner)
        math(EXPR lines "${inner} + 3")
        if(lines GREATER function_lines_max)
            string(REGEX REPLACE "\n.*" "" first "${body}")
            message(SEND_ERROR "${file}: a function of ${lines} lines, at most "
                    "${function_lines_max}; it begins with: ${first}")
        endif()
    endforeach()
endforeach()
if(file_count LESS 100 OR function_count LESS 500 OR part_count LESS 100)
    message(FATAL_ERROR "only ${file_count} files, ${function_count} functions and ${part_count} "
            "parts of templates below ${SOURCE}")
endif()
# A condition of templates is answered by the first table that has its name: no two tables may have one.
set(conditions "")
foreach(table IN ITEMS "emit.c:static void find_conditions" "emit.c:static int test(void"
                       "emit_window.c:tests(" "emit_window.c:int kiln__window_test"
                       "row_emit.c:int kiln__row_test")
    string(REGEX MATCH "^([^:]*):(.*)$" table "${table}")
    set(file ${CMAKE_MATCH_1})
    set(begin "${CMAKE_MATCH_2}")
    file(READ ${SOURCE}/src/codegen/${file} text)
    string(REPLACE ";" "," text "${text}")
    string(REPLACE "[" "(" text "${text}")
    string(REPLACE "]" ")" text "${text}")
    string(FIND "${text}" "${begin}" from)
    if(from EQUAL -1)
        message(FATAL_ERROR "${file}: there is no \"${begin}\", a table of conditions of templates")
    endif()
    string(SUBSTRING "${text}" ${from} -1 text)
    string(FIND "${text}" "\n}\n" end)
    string(SUBSTRING "${text}" 0 ${end} text)
    string(REGEX MATCHALL "({|bytes, )\"[a-z_.]+\"" names "${text}")
    list(TRANSFORM names REPLACE ".*\"([^\"]+)\"" "\\1")
    list(REMOVE_DUPLICATES names)
    list(LENGTH names count)
    if(count LESS 3)
        message(FATAL_ERROR "${file}: ${count} conditions behind \"${begin}\"")
    endif()
    foreach(name IN LISTS names)
        if(name IN_LIST conditions)
            message(SEND_ERROR "src/codegen/${file}: \"${name}\" is a condition of another table as well")
        endif()
    endforeach()
    list(APPEND conditions ${names})
endforeach()

message("${file_count} files, ${function_count} functions and ${part_count} parts of templates "
        "keep the limits")
