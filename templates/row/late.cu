//# Inputs of the batch's accesses, kiln__b and those that follow, that no register holds: all are
//# loaded before the first is used.
//% if late
//% for p in row_late
        ${p.type} kiln__late_${p.name}[${late_batch}][kiln__V];
//% end
        #pragma unroll
        for (int kiln__u = kiln__b; kiln__u < kiln__b + ${late_batch}; kiln__u++) {
            const ${index} kiln__j = kiln__from + kiln__u * kiln__step;
            if (kiln__u < kiln__F || (kiln__u < kiln__U && kiln__j < kiln__length)) {
//% insert row/locate.cu
//% for p in row_late
//% insert row/along.cu
                kiln__load(kiln__late_${p.name}[kiln__u - kiln__b], kiln__row_${p.name} + kiln__along_${p.name});
//% end
            }
        }
//% end
