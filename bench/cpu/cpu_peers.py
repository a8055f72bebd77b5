"""NumPy and numexpr on the cases of bench_cpu, added to its result file.

    python3 cpu_peers.py RESULTS/cpu.json

The same sizes, dtype and number of threads as the file says; medians of 7 runs. A peer that is
not installed is said so and left out. Prints how kiln compares with each, and whether the chain is
as fast as numexpr and twice as fast as NumPy.
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import result

fields = result.read(sys.argv[1])
threads, elements = int(fields["threads"]), int(fields["elements"])
os.environ["NUMEXPR_MAX_THREADS"] = str(threads)
os.environ["OMP_NUM_THREADS"] = str(threads)

try:
    import numpy as np
except ImportError:
    print("NumPy: not installed")
    sys.exit(0)
try:
    import numexpr
except ImportError:
    numexpr = None
    print("numexpr: not installed")

x = np.linspace(0.1, 3, elements, dtype="float32")
y = np.linspace(-2, 2, elements, dtype="float32")
z = np.empty_like(x)


def rate(call, operands):
    call()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return operands * x.nbytes / statistics.median(times) / 1e9


def numpy_muladd():
    np.multiply(x, y, out=z)
    np.add(z, np.float32(1), out=z)


def numpy_chain():
    z[...] = np.sqrt(x * x + y * y) * np.exp(-x) + np.tanh(y) / (1 + x * x)


TEXT = {"cpu_muladd": "x * y + 1", "cpu_chain": "sqrt(x * x + y * y) * exp(-x) + tanh(y) / (1 + x * x)"}
NUMPY = {"cpu_muladd": numpy_muladd, "cpu_chain": numpy_chain}

fields["numpy_version"] = np.__version__
if numexpr is not None:
    numexpr.set_num_threads(threads)
    fields["numexpr_version"] = numexpr.__version__
for row in fields["rows"]:
    if row["case"] not in TEXT:
        continue
    row["numpy"] = round(rate(NUMPY[row["case"]], 3), 3)
    said = f"{row['label']}: kiln {row['kiln']:.2f} GB/s, NumPy {row['numpy']:.2f}"
    if numexpr is not None:
        text = TEXT[row["case"]].replace("1", "one")
        names = {"x": x, "y": y, "one": np.float32(1)}
        row["numexpr"] = round(rate(lambda: numexpr.evaluate(text, names, out=z), 3), 3)
        said += f", numexpr {row['numexpr']:.2f}"
    print(said)
    if row["case"] == "cpu_chain":
        row["twice_numpy"] = row["kiln"] >= 2 * row["numpy"]
        row["as_numexpr"] = row["kiln"] >= row.get("numexpr", 0)
        print(f"  at least twice NumPy: {row['twice_numpy']}; at least numexpr: {row['as_numexpr']}")

result.write(sys.argv[1], fields)
