"""NumPy's functions whose arguments go beyond what the language of expressions knows: several axes, pairs of values,
index arrays, weights."""
from ._array import array_beside, arrays_of, asarray, empty, home_of, normal_axes, normal_axis, zeros
from ._expressions import MADE
from ._kernels import eval
from ._sorting import _call, digitize, histogram_bin_edges, searchsorted, take, unique
from ._standard import concat, flatnonzero

_range = range  # histogram() and its like have an argument of that name


def _at(axis, item):
    return (slice(None),) * axis + (item,)


# ---- differences -------------------------------------------------------------------------------

#: At even and at uneven distances, along the last axis; at the ends by two and by three elements.
_EVEN = ("(f[..., 1] - f[..., 0]) / h", "(f[..., 2:] - f[..., :-2]) / (2 * h)", "(f[..., -1] - f[..., -2]) / h")
_EVEN_ENDS = ("(2 * f[..., 1] - 1.5 * f[..., 0] - 0.5 * f[..., 2]) / h",
              "(1.5 * f[..., -1] - 2 * f[..., -2] + 0.5 * f[..., -3]) / h")
_UNEVEN = ("(f[..., 1] - f[..., 0]) / d[0]",
           "(a * a * f[..., 2:] + (b * b - a * a) * f[..., 1:-1] - b * b * f[..., :-2]) / (a * b * (a + b))",
           "(f[..., -1] - f[..., -2]) / d[-1]")
_UNEVEN_ENDS = ("f[..., 1] * (d[0] + d[1]) / (d[0] * d[1]) - f[..., 0] * (2 * d[0] + d[1]) / (d[0] * (d[0] + d[1]))"
                " - f[..., 2] * d[0] / (d[1] * (d[0] + d[1]))",
                "f[..., -1] * (2 * d[-1] + d[-2]) / (d[-1] * (d[-2] + d[-1])) - f[..., -2] * (d[-1] + d[-2]) /"
                " (d[-2] * d[-1]) + f[..., -3] * d[-1] / (d[-2] * (d[-2] + d[-1]))")


def _slopes(f, step, axis, edge_order):
    even = getattr(step, "ndim", 0) == 0
    if not even and step.shape != (f.shape[axis],):
        raise ValueError(f"places of shape {tuple(step.shape)} for {f.shape[axis]} elements along axis {axis}")
    if f.shape[axis] < edge_order + 1:
        raise ValueError(f"gradient() needs {edge_order + 1} elements along an axis; axis {axis} has {f.shape[axis]}")
    parts = list(_EVEN if even else _UNEVEN)
    if edge_order == 2:
        parts[0], parts[2] = _EVEN_ENDS if even else _UNEVEN_ENDS
    text = f"f = 1.0 * moveaxis(x, {axis}, -1); " + \
        ("" if even else "t = 1.0 * h; d = t[1:] - t[:-1]; a = d[:-1]; b = d[1:]; ") + \
        f"moveaxis(concatenate([({parts[0]})[..., None], {parts[1]}, ({parts[2]})[..., None]], axis=-1), -1, {axis})"
    return eval(text, x=f, h=step)


def gradient(f, *varargs, axis=None, edge_order=1):
    """NumPy's: along all axes or those that are named, at distances or at places. Several axes: a tuple."""
    f = asarray(f) if isinstance(f, (list, tuple)) else f
    if edge_order not in (1, 2):
        raise ValueError(f"gradient() has edge_order 1 and 2, not {edge_order!r}")
    axes = normal_axes(range(f.ndim) if axis is None else axis, f.ndim)
    steps = [asarray(v, device=f.device) if isinstance(v, (list, tuple)) else v for v in varargs] or [1.0]
    if len(steps) == 1 and getattr(steps[0], "ndim", 0) == 0:
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"gradient() has {len(steps)} distances for {len(axes)} axes")
    found = tuple(_slopes(f, step, a, edge_order) for step, a in zip(steps, axes))
    return found[0] if len(found) == 1 else found


# ---- elements put in and left out --------------------------------------------------------------

