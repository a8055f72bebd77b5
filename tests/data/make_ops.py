#!/usr/bin/env python3
"""Make ops.txt and ops.dat: what elementwise operations give, asked from NumPy and SciPy.

Needs NumPy 2, SciPy, mpmath and ml_dtypes. ops.dat is raw elements, little endian; ops.txt tells what lies
where:

    operand NAME DTYPE OFFSET COUNT          COUNT elements from byte OFFSET on
    case OP DTYPE ULPS OFFSET OPERAND...     the results, as many as the operands have elements

DTYPE is NumPy's letter (E: bfloat16, q and Q: int64 and uint64). ULPS is the error allowed: 0 for
operations whose results NumPy defines to the last bit. The expected values of the others were
computed in the widest type there is and rounded once.

bfloat16 results are float32 results rounded once, which is kiln's rule for it.

    python3 make_ops.py     writes both files beside this script
"""
import os
import warnings

import ml_dtypes
import mpmath
import numpy as np
import scipy.special

warnings.simplefilter("ignore")
np.seterr(all="ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
BF = np.dtype(ml_dtypes.bfloat16)
LETTERS = "?bhiqBHIQeEfdFD"
INTS, FLOATS, COMPLEXES = "bBhHiIqQ", "eEfd", "FD"
DTYPES = {c: BF if c == "E" else np.dtype(c) for c in LETTERS}
NAMES = {str(d): c for c, d in DTYPES.items()}
WIDE = {"e": np.longdouble, "E": np.longdouble, "f": np.longdouble, "d": np.longdouble,
        "F": np.clongdouble, "D": np.clongdouble}
inf, nan = float("inf"), float("nan")


def letter(dtype):
    return NAMES[str(np.dtype(dtype))]


# ---- operands --------------------------------------------------------------------------------


def floats(c, unary):
    t = DTYPES[c]
    info = ml_dtypes.finfo(t) if c == "E" else np.finfo(t)
    some = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 0.3, 100.25,
            float(info.max), float(info.smallest_subnormal)]
    more = [2.0, -3.0, 1.5, -0.5, -1.5, 0.75, -0.999, 1e-3, -1e-4, 7.0, -11.25, 20.5, 0.1, -0.7,
            float(info.tiny), -float(info.max), 1.25, 9.75]
    return np.array(some + more if unary else some).astype(t)


def complexes(c, unary, special):
    some = [0, 1, -1, 1j, -1j, 1 + 1j, -2.5 + 3j, 0.3 - 0.4j, 2, 100 - 1j, complex(-0.0, 0.5), 1e-3j]
    some += [complex(nan, 1), complex(1, inf)] if special else [-0.75 - 0.25j, 3 + 4j]
    more = [2j, -2, 0.5, 0.25 + 2j, -3 - 1j, 1.5 - 0.5j, 0.01 + 0.02j, 7 + 7j, -0.5 + 0.1j, 4.5j,
            -6 + 0.5j, 0.99 + 0.01j, 10 - 3j, 1e-4 - 1e-4j, -1.25 - 2.5j, 0.6 + 0.8j, -4 + 4j, 5 - 5j]
    return np.array(some + more if unary else some, dtype=DTYPES[c])


