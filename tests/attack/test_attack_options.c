/*
 * test_attack_options.c - compiler options as a manifest of somebody else may hold them: they must
 * start no program, load nothing into a compiler and write no file.
 * What GCC, Clang and NVRTC do with each of the refused ones is in their manuals.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"

static const char *const bad_for_cpu[] = {
    /* programs */
    "--prefix=/tmp/x/", "--prefix=x", "-B/tmp/x", "-Bx", "-B", "--ld-path=/tmp/x", "-fuse-ld=x",
    "-wrapper", "-wrapper,x", "-no-canonical-prefixes", "-specs=x", "--specs=x", "-T", "-Tx",
    "--sysroot=/x", "-isysroot/x", "--gcc-toolchain=/x", "--config=x", "-Xlinker", "-Xassembler",
    "-Xclang", "-Xpreprocessor", "-Wl,-plugin,/x.so", "-Wl,-Map=x", "-Wl,--hash-style=gnu",
    "-Wa,-a=x", "-Wp,-MD,x", "-target", "--target=x", "-flto", "-flto=auto", "-fno-integrated-as",
    "-fintegrated-cc1", "-fuse-linker-plugin", "-fno-use-linker-plugin", "--rtlib=x",
    "-mlinker-x,y",
    /* code in the compiler */
    "-fplugin=x.so", "-fplugin-arg-x-y", "-fpass-plugin=x.so", "-mllvm", "-mllvm=-load=x", "-mmlir",
    "-fmodule-file=x", "-fmodules", "-fmodules-ts", "-fprebuilt-module-path=x",
    /* files */
    "-o", "-ox", "-o/tmp/x", "--output=x", "-c", "-S", "-E", "-M", "-MD", "-MMD", "-MF", "-MFx",
    "-MJx", "-save-temps", "-save-temps=cwd", "--save-temps", "-dumpdir", "-dumpbase", "-dD", "-da",
    "-dx", "-fdump-tree-all", "-fdump-tree-all=x", "-fdump-ipa-all=x", "-fdump-rtl-all",
    "-fdump-noaddr", "-fdump-final-insns=x", "-fcallgraph-info", "-fstack-usage", "-fmem-report",
    "-ftime-report", "-ftime-trace", "-ftime-trace=x", "-time", "-time=x", "-fopt-info",
    "-fopt-info-all=x", "-fsave-optimization-record", "-foptimization-record-file=x",
    "-fprofile-generate", "-fprofile-dir=x", "-fprofile-use=x", "-fauto-profile=x",
    "-ftest-coverage", "--coverage", "-fcoverage-mapping", "-gsplit-dwarf", "-gembed-source",
    "-gz=zlib-gnu,x/", "-fdiagnostics-format=sarif-file", "-fdiagnostics-generate-patch",
    "-fcrash-diagnostics-dir=x", "-fdiagnostics-add-output=sarif:file=x", "-fworking-directory",
    "-fada-spec-parent=x", "-fgen-module-list=x", "-serialize-diagnostics", "-print-file-name=x",
    "-ivfsoverlay", "-fmacro-prefix-map=a=/b", "-frepo", "-frandom-seed=x",
    /* words that are no options, or would take the next word */
    "", "-", "--", "x.cpp", "@x", "-D", "-U", "-I", "-L", "-l", "-include", "-imacros", "-isystem",
    "-x", "-xc", "-W", "-f", "-m", "-O/x", "-std=/x", "-march=/x", "-Wfoo=/x", "-fveclib=/x",
    "-l/x", "-l:x", "-m/x", "--param", "-imultilib", "-iprefix", "-aux-info", "-pipe", "-v", "-###",
    "--version", "-dumpmachine"};

static const char *const good_for_cpu[] = {"-DN=4",
                                           "-DPATH=\"/x\"",
                                           "-UN",
                                           "-I/usr/include",
                                           "-I.",
                                           "-iquotex",
                                           "-isystem/x",
                                           "-includex.h",
                                           "--include=x.h",
                                           "-imacrosx.h",
                                           "-std=c++20",
                                           "-O2",
                                           "-O",
                                           "-Ofast",
                                           "-g",
                                           "-w",
                                           "-Wall",
                                           "-Wno-unused",
                                           "-Werror=return-type",
                                           "-march=native",
                                           "-march=x86-64-v3",
                                           "-mtune=znver3",
                                           "-mfma",
                                           "-mno-avx512f",
                                           "-msse4.2",
                                           "-mprefer-vector-width=512",
                                           "-ffast-math",
                                           "-fno-fast-math",
                                           "-fno-math-errno",
                                           "-ffp-contract=off",
                                           "-funroll-loops",
                                           "-fno-tree-vectorize",
                                           "-fwrapv",
                                           "-fopenmp",
                                           "-lm",
                                           "-lstdc++",
                                           "-L/usr/lib",
                                           "-pthread",
                                           "-fconstexpr-depth=9",
                                           "--param=max-unroll-times=4",
                                           "-ftemplate-depth=2000",
                                           "-fsanitize=undefined",
                                           "-fexceptions",
                                           "-stdlib=libc++"};

