"""kiln.ndarray, for those who use no other library of arrays: NumPy's names and semantics."""
from . import _functions, _kiln
from ._dtypes import DTYPES, OF_ML_DTYPES, as_dtype, name_of
from ._operators import add_operators

newaxis = None


def subscript(key, arrays=None):
    """What stands between brackets, as kiln reads it. Index arrays are added to `arrays`, if that is a list,
    and stand there as i0, i1, ..."""
    items = key if isinstance(key, tuple) else (key,)
    texts = []
    for item in items:
        if item is None:
            texts.append("None")
        elif item is Ellipsis:
            texts.append("...")
        elif isinstance(item, slice):
            parts = ["" if p is None else str(p.__index__())
                     for p in (item.start, item.stop, item.step)]
            texts.append(":".join(parts if item.step is not None else parts[:2]))
        elif hasattr(item, "__index__") and not isinstance(item, bool) and not getattr(item, "ndim", 0):
            texts.append(str(item.__index__()))
        elif arrays is not None and (isinstance(item, list) or getattr(item, "ndim", 0)):
            texts.append(f"i{len(arrays)}")
            arrays.append(item)
        else:
            raise IndexError(f"kiln's arrays are indexed by integers, integer arrays, slices, ... and None, "
                             f"not by a {type(item).__name__}")
    return ", ".join(texts) if texts else "..."


def mask_of(key):
    """An array of bool between brackets, of whatever library, or a list of them as one; else None."""
    if isinstance(key, _kiln.Array):
        return key if key.dtype.kind == "b" and key.ndim else None
    if isinstance(key, list):
        leaf = key
        while isinstance(leaf, list) and leaf:
            leaf = leaf[0]
        if isinstance(leaf, bool):
            key = asarray(key, device="cpu")
    return key if getattr(key, "ndim", 0) and str(getattr(key, "dtype", "")) == "bool" else None


