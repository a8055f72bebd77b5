"""Random einsums and the sums and last elements that NumPy gives: the table of tests/test_tensor.c.

    python3 tests/data/make_einsum.py > tests/data/einsum.inc

Operands hold 0, 1, 2, ... modulo 5, minus 2, as float64.
"""
import random

import numpy as np

FIXED = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii", (4, 4)), ("ii->i", (4, 4)),
    ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ba", (2, 3)), ("i,i", (5,), (5,)), ("i,j->ij", (2,), (3,)),
    ("ij,ij->i", (4, 3), (4, 3)), ("bij,bjk->bik", (3, 2, 4), (3, 4, 5)), ("...ij,...jk->...ik", (3, 2, 4), (4, 5)),
    ("...->...", (2, 3)), ("i...->...", (3, 2, 2)), ("ij,j->i", (2, 3), (3,)), ("ij,jk,kl->il", (2, 9), (9, 3), (3, 8)),
    ("ab,bc,cd,de->ae", (5, 2), (2, 6), (6, 2), (2, 7)), ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)), ("ij,ij->ij", (3, 1), (1, 4)), ("ij,ik->ijk", (3, 2), (3, 4)),
    (" i j , j k -> k i ", (2, 3), (3, 4)), ("Ab,bA->A", (2, 3), (3, 2)), ("i,->i", (3,), ()), ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij,k->ij", (2, 3), (4,)), ("...a,...a->...", (2, 1, 3), (4, 3)),
]


def ramp(shape):
    return (np.arange(np.prod(shape, dtype=int)) % 5 - 2.0).reshape(shape)


def draw(rng):
    letters = "abcdefXY"
    extent = {c: rng.choice((1, 2, 3, 4)) for c in letters}
    terms = ["".join(rng.choice(letters) for _ in range(rng.randrange(0, 4))) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
    used = sorted(set("".join(terms)))
    text = ",".join(terms)
    if rng.random() < 0.8:
        text += "->" + "".join(rng.sample(used, rng.randrange(0, len(used) + 1)))
    shapes = [tuple(1 if rng.random() < 0.1 and t.count(c) == 1 else extent[c] for c in t) for t in terms]
    return (text, *shapes)


rng = random.Random(17)
print("/* Made by make_einsum.py, NumPy %s. */" % np.__version__)
count = 0
for text, *shapes in FIXED + [draw(rng) for _ in range(400)]:
    try:
        y = np.asarray(np.einsum(text, *map(ramp, shapes)))
    except ValueError:
        continue
    weights = np.arange(y.size) % 3 + 1.0
    print('{"%s", %d, {%s}, %d, {%s}, %.1f},' % (
        text, len(shapes), ", ".join("{%d, {%s}}" % (len(s), ", ".join(map(str, s)) or "0") for s in shapes),
        y.ndim, ", ".join(map(str, y.shape)) or "0", float((y.reshape(-1) * weights).sum())))
