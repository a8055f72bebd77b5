"""A plugin of pytest's that makes CuPy's kernels and fusion kiln's, on CuPy's own arrays; see
cupy_suite.py. CuPy's functions take the nodes that kiln.fuse() records, too."""
import functools
import os

import cupy
import numpy

import kiln
from cupy_words import Kernel, in_cupys_words
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


_module_of = cupy.get_array_module
cupy.get_array_module = lambda *args: _module_of(*(v._given if isinstance(v, Node) else v for v in args))
NO_FILE, NOT_FOUND = 301, 500


def _not_compiled(error, code, name, jitify):
    """CuPy's exception of its compilers for kiln's."""
    if jitify:
        return cupy.cuda.compiler.JitifyException(str(error))
    return cupy.cuda.compiler.CompileException(str(error), str(code), name, (), "nvrtc")


def _count_saves(function, *args):
    """What a cache that counts saves, as CuPy's tests put one in CuPy's place, is told of kernels that kiln's
    cache did not have."""
    def stores():
        return kiln.cache_counters(f"cuda:{cupy.cuda.Device().id}")["stores"]

    backend, before = getattr(cupy.cuda.compiler, "_kernel_cache_backend", None), stores()
    function(*args)
    if hasattr(backend, "saves") and stores() > before:
        backend.save("kernel", b"", "")


class RawKernel(kiln.RawKernel):
    def __init__(self, code, name, *args, jitify=False, **keywords):
        super().__init__(code, name, *args, jitify=jitify, **keywords)
        self._jitify = jitify

    def __call__(self, *args, **keywords):
        try:
            return super().__call__(*args, **keywords)
        except kiln.CompileError as e:
            raise _not_compiled(e, self.code, self.name, self._jitify) from e


class RawModule(kiln.RawModule):
    """kiln's loads a file and compiles a source when a kernel is called; CuPy's when it is asked for one."""

    def __init__(self, code=None, **keywords):
        super().__init__(code, **keywords)
        self._source = code, keywords

    def get_function(self, name):
        code, keywords = self._source
        if code is None and not os.path.exists(keywords["path"]):
            raise cupy.cuda.driver.CUDADriverError(NO_FILE)
        found = super().get_function(name)
        try:
            _count_saves(found._check, f"cuda:{cupy.cuda.Device().id}")
        except kiln.CompileError as e:
            raise _not_compiled(e, code, name, keywords.get("jitify")) from e
        except kiln.ArgumentError as e:
            raise cupy.cuda.driver.CUDADriverError(NOT_FOUND) from e
        return found

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
        except TypeError as e:
            if "has no truth value" in str(e):
                raise TypeError(f"a Python scalar cannot be made of it: {e}") from e
            raise
    return functools.wraps(function)(lambda *args, **kwargs: in_cupys_words(call, args, kwargs))


def fuse(*args, **kwargs):
    made = kiln.fuse(*args, **kwargs)
    if isinstance(made, kiln._fuse.Fusion):
        named = _in_cupys_classes(made)
        named.clear_cache = made.clear_cache
        return named
    return lambda function: fuse(function) if not (args or kwargs) else _in_cupys_classes(made(function))


cupy.RawKernel, cupy.RawModule, cupy.fuse = RawKernel, RawModule, fuse
