"""Linear algebra on arrays of kiln's, and of other libraries, which are used where they are: the names and
arguments of NumPy and of the array API. Results are kiln's arrays. docs/linalg.md tells how it is computed."""
from collections import namedtuple

from . import _functions, _kiln
from ._array import PRODUCTS, arrays_of, asarray, matrix_transpose, ndarray, normal_axes, normal_axis
from ._expressions import MADE as _MADE
from ._standard import finfo, result_type, stack

EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")
EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")


def _call(name, *arrays, number=0.0, upper=False, text=None, axes=None):
    """`upper` stands for the one flag that a function has: upper, or full. Within fuse() it is recorded."""
    for x in arrays:
        if hasattr(x, "_linalg"):
            return x._linalg(name, arrays, number, upper, text, axes)
    return _kiln.linalg(name, arrays, number, upper, text, axes)


def _array(x):
    """An array; nodes of fuse() stay what they are."""
    return x if hasattr(x, "_linalg") else asarray(x)


def _arrays(*values):
    """Arrays, those of lists where the others are; nodes of fuse() stay what they are."""
    return map(_array, values) if any(hasattr(x, "_linalg") for x in values) else arrays_of(values)


def _floating(x):
    """`x` in a dtype that solvers have; NumPy computes integers in float64, as a recorded call does."""
    x = _array(x)
    if hasattr(x, "_linalg"):
        return x
    if x.dtype.kind in "biu":
        return x.astype("float64")
    return x.astype("float32") if x.itemsize == 2 else x


def _together(a, b):
    a, b = map(_floating, _arrays(a, b))
    if hasattr(a, "_linalg") or hasattr(b, "_linalg"):
        return a, b
    common = result_type(a, b)
    return a.astype(common, copy=False), b.astype(common, copy=False)


def _product(name):
    def function(a, b, /):
        return _call(name, *_arrays(a, b))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's {name}(a, b)."
    return function


matmul, dot, inner, outer, matvec, vecmat, kron = map(
    _product, ("matmul", "dot", "inner", "outer", "matvec", "vecmat", "kron"))


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of conj(x1) * x2 along an axis."""
    x1, x2 = _arrays(x1, x2)
    recorded = hasattr(x1, "_linalg") or hasattr(x2, "_linalg")
    if not recorded and x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vectors of {x1.shape[axis]} and of {x2.shape[axis]} elements have no product")
    if x1.dtype.kind == "c":
        x1 = x1.conj()
    total = "any" if x1.dtype.kind == x2.dtype.kind == "b" else "sum"
    dtype = result_type(x1.dtype, x2.dtype) if total == "sum" and {x1.dtype.kind, x2.dtype.kind} <= set("biu") else None
    return _functions.call(total, (x1 * x2,), tail=_functions.tail_of(axis, dtype, False))


def tensordot(x1, x2, /, axes=2):
    """NumPy's tensordot: the sum over `axes` last axes of x1 and first of x2, or over pairs of axes."""
    x1, x2 = _arrays(x1, x2)
    if hasattr(axes, "__index__"):
        axes = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    return _call("tensordot", x1, x2, axes=tuple(a if hasattr(a, "__index__") else tuple(a) for a in axes))


def einsum(subscripts, /, *operands):
    """NumPy's einsum of a string and arrays."""
    return _call("einsum", *_arrays(*operands), text=subscripts)


def multi_dot(arrays):
    """The product of several matrices, in the order that takes the fewest multiplications."""
    return _call("multi_dot", *_arrays(*arrays))


def matrix_power(x, n, /):
    return _call("matrix_power", _array(x) if n >= 0 else _floating(x), number=n)