def _indices(obj, extent, axis):
    """Whole numbers from 0 for an index, a slice, a list or an array of either or of bools."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(extent)))
    listed = asarray(obj)
    if listed.ndim > 1:
        raise ValueError(f"indices are a number or a vector, not of shape {tuple(listed.shape)}")
    if listed.dtype.kind == "b":
        if listed.shape != (extent,):
            raise ValueError(f"a mask of {listed.size} elements for {extent} along axis {axis}")
        return flatnonzero(listed).tolist()
    if listed.size and listed.dtype.kind not in "iu":
        raise IndexError(f"indices are of integers, not of {listed.dtype}")
    return listed.tolist() if listed.ndim else [listed.item()]


def _in_range(places, most, extent, axis):
    for place in places:
        if not -extent <= place <= most:
            raise IndexError(f"index {place} is out of range for axis {axis}, which has {extent} elements")
    return [int(p) + extent if p < 0 else int(p) for p in places]


def _plain(obj):
    """Whether an index, or a tuple of some, is one of the language."""
    return all(hasattr(k, "__index__") and not getattr(k, "ndim", 0) and not isinstance(k, bool)
               for k in (obj if isinstance(obj, (list, tuple)) and obj else (obj,)))


def delete(arr, obj, axis=None, **keywords):
    """The array without what stands at an index, or at those of a slice, a list, an array, a mask."""
    if _plain(obj):
        return MADE["delete"](arr, tuple(obj) if isinstance(obj, list) else obj, axis=axis, **keywords)
    arr = asarray(arr)
    arr, axis = (arr.ravel(), 0) if axis is None else (arr, normal_axis(axis, arr.ndim))
    extent = arr.shape[axis]
    gone = set(_in_range(_indices(obj, extent, axis), extent - 1, extent, axis))
    return take(arr, asarray([k for k in range(extent) if k not in gone], "int64", device=arr.device), axis=axis)


def insert(arr, obj, values, axis=None, **keywords):
    """The array with values before an index, or one before each of several."""
    if _plain(obj) and not isinstance(obj, (list, tuple)) and not isinstance(values, (list, tuple)):
        return MADE["insert"](arr, obj, values, axis=axis, **keywords)
    arr = array_beside(arr, values)
    arr, axis = (arr.ravel(), 0) if axis is None else (arr, normal_axis(axis, arr.ndim))
    values = asarray(values, device=arr.device).astype(arr.dtype)
    extent = arr.shape[axis]
    one = hasattr(obj, "__index__") and not getattr(obj, "ndim", 0)
    places = _in_range(_indices(obj, extent, axis), extent, extent, axis)
    if len(places) == 1:
        lacking = arr.ndim - values.ndim
        values = values[(None,) * lacking] if lacking > 0 else values
        if one:  # as NumPy: the first axis of the values is the one along which they are put
            order = list(range(1, values.ndim))
            order.insert(axis, 0)
            values = values.transpose(*order)
        places *= values.shape[axis]
    order = sorted(range(len(places)), key=lambda k: places[k])
    for before, k in enumerate(order):
        places[k] += before
    shape = arr.shape[:axis] + (extent + len(places),) + arr.shape[axis + 1:]
    made, taken = empty(shape, arr.dtype, arr.device), set(places)
    for which, what in ((places, values), ([k for k in range(shape[axis]) if k not in taken], arr)):
        if which:
            made[_at(axis, asarray(which, "int64", device=arr.device))] = what
    return made


def compress(condition, a, /, axis=None):
    """The parts of `a` along an axis at which a vector of conditions, which may be shorter, is true; without an axis
    its elements, also by a condition of its shape."""
    a = array_beside(a, condition)
    condition = asarray(condition, device=a.device).astype("bool")
    if axis is None and condition.shape == a.shape:
        return a[condition]
    if condition.ndim != 1:
        raise ValueError(f"compress() has a vector of conditions, not an array of shape {tuple(condition.shape)}")
    return take(a, flatnonzero(condition), axis=axis)


def intersect1d(ar1, ar2, /, assume_unique=False, return_indices=False):
    """The elements of both arrays, sorted, and where each stands first in either."""
    ar1, ar2 = arrays_of((ar1, ar2))
    both = MADE["intersect1d"](ar1, ar2)
    if not return_indices:
        return both
    places = []
    for x in (ar1, ar2):
        values, first = unique(x, return_index=True)
        places.append(first[searchsorted(values, both)])
    return both, *places


# ---- padding -----------------------------------------------------------------------------------

def _pairs(value, rank, what):
    """Before and after for each axis: a number, one pair, or a pair for each axis."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        given = [value.get(k, value.get(k - rank, 0)) for k in range(rank)]
        value = [g if isinstance(g, (list, tuple)) else (g, g) for g in given]
    rows = value if isinstance(value, (list, tuple)) else [value]
    if len(rows) == 2 and not any(isinstance(r, (list, tuple)) for r in rows):
        rows = [rows]
    rows = [tuple(r) if isinstance(r, (list, tuple)) else (r, r) for r in rows]
    rows = [r * 2 if len(r) == 1 else r for r in rows]
    rows = rows * rank if len(rows) == 1 else rows
    if len(rows) != rank or any(len(r) != 2 for r in rows):
        raise ValueError(f"{what} is a number, a pair or a pair for each of {rank} axes, not {value!r}")
    return rows


