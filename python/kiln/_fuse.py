"""fuse(): record a function of arrays once, and run it as few kernels.

    @kiln.fuse
    def f(x, y):
        return numpy.sqrt(x * x + y * y)

Recording calls the function with nodes in place of arrays. A node takes part in Python's operators, in
NumPy's functions (by __array_ufunc__ and __array_function__) and in kiln's, each of which writes one
statement of an expression (docs/expressions.md). The text is parsed into a graph; later calls run it.
"""
import functools
import math

from . import _kiln
from ._errors import DtypeError
from ._functions import ALIASES, OPERATIONS, PAIRS, REDUCTIONS, tail_of
from ._kernels import _graph
from ._operators import add_operators

_PLAIN = (bool, int, float, complex)

# Linear algebra of expressions, with how many results each function has. Options have their defaults.
_LINALG = {"dot": 1, "inner": 1, "outer": 1, "kron": 1, "matvec": 1, "vecmat": 1, "matmul": 1, "multi_dot": 1,
           "solve": 1, "solve_triangular": 1, "inv": 1, "det": 1, "cholesky": 1, "eigvalsh": 1, "svdvals": 1,
           "matrix_power": 1, "einsum": 1, "slogdet": 2, "qr": 2, "eigh": 2, "lu_factor": 2, "svd": 3, "lu": 3,
           "ldl": 3}
_SUBSCRIPTS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,.-> "
# Functions of expressions that take NumPy's arguments and give one array.
_WRITTEN = {name: name for name in (
    "take", "take_along_axis", "sort", "argsort", "partition", "median", "quantile", "percentile", "nanmedian",
    "nanquantile", "nanpercentile", "lexsort", "searchsorted", "digitize", "isin", "concatenate", "stack", "hstack", "vstack",
    "dstack", "column_stack", "append", "tile", "repeat", "pad", "roll", "rot90", "flip", "fliplr", "flipud", "swapaxes",
    "moveaxis", "squeeze", "diag", "diagonal", "tril", "triu", "diff", "ediff1d", "cumsum", "cumprod", "convolve", "correlate",
    "cross", "ptp", "average", "select", "choose", "delete", "insert", "trace", "atleast_1d", "atleast_2d", "atleast_3d",
    "zeros_like", "ones_like", "full_like", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d", "flatnonzero",
    "argwhere", "extract")}
_WRITTEN["concat"] = "concatenate"
_KNOWN = frozenset(OPERATIONS) | frozenset(ALIASES) | frozenset(PAIRS)


def _literal(value):
    """A number as the language writes it."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if isinstance(value, float):
        if value != value:
            return "nan"
        text = "inf" if value in (float("inf"), float("-inf")) else repr(abs(value))
        return text if repr(value)[0] != "-" else f"(-{text})"
    # A real number leaves the imaginary part beside it as it is; 0 added to -0 would be 0.
    imaginary = f"{_literal(abs(value.imag))}j"
    if math.copysign(1, value.imag) < 0:
        return f"({_literal(value.real)} + (-{imaginary}))"
    if math.copysign(1, value.real) < 0 and value.real == 0:
        return f"(-(0.0 + (-{imaginary})))"
    return f"({_literal(value.real)} + {imaginary})"


def _can_cast(source, target):
    """NumPy's casting rule "same_kind" for names of dtypes."""
    from ._dtypes import as_dtype
    return "buifc".index(as_dtype(source).kind) <= "buifc".index(as_dtype(target).kind)


class _Recorder:
    """The statements of one function, and the facts of its arguments that it asked for. With `narrows`, what
    is written to an array gets its dtype by NumPy's rule "same_kind"."""

    def __init__(self, given=(), narrows=False):
        self.lines = []
        self.asked = set()
        self.given = given  # (position, argument) of those that are inputs
        self.narrows = narrows

    def fact_of(self, text, name):
        """The dtype, ndim or shape of a value: what was recorded so far is run on the arguments at hand, and
        the recording holds for others like them."""
        graph = _graph("; ".join(self.lines + [text]), tuple(f"x{k}" for k, _ in self.given))
        self.asked.update((k, fact) for k, _ in self.given for fact in {"dtype", name})
        return getattr(graph(*(v for _, v in self.given)), name)

    def add(self, text, results=1):
        names = [f"t{len(self.lines)}_{k}" for k in range(results)]
        self.lines.append(f"{', '.join(names)} = {text}")
        nodes = tuple(Node(self, name) for name in names)
        return nodes[0] if results == 1 else nodes

    def text_of(self, value):
        if isinstance(value, Node):
            if value._recorder is not self:
                raise ValueError("a node of another function that fuse() records")
            return value._text
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            if _has_dtype(value):
                from ._dtypes import name_of
                return f"cast({_literal(value.item())}, {name_of(value.dtype)})"
            value = value.item()
        if value is None:
            return "None"
        if not isinstance(value, _PLAIN):
            raise TypeError(f"fuse() cannot record a {type(value).__name__}: only arguments are arrays")
        return _literal(value)


