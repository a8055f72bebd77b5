//# The arguments that element kiln__v of access kiln__u is for a stage's function.
//% for p in row_sees
//% if p.held
                        , kiln__reg_${p.name}[kiln__u][kiln__v]
//% else
                        , kiln__late_${p.name}[kiln__u - kiln__b][kiln__v]
//% end
//% end
//% if held
//% for v in values
                        , kiln__val_${v.name}[kiln__u][kiln__v]
//% end
//% end
