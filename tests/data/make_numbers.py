#!/usr/bin/env python3
"""Make numbers.txt: what operations give of plain numbers alone, asked from NumPy and SciPy.

Needs NumPy 2 and SciPy. A line is

    OP DTYPE RESULT OPERAND...      the operation's name, NumPy's letter of the result's dtype
    OP refused OPERAND...           NumPy has no such operation of numbers of these kinds

Numbers are KIND:VALUE, KIND one of b, i, f, c (bool, int, float, complex), floats in hexadecimal.

Numbers are taken as arrays without axes of bool, int64, float64 and complex128. Two rules are Python's:
an integer to a negative power is a float, and bools in operations that NumPy computes in int8 or
float16 are the integers 0 and 1. The reciprocal of the integer 0, which NumPy leaves to the
processor, is 0.

    python3 make_numbers.py         writes numbers.txt beside this script
"""
import os
import re
import warnings

import numpy as np
import scipy.special

warnings.simplefilter("ignore")
np.seterr(all="ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
VALUES = {"b": [True, False], "i": [7, 0, -3], "f": [2.5, -0.0, 1e-3, float("inf"), -17.0],
          "c": [2.5j, 1 - 2j, -3 + 0.5j]}
DTYPES = {"b": np.bool_, "i": np.int64, "f": np.float64, "c": np.complex128}
OWN = {"rsqrt": lambda x: 1 / np.sqrt(x), "frexp_mantissa": lambda x: np.frexp(x)[0],
       "frexp_exponent": lambda x: np.frexp(x)[1], "modf_fraction": lambda x: np.modf(x)[0],
       "modf_whole": lambda x: np.modf(x)[1], "real": lambda x: x.real.copy(),
       "imag": lambda x: x.imag.copy(), "round": np.round,
       "reciprocal": lambda x: x if x.dtype == np.int64 and x == 0 else np.reciprocal(x),
       "gamma": scipy.special.gamma, "i0": scipy.special.i0}
# Whose complex results with infinite or NaN parts NumPy takes from the C library.
PLAIN = set("add subtract multiply negative positive conjugate real imag isnan isinf isfinite equal "
            "not_equal where logical_and logical_or logical_xor logical_not".split())


BESSEL = {"i0", "i1", "j0", "j1", "y0", "y1"}
SCIPY = set(dir(scipy.special)) - set(dir(np)) | {"i0"}


def operations():
    with open(os.path.join(HERE, "../../src/ops/ops.def")) as f:
        return [(name, int(arity)) for name, arity in
                re.findall(r'^OP\(\w+, \d+, "(\w+)", (\d)', f.read(), re.M)]


def function(name):
    for f in (OWN.get(name), getattr(np, name, None), getattr(scipy.special, name, None)):
        if f is not None:
            return f
    raise KeyError(name)


def apply(name, kinds, values):
    f = function(name)
    if name in ("frexp_mantissa", "frexp_exponent") and "c" in kinds:
        return None
    if name == "power" and set(kinds) <= {"b", "i"} and values[1] < 0:
        kinds = "ff"
    for bools in ("b", "i"):
        arrays = [np.array(v, DTYPES[bools if k == "b" else k]) for k, v in zip(kinds, values)]
        try:
            r = np.asarray(f(*arrays))
        except TypeError:
            return None
        if r.dtype.char in "?lLdDiB" and not (r.dtype.char == "B" and name != "bitwise_count"):
            break
    return r


def letter(dtype):
    return {"l": "q", "L": "Q"}.get(dtype.char, dtype.char)


def token(kind, v):
    if kind == "c":
        return f"c:{float(v.real).hex()},{float(v.imag).hex()}"
    return f"f:{float(v).hex()}" if kind == "f" else f"{kind}:{int(v)}"


def pairs(x, y):
    """Three of the pairs, the first ones, the last ones, and two between."""
    return sorted({(x[0], y[0]), (x[-1], y[-1]), (x[len(x) // 2], y[1])}, key=str)


def defined(name, values, r):
    if r.dtype.kind != "c" and not any(isinstance(v, complex) for v in values):
        return True
    finite = np.isfinite(r).all() and all(np.isfinite(v) for v in values)
    return bool(finite) or name in PLAIN and r.dtype.kind != "c"


def line(name, kinds, values):
    if name in BESSEL and float("inf") in values:
        return None  # SciPy says NaN, where limits exist
    operands = " ".join(token(k, v) for k, v in zip(kinds, values))
    r = apply(name, kinds, values)
    if r is None:
        return f"{name} refused {operands}"
    if not defined(name, values, r):
        return None
    kind = {"u": "i"}.get(r.dtype.kind, r.dtype.kind)
    return f"{name} {letter(r.dtype)} {token(kind, r[()])} {operands}"


def main():
    lines = []
    for name, arity in operations():
        if arity == 1:
            calls = [(k, (v,)) for k in VALUES for v in VALUES[k]]
        elif arity == 2:
            calls = [(k + m, p) for k in VALUES for m in VALUES for p in pairs(VALUES[k], VALUES[m])]
        else:
            calls = [("bii", (True, 7, -3)), ("iif", (0, 7, 2.5)), ("fff", (2.5, -0.0, 1e-3)),
                     ("fcb", (-0.0, 2.5j, True)), ("iii", (7, 0, -3)), ("bbb", (True, False, True))]
        done = {}
        for kinds, values in calls:
            if "c" in kinds and (name in ("rsqrt", "sinc") or name in SCIPY):
                continue  # kiln has no complex loops of these
            text = line(name, kinds, values)
            if text is not None and not (" refused " in text and done.get(kinds)):
                lines.append(text)
            done[kinds] = True
    with open(os.path.join(HERE, "numbers.txt"), "w") as f:
        f.write("# made by make_numbers.py\n" + "\n".join(lines) + "\n")


main()
