"""Functions of vectors and parts whose length only the device knows; as functions.py."""
import numpy as np

from draw import Rejected

REAL = "biuf"


def chosen(d, x, number):
    """x[mask] as a text, of which the mask is operand `number`; the mask; what NumPy makes of it."""
    m = d.input(shape=x.shape, dtype="bool")
    return "{%d}[{%d}]" % (number - 1, number), m, x.value[m.value]


def joined(d):
    """What masks choose in lists: one behind the other, or side by side."""
    x, y = d.array(1, REAL, same=True), d.array(1, REAL, same=True)
    one, m, _ = chosen(d, x, 1)
    other, n, _ = chosen(d, y, 3)
    same = d.among("stack([C, C])", "stack([C, C + 1], axis=1)", "stack([C, C], axis=-1)", "column_stack([C, C])")
    more = d.among("concatenate([C, D])", "concatenate([C, D, ravel({0})])", "append(C, D)", "append({2}, C)",
                   "hstack([D, C])", "concatenate([D, C + 1])", "unique(concatenate([C, D]))", "concatenate([C, D])[::2]",
                   "sort(append(C, D))", "count_nonzero(concatenate([C, D]))")
    text = (same if d.once_in(3) else more).replace("C", one).replace("D", other)
    counted = not text.startswith("count")
    if x.kind == "b" and "+ 1" in text:
        raise Rejected
    d.add(text, x, m, y, n, moves=True, jumps=True, counted=counted)


def parts_beside(d):
    """Parts that masks of the first axes choose."""
    x = d.array(2, REAL, same=True)
    m = d.input(shape=x.shape[:1 + d.below(x.rank - 1)], dtype="bool")
    n = d.input(shape=m.shape, dtype="bool")
    text = d.among("concatenate([C, D])", "concatenate([C, D], axis=0)", "concatenate([C, C], axis=1)", "stack([C, C], axis=1)",
                   "stack([C, C])", "append(C, D)", "sum(concatenate([C, D]) != 1)", "append(C, [1, 2])[2:]", "stack([C, C], axis=-1)")
    text = text.replace("C", "{0}[{1}]").replace("D", "{0}[{2}]").replace("[1, 2]", "{1}")
    if text.startswith("append") and x.kind == "b":
        raise Rejected
    d.add(text, x, m, n, moves=True, jumps=True, counted=not text.startswith("sum"))


def cut(d):
    """Subscripts of what a mask chooses."""
    x = d.array(1, REAL, same=True)
    one, m, value = chosen(d, x, 1)
    many = len(value)

    def bound():
        return d.among("", "", str(d.below(many + 3) - d.among(0, many + 2)))
    k = d.below(max(1, many)) - d.among(0, many)
    style = d.below(5)
    if style == 0 and (many or d.mistakes):
        k += (many + 1) * (d.mistakes and d.once_in(2))
        d.add(one + "[%d]" % k, x, m, moves=True, jumps=True)
    elif style == 1 and many:
        i = d.indices(d.shape(1, 1), many)
        d.add(one + "[{2}]", x, m, i, moves=True, jumps=True)
    elif style == 2:
        d.add(one + "[" + one + d.among(" > 0]", " != 1]"), x, m, moves=True, jumps=True, counted=True)
    else:
        step = d.among("", ":2", ":-1", ":-3", ":1")
        d.add(one + "[%s:%s%s]" % (bound(), bound(), step), x, m, moves=True, jumps=True, counted=True)


def cut_parts(d):
    x = d.array(2, REAL, same=True, most=3)
    m = d.input(shape=x.shape[:1], dtype="bool")
    many = int(np.sum(m.value))
    inside = d.among(":", "::-1", "0", "1:", ":, None") if x.shape[1] else ":"
    first = d.among(":", "1:", "::-1", ":-1", str(d.below(many)) if many else ":2", "::2")
    d.add("{0}[{1}][%s, %s]" % (first, inside), x, m, moves=True, jumps=True, counted=":" in first)