class Node:
    """A value of a function that fuse() records. It has no shape and no elements yet."""

    __hash__ = object.__hash__

    def __init__(self, recorder, text, argument=None, given=None):
        self._recorder = recorder
        self._text = text
        self._argument = argument  # its position, for an argument itself
        self._given = given        # and what it was when the function was recorded
        self._written = False

    def _kiln_node(self, name, args, tail=""):
        texts = ", ".join(self._recorder.text_of(v) for v in args)
        return self._recorder.add(f"{name}({texts}{tail})", 2 if name in PAIRS else 1)

    def _linalg(self, name, arrays, number=0.0, option=False, text=None, axes=None):
        """kiln.linalg's functions, and NumPy's of the same names: a step of its own in the graph."""
        if name not in _LINALG or option or axes is not None:
            raise TypeError(f"fuse() has no linalg.{name}()" + (" with options" if name in _LINALG else ""))
        texts = [self._recorder.text_of(a) for a in arrays]
        if name == "matmul":
            return self._recorder.add(f"{texts[0]} @ {texts[1]}")
        if name == "multi_dot":
            texts = ["[" + ", ".join(texts) + "]"]
        if name == "matrix_power":
            texts.append(str(int(number)))
        if name == "einsum":
            if not isinstance(text, str) or not set(text) <= set(_SUBSCRIPTS):
                raise TypeError("fuse() records einsum() of a string of subscripts and arrays")
            texts.insert(0, f'"{text}"')
        return self._recorder.add(f"{name}({', '.join(texts)})", _LINALG[name])

    def _assign(self, value):
        """Become another value; an array of the arguments is written to when the function is called."""
        if self._argument is None or self._recorder.narrows:
            value = self._in_own_dtype(value)
        self._text = self._recorder.text_of(value)
        self._written = self._argument is not None and not _is_number(self._given)
        return self

    def _in_own_dtype(self, value):
        """What an array that is written to holds of a value."""
        from ._dtypes import name_of
        if not isinstance(value, Node) or self._argument is not None and _is_number(self._given):
            return value
        own, other = name_of(self.dtype), name_of(value.dtype)
        if own == other:
            return value
        if not _can_cast(other, own):
            raise TypeError(f"fuse(): a result of {other} is not cast to {own} by the rule \"same_kind\"")
        return value.astype(own)

    def _update(self, value):
        """What `x += y` makes of x: a number among the arguments stays what it is, for other names of it."""
        return value if self._argument is not None and _is_number(self._given) else self._assign(value)

    def _fill(self, value):
        """Become a value in one's own shape and, for an argument, dtype."""
        text = f"where(True, {self._recorder.text_of(value)}, {self._text})"
        if self._argument is not None:
            from ._dtypes import name_of
            text = f"cast({text}, {name_of(self.dtype)})"
        return self._assign(self._recorder.add(text))

    def _fact(self, name):
        if self._argument is None:
            return self._recorder.fact_of(self._text, name)
        self._recorder.asked.add((self._argument, name))
        return _fact_of(self._given, name)

    dtype, ndim, shape = (property(lambda self, name=name: self._fact(name))
                          for name in ("dtype", "ndim", "shape"))

    # ---- NumPy ----

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, axis=0, dtype=None, keepdims=False,
                        **others):
        name = ufunc.__name__
        if name in ("matmul", "matvec", "vecmat") and method == "__call__" and not others and dtype is None:
            return _into(out if out is None else out[0], self._linalg(name, inputs))
        name = None if name == "vecdot" else name
        reductions = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
                      "logical_and": "all", "logical_or": "any"}
        if others or name is None:
            return NotImplemented
        if method == "reduce" and name in reductions:
            result = self._kiln_node(reductions[name], inputs, tail_of(axis, dtype, keepdims))
        elif method == "__call__" and name in _KNOWN:
            result = self._kiln_node(name, inputs)
            if dtype is not None:
                result = result.astype(dtype)
        else:
            return NotImplemented
        return _into(out if out is None else out[0], result)

    def __array_function__(self, function, types, args, kwargs):
        name = function.__name__
        name = {"amax": "max", "amin": "min", "fix": "trunc"}.get(name, name)
        if name in ("around", "round") and kwargs.pop("decimals", (args + (0,))[1]) == 0:
            name, args = "rint", args[:1]
        method = getattr(_Functions, name, None)
        if method is not None:
            return method(*args, **kwargs)
        if function.__module__.startswith("numpy.linalg") or name in ("dot", "inner", "outer", "kron", "einsum"):
            return self._numpy_linalg(name, args, kwargs)
        if name in REDUCTIONS:
            return _reduce(name, *args, **kwargs)
        if name in _KNOWN and not kwargs:
            return self._kiln_node(name, args)
        if name in _WRITTEN:
            return self._written_call(_WRITTEN[name], args, kwargs)
        raise TypeError(f"fuse() has no numpy.{function.__name__}")

    def _written_call(self, name, args, kwargs):
        """A function that the language has with NumPy's arguments."""
        def text(value):
            if isinstance(value, str):
                return "'" + "".join(c for c in value if c.isalnum() or c == "_") + "'"
            if isinstance(value, (list, tuple)):
                ends = "()" if isinstance(value, tuple) and not any(isinstance(v, Node) for v in value) else "[]"
                return ends[0] + ", ".join(map(text, value)) + ("," if value and ends == "()" else "") + ends[1]
            return self._recorder.text_of(value)
        kwargs = {k: v for k, v in kwargs.items() if type(v).__name__ != "_NoValueType"}
        if name == "select" and "default" in kwargs:
            args += (kwargs.pop("default"),)
        if name in ("sort", "argsort"):  # every sort is stable
            kwargs = {k: v for k, v in kwargs.items() if k not in ("kind", "stable") and v is not None}
        texts = [text(v) for v in args] + [f"{k}={text(v)}" for k, v in kwargs.items()]
        return self._recorder.add(f"{name}({', '.join(texts)})")

    def _numpy_linalg(self, name, args, kwargs):
        if name == "svd" and kwargs.get("full_matrices", True) is False:
            kwargs = {k: v for k, v in kwargs.items() if k != "full_matrices"}
        elif name == "svd":
            raise TypeError("fuse() has linalg.svd() with full_matrices=False")
        if kwargs or name not in _LINALG:
            raise TypeError(f"fuse() has no numpy.linalg.{name}()" + (" with options" if kwargs else ""))
        if name == "einsum":
            return self._linalg(name, args[1:], text=args[0])
        if name == "matrix_power":
            return self._linalg(name, args[:1], number=args[1])
        return self._linalg(name, args[0] if name == "multi_dot" else args)

    # ---- methods ----

    def astype(self, dtype, **_):
        from ._dtypes import name_of
        return self._recorder.add(f"cast({self._text}, {name_of(dtype)})")

    def reshape(self, *shape, order="C"):
        shape = shape[0] if len(shape) == 1 and hasattr(shape[0], "__len__") else shape
        return self._recorder.add(f"reshape({self._text}, {_tuple(shape)})")

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and hasattr(axes[0], "__len__") else axes
        return self._recorder.add(f"transpose({self._text}{', ' + _tuple(axes) if axes else ''})")

    def ravel(self):
        return self._recorder.add(f"ravel({self._text})")

    def copy(self):
        return Node(self._recorder, self._text)

    def __matmul__(self, other):
        return self._linalg("matmul", (self, other)) if _operand(other) else NotImplemented

    def __rmatmul__(self, other):
        return self._linalg("matmul", (other, self)) if _operand(other) else NotImplemented

    def __imatmul__(self, other):
        return self._update(self @ other)

    def dot(self, other):
        return self._linalg("dot", (self, other))

    def clip(self, min=None, max=None):
        return self._kiln_node("clip", (self, min, max))

    def conj(self):
        return self._kiln_node("conjugate", (self,))

    @property
    def T(self):
        return self.transpose()

    @property
    def real(self):
        return self._kiln_node("real", (self,))

    @property
    def imag(self):
        return self._kiln_node("imag", (self,))

    def __getitem__(self, key):
        return self._recorder.add(f"{self._text}[{self._subscript(key)}]")

    def _subscript(self, key):
        """What stands between brackets: values that are recorded and lists of integers are indices."""
        from ._array import subscript
        items = key if isinstance(key, tuple) else (key,)
        return ", ".join(self._recorder.text_of(item) if isinstance(item, Node) else
                         f"[{', '.join(str(k.__index__()) for k in item)}]" if isinstance(item, list) else
                         subscript((item,)) for item in items) or "..."

    def __setitem__(self, key, value):
        if key is not Ellipsis and key != slice(None):
            raise TypeError("fuse() records x[...] = value for whole arrays only")
        self._fill(value)

    def __bool__(self):
        raise TypeError("a value that fuse() records has no truth value: use numpy.where()")

    __int__ = __float__ = __index__ = __iter__ = __len__ = __bool__


