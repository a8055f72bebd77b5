"""The functions of kiln's tables, by NumPy's names: operations, reductions and scans.

Each is the graph of a short expression, so that it takes arrays of any library and numbers. Within a
function that fuse() records, its arguments are nodes, and it records itself."""
from . import _kiln
from ._dtypes import name_of
from ._kernels import _graph

OPERATIONS, REDUCTIONS, SCANS = (tuple(t) for t in _kiln._tables())

#: Other names of operations, as the expression language and the array API have them.
ALIASES = {
    "true_divide": "divide", "mod": "remainder", "abs": "absolute", "pow": "power",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "rad2deg": "degrees",
    "deg2rad": "radians", "bitwise_invert": "invert", "bitwise_not": "invert",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "conj": "conjugate",
}
#: Functions of two results.
PAIRS = ("divmod", "frexp", "modf")

_LETTERS = "abcdefgh"
_kept = {}  # graphs of one function, by its name, its keywords and its arguments' classes


def _is_node(value):
    return hasattr(value, "_kiln_node")


def call(name, args, out=None, stream=None, tail=""):
    """One function of the expression language on arrays, numbers and None."""
    results = _kept.get((name, tail, *map(type, args)))
    if results is None:
        complete = True
        for value in args:
            if _is_node(value):
                return value._kiln_node(name, args, tail)
            complete = complete and value is not None and value.__class__ not in (list, tuple)
        if any(value.__class__ in (list, tuple) for value in args):
            from ._array import asarray, home_of
            home = home_of([v for v in args if v is not None])
            args = [asarray(v, device=home) if v.__class__ in (list, tuple) else v for v in args]
        names = iter(_LETTERS)
        text = ", ".join("None" if v is None else next(names) for v in args)
        given = args if complete else [v for v in args if v is not None]
        results = _graph(f"{name}({text}{tail})", tuple(_LETTERS[:len(given)]))
        if complete:  # these classes need no more than the graph
            if len(_kept) >= 4096:
                _kept.clear()
            _kept[name, tail, *map(type, args)] = results
        args = given
    if out is None and stream is None:
        return results(*args)
    return results(*args, out=out, stream=stream)


def _operation(name, target):
    def function(*args, out=None, stream=None):
        return call(target, args, out, stream)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x, ...): NumPy's {target}, see docs/operations.md."
    return function


def tail_of(axis, dtype, keepdims):
    """The keywords of a reduction, as text."""
    tail = ""
    if axis is not None:
        axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
        numbers = "".join(f"{a.__index__()}," for a in axes)
        tail += f", axis=({numbers})"
    if dtype is not None:
        tail += f", dtype={name_of(dtype)}"
    if keepdims:
        tail += ", keepdims=True"
    return tail


def _reduce_where(name, x, tail, out, stream, where, initial):
    """A reduction of the elements where a mask is true, or one that begins with a value."""
    from ._array import arrays_of
    from ._kernels import eval
    if _is_node(x):
        raise TypeError(f"{name}() of a recorded value takes no where and no initial: write where(mask, x, value)")
    arrays = {} if where is None or where is True else dict(zip("xm", arrays_of((x, where))))
    if arrays:
        arrays["m"] = arrays["m"].astype("bool", copy=False)
        tail += ", where=m"
    if initial is not None:
        tail += f", initial={initial.item() if hasattr(initial, 'item') else initial!r}"
    return eval(f"{name}(x{tail})", out=out, stream=stream, **(arrays or {"x": x}))


def _reduction(name):
    def function(x, axis=None, dtype=None, out=None, keepdims=False, *, where=None, initial=None, stream=None):
        if where is not None or initial is not None:
            return _reduce_where(name, x, tail_of(axis, dtype, keepdims), out, stream, where, initial)
        if not isinstance(axis, (int, type(None))) and len(tuple(axis)) == 0:  # each element is reduced by itself
            from ._array import asarray
            x = (x if _is_node(x) else asarray(x))[..., None]
            return call(name, (x,), out, stream, tail_of(-1, dtype, False))
        return call(name, (x,), out, stream, tail_of(axis, dtype, keepdims))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x, axis, dtype, out, keepdims): see docs/reductions.md."
    return function


def clip(x, min=None, max=None, out=None, *, stream=None):
    """clip(x, min, max): NumPy's clip, see docs/operations.md."""
    if min is not None or max is not None:
        return call("clip", (x, min, max), out, stream)
    if _is_node(x):
        return x
    from ._array import asarray
    if out is None:
        return asarray(x, copy=True)
    out[...] = x
    return out


def where(*args, out=None, stream=None):
    """where(condition, x, y): NumPy's where; of a condition alone nonzero()."""
    if len(args) == 1 and not _is_node(args[0]):
        from ._standard import nonzero
        return nonzero(*args)
    return call("where", args, out, stream)


def round(*args, out=None, stream=None):
    """round(x, decimals=0): NumPy's round."""
    if len(args) == 2 and not _is_node(args[0]):
        from ._expressions import MADE
        return MADE["around"](*args, out=out, stream=stream)
    return call("round", args, out, stream)


def functions():
    """All functions by their names."""
    made = {name: _operation(name, name) for name in OPERATIONS + PAIRS}
    made |= {name: _operation(name, target) for name, target in ALIASES.items()}
    made |= {name: _reduction(name) for name in REDUCTIONS}
    made["amax"], made["amin"], made["clip"] = made["max"], made["min"], clip
    made["where"], made["round"] = where, round
    return made


#: All of them; kiln/_sorting.py gives some of them NumPy's `at`.
FUNCTIONS = functions()
