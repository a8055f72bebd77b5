//# columns_split.cu - sequences are so few that many blocks share each of them; a block takes
//# tiles.
//#
//# tile:  up to `group` columns, a power of two of at most 32, by block / group rows of threads
//#        with `unroll` neighbouring rows of memory each
//# block: one tile after the other; a lane sums one column, whichever elements it loaded
//# grid:  as many blocks as are resident at once, of which the carriers start first (part
//#        `carrier`). Tiles are handed out to the others in the order in which they ask, step by
//#        step down the rows, and from column to column within a step
//# order: the rows of a thread; threads of a warp by shuffles; warps; steps as described at
//#        `carrier`
//#
//# As in rows_split.cu a block publishes the sums of a tile one tile before it needs the sum of
//# everything above it; where results are contiguous (`flat_results`), the next tile is loaded before it waits:
//#
//#     tile n - 1:   loaded, sums published |     wait, write |
//#     tile n:                      load .. | sums published  |     wait, write |
//#     tile n + 1:                                      load .. | sums published
//#
//# Inputs lie in one of two buffers in shared memory, because threads load other elements than they
//# sum: a lane loads 16 neighbouring bytes, be they in one row of many columns or in several rows
//# of few. Inputs that are not contiguous along the columns are read where they are. Results of rows
//# that are short (`flat_results`) go to memory in the same way.
//#
//# A block waits only for sums above its tile, which have smaller tickets. Every word is zero again
//# when the kernel ends, as in rows_split.cu.
//% plain KILN__DYNAMIC_SHARED ifndef name uint4
//% own A L W a above above_mask acc across all all_of along_ answer args ask at_ at_0 await base base_
//% own all_run based before begin bits blocks dynamic buffer_bytes bytes c carriers carries carry clear col columns
//% own coming d done e end_ F fetch find first found from from_left G g groups groups_of has
//% own has_all height held held_base here i identity in_place j joined K k keep_ticket known
//% own lane lead left length load look many map message message_bytes more N n next next_all out_
//% own out_of over p pad part part_bits part_of part_words past_ piece_ pitch place place_of post
//% own publish Q q quot_ R r reduce reg_ rest result_ result_bytes row rows rows_left run sent shared
//% own slot spot stage_bytes start step steps store stride sum sums super take taken there ticket tile
//% own tiles to to_ told total total_run turn turns ty U u V v valid value value_of warp
//% own warps whole word written
//% insert scan/common.cu:shuffle
//% insert scan/common.cu:publish
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif
//# The number of blocks that must be resident is chosen here, because only the compiler knows how
//# large a user's type is: small types leave room for more blocks.
static constexpr int blocks = ${segments} > 1 ? ${segments} : ${block} > 512 || sizeof(part) > 8 ? 1 : 3;
extern "C" __global__ void __launch_bounds__(${block}, blocks)
${entry}(const __grid_constant__ args a)
{
    constexpr int G = ${block}, K = ${group}, U = ${unroll}, V = ${lanes};
    constexpr int R = 32 / K, N = G / 32, height = G / K * U;
    constexpr int W = K - K / 4 * ${tall}; // columns that a tile has room for
//% insert scan/kernel.cpp:environment
//% insert scan/common.cu:locate
//% insert :begin
    ${index} taken = ticket, held = -1, written = -1;
    if (taken < 0) {
//% insert :carrier
        return;
    }
    if (taken >= total)
        return;

//% insert :fetch
    // Of the tile that is held: what stands above the thread's rows in it, below its first rows.
    part held_base;
    int slot = 0;
//% if flat_results
    fetch(taken);
//% end
    for (;;) {
        const bool more = taken < total;
        ${index} next = total;
        part base;
//% if flat_results
        // All have read what the buffer held, and the results of the tile before.
        __syncthreads();
//% end
        if (more) {
            const ${index} step = a.by_splits.quotient(taken), begin = step * height;
            const columns here = find(taken - step * tiles);
            unsigned char *const place_of = shared + slot * stage_bytes;
//% if !flat_results
//% insert :registers
//% insert :load
//% end
//% insert :stage
//% insert :tell
//% if !flat_results
        } else {
            __syncthreads();
//% end
        }
        if (written >= 0 && threadIdx.x < K)
            clear(carries + (written * K + c) * part_words);
//% insert :held_tile
        written = held;
        if (!more)
            break;
        held = taken;
        held_base = base;
        taken = next;
        slot = 1 - slot;
    }
//% insert :clear_last
}