def _truth(key):
    """What stands between brackets, where that is one bool or an array of bool without axes; else None."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    one = isinstance(key, bool) or getattr(key, "ndim", 1) == 0 and str(getattr(key, "dtype", "")) == "bool"
    return bool(key) if one else None


def normal_axis(axis, rank):
    """An axis counted from the first one."""
    if not -rank <= axis < rank:
        from ._errors import AxisError
        raise AxisError(f"axis {axis} is out of range for {rank} axes")
    return axis % rank


def normal_axes(axes, rank):
    """One axis or several, counted from the first one, each named once."""
    axes = [normal_axis(a, rank) for a in ((axes,) if hasattr(axes, "__index__") else axes)]
    if len(set(axes)) != len(axes):
        from ._errors import AxisError
        raise AxisError(f"an axis is named twice in {tuple(axes)}")
    return axes


def _check_mask(mask, axis, shape):
    """A mask has the extents of its axes; NumPy and the array API also take 0 for each of them."""
    extents = tuple(shape[axis:axis + mask.ndim])
    if mask.shape == extents:
        return
    if len(extents) != mask.ndim or any(m not in (0, n) for m, n in zip(mask.shape, extents)):
        raise IndexError(f"a mask of shape {tuple(mask.shape)} does not fit the axes {axis} to "
                         f"{axis + mask.ndim - 1} of an array of shape {tuple(shape)}")


def index_arrays(device, arrays):
    """Index arrays on a device; they are of integers."""
    made = [asarray(i, device=device) for i in arrays]
    if len(made) == 1 and made[0].dtype.kind in "iu":
        return made
    for i in made:
        if i.dtype.kind not in "iu" and i.size:
            raise IndexError(f"index arrays are of integers, not of {i.dtype}")
    return [i if i.size else i.astype("int64", copy=False) for i in made]


def _axes_of(item):
    """How many axes a subscript is for."""
    if item is None or item is Ellipsis:
        return 0
    mask = mask_of(item)
    return 1 if mask is None else mask.ndim


def _without_masks(key, shape, device):
    """Subscripts of an array of that shape in which each mask has become the index arrays of its true elements."""
    items = key if isinstance(key, tuple) else (key,)
    axis, found = 0, []
    for k, item in enumerate(items):
        if item is Ellipsis:
            axis = len(shape) - sum(map(_axes_of, items[k + 1:]))
        mask = mask_of(item)
        if mask is not None:
            _check_mask(mask, axis, shape)
        found.extend((item,) if mask is None else
                     _kiln.chosen("nonzero", asarray(mask, device=device), None))
        axis += _axes_of(item)
    return tuple(found)


#: Ways to change elements at indices, by kiln_scatter, and indices out of range, by kiln_index_mode.
COMBINATIONS = {"set": 0, "add": 1, "multiply": 2, "minimum": 3, "maximum": 4}
MODES = {"raise": 0, "wrap": 1, "clip": 2}


#: Versions of the array API, of which the last has all names of those before.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class ndarray(_kiln.Array):
    """An array of kiln's, on the cpu or on a GPU. Its views share its memory."""

    __slots__ = ()
    __hash__ = None
    __array_priority__ = 100

    # ---- facts ----

    @property
    def dtype(self):
        return DTYPES[self._dtype_name]

    @property
    def device(self):
        return self._device_name

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.size * self.itemsize

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self):
        return f"kiln.array({_kiln.text(self)}, dtype={self._dtype_name}, device={self.device!r})"

    def __str__(self):
        return _kiln.text(self)

    # ---- views and copies ----

    def __getitem__(self, key):
        if key.__class__ is int:
            element = _kiln.selected(self, key)
            if element is not None:
                return element
        if isinstance(key, (int, slice)) and not isinstance(key, bool):
            return _kiln.view(self, subscript(key))
        if _kiln.indexes(self, key) and key.ndim:
            return _functions._graph("x[i0]", ("x", "i0"))(self, key)
        mask = mask_of(key)
        if mask is not None:
            _check_mask(mask, 0, self.shape)
            if 0 in mask.shape:
                return empty((0, *self.shape[mask.ndim:]), self.dtype, self.device)
            return _kiln.chosen("compress", self, asarray(mask, device=self.device))[0]
        truth = _truth(key)
        if truth is not None:  # an axis of one element, or of none
            return self[None].copy() if truth else self[None][:0].copy()
        indices = []
        text = subscript(_without_masks(key, self.shape, self.device), indices)
        if not indices:
            return _kiln.view(self, text)
        indices = index_arrays(self.device, indices)
        names = ("x", *(f"i{k}" for k in range(len(indices))))
        return _functions._graph(f"x[{text}]", names)(self, *indices)

    def __setitem__(self, key, value):
        mask = mask_of(key)
        if mask is not None and mask.ndim == self.ndim:
            _check_mask(mask, 0, self.shape)
            if 0 not in mask.shape:
                self._place(asarray(mask, device=self.device), value)
            return
        truth = _truth(key)
        if truth is not None:
            _kiln.assign(self[None] if truth else self[None][:0], asarray(value, device=self.device))
            return
        indices = []
        text = subscript(_without_masks(key, self.shape, self.device), indices)
        if indices:
            self._scatter(key, value, "set")
            return
        target = _kiln.view(self, text)
        if isinstance(value, (bool, int, float)):
            _kiln.assign(target, value)
        else:
            _kiln.assign(target, asarray(value, device=self.device))

    def _scatter(self, key, value, what, fast=False):
        items = _without_masks(key, self.shape, self.device)
        lists = [isinstance(item, list) or getattr(item, "ndim", 0) for item in items]
        arrays = iter(index_arrays(self.device, (i for i, is_list in zip(items, lists) if is_list)))
        items = tuple(next(arrays) if is_list else item for item, is_list in zip(items, lists))
        _kiln.scatter(self, items, asarray(value, device=self.device), COMBINATIONS[what], 0, fast)

    def _place(self, mask, value):
        values = asarray(value, device=self.device)
        if values.dtype != self.dtype:
            values = values.astype(self.dtype)
        if values.size != 1:
            count = NUMPY["count_nonzero"](mask).item()
            if values.ndim != 1 or values.size != count:
                raise ValueError(f"values of shape {values.shape} for {count} elements that a mask chooses")
            if count == 0:
                return
        _kiln.place(self, mask, values)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def reshape(self, *shape, copy=None):
        shape = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        result = _kiln.shaped("reshape", self, shape)
        if copy is False and result._address != self._address:
            raise ValueError("a reshape of these strides is a copy")
        return result.copy() if copy and result._address == self._address else result

    def ravel(self):
        return self.reshape(-1)

    def flatten(self):
        return self.reshape(-1, copy=True)

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
        return _kiln.transpose(self, axes or None)

    @property
    def T(self):
        return _kiln.transpose(self, None)

    @property
    def mT(self):
        if self.ndim < 2:
            raise ValueError("a matrix transpose needs two axes")
        return _kiln.transpose(self, tuple(range(self.ndim - 2)) + (self.ndim - 1, self.ndim - 2))

    def copy(self):
        return _kiln.converted(self, None)

    def astype(self, dtype, *, copy=True):
        if not copy and self.dtype == as_dtype(dtype):
            return self
        return _kiln.converted(self, name_of(dtype))

    def to_device(self, device, /, *, stream=None):
        return asarray(self, device=device)

    @property
    def real(self):
        return _functions.call("real", (self,))

    @property
    def imag(self):
        return _functions.call("imag", (self,))

    def conj(self):
        return _functions.call("conjugate", (self,))

    def clip(self, min=None, max=None):
        return NUMPY["clip"](self, min, max)

    # ---- NumPy's methods that are functions of the package ----

    def round(self, decimals=0):
        return NUMPY["round"](self, decimals) if decimals else NUMPY["round"](self)

    def cumsum(self, axis=None, dtype=None, out=None):
        return _of_package("cumsum")(self, axis, dtype, out)

    def cumprod(self, axis=None, dtype=None, out=None):
        return _of_package("cumprod")(self, axis, dtype, out)

    def dot(self, other):
        return _of_package("dot")(self, other)

    def trace(self, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return _of_package("trace")(self, offset, axis1, axis2, dtype, out)

    def diagonal(self, offset=0, axis1=0, axis2=1):
        return _of_package("diagonal")(self, offset, axis1, axis2)

    def repeat(self, repeats, axis=None):
        return _of_package("repeat")(self, repeats, axis=axis)

    def take(self, indices, axis=None, *, mode="raise"):
        return _of_package("take")(self, indices, axis, mode=mode)

    def swapaxes(self, axis1, axis2):
        return _of_package("swapaxes")(self, axis1, axis2)

    def squeeze(self, axis=None):
        return squeeze(self, axis)

    def nonzero(self):
        return _of_package("nonzero")(self)

    def compress(self, condition, axis=None):
        return _of_package("compress")(condition, self, axis)

    # ---- orders ----

    def sort(self, axis=-1, *, descending=False, stable=True):
        from ._sorting import sort
        _kiln.assign(self, sort(self, axis, descending=descending))

    def argsort(self, axis=-1, *, descending=False, stable=True):
        from ._sorting import argsort
        return argsort(self, axis, descending=descending)

    # ---- elements ----

    def item(self, *index):
        return _kiln.element(self[index] if index else self)

    def tolist(self):
        host = _kiln.to_host(self)
        if self._dtype_name in ("float16", "complex64", "complex128", *OF_ML_DTYPES):  # not memoryview's
            return self.item() if self.ndim == 0 else [row.tolist() for row in host]
        return memoryview(host).tolist()

    def __bool__(self):
        return bool(self._one())

    def __int__(self):
        return int(self._one())

    def __float__(self):
        return float(self._one())

    def __complex__(self):
        return complex(self._one())

    def __index__(self):
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only an integer array without axes is an index")
        return self.item()

    def _one(self):
        if self.size != 1:
            raise ValueError("an array of several elements has no single value: use any() or all()")
        return self.item()

    # ---- NumPy and the array API ----

    def __array__(self, dtype=None, copy=None):
        from ._kinds import _numpy_result
        if copy is False and self.device != "cpu":
            raise ValueError("an array on a GPU becomes NumPy's by a copy")
        result = _numpy_result(self if self.device == "cpu" else _kiln.to_host(self))
        if dtype is not None and result.dtype != dtype:
            return result.astype(dtype)
        return result.copy() if copy else result

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        reductions = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
                      "logical_and": "all", "logical_or": "any"}
        name = ufunc.__name__
        inputs = tuple(asarray(v) if _is_numpy(v) else v for v in inputs)
        out = None if out is None else out if len(out) > 1 else out[0]
        if method == "__call__" and not keywords and name in NUMPY:
            return _functions.call(name, inputs, out)
        if method == "__call__" and not keywords and out is None and name in PRODUCTS:
            return PRODUCTS[name](*inputs)
        if method == "at" and out is None and not keywords and name in COMBINATIONS and inputs[0] is self:
            self._scatter(inputs[1], inputs[2], name)
            return None
        if method == "reduce" and name in reductions:
            axis = keywords.pop("axis", 0)
            return NUMPY[reductions[name]](*inputs, axis=axis, out=out, **keywords)
        return NotImplemented

    def __array_namespace__(self, *, api_version=None):
        import kiln
        if api_version is not None and api_version not in API_VERSIONS:
            raise ValueError(f"kiln knows the array API's versions {', '.join(API_VERSIONS)}, not {api_version!r}")
        return kiln


