"""The names of expressions as NumPy has them, for texts that Python evaluates.

A name that NumPy lacks, or means in another way, is a function here, made of NumPy's own or of plain loops.
"""
import functools

import numpy as np

MASK = np.uint64(0xFFFFFFFF)


def ranks(row):
    """Places in sorted order; equal elements share one, and NaN have the last one."""
    return np.unique(row, return_inverse=True)[1].reshape(row.shape)


def order_of(row, descending):
    """A stable order in which NaN come last."""
    if not descending:
        return np.argsort(row, kind="stable")
    rank = -ranks(row)
    if row.dtype.kind == "f":
        rank[np.isnan(row)] = 1
    if row.dtype.kind == "c":  # in each half those with a NaN come last, as NumPy orders them
        last = np.isnan(row)
        rank[last] = ranks(row)[last] + 1
    return np.argsort(rank, kind="stable")


def topk(x, k, axis=-1, largest=True):
    """The k largest, largest first, earlier ones first among equals, NaN last."""
    rows = np.moveaxis(np.asarray(x), axis, -1)
    if not 0 <= k <= rows.shape[-1]:
        raise ValueError("k")
    order = np.empty(rows.shape, np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        order[at] = order_of(rows[at], largest)
    order = np.moveaxis(order[..., :k], -1, axis)
    return np.take_along_axis(np.asarray(x), order, axis), order


def argsort(x, axis=-1, kind=None, *, key=None, descending=False, less=None, **idle):
    if kind is not None:
        return np.argsort(x, axis, kind=kind)
    if idle:
        return np.argsort(x, axis, **({} if "stable" in idle else {"kind": "stable"}), **idle)
    if less is not None:
        rows = np.ravel(x) if axis is None else np.moveaxis(np.asarray(x), axis, -1)
        order = np.empty(rows.shape, np.int64)
        for at in np.ndindex(rows.shape[:-1]):
            order[at] = by_rule((rows[at],), less, lambda item: item[0])
        return order if axis is None else np.moveaxis(order, -1, axis)
    x = np.asarray(x if key is None else np.broadcast_to(key, np.shape(x)))
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)
    rows = np.moveaxis(x, axis, -1)
    order = np.empty(rows.shape, np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        order[at] = order_of(rows[at], True)
    return np.moveaxis(order, -1, axis)


def sort(x, axis=-1, kind=None, **more):
    if not more or kind is not None or "stable" in more:
        return np.sort(x, axis=axis, kind=kind, **more)
    if axis is None:
        return np.ravel(x)[argsort(x, None, **more)]
    return np.take_along_axis(x, argsort(x, axis, **more), axis)


class Item:
    """An element of several vectors, by the names of a signature."""


def by_rule(arrays, rule, item_of):
    """A stable order by a C++ expression that is one of Python, too."""
    def before(i, j):
        return eval(rule, {"a": item_of([v[i] for v in arrays]), "b": item_of([v[j] for v in arrays])})
    return stable_order(len(arrays[0]), before)


def stable_order(count, before):
    return np.array(sorted(range(count), key=functools.cmp_to_key(
        lambda i, j: -1 if before(i, j) else 1 if before(j, i) else 0)), np.int64)


def sort_by(signature, *arrays, less=None, key=None, key_dtype=None, descending=False, axis=-1):
    names = [p.split()[-1] for p in signature.split(",")]

    def item_of(values):
        item = Item()
        item.__dict__.update(zip(names, values))
        return item

    def before(i, j):
        i, j = (j, i) if descending else (i, j)
        if key is None:
            return eval(less, {"a": item_of([v[i] for v in row]), "b": item_of([v[j] for v in row])})
        return keys[i] < keys[j]
    rows = [np.ravel(v) if axis is None else np.moveaxis(np.asarray(v), axis, -1) for v in arrays]
    order = np.empty(rows[0].shape, np.int64)
    for at in np.ndindex(rows[0].shape[:-1]):
        row = [v[at] for v in rows]
        keys = [eval(key, dict(zip(names, [float(v[i]) for v in row]))) for i in range(len(row[0]))] if key else None
        order[at] = stable_order(len(row[0]), before)
    order = order if axis is None else np.moveaxis(order, -1, axis)
    return tuple(np.take_along_axis(np.ravel(v) if axis is None else np.asarray(v), order, 0 if axis is None else axis)
                 for v in arrays) + (order,)


def iota(x, axis):
    shape = np.shape(x)
    lengths = [shape[axis] if k == axis % len(shape) else 1 for k in range(len(shape))]
    return np.broadcast_to(np.arange(shape[axis]).reshape(lengths), shape)


def scatter(change):
    def changed(x, index, values):
        out = np.array(x)
        values = np.asarray(values).astype(out.dtype)
        change(out, index, values)
        return out
    return changed


class Changed:
    """x.at[...], whose methods give a changed copy."""

    def __init__(self, x, index=None):
        self.x, self.index = x, index

    def __getitem__(self, index):
        return Changed(self.x, index)

    def changed(self, change, values):
        return scatter(change)(self.x, self.index, values)

    def set(self, values):
        return self.changed(lambda out, i, v: out.__setitem__(i, v), values)

    def add(self, values):
        return self.changed(np.add.at, values)

    def multiply(self, values):
        return self.changed(np.multiply.at, values)

    def minimum(self, values):
        return self.changed(np.minimum.at, values)

    def maximum(self, values):
        return self.changed(np.maximum.at, values)


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    y = x - np.max(x, axis=axis, keepdims=True)
    return y - np.log(np.sum(np.exp(y), axis=axis, keepdims=True))


def place(x, mask, values):
    out = np.array(x)
    if out.shape != np.shape(mask):
        raise ValueError("mask")
    np.place(out, mask, np.asarray(values).astype(out.dtype))
    return out


def histogramdd(points, bins, **more):
    counts, edges = np.histogramdd(points, bins, **more)
    return (counts, *edges)


def histogram2d(x, y, *bins, **more):
    return np.histogram2d(x, y, list(bins) if len(bins) == 2 else bins[0], **more)


def partition(x, place, axis=-1):
    np.partition(x, place, axis)
    return np.sort(x, axis)


def argpartition(x, place, axis=-1):
    np.argpartition(x, place, axis)
    return argsort(x, axis)


def put(x, index, values):
    out = np.array(x)
    np.put(out, index, np.asarray(values).astype(out.dtype))
    return out


def put_along_axis(x, index, values, axis):
    out = np.array(x, order="C")  # NumPy changes nothing in Fortran order where there is no axis
    np.put_along_axis(out, index, np.asarray(values).astype(out.dtype), axis)
    return out


def bincount(x, length):
    return np.bincount(x.ravel(), minlength=length)[:length]


def pad(x, pad_width, constant=0, mode="constant", **more):
    """Widths of each axis in turn stand in one tuple, or in a tuple of tuples."""
    widths = pad_width
    if isinstance(widths, tuple) and len(widths) > 2 and not isinstance(widths[0], tuple):
        if len(widths) != 2 * np.ndim(x):
            raise ValueError("widths")
        widths = list(zip(widths[::2], widths[1::2]))
    if isinstance(constant, str):
        constant, mode = 0, constant
    if mode == "constant":
        more.setdefault("constant_values", constant)
    return np.pad(x, widths, mode=mode, **more)


def of_floats(function):
    """quantile() and percentile(), which subtract small integers in their dtype and wrap."""
    def called(x, *more, **named):
        x = np.asarray(x)
        plain = np.asarray(function(x, *more, **named))
        if x.dtype.kind in "iu" and plain.dtype.kind == "f":
            return function(x.astype(np.float64), *more, **named)
        return plain  # also the methods that choose an element
    return called


def philox(key, blocks):
    """Philox 4x32-10 of counters below 2^64: four words for each block."""
    blocks = np.asarray(blocks, np.uint64)
    words = [blocks & MASK, blocks >> np.uint64(32), np.zeros_like(blocks), np.zeros_like(blocks)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * words[0], np.uint64(0xCD9E8D57) * words[2]
        words = [q >> np.uint64(32) ^ words[1] ^ np.uint64(k0), q & MASK,
                 p >> np.uint64(32) ^ words[3] ^ np.uint64(k1), p & MASK]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return words


def random_bits(key, shape):
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    words = philox(key, i >> np.uint64(1))
    odd = (i & np.uint64(1)).astype(bool)
    low, high = np.where(odd, words[2], words[0]), np.where(odd, words[3], words[1])
    return (high << np.uint64(32) | low).reshape(shape)


def uniform(key, shape, dtype=np.float64):
    if dtype == np.float64:
        bits = random_bits(key, shape)
        high, low = bits >> np.uint64(37), (bits & MASK) >> np.uint64(6)
        return (high.astype(np.float64) * 2.0**26 + low.astype(np.float64)) * 2.0**-53
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    words = np.choose((i & np.uint64(3)).astype(int), philox(key, i >> np.uint64(2)))
    return ((words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)).reshape(shape)


def partition_copy(x, mask):
    if np.shape(x) != np.shape(mask):
        raise ValueError("mask")
    return x[mask], x[~mask]


def insert(x, at, values, axis=None):
    """NumPy adds the extent to negative indices in their own dtype, which must hold it."""
    wide = isinstance(at, np.ndarray) and at.dtype.kind in "iu"
    return np.insert(x, at.astype(np.int64) if wide else at, values, axis)


def names():
    """What Python evaluates a text with."""
    known = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    known.update(np=np, linalg=np.linalg)
    known.update({name: getattr(np.linalg, name) for name in (
        "solve", "inv", "det", "cholesky", "eigvalsh", "svdvals", "pinv", "slogdet", "qr", "matrix_rank",
        "matrix_power", "multi_dot", "cond", "norm", "eigh", "svd") if hasattr(np.linalg, name)})
    known.update({f.__name__: f for f in (softmax, log_softmax, topk, argsort, sort, sort_by, iota, place, put, put_along_axis,
                                         histogramdd,
                                         bincount, pad, random_bits,
                                         uniform)})
    known.update(
        _at=Changed, scatter_set=scatter(lambda out, i, v: out.__setitem__(i, v)), scatter_add=scatter(np.add.at),
        scatter_multiply=scatter(np.multiply.at), scatter_minimum=scatter(np.minimum.at),
        scatter_maximum=scatter(np.maximum.at),
        argpartition=argpartition, partition=partition,
        partition_copy=partition_copy, insert=insert,
        quantile=of_floats(np.quantile), percentile=of_floats(np.percentile),
        nanquantile=of_floats(np.nanquantile), nanpercentile=of_floats(np.nanpercentile),
        cast=lambda x, dtype: np.asarray(x).astype(dtype),
        cummax=lambda x, axis: np.maximum.accumulate(x, axis=axis),
        cummin=lambda x, axis: np.minimum.accumulate(x, axis=axis),
        lu_factor=lambda a: (a, None), lu_solve=lambda factors, b: np.linalg.solve(factors[0], b),
        lstsq=lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
        histogram2d=histogram2d,
        svdvals=lambda x: np.linalg.svd(x, compute_uv=False),
        sliding_window_view=np.lib.stride_tricks.sliding_window_view,
        in1d=lambda x, test: np.isin(np.ravel(x), test),
        permutation=lambda key, n: np.arange(n),  # its elements in order, for texts that sort them
        divmod=np.divmod, abs=np.abs, round=np.round,
        max=np.max, min=np.min, sum=np.sum, any=np.any, all=np.all, pow=np.power)
    return known
