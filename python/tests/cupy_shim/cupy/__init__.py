"""A module cupy whose arrays are NumPy's and whose kernels are kiln's, for CuPy's own tests."""
import functools
import types

import numpy
from numpy import *  # noqa: F401, F403 - every name that tests use and that is not below

import kiln

del testing, random, exceptions  # noqa: F821 - NumPy's, for which there are CuPy's own below


class ndarray(numpy.ndarray):
    """An array of the shim: NumPy's, with CuPy's few methods beyond it."""

    __module__ = "shim"  # kiln tells CuPy's own arrays, which are on a GPU, by their module

    def get(self, *args, **kwargs):
        return numpy.array(self)

    @property
    def device(self):
        return types.SimpleNamespace(id=0)


def _ours(value):
    if isinstance(value, (tuple, list)):
        return type(value)(_ours(v) for v in value)
    if isinstance(value, numpy.ndarray):
        return value.view(ndarray)
    return numpy.asarray(value).view(ndarray) if isinstance(value, numpy.generic) else value


def _wrap(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return _ours(function(*args, **kwargs))
    return call


for _name in ("array asarray zeros ones empty full arange linspace zeros_like ones_like empty_like copy "
              "eye ascontiguousarray asfortranarray concatenate sum prod amax amin max min").split():
    globals()[_name] = _wrap(getattr(numpy, _name))


def asnumpy(a, *args, **kwargs):
    return numpy.array(a)


def get_array_module(*args):
    return numpy


#: What CuPy says where kiln fails with a status; tests look for the words.
_WORDS = {"KILN_ERR_SIZE": "Specified 'size' can be used only if all of the ndarray are 'raw'.",
          "KILN_ERR_UNDECIDED_SIZE": "Loop size is undecided.",
          "KILN_ERR_NAME": "Invalid kernel name", "KILN_ERR_OUTPUT": "Out shape is mismatched"}


def _in_cupys_words(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except kiln.ArgumentError as e:
        if e.status in _WORDS:
            raise ValueError(_WORDS[e.status]) from e
        raise


class _Kernel:
    """A kernel of kiln whose results are arrays of the shim."""

    def __init__(self, *args, **kwargs):
        self._kernel = _in_cupys_words(self._class, args, kwargs)

    def __call__(self, *args, **kwargs):
        result = _in_cupys_words(self._kernel, args, kwargs)
        given = kwargs.get("out")
        return given if given is not None else _ours(result)

    def __getattr__(self, name):
        return getattr(self._kernel, name)


def _kernel(name):
    return type(name, (_Kernel,), {"_class": getattr(kiln, name)})


ElementwiseKernel = _kernel("ElementwiseKernel")
ReductionKernel = _kernel("ReductionKernel")
RawModule = kiln.RawModule
RawKernel = kiln.RawKernel


def fuse(*args, **kwargs):
    made = kiln.fuse(*args, **kwargs)
    if isinstance(made, kiln._fuse.Fusion):
        return _wrap(made)
    return lambda function: _wrap(made(function))


from . import _core, cuda, exceptions, random  # noqa: E402
