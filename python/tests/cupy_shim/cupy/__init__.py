"""A module cupy whose arrays are NumPy's and whose kernels are kiln's, for CuPy's own tests."""
import functools
import types

import numpy
from numpy import *  # noqa: F401, F403 - every name that tests use and that is not below

import cupy_words
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


class _Kernel(cupy_words.Kernel):
    """A kernel of kiln whose results are arrays of the shim."""

    def __call__(self, *args, **kwargs):
        result = super().__call__(*args, **kwargs)
        given = kwargs.get("out")
        return given if given is not None else _ours(result)


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
