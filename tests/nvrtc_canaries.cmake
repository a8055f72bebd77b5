# nvrtc_canaries.cmake - the canaries of known miscompilations, once more for each other NVRTC there is.
#
# Every libnvrtc below the folders of KILN_NVRTC_WHEELS gives two tests: test_nvrtc_faults.VERSION looks
# at machine code, test_faults.cuda.VERSION runs kernels on a GPU. By default the wheels of $VIRTUAL_ENV
# are taken; a folder for others is filled by
#
#     pip download --no-deps -d DIR nvidia-cuda-nvrtc-cu12==12.9.86 && unzip -d DIR/12.9 DIR/*.whl

set(KILN_NVRTC_WHEELS "$ENV{VIRTUAL_ENV}" CACHE STRING
    "Folders (a list) of NVRTC wheels, unpacked, whose compilers the canaries run with")

foreach(folder IN LISTS KILN_NVRTC_WHEELS)
    file(GLOB_RECURSE libraries ${folder}/libnvrtc.so.12 ${folder}/libnvrtc.so.13)
    foreach(library IN LISTS libraries)
        # The full version stands in the name of the library beside it.
        get_filename_component(beside ${library} DIRECTORY)
        file(GLOB version RELATIVE ${beside} ${beside}/libnvrtc-builtins.so.1*)
        string(REGEX MATCH "[0-9]+[.][0-9]+" version "${version}")
        if(version AND TARGET test_faults AND NOT TEST test_faults.cuda.${version})
            kiln_add_run(test_nvrtc_faults.${version} test_nvrtc_faults "" 300 cpu)
            kiln_add_run(test_faults.cuda.${version} test_faults cuda 600 gpu)
            set_tests_properties(test_nvrtc_faults.${version} test_faults.cuda.${version} PROPERTIES
                ENVIRONMENT "${KILN_TEST_ENVIRONMENT};KILN_NVRTC=${library}")
        endif()
    endforeach()
endforeach()