def ints(c, unary):
    t = DTYPES[c]
    low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
    bits = 8 * t.itemsize
    some = [low, low + 1, -8, -7, -3, -1, 0, 1, 2, 3, 7, bits - 1, high - 1, high] if low < 0 else \
        [0, 1, 2, 3, 5, 7, 8, bits - 1, bits, 100, high // 2, high // 2 + 1, high - 1, high]
    more = [4, 6, 9, 10, 12, 15, 16, 25, 27, 36, 64, 81, 99, 120] + \
        ([-2, -5, -12, -100] if low < 0 else [11, 13, 17, 127])
    return np.array(some + more if unary else some, dtype=t)


def base(c, unary, special=True):
    if c == "?":
        return np.array([False, True] * (16 if unary else 7))
    if c in INTS:
        return ints(c, unary)
    if c in FLOATS:
        return floats(c, unary)
    return complexes(c, unary, special)


class Data:
    def __init__(self):
        self.bytes = bytearray()
        self.lines = []
        self.operands = {}

    def put(self, array):
        while len(self.bytes) % 16:
            self.bytes.append(0)
        at = len(self.bytes)
        self.bytes += np.ascontiguousarray(array).tobytes()
        return at

    def operand(self, name, array):
        """Remember an array under a name, once."""
        if name not in self.operands:
            self.operands[name] = array
            self.lines.append("operand %s %s %d %d" % (name, letter(array.dtype), self.put(array),
                                                       array.size))
        return name

    def case(self, op, result, ulps, names):
        self.lines.append("case %s %s %g %d %s" % (op, letter(result.dtype), ulps,
                                                   self.put(result), " ".join(names)))


def unary_operand(data, c, special=True):
    name = c + ("u" if special or c not in COMPLEXES else "v")
    return data.operand(name, base(c, True, special))


def pair_operands(data, c, special=True):
    v = base(c, False, special)
    tag = "" if special or c not in COMPLEXES else "z"
    return (data.operand(c + "a" + tag, np.repeat(v, v.size)),
            data.operand(c + "b" + tag, np.tile(v, v.size)))


# ---- expected values -------------------------------------------------------------------------


def by_numpy(f):
    """Results as NumPy has them; bfloat16 through float32."""
    def call(*arrays):
        if any(a.dtype == BF for a in arrays):
            r = f(*(a.astype(np.float32) if a.dtype == BF else a for a in arrays))
            return r.astype(BF) if r.dtype == np.float32 else r
        return f(*arrays)
    return call


def by_wide(f, wide=WIDE):
    """Results computed in the widest type and rounded once."""
    def call(*arrays):
        c = letter(arrays[0].dtype)
        r = f(*(a.astype(wide[c]) for a in arrays))
        if c in COMPLEXES and not np.iscomplexobj(r):
            return r.astype(np.float32 if c == "F" else np.float64)
        return (r.astype(np.float32) if c == "E" else r).astype(arrays[0].dtype)
    return call


def sinc(x):
    t = np.float32 if x.dtype.itemsize < 4 else x.dtype
    return np.sinc(x.astype(t)).astype(x.dtype)


def trunc_power(a, b):
    """Integer power, negative exponents included: the reciprocal rounded toward 0."""
    r = np.power(a, np.maximum(b, 0).astype(b.dtype))
    if a.dtype.kind == "u":
        return r
    odd = (b % 2) != 0
    below = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0))
    return np.where(b < 0, below, r).astype(a.dtype)


def int_reciprocal(a):
    return np.where(a == 1, 1, np.where(a == -1, -1, 0)).astype(a.dtype) if a.dtype.kind == "i" \
        else (a == 1).astype(a.dtype)


