//# Phase 3b: base, what stands before the warp's part of the tile that was put aside (if
//# based).
//% own await base based bytes carries carry held k part part_words reduce slot_before sum tile
//% own warp warps
            const part *const warps = (const part *)bytes[slot_before];
            part base = warps[0], sum;
            bool based = warp > 0;
            for (int k = 1; k < warp; k++)
                base = reduce(base, warps[k]);
            if (tile > 0) {
                const part carry = await(carries + held * part_words, 1);
                base = based ? reduce(carry, base) : carry;
                based = true;
            }
