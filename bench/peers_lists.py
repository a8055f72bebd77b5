"""One step of Adam over the arrays of bench_lists.c, by PyTorch's optimizers: fused, and foreach.

    peers_lists.py [ARRAYS] [LOG2_OF_ELEMENTS]
"""
import statistics
import sys
import time

import torch


def sizes(count, elements):
    """Sizes from 10 on by a constant factor, as bench_lists.c has them."""
    low, high = 1.0, 2.0
    for _ in range(100):
        factor = (low + high) / 2
        if sum(10 * factor**c for c in range(count)) > elements:
            high = factor
        else:
            low = factor
    return [int(10 * low**c) for c in range(count)]


def median_ms(work, runs=30):
    """Median of the device's time of a call, and of the host's in microseconds."""
    times, host = [], []
    for k in range(-3, runs):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        start = time.perf_counter()
        work()
        took = time.perf_counter() - start
        end.record()
        end.synchronize()
        if k >= 0:
            times.append(begin.elapsed_time(end))
            host.append(took * 1e6)
    return statistics.median(times), statistics.median(host)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    elements = 1 << (int(sys.argv[2]) if len(sys.argv) > 2 else 27)
    parts = sizes(count, elements)
    print("torch", torch.__version__, "on", torch.cuda.get_device_name(), sum(parts), "elements")
    for name, options in (("fused", {"fused": True}), ("foreach", {"foreach": True})):
        params = [torch.zeros(n, device="cuda", requires_grad=True) for n in parts]
        for p in params:
            p.grad = torch.zeros_like(p)
        step = torch.optim.Adam(params, lr=1e-3, **options).step
        ms, host = median_ms(step)
        rate = sum(parts) * 28 / ms * 1e-6
        print(f"torch.optim.Adam, {name:20} {ms:8.3f} ms  {rate:6.0f} GB/s  host {host:8.1f} us")
        del params, step


main()
