# cmake -D FOLDER=templates -D LIST=names.txt -D OUTPUT=out.c -P embed.cmake
#
# Write a C file with the text of every file named in LIST (paths relative to FOLDER, sorted).
# Texts become arrays of character constants: a string literal may hold only 4095 characters in
# ISO C, and plain numbers above 127 do not fit a signed char.

cmake_minimum_required(VERSION 3.22)

file(STRINGS ${LIST} names)
set(arrays "")
set(entries "")
set(count 0)
foreach(name IN LISTS names)
    file(READ ${FOLDER}/${name} hex HEX)
    file(SIZE ${FOLDER}/${name} bytes)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," body "${hex}")
    # 16 characters a line, each 7 columns wide.
    string(REGEX REPLACE "(................................................................................................................)"
           "\\1\n    " body "${body}")
    string(APPEND arrays
           "/* ${name} */\nstatic const char text_${count}[] = {\n    ${body}0};\n\n")
    string(APPEND entries "    {\"${name}\", text_${count}, ${bytes}},\n")
    math(EXPR count "${count} + 1")
endforeach()

file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake from templates/; edit those. */
#include \"codegen/templates.h\"

${arrays}const size_t kiln__template_file_count = ${count};

const struct kiln__template_file kiln__template_files[] = {
${entries}    {NULL, NULL, 0},
};
")
