"""CuPy, PyTorch and JAX (or NumPy and numexpr) on the pipelines of bench_graph, added to its file.

    python3 peers_graph.py RESULTS/graph.json        # on the GPU: cupy.fuse, torch.compile, jax.jit
    python3 peers_graph.py RESULTS/graph_cpu.json    # on the CPU: NumPy with SciPy, numexpr

The same sizes, dtypes and scale as the file says, over the same bytes. Rows of 16-bit floats are
computed as each peer does it: torch.compile keeps them in float32 within a kernel, so that its times
belong beside kiln's exact and wide rows alike. Times are medians: between events for
CuPy and PyTorch, of batches that end in a synchronization for JAX, of whole calls on the CPU. A peer
that is not installed, or cannot do a row, is said so and left out. Positions are in milliseconds, a
whole call each, as bench_graph measures them.
"""
import json
import statistics
import sys
import time

import result

SIDE = 1 << 14
SHAPES = {
    "chain": (2, SIDE, SIDE, 3), "sum_chain_1": (2, SIDE, SIDE, 2), "norm": (1, SIDE, SIDE, 1),
    "softmax_16384": (1, SIDE, SIDE, 2), "softmax_1000": (1, 1 << 18, 1000, 2),
    "softmax_131072": (1, 2048, 1 << 17, 2), "log_softmax_16384": (1, SIDE, SIDE, 2),
    "log_softmax_1000": (1, 1 << 18, 1000, 2), "layer_norm_16384": (1, SIDE, SIDE, 2),
    "layer_norm_1000": (1, 1 << 18, 1000, 2), "layer_norm_131072": (1, 2048, 1 << 17, 2),
    "softmax_50257": (1, 5340, 50257, 2), "logsumexp_50257": (1, 5340, 50257, 1),
    "layer_norm_50257": (1, 5340, 50257, 2),
    # In squared differences: a quarter of them for each of the inputs' elements, as others count bytes.
    "distances_4096_64": (2, 4096, 64, 4096 / 4), "distances_8192_128": (2, 8192, 128, 8192 / 4),
    "moments_0": (1, SIDE, SIDE, 1), "moments_1": (1, SIDE, SIDE, 1), "lstm": (5, SIDE, SIDE, 7),
    "adam": (4, SIDE, SIDE, 7), "black_scholes": (3, SIDE, SIDE, 5), "stencil": (1, SIDE, SIDE, 2),
    "gelu": (1, SIDE, SIDE, 2), "silu": (1, SIDE, SIDE, 2), "mean_square": (2, SIDE, SIDE, 2),
    "rms_norm_4096": (1, 1 << 16, 4096, 2), "layer_norm_768": (1, 1 << 18, 768, 2),
    "softmax_768": (1, 1 << 18, 768, 2), "softmax_4096": (1, 1 << 16, 4096, 2),
}
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def pipeline_of(name):
    """A row's pipeline and dtype: "gelu_wide_bfloat16" is ("gelu", "bfloat16")."""
    for dtype in ("bfloat16", "float16"):
        if name.endswith("_" + dtype):
            return name[: -len(dtype) - 1].removesuffix("_wide"), dtype
    return name, "float32"


def functions(xp, erf):
    """The pipelines over a module with NumPy's names, and the `erf` that goes with it or None."""
    def sigmoid(x):
        return 1 / (1 + xp.exp(-x))

    def softmax(x):
        e = xp.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def log_softmax(x):
        d = x - x.max(axis=1, keepdims=True)
        return d - xp.log(xp.exp(d).sum(axis=1, keepdims=True))

    def logsumexp(x):
        m = x.max(axis=1, keepdims=True)
        return xp.log(xp.exp(x - m).sum(axis=1, keepdims=True)) + m

    def distances(x, y):
        return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)

    def layer_norm(x):
        d = x - x.mean(axis=1, keepdims=True)
        return d / xp.sqrt(x.var(axis=1, keepdims=True) + 1e-5)

    def lstm(i, f, u, o, c):
        c1 = sigmoid(f) * c + sigmoid(i) * xp.tanh(u)
        return c1, sigmoid(o) * xp.tanh(c1)

    def adam(p, d, m, v):
        m1, v1 = 0.9 * m + 0.1 * d, 0.999 * v + 0.001 * d * d
        return p - 0.001 * m1 / (xp.sqrt(v1) + 1e-8), m1, v1

    def normal(x):
        return 0.5 * (1 + erf(x * 0.7071067811865475))

    def black_scholes(s, k, t):
        root = 0.3 * xp.sqrt(t)
        d1 = (xp.log(s / k) + 0.065 * t) / root
        discounted = k * xp.exp(-0.02 * t)
        call = s * normal(d1) - discounted * normal(d1 - root)
        return call, call + discounted - s

    def stencil(x):
        return (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) - 4 * x[1:-1, 1:-1]

    table = {
        "chain": lambda x, y: xp.sqrt(x * x + y * y) * xp.exp(-x) + xp.tanh(y) / (1 + x * x),
        "sum_chain_1": lambda x, y: (xp.sqrt(x * x + y * y) * xp.exp(-x)).sum(axis=1),
        "norm": lambda x: xp.sqrt((x * x).sum()),
        "moments_0": lambda x: (x.mean(axis=0), x.var(axis=0)),
        "moments_1": lambda x: (x.mean(axis=1), x.var(axis=1)),
        "lstm": lstm, "adam": adam, "stencil": stencil,
        "gelu": lambda x: 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * (x * x * x)))),
        "silu": lambda x: x / (1 + xp.exp(-x)),
        "mean_square": lambda x, y: ((x - y) ** 2).mean(),
        "rms_norm_4096": lambda x: x / xp.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6),
    }
    if erf is not None:
        table["black_scholes"] = black_scholes
    table["distances_4096_64"] = table["distances_8192_128"] = distances
    table["logsumexp_50257"] = logsumexp
    for length in (768, 1000, 4096, 16384, 50257, 131072):
        table[f"softmax_{length}"] = softmax
        table[f"log_softmax_{length}"] = log_softmax
        table[f"layer_norm_{length}"] = layer_norm
    return table


