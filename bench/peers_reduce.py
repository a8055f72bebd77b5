"""CuPy and PyTorch on the cases of bench_reduce, added to its result file.

    python3 peers_reduce.py RESULTS/reduce.json [--scale N]

CuPy runs twice: as `cupy` with its own kernels and as `cupy_cub` with CUB, which it uses where it
can. Rates are medians over device time between events, over the bytes that a row must read. A
peer that is not installed is said so and left out.
"""
import json
import statistics
import sys

import result

SHAPES = {
    "all": ((1 << 28,), None),
    "16384x16384_0": ((1 << 14, 1 << 14), 0),
    "16384x16384_1": ((1 << 14, 1 << 14), 1),
    "2^20x256_0": ((1 << 20, 256), 0),
    "2^20x256_1": ((1 << 20, 256), 1),
    "256x2^20_0": ((256, 1 << 20), 0),
    "256x2^20_1": ((256, 1 << 20), 1),
    "2^24x16_0": ((1 << 24, 16), 0),
    "2^24x16_1": ((1 << 24, 16), 1),
    "64x4096x1024_1": ((64, 4096, 1024), 1),
    "4x2^26_1": ((4, 1 << 26), 1),
    "2^26x4_1": ((1 << 26, 4), 1),
    "3x5x2^24_02": ((3, 5, 1 << 24), (0, 2)),
}
DTYPES = ("float16", "bfloat16", "int8", "float64")


def scaled(shape, scale):
    """As bench_reduce: the first of the largest extents is divided."""
    largest = shape.index(max(shape))
    return tuple(n // scale if a == largest else n for a, n in enumerate(shape))


class Cupy:
    runs = 15

    def __init__(self):
        import cupy

        self.cp = cupy
        self.version = cupy.__version__
        self.norm = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")
        self.inner = cupy.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot")

    def array(self, shape, dtype="float32"):
        if dtype == "bfloat16":
            return None
        return self.cp.ones(shape, dtype=dtype)

    def sum(self, x, axis):
        return lambda: x.sum(axis=axis)

    def l2(self, x, axis):
        return lambda: self.norm(x, axis=axis)

    def argmax(self, x, axis):
        return lambda: x.argmax(axis=axis)

    def var(self, x, axis):
        return lambda: x.var(axis=axis)

    def dot(self, x, y):
        return lambda: self.inner(x, y)

    def bytes(self, x):
        return x.size * x.itemsize

    def ms(self, call):
        events = [self.cp.cuda.Event() for _ in range(2)]
        times = []
        call()
        for _ in range(self.runs):
            events[0].record()
            call()
            events[1].record()
            events[1].synchronize()
            times.append(self.cp.cuda.get_elapsed_time(*events))
        return statistics.median(times)


class Torch:
    runs = 15

    def __init__(self):
        import torch

        self.torch = torch
        self.version = torch.__version__

    def array(self, shape, dtype="float32"):
        return self.torch.ones(shape, dtype=getattr(self.torch, dtype), device="cuda")

    def sum(self, x, axis):
        return lambda: x.sum() if axis is None else x.sum(dim=axis)

    def l2(self, x, axis):
        return lambda: self.torch.linalg.vector_norm(x, dim=axis)

    def argmax(self, x, axis):
        return lambda: x.argmax(dim=axis)

    def var(self, x, axis):
        return lambda: self.torch.var(x, dim=axis, correction=0)

    def dot(self, x, y):
        return lambda: (x * y).sum()

    def bytes(self, x):
        return x.numel() * x.element_size()

    def ms(self, call):
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        call()
        for _ in range(self.runs):
            start.record()
            call()
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop))
        return statistics.median(times)


def prepare(peer, name, scale):
    """The call of a row and the bytes it must read, or None when the peer has no such thing."""
    side = scaled((1 << 14, 1 << 14), scale)
    whole = scaled((1 << 28,), scale)
    kind, _, rest = name.partition("_")
    if kind in ("sum", "l2") and rest in SHAPES:
        shape, axis = SHAPES[rest]
        x = peer.array(scaled(shape, scale))
        return getattr(peer, kind)(x, axis), peer.bytes(x)
    if kind == "sum" and rest in DTYPES:
        x = peer.array(whole, rest)
        return None if x is None else (peer.sum(x, None), peer.bytes(x))
    if name.startswith("sum_transposed"):
        x = peer.array(side)
        return peer.sum(x.T, int(name[-1])), peer.bytes(x)
    if name.startswith("sum_second_row"):
        rows = scaled((1 << 13, 1 << 14), scale)
        x = peer.array((2 * rows[0], rows[1]))
        axis = int(name[-1]) if name[-1].isdigit() else None
        return peer.sum(x[::2], axis), peer.bytes(x) // 2
    if kind in ("argmax", "var"):
        x = peer.array(side if rest else whole)
        return getattr(peer, kind)(x, int(rest) if rest else None), peer.bytes(x)
    if name == "two_inputs":
        x, y = (peer.array(scaled((1 << 27,), scale)) for _ in range(2))
        return peer.dot(x, y), 2 * peer.bytes(x)
    return None


def run_peer(kind, names, scale):
    """Print one line of JSON a row, so that a peer that crashes keeps what it has done."""
    peer = Torch() if kind == "torch" else Cupy()
    print(json.dumps({"version": peer.version}), flush=True)
    for name in names:
        made = prepare(peer, name, scale)
        if made is None:
            continue
        call, read = made
        print(json.dumps({"case": name, "value": read / peer.ms(call) / 1e6}), flush=True)


def main(file, run, peers):
    """What a file of peers does: by itself with --peer, else for all of `peers`, each a key of the result, Cupy's
    or Torch's name, and CuPy's accelerators (None: its default); `run` is the file's own run_peer()."""
    if len(sys.argv) > 2 and sys.argv[1] == "--peer":
        run(sys.argv[2], sys.argv[4:], int(sys.argv[3]))
        return
    path = sys.argv[1]
    scale = int(sys.argv[sys.argv.index("--scale") + 1]) if "--scale" in sys.argv else 1
    fields = result.read(path)
    names = [row["case"] for row in fields["rows"] if row["unit"] == "GB/s"]
    for key, kind, accelerators in peers:
        result.add_peer(fields, key, [file, "--peer", kind, str(scale)] + names,
                        {} if accelerators is None else {"CUPY_ACCELERATORS": accelerators})
        result.write(path, fields)


if __name__ == "__main__":
    main(__file__, run_peer, (("cupy", "cupy", ""), ("cupy_cub", "cupy", "cub"), ("torch", "torch", "")))
