"""Sorting, searching, counting, and elements at indices: NumPy's and the array API's names. Arrays of other
libraries are used where they are; results are kiln's arrays. docs/sorting.md and docs/indexing.md tell how it is
done."""
from collections import namedtuple

from . import _functions, _kiln
from ._array import MODES, arange, array_beside, arrays_of, asarray, index_arrays, normal_axes, ones, zeros
from ._dtypes import name_of
from ._kernels import eval
from ._standard import concat, flatnonzero

UniqueAllResult = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCountsResult = namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = namedtuple("UniqueInverseResult", "values inverse_indices")
TopkResult = namedtuple("TopkResult", "values indices")

#: NumPy's names of the ways to make a quantile of two elements, by kiln_quantile_method.
METHODS = ("linear", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
           "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased", "lower",
           "higher", "midpoint", "nearest")


def _call(name, *arrays, axis=None, numbers=(), flag=False, method=0):
    """`flag` stands for the one that a function has: descending, or right."""
    return _kiln.sorting(name, arrays, axis, numbers and tuple(map(float, numbers)), flag, method)


# ---- orders ----------------------------------------------------------------------------------

def _by_rule(name, x, axis, descending, key, less):
    """A sort by an array of keys, or by a C++ expression that tells whether element a stands before b."""
    if key is not None and less is not None:
        raise ValueError("a sort has a key or a rule (less), not both")
    over = "None" if axis is None else axis.__index__()
    tail = f", axis={over}" + (", descending=True" if descending else "")
    if key is not None:
        x, key = arrays_of((x, key))
        return eval(f"{name}(x, key=k{tail})", x=x, k=key)
    if "'" in less or "\\" in less:
        raise ValueError(f"{less!r} holds a quotation mark")
    if descending:
        raise ValueError("a rule (less) tells the direction, too")
    return eval(f"{name}(x, less='{less}'{tail})", x=x)


def sort(x, /, axis=-1, *, descending=False, stable=True, key=None, less=None):
    """The elements of each row along an axis (None: all elements), sorted: by an array of keys, which broadcasts, where
    `key` is one, or by a rule of the program's own, `less="a * a < b * b"`. Every sort is stable."""
    del stable
    if key is not None or less is not None:
        return _by_rule("sort", asarray(x), axis, descending, key, less)
    return _call("sort", asarray(x), axis=axis, flag=descending)


def argsort(x, /, axis=-1, *, descending=False, stable=True, key=None, less=None):
    """Where each element of the sorted rows stood."""
    del stable
    if key is not None or less is not None:
        return _by_rule("argsort", asarray(x), axis, descending, key, less)
    return _call("argsort", asarray(x), axis=axis, flag=descending)


def lexsort(keys, /, axis=-1):
    """The order by several keys, arrays of one shape, of which the last counts most, along an axis."""
    keys = arrays_of(keys)
    if axis == -1 or keys[0].ndim < 2:
        return _call("lexsort", *keys)
    names = [f"k{n}" for n in range(len(keys))]
    return eval(f"lexsort([{', '.join(names)}], axis={axis.__index__()})", **dict(zip(names, keys)))


def _partition(name, x, kth, axis):
    """By one place, or by several: then whole rows are sorted."""
    if hasattr(kth, "__index__") and not getattr(kth, "ndim", 0):
        return _call(name, asarray(x), axis=axis, numbers=(kth.__index__(),))
    places = tuple(k.__index__() for k in (kth.tolist() if hasattr(kth, "tolist") else kth))
    over = None if axis is None else axis.__index__()
    return eval(f"{name}(x, {places}, axis={over})", x=asarray(x))


def partition(x, kth, /, axis=-1):
    return _partition("partition", x, kth, axis)


def argpartition(x, kth, /, axis=-1):
    return _partition("argpartition", x, kth, axis)