EXACT_UNARY = {
    "negative": (np.negative, INTS + FLOATS + COMPLEXES), "positive": (np.positive, INTS + FLOATS),
    "absolute": (np.absolute, "?" + INTS + FLOATS), "fabs": (np.fabs, FLOATS),
    "sign": (np.sign, INTS + FLOATS), "reciprocal": (np.reciprocal, FLOATS),
    "square": (np.square, INTS + FLOATS), "sqrt": (np.sqrt, FLOATS),
    "floor": (np.floor, "?" + INTS + FLOATS), "ceil": (np.ceil, "?" + INTS + FLOATS),
    "trunc": (np.trunc, "?" + INTS + FLOATS), "rint": (np.rint, FLOATS + COMPLEXES),
    "round": (np.round, INTS + FLOATS + COMPLEXES),
    "logical_not": (np.logical_not, LETTERS), "invert": (np.invert, "?" + INTS),
    "bitwise_count": (np.bitwise_count, INTS),
    "isnan": (np.isnan, LETTERS), "isinf": (np.isinf, LETTERS), "isfinite": (np.isfinite, LETTERS),
    "signbit": (np.signbit, FLOATS), "spacing": (np.spacing, "efd"),
    "frexp_mantissa": (lambda x: np.frexp(x)[0], FLOATS),
    "frexp_exponent": (lambda x: np.frexp(x)[1], FLOATS),
    "modf_fraction": (lambda x: np.modf(x)[0], FLOATS),
    "modf_whole": (lambda x: np.modf(x)[1], FLOATS),
    "real": (lambda x: x.real.copy(), LETTERS.replace("E", "")),
    "imag": (lambda x: x.imag.copy(), LETTERS.replace("E", "")),
    "conjugate": (np.conjugate, INTS + FLOATS + COMPLEXES),
}
S = scipy.special
# name: (function, dtypes, ulps of float32, of float64, of complex)
ROUNDED_UNARY = {
    "sqrt": (np.sqrt, COMPLEXES, 0, 0, 4), "absolute": (np.absolute, COMPLEXES, 0, 0, 4),
    "cbrt": (np.cbrt, FLOATS, 4, 4, 0), "square": (np.square, COMPLEXES, 0, 0, 4),
    "reciprocal": (np.reciprocal, COMPLEXES, 0, 0, 6), "sign": (np.sign, COMPLEXES, 0, 0, 4),
    "rsqrt": (lambda x: 1 / np.sqrt(x), FLOATS, 2, 2, 0),
    "exp": (np.exp, FLOATS + COMPLEXES, 4, 4, 6),
    "exp2": (np.exp2, FLOATS + COMPLEXES, 4, 4, 24), "expm1": (np.expm1, FLOATS + COMPLEXES, 4, 4, 8),
    "log": (np.log, FLOATS + COMPLEXES, 4, 4, 4), "log2": (np.log2, FLOATS + COMPLEXES, 4, 4, 5),
    "log10": (np.log10, FLOATS + COMPLEXES, 4, 4, 5), "log1p": (np.log1p, FLOATS + COMPLEXES, 4, 4, 6),
    "sin": (np.sin, FLOATS + COMPLEXES, 4, 4, 6), "cos": (np.cos, FLOATS + COMPLEXES, 4, 4, 6),
    "tan": (np.tan, FLOATS + COMPLEXES, 4, 4, 10),
    "arcsin": (np.arcsin, FLOATS + COMPLEXES, 4, 4, 8),
    "arccos": (np.arccos, FLOATS + COMPLEXES, 4, 4, 8),
    "arctan": (np.arctan, FLOATS + COMPLEXES, 4, 4, 6),
    "sinh": (np.sinh, FLOATS + COMPLEXES, 4, 4, 6), "cosh": (np.cosh, FLOATS + COMPLEXES, 4, 4, 6),
    "tanh": (np.tanh, FLOATS + COMPLEXES, 4, 4, 10),
    "arcsinh": (np.arcsinh, FLOATS + COMPLEXES, 4, 4, 8),
    "arccosh": (np.arccosh, FLOATS + COMPLEXES, 4, 4, 8),
    "arctanh": (np.arctanh, FLOATS + COMPLEXES, 4, 4, 6),
    "degrees": (np.degrees, FLOATS, 2, 2, 0), "radians": (np.radians, FLOATS, 2, 2, 0),
    "angle": (np.angle, FLOATS + COMPLEXES, 4, 4, 4),
}
# What they are exactly, where that is a number; else SciPy's infinities and NaN, but for those of
# SciPy's that are wrong.
M = mpmath
ROOT = M.sqrt(2)
SCIPY_UNARY = {
    "erf": (S.erf, M.erf, 4, 6), "erfc": (S.erfc, M.erfc, 5, 8),
    "erfcx": (S.erfcx, lambda x: M.exp(x * x) * M.erfc(x), 6, 8),
    "erfinv": (S.erfinv, M.erfinv, 5, 10), "erfcinv": (S.erfcinv, None, 6, 10),
    "ndtr": (S.ndtr, M.ncdf, 6, 10), "ndtri": (S.ndtri, None, 8, 12),
    "gamma": (S.gamma, M.gamma, 11, 20), "gammaln": (S.gammaln, lambda x: M.log(abs(M.gamma(x))), 64, 64),
    "i0": (S.i0, lambda x: M.besseli(0, x), 8, 12), "i1": (S.i1, lambda x: M.besseli(1, x), 8, 12),
    "expit": (S.expit, lambda x: 1 / (1 + M.exp(-x)), 6, 8),
    "logit": (S.logit, lambda x: M.log(x / (1 - x)), 6, 8),
    "j0": (S.j0, M.j0, 9, 12), "j1": (S.j1, M.j1, 9, 12),
    "y0": (S.y0, lambda x: M.bessely(0, x), 9, 12), "y1": (S.y1, lambda x: M.bessely(1, x), 9, 12),
}
SCIPY_WRONG = {("gammaln", -inf): inf, ("i0", inf): inf, ("i0", -inf): inf, ("i1", inf): inf,
               ("i1", -inf): -inf}


