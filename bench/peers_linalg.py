"""Factorisations by kiln, CuPy and PyTorch on one GPU, in one process and in turns.

    python3 bench/peers_linalg.py libkiln.so [seconds] [--kernels] [case ...]

A case is named by its function, its dtype, its rows, or some of them: "4", "eigh-512", "float32-8". A line holds a
case, the least time of each in milliseconds, and how many times as fast kiln is as the better of the other two. Calls follow
each other for at least 10 ms before they are waited for; all three look at what the matrices came to in each.
Operands are random; those of cholesky are positive definite. A call that takes more than half a second is made twice.
"~": of a stack that CuPy factorises matrix by matrix, a hundredth was measured. kiln is called through ctypes,
which costs it a few microseconds a call. --kernels adds the time of kiln's own kernels, by PyTorch's profiler.
"""
import ctypes
import sys
import time


class Kiln:
    """The calls of libkiln that the cases need."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.error = ctypes.create_string_buffer(4096)
        self.ctx = ctypes.c_void_p()
        self.check(self.lib.kiln_context_create(None, ctypes.byref(self.ctx), self.error))
        self.lib.kiln_array_release.restype = None
        self.lib.kiln_dtype_from_name.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.error[4:].split(b"\0")[0].decode())

    def array(self, tensor):
        """The memory of a contiguous tensor."""
        shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
        dtype = str(tensor.dtype).split(".")[1].encode()
        out = ctypes.c_void_p()
        self.check(self.lib.kiln_array_wrap(
            self.ctx, self.lib.kiln_dtype_from_name(dtype, ctypes.c_size_t(len(dtype))),
            tensor.dim(), shape, None, ctypes.c_void_p(tensor.data_ptr()), None,
            ctypes.c_size_t(tensor.numel() * tensor.element_size()), None, None, ctypes.byref(out),
            self.error))
        return out

    def caller(self, name, operands, results):
        """A function that calls kiln_linalg_NAME() and drops what it gives."""
        outs = [ctypes.c_void_p() for _ in range(results)]
        arguments = [*operands, None, *[ctypes.byref(out) for out in outs], self.error]
        function, release = getattr(self.lib, "kiln_linalg_" + name), self.lib.kiln_array_release

        def call():
            status = function(*arguments)
            for out in outs:
                release(out)
                out.value = None
            self.check(status)
        return call

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

# What CuPy does with a loop over the matrices of a stack.
CUPY_LOOPS = {"qr"}


def cases(named):
    plan = []
    for n, stack in ((4, 100000), (8, 100000), (16, 100000), (32, 100000), (100, 1000),
                     (512, 1), (2048, 1), (8192, 1)):
        for function in FUNCTIONS:
            for dtype in ("float32", "float64"):
                if n == 8192 and dtype == "float64":
                    continue
                parts = {function, dtype, str(n)}
                if not named or any(set(name.split("-")) <= parts for name in named):
                    plan.append((function, dtype, stack, n))
    return plan


def operands(torch, function, dtype, stack, n):
    torch.manual_seed(n)
    shape = (stack, n, n) if stack > 1 else (n, n)
    options = {"dtype": getattr(torch, dtype), "device": "cuda"}
    a = torch.randn(shape, **options)
    if function == "cholesky" or function == "eigh":
        a = a + a.mT
    if function == "cholesky":
        a = a + 4 * n * torch.eye(n, **options)
    b = torch.randn(shape[:-1] + (1,), **options)
    return [x.contiguous() for x in (a, b)[:FUNCTIONS[function][0]]]


def measure(run, wait, until):
    """Milliseconds; None where the call fails or time is up."""
    best, calls = None, 1
    for turn in range(5):
        if time.perf_counter() > until:
            break
        wait()
        begin = time.perf_counter()
        try:
            for _ in range(calls):
                run()
            wait()
        except Exception as problem:  # a peer that refuses a case
            print("  ", type(problem).__name__, str(problem)[:120])
            return None
        took = (time.perf_counter() - begin) * 1e3 / calls
        if turn > 1 or took > 500:  # the first call loads libraries and compiles
            best = took if best is None else min(best, took)
        if took > (5000 if turn == 0 else 500):
            break
        calls = max(1, min(50, int(10 / took)))
    return best


def print_kernels(torch, run):
    """The kernels of one call, the longest first."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(5):
            run()
        torch.cuda.synchronize()
    rows = sorted(seen.key_averages(), key=lambda e: -e.self_device_time_total)[:4]
    for row in rows:
        print("    %9.1f us  %dx  %s" % (row.self_device_time_total / 5, row.count // 5, row.key[:60]))


def compare(kiln, torch, cupy, case, until, kernels):
    function, dtype, stack, n = case
    _, results, cupy_name, torch_name = FUNCTIONS[function]
    tensors = operands(torch, function, dtype, stack, n)
    torch.cuda.synchronize()
    ours = [kiln.array(x) for x in tensors]
    part = stack // 100 if stack > 10000 and function in CUPY_LOOPS else stack
    theirs = [cupy.from_dlpack(x[:part] if part < stack else x) for x in tensors]
    extra = {"full_matrices": False} if function == "svd" else {}

    run_kiln = kiln.caller(function, ours, results)
    times = [
        measure(run_kiln, kiln.wait, until),
        measure(lambda: getattr(cupy.linalg, cupy_name)(*theirs, **extra),
                cupy.cuda.Device().synchronize, until),
        measure(lambda: getattr(torch.linalg, torch_name)(*tensors, **extra),
                torch.cuda.synchronize, until)]
    if part < stack and times[1] is not None:
        times[1] *= stack / part
    peers = [t for t in times[1:] if t is not None]
    ratio = "%8.2f" % (min(peers) / times[0]) if peers and times[0] else "       -"
    text = ["%10.3f" % t if t is not None else "         -" for t in times]
    print("%-26s %s %s%s" % ("%s-%s-%dx%d" % case, " ".join(text), ratio,
                             " ~" if part < stack else ""), flush=True)
    if kernels:
        print_kernels(torch, run_kiln)
    kiln.wait()
    for array in ours:
        kiln.lib.kiln_array_release(array)


def main():
    import cupy
    import torch

    words = [word for word in sys.argv[2:] if word != "--kernels"]
    kiln = Kiln(sys.argv[1])
    until = time.perf_counter() + float(words[0] if words else 60)
    print("%-26s %10s %10s %10s %8s" % ("", "kiln", "CuPy", "PyTorch", "ratio"))
    for case in cases(words[1:]):
        if time.perf_counter() > until:
            print("time is up")
            break
        compare(kiln, torch, cupy, case, until, "--kernels" in sys.argv)
        cupy.get_default_memory_pool().free_all_blocks()
        torch.cuda.empty_cache()


main()
