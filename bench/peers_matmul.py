"""Products of matrices by kiln and PyTorch on one GPU, over the same memory, in one process and in turns.

    python3 bench/peers_matmul.py libkiln.so GROUP [seconds]

GROUP is one of skinny, stacks, epilogues, einsum, attention, float8, tuned (algorithms measured). A line holds a case, the least time of each in
microseconds, how many times as fast kiln is, and the largest difference of the results as a part of the largest
element. A time is that of a call among many that are enqueued before the device is waited for: where a product
takes less than its call, it is the host's. kiln is called through ctypes, which costs it a few microseconds a call.
In the group of epilogues PyTorch's functions are compiled by torch.compile; elsewhere they are called as they are.
"""
import ctypes
import os
import sys
import time

import torch

NAMES = {torch.float16: b"float16", torch.bfloat16: b"bfloat16", torch.float32: b"float32",
         torch.float64: b"float64", torch.int32: b"int32", torch.int8: b"int8",
         torch.float8_e4m3fn: b"float8_e4m3fn", torch.float8_e5m2: b"float8_e5m2"}
TORCH = {name.decode(): dtype for dtype, name in NAMES.items()}
ROUNDS = 7


class Arg(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("value", ctypes.c_void_p), ("more", ctypes.c_void_p)]


class Options(ctypes.Structure):
    """kiln_matmul_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("stream", ctypes.c_void_p), ("dtype", ctypes.c_int),
                ("compute", ctypes.c_int), ("alpha", ctypes.c_double), ("beta", ctypes.c_double),
                ("c", ctypes.c_void_p), ("bias", ctypes.c_void_p), ("epilogue", ctypes.c_int),
                ("autotune", ctypes.c_bool)]


class GraphOptions(ctypes.Structure):
    """kiln_graph_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("wide", ctypes.c_int)]


