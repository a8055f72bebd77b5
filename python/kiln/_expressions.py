"""Functions with NumPy's names that the expression language has, and that no other file of this package defines.

A call becomes the text of an expression: arrays get names, and everything else is written as it is. So the
language computes these functions, on arrays of any library, and reports their errors; docs/expressions.md lists
them. Where only the device knows how long a result is, the call waits for the length and returns a view of it."""
from ._dtypes import name_of
from ._kernels import _bool_name, _graph
from ._array import arrays_of, asarray, broadcast_to, home_of

#: How many of a function's first arguments are arrays, in which lists of numbers may stand for them, and the
#: names of those behind them which the language knows by their places alone.
FUNCTIONS = {
    "allclose": (2, ""), "append": (2, ""), "around": (1, "decimals"), "atleast_1d": (1, ""), "atleast_2d": (1, ""),
    "atleast_3d": (1, ""), "average": (1, ""), "block": (0, ""), "choose": (1, "choices"), "convolve": (2, ""),
    "column_stack": (0, ""), "cond": (1, "p"), "copy": (1, ""), "corrcoef": (1, ""), "cov": (1, ""), "correlate": (2, ""), "cross": (2, ""), "delete": (1, "obj"), "diag": (1, "k"), "diagflat": (1, "k"),
    "diagonal": (1, "offset axis1 axis2"), "dstack": (0, ""), "ediff1d": (1, ""), "expm": (1, ""), "fix": (1, ""), "fliplr": (1, ""),
    "flipud": (1, ""), "geomspace": (0, ""), "hstack": (0, ""),
    "identity": (0, ""), "in1d": (2, ""), "indices": (0, ""), "insert": (1, "obj values"), "interp": (3, ""), "intersect1d": (2, ""), "isclose": (2, ""), "nan_to_num": (1, ""), "nancumprod": (1, "axis"), "nancumsum": (1, "axis"),
    "log_softmax": (1, ""), "nanmedian": (1, "axis"), "nanpercentile": (1, "q axis"),
    "nanquantile": (1, "q axis"), "logspace": (0, ""), "pad": (1, "pad_width"), "ptp": (1, ""), "ravel": (1, ""),
    "rot90": (1, "k axes"), "select": (0, "condlist choicelist default"), "setdiff1d": (2, ""),
    "setxor1d": (2, ""), "sliding_window_view": (1, "window_shape"), "softmax": (1, ""),
    "swapaxes": (1, "axis1 axis2"), "trace": (1, "offset axis1 axis2"), "trapezoid": (1, ""), "tri": (0, "N M k"), "union1d": (2, ""), "vdot": (2, ""), "vstack": (0, ""),
}
#: Functions whose result's length is known to the device alone.
COUNTED = ("intersect1d", "setdiff1d", "setxor1d", "union1d")


class _Call:
    """The text of one call, and the arrays that it names."""

    def __init__(self):
        self.arrays, self.names = [], []

    def array(self, value):
        name = f"a{len(self.arrays)}"
        self.arrays.append(value)
        self.names.append(_bool_name(name, value))
        return name

    def text(self, value):
        if value is None or isinstance(value, (bool, int, float, complex)):
            return repr(value)
        if isinstance(value, str):
            if "'" in value or "\\" in value:
                raise ValueError(f"{value!r} is no word of the expression language")
            return f"'{value}'"
        if isinstance(value, (list, tuple)):
            ends = "()" if isinstance(value, tuple) else "[]"
            inner = ", ".join(map(self.text, value)) + ("," if value and isinstance(value, tuple) else "")
            return ends[0] + inner + ends[1]
        if isinstance(value, type):  # NumPy's scalar types have the attributes of arrays
            return name_of(value)
        if getattr(value, "ndim", 0) == 0 and hasattr(value, "__index__"):
            return repr(value.__index__())
        if hasattr(value, "ndim") or hasattr(value, "__dlpack__"):
            return self.array(value)
        return name_of(value)


#: NumPy's names of the arrays that these functions begin with.
NAMES = {
    "allclose": "a b", "append": "arr values", "around": "a", "average": "a", "choose": "a", "convolve": "a v", "corrcoef": "x",
    "correlate": "a v", "cov": "m", "cross": "a b", "delete": "arr", "diag": "v", "diagflat": "v", "diagonal": "a",
    "ediff1d": "ary", "fliplr": "m", "flipud": "m", "insert": "arr", "interp": "x xp fp", "isclose": "a b", "nan_to_num": "x",
    "nancumprod": "a", "nancumsum": "a", "ptp": "a", "ravel": "a", "rot90": "m", "sliding_window_view": "x", "swapaxes": "a",
    "trace": "a", "trapezoid": "y", "vdot": "a b", "setdiff1d": "ar1 ar2", "setxor1d": "ar1 ar2",
    "union1d": "ar1 ar2",
}


