"""Functions of arrays on the cpu device beside NumPy's, in turns: a table of milliseconds.

    PYTHONPATH=build/python taskset -c 0 python3 bench/cpu/arrays_peers.py [--only REGEX]

Each case runs kiln and NumPy by turns for --seconds; of each the time counts that one run in ten
does not exceed, because other programs may share the processor (and a virtual machine's clock of a
thread sometimes stands still); with one processor it is the time that the thread has had.
kiln takes and gives arrays of its own; both allocate results.
kiln has as many threads as taskset leaves it processors, NumPy has one. `--below 1` prints those
cases alone in which kiln is slower than NumPy.
"""
import argparse
import os
import re
import time

import numpy as np

import kiln

N = 1 << 22
CASES = {}
draw = np.random.default_rng(7)


def case(label, kiln_call, numpy_call):
    CASES[label] = (kiln_call, numpy_call)


def numbers(dtype, count):
    """Normal floating-point numbers, or all integers of a dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return draw.standard_normal(count).astype(dtype)
    info = np.iinfo(dtype)
    return draw.integers(info.min, info.max, count, dtype, endpoint=True)


class Arrays:
    """NumPy's arrays by name and kiln's beside them, made when they are first wanted."""

    def __init__(self, **makers):
        self.makers, self.made = makers, None

    def get(self):
        if self.made is None:
            theirs = {name: make() for name, make in self.makers.items()}
            ours = {name: kiln.asarray(x, device="cpu") for name, x in theirs.items()}
            self.made = ours, theirs
        return self.made


def both(label, arrays, call, numpy_call=None):
    """`call(module, x, y)` of kiln and of NumPy, whose names are the same."""
    case(label, lambda: call(kiln, **arrays.get()[0]),
         lambda: (numpy_call or call)(np, **arrays.get()[1]))


def power(count):
    return f"2^{count.bit_length() - 1}"


def sorts():
    for dtype in ("float32", "int32", "uint8", "int16", "int64", "float64"):
        for count in (1 << 16, 1 << 20, 1 << 22, 1 << 24):
            x = Arrays(x=lambda dtype=dtype, count=count: numbers(dtype, count))
            both(f"sort {power(count)} {dtype}", x, lambda m, x: m.sort(x))
            if count < 1 << 22:
                both(f"argsort {power(count)} {dtype}", x, lambda m, x: m.argsort(x))
    for dtype in ("float32", "float64", "int64"):
        for width in (16, 64, 256, 1024):
            x = Arrays(x=lambda dtype=dtype, width=width:
                       numbers(dtype, 1 << 20).reshape(-1, width))
            both(f"sort rows of {width} {dtype}", x, lambda m, x: m.sort(x, axis=-1))
    for dtype in ("float32", "float64", "int64"):
        x = Arrays(x=lambda dtype=dtype: numbers(dtype, N))
        both(f"median {dtype}", x, lambda m, x: m.median(x))
        both(f"partition {dtype}", x, lambda m, x: m.partition(x, 1000))
        both(f"topk 100 {dtype}", x, lambda m, x: m.topk(x, 100),
             lambda m, x: np.partition(x, N - 100)[N - 100:])
    for dtype in ("int32", "int64", "float32"):
        x = Arrays(x=lambda dtype=dtype: draw.integers(0, 1 << 12, N).astype(dtype))
        both(f"unique {dtype}, 2^12 values", x, lambda m, x: m.unique(x))
    x = Arrays(x=lambda: numbers("int32", 1 << 20))
    both("unique 2^20 int32, all values", x, lambda m, x: m.unique(x))
    for dtype in ("float32", "int64"):
        for count in (1 << 10, 1 << 20):
            x = Arrays(x=lambda dtype=dtype, count=count: np.sort(numbers(dtype, count)),
                       y=lambda dtype=dtype: numbers(dtype, 1 << 20))
            both(f"searchsorted of {power(count)} {dtype}", x, lambda m, x, y: m.searchsorted(x, y))
    for dtype in ("float32", "float64", "int32", "uint8"):
        x = Arrays(x=lambda dtype=dtype: numbers(dtype, N))
        both(f"histogram {dtype}, 10 bins", x, lambda m, x: m.histogram(x, 10)[0])
    for dtype in ("int64", "int32", "uint8"):
        x = Arrays(x=lambda dtype=dtype: draw.integers(0, 200, N).astype(dtype))
        both(f"bincount {dtype}, 200 values", x, lambda m, x: m.bincount(x))
    x = Arrays(x=lambda: draw.integers(0, 1 << 20, N))
    both("bincount int64, 2^20 values", x, lambda m, x: m.bincount(x))


def indices():
    for below in (1 << 12, 1 << 22):
        for kind in ("int32", "int64"):
            x = Arrays(x=lambda below=below: numbers("float32", below),
                       i=lambda below=below, kind=kind: draw.integers(0, below, N).astype(kind))
            both(f"x[i] float32, {kind} i below {power(below)}", x, lambda m, x, i: x[i])
    x = Arrays(x=lambda: numbers("float64", 1 << 12), i=lambda: draw.integers(0, 1 << 12, N))
    both("x[i] float64, int64 i below 2^12", x, lambda m, x, i: x[i])
    for dtype, width in (("float32", 4), ("float32", 16), ("float32", 64), ("float32", 256),
                         ("uint8", 64)):
        for kind in ("int32", "int64"):
            x = Arrays(x=lambda dtype=dtype, width=width:
                       numbers(dtype, 1 << 20).reshape(-1, width),
                       i=lambda width=width, kind=kind:
                       draw.integers(0, (1 << 20) // width, (1 << 22) // width).astype(kind))
            both(f"x[i], rows of {width} {dtype}, {kind}", x, lambda m, x, i: x[i])
    for share in (1, 50, 99):
        for dtype in ("float32", "float64", "uint8"):
            x = Arrays(x=lambda dtype=dtype: numbers(dtype, N),
                       mask=lambda share=share: draw.random(N) < share / 100)
            both(f"x[mask] {dtype}, {share} %", x, lambda m, x, mask: x[mask])
            both(f"partition_copy {dtype}, {share} %", x, lambda m, x, mask: m.partition_copy(x, mask),
                 lambda m, x, mask: (x[mask], x[~mask]))
            both(f"x[mask], x[~mask] {dtype}, {share} %", x, lambda m, x, mask: (x[mask], x[~mask]))
        x = Arrays(mask=lambda share=share: draw.random(N) < share / 100)
        both(f"flatnonzero(mask), {share} %", x, lambda m, mask: m.flatnonzero(mask))
    x = Arrays(x=lambda: (draw.random((1 << 11, 1 << 11)) < 0.1).astype("float32"))
    both("nonzero float32 of rank 2, 10 %", x, lambda m, x: m.nonzero(x))
    x = Arrays(x=lambda: numbers("float32", N).reshape(1 << 11, -1))
    both("argwhere(x > 2), rank 2", x, lambda m, x: m.argwhere(m.greater(x, 2)))
    x = Arrays(x=lambda: numbers("float32", N), y=lambda: numbers("float32", N),
               mask=lambda: draw.random(N) < 0.5)
    both("where(mask, x, y)", x, lambda m, x, y, mask: m.where(mask, x, y))
    x = Arrays(i=lambda: draw.integers(0, 4, N), x=lambda: numbers("float32", 4 * N).reshape(4, N))
    both("choose(i, 4 arrays)", x, lambda m, i, x: m.choose(i, (x[0], x[1], x[2], x[3])))
    x = Arrays(x=lambda: numbers("float32", N).reshape(-1, 64),
               i=lambda: draw.integers(0, 64, N).reshape(-1, 64))
    both("take_along_axis rows of 64", x, lambda m, x, i: m.take_along_axis(x, i, axis=1))


def rearrangements():
    for dtype in ("float32", "uint8"):
        x = Arrays(x=lambda dtype=dtype: numbers(dtype, N), y=lambda dtype=dtype: numbers(dtype, N))
        both(f"concat {dtype}", x, lambda m, x, y: m.concat((x, y)))
        both(f"roll {dtype}", x, lambda m, x, y: m.roll(x, 12345))
        both(f"tile {dtype} 4 times", x, lambda m, x, y: m.tile(x, 4))
        both(f"repeat {dtype} 4 times", x, lambda m, x, y: m.repeat(x, 4))
        x = Arrays(x=lambda dtype=dtype: numbers(dtype, N).reshape(1 << 11, -1),
                   y=lambda dtype=dtype: numbers(dtype, N).reshape(1 << 11, -1))
        both(f"concat {dtype}, axis 1", x, lambda m, x, y: m.concat((x, y), axis=1))
        both(f"stack {dtype}, axis -1", x, lambda m, x, y: m.stack((x, y), axis=-1))
        both(f"pad {dtype}, 3 each side", x, lambda m, x, y: m.pad(x, 3))
        both(f"roll {dtype}, both axes", x, lambda m, x, y: m.roll(x, (5, 7), axis=(0, 1)))
        both(f"flip {dtype}, copied", x, lambda m, x, y: m.flip(x, axis=1).copy())
        both(f"transpose {dtype}, copied", x, lambda m, x, y: x.T.copy(),
             lambda m, x, y: np.ascontiguousarray(x.T))


def scans():
    for dtype in ("float32", "float64", "int64"):
        x = Arrays(x=lambda dtype=dtype: numbers(dtype, N))
        both(f"cumsum {dtype}", x, lambda m, x: m.cumulative_sum(x))
    x = Arrays(x=lambda: numbers("float32", N).reshape(1 << 11, -1))
    for axis in (0, 1):
        both(f"cumsum float32, axis {axis}", x, lambda m, x, axis=axis: m.cumsum(x, axis=axis))
    both("diff float32", x, lambda m, x: m.diff(x))


def draws():
    theirs = np.random.default_rng(7)
    for dtype in ("float32", "float64"):
        for name in ("random", "standard_normal", "standard_exponential"):
            case(f"{name} {dtype}",
                 lambda name=name, dtype=dtype: kiln.eval(f"{name}(7, {N}, {dtype})"),
                 lambda name=name, dtype=dtype: getattr(theirs, name)(N, dtype))
    for dtype in ("int32", "int64", "uint8"):
        case(f"integers {dtype}, below 100",
             lambda dtype=dtype: kiln.eval(f"integers(7, {N}, 0, 100, {dtype})"),
             lambda dtype=dtype: theirs.integers(0, 100, N, dtype))
    case("integers int64, below 10^12", lambda: kiln.eval(f"integers(7, {N}, 0, 1000000000000)"),
         lambda: theirs.integers(0, 10**12, N))
    case("random bits uint64", lambda: kiln.eval(f"random_bits(7, {N})"),
         lambda: theirs.integers(0, 2**64 - 1, N, np.uint64, endpoint=True))
    case("permutation(2^20)", lambda: kiln.eval("permutation(7, 1048576)"),
         lambda: theirs.permutation(1 << 20))
    case("poisson(4)", lambda: kiln.eval("poisson(7, 1048576, 4)"),
         lambda: theirs.poisson(4, 1 << 20))


def lengths():
    """The same functions of 10^4 and of 10^7 elements."""
    for dtype, power_of_ten in ((d, p) for p in (4, 7)
                                for d in ("float32", "float64", "int32", "int64")):
        n = 10**power_of_ten
        rows = n // 100
        name = f"10^{power_of_ten} {dtype}"
        few = np.dtype(dtype).kind == "f" and 1 << 10 or 1 << 14
        x = Arrays(x=lambda dtype=dtype, n=n: numbers(dtype, n))
        repeated = Arrays(x=lambda dtype=dtype, n=n, few=few:
                          draw.integers(0, few, n).astype(dtype))
        both(f"sort {name}", x, lambda m, x: m.sort(x))
        both(f"argsort {name}", x, lambda m, x: m.argsort(x))
        both(f"partition {name}, in the middle", x, lambda m, x, n=n: m.partition(x, n // 2))
        both(f"argpartition {name}", x, lambda m, x, n=n: m.argpartition(x, n // 2))
        both(f"median {name}", x, lambda m, x: m.median(x))
        both(f"quantile {name}", x, lambda m, x: m.quantile(x, 0.9))
        both(f"unique {name}, all values", x, lambda m, x: m.unique(x))
        both(f"unique {name}, few values", repeated, lambda m, x: m.unique(x))
        both(f"histogram {name}, 256 bins", x, lambda m, x: m.histogram(x, 256)[0])
        y = Arrays(x=lambda dtype=dtype, n=n: np.sort(numbers(dtype, n)),
                   y=lambda dtype=dtype, n=n: numbers(dtype, n // 10))
        both(f"searchsorted {name}, a tenth", y, lambda m, x, y: m.searchsorted(x, y))
        y = Arrays(x=lambda dtype=dtype, n=n: numbers(dtype, n),
                   y=lambda dtype=dtype, n=n: numbers(dtype, n // 100))
        both(f"isin {name}, a hundredth", y, lambda m, x, y: m.isin(x, y))
        y = Arrays(x=lambda dtype=dtype, n=n: draw.integers(0, 4, n).astype(dtype))
        both(f"nonzero {name}, 75 %", y, lambda m, x: m.nonzero(x)[0])
        y = Arrays(x=lambda dtype=dtype, n=n: numbers(dtype, n),
                   i=lambda n=n: draw.random(n) < 0.3)
        both(f"x[mask] {name}, 30 %", y, lambda m, x, i: x[i])
        y = Arrays(x=lambda dtype=dtype, n=n: np.zeros(n // 10, dtype),
                   y=lambda dtype=dtype, n=n: draw.integers(0, 8, n).astype(dtype),
                   i=lambda n=n: draw.integers(0, n // 10, n))
        case(f"sums at places {name}, a tenth of them",
             lambda y=y: kiln.eval("scatter_add(x, i, y)", **y.get()[0]),
             lambda y=y: np.add.at(*[y.get()[1][k] for k in "xiy"]))
        y = Arrays(x=lambda dtype=dtype, n=n: numbers(dtype, n).reshape(-1, 100),
                   i=lambda rows=rows: draw.integers(0, 100, (rows, 100)))
        both(f"take_along_axis {name}", y, lambda m, x, i: m.take_along_axis(x, i, axis=1))
        both(f"take {name}", y, lambda m, x, i: m.take(x, i[0], axis=1))
        both(f"sort rows of 100 {name}", y, lambda m, x, i: m.sort(x, axis=1))
        both(f"argsort rows of 100 {name}", y, lambda m, x, i: m.argsort(x, axis=1))
        y = Arrays(x=lambda n=n: draw.integers(0, 100, n).astype("int32"),
                   y=lambda dtype=dtype, n=n: numbers(dtype, n))
        both(f"lexsort {name}", y, lambda m, x, y: m.lexsort((y, x)))


def others():
    """Small arrays, where the call counts, and what depends on odd numbers."""
    for n in (10, 10**3, 10**5):
        x = Arrays(x=lambda n=n: numbers("float32", n), i=lambda n=n: draw.integers(0, n, n))
        both(f"concat {n} float32", x, lambda m, x, i: m.concat((x, x)))
        both(f"take {n} float32", x, lambda m, x, i: m.take(x, i))
        both(f"x[i] {n} float32", x, lambda m, x, i: x[i])
        both(f"repeat {n} float32 3 times", x, lambda m, x, i: m.repeat(x, 3))
        for dtype in ("float32", "float64", "int32", "int64"):
            x = Arrays(x=lambda dtype=dtype, n=n: numbers(dtype, n))
            both(f"partition {n} {dtype}", x, lambda m, x, n=n: m.partition(x, n // 2))
            both(f"sort {n} {dtype}", x, lambda m, x: m.sort(x))
    theirs = np.random.default_rng(7)
    for n in (1000, 33000, 1 << 16, 10**5):
        case(f"permutation({n})", lambda n=n: kiln.eval(f"permutation(7, {n})"),
             lambda n=n: theirs.permutation(n))
    for dtype, high in (("uint8", 2), ("int32", 100), ("int32", 10**9), ("int64", 10**12)):
        case(f"integers {dtype}, 10^5 below {high}",
             lambda dtype=dtype, high=high: kiln.eval(f"integers(7, 100000, 0, {high}, {dtype})"),
             lambda dtype=dtype, high=high: theirs.integers(0, high, 10**5, dtype))
    case("random float64, 10^5", lambda: kiln.eval("random(7, 100000, float64)"),
         lambda: theirs.random(10**5))
    case("gamma(2.5), 10^5", lambda: kiln.eval("gamma(7, 100000, 2.5)"),
         lambda: theirs.gamma(2.5, size=10**5))
    for share in (50, 99):
        for dtype in ("uint8", "int16"):
            x = Arrays(x=lambda dtype=dtype: numbers(dtype, 10**5),
                       mask=lambda share=share: draw.random(10**5) < share / 100)
            both(f"x[mask] {dtype}, {share} % of 10^5", x, lambda m, x, mask: x[mask])


def measure(label, seconds):
    """The time of kiln and of NumPy that one run in ten does not exceed, in turns."""
    calls, times = CASES[label], ([], [])
    clock = time.thread_time if len(os.sched_getaffinity(0)) == 1 else time.perf_counter
    for call in calls:
        call()
    start = clock()
    for call in calls:
        call()
    repeats = max(1, int(50e-6 / (clock() - start)))
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for k, call in enumerate(calls):
            start = clock()
            for _ in range(repeats):
                call()
            times[k].append((clock() - start) / repeats)
        rounds += 1
    return [1e3 * sorted(t)[len(t) // 10] for t in times]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--below", type=float, default=float("inf"))
    options = parser.parse_args()
    kiln.set_default_device("cpu")
    for group in (sorts, indices, rearrangements, scans, draws, lengths, others):
        group()
    threads = len(os.sched_getaffinity(0))
    print(f"{threads} thread(s), NumPy {np.__version__}, load {os.getloadavg()[0]:.1f}")
    print(f"{'':38}{'kiln':>10}{'NumPy':>10}{'ratio':>8}")
    for label in CASES:
        if re.search(options.only, label):
            ours, theirs = measure(label, options.seconds)
            if theirs / ours < options.below:
                print(f"{label:38}{ours:10.4f}{theirs:10.4f}{theirs / ours:8.2f}", flush=True)


if __name__ == "__main__":
    main()