//% part begin
//# Where the tiles are, and what the threads of a block share.
//% insert :find
    __shared__ int ticket;
    // A row for each warp; columns of it are in different banks.
    constexpr int pad = K + 1;
    __shared__ alignas(16) unsigned char bytes[N * pad * sizeof(part)];
    part *const warps = (part *)bytes;
//% insert :tickets

//% part fetch
//# The next tile is loaded while a block waits.
//% if flat_results
//% insert :registers
    auto fetch = [&](const ${index} ticket) {
        const ${index} step = a.by_splits.quotient(ticket), begin = step * height;
        const columns here = find(ticket - step * tiles);
//% insert :load
    };
//% end

//% part clear_last
//# The answers that no later turn clears.
    // The answers that no later turn clears.
    __syncthreads();
    if (threadIdx.x < K)
        clear(carries + (written * K + c) * part_words);

//% part tickets
//# How many tiles, steps and carriers there are, where sums and answers lie, and the first ticket.
    const ${index} tiles = (${index})a.splits, length = (${index})a.length;
    const ${index} steps = (length + height - 1) / height, total = steps * tiles;
    const ${index} carriers = (tiles + (${index})a.chunk - 1) / (${index})a.chunk;
    // What tiles tell, and what they are told, by ticket and column.
    unsigned long long *const sums = (unsigned long long *)(a.tickets + 4);
    unsigned long long *const carries = sums + total * (K * part_words);
    auto keep_ticket = [&](const int n) {
        ticket = n - carriers;
        if (n == total + (int)gridDim.x - 1)
            *a.tickets = 0; // nobody asks any more
    };
    if (threadIdx.x == 0)
        keep_ticket(ask(a.tickets));
    __syncthreads();

//% part held_tile
//# The tile before the one just loaded hears what stands above it, and is written.
        if (held >= 0) {
            const ${index} step = a.by_splits.quotient(held), begin = step * height;
            const columns here = find(held - step * tiles);
//% if flat_results
            unsigned char *const place_of = shared + (1 - slot) * stage_bytes;
//% else
            const unsigned char *const place_of = shared + (1 - slot) * stage_bytes;
//% end
//% insert :hear
        }

//% part carrier
//# The carriers: the blocks that start first have no tiles; they give every tile the sum of all
//# elements above it. Each carrier serves a.chunk tiles of columns, and the steps of each of these
//# form a chain: 8, 4, 2 or all warps take the groups of a chain in turn. The order of combination
//# depends on the numbers of the steps only:
//#
//#     above = (all steps of the ${fan} * n groups before . groups above) . lanes above . steps above
//#
//# A group consists of the steps that the lanes of a warp look at together: a lane has one column
//# and some neighbouring steps, and adds up those that have arrived without a gap; the lanes of a
//# column are added up by shuffles. As in rows_split.cu, the sum of everything above a group comes
//# as a message from the warp that has the group above it, and a warp sends its own message on
//# before it answers its steps.
        constexpr int F = ${fan}, L = K < 8 ? K : 8, Q = part_words < L ? L / part_words : 1;
        part *const all_of = (part *)shared, *const groups_of = all_of + N * K;
        __shared__ volatile int message[N]; // the group a message is for, from 1 on; 0: none
        if (threadIdx.x < N)
            message[threadIdx.x] = 0;
        __syncthreads();
        const int turns = N / (int)a.chunk, turn = warp % turns;
        const int to = warp - turn + (turn + 1) % turns;
        const ${index} tile = (taken + carriers) * (${index})a.chunk + warp / turns;
        const ${index} groups = tile < tiles ? (steps + R * Q - 1) / (R * Q) : 0;
        // Words of a column: from step to step, and of lanes above this one in a group.
        const ${index} stride = tiles * (K * part_words);
        const unsigned int above_mask = r == 0 ? 0u : (1u << r * K % 32) - 1u;
        for (${index} n = turn; n < groups; n += turns) {
            const ${index} first = (n * R + r) * Q, rest = steps - first;
            const int many = rest <= 0 ? 0 : rest < Q ? (int)rest : Q, g = (int)(n % F);
            const ${index} word = first * stride + (tile * K + c) * part_words;
            const bool super = n >= F;
            part run[Q], above, all, before;
            // Of the lane's steps: how many have come without a gap, and how many have been told.
            int lead = 0, done = 0;
            bool known = n == 0, sent = n + 1 == groups;
            unsigned int joined = 0; // lanes whose steps had all come when lanes were added up
            do {
                part_bits bits[Q];
                bool there[Q];
//% insert :arrivals
//% insert :message
//% insert :answers
            } while (!__all_sync(0xffffffffu, done == many));
        }