def whole(d):
    """Functions that know what a mask chooses as a vector, or as a set."""
    x = d.array(1, REAL, same=True)
    one, m, value = chosen(d, x, 1)
    y = d.input(shape=d.shape(1, 1), dtype=str(x.dtype))
    k = d.below(7) - 3
    text = d.among("flip(C)", "roll(C, %d)" % k, "tile(C, %d)" % abs(k), "repeat(C, %d)" % abs(k), "ravel(C)", "union1d(C, {2})",
                   "union1d({2}, C)", "intersect1d(C, {2})", "intersect1d({2}, C)", "setdiff1d(C, {2})", "setdiff1d({2}, C)",
                   "C.astype(float64)", "float32(C)", "ediff1d(C)", "flip(sort(C))[:3]")
    plain = d.among("isin({2}, C)", "searchsorted(sort(C), {2})", "searchsorted(sort(C), {2}, side='right')",
                    "argmax(C)" if len(value) else "isin({2}, C)", "argmin(C)" if len(value) else "isin({2}, C)")
    if x.kind == "b" and text.startswith("ediff1d"):
        raise Rejected
    counted = not d.once_in(3)
    d.add((text if counted else plain).replace("C", one), x, m, y, moves=True, jumps=True, counted=counted)


def counted_in_bins(d):
    x = d.array(1, "iuf", same=True)
    one, m, value = chosen(d, x, 1)
    if not np.isfinite(np.asarray(x.value, np.float64)).all() or np.abs(np.asarray(x.value, np.float64)).max(initial=0) > 1e6:
        raise Rejected
    edges = d.input(value=np.sort(d.rng.integers(-9, 10, 6)).astype("float64"))
    style = d.below(4)
    if style == 0 and x.kind in "iu" and (x.value >= 0).all():
        d.add("bincount(%s, length=12)" % one, x, m, moves=True, jumps=True)
    elif style == 1:
        y = d.input(value=d.rng.integers(-9, 10, x.shape).astype("float64"))
        d.add("histogram2d(%s, {2}[{1}], {3}, {3})" % one, x, m, y, edges, moves=True, jumps=True, results=3)
    elif style == 2 and value.dtype == np.float64 and (value * 4 == np.floor(value * 4)).all():
        d.add("histogram(%s, 4)" % one, x, m, moves=True, jumps=True, results=2)
    else:
        d.add("histogram(%s, {2})" % one, x, m, edges, moves=True, jumps=True, results=2)


def of_numbers(d):
    """Numbers that are found of what a mask chooses, whether NaN count or not."""
    x = d.array(1, "f", same=True)
    one, m, value = chosen(d, x, 1)
    numbers = value[~np.isnan(value)]
    if len(numbers) == 0 or np.isinf(value).any() or x.dtype == np.float16:
        raise Rejected
    method = d.among("lower", "higher", "nearest", "hazen", "weibull", "inverted_cdf", "median_unbiased")
    text = d.among("nanmax(C)", "nanmin(C)", "nanmean(C)", "nanmedian(C)", "nanvar(C)", "nansum(C)", "average(C)",
                   "average(C, weights={2}[{1}])", "dot(C, {2}[{1}])", "norm(C)", "nanquantile(C, 0.25)")
    if x.dtype == np.float64:
        text = d.among(text, text, "quantile(C, 0.75, method='%s')" % method, "percentile(C, [25.0, 50.0])")
    y = d.input(value=d.rng.integers(1, 5, x.shape).astype(x.dtype))
    if text.startswith(("average", "dot", "norm", "quant", "perc")) and np.isnan(value).any():
        raise Rejected
    d.add(text.replace("C", one), x, m, y, moves=text.startswith(("nanmax", "nanmin")), terms=0)


def of_complex(d):
    """Means of complex numbers, and of float16 whose sums are beyond its range."""
    x = d.array(1, "c", same=True)
    if d.once_in(3):
        x = d.input(value=d.rng.integers(1, 9, (2, 300)).astype("float16") * np.float16(100))
    one, m, value = chosen(d, x, 1)
    if not len(value) or not np.isfinite(value).all() or not m.value.any(axis=-1).all():
        raise Rejected
    d.add(d.among("mean(C)", "average(C)", "sum(C)", "var(C)", "std(C)", "mean({0}, where={1})", "var({0}, where={1})",
                  "mean({0}, axis=-1, where={1})", "C.mean()").replace("C", one), x, m, terms=0)


