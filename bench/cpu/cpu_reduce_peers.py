"""NumPy on the cases of bench_cpu_reduce, added to its result file.

    python3 cpu_reduce_peers.py RESULTS/cpu-reduce.json

The same shapes and dtypes, medians of 7 runs. NumPy uses one core. Prints how kiln compares and
which cases it loses.
"""
import os
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import result

fields = result.read(sys.argv[1])
scale = int(fields["scale"])
S = 1 << 13
CASES = {
    "cpu_sum_all": ("sum", "f4", (1 << 26,), None),
    "cpu_sum_8192x8192_0": ("sum", "f4", (S, S), 0),
    "cpu_sum_8192x8192_1": ("sum", "f4", (S, S), 1),
    "cpu_sum_2^18x256_0": ("sum", "f4", (1 << 18, 256), 0),
    "cpu_sum_2^18x256_1": ("sum", "f4", (1 << 18, 256), 1),
    "cpu_sum_256x2^18_0": ("sum", "f4", (256, 1 << 18), 0),
    "cpu_sum_256x2^18_1": ("sum", "f4", (256, 1 << 18), 1),
    "cpu_sum_2^22x16_0": ("sum", "f4", (1 << 22, 16), 0),
    "cpu_sum_2^22x16_1": ("sum", "f4", (1 << 22, 16), 1),
    "cpu_sum_16x4096x1024_1": ("sum", "f4", (16, 4096, 1024), 1),
    "cpu_sum_4x2^24_1": ("sum", "f4", (4, 1 << 24), 1),
    "cpu_sum_2^24x4_1": ("sum", "f4", (1 << 24, 4), 1),
    "cpu_sum_3x5x2^22_02": ("sum", "f4", (3, 5, 1 << 22), (0, 2)),
    "cpu_sum_transposed_1": ("sum", "f4", (S, S), 1),
    "cpu_sum_float16": ("sum", "f2", (1 << 26,), None),
    "cpu_sum_int8": ("sum", "i1", (1 << 26,), None),
    "cpu_sum_float64": ("sum", "f8", (1 << 25,), None),
    "cpu_max_1": ("max", "f4", (S, S), 1),
    "cpu_argmax": ("argmax", "f4", (1 << 26,), None),
    "cpu_argmax_0": ("argmax", "f4", (S, S), 0),
    "cpu_var": ("var", "f4", (1 << 26,), None),
    "cpu_var_0": ("var", "f4", (S, S), 0),
    "cpu_mean_0": ("mean", "f4", (S, S), 0),
}


def rate(name):
    op, dtype, shape, axis = CASES[name]
    shape = list(shape)
    shape[shape.index(max(shape))] //= scale
    x = np.ones(shape, dtype)
    x = x.T if "transposed" in name else x
    call = getattr(np, op)
    with np.errstate(all="ignore"):
        call(x, axis=axis)
        times = []
        for _ in range(7):
            start = time.perf_counter()
            call(x, axis=axis)
            times.append(time.perf_counter() - start)
    return x.nbytes / statistics.median(times) / 1e9


fields["numpy_version"] = np.__version__
for row in fields["rows"]:
    if row["case"] in CASES:
        row["numpy"] = round(rate(row["case"]), 3)
        times = row["kiln"] / row["numpy"]
        slower = "" if times >= 1 else "  slower"
        print(f"{row['label']}: kiln {row['kiln']:.2f} GB/s, NumPy {row['numpy']:.2f}: "
              f"{times:.2f} times{slower}")

result.write(sys.argv[1], fields)
