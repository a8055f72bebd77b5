//# What stands before this tile, from the sums that other blocks tell: a single pass over memory, as
//# in D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA
//# NVR-2016-002, but in an order of combination that is the same whatever block comes first:
//#
//#     before = (all tiles of the ${fan} * ${fan} blocks before . groups before) . tiles before
//#
//# where ${fan} tiles are a group. The last tile of a group tells the group's sum; the last one of
//# ${fan} groups tells the sum of all, which is a chain so much shorter than the number of tiles.
//# One warp reads up to ${fan} sums at once.
        __shared__ alignas(16) unsigned char kiln__carry_bytes[sizeof(kiln__part)];
        if (threadIdx.x < 32) {
            constexpr int kiln__F = ${fan};
            const long long kiln__tiles = kiln__a.splits, kiln__groups = (kiln__tiles + kiln__F - 1) / kiln__F;
            const long long kiln__supers = (kiln__groups + kiln__F - 1) / kiln__F + 1;
            unsigned long long *const kiln__of_tiles = (unsigned long long *)(kiln__a.tickets + 4)
                + kiln__sequence * (kiln__tiles + kiln__groups + kiln__supers) * kiln__part_words;
            unsigned long long *const kiln__of_groups = kiln__of_tiles + kiln__tiles * kiln__part_words;
            unsigned long long *const kiln__of_all = kiln__of_groups + kiln__groups * kiln__part_words;
            const ${index} kiln__group = kiln__tile / kiln__F, kiln__super = kiln__group / kiln__F;
            const int kiln__t = kiln__tile % kiln__F, kiln__g = kiln__group % kiln__F;
            const unsigned long long *const kiln__tile_at = kiln__of_tiles + (kiln__tile - kiln__t + kiln__lane) * kiln__part_words;
            const unsigned long long *const kiln__group_at = kiln__of_groups + (kiln__group - kiln__g + kiln__lane) * kiln__part_words;
            const unsigned long long *const kiln__all_at = kiln__of_all + kiln__super * kiln__part_words;
            if (kiln__t < kiln__F - 1 && kiln__lane == 0)
                kiln__publish(kiln__of_tiles + kiln__tile * kiln__part_words, kiln__tile_sum, 1);
            // Look at everything at once; mostly it is there, and one trip to memory is enough.
            kiln__part_bits kiln__tile_bits, kiln__group_bits, kiln__all_bits;
            bool kiln__tile_there = kiln__lane >= kiln__t || kiln__look(kiln__tile_at, kiln__tile_bits, 1);
            bool kiln__group_there = kiln__lane >= kiln__g || kiln__look(kiln__group_at, kiln__group_bits, 1);
            bool kiln__all_there = kiln__super == 0 || kiln__look(kiln__all_at, kiln__all_bits, 1);
            // The sum of what kiln__many lanes hold, in their order.
            auto kiln__gather = [&](const kiln__part_bits &kiln__b, const int kiln__many) -> kiln__part {
                kiln__part kiln__p = kiln__part_of(kiln__b);
                #pragma unroll
                for (int kiln__d = 1; kiln__d < kiln__F; kiln__d *= 2) {
                    const kiln__part kiln__left = kiln__from_left<32>(kiln__p, kiln__d);
                    if (kiln__lane >= kiln__d && kiln__lane < kiln__many)
                        kiln__p = kiln__reduce(kiln__left, kiln__p);
                }
                return kiln__from_lane<32>(kiln__p, kiln__many - 1);
            };
            kiln__part kiln__tiles_before, kiln__groups_before, kiln__group_sum = kiln__tile_sum;
            if (kiln__t > 0) {
                while (!kiln__tile_there)
                    kiln__tile_there = kiln__look(kiln__tile_at, kiln__tile_bits, 1);
                __syncwarp();
                kiln__tiles_before = kiln__gather(kiln__tile_bits, kiln__t);
                kiln__group_sum = kiln__reduce(kiln__tiles_before, kiln__tile_sum);
            }
            if (kiln__t == kiln__F - 1 && kiln__g < kiln__F - 1 && kiln__lane == 0)
                kiln__publish(kiln__of_groups + kiln__group * kiln__part_words, kiln__group_sum, 1);
            if (kiln__g > 0) {
                while (!kiln__group_there)
                    kiln__group_there = kiln__look(kiln__group_at, kiln__group_bits, 1);
                __syncwarp();
                kiln__groups_before = kiln__gather(kiln__group_bits, kiln__g);
            }
            if (kiln__super > 0) {
                while (!kiln__all_there)
                    kiln__all_there = kiln__look(kiln__all_at, kiln__all_bits, 1);
                kiln__carry = kiln__part_of(kiln__all_bits);
                kiln__carries = true;
            }
            if (kiln__t == kiln__F - 1 && kiln__g == kiln__F - 1) {
                kiln__part kiln__all = kiln__carry;
                bool kiln__has = kiln__carries;
                kiln__take(kiln__has, kiln__all, kiln__reduce(kiln__groups_before, kiln__group_sum));
                if (kiln__lane == 0)
                    kiln__publish(kiln__of_all + (kiln__super + 1) * kiln__part_words, kiln__all, 1);
            }
            if (kiln__g > 0)
                kiln__take(kiln__carries, kiln__carry, kiln__groups_before);
            if (kiln__t > 0)
                kiln__take(kiln__carries, kiln__carry, kiln__tiles_before);
            if (kiln__lane == 0)
                *(kiln__part *)kiln__carry_bytes = kiln__carry;
        }
        __syncthreads();
        kiln__carry = *(kiln__part *)kiln__carry_bytes;
        kiln__carries = kiln__tile > 0;