def masks_beside(d):
    """Masks among numbers, slices, new axes and `...`, and several masks."""
    x = d.array(2, "biufc", same=True)
    at, masks, a = [], [], 0
    several = d.once_in(3)
    while a < x.rank:
        n, one = x.shape[a], d.below(6)
        wide = 1 + d.below(min(2, x.rank - a))
        if (one < 2 and (several or not masks)) or (a == x.rank - 1 and not masks):
            m = d.input(shape=x.shape[a:a + wide], dtype="bool")
            masks.append(m)
            at.append("{%d}" % len(masks))
            a += wide
            continue
        if one == 2 and n:
            at.append(str(d.below(n) - d.among(0, n)))
        elif one == 3:
            at.append("None")
            continue
        else:
            at.append(d.among(":", "1:", "::-1", ":-1", "::2"))
        a += 1
        if len(masks) and d.once_in(3):
            break
    if d.once_in(3):
        at.insert(d.below(len(at) + 1), "...")
    if len(at) == 1:
        at.append(d.among("...", "None"))
    if several and len({int(np.sum(m.value)) for m in masks}) > 1 and not d.mistakes:
        raise Rejected
    d.add("{0}[" + ", ".join(at) + "]", x, *masks, moves=True, jumps=True, counted=True)


def equal_masks(d):
    """Masks that choose as many elements each, or one."""
    n, m = 2 + d.below(6), 2 + d.below(6)
    x = d.input(shape=(n, m, 3), dtype=d.among("int16", "float32", "complex64"))
    many = d.below(min(n, m) + 1)

    def mask(length, count):
        return d.input(value=d.rng.permutation(np.arange(length) < count))
    one, other = mask(n, many), mask(m, d.among(many, 1))
    d.add(d.among("{0}[{1}, {2}]", "{0}[{1}, {2}, 1]", "{0}[{1}, {2}, ::-1]", "{0}[{1}, {2}, None]", "{0}[flatnonzero({1}), {2}]",
                  "{0}[..., {1}, {2}, :]"), x, one, other, moves=True, jumps=True, counted=True)


def used_beside(d):
    """What follows from a mask beside a number."""
    x = d.array(2, REAL, same=True, most=2)
    if 0 in x.shape:
        raise Rejected
    k = d.below(x.shape[1])
    m = d.input(shape=x.shape[:1], dtype="bool")
    n = d.input(shape=x.shape[1:], dtype="bool")
    text = d.among("sort({0}[{1}, %d])" % k, "sort({0}[0, {2}])", "count_nonzero({0}[{1}, 1:])", "{0}[{1}, %d] != {0}[{1}, 0]" % k,
                   "concatenate([{0}[{1}, ::-1], {0}])", "{0}[{1}, None] == 1", "unique({0}[{1}, -1])", "{0}[{1}, %d][::2]" % k)
    d.add(text, x, m, n, moves=True, jumps=True, counted=not text.startswith("count"))


def edited(d):
    """delete() and insert() at places that arrays, lists and masks name."""
    x = d.array(1, most=3)
    k = d.below(x.rank)
    n = x.shape[k]
    if n == 0:
        raise Rejected
    over = ", axis=%d" % (k - d.among(0, x.rank))
    style = d.below(6)
    if style == 0:
        d.add("delete({0}, {1}%s)" % over, x, d.indices(d.shape(1, 2), n), moves=True, counted=True)
    elif style == 1:
        d.add("delete({0}, {1})", x, d.indices(d.shape(1, 1), x.size), moves=True, counted=True)
    elif style == 2:
        d.add("delete({0}, {1}%s)" % over, x, d.input(shape=(n,), dtype="bool"), moves=True, counted=True)
    elif style == 3:
        i = d.indices((2 + d.below(5),), n)
        v = d.input(shape=d.among((), x.shape[:k] + i.shape + x.shape[k + 1:], x.shape[k + 1:]), dtype=str(x.dtype))
        d.add("insert({0}, {1}, {2}%s)" % over, x, i, v, moves=True)
    elif style == 4:
        i = d.indices((2 + d.below(5),), x.size)
        d.add("insert({0}, {1}, {2})", x, i, d.input(shape=i.shape, dtype=str(x.dtype)), moves=True)
    else:
        at = [d.below(n) - d.among(0, n) for _ in range(2 + d.below(3))]
        values = [d.below(2) for _ in at]
        text = d.among("delete({0}, %s%s)" % (at, over), "insert({0}, %s, %s)" % (at, values))
        d.add(text, x, moves=True)


WEIGHTS = {edited: 4, masks_beside: 4, equal_masks: 1, used_beside: 2, joined: 3, parts_beside: 2, cut: 3, cut_parts: 2, whole: 3, counted_in_bins: 2, of_numbers: 2, of_complex: 2}
