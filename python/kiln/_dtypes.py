"""kiln's dtypes: small objects that are equal to NumPy's of the same name, and to the name itself."""


class dtype:
    """The type of an array's elements: kiln.float32 and so on."""

    __slots__ = ("name", "kind", "itemsize")

    def __init__(self, name, kind, itemsize):
        self.name = name
        self.kind = kind
        self.itemsize = itemsize

    def __eq__(self, other):
        if isinstance(other, type):  # numpy.float32
            other = other.__name__
        return self.name == (other if isinstance(other, str) else getattr(other, "name", None))

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"kiln.{self.name}"

    def __str__(self):
        return self.name

    def __reduce__(self):
        return _by_name, (self.name,)


DTYPES = {name: dtype(name, kind, size) for name, kind, size in (
    ("bool", "b", 1), ("int8", "i", 1), ("int16", "i", 2), ("int32", "i", 4), ("int64", "i", 8),
    ("uint8", "u", 1), ("uint16", "u", 2), ("uint32", "u", 4), ("uint64", "u", 8),
    ("float16", "f", 2), ("bfloat16", "f", 2), ("float32", "f", 4), ("float64", "f", 8),
    ("complex64", "c", 8), ("complex128", "c", 16),
    ("float8_e4m3fn", "f", 1), ("float8_e5m2", "f", 1))}

#: Those that NumPy has only with the package ml_dtypes, where they have these names.
OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")

_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_SHORT = {"?": "bool", "float": "float64", "int": "int64", "uint": "uint64", "complex": "complex128"}


def _by_name(name):
    return DTYPES[name]


def name_of(value):
    """The name of a dtype given as kiln's, NumPy's, another library's, Python's type or a str."""
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if name is None:  # numpy.float32, torch.float32
        name = getattr(value, "__name__", None) or str(value).rpartition(".")[2]
    name = _SHORT.get(name, name)
    name = name.removesuffix("_")
    if name not in DTYPES:
        from ._errors import DtypeError
        try:
            import numpy
            name = numpy.dtype(value).name
        except (ImportError, TypeError):
            pass
        if name not in DTYPES:
            raise DtypeError(f"kiln has no dtype {value!r}")
    return name


def as_dtype(value):
    return DTYPES[name_of(value)]
