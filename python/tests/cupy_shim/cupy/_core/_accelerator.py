from cupy import _absent

__getattr__ = _absent.of("cupy._core._accelerator")
