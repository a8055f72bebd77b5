"""The functions that order, search, count and choose; as functions.py."""
import re

import numpy as np

from draw import Rejected

REAL = "biuf"
RAISES_FOR_NARROW_BINS = np.lib.NumpyVersion(np.__version__) >= "2.0.0"  # histogram() of equal huge numbers


# ---- orders ---------------------------------------------------------------------------------------

def sorted_(d):
    x = d.array(1, same=True)
    d.add("sort({0}, axis=%s)" % d.axis(x, none=True) if d.once_in(2) else "sort({0})", x, moves=True)


def order(d):
    x = d.array(1, same=True)
    d.add("argsort({0}, axis=%s)" % d.axis(x) if d.once_in(2) else "argsort({0})", x, moves=True, jumps=True)


def top(d):
    x = d.array(1, REAL, same=True)
    k = d.below(x.rank)
    n = x.shape[k]
    if n == 0:
        raise Rejected
    count = 1 + d.below(n) + (n if d.mistakes and d.once_in(2) else 0)
    text = "topk({0}, %d, axis=%d)" % (count, k)
    if d.once_in(3):
        d.add(text + d.among("[0]", "[1]", "[-1]"), x, moves=True, jumps=True)
    else:
        d.add(text, x, moves=True, jumps=True, results=2)


def placed(d):
    x = d.array(1, REAL, same=True)
    if x.shape[-1] == 0:
        raise Rejected
    at = d.below(x.shape[-1]) - d.among(0, x.shape[-1])
    d.add(d.among("partition({0}, %d)", "argpartition({0}, %d)") % at, x, moves=True, jumps=True)


