//# transpose_narrow.cu - a transpose one of whose two axes is short, as an image's channels are: a thread holds
//# all elements of that axis.
//#
//# short: axis ${short_axis}, of ${tile} elements. Operands that are contiguous along it are runs: what a
//#        thread needs of them lies together in memory
//# long:  axis ${long_axis}. Operands that are contiguous along it are lines: neighbouring threads take
//#        neighbours, for each element of the short axis
//# grid:  one block per ${block} * ${vec} elements of the long axis and per index of the outer axes
//# owner: a thread owns ${vec} neighbours on the long axis, which divide it; runs are moved by accesses of
//#        ${unroll} elements, lines by accesses of ${vec}
//# warps: where the short axis is not very short, the runs of one result pass through shared memory, so
//#        that a warp writes neighbouring memory at once
//% own C V W a args at_ at_0 base_ base_i c k lane load mine op part quot_ reg_ rest sent store v
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
    constexpr int C = ${tile}, V = ${vec}, W = ${unroll};
//% insert kernel.cpp:environment
    ${index} rest = (${index})blockIdx.x;
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    ${index} at_0 = rest;
    at_${long_axis} = (at_${long_axis} * ${block} + (${index})threadIdx.x) * V;
    if (at_${long_axis} < (${index})a.extent_${long_axis}) {
//% for p in walking
        ${p.const}char *const base_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
        // The element of ${p.name} that is number v on the long axis and number c on the short one.
        [[maybe_unused]] auto at_${p.name} = [&](int v, int c) -> ${p.const}${p.type} & {
            return *(${p.const}${p.type} *)(base_${p.name} + v * (${index})a.stride_${p.name}_${long_axis} + c * (${index})a.stride_${p.name}_${short_axis});
        };
//% end
//% if index_strides
        const long long base_i = 0
//% for a in axes
            + (long long)at_${a.n} * a.stride_i_${a.n}
//% end
            ;
//% end
//% for p in registers
        ${p.type} reg_${p.name}[V * C];
//% end
//% for p in loaded
//% insert :fetch
//% end
        #pragma unroll
        for (int v = 0; v < V; v++)
            #pragma unroll
            for (int c = 0; c < C; c++)
                op(
//% if index_strides
                    base_i + v * a.stride_i_${long_axis} + c * a.stride_i_${short_axis}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , at_${p.name}(v, c)
//% else
                    , reg_${p.name}[v * C + c]
//% end
//% end
                );
//% for p in stored
//% insert :send
//% end
    }
//% if after_loop
${after_loop}
//% end
}

//% part fetch
//# Operand p's elements for this thread: v * C + c is number v on the long axis and c on the short one.
//% if p.run
        #pragma unroll
        for (int k = 0; k < V * C; k += W) {
            ${p.type} part[W];
            load(part, base_${p.name} + k * (int)sizeof(${p.type}));
            memcpy(reg_${p.name} + k, part, sizeof part);
        }
//% else
        #pragma unroll
        for (int c = 0; c < C; c++) {
            ${p.type} part[V];
//% if p.line
            load(part, &at_${p.name}(0, c));
//% else
            #pragma unroll
            for (int v = 0; v < V; v++)
                part[v] = at_${p.name}(v, c);
//% end
            #pragma unroll
            for (int v = 0; v < V; v++)
                reg_${p.name}[v * C + c] = part[v];
        }
//% end

//% part send
//# The same of a result.
//% if p.run
//% if p.sent
        // Whether the runs of the warp's threads are there, and lie one behind the other.
        __shared__ alignas(16) unsigned char sent[${block} * V * C * sizeof(${p.type})];
        const int lane = threadIdx.x % 32;
        if (a.stride_${p.name}_${long_axis} == C * (int)sizeof(${p.type}) && at_${long_axis} + (31 - lane) * V < (${index})a.extent_${long_axis}) {
            ${p.type} *const mine = (${p.type} *)sent + (threadIdx.x - lane) * (V * C);
            #pragma unroll
            for (int k = 0; k < V * C; k += W) {
                ${p.type} part[W];
                memcpy(part, reg_${p.name} + k, sizeof part);
                store(mine + lane * (V * C) + k, part);
            }
            __syncwarp();
            #pragma unroll
            for (int k = lane * W; k < 32 * V * C; k += 32 * W) {
                ${p.type} part[W];
                load(part, mine + k);
                store(base_${p.name} + (k - lane * (V * C)) * (int)sizeof(${p.type}), part);
            }
        } else
//% end
        #pragma unroll
        for (int k = 0; k < V * C; k += W) {
            ${p.type} part[W];
            memcpy(part, reg_${p.name} + k, sizeof part);
            store(base_${p.name} + k * (int)sizeof(${p.type}), part);
        }
//% else
        #pragma unroll
        for (int c = 0; c < C; c++) {
            ${p.type} part[V];
            #pragma unroll
            for (int v = 0; v < V; v++)
                part[v] = reg_${p.name}[v * C + c];
//% if p.line
            store(&at_${p.name}(0, c), part);
//% else
            #pragma unroll
            for (int v = 0; v < V; v++)
                at_${p.name}(v, c) = part[v];
//% end
        }
//% end
