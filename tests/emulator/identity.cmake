# cmake -D FOLDER=... -D SOURCES=folder -D CXX=... -D FLAGS=... -P identity.cmake: say of what kernels for the emulated
# GPU are made: headers, flags and the compiler. FOLDER/prelude.h is there; written are
#
#     identity.h      for nvrtc.c, whose file kiln's keys name, and which hands the number to the compiler
#     identity.txt    the same as an option, for the precompiled header
#     device.h        refuses another number: a library never takes the headers of another build
file(SHA256 ${SOURCES}/device.h device)
file(SHA256 ${SOURCES}/emulator.h emulator)
file(SHA256 ${FOLDER}/prelude.h prelude)
execute_process(COMMAND ${CXX} --version OUTPUT_VARIABLE version RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "${CXX} does not run")
endif()
string(SHA256 identity "${device} ${emulator} ${prelude} ${CXX} ${FLAGS} ${version}")
string(SUBSTRING ${identity} 0 15 identity)
file(WRITE ${FOLDER}/identity.h "/* Made by identity.cmake. */
#define EMULATOR_CXX \"${CXX}\"
#define EMULATOR_FLAGS \"${FLAGS}\"
#define EMULATOR_IDENTITY \"-DEMU_IDENTITY=0x${identity}\"
")
file(WRITE ${FOLDER}/identity.txt "-DEMU_IDENTITY=0x${identity}\n")
file(READ ${SOURCES}/device.h text)
file(WRITE ${FOLDER}/device.h "#if EMU_IDENTITY != 0x${identity}
#error \"device.h is of another build of the emulated GPU\"
#endif
${text}")
