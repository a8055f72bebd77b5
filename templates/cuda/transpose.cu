//# transpose.cu - operands disagree on the fastest axis: those that run along axis B = rank - 2 go
//# through tiles in shared memory, the others run along axis A = rank - 1; both sides coalesce.
//#
//# grid:   one block per tile of tile x tile elements and per index of the outer axes
//# block:  `block` threads as (tile, tile_rows)
//# shared: tile * (tile + 1) elements for each tiled operand; the odd pitch keeps both directions
//#         free of bank conflicts
//# owner:  thread (tx, ty) owns the elements A = tx, B = ty + r * tile_rows; tiled operands are
//#         moved with the roles of A and B exchanged
//# edges:  whole tiles have all loads in flight before the first use; tiles cut by an edge go
//#         element by element with bounds
//% own a args bytes_ left_ tile_
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% for p in tiles
    __shared__ alignas(16) unsigned char bytes_${p.name}[${tile} * (${tile} + 1) * ${p.bytes}];
    auto tile_${p.name} = (${p.type}(*)[${tile} + 1])bytes_${p.name};
//% end
//% insert environment.cpp
//% insert cuda/transpose_locate.cu

    if (left_${tile_a} >= ${tile} && left_${tile_b} >= ${tile}) {
//% insert cuda/transpose_whole.cu
    } else {
//% insert cuda/transpose_edge.cu
    }
//% if after_loop
${after_loop}
//% end
}
