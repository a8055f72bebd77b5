# kiln_flags(target): the language, visibility, warnings and sanitizers of every target here, and
# what they link with: symbols are resolved when a program starts and the tables then made read-only,
# which hardens them and spares the first call of each function a search.
# All of it is private: nobody who links kiln inherits a flag.

function(kiln_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        $<$<BOOL:${KILN_WERROR}>:-Werror>)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "SHARED_LIBRARY|MODULE_LIBRARY|EXECUTABLE")
        target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
    endif()
    if(KILN_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
        # A program that links a sanitized static library must link the runtime as well.
        if(type STREQUAL "STATIC_LIBRARY")
            target_link_options(${target} PUBLIC $<BUILD_INTERFACE:-fsanitize=${KILN_SANITIZE}>)
        elseif(NOT type STREQUAL "OBJECT_LIBRARY")
            target_link_options(${target} PRIVATE -fsanitize=${KILN_SANITIZE})
        endif()
    endif()
endfunction()
