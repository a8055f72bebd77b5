//# transpose_gather.cu - a transpose whose tiles lie in shared memory as they lie in memory: each word is
//# loaded once, nothing is shifted on its way, and a thread gathers the elements of a word of the output from
//# as many rows. Roles of the operands, and `shift`: transpose.cu.
//#
//# words:  of 4 bytes: of the output ${vec} neighbours of 1 or 2 bytes, or one element of 4; of tiled operands
//#         as many as fit
//# grid:   one block per tile of tile_side x tile elements (A, B), tile of which make 128 bytes of the tiled
//#         operands, and per index of the outer axes
//# shared: for each tiled operand a row for each element of A, the `skew` before the tile among them. Rows
//#         lie `apart` bytes apart, as many as in memory modulo 4: so what begins words there begins words
//#         here. 128 bytes that begin inside of a word end in a 33rd one
//# banks:  a warp gathers from rows that are ${vec} apart, and meets a bank twice at most: ${vec} * apart is no
//#         multiple of 16 bytes
//# owner:  thread (lane, line) loads word `lane` of the rows from `line` on; of the others, and of the results,
//#         it has unroll words along A
//# edges:  tiles that edges cut load no word without an element of the array, and check bounds for each element
//% own C D H LA N P Q R S X a a0 args at at_ back base_ base_i bytes c down even first first_ from_ gather_ give i inside j k lane last_
//% own left_ line load_ op past past_ px0 r reg_ row row0 run shift take there tile_ to_ within word_
extern "C" __global__ void __launch_bounds__(${block})
${entry}(const __grid_constant__ args a)
{
    constexpr int P = ${vec}, R = ${unroll}, S = ${skew}, H = ${tile_side} + S, X = ${apart};
    constexpr int LA = ${tile_side} / P, D = ${block} / LA, Q = ${block} / 32, N = H / Q;
    constexpr int C = X / 128; // pieces of a row that a warp loads at once
//% for p in tiles
    __shared__ alignas(16) unsigned char tile_${p.name}[H * X + 4];
//% end
//% insert kernel.cpp:environment
//% insert cuda/transpose.cu:locate
//% insert cuda/transpose.cu:back
//% insert :place
    if (left_${tile_a} >= ${tile_side} && left_${tile_b} >= ${tile} && (even || at_${tile_a} != 0)) {
//% insert :whole
    } else {
//% insert :edge
    }
//% if after_loop
${after_loop}
//% end
}

//% part place
//# Where the tile's first row lies, number -S, and how many bytes of its first word precede it: as many as in
//# shared memory. What this thread stores: in which rows, and bytes to the next one.
    const int lane = (int)(threadIdx.x % 32), line = (int)(threadIdx.x / 32);
    const int row0 = (int)(threadIdx.x / LA), px0 = P * (int)(threadIdx.x % LA);
//% for p in tiled_loads
    const char *const from_${p.name} = base_${p.name} - S * a.stride_${p.name}_${tile_a};
    const int past_${p.name} = (int)((size_t)from_${p.name} & 3);
//% end
//% for p in skewed
    char *const run = (char *)&at_${p.name}(px0, row0);
    const long long down = D * a.stride_${p.name}_${tile_b};
//% end

//% part whole
//# The rows of a whole tile. All loads are issued before the first is waited for. Where rows of the output
//# begin at sectors, the rows before the tile are not needed.
//% for p in tiled_loads
        unsigned int load_${p.name}[N][C], last_${p.name} = 0;
        {
            const char *const row = from_${p.name} + line * a.stride_${p.name}_${tile_a};
            const char *first = row - ((size_t)row & 3) + 4 * lane;
            #pragma unroll
            for (int r = 0; r < N; r++) {
                #pragma unroll
                for (int c = 0; c < C; c++) {
                    load_${p.name}[r][c] = 0;
                    if (r * Q >= S || !even)
                        load_${p.name}[r][c] = *(const unsigned int *)(first + c * 128);
                }
                first += Q * a.stride_${p.name}_${tile_a};
            }
        }
        if (${p.bytes} < 4 && threadIdx.x < H) {
            const char *const row = from_${p.name} + (int)threadIdx.x * a.stride_${p.name}_${tile_a};
            const int past = (int)((size_t)row & 3);
            if (past != 0 && ((int)threadIdx.x >= S || !even))
                last_${p.name} = *(const unsigned int *)(row - past + C * 128);
        }
//% end
//% if plain_loads
//% for p in plain_loads
        ${p.word} word_${p.name}[R];
//% end
        #pragma unroll
        for (int r = 0; r < R; r++) {
//% insert :word
//% for p in plain_loads
            word_${p.name}[r] = take<P, ${p.lanes}, ${p.word}>(&at_${p.name}(a0, row));
//% end
        }
//% end
//% for p in tiled_loads
        {
            unsigned char *const first = tile_${p.name} + ((past_${p.name} + line * X) & ~3) + 4 * lane;
            #pragma unroll
            for (int r = 0; r < N; r++)
                #pragma unroll
                for (int c = 0; c < C; c++)
                    *(unsigned int *)(first + r * (Q * X) + c * 128) = load_${p.name}[r][c];
            if (${p.bytes} < 4 && threadIdx.x < H)
                *(unsigned int *)(tile_${p.name} + ((past_${p.name} + (int)threadIdx.x * X) & ~3) + C * 128) = last_${p.name};
        }
