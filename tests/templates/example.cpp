//# Load every input, then call the snippet.
//% own a begin op reg_
//% for p in loaded
    ${p.type} reg_${p.name} = a.ptr_${p.name}[begin];
//% end
    op(begin
//% for p in loaded
        , reg_${p.name}
//% end
    );
