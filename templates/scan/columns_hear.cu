//# Phases 3b and 4: what stands above the tile that is held comes before what stands above the
//# thread's rows in it; over them again from there, and store.
//% own K U a acc along_ await begin c carries carry has held held_base here identity inside j
//% own length load out_ part part_words place place_of post reduce start step store take to_ told
//% own ty u value value_of
            part acc = held_base;
            bool has = ty > 0;
            if (step > 0) {
                const part carry = await(carries + (held * K + c) * part_words, 1);
                acc = has ? reduce(carry, acc) : carry;
                has = true;
            }
            const ${index} start = begin + ty * U;
            const bool inside = c < here.width;
            #pragma unroll
            for (int u = 0; u < U; u++) {
                const ${index} j = start + u;
                if (!inside || j >= length)
                    continue;
//% for p in outputs
                ${p.type} *const to_${p.name} = (${p.type} *)(here.row_${p.name} + c * (${index})a.stride_${p.name}_${keep_last} + along_${p.name}(j));
                ${p.type} out_${p.name}[1];
//% if p.read_first
                load(out_${p.name}, to_${p.name});
//% end
//% end
                const part value = value_of(here, place_of, begin, u);
//% if exclusive
                const part told = has ? acc : identity();
                take(has, acc, value);
//% else
                take(has, acc, value);
                const part &told = acc;
//% end
                post(place(j), told
//% for p in outputs
                    , out_${p.name}[0]
//% end
                );
//% for p in outputs
                store(to_${p.name}, out_${p.name});
//% end
            }