def topk(x, k, /, axis=-1, *, largest=True):
    """The k largest (or smallest) elements of each row, in order, and where they stood."""
    return TopkResult(*_call("topk", asarray(x), axis=axis, numbers=(k.__index__(),), flag=not largest))


def sort_by(in_params, *arrays, less=None, key=None, key_dtype="float64", descending=False, axis=-1):
    """Several arrays of one shape, sorted together along an axis by a rule of your own, and the order that sorts them.

        price, day, order = kiln.sort_by("float32 price, int32 day", price, day,
                                         less="a.price < b.price || (a.price == b.price && a.day > b.day)")

    `less` tells whether element a stands before b; `key` is an expression of the names, whose values of the dtype
    `key_dtype` are sorted. Arrays that the rule does not mention are sorted along. With axis=None all elements are
    sorted, and the results have one axis."""
    return _kiln.sort_by(in_params, tuple(arrays_of(arrays)), less, key,
                         None if key is None else name_of(key_dtype), descending, axis)


# ---- statistics of order ---------------------------------------------------------------------

def _rows(x, axis):
    """An array and one axis: several axes become the last one."""
    x = asarray(x)
    if axis is None or hasattr(axis, "__index__"):
        return x, axis
    axes = normal_axes(axis, x.ndim)
    if not axes:  # each element by itself
        return x[..., None], -1
    rest = [a for a in range(x.ndim) if a not in axes]
    return x.transpose(rest + axes).reshape((*(x.shape[a] for a in rest), -1)), -1


def _kept(x, result, axis, keepdims, leading=0):
    """`result` with an axis of one element in the place of each that was reduced."""
    if not keepdims:
        return result
    gone = range(x.ndim) if axis is None else normal_axes(axis, x.ndim)
    shape = [1 if a in gone else n for a, n in enumerate(x.shape)]
    return result.reshape(tuple(result.shape[:leading]) + tuple(shape))


def _is_weak(q):
    """Whether a probability is a plain number, which takes the dtype of the array beside it, as in NumPy."""
    return q.__class__ in (int, float)


def _at_probabilities(name, x, q, axis, method, keepdims):
    """Quantiles at the elements of an array, whose axes stand first in the result."""
    q = asarray(q, device=x.device)
    if q.dtype.kind == "b":
        q = q.astype("float64")
    if name.endswith("quantile") and q.dtype.kind in "iu" and method == "linear":
        method = "lower"
    if axis is None or hasattr(axis, "__index__"):
        rows, over = x, None if axis is None else axis.__index__()
    else:
        rows, over = _rows(x, axis)
    result = eval(f"{name}(x, q, axis={over}, method='{method}')", x=rows, q=q)
    return _kept(x, result, axis, keepdims, q.ndim)


def median(x, /, axis=None, *, keepdims=False):
    """NumPy's median, along one axis, several or all."""
    x = asarray(x)
    rows, along = _rows(x, axis)
    if rows.size == 0:  # rows without elements have NaN
        over = None if along is None else along.__index__()
        return _kept(x, eval(f"median(x, axis={over})", x=rows), axis, keepdims)
    return _kept(x, _call("median", rows, axis=along), axis, keepdims)


def quantile(x, /, q, axis=None, *, method="linear", keepdims=False):
    """NumPy's quantile, by all of its methods, along one axis, several or all; `q` is a number or a list of numbers."""
    x = array_beside(x, q)
    if method not in METHODS:
        raise ValueError(f"{method!r} is no method of quantiles: {', '.join(METHODS)} are")
    if not _is_weak(q):
        return _at_probabilities("quantile", x, q, axis, method, keepdims)
    if method == "linear" and q.__class__ is int:  # 0 and 1 are elements
        method = "lower"
    rows, along = _rows(x, axis)
    result = _call("quantile", rows, axis=along, numbers=(q,), method=METHODS.index(method))
    return _kept(x, result[0], axis, keepdims)


