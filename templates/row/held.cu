//# held.cu - a row's elements stay in registers: they are read once, whatever the stages do with them.
//#
//# group:   `group` threads of a block share a row (times the blocks of a cluster); thread t owns the
//#          accesses t, t + step, ...: all are issued before the first is used
//# grid:    rows / rows a block, times the blocks of a cluster
//# columns: inputs that are the same for every row are loaded where they are used
extern "C" __global__ void
//% if clustered
__cluster_dims__(${cluster}, 1, 1)
//% end
__launch_bounds__(${block}, ${resident})
${entry}(const __grid_constant__ kiln__args kiln__a)
{
//% insert row/environment.cpp
//% insert row/place.cu
    const ${index} kiln__from = kiln__first;
//% for p in row_holds
    ${p.type} kiln__reg_${p.name}[kiln__U][kiln__V];
//% end
//% for v in values
    ${v.type} kiln__val_${v.name}[kiln__U][kiln__V];
//% end
    #pragma unroll
    for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
        const ${index} kiln__j = kiln__from + kiln__u * kiln__step;
        if (kiln__u < kiln__F || kiln__j < kiln__length) {
//% insert row/locate.cu
//% for p in row_holds
//% insert row/along.cu
            kiln__load(kiln__reg_${p.name}[kiln__u], kiln__row_${p.name} + kiln__along_${p.name});
//% end
        }
    }

//% for s in stages
//% insert row/stage.cpp
//% insert row/empty.cu
//% insert row/fold.cu
//% insert row/result.cu

//% end
//% insert row/op.cpp
//% if row_elements
    if (kiln__live) {
//% insert row/store.cu
    }
//% end
//% if row_outputs
    if (kiln__live && kiln__first == 0) {
//% insert row/results.cpp
    }
//% end
}
