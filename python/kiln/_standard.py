"""Functions of the array API (and NumPy's of the same meaning) that are made of views, copies and kiln's
operations."""
import itertools
import math
from collections import namedtuple
from operator import index

from . import _functions, _kiln
from ._array import arrays_of, asarray, broadcast_to, empty, normal_axis as _axis, reshape
from ._dtypes import DTYPES, OF_ML_DTYPES, as_dtype, name_of
from ._kernels import eval
from ._names import cast

# ---- dtypes ----------------------------------------------------------------------------------

_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
          "real floating": "f", "complex floating": "c", "numeric": "iufc"}
#: Bits of the significand without the first, least exponent of a normal number, the largest number.
_FLOATS = {"float16": (10, -14, 65504.0), "bfloat16": (7, -126, (2.0 - 2.0**-7) * 2.0**127),
           "float32": (23, -126, (2.0 - 2.0**-23) * 2.0**127),
           "float64": (52, -1022, (2.0 - 2.0**-52) * 2.0**1023),
           "float8_e4m3fn": (3, -6, 448.0), "float8_e5m2": (2, -14, 57344.0)}
finfo_object = namedtuple("finfo_object", "bits eps max min smallest_normal dtype")
iinfo_object = namedtuple("iinfo_object", "bits max min dtype")


def isdtype(dtype, kind):
    """Whether a dtype is of a kind ("integral", "real floating", ...), is another, or is one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for one in kinds:
        if isinstance(one, str) and one not in _KINDS and one not in DTYPES:
            raise ValueError(f"there is no kind of dtypes {one!r}")
    dtype = as_dtype(dtype)
    return any(dtype.kind in _KINDS[one] if isinstance(one, str) and one in _KINDS and one != "bool"
               else dtype == as_dtype(one) for one in kinds)


def _dtype_of(type):
    return type.dtype if hasattr(type, "dtype") else as_dtype(type)


def finfo(type, /):
    dtype = _dtype_of(type)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
    if real not in _FLOATS:
        raise ValueError(f"{dtype!r} is no floating-point dtype")
    digits, low, largest = _FLOATS[real]
    return finfo_object(8 * DTYPES[real].itemsize, 2.0**-digits, largest, -largest, 2.0**low, DTYPES[real])


def iinfo(type, /):
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise ValueError(f"{dtype!r} is no integer dtype")
    bits = 8 * dtype.itemsize
    low = -2 ** (bits - 1) if dtype.kind == "i" else 0
    return iinfo_object(bits, low + 2**bits - 1, low, dtype)


_together = {}


def result_type(*arrays_and_dtypes):
    """The dtype that arrays, dtypes and Python's numbers have together."""
    if not arrays_and_dtypes:
        raise ValueError("result_type() of nothing")
    key = tuple(type(v) if isinstance(v, (bool, int, float, complex)) else name_of(_dtype_of(v))
                for v in arrays_and_dtypes)
    if key not in _together:
        if len(_together) >= 4096:
            _together.clear()
        _together[key] = _find_result_type(*arrays_and_dtypes)
    return _together[key]


def _find_result_type(*arrays_and_dtypes):
    dtypes, numbers = [], []
    for value in arrays_and_dtypes:
        number = isinstance(value, (bool, int, float, complex))
        (numbers if number else dtypes).append(
            type(value)(1) if number else empty((0,), _dtype_of(value), "cpu"))  # no kernel is compiled for it
    if not dtypes:
        return as_dtype(type(max(numbers, key=lambda v: "bifc".index(name_of(type(v))[0]))))
    total = dtypes[0]
    for value in dtypes[1:] + numbers:
        total = _functions.call("where", (True, total, value))
    return total.dtype


def can_cast(from_, to, /):
    """Whether every value of one dtype (or array) is a value of the other, as the array API has it."""
    return result_type(_dtype_of(from_), to) == as_dtype(to)