PRODUCTS = {}  # NumPy's ufuncs of linear algebra, by kiln/linalg.py


def _of_package(name):
    import kiln
    return getattr(kiln, name)


def _is_numpy(value):
    return type(value).__module__ == "numpy"


def _operand(value):
    return isinstance(value, (bool, int, float, complex)) or hasattr(value, "__dlpack__") or \
        _is_numpy(value)


def _assign(target, name, other):
    result = _functions.call(name, (target, other))
    if result.shape != target.shape:
        raise ValueError(f"a result of shape {result.shape} does not fit an array of "
                         f"{target.shape}")
    _kiln.assign(target, result)
    return target


add_operators(ndarray, _functions.call, _assign, _operand)
NUMPY = _functions.FUNCTIONS


def _method(name):
    function = NUMPY[name]

    def method(self, axis=None, dtype=None, out=None, keepdims=False, **more):
        if more:
            return _of_package(name)(self, axis, dtype, out, keepdims, **more)
        return function(self, axis, dtype, out, keepdims)
    method.__name__ = name
    method.__doc__ = function.__doc__
    return method


for _name in _functions.REDUCTIONS:
    setattr(ndarray, _name, _method(_name))


# ---- creation --------------------------------------------------------------------------------

def empty(shape, dtype=None, device=None):
    return _kiln.empty(shape, "float64" if dtype is None else name_of(dtype), device)


