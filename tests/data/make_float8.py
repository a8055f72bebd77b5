#!/usr/bin/env python3
"""Write float8.txt: what operations, reductions, scans and sorts give for the two float8 dtypes.

    python3 make_float8.py > float8.txt        needs numpy and ml_dtypes

A line is "format | expression | dtype | values". The expression is kiln's; x and y are the vectors that
test_float8.c has too. Elementwise operations are those of ml_dtypes, each rounded to the dtype. Sums
and scans are computed by NumPy in float32 and rounded once; sorts are NumPy's of float32.
"""
import ml_dtypes
import numpy as np

np.seterr(all="ignore")
X = [1.5, -2, 0.25, 3, -0.5, 208, 0.015625, -24]
Y = [2, 0.75, -4, 3, 0.125, 256, -0.03125, 7]

ELEMENTWISE = {
    "x + y": lambda x, y: x + y, "x - y": lambda x, y: x - y, "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y, "x // y": lambda x, y: x // y, "x % y": lambda x, y: x % y,
    "-x": lambda x, y: -x, "abs(x)": lambda x, y: abs(x), "sqrt(y)": lambda x, y: np.sqrt(y),
    "exp(x)": lambda x, y: np.exp(x), "maximum(x, y)": lambda x, y: np.maximum(x, y),
    "floor(x)": lambda x, y: np.floor(x), "x < y": lambda x, y: x < y, "x == y": lambda x, y: x == y,
    "isnan(sqrt(x))": lambda x, y: np.isnan(np.sqrt(x)), "x * y + x": lambda x, y: x * y + x,
    "signbit(x)": lambda x, y: np.signbit(x), "copysign(x, y)": lambda x, y: np.copysign(x, y),
    "tanh(x)": lambda x, y: np.tanh(x), "power(y, 2)": lambda x, y: y * y,
    "x + 1": lambda x, y: x + x.dtype.type(1), "x * 0.3": lambda x, y: x * x.dtype.type(0.3),
    "where(x < y, x, y)": lambda x, y: np.where(x < y, x, y),
    "float32(x) + y": lambda x, y: x.astype("f4") + y.astype("f4"),
    "float16(x) * y": lambda x, y: x.astype("f2") * y.astype("f2"),
    "int32(x)": lambda x, y: x.astype("f4").astype("i4"),
    "bool(x)": lambda x, y: x.astype("f4") != 0,
    "clip(x, -1, 2)": lambda x, y: np.clip(x.astype("f4"), -1, 2).astype(x.dtype),
}
IN_FLOAT = {
    "sum(x)": lambda x: np.sum(x), "mean(x)": lambda x: np.mean(x), "prod(x)": lambda x: np.prod(x),
    "max(x)": lambda x: np.max(x), "min(x)": lambda x: np.min(x), "var(x)": lambda x: np.var(x),
    "std(x)": lambda x: np.std(x), "cumsum(x)": lambda x: np.cumsum(x),
    "cumprod(x)": lambda x: np.cumprod(x), "cummax(x)": lambda x: np.maximum.accumulate(x),
    "sort(x)": lambda x: np.sort(x), "median(x)": lambda x: np.median(x),
    "x[::-1]": lambda x: x[::-1], "take(x, 3)": lambda x: x[3], "unique(x)": lambda x: np.unique(x),
    "diff(x)": lambda x: np.diff(x), "roll(x, 2)": lambda x: np.roll(x, 2),
}
POSITIONS = {
    "argmax(x)": lambda x: np.argmax(x), "argmin(x)": lambda x: np.argmin(x), "argsort(x)": lambda x: np.argsort(x),
    "any(x)": lambda x: np.any(x), "all(x)": lambda x: np.all(x),
    "count_nonzero(x)": lambda x: np.count_nonzero(x),
}


def line(name, text, dtype, values):
    numbers = np.atleast_1d(values).astype("f8")
    print(f"{name} | {text} | {dtype} | " + " ".join(repr(float(v)) for v in numbers))


for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
    x, y, name = np.array(X, t), np.array(Y, t), np.dtype(t).name
    for text, f in ELEMENTWISE.items():
        r = f(x, y)
        line(name, text, r.dtype.name, r)
    for text, f in IN_FLOAT.items():
        line(name, text, name, f(x.astype("f4")).astype(t))
    for text, f in POSITIONS.items():
        r = np.asarray(f(x.astype("f4")))
        line(name, text, r.dtype.name, r)
    line(name, "x @ y", "float32", x.astype("f4") @ y.astype("f4"))