class __array_namespace_info__:
    """What the array API asks of a library."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        return _kiln.default_device()

    def default_dtypes(self, *, device=None):
        return {"real floating": DTYPES["float64"], "complex floating": DTYPES["complex128"],
                "integral": DTYPES["int64"], "indexing": DTYPES["int64"]}

    def devices(self):
        return [d["id"] for d in _kiln.devices() if d["usable"]]

    def dtypes(self, *, device=None, kind=None):
        return {name: dtype for name, dtype in DTYPES.items()
                if name not in ("float16", *OF_ML_DTYPES) and (kind is None or isdtype(dtype, kind))}


# ---- shapes ----------------------------------------------------------------------------------

def shape(x):
    """The extents of an array of any library, a list or a number."""
    return tuple(x.shape if hasattr(x, "shape") else asarray(x).shape)


def ndim(x):
    return len(shape(x))


def size(x, axis=None):
    """The number of elements, or the extent of an axis."""
    extents = shape(x)
    if axis is None:
        return math.prod(extents)
    return extents[_axis(axis, len(extents))]


def broadcast_shapes(*shapes):
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = extent
            elif extent not in (1, result[axis]):
                raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
    return tuple(result)


def broadcast_arrays(*arrays):
    arrays = tuple(arrays_of(arrays))
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


def meshgrid(*arrays, indexing="xy", sparse=False):
    arrays = tuple(arrays_of(arrays))
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is \"xy\" or \"ij\", not {indexing!r}")
    rank = len(arrays)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[:2] = 1, 0
    shape = [0] * rank
    for a, axis in zip(arrays, order):
        shape[axis] = a.size
    lying = [reshape(a, tuple(-1 if k == axis else 1 for k in range(rank))) for a, axis in zip(arrays, order)]
    return [a.copy() if sparse else broadcast_to(a, tuple(shape)).copy() for a in lying]


def _at(axis, item):
    return (slice(None),) * axis + (item,)


def _shapes(arrays, axis=None):
    """"(3, 4) and (3, 5)", for messages: the first shape, and the first that differs beside `axis`."""
    shapes = {s if axis is None else (len(s), s[:axis] + s[axis + 1:]): s for s in (a.shape for a in reversed(arrays))}
    return " and ".join(str(s) for s in list(reversed(shapes.values()))[:2])


def concat(arrays, /, axis=0, *, dtype=None, casting="same_kind"):
    """Arrays one behind the other along an axis; None: flattened. With `dtype` they are cast before."""
    arrays = tuple(arrays)
    if dtype is not None or casting != "same_kind":
        arrays = tuple(cast(arrays_of(arrays), dtype, casting))
    made = _kiln.joined(arrays, axis, None) if axis.__class__ is int else None
    if made is not None:  # arrays of kiln's own, of one dtype and device, whose shapes fit
        return made
    arrays = arrays_of(arrays)
    if not arrays:
        raise ValueError("concat: the list of arrays is empty")
    if axis is None:
        arrays, axis = [a.ravel() for a in arrays], 0
    axis = _axis(axis, arrays[0].ndim)
    shapes = [a.shape for a in arrays]
    rest = {s[:axis] + s[axis + 1:] for s in shapes}
    if len(rest) > 1 or len({len(s) for s in shapes}) > 1:
        raise ValueError(f"concat: shapes {_shapes(arrays, axis)} may differ along axis {axis} alone")
    names = {a.dtype.name for a in arrays}
    dtype = names.pop() if len(names) == 1 else result_type(*arrays).name
    return _kiln.joined(tuple(asarray(a, device=arrays[0].device) for a in arrays), axis, dtype)


def stack(arrays, /, axis=0, *, dtype=None, casting="same_kind"):
    arrays = cast(arrays_of(arrays), dtype, casting)
    if len({a.shape for a in arrays}) != 1:
        raise ValueError(f"stack: all arrays must have one shape; they have {_shapes(arrays)}")
    axis = _axis(axis, arrays[0].ndim + 1)
    return concat([a[_at(axis, None)] for a in arrays], axis=axis)


def unstack(x, /, *, axis=0):
    axis = _axis(axis, x.ndim)
    return tuple(x[_at(axis, k)] for k in range(x.shape[axis]))


def _parts(x, parts, axis, equal):
    """Views of the parts of an axis: so many, or those between the given places."""
    if hasattr(parts, "__index__"):
        count, extent = parts.__index__(), x.shape[axis]
        if count < 1:
            raise ValueError(f"an axis has 1 part or more, not {count}")
        if equal and extent % count:
            raise ValueError(f"{extent} elements along axis {axis} cannot be split into {count} equal parts")
        ends = [(k + 1) * (extent // count) + min(k + 1, extent % count) for k in range(count - 1)]
    else:
        ends = [int(place) for place in parts]
    return [x[_at(axis, slice(begin, end))] for begin, end in zip([None] + ends, ends + [None])]


def split(x, parts, /, axis=0):
    """Equal parts of an axis, or those between the given places: views."""
    x = asarray(x)
    return _parts(x, parts, _axis(axis, x.ndim), True)


def array_split(x, parts, /, axis=0):
    """As split(), of parts that are as equal as can be."""
    x = asarray(x)
    return _parts(x, parts, _axis(axis, x.ndim), False)


def _split_along(name, least, axis):
    def function(x, parts, /):
        x = asarray(x)
        if x.ndim < least:
            raise ValueError(f"{name} needs an array of {least} or more axes, this one has {x.ndim}")
        return _parts(x, parts, min(axis, x.ndim - 1), True)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x, parts): split() along axis {axis}" + (
        ", of a vector along its only one." if name == "hsplit" else ".")
    return function


hsplit, vsplit, dsplit = (_split_along(*row) for row in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)))


def nonzero(x, /):
    """Where the elements are that are not zero: an array for each axis."""
    return _kiln.chosen("nonzero", asarray(x), None)


def flatnonzero(x, /):
    return _kiln.chosen("flatnonzero", asarray(x), None)[0]


def partition_copy(x, mask, /):
    """C++'s function: the elements where a mask is true, and all others, both in order: x[mask] and x[~mask] of one
    pass over both. The mask may be one of the first axes; the call waits for the lengths."""
    x = asarray(x)
    return _kiln.chosen("partition_copy", x, asarray(mask, device=x.device))


def argwhere(x, /):
    return _kiln.chosen("argwhere", asarray(x), None)[0]


def tile(x, repetitions, /):
    x = asarray(x)
    counts = (repetitions,) if hasattr(repetitions, "__index__") else tuple(repetitions)
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + tuple(map(index, counts))
    return eval(f"tile(x, {counts})", x=x) if counts else x.copy()


def repeat(x, repeats, /, axis=None):
    """Each element `repeats` times; counts that differ are not had."""
    x = asarray(x)
    if axis is None and x.ndim == 1:
        axis = 0
    elif axis is None:
        x, axis = x.ravel(), 0
    axis = _axis(axis, x.ndim)
    if repeats.__class__ is not int and (getattr(repeats, "ndim", 0) or not hasattr(repeats, "__index__")):
        counts = [int(r) for r in asarray(repeats, device="cpu").tolist()] if getattr(repeats, "ndim", 1) else [int(repeats)]
        if len(counts) == 1:
            counts *= x.shape[axis]
        if len(counts) != x.shape[axis] or any(c < 0 for c in counts):
            raise ValueError("there is one count of repetitions for each element, and none is negative")
        parts = [x[_at(axis, slice(k, k + 1))] for k, c in enumerate(counts) for _ in range(c)]
        return concat(parts, axis=axis) if parts else x[_at(axis, slice(0, 0))]
    return _functions.call("repeat", (x,), tail=f", {index(repeats)}, axis={axis}")


def roll(x, /, shift, axis=None):
    x = asarray(x)
    if axis is None:
        return reshape(roll(x.ravel(), shift, axis=0), x.shape)
    shifts = (shift,) if hasattr(shift, "__index__") else tuple(shift)
    axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError("there is one shift for each axis")
    totals = {}
    for s, a in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes * len(shifts) if len(axes) == 1 else axes):
        a = _axis(a, x.ndim)
        totals[a] = (totals.get(a, 0) + index(s)) % max(x.shape[a], 1)
    if not totals:
        return x.copy()
    return eval(f"roll(x, {tuple(totals.values())}, axis={tuple(totals)})", x=x)


def _triangle(text):
    def function(x, /, k=0):
        x = asarray(x)
        if x.ndim == 0:
            raise ValueError("a triangle is of a matrix")
        if x.ndim == 1:
            x = broadcast_to(x, (x.size, x.size))
        return eval(f"where(iota(x, {x.ndim - 1}) - iota(x, {x.ndim - 2}) {text} k, x, 0)", x=x, k=k) \
            if x.dtype.kind != "b" else eval(
                f"x & (iota(x, {x.ndim - 1}) - iota(x, {x.ndim - 2}) {text} k)", x=x, k=k)
    return function


tril, triu = _triangle("<="), _triangle(">=")
tril.__name__, triu.__name__ = "tril", "triu"


# ---- running results -------------------------------------------------------------------------

def _scan(name):
    def function(x, axis=None, dtype=None, out=None):
        x = asarray(x)
        if dtype is not None:
            x = x.astype(dtype, copy=False)
        return _kiln.scan(name, x, axis, False, False, out)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's {name}(x, axis, dtype, out): see docs/scans.md."
    return function


def _cumulative(name, first):
    def function(x, /, *, axis=None, dtype=None, include_initial=False):
        x = asarray(x)
        if axis is None and x.ndim != 1:
            raise ValueError("an array of several axes is accumulated along one that is named")
        result = _scan(name)(x, 0 if axis is None else axis, dtype)
        if dtype is not None:
            result = result.astype(dtype, copy=False)
        if not include_initial:
            return result
        axis = _axis(0 if axis is None else axis, x.ndim)
        shape = list(x.shape)
        shape[axis] = 1
        begin = empty(tuple(shape), result.dtype, result.device)
        begin[...] = first
        return concat([begin, result], axis=axis)
    return function


SCANS = {name: _scan(name) for name in _functions.SCANS}
cumulative_sum, cumulative_prod = _cumulative("cumsum", 0), _cumulative("cumprod", 1)
cumulative_sum.__name__, cumulative_prod.__name__ = "cumulative_sum", "cumulative_prod"


def diff(x, /, n=1, axis=-1, prepend=None, append=None):
    x = asarray(x)
    axis = _axis(axis, x.ndim)
    if n < 0:
        raise ValueError(f"differences are taken {n} times")
    ends = [[asarray(v, device=x.device)] if v is not None else [] for v in (prepend, append)]
    one = x.shape[:axis] + (1,) + x.shape[axis + 1:]
    ends = [[broadcast_to(v, one) if v.ndim == 0 else v for v in end] for end in ends]
    if prepend is not None or append is not None:
        x = concat(ends[0] + [x] + ends[1], axis=axis)
    for _ in range(n):
        after, before = x[_at(axis, slice(1, None))], x[_at(axis, slice(None, -1))]
        x = after ^ before if x.dtype.kind == "b" else after - before
    return x


def _spread(name):
    plain = _functions.functions()[name]

    def function(x, axis=None, dtype=None, out=None, keepdims=False, *, correction=0.0, ddof=None, where=None,
                 stream=None):
        if ddof is not None:
            if correction:
                raise ValueError("ddof and correction are two names of one number")
            correction = ddof
        if where is not None and where is not True:
            tail = _functions.tail_of(axis, dtype, keepdims) + f", ddof={correction}"
            return _functions._reduce_where(name, x, tail, out, stream, where, None)
        if not correction:
            return plain(x, axis, dtype, out, keepdims, stream=stream)
        x = asarray(x)
        axes = range(x.ndim) if axis is None else (axis,) if hasattr(axis, "__index__") else axis
        count = 1
        for a in axes:
            count *= x.shape[_axis(a, x.ndim)]
        left = count - correction
        scale = count / left if left > 0 else float("nan")
        variance = _functions.functions()["var"](x, axis, dtype, None, keepdims, stream=stream) * scale
        result = variance if name == "var" else _functions.call("sqrt", (variance,))
        if out is None:
            return result
        out[...] = result
        return out
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x, axis, dtype, out, keepdims, correction): see docs/reductions.md."
    return function


std, var = _spread("std"), _spread("var")