def full(shape, fill_value, dtype=None, device=None):
    if dtype is None:
        dtype = fill_value.dtype if hasattr(fill_value, "dtype") else type(fill_value)
    made = empty(shape, dtype, device)
    if isinstance(fill_value, (int, float)) and (abs(fill_value) <= 2**53 or fill_value != fill_value):
        _kiln.assign(made, fill_value)
    else:
        made[...] = asarray(fill_value, dtype=dtype, device=device)
    return made


def zeros(shape, dtype=None, device=None):
    return full(shape, 0, "float64" if dtype is None else dtype, device)


def ones(shape, dtype=None, device=None):
    return full(shape, 1, "float64" if dtype is None else dtype, device)


def _like(make):
    def function(x, /, dtype=None, *, device=None):
        return make(x.shape, dtype=x.dtype if dtype is None else dtype,
                    device=getattr(x, "_device_name", device) if device is None else device)
    function.__name__ = make.__name__ + "_like"
    return function


empty_like, zeros_like, ones_like = map(_like, (empty, zeros, ones))


def full_like(x, /, fill_value, dtype=None, *, device=None):
    return _like(lambda shape, dtype, device: full(shape, fill_value, dtype, device))(x, dtype, device=device)


def arange(start, stop=None, step=1, dtype=None, device=None):
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        dtype = "float64" if any(isinstance(v, float) for v in (start, stop, step)) else "int64"
    return _kiln.ranged("arange", name_of(dtype), start, stop, step, device)


def linspace(start, stop, num=50, dtype=None, device=None, endpoint=True):
    if not endpoint:
        return linspace(start, stop, num + 1, dtype, device)[:-1].copy()
    return _kiln.ranged("linspace", "float64" if dtype is None else name_of(dtype), start, stop, num, device)