static const char *const bad_for_cuda[] = {"-arch=sm_80",
                                           "--gpu-architecture=compute_90",
                                           "--gpu-code=x",
                                           "-dlto",
                                           "--dlto",
                                           "--gen-opt-lto",
                                           "-dc=x",
                                           "--relocatable-device-code=x",
                                           "--time=x",
                                           "-time=x",
                                           "--fdevice-time-trace=x",
                                           "--create-pch=x",
                                           "--use-pch=x",
                                           "--pch",
                                           "--pch-dir=x",
                                           "--optix-ir",
                                           "--ptxas-options=-o/tmp/x",
                                           "--ptxas-options=--output-file=x",
                                           "--ptxas-options=-o x",
                                           "-Xptxas",
                                           "-Xnvvm",
                                           "--ltoir",
                                           "-tlto",
                                           "",
                                           "-",
                                           "--",
                                           "x",
                                           "-D",
                                           "-I",
                                           "-include",
                                           "-o",
                                           "-ox",
                                           "-MD",
                                           "-MF=x",
                                           "--dependency-output=x",
                                           "-keep",
                                           "--keep-dir=x",
                                           "-save-temps",
                                           "--std=/x",
                                           "--maxrregcount=",
                                           "--unknown",
                                           "-ewp"};

static const char *const good_for_cuda[] = {"-DN=4",
                                            "--define-macro=N=4",
                                            "-UN",
                                            "-I/usr/include",
                                            "--include-path=/x",
                                            "-include=x.h",
                                            "--pre-include=x.h",
                                            "-std=c++17",
                                            "--std=c++20",
                                            "-use_fast_math",
                                            "--use_fast_math",
                                            "-fmad=false",
                                            "--maxrregcount=64",
                                            "-lineinfo",
                                            "--generate-line-info",
                                            "-G",
                                            "--device-debug",
                                            "-w",
                                            "--diag-suppress=177",
                                            "--restrict",
                                            "--prec-div=true",
                                            "--ftz=true",
                                            "--split-compile=0",
                                            "--ptxas-options=-O3",
                                            "--ptxas-options=-v",
                                            "--device-int128",
                                            "-rdc=true",
                                            "--relocatable-device-code=true",
                                            "-dc",
                                            "--device-c",
                                            "-default-device"};

#define ALL(backend, list, expected)                                                               \
    for (size_t k = 0; k < KILN_COUNT_OF(list); k++)                                               \
        if (kiln__option_allowed(backend, list[k]) != (expected))                                  \
    fail_msg("%s is%s allowed", list[k], (expected) ? " not" : "")

static void test_attack_options__only_listed_options_are_allowed(void **state)
{
    (void)state;
    ALL(KILN_BACKEND_CPU, bad_for_cpu, false);
    ALL(KILN_BACKEND_CPU, good_for_cpu, true);
    ALL(KILN_BACKEND_CUDA, bad_for_cuda, false);
    ALL(KILN_BACKEND_CUDA, good_for_cuda, true);
}

static kiln_status compile(const char *const *options, size_t count, kiln_error *err)
{
    kiln__compile_request request = {.target = {KILN_BACKEND_CPU, ""},
                                     .source = "int v;\n",
                                     .options = options,
                                     .option_count = count};
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_status status = KILN_OK;

    snprintf(request.target.name, sizeof request.target.name, "%s", kiln__cpu_target());
    status = kiln__compile(&request, &result, err);
    kiln__compile_result_clear(&result);
    return status;
}

/* In a folder with programs named as a compiler's parts, each of which leaves a mark. */
static void test_attack_options__no_program_starts_and_no_file_appears(void **state)
{
    static const char *const programs[] = {"as", "ld", "cc1plus", "collect2", "x", "x.so"};
    char base[] = "/tmp/kiln-test-options-XXXXXX", text[256], here[4096];

    (void)state;
    assert_non_null(mkdtemp(base));
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(base), 0);
    for (size_t k = 0; k < KILN_COUNT_OF(programs); k++) {
        FILE *file = fopen(programs[k], "w");
        assert_non_null(file);
        fprintf(file, "#!/bin/sh\ntouch %s/ran\nexit 1\n", base);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(programs[k], 0700), 0);
    }
    for (size_t k = 0; k < KILN_COUNT_OF(bad_for_cpu); k++) {
        kiln_error err = KILN_ERROR_INIT;
        const char *const options[] = {"-DN=4", bad_for_cpu[k]};
        if (kiln__option_allowed(KILN_BACKEND_CUDA, bad_for_cpu[k]))
            continue; /* NVRTC's own, and nothing to a C++ compiler */
        if (compile(options, 2, &err) != KILN_ERR_ARGUMENT)
            fail_msg("%s: %s", bad_for_cpu[k], err.message);
        assert_non_null(strstr(err.message, bad_for_cpu[k]));
        kiln_error_clear(&err);
    }
    for (size_t k = 0; k < KILN_COUNT_OF(good_for_cuda); k++) {
        kiln_error err = KILN_ERROR_INIT;
        if (strstr(good_for_cuda[k], "nclude") != NULL) /* of files that are not there */
            continue;
        if (compile(&good_for_cuda[k], 1, &err) != KILN_OK)
            fail_msg("%s: %s", good_for_cuda[k], err.message);
        kiln_error_clear(&err);
    }
    snprintf(text, sizeof text, "test $(ls -A %s | wc -l) = %zu", base, KILN_COUNT_OF(programs));
    assert_int_equal(system(text), 0);
    assert_int_equal(chdir(here), 0);
    snprintf(text, sizeof text, "rm -rf %s", base);
    assert_int_equal(system(text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attack_options__only_listed_options_are_allowed),
        cmocka_unit_test(test_attack_options__no_program_starts_and_no_file_appears),
    };

    return cmocka_run_group_tests_name("attack_options", tests, NULL, NULL);
}
