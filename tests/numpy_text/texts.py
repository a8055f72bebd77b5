"""Texts that NumPy and kiln must answer alike, the lines of texts.txt: the forms of each function, with correct
arguments and with mistakes.

`tabled` draws one of them, with inputs of the names below in random dtypes; `test_numpy_text.py --lines` takes all of
them in turn. A line that NumPy refuses must be refused. What is drawn from parts stands in functions.py.
"""
import os
import re

import numpy as np

from draw import DTYPES, Rejected

INDICES = {
    "idx": [0, 4, -2], "idy": [3, -1, 0], "idz": [1, 0, 2], "idx3": [0, 2, -1], "badshape": [0, 1], "big": [7, -9, 3, 22],
    "ivm": [0, 8, -9], "iv": [[8, 0], [-1, 3]], "s0": 2, "idxcol": [[0], [1], [2], [3], [-1]], "ii": [1, -2, 4],
    "cnt5": [1, 0, 2, 1, 1], "neg": [1, -1, 2],
}
SHAPES = {"x": (5, 4), "y": (5, 4), "t": (5, 4, 3), "q": (5, 3, 4), "v": (9,), "u": (9,), "w": (4,), "w6": (6, 4), "w2": (4, 2),
          "s": (), "e": (0,), "e0": (0, 4), "i5": (5, 2), "c5": (5, 1), "vcol": (5, 1), "vidx": (3,), "a3": (5, 3), "b3": (5, 3)}
FLOATS = {"f": (5, 4), "g": (9,), "h": (9,), "w9": (9,), "pts": (9, 2)}
MASKS = {"m": (5,), "n": (4,), "mm": (5, 4), "m2": (5, 4), "n2": (4,), "m24": (4, 3), "mv": (9,)}
SMALL = ("w6", "w2", "w", "c5", "vcol", "vidx", "a3", "b3", "i5")  # whole numbers


def input_of(d, name, dtype):
    """The value of a name; all arrays of a line that are not of a fixed dtype have the same."""
    rng = d.rng
    if name in INDICES:
        return np.array(INDICES[name])
    if name in MASKS:
        mask = rng.integers(0, 2, MASKS[name]).astype(bool)
        mask.flat[0] |= d.of_some  # NumPy has no quantile of nothing, for which kiln gives NaN
        return mask
    if name in FLOATS:
        return np.round(rng.random(FLOATS[name]) * 7 - 2, 2)
    if name in SMALL:
        x = rng.integers(0, 5, SHAPES[name]).astype(dtype)
        return x if np.dtype(dtype).kind in "bu" else x - 2 * x[..., ::-1]
    if name in SHAPES:
        return d.numbers(SHAPES[name], dtype)
    fixed = {
        "idx8": lambda: np.array([1, -1], "int8"), "idx16": lambda: np.array([[1], [-1]], "int16"),
        "idxu8": lambda: np.array([1, 4], "uint8"), "idxu16": lambda: np.array([1, 4], "uint16"),
        "idxu64": lambda: np.array([1, 4], "uint64"), "fidx": lambda: np.array([1.0, 2.0]),
        "empty_i": lambda: np.zeros(0, "int64"), "lab": lambda: rng.integers(0, 6, 5), "cnt": lambda: rng.integers(0, 4, 9),
        "ch": lambda: rng.integers(0, 2, (5, 4)), "k6": lambda: rng.integers(0, 6, 9), "r": lambda: rng.integers(0, 2, (9, 2)).astype(dtype),
        "sv": lambda: np.sort(d.numbers((9,), dtype)), "idxd": lambda: d.numbers((2, 4), "float64"),
        "wi": lambda: rng.integers(0, 5, (5, 4)), "wf": lambda: rng.random((5, 4)), "coords": lambda: np.cumsum(rng.integers(1, 4, 9)) * 1.0,
        "qs": lambda: np.array([0.1, 0.5, 1.0]), "bins": lambda: np.array([-1, 0, 0.5, 2.5]), "badbins": lambda: np.array([0, 2.0, 1]),
    }
    return fixed[name]()


NAMES = re.compile(r"(?<![\w.'\"])([a-z]\w*)(?![\w(='\"])")


def tabled(d):
    line = TABLE[d.number % len(TABLE)] if d.in_order else d.among(*TABLE)
    dtype = d.among(*DTYPES)
    if ":: " in line:
        only, line = line.split(":: ")
        dtype = d.among(*(t for t in DTYPES if np.dtype(t).kind in only))
    found, parts = [], []
    d.of_some = "quant" in line or "perc" in line
    d.plain = np.dtype(dtype).kind == "c"

    def place(match):
        name = match[1]
        if name not in found:
            try:
                value = input_of(d, name, dtype)
            except KeyError:
                return name
            found.append(name)
            parts.append(d.input(value=value, listed=False))
        return "{%d}" % found.index(name)
    text = NAMES.sub(place, line)
    if any(p.kind == "f" and p.dtype.itemsize == 2 and not np.isfinite(p.value).all() for p in parts) and "unique" in line:
        raise Rejected  # NumPy orders NaN of float16 before numbers here, and nowhere else
    d.add_text(text, *parts)


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts.txt")) as file:
    TABLE = [line for line in file.read().split("\n") if line and not line.startswith("#")]

WEIGHTS = {tabled: 8}