def _tuple(numbers):
    return "(" + "".join(f"{n.__index__()}," for n in numbers) + ")"


def _reduce(name, a, axis=None, dtype=None, out=None, keepdims=False, **others):
    others = {k: v for k, v in others.items() if type(v).__name__ != "_NoValueType"}
    if others:
        raise TypeError(f"fuse() has no {name}() with {', '.join(others)}")
    if type(keepdims).__name__ == "_NoValueType":
        keepdims = False
    result = a._kiln_node(name, (a,), tail_of(axis, dtype, keepdims))
    return _into(out, result)


def _into(out, result):
    """The result, or `out` that becomes it."""
    if out is None:
        return result
    if not isinstance(out, Node):
        raise TypeError(f"out is an argument or another value of the function, not a {type(out).__name__}")
    return out._assign(result)


class _Functions:
    """NumPy's functions that are no ufuncs."""

    @staticmethod
    def where(condition, x, y):
        node = next(v for v in (condition, x, y) if isinstance(v, Node))
        return node._kiln_node("where", (condition, x, y))

    @staticmethod
    def clip(a, a_min=None, a_max=None, out=None):
        node = next(v for v in (a, a_min, a_max) if isinstance(v, Node))
        return node._kiln_node("clip", (a, a_min, a_max))

    @staticmethod
    def transpose(a, axes=None):
        return a.transpose(*(axes or ()))

    @staticmethod
    def reshape(a, shape, order="C"):
        return a.reshape(shape)

    @staticmethod
    def ravel(a, order="C"):
        return a.ravel()

    @staticmethod
    def broadcast_to(array, shape, subok=False):
        return array._recorder.add(f"broadcast_to({array._text}, {_tuple(shape)})")

    @staticmethod
    def expand_dims(a, axis):
        return a._recorder.add(f"expand_dims({a._text}, {axis.__index__()})")

    @staticmethod
    def flip(m, axis):
        return m._recorder.add(f"flip({m._text}, {axis.__index__()})")

    @staticmethod
    def sinc(x):
        return x._kiln_node("sinc", (x,))

    @staticmethod
    def real(val):
        return val.real

    @staticmethod
    def imag(val):
        return val.imag

    @staticmethod
    def angle(z):
        return z._kiln_node("angle", (z,))

    @staticmethod
    def copyto(dst, src):
        dst._fill(dst._in_own_dtype(src))


