# cmake -D FOLDER=... -D CXX=... -D FLAGS=... -P identity.cmake: write identity.h, by which kernels
# that were compiled with other headers or flags are known apart.
file(SHA256 ${FOLDER}/device.h device)
file(SHA256 ${FOLDER}/prelude.h prelude)
file(WRITE ${FOLDER}/identity.h "/* Made by identity.cmake. */
#define EMULATOR_CXX \"${CXX}\"
#define EMULATOR_FLAGS \"${FLAGS}\"
#define EMULATOR_HEADERS \"${device} ${prelude}\"
")