def _side(x, axis, width, after, mode, keywords):
    """What is put before or behind an axis."""
    widths = [0] * (2 * x.ndim)
    widths[2 * axis + after] = width
    part = slice(-width, None) if after else slice(None, width)
    return MADE["pad"](x, tuple(widths), mode=mode, **keywords)[_at(axis, part)]


def pad(array, pad_width, mode="constant", *, reflect_type="even", **keywords):
    """NumPy's, with all its modes; values and lengths may be pairs, for each axis or for all."""
    array = asarray(array) if isinstance(array, (list, tuple)) else array
    if reflect_type not in ("even", "odd") or reflect_type == "odd" and mode not in ("reflect", "symmetric"):
        raise ValueError(f"reflect_type is even or odd, of the modes reflect and symmetric; not {reflect_type!r}")
    if array.ndim == 0:
        return MADE["pad"](array, pad_width, mode=mode, **keywords)
    pairs = {k: v for k, v in keywords.items() if isinstance(v, (list, tuple)) or hasattr(v, "tolist")}
    widths = _pairs(pad_width, array.ndim, "pad_width")
    if reflect_type == "odd":
        keywords["reflect_type"] = reflect_type
    if not pairs:
        return MADE["pad"](array, tuple(w for pair in widths for w in pair), mode=mode, **keywords)
    array = asarray(array)
    of_axes = {k: _pairs(v, array.ndim, k) for k, v in keywords.items()}
    for axis, (before, after) in enumerate(widths):
        sides = [_side(array, axis, width, k, mode, {n: v[axis][k] for n, v in of_axes.items()})
                 if width else None for k, width in enumerate((before, after))]
        array = concat([s for s in (sides[0], array, sides[1]) if s is not None], axis=axis)
    return array


# ---- counting ----------------------------------------------------------------------------------

def bincount(x, /, weights=None, minlength=0):
    """How often each whole number occurs, or the sum of its elements' weights."""
    x = array_beside(x, weights)
    counts = _call("bincount", x, numbers=(minlength.__index__(),))
    if weights is None:
        return counts
    from ._functions import FUNCTIONS
    weights, made = _check_weights(x, weights), zeros(counts.shape, "float64", counts.device)
    if x.size:
        FUNCTIONS["add"].at(made, x.astype("int64"), weights.astype("float64"))
    return made


def _weighed(bins, shape, weights):
    """Sums of weights by the number of a bin along each axis, 0 and the last one for those in none."""
    from ._functions import FUNCTIONS
    flat, size = None, 1
    for b, n in zip(bins, shape):
        flat = b if flat is None else flat * (n + 2) + b
        size *= n + 2
    sums = zeros(size, weights.dtype if weights.dtype.kind == "c" else "float64", weights.device)
    if weights.size:
        FUNCTIONS["add"].at(sums, flat.ravel(), weights.astype(sums.dtype).ravel())
    return sums.reshape(tuple(n + 2 for n in shape))[(slice(1, -1),) * len(shape)]


