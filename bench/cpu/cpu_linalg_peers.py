"""Products, equations and eigenvalues on the cpu device and by NumPy, in one process and in turns.

    python3 cpu_linalg_peers.py libkiln.so THREADS [seconds]

NumPy should be one that uses the BLAS of the system, as that of a Linux distribution does: the line "loaded" tells. A
line holds a case, the least milliseconds of a call by kiln and by NumPy, and how many times as fast kiln is. With one
thread those of a millisecond and more are of the processor's time, which other programs of the machine disturb less;
all others are of the clock. kiln is called through ctypes, which costs it a few microseconds a call. In the last
cases kiln multiplies itself, as without a BLAS (KILN_BLAS=none, in a process of its own): NumPy's time is then that
of the library.
"""
import ctypes
import os
import subprocess
import sys
import time

THREADS = int(sys.argv[2])
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402

OWN = os.environ.get("KILN_BLAS") == "none"


class ContextOptions(ctypes.Structure):
    """The first fields of kiln_context_options."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("cache_dir", ctypes.c_char_p),
                ("pool_limit_bytes", ctypes.c_size_t), ("pool_limit_percent", ctypes.c_int),
                ("cpu_threads", ctypes.c_int)]


class Kiln:
    """The calls of libkiln that the cases need; arrays are views of NumPy's."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.error = ctypes.create_string_buffer(4096)
        self.ctx = ctypes.c_void_p()
        self.lib.kiln_dtype_from_name.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.lib.kiln_array_release.restype = None
        options = ContextOptions(ctypes.sizeof(ContextOptions), b"cpu", None, 0, 0, THREADS)
        self.check(self.lib.kiln_context_create(ctypes.byref(options), ctypes.byref(self.ctx), self.error))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.error[4:].split(b"\0")[0].decode())

    def array(self, x):
        name = x.dtype.name.encode()
        out = ctypes.c_void_p()
        self.check(self.lib.kiln_array_wrap(
            self.ctx, self.lib.kiln_dtype_from_name(name, len(name)), x.ndim, (ctypes.c_int64 * x.ndim)(*x.shape), None,
            ctypes.c_void_p(x.ctypes.data), None, ctypes.c_size_t(x.nbytes), None, None, ctypes.byref(out), self.error))
        return out

    def caller(self, name, operands, results):
        outs = [ctypes.c_void_p() for _ in range(results)]
        arguments = [*[self.array(x) for x in operands], None, *[ctypes.byref(out) for out in outs], self.error]
        function = getattr(self.lib, name)

        def call():
            self.check(function(*arguments))
            self.check(self.lib.kiln_context_synchronize(self.ctx, self.error))
            for out in outs:
                self.lib.kiln_array_release(out)
                out.value = None
        return call


def cases(kiln):
    draw = np.random.default_rng(1)
    for n in (64, 256, 1024, 2048):
        for dtype in ("float32",) if OWN else ("float32", "float64", "complex64"):
            a, b = (draw.standard_normal((n, n)).astype(dtype) for _ in range(2))
            if n < 2048 or dtype != "complex64":
                yield f"matmul-{dtype}-{n}", kiln.caller("kiln_matmul", (a, b), 1), lambda a=a, b=b: a @ b
    for n in () if OWN else (64, 256, 1024):
        for dtype in ("float32", "float64"):
            a, b = (draw.standard_normal((n, n)).astype(dtype) for _ in range(2))
            s = a + a.T
            v = b[:, 0].copy()
            yield (f"solve-{dtype}-{n}", kiln.caller("kiln_linalg_solve", (a, v), 1),
                   lambda a=a, v=v: np.linalg.solve(a, v))
            yield (f"solve-{dtype}-{n}x{n}", kiln.caller("kiln_linalg_solve", (a, b), 1),
                   lambda a=a, b=b: np.linalg.solve(a, b))
            yield f"eigh-{dtype}-{n}", kiln.caller("kiln_linalg_eigh", (s,), 2), lambda s=s: np.linalg.eigh(s)


def measure(ours, theirs, seconds):
    best = [1e9, 1e9]
    until = time.perf_counter() + seconds
    turn = 0
    theirs()
    begin = time.perf_counter()
    theirs()
    long = time.perf_counter() - begin > 1e-3
    now = time.process_time if THREADS == 1 and long else time.perf_counter
    while time.perf_counter() < until or turn < 6:
        for which, run in enumerate((ours, theirs)):
            begin = now()
            run()
            best[which] = min(best[which], now() - begin)
        turn += 1
    return [t * 1e3 for t in best]


def main():
    kiln = Kiln(sys.argv[1])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 1
    if not OWN:
        print(f"{THREADS} threads; NumPy {np.__version__}; kiln's time, NumPy's, ratio")
    for name, ours, theirs in cases(kiln):
        times = measure(ours, theirs, seconds)
        print("%-26s %10.3f %10.3f %7.3f%s" % (name, *times, times[1] / times[0], "  without a BLAS" if OWN else ""), flush=True)
    if not OWN:
        with open("/proc/self/maps") as maps:
            print("loaded:", *sorted({line.split()[-1].split("/")[-1] for line in maps if "blas" in line or "lapack" in line}))
        subprocess.run([sys.executable, *sys.argv], env={**os.environ, "KILN_BLAS": "none"}, check=True)


main()
