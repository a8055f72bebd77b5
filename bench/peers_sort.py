"""Sorting by kiln, PyTorch and CuPy on one GPU, over the same memory, in one process and in turns.

    python3 bench/peers_sort.py libkiln.so GROUP [seconds]

GROUP is one of keys, pairs, entropy, rows, choose. A line holds a case, the least time of each in microseconds, billions of
elements a second by kiln, and how many times as fast kiln is as each. torch.sort always gives indices as well,
cupy.sort never does. Results are compared with PyTorch's. A time is that between two events around one call; in the
group "choose" (top-k, median, unique, histogram) it is the host's, until the device has nothing left to do.
"""
import ctypes
import sys
import time

import torch

from peers_matmul import NAMES, Kiln

try:
    import cupy
except ImportError:
    cupy = None

ROUNDS = 7
NAMES.update({torch.uint32: b"uint32", torch.int64: b"int64", torch.uint8: b"uint8", torch.float64: b"float64"})


class Axes(ctypes.Structure):
    """kiln_axes"""
    _fields_ = [("count", ctypes.c_int), ("axis", ctypes.c_int * 32)]


class Options(ctypes.Structure):
    """kiln_sort_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("stream", ctypes.c_void_p),
                ("axes", ctypes.POINTER(Axes)), ("descending", ctypes.c_bool)]


def sorter(kiln, function, tensor, out):
    axes = Axes(count=1)
    axes.axis[0] = tensor.dim() - 1
    options = Options(ctypes.sizeof(Options), kiln.stream, ctypes.pointer(axes), False)
    given, result = kiln.array(tensor), kiln.array(out)
    call = getattr(kiln.lib, function)
    return lambda: kiln.check(call(given, ctypes.byref(options), ctypes.byref(result), kiln.error))


def microseconds(calls, seconds):
    """The least time of each call, in turns."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = [float("inf")] * len(calls)
    stop = time.monotonic() + seconds
    for k in range(ROUNDS):
        for n, call in enumerate(calls):
            if call is None:
                continue
            begin.record()
            call()
            end.record()
            end.synchronize()
            if k > 0:
                best[n] = min(best[n], begin.elapsed_time(end) * 1000)
        if time.monotonic() > stop:
            break
    return best


def waited(calls, seconds):
    """The same by the host's clock, with the wait for the device."""
    best = [float("inf")] * len(calls)
    torch.cuda.synchronize()  # kiln's streams do not wait for PyTorch's, which may still write the operands
    for call in calls:
        if call is not None:
            call()
    stop = time.monotonic() + seconds
    for _ in range(ROUNDS):
        for n, call in enumerate(calls):
            if call is None:
                continue
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call()
            torch.cuda.synchronize()
            best[n] = min(best[n], (time.perf_counter() - begin) * 1e6)
        if time.monotonic() > stop:
            break
    return best


def view(tensor):
    """The tensor as an array of CuPy."""
    memory = cupy.cuda.UnownedMemory(tensor.data_ptr(), tensor.nbytes, tensor)
    return cupy.ndarray(tuple(tensor.shape), NAMES[tensor.dtype].decode(), cupy.cuda.MemoryPointer(memory, 0))


def row_options(kiln, x):
    axes = Axes(count=1)
    axes.axis[0] = x.dim() - 1
    return Options(ctypes.sizeof(Options), kiln.stream, ctypes.pointer(axes), False)


def fresh(kiln, function, count, *args):
    """A call whose `count` results are made anew; without one, those of the call before are kept."""
    call, made = getattr(kiln.lib, function), (ctypes.c_void_p * count)()

    def run():
        for k in range(count):
            kiln.lib.kiln_array_release(made[k])
            made[k] = None
        places = [ctypes.byref(made, 8 * k) for k in range(count)]
        kiln.check(call(*args, *places, kiln.error))
    return run


def chosen(name, elements, calls, seconds):
    try:
        us = waited(calls, seconds)
    except Exception as error:  # a peer without memory, say
        us = waited([calls[0], None, None], seconds)
        print(name, str(error)[:60])
    print(f"{name:34} {us[0]:10.1f} {us[1]:10.1f} {us[2]:10.1f} {elements / us[0] / 1e3:7.2f} G/s "
          f"{us[1] / us[0]:6.2f} {us[2] / us[0]:6.2f}", flush=True)


