//# words.cu - layout "inner" where every output is an input, byte for byte, and rows begin at places that allow narrow
//# accesses only.
//#
//# grid:  ceil(count / block) blocks of `block` threads; no shared memory
//# owner: a row has as many words of 16 bytes as the lines of memory that it may lie in, wherever it begins, and lane 0 has
//#        the beginning of a line. Thread t of block b owns the aligned word b * block + t of every output, which it
//#        puts together from two words of the input
//# ends:  parts of an array are written by several blocks and kernels at a time, so that words across the ends of a row
//#        are copied by elements
//# alike: where an output is an input as well, all inputs of an element are loaded before its outputs are stored
//% own a args at_ at_0 bits bytes copied copy_ first k quot_ rest row_ value_
//% plain kiln__word type
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
    typedef kiln__word<${item}>::type bits;
    ${index} rest = (${index})blockIdx.x * ${block} + (${index})threadIdx.x;
    if (rest >= (${index})a.count)
        return;
//% for a in divided_axes
    const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
    const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
    rest = quot_${a.n};
//% end
    const ${index} at_0 = rest;
    const ${index} first = at_${last} * 16, bytes = (${index})a.extent_${last} * ${item};
//% for p in walking
    ${p.const}char *const row_${p.name} = (${p.const}char *)a.ptr_${p.name}
//% for a in axes_outer
        + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
        ;
//% end
    if (${meetings}) {
        #pragma unroll 1
        for (int k = 0; k < 16 && first + k < bytes; k += ${item}) {
//% for p in stored
            const bits value_${p.name} = *(const bits *)(row_${p.source} + first + k);
//% end
//% for p in stored
            *(bits *)(row_${p.name} + first + k) = value_${p.name};
//% end
        }
        return;
    }
//% for p in stored
    copied<bits, ${index}> copy_${p.name}(row_${p.name}, row_${p.source}, first, bytes);
//% end
//% for p in stored
    copy_${p.name}.store();
//% end
}
