#!/usr/bin/env python3
"""Writes tests/data/subscripts.txt: what NumPy makes of random subscripts.

    python3 tests/oracle/make_subscripts.py > tests/data/subscripts.txt

A line is: shape ; subscript ; shape of the view ; first element or - ; its first 40 elements,
where the base is an int32 array that holds 0, 1, 2, ... in C-order.
"""
import random

import numpy as np

random.seed(20261122)


def bound(extent):
    return random.choice(["", "", str(random.randint(-extent - 2, extent + 2))])


def item(extent):
    kind = random.random()
    if kind < 0.3 and extent > 0:
        return str(random.randint(-extent, extent - 1))
    text = bound(extent) + ":" + bound(extent)
    if random.random() < 0.5:
        text += ":" + random.choice(["", "1", "2", "-1", "-2", "3", "-7", "+2"])
    return text


def subscript(shape):
    parts = [item(extent) for extent in shape[: random.randint(0, len(shape))]]
    if random.random() < 0.5:
        at = random.randint(0, len(parts))
        tail = [item(extent) for extent in shape[at + 1:]]
        parts = parts[:at] + [random.choice(["...", "Ellipsis"])]
        parts += tail[random.randint(0, len(tail)):] if tail else []
    for _ in range(random.choice([0, 0, 1, 2])):
        parts.insert(random.randint(0, len(parts)), random.choice(["None", "newaxis"]))
    space = random.choice(["", " ", "  "])
    return (space + ",").join(space + part for part in parts) + random.choice(["", ",", " "])


print("# made by tests/oracle/make_subscripts.py")
count = 0
while count < 400:
    shape = [random.choice([0, 1, 2, 3, 4, 5]) for _ in range(random.randint(1, 4))]
    base = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    text = subscript(shape)
    if text.strip() in ("", ","):
        continue
    try:
        view = eval("base[%s]" % text, {"base": base, "newaxis": None})
    except IndexError:
        continue
    view = np.asarray(view)
    first = "-" if view.size == 0 else str(int(view.flat[0]))
    numbers = [" ".join(map(str, n)) for n in (shape, view.shape)]
    print(";".join([numbers[0], text, numbers[1], first,
                    " ".join(str(int(v)) for v in view.ravel()[:40])]))
    count += 1
