# kiln_embed(out_var folder): make a C file that holds every file below `folder`, and put its path
# into `out_var`. The texts are found through src/codegen/templates.h. The C file is made again
# when a template changes, and CMake runs again when one is added or removed: templates are data,
# so they are the one thing here that is globbed.

function(kiln_embed out_var folder)
    file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*)
    list(FILTER files EXCLUDE REGEX "(^|/)[.#]|~$|[.]def$")
    list(SORT files)
    set(output ${PROJECT_BINARY_DIR}/embedded_templates.c)
    list(TRANSFORM files PREPEND ${folder}/ OUTPUT_VARIABLE paths)
    # The list itself is an input too: without a template less, nothing else would be newer.
    set(list_file ${PROJECT_BINARY_DIR}/embedded_templates.txt)
    set(list_text "${files}")
    list(JOIN list_text "\n" list_text)
    file(CONFIGURE OUTPUT ${list_file} CONTENT "${list_text}\n" @ONLY)
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D LIST=${list_file} -D OUTPUT=${output}
                -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${paths} ${list_file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        COMMENT "Embedding templates"
        VERBATIM)
    # Several targets compile the file: let one target make it, so that they cannot race.
    if(NOT TARGET kiln_embedded)
        add_custom_target(kiln_embedded DEPENDS ${output})
    endif()
    set(${out_var} ${output} PARENT_SCOPE)
endfunction()
