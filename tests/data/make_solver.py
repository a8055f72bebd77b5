"""Equations, inverses, determinants and factors, by NumPy: the table of tests/test_solver.c.

    python3 tests/data/make_solver.py > tests/data/solver.inc

Element [.., i, j] of the nth matrix of a stack is ((7 i + 3 j + i j + n) % 11) - 5, 12 more on the diagonal, and
for complex numbers has the imaginary part (i + 2 j + n) % 5 - 2. Cholesky factors are those of a a^H. `re` and
`im` are those of the sum of the result's elements times 1, 2, 3, 1, 2, 3, ...
"""
import numpy as np


def make(shape, complex_):
    *stack, rows, columns = shape
    n = np.arange(np.prod(stack, dtype=int)).reshape(*stack, 1, 1)
    i, j = np.arange(rows).reshape(-1, 1), np.arange(columns)
    a = ((7 * i + 3 * j + i * j + n) % 11) - 5 + 12.0 * (i == j)
    return a + 1j * ((i + 2 * j + n) % 5 - 2) if complex_ else a


def row(name, a, b, y, c):
    y = np.asarray(y)
    s = (y.reshape(-1) * (np.arange(y.size) % 3 + 1)).sum()
    braces = lambda s: "{%s}" % (", ".join(map(str, s)) or "0")
    print("{\"%s\", %s, %d, %s, %d, %s, %d, %s, %.17g, %.17g}," % (
        name, "true" if c else "false", len(a), braces(a), len(b), braces(b), y.ndim, braces(y.shape), s.real, s.imag))


print("/* Made by make_solver.py, NumPy %s. */" % np.__version__)
for c in (False, True):
    for a, b in [((3, 3), (3, 2)), ((1, 1), (1, 1)), ((4, 3, 3), (4, 3, 2)), ((4, 3, 3), (3, 2)), ((2, 1, 3, 3), (5, 3, 1)),
                 ((0, 0), (0, 2)), ((0, 3, 3), (0, 3, 1)), ((7, 7), (7, 7))]:
        row("solve", a, b, np.linalg.solve(make(a, c), make(b, c)), c)
        lower = np.tril(make(a, c))
        row("solve_triangular", a, b, np.linalg.solve(lower, make(b, c)), c)
    row("solve", (4, 3, 3), (3,), np.linalg.solve(make((4, 3, 3), c), make((3, 1), c)[:, 0]), c)
    for a in [(3, 3), (1, 1), (4, 3, 3), (2, 3, 4, 4), (0, 0), (0, 3, 3), (8, 8)]:
        m = make(a, c)
        row("inv", a, (), np.linalg.inv(m), c)
        row("det", a, (), np.linalg.det(m), c)
        row("sign", a, (), np.linalg.slogdet(m)[0], c)
        row("log", a, (), np.linalg.slogdet(m)[1], c)
        row("cholesky", a, (), np.linalg.cholesky(m @ m.conj().swapaxes(-1, -2)), c)
        row("power3", a, (), np.linalg.matrix_power(m, 3), c)
        row("power-2", a, (), np.linalg.matrix_power(m, -2), c)
        row("power0", a, (), np.linalg.matrix_power(m, 0), c)