//% part arrivals
//# The sums that have arrived: of the lane's own steps, then of the lanes above it.
                // All looks are on their way together: none hangs on a condition. One at a step behind
                // the last is at the last.
                if (lead < many) {
                    #pragma unroll
                    for (int q = 0; q < Q; q++)
                        there[q] = look(sums + word + (q < many ? q : many - 1) * stride, bits[q], 1);
                }
                #pragma unroll
                for (int q = 0; q < Q; q++) {
                    if (q == lead && q < many && there[q]) {
                        const part p = part_of(bits[q]);
                        run[q] = q > 0 ? reduce(run[q > 0 ? q - 1 : 0], p) : p;
                        clear(sums + word + q * stride);
                        lead++;
                    }
                }
                const unsigned int whole = __ballot_sync(0xffffffffu, lead == many);
                const bool over = (~whole & above_mask) == 0; // all above this lane's
                if (R > 1 && whole != joined) {
                    part total_run = run[Q - 1];
                    #pragma unroll
                    for (int d = 1; d < R; d *= 2) {
                        const part left = from_left<32>(total_run, d * K);
                        if (r >= d && over && lead == Q)
                            total_run = reduce(left, total_run);
                    }
                    above = from_left<32>(total_run, K % 32);
                    joined = whole;
                }

//% part message
//# The message from the warp with the group above, and this warp's own to the next one.
                if (!known && __shfl_sync(0xffffffffu, message[warp], 0) == n + 1) {
                    __threadfence_block();
                    __syncwarp(); // a shuffle alone shows the other lanes nothing of what lane 0 has seen
                    all = all_of[warp * K + c];
                    before = groups_of[warp * K + c];
                    known = true;
                    __syncwarp();
                    if (lane == 0)
                        message[warp] = 0;
                    __syncwarp();
                }
                if (known && !sent && whole == 0xffffffffu) {
                    part next = before, next_all = all;
                    bool has = g > 0, has_all = super;
                    take(has, next, r > 0 ? reduce(above, run[Q - 1]) : run[Q - 1]);
                    if (g == F - 1)
                        take(has_all, next_all, next);
                    while (__shfl_sync(0xffffffffu, message[to], 0) != 0) {
                    }
                    __syncwarp(); // as above, before what the next warp has read is overwritten
                    if (r == R - 1) {
                        all_of[to * K + c] = next_all;
                        groups_of[to * K + c] = next;
                    }
//% if flat_results
                    __syncwarp();
                    if (lane == 0) {
                        __threadfence_block(); // of what all lanes have written
                        message[to] = (int)n + 2;
                    }
//% else
                    __threadfence_block();
                    __syncwarp();
                    if (lane == 0)
                        message[to] = (int)n + 2;
//% end
                    sent = true;
                }

//% part answers
//# Every step whose sum above is known is told it.
                if (known && over && done < lead) {
                    part carry = all;
                    bool has = super;
                    if (g > 0)
                        take(has, carry, before);
                    if (r > 0)
                        take(has, carry, above);
                    #pragma unroll
                    for (int q = 0; q < Q; q++) {
                        if (q < done || q >= lead || (q == 0 && !has))
                            continue;
                        unsigned long long *const answer = carries + word + q * stride;
                        if (q == 0)
                            publish(answer, carry, 1);
                        else
                            publish(answer, has ? reduce(carry, run[q > 0 ? q - 1 : 0]) : run[q > 0 ? q - 1 : 0], 1);
                    }
                    done = lead;
                }