def percentile(x, /, q, axis=None, *, method="linear", keepdims=False):
    if _is_weak(q):
        return quantile(x, q / 100, axis, method=method, keepdims=keepdims)
    if method not in METHODS:
        raise ValueError(f"{method!r} is no method of quantiles: {', '.join(METHODS)} are")
    return _at_probabilities("percentile", array_beside(x, q), q, axis, method, keepdims)


def _without_nan(name, x, axis, keepdims, *numbers, **more):
    from ._expressions import MADE
    x = array_beside(x, *numbers)
    if numbers and not _is_weak(numbers[0]):
        if more["method"] not in METHODS:
            raise ValueError(f"{more['method']!r} is no method of quantiles: {', '.join(METHODS)} are")
        return _at_probabilities(name, x, numbers[0], axis, more["method"], keepdims)
    rows, along = _rows(x, axis)
    return _kept(x, MADE[name](rows, *numbers, axis=along, **more), axis, keepdims)


def nanmedian(x, /, axis=None, *, keepdims=False):
    """NumPy's nanmedian: of the elements that are no NaN."""
    return _without_nan("nanmedian", x, axis, keepdims)


def nanquantile(x, /, q, axis=None, *, method="linear", keepdims=False):
    return _without_nan("nanquantile", x, axis, keepdims, q, method=method)


def nanpercentile(x, /, q, axis=None, *, method="linear", keepdims=False):
    return _without_nan("nanpercentile", x, axis, keepdims, q, method=method)


# ---- searching and counting --------------------------------------------------------------------

def searchsorted(x1, x2, /, side="left", sorter=None):
    """Where the elements of x2 would have to be put into x1 to keep it sorted."""
    if side not in ("left", "right"):
        raise ValueError(f"a side is left or right, not {side!r}")
    x1, x2 = arrays_of((x1, x2))
    x1 = x1 if sorter is None else take(x1, sorter, axis=0)
    return _call("searchsorted", x1, x2, flag=side == "right")


def isin(x1, x2, /, *, invert=False):
    """Whether each element of x1 is one of x2's."""
    x1, x2 = arrays_of((x1, x2))
    x2 = x2.ravel()
    if "c" in (x1.dtype.kind, x2.dtype.kind):
        found = (x1[..., None] == x2).any(axis=-1) if x2.size else (x1 != x1) & False
    else:
        found = _call("isin", x1, x2)
    return ~found if invert else found


def histogram_bin_edges(x, /, bins=10, range=None):
    if hasattr(bins, "__index__") and not getattr(bins, "ndim", 0):
        return _call("histogram_edges", asarray(x), numbers=(bins.__index__(), *(range or ())))
    return asarray(bins, device=asarray(x).device)


def digitize(x, bins, /, right=False):
    return _call("digitize", *arrays_of((x, bins)), flag=right)


# ---- distinct elements -------------------------------------------------------------------------

