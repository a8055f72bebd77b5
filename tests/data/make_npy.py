#!/usr/bin/env python3
"""Make the .npy files that test_npy reads, and the seeds of the .npy fuzzer.

Run from any folder with NumPy (1.24 or later):  python3 make_npy.py

npy/NAME-ORDER-ENDIAN.npy holds shape (3, 4); element k in C-order is what sample() says, and
test_npy.c computes the same in C. The files of ../fuzz/corpus/npy are mostly broken, each in one
way.
"""
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = os.path.join(HERE, "npy")
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "npy")
NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]


def sample(dtype, shape):
    k = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return k % 3 == 0
    if kind == "i":
        return (k * 7 - 20).astype(dtype)
    if kind == "u":
        return (k * 7).astype(dtype)
    if kind == "f":
        return ((k * 7 - 20) / 4).astype(dtype)
    return ((k * 7 - 20) / 4 + 1j * k).astype(dtype)


def put(name, data, folder=GOOD):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def header(text, version=(1, 0), end=b"\n", length=None):
    text = text if isinstance(text, bytes) else text.encode("latin1")
    text += end
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes(version) + size + text


def good():
    for name in NAMES:
        for order in "CF":
            for endian in "<>":
                a = sample(name, (3, 4)).astype(np.dtype(name).newbyteorder(endian))
                word = {"<": "le", ">": "be"}[endian]
                np.save(os.path.join(GOOD, f"{name}-{order}-{word}.npy"),
                        np.asarray(a, order=order))
    for version in ((2, 0), (3, 0)):
        with open(os.path.join(GOOD, f"version-{version[0]}.npy"), "wb") as f:
            np.lib.format.write_array(f, sample("float32", (3, 4)), version)
    shapes = {"rank-0": (), "rank-1": (5,), "empty": (3, 0, 2), "rank-32": (1, 2) * 2 + (1,) * 28}
    for name, shape in shapes.items():
        np.save(os.path.join(GOOD, f"{name}.npy"), sample("int32", shape))
    # 1, -0.5, 3.140625 as bfloat16, which NumPy has not: once as ml_dtypes names it, once as
    # NumPy names raw bytes.
    raw = struct.pack("<3H", 0x3F80, 0xBF00, 0x4049)
    for name, code in (("little", "<V2"), ("none", "|V2")):
        text = "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }" % code
        put(f"bfloat16-{name}.npy", header(text.ljust(117)) + raw)
    # As another program may write it.
    put("foreign.npy", header('{ "shape":(3L , 4L,) ,"fortran_order" :False,\n"descr":"<f4"}') +
        sample("float32", (3, 4)).tobytes())
    # A byte that is neither 0 nor 1.
    put("bool-2.npy", header("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }") +
        b"\x00\x01\x02\xff")


def seeds():
    begin = "{'descr': '<f4', 'fortran_order': False, 'shape': "
    cases = {
        "good": header(begin + "(2,), }") + b"\0" * 8,
        "good-2": header(begin + "(2,), }", (2, 0)) + b"\0" * 8,
        "good-3": header(begin + "(), }", (3, 0)) + b"\0" * 4,
        "empty-file": b"", "magic-only": b"\x93NUMPY", "no-length": b"\x93NUMPY\x01\x00\x10",
        "version-9": header(begin + "(2,), }", (9, 0)), "version-1-1": header(begin, (1, 1)),
        "long-header": header(begin + "(2,), }", (2, 0), length=0xFFFFFFFF),
        "longer-than-file": header(begin + "(2,), }", length=5000),
        "no-header": header("", end=b""), "no-newline": header(begin + "(2,), }", end=b""),
        "not-closed": header(begin + "(2,"), "huge": header(begin + "(9223372036854775807,), }"),
        "product": header(begin + "(4294967296, 4294967296), }"),
        "zero-product": header(begin + "(0, 4294967296, 4294967296), }"),
        "negative": header(begin + "(-1,), }"), "number": header(begin + "(3), }"),
        "list": header(begin + "[3], }"), "float": header(begin + "(3.0,), }"),
        "rank-33": header(begin + "(" + "1, " * 33 + "), }"),
        "twice": header(begin + "(3,), 'shape': (4,), }"), "lacks": header("{'descr': '<f4'}"),
        "unknown-key": header(begin + "(3,), 'x': 1}"), "latin": header(begin + "(3,), '\xe9': 1}"),
        "nul": header("{'descr': '<f\0', 'fortran_order': False, 'shape': (3,), }"),
        "open-string": header("{'descr"), "escape": header("{'de\\x73cr': '<f4'}"),
        "behind": header(begin + "(3,), } 1"), "blank": header("   \n \t "),
        "nested": header("{" * 2000), "tuples": header(begin + "(" * 2000),
        "struct": header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }"),
    }
    for code in ("|O", "|S5", "<U3", "<M8[ns]", "<m8[s]", "|V3", ">V2", "<f16", "<c32", "", "<",
                 "f4", "=i8", "|f4", ">c16", "<f4 "):
        name = "descr-" + "".join(c if c.isalnum() else "_" for c in code)
        cases[name] = header("{'descr': '%s', 'fortran_order': True, 'shape': (1,), }" % code)
    for name, data in cases.items():
        put(name, data, SEEDS)


for folder in (GOOD, SEEDS):
    os.makedirs(folder, exist_ok=True)
good()
seeds()