//% part find
//# Where tiles of columns and their elements are, and which elements of a tile belong to a thread.
//% plain kiln__width row_ width
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int c = threadIdx.x % K, r = lane / K, ty = threadIdx.x / K;
    // Bytes of every input's part of a tile: it begins at kiln__at_p. All of them: kiln__stage_bytes.
    enum : int {
//% for p in inputs
//% if p.vector
        at_${p.name}, end_${p.name} = at_${p.name} + height * W * (int)sizeof(${p.type}) - 1,
//% end
//% end
        stage_bytes
    };
//% if flat_results
    // Results of a tile lie behind each other as well: those of one output in the place of an input of
    // as many bytes, of which every element has been read by the thread that writes there.
    enum : int {
//% for p in outputs
        result_${p.name}, past_${p.name} = result_${p.name} + height * W * (int)sizeof(${p.type}) - 1,
//% end
        result_bytes
    };
    constexpr bool in_place = (0
//% for p in outputs
        + 1
//% end
        ) == 1 && (false
//% for p in inputs
//% if p.vector
        || (at_${p.name} == 0 && end_${p.name} + 1 == result_bytes)
//% end
//% end
        );
    constexpr int buffer_bytes = 2 * stage_bytes + (in_place ? 0 : result_bytes);
    // Two tiles, and results; a carrier has messages there.
    constexpr int message_bytes = 2 * N * K * (int)sizeof(part);
    KILN__DYNAMIC_SHARED(dynamic, buffer_bytes > message_bytes ? buffer_bytes : message_bytes);
    unsigned char *const shared = (unsigned char *)dynamic;
    auto out_of = [&](unsigned char *const held) { return in_place ? held : shared + 2 * stage_bytes; };
//% else
    // Two tiles; a carrier has messages there.
    constexpr int message_bytes = 2 * N * K * (int)sizeof(part);
    KILN__DYNAMIC_SHARED(dynamic, 2 * stage_bytes > message_bytes ? 2 * stage_bytes : message_bytes);
    unsigned char *const shared = (unsigned char *)dynamic;
//% end
    struct columns {
        int width; // columns that the tile has
//% for p in walking
        ${p.const}char *row_${p.name}; // row 0 of the first of them
//% end
    };
    // Columns tile number kiln__tile; its last coordinate counts tiles. A lane behind the last column
    // does as the last one does, and stores nothing.
    auto find = [&](const ${index} tile) -> columns {
        ${index} rest = tile;
//% for a in keep_divided
        const ${index} quot_${a.n} = a.walk_${a.n}.quotient(rest);
        const ${index} at_${a.n} = rest - quot_${a.n} * (${index})a.walk_${a.n}.divisor;
        rest = quot_${a.n};
//% end
        const ${index} at_0 = rest;
        const ${index} first = at_${keep_last} * K;
        const ${index} kiln__width = (${index})a.shape_${keep_last} - first;
        columns found;
        found.width = kiln__width < K ? (int)kiln__width : K;
//% for p in walking
        found.row_${p.name} = base_${p.name} + first * (${index})a.stride_${p.name}_${keep_last}
//% for a in keep_outer
            + at_${a.n} * (${index})a.stride_${p.name}_${a.n}
//% end
            ;
//% end
        return found;
    };
//% if flat_inputs
    const int pitch = (int)a.shape_${keep_last}; // elements from row to row in shared memory
//% else
    constexpr int pitch = K;
//% end
    // The mapped element of a row of a tile that begins with row kiln__begin; kiln__spot: where it is in shared
    // memory. Below the end the last row is repeated.
    auto value_of = [&](const columns &here, const unsigned char *const from, const ${index} begin, const int row, const int col, const int spot) -> part {
        const ${index} j = begin + row < (${index})a.length ? begin + row : (${index})a.length - 1;
        (void)j;
        return map(
//% if position
            place(begin + row)
//% else
            0
//% end
//% for p in inputs
//% if p.vector
            , *(const ${p.type} *)(from + at_${p.name} + spot * (int)sizeof(${p.type}))
//% else
            , *(const ${p.type} *)(here.row_${p.name} + col * (${index})a.stride_${p.name}_${keep_last} + along_${p.name}(j))
//% end
//% end
        );
    };