def _in_place(args, arrays, keywords, names):
    """Arguments in their places: those that follow the arrays and have been given by name stand there, too."""
    rest = list(args[arrays:])
    places = [k for k, name in enumerate(names) if name in keywords]
    for k in range(len(rest), max(places, default=-1) + 1):
        rest.append(keywords.pop(names[k], None))
    return rest


def _widths(widths):
    """Of pad(): the language has the pairs of all axes one behind the other."""
    if hasattr(widths, "tolist"):
        widths = widths.tolist()
    if isinstance(widths, (list, tuple)):
        return tuple(w for pair in widths for w in (pair if isinstance(pair, (list, tuple)) else (pair,)))
    return widths


def _weights(x, weights, axis):
    """Weights of average(): those of one axis are the same along the others."""
    if not isinstance(weights, (list, tuple)) and (axis is None or getattr(x, "ndim", 0) == getattr(weights, "ndim", 0)):
        return weights
    x, weights = arrays_of((x, weights))
    if axis is None or weights.ndim != 1 or x.ndim < 2:
        return weights
    shape = [1] * x.ndim
    shape[axis] = weights.size
    return broadcast_to(weights.reshape(tuple(shape)), x.shape)


def _node_of(value):
    """A node of fuse() among arguments and lists of them, or None."""
    if isinstance(value, (list, tuple)):
        return next((node for node in map(_node_of, value) if node is not None), None)
    return value if hasattr(value, "_written_call") else None


def _function(name, arrays, names):
    first_names = NAMES.get(name, "").split()

    def function(*args, out=None, stream=None, **keywords):
        if keywords:
            for first in first_names[len(args):]:
                if first not in keywords:
                    break
                args += (keywords.pop(first),)
        node = _node_of((*args, *keywords.values()))
        if node is not None:
            return node.__array_function__(function, (), args, keywords)
        call = _Call()
        rest = _in_place(args, arrays, keywords, names)
        if name == "pad" and rest:
            rest[0] = _widths(rest[0])
        if name == "append" and len(args) > 1:  # NumPy makes arrays of both before it joins them
            args = [asarray(v, device=home_of(args)) for v in args[:2]] + list(args[2:])
        if name == "average" and args and keywords.get("weights") is not None:
            keywords["weights"] = _weights(args[0], keywords["weights"], keywords.get("axis"))
        if keywords.get("dtype", 0) is None:
            del keywords["dtype"]
        if name in ("nanpercentile", "nanquantile") and rest:  # numbers, which the language checks
            rest[0] = rest[0].tolist() if hasattr(rest[0], "tolist") else rest[0]
        listed = [k for k, v in enumerate(args[:arrays]) if isinstance(v, (list, tuple))]
        home = home_of((*args, *keywords.values())) if listed else None
        texts = [call.array(asarray(v, device=home) if k in listed else v) for k, v in enumerate(args[:arrays])]
        texts += [call.text(v) for v in rest]
        texts += [f"{key}={call.text(v)}" for key, v in keywords.items()]
        results = _graph(f"{name}({', '.join(texts)})", tuple(call.names))
        if name in COUNTED:
            values, count = results(*call.arrays, stream=stream)
            return values[:int(count)]
        return results(*call.arrays, out=out, stream=stream)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}() of expressions, with NumPy's arguments: see docs/expressions.md."
    return function


MADE = {name: _function(name, arrays, names.split()) for name, (arrays, names) in FUNCTIONS.items()}


def _depth(value):
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _joined(value, depth, rank):
    """An array of nested lists: the innermost are put together along the last axis."""
    from ._standard import concat
    if depth == 0:
        return value[(None,) * (rank - value.ndim)]
    return concat([_joined(v, depth - 1, rank) for v in value], axis=-depth)


def _leaves(value):
    return [leaf for v in value for leaf in _leaves(v)] if isinstance(value, list) else [value]


def _replaced(value, leaves):
    return [_replaced(v, leaves) for v in value] if isinstance(value, list) else next(leaves)


def block(arrays, *, out=None, stream=None):
    """NumPy's block: nested lists of arrays, the innermost side by side, of any depth."""
    depth = _depth(arrays)
    if depth <= 2 and depth > 0:
        return _function("block", 0, ())(arrays, out=out, stream=stream)

    def even(value, left):
        if isinstance(value, list) != (left > 0) or isinstance(value, list) and not value:
            raise ValueError("lists of block() have one depth, and none is empty")
        return all(even(v, left - 1) for v in value) if left else True
    even(arrays, depth)
    leaves = arrays_of(_leaves(arrays))
    made = _joined(_replaced(arrays, iter(leaves)), depth, max(depth, *(a.ndim for a in leaves)))
    if out is None:
        return made if depth else made.copy()
    out[...] = made
    return out


MADE["block"] = block