def _operand(value):
    return isinstance(value, (Node,) + _PLAIN) or getattr(value, "ndim", 1) == 0


add_operators(Node, lambda name, args: next(a for a in args if isinstance(a, Node))
              ._kiln_node(name, args),
              lambda target, name, other: target._update(target._kiln_node(name, (target, other))),
              _operand)
for _name in REDUCTIONS:
    setattr(Node, _name, functools.partialmethod(
        lambda self, name, *args, **kwargs: _reduce(name, self, *args, **kwargs), _name))


def _fact_of(value, name):
    """The dtype, ndim or shape of an argument; those of Python's numbers are NumPy's for them."""
    if type(value) not in _PLAIN:
        return getattr(value, name, None)
    if name != "dtype":
        return 0 if name == "ndim" else ()
    from ._dtypes import as_dtype
    return as_dtype(type(value))


def _has_dtype(value):
    """Whether a number has a dtype of its own, as NumPy's have: it is not weak in a function."""
    return type(value) not in _PLAIN and hasattr(value, "dtype") and _is_number(value)


def _is_number(value):
    return isinstance(value, _PLAIN) or (not getattr(value, "shape", True) and hasattr(value, "item")
                                         and type(value).__module__ == "numpy")


def _is_static(value):
    """Whether an argument decides what is recorded: everything but arrays and numbers."""
    return value is None or isinstance(value, (bool, str, bytes, type, tuple, list))


