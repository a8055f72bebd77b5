#!/usr/bin/env python3
"""Expressions over large arrays on a GPU: kiln, torch.compile, and a copy of as many bytes, in turns.

    PYTHONPATH=build/python python3 bench/workloads.py [--groups a,b] [--peers SECONDS] [--out FILE.json]

A line holds the workload, kiln's time, which fraction of a copy's rate it reaches, and how many times as
fast as torch.compile it is. The bytes are those of every input, read once, and of the result. The result
is compared with PyTorch's in float64 by the largest error over the largest value. KILN_WIDE=1 times wide
chains. A time is the least of several rounds of ten calls between two events; torch.compile is left out
once SECONDS have been spent on it (0: no peers).
"""
import argparse
import json
import math
import os
import sys
import time

import torch

import kiln

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
HALVES = (F16, BF16)
ALL = (F32, F16, BF16)
ROUNDS, CALLS = 6, 10
N = 1 << 28

softmax = lambda x: torch.softmax(x, -1)
logsumexp = lambda x: torch.logsumexp(x, -1)
SOFTMAX = "exp(x - max(x, axis=1, keepdims=True)) / sum(exp(x - max(x, axis=1, keepdims=True)), axis=1, keepdims=True)"
LAYER = "(x - mean(x, axis=1, keepdims=True)) / sqrt(var(x, axis=1, keepdims=True) + 0.00001)"
RMS = "x / sqrt(mean(x * x, axis=1, keepdims=True) + 0.00001)"
rms = lambda x: x / torch.sqrt(torch.mean(x * x, 1, keepdim=True) + 0.00001)
layer = lambda x: (x - x.mean(1, keepdim=True)) / torch.sqrt(x.var(1, keepdim=True, correction=0) + 0.00001)
GELU = "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"


def chain(step, first, times):
    for _ in range(times):
        first = step(first)
    return first


def rms_text(times):
    return "; ".join(["x = " + RMS] * (times - 1) + [RMS])


def stencil(points, dtype_shape):
    """The sum of shifted views over three axes, and PyTorch's."""
    n0, n1, n2 = dtype_shape
    shifts = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)
              if points == 27 or (a != 1) + (b != 1) + (c != 1) <= 1]
    text = " + ".join(f"x[{a}:{n0 - 2 + a}, {b}:{n1 - 2 + b}, {c}:{n2 - 2 + c}]" for a, b, c in shifts)

    def peer(x):
        return sum(x[a:n0 - 2 + a, b:n1 - 2 + b, c:n2 - 2 + c] for a, b, c in shifts)
    return text, peer


