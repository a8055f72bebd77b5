#!/usr/bin/env python3
"""Write scalars.txt: what each scalar becomes in each dtype, by NumPy and exact arithmetic.

    python3 make_scalars.py > scalars.txt        needs numpy and ml_dtypes

A line is "kind value dtype bytes". The bytes are those of numpy.array(value, dtype), in hex; "range"
stands where NumPy raises OverflowError, wraps around, drops a fraction or an imaginary part, or turns
a finite number into an infinite one; "nan" where the payload is open. NumPy rounds some conversions
twice (through float64 or float32); those are done here with fractions, once.
"""
import math
from fractions import Fraction

import ml_dtypes
import numpy as np

np.seterr(all="ignore")

NAMES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
         "float16 bfloat16 float32 float64 complex64 complex128").split()
# Fraction bits and largest exponent of each format.
FORMATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}

INTEGERS = [0, 1, 2, -1, 127, 128, -128, -129, 255, 256, -32768, 32767, 32768, 65504, 65519, 65520,
            65535, 65536, 2**24 + 1, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32 - 1, 2**32,
            2**53, 2**53 + 1, 2**53 + 3, 0x4040000000000001, 0x4040000000000000,
            0x40C0000000000000, 0x4000004000000001, 0x4000004000000000, 2**63 - 1, 2**63, -2**63,
            2**64 - 1]
FLOATS = ["0.0", "-0.0", "1.0", "-1.5", "0.1", "65504.0", "65519.999", "65520.0", "-65520.0",
          "3.3895313892515355e+38", "3.3961775292304957e+38", "3.4028234663852886e+38",
          "3.4028235677973362e+38", "3.4028235677973366e+38", "1e300", "1e-46", "5e-324", "6e-8",
          "2.9e-8", "1.00048828125", "1.0004882812500002", "1.00390625", "1.0039062500000002",
          "inf", "-inf", "nan"]
COMPLEX = [("1.0", "2.0"), ("0.0", "-0.0"), ("-0.1", "1e300"), ("1e300", "0.1"), ("inf", "1.0")]


def dtype_of(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def rounded(value, name):
    """An integer or a float rounded once, ties to even, to a float format; None when too large."""
    if isinstance(value, float) and not math.isfinite(value) or value == 0:
        return np.array(value, dtype=np.float64).astype(dtype_of(name))
    bits, top = FORMATS[name]
    exact = Fraction(value)
    exponent = max(math.frexp(abs(float(exact)))[1] - 2, 1 - top)  # at most the true one
    while Fraction(2) ** (exponent + 1) <= abs(exact):
        exponent += 1
    unit = Fraction(2) ** (exponent - bits)
    result = round(exact / unit) * unit  # Python rounds fractions half to even
    if abs(result) >= Fraction(2) ** (top + 1):
        return None
    signed = math.copysign(float(result), value)  # keeps the sign of a zero
    return np.array(signed, dtype=np.float64).astype(dtype_of(name))


def show(parts):
    """Bytes of one real, or of a real and an imaginary part."""
    if any(p is None for p in parts):
        return "range"
    if any(np.isnan(p.astype(np.float64)) for p in parts):
        return "nan"
    return "".join(p.tobytes().hex() for p in parts)


def real_as(value, name):
    if name.startswith("complex"):
        part = "float32" if name == "complex64" else "float64"
        return show([rounded(value, part), rounded(0.0, part)])
    return show([rounded(value, name)])


def integer_as(value, name):
    dtype = dtype_of(name)
    if name == "bool":
        return np.array(bool(value)).tobytes().hex() if value in (0, 1) else "range"
    if dtype.kind not in "iu":
        return real_as(value, name)
    limits = np.iinfo(dtype)
    fits = limits.min <= value <= limits.max
    return np.array(value, dtype=dtype).tobytes().hex() if fits else "range"


def main():
    print(f"# Made by make_scalars.py with NumPy {np.__version__}: kind value dtype bytes")
    for value in INTEGERS:
        for name in NAMES:
            if value < 2**63:
                print("int", value, name, integer_as(value, name))
            if value >= 0:
                print("uint", value, name, integer_as(value, name))
    for value in (False, True):
        for name in NAMES:
            print("bool", int(value), name, np.array(value).astype(dtype_of(name)).tobytes().hex())
    for text in FLOATS:
        for name in NAMES:
            real = dtype_of(name).kind in "fcV"
            print("float", text, name, real_as(float(text), name) if real else "range")
    for parts in COMPLEX:
        for name in NAMES:
            part = {"complex64": "float32", "complex128": "float64"}.get(name)
            value = show([rounded(float(p), part) for p in parts]) if part else "range"
            print("complex", ",".join(parts), name, value)


if __name__ == "__main__":
    main()