def special(op, f, exact):
    def one(v):
        if (op, v) in SCIPY_WRONG:
            return SCIPY_WRONG[op, v]
        if exact is None or not np.isfinite(v) or abs(v) > 1e6:
            return float(f(v))
        try:
            r = exact(mpmath.mpf(v))
        except (ValueError, ZeroDivisionError):
            return float(f(v))
        return float(r) if isinstance(r, mpmath.mpf) and mpmath.isfinite(r) else float(f(v))

    def call(x):
        mpmath.mp.prec = 1500
        wide = np.array([one(float(v)) for v in x])
        return (wide.astype(np.float32) if x.dtype == BF else wide).astype(x.dtype)
    return call
EXACT_BINARY = {
    "add": (np.add, "?" + INTS + FLOATS + COMPLEXES), "subtract": (np.subtract, INTS + FLOATS + COMPLEXES),
    "multiply": (np.multiply, "?" + INTS + FLOATS), "divide": (np.divide, FLOATS),
    "floor_divide": (np.floor_divide, INTS + FLOATS), "remainder": (np.remainder, INTS + FLOATS),
    "fmod": (np.fmod, INTS + FLOATS), "power": (trunc_power, INTS),
    "gcd": (np.gcd, INTS), "lcm": (np.lcm, INTS),
    "maximum": (np.maximum, LETTERS), "minimum": (np.minimum, LETTERS),
    "fmax": (np.fmax, LETTERS), "fmin": (np.fmin, LETTERS),
    "bitwise_and": (np.bitwise_and, "?" + INTS), "bitwise_or": (np.bitwise_or, "?" + INTS),
    "bitwise_xor": (np.bitwise_xor, "?" + INTS),
    "left_shift": (np.left_shift, INTS), "right_shift": (np.right_shift, INTS),
    "copysign": (np.copysign, FLOATS), "nextafter": (np.nextafter, "efd"),
    "heaviside": (np.heaviside, FLOATS),
}
for _name in "equal not_equal less less_equal greater greater_equal".split():
    EXACT_BINARY[_name] = (getattr(np, _name), LETTERS)
for _name in "logical_and logical_or logical_xor".split():
    EXACT_BINARY[_name] = (getattr(np, _name), LETTERS)
ROUNDED_BINARY = {
    "multiply": (np.multiply, COMPLEXES, 0, 0, 4), "divide": (np.divide, COMPLEXES, 0, 0, 6),
    "power": (np.power, FLOATS + COMPLEXES, 8, 4, 1500), "float_power": (np.power, "dD", 4, 4, 1500),
    "hypot": (np.hypot, FLOATS, 4, 4, 0), "arctan2": (np.arctan2, FLOATS, 4, 4, 0),
    "logaddexp": (np.logaddexp, FLOATS, 8, 8, 0), "logaddexp2": (np.logaddexp2, FLOATS, 8, 8, 0),
}
# Operations of which every pair of dtypes is run, not only equal ones.
EVERY_PAIR = {"add": (np.add, 0), "less": (np.less, 0), "maximum": (np.maximum, 0),
              "floor_divide": (np.floor_divide, 0), "not_equal": (np.not_equal, 0)}


def ulps_of(c, single, double, complex_):
    return {"e": 1, "E": 1, "f": single, "d": double}.get(c, complex_)


