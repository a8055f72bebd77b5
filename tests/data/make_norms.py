"""Norms, condition numbers, ranks, traces and exponentials, by NumPy: the table of tests/test_norms.c.

    python3 tests/data/make_norms.py > tests/data/norms.inc

Elements are those of make_solver.py, and so is the sum that stands for a result. `kind` and `order` are kiln's;
`axes` are two numbers and how many of them count, -1 for none given.
"""
import numpy as np



def make(shape, complex_):
    *stack, rows, columns = shape
    n = np.arange(np.prod(stack, dtype=int)).reshape(*stack, 1, 1)
    i, j = np.arange(rows).reshape(-1, 1), np.arange(columns)
    a = ((7 * i + 3 * j + i * j + n) % 11) - 5 + 12.0 * (i == j)
    return a + 1j * ((i + 2 * j + n) % 5 - 2) if complex_ else a


def row(name, shape, kind, order, axes, keepdims, y, c):
    y = np.asarray(y, dtype=complex)
    s = (y.reshape(-1) * (np.arange(y.size) % 3 + 1)).sum()
    braces = lambda v: "{%s}" % (", ".join(map(str, v)) or "0")
    text = {np.inf: "INFINITY", -np.inf: "-INFINITY"}.get(order, repr(float(order)))
    print("{\"%s\", %s, %d, %s, %s, %s, %d, %s, %s, %d, %s, %.17g, %.17g}," % (
        name, "true" if c else "false", len(shape), braces(shape), kind, text,
        -1 if axes is None else len(axes), braces(axes or ()), "true" if keepdims else "false", y.ndim, braces(y.shape),
        s.real, s.imag))


def expm(a):
    """By eigenvalues of the small and well separated matrices that are used here."""
    w, v = np.linalg.eig(a)
    return (v * np.exp(w)[..., None, :]) @ np.linalg.inv(v)


D, F, N, O = "KILN_NORM_DEFAULT", "KILN_NORM_FROBENIUS", "KILN_NORM_NUCLEAR", "KILN_NORM_ORDER"
print("/* Made by make_norms.py, NumPy %s. */" % np.__version__)
for c in (False, True):
    x = make((2, 3, 4), c)
    row("norm", x.shape, D, 0, None, False, np.linalg.norm(x), c)
    row("norm", x.shape, D, 0, None, True, np.linalg.norm(x, keepdims=True), c)
    for axis in (0, 2, -2):
        row("norm", x.shape, D, 0, (axis,), False, np.linalg.norm(x, axis=axis), c)
        for order in (1, 2, 3, 0.5, 0, -1, np.inf, -np.inf):
            row("norm", x.shape, O, order, (axis,), False, np.linalg.norm(x, order, axis=axis), c)
    for axes in ((1, 2), (2, 0), (-1, -2)):
        for keep in (False, True):
            row("norm", x.shape, D, 0, axes, keep, np.linalg.norm(x, axis=axes, keepdims=keep), c)
            row("norm", x.shape, F, 0, axes, keep, np.linalg.norm(x, "fro", axis=axes, keepdims=keep), c)
            row("norm", x.shape, N, 0, axes, keep, np.linalg.norm(x, "nuc", axis=axes, keepdims=keep), c)
            for order in (1, -1, 2, -2, np.inf, -np.inf):
                row("norm", x.shape, O, order, axes, keep, np.linalg.norm(x, order, axis=axes, keepdims=keep), c)
    for shape in ((3, 3), (2, 4, 4)):
        a = make(shape, c)
        row("cond", shape, D, 0, None, False, np.linalg.cond(a), c)
        row("cond", shape, F, 0, None, False, np.linalg.cond(a, "fro"), c)
        for order in (1, -1, 2, -2, np.inf):
            row("cond", shape, O, order, None, False, np.linalg.cond(a, order), c)
        row("trace", shape, D, 0, None, False, np.trace(a, axis1=-2, axis2=-1), c)
        row("matrix_rank", shape, D, 0, None, False, np.linalg.matrix_rank(a), c)
        row("expm", shape, D, 0, None, False, expm(a / 16), c)
        row("expm4", shape, D, 0, None, False, expm(a / 4), c)
    row("tensorinv", (3, 3), D, 0, None, False, np.linalg.tensorinv(make((3, 3), c), 1), c)
    row("cond", (4, 2), D, 0, None, False, np.linalg.cond(make((4, 2), c)), c)
    row("trace", (3, 5), D, 0, None, False, np.trace(make((3, 5), c)), c)
    row("matrix_rank", (3, 6, 2), D, 0, None, False, np.linalg.matrix_rank(make((3, 6, 2), c)), c)
