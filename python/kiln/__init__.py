"""kiln: kernels of your own, generated and compiled at run time, on arrays of any library.

    import kiln, numpy as np
    axpy = kiln.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y", "axpy")
    z = axpy(np.ones(3, np.float32), np.ones(3, np.float32), 2)

Arrays of PyTorch, JAX, CuPy, NumPy and Numba are used where they are, without a copy, and results
are of the kind of the first array. docs/python.md is the guide.
"""
import atexit as _atexit
import os as _os

from . import _kiln
from ._errors import (CLASSES as _CLASSES, ArgumentError, AxisError, CompileError, DeviceError,
                      DtypeError, Error, LinAlgError, OutOfMemory, RangeError, UnsupportedError, Warning)
from . import _array, _kinds

_kiln._setup(_CLASSES, Warning, _array.ndarray, _kinds.describe)
_os.register_at_fork(after_in_child=_kiln._after_fork)
_atexit.register(_kiln._end)

from ._array import (arange, array, asarray, asnumpy, astype, broadcast_to, empty, empty_like,
                     expand_dims, eye, flip, full, full_like, linspace,
                     matrix_transpose, moveaxis, ndarray, newaxis, ones, ones_like, permute_dims,
                     reshape, squeeze, transpose, zeros, zeros_like)
from ._dtypes import DTYPES as _DTYPES, dtype
from ._fuse import fuse
from ._kernels import (ElementwiseKernel, RawKernel, RawModule, ReductionKernel, Row, Scan, Stage,
                       eval)
from ._observe import cache_counters, memory_log, memory_table, scope, timeline
from ._kiln import default_device, devices, from_dlpack, set_default_device, synchronize

e, pi, inf, nan = 2.718281828459045, 3.141592653589793, float("inf"), float("nan")
globals().update(_DTYPES)
globals().update(_array.NUMPY)

from . import _expressions, _names, _numpy, _sorting, _standard, linalg, random
from ._sorting import (argpartition, argsort, digitize, extract, histogram_bin_edges, isin,
                       lexsort, median, nanmedian, nanpercentile, nanquantile, partition, percentile, place, put, put_along_axis, quantile, searchsorted,
                       sort, sort_by, take, take_along_axis, topk, unique, unique_all, unique_counts, unique_inverse,
                       unique_values)
from ._standard import (__array_namespace_info__, argwhere, array_split, broadcast_arrays,
                        broadcast_shapes, can_cast, concat, cumulative_prod, cumulative_sum, diff,
                        dsplit, finfo, flatnonzero, hsplit, iinfo, isdtype, meshgrid, nonzero,
                        ndim, partition_copy, repeat,
                        result_type, roll, shape, size, split, stack, std, tile, tril, triu, unstack, var, vsplit)
from .linalg import dot, einsum, inner, kron, matmul, matvec, outer, tensordot, vecdot, vecmat

concatenate = concat
globals().update(_standard.SCANS)
globals().update({name: made for name, made in _expressions.MADE.items() if not hasattr(_sorting, name) and name not in ("cond", "expm")})
from ._numpy import bincount, compress, delete, gradient, histogram, histogram2d, histogramdd, insert, intersect1d, pad
from ._observe import trace

_names.give_names(globals())

__version__ = _kiln.version()
__array_api_version__ = "2024.12"