def choose(kiln, seconds):
    for n in (32, 201, 1024, 8192):
        x = keys(((1 << 26) // n, n), torch.float32)
        given, options, k = kiln.array(x), row_options(kiln, x), ctypes.c_int64(10)
        chosen(f"topk 10 of rows of {n}", x.numel(),
               [fresh(kiln, "kiln_array_topk", 2, given, k, ctypes.byref(options)),
                lambda: torch.topk(x, 10, dim=-1),
                (lambda: cupy.partition(view(x), n - 10, axis=-1)) if cupy else None], seconds)
        chosen(f"median of rows of {n}", x.numel(),
               [fresh(kiln, "kiln_array_median", 1, given, ctypes.byref(options)),
                lambda: torch.median(x, dim=-1), (lambda: cupy.median(view(x), axis=-1)) if cupy else None], seconds)
        torch.cuda.empty_cache()
    for below in (10, 20, 30):
        x = torch.randint(0, 1 << below, (1 << 26,), device="cuda", dtype=torch.int32)
        null = ctypes.c_void_p()

        def unique(given=kiln.array(x)):
            made = ctypes.c_void_p()
            kiln.check(kiln.lib.kiln_array_unique(given, ctypes.byref(made), null, null, null, kiln.error))
            kiln.lib.kiln_array_release(made)
        chosen(f"unique of 2^26 int32 below 2^{below}", x.numel(),
               [unique, lambda: torch.unique(x), (lambda: cupy.unique(view(x))) if cupy else None], seconds)
        torch.cuda.empty_cache()
    x = torch.rand(1 << 28, device="cuda", dtype=torch.float32)
    chosen("reading 2^28 float32 (torch.sum)", x.numel(), [lambda: torch.sum(x), None, None], seconds)
    for bins in (10, 256, 100000):
        edges = torch.linspace(0, 1, bins + 1, device="cuda", dtype=torch.float64)
        whole = view(edges) if cupy else None
        chosen(f"histogram of 2^28, {bins} bins", x.numel(),
               [fresh(kiln, "kiln_array_histogram", 1, kiln.array(x), kiln.array(edges)),
                lambda: torch.histc(x, bins, 0, 1), (lambda: cupy.histogram(view(x), whole)) if cupy else None],
               seconds)


def keys(shape, dtype, few=None):
    if dtype is torch.float32:
        x = torch.randn(shape, device="cuda")
    else:
        x = torch.randint(-2**31, 2**31 - 1, shape, device="cuda", dtype=torch.int64)
        x = x * 2862933555777941757 if dtype is torch.int64 else x.to(torch.int32)
    for _ in range(few or 0):  # fewer bits are set with each "and"
        x = x & (torch.randint(-2**31, 2**31 - 1, shape, device="cuda", dtype=torch.int64).to(x.dtype))
    return x.view(torch.uint32) if dtype is torch.uint32 else x


def line(kiln, name, x, function, seconds):
    plain = x.view(torch.int32) if x.dtype is torch.uint32 else x  # PyTorch sorts no uint32
    out = torch.empty(x.shape, dtype=torch.int64 if "arg" in function else x.dtype, device="cuda")
    values, indices = torch.empty_like(plain), torch.empty(x.shape, dtype=torch.int64, device="cuda")
    calls = [sorter(kiln, function, x, out), lambda: torch.sort(plain, dim=-1, out=(values, indices)), None]
    if cupy is not None and x.numel() <= 2**28 and x.dim() == 1:
        calls[2] = (lambda: cupy.argsort(view(x))) if "arg" in function else (lambda: cupy.sort(view(x)))
    for call in calls:
        if call is not None:
            call()
    torch.cuda.synchronize()
    try:
        us = microseconds(calls, seconds)
    except Exception as error:  # a peer without memory, say
        us = microseconds([calls[0], None, None], seconds)
        print(name, str(error)[:60])
    right = ""
    if x.dtype is not torch.uint32 and us[1] < float("inf"):
        sorted_x = torch.gather(x, -1, out) if "arg" in function else out
        right = "right" if torch.equal(sorted_x, values) else "WRONG"
    rate = x.numel() / us[0] / 1e3
    print(f"{name:34} {us[0]:10.1f} {us[1]:10.1f} {us[2]:10.1f} {rate:7.2f} G/s {us[1] / us[0]:6.2f} "
          f"{us[2] / us[0]:6.2f} {right}", flush=True)


def main():
    kiln = Kiln(sys.argv[1])
    group, seconds = sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    # Memory beside PyTorch's: kiln's and CuPy's pools are their own.
    sizes = (10, 14, 16, 20, 24, 28, 30)
    if group == "keys":
        for dtype in (torch.uint32, torch.float32, torch.int64):
            for n in sizes[:6] if dtype is torch.int64 else sizes:
                line(kiln, f"sort 2^{n} {NAMES[dtype].decode()}", keys((1 << n,), dtype), "kiln_array_sort", seconds)
                torch.cuda.empty_cache()
    if group == "pairs":
        for n in sizes[:6]:
            line(kiln, f"argsort 2^{n} float32", keys((1 << n,), torch.float32), "kiln_array_argsort", seconds)
    if group == "entropy":
        for few in (0, 1, 3, 6):
            line(kiln, f"sort 2^28 int32, {few} and", keys((1 << 28,), torch.int32, few), "kiln_array_sort", seconds)
    if group == "choose":
        choose(kiln, seconds)
    if group == "rows":
        for n in (32, 201, 1024, 2048, 4096, 8192, 16384):
            x = keys(((1 << 27) // n, n), torch.float32)
            line(kiln, f"sort rows of {n} float32", x, "kiln_array_sort", seconds)
            line(kiln, f"argsort rows of {n} float32", x, "kiln_array_argsort", seconds)


if __name__ == "__main__":
    main()
