# kiln_embed(out_var folder name): make the C file `name` of the templates below `folder`, and put
# its path into `out_var`. The texts are found through src/codegen/templates.h. The C file is made again when a
# template changes, and CMake runs again when one is added or removed: templates are data, so they
# are the one thing here that is globbed.
#
# When kiln is compiled for another machine than this one, KILN_MAKE_TEMPLATES names a program that
# was compiled for this one from the files cmake/make*.c.

set(KILN_MAKE_TEMPLATES "" CACHE FILEPATH "Program that embeds templates; built when empty")
mark_as_advanced(KILN_MAKE_TEMPLATES)

function(kiln_embed out_var folder name)
    set(program ${KILN_MAKE_TEMPLATES})
    if(NOT program)
        set(program kiln_make_templates)
        if(NOT TARGET ${program})
            set(sources make.c make_prelude.c make_templates.c)
            list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/cmake/)
            add_executable(${program} ${sources})
            kiln_flags(${program})
        endif()
    endif()
    file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*)
    list(FILTER files EXCLUDE REGEX "(^|/)[.#]|~$")
    list(SORT files)
    list(TRANSFORM files PREPEND ${folder}/ OUTPUT_VARIABLE paths)
    set(output ${PROJECT_BINARY_DIR}/${name}.c)
    # The list itself is an input too: without a template less, nothing else would be newer.
    list(FILTER files EXCLUDE REGEX "^prelude/|[.]txt$")
    set(list_file ${PROJECT_BINARY_DIR}/${name}.txt)
    list(JOIN files "\n" list_text)
    file(CONFIGURE OUTPUT ${list_file} CONTENT "${list_text}\n" @ONLY)
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${program} ${folder} ${list_file} ${output}
        DEPENDS ${paths} ${list_file} ${program}
        COMMENT "Embedding ${name}"
        VERBATIM)
    # Several targets may compile the file: let one target make it, so that they cannot race.
    add_custom_target(kiln_${name} DEPENDS ${output})
    set(${out_var} ${output} PARENT_SCOPE)
endfunction()
