"""Products of arrays of any rank, by NumPy: the table of tests/test_tensor.c.

    python3 tests/data/make_tensor.py > tests/data/tensor.inc

Operands hold 0, 1, 2, ... modulo 5, minus 2, as complex128, the second with as much of an imaginary part
modulo 3. `re` and `im` are those of the sum of the result's elements times 1, 2, 3, 1, 2, 3, ...
"""
import numpy as np


def ramp(shape):
    k = np.arange(np.prod(shape, dtype=int))
    return (k % 5 - 2 + 1j * (k % 3)).reshape(shape)


def braces(shape):
    return "{%s}" % (", ".join(map(str, shape)) or "0")


CASES = [("dot", a, b) for a, b in [
    ((3,), (3,)), ((2, 3), (3, 4)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3, 4), (5, 4, 2)), ((), (2, 3)), ((4,), ()),
    ((), ()), ((2, 3, 4), (4,)), ((0,), (0,)), ((3,), (2, 3, 4))]]
CASES += [("inner", a, b) for a, b in [
    ((3,), (3,)), ((2, 3), (4, 3)), ((2, 3, 4), (5, 4)), ((), (2,)), ((2, 0), (3, 0))]]
CASES += [("outer", a, b) for a, b in [((2,), (3,)), ((2, 2), (3,)), ((), (4,)), ((0,), (3,))]]
CASES += [("kron", a, b) for a, b in [
    ((2,), (3,)), ((2, 2), (3, 2)), ((2, 2), (3,)), ((), (2, 2)), ((2, 1, 3), (2, 2, 2)), ((0, 2), (3, 3))]]
CASES += [("matvec", a, b) for a, b in [((2, 3), (3,)), ((4, 2, 3), (3,)), ((4, 2, 3), (4, 3)), ((5, 1, 2, 3), (4, 3))]]
CASES += [("vecmat", a, b) for a, b in [((2,), (2, 3)), ((2,), (4, 2, 3)), ((4, 2), (4, 2, 3)), ((5, 1, 2), (4, 2, 3))]]
CASES += [("tensordot", a, b) for a, b in [((2, 3, 4), (3, 4, 5)), ((3, 4), (3, 4))]]

print("/* Made by make_tensor.py, NumPy %s. */" % np.__version__)
for name, a, b in CASES:
    y = np.asarray(getattr(np, name)(ramp(a), ramp(b)))
    s = (y.reshape(-1) * (np.arange(y.size) % 3 + 1)).sum()
    print("{kiln_array_%s, %d, %s, %d, %s, %d, %s, %.1f, %.1f}," % (
        name if name != "tensordot" else "tensordot_default", len(a), braces(a), len(b), braces(b), y.ndim,
        braces(y.shape), s.real, s.imag))
