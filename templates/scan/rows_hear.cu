//# Phase 3b: kiln__base, what stands before the warp's part of the tile that was put aside (if
//# kiln__based).
            const kiln__part *const kiln__warps = (const kiln__part *)kiln__bytes[kiln__slot_before];
            kiln__part kiln__base = kiln__warps[0], kiln__sum;
            bool kiln__based = kiln__warp > 0;
            for (int kiln__k = 1; kiln__k < kiln__warp; kiln__k++)
                kiln__base = kiln__reduce(kiln__base, kiln__warps[kiln__k]);
            if (kiln__tile > 0) {
                const kiln__part kiln__carry = kiln__await(kiln__carries + kiln__held * kiln__part_words, 1);
                kiln__base = kiln__based ? kiln__reduce(kiln__carry, kiln__base) : kiln__carry;
                kiln__based = true;
            }