def trace(x, /, *, offset=0, dtype=None):
    return _functions.call("sum", (diagonal(x, offset=offset),), tail=_functions.tail_of(-1, dtype, False))


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices, as a copy."""
    x = _array(x)
    rows, columns = x.shape[-2:]
    x = x[..., max(-offset, 0):, max(offset, 0):]
    size = max(min(rows - max(-offset, 0), columns - max(offset, 0)), 0)
    made = einsum("...ii->...i", x[..., :size, :size])
    return made if hasattr(made, "_linalg") else made.astype(x.dtype, copy=False)


def cross(x1, x2, /, *, axis=-1):
    """The vector product along an axis of three elements."""
    x1, x2 = _arrays(x1, x2)
    rank = max(x1.ndim, x2.ndim)
    axis = normal_axis(axis, min(x1.ndim, x2.ndim)) - (min(x1.ndim, x2.ndim) if axis < 0 else 0)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("a vector product is of vectors of three elements")

    def part(x, k):
        at = axis % x.ndim
        return x[(slice(None),) * at + (k,)]
    parts = [part(x1, (k + 1) % 3) * part(x2, (k + 2) % 3) - part(x1, (k + 2) % 3) * part(x2, (k + 1) % 3)
             for k in range(3)]
    return stack(parts, axis=axis if axis < 0 else axis % rank)


def solve(x1, x2, /):
    return _call("solve", *_together(x1, x2))


def solve_triangular(a, b, /, *, upper=False):
    return _call("solve_triangular", *_together(a, b), upper=upper)


def lu(a, /, *, permute_l=False):
    """SciPy's lu: P, L and U with a = P L U, or P L and U."""
    return _call("permuted_lu" if permute_l else "lu", _floating(a))


def ldl(a, /, *, upper=False):
    """SciPy's ldl of Hermitian matrices: L, D and the order of rows in which L is a triangle. `upper`: the upper
    triangle of `a` is read."""
    return _call("ldl", _floating(a), upper=upper)


def lu_factor(a, /):
    """SciPy's lu_factor: L and U in one array, and the row that each row was exchanged with."""
    return _call("lu_factor", _floating(a))


def lu_solve(lu_and_piv, b, /):
    """SciPy's lu_solve: x of a x = b from what lu_factor() gave."""
    factors, pivots, b = _arrays(*lu_and_piv, b)
    factors, b = _together(factors, b)
    return _call("lu_solve", factors, pivots, b)


def lstsq(a, b, /, *, rcond=0.0):
    """The shortest x that minimises |a x - b|; only x, where NumPy gives more."""
    return _call("lstsq", *_together(a, b), number=rcond)


def inv(x, /):
    return _call("inv", _floating(x))


def det(x, /):
    return _call("det", _floating(x))


def slogdet(x, /):
    return SlogdetResult(*_call("slogdet", _floating(x)))


def cholesky(x, /, *, upper=False):
    return _call("cholesky", _floating(x), upper=upper)


