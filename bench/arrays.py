#!/usr/bin/env python3
"""Indexing, selecting, rearranging, sorting and random numbers on a GPU: kiln, PyTorch, CuPy and a limit, in turns.

    PYTHONPATH=build/python python3 bench/arrays.py [--groups a,b] [--match TEXT] [--seconds S] [--out FILE.json]

Groups: takes, scatters, filters, moves, sorts, rows, histograms, random.

A line holds the case, the least time of kiln in microseconds, how much of a limit it reaches, how many times as fast as
PyTorch and as CuPy it is, and the target beside the figure that it is of; "missed" stands behind a target that is not
reached, "WRONG" behind a result that is not PyTorch's. The limit is a copy that moves as many bytes, a fill that writes
as many, or a sum that reads as many. A time is the host's for as many calls as take some 6 ms (at least 2) and the wait
for the device. Calls take turns, so that a machine that slows down slows down all of them.
"""
import argparse
import json
import math
import sys
import time

import torch

import kiln

try:
    import cupy
except ImportError:
    cupy = None

ROUNDS = 5
F16, F32, I32, I64, U8 = torch.float16, torch.float32, torch.int32, torch.int64, torch.uint8


def own(x):
    """kiln's array over the memory of a tensor."""
    return kiln.from_dlpack(x)


def cp(x):
    """CuPy's array over the same memory."""
    return cupy.from_dlpack(x.view(U8) if x.dtype is torch.bool else x) if cupy else None


def cp_mask(x):
    return cp(x).view("bool") if cupy else None


def theirs(call):
    return call if cupy else None


def random_keys(shape, dtype, ands=0):
    if dtype is F32:
        return torch.randn(shape, device="cuda")
    bits = 32 if dtype in (I32, torch.uint32) else 63
    x = torch.randint(0, 2**31 - 1, shape, device="cuda", dtype=I64)
    if bits == 63:
        x = x * 2862933555777941757
    else:
        x = ((x << 1) ^ (x >> 7)).to(I32)
    for _ in range(ands):  # fewer bits are set with each "and"
        x = x & random_keys(shape, dtype)
    return x


def indices(count, below):
    return torch.randint(0, below, (count,), device="cuda", dtype=I32)


