//# What every text of a row program sees by name, whatever the row.
//% own a
//% plain n
    const ptrdiff_t n = (ptrdiff_t)a.count;
    (void)n;
//% for p in scalars
    const ${p.type} ${p.name} = a.val_${p.name};
//% end
//% for p in raws
    auto &${p.name} = a.raw_${p.name};
//% end
//% for p in ones
    const ${p.type} ${p.name} = *a.ptr_${p.name};
//% end