class Cupy:
    """cupy.fuse where it takes the pipeline, plain CuPy where it refuses (slices, var)."""

    def __init__(self):
        import cupy
        from cupyx.scipy.special import erf

        self.cp, self.version = cupy, cupy.__version__
        self.table = functions(cupy, erf)

    def inputs(self, count, rows, columns, dtype):
        cp = self.cp
        return [((cp.arange(rows * columns) % 61 + 1) / 31).astype(dtype).reshape(rows, columns)
                for _ in range(count)]

    def compiled(self, name, arrays):
        fused = self.cp.fuse()(self.table[name])
        try:
            fused(*arrays)
            return fused
        except Exception:
            return self.table[name]

    def positions(self, n):
        cp = self.cp
        call = lambda: cp.arange(n).reshape(1000, -1).T * 2

        def timed():
            call()
            cp.cuda.Device().synchronize()
        return timed

    def ms(self, call, arrays):
        events = [self.cp.cuda.Event() for _ in range(2)]
        times = []
        for _ in range(15):
            events[0].record()
            call(*arrays)
            events[1].record()
            events[1].synchronize()
            times.append(self.cp.cuda.get_elapsed_time(*events))
        return statistics.median(times)


class Torch:
    def __init__(self):
        import torch

        self.torch, self.version = torch, torch.__version__

        class Names:
            sqrt, exp, log, tanh = torch.sqrt, torch.exp, torch.log, torch.tanh

        self.table = functions(Names, torch.erf)
        soft = {"softmax": torch.softmax, "log_softmax": torch.log_softmax}
        self.table["logsumexp_50257"] = lambda x: torch.logsumexp(x, dim=1, keepdim=True)
        for length in (768, 1000, 4096, 16384, 50257, 131072):
            for kind, f in soft.items():
                self.table[f"{kind}_{length}"] = lambda x, f=f: f(x, dim=1)
            self.table[f"layer_norm_{length}"] = lambda x: torch.nn.functional.layer_norm(
                x, x.shape[1:], eps=1e-5)
        for axis in (0, 1):
            self.table[f"moments_{axis}"] = lambda x, axis=axis: tuple(
                reversed(torch.var_mean(x, dim=axis, correction=0)))

    def inputs(self, count, rows, columns, dtype):
        torch = self.torch
        values = (torch.arange(rows * columns, device="cuda") % 61 + 1) / 31
        return [values.to(getattr(torch, dtype)).reshape(rows, columns).clone() for _ in range(count)]

    def compiled(self, name, arrays):
        call = self.torch.compile(self.table[name], dynamic=False)
        call(*arrays)
        return call

    def positions(self, n):
        torch = self.torch

        def timed():
            torch.arange(n, device="cuda").reshape(1000, -1).T * 2
            torch.cuda.synchronize()
        return timed

    def ms(self, call, arrays):
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for _ in range(15):
            start.record()
            call(*arrays)
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop))
        return statistics.median(times)


class Jax:
    def __init__(self):
        import jax
        import jax.numpy as jnp

        self.jax, self.jnp, self.version = jax, jnp, jax.__version__
        self.table = functions(jnp, jax.scipy.special.erf)

    def inputs(self, count, rows, columns, dtype):
        jnp = self.jnp
        values = ((jnp.arange(rows * columns) % 61 + 1) / 31).astype(dtype)
        return [jnp.array(values.reshape(rows, columns)) for _ in range(count)]

    def compiled(self, name, arrays):
        call = self.jax.jit(self.table[name])
        self.jax.block_until_ready(call(*arrays))
        return call

    def positions(self, n):
        call = self.jax.jit(lambda: self.jnp.arange(n).reshape(1000, -1).T * 2)
        return lambda: self.jax.block_until_ready(call())

    def ms(self, call, arrays):
        times = []
        for _ in range(9):
            begin = time.perf_counter()
            for _ in range(10):
                last = call(*arrays)
            self.jax.block_until_ready(last)
            times.append((time.perf_counter() - begin) * 100)
        return statistics.median(times)


