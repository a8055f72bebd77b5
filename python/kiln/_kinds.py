"""What kiln must know of each type of array that it meets: how it is read, and how results of that
kind are made. describe() is called once for each type."""
import sys

from . import _kiln
from ._dtypes import OF_ML_DTYPES

NUMBER, ARRAY, EXCHANGE, BUFFER, CAPSULE, CUDA, HOST, ATTRIBUTES, NOT = range(1, 10)


def _numpy_result(array):
    import numpy
    if array._dtype_name in OF_ML_DTYPES:
        import ml_dtypes
        return numpy.asarray(_Renamed(array)).view(getattr(ml_dtypes, array._dtype_name))
    return numpy.asarray(memoryview(array))


class _Renamed:
    """The bytes of a bfloat16 or a float8 as an integer, for which NumPy has a dtype."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__, typestr="<u2" if array._dtype_name == "bfloat16" else "|u1")


def _torch_refuse(tensor):
    """Called where one of `_TORCH_CHECK`'s facts is true."""
    import torch
    if tensor.requires_grad and torch.is_grad_enabled():
        raise BufferError("a tensor requires grad, which kiln's kernels do not record: use "
                          "tensor.detach(), or torch.no_grad(), or a torch.autograd.Function")
    if tensor.is_conj():
        raise BufferError("a tensor is a conjugated view, whose memory holds other values: use "
                          "tensor.resolve_conj()")
    if tensor.is_neg():
        raise BufferError("a tensor is a negated view, whose memory holds other values: use "
                          "tensor.resolve_neg()")


#: Attributes, methods, methods that only complex arrays are asked by, and what is called where one of them is
#: true.
_TORCH_CHECK = (("requires_grad",), ("is_neg",), ("is_conj",), _torch_refuse)


def _torch_stream(device):
    import torch
    return torch.cuda.current_stream(device).cuda_stream


def _torch_result(capsule):
    import torch
    return torch.from_dlpack(capsule)


def _cupy_stream(device):
    import cupy
    return cupy.cuda.get_current_stream(device)


def _cupy_result(capsule):
    import cupy
    return cupy.from_dlpack(capsule)


def _jax_result(array):
    import jax.dlpack
    return jax.dlpack.from_dlpack(array)


def _numba_result(array):
    import numba.cuda
    return numba.cuda.as_cuda_array(array)


#: By the package that a type comes from: check, current stream, result, whether that takes a capsule (of
#: memory that was made on the current stream) and no array, immutable.
_PACKAGES = {
    "numpy": (None, None, _numpy_result, False, False),
    "torch": (_TORCH_CHECK, _torch_stream, _torch_result, True, False),
    "cupy": (None, _cupy_stream, _cupy_result, True, False),
    "jax": (None, None, _jax_result, False, True),
    "jaxlib": (None, None, _jax_result, False, True),
    "numba": (None, None, _numba_result, False, False),
}


def _is_scalar(object):
    """A number of NumPy, of ml_dtypes or of CuPy's kind: it has item() and no axes."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(object, numpy.generic)


#: What kernels take as the number of its handle.
_HANDLES = ("cupy.cuda.texture.TextureObject", "cupy.cuda.texture.SurfaceObject")


def _handle(object):
    return object.ptr


def describe(object):
    """(how, table, check, stream, result, of_capsule, immutable, name) of an object's type."""
    kind = type(object)
    package = ""
    for base in kind.__mro__:  # a subclass of a tensor is read as a tensor
        package = base.__module__.partition(".")[0]
        if package in _PACKAGES:
            break
    check, stream, result, of_capsule, immutable = _PACKAGES.get(package, (None,) * 3 + (False,) * 2)
    name = kind.__module__ + "." + kind.__qualname__
    if name in _HANDLES or _is_scalar(object):
        return NUMBER, None, None, None, _handle if name in _HANDLES else None, False, False, name
    facts = (check, stream, result, of_capsule, immutable, name)
    table = getattr(kind, "__dlpack_c_exchange_api__", None)
    if table is None:
        table = getattr(kind, "__c_dlpack_exchange_api__", None)
    if isinstance(object, _kiln.Array):
        how = ARRAY
    elif package == "numpy":
        how = BUFFER
    elif package == "cupy" and kind.__name__ == "ndarray":
        how = ATTRIBUTES
    elif table is not None and not immutable:
        how = EXCHANGE
    elif hasattr(kind, "__dlpack__"):
        how = CAPSULE
    elif hasattr(object, "__cuda_array_interface__"):
        how = CUDA
    elif hasattr(object, "__array_interface__"):
        how = HOST
    elif isinstance(object, (bytes, bytearray, memoryview)) or kind.__module__ == "array":
        how = BUFFER
    else:
        how = NOT
    return (how, table if how == EXCHANGE else None) + facts