//% part registers
//# Phase 1 of a tile: copy its inputs to shared memory, row after row. All loads are issued before
//# the first is waited for, and before the last use of what the buffer still holds.
            constexpr int A = (height * W / V + G - 1) / G; // accesses of a thread
//% for p in inputs
//% if p.vector
            ${p.type} reg_${p.name}[A][V];
//% end
//% end

//% part load
//# Where results are contiguous (`flat_results`) this is the body of fetch(ticket), which runs a tile ahead.
//% if flat_inputs
            // The tile is one piece of memory, and kiln__valid elements of it are there.
            const ${index} rows_left = length - begin;
            const int valid = (rows_left < height ? (int)rows_left : height) * pitch;
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int e = (threadIdx.x + k * G) * V;
                if (e + V <= valid) {
//% for p in inputs
//% if p.vector
                    load(reg_${p.name}[k], (const ${p.type} *)(here.row_${p.name} + along_${p.name}(begin)) + e);
//% end
//% end
                } else if (e < height * pitch) {
                    #pragma unroll
                    for (int v = 0; v < V; v++) {
                        const int i = e + v;
                        const int there = i < valid ? i : valid - 1; // of what lies behind the end nothing is stored
//% for p in inputs
//% if p.vector
                        reg_${p.name}[k][v] = ((const ${p.type} *)(here.row_${p.name} + along_${p.name}(begin)))[there];
//% end
//% end
                    }
                }
            }
//% else
            constexpr int all = height * K, across = K / V;
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int n = threadIdx.x + k * G, row = n / across, e = n % across * V;
                const ${index} j = begin + row < length ? begin + row : length - 1;
                const int col = e < here.width ? e : here.width - V;
                if (n * V < all) {
//% for p in inputs
//% if p.vector
                    load(reg_${p.name}[k], (const ${p.type} *)(here.row_${p.name} + along_${p.name}(j)) + col);
//% end
//% end
                }
            }
//% end

//% part stage
//% if flat_inputs
            const int all = height * pitch;
//% end
//% if !flat_results
            __syncthreads();
//% end
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int e = (threadIdx.x + k * G) * V;
                if (e < all) {
//% for p in inputs
//% if p.vector
                    store((${p.type} *)(place_of + at_${p.name}) + e, reg_${p.name}[k]);
//% end
//% end
                }
            }

//% part tell
//# Phases 2 and 3a: sum the current tile and publish the sum, and ask for the next ticket. `base`
//# is the sum of the tile's rows above the thread's own, unless these are the first.
            int coming;
            if (threadIdx.x == 0)
                coming = ask(a.tickets);
            __syncthreads();
            const int row = ty * U, col = c < here.width ? c : here.width - 1;
            part sum = value_of(here, place_of, begin, row, col, row * pitch + col);
            #pragma unroll (U > 32 ? 16 : U) // compilers take long over more
            for (int u = 1; u < U; u++)
                sum = reduce(sum, value_of(here, place_of, begin, row + u, col, (row + u) * pitch + col));
            part run = sum;
            #pragma unroll
            for (int d = 1; d < R; d *= 2) {
                const part above = from_left<32>(run, d * K);
                if (r >= d)
                    run = reduce(above, run);
            }
            if (r == R - 1)
                warps[warp * pad + c] = run;
            if (threadIdx.x == 0)
                keep_ticket(coming);
            __syncthreads();
            next = ticket;
//% if flat_results
            if (next < total)
                fetch(next);
//% end
//% insert :warps_above
            part above;
            if (R > 1)
                above = from_left<32>(run, K % 32);
            __syncthreads();
            bool based = false;
            if (warp > 0)
                take(based, base, warps[warp * pad + c]);
            if (R > 1 && r > 0)
                take(based, base, above);

