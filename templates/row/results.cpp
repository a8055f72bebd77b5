//# Outputs of one row; whoever inserts this has made sure that one thread does it.
//% own out_ post row_
//% for p in row_results
        ${p.type} out_${p.name};
//% if p.read_first
        out_${p.name} = *(${p.type} *)row_${p.name};
//% end
//% end
        post(0
//% for p in row_results
            , out_${p.name}
//% end
        );
//% for p in row_results
        *(${p.type} *)row_${p.name} = out_${p.name};
//% end
