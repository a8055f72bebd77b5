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
                      DtypeError, Error, OutOfMemory, RangeError, Warning)
from ._kiln import default_device, devices, set_default_device, synchronize
from ._kernels import ElementwiseKernel, ReductionKernel, Row, Scan, Stage, eval
from . import _kinds

_kiln._setup(_CLASSES, Warning, _kiln.Array, _kinds.describe)
_os.register_at_fork(after_in_child=_kiln._after_fork)
_atexit.register(_kiln._close)

__version__ = _kiln.version()