def middle(d):
    x = d.array(1, "iuf", same=True)
    if x.size == 0 or np.isinf(np.asarray(x.value, np.float64)).any():
        raise Rejected  # between infinities NumPy's methods give NaN or not
    over = d.axis(x, none=True)
    q = d.among("0.0", "0.25", "0.5", "0.9", "1.0")
    method = d.among("lower", "higher", "midpoint", "nearest", "linear", "hazen", "weibull", "median_unbiased",
                     "inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "normal_unbiased")
    keep = d.among("", "", ", keepdims=True")
    text = d.among("median({0}, axis=%s%s)" % (over, keep), "quantile({0}, %s, axis=%s%s)" % (q, over, keep),
                   "quantile({0}, %s, axis=%s, method='%s'%s)" % (q, over, method, keep),
                   "percentile({0}, %s, axis=%s, method='%s')" % (d.among("10", "37.5", "100"), over, method))
    d.add(text, x, terms=0)


def searched(d):
    x = d.array(1, "iuf", same=True, most=1)
    v = d.array(0, "iuf", same=True)
    side = d.among("", ", side='right'")
    text = d.among("searchsorted(sort({0}), {1}%s)" % side, "searchsorted({0}, {1}%s, sorter=argsort({0}))" % side)
    if d.once_in(3) and x.size > 1 and not np.isnan(np.sum(np.asarray(x.value, np.float64))):
        bins = "sort({0})" if not d.mistakes else "{0}"
        text = "digitize({1}, %s%s)" % (d.among(bins, bins + "[::-1]"), d.among("", ", right=True", ", right=False"))
    d.add(text, x, v, jumps=True)


def sorted_by(d):
    """By keys, by a rule, and descending."""
    x = d.array(1, same=True)
    over = d.axis(x)
    style = d.below(6)
    if style == 0:
        d.add("sort({0}, axis=%s, descending=True)" % over, x, moves=True)
    elif style == 1:
        d.add("argsort({0}, axis=%s, descending=True)" % d.axis(x, none=True), x, moves=True, jumps=True)
    elif style == 2:
        y = d.input(shape=x.shape if d.once_in(3) else x.shape[-1:], dtype=d.among("int8", "float32", "float64"))
        d.add("sort({0}, key={1}%s%s)" % (d.among("", ", axis=%s" % d.axis(x, none=True)),
                                          d.among("", ", descending=True")), x, y, moves=True, jumps=True)
    elif style == 3:
        d.add("argsort({0}, key={0} * {0}, axis=%s)" % over, d.array(1, "iuf", same=True), moves=True, jumps=True)
    elif style == 4 and x.kind in "biuf":
        k = d.below(x.rank)
        if x.shape[k] == 0:
            raise Rejected
        d.add("topk({0}, %d, axis=%d, largest=False)" % (1 + d.below(x.shape[k]), k), x, moves=True, jumps=True,
              results=2)
    else:
        x = d.array(1, "if", same=True, most=3)
        if x.size > 600 or x.kind == "f" and np.isnan(x.value).any():
            raise Rejected
        rule = d.among("a > b", "a < b", "a * a < b * b") if x.kind == "f" else d.among("a > b", "a < b")
        if d.once_in(2):
            lying, over = d.among("{0}", "{0}", "{0}[::-1]"), d.among("", ", axis=%s" % d.axis(x, none=True))
            d.add(d.among("sort(%s%s, less='%s')", "argsort(%s%s, less='%s')") % (lying, over, rule), x, moves=True,
                  jumps=True)
        else:
            y = d.input(shape=x.shape)
            by = d.among("less='%s'" % re.sub(r"\b([ab])\b", r"\1.x", rule), "key='x'", "key='-x', key_dtype=float64")
            more = d.among("", ", descending=True") + d.among("", ", axis=%s" % d.axis(x, none=True))
            d.add("sort_by('T x, U y', {0}, {1}, %s%s)" % (by, more), x, y, moves=True, jumps=True, results=3)


def lexsorted(d):
    x = d.array(1, REAL, same=True, most=1)
    y = d.input(shape=x.shape)
    d.add("lexsort([{0}, {1}])", x, y, jumps=True)


def counted_bins(d):
    x = d.array(1, "u" if not d.mistakes else "iu", same=True)
    if x.size and int(x.value.max()) > 100 or x.dtype == np.uint64:
        raise Rejected
    d.add("bincount(ravel({0}), length=%d)" % (1 + d.below(12)), x, jumps=True)


def histogram(d):
    x = d.array(1, "iuf", same=True)
    if x.size == 0 or not np.isfinite(np.asarray(x.value, np.float64)).all() and not d.mistakes:
        raise Rejected
    low, high = float(x.value.min()), float(x.value.max())
    if d.once_in(3) and x.kind in "iu" and (low == high or high - low > 1e-3 * max(abs(low), abs(high))):
        if max(abs(low), abs(high)) < 1e6 or RAISES_FOR_NARROW_BINS:
            # Edges that are exact: which bin an element is in depends on their last bits.
            n = d.among(*[k for k in (1, 2, 4, 8, 3, 5) if low == high or (high - low) % k == 0][:4])
            d.add("histogram({0}, %d)" % n, x, moves=True, jumps=True, results=2)
            return
    value = np.sort(d.rng.integers(-9, 10, 6))
    edges = d.input(value=(value if not d.mistakes else d.rng.permutation(value)).astype("float64"))
    if not np.isfinite(np.asarray(x.value, np.float64)).all():
        d.add("histogram({0}, 4)", x, moves=True, jumps=True, results=2)
        return
    if d.once_in(2):
        y = d.input(shape=(x.size,), dtype=str(x.dtype))
        d.add("histogram2d(ravel({0}), {1}, {2}, {2})", x, y, edges, moves=True, jumps=True, results=3)
        return
    d.add("histogram({0}, {1})", x, edges, moves=True, jumps=True, results=2)


def among(d):
    x = d.array(1, REAL if d.once_in(2) else "c", same=True)
    y = d.input(shape=d.shape(1, 2), dtype=str(x.dtype))
    d.add(d.among("isin({0}, {1})", "in1d({0}, {1})"), x, y, jumps=True)


# ---- lengths that the device knows ------------------------------------------------------------------

def masked(d):
    x = d.array(1, REAL if d.once_in(4) else "biufc", same=True)
    style = d.below(6)
    if x.kind == "c" and style == 1:
        raise Rejected
    if style == 0:
        d.add("{0}[{1}]", x, d.input(shape=x.shape, dtype="bool"), moves=True, counted=True)
    elif style == 1:
        d.add("{0}[{0} > 1]", x, moves=True, counted=True)
    elif style == 2:
        d.add("extract({1}, {0})", x, d.input(shape=x.shape, dtype="bool"), moves=True, counted=True)
    elif style == 3:
        d.add(d.among("flatnonzero({0})", "argwhere({0})"), x, jumps=True, counted=True)
    elif style == 4:
        y = d.input(shape=d.shape(1, 2), dtype=str(x.dtype))
        d.add(d.among("union1d({0}, {1})", "intersect1d({0}, {1})", "setdiff1d({0}, {1})", "setxor1d({0}, {1})"),
              x, y, moves=True, jumps=True, counted=True)
    else:
        d.add("unique({0})", x, moves=True, jumps=True, counted=True)


def divided(d):
    """The elements that a mask chooses, and all others."""
    x = d.array(1, REAL if d.once_in(3) else "biufc", same=True)
    m = d.input(shape=d.shape(1, 2) if d.mistakes and d.once_in(3) else x.shape, dtype="bool")
    style = d.below(5)
    if style == 0 and x.kind != "c":
        d.add("partition_copy({0}, {0} > 1)", x, moves=True, counted=True, results=2)
    elif style == 1:
        d.add("sum(partition_copy({0}, {1})[%d])" % d.below(2), x, m, terms=x.size + 1, jumps=True)
    elif style == 2:
        d.add("sort(partition_copy({0}, {1})[%d])" % d.below(2), x, m, moves=True, counted=True)
    else:
        d.add("partition_copy({0}, {1})", x, m, moves=True, counted=True, results=2)


def chosen_rows(d):
    """A mask of the first axes, and parts by indices whose number only the device knows."""
    x = d.array(2, REAL, same=True)
    m = d.input(shape=x.shape[:1 + d.below(x.rank - 1)], dtype="bool")
    first = d.input(shape=x.shape[:1], dtype="bool")
    text = d.among("{0}[{1}]", "{0}[{1}] * 2", "count_nonzero({0}[{1}])", "sum({0}[{1}] != 1)", "{0}[flatnonzero({2})]",
                   "take({0}, flatnonzero({2}), axis=0)", "any({0}[{1}])")
    counted = not text.startswith(("count", "sum", "any"))
    d.add(text, x, m, first, moves=True, jumps=True, counted=counted)


def chosen_used(d):
    """Functions of what a mask chooses."""
    x = d.array(1, REAL, same=True)
    m = d.input(shape=x.shape, dtype="bool")
    text = d.among("sort(C)", "sort(C, descending=True)", "argsort(C)", "unique(C)", "diff(C)", "cumsum(C)", "isin(C, {0})",
                   "take(ravel({0}), flatnonzero({1}))", "cumsum(flatnonzero({1}) * 2)", "ravel({0})[flatnonzero({1})] + 1",
                   "searchsorted({2}, C)", "mean(C)", "max(C)", "min(C)", "median(C)", "quantile(C, 0.25)", "ptp(C)",
                   "topk(C, 2)", "topk(C, 1, largest=False)")
    many = int(np.sum(m.value))
    if x.kind == "b" and text.startswith(("diff", "ptp", "quant")) or text.startswith("cumsum(C") and x.kind == "f":
        raise Rejected
    if text.startswith(("mean", "med", "quant")) and (x.kind == "f" and not np.isfinite(x.value).all() or many == 0):
        raise Rejected
    if text.startswith("topk"):
        if many < 2 and not d.mistakes:
            raise Rejected
        d.add(text.replace("C", "{0}[{1}]"), x, m, moves=True, jumps=True, results=2)
        return
    y = d.input(value=np.sort(d.rng.integers(-9, 10, 6)))
    single = text.startswith(("mean", "max", "min", "med", "quant", "ptp"))
    exact = not text.startswith(("mean", "med", "quant"))
    d.add(text.replace("C", "{0}[{1}]"), x, m, y, moves=exact, jumps=not single, terms=0 if not exact else 1,
          counted=not single)


def mask_reduced(d):
    x = d.array(1, REAL, same=True)
    m = d.input(shape=x.shape, dtype="bool")
    d.add(d.among("sum({0}[{1}])", "sum({0}[{0} > 1] * 2)", "count_nonzero({0}[{1}])", "any({0}[{0} != 2])",
                  "({0}[{1}] + 1).sum()", "sum(compress(ravel({1}), ravel({0})))"), x, m, terms=2 * x.size + 1,
          jumps=True)