def eye(rows, columns=None, k=0, dtype=None, device=None):
    columns = rows if columns is None else columns
    grid = zeros((rows, columns), "bool", device)
    from ._kernels import eval
    on = eval("x | (iota(x, 1) - iota(x, 0) == k)", x=grid, k=max(min(k, columns), -rows))
    return on.astype("float64" if dtype is None else dtype, copy=False)


class _Pairs:
    """Complex numbers of a list, as an array that _kiln.from_dlpack() reads."""

    def __init__(self, numbers):
        from array import array as packed
        self.parts = packed("d", [part for v in numbers for part in (v.real, v.imag)])
        self.__array_interface__ = {"shape": (len(numbers),), "typestr": "<c16", "version": 3,
                                    "data": (self.parts.buffer_info()[0], False)}


def _flatten(value, shape, depth, flat):
    """The elements of nested lists; their shape must be even."""
    if isinstance(value, (list, tuple)):
        if depth == len(shape):
            shape.append(len(value))
        if len(value) != shape[depth]:
            raise ValueError("nested lists of different lengths")
        for item in value:
            _flatten(item, shape, depth + 1, flat)
    elif depth != len(shape):
        raise ValueError("nested lists of different depths")
    else:
        flat.append(value)


def _stacked(value, device):
    """Nested lists in which arrays stand: their dtypes and those of the numbers beside them are promoted."""
    from ._standard import stack
    if isinstance(value, (list, tuple)):
        return stack([_stacked(v, device) for v in value]) if value else empty((0,), None, device)
    return asarray(value, device=device)


def _packable(flat, dtype):
    """Numbers of a list as they are packed, and how, if they fit the dtype that is asked for."""
    kind = "" if dtype is None else as_dtype(dtype).kind
    if any(isinstance(v, complex) for v in flat):
        if kind in ("i", "u", "f"):
            from ._errors import DtypeError
            raise DtypeError(f"a complex number does not become {as_dtype(dtype)}")
        return flat, "D"
    if kind in ("i", "u"):
        from ._standard import iinfo
        limits, flat = iinfo(dtype), [int(v) for v in flat]  # which refuses NaN and infinities
        for v in (min(flat), max(flat)):
            if not limits.min <= v <= limits.max:
                from ._errors import RangeError
                raise RangeError(f"{v} does not fit {as_dtype(dtype)}")
    for v in flat:
        if not hasattr(v, "__index__") and not hasattr(v, "__float__"):
            raise TypeError(f"a list holds {v!r}, which is no number")
    if all(isinstance(v, bool) for v in flat):
        return flat, "B"
    if kind in ("f", "c") or any(isinstance(v, float) for v in flat):
        return flat, "d"
    low, high = min(flat), max(flat)
    return flat, "q" if high <= 2**63 - 1 else "d" if low < 0 else "Q"


def _from_list(value, dtype):
    """An array on the cpu of numbers in nested lists; one of arrays in them, where the first of those is."""
    from array import array as packed
    shape, flat = [], []
    node = value
    while isinstance(node, (list, tuple)):
        shape.append(len(node))
        node = node[0] if len(node) else None
    _flatten(value, shape, 0, flat)
    if not flat:
        return empty(tuple(shape), dtype, "cpu")
    arrays = [v for v in flat if not isinstance(v, (int, float, complex)) and hasattr(v, "dtype")]
    if arrays and all(map(_is_numpy, arrays)):
        import numpy
        made = _kiln.from_dlpack(numpy.asarray(value))
    elif arrays:
        made = _stacked(value, asarray(arrays[0]).device)
    else:
        flat, code = _packable(flat, dtype)
        made = _kiln.from_dlpack(_Pairs(flat) if code == "D" else packed(code, flat))
        made = (made.astype("bool") if code == "B" else made).reshape(tuple(shape))
    return made if dtype is None else made.astype(dtype, copy=False)


