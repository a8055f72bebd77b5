//# rows_split.cu - sequences are so long and few that many blocks share each of them; a block takes
//# tiles.
//#
//# block: one tile of block * unroll accesses after the other, each laid out as in rows.cu
//# grid:  as many blocks as are resident at once, and one more. The block that starts first is the
//#        carrier (part `carrier`); tiles are handed out to the others in the order in which they
//#        ask
//# order: a run of `vec`; runs of a warp by shuffles; warps of a block; tiles as described at
//#        `carrier`
//#
//# Memory is read once and written once, as in D. Merrill, M. Garland, "Single-pass Parallel Prefix
//# Scan with Decoupled Look-back", NVIDIA NVR-2016-002, but without the look-back: a tile's sum
//# goes to the carrier, and the sum of everything before the tile comes back from it. These two
//# trips through the L2 cache take as long as loading a tile does, so a block publishes a tile's
//# sum one tile before it needs the answer:
//#
//#     tile n - 1:   sum, publish | aside |     wait, write |
//#     tile n:                      load .... | sum, publish .. | aside | ..... wait, write |
//#     tile n + 1:                                              | load ..... sum, publish |
//#
//# Of a tile that was put aside, the inputs lie in shared memory, where every thread reads only
//# what it wrote itself, with the sums of the tile's warps. The tile is scanned again when it is
//# written, because the registers belong to the next tile.
//#
//# A block waits only for the sums of tiles with smaller numbers. Blocks that are running have
//# taken those tiles, and have published their sums before they waited for anything behind them. So
//# the smallest missing sum is always on its way, whichever blocks are running.
//#
//# Every word is zero again when the kernel ends: whoever reads a word clears it, and the last
//# ticket clears the ticket counter.
//% own F G N U V W a all all_bytes all_of args aside_ ask await base based before begin bits
//% own blocks bytes carries carry clear coming d done fetch find first from_lane from_left g
//% own group group_count groups groups_bytes groups_of has has_all held in_ inside k keep_ticket
//% own known lane lead left look many message mine missing more n next next_all now of_thread
//% own part part_bits part_of part_words publish r reduce reg_ rest rows run sequence slot
//% own slot_before start store sum sums super take taken there ticket tickets tile tile_sum tiles
//% own to total u warp warps written
//% insert scan/common.cu:shuffle
//% insert scan/common.cu:publish
//# The number of blocks that must be resident is chosen here, because only the compiler knows how
//# large a user's type is: small types leave room for more blocks.
static constexpr int blocks = ${segments} > 1 ? ${segments} : sizeof(part) <= 8 ? 3 : 1;
extern "C" __global__ void __launch_bounds__(${block}, blocks)
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${block}, U = ${unroll}, V = ${vec}, W = 32;
    constexpr bool mine = true;
//% insert scan/kernel.cpp:environment
//% insert scan/common.cu:locate
//% insert scan/rows.cu:place
//% insert scan/rows.cu:load
    // Three turns of each: the one at hand, the one put aside, and one that slow warps still read.
    __shared__ int tickets[3];
    __shared__ alignas(16) unsigned char bytes[3][(G / 32) * sizeof(part)];
//% for p in inputs
    __shared__ alignas(16) unsigned char aside_${p.name}[U][G][sizeof reg_${p.name}[0]];
//% end
    const ${index} tiles = (${index})a.splits, total = tiles * (${index})a.outputs;
    // What tiles tell, and what they are told, by ticket.
    unsigned long long *const sums = (unsigned long long *)(a.tickets + 4);
    unsigned long long *const carries = sums + total * part_words;
    auto keep_ticket = [&](const int slot, const int n) {
        tickets[slot] = n - 1;
        if (n == total + (int)gridDim.x - 1)
            *a.tickets = 0;
    };
    if (threadIdx.x == 0) {
        tickets[0] = tickets[1] = -1;
        keep_ticket(2, ask(a.tickets));
    }
    __syncthreads();
    ${index} taken = tickets[2], held = -1;
    if (taken < 0) {
//% insert :carrier
        return;
    }
    if (taken >= total)
        return;

    int slot = 0, slot_before = 2;
    for (;;) {
        const bool more = taken < total;
        if (more) {
            const ${index} sequence = a.by_splits.quotient(taken);
            const ${index} begin = (taken - sequence * tiles) * (G * U);
            const ${index} start = of_thread(begin);
            fetch(find(sequence), begin);
//% insert :tell
        }
        if (held >= 0) {
            const ${index} sequence = a.by_splits.quotient(held);
            const ${index} tile = held - sequence * tiles;
            const ${index} begin = tile * (G * U), start = of_thread(begin);
            const rows r = find(sequence);
//% insert :hear
//% insert scan/rows.cu:write
        }
        if (!more)
            break;
        #pragma unroll
        for (int u = 0; u < U; u++) {
//% for p in inputs
            store(aside_${p.name}[u][threadIdx.x], reg_${p.name}[u]);
//% end
        }
        held = taken;
        taken = tickets[slot];
        slot_before = slot;
        slot = slot == 2 ? 0 : slot + 1;
    }
//% insert :finish
}

//% part finish
    // Answers that no later turn clears.
    __syncthreads();
    if (threadIdx.x == 0) {
        clear(carries + held * part_words);
        if (tickets[slot] >= 0)
            clear(carries + tickets[slot] * part_words);
    }

