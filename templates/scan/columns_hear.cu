//# Phases 3b and 4: what stands above the tile that is held comes before what stands above the
//# thread's rows in it; over them again from there, and store.
            kiln__part kiln__acc = kiln__held_base;
            bool kiln__has = kiln__ty > 0;
            if (kiln__step > 0) {
                const kiln__part kiln__carry = kiln__await(kiln__carries + (kiln__held * kiln__K + kiln__c) * kiln__part_words, 1);
                kiln__acc = kiln__has ? kiln__reduce(kiln__carry, kiln__acc) : kiln__carry;
                kiln__has = true;
            }
            const ${index} kiln__start = kiln__begin + kiln__ty * kiln__U;
            const bool kiln__inside = kiln__c < kiln__here.width;
            #pragma unroll
            for (int kiln__u = 0; kiln__u < kiln__U; kiln__u++) {
                const ${index} kiln__j = kiln__start + kiln__u;
                if (!kiln__inside || kiln__j >= kiln__length)
                    continue;
//% for p in outputs
                ${p.type} *const kiln__to_${p.name} = (${p.type} *)(kiln__here.row_${p.name} + kiln__c * (${index})kiln__a.stride_${p.name}_${keep_last} + kiln__along_${p.name}(kiln__j));
                ${p.type} kiln__out_${p.name}[1];
//% if p.read_first
                kiln__load(kiln__out_${p.name}, kiln__to_${p.name});
//% end
//% end
                const kiln__part kiln__value = kiln__value_of(kiln__here, kiln__place_of, kiln__begin, kiln__u);
//% if exclusive
                const kiln__part kiln__told = kiln__has ? kiln__acc : kiln__identity();
                kiln__take(kiln__has, kiln__acc, kiln__value);
//% else
                kiln__take(kiln__has, kiln__acc, kiln__value);
                const kiln__part &kiln__told = kiln__acc;
//% end
                kiln__post(kiln__place(kiln__j), kiln__told
//% for p in outputs
                    , kiln__out_${p.name}[0]
//% end
                );
//% for p in outputs
                kiln__store(kiln__to_${p.name}, kiln__out_${p.name});
//% end
            }
