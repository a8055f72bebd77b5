//# Inputs of access kiln__j that no register holds.
//% insert row/locate.cu
//% for p in row_late
//% insert row/along.cu
            ${p.type} kiln__late_${p.name}[kiln__V];
            kiln__load(kiln__late_${p.name}, kiln__row_${p.name} + kiln__along_${p.name});
//% end