//% part carrier
//# The carrier: the block that starts first has no tiles; it gives every tile the sum of all
//# elements before it. The order of combination depends on the numbers of the tiles only, in
//# whatever order their sums arrive:
//#
//#     before = (all tiles of the ${fan} * ${fan} blocks before . groups before) . tiles before
//#
//# where ${fan} tiles are a group. Warps take groups in turn. A lane has the sum of one tile; the
//# running sums of those tiles that have arrived without a gap are computed by shuffles. The sum of
//# everything before a group comes as a message from the warp that has the group before it, and a
//# warp sends its own message on before it answers its tiles: this chain alone limits the number of
//# tiles per second.
        constexpr int F = ${fan}, N = G / 32;
        __shared__ alignas(16) unsigned char all_bytes[N * sizeof(part)], groups_bytes[N * sizeof(part)];
        __shared__ volatile int message[N]; // the group a message is for, from 1 on; 0: none
        part *const all_of = (part *)all_bytes, *const groups_of = (part *)groups_bytes;
        if (threadIdx.x < N)
            message[threadIdx.x] = 0;
        __syncthreads();
        const ${index} groups = (tiles + F - 1) / F, group_count = groups * (${index})a.outputs;
        for (${index} n = warp; n < group_count; n += N) {
            const ${index} sequence = n / groups, group = n - sequence * groups;
            const ${index} first = group * F, rest = tiles - first;
            const int many = rest < F ? (int)rest : F, g = group % F;
            const bool inside = lane < many, super = group >= F;
            const ${index} ticket = sequence * tiles + first + lane;
            part all, before, run;
            part_bits bits;
            bool there = !inside, known = group == 0;
            // Running sums of the tiles of which all before are there: kiln__lead of the group.
            int lead = 0, done = 0;
            do {
//% insert :arrivals
//% insert :hear_message
                if (!known || lead == done)
                    continue;
//% insert :send_message
//% insert :answers
                done = lead;
            } while (done < many);
        }

//% part arrivals
//# Running sums of the tiles that have arrived without a gap.
                if (!there) {
                    there = look(sums + ticket * part_words, bits, 1);
                    if (there)
                        clear(sums + ticket * part_words);
                }
                __syncwarp();
                const unsigned int missing = ~__ballot_sync(0xffffffffu, there);
                const int now = missing == 0 ? many : __ffs(missing) - 1;
                if (now > lead && (known || now == many)) {
                    lead = now;
                    if (lane < lead)
                        run = part_of(bits);
                    #pragma unroll
                    for (int d = 1; d < 32; d *= 2) {
                        const part left = from_left<32>(run, d);
                        if (lane >= d && lane < lead)
                            run = reduce(left, run);
                    }
                }

//% part hear_message
//# The sum of everything before the group, from the warp that has the group before it.
                if (!known && __shfl_sync(0xffffffffu, message[warp], 0) == n + 1) {
                    __threadfence_block();
                    __syncwarp(); // a shuffle alone shows the other lanes nothing of what lane 0 has seen
                    all = all_of[warp];
                    before = groups_of[warp];
                    known = true;
                    __syncwarp();
                    if (lane == 0)
                        message[warp] = 0;
                }

//% part send_message
//# This warp's own message, once all tiles of its group have arrived.
                if (lead == many && group + 1 < groups) {
                    const part sum = from_lane<32>(run, 31);
                    const int to = (warp + 1) % N;
                    if (lane == 0) {
                        part next = before, next_all = all;
                        bool has = g > 0, has_all = super;
                        take(has, next, sum);
                        if (g == F - 1)
                            take(has_all, next_all, next);
                        while (message[to] != 0) {
                        }
                        all_of[to] = next_all;
                        groups_of[to] = next;
                        __threadfence_block();
                        message[to] = n + 1 + 1;
                    }
                    __syncwarp();
                }

//% part answers
//# Every tile whose sum before is known is told it.
                const part left = from_left<32>(run, 1);
                if (lane >= done && lane < lead) {
                    part carry = all;
                    bool has = super;
                    if (g > 0)
                        take(has, carry, before);
                    if (lane > 0)
                        take(has, carry, left);
                    if (has)
                        publish(carries + ticket * part_words, carry, 1);
                }

//% part total
//# Phase 2 where the tile is put aside: `sum` of the warp's part, in its last lane.
        part sum;
        #pragma unroll
        for (int u = 0; u < U; u++) {
//% for p in inputs
            const ${p.type} (&in_${p.name})[${p.lanes}] = reg_${p.name}[u];
//% end
//% insert scan/rows.cu:run
            sum = u > 0 ? reduce(sum, run) : run;
        }

//% part tell
//# Phase 3a: publish the sum of the current tile, and ask for the next ticket.
            part *const warps = (part *)bytes[slot];
            int coming;
            if (threadIdx.x == 0)
                coming = ask(a.tickets);
//% insert :total
            if (lane == 31)
                warps[warp] = sum;
            int written; // the tile of two turns ago, which the turn before has written
            if (threadIdx.x == 0) {
                written = tickets[slot];
                keep_ticket(slot, coming);
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                part tile_sum = warps[0];
                #pragma unroll
                for (int k = 1; k < G / 32; k++)
                    tile_sum = reduce(tile_sum, warps[k]);
                publish(sums + taken * part_words, tile_sum, 1);
                if (written >= 0)
                    clear(carries + written * part_words);
            }

//% part hear
//# Phase 3b: `base`, the sum of everything before the warp's part of the tile that was put aside
//# (if `based`).
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
