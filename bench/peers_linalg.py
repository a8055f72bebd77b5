"""Factorisations by kiln, CuPy and PyTorch on one GPU, in one process and in turns.

    python3 bench/peers_linalg.py libkiln.so [seconds] [case ...]

A line holds a case (function, dtype, stack x rows), the least time of each in milliseconds, and how many times as
fast kiln is as the better of the other two. Every call is waited for: all three look at what the matrices came to.
Operands are random; those of cholesky are positive definite. A case that takes a peer more than a second is run
once. kiln is called through ctypes, which costs it a few microseconds a call.
"""
import ctypes
import sys
import time

import numpy as np


class Kiln:
    """The calls of libkiln that the cases need."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.error = ctypes.create_string_buffer(4096)
        self.ctx = ctypes.c_void_p()
        self.check(self.lib.kiln_context_create(None, ctypes.byref(self.ctx), self.error))
        self.lib.kiln_dtype_from_name.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.error[4:].split(b"\0")[0].decode())

    def array(self, host):
        shape = (ctypes.c_int64 * host.ndim)(*host.shape)
        dtype = host.dtype.name.encode()
        out = ctypes.c_void_p()
        host = np.ascontiguousarray(host)
        self.check(self.lib.kiln_array_from_host(
            self.ctx, self.lib.kiln_dtype_from_name(dtype, len(dtype)),
            host.ndim, shape, host.ctypes.data_as(ctypes.c_void_p), None, ctypes.byref(out), self.error))
        return out

    def call(self, name, operands, results):
        outs = [ctypes.c_void_p() for _ in range(results)]
        function = getattr(self.lib, "kiln_linalg_" + name)
        self.check(function(*operands, None, *[ctypes.byref(out) for out in outs], self.error))
        return outs

    def release(self, outs):
        self.lib.kiln_array_release.restype = None
        for out in outs:
            self.lib.kiln_array_release(out)

    def wait(self):
        self.check(self.lib.kiln_context_synchronize(self.ctx, self.error))


# function: operands, results of kiln, CuPy's call, PyTorch's call
FUNCTIONS = {
    "cholesky": (1, 1, "cholesky", "cholesky"),
    "solve": (2, 1, "solve", "solve"),
    "inv": (1, 1, "inv", "inv"),
    "qr": (1, 2, "qr", "qr"),
    "eigh": (1, 2, "eigh", "eigh"),
    "svd": (1, 3, "svd", "svd"),
}


def cases(named):
    plan = []
    for n, stack in ((4, 100000), (8, 100000), (16, 100000), (32, 100000), (100, 1000),
                     (512, 1), (2048, 1), (8192, 1)):
        for function in FUNCTIONS:
            for dtype in ("float32", "float64"):
                if n == 8192 and (function in ("svd", "eigh") or dtype == "float64"):
                    continue
                plan.append((function, dtype, stack, n))
    return [c for c in plan if not named or "%s-%s-%dx%d" % c in named
            or "%s-%d" % (c[0], c[3]) in named or str(c[3]) in named]


def operands(function, dtype, stack, n):
    random = np.random.default_rng(n)
    shape = (stack, n, n) if stack > 1 else (n, n)
    a = random.standard_normal(shape, dtype=dtype)
    if function == "cholesky" or function == "eigh":
        a = a + np.swapaxes(a, -1, -2)
    if function == "cholesky":
        a += np.asarray(4 * n, dtype) * np.eye(n, dtype=dtype)
    b = random.standard_normal(shape[:-1] + (1,), dtype=dtype)
    return [a, b][:FUNCTIONS[function][0]]


def measure(run, wait, until):
    """Milliseconds; None where the call fails or time is up."""
    best = None
    for turn in range(4):
        if time.perf_counter() > until:
            break
        wait()
        begin = time.perf_counter()
        try:
            run()
            wait()
        except Exception as problem:  # a peer that refuses a case
            print("  ", type(problem).__name__, str(problem)[:120])
            return None
        took = (time.perf_counter() - begin) * 1e3
        if turn > 0 or took > 500:
            best = took if best is None else min(best, took)
        if took > 500:
            break
    return best


def main():
    import cupy
    import torch

    kiln = Kiln(sys.argv[1])
    until = time.perf_counter() + float(sys.argv[2] if len(sys.argv) > 2 else 60)
    print("%-26s %10s %10s %10s %8s" % ("", "kiln", "CuPy", "PyTorch", "ratio"))
    for function, dtype, stack, n in cases(sys.argv[3:]):
        if time.perf_counter() > until:
            print("time is up")
            break
        _, results, cupy_name, torch_name = FUNCTIONS[function]
        host = operands(function, dtype, stack, n)
        ours = [kiln.array(x) for x in host]
        theirs = [cupy.asarray(x) for x in host]
        tensors = [torch.from_numpy(x).cuda() for x in host]

        def run_kiln():
            kiln.release(kiln.call(function, ours, results))

        extra = {"full_matrices": False} if function == "svd" else {}
        times = [
            measure(run_kiln, kiln.wait, until),
            measure(lambda: getattr(cupy.linalg, cupy_name)(*theirs, **extra),
                    cupy.cuda.Device().synchronize, until),
            measure(lambda: getattr(torch.linalg, torch_name)(*tensors, **extra),
                    torch.cuda.synchronize, until)]
        peers = [t for t in times[1:] if t is not None]
        ratio = "%8.2f" % (min(peers) / times[0]) if peers and times[0] else "       -"
        text = ["%10.3f" % t if t is not None else "         -" for t in times]
        print("%-26s %s %s" % ("%s-%s-%dx%d" % (function, dtype, stack, n), " ".join(text), ratio),
              flush=True)
        kiln.release(ours)
        del theirs, tensors
        cupy.get_default_memory_pool().free_all_blocks()
        torch.cuda.empty_cache()


main()
