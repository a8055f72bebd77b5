#!/usr/bin/env python3
"""What a call of a small kernel costs the host, from Python: kiln beside CuPy and PyTorch.

    PYTHONPATH=build/python python3 bench/python_calls.py [file.json]

Each call is z = a * x + y over 1000 elements with the output given, or made. Calls of all kinds are
interleaved; a figure is the median of the rounds, in microseconds a call. On a GPU calls are enqueued, and
the device is waited for between rounds. The floor is the same call of a kiln array, whose argument needs
no reading: nearly C's own call.
"""
import functools
import json
import statistics
import sys
import time

import numpy as np

import kiln

TEXTS = ("T x, T y, T a", "T z", "z = a * x + y", "axpy")
COUNT, ROUNDS = 1000, 15


def cases():
    """(name, call, wait)"""
    axpy = kiln.ElementwiseKernel(*TEXTS)
    found = []

    def add(name, function, *args, wait=lambda: None):
        found.append((name, lambda: function(*args), wait))

    def add_all(library, make, wait=lambda: None):
        x, y, z = make(), make(), make()
        add(f"{library}: kiln, given", axpy, x, y, 2.0, z, wait=wait)
        add(f"{library}: kiln, made", axpy, x, y, 2.0, wait=wait)
        add(f"{library}: exchange", kiln.from_dlpack, x, wait=wait)
        return x, y, z

    for device in sorted({"cpu", kiln.default_device()}):
        add_all(f"kiln on {device}", lambda: kiln.ones(1000, "float32", device), kiln.synchronize)
    x, y, z = add_all("numpy", lambda: np.ones(1000, np.float32))
    add("numpy: numpy.add, given", np.add, x, y, z)
    try:
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        wait = torch.cuda.synchronize if device == "cuda" else lambda: None
        x, y, z = add_all(f"torch on {device}", lambda: torch.ones(1000, device=device), wait)
        add(f"torch on {device}: torch.add, given",
            functools.partial(torch.add, y, x, alpha=2.0, out=z), wait=wait)
        add(f"torch on {device}: torch.add, made", functools.partial(torch.add, y, x, alpha=2.0),
            wait=wait)
    except ImportError:
        pass
    try:
        import cupy
        wait = cupy.cuda.Device().synchronize
        theirs = cupy.ElementwiseKernel(*TEXTS)
        x, y, z = add_all("cupy", lambda: cupy.ones(1000, cupy.float32), wait)
        add("cupy: cupy, given", theirs, x, y, 2.0, z, wait=wait)
        add("cupy: cupy, made", theirs, x, y, 2.0, wait=wait)
    except Exception:  # not there, or there without a GPU
        pass
    return found


def main():
    all_cases = cases()
    times = {name: [] for name, _, _ in all_cases}
    for _, call, wait in all_cases:
        call()
        wait()
    for _ in range(ROUNDS):
        for name, call, wait in all_cases:
            begin = time.perf_counter()
            for _ in range(COUNT):
                call()
            times[name].append((time.perf_counter() - begin) / COUNT * 1e6)
            wait()
    result = {name: round(statistics.median(t), 2) for name, t in times.items()}
    for name, value in result.items():
        print(f"{name:40} {value:7.2f} us")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as out:
            json.dump({"devices": [d["name"] for d in kiln.devices() if d["usable"]],
                       "microseconds": result, "samples": times}, out, indent=1)


if __name__ == "__main__":
    main()
