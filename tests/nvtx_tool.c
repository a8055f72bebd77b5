/*
 * nvtx_tool.c - a tool that listens to NVTX, for test_observer_files: it writes "+name" for a range that
 * begins and "-" for one that ends to the file that $KILN_TEST_RANGES names.
 */
#include <stdio.h>
#include <stdlib.h>

#include <nvtx3/nvToolsExt.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

static FILE *file;

static int NVTX_API push(const char *message)
{
    return fprintf(file, "+%s\n", message) < 0 || fflush(file) != 0;
}

static int NVTX_API pop(void)
{
    return fprintf(file, "-\n") < 0 || fflush(file) != 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *const callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    file = fopen(getenv("KILN_TEST_RANGES"), "w");
    if (file == NULL || callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) ||
        size <= NVTX_CBID_CORE_RangePop)
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
