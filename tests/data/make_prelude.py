#!/usr/bin/env python3
"""Make prelude_math.txt and prelude_complex.txt: what the functions that snippets call must give.

Needs mpmath and NumPy. Most arguments are exact in float32, so that one table serves both widths;
those that are not serve float64 alone. Every result is computed with 60 digits and rounded once.

    python3 make_prelude.py        writes both files beside this script
"""
import os
import random

import mpmath as mp
import numpy as np

mp.mp.dps = 60
random.seed(20260)
HERE = os.path.dirname(os.path.abspath(__file__))


def f32(x):
    return float(np.float32(x))


def spread(low, high, count):
    """Points evenly spread over [low, high], not round ones."""
    return [f32(low + (high - low) * (k + random.random()) / count) for k in range(count)]


def powers(low, high, count, signs=True):
    """Points spread over the exponents from 10^low to 10^high."""
    points = []
    for k in range(count):
        v = 10.0 ** (low + (high - low) * (k + random.random()) / count)
        points.append(f32(-v if signs and random.random() < 0.5 else v))
    return points


def text(v):
    if isinstance(v, float) and (v != v or v in (float("inf"), float("-inf"))):
        return repr(v)
    v = mp.mpf(v)
    if mp.isnan(v) or mp.isinf(v):
        return repr(float(v))
    return float(v).hex()


mid, unit = spread(-10, 10, 24), spread(-1, 1, 24) + powers(-6, 0, 8)
wide = spread(-40, 40, 16) + powers(-8, 3, 16)
up = powers(-30, 30, 24, signs=False) + spread(0.5, 2, 16)
EXPONENTS = spread(-80, 80, 24) + powers(-6, 0, 8)
P = spread(0.01, 0.99, 16) + powers(-30, -2, 10, signs=False)

UNARY = {
    "sin": (mp.sin, wide), "cos": (mp.cos, wide), "tan": (mp.tan, wide),
    "asin": (mp.asin, unit), "acos": (mp.acos, unit), "atan": (mp.atan, wide),
    "sinh": (mp.sinh, EXPONENTS), "cosh": (mp.cosh, EXPONENTS), "tanh": (mp.tanh, mid + unit),
    "asinh": (mp.asinh, wide), "acosh": (mp.acosh, [f32(1 + abs(x)) for x in wide]),
    "atanh": (mp.atanh, unit), "exp": (mp.exp, EXPONENTS),
    "exp2": (lambda x: mp.power(2, x), spread(-120, 120, 24)),
    "exp10": (lambda x: mp.power(10, x), spread(-36, 36, 24)),
    "expm1": (mp.expm1, EXPONENTS), "log": (mp.log, up),
    "log2": (lambda x: mp.log(x) / mp.log(2), up), "log10": (mp.log10, up),
    "log1p": (mp.log1p, powers(-8, 5, 24, signs=False) + spread(-0.99, 0, 12)),
    "sqrt": (mp.sqrt, up), "rsqrt": (lambda x: 1 / mp.sqrt(x), up),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), wide),
    "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), wide),
    "erf": (mp.erf, spread(-4, 4, 24) + powers(-6, 0, 8)), "erfc": (mp.erfc, spread(-4, 9, 32)),
    "erfinv": (mp.erfinv, unit), "erfcinv": (lambda y: mp.erfinv(1 - mp.mpf(y)), P + [f32(2 - p) for p in P]),
    "erfcx": (lambda x: mp.exp(mp.mpf(x) ** 2) * mp.erfc(x), spread(-8, 8, 32) + powers(1, 6, 12, signs=False)),
    "tgamma": (mp.gamma, spread(0.1, 30, 16) + spread(-5, 0, 8)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), spread(3, 300, 16) + spread(0.05, 0.9, 8)),
    "normcdf": (mp.ncdf, spread(-12, 5, 32)),
    "normcdfinv": (lambda p: -mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(p)), [p for p in P if p < 1]),
    "j0": (lambda x: mp.besselj(0, x), spread(0, 2, 12)), "j1": (lambda x: mp.besselj(1, x), spread(0.1, 3, 12)),
    "y0": (lambda x: mp.bessely(0, x), spread(1.2, 3, 12)), "y1": (lambda x: mp.bessely(1, x), spread(0.1, 2, 12)),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), spread(-80, 80, 24) + spread(-1, 1, 6)),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), spread(-80, 80, 24) + spread(-1, 1, 6)),
    "sinpi": (mp.sinpi, wide + powers(3, 6, 6)), "cospi": (mp.cospi, wide + powers(3, 6, 6)),
}
PAIRS = list(zip(spread(-20, 20, 24), random.sample(spread(-20, 20, 24), 24)))
BINARY = {
    "pow": (mp.power, list(zip(powers(-2, 2, 32, signs=False), spread(-15, 15, 32)))),
    "atan2": (mp.atan2, PAIRS), "hypot": (mp.hypot, PAIRS + list(zip(powers(-30, 30, 12), powers(-30, 30, 12)))),
    "rhypot": (lambda x, y: 1 / mp.hypot(x, y), PAIRS),
    "fmod": (lambda x, y: mp.mpf(x) - mp.mpf(y) * int(mp.mpf(x) / mp.mpf(y)), PAIRS),
    "remainder": (lambda x, y: mp.mpf(x) - mp.mpf(y) * mp.nint(mp.mpf(x) / mp.mpf(y)), PAIRS),
    "fdim": (lambda x, y: max(mp.mpf(x) - mp.mpf(y), mp.mpf(0)), PAIRS),
}