class Case:
    """kiln's call and its peers. `limit`: ("copy" | "fill" | "read", bytes). `targets`: what -> least ratio."""

    def __init__(self, name, call, torch_call=None, cupy_call=None, limit=None, same=None, **targets):
        self.name, self.same = name, same
        self.calls = {"kiln": call, "torch": torch_call, "cupy": cupy_call}
        if limit:
            kind, size = limit
            if kind == "copy":
                source = torch.empty(size // 2, dtype=U8, device="cuda")
                target = torch.empty_like(source)
                self.calls["limit"] = lambda: target.copy_(source)
            elif kind == "fill":
                target = torch.empty(size // 4, device="cuda")
                self.calls["limit"] = target.zero_
            else:
                source = torch.ones(size // 4, device="cuda")
                self.calls["limit"] = source.sum
        self.targets = targets


def takes():
    size, table = 1 << 28, 1 << 30
    for row in (64, 256, 1024, 4096):
        x, i = torch.randn(table // row, row // 4, device="cuda"), indices(size // row, table // row)
        kx, ki, cx, ci = own(x), own(i), cp(x), cp(i)
        yield Case(f"take rows of {row} bytes", lambda: kiln.take(kx, ki, axis=0), lambda: torch.index_select(x, 0, i),
                   theirs(lambda: cupy.take(cx, ci, axis=0)), ("copy", 2 * size + 4 * len(i)),
                   lambda: (kiln.take(kx, ki, axis=0), torch.index_select(x, 0, i)), limit_=0.9)
    for log2 in (18, 23, 28):
        x, i = torch.randn(1 << log2, device="cuda"), indices(size // 4, 1 << log2)
        kx, ki, cx, ci = own(x), own(i), cp(x), cp(i)
        yield Case(f"take float32 out of 2^{log2}", lambda: kx[ki], lambda: x[i], theirs(lambda: cx[ci]),
                   ("copy", 3 * size), lambda: (kx[ki], x[i]), **({"torch_": 1.5} if log2 == 18 else {}))
    x, i, y = torch.randn(table // 1024, 256, device="cuda"), indices(size // 1024, table // 1024), None
    y = torch.randn(size // 1024, 256, device="cuda")
    fused = lambda text, **arrays: (lambda: kiln.eval(text, **arrays))
    yield Case("sum(x[i] * y, axis=1), rows of 1024", fused("sum(x[i] * y, axis=1)", x=own(x), i=own(i), y=own(y)),
               lambda: (x[i] * y).sum(1), None, ("copy", 2 * size + 8 * len(i)), limit_=0.95)
    x, i, y = torch.randn(1 << 18, device="cuda"), indices(size // 4, 1 << 18), torch.randn(size // 4, device="cuda")
    kx, ki, ky = own(x), own(i), own(y)
    yield Case("exp(x[i]) + y out of 2^18", fused("exp(x[i]) + y", x=kx, i=ki, y=ky), lambda: torch.exp(x[i]) + y,
               None, ("copy", 4 * size))
    yield Case("sum(x[i]) out of 2^18", fused("sum(x[i])", x=kx, i=ki), lambda: x[i].sum(), None, ("read", size))


def scatters():
    count = 1 << 26
    v = torch.randn(count, device="cuda")
    for log2 in range(10, 26, 2):
        x, i = torch.zeros(1 << log2, device="cuda"), indices(count, 1 << log2)
        kx, ki, kv = own(x), own(i), own(v)
        yield Case(f"2^26 added into 2^{log2}, fast", lambda: kiln.add.at(kx, ki, kv, fast=True),
                   lambda: x.index_add_(0, i, v), torch_=1.0)
        if log2 in (10, 16, 20, 24):
            def exact():
                torch.use_deterministic_algorithms(True)
                x.index_add_(0, i, v)
                torch.use_deterministic_algorithms(False)
            yield Case(f"2^26 added into 2^{log2}, reproducible", lambda: kiln.add.at(kx, ki, kv), exact, torch_=2.0)


def filters():
    n = 1 << 28
    x = torch.rand(n, device="cuda")
    kx, cx = own(x), cp(x)
    for share in (1, 50, 99):
        mask = torch.rand(n, device="cuda") < share / 100
        y = mask.to(F32)
        km, cm, ky, cy = own(mask), cp_mask(mask), own(y), cp(y)
        kept = int(mask.sum())
        yield Case(f"x[mask], {share} %", lambda: kx[km], lambda: x[mask], theirs(lambda: cx[cm]),
                   ("copy", 5 * n + 4 * kept), lambda: (kx[km], x[mask]), limit_=0.85)
        yield Case(f"flatnonzero, {share} %", lambda: kiln.flatnonzero(ky), lambda: torch.nonzero(y),
                   theirs(lambda: cupy.flatnonzero(cy)), ("copy", 4 * n + 8 * kept),
                   lambda: (kiln.flatnonzero(ky), torch.nonzero(y)), limit_=0.85)
        yield Case(f"partition_copy, {share} %", lambda: kiln.partition_copy(kx, km), lambda: (x[mask], x[~mask]),
                   theirs(lambda: (cx[cm], cx[~cm])), ("copy", 9 * n),
                   lambda: (kiln.partition_copy(kx, km)[1], x[~mask]))


def moves():
    def case(name, k, t, c, moved, target=0.92):
        return Case(name, k, t, c, ("copy", moved), lambda: (k(), t()), limit_=target)
    for shape, dtype in (((8192, 16384), F32), ((8192, 8191), F32), ((262144, 257), F32), ((8192, 16383), F16),
                         ((8192, 16383), U8)):
        if dtype is U8:
            x, y = (torch.randint(0, 255, shape, dtype=U8, device="cuda") for _ in range(2))
        else:
            x, y = (torch.randn(shape, device="cuda", dtype=dtype) for _ in range(2))
        kx, ky, cx, cy, size = own(x), own(y), cp(x), cp(y), x.nbytes
        tell = f"{shape[0]} x {shape[1]} {str(dtype).split('.')[1]}"
        yield case(f"concatenate axis 1, {tell}", lambda: kiln.concatenate([kx, ky], axis=1),
                   lambda: torch.cat([x, y], 1), theirs(lambda: cupy.concatenate([cx, cy], axis=1)), 4 * size)
        yield case(f"concatenate axis 0, {tell}", lambda: kiln.concatenate([kx, ky], axis=0),
                   lambda: torch.cat([x, y], 0), theirs(lambda: cupy.concatenate([cx, cy], axis=0)), 4 * size)
        yield case(f"pad by 1, {tell}", lambda: kiln.pad(kx, 1), lambda: torch.nn.functional.pad(x, (1, 1, 1, 1)),
                   theirs(lambda: cupy.pad(cx, 1)), 2 * size)
        yield case(f"roll by (5, 7), {tell}", lambda: kiln.roll(kx, (5, 7), axis=(0, 1)),
                   lambda: torch.roll(x, (5, 7), (0, 1)), theirs(lambda: cupy.roll(cx, (5, 7), (0, 1))), 2 * size)
        yield case(f"tile (2, 2), {tell}", lambda: kiln.tile(kx, (2, 2)), lambda: x.repeat(2, 2),
                   theirs(lambda: cupy.tile(cx, (2, 2))), 5 * size)
        yield case(f"repeat 2, {tell}", lambda: kiln.repeat(kx, 2, axis=1), lambda: x.repeat_interleave(2, 1),
                   theirs(lambda: cupy.repeat(cx, 2, axis=1)), 3 * size)


def sort_case(name, x, order=False):
    plain = x
    if name.endswith("uint32"):  # PyTorch sorts no uint32
        kx, cx = own(x.view(torch.uint32)), cupy.asarray(cp(x)).view("uint32") if cupy else None
    else:
        kx, cx = own(x), cp(x)
    if order:
        same = lambda: (own(plain)[kiln.argsort(kx)], torch.sort(plain).values)
        return Case(name, lambda: kiln.argsort(kx), lambda: torch.argsort(plain), theirs(lambda: cupy.argsort(cx)),
                    None, same, cupy_=1.0)
    same = None if name.endswith("uint32") else lambda: (kiln.sort(kx), torch.sort(plain).values)
    return Case(name, lambda: kiln.sort(kx), lambda: torch.sort(plain), theirs(lambda: cupy.sort(cx)), None, same,
                cupy_=1.0)


def sorts():
    for dtype, tell in ((I32, "uint32"), (F32, "float32"), (I64, "int64")):
        for log2 in (10, 14, 16, 20, 24, 28, 30):
            if log2 == 30 and (tell == "int64" or torch.cuda.mem_get_info()[0] < 60 << 30):
                continue
            yield sort_case(f"sort 2^{log2} {tell}", random_keys((1 << log2,), dtype))
    for log2 in (10, 16, 20, 24, 28):
        yield sort_case(f"argsort 2^{log2} float32", random_keys((1 << log2,), F32), True)
    for ands in (1, 3, 6):
        for dtype, log2 in ((I32, 28), (I64, 26)):
            x = random_keys((1 << log2,), dtype, ands)
            tell = str(dtype).split(".")[1]
            yield sort_case(f"sort 2^{log2}, bits of {ands} ands, {tell}", x)
            if log2 == 26:
                yield sort_case(f"argsort 2^{log2}, bits of {ands} ands, {tell}", x, True)


def rows():
    for n in (32, 201, 1024, 8192):
        x = torch.randn(((1 << 26) // n, n), device="cuda")
        kx, cx = own(x), cp(x)
        both = {"torch_": 1.5, "cupy_": 5.0}
        yield Case(f"sort rows of {n}", lambda: kiln.sort(kx), lambda: torch.sort(x), theirs(lambda: cupy.sort(cx)),
                   None, lambda: (kiln.sort(kx), torch.sort(x).values), **both)
        yield Case(f"argsort rows of {n}", lambda: kiln.argsort(kx), lambda: torch.argsort(x),
                   theirs(lambda: cupy.argsort(cx)), None, None, **both)
        yield Case(f"topk 10 of rows of {n}", lambda: kiln.topk(kx, 10), lambda: torch.topk(x, 10),
                   theirs(lambda: cupy.partition(cx, n - 10, axis=-1)), None,
                   lambda: (kiln.topk(kx, 10)[0], torch.topk(x, 10).values), **both)
        yield Case(f"median of rows of {n}", lambda: kiln.median(kx, axis=-1), lambda: torch.median(x, dim=-1),
                   theirs(lambda: cupy.median(cx, axis=-1)), None, None, **both)


def histograms():
    n = 1 << 28
    x = torch.rand(n, device="cuda")
    kx, cx = own(x), cp(x)
    for bins in (10, 256, 100000):
        edges = torch.linspace(0, 1, bins + 1, device="cuda", dtype=torch.float64)
        ke, ce = own(edges), cp(edges)
        yield Case(f"histogram of 2^28, {bins} bins", lambda: kiln.histogram(kx, ke)[0],
                   lambda: torch.histc(x, bins, 0, 1), theirs(lambda: cupy.histogram(cx, ce)), ("read", 4 * n),
                   limit_=0.9)


def random():
    n = 1 << 28
    draw = kiln.random
    yield Case("uniform 2^28 float32", lambda: draw.uniform(42, n, dtype="float32"),
               lambda: torch.rand(n, device="cuda"), theirs(lambda: cupy.random.rand(n, dtype="float32")),
               ("fill", 4 * n), limit_=0.97)
    yield Case("normal 2^28 float32", lambda: draw.normal(42, n, dtype="float32"),
               lambda: torch.randn(n, device="cuda"), theirs(lambda: cupy.random.randn(n, dtype="float32")),
               ("fill", 4 * n), limit_=0.97)
    x = torch.randn(n // 2, device="cuda")
    kx = own(x)
    out = own(torch.empty_like(x))
    yield Case("x * 1.5 + 2 of 2^27", lambda: kiln.eval("x * 1.5 + 2", x=kx, out=out), lambda: x * 1.5 + 2, None,
               ("copy", 4 * n))
    for tell, text in (("dropout", "where(bernoulli(k, x.shape, 0.1), 0, (x * 1.5 + 2) * 1.1111111)"),
                       ("dropout, divided", "where(bernoulli(k, x.shape, 0.1), 0, (x * 1.5 + 2) / 0.9)")):
        yield Case(f"  with {tell}", lambda: kiln.eval(text, k=7, x=kx, out=out),
                   lambda: torch.nn.functional.dropout(x * 1.5 + 2, 0.1), None, ("copy", 4 * n), limit_=0.97)


GROUPS = {"takes": takes, "scatters": scatters, "filters": filters, "moves": moves, "sorts": sorts, "rows": rows,
          "histograms": histograms, "random": random}


def least(case):
    """The least time of each call in microseconds. A peer that fails has none."""
    best, calls_at_once = {}, {}
    for _ in range(ROUNDS):
        for name, call in list(case.calls.items()):
            if call is None:
                continue
            try:
                call()
                torch.cuda.synchronize()
                begin = time.perf_counter()
                count = calls_at_once.get(name, 1)
                for _ in range(count):
                    call()
                torch.cuda.synchronize()
            except Exception as error:  # a peer without memory, say
                if name == "kiln":
                    raise
                print(f"    {name}: {str(error)[:70]}")
                case.calls[name] = None
                continue
            took = (time.perf_counter() - begin) * 1e6 / count
            best[name] = min(best.get(name, math.inf), took)
            calls_at_once[name] = max(2, min(64, int(6000 / took)))
    return best


def right(case):
    if case.same is None:
        return True
    got, want = case.same()
    got = torch.from_dlpack(got).reshape(-1)
    want = want.reshape(-1)
    return got.shape == want.shape and bool((got == want).all())


def measure(case):
    good = right(case)
    torch.cuda.empty_cache()
    times = least(case)
    row = {"case": case.name, "us": times["kiln"], "right": good}
    text = f"{case.name:44} {times['kiln']:10.1f}"
    for other in ("limit", "torch", "cupy"):
        ratio = row[other] = times[other] / times["kiln"] if other in times else None
        text += f" {ratio:8.3f}" if ratio else "        -"
    for name, target in case.targets.items():
        reached = row[name[:-1]]
        if reached is not None:
            text += f"   {name[:-1]} {target}" + ("" if reached >= target else " missed")
    print(text + ("" if good else "   WRONG"), flush=True)
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--groups", default=",".join(GROUPS))
    options.add_argument("--match", default="")
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--out")
    given = options.parse_args()
    begin, results = time.monotonic(), []
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "CuPy", cupy.__version__ if cupy else "-")
    print(f"{'':44} {'kiln us':>10} {'of limit':>8} {'/ torch':>8} {'/ CuPy':>8}   targets")
    for group in given.groups.split(","):
        for case in GROUPS[group]():
            if given.match not in case.name:
                continue
            if time.monotonic() - begin > given.seconds:
                print("out of time before", case.name)
                break
            try:
                results.append(measure(case))
            except (kiln.Error, RuntimeError) as error:
                print(f"{case.name}: {error}", flush=True)
            del case
            torch.cuda.empty_cache()
            if cupy:
                cupy.get_default_memory_pool().free_all_blocks()
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0 if all(r["right"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
