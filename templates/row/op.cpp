//# The last pass: outputs of one element, and of one row.
//% own op post
//% if row_elements
    auto op = [&](const int
//% for p in row_sees
        , const ${p.type} &${p.name}
//% end
//% if held
//% for v in values
        , ${v.type} &${v.name}
//% end
//% end
//% for p in row_stores
        , ${p.type} &${p.name}
//% end
    ) {
//% insert row/values.cpp
        do {
${op}
        } while (0);
    };
//% end
//% if row_outputs
    auto post = [&](const int
//% for p in row_results
        , ${p.type} &${p.name}
//% end
    ) {
        do {
${post}
        } while (0);
    };
//% end