//% end
        __syncthreads();
//% for p in tiled_loads
        const unsigned char *const gather_${p.name} = tile_${p.name} + past_${p.name} + (S + px0) * X + row0 * ${p.bytes};
//% end
        #pragma unroll
        for (int r = 0; r < R; r++) {
//% insert :word
//% for p in registers
            ${p.type} reg_${p.name}[P];
//% end
//% for p in plain_loads
            memcpy(reg_${p.name}, &word_${p.name}[r], sizeof reg_${p.name});
//% end
//% for p in tiled_loads
            const unsigned char *const first_${p.name} = gather_${p.name} + r * D * ${p.bytes}
                - (X % ${skew_bytes} == 0 ? (int)shift * (X / ${skew_bytes}) : (int)shift / ${skew_bytes} * X);
            #pragma unroll
            for (int k = 0; k < P; k++)
                reg_${p.name}[k] = *(const ${p.type} *)(first_${p.name} + k * X);
//% end
            #pragma unroll
            for (int k = 0; k < P; k++) {
//% insert :element
            }
//% for p in plain_stores
            ${p.word} to_${p.name};
            memcpy(&to_${p.name}, reg_${p.name}, sizeof to_${p.name});
            give<P, ${p.skewed}>(${p.skewed} ? (${p.type} *)(at - shift) : &at_${p.name}(a0, row), to_${p.name});
//% end
        }

//% part edge
//# The rows of a tile that an edge of the array cuts. Rows that are not there are loaded from one that is, so
//# that no load waits for a condition but that its word has an element of the row. Words that the edge cuts are
//# read, computed and stored element by element.
//% for p in tiled_loads
        #pragma unroll 4
        for (int j = line; j < H; j += Q) {
            int i = j - S;
            i = i < -back ? -back : i < left_${tile_a} ? i : left_${tile_a} - 1;
            const char *const row = (const char *)&at_${p.name}(i, 0);
            const int past = (int)((size_t)row & 3);
            const int bytes = past + ${p.bytes} * (left_${tile_b} < ${tile} ? left_${tile_b} : ${tile});
            unsigned char *const first = tile_${p.name} + ((past_${p.name} + j * X) & ~3) + 4 * lane;
            #pragma unroll
            for (int c = 0; c < C; c++)
                if (4 * lane + c * 128 < bytes)
                    *(unsigned int *)(first + c * 128) = *(const unsigned int *)(row - past + 4 * lane + c * 128);
            if (lane == 0 && bytes > C * 128)
                *(unsigned int *)(first + C * 128) = *(const unsigned int *)(row - past + C * 128);
        }
//% end
        __syncthreads();
        #pragma unroll 1
        for (int r = 0; r < R; r++) {
//% insert :word
            if (row >= left_${tile_b})
                break;
            const bool inside = a0 >= -back && a0 + P <= left_${tile_a};
            auto there = [&](const int k) { return inside || (a0 + k >= -back && a0 + k < left_${tile_a}); };
//% for p in registers
            ${p.type} reg_${p.name}[P];
//% end
//% for p in plain_loads
            ${p.word} word_${p.name}{};
            if (inside)
                word_${p.name} = take<P, ${p.lanes}, ${p.word}>(&at_${p.name}(a0, row));
            memcpy(reg_${p.name}, &word_${p.name}, sizeof reg_${p.name});
//% end
            #pragma unroll
            for (int k = 0; k < P; k++) {
                if (!there(k))
                    continue;
//% for p in plain_loads
                if (!inside)
                    reg_${p.name}[k] = at_${p.name}(a0 + k, row);
//% end
//% for p in tiled_loads
                reg_${p.name}[k] = *(const ${p.type} *)(tile_${p.name} + past_${p.name} + (S + a0 + k) * X + row * ${p.bytes});
//% end
//% insert :element
            }
//% for p in plain_stores
            if (inside) {
                ${p.word} to_${p.name};
                memcpy(&to_${p.name}, reg_${p.name}, sizeof to_${p.name});
                give<P, ${p.skewed}>(&at_${p.name}(a0, row), to_${p.name});
            }
            #pragma unroll
            for (int k = 0; k < P; k++)
                if (!inside && there(k))
                    at_${p.name}(a0 + k, row) = reg_${p.name}[k];
//% end
        }

//% part word
//# Word number r of this thread: its row, where that begins in memory and how many bytes earlier it does so in
//# the tile, and the place of its first element in the tile.
            const int row = row0 + r * D;
            char *const at = run + r * down;
            const unsigned int shift = ((unsigned int)(size_t)at - px0 * ${skew_bytes}) & within;
            const int a0 = px0 - (int)shift / ${skew_bytes};
            (void)a0;

//% part element
//# Element k of a word.
                op(
//% if index_strides
                    base_i + row * a.stride_i_${tile_b} + (a0 + k) * a.stride_i_${tile_a}
//% else
                    0
//% end
//% for p in walking
//% if p.direct
                    , at_${p.name}(a0 + k, row)
//% else
                    , reg_${p.name}[k]
//% end
//% end
                );
