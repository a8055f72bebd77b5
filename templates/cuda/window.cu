//# window.cu - layout "window": several inputs are views of one array, shifted by rows and elements,
//# as a stencil's are. A warp reads what any of them sees of its tile once, into registers.
//#
//# grid:   one block per tile of `tile` rows and block * unroll columns, and per index of the axes
//#         further out; no shared memory
//# block:  warps side by side, each with `tile` rows and `unroll` strips of 32 columns
//# owner:  lane t owns column t of each strip, in every row of the tile
//# window: the rows and columns of one array that its views see of the tile. All of them are
//#         loaded before the first is used: waiting once costs less than waiting for every row
//# shift:  a view's element is its window's, `along` lanes further: lanes exchange them
//# edges:  where an element of a window may belong to no view, every view is loaded for itself
//% own a args column columns columns_deep columns_whole rows_deep rows_whole
//% insert reduce/shuffle.cu
//% insert cuda/window_shift.cu
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
//% insert environment.cpp
//% insert cuda/window_locate.cu
    if ((rows_deep && columns_whole) || (rows_whole && columns_deep)) {
//% insert cuda/window_tile.cu
    } else if (column < columns) {
//% insert cuda/window_edge.cu
    }
//% if after_loop
${after_loop}
//% end
}