def asarray(obj, dtype=None, device=None, copy=None):
    """`obj` as an array of kiln's: the same memory where that is possible."""
    if dtype is None and not copy and isinstance(obj, _kiln.Array) and (device is None or obj.device == device):
        return obj
    if isinstance(obj, (bool, int, float, complex, list, tuple)):
        if copy is False:
            raise ValueError("lists and numbers are copied")
        made = _from_list(obj, dtype)
        if made.device != "cpu":
            return asarray(made, device=device)
        target = _kiln.default_device() if device is None else device
        return made if target == "cpu" else _kiln.from_host(made, target)
    if _is_numpy(obj) and not getattr(obj, "ndim", 1):  # a scalar of NumPy is no array
        obj = obj.__array__()
    made = obj if isinstance(obj, _kiln.Array) else _kiln.from_dlpack(obj)
    fresh = False
    if device is not None and device not in (made.device, made.device.partition(":")[0]):
        made = made if made.device == "cpu" else _kiln.to_host(made)
        made = made if device == "cpu" else _kiln.from_host(made, device)
        fresh = True
    if dtype is not None and made.dtype != as_dtype(dtype):
        made, fresh = made.astype(dtype), True
    if copy is False and fresh:
        raise ValueError("this array can only be had by a copy")
    return made.copy() if copy and not fresh else made


def has_no_memory(value):
    """Whether an operand is a number, a scalar of NumPy or a list: it is copied to wherever it is needed."""
    return isinstance(value, (bool, int, float, complex, list, tuple)) or \
        _is_numpy(value) and not getattr(value, "ndim", 1)


def home_of(values):
    """The device of the first array among operands, those in lists too; None: there is none."""
    for value in values:
        if isinstance(value, (list, tuple)):
            home = home_of(value)
            if home is not None:
                return home
        elif not has_no_memory(value) and (hasattr(value, "__dlpack__") or getattr(value, "ndim", 0)):
            return asarray(value).device
    return None


def array_beside(value, *others):
    """An operand as an array: a list or a number goes to where the first array of the others is."""
    return asarray(value, device=home_of(others) if has_no_memory(value) else None)


def arrays_of(values):
    """The operands of one function as arrays: lists and numbers go to where the first of the others is."""
    values = list(values)
    home = home_of(values) if any(map(has_no_memory, values)) else None
    return [asarray(v, device=home if has_no_memory(v) else None) for v in values]


def array(obj, dtype=None, device=None, copy=True):
    return asarray(obj, dtype, device, copy)


# ---- views as functions ----------------------------------------------------------------------

def reshape(x, shape, *, copy=None):
    return x.reshape(shape, copy=copy)


def broadcast_to(x, shape):
    return _kiln.shaped("broadcast_to", asarray(x), shape)


def permute_dims(x, axes):
    return x.transpose(axes)


def transpose(x, axes=None):
    return _kiln.transpose(asarray(x), axes)


def matrix_transpose(x):
    return x.mT


def expand_dims(x, axis=0):
    rank = x.ndim + (1 if hasattr(axis, "__index__") else len(axis))
    new = normal_axes(axis, rank)
    return x[tuple(None if a in new else slice(None) for a in range(rank))]


def squeeze(x, axis=None):
    axes = [a for a, n in enumerate(x.shape) if n == 1] if axis is None else normal_axes(axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError("only axes of extent 1 are taken away")
    return x[tuple(0 if a in axes else slice(None) for a in range(x.ndim))]


_TURNED = slice(None, None, -1)


def flip(x, axis=None):
    if axis is None:
        return x[(_TURNED,) * x.ndim]
    turned = normal_axes(range(x.ndim) if axis is None else axis, x.ndim)
    return x[tuple(_TURNED if a in turned else slice(None) for a in range(x.ndim))]


def moveaxis(x, source, destination):
    source, to = normal_axes(source, x.ndim), normal_axes(destination, x.ndim)
    if len(source) != len(to):
        raise ValueError("there is one place for each axis that is moved")
    order = [a for a in range(x.ndim) if a not in source]
    for place, a in sorted(zip(to, source)):
        order.insert(place, a)
    return x.transpose(order)


def astype(x, dtype, *, copy=True, device=None):
    return asarray(x.astype(dtype, copy=copy), device=device)


def asnumpy(x):
    """A numpy.ndarray of an array of kiln's, by a copy where it is on a GPU."""
    return x.__array__()
