//# Row number j of a tile: the mapped element of column k, and storing there.
//% own a at_ j k map out_ p part place post put rest_j row_ step_ tile_ to_ value
            long long rest_j = j;
//% for a in reduce_inward
            const long long at_${a.n} = rest_j % a.shape_${a.n};
            rest_j /= a.shape_${a.n};
//% end
            const long long at_${reduce_first} = rest_j;
//% for p in walking
            ${p.const}char *const row_${p.name} = tile_${p.name}
//% for a in reduce_axes
                + at_${a.n} * a.stride_${p.name}_${a.n}
//% end
                ;
//% insert cpu/step.cpp
//% end
            auto value = [&](const int k) -> part {
                return map(
//% if position
                    place(j)
//% else
                    0
//% end
//% for p in inputs
                    , *(const ${p.type} *)(row_${p.name} + k * step_${p.name})
//% end
                );
            };
            [[maybe_unused]] auto put = [&](const int k, const part &p) {
//% for p in outputs
                ${p.type} *const to_${p.name} = (${p.type} *)(row_${p.name} + k * step_${p.name});
                ${p.type} out_${p.name};
//% if p.read_first
                out_${p.name} = *to_${p.name};
//% end
//% end
                post(place(j), p
//% for p in outputs
                    , out_${p.name}
//% end
                );
//% for p in outputs
                *to_${p.name} = out_${p.name};
//% end
            };