def unique(x, /, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    """The distinct elements, sorted; NaN counts as equal to NaN, unless equal_nan is False. What else is asked for stands
    behind them. Along an axis the distinct parts, of which those with a NaN equal no other."""
    x = asarray(x)
    if not equal_nan and axis is None and x.dtype.kind in "fc":
        values, *others = _unique(x)
        asked = [r for r, wanted in zip(others, (return_index, return_inverse, return_counts)) if wanted]
        return (values, *asked) if asked else values
    if axis is not None:
        values, *others = _call("unique_along", x, axis=axis.__index__())
        asked = [r for r, wanted in zip(others, (return_index, return_inverse, return_counts)) if wanted]
        return (values, *asked) if asked else values
    if not (return_index or return_inverse or return_counts):
        return _call("unique_values", x)
    values, *others = _call("unique", x)
    asked = (return_index, return_inverse, return_counts)
    return (values, *(r for r, wanted in zip(others, asked) if wanted))


def _unique(x):
    """unique() with all that it can give, by the array API's rule that a NaN equals no other: they stand last."""
    x = asarray(x)
    flat = x.ravel()
    odd = flatnonzero(flat != flat) if x.dtype.kind in "fc" else None
    if odd is None or odd.size < 2:
        return _call("unique", x)
    rest = flatnonzero(flat == flat)
    values, indices, inverse, counts = _call("unique", flat[rest])
    places = zeros(flat.size, "int64", x.device)
    put(places, rest, inverse)
    put(places, odd, arange(values.size, values.size + odd.size, device=x.device))
    return (concat([values, flat[odd]]), concat([rest[indices], odd]), places.reshape(x.shape),
            concat([counts, ones(odd.size, "int64", x.device)]))


def unique_all(x, /):
    """The array API's: each NaN is a value of its own, and stands behind the numbers."""
    return UniqueAllResult(*_unique(x))


def unique_counts(x, /):
    values, _, _, counts = _unique(x)
    return UniqueCountsResult(values, counts)


def unique_inverse(x, /):
    values, _, inverse, _ = _unique(x)
    return UniqueInverseResult(values, inverse)


def unique_values(x, /):
    x = asarray(x)
    odd = x[x != x] if x.dtype.kind in "fc" else None
    if odd is None or odd.size < 2:
        return unique(x)
    return concat([unique(x[x == x]), odd])


# ---- elements at indices -----------------------------------------------------------------------

def _mode(mode):
    if mode not in MODES:
        raise ValueError(f"an index mode is raise, wrap or clip, not {mode!r}")
    return f", mode={mode}"


def _indices(x, indices):
    if _kiln.indexes(x, indices):
        return indices
    return index_arrays(x.device, (indices,))[0]


def take(x, indices, /, axis=None, *, mode="raise"):
    """The parts of x along an axis (None: elements in C-order) that indices name."""
    if not _kiln.indexes(x, indices):
        x = array_beside(x, indices)
        indices = _indices(x, indices)
    tail = _mode(mode) + ("" if axis is None else f", axis={axis.__index__()}")
    return _functions.call("take", (x, indices), tail=tail)


def take_along_axis(x, indices, /, axis=-1, *, mode="raise"):
    """An index for each element: x[a, indices[a, b]] for axis 1 of two."""
    if not _kiln.indexes(x, indices):
        x = array_beside(x, indices)
        indices = _indices(x, indices)
    tail = _mode(mode) + ("" if axis is None else f", axis={axis.__index__()}")
    return _functions.call("take_along_axis", (x, indices), tail=tail)


def put(x, indices, values, /, mode="raise"):
    """x.flat[indices] = values, in place."""
    _mode(mode)
    _kiln.put(x, _indices(x, indices), asarray(values, device=x.device), None, MODES[mode])


def put_along_axis(x, indices, values, /, axis=-1, mode="raise"):
    """x[a, indices[a, b]] = values[a, b] for axis 1 of two, in place."""
    _mode(mode)
    _kiln.put(x, _indices(x, indices), asarray(values, device=x.device), axis, MODES[mode])


def place(x, mask, values, /):
    """x[mask] = values, in place; values are repeated where there are too few."""
    _kiln.place(x, asarray(mask, device=x.device),
                asarray(values, device=x.device).astype(x.dtype, copy=False).ravel())


def extract(condition, x, /):
    from ._numpy import compress
    condition, x = arrays_of((condition, x))
    return compress(condition.ravel(), x.ravel())


def _at(name):
    def at(x, indices, values, /, *, fast=False):
        x._scatter(indices, values, name, fast)
    at.__doc__ = f"NumPy's ufunc.at: x[indices] is changed by each of the values ({name}), in place. `fast`: in any " \
                 f"order, so that runs may differ in rounding."
    return at


for _name in ("add", "multiply", "minimum", "maximum"):
    _functions.FUNCTIONS[_name].at = _at(_name)
