//# Compute the outputs of access kiln__j, whose inputs are there, and store them.
//% for p in row_stores
//% insert row/along.cu
            ${p.type} kiln__out_${p.name}[kiln__V];
//% end
//% for p in row_loads_first
            kiln__load(kiln__out_${p.name}, kiln__row_${p.name} + kiln__along_${p.name});
//% end
            #pragma unroll
            for (int kiln__v = 0; kiln__v < kiln__V; kiln__v++)
                kiln__op(0
//% insert row/element.cu
//% for p in row_stores
                    , kiln__out_${p.name}[kiln__v]
//% end
                );
            if (kiln__live) {
//% for p in row_stores
                kiln__store(kiln__row_${p.name} + kiln__along_${p.name}, kiln__out_${p.name});
//% end
            }
