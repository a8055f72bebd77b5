// A module of the user's on the cpu device: every kernel runs once for each thread of each block, one
// after the other, and an object tells of it what src/device/cpu/raw.c must know.
//% own module_at module_count module_head module_kernel module_kind module_layout module_list
//% own module_param module_table module_variable
//% plain A F I KILN__MODULE_EXPORT KILN__MODULE_KERNEL KILN__MODULE_KIND KILN__MODULE_VARIABLE N
//% plain T __VA_ARGS__ __managed__ address aligned alignof args at begin block blockDim bytes
//% plain count dim3 end grid head k kind kinds layout letter list nullptr offset params read_only
//% plain run symbol t table table_type thread_local unused used v value x y z
#define __launch_bounds__(...)
#define __managed__
struct dim3 {
    unsigned x, y, z;
};
static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

struct module_head {
    dim3 grid, block;
    unsigned unused[10];
};

struct module_param {
    unsigned offset, bytes, kind;
};

template <unsigned long N> struct module_table {
    void (*run)(const void *, long, long);
    unsigned long count;
    module_param params[N != 0 ? N : 1];
};

template <class T> struct module_kind {
    static constexpr unsigned value = 's';
};
template <class T> struct module_kind<T *> {
    static constexpr unsigned value = 'p';
};
template <class T> struct module_kind<const T *> {
    static constexpr unsigned value = 'c';
};
#define KILN__MODULE_KIND(T, letter)                                                               \
    template <> struct module_kind<T> {                                                      \
        static constexpr unsigned value = letter;                                                  \
    };
KILN__MODULE_KIND(bool, 'b')
KILN__MODULE_KIND(char, 'i')
KILN__MODULE_KIND(signed char, 'i')
KILN__MODULE_KIND(short, 'i')
KILN__MODULE_KIND(int, 'i')
KILN__MODULE_KIND(long, 'i')
KILN__MODULE_KIND(long long, 'i')
KILN__MODULE_KIND(unsigned char, 'u')
KILN__MODULE_KIND(unsigned short, 'u')
KILN__MODULE_KIND(unsigned, 'u')
KILN__MODULE_KIND(unsigned long, 'u')
KILN__MODULE_KIND(unsigned long long, 'u')
KILN__MODULE_KIND(float, 'f')
KILN__MODULE_KIND(double, 'f')

template <unsigned long... I> struct module_list {};
template <unsigned long N, unsigned long... I>
struct module_count : module_count<N - 1, N - 1, I...> {};
template <unsigned long... I> struct module_count<0, I...> {
    typedef module_list<I...> list;
};

// Where the arguments lie: each at a multiple of its own alignment, as CUDA has it.
template <class... A> constexpr module_table<sizeof...(A)> module_layout()
{
    const unsigned bytes[] = {sizeof(A)..., 0}, aligned[] = {alignof(A)..., 0};
    const unsigned kinds[] = {module_kind<A>::value..., 0};
    module_table<sizeof...(A)> table = {nullptr, sizeof...(A), {}};
    unsigned at = 0;
    for (unsigned long k = 0; k < sizeof...(A); k++) {
        at = (at + aligned[k] - 1) / aligned[k] * aligned[k];
        table.params[k].offset = at;
        table.params[k].bytes = bytes[k];
        table.params[k].kind = kinds[k];
        at += bytes[k];
    }
    return table;
}

template <auto F> struct module_kernel;
template <class... A, void (*F)(A...)> struct module_kernel<F> {
    typedef module_table<sizeof...(A)> table_type;

    template <unsigned long... I>
    static void block(const char *args, module_list<I...>)
    {
        constexpr table_type layout = module_layout<A...>();
        (void)layout;
        for (unsigned z = 0; z < blockDim.z; z++)
            for (unsigned y = 0; y < blockDim.y; y++)
                for (unsigned x = 0; x < blockDim.x; x++) {
                    threadIdx = {x, y, z};
                    F(*(const A *)(args + layout.params[I].offset)...);
                }
    }
    static void run(const void *args, long begin, long end)
    {
        const module_head &head = *(const module_head *)args;
        gridDim = head.grid;
        blockDim = head.block;
        for (long at = begin; at < end; at++) {
            blockIdx = {(unsigned)(at % head.grid.x), (unsigned)(at / head.grid.x % head.grid.y),
                        (unsigned)(at / head.grid.x / head.grid.y)};
            block((const char *)args + sizeof head,
                  typename module_count<sizeof...(A)>::list());
        }
    }
    static constexpr table_type table()
    {
        table_type t = module_layout<A...>();
        t.run = run;
        return t;
    }
};

struct module_variable {
    const volatile void *address;
    unsigned long bytes, read_only;
};
template <class T> constexpr module_variable module_at(T *v)
{
    return {v, sizeof *v, 0};
}
template <class T> constexpr module_variable module_at(const T *v)
{
    return {v, sizeof *v, 1};
}

#define KILN__MODULE_EXPORT extern "C" __attribute__((visibility("default"), used))
#define KILN__MODULE_KERNEL(symbol, ...)                                                           \
    KILN__MODULE_EXPORT const typename module_kernel<__VA_ARGS__>::table_type symbol;        \
    const typename module_kernel<__VA_ARGS__>::table_type symbol =                           \
        module_kernel<__VA_ARGS__>::table();
#define KILN__MODULE_VARIABLE(symbol, ...)                                                         \
    KILN__MODULE_EXPORT const module_variable symbol;                                        \
    const module_variable symbol = module_at(__VA_ARGS__);
