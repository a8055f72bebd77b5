#!/usr/bin/env python3
"""Make the .npz files that test_npz reads, and the seeds of the .zip fuzzer.

Run from any folder with NumPy (1.24 or later):  python3 make_npz.py

Each file of npz/ holds the same three arrays, which test_npz.c computes in C. The files of
../fuzz/corpus/zip are mostly broken, each in one way.
"""
import io
import os
import struct
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = os.path.join(HERE, "npz")
SEEDS = os.path.join(HERE, "..", "fuzz", "corpus", "zip")

arrays = {"weights": (np.arange(600) % 7).astype(np.float32).reshape(20, 30),
          "turned": np.asfortranarray(np.arange(12, dtype=">i4").reshape(3, 4)),
          "none": np.zeros((0, 3), np.float64)}


def make(save):
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


def put(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


stored, deflated = make(np.savez), make(np.savez_compressed)
put(GOOD, "stored.npz", stored)
put(GOOD, "deflated.npz", deflated)
out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as z:
    z.writestr("x.npy", b"nothing")
put(GOOD, "bzip2.npz", out.getvalue())

small = io.BytesIO()
with zipfile.ZipFile(small, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("x.npy", b"abc" * 40)
    z.writestr("y.npy", b"")
small = small.getvalue()
put(SEEDS, "small", small)
put(SEEDS, "stored", stored[-400:])
put(SEEDS, "end", b"PK\5\6" + bytes(18))
put(SEEDS, "empty", b"")
put(SEEDS, "cut", small[:-30])
put(SEEDS, "comment", small[:-2] + struct.pack("<H", 3) + b"abc")
end = small.rindex(b"PK\5\6")
put(SEEDS, "far", small[:end + 16] + struct.pack("<I", 1 << 30) + small[end + 20:])
central = small.index(b"PK\1\2")
put(SEEDS, "large", small[:central + 24] + struct.pack("<I", 1 << 31) + small[central + 28:])
put(SEEDS, "header", small[:central + 42] + struct.pack("<I", len(small) - 4) + small[central + 46:])
put(SEEDS, "names", small[:central + 28] + struct.pack("<H", 65535) + small[central + 30:])
put(SEEDS, "locator", small[:end] + b"PK\6\7" + bytes(4) + struct.pack("<QI", 1 << 62, 1) + small[end:])
wide = small[:central + 20] + b"\xff" * 8 + small[central + 28:central + 30] + struct.pack("<H", 20) + \
    small[central + 32:central + 51] + struct.pack("<HHQQ", 1, 16, 120, 10) + small[central + 51:]
put(SEEDS, "wide", wide)
