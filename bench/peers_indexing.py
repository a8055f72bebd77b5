"""The rows of bench_indexing by PyTorch and CuPy, device time between events, medians.

    peers_indexing.py [torch|cupy]
"""
import statistics
import sys

TABLE, BYTES = 1 << 30, 1 << 28


class Torch:
    def __init__(self):
        import torch
        self.t = torch
        print("torch", torch.__version__, "on", torch.cuda.get_device_name())

    def zeros(self, *shape):
        return self.t.zeros(shape, device="cuda")

    def indices(self, count, below):
        return self.t.randint(below, (count,), device="cuda", dtype=self.t.int32)

    def take(self, x, i, out):
        return lambda: self.t.index_select(x, 0, i, out=out)

    def product(self, x, i, y):
        return lambda: (x[i] * y).sum(1)

    def chain(self, x, i, y):
        return lambda: self.t.exp(x[i]) + y

    def total(self, x, i):
        return lambda: x[i].sum()

    def add(self, x, i, v, exact):
        self.t.use_deterministic_algorithms(exact)
        return lambda: x.index_add_(0, i, v)

    def event(self):
        return self.t.cuda.Event(True)

    def elapsed(self, begin, end):
        return begin.elapsed_time(end)


class Cupy:
    def __init__(self):
        import cupy
        self.c = cupy
        print("cupy", cupy.__version__)

    def zeros(self, *shape):
        return self.c.zeros(shape, "float32")

    def indices(self, count, below):
        return self.c.random.randint(0, below, count, dtype="int32")

    def take(self, x, i, out):
        return lambda: self.c.take(x, i, axis=0, out=out)

    def product(self, x, i, y):
        return lambda: (x[i] * y).sum(1)

    def chain(self, x, i, y):
        return lambda: self.c.exp(x[i]) + y

    def total(self, x, i):
        return lambda: x[i].sum()

    def add(self, x, i, v, exact):
        import cupyx
        return None if exact else lambda: cupyx.scatter_add(x, i, v)

    def event(self):
        return self.c.cuda.Event()

    def elapsed(self, begin, end):
        return self.c.cuda.get_elapsed_time(begin, end)


def median(peer, work, runs=9):
    times = []
    for k in range(-2, runs):
        begin, end = peer.event(), peer.event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(peer.elapsed(begin, end))
    return statistics.median(times[2:])


def tell(peer, name, work, moved):
    if work is not None:
        ms = median(peer, work)
        print(f"{name:34} {ms:9.4f} ms {moved / ms * 1e-6:7.0f} GB/s", flush=True)


def main():
    peer = Cupy() if sys.argv[1:] == ["cupy"] else Torch()
    for size in (64, 256, 1024, 4096):
        count, columns = BYTES // size, size // 4
        tell(peer, f"take, rows of {size} bytes",
             peer.take(peer.zeros(TABLE // size, columns), peer.indices(count, TABLE // size),
                       peer.zeros(count, columns)), 2 * BYTES + 4 * count)
    count = BYTES // 4
    for log2 in (18, 23, 28):
        tell(peer, f"take, float32 out of 2^{log2}",
             peer.take(peer.zeros(1 << log2), peer.indices(count, 1 << log2), peer.zeros(count)),
             12 * count)
    rows = BYTES // 1024
    tell(peer, "sum(x[i] * y, axis=1), rows of 1024",
         peer.product(peer.zeros(TABLE // 1024, 256), peer.indices(rows, TABLE // 1024),
                      peer.zeros(rows, 256)), 2 * BYTES + 8 * rows)
    small, i, y = peer.zeros(1 << 18), peer.indices(count, 1 << 18), peer.zeros(count)
    tell(peer, "exp(x[i]) + y, out of 2^18", peer.chain(small, i, y), 16 * count)
    tell(peer, "sum(x[i]), out of 2^18", peer.total(small, i), 8 * count)
    for exact in (False, True):
        for log2 in (10, 16, 20, 24):
            tell(peer, f"add into 2^{log2}{', reproducible' if exact else ''}",
                 peer.add(peer.zeros(1 << log2), peer.indices(count, 1 << log2), y, exact),
                 8 * count)


main()