def rows_of(length):
    """Rows of that length, 2^27 elements in all (rounded down to a multiple of 8 rows)."""
    return ((N >> 1) // length // 8 * 8, length)


def workloads():
    """(group, label, text, shapes by name, dtypes, PyTorch's function)"""
    one = {"x": (N,)}
    two = {"x": (N,), "y": (N,)}
    yield "elementwise", "gelu, tanh form", GELU, one, HALVES, \
        lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    yield "elementwise", "silu", "x / (1 + exp(-x))", one, HALVES, torch.nn.functional.silu
    yield "elementwise", "axpy", "2.5 * x + y", two, HALVES, lambda x, y: 2.5 * x + y
    yield "elementwise", "lerp", "x + 0.25 * (y - x)", two, HALVES, lambda x, y: x + 0.25 * (y - x)
    yield "elementwise", "clip", "clip(x, 0.25, 0.75)", one, HALVES, lambda x: torch.clip(x, 0.25, 0.75)
    twelve = "((((x * y + x) * y - x) * x + y) * y - 0.5) * x + 0.25 * y"
    yield "elementwise", "chain of 12", twelve, two, HALVES, \
        lambda x, y: ((((x * y + x) * y - x) * x + y) * y - 0.5) * x + 0.25 * y
    for label, text, peer in (("sum", "sum(x)", torch.sum), ("var", "var(x)", lambda x: x.var(correction=0))):
        yield "reduce", label, text, one, HALVES, peer
    yield "reduce", "mean((x-y)**2)", "mean((x - y)**2)", two, HALVES, lambda x, y: ((x - y)**2).mean()
    yield "reduce", "dot", "sum(x * y)", two, HALVES, lambda x, y: (x * y).sum()
    for dtype_rows in (768, 2048, 4096, 8192):
        shape = {"x": rows_of(dtype_rows)}
        yield "rows", f"RMS norm {dtype_rows}", RMS + " * w", shape | {"w": (dtype_rows,)}, ALL, \
            lambda x, w: rms(x) * w
        yield "rows", f"layer norm {dtype_rows}", LAYER, shape, ALL, layer
        yield "rows", f"softmax {dtype_rows}", SOFTMAX, shape, ALL, softmax
    for length in (50257, 131072):
        shape = {"x": rows_of(length)}
        yield "long", f"softmax {length}", SOFTMAX, shape, ALL, softmax
        yield "long", f"logsumexp {length}", \
            "log(sum(exp(x - max(x, axis=1, keepdims=True)), axis=1, keepdims=True)) + max(x, axis=1, keepdims=True)", \
            shape, ALL, lambda x: torch.logsumexp(x, 1, keepdim=True)
        yield "long", f"layer norm {length}", LAYER, shape, ALL, layer
    for length in (2, 3, 7, 16, 33, 65, 100, 127, 255):
        shape = {"x": rows_of(length)}
        yield "short", f"sum {length}", "sum(x, axis=1)", shape, ALL, lambda x: x.sum(1)
        yield "short", f"std {length}", "std(x, axis=1)", shape, ALL, lambda x: x.std(1, correction=0)
        yield "short", f"argmax {length}", "argmax(x, axis=1)", shape, ALL, lambda x: x.argmax(1)
        yield "short", f"softmax {length}", SOFTMAX, shape, ALL, softmax
    yield "chains", "12 RMS steps 4096", rms_text(12), {"x": (16384, 4096)}, (F32,), \
        lambda x: chain(rms, x, 12)
    yield "chains", "4 RMS steps 4096", rms_text(4), {"x": (16384, 4096)}, (F32,), lambda x: chain(rms, x, 4)
    yield "chains", "12 RMS steps 1024", rms_text(12), {"x": (65536, 1024)}, (F32,), \
        lambda x: chain(rms, x, 12)
    for columns in (4, 16, 32, 64, 256, 4096):
        yield "scans", f"cumsum down {columns} columns", "cumsum(x, axis=0)", {"x": (N // columns, columns)}, \
            (F32,), lambda x: x.cumsum(0)
    yield "scans", "cumsum of all", "cumsum(x)", one, ALL, lambda x: x.cumsum(0)
    yield "scans", "reversed cumsum", "cumsum(x[::-1])", one, (F32,), lambda x: x.flip(0).cumsum(0)
    yield "moments", "var down (33, 2^22)", "var(x, axis=0)", {"x": (33, 1 << 22)}, ALL, \
        lambda x: x.var(0, correction=0)
    for shape in ((8191, 8193), (16383, 16385)):
        for dtypes in ((torch.int8,), HALVES, (F32,)):
            yield "transposes", f"transpose + 1 {shape[0]} x {shape[1]}", "transpose(x) + 1", {"x": shape}, dtypes, \
                lambda x: x.t() + 1
    for shape in ((640, 640, 640), (256, 256, 1024)):
        for points in (7, 27):
            text, peer = stencil(points, shape)
            yield "stencils", f"{points} points {shape}", text, {"x": shape}, (F32, F16), peer


def least(calls):
    """The least time of each call in microseconds, in turns."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = [math.inf] * len(calls)
    for _ in range(ROUNDS):
        for n, call in enumerate(calls):
            call()
            begin.record()
            for _ in range(CALLS):
                call()
            end.record()
            end.synchronize()
            best[n] = min(best[n], begin.elapsed_time(end) * 1000 / CALLS)
    return best


def arrays_of(shapes, dtype):
    if dtype == torch.int8:
        return {k: torch.randint(-100, 100, s, dtype=dtype, device="cuda") for k, s in shapes.items()}
    return {k: torch.rand(s, dtype=dtype, device="cuda") for k, s in shapes.items()}


def error_of(result, peer, arrays):
    """The largest error over the largest value, against PyTorch in float64; None where memory lacks."""
    try:
        want = peer(*(a.double() if a.is_floating_point() else a for a in arrays.values()))
    except torch.OutOfMemoryError:
        return None
    got = result.reshape(want.shape)
    if not want.is_floating_point():
        return float((got != want).any())
    return float((got.double() - want).abs().max() / want.abs().max().clamp_min(1e-30))


def prepare(given):
    """Compile what the chosen rows need."""
    part, parts = map(int, given.part.split("/"))
    cases = [(w[2], w[3], dtype, w[5]) for w in chosen(given) for dtype in w[4]]
    for text, shapes, dtype, peer in cases[part::parts]:
        arrays = arrays_of(shapes, dtype)
        try:
            kiln.eval(text, **arrays)
            if given.peers > 0:
                torch.compile(peer, dynamic=False)(*arrays.values())
        except kiln.Error as error:
            print(text[:60], error)
        torch._dynamo.reset()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def chosen(given):
    groups = set(given.groups.split(",")) - {""}
    return [w for w in workloads() if (not groups or w[0] in groups) and given.match in w[1]]


def measure(label, text, shapes, dtype, peer, compiled):
    arrays = arrays_of(shapes, dtype)
    result = torch.from_dlpack(kiln.eval(text, **arrays))
    out = torch.empty(result.shape, dtype=result.dtype, device="cuda")  # in C order, whatever kiln's own has
    kiln.eval(text, out=out, **arrays)
    moved = sum(a.nbytes for a in arrays.values()) + out.nbytes
    source = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    error = error_of(out, peer, arrays)
    run = kiln.eval
    calls = [lambda: run(text, out=out, **arrays), lambda: target.copy_(source)]
    if compiled:
        torch._dynamo.reset()
        other = torch.compile(peer, dynamic=False)
        other(*arrays.values())
        calls.append(lambda: other(*arrays.values()))
    times = least(calls)
    return {"label": label, "dtype": str(dtype).split(".")[1], "us": times[0], "copy": times[1] / times[0],
            "torch": times[2] / times[0] if compiled else None, "error": error}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--groups", default="")
    options.add_argument("--peers", type=float, default=0)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--match", default="")
    options.add_argument("--part", default="0/1", help="K/N: every N-th row from K on is only run once, so that "
                         "N processes fill the caches of kernels; nothing is timed")
    options.add_argument("--out")
    given = options.parse_args()
    if given.part != "0/1":
        prepare(given)
        return
    begin, peers, results = time.monotonic(), 0.0, []
    print(torch.cuda.get_device_name(), "wide" if os.environ.get("KILN_WIDE") == "1" else "exact")
    for _, label, text, shapes, dtypes, peer in chosen(given):
        for dtype in dtypes:
            if time.monotonic() - begin > given.seconds:
                print("out of time before", label)
                return
            start = time.monotonic()
            compiled = peers < given.peers
            row = {"label": label, "failed": None}
            try:
                row = measure(label, text, shapes, dtype, peer, compiled)
                faster = f"{row['torch']:6.2f}" if compiled else "     -"
                print(f"{label:32} {row['dtype']:9} {row['us']:9.1f} us {row['copy']:6.3f} {faster}"
                      f"   error {row['error']}", flush=True)
            except (kiln.Error, RuntimeError) as error:
                print(f"{label:32} {dtype}: {error}", flush=True)
                row["failed"] = str(error)
            results.append(row)
            if compiled:
                peers += time.monotonic() - start
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