class Kiln:
    """The calls of libkiln that the cases need; arrays are views of PyTorch's tensors."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.error = ctypes.create_string_buffer(8192)
        self.ctx = ctypes.c_void_p()
        self.check(self.lib.kiln_context_create(None, ctypes.byref(self.ctx), self.error))
        self.lib.kiln_dtype_from_name.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.lib.kiln_array_release.argtypes = [ctypes.c_void_p]
        self.lib.kiln_array_release.restype = None
        self.stream = ctypes.c_void_p()
        self.check(self.lib.kiln_stream_wrap(
            self.ctx, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream or 1),
            ctypes.byref(self.stream), self.error))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.error[4:].split(b"\0")[0].decode())

    def array(self, tensor):
        name = NAMES[tensor.dtype]
        size = tensor.element_size()
        out = ctypes.c_void_p()
        rank = tensor.dim()
        base = tensor.untyped_storage()
        self.check(self.lib.kiln_array_wrap(
            self.ctx, self.lib.kiln_dtype_from_name(name, len(name)), rank,
            (ctypes.c_int64 * rank)(*tensor.shape),
            (ctypes.c_int64 * rank)(*[s * size for s in tensor.stride()]),
            ctypes.c_void_p(tensor.data_ptr()), ctypes.c_void_p(base.data_ptr()),
            ctypes.c_size_t(base.nbytes()), None, None, ctypes.byref(out), self.error))
        return out

    def options(self, **fields):
        return Options(struct_size=ctypes.sizeof(Options), stream=self.stream, **fields)

    def matmul(self, a, b, y, **fields):
        """A function that makes the call."""
        options = self.options(**fields)
        a, b, y = self.array(a), self.array(b), self.array(y)
        call, args = self.lib.kiln_matmul, (a, b, ctypes.byref(options), ctypes.byref(y), self.error)
        return lambda: self.check(call(*args))

    def einsum(self, text, tensors, y):
        options = self.options()
        arrays = (ctypes.c_void_p * len(tensors))(*[self.array(t) for t in tensors])
        y = self.array(y)
        call = self.lib.kiln_array_einsum
        args = (text.encode(), arrays, ctypes.c_size_t(len(tensors)), ctypes.byref(options),
                ctypes.byref(y), self.error)
        return lambda: self.check(call(*args))

    def graph(self, text, names, tensors, y):
        """The same for an expression, of a graph that keeps 16-bit floats in float32 between its operations, as
        torch.compile does; KILN_EXPLAIN prints its steps."""
        graph, results = ctypes.c_void_p(), ctypes.c_size_t()
        options = GraphOptions(ctypes.sizeof(GraphOptions), None, 1)
        self.check(self.lib.kiln_graph_parse(
            self.ctx, text.encode(), (ctypes.c_char_p * len(names))(*[n.encode() for n in names]),
            ctypes.c_size_t(len(names)), ctypes.byref(options), ctypes.byref(graph), ctypes.byref(results), self.error))
        args = (Arg * (len(tensors) + 1))(*[Arg(1, self.array(t).value) for t in [*tensors, y]])
        call_options = (ctypes.c_void_p * 2)(16, self.stream)
        count = ctypes.c_size_t(len(args))
        if os.environ.get("KILN_EXPLAIN"):
            said = ctypes.c_char_p()
            self.check(self.lib.kiln_graph_explain(graph, args, count, ctypes.byref(said), self.error))
            print(said.value.decode())
        call = self.lib.kiln_graph_run
        return lambda: self.check(call(graph, args, count, call_options, self.error))


def draw(*shape, dtype="float16", scale=1.0):
    if dtype in ("int8", "int32"):
        return torch.randint(-8, 8, shape, dtype=TORCH[dtype], device="cuda")
    return (torch.randn(shape, device="cuda") * scale).to(TORCH[dtype])


# Each group yields (case, kiln's call, PyTorch's call, where kiln's result is).


def skinny(kiln):
    for dtype in ("float16", "bfloat16", "float32"):
        for m in (1, 8, 16):
            for side in (4096, 8192, 16384):
                if dtype != "float16" and side == 16384:
                    continue
                a, b = draw(m, side, dtype=dtype), draw(side, side, dtype=dtype)
                y, theirs = torch.empty_like(a), torch.empty_like(a)
                yield (f"{dtype} {m} x {side} x {side}", kiln.matmul(a, b, y),
                       lambda a=a, b=b, out=theirs: torch.matmul(a, b, out=out), y)
                yield (f"{dtype} {m} x {side} x {side}, b.T", kiln.matmul(a, b.T, y),
                       lambda a=a, b=b, out=theirs: torch.matmul(a, b.T, out=out), y)


def stacks(kiln):
    for dtype in ("float16", "float32"):
        big = draw(4096, 4096, dtype=dtype)
        wide = draw(4096, 8192, dtype=dtype)
        a, b = draw(4096, 64, 128, dtype=dtype), draw(4096, 128, 64, dtype=dtype)
        few, other = draw(32, 2, 512, 512, dtype=dtype), draw(32, 512, 512, dtype=dtype)
        heads = draw(16, 1024, 16, 64, dtype=dtype)
        cases = {
            "4096 of 64 x 128 x 64": (a, b),
            "64 of 64 x 128 x 64": (a[:64], b[:64]),
            "8 of 64 x 128 x 64": (a[:8], b[:8]),
            "every second of 64, 512 x 512 x 512": (few[:, 0], other),
            "heads: (16, 16, 1024, 64) @ (16, 16, 64, 1024)": (heads.transpose(1, 2), heads.permute(0, 2, 3, 1)),
            "4096 x 4096 x 4096, a.T": (big.T, big),
            "4096 x 4096 x 4096, b.T": (big, big.T),
            "4096 x 4096 x 4096, both sliced": (wide[:, 8:4104], wide[:, 4000:8096]),
            "4096 x 4096 x 4096, a with gaps": (wide[:, ::2], big),
            "4096 of 64 x 128 times one 128 x 64": (a, b[0]),
        }
        for name, (x, z) in cases.items():
            y = torch.matmul(x, z)
            yield f"{dtype} {name}", kiln.matmul(x, z, y), lambda x=x, z=z: torch.matmul(x, z), y
    x = draw(64, 64, dtype="float32")
    y = torch.empty_like(x)
    yield ("float32 64 x 64 x 64", kiln.matmul(x, x, y), lambda out=y.clone(): torch.matmul(x, x, out=out), y)


def epilogues(kiln):
    tanh = "0.5 * z * (1 + tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)))"
    functional = torch.nn.functional
    cases = {
        "bias": (lambda x, w, b, r: x @ w + b, "x @ w + b"),
        "bias, relu": (lambda x, w, b, r: functional.relu(x @ w + b), "maximum(x @ w + b, 0)"),
        "bias, gelu": (lambda x, w, b, r: functional.gelu(x @ w + b, approximate="tanh"),
                       "z = x @ w + b; " + tanh),
        "bias, silu, residual": (lambda x, w, b, r: functional.silu(x @ w + b) + r,
                                 "z = x @ w + b; z / (1 + exp(-z)) + r"),
        "residual": (lambda x, w, b, r: x @ w + r, "x @ w + r"),
        "bias, residual": (lambda x, w, b, r: x @ w + b + r, "x @ w + b + r"),
        "scale, cast": (lambda x, w, b, r: ((x @ w) * 0.125).to(torch.float32),
                        "cast(x @ w * 0.125, float32)"),
    }
    for dtype in ("bfloat16", "float16"):
        for m, k, n in ((8192, 8192, 8192), (4096, 11008, 4096)):
            x, w = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype, scale=k ** -0.5)
            b, r = draw(n, dtype=dtype), draw(m, n, dtype=dtype)
            for name, (function, text) in cases.items():
                if dtype == "float16" and name not in ("bias, gelu", "bias, silu, residual"):
                    continue
                compiled = torch.compile(function)
                y = torch.empty(m, n, device="cuda", dtype=torch.float32 if "cast" in name else x.dtype)
                yield (f"{dtype} {m} x {k} x {n}, {name}",
                       kiln.graph(text, "xwbr", (x, w, b, r), y),
                       lambda f=compiled, x=x, w=w, b=b, r=r: f(x, w, b, r), y)
            y = torch.empty(m, n, device="cuda", dtype=x.dtype)
            compiled = torch.compile(cases["bias, gelu"][0])
            yield (f"{dtype} {m} x {k} x {n}, bias, gelu by kiln_matmul()",
                   kiln.matmul(x, w, y, bias=kiln.array(b), epilogue=2),
                   lambda f=compiled, x=x, w=w, b=b, r=r: f(x, w, b, r), y)


def einsum(kiln):
    n = 1024
    shapes = {
        "ij,jk->ik": ((n, n), (n, n)), "ij,kj->ik": ((n, n), (n, n)), "ji,jk->ki": ((n, n), (n, n)),
        "bij,bjk->bik": ((64, 256, 256), (64, 256, 256)), "bhqd,bhkd->bhqk": ((8, 16, 512, 64), (8, 16, 512, 64)),
        "bqhd,bkhd->bhqk": ((8, 512, 16, 64), (8, 512, 16, 64)), "bhqk,bkhd->bqhd": ((8, 16, 512, 512), (8, 512, 16, 64)),
        "i,j->ij": ((8192,), (8192,)), "ij,ij->i": ((8192, 4096), (8192, 4096)), "ij->ji": ((8192, 4096),),
        "ijk,kl->ijl": ((64, 512, 512), (512, 512)), "ij,jk,kl->il": ((n, 64), (64, n), (n, 64)),
        "abc,cd,de->abe": ((64, 64, 256), (256, 256), (256, 64)), "ii->": ((8192, 8192),),
    }
    for dtype in ("float32", "float16"):
        for text, extents in shapes.items():
            tensors = [draw(*shape, dtype=dtype, scale=0.25) for shape in extents]
            y = torch.einsum(text, *tensors).contiguous()
            yield (f"{dtype} {text}", kiln.einsum(text, tensors, y),
                   lambda text=text, tensors=tensors: torch.einsum(text, *tensors), y)


def attention(kiln):
    text = ("s = q @ swapaxes(k, -1, -2) * 0.125 + m; e = exp(s - s.max(axis=-1, keepdims=True)); "
            "e / e.sum(axis=-1, keepdims=True) @ v")
    for dtype in ("float16", "float32"):
        q, k, v = (draw(64, 1024, 64, dtype=dtype) for _ in range(3))
        m = draw(1024, 1024, dtype=dtype)
        function = lambda q, k, v, m: torch.softmax(q @ k.transpose(-1, -2) * 0.125 + m, -1) @ v
        for name, f in (("", function), (", torch.compile", torch.compile(function))):
            y = torch.empty_like(q)
            yield (f"{dtype} 64 of 1024 x 64{name}", kiln.graph(text, "qkvm", (q, k, v, m), y),
                   lambda f=f, q=q, k=k, v=v, m=m: f(q, k, v, m), y)


def tuned(kiln):
    for dtype in ("float16", "bfloat16", "float32"):
        for m, k, n in ((4096, 4096, 4096), (8192, 8192, 8192), (512, 8192, 8192), (4096, 11008, 4096), (1, 8192, 8192)):
            if dtype == "float32" and m == 8192:
                continue
            a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
            y, theirs = (torch.empty(m, n, device="cuda", dtype=a.dtype) for _ in range(2))
            yield (f"{dtype} {m} x {k} x {n}", kiln.matmul(a, b, y, autotune=True),
                   lambda a=a, b=b, out=theirs: torch.matmul(a, b, out=out), y)


def float8(kiln):
    one = torch.ones((), device="cuda")
    for m, k, n in ((4096, 4096, 4096), (8192, 8192, 8192)):
        a, b = draw(m, k, dtype="float8_e4m3fn"), draw(n, k, dtype="float8_e5m2").T
        y = torch.empty(m, n, device="cuda", dtype=torch.float16)
        yield (f"float8_e4m3fn by float8_e5m2 {m} x {k} x {n}, float16", kiln.matmul(a, b, y),
               lambda a=a, b=b: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.float16), y)
    for m, k, n in ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 16384, 16384), (16, 8192, 8192), (4096, 11008, 4096)):
        a, b = draw(m, k, dtype="float8_e4m3fn"), draw(n, k, dtype="float8_e4m3fn").T
        for dtype in (torch.bfloat16, torch.float32):
            if dtype == torch.float32 and m != 8192:
                continue
            y = torch.empty(m, n, device="cuda", dtype=dtype)
            yield (f"float8 {m} x {k} x {n}, {str(dtype)[6:]}", kiln.matmul(a, b, y),
                   lambda a=a, b=b, t=dtype: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=t), y)


def time_of(run, count):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e6


def compare(case, ours, theirs, y):
    y.zero_()
    torch.cuda.synchronize()
    ours()
    torch.cuda.synchronize()
    expected = theirs().double()
    worst = ((y.double() - expected).abs().max() / expected.abs().max().clamp(min=1e-30)).item()
    theirs()
    once = min(time_of(ours, 2), time_of(theirs, 2))
    count = int(min(200, max(3, 6e3 / once)))
    times = [[], []]
    for _ in range(ROUNDS):
        for which, run in enumerate((ours, theirs)):
            times[which].append(time_of(run, count))
    best = [min(t) for t in times]
    print("%-52s %10.1f %10.1f %7.3f  %.1e" % (case, *best, best[1] / best[0], worst), flush=True)


def main():
    groups = {f.__name__: f for f in (skinny, stacks, epilogues, einsum, attention, float8, tuned)}
    until = time.perf_counter() + float(sys.argv[3] if len(sys.argv) > 3 else 60)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.set_stream(torch.cuda.Stream())
    kiln = Kiln(sys.argv[1])
    print("%-52s %10s %10s %7s" % (sys.argv[2], "kiln", "PyTorch", "ratio"))
    cases = groups[sys.argv[2]](kiln)
    while time.perf_counter() < until:
        try:
            case = next(cases)
        except StopIteration:
            return
        try:
            compare(*case)
        except RuntimeError as problem:
            print(case[0], "  ", str(problem)[:200], flush=True)
    print("time is up")


if __name__ == "__main__":
    main()
