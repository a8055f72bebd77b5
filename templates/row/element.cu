//# The arguments that element v of access u is for a stage's function.
//% own b late_ reg_ u v val_
//% for p in row_sees
//% if p.held
                        , reg_${p.name}[u][v]
//% else
                        , late_${p.name}[u - b][v]
//% end
//% end
//% if held
//% for v in values
                        , val_${v.name}[u][v]
//% end
//% end
