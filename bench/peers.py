"""CuPy and PyTorch on the cases of bench_elementwise, added to its result file.

    python3 peers.py RESULTS/elementwise.json [--scale N]

Each row of the file whose case a peer can do gets a field of the peer's name with its figure in
the row's unit, taken in this run, right after kiln's. A peer that is not installed is said so and
left out. Rates are medians over device time between events; call times are the least of several
batches with the device drained in between, as in bench_calls.c.
"""
import statistics
import subprocess
import sys
import tempfile
import time

import result

GIB = 1 << 30
BATCHES, BATCH = 30, 200


def host_time_us(call, drain):
    """Least time of one call on the host over several short batches."""
    for _ in range(BATCH):
        call()
    drain()
    best = float("inf")
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        best = min(best, (time.perf_counter() - start) / BATCH * 1e6)
        drain()
    return best


class Cupy:
    name = "cupy"
    runs = 25

    def __init__(self, scale):
        import cupy

        self.cp = cupy
        self.version = cupy.__version__
        self.bytes = GIB // scale
        self.muladd = cupy.ElementwiseKernel("T x, T y", "T z", "z = x * y + T(1)", "bench_muladd")
        self.widen = cupy.ElementwiseKernel(
            "int8 x, int8 y", "float32 z", "z = float(x) * float(y) + 1.0f", "bench_widen")
        self.six = cupy.ElementwiseKernel(
            "T a, T b, T c, T d, T e, T f", "T p, T q, T r",
            "p = a * b + c; q = d * e + f; r = a - f", "bench_six")

    def array(self, shape, dtype="float32"):
        return self.cp.ones(shape, dtype=dtype)

    def rate(self, call, moved):
        """GB/s by the median of back-to-back runs."""
        events = [self.cp.cuda.Event() for _ in range(self.runs + 1)]
        call()
        for k, event in enumerate(events):
            event.record()
            if k < self.runs:
                call()
        events[-1].synchronize()
        ms = [self.cp.cuda.get_elapsed_time(a, b) for a, b in zip(events, events[1:])]
        return moved / statistics.median(ms) / 1e6

    def linear(self, dtype):
        n = self.bytes // self.cp.dtype(dtype).itemsize
        x, y, z = (self.array(n, dtype) for _ in range(3))
        return self.rate(lambda: self.muladd(x, y, z), 3 * self.bytes)

    def linear_int8_to_float32(self):
        n = self.bytes // 4
        x, y, z = self.array(n, "int8"), self.array(n, "int8"), self.array(n)
        return self.rate(lambda: self.widen(x, y, z), 6 * n)

    def misaligned(self):
        n = self.bytes // 4
        x, y, z = self.array(n + 4)[1:n + 1], self.array(n + 4)[3:n + 3], self.array(n)
        return self.rate(lambda: self.muladd(x, y, z), 3 * self.bytes)

    def every_second(self):
        n = self.bytes // 8
        x, y, z = self.array(2 * n)[::2], self.array(n), self.array(n)
        return self.rate(lambda: self.muladd(x, y, z), 2 * self.bytes)

    def six_three(self):
        a = [self.array(self.bytes // 4) for _ in range(9)]
        return self.rate(lambda: self.six(*a), 9 * self.bytes)

    def broadcast(self, narrow):
        n = side(self.bytes)
        x, z = self.array((n, n)), self.array((n, n))
        y = self.array((1, n) if narrow == "row" else (n, 1))
        return self.rate(lambda: self.muladd(x, y, z), 8 * n * n)

    def permuted(self, shape, axes):
        x = self.array(shape).transpose(axes)
        y, z = self.array(x.shape), self.array(x.shape)
        return self.rate(lambda: self.muladd(x, y, z), 12 * x.size)

    def drain(self):
        self.cp.cuda.Device().synchronize()

    def call_given(self):
        x, y, z = (self.array(1) for _ in range(3))
        return host_time_us(lambda: self.muladd(x, y, z), self.drain)

    def call_allocated(self):
        x, y = self.array(1), self.array(1)
        return host_time_us(lambda: self.muladd(x, y), self.drain)

    def pool(self):
        return host_time_us(lambda: self.cp.cuda.alloc(1 << 20), self.drain)

    def first_call(self, dtype):
        """ms of a first call with an empty cache, in a process of its own."""
        return first_call_ms(FIRST_CALL.format(dtype=dtype), fresh=True)

    def first_process_warm(self):
        return first_call_ms(FIRST_CALL.format(dtype="float32"), fresh=False)


FIRST_CALL = """
import time, cupy as cp
x = cp.ones(1000, "{dtype}"); y = cp.ones(1000, "{dtype}"); z = cp.ones(1000, "{dtype}")
cp.ElementwiseKernel("S x", "S z", "z = x", "other")(x, z)
cp.cuda.Device().synchronize()
start = time.perf_counter()
k = cp.ElementwiseKernel("T x, T y", "T z", "z = x * y + T(1)", "bench_first")
k(x, y, z)
cp.cuda.Device().synchronize()
print((time.perf_counter() - start) * 1e3)
"""


def first_call_ms(program, fresh):
    """Run a program that prints a time; the second run of two finds what the first cached."""
    import os

    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, CUPY_CACHE_DIR=cache)
        ms = 0.0
        for _ in range(1 if fresh else 2):
            out = subprocess.run([sys.executable, "-c", program], env=env, check=True,
                                 capture_output=True, text=True).stdout
            ms = float(out.split()[-1])
        return ms


class Torch:
    name = "torch"
    runs = 25

    def __init__(self, scale):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")
        self.torch = torch
        self.version = torch.__version__
        self.bytes = GIB // scale
        # One kernel for x*y+1, as near as eager PyTorch comes: 1 + 1 * x * y.
        self.one = {}

    def array(self, shape, dtype="float32"):
        return self.torch.ones(shape, dtype=getattr(self.torch, dtype), device="cuda")

    def rate(self, call, moved):
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(self.runs + 1)]
        call()
        for k, event in enumerate(events):
            event.record()
            if k < self.runs:
                call()
        events[-1].synchronize()
        ms = [a.elapsed_time(b) for a, b in zip(events, events[1:])]
        return moved / statistics.median(ms) / 1e6

    def muladd(self, x, y, z):
        one = self.one.setdefault(x.dtype, self.torch.ones(1, dtype=x.dtype, device="cuda"))
        return lambda: self.torch.addcmul(one, x, y, out=z)

    def linear(self, dtype):
        n = self.bytes // self.torch.empty(0, dtype=getattr(self.torch, dtype)).element_size()
        x, y, z = (self.array(n, dtype) for _ in range(3))
        return self.rate(self.muladd(x, y, z), 3 * self.bytes)

    def misaligned(self):
        n = self.bytes // 4
        x, y, z = self.array(n + 4)[1:n + 1], self.array(n + 4)[3:n + 3], self.array(n)
        return self.rate(self.muladd(x, y, z), 3 * self.bytes)

    def every_second(self):
        n = self.bytes // 8
        x, y, z = self.array(2 * n)[::2], self.array(n), self.array(n)
        return self.rate(self.muladd(x, y, z), 2 * self.bytes)

    def broadcast(self, narrow):
        n = side(self.bytes)
        x, z = self.array((n, n)), self.array((n, n))
        y = self.array((1, n) if narrow == "row" else (n, 1))
        return self.rate(self.muladd(x, y, z), 8 * n * n)

    def permuted(self, shape, axes):
        x = self.array(shape).permute(axes)
        y, z = self.array(x.shape), self.array(x.shape)
        return self.rate(self.muladd(x, y, z), 12 * x.numel())

    def drain(self):
        self.torch.cuda.synchronize()

    def call_given(self):
        x, y, z = (self.array(1) for _ in range(3))
        return host_time_us(lambda: self.torch.add(x, y, out=z), self.drain)

    def call_allocated(self):
        x, y = self.array(1), self.array(1)
        return host_time_us(lambda: x + y, self.drain)

    def pool(self):
        torch = self.torch
        return host_time_us(lambda: torch.empty(1 << 20, dtype=torch.uint8, device="cuda"),
                            self.drain)