SPECIAL = [
    ("sin", "0.0", "0.0"), ("exp", "-inf", "0.0"), ("exp", "inf", "inf"), ("exp", "nan", "nan"),
    ("log", "0.0", "-inf"), ("log", "-1.0", "nan"), ("sqrt", "-1.0", "nan"), ("sqrt", "inf", "inf"),
    ("erfinv", "0.0", "0.0"), ("erfinv", "1.0", "inf"), ("erfinv", "-1.0", "-inf"),
    ("erfinv", "1.5", "nan"), ("erfinv", "nan", "nan"), ("erfcinv", "0.0", "inf"),
    ("erfcinv", "2.0", "-inf"), ("erfcinv", "1.0", "0.0"), ("erfcinv", "-0.5", "nan"),
    ("normcdf", "-inf", "0.0"), ("normcdf", "inf", "1.0"), ("normcdf", "nan", "nan"),
    ("normcdf", "0.0", "0.5"), ("normcdfinv", "0.0", "-inf"), ("normcdfinv", "1.0", "inf"),
    ("normcdfinv", "0.5", "0.0"), ("erfcx", "0.0", "1.0"), ("erfcx", "inf", "0.0"),
    ("erfcx", "-inf", "inf"), ("erfcx", "nan", "nan"), ("sinpi", "1.0", "0.0"),
    ("sinpi", "0.5", "1.0"), ("sinpi", "-1.5", "1.0"), ("cospi", "0.5", "0.0"),
    ("cospi", "1.0", "-1.0"), ("cospi", "3.0", "-1.0"), ("cospi", "-2.5", "0.0"),
    ("sinpi", "inf", "nan"), ("cospi", "nan", "nan"), ("cyl_bessel_i0", "inf", "inf"),
    ("cyl_bessel_i1", "-inf", "-inf"), ("cyl_bessel_i0", "nan", "nan"), ("rsqrt", "0.0", "inf"),
    ("tanh", "inf", "1.0"), ("atan", "-inf", text(-mp.pi / 2)),
]


def write_math():
    with open(os.path.join(HERE, "prelude_math.txt"), "w") as out:
        out.write("# made by make_prelude.py: function arguments result\n")
        for name, (f, points) in UNARY.items():
            finer = 2.0**-30 if name == "acosh" else -(2.0**-30) # stay inside the domain
            for x in points + [x * (1 + random.uniform(0.5, 1) * finer) for x in points[::4]]:
                out.write(f"{name} {x.hex()} {text(f(mp.mpf(x)))}\n")
        for name, (f, points) in BINARY.items():
            for x, y in points:
                out.write(f"{name} {x.hex()} {y.hex()} {text(f(mp.mpf(x), mp.mpf(y)))}\n")
        for name, x, r in SPECIAL:
            out.write(f"{name} {x} {r}\n")


def plane(low, high, count):
    return [mp.mpc(x, y) for x, y in zip(powers(low, high, count), random.sample(powers(low, high, count), count))]


