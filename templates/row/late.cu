//# Inputs of the batch's accesses, b and those that follow, that no register holds: all are
//# loaded before the first is used.
//% own F U V along_ b from j late_ length load row_ step u
//% if late
//% for p in row_late
        ${p.type} late_${p.name}[${late_batch}][V];
//% end
        #pragma unroll
        for (int u = b; u < b + ${late_batch}; u++) {
            const ${index} j = from + u * step;
            if (u < F || (u < U && j < length)) {
//% insert row/locate.cu
//% for p in row_late
//% insert row/along.cu
                load(late_${p.name}[u - b], row_${p.name} + along_${p.name});
//% end
            }
        }
//% end
