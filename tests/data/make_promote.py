#!/usr/bin/env python3
"""Make promote.txt: which dtypes results have, asked from NumPy.

Needs NumPy 2 and ml_dtypes (for bfloat16). Dtypes are letters: ? b h i q B H I Q e E f d F D, with
E for bfloat16; "." where NumPy refuses.

    pair LETTERS               np.promote_types, row by row over the letters above
    triple ABC R               np.result_type(A, B, C) = R
    number OP KIND VALUE LETTERS
                               the result's dtype of OP for an array of each dtype and a plain
                               number; KIND is b, i, u, f or c, the imaginary part alone given for
                               c; ! where the number does not fit
    op NAME ARITY IN OUT       for each dtype (or pair, row by row) the loop's first input type and
                               the result's dtype

Left out ("_"): what NumPy with ml_dtypes does not define for bfloat16, or where kiln's rule is its
own (a plain float beside bfloat16).

    python3 make_promote.py     writes promote.txt beside this script
"""
import os
import random
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")
random.seed(5)
LETTERS = "?bhiqBHIQeEfdFD"
BF = np.dtype(ml_dtypes.bfloat16)
DTYPES = {c: BF if c == "E" else np.dtype(c) for c in LETTERS}
NAMES = {str(d): c for c, d in DTYPES.items()}


def letter(dtype):
    return NAMES[str(np.dtype(dtype))]


def promote(*letters):
    try:
        return letter(np.result_type(*(DTYPES[c] for c in letters)))
    except TypeError:
        return "_" if "E" in letters else "."


def number(op, c, v):
    if c == "E" and (op != "add" or isinstance(v, float)):
        return "_"
    try:
        return letter(getattr(np, op)(np.ones(0, DTYPES[c]), v).dtype)
    except OverflowError:
        return "!"
    except TypeError:
        return "_" if c == "E" else "."


def resolve(ufunc, letters):
    """(first input type, result) of a ufunc's loop for operands of these dtypes."""
    if "E" in letters:
        return "_", "_"
    try:
        types = ufunc.resolve_dtypes(tuple(DTYPES[c] for c in letters) + (None,) * ufunc.nout)
    except TypeError:
        return ".", "."
    return letter(types[0]), letter(types[ufunc.nin])


UNARY = """negative positive absolute fabs sign reciprocal square sqrt cbrt logical_not invert
bitwise_count exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh
arcsinh arccosh arctanh degrees radians floor ceil trunc rint isnan isinf isfinite signbit
conjugate spacing""".split()
BINARY = """add subtract multiply divide floor_divide remainder fmod power float_power hypot gcd lcm
equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor left_shift right_shift logaddexp logaddexp2 arctan2 copysign
nextafter heaviside maximum minimum fmax fmin ldexp""".split()
NUMBERS = [("b", True), ("i", 0), ("i", 1), ("i", -1), ("i", 127), ("i", 128), ("i", 255), ("i", 256),
           ("i", -128), ("i", -129), ("i", 300), ("i", 32768), ("i", 65536), ("i", 2**31),
           ("i", -2**31), ("i", -2**31 - 1), ("i", 2**32), ("i", 2**63 - 1), ("i", -2**63),
           ("u", 2**63), ("u", 2**64 - 1), ("f", 1.5), ("f", 1e300), ("c", 1j)]


def main():
    lines = ["pair " + "".join(promote(a, b) for a in LETTERS for b in LETTERS)]
    for _ in range(300):
        letters = [random.choice(LETTERS.replace("E", "")) for _ in range(3)]
        lines.append("triple %s %s" % ("".join(letters), promote(*letters)))
    for kind, v in NUMBERS:
        shown = repr(v.imag) if kind == "c" else repr(float(v)) if kind == "f" else str(int(v))
        for op in ("add", "power", "hypot", "divide", "maximum", "less", "bitwise_and", "arctan2"):
            answers = "".join(number(op, c, v) for c in LETTERS)
            lines.append("number %s %s %s %s" % (op, kind, shown, answers))
    for name in UNARY:
        answers = [resolve(getattr(np, name), a) for a in LETTERS]
        lines.append("op %s 1 %s %s" % (name, *("".join(x) for x in zip(*answers))))
    for name in BINARY:
        answers = [resolve(getattr(np, name), a + b) for a in LETTERS for b in LETTERS]
        lines.append("op %s 2 %s %s" % (name, *("".join(x) for x in zip(*answers))))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "promote.txt")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
