# Install rules: libraries, headers, the command, and three ways to find them: the CMake package
# `kiln` (targets kiln::kiln and kiln::static), pkg-config's kiln.pc, and plain paths.

include(CMakePackageConfigHelpers)

set(KILN_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)

install(TARGETS kiln kiln_static EXPORT kiln-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/kiln DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION ${KILN_PACKAGE_DIR})

configure_package_config_file(cmake/kiln-config.cmake.in ${PROJECT_BINARY_DIR}/kiln-config.cmake
    INSTALL_DESTINATION ${KILN_PACKAGE_DIR})
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kiln-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kiln-config.cmake
              ${PROJECT_BINARY_DIR}/kiln-config-version.cmake
        DESTINATION ${KILN_PACKAGE_DIR})

# The way up from <libdir>/pkgconfig to the prefix, so that an installed tree may be moved.
file(RELATIVE_PATH KILN_PC_UP /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
string(REGEX REPLACE "/$" "" KILN_PC_UP "${KILN_PC_UP}")
configure_file(cmake/kiln.pc.in ${PROJECT_BINARY_DIR}/kiln.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kiln.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET kiln_tool)
    install(TARGETS kiln_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES tools/kiln.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
