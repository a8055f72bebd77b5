"""A plugin of pytest's that makes CuPy's kernels and fusion kiln's, on CuPy's own arrays; see
cupy_suite.py. CuPy's functions take the nodes that kiln.fuse() records, too."""
import functools

import cupy
import numpy

import kiln
from cupy_words import Kernel
from kiln._fuse import Node


class _Function:
    """A function of CuPy's that is NumPy's on nodes, which is kiln's."""

    def __init__(self, name, theirs):
        self._theirs, self._numpys = theirs, getattr(numpy, name)

    def __call__(self, *args, **kwargs):
        if any(isinstance(v, Node) for v in args + tuple(kwargs.values())):
            return self._numpys(*args, **kwargs)
        return self._theirs(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._theirs, name)


for _name in dir(numpy):
    _theirs = getattr(cupy, _name, None)
    if callable(_theirs) and not isinstance(_theirs, type) and not _name.startswith("_"):
        setattr(cupy, _name, _Function(_name, _theirs))
ReductionKernel = type("ReductionKernel", (Kernel,), {"_class": kiln.ReductionKernel})
_theirs = cupy.ElementwiseKernel


def ElementwiseKernel(*args, **kwargs):
    """kiln's, but for CuPy's own scans, which are made of blocks whose size they choose."""
    made = _theirs if "__syncthreads" in str((args, kwargs)) else _Elementwise
    return made(*args, **kwargs)


_Elementwise = type("ElementwiseKernel", (Kernel,), {"_class": kiln.ElementwiseKernel})
cupy.ElementwiseKernel, cupy.ReductionKernel = ElementwiseKernel, ReductionKernel


class RawModule(kiln.RawModule):
    def get_global(self, name):
        memory = super().get_global(name)
        return cupy.cuda.MemoryPointer(
            cupy.cuda.UnownedMemory(memory._address, memory.nbytes, memory), 0)


def _in_cupys_classes(function):
    """A function that fails with CuPy's AxisError where kiln's has its own."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except kiln.AxisError as e:
            raise cupy.exceptions.AxisError(str(e)) from e
    return call


def fuse(*args, **kwargs):
    made = kiln.fuse(*args, **kwargs)
    if isinstance(made, kiln._fuse.Fusion):
        named = _in_cupys_classes(made)
        named.clear_cache = made.clear_cache
        return named
    return lambda function: fuse(function) if not (args or kwargs) else _in_cupys_classes(made(function))


cupy.RawKernel, cupy.RawModule, cupy.fuse = kiln.RawKernel, RawModule, fuse
