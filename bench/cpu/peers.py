"""The cpu benchmark's peers: NumPy and numexpr on the same expressions, one line a result.

    peers.py ELEMENTS THREADS REPEATS     prints  NAME VERSION CASE MILLISECONDS  (medians)

A peer that is not installed prints  NAME - - -  and is left out.
"""
import statistics
import sys
import time

CHAIN = "sqrt(x*x+y*y)*exp(-x)+tanh(y)/(1+x*x)"


def median_ms(work, repeats):
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def main():
    elements, threads, repeats = (int(a) for a in sys.argv[1:4])
    try:
        import numpy as np
    except ImportError:
        print("numpy - - -")
        print("numexpr - - -")
        return
    x = (np.arange(elements, dtype=np.float32) % 1009) / np.float32(256)
    y = (np.arange(elements, dtype=np.float32) % 811) / np.float32(256)
    z = np.zeros_like(x)
    one = np.float32(1)

    def chain():
        return np.sqrt(x * x + y * y) * np.exp(-x) + np.tanh(y) / (one + x * x)

    def axpy():
        return x * y + one

    for name, work in (("chain", chain), ("axpy", axpy)):
        print("numpy", np.__version__, name, median_ms(work, repeats), flush=True)
    try:
        import numexpr
    except ImportError:
        print("numexpr - - -")
        return
    numexpr.set_num_threads(threads)
    for name, text in (("chain", CHAIN), ("axpy", "x*y+1")):
        took = median_ms(lambda: numexpr.evaluate(text, {"x": x, "y": y}, out=z), repeats)
        print("numexpr", numexpr.__version__, name, took, flush=True)


main()
