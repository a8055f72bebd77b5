# kiln_flags(target): the language, visibility, warnings and sanitizers of every target here.
# All of it is private: nobody who links kiln inherits a flag.

function(kiln_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        $<$<BOOL:${KILN_WERROR}>:-Werror>)
    if(KILN_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
        get_target_property(type ${target} TYPE)
        # A program that links a sanitized static library must link the runtime as well.
        if(type STREQUAL "STATIC_LIBRARY")
            target_link_options(${target} PUBLIC $<BUILD_INTERFACE:-fsanitize=${KILN_SANITIZE}>)
        elseif(NOT type STREQUAL "OBJECT_LIBRARY")
            target_link_options(${target} PRIVATE -fsanitize=${KILN_SANITIZE})
        endif()
    endif()
endfunction()