def qr(x, /, *, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError("kiln has QR in its modes \"reduced\" and \"complete\"")
    return QRResult(*_call("qr", _floating(x), upper=mode == "complete"))


def eigh(x, /, *, upper=False):
    return EighResult(*_call("eigh", _floating(x), upper=upper))


def eig(x, /):
    return EigResult(*_call("eig", _floating(x)))


def eigvals(x, /):
    return _call("eigvals", _floating(x))


def eigvalsh(x, /, *, upper=False):
    return _call("eigvalsh", _floating(x), upper=upper)


def svd(x, /, *, full_matrices=True):
    return SVDResult(*_call("svd", _floating(x), upper=bool(full_matrices)))


def svdvals(x, /):
    return _call("svdvals", _floating(x))


def pinv(x, /, *, rtol=None):
    x = _floating(x)
    rtol = _tolerance(x, rtol)
    if not getattr(rtol, "ndim", 0):
        return _call("pinv", x, number=float(rtol))
    u, s, vh = svd(x, full_matrices=False)
    kept = s > s.max(axis=-1, keepdims=True) * rtol
    inverse = _functions.call("where", (kept, 1 / _functions.call("where", (kept, s, 1)), 0))
    return matmul(vh.mT.conj() * inverse[..., None, :], u.mT.conj())


def _within(x, number):
    """A number, or the largest one of `x`'s dtype where it is beyond that."""
    if abs(number) <= 3e38:
        return number
    limit = finfo(x.dtype).max
    return max(-limit, min(float(number), limit))


def _tolerance(x, rtol):
    """A number, or one for each matrix with an axis beside the singular values."""
    if getattr(rtol, "ndim", 0):
        return arrays_of((x, rtol))[1][..., None]
    if rtol is not None:
        return _within(x, float(rtol))
    return max(x.shape[-2:]) * (2.0**-23 if x.dtype in ("float32", "complex64") else 2.0**-52)


def matrix_rank(x, /, *, rtol=None):
    x = _floating(x)
    values = svdvals(x)
    largest = values.max(axis=-1, keepdims=True)
    return (values > largest * _tolerance(x, rtol)).sum(axis=-1)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = abs(_floating(x))
    if ord == float("inf"):
        return x.max(axis=axis, keepdims=keepdims)
    if ord == -float("inf"):
        return x.min(axis=axis, keepdims=keepdims)
    if ord == 0:
        return (x != 0).sum(axis=axis, keepdims=keepdims).astype(x.dtype)
    if ord == 1:
        return x.sum(axis=axis, keepdims=keepdims)
    if ord == 2:
        return _functions.call("sqrt", ((x * x).sum(axis=axis, keepdims=keepdims),))
    return (x ** _within(x, ord)).sum(axis=axis, keepdims=keepdims) ** _within(x, 1 / ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    x = _floating(x)
    infinity = float("inf")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, infinity, -infinity):
        sums = abs(x).sum(axis=-2 if abs(ord) == 1 else -1, keepdims=True)
        result = sums.max(axis=(-2, -1), keepdims=True) if ord > 0 else sums.min(axis=(-2, -1), keepdims=True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(x)[..., None, :]
        result = {"nuc": values.sum, 2: values.max, -2: values.min}[ord](axis=(-2, -1), keepdims=True)
    else:
        raise ValueError(f"matrices have no norm of order {ord!r}")
    return result if keepdims else result[..., 0, 0]


def norm(x, ord=None, axis=None, keepdims=False):
    """NumPy's norm: of vectors along one axis, of matrices along two; without a named axis of the whole array."""
    x = _floating(x)
    axes = None if axis is None else normal_axes(axis, x.ndim)
    if axes is None and (ord is None or x.ndim == 1):
        return vector_norm(x, keepdims=keepdims, ord=2 if ord is None else ord)
    if axes is not None and len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    axes = [0, 1] if axes is None and x.ndim == 2 else axes
    if axes is None or len(axes) != 2:
        raise ValueError(f"a norm is of vectors or of matrices, not along {x.ndim if axes is None else len(axes)} axes")
    rest = [a for a in range(x.ndim) if a not in axes]
    made = matrix_norm(x.transpose(rest + axes), ord="fro" if ord is None else ord)
    return made.reshape(tuple(1 if a in axes else n for a, n in enumerate(x.shape))) if keepdims else made


def cond(x, p=None):
    """NumPy's cond: how far `x` is from a singular matrix, in the norm `p`."""
    return _MADE["cond"](x, p)


def expm(a):
    """SciPy's expm: the exponential of a matrix, or of each of a stack."""
    return _MADE["expm"](a)


PRODUCTS.update(matmul=matmul, vecdot=vecdot, matvec=matvec, vecmat=vecmat)


def _matmul(a, b):
    return matmul(a, b) if hasattr(b, "__dlpack__") or hasattr(b, "__array_interface__") else NotImplemented


ndarray.__matmul__ = _matmul
ndarray.__rmatmul__ = lambda b, a: _matmul(_arrays(b, a)[1], b)


def _imatmul(a, b):
    a[...] = matmul(a, b)
    return a


ndarray.__imatmul__ = _imatmul