//% part warps_above
//# The sums of a column that the block's warps have go to neighbouring lanes, which scan them, publish the tile's
//# sum, and leave to each warp the sum of those above it.
            if (threadIdx.x < (N * K + 31) / 32 * 32) { // whole warps
                const int n = threadIdx.x % N, col = threadIdx.x / N % K;
                part all_run = warps[n * pad + col];
                #pragma unroll
                for (int d = 1; d < N; d *= 2) {
                    const part left = from_left<32>(all_run, d);
                    if (n >= d)
                        all_run = reduce(left, all_run);
                }
                __syncwarp(); // all have read what the next lane overwrites
                if (threadIdx.x >= N * K)
                    ; // the lanes that complete a warp
                else if (n < N - 1)
                    warps[(n + 1) * pad + col] = all_run;
                else
                    publish(sums + (taken * K + col) * part_words, all_run, 1);
            }

//% part hear
//# Phases 3b and 4: the sum of everything above the held tile arrives and is combined with that of
//# the rows above the thread's own in the tile; from there the thread's rows are summed again and
//# stored.
            part acc = held_base;
            bool has = ty > 0;
            if (step > 0) {
                const part carry = await(carries + (held * K + c) * part_words, 1);
                acc = has ? reduce(carry, acc) : carry;
                has = true;
            }
            const int row = ty * U;
            const ${index} start = begin + row, left = length - start;
            const int rows = c >= here.width || left < 0 ? 0 : left < U ? (int)left : U; // that it stores
            int spot = row * pitch + c;
//% if flat_results
            #pragma unroll 4 // the next tile's inputs are in registers
            for (int u = 0; u < rows; u++, spot += pitch) {
//% else
            #pragma unroll (U > 32 ? 16 : U)
            for (int u = 0; u < U; u++, spot += pitch) {
                if (u >= rows)
                    continue;
//% end
                const ${index} j = start + u;
//% for p in outputs
//% if flat_results
                [[maybe_unused]] ${p.type} *const to_${p.name} = (${p.type} *)(here.row_${p.name} + c * (${index})a.stride_${p.name}_${keep_last} + along_${p.name}(j));
//% else
                ${p.type} *const to_${p.name} = (${p.type} *)(here.row_${p.name} + c * (${index})a.stride_${p.name}_${keep_last} + along_${p.name}(j));
//% end
                ${p.type} out_${p.name}[1];
//% if p.read_first
                load(out_${p.name}, to_${p.name});
//% end
//% end
                const part value = value_of(here, place_of, begin, row + u, c, spot);
                const bool first = u == 0 && !has; // of the whole column
//% if exclusive
                const part told = first ? identity() : acc;
                acc = first ? value : reduce(acc, value);
//% else
                acc = first ? value : reduce(acc, value);
                const part &told = acc;
//% end
                post(place(j), told
//% for p in outputs
                    , out_${p.name}[0]
//% end
                );
//% for p in outputs
//% if flat_results
                ((${p.type} *)(out_of(place_of) + result_${p.name}))[spot] = out_${p.name}[0];
//% else
                store(to_${p.name}, out_${p.name});
//% end
//% end
            }
//% if flat_results
            __syncthreads();
            const ${index} rows_left = length - begin;
            const int valid = (rows_left < height ? (int)rows_left : height) * pitch;
            #pragma unroll
            for (int k = 0; k < A; k++) {
                const int e = (threadIdx.x + k * G) * V;
                if (e + V <= valid) {
//% for p in outputs
                    ${p.type} piece_${p.name}[V];
                    load(piece_${p.name}, (const ${p.type} *)(out_of(place_of) + result_${p.name}) + e);
                    store((${p.type} *)(here.row_${p.name} + along_${p.name}(begin)) + e, piece_${p.name});
//% end
                } else {
                    #pragma unroll 1
                    for (int i = e; i < valid; i++) {
//% for p in outputs
                        ((${p.type} *)(here.row_${p.name} + along_${p.name}(begin)))[i] = ((const ${p.type} *)(out_of(place_of) + result_${p.name}))[i];
//% end
                    }
                }
            }
//% end
