//# The snippet on element (A, B) = (tx, row) with registers number r.
//% own a at_ base_i op r reg_ row tx
            op(
//% if index_strides
                base_i + row * a.stride_i_${tile_b} + tx * a.stride_i_${tile_a}
//% else
                0
//% end
//% for p in walking
//% if p.direct
                , at_${p.name}(tx, row)
//% else
                , reg_${p.name}[r]
//% end
//% end
            );