def side(bytes_):
    n = 16384
    while n * n * 4 > bytes_:
        n //= 2
    return n


def cases(scale):
    """case -> (method, arguments), as bench_elementwise names and sizes them."""
    n = side(GIB // scale)
    box = (640 * n // 16384, 768, 544)
    table = {
        "linear_int8_to_float32": ("linear_int8_to_float32", ()),
        "misaligned": ("misaligned", ()),
        "every_second": ("every_second", ()),
        "six_three": ("six_three", ()),
        "row_broadcast": ("broadcast", ("row",)),
        "column_broadcast": ("broadcast", ("column",)),
        "transposed": ("permuted", ((n, n), (1, 0))),
        "call_given": ("call_given", ()),
        "call_allocated": ("call_allocated", ()),
        "pool": ("pool", ()),
        "first_call_float32": ("first_call", ("float32",)),
        "first_call_complex64": ("first_call", ("complex64",)),
        "first_call_float16": ("first_call", ("float16",)),
        "first_process_warm": ("first_process_warm", ()),
    }
    for dtype in ("float32", "float64", "complex64", "complex128", "float16", "bfloat16", "int8"):
        table["linear_" + dtype] = ("linear", (dtype,))
    for axes in ((2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (1, 2, 0)):
        table["permuted_%d%d%d" % axes] = ("permuted", (box, axes))
    return table


def add_peer(kind, fields, scale):
    try:
        peer = kind(scale)
    except ImportError as error:
        print(f"{kind.name}: not installed ({error})")
        fields[kind.name + "_version"] = "not installed"
        return
    fields[kind.name + "_version"] = peer.version
    table = cases(scale)
    for row in fields["rows"]:
        method, arguments = table.get(row["case"], (None, ()))
        if method is None or not hasattr(peer, method):
            continue
        try:
            row[peer.name] = round(getattr(peer, method)(*arguments), 4)
        except Exception as error:  # a peer without this dtype, or out of memory
            print(f"{peer.name} {row['case']}: {type(error).__name__}: {str(error)[:120]}")
            continue
        print(f"{row['label']:44} {peer.name:6} {row[peer.name]:10.3f} {row['unit']:5}"
              f" kiln {row['kiln']:10.3f}", flush=True)


def main():
    path = sys.argv[1]
    scale = int(sys.argv[sys.argv.index("--scale") + 1]) if "--scale" in sys.argv else 1
    fields = result.read(path)
    for kind in (Cupy, Torch):
        add_peer(kind, fields, scale)
    result.write(path, fields)


if __name__ == "__main__":
    main()
