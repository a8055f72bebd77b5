//% plain AXES ITEM ITEMS ITEMS_A_THREAD KILN__AXES KILN__ITEM KILN__ROOM LINE ROOM THREADS WORD
//% plain ELEMENTS LINES VALUES VALUE_WORDS WORDS
//% plain KILN_UNROLL copy_element copy_lines copy_words divmod fill in k p type words
//% plain at axis begin bits block bytes count extent from from_step firsts half items
//% plain kiln__copied kiln__divisor32 kiln__word kiln_parts n number part parts rest row there to to_step
//% plain u uint4 value values walk within word
// Copies to several parts of arrays, each of another shape, in one launch: the blocks are dealt to the parts, and a block
// finds its part by the blocks of all.
//
// Grid: of each part ceil(count / 256) blocks, of LINES a fourth of them. A part is a box of elements with strides, of
// which the last axis is the fastest. Its walk says what a thread has:
//   WORDS        aligned words of 16 bytes of the rows of the part, as in words.cu; a row has as many as its lines may hold
//   LINES        four elements, a block apart; a row has as many as its lines may hold, and lane 0 has a line's beginning
//   ELEMENTS     one element
//   VALUES, VALUE_WORDS  as ELEMENTS and WORDS, of one value: its bytes lie in `from` and, where it has 16, in from_step[0]
// The host lays the arguments out (src/codegen/parts.c). KILN__ITEM: bytes of an element. KILN__AXES: of a part, 2 at
// least. KILN__ROOM: for parts.
typedef kiln__word<KILN__ITEM>::type bits;
enum { ITEM = KILN__ITEM, AXES = KILN__AXES, ROOM = KILN__ROOM };
enum { THREADS = 256, ITEMS_A_THREAD = 4, LINE = 128, WORD = 16, ITEMS = WORD / ITEM };
enum { WORDS, LINES, ELEMENTS, VALUES, VALUE_WORDS };

struct part {
    const char *from;
    long long from_step[AXES]; // bytes
    char *to;
    long long to_step[AXES];
    kiln__divisor32 within[AXES - 1]; // what the walk counts along all axes but the first
    int count;                        // what it counts in all
    int extent;                       // elements of the last axis
    int walk;
};

struct parts {
    part items[ROOM];
    unsigned int firsts[ROOM];
};

// Where the row of something that the walk counts begins. Gives its number within the row.
KILN_FN int row(const part &p, int number, char *&to, const char *&from)
{
    int n = number, rest = p.within[AXES - 2].divmod(number, &n);

    to = p.to;
    from = p.from;
    KILN_UNROLL
    for (int axis = AXES - 2; axis >= 0; axis--) {
        int at = rest;
        if (axis > 0)
            rest = p.within[axis - 1].divmod(rest, &at);
        to += at * p.to_step[axis];
        from += at * p.from_step[axis];
    }
    return n;
}

KILN_FN void copy_words(const part &p, int number)
{
    char *to;
    const char *from;
    const int n = row(p, number, to, from);
    const kiln__copied<bits, int> word(to, from, n * WORD, p.extent * ITEM);

    word.store();
}

KILN_FN void copy_lines(const part &p, int block)
{
    char *to[ITEMS_A_THREAD];
    bits values[ITEMS_A_THREAD];
    bool there[ITEMS_A_THREAD];

    KILN_UNROLL
    for (int u = 0; u < ITEMS_A_THREAD; u++) {
        const int number = (block * ITEMS_A_THREAD + u) * THREADS + (int)threadIdx.x;
        const char *from;
        there[u] = number < p.count;
        if (!there[u])
            continue;
        int n = row(p, number, to[u], from);
        n -= (int)((size_t)to[u] % LINE) / ITEM;
        there[u] = n >= 0 && n < p.extent;
        to[u] += n * ITEM;
        if (there[u])
            values[u] = *(const bits *)(from + n * p.from_step[AXES - 1]);
    }
    KILN_UNROLL
    for (int u = 0; u < ITEMS_A_THREAD; u++)
        if (there[u])
            *(bits *)to[u] = values[u];
}

KILN_FN void copy_element(const part &p, int number)
{
    char *to;
    const char *from;
    const int n = row(p, number, to, from);

    *(bits *)(to + n * p.to_step[AXES - 1]) = *(const bits *)(from + n * p.from_step[AXES - 1]);
}

// A value has no steps: what `row` adds to its place is of no use.
KILN_FN void fill(const part &p, int number, bool words)
{
    char *to;
    const char *from;
    const int n = row(p, number, to, from);
    bits value, values[ITEMS];

    memcpy(&value, &p.from, sizeof value);
    if (!words) {
        *(bits *)(to + n * p.to_step[AXES - 1]) = value;
        return;
    }
    const int begin = n * WORD - (int)((size_t)to % LINE), bytes = p.extent * ITEM;
    if (begin >= 0 && begin + WORD <= bytes) {
        uint4 word;
        KILN_UNROLL
        for (int k = 0; k < ITEMS; k++)
            values[k] = value;
        memcpy(&word, values, sizeof word);
        *(uint4 *)(to + begin) = word;
        return;
    }
    for (int at = begin; at < begin + WORD; at += ITEM)
        if (at >= 0 && at < bytes)
            *(bits *)(to + at) = value;
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_parts(const __grid_constant__ parts in)
{
    int k = 0;
    KILN_UNROLL
    for (int half = 32; half > 0; half /= 2)
        if (k + half < ROOM && in.firsts[k + half] <= blockIdx.x)
            k += half;
    const part &p = in.items[k];
    const int block = (int)(blockIdx.x - in.firsts[k]);
    const int number = block * THREADS + (int)threadIdx.x;

    if (p.walk == LINES)
        copy_lines(p, block);
    else if (number >= p.count)
        return;
    else if (p.walk == WORDS)
        copy_words(p, number);
    else if (p.walk == ELEMENTS)
        copy_element(p, number);
    else
        fill(p, number, p.walk == VALUE_WORDS);
}
