#!/usr/bin/env python3
"""Make format.txt: arrays and the text NumPy's str() gives for them.

Run with NumPy 1.24 (Debian 12's python3-numpy):  python3 make_format.py > format.txt
With an argument, that many random cases are written instead, for a longer comparison.

A case is one line "dtype rank extents... hex-of-the-elements" (C-order, little endian; "-" for no
elements), then the expected lines, each behind a "|".
"""
import sys

import numpy as np


def show(a):
    a = np.ascontiguousarray(a) if a.ndim else np.asarray(a)
    data = a.tobytes().hex() or "-"
    print(a.dtype.name, a.ndim, *a.shape, data)
    text = str(a)
    for line in text.split("\n"):
        print("|" + line)


FLOATS = [np.float16, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def fixed():
    nan, inf = np.nan, np.inf
    rows = [
        [0.0], [-0.0], [1.0], [0.1, 0.2, 0.3], [1.5, 2, -3], [nan], [inf, -inf], [nan, 1.25],
        [inf, 1], [-inf, 1e-3], [nan, 123.456], [1, 1000], [1, 1001], [1e-4, 1e-1], [9e-5, 1],
        [1e7, 1e8], [9999999.0, 1e5], [12345.678, 99999.5], [1 / 3, 2 / 3], [1e-7, 1e-8, 3.3e-9],
        [100, 0.3], [-0.5, -100.25, nan], [0, 0, 0], [1e4, 1.00001e4], [65504, 1],
        [2.0 ** -24, 2.0 ** -14], [6e-8, -6e-8], [0.30000001192092896], [1e-3, 1.1, 22.22],
        [17728, -16048, 41], [99999992.0, 99999.5],
    ]
    with np.errstate(all="ignore"):
        for dtype in FLOATS:
            for row in rows:
                show(np.array(row, dtype))
                show(np.array(row[0], dtype))
            for power in range(-24, 16, 5):
                show(np.array(2.0 ** power, dtype))
            for v in (1e-4, 9.9e-5, 1e15, 1e16, 123456789.0, 1e-5, 2e300, 5e-324, 3.4028235e38):
                show(np.array(v, dtype))
                show(np.array([v, -v], dtype))
        for dtype in COMPLEX:
            parts = [0.0, -0.0, 1.0, -1.5, nan, inf, -inf, 1e-5, 1e16, 0.1]
            for re in parts:
                for im in parts:
                    show(np.array(complex(re, im), dtype))
            show(np.array([1 + 2j, -3.25 - 4j, 0], dtype))
            show(np.array([complex(nan, 1), complex(1, -inf)], dtype))
            show(np.array([complex(1, nan), complex(-100, 2.5)], dtype))
            show(np.array([1e10 + 1j, 1 + 1e-7j], dtype))
            show(np.arange(30).astype(dtype).reshape(5, 6) / 7)
    for v in (1e22, 1.7976931348623157e308, 2.2250738585072014e-308, 5.684341886080802e-14,
              9007199254740993.0, 123456.789012345, 1e-300, 1e100):
        show(np.array(v, np.float64))
        show(np.array([v, 1], np.float64))
    for dtype in INTS:
        info = np.iinfo(dtype)
        show(np.array([info.min, 0, 7, info.max], dtype))
        show(np.array(info.min, dtype))
        show(np.array(info.max, dtype))
        show(np.arange(100).astype(dtype))
    show(np.array(True))
    show(np.array(False))
    show(np.array([True, False, True]))
    show(np.arange(60).reshape(3, 20) % 3 == 0)
    for dtype in (np.int64, np.float32, np.bool_):
        for shape in ((0,), (3, 0), (0, 2, 2), (1,), (1, 1), (1, 1, 1, 1), (2, 3), (2, 2, 3),
                      (2, 1, 2, 2), (40,), (3, 40), (2, 3, 25), (1000,), (1001,), (10, 101),
                      (1, 2000), (2000, 1), (7, 7, 30), (6, 6, 30), (3, 4, 5, 20), (2,) * 5):
            show((np.arange(np.prod(shape, dtype=int)) % 97).reshape(shape).astype(dtype))
    show(np.arange(1001) * 12345.678)
    show(np.linspace(0, 1, 2001).reshape(3, 667))
    show((np.linspace(0, 1, 1001) + 1j).astype(np.complex64))


def random(count):
    rng = np.random.default_rng(count)
    for _ in range(count):
        dtype = (FLOATS + COMPLEX)[rng.integers(5)]
        size = int(rng.integers(1, 9))
        kind = rng.integers(4)
        with np.errstate(all="ignore"):
            if kind == 0:
                a = rng.standard_normal(size) * 10.0 ** rng.integers(-9, 10)
            elif kind == 1:
                a = np.frombuffer(rng.bytes(size * 8), np.float64)
            elif kind == 2:
                a = np.round(rng.standard_normal(size) * 1000, int(rng.integers(0, 5)))
            else:
                a = 2.0 ** rng.integers(-1074 if dtype in (np.float64, np.complex128) else -149,
                                        128, size)
            b = a[::-1] * rng.choice([0, 1, -1, 1e-6])
            if dtype == np.float16 and kind == 1:
                a = np.frombuffer(rng.bytes(size * 2), np.float16)
            if dtype == np.float32 and kind == 1:
                a = np.frombuffer(rng.bytes(size * 4), np.float32)
            a = (a + 1j * b if dtype in COMPLEX else a).astype(dtype)
        show(a if rng.integers(4) else a[0])


if len(sys.argv) > 1:
    random(int(sys.argv[1]))
else:
    fixed()
