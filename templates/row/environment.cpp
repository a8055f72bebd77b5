//# What every text of a row program sees by name, whatever the row.
    const ptrdiff_t n = (ptrdiff_t)kiln__a.count;
    (void)n;
//% for p in scalars
    const ${p.type} ${p.name} = kiln__a.val_${p.name};
//% end
//% for p in raws
    auto &${p.name} = kiln__a.raw_${p.name};
//% end
//% for p in ones
    const ${p.type} ${p.name} = *kiln__a.ptr_${p.name};
//% end
