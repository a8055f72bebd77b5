#!/usr/bin/env python3
"""Make views.txt: chains of views of an int32 array, and the layout NumPy gives them.

Run with NumPy:  python3 make_views.py > views.txt

A line is: rank and extents of the base, then operations, then "=" and the result's rank, extents,
strides in bytes and the offset of its first element in bytes. Operations:

    s AXIS START STOP STEP    x[start:stop:step] on one axis, "_" for a bound left out
    i AXIS INDEX              x[index] on one axis
    t AXIS...                 transpose
    b RANK EXTENT...          broadcast_to
    n AXIS                    newaxis
    f AXIS                    flip
    r RANK EXTENT...          reshape; "=" is followed by "copy" when NumPy had to copy
"""
import random

import numpy as np

random.seed(20)


def show(values):
    return " ".join("_" if v is None else str(v) for v in values)


def operate(a):
    """One random operation: its text, and its result."""
    kinds = ["b", "n"] + (["s", "s", "s", "i", "t", "f"] if a.ndim else [])
    kind = random.choice(kinds)
    axis = random.randrange(-a.ndim, a.ndim) if a.ndim else 0
    if kind == "s":
        n = a.shape[axis]
        bound = [None, *range(-n - 2, n + 3), -10 ** 18, 10 ** 18]
        start, stop = random.choice(bound), random.choice(bound)
        step = random.choice([1, 1, 2, 3, -1, -2, -3, 7, -7])
        index = [slice(None)] * a.ndim
        index[axis] = slice(start, stop, step)
        return f"s {show([axis, start, stop, step])}", a[tuple(index)]
    if kind == "i":
        if a.shape[axis] == 0:
            return operate(a)
        at = random.randrange(-a.shape[axis], a.shape[axis])
        return f"i {axis} {at}", a[(slice(None),) * (axis % a.ndim) + (at, ...)]
    if kind == "t":
        axes = random.sample(range(a.ndim), a.ndim)
        text = [x - a.ndim if random.random() < 0.3 else x for x in axes]
        return f"t {show(text)}", a.transpose(axes)
    if kind == "f":
        return f"f {axis}", np.flip(a, axis)
    if kind == "n" and a.ndim < 8:
        axis = random.randrange(-a.ndim - 1, a.ndim + 1)
        return f"n {axis}", np.expand_dims(a, axis)
    shape = [random.choice([1, 2, 3]) if e == 1 else e for e in a.shape]
    shape = [random.choice([0, 1, 2])] * random.choice([0, 0, 1]) + shape
    return f"b {len(shape)} {show(shape)}", np.broadcast_to(a, shape)


def factors(size):
    """A random shape of that size."""
    shape = []
    while size > 1 and random.random() < 0.8:
        divisors = [d for d in range(2, size + 1) if size % d == 0]
        shape.append(random.choice(divisors))
        size //= shape[-1]
    shape.append(size)
    for _ in range(random.choice([0, 0, 1, 2])):
        shape.insert(random.randrange(len(shape) + 1), 1)
    random.shuffle(shape)
    return shape


def layout(a, base):
    at = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return show([a.ndim, *a.shape, *a.strides, at])


for _ in range(1500):
    base = np.zeros([random.choice([1, 2, 3, 4, 5, 6]) for _ in range(random.randrange(6))],
                    np.int32)
    a, ops = base, []
    for _ in range(random.randrange(1, 6)):
        text, a = operate(a)
        ops.append(text)
    print(show([base.ndim, *base.shape]), *ops, "=", layout(a, base))
    if a.size > 0:
        shape = factors(a.size)
        b = a.reshape(shape)
        ops.append(f"r {len(shape)} {show(shape)}")
        result = layout(b, base) if np.may_share_memory(b, base) else "copy"
        print(show([base.ndim, *base.shape]), *ops, "=", result)
wide = np.zeros((1, 2) + (1,) * 30, np.int32)
print(show([32, *wide.shape]), "f 1", "t", show(range(31, -1, -1)), "=",
      layout(np.flip(wide, 1).T, wide))
