"""Shapes of np.matmul, and its values for ramps: the table of tests/test_matmul.c.

    python3 tests/data/make_matmul.py > tests/data/matmul.inc

Operands hold 0, 1, 2, ... modulo 7 as float64; `sum` and `last` are of the product.
"""
import numpy as np

PAIRS = [
    ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((1, 1), (1, 1)),
    ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((2, 1, 1, 3), (4, 3, 1)),
    ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((2, 0), (0, 3)), ((0,), (0,)), ((0, 2, 3), (3, 4)),
    ((4, 1, 2, 0), (3, 0, 2)),
]


def ramp(shape):
    return (np.arange(np.prod(shape, dtype=int)) % 7).astype(float).reshape(shape)


def braces(shape):
    return "{%s}" % (", ".join(map(str, shape)) or "0")


print("/* Made by make_matmul.py, NumPy %s. */" % np.__version__)
for a, b in PAIRS:
    y = np.asarray(ramp(a) @ ramp(b))
    print("{%d, %s, %d, %s, %d, %s, %.1f, %.1f}," % (
        len(a), braces(a), len(b), braces(b), y.ndim, braces(y.shape), y.sum(),
        y.reshape(-1)[-1] if y.size else 0))