Z = plane(-3, 1, 24) + [mp.mpc(x, y) for x, y in zip(spread(-3, 3, 16), random.sample(spread(-3, 3, 16), 16))]
FAR = plane(-12, 12, 24)
NEAR_ONE = [mp.mpc(f32(1 + x), f32(y)) for x, y in zip(powers(-4, -1, 12), powers(-4, -1, 12))]
COMPLEX = {
    "exp": (mp.exp, Z + plane(0, 1.8, 8)), "log": (mp.log, Z + FAR + NEAR_ONE),
    "log10": (mp.log10, Z), "log2": (lambda z: mp.log(z) / mp.log(2), Z),
    "sqrt": (mp.sqrt, Z + FAR), "sin": (mp.sin, Z), "cos": (mp.cos, Z), "tan": (mp.tan, Z),
    "asin": (mp.asin, Z + FAR), "acos": (mp.acos, Z + FAR), "atan": (mp.atan, Z + FAR),
    "sinh": (mp.sinh, Z), "cosh": (mp.cosh, Z), "tanh": (mp.tanh, Z + plane(0, 2, 8)),
    "asinh": (mp.asinh, Z + FAR), "acosh": (mp.acosh, Z + FAR), "atanh": (mp.atanh, Z + FAR + NEAR_ONE),
    "expm1": (mp.expm1, Z + plane(-6, -1, 12)), "log1p": (lambda z: mp.log(1 + z), Z + plane(-6, -1, 12)),
    "conj": (mp.conj, Z[:4]), "abs": (abs, Z + FAR), "arg": (mp.arg, Z + FAR), "norm": (lambda z: abs(z) ** 2, Z),
}
ZZ = list(zip(Z, random.sample(Z, len(Z))))
COMPLEX2 = {
    "multiply": (lambda a, b: a * b, ZZ), "divide": (lambda a, b: a / b, ZZ),
    "pow": (mp.power, [(a, b) for a, b in ZZ if abs(b * mp.log(a)) < 20]
            + [(a, mp.mpc(k, 0)) for a, k in zip(Z, (-7, -3, -2, -1, 0, 1, 2, 3, 5, 8, 13))]),
    "polar": (lambda r, t: mp.mpc(r.real * mp.cos(t.real), r.real * mp.sin(t.real)),
              [(mp.mpc(abs(a), 0), mp.mpc(b.real, 0)) for a, b in ((mp.mpc(f32(abs(p.real)), 0), q) for p, q in ZZ)]),
}
# Branch cuts, zeros and infinities, as C99 (annex G) has them.
COMPLEX_SPECIAL = [
    ("sqrt", "-4.0 0.0", "0.0 2.0"), ("sqrt", "-4.0 -0.0", "0.0 -2.0"), ("sqrt", "0.0 0.0", "0.0 0.0"),
    ("sqrt", "-inf 1.0", "0.0 inf"), ("sqrt", "inf -1.0", "inf -0.0"), ("sqrt", "1.0 inf", "inf inf"),
    ("sqrt", "nan 1.0", "nan nan"), ("log", "-1.0 0.0", f"0.0 {text(mp.pi)}"),
    ("log", "-1.0 -0.0", f"0.0 {text(-mp.pi)}"), ("log", "0.0 0.0", "-inf 0.0"), ("log", "nan 0.0", "nan nan"),
    ("exp", "-inf 1.0", "0.0 0.0"), ("exp", "0.0 0.0", "1.0 0.0"), ("exp", "inf 0.0", "inf 0.0"),
    ("exp", "-inf inf", "0.0 0.0"), ("exp", "nan 0.0", "nan 0.0"), ("sinh", "0.0 0.0", "0.0 0.0"),
    ("tanh", "inf 1.0", "1.0 0.0"), ("tanh", "-inf 1.0", "-1.0 0.0"), ("tanh", "0.0 0.0", "0.0 0.0"),
    ("asin", "2.0 0.0", f"{text(mp.pi / 2)} {text(mp.acosh(2))}"),
    ("asin", "2.0 -0.0", f"{text(mp.pi / 2)} {text(-mp.acosh(2))}"),
    ("acos", "2.0 0.0", f"0.0 {text(-mp.acosh(2))}"), ("acos", "2.0 -0.0", f"0.0 {text(mp.acosh(2))}"),
    ("acosh", "0.5 0.0", f"0.0 {text(mp.acos(0.5))}"), ("acosh", "-2.0 0.0", f"{text(mp.acosh(2))} {text(mp.pi)}"),
    ("atanh", "1.0 0.0", "inf 0.0"), ("atanh", "2.0 0.0", f"{text(mp.atanh(mp.mpf(1) / 2))} {text(mp.pi / 2)}"),
    ("atanh", "2.0 -0.0", f"{text(mp.atanh(mp.mpf(1) / 2))} {text(-mp.pi / 2)}"),
    ("atan", "0.0 2.0", f"{text(mp.pi / 2)} {text(mp.atanh(mp.mpf(1) / 2))}"),
    ("abs", "inf nan", "inf 0.0"), ("abs", "3.0 -4.0", "5.0 0.0"),
]


def pair(v):
    v = mp.mpc(v)
    return f"{text(v.real)} {text(v.imag)}"


def write_complex():
    with open(os.path.join(HERE, "prelude_complex.txt"), "w") as out:
        out.write("# made by make_prelude.py: function, real and imaginary part of each argument and of the result\n")
        for name, (f, points) in COMPLEX.items():
            for z in points:
                out.write(f"{name} {pair(z)} {pair(f(z))}\n")
        for name, (f, points) in COMPLEX2.items():
            for a, b in points:
                out.write(f"{name} {pair(a)} {pair(b)} {pair(f(a, b))}\n")
        for name, z, r in COMPLEX_SPECIAL:
            out.write(f"{name} {z} {r}\n")


write_math()
write_complex()