def _bins(x, edges):
    """The number of the bin of each element, from 1: the last bin has both of its edges."""
    return eval("where(x == e[-1], n, b)", x=x, e=edges, n=edges.size - 1, b=digitize(x, edges))


def _check_weights(x, weights):
    weights = arrays_of((x, weights))[1]
    if weights.shape != x.shape:
        raise ValueError(f"weights of shape {tuple(weights.shape)} for elements of shape {tuple(x.shape)}")
    return weights


def histogram(a, /, bins=10, range=None, density=None, weights=None):
    """How many elements fall between the edges, or the sum of their weights, and the edges: `bins` is their number or
    the edges. `density`: over the whole and the bins' widths."""
    a = array_beside(a, bins, weights)
    edges = asarray(histogram_bin_edges(a, bins, range), device=a.device)
    counts = _call("histogram", a, edges)
    if weights is not None:
        weights = _check_weights(a, weights)
        counts = _weighed([_bins(a, edges)], counts.shape, weights).astype(weights.dtype)
    if density:
        counts = eval("c / sum(c) / (e[1:] - e[:-1])", c=1.0 * counts, e=1.0 * edges)
    return counts, edges


def _coordinates(sample, others):
    """Vectors of a list, or the columns of a matrix; a vector has one axis."""
    if isinstance(sample, (list, tuple)) and sample and home_of(sample) is None:
        sample = array_beside(sample, *others).T  # as NumPy reads a list of lists: an axis each
    if isinstance(sample, (list, tuple)):
        return [v.ravel() for v in arrays_of(sample)]
    sample = asarray(sample)
    return [sample] if sample.ndim < 2 else [sample[:, k] for k in _range(sample.shape[1])]


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """How many points fall into the bins of several axes, or the sum of their weights, as float64, and the edges of each
    axis. `sample`: a point in each row, or a list of coordinates; `bins`: a number, or numbers and edges for each axis."""
    points = _coordinates(sample, (bins, weights))
    rank = len(points)
    each = (bins,) * rank if hasattr(bins, "__index__") and not getattr(bins, "ndim", 0) else tuple(bins)
    ranges = (None,) * rank if range is None else tuple(range)
    if len(each) != rank or len(ranges) != rank:
        raise ValueError(f"bins or ranges of {len(each)} and {len(ranges)} axes for points of {rank}")
    if len({v.size for v in points}) > 1:
        raise ValueError("coordinates along each axis are as many as along the others")
    edges = [asarray(histogram_bin_edges(v, b, r), device=v.device) for v, b, r in zip(points, each, ranges)]
    if weights is None:
        names = [f"p{k}" for k in _range(rank)], [f"e{k}" for k in _range(rank)]
        text = f"histogramdd([{', '.join(names[0])}], [{', '.join(names[1])}])[0]"
        counts = eval(text, **dict(zip(names[0], points)), **dict(zip(names[1], edges)))
    else:
        weights = _check_weights(points[0], weights)
        counts = _weighed([_bins(v, e) for v, e in zip(points, edges)], [e.size - 1 for e in edges], weights)
    if density:
        counts = counts / counts.sum()
        for k, e in enumerate(edges):
            counts = counts / (e[1:] - e[:-1]).reshape(tuple(-1 if a == k else 1 for a in _range(rank)))
    return counts, edges


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """histogramdd() of points with two coordinates; `bins` may also be edges for both axes."""
    x, y = array_beside(x, y, bins, weights), array_beside(y, x, bins, weights)
    if x.shape != y.shape:
        raise ValueError(f"coordinates of shapes {tuple(x.shape)} and {tuple(y.shape)}")
    if not hasattr(bins, "__index__") or getattr(bins, "ndim", 0):
        bins = (bins, bins) if len(bins) != 2 else bins
    counts, edges = histogramdd([x.ravel(), y.ravel()], bins, range, density, weights)
    return counts, *edges