class Numpy:
    """NumPy, with SciPy's erf; without SciPy there is no Black-Scholes."""

    def __init__(self):
        import numpy
        try:
            from scipy.special import erf
        except ImportError:
            erf = None
            print("numpy cannot do black_scholes: SciPy is not installed", file=sys.stderr)

        self.np, self.version = numpy, numpy.__version__
        self.table = functions(numpy, erf)

    def inputs(self, count, rows, columns, dtype):
        np = self.np
        values = ((np.arange(rows * columns) % 61 + 1) / 31).astype(dtype)
        return [values.reshape(rows, columns).copy() for _ in range(count)]

    def compiled(self, name, arrays):
        return self.table[name]

    def positions(self, n):
        return lambda: self.np.arange(n).reshape(1000, -1).T * 2

    def ms(self, call, arrays):
        times = []
        call(*arrays)
        for _ in range(5):
            begin = time.perf_counter()
            call(*arrays)
            times.append((time.perf_counter() - begin) * 1000)
        return statistics.median(times)


class Numexpr(Numpy):
    """Expressions in numexpr's language; what it has no word for is left out."""

    def __init__(self):
        import numexpr
        import numpy

        self.np, self.version = numpy, numexpr.__version__
        ev = numexpr.evaluate

        def named(text, names):
            return lambda *arrays: ev(text, local_dict=dict(zip(names, arrays)))

        chain = "sqrt(x*x+y*y)*exp(-x)"
        self.table = {
            "chain": named(chain + "+tanh(y)/(1+x*x)", "xy"),
            "sum_chain_1": named(f"sum({chain}, axis=1)", "xy"),
            "norm": lambda x: numpy.sqrt(ev("sum(x*x)")),
            "lstm": self.lstm(ev), "adam": self.adam(ev),
            "stencil": lambda x: ev("a+b+c+d-4*e", local_dict={
                "a": x[:-2, 1:-1], "b": x[2:, 1:-1], "c": x[1:-1, :-2], "d": x[1:-1, 2:],
                "e": x[1:-1, 1:-1]}),
        }

    @staticmethod
    def lstm(ev):
        def call(i, f, u, o, c):
            c1 = ev("c/(1+exp(-f))+tanh(u)/(1+exp(-i))")
            return c1, ev("tanh(c1)/(1+exp(-o))")
        return call

    @staticmethod
    def adam(ev):
        def call(p, d, m, v):
            k = {name: p.dtype.type(value) for name, value in
                 (("a", 0.9), ("b", 0.1), ("e", 0.999), ("f", 0.001), ("g", 1e-8))}
            m1 = ev("a*m+b*d", local_dict={**k, "m": m, "d": d})
            v1 = ev("e*v+f*d*d", local_dict={**k, "v": v, "d": d})
            return ev("p-f*m1/(sqrt(v1)+g)", local_dict={**k, "p": p, "m1": m1, "v1": v1}), m1, v1
        return call


PEERS = {"cupy": Cupy, "torch": Torch, "jax": Jax, "numpy": Numpy, "numexpr": Numexpr}


def run_peer(kind, scale, names):
    """Print one line of JSON a row, so that a peer that crashes keeps what it has done."""
    peer = PEERS[kind]()
    print(json.dumps({"version": peer.version}), flush=True)
    for name in names:
        if name.startswith("positions_1e"):
            if kind == "numexpr":
                continue
            call, times = peer.positions(10 ** int(name[-1])), []
            for _ in range(15):
                begin = time.perf_counter()
                call()
                times.append((time.perf_counter() - begin) * 1000)
            print(json.dumps({"case": name, "value": statistics.median(times)}), flush=True)
            continue
        pipeline, dtype = pipeline_of(name)
        if pipeline not in SHAPES or pipeline not in peer.table:
            continue
        count, rows, columns, moved = SHAPES[pipeline]
        try:
            arrays = peer.inputs(count, rows // scale, columns, dtype)
            call = peer.compiled(pipeline, arrays)
            ms = peer.ms(call, arrays)
        except Exception as error:
            print(f"{kind} cannot do {name}: {error}", file=sys.stderr)
            continue
        rate = moved * (rows // scale) * columns * BYTES[dtype] / ms / 1e6
        print(json.dumps({"case": name, "value": rate}), flush=True)
        del arrays, call


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--peer":
        run_peer(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        return
    path = sys.argv[1]
    fields = result.read(path)
    on_gpu = fields["device"].startswith("NVIDIA")
    kinds = ("cupy", "torch", "jax") if on_gpu else ("numpy", "numexpr")
    names = [row["case"] for row in fields["rows"]]
    for kind in kinds:
        result.add_peer(fields, kind, [__file__, "--peer", kind, fields["scale"]] + names,
                        {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
        result.write(path, fields)


if __name__ == "__main__":
    main()