def _argument(position, value):
    """The text of an argument."""
    if not _has_dtype(value):
        return f"x{position}"
    from ._dtypes import name_of
    return f"cast(x{position}, {name_of(value.dtype)})"


class Fusion:
    """A function that was given to fuse()."""

    def __init__(self, function, name):
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name
        self._recorded = {}
        self._asked = []  # facts of arguments that recordings depend on: (position, name)

    def _key(self, args, static):
        return (len(args), tuple((k, type(v), repr(v)) for k, v in static.items()),
                tuple(str(_fact_of(args[k], name)) for k, name in self._asked if k < len(args)),
                tuple((k, str(v.dtype)) for k, v in enumerate(args) if _has_dtype(v)))

    def _record(self, args, static, narrows=False):
        """(graph, positions of its inputs, positions written, whether it returns a tuple)"""
        recorder = _Recorder([(k, v) for k, v in enumerate(args) if k not in static], narrows)
        nodes = [v if k in static else Node(recorder, _argument(k, v), k, v)
                 for k, v in enumerate(args)]
        returned = self._function(*nodes)
        self._asked += sorted(recorder.asked.difference(self._asked))
        results = returned if isinstance(returned, (tuple, list)) else \
            () if returned is None else (returned,)
        written = [k for k, v in enumerate(nodes) if isinstance(v, Node) and v._written]
        texts = [recorder.text_of(v) for v in results] + [nodes[k]._text for k in written]
        inputs = [k for k in range(len(args)) if k not in static]
        # An argument that is returned after it was written to is itself the result.
        same = tuple(next((k for k in written if v is nodes[k]), None) for v in results)
        if not texts:
            return None, inputs, written, same, type(returned)
        graph = _graph("; ".join(recorder.lines + [", ".join(texts)]),
                       tuple(f"x{k}" for k in inputs), self._name or self._function.__name__)
        return graph, inputs, written, same, type(returned)

    def clear_cache(self):
        """Forget what was recorded: the function is recorded anew by its next call."""
        self._recorded.clear()

    def __call__(self, *args):
        if any(hasattr(v, "_kiln_node") for v in args):
            return self._function(*args)
        static = {k: v for k, v in enumerate(args) if _is_static(v)}
        recorded = self._recorded.get(self._key(args, static))
        if recorded is None:
            recorded = self._recording(args, static)
        if recorded[2] and _shares(args, recorded[2]):
            return self._function(*args)  # What it writes it may read again by another name.
        try:
            return self._run(args, *recorded)
        except DtypeError:
            if not recorded[2]:
                raise
        return self._run(args, *self._recording(args, static, narrows=True))

    def _recording(self, args, static, narrows=False):
        """A new recording, kept for all arguments like these in what it asked for."""
        recorded = self._record(args, static, narrows)
        self._recorded[self._key(args, static)] = recorded
        return recorded

    def _run(self, args, graph, inputs, written, same, kind):
        count = len(same)
        if graph is None:
            return None if kind is type(None) else kind()
        if not written:
            results = graph(*(args[k] for k in inputs))
        else:
            out = (None,) * count + tuple(args[k] for k in written)
            results = graph(*(args[k] for k in inputs), out=out if len(out) > 1 else out[0])
        results = results if isinstance(results, tuple) else (results,)
        if len(results) > count + len(written):  # of a length that only the device knew, which is behind the values
            if len(results) != 2 or count != 1:
                raise TypeError("fuse(): an array whose length only the device knows is a function's only result")
            results = (results[0][:int(results[1])],)
        results = tuple(r if s is None else args[s] for r, s in zip(results[:count], same))
        if kind is type(None):
            return None
        return results[0] if not issubclass(kind, (tuple, list)) else kind(results)


def _shares(args, written):
    """Whether an array that is written to may have a byte in common with another argument."""
    extents = {k: e for k, e in enumerate(map(_kiln._extent, args)) if e is not None}
    return any(k != w and low < extents[w][1] and extents[w][0] < high
               for w in written if w in extents for k, (low, high) in extents.items())


def fuse(*args, kernel_name=None):
    """Decorate a function of arrays; as cupy.fuse, with or without brackets."""
    if len(args) == 1 and callable(args[0]) and kernel_name is None:
        return Fusion(args[0], None)
    if args and kernel_name is None:
        kernel_name = args[0]
    return lambda function: Fusion(function, kernel_name)
