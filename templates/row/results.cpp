//# Outputs of one row; whoever inserts this has made sure that one thread does it.
//% for p in row_results
        ${p.type} kiln__out_${p.name};
//% if p.read_first
        kiln__out_${p.name} = *(${p.type} *)kiln__row_${p.name};
//% end
//% end
        kiln__post(0
//% for p in row_results
            , kiln__out_${p.name}
//% end
        );
//% for p in row_results
        *(${p.type} *)kiln__row_${p.name} = kiln__out_${p.name};
//% end