def make_unary(data):
    for op, (f, letters) in EXACT_UNARY.items():
        for c in letters:
            name = unary_operand(data, c)
            data.case(op, by_numpy(f)(data.operands[name]), 0, [name])
    for c in INTS:
        name = unary_operand(data, c)
        data.case("reciprocal", int_reciprocal(data.operands[name]), 0, [name])
    for op, (f, letters, *ulps) in ROUNDED_UNARY.items():
        for c in letters:
            name = unary_operand(data, c, special=False)
            data.case(op, by_wide(f)(data.operands[name]), ulps_of(c, *ulps), [name])
    for op, (f, exact, single, double) in SCIPY_UNARY.items():
        for c in FLOATS:
            name = unary_operand(data, c)
            if op in ("erfcinv", "ndtri"):  # what rounds in their arguments shows in the results
                v = base(c, True)
                v[v == v[13]] = v[28]
                name = data.operand(c + "n", v)
            if op in ("j0", "j1", "y0", "y1"):  # further out CUDA bounds only their absolute error
                v = base(c, True)
                v = np.where(np.abs(v) < 8, v, v.dtype.type(4.75)).astype(v.dtype)
                name = data.operand(c + "j", v)
            data.case(op, special(op, f, exact)(data.operands[name]), ulps_of(c, single, double, 0),
                      [name])
    for c in FLOATS:
        name = unary_operand(data, c)
        data.case("sinc", sinc(data.operands[name]), 8 if c in "fd" else 1, [name])


def make_binary(data):
    for op, (f, letters) in EXACT_BINARY.items():
        for c in letters:
            names = pair_operands(data, c)
            data.case(op, by_numpy(f)(*(data.operands[n] for n in names)), 0, names)
    for op, (f, letters, *ulps) in ROUNDED_BINARY.items():
        for c in letters:
            names = pair_operands(data, c, special=False)
            data.case(op, by_wide(f)(*(data.operands[n] for n in names)), ulps_of(c, *ulps), names)
    exponents = data.operand("kx", np.tile(np.array([0, 1, -1, 3, -3, 10, -10, 100, -140, 1000, -1080,
                                                     2**31 - 1, -2**31, 2], np.int32), 14))
    far = data.operand("ky", np.tile(np.array([0, 1, -1, 3, 2**40, -2**40, 2**63 - 1, -2**63, 5, 6, 7,
                                               -8, 9, 10], np.int64), 14))
    for c in FLOATS:
        for e in (exponents, far):
            x = pair_operands(data, c)[0]
            data.case("ldexp", by_numpy(np.ldexp)(data.operands[x], data.operands[e]), 0, [x, e])


def make_ternary(data):
    rng = np.random.default_rng(3)
    pick = rng.integers(0, 14, (3, 196))
    choice = data.operand("?c", rng.integers(0, 2, 196).astype(bool))
    for c in LETTERS:
        v = base(c, False)
        names = [data.operand("%s%d" % (c, k), v[pick[k]]) for k in range(3)]
        values = [data.operands[n] for n in names]
        data.case("where", np.where(data.operands[choice], values[0], values[1]), 0,
                  [choice] + names[:2])
        data.case("clip", by_numpy(np._core.umath.clip)(*values), 0, names)
    for c in "qfD":
        data.case("where", np.where(data.operands[c + "0"], data.operands["f1"], data.operands["f2"]), 0,
                  [c + "0", "f1", "f2"])


def make_pairs(data):
    for a in LETTERS.replace("E", ""):
        for b in LETTERS.replace("E", ""):
            for op, (f, ulps) in EVERY_PAIR.items():
                x, y = pair_operands(data, a)[0], pair_operands(data, b)[1]
                short = [data.operand(n + "s", data.operands[n][::5]) for n in (x, y)]
                if a == b:
                    continue
                try:
                    r = f(*(data.operands[n] for n in short))
                except TypeError:
                    continue
                data.case(op, r, ulps, short)


def main():
    data = Data()
    make_unary(data)
    make_binary(data)
    make_ternary(data)
    make_pairs(data)
    with open(os.path.join(HERE, "ops.dat"), "wb") as f:
        f.write(data.bytes)
    with open(os.path.join(HERE, "ops.txt"), "w") as f:
        f.write("\n".join(data.lines) + "\n")


if __name__ == "__main__":
    main()
